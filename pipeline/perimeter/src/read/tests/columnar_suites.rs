//! Columnar files that nobody here wrote: each is read to the rows that its suite says, or refused with a message that names it; nothing panics or hangs, and no
//! row is lost without a count. A file is read twice: with a contract for all its columns, and with one for those that a contract can have (`drift: allowAdded`).
use super::conformance::{Suite, files, in_time, refused, relative, say};
use super::*;
use ::arrow::array::{Array, AsArray};
use ::arrow::datatypes::{DataType as A, Fields, Float64Type, Int64Type};
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use perimeter_contract::schema::{DateFormat, Zone};
use serde_json::Value;
use std::collections::{BTreeMap as Map, HashMap};
use std::io::Read;
use std::sync::Arc;

/// Files whose verdict we dispute, or that are not what their place says.
const DISPUTED: &[(&str, &str)] = &[
    ("dict-page-offset-zero.parquet", "the decoder does not take the list of small integers that an old writer put into its statistics"),
    ("repeated_no_annotation.parquet", "the decoder gives none of its rows, which the count notices"),
    ("bigdecimal.parquet", "77 digits are more than Arrow has"),
    ("ARROW-17100.parquet", "its pages of version 2 say that they are not compressed, and are: Arrow's writer did so before 3.0"),
    ("empty.parquet", "the decoder does not know the type that an old writer gave columns without any value; there are no rows in it"),
    ("nation.dict-malformed.parquet", "one of its column chunks is 15 bytes longer than its footer says"),
    ("nation.dict.parquet", "as above"),
    ("person-10.no-codec.avro", "a line feed stands behind its last block: whether a block is missing there nobody can tell"),
];

/// The contract's type of a plain value, if there is one.
fn scalar(found: &A) -> Option<DataType> {
    Some(match found {
        A::Dictionary(_, values) => return scalar(values),
        A::RunEndEncoded(_, values) => return scalar(values.data_type()),
        A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 => DataType::Int32,
        A::Int64 | A::UInt32 | A::UInt64 => DataType::Int64,
        A::Float16 | A::Float32 | A::Float64 => DataType::Float64,
        A::Boolean => DataType::Boolean,
        A::Date32 | A::Date64 => DataType::Date { format: DateFormat::iso_date() },
        A::Time32(_) | A::Time64(_) => DataType::Time { format: DateFormat::iso_date() },
        A::Utf8 | A::LargeUtf8 | A::Utf8View | A::Binary | A::LargeBinary | A::BinaryView => DataType::String,
        A::Decimal32(p, s) | A::Decimal64(p, s) | A::Decimal128(p, s) | A::Decimal256(p, s) => {
            let scale = u8::try_from(*s).ok().filter(|s| *s <= 38)?;
            DataType::Decimal { precision: (*p).min(38), scale }
        }
        A::Timestamp(_, zone) => {
            let zone = if zone.is_some() { Zone::Utc { default: None } } else { Zone::None };
            DataType::Timestamp { format: DateFormat::iso_timestamp(), zone }
        }
        _ => return None,
    })
}

/// Columns for all fields; `None` in place of a type that no contract has.
fn columns_of(fields: &Fields, path: &[String], list_at: Option<usize>, out: &mut Vec<(Column, bool)>) {
    for field in fields {
        let path: Vec<String> = path.iter().chain([field.name()]).cloned().collect();
        let (found, list_at) = match field.data_type() {
            A::List(item) | A::LargeList(item) | A::FixedSizeList(item, _) | A::ListView(item) | A::LargeListView(item) if list_at.is_none() => {
                (item.data_type(), Some(path.len()))
            }
            other => (other, list_at),
        };
        if let A::Struct(inner) = found
            && !inner.is_empty()
        {
            columns_of(inner, &path, list_at, out);
            continue;
        }
        let known = scalar(found);
        let supported = known.is_some();
        let item = known.unwrap_or(DataType::String);
        let data_type = if list_at.is_some() { DataType::List(Box::new(item)) } else { item };
        out.push((Column { list_at, path: path.clone(), ..Column::new(path.join("."), data_type) }, supported));
    }
}

/// What a file's own schema says, by the decoder's own means.
fn fields_of(path: &Path, format: &Format) -> Option<Fields> {
    let bytes = std::fs::read(path).ok()?;
    let found = std::panic::catch_unwind(|| match format {
        Format::Parquet => {
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            ArrowReaderMetadata::load(&std::fs::File::open(path).ok()?, options).ok().map(|m| m.schema().fields().clone())
        }
        Format::Arrow if bytes.starts_with(b"ARROW1") => {
            ::arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).ok().map(|r| r.schema().fields().clone())
        }
        Format::Arrow => ::arrow::ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None).ok().map(|r| r.schema().fields().clone()),
        _ => {
            let reader = arrow_avro::reader::ReaderBuilder::new().build(std::io::Cursor::new(bytes)).ok()?;
            Some(reader.schema().fields().clone())
        }
    });
    found.ok().flatten()
}

/// Rows as plain text: times as the numbers that they are, since not all have a calendar.
#[derive(Default)]
struct Rows {
    rows: Vec<Vec<Option<String>>>,
    rejected: Vec<u64>,
}

impl Accept for Rows {
    fn batch(&mut self, batch: RecordBatch) -> ControlFlow<()> {
        let plain: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| match column.data_type() {
                A::Date32 => ::arrow::compute::cast(&::arrow::compute::cast(column, &A::Int32).unwrap(), &A::Int64).unwrap(),
                A::Time64(_) | A::Timestamp(..) => ::arrow::compute::cast(column, &A::Int64).unwrap(),
                _ => Arc::clone(column),
            })
            .collect();
        for row in 0..batch.num_rows() {
            let cell = |column: &Arc<dyn Array>| {
                column.is_valid(row).then(|| match column.data_type() {
                    A::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
                    A::Float64 => format!("{:?}", column.as_primitive::<Float64Type>().value(row)),
                    _ => array_value_to_string(column, row).unwrap(),
                })
            };
            self.rows.push(plain.iter().map(cell).collect());
        }
        ControlFlow::Continue(())
    }

    fn rejected(&mut self, record: &Rejected<'_>) -> Result<()> {
        assert!(!record.codes.is_empty());
        assert!(!record.raw.is_empty(), "a rejected record of {} is lost", record.file);
        self.rejected.push(record.record_number);
        Ok(())
    }
}

fn read(stores: &Stores, source: &Source) -> Result<(Rows, UnitTally)> {
    let (files, units) = plan_units(stores, 0, source)?;
    let mut rows = Rows::default();
    let mut total = UnitTally::default();
    let projection: Vec<usize> = (0..source.schema.columns.len()).collect();
    for unit in &units {
        let tally = ingest_unit(&Ingest { stores, source, files: &files, projection: &projection, batch_rows: 1000 }, unit, &mut rows)?;
        total.rows_read += tally.rows_read;
        total.rows_rejected += tally.rows_rejected;
    }
    assert_eq!(total.rows_read as usize, rows.rows.len() + rows.rejected.len());
    Ok((rows, total))
}

/// As [`read`], in bounded time.
fn read_in_time(stores: &Stores, source: &Source) -> Result<(Rows, UnitTally)> {
    let (stores, source) = (stores.clone(), source.clone());
    in_time(Path::new(&source.uri.0.clone()), move || read(&stores, &source))
}

/// What a suite says of a file: names of columns, and their cells. `Err`: no value of the contract's type, so its row is rejected.
type Golden = Vec<(String, Cells)>;
type Cells = Vec<Result<Option<String>, ()>>;

struct Walk {
    bench: Bench,
    tally: Map<String, usize>,
    verdicts: HashMap<String, String>,
}

impl Walk {
    fn new() -> Self {
        Self { bench: Bench::new(), tally: Map::new(), verdicts: HashMap::new() }
    }

    fn file(&mut self, path: &Path, format: &Format, golden: Option<&Golden>) {
        let mut columns = Vec::new();
        if let Some(fields) = fields_of(path, format) {
            columns_of(&fields, &[], None, &mut columns);
        }
        // A file whose schema nobody can read is held against some contract all the same.
        if columns.is_empty() {
            columns.push((column("a", DataType::String), true));
        }
        let whole = source(path, format.clone(), columns.iter().map(|(c, _)| c.clone()).collect());
        let verdict = match read_in_time(&self.bench.stores, &whole) {
            Ok((rows, tally)) => {
                same(path, &whole, &rows, golden);
                if tally.rows_rejected == 0 { "all rows read".to_owned() } else { "read, some records rejected".to_owned() }
            }
            Err(error) => refused(&error, path),
        };
        let mut part = whole;
        part.drift = Drift::AllowAdded;
        part.schema.columns = columns.into_iter().filter(|(_, supported)| *supported).map(|(c, _)| c).collect();
        let mut second = String::new();
        if verdict == "column-type-mismatch" && !part.schema.columns.is_empty() {
            second = match read_in_time(&self.bench.stores, &part) {
                Ok((rows, _)) => {
                    same(path, &part, &rows, golden);
                    " (its other columns read)".to_owned()
                }
                Err(error) => format!(" (its other columns: {})", refused(&error, path)),
            };
        }
        let verdict = verdict + &second;
        self.verdicts.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), verdict.clone());
        *self.tally.entry(verdict).or_default() += 1;
    }

    fn told(self, suite: &str) -> HashMap<String, String> {
        say(&format!("{suite}: {} files", self.tally.values().sum::<usize>()));
        self.tally.iter().for_each(|(verdict, count)| say(&format!("  {count:4} {verdict}")));
        for (name, why) in DISPUTED.iter().filter(|(name, _)| self.verdicts.contains_key(*name)) {
            say(&format!("  disputed: {name}: {} ({why})", self.verdicts[*name]));
        }
        self.verdicts
    }
}

fn same(path: &Path, source: &Source, rows: &Rows, golden: Option<&Golden>) {
    let Some(golden) = golden else { return };
    let total = golden.first().map_or(0, |(_, cells)| cells.len());
    assert_eq!(rows.rows.len() + rows.rejected.len(), total, "{path:?}");
    let known: Vec<(usize, &Cells)> = source
        .schema
        .columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| {
            golden.iter().find(|(name, _)| column.path.len() == 1 && column.list_at.is_none() && *name == column.name).map(|(_, cells)| (at, cells))
        })
        .collect();
    let mut found = rows.rows.iter();
    for row in 0..total {
        let bad = known.iter().any(|(_, cells)| cells[row].is_err());
        if bad || rows.rejected.contains(&(row as u64 + 1)) {
            assert_eq!(
                rows.rejected.contains(&(row as u64 + 1)),
                bad,
                "{path:?} row {row} {:?}",
                known.iter().map(|(at, c)| (&source.schema.columns[*at].name, &c[row])).collect::<Vec<_>>()
            );
            continue;
        }
        let found = found.next().unwrap();
        for (at, cells) in &known {
            assert_eq!(Ok(&found[*at]), cells[row].as_ref(), "{path:?} row {row} column {}", source.schema.columns[*at].name);
        }
    }
}

/// The integration files of Arrow say every value as JSON.
fn integration(path: &Path) -> Option<Golden> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let dictionaries: HashMap<i64, &Value> =
        json["dictionaries"].as_array().into_iter().flatten().map(|d| (d["id"].as_i64().unwrap(), &d["data"]["columns"][0])).collect();
    let mut golden: Golden = Vec::new();
    for (at, field) in json["schema"]["fields"].as_array()?.iter().enumerate() {
        let mut cells = Vec::new();
        let known = json["batches"].as_array().into_iter().flatten().all(|batch| {
            let column = &batch["columns"][at];
            let made = match field["dictionary"]["id"].as_i64() {
                Some(id) => {
                    let values = dictionaries.get(&id).and_then(|values| decoded(&field["type"], &field["children"], values));
                    let keys = decoded(&field["dictionary"]["indexType"], &Value::Null, column);
                    values.zip(keys).map(|(values, keys)| {
                        keys.into_iter()
                            .map(|key| match key {
                                Ok(Some(key)) => values[key.parse::<usize>().unwrap()].clone(),
                                other => other,
                            })
                            .collect::<Vec<_>>()
                    })
                }
                None => decoded(&field["type"], &field["children"], column),
            };
            made.map(|made| cells.extend(made)).is_some()
        });
        if known {
            golden.push((field["name"].as_str().unwrap().to_owned(), cells));
        }
    }
    // Where no column is known, the number of rows is.
    if golden.is_empty() {
        let rows: i64 = json["batches"].as_array().into_iter().flatten().map(|b| b["count"].as_i64().unwrap()).sum();
        golden.push(("\0".to_owned(), vec![Ok(None); usize::try_from(rows).unwrap()]));
    }
    Some(golden)
}

fn number(value: &Value) -> i128 {
    value.as_str().map_or_else(|| i128::from(value.as_i64().unwrap()), |text| text.parse().unwrap())
}

fn decoded(kind: &Value, children: &Value, column: &Value) -> Option<Cells> {
    let unit = kind["unit"].as_str().unwrap_or_default();
    let within = |value: i128| if (0..86_400_000_000).contains(&value) { Ok(value.to_string()) } else { Err(()) };
    let micros = |value: i128| -> Result<String, ()> {
        let scaled = match unit {
            "SECOND" => value * 1_000_000,
            "MILLISECOND" => value * 1000,
            "NANOSECOND" if value % 1000 == 0 => value / 1000,
            "NANOSECOND" => return Err(()),
            _ => value,
        };
        if kind["name"] == "time" { within(scaled) } else { i64::try_from(scaled).map(|v| v.to_string()).map_err(|_| ()) }
    };
    let hex = |text: &str| (0..text.len() / 2).map(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap()).collect::<Vec<u8>>();
    let name = kind["name"].as_str()?;
    let cell = |value: &Value| -> Result<String, ()> {
        match name {
            "int" => i64::try_from(number(value)).map(|v| v.to_string()).map_err(|_| ()),
            "bool" => Ok((value.as_bool().unwrap_or_else(|| value.as_i64() == Some(1))).to_string()),
            "floatingpoint" => {
                let value = value.as_f64().unwrap();
                Ok(format!("{:?}", if kind["precision"] == "SINGLE" { f64::from(value as f32) } else { value }))
            }
            "utf8" | "largeutf8" => Ok(value.as_str().unwrap().to_owned()),
            "binary" | "largebinary" => String::from_utf8(hex(value.as_str().unwrap())).map_err(|_| ()),
            "date" if unit == "DAY" => Ok(number(value).to_string()),
            "date" => {
                if number(value) % 86_400_000 == 0 {
                    Ok((number(value) / 86_400_000).to_string())
                } else {
                    Err(())
                }
            }
            "time" | "timestamp" => micros(number(value)),
            "decimal" => {
                let scale = usize::try_from(kind["scale"].as_i64().unwrap()).unwrap();
                let text = value.as_str().unwrap();
                let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
                if digits.len() > usize::try_from(kind["precision"].as_i64().unwrap()).unwrap().min(38) {
                    return Err(());
                }
                let digits = format!("{digits:0>width$}", width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                Ok(if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
            }
            _ => Err(()),
        }
    };
    match name {
        "runendencoded" => {
            let ends = column["children"][0]["DATA"].as_array()?;
            let values = decoded(&children[1]["type"], &children[1]["children"], &column["children"][1])?;
            let count = usize::try_from(column["count"].as_i64()?).ok()?;
            Some((0..count).map(|row| values[ends.iter().position(|end| number(end) > row as i128).unwrap()].clone()).collect())
        }
        "utf8view" | "binaryview" => {
            let buffers: Vec<Vec<u8>> = column["VARIADIC_DATA_BUFFERS"].as_array()?.iter().map(|b| hex(b.as_str().unwrap())).collect();
            let bytes = |view: &Value| {
                let size = usize::try_from(view["SIZE"].as_i64().unwrap()).unwrap();
                match view["INLINED"].as_str() {
                    Some(text) if name == "utf8view" => text.as_bytes().to_vec(),
                    Some(text) => hex(text),
                    None => {
                        let at = |word: &str| usize::try_from(view[word].as_i64().unwrap()).unwrap();
                        buffers[at("BUFFER_INDEX")][at("OFFSET")..at("OFFSET") + size].to_vec()
                    }
                }
            };
            let valid = column["VALIDITY"].as_array()?;
            let cells = column["VIEWS"].as_array()?.iter().zip(valid);
            Some(cells.map(|(view, valid)| if *valid == 0 { Ok(None) } else { String::from_utf8(bytes(view)).map(Some).map_err(|_| ()) }).collect())
        }
        "int" | "bool" | "floatingpoint" | "utf8" | "largeutf8" | "binary" | "largebinary" | "date" | "time" | "timestamp" | "decimal" => {
            if name == "floatingpoint" && kind["precision"] == "HALF" || kind["scale"].as_i64().is_some_and(|s| !(0..=38).contains(&s)) {
                return None;
            }
            let valid = column["VALIDITY"].as_array();
            let there = |row: usize| valid.is_none_or(|valid| valid[row] == 1);
            Some(column["DATA"].as_array()?.iter().enumerate().map(|(row, value)| if there(row) { cell(value).map(Some) } else { Ok(None) }).collect())
        }
        _ => None,
    }
}

#[test]
fn arrow_integration_files() {
    let paths = files(Suite::ArrowIntegration);
    let mut walk = Walk::new();
    for path in &paths {
        let golden = integration(&path.with_extension("json.gz"));
        assert!(golden.is_some(), "{path:?} has no values beside it");
        walk.file(path, &Format::Arrow, golden.as_ref());
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.to_str().unwrap().contains("bigendian") {
            assert_eq!(walk.verdicts[name], "unsupported-endianness", "{path:?}");
        }
    }
    let verdicts = walk.told("arrow-testing, integration");
    for (name, verdict) in &verdicts {
        if !verdict.contains("read") && verdict != "unsupported-endianness" {
            say(&format!("  {name}: {verdict}"));
        }
    }
}

#[test]
fn arrow_files_that_crashed_others() {
    let mut walk = Walk::new();
    for path in &files(Suite::ArrowDamaged) {
        walk.file(path, &Format::Arrow, None);
    }
    walk.told("arrow-testing, damaged");
}

const DECIMALS: [(&str, usize); 4] =
    [("int256_decimal.avro", 10), ("fixed256_decimal.avro", 10), ("fixed_length_decimal_legacy_32.avro", 2), ("int128_decimal.avro", 2)];

#[test]
fn avro_files() {
    let all = files(Suite::Avro);
    let mut golden = None;
    if let Some(weather) = all.iter().find(|path| path.ends_with("weather.avro")) {
        let text = std::fs::read_to_string(weather.with_extension("json")).unwrap();
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cells = |name: &str| rows.iter().map(|row| Ok(Some(row[name].as_str().map_or_else(|| row[name].to_string(), str::to_owned)))).collect::<Vec<_>>();
        golden = Some(["station", "time", "temp"].map(|name| (name.to_owned(), cells(name))).into_iter().collect::<Golden>());
    }
    for folder in ["avro", "arrow-testing", "arrow-rs"] {
        let mut walk = Walk::new();
        for path in all.iter().filter(|path| relative(path).starts_with(&format!("{folder}/"))) {
            let name = path.file_name().unwrap().to_str().unwrap();
            // The sorted one has the same records in another order.
            let known = name.starts_with("weather") && name != "weather-sorted.avro";
            // 1 to 24, says the README beside them, at the file's own scale.
            let decimals = DECIMALS.iter().find(|(file, _)| *file == name).map(|(_, scale)| {
                let cells = (1..=24).map(|n| Ok(Some(format!("{n}.{:0>scale$}", "")))).collect();
                vec![("value".to_owned(), cells)]
            });
            walk.file(path, &Format::Avro, decimals.as_ref().or(golden.as_ref().filter(|_| known)));
        }
        let verdicts = walk.told(folder);
        for (name, verdict) in [
            ("weather.avro", "all rows read"),
            ("weather-snappy.avro", "all rows read"),
            ("weather-zstd.avro", "all rows read"),
            ("weather-deflate.avro", "all rows read"),
            ("person-10.avro", "all rows read"),
            ("syncInMeta.avro", "all rows read"),
            // Their values are no records but null or an integer: rows without columns.
            ("avro-1237-good.avro", "unsupported-schema"),
            ("avro-1237-bad-union-discriminant.avro", "unsupported-schema"),
            ("avro-1238-good.avro", "unsupported-schema"),
            ("avro-1238-truncated.avro", "unsupported-schema"),
            ("alltypes_plain.avro", "all rows read"),
        ] {
            if let Some(found) = verdicts.get(name) {
                assert_eq!(found, verdict, "{name}");
            }
        }
        let mut refused: Vec<_> = verdicts.iter().filter(|(_, verdict)| !verdict.ends_with("read")).collect();
        refused.sort();
        refused.iter().for_each(|(name, verdict)| say(&format!("  {name}: {verdict}")));
    }
}

#[test]
fn parquet_files() {
    let all = files(Suite::Parquet);
    let mut folders: Vec<String> = all.iter().map(|path| relative(path).split('/').next().unwrap().to_owned()).collect();
    folders.dedup();
    for folder in &folders {
        let mut walk = Walk::new();
        for path in all.iter().filter(|path| relative(path).starts_with(&format!("{folder}/"))) {
            let golden = expected_csv(&path.with_file_name(format!("{}_expect.csv", path.file_stem().unwrap().to_str().unwrap())));
            walk.file(path, &Format::Parquet, golden.as_ref());
        }
        let verdicts = walk.told(folder);
        let mut refused: Vec<_> = verdicts.iter().filter(|(_, verdict)| !verdict.ends_with("read") && !verdict.contains("other columns read")).collect();
        refused.sort();
        refused.iter().for_each(|(name, verdict)| say(&format!("  {name}: {verdict}")));
        for (name, verdict) in &verdicts {
            if name.ends_with(".encrypted") {
                assert!(matches!(verdict.as_str(), "unsupported-encryption"), "{name}: {verdict}");
            }
            if name.contains("checksum") {
                assert_eq!(verdict, if name.contains("corrupt") { "corrupt-input" } else { "all rows read" }, "{name}");
            }
        }
    }
}

/// Values that some files of parquet-testing have beside them.
fn expected_csv(path: &Path) -> Option<Golden> {
    let text = std::fs::read_to_string(path).ok()?;
    let split = |line: &str| {
        let (mut cells, mut quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                other => cells.last_mut().unwrap().push(other),
            }
        }
        cells
    };
    let mut lines = text.lines().map(split);
    let names = lines.next()?;
    let rows: Vec<Vec<String>> = lines.collect();
    let cell = |text: &String| Ok((!text.is_empty()).then(|| text.clone()));
    Some(names.iter().enumerate().map(|(at, name)| (name.clone(), rows.iter().map(|row| cell(&row[at])).collect())).collect())
}
