//! A csv file against its contract, where it can be cut, and how a part of it is read.
//!
//! Cells of a header that the contract does not know are named by their position: a file that lost its header has data there.
use super::csv::{Csv, pass_header};
use super::decompress::{can_be_cut, empty, open_after_mark, open_text, refuse_other_formats};
use super::emit::Emit;
use super::rows::typings;
use super::text::{Blocks, Step, Tokenizer};
use super::{Ingest, Part, PlannedFile, UNIT_BYTES};
use crate::check::NumberStyle;
use crate::error::{Culprit, Failure, Result};
use crate::store::{InputFile, Stores};
use perimeter_contract::job::{CsvOptions, Drift, Source};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How the cells of a record stand to the contract's columns.
pub(super) struct Header {
    /// Cells of a record.
    pub(super) width: Option<usize>,
    /// Per contract column, the cell.
    pub(super) columns: Vec<usize>,
    /// Names that the contract does not have, as far as the job lets them pass.
    pub(super) added: Vec<String>,
}

fn mistake(code: &'static str, file: &InputFile, message: &str, help: &str) -> crate::error::Error {
    Failure::new(Culprit::File, code, format!("{}: {message}", file.label)).help(help).into()
}

/// Reads the header of a file, or makes up the one that the contract implies.
pub(super) fn read_header(stores: &Stores, source: &Source, options: &CsvOptions, file: &InputFile) -> Result<Header> {
    let names = source.schema.columns.len();
    let special = [Some(options.delimiter), options.quote, options.escape.filter(|e| options.quote != Some(*e)), options.comment];
    let special: Vec<u8> = special.into_iter().flatten().collect();
    let usable = |at: usize, byte: u8| byte.is_ascii() && !matches!(byte, b'\n' | b'\r') && !special.get(..at).is_some_and(|before| before.contains(&byte));
    if !special.iter().enumerate().all(|(at, byte)| usable(at, *byte)) {
        return Err(mistake(
            "unusable-delimiter",
            file,
            "delimiter, quote, escape and comment must be different ASCII characters and no line ends",
            "Change the source's `options`",
        ));
    }
    let opened = open_text(stores, file, &Part::Whole, options.text.encoding)?;
    if !options.header {
        first_bytes(file, opened.bytes)?;
        return Ok(Header { width: Some(names), columns: (0..names).collect(), added: Vec::new() });
    }
    let mut blocks = Blocks::new(Csv::new(options, None, opened.decoding.table()), file, opened, 0);
    loop {
        let step = blocks.step()?;
        if blocks.buffer().is_empty() {
            return Err(empty(file));
        }
        refuse_other_formats(file, blocks.buffer())?;
        match step {
            None => return Err(mistake("header-missing", file, "there is no header, only blank lines", "Write a header, or set `options: {header: false}`")),
            Some(Step::Blank { end } | Step::PassedOver { end }) => blocks.pass(end),
            Some(Step::Record { .. }) => break,
            Some(Step::Bad { .. } | Step::Incomplete | Step::Lost(_)) => {
                return Err(mistake("header-torn", file, "the header has a quote that is not closed, or is too long", "Mend the first line of the file"));
            }
        }
    }
    // Bare and quoted cells as text, those that were unescaped are text already.
    let decoding = blocks.decoding();
    let cells: Vec<_> = blocks.tokenizer.cells(blocks.buffer()).map(|(cell, is_text)| if is_text { cell.into() } else { decoding.utf8(cell) }).collect();
    let cells: Vec<&[u8]> = cells.iter().map(AsRef::as_ref).collect();
    let (columns, added) = match_header(source, file, &cells)?;
    Ok(Header { width: Some(cells.len()), columns, added })
}

/// The start of a file without a header: there is one, and it is text.
fn first_bytes(file: &InputFile, mut bytes: Box<dyn Read + Send>) -> Result<()> {
    let mut start = Vec::new();
    (&mut bytes).take(8).read_to_end(&mut start).map_err(|e| super::decompress::failure(file, e))?;
    if start.is_empty() { Err(empty(file)) } else { refuse_other_formats(file, &start) }
}

/// By contract column, its cell; and the names of other cells, when the job lets them pass.
fn match_header(source: &Source, file: &InputFile, cells: &[&[u8]]) -> Result<(Vec<usize>, Vec<String>)> {
    let names: Vec<&str> = source.schema.columns.iter().map(|c| c.name.as_str()).collect();
    if !cells.iter().any(|cell| names.iter().any(|n| n.as_bytes() == *cell)) {
        let message = format!("none of the {} cells of the first line is a column of the contract", cells.len());
        return Err(mistake("header-missing", file, &message, "Write a header, set `options: {header: false}`, or look at `delimiter` and the schema"));
    }
    let allow_added = source.drift == Drift::AllowAdded;
    let known = |cell: &[u8]| names.iter().any(|n| n.as_bytes() == cell);
    for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !allow_added || known(cell)) {
        if let Some(before) = cells[..at].iter().position(|c| c == cell) {
            // The name is shown only if it is one of the contract's.
            let name = names.iter().find(|n| n.as_bytes() == *cell).map_or_else(String::new, |n| format!(" `{n}`"));
            let message = format!("the header has the column{name} twice, at positions {} and {}", before + 1, at + 1);
            return Err(mistake("duplicate-column", file, &message, "Rename one of them in the file"));
        }
    }
    let unknown: Vec<String> = (1..).zip(cells).filter(|(_, cell)| !known(cell)).map(|(at, _)| at.to_string()).collect();
    if !unknown.is_empty() && !allow_added {
        let message = format!("the header has columns that the contract does not have, at position {}", unknown.join(", "));
        return Err(mistake(
            "unknown-column",
            file,
            &message,
            "Add them to the schema, or set the source's `drift: allowAdded`: a column that no rule covers is never read",
        ));
    }
    let missing: Vec<&str> = names.iter().filter(|n| !cells.contains(&n.as_bytes())).copied().collect();
    if !missing.is_empty() {
        let message = format!("the header lacks the column `{}` of the contract", missing.join("`, `"));
        return Err(mistake("missing-column", file, &message, "Add it to the file or remove it from the schema"));
    }
    let columns = names.iter().filter_map(|n| cells.iter().position(|c| *c == n.as_bytes())).collect();
    // All of the contract's columns are there, so this is a header and its names are names.
    let added = cells.iter().filter(|cell| !known(cell)).map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
    Ok((columns, added))
}

/// Looks at the header, and cuts a large uncompressed local file into ranges of whole records: one pass finds where records start and counts them, for quotes can
/// hold line ends. Objects stay whole, for that pass would fetch them twice.
pub(super) fn plan(stores: &Stores, source: &Source, options: &CsvOptions, file: &InputFile) -> Result<PlannedFile> {
    let header = read_header(stores, source, options, file)?;
    let encoding = options.text.encoding;
    let parts = if !can_be_cut(file, encoding)? || file.size_bytes < 2 * UNIT_BYTES || file.etag.is_some() {
        vec![Part::Whole]
    } else {
        parts(stores, options, &header, file, UNIT_BYTES)?
    };
    Ok(PlannedFile { parts, added: header.added })
}

/// Ranges of whole records of about this length.
pub(super) fn parts(stores: &Stores, options: &CsvOptions, header: &Header, file: &InputFile, unit_bytes: u64) -> Result<Vec<Part>> {
    let (byte, opened) = open_after_mark(stores, file, options.text.encoding)?;
    let mut blocks = Blocks::starting_at(Csv::new(options, header.width, opened.decoding.table()), file, opened, byte);
    if options.header {
        pass_header(&mut blocks)?;
    }
    cut(&mut blocks, file.size_bytes, unit_bytes)
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, options: &CsvOptions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let (first_record, has_header) = match part {
        Part::Bytes { first_record, .. } => (*first_record, false),
        _ => (0, options.header),
    };
    let header = read_header(ingest.stores, ingest.source, options, file)?;
    let opened = open_text(ingest.stores, file, part, options.text.encoding)?;
    let taken = Arc::clone(&opened.taken);
    let mut blocks = Blocks::new(Csv::new(options, header.width, opened.decoding.table()), file, opened, first_record);
    if has_header {
        pass_header(&mut blocks)?;
    }
    blocks.tokenizer.columns = header.columns;
    let style = NumberStyle::of(&options.text);
    let columns = typings(ingest, emit, |_| style.clone());
    let done = blocks.ingest(ingest.batch_rows, emit, columns);
    emit.bytes_read = taken.load(Ordering::Relaxed);
    done
}

/// Cuts at the first record that starts `unit_bytes` or more after the cut before.
pub(super) fn cut<T: Tokenizer>(blocks: &mut Blocks<'_, T>, size_bytes: u64, unit_bytes: u64) -> Result<Vec<Part>> {
    let (mut parts, mut start, mut first_record, mut record) = (Vec::new(), blocks.passed(), 0, 0u64);
    loop {
        // Before the step: one over a record that is too long to be held forgets bytes in the middle of it.
        let at = blocks.passed();
        let Some(step) = blocks.step()? else { break };
        let (end, counted) = match step {
            Step::Record { end, .. } | Step::Bad { end, .. } | Step::PassedOver { end } => (end, true),
            Step::Blank { end } => (end, false),
            // Whoever reads the last part will say so.
            Step::Incomplete | Step::Lost(_) => break,
        };
        if counted && at.saturating_sub(start) >= unit_bytes {
            parts.push(Part::Bytes { start, end: at, first_record });
            (start, first_record) = (at, record);
        }
        record += u64::from(counted);
        blocks.pass(end);
        if blocks.passed_in_buffer() >= 1 << 20 {
            blocks.tokenizer.retain(&[]);
            blocks.compact();
        }
    }
    parts.push(Part::Bytes { start, end: size_bytes, first_record });
    Ok(parts)
}
