use super::*;

#[test]
fn however_a_file_is_cut_it_holds_the_same() {
    let bench = Bench::new();
    let mut text = "a,b\r\n".to_owned();
    for i in 0..200 {
        text.push_str(&match i % 9 {
            0 => format!("{i},\"line\nbreak, and \"\"quotes\"\"\"\r\n"),
            1 => format!("\n\n{i}\r\n"),
            2 => format!("{i},\"torn\r\n"),
            3 => format!("\"{i}\"x,y\n"),
            _ => format!("{i},plain\r"),
        });
    }
    let path = bench.write("in.csv", text);
    let source = csv_source(&path, &["a", "b"]);
    let (whole, tally) = bench.read(&source).unwrap();
    assert_eq!(tally.rows_read, 200);
    for unit_bytes in [1, 2, 10, 33, 100, 1000, 1 << 30] {
        let (files, units) = bench.cut(&source, unit_bytes);
        assert_eq!(units.len() > 1, unit_bytes < 1 << 20);
        let (out, cut_tally) = bench.read_units(&source, &files, &units, &[0, 1], 8192).unwrap();
        assert_eq!((&out.rows, &out.rejected), (&whole.rows, &whole.rejected), "{unit_bytes}");
        assert_eq!((cut_tally.rows_read, &cut_tally.rejections), (tally.rows_read, &tally.rejections));
        // In any order, each alone.
        let mut backwards = units.clone();
        backwards.reverse();
        let (out, _) = bench.read_units(&source, &files, &backwards, &[0, 1], 3).unwrap();
        assert_eq!((out.rows.len(), out.rejected.len()), (whole.rows.len(), whole.rejected.len()));
    }
}

/// The pass that finds where to cut forgets the middle of a record that is too long; where the record starts is not where that leaves off.
#[test]
fn a_record_longer_than_many_units_is_one_record() {
    let bench = Bench::new();
    let longest = crate::read::text::MAX_RECORD_BYTES;
    // The lengths lie around those at which the buffer is filled and cut.
    for length in [longest - 100, longest + 1, 3 * longest, 9 * longest + 7, 20 * longest] {
        let long = "x".repeat(length);
        let too_long = length > longest;
        let csv = bench.write("in.csv", format!("a,b\n1,p\n2,{long}\n3,q\n4,{long}\n5,r"));
        let json = bench.write("in.json", ["p", &long, "q", &long, "r"].map(|b| format!("{{\"a\":\"1\",\"b\":\"{b}\"}}")).join("\n"));
        let texts = || vec![column("a", DataType::String), column("b", DataType::String)];
        for source in [csv_source(&csv, &["a", "b"]), json_source(&json, texts())] {
            let (whole, _) =
                bench.read_units(&source, &bench.stores.list(&source.uri).unwrap(), &[Unit { source: 0, file: 0, part: Part::Whole }], &[0, 1], 8192).unwrap();
            let codes = if too_long { vec![(2, "too-long".to_owned()), (4, "too-long".to_owned())] } else { Vec::new() };
            assert_eq!((whole.codes(), whole.rows.len()), (codes, if too_long { 3 } else { 5 }), "{length}");
            for unit_bytes in [1, 1000, longest as u64, 4 * longest as u64] {
                let (files, units) = bench.cut(&source, unit_bytes);
                assert!(units.len() > 1 || length as u64 * 2 < unit_bytes, "{length} {unit_bytes}");
                let (out, _) = bench.read_units(&source, &files, &units, &[0, 1], 8192).unwrap();
                assert!((&out.rows, &out.rejected) == (&whole.rows, &whole.rejected), "{length} {unit_bytes}: {:?}", out.codes());
            }
        }
    }
}

#[test]
fn large_files_are_cut_and_small_ones_are_not() {
    let bench = Bench::new();
    let line = format!("1,\"{}\n\"\n", "x".repeat(1000));
    let lines = usize::try_from(2 * UNIT_BYTES).unwrap() / line.len() + 2;
    bench.write("large.csv", format!("\u{feff}a,b\n{}", line.repeat(lines)));
    bench.write("small.csv", "a,b\n1,2\n");
    let source = csv_source(&bench.folder.path().join("*.csv"), &["a", "b"]);
    let (files, units) = plan_units(&bench.stores, 3, &source).unwrap();
    assert_eq!(files.iter().map(|f| f.uri.rsplit('/').next().unwrap()).collect::<Vec<_>>(), ["large.csv", "small.csv"]);
    assert_eq!(units.iter().map(|u| (u.source, u.file)).collect::<Vec<_>>(), [(3, 0), (3, 0), (3, 1)]);
    assert_eq!(units[2].part, Part::Whole);
    let (out, tally) = bench.read_units(&source, &files, &units, &[0, 1], 8192).unwrap();
    assert_eq!((out.rows.len(), tally.rows_rejected), (lines + 1, 0));
    let text = serde_json::to_string(&units).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Unit>>(&text).unwrap(), units, "{text}");

    let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(1000));
    bench.write("large.json", format!("\u{feff}{}{{\n", line.repeat(lines)));
    let source = json_source(&bench.folder.path().join("large.json"), vec![column("a", DataType::String)]);
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    assert!(units.len() >= 2);
    let (out, _) = bench.read_units(&source, &files, &units, &[0], 8192).unwrap();
    assert_eq!((out.rows.len(), out.codes()), (lines, vec![(lines as u64 + 1, "invalid-json".into())]));
}

#[test]
fn many_small_files_are_planned_in_order() {
    let bench = Bench::new();
    for i in 0..100 {
        bench.write(&format!("{i:03}.csv"), format!("a\n{i}\n"));
    }
    let source = csv_source(&bench.folder.path().join("*.csv"), &["a"]);
    let (out, tally) = bench.read(&source).unwrap();
    assert_eq!(out.rows.iter().map(|r| r[0].clone().unwrap()).collect::<Vec<_>>(), (0..100).map(|i| i.to_string()).collect::<Vec<_>>());
    assert_eq!(tally.rows_read, 100);
    // One bad one is named.
    bench.write("050.csv", "b\n1\n");
    assert!(refusal(bench.read(&source)).2.contains("050.csv"));
}
