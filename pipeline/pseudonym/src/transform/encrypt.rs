//! `encrypt`: randomized tokens, XAES-256-GCM with a derived nonce.
use super::deterministic::{MAX_VALUE_BYTES, token_version};
use super::hash::KeyedHash;
use super::xaes::{NONCE_BYTES, TAG_BYTES, Xaes};
use super::{TokenRefused, ValueRefused};
use crate::Secret;
use crate::derive::{Label, RootKey, push};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Which column of which dataset, in which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptOptions {
    /// The dataset: additional data, needed again to reveal.
    pub dataset: String,
    /// The column: additional data, needed again to reveal.
    pub column: String,
    /// The run: other runs, unrelated tokens. Not needed to reveal.
    pub run_id: String,
}

/// Reversible tokens that join with nothing: `v3.` (the key version) and base64url of nonce (24 bytes), ciphertext and tag (16).
///
/// The nonce is a PRF of run, dataset, column, value and the digest of the whole row: a task that is retried makes the same token, another
/// row or run an unrelated one. Two rows of one run that are equal in all columns have equal tokens. A token shows the length of its value.
/// Dataset, column and key version are authenticated, so a token does not open in another place.
#[derive(Clone)]
pub struct Encrypt {
    cipher: Xaes,
    nonces: KeyedHash,
    /// Dataset and column, length-prefixed.
    place: Box<[u8]>,
    additional: Box<[u8]>,
    prefix: Box<str>,
    buffer: Zeroizing<Vec<u8>>,
}

impl Encrypt {
    /// The transform for one column of one run.
    pub fn new(root: &RootKey, join_domain: &str, options: &EncryptOptions) -> Self {
        let mut place = Vec::new();
        push(&mut place, options.dataset.as_bytes());
        push(&mut place, options.column.as_bytes());
        let nonces = KeyedHash::new(&root.derive_with(join_domain, Label::EncryptNonce, &[options.run_id.as_bytes()]));
        let Decrypt { cipher, additional, prefix, buffer } = Decrypt::new(root, join_domain, &options.dataset, &options.column);
        Self { cipher, nonces, place: place.into(), additional, prefix, buffer }
    }

    /// Appends the token of `value`, which may be empty, to `out`. `row` is the digest of the row that the value stands in.
    ///
    /// # Errors
    /// [`ValueRefused::TooLong`] beyond 16 MiB.
    pub fn apply(&mut self, value: &str, row: &RowDigest, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        if value.len() > MAX_VALUE_BYTES {
            return Err(ValueRefused::TooLong);
        }
        let mac = self.nonces.hash(&[&self.place, &(value.len() as u64).to_be_bytes(), value.as_bytes(), &row.0]);
        let nonce = mac.first_chunk::<NONCE_BYTES>().ok_or(ValueRefused::TooLong)?;
        self.buffer.clear();
        self.buffer.extend_from_slice(nonce);
        self.buffer.extend_from_slice(value.as_bytes());
        let tag = self.cipher.seal(nonce, &self.additional, &mut self.buffer[NONCE_BYTES..]).ok_or(ValueRefused::TooLong)?;
        self.buffer.extend_from_slice(&tag);
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
}

impl fmt::Debug for Encrypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encrypt").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The way back; reached through [`crate::reveal`].
pub(crate) struct Decrypt {
    cipher: Xaes,
    additional: Box<[u8]>,
    prefix: Box<str>,
    buffer: Zeroizing<Vec<u8>>,
}

impl Decrypt {
    pub(crate) fn new(root: &RootKey, join_domain: &str, dataset: &str, column: &str) -> Self {
        let key: Secret<32> = root.derive(join_domain, Label::Encrypt);
        let mut additional = Vec::new();
        push(&mut additional, b"perimeter/encrypt");
        push(&mut additional, dataset.as_bytes());
        push(&mut additional, column.as_bytes());
        push(&mut additional, &root.version().to_be_bytes());
        let prefix = format!("v{}.", root.version()).into();
        Self { cipher: Xaes::new(key.expose()), additional: additional.into(), prefix, buffer: Zeroizing::default() }
    }

    pub(crate) fn open(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        let Some(body) = token.strip_prefix(&*self.prefix) else {
            return Err(token_version(token).map_or(TokenRefused::Rejected, |_| TokenRefused::OtherVersion));
        };
        if body.len() > (NONCE_BYTES + MAX_VALUE_BYTES + TAG_BYTES).div_ceil(3) * 4 {
            return Err(TokenRefused::Rejected);
        }
        self.buffer.clear();
        URL_SAFE_NO_PAD.decode_vec(body, &mut self.buffer).map_err(|_| TokenRefused::Rejected)?;
        let (nonce, rest) = self.buffer.split_first_chunk_mut().ok_or(TokenRefused::Rejected)?;
        let (text, tag) = rest.split_last_chunk_mut().ok_or(TokenRefused::Rejected)?;
        if self.cipher.open(nonce, &self.additional, *tag, text).is_none() {
            text.zeroize();
            return Err(TokenRefused::Rejected);
        }
        // Only text was ever encrypted, so an authentic token is UTF-8.
        out.extend_from_slice(std::str::from_utf8(text).map_err(|_| TokenRefused::Rejected)?.as_bytes());
        Ok(())
    }
}

/// A digest of all cells of a row: what keeps the nonces of equal values apart. It is made of raw values and is not to be stored.
#[derive(Clone, PartialEq, Eq)]
pub struct RowDigest([u8; 32]);

impl RowDigest {
    /// SHA-256 over the cells in their order, each with its length in front; `None` is null.
    pub fn of<'a>(cells: impl IntoIterator<Item = Option<&'a [u8]>>) -> Self {
        let mut hash = Sha256::new();
        for cell in cells {
            match cell {
                None => hash.update([0]),
                Some(bytes) => {
                    hash.update([1]);
                    hash.update((bytes.len() as u64).to_be_bytes());
                    hash.update(bytes);
                }
            }
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Debug for RowDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowDigest").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(version: u32) -> RootKey {
        RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", version)
    }

    fn options(run_id: &str) -> EncryptOptions {
        EncryptOptions { dataset: "cards".into(), column: "memo".into(), run_id: run_id.into() }
    }

    fn token(options: &EncryptOptions, value: &str, row: &[u8]) -> String {
        let mut out = Vec::new();
        Encrypt::new(&root(2), "person", options).apply(value, &RowDigest::of([Some(row)]), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn opened(root: &RootKey, domain: &str, dataset: &str, column: &str, token: &str) -> Result<String, TokenRefused> {
        let mut out = Vec::new();
        Decrypt::new(root, domain, dataset, column).open(token, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_same_when_retried_and_unrelated_otherwise() {
        let base = token(&options("run 1"), "memo", b"row 1");
        assert_eq!(base, token(&options("run 1"), "memo", b"row 1"));
        let others = [
            token(&options("run 2"), "memo", b"row 1"),
            token(&options("run 1"), "memo", b"row 2"),
            token(&options("run 1"), "mem0", b"row 1"),
            token(&EncryptOptions { column: "note".into(), ..options("run 1") }, "memo", b"row 1"),
            token(&EncryptOptions { dataset: "card".into(), column: "smemo".into(), ..options("run 1") }, "memo", b"row 1"),
        ];
        for other in &others {
            // The nonces, not only the tags.
            assert_ne!(base[..35], other[..35]);
        }
        let own = Encrypt::new(&root(2), "person", &options("run 1"));
        assert!(own.additional.windows(8).any(|window| window == [0, 0, 0, 0, 0, 0, 0, 4]), "the version is bound");
    }

    #[test]
    fn opens_in_its_place_only() {
        for value in ["", "x", "a value longer than one block", "Jos\u{e9}"] {
            let token = token(&options("run 1"), value, b"row");
            assert_eq!(token.len(), 3 + (NONCE_BYTES + value.len() + TAG_BYTES).div_ceil(3) * 4 - (3 - (NONCE_BYTES + value.len() + TAG_BYTES) % 3) % 3);
            assert_eq!(opened(&root(2), "person", "cards", "memo", &token).as_deref(), Ok(value));
            assert_eq!(opened(&root(2), "person", "cards", "note", &token), Err(TokenRefused::Rejected));
            assert_eq!(opened(&root(2), "person", "card", "smemo", &token), Err(TokenRefused::Rejected));
            assert_eq!(opened(&root(2), "card", "cards", "memo", &token), Err(TokenRefused::Rejected));
            assert_eq!(opened(&root(3), "person", "cards", "memo", &token), Err(TokenRefused::OtherVersion));
            assert_eq!(opened(&root(3), "person", "cards", "memo", &token.replacen("v2", "v3", 1)), Err(TokenRefused::Rejected));
            for index in 3..token.len() {
                let mut altered = token.clone().into_bytes();
                altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
                assert!(opened(&root(2), "person", "cards", "memo", &String::from_utf8(altered).unwrap()).is_err());
                assert!(opened(&root(2), "person", "cards", "memo", &token[..index]).is_err());
            }
        }
    }

    #[test]
    fn rows_digest_apart() {
        let of = |cells: &[Option<&[u8]>]| RowDigest::of(cells.iter().copied());
        assert_eq!(of(&[Some(b"a"), None]), of(&[Some(b"a"), None]));
        let rows = [of(&[Some(b"ab")]), of(&[Some(b"a"), Some(b"b")]), of(&[Some(b"ab"), Some(b"")]), of(&[Some(b"ab"), None]), of(&[])];
        for (index, row) in rows.iter().enumerate() {
            assert!(rows[..index].iter().all(|other| other != row));
        }
        assert_eq!(format!("{:?}", rows[0]), "RowDigest { .. }");
    }
}
