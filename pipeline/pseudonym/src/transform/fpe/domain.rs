//! How many values share a format: the arithmetic that `plan` prints.
use super::{Alphabet, Canonicalize, CheckDigit, MIN_DOMAIN};
use std::fmt;
use std::ops::RangeInclusive;

/// Options of [`super::CryptoReplaceFfxFpe`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FpeOptions {
    /// Steps before encryption; part of the token's identity.
    pub canonicalize: Vec<Canonicalize>,
    /// The characters that are replaced with each other; digits when `None`. Must be `None` beside a check digit, whose type says.
    pub alphabet: Option<Alphabet>,
    /// Characters that stay in front (of an IBAN: behind country and check digits). Separators do not count.
    pub keep_first: u8,
    /// Characters that stay at the end, before the check digits.
    pub keep_last: u8,
    /// Checked, and recomputed after encryption.
    pub check_digit: Option<CheckDigit>,
    /// The lengths that values have by their contract, without separators. The shortest decides whether the domain is large enough;
    /// without them a value that is too short is refused when it comes.
    pub lengths: Option<RangeInclusive<usize>>,
}

impl FpeOptions {
    /// The values that share the format of one of `length` characters. Of an IBAN all characters that may be encrypted count as digits,
    /// and of an alphanumeric CNPJ too: the smallest that it can be.
    pub fn domain(&self, length: usize) -> Domain {
        let radix = match (self.check_digit, &self.alphabet) {
            (None, Some(alphabet)) => alphabet.radix(),
            _ => 10,
        };
        let check = self.check_digit.map_or(0, |check_digit| check_digit.front() + check_digit.back());
        Domain { radix, length, keep_first: self.keep_first.into(), keep_last: self.keep_last.into(), check }
    }

    /// The arithmetic that decides: for the shortest length that values have, where one is known.
    pub fn smallest_domain(&self) -> Option<Domain> {
        let length = self.check_digit.and_then(CheckDigit::length).or_else(|| self.lengths.as_ref().map(|lengths| *lengths.start()))?;
        Some(self.domain(length))
    }

    pub(super) fn check(&self) -> Result<(), FpeRefused> {
        if self.alphabet.is_some() && self.check_digit.is_some() {
            return Err(FpeRefused::AlphabetWithCheckDigit);
        }
        match self.smallest_domain() {
            Some(domain) if !domain.is_large_enough() => Err(FpeRefused::DomainTooSmall { domain }),
            _ => Ok(()),
        }
    }
}

/// How many values share a format. [`fmt::Display`] writes the whole calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    radix: u32,
    length: usize,
    keep_first: usize,
    keep_last: usize,
    check: usize,
}

impl Domain {
    /// Characters that are encrypted.
    pub fn encrypted(&self) -> usize {
        self.length.saturating_sub(self.keep_first + self.keep_last + self.check)
    }

    /// radix^encrypted, or `None` above 2^128.
    pub fn size(&self) -> Option<u128> {
        u128::from(self.radix).checked_pow(u32::try_from(self.encrypted()).unwrap_or(u32::MAX))
    }

    /// At least 10^6, and at least two characters (SP 800-38G r1).
    pub fn is_large_enough(&self) -> bool {
        self.encrypted() >= 2 && self.size().is_none_or(|size| size >= MIN_DOMAIN)
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { radix, length, keep_first, keep_last, check } = self;
        let encrypted = self.encrypted();
        write!(f, "{length} characters - {keep_first} kept in front - {keep_last} kept at the end - {check} country or check characters = {encrypted}; ")?;
        match self.size() {
            Some(size) => write!(f, "{radix}^{encrypted} = {size} values"),
            None => write!(f, "{radix}^{encrypted} values, more than 2^128"),
        }
    }
}

/// Why options make no transform. Whoever wrote the policy has to act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FpeRefused {
    /// Fewer than 10^6 values would share the format, so that tokens could be turned back by trying (SP 800-38G r1).
    #[error("too few values share the format: {domain}, fewer than {MIN_DOMAIN}; keep fewer characters, or use cryptoHash")]
    DomainTooSmall {
        /// The calculation.
        domain: Domain,
    },
    /// The check digit's type says which characters there are.
    #[error("an alphabet cannot be given beside a check digit, whose type has its own")]
    AlphabetWithCheckDigit,
}
