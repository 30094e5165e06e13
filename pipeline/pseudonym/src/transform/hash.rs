//! `cryptoHash`: HMAC-SHA256 (FIPS 198-1).
use super::canonicalize::{Canonicalize, Canonicalizer};
use super::{Tokens, ValueRefused};
use crate::Secret;
use crate::derive::{Label, RootKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::block_api::compress256;
use std::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

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
        let mut mac = [0; 32];
        write_words(self.words(parts), &mut mac);
        mac
    }

    /// The MAC of a value, as words.
    #[inline]
    fn one(&self, value: &[u8]) -> [u32; 8] {
        if value.len() > BLOCK_BYTES - 9 {
            return self.words(&[value]);
        }
        let mut block = [0; BLOCK_BYTES];
        last_block(&mut block, value);
        let mut state = self.inner;
        compress256(&mut state, std::slice::from_ref(&block));
        self.finish(state)
    }

    fn words(&self, parts: &[&[u8]]) -> [u32; 8] {
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
        self.finish(state)
    }

    /// The outer hash: 64 bytes of key and 32 of digest.
    #[inline]
    fn finish(&self, inner: [u32; 8]) -> [u32; 8] {
        let mut block = [0; BLOCK_BYTES];
        outer_block(&mut block, inner);
        let mut state = self.outer;
        compress256(&mut state, std::slice::from_ref(&block));
        state
    }
}

/// The only block of a value of at most 55 bytes.
#[inline]
fn last_block(block: &mut [u8; BLOCK_BYTES], value: &[u8]) {
    *block = [0; BLOCK_BYTES];
    block[..value.len()].copy_from_slice(value);
    block[value.len()] = 0x80;
    // At most 119 bytes with the key's block, that is 952 bits: two bytes hold them.
    block[BLOCK_BYTES - 2..].copy_from_slice(&((BLOCK_BYTES + value.len()) as u16 * 8).to_be_bytes());
}

/// The block of the outer hash: behind 64 bytes of key 32 of digest.
#[inline]
fn outer_block(block: &mut [u8; BLOCK_BYTES], inner: [u32; 8]) {
    *block = [0; BLOCK_BYTES];
    write_words(inner, &mut block[..32]);
    block[32] = 0x80;
    block[BLOCK_BYTES - 2..].copy_from_slice(&768u16.to_be_bytes());
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

impl ZeroizeOnDrop for KeyedHash {}

/// How a token is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// Lower-case hexadecimal, two characters a byte.
    #[default]
    Hex,
    /// RFC 4648 section 5 without padding, four characters for three bytes.
    Base64url,
    /// The first 63 bits as a decimal number from 0 to 2^63 - 1, for columns of type int64. See [`CryptoHash::token_i64`].
    Int64,
    /// A UUID of version 8 (RFC 9562, section 5.8): the first 16 bytes, of which version and variant take six bits.
    Uuid,
}

/// Options of [`CryptoHash`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptoHashOptions {
    /// Steps before hashing; part of the token's identity.
    pub canonicalize: Vec<Canonicalize>,
    /// How a token is written.
    pub encoding: Encoding,
    /// Bytes of the MAC that are kept, 16 to 32 (others are brought into that range); `Int64` and `Uuid` have sizes of their own.
    pub bytes: u8,
}

impl CryptoHashOptions {
    /// The bits of the MAC that a token shows.
    pub fn token_bits(&self) -> u32 {
        match self.encoding {
            Encoding::Hex | Encoding::Base64url => u32::from(self.bytes.clamp(16, 32)) * 8,
            Encoding::Int64 => 63,
            Encoding::Uuid => 122,
        }
    }

    /// How likely it is that among `distinct` values any two share a token; see [`collision_odds`].
    pub fn collision_odds(&self, distinct: u64) -> f64 {
        collision_odds(distinct, self.token_bits())
    }
}

/// The birthday bound: how likely it is that among `distinct` values any two share one of 2^`bits` tokens, 0 to 1.
///
/// One minus e^(-n(n-1)/2^(bits+1)). At 10^9 values: 0.053 for 63 bits, 9·10^-20 for 122 bits, 10^-21 for 128 bits.
pub fn collision_odds(distinct: u64, bits: u32) -> f64 {
    let pairs = distinct as f64 * distinct.saturating_sub(1) as f64 / 2.0;
    -(-pairs * (-f64::from(bits)).exp2()).exp_m1()
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
    invalid: KeyedHash,
    null: [u32; 8],
    canonicalizer: Canonicalizer,
    encoding: Encoding,
    bytes: usize,
}

impl CryptoHash {
    /// The transform for one join domain. Encoding and length are no part of the identity: a short token is a prefix of the long one.
    pub fn new(root: &RootKey, join_domain: &str, options: &CryptoHashOptions) -> Self {
        let canonicalizer = Canonicalizer::new(&options.canonicalize);
        let identity = canonicalizer.identity();
        let keyed = |label| KeyedHash::new(&root.derive_with(join_domain, label, &[identity.as_bytes()]));
        // Subkeys of their own: no value, not even the empty one, can get the token of null or that of a value which is no value.
        let null = keyed(Label::CryptoHashNull).words(&[]);
        let bytes = usize::from(options.bytes.clamp(16, 32));
        Self { mac: keyed(Label::CryptoHash), invalid: keyed(Label::CryptoHashInvalid), null, canonicalizer, encoding: options.encoding, bytes }
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// [`ValueRefused::Empty`], [`ValueRefused::NonAsciiDigit`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        let canonical = self.canonicalizer.run(value)?;
        let token = self.mac.one(canonical.as_bytes());
        write(self.encoding, self.bytes, token, out);
        Ok(())
    }

    /// The tokens of a batch. Compressions of several values stand side by side, so that the processor overlaps them, and a block is
    /// written long before it is read, which it does not like to do at once.
    pub(super) fn apply_many(&mut self, values: &[&str], tokens: &mut Tokens) {
        const LANES: usize = 8;
        enum Lane {
            Short,
            Done,
            Refused(ValueRefused),
        }
        let mut blocks = Zeroizing::new([[0; BLOCK_BYTES]; LANES]);
        for values in values.chunks(LANES) {
            let mut states = [self.mac.inner; LANES];
            let mut lanes = [const { Lane::Done }; LANES];
            for (lane, value) in values.iter().enumerate() {
                lanes[lane] = match self.canonicalizer.run(value) {
                    Err(why) => Lane::Refused(why),
                    Ok(canonical) if canonical.len() > BLOCK_BYTES - 9 => {
                        states[lane] = self.mac.words(&[canonical.as_bytes()]);
                        Lane::Done
                    }
                    Ok(canonical) => {
                        last_block(&mut blocks[lane], canonical.as_bytes());
                        Lane::Short
                    }
                };
            }
            let short = |lane: &usize| matches!(lanes[*lane], Lane::Short);
            for lane in (0..LANES).filter(short) {
                compress256(&mut states[lane], std::slice::from_ref(&blocks[lane]));
            }
            for lane in (0..LANES).filter(short) {
                outer_block(&mut blocks[lane], states[lane]);
                states[lane] = self.mac.outer;
            }
            for lane in (0..LANES).filter(short) {
                compress256(&mut states[lane], std::slice::from_ref(&blocks[lane]));
            }
            for (lane, token) in lanes.iter().zip(states).take(values.len()) {
                let refused = match lane {
                    Lane::Refused(why) => Err(*why),
                    Lane::Short | Lane::Done => {
                        write(self.encoding, self.bytes, token, &mut tokens.bytes);
                        Ok(())
                    }
                };
                tokens.end(refused);
            }
        }
    }

    /// The token of `value` as a number from 0 to [`i64::MAX`]: the one that [`Encoding::Int64`] writes, whatever the encoding.
    ///
    /// # Errors
    /// As [`Self::apply`].
    #[inline]
    pub fn token_i64(&mut self, value: &str) -> Result<i64, ValueRefused> {
        let canonical = self.canonicalizer.run(value)?;
        Ok(int64(self.mac.one(canonical.as_bytes())))
    }

    /// Appends the token that stands for null.
    pub fn apply_null(&self, out: &mut Vec<u8>) {
        write(self.encoding, self.bytes, self.null, out);
    }

    /// The number that stands for null.
    pub fn null_i64(&self) -> i64 {
        int64(self.null)
    }

    /// Appends a token for a value as it stands, where [`Self::apply`] refuses it: the empty one, or one that does not canonicalize.
    /// Under a subkey of its own, so that it joins with equal refused values and with nothing else.
    pub fn apply_invalid(&self, value: &str, out: &mut Vec<u8>) {
        write(self.encoding, self.bytes, self.invalid.one(value.as_bytes()), out);
    }

    /// As [`Self::apply_invalid`], as a number.
    pub fn invalid_i64(&self, value: &str) -> i64 {
        int64(self.invalid.one(value.as_bytes()))
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

/// The first 63 bits behind the sign.
fn int64(token: [u32; 8]) -> i64 {
    ((u64::from(token[0]) << 32 | u64::from(token[1])) >> 1) as i64
}

#[inline]
fn write(encoding: Encoding, bytes: usize, token: [u32; 8], out: &mut Vec<u8>) {
    match encoding {
        Encoding::Hex => {
            let mut text = [0; 64];
            for (text, word) in text.as_chunks_mut().0.iter_mut().zip(token) {
                *text = hex(word);
            }
            out.extend_from_slice(&text[..bytes * 2]);
        }
        Encoding::Base64url => {
            let mut whole = [0; 32];
            write_words(token, &mut whole);
            let mut text = [0; 43];
            // 32 bytes need 43 characters; the slice is always long enough.
            let written = URL_SAFE_NO_PAD.encode_slice(&whole[..bytes], &mut text).unwrap_or(0);
            out.extend_from_slice(&text[..written]);
        }
        Encoding::Int64 => {
            let mut number = int64(token);
            let mut text = [0; 19];
            let mut start = text.len();
            loop {
                start -= 1;
                text[start] = b'0' + (number % 10) as u8;
                number /= 10;
                if number == 0 {
                    break;
                }
            }
            out.extend_from_slice(&text[start..]);
        }
        Encoding::Uuid => {
            let [time_low, mid_and_version, variant, node, ..] = token;
            let digits = [time_low, mid_and_version & 0xFFFF_0FFF | 0x8000, variant & 0x3FFF_FFFF | 0x8000_0000, node].map(hex);
            let digits = digits.as_flattened();
            for (index, group) in [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].into_iter().enumerate() {
                if index > 0 {
                    out.push(b'-');
                }
                out.extend_from_slice(group);
            }
        }
    }
}

/// Eight hexadecimal digits, all at once: no table that a token's bytes index.
#[inline]
fn hex(word: u32) -> [u8; 8] {
    let spread = u64::from(word);
    let spread = (spread << 16 | spread) & 0x0000_FFFF_0000_FFFF;
    let spread = (spread << 8 | spread) & 0x00FF_00FF_00FF_00FF;
    let nibbles = (spread << 4 | spread) & 0x0F0F_0F0F_0F0F_0F0F;
    // One in every byte that is ten or more: those are letters, 39 further on.
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (nibbles + 0x3030_3030_3030_3030 + letters * 39).to_be_bytes()
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
    fn numbers_and_uuids_are_the_first_bits() {
        for value in 0..500 {
            let value = value.to_string();
            let bytes = hex::decode(token(&CryptoHashOptions::default(), &value)).unwrap();
            let number = u64::from_be_bytes(bytes[..8].try_into().unwrap()) >> 1;
            let options = CryptoHashOptions { encoding: Encoding::Int64, ..Default::default() };
            assert_eq!(token(&options, &value), number.to_string());
            assert_eq!(CryptoHash::new(&root(), "person", &options).token_i64(&value), Ok(number as i64));
            let uuid = token(&CryptoHashOptions { encoding: Encoding::Uuid, ..Default::default() }, &value);
            let bare = hex::decode(uuid.replace('-', "")).unwrap();
            assert_eq!((uuid.len(), bare[6] >> 4, bare[8] >> 6), (36, 8, 2), "{uuid}");
            assert!([8, 13, 18, 23].iter().all(|&place| uuid.as_bytes()[place] == b'-'));
            for (index, (byte, whole)) in bare.iter().zip(&bytes).enumerate() {
                let mask = [0xFF, 0x0F, 0x3F][usize::from(index == 6) + 2 * usize::from(index == 8)];
                assert_eq!(byte & mask, whole & mask, "byte {index}");
            }
        }
    }

    #[test]
    fn odds_of_a_collision() {
        let int64 = CryptoHashOptions { encoding: Encoding::Int64, ..Default::default() };
        assert_eq!((int64.token_bits(), CryptoHashOptions { encoding: Encoding::Uuid, ..int64.clone() }.token_bits()), (63, 122));
        assert_eq!(CryptoHashOptions::default().token_bits(), 256);
        assert_eq!(CryptoHashOptions { bytes: 0, ..Default::default() }.token_bits(), 128);
        assert_eq!((int64.collision_odds(0), int64.collision_odds(1)), (0.0, 0.0));
        // 253 pairs among 256 tokens.
        assert!((collision_odds(23, 8) - 0.628).abs() < 0.001);
        assert!((int64.collision_odds(1_000_000_000) - 0.0528).abs() < 0.0001);
        assert!((collision_odds(1_000_000_000, 122) / 9.4e-20 - 1.0).abs() < 0.01);
        assert!(collision_odds(u64::MAX, 63) > 0.999);
    }

    #[test]
    fn every_length_agrees_with_the_hmac_crate() {
        use hmac::{KeyInit, Mac};
        let key = Secret::from_slice(&[5; 32]).unwrap();
        let ours = KeyedHash::new(&key);
        let message: Vec<u8> = (0..300).map(|index| (index * 11) as u8).collect();
        for length in 0..message.len() {
            let mut theirs = hmac::Hmac::<sha2::Sha256>::new_from_slice(key.expose()).unwrap();
            theirs.update(&message[..length]);
            let expected: [u8; 32] = theirs.finalize().into_bytes().into();
            assert_eq!(ours.hash(&[&message[..length]]), expected, "length {length}");
            let mut one = [0; 32];
            write_words(ours.one(&message[..length]), &mut one);
            assert_eq!(one, expected, "length {length}");
            for cut in [0, length / 3, length] {
                assert_eq!(ours.hash(&[&message[..cut], &[], &message[cut..length]]), expected, "length {length}, cut {cut}");
            }
        }
    }

    #[test]
    fn refused_values_have_tokens_of_their_own() {
        let options = CryptoHashOptions { canonicalize: vec![Canonicalize::Digits], ..Default::default() };
        let mut transform = CryptoHash::new(&root(), "person", &options);
        let invalid = |value: &str| {
            let mut out = Vec::new();
            transform.apply_invalid(value, &mut out);
            out
        };
        let (empty, word, digits) = (invalid(""), invalid("n/a"), invalid("1"));
        assert!(empty != word && word != digits && invalid("n/a") == word);
        let mut out = Vec::new();
        transform.apply("1", &mut out).unwrap();
        assert_ne!(out, digits, "a refused value joins with no value");
        out.clear();
        transform.apply_null(&mut out);
        assert!(out != empty && out != word);
        assert!(transform.null_i64() >= 0 && transform.invalid_i64("n/a") >= 0);
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
