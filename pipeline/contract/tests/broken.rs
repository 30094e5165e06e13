//! One small broken file for each code, and what is said about it.
use insta::assert_snapshot;
use perimeter_contract::{Diagnostics, codes, load, load_policy, load_schema};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Relative to the crate, where cargo runs tests: the paths in the messages are the same on every machine.
const FOLDER: &str = "tests/broken";

/// Their files are made by the tests in `load.rs`, and `internal` is what must not happen.
const WITHOUT_FILE: [&str; 3] = ["file-too-large", "too-many-mistakes", "internal"];

fn files(kind: &str) -> Vec<(String, PathBuf)> {
    let suffix = format!(".{kind}.yaml");
    let mut files: Vec<(String, PathBuf)> = std::fs::read_dir(FOLDER)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
        .filter_map(|name| Some((name.strip_suffix(&suffix)?.to_owned(), Path::new(FOLDER).join(&name))))
        .collect();
    files.sort();
    files
}

fn mistakes(kind: &str, path: &Path) -> Option<Diagnostics> {
    match kind {
        "job" => load(path, &BTreeMap::new()).err(),
        "policy" => load_policy(path).err(),
        _ => load_schema(path).err(),
    }
}

/// All texts of one kind of file; every file must show the code that it is named after.
fn report(kind: &str) -> String {
    let mut out = String::new();
    for (name, path) in files(kind) {
        let Some(diagnostics) = mistakes(kind, &path) else {
            assert_eq!(name, "good", "{name} was accepted");
            continue;
        };
        assert_ne!(name, "good", "{diagnostics}");
        let shown: Vec<&str> = diagnostics.list.iter().map(|diagnostic| diagnostic.code).collect();
        assert!(shown.contains(&name.as_str()) || codes::ALL.iter().all(|code| *code != name), "{name} shows {shown:?}\n{diagnostics}");
        let _ = writeln!(out, "# {name}\n{}", diagnostics.render());
    }
    out
}

#[test]
fn jobs() {
    assert_snapshot!(report("job"));
}

#[test]
fn policies() {
    assert_snapshot!(report("policy"));
}

#[test]
fn schemas() {
    assert_snapshot!(report("odcs"));
}

#[test]
fn every_code_has_a_file() {
    let named: BTreeSet<String> = ["job", "policy", "odcs"].iter().flat_map(|kind| files(kind)).map(|(name, _)| name).collect();
    let missing: Vec<&&str> = codes::ALL.iter().filter(|code| !named.contains(**code) && !WITHOUT_FILE.contains(code)).collect();
    assert!(missing.is_empty(), "no broken file for {missing:?}");
}

#[test]
fn codes_are_kebab_case_unique_and_explained() {
    let text = std::fs::read_to_string("CODES.md").expect("CODES.md is there");
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings, codes::ALL, "CODES.md has a heading for each code, in the same order");
    assert_eq!(codes::ALL.iter().collect::<BTreeSet<_>>().len(), codes::ALL.len(), "a code is there twice");
    for code in codes::ALL {
        let words: Vec<&str> = code.split('-').collect();
        assert!(words.iter().all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())), "{code}");
    }
}
