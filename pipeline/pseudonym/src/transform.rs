//! Transforms on values. Columns, nulls and rejected rows are the caller's, or [`Guarded`]'s.
//!
//! | transform | type | reversible |
//! |---|---|---|
//! | `cryptoHash` | [`CryptoHash`], HMAC-SHA256 as hexadecimal, base64url, int64 or UUID | no |
//! | `cryptoDeterministic` | [`CryptoDeterministic`], AES-256-SIV | by [`crate::reveal`] |
//! | `encrypt` | [`Encrypt`], XAES-256-GCM | by [`crate::reveal`] |
//! | `cryptoReplaceFfxFpe` | [`CryptoReplaceFfxFpe`], FF1 over an [`Alphabet`]; [`Ff1Digits`] for digits without lengths | by [`crate::reveal`] |
//! | `dateShift` | [`DateShift`], with [`Context`] beside it | no |
//! | `bucketing`, `fixedSizeBucketing`, `timePart` | [`Bucketing`], [`FixedSizeBucketing`], [`TimePart`] | no |
//! | `characterMask`, `truncate` | [`CharacterMask`], [`Truncate`] | no |
//! | `redact`, `replace`, `replaceWithInfoType` | [`Replace`] | no |
//!
//! A text transform appends its result to a byte vector that the caller reuses, and allocates nothing itself once its buffers have
//! grown. [`TextTransform`] is any of them, for a single dispatch per value or batch. All are `Send` and `Clone`: a thread takes
//! its own copy.
//!
//! Numbers and dates stay what they are: a token of an integer column is an integer by [`CryptoHash::token_i64`], buckets are integers in
//! the column's own unit, and shifted dates are dates. An integer that is to join with text is written in decimal and canonicalized
//! ([`Canonicalize::LeftPad`] gives lost zeros back).
mod canonicalize;
mod date_shift;
pub(crate) mod deterministic;
mod digits;
pub(crate) mod encrypt;
pub(crate) mod ff1;
mod fpe;
mod generalize;
mod guarded;
pub(crate) mod hash;
mod mask;
pub(crate) mod siv;
pub(crate) mod xaes;

pub use canonicalize::{Canonicalize, Canonicalizer, UnknownStep};
pub use date_shift::{Context, DateShift, DateShiftOptions};
pub use deterministic::{CryptoDeterministic, token_version};
pub use digits::{Ff1Digits, Ff1Options};
pub use encrypt::{Encrypt, EncryptOptions, RowDigest};
pub use fpe::{Alphabet, BadAlphabet, CheckDigit, CryptoReplaceFfxFpe, Domain, FpeOptions, FpeRefused};
pub use generalize::{BadBuckets, Bucket, Bucketing, FixedSizeBucketing, TimePart};
pub use guarded::{Exceptions, Guarded, NoToken, OnEmpty, OnInvalid, OnNull, Outcome, Rules};
pub use hash::{CryptoHash, CryptoHashOptions, Encoding, collision_odds};
pub use mask::{CharacterMask, Replace, Truncate};

use std::fmt;

/// Why a value gets no token. Holds nothing of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ValueRefused {
    /// Nothing is left to transform: the value is empty, or becomes so by canonicalization. All such values would share a token.
    #[error("nothing is left of the value after canonicalization")]
    Empty,
    /// Null, where the rule says that there must be none.
    #[error("the value is null")]
    Null,
    /// A digit of another script.
    #[error("the value has a digit that is not ASCII")]
    NonAsciiDigit,
    /// Something that is neither digit nor separator where FF1 replaces digits only: it would leave as it is.
    #[error("the value has a character that is neither a digit nor a separator")]
    UnexpectedCharacter,
    /// Fewer than 10^6 values would share the format (SP 800-38G r1).
    #[error("too few digits are left to encrypt")]
    DomainTooSmall,
    /// Not the length that the check digit's type has.
    #[error("the value has not the length of its type")]
    WrongLength,
    /// More than 256 digits to encrypt, or a value of more than 16 MiB.
    #[error("the value is too long")]
    TooLong,
    /// The check digit is wrong: it could not be restored.
    #[error("the check digit is wrong")]
    CheckDigit,
    /// The cipher failed on a value that had passed every check: a fault, and never a token.
    #[error("the value could not be encrypted")]
    NotEncrypted,
    /// No bucket holds the value.
    #[error("no bucket holds the value")]
    NoBucket,
    /// A date that no calendar has, or none that the part asked for can be taken of.
    #[error("the date is outside the calendar")]
    NotInCalendar,
}

impl ValueRefused {
    /// Kebab-case, stable: the code that reports and manifests count.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty-value",
            Self::Null => "null-value",
            Self::NonAsciiDigit => "non-ascii-digit",
            Self::UnexpectedCharacter => "unexpected-character",
            Self::DomainTooSmall => "domain-too-small",
            Self::WrongLength => "wrong-length",
            Self::TooLong => "value-too-long",
            Self::CheckDigit => "check-digit",
            Self::NotEncrypted => "not-encrypted",
            Self::NoBucket => "no-bucket",
            Self::NotInCalendar => "not-in-calendar",
        }
    }
}

/// Why a token does not open. One opaque variant for everything cryptographic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TokenRefused {
    /// Not a token of this key, join domain and transform, or altered.
    #[error("the token was not made by this key and transform")]
    Rejected,
    /// The token names another key version.
    #[error("the token was made by another key version")]
    OtherVersion,
}

/// Any transform of text to text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TextTransform {
    /// HMAC-SHA256.
    CryptoHash(CryptoHash),
    /// AES-256-SIV.
    CryptoDeterministic(CryptoDeterministic),
    /// FF1 over digits.
    Ff1Digits(Ff1Digits),
    /// FF1 over any alphabet.
    CryptoReplaceFfxFpe(Box<CryptoReplaceFfxFpe>),
    /// Masked characters.
    CharacterMask(CharacterMask),
    /// The first characters.
    Truncate(Truncate),
    /// One text for all.
    Replace(Replace),
}

impl TextTransform {
    /// Appends the transformed `value` to `out`; what is appended is UTF-8. `out` is as before when the value is refused.
    ///
    /// # Errors
    /// See [`ValueRefused`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        match self {
            Self::CryptoHash(transform) => transform.apply(value, out),
            Self::CryptoDeterministic(transform) => transform.apply(value, out),
            Self::Ff1Digits(transform) => transform.apply(value, out),
            Self::CryptoReplaceFfxFpe(transform) => transform.apply(value, out),
            Self::CharacterMask(transform) => transform.apply(value, out),
            Self::Truncate(transform) => transform.apply(value, out),
            Self::Replace(transform) => transform.apply(value, out),
        }
    }

    /// Transforms a batch of values into `tokens`, whatever was in it. Faster than one by one where values can be
    /// worked on side by side (FF1, HMAC). A value that is refused does not stop the others: see [`Tokens::refused`].
    pub fn apply_many(&mut self, values: &[&str], tokens: &mut Tokens) {
        tokens.clear();
        match self {
            Self::Ff1Digits(transform) => transform.apply_many(values, tokens),
            Self::CryptoReplaceFfxFpe(transform) => transform.apply_many(values, tokens),
            Self::CryptoHash(transform) => transform.apply_many(values, tokens),
            // The match within is decided once per batch.
            Self::CryptoDeterministic(transform) => tokens.each(values, |value, out| transform.apply(value, out)),
            Self::CharacterMask(transform) => tokens.each(values, |value, out| transform.apply(value, out)),
            Self::Truncate(transform) => tokens.each(values, |value, out| transform.apply(value, out)),
            Self::Replace(transform) => tokens.each(values, |value, out| transform.apply(value, out)),
        }
    }
}

/// What became of a batch of values, in their order. `Debug` shows counts only.
#[derive(Default)]
pub struct Tokens {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    refused: Vec<(usize, ValueRefused)>,
}

impl Tokens {
    /// The token of the value at `index`: empty for a refused one, `None` behind the last.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        self.bytes.get(start..*self.ends.get(index)?)
    }

    /// How many values there were.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All tokens, one after the other; UTF-8.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each token ends in [`Self::bytes`].
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The places of refused values, ascending, and why. Nothing of them is in the bytes.
    pub fn refused(&self) -> &[(usize, ValueRefused)] {
        &self.refused
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.refused.clear();
    }

    /// Takes back the tokens that stand at `spans`, ascending: they are refused, and nothing stays of them.
    #[cold]
    fn withdraw(&mut self, spans: &[std::ops::Range<usize>], why: ValueRefused) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut start = 0;
        for (index, end) in self.ends.iter_mut().enumerate() {
            match spans.binary_search_by_key(&start, |span| span.start) {
                Ok(_) if *end > start => self.refused.push((index, why)),
                _ => self.bytes.extend_from_slice(&bytes[start..*end]),
            }
            start = *end;
            *end = self.bytes.len();
        }
        self.refused.sort_unstable_by_key(|(index, _)| *index);
    }

    fn each(&mut self, values: &[&str], mut apply: impl FnMut(&str, &mut Vec<u8>) -> Result<(), ValueRefused>) {
        for value in values {
            let applied = apply(value, &mut self.bytes);
            self.end(applied);
        }
    }

    fn end(&mut self, applied: Result<(), ValueRefused>) {
        if let Err(why) = applied {
            self.refused.push((self.ends.len(), why));
        }
        self.ends.push(self.bytes.len());
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("tokens", &self.ends.len()).field("refused", &self.refused.len()).finish_non_exhaustive()
    }
}
