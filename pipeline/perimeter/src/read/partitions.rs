//! Columns whose values stand in the path: `…/dt=2026-01-02/region=SP/part-0.parquet`, as Hive, Spark and Athena write them.
//!
//! A plain column of the contract that is a key of the file's folders takes its value from there, for all rows of the file. The value is percent-decoded and
//! typed as text of a text format is; `__HIVE_DEFAULT_PARTITION__` is null. One that is no value of the column's type rejects every row of its file under
//! `<column>.type`. Where the file has the column too, the two must agree: a row that says something else is rejected under `<column>.partition`. A JSON record
//! that has no such key, or null, agrees; an empty cell of another format does not. Keys that are no columns of the contract are not read.
//!
//! Without a header nobody can tell whether a csv file has the column: it is taken not to.
use crate::check::{Cell, Typed, Typing};
use crate::error::{Culprit, Failure, Result};
use crate::store::InputFile;
use arrow::array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow::compute::take;
use perimeter_contract::job::Source;
use perimeter_contract::schema::{Column, DataType, Schema};
use std::sync::Arc;

/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Values of one file's path, by contract column.
#[derive(Debug)]
pub(super) struct Partitions {
    values: Vec<Option<Value>>,
}

/// Not shown: it can be a cell value.
struct Value {
    /// One row.
    array: ArrayRef,
    /// Whether it is none of the type, and why.
    fault: Option<Fault>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Type,
    Ambiguous,
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[value]")
    }
}

/// Whether the column can stand in a path.
fn can_be_key(column: &Column) -> bool {
    column.path.len() == 1 && !matches!(column.data_type, DataType::List(_))
}

/// Keys and values of the folders of a uri.
fn segments(uri: &str) -> impl Iterator<Item = (&str, &str)> {
    let folders = uri.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter_map(|segment| segment.split_once('='))
}

/// The columns that the file's path could give, with their values; `None` where one is null.
pub(super) fn keys(file: &InputFile) -> Vec<(String, Option<String>)> {
    let value = |written: &str| decoded(written).filter(|text| text != NULL);
    segments(&file.uri).filter_map(|(key, written)| Some((decoded(key)?, value(written)))).collect()
}

impl Partitions {
    /// # Errors
    /// Exit 2: a key stands twice in the path, with two values.
    pub(super) fn of(source: &Source, file: &InputFile) -> Result<Self> {
        let value = |column: &Column| {
            if !can_be_key(column) {
                return Ok(None);
            }
            let mut found = segments(&file.uri).filter(|(key, _)| decoded(key).as_deref() == Some(&column.name)).map(|(_, value)| value);
            let Some(first) = found.next() else { return Ok(None) };
            if found.any(|other| other != first) {
                let message = format!("{}: the path has two values of the column `{}`", file.label, column.name);
                return Err(Failure::new(Culprit::File, "ambiguous-partition", message)
                    .help("Move the file to a folder whose path names each column once")
                    .into());
            }
            Ok(Some(Value::of(first, &column.data_type)))
        };
        Ok(Self { values: source.schema.columns.iter().map(value).collect::<Result<_>>()? })
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.values.get(column).is_some_and(Option::is_some)
    }

    pub(super) fn any(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }

    /// The column's value in so many rows.
    pub(super) fn typed(&self, column: usize, rows: usize) -> Option<Typed> {
        let value = self.values.get(column)?.as_ref()?;
        let array = match value.array.null_count() {
            0 => take(&value.array, &UInt32Array::from(vec![0; rows]), None).ok()?,
            _ => new_null_array(value.array.data_type(), rows),
        };
        let all = |fault: bool| if fault { (0..u32::try_from(rows).unwrap_or(u32::MAX)).collect() } else { Vec::new() };
        Some(Typed { array, untyped: all(value.fault.is_some()), ambiguous: all(value.fault == Some(Fault::Ambiguous)) })
    }

    /// The source without the columns in the path, and where the columns that are left stand in the contract.
    pub(super) fn rest(&self, source: &Source) -> (Source, Vec<usize>) {
        let kept: Vec<usize> = (0..source.schema.columns.len()).filter(|column| !self.has(*column)).collect();
        let columns = kept.iter().filter_map(|column| source.schema.columns.get(*column).cloned()).collect();
        // Rules about sets name columns by where they stand; whoever reads a file does not look at them.
        (Source { schema: Schema { columns, rules: Vec::new(), ..source.schema.clone() }, ..source.clone() }, kept)
    }
}

impl Value {
    fn of(written: &str, data_type: &DataType) -> Self {
        let mut typing = Typing::new(data_type, None);
        let text = decoded(written);
        typing.extend(std::iter::once(match text.as_deref() {
            Some(NULL) | None => Cell::Null,
            Some(text) => Cell::Text(text),
        }));
        let typed = typing.finish();
        let fault = match (text, typed.ambiguous.is_empty(), typed.untyped.is_empty()) {
            (None, ..) | (_, true, false) => Some(Fault::Type),
            (_, false, _) => Some(Fault::Ambiguous),
            _ => None,
        };
        Self { array: typed.array, fault }
    }
}

/// Percent-decoded; `None`: not UTF-8. A `%` without two hexadecimal digits stands for itself.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |at: usize| after.get(at).and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The file with a label for this source: values of columns that the contract calls public are shown, those of columns that it calls something else, or
/// gives a meaning, are not, whether or not the job file spells them out.
pub(super) fn labelled(source: &Source, file: InputFile) -> InputFile {
    let shown: Vec<String> = file
        .uri
        .split('/')
        .zip(file.label.split('/'))
        .map(|(segment, label)| {
            let Some((key, _)) = segment.split_once('=') else { return label.to_owned() };
            match source.schema.columns.iter().find(|column| can_be_key(column) && decoded(key).as_deref() == Some(&column.name)) {
                Some(column) if column.semantic_type.is_none() && column.classification.as_deref() == Some("public") => segment.to_owned(),
                Some(column) if column.semantic_type.is_some() || column.classification.is_some() => format!("{key}=*"),
                _ => label.to_owned(),
            }
        })
        .collect();
    InputFile { label: shown.join("/"), ..file }
}

/// Rows of `found` that do not say what the path says.
pub(super) fn disagreeing(found: &Typed, path: &Typed, null_agrees: bool) -> Vec<u32> {
    let rows = 0..u32::try_from(found.array.len()).unwrap_or(u32::MAX);
    let Some(same) = arrow::compute::kernels::cmp::not_distinct(&as_datum(&found.array), &as_datum(&path.array)).ok() else { return rows.collect() };
    let null = |row: u32| found.array.is_null(row as usize);
    rows.filter(|row| !(same.value(*row as usize) || null_agrees && null(*row))).filter(|row| found.untyped.binary_search(row).is_err()).collect()
}

fn as_datum(array: &ArrayRef) -> Arc<dyn Array> {
    Arc::clone(array)
}
