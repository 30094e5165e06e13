//! Detectors of the caller's own: a regular expression or a dictionary, perhaps with a check digit.

use super::{Check, Pass};
use crate::{InfoType, Likelihood, cnpj, cpf, iban, luhn};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// A detector with a name of its own.
#[derive(Clone, Debug)]
pub struct CustomDetector {
    /// How reports and policies call it: `[A-Z][A-Z0-9_]*`.
    pub name: String,
    /// What it looks for.
    pub matcher: Matcher,
    /// A check digit that a match must have besides.
    pub check_digit: Option<CheckDigit>,
    /// How likely a match is.
    pub likelihood: Likelihood,
    /// Words (one each, any case) of which one must stand within some words before a match for its full likelihood; without one the match
    /// is a step less likely. Empty: no context is asked for.
    pub context: Vec<String>,
}

/// What a custom detector looks for.
#[derive(Clone)]
pub enum Matcher {
    /// A regular expression, in the syntax of the `regex` crate.
    Regex(String),
    /// Whole words or phrases, in any ASCII case.
    Dictionary(Vec<String>),
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Regex(_) => f.write_str("Regex"),
            // A list of customers is a cell value.
            Self::Dictionary(words) => write!(f, "Dictionary({} entries)", words.len()),
        }
    }
}

/// Check digits that a custom detector may ask for; separators in a match are left out first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckDigit {
    /// [`crate::luhn`].
    Luhn,
    /// [`crate::cpf`].
    Cpf,
    /// [`crate::cnpj`].
    Cnpj,
    /// [`crate::iban`].
    Iban,
}

/// What is wrong with a custom detector. Messages name it by its place and name, never by its words.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DetectorError {
    /// The name is not `[A-Z][A-Z0-9_]*`.
    Name {
        /// Place in the list.
        index: usize,
    },
    /// Two detectors, or a detector and a built-in type, have this name.
    Duplicate {
        /// The name.
        name: String,
    },
    /// A regular expression does not compile, is too large, or matches the empty text.
    Regex {
        /// The detector's name.
        name: String,
    },
    /// A dictionary is empty, has an empty entry, or is too large.
    Dictionary {
        /// The detector's name.
        name: String,
    },
    /// More detectors than can be told apart.
    TooMany,
}

impl std::fmt::Display for DetectorError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name { index } => write!(f, "custom detector {}: a name has capital letters, digits and `_`, and begins with a letter", index + 1),
            Self::Duplicate { name } => write!(f, "custom detector `{name}`: the name is taken"),
            Self::Regex { name } => write!(f, "custom detector `{name}`: the regular expression does not compile, is too large, or matches nothing at all"),
            Self::Dictionary { name } => write!(f, "custom detector `{name}`: the dictionary is empty, has an empty entry, or is too large"),
            Self::TooMany => f.write_str("more than 1000 custom detectors"),
        }
    }
}

impl std::error::Error for DetectorError {}

/// Size that the regular expressions may compile to, all together.
const REGEX_LIMIT_BYTES: usize = 64 << 20;

/// The custom detectors, compiled.
pub(super) struct Compiled {
    detectors: Vec<Rule>,
    regexes: Option<Regex>,
    /// Detector of each regular expression.
    of_regex: Vec<u16>,
    words: Option<AhoCorasick>,
    /// Detector of each dictionary entry.
    of_word: Vec<u16>,
}

struct Rule {
    name: String,
    check_digit: Option<CheckDigit>,
    likelihood: Likelihood,
    context: Vec<String>,
}

impl Compiled {
    pub(super) fn new(custom: &[CustomDetector]) -> Result<Self, DetectorError> {
        if custom.len() > 1000 {
            return Err(DetectorError::TooMany);
        }
        let (mut patterns, mut of_regex, mut entries, mut of_word) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut detectors: Vec<Rule> = Vec::with_capacity(custom.len());
        for (index, detector) in custom.iter().enumerate() {
            let name = &detector.name;
            let sound = name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            if !sound {
                return Err(DetectorError::Name { index });
            }
            if InfoType::from_name(name).is_some() || detectors.iter().any(|other| other.name == *name) {
                return Err(DetectorError::Duplicate { name: name.clone() });
            }
            match &detector.matcher {
                Matcher::Regex(pattern) => {
                    let alone = compile(&[pattern]).map_err(|()| DetectorError::Regex { name: name.clone() })?;
                    if alone.is_match("") {
                        return Err(DetectorError::Regex { name: name.clone() });
                    }
                    patterns.push(pattern);
                    of_regex.push(index as u16);
                }
                Matcher::Dictionary(words) => {
                    if words.is_empty() || words.iter().any(|word| word.trim().is_empty()) {
                        return Err(DetectorError::Dictionary { name: name.clone() });
                    }
                    entries.extend(words.iter().map(|word| word.trim()));
                    of_word.extend(words.iter().map(|_| index as u16));
                }
            }
            detectors.push(Rule {
                name: name.clone(),
                check_digit: detector.check_digit,
                likelihood: detector.likelihood,
                context: detector.context.iter().map(|word| word.to_lowercase()).collect(),
            });
        }
        let last = |list: &[u16]| detectors.get(list.last().copied().map_or(0, usize::from)).map(|rule| rule.name.clone()).unwrap_or_default();
        let regexes = match patterns.is_empty() {
            true => None,
            false => Some(compile(&patterns).map_err(|()| DetectorError::Regex { name: last(&of_regex) })?),
        };
        let words = match entries.is_empty() {
            true => None,
            false => Some(
                AhoCorasickBuilder::new()
                    .ascii_case_insensitive(true)
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(&entries)
                    .map_err(|_| DetectorError::Dictionary { name: last(&of_word) })?,
            ),
        };
        Ok(Self { detectors, regexes, of_regex, words, of_word })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.detectors.is_empty()
    }

    pub(super) fn name(&self, index: u16) -> Option<&str> {
        self.detectors.get(usize::from(index)).map(|rule| &*rule.name)
    }

    /// Adds the custom findings: all regular expressions in one search, all dictionaries in another.
    pub(super) fn scan(&self, pass: &mut Pass<'_>) {
        if let Some(regexes) = &self.regexes {
            for found in regexes.find_iter(pass.text) {
                if !found.is_empty() {
                    self.report(pass, self.of_regex[found.pattern().as_usize()], found.range());
                }
            }
        }
        if let Some(words) = &self.words {
            for found in words.find_iter(pass.text) {
                let whole = pass.text.is_char_boundary(found.start()) && pass.text.is_char_boundary(found.end());
                let before = whole && pass.text[..found.start()].chars().next_back().is_some_and(char::is_alphanumeric);
                if whole && !before && pass.is_bounded_after(found.end()) {
                    self.report(pass, self.of_word[found.pattern().as_usize()], found.range());
                }
            }
        }
    }

    fn report(&self, pass: &mut Pass<'_>, index: u16, span: std::ops::Range<usize>) {
        let rule = &self.detectors[usize::from(index)];
        let check = match rule.check_digit {
            None => Check::None,
            Some(check_digit) if check_digit.holds(&pass.text[span.clone()]) => Check::Passed,
            Some(_) => return,
        };
        let mut likelihood = rule.likelihood;
        if !rule.context.is_empty() && !rule.is_announced(pass, span.start) {
            likelihood = match likelihood {
                Likelihood::VeryLikely => Likelihood::Likely,
                Likelihood::Likely => Likelihood::Possible,
                Likelihood::Possible => Likelihood::Unlikely,
                _ => Likelihood::VeryUnlikely,
            };
        }
        if likelihood >= pass.min {
            pass.found.push(super::Finding { info_type: InfoType::Custom(index), span, likelihood, check });
        }
    }
}

impl Rule {
    fn is_announced(&self, pass: &Pass<'_>, start: usize) -> bool {
        let before = pass.tokens.partition_point(|token| token.end <= start);
        pass.tokens[..before].iter().rev().take(super::BEFORE).any(|token| {
            let word = pass.text[token.start..token.end].to_lowercase();
            self.context.contains(&word)
        })
    }
}

fn compile(patterns: &[impl AsRef<str>]) -> Result<Regex, ()> {
    Regex::builder()
        .configure(Regex::config().nfa_size_limit(Some(REGEX_LIMIT_BYTES)))
        .syntax(syntax::Config::new().nest_limit(100))
        .build_many(patterns)
        .map_err(drop)
}

impl CheckDigit {
    fn holds(self, text: &str) -> bool {
        let bare: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_uppercase()).collect();
        match self {
            Self::Luhn => luhn::valid(&bare),
            Self::Cpf => cpf::valid(&bare),
            Self::Cnpj => cnpj::valid(&bare),
            Self::Iban => iban::valid(&bare),
        }
    }
}
