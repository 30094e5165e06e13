//! Nanoseconds a value, each beside the primitive's own limit and the crate that one would take otherwise, all in one run.
#![allow(missing_docs, reason = "criterion's macros make items without documentation")]
use aes::Aes256;
use aes::cipher::consts::U16;
use aes::cipher::{Array, BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use perimeter_pseudonym::transform::{
    Canonicalize, CheckDigit, CryptoDeterministic, CryptoHash, CryptoHashOptions, Encoding, Ff1Digits, Ff1Options, TextTransform, Tokens,
};
use perimeter_pseudonym::{LocalKms, Purpose, RootKey, create_keyring, unwrap_root};
use sha2::block_api::compress256;
use std::hint::black_box;
use std::time::Duration;

const VALUES: usize = 1024;

fn root() -> RootKey {
    let folder = tempfile::tempdir().expect("a folder");
    let kms = LocalKms::create(&folder.path().join("bench.key")).expect("a key file");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let file = create_keyring(&kms, "bench").await.expect("a keyring");
        unwrap_root(&kms, &file, None, Purpose::Run).await.expect("a root key")
    })
}

/// `rounds` blocks in a row inside the cipher's backend, as close to the instructions as safe code comes.
struct Chain<'a> {
    block: &'a mut Array<u8, U16>,
    rounds: usize,
}

impl BlockSizeUser for Chain<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chain<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        for _ in 0..self.rounds {
            backend.encrypt_block((&mut *self.block).into());
        }
    }
}

/// Distinct digits, so that nothing is predicted.
fn digits(length: usize) -> Vec<String> {
    (0..VALUES as u64).map(|index| format!("{:020}", index.wrapping_mul(0x9E37_79B9_7F4A_7C15))[20 - length..].to_owned()).collect()
}

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(VALUES as u64)).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(40);
    group
}

fn each(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, values: &[String], mut apply: impl FnMut(&str, &mut Vec<u8>)) {
    let mut out = Vec::with_capacity(VALUES * 128);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            out.clear();
            for value in values {
                apply(black_box(value), &mut out);
            }
            black_box(out.len())
        });
    });
}

fn hmac(criterion: &mut Criterion) {
    use hmac::Mac;
    let root = root();
    for length in [11, 16] {
        let values = digits(length);
        let mut group = group(criterion, &format!("hmac/{length}B"));
        each(&mut group, "limit: two compressions", &values, |value, out| {
            let mut block = [0; 64];
            block[..value.len()].copy_from_slice(value.as_bytes());
            let mut state = [0x6a09_e667; 8];
            compress256(&mut state, &[block]);
            block[0] ^= state[0] as u8;
            compress256(&mut state, &[block]);
            out.push(state[0] as u8);
        });
        for (name, encoding, bytes) in [("hex", Encoding::Hex, 32), ("base64url", Encoding::Base64url, 32), ("hex of 16 bytes", Encoding::Hex, 16)] {
            let mut transform = CryptoHash::new(&root, "person", &CryptoHashOptions { encoding, bytes, ..Default::default() });
            each(&mut group, name, &values, |value, out| transform.apply(value, out).expect("a token"));
        }
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let mut batch = TextTransform::CryptoHash(CryptoHash::new(&root, "person", &CryptoHashOptions::default()));
        let mut tokens = Tokens::default();
        group.bench_function("hex, as a batch", |bencher| {
            bencher.iter(|| {
                batch.apply_many(black_box(&texts), &mut tokens);
                black_box(tokens.bytes().len())
            });
        });
        let mut canonical = CryptoHash::new(
            &root,
            "person",
            &CryptoHashOptions { canonicalize: vec![Canonicalize::Trim, Canonicalize::Nfc, Canonicalize::Digits], ..Default::default() },
        );
        each(&mut group, "hex, canonicalized", &values, |value, out| canonical.apply(value, out).expect("a token"));
        let keyed = hmac::Hmac::<sha2::Sha256>::new_from_slice(&[7; 32]).expect("a key");
        each(&mut group, "crates hmac and sha2, without encoding", &values, |value, out| {
            let mut mac = keyed.clone();
            mac.update(value.as_bytes());
            out.extend_from_slice(&mac.finalize().into_bytes());
        });
        group.finish();
    }
}

fn siv(criterion: &mut Criterion) {
    let root = root();
    let values: Vec<String> = digits(20).into_iter().map(|value| format!("name-{value}")).collect();
    let mut group = group(criterion, "siv/25B");
    let cipher = Aes256::new(&[7; 32].into());
    each(&mut group, "limit: two blocks in a row, two side by side", &values, |value, out| {
        let mut blocks = [Array::from([value.as_bytes()[24]; 16]); 2];
        cipher.encrypt_with_backend(Chain { block: &mut blocks[0], rounds: 2 });
        blocks[1] = blocks[0];
        cipher.encrypt_blocks(&mut blocks);
        out.push(blocks[1][0]);
    });
    let mut transform = CryptoDeterministic::new(&root, "person", &[]);
    each(&mut group, "token", &values, |value, out| transform.apply(value, out).expect("a token"));
    let mut theirs = <aes_siv::siv::Aes256Siv as KeyInit>::new(&[7; 64].into());
    each(&mut group, "crate aes-siv, without encoding", &values, |value, out| {
        let start = out.len();
        out.extend_from_slice(value.as_bytes());
        let tag = theirs.encrypt_inout_detached([b""; 0], (&mut out[start..]).into()).expect("a tag");
        out.extend_from_slice(&tag);
    });
    group.finish();
}

fn ff1(criterion: &mut Criterion) {
    let root = root();
    for length in [9, 10] {
        let values = digits(length);
        let mut group = group(criterion, &format!("ff1/{length} digits"));
        let cipher = Aes256::new(&[7; 32].into());
        each(&mut group, "limit: ten blocks in a row", &values, |value, out| {
            let mut block = Array::from([value.as_bytes()[8]; 16]);
            cipher.encrypt_with_backend(Chain { block: &mut block, rounds: 10 });
            out.push(block[0]);
        });
        group.bench_function("limit: ten times 16 blocks side by side", |bencher| {
            let mut blocks = [Array::from([7; 16]); 16];
            bencher.iter(|| {
                for _ in 0..VALUES / 16 * 10 {
                    cipher.encrypt_blocks(black_box(&mut blocks));
                }
            });
        });
        let mut transform = Ff1Digits::new(&root, "person", &Ff1Options::default());
        each(&mut group, "single", &values, |value, out| transform.apply(value, out).expect("a token"));
        if length == 9 {
            let with_check = Ff1Options { check_digit: Some(CheckDigit::Luhn), ..Default::default() };
            let cards: Vec<String> =
                values.iter().map(|value| format!("{value}{}", char::from(perimeter_detect::luhn::digit(value.as_bytes()).expect("a digit")))).collect();
            let mut transform = Ff1Digits::new(&root, "person", &with_check);
            each(&mut group, "single, Luhn digit behind", &cards, |value, out| transform.apply(value, out).expect("a token"));
        }
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let mut batch = TextTransform::Ff1Digits(transform.clone());
        let mut tokens = Tokens::default();
        group.bench_function("in lock step", |bencher| {
            bencher.iter(|| {
                batch.apply_many(black_box(&texts), &mut tokens);
                black_box(tokens.bytes().len())
            });
        });
        let theirs = fpe::ff1::FF1::<Aes256>::new(&[7; 32], 10).expect("a radix");
        group.bench_function("crate fpe", |bencher| {
            let strings: Vec<_> = values
                .iter()
                .map(|value| fpe::ff1::FlexibleNumeralString::from(value.bytes().map(|byte| u16::from(byte - b'0')).collect::<Vec<_>>()))
                .collect();
            bencher.iter_batched(
                || (),
                |()| {
                    for string in &strings {
                        black_box(theirs.encrypt(b"person", black_box(string)).expect("a token"));
                    }
                },
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(transforms, hmac, siv, ff1);
criterion_main!(transforms);
