//! FF1 over digits, with options that are checked value by value.
#[cfg(test)]
use super::TokenRefused;
use super::fpe::{CheckDigit, CryptoReplaceFfxFpe, FpeOptions};
use super::{Canonicalize, Tokens, ValueRefused};
use crate::derive::RootKey;

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
        let fixed = self.check_digit.map_or(0, |check_digit| check_digit.front() + check_digit.back());
        usize::from(self.keep_first) + usize::from(self.keep_last) + fixed + 6
    }
}

/// [`CryptoReplaceFfxFpe`] over digits, without lengths from a contract: the same tokens, and a value that is too short is refused when it
/// comes.
#[derive(Clone, Debug)]
pub struct Ff1Digits(CryptoReplaceFfxFpe);

impl Ff1Digits {
    /// The transform for one join domain.
    pub fn new(root: &RootKey, join_domain: &str, options: &Ff1Options) -> Self {
        let Ff1Options { canonicalize, keep_first, keep_last, check_digit } = options.clone();
        let options = FpeOptions { canonicalize, alphabet: None, keep_first, keep_last, check_digit, lengths: None };
        Self(CryptoReplaceFfxFpe::unchecked(root, join_domain, &options))
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// See [`ValueRefused`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        self.0.apply(value, out)
    }

    #[cfg(test)]
    pub(crate) fn open(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        self.0.open(token, out)
    }

    pub(super) fn apply_many(&mut self, values: &[&str], tokens: &mut Tokens) {
        self.0.apply_many(values, tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use perimeter_detect::{cnpj, cpf, luhn};

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
