//! Keyrings: the root keys of a run, and what an operator does to the files.
//!
//! [`open`] reads every keyring that the plan names and unwraps one root key per keyring version: one KMS call each, however
//! many rows there are and however many names of the job mean the same key. [`create`] makes a keyring for `perimeter keys create` and
//! for jobs that say `create: true`. [`hold`] reads one to change it: [`rotate`], [`rewrap`], [`retire`], [`destroy`] and
//! [`add_split_key`] put the next state in its place, or nothing when somebody else was faster.
mod failure;
mod hold;
mod lifecycle;

pub(crate) use failure::{key_failure, store_failure};
pub use hold::{Held, hold};
pub use lifecycle::{add_split_key, destroy, retire, rewrap, rotate};

use crate::error::{Culprit, Error, Failure, Result};
use crate::plan::Plan;
use crate::store::Stores;
use perimeter_contract::job::{Job, Provider, Uri};
use perimeter_pseudonym::RootKey;
use perimeter_pseudonym::keyring::{KeyCache, KeyError, KeyringFile, Purpose, create_keyring};
use perimeter_pseudonym::kms::{AwsKms, Kms, KmsError, LocalKms};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Keyring files are small; anything larger is something else.
const KEYRING_BYTES: u64 = 1 << 20;

/// The opened root keys of a job, by key name. `Debug` shows names and versions only.
#[derive(Debug)]
pub struct Keys {
    roots: BTreeMap<String, Arc<RootKey>>,
}

/// What the manifest says of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyFacts {
    /// The key's name in the job.
    pub name: String,
    /// The keyring's id.
    pub keyring: String,
    /// The version that made the tokens.
    pub version: u32,
}

impl Keys {
    /// The root key behind a key name.
    ///
    /// # Errors
    /// The plan does not name it, which is a fault of the tool.
    pub fn root(&self, name: &str) -> Result<&RootKey> {
        self.shared(name).map(Arc::as_ref)
    }

    /// As [`Keys::root`], for who keeps it.
    ///
    /// # Errors
    /// As [`Keys::root`].
    pub fn shared(&self, name: &str) -> Result<&Arc<RootKey>> {
        self.roots.get(name).ok_or_else(|| Failure::new(Culprit::File, "key-not-opened", format!("the key `{name}` was not opened for this run")).into())
    }

    /// Ids and versions, in the order of names.
    pub fn facts(&self) -> Vec<KeyFacts> {
        self.roots.iter().map(|(name, root)| KeyFacts { name: name.clone(), keyring: root.keyring().to_owned(), version: root.version() }).collect()
    }
}

/// Opens every key that the plan needs.
///
/// # Errors
/// A keyring is missing or malformed (exit 2), KMS denies (exit 4) or cannot be reached (exit 3).
pub async fn open(plan: &Plan, stores: &Arc<Stores>) -> Result<Keys> {
    let (mut roots, known) = (BTreeMap::new(), KeyCache::default());
    for name in plan.key_names() {
        roots.insert(name.to_owned(), open_known(name, &plan.contract.job, stores, &known).await?);
    }
    Ok(Keys { roots })
}

/// Opens one key of a job, making its keyring where the job says so.
///
/// # Errors
/// As [`open`].
pub async fn open_one(name: &str, job: &Job, stores: &Arc<Stores>) -> Result<Arc<RootKey>> {
    open_known(name, job, stores, &KeyCache::default()).await
}

async fn open_known(name: &str, job: &Job, stores: &Arc<Stores>, known: &KeyCache) -> Result<Arc<RootKey>> {
    let Some(key) = job.keys.get(name) else {
        return Err(Failure::new(Culprit::File, "key-missing", format!("the job names no key `{name}`")).into());
    };
    let file = match read(&key.keyring, stores).await? {
        Some(file) => file,
        None if key.create => create(&key.keyring, &key.provider, stores).await?,
        None => {
            return Err(Failure::new(Culprit::File, "keyring-not-found", format!("there is no keyring at {}", key.keyring.0))
                .help(format!("make it with `perimeter keys create {}`, or correct `keys.{name}.keyring`", key.keyring.0))
                .into());
        }
    };
    let kms = provider(&key.provider, &key.keyring).await?;
    known.unwrap_root(kms.as_ref(), &file, key.version, Purpose::Run).await.map_err(|error| key_failure(&error, &key.keyring))
}

/// Reads a keyring file; `None` when there is none.
///
/// # Errors
/// It cannot be read, or is no keyring.
pub async fn read(uri: &Uri, stores: &Arc<Stores>) -> Result<Option<KeyringFile>> {
    let (blocking, place) = (Arc::clone(stores), uri.clone());
    let bytes = tokio::task::spawn_blocking(move || blocking.read_all(&place, KEYRING_BYTES)).await.map_err(|_| stopped())?;
    match bytes {
        Ok(bytes) => parse(&bytes, uri).map(Some),
        Err(Error::Failed(failure)) if failure.code == "input-not-found" => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(bytes: &[u8], uri: &Uri) -> Result<KeyringFile> {
    KeyringFile::parse(bytes).map_err(|error| {
        Failure::new(Culprit::File, "malformed-keyring", format!("{}: {error}", uri.0))
            .help("name the keyring itself (NAME.keyring.json, not the key file beside it); a damaged one is restored from its backup, never repaired by hand")
            .into()
    })
}

fn stopped() -> Error {
    Failure::new(Culprit::Outside, "stopped", "the work was stopped").into()
}

/// Makes a keyring with one version and writes it where nothing is yet.
///
/// # Errors
/// There is one already (exit 2), the place cannot be written, KMS says no.
pub async fn create(uri: &Uri, by: &Provider, stores: &Arc<Stores>) -> Result<KeyringFile> {
    if *by == Provider::Local
        && let Some(folder) = Path::new(&uri.0).parent()
    {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(Culprit::Denied, "unwritable-keyring", format!("the folder of {} cannot be made", uri.0)).because(error))?;
    }
    let kms = match by {
        Provider::Local => local(uri, LocalKms::open_or_create)?,
        Provider::AwsKms { .. } => provider(by, uri).await?,
    };
    let file = create_keyring(kms.as_ref(), &keyring_id(uri)).await.map_err(|error| key_failure(&error, uri))?;
    let (blocking, place, bytes) = (Arc::clone(stores), uri.clone(), file.to_bytes());
    let written = tokio::task::spawn_blocking(move || blocking.put_if_absent(&place, bytes)).await.map_err(|_| stopped())??;
    if !written {
        return Err(Failure::new(Culprit::File, "keyring-exists", format!("there is a keyring at {} already", uri.0))
            .help("a keyring is never overwritten: its tokens would be lost; choose another place")
            .into());
    }
    Ok(file)
}

/// `…/person.keyring.json` is the keyring `person`.
fn keyring_id(uri: &Uri) -> String {
    let name = uri.0.rsplit('/').next().unwrap_or(&uri.0);
    let stem = name.strip_suffix(".json").unwrap_or(name);
    stem.strip_suffix(".keyring").unwrap_or(stem).to_owned()
}

fn local(uri: &Uri, open: impl FnOnce(&Path) -> Result<LocalKms, KmsError>) -> Result<Box<dyn Kms>> {
    if uri.0.contains("://") {
        return Err(Failure::new(
            Culprit::File,
            "local-keyring-place",
            format!("{}: a keyring of the local provider stands on local disk, beside its key file", uri.0),
        )
        .into());
    }
    let kms = open(&LocalKms::key_file(Path::new(&uri.0))).map_err(|error| key_failure(&KeyError::Kms(error), uri))?;
    Ok(Box::new(kms))
}

pub(crate) async fn provider(by: &Provider, keyring: &Uri) -> Result<Box<dyn Kms>> {
    match by {
        Provider::Local => local(keyring, LocalKms::open),
        Provider::AwsKms { key_id } => Ok(Box::new(AwsKms::from_environment(key_id).await)),
    }
}
