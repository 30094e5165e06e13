//! Telephone numbers in text.

use super::{Check, Pass};
use crate::InfoType;
use crate::Likelihood::{Likely, Possible, Unlikely, VeryLikely, VeryUnlikely};
use crate::phone::{self, Form};

/// Places where a number may end that are tried, the longest first.
const MOST_GROUPS: usize = 8;

impl Pass<'_> {
    /// A telephone number whose first digit begins this word.
    pub(super) fn telephone(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        let start = self.telephone_start(token.start)?;
        let mut ends = [0usize; MOST_GROUPS];
        let (mut count, mut digits, mut at) = (0, 0, token.start);
        'groups: while count < MOST_GROUPS {
            let width = self.bytes[at..].iter().take(18).take_while(|byte| byte.is_ascii_digit()).count();
            digits += width;
            if width == 0 || digits > 17 {
                break;
            }
            at += width;
            let extended = self.extension(at);
            if self.ends_number(extended) || self.names_its_kind(extended) {
                ends[count] = extended;
                count += 1;
            }
            if extended != at {
                break;
            }
            // Up to two separators lead to the next group: `) `, ` (`, `)-`.
            let separators = self.bytes[at..].iter().take(3).take_while(|byte| b" -./()".contains(byte)).count();
            if separators == 0 || separators > 2 || !self.bytes.get(at + separators).is_some_and(u8::is_ascii_digit) {
                break;
            }
            let run = &self.bytes[at..at + separators];
            if separators == 2 && !run.contains(&b'(') && !run.contains(&b')') {
                break 'groups;
            }
            at += separators;
        }
        let around = self.around(index, ends[count.saturating_sub(1)].max(token.end));
        let (near, wide) = (around.near.contains(InfoType::Phone), around.wide.contains(InfoType::Phone));
        for &end in ends[..count].iter().rev() {
            let text = &self.text[start..end];
            let Some(form) = phone::form(text) else { continue };
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let last_group = text.bytes().rev().take_while(u8::is_ascii_digit).count();
            let likelihood = match form {
                Form::International if near || wide => VeryLikely,
                Form::International => Likely,
                Form::National if near || wide => VeryLikely,
                Form::National => Likely,
                _ if !(6..=15).contains(&digits) || last_group < 2 => continue,
                Form::Local if self.is_amount(start, end) => VeryUnlikely,
                Form::Local if near && (6..=15).contains(&digits) => Likely,
                Form::Local if wide => Possible,
                Form::Local if digits >= 8 && plausible_alone(text, digits) => Possible,
                Form::Local => Unlikely,
                Form::Bare if near && (6..=13).contains(&digits) => Likely,
                Form::Bare if wide && (8..=13).contains(&digits) => Possible,
                Form::Bare if digits == 10 && phone::is_nanp(text.as_bytes()) && around.near.is_empty() => Unlikely,
                Form::Bare => VeryUnlikely,
            };
            self.push(InfoType::Phone, start..end, likelihood, Check::None);
            return (likelihood >= Possible).then_some(end);
        }
        None
    }

    /// Where the number starts whose first digit stands at `digit`: with a `+` and a bracket before it; `None` inside something else.
    fn telephone_start(&self, digit: usize) -> Option<usize> {
        let mut start = digit;
        if self.byte_before(start) == Some(b'(') {
            start -= 1;
        }
        if self.byte_before(start) == Some(b'+') {
            start -= 1;
            if self.byte_before(start) == Some(b'(') && self.bytes[start + 1..].iter().take(6).any(|&byte| byte == b')') {
                start -= 1;
            }
        }
        if start < digit && self.bytes[start] == b'(' && !self.bytes[digit..].iter().take(8).any(|&byte| byte == b')') {
            // The bracket is of the sentence.
            start += 1;
        }
        match self.byte_before(start) {
            Some(b'-' | b'/' | b'.' | b'_' | b'*') if start == digit => None,
            Some(b'$' | b'#' | b'%') => None,
            Some(byte) if byte.is_ascii_alphanumeric() => None,
            _ => Some(start),
        }
    }

    /// `-Office`, `-Mobile` behind a number.
    fn names_its_kind(&self, at: usize) -> bool {
        self.bytes.get(at) == Some(&b'-') && self.bytes.get(at + 1..at + 4).is_some_and(|word| word.iter().all(u8::is_ascii_alphabetic))
    }

    /// Where an extension ends that follows a number at `at`; `at` without one.
    fn extension(&self, at: usize) -> usize {
        let rest = &self.bytes[at..self.bytes.len().min(at + 16)];
        let space = usize::from(rest.first() == Some(&b' '));
        for word in [&b"x"[..], b"ext. ", b"ext ", b"ramal ", b"ext.", b"X"] {
            if rest[space..].len() >= word.len() && rest[space..space + word.len()].eq_ignore_ascii_case(word) {
                let digits = rest[space + word.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                if (1..=6).contains(&digits) {
                    return at + space + word.len() + digits;
                }
            }
        }
        at
    }

    /// Whether the span is an amount of money or a decimal number.
    fn is_amount(&self, start: usize, end: usize) -> bool {
        let text = &self.text[start..end];
        let groups = text.split('.').count();
        let decimal = groups >= 2 && !text.contains([' ', '-', '(', '/', '+']) && (groups == 2 || text.split('.').skip(1).all(|group| group.len() == 3));
        let currency = self.text[..start].trim_end().ends_with(['$', '€', '£']) || self.text[end..].trim_start().starts_with(['€', '£', '%']);
        decimal || currency
    }
}

/// Groups that telephone numbers have, without a word that says so.
fn plausible_alone(text: &str, digits: usize) -> bool {
    let groups = text.split([' ', '-', '.', '/', '(', ')']).filter(|group| !group.is_empty());
    let lengths = groups.map(|group| group.bytes().filter(u8::is_ascii_digit).count());
    let separators_differ = text.contains('/') && text.contains(['-', ' ', '.']);
    let (count, longest) = lengths.fold((0, 0), |(count, longest), length| (count + 1, longest.max(length)));
    let trunk = text.starts_with('0') || text.starts_with("(0");
    let bracket = text.starts_with('(') && digits >= 8;
    // 3-2-4 is how social security numbers are written.
    let security = matches!(text.as_bytes(), [_, _, _, b' ' | b'-', _, _, b' ' | b'-', last @ ..] if last.len() == 4);
    if security {
        return false;
    }
    !separators_differ && (9..=13).contains(&digits) && trunk && (2..=5).contains(&count) && longest <= 8 || bracket && count >= 2 && digits <= 13
}
