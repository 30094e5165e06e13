//! The way back from tokens to values, for reversible transforms only.
//!
//! It needs a [`RevealKey`], which only [`unwrap_reveal`] makes, through the wrap for [`Purpose::Reveal`]: IAM can refuse it to whoever may
//! run jobs, and a [`RootKey`] of a run does not compile here. Who may ask, why, and the record that is written first are the caller's.
use crate::derive::RootKey;
use crate::keyring::{KeyError, KeyringFile, Purpose, unwrap_root};
use crate::kms::Kms;
use crate::transform::encrypt::Decrypt;
use crate::transform::{Canonicalize, CryptoDeterministic, CryptoReplaceFfxFpe, FpeOptions, FpeRefused, TokenRefused, token_version};
use std::collections::BTreeMap;
use std::fmt;

/// A root key that was unwrapped to reveal.
///
/// A run's key is refused by the compiler, where this key is not:
/// ```
/// # use perimeter_pseudonym::reveal::{RevealKey, Revealer, Reversible};
/// fn with_a_reveal_key(key: RevealKey) {
///     let _ = Revealer::new(&[key], "person", &Reversible::CryptoDeterministic { canonicalize: vec![] });
/// }
/// ```
/// ```compile_fail
/// # use perimeter_pseudonym::{RootKey, reveal::{Revealer, Reversible}};
/// fn with_a_run_key(root: RootKey) {
///     let _ = Revealer::new(&[root], "person", &Reversible::CryptoDeterministic { canonicalize: vec![] });
/// }
/// ```
pub struct RevealKey(RootKey);

impl RevealKey {
    /// The keyring version that the key belongs to.
    pub fn version(&self) -> u32 {
        self.0.version()
    }
}

impl fmt::Debug for RevealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevealKey").field("keyring", &self.0.keyring()).field("version", &self.0.version()).finish_non_exhaustive()
    }
}

/// Unwraps a version, active or retired, to reveal its tokens.
///
/// # Errors
/// As [`unwrap_root`].
pub async fn unwrap_reveal(kms: &dyn Kms, file: &KeyringFile, version: u32) -> Result<RevealKey, KeyError> {
    unwrap_root(kms, file, Some(version), Purpose::Reveal).await.map(RevealKey)
}

/// The transforms that have a way back, with the options that made the tokens.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reversible {
    /// AES-256-SIV. Tokens name their version.
    CryptoDeterministic {
        /// As the tokens were made.
        canonicalize: Vec<Canonicalize>,
    },
    /// FF1. Tokens have no room for a version, nor for proof that they are tokens: exactly one key is given, and any text of the form opens
    /// to something.
    CryptoReplaceFfxFpe(FpeOptions),
    /// XAES-256-GCM. Tokens name their version.
    Encrypt {
        /// Where the token stood.
        dataset: String,
        /// Where the token stood.
        column: String,
    },
}

/// Why there is no [`Revealer`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevealRefused {
    /// No key, two of one version, or several where tokens do not say which.
    #[error("the tokens of this transform need {needed}")]
    Keys {
        /// What is needed.
        needed: &'static str,
    },
    /// Options that no token can have been made with.
    #[error(transparent)]
    Options(#[from] FpeRefused),
}

/// Reveals the tokens of one column.
pub struct Revealer {
    openers: BTreeMap<u32, Opener>,
    /// The version of tokens that do not name theirs.
    only: Option<u32>,
}

enum Opener {
    Deterministic(Box<CryptoDeterministic>),
    Fpe(Box<CryptoReplaceFfxFpe>),
    Encrypt(Box<Decrypt>),
}

impl Revealer {
    /// For tokens of one join domain and transform, by the keys of all versions that may occur.
    ///
    /// # Errors
    /// [`RevealRefused`].
    pub fn new(keys: &[RevealKey], join_domain: &str, transform: &Reversible) -> Result<Self, RevealRefused> {
        let mut openers = BTreeMap::new();
        for RevealKey(root) in keys {
            let opener = match transform {
                Reversible::CryptoDeterministic { canonicalize } => Opener::Deterministic(Box::new(CryptoDeterministic::new(root, join_domain, canonicalize))),
                Reversible::CryptoReplaceFfxFpe(options) => Opener::Fpe(Box::new(CryptoReplaceFfxFpe::new(root, join_domain, options)?)),
                Reversible::Encrypt { dataset, column } => Opener::Encrypt(Box::new(Decrypt::new(root, join_domain, dataset, column))),
            };
            if openers.insert(root.version(), opener).is_some() {
                return Err(RevealRefused::Keys { needed: "one key for each version" });
            }
        }
        let only = match (transform, openers.len()) {
            (_, 0) => return Err(RevealRefused::Keys { needed: "a key" }),
            (Reversible::CryptoReplaceFfxFpe(_), 1) => openers.keys().next().copied(),
            (Reversible::CryptoReplaceFfxFpe(_), _) => return Err(RevealRefused::Keys { needed: "exactly one key: they do not name their version" }),
            _ => None,
        };
        Ok(Self { openers, only })
    }

    /// Appends the canonical value of `token` to `out`, which is as before when the token is refused.
    ///
    /// # Errors
    /// [`TokenRefused::OtherVersion`] for a version without a key here, else [`TokenRefused::Rejected`].
    pub fn reveal(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        let version = self.only.or_else(|| token_version(token)).ok_or(TokenRefused::Rejected)?;
        match self.openers.get_mut(&version).ok_or(TokenRefused::OtherVersion)? {
            Opener::Deterministic(transform) => transform.open(token, out),
            Opener::Fpe(transform) => transform.open(token, out),
            Opener::Encrypt(transform) => transform.open(token, out),
        }
    }
}

impl fmt::Debug for Revealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revealer").field("versions", &self.openers.keys().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use crate::transform::{Alphabet, Encrypt, EncryptOptions, RowDigest};

    fn key(version: u32) -> RevealKey {
        RevealKey(RootKey::new(Secret::from_slice(&[version as u8; 32]).unwrap(), "person", version))
    }

    fn revealed(revealer: &mut Revealer, token: &[u8]) -> Result<String, TokenRefused> {
        let mut out = b"kept".to_vec();
        let revealed = revealer.reveal(std::str::from_utf8(token).unwrap(), &mut out);
        let text = String::from_utf8(out).unwrap().strip_prefix("kept").unwrap().to_owned();
        assert!(revealed.is_ok() || text.is_empty());
        revealed.map(|()| text)
    }

    #[test]
    fn the_token_picks_its_version() {
        let canonicalize = vec![Canonicalize::Trim];
        let mut revealer = Revealer::new(&[key(1), key(2)], "person", &Reversible::CryptoDeterministic { canonicalize: canonicalize.clone() }).unwrap();
        for version in [1, 2, 3] {
            let mut token = Vec::new();
            CryptoDeterministic::new(&key(version).0, "person", &canonicalize).apply(" Ana ", &mut token).unwrap();
            let expected = if version == 3 { Err(TokenRefused::OtherVersion) } else { Ok("Ana".to_owned()) };
            assert_eq!(revealed(&mut revealer, &token), expected);
        }
        for other in [&b""[..], b"v1.", b"v1.AAAA", b"Ana", b"v0.x"] {
            assert_eq!(revealed(&mut revealer, other), Err(TokenRefused::Rejected));
        }
        assert_eq!(format!("{revealer:?} {:?}", key(7)), r#"Revealer { versions: [1, 2], .. } RevealKey { keyring: "person", version: 7, .. }"#);
    }

    #[test]
    fn format_preserving_tokens_need_one_key() {
        let options = FpeOptions { alphabet: Alphabet::named("lowerAlphanumeric"), keep_last: 2, ..Default::default() };
        let mut token = Vec::new();
        CryptoReplaceFfxFpe::new(&key(2).0, "person", &options).unwrap().apply("ab-12-cd-34", &mut token).unwrap();
        let transform = Reversible::CryptoReplaceFfxFpe(options);
        let mut revealer = Revealer::new(&[key(2)], "person", &transform).unwrap();
        assert_eq!(revealed(&mut revealer, &token).as_deref(), Ok("ab-12-cd-34"));
        assert_eq!(revealed(&mut revealer, b"AB-12"), Err(TokenRefused::Rejected));
        for keys in [vec![], vec![key(1), key(2)], vec![key(1), key(1)]] {
            assert!(matches!(Revealer::new(&keys, "person", &transform), Err(RevealRefused::Keys { .. })));
        }
        let small = Reversible::CryptoReplaceFfxFpe(FpeOptions { lengths: Some(5..=5), ..Default::default() });
        assert!(matches!(Revealer::new(&[key(1)], "person", &small), Err(RevealRefused::Options(_))));
    }

    #[test]
    fn encrypted_tokens_open_in_their_place() {
        let place = |column: &str| Reversible::Encrypt { dataset: "cards".into(), column: column.into() };
        let options = EncryptOptions { dataset: "cards".into(), column: "memo".into(), run_id: "run 1".into() };
        let mut token = Vec::new();
        Encrypt::new(&key(2).0, "person", &options).apply("lunch", &RowDigest::of([None]), &mut token).unwrap();
        let keys = [key(1), key(2)];
        assert_eq!(revealed(&mut Revealer::new(&keys, "person", &place("memo")).unwrap(), &token).as_deref(), Ok("lunch"));
        assert_eq!(revealed(&mut Revealer::new(&keys, "person", &place("note")).unwrap(), &token), Err(TokenRefused::Rejected));
        assert_eq!(revealed(&mut Revealer::new(&keys, "card", &place("memo")).unwrap(), &token), Err(TokenRefused::Rejected));
        let deterministic = Reversible::CryptoDeterministic { canonicalize: vec![] };
        assert_eq!(revealed(&mut Revealer::new(&keys, "person", &deterministic).unwrap(), &token), Err(TokenRefused::Rejected));
    }
}
