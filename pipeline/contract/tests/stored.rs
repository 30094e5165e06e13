//! The fuzz target on its stored inputs and on seeded changes of them: a bounded run for every day. How to fuzz in earnest is in
//! `tests/fuzz/README.md`.
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../../tests/fuzz/src/contract.rs"]
mod contract;

/// In the order of their names, so that a seed means the same everywhere.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz");
    let mut inputs = Vec::new();
    for kind in ["corpus", "regressions"] {
        // there need not be regressions
        for file in fs::read_dir(fuzz.join(kind).join("contract")).into_iter().flatten() {
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

/// One to four changes: bytes, and pieces of other inputs in the place of pieces of this one.
fn changed(inputs: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].1.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let end = at + random.below((input.len() - at).min(40) + 1);
        match random.below(5) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 => input.insert(at, b"{}[]:,-\"'#0a\n \xff"[random.below(15)]),
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

#[test]
fn stored_inputs_and_changes_of_them() {
    let inputs = inputs();
    let run = |name: &str, input: &[u8]| {
        let ran = catch_unwind(AssertUnwindSafe(|| contract::run(input)));
        assert!(ran.is_ok(), "{name}: {}", String::from_utf8_lossy(input));
        ran.unwrap_or_default()
    };
    for (name, input) in &inputs {
        let accepted = run(name, input);
        // whole files, so that changes of them reach what comes after the structure
        let whole = ["good", "everything", "/job_", "/diff_"].iter().any(|word| name.contains(word));
        assert_eq!(accepted, whole, "{name}");
    }
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for number in 0..1500 {
        run(&format!("change {number}"), &changed(&inputs, &mut random));
    }
}
