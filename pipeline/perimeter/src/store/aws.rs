//! An S3 client that is configured as the AWS SDK is.
use crate::error::{Culprit, Failure, Result};
use futures::future::BoxFuture;
use object_store::aws::{AmazonS3, AmazonS3Builder, AwsCredential};
use object_store::client::CredentialProvider;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A refused connection is reported within about twenty seconds.
#[cfg(not(test))]
const RETRY: Duration = Duration::from_secs(15);
#[cfg(test)]
const RETRY: Duration = Duration::from_secs(1);

/// The endpoint that the environment or the profile names, if it is not Amazon's own.
pub(super) fn endpoint(aws: &aws_config::SdkConfig) -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    named("AWS_ENDPOINT_URL_S3").or_else(|| named("AWS_ENDPOINT_URL")).or_else(|| aws.endpoint_url().map(str::to_owned))
}

/// The client of one bucket.
pub(super) fn s3(bucket: &str, sse_kms: Option<&str>, aws: &aws_config::SdkConfig, endpoint: Option<String>) -> Result<AmazonS3> {
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: Duration::from_millis(200), max_backoff: Duration::from_secs(4), base: 2.0 },
        max_retries: 8,
        retry_timeout: RETRY,
    };
    let client = ClientOptions::new().with_connect_timeout(Duration::from_secs(5)).with_timeout(Duration::from_secs(60));
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(aws.region().map_or("us-east-1", |r| r.as_ref()))
        .with_retry(retry)
        .with_credentials(Arc::new(credentials(aws)));
    builder = match endpoint {
        Some(url) => {
            let http = url.starts_with("http://");
            builder.with_endpoint(url).with_client_options(client.with_allow_http(http))
        }
        // Buckets with a dot do not fit the wildcard certificate.
        None => builder.with_virtual_hosted_style_request(!bucket.contains('.')).with_client_options(client),
    };
    if let Some(key) = sse_kms {
        builder = builder.with_sse_kms_encryption(key);
    }
    builder.build().map_err(|_| {
        Failure::new(Culprit::File, "invalid-store-configuration", format!("no S3 client can be made for bucket `{bucket}`"))
            .help("Look at the bucket's name, AWS_REGION and AWS_ENDPOINT_URL")
            .into()
    })
}

/// A credential and when it ends.
type Fetched = object_store::Result<(Arc<AwsCredential>, Option<SystemTime>)>;

/// The SDK's credential chain; what it gives is kept until a minute before it ends.
struct SdkCredentials {
    fetch: Box<dyn Fn() -> BoxFuture<'static, Fetched> + Send + Sync>,
    held: tokio::sync::Mutex<Option<(Arc<AwsCredential>, Option<SystemTime>)>>,
}

impl fmt::Debug for SdkCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SdkCredentials")
    }
}

#[async_trait::async_trait]
impl CredentialProvider for SdkCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let mut held = self.held.lock().await;
        let soon = SystemTime::now() + Duration::from_secs(60);
        if let Some((credential, end)) = held.as_ref()
            && end.is_none_or(|end| end > soon)
        {
            return Ok(Arc::clone(credential));
        }
        let (credential, end) = (self.fetch)().await?;
        *held = Some((Arc::clone(&credential), end));
        Ok(credential)
    }
}

fn credentials(aws: &aws_config::SdkConfig) -> SdkCredentials {
    let provider = aws.credentials_provider();
    let fetch = move || -> BoxFuture<'static, Fetched> {
        let provider = provider.clone();
        Box::pin(async move {
            let denied = || object_store::Error::Unauthenticated { path: String::new(), source: "no credentials".into() };
            let Some(provider) = provider else { return Err(denied()) };
            match provider.as_ref().provide_credentials().await {
                Ok(found) => {
                    let credential = AwsCredential {
                        key_id: found.access_key_id().to_owned(),
                        secret_key: found.secret_access_key().to_owned(),
                        token: found.session_token().map(str::to_owned),
                    };
                    Ok((Arc::new(credential), found.expiry()))
                }
                // The variants' type is not re-exported; a chain that is merely out of reach is worth another try later.
                Err(e) if ["ProviderTimedOut", "ProviderError"].iter().any(|kind| format!("{e:?}").starts_with(kind)) => {
                    Err(object_store::Error::Generic { store: "S3", source: "the credentials provider did not answer".into() })
                }
                Err(_) => Err(denied()),
            }
        })
    };
    SdkCredentials { fetch: Box::new(fetch), held: tokio::sync::Mutex::new(None) }
}
