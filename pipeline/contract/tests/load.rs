//! Whole jobs: what is read, what is resolved, and that mistakes do not hide each other.
use perimeter_contract::job::{Format, Provider};
use perimeter_contract::policy::{MacieGate, OnSkipped, SampleRows, Transform};
use perimeter_contract::schema::{Check, DataType, Zone};
use perimeter_contract::{Contract, Diagnostics, Kind, json_schema, load, load_policy, load_schema};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const JOB: &str = r#"
apiVersion: perimeter/v1
kind: Job
metadata: {name: test}
parameters: {date: required, env: dev}
policy: files/policy.yaml
sources:
  tx: {uri: "s3://bank-raw/${env}/dt=${date}/*.parquet", format: parquet, schema: files/tx.odcs.yaml, drift: refuse}
  more: {uri: "../in/${date}.csv.gz", format: csv, schema: files/tx.odcs.yaml, options: {delimiter: "\t", nullMarkers: [NA, "-"], decimalPrefix: "$"}}
quarantine: {uri: /var/quarantine/, key: person, retention: 30d}
prepare: |
  SELECT * FROM tx
keys:
  person: {provider: awsKms, keyId: "alias/${env}-person", keyring: s3://bank-keys/person.keyring.json, version: 3}
  card: {provider: local, keyring: keys/card.keyring.json, create: true}
shape:
  layout: static
  sequence: {by: account_id, orderBy: [booked_at, amount]}
  features:
    - {name: amount, column: amount, dtype: float32, scale: log1p, missing: -1}
    - {name: delta_s, column: booked_at, dtype: int64, encode: secondsSincePrevious}
    - {name: account, column: account_id, dtype: bytes}
  buckets: [16, 32]
  overflow: split
sink: {uri: s3://bank-curated/cards/, format: arrayRecord, encoding: tfExample, shards: 16, sseKms: "alias/${env}"}
table: {uri: out/../table/, format: parquet}
"#;

const POLICY: &str = r##"
apiVersion: perimeter/v1
kind: Policy
metadata: {name: test, version: 7, owner: no, purpose: 007, legalBasis: LGPD-7-IX, transferMechanism: LGPD-33-II}
privacyUnit: {joinDomain: person}
rules:
  - name: ids
    match: {semanticType: [BR_CPF, BR_CNPJ], tags: on}
    transform: cryptoHash
    key: person
    canonicalize: [trim, nfc, digits]
    nulls: token
    bytes: 16
  - {name: cards, match: {semanticType: PAN}, transform: cryptoReplaceFfxFpe, key: card, keepFirst: 6, checkDigit: luhn}
  - {name: ages, match: {derivedFrom: DATE_OF_BIRTH}, transform: fixedSizeBucketing, size: 2.50}
  - {name: times, match: {semanticType: EVENT_TIME}, transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30}
  - {name: phones, match: {joinDomain: phone}, transform: characterMask, maskingCharacter: "#", keepLast: 4}
gates: {maxRejectedFraction: 0.01, findings: {sampleRows: all}, macie: {maxAge: 30d, onSkipped: localScan}}
retention: 180d
destinations:
  - {uri: "gs://bank-train/*", region: us-central1, processor: Google Cloud, agreement: {id: DPA-1, expires: 2027-06-30}, maxEgressUsd: 200, requireCmek: true}
"##;

const SCHEMA: &str = r#"
apiVersion: v3.1.0
kind: DataContract
id: urn:test
version: 1.0.0
status: active
description: {purpose: tests}
servers: [{server: prod, type: s3, location: s3://bank-raw/tx}]
team: {members: [{username: someone}]}
tags: [cards]
schema:
  - name: tx
    logicalType: object
    physicalName: TX
    quality: [{type: text, description: the export is complete}]
    properties:
      - name: account_id
        logicalType: string
        logicalTypeOptions: {minLength: 1, maxLength: 32, pattern: '\d+-[0-9]'}
        required: true
        classification: restricted
        tags: [id]
        description: the account
        examples: [0001-1]
        authoritativeDefinitions: [{url: https://bank.example, type: businessDefinition}]
        primaryKey: false
        customProperties: [{property: semanticType, value: ACCOUNT_ID}, {property: joinDomain, value: account}, {property: owner, value: [a, b]}, {property: acceptedFindings, value: [{type: IBAN, reason: account numbers of our own}]}]
      - {name: cpf, logicalType: string, quality: [{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}]}
      - {name: booked_at, logicalType: timestamp, logicalTypeOptions: {timezone: true, defaultTimezone: America/Sao_Paulo}}
      - {name: local_at, logicalType: timestamp, logicalTypeOptions: {format: dd/MM/yyyy HH:mm}}
      - {name: born, logicalType: date, logicalTypeOptions: {format: yyMMdd}, customProperties: [{property: yearBase, value: 1900}]}
      - {name: amount, logicalType: number, physicalType: "DECIMAL(18, 2)", logicalTypeOptions: {minimum: -0.50, exclusiveMaximum: 1e6}}
      - {name: rate, logicalType: number, physicalType: double}
      - {name: mcc, logicalType: integer, physicalType: int}
      - {name: seq, logicalType: integer}
      - {name: chip, logicalType: boolean}
      - name: status
        logicalType: string
        quality: [{type: library, metric: invalidValues, arguments: {validValues: [007, yes, S]}, mustBe: 0, unit: rows}]
"#;

fn files(job: &str, policy: &str, schema: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("files")).unwrap();
    fs::write(folder.path().join("job.yaml"), job).unwrap();
    fs::write(folder.path().join("files/policy.yaml"), policy).unwrap();
    fs::write(folder.path().join("files/tx.odcs.yaml"), schema).unwrap();
    folder
}

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn loaded(folder: &Path, parameters: &[(&str, &str)]) -> Contract {
    load(&folder.join("job.yaml"), &given(parameters)).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn refused(folder: &Path, parameters: &[(&str, &str)]) -> Diagnostics {
    load(&folder.join("job.yaml"), &given(parameters)).expect_err("there are mistakes")
}

fn shown(mistakes: &Diagnostics) -> Vec<&'static str> {
    mistakes.list.iter().map(|mistake| mistake.code).collect()
}

#[test]
fn a_job_with_everything() {
    let folder = files(JOB, POLICY, SCHEMA);
    let job = loaded(folder.path(), &[("date", "2026-11-30")]).job;
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(job.parameters, given(&[("date", "2026-11-30"), ("env", "dev")]));
    assert_eq!(job.sources[0].uri.0, "s3://bank-raw/dev/dt=2026-11-30/*.parquet");
    assert_eq!(job.sources[0].format, Format::Parquet);
    assert_eq!(job.sources[1].uri.0, folder.path().parent().unwrap().join("in/2026-11-30.csv.gz").to_str().unwrap());
    let Format::Csv(csv) = &job.sources[1].format else { panic!("csv") };
    assert_eq!((csv.delimiter, csv.quote, csv.header), (b'\t', Some(b'"'), true));
    assert_eq!((csv.text.null_markers.as_slice(), csv.text.number_prefix.as_deref()), (["NA".to_owned(), "-".to_owned()].as_slice(), Some("$")));
    assert_eq!((job.quarantine.uri.0.as_str(), job.quarantine.retention_days), ("/var/quarantine/", Some(30)));
    assert_eq!(job.keys["person"].provider, Provider::AwsKms { key_id: "alias/dev-person".to_owned() });
    assert_eq!((job.keys["person"].version, job.keys["card"].version, job.keys["card"].create), (Some(3), None, true));
    assert_eq!(job.keys["card"].keyring.0, path("keys/card.keyring.json"));
    assert_eq!(job.shape.sequence.unwrap().order_by, ["booked_at", "amount"]);
    assert_eq!(job.shape.features[0].missing, Some(-1.0));
    assert_eq!(job.shape.buckets.listed(), [16, 32]);
    assert_eq!((job.sink.options.as_str(), job.sink.shards, job.sink.sse_kms.as_deref()), ("group_size:1,zstd:3", Some(16), Some("alias/dev")));
    assert_eq!(job.table.unwrap().uri.0, path("table/"));
}

#[test]
fn a_policy_with_everything() {
    let folder = files(JOB, POLICY, SCHEMA);
    let policy = loaded(folder.path(), &[("date", "x")]).policy;
    // text stays as written, whatever another reader of YAML would make of it
    assert_eq!((policy.owner.as_str(), policy.purpose.as_str(), policy.version), ("no", "007", 7));
    assert_eq!((policy.privacy_unit.as_deref(), policy.legal_basis.as_slice()), (Some("person"), ["LGPD-7-IX".to_owned()].as_slice()));
    assert_eq!(policy.rules[0].matches.semantic_type, ["BR_CPF", "BR_CNPJ"]);
    assert_eq!(policy.rules[0].matches.tags, ["on"]);
    assert!(matches!(policy.rules[0].transform, Transform::CryptoHash { bytes: 16, .. }));
    assert!(matches!(policy.rules[1].transform, Transform::CryptoReplaceFfxFpe { keep_first: 6, keep_last: 0, .. }));
    let Transform::FixedSizeBucketing { size, .. } = policy.rules[2].transform else { panic!("bucketing") };
    assert_eq!((size.unscaled, size.scale), (25, 1));
    assert!(matches!(policy.rules[3].transform, Transform::DateShift { max_days: 30, .. }));
    assert!(matches!(policy.rules[4].transform, Transform::CharacterMask { masking_character: '#', keep_last: 4, mask_length: None, .. }));
    assert_eq!((policy.gates.max_rejected_fraction, policy.retention_days), (0.01, Some(180)));
    assert_eq!((policy.gates.sample_rows, policy.gates.macie), (SampleRows::All, Some(MacieGate { max_age_days: 30, on_skipped: OnSkipped::LocalScan })));
    assert_eq!(policy.destinations[0].region, "us-central1");
}

#[test]
fn a_schema_with_everything() {
    let folder = files(JOB, POLICY, SCHEMA);
    let job = loaded(folder.path(), &[("date", "x")]).job;
    let columns = &job.sources[0].schema.columns;
    let column = |name: &str| columns.iter().find(|column| column.name == name).unwrap();
    let account = column("account_id");
    assert_eq!((account.semantic_type.as_deref(), account.join_domain.as_deref()), (Some("ACCOUNT_ID"), Some("account")));
    let accepted: Vec<(&str, &str)> = account.accepted_findings.iter().map(|accepted| (accepted.info_type.as_str(), accepted.reason.as_str())).collect();
    assert_eq!(accepted, [("IBAN", "account numbers of our own")]);
    assert_eq!((account.required, account.classification.as_deref(), account.tags.as_slice()), (true, Some("restricted"), ["id".to_owned()].as_slice()));
    let Check::Pattern(pattern) = &account.rules[2].check else { panic!("a pattern") };
    assert!(pattern.is_match("12-3") && !pattern.is_match("12-34") && !pattern.is_match("x12-3") && !pattern.is_match("١٢-3") && !pattern.is_match("12-3\n"));
    assert_eq!(column("cpf").rules[0].check.code(), "check-digit");
    assert!(matches!(column("booked_at").data_type, DataType::Timestamp { zone: Zone::Utc { default: Some(chrono_tz::America::Sao_Paulo) }, .. }));
    let DataType::Timestamp { format, zone: Zone::None } = &column("local_at").data_type else { panic!("local") };
    assert_eq!(format.compiled.parse_timestamp("01/01/1970 00:01"), Some((60_000_000, None)));
    let DataType::Date { format } = &column("born").data_type else { panic!("a date") };
    assert_eq!((format.compiled.parse_date("700101"), format.year_base), (Some(0), 1900));
    assert_eq!(column("amount").data_type, DataType::Decimal { precision: 18, scale: 2 });
    let codes: Vec<&str> = column("amount").rules.iter().map(|rule| rule.check.code()).collect();
    assert_eq!(codes, ["minimum", "exclusive-maximum"]);
    let (Check::Minimum(low), Check::ExclusiveMaximum(high)) = (&column("amount").rules[0].check, &column("amount").rules[1].check) else { panic!("bounds") };
    assert_eq!((low.unscaled, low.scale, high.unscaled, high.scale), (-5, 1, 1_000_000, 0));
    assert_eq!((&column("rate").data_type, &column("mcc").data_type, &column("seq").data_type), (&DataType::Float64, &DataType::Int32, &DataType::Int64));
    let Check::ValidValues(values) = &column("status").rules[0].check else { panic!("values") };
    assert_eq!(values, &["007", "yes", "S"]);
}

#[test]
fn all_mistakes_of_all_files_in_one_run() {
    let job = JOB.replace("dtype: bytes", "dtyp: bytes").replace("[16, 32]", "[32, 32]").replace("key: person, retention", "key: persn, retention");
    let policy = POLICY.replace("semanticType: PAN", "semanticTyp: PAN").replace("retention: 180d", "retention: soon");
    let schema = SCHEMA
        .replace("logicalType: boolean", "logicalType: bool")
        .replace("{format: yyMMdd}", "{format: yyMMxx}")
        .replace("property: joinDomain", "property: join_domain");
    let folder = files(&job, &policy, &schema);
    let mistakes = refused(folder.path(), &[("dat", "x")]);
    let expected = [
        "unknown-parameter", // --param dat
        "missing-parameter", // date
        "unknown-key-name",  // persn
        "unknown-key",       // dtyp, which may well be `dtype`
        "buckets-order",
        "unknown-key", // semanticTyp
        "bad-duration",
        "unknown-custom-property", // join_domain
        "bad-date-format",
        "unknown-value", // bool
    ];
    assert_eq!(shown(&mistakes), expected, "{mistakes}");
    let text = mistakes.render();
    for near in ["`--param date=…`", "`person`", "`dtype`", "`semanticType`", "`joinDomain`", "`boolean`"] {
        assert!(text.contains(near), "{near} in\n{text}");
    }
    let paths: Vec<&str> = mistakes.sources.files.iter().map(|file| file.kind).collect();
    assert_eq!(paths, ["Job", "Policy", "Schema"], "a schema that two sources name is read once");
}

#[test]
fn places_and_lines_are_right_after_other_scripts_and_line_ends() {
    let policy = POLICY.replace("owner: no", "owner: \"José 🏦 名\"").replace("transform: dateShift", "transform: dateshift").replace('\n', "\r\n");
    let folder = files(JOB, &format!("\u{feff}{policy}"), SCHEMA);
    let mistakes = refused(folder.path(), &[("date", "x")]);
    let json = mistakes.to_json();
    let one = &json["diagnostics"][0];
    assert_eq!((one["code"].as_str(), one["line"].as_u64(), one["column"].as_u64()), (Some("unknown-value"), Some(16), Some(65)));
    let span = mistakes.list[0].span;
    let text = &mistakes.sources.file(span).unwrap().text;
    assert_eq!(&text[span.start as usize..span.end as usize], "dateshift");
}

#[test]
fn a_hundred_mistakes_are_enough() {
    let rules: String = (0..300).map(|n| format!("  - {{name: r{n}, match: {{tag: x}}, transform: keep}}\n")).collect();
    let policy = format!("apiVersion: perimeter/v1\nkind: Policy\nmetadata: {{name: a, version: 1, owner: b, purpose: c}}\nrules:\n{rules}");
    let folder = files(JOB, &policy, SCHEMA);
    let mistakes = load_policy(&folder.path().join("files/policy.yaml")).expect_err("there are mistakes");
    assert_eq!((mistakes.list.len(), mistakes.list[100].code), (101, "too-many-mistakes"));
    assert!(mistakes.list[100].message.starts_with("200 more"), "{}", mistakes.list[100].message);
}

#[test]
fn large_files_are_refused_without_reading_them_whole() {
    let folder = files(JOB, &"#".repeat((4 << 20) + 1), &format!("a: [{}]", "1,".repeat(200_001)));
    for result in [load_policy(&folder.path().join("files/policy.yaml")).err(), load_schema(&folder.path().join("files/tx.odcs.yaml")).err()] {
        assert_eq!(shown(&result.expect("it is refused")), ["file-too-large"]);
    }
}

#[test]
fn what_leaves_holds_nothing_raw() {
    let folder = files(JOB, POLICY, SCHEMA);
    let at = |uri: &str, place: &str| JOB.replace(uri, place);
    for job in [
        at("/var/quarantine/", "s3://bank-curated/cards"),
        at("/var/quarantine/", "s3://bank-curated/cards/rejected/"),
        at("/var/quarantine/", "s3://bank-curated/"),
        at("/var/quarantine/", "table/x/"),
        at("out/../table/", "s3://bank-curated/cards/table/"),
        at("s3://bank-keys/person", "s3://bank-curated/cards/person"),
        at("keys/card", "table/card"),
        at("s3://bank-raw/${env}/", "s3://bank-curated/cards/"),
    ] {
        fs::write(folder.path().join("job.yaml"), job).unwrap();
        assert_eq!(shown(&refused(folder.path(), &[("date", "x")])), ["places-overlap"]);
    }
    // names that only begin alike are apart
    fs::write(folder.path().join("job.yaml"), at("/var/quarantine/", "s3://bank-curated/cards-rejected/")).unwrap();
    loaded(folder.path(), &[("date", "x")]);
}

#[cfg(unix)]
#[test]
fn links_do_not_hide_an_overlap() {
    let folder = files(&JOB.replace("/var/quarantine/", "link/rejected/"), POLICY, SCHEMA);
    fs::create_dir(folder.path().join("table")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("table"), folder.path().join("link")).unwrap();
    assert_eq!(shown(&refused(folder.path(), &[("date", "x")])), ["places-overlap"]);
}

#[test]
fn a_parameter_cannot_smuggle_another_place_in() {
    let folder = files(JOB, POLICY, SCHEMA);
    assert_eq!(shown(&refused(folder.path(), &[("date", "x"), ("env", "../../x")])), ["bad-uri"]);
    assert_eq!(shown(&refused(folder.path(), &[("date", "${env}\n")])), ["bad-parameter", "bad-uri", "bad-uri"]);
    let job = loaded(folder.path(), &[("date", "${env}")]).job;
    assert_eq!(job.sources[0].uri.0, "s3://bank-raw/dev/dt=${env}/*.parquet", "a value is not substituted again");
}

#[test]
fn messages_hold_no_control_characters() {
    let folder = files(JOB, &POLICY.replace("owner: no", "\"own\\u001ber\": no # \u{1b}[31m"), SCHEMA);
    let text = refused(folder.path(), &[("date", "x")]).render();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

/// The JSON Schema that editors get says yes and no where we do.
#[test]
fn json_schemas_are_closed_and_self_contained() {
    for kind in [Kind::Job, Kind::Policy, Kind::Schema] {
        let schema = json_schema(kind);
        let text = schema.to_string();
        assert!(!text.contains("x-not-available") && !text.contains("\"null\"") && !text.contains("$Spanned"), "{text}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let mut references = Vec::new();
        collect(&schema, &mut references);
        assert!(!references.is_empty());
        for reference in references {
            assert!(schema.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
    }
    let policy = json_schema(Kind::Policy);
    let rule = &policy["$defs"]["Rule"]["oneOf"];
    assert_eq!(rule.as_array().map(Vec::len), Some(16), "one branch a transform: {rule}");
    assert!(rule.as_array().unwrap().iter().all(|branch| branch["additionalProperties"] == false || branch.get("$ref").is_some()), "{rule}");
}

fn collect(value: &serde_json::Value, references: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => {
            references.extend(object.get("$ref").and_then(|reference| reference.as_str()).map(str::to_owned));
            object.values().for_each(|value| collect(value, references));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}
