//! The key that decides which split a value belongs to. It does not rotate.
//!
//! It is a key of its own and not a subkey of a version: with a version's key the splits would change when the version does, and end when
//! it is destroyed, so that an entity seen in training could turn up in validation. Whoever has it learns which split a value would be in,
//! which is less than a token says; it opens nothing.
use super::lifecycle::split_context;
use super::{KeyError, KeyringFile, same_kind};
use crate::derive::{Label, RootKey};
use crate::kms::{Kms, KmsError};
use crate::transform::hash::KeyedHash;
use std::fmt;
use subtle::ConstantTimeEq;

/// The split key of a keyring file, wrapped.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct WrappedSplit {
    pub(super) created: String,
    pub(super) wrapped: Vec<u8>,
    pub(super) commitment: [u8; 32],
}

impl fmt::Debug for WrappedSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappedSplit").field("created", &self.created).finish_non_exhaustive()
    }
}

impl WrappedSplit {
    pub(super) async fn generate(kms: &dyn Kms, keyring: &str) -> Result<Self, KmsError> {
        let made = kms.generate_data_key(&split_context(keyring)).await?;
        let root = RootKey::new(made.root, keyring, 0);
        Ok(Self { created: super::now(), wrapped: made.wrapped, commitment: super::commitment(&root) })
    }

    async fn unwrap(&self, kms: &dyn Kms, wrapped: &[u8], keyring: &str) -> Result<RootKey, KeyError> {
        let root = RootKey::new(kms.decrypt(wrapped, &split_context(keyring)).await?, keyring, 0);
        if bool::from(super::commitment(&root).ct_eq(&self.commitment)) { Ok(root) } else { Err(KeyError::Commitment { version: 0 }) }
    }

    pub(super) async fn rewrap(&mut self, from: &dyn Kms, to: &dyn Kms, keyring: &str) -> Result<(), KeyError> {
        let made = from.reencrypt(&self.wrapped, &split_context(keyring), to).await?;
        self.unwrap(to, &made, keyring).await?;
        self.wrapped = made;
        Ok(())
    }
}

/// Unwraps the split key with one KMS call, and checks it against the file's commitment.
///
/// # Errors
/// [`KeyError::NoSplitKey`] for files of before there was one; see [`KeyError`] for the others.
pub async fn unwrap_split(kms: &dyn Kms, file: &KeyringFile) -> Result<SplitKey, KeyError> {
    if !same_kind(&kms.provider(), &file.provider) {
        return Err(KeyError::WrongProvider);
    }
    let split = file.split.as_ref().ok_or(KeyError::NoSplitKey)?;
    split.unwrap(kms, &split.wrapped, &file.id).await.map(SplitKey)
}

/// The unwrapped split key of a keyring.
pub struct SplitKey(RootKey);

impl SplitKey {
    /// The splitter of one join domain.
    pub fn splitter(&self, join_domain: &str) -> Splitter {
        Splitter(KeyedHash::new(&self.0.derive(join_domain, Label::Split)))
    }
}

impl fmt::Debug for SplitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitKey").field("keyring", &self.0.keyring()).finish_non_exhaustive()
    }
}

/// Where a value stands between 0 and 1, by a keyed hash.
#[derive(Clone)]
pub struct Splitter(KeyedHash);

impl Splitter {
    /// The place of a canonical value, uniform over all 64-bit numbers: a split of a tenth takes those below 2^64 / 10.
    #[inline]
    pub fn place(&self, value: &[u8]) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.hash(&[value]);
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Debug for Splitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Splitter").finish_non_exhaustive()
    }
}
