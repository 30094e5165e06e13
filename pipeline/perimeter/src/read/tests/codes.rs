//! Every code that a record can be rejected with is explained in `docs/ingest.md`.
use super::super::RECORD_CODES;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../../docs/ingest.md");

/// Codes in the first cells of the document's tables of codes.
fn explained() -> BTreeSet<&'static str> {
    let section = DOCUMENT.split("### Codes of rejected records").nth(1).expect("the section of codes");
    let section = section.split("\n#").next().unwrap_or_default();
    let cells = section.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    cells.flat_map(|cell| cell.split(',')).map(|code| code.trim().trim_matches('`')).collect()
}

/// What stands between quotes in lines that have this, up to the end of a function.
fn quoted<'t>(source: &'t str, line_has: &str) -> impl Iterator<Item = &'t str> {
    source.lines().filter(move |line| line.contains(line_has)).filter_map(move |line| line.split('"').nth(1))
}

#[test]
fn codes_of_records_are_explained() {
    let explained = explained();
    let missing: Vec<_> = RECORD_CODES.iter().filter(|code| !explained.contains(*code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let readers = [
        include_str!("../csv.rs"),
        include_str!("../fixed_width.rs"),
        include_str!("../json.rs"),
        include_str!("../json_array.rs"),
        include_str!("../text.rs"),
    ];
    let given: BTreeSet<&str> = readers.iter().flat_map(|source| source.split("code: \"").skip(1)).filter_map(|rest| rest.split('"').next()).collect();
    // A fault of the file as a whole has a code too, in upper case constants: those end the unit and reject no record.
    let faults = ["unaligned-records", "torn-array", "trailing-data"];
    let unknown: Vec<_> = given.iter().filter(|code| !RECORD_CODES.contains(code) && !faults.contains(code)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(given.contains("ragged") && given.contains("unknown-record-type"), "the readers are searched: {given:?}");
}

#[test]
fn codes_of_columns_are_explained() {
    let checks = include_str!("../../../../contract/src/schema.rs").split("pub fn code(&self) -> &'static str {").nth(1).expect("the codes of checks");
    let checks = checks.split("\n    }\n").next().unwrap_or_default();
    let own = ["type", "ambiguous-time", "required", "item-required", "partition", "unique", "references"];
    let explained = explained();
    let all: Vec<&str> = quoted(checks, " => ").chain(own).collect();
    assert!(all.len() > 20 && all.contains(&"check-digit"), "{all:?}");
    let missing: Vec<_> = all.into_iter().filter(|code| !explained.contains(format!(".{code}").as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
