//! One KMS call per key and process.
use super::{KeyError, KeyringFile, Purpose, unwrap, usable};
use crate::derive::RootKey;
use crate::kms::Kms;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Root keys that this process has unwrapped, so that each costs one `Decrypt` however often, and from however many tasks at once, it is
/// asked for.
///
/// A key is found again by keyring, version, purpose and commitment: another file with the same names is another key. A version that the
/// file at hand says is retired or destroyed is refused though it is known. Failures are not kept. Dropping the cache wipes the keys that
/// nobody else holds.
#[derive(Default)]
pub struct KeyCache {
    roots: Mutex<BTreeMap<Identity, Arc<RootKey>>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    keyring: String,
    version: u32,
    purpose: Purpose,
    commitment: [u8; 32],
}

impl KeyCache {
    /// As [`super::unwrap_root`], with a KMS call the first time only. Other tasks wait for the one that calls.
    ///
    /// # Errors
    /// As there.
    pub async fn unwrap_root(&self, kms: &dyn Kms, file: &KeyringFile, version: Option<u32>, purpose: Purpose) -> Result<Arc<RootKey>, KeyError> {
        let (entry, wrapped) = usable(kms, file, version, purpose)?;
        let identity = Identity { keyring: file.id.clone(), version: entry.version, purpose, commitment: entry.commitment };
        let mut roots = self.roots.lock().await;
        if let Some(root) = roots.get(&identity) {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(unwrap(kms, file, entry, wrapped, purpose).await?);
        roots.insert(identity, Arc::clone(&root));
        Ok(root)
    }
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").finish_non_exhaustive()
    }
}
