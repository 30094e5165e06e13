//! What must hold of every value, and of every public type.
use crate::keyring::Purpose;
use crate::kms::{DataKey, EncryptionContext};
use crate::transform::encrypt::Decrypt;
use crate::transform::hash::KeyedHash;
use crate::transform::siv::Siv;
use crate::transform::xaes::Xaes;
use crate::transform::{
    Alphabet, Bucket, Bucketing, Canonicalize, CharacterMask, CheckDigit, Context, CryptoDeterministic, CryptoHash, CryptoHashOptions, CryptoReplaceFfxFpe,
    DateShift, DateShiftOptions, Encoding, Encrypt, EncryptOptions, Exceptions, Ff1Digits, Ff1Options, FixedSizeBucketing, FpeOptions, Guarded, Replace,
    RowDigest, Rules, TextTransform, Tokens, Truncate,
};
use crate::{RootKey, Secret, seal};
use perimeter_detect::{cnpj, cpf, iban, luhn};
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

fn fpe(root: &RootKey, domain: &str, alphabet: &str) -> TextTransform {
    let options = FpeOptions { alphabet: Alphabet::named(alphabet), ..Default::default() };
    TextTransform::CryptoReplaceFfxFpe(Box::new(CryptoReplaceFfxFpe::new(root, domain, &options).unwrap()))
}

fn opened(transform: &mut TextTransform, token: &str) -> String {
    let mut out = Vec::new();
    match transform {
        TextTransform::CryptoDeterministic(transform) => transform.open(token, &mut out).unwrap(),
        TextTransform::CryptoReplaceFfxFpe(transform) => transform.open(token, &mut out).unwrap(),
        TextTransform::Ff1Digits(transform) => transform.open(token, &mut out).unwrap(),
        other => panic!("{other:?} has no way back"),
    }
    String::from_utf8(out).unwrap()
}

/// The domain and the transform that an application of a value is in, keyed in three ways.
fn all(root: &RootKey, domain: &str) -> Vec<TextTransform> {
    vec![
        hash(root, domain, &[]),
        hash(root, domain, &[Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Lower]),
        hash(root, domain, &[Canonicalize::StripPunctuation, Canonicalize::Upper]),
        deterministic(root, domain),
        digits(root, domain, &Ff1Options::default()),
        fpe(root, domain, "lowerAlphanumeric"),
        fpe(root, domain, "alphanumeric"),
    ]
}

/// Eleven to nineteen digits and their Luhn digit, in groups of four.
fn card() -> impl Strategy<Value = String> {
    ("[0-9]{12,18}", prop::sample::select(vec!["", " ", "-"])).prop_map(|(body, separator)| {
        let whole = format!("{body}{}", char::from(luhn::digit(body.as_bytes()).unwrap()));
        whole.as_bytes().chunks(4).map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(separator)
    })
}

/// `mask` may be empty for the bare alphanumeric CNPJ of a body.
fn taxpayer(body: String, check: Option<[u8; 2]>, mask: &str) -> String {
    if mask.is_empty() {
        let check = cnpj::digits(body.as_bytes()).unwrap();
        return body + std::str::from_utf8(&check).unwrap();
    }
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
    fn every_alphabet_reveals_the_canonical_value(value in "[0-9a-f .:-]{0,80}", which in 0..4usize) {
        let name = ["hexLower", "lowerAlphanumeric", "alphanumeric", "digits"][which];
        let mut transform = fpe(&root(1, 7), "person", name);
        if let Some(token) = apply(&mut transform, &value) {
            let alphabet = Alphabet::named(name).unwrap();
            prop_assert_eq!(token.len(), value.len());
            for (before, after) in value.bytes().zip(token.bytes()) {
                prop_assert_eq!(alphabet.contains(before), alphabet.contains(after));
                prop_assert!(alphabet.contains(before) || before == after);
            }
            prop_assert_eq!(opened(&mut transform, &token), value);
        }
    }

    #[test]
    fn a_batch_is_its_values(values in prop::collection::vec("[0-9]{0,12}|[a-z]{0,3}|[a-z]{50,130}", 0..50)) {
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        for mut transform in all(&root(1, 1), "person") {
            let mut tokens = Tokens::default();
            transform.apply_many(&texts, &mut tokens);
            for (index, value) in texts.iter().enumerate() {
                let alone = apply(&mut transform, value).unwrap_or_default();
                prop_assert_eq!(tokens.get(index), Some(alone.as_bytes()));
            }
        }
    }

    #[test]
    fn ibans_stay_valid(country in "DE|BR|NO|MT", own in "[0-9]{11,22}|[A-Z]{4}[0-9]{14}|[0-9]{10}[A-Z0-9]{10}") {
        let check = iban::digits(country.as_bytes().try_into().unwrap(), own.as_bytes()).unwrap();
        let value = format!("{country}{}{own}", std::str::from_utf8(&check).unwrap());
        let options = FpeOptions { check_digit: Some(CheckDigit::Iban), ..Default::default() };
        let mut transform = TextTransform::CryptoReplaceFfxFpe(Box::new(CryptoReplaceFfxFpe::new(&root(1, 1), "account", &options).unwrap()));
        let token = apply(&mut transform, &value).unwrap();
        prop_assert!(iban::valid(token.as_bytes()) && token[..2] == country, "{} is no valid number", token);
        prop_assert_eq!(opened(&mut transform, &token), value);
    }

    #[test]
    fn alphanumeric_cnpj_stay_valid_and_in_their_class(body in "[0-9A-Z]{12}|[0-9]{12}|[0-9]{11}[A-Z]") {
        let value = taxpayer(body, None, "");
        prop_assume!(cnpj::valid(value.as_bytes()));
        let options = FpeOptions { check_digit: Some(CheckDigit::CnpjAlphanumeric), ..Default::default() };
        let mut transform = TextTransform::CryptoReplaceFfxFpe(Box::new(CryptoReplaceFfxFpe::new(&root(1, 1), "company", &options).unwrap()));
        let token = apply(&mut transform, &value).unwrap();
        let lettered = |text: &str| text.bytes().any(|byte| byte.is_ascii_uppercase());
        prop_assert!(cnpj::valid(token.as_bytes()) && lettered(&token) == lettered(&value), "{} is no valid number", token);
        prop_assert_eq!(opened(&mut transform, &token), value);
    }

    #[test]
    fn encrypted_values_open_to_themselves(value in "\\PC{0,60}", row in any::<[u8; 8]>(), other in any::<[u8; 8]>()) {
        let options = EncryptOptions { dataset: "d".into(), column: "c".into(), run_id: "r".into() };
        let token = |row: &[u8]| {
            let mut out = Vec::new();
            Encrypt::new(&root(1, 3), "person", &options).apply(&value, &RowDigest::of([Some(row)]), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let mut out = Vec::new();
        Decrypt::new(&root(1, 3), "person", "d", "c").open(&token(&row), &mut out).unwrap();
        prop_assert_eq!(String::from_utf8(out).unwrap(), value.clone());
        prop_assert_eq!(token(&row) == token(&other), row == other);
    }

    #[test]
    fn keep_never_passes_a_refused_value(value in "\\PC{1,20}") {
        for mut transform in all(&root(1, 1), "person") {
            let refused = apply(&mut transform, &value).is_none();
            let mut out = Vec::new();
            let outcome = Guarded::new(transform, Rules::KEEP, Exceptions::default()).unwrap().apply(Some(&value), &mut out);
            if refused {
                prop_assert!(out.is_empty());
                prop_assert!(outcome.is_err() || value.trim().is_empty());
            }
        }
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

/// As above, over other alphabets and in lock step: 36^4 and 16^5 values.
#[test]
fn no_fixed_points_beyond_chance_in_lock_step() {
    for name in ["lowerAlphanumeric", "hexLower"] {
        let length = if name == "hexLower" { 5 } else { 4 };
        let radix = Alphabet::named(name).unwrap().radix();
        let text = |mut value: u32| -> String {
            let mut text = vec![0; length];
            for place in text.iter_mut().rev() {
                *place = b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % radix) as usize];
                value /= radix;
            }
            String::from_utf8(text).unwrap()
        };
        let count = radix.pow(length as u32);
        let (mut transform, mut tokens) = (fpe(&root(1, 1), "card", name), Tokens::default());
        let (mut seen, mut fixed) = (std::collections::HashSet::new(), 0);
        for first in (0..count).step_by(50_000) {
            let values: Vec<String> = (first..count.min(first + 50_000)).map(text).collect();
            transform.apply_many(&values.iter().map(String::as_str).collect::<Vec<_>>(), &mut tokens);
            assert!(tokens.refused().is_empty());
            for (index, value) in values.iter().enumerate() {
                let token = tokens.get(index).unwrap();
                assert!(seen.insert(<[u8; 5]>::try_from([token, &b"     "[length..]].concat()).unwrap()), "two values share a token");
                fixed += u32::from(token == value.as_bytes());
            }
        }
        assert!(seen.len() == count as usize && fixed <= 8, "{fixed} fixed points");
    }
}

/// What holds keys wipes itself: own types by their `Drop`, those of the primitives by their feature `zeroize`, which a change of the
/// manifest could turn off.
#[test]
fn what_holds_keys_wipes_itself() {
    fn wiped<T: zeroize::ZeroizeOnDrop>() -> bool {
        std::mem::needs_drop::<T>()
    }
    assert!(wiped::<Secret<32>>() && wiped::<KeyedHash>() && wiped::<Siv<aes::Aes256>>() && wiped::<Xaes>());
    assert!(wiped::<aes::Aes256>() && wiped::<aes_gcm::Aes256Gcm>());
    // Types that are made of these.
    assert!(std::mem::needs_drop::<RootKey>() && std::mem::needs_drop::<DateShift>() && std::mem::needs_drop::<Context>());
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
    let mut out = Vec::new();
    let mut encrypt = Encrypt::new(&root, "person", &EncryptOptions { dataset: "d".into(), column: "c".into(), run_id: "r".into() });
    let row = RowDigest::of([Some(value.as_bytes())]);
    encrypt.apply(value, &row, &mut out).unwrap();
    let mut tokens = Tokens::default();
    transforms[0].apply_many(&[value], &mut tokens);
    let exceptions = Exceptions { tokens: Some(CryptoHash::new(&root, "person", &CryptoHashOptions::default())), fallback: None };
    let mut guarded = Guarded::new(deterministic(&root, "person"), Rules::TOKEN, exceptions).unwrap();
    guarded.apply_many(&[Some(value)], &mut tokens);
    shown.push(format!("{encrypt:?} {row:?} {tokens:?} {guarded:?} {:?}", Replace::with_info_type("BR_CPF")));
    let cpf = FpeOptions { check_digit: Some(CheckDigit::Cpf), lengths: Some(11..=11), ..Default::default() };
    shown.push(format!("{:?} {:?}", cpf.smallest_domain(), CryptoReplaceFfxFpe::new(&root, "person", &cpf)));
    let bucket = Bucket { min: Some(0), max: None, replacement: "x".into() };
    shown.push(format!("{:?} {:?}", Bucketing::new(vec![bucket]), FixedSizeBucketing::new(5, None)));
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
