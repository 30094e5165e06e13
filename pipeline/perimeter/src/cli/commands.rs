//! What each command does with the library, and what it shows of the result.
use super::arguments::{Cli, Command, FileKind, Global, MacieJobs, Quarantine, Schema};
use super::progress::Drawn;
use super::quarantine::{self, Shown};
use super::{keys, reveal};
use crate::engine::tally::Tally;
use crate::error::Error;
use crate::plan::{self, Plan};
use crate::run::{self, Services};
use crate::seal;
use perimeter_contract::job::Uri;
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Why a command did not end well.
#[derive(Debug)]
pub(super) enum Ended {
    /// The work failed.
    Failed(Error),
    /// Nobody reads the result any more.
    BrokenPipe,
    /// The result could not be written.
    Output(io::Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::BrokenPipe } else { Self::Output(error) }
    }
}

pub(super) type Done = Result<(), Ended>;

pub(super) fn execute(cli: Cli, runtime: &Runtime) -> Done {
    let Cli { global, command } = cli;
    runtime.block_on(async {
        match command {
            Command::Run { job, macie } => run(&global, &job, &macie).await,
            Command::Plan { job } => plan(&global, &job).await,
            Command::Classify(asked) => super::classify::execute(&global, asked).await,
            Command::Check { job, quarantine } => check(&global, &job, quarantine).await,
            Command::Profile(asked) => super::profile::execute(&global, asked).await,
            Command::Inspect { shard } => inspect(&global, shard).await,
            Command::Verify { manifest } => verify(&global, manifest).await,
            Command::Keys(command) => keys::execute(&global, command).await,
            Command::Reveal(asked) => reveal::execute(&global, asked).await,
            Command::Quarantine(Quarantine::Show { job, files, raw, bytes }) => {
                let shown = if bytes {
                    Shown::Bytes
                } else if raw {
                    Shown::Raw
                } else {
                    Shown::Places
                };
                quarantine::show(&global, &job, &files, shown).await
            }
            Command::Schema(Schema::Json { kind }) => schema(kind),
            Command::Schema(Schema::Infer(asked)) => super::schema::infer(&global, asked).await,
            Command::Schema(Schema::Diff { old, new }) => super::schema::diff(&global, &old, &new),
        }
    })
}

pub(super) fn result(text: &str) -> Done {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

pub(super) fn result_json(value: &serde_json::Value) -> Done {
    result(&format!("{value:#}\n"))
}

pub(super) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// An argument as a place: `s3://…` as it is, a path made absolute.
pub(super) fn uri(argument: &str) -> Result<Uri, Ended> {
    if argument.contains("://") {
        return Ok(Uri(argument.to_owned()));
    }
    Ok(Uri(std::path::absolute(argument)?.to_string_lossy().into_owned()))
}

pub(super) async fn planned(global: &Global, job: &Path, services: &Services) -> Result<Plan, Ended> {
    let contract = perimeter_contract::load(job, &global.parameters()).map_err(Error::from)?;
    Ok(plan::plan(contract, &services.stores).await?)
}

async fn run(global: &Global, job: &Path, macie: &MacieJobs) -> Done {
    let services = Services { macie: super::classify::request(macie)?, ..Services::new(global.limits()) };
    let drawn = Drawn::new(Arc::clone(&services.progress), global.json);
    let planned = planned(global, job, &services).await?;
    let sealed = run::run(&planned, &services).await;
    drop(drawn);
    let sealed = sealed?;
    let manifest = sealed.manifest();
    let records = manifest.shards.iter().map(|shard| shard.records).sum::<u64>();
    if records == 0 {
        say(&format!(
            "warning: the dataset has no record: {} rows were read, {} rejected, and the job kept none\n",
            manifest.rows.read, manifest.rows.rejected
        ));
    }
    if global.json {
        return result_json(
            &json!({"manifest": sealed.manifest_uri().0, "run": manifest.run.id, "rows": manifest.rows, "rejections": manifest.rejections, "shards": manifest.shards.len()}),
        );
    }
    say(&format!(
        "sealed: {} rows read, {} rejected, {} into `prepare`, {} out of it and into {} records in {} shards{}\n",
        manifest.rows.read,
        manifest.rows.rejected,
        manifest.rows.read - manifest.rows.rejected,
        manifest.rows.written,
        records,
        manifest.shards.len(),
        if manifest.development { " (development: not for replication)" } else { "" },
    ));
    for (rule, rows) in &manifest.rejections {
        say(&format!("  rejected by {rule}: {rows}\n"));
    }
    result(&format!("{}\n", sealed.manifest_uri().0))
}

async fn plan(global: &Global, job: &Path) -> Done {
    let services = Services::new(global.limits());
    let planned = planned(global, job, &services).await?;
    if global.json { result_json(&plan::explain::json(&planned)) } else { result(&plan::explain::text(&planned)) }
}

async fn check(global: &Global, job: &Path, quarantine: bool) -> Done {
    let services = Services::new(global.limits());
    let drawn = Drawn::new(Arc::clone(&services.progress), global.json);
    let planned = planned(global, job, &services).await?;
    let checked = if quarantine {
        run::check_and_quarantine(&planned, &services).await.map(|(tally, folder)| (tally, Some(folder)))
    } else {
        run::check(&planned, &services).await.map(|tally| (tally, None))
    };
    drop(drawn);
    let (tally, quarantined) = checked?;
    let quarantined = quarantined.filter(|_| tally.rows_rejected > 0);
    if global.json {
        let mut report = check_json(&planned, &tally);
        if let Some(folder) = quarantined {
            report["quarantine"] = folder.0.into();
        }
        result_json(&report)?;
    } else {
        result(&tally.report(&planned).text())?;
        if let Some(folder) = quarantined {
            say(&format!("rejected rows are in {}\n", folder.0));
        }
    }
    Ok(run::gate(&planned, &tally)?)
}

/// The report of *check*, with its sources, what the policy allows and, as before, the counts by rule alone.
fn check_json(plan: &Plan, tally: &Tally) -> serde_json::Value {
    let sources = tally.by_source(plan).zip(&plan.inputs).map(|(rows, input)| {
        json!({"name": rows.source, "rows": rows.read, "rejected": rows.rejected, "rejectedFraction": rows.rejected_fraction(), "files": input.files.len()})
    });
    let sources: Vec<_> = sources.collect();
    let mut report = tally.report(plan).json();
    report["sources"] = sources.into();
    report["rejectedFraction"] = tally.rejected_fraction().into();
    report["maxRejectedFraction"] = plan.contract.policy.gates.max_rejected_fraction.into();
    report["rejections"] = json!(tally.rejections);
    report
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Ended> {
    let stopped = || crate::error::Failure::new(crate::error::Culprit::Outside, "stopped", "the work was stopped").into();
    Ok(tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(stopped()))?)
}

async fn inspect(global: &Global, shard: String) -> Done {
    let services = Services::new(global.limits());
    let shard = uri(&shard)?;
    let inspected = blocking(move || seal::inspect(&services.stores, &shard)).await?;
    if global.json { result_json(&json!(inspected)) } else { result(&format!("{inspected}\n")) }
}

async fn verify(global: &Global, manifest: String) -> Done {
    let services = Services::new(global.limits());
    let manifest = uri(&manifest)?;
    let report = blocking(move || seal::verify(&services.stores, &manifest)).await?;
    if global.json {
        result_json(&json!(report))?
    } else {
        result(&format!("{report}\n"))?
    }
    Ok(report.into_result()?)
}

fn schema(kind: FileKind) -> Done {
    let schema = match kind {
        FileKind::Job => perimeter_contract::json_schema(perimeter_contract::Kind::Job),
        FileKind::Policy => perimeter_contract::json_schema(perimeter_contract::Kind::Policy),
    };
    result_json(&schema)
}
