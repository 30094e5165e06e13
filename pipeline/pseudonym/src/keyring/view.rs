//! What `keys list` shows: everything but wraps and whole commitments.
use super::{KeyVersion, KeyringFile, Provider, Purpose, State, Tombstone};
use serde::Serialize;

/// A keyring without anything that could be unwrapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyringView {
    /// Its id.
    pub id: String,
    /// `awsKms` or `local`.
    pub provider: &'static str,
    /// The KMS key that wraps it; `None` for the local provider.
    pub key_id: Option<String>,
    /// Whether there is a split key, and since when.
    pub split_key_created: Option<String>,
    /// All versions, ascending.
    pub versions: Vec<VersionView>,
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionView {
    /// Its number.
    pub version: u32,
    /// Its state.
    pub state: State,
    /// When it was made.
    pub created: String,
    /// The first 8 bytes of its commitment, hexadecimal: enough to see that two files hold the same key.
    pub commitment_prefix: String,
    /// What it is wrapped for.
    pub purposes: Vec<Purpose>,
    /// When and why it was destroyed.
    pub destroyed: Option<Tombstone>,
}

impl KeyringFile {
    /// The keyring without material.
    pub fn view(&self) -> KeyringView {
        let (provider, key_id) = match &self.provider {
            Provider::AwsKms { key_id } => ("awsKms", Some(key_id.clone())),
            Provider::Local => ("local", None),
        };
        let version = |entry: &KeyVersion| VersionView {
            version: entry.version,
            state: entry.state,
            created: entry.created.clone(),
            commitment_prefix: hex::encode(&entry.commitment[..8]),
            purposes: entry.purposes().collect(),
            destroyed: entry.tombstone.clone(),
        };
        KeyringView {
            id: self.id.clone(),
            provider,
            key_id,
            split_key_created: self.split.as_ref().map(|split| split.created.clone()),
            versions: self.versions.iter().map(version).collect(),
        }
    }
}
