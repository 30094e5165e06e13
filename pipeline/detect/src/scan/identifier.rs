//! Identifiers with letters: IBAN, LEI, ISIN, FIGI, BIC, alphanumeric CNPJ, fiscal codes.

use super::{Check, Pass, Validate};
use crate::Likelihood::{Likely, Possible, Unlikely, VeryLikely};
use crate::{InfoType, Verdict, bank, br, iban, national};

/// Letters and digits where an Italian fiscal code has them.
fn is_fiscal_code(text: &[u8]) -> bool {
    text.iter().zip(b"@@@@@@##@##@###@").all(|(byte, shape)| if *shape == b'#' { byte.is_ascii_digit() } else { byte.is_ascii_alphabetic() })
}

impl Pass<'_> {
    /// An identifier that begins with this word; where it ends.
    pub(super) fn identifier(&mut self, index: usize) -> Option<usize> {
        if let Some(end) = self.iban(index).or_else(|| self.creditor_reference(index)) {
            return Some(end);
        }
        let token = self.tokens[index];
        if !self.ends_number(token.end) || matches!(self.byte_before(token.start), Some(b'-' | b'_')) {
            return None;
        }
        let text = &self.text[token.start..token.end];
        let upper = !token.lower;
        let single: &[(InfoType, Validate, crate::Likelihood)] = match token.len() {
            8 | 11 if upper || self.announced.contains(InfoType::Bic) => &[(InfoType::Bic, bank::bic, Unlikely)],
            12 if upper => &[(InfoType::Isin, bank::isin, Likely), (InfoType::Figi, bank::figi, Likely)],
            14 if token.has_digit() => &[(InfoType::BrCnpj, br::cnpj, Likely)],
            16 if token.has_digit() => &[(InfoType::ItCodiceFiscale, national::it_codice_fiscale, VeryLikely)],
            18 if token.has_digit() => &[(InfoType::MxCurp, national::mx_curp, VeryLikely), (InfoType::CnRic, national::cn_ric, Likely)],
            20 if upper && token.has_digit() => &[(InfoType::Lei, bank::lei, Likely)],
            5..=25 if token.has_digit() && text.as_bytes()[..2].eq_ignore_ascii_case(b"RF") => {
                &[(InfoType::CreditorReference, bank::creditor_reference, Possible)]
            }
            _ => &[],
        };
        for &(info_type, validate, alone) in single {
            let verdict = validate(text);
            if verdict.agrees() {
                let around = self.around(index, token.end);
                let likelihood = match around.wide.contains(info_type) {
                    true if verdict == Verdict::Valid => VeryLikely,
                    true if around.near.contains(info_type) => VeryLikely,
                    true => Likely,
                    false => alone,
                };
                if likelihood > Unlikely {
                    self.push(info_type, token.start..token.end, likelihood, if verdict == Verdict::Valid { Check::Passed } else { Check::None });
                    return Some(token.end);
                }
            }
        }
        if token.len() == 16 && is_fiscal_code(text.as_bytes()) {
            self.push(InfoType::ItCodiceFiscale, token.start..token.end, Unlikely, Check::Failed);
        }
        if token.has_digit() {
            let around = self.around(index, token.end);
            return self.by_context(index, around.near, VeryLikely);
        }
        None
    }

    /// A creditor reference in groups of four: the longest run of groups whose check digits fit.
    fn creditor_reference(&mut self, index: usize) -> Option<usize> {
        let first = self.tokens[index];
        if first.len() != 4 || !self.text[first.start..first.end].starts_with("RF") || matches!(self.byte_before(first.start), Some(b'-' | b'_')) {
            return None;
        }
        let mut end = first.end;
        let mut found = None;
        for token in self.tokens[index + 1..].iter().take(6) {
            let joined = token.start == end + 1 && self.bytes[end] == b' ' && token.ascii && token.len() <= 4 && (end - first.start + 1).is_multiple_of(5);
            if !joined {
                break;
            }
            end = token.end;
            if bank::creditor_reference(&self.text[first.start..end]).agrees() && self.ends_number(end) {
                found = Some(end);
            }
        }
        let end = found?;
        let known = self.around(index, end).wide.contains(InfoType::CreditorReference);
        self.push(InfoType::CreditorReference, first.start..end, if known { VeryLikely } else { Possible }, Check::Passed);
        Some(end)
    }

    /// An IBAN of exactly the length that its country has, in one word or in groups; a word that follows is never taken.
    fn iban(&mut self, index: usize) -> Option<usize> {
        let first = self.tokens[index];
        let head = &self.bytes[first.start..first.end];
        // `DE89…` or `DE 89…`
        let apart = head.len() == 2
            && self.bytes.get(first.end) == Some(&b' ')
            && self.bytes.get(first.end + 1..first.end + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit));
        let (&[c0, c1], rest) = head.split_first_chunk::<2>()?;
        if !c0.is_ascii_alphabetic() || !c1.is_ascii_alphabetic() || !(apart || rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_digit)) {
            return None;
        }
        if matches!(self.byte_before(first.start), Some(b'-' | b'_')) {
            return None;
        }
        let mut failed = None;
        for length in iban::lengths([c0.to_ascii_uppercase(), c1.to_ascii_uppercase()]) {
            let mut bare = [0u8; 40];
            let (mut taken, mut end) = (0, first.start);
            for token in &self.tokens[index..] {
                let joined = taken == 0 || token.start == end + 1 && matches!(self.bytes[end], b' ' | b'-' | b'.');
                if !joined || !token.ascii || taken + token.len() > length {
                    break;
                }
                bare[taken..taken + token.len()].copy_from_slice(&self.bytes[token.start..token.end]);
                taken += token.len();
                end = token.end;
                if taken == length {
                    break;
                }
            }
            if taken != length || !self.is_bounded_after(end) {
                continue;
            }
            bare[..length].make_ascii_uppercase();
            match iban::validate_bare(&bare[..length]) {
                Verdict::Valid => {
                    self.push(InfoType::Iban, first.start..end, VeryLikely, Check::Passed);
                    return Some(end);
                }
                Verdict::Possible => {
                    self.push(InfoType::Iban, first.start..end, Likely, Check::Passed);
                    return Some(end);
                }
                Verdict::Invalid => failed = failed.or((end == first.end).then_some(end)),
            }
        }
        let end = failed?;
        let known = self.around(index, end).near.contains(InfoType::Iban);
        self.push(InfoType::Iban, first.start..end, if known { Possible } else { Unlikely }, Check::Failed);
        known.then_some(end)
    }
}
