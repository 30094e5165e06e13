//! Numbers that no word announces: told by their form and check digits alone, and called as likely as those make them.
//!
//! A check digit that one number in ten has by chance makes a bare number unlikely, whatever it could be; with a date inside, two check
//! digits or a form of its own it is possible. What is below the least likelihood asked for costs nothing.

use super::{Check, Pass};
use crate::InfoType::*;
use crate::Likelihood::{self, Likely, Possible, Unlikely, VeryLikely, VeryUnlikely};
use crate::{InfoType, Verdict};

/// A form (`#` a digit, `@` a letter or digit), a type that is written so, and how likely a number with the right check digits is one.
const FORMS: &[(&[u8], InfoType, Likelihood)] = &[
    // A day of birth and a check character, and a form that nothing else has.
    (b"######-###@", FiHetu, VeryLikely),
    (b"######+###@", FiHetu, VeryLikely),
    (b"######@###@", FiHetu, VeryLikely),
    (b"######-#######", KrRrn, Likely),
    (b"######+####", SePersonnummer, Likely),
    (b"########-####", SePersonnummer, Possible),
    (b"#-####-#####-##-#", ThPin, Likely),
    (b"########@", EsNif, Possible),
    (b"########-@", EsNif, Possible),
    (b"@#######@", EsNif, Possible),
    (b"@#######-@", EsNif, Possible),
    (b"@-#######-@", EsNif, Likely),
    (b"#######@", EsNif, Unlikely),
    (b"#######-@", EsNif, Unlikely),
    (b"@@######@", UkNino, Possible),
    (b"@@ ## ## ## @", UkNino, Possible),
    (b"### ## ####", UsSsn, Possible),
    (b"### ## ####", UsItin, Possible),
    (b"###-######", UsSsn, Unlikely),
    (b"#####-####", UsSsn, Unlikely),
    (b"###-######", UsItin, Unlikely),
    (b"#####-####", UsItin, Unlikely),
    (b"### ### ###", CaSin, Unlikely),
    (b"###-###-###", CaSin, Unlikely),
    (b"### ### ###", AuTfn, Unlikely),
    (b"### ### ####", UkNhs, Unlikely),
    (b"###-###-####", UkNhs, Unlikely),
    (b"#### #### ####", InAadhaar, Unlikely),
    // Digits alone, from the longest: a day of birth and more, or two check digits.
    (b"##################", CnRic, Possible),
    (b"#############", ZaId, Possible),
    (b"#############", RoCnp, Possible),
    (b"#############", KrRrn, Unlikely),
    (b"#############", ThPin, Unlikely),
    (b"############", SePersonnummer, Unlikely),
    (b"############", InAadhaar, Unlikely),
    (b"###########", DeTaxId, Possible),
    (b"###########", NoFodselsnummer, Possible),
    (b"###########", BeNn, Unlikely),
    (b"###########", PlPesel, Unlikely),
    (b"###########", TrKimlik, Unlikely),
    (b"###########", EePersonalCode, Unlikely),
    (b"##########", SePersonnummer, Unlikely),
    (b"##########", UkNhs, VeryUnlikely),
    (b"#########", Aba, Unlikely),
    (b"#########", CaSin, VeryUnlikely),
    (b"#########", UsSsn, VeryUnlikely),
    (b"#########", UsItin, VeryUnlikely),
];

impl Pass<'_> {
    /// A number at this word, without a word that announces it; where it ends if it is at least possible.
    pub(super) fn alone(&mut self, index: usize) -> Option<usize> {
        let start = self.tokens[index].start;
        if matches!(self.byte_before(start), Some(b'-' | b'.' | b'/' | b'+' | b'#' | b'$' | b'_')) {
            return None;
        }
        let mut taken = None;
        for &(form, info_type, likelihood) in FORMS {
            // What is not asked for may still take its place from what follows, so that the least likelihood only leaves findings out.
            if likelihood < self.min && likelihood < Possible {
                continue;
            }
            let Some(span) = self.fits(start, form) else { continue };
            let value = &self.text[span.clone()];
            let verdict = info_type.validate(value);
            if verdict == Verdict::Invalid || taken.is_some_and(|end| end > span.end) {
                continue;
            }
            let lower = value.bytes().any(|byte| byte.is_ascii_lowercase());
            let checked = verdict == Verdict::Valid && !matches!(info_type, UsSsn | UsItin | UkNino);
            let likelihood = match verdict {
                _ if lower => likelihood.min(Unlikely),
                Verdict::Valid => likelihood,
                _ if matches!(info_type, UsSsn | UsItin | UkNino) => likelihood,
                // The check digit is one that is no longer given out, or a rule beside it is broken.
                _ if likelihood >= Likely => Possible,
                _ => VeryUnlikely,
            };
            if likelihood >= Possible {
                taken = Some(span.end);
            }
            self.push(info_type, span, likelihood, if checked { Check::Passed } else { Check::None });
        }
        taken
    }
}
