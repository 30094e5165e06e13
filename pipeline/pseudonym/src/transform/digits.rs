//! `cryptoReplaceFfxFpe`: FF1 over the digits of a value.
use super::canonicalize::{Canonicalize, Canonicalizer};
use super::ff1::{Ff1, MAX_NUMERALS};
use super::{TokenRefused, ValueRefused};
use crate::Secret;
use crate::derive::{Label, RootKey, push};
use aes::Aes256;
use aes::cipher::KeyInit;
use perimeter_detect::{cnpj, cpf, luhn};
use std::fmt;
use zeroize::Zeroizing;

/// Digits that are computed from the others: checked, left out of the encryption, and recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckDigit {
    /// The last digit, by ISO/IEC 7812.
    Luhn,
    /// The last two of eleven.
    Cpf,
    /// The last two of fourteen; numeric CNPJ only.
    Cnpj,
}

impl CheckDigit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Luhn => "luhn",
            Self::Cpf => "cpf",
            Self::Cnpj => "cnpj",
        }
    }

    /// How many digits it has.
    pub fn count(self) -> usize {
        match self {
            Self::Luhn => 1,
            Self::Cpf | Self::Cnpj => 2,
        }
    }

    fn valid(self, digits: &[u8]) -> Result<(), ValueRefused> {
        let (length, valid) = match self {
            Self::Luhn => (digits.len(), luhn::valid(digits)),
            Self::Cpf => (11, cpf::valid(digits)),
            Self::Cnpj => (14, cnpj::valid(digits)),
        };
        match valid {
            _ if digits.len() != length => Err(ValueRefused::WrongLength),
            false => Err(ValueRefused::CheckDigit),
            true => Ok(()),
        }
    }

    /// Writes the check digits behind their body.
    fn recompute(self, digits: &mut [u8]) {
        let (body, check) = digits.split_at_mut(digits.len() - self.count());
        match self {
            Self::Luhn => check.copy_from_slice(luhn::digit(body).as_slice()),
            Self::Cpf => check.copy_from_slice(&cpf::digits(body).unwrap_or_default()),
            Self::Cnpj => check.copy_from_slice(&cnpj::digits(body).unwrap_or_default()),
        }
    }
}

/// Options of [`Ff1Digits`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ff1Options {
    /// Steps before encryption; part of the token's identity.
    pub canonicalize: Vec<Canonicalize>,
    /// Digits that stay in front.
    pub keep_first: u8,
    /// Digits that stay at the end, before the check digits.
    pub keep_last: u8,
    /// Checked, and recomputed after encryption.
    pub check_digit: Option<CheckDigit>,
}

impl Ff1Options {
    /// The fewest digits that a value needs: what is kept, what is recomputed, and six to encrypt.
    pub fn min_digits(&self) -> usize {
        self.fixed_digits() + 6
    }

    fn fixed_digits(&self) -> usize {
        usize::from(self.keep_first) + usize::from(self.keep_last) + self.check_digit.map_or(0, CheckDigit::count)
    }
}

/// Format-preserving tokens: digits become digits, separators (ASCII punctuation and spaces) stay where they are.
///
/// Every digit that is kept enters the tweak, so that equal middles under different prefixes are encrypted differently. A token
/// has no room for a key version: whoever keeps tokens keeps the version beside them. Where the check digit's type forbids numbers
/// of one repeated digit, encryption walks on to the next value of its cycle (SP 800-38G permits any subset this way).
#[derive(Clone)]
pub struct Ff1Digits {
    cipher: Ff1<Aes256>,
    canonicalizer: Canonicalizer,
    keep_first: usize,
    keep_last: usize,
    check_digit: Option<CheckDigit>,
    digits: Zeroizing<Vec<u8>>,
    numerals: Zeroizing<Vec<u16>>,
    tail: Zeroizing<Vec<u8>>,
}

impl Ff1Digits {
    /// The transform for one join domain.
    pub fn new(root: &RootKey, join_domain: &str, options: &Ff1Options) -> Self {
        let canonicalizer = Canonicalizer::new(&options.canonicalize);
        let key: Secret<32> = root.derive_with(join_domain, Label::Ff1, &[canonicalizer.identity().as_bytes()]);
        let mut prefix = Vec::new();
        push(&mut prefix, join_domain.as_bytes());
        push(&mut prefix, options.check_digit.map_or("", CheckDigit::as_str).as_bytes());
        prefix.resize(prefix.len().next_multiple_of(16), 0);
        Self {
            cipher: Ff1::new(Aes256::new(key.expose().into()), 10, &prefix),
            canonicalizer,
            keep_first: options.keep_first.into(),
            keep_last: options.keep_last.into(),
            check_digit: options.check_digit,
            digits: Zeroizing::default(),
            numerals: Zeroizing::default(),
            tail: Zeroizing::default(),
        }
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// See [`ValueRefused`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        self.run(value, out, true)
    }

    /// Appends the canonical value of `token` to `out`. FF1 does not authenticate: digits that were never a token open to other digits.
    ///
    /// # Errors
    /// [`TokenRefused::Rejected`] when `token` has not the form of a token.
    pub fn open(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        self.run(token, out, false).map_err(|_| TokenRefused::Rejected)
    }

    fn run(&mut self, value: &str, out: &mut Vec<u8>, forward: bool) -> Result<(), ValueRefused> {
        let Self { cipher, canonicalizer, keep_first, keep_last, check_digit, digits, numerals, tail } = self;
        let text = canonicalizer.run(value)?;
        digits.clear();
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' => digits.push(byte),
                b' ' => {}
                _ if byte.is_ascii_punctuation() => {}
                _ if text.chars().any(|c| !c.is_ascii() && c.is_numeric()) => return Err(ValueRefused::NonAsciiDigit),
                _ => return Err(ValueRefused::UnexpectedCharacter),
            }
        }
        if let Some(check_digit) = check_digit {
            check_digit.valid(digits)?;
        }
        let end = digits.len().checked_sub(*keep_last + check_digit.map_or(0, CheckDigit::count)).ok_or(ValueRefused::DomainTooSmall)?;
        let body = *keep_first..end;
        if body.len() < 6 {
            return Err(ValueRefused::DomainTooSmall);
        }
        if body.len() > MAX_NUMERALS {
            return Err(ValueRefused::TooLong);
        }
        // What is kept, each part with its length in front.
        tail.clear();
        for kept in [&digits[..body.start], &digits[body.end..body.end + *keep_last]] {
            tail.push(kept.len() as u8);
            tail.extend_from_slice(kept);
        }
        numerals.clear();
        numerals.extend(digits[body.clone()].iter().map(|digit| u16::from(digit - b'0')));
        loop {
            match forward {
                true => cipher.encrypt(tail, numerals)?,
                false => cipher.decrypt(tail, numerals)?,
            }
            for (digit, &numeral) in digits[body.clone()].iter_mut().zip(numerals.iter()) {
                *digit = b'0' + numeral as u8;
            }
            let Some(check_digit) = check_digit else { break };
            check_digit.recompute(digits);
            // The value itself is valid and lies on the cycle, so the walk ends.
            if *check_digit == CheckDigit::Luhn || digits.iter().any(|&digit| digit != digits[0]) {
                break;
            }
        }
        let mut digits = digits.iter();
        out.extend(text.bytes().map(|byte| if byte.is_ascii_digit() { digits.next().copied().unwrap_or(b'0') } else { byte }));
        Ok(())
    }
}

impl fmt::Debug for Ff1Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ff1Digits")
            .field("canonicalize", &self.canonicalizer)
            .field("keep_first", &self.keep_first)
            .field("keep_last", &self.keep_last)
            .field("check_digit", &self.check_digit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(options: &Ff1Options) -> Ff1Digits {
        let root = RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "card", 1);
        Ff1Digits::new(&root, "card", options)
    }

    fn token(options: &Ff1Options, value: &str) -> Result<String, ValueRefused> {
        let mut out = Vec::new();
        transform(options).apply(value, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn pan() -> Ff1Options {
        Ff1Options { keep_first: 6, check_digit: Some(CheckDigit::Luhn), ..Default::default() }
    }

    #[test]
    fn a_card_keeps_its_form() {
        let plain = "4111 1111-1111 1111";
        let token = token(&pan(), plain).unwrap();
        assert!(token.starts_with("4111 11") && luhn::valid(token.as_bytes()) && token != plain, "{token}");
        assert_eq!((&token[4..5], &token[9..10], &token[14..15]), (" ", "-", " "));
        let mut out = Vec::new();
        transform(&pan()).open(&token, &mut out).unwrap();
        assert_eq!(out, plain.as_bytes());
    }

    #[test]
    fn separators_do_not_change_the_digits() {
        let cpf = Ff1Options { check_digit: Some(CheckDigit::Cpf), ..Default::default() };
        let masked = token(&cpf, "390.533.447-05").unwrap();
        let bare = token(&cpf, "39053344705").unwrap();
        assert_eq!(masked.replace(['.', '-'], ""), bare);
        assert!(cpf::valid(masked.as_bytes()) && cpf::valid(bare.as_bytes()));
        let cnpj = Ff1Options { check_digit: Some(CheckDigit::Cnpj), ..Default::default() };
        assert!(cnpj::valid(token(&cnpj, "16.727.230/0001-97").unwrap().as_bytes()));
    }

    #[test]
    fn tokens_do_not_drift() {
        assert_eq!(token(&Ff1Options::default(), "0123456789").unwrap(), "6687017296");
    }

    #[test]
    fn refusals() {
        use ValueRefused::{DomainTooSmall, Empty, NonAsciiDigit, TooLong, UnexpectedCharacter, WrongLength};
        let cpf = Ff1Options { check_digit: Some(CheckDigit::Cpf), ..Default::default() };
        let amex = Ff1Options { keep_first: 6, keep_last: 3, check_digit: Some(CheckDigit::Luhn), ..Default::default() };
        let long = "7".repeat(257);
        for (options, value, why) in [
            (Ff1Options::default(), "12345", DomainTooSmall),
            (Ff1Options::default(), "12345\u{663}7", NonAsciiDigit),
            (Ff1Options::default(), "1234567a", UnexpectedCharacter),
            (Ff1Options::default(), "123\u{2013}4567", UnexpectedCharacter),
            (Ff1Options::default(), "", Empty),
            (Ff1Options::default(), &*long, TooLong),
            (amex, "378282246310005", DomainTooSmall),
            (pan(), "4111111111111112", ValueRefused::CheckDigit),
            (pan(), "", Empty),
            (pan(), "18", DomainTooSmall),
            (cpf.clone(), "11111111111", ValueRefused::CheckDigit),
            (cpf, "1234567", WrongLength),
            (Ff1Options { keep_first: 255, keep_last: 255, ..Default::default() }, "123456789", DomainTooSmall),
        ] {
            assert_eq!(token(&options, value), Err(why), "{value}");
            let mut out = b"kept".to_vec();
            assert!(transform(&options).apply(value, &mut out).is_err() && out == b"kept");
        }
        assert_eq!(pan().min_digits(), 13);
    }

    #[test]
    fn zeros_stay_digits() {
        for value in ["000000", "100000", "000001", "0000000000000000000000000000000000000000000000000000000000000000000000"] {
            let token = token(&Ff1Options::default(), value).unwrap();
            assert_eq!(token.len(), value.len());
            let mut out = Vec::new();
            transform(&Ff1Options::default()).open(&token, &mut out).unwrap();
            assert_eq!(out, value.as_bytes());
        }
    }

    #[test]
    fn what_is_kept_decides_over_the_rest() {
        let options = Ff1Options { keep_first: 2, keep_last: 2, ..Default::default() };
        let middles: std::collections::HashSet<_> =
            ["1012345678", "9912345678", "1012345699"].map(|value| token(&options, value).unwrap()[2..8].to_owned()).into();
        assert_eq!(middles.len(), 3, "the middles of different frames are unrelated");
    }
}
