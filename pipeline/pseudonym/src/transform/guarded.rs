//! What becomes of nulls, of empty values, and of values that a transform refuses.
//!
//! A policy says `keep`, `token` or `reject`, and nothing may pass through raw. That is why the three cases have types of their own:
//!
//! | rule | null | nothing but white space | refused otherwise (`n/a` for digits, a wrong check digit) |
//! |---|---|---|---|
//! | `keep` | null | the empty text | **reject**: to keep it would be to pass it through |
//! | `token` | the token of null | a token under a subkey of its own | likewise: equal ones join with each other and with nothing else |
//! | `reject` | refused | refused | refused |
//!
//! [`OnInvalid`] has no `keep`, so no path through this module writes a value that its transform refused.
use super::{CryptoHash, TextTransform, Tokens, ValueRefused};
use std::fmt;

/// What null becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnNull {
    /// Null.
    Keep,
    /// One token.
    Token,
    /// The value is refused.
    Reject,
}

/// What a value of nothing but white space becomes, where its transform refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnEmpty {
    /// The empty text.
    Keep,
    /// A token.
    Token,
    /// The value is refused.
    Reject,
}

/// What any other refused value becomes. There is no way to keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnInvalid {
    /// A token of the value as it stands.
    Token,
    /// The value is refused.
    Reject,
}

/// The three together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Nulls.
    pub null: OnNull,
    /// Values of nothing but white space.
    pub empty: OnEmpty,
    /// Other values that the transform refuses.
    pub invalid: OnInvalid,
}

impl Rules {
    /// The policy's `keep`.
    pub const KEEP: Self = Self { null: OnNull::Keep, empty: OnEmpty::Keep, invalid: OnInvalid::Reject };
    /// The policy's `token`.
    pub const TOKEN: Self = Self { null: OnNull::Token, empty: OnEmpty::Token, invalid: OnInvalid::Token };
    /// The policy's `reject`.
    pub const REJECT: Self = Self { null: OnNull::Reject, empty: OnEmpty::Reject, invalid: OnInvalid::Reject };

    fn need_token(self) -> bool {
        self.null == OnNull::Token || self.empty == OnEmpty::Token || self.invalid == OnInvalid::Token
    }
}

/// What helps where the transform itself has no answer.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Makes the tokens that the rules ask for; a transform that is a [`CryptoHash`] makes its own.
    pub tokens: Option<CryptoHash>,
    /// Takes the values whose format too few share ([`ValueRefused::DomainTooSmall`]): the fallback that a policy states.
    pub fallback: Option<Box<TextTransform>>,
}

/// The rules ask for tokens, and nothing makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this transform has no token for null, empty or invalid values: say keep or reject, or name a cryptoHash for them")]
pub struct NoToken;

/// What [`Guarded::apply`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result is null; nothing was appended.
    Null,
    /// The result was appended.
    Text,
}

/// A transform under rules.
#[derive(Clone, Debug)]
pub struct Guarded {
    transform: TextTransform,
    rules: Rules,
    exceptions: Exceptions,
    batch: Batch,
}

/// Buffers of a batch; a copy begins with its own.
#[derive(Default)]
struct Batch {
    results: Tokens,
}

impl Clone for Batch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

impl Guarded {
    /// `transform` under `rules`.
    ///
    /// # Errors
    /// [`NoToken`].
    pub fn new(transform: TextTransform, rules: Rules, exceptions: Exceptions) -> Result<Self, NoToken> {
        if rules.need_token() && exceptions.tokens.is_none() && !matches!(transform, TextTransform::CryptoHash(_)) {
            return Err(NoToken);
        }
        Ok(Self { transform, rules, exceptions, batch: Batch::default() })
    }

    /// Appends what becomes of `value` to `out`, which is as before when the value is refused.
    ///
    /// # Errors
    /// Where the rules say so; see [`ValueRefused`].
    pub fn apply(&mut self, value: Option<&str>, out: &mut Vec<u8>) -> Result<Outcome, ValueRefused> {
        let Some(value) = value else { return self.null(out) };
        match self.transform.apply(value, out) {
            Ok(()) => Ok(Outcome::Text),
            Err(why) => self.refused(value, why, out).map(|()| Outcome::Text),
        }
    }

    /// Transforms a batch into `tokens`, whatever was in it; nulls that stay null have empty tokens, and the caller keeps its nulls.
    pub fn apply_many(&mut self, values: &[Option<&str>], tokens: &mut Tokens) {
        tokens.clear();
        let texts: Vec<&str> = values.iter().copied().flatten().collect();
        let mut results = std::mem::take(&mut self.batch.results);
        self.transform.apply_many(&texts, &mut results);
        if texts.len() == values.len() && results.refused.is_empty() {
            std::mem::swap(&mut results, tokens);
        } else {
            let mut refused = results.refused.iter().peekable();
            let mut index = 0;
            for value in values {
                let ended = match value {
                    None => self.null(&mut tokens.bytes).map(|_| ()),
                    Some(value) => {
                        let text = index;
                        index += 1;
                        match refused.next_if(|(refused, _)| *refused == text) {
                            Some((_, why)) => self.refused(value, *why, &mut tokens.bytes),
                            None => {
                                tokens.bytes.extend_from_slice(results.get(text).unwrap_or_default());
                                Ok(())
                            }
                        }
                    }
                };
                tokens.end(ended);
            }
        }
        self.batch.results = results;
    }

    fn null(&self, out: &mut Vec<u8>) -> Result<Outcome, ValueRefused> {
        match (self.rules.null, self.tokens()) {
            (OnNull::Keep, _) => Ok(Outcome::Null),
            (OnNull::Token, Some(tokens)) => {
                tokens.apply_null(out);
                Ok(Outcome::Text)
            }
            _ => Err(ValueRefused::Null),
        }
    }

    #[cold]
    fn refused(&mut self, value: &str, mut why: ValueRefused, out: &mut Vec<u8>) -> Result<(), ValueRefused> {
        if why == ValueRefused::DomainTooSmall
            && let Some(fallback) = &mut self.exceptions.fallback
        {
            match fallback.apply(value, out) {
                Ok(()) => return Ok(()),
                Err(also) => why = also,
            }
        }
        let empty = value.chars().all(char::is_whitespace);
        let wants_token = if empty { self.rules.empty == OnEmpty::Token } else { self.rules.invalid == OnInvalid::Token };
        match self.tokens() {
            _ if empty && self.rules.empty == OnEmpty::Keep => Ok(()),
            Some(tokens) if wants_token => {
                // All white space is one value.
                tokens.apply_invalid(if empty { "" } else { value }, out);
                Ok(())
            }
            _ => Err(why),
        }
    }

    fn tokens(&self) -> Option<&CryptoHash> {
        match &self.transform {
            TextTransform::CryptoHash(hash) => Some(hash),
            _ => self.exceptions.tokens.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::{Canonicalize, CharacterMask, CheckDigit, CryptoDeterministic, CryptoHashOptions, CryptoReplaceFfxFpe, FpeOptions};
    use crate::{RootKey, Secret};

    fn root() -> RootKey {
        RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", 1)
    }

    fn hash() -> CryptoHash {
        CryptoHash::new(&root(), "person", &CryptoHashOptions { canonicalize: vec![Canonicalize::Digits], ..Default::default() })
    }

    fn fpe(options: &FpeOptions) -> TextTransform {
        TextTransform::CryptoReplaceFfxFpe(Box::new(CryptoReplaceFfxFpe::new(&root(), "person", options).unwrap()))
    }

    fn transforms() -> Vec<TextTransform> {
        vec![
            TextTransform::CryptoHash(hash()),
            TextTransform::CryptoDeterministic(CryptoDeterministic::new(&root(), "person", &[Canonicalize::Digits])),
            fpe(&FpeOptions { check_digit: Some(CheckDigit::Cpf), ..Default::default() }),
            fpe(&FpeOptions::default()),
        ]
    }

    /// Values that some transform refuses: none of them may leave, whatever the rule.
    const HARD: [&str; 9] = ["n/a", "-", "12345", "39053344704", "\u{663}9053344705", "abcdefghij", "x 1", "unknown person", "000"];

    #[test]
    fn nothing_refused_passes_through() {
        for transform in transforms() {
            for rules in [Rules::KEEP, Rules::TOKEN, Rules::REJECT] {
                for fallback in [None, Some(Box::new(TextTransform::CryptoHash(hash())))] {
                    let exceptions = Exceptions { tokens: Some(hash()), fallback };
                    let mut guarded = Guarded::new(transform.clone(), rules, exceptions).unwrap();
                    for value in HARD {
                        let mut alone = Vec::new();
                        let refused = transform.clone().apply(value, &mut alone);
                        let mut out = Vec::new();
                        let outcome = guarded.apply(Some(value), &mut out);
                        match refused {
                            Ok(()) => assert_eq!((outcome, &out), (Ok(Outcome::Text), &alone)),
                            Err(_) => {
                                let text = String::from_utf8(out).unwrap();
                                assert!(!text.contains(value) || text.is_empty(), "{value}");
                                assert!(outcome.is_err() == text.is_empty(), "a refused value has a token or is refused: {value}");
                                assert!(rules != Rules::TOKEN || outcome.is_ok());
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nulls_and_empty_values() {
        let outcome = |rules, value: Option<&str>| {
            let mut out = Vec::new();
            let outcome = Guarded::new(TextTransform::CryptoHash(hash()), rules, Exceptions::default()).unwrap().apply(value, &mut out);
            outcome.map(|outcome| (outcome, String::from_utf8(out).unwrap()))
        };
        assert_eq!(outcome(Rules::KEEP, None), Ok((Outcome::Null, String::new())));
        for empty in ["", " ", "\t\u{a0}"] {
            assert_eq!(outcome(Rules::KEEP, Some(empty)), Ok((Outcome::Text, String::new())), "white space is not passed on either");
            assert_eq!(outcome(Rules::REJECT, Some(empty)), Err(ValueRefused::Empty));
            assert_eq!(outcome(Rules::TOKEN, Some(empty)), outcome(Rules::TOKEN, Some("")));
        }
        assert_eq!(outcome(Rules::KEEP, Some("n/a")), Err(ValueRefused::Empty), "it becomes empty, and is not");
        assert_eq!(outcome(Rules::REJECT, None), Err(ValueRefused::Null));
        let tokens = [None, Some(""), Some("n/a"), Some("1")].map(|value| outcome(Rules::TOKEN, value).unwrap().1);
        assert!(tokens.iter().all(|token| token.len() == 64));
        assert_eq!(std::collections::HashSet::from(tokens).len(), 4);
    }

    #[test]
    fn rules_that_need_tokens_need_a_hash() {
        let siv = || TextTransform::CryptoDeterministic(CryptoDeterministic::new(&root(), "person", &[]));
        assert_eq!(Guarded::new(siv(), Rules::TOKEN, Exceptions::default()).err(), Some(NoToken));
        assert!(Guarded::new(siv(), Rules::KEEP, Exceptions::default()).is_ok());
        assert!(Guarded::new(siv(), Rules::TOKEN, Exceptions { tokens: Some(hash()), fallback: None }).is_ok());
    }

    #[test]
    fn the_fallback_takes_small_domains_only() {
        let cards = fpe(&FpeOptions { keep_first: 6, keep_last: 4, ..Default::default() });
        let exceptions = Exceptions { tokens: None, fallback: Some(Box::new(TextTransform::CryptoHash(hash()))) };
        let mut guarded = Guarded::new(cards, Rules::KEEP, exceptions).unwrap();
        let mut out = Vec::new();
        assert_eq!(guarded.apply(Some("378282246310005"), &mut out), Ok(Outcome::Text));
        assert_eq!(out.len(), 64, "the token of the hash");
        out.clear();
        assert_eq!(guarded.apply(Some("4111111111111111"), &mut out), Ok(Outcome::Text));
        assert_eq!(out.len(), 16);
        assert_eq!(guarded.apply(Some("4111x"), &mut out), Err(ValueRefused::UnexpectedCharacter));
    }

    #[test]
    fn masks_take_everything() {
        let mut guarded = Guarded::new(TextTransform::CharacterMask(CharacterMask::new('*', 0, 0, Some(3))), Rules::REJECT, Exceptions::default()).unwrap();
        let mut out = Vec::new();
        guarded.apply(Some(""), &mut out).unwrap();
        assert_eq!(out, b"***", "the rule is for what a transform refuses");
    }

    #[test]
    fn a_batch_gives_what_single_values_give() {
        let values: Vec<Option<&str>> =
            HARD.iter().copied().map(Some).chain([None, Some(""), Some(" "), Some("39053344705"), Some("52599927765"), None]).collect();
        for transform in transforms() {
            for rules in [Rules::KEEP, Rules::TOKEN, Rules::REJECT] {
                let mut guarded = Guarded::new(transform.clone(), rules, Exceptions { tokens: Some(hash()), fallback: None }).unwrap();
                let mut tokens = Tokens::default();
                for values in [&values[..], &[Some("39053344705")], &[]] {
                    guarded.apply_many(values, &mut tokens);
                    assert_eq!(tokens.len(), values.len());
                    for (index, value) in values.iter().enumerate() {
                        let mut out = Vec::new();
                        match guarded.apply(*value, &mut out) {
                            Ok(_) => assert_eq!(tokens.get(index), Some(&out[..])),
                            Err(why) => assert!(tokens.get(index) == Some(b"") && tokens.refused().contains(&(index, why))),
                        }
                    }
                }
            }
        }
    }
}
