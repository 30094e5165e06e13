//! Semantic types of financial data: check digits, detectors, column verdicts.
//!
//! | need | entry point |
//! |---|---|
//! | is this value, as written, a well-formed number of the type? | [`luhn::valid`], [`cpf::valid`], [`cnpj::valid`], [`iban::valid`] (strict: for contracts) |
//! | which check digits belong to this body? | [`luhn::digit`], [`cpf::digits`], [`cnpj::digits`], [`iban::digits`] |
//! | is this value of an info type, in any usual writing? | [`InfoType::validate`] |
//! | where in this text is something sensitive? | [`Detector::scan`] |
//! | the text with its findings replaced | [`replace_spans`] |
//! | what is in this column? | [`ColumnProfile`] |
//! | which `semanticType` of a contract is that? | [`semantic_type_of`] |
//!
//! ```
//! use perimeter_detect::{Context, Detector, DetectorOptions, Findings, InfoType};
//!
//! let detector = Detector::new(&DetectorOptions::default())?;
//! let mut findings = Findings::new();     // reusable: one per thread
//! detector.scan("paga CPF 390.533.447-05 hoje", &Context::NONE, &mut findings);
//! assert_eq!(findings.as_slice()[0].info_type, InfoType::BrCpf);
//! assert_eq!(findings.as_slice()[0].span, 9..23);
//! # Ok::<(), perimeter_detect::DetectorError>(())
//! ```
//!
//! There is no I/O here, and no value is ever in an error or in `Debug` output.
//!
//! # What makes a finding
//! A text is cut into words once. Each word is looked up once in one dictionary of names, streets, months and context words of all
//! types; candidates start at words and at `@` and `://`. Three things count: the *form* (masks, lengths, prefixes, dates inside), the
//! *check digit*, and the *context* (the seven words before, three behind, the column's name; Portuguese, English, Spanish, some German).
//!
//! | [`Likelihood`] | for example |
//! |---|---|
//! | `VeryLikely` | a check digit beside its word (`CPF 39053344705`), or a form that nothing else has (an e-mail address, an IBAN) |
//! | `Likely` | a strong check digit alone, or a form beside its word |
//! | `Possible` | a form alone, a number with a date and a check digit inside, or what its word announces and its check digit denies ([`Check::Failed`]) |
//! | `Unlikely` | a number that passes a check digit as one in ten does, a card number that fails Luhn, half a name |
//! | `VeryUnlikely` | a length |
//!
//! By default findings start at `Possible`. Of two in one place the likelier wins, then the type that stands earlier in [`InfoType`], then
//! the longer: a place has one finding, a finding never takes part of a word or number, and what stands inside one (a CPF in a
//! URL) is covered by it. So whoever keeps URLs keeps what is in them.
//!
//! A column is judged by the share of its distinct values, with an interval and against chance ([`ColumnProfile`]): one random number of
//! 11 digits in a hundred is a valid CPF, one timestamp in ten passes Luhn.
//!
//! # Lists and tables
//! | what | where from |
//! |---|---|
//! | given names, surnames, common words that are names too (`words/`) | written for this project: frequent names of Brazil, Portugal, Spain and Latin America, the United States, Germany and neighbours, without marks |
//! | street words (`words/street_*.txt`) | suffixes of US Postal Service Publication 28, the types of Brazilian, Spanish, Portuguese, French, German, Dutch and Nordic streets |
//! | context words (`context.rs`) | written for this project |
//! | calling codes and lengths of national numbers | ITU-T E.164 and the national numbering plans |
//! | countries, lengths and structures of IBANs | the SWIFT IBAN registry (ISO 13616), held against the `iban_validate` crate by a test; countries outside of it from what their banks print |
//! | issuer ranges of cards | ISO/IEC 7812 and what the schemes publish |
//! | country codes | ISO 3166-1 |
//! | check digits | the law or standard that each function names |
//!
//! Where validators disagree, `DISAGREEMENTS.md` says what is done here. Recall, precision and speed, measured against Presidio, are in
//! `docs/detect.md`: names and addresses are found by lists and forms alone, without a language model, and not all are found.

mod address;
mod bank;
mod br;
mod card;
pub mod cnpj;
mod column;
mod compact;
mod context;
mod country;
pub mod cpf;
mod date;
pub mod iban;
mod info_type;
pub mod luhn;
mod name;
mod national;
mod net;
mod phone;
mod replace;
mod scan;
mod us;
mod verdict;
mod words;

pub use column::{Agreement, ColumnProfile, ColumnSample, ColumnVerdict, DifferentProfiles, ProfileOptions, Shape, TextShare};
pub use info_type::{InfoType, TypeSet, semantic_type_of};
pub use replace::replace_spans;
pub use scan::{Check, CheckDigit, Context, CustomDetector, Detector, DetectorError, DetectorOptions, Finding, Findings, Matcher};
pub use verdict::{Likelihood, Verdict};

/// Weighted sum modulo 11 as Brazilian taxpayer numbers use it: the check character, 0 where the rest is below 2.
///
/// The value of a character is its ASCII code less 48, which for digits is the digit (Receita Federal, IN RFB 2229/2024).
fn modulo_11(characters: &[u8], first_weight: u32, wrap: u32) -> u8 {
    let mut weight = first_weight;
    let mut sum: u32 = 0;
    for &character in characters {
        sum += u32::from(character.saturating_sub(b'0')) * weight;
        weight = if weight == 2 { wrap } else { weight - 1 };
    }
    match sum % 11 {
        0 | 1 => b'0',
        rest => b'0' + (11 - rest) as u8,
    }
}

/// Copies the characters of a value that is either bare or written in the one usual mask.
///
/// `mask` has `#` where a character of the number stands; anything else must stand there literally.
fn unmask<const N: usize>(value: &[u8], mask: &[u8]) -> Option<[u8; N]> {
    if let Ok(bare) = <[u8; N]>::try_from(value) {
        return Some(bare);
    }
    if value.len() != mask.len() {
        return None;
    }
    let mut bare = [0; N];
    let mut places = bare.iter_mut();
    for (&byte, &shape) in value.iter().zip(mask) {
        match shape {
            b'#' => *places.next()? = byte,
            literal if literal == byte => {}
            _ => return None,
        }
    }
    Some(bare)
}
