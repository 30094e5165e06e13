//! The push function of the stage: sorted batches in, closed shards out.
mod examples;

use super::column::{Converter, Values};
use super::layout::Layout;
use super::overflow::{Conservation, Cutter, End, Step};
use super::pack::Packed;
use super::runs::{Run, Runs};
use crate::error::{Culprit, Failure, Result};
use crate::shard::{ClosedPart, ClosedShard, ShardSink, ShardWriter, TableSink, TableWriter, Text, plain};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use examples::{Examples, Piece};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Assembles and writes the shards of one partition of the sorted stream.
///
/// Push batches in the order (shard, entity, order columns, all others), then [`finish`](Emitter::finish). The functions block on disk or store.
pub struct Emitter {
    layout: Arc<Layout>,
    runs: Runs,
    batch_runs: Vec<Run>,
    /// Per numeric feature: its converter, the batch's values, and what an unfinished chunk holds.
    converters: Vec<Converter>,
    values: Vec<Values>,
    carry: Vec<Values>,
    carry_events: usize,
    /// Says where sequences are cut when that is more than whole chunks one after the other.
    cutter: Cutter,
    open: Option<Entity>,
    examples: Examples,
    rows: u64,
    table: Option<TableWriter>,
}

/// The entity whose events are arriving.
struct Entity {
    token: Vec<u8>,
    /// Chunks written so far.
    chunks: i64,
    /// The value that each context column must have.
    contexts: Vec<Option<i64>>,
}

/// What a partition produced.
#[derive(Debug)]
pub struct Emitted {
    /// Every shard of the partition, in order of shard and bucket.
    pub shards: Vec<ClosedShard>,
    /// The table's files.
    pub parts: Vec<ClosedPart>,
    /// Rows pushed.
    pub rows: u64,
    /// Where the elements along the bucketed axis went; all zero without one.
    pub account: Conservation,
    /// What was packed, where examples are packed.
    pub packed: Option<Packed>,
    /// By tokenized feature: tokens, and how many more `maxTokens` cut off.
    pub tokens: BTreeMap<String, [u64; 2]>,
}

impl Emitter {
    /// For the shards `own_shards` (ascending) of `total_shards`.
    ///
    /// # Errors
    /// `record-too-large` (exit 2): a record of raw tensors would be beyond 2 GiB.
    pub fn new(layout: Arc<Layout>, sink: Arc<ShardSink>, table: Option<Arc<TableSink>>, own_shards: Vec<u32>, total_shards: u32) -> Result<Self> {
        let encoding = sink.encoding();
        let writer = ShardWriter::new(sink, layout.buckets(), own_shards.clone(), total_shards);
        Ok(Self {
            runs: Runs::default(),
            batch_runs: Vec::new(),
            converters: layout.numbers.iter().cloned().map(Converter::new).collect(),
            values: layout.numbers.iter().map(Values::of).collect(),
            carry: layout.axis_values(),
            carry_events: 0,
            cutter: Cutter::new(layout.overflow, layout.window()),
            open: None,
            examples: Examples::new(&layout, encoding, writer)?,
            rows: 0,
            table: table.map(|table| TableWriter::new(table, layout.table_schema(), own_shards, total_shards)),
            layout,
        })
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// The data's (exit 1): `missing-entity`, `missing-feature`, `mixed-shift-context`, `log1p-domain`, `not-finite`, `out-of-range`. Disk's or store's (3, 4).
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let layout = Arc::clone(&self.layout);
        let column = |index: usize| {
            batch
                .columns()
                .get(index)
                .ok_or_else(|| Failure::new(Culprit::Data, "column-type", "a batch has fewer columns than the layout").help("this is a bug: report it"))
        };
        let entity = layout.entity.map(column).transpose()?.map(plain).transpose()?;
        let mut runs = std::mem::take(&mut self.batch_runs);
        self.runs.cut(column(layout.shard)?, entity.as_ref(), &mut runs)?;
        for (index, number) in layout.numbers.iter().enumerate() {
            self.converters[index].convert(column(number.index)?, &runs, &mut self.values[index])?;
        }
        self.push_table(batch, &runs)?;
        match &entity {
            Some(entity) => {
                let contexts = layout.contexts.iter().map(|context| column(context.index)).collect::<Result<Vec<_>, _>>()?;
                self.push_events(entity, &contexts, &runs)?;
            }
            None => self.push_rows(batch, &runs)?,
        }
        self.rows += batch.num_rows() as u64;
        self.batch_runs = runs;
        Ok(())
    }

    /// Ends the last entity and closes every file.
    ///
    /// # Errors
    /// As disk or store say.
    pub fn finish(mut self) -> Result<Emitted> {
        self.end_entity()?;
        let (shards, account, packed) = self.examples.finish(&self.layout)?;
        let parts = self.table.map(TableWriter::finish).transpose()?.unwrap_or_default();
        let account = if self.layout.sequences() && !self.layout.whole_chunks() { *self.cutter.account() } else { account };
        let tokens = self.converters.iter().filter_map(Converter::token_counts).map(|(feature, counts)| (feature.to_owned(), counts)).collect();
        Ok(Emitted { shards, parts, rows: self.rows, account, packed, tokens })
    }

    fn push_table(&mut self, batch: &RecordBatch, runs: &[Run]) -> Result<()> {
        let Some(writer) = &mut self.table else { return Ok(()) };
        let unwritable = |_| Failure::new(Culprit::Data, "column-type", "a batch has other columns than the layout").help("this is a bug: report it");
        let batch = batch.project(self.layout.table_columns()).map_err(unwritable)?;
        for same_shard in runs.chunk_by(|a, b| a.shard == b.shard) {
            if let (Some(first), Some(last)) = (same_shard.first(), same_shard.last()) {
                writer.write(first.shard, &batch.slice(first.start, last.end - first.start))?;
            }
        }
        Ok(())
    }

    fn push_rows(&mut self, batch: &RecordBatch, runs: &[Run]) -> Result<()> {
        let layout = Arc::clone(&self.layout);
        let arrays = layout.texts.iter().map(|text| plain(batch.column(text.index))).collect::<Result<Vec<ArrayRef>>>()?;
        let mut texts = Vec::with_capacity(arrays.len());
        for (array, column) in arrays.iter().zip(&layout.texts) {
            let place = || format!("feature `{}` (column `{}`)", column.feature, column.column);
            if array.null_count() > 0 {
                let failure = Failure::new(Culprit::Data, "missing-feature", format!("{}: a value is null, and bytes have no `missing`", place()));
                return Err(failure.help("reject such rows with `required`, or use COALESCE in `prepare`").into());
            }
            texts.push(
                Text::of(array).ok_or_else(|| Failure::new(Culprit::Data, "column-type", format!("{}: not text", place())).help("this is a bug: report it"))?,
            );
        }
        for run in runs {
            self.examples.advance(&layout, run.shard)?;
            if let Some(&axis) = layout.axis.first() {
                self.push_tokens(&layout, axis, run, &texts)?;
                continue;
            }
            for row in run.start..run.end {
                let piece = Piece { axis: &[], range: row..row + 1, chunk: 0, token: &[], scalars: &self.values, texts: &texts, row };
                self.examples.piece(&layout, &piece)?;
            }
        }
        Ok(())
    }

    /// Rows whose tokens lie along the bucketed axis.
    fn push_tokens(&mut self, layout: &Layout, axis: usize, run: &Run, texts: &[Text<'_>]) -> Result<()> {
        let ends = self.converters[axis].ends();
        for row in run.start..run.end {
            let start = row.checked_sub(1).map_or(0, |before| ends[before]);
            let length = ends[row] - start;
            self.examples.account.merge(&layout.overflow.account(length, layout.window()));
            for (chunk, range) in (0..).zip(layout.overflow.ranges(length, layout.window())) {
                let range = start + range.start..start + range.end;
                let piece = Piece { axis: &self.values[axis..=axis], range, chunk, token: &[], scalars: &self.values, texts, row };
                self.examples.piece(layout, &piece)?;
            }
        }
        Ok(())
    }

    fn push_events(&mut self, entity: &ArrayRef, contexts: &[&ArrayRef], runs: &[Run]) -> Result<()> {
        let layout = Arc::clone(&self.layout);
        let token = Text::of(entity);
        let contexts = contexts.iter().map(|array| array.as_primitive_opt::<Int64Type>()).collect::<Option<Vec<_>>>();
        let contexts = contexts.ok_or_else(|| Failure::new(Culprit::Data, "column-type", "a shift context is not Int64").help("this is a bug: report it"))?;
        let context_at = |index: usize, row: usize| contexts[index].is_valid(row).then(|| contexts[index].value(row));
        for (number, run) in runs.iter().enumerate() {
            if !run.continues {
                self.end_entity()?;
                self.examples.advance(&layout, run.shard)?;
                let mut token_bytes = self.open.take().map(|entity| entity.token).unwrap_or_default();
                token_bytes.clear();
                if let Some(token) = &token {
                    token_bytes.extend_from_slice(token.value(run.start));
                }
                self.open = Some(Entity { token: token_bytes, chunks: 0, contexts: (0..contexts.len()).map(|index| context_at(index, run.start)).collect() });
                self.examples.account.examples_in += 1;
            }
            let Some(open) = &mut self.open else { continue };
            for (index, context) in layout.contexts.iter().enumerate() {
                let array = contexts[index];
                let same = match open.contexts[index] {
                    Some(value) if array.null_count() == 0 => array.values()[run.start..run.end].iter().all(|&other| other == value),
                    expected => (run.start..run.end).all(|row| context_at(index, row) == expected),
                };
                if !same {
                    return Err(mixed_context(&context.name));
                }
            }
            if layout.whole_chunks() {
                self.push_chunks(&layout, run, number + 1 < runs.len())?;
            } else {
                self.push_cut(&layout, run)?;
            }
        }
        Ok(())
    }

    /// Events of the open entity as whole chunks; `ends`: the entity's last.
    fn push_chunks(&mut self, layout: &Layout, run: &Run, ends: bool) -> Result<()> {
        let largest = layout.chunk_events();
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut at = run.start;
        while at < run.end {
            if self.carry_events == 0 && (ends || run.end - at >= largest) {
                // Whole chunks, and an entity's last one, go out without a copy.
                let end = run.end.min(at + largest);
                self.examples.chunk(layout, open, &self.values, at, end)?;
                at = end;
                continue;
            }
            let end = run.end.min(at + largest - self.carry_events);
            for ((carry, values), width) in self.carry.iter_mut().zip(&self.values).zip(layout.axis_widths()) {
                carry.append(values, at * width, end * width);
            }
            self.carry_events += end - at;
            at = end;
            if self.carry_events == largest {
                self.examples.chunk(layout, open, &self.carry, 0, largest)?;
                self.carry.iter_mut().for_each(Values::clear);
                self.carry_events = 0;
            }
        }
        Ok(())
    }

    /// Events of the open entity, cut as the job says; no more than a window is held.
    fn push_cut(&mut self, layout: &Layout, run: &Run) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let mut at = run.start;
        while let Some(step) = self.cutter.step(run.end - at) {
            match step {
                Step::Skip(events) => at += events,
                Step::Take { forget, take } => {
                    for ((carry, values), width) in self.carry.iter_mut().zip(&self.values).zip(layout.axis_widths()) {
                        carry.forget(forget * width);
                        carry.append(values, at * width, (at + take) * width);
                    }
                    self.carry_events = self.carry_events - forget + take;
                    at += take;
                }
                Step::Write { keep } => {
                    self.examples.chunk(layout, open, &self.carry, 0, self.carry_events)?;
                    for (carry, width) in self.carry.iter_mut().zip(layout.axis_widths()) {
                        carry.forget((self.carry_events - keep) * width);
                    }
                    self.carry_events = keep;
                }
            }
        }
        Ok(())
    }

    /// Writes what the open entity still holds.
    fn end_entity(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let last = if self.layout.whole_chunks() { self.carry_events > 0 } else { self.cutter.end() == End::Write };
        if last {
            self.examples.chunk(&self.layout, open, &self.carry, 0, self.carry_events)?;
        }
        self.carry.iter_mut().for_each(Values::clear);
        self.carry_events = 0;
        Ok(())
    }
}

impl Examples {
    /// Writes the events `start..end` of `values` as the next chunk of `entity`.
    fn chunk(&mut self, layout: &Layout, entity: &mut Entity, values: &[Values], start: usize, end: usize) -> Result<()> {
        let piece = Piece { axis: values, range: start..end, chunk: entity.chunks, token: &entity.token, scalars: &[], texts: &[], row: 0 };
        self.piece(layout, &piece)?;
        let events = (end - start) as u64;
        self.account.pieces += 1;
        self.account.elements_in += events;
        self.account.kept += events;
        entity.chunks += 1;
        Ok(())
    }
}

fn mixed_context(column: &str) -> crate::error::Error {
    let message = format!("the events of one sequence do not share one shift of dates (column `{column}`): shifted apart, their order would be scrambled");
    Failure::new(Culprit::Data, "mixed-shift-context", message)
        .help("sequence by the policy's shift context, or let the policy shift with the sequence's entity")
        .into()
}

impl fmt::Debug for Emitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
