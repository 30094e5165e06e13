//! The client against the stand-in `tests/support/macie.py`, over HTTP and through the real SDK. A machine without Python skips them.
mod failures;
mod on_s3;
mod properties;
mod requests;
mod scenarios;
mod stand_in;

use super::*;
use crate::error::Error;
use async_trait::async_trait;
use perimeter_contract::Span;
use perimeter_contract::job::{CsvOptions, Drift, Format, JsonOptions, TextOptions};
use perimeter_contract::schema::{Column, DataType, Schema};
use serde_json::{Value, json};
use stand_in::StandIn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// 2026-11-30T12:00:00Z, two hours after the stand-in's jobs start.
const NOW_S: i64 = 1_796_040_000;
/// 2026-11-29T08:00:00Z: before all jobs.
const WRITTEN_S: i64 = 1_795_939_200;
const KEY: &str = "in/tx-1.csv";
const ETAG: &str = "0123456789abcdef0123456789abcdef";

/// A clock that sleeping moves.
struct TestClock {
    now_s: AtomicI64,
    naps: Mutex<Vec<u64>>,
}

impl TestClock {
    fn new() -> Self {
        Self { now_s: AtomicI64::new(NOW_S), naps: Mutex::default() }
    }
}

#[async_trait]
impl Clock for TestClock {
    fn now_s(&self) -> i64 {
        self.now_s.load(Ordering::Relaxed)
    }

    async fn sleep(&self, duration: Duration) {
        self.now_s.fetch_add(i64::try_from(duration.as_secs()).unwrap(), Ordering::Relaxed);
        self.naps.lock().unwrap().push(duration.as_secs());
    }
}

fn csv(header: bool, delimiter: u8) -> Format {
    Format::Csv(CsvOptions { delimiter, quote: Some(b'"'), escape: None, comment: None, header, text: TextOptions::default() })
}

fn json_lines() -> Format {
    Format::Json(JsonOptions::default())
}

fn nested(path: &[&str]) -> Column {
    Column { path: path.iter().map(|name| (*name).to_owned()).collect(), ..Column::new(path.join("."), DataType::String) }
}

fn source(name: &str, uri: &str, format: Format, columns: &[&[&str]]) -> Source {
    let schema = Schema::new(name, columns.iter().map(|path| nested(path)).collect());
    Source { name: name.into(), uri: Uri(uri.into()), format, schema, drift: Drift::Refuse, span: Span::default() }
}

fn file(bucket: &str, key: &str, etag: &str) -> InputFile {
    InputFile {
        uri: format!("s3://{bucket}/{key}"),
        label: format!("s3://{bucket}/{}", key.replace("dt=2026-11-30", "dt=*")),
        size_bytes: 1000,
        etag: Some(format!("\"{etag}\"")),
        modified_us: Some(WRITTEN_S * 1_000_000),
    }
}

/// The usual source: three columns of csv, one or more files.
fn tx() -> Source {
    source("tx", "s3://raw/in/tx-*.csv", csv(true, b','), &[&["tx_id"], &["cpf"], &["memo"]])
}

/// What a run over one source gives.
fn run(server: &StandIn, source: &Source, files: &[InputFile], change: impl FnOnce(&mut Options)) -> Result<Macie> {
    run_many(server, &[SourceFiles { source, files }], change)
}

fn options(server: &StandIn, change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::new("card-sequences", "20261130T100000Z-1a2b");
    options.results = Some(Uri(server.results.path().to_str().unwrap().to_owned()));
    change(&mut options);
    options
}

fn run_many(server: &StandIn, sources: &[SourceFiles<'_>], change: impl FnOnce(&mut Options)) -> Result<Macie> {
    let options = options(server, change);
    server.block_on(|client, stores| async move { classify(&client, &stores, sources, &options, &TestClock::new(), &|_| {}).await })
}

fn run_import(server: &StandIn, source: &Source, files: &[InputFile], ids: &[&str], change: impl FnOnce(&mut Options)) -> Result<Macie> {
    let options = options(server, change);
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    server
        .block_on(|client, stores| async move { import(&client, &stores, &[SourceFiles { source, files }], &ids, &options, &TestClock::new(), &|_| {}).await })
}

/// An export configuration.
fn export() -> Value {
    json!({"bucketName": "macie-results", "keyPrefix": "perimeter/", "kmsKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"})
}

/// A finding or result about the usual object.
fn about(key: &str, more: Value) -> Value {
    let mut short = json!({"bucket": "raw", "key": key, "etag": ETAG, "modified": "2026-11-29T08:00:00Z"});
    short.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    short
}

fn cells(column: i64, name: Option<&str>, repeat: u64) -> Value {
    match name {
        Some(name) => json!({"cells": {"repeat": repeat, "column": column, "columnName": name}}),
        None => json!({"cells": {"repeat": repeat, "column": column}}),
    }
}

fn cpf(count: u64, occurrences: Value) -> Value {
    json!({"category": "PERSONAL_INFORMATION", "type": "BRAZIL_CPF_NUMBER", "count": count, "occurrences": occurrences})
}

/// (column, type, count) of every finding.
fn found(macie: &Macie) -> Vec<(Option<usize>, &str, u64)> {
    macie.findings.iter().map(|finding| (finding.column, finding.info_type.as_str(), finding.count)).collect()
}

fn whys(macie: &Macie) -> Vec<Why> {
    macie.not_clean.iter().map(|reason| reason.why).collect()
}

fn refusal<T>(result: Result<T>) -> (&'static str, u8, String) {
    match result {
        Err(Error::Failed(failure)) => (failure.code, failure.culprit.exit_code(), format!("{} {:?}", failure.message, failure.help)),
        _ => panic!("no failure"),
    }
}
