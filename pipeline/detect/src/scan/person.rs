//! Names of persons in text.

use super::token::Token;
use super::{Check, Pass};
use crate::InfoType;
use crate::Likelihood::{Likely, Possible, Unlikely, VeryLikely};

/// Words that a name may have.
const MOST_WORDS: usize = 8;

impl Pass<'_> {
    /// A name that begins with this capitalised word; where the run of capitalised words ends.
    pub(super) fn person(&mut self, index: usize) -> Option<usize> {
        let first = self.tokens[index];
        if !first.capital {
            return self.lower_case_name(index);
        }
        // The run: capitalised words, initials, and particles between them.
        let mut last = index;
        for next in index + 1..self.tokens.len().min(index + MOST_WORDS) {
            let token = self.tokens[next];
            if !self.joins(next - 1, next) || token.has_digit() {
                break;
            }
            if token.capital {
                last = next;
            } else if !token.word.is_particle() {
                break;
            }
        }
        let run = &self.tokens[index..=last];
        if run.iter().any(|token| token.word.is_company() && token.capital && token.len() > 1 && !token.word.is_given() && !token.word.is_surname())
            || self.tokens.get(last + 1).is_some_and(|token| token.word.is_company() && !token.lower && self.joins_loosely(last, last + 1))
        {
            return Some(self.tokens[last].end);
        }
        let honorific = self.honorific_before(index) || first.word.is_honorific() && !first.word.is_given();
        // Leading words that are no part of a name: forms of address, the first word of a sentence.
        let titles = run.iter().take_while(|token| token.word.is_honorific() && !is_name(token)).count();
        let begin = match run.iter().position(is_name) {
            Some(begin) => begin,
            // No known name: a form of address or an introduction makes one of unknown words.
            None if (honorific || titles > 0 || self.introduces(index)) && titles < run.len() && !is_other(&run[titles]) => titles,
            None => return None,
        };
        let skipped = &run[..begin];
        let introduced = self.introduces(index) || skipped.iter().any(|token| token.word.is_naming());
        let addressed = honorific || skipped.iter().any(|token| token.word.is_honorific());
        // `Customer Auguste Beyer`: what stands between an introduction or form of address and a known name is of the name too.
        let mut first_of_name = begin;
        while first_of_name > 0 && !is_other(&run[first_of_name - 1]) && !run[first_of_name - 1].word.is_particle() {
            first_of_name -= 1;
        }
        let announced = match first_of_name.checked_sub(1) {
            Some(before) => run[before].word.is_honorific() || run[before].word.is_naming(),
            None => introduced || addressed,
        };
        let begin = if announced { first_of_name } else { begin };
        let mut end = last - index;
        while end > begin && (run[end].word.is_particle() && !is_name(&run[end]) || is_other(&run[end])) {
            end -= 1;
        }
        let name = &run[begin..=end];
        let (mut given, mut surnames, mut unknown, mut common, mut total) = (0, 0, 0, 0, 0);
        for token in name {
            if token.len() <= 1 || token.word.is_particle() && !is_name(token) {
                continue;
            }
            total += 1;
            match (token.word.is_given(), token.word.is_surname()) {
                (true, _) if given == 0 => given += 1,
                (_, true) => surnames += 1,
                (true, _) => given += 1,
                _ => unknown += 1,
            }
            common += usize::from(token.word.is_common());
        }
        let span = name[0].start..name[name.len() - 1].end;
        let certain = (given + surnames) > common;
        let likelihood = match (given, surnames, total) {
            (_, _, 0) => return None,
            _ if addressed && certain => VeryLikely,
            _ if addressed && unknown <= 3 => Likely,
            (1.., 1.., _) if certain => VeryLikely,
            (1.., _, 2..) if certain && unknown <= 2 => Likely,
            _ if introduced && certain => Likely,
            _ if introduced && total >= 2 => Possible,
            (_, 2.., _) if certain => Possible,
            (1.., 0, 1) if certain => Possible,
            (0, 1, 2) if certain && unknown == 1 => Possible,
            (1.., 1.., _) => Possible,
            _ => Unlikely,
        };
        // Firms, streets and towns are called after people; a whole name there may be a person's all the same.
        let elsewhere = self.announced.contains(InfoType::BrCnpj) || self.announced.contains(InfoType::Address);
        let likelihood = match elsewhere && !addressed && !self.announced.contains(InfoType::PersonName) {
            true if given > 0 && surnames > 0 && certain => Possible,
            true => Unlikely,
            false => likelihood,
        };
        let whole = span.end;
        self.push(InfoType::PersonName, span, likelihood, Check::None);
        (likelihood >= Possible).then_some(whole)
    }

    /// `my name is joão silva`: only where both words are known and something introduces them.
    fn lower_case_name(&mut self, index: usize) -> Option<usize> {
        let (first, second) = (self.tokens[index], self.tokens.get(index + 1)?);
        if !first.word.is_given()
            || first.word.is_common()
            || !second.word.is_surname()
            || second.word.is_common()
            || !second.is_alphabetic()
            || !self.joins(index, index + 1)
        {
            return None;
        }
        let introduced = self.introduces(index) || self.announced.contains(InfoType::PersonName);
        let span = first.start..second.end;
        let end = span.end;
        self.push(InfoType::PersonName, span, if introduced { Likely } else { Possible }, Check::None);
        Some(end)
    }

    /// Whether two words stand as those of one name do.
    fn joins(&self, last: usize, next: usize) -> bool {
        let between = &self.text[self.tokens[last].end..self.tokens[next].start];
        let token = self.tokens[last];
        match between {
            " " | "-" | "'" | "\u{2019}" | "\u{a0}" => true,
            ". " | "." | ".-" => token.len() <= 1 || token.word.is_honorific(),
            _ => false,
        }
    }

    fn joins_loosely(&self, last: usize, next: usize) -> bool {
        matches!(&self.text[self.tokens[last].end..self.tokens[next].start], " " | ", " | " & " | " - ")
    }

    fn honorific_before(&self, index: usize) -> bool {
        index > 0 && self.tokens[index - 1].word.is_honorific() && self.joins(index - 1, index)
    }

    /// Whether the words before announce a name: `name is`, `Cliente:`, `customer`.
    fn introduces(&self, index: usize) -> bool {
        let mut near = self.tokens[..index].iter().rev().take(2);
        let (one, two) = (near.next(), near.next());
        let announces = |token: &Token| token.word.is_naming() || token.word.context.contains(InfoType::PersonName);
        let close = |token: &Token| self.tokens[index].start - token.end <= 12;
        one.is_some_and(|token| announces(token) && close(token))
            || one.is_some_and(|token| token.len() <= 3 && token.lower) && two.is_some_and(|token| announces(token) && close(token))
            || self.announced.contains(InfoType::PersonName)
    }
}

/// A word of the dictionary of names.
fn is_name(token: &Token) -> bool {
    token.word.is_given() || token.word.is_surname()
}

/// A word that the dictionary knows as something else than a name.
fn is_other(token: &Token) -> bool {
    !is_name(token)
        && (!token.word.context.is_empty()
            || token.word.is_month()
            || token.word.is_street_after()
            || token.word.is_street_before()
            || token.word.is_honorific()
            || token.word.is_naming())
}
