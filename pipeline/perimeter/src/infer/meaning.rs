//! What a column may mean: the verdict of the detectors in one sentence.
use super::write::counted;
use crate::classify::is_weak;
use perimeter_detect::{Agreement, ColumnVerdict, InfoType, Likelihood};

/// A proposal for `semanticType`.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    pub(super) semantic_type: Option<&'static str>,
    /// Why, and what else could be.
    pub(super) remarks: Vec<String>,
}

/// `number`: the column counts or measures; `calendar`: it is a date or timestamp.
pub(super) fn meaning(verdict: &ColumnVerdict, number: bool, calendar: bool) -> Meaning {
    let mut meaning = Meaning::default();
    let of = |share: f64| format!("{} of {}", percent(share), counted(verdict.looked_at as u64, "distinct value"));
    let mut likely = verdict.agreements.iter().filter(|a| a.confidence >= Likelihood::Possible && !(number && is_weak(a.info_type) && !a.announced));
    if let Some(first) = likely.next() {
        let name = first.info_type.semantic_type();
        if first.confidence >= Likelihood::Likely && !is_enough(first, verdict.looked_at) {
            meaning.remarks.push(format!("decide: perhaps {name}: {}, too few to tell", of(first.share)));
        } else if first.confidence >= Likelihood::Likely {
            meaning.semantic_type = Some(name);
            let named = if first.announced { ", and the name says so" } else { "" };
            meaning.remarks.push(format!("{name}: {}{named}", of(first.share)));
        } else {
            meaning.remarks.push(format!("decide: perhaps {name}: {}", of(first.share)));
        }
        for other in likely.take(2).filter(|other| other.confidence >= Likelihood::Likely) {
            meaning.remarks.push(format!("decide: or {}: {}", other.info_type.semantic_type(), of(other.share)));
        }
    } else if !number {
        meaning.semantic_type = verdict.semantic_type().filter(|name| calendar || *name == "FREE_TEXT");
        if let Some(name) = meaning.semantic_type {
            meaning.remarks.push(format!("{name}: by the look of {}", counted(verdict.looked_at as u64, "distinct value")));
        }
    }
    if let Some(lost) = verdict.lost_leading_zeros {
        meaning.remarks.push(format!("decide: {} that has lost its leading zeros", lost.semantic_type()));
    }
    let inside: Vec<String> = verdict.inside.iter().take(4).map(|found| format!("{} in {}", found.info_type.name(), percent(found.share))).collect();
    if !inside.is_empty() {
        meaning.remarks.push(format!("decide: inside the texts: {}", inside.join(", ")));
    }
    meaning
}

/// Whether so many values can hardly all be of a type by chance.
fn is_enough(agreement: &Agreement, values: usize) -> bool {
    let exponent = i32::try_from(values).unwrap_or(i32::MAX);
    let odds = agreement.info_type.chance().powi(exponent) * if agreement.announced { 0.1 } else { 1.0 };
    values >= 5 || odds <= 0.002
}

/// Rounded down below 100, so that `100 %` means all.
pub(super) fn percent(share: f64) -> String {
    if share >= 1.0 { "100 %".to_owned() } else { format!("{:.1} %", (share * 1000.0).floor() / 10.0) }
}

/// Whether a cell of a first line can only be data.
pub(crate) fn is_data(cell: &str) -> bool {
    const TYPES: [InfoType; 8] =
        [InfoType::Email, InfoType::Uuid, InfoType::Iban, InfoType::BrCnpj, InfoType::BrCpf, InfoType::Pan, InfoType::DateTime, InfoType::Date];
    let cell = cell.trim();
    let digits = cell.bytes().filter(u8::is_ascii_digit).count();
    let number = digits > 0 && cell.bytes().all(|b| b.is_ascii_digit() || b".,-+$% /:()".contains(&b));
    number || (digits >= 6 && 2 * digits >= cell.chars().count()) || TYPES.iter().any(|info_type| info_type.validate(cell).agrees())
}

/// Names that announce an identifier: digits that count nothing.
pub(super) fn names_identifier(name: &str) -> bool {
    const WORDS: [&str; 30] = [
        "id",
        "ids",
        "code",
        "codigo",
        "cod",
        "zip",
        "zipcode",
        "cep",
        "postal",
        "postcode",
        "phone",
        "telefone",
        "telefono",
        "cpf",
        "cnpj",
        "iban",
        "pan",
        "account",
        "conta",
        "cuenta",
        "card",
        "cartao",
        "tarjeta",
        "key",
        "uuid",
        "ispb",
        "nif",
        "ssn",
        "agencia",
        "protocolo",
    ];
    words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Names that announce a date.
pub(super) fn names_date(name: &str) -> bool {
    const WORDS: [&str; 22] = [
        "date",
        "dt",
        "data",
        "fecha",
        "dat",
        "datum",
        "day",
        "dia",
        "nasc",
        "nascimento",
        "birth",
        "born",
        "dob",
        "birthday",
        "issued",
        "opened",
        "expires",
        "expiry",
        "vencimento",
        "datetime",
        "time",
        "timestamp",
    ];
    words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            words.push(String::new());
            lower = false;
            continue;
        }
        if lower && character.is_uppercase() {
            words.push(String::new());
        }
        lower = character.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["client_id", "ClientId", "ZIP Code", "CPF", "codigo-banco", "Zip"] {
            assert!(names_identifier(name), "{name}");
        }
        for name in ["paid", "identity", "width", "valid", "Cardinal"] {
            assert!(!names_identifier(name), "{name}");
        }
        assert!(names_date("Date received") && names_date("dt_nasc") && !names_date("update_count"));
    }

    #[test]
    fn first_lines_that_are_data() {
        for cell in ["390.533.447-05", "1", "-12.50", "2019-01-02", "someone@bank.example", "$45.10", "A12345678", "10%", "01/02/1990"] {
            assert!(is_data(cell), "{cell}");
        }
        for cell in ["client_id", "A11", "Amount", "PAY_0", "BILL_AMT1", "date", "Is Fraud?", "", "Número_Código"] {
            assert!(!is_data(cell), "{cell}");
        }
    }
}
