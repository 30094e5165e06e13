//! Who wraps root keys: [`AwsKms`], or [`LocalKms`] for development and tests.
//!
//! A provider sees one 32-byte root key per keyring version and never a value of the data. Everything that it wraps is bound to
//! an [`EncryptionContext`], which is authenticated but not secret (AWS writes it to CloudTrail).
mod aws;
mod local;

pub use aws::AwsKms;
pub use local::LocalKms;

use crate::Secret;
use crate::keyring::{Provider, Purpose};
use async_trait::async_trait;
use std::fmt;

/// A key management service that wraps root keys.
#[async_trait]
pub trait Kms: Send + Sync {
    /// What a keyring file that is made here records, and must record to be opened here.
    fn provider(&self) -> Provider;

    /// Makes a fresh root key and wraps it.
    ///
    /// # Errors
    /// See [`KmsError`].
    async fn generate_data_key(&self, context: &EncryptionContext) -> Result<DataKey, KmsError>;

    /// Wraps a root key that [`Self::generate_data_key`] made, for another context.
    ///
    /// # Errors
    /// See [`KmsError`].
    async fn encrypt(&self, root: &Secret<32>, context: &EncryptionContext) -> Result<Vec<u8>, KmsError>;

    /// Unwraps a root key.
    ///
    /// # Errors
    /// [`KmsError::Rejected`] when `wrapped` was not made by this key for this context; see [`KmsError`] for the others.
    async fn decrypt(&self, wrapped: &[u8], context: &EncryptionContext) -> Result<Secret<32>, KmsError>;

    /// Wraps what is wrapped here by `target`, for the same context. A service that can do so never shows the key; else it is unwrapped
    /// here and wrapped there.
    ///
    /// # Errors
    /// As [`Self::decrypt`] and [`Self::encrypt`].
    async fn reencrypt(&self, wrapped: &[u8], context: &EncryptionContext, target: &dyn Kms) -> Result<Vec<u8>, KmsError> {
        let root = self.decrypt(wrapped, context).await?;
        target.encrypt(&root, context).await
    }
}

/// A fresh root key, plain and wrapped.
pub struct DataKey {
    /// The key.
    pub root: Secret<32>,
    /// The same, for the keyring file.
    pub wrapped: Vec<u8>,
}

impl KmsError {
    /// Whether running again can help (exit 3), which is never so of a denial.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Whether the service said that it is asked too often. It says so in one of several codes.
    pub fn is_throttling(&self) -> bool {
        const CODES: [&str; 8] = [
            "ThrottlingException",
            "ThrottledException",
            "Throttling",
            "TooManyRequestsException",
            "RequestLimitExceeded",
            "RequestThrottled",
            "LimitExceededException",
            "SlowDown",
        ];
        matches!(self, Self::Unavailable { code } if CODES.contains(&code.as_str()))
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataKey").finish_non_exhaustive()
    }
}

/// What a wrapped key is bound to. Four fixed names, so that no two contexts can be taken for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionContext {
    /// The keyring's id.
    pub keyring: String,
    /// Its version.
    pub version: u32,
    /// What the wrap is for: IAM conditions tell runs from reveals by this.
    pub purpose: Purpose,
}

impl EncryptionContext {
    /// The value of `app` in every context.
    pub const APP: &'static str = "perimeter";

    /// Names and values as KMS gets them, in a fixed order.
    pub fn pairs(&self) -> [(&'static str, String); 4] {
        [
            ("app", Self::APP.to_owned()),
            ("keyring", self.keyring.clone()),
            ("keyVersion", self.version.to_string()),
            ("purpose", self.purpose.as_str().to_owned()),
        ]
    }
}

/// Why a KMS call gave nothing. Who has to act differs, so the kinds never mix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KmsError {
    /// The service said no, and will again: access, a disabled or deleted key, missing credentials. A person has to act.
    #[error("KMS denied the request ({code})")]
    Denied {
        /// The service's error code, or ours in kebab case.
        code: String,
    },
    /// Throttled, unreachable or timed out after bounded retries. Running again can help.
    #[error("KMS is unavailable for now ({code})")]
    Unavailable {
        /// The service's error code, or ours in kebab case.
        code: String,
    },
    /// The wrapped key does not belong to this key and context, or was altered. Says no more on purpose.
    #[error("KMS rejected the wrapped key")]
    Rejected,
    /// The request makes no sense to the service: no such key, a key of the wrong kind. A file has to change.
    #[error("KMS cannot use this key ({code})")]
    Invalid {
        /// The service's error code, or ours in kebab case.
        code: String,
    },
    /// The key file of [`LocalKms`].
    #[error("key file {}: {what}", path.display())]
    KeyFile {
        /// Which file.
        path: std::path::PathBuf,
        /// What is wrong with it, and the fix where there is one.
        what: String,
    },
}
