//! Street addresses in text.

use super::{Check, Pass};
use crate::Likelihood::{Likely, Possible, VeryLikely};
use crate::address::is_compound;
use crate::{InfoType, words::Word};

/// Words that a street's name may have.
const MOST_WORDS: usize = 6;

impl Pass<'_> {
    /// `Rua das Flores, 123`, `Schulzweg 9464`: a street word begins the address.
    pub(super) fn street(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if !(token.capital || token.word.is_street_before() && token.len() > 2) {
            return None;
        }
        let text = &self.text[token.start..token.end];
        if is_compound(text) || self.hyphenated_street(index) {
            let (start, _) = self.hyphenated_start(index);
            let end = self.house_number(index)?;
            let end = self.unit(end);
            self.push(InfoType::Address, start..end, Likely, Check::None);
            return Some(end);
        }
        if !token.word.is_street_before() {
            return None;
        }
        let mut last = index;
        let mut named = 0;
        for next in index + 1..self.tokens.len().min(index + 1 + MOST_WORDS) {
            let token = self.tokens[next];
            if !self.is_near(last, next, 2) || self.bytes[self.tokens[last].end..token.start].contains(&b',') || token.has_digit() {
                break;
            }
            if token.capital {
                named += 1;
            } else if !(token.word.is_particle() || token.len() <= 3 && token.lower) {
                break;
            }
            last = next;
        }
        while last > index && !self.tokens[last].capital {
            last -= 1;
        }
        if named == 0 {
            // `Rua 7`, `Av. 9 de Julho`
            return None;
        }
        let weak = token.word.is_common() || token.word.is_given() || token.word.is_particle() || token.len() < 2;
        match self.house_number(last) {
            Some(end) => {
                let end = self.unit(end);
                self.push(InfoType::Address, token.start..end, if weak { Likely } else { VeryLikely }, Check::None);
                Some(end)
            }
            None => {
                let likelihood =
                    if weak || !token.capital || token.len() < 3 && self.bytes.get(token.end) != Some(&b'.') { crate::Likelihood::Unlikely } else { Possible };
                self.push(InfoType::Address, token.start..self.tokens[last].end, likelihood, Check::None);
                None
            }
        }
    }

    /// `57566 Ann Freeway`, `6750 Koskikatu 25`: a house number begins the address.
    pub(super) fn street_number(&mut self, index: usize) -> Option<usize> {
        let number = self.tokens[index];
        let digits = self.bytes[number.start..number.end].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 6
            || number.len() > digits + 1
            || self.byte_before(number.start).is_some_and(|byte| b"-./,$#".contains(&byte) && self.connected(number.start))
        {
            return None;
        }
        let announced = self.around(index, number.end).wide.contains(InfoType::Address);
        let mut street = None;
        for next in index + 1..self.tokens.len().min(index + 1 + MOST_WORDS) {
            let token = self.tokens[next];
            if !self.is_near(next - 1, next, 2) || self.bytes[self.tokens[next - 1].end..token.start].contains(&b',') {
                break;
            }
            if token.has_digit() {
                // `6750 Koskikatu 25`
                if announced && next > index + 1 && token.len() <= 4 && street.is_none() {
                    street = Some((next, token.end));
                }
                break;
            }
            if !token.capital && !token.word.is_particle() && token.len() > 3 {
                break;
            }
            let compound = is_compound(&self.text[token.start..token.end]);
            if compound || token.capital && next > index + 1 && token.word.is_street_after() {
                street = Some((next, token.end));
            }
            let first_names_street = next == index + 1 && token.word.is_street_before() && token.capital && !Word::is_common(token.word);
            if first_names_street && let Some(end) = self.street(next) {
                self.push(InfoType::Address, number.start..end, VeryLikely, Check::None);
                return Some(end);
            }
        }
        let (last, mut end) = street?;
        if !self.tokens[last].has_digit()
            && let Some(after) = self.house_number(last)
        {
            end = after;
        }
        let end = self.unit(end);
        self.push(InfoType::Address, number.start..end, if announced { VeryLikely } else { Likely }, Check::None);
        Some(end)
    }

    /// Whether `next` follows `last` with at most `most` separators, none of which ends a sentence or a line.
    fn is_near(&self, last: usize, next: usize, most: usize) -> bool {
        let between = &self.bytes[self.tokens[last].end..self.tokens[next].start];
        let abbreviated = self.tokens[last].len() <= 4;
        between.len() <= most
            && between.iter().all(|byte| match byte {
                b' ' | b'\'' | b'-' | b',' => true,
                b'.' => abbreviated,
                _ => false,
            })
    }

    /// Where the house number ends that follows word `last`: `, 123`, ` 1-2`, `, nº 5`, ` 12a`.
    fn house_number(&self, last: usize) -> Option<usize> {
        let next = self.tokens.get(last + 1)?;
        let between = self.text.get(self.tokens[last].end..next.start)?;
        let mut number = *next;
        let mut place = last + 1;
        if matches!(between, " " | ", " | ". " | "," | " - ")
            && number.is_alphabetic()
            && matches!(&self.text[number.start..number.end].to_ascii_lowercase()[..], "n" | "nº" | "no" | "num" | "numero" | "número")
        {
            place += 1;
            number = *self.tokens.get(place)?;
            if number.start - self.tokens[place - 1].end > 3 {
                return None;
            }
        } else if !matches!(between, " " | ", " | "," | " - " | " nº " | ", nº " | " № " | ". ") {
            return None;
        }
        let digits = self.bytes[number.start..number.end].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=5).contains(&digits) || number.len() > digits + 1 {
            return None;
        }
        let mut end = number.end;
        if let Some(more) = self.tokens.get(place + 1)
            && more.start == end + 1
            && matches!(self.bytes[end], b'-' | b'/')
            && more.is_number()
            && more.len() <= 4
        {
            end = more.end;
        }
        Some(end)
    }

    /// Takes `Apt. 864`, `, apto 12`, ` Suite 931` behind an address.
    fn unit(&self, end: usize) -> usize {
        let index = self.tokens.partition_point(|token| token.start < end);
        let (Some(word), Some(number)) = (self.tokens.get(index), self.tokens.get(index + 1)) else { return end };
        let gap = self.bytes[end..word.start].iter().all(|byte| b" ,-.\n".contains(byte)) && word.start - end <= 3;
        let inner = number.start - word.end <= 2;
        if gap && inner && word.word.is_unit() && number.len() <= 5 && number.has_digit() { number.end } else { end }
    }

    fn hyphenated_street(&self, index: usize) -> bool {
        let token = self.tokens[index];
        token.word.is_street_after() && token.capital && self.byte_before(token.start) == Some(b'-') && index > 0 && token.len() > 2
    }

    /// `Hilmar-Schuster-Platz`: where the hyphens begin.
    fn hyphenated_start(&self, index: usize) -> (usize, usize) {
        let mut first = index;
        while first > 0
            && index - first < 4
            && self.tokens[first - 1].end + 1 == self.tokens[first].start
            && self.bytes[self.tokens[first].start - 1] == b'-'
            && self.tokens[first - 1].capital
        {
            first -= 1;
        }
        (self.tokens[first].start, first)
    }

    fn connected(&self, start: usize) -> bool {
        start.checked_sub(2).is_some_and(|before| self.bytes[before].is_ascii_alphanumeric())
    }
}
