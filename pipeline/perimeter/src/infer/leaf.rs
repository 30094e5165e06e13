//! The columns that are found: where each one stands, and what its file says about it.
use super::profile::{Lens, Profile};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType as ArrowType, Fields};
use perimeter_contract::schema::{Column, DataType, DateFormat, Schema, Zone};
use std::sync::Arc;

/// A value of the record, or an array of such values.
pub(super) struct Leaf {
    /// Names from the top of the record.
    pub(super) path: Vec<String>,
    /// How many of them lead to the array, for arrays.
    pub(super) list_at: Option<usize>,
    /// Of the values; of arrays, of what is inside.
    pub(super) profile: Profile,
    /// Records without it (arrays: without the array).
    pub(super) absent: u64,
    /// What the file says.
    pub(super) declared: Option<DataType>,
    /// Whether the file has bytes where text is proposed.
    pub(super) bytes: bool,
    /// Whether it stands in the paths of the files.
    pub(super) in_path: bool,
    /// Some records have something else here: an object, an array or a value.
    pub(super) mixed: bool,
}

impl Leaf {
    pub(super) fn new(path: Vec<String>, list_at: Option<usize>, most_distinct: usize) -> Self {
        let name = path.last().cloned().unwrap_or_default();
        Self { path, list_at, profile: Profile::new(&name, most_distinct), absent: 0, declared: None, bytes: false, in_path: false, mixed: false }
    }

    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }

    /// As a column of a contract, without rules.
    pub(super) fn column(&self) -> Column {
        let value = self.declared.clone().unwrap_or(DataType::String);
        let data_type = if self.list_at.is_some() { DataType::List(Box::new(value)) } else { value };
        Column { path: self.path.clone(), list_at: self.list_at, ..Column::new(self.name(), data_type) }
    }
}

/// A contract over leaves.
pub(super) fn schema(name: &str, leaves: &[Leaf]) -> Schema {
    Schema::new(name, leaves.iter().map(Leaf::column).collect())
}

/// What a columnar file holds: leaves, and the names of what is not read.
pub(super) fn leaves(fields: &Fields, most_distinct: usize) -> (Vec<Leaf>, Vec<String>) {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    within(fields, &mut Vec::new(), None, most_distinct, &mut found, &mut unread);
    (found, unread)
}

fn within(fields: &Fields, path: &mut Vec<String>, list_at: Option<usize>, most_distinct: usize, found: &mut Vec<Leaf>, unread: &mut Vec<String>) {
    for field in fields {
        path.push(field.name().clone());
        one(field.data_type(), path, list_at, most_distinct, found, unread);
        path.pop();
    }
}

fn one(data_type: &ArrowType, path: &mut Vec<String>, list_at: Option<usize>, most_distinct: usize, found: &mut Vec<Leaf>, unread: &mut Vec<String>) {
    match data_type {
        ArrowType::Struct(fields) => within(fields, path, list_at, most_distinct, found, unread),
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::ListView(item) | ArrowType::LargeListView(item) | ArrowType::FixedSizeList(item, _)
            if list_at.is_none() =>
        {
            one(item.data_type(), path, Some(path.len()), most_distinct, found, unread);
        }
        other => match declared(other) {
            Some((data_type, bytes)) => {
                let mut leaf = Leaf::new(path.clone(), list_at, most_distinct);
                leaf.declared = Some(data_type);
                leaf.bytes = bytes;
                found.push(leaf);
            }
            None => unread.push(path.join(".")),
        },
    }
}

/// The contract's type for a type of Arrow, and whether it is text only by goodwill.
fn declared(data_type: &ArrowType) -> Option<(DataType, bool)> {
    use ArrowType as A;
    let plain = match data_type {
        A::Dictionary(_, values) => return declared(values),
        A::RunEndEncoded(_, values) => return declared(values.data_type()),
        A::Utf8 | A::LargeUtf8 | A::Utf8View => DataType::String,
        A::Binary | A::LargeBinary | A::BinaryView => return Some((DataType::String, true)),
        A::Int8 | A::Int16 | A::Int32 | A::UInt8 | A::UInt16 => DataType::Int32,
        A::Int64 | A::UInt32 | A::UInt64 => DataType::Int64,
        A::Float16 | A::Float32 | A::Float64 => DataType::Float64,
        A::Decimal32(precision, scale) | A::Decimal64(precision, scale) | A::Decimal128(precision, scale) | A::Decimal256(precision, scale) => {
            let (precision, scale) = ((*precision).min(38), u8::try_from(*scale).ok()?);
            return (scale <= precision).then_some((DataType::Decimal { precision, scale }, false));
        }
        A::Boolean => DataType::Boolean,
        A::Date32 | A::Date64 => DataType::Date { format: DateFormat::iso_date() },
        A::Time32(_) | A::Time64(_) => DataType::Time { format: DateFormat { pattern: None, ..DateFormat::iso_date() } },
        A::Timestamp(_, zone) => {
            let zone = if zone.is_some() { Zone::Utc { default: None } } else { Zone::None };
            DataType::Timestamp { format: DateFormat::iso_timestamp(), zone }
        }
        _ => return None,
    };
    Some((plain, false))
}

/// Shows a batch to the profiles; its columns are the leaves.
pub(super) fn observe(batch: &RecordBatch, rows: usize, leaves: &mut [Leaf], lens: &mut Lens) {
    for (column, leaf) in batch.columns().iter().zip(leaves) {
        let column = column.slice(0, rows.min(column.len()));
        let (profile, is_text) = (&mut leaf.profile, leaf.declared.is_none());
        let Some(nulls) = texts(&column, &mut |cell| if is_text { profile.text(cell, lens) } else { profile.declared(cell, lens) }) else { continue };
        profile.null(nulls);
        leaf.absent += match column.as_list_opt::<i32>() {
            Some(list) => list.null_count() as u64,
            None if leaf.list_at.is_none() => nulls,
            None => 0,
        };
    }
}

/// Shows every value of a column as text, those inside lists too, and gives the number of nulls among them; `None`: no value of the column has a text.
pub(crate) fn texts(column: &ArrayRef, each: &mut dyn FnMut(&str)) -> Option<u64> {
    let values = match column.as_list_opt::<i32>() {
        None => Arc::clone(column),
        Some(list) => {
            let inside: Vec<ArrayRef> = list.iter().flatten().collect();
            let parts: Vec<&dyn Array> = inside.iter().map(AsRef::as_ref).collect();
            // No list has anything in it.
            if parts.is_empty() {
                return Some(0);
            }
            arrow::compute::concat(&parts).ok()?
        }
    };
    // The text of a value is what it means, never what is shown.
    let cells = cast(&values, &ArrowType::Utf8).ok()?;
    cells.as_string::<i32>().iter().flatten().for_each(each);
    Some(values.null_count() as u64)
}
