//! A key file beside the keyring, for development and tests.
use super::{DataKey, EncryptionContext, Kms, KmsError};
use crate::Secret;
use crate::derive::push;
use crate::keyring::Provider;
use crate::secret::{NoEntropy, fill_random};
use aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use async_trait::async_trait;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Wraps root keys with AES-256-GCM under a key that stands in a file of mode 0600.
///
/// Whoever reads the file has the keys, so a dataset made with it is for development. The file holds 64 hexadecimal digits and a
/// newline. A wrapped key is a format byte, a random 96-bit nonce, and ciphertext with tag; the encryption context is additional data.
#[derive(Debug)]
pub struct LocalKms {
    key: Secret<32>,
}

const FORMAT: u8 = 1;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const WRAPPED_BYTES: usize = 1 + NONCE_BYTES + 32 + TAG_BYTES;

impl LocalKms {
    /// Where the key file of the keyring at `keyring` is: `card.keyring.json` has `card.keyring.key` beside it.
    pub fn key_file(keyring: &Path) -> PathBuf {
        keyring.with_extension("key")
    }

    /// Reads the key file at `path`.
    ///
    /// # Errors
    /// [`KmsError::KeyFile`] when it is missing, no regular file, open to anyone but its owner, or no key.
    pub fn open(path: &Path) -> Result<Self, KmsError> {
        // A link could be swapped between check and read, and so could the file behind a path: all checks are on the open file.
        let mut file = File::open(path).map_err(|error| broken(path, io_text(&error)))?;
        let metadata = file.metadata().map_err(|error| broken(path, io_text(&error)))?;
        if !metadata.is_file() {
            return Err(broken(path, "is no regular file"));
        }
        let mode = metadata.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(broken(path, format!("has mode {mode:04o} and is open to others; chmod 600 it, and treat the key as exposed if it was shared")));
        }
        let mut text = Zeroizing::new([0; 66]);
        let mut length = 0;
        loop {
            match file.read(&mut text[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(path, io_text(&error))),
            }
        }
        let text = text[..length].strip_suffix(b"\n").unwrap_or(&text[..length]);
        let mut key = Secret::zero();
        hex::decode_to_slice(text, key.expose_mut()).map_err(|_| broken(path, "does not hold 64 hexadecimal digits"))?;
        Ok(Self { key })
    }

    /// Makes a key file at `path`, mode 0600, with a fresh key.
    ///
    /// # Errors
    /// [`KmsError::KeyFile`] when there is one already (it is never overwritten) or it cannot be written.
    pub fn create(path: &Path) -> Result<Self, KmsError> {
        let key = Secret::<32>::random().map_err(|error| broken(path, error.to_string()))?;
        Self::write(path, &key).map_err(|error| broken(path, io_text(&error)))?;
        Ok(Self { key })
    }

    /// [`Self::open`], or [`Self::create`] when there is no file. Two processes that race end up with the same key.
    ///
    /// # Errors
    /// As the two.
    pub fn open_or_create(path: &Path) -> Result<Self, KmsError> {
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            match Self::create(path) {
                Err(_) if path.exists() => {}
                made => return made,
            }
        }
        Self::open(path)
    }

    /// Writes under another name first: a link that fails on an existing name makes the whole file appear at once.
    fn write(path: &Path, key: &Secret<32>) -> io::Result<()> {
        let mut text = Zeroizing::new([0; 65]);
        hex::encode_to_slice(key.expose(), &mut text[..64]).map_err(io::Error::other)?;
        text[64] = b'\n';
        let mut suffix = [0; 8];
        fill_random(&mut suffix).map_err(io::Error::other)?;
        let mut name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?.to_owned();
        name.push(format!(".{}", hex::encode(suffix)));
        let staged = path.with_file_name(name);
        let written = (|| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&staged)?;
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.write_all(&text[..])?;
            file.sync_all()?;
            fs::hard_link(&staged, path)
        })();
        let removed = fs::remove_file(&staged);
        written.and(removed)
    }

    fn wrap(&self, root: &Secret<32>, context: &EncryptionContext) -> Result<Vec<u8>, KmsError> {
        let mut wrapped = vec![0; WRAPPED_BYTES];
        wrapped[0] = FORMAT;
        fill_random(&mut wrapped[1..1 + NONCE_BYTES]).map_err(|NoEntropy| KmsError::Unavailable { code: "no-entropy".into() })?;
        let nonce = Nonce::try_from(&wrapped[1..1 + NONCE_BYTES]).map_err(|_| KmsError::Rejected)?;
        let (_, body) = wrapped.split_at_mut(1 + NONCE_BYTES);
        body[..32].copy_from_slice(root.expose());
        let tag = self.cipher().encrypt_inout_detached(&nonce, &additional_data(context), (&mut body[..32]).into()).map_err(|_| KmsError::Rejected)?;
        body[32..].copy_from_slice(&tag);
        Ok(wrapped)
    }

    fn unwrap(&self, wrapped: &[u8], context: &EncryptionContext) -> Result<Secret<32>, KmsError> {
        if wrapped.len() != WRAPPED_BYTES || wrapped[0] != FORMAT {
            return Err(KmsError::Rejected);
        }
        let (nonce, body) = wrapped[1..].split_at(NONCE_BYTES);
        let (body, tag) = body.split_at(32);
        let (nonce, tag) = (Nonce::try_from(nonce).map_err(|_| KmsError::Rejected)?, Tag::try_from(tag).map_err(|_| KmsError::Rejected)?);
        let mut root = Secret::from_slice(body).ok_or(KmsError::Rejected)?;
        self.cipher()
            .decrypt_inout_detached(&nonce, &additional_data(context), root.expose_mut().as_mut_slice().into(), &tag)
            .map_err(|_| KmsError::Rejected)?;
        Ok(root)
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(self.key.expose().into())
    }
}

#[async_trait]
impl Kms for LocalKms {
    fn provider(&self) -> Provider {
        Provider::Local
    }

    async fn generate_data_key(&self, context: &EncryptionContext) -> Result<DataKey, KmsError> {
        let root = Secret::random().map_err(|NoEntropy| KmsError::Unavailable { code: "no-entropy".into() })?;
        let wrapped = self.wrap(&root, context)?;
        Ok(DataKey { root, wrapped })
    }

    async fn encrypt(&self, root: &Secret<32>, context: &EncryptionContext) -> Result<Vec<u8>, KmsError> {
        self.wrap(root, context)
    }

    async fn decrypt(&self, wrapped: &[u8], context: &EncryptionContext) -> Result<Secret<32>, KmsError> {
        self.unwrap(wrapped, context)
    }
}

/// The context, each name and value length-prefixed.
fn additional_data(context: &EncryptionContext) -> Vec<u8> {
    let mut data = Vec::with_capacity(128);
    push(&mut data, b"perimeter/local-kms");
    for (name, value) in context.pairs() {
        push(&mut data, name.as_bytes());
        push(&mut data, value.as_bytes());
    }
    data
}

fn broken(path: &Path, what: impl Into<String>) -> KmsError {
    KmsError::KeyFile { path: path.to_owned(), what: what.into() }
}

/// The operating system's words; the path stands in the error already.
fn io_text(error: &io::Error) -> String {
    error.kind().to_string()
}
