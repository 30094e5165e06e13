//! `perimeter classify`, and what `run` takes of Amazon Macie.
use super::arguments::{Answer, Classify, Global, MacieJobs};
use super::commands::{Done, Ended, blocking, planned, result, result_json, say, uri};
use super::progress::Drawn;
use crate::classify::{self, Classification, MacieRequest, Options};
use crate::error::{Culprit, Failure};
use crate::infer::Request;
use crate::macie::Waiting;
use crate::run::{RunId, Services};
use perimeter_contract::policy::SampleRows;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

pub(super) async fn execute(global: &Global, asked: Classify) -> Done {
    let services = Services::new(global.limits());
    let drawn = Drawn::new(Arc::clone(&services.progress), global.json);
    let (classified, is_job) = if is_job(&asked.target) { (job(global, &asked, &services).await?, true) } else { (files(&asked, &services).await?, false) };
    drop(drawn);
    let report = json!({"apiVersion": "perimeter/v1", "kind": "Classification", "of": asked.target, "toolVersion": env!("CARGO_PKG_VERSION")});
    let report = merged(report, &classified);
    if let Some(out) = &asked.out {
        std::fs::write(out, format!("{report:#}\n"))?;
    }
    if global.json {
        result_json(&report)?
    } else {
        result(&classified.text())?
    }
    // Without a contract and a policy there is nobody to answer.
    if is_job { Ok(classify::refuse(&classified)?) } else { Ok(()) }
}

fn merged(mut report: Value, classified: &Classification) -> Value {
    if let (Some(report), Value::Object(found)) = (report.as_object_mut(), json!(classified)) {
        report.extend(found);
    }
    report
}

/// A job is a YAML file; data never is.
fn is_job(target: &str) -> bool {
    matches!(Path::new(target).extension().and_then(|ending| ending.to_str()), Some("yaml" | "yml")) && !target.contains("://")
}

fn options(asked: &Classify, rows: Option<SampleRows>) -> Options {
    let rows = match (asked.full, asked.sample_rows) {
        (true, _) => SampleRows::All,
        (false, Some(rows)) => SampleRows::AtMost(rows),
        (false, None) => rows.unwrap_or(SampleRows::DEFAULT),
    };
    Options { seed: asked.seed, rows }
}

async fn job(global: &Global, asked: &Classify, services: &Services) -> Result<Classification, Ended> {
    if !asked.read.is_default() {
        return Err(misused("a job says itself how its files are read", "leave --format and the options of files out"));
    }
    let plan = planned(global, Path::new(&asked.target), services).await?;
    let macie = MacieRequest { create: asked.macie, ..request(&asked.jobs)? };
    let quiet = global.json;
    let show = move |waiting: &Waiting<'_>| {
        if !quiet {
            let left = waiting.objects_to_process.map(|objects| format!(", about {objects} object(s) left")).unwrap_or_default();
            say(&format!("macie: job {}: {}{left}, after {} s\n", waiting.job_id, waiting.status.name(), waiting.waited.as_secs()));
        }
    };
    Ok(classify::job(&plan, services, options(asked, Some(plan.contract.policy.gates.sample_rows)), &macie, &RunId::new().id, &show).await?)
}

async fn files(asked: &Classify, services: &Services) -> Result<Classification, Ended> {
    if asked.macie || !asked.jobs.ids.is_empty() {
        return Err(misused("Amazon Macie's findings are matched to the columns of contracts", "name a job file"));
    }
    let request = Request {
        files: vec![uri(&asked.target)?],
        name: None,
        format: asked.read.format,
        delimiter: asked.read.delimiter,
        quote: asked.read.quote.0,
        comment: asked.read.comment,
        header: asked.read.header.map(|answer| answer == Answer::Yes),
        encoding: asked.read.encoding,
        rows: 0,
    };
    let (services, options) = (services.clone(), options(asked, None));
    blocking(move || classify::files(&services, &request, options)).await
}

/// What the options say of Macie's earlier jobs.
pub(super) fn request(jobs: &MacieJobs) -> Result<MacieRequest, Ended> {
    let results = jobs.results.as_deref().map(uri).transpose()?;
    Ok(MacieRequest { create: false, jobs: jobs.ids.clone(), account: jobs.account.clone(), results })
}

fn misused(message: &str, help: &str) -> Ended {
    Ended::Failed(Failure::new(Culprit::File, "option-not-here", message).help(help).into())
}
