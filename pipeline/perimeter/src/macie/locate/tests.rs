use super::*;
use perimeter_contract::job::{JsonOptions, TextOptions};
use perimeter_contract::schema::{Column, DataType};

fn columns(format: &Format, paths: &[&[&str]]) -> Columns {
    let column = |path: &&[&str]| Column { path: path.iter().map(|name| (*name).to_owned()).collect(), ..Column::new(path.join("."), DataType::String) };
    Columns::new(&Schema::new("s", paths.iter().map(column).collect()), format)
}

fn csv(header: bool, change: impl FnOnce(&mut CsvOptions)) -> Format {
    let mut options = CsvOptions { delimiter: b',', quote: Some(b'"'), escape: None, comment: None, header, text: TextOptions::default() };
    change(&mut options);
    Format::Csv(options)
}

fn json() -> Format {
    Format::Json(JsonOptions::default())
}

fn cell(column: Option<i64>, name: Option<&str>, reference: Option<&str>) -> Location {
    Location::Cell { column, name: name.map(str::to_owned), reference: reference.map(str::to_owned) }
}

fn record(path: &str) -> Location {
    Location::Record { path: Some(path.to_owned()) }
}

const FLAT: &[&[&str]] = &[&["id"], &["cpf"], &["memo"]];

#[test]
fn a_header_names_the_column_and_position_does_not() {
    // The file's order is not the contract's: our reader goes by name too.
    let columns = columns(&csv(true, |_| {}), FLAT);
    let cases = [
        (cell(Some(1), Some("cpf"), None), Place::Column(1)),
        (cell(None, Some("memo"), None), Place::Column(2)),
        (cell(Some(1), Some("\u{feff}id"), None), Place::Column(0)),
        (cell(Some(1), Some(" cpf "), None), Place::Column(1)),
        (cell(Some(2), None, None), Place::Nowhere),
        (cell(Some(2), Some("CPF"), None), Place::Nowhere),
        (cell(Some(1), Some("id;cpf;memo"), None), Place::Nowhere),
        (cell(Some(2), Some(""), None), Place::Nowhere),
        (cell(None, None, Some("B7")), Place::Nowhere),
    ];
    for (location, place) in cases {
        assert_eq!(columns.place(&location), place);
    }
}

#[test]
fn without_a_header_position_counts_where_macie_cuts_as_we_do() {
    let by_position = columns(&csv(false, |_| {}), FLAT);
    let cases = [
        (cell(Some(1), None, None), Place::Column(0)),
        // The first row's value, taken for a name.
        (cell(Some(3), Some("39053344705"), None), Place::Column(2)),
        (cell(None, None, Some("Sheet2!B5")), Place::Column(1)),
        (cell(Some(0), None, None), Place::Nowhere),
        (cell(Some(-1), None, None), Place::Nowhere),
        (cell(Some(i64::MIN), None, None), Place::Nowhere),
        (cell(Some(i64::MAX), None, None), Place::Nowhere),
        (cell(Some(4), None, None), Place::Nowhere),
        (cell(None, None, None), Place::Nowhere),
        (Location::Lines { start: 1, end: 1 }, Place::Nowhere),
    ];
    for (location, place) in cases {
        assert_eq!(by_position.place(&location), place);
    }
    let tab = columns(&csv(false, |o| o.delimiter = b'\t'), FLAT);
    assert_eq!(tab.place(&cell(Some(2), None, None)), Place::Column(1));
    let others: [fn(&mut CsvOptions); 4] = [|o| o.delimiter = b';', |o| o.quote = None, |o| o.escape = Some(b'\\'), |o| o.comment = Some(b'#')];
    for change in others {
        assert_eq!(columns(&csv(false, change), FLAT).place(&cell(Some(2), None, None)), Place::Nowhere);
    }
    assert_eq!(columns(&Format::Parquet, FLAT).place(&cell(Some(2), Some("cpf"), None)), Place::Nowhere, "cells of a file that has none");
}

#[test]
fn the_header_line_is_told_from_data() {
    let columns = columns(&csv(true, |_| {}), FLAT);
    for (start, end, place) in
        [(1, 1, Place::Header), (0, 0, Place::Header), (1, 2, Place::Nowhere), (2, 2, Place::Nowhere), (i64::MAX, i64::MAX, Place::Nowhere)]
    {
        assert_eq!(columns.place(&Location::Lines { start, end }), place);
    }
    assert_eq!((columns.place(&Location::Page), columns.place(&Location::Offset)), (Place::Nowhere, Place::Nowhere));
}

#[test]
fn references() {
    for (text, column) in [
        ("Sheet2!C5", Some(3)),
        ("A1", Some(1)),
        ("$AA$10", Some(27)),
        ("xfd1", Some(16_384)),
        ("Sheet!", None),
        ("12", None),
        ("ABCDE1", None),
        ("", None),
        ("é1", None),
    ] {
        assert_eq!(column_of_reference(text), column, "{text}");
    }
}

#[test]
fn paths() {
    let parsed = |text: &str| JsonPath::parse(text).map(|path| (path.rooted, path.torn, path.names.join("|")));
    let cases = [
        ("$.a.b", Some((true, false, "a|b"))),
        ("$['a']['b c']", Some((true, false, "a|b c"))),
        ("$[\"a\"].b", Some((true, false, "a|b"))),
        ("$[0].a[12][*].b", Some((true, false, "a|b"))),
        ("$['it\\'s']", Some((true, false, "it's"))),
        ("$['a.b']['c[0]']", Some((true, false, "a.b|c[0]"))),
        (".a.b", Some((false, false, "a|b"))),
        ("['a']['b']", Some((false, false, "a|b"))),
        ("ame']['b']", Some((false, true, "ame|b"))),
        ("ame.b", Some((false, true, "ame|b"))),
        ("12].b", Some((false, true, "b"))),
        ("...ame.b", Some((false, true, "ame|b"))),
        ("$", None),
        ("", None),
        ("$..a", None),
        ("$.", None),
        ("$['a", None),
        ("$['a'", None),
        ("$[", None),
        ("$[a]", None),
        ("$x", None),
        ("$.a]b[", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parsed(text), expected.map(|(rooted, torn, names)| (rooted, torn, names.to_owned())), "{text}");
    }
}

#[test]
fn whole_paths_fit_exactly() {
    let columns = columns(&json(), &[&["cpf"], &["customer", "cpf"], &["parties", "cpf"], &["customer", "phones"], &["dotted.name"]]);
    let cases = [
        ("$.cpf", Place::Column(0)),
        ("$.customer.cpf", Place::Column(1)),
        ("$['customer']['cpf']", Place::Column(1)),
        ("$.parties[7].cpf", Place::Column(2)),
        ("$.customer.phones[0]", Place::Column(3)),
        ("$.dotted.name", Place::Column(4)),
        ("$['dotted.name']", Place::Column(4)),
        ("$.phones", Place::Nowhere),
        ("$.customer", Place::Nowhere),
        ("$.x.cpf", Place::Nowhere),
        ("$.customer.cpf.x", Place::Nowhere),
        ("$.CPF", Place::Nowhere),
        // No root: the end of something, which three columns have, or one.
        (".cpf", Place::Nowhere),
        ("stomer.cpf", Place::Column(1)),
        (".phones", Place::Column(3)),
    ];
    for (text, place) in cases {
        assert_eq!(columns.place(&record(text)), place, "{text}");
    }
    assert_eq!(columns.place(&Location::Record { path: None }), Place::Nowhere, "left out because a name in it is sensitive");
}

#[test]
fn paths_cut_from_the_front_fit_by_their_end() {
    let (deep, wide) = ("d".repeat(120), "w".repeat(239));
    let paths: &[&[&str]] = &[&[&deep, "other", "zip"], &[&wide, "zip", "code"], &["zip"]];
    let columns = columns(&json(), paths);
    assert_eq!(columns.place(&record("$.zip")), Place::Column(2), "too short to be the end of a path that was cut");
    assert_eq!(columns.place(&record(&format!("$.{deep}.other.zip"))), Place::Column(0));
    // Macie keeps whole elements, with or without the root, or cuts inside of one.
    for text in ["$.zip.code", ".zip.code", "['zip']['code']", "www']['zip']['code']", "www.zip[3].code"] {
        assert_eq!(columns.place(&record(text)), Place::Column(1), "{text}");
    }
    let ambiguous = [&[deep.as_str(), "one", "name"][..], &[&wide, "two", "name"]];
    let columns = self::columns(&json(), &[ambiguous[0], &["a", &wide, "name"], ambiguous[1]]);
    assert_eq!(columns.place(&record(".name")), Place::Nowhere, "three paths end so");
    assert_eq!(columns.place(&record(".two.name")), Place::Column(2));
}

#[test]
fn names_cut_to_240_characters() {
    let long: String = (0..300).map(|i| char::from(b'a' + (i % 26) as u8)).collect();
    let columns = columns(&json(), &[&[&long], &["b"]]);
    assert_eq!(columns.place(&record(&format!("$['{}']", &long[60..]))), Place::Column(0));
    assert_eq!(columns.place(&record(&format!("$['{}']", &long[61..]))), Place::Nowhere, "Macie would have left 240");
}

#[test]
fn a_rooted_path_that_may_be_cut_is_not_guessed() {
    let wide = "w".repeat(245);
    let columns = columns(&json(), &[&["cpf"], &[&wide, "cpf"]]);
    assert_eq!(columns.place(&record("$.cpf")), Place::Nowhere, "the one, or the end of the other");
}

#[test]
fn list_levels_of_parquet_are_passed_over() {
    let columns = columns(&Format::Parquet, &[&["tags"], &["parties", "cpf"], &["list", "element"]]);
    for (text, place) in [
        ("$.tags.list[0].element", Place::Column(0)),
        ("$['parties']['list']['element']['cpf']", Place::Column(1)),
        ("$.parties.bag.array_element.cpf", Place::Column(1)),
        ("$.list.element", Place::Column(2)),
        ("$.tags.element", Place::Nowhere),
    ] {
        assert_eq!(columns.place(&record(text)), place, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_odd(text in "[$.\\[\\]'\"a-c0-9é\\\\*]{0,24}", start in proptest::prelude::any::<i64>()) {
        let columns = columns(&json(), &[&["a"], &["a", "b"], &["é"]]);
        columns.place(&record(&text));
        columns.place(&Location::Lines { start, end: start });
        column_of_reference(&text);
    }
}
