//! What one distinct value says.

use crate::{Context, Detector, Findings, InfoType, TypeSet, Verdict, cnpj, cpf, date};

/// Verdicts on one value; nothing of the value itself.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Observation {
    /// Types whose validator says valid.
    pub(super) valid: TypeSet,
    /// Types whose validator says valid or possible.
    pub(super) agrees: TypeSet,
    /// Types found inside a longer text.
    pub(super) inside: TypeSet,
    /// Custom detectors, the first 64, that take the whole value or stand inside.
    pub(super) custom: u64,
    pub(super) class: Class,
    /// Kinds of characters: digits 1, letters 2, others 4.
    pub(super) characters: u8,
    /// Bytes, at most 65,535.
    pub(super) length: u16,
    /// A CPF, or a CNPJ, once the zeros in front are put back.
    pub(super) padded_cpf: bool,
    pub(super) padded_cnpj: bool,
}

/// What kind of text a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Integer,
    /// Digits that begin with a zero: no number.
    ZeroLed,
    Decimal,
    Day,
    Time,
    /// No white space, and a digit.
    Code,
    /// A few words.
    Words,
    /// Many words.
    Text,
}

impl Observation {
    pub(super) fn of(value: &str, context: &Context, detector: &Detector, findings: &mut Findings) -> Self {
        let class = Class::of(value);
        let (mut valid, mut agrees, mut inside, mut custom) = (TypeSet::EMPTY, TypeSet::EMPTY, TypeSet::EMPTY, 0u64);
        if value.len() <= 256 {
            for info_type in InfoType::all() {
                match info_type.validate(value) {
                    Verdict::Invalid => continue,
                    Verdict::Possible => {}
                    Verdict::Valid => valid.insert(info_type),
                }
                agrees.insert(info_type);
            }
        }
        let text = class == Class::Text;
        if text || detector.has_custom() {
            // A long text tells by itself; a short value may be all that its column's name says.
            detector.scan(value, if text { &Context::NONE } else { context }, findings);
            for finding in findings.iter() {
                match finding.info_type {
                    InfoType::Custom(index) => custom |= 1u64.checked_shl(u32::from(index)).unwrap_or(0),
                    built_in if text => inside.insert(built_in),
                    _ => {}
                }
            }
        }
        let padded = Padded::of(value);
        Self {
            valid,
            agrees,
            inside,
            custom,
            class,
            characters: value.bytes().fold(0, |kinds, byte| {
                kinds
                    | if byte.is_ascii_digit() {
                        1
                    } else if byte.is_ascii_punctuation() || byte == b' ' {
                        4
                    } else {
                        2
                    }
            }),
            length: u16::try_from(value.len()).unwrap_or(u16::MAX),
            padded_cpf: padded.cpf,
            padded_cnpj: padded.cnpj,
        }
    }
}

impl Class {
    fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
        if date::date_time(value).agrees() && bytes.len() >= 12 {
            return Self::Time;
        }
        if date::date(value) == Verdict::Valid {
            return Self::Day;
        }
        if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return if unsigned.len() > 1 && unsigned.starts_with('0') { Self::ZeroLed } else { Self::Integer };
        }
        let amount = unsigned.trim_start_matches(['$', '€', '£', 'R', ' ', '-']);
        let is_amount = amount.starts_with(|character: char| character.is_ascii_digit())
            && amount.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'e' | b'E' | b'+' | b'-'))
            && amount.matches(['.', ',']).count() >= 1
            && !amount[1..].contains(['-', '+']);
        if is_amount && unsigned.parse::<f64>().is_ok()
            || is_amount && amount.rsplit(['.', ',']).next().is_some_and(|cents| cents.len() <= 3) && amount.len() <= 18 && !amount.contains("..")
        {
            return Self::Decimal;
        }
        let words = value.split_whitespace().count();
        if words >= 6 || words >= 4 && value.len() > 40 {
            Self::Text
        } else if words == 1 && bytes.iter().any(u8::is_ascii_digit) {
            Self::Code
        } else {
            Self::Words
        }
    }
}

/// Numbers whose leading zeros an integer column has lost.
struct Padded {
    cpf: bool,
    cnpj: bool,
}

impl Padded {
    fn of(value: &str) -> Self {
        let bytes = value.as_bytes();
        let digits = bytes.iter().all(u8::is_ascii_digit) && !bytes.starts_with(b"0");
        Self {
            cpf: digits && pad::<11>(bytes, 7).is_some_and(|cpf| cpf::valid(&cpf)),
            cnpj: digits && pad::<14>(bytes, 8).is_some_and(|cnpj| cnpj::valid(&cnpj)),
        }
    }
}

fn pad<const N: usize>(digits: &[u8], fewest: usize) -> Option<[u8; N]> {
    if !(fewest..N).contains(&digits.len()) {
        return None;
    }
    let mut padded = [b'0'; N];
    padded[N - digits.len()..].copy_from_slice(digits);
    Some(padded)
}
