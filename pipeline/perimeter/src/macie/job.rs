//! Creating jobs and waiting for them.
use super::client::{MacieClient, NewJob};
use super::failure::is_outside;
use super::scope::{BucketScope, Scope};
use super::{JobReport, JobStatus, Options};
use crate::error::{Culprit, Error, Failure, Result};
use async_trait::async_trait;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time, so that tests need none.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Seconds since 1970.
    fn now_s(&self) -> i64;
    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now_s(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// What to show while a job runs.
#[derive(Clone, Debug)]
pub struct Waiting<'a> {
    /// The job.
    pub job_id: &'a str,
    /// What Macie says of it.
    pub status: JobStatus,
    /// Objects that are left, about.
    pub objects_to_process: Option<u64>,
    /// Since the wait began.
    pub waited: Duration,
}

/// Called after every look at a job.
pub type OnWaiting<'a> = &'a (dyn Fn(&Waiting<'_>) + Send + Sync);

/// The first pause between two looks, and the longest. A job takes minutes to hours.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Looks that may fail in a row, each after the SDK's own retries.
const FAILURES: u32 = 5;

/// Creates one job per bucket of the scope and gives their ids. The same run, scope and identifiers give the same jobs, however often this is called.
pub(super) async fn create(client: &MacieClient, scope: &Scope, options: &Options) -> Result<Vec<String>> {
    if scope.buckets.is_empty() {
        return Err(Failure::new(Culprit::File, "macie-nothing-on-s3", "none of the job's sources is on S3: Amazon Macie has nothing to look at")
            .help("take `macie` out of the policy's gates, or read the sources from S3")
            .into());
    }
    let session = client.session().await?;
    let account = options.account.clone().or(session.account).ok_or_else(|| {
        Failure::new(Culprit::File, "macie-account-unknown", "Amazon Macie does not say which account owns the buckets")
            .help("name the bucket owner's account id")
    })?;
    let known = client.identifiers().await?;
    let unknown: Vec<&str> = options.identifiers.iter().filter(|id| !known.contains(*id)).map(String::as_str).collect();
    if !unknown.is_empty() {
        return Err(Failure::new(
            Culprit::File,
            "macie-identifier-unknown",
            format!("Amazon Macie has no managed data identifier {} in this region", unknown.join(", ")),
        )
        .help("name the identifiers that the job is to use: what is not looked for is not found")
        .into());
    }
    let mut ids = Vec::new();
    for bucket in &scope.buckets {
        let job = NewJob {
            account: &account,
            name: clip(&format!("perimeter {} {} {}", options.job_name, bucket.bucket, options.run_id), 500),
            token: token(bucket, options, &account),
            tags: HashMap::from([("perimeter-job".to_owned(), tag(&options.job_name)), ("perimeter-run".to_owned(), tag(&options.run_id))]),
            identifiers: &options.identifiers,
            custom_identifiers: &options.custom_identifiers,
        };
        let created = client.create(bucket, job).await;
        ids.push(created.map_err(|error| with_ids(error, &ids))?);
    }
    Ok(ids)
}

/// Jobs that were created go on, and are paid for: whoever has to act can import them.
pub(super) fn with_ids(error: Error, ids: &[String]) -> Error {
    match error {
        Error::Failed(mut failure) if !ids.is_empty() => {
            let help = failure.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
            failure.help = Some(format!("{help}what was created goes on, import it instead of paying twice: {}", ids.join(", ")));
            Error::Failed(failure)
        }
        error => error,
    }
}

/// Waits until no job runs any more. A paused job is no longer waited for: a quota comes back with the month.
pub(super) async fn wait(client: &MacieClient, ids: &[String], options: &Options, clock: &dyn Clock, on_waiting: OnWaiting<'_>) -> Result<Vec<JobReport>> {
    let began = clock.now_s();
    let mut done = Vec::with_capacity(ids.len());
    for id in ids {
        let (mut pause, mut failures) = (FIRST_PAUSE, 0);
        loop {
            let waited = Duration::from_secs(u64::try_from(clock.now_s().saturating_sub(began)).unwrap_or(0));
            match client.describe(id).await {
                Ok(job) => {
                    failures = 0;
                    on_waiting(&Waiting { job_id: id, status: job.status, objects_to_process: job.objects_to_process, waited });
                    if job.status != JobStatus::Running {
                        done.push(job);
                        break;
                    }
                }
                Err(error) if is_outside(&error) && failures + 1 < FAILURES => failures += 1,
                Err(error) => return Err(error),
            }
            if options.max_wait.is_some_and(|most| waited >= most) {
                return Err(Failure::new(Culprit::Outside, "macie-job-running", format!("Amazon Macie: job {id} still runs"))
                    .help("wait longer, or import the job later")
                    .into());
            }
            clock.sleep(pause).await;
            pause = pause.saturating_mul(3).checked_div(2).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
        }
    }
    Ok(done)
}

/// Ids that a person gave.
pub(super) fn check_ids(ids: &[String]) -> Result<()> {
    let fits = |id: &String| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if ids.is_empty() || !ids.iter().all(fits) {
        return Err(Failure::new(Culprit::File, "macie-job-not-found", "that is not the id of an Amazon Macie job")
            .help("`aws macie2 list-classification-jobs` shows the ids: 32 hexadecimal digits")
            .into());
    }
    Ok(())
}

/// Deterministic, so that a call that is tried again makes no second job.
fn token(scope: &BucketScope, options: &Options, account: &str) -> String {
    let mut digest = Sha256::new();
    let parts = [&options.run_id, &options.job_name, account, &scope.bucket];
    let lists = [&scope.prefixes, &options.identifiers, &options.custom_identifiers];
    for part in parts.into_iter().map(|part: &str| part).chain(lists.into_iter().flat_map(|list| [""].into_iter().chain(list.iter().map(String::as_str)))) {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    hex::encode(digest.finalize())
}

fn clip(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// Tag values take letters, digits, spaces and `_ . : / = + - @`.
fn tag(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || " _.:/=+-@".contains(c) { c } else { '_' }).take(256).collect()
}
