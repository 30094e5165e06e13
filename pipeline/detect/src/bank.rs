//! Banks and securities: ABA, BIC, LEI, ISIN, CUSIP, SEDOL, FIGI, creditor references.

use crate::compact::{Compact, digits, modulo_97, weigh};
use crate::{Verdict, country, luhn};

/// Routing number: an assigned first pair, weights 3, 7, 1.
pub(crate) fn aba(value: &str) -> Verdict {
    let Some(aba) = digits::<9>(value) else { return Verdict::Invalid };
    let prefix = aba[0] * 10 + aba[1];
    let sum = weigh(&aba, &[3, 7, 1, 3, 7, 1, 3, 7, 1]);
    Verdict::valid_if(matches!(prefix, 0..=12 | 21..=32 | 61..=72 | 80) && sum.is_multiple_of(10) && aba[2..].iter().any(|&digit| digit != 0))
}

/// BIC: institution, country, place and perhaps branch. There is no check digit, only a country that exists.
pub(crate) fn bic(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if !matches!(bare.len(), 8 | 11) || !bare[..6].iter().all(u8::is_ascii_uppercase) {
        return Verdict::Invalid;
    }
    Verdict::possible_if(country::exists([bare[4], bare[5]]))
}

/// LEI: eighteen characters and two digits modulo 97.
pub(crate) fn lei(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let form = bare.len() == 20 && bare[18..].iter().all(u8::is_ascii_digit) && bare[..4].iter().all(|byte| byte.is_ascii_alphanumeric());
    Verdict::valid_if(form && modulo_97(bare.iter().copied()) == Some(1))
}

/// Creditor reference: `RF`, two digits modulo 97, up to 21 characters.
pub(crate) fn creditor_reference(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    match compact.bytes() {
        [b'R', b'F', d0 @ b'0'..=b'9', d1 @ b'0'..=b'9', reference @ ..] if (1..=21).contains(&reference.len()) => {
            Verdict::valid_if(modulo_97(reference.iter().copied().chain([b'R', b'F', *d0, *d1])) == Some(1))
        }
        _ => Verdict::Invalid,
    }
}

/// ISIN: country or agency, nine characters, Luhn over the letters as two digits each.
pub(crate) fn isin(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if bare.len() != 12
        || !bare[11].is_ascii_digit()
        || !(country::exists([bare[0], bare[1]]) || matches!(&bare[..2], b"XS" | b"EU" | b"XA" | b"XB" | b"XC" | b"XD" | b"XF" | b"QS" | b"QT"))
    {
        return Verdict::Invalid;
    }
    // A letter stands for two digits.
    let digits = bare.iter().flat_map(|&byte| {
        let value = value_of(byte) as u8;
        let (tens, ones) = (value / 10, value % 10);
        [(tens > 0).then_some(tens), Some(ones)].into_iter().flatten()
    });
    Verdict::valid_if(luhn::holds(digits))
}

/// CUSIP: eight characters (`*`, `@` and `#` are not taken) and a digit, every second value doubled.
pub(crate) fn cusip(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if bare.len() != 9 || !bare[8].is_ascii_digit() || !bare[..3].iter().any(u8::is_ascii_digit) {
        return Verdict::Invalid;
    }
    Verdict::valid_if(double_add_double(&bare[..8]) == u32::from(bare[8] - b'0'))
}

/// SEDOL: six characters without vowels and a digit; those with letters begin with one.
pub(crate) fn sedol(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let vowel = bare.iter().any(|byte| b"AEIOU".contains(byte));
    if bare.len() != 7 || !bare[6].is_ascii_digit() || vowel || bare[0].is_ascii_digit() && bare.iter().any(u8::is_ascii_uppercase) {
        return Verdict::Invalid;
    }
    let sum: u32 = bare.iter().zip([1, 3, 1, 7, 3, 9, 1]).map(|(&byte, weight)| value_of(byte) * weight).sum();
    Verdict::valid_if(sum.is_multiple_of(10))
}

/// FIGI: two consonants that are no country of ISIN, `G`, eight characters without vowels, a digit.
pub(crate) fn figi(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let vowel = bare.iter().any(|byte| b"AEIOU".contains(byte));
    if bare.len() != 12
        || vowel
        || bare[2] != b'G'
        || !bare[..2].iter().all(u8::is_ascii_uppercase)
        || !bare[11].is_ascii_digit()
        || matches!(&bare[..2], b"BS" | b"BM" | b"GG" | b"GB" | b"GH" | b"KY" | b"VG")
    {
        return Verdict::Invalid;
    }
    Verdict::valid_if(double_add_double(&bare[..11]) == u32::from(bare[11] - b'0'))
}

/// Check digit of CUSIP and FIGI: every second value doubled, the digits of all added, modulo 10.
fn double_add_double(body: &[u8]) -> u32 {
    let sum: u32 = body
        .iter()
        .enumerate()
        .map(|(index, &byte)| {
            let value = value_of(byte) * if index % 2 == 1 { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    (10 - sum % 10) % 10
}

/// A digit's value, or 10 for A and on.
fn value_of(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for (validate, value, verdict) in [
            (aba as fn(&str) -> Verdict, "322070381", Verdict::Valid),
            (aba, "0711-0130-7", Verdict::Valid),
            (aba, "382070381", Verdict::Invalid),
            (bic, "ABNA BE 2A", Verdict::Possible),
            (bic, "agrifrpp882", Verdict::Possible),
            (bic, "AGRIQQPP", Verdict::Invalid),
            (lei, "213800KUD8LAJWSQ9D15", Verdict::Valid),
            (lei, "213800KUD8LXJWSQ9D15", Verdict::Invalid),
            (isin, "US0378331005", Verdict::Valid),
            (isin, "XS0861774635", Verdict::Valid),
            (isin, "US0378331003", Verdict::Invalid),
            (cusip, "29372R208", Verdict::Valid),
            (sedol, "B15KXQ8", Verdict::Valid),
            (sedol, "107MXC1", Verdict::Invalid),
            (figi, "BBG000BLNQ16", Verdict::Valid),
            (creditor_reference, "RF18 5390 0754 7034", Verdict::Valid),
            (creditor_reference, "RF17 5390 0754 7034", Verdict::Invalid),
        ] {
            assert_eq!(validate(value), verdict, "{value}");
        }
    }
}
