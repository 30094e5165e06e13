//! XAES-256-GCM (C2SP), the AEAD with 192-bit nonces, over the `aes` and `aes-gcm` crates.
//!
//! The first half of the nonce derives a key for AES-256-GCM by two blocks of CMAC, the second is that one's nonce: the limit of 2^32
//! messages under one key does not bite.
use super::siv::double;
use aead::AeadInOut;
use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

pub(crate) const NONCE_BYTES: usize = 24;
pub(crate) const TAG_BYTES: usize = 16;

#[derive(Clone)]
pub(crate) struct Xaes {
    cipher: Aes256,
    /// K1 of the specification.
    subkey: Subkey,
}

#[derive(Clone)]
struct Subkey(u128);

impl Drop for Subkey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Subkey {}
impl ZeroizeOnDrop for Xaes {}

impl Xaes {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let cipher = Aes256::new(key.into());
        let mut block = Array::from([0; 16]);
        cipher.encrypt_block(&mut block);
        Self { cipher, subkey: Subkey(double(u128::from_be_bytes(block.into()))) }
    }

    /// Encrypts `text` in place and gives the tag; `None` beyond what AES-GCM takes (64 GiB).
    pub(crate) fn seal(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], text: &mut [u8]) -> Option<[u8; TAG_BYTES]> {
        let (cipher, nonce) = self.derive(nonce);
        cipher.encrypt_inout_detached(&nonce, aad, text.into()).ok().map(Into::into)
    }

    /// Decrypts `text` in place; `None` when it is not authentic, and `text` is not to be looked at then.
    pub(crate) fn open(&self, nonce: &[u8; NONCE_BYTES], aad: &[u8], tag: [u8; TAG_BYTES], text: &mut [u8]) -> Option<()> {
        let (cipher, nonce) = self.derive(nonce);
        cipher.decrypt_inout_detached(&nonce, aad, text.into(), &Tag::from(tag)).ok()
    }

    fn derive(&self, nonce: &[u8; NONCE_BYTES]) -> (Aes256Gcm, Nonce<aead::consts::U12>) {
        let (mut key, mut rest) = (Zeroizing::new([0; 32]), [0; 12]);
        let (first, second) = nonce.split_at(12);
        rest.copy_from_slice(second);
        // M1 and M2: a counter of 16 bits, the letter X, a zero, and half the nonce.
        for (counter, half) in (1..).zip(key.as_chunks_mut::<16>().0) {
            let mut message = [0, counter, b'X', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            message[4..].copy_from_slice(first);
            let mut block = Array::from((u128::from_be_bytes(message) ^ self.subkey.0).to_be_bytes());
            self.cipher.encrypt_block(&mut block);
            *half = block.into();
        }
        (Aes256Gcm::new((&*key).into()), rest.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two vectors of the specification, <https://c2sp.org/XAES-256-GCM>.
    #[test]
    fn published_vectors() {
        for (key, aad, expected) in [
            (1, &b""[..], "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (3, b"c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ] {
            let (xaes, nonce) = (Xaes::new(&[key; 32]), b"ABCDEFGHIJKLMNOPQRSTUVWX");
            let mut text = *b"XAES-256-GCM";
            let tag = xaes.seal(nonce, aad, &mut text).unwrap();
            assert_eq!(hex::encode([&text[..], &tag].concat()), expected);
            assert!(xaes.open(nonce, b"another", tag, &mut text.clone()).is_none());
            assert_eq!(xaes.open(nonce, aad, tag, &mut text), Some(()));
            assert_eq!(&text, b"XAES-256-GCM");
        }
    }

    /// The accumulated tests of the specification: all inputs are read from one SHAKE-128, all ciphertexts go into another.
    fn accumulated(iterations: u32) -> String {
        use sha3::digest::{ExtendableOutput, Update, XofReader};
        let (mut random, mut sum) = (sha3::Shake128::default().finalize_xof(), sha3::Shake128::default());
        for _ in 0..iterations {
            let (mut key, mut nonce, mut length) = ([0; 32], [0; NONCE_BYTES], [0]);
            random.read(&mut key);
            random.read(&mut nonce);
            random.read(&mut length);
            let mut text = vec![0; length[0].into()];
            random.read(&mut text);
            random.read(&mut length);
            let mut aad = vec![0; length[0].into()];
            random.read(&mut aad);
            let (xaes, plain) = (Xaes::new(&key), text.clone());
            let tag = xaes.seal(&nonce, &aad, &mut text).unwrap();
            sum.update(&text);
            sum.update(&tag);
            assert!(xaes.open(&nonce, &aad, tag, &mut text).is_some() && text == plain);
        }
        let mut hash = [0; 32];
        sum.finalize_xof_into(&mut hash);
        hex::encode(hash)
    }

    #[test]
    fn ten_thousand_accumulated() {
        assert_eq!(accumulated(10_000), "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939");
    }

    #[test]
    #[ignore = "takes seconds; the ten thousand say the same of the code"]
    fn a_million_accumulated() {
        assert_eq!(accumulated(1_000_000), "2163ae1445985a30b60585ee67daa55674df06901b890593e824b8a7c885ab15");
    }
}
