//! What is refused, in words that show nothing of the files.
use crate::error::{Culprit, Failure, Result};

/// A name that a contract can have, once.
pub(super) fn usable_names(names: &[String], label: &str) -> Result<()> {
    for (at, name) in names.iter().enumerate() {
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let message = format!("{label}: column {} of the header has no name", at + 1);
            return Err(mistake("unnamed-column", &message, "Name it in the file: a contract goes by names. --header no takes the first line for data").into());
        }
        if let Some(before) = names.iter().take(at).position(|other| other == name) {
            let message = format!("{label}: columns {} and {} of the header have one name", before + 1, at + 1);
            return Err(mistake("duplicate-column", &message, "Rename one of them in the file. --header no takes the first line for data").into());
        }
    }
    Ok(())
}

/// Fixed width cannot be proposed: nothing in the file says where its fields are.
pub(super) fn fixed(label: &str, lines: &str) -> Failure {
    let message = format!("{label} looks like fixed width: {lines}, and no delimiter cuts the records into cells");
    let help = "Write the contract by hand, and in the job `format: fixedWidth` with `recordLength`, `fields` and, for several kinds of record, `recordTypes` \
                (docs/ingest.md, Formats). If it is delimited text after all: --format csv";
    mistake("fixed-width", &message, help)
}

/// Records are no part of an object.
pub(super) fn one_object(label: &str) -> Failure {
    let message = format!("{label} is one JSON object over several lines; a record is an object on a line of its own, or an element of one array");
    mistake("json-layout", &message, "Write one object a line (`jq -c .`), or the array of records by itself (`jq '.records'`)")
}

pub(super) fn mistake(code: &'static str, message: &str, help: &str) -> Failure {
    Failure::new(Culprit::File, code, message).help(help)
}
