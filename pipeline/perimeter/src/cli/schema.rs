//! `perimeter schema infer` and `perimeter schema diff`.
use super::arguments::{Answer, Global, Infer};
use super::commands::{Done, Ended, blocking, result, result_json, say, uri};
use crate::error::{Culprit, Error, Failure};
use crate::infer::{self, Request};
use crate::run::Services;
use perimeter_contract::{Change, SourceMap, Span};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) async fn infer(global: &Global, asked: Infer) -> Done {
    let services = Services::new(global.limits());
    let request = Request {
        files: asked.files.iter().map(|file| uri(file)).collect::<Result<_, Ended>>()?,
        name: asked.name,
        format: asked.read.format,
        delimiter: asked.read.delimiter,
        quote: asked.read.quote.0,
        comment: asked.read.comment,
        header: asked.read.header.map(|answer| answer == Answer::Yes),
        encoding: asked.read.encoding,
        rows: asked.rows,
    };
    let proposal = blocking(move || infer::propose(&services.stores, &request)).await?;
    if global.json {
        return result_json(
            &json!({"contract": proposal.yaml, "source": proposal.source_line, "rows": proposal.rows, "rejected": proposal.rejected, "unreadable": proposal.unreadable}),
        );
    }
    say(&format!("records looked at: {}; rejected with this contract: {}\n", proposal.rows, proposal.rejected));
    result(&proposal.yaml)
}

/// A table of what changed, then the verdict; what breaks someone ends with exit 1.
pub(super) fn diff(global: &Global, old: &Path, new: &Path) -> Done {
    let (before, its_texts) = perimeter_contract::load_schema(old).map_err(Error::from)?;
    let (after, new_texts) = perimeter_contract::load_schema(new).map_err(Error::from)?;
    let changes = perimeter_contract::diff(&before, &after);
    let lines: Vec<Line<'_>> = changes
        .iter()
        .map(|change| Line { change, old: change.old.and_then(|span| line(&its_texts, span)), new: change.new.and_then(|span| line(&new_texts, span)) })
        .collect();
    let breaking = changes.iter().filter(|change| !change.breaks.is_empty()).count();
    if global.json {
        result_json(&json!({"changes": lines.iter().map(Line::json).collect::<Vec<_>>(), "breaking": breaking}))?;
    } else {
        result(&table(&lines))?;
    }
    if breaking == 0 {
        return Ok(());
    }
    let whom: BTreeSet<&str> = changes.iter().flat_map(|change| &change.breaks).map(|breaks| breaks.name()).collect();
    let whom: Vec<&str> = whom.into_iter().collect();
    let message = format!("{breaking} of {} changes break {}", changes.len(), whom.join(", "));
    let help = "Agree on them with whoever delivers or reads the data, and give the contract a new major version";
    Err(Error::from(Failure::new(Culprit::Data, "breaking-changes", message).help(help)).into())
}

/// One change, with the lines of both files.
struct Line<'a> {
    change: &'a Change,
    old: Option<usize>,
    new: Option<usize>,
}

impl Line<'_> {
    fn breaks(&self) -> Vec<&'static str> {
        self.change.breaks.iter().map(|breaks| breaks.name()).collect()
    }

    /// `{kind, column, rule, message, breaks: [], oldLine, newLine}`.
    fn json(&self) -> serde_json::Value {
        let Change { kind, column, rule, message, .. } = self.change;
        json!({"kind": kind.name(), "column": column, "rule": rule, "message": message, "breaks": self.breaks(), "oldLine": self.old, "newLine": self.new})
    }

    fn cells(&self) -> [String; 5] {
        let Change { kind, column, message, .. } = self.change;
        let at = |line: Option<usize>| line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let breaks = if self.change.breaks.is_empty() { "no one".to_owned() } else { self.breaks().join(", ") };
        [kind.name().to_owned(), shown(column.as_deref().unwrap_or("-")), format!("{} → {}", at(self.old), at(self.new)), breaks, shown(message)]
    }
}

fn table(lines: &[Line<'_>]) -> String {
    if lines.is_empty() {
        return "nothing that matters to the data has changed\n".to_owned();
    }
    let head = ["change", "column", "lines", "breaks", "what"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(lines.iter().map(Line::cells)).collect();
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..5).map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let mut written = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            written.push_str(cell);
            written.push_str(&" ".repeat(wide.saturating_sub(width(cell)) + 2));
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}

/// The line of a span, from 1.
fn line(texts: &SourceMap, span: Span) -> Option<usize> {
    let before = texts.file(span)?.text.as_bytes().get(..usize::try_from(span.start).ok()?)?;
    Some(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}

/// Words of the contracts, without what would change how a terminal shows them.
fn shown(text: &str) -> String {
    text.chars().map(|c| if crate::plan::is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
