//! Keys and pseudonyms: keyrings whose root keys a KMS wraps, and transforms that turn values into tokens under them.
//!
//! # The way of a key
//! 1. A [`KeyringFile`] holds root keys by version, each wrapped by a [`Kms`] ([`AwsKms`], or [`LocalKms`] for development) once per
//!    [`Purpose`]. [`create_keyring`] makes one.
//! 2. [`unwrap_root`] gives a [`RootKey`] for one call to the KMS, after checking it against the file's commitment.
//! 3. [`RootKey::derive`] gives one subkey for each join domain and [`Label`] by HKDF-SHA256. Transforms derive their own: callers
//!    hand over the root key and never see a subkey.
//! 4. Everything secret lives in [`Secret`], which wipes itself, prints as `[secret]` and compares in constant time.
//!
//! # The way of a value
//! [`transform::TextTransform::apply`] appends the token of a text to a reused buffer: millions a second, no allocation. The table of
//! transforms is in [`transform`]. Errors ([`transform::ValueRefused`]) hold nothing of the value.
//!
//! [`seal`] encrypts files of rejected rows as a stream that does not open when it was cut, reordered or altered.
//!
//! # What tokens protect, and what they do not
//! Without the root key a token cannot be turned back or recomputed. Equal values of one join domain and key version have equal tokens,
//! everywhere and by design, so whoever knows how often values occur learns from how often tokens do. With the root key every value of
//! a small domain can be tried: crypto-shredding means destroying all wraps of a version.
//!
//! No I/O happens here but KMS calls, [`LocalKms`]'s key file, and the reader or writer that [`seal`] is given.
pub mod derive;
pub mod keyring;
pub mod kms;
#[cfg(test)]
mod properties;
pub mod reveal;
pub mod seal;
mod secret;
pub mod transform;
#[cfg(test)]
mod vectors;

pub use derive::{Label, RootKey};
pub use keyring::{KeyCache, KeyError, KeyringError, KeyringFile, Provider, Purpose, SplitKey, create_keyring, unwrap_root, unwrap_split};
pub use kms::{AwsKms, Kms, KmsError, LocalKms};
pub use secret::{NoEntropy, Secret};
