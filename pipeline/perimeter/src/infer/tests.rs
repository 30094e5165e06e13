//! Files of every kind, and the contracts that are proposed for them: each loads as a job loads it, and takes the records it came from.
mod accepts;
mod columnar;
mod json;
mod nothing_raw;
mod text;

use super::*;
use crate::read::Accept;
use crate::read::{UnitTally, ingest_unit, plan_units};
use perimeter_contract::schema::{Column, DataType};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A folder, and what reads from it.
struct Bench {
    folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
    stores: Stores,
}

fn asked(files: &[&Path]) -> Request {
    Request {
        files: files.iter().map(|path| Uri(path.to_str().unwrap().to_owned())).collect(),
        name: None,
        format: None,
        delimiter: None,
        quote: Some(b'"'),
        comment: None,
        header: None,
        encoding: None,
        rows: 1_000_000,
    }
}

struct Nothing;

impl Accept for Nothing {
    fn batch(&mut self, _: RecordBatch) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn rejected(&mut self, _: &Rejected<'_>) -> Result<()> {
        Ok(())
    }
}

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self { folder: tempfile::tempdir().unwrap(), stores: Stores::new(runtime.handle().clone()), _runtime: runtime }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn infer(&self, path: &Path) -> Result<Proposal> {
        propose(&self.stores, &asked(&[path]))
    }

    /// The line of the job and the contract, in a job, loaded as `perimeter check` loads it.
    fn loaded(&self, proposal: &Proposal) -> Source {
        let policy = "apiVersion: perimeter/v1\nkind: Policy\nmetadata: {name: p, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}\n\
                      rules: [{name: all, match: {classification: restricted}, transform: drop}]\n";
        let job = format!(
            "apiVersion: perimeter/v1\nkind: Job\nmetadata: {{name: inferred}}\npolicy: policy.yaml\nsources:\n  {}\n\
             quarantine: {{uri: out/quarantine/, key: person}}\nkeys:\n  person: {{provider: local, keyring: out/person.keyring.json, create: true}}\n\
             shape: {{features: [{{name: x, column: x, dtype: bytes}}]}}\nsink: {{uri: out/sink/, format: arrayRecord, encoding: tfExample, shards: 1}}\n",
            proposal.source_line
        );
        self.write("contract/policy.yaml", policy);
        let path = self.write("contract/job.yaml", &job);
        let file = proposal.source_line.split("schema: ").nth(1).unwrap().split(['}', ',']).next().unwrap().trim_matches('"');
        self.write(&format!("contract/{file}"), &proposal.yaml);
        let contract = perimeter_contract::load(&path, &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{mistakes}\n{job}\n{}", proposal.yaml));
        contract.job.sources.into_iter().next().unwrap()
    }

    /// Reads all of the source's files with the proposal; the line of the job says the same as the proposal itself.
    fn check(&self, proposal: &Proposal) -> UnitTally {
        let source = self.loaded(proposal);
        assert_eq!(source.format, proposal.source.format, "{}", proposal.source_line);
        assert_eq!(source.drift, proposal.source.drift);
        let (files, units) = plan_units(&self.stores, 0, &source).unwrap_or_else(|error| panic!("{error:?}\n{}", proposal.yaml));
        let projection: Vec<usize> = (0..source.schema.columns.len()).collect();
        let ingest = Ingest { stores: &self.stores, source: &source, files: &files, projection: &projection, batch_rows: 100 };
        let mut total = UnitTally::default();
        for unit in &units {
            let tally = ingest_unit(&ingest, unit, &mut Nothing).unwrap();
            total.rows_read += tally.rows_read;
            total.rows_rejected += tally.rows_rejected;
            for (code, rows) in tally.rejections {
                *total.rejections.entry(code).or_default() += rows;
            }
        }
        total
    }

    /// The proposal for one file, which takes every record of it.
    fn accepted(&self, name: &str, bytes: impl AsRef<[u8]>) -> Proposal {
        let path = self.write(name, bytes);
        self.accepts(&asked(&[&path]))
    }

    fn accepts(&self, request: &Request) -> Proposal {
        let proposal = propose(&self.stores, request).unwrap_or_else(|error| panic!("{error:?}"));
        let tally = self.check(&proposal);
        assert_eq!((tally.rows_rejected, &tally.rejections), (0, &BTreeMap::new()), "{}", proposal.yaml);
        assert_eq!(tally.rows_read, proposal.rows);
        proposal
    }
}

/// The columns of a proposal, as `name: type` with a `!` behind required ones.
fn columns(proposal: &Proposal) -> Vec<String> {
    let said = |column: &Column| format!("{}: {}{}", column.name, shown(&column.data_type), if column.required { "!" } else { "" });
    proposal.source.schema.columns.iter().map(said).collect()
}

fn shown(data_type: &DataType) -> String {
    match data_type {
        DataType::String => "string".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "bigint".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        DataType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
        DataType::Date { format } => format!("date {}", format.pattern.as_deref().unwrap_or("iso")),
        DataType::Time { .. } => "time".to_owned(),
        DataType::Timestamp { format, zone } => {
            let zone = match zone {
                perimeter_contract::schema::Zone::None => "local",
                perimeter_contract::schema::Zone::Utc { default: None } => "utc",
                perimeter_contract::schema::Zone::Utc { default: Some(_) } => "utc by default",
            };
            format!("timestamp {} {zone}", format.pattern.as_deref().unwrap_or("iso"))
        }
        DataType::List(inside) => format!("[{}]", shown(inside)),
    }
}

/// Code, exit code and message.
fn refusal(result: Result<Proposal>) -> (String, u8, String) {
    let error = result.unwrap_err();
    let code = error.exit_code();
    match error {
        Error::Failed(failure) => (failure.code.to_owned(), code, failure.message),
        Error::Contract(mistakes) => (mistakes.list[0].code.to_owned(), code, mistakes.list[0].message.clone()),
    }
}

#[test]
fn the_document_lists_every_semantic_type() {
    let document = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ingest.md")).unwrap();
    let listed: Vec<&str> = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | ")).map(|(name, _)| name).collect();
    let known: Vec<&str> = perimeter_detect::InfoType::all().map(|info_type| info_type.semantic_type()).chain(["FREE_TEXT"]).collect();
    let first = listed.iter().position(|name| *name == known[0]).unwrap();
    assert_eq!(listed[first..][..known.len()], known);
    assert!(document.contains(&format!("These are the {} that detectors know", known.len() - 1)));
}
