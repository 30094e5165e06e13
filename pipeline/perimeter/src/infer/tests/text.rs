//! csv: delimiters, encodings, headers, numbers, dates, null markers.
use super::*;

/// Bytes of the text, in an encoding that has all its characters.
fn encoded(text: &str, encoding: &str) -> Vec<u8> {
    match encoding {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        "cp850" => text.chars().map(|c| if c == 'ã' { 0xc6 } else { u8::try_from(c).unwrap() }).collect(),
        _ => text.chars().map(|c| u8::try_from(c).unwrap()).collect(),
    }
}

#[test]
fn delimiters_quotes_and_comments() {
    for (delimiter, said) in [(",", ""), (";", "delimiter: \";\""), ("\t", "delimiter: \"\\t\""), ("|", "delimiter: \"|\"")] {
        let bench = Bench::new();
        let text = format!("name{delimiter}city{delimiter}count\n\"a{delimiter}b\"{delimiter}x{delimiter}1\n\"line\nend\"{delimiter}y{delimiter}2\n");
        let proposal = bench.accepted("in.csv", text);
        assert_eq!(columns(&proposal), ["name: string!", "city: string!", "count: bigint!"]);
        assert!(proposal.source_line.contains(said), "{}", proposal.source_line);
    }
    let bench = Bench::new();
    let path = bench.write("in.txt", "# made by hand\na~b\n'x~y'~1\n# end\nz~2\n");
    let request = Request { delimiter: Some(b'~'), quote: Some(b'\''), comment: Some(b'#'), ..asked(&[&path]) };
    assert_eq!(columns(&bench.accepts(&request)), ["a: string!", "b: bigint!"]);
    let path = bench.write("in.csv", "a,b\n\"x,1\n5\"\"',2\n");
    let request = Request { quote: None, ..asked(&[&path]) };
    assert_eq!(columns(&bench.accepts(&request)), ["a: string!", "b: bigint!"]);
}

#[test]
fn encodings() {
    let text = "nome;saldo\nJoão;1\nMaría;2\n";
    for (name, encoding, said) in [
        ("utf-16le", Encoding::Utf16Le, "utf-16le"),
        ("utf-16be", Encoding::Utf16Be, "utf-16be"),
        ("latin-1", Encoding::Latin1, "iso-8859-1"),
        ("cp1252", Encoding::Windows1252, "windows-1252"),
        ("cp850", Encoding::Cp850, "cp850"),
    ] {
        let bench = Bench::new();
        let text = if name == "cp850" { "nome;saldo\nJoão;1\nMaria;2\n" } else { text };
        let path = bench.write("in.csv", encoded(text, name));
        let proposal = bench.accepts(&Request { encoding: Some(encoding), ..asked(&[&path]) });
        assert_eq!(columns(&proposal), ["nome: string!", "saldo: bigint!"], "{name}");
        assert!(proposal.source_line.contains(&format!("encoding: {said}")), "{}", proposal.source_line);
    }
    let bench = Bench::new();
    for mark in [[0xff, 0xfe], [0xfe, 0xff]] {
        let name = if mark[0] == 0xff { "utf-16le" } else { "utf-16be" };
        let proposal = bench.accepted("in.csv", [mark.to_vec(), encoded(text, name)].concat());
        assert!(proposal.source_line.contains("encoding: utf-16,") || proposal.source_line.contains("encoding: utf-16}"), "{}", proposal.source_line);
    }
    let proposal = bench.accepted("in.csv", [b"\xef\xbb\xbf".to_vec(), text.as_bytes().to_vec()].concat());
    assert_eq!(columns(&proposal)[0], "nome: string!");
    // Which of the old code pages it is, the bytes do not say.
    let path = bench.write("in.csv", encoded(text, "latin-1"));
    let (code, exit, message) = refusal(bench.infer(&path));
    assert_eq!((code.as_str(), exit, message.contains("is not utf-8")), ("encoding-unknown", 2, true));
}

#[test]
fn compressed_files_are_read_as_what_is_inside() {
    let bench = Bench::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, b"a;b\n1;x\n").unwrap();
    let proposal = bench.accepted("in.csv.gz", gzip.finish().unwrap());
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.source.name.as_str()), ("a: bigint!, b: string!", "in"));
    let proposal = bench.accepted("in.jsonl.zst", zstd::encode_all(b"{\"a\": 1}\n".as_slice(), 1).unwrap());
    assert_eq!(columns(&proposal), ["a: bigint!"]);
}

#[test]
fn numbers_as_they_are_written() {
    for (name, cells, data_type, said) in [
        ("n", vec!["1", "-20", "300"], "bigint!", ""),
        ("n", vec!["1.5", "-20", "0.25"], "decimal(18,2)!", ""),
        ("n", vec!["1,50", "20", "0,25"], "decimal(18,2)!", "decimalSeparator: \",\""),
        ("n", vec!["1.234,56", "7", "-2.000.000,10"], "decimal(18,2)!", "decimalSeparator: \",\", thousandsSeparator: \".\""),
        ("n", vec!["1,234.56", "7", "2,000,000.10"], "decimal(18,2)!", "thousandsSeparator: \",\""),
        ("n", vec!["1 234,56", "7", "2 000 000,10"], "decimal(18,2)!", "decimalSeparator: \",\", thousandsSeparator: \" \""),
        ("n", vec!["R$ 1,50", "-R$ 20,00", "R$ 0,25"], "decimal(18,2)!", "decimalPrefix: \"R$ \", decimalSeparator: \",\""),
        ("n", vec!["$5", "$6.25"], "decimal(18,2)!", "decimalPrefix: \"$\""),
        ("n", vec!["1e3", "2.5"], "double!", ""),
        ("n", vec!["12345678901234567890", "1"], "decimal(20,0)!", ""),
        ("n", vec!["123456789012345678.12", "1"], "decimal(38,2)!", ""),
        ("n", vec!["007", "12"], "string!", ""),
        ("client_id", vec!["17", "12"], "string!", ""),
        ("n", vec!["true", "FALSE"], "boolean!", ""),
        ("n", vec!["1", "NaN"], "bigint", "nullMarkers: [\"NaN\"]"),
        ("n", vec!["1", "N/A", "1", "-"], "bigint", "nullMarkers: [\"N/A\",\"-\"]"),
        ("n", vec!["1", ""], "bigint", ""),
        ("n", vec!["x", "NA"], "string!", ""),
    ] {
        let bench = Bench::new();
        let rows: String = cells.iter().enumerate().map(|(at, cell)| format!("k{at};{cell}\n")).collect();
        let proposal = bench.accepted("in.csv", format!("key;{name}\n{rows}"));
        assert_eq!(columns(&proposal)[1], format!("{name}: {data_type}"), "{cells:?}\n{}", proposal.yaml);
        assert!(proposal.source_line.contains(said), "{cells:?}: {}", proposal.source_line);
        assert_eq!(proposal.source_line.contains("nullMarkers"), said.contains("nullMarkers"), "{cells:?}: {}", proposal.source_line);
    }
}

#[test]
fn nulls_are_no_values() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.csv", "n;t\n1;NA\nNA;NA\n2;x\n-;y\n");
    assert_eq!(columns(&proposal), ["n: bigint", "t: string"]);
    assert!(proposal.yaml.contains("# 2 values, 2 null, 2 distinct\n") && proposal.yaml.contains("# 2 values, 2 null, 2 distinct, 1"), "{}", proposal.yaml);
}

#[test]
fn identifiers_keep_their_zeros() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.csv", "cep;conta;agencia\n01310100;0001;1\n20040002;0020;25\n");
    assert_eq!(columns(&proposal), ["cep: string!", "conta: string!", "agencia: string!"]);
    assert!(proposal.yaml.contains("# decide: digits with zeros in front, which a number would lose"), "{}", proposal.yaml);
    assert!(proposal.yaml.contains("# decide: digits only; integer if it counts something"), "{}", proposal.yaml);
}

#[test]
fn dates_as_they_are_written() {
    for (name, cells, data_type, remark) in [
        ("d", vec!["2026-01-31", "1999-12-01"], "date iso!", "# ISO 8601 dates: 100 % of 2 distinct values"),
        ("d", vec!["31/01/2026", "01/12/1999"], "date dd/MM/yyyy!", "# dd/MM/yyyy: 100 % of 2 distinct values"),
        ("d", vec!["01/31/2026", "12/01/1999"], "date MM/dd/yyyy!", "# MM/dd/yyyy: 100 % of 2 distinct values"),
        ("d", vec!["01/02/2026", "03/04/2026"], "date dd/MM/yyyy!", "# decide: the format: MM/dd/yyyy fits every value as well"),
        ("d", vec!["1/2/2026", "31/12/2026"], "date d/M/yyyy!", "# d/M/yyyy: 100 %"),
        ("d", vec!["31.01.99", "01.02.05"], "date dd.MM.yy!", "# decide: years of two digits: 1931 to 2030"),
        ("d", vec!["05-Jan-2026", "31-Dec-1999"], "date dd-MMM-yyyy!", "# dd-MMM-yyyy: 100 %"),
        ("dt_nasc", vec!["19800131", "19991201"], "date yyyyMMdd!", "# decide: digits only, and every value is such a date"),
        ("n", vec!["19800131", "19991201"], "bigint!", "# 2 values, none null, 2 distinct"),
        ("at", vec!["2026-01-31T10:20:30Z", "2026-01-31T10:20:30-03:00"], "timestamp iso utc!", "# ISO 8601 timestamps: 100 % of 2 distinct values"),
        ("at", vec!["2026-01-31 10:20:30", "2026-01-31 10:20:31"], "timestamp iso local!", "# decide: no value says its offset"),
        ("at", vec!["2026-01-31T10:20:30Z", "2026-01-31T10:20:30"], "timestamp iso utc by default!", "# decide: the zone of the 1 value without an offset"),
        ("at", vec!["31/01/2026 10:20", "01/02/2026 23:59"], "timestamp dd/MM/yyyy HH:mm local!", "# dd/MM/yyyy HH:mm: 100 %"),
        ("d", vec!["2026-01-31", "31/01/2026"], "string!", "# 2 values"),
        ("d", vec!["2026-02-30", "2026-01-31"], "string!", "# 2 values"),
    ] {
        let bench = Bench::new();
        let rows: String = cells.iter().enumerate().map(|(at, cell)| format!("k{at};{cell}\n")).collect();
        let proposal = bench.accepted("in.csv", format!("key;{name}\n{rows}"));
        assert_eq!(columns(&proposal)[1], format!("{name}: {data_type}"), "{cells:?}\n{}", proposal.yaml);
        assert!(proposal.yaml.contains(remark), "{cells:?}\n{}", proposal.yaml);
    }
}

#[test]
fn a_share_of_odd_values_is_said_and_left_to_a_person() {
    let bench = Bench::new();
    let mut text = "key;day;amount;note\n".to_owned();
    for at in 0..99 {
        text += &format!("k{at};{:02}/{:02}/2025;{at}.50;word{}\n", at % 28 + 1, at % 12 + 1, at);
    }
    text += "k99;soon;1,5 ca.;7\n";
    let proposal = bench.accepted("in.csv", text);
    assert_eq!(columns(&proposal), ["key: string!", "day: string!", "amount: string!", "note: string!"]);
    let near: Vec<&str> = proposal.yaml.lines().map(str::trim).filter(|line| line.contains("would be rejected")).collect();
    assert_eq!(
        near,
        [
            "# decide: dd/MM/yyyy: 98.8 % of the distinct values; the others are none, and would be rejected",
            "# decide: numbers: 99.0 % of the distinct values; the others are none, and would be rejected",
        ]
    );
}

#[test]
fn what_values_mean_with_the_share_that_agrees() {
    let bench = Bench::new();
    let cpfs = ["52998224725", "39053344705", "11144477735", "12345678909", "98765432100", "01234567890", "86288366757", "40442820135", "15350946056"];
    let rows: String = cpfs.iter().enumerate().map(|(at, cpf)| format!("{cpf};client{at}@bank.example\n")).collect();
    let proposal = bench.accepted("in.csv", format!("documento;contato\n{rows}11111111112;nobody\n"));
    let types: Vec<_> = proposal.source.schema.columns.iter().map(|column| column.semantic_type.as_deref()).collect();
    assert_eq!(types, [Some("BR_CPF"), Some("EMAIL")], "{}", proposal.yaml);
    for said in ["# BR_CPF: 90.0 % of 10 distinct values", "# EMAIL: 90.0 % of 10 distinct values"] {
        assert!(proposal.yaml.contains(said), "{}", proposal.yaml);
    }
}

#[test]
fn headers() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.csv", "39053344705;x\n52998224725;y\n");
    assert_eq!(columns(&proposal), ["column_1: string!", "column_2: string!"]);
    assert!(proposal.yaml.contains("# decide: the first line looks like data"));
    assert!(proposal.source_line.contains("header: false"));
    // A name that stands below as a value is a value.
    assert_eq!(columns(&bench.accepted("in.csv", "red;big\nblue;small\nred;tiny\n")), ["column_1: string!", "column_2: string!"]);
    // Unless somebody says what it is.
    let path = bench.write("in.csv", "2024;2025\n1;2\n3;4\n");
    let proposal = bench.accepts(&Request { header: Some(true), ..asked(&[&path]) });
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("2024: bigint!, 2025: bigint!", 2));
    let path = bench.write("in.csv", "a;b\nc;d\n");
    let proposal = bench.accepts(&Request { header: Some(false), ..asked(&[&path]) });
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("column_1: string!, column_2: string!", 2));
    for (text, wanted, position) in [("a;a\nx;y\n", "duplicate-column", "columns 1 and 2"), ("a;\nx;y\n", "unnamed-column", "column 2")] {
        let path = bench.write("in.csv", text);
        let (code, exit, message) = refusal(propose(&bench.stores, &Request { header: Some(true), ..asked(&[&path]) }));
        assert_eq!((code.as_str(), exit), (wanted, 2), "{message}");
        assert!(message.contains(position), "{message}");
    }
}

#[test]
fn empty_files_and_headers_without_records() {
    let bench = Bench::new();
    for (bytes, wanted) in [("", "empty-file"), ("\n\n", "empty-input")] {
        let path = bench.write("in.csv", bytes);
        let (code, exit, message) = refusal(bench.infer(&path));
        assert_eq!((code.as_str(), exit), (wanted, 2), "{message}");
        assert!(message.contains("in.csv"), "{message}");
    }
    let proposal = bench.accepted("in.csv", "a;b\n");
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("a: string, b: string", 0));
    assert!(proposal.yaml.contains("# decide: the type: there is no value"), "{}", proposal.yaml);
    let proposal = bench.accepted("in.csv", "a;b\n;x\n;y\n");
    assert_eq!(columns(&proposal), ["a: string", "b: string!"]);
    let (code, exit, _) = refusal(bench.infer(&bench.folder.path().join("none.csv")));
    assert_eq!((code.as_str(), exit), ("input-not-found", 2));
    let (code, exit, _) = refusal(propose(&bench.stores, &asked(&[])));
    assert_eq!((code.as_str(), exit), ("input-not-found", 2));
}

#[test]
fn records_that_nobody_can_read_are_counted() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "a;b\n1;x\n2;y;z\n3;w\n4;\"v\n");
    let proposal = bench.infer(&path).unwrap();
    assert_eq!(columns(&proposal), ["a: bigint!", "b: string!"]);
    assert_eq!((proposal.rows, proposal.unreadable.clone()), (4, BTreeMap::from([("ragged".to_owned(), 1), ("torn-quote".to_owned(), 1)])));
    assert!(proposal.yaml.contains("with this contract: 2 records, by rule: ragged 1, torn-quote 1"), "{}", proposal.yaml);
    assert_eq!(bench.check(&proposal).rows_rejected, 2);
}

#[test]
fn a_record_that_is_no_utf8_costs_one_record() {
    let bench = Bench::new();
    let path = bench.write("in.csv", ["nome;n\n".as_bytes(), "São;1\n".repeat(20).as_bytes(), b"S\xe3o;2\n"].concat());
    let proposal = bench.infer(&path).unwrap();
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("nome: string!, n: bigint!", 21));
    assert_eq!(proposal.unreadable, BTreeMap::from([("invalid-encoding".to_owned(), 1)]));
    assert_eq!(bench.check(&proposal).rows_rejected, 1);
}

#[test]
fn only_so_many_records_are_looked_at() {
    let bench = Bench::new();
    let rows: String = (0..20_000).map(|at| if at < 15_000 { format!("k;{at}\n") } else { "k;x\n".to_owned() }).collect();
    let path = bench.write("in.csv", format!("key;n\n{rows}"));
    let proposal = propose(&bench.stores, &Request { rows: 10_000, ..asked(&[&path]) }).unwrap();
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("key: string, n: bigint", 10_000));
    assert!(proposal.yaml.contains("# Looked at: the first 10,000 records."), "{}", proposal.yaml);
    assert_eq!(columns(&bench.accepted("in.csv", format!("key;n\n{rows}"))), ["key: string!", "n: string!"]);
}

#[test]
fn files_with_the_same_columns_make_one_contract() {
    let bench = Bench::new();
    let (one, two) = (bench.write("one.csv", "a;b\n1;x\n2;y\n"), bench.write("two.csv", "b;a\nz;3.5\n;4\n"));
    let proposal = bench.accepts(&asked(&[&two, &one, &one]));
    assert_eq!((columns(&proposal).join(", ").as_str(), proposal.rows), ("a: decimal(18,1)!, b: string", 4));
    assert!(proposal.yaml.contains("one.csv and 1 more file."), "{}", proposal.yaml);
    assert!(proposal.source_line.contains("/*.csv\""), "{}", proposal.source_line);
    let pattern = bench.folder.path().join("*.csv");
    assert_eq!(bench.accepts(&asked(&[&pattern])).yaml, proposal.yaml);
}

#[test]
fn files_with_different_columns_are_refused() {
    for (other, said) in [("a;c\n1;2\n", "`b`"), ("a\n1\n", "`b`"), ("a;b;c\n1;2;3\n", "position 3"), ("x;y\n1;2\n", "none of the 2 cells")] {
        let bench = Bench::new();
        let (one, two) = (bench.write("one.csv", "a;b\n1;x\n2;y\n"), bench.write("two.csv", other));
        let (code, exit, message) = refusal(propose(&bench.stores, &asked(&[&one, &two])));
        assert_eq!((code.as_str(), exit), ("different-columns", 2), "{message}");
        assert!(message.contains("one.csv") && message.contains("two.csv") && message.contains(said), "{message}");
        assert!(message.contains("the first of 2. In file 2: "), "{message}");
    }
    // Folders whose values are not shown do not tell files apart.
    let bench = Bench::new();
    let (one, two) = (bench.write("dt=1/in.csv", "a;b\n1;x\n"), bench.write("dt=2/in.csv", "a\n1\n"));
    let (_, _, message) = refusal(propose(&bench.stores, &asked(&[&two, &one])));
    assert!(message.contains("by name the first of 2. In file 2: "), "{message}");
}

#[test]
fn decimal_commas_in_every_record() {
    let bench = Bench::new();
    for (text, wanted) in [
        ("id;valor\n1;1,50\n2;2,50\n", ["id: string!", "valor: decimal(18,2)!"]),
        ("id;valor\n1;1.101,50\n2;2.000,50\n", ["id: string!", "valor: decimal(18,2)!"]),
        ("id;valor\n1;1,50\n2;N/D\n", ["id: string!", "valor: decimal(18,2)"]),
    ] {
        let proposal = bench.accepted("in.csv", text);
        assert_eq!(columns(&proposal), wanted, "{text}");
        assert!(proposal.source_line.contains("delimiter: \";\", decimalSeparator: \",\""), "{}", proposal.source_line);
        assert!(!proposal.yaml.contains("decide: the delimiter"), "{}", proposal.yaml);
    }
    // Without a header both could be.
    let proposal = bench.accepted("in.csv", "1;1,50\n2;2,50\n");
    assert_eq!(columns(&proposal), ["column_1: bigint!", "column_2: decimal(18,2)!"]);
    assert!(proposal.yaml.contains("# decide: the delimiter: ',' cuts every line into as many cells"), "{}", proposal.yaml);
}

#[test]
fn markers_of_nulls_are_none_in_quotes() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.csv", "k;day\na;2026-01-02\nb;\"NULL\"\nc;2026-01-03\n");
    assert_eq!(columns(&proposal), ["k: string!", "day: string!"]);
    assert!(!proposal.source_line.contains("nullMarkers"), "{}", proposal.source_line);
    assert!(proposal.yaml.contains("# decide: all but 1 quoted text, which no marker makes null, look like another type"), "{}", proposal.yaml);
    assert!(proposal.yaml.contains("# 3 values, none null, 3 distinct"), "{}", proposal.yaml);
    let proposal = bench.accepted("in.csv", "k;day;n\na;2026-01-02;\"NULL\"\nb;NULL;1\nc;2026-01-03;NULL\n");
    assert_eq!(columns(&proposal), ["k: string!", "day: date iso", "n: string"]);
    assert!(proposal.source_line.contains("nullMarkers: [\"NULL\"]"), "{}", proposal.source_line);
    assert!(proposal.yaml.contains("# 2 values, 1 null, 2 distinct"), "{}", proposal.yaml);
}

#[test]
fn the_job_has_what_an_almost_numeric_column_needs() {
    let bench = Bench::new();
    let mut text = "key;amount\n".to_owned();
    (0..40).for_each(|at| text += &format!("k{at};{at},50\n"));
    let proposal = bench.accepted("in.csv", text + "k40;N/D\nk41;1,5 ca.\n");
    assert_eq!(columns(&proposal), ["key: string!", "amount: string"]);
    assert!(proposal.yaml.contains("# decide: numbers: 97.5 % of the distinct values"), "{}", proposal.yaml);
    assert!(proposal.source_line.contains("decimalSeparator: \",\", nullMarkers: [\"N/D\"]"), "{}", proposal.source_line);
}

#[test]
fn few_values_do_not_make_a_meaning() {
    let bench = Bench::new();
    let proposal = bench.accepted("in.csv", "nome;n\nMaria Souza;1\nMaria Souza;2\n");
    assert!(proposal.yaml.contains("# decide: perhaps PERSON_NAME: 100 % of 1 distinct value, too few to tell"), "{}", proposal.yaml);
    assert!(!proposal.yaml.contains("semanticType"), "{}", proposal.yaml);
    let proposal = bench.accepted("in.csv", "nome;n\nMaria Souza;1\nJoana Lima;2\nPedro Silva;3\n");
    assert!(proposal.yaml.contains("{property: semanticType, value: PERSON_NAME}"), "{}", proposal.yaml);
}

#[test]
fn names_that_yaml_or_sql_trip_over() {
    let bench = Bench::new();
    let names = ["yes", "null", "a: b", "#c", "\"d", "é", "{e}", "it's", "a.b", "x y", "\u{2028}u", "~", "*star", "- dash"];
    let header: Vec<String> = names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let path = bench.write("in.csv", format!("{}\n{}\n", header.join(";"), vec!["x"; names.len()].join(";")));
    let proposal = bench.accepts(&Request { name: Some("no: such name".to_owned()), header: Some(true), ..asked(&[&path]) });
    let found: Vec<&str> = proposal.source.schema.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(found, names);
}
