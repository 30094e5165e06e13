//! Scanning text: one pass for all types.
//!
//! The text is cut into words once; each word is looked up once in one dictionary that serves names, streets, months and context words
//! of all types. Candidates then start at words: forms with punctuation of their own (`@`, `://`), words that begin with a digit,
//! words of letters and digits, capitalised words. Only custom regular expressions and dictionaries read the text again, all of them
//! at once.

mod alone;
mod custom;
mod identifier;
mod network;
mod number;
mod person;
mod resolve;
mod street;
mod telephone;
mod token;

pub use custom::{CheckDigit, CustomDetector, DetectorError, Matcher};

use crate::words::{announced_by_name, look_up_folded};
use crate::{InfoType, Likelihood, TypeSet, Verdict};
use std::ops::Range;
use token::Token;

/// What a [`Detector`] looks for.
#[derive(Clone, Debug)]
pub struct DetectorOptions {
    /// The built-in types to report.
    pub types: TypeSet,
    /// Detectors of the caller's own.
    pub custom: Vec<CustomDetector>,
    /// Findings below are left out.
    pub min_likelihood: Likelihood,
}

impl Default for DetectorOptions {
    /// All types, no custom detectors, from [`Likelihood::Possible`].
    fn default() -> Self {
        Self { types: TypeSet::all(), custom: Vec::new(), min_likelihood: Likelihood::Possible }
    }
}

/// What is known about where a text stands.
#[derive(Clone, Copy, Default, Debug)]
pub struct Context {
    announced: TypeSet,
}

impl Context {
    /// Nothing is known.
    pub const NONE: Self = Self { announced: TypeSet::EMPTY };

    /// The text is a value of the column of this name.
    pub fn column(name: &str) -> Self {
        Self { announced: announced_by_name(name) }
    }

    /// The types that the place announces.
    pub fn announced(&self) -> TypeSet {
        self.announced
    }
}

/// Whether a check digit, or what the type has in its place (the version of a UUID), stood in a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Check {
    /// The type has none, or its form alone was looked at.
    None,
    /// It is right.
    Passed,
    /// It is wrong: the finding looks like its type, and is reported because it may be a mistyped or made-up one.
    Failed,
}

/// One place in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What it is found to be.
    pub info_type: InfoType,
    /// Where: bytes of the text, at character boundaries.
    pub span: Range<usize>,
    /// How likely that is.
    pub likelihood: Likelihood,
    /// What its check digit says.
    pub check: Check,
}

/// Findings of one text, and the working memory of [`Detector::scan`]: keep one per thread.
#[derive(Default)]
pub struct Findings {
    found: Vec<Finding>,
    tokens: Vec<Token>,
    triggers: Vec<usize>,
}

impl Findings {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The findings of the last scan, in order of their place, none overlapping another.
    pub fn as_slice(&self) -> &[Finding] {
        &self.found
    }

    /// Iterates over the findings of the last scan.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.found.iter()
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::fmt::Debug for Findings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.found).finish()
    }
}

/// Finds sensitive values in text. Compile once, share between threads.
pub struct Detector {
    types: TypeSet,
    min_likelihood: Likelihood,
    custom: custom::Compiled,
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector").field("types", &self.types).field("min_likelihood", &self.min_likelihood).finish_non_exhaustive()
    }
}

impl Detector {
    /// Compiles the options.
    ///
    /// # Errors
    /// A custom detector has no name, a regular expression or dictionary that does not compile, or there are too many of them.
    pub fn new(options: &DetectorOptions) -> Result<Self, DetectorError> {
        Ok(Self { types: options.types, min_likelihood: options.min_likelihood, custom: custom::Compiled::new(&options.custom)? })
    }

    /// Name of a type, custom ones included.
    pub fn name_of(&self, info_type: InfoType) -> &str {
        match info_type {
            InfoType::Custom(index) => self.custom.name(index).unwrap_or(info_type.name()),
            _ => info_type.name(),
        }
    }

    /// Whether there are custom detectors.
    pub(crate) fn has_custom(&self) -> bool {
        !self.custom.is_empty()
    }

    /// Finds what the options name in `text`. The buffer's former findings are replaced.
    ///
    /// Spans never overlap: of two candidates in one place the likelier wins, then the earlier type of [`InfoType`], then the longer.
    pub fn scan(&self, text: &str, context: &Context, findings: &mut Findings) {
        let Findings { found, tokens, triggers } = findings;
        found.clear();
        token::cut(text, tokens, triggers);
        let mut pass = Pass { text, bytes: text.as_bytes(), tokens, announced: context.announced, types: self.types, min: self.min_likelihood, found };
        pass.network(triggers);
        let networks = pass.found.len();
        pass.words(networks);
        self.custom.scan(&mut pass);
        resolve::resolve(found);
    }
}

/// One scan.
struct Pass<'a> {
    text: &'a str,
    bytes: &'a [u8],
    tokens: &'a [Token],
    announced: TypeSet,
    types: TypeSet,
    min: Likelihood,
    found: &'a mut Vec<Finding>,
}

/// What the words around a candidate announce.
#[derive(Clone, Copy)]
struct Around {
    /// The nearest announcing word before it, or the column.
    near: TypeSet,
    /// Any of the words around it, and the column.
    wide: TypeSet,
}

/// Judges a whole value.
type Validate = fn(&str) -> Verdict;

/// Words before a candidate that are looked at for context.
const BEFORE: usize = 7;
/// Words after a candidate that are looked at.
const AFTER: usize = 3;

impl Pass<'_> {
    /// Goes through the words; `networks` findings of [`Pass::network`] cover some already.
    fn words(&mut self, networks: usize) {
        let (mut covered, mut next_network, mut index) = (0, 0, 0);
        while index < self.tokens.len() {
            let token = self.tokens[index];
            // What is hardly one covers nothing.
            while next_network < networks && (self.found[next_network].span.end <= token.start || self.found[next_network].likelihood < Likelihood::Possible) {
                next_network += 1;
            }
            if next_network < networks && self.found[next_network].span.start <= token.start {
                covered = covered.max(self.found[next_network].span.end);
            }
            if token.start < covered {
                index += 1;
                continue;
            }
            let end = if token.has_digit() { self.number_or_identifier(index) } else { self.word(index) };
            covered = covered.max(end.unwrap_or(0));
            index += 1;
        }
    }

    /// A word without digits: an identifier of capital letters, a date that starts with its month, a street, a name.
    fn word(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if token.word.is_month()
            && let Some(end) = self.month_first(index)
        {
            return Some(end);
        }
        if token.ascii
            && matches!(token.len(), 2 | 8 | 11 | 12 | 14)
            && let Some(end) = self.identifier(index)
        {
            return Some(end);
        }
        if let Some(end) = self.hexadecimal(index) {
            return Some(end);
        }
        if let Some(end) = self.lettered(index) {
            return Some(end);
        }
        self.street(index);
        self.person(index)
    }

    /// A number with a letter or two in front of it: `V-11470283-4`, `AB 12 34 56 C`.
    fn lettered(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        let number = token.ascii
            && token.len() <= 2
            && matches!(self.bytes.get(token.end), Some(b' ' | b'-' | b'.'))
            && self.bytes.get(token.end + 1).is_some_and(u8::is_ascii_digit);
        if !number || matches!(self.byte_before(token.start), Some(b'-' | b'.' | b'/' | b'\'')) {
            return None;
        }
        let near = self.around(index, token.end).near;
        self.by_context(index, near, Likelihood::VeryLikely).or_else(|| self.alone(index))
    }

    /// What the words around token `index` announce.
    fn around(&self, index: usize, end: usize) -> Around {
        let mut around = Around { near: TypeSet::EMPTY, wide: self.announced };
        let mut below = self.tokens[index].start;
        for (place, token) in self.tokens[..index].iter().enumerate().rev().take(BEFORE) {
            if below - token.end > 24 {
                break;
            }
            below = token.start;
            let context = token.word.context.union(self.pair(place));
            around.wide = around.wide.union(context);
            if around.near.is_empty() {
                around.near = context;
            }
        }
        let after = self.tokens[index..].iter().skip_while(|token| token.start < end).take(AFTER);
        for token in after {
            if token.start - end > 40 || self.bytes[end..token.start].contains(&b'\n') {
                break;
            }
            around.wide = around.wide.union(token.word.context);
        }
        if around.near.is_empty() {
            around.near = self.announced;
        }
        around
    }

    /// What word `index` and the one before it announce together: `Thai ID`, `Steuer-ID`.
    fn pair(&self, index: usize) -> TypeSet {
        let second = &self.tokens[index];
        let Some(first) = index.checked_sub(1).map(|before| &self.tokens[before]) else { return TypeSet::EMPTY };
        let (length, both) = (first.len() + second.len(), first.is_alphabetic() && second.is_alphabetic() && first.ascii && second.ascii);
        let mut word = [0u8; 24];
        if !both || length > word.len() || second.start != first.end + 1 || !matches!(self.bytes[first.end], b' ' | b'-' | b'_') {
            return TypeSet::EMPTY;
        }
        word[..first.len()].copy_from_slice(&self.bytes[first.start..first.end]);
        word[first.len()..length].copy_from_slice(&self.bytes[second.start..second.end]);
        word[..length].make_ascii_lowercase();
        let known = std::str::from_utf8(&word[..length]).ok().and_then(look_up_folded);
        known.map_or(TypeSet::EMPTY, |known| known.context)
    }

    /// Reports a finding if its type and likelihood are asked for.
    fn push(&mut self, info_type: InfoType, span: Range<usize>, likelihood: Likelihood, check: Check) {
        if likelihood >= self.min && self.types.contains(info_type) {
            self.found.push(Finding { info_type, span, likelihood, check });
        }
    }

    /// Whether a word could go on at `at`.
    fn is_bounded_after(&self, at: usize) -> bool {
        match self.bytes.get(at) {
            None => true,
            Some(byte) if byte.is_ascii() => !byte.is_ascii_alphanumeric() && *byte != b'_',
            Some(_) => !self.text[at..].chars().next().is_some_and(char::is_alphanumeric),
        }
    }

    fn byte_before(&self, at: usize) -> Option<u8> {
        at.checked_sub(1).map(|before| self.bytes[before])
    }
}
