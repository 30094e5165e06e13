//! From the text formats' records to the common end of all readers.
use super::Ingest;
use super::emit::{BadRecord, Emit};
use super::text::{RawRows, Sink};
use crate::check::{NumberStyle, Typed, Typing};
use crate::error::Result;
use perimeter_contract::job::Format;
use perimeter_contract::schema::DataType;

/// Typing of every column that somebody looks at, and of every one whose cells can be no value of its type: nobody has to want a column for its rows to be
/// rejected. Only text can be anything in a csv or fixed-width cell; a JSON value under a column of text may be a number.
pub(super) fn typings(ingest: &Ingest<'_>, emit: &Emit<'_>, style: impl Fn(usize) -> NumberStyle) -> Vec<Option<Typing>> {
    let columns = ingest.source.schema.columns.iter().enumerate();
    let any_cell_is_text = !matches!(ingest.source.format, Format::Json(_));
    columns
        .map(|(index, column)| {
            let can_fail = !any_cell_is_text || column.data_type != DataType::String;
            let seen = ingest.projection.contains(&index) || emit.checker.has_rules(index) || can_fail;
            seen.then(|| Typing::new(&column.data_type, Some(style(index))))
        })
        .collect()
}

impl Sink for Emit<'_> {
    fn batch(&mut self, rows: usize, columns: &[Option<Typed>], number: &dyn Fn(usize) -> u64, raw: RawRows<'_>, bad: &[BadRecord]) -> Result<()> {
        Emit::batch(self, rows, columns, number, raw, bad)
    }

    fn absent_object(&mut self, object: usize, rows: Vec<u32>) {
        Emit::absent_object(self, object, rows);
    }

    fn passed_over(&mut self) {
        self.rows_passed_over += 1;
    }

    fn added_fields(&mut self, records: u64) {
        self.rows_with_added_fields += records;
    }
}
