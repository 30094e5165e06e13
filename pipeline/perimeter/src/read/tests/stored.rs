//! The fuzz targets of the text readers on their stored inputs, and on seeded changes of them. How to fuzz in earnest is in `tests/fuzz/README.md`.
use super::*;

#[path = "../../../../../tests/fuzz/text/src/bodies.rs"]
mod bodies;

/// As the harness of the fuzz targets does, with the whole of *read*.
fn read(bench: &Bench, case: &bodies::Case, block: usize, batch_rows: usize) -> bodies::Outcome {
    let (out, refusal) = bench.in_blocks_of(&case.source, &case.bytes, block, batch_rows, case.max_record_bytes);
    let (out, tally) = match refusal {
        Ok(tally) => (out, tally),
        Err(Error::Failed(failure)) => return bodies::Outcome { refusal: Some(failure.code), ..bodies::Outcome::default() },
        Err(Error::Contract(_)) => panic!(),
    };
    let rejected: Vec<u64> = out.rejected.iter().map(|(number, ..)| *number).collect();
    // Rows have no numbers here: they take those that are left, which is right unless records are passed over.
    let numbers = (1..=tally.rows_read + tally.rows_passed_over).filter(|number| !rejected.contains(number));
    let mut records: Vec<(u64, bodies::Verdict)> = numbers.zip(out.rows.into_iter().map(Ok)).collect();
    records.extend(out.rejected.into_iter().map(|(number, codes, raw)| (number, Err((codes, raw)))));
    records.sort_by_key(|(number, _)| *number);
    bodies::Outcome { records, passed_over: tally.rows_passed_over, added_fields: tally.rows_with_added_fields, refusal: None }
}

/// Inputs in the order of their names, so that a seed means the same everywhere.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/text");
    let mut paths = Vec::new();
    for kind in ["corpus", "regressions"] {
        // There need not be regressions of a target.
        paths.extend(std::fs::read_dir(fuzz.join(kind).join(target)).into_iter().flatten().map(|file| file.unwrap().path()));
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n.max(1) as u64).unwrap()
    }
}

fn run(target: &str, body: fn(&[u8], bodies::Reader<'_>), changes: usize) {
    let bench = Bench::new();
    bench.write("in", "x");
    let uri = Uri(bench.folder.path().join("in").to_str().unwrap().into());
    let reader = |case: &bodies::Case, block: usize, batch_rows: usize| {
        let case =
            bodies::Case { source: Source { uri: uri.clone(), ..case.source.clone() }, bytes: case.bytes.clone(), max_record_bytes: case.max_record_bytes };
        read(&bench, &case, block, batch_rows)
    };
    let inputs = inputs(target);
    assert!(inputs.len() >= 20, "the stored corpus of {target} has {} inputs", inputs.len());
    inputs.iter().for_each(|input| body(input, &reader));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..changes {
        let mut input = inputs[random.below(inputs.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(input.len() + 1);
            let end = at + random.below((input.len() - at).min(16) + 1);
            match random.below(5) {
                0 if at < input.len() => input[at] ^= 1 << random.below(8),
                1 => input.insert(at, b"\n\",{}[]\\\xff\xc3 1"[random.below(12)]),
                2 => drop(input.drain(at..end)),
                3 => input.extend_from_within(at..end),
                _ => {
                    let other = &inputs[random.below(inputs.len())];
                    input.truncate(at);
                    input.extend_from_slice(&other[random.below(other.len() + 1)..]);
                }
            }
        }
        input.truncate(2048);
        body(&input, &reader);
    }
    // And bytes of no kind.
    for _ in 0..changes / 5 {
        let input: Vec<u8> = (0..random.below(200)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        body(&input, &reader);
    }
}

#[test]
fn stored_csv() {
    run("csv", bodies::csv, 500);
}

#[test]
fn stored_json() {
    run("json", bodies::json, 500);
}

#[test]
fn stored_fixed_width() {
    run("fixed_width", bodies::fixed_width, 500);
}
