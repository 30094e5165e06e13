//! `perimeter keys …`: what happens to a keyring and what it means. Nothing here prints a key, wrapped or not.
use super::arguments::{Global, Keys};
use super::commands::{Done, Ended, result, result_json, say, uri};
use crate::error::{Culprit, Failure};
use crate::keys::{self, Held};
use crate::run::Services;
use perimeter_contract::job::{Provider, Uri};
use perimeter_pseudonym::keyring::{KeyringFile, State, VersionView, is_reason};
use serde_json::json;
use std::io::{self, BufRead, IsTerminal};

pub(super) async fn execute(global: &Global, command: Keys) -> Done {
    let services = Services::new(global.limits());
    let stores = &services.stores;
    match command {
        Keys::Create { keyring, kms_key, local: _ } => {
            let place = uri(&keyring)?;
            let provider = kms_key.map_or(Provider::Local, |key_id| Provider::AwsKms { key_id });
            let file = keys::create(&place, &provider, stores).await?;
            show(global, &place, &file)
        }
        Keys::List { keyring, known } => {
            let held = keys::hold(&uri(&keyring)?, stores).await?;
            show(global, held.uri(), held.file())?;
            match known {
                Some(known) => compare(&held, &keys::hold(&uri(&known)?, stores).await?),
                None => Ok(()),
            }
        }
        Keys::Rotate { keyring } => {
            let place = uri(&keyring)?;
            let file = keys::rotate(keys::hold(&place, stores).await?).await?;
            let version = file.versions().last().map_or(0, |entry| entry.version());
            say(&format!(
                "version {version} is new: jobs make tokens with it once they pin `version: {version}`; its tokens do not join with older ones.\nJobs that pin none (`create: true`) take it at once\n"
            ));
            show(global, &place, &file)
        }
        Keys::Rewrap { keyring, kms_key } => {
            let place = uri(&keyring)?;
            let file = keys::rewrap(keys::hold(&place, stores).await?, kms_key.as_deref()).await?;
            say(match (file.provider(), kms_key) {
                (perimeter_pseudonym::Provider::Local, _) => "wrapped anew by the same key file; tokens stay as they are\n",
                (_, None) => "wrapped anew by the same KMS key; tokens stay as they are\n",
                (_, Some(_)) => {
                    "wrapped anew; tokens stay as they are. Jobs have to name the new key as `keyId`; copies of the old file still open with the old KMS key\n"
                }
            });
            show(global, &place, &file)
        }
        Keys::Retire { keyring, version } => {
            let place = uri(&keyring)?;
            let file = keys::retire(keys::hold(&place, stores).await?, version).await?;
            say(&format!("version {version} makes no more tokens: jobs that pin it are refused; its tokens still reveal\n"));
            if file.newest_active().is_none() {
                say("no version is active now: `perimeter keys rotate` makes one\n");
            }
            show(global, &place, &file)
        }
        Keys::Destroy { keyring, version, confirm, reason } => {
            let place = uri(&keyring)?;
            let held = keys::hold(&place, stores).await?;
            ask(&held, version, &confirm, &reason)?;
            let file = keys::destroy(held, version, &confirm, &reason).await?;
            say(&destroyed(&place, &file, version));
            show(global, &place, &file)
        }
        Keys::AddSplitKey { keyring } => {
            let place = uri(&keyring)?;
            let file = keys::add_split_key(keys::hold(&place, stores).await?).await?;
            say("the split key is made: it stays for as long as the keyring does\n");
            show(global, &place, &file)
        }
    }
}

/// The second question, where somebody is there to answer. The first is `--confirm`; a mistake in what was typed is said by the library.
fn ask(held: &Held, version: u32, confirm: &str, reason: &str) -> Done {
    let file = held.file();
    let destroyable = file.version(version).is_some_and(|entry| entry.state() == State::Retired) && confirm == file.id() && is_reason(reason);
    if !destroyable || !io::stdin().is_terminal() {
        return Ok(());
    }
    say(&format!("{}Type `destroy {version}` to go on: ", consequences(file, version)));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == format!("destroy {version}") {
        return Ok(());
    }
    Err(Ended::Failed(Failure::new(Culprit::File, "not-confirmed", "nothing was destroyed").help("type the words exactly as they are asked for").into()))
}

/// What nobody can do any more.
fn consequences(file: &KeyringFile, version: u32) -> String {
    format!(
        "version {version} of keyring {}:\n\
         - tokens of cryptoDeterministic, cryptoReplaceFfxFpe and encrypt that it made cannot be revealed, by anyone\n\
         - tokens that join with data sets it made (cryptoHash too) and their date shifts cannot be made again\n\
         - quarantine files sealed with it do not open\n",
        file.id()
    )
}

fn destroyed(place: &Uri, file: &KeyringFile, version: u32) -> String {
    let copies = match file.provider() {
        perimeter_pseudonym::Provider::Local => {
            "copies of the old file (backups, snapshots, clones) still open with the key file beside it: they have to go too, or the key file with all that it wraps"
        }
        perimeter_pseudonym::Provider::AwsKms { .. } if place.0.starts_with("s3://") => {
            "older versions of the object (bucket versioning, replicas, backups) still open with the KMS key: they have to go too, or, once nothing else is wrapped by it, the KMS key"
        }
        perimeter_pseudonym::Provider::AwsKms { .. } => {
            "copies of the old file (backups, snapshots) still open with the KMS key: they have to go too, or, once nothing else is wrapped by it, the KMS key"
        }
    };
    format!("destroyed, {}{copies}\n", consequences(file, version))
}

/// A file from before a destruction is a way back that somebody was promised not to exist.
fn compare(held: &Held, known: &Held) -> Done {
    let back = held.file().resurrects(known.file());
    if back.is_empty() {
        return Ok(());
    }
    let versions = back.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    Err(Ended::Failed(
        Failure::new(Culprit::Data, "resurrected-version", format!("{} still holds what {} destroyed: version {versions}", held.uri().0, known.uri().0))
            .help("remove this copy, or destroy the version in it too")
            .into(),
    ))
}

fn show(global: &Global, place: &Uri, file: &KeyringFile) -> Done {
    let view = file.view();
    if global.json {
        let mut shown = json!({"keyring": place.0});
        if let (Some(shown), serde_json::Value::Object(view)) = (shown.as_object_mut(), json!(view)) {
            shown.extend(view);
        }
        return result_json(&shown);
    }
    let wrapped = view.key_id.map_or_else(|| "the key file beside it (local: development only)".to_owned(), |key| format!("AWS KMS key {key}"));
    let split = view.split_key_created.unwrap_or_else(|| "none: `perimeter keys add-split-key` makes it".to_owned());
    let mut text = format!(
        "keyring {} at {}\nwrapped by {wrapped}\nsplit key  {split}\nversion  state      created               commitment        purposes\n",
        view.id, place.0
    );
    for VersionView { version, state, created, purposes, destroyed, commitment_prefix } in view.versions {
        let purposes: Vec<&str> = purposes.iter().map(|purpose| purpose.as_str()).collect();
        let state = format!("{state:?}").to_lowercase();
        let what = destroyed.map_or_else(|| purposes.join(", "), |tombstone| format!("destroyed {}: {}", tombstone.at, tombstone.why));
        text.push_str(&format!("{version:>7}  {state:9}  {created:20}  {commitment_prefix}  {what}\n"));
    }
    result(&text)
}
