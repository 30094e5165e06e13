//! Pairs of files, and what is said about them.
use insta::assert_snapshot;
use perimeter_contract::diff::Breaks;
use perimeter_contract::schema::Schema;
use perimeter_contract::{Change, diff, load_schema_with};
use std::fmt::Write as _;
use std::path::Path;

fn schema(dataset: &str) -> Schema {
    let lines: String = dataset.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("apiVersion: v3.1.0\nkind: DataContract\nid: urn:x\nversion: 1.0.0\nstatus: active\nschema:\n  - name: tx\n{lines}");
    load_schema_with(Path::new("x.odcs.yaml"), &|_| Ok(text.clone().into_bytes())).unwrap_or_else(|mistakes| panic!("{mistakes}")).0
}

fn shown(changes: &[Change]) -> String {
    let mut out = String::new();
    for change in changes {
        let breaks: Vec<&str> = change.breaks.iter().map(|breaks| breaks.name()).collect();
        let column = change.column.as_deref().unwrap_or("-");
        let rule = change.rule.as_deref().unwrap_or("-");
        let _ = writeln!(out, "{} {column} {rule} [{}] {}", change.kind.name(), breaks.join(", "), change.message);
    }
    out
}

const OLD: &str = r#"
quality:
  - {metric: rowCount, mustBeGreaterThan: 0}
  - {type: custom, engine: perimeter, name: positive, implementation: {expression: "amount > 0"}}
properties:
  - {name: id, logicalType: string, primaryKey: true, logicalTypeOptions: {minLength: 3, maxLength: 9, pattern: '[0-9]+'}}
  - {name: cpf, logicalType: string, classification: restricted, tags: [a, b], customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]}
  - {name: amount, logicalType: number, physicalType: 'decimal(9,2)', required: true, logicalTypeOptions: {minimum: -0.50, maximum: 1000}}
  - {name: count, logicalType: integer, physicalType: int}
  - {name: rate, logicalType: number}
  - {name: day, logicalType: date, logicalTypeOptions: {format: dd/MM/yyyy, minimum: 2020-01-01}}
  - {name: at, logicalType: timestamp, logicalTypeOptions: {timezone: true, defaultTimezone: America/Sao_Paulo}}
  - {name: local, logicalType: timestamp}
  - {name: status, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [A, B, C]}, mustBe: 0}]}
  - {name: kind, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [A, B]}, mustBe: 0}]}
  - {name: gone, logicalType: string}
  - {name: tags, logicalType: array, required: true, items: {logicalType: string, required: true}}
  - {name: home, logicalType: object, required: true, properties: [{name: zip, logicalType: string}]}
"#;

const NEW: &str = r#"
quality:
  - {metric: rowCount, mustBeGreaterThan: 10}
  - {metric: duplicateValues, arguments: {properties: [cpf, day]}, mustBe: 0}
properties:
  - {name: cpf, logicalType: string, classification: public, tags: [b, c], customProperties: [{property: joinDomain, value: people}]}
  - {name: id, logicalType: string, primaryKey: true, logicalTypeOptions: {minLength: 2, maxLength: 8, pattern: '[0-9a-f]+'}}
  - {name: amount, logicalType: number, physicalType: 'decimal(12,2)', logicalTypeOptions: {minimum: 0, maximum: 5000, multipleOf: 0.01}}
  - {name: count, logicalType: integer}
  - {name: rate, logicalType: string}
  - {name: day, logicalType: date, logicalTypeOptions: {format: MM/dd/yyyy, minimum: 2019-01-01}}
  - {name: at, logicalType: timestamp, logicalTypeOptions: {timezone: true, defaultTimezone: Etc/UTC}}
  - {name: local, logicalType: timestamp, logicalTypeOptions: {timezone: true, defaultTimezone: Etc/UTC}}
  - {name: status, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [A, B]}, mustBe: 0}]}
  - {name: kind, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [A, X]}, mustBe: 0}]}
  - {name: tags, logicalType: array, items: {logicalType: string}}
  - {name: home, logicalType: object, properties: [{name: zip, logicalType: string, required: true}]}
  - {name: fresh, logicalType: date}
"#;

#[test]
fn everything_that_can_change() {
    assert_snapshot!(shown(&diff(&schema(OLD), &schema(NEW))));
}

#[test]
fn and_back() {
    assert_snapshot!(shown(&diff(&schema(NEW), &schema(OLD))));
}

#[test]
fn nothing_changed() {
    assert_eq!(diff(&schema(OLD), &schema(OLD)), []);
    // the order of values, tags and keys says nothing
    let key = |a: u8, b: u8| {
        schema(&format!(
            "properties:\n  - {{name: a, logicalType: string, primaryKey: true, primaryKeyPosition: {a}}}\n  - {{name: b, logicalType: string, primaryKey: true, primaryKeyPosition: {b}}}"
        ))
    };
    assert_eq!(diff(&key(1, 2), &key(2, 1)), []);
    let values = |list: &str| {
        schema(&format!(
            "properties: [{{name: a, logicalType: string, tags: [{list}], quality: [{{metric: invalidValues, arguments: {{validValues: [{list}]}}, mustBe: 0}}]}}]"
        ))
    };
    assert_eq!(diff(&values("x, y"), &values("y, x")), []);
}

#[test]
fn values_of_lists_are_not_shown() {
    let values = |list: &str| {
        schema(&format!(
            "properties: [{{name: a, logicalType: string, quality: [{{metric: invalidValues, arguments: {{validValues: [{list}]}}, mustBe: 0}}]}}]"
        ))
    };
    let changes = diff(&values("SECRETX, B"), &values("SECRETY, B"));
    assert_eq!(changes[0].breaks, [Breaks::Data]);
    assert!(!format!("{changes:?}").contains("SECRET"));
}

/// A bound that only moved through rounding of its text is the same bound.
#[test]
fn numbers_are_compared_as_numbers() {
    let bound = |number: &str| schema(&format!("properties: [{{name: a, logicalType: number, logicalTypeOptions: {{minimum: {number}}}}}]"));
    assert_eq!(diff(&bound("1.50"), &bound("1.5")), []);
    assert_eq!(diff(&bound("1e2"), &bound("100")), []);
    assert_eq!(diff(&bound("1"), &bound("-1"))[0].breaks, []);
    assert_eq!(diff(&bound("-1"), &bound("1"))[0].breaks, [Breaks::Data]);
}

/// A dataset of two columns with these rules at the schema.
fn ruled(rules: &str) -> Schema {
    schema(&format!("quality: [{rules}]\nproperties:\n  - {{name: a, logicalType: string}}\n  - {{name: b, logicalType: number}}"))
}

#[test]
fn thresholds_are_compared_by_direction() {
    let broken = |old: &str, new: &str| -> Vec<Breaks> {
        let rule = |bound: &str| ruled(&format!("{{metric: rowCount, {bound}}}"));
        diff(&rule(old), &rule(new)).into_iter().flat_map(|change| change.breaks).collect()
    };
    let (data, consumers, both) = ([Breaks::Data], [Breaks::Consumers], [Breaks::Data, Breaks::Consumers]);
    let cases: [(&str, &str, &[Breaks]); 11] = [
        ("mustBeGreaterThan: 0", "mustBeGreaterThan: 10", &data),
        ("mustBeGreaterThan: 10", "mustBeGreaterThan: 0", &consumers),
        ("mustBeGreaterOrEqualTo: 10", "mustBeGreaterThan: 10", &data),
        ("mustBeLessThan: 10", "mustBeLessThan: 9", &data),
        ("mustBeLessThan: 10", "mustBeLessOrEqualTo: 10", &consumers),
        ("mustBeBetween: [5, 10]", "mustBeBetween: [6, 10]", &data),
        ("mustBeBetween: [5, 10]", "mustBeGreaterOrEqualTo: 5", &consumers),
        ("mustBeBetween: [5, 10]", "mustBeBetween: [6, 11]", &both),
        ("mustBe: 7", "mustBeBetween: [7, 7.5]", &consumers),
        ("mustBe: 7", "mustBe: 8", &both),
        ("mustNotBe: 7", "mustBe: 8", &both),
    ];
    for (old, new, breaks) in cases {
        assert_eq!(broken(old, new), breaks, "{old} -> {new}");
    }
}

#[test]
fn what_consumers_rely_on_may_not_go() {
    let column = |more: &str| schema(&format!("properties:\n  - {{name: a, logicalType: string{more}}}\n  - {{name: b, logicalType: number}}"));
    let digits = ", quality: [{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}]";
    for kept in [", unique: true", ", primaryKey: true", digits, ", relationships: [{to: customers.id}]"] {
        let gone = diff(&column(kept), &column(""));
        assert!(gone.iter().any(|change| change.kind.name() == "rule-removed" && change.breaks == [Breaks::Consumers]), "{kept}: {}", shown(&gone));
    }
    let gone = diff(&ruled("{metric: rowCount, mustBeGreaterThan: 0}"), &ruled(""));
    assert_eq!(gone.iter().map(|change| change.breaks.as_slice()).collect::<Vec<_>>(), [[Breaks::Consumers]]);
}

#[test]
fn a_new_name_breaks_no_one() {
    let named = |name: &str, sql: &str| ruled(&format!("{{type: custom, engine: perimeter, name: {name}, implementation: {{expression: '{sql}'}}}}"));
    let changes = diff(&named("positive", "b > 0"), &named("above-zero", "b > 0"));
    assert_eq!(
        shown(&changes),
        "rule-changed - above-zero [] the rule `positive` is called `above-zero` and says the same: reports and manifests count it under the new name\n"
    );
    let other = diff(&named("positive", "b > 0"), &named("above_one", "b > 1"));
    assert_eq!(other.len(), 2, "another name and another body: one rule more, one less: {}", shown(&other));
}

#[test]
fn a_classification_says_which_way_it_went() {
    let classified = |word: &str| schema(&format!("properties: [{{name: a, logicalType: string, classification: {word}}}]"));
    for (old, new, says) in [("restricted", "public", "less protected"), ("public", "restricted", "more protected"), ("a", "b", "the policy decides")] {
        let changes = diff(&classified(old), &classified(new));
        assert_eq!(changes[0].breaks, [Breaks::Protection], "{old} -> {new}");
        assert!(changes[0].message.contains(says), "{}", changes[0].message);
    }
}
