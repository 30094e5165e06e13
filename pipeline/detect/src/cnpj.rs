//! CNPJ, the Brazilian taxpayer number of a company: twelve characters and two check digits modulo 11.
//!
//! Since July 2026 the twelve may be digits or capital letters (IN RFB 2229/2024); the check digits stay numeric. A character
//! counts as its ASCII code less 48 (`A` is 17), not as its place in the alphabet plus nine as some tables say.

/// Whether `value` is a CNPJ, numeric or alphanumeric, bare or in the usual mask (`12.ABC.345/01DE-35`).
///
/// Fourteen equal digits (in practice fourteen zeros) are never issued: they are not valid.
pub fn valid(value: &[u8]) -> bool {
    let Some(bare) = crate::unmask::<14>(value, b"##.###.###/####-##") else { return false };
    let (body, check) = bare.split_at(12);
    digits(body).is_some_and(|right| right == *check) && bare.iter().any(|&digit| digit != bare[0])
}

/// The two check digits of a twelve-character body of ASCII digits and capital letters, as ASCII; `None` for anything else.
pub fn digits(body: &[u8]) -> Option<[u8; 2]> {
    if body.len() != 12 || !body.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        return None;
    }
    let mut whole = [0; 13];
    whole[..12].copy_from_slice(body);
    whole[12] = crate::modulo_11(body, 5, 9);
    Some([whole[12], crate::modulo_11(&whole, 6, 9)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for cnpj in ["16.727.230/0001-97", "16727230000197", "12ABC34501DE35", "12.ABC.345/01DE-35", "33657248000189", "61.882.613/0001-94"] {
            assert!(valid(cnpj.as_bytes()), "{cnpj}");
        }
        for other in [
            "",
            "16.727.230/0001=97",
            "16727230000198",
            "00000000000000",
            "12abc34501de35",
            "12.ABC.345/01DE35",
            "12ABC34501DEA5",
            "1672723000019",
            "12ABC34501D\u{c9}35",
        ] {
            assert!(!valid(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_digits_of_the_published_example() {
        assert_eq!(digits(b"12ABC34501DE"), Some(*b"35"));
        assert_eq!(digits(b"000000000001"), Some(*b"91"), "Banco do Brasil, 00.000.000/0001-91");
        assert_eq!(digits(b"12ABC34501D"), None);
        assert_eq!(digits(b"12abc34501de"), None);
    }
}
