//! The example files of the repository load.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every value that a parameter of an example may need.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let required = text.lines().find_map(|line| line.strip_prefix("parameters: {")).unwrap_or("");
    let names = required.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once(':')).filter(|(_, value)| value.trim() == "required");
    names.map(|(name, _)| (name.trim().to_owned(), "2026-11-30".to_owned())).collect()
}

#[test]
fn example_jobs_load() {
    let folder = repository().join("pipeline/jobs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the jobs are there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the job is readable");
        if let Err(diagnostics) = perimeter_contract::load(&path, &parameters(&text)) {
            panic!("{diagnostics}");
        }
        count += 1;
    }
    assert!(count > 0, "no example jobs");
}
