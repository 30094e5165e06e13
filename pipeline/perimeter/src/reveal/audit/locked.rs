//! Records on S3, under Object Lock where it is asked for.
//!
//! `object_store` has no way to ask for a retention, and headers that are added behind its signature are refused by S3. So its requests go
//! out unsigned to a connector of ours, which adds the headers and signs with `object_store`'s own [`AwsAuthorizer`]. Uploads carry a
//! SHA-256: S3 demands a checksum wherever a retention applies, a bucket's default one too.
use crate::error::{Culprit, Error, Failure, Result};
use crate::keys::store_failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{SecondsFormat, TimeDelta, Utc};
use object_store::aws::{AmazonS3, AmazonS3Builder, AwsAuthorizer, AwsCredential, Checksum};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector};
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, HeaderValue, ObjectStore, PutMode, PutOptions, PutPayload, RetryConfig};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A prefix of a bucket.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) name: String,
    pub(super) prefix: String,
    pub(super) retain_days: Option<u32>,
}

impl Bucket {
    /// Puts a record where none is.
    pub(super) async fn put(&self, shown: &str, name: &str, record: &Value) -> Result<()> {
        let key = if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        let invalid = |_| {
            Failure::new(Culprit::File, "invalid-uri", format!("{shown} is no prefix that can be used")).help("use keys without empty, `.` or `..` segments")
        };
        let path = Key::parse(key).map_err(invalid)?;
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.client().await?.put_opts(&path, PutPayload::from(format!("{record}\n").into_bytes()), options).await {
            // The name holds 128 random bits: what is there is ours, put by an attempt whose answer was lost.
            Ok(_) | Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(()),
            Err(error) => Err(self.refused(shown, &error)),
        }
    }

    fn refused(&self, shown: &str, error: &object_store::Error) -> Error {
        let text = error.to_string();
        if self.retain_days.is_some() && text.contains("<Code>InvalidRequest</Code>") {
            return Failure::new(Culprit::File, "no-object-lock", format!("{shown}: the bucket takes no retention"))
                .help("--audit-retain needs a bucket that was made with Object Lock")
                .into();
        }
        if text.contains("<Code>AccessDenied</Code>") {
            return Failure::new(Culprit::Denied, "access-denied", format!("{shown} may not be written"))
                .help("this identity needs s3:PutObject there, and s3:PutObjectRetention for --audit-retain")
                .into();
        }
        store_failure(shown, error)
    }

    /// A client for one record: credentials may end between the first and the last.
    async fn client(&self) -> Result<AmazonS3> {
        let aws = aws_config::defaults(aws_config::BehaviorVersion::latest()).load().await;
        let credential = credential(&aws).await?;
        let region = aws.region().map_or("us-east-1", |region| region.as_ref()).to_owned();
        let until = self.retain_days.map(until).transpose()?;
        let signing = Signing { credential, region: region.clone(), until };
        let retry = RetryConfig {
            backoff: BackoffConfig { init_backoff: Duration::from_millis(200), max_backoff: Duration::from_secs(4), base: 2.0 },
            max_retries: 5,
            retry_timeout: Duration::from_secs(15),
        };
        let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = named("AWS_ENDPOINT_URL_S3").or_else(|| named("AWS_ENDPOINT_URL")).or_else(|| aws.endpoint_url().map(str::to_owned));
        let options = ClientOptions::new().with_connect_timeout(Duration::from_secs(5)).with_timeout(Duration::from_secs(60));
        let builder = AmazonS3Builder::new()
            .with_bucket_name(&self.name)
            .with_region(region)
            .with_retry(retry)
            .with_skip_signature(true)
            .with_checksum_algorithm(Checksum::SHA256)
            .with_http_connector(signing);
        let builder = match endpoint {
            Some(url) => {
                let http = url.starts_with("http://");
                builder.with_endpoint(url).with_client_options(options.with_allow_http(http))
            }
            None => builder.with_virtual_hosted_style_request(!self.name.contains('.')).with_client_options(options),
        };
        let wrong = |_| Failure::new(Culprit::File, "invalid-store-configuration", format!("no S3 client can be made for bucket `{}`", self.name));
        Ok(builder.build().map_err(wrong)?)
    }
}

/// The day until which a record stays.
fn until(days: u32) -> Result<HeaderValue> {
    let at = Utc::now().checked_add_signed(TimeDelta::days(days.into())).map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true));
    let header = at.and_then(|at| HeaderValue::from_str(&at).ok());
    header.ok_or_else(|| Failure::new(Culprit::File, "audit-retain", format!("{days} days from now are beyond the calendar")).into())
}

async fn credential(aws: &aws_config::SdkConfig) -> Result<Arc<AwsCredential>> {
    let denied = || Failure::new(Culprit::Denied, "no-credentials", "no AWS credentials were found");
    let provider = aws.credentials_provider().ok_or_else(denied)?;
    let found = provider.as_ref().provide_credentials().await.map_err(|_| denied())?;
    Ok(Arc::new(AwsCredential {
        key_id: found.access_key_id().to_owned(),
        secret_key: found.secret_access_key().to_owned(),
        token: found.session_token().map(str::to_owned),
    }))
}

/// Adds the retention and signs.
#[derive(Clone)]
struct Signing {
    credential: Arc<AwsCredential>,
    region: String,
    until: Option<HeaderValue>,
}

impl fmt::Debug for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signing").field("until", &self.until).finish_non_exhaustive()
    }
}

impl HttpConnector for Signing {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Signed { inner: ReqwestConnector::default().connect(options)?, by: self.clone() }))
    }
}

#[derive(Debug)]
struct Signed {
    inner: HttpClient,
    by: Signing,
}

#[async_trait::async_trait]
impl HttpService for Signed {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let put = request.method().as_str() == "PUT";
        let headers = request.headers_mut();
        if put {
            // Names the checksum that `object_store` sends: required wherever a retention applies.
            headers.insert("x-amz-sdk-checksum-algorithm", HeaderValue::from_static("SHA256"));
        }
        if let (true, Some(until)) = (put, &self.by.until) {
            headers.insert("x-amz-object-lock-mode", HeaderValue::from_static("COMPLIANCE"));
            headers.insert("x-amz-object-lock-retain-until-date", until.clone());
        }
        // The body is a stream to the signer; its checksum is the digest that the signature needs.
        let digest = headers.get("x-amz-checksum-sha256").and_then(|checksum| STANDARD.decode(checksum.as_bytes()).ok());
        AwsAuthorizer::new(&self.by.credential, "s3", &self.by.region).authorize(&mut request, digest.as_deref());
        self.inner.execute(request).await
    }
}
