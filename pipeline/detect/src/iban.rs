//! IBAN, the international bank account number (ISO 13616): country, two check digits modulo 97, and the country's own number.
//!
//! [`valid`] looks at no lengths: they are the contract's. [`crate::InfoType::Iban`] checks each country's length and structure by the
//! registry. Check digits that a country has inside its own number are not looked at by either.

mod registry;

pub(crate) use registry::{lengths, validate, validate_bare};

/// Whether `value` is an IBAN in the electronic form or in printed groups of four (`DE89 3704 0044 0532 0130 00`), capital letters only.
pub fn valid(value: &[u8]) -> bool {
    let grouped = value.contains(&b' ');
    let mut bare = [0; 34];
    let mut length = 0;
    for (index, &byte) in value.iter().enumerate() {
        if grouped && index % 5 == 4 {
            if byte != b' ' {
                return false;
            }
            continue;
        }
        let Some(place) = bare.get_mut(length) else { return false };
        *place = byte;
        length += 1;
    }
    if value.last() == Some(&b' ') {
        return false;
    }
    match bare[..length].split_first_chunk::<4>() {
        Some((&[c0, c1, d0, d1], own)) => digits([c0, c1], own) == Some([d0, d1]),
        None => false,
    }
}

/// The two check digits of an IBAN from its country code and the country's own number (capital letters and digits, 11 to 30), as
/// ASCII; `None` for anything else.
pub fn digits(country: [u8; 2], own: &[u8]) -> Option<[u8; 2]> {
    if !(11..=30).contains(&own.len()) || !country.iter().all(u8::is_ascii_uppercase) {
        return None;
    }
    let check = 98 - crate::compact::modulo_97(own.iter().chain(&country).chain(b"00").copied())?;
    Some([b'0' + (check / 10) as u8, b'0' + (check % 10) as u8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        for iban in [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "GB29NWBK60161331926819",
            "FR1420041010050500013M02606",
            "NO9386011117947",
            "BR1800360305000010009795493C1",
            "MT84MALT011000012345MTLCAST001S",
        ] {
            assert!(valid(iban.as_bytes()), "{iban}");
        }
        for other in [
            "",
            "DE88370400440532013000",
            "DE89 37040044 0532 0130 00",
            "DE89 3704 0044 0532 0130 00 ",
            "de89370400440532013000",
            "DE8937040044053201300\u{ff10}",
            "DE89-3704-0044-0532-0130-00",
            "NO93860111179470000000000000000000000",
            "NO93",
        ] {
            assert!(!valid(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_digits_are_those_that_validate() {
        for account in (0..10_000_000_000_u64).step_by(99_999_989) {
            let own = format!("37040044{account:010}");
            let right = digits(*b"DE", own.as_bytes()).unwrap();
            assert!((2..=98).contains(&std::str::from_utf8(&right).unwrap().parse::<u8>().unwrap()));
            for other in [right, [right[0], right[1] ^ 1], [right[0] ^ 1, right[1]]] {
                let whole = format!("DE{}{own}", std::str::from_utf8(&other).unwrap());
                assert_eq!(valid(whole.as_bytes()), other == right, "{whole}");
            }
        }
        assert_eq!(digits(*b"de", b"370400440532013000"), None);
        assert_eq!(digits(*b"DE", b"37040044053201300a"), None);
        assert_eq!(digits(*b"DE", b"3704004405"), None);
    }
}
