//! Formats and options of sources.
use perimeter_contract::job::{CsvOptions, Drift, Encoding, FixedField, Format, RecordTypes, Trim};
use perimeter_contract::{Contract, Diagnostics, load_with};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

const REST: &str = r#"
quarantine: {uri: quarantine/, key: person}
prepare: SELECT * FROM tx
keys: {person: {provider: local, keyring: person.keyring.json, create: true}}
shape: {features: [{name: amount, column: amount, dtype: float32}]}
sink: {uri: out/}
"#;
const POLICY: &str = "apiVersion: perimeter/v1\nkind: Policy\nmetadata: {name: p, version: 1, owner: o, purpose: t}\nrules: [{name: all, match: {semanticType: X}, transform: keep}]\n";
const SCHEMA: &str = r#"
apiVersion: v3.1.0
kind: DataContract
id: urn:x
version: 1.0.0
status: active
schema:
  - name: tx
    properties:
      - {name: account, logicalType: string}
      - {name: amount, logicalType: number, physicalType: "decimal(15,2)"}
"#;

fn job(source: &str) -> Result<Contract, Diagnostics> {
    let job =
        format!("apiVersion: perimeter/v1\nkind: Job\nmetadata: {{name: t}}\npolicy: policy.yaml\nsources:\n  tx: {{schema: tx.odcs.yaml, {source}}}\n{REST}");
    load_with(Path::new("/nowhere/job.yaml"), &BTreeMap::new(), &|path| match path.file_name().and_then(|name| name.to_str()) {
        Some("job.yaml") => Ok(job.clone().into_bytes()),
        Some("policy.yaml") => Ok(POLICY.as_bytes().to_vec()),
        Some("tx.odcs.yaml") => Ok(SCHEMA.as_bytes().to_vec()),
        _ => Err(ErrorKind::NotFound.into()),
    })
}

fn format(source: &str) -> Format {
    job(source).unwrap_or_else(|mistakes| panic!("{mistakes}")).job.sources.remove(0).format
}

#[test]
fn every_format() {
    let uri = |suffix: &str| format!("uri: 'tx{suffix}'");
    for (name, wanted) in [("parquet", Format::Parquet), ("arrow", Format::Arrow), ("avro", Format::Avro)] {
        assert_eq!(format(&format!("{}, format: {name}", uri(""))), wanted);
    }
    for suffix in [".csv", ".csv.gz", ".csv.zst", ".csv.bz2", ".csv.xz"] {
        assert!(matches!(format(&format!("{}, format: csv", uri(suffix))), Format::Csv(_)), "{suffix}");
    }
    let Format::Json(json) = format("uri: a.json, format: json, options: {layout: array, encoding: UTF-16, nullMarkers: NA, decimalSeparator: ','}") else {
        panic!("json")
    };
    assert_eq!((json.array, json.text.encoding, json.text.decimal_separator), (true, Encoding::Utf16, b','));
    assert_eq!(json.text.null_markers, ["NA"]);
    let Format::Json(json) = format("uri: a.json, format: json, options: {layout: lines}") else { panic!("json") };
    assert!(!json.array);
}

#[test]
fn csv_as_banks_write_it() {
    let csv = |options: &str| match format(&format!("uri: a.csv, format: csv, options: {{{options}}}")) {
        Format::Csv(csv) => csv,
        other => panic!("{other:?}"),
    };
    let options = r##"delimiter: ";", quote: "'", escape: "\\", comment: "#", header: false, encoding: Latin-1, decimalSeparator: ",", thousandsSeparator: ".", decimalPrefix: "R$ ""##;
    let CsvOptions { delimiter, quote, escape, comment, header, text } = csv(options);
    assert_eq!((delimiter, quote, escape, comment, header), (b';', Some(b'\''), Some(b'\\'), Some(b'#'), false));
    assert_eq!((text.encoding, text.decimal_separator, text.thousands_separator), (Encoding::Latin1, b',', Some('.')));
    assert_eq!(text.number_prefix.as_deref(), Some("R$ "));
    assert_eq!(csv("quote: none").quote, None);
    assert_eq!(csv("decimalSeparator: ','").text.decimal_separator, b',', "numbers with a comma are quoted");
    assert_eq!(csv("thousandsSeparator: ' '").text.thousands_separator, Some(' '));
    for (name, encoding) in [
        ("utf-8", Encoding::Utf8),
        ("UTF8", Encoding::Utf8),
        ("utf-16le", Encoding::Utf16Le),
        ("UTF-16BE", Encoding::Utf16Be),
        ("ISO-8859-1", Encoding::Latin1),
        ("latin1", Encoding::Latin1),
        ("cp1252", Encoding::Windows1252),
        ("Windows-1252", Encoding::Windows1252),
        ("CP850", Encoding::Cp850),
    ] {
        assert_eq!(csv(&format!("encoding: {name}")).text.encoding, encoding, "{name}");
    }
}

#[test]
fn fixed_width_in_the_order_of_the_schema() {
    let source = r#"uri: a.rem, format: fixedWidth, options: {recordLength: 240, lineEnds: false, encoding: cp850,
        fields: [{column: amount, start: 120, width: 15, impliedDecimals: 2, trim: none}, {column: account, start: 24, width: 12, trim: right}],
        recordTypes: {start: 8, width: 1, values: "3", others: ["0", "1", "5", "9"]}}"#;
    let Format::FixedWidth(fixed) = format(source) else { panic!("fixed width") };
    assert_eq!((fixed.record_length, fixed.line_ends, fixed.text.encoding), (240, false, Encoding::Cp850));
    let field = |offset, width, implied_decimals, trim| FixedField { offset, width, implied_decimals, trim };
    assert_eq!(fixed.fields, [field(23, 12, None, Trim::Right), field(119, 15, Some(2), Trim::None)]);
    let others = ["0", "1", "5", "9"].map(str::to_owned).to_vec();
    assert_eq!(fixed.record_types, Some(RecordTypes { offset: 7, width: 1, values: vec!["3".to_owned()], others: Some(others) }));
    let overlapping =
        "uri: a.rem, format: fixedWidth, options: {recordLength: 20, fields: [{column: amount, start: 1, width: 15}, {column: account, start: 1, width: 20}]}";
    let Format::FixedWidth(fixed) = format(overlapping) else { panic!("fixed width") };
    assert!(fixed.line_ends && fixed.record_types.is_none(), "records redefine their places");
}

#[test]
fn drift_is_what_the_job_says() {
    let drift = |source: &str| job(source).unwrap_or_else(|mistakes| panic!("{mistakes}")).job.sources[0].drift;
    assert_eq!(drift("uri: a.csv, format: csv"), Drift::Refuse);
    assert_eq!(drift("uri: a.csv, format: csv, drift: refuse"), Drift::Refuse);
    assert_eq!(drift("uri: a.csv, format: csv, drift: allowAdded"), Drift::AllowAdded);
    assert_eq!(drift("uri: a.avro, format: avro, drift: allowAdded"), Drift::AllowAdded);
}

#[test]
fn ends_of_the_ranges() {
    for options in [
        "recordLength: 0, fields: [{column: account, start: 1, width: 1}]",
        "recordLength: 9, fields: [{column: account, start: 0, width: 1}]",
        "recordLength: 9, fields: [{column: account, start: 1, width: 0}]",
        "recordLength: 9, fields: [{column: account, start: 4294967295, width: 4294967295}]",
        "recordLength: 9, fields: [{column: account, start: -1, width: 1}]",
        "recordLength: 9, fields: [{column: account, start: 1, width: 1, impliedDecimals: 39}]",
        "recordLength: 99999999999, fields: []",
        "fields: [{}]",
        "recordLength: 9",
        "recordLength: 9, fields: [], recordTypes: {start: 1, width: 1, values: []}",
    ] {
        let mistakes = job(&format!("uri: a.rem, format: fixedWidth, options: {{{options}}}")).expect_err("it is refused");
        assert!(mistakes.list.iter().all(|mistake| mistake.code != "internal" && mistake.help.is_some()), "{mistakes}");
    }
}
