//! CPF, the Brazilian taxpayer number of a person: nine digits and two check digits modulo 11 (Receita Federal, IN RFB 2172/2024).

/// Whether `value` is a CPF, bare (`39053344705`) or in the usual mask (`390.533.447-05`).
///
/// Eleven equal digits satisfy the arithmetic but are never issued: they are not valid.
pub fn valid(value: &[u8]) -> bool {
    let Some(bare) = crate::unmask::<11>(value, b"###.###.###-##") else { return false };
    let (body, check) = bare.split_at(9);
    digits(body).is_some_and(|right| right == *check) && bare.iter().any(|&digit| digit != bare[0])
}

/// The two check digits of a nine-digit body, as ASCII; `None` for anything but nine ASCII digits.
pub fn digits(body: &[u8]) -> Option<[u8; 2]> {
    if body.len() != 9 || !body.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut whole = [0; 10];
    whole[..9].copy_from_slice(body);
    whole[9] = crate::modulo_11(body, 10, 2);
    Some([whole[9], crate::modulo_11(&whole, 11, 2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for cpf in ["39053344705", "390.533.447-05", "11111111200", "52599927765", "52513127765"] {
            assert!(valid(cpf.as_bytes()), "{cpf}");
        }
        for other in [
            "",
            "39053344704",
            "390533447-05",
            "390.533.44705",
            "390-533-447-05",
            "3905334470",
            "390533447055",
            "11111111111",
            "00000000000",
            "111.111.111-11",
            "39053344７05",
            "3905334470a",
        ] {
            assert!(!valid(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_digits_are_those_that_validate() {
        for body in (0..1_000_000_000u32).step_by(99_991) {
            let body = format!("{body:09}");
            let check = digits(body.as_bytes()).unwrap();
            let whole = [body.as_bytes(), &check].concat();
            assert_eq!(valid(&whole), whole.iter().any(|&digit| digit != whole[0]), "{body}");
        }
        assert_eq!(digits(b"12345678"), None);
        assert_eq!(digits(b"12345678X"), None);
    }
}
