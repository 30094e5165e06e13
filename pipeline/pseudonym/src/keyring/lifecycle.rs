//! From one keyring file to the next: rotate, rewrap, retire, destroy. Reading and writing them is the caller's, and so is asking twice.
//!
//! | step | tokens | the file after |
//! |---|---|---|
//! | [`rotate`] | new ones differ; jobs pin the version they make | one more active version |
//! | [`rewrap`] | unchanged | every wrap made by another KMS key |
//! | [`retire`] | no new ones, old ones still reveal | the version is retired |
//! | [`destroy`] | nothing can be revealed or made again | the version has no wraps; its commitment and a tombstone stay |
use super::split::WrappedSplit;
use super::{KeyError, KeyringFile, Purpose, RootKey, State, Tombstone, commitment, new_version, now, same_kind};
use crate::kms::{EncryptionContext, Kms};
use subtle::ConstantTimeEq;

/// Adds a version with a fresh root key: one `GenerateDataKey` and two `Encrypt`. Older versions stay as they are, since jobs pin theirs.
///
/// # Errors
/// [`KeyError::WrongProvider`], or what the KMS says.
pub async fn rotate(kms: &dyn Kms, file: &KeyringFile) -> Result<KeyringFile, KeyError> {
    // One KMS key a file: another one comes by `rewrap`.
    if kms.provider() != file.provider {
        return Err(KeyError::WrongProvider);
    }
    let newest = file.versions.last().map_or(0, |entry| entry.version);
    let version = newest.checked_add(1).ok_or(KeyError::NoVersionLeft)?;
    let mut rotated = file.clone();
    rotated.versions.push(new_version(kms, &file.id, version).await?);
    Ok(rotated)
}

/// Wraps every key of the file by `to` instead of `from`. Each new wrap is unwrapped once and checked against the commitment before the
/// old one is given up: a file that could not be opened later would be the loss of all tokens.
///
/// # Errors
/// [`KeyError::WrongProvider`] when `from` is not what the file was made with, [`KeyError::Commitment`], or what either KMS says.
pub async fn rewrap(from: &dyn Kms, to: &dyn Kms, file: &KeyringFile) -> Result<KeyringFile, KeyError> {
    if !same_kind(&from.provider(), &file.provider) {
        return Err(KeyError::WrongProvider);
    }
    let mut rewrapped = file.clone();
    rewrapped.provider = to.provider();
    for entry in &mut rewrapped.versions {
        let version = entry.version;
        for (&purpose, wrapped) in &mut entry.wrapped {
            let context = EncryptionContext { keyring: file.id.clone(), version, purpose };
            let made = from.reencrypt(wrapped, &context, to).await?;
            let root = RootKey::new(to.decrypt(&made, &context).await?, &file.id, version);
            if !bool::from(commitment(&root).ct_eq(&entry.commitment)) {
                return Err(KeyError::Commitment { version });
            }
            *wrapped = made;
        }
    }
    if let Some(split) = &mut rewrapped.split {
        split.rewrap(from, to, &file.id).await?;
    }
    Ok(rewrapped)
}

/// Ends the making of tokens with a version. Retiring it again changes nothing.
///
/// # Errors
/// [`KeyError::NoSuchVersion`], [`KeyError::Destroyed`].
pub fn retire(file: &KeyringFile, version: u32) -> Result<KeyringFile, KeyError> {
    let mut retired = file.clone();
    let entry = retired.versions.iter_mut().find(|entry| entry.version == version).ok_or(KeyError::NoSuchVersion { version })?;
    if entry.state == State::Destroyed {
        return Err(KeyError::Destroyed { version });
    }
    entry.state = State::Retired;
    Ok(retired)
}

/// Removes every wrap of a retired version. Copies of the file elsewhere still hold them: crypto-shredding is done when backups and object
/// versions are gone too, or the KMS key itself.
///
/// # Errors
/// [`KeyError::NoSuchVersion`], [`KeyError::StillActive`], [`KeyError::Destroyed`] when it was done before, [`KeyError::BadReason`].
pub fn destroy(file: &KeyringFile, version: u32, why: &str) -> Result<KeyringFile, KeyError> {
    if !is_reason(why) {
        return Err(KeyError::BadReason);
    }
    let mut destroyed = file.clone();
    let entry = destroyed.versions.iter_mut().find(|entry| entry.version == version).ok_or(KeyError::NoSuchVersion { version })?;
    match entry.state {
        State::Active => return Err(KeyError::StillActive { version }),
        State::Destroyed => return Err(KeyError::Destroyed { version }),
        State::Retired => {}
    }
    entry.state = State::Destroyed;
    entry.wrapped.clear();
    entry.tombstone = Some(Tombstone { at: now(), why: why.to_owned() });
    Ok(destroyed)
}

/// Gives a keyring that was made without one its split key.
///
/// # Errors
/// [`KeyError::HasSplitKey`], [`KeyError::WrongProvider`], or what the KMS says.
pub async fn add_split_key(kms: &dyn Kms, file: &KeyringFile) -> Result<KeyringFile, KeyError> {
    if file.split.is_some() {
        return Err(KeyError::HasSplitKey);
    }
    if kms.provider() != file.provider {
        return Err(KeyError::WrongProvider);
    }
    let mut added = file.clone();
    added.split = Some(WrappedSplit::generate(kms, &file.id).await?);
    Ok(added)
}

/// Whether a text can stand in a record as the reason for something: 1 to 500 characters on one line, not all of them blank.
pub fn is_reason(why: &str) -> bool {
    !why.trim().is_empty() && why.chars().count() <= 500 && !why.chars().any(char::is_control)
}

/// The context of the split key: no version has the number 0.
pub(super) fn split_context(keyring: &str) -> EncryptionContext {
    EncryptionContext { keyring: keyring.to_owned(), version: 0, purpose: Purpose::Split }
}
