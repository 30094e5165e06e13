//! Keys and pseudonyms: keyrings whose root keys a KMS wraps, and transforms that turn values into tokens under them.
//!
//! # The way of a key
//! 1. A [`KeyringFile`] holds root keys by version, each wrapped by a [`Kms`] ([`AwsKms`], or [`LocalKms`] for development) once per
//!    [`Purpose`]. [`create_keyring`] makes one; [`keyring::rotate`], [`keyring::rewrap`], [`keyring::retire`] and [`keyring::destroy`]
//!    make the next one from it. [`KeyringFile::view`] is what may be shown.
//! 2. [`unwrap_root`] gives a [`RootKey`] for one call to the KMS, after checking it against the file's commitment; a [`KeyCache`] makes
//!    that one call per key and process.
//! 3. [`RootKey::derive`] gives one subkey for each join domain and [`Label`] by HKDF-SHA256. Transforms derive their own: callers
//!    hand over the root key and never see a subkey.
//! 4. Everything secret lives in [`Secret`], which wipes itself, prints as `[secret]` and compares in constant time.
//!
//! Two keys have types of their own: the [`SplitKey`], which does not rotate ([`unwrap_split`]), and [`reveal::RevealKey`], without which
//! nothing is turned back.
//!
//! # The way of a value
//! | need | call |
//! |---|---|
//! | tokens of a batch | [`transform::TextTransform::apply_many`] into [`transform::Tokens`]: FF1 in lock step |
//! | the token of one text | [`transform::TextTransform::apply`], which appends to a reused buffer and allocates nothing |
//! | the same under the policy's rule for null, empty and refused values | [`transform::Guarded`] |
//! | a randomized token | [`transform::Encrypt`], which needs the row's digest |
//! | coarser numbers and dates | [`transform::Bucketing`], [`transform::FixedSizeBucketing`], [`transform::TimePart`], [`transform::DateShift`] |
//! | the way back | [`reveal::Revealer`] |
//! | a number for the plan | [`transform::CryptoHashOptions::collision_odds`], [`transform::FpeOptions::smallest_domain`] |
//!
//! The table of transforms is in [`transform`]. Errors ([`transform::ValueRefused`]) hold nothing of the value.
//!
//! [`seal`] encrypts files of rejected rows as a stream that does not open when it was cut, reordered or altered.
//!
//! No I/O happens here but KMS calls, [`LocalKms`]'s key file, and the reader or writer that [`seal`] is given. What is protected and what
//! is not stands in [`security`].
pub mod derive;
pub mod keyring;
pub mod kms;
#[cfg(test)]
mod properties;
pub mod reveal;
pub mod seal;
mod secret;
#[doc = include_str!("security.md")]
pub mod security {}
pub mod transform;
#[cfg(test)]
mod vectors;

pub use derive::{Label, RootKey};
pub use keyring::{KeyCache, KeyError, KeyringError, KeyringFile, Provider, Purpose, SplitKey, create_keyring, unwrap_root, unwrap_split};
pub use kms::{AwsKms, Kms, KmsError, LocalKms};
pub use secret::{NoEntropy, Secret};
