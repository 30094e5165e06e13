//! Europe.

use super::*;

/// Spain, persons: DNI (eight digits or seven, a letter) and NIE (X, Y or Z, seven digits, a letter).
pub(crate) fn es_nif(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let Some((&letter, body)) = compact.bytes().split_last() else { return Verdict::Invalid };
    if !matches!(body.len(), 7 | 8) {
        return Verdict::Invalid;
    }
    // A leading zero is often left out.
    let mut number = [b'0'; 8];
    number[8 - body.len()..].copy_from_slice(body);
    if let Some(place) = b"XYZ".iter().position(|&letter| letter == number[0]) {
        number[0] = b'0' + place as u8;
    }
    let Some(number) = digits_of::<8>(&number) else { return Verdict::Invalid };
    Verdict::valid_if(b"TRWAGMYFPDXBNJZSQVHLCKE"[(super::number(&number) % 23) as usize] == letter)
}

/// Spain, companies: a letter, seven digits, a digit or letter.
pub(crate) fn es_cif(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if bare.len() != 9 || !b"ABCDEFGHJNPQRSUVW".contains(&bare[0]) {
        return Verdict::Invalid;
    }
    let Some(body) = digits_of::<7>(&bare[1..8]) else { return Verdict::Invalid };
    let sum: u32 = body
        .iter()
        .enumerate()
        .map(|(index, &digit)| {
            let digit = u32::from(digit);
            if index % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
        })
        .sum();
    let check = ((10 - sum % 10) % 10) as usize;
    Verdict::valid_if(bare[8] == b'0' + check as u8 || bare[8] == b"JABCDEFGHI"[check])
}

/// Portugal: nine digits, perhaps with the country before, modulo 11.
pub(crate) fn pt_nif(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes().strip_prefix(b"PT".as_slice()).unwrap_or(compact.bytes());
    let Some(nif) = digits_of::<9>(bare) else { return Verdict::Invalid };
    let check = match 11 - weigh(&nif, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 {
        10 | 11 => 0,
        digit => digit,
    };
    Verdict::valid_if(!matches!(nif[0], 0 | 4) && u32::from(nif[8]) == check)
}

/// France, persons: thirteen characters (Corsica has letters) and two digits modulo 97.
pub(crate) fn fr_nir(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let Ok(mut bare) = <[u8; 15]>::try_from(compact.bytes()) else { return Verdict::Invalid };
    match &bare[5..7] {
        b"2A" => bare[5..7].copy_from_slice(b"19"),
        b"2B" => bare[5..7].copy_from_slice(b"18"),
        _ => {}
    }
    let Some(nir) = digits_of::<15>(&bare) else { return Verdict::Invalid };
    let month = pair(&nir, 3);
    let fits = matches!(nir[0], 1..=4 | 7 | 8) && (matches!(month, 1..=12 | 20..=42) || month >= 50);
    Verdict::valid_if(fits && 97 - number(&nir[..13]) % 97 == number(&nir[13..]))
}

/// France, companies: SIREN (nine digits) or SIRET (fourteen), Luhn. La Poste's own sum is taken too.
pub(crate) fn fr_siren(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if !matches!(bare.len(), 9 | 14) || !bare.iter().all(u8::is_ascii_digit) || bare.iter().all(|&digit| digit == b'0') {
        return Verdict::Invalid;
    }
    let la_poste = bare.len() == 14 && bare.starts_with(b"356000000") && bare.iter().map(|digit| u32::from(digit - b'0')).sum::<u32>().is_multiple_of(5);
    Verdict::valid_if((crate::luhn::valid(bare) && crate::luhn::valid(&bare[..9])) || la_poste)
}

/// Germany: eleven digits, one of the first ten twice or three times, ISO 7064.
pub(crate) fn de_tax_id(value: &str) -> Verdict {
    valid_digits::<11>(value, |id| {
        let mut counts = [0u8; 10];
        for &digit in &id[..10] {
            counts[usize::from(digit)] += 1;
        }
        let repeated = counts.iter().filter(|&&count| count > 1).count();
        id[0] != 0 && repeated == 1 && counts.iter().all(|&count| count <= 3) && mod_11_10(id)
    })
}

/// Italy: name, day of birth, place, check letter.
pub(crate) fn it_codice_fiscale(value: &str) -> Verdict {
    const ODD: [u32; 36] = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    if bare.len() == 11 && bare.iter().all(u8::is_ascii_digit) {
        // Companies have their VAT number for one.
        return Verdict::possible_if(crate::luhn::valid(bare) && bare.iter().any(|&digit| digit != b'0'));
    }
    if bare.len() != 16 || !bare[..6].iter().chain(&bare[15..]).all(u8::is_ascii_uppercase) || !b"ABCDEHLMPRST".contains(&bare[8]) {
        return Verdict::Invalid;
    }
    let place = |byte: u8| if byte.is_ascii_digit() { usize::from(byte - b'0') } else { usize::from(byte - b'A') + 10 };
    let sum: u32 = bare[..15]
        .iter()
        .enumerate()
        .map(|(index, &byte)| match index % 2 {
            0 => ODD[place(byte)],
            _ if byte.is_ascii_digit() => u32::from(byte - b'0'),
            _ => u32::from(byte - b'A'),
        })
        .sum();
    Verdict::valid_if(bare[15] == b'A' + (sum % 26) as u8)
}

/// Great Britain, health: ten digits, one modulo 11.
pub(crate) fn uk_nhs(value: &str) -> Verdict {
    valid_digits::<10>(value, |nhs| {
        let check = 11 - weigh(nhs, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
        check != 10 && u32::from(nhs[9]) == check % 11
    })
}

/// Great Britain, insurance: two letters, six digits, A to D. There is no check digit.
pub(crate) fn uk_nino(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let fits = bare.len() == 9
        && bare[..2].iter().all(|letter| letter.is_ascii_uppercase() && !b"DFIQUV".contains(letter))
        && bare[1] != b'O'
        && !matches!(&bare[..2], b"BG" | b"GB" | b"KN" | b"NK" | b"NT" | b"TN" | b"ZZ")
        && bare[2..8].iter().all(u8::is_ascii_digit)
        && (b'A'..=b'D').contains(&bare[8]);
    Verdict::possible_if(fits)
}

/// Poland: day of birth with the century in the month, weighted sum.
pub(crate) fn pl_pesel(value: &str) -> Verdict {
    valid_digits::<11>(value, |pesel| {
        let month = pair(pesel, 2);
        let century = [1900, 2000, 2100, 2200, 1800][(month / 20).min(4) as usize];
        let check = (10 - weigh(pesel, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10) % 10;
        is_day(century + pair(pesel, 0), month % 20, pair(pesel, 4)) && u32::from(pesel[10]) == check
    })
}

/// The Netherlands: nine digits (eight with a zero left out), the eleven test.
pub(crate) fn nl_bsn(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes();
    let mut padded = *b"000000000";
    match bare.len() {
        9 => padded.copy_from_slice(bare),
        8 => padded[1..].copy_from_slice(bare),
        _ => return Verdict::Invalid,
    }
    let Some(bsn) = digits_of::<9>(&padded) else { return Verdict::Invalid };
    let sum = weigh(&bsn, &[9, 8, 7, 6, 5, 4, 3, 2]);
    Verdict::valid_if(sum != 0 && sum % 11 == u32::from(bsn[8]))
}

/// Belgium: day of birth, sequence, two digits modulo 97 (with a 2 in front since 2000).
pub(crate) fn be_nn(value: &str) -> Verdict {
    valid_digits::<11>(value, |nn| {
        let (body, check) = (number(&nn[..9]), number(&nn[9..]));
        let month = pair(nn, 2) % 20;
        month <= 12 && (97 - body % 97 == check || 97 - (2_000_000_000 + body) % 97 == check)
    })
}

/// Switzerland: 756, nine digits, the check digit of an EAN.
pub(crate) fn ch_ahv(value: &str) -> Verdict {
    valid_digits::<13>(value, |ahv| {
        let check = (10 - weigh(ahv, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10) % 10;
        ahv[..3] == [7, 5, 6] && u32::from(ahv[12]) == check
    })
}

/// Sweden: day of birth (60 more for coordination numbers), sequence, Luhn; with or without the century.
pub(crate) fn se_personnummer(value: &str) -> Verdict {
    let compact = if value.contains('+') { Compact::of(&value.replacen('+', "-", 1)) } else { Compact::of(value) };
    let Some(compact) = compact else { return Verdict::Invalid };
    let bare = compact.bytes();
    let short = match bare.len() {
        12 if matches!(&bare[..2], b"18" | b"19" | b"20") => &bare[2..],
        10 => bare,
        _ => return Verdict::Invalid,
    };
    let Some(pn) = digits_of::<10>(short) else { return Verdict::Invalid };
    let day = pair(&pn, 4);
    Verdict::valid_if(is_short_day(pair(&pn, 0), pair(&pn, 2), if day > 60 { day - 60 } else { day }) && luhn(&pn))
}

/// Norway: day of birth (40 more for D numbers), sequence, two check digits.
pub(crate) fn no_fodselsnummer(value: &str) -> Verdict {
    valid_digits::<11>(value, |id| {
        let first = (11 - weigh(id, &[3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11) % 11;
        let second = (11 - weigh(id, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11;
        let day = pair(id, 0);
        let born = is_short_day(pair(id, 4), pair(id, 2), if day > 40 { day - 40 } else { day });
        born && u32::from(id[9]) == first && u32::from(id[10]) == second
    })
}

/// Denmark: day of birth and sequence. Numbers without a right check digit have been issued since 2007.
pub(crate) fn dk_cpr(value: &str) -> Verdict {
    let Some(cpr) = digits::<10>(value) else { return Verdict::Invalid };
    Verdict::possible_if(is_short_day(pair(&cpr, 4), pair(&cpr, 2), pair(&cpr, 0)))
}

/// Finland: day of birth, century, sequence, check character.
pub(crate) fn fi_hetu(value: &str) -> Verdict {
    let bytes = value.as_bytes();
    if bytes.len() != 11 || !b"+-YXWVUABCDEFyxwvuabcdef".contains(&bytes[6]) {
        return Verdict::Invalid;
    }
    let (Some(born), Some(sequence)) = (digits_of::<6>(&bytes[..6]), digits_of::<3>(&bytes[7..10])) else { return Verdict::Invalid };
    let place = (number(&born) * 1000 + number(&sequence)) % 31;
    let check = b"0123456789ABCDEFHJKLMNPRSTUVWXY"[place as usize];
    Verdict::valid_if(is_short_day(pair(&born, 4), pair(&born, 2), pair(&born, 0)) && bytes[10].eq_ignore_ascii_case(&check) && number(&sequence) >= 2)
}

/// Romania: sex and century, day of birth, county, sequence, check digit.
pub(crate) fn ro_cnp(value: &str) -> Verdict {
    valid_digits::<13>(value, |cnp| {
        let check = weigh(cnp, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
        let county = pair(cnp, 7);
        let fits = (1..=9).contains(&cnp[0]) && is_short_day(pair(cnp, 1), pair(cnp, 3), pair(cnp, 5)) && matches!(county, 1..=48 | 51 | 52 | 70 | 80..=83);
        fits && u32::from(cnp[12]) == if check == 10 { 1 } else { check }
    })
}

/// Czechia and Slovakia: day of birth (50 more in the month for women, 20 more since 2004), sequence, divisible by 11; until 1953 nine
/// digits without a check digit.
pub(crate) fn cz_rc(value: &str) -> Verdict {
    if let Some(rc) = digits::<9>(value) {
        let (year, month) = (pair(&rc, 0), pair(&rc, 2));
        return Verdict::possible_if((year <= 53 || year >= 80) && is_short_day(year, if month > 50 { month - 50 } else { month }, pair(&rc, 4)));
    }
    valid_digits::<10>(value, |rc| {
        let month = pair(rc, 2);
        let month =
            [month, month.wrapping_sub(50), month.wrapping_sub(20), month.wrapping_sub(70)].into_iter().find(|month| (1..=12).contains(month)).unwrap_or(0);
        let (body, check) = (number(&rc[..9]) % 11, u64::from(rc[9]));
        is_short_day(pair(rc, 0), month, pair(rc, 4)) && body % 10 == check
    })
}

/// Croatia: eleven digits, perhaps with the country before, ISO 7064.
pub(crate) fn hr_oib(value: &str) -> Verdict {
    let Some(compact) = Compact::of(value) else { return Verdict::Invalid };
    let bare = compact.bytes().strip_prefix(b"HR".as_slice()).unwrap_or(compact.bytes());
    Verdict::valid_if(digits_of::<11>(bare).is_some_and(|oib| mod_11_10(&oib) && oib.iter().any(|&digit| digit != 0)))
}

/// Estonia and Lithuania: sex and century, day of birth, sequence, check digit.
pub(crate) fn ee_personal_code(value: &str) -> Verdict {
    let Some(code) = digits::<11>(value) else { return Verdict::Invalid };
    let mut check = weigh(&code, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
    if check == 10 {
        check = weigh(&code, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 % 10;
    }
    let born = is_short_day(pair(&code, 1), pair(&code, 3), pair(&code, 5));
    match u32::from(code[10]) == check && code.iter().any(|&digit| digit != code[0]) {
        true if (1..=8).contains(&code[0]) && born => Verdict::Valid,
        // Lithuania gives 9 to persons whose day of birth is not known.
        checked => Verdict::possible_if(checked && code[0] == 9),
    }
}
