//! What schema files come to: nested columns, options of every type, keys, references, quality rules, and the versions of the standard.
use perimeter_contract::schema::{
    Bound, Check, CheckDigit, Column, DataType, Decimal, Metric, MetricUnit, RequiredObject, Schema, SetCheck, StringFormat, TimeBound, Zone,
};
use perimeter_contract::{Diagnostics, load_schema_with};
use std::path::Path;

fn read(text: &str) -> Result<Schema, Diagnostics> {
    load_schema_with(Path::new("x.odcs.yaml"), &|_| Ok(text.as_bytes().to_vec())).map(|(schema, _)| schema)
}

/// A file of that version with these lines under the dataset.
fn file(version: &str, lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("apiVersion: {version}\nkind: DataContract\nid: urn:x\nversion: 1.0.0\nstatus: active\nschema:\n  - name: tx\n{lines}")
}

fn schema(lines: &str) -> Schema {
    read(&file("v3.1.0", lines)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn codes(text: &str) -> Vec<&'static str> {
    read(text).expect_err("there are mistakes").list.iter().map(|mistake| mistake.code).collect()
}

fn column<'a>(schema: &'a Schema, name: &str) -> &'a Column {
    schema.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no column {name}"))
}

fn number(unscaled: i128, scale: u8) -> Decimal {
    Decimal { unscaled, scale }
}

#[test]
fn objects_and_arrays_become_columns() {
    let schema = schema(
        r#"
properties:
  - {name: id, logicalType: string}
  - name: customer
    logicalType: object
    required: true
    classification: restricted
    tags: [personal]
    logicalTypeOptions: {required: [name, address]}
    properties:
      - {name: name, logicalType: string, classification: secret, tags: [name]}
      - name: address
        logicalType: object
        properties:
          - {name: zip, logicalType: string, logicalTypeOptions: {maxLength: 8}, customProperties: [{property: semanticType, value: ZIP}]}
      - name: phones
        logicalType: array
        required: true
        logicalTypeOptions: {minItems: 1, maxItems: 5, uniqueItems: true}
        customProperties: [{property: joinDomain, value: phone}]
        items: {logicalType: string, required: true, logicalTypeOptions: {minLength: 3}, customProperties: [{property: semanticType, value: PHONE}]}
  - name: parties
    logicalType: array
    required: true
    logicalTypeOptions: {maxItems: 9}
    items:
      logicalType: object
      logicalTypeOptions: {required: [cpf]}
      properties:
        - name: cpf
          logicalType: string
          quality: [{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}, {metric: nullValues, mustBe: 0}]
        - {name: share, logicalType: number, physicalType: "decimal(5,2)"}
        - {name: home, logicalType: object, properties: [{name: city, logicalType: string, quality: [{metric: nullValues, mustBe: 0}]}]}
  - {name: days, logicalType: array, items: {logicalType: date, logicalTypeOptions: {format: yyMMdd}, customProperties: [{property: yearBase, value: 1950}]}}
"#,
    );
    let shown: Vec<(&str, Option<usize>, bool, bool)> =
        schema.columns.iter().map(|column| (column.name.as_str(), column.list_at, column.required, column.item_required)).collect();
    assert_eq!(
        shown,
        [
            ("id", None, false, false),
            ("customer.name", None, true, false),
            ("customer.address.zip", None, false, false),
            ("customer.phones", Some(2), true, true),
            ("parties.cpf", Some(1), false, true),
            ("parties.share", Some(1), false, false),
            ("parties.home.city", Some(1), false, true),
            ("days", Some(1), false, false),
        ]
    );
    let paths: Vec<String> = schema.required_objects.iter().map(|RequiredObject { path, .. }| path.join("/")).collect();
    assert_eq!(paths, ["customer", "customer/address", "parties"]);
    assert_eq!(column(&schema, "customer.address.zip").path, ["customer", "address", "zip"]);
    assert_eq!(column(&schema, "customer.name").classification.as_deref(), Some("secret"));
    assert_eq!(column(&schema, "customer.name").tags, ["personal", "name"]);
    assert_eq!(column(&schema, "customer.address.zip").classification.as_deref(), Some("restricted"), "what is inside is as sensitive");
    let phones = column(&schema, "customer.phones");
    assert_eq!((phones.semantic_type.as_deref(), phones.join_domain.as_deref()), (Some("PHONE"), Some("phone")));
    assert_eq!(phones.data_type, DataType::List(Box::new(DataType::String)));
    let rules: Vec<(&str, bool)> = phones.rules.iter().map(|rule| (rule.check.code(), rule.each)).collect();
    assert_eq!(rules, [("min-items", false), ("max-items", false), ("unique-items", false), ("min-length", true)]);
    let rules: Vec<(&str, bool)> = column(&schema, "parties.cpf").rules.iter().map(|rule| (rule.check.code(), rule.each)).collect();
    assert_eq!(rules, [("max-items", false), ("check-digit", true)]);
    assert_eq!(column(&schema, "parties.share").data_type, DataType::List(Box::new(DataType::Decimal { precision: 5, scale: 2 })));
    let DataType::List(inner) = &column(&schema, "days").data_type else { panic!("a list") };
    let DataType::Date { format } = inner.as_ref() else { panic!("of dates") };
    assert_eq!(format.compiled.parse_date("700101"), Some(0));
}

#[test]
fn options_of_every_type() {
    let schema = schema(
        r#"
properties:
  - {name: mail, logicalType: string, logicalTypeOptions: {format: email}}
  - {name: i8, logicalType: integer, logicalTypeOptions: {format: i8}}
  - {name: u16, logicalType: integer, logicalTypeOptions: {format: u16, maximum: 10}}
  - {name: u32, logicalType: integer, logicalTypeOptions: {format: u32, minimum: -5}}
  - {name: u64, logicalType: integer, logicalTypeOptions: {format: u64}}
  - {name: f32, logicalType: number, logicalTypeOptions: {format: f32}}
  - {name: price, logicalType: number, physicalType: "decimal(9,2)", logicalTypeOptions: {multipleOf: 0.05}}
  - {name: day, logicalType: date, logicalTypeOptions: {format: dd/MM/yyyy, minimum: 02/01/1970, exclusiveMaximum: 1970-01-03}}
  - {name: at, logicalType: time, logicalTypeOptions: {minimum: "09:00:00", timezone: false}}
  - {name: cut, logicalType: time, logicalTypeOptions: {format: hh:mm a, maximum: 11:30 PM}}
  - {name: local, logicalType: timestamp, logicalTypeOptions: {exclusiveMinimum: 1970-01-02}}
  - {name: utc, logicalType: timestamp, logicalTypeOptions: {timezone: true, maximum: "1970-01-01T01:00:00+01:00"}}
  - {name: there, logicalType: timestamp, logicalTypeOptions: {timezone: true, defaultTimezone: America/Sao_Paulo, minimum: "1970-01-01 00:00:00"}}
"#,
    );
    let checks = |name: &str| column(&schema, name).rules.iter().map(|rule| rule.check.clone()).collect::<Vec<_>>();
    assert!(matches!(checks("mail")[..], [Check::Format(StringFormat::Email)]));
    let bounds = |name: &str| {
        let bound = |check: &Check| match check {
            Check::Minimum(number) => (">=", number.unscaled),
            Check::Maximum(number) => ("<=", number.unscaled),
            Check::TimeRange { bound: TimeBound::Minimum, at } => (">=", (*at).into()),
            Check::TimeRange { bound: TimeBound::ExclusiveMinimum, at } => (">", (*at).into()),
            Check::TimeRange { bound: TimeBound::Maximum, at } => ("<=", (*at).into()),
            Check::TimeRange { bound: TimeBound::ExclusiveMaximum, at } => ("<", (*at).into()),
            other => panic!("{other:?}"),
        };
        checks(name).iter().map(bound).collect::<Vec<_>>()
    };
    assert_eq!((bounds("i8"), &column(&schema, "i8").data_type), (vec![(">=", -128), ("<=", 127)], &DataType::Int32));
    assert_eq!(bounds("u16"), [("<=", 10), (">=", 0)], "the contract's own bound is tighter");
    assert_eq!(bounds("u32"), [(">=", -5), (">=", 0), ("<=", u32::MAX.into())], "the contract's own bound is looser");
    assert_eq!(bounds("u64"), [(">=", 0), ("<=", u64::MAX.into())]);
    assert_eq!(column(&schema, "u64").data_type, DataType::Decimal { precision: 20, scale: 0 });
    assert_eq!((column(&schema, "f32").data_type.clone(), checks("f32").len()), (DataType::Float64, 0));
    assert!(matches!(checks("price")[..], [Check::MultipleOf(Decimal { unscaled: 5, scale: 2 })]));
    assert_eq!(bounds("day"), [(">=", 1), ("<", 2)]);
    assert_eq!(bounds("at"), [(">=", 9 * 3_600_000_000)]);
    assert_eq!(bounds("cut"), [("<=", (23 * 60 + 30) * 60_000_000)]);
    assert_eq!(bounds("local"), [(">", 86_400_000_000)]);
    assert_eq!(bounds("utc"), [("<=", 0)]);
    assert_eq!(bounds("there"), [(">=", 3 * 3_600_000_000)]);
    assert!(matches!(column(&schema, "there").data_type, DataType::Timestamp { zone: Zone::Utc { default: Some(_) }, .. }));
}

#[test]
fn keys_and_references() {
    let schema = schema(
        r#"
relationships:
  - {from: [tx.branch, tx.account], to: [accounts.branch, accounts.number]}
properties:
  - {name: account, logicalType: string, primaryKey: true, primaryKeyPosition: 2, relationships: [{to: people.id}, {type: foreignKey, to: companies.address.id}]}
  - {name: branch, logicalType: string, primaryKey: true, primaryKeyPosition: 1}
  - {name: nsu, logicalType: string, unique: true, primaryKeyPosition: -1, relationships: [{to: [tx.nsu]}]}
"#,
    );
    let shown: Vec<(&str, String)> = schema.rules.iter().map(|rule| (rule.code.as_str(), format!("{:?}", rule.check))).collect();
    let references = |columns: &str, dataset: &str, to: &str| format!("References {{ columns: [{columns}], dataset: {dataset:?}, to: [{to}] }}");
    assert_eq!(
        shown,
        [
            ("primary-key", "Unique { columns: [1, 0] }".to_owned()),
            ("nsu.unique", "Unique { columns: [2] }".to_owned()),
            ("account.references-people", references("0", "people", "\"id\"")),
            ("account.references-companies", references("0", "companies", "\"address.id\"")),
            ("nsu.references", references("2", "tx", "\"nsu\"")),
            ("branch+account.references", references("1, 0", "accounts", "\"branch\", \"number\"")),
        ]
    );
    assert_eq!(schema.columns.iter().map(|column| column.required).collect::<Vec<_>>(), [true, true, false], "a key is required");
    let single = self::schema("properties: [{name: id, logicalType: string, primaryKey: true, unique: true}]");
    assert_eq!(single.rules.iter().map(|rule| rule.code.as_str()).collect::<Vec<_>>(), ["primary-key"], "a key is unique already");
}

#[test]
fn quality_rules() {
    let schema = schema(
        r#"
quality:
  - {metric: rowCount, mustBeBetween: [10, 1000]}
  - {metric: duplicateValues, arguments: {properties: [id, day]}, mustBe: 0, name: One a Day}
  - {metric: duplicateValues, arguments: {properties: [status]}, mustBeLessThan: 99.5, unit: percent}
  - {type: sql, name: totalIsRight, query: "SELECT sum(amount) FROM {object};", mustBeGreaterThan: 0, mustBeLessOrEqualTo: 1e6}
  - {type: custom, engine: perimeter, name: amount positive, implementation: {expression: "amount >= 0"}}
  - {type: custom, engine: perimeter, implementation: {monotonic: {column: day, per: [id], strict: true}}}
  - {type: custom, engine: perimeter, name: all in order, implementation: {monotonic: {column: amount}}}
  - {type: text, description: complete}
properties:
  - name: id
    logicalType: string
    quality:
      - {metric: nullValues, mustBe: 0}
      - {metric: missingValues, arguments: {missingValues: ['', N/A, "null"]}, mustBe: 0}
      - {metric: duplicateValues, mustBe: 0, unit: percent}
      - {type: custom, engine: perimeter, implementation: {checkDigit: iban}}
  - name: status
    logicalType: string
    quality:
      - {metric: missingValues, arguments: {missingValues: [null, ~, '']}, mustBe: 0}
      - {type: library, metric: invalidValues, arguments: {validValues: [A, B], pattern: '[A-Z]'}, mustBe: 0}
      - {metric: invalidValues, arguments: {validValues: [A]}, mustBeLessThan: 5, unit: percent}
  - name: amount
    logicalType: number
    physicalType: decimal(9,2)
    quality:
      - {metric: nullValues, mustBeLessThan: 1, unit: percent}
      - {metric: missingValues, arguments: {missingValues: [null, "0.00"]}, mustBeLessOrEqualTo: 3, mustNotBe: 2}
      - {metric: invalidValues, arguments: {validValues: [1.5, 2]}, mustNotBeBetween: [1, 2]}
      - {type: sql, query: "SELECT count({property}) FROM ${table}", mustBe: 3}
  - {name: day, logicalType: date, quality: [{metric: invalidValues, arguments: {validValues: [2026-11-30]}, mustBe: 0}]}
"#,
    );
    assert!(column(&schema, "id").required && column(&schema, "status").required && !column(&schema, "amount").required);
    let id: Vec<&Check> = column(&schema, "id").rules.iter().map(|rule| &rule.check).collect();
    let [Check::NotAmong(missing), Check::CheckDigit(CheckDigit::Iban)] = id[..] else { panic!("{id:?}") };
    assert_eq!(missing, &["", "N/A", "null"], "a quoted null is text");
    let status: Vec<&str> = column(&schema, "status").rules.iter().map(|rule| rule.check.code()).collect();
    assert_eq!(status, ["missing-values", "valid-values", "pattern"]);
    let by = |code: &str| &schema.rules.iter().find(|rule| rule.code == code).unwrap_or_else(|| panic!("no rule {code}")).check;
    let codes: Vec<&str> = schema.rules.iter().map(|rule| rule.code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "id.duplicate-values",
            "status.invalid-values",
            "amount.null-values",
            "amount.missing-values",
            "amount.invalid-values",
            "amount.sql",
            "row-count",
            "one-a-day",
            "duplicate-values",
            "total-is-right",
            "amount-positive",
            "day.monotonic",
            "all-in-order",
        ]
    );
    assert!(matches!(by("one-a-day"), SetCheck::Unique { columns } if columns == &[0, 3]));
    assert!(matches!(by("id.duplicate-values"), SetCheck::Unique { columns } if columns == &[0]));
    assert!(matches!(by("day.monotonic"), SetCheck::Monotonic { column: 3, per, strict: true } if per == &[0]));
    assert!(matches!(by("all-in-order"), SetCheck::Monotonic { column: 2, per, strict: false } if per.is_empty()));
    assert!(matches!(by("amount-positive"), SetCheck::Expression { sql } if sql == "amount >= 0"));
    let SetCheck::Sql { query, bounds } = by("total-is-right") else { panic!("sql") };
    assert_eq!(query, "SELECT sum(amount) FROM {object}", "without its end");
    assert_eq!(bounds, &[Bound::GreaterThan(number(0, 0)), Bound::LessOrEqualTo(number(1_000_000, 0))]);
    let SetCheck::Metric { metric: Metric::RowCount, unit: MetricUnit::Rows, bounds } = by("row-count") else { panic!("rows") };
    assert_eq!(bounds, &[Bound::Between(number(10, 0), number(1000, 0))]);
    let SetCheck::Metric { metric: Metric::DuplicateValues { columns }, unit: MetricUnit::Percent, bounds } = by("duplicate-values") else {
        panic!("duplicates")
    };
    assert_eq!((columns.as_slice(), bounds.as_slice()), ([1].as_slice(), [Bound::LessThan(number(995, 1))].as_slice()));
    let SetCheck::Metric { metric: Metric::MissingValues { column: 2, values, null: true }, bounds, .. } = by("amount.missing-values") else {
        panic!("missing")
    };
    assert_eq!((values.as_slice(), bounds.len()), (["0.00".to_owned()].as_slice(), 2));
    let SetCheck::Metric { metric: Metric::InvalidValues { column: 2, checks }, bounds, .. } = by("amount.invalid-values") else { panic!("invalid") };
    assert!(matches!(checks[..], [Check::ValidValues(_)]) && bounds == &[Bound::NotBetween(number(1, 0), number(2, 0))]);
}

/// The examples of the standard's own text.
#[test]
fn rules_of_older_versions() {
    let lines = r#"
quality: [{rule: rowCount, mustBeBetween: [100, 120], name: Verify row count range}]
properties:
  - name: a
    logicalType: string
    quality:
      - {type: library, rule: duplicateCount, mustBeLessThan: 10, name: Fewer than 10 duplicate names, unit: rows}
      - {rule: duplicateCount, mustBeLessThan: 1, unit: percent}
      - {rule: validValues, validValues: [pounds]}
      - {rule: nullValues, metric: nullValues, mustBe: 0}
  - {name: n, logicalType: integer, logicalTypeOptions: {minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false}}
"#;
    let schema = read(&file("v3.0.2", lines)).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(
        schema.rules.iter().map(|rule| rule.code.as_str()).collect::<Vec<_>>(),
        ["fewer-than-10-duplicate-names", "a.duplicate-values", "verify-row-count-range"]
    );
    assert!(column(&schema, "a").required && matches!(column(&schema, "a").rules[0].check, Check::ValidValues(_)));
    assert_eq!(column(&schema, "n").rules.iter().map(|rule| rule.check.code()).collect::<Vec<_>>(), ["exclusive-minimum", "maximum"]);
    assert_eq!(codes(&file("v3.1.0", lines)), ["bad-bound", "bad-bound"], "the flags are of v3.0 alone");
}

#[test]
fn versions_of_the_standard() {
    let lines = "properties: [{name: a, logicalType: string}]";
    for version in ["v3.0.0", "v3.0.1", "v3.0.2", "v3.1.0", "v3.2.0"] {
        assert!(read(&file(version, lines)).is_ok(), "{version}");
    }
    for version in ["v2.2.2", "v3.3.0", "v4.0.0", "3.1.0", "v3.1"] {
        assert_eq!(codes(&file(version, lines)), ["wrong-api-version"], "{version}");
    }
    let without = |version: &str| file(version, lines).replace("status: active\n", "");
    assert!(read(&without("v3.2.0")).is_ok(), "v3.2 does not require it");
    assert_eq!(codes(&without("v3.1.0")), ["missing-key"]);
    let added = r#"
context: {instructions: be kind}
synonyms: [{synonym: transactions}]
properties:
  - {name: a, logicalType: string, synonyms: [{synonym: b, locale: pt-BR}], semanticType: dimension}
  - {name: b, logicalType: string, semanticType: column}
"#;
    assert!(read(&file("v3.2.0", added).replace("schema:\n", "context: also here\nschema:\n")).is_ok(), "what v3.2 adds and describes");
}

/// What the standard allows and a reader could mistake for something else.
#[test]
fn nothing_is_taken_by_half() {
    for (lines, code) in [
        ("properties: [{name: a, logicalType: array, items: {logicalType: string, unique: true}}]", "bad-key"),
        (
            "properties: [{name: a, logicalType: array, items: {logicalType: object, properties: [{name: b, logicalType: string, primaryKey: true}]}}]",
            "bad-key",
        ),
        ("properties: [{name: a, logicalType: object, relationships: [{to: x.y}], properties: [{name: b, logicalType: string}]}]", "bad-key"),
        (
            "properties: [{name: a, logicalType: array, items: {logicalType: object, properties: [{name: b, logicalType: object, required: true, properties: [{name: c, logicalType: string}]}]}}]",
            "nested-not-available",
        ),
        ("properties: [{name: a, logicalType: object, properties: []}]", "empty-list"),
        ("properties: [{name: a, logicalType: string, quality: [{type: library, mustBe: 0}]}]", "bad-quality"),
        ("properties: [{name: a, logicalType: string, quality: [{metric: invalidValues, mustBe: 0, arguments: {}}]}]", "bad-quality"),
        ("properties: [{name: a, logicalType: string, quality: [{metric: invalidValues, mustBe: 0, arguments: {validValues: [null]}}]}]", "bad-quality"),
        ("properties: [{name: a, logicalType: string, quality: [{metric: nullValues, mustBe: 0, arguments: {x: 1}}]}]", "bad-quality"),
        (
            "properties: [{name: a, logicalType: string, quality: [{type: custom, engine: perimeter, mustBe: 0, implementation: {checkDigit: luhn}}]}]",
            "bad-quality",
        ),
        ("properties: [{name: a, logicalType: integer, quality: [{type: custom, engine: perimeter, implementation: {checkDigit: luhn}}]}]", "bad-quality"),
        (
            "properties: [{name: a, logicalType: number, physicalType: 'decimal(3,1)', quality: [{metric: invalidValues, arguments: {validValues: [100]}, mustBe: 0}]}]",
            "bad-quality",
        ),
        (
            "properties: [{name: a, logicalType: timestamp, quality: [{metric: invalidValues, arguments: {validValues: [2026-01-01T00:00:00]}, mustBe: 0}]}]",
            "bad-quality",
        ),
        (
            "properties: [{name: a, logicalType: array, quality: [{metric: missingValues, arguments: {missingValues: [x]}, mustBe: 0}], items: {logicalType: string}}]",
            "quality-not-available",
        ),
        (
            "properties: [{name: a, logicalType: array, customProperties: [{property: semanticType, value: A}], items: {logicalType: string, customProperties: [{property: semanticType, value: B}]}}]",
            "bad-custom-property",
        ),
        ("properties: [{name: a, logicalType: string, quality: [{metric: duplicateValues, mustBe: 0}, {metric: duplicateValues, mustBe: 0}]}]", "rule-name"),
        ("properties: [{name: a, logicalType: string, relationships: [{to: x.y}, {to: x.y}]}]", "rule-name"),
        ("properties: [{name: a, logicalType: string, unknown: 1}]", "unknown-key"),
    ] {
        assert_eq!(codes(&file("v3.1.0", lines)), [code], "{lines}");
    }
    let decimals = "properties: [{name: a, logicalType: number, physicalType: 'decimal(3,1)', quality: [{metric: invalidValues, arguments: {validValues: [99.9, -99.9, 0]}, mustBe: 0}]}]";
    assert!(read(&file("v3.1.0", decimals)).is_ok());
}
