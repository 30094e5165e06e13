//! Detailed results on S3: JSON lines, gzipped, one line an object (and one for every file inside of a compressed object), clean and failed objects included.
//!
//! They lie under `<prefix>/AWSLogs/<account>/Macie/<region>/<job id>/`. Read as a stream, a line at a time; a line holds up to 1,000 locations a type.
use super::judge::Judge;
use super::report::Line;
use crate::error::{Culprit, Failure, Result};
use crate::store::{InputFile, Stores, read_failure};
use flate2::read::MultiGzDecoder;
use perimeter_contract::job::Uri;
use std::io::{BufRead, BufReader, Read};

/// The longest line that is taken: 1,000 locations of a hundred types with the longest paths are 35 MB.
const MAX_LINE_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Where the results of one job are.
pub(super) struct Folder {
    pub(super) uri: Uri,
    pub(super) job_id: String,
    pub(super) started_s: Option<i64>,
}

/// Gives every line of every results object to the judge. May block.
pub(super) fn read(stores: &Stores, folders: &[Folder], judge: &mut Judge) -> Result<u64> {
    let mut lines = 0u64;
    for folder in folders {
        for file in stores.list_under(&folder.uri)? {
            if file.uri.ends_with(".jsonl.gz") {
                lines = lines.saturating_add(read_object(stores, &file, folder, judge)?);
            }
        }
    }
    Ok(lines)
}

fn read_object(stores: &Stores, file: &InputFile, folder: &Folder, judge: &mut Judge) -> Result<u64> {
    let mut lines = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(BufReader::new(stores.reader(file)?)));
    let (mut line, mut number) = (Vec::new(), 0u64);
    loop {
        line.clear();
        let read = (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if let Err(error) = read {
            return Err(read_failure(file, error).unwrap_or_else(|| damaged(file, number)));
        }
        if line.is_empty() {
            return Ok(number);
        }
        number = number.saturating_add(1);
        if line.len() as u64 >= MAX_LINE_BYTES {
            return Err(damaged(file, number));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // The decoder's error text quotes the line.
        let parsed: Line = serde_json::from_slice(&line).map_err(|_| damaged(file, number))?;
        if let Some(report) = parsed.report(&folder.job_id) {
            judge.take(&report, folder.started_s);
        }
    }
}

fn damaged(file: &InputFile, line: u64) -> crate::error::Error {
    Failure::new(Culprit::Outside, "macie-results-damaged", format!("{}: line {line} is not a result of Amazon Macie", file.label))
        .help("run again; if it stays, create a new job: results are never guessed")
        .into()
}
