//! Every published vector for every primitive that is used here, by file, with counts. Files are looked for in `../shared/corpora`
//! beside the repository; a test that does not find them says so and passes.
#![allow(clippy::print_stdout, reason = "counts and skips are for whoever reads the test's output")]
use crate::derive::expand;
use crate::transform::ValueRefused;
use crate::transform::ff1::Ff1;
use aead::AeadInOut;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherEncrypt, BlockSizeUser};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use aes_siv::siv::{Aes128Siv, Aes256Siv};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// What became of a file's vectors.
#[derive(Default)]
struct Counts {
    /// The published result was reproduced (and undone, where there is a way back).
    accepted: usize,
    /// Published as invalid, and refused.
    rejected: usize,
    /// Valid, and refused by a decision of ours, by reason.
    by_design: BTreeMap<&'static str, usize>,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepted {}, rejected {}, refused by design {:?}", self.accepted, self.rejected, self.by_design)
    }
}

impl Counts {
    fn refuse(&mut self, reason: &'static str) {
        *self.by_design.entry(reason).or_default() += 1;
    }

    fn total(&self) -> usize {
        self.accepted + self.rejected + self.by_design.values().sum::<usize>()
    }
}

fn corpus(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/crypto").join(name);
    let found = path.exists().then_some(path);
    if found.is_none() {
        println!("skipped: {name} is not there");
    }
    found
}

fn text(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(corpus(name)?).unwrap())
}

/// The tests of a Wycheproof file, each with its group.
fn wycheproof(name: &str) -> Option<(Vec<(Value, Value)>, usize)> {
    let file: Value = serde_json::from_str(&text(&format!("wycheproof/testvectors_v1/{name}"))?).unwrap();
    let groups = file["testGroups"].as_array().unwrap();
    let tests = groups.iter().flat_map(|group| group["tests"].as_array().unwrap().iter().map(|test| (group.clone(), test.clone())));
    Some((tests.collect(), file["numberOfTests"].as_u64().unwrap() as usize))
}

/// The records of a NIST response file: `name = value` lines, separated by `Count`/`COUNT` lines; headings in brackets and
/// comments with an equals sign carry over.
fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = Vec::new();
    let mut heading = BTreeMap::new();
    let mut current: Option<BTreeMap<String, String>> = None;
    for line in text.lines().map(str::trim) {
        if line == "FAIL" {
            current.as_mut().unwrap().insert("FAIL".into(), String::new());
            continue;
        }
        let bare = line.trim_matches(['[', ']', '#', ' ']);
        let Some((name, value)) = bare.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())) else { continue };
        if line.starts_with(['[', '#']) {
            records.extend(current.take());
            heading.insert(name, value);
        } else if name.eq_ignore_ascii_case("count") {
            records.extend(current.replace(heading.clone()));
        } else if let Some(current) = &mut current {
            current.insert(name, value);
        }
    }
    records.extend(current);
    records
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn field(record: &BTreeMap<String, String>, name: &str) -> Vec<u8> {
    hex::decode(record.get(name).map_or("", String::as_str)).unwrap()
}

#[derive(Debug, PartialEq)]
enum Ff1Outcome {
    BadKey,
    Refused(ValueRefused),
    Done(Vec<u16>),
}

fn ff1(key: &[u8], radix: u32, tweak: &[u8], numerals: &[u16]) -> Ff1Outcome {
    fn with<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(cipher: C, radix: u32, tweak: &[u8], numerals: &[u16]) -> Ff1Outcome {
        let mut cipher = Ff1::new(cipher, radix, b"");
        let mut string = numerals.to_vec();
        match cipher.encrypt(tweak, &mut string) {
            Err(refused) => Ff1Outcome::Refused(refused),
            Ok(()) => {
                let mut back = string.clone();
                cipher.decrypt(tweak, &mut back).unwrap();
                assert_eq!(back, numerals, "there and back");
                // Side by side with others, in every size of kernel.
                for count in [2, 5, 9, 17] {
                    let (mut many, tails) = (numerals.repeat(count), tweak.repeat(count));
                    // A neighbour that differs where it can.
                    let zeros = vec![0; numerals.len()];
                    many[..numerals.len()].copy_from_slice(&zeros);
                    cipher.run_many(&tails, &mut many, numerals.len(), true).unwrap();
                    assert!(many.chunks(numerals.len()).skip(1).all(|lane| lane == string), "{count} side by side");
                    cipher.run_many(&tails, &mut many, numerals.len(), false).unwrap();
                    assert!(many[..numerals.len()] == zeros && many[numerals.len()..] == numerals.repeat(count - 1));
                }
                Ff1Outcome::Done(string)
            }
        }
    }
    match key.len() {
        16 => with(Aes128::new_from_slice(key).unwrap(), radix, tweak, numerals),
        24 => with(Aes192::new_from_slice(key).unwrap(), radix, tweak, numerals),
        32 => with(Aes256::new_from_slice(key).unwrap(), radix, tweak, numerals),
        _ => Ff1Outcome::BadKey,
    }
}

#[test]
fn ff1_wycheproof() {
    let radixes = ["radix10", "radix36", "radix256", "radix65536", "base10", "base16", "base26", "base36", "base62", "base64"];
    for name in radixes {
        let name = format!("aes_ff1_{name}_test.json");
        let Some((tests, total)) = wycheproof(&name) else { continue };
        let mut counts = Counts::default();
        for (group, test) in tests {
            let alphabet: Option<Vec<char>> = group["alphabet"].as_str().map(|alphabet| alphabet.chars().collect());
            // A character outside the alphabet becomes a numeral that no radix has.
            let numerals = |value: &Value| -> Vec<u16> {
                match (&alphabet, value) {
                    (Some(alphabet), Value::String(text)) => {
                        text.chars().map(|c| alphabet.iter().position(|&a| a == c).map_or(u16::MAX, |index| index as u16)).collect()
                    }
                    (None, Value::Array(list)) => list.iter().map(|numeral| u16::try_from(numeral.as_i64().unwrap()).unwrap_or(u16::MAX)).collect(),
                    _ => panic!("neither text nor list"),
                }
            };
            // In radix 65,536 every u16 is a numeral: the type refuses the others.
            let outside = |value: &Value| value.as_array().is_some_and(|list| list.iter().any(|numeral| u16::try_from(numeral.as_i64().unwrap()).is_err()));
            let radix = group["radix"].as_u64().unwrap() as u32;
            let (message, valid) = (&test["msg"], test["result"] == "valid");
            let outcome = match outside(message) {
                true => Ff1Outcome::Refused(ValueRefused::UnexpectedCharacter),
                false => ff1(&bytes(&test["key"]), radix, &bytes(&test["tweak"]), &numerals(message)),
            };
            match outcome {
                Ff1Outcome::Done(result) if valid => {
                    assert_eq!(result, numerals(&test["ct"]), "{name} {}", test["tcId"]);
                    counts.accepted += 1;
                }
                Ff1Outcome::Refused(ValueRefused::DomainTooSmall) if valid => counts.refuse("domain under 10^6"),
                Ff1Outcome::Refused(ValueRefused::TooLong) if valid => counts.refuse("more than 256 numerals"),
                Ff1Outcome::Refused(_) | Ff1Outcome::BadKey if !valid => counts.rejected += 1,
                other => panic!("{name} {}: {other:?}", test["tcId"]),
            }
        }
        assert_eq!(counts.total(), total);
        println!("{name}: {counts}");
    }
}

#[test]
fn ff1_nist_samples() {
    let Some(samples) = text("nist_ff1_samples.csv") else { return };
    let mut counts = Counts::default();
    for line in samples.lines().skip(1) {
        let [radix, key, tweak, plain, cipher, ..] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let radix: u32 = radix.parse().unwrap();
        let numerals = |text: &str| text.chars().map(|c| c.to_digit(radix).unwrap() as u16).collect::<Vec<_>>();
        let outcome = ff1(&hex::decode(key).unwrap(), radix, &hex::decode(tweak).unwrap(), &numerals(plain));
        assert_eq!(outcome, Ff1Outcome::Done(numerals(cipher)));
        counts.accepted += 1;
    }
    assert_eq!(counts.accepted, 9);
    println!("nist_ff1_samples.csv: {counts}");
}

#[test]
fn ff1_agrees_with_another_implementation_at_every_length() {
    use fpe::ff1::{FF1, FlexibleNumeralString};
    for (radix, shortest) in [(2u32, 20), (10, 6), (26, 5), (36, 4), (62, 4), (256, 3), (65_536, 2)] {
        let key = [radix as u8; 32];
        let theirs = FF1::<Aes256>::new(&key, radix).unwrap();
        let mut ours = Ff1::new(Aes256::new(&key.into()), radix, b"");
        let mut refused = vec![0; shortest - 1];
        assert_eq!(ours.encrypt(b"", &mut refused), Err(ValueRefused::DomainTooSmall), "radix {radix}");
        for length in shortest..=256 {
            for filling in 0..3u32 {
                // All zeros, all ones (the largest numeral), and a mixture.
                let plain: Vec<u16> = (0..length as u32)
                    .map(|index| match filling {
                        0 => 0,
                        1 => (radix - 1) as u16,
                        _ => ((index * 40_503 + radix * 7 + length as u32) % radix) as u16,
                    })
                    .collect();
                let tweak: Vec<u8> = (0..length % 40).map(|index| index as u8).collect();
                let mut string = plain.clone();
                ours.encrypt(&tweak, &mut string).unwrap();
                let expected: Vec<u16> = theirs.encrypt(&tweak, &FlexibleNumeralString::from(plain.clone())).unwrap().into();
                assert_eq!(string, expected, "radix {radix}, length {length}");
                ours.decrypt(&tweak, &mut string).unwrap();
                assert_eq!(string, plain, "radix {radix}, length {length}");
            }
        }
        let mut refused = vec![0; 257];
        assert_eq!(ours.encrypt(b"", &mut refused), Err(ValueRefused::TooLong));
    }
}

#[test]
fn ff1_prefix_and_tail_are_one_tweak() {
    let key = [3; 32];
    for tail in 0..40 {
        let tweak: Vec<u8> = (0..32 + tail).collect();
        for length in [6, 10, 20, 57, 58, 59, 200] {
            let plain: Vec<u16> = (0..length).map(|index| index % 10).collect();
            let (mut whole, mut split) = (plain.clone(), plain);
            Ff1::new(Aes256::new(&key.into()), 10, b"").encrypt(&tweak, &mut whole).unwrap();
            Ff1::new(Aes256::new(&key.into()), 10, &tweak[..32]).encrypt(&tweak[32..], &mut split).unwrap();
            assert_eq!(whole, split, "tail {tail}, length {length}");
        }
    }
}

#[test]
fn siv_wycheproof() {
    if let Some((tests, total)) = wycheproof("aes_siv_cmac_test.json") {
        let mut counts = Counts::default();
        for (_, test) in tests {
            siv_test(&mut counts, &test, &[bytes(&test["aad"])], &bytes(&test["ct"]));
        }
        assert_eq!(counts.total(), total);
        println!("aes_siv_cmac_test.json: {counts}");
    }
    if let Some((tests, total)) = wycheproof("aead_aes_siv_cmac_test.json") {
        let mut counts = Counts::default();
        for (_, test) in tests {
            siv_test(&mut counts, &test, &[bytes(&test["aad"]), bytes(&test["iv"])], &[bytes(&test["tag"]), bytes(&test["ct"])].concat());
        }
        assert_eq!(counts.total(), total);
        println!("aead_aes_siv_cmac_test.json: {counts}");
    }
}

/// The crate's own SIV; what it opens must be what it made.
fn own_siv<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit>(
    key: &[u8],
    headers: &[Vec<u8>],
    message: &[u8],
    sealed: &[u8],
) -> (Vec<u8>, bool) {
    let (mac, stream) = key.split_at(key.len() / 2);
    let siv = crate::transform::siv::Siv::new(C::new_from_slice(mac).unwrap(), C::new_from_slice(stream).unwrap());
    let headers: Vec<&[u8]> = headers.iter().map(Vec::as_slice).collect();
    let mut text = message.to_vec();
    let tag = siv.seal(&headers, &mut text);
    let made = [&tag[..], &text].concat();
    assert!(siv.open(&headers, tag, &mut text) && text == message);
    let opened = sealed.split_first_chunk().is_some_and(|(tag, text)| siv.open(&headers, *tag, &mut text.to_vec()));
    (made, opened)
}

fn siv_test(counts: &mut Counts, test: &Value, headers: &[Vec<u8>], sealed: &[u8]) {
    let (key, message, valid) = (bytes(&test["key"]), bytes(&test["msg"]), test["result"] == "valid");
    let own = match key.len() {
        64 => own_siv::<Aes256>(&key, headers, &message, sealed),
        48 => own_siv::<Aes192>(&key, headers, &message, sealed),
        32 => own_siv::<Aes128>(&key, headers, &message, sealed),
        _ => return counts.refuse("key of another length"),
    };
    let (made, opened) = match key.len() {
        48 => (own.0.clone(), if own.1 { Ok(message.clone()) } else { Err(aead::Error) }),
        64 => {
            let mut siv = Aes256Siv::new_from_slice(&key).unwrap();
            (siv.encrypt(headers, &message).unwrap(), siv.decrypt(headers, sealed))
        }
        32 => {
            let mut siv = Aes128Siv::new_from_slice(&key).unwrap();
            (siv.encrypt(headers, &message).unwrap(), siv.decrypt(headers, sealed))
        }
        _ => return counts.refuse("key of another length"),
    };
    assert_eq!(own, (made.clone(), opened.is_ok()), "{}", test["tcId"]);
    match valid {
        true => {
            assert_eq!(made, sealed, "{}", test["tcId"]);
            assert_eq!(opened.as_ref(), Ok(&message), "{}", test["tcId"]);
            counts.accepted += 1;
        }
        false => {
            assert!(opened.is_err(), "{}", test["tcId"]);
            counts.rejected += 1;
        }
    }
}

#[test]
fn siv_openssl() {
    let Some(text) = text("cryptography_vectors/ciphers/AES/SIV/openssl.txt") else { return };
    let mut counts = Counts::default();
    for record in records(&text) {
        let headers: Vec<_> = ["AAD", "AAD2", "AAD3", "AAD4"].iter().filter(|name| record.contains_key(**name)).map(|name| field(&record, name)).collect();
        let (key, plain, sealed) = (field(&record, "Key"), field(&record, "Plaintext"), [field(&record, "Tag"), field(&record, "Ciphertext")].concat());
        match key.len() {
            64 => assert_eq!(own_siv::<Aes256>(&key, &headers, &plain, &sealed), (sealed, true)),
            48 => assert_eq!(own_siv::<Aes192>(&key, &headers, &plain, &sealed), (sealed, true)),
            32 => assert_eq!(own_siv::<Aes128>(&key, &headers, &plain, &sealed), (sealed, true)),
            _ => panic!("a key of another length"),
        }
        counts.accepted += 1;
    }
    assert!(counts.accepted > 0);
    println!("SIV/openssl.txt: {counts}");
}

/// Ciphertext and tag of the message, and what the message opens to as a ciphertext under the given tag.
type Gcm = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// `None`: of a shape that is never used here.
fn gcm(key: &[u8], iv: &[u8], aad: &[u8], message: &[u8], tag: &[u8]) -> Option<Gcm> {
    let cipher = Aes256Gcm::new_from_slice(key).ok()?;
    let nonce = Nonce::try_from(iv).ok()?;
    let tag = Tag::try_from(tag).ok()?;
    let mut sealed = message.to_vec();
    let made = cipher.encrypt_inout_detached(&nonce, aad, sealed.as_mut_slice().into()).unwrap();
    let mut opened = message.to_vec();
    let opened = cipher.decrypt_inout_detached(&nonce, aad, opened.as_mut_slice().into(), &tag).ok().map(|()| opened);
    Some((sealed, made.to_vec(), opened))
}

#[test]
fn gcm_wycheproof() {
    let Some((tests, total)) = wycheproof("aes_gcm_test.json") else { return };
    let mut counts = Counts::default();
    for (_, test) in tests {
        let [key, iv, aad, message, sealed, tag] = ["key", "iv", "aad", "msg", "ct", "tag"].map(|name| bytes(&test[name]));
        let (Some((made, made_tag, _)), Some((.., opened))) = (gcm(&key, &iv, &aad, &message, &tag), gcm(&key, &iv, &aad, &sealed, &tag)) else {
            match (test["result"] == "valid", key.len()) {
                (false, _) => counts.rejected += 1,
                (true, 32) => counts.refuse("nonce that is not 96 bits"),
                (true, _) => counts.refuse("key that is not 256 bits"),
            }
            continue;
        };
        if test["result"] == "valid" {
            assert_eq!((made, made_tag, opened), (sealed, tag, Some(message)), "{}", test["tcId"]);
            counts.accepted += 1;
        } else {
            assert_eq!(opened, None, "{}", test["tcId"]);
            counts.rejected += 1;
        }
    }
    assert_eq!(counts.total(), total);
    println!("aes_gcm_test.json: {counts}");
}

#[test]
fn gcm_nist() {
    for name in ["gcmEncryptExtIV256.rsp", "gcmDecrypt256.rsp"] {
        let Some(text) = text(&format!("cryptography_vectors/ciphers/AES/GCM/{name}")) else { continue };
        let mut counts = Counts::default();
        for record in records(&text) {
            let [key, iv, aad, plain, sealed, tag] = ["Key", "IV", "AAD", "PT", "CT", "Tag"].map(|name| field(&record, name));
            let (Some((made, made_tag, _)), Some((.., opened))) = (gcm(&key, &iv, &aad, &plain, &tag), gcm(&key, &iv, &aad, &sealed, &tag)) else {
                counts.refuse(if iv.len() == 12 { "tag that is not 128 bits" } else { "nonce that is not 96 bits" });
                continue;
            };
            if record.contains_key("FAIL") {
                assert_eq!(opened, None);
                counts.rejected += 1;
            } else {
                assert_eq!((made, made_tag, opened), (sealed, tag, Some(plain)));
                counts.accepted += 1;
            }
        }
        assert_eq!(counts.total(), 7875);
        assert_eq!(counts.accepted + counts.rejected, 375);
        println!("{name}: {counts}");
    }
}

#[test]
fn cmac_wycheproof() {
    fn with<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit>(key: &[u8], message: &[u8]) -> [u8; 16] {
        let cipher = || C::new_from_slice(key).unwrap();
        crate::transform::siv::Siv::new(cipher(), cipher()).cmac(message)
    }
    let Some((tests, total)) = wycheproof("aes_cmac_test.json") else { return };
    let mut counts = Counts::default();
    for (_, test) in tests {
        let [key, message, tag] = ["key", "msg", "tag"].map(|name| bytes(&test[name]));
        let made = match key.len() {
            16 => with::<Aes128>(&key, &message),
            24 => with::<Aes192>(&key, &message),
            32 => with::<Aes256>(&key, &message),
            _ => {
                assert_eq!(test["result"], "invalid", "{}", test["tcId"]);
                counts.rejected += 1;
                continue;
            }
        };
        let equal = tag.len() <= 16 && made[..tag.len()] == tag;
        assert_eq!(equal, test["result"] == "valid", "{}", test["tcId"]);
        *(if equal { &mut counts.accepted } else { &mut counts.rejected }) += 1;
    }
    assert_eq!(counts.total(), total);
    println!("aes_cmac_test.json: {counts}");
}

/// A new file in the corpus, or one that was forgotten, fails here: every file is tested or says why not.
#[test]
fn no_file_is_left_out() {
    const TESTED: [&str; 25] = [
        "nist_ff1_samples.csv",
        "aes_ff1_radix10_test.json",
        "aes_ff1_radix36_test.json",
        "aes_ff1_radix256_test.json",
        "aes_ff1_radix65536_test.json",
        "aes_ff1_base10_test.json",
        "aes_ff1_base16_test.json",
        "aes_ff1_base26_test.json",
        "aes_ff1_base36_test.json",
        "aes_ff1_base62_test.json",
        "aes_ff1_base64_test.json",
        "aes_siv_cmac_test.json",
        "aead_aes_siv_cmac_test.json",
        "ciphers/AES/SIV/openssl.txt",
        "aes_cmac_test.json",
        "aes_gcm_test.json",
        "gcmEncryptExtIV256.rsp",
        "gcmDecrypt256.rsp",
        "hmac_sha256_test.json",
        "rfc-4231-sha256.txt",
        "hkdf_sha256_test.json",
        "rfc-5869-HKDF-SHA256.txt",
        "hkdf-generated.txt",
        // No vectors.
        "doc/ff1.md",
        "LICENSE",
    ];
    const NOT_USED: [(&str, &str); 8] = [
        ("gcm_siv", "AES-GCM-SIV is not used"),
        ("GCM-SIV/", "AES-GCM-SIV is not used"),
        ("aes_kwp", "key wrap is the KMS's"),
        ("sha1", "SHA-256 is the only hash"),
        ("SHA1", "SHA-256 is the only hash"),
        ("sha224", "SHA-256 is the only hash"),
        ("sha384", "SHA-256 is the only hash"),
        ("sha512", "SHA-256 is the only hash"),
    ];
    let Some(folder) = corpus("") else { return };
    let (mut folders, mut tested) = (vec![folder], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.to_string_lossy();
            match NOT_USED.iter().find(|(part, _)| name.contains(part)) {
                Some((_, why)) => println!("{}: {why}", path.file_name().unwrap().display()),
                None => {
                    assert!(TESTED.iter().any(|tested| name.ends_with(tested)), "{name} is neither tested nor excused");
                    tested += 1;
                }
            }
        }
    }
    assert_eq!(tested, TESTED.len());
}

/// str4d/fpe issue 41: a binary string of 32 bits under AES-256 with a zero key did not come back.
#[test]
fn binary_strings_come_back() {
    let numerals: Vec<u16> = [0xAB, 0xCD, 0xEF, 0xAA_u8].iter().flat_map(|byte| (0..8).rev().map(move |bit| u16::from(byte >> bit & 1))).collect();
    let Ff1Outcome::Done(sealed) = ff1(&[0; 32], 2, b"", &numerals) else { panic!("refused") };
    assert_ne!(sealed, numerals);
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    let whole = mac.finalize().into_bytes().to_vec();
    // The keyed state that the transforms use takes subkeys of 32 bytes: where the vector has one, it must agree.
    if let Some(key) = crate::Secret::from_slice(key) {
        assert_eq!(crate::transform::hash::KeyedHash::new(&key).hash(&[message]).to_vec(), whole);
    }
    whole
}

#[test]
fn hmac_wycheproof() {
    let Some((tests, total)) = wycheproof("hmac_sha256_test.json") else { return };
    let mut counts = Counts::default();
    for (_, test) in tests {
        let tag = bytes(&test["tag"]);
        let equal = hmac(&bytes(&test["key"]), &bytes(&test["msg"]))[..tag.len()] == tag;
        assert_eq!(equal, test["result"] == "valid", "{}", test["tcId"]);
        *(if equal { &mut counts.accepted } else { &mut counts.rejected }) += 1;
    }
    assert_eq!(counts.total(), total);
    println!("hmac_sha256_test.json: {counts}");
}

#[test]
fn hmac_rfc_4231() {
    let Some(text) = text("cryptography_vectors/HMAC/rfc-4231-sha256.txt") else { return };
    let mut counts = Counts::default();
    // No counters here: a record begins with its length.
    for record in records(&text.replace("Len =", "Count =")) {
        assert_eq!(hmac(&field(&record, "Key"), &field(&record, "Msg")), field(&record, "MD"));
        counts.accepted += 1;
    }
    assert!(counts.accepted >= 6);
    println!("rfc-4231-sha256.txt: {counts}");
}

fn hkdf(key: &[u8], salt: &[u8], info: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut output = vec![0; size];
    hkdf::Hkdf::<Sha256>::new(Some(salt), key).expand(info, &mut output).ok()?;
    // The derivation that the crate uses takes keys of 32 bytes: it must agree on what it gives.
    if let Ok(key) = <&[u8; 32]>::try_from(key) {
        let length = size.min(64);
        assert_eq!(expand::<64>(Some(salt), key, info).expose()[..length], output[..length]);
    }
    Some(output)
}

#[test]
fn hkdf_wycheproof() {
    let Some((tests, total)) = wycheproof("hkdf_sha256_test.json") else { return };
    let mut counts = Counts::default();
    for (_, test) in tests {
        let output = hkdf(&bytes(&test["ikm"]), &bytes(&test["salt"]), &bytes(&test["info"]), test["size"].as_u64().unwrap() as usize);
        if test["result"] == "valid" {
            assert_eq!(output, Some(bytes(&test["okm"])), "{}", test["tcId"]);
            counts.accepted += 1;
        } else {
            assert_eq!(output, None, "{}", test["tcId"]);
            counts.rejected += 1;
        }
    }
    assert_eq!(counts.total(), total);
    println!("hkdf_sha256_test.json: {counts}");
}

#[test]
fn hkdf_rfc_5869_and_generated() {
    for name in ["rfc-5869-HKDF-SHA256.txt", "hkdf-generated.txt"] {
        let Some(text) = text(&format!("cryptography_vectors/KDF/{name}")) else { continue };
        let mut counts = Counts::default();
        for record in records(&text) {
            let size = record["L"].parse().unwrap();
            let output = hkdf(&field(&record, "IKM"), &field(&record, "salt"), &field(&record, "info"), size);
            assert_eq!(output, Some(field(&record, "OKM")));
            counts.accepted += 1;
        }
        assert!(counts.accepted > 0);
        println!("{name}: {counts}");
    }
}
