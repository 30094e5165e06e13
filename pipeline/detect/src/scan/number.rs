//! Candidates that begin with a digit: dates, masks of documents, cards, and digits alone.

use super::{Around, Check, Pass};
use crate::Likelihood::{self, Likely, Possible, Unlikely, VeryLikely, VeryUnlikely};
use crate::date::{self, Kind};
use crate::{InfoType, TypeSet, Verdict, bank, br, card, luhn, national, us};
use std::ops::Range;
use std::sync::LazyLock;

/// Types that are looked for in any writing where their context announces them, and not otherwise.
static BY_CONTEXT: LazyLock<TypeSet> = LazyLock::new(|| {
    use InfoType::*;
    [
        ChAhv,
        FrNir,
        ArCbu,
        EsNif,
        EsCif,
        ArCuit,
        ClRut,
        VeRif,
        PlPesel,
        BeNn,
        SePersonnummer,
        NoFodselsnummer,
        RoCnp,
        EePersonalCode,
        TrKimlik,
        ZaId,
        DeTaxId,
        HrOib,
        InAadhaar,
        InPan,
        ThPin,
        PeRuc,
        UyRut,
        EcCi,
        CoNit,
        DoCedula,
        PtNif,
        FrSiren,
        UkNhs,
        UkNino,
        NlBsn,
        CaSin,
        AuTfn,
        IlId,
        CzRc,
        DkCpr,
        FiHetu,
        CnRic,
        KrRrn,
        BrPis,
        BrCnh,
        BrRenavam,
        BrVoterId,
        BrCns,
        UsSsn,
        UsItin,
        UsEin,
        Aba,
        Cusip,
        Sedol,
        BrRg,
        BrCep,
        BrCpf,
        BrCnpj,
    ]
    .into_iter()
    .collect()
});

type Validate = fn(&str) -> Verdict;

/// Masks: `#` a digit, `@` a letter or digit; the type, its validator, the likelihood of a value that passes without context.
const MASKS: &[(&[u8], InfoType, Validate, Likelihood)] = &[
    (b"###.###.###-##", InfoType::BrCpf, br::cpf, VeryLikely),
    (b"@@.@@@.@@@/@@@@-##", InfoType::BrCnpj, br::cnpj, VeryLikely),
    (b"@@.@@@.@@@.@@@@-##", InfoType::BrCnpj, br::cnpj, Likely),
    (b"###.###.###/##", InfoType::BrCpf, br::cpf, Likely),
    (b"#######-##.####.#.##.####", InfoType::BrLegalProcess, br::legal_process, VeryLikely),
    (b"###.#####.##-#", InfoType::BrPis, br::pis, Likely),
    (b"##.###.###-@", InfoType::BrRg, br::rg, Possible),
    (b"#####-###", InfoType::BrCep, br::cep, Possible),
    (b"##.###-###", InfoType::BrCep, br::cep, Likely),
    (b"###-##-####", InfoType::UsSsn, us::ssn, VeryLikely),
    (b"###-##-####", InfoType::UsItin, us::itin, VeryLikely),
    (b"###.####.####.##", InfoType::ChAhv, national::ch_ahv, VeryLikely),
    (b"##-########-#", InfoType::ArCuit, national::ar_cuit, Likely),
    (b"####-####-#", InfoType::Aba, bank::aba, Possible),
    (b"######-####", InfoType::SePersonnummer, national::se_personnummer, Unlikely),
];

impl Pass<'_> {
    /// Everything that a word with a digit may begin; where the finding ends that takes it.
    pub(super) fn number_or_identifier(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if let Some(end) = self.hexadecimal(index) {
            return Some(end);
        }
        if token.ascii
            && let Some(end) = self.masked(index)
        {
            return Some(end);
        }
        let starts_with_digit = self.bytes[token.start].is_ascii_digit();
        if starts_with_digit && let Some(end) = self.date(index) {
            return Some(end);
        }
        if self.year(index) {
            return Some(token.end);
        }
        if !token.is_number()
            && token.ascii
            && let Some(end) = self.identifier(index)
        {
            return Some(end);
        }
        if !starts_with_digit {
            return None;
        }
        if token.len() <= 3
            && self.bytes.get(token.end) == Some(&b'.')
            && let Some(end) = self.ipv4(index)
        {
            return Some(end);
        }
        if let Some(end) = self.card(index) {
            return Some(end);
        }
        let around = self.around(index, token.end);
        // A number beside a word for telephones is one unless its own check digit says more.
        if let Some(end) = self.by_context(index, around.near, VeryLikely) {
            return Some(end);
        }
        if token.is_number()
            && let Some(end) = self.bare(index, around)
        {
            return Some(end);
        }
        if let Some(end) = self.telephone(index) {
            return Some(end);
        }
        if let Some(end) = self.by_context(index, around.wide, Likely) {
            return Some(end);
        }
        self.street_number(index)
    }

    fn masked(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if !matches!(self.bytes.get(token.end), Some(b'.' | b'-'))
            || matches!(self.byte_before(token.start), Some(b'-' | b'.' | b'/')) && self.connected_before(token.start)
        {
            return None;
        }
        for &(mask, info_type, validate, alone) in MASKS {
            let Some(span) = self.fits(token.start, mask) else { continue };
            let verdict = validate(&self.text[span.clone()]);
            let around = self.around(index, span.end);
            let known = around.wide.contains(info_type);
            if info_type == InfoType::UsSsn && verdict == Verdict::Invalid && known {
                // An area that is not assigned, called a social security number.
                self.push(info_type, span.clone(), Possible, Check::Failed);
                return Some(span.end);
            }
            let (likelihood, check) = match verdict {
                Verdict::Valid if known => (VeryLikely, Check::Passed),
                Verdict::Valid => (alone, Check::Passed),
                Verdict::Possible if known => (Likely, Check::None),
                Verdict::Possible => (Possible.min(alone), Check::None),
                // Written as one and named as one, but mistyped or made up.
                Verdict::Invalid if known => (Possible, Check::Failed),
                Verdict::Invalid => (Unlikely, Check::Failed),
            };
            if verdict == Verdict::Invalid
                && matches!(
                    info_type,
                    InfoType::UsSsn | InfoType::UsItin | InfoType::Aba | InfoType::SePersonnummer | InfoType::BrCep | InfoType::ChAhv | InfoType::BrPis
                )
            {
                continue;
            }
            if likelihood <= Unlikely && verdict == Verdict::Invalid {
                self.push(info_type, span, likelihood, check);
                continue;
            }
            if likelihood <= Possible && !known && around.near.contains(InfoType::Phone) {
                continue;
            }
            if !matches!(info_type, InfoType::BrRg | InfoType::BrPis | InfoType::BrCep) && check == Check::Passed || known {
                self.push(info_type, span.clone(), likelihood, check);
                return Some(span.end);
            }
            self.push(info_type, span.clone(), likelihood, if check == Check::Passed && info_type == InfoType::BrCep { Check::None } else { check });
            return Some(span.end);
        }
        None
    }

    /// Whether a separator before `start` joins it to a word.
    fn connected_before(&self, start: usize) -> bool {
        start.checked_sub(2).is_some_and(|before| self.bytes[before].is_ascii_alphanumeric())
    }

    /// The span of a mask at `start` that no word goes on behind.
    fn fits(&self, start: usize, mask: &[u8]) -> Option<Range<usize>> {
        let value = self.bytes.get(start..start + mask.len())?;
        let matches = value.iter().zip(mask).all(|(byte, shape)| match shape {
            b'#' => byte.is_ascii_digit(),
            b'@' => byte.is_ascii_alphanumeric(),
            literal => byte == literal,
        });
        let end = start + mask.len();
        (matches && self.ends_number(end)).then_some(start..end)
    }

    /// Whether a number may end at `end`: neither a word nor another group goes on there.
    pub(super) fn ends_number(&self, end: usize) -> bool {
        if !self.is_bounded_after(end) {
            return false;
        }
        match self.bytes.get(end) {
            Some(b'-' | b'/') => !self.bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric),
            Some(b'.' | b',') => !self.bytes.get(end + 1).is_some_and(u8::is_ascii_digit),
            Some(b'%' | b'@') => false,
            _ => true,
        }
    }

    fn date(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if matches!(self.byte_before(token.start), Some(b'-' | b'/' | b'.' | b'$')) && self.connected_before(token.start) {
            return None;
        }
        let found = date::recognise(self.text, token.start)?;
        let end = token.start + found.length;
        self.report_date(index, end, found);
        // A day and a month alone may begin something else.
        (found.kind != Kind::Partial).then_some(end)
    }

    /// A year beside a word that makes it one: `in 1977`, `desde 1990`.
    fn year(&mut self, index: usize) -> bool {
        let token = self.tokens[index];
        if !token.is_number() || token.len() != 4 || !matches!(&self.bytes[token.start..token.start + 2], b"19" | b"20") || !self.ends_number(token.end) {
            return false;
        }
        let before = index.checked_sub(1).map(|before| self.tokens[before]).filter(|before| before.end + 1 == token.start && self.bytes[before.end] == b' ');
        let year = before.is_some_and(|before| {
            let word = self.text[before.start..before.end].to_lowercase();
            matches!(&word[..], "in" | "during" | "since" | "until" | "year" | "em" | "desde" | "ano" | "en" | "año" | "seit" | "jahr" | "im")
        });
        // `in 2000 rows` counts something; a year ends its clause or has a small word behind it.
        let counts =
            self.tokens.get(index + 1).is_some_and(|next| next.start == token.end + 1 && self.bytes[token.end] == b' ' && next.lower && next.len() > 5);
        // A street follows a house number.
        let street = self.tokens.get(index + 1).is_some_and(|next| next.start == token.end + 1 && next.capital);
        if year && !counts && !street {
            self.push(InfoType::Date, token.start..token.end, Possible, Check::None);
        }
        year && !counts && !street
    }

    /// A date that begins with the name of its month.
    pub(super) fn month_first(&mut self, index: usize) -> Option<usize> {
        let token = self.tokens[index];
        if !token.capital {
            return None;
        }
        let found = date::after_month(self.text, token.end)?;
        let end = token.end + found.length;
        self.report_date(index, end, found);
        Some(end)
    }

    fn report_date(&mut self, index: usize, end: usize, found: date::Recognised) {
        let start = self.tokens[index].start;
        let around = self.around(index, end);
        let birth = found.kind != Kind::Partial && found.year.is_none_or(|year| (1900..2100).contains(&year));
        if birth && (around.near.contains(InfoType::DateOfBirth) || around.wide.contains(InfoType::DateOfBirth) && !around.near.contains(InfoType::DateTime)) {
            return self.push(InfoType::DateOfBirth, start..end, VeryLikely, Check::None);
        }
        let (info_type, likelihood) = match found.kind {
            Kind::Time => (InfoType::DateTime, VeryLikely),
            Kind::Day => (InfoType::Date, VeryLikely),
            Kind::Partial => (InfoType::Date, Possible),
        };
        self.push(info_type, start..end, likelihood, Check::None);
    }

    /// Card numbers, grouped or not.
    fn card(&mut self, index: usize) -> Option<usize> {
        let first = self.tokens[index];
        if !first.is_number()
            || !(first.len() == 4 || (12..=19).contains(&first.len()))
            || self.byte_before(first.start) == Some(b'-') && self.connected_before(first.start)
        {
            return None;
        }
        if first.len() > 4 {
            return None;
        }
        let separator = *self.bytes.get(first.end)?;
        if !matches!(separator, b' ' | b'-' | b'.') {
            return None;
        }
        let (mut widths, mut count, mut end) = ([0usize; 5], 0, first.start);
        for token in self.tokens[index..].iter().take(5) {
            let joined = count == 0 || token.start == end + 1 && self.bytes[end] == separator;
            if !joined || !token.is_number() {
                break;
            }
            widths[count] = token.len();
            count += 1;
            end = token.end;
        }
        for groups in [&[4, 4, 4, 4, 3][..], &[4, 4, 4, 4, 2], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[4, 4, 4, 1], &[4, 4, 5]] {
            if widths[..count.min(groups.len())] != *groups {
                continue;
            }
            let end = self.tokens[index + groups.len() - 1].end;
            if !self.ends_number(end) {
                continue;
            }
            let span = first.start..end;
            let mut digits = [0u8; 19];
            let mut length = 0;
            for &byte in self.bytes[span.clone()].iter().filter(|byte| byte.is_ascii_digit()) {
                digits[length] = byte;
                length += 1;
            }
            let digits = &digits[..length];
            let known = self.around(index, end).wide.contains(InfoType::Pan);
            let (range, check) = (card::in_range(digits), luhn::valid(digits));
            let likelihood = match (range, check, known) {
                (true, true, _) => VeryLikely,
                (false, true, true) => Likely,
                (false, true, false) => Unlikely,
                // Looks like a card and fails Luhn: made up or mistyped, a leak all the same where it is called a card.
                (_, false, true) => Possible,
                (true, false, false) if groups == [4, 4, 4, 4] => Unlikely,
                _ => VeryUnlikely,
            };
            self.push(InfoType::Pan, span, likelihood, if check { Check::Passed } else { Check::Failed });
            if likelihood >= Possible || groups == [4, 4, 4, 4] {
                return Some(end);
            }
        }
        None
    }

    /// Digits alone, told by their number and check digits.
    fn bare(&mut self, index: usize, around: Around) -> Option<usize> {
        let token = self.tokens[index];
        let span = token.start..token.end;
        if !self.ends_number(token.end) || matches!(self.byte_before(token.start), Some(b'-' | b'.' | b'/' | b'#')) && self.connected_before(token.start) {
            return None;
        }
        let digits = &self.bytes[span.clone()];
        let text = &self.text[span.clone()];
        let (near, wide) = (around.near, around.wide);
        let phone = near.contains(InfoType::Phone);
        let found = match digits.len() {
            11 if br::cpf(text).agrees() && !phone => Some((InfoType::BrCpf, if wide.contains(InfoType::BrCpf) { VeryLikely } else { Likely }, Check::Passed)),
            14 if br::cnpj(text).agrees() && !(near.contains(InfoType::Pan) && card::validate(text).agrees()) => {
                Some((InfoType::BrCnpj, if wide.contains(InfoType::BrCnpj) { VeryLikely } else { Likely }, Check::Passed))
            }
            12 if card::short_maestro(digits) && wide.contains(InfoType::Pan) => Some((InfoType::Pan, Likely, Check::Passed)),
            20 if br::legal_process(text).agrees() => Some((InfoType::BrLegalProcess, Likely, Check::Passed)),
            13..=19 => {
                let (known, range, check) = (wide.contains(InfoType::Pan), card::in_range(digits), luhn::valid(digits));
                let uatp = digits.len() == 15 && digits[0] == b'1' && !digits.starts_with(b"1800");
                match (range, check) {
                    (true, true) if known => Some((InfoType::Pan, VeryLikely, Check::Passed)),
                    (true, true) if uatp || phone => Some((InfoType::Pan, Possible, Check::Passed)),
                    (true, true) => Some((InfoType::Pan, Likely, Check::Passed)),
                    (true, false) if near.contains(InfoType::Pan) => Some((InfoType::Pan, Possible, Check::Failed)),
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some((info_type, likelihood, check)) = found {
            self.push(info_type, span, likelihood, check);
            return Some(token.end);
        }
        match (digits.len(), date::compact(text)) {
            (8, Some(Kind::Day)) if near.contains(InfoType::DateOfBirth) => self.push(InfoType::DateOfBirth, span, Likely, Check::None),
            (8, Some(Kind::Day)) if near.contains(InfoType::Date) => self.push(InfoType::Date, span, Likely, Check::None),
            (12 | 14 | 17, Some(Kind::Time)) => {
                self.push(InfoType::DateTime, span, if wide.contains(InfoType::DateTime) { VeryLikely } else { Possible }, Check::None)
            }
            (10 | 13 | 16 | 19, Some(Kind::Time)) if !phone && (wide.contains(InfoType::DateTime) || digits.len() > 10) => {
                self.push(InfoType::DateTime, span, if wide.contains(InfoType::DateTime) { Likely } else { Unlikely }, Check::None);
            }
            _ => return None,
        }
        Some(token.end)
    }

    /// Types that the context announces, in whatever writing: the longest run of groups that one of them takes.
    pub(super) fn by_context(&mut self, index: usize, announced: TypeSet, likelihood: Likelihood) -> Option<usize> {
        if !announced.intersects(*BY_CONTEXT) {
            return None;
        }
        let first = self.tokens[index];
        let mut ends = [0usize; 8];
        let (mut count, mut end) = (0, first.start);
        for token in self.tokens[index..].iter().take(8) {
            let joined = count == 0 || token.start == end + 1 && matches!(self.bytes[end], b' ' | b'-' | b'.' | b'/');
            if !joined || !token.ascii || token.is_alphabetic() && token.len() > 3 {
                break;
            }
            end = token.end;
            ends[count] = end;
            count += 1;
        }
        for &end in ends[..count].iter().rev() {
            if !self.ends_number(end) {
                continue;
            }
            for info_type in announced.iter().filter(|&info_type| BY_CONTEXT.contains(info_type)) {
                // Spaces between groups only where the last group is no word of its own.
                let verdict = info_type.validate(&self.text[first.start..end]);
                if verdict.agrees() {
                    let likelihood = if verdict == Verdict::Valid { likelihood } else { likelihood.min(Likely) };
                    self.push(info_type, first.start..end, likelihood, if verdict == Verdict::Valid { Check::Passed } else { Check::None });
                    return Some(end);
                }
            }
        }
        None
    }
}
