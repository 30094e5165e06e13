//! Any values, each as a whole and all as a column.
//!
//! The first byte chooses the column's name and the size of its sample; the rest is a value a line, as far as it is UTF-8.

use perimeter_detect::{ColumnProfile, Detector, DetectorOptions, Findings, InfoType, ProfileOptions, Verdict, cnpj, cpf, iban, luhn, semantic_type_of};
use std::sync::LazyLock;

const NAMES: [&str; 8] = ["", "cpf", "cardNumber", "telefone", "data_nascimento", "customer_name", "doc", "uf"];

/// Types whose last character is a check digit: no two values that differ in it alone are both valid.
const CHECKED: [InfoType; 9] =
    [InfoType::BrCpf, InfoType::BrCnpj, InfoType::Pan, InfoType::Isin, InfoType::Figi, InfoType::Cusip, InfoType::Sedol, InfoType::Aba, InfoType::Lei];

static DETECTOR: LazyLock<Option<Detector>> = LazyLock::new(|| Detector::new(&DetectorOptions::default()).ok());

/// Runs one input; how many of its values are of a type for certain.
pub fn run(input: &[u8]) -> usize {
    let Some((&first, rest)) = input.split_first() else { return 0 };
    let text = String::from_utf8_lossy(rest);
    let values: Vec<&str> = text.split('\n').take(64).collect();
    let certain = values.iter().filter(|value| one(value)).count();
    let options = ProfileOptions { distinct_values: [4, 10_000][usize::from(first >> 3 & 1)], seed: u64::from(first >> 4) };
    column(NAMES[usize::from(first % 8)], options, &values);
    certain
}

/// Whether the value is of some type for certain.
fn one(value: &str) -> bool {
    let mut certain = false;
    for info_type in InfoType::all() {
        let verdict = info_type.validate(value);
        assert_eq!(verdict, info_type.validate(&format!(" {value}\t")), "{info_type:?}: white space around");
        certain |= verdict == Verdict::Valid;
    }
    for info_type in CHECKED {
        let bare = value.trim();
        if info_type.validate(bare) == Verdict::Valid
            && let Some(last) = bare.bytes().last().filter(u8::is_ascii_digit)
        {
            for other in (b'0'..=b'9').filter(|&other| other != last) {
                let changed = format!("{}{}", &bare[..bare.len() - 1], char::from(other));
                assert_ne!(info_type.validate(&changed), Verdict::Valid, "{info_type:?}: two check digits for one body");
            }
        }
    }
    // What a contract's strict check takes, the detectors do not miss.
    let bytes = value.as_bytes();
    assert!(!cpf::valid(bytes) || InfoType::BrCpf.validate(value) == Verdict::Valid, "CPF");
    assert!(!cnpj::valid(bytes) || InfoType::BrCnpj.validate(value) == Verdict::Valid, "CNPJ");
    if InfoType::Iban.validate(value).agrees() {
        let compact: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
        assert!(iban::valid(compact.to_ascii_uppercase().as_bytes()), "IBAN");
    }
    if let Some(digit) = luhn::digit(bytes) {
        assert!(luhn::valid(&[bytes, &[digit]].concat()), "the digit that belongs to a body");
    }
    certain
}

fn column(name: &str, options: ProfileOptions, values: &[&str]) {
    let Some(detector) = &*DETECTOR else { panic!("the detector compiles") };
    let mut findings = Findings::new();
    let mut profile = |values: &mut dyn Iterator<Item = &&str>| {
        let mut profile = ColumnProfile::new(name, options);
        values.for_each(|value| profile.observe(value, detector, &mut findings));
        profile
    };
    let whole = profile(&mut values.iter());
    assert!(whole == profile(&mut values.iter().rev()), "the order of the values");
    let (left, right) = values.split_at(values.len() / 3);
    let mut merged = profile(&mut right.iter());
    assert!(merged.merge(profile(&mut left.iter())).is_ok() && merged == whole, "parts of the column");
    let verdict = whole.verdict();
    assert_eq!(verdict, merged.verdict());
    let present = verdict.rows - verdict.nulls;
    assert!(verdict.rows == values.len() as u64 && verdict.looked_at as u64 <= verdict.distinct && verdict.distinct <= present, "counts");
    assert!(verdict.looked_at <= options.distinct_values && (verdict.complete || verdict.looked_at == options.distinct_values), "the sample's size");
    assert!(verdict.agreements.is_sorted_by(|a, b| a.confidence >= b.confidence), "the likeliest first");
    for (share, (low, high)) in verdict.agreements.iter().map(|a| (a.share, a.interval)).chain(verdict.inside.iter().map(|i| (i.share, i.interval))) {
        assert!((0.0..=1.0).contains(&share) && 0.0 <= low && low <= share + 1e-9 && share <= high + 1e-9 && high <= 1.0, "a share and its interval");
    }
    if let Some(info_type) = verdict.info_type() {
        assert_eq!(verdict.semantic_type(), Some(semantic_type_of(&info_type)));
    }
}
