//! *classify*: what is sensitive in the raw sources, and whether contract and policy know.
//!
//! | need | call |
//! |---|---|
//! | what is in files that have no contract yet | [`files`] |
//! | what is in a job's sources, against its contracts | [`job`] |
//! | the same, and a refusal unless somebody answers for every finding | [`gate`]; a run calls it before anything leaves |
//!
//! ```text
//! units ─► sample ─► column profiles ─► verdicts ─► findings ─┐
//! (seed)   (rows)    (perimeter_detect)                       ├─► agreement ─► answers ─► Classification
//! Amazon Macie's jobs ─► macie::import ─► findings, not clean ┘   (contract)   (policy, lineage)
//! ```
//!
//! A finding is answered for when the contract says the type (the policy has then decided about it), when the contract accepts it as something else
//! (`acceptedFindings`, with a reason), when what the policy does with the column lets no value leave whatever it is, or when nothing that leaves is made of the
//! column. Everything else refuses the run.
//!
//! The result depends on the files, the seed and the number of rows asked for: on nothing else. It holds names, shares and counts, never a value.
mod answer;
mod findings;
mod report;
mod scan;
mod words;

pub(crate) use findings::is_weak;
pub use findings::{Found, Place, of_column};
pub use report::{
    Agreement, Classification, ClassifiedColumn, ClassifiedSource, ContractSays, Finder, Finding, MacieJob, MacieNotClean, MacieSummary, Resolution,
};
pub use scan::{Looking, Sampling, SeenColumn, SourceScan, detector, scan};

use crate::error::{Culprit, Failure, Result};
use crate::infer::{self, Request};
use crate::macie::{self, Macie, MacieClient, SourceFiles, SystemClock};
use crate::plan::{Input, Plan};
use crate::progress::Stage;
use crate::read;
use crate::run::Services;
use answer::{Answers, Claim};
use perimeter_contract::job::{Drift, Format, Source, Uri};
use perimeter_contract::policy::{OnSkipped, SampleRows};
use perimeter_contract::schema::DataType;
use perimeter_detect::{CustomDetector, Detector};
use report::amount;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// The seed of a run's gate, and of `classify` unless another is asked for.
pub const SEED: u64 = 0;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Draws units and values.
    pub seed: u64,
    /// Rows of each source.
    pub rows: SampleRows,
}

/// What of Amazon Macie's is taken.
#[derive(Clone, Debug, Default)]
pub struct MacieRequest {
    /// Makes a job, and waits for it. Costs money.
    pub create: bool,
    /// Ids of earlier jobs.
    pub jobs: Vec<String>,
    /// The account that owns the buckets, where it is not the caller's.
    pub account: Option<String>,
    /// A copy of the results' bucket to read instead.
    pub results: Option<Uri>,
}

impl MacieRequest {
    /// Whether nothing is asked of Macie.
    pub fn is_empty(&self) -> bool {
        !self.create && self.jobs.is_empty()
    }
}

/// Records that are read to find out what the columns of files without a contract are.
const DRAFT_ROWS: u64 = 10_000;

/// What is in files without a contract. `request` says how they are read, as far as that is known; its first uri can be a pattern, the files have the same columns.
///
/// # Errors
/// As [`infer::propose`] and [`read::plan_source`]; exit 2.
pub fn files(services: &Services, request: &Request, options: Options) -> Result<Classification> {
    let stores = &services.stores;
    let uri = request.files.first().cloned().unwrap_or_else(|| Uri(String::new()));
    let mut source = infer::propose(stores, &Request { rows: DRAFT_ROWS, ..request.clone() })?.source;
    source.uri = uri;
    // What was proposed, nobody has said.
    for column in &mut source.schema.columns {
        (column.semantic_type, column.join_domain, column.classification) = (None, None, None);
    }
    // Later records may have more; what they have more of is counted.
    source.drift = if matches!(source.format, Format::Json(_)) { Drift::AllowAdded } else { source.drift };
    if matches!(source.format, Format::Csv(_)) {
        // As it is written: what looks like a number at first need not stay one.
        source.schema.columns.iter_mut().for_each(|column| column.data_type = DataType::String);
    }
    let source = scan::loosened(&source);
    let planned = read::plan_source(stores, 0, &source)?;
    services.progress.expect_bytes(planned.files.iter().map(|file| file.size_bytes).sum());
    services.progress.enter(Stage::Classify);
    let (detector, nothing) = (detectors(Vec::new())?, BTreeSet::new());
    let looking = Looking { stores, detector: &detector, threads: services.limits.threads, progress: Some(&services.progress) };
    let sampling = Sampling { seed: options.seed, rows: options.rows, whole_files: &nothing };
    let seen = scan(&looking, &source, &planned.files, &planned.units, sampling)?;
    services.progress.enter(Stage::Done);
    let mut classified = of_source(&source, planned.files.len(), &seen, None);
    // A name can be a value: a key of a JSON object, a header that is data.
    for (at, column) in classified.columns.iter_mut().enumerate().filter(|(_, column)| is_a_value(&column.name)) {
        let name = std::mem::replace(&mut column.name, format!("column_{}", at + 1));
        let renamed = |(code, count): (String, u64)| match code.strip_prefix(&name) {
            Some(rule) if rule.starts_with('.') => (format!("{}{rule}", column.name), count),
            _ => (code, count),
        };
        classified.unreadable = std::mem::take(&mut classified.unreadable).into_iter().map(renamed).collect();
    }
    Ok(Classification { seed: options.seed, sample_rows: options.rows.to_string(), sources: vec![classified], macie: None })
}

/// Whether the name of a column, or a name within it, can only be data. Names of objects are joined by points, which values have too.
fn is_a_value(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    (0..parts.len()).any(|from| (from..parts.len()).any(|to| parts.get(from..=to).is_some_and(|parts| infer::looks_like_data(&parts.join(".")))))
}

/// What is in a job's sources, against its contracts and its policy. `on_waiting` shows how far a Macie job is.
///
/// # Errors
/// As [`read::ingest_unit`], [`macie::classify`] and [`macie::import`].
pub async fn job(
    plan: &Plan,
    services: &Services,
    options: Options,
    asked: &MacieRequest,
    run_id: &str,
    on_waiting: macie::OnWaiting<'_>,
) -> Result<Classification> {
    services.progress.expect_bytes(plan.inputs.iter().flat_map(|input| &input.files).map(|file| file.size_bytes).sum());
    look(plan, services, options, asked, run_id, on_waiting, true).await
}

/// Looks at the raw sources before a run hands anything on.
///
/// # Errors
/// Exit 1 `findings-unresolved`, with each finding and the line to write; `macie-not-clean`, with each reason. Exit 2 `macie-job-needed`: the policy asks for Amazon
/// Macie, and the run names no job. Else as [`job`].
pub async fn gate(plan: &Plan, services: &Services, asked: &MacieRequest, run_id: &str) -> Result<Classification> {
    if plan.contract.policy.gates.macie.is_some() && asked.is_empty() {
        let message = format!("policy {} wants Amazon Macie's findings, and the run names no Macie job", plan.contract.policy.name);
        let help = "`perimeter classify JOB --macie` makes a job and says its id; then `perimeter run JOB --macie-job ID`";
        return Err(Failure::new(Culprit::File, "macie-job-needed", message).help(help).into());
    }
    services.progress.enter(Stage::Classify);
    let options = Options { seed: SEED, rows: plan.contract.policy.gates.sample_rows };
    let found = look(plan, services, options, asked, run_id, &|_| {}, false).await?;
    refuse(&found)?;
    Ok(found)
}

/// The refusal that a classification is.
///
/// # Errors
/// As [`gate`].
pub fn refuse(found: &Classification) -> Result<()> {
    let mut message = String::new();
    let unresolved = found.unresolved().count();
    if unresolved > 0 {
        let _ = write!(message, "{unresolved} finding(s) in the raw data that neither contract nor policy answers for:");
        for (source, column, finding) in found.unresolved() {
            let says = match (finding.agreement, &column.contract.semantic_type) {
                (_, Some(semantic_type)) => format!("the contract says {semantic_type}"),
                _ => "the contract says nothing of it".to_owned(),
            };
            let name = report::shown(&format!("{}.{}", source.name, column.name));
            let place = match finding.place {
                Place::Values => String::new(),
                Place::Texts => " inside of texts".to_owned(),
                Place::Header => " in the header".to_owned(),
            };
            let share = match finding.share {
                Some(_) => format!("{} of {} distinct values", amount(finding), column.distinct),
                None => amount(finding),
            };
            let confidence = finding.confidence.as_deref().map(|confidence| format!(", {confidence}")).unwrap_or_default();
            let by = finding.source.name();
            let _ = write!(message, "\n  {name}: {}{place}, {share} ({by}{confidence}); {says}", finding.semantic_type);
            if let Some(write) = &finding.write {
                let _ = write!(message, "\n    write {write}");
            }
        }
    }
    let remaining: Vec<&MacieNotClean> = found.macie.iter().flat_map(MacieSummary::remaining).collect();
    if !remaining.is_empty() {
        let gap = if message.is_empty() { "" } else { "\n" };
        let _ = write!(message, "{gap}Amazon Macie's look at the sources is not clean ({} reason(s)):", remaining.len());
        for reason in remaining.iter().take(20) {
            let _ = write!(message, "\n  {}", reason.text());
        }
        if remaining.len() > 20 {
            let _ = write!(message, "\n  and {} more; --json has them all", remaining.len() - 20);
        }
    }
    match (unresolved, remaining.is_empty()) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::new(Culprit::Data, "macie-not-clean", message)
            .help("nothing was read into a dataset; docs/macie.md says what each reason means, and what `onSkipped: localScan` does")
            .into()),
        _ => Err(Failure::new(Culprit::Data, "findings-unresolved", message)
            .help("nothing was read into a dataset; `perimeter classify JOB` shows all findings, docs/classify.md explains the answers")
            .into()),
    }
}

async fn look(
    plan: &Plan,
    services: &Services,
    options: Options,
    asked: &MacieRequest,
    run_id: &str,
    on_waiting: macie::OnWaiting<'_>,
    shows_rows: bool,
) -> Result<Classification> {
    let found = ask_macie(plan, services, asked, run_id, on_waiting).await?;
    services.progress.enter(Stage::Classify);
    let stands_in = plan.contract.policy.gates.macie.is_some_and(|gate| gate.on_skipped == OnSkipped::LocalScan);
    let whole = found.as_ref().filter(|_| stands_in).map(Macie::needs_local_scan).unwrap_or_default();
    let job = &plan.contract.job;
    let (sources, on, scanned) = (job.sources.iter().cloned().zip(plan.inputs.iter().cloned()).collect::<Vec<_>>(), services.clone(), whole.clone());
    // A plan has compiled them once: they do.
    let detector = detectors(crate::plan::text::customs(&plan.contract.policy))?;
    let scanning = spawn_blocking(move || scan_all(&detector, &sources, &on, options, &whole, shows_rows));
    let seen = scanning.await.map_err(|_| Failure::new(Culprit::Outside, "stopped", "looking at the sources was stopped"))??;
    let mut sources: Vec<ClassifiedSource> = Vec::with_capacity(job.sources.len());
    for ((source, input), seen) in job.sources.iter().zip(&plan.inputs).zip(&seen) {
        sources.push(of_source(source, input.files.len(), seen, Some(plan)));
    }
    let macie = found.map(|found| with_macie(plan, &mut sources, &found, &scanned));
    Ok(Classification { seed: options.seed, sample_rows: options.rows.to_string(), sources, macie })
}

fn detectors(custom: Vec<CustomDetector>) -> Result<Detector> {
    Ok(detector(custom).map_err(|_| Failure::new(Culprit::Outside, "internal", "the detectors cannot be made").help("this is a bug: report it"))?)
}

fn scan_all(
    detector: &Detector,
    sources: &[(Source, Input)],
    services: &Services,
    options: Options,
    whole: &BTreeSet<(usize, usize)>,
    shows_rows: bool,
) -> Result<Vec<SourceScan>> {
    let progress = shows_rows.then(|| &*services.progress);
    let looking = Looking { stores: &services.stores, detector, threads: services.limits.threads, progress };
    let one = |(index, (source, input)): (usize, &(Source, Input))| {
        let whole_files = whole.iter().filter(|(source, _)| *source == index).map(|(_, file)| *file).collect();
        let sampling = Sampling { seed: options.seed, rows: options.rows, whole_files: &whole_files };
        scan(&looking, source, &input.files, &input.units, sampling)
    };
    sources.iter().enumerate().map(one).collect()
}

/// What the policy, and who runs it, want of Macie.
async fn ask_macie(plan: &Plan, services: &Services, asked: &MacieRequest, run_id: &str, on_waiting: macie::OnWaiting<'_>) -> Result<Option<Macie>> {
    if asked.is_empty() {
        return Ok(None);
    }
    let job = &plan.contract.job;
    let sources: Vec<SourceFiles<'_>> = job.sources.iter().zip(&plan.inputs).map(|(source, input)| SourceFiles { source, files: &input.files }).collect();
    let mut options = macie::Options::new(&job.name, run_id);
    options.account.clone_from(&asked.account);
    options.results.clone_from(&asked.results);
    options.max_age = plan.contract.policy.gates.macie.map(|gate| Duration::from_secs(u64::from(gate.max_age_days) * 86_400));
    let client = MacieClient::from_environment().await;
    if asked.create {
        macie::classify(&client, &services.stores, &sources, &options, &SystemClock, on_waiting).await.map(Some)
    } else {
        macie::import(&client, &services.stores, &sources, &asked.jobs, &options, &SystemClock, on_waiting).await.map(Some)
    }
}

/// What the detectors say of a source, against its contract, and against what a plan does with it.
fn of_source(source: &Source, files: usize, seen: &SourceScan, plan: Option<&Plan>) -> ClassifiedSource {
    let mut columns = Vec::with_capacity(source.schema.columns.len());
    for (column, seen) in source.schema.columns.iter().zip(&seen.columns) {
        let mut found = Vec::new();
        for one in of_column(column, seen) {
            let claim = Claim::local(&one, plan.map_or(&[], |plan| &plan.contract.policy.detectors));
            let mut finding = held_against(&claim, Finder::Local, source, column, plan);
            let rounded = |share: f64| (share * 1e6).round() / 1e6;
            finding.share = one.share.map(rounded);
            finding.interval = one.interval.map(|(least, most)| (rounded(least), rounded(most)));
            finding.confidence = Some(one.confidence.name().to_owned());
            found.push(finding);
        }
        columns.push(ClassifiedColumn {
            name: column.name.clone(),
            contract: ContractSays {
                semantic_type: column.semantic_type.clone(),
                join_domain: column.join_domain.clone(),
                classification: column.classification.clone(),
            },
            shape: seen.verdict.shape.name().to_owned(),
            distinct: seen.verdict.looked_at as u64,
            agreement: agreement_of(column.semantic_type.as_deref(), seen.verdict.looked_at, &found),
            findings: found,
        });
    }
    ClassifiedSource { name: source.name.clone(), files: files as u64, rows: seen.rows, complete: seen.complete, unreadable: seen.unreadable.clone(), columns }
}

/// The worst of the findings', or what their absence says.
fn agreement_of(contract: Option<&str>, looked_at: usize, found: &[Finding]) -> Agreement {
    let seen = found.iter().any(|finding| finding.agreement == Agreement::Agrees);
    let wanted = contract.is_some_and(|contract| looked_at > 0 && words::is_checkable(contract) && !seen);
    let absent = if wanted { Agreement::NotFound } else { Agreement::Silent };
    found.iter().map(|finding| finding.agreement).chain([absent]).max().unwrap_or(absent)
}

fn held_against(claim: &Claim<'_>, by: Finder, source: &Source, column: &perimeter_contract::schema::Column, plan: Option<&Plan>) -> Finding {
    let agreement = claim.agreement(column);
    let Some(plan) = plan else { return answer::finding(claim, by, agreement, Resolution::NotAsked) };
    let answers = Answers { plan, source: &source.name, column };
    let mut finding = answer::finding(claim, by, agreement, answers.resolution(claim, agreement));
    match finding.resolution {
        Resolution::Unresolved => finding.write = Some(answers.write(claim)),
        Resolution::Accepted => {
            let accepted = column.accepted_findings.iter().find(|accepted| accepted.info_type == claim.semantic_type || accepted.info_type == claim.name);
            finding.reason = accepted.map(|accepted| accepted.reason.clone());
        }
        _ => {}
    }
    finding
}

/// Adds Macie's findings to the columns that they are in, and says what else it says.
fn with_macie(plan: &Plan, sources: &mut [ClassifiedSource], found: &Macie, scanned: &BTreeSet<(usize, usize)>) -> MacieSummary {
    let mut without_column: BTreeMap<String, u64> = BTreeMap::new();
    for one in &found.findings {
        let source = plan.contract.job.sources.get(one.source);
        let says = one.column.and_then(|at| source?.schema.columns.get(at)?.semantic_type.as_deref());
        let place = match says {
            _ if one.header => Place::Header,
            // Where in a text, Macie does not say.
            Some("FREE_TEXT") => Place::Texts,
            _ => Place::Values,
        };
        let claim = Claim::macie(one.semantic_type.as_deref(), &one.info_type, place);
        let column = one.column.and_then(|at| Some((source?, source?.schema.columns.get(at)?, sources.get_mut(one.source)?.columns.get_mut(at)?)));
        let Some((source, column, classified)) = column else {
            // A finding without a column is among the reasons why the result is not clean, and refuses there.
            *without_column.entry(claim.semantic_type.to_owned()).or_default() += one.count;
            continue;
        };
        let mut finding = held_against(&claim, Finder::Macie, source, column, Some(plan));
        finding.count = Some(one.count);
        classified.findings.push(finding);
        classified.agreement = agreement_of(column.semantic_type.as_deref(), usize::try_from(classified.distinct).unwrap_or(0), &classified.findings);
    }
    let remaining = found.remaining(scanned);
    let reason = |reason: &macie::NotClean| MacieNotClean {
        why: reason.why.code().to_owned(),
        label: reason.label.clone(),
        detail: reason.detail.clone(),
        scanned_locally: !remaining.contains(&reason),
    };
    let started = |seconds: i64| chrono::DateTime::from_timestamp(seconds, 0).map(|at| at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true));
    MacieSummary {
        jobs: found.jobs.iter().map(|job| MacieJob { id: job.id.clone(), started: job.started_s.and_then(started) }).collect(),
        not_clean: found.not_clean.iter().map(reason).collect(),
        without_column,
        reports_outside_of_the_plan: found.reports_outside_of_the_plan,
    }
}

#[cfg(test)]
mod tests;
