//! A first contract for files that nobody has described yet.
//!
//! | need | call |
//! |---|---|
//! | a contract that fits these files, with comments on what a person must decide | [`propose`] |
//!
//! The files are read by the readers of *read*, every cell as text; types are found by elimination over all values that are read (numbers by separators, dates by
//! a list of patterns), semantic types by the detectors of `perimeter_detect`. What leaves is a contract: names, types and counts, never a value. A first line
//! that looks like data is taken for data and not shown; columns are then called `column_1`, … and taken by position. Keys of folders (`dt=…`) are columns, and
//! only the keys are shown, even where somebody has typed the whole path; keys of JSON that look like data are not read.
//!
//! Before it is handed out, the proposal is tried: loaded as any contract, and the same records checked against it. A column whose values are none of the type
//! after all becomes text.
mod decide;
mod fixed_width;
mod formats;
mod header;
mod json;
mod leaf;
mod meaning;
mod number;
mod profile;
mod refuse;
mod sniff;
mod source;
mod write;

pub(crate) use leaf::texts;
pub(crate) use meaning::is_data as looks_like_data;
pub use sniff::FormatName;

use crate::error::{Culprit, Error, Failure, Result};
use crate::read::{self, Ingest, InputFile, Look, Part, Rejected, Unit};
use crate::store::Stores;
use arrow::array::RecordBatch;
use decide::{Reading, Tried};
use leaf::Leaf;
use perimeter_contract::job::{CsvOptions, Drift, Encoding, Format, JsonOptions, Source, TextOptions, Uri};
use perimeter_contract::schema::Schema;
use perimeter_detect::{Detector, DetectorOptions, Findings};
use profile::Lens;
use refuse::{fixed, mistake, one_object, usable_names};
use source::{encoding_name, label, place, source_line, stem, with_reading};
use std::cell::Cell;
use std::collections::BTreeMap;
use write::{Line, Page, counted, grouped, quoted};

/// What is asked; whatever is `None` is found out.
#[derive(Clone, Debug)]
pub struct Request {
    /// Files of one kind, with the same columns; patterns are allowed.
    pub files: Vec<Uri>,
    /// The contract's name, by default from the first file's.
    pub name: Option<String>,
    /// How they are read.
    pub format: Option<FormatName>,
    /// csv: between cells.
    pub delimiter: Option<u8>,
    /// csv: around cells; `None`: nothing.
    pub quote: Option<u8>,
    /// csv: in front of lines that are no records.
    pub comment: Option<u8>,
    /// csv: whether the first line names the columns.
    pub header: Option<bool>,
    /// Of text.
    pub encoding: Option<Encoding>,
    /// Records to look at; the rest is not read.
    pub rows: u64,
}

/// A contract to begin with.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The contract file.
    pub yaml: String,
    /// How a job reads the files with it.
    pub source: Source,
    /// The same as a line of a job file.
    pub source_line: String,
    /// Records looked at.
    pub rows: u64,
    /// Of them those that are rejected with this contract.
    pub rejected: u64,
    /// The same by code; a record can break several rules.
    pub unreadable: BTreeMap<String, u64>,
}

/// Rows that are looked at together.
const BATCH_ROWS: usize = 8192;

/// Distinct values that are remembered, over all columns.
const DISTINCT: usize = 8 << 20;

/// Reads the files and proposes a contract.
///
/// # Errors
/// As [`read::plan_units`] and [`read::ingest_unit`]; exit 2 when the encoding must be given, or columns have no names or one name twice.
pub fn propose(stores: &Stores, request: &Request) -> Result<Proposal> {
    let mut files = Vec::new();
    for uri in &request.files {
        files.extend(stores.list(uri)?.into_iter().map(|file| InputFile { label: label(&file.uri), ..file }));
    }
    files.sort_by(|a, b| a.uri.cmp(&b.uri));
    files.dedup_by(|a, b| a.uri == b.uri);
    let Some(first) = files.first() else {
        return Err(mistake("input-not-found", "there is no file to look at", "Name one file or more").into());
    };
    let head = read::head(stores, first, sniff::HEAD_BYTES)?;
    let mut lens = Lens {
        detector: Detector::new(&DetectorOptions::default()).map_err(|_| mistake("internal", "the detectors cannot be made", "Report this as a bug"))?,
        findings: Findings::new(),
    };
    let name = request.name.clone().unwrap_or_else(|| stem(&first.label));
    let format = request.format.unwrap_or_else(|| sniff::format(&head, &first.uri));
    let encoding = request.encoding.or_else(|| sniff::marked(&head)).unwrap_or_default();
    let text = TextOptions { encoding, ..TextOptions::default() };
    let draft = Draft { stores, files: &files, name: &name, rows: request.rows };
    let (seen, format, remarks) = match format {
        FormatName::Csv => draft.csv(request, &head, text, &mut lens)?,
        FormatName::Json => {
            let array = head.iter().find(|b| !b.is_ascii_whitespace() && !matches!(b, 0xef | 0xbb | 0xbf | 0xff | 0xfe | 0)) == Some(&b'[');
            let format = Format::Json(JsonOptions { array, text });
            if !array && sniff::is_one_object(&head, encoding) {
                return Err(one_object(&first.label).into());
            }
            (draft.json(&format, &mut lens)?, format, Vec::new())
        }
        other => {
            let format = match other {
                FormatName::Parquet => Format::Parquet,
                FormatName::Arrow => Format::Arrow,
                _ => Format::Avro,
            };
            let (leaves, unread) = leaf::leaves(&read::fields(stores, &format, first)?, DISTINCT);
            let mut seen = Seen { leaves, unread, ..Seen::default() };
            draft.add_path_columns(&mut seen);
            draft.columns(&format, &mut seen, &mut lens)?;
            (seen, format, Vec::new())
        }
    };
    draft.propose(seen, format, &remarks)
}

/// What has been seen of the files.
#[derive(Default)]
struct Seen {
    leaves: Vec<Leaf>,
    /// Names of what no contract can read.
    unread: Vec<String>,
    rows: u64,
    /// Whether there is more.
    stopped: bool,
}

/// What one pass over the files has shown.
struct Passed {
    /// Records that were rejected.
    rejected: u64,
    /// The same by code.
    codes: BTreeMap<String, u64>,
    /// Records by file, as far as they were read.
    rows: Vec<u64>,
}

struct Draft<'a> {
    stores: &'a Stores,
    files: &'a [InputFile],
    name: &'a str,
    rows: u64,
}

impl Draft<'_> {
    fn source(&self, format: Format, schema: Schema, drift: Drift) -> Source {
        let uri = Uri(place(self.files));
        Source { name: self.name.to_owned(), uri, format, schema, drift, span: perimeter_contract::Span::default() }
    }

    /// Whether the first line names columns is guessed, then held against what follows. With what a person must decide about that.
    fn csv(&self, request: &Request, head: &[u8], text: TextOptions, lens: &mut Lens) -> Result<(Seen, Format, Vec<String>)> {
        let label = self.files.first().map(|file| file.label.as_str()).unwrap_or_default();
        let decoded = sniff::decode(head, text.encoding).ok_or_else(|| {
            let message = format!("{label} is not {}", encoding_name(text.encoding));
            let help = "Say what it is: --encoding latin-1, cp1252, cp850 or utf-16; the bytes alone do not tell the first three apart";
            mistake("encoding-unknown", &message, help)
        })?;
        let whole = (head.len() as u64) < sniff::HEAD_BYTES;
        let layout = sniff::layout(&decoded, whole, request.delimiter, request.quote, request.comment)
            .ok_or_else(|| mistake("empty-input", &format!("{label} has no record"), "Name a file with records"))?;
        if request.format.is_none()
            && request.delimiter.is_none()
            && let Some(lines) = fixed_width::recognized(&decoded, whole, &layout)
        {
            return Err(fixed(label, &lines).into());
        }
        let mut remarks = Vec::new();
        if let (Some(rival), None) = (layout.rival, request.delimiter) {
            let shown = char::from(rival).escape_default();
            remarks.push(format!(
                "decide: the delimiter: {:?} cuts every line into as many cells as any other does; for it --delimiter \"{shown}\"",
                char::from(rival)
            ));
        }
        let options =
            |header| CsvOptions { delimiter: layout.delimiter, quote: request.quote, escape: None, comment: request.comment, header, text: text.clone() };
        let width = layout.width;
        let most_distinct = (DISTINCT / width.max(1)).clamp(10_000, 1 << 20);
        let header = request.header.unwrap_or_else(|| !layout.is_odd && !header::is_data_line(&layout.first, &layout.below, lens));
        if header {
            usable_names(&layout.first, label)?;
            let leaves = layout.first.iter().map(|name| Leaf::new(vec![name.clone()], None, most_distinct)).collect();
            let mut seen = Seen { leaves, ..Seen::default() };
            self.add_path_columns(&mut seen);
            let format = Format::Csv(options(true));
            self.columns(&format, &mut seen, lens)?;
            self.unquoted(&format, &mut seen)?;
            let again = |(leaf, name): (&Leaf, &String)| leaf.profile.has(name);
            if request.header.is_some() || !seen.leaves.iter().zip(&layout.first).any(again) {
                return Ok((seen, format, remarks));
            }
        }
        let leaves = (1..=width).map(|number| Leaf::new(vec![format!("column_{number}")], None, most_distinct)).collect();
        let mut seen = Seen { leaves, ..Seen::default() };
        self.add_path_columns(&mut seen);
        let format = Format::Csv(options(false));
        self.columns(&format, &mut seen, lens)?;
        self.unquoted(&format, &mut seen)?;
        if request.header.is_none() {
            remarks
                .push("decide: the first line looks like data, so it is not shown and columns are taken by position. With a header: --header yes".to_owned());
        }
        Ok((seen, format, remarks))
    }

    /// Null markers count where the reader takes them for null, and it never does in quotes: what is left of them when all are null stands in quotes.
    fn unquoted(&self, format: &Format, seen: &mut Seen) -> Result<()> {
        let mut format = format.clone();
        let Format::Csv(options) = &mut format else { return Ok(()) };
        if !seen.leaves.iter().any(|leaf| leaf.profile.has_markers()) {
            return Ok(());
        }
        options.text.null_markers = profile::NULL_MARKERS.iter().skip(1).map(|marker| (*marker).to_owned()).collect();
        let source = self.source(format, leaf::schema(self.name, &seen.leaves), Drift::AllowAdded);
        let leaves = &mut seen.leaves;
        let mut look = |batch: &RecordBatch, rows: usize| {
            for (column, leaf) in batch.columns().iter().zip(leaves.iter_mut()).filter(|(_, leaf)| leaf.profile.has_markers()) {
                texts(&column.slice(0, rows.min(column.len())), &mut |cell| leaf.profile.not_null(cell));
            }
        };
        self.read(&source, &Cell::new(self.rows), &Cell::new(false), &mut look, &mut |_| {})?;
        Ok(())
    }

    /// Reads records against a contract without columns: each of them comes back whole.
    fn json(&self, format: &Format, lens: &mut Lens) -> Result<Seen> {
        let encoding = match format {
            Format::Json(options) => options.text.encoding,
            _ => Encoding::Utf8,
        };
        let source = self.source(format.clone(), Schema::new(self.name, Vec::new()), Drift::Refuse);
        let mut tree = json::Tree::new(1 << 18);
        let (left, stopped) = (Cell::new(self.rows), Cell::new(false));
        let mut take = |record: &[u8]| {
            let decoded;
            let bytes = match encoding {
                Encoding::Utf8 => record,
                // A record of a file with a byte order mark has none, and begins with a character below U+0100.
                Encoding::Utf16 => {
                    let order = if record.first() == Some(&0) { Encoding::Utf16Be } else { Encoding::Utf16Le };
                    decoded = sniff::decode(record, order).unwrap_or_default();
                    decoded.as_bytes()
                }
                other => {
                    decoded = sniff::decode(record, other).unwrap_or_default();
                    decoded.as_bytes()
                }
            };
            tree.record(bytes, lens);
        };
        let passed = self.read(&source, &left, &stopped, &mut |_, _| {}, &mut take)?;
        tree.finish();
        let mut seen = Seen { rows: self.rows - left.get(), leaves: tree.leaves, unread: tree.unread, stopped: stopped.get() };
        let in_records = seen.leaves.len();
        self.add_path_columns(&mut seen);
        for leaf in seen.leaves.iter_mut().skip(in_records) {
            for (file, rows) in self.files.iter().zip(&passed.rows) {
                let value = read::partition_keys(file).into_iter().find(|(key, _)| leaf.path.first() == Some(key)).and_then(|(_, value)| value);
                match value {
                    Some(value) => (0..*rows).for_each(|_| leaf.profile.text(&value, lens)),
                    None => leaf.profile.null(*rows),
                }
            }
            leaf.absent = leaf.profile.nulls;
        }
        Ok(seen)
    }

    /// Columns that stand in the path of every file and in no record.
    fn add_path_columns(&self, seen: &mut Seen) {
        let Some((first, others)) = self.files.split_first() else { return };
        let names = |file: &InputFile| read::partition_keys(file).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        for name in names(first) {
            let usable = usable_names(std::slice::from_ref(&name), "").is_ok() && !looks_like_data(&name);
            if usable && others.iter().all(|file| names(file).contains(&name)) && !seen.leaves.iter().any(|leaf| leaf.path.first() == Some(&name)) {
                let mut leaf = Leaf::new(vec![name], None, 10_000);
                leaf.in_path = true;
                seen.leaves.push(leaf);
            }
        }
    }

    /// Reads columns as they are found.
    fn columns(&self, format: &Format, seen: &mut Seen, lens: &mut Lens) -> Result<()> {
        let source = self.source(format.clone(), leaf::schema(self.name, &seen.leaves), Drift::AllowAdded);
        let (left, stopped) = (Cell::new(self.rows), Cell::new(false));
        let leaves = &mut seen.leaves;
        self.read(&source, &left, &stopped, &mut |batch, rows| leaf::observe(batch, rows, leaves, lens), &mut |_| {})?;
        (seen.rows, seen.stopped) = (self.rows - left.get(), stopped.get());
        Ok(())
    }

    /// Reads file after file, until there are enough records.
    fn read(
        &self,
        source: &Source,
        left: &Cell<u64>,
        stopped: &Cell<bool>,
        batch: &mut dyn FnMut(&RecordBatch, usize),
        rejected: &mut dyn FnMut(&[u8]),
    ) -> Result<Passed> {
        let projection: Vec<usize> = (0..source.schema.columns.len()).collect();
        let (mut codes, mut rows, mut count_rejected) = (BTreeMap::new(), Vec::new(), 0);
        for file in 0..self.files.len() {
            if left.get() == 0 {
                stopped.set(true);
                break;
            }
            let ingest = Ingest { stores: self.stores, source, files: self.files, projection: &projection, batch_rows: BATCH_ROWS };
            let mut count = left.get();
            let mut shown = Shown { batch, rejected, codes: &mut codes, count: &mut count_rejected };
            let done = read::ingest_some(&ingest, &Unit { source: 0, file, part: Part::Whole }, &mut count, &mut shown);
            rows.push(left.get() - count);
            left.set(count);
            if done.map_err(|error| if file == 0 { error } else { self.other_columns(file, error) })? {
                stopped.set(true);
                break;
            }
        }
        Ok(Passed { rejected: count_rejected, codes, rows })
    }

    /// What the reader says of a later file that is unlike the first, in words that fit here: there is no contract yet.
    fn other_columns(&self, file: usize, error: Error) -> Error {
        let is_drift = |code: &str| ["header-missing", "missing-column", "unknown-column", "column-type-mismatch"].contains(&code);
        let messages: Vec<String> = match &error {
            Error::Failed(failure) if is_drift(failure.code) => vec![failure.message.clone()],
            Error::Contract(mistakes) if mistakes.list.iter().all(|mistake| is_drift(mistake.code)) => {
                mistakes.list.iter().map(|mistake| mistake.message.clone()).collect()
            }
            _ => return error,
        };
        let first = self.files.first().map(|file| file.label.as_str()).unwrap_or_default();
        let message = format!(
            "the files have different columns; `the contract` is what {first} has, by name the first of {}. In file {}: {}",
            self.files.len(),
            file + 1,
            messages.join("; ")
        );
        mistake("different-columns", &message, "Name files with the same columns, and propose a contract for each kind").into()
    }

    /// Decides, tries, and decides again where that shows something.
    fn propose(&self, seen: Seen, format: Format, remarks: &[String]) -> Result<Proposal> {
        let json = matches!(format, Format::Json(_));
        if seen.leaves.is_empty() {
            let label = self.files.first().map(|file| file.label.as_str()).unwrap_or_default();
            let message = format!("{label}: no record has a value that can be read");
            return Err(mistake("nothing-readable", &message, "Look at the format and its options").into());
        }
        let reading = decide::reading(&seen.leaves, json);
        let mut tried = vec![Tried::default(); seen.leaves.len()];
        let (mut unreadable, mut rejected) = (BTreeMap::new(), 0);
        loop {
            let format = with_reading(&format, &reading);
            let page = self.page(&seen, &format, &reading, &tried, remarks, (rejected, &unreadable));
            let schema = loaded(&page)?;
            let source = self.source(format, schema, if seen.unread.is_empty() { Drift::Refuse } else { Drift::AllowAdded });
            let (left, stopped) = (Cell::new(self.rows), Cell::new(false));
            let Passed { codes, rejected: count, .. } = self.read(&source, &left, &stopped, &mut |_, _| {}, &mut |_| {})?;
            let mut changed = false;
            for (leaf, tried) in seen.leaves.iter().zip(&mut tried) {
                let broken = |rule: &str| codes.contains_key(&format!("{}.{rule}", leaf.name()));
                let before = (tried.text_after_all, tried.optional);
                // Where records have something else, that is what breaks the type.
                tried.text_after_all |= !leaf.mixed && (broken("type") || broken("ambiguous-time"));
                tried.optional |= broken("required") || broken("item-required");
                changed |= before != (tried.text_after_all, tried.optional);
            }
            if !changed && codes == unreadable && count == rejected {
                let source_line = self.source_line(&seen, &source.format);
                return Ok(Proposal { yaml: page, source, source_line, rows: self.rows - left.get(), rejected, unreadable });
            }
            // Codes of columns are said once nothing more can be done about them.
            rejected = count;
            unreadable = codes.into_iter().filter(|(code, _)| !changed || !code.contains('.')).collect();
        }
    }

    /// `rejected`: how many records, and by which rules.
    fn page(&self, seen: &Seen, format: &Format, reading: &Reading, tried: &[Tried], remarks: &[String], rejected: (u64, &BTreeMap<String, u64>)) -> String {
        let json = matches!(format, Format::Json(_));
        let mut lines = Vec::new();
        for (leaf, tried) in seen.leaves.iter().zip(tried) {
            let proposed = decide::decide(leaf, reading, json, !seen.stopped, *tried);
            let nulls = decide::marked_nulls(&leaf.profile, reading) + leaf.profile.nulls;
            let distinct = leaf.profile.distinct().map(|distinct| distinct - decide::distinct_nulls(&leaf.profile, reading));
            lines.push(Line { leaf, proposed, nulls, distinct });
        }
        let label = self.files.first().map(|file| file.label.as_str()).unwrap_or_default();
        let more = if self.files.len() > 1 { format!(" and {}", counted(self.files.len() as u64 - 1, "more file")) } else { String::new() };
        let mut comments = vec![
            format!("Proposed from {}{more}. A starting point: what a person must decide is marked `decide:`.", label.replace(['\n', '\r'], " ")),
            if seen.stopped {
                format!("Looked at: the first {} records. Others may differ, so nothing is `required` yet.", grouped(seen.rows))
            } else {
                format!("Looked at: all {}.", counted(seen.rows, "record"))
            },
        ];
        let (rejected, codes) = rejected;
        if !codes.is_empty() {
            let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {}", grouped(*count))).collect();
            comments.push(format!("decide: rejected with this contract: {}, by rule: {}", counted(rejected, "record"), codes.join(", ")));
        }
        comments.extend_from_slice(remarks);
        if !seen.unread.is_empty() {
            comments.push(format!(
                "decide: not read, because no contract can say what they are: {}",
                seen.unread.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            ));
        }
        if self.files.len() > 1 {
            comments.push("decide: whether the pattern in the next line matches these files and no others".to_owned());
        }
        comments.push(format!("In the job:  {}", self.source_line(seen, format)));
        Page { name: self.name, comments, lines }.text()
    }
}

impl Draft<'_> {
    fn source_line(&self, seen: &Seen, format: &Format) -> String {
        format!("{}: {}", stem(self.name), source_line(&place(self.files), self.name, format, !seen.unread.is_empty()))
    }
}

/// The contract as a job would load it.
fn loaded(yaml: &str) -> Result<Schema> {
    let folder = tempfile::tempdir().map_err(|error| Failure::new(Culprit::Outside, "io-error", "no temporary folder can be made").because(error))?;
    let path = folder.path().join("proposed.odcs.yaml");
    std::fs::write(&path, yaml).map_err(|error| Failure::new(Culprit::Outside, "io-error", "the proposal cannot be tried").because(error))?;
    Ok(perimeter_contract::load_schema(&path)?.0)
}

/// What reading shows, by kind.
struct Shown<'a> {
    batch: &'a mut dyn FnMut(&RecordBatch, usize),
    rejected: &'a mut dyn FnMut(&[u8]),
    codes: &'a mut BTreeMap<String, u64>,
    count: &'a mut u64,
}

impl Look for Shown<'_> {
    fn rows(&mut self, batch: &RecordBatch, rows: usize) {
        (self.batch)(batch, rows);
    }

    fn rejected(&mut self, record: &Rejected<'_>) {
        *self.count += 1;
        for code in record.codes {
            *self.codes.entry((*code).to_owned()).or_default() += 1;
        }
        (self.rejected)(&record.raw);
    }
}

#[cfg(test)]
mod tests;
