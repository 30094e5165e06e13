//! What an operator does to a keyring: each takes it as it was read and puts the next state in its place.
use super::{Held, key_failure, local};
use crate::error::{Culprit, Failure, Result};
use perimeter_pseudonym::keyring::{self, KeyringFile, Provider};
use perimeter_pseudonym::kms::{AwsKms, Kms, LocalKms};

/// Adds a version with a fresh root key. Older ones stay as they are: jobs pin theirs.
///
/// # Errors
/// What KMS says (exit 2, 3, 4); see [`super::Held`] for the writing.
pub async fn rotate(held: Held) -> Result<KeyringFile> {
    let kms = wrapping(&held).await?;
    let next = keyring::rotate(kms.as_ref(), held.file()).await.map_err(|error| key_failure(&error, held.uri()))?;
    put(held, next).await
}

/// Wraps every root key anew, by `target` where it is given: KMS does it inside itself (`ReEncrypt`). Tokens stay as they are.
///
/// # Errors
/// As [`rotate`]; exit 2 `local-keyring` for a target beside the local provider, whose keys were on disk.
pub async fn rewrap(held: Held, target: Option<&str>) -> Result<KeyringFile> {
    let from = wrapping(&held).await?;
    let to: Box<dyn Kms> = match (held.file().provider(), target) {
        (Provider::AwsKms { key_id }, target) => Box::new(AwsKms::from_environment(target.unwrap_or(key_id)).await),
        (Provider::Local, None) => wrapping(&held).await?,
        (Provider::Local, Some(_)) => {
            return Err(Failure::new(Culprit::File, "local-keyring", format!("{} is of the local provider: its root keys lay open on a disk", held.uri().0))
                .help("make a new keyring with `perimeter keys create --kms-key`")
                .into());
        }
    };
    let next = keyring::rewrap(from.as_ref(), to.as_ref(), held.file()).await.map_err(|error| key_failure(&error, held.uri()))?;
    put(held, next).await
}

/// Ends the making of tokens with a version; they still reveal.
///
/// # Errors
/// Exit 2 when there is no such version or it is destroyed.
pub async fn retire(held: Held, version: u32) -> Result<KeyringFile> {
    let next = keyring::retire(held.file(), version).map_err(|error| key_failure(&error, held.uri()))?;
    put(held, next).await
}

/// Removes every wrap of a retired version and records when and why. `confirmed` is the keyring's id, typed back by whoever wants this.
///
/// # Errors
/// Exit 2 when the version is not retired, was destroyed before, or `confirmed` is another id.
pub async fn destroy(held: Held, version: u32, confirmed: &str, why: &str) -> Result<KeyringFile> {
    let next = keyring::destroy(held.file(), version, why).map_err(|error| key_failure(&error, held.uri()))?;
    if confirmed != held.file().id() {
        return Err(Failure::new(
            Culprit::File,
            "not-confirmed",
            format!("{} is not the id of the keyring at {}; nothing was destroyed", quoted(confirmed), held.uri().0),
        )
        .help("`perimeter keys list` shows the id; give it as --confirm when this keyring is the one that you mean")
        .into());
    }
    put(held, next).await
}

/// Gives a keyring of before there were split keys its own, once.
///
/// # Errors
/// As [`rotate`]; exit 2 when it has one.
pub async fn add_split_key(held: Held) -> Result<KeyringFile> {
    let kms = wrapping(&held).await?;
    let next = keyring::add_split_key(kms.as_ref(), held.file()).await.map_err(|error| key_failure(&error, held.uri()))?;
    put(held, next).await
}

async fn put(held: Held, next: KeyringFile) -> Result<KeyringFile> {
    if next != *held.file() {
        held.replace(&next).await?;
    }
    Ok(next)
}

/// The provider that the file itself names.
async fn wrapping(held: &Held) -> Result<Box<dyn Kms>> {
    match held.file().provider() {
        Provider::Local => local(held.uri(), LocalKms::open),
        Provider::AwsKms { key_id } => Ok(Box::new(AwsKms::from_environment(key_id).await)),
    }
}

/// What was typed, fit to be shown.
fn quoted(text: &str) -> String {
    format!("`{}`", text.chars().take(128).map(|c| if crate::plan::is_deceptive(c) { '\u{fffd}' } else { c }).collect::<String>())
}
