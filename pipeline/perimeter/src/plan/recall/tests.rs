//! Counts what is stated, on `../shared/corpora` beside the repository.
use super::*;
use perimeter_detect::{Context, Detector, DetectorOptions, Findings, InfoType};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

type Counts = BTreeMap<(&'static str, &'static str), (u32, u32)>;

struct Count {
    detector: Detector,
    findings: Findings,
    counts: Counts,
}

impl Count {
    /// Bytes of a text that hold a value of one of these types.
    fn value(&mut self, material: &'static str, types: &[InfoType], text: &str, span: std::ops::Range<usize>) {
        self.detector.scan(text, &Context::NONE, &mut self.findings);
        let covered = |at: usize| self.findings.iter().any(|finding| types.contains(&finding.info_type) && finding.span.contains(&at));
        let found = text[span.clone()].char_indices().filter(|(_, character)| character.is_alphanumeric()).all(|(at, _)| covered(span.start + at));
        let counts = self.counts.entry((types[0].name(), material)).or_default();
        counts.0 += 1;
        counts.1 += u32::from(found);
    }

    /// A value between words that announce nothing.
    fn alone(&mut self, types: &[InfoType], value: &str) {
        let value = value.trim();
        if !value.is_empty() {
            self.value("values", types, &format!("ok {value} ok"), 3..3 + value.len());
        }
    }
}

/// What a column of `customers_*.csv` holds.
fn column(name: &str, locale: &str) -> Option<&'static [InfoType]> {
    use InfoType::*;
    Some(match (name, locale) {
        ("name", _) => &[PersonName],
        ("email", _) => &[Email],
        ("phone", _) => &[Phone],
        ("iban", _) => &[Iban],
        ("card_number", _) => &[Pan],
        ("cpf", _) => &[BrCpf],
        ("cnpj", _) => &[BrCnpj],
        ("ip", _) => &[Ip],
        ("aba_routing", _) => &[Aba],
        ("bic", _) => &[Bic],
        ("ssn_or_national_id", "pt_BR") => &[BrCpf],
        ("ssn_or_national_id", "en_US") => &[UsSsn],
        ("postcode", "pt_BR") => &[BrCep],
        _ => return None,
    })
}

/// What a label of the notes is here.
fn label(name: &str) -> Option<&'static [InfoType]> {
    use InfoType::*;
    Some(match name {
        "name" | "PERSON" => &[PersonName],
        "iban" | "IBAN_CODE" => &[Iban],
        "card_number" | "CREDIT_CARD" => &[Pan],
        "phone" | "PHONE_NUMBER" => &[Phone],
        "email" | "EMAIL_ADDRESS" => &[Email],
        "STREET_ADDRESS" | "ADDRESS" => &[Address],
        "DOMAIN_NAME" => &[Url],
        "US_SSN" => &[UsSsn],
        "IP_ADDRESS" => &[Ip],
        "DATE_TIME" => &[Date, DateTime, DateOfBirth],
        _ => return None,
    })
}

/// What a type of `detectors/` is here.
fn kind(name: &str) -> Option<&'static [InfoType]> {
    use InfoType::*;
    Some(match name {
        "cpf" => &[BrCpf],
        "cnpj" => &[BrCnpj],
        "pis_pasep" => &[BrPis],
        "cep" => &[BrCep],
        "cnh" => &[BrCnh],
        "titulo_eleitoral" => &[BrVoterId],
        "card_pan" => &[Pan],
        "iban" => &[Iban],
        "aba_routing" => &[Aba],
        "bic" => &[Bic],
        "isin" => &[Isin],
        "email" => &[Email],
        "ip" => &[Ip],
        "mac" => &[Mac],
        "url" => &[Url],
        "uuid" => &[Uuid],
        "us_ssn" => &[UsSsn],
        "mobile_phone" => &[Phone],
        _ => return None,
    })
}

/// Records of a csv file: quotes, doubled quotes, line ends inside quotes.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    records
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

/// Bytes of a range of code points.
fn bytes(text: &str, from: u64, to: u64) -> std::ops::Range<usize> {
    let at = |point: u64| text.char_indices().nth(usize::try_from(point).unwrap()).map_or(text.len(), |(at, _)| at);
    at(from)..at(to)
}

fn notes(count: &mut Count, financial: &Path) {
    let mut place = |text: &str, name: &str, from: &Value, to: &Value| {
        if let Some(types) = label(name) {
            count.value("notes", types, text, bytes(text, from.as_u64().unwrap(), to.as_u64().unwrap()));
        }
    };
    for path in files(&financial.join("faker_synthetic"), "jsonl") {
        for line in fs::read_to_string(path).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            for span in row["spans_codepoints"].as_array().unwrap() {
                place(row["text"].as_str().unwrap(), span[0].as_str().unwrap(), &span[1], &span[2]);
            }
        }
    }
    for name in ["data/synth_dataset_v2.json", "tests/data/generated_small.json"] {
        let rows: Value = serde_json::from_slice(&fs::read(financial.join("presidio_research").join(name)).unwrap()).unwrap();
        for row in rows.as_array().unwrap() {
            for span in row["spans"].as_array().unwrap() {
                place(row["full_text"].as_str().unwrap(), span["entity_type"].as_str().unwrap(), &span["start_position"], &span["end_position"]);
            }
        }
    }
}

fn customers(count: &mut Count, financial: &Path) {
    for path in files(&financial.join("faker_synthetic"), "csv") {
        let rows = records(&fs::read_to_string(path).unwrap());
        let (names, rows) = rows.split_first().unwrap();
        for row in rows {
            for (name, value) in names.iter().zip(row) {
                if let Some(types) = column(name, &row[0]) {
                    count.alone(types, value);
                }
            }
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the count, for the table")]
fn what_is_stated_is_found() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    if !corpora.exists() {
        eprintln!("skipped: no corpora beside the repository");
        return;
    }
    let mut count = Count { detector: Detector::new(&DetectorOptions::default()).unwrap(), findings: Findings::new(), counts: Counts::new() };
    notes(&mut count, &corpora.join("financial"));
    for path in files(&corpora.join("detectors"), "csv") {
        for row in records(&fs::read_to_string(path).unwrap()) {
            let [value, name, valid, _, variant, ..] = &row[..] else { continue };
            if let (Some(types), "true", "") = (kind(name), valid.as_str(), variant.as_str()) {
                count.alone(types, value);
            }
        }
    }
    customers(&mut count, &corpora.join("financial"));
    for ((info_type, material), (values, found)) in &count.counts {
        eprintln!("    Recall {{ info_type: {info_type:?}, material: {material:?}, values: {values}, found: {found} }},");
    }
    let stated: Counts = MEASURED.iter().map(|recall| ((recall.info_type, recall.material), (recall.values, recall.found))).collect();
    assert_eq!(stated.keys().collect::<Vec<_>>(), count.counts.keys().collect::<Vec<_>>());
    for (of, (values, found)) in &stated {
        let counted = count.counts[of];
        assert_eq!(*values, counted.0, "{of:?}");
        assert!(*found <= counted.1, "{of:?}: {found} are stated, {} are found", counted.1);
    }
}

#[test]
fn shares_are_rounded_down() {
    let recall = |values, found| Recall { info_type: "BR_CPF", material: "values", values, found }.says();
    assert_eq!(recall(1_000, 1_000), "100.0 % of 1000 values");
    assert_eq!(recall(3_000, 2_999), "99.9 % of 3000 values");
    assert_eq!(recall(0, 0), "0.0 % of 0 values");
}
