//! Latin America and Canada.

use super::*;

/// Argentina's tax number: kind of holder, eight digits, one modulo 11.
pub(crate) fn ar_cuit(value: &str) -> Verdict {
    valid_digits::<11>(value, |cuit| {
        let check = match 11 - weigh(cuit, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
            11 => 0,
            10 => 9,
            digit => digit,
        };
        matches!(pair(cuit, 0), 20 | 23 | 24 | 25 | 26 | 27 | 30 | 33 | 34 | 50 | 51 | 55) && u32::from(cuit[10]) == check
    })
}

/// Argentina's bank account code: two blocks with a check digit each.
pub(crate) fn ar_cbu(value: &str) -> Verdict {
    valid_digits::<22>(value, |cbu| {
        let bank = (10 - weigh(cbu, &[7, 1, 3, 9, 7, 1, 3]) % 10) % 10;
        let account = (10 - weigh(&cbu[8..], &[3, 9, 7, 1, 3, 9, 7, 1, 3, 9, 7, 1, 3]) % 10) % 10;
        u32::from(cbu[7]) == bank && u32::from(cbu[21]) == account
    })
}

/// Chile's tax number: seven or eight digits and a check character modulo 11.
pub(crate) fn cl_rut(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes().strip_prefix(b"CL".as_slice()).unwrap_or(compact.bytes());
    let Some((&last, body)) = bare.split_last() else { return Verdict::Invalid };
    if !(7..=8).contains(&body.len()) || !body.iter().all(u8::is_ascii_digit) || body.iter().all(|&digit| digit == b'0') {
        return Verdict::Invalid;
    }
    let sum: u32 = body.iter().rev().zip([2, 3, 4, 5, 6, 7].iter().cycle()).map(|(&digit, &weight)| u32::from(digit - b'0') * weight).sum();
    let check = match 11 - sum % 11 {
        11 => b'0',
        10 => b'K',
        digit => b'0' + digit as u8,
    };
    Verdict::valid_if(last == check)
}

/// Colombia's tax number: eight to fifteen digits and one modulo 11.
pub(crate) fn co_nit(value: &str) -> Verdict {
    const WEIGHTS: [u32; 15] = [3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53, 59, 67, 71];
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if !(8..=16).contains(&bare.len()) || !bare.iter().all(u8::is_ascii_digit) {
        return Verdict::Invalid;
    }
    let body = &bare[..bare.len() - 1];
    let sum: u32 = body.iter().rev().zip(WEIGHTS).map(|(&digit, weight)| u32::from(digit - b'0') * weight).sum();
    let check = b"01987654321"[(sum % 11) as usize];
    Verdict::valid_if(bare[bare.len() - 1] == check && bare.iter().any(|&digit| digit != b'0'))
}

/// The Dominican Republic's identity number: Luhn. (A few that were issued without are not taken.)
pub(crate) fn do_cedula(value: &str) -> Verdict {
    valid_digits::<11>(value, |cedula| luhn(cedula))
}

/// Ecuador's identity number: province, kind, Luhn.
pub(crate) fn ec_ci(value: &str) -> Verdict {
    valid_digits::<10>(value, |ci| matches!(pair(ci, 0), 1..=24 | 30 | 50) && ci[2] <= 6 && luhn(ci))
}

/// Mexico's register code: name, day of birth, sex, state, check digit.
pub(crate) fn mx_curp(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let curp = compact.bytes();
    if curp.len() != 18 || !curp[..4].iter().chain(&curp[11..16]).all(u8::is_ascii_uppercase) || !b"HMX".contains(&curp[10]) {
        return Verdict::Invalid;
    }
    let (Some(born), Some([check])) = (digits_of::<6>(&curp[4..10]), digits_of::<1>(&curp[17..])) else { return Verdict::Invalid };
    // The alphabet has Ñ between N and O.
    let place = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte - b'A') + 11,
    };
    let sum: u32 = curp[..17].iter().enumerate().map(|(index, &byte)| place(byte) * (18 - index as u32)).sum();
    Verdict::valid_if(is_short_day(pair(&born, 0), pair(&born, 2), pair(&born, 4)) && u32::from(check) == (10 - sum % 10) % 10)
}

/// Peru's tax number: kind of holder, eight digits, one modulo 11.
pub(crate) fn pe_ruc(value: &str) -> Verdict {
    valid_digits::<11>(value, |ruc| {
        let check = (11 - weigh(ruc, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 10;
        matches!(pair(ruc, 0), 10 | 15 | 16 | 17 | 20) && u32::from(ruc[10]) == check
    })
}

/// Uruguay's tax number: kind, six digits, 001, one modulo 11.
pub(crate) fn uy_rut(value: &str) -> Verdict {
    valid_digits::<12>(value, |rut| {
        let rest = weigh(rut, &[4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
        let check = (11 - rest) % 11;
        (1..=22).contains(&pair(rut, 0)) && rut[8..11] == [0, 0, 1] && u32::from(rut[11]) == check
    })
}

/// Venezuela's tax number: a letter, eight digits, one modulo 11.
pub(crate) fn ve_rif(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let Some((&kind, body)) = compact.bytes().split_first() else { return Verdict::Invalid };
    let Some(rif) = digits_of::<9>(body) else { return Verdict::Invalid };
    let kind = match kind {
        b'V' => 4,
        b'E' => 8,
        b'J' => 12,
        b'P' => 16,
        b'G' => 20,
        _ => return Verdict::Invalid,
    };
    let check = b"00987654321"[((kind + weigh(&rif, &[3, 2, 7, 6, 5, 4, 3, 2])) % 11) as usize] - b'0';
    Verdict::valid_if(rif[8] == check)
}

/// Canada: nine digits with Luhn, not starting with 0 or 8.
pub(crate) fn ca_sin(value: &str) -> Verdict {
    valid_digits::<9>(value, |sin| !matches!(sin[0], 0 | 8) && luhn(sin))
}
