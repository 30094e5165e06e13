//! `cryptoReplaceFfxFpe`: FF1 over the characters of a value.
mod alphabet;
mod check_digit;
mod domain;
#[cfg(test)]
mod tests;

pub use alphabet::{Alphabet, BadAlphabet};
pub use check_digit::CheckDigit;
pub use domain::{Domain, FpeOptions, FpeRefused};

use super::canonicalize::{Canonicalize, Canonicalizer};
use super::ff1::{Ff1, LANES, MAX_NUMERALS, MIN_DOMAIN};
use super::{TokenRefused, Tokens, ValueRefused};
use crate::Secret;
use crate::derive::{Label, RootKey, push};
use aes::Aes256;
use aes::cipher::KeyInit;
use alphabet::{FOREIGN, SEPARATOR};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Format-preserving tokens: characters of the alphabet become others of it, separators (ASCII punctuation and spaces that are not in
/// the alphabet) stay where they are.
///
/// Join domain, check digit type and every character that is kept enter the tweak, so that equal middles under different prefixes are
/// encrypted differently. A token has no room for a key version: whoever keeps tokens keeps the version beside them.
///
/// Where the result has to stay in a class (a taxpayer number is not one repeated digit, an alphanumeric CNPJ has a letter, an IBAN keeps
/// its places for letters), encryption walks on to the next value of its cycle until it does; SP 800-38G permits any subset this way.
#[derive(Clone)]
pub struct CryptoReplaceFfxFpe {
    canonicalizer: Canonicalizer,
    engine: Engine,
}

impl CryptoReplaceFfxFpe {
    /// The transform for one join domain.
    ///
    /// # Errors
    /// [`FpeRefused`], when the contract's lengths leave too few values, with the arithmetic.
    pub fn new(root: &RootKey, join_domain: &str, options: &FpeOptions) -> Result<Self, FpeRefused> {
        options.check()?;
        Ok(Self::unchecked(root, join_domain, options))
    }

    /// Short values are refused when they come.
    pub(super) fn unchecked(root: &RootKey, join_domain: &str, options: &FpeOptions) -> Self {
        let canonicalizer = Canonicalizer::new(&options.canonicalize);
        let identity = canonicalizer.identity();
        let check_digit = options.check_digit;
        let alphabet = match check_digit {
            Some(CheckDigit::CnpjAlphanumeric | CheckDigit::Iban) => Alphabet::named("upperAlphanumeric"),
            Some(CheckDigit::Luhn | CheckDigit::Cpf | CheckDigit::Cnpj) => None,
            None => options.alphabet.clone(),
        };
        let alphabet = alphabet.unwrap_or_else(Alphabet::digits);
        // Digits came first, without their alphabet in the derivation; check digits have one alphabet each.
        let mut parts: Vec<&[u8]> = vec![identity.as_bytes()];
        if check_digit.is_none() && alphabet != Alphabet::digits() {
            parts.push(alphabet.characters());
        }
        let key: Secret<32> = root.derive_with(join_domain, Label::Ff1, &parts);
        let mut prefix = Vec::new();
        push(&mut prefix, join_domain.as_bytes());
        push(&mut prefix, check_digit.map_or("", CheckDigit::as_str).as_bytes());
        prefix.resize(prefix.len().next_multiple_of(16), 0);
        let cipher = |radix| Ff1::new(Aes256::new(key.expose().into()), radix, &prefix);
        let radix = if check_digit.is_some() { 10 } else { alphabet.radix() };
        let engine = Engine {
            alphabet: Arc::new(alphabet),
            plain: cipher(radix),
            lettered: (check_digit == Some(CheckDigit::CnpjAlphanumeric)).then(|| Box::new(cipher(36))),
            min_plain: min_numerals(radix),
            keep_first: options.keep_first.into(),
            keep_last: options.keep_last.into(),
            check_digit,
            pending: Pending::default(),
            failed: Vec::new(),
        };
        Self { canonicalizer, engine }
    }

    /// Appends the token of `value` to `out`.
    ///
    /// # Errors
    /// See [`ValueRefused`].
    #[inline]
    pub fn apply(&mut self, value: &str, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        self.run(value, out, true)
    }

    /// Appends the canonical value of `token` to `out`. FF1 does not authenticate: characters that were never a token open to others.
    ///
    /// # Errors
    /// [`TokenRefused::Rejected`] when `token` has not the form of a token.
    pub(crate) fn open(&mut self, token: &str, out: &mut Vec<u8>) -> Result<(), TokenRefused> {
        self.run(token, out, false).map_err(|_| TokenRefused::Rejected)
    }

    fn run(&mut self, value: &str, out: &mut Vec<u8>, forward: bool) -> Result<(), ValueRefused> {
        let Self { canonicalizer, engine } = self;
        let text = canonicalizer.run(value)?;
        let start = out.len();
        engine.take(text, start, out, forward)?;
        out.extend_from_slice(text.as_bytes());
        engine.flush(out, forward);
        if engine.failed.is_empty() {
            return Ok(());
        }
        engine.failed.clear();
        out.truncate(start);
        Err(ValueRefused::NotEncrypted)
    }

    /// The tokens of a batch: values of one form are encrypted side by side, in a third of the time.
    pub(super) fn apply_many(&mut self, values: &[&str], tokens: &mut Tokens) {
        let Self { canonicalizer, engine } = self;
        for value in values {
            let taken = canonicalizer.run(value).and_then(|text| {
                engine.take(text, tokens.bytes.len(), &mut tokens.bytes, true)?;
                tokens.bytes.extend_from_slice(text.as_bytes());
                Ok(())
            });
            tokens.end(taken);
        }
        engine.flush(&mut tokens.bytes, true);
        if !engine.failed.is_empty() {
            tokens.withdraw(&engine.failed, ValueRefused::NotEncrypted);
            engine.failed.clear();
        }
    }
}

/// The fewest numerals that span 10^6 values.
fn min_numerals(radix: u32) -> usize {
    let mut numerals = 2;
    while u128::from(radix).pow(numerals as u32) < MIN_DOMAIN {
        numerals += 1;
    }
    numerals
}

impl fmt::Debug for CryptoReplaceFfxFpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CryptoReplaceFfxFpe")
            .field("canonicalize", &self.canonicalizer)
            .field("alphabet", &self.engine.alphabet)
            .field("keep_first", &self.engine.keep_first)
            .field("keep_last", &self.engine.keep_last)
            .field("check_digit", &self.engine.check_digit)
            .finish_non_exhaustive()
    }
}

#[derive(Clone)]
struct Engine {
    alphabet: Arc<Alphabet>,
    /// The alphabet's radix; ten where there is a check digit.
    plain: Ff1<Aes256>,
    /// Radix 36, for CNPJ with letters.
    lettered: Option<Box<Ff1<Aes256>>>,
    min_plain: usize,
    keep_first: usize,
    keep_last: usize,
    check_digit: Option<CheckDigit>,
    pending: Pending,
    /// Where values stand in the output that the cipher refused after all; the caller takes them back.
    failed: Vec<Range<usize>>,
}

/// Values of one shape, waiting to be encrypted together.
#[derive(Clone, Default)]
struct Pending {
    shape: Shape,
    /// Where the text of each stands in the output.
    spans: Vec<Range<usize>>,
    /// The characters of all, without separators.
    symbols: Zeroizing<Vec<u8>>,
    numerals: Zeroizing<Vec<u16>>,
    tails: Zeroizing<Vec<u8>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Shape {
    class: Class,
    symbols: usize,
    numerals: usize,
    tail: usize,
    /// What is encrypted of the symbols.
    body: (usize, usize),
}

/// What the result must be like, and how characters become numerals.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Class {
    /// A character is a numeral.
    #[default]
    Plain,
    /// Likewise, by the cipher for letters; a letter somewhere.
    Lettered,
    /// The body's number among all of the same places for letters and digits, in decimal.
    Ranked {
        /// How many there are.
        count: u128,
    },
}

impl Engine {
    /// Parses `text` into a lane of its own. When the lanes are full or of another shape, `out`, which has the text of all before, gets
    /// their results first.
    #[inline]
    fn take(&mut self, text: &str, start: usize, out: &mut [u8], forward: bool) -> Result<(), ValueRefused> {
        let (symbols, numerals, tails) = (self.pending.symbols.len(), self.pending.numerals.len(), self.pending.tails.len());
        let shape = match self.parse(text) {
            Ok(shape) => shape,
            Err(refused) => {
                self.pending.symbols.truncate(symbols);
                self.pending.numerals.truncate(numerals);
                self.pending.tails.truncate(tails);
                return Err(refused);
            }
        };
        if !self.pending.spans.is_empty() && (shape != self.pending.shape || self.pending.spans.len() == LANES) {
            self.run(out, symbols, numerals, tails, forward);
        }
        self.pending.shape = shape;
        self.pending.spans.push(start..start + text.len());
        Ok(())
    }

    /// Writes the results of all lanes over their texts in `out`.
    #[inline]
    fn flush(&mut self, out: &mut [u8], forward: bool) {
        let (symbols, numerals, tails) = (self.pending.symbols.len(), self.pending.numerals.len(), self.pending.tails.len());
        self.run(out, symbols, numerals, tails, forward);
    }

    /// Appends symbols, numerals and tail of `text`.
    #[inline]
    fn parse(&mut self, text: &str) -> Result<Shape, ValueRefused> {
        let Self { alphabet, pending: Pending { symbols, numerals, tails, .. }, keep_first, keep_last, check_digit, .. } = self;
        let before = (symbols.len(), numerals.len(), tails.len());
        for byte in text.bytes() {
            match alphabet.place(byte) {
                SEPARATOR => {}
                FOREIGN => return Err(foreign(text)),
                _ => symbols.push(byte),
            }
        }
        let symbols = &symbols[before.0..];
        if let Some(check_digit) = check_digit {
            check_digit.valid(symbols)?;
        }
        let (front, back) = check_digit.map_or((0, 0), |check_digit| (check_digit.front(), check_digit.back()));
        let start = front + *keep_first;
        let end = symbols.len().checked_sub(*keep_last + back).filter(|end| start <= *end).ok_or(ValueRefused::DomainTooSmall)?;
        let body = &symbols[start..end];

        // What is kept, each part with its length in front. Check digits follow from the rest.
        let country = if *check_digit == Some(CheckDigit::Iban) { &symbols[..2] } else { &[] };
        tails.push((country.len() + *keep_first) as u8);
        tails.extend_from_slice(country);
        tails.extend_from_slice(&symbols[front..start]);
        tails.push(*keep_last as u8);
        tails.extend_from_slice(&symbols[end..end + *keep_last]);

        let is_letter = |symbol: &u8| symbol.is_ascii_uppercase();
        let (class, shortest) = match check_digit {
            Some(CheckDigit::Iban) => {
                tails.extend(body.iter().map(|symbol| if is_letter(symbol) { b'A' } else { b'0' }));
                let (count, rank) = rank(body)?;
                numerals.extend(decimal(count - 1, rank));
                (Class::Ranked { count }, self.min_plain)
            }
            Some(CheckDigit::CnpjAlphanumeric) if symbols.iter().any(is_letter) => (Class::Lettered, min_numerals(36)),
            _ => (Class::Plain, self.min_plain),
        };
        if !matches!(class, Class::Ranked { .. }) {
            if body.len() > MAX_NUMERALS {
                return Err(ValueRefused::TooLong);
            }
            numerals.extend(body.iter().map(|&symbol| u16::from(alphabet.place(symbol))));
        }
        let count = numerals.len() - before.1;
        if count < shortest {
            return Err(ValueRefused::DomainTooSmall);
        }
        Ok(Shape { class, symbols: symbols.len(), numerals: count, tail: tails.len() - before.2, body: (start, end) })
    }

    /// Encrypts the lanes that wait, which are the first bytes and numerals of the buffers, and forgets them.
    fn run(&mut self, out: &mut [u8], symbols_end: usize, numerals_end: usize, tails_end: usize, forward: bool) {
        let Self { alphabet, plain, lettered, check_digit, pending, failed, .. } = self;
        let Pending { shape, spans, symbols, numerals, tails } = pending;
        let cipher = match (shape.class, lettered) {
            (Class::Lettered, Some(lettered)) => &mut **lettered,
            _ => plain,
        };
        // Lengths and numerals were checked when they were parsed; were they not, the lanes are blanked and refused, never left as they are.
        let ran = cipher.run_many(&tails[..tails_end], &mut numerals[..numerals_end], shape.numerals, forward).is_ok();
        for (lane, span) in spans.drain(..).enumerate() {
            let symbols = &mut symbols[lane * shape.symbols..(lane + 1) * shape.symbols];
            let numerals = &mut numerals[lane * shape.numerals..(lane + 1) * shape.numerals];
            let tail = &tails[lane * shape.tail..(lane + 1) * shape.tail];
            let mut done = ran;
            // The value itself lies on the cycle and is of its class, so the walk ends.
            while done && !settle(alphabet, *check_digit, shape, numerals, symbols) {
                done = cipher.run_many(tail, numerals, shape.numerals, forward).is_ok();
            }
            if !done {
                symbols.fill(alphabet.character(0));
                failed.push(span.clone());
            }
            let mut symbols = symbols.iter();
            for byte in &mut out[span] {
                if alphabet.place(*byte) < SEPARATOR {
                    *byte = symbols.next().copied().unwrap_or(b'?');
                }
            }
        }
        symbols.drain(..symbols_end);
        numerals.drain(..numerals_end);
        tails.drain(..tails_end);
    }
}

/// A digit of another script has a code of its own, for the reports.
#[cold]
fn foreign(text: &str) -> ValueRefused {
    match text.chars().any(|c| !c.is_ascii() && c.is_numeric()) {
        true => ValueRefused::NonAsciiDigit,
        false => ValueRefused::UnexpectedCharacter,
    }
}

/// Writes numerals into the body and the check digits that belong to it; false when the result is not of the class.
#[inline]
fn settle(alphabet: &Alphabet, check_digit: Option<CheckDigit>, shape: &Shape, numerals: &[u16], symbols: &mut [u8]) -> bool {
    let body = &mut symbols[shape.body.0..shape.body.1];
    if let Class::Ranked { count } = shape.class {
        let rank = numerals.iter().fold(0, |rank: u128, &numeral| rank * 10 + u128::from(numeral));
        if rank >= count {
            return false;
        }
        unrank(rank, body);
    } else {
        for (symbol, &numeral) in body.iter_mut().zip(numerals) {
            *symbol = alphabet.character(numeral);
        }
    }
    let Some(check_digit) = check_digit else { return true };
    check_digit.recompute(symbols);
    match (check_digit, shape.class) {
        (CheckDigit::Luhn | CheckDigit::Iban, _) => true,
        (_, Class::Lettered) => symbols.iter().any(u8::is_ascii_uppercase),
        // Numbers of one repeated digit are never issued.
        _ => symbols.iter().any(|&symbol| symbol != symbols[0]),
    }
}

/// How many bodies have letters and digits in the same places, and which of them this is.
fn rank(body: &[u8]) -> Result<(u128, u128), ValueRefused> {
    let (mut count, mut rank) = (1u128, 0u128);
    for &symbol in body {
        let (radix, numeral) = if symbol.is_ascii_digit() { (10, symbol - b'0') } else { (26, symbol.wrapping_sub(b'A')) };
        // The rank stays below the count.
        count = count.checked_mul(radix).ok_or(ValueRefused::TooLong)?;
        rank = rank * radix + u128::from(numeral);
    }
    if count < MIN_DOMAIN { Err(ValueRefused::DomainTooSmall) } else { Ok((count, rank)) }
}

/// Undoes [`rank`] in the places that `body` has.
fn unrank(mut rank: u128, body: &mut [u8]) {
    for symbol in body.iter_mut().rev() {
        let (radix, first) = if symbol.is_ascii_digit() { (10, b'0') } else { (26, b'A') };
        *symbol = first + (rank % radix) as u8;
        rank /= radix;
    }
}

/// The decimal digits of `number`, as many as `largest` has.
fn decimal(largest: u128, number: u128) -> impl Iterator<Item = u16> {
    let digits = largest.checked_ilog10().map_or(1, |digits| digits + 1);
    (0..digits).rev().map(move |place| (number / 10u128.pow(place) % 10) as u16)
}
