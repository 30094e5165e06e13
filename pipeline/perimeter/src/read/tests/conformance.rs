//! Files that nobody here wrote: every one is read, or refused with a message that names it; nothing panics, no row is lost without a count.
use super::super::csv::Csv;
use super::super::text::{Blocks, Step};
use super::*;
use std::collections::BTreeMap as Map;

pub(super) fn files(suite: &str, extensions: &[&str]) -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/conformance").join(suite);
    let (mut found, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if extensions.iter().any(|e| path.to_str().is_some_and(|p| p.ends_with(e))) {
                found.push(path);
            }
        }
    }
    found.sort();
    Some(found)
}

#[expect(clippy::print_stderr, reason = "the tally of a suite, or that it was skipped")]
pub(super) fn say(text: &str) {
    eprintln!("{text}");
}

/// A contract that takes any csv: as many text columns as its first record has cells.
fn any_csv(bench: &Bench, path: &Path) -> Source {
    let mut source = csv_source(path, &[]);
    let mut options = csv_options();
    options.header = false;
    let file = bench.stores.list(&source.uri).unwrap().remove(0);
    let width = super::super::decompress::open_text(&bench.stores, &file, &Part::Whole, options.text.encoding).ok().map_or(1, |opened| {
        let mut blocks = Blocks::new(Csv::new(&options, None, opened.decoding.table()), &file, opened, 0);
        loop {
            match blocks.step() {
                Ok(Some(Step::Record { .. })) => return blocks.tokenizer.cells(blocks.buffer()).count(),
                Ok(Some(Step::Blank { end } | Step::Bad { end, .. })) => blocks.pass(end),
                _ => return 1,
            }
        }
    });
    source.format = Format::Csv(options);
    source.schema.columns = (0..width).map(|at| column(&format!("c{at}"), DataType::String)).collect();
    source
}

#[test]
fn csv_suites() {
    let bench = Bench::new();
    for suite in ["csv-spectrum", "duckdb", "frictionless", "rust-csv", "turicas-rows"] {
        let Some(files) = files(suite, &[".csv", ".tsv", ".csv.gz", ".csv.zst", ".csv.bz2"]) else {
            say(&format!("skipped: ../shared/corpora/conformance/{suite} is not there"));
            continue;
        };
        let mut tally = Map::<String, usize>::new();
        for path in &files {
            let source = any_csv(&bench, path);
            let verdict = match bench.read(&source) {
                Ok((out, _)) if out.rejected.is_empty() => "all rows read".to_owned(),
                Ok(_) => "read, some records rejected".to_owned(),
                Err(Error::Failed(failure)) => {
                    assert!(failure.message.contains(path.file_name().unwrap().to_str().unwrap()), "{}", failure.message);
                    assert!(matches!(failure.culprit, Culprit::Data | Culprit::File), "{failure:?}");
                    failure.code.to_owned()
                }
                Err(Error::Contract(_)) => panic!(),
            };
            *tally.entry(verdict).or_default() += 1;
        }
        say(&format!("{suite}: {} files, {tally:?}", files.len()));
    }
}
