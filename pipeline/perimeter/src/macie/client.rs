//! The calls that are made, one function each. Everything is paged to its end and nothing is retried here: the SDK does that.
use super::failure::{call_failure, odd_answer};
use super::report::{Report, of_finding};
use super::scope::BucketScope;
use super::{JobReport, JobStatus};
use crate::error::{Culprit, Failure, Result};
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_macie2::types::{
    CriterionAdditionalProperties, FindingCriteria, JobComparator, JobScopeTerm, JobScopingBlock, JobType, LastRunErrorStatusCode, MacieStatus,
    ManagedDataIdentifierSelector, S3BucketDefinitionForJob, S3JobDefinition, ScopeFilterKey, Scoping, SimpleScopeTerm,
};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

/// Amazon Macie over its SDK.
///
/// Region, credentials and endpoint come from the environment as for every AWS tool (`AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_MACIE2` are honoured). A call is
/// tried up to five times, with back-off and jitter, when it was throttled or got no answer; every attempt and the whole have a time limit.
#[derive(Clone)]
pub struct MacieClient {
    client: aws_sdk_macie2::Client,
}

/// The most ids that GetFindings takes, and ListFindings gives.
const PAGE: i32 = 50;
/// Pages of a listing that never ends are no listing.
const MAX_PAGES: usize = 100_000;

/// Where detailed results go.
pub(super) struct Destination {
    pub(super) bucket: String,
    pub(super) prefix: String,
}

/// What the account says of itself.
pub(super) struct Session {
    /// From the ARN of the service's role.
    pub(super) account: Option<String>,
}

/// What CreateClassificationJob is asked for, beside the scope.
pub(super) struct NewJob<'a> {
    pub(super) account: &'a str,
    pub(super) name: String,
    pub(super) token: String,
    pub(super) tags: HashMap<String, String>,
    pub(super) identifiers: &'a [String],
    pub(super) custom_identifiers: &'a [String],
}

impl MacieClient {
    /// The service that the environment names. Makes no call.
    pub async fn from_environment() -> Self {
        let retry = RetryConfig::standard().with_max_attempts(5).with_initial_backoff(Duration::from_millis(200)).with_max_backoff(Duration::from_secs(5));
        let timeout = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .operation_attempt_timeout(Duration::from_secs(20))
            .operation_timeout(Duration::from_secs(90))
            .build();
        Self::new(&aws_config::defaults(BehaviorVersion::latest()).retry_config(retry).timeout_config(timeout).load().await)
    }

    /// With a configuration of the caller's, who then answers for retries and time limits.
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: aws_sdk_macie2::Client::new(config) }
    }

    /// GetMacieSession: refuses an account in which Macie is suspended, or was never enabled.
    pub(super) async fn session(&self) -> Result<Session> {
        let answer = self.client.get_macie_session().send().await.map_err(|e| call_failure("reading the session", &e))?;
        if answer.status() != Some(&MacieStatus::Enabled) {
            return Err(Failure::new(Culprit::Denied, "macie-not-enabled", "Amazon Macie is suspended in this account and region")
                .help("resume Amazon Macie, or take `macie` out of the policy's gates")
                .into());
        }
        let account = answer.service_role().and_then(|arn| arn.split(':').nth(4)).filter(|id| id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit()));
        Ok(Session { account: account.map(str::to_owned) })
    }

    /// ListManagedDataIdentifiers: every id that this region has.
    pub(super) async fn identifiers(&self) -> Result<BTreeSet<String>> {
        let (mut all, mut token) = (BTreeSet::new(), None);
        for _ in 0..MAX_PAGES {
            let request = self.client.list_managed_data_identifiers().set_next_token(token.take());
            let answer = request.send().await.map_err(|e| call_failure("listing managed data identifiers", &e))?;
            all.extend(answer.items().iter().filter_map(|item| item.id()).map(str::to_owned));
            token = answer.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
            if token.is_none() {
                return Ok(all);
            }
        }
        Err(odd_answer("an end of the list"))
    }

    /// CreateClassificationJob: one bucket, once, all objects below the prefixes. The same token gives the same job.
    pub(super) async fn create(&self, scope: &BucketScope, job: NewJob<'_>) -> Result<String> {
        let bucket = S3BucketDefinitionForJob::builder().account_id(job.account).buckets(&scope.bucket).build();
        let mut definition = S3JobDefinition::builder().bucket_definitions(bucket);
        if !scope.prefixes.is_empty() {
            let term = SimpleScopeTerm::builder()
                .comparator(JobComparator::StartsWith)
                .key(ScopeFilterKey::ObjectKey)
                .set_values(Some(scope.prefixes.clone()))
                .build();
            let block = JobScopingBlock::builder().and(JobScopeTerm::builder().simple_scope_term(term).build()).build();
            definition = definition.scoping(Scoping::builder().includes(block).build());
        }
        let answer = self
            .client
            .create_classification_job()
            .name(job.name)
            .client_token(job.token)
            .job_type(JobType::OneTime)
            .s3_job_definition(definition.build())
            .managed_data_identifier_selector(ManagedDataIdentifierSelector::Include)
            .set_managed_data_identifier_ids(Some(job.identifiers.to_vec()))
            .set_custom_data_identifier_ids((!job.custom_identifiers.is_empty()).then(|| job.custom_identifiers.to_vec()))
            .sampling_percentage(100)
            .set_tags(Some(job.tags))
            .send()
            .await
            .map_err(|e| call_failure("creating the job", &e))?;
        answer.job_id().map(str::to_owned).ok_or_else(|| odd_answer("a job id"))
    }

    /// DescribeClassificationJob.
    pub(super) async fn describe(&self, id: &str) -> Result<JobReport> {
        let job = self.client.describe_classification_job().job_id(id).send().await.map_err(|e| call_failure("reading the job", &e))?;
        let mut arn = job.job_arn().unwrap_or_default().split(':').skip(3);
        let place = arn.next().zip(arn.next()).filter(|(region, account)| !region.is_empty() && !account.is_empty());
        let (region, account) = place.ok_or_else(|| odd_answer("the job's ARN"))?;
        Ok(JobReport {
            id: id.to_owned(),
            status: status(job.job_status().map(|status| status.as_str())),
            started_s: job.last_run_time().or(job.created_at()).map(aws_sdk_macie2::primitives::DateTime::secs),
            objects_to_process: job.statistics().and_then(|s| s.approximate_number_of_objects_to_process()).map(|n| n.max(0.0) as u64),
            had_errors: job.last_run_error_status().and_then(|status| status.code()) == Some(&LastRunErrorStatusCode::Error),
            has_allow_lists: !job.allow_list_ids().is_empty(),
            selector: job.managed_data_identifier_selector().map_or("RECOMMENDED", |selector| selector.as_str()).to_owned(),
            identifiers: job.managed_data_identifier_ids().iter().cloned().collect(),
            region: region.to_owned(),
            account: account.to_owned(),
        })
    }

    /// ListFindings and GetFindings: every finding of a job, archived (suppressed) ones too, a page at a time.
    pub(super) async fn findings(&self, job_id: &str, mut each: impl FnMut(Report)) -> Result<()> {
        let criterion = CriterionAdditionalProperties::builder().eq(job_id).build();
        let criteria = FindingCriteria::builder().criterion("classificationDetails.jobId", criterion).build();
        let mut token = None;
        for _ in 0..MAX_PAGES {
            let request = self.client.list_findings().finding_criteria(criteria.clone()).max_results(PAGE).set_next_token(token.take());
            let page = request.send().await.map_err(|e| call_failure("listing findings", &e))?;
            for ids in page.finding_ids().chunks(PAGE.unsigned_abs() as usize) {
                let request = self.client.get_findings().set_finding_ids(Some(ids.to_vec()));
                let answer = request.send().await.map_err(|e| call_failure("reading findings", &e))?;
                // A finding that was listed and is not there would be one that nobody resolves.
                if answer.findings().len() < ids.len() {
                    return Err(odd_answer("all of the findings that it listed"));
                }
                answer.findings().iter().filter_map(of_finding).for_each(&mut each);
            }
            token = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
            if token.is_none() {
                return Ok(());
            }
        }
        Err(odd_answer("an end of the list"))
    }

    /// GetClassificationExportConfiguration: where detailed results go, if they are kept.
    pub(super) async fn destination(&self) -> Result<Option<Destination>> {
        let answer = self.client.get_classification_export_configuration().send().await.map_err(|e| call_failure("reading the export configuration", &e))?;
        let Some(found) = answer.configuration().and_then(|configuration| configuration.s3_destination()) else { return Ok(None) };
        let bucket = found.bucket_name().ok_or_else(|| odd_answer("the results' bucket"))?.to_owned();
        Ok(Some(Destination { bucket, prefix: found.key_prefix().unwrap_or_default().trim_matches('/').to_owned() }))
    }
}

impl fmt::Debug for MacieClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's configuration stays out: it holds credentials.
        f.debug_struct("MacieClient").finish_non_exhaustive()
    }
}

fn status(text: Option<&str>) -> JobStatus {
    match text {
        // A recurring job between two runs.
        Some("COMPLETE" | "IDLE") => JobStatus::Complete,
        Some("PAUSED") => JobStatus::Paused,
        Some("USER_PAUSED") => JobStatus::UserPaused,
        Some("CANCELLED") => JobStatus::Cancelled,
        _ => JobStatus::Running,
    }
}
