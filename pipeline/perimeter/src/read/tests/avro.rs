use super::*;
use perimeter_contract::schema::{DateFormat, Zone};
use std::io::Write;

/// The format by hand, so that what is read is not what the reader's own library wrote.
pub(super) fn long(number: i64) -> Vec<u8> {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut out = Vec::new();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out
}

fn text(value: &[u8]) -> Vec<u8> {
    [long(value.len() as i64), value.to_vec()].concat()
}

const SYNC: [u8; 16] = *b"0123456789abcdef";

fn header(codec: &str, fields: &str) -> Vec<u8> {
    let schema = format!(r#"{{"type":"record","name":"tx","namespace":"bank","fields":[{fields}]}}"#);
    [b"Obj\x01".to_vec(), long(2), text(b"avro.codec"), text(codec.as_bytes()), text(b"avro.schema"), text(schema.as_bytes()), long(0), SYNC.to_vec()].concat()
}

fn packed(codec: &str, bytes: &[u8]) -> Vec<u8> {
    match codec {
        "deflate" => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "snappy" => {
            let mut sum = flate2::Crc::new();
            sum.update(bytes);
            [snap::raw::Encoder::new().compress_vec(bytes).unwrap(), sum.sum().to_be_bytes().to_vec()].concat()
        }
        "zstandard" => zstd::encode_all(bytes, 1).unwrap(),
        "bzip2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "xz" => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}

fn block(codec: &str, count: i64, records: &[u8]) -> Vec<u8> {
    let packed = packed(codec, records);
    [long(count), long(packed.len() as i64), packed, SYNC.to_vec()].concat()
}

fn read(bytes: &[u8], columns: Vec<Column>) -> Result<(Out, UnitTally)> {
    let bench = Bench::new();
    let path = bench.write("in.avro", bytes);
    bench.read(&source(&path, Format::Avro, columns))
}

const TWO: &str = r#"{"name":"id","type":"long"},{"name":"who","type":["null","string"],"default":null}"#;

fn two() -> Vec<Column> {
    vec![column("id", DataType::Int64), column("who", DataType::String)]
}

/// `id`, and `who` or null.
fn person(id: i64, who: Option<&str>) -> Vec<u8> {
    [long(id), who.map_or(long(0), |who| [long(1), text(who.as_bytes())].concat())].concat()
}

#[test]
fn every_codec_with_rules_and_numbers() {
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"] {
        let first = [person(1, Some("Ana")), person(2, None)].concat();
        let second = person(-3, Some("Zé"));
        let bytes = [header(codec, TWO), block(codec, 2, &first), block(codec, 0, b""), block(codec, 1, &second)].concat();
        let mut columns = two();
        columns[1].required = true;
        let (out, tally) = read(&bytes, columns).unwrap();
        assert_eq!(out.cells(), [["1", "Ana"], ["-3", "Zé"]], "{codec}");
        assert_eq!(out.codes(), [(2, "who.required".into())]);
        assert_eq!(out.rejected[0].2, br#"{"id":2,"who":null}"#);
        assert_eq!((tally.rows_read, tally.bytes_read), (3, bytes.len() as u64));
    }
}

#[test]
fn logical_types() {
    let fields = r#"
        {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":18,"scale":2}},
        {"name":"fixed","type":{"type":"fixed","name":"d8","size":8,"logicalType":"decimal","precision":18,"scale":2}},
        {"name":"day","type":{"type":"int","logicalType":"date"}},
        {"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
        {"name":"fine","type":{"type":"long","logicalType":"time-micros"}},
        {"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},
        {"name":"us","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
        {"name":"ns","type":{"type":"long","logicalType":"timestamp-nanos"}},
        {"name":"local","type":{"type":"long","logicalType":"local-timestamp-millis"}},
        {"name":"id","type":{"type":"string","logicalType":"uuid"}},
        {"name":"kind","type":{"type":"enum","name":"kind","symbols":["PIX","TED"]}},
        {"name":"yes","type":"boolean"},
        {"name":"f","type":"float"}"#;
    let row = [
        text(&[0xff, 0x85]),
        12_345i64.to_be_bytes().to_vec(),
        long(19_782),
        long(86_399_999),
        long(1),
        long(1_577_836_800_000),
        [long(1), long(-1)].concat(),
        long(1_000),
        long(0),
        text(b"3f333df6-90a4-4fda-8dd3-9485d27cee36"),
        long(1),
        vec![1],
        0.5f32.to_le_bytes().to_vec(),
    ]
    .concat();
    let decimal = DataType::Decimal { precision: 18, scale: 2 };
    let utc = || DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::Utc { default: None } };
    let time = || DataType::Time { format: DateFormat::iso_date() };
    let columns = vec![
        column("amount", decimal.clone()),
        column("fixed", decimal),
        column("day", DataType::Date { format: DateFormat::iso_date() }),
        column("clock", time()),
        column("fine", time()),
        column("ms", utc()),
        column("us", utc()),
        column("ns", utc()),
        column("local", DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::None }),
        column("id", DataType::String),
        column("kind", DataType::String),
        column("yes", DataType::Boolean),
        column("f", DataType::Float64),
    ];
    let (out, _) = read(&[header("null", fields), block("null", 1, &row)].concat(), columns).unwrap();
    let cells = [
        "-1.23",
        "123.45",
        "2024-02-29",
        "23:59:59.999",
        "00:00:00.000001",
        "2020-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00.000001Z",
        "1970-01-01T00:00:00",
        "3f333df6-90a4-4fda-8dd3-9485d27cee36",
        "TED",
        "true",
        "0.5",
    ];
    assert_eq!(out.cells(), [cells]);
}

#[test]
fn a_cell_that_is_no_value_costs_its_row() {
    let fields = r#"{"name":"t","type":"string"},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":3,"scale":0}},{"name":"c","type":{"type":"int","logicalType":"time-millis"}}"#;
    let row = |t: &[u8], d: &[u8], c: i64| [text(t), text(d), long(c)].concat();
    let rows = [row(b"ok", &[1], 0), row(b"\xff", &[1], 0), row(b"ok", &[0x03, 0xe8], 0), row(b"ok", &[2], 86_400_000), row("é".as_bytes(), &[3], 1)].concat();
    let columns = vec![
        column("t", DataType::String),
        column("d", DataType::Decimal { precision: 5, scale: 0 }),
        column("c", DataType::Time { format: DateFormat::iso_date() }),
    ];
    let (out, _) = read(&[header("null", fields), block("null", 5, &rows)].concat(), columns).unwrap();
    assert_eq!(out.cells(), [["ok", "1", "00:00:00"], ["é", "3", "00:00:00.001"]]);
    assert_eq!(out.codes(), [(2, "t.type".into()), (3, "d.type".into()), (4, "c.type".into())]);
}

#[test]
fn every_cut_is_noticed_but_between_blocks() {
    for codec in ["null", "snappy"] {
        let head = header(codec, TWO);
        let one = block(codec, 2, &[person(1, Some("Ana")), person(2, None)].concat());
        let bytes = [head.clone(), one.clone(), one.clone()].concat();
        for end in 1..bytes.len() {
            let whole = end == head.len() || end == head.len() + one.len();
            match read(&bytes[..end], two()) {
                Ok((out, _)) => assert!(whole && out.rows.len() == (end - head.len()) / one.len() * 2, "{end}"),
                refused => {
                    let (code, exit, message) = refusal(refused);
                    assert!(!whole && matches!((code, exit), ("truncated-input", 1) | ("format-mismatch", 2)), "{end} {code}");
                    assert!(message.contains("in.avro"));
                }
            }
        }
    }
}

#[test]
fn counts_markers_and_checksums_hold() {
    let good = [person(1, Some("Ana")), person(2, None)].concat();
    let corrupt = |bytes: &[u8]| {
        let (code, exit, _) = refusal(read(bytes, two()));
        assert!(matches!(code, "corrupt-input" | "truncated-input") && exit == 1, "{code}");
    };
    // More or fewer records than the block says.
    for count in [0, 1, 3, 4, -1, i64::MAX, i64::MIN] {
        corrupt(&[header("null", TWO), block("null", count, &good)].concat());
    }
    // What is left over reads as one record more.
    corrupt(&[header("null", TWO), block("null", 1, &[person(1, None), long(1), person(2, None), long(0)].concat())].concat());
    corrupt(&[header("null", TWO), block("null", 2, &[good.clone(), vec![0]].concat())].concat());
    // Another marker: arrow-avro would not look at it.
    let mut bytes = [header("null", TWO), block("null", 2, &good)].concat();
    *bytes.last_mut().unwrap() ^= 1;
    corrupt(&bytes);
    // A byte changed under Snappy's checksum, and a block that is too short to have one.
    let mut packed = packed("snappy", &good);
    let last = packed.len() - 5;
    packed[last] ^= 1;
    corrupt(&[header("snappy", TWO), long(2), long(packed.len() as i64), packed, SYNC.to_vec()].concat());
    corrupt(&[header("snappy", TWO), long(2), long(2), vec![1, 2], SYNC.to_vec()].concat());
    // Lengths that nothing is behind.
    for length in [i64::MAX, i64::MIN, -1] {
        let (_, exit, _) = refusal(read(&[header("null", TWO), long(2), long(length), good.clone(), SYNC.to_vec()].concat(), two()));
        assert_eq!(exit, 1);
    }
    corrupt(&[header("null", TWO), vec![0xff; 12]].concat());
}

#[test]
fn blocks_do_not_burst() {
    for codec in ["deflate", "zstandard", "bzip2", "xz", "snappy"] {
        let zeros = vec![0u8; 260 << 20];
        let bomb = packed(codec, &zeros);
        let (code, exit, _) = refusal(read(&[header(codec, TWO), long(2), long(bomb.len() as i64), bomb, SYNC.to_vec()].concat(), two()));
        assert_eq!((code, exit), ("batch-too-large", 1), "{codec}");
    }
}

#[test]
fn schemas_that_are_not_read() {
    for fields in [
        // Used inside itself.
        r#"{"name":"id","type":"long"},{"name":"who","type":["null","bank.tx"]}"#,
        r#"{"name":"id","type":"long"},{"name":"who","type":"nowhere"}"#,
        r#"{"name":"id","type":"long"},{"name":"who","type":{"type":"array","items":"null"}}"#,
    ] {
        let (code, exit, message) = refusal(read(&header("null", fields), two()));
        assert_eq!((code, exit), ("unsupported-schema", 2), "{message}");
        assert!(message.contains("in.avro"));
    }
    // A few hundred bytes that stand for 8^9 types.
    let mut fields = r#"{"name":"a0","type":{"type":"record","name":"r0","fields":[{"name":"v","type":"int"}]}}"#.to_owned();
    for level in 1..10 {
        let inside: Vec<String> = (0..8).map(|at| format!(r#"{{"name":"f{at}","type":"r{}"}}"#, level - 1)).collect();
        fields += &format!(r#",{{"name":"a{level}","type":{{"type":"record","name":"r{level}","fields":[{}]}}}}"#, inside.join(","));
    }
    assert_eq!(refusal(read(&header("null", &fields), two())).0, "unsupported-schema");
    let (code, exit, _) = refusal(read(&header("null", r#"{"name":"id","type":["int","long"]},{"name":"who","type":"string"}"#), two()));
    assert_eq!((code, exit), ("column-type-mismatch", 2));
    assert_eq!(refusal(read(&header("lzma", TWO), two())).0, "unsupported-compression");
    assert_eq!(refusal(read(b"Obj\x02 and so on and so on", two())).0, "format-mismatch");
    assert_eq!(refusal(read(b"", two())).0, "empty-file");
}

#[test]
fn a_large_file_is_cut_between_blocks() {
    let bench = Bench::new();
    // Blocks of 1 MiB of one long name each.
    let name = "x".repeat(1 << 20);
    let mut bytes = header("null", TWO);
    for id in 0..70 {
        bytes.extend(block("null", 1, &person(id, Some(&name))));
    }
    let source = source(&bench.write("in.avro", bytes), Format::Avro, two());
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    assert_eq!(units.len(), 3);
    let (out, tally) = bench.read_units(&source, &files, &units, &[0, 1], 8192).unwrap();
    assert_eq!(tally.rows_read, 70);
    assert!(out.rows.iter().zip(0..).all(|(row, id): (_, i32)| row[0] == Some(id.to_string())));
}

#[test]
fn damage_never_panics() {
    let records = [person(1, Some("Ana")), person(2, None)].concat();
    let bytes = [header("null", TWO), block("null", 2, &records)].concat();
    for at in 0..bytes.len() {
        for flip in [0xff, 0x01, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok((out, _)) = read(&damaged, two()) {
                assert_eq!(out.rows.len() + out.rejected.len(), 2, "{at}");
            }
        }
    }
}
