//! Texts through the stage: the tokens of columns, nothing that was found left, the same as one value at a time.
use super::super::tests::{Files, Made, property, rule, text, texts};
use super::*;
use crate::error::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::Int64Type;
use perimeter_detect::replace_spans;
use perimeter_pseudonym::transform::Outcome;
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::OnceLock;

/// Columns of the types that the memo's short forms borrow from, and the memo.
fn properties() -> Vec<String> {
    vec![
        property("cpf", "string", "BR_CPF", Some("person")),
        property("pan", "string", "PAN", Some("card")),
        property("mail", "string", "EMAIL", Some("email")),
        property("memo", "string", "FREE_TEXT", None),
    ]
}

fn rules(types: &str, more: &str) -> Vec<String> {
    vec![
        rule("people", "BR_CPF", "transform: cryptoHash, key: person, canonicalize: [digits], bytes: 16"),
        rule("cards", "PAN", "transform: cryptoReplaceFfxFpe, key: person, keepFirst: 6, checkDigit: luhn"),
        rule("mails", "EMAIL", "transform: cryptoDeterministic, key: person, canonicalize: [trim, lower]"),
        rule("memos", "FREE_TEXT", &format!("transform: deidentifyText, types: {{{types}}}{more}")),
    ]
}

const TYPES: &str = "BR_CPF: cryptoHash, PAN: cryptoReplaceFfxFpe, EMAIL: {rule: mails}, PHONE: {transform: characterMask, keepLast: 4, maskLength: 4}, default: replaceWithInfoType";

async fn stage(types: &str) -> Made {
    Files::new(&properties(), &rules(types, "")).stage("run").await
}

fn memos(values: &[&str]) -> Vec<(&'static str, ArrayRef)> {
    let none = || texts(values.iter().map(|_| None));
    vec![("cpf", none()), ("pan", none()), ("mail", none()), ("memo", texts(values.iter().copied().map(Some)))]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_in_a_memo_gets_the_token_of_the_column() {
    let made = stage(TYPES).await;
    let output = made.push(&[
        ("cpf", texts([Some("39053344705"), None, None, Some("52998224725")])),
        ("pan", texts([Some("4111111111111111"), None, None, None])),
        ("mail", texts([Some("ana@bank.example"), None, None, None])),
        (
            "memo",
            texts([
                Some("CPF 390.533.447-05 (39053344705), cartão 4111 1111 1111 1111 / 4111111111111111, Ana@Bank.example: ok"),
                None,
                Some("tel. +55 11 98765-4321"),
                Some("de 52998224725"),
            ]),
        ),
    ]);
    let column = |name: &str, row: usize| text(&output, name)[row].unwrap().to_owned();
    let (cpf, pan, mail) = (column("cpf", 0), column("pan", 0), column("mail", 0));
    let spaced = [&pan[..4], &pan[4..8], &pan[8..12], &pan[12..]].join(" ");
    let memos = text(&output, "memo");
    assert_eq!(memos[0], Some(format!("CPF {cpf} ({cpf}), cartão {spaced} / {pan}, {mail}: ok").as_str()));
    assert_eq!(memos[1], None);
    assert_eq!(memos[2], Some("tel. ****4321"));
    assert_eq!(memos[3], Some(format!("de {}", column("cpf", 3)).as_str()));
    assert!(pan.starts_with("411111") && pan != "4111111111111111");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gets_no_token_is_replaced_by_its_type() {
    // Fifteen digits less ten that are kept and one that is computed leave four; a CNPJ with letters is none of digits.
    let amex = "378282246310005";
    let fpe = "{transform: cryptoReplaceFfxFpe, key: person, joinDomain: card, keepFirst: 6, keepLast: 4, checkDigit: luhn";
    for (fallback, expected) in [("", "[PAN]"), (", fallback: {transform: redact}", ""), (", fallback: {transform: replace, newValue: '#'}", "#")] {
        let made = stage(&format!("PAN: {fpe}{fallback}}}, default: redact")).await;
        assert_eq!(text(&made.push(&memos(&[&format!("card {amex}.")])), "memo"), [Some(format!("card {expected}.").as_str())], "{fallback}");
    }
    let made = stage(&format!("PAN: {fpe}, fallback: {{transform: cryptoHash, bytes: 16}}}}, default: redact")).await;
    let output = made.push(&memos(&[&format!("card {amex}.")]));
    let memo = text(&output, "memo")[0].unwrap();
    assert!(memo.len() == "card .".len() + 32 && !memo.contains(amex), "{memo}");

    let cnpj = "BR_CNPJ: {transform: cryptoReplaceFfxFpe, key: person, joinDomain: company, checkDigit: cnpj}, default: redact";
    let made = stage(cnpj).await;
    assert_eq!(text(&made.push(&memos(&["CNPJ 12.ABC.345/01DE-35"])), "memo"), [Some("CNPJ [BR_CNPJ]")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_are_kept_by_name_only() {
    let text_of = async |types: &str, memo: &str| text(&stage(types).await.push(&memos(&[memo])), "memo")[0].unwrap().to_owned();
    let memo = "em 2026-11-30 por https://bank.example/x de 10.1.2.3";
    assert_eq!(text_of("default: replaceWithInfoType", memo).await, "em [DATE] por [URL] de [IP]");
    assert_eq!(text_of("DATE: keep, IP: redact, default: characterMask", memo).await, format!("em 2026-11-30 por {} de ", "*".repeat(22)));
    assert_eq!(text_of("URL: keep, default: {transform: replace, newValue: '…'}", memo).await, "em … por https://bank.example/x de …");
}

#[tokio::test(flavor = "multi_thread")]
async fn detectors_of_the_policy_are_used() {
    let detectors = r"detectors:
  - {name: BADGE, regex: '\bE-[0-9]{6}\b'}
  - {name: PROJECT, dictionary: [casa verde]}
  - {name: LOYALTY, regex: '\b9[0-9]{15}\b', checkDigit: luhn}
";
    let mut properties = properties();
    properties.push(property("badge", "string", "BADGE", Some("staff")));
    let mut rules = rules("BADGE: cryptoHash, LOYALTY: keep, default: replaceWithInfoType", "");
    rules.insert(0, rule("badges", "BADGE", "transform: cryptoHash, key: person, bytes: 16"));
    let made = Files::with(&properties, &rules, detectors).stage("run").await;
    let mut columns = memos(&["crachá E-123456, projeto Casa Verde, 9000000000000001 9000000000000004"]);
    columns.push(("badge", texts([Some("E-123456")])));
    let output = made.push(&columns);
    let badge = text(&output, "badge")[0].unwrap();
    let memo = text(&output, "memo")[0].unwrap();
    // Luhn decides which of the two is a loyalty card.
    assert!(memo.starts_with(&format!("crachá {badge}, projeto [PROJECT], 9000000000000001")), "{memo}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_texts_and_integers_for_tokens() {
    let list = "name: notes, logicalType: array, items: {logicalType: string}, customProperties: [{property: semanticType, value: FREE_TEXT}]".to_owned();
    let cpf = property("cpf", "string", "BR_CPF", Some("person"));
    let rules = [
        rule("people", "BR_CPF", "transform: cryptoHash, key: person, canonicalize: [digits], encoding: int64"),
        rule("notes", "FREE_TEXT", "transform: deidentifyText, types: {BR_CPF: cryptoHash, default: redact}"),
    ];
    let made = Files::new(&[cpf, list], &rules).stage("run").await;
    let notes = ListArray::from_nested_iter::<datafusion::arrow::array::StringBuilder, _, _, _>([Some(vec![Some("de 390.533.447-05"), None, Some("")]), None]);
    let output = made.push(&[("cpf", texts([Some("39053344705"), None])), ("notes", Arc::new(notes))]);
    let token = output.column_by_name("cpf").unwrap().as_primitive::<Int64Type>().value(0);
    let notes = output.column_by_name("notes").unwrap().as_list::<i32>();
    assert!(notes.is_null(1));
    let first = notes.value(0);
    assert_eq!(first.as_string::<i32>().iter().collect::<Vec<_>>(), [Some(format!("de {token}").as_str()), None, Some("")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nulls_are_refused_where_the_policy_says_so_and_nothing_is_shown() {
    let made = Files::new(&properties(), &rules(TYPES, ", nulls: reject")).stage("run").await;
    let columns = [("cpf", texts([None])), ("pan", texts([None])), ("mail", texts([None])), ("memo", texts([None]))];
    let batch = made.batch(&columns);
    let mut workers = made.workers();
    assert!(matches!(workers.push(&batch), Err(Error::Failed(failure)) if failure.code == "value-refused"));

    let mut work = work(&stage(TYPES).await);
    let taken = work.take(1, |_| Some("de 39053344705")).unwrap();
    assert_eq!(format!("{work:?} {TextFault:?}"), format!("TextWork {{ types: {}, keyed: 3, .. }} TextFault", work.types.len()));
    assert_eq!(work.write(&taken, 1, "x", &mut Vec::new()), Err(TextFault), "a row that was not taken");
    assert_eq!(work.write(&taken, 0, "de", &mut Vec::new()), Err(TextFault), "a text that was not taken");
}

fn work(made: &Made) -> TextWork {
    let find = |work: &super::super::columns::Work| if let super::super::columns::Work::Text(work) = work { Some((**work).clone()) } else { None };
    made.stage.spec.columns.iter().find_map(|column| find(&column.work)).unwrap()
}

/// One text, one value at a time.
fn naively(work: &mut TextWork, text: &str) -> String {
    let mut findings = Findings::new();
    work.detector.scan(text, &work.place, &mut findings);
    let mut out = String::new();
    let replaced = replace_spans(text, findings.as_slice(), &mut out, |finding, value, out| -> Result<(), Infallible> {
        let action = &work.types.iter().find(|(info_type, _)| *info_type == finding.info_type).unwrap().1;
        let mut token = Vec::new();
        match &action.does {
            Does::Keep => token.extend_from_slice(value.as_bytes()),
            Does::Constant(constant) => token.extend_from_slice(constant.as_bytes()),
            Does::Mask(mask) => mask.apply(value, &mut token).unwrap(),
            Does::Keyed(index) => match work.keyed[*index].apply(Some(value), &mut token) {
                Ok(Outcome::Text) => {}
                _ => token = action.name.as_bytes().to_vec(),
            },
        }
        out.push_str(&String::from_utf8(token).unwrap());
        Ok(())
    });
    assert_eq!(replaced, Ok(()));
    out
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("39053344705".to_owned()),
        Just("390.533.447-05".to_owned()),
        Just("4111 1111 1111 1111".to_owned()),
        Just("378282246310005".to_owned()),
        Just("Ana.Souza@Bank.example".to_owned()),
        Just("+55 11 98765-4321".to_owned()),
        Just("2026-11-30".to_owned()),
        Just("12.ABC.345/01DE-35".to_owned()),
        "[a-zçãé ]{0,9}",
        "[0-9.,/-]{1,14}",
        "\\PC{0,6}",
    ]
}

static MADE: OnceLock<TextWork> = OnceLock::new();

/// Every kind of treatment.
fn made() -> TextWork {
    let card = "{transform: cryptoReplaceFfxFpe, key: person, joinDomain: card, keepFirst: 6, keepLast: 4, checkDigit: luhn}";
    let mask = "{transform: characterMask, keepLast: 4}";
    let types = format!("PAN: {card}, BR_CPF: cryptoHash, EMAIL: cryptoDeterministic, DATE: keep, PHONE: {mask}, default: replaceWithInfoType");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    work(&runtime.block_on(stage(&types)))
}

proptest! {
    #[test]
    fn batches_are_the_same_as_one_value_at_a_time(rows in proptest::collection::vec(proptest::option::of(proptest::collection::vec(piece(), 0..6)), 1..12), cut in 0..12usize) {
        let mut work = MADE.get_or_init(made).clone();
        let mut other = work.clone();
        let rows: Vec<Option<String>> = rows.into_iter().map(|row| row.map(|pieces| pieces.join(" "))).collect();
        let cut = cut.min(rows.len());
        // Two batches through one worker, with what the first has left in its buffers.
        for rows in [&rows[..cut], &rows[cut..]] {
            let taken = work.take(rows.len(), |row| rows[row].as_deref()).unwrap();
            for (row, text) in rows.iter().enumerate() {
                let Some(text) = text else { continue };
                let mut out = Vec::new();
                work.write(&taken, row, text, &mut out).unwrap();
                let out = String::from_utf8(out).unwrap();
                prop_assert_eq!(&out, &naively(&mut other, text));
                for raw in ["39053344705", "390.533.447-05", "4111 1111 1111 1111", "378282246310005", "Ana.Souza@Bank.example"] {
                    let found = { other.detector.scan(text, &other.place, &mut other.batch.findings); other.batch.findings.iter().any(|finding| &text[finding.span.clone()] == raw) };
                    prop_assert!(!found || out.matches(raw).count() < text.matches(raw).count());
                }
            }
        }
    }
}
