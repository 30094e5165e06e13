//! No value leaves: not in the contract, its comments or the line for the job, nor in messages; values that stand in paths neither.
use super::*;

/// A value, in parts of which none can be there by chance.
const RAW: [&str; 6] = ["39053344705", "maria.souza", "7481.93", "Zwölfender", "1987-03-12", "QX-7731"];

fn shows_none(text: &str) {
    for raw in RAW {
        assert!(!text.contains(raw), "{raw} in\n{text}");
    }
}

/// The same records in every text format.
fn records() -> Vec<(&'static str, String)> {
    let json = |at: usize| {
        format!(
            "{{\"cpf\": \"39053344705\", \"email\": \"maria.souza@bank.example\", \"amount\": 7481.93, \"memo\": \"Zwölfender {at}\", \"born\": \"1987-03-12\", \"code\": \"QX-7731\"}}"
        )
    };
    let line = |at: usize| format!("39053344705;maria.souza@bank.example;7481.93;Zwölfender {at};1987-03-12;QX-7731\n");
    let lines: String = (0..30).map(line).collect();
    let objects: Vec<String> = (0..30).map(json).collect();
    vec![
        ("in.csv", format!("cpf;email;amount;memo;born;code\n{lines}")),
        ("no_header.csv", lines.clone()),
        ("in.json", objects.join("\n")),
        ("array.json", format!("[{}]", objects.join(","))),
    ]
}

#[test]
fn proposals_have_names_types_and_counts() {
    for (name, text) in records() {
        let bench = Bench::new();
        let proposal = bench.accepted(name, text);
        shows_none(&proposal.yaml);
        shows_none(&proposal.source_line);
        shows_none(&format!("{proposal:?}"));
        assert_eq!((proposal.rows, proposal.source.schema.columns.len()), (30, 6));
    }
}

#[test]
fn so_do_proposals_for_records_with_faults() {
    for (name, text) in records() {
        let bench = Bench::new();
        let torn = text.replacen("39053344705", "390\"53344705", 3).replacen("7481.93", "7481.93.QX-7731", 2);
        let path = bench.write(name, &torn[..torn.len() - 4]);
        match bench.infer(&path) {
            Ok(proposal) => shows_none(&(proposal.yaml + &proposal.source_line)),
            Err(error) => shows_none(&format!("{error:?}")),
        }
    }
}

#[test]
fn messages_name_files_and_positions() {
    let bench = Bench::new();
    let columns = "39053344705;maria.souza\n";
    let path = bench.write("in.csv", format!("{columns}{columns}"));
    let twice = bench.write("twice.csv", "QX-7731;QX-7731\n1;2\n");
    let other = bench.write("other.csv", "a;QX-7731\n1;2\n");
    let latin = bench.write("latin.csv", b"a;b\nmaria.souza;\xe9\n");
    let forced = |files: &[&Path]| Request { header: Some(true), ..asked(files) };
    let requests = [
        forced(&[&twice]),
        forced(&[&other, &path]),
        forced(&[&path, &other]),
        Request { format: Some(FormatName::Parquet), ..asked(&[&path]) },
        Request { format: Some(FormatName::Json), ..asked(&[&path]) },
        Request { format: Some(FormatName::Avro), ..asked(&[&path]) },
        Request { format: Some(FormatName::Arrow), ..asked(&[&path]) },
        asked(&[&latin]),
    ];
    for request in requests {
        match propose(&bench.stores, &request) {
            // Who says that a line is a header says that its cells are names.
            Ok(proposal) => panic!("{}", proposal.yaml),
            Err(error) => {
                let Error::Failed(failure) = &error else { panic!("{error:?}") };
                assert!(failure.message.contains(".csv"), "{}", failure.message);
                let said = format!("{error:?}").replace("header says", "");
                let raw = RAW.iter().filter(|raw| said.contains(**raw)).count();
                assert_eq!(raw, 0, "{said}");
            }
        }
    }
}

#[test]
fn values_in_paths_are_columns_and_not_shown() {
    for (name, text) in records() {
        let bench = Bench::new();
        let one = bench.write(&format!("born_at=1987-03-12/holder=39053344705/{name}"), &text);
        let two = bench.write(&format!("born_at=1990-01-31/holder=QX-7731/{name}"), &text);
        let nulls = bench.write(&format!("born_at=1991-01-31/holder=__HIVE_DEFAULT_PARTITION__/{name}"), &text);
        let proposal = bench.accepts(&asked(&[&one, &two, &nulls]));
        let found = super::columns(&proposal);
        assert_eq!(found[6..], ["born_at: date iso!", "holder: string"], "{name}");
        assert!(proposal.yaml.contains("# in the path of the files, not in their records"));
        assert!(proposal.yaml.contains("# 60 values, 30 null, 2 distinct"), "{}", proposal.yaml);
        assert!(proposal.source_line.contains(&format!("born_at=*/holder=*/{name}")), "{}", proposal.source_line);
        shows_none(&proposal.yaml);
        shows_none(&proposal.source_line);
        shows_none(&format!("{proposal:?}"));
        // Also where a path was typed in full.
        let proposal = propose(&bench.stores, &asked(&[&one])).unwrap();
        shows_none(&(proposal.yaml + &proposal.source_line));
        for bytes in ["", "\n\n", "a;\nx;y\n"] {
            let path = bench.write("holder=39053344705/bad.csv", bytes);
            let error = propose(&bench.stores, &Request { header: Some(true), ..asked(&[&path]) }).unwrap_err();
            shows_none(&format!("{error:?}"));
            assert!(format!("{error:?}").contains("holder=*/bad.csv"), "{error:?}");
        }
    }
}

#[test]
fn keys_of_only_some_paths_or_that_the_records_have_are_no_columns() {
    let bench = Bench::new();
    let one = bench.write("dt=2026-01-02/k=x/in.csv", "a;b\nx;1\n");
    let two = bench.write("dt=2026-01-03/in.csv", "a;b\ny;2\n");
    let proposal = propose(&bench.stores, &asked(&[&one, &two])).unwrap();
    assert_eq!(super::columns(&proposal), ["a: string!", "b: bigint!", "dt: date iso!"]);
}

/// What must not leave of records that no delimiter cuts, or that are taken for a header.
const NAMES: [&str; 5] = ["MARIA", "SOUZA", "FLORES", "RETORNO", "BANCO"];

#[test]
fn fixed_width_is_refused_without_a_word_of_it() {
    let records = |width: usize, first: &str| -> String {
        let line = |at: usize| format!("1{at:05}MARIA SOUZA {at}");
        std::iter::once(first.to_owned()).chain((0..30).map(line)).map(|line| format!("{line:width$}\r\n")).collect()
    };
    for (name, width, first) in [
        ("cnab.ret", 240, "02RETORNO01COBRANCA      1234 56789012   MARIA SOUZA ME     341BANCO X"),
        ("header.txt", 60, "HEADER MARIA SOUZA"),
        ("short.csv", 24, "0HEADER"),
    ] {
        let bench = Bench::new();
        let path = bench.write(name, records(width, first));
        let Error::Failed(failure) = bench.infer(&path).unwrap_err() else { panic!("{name}") };
        let said = format!("{failure:?}");
        assert_eq!((failure.code, failure.message.contains(&format!("all 31 lines looked at have {width} characters"))), ("fixed-width", true), "{said}");
        assert!(said.contains("format: fixedWidth") && said.contains("docs/ingest.md"), "{said}");
        assert!(!NAMES.iter().any(|raw| said.contains(raw)), "{said}");
        // Who insists gets columns by position.
        let request = Request { format: Some(FormatName::Csv), ..asked(&[&path]) };
        let proposal = propose(&bench.stores, &request).unwrap();
        assert!(!NAMES.iter().any(|raw| proposal.yaml.contains(raw)), "{}", proposal.yaml);
    }
}

#[test]
fn first_lines_of_persons_and_keys_of_persons_are_not_shown() {
    let bench = Bench::new();
    for text in ["MARIA SOUZA;RUA DAS FLORES\nJOSE LIMA;RUA A\nANA PAZ;RUA B\n", "MARIA SOUZA\nJOSE LIMA\n", "CONTA 00123 BANCO X;b\nCONTA 00124 BANCO Y;c\n"] {
        let proposal = bench.accepted("in.csv", text);
        assert!(proposal.source_line.contains("header: false") && proposal.yaml.contains("# decide: the first line looks like data"), "{}", proposal.yaml);
        assert!(!NAMES.iter().any(|raw| proposal.yaml.contains(raw)), "{}", proposal.yaml);
    }
    let proposal = bench.accepted("in.json", "{\"n\": 1, \"MARIA SOUZA\": 2}\n{\"n\": 3, \"JOSE LIMA\": 4}\n");
    assert_eq!(super::columns(&proposal), ["n: bigint!"]);
    assert!(!NAMES.iter().any(|raw| proposal.yaml.contains(raw)), "{}", proposal.yaml);
}
