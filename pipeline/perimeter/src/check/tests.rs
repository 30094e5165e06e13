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
    assert_eq!(typed(&DataType::Int64, &[Cell::Number("1.0")]).1, [0]);
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
