//! A csv file against its contract, and where it can be cut.
//!
//! Cells of a header that the contract does not know are named by their position: a file that lost its header has data there.
use super::csv::{Csv, pass_header};
use super::decompress::{Compression, empty, of, open, open_after_bom, refuse_other_formats};
use super::text::{Blocks, Step, Tokenizer};
use super::{Part, UNIT_BYTES};
use crate::error::{Culprit, Failure, Result};
use crate::store::{InputFile, Stores};
use perimeter_contract::job::{CsvOptions, Source};
use std::io::Read;

/// How the cells of a record stand to the contract's columns.
pub(super) struct Header {
    /// Cells of a record.
    pub(super) width: Option<usize>,
    /// Per contract column, the cell.
    pub(super) columns: Vec<usize>,
}

fn mistake(code: &'static str, file: &InputFile, message: &str, help: &str) -> crate::error::Error {
    Failure::new(Culprit::File, code, format!("{}: {message}", file.label)).help(help).into()
}

/// Reads the header of a file, or makes up the one that the contract implies.
pub(super) fn read_header(stores: &Stores, source: &Source, options: &CsvOptions, file: &InputFile) -> Result<Header> {
    let names = source.schema.columns.len();
    if !options.delimiter.is_ascii() || !options.quote.is_none_or(|quote| quote.is_ascii()) || options.quote == Some(options.delimiter) || matches!(options.delimiter, b'\n' | b'\r') {
        return Err(mistake(
            "unusable-delimiter",
            file,
            "delimiter and quote must be two different ASCII characters and no line ends",
            "Change the source's `options`",
        ));
    }
    let opened = open(stores, file, &Part::Whole)?;
    if !options.header {
        first_bytes(file, opened.bytes)?;
        return Ok(Header { width: Some(names), columns: (0..names).collect() });
    }
    let mut blocks = Blocks::new(Csv::new(options, None), file, opened.bytes, 0);
    loop {
        let step = blocks.step()?;
        if blocks.buffer().is_empty() {
            return Err(empty(file));
        }
        refuse_other_formats(file, blocks.buffer())?;
        match step {
            None => return Err(mistake("header-missing", file, "there is no header, only blank lines", "Write a header, or set `options: {header: false}`")),
            Some(Step::Blank { end }) => blocks.pass(end),
            Some(Step::Record { .. }) => break,
            Some(Step::Bad { .. } | Step::Incomplete) => {
                return Err(mistake("header-torn", file, "the header has a quote that is not closed, or is too long", "Mend the first line of the file"));
            }
        }
    }
    let cells: Vec<&[u8]> = blocks.tokenizer.cells(blocks.buffer()).collect();
    let columns = match_header(source, file, &cells)?;
    Ok(Header { width: Some(cells.len()), columns })
}

/// The start of a file without a header: there is one, and it is text.
fn first_bytes(file: &InputFile, mut bytes: Box<dyn Read + Send>) -> Result<()> {
    let mut start = Vec::new();
    (&mut bytes).take(8).read_to_end(&mut start).map_err(|e| super::decompress::failure(file, e))?;
    if start.is_empty() { Err(empty(file)) } else { refuse_other_formats(file, &start) }
}

fn match_header(source: &Source, file: &InputFile, cells: &[&[u8]]) -> Result<Vec<usize>> {
    let names: Vec<&str> = source.schema.columns.iter().map(|c| c.name.as_str()).collect();
    if !cells.iter().any(|cell| names.iter().any(|n| n.as_bytes() == *cell)) {
        let message = format!("none of the {} cells of the first line is a column of the contract", cells.len());
        return Err(mistake("header-missing", file, &message, "Write a header, set `options: {header: false}`, or look at `delimiter` and the schema"));
    }
    for (at, cell) in cells.iter().enumerate() {
        if let Some(before) = cells[..at].iter().position(|c| c == cell) {
            // The name is shown only if it is one of the contract's.
            let name = names.iter().find(|n| n.as_bytes() == *cell).map_or_else(String::new, |n| format!(" `{n}`"));
            let message = format!("the header has the column{name} twice, at positions {} and {}", before + 1, at + 1);
            return Err(mistake("duplicate-column", file, &message, "Rename one of them in the file"));
        }
    }
    let unknown: Vec<String> = (1..).zip(cells).filter(|(_, cell)| !names.iter().any(|n| n.as_bytes() == **cell)).map(|(at, _)| at.to_string()).collect();
    if !unknown.is_empty() {
        let message = format!("the header has columns that the contract does not have, at position {}", unknown.join(", "));
        return Err(mistake("unknown-column", file, &message, "Add them to the schema: a column that no rule covers is never read"));
    }
    let missing: Vec<&str> = names.iter().filter(|n| !cells.contains(&n.as_bytes())).copied().collect();
    if !missing.is_empty() {
        let message = format!("the header lacks the column `{}` of the contract", missing.join("`, `"));
        return Err(mistake("missing-column", file, &message, "Add it to the file or remove it from the schema"));
    }
    Ok(names.iter().filter_map(|n| cells.iter().position(|c| *c == n.as_bytes())).collect())
}

/// Looks at the header, and cuts a large uncompressed local file into ranges of whole records: one pass finds where records start and counts them, for quotes can
/// hold line ends. Objects stay whole, for that pass would fetch them twice.
pub(super) fn plan(stores: &Stores, source: &Source, options: &CsvOptions, file: &InputFile) -> Result<Vec<Part>> {
    let header = read_header(stores, source, options, file)?;
    if of(file)? != Compression::None || file.size_bytes < 2 * UNIT_BYTES || file.etag.is_some() {
        return Ok(vec![Part::Whole]);
    }
    let (byte, opened) = open_after_bom(stores, file)?;
    let mut blocks = Blocks::starting_at(Csv::new(options, header.width), file, opened.bytes, byte);
    if options.header {
        pass_header(&mut blocks)?;
    }
    cut(&mut blocks, file.size_bytes, UNIT_BYTES)
}

/// Cuts at the first record that starts `unit_bytes` or more after the cut before.
pub(super) fn cut<T: Tokenizer>(blocks: &mut Blocks<'_, T>, size_bytes: u64, unit_bytes: u64) -> Result<Vec<Part>> {
    let (mut parts, mut start, mut first_record, mut record) = (Vec::new(), blocks.passed(), 0, 0u64);
    while let Some(step) = blocks.step()? {
        let at = blocks.passed();
        let (end, counted) = match step {
            Step::Record { end, .. } | Step::Bad { end, .. } => (end, true),
            Step::Blank { end } => (end, false),
            Step::Incomplete => break,
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
