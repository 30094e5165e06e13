//! Whatever the records are: the proposal loads, `check` with it rejects no record but those that the proposal counts, and no value is in it.
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

/// One column's cells.
fn cells(rows: usize) -> BoxedStrategy<Vec<String>> {
    let of = |cell: BoxedStrategy<String>| vec(cell, rows).boxed();
    let dates =
        |pattern: &'static str| (0i64..40_000).prop_map(move |day| chrono::DateTime::from_timestamp(day * 86_400, 0).unwrap().format(pattern).to_string());
    let marked = |cell: BoxedStrategy<String>| {
        (cell, prop::sample::select(vec!["", "NA", "N/A", "NULL", "-", "nan", "?"]), 0u8..4)
            .prop_map(|(cell, marker, which)| if which == 0 { marker.to_owned() } else { cell })
    };
    let number = || any::<i64>().prop_map(|n| n.to_string()).boxed();
    let decimal = |comma: bool| (any::<i32>(), 0u32..100).prop_map(move |(whole, cents)| format!("{whole}{}{cents:02}", if comma { ',' } else { '.' })).boxed();
    prop_oneof![
        of(number()),
        of(decimal(false)),
        of(decimal(true)),
        of(marked(number()).boxed()),
        of(marked(decimal(true)).boxed()),
        of(any::<f64>().prop_map(|n| n.to_string()).boxed()),
        of("0[0-9]{1,12}".boxed()),
        of("[0-9]{30,60}".boxed()),
        of("(R\\$ ?|\\$|€)?-?[0-9]{1,3}([.,][0-9]{3}){0,2}([.,][0-9]{1,4})?".boxed()),
        of(dates("%Y-%m-%d").boxed()),
        of(dates("%d/%m/%Y").boxed()),
        of(dates("%m/%d/%y").boxed()),
        of(dates("%Y%m%d").boxed()),
        of(marked(dates("%d.%m.%Y %H:%M:%S").boxed()).boxed()),
        of(prop_oneof![dates("%Y-%m-%dT%H:%M:%S"), dates("%Y-%m-%dT%H:%M:%S-03:00"), dates("%Y-%m-%dT%H:%M:%S%.6fZ")].boxed()),
        of(prop_oneof![dates("%Y-%m-%d").boxed(), dates("%d/%m/%Y").boxed(), number()].boxed()),
        of(prop::sample::select(vec!["true", "false", "TRUE", ""]).prop_map(str::to_owned).boxed()),
        of("\\PC{0,20}".boxed()),
        of("[ \"',;\\n\\r\\t|a-z0-9]{0,12}".boxed()),
        of(Just(String::new()).boxed()),
    ]
    .boxed()
}

/// Columns of as many cells each.
fn table() -> impl Strategy<Value = Vec<Vec<String>>> {
    (0usize..24).prop_flat_map(|rows| vec(cells(rows), 1..6))
}

fn quoted(cell: &str, always: bool, delimiter: char) -> String {
    let needed = cell.is_empty() || cell.contains(['"', '\n', '\r', delimiter]);
    if always || needed { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// Short cells can stand in any text by chance.
fn shows_none(text: &str, cells: impl Iterator<Item = String>) -> Result<(), TestCaseError> {
    for cell in cells.filter(|cell| cell.trim().chars().count() >= 7 && cell.chars().any(char::is_alphanumeric)) {
        prop_assert!(!text.contains(cell.trim()), "a cell is in\n{}", text);
    }
    Ok(())
}

/// Rejections of the check are what the proposal has counted.
fn agree(bench: &Bench, proposal: &Proposal) -> Result<(), TestCaseError> {
    let tally = bench.check(proposal);
    let source = format!("{}.", bench.loaded(proposal).name);
    let found: BTreeMap<String, u64> = tally.rejections.iter().map(|(code, rows)| (code.trim_start_matches(&source).to_owned(), *rows)).collect();
    prop_assert_eq!(&found, &proposal.unreadable, "{}", proposal.yaml);
    prop_assert_eq!(tally.rows_read, proposal.rows);
    Ok(())
}

fn object(depth: u32) -> BoxedStrategy<Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "2[0-9]{3}-0[1-9]-[0-2][1-8]".prop_map(Value::from),
    ];
    let value = if depth == 0 {
        plain.boxed()
    } else {
        prop_oneof![4 => plain.clone(), 1 => object(depth - 1), 1 => vec(plain, 0..3).prop_map(Value::from), 1 => vec(object(depth - 1), 0..3).prop_map(Value::from)].boxed()
    };
    prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c d", "é", "n.m"]), value, 0..4)
        .prop_map(|members| Value::from(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>()))
        .boxed()
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.values().for_each(|value| texts(value, found)),
        Value::Array(items) => items.iter().for_each(|value| texts(value, found)),
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn csv(table in table(), delimiter in prop::sample::select(vec![',', ';', '\t', '|']), always in any::<bool>(), crlf in any::<bool>(), header in any::<bool>(), utf16 in any::<bool>()) {
        let bench = Bench::new();
        let rows = table[0].len();
        prop_assume!(header || rows > 0);
        let end = if crlf { "\r\n" } else { "\n" };
        let names: Vec<String> = (0..table.len()).map(|at| format!("field {at}")).collect();
        let mut text = if header { names.join(&delimiter.to_string()) + end } else { String::new() };
        for row in 0..rows {
            let record: Vec<String> = table.iter().map(|column| quoted(&column[row], always, delimiter)).collect();
            text += &(record.join(&delimiter.to_string()) + end);
        }
        let bytes = if utf16 { std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect() } else { text.into_bytes() };
        let path = bench.write("in.csv", bytes);
        let request = Request { header: Some(header), delimiter: Some(delimiter as u8), ..asked(&[&path]) };
        let proposal = propose(&bench.stores, &request).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
        prop_assert_eq!((proposal.rows, &proposal.unreadable), (rows as u64, &BTreeMap::new()));
        agree(&bench, &proposal)?;
        shows_none(&(proposal.yaml + &proposal.source_line), table.into_iter().flatten())?;
    }

    #[test]
    fn what_is_no_csv_at_all(bytes in vec(any::<u8>(), 0..200), text in "[a-c0-3\",;\\n\\r .]{0,120}", raw in any::<bool>()) {
        let bench = Bench::new();
        let path = bench.write("in.csv", if raw { bytes } else { text.into_bytes() });
        // A refusal is an answer; a panic is none.
        if let Ok(proposal) = bench.infer(&path) {
            agree(&bench, &proposal)?;
        }
    }

    #[test]
    fn json(records in vec(object(2), 1..8), array in any::<bool>()) {
        let bench = Bench::new();
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        let path = bench.write("in.json", if array { format!("[{}]", lines.join(",")) } else { lines.join("\n") });
        match bench.infer(&path) {
            Ok(proposal) => {
                prop_assert_eq!(proposal.rows, records.len() as u64);
                agree(&bench, &proposal)?;
                let mut found = Vec::new();
                records.iter().for_each(|record| texts(record, &mut found));
                shows_none(&(proposal.yaml + &proposal.source_line), found.into_iter())?;
            }
            Err(error) => {
                let nothing = matches!(&error, Error::Failed(failure) if failure.code == "nothing-readable");
                prop_assert!(nothing, "{:?}", error);
            }
        }
    }
}
