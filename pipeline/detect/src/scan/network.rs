//! E-mail addresses, URLs, UUIDs, hardware and IP addresses in text.

use super::{Check, Pass};
use crate::net::{self, is_label};
use crate::{InfoType, Likelihood, Verdict, country};

/// Top levels that make a bare `name.top` a web address.
const TOP_LEVELS: &str = " com org net edu gov mil int info biz name br pt es de uk us ca au nz ie fr it nl be ch at se no dk fi pl cz hu ro gr tr ru ua il in cn jp kr sg hk tw mx ar cl co pe uy za ng eu io ai app dev me tv cc site online shop store tech cloud blog xyz ";

impl Pass<'_> {
    /// Looks at every `@`, `://` and host name.
    pub(super) fn network(&mut self, triggers: &[usize]) {
        let (mut triggers, mut covered, mut unsound) = (triggers.iter().copied().peekable(), 0, 0);
        for index in 0..self.tokens.len() {
            // A trigger stands between the word before it and the word after it: both kinds come in order of their place.
            let token = self.tokens[index];
            while let Some(at) = triggers.next_if(|&at| at < token.end) {
                if at >= covered {
                    covered = self.trigger(at, covered, &mut unsound).unwrap_or(covered);
                }
            }
            if token.start >= covered && self.bytes.get(token.end) == Some(&b'.') {
                covered = self.host(index, triggers.peek().copied()).unwrap_or(covered);
            }
        }
        for at in triggers {
            if at >= covered {
                covered = self.trigger(at, covered, &mut unsound).unwrap_or(covered);
            }
        }
    }

    /// `unsound` is where the last URL ends that is none: what begins inside of it is not tried again.
    fn trigger(&mut self, at: usize, covered: usize, unsound: &mut usize) -> Option<usize> {
        if self.bytes[at] == b'@' {
            return self.email(at, covered);
        }
        if at < *unsound {
            return None;
        }
        let end = self.url_end(at + 3);
        let found = self.scheme(at, end);
        if found.is_none() {
            *unsound = end;
        }
        found
    }

    fn email(&mut self, at: usize, covered: usize) -> Option<usize> {
        let left: usize = self.text[covered..at]
            .chars()
            .rev()
            .take(65)
            .take_while(|&character| character.is_ascii_alphanumeric() || ".-_%+'".contains(character) || !character.is_ascii() && net::is_atom(character))
            .map(char::len_utf8)
            .sum();
        let local = self.text[at - left..at].trim_start_matches(['.', '-', '\'', '+', '%']);
        let right: usize = self.text[at + 1..].chars().take(254).take_while(|&character| is_label(character) || character == '.').map(char::len_utf8).sum();
        let mut domain = self.text[at + 1..at + 1 + right].trim_end_matches(['.', '-']);
        loop {
            let (start, end) = (at - local.len(), at + 1 + domain.len());
            if net::email(&self.text[start..end]) == Verdict::Valid {
                self.push(InfoType::Email, start..end, Likelihood::VeryLikely, Check::None);
                return Some(end);
            }
            // `me@example.com.Then` and the like: the last label is of the next sentence.
            domain = domain.rsplit_once('.')?.0;
        }
    }

    fn scheme(&mut self, at: usize, end: usize) -> Option<usize> {
        let letters = self.bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let start = at - letters;
        if !["http", "https", "ftp"].iter().any(|scheme| scheme.eq_ignore_ascii_case(&self.text[start..at])) {
            return None;
        }
        // Longer ones are none by the book and are covered all the same.
        let head = self.text.floor_char_boundary(end.min(start + 2000));
        let sound = net::url(&self.text[start..head]) == Verdict::Valid;
        self.push(InfoType::Url, start..end, if sound { Likelihood::VeryLikely } else { Likelihood::Unlikely }, Check::None);
        sound.then_some(end)
    }

    /// `www.example.com/path`, `example.com`.
    fn host(&mut self, index: usize, next_trigger: Option<usize>) -> Option<usize> {
        let token = self.tokens[index];
        if matches!(self.byte_before(token.start), Some(b'.' | b'@' | b'-' | b'_')) {
            return None;
        }
        let width: usize =
            self.text[token.start..].chars().take(254).take_while(|&character| is_label(character) || character == '.').map(char::len_utf8).sum();
        let host = self.text[token.start..token.start + width].trim_end_matches(['.', '-']);
        let end = token.start + host.len();
        if self.bytes.get(end) == Some(&b'@') || next_trigger.is_some_and(|at| at == end) {
            return None;
        }
        let top = host.rsplit('.').next()?;
        let www = host.len() > 4 && host.as_bytes()[..4].eq_ignore_ascii_case(b"www.");
        let known = top.len() < 8 && top.bytes().all(|byte| byte.is_ascii_lowercase()) && TOP_LEVELS.split(' ').any(|known| known == top);
        if !net::host_name(host) {
            return None;
        }
        let sure = www && host.matches('.').count() >= 2 || known && host.len() > top.len() + 2;
        if !sure {
            // Other countries' tops are as often the end of a file's name or of a sentence.
            let country =
                top.len() == 2 && top.bytes().all(|byte| byte.is_ascii_lowercase()) && country::exists([top.as_bytes()[0] - 32, top.as_bytes()[1] - 32]);
            let second = host.rsplit('.').nth(1).unwrap_or_default();
            let registered = matches!(second, "com" | "co" | "org" | "net" | "gov" | "edu" | "ac") && host.matches('.').count() >= 2;
            if !country || !registered && !self.around(index, end).wide.contains(InfoType::Url) {
                if country {
                    self.push(InfoType::Url, token.start..end, Likelihood::Unlikely, Check::None);
                }
                return None;
            }
        }
        let end = match self.bytes.get(end) {
            Some(b'/' | b'?' | b'#' | b':') => self.url_end(end),
            _ => end,
        };
        let likelihood = if www || end > token.start + host.len() { Likelihood::VeryLikely } else { Likelihood::Likely };
        self.push(InfoType::Url, token.start..end, likelihood, Check::None);
        Some(end)
    }

    /// Where a URL ends that goes on from `at`: before white space, brackets and quotes, without punctuation of the sentence.
    fn url_end(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let width = rest.find(|character: char| character.is_whitespace() || character.is_control() || "<>\"`{}|\\^".contains(character)).unwrap_or(rest.len());
        let mut url = &rest[..width];
        loop {
            let trimmed = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '\u{2019}', '\u{201d}', '…']);
            let trimmed = match trimmed.as_bytes().last() {
                Some(b')') if trimmed.matches(')').count() > trimmed.matches('(').count() => &trimmed[..trimmed.len() - 1],
                Some(b']') if trimmed.matches(']').count() > trimmed.matches('[').count() => &trimmed[..trimmed.len() - 1],
                _ => trimmed,
            };
            if trimmed.len() == url.len() {
                return at + url.len();
            }
            url = trimmed;
        }
    }

    /// UUID, MAC or IPv6 address at a word of hexadecimal digits.
    pub(super) fn hexadecimal(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        let next = self.bytes.get(token.end).copied();
        let colon_before = self.byte_before(token.start) == Some(b':');
        let starts = match (token.len(), next) {
            (8, Some(b'-')) | (1..=4, Some(b':')) | (2, Some(b'-' | b' ')) | (4, Some(b'.')) => true,
            (1..=4, _) => colon_before,
            _ => false,
        };
        if !starts || !self.bytes[token.start..token.end].iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let before = self.byte_before(token.start);
        if token.len() == 8 {
            let end = token.start + 36;
            let shape = self.bytes.get(token.start..end).is_some_and(net::uuid_shape);
            if shape && self.is_bounded_after(end) && !matches!(before, Some(b'-' | b'_')) {
                let around = self.around(index, end);
                let pix = around.wide.contains(InfoType::BrPixKey);
                let info_type = if pix && self.types.contains(InfoType::BrPixKey) { InfoType::BrPixKey } else { InfoType::Uuid };
                // A version that no one gives out: made up, and nothing else all the same.
                let sound = net::uuid(&self.text[token.start..end]) == Verdict::Valid;
                let (likelihood, check) = if sound { (Likelihood::VeryLikely, Check::None) } else { (Likelihood::Possible, Check::Failed) };
                self.push(info_type, token.start..end, likelihood, check);
                return Some(end);
            }
            return None;
        }
        if !colon_before {
            for width in [23, 17, 19, 14] {
                let end = token.start + width;
                let value = self.text.get(token.start..end).unwrap_or_default();
                // Pairs with spaces are as often anything else.
                let told = !value.contains(' ') || value.is_ascii() && self.around(index, end).wide.contains(InfoType::Mac);
                if told && net::mac(value) == Verdict::Valid && self.is_bounded_after(end) && !matches!(before, Some(b'-' | b'.')) {
                    if value.bytes().any(|byte| byte != b'0' && byte.is_ascii_hexdigit()) {
                        self.push(InfoType::Mac, token.start..end, Likelihood::VeryLikely, Check::None);
                    }
                    return Some(end);
                }
            }
        }
        (next == Some(b':') || colon_before).then(|| self.ipv6(token.start)).flatten()
    }

    fn ipv6(&mut self, from: usize) -> Option<usize> {
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.');
        let back = self.bytes[..from].iter().rev().take(2).take_while(|&&byte| byte == b':').count();
        let start = if back == 2 { from - 2 } else { from };
        if self.byte_before(start).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b':') {
            return None;
        }
        let width = self.bytes[start..].iter().take(46).take_while(|byte| is_part(byte)).count();
        let mut address = self.text.get(start..start + width)?.trim_end_matches('.');
        if address.ends_with(':') && !address.ends_with("::") {
            address = &address[..address.len() - 1];
        }
        let end = start + address.len();
        if address.matches(':').count() >= 2 && address.len() >= 3 && address.parse::<std::net::Ipv6Addr>().is_ok() && self.is_bounded_after(end) {
            let end = self.prefix_length(end, 128);
            self.push(InfoType::Ip, start..end, Likelihood::VeryLikely, Check::None);
            return Some(end);
        }
        None
    }

    /// Takes the `/24` of a network behind an address.
    fn prefix_length(&self, end: usize, most: u32) -> usize {
        let digits = match self.bytes.get(end) {
            Some(b'/') => self.bytes[end + 1..].iter().take(4).take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        };
        let length = self.text[end..].get(1..1 + digits).and_then(|length| length.parse::<u32>().ok());
        let after = end + 1 + digits;
        if length.is_some_and(|length| length <= most) && self.is_bounded_after(after) && !matches!(self.bytes.get(after), Some(b'/' | b'-')) {
            after
        } else {
            end
        }
    }

    /// Four decimal numbers.
    pub(super) fn ipv4(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        let width = self.bytes[token.start..].iter().take(16).take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let address = self.text[token.start..token.start + width].trim_end_matches('.');
        let end = token.start + address.len();
        if address.parse::<std::net::Ipv4Addr>().is_err() || !self.is_bounded_after(end) || matches!(self.byte_before(token.start), Some(b'.' | b'-' | b'$')) {
            return None;
        }
        if self.bytes.get(end) == Some(&b'-') && self.bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let known = self.around(index, end).wide.contains(InfoType::Ip);
        let end = self.prefix_length(end, 32);
        self.push(InfoType::Ip, token.start..end, if known { Likelihood::VeryLikely } else { Likelihood::Likely }, Check::None);
        Some(end)
    }
}
