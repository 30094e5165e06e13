//! From one root key to every subkey: HKDF-SHA256 (RFC 5869) with length-prefixed inputs.
//!
//! All labels stand side by side in [`Label`], so that a reviewer sees at a glance that no two uses share a key.
use crate::Secret;
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;

/// What a subkey is for. A label is part of the derivation: two labels never give related keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Label {
    /// HMAC-SHA256 tokens.
    CryptoHash,
    /// The one token of null, where a policy asks for it.
    CryptoHashNull,
    /// Tokens of values that do not canonicalize, where a policy asks for them.
    CryptoHashInvalid,
    /// AES-256-SIV tokens (64 bytes).
    CryptoDeterministic,
    /// FF1 over digits.
    Ff1,
    /// XAES-256-GCM tokens.
    Encrypt,
    /// The nonces of XAES-256-GCM tokens.
    EncryptNonce,
    /// Which split a value belongs to; see [`crate::SplitKey`].
    Split,
    /// Days of a shift from a context.
    DateShift,
    /// The 64-bit hash that tells shift contexts apart.
    Context,
    /// Sealed files: the quarantine.
    Seal,
    /// What a keyring file commits to; never used as a key.
    Commitment,
}

impl Label {
    /// The bytes that enter the derivation. Changing one changes every token: add a new label instead.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CryptoHash => "cryptoHash",
            Self::CryptoHashNull => "cryptoHash/null",
            Self::CryptoHashInvalid => "cryptoHash/invalid",
            Self::CryptoDeterministic => "cryptoDeterministic",
            Self::Ff1 => "cryptoReplaceFfxFpe",
            Self::Encrypt => "encrypt",
            Self::EncryptNonce => "encrypt/nonce",
            Self::Split => "split",
            Self::DateShift => "dateShift",
            Self::Context => "dateShift/context",
            Self::Seal => "seal",
            Self::Commitment => "commitment",
        }
    }
}

/// The version of everything below that turns a value into a token. A change that changes tokens gets a new number.
const FORMAT_VERSION: u32 = 1;

/// The root key of one keyring version, checked against the keyring's commitment. Comes from [`crate::unwrap_root`].
pub struct RootKey {
    root: Secret<32>,
    keyring: String,
    version: u32,
}

impl RootKey {
    pub(crate) fn new(root: Secret<32>, keyring: &str, version: u32) -> Self {
        Self { root, keyring: keyring.to_owned(), version }
    }

    /// The keyring version that the key belongs to; it travels with every reversible token.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The id of the keyring that the key belongs to.
    pub fn keyring(&self) -> &str {
        &self.keyring
    }

    /// The subkey for one join domain and one use.
    ///
    /// Bound besides: the format version, the keyring and its version, and the subkey's length. Nothing of the dataset, so that
    /// equal values of one join domain get equal tokens everywhere.
    pub fn derive<const N: usize>(&self, join_domain: &str, label: Label) -> Secret<N> {
        self.derive_with(join_domain, label, &[])
    }

    /// As [`Self::derive`], with options of the transform that are part of its tokens' identity.
    pub(crate) fn derive_with<const N: usize>(&self, join_domain: &str, label: Label, options: &[&[u8]]) -> Secret<N> {
        const { assert!(N >= 16 && N <= 255 * 32, "RFC 5869 gives at most 255 blocks") };
        let mut info = Vec::with_capacity(128);
        push(&mut info, b"perimeter/pseudonym");
        push(&mut info, &FORMAT_VERSION.to_be_bytes());
        push(&mut info, self.keyring.as_bytes());
        push(&mut info, &self.version.to_be_bytes());
        push(&mut info, label.as_str().as_bytes());
        push(&mut info, join_domain.as_bytes());
        for option in options {
            push(&mut info, option);
        }
        push(&mut info, &(N as u64).to_be_bytes());
        expand(None, self.root.expose(), &info)
    }
}

impl fmt::Debug for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootKey").field("keyring", &self.keyring).field("version", &self.version).finish_non_exhaustive()
    }
}

/// Appends `part` with its length in front: no two lists of parts give the same bytes.
pub(crate) fn push(info: &mut Vec<u8>, part: &[u8]) {
    info.extend_from_slice(&(part.len() as u64).to_be_bytes());
    info.extend_from_slice(part);
}

/// HKDF-SHA256, extract and expand.
pub(crate) fn expand<const N: usize>(salt: Option<&[u8]>, key: &[u8; 32], info: &[u8]) -> Secret<N> {
    const { assert!(N <= 255 * 32, "RFC 5869 gives at most 255 blocks") };
    let mut output = Secret::zero();
    let expanded = Hkdf::<Sha256>::new(salt, key).expand(info, output.expose_mut());
    assert!(expanded.is_ok(), "the length was checked when this was compiled");
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(version: u32) -> RootKey {
        RootKey::new(Secret::from_slice(&[7; 32]).unwrap(), "person", version)
    }

    #[test]
    fn every_input_separates() {
        let base: Secret<32> = root(1).derive("person", Label::CryptoHash);
        assert_eq!(base, root(1).derive("person", Label::CryptoHash));
        assert_ne!(base, root(2).derive("person", Label::CryptoHash));
        assert_ne!(base, root(1).derive("person2", Label::CryptoHash));
        assert_ne!(base, root(1).derive("person", Label::DateShift));
        assert_ne!(base, root(1).derive_with("person", Label::CryptoHash, &[b""]));
        let other_keyring: Secret<32> = RootKey::new(Secret::from_slice(&[7; 32]).unwrap(), "persons", 1).derive("person", Label::CryptoHash);
        assert_ne!(base, other_keyring);
        let longer: Secret<64> = root(1).derive("person", Label::CryptoHash);
        assert_ne!(base.expose()[..], longer.expose()[..32], "a longer subkey is no extension of a shorter one");
    }

    #[test]
    fn moving_bytes_between_inputs_changes_the_key() {
        let one: Secret<32> = root(1).derive_with("ab", Label::CryptoHash, &[b"c", b""]);
        let two: Secret<32> = root(1).derive_with("a", Label::CryptoHash, &[b"bc", b""]);
        let three: Secret<32> = root(1).derive_with("ab", Label::CryptoHash, &[b"", b"c"]);
        assert!(one != two && two != three && one != three);
    }

    #[test]
    fn labels_are_distinct() {
        let labels = [
            Label::CryptoHash,
            Label::CryptoHashNull,
            Label::CryptoHashInvalid,
            Label::CryptoDeterministic,
            Label::Ff1,
            Label::Encrypt,
            Label::EncryptNonce,
            Label::Split,
            Label::DateShift,
            Label::Context,
            Label::Seal,
            Label::Commitment,
        ];
        let names: std::collections::HashSet<_> = labels.iter().map(|label| label.as_str()).collect();
        assert_eq!(names.len(), labels.len());
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", root(3)), r#"RootKey { keyring: "person", version: 3, .. }"#);
    }
}
