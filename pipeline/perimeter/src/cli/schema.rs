//! `perimeter schema infer` and `perimeter schema diff`.
use super::arguments::{Answer, Global, Infer};
use super::commands::{Done, Ended, blocking, result, result_json, say, uri};
use crate::infer::{self, Request};
use crate::run::Services;
use serde_json::json;
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
        return result_json(&json!({"contract": proposal.yaml, "source": proposal.source_line, "rows": proposal.rows, "unreadable": proposal.unreadable}));
    }
    let unreadable: u64 = proposal.unreadable.values().sum();
    say(&format!("looked at {} records, {unreadable} of them unreadable\n", proposal.rows));
    result(&proposal.yaml)
}

pub(super) fn diff(_: &Global, _: &Path, _: &Path) -> Done {
    todo!()
}
