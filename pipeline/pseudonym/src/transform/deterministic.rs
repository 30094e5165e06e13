//! `cryptoDeterministic`: AES-256-SIV (RFC 5297).
use super::canonicalize::{Canonicalize, Canonicalizer};
use super::siv::{SIV_BYTES, Siv};
use super::{TokenRefused, ValueRefused};
use crate::Secret;
use crate::derive::{Label, RootKey};
use aes::Aes256;
use aes::cipher::KeyInit;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;
use zeroize::Zeroizing;

/// What a value may have, so that lengths stay far from every limit.
pub(crate) const MAX_VALUE_BYTES: usize = 16 << 20;

/// Reversible, joinable tokens: `v3.` (the key version) and base64url of SIV and ciphertext.
///
/// A token shows which values are equal and how long the value is, nothing else; it is authenticated, so an altered one does not
/// open.
#[derive(Clone)]
pub struct CryptoDeterministic {
    cipher: Siv<Aes256>,
    canonicalizer: Canonicalizer,
    prefix: Box<str>,
    buffer: Zeroizing<Vec<u8>>,
}

impl CryptoDeterministic {
    /// The transform for one join domain.
    pub fn new(root: &RootKey, join_domain: &str, canonicalize: &[Canonicalize]) -> Self {
        let canonicalizer = Canonicalizer::new(canonicalize);
        let key: Secret<64> = root.derive_with(join_domain, Label::CryptoDeterministic, &[canonicalizer.identity().as_bytes()]);
        let (mut mac, mut stream) = (Zeroizing::new([0; 32]), Zeroizing::new([0; 32]));
        mac.copy_from_slice(&key.expose()[..32]);
        stream.copy_from_slice(&key.expose()[32..]);
        let cipher = Siv::new(Aes256::new((&*mac).into()), Aes256::new((&*stream).into()));
        Self { cipher, canonicalizer, prefix: format!("v{}.", root.version()).into(), buffer: Zeroizing::new(Vec::new()) }
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// [`ValueRefused::Empty`], [`ValueRefused::NonAsciiDigit`], [`ValueRefused::TooLong`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        let canonical = self.canonicalizer.run(value)?;
        if canonical.len() > MAX_VALUE_BYTES {
            return Err(ValueRefused::TooLong);
        }
        // One buffer for SIV and text, so that one encoding writes the token.
        self.buffer.clear();
        self.buffer.resize(SIV_BYTES, 0);
        self.buffer.extend_from_slice(canonical.as_bytes());
        let (siv, text) = self.buffer.split_at_mut(SIV_BYTES);
        siv.copy_from_slice(&self.cipher.seal(&[], text));
        let start = out.len();
        out.extend_from_slice(self.prefix.as_bytes());
        let body = out.len();
        out.resize(body + self.buffer.len().div_ceil(3) * 4, 0);
        let Ok(written) = URL_SAFE_NO_PAD.encode_slice(&self.buffer[..], &mut out[body..]) else {
            out.truncate(start);
            return Err(ValueRefused::TooLong);
        };
        out.truncate(body + written);
        Ok(())
    }

    /// Appends the canonical value of `token` to `out`; what is appended is UTF-8.
    ///
    /// # Errors
    /// [`TokenRefused::OtherVersion`] when the token names another key version, else [`TokenRefused::Rejected`].
    pub(crate) fn open(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        let Some(body) = token.strip_prefix(&*self.prefix) else {
            return Err(token_version(token).map_or(TokenRefused::Rejected, |_| TokenRefused::OtherVersion));
        };
        if body.len() > (MAX_VALUE_BYTES + SIV_BYTES).div_ceil(3) * 4 {
            return Err(TokenRefused::Rejected);
        }
        self.buffer.clear();
        URL_SAFE_NO_PAD.decode_vec(body, &mut self.buffer).map_err(|_| TokenRefused::Rejected)?;
        let (siv, text) = self.buffer.split_first_chunk_mut::<SIV_BYTES>().ok_or(TokenRefused::Rejected)?;
        if !self.cipher.open(&[], *siv, text) {
            return Err(TokenRefused::Rejected);
        }
        // Only text was ever encrypted, so an authentic token is UTF-8.
        let text = std::str::from_utf8(text).map_err(|_| TokenRefused::Rejected)?;
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The key version that a reversible token names, to find its root key.
pub fn token_version(token: &str) -> Option<u32> {
    let (digits, _) = token.strip_prefix('v')?.split_once('.')?;
    let version = digits.parse().ok()?;
    // One spelling per version, or one token could be written in two ways.
    (version > 0 && u32::to_string(&version) == digits).then_some(version)
}

impl fmt::Debug for CryptoDeterministic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CryptoDeterministic").field("canonicalize", &self.canonicalizer).field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(version: u32) -> CryptoDeterministic {
        let root = RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", version);
        CryptoDeterministic::new(&root, "person", &[Canonicalize::Trim])
    }

    fn token(version: u32, value: &str) -> String {
        let mut out = Vec::new();
        transform(version).apply(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tokens_do_not_drift() {
        assert_eq!(token(3, "39053344705"), "v3.Jh64BZnRlkutlVpF20jg697JKEa_aw-lVJCh");
    }

    #[test]
    fn opens_what_it_made_and_nothing_else() {
        for value in ["x", "a value longer than one block of the cipher", "Jos\u{e9}"] {
            let token = token(3, &format!(" {value} "));
            let mut out = b"kept".to_vec();
            transform(3).open(&token, &mut out).unwrap();
            assert_eq!(out, [b"kept", value.as_bytes()].concat());
            assert_eq!(transform(4).open(&token, &mut out), Err(TokenRefused::OtherVersion));
            assert_eq!(transform(4).open(&token.replacen("v3", "v4", 1), &mut out), Err(TokenRefused::Rejected));
            for index in 3..token.len() {
                let mut altered = token.clone().into_bytes();
                altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
                assert!(transform(3).open(&String::from_utf8(altered).unwrap(), &mut out).is_err());
                assert!(transform(3).open(&token[..index], &mut out).is_err());
            }
            assert_eq!(out, [b"kept", value.as_bytes()].concat(), "a refusal appends nothing");
        }
    }

    #[test]
    fn versions_have_one_spelling() {
        assert_eq!(token_version("v3.abc"), Some(3));
        assert_eq!(token_version("v4294967295."), Some(u32::MAX));
        for other in ["", "v", "v3", "v.", "v03.a", "v+3.a", "v0.a", "3.a", "V3.a", "v4294967296.a", "v-1.a"] {
            assert_eq!(token_version(other), None, "{other}");
        }
    }
}
