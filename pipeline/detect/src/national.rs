//! Identity and tax numbers of other countries that have check digits (and two that have none but a form of their own).
//!
//! Most are plain digits, of which one in eleven or so passes by chance: in text they are found only beside their context words, in
//! columns only when more values pass than chance explains.

use crate::Verdict;
use crate::compact::{Compact, digits, digits_of, is_day, number, pair, weigh};

mod americas;
mod europe;

pub(crate) use americas::*;
pub(crate) use europe::*;

/// The Luhn sum of the digits is a multiple of 10.
fn luhn(digits: &[u8]) -> bool {
    crate::luhn::holds(digits.iter().copied())
}

/// ISO 7064 modulo 11, 10.
fn mod_11_10(digits: &[u8]) -> bool {
    let mut check = 5;
    for &digit in digits {
        check = ((if check == 0 { 10 } else { check }) * 2 % 11 + u32::from(digit)) % 10;
    }
    check == 1
}

/// A date without its century is a day of some year.
fn is_short_day(year: u32, month: u32, day: u32) -> bool {
    is_day(1900 + year, month, day) || is_day(2000 + year, month, day)
}

fn valid_digits<const N: usize>(value: &str, holds: impl FnOnce(&[u8; N]) -> bool) -> Verdict {
    Verdict::valid_if(digits::<N>(value).is_some_and(|digits| digits.iter().any(|&digit| digit != digits[0]) && holds(&digits)))
}

/// China: area, day of birth, check character modulo 11, 2.
pub(crate) fn cn_ric(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let Some((&last, body)) = compact.bytes().split_last() else { return Verdict::Invalid };
    let Some(body) = digits_of::<17>(body) else { return Verdict::Invalid };
    let rest = weigh(&body, &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11;
    let born = is_day(number(&body[6..10]) as u32, pair(&body, 10), pair(&body, 12));
    Verdict::valid_if(born && b"10X98765432"[rest as usize] == last)
}

/// South Korea: day of birth, century and sex, place, check digit. Since October 2020 what follows the sex is random: possible without it.
pub(crate) fn kr_rrn(value: &str) -> Verdict {
    let Some(rrn) = digits::<13>(value) else { return Verdict::Invalid };
    let check = (11 - weigh(&rrn, &[2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11) % 10;
    match is_short_day(pair(&rrn, 0), pair(&rrn, 2), pair(&rrn, 4)) {
        true if u32::from(rrn[12]) == check => Verdict::Valid,
        born => Verdict::possible_if(born && (1..=8).contains(&rrn[6])),
    }
}

/// India: twelve digits with a Verhoeff digit, not starting with 0 or 1, no palindrome.
pub(crate) fn in_aadhaar(value: &str) -> Verdict {
    const MULTIPLY: [[u8; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const PERMUTE: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    valid_digits::<12>(value, |aadhaar| {
        let check = aadhaar
            .iter()
            .rev()
            .enumerate()
            .fold(0u8, |check, (index, &digit)| MULTIPLY[usize::from(check)][usize::from(PERMUTE[index % 8][usize::from(digit)])]);
        aadhaar[0] >= 2 && check == 0 && aadhaar.iter().ne(aadhaar.iter().rev())
    })
}

/// India's tax number: five letters of which the fourth is the kind of holder, four digits, a letter.
pub(crate) fn in_pan(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let pan = compact.bytes();
    Verdict::valid_if(
        pan.len() == 10
            && pan[..5].iter().chain(&pan[9..]).all(u8::is_ascii_uppercase)
            && pan[5..9].iter().all(u8::is_ascii_digit)
            && pan[5..9] != *b"0000"
            && b"ABCFGHJKLPT".contains(&pan[3]),
    )
}

/// Thailand: thirteen digits, not starting with 0 or 9.
pub(crate) fn th_pin(value: &str) -> Verdict {
    valid_digits::<13>(value, |pin| {
        let check = (11 - weigh(pin, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 10;
        (1..=8).contains(&pin[0]) && u32::from(pin[12]) == check
    })
}

/// Turkey: eleven digits with two check digits.
pub(crate) fn tr_kimlik(value: &str) -> Verdict {
    valid_digits::<11>(value, |kimlik| {
        let odd: u32 = kimlik[..9].iter().step_by(2).map(|&digit| u32::from(digit)).sum();
        let even: u32 = kimlik[1..8].iter().step_by(2).map(|&digit| u32::from(digit)).sum();
        let tenth = (odd * 7 + 90 - even) % 10;
        kimlik[0] != 0 && u32::from(kimlik[9]) == tenth && u32::from(kimlik[10]) == (odd + even + tenth) % 10
    })
}

/// South Africa: day of birth, sequence, citizenship, Luhn.
pub(crate) fn za_id(value: &str) -> Verdict {
    valid_digits::<13>(value, |id| is_short_day(pair(id, 0), pair(id, 2), pair(id, 4)) && id[10] <= 2 && luhn(id))
}

/// Israel: nine digits with Luhn.
pub(crate) fn il_id(value: &str) -> Verdict {
    match Compact::of(value) {
        Some(compact) if (8..=9).contains(&compact.bytes().len()) && compact.bytes().iter().all(u8::is_ascii_digit) => {
            Verdict::valid_if(crate::luhn::valid(compact.bytes()) && compact.bytes().iter().any(|&digit| digit != b'0'))
        }
        _ => Verdict::Invalid,
    }
}

/// Australia: nine digits, weighted sum a multiple of 11. (Older numbers of eight digits are not taken.)
pub(crate) fn au_tfn(value: &str) -> Verdict {
    valid_digits::<9>(value, |tfn| weigh(tfn, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        type Validate = fn(&str) -> Verdict;
        let known: &[(Validate, &str, &str)] = &[
            (cn_ric, "360426199101010071", "36042619910102009X"),
            (kr_rrn, "971013-9019902", "971013-9019903"),
            (in_aadhaar, "2341 2341 2346", "222222222222"),
            (in_pan, "ACUPA7085R", "ABMXA3211G"),
            (th_pin, "1-2345-45678-78-1", "1-2345-45678-78-9"),
            (tr_kimlik, "10010405214", "07291716092"),
            (za_id, "7611055077082", "7611055077083"),
            (il_id, "3933742-3", "3933742-2"),
            (au_tfn, "123 456 782", "999 999 999"),
            (es_nif, "54362315-K", "54362315Z"),
            (es_nif, "x-2482300w", "x-2482300a"),
            (es_cif, "J99216582", "J99216583"),
            (pt_nif, "PT 501 964 843", "PT 501 964 842"),
            (fr_nir, "2 95 10 99 126 111 93", "295109912611199"),
            (fr_nir, "253072B07300470", "253072C07300443"),
            (fr_siren, "404833048", "404833047"),
            (fr_siren, "73282932000074", "73282932000079"),
            (de_tax_id, "36574261809", "36554266806"),
            (it_codice_fiscale, "RCCMNL83S18D969H", "RCCMNL83S18D969A"),
            (uk_nhs, "943-476-5870", "9434765871"),
            (uk_nino, "AB 12 34 56 C", "QQ123456C"),
            (pl_pesel, "44051401359", "44051401358"),
            (nl_bsn, "1112.22.333", "1112.52.333"),
            (be_nn, "17 07 30 033 84", "12345678901"),
            (ch_ahv, "756.9217.0769.85", "756.9217.0769.84"),
            (se_personnummer, "880320-0016", "880320-0018"),
            (no_fodselsnummer, "26111593816", "26111593817"),
            (dk_cpr, "211062-5629", "511062-5629"),
            (fi_hetu, "131052A308T", "131052-308U"),
            (ro_cnp, "1630615123457", "0800101221142"),
            (cz_rc, "710319/2745", "7103192746"),
            (hr_oib, "HR 33392005961", "33392005962"),
            (ee_personal_code, "36805280109", "36805280108"),
            (ca_sin, "123-456-782", "999-999-999"),
            (ar_cuit, "20-05536168-2", "2026756A393"),
            (ar_cbu, "2850590940090418135201", "2810590940090418135201"),
            (cl_rut, "76086428-5", "12531909-3"),
            (co_nit, "213.123.432-1", "213123435A"),
            (do_cedula, "00113918205", "00113918204"),
            (ec_ci, "171430710-3", "1714307104"),
            (mx_curp, "BOXW310820HNERXN09", "BOXW310820HNERXN08"),
            (pe_ruc, "20512333797", "20512333798"),
            (uy_rut, "21-100342-001-7", "210303670014"),
            (ve_rif, "V-11470283-4", "V-11470283-3"),
        ];
        for (validate, right, wrong) in known {
            assert!(validate(right).agrees(), "{right}");
            assert_eq!(validate(wrong), Verdict::Invalid, "{wrong}");
            assert_eq!(validate(""), Verdict::Invalid);
        }
    }
}
