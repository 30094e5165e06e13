//! Keyring files: wrapped root keys by version, and how a root key is made and unwrapped.
//!
//! A keyring file is JSON, holds nothing secret, and is useless without the KMS key that it names:
//!
//! ```json
//! {
//!   "apiVersion": "perimeter/v1",
//!   "kind": "Keyring",
//!   "id": "person",
//!   "provider": "awsKms",
//!   "keyId": "alias/perimeter-person",
//!   "versions": [{
//!     "version": 1,
//!     "state": "active",
//!     "created": "2026-11-30T12:00:00Z",
//!     "wrapped": {"run": "AQID…", "reveal": "AQID…", "serve": "AQID…"},
//!     "encryptionContext": {"app": "perimeter", "keyring": "person", "keyVersion": "1"},
//!     "commitment": "kx3v…"
//!   }],
//!   "split": {"created": "2026-11-30T12:00:00Z", "wrapped": "AQID…", "commitment": "b0Fx…"}
//! }
//! ```
//!
//! A destroyed version has no wraps; its commitment stays, so that a copy from a backup is recognised
//! ([`KeyringFile::resurrects`]), and `"destroyed": {"at": …, "why": …}` says when and why. `split` is a key of the whole keyring: it
//! decides which split a value belongs to and does not rotate, or an entity would move from training to validation. Files without one are
//! valid; [`add_split_key`] adds it.
//!
//! `wrapped` holds the same root key once per [`Purpose`]; each wrap's encryption context is the one shown and the `purpose` that
//! it stands under, so that IAM can allow runs and refuse reveals. The context in the file is for auditors: the one that is sent
//! is computed, and a file that shows another is refused.
mod cache;
mod file;
mod lifecycle;
mod split;
mod view;

pub use cache::KeyCache;
pub use lifecycle::{add_split_key, destroy, is_reason, retire, rewrap, rotate};
pub use split::{SplitKey, Splitter, unwrap_split};
pub use view::{KeyringView, VersionView};

use crate::derive::{Label, RootKey};
use crate::kms::{EncryptionContext, Kms, KmsError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use subtle::ConstantTimeEq;

/// A validated keyring file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyringFile {
    id: String,
    provider: Provider,
    versions: Vec<KeyVersion>,
    split: Option<split::WrappedSplit>,
}

/// One root key of a keyring, wrapped.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyVersion {
    version: u32,
    state: State,
    created: String,
    wrapped: BTreeMap<Purpose, Vec<u8>>,
    commitment: [u8; 32],
    tombstone: Option<Tombstone>,
}

/// When and why a key version was destroyed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tombstone {
    /// RFC 3339, UTC.
    pub at: String,
    /// What the person who did it gave as the reason.
    pub why: String,
}

/// Who wraps a keyring's root keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// AWS KMS.
    AwsKms {
        /// Key id, ARN or alias.
        key_id: String,
    },
    /// A key file beside the keyring.
    Local,
}

/// What a key version may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Makes tokens.
    Active,
    /// Makes no more tokens, still reveals.
    Retired,
    /// Its wraps are gone, and with them every way back.
    Destroyed,
}

/// What a root key is unwrapped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// A job that pseudonymizes.
    Run,
    /// Re-identification of tokens.
    Reveal,
    /// Tokens at serving time.
    Serve,
    /// Which split a value belongs to: a key of its own, see [`SplitKey`].
    Split,
}

impl Purpose {
    /// Those that a version's root key is wrapped for, in that order.
    pub const ALL: [Self; 3] = [Self::Run, Self::Reveal, Self::Serve];

    /// The name in file and encryption context.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reveal => "reveal",
            Self::Serve => "serve",
            Self::Split => "split",
        }
    }
}

/// Why bytes are no keyring file. Whoever wrote the file has to act; places are given, contents never.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// No JSON, or a key is missing, unknown or of the wrong type.
    #[error("the keyring file is malformed at line {line}, column {column}")]
    Malformed {
        /// Line, from 1; 0 when it is not known.
        line: usize,
        /// Column, from 1; 0 when it is not known.
        column: usize,
    },
    /// Something in it contradicts the format or itself.
    #[error("the keyring file is invalid: {what}")]
    Invalid {
        /// Which rule is broken.
        what: &'static str,
    },
}

/// Why there is no root key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The KMS gave nothing.
    #[error(transparent)]
    Kms(#[from] KmsError),
    /// An id is 1 to 128 ASCII letters, digits, `.`, `_` or `-`.
    #[error("a keyring id is 1 to 128 ASCII letters, digits, '.', '_' or '-'")]
    BadId,
    /// The file was made with another kind of provider than the one it is opened with.
    #[error("the keyring was made with another KMS provider than the job names")]
    WrongProvider,
    /// No such version.
    #[error("the keyring has no version {version}")]
    NoSuchVersion {
        /// The one asked for.
        version: u32,
    },
    /// No version is active.
    #[error("the keyring has no active version")]
    NoActiveVersion,
    /// A retired version makes no tokens.
    #[error("version {version} of the keyring is retired: it reveals tokens and makes none")]
    Retired {
        /// The one asked for.
        version: u32,
    },
    /// A destroyed version is gone.
    #[error("version {version} of the keyring is destroyed")]
    Destroyed {
        /// The one asked for.
        version: u32,
    },
    /// The version has no wrap for this purpose.
    #[error("version {version} of the keyring is not wrapped for this purpose ({})", purpose.as_str())]
    NotWrapped {
        /// The one asked for.
        version: u32,
        /// The purpose asked for.
        purpose: Purpose,
    },
    /// An active version is not destroyed: it has to be retired first.
    #[error("version {version} of the keyring is active: retire it first, and see that no job names it")]
    StillActive {
        /// The one asked for.
        version: u32,
    },
    /// A reason is what the record is for.
    #[error("a reason is 1 to 500 characters on one line")]
    BadReason,
    /// The keyring was made without a split key.
    #[error("the keyring has no split key: add one, once")]
    NoSplitKey,
    /// It has one, and it never changes.
    #[error("the keyring has a split key already, which does not change")]
    HasSplitKey,
    /// 2^32 - 1 versions are all there are.
    #[error("the keyring has no number left for another version")]
    NoVersionLeft,
    /// What the KMS unwrapped is not the key that the file commits to: the file was tampered with.
    #[error("the unwrapped key is not the one that version {version} of the keyring commits to")]
    Commitment {
        /// The one asked for.
        version: u32,
    },
}

/// Makes a keyring with one active version, wrapped for every purpose, and a split key: two `GenerateDataKey` and one `Encrypt` for each
/// further purpose.
///
/// # Errors
/// [`KeyError::BadId`], or what the KMS says.
pub async fn create_keyring(kms: &dyn Kms, id: &str) -> Result<KeyringFile, KeyError> {
    if !valid_id(id) {
        return Err(KeyError::BadId);
    }
    let version = new_version(kms, id, 1).await?;
    let split = split::WrappedSplit::generate(kms, id).await?;
    Ok(KeyringFile { id: id.to_owned(), provider: kms.provider(), versions: vec![version], split: Some(split) })
}

async fn new_version(kms: &dyn Kms, keyring: &str, version: u32) -> Result<KeyVersion, KeyError> {
    let context = |purpose| EncryptionContext { keyring: keyring.to_owned(), version, purpose };
    let made = kms.generate_data_key(&context(Purpose::Run)).await?;
    let mut wrapped = BTreeMap::from([(Purpose::Run, made.wrapped)]);
    for purpose in [Purpose::Reveal, Purpose::Serve] {
        wrapped.insert(purpose, kms.encrypt(&made.root, &context(purpose)).await?);
    }
    let commitment = commitment(&RootKey::new(made.root, keyring, version));
    Ok(KeyVersion { version, state: State::Active, created: now(), wrapped, commitment, tombstone: None })
}

fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// Unwraps the root key of `version` (the newest active one when `None`) with one KMS call, and checks it against the file's commitment.
///
/// # Errors
/// See [`KeyError`]. A retired version is unwrapped for reveal and serve only.
pub async fn unwrap_root(kms: &dyn Kms, file: &KeyringFile, version: Option<u32>, purpose: Purpose) -> Result<RootKey, KeyError> {
    let (entry, wrapped) = usable(kms, file, version, purpose)?;
    unwrap(kms, file, entry, wrapped, purpose).await
}

/// The version to use and its wrap; says no where no call to the KMS could help.
fn usable<'a>(kms: &dyn Kms, file: &'a KeyringFile, version: Option<u32>, purpose: Purpose) -> Result<(&'a KeyVersion, &'a [u8]), KeyError> {
    if !same_kind(&kms.provider(), &file.provider) {
        return Err(KeyError::WrongProvider);
    }
    let entry = match version {
        Some(version) => file.version(version).ok_or(KeyError::NoSuchVersion { version })?,
        None => file.newest_active().ok_or(KeyError::NoActiveVersion)?,
    };
    let version = entry.version;
    match (entry.state, purpose) {
        (State::Destroyed, _) => return Err(KeyError::Destroyed { version }),
        (State::Retired, Purpose::Run) => return Err(KeyError::Retired { version }),
        (State::Active | State::Retired, _) => {}
    }
    let wrapped = entry.wrapped.get(&purpose).ok_or(KeyError::NotWrapped { version, purpose })?;
    Ok((entry, wrapped))
}

async fn unwrap(kms: &dyn Kms, file: &KeyringFile, entry: &KeyVersion, wrapped: &[u8], purpose: Purpose) -> Result<RootKey, KeyError> {
    let version = entry.version;
    let root = kms.decrypt(wrapped, &EncryptionContext { keyring: file.id.clone(), version, purpose }).await?;
    let root = RootKey::new(root, &file.id, version);
    if !bool::from(commitment(&root).ct_eq(&entry.commitment)) {
        return Err(KeyError::Commitment { version });
    }
    Ok(root)
}

/// A hash of the root key, the keyring and the version under a label of its own. Neither wrap (AES-GCM) commits to its key:
/// without this, a forged file could unwrap to different keys for different readers.
fn commitment(root: &RootKey) -> [u8; 32] {
    *root.derive::<32>("", Label::Commitment).expose()
}

fn same_kind(one: &Provider, other: &Provider) -> bool {
    matches!((one, other), (Provider::Local, Provider::Local) | (Provider::AwsKms { .. }, Provider::AwsKms { .. }))
}

fn valid_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

impl KeyringFile {
    /// Reads a keyring file.
    ///
    /// # Errors
    /// See [`KeyringError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyringError> {
        let file: file::Keyring = serde_json::from_slice(bytes).map_err(|error| KeyringError::Malformed { line: error.line(), column: error.column() })?;
        file.validate()
    }

    /// The file's bytes: pretty JSON and a newline, the same for the same keyring.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(&file::Keyring::from(self)).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who wraps its keys.
    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// All versions, ascending.
    pub fn versions(&self) -> &[KeyVersion] {
        &self.versions
    }

    /// One version.
    pub fn version(&self, version: u32) -> Option<&KeyVersion> {
        self.versions.iter().find(|entry| entry.version == version)
    }

    /// Whether there is a split key.
    pub fn has_split_key(&self) -> bool {
        self.split.is_some()
    }

    /// Versions that this file can unwrap though `known`, a later state of the same keyring, has destroyed them: this file comes from a
    /// backup. Recognised by the commitment, which outlives the wraps.
    pub fn resurrects(&self, known: &Self) -> Vec<u32> {
        let destroyed = |entry: &&KeyVersion| known.versions.iter().any(|other| other.state == State::Destroyed && other.commitment == entry.commitment);
        self.versions.iter().filter(|entry| !entry.wrapped.is_empty()).filter(destroyed).map(KeyVersion::version).collect()
    }

    /// The newest version that makes tokens.
    pub fn newest_active(&self) -> Option<&KeyVersion> {
        self.versions.iter().rev().find(|entry| entry.state == State::Active)
    }
}

impl KeyVersion {
    /// Its number, from 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// When it was made: RFC 3339, UTC.
    pub fn created(&self) -> &str {
        &self.created
    }

    /// When and why it was destroyed, where that is recorded.
    pub fn tombstone(&self) -> Option<&Tombstone> {
        self.tombstone.as_ref()
    }

    /// The purposes that it is wrapped for.
    pub fn purposes(&self) -> impl Iterator<Item = Purpose> {
        self.wrapped.keys().copied()
    }
}

impl fmt::Debug for KeyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyVersion").field("version", &self.version).field("state", &self.state).field("created", &self.created).finish_non_exhaustive()
    }
}
