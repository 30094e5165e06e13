//! What must hold of every value, and of every public type.
use crate::keyring::Purpose;
use crate::kms::{DataKey, EncryptionContext};
use crate::transform::{
    Canonicalize, CharacterMask, CheckDigit, Context, CryptoDeterministic, CryptoHash, CryptoHashOptions, DateShift, DateShiftOptions, Encoding, Ff1Digits,
    Ff1Options, TextTransform, Truncate,
};
use crate::{RootKey, Secret, seal};
use perimeter_detect::{cnpj, cpf, luhn};
use proptest::prelude::*;

fn root(seed: u8, version: u32) -> RootKey {
    RootKey::new(Secret::from_slice(&[seed; 32]).unwrap(), "person", version)
}

fn apply(transform: &mut TextTransform, value: &str) -> Option<String> {
    let mut out = b"before".to_vec();
    match transform.apply(value, &mut out) {
        Ok(()) => Some(String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned()),
        Err(_) => {
            assert_eq!(out, b"before", "a refusal appends nothing");
            None
        }
    }
}

fn hash(root: &RootKey, domain: &str, canonicalize: &[Canonicalize]) -> TextTransform {
    TextTransform::CryptoHash(CryptoHash::new(root, domain, &CryptoHashOptions { canonicalize: canonicalize.into(), ..Default::default() }))
}

fn deterministic(root: &RootKey, domain: &str) -> TextTransform {
    TextTransform::CryptoDeterministic(CryptoDeterministic::new(root, domain, &[Canonicalize::Trim, Canonicalize::Nfc]))
}

fn digits(root: &RootKey, domain: &str, options: &Ff1Options) -> TextTransform {
    TextTransform::Ff1Digits(Ff1Digits::new(root, domain, options))
}

/// The domain and the transform that an application of a value is in, keyed in three ways.
fn all(root: &RootKey, domain: &str) -> Vec<TextTransform> {
    vec![
        hash(root, domain, &[]),
        hash(root, domain, &[Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Lower]),
        hash(root, domain, &[Canonicalize::StripPunctuation, Canonicalize::Upper]),
        deterministic(root, domain),
        digits(root, domain, &Ff1Options::default()),
    ]
}

/// Eleven to nineteen digits and their Luhn digit, in groups of four.
fn card() -> impl Strategy<Value = String> {
    ("[0-9]{12,18}", prop::sample::select(vec!["", " ", "-"])).prop_map(|(body, separator)| {
        let whole = format!("{body}{}", char::from(luhn::digit(body.as_bytes()).unwrap()));
        whole.as_bytes().chunks(4).map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(separator)
    })
}

fn taxpayer(body: String, check: Option<[u8; 2]>, mask: &str) -> String {
    let mut digits = body.bytes().chain(check.unwrap());
    mask.chars().map(|shape| if shape == '#' { char::from(digits.next().unwrap()) } else { shape }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_in_equal_out_and_buffers_carry_nothing_over(first in ".{0,40}", second in ".{0,40}") {
        for (mut used, mut fresh) in all(&root(1, 1), "person").into_iter().zip(all(&root(1, 1), "person")) {
            let _ = apply(&mut used, &first);
            let token = apply(&mut used, &second);
            prop_assert_eq!(&token, &apply(&mut used, &second));
            prop_assert_eq!(&token, &apply(&mut used.clone(), &second));
            prop_assert_eq!(&token, &apply(&mut fresh, &second));
        }
    }

    #[test]
    fn domain_version_root_and_steps_separate(value in "[0-9]{12,40}") {
        let one: Vec<_> = all(&root(1, 1), "person").iter_mut().map(|transform| apply(transform, &value)).collect();
        for (other_root, domain) in [(root(1, 2), "person"), (root(2, 1), "person"), (root(1, 1), "card"), (root(1, 1), "person ")] {
            for (index, transform) in all(&other_root, domain).iter_mut().enumerate() {
                prop_assert_ne!(&one[index], &apply(transform, &value));
            }
        }
        // No two transforms of one domain give the same token, nor the value itself.
        let distinct: std::collections::HashSet<_> = one.iter().flatten().chain([&value]).collect();
        prop_assert_eq!(distinct.len(), one.len() + 1);
    }

    #[test]
    fn different_values_have_different_tokens(first in "[0-9a-z]{1,20}", second in "[0-9a-z]{1,20}") {
        prop_assume!(first != second);
        for transform in &mut [hash(&root(1, 1), "person", &[]), deterministic(&root(1, 1), "person")] {
            prop_assert_ne!(apply(transform, &first), apply(transform, &second));
        }
    }

    #[test]
    fn siv_reveals_the_canonical_value(value in "\\PC{0,60}") {
        use unicode_normalization::UnicodeNormalization;
        let canonical: String = value.trim().nfc().collect();
        let mut transform = deterministic(&root(1, 7), "person");
        let Some(token) = apply(&mut transform, &value) else {
            prop_assert!(canonical.is_empty());
            return Ok(());
        };
        let TextTransform::CryptoDeterministic(transform) = &mut transform else { unreachable!() };
        let mut out = Vec::new();
        transform.open(&token, &mut out).unwrap();
        prop_assert_eq!(String::from_utf8(out).unwrap(), canonical);
        prop_assert_eq!(crate::transform::token_version(&token), Some(7));
    }

    #[test]
    fn no_token_opens_by_accident(token in "(v1\\.)?[A-Za-z0-9_-]{0,80}") {
        let mut out = Vec::new();
        prop_assert!(CryptoDeterministic::new(&root(1, 1), "person", &[]).open(&token, &mut out).is_err());
        prop_assert!(out.is_empty());
    }

    #[test]
    fn cards_keep_form_and_check_digit(card in card(), keep_last in 0..2u8, with_check in any::<bool>()) {
        let options = Ff1Options { keep_first: 4, keep_last, check_digit: with_check.then_some(CheckDigit::Luhn), ..Default::default() };
        let mut transform = digits(&root(1, 1), "card", &options);
        let Some(token) = apply(&mut transform, &card) else {
            let count = card.bytes().filter(u8::is_ascii_digit).count();
            prop_assert!(count < options.min_digits());
            return Ok(());
        };
        prop_assert_eq!(token.len(), card.len());
        for (index, (before, after)) in card.bytes().zip(token.bytes()).enumerate() {
            prop_assert!(if before.is_ascii_digit() { after.is_ascii_digit() } else { before == after }, "at {}", index);
        }
        let bare = |text: &str| text.replace([' ', '-'], "");
        prop_assert_eq!(&bare(&token)[..4], &bare(&card)[..4]);
        prop_assert!(!with_check || luhn::valid(token.as_bytes()));
        let TextTransform::Ff1Digits(transform) = &mut transform else { unreachable!() };
        let mut out = Vec::new();
        transform.open(&token, &mut out).unwrap();
        prop_assert_eq!(String::from_utf8(out).unwrap(), card);
    }

    #[test]
    fn taxpayer_numbers_stay_valid(person in "[0-9]{9}", company in "[0-9]{12}", masked in any::<bool>()) {
        let cases = [
            (CheckDigit::Cpf, taxpayer(person.clone(), cpf::digits(person.as_bytes()), if masked { "###.###.###-##" } else { "###########" })),
            (CheckDigit::Cnpj, taxpayer(company.clone(), cnpj::digits(company.as_bytes()), if masked { "##.###.###/####-##" } else { "##############" })),
        ];
        for (check_digit, value) in cases {
            let valid = |text: &str| if check_digit == CheckDigit::Cpf { cpf::valid(text.as_bytes()) } else { cnpj::valid(text.as_bytes()) };
            prop_assume!(valid(&value));
            let mut transform = digits(&root(1, 1), "person", &Ff1Options { check_digit: Some(check_digit), ..Default::default() });
            let token = apply(&mut transform, &value).unwrap();
            prop_assert!(valid(&token), "{} is no valid number", token);
            let TextTransform::Ff1Digits(transform) = &mut transform else { unreachable!() };
            let mut out = Vec::new();
            transform.open(&token, &mut out).unwrap();
            prop_assert_eq!(String::from_utf8(out).unwrap(), value);
        }
    }

    #[test]
    fn fpe_never_lets_anything_but_separators_through(value in "\\PC{0,30}") {
        let mut transform = digits(&root(1, 1), "card", &Ff1Options::default());
        if let Some(token) = apply(&mut transform, &value) {
            prop_assert!(value.chars().all(|c| c.is_ascii_digit() || c.is_ascii_punctuation() || c == ' '));
            prop_assert_eq!(token.len(), value.len());
        }
    }

    #[test]
    fn ff1_agrees_with_another_implementation(numerals in prop::collection::vec(0u16..10, 6..=256), tweak in prop::collection::vec(any::<u8>(), 0..70), key in any::<[u8; 32]>()) {
        use aes::cipher::KeyInit;
        use fpe::ff1::{FF1, FlexibleNumeralString};
        let theirs: Vec<u16> = FF1::<aes::Aes256>::new(&key, 10).unwrap().encrypt(&tweak, &FlexibleNumeralString::from(numerals.clone())).unwrap().into();
        let mut ours = numerals.clone();
        let mut cipher = crate::transform::ff1::Ff1::new(aes::Aes256::new(&key.into()), 10, b"");
        cipher.encrypt(&tweak, &mut ours).unwrap();
        prop_assert_eq!(&ours, &theirs);
        cipher.decrypt(&tweak, &mut ours).unwrap();
        prop_assert_eq!(&ours, &numerals);
    }

    #[test]
    fn shifts_stay_in_range(context in prop::collection::vec(any::<u8>(), 0..40), max_days in any::<u16>()) {
        let shift = DateShift::new(&root(1, 1), "person", DateShiftOptions { max_days });
        prop_assert!(shift.days(&context).unsigned_abs() <= u32::from(max_days));
        prop_assert_eq!(shift.days(&context), shift.clone().days(&context));
    }

    #[test]
    fn masks_and_prefixes_count_characters(value in "\\PC{0,20}", first in 0..6u32, last in 0..6u32) {
        let masked = apply(&mut TextTransform::CharacterMask(CharacterMask::new('#', first, last, None)), &value).unwrap();
        prop_assert_eq!(masked.chars().count(), value.chars().count());
        let truncated = apply(&mut TextTransform::Truncate(Truncate::new(first)), &value).unwrap();
        prop_assert_eq!(truncated, value.chars().take(first as usize).collect::<String>());
    }

    #[test]
    fn sealed_files_open_to_what_was_written(plain in prop::collection::vec(any::<u8>(), 0..200), flip in any::<prop::sample::Index>()) {
        use std::io::{Read, Write};
        let mut sealer = seal::Sealer::new(&root(1, 1), b"aad", Vec::new()).unwrap();
        sealer.write_all(&plain).unwrap();
        let mut sealed = sealer.finish().unwrap();
        let mut opened = Vec::new();
        seal::open(&root(1, 1), b"aad", &sealed[..]).unwrap().read_to_end(&mut opened).unwrap();
        prop_assert_eq!(&opened, &plain);
        let index = flip.index(sealed.len());
        sealed[index] ^= 0x40;
        opened.clear();
        let result = seal::open(&root(1, 1), b"aad", &sealed[..]).and_then(|mut reader| reader.read_to_end(&mut opened));
        prop_assert!(result.is_err());
    }
}

/// A permutation of n values has one fixed point on average, and more than eight with a probability near 10^-6.
#[test]
fn no_fixed_points_beyond_chance() {
    let mut transform = digits(&root(1, 1), "card", &Ff1Options::default());
    let mut seen = vec![false; 1_000_000];
    let mut fixed = 0;
    let mut out = Vec::new();
    for value in 0..1_000_000u32 {
        let text = format!("{value:06}");
        out.clear();
        transform.apply(&text, &mut out).unwrap();
        let token: usize = std::str::from_utf8(&out).unwrap().parse().unwrap();
        assert!(!std::mem::replace(&mut seen[token], true), "two values share a token");
        fixed += u32::from(out == text.as_bytes());
    }
    assert!(fixed <= 8, "{fixed} fixed points");
}

#[test]
fn debug_shows_neither_keys_nor_values() {
    let root = root(0xA5, 1);
    let value = "39053344705";
    let mut transforms = all(&root, "person");
    transforms.push(digits(&root, "person", &Ff1Options { keep_first: 2, keep_last: 1, check_digit: Some(CheckDigit::Cpf), ..Default::default() }));
    transforms.push(TextTransform::CharacterMask(CharacterMask::new('*', 1, 1, None)));
    transforms.push(TextTransform::Truncate(Truncate::new(3)));
    transforms.push(TextTransform::CryptoHash(CryptoHash::new(&root, "person", &CryptoHashOptions { encoding: Encoding::Base64url, ..Default::default() })));
    let mut shown: Vec<String> = transforms
        .iter_mut()
        .map(|transform| {
            let _ = apply(transform, value);
            format!("{transform:?} {transform:#?}")
        })
        .collect();
    let context = EncryptionContext { keyring: "person".into(), version: 1, purpose: Purpose::Run };
    shown.push(format!("{root:?} {:?} {:?}", DateShift::new(&root, "person", DateShiftOptions { max_days: 30 }), Context::new(&root, "person")));
    shown.push(format!("{:?} {context:?}", DataKey { root: Secret::from_slice(&[0xA5; 32]).unwrap(), wrapped: vec![0xA5; 77] }));
    let sealer = seal::Sealer::new(&root, b"", Vec::new()).unwrap();
    shown.push(format!("{sealer:?}"));
    let sealed = sealer.finish().unwrap();
    shown.push(format!("{:?}", seal::open(&root, b"", &sealed[..]).unwrap()));
    for text in shown {
        // No list of bytes, no long hexadecimal, no part of the value.
        let lower = text.to_ascii_lowercase();
        assert!(!lower.contains("165") && !lower.contains("a5a5") && !lower.contains("390533"), "{text}");
        let longest = lower.split(|c: char| !c.is_ascii_hexdigit()).map(str::len).max().unwrap();
        assert!(longest < 12, "{text}");
        assert!(lower.matches(char::is_numeric).count() < 24, "{text}");
    }
}
