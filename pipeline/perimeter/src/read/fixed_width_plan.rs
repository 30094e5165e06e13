//! The layout of fixed-width records against the contract, where a file of them can be cut, and how a part of it is read.
use super::csv_plan::cut;
use super::decompress::{can_be_cut, empty, failure, open_after_mark, open_text, refuse_other_formats};
use super::emit::Emit;
use super::fixed_width::FixedWidth;
use super::rows::typings;
use super::text::{Blocks, MAX_RECORD_BYTES};
use super::{Ingest, InputFile, Part, UNIT_BYTES};
use crate::check::NumberStyle;
use crate::error::{Culprit, Failure, Result};
use crate::store::Stores;
use perimeter_contract::job::{Encoding, FixedWidthOptions, Source};
use perimeter_contract::schema::DataType;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Characters of a record at most: all of one is in the buffer, four bytes each.
const LONGEST: usize = MAX_RECORD_BYTES / 4;

/// Holds the layout against the contract and cuts a large uncompressed file into ranges of whole records.
///
/// # Errors
/// Exit 2: a layout that does not fit itself or the contract, an empty file, one of another format.
pub(super) fn plan(stores: &Stores, source: &Source, options: &FixedWidthOptions, file: &InputFile) -> Result<Vec<Part>> {
    if let Some(why) = unusable(options, source) {
        let message = format!("source `{}`: {why}", source.name);
        return Err(Failure::new(Culprit::File, "unusable-layout", message).help("Change the source's `options`, or the schema").into());
    }
    let encoding = options.text.encoding;
    let mut start = Vec::new();
    open_text(stores, file, &Part::Whole, encoding)?.bytes.take(16).read_to_end(&mut start).map_err(|e| failure(file, e))?;
    if start.is_empty() {
        return Err(empty(file));
    }
    refuse_other_formats(file, &start)?;
    if !can_be_cut(file, encoding)? || file.size_bytes < 2 * UNIT_BYTES {
        return Ok(vec![Part::Whole]);
    }
    // Without line ends and in bytes that are characters, nobody has to look.
    if file.etag.is_some() && (options.line_ends || !is_single_byte(encoding)) {
        return Ok(vec![Part::Whole]);
    }
    parts(stores, options, file, UNIT_BYTES)
}

fn is_single_byte(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Latin1 | Encoding::Windows1252 | Encoding::Cp850)
}

/// Ranges of whole records of about this length.
pub(super) fn parts(stores: &Stores, options: &FixedWidthOptions, file: &InputFile, unit_bytes: u64) -> Result<Vec<Part>> {
    let encoding = options.text.encoding;
    if !options.line_ends && is_single_byte(encoding) {
        return Ok(by_length(u64::from(options.record_length), file.size_bytes, unit_bytes));
    }
    let (byte, opened) = open_after_mark(stores, file, encoding)?;
    // Every record counts, also those that are passed over.
    let records = FixedWidth::new(&FixedWidthOptions { record_types: None, ..options.clone() }, opened.decoding);
    cut(&mut Blocks::starting_at(records, file, opened, byte), file.size_bytes, unit_bytes)
}

/// Ranges of whole records, when their bytes can be counted without looking.
fn by_length(record_bytes: u64, size_bytes: u64, unit_bytes: u64) -> Vec<Part> {
    let records = (unit_bytes / record_bytes).max(1);
    let step = records.saturating_mul(record_bytes);
    let starts = (0..).map(|part: u64| part.saturating_mul(step)).take_while(|start| *start < size_bytes);
    starts.map(|start| Part::Bytes { start, end: start.saturating_add(step).min(size_bytes), first_record: start / record_bytes }).collect()
}

/// Why the layout cannot be read.
fn unusable(options: &FixedWidthOptions, source: &Source) -> Option<String> {
    let length = options.record_length as usize;
    if !(1..=LONGEST).contains(&length) {
        return Some(format!("`recordLength` is 1 to {LONGEST}"));
    }
    let fits = |offset: u32, width: u32| width > 0 && offset.checked_add(width).is_some_and(|end| end <= options.record_length);
    let columns = &source.schema.columns;
    if options.fields.len() != columns.len() {
        return Some(format!("`fields` are {}, the contract has {} columns", options.fields.len(), columns.len()));
    }
    for (field, column) in options.fields.iter().zip(columns) {
        if !fits(field.offset, field.width) {
            return Some(format!("the field of column `{}` does not lie inside the record", column.name));
        }
        let can_be = match (field.implied_decimals, &column.data_type) {
            (None, _) | (Some(_), DataType::Float64) => true,
            (Some(implied), DataType::Decimal { scale, .. }) => implied <= *scale,
            (Some(implied), DataType::Int32 | DataType::Int64) => implied == 0,
            _ => false,
        };
        if !can_be {
            return Some(format!("the type of column `{}` cannot take so many `impliedDecimals`", column.name));
        }
    }
    let types = options.record_types.as_ref()?;
    let all = types.values.iter().chain(types.others.iter().flatten());
    if !fits(types.offset, types.width) || types.values.is_empty() {
        return Some("`recordTypes` does not lie inside the record, or names no type to read".to_owned());
    }
    all.filter(|value| value.chars().count() != types.width as usize)
        .map(|_| "a value of `recordTypes` is not as wide as its field: no record can have it".to_owned())
        .next()
}

/// Reads one unit.
///
/// # Errors
/// Those of reading, and of a file in which nobody can tell where records start.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &FixedWidthOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let first_record = if let Part::Bytes { first_record, .. } = part { *first_record } else { 0 };
    let opened = open_text(ingest.stores, file, part, options.text.encoding)?;
    let taken = Arc::clone(&opened.taken);
    let style = NumberStyle::of(&options.text);
    let implied = |column: usize| options.fields.get(column).and_then(|field| field.implied_decimals);
    let columns = typings(ingest, emit, |column| style.clone().fixed_width(implied(column)));
    let done = Blocks::new(FixedWidth::new(options, opened.decoding), file, opened, first_record).ingest(ingest.batch_rows, emit, columns);
    emit.bytes_read = taken.load(Ordering::Relaxed);
    done
}
