//! The stage without an engine: raw batches in, pseudonymized ones out.
use super::columns::Workers;
use super::*;
use crate::error::Error;
use crate::keys;
use crate::store::Stores;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{Decimal128Type, Int32Type, Int64Type};
use perimeter_detect::{cnpj, iban, luhn};
use perimeter_pseudonym::kms::LocalKms;
use perimeter_pseudonym::reveal::{Revealer, Reversible, unwrap_reveal};
use perimeter_pseudonym::transform::{self, CheckDigit, FpeOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use tempfile::TempDir;

/// A folder with a contract; its keyring stays the same for all stages made of it.
pub(super) struct Files(TempDir);

/// A stage, the names of its input columns and of its output columns.
pub(super) struct Made {
    pub(super) stage: Stage,
    inputs: Vec<String>,
    plan: Plan,
}

impl Files {
    /// `properties` and `rules` are lines of YAML; the column `n` and its rule are there always.
    pub(super) fn new(properties: &[String], rules: &[String]) -> Self {
        Self::with(properties, rules, "")
    }

    /// The same, with more keys of the policy.
    pub(super) fn with(properties: &[String], rules: &[String], more: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let lines = |lines: &[String]| lines.iter().map(|line| format!("      - {{{line}}}\n")).collect::<String>();
        let schema = format!(
            "apiVersion: v3.1.0\nkind: DataContract\nid: urn:test\nname: t\nversion: 1.0.0\nstatus: active\nschema:\n  - name: t\n    properties:\n{}      - {{name: n, logicalType: integer, classification: public}}\n",
            lines(properties)
        );
        let names = properties.iter().map(|line| line["name: ".len()..].split(',').next().unwrap());
        let header = names.chain(["n\n"]).collect::<Vec<_>>().join(",");
        let policy = format!(
            "apiVersion: perimeter/v1\nkind: Policy\nmetadata: {{name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}}\nrules:\n{}      - {{name: public, match: {{classification: public}}, transform: keep}}\ngates: {{maxRejectedFraction: 0}}\n{more}\n",
            lines(rules)
        );
        let job = "apiVersion: perimeter/v1\nkind: Job\nmetadata: {name: test}\npolicy: policy.yaml\nsources:\n  t: {uri: t.csv, format: csv, schema: t.odcs.yaml}\nquarantine: {uri: quarantine/, key: person}\nkeys:\n  person: {provider: local, keyring: person.keyring.json, create: true}\nshape:\n  features: [{name: n, column: n, dtype: int64}]\nsink: {uri: out/, format: arrayRecord, options: \"group_size:1,zstd:3\", encoding: tfExample, shards: 2}\ntable: {uri: table/, format: parquet}\n";
        let nested = properties.iter().any(|property| property.contains("logicalType: array"));
        let job = if nested { job.replace("t.csv, format: csv", "t.csv, format: json") } else { job.to_owned() };
        for (name, text) in [("t.odcs.yaml", schema.as_str()), ("policy.yaml", &policy), ("job.yaml", &job), ("t.csv", &header)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    pub(super) async fn stage(&self, run_id: &str) -> Made {
        let contract = perimeter_contract::load(&self.0.path().join("job.yaml"), &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
        let stores = Arc::new(Stores::new(tokio::runtime::Handle::current()));
        let plan = match crate::plan::plan(contract, &stores).await {
            Ok(plan) => plan,
            Err(Error::Contract(mistakes)) => panic!("{}", mistakes.render()),
            Err(other) => panic!("{other}"),
        };
        let keys = keys::open(&plan, &stores).await.unwrap();
        let stage = stage(&plan, &keys, &Limits::default(), run_id).unwrap();
        let inputs = stage.inputs.iter().map(|&input| plan.columns[input].name.clone()).collect();
        Made { stage, inputs, plan }
    }
}

impl Made {
    /// `columns` in any order; `n` counts the rows.
    pub(super) fn batch(&self, columns: &[(&str, ArrayRef)]) -> RecordBatch {
        let rows = columns[0].1.len() as i64;
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let of = |name: &String| columns.iter().find(|(other, _)| other == name).map_or_else(|| Arc::clone(&n), |(_, array)| Arc::clone(array));
        RecordBatch::try_from_iter_with_nullable(self.inputs.iter().map(|name| (name, of(name), true))).unwrap()
    }

    pub(super) fn workers(self) -> Workers {
        Workers::new(Arc::new(self.stage.spec))
    }

    pub(super) fn push(self, columns: &[(&str, ArrayRef)]) -> RecordBatch {
        let batch = self.batch(columns);
        self.workers().push(&batch).unwrap()
    }
}

pub(super) fn texts<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

pub(super) fn text<'a>(batch: &'a RecordBatch, name: &str) -> Vec<Option<&'a str>> {
    batch.column_by_name(name).unwrap().as_string::<i32>().iter().collect()
}

pub(super) fn property(name: &str, logical: &str, semantic: &str, domain: Option<&str>) -> String {
    let domain = domain.map(|domain| format!(", {{property: joinDomain, value: {domain}}}")).unwrap_or_default();
    format!("name: {name}, logicalType: {logical}, customProperties: [{{property: semanticType, value: {semantic}}}{domain}]")
}

pub(super) fn rule(name: &str, semantic: &str, rest: &str) -> String {
    format!("name: {name}, match: {{semanticType: {semantic}}}, {rest}")
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Refused,
    Null,
    Text(String),
}

const VALUES: [Option<&str>; 5] = [None, Some(""), Some(" "), Some("not-applicable"), Some("52998224725")];

/// What becomes of each value alone.
async fn outcomes(rest: &str) -> Vec<Outcome> {
    let files = Files::new(&[property("v", "string", "V", None)], &[rule("v", "V", rest)]);
    let mut outcomes = Vec::new();
    for value in VALUES {
        let made = files.stage("run").await;
        let batch = made.batch(&[("v", texts([value]))]);
        outcomes.push(match made.workers().push(&batch) {
            Err(Error::Failed(failure)) => {
                assert_eq!(failure.code, "value-refused", "{rest}");
                let said = format!("{failure} {failure:?}");
                assert!(value.is_none_or(|value| value.trim().is_empty() || !said.contains(value)), "{rest}: the value is in the message");
                Outcome::Refused
            }
            Err(other) => panic!("{other}"),
            Ok(output) => {
                let column = output.column_by_name("v").unwrap();
                let written = match column.as_string_opt::<i32>() {
                    _ if column.is_null(0) => None,
                    Some(text) => Some(text.value(0).to_owned()),
                    None => Some(column.as_primitive::<Int64Type>().value(0).to_string()),
                };
                written.map_or(Outcome::Null, Outcome::Text)
            }
        });
    }
    outcomes
}

/// Every transform of text with every rule: nothing raw comes out, and null, empty and refused values do what the rule says.
#[tokio::test(flavor = "multi_thread")]
async fn no_rule_passes_a_value_through() {
    let keyed = [
        "transform: cryptoHash, key: person, canonicalize: [digits]",
        "transform: cryptoHash, key: person, canonicalize: [digits], encoding: base64url, bytes: 16",
        "transform: cryptoHash, key: person, canonicalize: [digits], encoding: int64",
        "transform: cryptoHash, key: person, canonicalize: [digits], encoding: uuid",
        "transform: cryptoDeterministic, key: person, canonicalize: [digits]",
        "transform: cryptoReplaceFfxFpe, key: person, checkDigit: cpf",
        "transform: cryptoReplaceFfxFpe, key: person, keepFirst: 2",
        "transform: cryptoReplaceFfxFpe, key: person, keepFirst: 4, checkDigit: cpf, fallback: {transform: cryptoDeterministic}, canonicalize: [digits]",
    ];
    for transform in keyed {
        for (nulls, empty, invalid) in [("keep", "", ""), ("token", "", ""), ("reject", "", ""), ("keep", "reject", "token"), ("token", "keep", "reject")] {
            let optional = |name: &str, value: &str| if value.is_empty() { String::new() } else { format!(", {name}: {value}") };
            let rest = format!("{transform}, nulls: {nulls}{}{}", optional("empty", empty), optional("invalid", invalid));
            let found = outcomes(&rest).await;
            let empty = if empty.is_empty() { nulls } else { empty };
            let invalid = if invalid.is_empty() { if nulls == "token" { "token" } else { "reject" } } else { invalid };
            let kept = |rule: &str| if transform.contains("int64") || rule == "null" { Outcome::Null } else { Outcome::Text(String::new()) };
            for (index, rule) in [(0, nulls), (1, empty), (2, empty), (3, invalid)] {
                match rule {
                    "keep" => assert_eq!(found[index], if index == 0 { Outcome::Null } else { kept("empty") }, "{rest}: {index}"),
                    "reject" => assert_eq!(found[index], Outcome::Refused, "{rest}: {index}"),
                    _ => assert!(matches!(&found[index], Outcome::Text(token) if token.len() > 10), "{rest}: {index} {found:?}"),
                }
            }
            assert!(matches!(&found[4], Outcome::Text(token) if token != "52998224725"), "{rest}: {found:?}");
            for (value, outcome) in VALUES.iter().zip(&found) {
                let passed = matches!((value, outcome), (Some(value), Outcome::Text(text)) if !value.is_empty() && text.contains(value));
                assert!(!passed, "{rest}: {value:?} passed through");
            }
            let tokens: Vec<&String> = found.iter().filter_map(|outcome| if let Outcome::Text(text) = outcome { Some(text) } else { None }).collect();
            let distinct: BTreeSet<&&String> = tokens.iter().collect();
            let white = usize::from(empty != "reject" && !(empty == "keep" && transform.contains("int64")));
            assert_eq!(distinct.len() + white, tokens.len(), "{rest}: only the two kinds of nothing share what they become: {found:?}");
        }
    }
    // Transforms that take every value: what they write does not depend on it, or is a part of it by design.
    let star = |count: usize| Outcome::Text("*".repeat(count));
    let said = |text: &str| Outcome::Text(text.to_owned());
    for (rest, expected) in [
        ("transform: characterMask, nulls: keep", [Outcome::Null, said(""), star(1), star(14), star(11)]),
        ("transform: characterMask, nulls: reject, maskLength: 3", [Outcome::Refused, star(3), star(3), star(3), star(3)]),
        ("transform: truncate, length: 3", [Outcome::Null, said(""), said(" "), said("not"), said("529")]),
        ("transform: truncate, length: 3, nulls: reject", [Outcome::Refused, said(""), said(" "), said("not"), said("529")]),
        ("transform: redact", [Outcome::Null, said(""), said(""), said(""), said("")]),
        ("transform: redact, nulls: token", [said(""), said(""), said(""), said(""), said("")]),
        ("transform: replace, newValue: gone", [Outcome::Null, said("gone"), said("gone"), said("gone"), said("gone")]),
        ("transform: replace, newValue: gone, nulls: token", [said("gone"), said("gone"), said("gone"), said("gone"), said("gone")]),
        ("transform: replaceWithInfoType, nulls: reject", [Outcome::Refused, said("[V]"), said("[V]"), said("[V]"), said("[V]")]),
    ] {
        assert_eq!(outcomes(rest).await, expected, "{rest}");
    }
    for (nulls, refused) in [("keep", false), ("reject", true)] {
        let found = outcomes(&format!("transform: encrypt, key: person, nulls: {nulls}")).await;
        assert_eq!(found[0], if refused { Outcome::Refused } else { Outcome::Null });
        for (value, outcome) in VALUES.iter().zip(&found).skip(1) {
            let Outcome::Text(token) = outcome else { panic!("{outcome:?}") };
            assert!(token.starts_with("v1.") && value.is_some_and(|value| value.is_empty() || !token.contains(value)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_and_integers_of_one_domain_join() {
    let files = Files::new(
        &[
            property("a", "string", "BR_CPF", Some("person")),
            property("b", "integer", "BR_CPF", Some("person")),
            property("c", "string", "BR_CPF", Some("other")),
            property("d", "string", "BR_CPF", None),
            property("e", "string", "PLAIN", Some("person")),
        ],
        &[
            rule("ids", "BR_CPF", "transform: cryptoHash, key: person, canonicalize: [trim, digits, leftPad:11], encoding: int64"),
            rule("plain", "PLAIN", "transform: cryptoHash, key: person"),
        ],
    );
    let values = [Some("012.345.678-90"), Some(" 01234567890"), Some("52998224725"), None];
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1_234_567_890), Some(1_234_567_890), Some(52_998_224_725), None]));
    let output = files.stage("run").await.push(&[("a", texts(values)), ("b", numbers), ("c", texts(values)), ("d", texts(values)), ("e", texts(values))]);
    let column = |name: &str| output.column_by_name(name).unwrap().as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
    let (a, b, c, d) = (column("a"), column("b"), column("c"), column("d"));
    assert_eq!(a, b, "one token for one taxpayer, text or integer");
    assert_eq!((a[0], a[3]), (a[1], None));
    assert!(a[0] != a[2] && a.iter().zip(&c).zip(&d).take(3).all(|((a, c), d)| a != c && a != d && c != d), "other domains are unrelated");
    assert_eq!(output.schema().field_with_name("e").unwrap().data_type(), &DataType::Utf8);
}

#[tokio::test(flavor = "multi_thread")]
async fn formats_and_check_digits_stay_valid() {
    let files = Files::new(
        &[
            property("company", "string", "BR_CNPJ", Some("company")),
            property("account", "string", "IBAN", Some("account")),
            property("card", "string", "PAN", Some("card")),
            property("loan", "string", "LOAN", None),
        ],
        &[
            rule("companies", "BR_CNPJ", "transform: cryptoReplaceFfxFpe, key: person, checkDigit: cnpjAlphanumeric"),
            rule("accounts", "IBAN", "transform: cryptoReplaceFfxFpe, key: person, checkDigit: iban"),
            rule(
                "cards",
                "PAN",
                "transform: cryptoReplaceFfxFpe, key: person, checkDigit: luhn, keepFirst: 6, keepLast: 3, lengths: [15, 16], fallback: {transform: cryptoHash, bytes: 16}",
            ),
            rule("loans", "LOAN", "transform: cryptoReplaceFfxFpe, key: person, customAlphabet: \"BCDFGHJK\", canonicalize: [upper]"),
        ],
    );
    let made = files.stage("run").await;
    let said = crate::plan::explain::text(&made.plan);
    assert!(said.contains("15 characters - 6 kept in front - 3 kept at the end - 1 country or check characters = 5; 10^5 = 100000 values, fewer than 10^6: such values get cryptoHash"), "{said}");
    let output = made.push(&[
        ("company", texts([Some("12.ABC.345/01DE-35"), Some("16.727.230/0001-97")])),
        ("account", texts([Some("GB29 NWBK 6016 1331 9268 19"), Some("DE89370400440532013000")])),
        ("card", texts([Some("4111 1111 1111 1111"), Some("378282246310005")])),
        ("loan", texts([Some("bcd-fgh-jkb"), Some("BCDFGHJKB")])),
    ]);
    let (companies, accounts, cards, loans) = (text(&output, "company"), text(&output, "account"), text(&output, "card"), text(&output, "loan"));
    for company in companies.iter().flatten() {
        assert!(cnpj::valid(company.as_bytes()), "{company}");
    }
    assert!(companies[0] != Some("12.ABC.345/01DE-35") && companies[0].unwrap().as_bytes()[2] == b'.');
    assert!(companies[1].unwrap().bytes().all(|byte| !byte.is_ascii_alphabetic()), "a numeric one stays numeric");
    for (account, country) in accounts.iter().flatten().zip(["GB", "DE"]) {
        assert!(iban::valid(account.replace(' ', "").as_bytes()) && account.starts_with(country), "{account}");
    }
    assert!(luhn::valid(cards[0].unwrap().as_bytes()) && cards[0].unwrap().starts_with("4111 11") && cards[0] != Some("4111 1111 1111 1111"));
    assert!(cards[1].unwrap().len() == 32 && cards[1].unwrap().bytes().all(|byte| byte.is_ascii_hexdigit()), "fifteen digits fall back");
    assert_eq!(loans[0].unwrap().replace('-', ""), loans[1].unwrap(), "the format apart, the same token");
    assert!(loans[0].unwrap().bytes().all(|byte| b"BCDFGHJK-".contains(&byte)));
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_columns_are_of_their_run_and_row() {
    let files = Files::new(
        &[property("note", "string", "NOTE", None), property("sum", "number, physicalType: \"decimal(9,2)\"", "SUM", None)],
        &[rule("notes", "[NOTE, SUM]", "transform: encrypt, key: person")],
    );
    let sums: ArrayRef = Arc::new(Decimal128Array::from(vec![Some(1250), Some(1250), None]).with_precision_and_scale(9, 2).unwrap());
    let columns = [("note", texts([Some("lunch"), Some("lunch"), None])), ("sum", sums)];
    let first = files.stage("run 1").await.push(&columns);
    let again = files.stage("run 1").await.push(&columns);
    let other = files.stage("run 2").await.push(&columns);
    let (a, b, c) = (text(&first, "note"), text(&again, "note"), text(&other, "note"));
    assert_eq!(a, b, "a task that is tried again makes the same tokens");
    assert!(a[0] != a[1] && a[0] != c[0] && a[2].is_none(), "{a:?} {c:?}");
    assert_eq!(first.column_by_name("__tie").unwrap(), other.column_by_name("__tie").unwrap(), "it orders nothing");
    assert_eq!(first.column_by_name("__shard").unwrap(), other.column_by_name("__shard").unwrap(), "it places nothing");

    let path = files.0.path().join("person.keyring.json");
    let file = perimeter_pseudonym::KeyringFile::parse(&fs::read(&path).unwrap()).unwrap();
    let kms = LocalKms::open(&LocalKms::key_file(&path)).unwrap();
    for (column, value) in [("note", "lunch"), ("sum", "12.50")] {
        let key = unwrap_reveal(&kms, &file, 1).await.unwrap();
        let reversible = Reversible::Encrypt { dataset: "test".to_owned(), column: column.to_owned() };
        let mut revealer = Revealer::new(&[key], &format!("own:t.{column}"), &reversible).unwrap();
        let mut out = Vec::new();
        revealer.reveal(text(&first, column)[1].unwrap(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), value);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_reveal_to_their_canonical_value() {
    let files = Files::new(
        &[property("mail", "string", "EMAIL", Some("mail")), property("cpf", "string", "BR_CPF", Some("person"))],
        &[
            rule("mails", "EMAIL", "transform: cryptoDeterministic, key: person, canonicalize: [trim, lower]"),
            rule("ids", "BR_CPF", "transform: cryptoReplaceFfxFpe, key: person, checkDigit: cpf, canonicalize: [digits, leftPad:11]"),
        ],
    );
    let output = files.stage("run").await.push(&[("mail", texts([Some(" Ana@Bank.example")])), ("cpf", texts([Some("529.982.247-25")]))]);
    let path = files.0.path().join("person.keyring.json");
    let file = perimeter_pseudonym::KeyringFile::parse(&fs::read(&path).unwrap()).unwrap();
    let kms = LocalKms::open(&LocalKms::key_file(&path)).unwrap();
    let lower = vec![transform::Canonicalize::Trim, transform::Canonicalize::Lower];
    let digits = vec![transform::Canonicalize::Digits, transform::Canonicalize::LeftPad(11)];
    for (column, domain, reversible, value) in [
        ("mail", "named:mail", Reversible::CryptoDeterministic { canonicalize: lower }, "ana@bank.example"),
        (
            "cpf",
            "named:person",
            Reversible::CryptoReplaceFfxFpe(FpeOptions { canonicalize: digits, check_digit: Some(CheckDigit::Cpf), ..FpeOptions::default() }),
            "52998224725",
        ),
    ] {
        let mut revealer = Revealer::new(&[unwrap_reveal(&kms, &file, 1).await.unwrap()], domain, &reversible).unwrap();
        let mut out = Vec::new();
        revealer.reveal(text(&output, column)[0].unwrap(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), value);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn types_survive() {
    let decimal = "number, physicalType: \"decimal(9,2)\"";
    let files = Files::new(
        &[
            property("who", "string", "BR_CPF", Some("person")),
            property("sum", decimal, "SUM", None),
            property("income", decimal, "INCOME", None),
            property("age", "integer, physicalType: int", "AGE", None),
            property("class", "integer", "CLASS", None),
            property("born", "date", "BORN", None),
            property("day", "date", "DAY", None),
            property("at", "timestamp, logicalTypeOptions: {timezone: false}", "AT", None),
            property("hour", "timestamp, logicalTypeOptions: {timezone: false}", "HOUR", None),
            "name: flag, logicalType: boolean, classification: public".to_owned(),
        ],
        &[
            rule("who", "BR_CPF", "transform: drop"),
            rule("sum", "SUM", "transform: fixedSizeBucketing, size: 0.25, lowerBound: -1, upperBound: 10"),
            rule("income", "INCOME", "transform: bucketing, buckets: [{max: 10, label: low}, {min: 10, max: 99.5, label: middle}, {min: 99.5, label: high}]"),
            rule("age", "AGE", "transform: bucketing, bounds: [0, 18, 65]"),
            rule("class", "CLASS", "transform: bucketing, buckets: [{min: 0, max: 10}, {min: 20, max: 30}]"),
            rule("born", "BORN", "transform: timePart, part: year"),
            rule("day", "DAY", "transform: timePart, part: dayOfWeek"),
            rule("hour", "HOUR", "transform: timePart, part: hourOfDay"),
            rule("at", "AT", "transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30"),
        ],
    );
    let decimals = |values: Vec<Option<i128>>| -> ArrayRef { Arc::new(Decimal128Array::from(values).with_precision_and_scale(9, 2).unwrap()) };
    let when = [Some(1_700_000_000_123_456), Some(-1), None];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("who", texts([Some("a"), Some("a"), None])),
        ("sum", decimals(vec![Some(37), Some(-250), None])),
        ("income", decimals(vec![Some(-5), Some(9_950), None])),
        ("age", Arc::new(Int32Array::from(vec![Some(17), Some(90), None]))),
        ("class", Arc::new(Int64Array::from(vec![Some(9), Some(20), None]))),
        ("born", Arc::new(Date32Array::from(vec![Some(-1), Some(0), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(0), Some(4), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(when.to_vec()))),
        ("hour", Arc::new(TimestampMicrosecondArray::from(when.to_vec()))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
    ];
    let made = files.stage("run").await;
    let said = crate::plan::explain::text(&made.plan);
    for expected in ["size 0.25, from -1, to 10", "… to 10 as \"low\", 10 to 99.5 as \"middle\"", "0 to 18, 18 to 65, 65 to …", "part hourOfDay"] {
        assert!(said.contains(expected), "{said}");
    }
    let output = made.push(&columns);
    let column = |name: &str| Arc::clone(output.column_by_name(name).unwrap());
    assert!(output.column_by_name("who").is_none());
    assert_eq!(column("sum").as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), [Some(25), Some(-100), None]);
    assert_eq!(column("sum").data_type(), &DataType::Decimal128(9, 2));
    assert_eq!(text(&output, "income"), [Some("low"), Some("high"), None]);
    assert_eq!(column("age").as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(0), Some(65), None]);
    assert_eq!(column("class").as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(0), Some(20), None]);
    assert_eq!(column("born").as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(1969), Some(1970), None]);
    assert_eq!(column("day").as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(4), Some(1), None]);
    assert_eq!(column("hour").as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(22), Some(23), None]);
    assert_eq!(column("flag").as_boolean().iter().collect::<Vec<_>>(), [Some(true), None, Some(false)]);
    let at = column("at");
    let at = at.as_primitive::<datafusion::arrow::datatypes::TimestampMicrosecondType>();
    let by = at.value(0) - 1_700_000_000_123_456;
    assert_eq!((by % 86_400_000_000, at.value(1) - -1, at.is_null(2)), (0, by, true), "whole days, the same for one person");

    // What no bucket holds ends the job.
    let made = files.stage("run").await;
    let mut columns = columns;
    columns[4].1 = Arc::new(Int64Array::from(vec![15, 20, 21]));
    let batch = made.batch(&columns);
    let error = made.workers().push(&batch).unwrap_err().to_string();
    assert!(error.contains("no bucket holds the value") && !error.contains("15"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_and_memory_change_nothing() {
    let files = Files::new(
        &[
            property("cpf", "string", "BR_CPF", Some("person")),
            property("id", "string", "ID", None),
            property("at", "timestamp, logicalTypeOptions: {timezone: false}", "AT", None),
        ],
        &[
            rule("ids", "[BR_CPF, ID]", "transform: cryptoReplaceFfxFpe, key: person, nulls: token, empty: token, invalid: token"),
            rule("at", "AT", "transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30"),
        ],
    );
    let rows = 3_000;
    let values: Vec<Option<String>> =
        (0..rows).map(|row| (row % 11 != 5).then(|| if row % 13 == 3 { format!("x{}", row % 7) } else { format!("{:09}", row * row % 701) })).collect();
    let cpf: Vec<Option<String>> = (0..rows).map(|row| Some(format!("{:011}", row % 97))).collect();
    let columns = [
        ("cpf", texts(cpf.iter().map(Option::as_deref))),
        ("id", texts(values.iter().map(Option::as_deref))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter_values((0..rows as i64).map(|row| row * 1_000_000_007))) as ArrayRef),
    ];
    let whole = {
        let made = files.stage("run").await;
        let batch = made.batch(&columns);
        (made.workers().push(&batch).unwrap(), batch)
    };
    for (cache_bytes, size) in [(0, 64), (10_000, 500), (usize::MAX, 1)] {
        let mut made = files.stage("run").await;
        made.stage.spec.cache_bytes = cache_bytes;
        let mut workers = made.workers();
        for start in (0..rows).step_by(size) {
            let length = size.min(rows - start);
            assert_eq!(workers.push(&whole.1.slice(start, length)).unwrap(), whole.0.slice(start, length), "{cache_bytes} {size} {start}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nested_values_are_transformed_one_by_one() {
    let files = Files::new(
        &[property("who", "string", "WHO", None), property("v", "string", "BR_CPF", Some("person")), property("w", "string", "NOTE", None)],
        &[
            rule("who", "WHO", "transform: cryptoHash, key: person"),
            rule("ids", "BR_CPF", "transform: cryptoHash, key: person, bytes: 16, canonicalize: [digits]"),
            rule("notes", "NOTE", "transform: encrypt, key: person"),
        ],
    );
    let flat = files.stage("run").await.push(&[("who", texts([Some("a"), Some("b")])), ("v", texts([Some("1"), Some("2")])), ("w", texts([None, None]))]);
    let (one, two) = (text(&flat, "v")[0].unwrap().to_owned(), text(&flat, "v")[1].unwrap().to_owned());

    let mut made = files.stage("run").await;
    // [{id: ["1", "2"]}], null, [], [{id: null}, {id: ["2", null]}], and a slice's value in front of it all.
    let ids = ListArray::new(
        Arc::new(Field::new("item", DataType::Utf8, true)),
        datafusion::arrow::buffer::OffsetBuffer::from_lengths([1, 2, 0, 2]),
        texts([Some("9"), Some("1"), Some("2"), Some("2"), None]),
        Some(vec![true, true, false, true].into()),
    );
    let structs = StructArray::from(vec![(Arc::new(Field::new("id", ids.data_type().clone(), true)), Arc::new(ids) as ArrayRef)]);
    let item = Arc::new(Field::new("item", structs.data_type().clone(), true));
    let offsets = datafusion::arrow::buffer::OffsetBuffer::from_lengths([1, 1, 0, 0, 2]);
    let lists = ListArray::new(item, offsets, Arc::new(structs), Some(vec![true, true, false, true, true].into()));
    let lists: ArrayRef = Arc::new(lists.slice(1, 4));
    let notes = ListArray::new(
        Arc::new(Field::new("item", DataType::Utf8, true)),
        datafusion::arrow::buffer::OffsetBuffer::from_lengths([2, 1, 0, 0]),
        texts([Some("x"), Some("x"), Some("x")]),
        None,
    );
    let notes: ArrayRef = Arc::new(notes);
    let retype = |schema: &Schema| {
        let fields = schema.fields().iter().map(|field| match field.name().as_str() {
            "v" => Arc::new(Field::new("v", lists.data_type().clone(), true)),
            "w" => Arc::new(Field::new("w", notes.data_type().clone(), true)),
            _ => Arc::clone(field),
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    };
    let spec = &mut made.stage.spec;
    (spec.unplaced, spec.entity, spec.tied) = (retype(&spec.unplaced), Some(0), Vec::new());
    let without_tie = retype(&spec.schema);
    let fields: Vec<_> = without_tie.fields().iter().filter(|field| field.name() != TIE_COLUMN).cloned().collect();
    spec.schema = Arc::new(Schema::new(fields));
    let output = made.push(&[("who", texts([Some("a"), Some("b"), Some("c"), Some("d")])), ("v", Arc::clone(&lists)), ("w", notes)]);

    let column = output.column_by_name("v").unwrap();
    assert_eq!(column.data_type(), lists.data_type());
    let column = column.as_list::<i32>();
    let cell = |row: usize| -> Vec<Option<Vec<Option<String>>>> {
        let structs = column.value(row);
        let ids = structs.as_struct().column(0).as_list::<i32>().clone();
        ids.iter().map(|ids| ids.map(|ids| ids.as_string::<i32>().iter().map(|id| id.map(str::to_owned)).collect())).collect()
    };
    assert_eq!((cell(0), column.is_null(1), cell(2)), (vec![Some(vec![Some(one), Some(two.clone())])], true, vec![]));
    assert_eq!(cell(3), vec![None, Some(vec![Some(two), None])]);
    let notes = output.column_by_name("w").unwrap().as_list::<i32>().clone();
    let (first, second) = (notes.value(0), notes.value(1));
    assert_eq!(first.as_string::<i32>().value(0), first.as_string::<i32>().value(1), "equal values of one row");
    assert_ne!(first.as_string::<i32>().value(0), second.as_string::<i32>().value(0), "other rows have other tokens");
    assert!(first.as_string::<i32>().value(0).starts_with("v1."));
}
