//! The fuzz targets on what fuzzing left behind: the stored corpus, every input that once broke something, and seeded changes of both.
//! A bounded run for every day; how to fuzz in earnest is in `tests/fuzz/README.md`.
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[allow(dead_code)] // shared with the fuzz targets
#[path = "../../../tests/fuzz/src/lib.rs"]
mod targets;

/// Inputs in the order of their names, so that a seed means the same everywhere.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz");
    let mut inputs = Vec::new();
    for kind in ["corpus", "regressions"] {
        // There need not be regressions of a target.
        for file in fs::read_dir(fuzz.join(kind).join(target)).into_iter().flatten() {
            let path = file.unwrap().path();
            inputs.push((format!("{kind}/{}", path.file_name().unwrap_or_default().display()), fs::read(&path).unwrap()));
        }
    }
    inputs.sort_unstable();
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

/// One to four of the changes that fuzzers make.
fn changed(inputs: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut input = inputs[random.below(inputs.len())].1.clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let end = at + random.below((input.len() - at).min(32) + 1);
        match random.below(6) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = [0, 1, 127, 128, 192, 208, 230, 247, 255][random.below(9)],
            2 => input.insert(at, random.below(256) as u8),
            3 => drop(input.drain(at..end)),
            4 => input.extend_from_within(at..end),
            // The end of another one.
            _ => {
                let other = &inputs[random.below(inputs.len())].1;
                input.truncate(at);
                input.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
        }
    }
    input.truncate(8192);
    input
}

fn run(target: &str, body: fn(&[u8]), changes: usize) {
    let inputs = inputs(target);
    assert!(inputs.len() >= 50, "the stored corpus of {target} has {} inputs", inputs.len());
    let one = |name: &str, input: &[u8]| {
        let outcome = catch_unwind(AssertUnwindSafe(|| body(input)));
        assert!(outcome.is_ok(), "{target} fails on {name}: {}", hex::encode(input));
    };
    inputs.iter().for_each(|(name, input)| one(name, input));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..changes {
        one(&format!("change {number}"), &changed(&inputs, &mut random));
    }
    memory_is_bounded();
}

/// Nothing in these inputs is worth a gigabyte: what a hostile number asks for is not taken.
fn memory_is_bounded() {
    // Linux says what a process took at most; elsewhere nobody asks.
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|line| line.split_whitespace().next()).unwrap();
    let peak_kib: u64 = peak.parse().unwrap();
    assert!(peak_kib < 1 << 20, "{peak_kib} KiB at the peak");
}

#[test]
fn hostile_files_are_read_in_bounds() {
    run("array_record_read", targets::array_record_read::run, 4000);
}

#[test]
fn records_come_back_and_damage_is_noticed() {
    run("array_record_round_trip", targets::array_record_round_trip::run, 400);
}
