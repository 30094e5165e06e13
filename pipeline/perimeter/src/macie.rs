//! *macie*: what Amazon Macie finds in the sources, in the words of the contract.
//!
//! [`classify`] creates one-time jobs over the sources' buckets, waits for them and reads what they found; [`import`] reads what earlier jobs found. Both give a
//! [`Macie`]: findings by column, and everything that is *not clean*. They resolve nothing and refuse nothing of their own: gates do.
//!
//! ```text
//! sources ─► scope ─► job ─► findings (≤ 15 locations a type)  ─┐
//! (listing)  (prefix) (wait)  results on S3 (≤ 1,000 a type)   ─┴► report ─► locate ─► judge ─► Macie
//!                                                                (one shape)  (columns)
//! ```
//!
//! Macie gives no values, but keys of objects, names of columns and paths can be or hold values. What this module shows of them are labels of the listing
//! ([`InputFile::label`]) and positions of contract columns, nothing else.
//!
//! Clean is what was looked at, whole, recently, in its present form, for every type that we ask for, with every occurrence in a column that we can name. All else is in
//! [`Macie::not_clean`]; [`Macie::needs_local_scan`] says which files a local scan has to stand in for, where the policy's `onSkipped` is `localScan`. An object without
//! findings is clean only if its own result says so, which takes detailed results on S3 (an *export configuration*): findings alone do not tell a clean object from one
//! that was never opened.
//!
//! Sources: Amazon Macie User Guide and API reference (API version 2020-01-01).
mod client;
mod failure;
mod identifiers;
mod job;
mod judge;
mod locate;
mod report;
mod results;
mod scope;

pub use client::MacieClient;
pub use identifiers::{default_identifiers, semantic_type};
pub use job::{Clock, OnWaiting, SystemClock, Waiting};
pub use scope::{BucketScope, Scope};

use crate::error::{Culprit, Failure, Result};
use crate::store::{InputFile, Stores};
use judge::Judge;
use perimeter_contract::job::{Source, Uri};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A source and its listing, as *plan* has them.
#[derive(Clone, Copy)]
pub struct SourceFiles<'a> {
    /// The source.
    pub source: &'a Source,
    /// Its files.
    pub files: &'a [InputFile],
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The job file's `metadata.name`: in the Macie job's name and tags.
    pub job_name: String,
    /// The run: the same id never makes a second job.
    pub run_id: String,
    /// The account that owns the buckets, where it is not the caller's.
    pub account: Option<String>,
    /// Managed data identifiers; [`default_identifiers`] unless there is a reason. An imported job that did not look for one of them is not clean.
    pub identifiers: Vec<String>,
    /// Ids of custom data identifiers for new jobs.
    pub custom_identifiers: Vec<String>,
    /// What custom identifiers find, by their name: `{"employee id": EMPLOYEE_ID}`.
    pub custom_types: BTreeMap<String, String>,
    /// The policy's `gates.macie.maxAge`; counted from a job's start, since Macie does not say when it ended.
    pub max_age: Option<Duration>,
    /// How long to wait for jobs; `None`: as long as it takes.
    pub max_wait: Option<Duration>,
    /// A copy of the results bucket to read instead of the bucket of the export configuration.
    pub results: Option<Uri>,
}

impl Options {
    /// The defaults for a run.
    pub fn new(job_name: impl Into<String>, run_id: impl Into<String>) -> Self {
        Self {
            job_name: job_name.into(),
            run_id: run_id.into(),
            account: None,
            identifiers: default_identifiers(),
            custom_identifiers: Vec::new(),
            custom_types: BTreeMap::new(),
            max_age: None,
            max_wait: None,
            results: None,
        }
    }
}

/// What Macie says of a plan's input.
#[derive(Clone, Debug)]
pub struct Macie {
    /// The jobs, in the order of creation or import.
    pub jobs: Vec<JobReport>,
    /// Every file of the plan, in the plan's order.
    pub objects: Vec<ObjectResult>,
    /// What was found, by source, column and type. Nothing that Macie reported is missing here.
    pub findings: Vec<ColumnFinding>,
    /// Why the findings are not the whole truth; empty: clean.
    pub not_clean: Vec<NotClean>,
    /// Findings and results about objects that the plan does not read: a prefix takes in more than a glob.
    pub reports_outside_of_the_plan: u64,
}

impl Macie {
    /// Files that a local scan has to stand in for, as (source, file), under `onSkipped: localScan`.
    pub fn needs_local_scan(&self) -> BTreeSet<(usize, usize)> {
        let mut files = BTreeSet::new();
        for reason in self.not_clean.iter().filter(|reason| reason.why.local_scan_stands_in()) {
            match reason.object {
                Some(object) => drop(files.insert(object)),
                None => files.extend(self.objects.iter().map(|object| (object.source, object.file))),
            }
        }
        files
    }

    /// What is still not clean after these files, as (source, file), went through a full local scan. Nothing scanned: everything, as under `onSkipped: refuse`.
    pub fn remaining(&self, scanned: &BTreeSet<(usize, usize)>) -> Vec<&NotClean> {
        let all = || self.objects.iter().all(|object| scanned.contains(&(object.source, object.file)));
        let mended = |reason: &NotClean| reason.why.local_scan_stands_in() && reason.object.map_or_else(all, |object| scanned.contains(&object));
        self.not_clean.iter().filter(|reason| !mended(reason)).collect()
    }
}

/// Where a Macie job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// RUNNING.
    Running,
    /// COMPLETE, or IDLE of a recurring job.
    Complete,
    /// PAUSED: the account's monthly quota is used up.
    Paused,
    /// USER_PAUSED; ends as CANCELLED after 30 days.
    UserPaused,
    /// CANCELLED.
    Cancelled,
}

impl JobStatus {
    /// A word for a progress line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Paused => "paused at the monthly quota",
            Self::UserPaused => "paused by a person",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One Macie job.
#[derive(Clone, Debug)]
pub struct JobReport {
    /// Its id: [`import`] takes it.
    pub id: String,
    /// Where it is.
    pub status: JobStatus,
    /// Its start, seconds since 1970.
    pub started_s: Option<i64>,
    /// Objects that were left at the last look, about.
    pub objects_to_process: Option<u64>,
    /// Macie met errors of access to an account or a bucket.
    pub had_errors: bool,
    /// Allow lists kept matching text out of the findings.
    pub has_allow_lists: bool,
    selector: String,
    identifiers: BTreeSet<String>,
    region: String,
    account: String,
}

impl JobReport {
    /// Those of the identifiers that the job did not use.
    fn not_looked_for(&self, wanted: &[String]) -> Vec<String> {
        let used = |id: &&String| match self.selector.as_str() {
            "ALL" => true,
            "EXCLUDE" => !self.identifiers.contains(*id),
            "INCLUDE" => self.identifiers.contains(*id),
            // NONE, and RECOMMENDED: a set that changes, and that is not written down in the job.
            _ => false,
        };
        wanted.iter().filter(|id| !used(id)).cloned().collect()
    }
}

/// How far Macie got with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectStatus {
    /// Looked at, whole.
    Complete,
    /// Looked at in part.
    Partial,
    /// Not opened.
    Skipped,
    /// Nothing says that it was looked at.
    NotScanned,
}

/// One file of the plan.
#[derive(Clone, Debug)]
pub struct ObjectResult {
    /// Position of the source.
    pub source: usize,
    /// Position in the source's listing.
    pub file: usize,
    /// [`InputFile::label`].
    pub label: String,
    /// How far Macie got; the worst of what several reports say.
    pub status: ObjectStatus,
    /// Macie's reason, a word of its API reference: `INVALID_ENCRYPTION`.
    pub reason: Option<String>,
}

/// What was found in one column of one source, or in none that could be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFinding {
    /// Position of the source.
    pub source: usize,
    /// Position in the schema's columns; `None`: unmatched, or in the header.
    pub column: Option<usize>,
    /// The name of a column is itself sensitive.
    pub header: bool,
    /// Macie's identifier, or the name of a custom one.
    pub info_type: String,
    /// Whether a custom identifier found it.
    pub custom: bool,
    /// The same in the contract's words, where there is one.
    pub semantic_type: Option<String>,
    /// Occurrences over all objects: located ones for a column, for no column also those that Macie counts and does not locate.
    pub count: u64,
    /// In which files of the source.
    pub objects: BTreeSet<usize>,
    /// Macie counted more of this type in these objects than it located: the rest is in the finding without a column.
    pub occurrences_are_partial: bool,
}

/// Why something is not clean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Macie looked at a part of the object.
    Partial,
    /// Macie could not look at the object.
    Skipped,
    /// No finding and no result says that the object was looked at.
    NotScanned,
    /// The object was rewritten since, or nothing says that it was not.
    ObjectChanged,
    /// A finding whose location is no column of the contract.
    Unmatched,
    /// More occurrences than locations: Macie gives 15 (findings) or 1,000 (results) a type and object, and does not say where the rest is.
    Unlocated,
    /// A csv header that is itself sensitive; Macie then gives lines instead of cells.
    SensitiveHeader,
    /// The job stopped at the account's monthly quota, or a person paused it.
    Paused,
    /// The job was cancelled.
    Cancelled,
    /// The job still runs.
    Running,
    /// Macie met errors of access to an account or a bucket.
    RunErrors,
    /// The job did not look for some of the identifiers.
    NotLookedFor,
    /// The job had allow lists, and did not report what matches them.
    AllowLists,
    /// The job is older than the policy's `maxAge`.
    TooOld,
}

impl Why {
    /// Kebab-case, stable, for reports.
    pub fn code(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Skipped => "skipped",
            Self::NotScanned => "not-scanned",
            Self::ObjectChanged => "object-changed",
            Self::Unmatched => "unmatched",
            Self::Unlocated => "unlocated",
            Self::SensitiveHeader => "sensitive-header",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Running => "running",
            Self::RunErrors => "run-errors",
            Self::NotLookedFor => "not-looked-for",
            Self::AllowLists => "allow-lists",
            Self::TooOld => "too-old",
        }
    }

    /// Whether a full local scan can take Macie's place. Not for what Macie *did* find and we could not place: that is a finding, and a person looks.
    pub fn local_scan_stands_in(self) -> bool {
        !matches!(self, Self::Unmatched | Self::SensitiveHeader)
    }
}

/// One reason why the findings are not the whole truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotClean {
    /// The kind.
    pub why: Why,
    /// The file, as (source, position in its listing); `None`: a job, and with it all files.
    pub object: Option<(usize, usize)>,
    /// The file's label, or the job.
    pub label: String,
    /// Macie's reason, or the type of the finding.
    pub detail: Option<String>,
}

/// Creates a job per bucket, waits for them, and reads what they found. Costs money by the gigabyte.
///
/// # Errors
/// Exit 2 `macie-nothing-on-s3`, `macie-identifier-unknown`, `macie-account-unknown`, `macie-request-invalid`; 3 `macie-throttled`, `macie-unavailable`,
/// `macie-job-running` (after [`Options::max_wait`]), `macie-results-damaged`; 4 `macie-not-enabled`, `macie-denied`, `macie-quota`, `aws-credentials`, `no-credentials`.
/// A job that ends paused or cancelled is no error: it is not clean.
pub async fn classify(
    client: &MacieClient,
    stores: &Stores,
    sources: &[SourceFiles<'_>],
    options: &Options,
    clock: &dyn Clock,
    on_waiting: OnWaiting<'_>,
) -> Result<Macie> {
    let ids = job::create(client, &Scope::of(sources), options).await?;
    let read = read(client, stores, sources, &ids, options, clock, on_waiting).await;
    read.map_err(|error| job::with_ids(error, &ids))
}

/// Reads what earlier jobs found, by id; waits for those that still run.
///
/// # Errors
/// As [`classify`], and exit 2 `macie-job-not-found`.
pub async fn import(
    client: &MacieClient,
    stores: &Stores,
    sources: &[SourceFiles<'_>],
    job_ids: &[String],
    options: &Options,
    clock: &dyn Clock,
    on_waiting: OnWaiting<'_>,
) -> Result<Macie> {
    job::check_ids(job_ids)?;
    client.session().await?;
    read(client, stores, sources, job_ids, options, clock, on_waiting).await
}

async fn read(
    client: &MacieClient,
    stores: &Stores,
    sources: &[SourceFiles<'_>],
    ids: &[String],
    options: &Options,
    clock: &dyn Clock,
    on_waiting: OnWaiting<'_>,
) -> Result<Macie> {
    let jobs = job::wait(client, ids, options, clock, on_waiting).await?;
    let mut judge = Judge::new(sources);
    for job in &jobs {
        client.findings(&job.id, |report| judge.take(&report, job.started_s)).await?;
    }
    if let Some(place) = client.destination().await? {
        let root = options.results.as_ref().map_or_else(|| format!("s3://{}", place.bucket), |uri| uri.0.trim_end_matches('/').to_owned());
        let prefix = if place.prefix.is_empty() { String::new() } else { format!("{}/", place.prefix) };
        let folder = |job: &JobReport| results::Folder {
            uri: Uri(format!("{root}/{prefix}AWSLogs/{}/Macie/{}/{}", job.account, job.region, job.id)),
            job_id: job.id.clone(),
            started_s: job.started_s,
        };
        let (folders, stores): (Vec<_>, _) = (jobs.iter().map(folder).collect(), stores.clone());
        let reading = tokio::task::spawn_blocking(move || results::read(&stores, &folders, &mut judge).map(|_| judge)).await;
        judge = reading.map_err(|_| Failure::new(Culprit::Outside, "interrupted", "reading Amazon Macie's results was stopped"))??;
    }
    Ok(judge.finish(jobs, options, clock.now_s()))
}

#[cfg(test)]
mod tests;
