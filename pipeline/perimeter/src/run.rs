//! A whole job: the stages in their order, from a plan to a sealed dataset.
//!
//! [`run`] is what the command line calls and what a test can call: `run(&plan, &services)`. [`check`] reads and checks
//! everything and writes nothing; [`profile`] finds out how long examples are.
mod freeze;
mod gate;

pub use freeze::profile;
pub use gate::gate;

use crate::check::metric::Verdict;
use crate::classify::{self, Classification, MacieRequest};
use crate::engine::digests::{self, Gather, Gathered};
use crate::engine::scan::{Checked, Passes, Quarantined};
use crate::engine::tally::Tally;
use crate::engine::{self, Limits, emit, order, query};
use crate::error::{Culprit, Failure, Result};
use crate::keys::{self, Keys};
use crate::plan::{Input, Plan};
use crate::prepare::prepare;
use crate::progress::{Progress, Stage};
use crate::pseudonymize::pseudonymize;
use crate::read::InputFile;
use crate::seal::{self, Sealed};
use crate::shard::{ShardSink, TableSink};
use crate::store::Stores;
use chrono::{DateTime, Utc};
use perimeter_contract::job::Uri;
use perimeter_pseudonym::RootKey;
use perimeter_pseudonym::transform::{CryptoHash, CryptoHashOptions, Encoding};
use rand::Rng;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::spawn_blocking;

/// What a run uses of the world.
#[derive(Clone, Debug)]
pub struct Services {
    /// Disks and object stores.
    pub stores: Arc<Stores>,
    /// Memory and threads.
    pub limits: Limits,
    /// What a person sees meanwhile.
    pub progress: Arc<Progress>,
    /// Amazon Macie's jobs that have looked at the sources.
    pub macie: MacieRequest,
}

impl Services {
    /// Services of the runtime that this is called in.
    pub fn new(limits: Limits) -> Self {
        Self { stores: Arc::new(Stores::new(tokio::runtime::Handle::current())), limits, progress: Arc::default(), macie: MacieRequest::default() }
    }
}

/// When and as what a run happened: the manifest's `run`.
#[derive(Clone, Debug)]
pub struct RunId {
    /// The version's name: time of the start and a random part, so that two runs at one sink never meet.
    pub id: String,
    /// UTC.
    pub started: DateTime<Utc>,
}

impl RunId {
    pub(crate) fn new() -> Self {
        let started = Utc::now();
        let suffix: u32 = rand::rng().random();
        Self { id: format!("{}-{suffix:08x}", started.format("%Y%m%dT%H%M%SZ")), started }
    }
}

fn stopped() -> Failure {
    Failure::new(Culprit::Outside, "stopped", "the run was stopped")
}

/// Carries a plan out: nothing is published unless every stage and gate says yes.
///
/// # Errors
/// Whatever a stage ends with; see [`Error::exit_code`](crate::error::Error::exit_code) for who has to act.
pub async fn run(plan: &Plan, services: &Services) -> Result<Sealed> {
    let Services { stores, progress, .. } = services;
    let (run, asked) = (RunId::new(), stop_flag());
    let job = &plan.contract.job;
    tracing::info!(dataset = job.name, run = run.id, "run begins");
    progress.expect_bytes(input_bytes(plan));

    // First what the data is: a refusal costs no key, no sink and no pass over all rows.
    let classified = tokio::select! {
        classified = classify::gate(plan, services, &services.macie, &run.id) => classified?,
        interrupted = interrupted(Arc::clone(&asked)) => return Err(interrupted),
    };

    progress.enter(Stage::Keys);
    let keys = Arc::new(keys::open(plan, stores).await?);

    // The sinks come before the first row: an unwritable one must not cost an hour.
    let (dataset, sink, table, id, blocking) = (job.name.clone(), job.sink.clone(), job.table.clone(), run.id.clone(), Arc::clone(stores));
    let sinks = spawn_blocking(move || -> Result<_> {
        let shards = ShardSink::create(&blocking, &sink, &dataset, &id)?;
        let table = table.map(|table| TableSink::create(&blocking, &table, sink.sse_kms.as_deref(), &id)).transpose()?;
        Ok((Arc::new(shards), table.map(Arc::new)))
    });
    let (sink, table) = sinks.await.map_err(|_| stopped())??;

    // Up to the gates a signal stops the run. Sealing is short and not interrupted: a manifest that is there must not be denied.
    let closed = tokio::select! {
        closed = until_closed(plan, services, Arc::clone(&keys), &run, Arc::clone(&sink), table.clone()) => closed,
        interrupted = interrupted(asked) => Err(interrupted),
    };
    let sealed = match closed {
        Ok((closed, tally)) => seal_closed(plan, services, &keys, &run, closed, &tally, classified, Arc::clone(&sink), table.clone()).await,
        Err(error) => Err(error),
    };
    if sealed.is_err() {
        take_back(sink, table).await;
    }
    sealed
}

/// From the first row to closed shards that the gates let through.
async fn until_closed(
    plan: &Plan,
    services: &Services,
    keys: Arc<Keys>,
    run: &RunId,
    sink: Arc<ShardSink>,
    table: Option<Arc<TableSink>>,
) -> Result<(emit::Closed, Tally)> {
    let Services { limits, progress, .. } = services;
    progress.enter(Stage::Read);
    let context = engine::session(limits).map_err(|error| engine::failure::FirstFailure::default().explain(&error))?;
    let quarantine = &plan.contract.job.quarantine;
    let quarantined = Quarantined { root: Arc::clone(keys.shared(&quarantine.key)?), folder: quarantine.uri.clone(), run_id: run.id.clone() };
    let mut verdicts = query::ask(plan, services).await?;
    let mut passes = Passes::default();
    if plan.rules.sets.sorts_digests() {
        let gathered = look_ahead(plan, services).await?;
        verdicts.extend(gathered.verdicts(plan));
        passes.violations = Some(Arc::new(gathered.violations));
    } else {
        passes.gather = Some(Gather::start(&context, &plan.rules, limits)?);
    }
    gate::quality(plan, &in_order(verdicts.clone()))?;
    let statistics = freeze::freeze(plan, services, &keys, run, passes.violations.as_ref()).await?;
    let frozen = freeze::frozen(plan, statistics.as_ref());
    let checked = Checked::register(plan, &context, services, Some(&quarantined), &passes)?;
    let prepared = prepare(plan, context, checked).await?;
    let pseudonymized = pseudonymize(prepared, plan, &keys, limits, &run.id).await?;
    let shaped = order::sort(pseudonymized, plan, limits)?.shape(plan, &frozen)?;
    let mut closed = emit::shard(shaped, plan, sink, table, progress).await?;
    closed.statistics = statistics;

    let threads = limits.threads;
    let (closed, mut tally) = spawn_blocking(move || closed.checked.finish(threads).map(|tally| (closed, tally))).await.map_err(|_| stopped())??;
    if let Some(gather) = passes.gather {
        verdicts.extend(gather.finish().await?.verdicts(plan));
    }
    tally.verdicts = in_order(verdicts);
    gate(plan, &tally)?;
    gate::some_records(plan, &tally, closed.rows)?;
    Ok((closed, tally))
}

/// From closed shards to the manifest.
#[expect(clippy::too_many_arguments, reason = "all that a run has made comes together here, once")]
async fn seal_closed(
    plan: &Plan,
    services: &Services,
    keys: &Keys,
    run: &RunId,
    closed: emit::Closed,
    tally: &Tally,
    classified: Classification,
    sink: Arc<ShardSink>,
    table: Option<Arc<TableSink>>,
) -> Result<Sealed> {
    let progress = &services.progress;
    progress.enter(Stage::Seal);
    let (blocking, inputs) = (Arc::clone(&services.stores), plan.inputs.clone());
    let digests = spawn_blocking(move || input_digests(&blocking, &inputs)).await.map_err(|_| stopped())??;
    let mut facts = facts(plan, run, keys, tally, &digests, closed.rows)?;
    facts.gates.extend(classified_gates(&classified));
    facts.findings = Some(classified.disagreements_and_findings());
    let total_shards = plan.shards;
    let tokenizers = closed.tokenizers(plan);
    let sealed = spawn_blocking(move || {
        let made = seal::Made { conservation: closed.conserved(), statistics: closed.statistics, tokenizers };
        let table = table.as_deref().map(|table| (table, closed.parts));
        seal::seal(facts, &closed.layout, made, total_shards, &sink, closed.shards, table)
    });
    let sealed = sealed.await.map_err(|_| stopped())??;
    progress.enter(Stage::Done);
    tracing::info!(run = run.id, manifest = sealed.manifest_uri().0, "sealed");
    Ok(sealed)
}

/// Set when the operator or the scheduler asks the run to stop.
fn stop_flag() -> Arc<AtomicBool> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // Where a signal cannot be caught, it ends the process as it always did.
        let _ = signal_hook::flag::register(signal, Arc::clone(&asked));
    }
    asked
}

/// Waits for the operator's or the scheduler's signal to stop.
async fn interrupted(asked: Arc<AtomicBool>) -> crate::error::Error {
    while !asked.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Failure::new(Culprit::Outside, "interrupted", "the run was interrupted; nothing was published").help("run it again").into()
}

/// Removes what an unpublished run wrote, once the threads that write have let go. Stores block, so not on this thread.
async fn take_back(sink: Arc<ShardSink>, table: Option<Arc<TableSink>>) {
    let writers = || Arc::strong_count(&sink) > 1 || table.as_ref().is_some_and(|table| Arc::strong_count(table) > 1);
    for _ in 0..200 {
        if !writers() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    // The run has failed already, and says why; what cannot be removed stays without a manifest.
    let _ = spawn_blocking(move || drop((sink, table))).await;
}

/// Reads and checks every row of every source, once; writes nothing, not even quarantine. `type: sql` rules read what they need by themselves.
///
/// # Errors
/// What reading can fail with.
pub async fn check(plan: &Plan, services: &Services) -> Result<Tally> {
    check_into(plan, services, None).await
}

/// As [`check`], and rejected rows go into the job's quarantine, as those of a run do. Where rules about sets reject rows, every row is read twice. Gives the folder too.
///
/// # Errors
/// As [`check`]; the quarantine's key cannot be opened, its place cannot be written.
pub async fn check_and_quarantine(plan: &Plan, services: &Services) -> Result<(Tally, Uri)> {
    let quarantine = &plan.contract.job.quarantine;
    services.progress.enter(Stage::Keys);
    let root = keys::open_one(&quarantine.key, &plan.contract.job, &services.stores).await?;
    let quarantined = Quarantined { root, folder: quarantine.uri.clone(), run_id: RunId::new().id };
    let tally = check_into(plan, services, Some(&quarantined)).await?;
    Ok((tally, Uri(format!("{}/{}", quarantine.uri.0.trim_end_matches('/'), quarantined.run_id))))
}

async fn check_into(plan: &Plan, services: &Services, quarantine: Option<&Quarantined>) -> Result<Tally> {
    let progress = &services.progress;
    progress.expect_bytes(input_bytes(plan));
    progress.enter(Stage::Read);
    let (tally, mut verdicts) = match quarantine {
        Some(_) if plan.rules.sets.rejects_rows() => {
            let gathered = look_ahead(plan, services).await?;
            let verdicts = gathered.verdicts(plan);
            let (tally, _) = pass(plan, services, quarantine, Passes { violations: Some(Arc::new(gathered.violations)), ..Passes::default() }).await?;
            (tally, verdicts)
        }
        _ => {
            let (mut tally, gathered) = gather(plan, services, quarantine, false).await?;
            tally.add_violations(plan, &gathered.violations);
            let verdicts = gathered.verdicts(plan);
            (tally, verdicts)
        }
    };
    verdicts.extend(query::ask(plan, services).await?);
    progress.enter(Stage::Done);
    Ok(Tally { verdicts: in_order(verdicts), ..tally })
}

/// A pass that looks at the rows of all sources, and hands none of them on.
async fn gather(plan: &Plan, services: &Services, quarantine: Option<&Quarantined>, ahead: bool) -> Result<(Tally, Gathered)> {
    let context = engine::session(&services.limits).map_err(|error| engine::failure::FirstFailure::default().explain(&error))?;
    let gather = Gather::start(&context, &plan.rules, &services.limits)?;
    pass(plan, services, quarantine, Passes { violations: None, gather: Some(gather), ahead }).await
}

async fn pass(plan: &Plan, services: &Services, quarantine: Option<&Quarantined>, passes: Passes) -> Result<(Tally, Gathered)> {
    let checked = Checked::new(plan, services, quarantine, &passes);
    let threads = services.limits.threads;
    let tally = spawn_blocking(move || checked.finish(threads)).await.map_err(|_| stopped())?;
    let Some(gather) = passes.gather else { return Ok((tally?, Gathered::default())) };
    match tally {
        Ok(tally) => Ok((tally, gather.finish().await?)),
        // A sort that has ended ends the readers: it says why.
        Err(error) if digests::is_stopped(&error) => Err(gather.finish().await.err().unwrap_or(error)),
        Err(error) => Err(error),
    }
}

/// The pass before the one that hands rows on: which of them break rules about sets.
async fn look_ahead(plan: &Plan, services: &Services) -> Result<Gathered> {
    services.progress.expect_bytes(2 * input_bytes(plan));
    gather(plan, services, None, true).await.map(|(_, gathered)| gathered)
}

fn input_bytes(plan: &Plan) -> u64 {
    plan.inputs.iter().flat_map(|input| &input.files).map(|file| file.size_bytes).sum()
}

/// In the order of sources and rules.
fn in_order(mut verdicts: Vec<((usize, usize), Verdict)>) -> Vec<Verdict> {
    verdicts.sort_by_key(|(place, _)| *place);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

/// SHA-256 of every input file that no store has given an entity tag: what ties the manifest to the bytes that were read. A file
/// that changed since it was listed ends the run.
fn input_digests(stores: &Stores, inputs: &[Input]) -> Result<Vec<Vec<Option<String>>>> {
    let digest = |file: &InputFile| -> Result<Option<String>> {
        if file.etag.is_some() {
            return Ok(None);
        }
        let mut reader = stores.reader(file)?;
        let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Some(hex::encode(digest.finalize()))),
                Ok(length) => digest.update(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(crate::store::read_failure(file, error)
                        .unwrap_or_else(|| Failure::new(Culprit::Outside, "io-error", format!("{} cannot be read", file.label)).into()));
                }
            }
        }
    };
    inputs.iter().map(|input| input.files.par_iter().map(digest).collect()).collect()
}

/// What the manifest says of a run beside what sealing finds out for itself.
fn facts(plan: &Plan, run: &RunId, keys: &Keys, tally: &Tally, digests: &[Vec<Option<String>>], rows_written: u64) -> Result<seal::Facts> {
    let job = &plan.contract.job;
    let digest = |file: &perimeter_contract::SourceFile| hex::encode(file.sha256);
    let of_kind = |kind: &str| plan.contract.sources.files.iter().find(|file| file.kind == kind).map(digest).unwrap_or_default();
    let schemas = job
        .sources
        .iter()
        .filter_map(|source| plan.contract.sources.files.get(source.schema.span.file as usize).map(|file| (source.name.clone(), digest(file))));
    let mut inputs = Vec::new();
    for ((((source, input), rows), rejections), digests) in job.sources.iter().zip(&plan.inputs).zip(&tally.file_rows).zip(&tally.file_rejections).zip(digests)
    {
        let mut digest = KeyedUri::new(keys.root(&job.quarantine.key)?);
        for (((file, &rows), rejections), sha256) in input.files.iter().zip(rows).zip(rejections).zip(digests) {
            inputs.push(seal::Input {
                source: source.name.clone(),
                uri: digest.shown(file),
                bytes: file.size_bytes,
                etag: file.etag.clone(),
                sha256: sha256.clone(),
                rows,
                rejections: rejections.clone(),
            });
        }
    }
    let by_source: BTreeMap<String, f64> = tally.by_source(plan).map(|rows| (rows.source.clone(), rows.rejected_fraction())).collect();
    let figures = BTreeMap::from([
        ("fraction".to_owned(), tally.rejected_fraction().into()),
        ("bySource".to_owned(), serde_json::json!(by_source)),
        ("allowed".to_owned(), plan.contract.policy.gates.max_rejected_fraction.into()),
    ]);
    let pass = |figures| seal::Gate { verdict: seal::Verdict::Pass, figures };
    let quality = (!tally.verdicts.is_empty()).then(|| ("quality".to_owned(), pass(BTreeMap::from([("rules".to_owned(), tally.verdicts.len().into())]))));
    let gates = std::iter::once(("maxRejectedFraction".to_owned(), pass(figures))).chain(quality);
    Ok(seal::Facts {
        development: true,
        run: seal::Run {
            id: run.id.clone(),
            started: run.started.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            finished: String::new(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            parameters: job.parameters.clone(),
        },
        contract: seal::ContractFiles {
            job_sha256: of_kind("Job"),
            schemas_sha256: schemas.collect(),
            plan_digest: hex::encode(plan.digest()),
            policy: seal::PolicyFile {
                name: plan.contract.policy.name.clone(),
                version: plan.contract.policy.version,
                purpose: plan.contract.policy.purpose.clone(),
                legal_basis: plan.contract.policy.legal_basis.clone(),
                retention_days: plan.contract.policy.retention_days,
                sha256: of_kind("Policy"),
                approvals: Vec::new(),
            },
        },
        keys: keys.facts().into_iter().map(|key| seal::KeyVersion { name: key.name, keyring: key.keyring, version: key.version }).collect(),
        inputs,
        rows: seal::RowCounts {
            read: tally.rows_read,
            rejected: tally.rows_rejected,
            passed_over: tally.rows_passed_over,
            with_added_fields: tally.rows_with_added_fields,
            written: rows_written,
        },
        rejections: tally.rejections.clone(),
        gates: gates.collect(),
        findings: None,
    })
}

/// The verdicts about the raw sources: that there are figures says that they passed.
fn classified_gates(classified: &Classification) -> BTreeMap<String, seal::Gate> {
    let pass = |figures| seal::Gate { verdict: seal::Verdict::Pass, figures };
    let findings: u64 = classified.sources.iter().flat_map(|source| &source.columns).map(|column| column.findings.len() as u64).sum();
    let rows: u64 = classified.sources.iter().map(|source| source.rows).sum();
    let figures = BTreeMap::from([
        ("findings".to_owned(), findings.into()),
        ("rows".to_owned(), rows.into()),
        ("sampleRows".to_owned(), classified.sample_rows.clone().into()),
        ("unresolved".to_owned(), classified.unresolved().count().into()),
    ]);
    let mut gates = BTreeMap::from([("findings".to_owned(), pass(figures))]);
    if let Some(macie) = &classified.macie {
        let figures = BTreeMap::from([
            ("jobs".to_owned(), macie.jobs.len().into()),
            ("notClean".to_owned(), macie.not_clean.len().into()),
            ("scannedLocally".to_owned(), (macie.not_clean.len() - macie.remaining().count()).into()),
        ]);
        gates.insert("macie".to_owned(), pass(figures));
    }
    gates
}

/// Uris as the manifest may show them: a partition value that a pattern matched (`…/cpf=…/`) is a cell value, and becomes a
/// keyed digest; what the job file says itself is no secret.
struct KeyedUri(CryptoHash);

impl KeyedUri {
    fn new(root: &RootKey) -> Self {
        let options = CryptoHashOptions { canonicalize: Vec::new(), encoding: Encoding::Hex, bytes: 16 };
        Self(CryptoHash::new(root, "perimeter:input-uri", &options))
    }

    /// The uri as it is where all of it may be shown, as the label says: `key=value` in a path is a cell of the column.
    fn shown(&mut self, file: &InputFile) -> String {
        if file.label == file.uri {
            return file.uri.clone();
        }
        let mut token = b"keyed:".to_vec();
        match self.0.apply(&file.uri, &mut token) {
            Ok(()) => String::from_utf8_lossy(&token).into_owned(),
            Err(_) => "keyed:".to_owned(),
        }
    }
}
