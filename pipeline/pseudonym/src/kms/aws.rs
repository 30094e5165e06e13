//! AWS KMS over its SDK.
use super::{DataKey, EncryptionContext, Kms, KmsError};
use crate::Secret;
use crate::keyring::Provider;
use async_trait::async_trait;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_kms::Client;
use aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::DataKeySpec;
use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;
use zeroize::Zeroize;

/// A symmetric key of AWS KMS.
///
/// Region, credentials and endpoint come from the environment as for every AWS tool (`AWS_ENDPOINT_URL` and
/// `AWS_ENDPOINT_URL_KMS` are honoured). A call is tried up to five times, with back-off and jitter, when it was throttled or got
/// no answer; every attempt and the whole have a time limit.
#[derive(Clone)]
pub struct AwsKms {
    client: Client,
    key_id: String,
}

impl AwsKms {
    /// The key `key_id` (id, ARN or alias), with the configuration of the environment. Makes no call to KMS.
    pub async fn from_environment(key_id: &str) -> Self {
        let retry = RetryConfig::standard().with_max_attempts(5).with_initial_backoff(Duration::from_millis(200)).with_max_backoff(Duration::from_secs(5));
        let timeout = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(5))
            .operation_attempt_timeout(Duration::from_secs(10))
            .operation_timeout(Duration::from_secs(60))
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest()).retry_config(retry).timeout_config(timeout).load().await;
        Self::new(&config, key_id)
    }

    /// The key `key_id` with a configuration of the caller's, who then answers for retries and time limits.
    pub fn new(config: &SdkConfig, key_id: &str) -> Self {
        Self { client: Client::new(config), key_id: key_id.to_owned() }
    }
}

impl fmt::Debug for AwsKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's configuration stays out: it holds credentials.
        f.debug_struct("AwsKms").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[async_trait]
impl Kms for AwsKms {
    fn provider(&self) -> Provider {
        Provider::AwsKms { key_id: self.key_id.clone() }
    }

    async fn generate_data_key(&self, context: &EncryptionContext) -> Result<DataKey, KmsError> {
        let mut answer = self
            .client
            .generate_data_key()
            .key_id(&self.key_id)
            .key_spec(DataKeySpec::Aes256)
            .set_encryption_context(Some(map(context)))
            .send()
            .await
            .map_err(classify)?;
        let root = take_root(answer.plaintext.take())?;
        let wrapped = answer.ciphertext_blob.take().ok_or_else(odd_answer)?.into_inner();
        Ok(DataKey { root, wrapped })
    }

    async fn encrypt(&self, root: &Secret<32>, context: &EncryptionContext) -> Result<Vec<u8>, KmsError> {
        let answer = self
            .client
            .encrypt()
            .key_id(&self.key_id)
            .plaintext(Blob::new(root.expose().as_slice()))
            .set_encryption_context(Some(map(context)))
            .send()
            .await
            .map_err(classify)?;
        Ok(answer.ciphertext_blob.ok_or_else(odd_answer)?.into_inner())
    }

    async fn decrypt(&self, wrapped: &[u8], context: &EncryptionContext) -> Result<Secret<32>, KmsError> {
        // Without a key id KMS would take any key of ours that a forged blob names.
        let mut answer = self
            .client
            .decrypt()
            .key_id(&self.key_id)
            .ciphertext_blob(Blob::new(wrapped))
            .set_encryption_context(Some(map(context)))
            .send()
            .await
            .map_err(classify)?;
        take_root(answer.plaintext.take())
    }

    async fn reencrypt(&self, wrapped: &[u8], context: &EncryptionContext, target: &dyn Kms) -> Result<Vec<u8>, KmsError> {
        let Provider::AwsKms { key_id: target_key } = target.provider() else {
            let root = self.decrypt(wrapped, context).await?;
            return target.encrypt(&root, context).await;
        };
        // The key stays inside KMS.
        let answer = self
            .client
            .re_encrypt()
            .source_key_id(&self.key_id)
            .destination_key_id(target_key)
            .ciphertext_blob(Blob::new(wrapped))
            .set_source_encryption_context(Some(map(context)))
            .set_destination_encryption_context(Some(map(context)))
            .send()
            .await
            .map_err(classify)?;
        Ok(answer.ciphertext_blob.ok_or_else(odd_answer)?.into_inner())
    }
}

fn map(context: &EncryptionContext) -> HashMap<String, String> {
    context.pairs().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Moves the plaintext out of the SDK's answer and wipes what it leaves. (Buffers inside the SDK are beyond us.)
fn take_root(plaintext: Option<Blob>) -> Result<Secret<32>, KmsError> {
    let mut bytes = plaintext.ok_or_else(odd_answer)?.into_inner();
    let root = Secret::from_slice(&bytes).ok_or_else(odd_answer);
    bytes.zeroize();
    root
}

fn odd_answer() -> KmsError {
    KmsError::Unavailable { code: "unexpected-answer".into() }
}

/// Sorts an SDK error by who has to act. The SDK has no variant for throttling: codes are strings.
fn classify<E, R>(error: SdkError<E, R>) -> KmsError
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    R: fmt::Debug + Send + Sync + 'static,
{
    match &error {
        SdkError::ServiceError(answer) => by_code(answer.err().code().unwrap_or("no-error-code")),
        SdkError::TimeoutError(_) => KmsError::Unavailable { code: "timeout".into() },
        SdkError::DispatchFailure(failure) if failure.is_timeout() => KmsError::Unavailable { code: "timeout".into() },
        SdkError::DispatchFailure(failure) if failure.is_io() => KmsError::Unavailable { code: "unreachable".into() },
        // No credentials, no region, an endpoint that is no URL: nothing that waiting would mend.
        SdkError::ConstructionFailure(_) => KmsError::Invalid { code: "aws-configuration".into() },
        SdkError::DispatchFailure(failure) if failure.is_user() => KmsError::Invalid { code: "aws-configuration".into() },
        SdkError::DispatchFailure(_) => KmsError::Denied { code: "no-credentials".into() },
        _ => KmsError::Unavailable { code: "unexpected-answer".into() },
    }
}

/// Error codes of the AWS KMS API reference and the common errors of AWS services.
fn by_code(code: &str) -> KmsError {
    match code {
        "InvalidCiphertextException" | "IncorrectKeyException" => KmsError::Rejected,
        "AccessDeniedException"
        | "AccessDenied"
        | "DisabledException"
        | "KMSInvalidStateException"
        | "InvalidGrantTokenException"
        | "ExpiredTokenException"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "NotAuthorized"
        | "OptInRequired"
        | "SignatureDoesNotMatch" => KmsError::Denied { code: code.into() },
        "NotFoundException"
        | "InvalidKeyUsageException"
        | "ValidationException"
        | "ValidationError"
        | "InvalidArnException"
        | "SerializationException"
        | "UnknownOperationException"
        | "UnsupportedOperationException" => KmsError::Invalid { code: code.into() },
        // ThrottlingException, LimitExceededException, KMSInternalException, DependencyTimeoutException, KeyUnavailableException,
        // and whatever comes: an unknown code is no reason to say that a person must act.
        other => KmsError::Unavailable { code: other.chars().filter(char::is_ascii_graphic).take(64).collect() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_by_who_has_to_act() {
        for code in ["ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded", "LimitExceededException"] {
            let error = by_code(code);
            assert!(error.is_throttling() && error.is_retryable(), "{code}");
        }
        for code in ["KMSInternalException", "DependencyTimeoutException", "KeyUnavailableException", "InternalFailure", "a new one"] {
            let error = by_code(code);
            assert!(error.is_retryable() && !error.is_throttling(), "{code}");
        }
        for code in ["AccessDeniedException", "DisabledException", "KMSInvalidStateException", "ExpiredTokenException"] {
            assert!(matches!(by_code(code), KmsError::Denied { .. }) && !by_code(code).is_retryable(), "{code}");
        }
        for code in ["InvalidCiphertextException", "IncorrectKeyException"] {
            assert!(matches!(by_code(code), KmsError::Rejected) && !by_code(code).is_retryable(), "{code}");
        }
        for code in ["NotFoundException", "ValidationException", "InvalidKeyUsageException"] {
            assert!(matches!(by_code(code), KmsError::Invalid { .. }) && !by_code(code).is_retryable(), "{code}");
        }
        assert_eq!(by_code("bad\ncode \u{1b}[31m").to_string(), "KMS is unavailable for now (badcode[31m)");
    }
}
