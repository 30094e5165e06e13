use super::*;
use arrow::array::AsArray;
use arrow::util::display::array_value_to_string;
use perimeter_contract::job::TextOptions;
use perimeter_contract::schema::{Check, CheckDigit, DateFormat, Decimal, ValueRule};

fn typed<'a>(data_type: &DataType, cells: &[Cell<'a>]) -> (Vec<Option<String>>, Vec<u32>, Vec<u32>) {
    typed_with(data_type, None, cells)
}

fn typed_with(data_type: &DataType, prefix: Option<&str>, cells: &[Cell<'_>]) -> (Vec<Option<String>>, Vec<u32>, Vec<u32>) {
    let options = TextOptions { number_prefix: prefix.map(str::to_owned), ..TextOptions::default() };
    let mut typing = Typing::new(data_type, Some(NumberStyle::of(&options)));
    typing.extend(cells.iter().copied());
    let typed = typing.finish();
    assert_eq!(typed.array.data_type(), &arrow_type(data_type));
    let values = (0..typed.array.len()).map(|row| typed.array.is_valid(row).then(|| array_value_to_string(&typed.array, row).unwrap())).collect();
    (values, typed.untyped, typed.ambiguous)
}

fn one(data_type: &DataType, cell: &str) -> Option<String> {
    let (values, untyped, _) = typed(data_type, &[Cell::Text(cell)]);
    assert_eq!(values[0].is_none(), untyped == [0], "a cell is a value or no value of the type");
    values.into_iter().next().flatten()
}

fn money() -> DataType {
    DataType::Decimal { precision: 18, scale: 2 }
}

#[test]
fn decimals_are_exact_or_none() {
    for (text, value) in [
        ("0", "0.00"),
        ("-0", "0.00"),
        ("12.5", "12.50"),
        ("007.10", "7.10"),
        (".5", "0.50"),
        ("-12.34", "-12.34"),
        ("+12.34", "12.34"),
        ("9999999999999999.99", "9999999999999999.99"),
        ("-9999999999999999.99", "-9999999999999999.99"),
    ] {
        assert_eq!(one(&money(), text).as_deref(), Some(value), "{text}");
    }
    for text in [
        "",
        " 1",
        "1 ",
        "+-1",
        "--1",
        "1.",
        ".",
        "-",
        "1.234",
        "1.500",
        "1,5",
        "1e2",
        "10000000000000000.00",
        "NaN",
        "0x1",
        "1.2.3",
        "١",
        "1_0",
        "$1",
        "9".repeat(400).as_str(),
    ] {
        assert_eq!(one(&money(), text), None, "{text}");
    }
    let wide = DataType::Decimal { precision: 38, scale: 0 };
    assert_eq!(one(&wide, &"9".repeat(38)).unwrap(), "9".repeat(38));
    assert_eq!(one(&wide, &"9".repeat(39)), None);
    let all_fraction = DataType::Decimal { precision: 38, scale: 38 };
    assert_eq!(one(&all_fraction, "1"), None);
    assert_eq!(one(&all_fraction, &format!("0.{}", "9".repeat(38))).unwrap(), format!("0.{}", "9".repeat(38)));
}

#[test]
fn prefixes_stand_before_or_after_the_sign() {
    for (text, value) in
        [("$12.50", Some("12.50")), ("$-12.50", Some("-12.50")), ("-$12.50", Some("-12.50")), ("12.50", Some("12.50")), ("-12.50", Some("-12.50"))]
    {
        assert_eq!(typed_with(&money(), Some("$"), &[Cell::Text(text)]).0[0].as_deref(), value, "{text}");
    }
    for text in ["-$-1", "$$1", "$--1", "1$", "$", "-$", "$ 1", "R$1"] {
        assert_eq!(typed_with(&money(), Some("$"), &[Cell::Text(text)]).1, [0], "{text}");
    }
    assert_eq!(typed_with(&DataType::Int32, Some("R$"), &[Cell::Text("R$-7")]).0[0].as_deref(), Some("-7"));
    assert_eq!(typed_with(&DataType::Float64, Some("$"), &[Cell::Text("-$1.5")]).0[0].as_deref(), Some("-1.5"));
}

#[test]
fn integers_fit_or_are_none() {
    for (text, value) in [
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("0000000000000000000000042", 42),
        ("-0", 0),
        ("1627668684594000000", 1_627_668_684_594_000_000),
    ] {
        assert_eq!(one(&DataType::Int64, text), Some(value.to_string()), "{text}");
    }
    for text in ["9223372036854775808", "-9223372036854775809", "1.0", "1e3", "+-1", "", "-", "1 ", "\u{ff11}", "1".repeat(90).as_str()] {
        assert_eq!(one(&DataType::Int64, text), None, "{text}");
    }
    assert_eq!(one(&DataType::Int32, "-2147483648").as_deref(), Some("-2147483648"));
    assert_eq!(one(&DataType::Int32, "2147483648"), None);
}

#[test]
fn floats_and_booleans() {
    for (text, value) in [("1.5", "1.5"), ("-0.1", "-0.1"), ("1e3", "1000.0"), ("2E-3", "0.002"), (".5", "0.5"), ("9007199254740993", "9007199254740992.0")] {
        assert_eq!(one(&DataType::Float64, text).as_deref(), Some(value), "{text}");
    }
    for text in ["NaN", "nan", "inf", "-inf", "infinity", "1e999", "0x1p3", "", "++1", "1.", "--1", "1e", "1-2", " 1"] {
        assert_eq!(one(&DataType::Float64, text), None, "{text}");
    }
    assert_eq!(one(&DataType::Boolean, "TRUE").as_deref(), Some("true"));
    assert_eq!(one(&DataType::Boolean, "False").as_deref(), Some("false"));
    for text in ["1", "0", "yes", "t", "", "true "] {
        assert_eq!(one(&DataType::Boolean, text), None, "{text}");
    }
}

#[test]
fn a_text_column_takes_text_only_and_as_it_is() {
    let cells = [Cell::Text("007"), Cell::Text(""), Cell::Null, Cell::Number("7"), Cell::Boolean(true), Cell::Nested, Cell::JsonText(" é ")];
    let (values, untyped, _) = typed(&DataType::String, &cells);
    assert_eq!(values, [Some("007".into()), Some(String::new()), None, None, None, None, Some(" é ".into())]);
    assert_eq!(untyped, [3, 4, 5]);
}

#[test]
fn json_numbers_keep_every_digit() {
    let (values, untyped, _) = typed(
        &DataType::Decimal { precision: 20, scale: 0 },
        &[
            Cell::Number("9007199254740993"),
            Cell::Number("1e3"),
            Cell::Number("12e-1"),
            Cell::Number("120e-1"),
            Cell::Number("1E400"),
            Cell::Number("0e9999"),
            Cell::Number("1e-1000"),
        ],
    );
    assert_eq!(values, [Some("9007199254740993".into()), Some("1000".into()), None, Some("12".into()), None, None, None]);
    assert_eq!(untyped, [2, 4, 5, 6]);
    let (values, ..) = typed(
        &DataType::Decimal { precision: 18, scale: 2 },
        &[Cell::Number("1.234e1"), Cell::Number("0.000e5"), Cell::Number("-2.5e0"), Cell::JsonText("12.30")],
    );
    assert_eq!(values, [Some("12.34".into()), Some("0.00".into()), Some("-2.50".into()), Some("12.30".into())]);
    // A string is no float and no boolean; a number is no date.
    assert_eq!(typed(&DataType::Float64, &[Cell::JsonText("1.5")]).1, [0]);
    assert_eq!(typed(&DataType::Boolean, &[Cell::JsonText("true")]).1, [0]);
    assert_eq!(typed(&DataType::Date { format: DateFormat::iso_date() }, &[Cell::Number("20200101")]).1, [0]);
    // An integer is written as one, whatever value another spelling has.
    let spellings = ["1.0", "1e3", "1E0", "10e-1", "0e0", "-0.0"].map(Cell::Number);
    for integer in [DataType::Int32, DataType::Int64] {
        assert_eq!(typed(&integer, &spellings).1, [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn times_in_zones() {
    let at = |zone: Zone, cell: &str| {
        let (values, untyped, ambiguous) = typed(&DataType::Timestamp { format: DateFormat::iso_timestamp(), zone }, &[Cell::Text(cell)]);
        (values[0].clone(), untyped.len(), ambiguous.len())
    };
    let sao_paulo = || Zone::Utc { default: Some(chrono_tz::America::Sao_Paulo) };
    let utc = || Zone::Utc { default: None };
    let value = |text: &str| (Some(text.to_owned()), 0, 0);
    assert_eq!(at(Zone::None, "2023-03-10 10:00:00"), value("2023-03-10T10:00:00"));
    assert_eq!(at(Zone::None, "2023-03-10T10:00:00Z"), (None, 1, 0));
    assert_eq!(at(utc(), "2023-03-10T10:00:00-03:00"), value("2023-03-10T13:00:00Z"));
    assert_eq!(at(utc(), "2023-03-10T10:00:00"), (None, 1, 0));
    assert_eq!(at(sao_paulo(), "2023-03-10T10:00:00"), value("2023-03-10T13:00:00Z"));
    // Summer time of 2018 began on 4 November at 0:00 and ended on 17 February 2019 at 0:00.
    assert_eq!(at(sao_paulo(), "2018-11-04 00:30:00"), (None, 1, 1));
    assert_eq!(at(sao_paulo(), "2019-02-16 23:30:00"), (None, 1, 1));
    assert_eq!(at(sao_paulo(), "2019-02-16T23:30:00-02:00"), value("2019-02-17T01:30:00Z"));
    assert_eq!(at(sao_paulo(), "2019-02-16 22:59:59.999999"), value("2019-02-17T00:59:59.999999Z"));
    assert_eq!(at(sao_paulo(), "2019-02-17 00:00:00"), value("2019-02-17T03:00:00Z"));
}

#[test]
fn an_hour_remembered_does_not_reach_into_the_next_offset() {
    // Lord Howe changes by half an hour: 2:00 to 1:30 on 7 April 2024.
    let zone = Zone::Utc { default: Some(chrono_tz::Australia::Lord_Howe) };
    let cells = ["2024-04-07 01:10:00", "2024-04-07 01:40:00", "2024-04-07 02:00:00", "2024-04-07 01:29:59", "2024-04-07 02:10:00"];
    let all: Vec<_> = cells.iter().map(|c| Cell::Text(c)).collect();
    let data_type = DataType::Timestamp { format: DateFormat::iso_timestamp(), zone };
    let together = typed(&data_type, &all);
    for (row, cell) in all.iter().enumerate() {
        assert_eq!(typed(&data_type, &[*cell]).0[0], together.0[row], "row {row}");
    }
    assert_eq!(together.2, [1]);
}

fn column(name: &str, data_type: DataType, required: bool, checks: Vec<Check>) -> Column {
    Column { required, rules: checks.into_iter().map(ValueRule::from).collect(), ..Column::new(name, data_type) }
}

fn broken(column: Column, cells: &[Cell<'_>]) -> Vec<(u32, String)> {
    let schema = Schema::new("t", vec![column]);
    let checker = Checker::new(&schema).unwrap();
    let mut typing = Typing::new(&schema.columns[0].data_type, None);
    typing.extend(cells.iter().copied());
    let typed = typing.finish();
    let mut list = Vec::new();
    checker.evaluate(0, &typed.array, &typed.untyped, &mut list);
    list.sort_unstable();
    list.dedup();
    list.iter().map(|b| (b.row, checker.codes()[b.code as usize].clone())).collect()
}

fn texts<'a>(cells: &[&'a str]) -> Vec<Cell<'a>> {
    cells.iter().map(|c| Cell::Text(c)).collect()
}

fn rows(list: Vec<(u32, String)>) -> Vec<u32> {
    list.into_iter().map(|(row, _)| row).collect()
}

#[test]
fn bounds_are_compared_exactly_at_any_scale() {
    let d = |unscaled, scale| Decimal { unscaled, scale };
    let amount = |check| column("a", money(), false, vec![check]);
    let cells = texts(&["0.00", "0.01", "0.02", "-0.01"]);
    assert_eq!(rows(broken(amount(Check::Minimum(d(1, 2))), &cells)), [0, 3]);
    assert_eq!(rows(broken(amount(Check::ExclusiveMinimum(d(1, 2))), &cells)), [0, 1, 3]);
    // 0.015 lies between two cents.
    assert_eq!(rows(broken(amount(Check::Minimum(d(15, 3))), &cells)), [0, 1, 3]);
    assert_eq!(rows(broken(amount(Check::ExclusiveMinimum(d(15, 3))), &cells)), [0, 1, 3]);
    assert_eq!(rows(broken(amount(Check::Maximum(d(15, 3))), &cells)), [2]);
    assert_eq!(rows(broken(amount(Check::ExclusiveMaximum(d(10, 3))), &cells)), [1, 2]);
    assert_eq!(rows(broken(amount(Check::Maximum(d(-5, 3))), &cells)), [0, 1, 2]);
    assert_eq!(rows(broken(amount(Check::Maximum(d(0, 0))), &cells)), [1, 2]);
    // Beyond what 128 bits hold, and beyond the column's own type.
    assert!(broken(amount(Check::Maximum(d(i128::MAX, 0))), &cells).is_empty());
    assert_eq!(rows(broken(amount(Check::Minimum(d(i128::MAX, 0))), &cells)), [0, 1, 2, 3]);
    assert!(broken(amount(Check::Minimum(d(1, 60))), &texts(&["0.01"])).is_empty());
    let int = |check| column("i", DataType::Int32, false, vec![check]);
    let cells = texts(&["2147483647", "-2147483648"]);
    assert!(broken(int(Check::Maximum(d(1 << 40, 0))), &cells).is_empty());
    assert_eq!(rows(broken(int(Check::Minimum(d(1 << 40, 0))), &cells)), [0, 1]);
    assert_eq!(rows(broken(int(Check::Maximum(d(-(1 << 40), 0))), &cells)), [0, 1]);
    assert_eq!(rows(broken(int(Check::ExclusiveMaximum(d(2_147_483_647, 0))), &cells)), [0]);
    let float = |check| column("f", DataType::Float64, false, vec![check]);
    assert_eq!(rows(broken(float(Check::Minimum(d(1, 1))), &texts(&["0.1", "0.09"]))), [1]);
    assert_eq!(rows(broken(float(Check::ExclusiveMinimum(d(1, 1))), &texts(&["0.1", "0.11"]))), [0]);
}

#[test]
fn null_breaks_required_and_nothing_else() {
    let rules = vec![Check::MinLength(3), Check::Pattern(regex::Regex::new("^(?:[a-z]+)$").unwrap())];
    let cells = [Cell::Null, Cell::Text(""), Cell::Text("ab"), Cell::Text("abc"), Cell::Text("abc1"), Cell::Nested];
    let list = broken(column("c", DataType::String, true, rules), &cells);
    let want = [(0, "c.required"), (1, "c.min-length"), (1, "c.pattern"), (2, "c.min-length"), (4, "c.pattern")];
    assert_eq!(list, want.map(|(row, code)| (row, code.to_owned())), "a cell of the wrong type is not missing as well");
}

#[test]
fn lengths_count_characters() {
    let cells = texts(&["ééé", "éééé", "🦀🦀", "abc"]);
    assert_eq!(rows(broken(column("c", DataType::String, false, vec![Check::MaxLength(3)]), &cells)), [1]);
    assert_eq!(rows(broken(column("c", DataType::String, false, vec![Check::MinLength(3)]), &cells)), [2]);
}

#[test]
fn valid_values_are_compared_as_values() {
    let valid = |data_type, values: &[&str]| column("c", data_type, false, vec![Check::ValidValues(values.iter().map(|v| (*v).to_owned()).collect())]);
    assert_eq!(rows(broken(valid(DataType::String, &["A", "B"]), &texts(&["A", "a", "B", ""]))), [1, 3]);
    assert_eq!(rows(broken(valid(DataType::Int32, &["1", "2"]), &texts(&["01", "3"]))), [1]);
    assert_eq!(rows(broken(valid(money(), &["1.5"]), &texts(&["1.50", "1.51"]))), [1]);
    assert_eq!(rows(broken(valid(DataType::Boolean, &["true"]), &texts(&["TRUE", "false"]))), [1]);
}

#[test]
fn check_digits() {
    let digits = |kind| column("c", DataType::String, false, vec![Check::CheckDigit(kind)]);
    assert_eq!(rows(broken(digits(CheckDigit::Cpf), &texts(&["52998224725", "52998224726", "11111111111"]))), [1, 2]);
    assert_eq!(rows(broken(digits(CheckDigit::Luhn), &texts(&["4111111111111111", "4111111111111112"]))), [1]);
    assert_eq!(rows(broken(digits(CheckDigit::Cnpj), &texts(&["00000000000191", "12ABC34501DE35", "12ABC34501DE36"]))), [2]);
}

#[test]
fn a_rule_that_says_nothing_about_the_type_is_refused() {
    let schema = |c: Column| Schema::new("t", vec![c]);
    for (data_type, check) in [
        (DataType::Int32, Check::MinLength(1)),
        (DataType::String, Check::Minimum(Decimal { unscaled: 1, scale: 0 })),
        (DataType::Date { format: DateFormat::iso_date() }, Check::Maximum(Decimal { unscaled: 1, scale: 0 })),
        (DataType::Boolean, Check::CheckDigit(CheckDigit::Luhn)),
        (DataType::Int32, Check::ValidValues(vec!["x".into()])),
    ] {
        let error = Checker::new(&schema(column("c", data_type, false, vec![check]))).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn a_column_is_empty_again_after_it_is_finished() {
    let mut typing = Typing::new(&DataType::Int64, None);
    typing.extend(texts(&["x", "1"]).into_iter());
    assert_eq!(typing.finish().untyped, [0]);
    typing.extend(texts(&["2"]).into_iter());
    let second = typing.finish();
    assert_eq!((second.untyped.len(), second.array.as_primitive::<arrow::datatypes::Int64Type>().value(0)), (0, 2));
}

/// Rows of a detector corpus as value, type, verdict and variant.
fn corpus(name: &str) -> Option<Vec<[String; 4]>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/detectors").join(name);
    let mut reader = arrow::csv::ReaderBuilder::new(Arc::new(ArrowSchema::new(
        ["value", "type", "expected_valid", "source", "variant"].map(|n| Field::new(n, ArrowType::Utf8, true)).to_vec(),
    )))
    .with_header(true)
    .build(std::fs::File::open(path).ok()?)
    .unwrap();
    let cell = |batch: &arrow::array::RecordBatch, column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
    let rows = |batch: arrow::array::RecordBatch| (0..batch.num_rows()).map(|row| [0, 1, 2, 4].map(|column| cell(&batch, column, row))).collect::<Vec<_>>();
    Some(reader.by_ref().flat_map(|batch| rows(batch.unwrap())).collect())
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn say_skipped(name: &str) {
    eprintln!("skipped: ../shared/corpora/detectors/{name} is not there");
}

fn styled(options: &TextOptions, data_type: &DataType, text: &str) -> bool {
    let mut typing = Typing::new(data_type, Some(NumberStyle::of(options)));
    typing.extend(std::iter::once(Cell::Text(text)));
    typing.finish().untyped.is_empty()
}

/// Every verdict of the corpus without a variant; of the variants, those that are ours to say: another symbol, other separators, a sign before or behind the
/// symbol. Where a variant is a taste of its validator (how many decimals there must be, no negatives, the symbol behind, a blank behind it, brackets, a sign
/// behind the digits), the policy of [`number`] holds.
#[test]
fn amounts_are_what_the_corpus_says() {
    let Some(rows) = corpus("amounts_decimals.csv") else { return say_skipped("amounts_decimals.csv") };
    let options = |prefix: Option<&str>, point: u8, thousands: Option<char>| TextOptions {
        number_prefix: prefix.map(str::to_owned),
        decimal_separator: point,
        thousands_separator: thousands,
        ..TextOptions::default()
    };
    let decimal = DataType::Decimal { precision: 38, scale: 20 };
    let mut seen = [0; 4];
    for [value, kind, verdict, variant] in &rows {
        let wanted = verdict == "true";
        let is = |options: &TextOptions, data_type: &DataType| styled(options, data_type, value);
        match (kind.as_str(), variant.as_str()) {
            ("decimal", "" | r#"[{"locale": "en-AU"}]"#) => assert_eq!(is(&options(None, b'.', None), &decimal), wanted, "{value}"),
            // `,` for the point.
            ("decimal", v) if v.contains("bg-BG") || v.contains("cs-CZ") => assert_eq!(is(&options(None, b',', None), &decimal), wanted, "{value}"),
            ("int", "" | "[{}]" | r#"[{"allow_leading_zeroes": true}]"#) => assert_eq!(is(&options(None, b'.', None), &DataType::Int64), wanted, "{value}"),
            ("float", "" | "[{}]" | r#"[{"locale": "en-AU"}]"#) => assert_eq!(is(&options(None, b'.', None), &DataType::Float64), wanted, "{value}"),
            // The validator takes a point with nothing behind it, and the policy does not.
            ("float", r#"[{"locale": "de-DE"}]"#) => assert_eq!(is(&options(None, b',', None), &DataType::Float64), wanted && !value.ends_with(','), "{value}"),
            ("currency_amount", "") => assert_eq!(is(&options(Some("$"), b'.', Some(',')), &money()), wanted, "{value}"),
            // A yen is written with two decimals here or none; one is the validator's taste.
            ("currency_amount", r#"[{"symbol": "¥", "negative_sign_before_digits": true}]"#) => {
                assert_eq!(is(&options(Some("¥"), b'.', Some(',')), &money()), wanted || value == "¥1.1", "{value}");
            }
            ("currency_amount", v) if v.contains("parens_for_negatives") && value.contains('(') => {
                assert!(!is(&options(Some("$"), b'.', Some(',')), &money()), "{value}: brackets are no sign");
                seen[0] += 1;
            }
            ("currency_amount", r#"[{"negative_sign_after_digits": true}]"#) if value.ends_with('-') && wanted => {
                let behind = NumberStyle::of(&options(Some("$"), b'.', Some(','))).fixed_width(None);
                assert!(!is(&options(Some("$"), b'.', Some(',')), &money()), "{value}");
                assert!(behind.decimal(value.as_bytes(), 18, 2).is_some(), "{value}: in fixed width a sign may stand behind");
                seen[1] += 1;
            }
            ("currency_amount", v) if v.contains(r#""symbol": "€""#) && v.contains("allow_space_after_symbol") => {
                // The symbol with its blank is a prefix, the symbol alone another: a file has one of them.
                let either = is(&options(Some("€"), b',', Some('.')), &money()) || is(&options(Some("€ "), b',', Some('.')), &money());
                assert_eq!(either, wanted || value == "€ 1,1", "{value}");
                seen[2] += 1;
            }
            ("currency_amount", v) if v.contains(r#""symbol": "R$""#) => assert_eq!(is(&options(Some("R$ "), b',', Some('.')), &money()), wanted, "{value}"),
            _ => continue,
        }
        seen[3] += 1;
    }
    assert!(seen[0] > 10 && seen[1] > 2 && seen[2] > 20 && seen[3] > 250, "{seen:?}");
}

/// A `format` that takes a text which the default does not.
const WITH_A_FORMAT: &[(&str, &str)] = &[
    ("20090519", "yyyyMMdd"),
    ("2020/02/29", "yyyy/MM/dd"),
    ("2009-05-19 14", "yyyy-MM-dd HH"),
    ("2009-05-19 14:31", "yyyy-MM-dd HH:mm"),
    ("2009-05-19T14:39Z", "yyyy-MM-dd'T'HH:mmX"),
    ("20090621T0545Z", "yyyyMMdd'T'HHmmX"),
    ("2010-02-18T16:23:48,444", "yyyy-MM-dd'T'HH:mm:ss,SSS"),
];

/// Forms of ISO 8601 that are no value of any format, and why.
const NO_VALUE: &[(&str, &str)] = &[
    (r"^\d{4}(-\d{2})?$", "names no day"),
    (r"^\d{4}-\d{3}$", "a day of the year"),
    (r"^\d{4}-?W\d{2}", "a week"),
    (r"T\d{2}(:\d{2})?[.,]\d+([+-]\d{4})?$", "a fraction of an hour or a minute"),
    ("T24:00$", "the end of a day is the start of the next"),
    (":60Z$", "a leap second"),
];

/// What a timestamp or date without a format is, said by another means than the parser: RFC 3339 with a blank for the `T` and the offset optional. Each row of the
/// corpus without a variant is as it says: by default, with a format of [`WITH_A_FORMAT`], or of a form in [`NO_VALUE`]. Its variants are held against
/// `docs/ingest.md`, "Dates and amounts".
#[test]
fn dates_and_times_are_what_the_corpus_says() {
    let Some(rows) = corpus("dates_times.csv") else { return say_skipped("dates_times.csv") };
    let profile = regex::Regex::new(r"^\d{4}-\d{2}-\d{2}([ Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}(:?\d{2})?)?)?$").unwrap();
    let no_value: Vec<regex::Regex> = NO_VALUE.iter().map(|(form, _)| regex::Regex::new(form).unwrap()).collect();
    let day = regex::Regex::new(r"^\d{4}-\d{2}-\d{2}$").unwrap();
    let at = |format: DateFormat, default| DataType::Timestamp { format, zone: Zone::Utc { default } };
    let plain = TextOptions::default();
    let by_format = |pattern: &str, value: &str| {
        let format = DateFormat::new(pattern).unwrap();
        let data_type = if format.compiled.has_time() { at(format, Some(chrono_tz::UTC)) } else { DataType::Date { format } };
        styled(&plain, &data_type, value)
    };
    // By default, with a format, no value, variants.
    let mut seen = [0; 4];
    for [value, kind, verdict, variant] in &rows {
        let wanted = verdict == "true";
        let default = if kind == "rfc3339" { None } else { Some(chrono_tz::UTC) };
        let data_type = if day.is_match(value) { DataType::Date { format: DateFormat::iso_date() } } else { at(DateFormat::iso_timestamp(), default) };
        let ours = styled(&plain, &data_type, value);
        let format = WITH_A_FORMAT.iter().find(|(text, _)| text == value);
        let is_none = no_value.iter().any(|form| form.is_match(value));
        match (kind.as_str(), variant.as_str()) {
            (_, "") => {
                match (wanted, format) {
                    (true, Some((_, pattern))) => assert!(!ours && by_format(pattern, value), "{value}"),
                    (true, None) => assert_eq!(ours, !is_none, "{kind} {value}"),
                    (false, _) => assert!(!ours && WITH_A_FORMAT.iter().all(|(_, pattern)| kind == "rfc3339" || !by_format(pattern, value)), "{kind} {value}"),
                }
                if wanted {
                    seen[if is_none { 2 } else { usize::from(format.is_some()) }] += 1;
                }
            }
            // We are as strict about the calendar as their strict mode, and take both separators.
            ("iso8601", v) => {
                let other_separator = v.contains("strictSeparator") && value.contains(' ');
                assert_eq!(ours, profile.is_match(value) && (wanted || other_separator), "{value} {v}");
                seen[3] += 1;
            }
            ("date", v) => {
                let pattern = ["DD/MM/YYYY", "DD/MM/YY", "D/M/YY", "MM.DD.YYYY"].into_iter().rfind(|p| v.contains(&format!("\"{p}\"")));
                let Some(pattern) = pattern else { continue };
                let ours = by_format(&pattern.replace('D', "d").replace('Y', "y"), value);
                // Theirs take another separator, and one digit where the letter stands once.
                let separator = if pattern.contains('.') { '.' } else { '/' };
                let same = value.chars().all(|c| c.is_ascii_digit() || c == separator);
                assert_eq!(ours, same && wanted || pattern == "D/M/YY" && value == "5/07/02", "{value} {pattern}");
                seen[3] += 1;
            }
            _ => {}
        }
    }
    assert!(seen[0] > 15 && seen[1] == WITH_A_FORMAT.len() && seen[2] > 15 && seen[3] > 150, "{seen:?}");
    for (form, why) in NO_VALUE {
        assert!(rows.iter().any(|[value, ..]| regex::Regex::new(form).unwrap().is_match(value)), "{form}: {why}");
    }
}

#[test]
fn styles_of_numbers() {
    let style = |point: u8, thousands| TextOptions { decimal_separator: point, thousands_separator: thousands, ..TextOptions::default() };
    let cases: [(TextOptions, &[&str], &[&str]); 6] = [
        (
            style(b',', Some('.')),
            &["1.234,56", "1234,56", "-1.234.567,8", "+1", ",5", "0,5", "999", "1.000"],
            &["1.23,4", "12.34", ".234", "1234.567", "1,234.5", "1.234.56", "0.123", "00", "01,5", "1..234", "1.", "1,", "1.234,5.6"],
        ),
        (style(b'.', Some(',')), &["1,234.56", "12,345", "123,456,789.01"], &["1,234,56", ",123", "1,2345", "1,23", "1234,567"]),
        (style(b',', None), &["1,5", "007,10"], &["1.5", "1,5,0", "1.234,5", ","]),
        (style(b',', Some(' ')), &["1 234,56", "1\u{a0}234\u{a0}567", "1\u{202f}234"], &["1 234\u{a0}567", " 1", "1 ", "1  234", "12 34"]),
        (style(b'.', Some('\'')), &["1'234.5", "1’234’567"], &["1'23", "'123", "1'234’567"]),
        (
            TextOptions { number_prefix: Some("R$".into()), ..style(b',', Some('.')) },
            &["R$1.234,56", "-R$1", "R$-1", "+R$1", "1"],
            &["R$ 1", "-R$-1", "--R$1", "R$", "R$R$1"],
        ),
    ];
    for (options, good, bad) in cases {
        for text in good {
            assert!(styled(&options, &money(), text), "{options:?} {text}");
        }
        for text in bad {
            assert!(!styled(&options, &money(), text), "{options:?} {text}");
        }
    }
    // Integers may be padded, decimals that are also grouped may not.
    assert!(styled(&style(b',', Some('.')), &DataType::Int64, "00123"));
    assert!(!styled(&style(b',', Some('.')), &DataType::Int64, "0.123"));
    let mut typing = Typing::new(&money(), Some(NumberStyle::of(&style(b',', Some('.')))));
    typing.extend([Cell::Text("1.234,56"), Cell::JsonText("-0,07"), Cell::Number("1234.5")].into_iter());
    assert_eq!(typing.finish().array.as_primitive::<arrow::datatypes::Decimal128Type>().values(), &[123_456, -7, 123_450]);
    assert!(!styled(&style(b',', None), &money(), &"0".repeat(1000)));
}

#[test]
fn times_of_day() {
    let time = DataType::Time { format: DateFormat::iso_time() };
    assert_eq!(one(&time, "23:59:59.000001").as_deref(), Some("23:59:59.000001"));
    for text in ["24:00:00", "23:59:60", "1:00:00", "10:00", "10:00:00Z", ""] {
        assert_eq!(one(&time, text), None, "{text}");
    }
    assert_eq!(one(&DataType::Time { format: DateFormat::new_time("h:mm a").unwrap() }, "12:05 AM").as_deref(), Some("00:05:00"));
}

#[test]
fn lists_hold_their_items_and_nothing_of_rows_that_are_none() {
    let mut typing = Typing::new(&DataType::List(Box::new(DataType::Int32)), None);
    let rows: Vec<List<&[Cell<'_>]>> = vec![
        List::Items(&[Cell::Number("1"), Cell::Null, Cell::Number("2")]),
        List::Null,
        List::Items(&[Cell::Number("3"), Cell::Nested]),
        List::Items(&[]),
        List::Other,
        List::Items(&[Cell::Number("4")]),
    ];
    let iterators = |row: List<&'static [Cell<'static>]>| match row {
        List::Null => List::Null,
        List::Other => List::Other,
        List::Items(items) => List::Items(items.iter().copied()),
    };
    typing.extend_lists(rows.into_iter().map(iterators));
    assert_eq!(typing.rows(), 6);
    let typed = typing.finish();
    assert_eq!((typed.untyped.as_slice(), typed.array.null_count()), ([2, 4].as_slice(), 3));
    let list = typed.array.as_list::<i32>();
    assert_eq!(list.values().len(), 4);
    assert_eq!(list.value_offsets(), [0, 3, 3, 3, 3, 3, 4]);
    assert!(list.is_valid(3));
    // A local time that the zone has twice makes the list ambiguous, unless something else is wrong with it.
    let zone = Zone::Utc { default: Some(chrono_tz::Europe::Lisbon) };
    let mut typing = Typing::new(&DataType::List(Box::new(DataType::Timestamp { format: DateFormat::iso_timestamp(), zone })), None);
    let twice = Cell::Text("2023-10-29 01:30:00");
    typing.extend_lists([vec![twice], vec![twice, Cell::Text("x")]].into_iter().map(|row| List::Items(row.into_iter())));
    let typed = typing.finish();
    assert_eq!((typed.untyped, typed.ambiguous), (vec![0, 1], vec![0]));
}

#[test]
fn a_report_says_what_was_not_read() {
    let quiet = super::report::Report { rows_read: 5, ..Default::default() };
    assert!(!quiet.text().contains("passed over") && !quiet.text().contains("not read"), "{}", quiet.text());
    let report = super::report::Report { rows_passed_over: 2, rows_with_added_fields: 3, ..quiet };
    assert!(report.text().contains("2 records of other types were passed over"), "{}", report.text());
    assert!(report.text().contains("3 rows have fields that the contract does not have"), "{}", report.text());
    assert_eq!(report.json()["rows"], serde_json::json!({"read": 5, "rejected": 0, "passedOver": 2, "withAddedFields": 3}));
}
