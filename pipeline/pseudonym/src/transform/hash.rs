//! `cryptoHash`: HMAC-SHA256 (FIPS 198-1).
use super::ValueRefused;
use super::canonicalize::{Canonicalize, Canonicalizer};
use crate::Secret;
use crate::derive::{Label, RootKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::block_api::compress256;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// HMAC-SHA256 whose key has been absorbed: a value of up to 55 bytes costs two compressions and nothing else.
///
/// Over the compression function of the `sha2` crate, since the `hmac` crate's buffers cost a third on top of it for values as short as
/// those of a cell. That crate is the differential partner in the tests.
#[derive(Clone)]
pub(crate) struct KeyedHash {
    inner: [u32; 8],
    outer: [u32; 8],
}

const BLOCK_BYTES: usize = 64;
/// FIPS 180-4, section 5.3.3.
const INITIAL: [u32; 8] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

impl KeyedHash {
    pub(crate) fn new(key: &Secret<32>) -> Self {
        let keyed = |pad: u8| {
            // A short key is padded with zeros to the block.
            let mut block = Zeroizing::new([pad; BLOCK_BYTES]);
            for (byte, key) in block.iter_mut().zip(key.expose()) {
                *byte ^= key;
            }
            let mut state = INITIAL;
            compress256(&mut state, std::slice::from_ref(&*block));
            state
        };
        Self { inner: keyed(0x36), outer: keyed(0x5c) }
    }

    /// The MAC of all parts, one after the other.
    #[inline]
    pub(crate) fn hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut state = self.inner;
        let mut block = [0; BLOCK_BYTES];
        let mut filled = 0;
        let mut total = BLOCK_BYTES as u64;
        for part in parts {
            let mut rest = *part;
            total = total.wrapping_add(rest.len() as u64);
            if filled + rest.len() >= BLOCK_BYTES {
                let (head, tail) = rest.split_at(BLOCK_BYTES - filled);
                block[filled..].copy_from_slice(head);
                compress256(&mut state, std::slice::from_ref(&block));
                let (blocks, tail) = tail.as_chunks();
                compress256(&mut state, blocks);
                block = [0; BLOCK_BYTES];
                filled = 0;
                rest = tail;
            }
            block[filled..filled + rest.len()].copy_from_slice(rest);
            filled += rest.len();
        }
        block[filled] = 0x80;
        if filled >= BLOCK_BYTES - 8 {
            compress256(&mut state, std::slice::from_ref(&block));
            block = [0; BLOCK_BYTES];
        }
        block[BLOCK_BYTES - 8..].copy_from_slice(&total.wrapping_mul(8).to_be_bytes());
        compress256(&mut state, std::slice::from_ref(&block));

        // 64 bytes of key and 32 of digest.
        let mut block = [0; BLOCK_BYTES];
        write_words(state, &mut block[..32]);
        block[32] = 0x80;
        block[BLOCK_BYTES - 2..].copy_from_slice(&768u16.to_be_bytes());
        let mut state = self.outer;
        compress256(&mut state, std::slice::from_ref(&block));
        let mut mac = [0; 32];
        write_words(state, &mut mac);
        mac
    }
}

fn write_words(state: [u32; 8], bytes: &mut [u8]) {
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}

impl Drop for KeyedHash {
    fn drop(&mut self) {
        self.inner.zeroize();
        self.outer.zeroize();
    }
}

/// How a token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Lower-case hexadecimal, two characters a byte.
    #[default]
    Hex,
    /// RFC 4648 section 5 without padding, four characters for three bytes.
    Base64url,
}

/// Options of [`CryptoHash`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoHashOptions {
    /// Steps before hashing; part of the token's identity.
    pub canonicalize: Vec<Canonicalize>,
    /// How a token is written.
    pub encoding: Encoding,
    /// Bytes of the MAC that are kept, 16 to 32 (others are brought into that range). Among n distinct values two share a token
    /// with a probability of about n²/2^(8·bytes + 1): at 16 bytes and 10^10 values, 10^-19.
    pub bytes: u8,
}

impl Default for CryptoHashOptions {
    fn default() -> Self {
        Self { canonicalize: Vec::new(), encoding: Encoding::Hex, bytes: 32 }
    }
}

/// Irreversible tokens: the HMAC of the canonical value under the subkey of a join domain.
///
/// Without the key a token says nothing but which values are equal. With the key anyone can try all values of a small domain
/// (there are 10^9 CPFs), so the key is as sensitive as the data.
#[derive(Clone)]
pub struct CryptoHash {
    mac: KeyedHash,
    null: [u8; 32],
    canonicalizer: Canonicalizer,
    encoding: Encoding,
    bytes: usize,
}

impl CryptoHash {
    /// The transform for one join domain. Encoding and length are no part of the identity: a short token is a prefix of the long one.
    pub fn new(root: &RootKey, join_domain: &str, options: &CryptoHashOptions) -> Self {
        let canonicalizer = Canonicalizer::new(&options.canonicalize);
        let identity = canonicalizer.identity();
        let mac = KeyedHash::new(&root.derive_with(join_domain, Label::CryptoHash, &[identity.as_bytes()]));
        // A subkey of its own: no value, not even the empty one, can get the token of null.
        let null = KeyedHash::new(&root.derive_with(join_domain, Label::CryptoHashNull, &[identity.as_bytes()])).hash(&[]);
        Self { mac, null, canonicalizer, encoding: options.encoding, bytes: usize::from(options.bytes.clamp(16, 32)) }
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// [`ValueRefused::Empty`], [`ValueRefused::NonAsciiDigit`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        let canonical = self.canonicalizer.run(value)?;
        let token = self.mac.hash(&[canonical.as_bytes()]);
        write(self.encoding, &token[..self.bytes], out);
        Ok(())
    }

    /// Appends the token that stands for null.
    pub fn apply_null(&self, out: &mut Vec<u8>) {
        write(self.encoding, &self.null[..self.bytes], out);
    }
}

impl fmt::Debug for CryptoHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CryptoHash")
            .field("canonicalize", &self.canonicalizer)
            .field("encoding", &self.encoding)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[inline]
fn write(encoding: Encoding, token: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    match encoding {
        Encoding::Hex => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let mut text = [0; 64];
            for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(token) {
                *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
            }
            out.extend_from_slice(&text[..token.len() * 2]);
        }
        Encoding::Base64url => {
            // 32 bytes need 43 characters; the slice is always long enough.
            out.resize(start + 43, 0);
            let written = URL_SAFE_NO_PAD.encode_slice(token, &mut out[start..]).unwrap_or(0);
            out.truncate(start + written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::Canonicalize;

    fn root() -> RootKey {
        RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", 1)
    }

    fn token(options: &CryptoHashOptions, value: &str) -> String {
        let mut out = Vec::new();
        CryptoHash::new(&root(), "person", options).apply(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Tokens that were made must stay what they are: this changes only with a new format version.
    #[test]
    fn tokens_do_not_drift() {
        assert_eq!(token(&CryptoHashOptions::default(), "39053344705"), "c3598b72af65b5a50ff603a19e63dc97cedfc5a2dcb7c54f69d38af6fa6ceff3");
    }

    #[test]
    fn encodings_and_lengths_show_the_same_bytes() {
        let hex = token(&CryptoHashOptions::default(), "value");
        let bytes = hex::decode(&hex).unwrap();
        for length in 16..=32u8 {
            for (encoding, expected) in
                [(Encoding::Hex, hex[..usize::from(length) * 2].to_owned()), (Encoding::Base64url, URL_SAFE_NO_PAD.encode(&bytes[..usize::from(length)]))]
            {
                assert_eq!(token(&CryptoHashOptions { encoding, bytes: length, ..Default::default() }, "value"), expected);
            }
        }
    }

    #[test]
    fn one_number_written_in_two_ways_is_one_token() {
        let options = CryptoHashOptions { canonicalize: vec![Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Digits], ..Default::default() };
        assert_eq!(token(&options, "390.533.447-05"), token(&options, " 39053344705"));
        assert_ne!(token(&options, "39053344705"), token(&CryptoHashOptions::default(), "39053344705"), "steps are part of the identity");
    }

    #[test]
    fn null_is_no_value() {
        let mut transform = CryptoHash::new(&root(), "person", &CryptoHashOptions::default());
        let mut out = b"kept".to_vec();
        transform.apply_null(&mut out);
        assert_eq!(out.len(), 4 + 64);
        assert_eq!(transform.apply("", &mut out), Err(ValueRefused::Empty));
        assert_eq!(out.len(), 4 + 64, "a refusal appends nothing");
    }
}
