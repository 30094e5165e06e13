//! The fuzz targets on their stored inputs and on seeded changes of them: a bounded run for every day. How to fuzz in earnest is in
//! `tests/fuzz/README.md`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../../tests/fuzz/detect/src/text.rs"]
mod text;
#[path = "../../../tests/fuzz/detect/src/values.rs"]
mod values;

/// In the order of their names, so that a seed means the same everywhere.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/detect");
    let mut inputs = Vec::new();
    for kind in ["corpus", "regressions"] {
        // There need not be regressions.
        for file in fs::read_dir(fuzz.join(kind).join(target)).into_iter().flatten() {
            let path = file.unwrap().path();
            inputs.push((format!("{kind}/{}", path.file_name().unwrap_or_default().display()), fs::read(&path).unwrap()));
        }
    }
    inputs.sort_unstable();
    assert!(inputs.len() >= 10, "the corpus is there");
    inputs
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// One to four changes: bits, bytes, and pieces of other inputs in the place of pieces of this one.
fn changed(inputs: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].1.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let end = at + random.below((input.len() - at).min(40) + 1);
        match random.below(5) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 => input.insert(at, b"@.:/-+() 0123456789aZ\n\x01\x02\x04\x05\x0e\x16\xc3\xff"[random.below(30)]),
            2 => drop(input.drain(at..end)),
            3 => input.extend_from_within(at..end),
            _ => {
                let other = &inputs[random.below(inputs.len())].1;
                let from = random.below(other.len() + 1);
                let to = from + random.below((other.len() - from).min(60) + 1);
                input.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    input
}

fn stored_and_changed(target: &str, changes: usize, run: fn(&[u8]) -> usize) {
    let inputs = inputs(target);
    let run = |name: &str, input: &[u8]| {
        let ran = catch_unwind(AssertUnwindSafe(|| run(input)));
        assert!(ran.is_ok(), "{target} {name}: {:?}", String::from_utf8_lossy(input));
        ran.unwrap_or_default()
    };
    let found: usize = inputs.iter().map(|(name, input)| run(name, input)).sum();
    assert!(found >= 10, "the corpus has something to find: {found}");
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for number in 0..changes {
        run(&format!("change {number}"), &changed(&inputs, &mut random));
    }
}

#[test]
fn texts() {
    stored_and_changed("text", 2_000, text::run);
}

#[test]
fn values_of_columns() {
    stored_and_changed("values", 1_000, values::run);
}
