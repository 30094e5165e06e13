use super::*;
use crate::transform::TextTransform;
use perimeter_detect::{cnpj, iban, luhn};

fn root() -> RootKey {
    RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "card", 1)
}

fn transform(options: &FpeOptions) -> CryptoReplaceFfxFpe {
    CryptoReplaceFfxFpe::new(&root(), "card", options).unwrap()
}

fn token(options: &FpeOptions, value: &str) -> Result<String, ValueRefused> {
    let mut out = Vec::new();
    transform(options).apply(value, &mut out)?;
    let token = String::from_utf8(out).unwrap();
    let mut back = Vec::new();
    transform(options).open(&token, &mut back).unwrap();
    let canonical = Canonicalizer::new(&options.canonicalize).run(value).unwrap().to_owned();
    assert_eq!(String::from_utf8(back).unwrap(), canonical);
    Ok(token)
}

fn alphabet(name: &str) -> FpeOptions {
    FpeOptions { alphabet: Alphabet::named(name), ..Default::default() }
}

#[test]
fn every_alphabet_keeps_its_characters() {
    for name in Alphabet::names() {
        let options = alphabet(name);
        let characters = String::from_utf8(options.alphabet.clone().unwrap().characters().to_vec()).unwrap();
        for length in 6..=60 {
            let plain: String = characters.chars().cycle().skip(length * 7 % 10).take(length).collect();
            let token = token(&options, &plain).unwrap();
            assert!(token != plain && token.len() == length && token.chars().all(|c| characters.contains(c)), "{name} {length}");
        }
    }
}

#[test]
fn separators_keep_their_place_in_any_alphabet() {
    let options = alphabet("lowerAlphanumeric");
    let masked = token(&options, "{ab12-cd34}/ef_56 z").unwrap();
    let bare = token(&options, "ab12cd34ef56z").unwrap();
    assert_eq!(masked.replace(['{', '}', '-', '/', '_', ' '], ""), bare);
    assert_eq!(masked.len(), 19);
    let hyphen = FpeOptions { alphabet: Some(Alphabet::custom("-0123456789abcdef").unwrap()), ..Default::default() };
    assert!(token(&hyphen, "12-34-56-78").unwrap().bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()));
    for refused in ["AB12CD", "ab12c\u{e9}d", "ab12\ncd3"] {
        assert_eq!(token(&options, refused), Err(ValueRefused::UnexpectedCharacter), "{refused}");
    }
    assert_eq!(token(&options, "ab12\u{661}cd"), Err(ValueRefused::NonAsciiDigit));
}

#[test]
fn alphabets_are_part_of_the_identity() {
    let of = |name| token(&alphabet(name), "0123456789").unwrap();
    assert_ne!(of("hexLower"), of("hexUpper"));
    assert_eq!(of("digits"), token(&FpeOptions::default(), "0123456789").unwrap());
    assert_eq!(of("digits"), "6687017296", "as before there were other alphabets");
    let backwards = FpeOptions { alphabet: Some(Alphabet::custom("9876543210").unwrap()), ..Default::default() };
    assert_ne!(of("digits"), token(&backwards, "0123456789").unwrap());
}

#[test]
fn every_length_from_the_shortest_to_256_goes_there_and_back() {
    for name in ["digits", "hexLower", "upperAlphanumeric", "alphanumeric"] {
        let options = alphabet(name);
        let characters = options.alphabet.clone().unwrap();
        let shortest = min_numerals(characters.radix());
        let text = |length: usize| -> String {
            (0..length).map(|index| char::from(characters.character(((index * 31 + length) % characters.radix() as usize) as u16))).collect()
        };
        assert_eq!(token(&options, &text(shortest - 1)), Err(ValueRefused::DomainTooSmall), "{name}");
        for length in shortest..=256 {
            assert_eq!(token(&options, &text(length)).unwrap().len(), length, "{name}");
        }
        assert_eq!(token(&options, &text(257)), Err(ValueRefused::TooLong), "{name}");
    }
}

/// A mebibyte is refused by counting it, not by arithmetic on it.
#[test]
fn long_values_are_refused_at_once() {
    let long = "7".repeat(1 << 20);
    assert_eq!(token(&FpeOptions::default(), &long), Err(ValueRefused::TooLong));
    let separated = "-".repeat(1 << 20) + "123456";
    assert!(token(&FpeOptions::default(), &separated).unwrap().starts_with("---"));
}

#[test]
fn small_domains_are_refused_with_the_arithmetic() {
    let amex = FpeOptions { keep_first: 6, keep_last: 4, lengths: Some(15..=16), ..Default::default() };
    let refused = CryptoReplaceFfxFpe::new(&root(), "card", &amex).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "too few values share the format: 15 characters - 6 kept in front - 4 kept at the end - 0 country or check characters = 5; \
         10^5 = 100000 values, fewer than 1000000; keep fewer characters, or use cryptoHash"
    );
    let visa = FpeOptions { lengths: Some(16..=19), ..amex.clone() };
    assert_eq!(visa.smallest_domain().and_then(|domain| domain.size()), Some(1_000_000));
    assert!(CryptoReplaceFfxFpe::new(&root(), "card", &visa).is_ok());
    let unknown = FpeOptions { lengths: None, ..amex };
    assert_eq!(token(&unknown, "378282246310005"), Err(ValueRefused::DomainTooSmall), "without lengths, when the value comes");
    for (name, lengths, fits) in [("digits", 3, false), ("digits", 5, false), ("digits", 6, true), ("alphanumeric", 3, false), ("alphanumeric", 4, true)] {
        let options = FpeOptions { lengths: Some(lengths..=lengths), ..alphabet(name) };
        assert_eq!(CryptoReplaceFfxFpe::new(&root(), "card", &options).is_ok(), fits, "{name} {lengths}");
    }
    let cpf = FpeOptions { keep_first: 4, check_digit: Some(CheckDigit::Cpf), ..Default::default() };
    let Err(FpeRefused::DomainTooSmall { domain }) = CryptoReplaceFfxFpe::new(&root(), "person", &cpf) else { panic!("11 - 4 - 2 = 5") };
    assert_eq!((domain.encrypted(), domain.size()), (5, Some(100_000)));
    let both = FpeOptions { check_digit: Some(CheckDigit::Luhn), ..alphabet("digits") };
    assert_eq!(CryptoReplaceFfxFpe::new(&root(), "card", &both).unwrap_err(), FpeRefused::AlphabetWithCheckDigit);
    let long = FpeOptions { lengths: Some(200..=200), ..Default::default() };
    assert!(long.smallest_domain().unwrap().to_string().ends_with("10^200 values, more than 2^128"));
}

fn cnpj_number(body: &str) -> String {
    format!("{body}{}", std::str::from_utf8(&cnpj::digits(body.as_bytes()).unwrap()).unwrap())
}

#[test]
fn alphanumeric_cnpj_stay_in_their_class() {
    let options = FpeOptions { check_digit: Some(CheckDigit::CnpjAlphanumeric), canonicalize: vec![Canonicalize::Upper], ..Default::default() };
    let known = token(&options, "12.ABC.345/01DE-35").unwrap();
    assert_eq!(known.replace(['.', '/', '-'], ""), token(&options, "12abc34501de35").unwrap(), "mask and case do not matter");
    for number in 0..2000u32 {
        let lettered = cnpj_number(&format!("{number:08}{}001", char::from(b'A' + (number % 26) as u8)));
        let result = token(&options, &lettered).unwrap();
        assert!(cnpj::valid(result.as_bytes()) && result.bytes().any(|byte| byte.is_ascii_uppercase()), "{result}");
        let numeric = cnpj_number(&format!("{number:08}0001"));
        let result = token(&options, &numeric).unwrap();
        assert!(cnpj::valid(result.as_bytes()) && result.bytes().all(|byte| byte.is_ascii_digit()), "{result}");
        let only_numeric = FpeOptions { check_digit: Some(CheckDigit::Cnpj), ..options.clone() };
        assert_eq!(result, token(&only_numeric, &numeric).unwrap());
    }
    assert_eq!(token(&options, "12ABC34501DE36"), Err(ValueRefused::CheckDigit));
    assert_eq!(token(&options, "12ABC34501DE3"), Err(ValueRefused::WrongLength));
    // Six kept, none of them a letter: the six that are encrypted must have one.
    let branch = FpeOptions { keep_first: 6, ..options };
    for number in 0..300 {
        let result = token(&branch, &cnpj_number(&format!("123456{number:05}A"))).unwrap();
        assert!(result.starts_with("123456") && result[..12].bytes().any(|byte| byte.is_ascii_uppercase()));
    }
}

#[test]
fn ibans_keep_country_and_places() {
    let options = FpeOptions { check_digit: Some(CheckDigit::Iban), ..Default::default() };
    for value in ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR1420041010050500013M02606", "NO9386011117947", "BR1800360305000010009795493C1"] {
        let result = token(&options, value).unwrap();
        assert!(iban::valid(result.as_bytes()) && result != value && result[..2] == value[..2], "{result}");
        for (before, after) in value.bytes().zip(result.bytes()) {
            assert_eq!((before.is_ascii_digit(), before.is_ascii_uppercase()), (after.is_ascii_digit(), after.is_ascii_uppercase()), "{result}");
        }
    }
    let bank = FpeOptions { keep_first: 8, ..options.clone() };
    assert!(token(&bank, "DE89370400440532013000").unwrap()[4..].starts_with("37040044"));
    assert_ne!(token(&bank, "DE89370400440532013000"), token(&options, "DE89370400440532013000"));
    assert_eq!(token(&options, "DE88370400440532013000"), Err(ValueRefused::CheckDigit));
    assert_eq!(token(&options, "DE8937040044"), Err(ValueRefused::WrongLength));
    assert_eq!(token(&options, "de89370400440532013000"), Err(ValueRefused::UnexpectedCharacter));
    let all_letters = format!("MT{}{}", std::str::from_utf8(&iban::digits(*b"MT", &[b'Q'; 28]).unwrap()).unwrap(), "Q".repeat(28));
    assert_eq!(token(&options, &all_letters), Err(ValueRefused::TooLong), "26^28 is beyond 128 bits");
}

/// Small classes: every value of a class gets its own token of the class.
#[test]
fn ranking_is_a_bijection() {
    assert_eq!(rank(b"0A0"), Err(ValueRefused::DomainTooSmall));
    let count = 26 * 26 * 26 * 1000;
    let mut seen = vec![false; count as usize];
    for index in (0..count).step_by(977) {
        let mut body = *b"A00A0A";
        unrank(index, &mut body);
        assert_eq!(rank(&body), Ok((count, index)));
        assert!(!std::mem::replace(&mut seen[index as usize], true));
        let digits: Vec<u16> = decimal(count - 1, index).collect();
        assert_eq!((digits.len(), digits.iter().fold(0, |number: u128, &digit| number * 10 + u128::from(digit))), (8, index));
    }
}

#[test]
fn a_batch_gives_what_single_values_give() {
    let card = |number: u64| {
        let body = format!("4111{number:011}");
        format!("{body}{}", char::from(luhn::digit(body.as_bytes()).unwrap()))
    };
    let mut values: Vec<String> = (0..100u64).map(|index| card(index.wrapping_mul(99_999_999_977) % 100_000_000_000)).collect();
    // Other lengths, separators and refusals between them, so that lanes fill and break in all ways.
    values.insert(3, String::new());
    values.insert(20, "4111 1111-1111 1111".into());
    values.insert(21, "378282246310005".into());
    values.insert(22, "4111111111111112".into());
    values.insert(41, "n/a".into());
    values.push("6011000990139424".into());
    let options = FpeOptions { keep_first: 6, keep_last: 1, check_digit: Some(CheckDigit::Luhn), ..Default::default() };
    for options in [options, FpeOptions::default(), FpeOptions { check_digit: Some(CheckDigit::Luhn), ..Default::default() }, alphabet("alphanumeric")] {
        for count in (0..40).chain([values.len()]) {
            let values: Vec<&str> = values[..count].iter().map(String::as_str).collect();
            let mut batch = TextTransform::CryptoReplaceFfxFpe(Box::new(transform(&options)));
            let mut tokens = Tokens::default();
            for _ in 0..2 {
                batch.apply_many(&values, &mut tokens);
                assert_eq!((tokens.len(), tokens.is_empty()), (count, count == 0));
                for (index, value) in values.iter().enumerate() {
                    let mut out = Vec::new();
                    match transform(&options).apply(value, &mut out) {
                        Ok(()) => assert_eq!(tokens.get(index), Some(&out[..])),
                        Err(why) => assert!(tokens.get(index) == Some(b"") && tokens.refused().contains(&(index, why))),
                    }
                }
                assert!(tokens.refused().iter().all(|(index, _)| tokens.get(*index) == Some(b"")) && tokens.get(count).is_none());
            }
        }
    }
}

/// A cipher of another radix fails on every value, after all checks: that is a refusal with nothing in the output, not a blank.
#[test]
fn a_cipher_that_fails_refuses() {
    let root = RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", 1);
    let mut transform = CryptoReplaceFfxFpe::new(&root, "person", &FpeOptions::default()).unwrap();
    transform.engine.plain = Ff1::new(Aes256::new((&[1; 32]).into()), 2, &[0; 16]);
    let mut out = b"kept".to_vec();
    assert_eq!(transform.apply("1234567890", &mut out), Err(ValueRefused::NotEncrypted));
    assert_eq!(out, b"kept");
    let mut tokens = Tokens::default();
    let mut values = vec!["n/a", "1234567890", "", "0101010101"];
    values.extend(vec!["9234567890"; 40]);
    transform.apply_many(&values, &mut tokens);
    assert_eq!(tokens.len(), values.len());
    let (refused, kept): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|index| tokens.refused().iter().any(|(refused, _)| refused == index));
    assert!(kept.iter().all(|&index| index == 3) && refused.len() + kept.len() == values.len());
    assert!(refused.iter().all(|&index| tokens.get(index) == Some(b"")));
    assert!(tokens.refused().is_sorted_by_key(|(index, _)| *index));
}
