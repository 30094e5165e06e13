//! The text readers of *read*, without the rest of the product: their own files, with stand-ins for what is around them.
//!
//! [`read::read`] takes a case and gives what comes out; [`bodies`] says what must hold of it. The perimeter crate's tests take `bodies.rs` in too and run it with the
//! readers as they are built into the product.
#![allow(dead_code)] // of what is taken in, not everything is used

pub mod bodies;
#[path = "../../../../pipeline/perimeter/src/error.rs"]
pub mod error;

/// Stand-in.
pub mod store {
    /// A file has a name.
    #[derive(Clone, Debug)]
    pub struct InputFile {
        /// Shown.
        pub label: String,
    }
}

/// Typing as it is; the rules are left out.
#[path = "."] // or the paths inside would start in a folder that is not there
pub mod check {
    #[path = "../../../../pipeline/perimeter/src/check/number.rs"]
    mod number;
    #[path = "../../../../pipeline/perimeter/src/check/typing.rs"]
    mod typing;

    /// Stand-in.
    pub mod report {
        /// As the product's.
        #[derive(Clone, Copy, Debug)]
        pub struct Ragged {
            /// Of the record.
            pub found: u64,
            /// Of all others.
            pub expected: u64,
        }
    }

    use arrow::datatypes::{DataType as ArrowType, Field, TimeUnit};
    pub use number::NumberStyle;
    use perimeter_contract::schema::{DataType, Zone};
    use std::sync::Arc;
    pub use typing::{Cell, List, Typed, Typing};

    /// As the product's.
    pub fn arrow_type(data_type: &DataType) -> ArrowType {
        match data_type {
            DataType::String => ArrowType::Utf8,
            DataType::Int32 => ArrowType::Int32,
            DataType::Int64 => ArrowType::Int64,
            DataType::Decimal { precision, scale } => ArrowType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX)),
            DataType::Float64 => ArrowType::Float64,
            DataType::Boolean => ArrowType::Boolean,
            DataType::Date { .. } => ArrowType::Date32,
            DataType::Time { .. } => ArrowType::Time64(TimeUnit::Microsecond),
            DataType::List(item) => ArrowType::List(Arc::new(Field::new_list_field(arrow_type(item), true))),
            DataType::Timestamp { zone: Zone::None, .. } => ArrowType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp { zone: Zone::Utc { .. }, .. } => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }
}

/// The readers.
#[path = "."]
pub mod read {
    #[path = "../../../../pipeline/perimeter/src/read/csv.rs"]
    mod csv;
    #[path = "../../../../pipeline/perimeter/src/read/encoding.rs"]
    mod encoding;
    #[path = "../../../../pipeline/perimeter/src/read/fixed_width.rs"]
    mod fixed_width;
    #[path = "../../../../pipeline/perimeter/src/read/json.rs"]
    mod json;
    #[path = "../../../../pipeline/perimeter/src/read/json_array.rs"]
    mod json_array;
    #[path = "../../../../pipeline/perimeter/src/read/json_scan.rs"]
    mod json_scan;
    #[path = "../../../../pipeline/perimeter/src/read/text.rs"]
    mod text;

    mod decompress {
        use super::encoding::Decoding;
        use crate::error::{Culprit, Error, Failure};
        use crate::store::InputFile;
        use std::io::Read;

        pub(super) struct Opened {
            pub(super) bytes: Box<dyn Read + Send>,
            pub(super) decoding: Decoding,
        }

        pub(super) fn failure(_: &InputFile, _: std::io::Error) -> Error {
            Failure::new(Culprit::Outside, "read-failed", "bytes in memory cannot fail").into()
        }
    }

    mod emit {
        pub(super) struct BadRecord {
            pub(super) number: u64,
            pub(super) codes: Vec<&'static str>,
            pub(super) raw: Vec<u8>,
            pub(super) ragged: Option<crate::check::report::Ragged>,
        }
    }

    use crate::bodies::{Case, Outcome};
    use crate::check::{NumberStyle, Typed, Typing};
    use crate::error::{Error, Result};
    use crate::store::InputFile;
    use arrow::array::Array;
    use arrow::util::display::array_value_to_string;
    use decompress::Opened;
    use emit::BadRecord;
    use perimeter_contract::job::Format;
    use text::{Blocks, RawRows, Sink, Tokenizer};

    struct Collected<'a> {
        case: &'a Case,
        outcome: Outcome,
        absent: Vec<u32>,
    }

    impl Sink for Collected<'_> {
        fn batch(&mut self, rows: usize, columns: &[Option<Typed>], number: &dyn Fn(usize) -> u64, raw: RawRows<'_>, bad: &[BadRecord]) -> Result<()> {
            let mut records = Vec::new();
            for row in 0..rows {
                let at = row as u32;
                let mut codes: Vec<String> = Vec::new();
                for (typed, column) in columns.iter().zip(&self.case.source.schema.columns) {
                    let Some(typed) = typed else { continue };
                    assert_eq!(typed.array.len(), rows);
                    if typed.untyped.contains(&at) {
                        assert!(typed.array.is_null(row));
                        codes.push(format!("{}.type", column.name));
                    }
                }
                if self.absent.contains(&at) {
                    codes.push("required".into());
                }
                if codes.is_empty() {
                    let cell = |typed: &Option<Typed>| {
                        let array = &typed.as_ref()?.array;
                        array.is_valid(row).then(|| array_value_to_string(array, row).unwrap_or_default())
                    };
                    records.push((number(row), Ok(columns.iter().map(cell).collect())));
                } else {
                    let raw = raw(&[row])?.concat();
                    records.push((number(row), Err((codes, raw))));
                }
            }
            records.extend(bad.iter().map(|b| (b.number, Err((b.codes.iter().map(|c| (*c).to_owned()).collect(), b.raw.clone())))));
            records.sort_by_key(|(number, _)| *number);
            self.outcome.records.extend(records);
            self.absent.clear();
            Ok(())
        }

        fn absent_object(&mut self, _: usize, rows: Vec<u32>) {
            self.absent.extend(rows);
        }

        fn passed_over(&mut self) {
            self.outcome.passed_over += 1;
        }

        fn added_fields(&mut self, records: u64) {
            self.outcome.added_fields += records;
        }
    }

    /// Reads a case in blocks of so many bytes and batches of so many rows.
    pub fn read(case: &Case, block: usize, batch_rows: usize) -> Outcome {
        let mut collected = Collected { case, outcome: Outcome::default(), absent: Vec::new() };
        if let Err(error) = run(case, block, batch_rows, &mut collected) {
            collected.outcome.refusal = Some(match error {
                Error::Failed(failure) => failure.code,
                Error::Contract(_) => "contract",
            });
        }
        collected.outcome
    }

    fn run(case: &Case, block: usize, batch_rows: usize, sink: &mut Collected<'_>) -> Result<()> {
        let file = InputFile { label: "in".into() };
        let source = &case.source;
        let options = match &source.format {
            Format::Csv(o) => &o.text,
            Format::Json(o) => &o.text,
            Format::FixedWidth(o) => &o.text,
            _ => return Ok(()),
        };
        let (decoding, bytes) = encoding::decoded(&file, options.encoding, Box::new(std::io::Cursor::new(case.bytes.clone())))?;
        let opened = Opened { bytes, decoding };
        let style = NumberStyle::of(options);
        let columns = source.schema.columns.iter().enumerate();
        let typings = columns
            .map(|(at, column)| {
                let style = match &source.format {
                    Format::FixedWidth(o) => style.clone().fixed_width(o.fields.get(at).and_then(|f| f.implied_decimals)),
                    _ => style.clone(),
                };
                Some(Typing::new(&column.data_type, Some(style)))
            })
            .collect();
        match &source.format {
            Format::Csv(options) => {
                let mut csv = csv::Csv::new(options, Some(source.schema.columns.len()), decoding.table());
                csv.columns = (0..source.schema.columns.len()).collect();
                blocks(csv, case, &file, opened, block).ingest(batch_rows, sink, typings)
            }
            Format::Json(options) => {
                let records = json::Records::new(source, options, decoding.table());
                if options.array {
                    blocks(json_array::JsonArray::new(records), case, &file, opened, block).ingest(batch_rows, sink, typings)
                } else {
                    blocks(json::Json { records }, case, &file, opened, block).ingest(batch_rows, sink, typings)
                }
            }
            Format::FixedWidth(options) => {
                blocks(fixed_width::FixedWidth::new(options, decoding), case, &file, opened, block).ingest(batch_rows, sink, typings)
            }
            _ => Ok(()),
        }
    }

    fn blocks<'a, T: Tokenizer>(tokenizer: T, case: &Case, file: &'a InputFile, opened: Opened, block: usize) -> Blocks<'a, T> {
        let mut blocks = Blocks::new(tokenizer, file, opened, 0);
        blocks.block_bytes = block.max(1);
        blocks.max_record_bytes = case.max_record_bytes;
        blocks
    }
}
