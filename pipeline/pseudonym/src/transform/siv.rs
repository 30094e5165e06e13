//! AES-SIV (RFC 5297) for messages without associated data, over the `aes` crate.
//!
//! Own code for one reason: the `aes-siv` crate expands the stream key anew for every message, which costs more than the message of a
//! cell. Two key schedules and the CMAC of the zero block are made once here. The crate stays as differential partner in the tests, and
//! every published vector runs on both.
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) const SIV_BYTES: usize = 16;

/// Two keyed ciphers, and what of S2V is the same for every message.
#[derive(Clone)]
pub(crate) struct Siv<C> {
    mac: C,
    stream: C,
    secrets: Secrets,
}

/// Blocks that the MAC key determines.
#[derive(Clone)]
struct Secrets {
    /// The two subkeys of CMAC.
    whole: u128,
    padded: u128,
    /// CMAC of a block of zeros: what S2V begins with.
    zero: u128,
}

impl Drop for Secrets {
    fn drop(&mut self) {
        self.whole.zeroize();
        self.padded.zeroize();
        self.zero.zeroize();
    }
}

impl ZeroizeOnDrop for Secrets {}
/// The ciphers wipe themselves: the feature `zeroize` of the `aes` crate is on.
impl<C: ZeroizeOnDrop> ZeroizeOnDrop for Siv<C> {}

impl<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>> Siv<C> {
    /// From the cipher under the first half of the key and the one under the second.
    pub(crate) fn new(mac: C, stream: C) -> Self {
        let whole = double(encrypt(&mac, 0));
        let secrets = Secrets { whole, padded: double(whole), zero: encrypt(&mac, whole) };
        Self { mac, stream, secrets }
    }

    /// Encrypts `text` in place and gives its synthetic IV.
    pub(crate) fn seal(&self, headers: &[&[u8]], text: &mut [u8]) -> [u8; SIV_BYTES] {
        let siv = self.s2v(headers, text);
        self.xor_stream(siv, text);
        siv.to_be_bytes()
    }

    /// Decrypts `text` in place; wiped, and false, when it is not authentic.
    #[must_use]
    pub(crate) fn open(&self, headers: &[&[u8]], siv: [u8; SIV_BYTES], text: &mut [u8]) -> bool {
        self.xor_stream(u128::from_be_bytes(siv), text);
        let authentic: bool = self.s2v(headers, text).to_be_bytes().ct_eq(&siv).into();
        if !authentic {
            text.zeroize();
        }
        authentic
    }

    /// CMAC alone, for its published vectors.
    #[cfg(test)]
    pub(crate) fn cmac(&self, message: &[u8]) -> [u8; 16] {
        struct Alone<'a>(&'a Secrets, &'a [u8], &'a mut u128);
        impl BlockSizeUser for Alone<'_> {
            type BlockSize = U16;
        }
        impl BlockCipherEncClosure for Alone<'_> {
            fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
                *self.2 = Cmac { backend, secrets: self.0 }.message(self.1);
            }
        }
        let mut mac = 0;
        self.mac.encrypt_with_backend(Alone(&self.secrets, message, &mut mac));
        mac.to_be_bytes()
    }

    fn s2v(&self, headers: &[&[u8]], text: &[u8]) -> u128 {
        let mut siv = 0;
        self.mac.encrypt_with_backend(S2v { secrets: &self.secrets, headers, text, siv: &mut siv });
        siv
    }

    #[inline]
    fn xor_stream(&self, siv: u128, text: &mut [u8]) {
        const GROUP: usize = 8;
        // Two bits are cleared (RFC 5297, section 2.5), so that a 32-bit or 64-bit counter would do.
        let mut counter = siv & !(1 << 63 | 1 << 31);
        for group in text.chunks_mut(16 * GROUP) {
            let count = group.len().div_ceil(16);
            let mut blocks = [Array::default(); GROUP];
            for block in &mut blocks[..count] {
                *block = counter.to_be_bytes().into();
                counter = counter.wrapping_add(1);
            }
            self.stream.encrypt_blocks(&mut blocks[..count]);
            for (chunk, block) in group.chunks_mut(16).zip(&blocks) {
                for (byte, key) in chunk.iter_mut().zip(block) {
                    *byte ^= key;
                }
            }
        }
    }
}

/// S2V, run inside the cipher's backend: one dispatch for all blocks.
struct S2v<'a> {
    secrets: &'a Secrets,
    headers: &'a [&'a [u8]],
    text: &'a [u8],
    siv: &'a mut u128,
}

impl BlockSizeUser for S2v<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for S2v<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let Self { secrets, headers, text, siv } = self;
        let cmac = Cmac { backend, secrets };
        let sum = headers.iter().fold(secrets.zero, |sum, header| double(sum) ^ cmac.message(header));
        *siv = match text.len().checked_sub(16) {
            None => cmac.encrypt(double(sum) ^ padded(text) ^ secrets.whole),
            Some(before_last) => {
                // All but 16 to 31 bytes as they are; the sum goes over the last 16.
                let (blocks, rest) = text.split_at(before_last / 16 * 16);
                let state = cmac.chain(blocks);
                let mut end = [0; 32];
                end[..rest.len()].copy_from_slice(rest);
                for (byte, sum) in end[rest.len() - 16..rest.len()].iter_mut().zip(sum.to_be_bytes()) {
                    *byte ^= sum;
                }
                cmac.last(state, &end[..rest.len()])
            }
        };
    }
}

/// CMAC (RFC 4493).
struct Cmac<'a, B> {
    backend: &'a B,
    secrets: &'a Secrets,
}

impl<B: BlockCipherEncBackend<BlockSize = U16>> Cmac<'_, B> {
    #[inline(always)]
    fn message(&self, message: &[u8]) -> u128 {
        // The last block, whole or not, is left for the subkey; an empty message has one too.
        let (blocks, rest) = message.split_at(message.len().saturating_sub(1) / 16 * 16);
        self.last(self.chain(blocks), rest)
    }

    #[inline(always)]
    fn chain(&self, blocks: &[u8]) -> u128 {
        blocks.as_chunks::<16>().0.iter().fold(0, |state, block| self.encrypt(state ^ u128::from_be_bytes(*block)))
    }

    /// The end of a CMAC: up to two blocks.
    #[inline(always)]
    fn last(&self, mut state: u128, mut rest: &[u8]) -> u128 {
        if let Some((block, after)) = rest.split_first_chunk::<16>()
            && !after.is_empty()
        {
            state = self.encrypt(state ^ u128::from_be_bytes(*block));
            rest = after;
        }
        match <[u8; 16]>::try_from(rest) {
            Ok(block) => self.encrypt(state ^ u128::from_be_bytes(block) ^ self.secrets.whole),
            Err(_) => self.encrypt(state ^ padded(rest) ^ self.secrets.padded),
        }
    }

    #[inline(always)]
    fn encrypt(&self, block: u128) -> u128 {
        let mut block = Array::from(block.to_be_bytes());
        self.backend.encrypt_block((&mut block).into());
        u128::from_be_bytes(block.into())
    }
}

fn encrypt<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(cipher: &C, block: u128) -> u128 {
    let mut block = Array::from(block.to_be_bytes());
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// Multiplication by x in GF(2^128), without a branch on the secret.
#[inline]
pub(crate) fn double(block: u128) -> u128 {
    (block << 1) ^ (0x87 * (block >> 127))
}

/// Fewer than 16 bytes, a one bit, and zeros.
#[inline]
fn padded(rest: &[u8]) -> u128 {
    let mut block = [0; 16];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 0x80;
    u128::from_be_bytes(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::KeyInit;
    use aes::{Aes128, Aes256};

    fn siv<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit>(key: &[u8]) -> Siv<C> {
        let (mac, stream) = key.split_at(key.len() / 2);
        Siv::new(C::new_from_slice(mac).unwrap(), C::new_from_slice(stream).unwrap())
    }

    /// RFC 5297, appendices A.1 and A.2.
    #[test]
    fn published_examples() {
        let hex = |text: &str| hex::decode(text).unwrap();
        let cipher = siv::<Aes128>(&hex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"));
        let mut text = hex("112233445566778899aabbccddee");
        let tag = cipher.seal(&[&hex("101112131415161718191a1b1c1d1e1f2021222324252627")], &mut text);
        assert_eq!([&tag[..], &text].concat(), hex("85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"));
        let cipher = siv::<Aes128>(&hex("7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f"));
        let headers =
            ["00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100", "102030405060708090a0", "09f911029d74e35bd84156c5635688c0"]
                .map(hex);
        let mut text = hex("7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553");
        let tag = cipher.seal(&headers.each_ref().map(Vec::as_slice), &mut text);
        let expected = "7bdb6e3b432667eb06f4d14bff2fbd0fcb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d";
        assert_eq!([&tag[..], &text].concat(), hex(expected));
    }

    #[test]
    fn agrees_with_another_implementation_at_every_length() {
        let key: [u8; 64] = std::array::from_fn(|index| index as u8 * 3);
        let ours = siv::<Aes256>(&key);
        let mut theirs = <aes_siv::siv::Aes256Siv as aes_siv::KeyInit>::new(&key.into());
        for length in 0..300 {
            let plain: Vec<u8> = (0..length).map(|index| (index * 7 + length) as u8).collect();
            for headers in [&[][..], &[&plain[..length / 2]], &[b"", &plain, b"x"]] {
                let mut text = plain.clone();
                let tag = ours.seal(headers, &mut text);
                assert_eq!([&tag[..], &text].concat(), theirs.encrypt(headers, &plain).unwrap(), "length {length}");
                assert!(ours.open(headers, tag, &mut text) && text == plain);
                let mut altered = tag;
                altered[length % 16] ^= 1;
                assert!(!ours.open(headers, altered, &mut text));
                assert!(text.iter().all(|&byte| byte == 0), "what is not authentic is wiped");
            }
        }
    }
}
