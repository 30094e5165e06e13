use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// With a checksum, which the format leaves to the writer.
fn zstandard(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn refused(name: &str, bytes: impl AsRef<[u8]>) -> (&'static str, u8, String) {
    let bench = Bench::new();
    let path = bench.write(name, bytes);
    let (code, exit, message) = refusal(bench.read(&csv_source(&path, &["cpf", "name"])));
    assert!(message.contains(name), "{message}");
    (code, exit, message)
}

/// B14 among them: a column twice.
#[test]
fn headers_that_do_not_fit_the_contract() {
    assert_eq!(refused("in.csv", "").0, "empty-file");
    assert_eq!(refused("in.csv", "\u{feff}").0, "empty-file");
    assert_eq!(refused("in.csv", "\n\r\n\n").0, "header-missing");
    assert_eq!(refused("in.csv", "52998224725,Ana\n").0, "header-missing");
    assert_eq!(refused("in.csv", "cpf;name\n").0, "header-missing");
    assert_eq!(refused("in.csv", "cpf,\"name\n1,2\n").0, "header-torn");
    assert_eq!(refused("in.csv", "cpf,name,cpf\n1,2,3\n").0, "duplicate-column");
    assert_eq!(refused("in.csv", "\u{feff}cpf,name,cpf\n1,2,3\n").0, "duplicate-column");
    assert_eq!(refused("in.csv", "cpf\n1\n").0, "missing-column");
    assert_eq!(refused("in.csv", "cpf,name,more\n1,2,3\n").0, "unknown-column");
    assert_eq!(refused("in.csv", "CPF,name\n1,2\n").0, "unknown-column");
    assert_eq!(refused("in.csv", " cpf,name\n1,2\n").0, "unknown-column");
    let (_, exit, message) = refused("in.csv", "cpf,name,cpf\n");
    assert_eq!(exit, 2);
    assert!(message.contains("`cpf`") && message.contains("1 and 3"), "{message}");
}

#[test]
fn a_header_that_is_data_is_not_shown() {
    for text in ["52998224725,Ana\n", "cpf,52998224725\n", "cpf,name,52998224725,52998224725\n", "52998224725,cpf,name\n"] {
        let (_, _, message) = refused("in.csv", text);
        assert!(!message.contains("529"), "{message}");
    }
}

#[test]
fn a_header_without_rows_is_a_file_without_rows() {
    let bench = Bench::new();
    for text in ["cpf,name", "cpf,name\n", "\ncpf,name\r\n\r\n"] {
        let path = bench.write("in.csv", text);
        let (out, tally) = bench.read(&csv_source(&path, &["cpf", "name"])).unwrap();
        assert_eq!((out.rows.len(), tally.rows_read, tally.rows_rejected), (0, 0, 0));
    }
}

#[test]
fn files_of_another_format() {
    for (bytes, what) in [
        (b"PAR1....".as_slice(), "Parquet"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (b"\xff\xfec\0p\0f\0", "UTF-16"),
        (b"PK\x03\x04...", "zip"),
    ] {
        let (code, exit, message) = refused("in.csv", bytes);
        assert_eq!((code, exit), ("format-mismatch", 2));
        assert!(message.contains(what), "{message}");
        let bench = Bench::new();
        let path = bench.write("in.json", bytes);
        assert_eq!(refusal(bench.read(&json_source(&path, vec![column("a", DataType::String)]))).0, "format-mismatch");
    }
    let bench = Bench::new();
    let path = bench.write("in.json", " \n[{\"a\":\"1\"}]");
    let (code, exit, _) = refusal(bench.read(&json_source(&path, vec![column("a", DataType::String)])));
    assert_eq!((code, exit), ("format-mismatch", 2));
    let path = bench.write("in.parquet", "cpf,name\n1,2\n3,4\n");
    assert_eq!(refusal(bench.read(&source(&path, Format::Parquet, vec![column("cpf", DataType::String)]))).0, "format-mismatch");
    assert_eq!(refused("in.csv.lz4", "\x04\x22").0, "unsupported-compression");
}

#[test]
fn nothing_there() {
    let bench = Bench::new();
    for name in ["absent.csv", "*.csv", "absent/*.csv"] {
        let (code, exit, message) = refusal(bench.read(&csv_source(&bench.folder.path().join(name), &["a"])));
        assert_eq!((code, exit), ("input-not-found", 2));
        assert!(message.contains(name));
    }
    let (code, exit, _) = refusal(bench.read(&csv_source(bench.folder.path(), &["a"])));
    assert_eq!((code, exit), ("input-not-a-file", 2));
    let mut elsewhere = csv_source(bench.folder.path(), &["a"]);
    elsewhere.uri = Uri("gs://bucket/a.csv".into());
    assert_eq!(refusal(bench.read(&elsewhere)).0, "unknown-scheme");
}

/// B31: all members of gzip and zstd; bzip2 and xz below.
#[test]
fn compressed_files_are_read_to_their_very_end() {
    let bench = Bench::new();
    let (first, second) = ("\u{feff}cpf,name\n1,a\n2,", "b\n3,c\n");
    let members = [gzip(first.as_bytes()), gzip(b""), gzip(second.as_bytes())].concat();
    let frames = [zstandard(first.as_bytes()), zstandard(second.as_bytes())].concat();
    for (name, bytes) in [("in.csv.gz", &members), ("in.csv.zst", &frames)] {
        let path = bench.write(name, bytes);
        let source = csv_source(&path, &["cpf", "name"]);
        let (out, tally) = bench.read(&source).unwrap();
        assert_eq!(out.cells(), [["1", "a"], ["2", "b"], ["3", "c"]]);
        assert_eq!(tally.bytes_read, bytes.len() as u64);
        // Cut anywhere but between members: an error that names the file, with rows never taken for all.
        let first_end = if name.ends_with("gz") { gzip(first.as_bytes()).len() } else { zstandard(first.as_bytes()).len() };
        let second_end = first_end + if name.ends_with("gz") { gzip(b"").len() } else { 0 };
        for end in 1..bytes.len() {
            if end == first_end || end == second_end {
                continue;
            }
            bench.write(name, &bytes[..end]);
            let (code, exit, message) = refusal(bench.read(&source));
            assert_eq!((code, exit), ("truncated-input", 1), "{name} {end}");
            assert!(message.contains(name));
        }
        // Something behind the end.
        bench.write(name, [bytes.as_slice(), b"garbage that is no member"].concat());
        let (code, exit, _) = refusal(bench.read(&source));
        assert_eq!((code, exit), ("corrupt-input", 1), "{name}");
        // A byte changed inside.
        let mut flipped = bytes.clone();
        flipped[first_end - 6] ^= 0xff;
        bench.write(name, &flipped);
        let (code, exit, _) = refusal(bench.read(&source));
        assert!(matches!(code, "corrupt-input" | "truncated-input"), "{name} {code}");
        assert_eq!(exit, 1);
    }
    let path = bench.write("plain.csv.gz", "cpf,name\n1,a\n");
    assert_eq!(refusal(bench.read(&csv_source(&path, &["cpf", "name"]))).0, "corrupt-input");
    let path = bench.write("empty.csv.gz", gzip(b""));
    assert_eq!(refusal(bench.read(&csv_source(&path, &["cpf", "name"]))).0, "empty-file");
    let path = bench.write("none.csv.gz", b"");
    let (code, _, _) = refusal(bench.read(&csv_source(&path, &["cpf", "name"])));
    assert_eq!(code, "empty-file");
}

#[test]
fn a_file_that_changed_since_it_was_listed_is_not_read() {
    let bench = Bench::new();
    let path = bench.write("in.csv", "a\n1\n");
    let source = csv_source(&path, &["a"]);
    let (files, units) = plan_units(&bench.stores, 0, &source).unwrap();
    bench.write("in.csv", "a\n1\n2\n");
    let (code, exit, _) = refusal(bench.read_units(&source, &files, &units, &[0], 10));
    assert_eq!((code, exit), ("input-changed", 3));
}

#[test]
fn partition_values_that_a_wildcard_found_are_not_shown() {
    let bench = Bench::new();
    bench.write("dt=2026/cpf=52998224725/in.csv", "b\n");
    let source = csv_source(&bench.folder.path().join("dt=2026/*/in.csv"), &["a"]);
    let (_, _, message) = refusal(bench.read(&source));
    assert!(message.contains("dt=2026/cpf=*/in.csv") && !message.contains("529"), "{message}");
}

fn bz2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// B31: several streams of each kind, empty ones among them, and what may stand behind the last.
#[test]
fn streams_of_every_kind_follow_each_other() {
    let bench = Bench::new();
    let texts = ["\u{feff}cpf,name\n1,a\n2,", "", "b\n3,c\n"];
    let skippable = |bytes: &[u8]| [&[0x5a, 0x2a, 0x4d, 0x18][..], &u32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes].concat();
    let kinds: [(&str, fn(&[u8]) -> Vec<u8>, Option<&[u8]>); 4] =
        [("in.csv.gz", gzip, Some(&[0; 700])), ("in.csv.zst", zstandard, None), ("in.csv.bz2", bz2, None), ("in.csv.xz", xz, Some(&[0; 8]))];
    for (name, compress, padding) in kinds {
        let streams: Vec<Vec<u8>> = texts.iter().map(|text| compress(text.as_bytes())).collect();
        let whole = streams.concat();
        let path = bench.write(name, &whole);
        let source = csv_source(&path, &["cpf", "name"]);
        let (out, tally) = bench.read(&source).unwrap();
        assert_eq!(out.cells(), [["1", "a"], ["2", "b"], ["3", "c"]], "{name}");
        assert_eq!(tally.bytes_read, whole.len() as u64);
        // Padding that the format knows, and nothing behind that.
        if let Some(padding) = padding {
            bench.write(name, [&whole, padding].concat());
            assert_eq!(bench.read(&source).unwrap().0.rows.len(), 3, "{name}");
            bench.write(name, [&whole[..], padding, b"x"].concat());
            let (code, exit, _) = refusal(bench.read(&source));
            assert!(matches!(code, "corrupt-input" | "truncated-input") && exit == 1, "{name} {code}");
        }
        for behind in [&b"garbage"[..], b"x", b"1,2\n", &[0; 7]] {
            bench.write(name, [&whole, behind].concat());
            match bench.read(&source) {
                Ok(_) => assert!(name.ends_with("gz") && behind[0] == 0, "{name} {behind:?}"),
                Err(error) => assert!(matches!(refusal::<()>(Err(error)), ("corrupt-input" | "truncated-input", 1, _)), "{name} {behind:?}"),
            }
        }
        // Cut anywhere but between streams: exit 1, and never rows that are taken for all.
        let ends = [streams[0].len(), streams[0].len() + streams[1].len()];
        for end in (1..whole.len()).filter(|end| !ends.contains(end)) {
            bench.write(name, &whole[..end]);
            let (code, exit, message) = refusal(bench.read(&source));
            assert!(matches!(code, "truncated-input" | "corrupt-input") && exit == 1 && message.contains(name), "{name} {end} {code}");
        }
        // A byte changed anywhere is noticed, or changes nothing.
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            bench.write(name, &flipped);
            if let Ok((again, _)) = bench.read(&source) {
                assert_eq!(again.rows, out.rows, "{name} {at}");
            }
        }
    }
    let first = zstandard(texts[0].as_bytes());
    let path = bench.write("in.csv.zst", [skippable(b"x"), first, skippable(b""), zstandard(texts[2].as_bytes()), skippable(&[7; 300])].concat());
    assert_eq!(bench.read(&csv_source(&path, &["cpf", "name"])).unwrap().0.rows.len(), 3);
}

#[test]
fn decompression_takes_no_more_memory_than_it_may() {
    let bench = Bench::new();
    // A window of 2^28 bytes in a frame of some kilobytes, and a dictionary of 1 GiB.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(b"a,b\n").unwrap();
    (0..1000).for_each(|i| writeln!(encoder, "{i},x").unwrap());
    let zst = encoder.finish().unwrap();
    // The size of the dictionary stands in the block's header; a small file with a small one is made to claim it.
    let small = xz(b"a,b\n1,x\n");
    let claim = claiming(&small);
    for (name, bytes) in [("in.csv.zst", zst), ("in.csv.xz", claim)] {
        let path = bench.write(name, bytes);
        let (code, exit, message) = refusal(bench.read(&csv_source(&path, &["a", "b"])));
        assert_eq!((code, exit), ("decompression-limit", 1), "{name}: {message}");
    }
    // A bomb streams through: 64 MiB of blank lines in some kilobytes.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"a,b\n1,2\n").unwrap();
    (0..64).for_each(|_| encoder.write_all(&vec![b'\n'; 1 << 20]).unwrap());
    let path = bench.write("in.csv.gz", encoder.finish().unwrap());
    assert_eq!(bench.read(&csv_source(&path, &["a", "b"])).unwrap().1.rows_read, 1);
}

/// An xz file whose first block claims a dictionary of 1 GiB (the format's section 5.3.1: one byte of the LZMA2 filter's properties), with the right checksum.
fn claiming(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let header = 12..12 + (usize::from(file[12]) + 1) * 4;
    let filter = header.start + file[header.clone()].windows(2).position(|pair| pair == [0x21, 1]).unwrap();
    file[filter + 2] = 36;
    let mut crc = flate2::Crc::new();
    crc.update(&file[header.start..header.end - 4]);
    file[header.end - 4..header.end].copy_from_slice(&crc.sum().to_le_bytes());
    file
}
