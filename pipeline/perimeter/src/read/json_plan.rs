//! A JSON file: what it looks like, where it can be cut, and how a part of it is read.
use super::csv_plan::cut;
use super::decompress::{can_be_cut, empty, failure, open_after_mark, open_text, refuse_other_formats};
use super::emit::Emit;
use super::json::{Json, Lines, Records};
use super::json_array::JsonArray;
use super::rows::typings;
use super::text::Blocks;
use super::{Ingest, InputFile, Part, UNIT_BYTES};
use crate::check::NumberStyle;
use crate::error::{Culprit, Failure, Result};
use crate::store::Stores;
use perimeter_contract::job::JsonOptions;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Looks at the start of a file, and cuts a large uncompressed local one into ranges of whole lines. An array stays whole.
pub(super) fn plan(stores: &Stores, options: &JsonOptions, file: &InputFile) -> Result<Vec<Part>> {
    let encoding = options.text.encoding;
    let mut start = Vec::new();
    open_text(stores, file, &Part::Whole, encoding)?.bytes.take(4096).read_to_end(&mut start).map_err(|e| failure(file, e))?;
    if start.is_empty() {
        return Err(empty(file));
    }
    refuse_other_formats(file, &start)?;
    let mismatch = |what: &str, help: &'static str| -> crate::error::Error {
        Failure::new(Culprit::File, "format-mismatch", format!("{} {what}", file.label)).help(help).into()
    };
    match (start.iter().find(|b| !b.is_ascii_whitespace()), options.array) {
        (Some(b'['), false) => {
            return Err(mismatch("starts with `[`: it holds an array, not one object a line", "Set the source's `options: {layout: array}`"));
        }
        (Some(first), true) if *first != b'[' => {
            return Err(mismatch("does not start with `[`: it holds no array", "Leave `layout: array` out if it has one object a line"));
        }
        _ => {}
    }
    if options.array || !can_be_cut(file, encoding)? || file.size_bytes < 2 * UNIT_BYTES || file.etag.is_some() {
        return Ok(vec![Part::Whole]);
    }
    parts(stores, options, file, UNIT_BYTES)
}

/// Ranges of whole lines of about this length.
pub(super) fn parts(stores: &Stores, options: &JsonOptions, file: &InputFile, unit_bytes: u64) -> Result<Vec<Part>> {
    let (byte, opened) = open_after_mark(stores, file, options.text.encoding)?;
    cut(&mut Blocks::starting_at(Lines, file, opened, byte), file.size_bytes, unit_bytes)
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &JsonOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let first_record = if let Part::Bytes { first_record, .. } = part { *first_record } else { 0 };
    let opened = open_text(ingest.stores, file, part, options.text.encoding)?;
    let taken = Arc::clone(&opened.taken);
    let style = NumberStyle::of(&options.text);
    let columns = typings(ingest, emit, |_| style.clone());
    let records = Records::new(ingest.source, options, opened.decoding.table());
    let done = if options.array {
        Blocks::new(JsonArray::new(records), file, opened, first_record).ingest(ingest.batch_rows, emit, columns)
    } else {
        Blocks::new(Json { records }, file, opened, first_record).ingest(ingest.batch_rows, emit, columns)
    };
    emit.bytes_read = taken.load(Ordering::Relaxed);
    done
}
