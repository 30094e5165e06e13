//! Re-identification: the values behind tokens of one column, for a reason, with a record that is written first.
//!
//! [`column()`] takes what made the tokens from the job's own files: transform, options, join domain, key. No data is read for it, so it works
//! after the job's input is gone and for people who may not read it. [`reveal`] then
//! 1. writes the *intent* record ([`Audit`]): who, when, where, which column, by which keys, how many tokens, why; never a token or a value,
//! 2. unwraps the keys through the wrap for `purpose = reveal`, which IAM can refuse to whoever may run jobs,
//! 3. opens token after token, at most so many a second as asked,
//! 4. writes the *outcome* record: how many opened.
//!
//! When the first record cannot be written nothing else happens. An intent without an outcome (a process that was killed) counts as if
//! everything had been revealed.
mod audit;
mod column;

pub use audit::Audit;
pub use column::{Column, column};

use crate::error::{Culprit, Error, Failure, Result};
use crate::keys::{self, key_failure};
use crate::store::Stores;
use perimeter_contract::Contract;
use perimeter_contract::job::Key;
use perimeter_pseudonym::keyring::{KeyError, KeyringFile, State, is_reason};
use perimeter_pseudonym::reveal::{Revealer, Reversible, unwrap_reveal};
use perimeter_pseudonym::transform::{TokenRefused, token_version};
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use zeroize::Zeroizing;

/// What is asked.
#[derive(Debug)]
pub struct Request<'a> {
    /// The job whose tokens they are.
    pub contract: &'a Contract,
    /// What made them.
    pub column: &'a Column,
    /// For tokens that do not name their key version; for others it is the only one that is opened.
    pub version: Option<u32>,
    /// Why, in a sentence.
    pub reason: &'a str,
    /// Where the records go.
    pub audit: &'a Audit,
    /// At most so many tokens a second.
    pub rate: Option<NonZeroU32>,
}

/// Why a token gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// It was not made by this key, column and transform, or was altered.
    Rejected,
    /// Its key version is destroyed.
    Destroyed,
    /// Its key version is not among those that were asked for, or is not in the keyring.
    OtherVersion,
}

impl Unopened {
    /// Kebab-case, stable.
    pub fn code(self) -> &'static str {
        match self {
            Self::Rejected => "token-rejected",
            Self::Destroyed => "version-destroyed",
            Self::OtherVersion => "other-version",
        }
    }
}

/// Gets the position from 0 of every token and its value.
pub type Show<'a> = dyn FnMut(usize, Result<&str, Unopened>) -> io::Result<()> + 'a;

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tokens that gave a value.
    pub revealed: usize,
    /// Tokens that did not.
    pub unopened: usize,
}

/// Reveals `tokens` one by one into `show`.
///
/// # Errors
/// Nothing was shown: exit 2 for a reason, version or keyring that cannot be used, 3 and 4 when the intent cannot be recorded or KMS says no.
/// Something was shown: what `show` said, or `audit-incomplete` when the outcome could not be recorded.
pub async fn reveal(request: &Request<'_>, tokens: &[&[u8]], stores: &Arc<Stores>, show: &mut Show<'_>) -> Result<Result<Counts, io::Error>> {
    check_reason(request.reason, tokens)?;
    let (key, uri) = (&request.column.key, &request.column.key.keyring);
    let file = keys::read(uri, stores).await?.ok_or_else(|| Failure::new(Culprit::File, "keyring-not-found", format!("there is no keyring at {}", uri.0)))?;
    let versions = versions(request, &file, tokens)?;

    let record = audit::Record::new(file.id())?;
    request.audit.append(&record.intent(request, &file, &versions, tokens.len())).await?;

    let revealer = match open(request.column, key, &file, &versions).await {
        Ok(revealer) => revealer,
        Err(error) => {
            // The record of what did not happen may fail too; the first failure is the one to act on.
            let _ = request.audit.append(&record.outcome(Counts::default(), "keys-not-opened")).await;
            return Err(error);
        }
    };
    let (counts, shown) = run(request, revealer, &file, tokens, show).await;
    let ended = if shown.is_ok() { "complete" } else { "output-failed" };
    match (request.audit.append(&record.outcome(counts, ended)).await, shown) {
        (Ok(()), Ok(())) => Ok(Ok(counts)),
        (Ok(()), Err(error)) => Ok(Err(error)),
        (Err(Error::Failed(failure)), _) => {
            let message = format!("{} values were shown, and the record of the outcome cannot be written: {}", counts.revealed, failure.message);
            let help = "the record of the intent is there; tell whoever keeps the records";
            Err(Failure { culprit: failure.culprit, code: "audit-incomplete", message, help: Some(help.to_owned()), source: failure.source }.into())
        }
        (Err(error), _) => Err(error),
    }
}

fn check_reason(reason: &str, tokens: &[&[u8]]) -> Result<()> {
    if !is_reason(reason) {
        return Err(Failure::new(Culprit::File, "bad-reason", "a reason is 1 to 500 characters on one line")
            .help("say why in a sentence: the record keeps it")
            .into());
    }
    // The records live longer than the tokens should, and where others read them.
    if tokens.iter().any(|token| token.len() >= 6 && reason.as_bytes().windows(token.len()).any(|part| part == *token)) {
        return Err(Failure::new(Culprit::File, "reason-holds-token", "the reason quotes one of the tokens")
            .help("name the case instead: the record keeps the reason")
            .into());
    }
    Ok(())
}

/// The key versions to open: those that the tokens name, or the one that is said where tokens name none.
fn versions(request: &Request<'_>, file: &KeyringFile, tokens: &[&[u8]]) -> Result<BTreeSet<u32>> {
    let failure = |error: &KeyError| key_failure(error, &request.column.key.keyring);
    let usable = |version: u32| match file.version(version).map(|entry| entry.state()) {
        None => Err(failure(&KeyError::NoSuchVersion { version })),
        Some(State::Destroyed) => Err(failure(&KeyError::Destroyed { version })),
        Some(State::Active | State::Retired) => Ok(version),
    };
    if let Some(version) = request.version {
        return Ok(BTreeSet::from([usable(version)?]));
    }
    if let Reversible::CryptoReplaceFfxFpe(_) = request.column.reversible {
        // Any key opens them to something: a guess would be a wrong person.
        return match (request.column.key.version, file.versions()) {
            (Some(version), _) => Ok(BTreeSet::from([usable(version)?])),
            (None, [only]) => Ok(BTreeSet::from([usable(only.version())?])),
            (None, several) => Err(Failure::new(
                Culprit::File,
                "version-needed",
                format!("tokens of {} do not name their key version, and the keyring has {}", request.column.transform, several.len()),
            )
            .help("say --key-version N: the manifest of the data set that the tokens are from names it (`keys`)")
            .into()),
        };
    }
    let named: BTreeSet<u32> = tokens.iter().filter_map(|token| token_version(std::str::from_utf8(token).ok()?)).collect();
    let known: BTreeSet<u32> = named.into_iter().filter(|&version| file.version(version).is_some()).collect();
    let open: BTreeSet<u32> = known.iter().copied().filter(|&version| usable(version).is_ok()).collect();
    match known.first() {
        Some(&version) if open.is_empty() => Err(failure(&KeyError::Destroyed { version })),
        _ => Ok(open),
    }
}

/// `None` when no token names a version of the keyring: then there is nothing to open them with.
async fn open(column: &Column, key: &Key, file: &KeyringFile, versions: &BTreeSet<u32>) -> Result<Option<Revealer>> {
    if versions.is_empty() {
        return Ok(None);
    }
    let kms = keys::provider(&key.provider, &key.keyring).await?;
    let mut opened = Vec::with_capacity(versions.len());
    for &version in versions {
        opened.push(unwrap_reveal(kms.as_ref(), file, version).await.map_err(|error| key_failure(&error, &key.keyring))?);
    }
    let revealer = Revealer::new(&opened, &column.join_domain, &column.reversible);
    Ok(Some(revealer.map_err(|error| Failure::new(Culprit::File, "not-revealable", format!("column `{}`: {error}", column.name)))?))
}

async fn run(request: &Request<'_>, mut revealer: Option<Revealer>, file: &KeyringFile, tokens: &[&[u8]], show: &mut Show<'_>) -> (Counts, io::Result<()>) {
    let mut counts = Counts::default();
    let mut ticks = request.rate.map(|rate| {
        let mut ticks = tokio::time::interval((Duration::from_secs(1) / rate.get()).max(Duration::from_nanos(1)));
        // Time that was lost is not made up for by a burst.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        ticks
    });
    let mut value = Zeroizing::new(Vec::new());
    for (position, token) in tokens.iter().enumerate() {
        if let Some(ticks) = &mut ticks {
            ticks.tick().await;
        }
        value.clear();
        let opened = open_token(revealer.as_mut(), file, token, &mut value);
        // Counted before it is shown: half a line may be out when the output fails.
        match opened {
            Ok(_) => counts.revealed += 1,
            Err(_) => counts.unopened += 1,
        }
        if let Err(error) = show(position, opened) {
            return (counts, Err(error));
        }
    }
    (counts, Ok(()))
}

fn open_token<'a>(revealer: Option<&mut Revealer>, file: &KeyringFile, token: &[u8], value: &'a mut Vec<u8>) -> Result<&'a str, Unopened> {
    let token = std::str::from_utf8(token).map_err(|_| Unopened::Rejected)?;
    let other = || match token_version(token).and_then(|version| file.version(version)) {
        Some(entry) if entry.state() == State::Destroyed => Unopened::Destroyed,
        _ => Unopened::OtherVersion,
    };
    let Some(revealer) = revealer else {
        return Err(if token_version(token).is_some() { other() } else { Unopened::Rejected });
    };
    match revealer.reveal(token, value) {
        Ok(()) => std::str::from_utf8(value).map_err(|_| Unopened::Rejected),
        Err(TokenRefused::OtherVersion) => Err(other()),
        Err(_) => Err(Unopened::Rejected),
    }
}

/// What the job's files say, for the records.
fn facts(contract: &Contract) -> serde_json::Value {
    let digest = |kind: &str| contract.sources.files.iter().find(|file| file.kind == kind).map(|file| hex::encode(file.sha256));
    json!({
        "job": {"name": contract.job.name, "sha256": digest("Job")},
        "policy": {"name": contract.policy.name, "version": contract.policy.version, "sha256": digest("Policy")},
    })
}
