//! The file as it is written.
use super::{
    BTreeMap, Deserialize, EncryptionContext, Engine, KeyVersion, KeyringError, KeyringFile, Provider, Purpose, STANDARD, Serialize, State, Tombstone,
    lifecycle, split::WrappedSplit, valid_id,
};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Keyring {
    api_version: String,
    kind: String,
    id: String,
    provider: ProviderName,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<String>,
    versions: Vec<Version>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Split {
    created: String,
    wrapped: String,
    commitment: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ProviderName {
    AwsKms,
    Local,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Version {
    version: u32,
    state: State,
    created: String,
    wrapped: BTreeMap<Purpose, String>,
    encryption_context: Context,
    commitment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    destroyed: Option<Tombstone>,
}

#[derive(Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Context {
    app: String,
    keyring: String,
    key_version: String,
}

impl Context {
    fn of(keyring: &str, version: u32) -> Self {
        Self { app: EncryptionContext::APP.to_owned(), keyring: keyring.to_owned(), key_version: version.to_string() }
    }
}

impl From<&KeyringFile> for Keyring {
    fn from(keyring: &KeyringFile) -> Self {
        let (provider, key_id) = match &keyring.provider {
            Provider::AwsKms { key_id } => (ProviderName::AwsKms, Some(key_id.clone())),
            Provider::Local => (ProviderName::Local, None),
        };
        let versions = keyring.versions.iter().map(|entry| Version {
            version: entry.version,
            state: entry.state,
            created: entry.created.clone(),
            wrapped: entry.wrapped.iter().map(|(&purpose, bytes)| (purpose, STANDARD.encode(bytes))).collect(),
            encryption_context: Context::of(&keyring.id, entry.version),
            commitment: STANDARD.encode(entry.commitment),
            destroyed: entry.tombstone.clone(),
        });
        let split = keyring.split.as_ref().map(|split| Split {
            created: split.created.clone(),
            wrapped: STANDARD.encode(&split.wrapped),
            commitment: STANDARD.encode(split.commitment),
        });
        Self { api_version: "perimeter/v1".into(), kind: "Keyring".into(), id: keyring.id.clone(), provider, key_id, versions: versions.collect(), split }
    }
}

impl Keyring {
    pub fn validate(self) -> Result<KeyringFile, KeyringError> {
        let invalid = |what| Err(KeyringError::Invalid { what });
        if self.api_version != "perimeter/v1" {
            return invalid("apiVersion is not perimeter/v1");
        }
        if self.kind != "Keyring" {
            return invalid("kind is not Keyring");
        }
        if !valid_id(&self.id) {
            return invalid("id is not 1 to 128 ASCII letters, digits, '.', '_' or '-'");
        }
        let provider = match (self.provider, self.key_id) {
            (ProviderName::AwsKms, Some(key_id)) if !key_id.is_empty() => Provider::AwsKms { key_id },
            (ProviderName::AwsKms, _) => return invalid("provider awsKms needs a keyId"),
            (ProviderName::Local, None) => Provider::Local,
            (ProviderName::Local, Some(_)) => return invalid("provider local has no keyId"),
        };
        let mut versions: Vec<KeyVersion> = Vec::with_capacity(self.versions.len());
        for entry in self.versions {
            if entry.version <= versions.last().map_or(0, KeyVersion::version) {
                return invalid("versions do not ascend from 1");
            }
            versions.push(entry.validate(&self.id)?);
        }
        if versions.is_empty() {
            return invalid("there is no version");
        }
        let split = self.split.map(Split::validate).transpose()?;
        Ok(KeyringFile { id: self.id, provider, versions, split })
    }
}

impl Version {
    fn validate(self, keyring: &str) -> Result<KeyVersion, KeyringError> {
        let invalid = |what| KeyringError::Invalid { what };
        if self.encryption_context != Context::of(keyring, self.version) {
            return Err(invalid("an encryptionContext is not that of its keyring and version"));
        }
        check_time(&self.created)?;
        if (self.state == State::Destroyed) != self.wrapped.is_empty() {
            return Err(invalid("a destroyed version has no wrapped keys and every other one has some"));
        }
        if let Some(Tombstone { at, why }) = &self.destroyed {
            check_time(at)?;
            if self.state != State::Destroyed || !lifecycle::is_reason(why) {
                return Err(invalid("destroyed says when and why, of a destroyed version only"));
            }
        }
        let mut wrapped = BTreeMap::new();
        for (purpose, text) in self.wrapped {
            if !Purpose::ALL.contains(&purpose) {
                return Err(invalid("a version is wrapped for run, reveal and serve"));
            }
            wrapped.insert(purpose, wrap(&text)?);
        }
        let commitment = commitment(&self.commitment)?;
        Ok(KeyVersion { version: self.version, state: self.state, created: self.created, wrapped, commitment, tombstone: self.destroyed })
    }
}

impl Split {
    fn validate(self) -> Result<WrappedSplit, KeyringError> {
        check_time(&self.created)?;
        Ok(WrappedSplit { wrapped: wrap(&self.wrapped)?, commitment: commitment(&self.commitment)?, created: self.created })
    }
}

fn check_time(text: &str) -> Result<(), KeyringError> {
    chrono::DateTime::parse_from_rfc3339(text).map(|_| ()).map_err(|_| KeyringError::Invalid { what: "a time is not in the form of RFC 3339" })
}

/// AWS KMS takes at most 6,144 bytes.
fn wrap(text: &str) -> Result<Vec<u8>, KeyringError> {
    let bytes = STANDARD.decode(text).ok().filter(|bytes| (1..=6144).contains(&bytes.len()));
    bytes.ok_or(KeyringError::Invalid { what: "a wrapped key is not base64 of 1 to 6144 bytes" })
}

fn commitment(text: &str) -> Result<[u8; 32], KeyringError> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(KeyringError::Invalid { what: "a commitment is not base64 of 32 bytes" })
}
