//! Brazilian numbers beside CPF and CNPJ's strict forms: RG, CEP, PIS, CNH, RENAVAM, voter number, health card, court cases, Pix keys.

use crate::Verdict;
use crate::compact::{Compact, digits, digits_of, modulo_97, weigh};
use crate::{cnpj as cnpj_digits, cpf as cpf_digits, net, phone};

/// CPF in any usual writing; check digits decide, equal digits are never issued.
pub(crate) fn cpf(value: &str) -> Verdict {
    Verdict::valid_if(Compact::of(value).is_some_and(|compact| cpf_digits::valid(compact.bytes())))
}

/// CNPJ in any usual writing and letter case, numeric or alphanumeric.
pub(crate) fn cnpj(value: &str) -> Verdict {
    Verdict::valid_if(Compact::of(value).is_some_and(|compact| cnpj_digits::valid(compact.bytes())))
}

/// RG: seven to nine characters that each state numbers in its own way; São Paulo's check digit makes it certain.
pub(crate) fn rg(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let Some((&last, body)) = bare.split_last() else { return Verdict::Invalid };
    if !(7..=10).contains(&bare.len()) || !body.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || last == b'X') {
        return Verdict::Invalid;
    }
    let masked = value.len() > bare.len();
    if masked && rg_digit(body) == Some(last) { Verdict::Valid } else { Verdict::Possible }
}

/// The check character that São Paulo gives to eight digits.
pub(crate) fn rg_digit(body: &[u8]) -> Option<u8> {
    let body: [u8; 8] = digits_of(body)?;
    Some(match 11 - weigh(&body, &[2, 3, 4, 5, 6, 7, 8, 9]) % 11 {
        11 => b'0',
        10 => b'X',
        digit => b'0' + digit as u8,
    })
}

/// CEP: eight digits, certain with the hyphen before the last three.
pub(crate) fn cep(value: &str) -> Verdict {
    let bytes = value.as_bytes();
    let masked = bytes.len() == 9 && bytes[5] == b'-' || bytes.len() == 10 && bytes[2] == b'.' && bytes[6] == b'-';
    match digits::<8>(value) {
        Some(cep) if cep.iter().any(|&digit| digit != 0) && masked => Verdict::Valid,
        Some(cep) if cep.iter().any(|&digit| digit != 0) => Verdict::possible_if(bytes.len() == 8),
        _ => Verdict::Invalid,
    }
}

/// What the central bank takes as a Pix key: CPF, CNPJ, telephone with +55, e-mail or a random UUID.
pub(crate) fn pix_key(value: &str) -> Verdict {
    if net::uuid(value) == Verdict::Valid {
        return Verdict::Valid;
    }
    let other = cpf(value).agrees() || cnpj(value).agrees() || net::email(value).agrees() || value.starts_with("+55") && phone::validate(value).agrees();
    Verdict::possible_if(other)
}

/// PIS, PASEP, NIS, NIT: ten digits and one modulo 11.
pub(crate) fn pis(value: &str) -> Verdict {
    let Some(pis) = digits::<11>(value) else { return Verdict::Invalid };
    let check = match 11 - weigh(&pis, &[3, 2, 9, 8, 7, 6, 5, 4, 3, 2]) % 11 {
        10 | 11 => 0,
        digit => digit,
    };
    Verdict::valid_if(u32::from(pis[10]) == check && varies(&pis))
}

/// CNH: nine digits and two that depend on each other.
pub(crate) fn cnh(value: &str) -> Verdict {
    let Some(cnh) = digits::<11>(value) else { return Verdict::Invalid };
    let first = weigh(&cnh, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 11;
    let (first, less) = if first == 10 { (0, 2) } else { (first, 0) };
    let second = weigh(&cnh, &[1, 2, 3, 4, 5, 6, 7, 8, 9]) % 11;
    let second = match second {
        10 => 0,
        rest if rest >= less => rest - less,
        rest => rest + 11 - less,
    };
    let second = if second >= 10 { 0 } else { second };
    Verdict::valid_if(u32::from(cnh[9]) == first && u32::from(cnh[10]) == second && varies(&cnh))
}

/// RENAVAM: ten digits and one modulo 11.
pub(crate) fn renavam(value: &str) -> Verdict {
    let Some(renavam) = digits::<11>(value) else { return Verdict::Invalid };
    let check = weigh(&renavam, &[3, 2, 9, 8, 7, 6, 5, 4, 3, 2]) * 10 % 11 % 10;
    Verdict::valid_if(u32::from(renavam[10]) == check && varies(&renavam))
}

/// Título de eleitor: eight digits, the state (01 to 28), two check digits.
pub(crate) fn voter_id(value: &str) -> Verdict {
    let Some(title) = digits::<12>(value) else { return Verdict::Invalid };
    let state = u32::from(title[8]) * 10 + u32::from(title[9]);
    // São Paulo and Minas Gerais write 1 where the others write 0.
    let settle = |rest: u32| match (rest, state) {
        (10, _) => 0,
        (0, 1 | 2) => 1,
        _ => rest,
    };
    let first = settle(weigh(&title, &[2, 3, 4, 5, 6, 7, 8, 9]) % 11);
    let second = settle((weigh(&title[8..10], &[7, 8]) + first * 9) % 11);
    Verdict::valid_if((1..=28).contains(&state) && u32::from(title[10]) == first && u32::from(title[11]) == second)
}

/// CNS: fifteen digits whose weighted sum is a multiple of 11, starting with 1, 2, 7, 8 or 9.
pub(crate) fn cns(value: &str) -> Verdict {
    let Some(cns) = digits::<15>(value) else { return Verdict::Invalid };
    let sum = weigh(&cns, &[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    Verdict::valid_if(matches!(cns[0], 1 | 2 | 7..=9) && sum.is_multiple_of(11))
}

/// Court case: seven digits, two modulo 97, year, branch, court, origin.
pub(crate) fn legal_process(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if bare.len() != 20 || !bare.iter().all(u8::is_ascii_digit) || bare[13] == b'0' {
        return Verdict::Invalid;
    }
    let rest = modulo_97(bare[..7].iter().chain(&bare[9..]).chain(b"00").copied()).unwrap_or(0);
    match u32::from(bare[7] - b'0') * 10 + u32::from(bare[8] - b'0') {
        check if check == 98 - rest => Verdict::Valid,
        // What some widely used libraries compute and print.
        check => Verdict::possible_if(check == 97 - rest),
    }
}

fn varies(digits: &[u8]) -> bool {
    digits.iter().any(|&digit| digit != digits[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        type Validate = fn(&str) -> Verdict;
        let known: [(Validate, &str, Verdict); 23] = [
            (cpf, "390.533.447-05", Verdict::Valid),
            (cpf, "390 533 447 05", Verdict::Valid),
            (cpf, "111.111.111-11", Verdict::Invalid),
            (cnpj, "12abc34501de35", Verdict::Valid),
            (cnpj, "12. ABC.345 /01DE–35", Verdict::Valid),
            (cnpj, "16.727.230/0001=97", Verdict::Invalid),
            (rg, "24.678.131-2", Verdict::Valid),
            (rg, "24.678.131-5", Verdict::Possible),
            (rg, "MG-12.345.678", Verdict::Invalid),
            (cep, "01310-100", Verdict::Valid),
            (cep, "01310100", Verdict::Possible),
            (cep, "0131-0100", Verdict::Invalid),
            (pix_key, "9deb20fe-a6e0-455c-81ea-288b009e4f6d", Verdict::Valid),
            (pix_key, "+5511984565666", Verdict::Possible),
            (pix_key, "no key", Verdict::Invalid),
            (pis, "120.16784.01-8", Verdict::Valid),
            (cnh, "65821310502", Verdict::Valid),
            (cnh, "65821310503", Verdict::Invalid),
            (renavam, "08543317523", Verdict::Valid),
            (legal_process, "4553234-70.2023.4.02.5107", Verdict::Valid),
            (legal_process, "4553234-69.2023.4.02.5107", Verdict::Possible),
            (legal_process, "45532346920234025108", Verdict::Invalid),
            (voter_id, "000000000000", Verdict::Invalid),
        ];
        for (validate, value, verdict) in known {
            assert_eq!(validate(value), verdict, "{value}");
        }
    }
}
