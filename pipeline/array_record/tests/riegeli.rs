//! Plain Riegeli as a partner: the riegeli crate reads what we write, we read what it writes, and both read what the C++ library wrote.
//!
//! Plain files have no ArrayRecord footer. The test appends one, made by an encoder of its own, and leaves the file's bytes as they are.
#![allow(clippy::print_stderr)] // tests say what they skip
use array_record::{Fault, Options, Reader, Reason, Writer, verify};
use riegeli::{CompressionType, ReaderOptions, RecordReader, RecordWriter, WriterOptions};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

#[allow(dead_code)] // shared with the fuzz targets
#[path = "../../../tests/fuzz/src/forge.rs"]
mod forge;

/// A folder of the corpus, `None` (and a word about it) when it is not beside the repository.
fn corpus(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/arrayrecord").join(name);
    if !folder.is_dir() {
        eprintln!("skipped: the corpus `shared/corpora/arrayrecord` is not beside the repository");
    }
    folder.is_dir().then_some(folder)
}

fn theirs(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = RecordReader::new(Cursor::new(file), ReaderOptions::new()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.read_record().unwrap_or_else(|error| panic!("riegeli, record {}: {error:?}", records.len())) {
        records.push(record);
    }
    records
}

fn ours(file: &[u8]) -> Vec<Vec<u8>> {
    let reader = Reader::open(file).unwrap();
    reader.records(0..reader.num_records()).map(Result::unwrap).collect()
}

/// Bytes that compress somewhat, different for every seed.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..length)
        .map(|at| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if at % 3 == 0 { b'a' } else { state as u8 }
        })
        .collect()
}

/// Protocol buffer messages of a few shapes.
fn messages(count: u64) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| {
            let mut out = Vec::new();
            forge::put_field(&mut out, 1, number * number * 7919);
            out.extend_from_slice(&[0x12, 3, b'a' + (number % 20) as u8, b'b', b'c']);
            out.extend_from_slice(&[0x19, 1, 2, 3, 4, 5, 6, 7, number as u8]);
            out.extend_from_slice(&[0x25, 1, 2, 3, number as u8]);
            for part in 0..number % 4 {
                let mut inner = Vec::new();
                forge::put_field(&mut inner, 1, part << 40);
                inner.extend_from_slice(&[0x12, 0, 0x18, 1]);
                out.extend_from_slice(&[0x2a, inner.len() as u8]);
                out.extend_from_slice(&inner);
            }
            if number % 5 == 0 {
                out.extend_from_slice(&[0x33, 0x08, 0xff, 1, 0x34]);
            }
            out
        })
        .collect()
}

/// A message in a message, and so on: empty in the innermost, or with something in each.
fn nested(levels: u64) -> Vec<u8> {
    (0..levels * 4).fold(Vec::new(), |inner, level| {
        let mut outer = vec![0x0a];
        forge::put_varint(&mut outer, inner.len() as u64);
        outer.extend_from_slice(&inner);
        if levels.is_multiple_of(2) {
            forge::put_field(&mut outer, 2, level);
        }
        outer
    })
}

fn shapes() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("none", vec![]),
        ("one empty", vec![vec![]]),
        ("one byte", vec![vec![7]]),
        ("small", (0..700).map(|at| noise(at % 90, at as u64)).collect()),
        ("blocks", (0..6).map(|at| noise(65_400 + 30 * at, at as u64)).collect()),
        ("large", vec![noise(400_000, 1), vec![], noise(200_000, 2)]),
        ("messages", messages(300)),
        ("nested", (0..20).map(nested).collect()),
        ("messages and others", messages(60).into_iter().flat_map(|message| [message.clone(), vec![0xff; message.len()]]).collect()),
    ]
}

#[test]
fn a_file_of_ours_is_a_plain_riegeli_file() {
    for (shape, records) in shapes() {
        for options in [
            "group_size:1,uncompressed",
            "group_size:1,zstd:3",
            "group_size:64,zstd:1",
            "group_size:10,brotli:2",
            "group_size:3,snappy",
            "group_size:100,uncompressed,pad_to_block_boundary",
        ] {
            let parsed: Options = options.parse().unwrap();
            let mut writer = Writer::new(Vec::new(), &parsed).unwrap();
            records.iter().for_each(|record| writer.write_record(record).unwrap());
            let (_, file) = writer.close().unwrap();
            let read = theirs(&file);
            // Behind the records: the footer's metadata, one entry for each chunk, three postscripts.
            let chunks = records.len().div_ceil(parsed.group_size() as usize);
            assert_eq!(read.len(), records.len() + 1 + chunks + 3, "{shape}, {options}");
            assert!(read[..records.len()] == records, "{shape}, {options}: riegeli reads other records");
            assert!(read[read.len() - 3..].iter().all(|copy| *copy == read[read.len() - 1]), "{shape}, {options}");
            // The same, by a third decoder of chunks.
            let numbered: u64 = forge::chunks(&file).iter().map(|chunk| chunk.header.records).sum();
            assert_eq!(numbered as usize, read.len(), "{shape}, {options}");
        }
    }
}

#[test]
fn what_riegeli_writes_is_read() {
    let compressions = [CompressionType::None, CompressionType::Zstd, CompressionType::Brotli, CompressionType::Snappy];
    let mut transposed = 0;
    for (shape, records) in shapes() {
        for compression in compressions {
            for transpose in [false, true] {
                for (chunk_bytes, fraction) in [(1 << 20, 1.0), (3000, 1.0), (100_000, 0.0)] {
                    let name = format!("{shape}, {compression:?}, transpose {transpose}, {chunk_bytes}");
                    let mut plain = Vec::new();
                    let options = WriterOptions::new().compression(compression).transpose(transpose).chunk_size(chunk_bytes).bucket_fraction(fraction);
                    let mut writer = RecordWriter::new(Cursor::new(&mut plain), options).unwrap();
                    records.iter().for_each(|record| writer.write_record(record).unwrap());
                    writer.close().unwrap();
                    transposed += forge::chunks(&plain).iter().filter(|chunk| chunk.header.kind == b't').count();
                    let file = forge::indexed(&plain);
                    assert!(ours(&file) == records, "{name}: other records");
                    match verify(&file) {
                        Ok(sound) => assert_eq!(sound.records, records.len() as u64, "{name}"),
                        // Riegeli ends chunks by size, so that groups differ; nothing else is wrong with them.
                        Err(damage) => {
                            assert!(matches!(damage.reason, Reason::Fault(Fault::Footer(why)) if why.contains("different numbers")), "{name}: {damage}");
                            assert_eq!(damage.records_sound, records.len() as u64, "{name}");
                        }
                    }
                }
            }
        }
    }
    assert!(transposed > 100, "only {transposed} transposed chunks");
}

#[test]
fn transposed_files_of_the_official_writer_are_read_alike() {
    let Some(folder) = corpus("reference_writer_0.8.6") else { return };
    let mut checked = 0;
    for path in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let file = fs::read(&path).unwrap();
        let ours = ours(&file);
        let theirs = theirs(&file);
        assert!(theirs.len() >= ours.len() + 4 && theirs[..ours.len()] == ours, "{}: the readers see other records", path.display());
        checked += usize::from(forge::chunks(&file).iter().any(|chunk| chunk.header.kind == b't'));
    }
    assert!(checked >= 4, "only {checked} files with transposed chunks");
}

#[test]
fn golden_files_of_the_riegeli_library_hold_their_records() {
    let Some(folder) = corpus("riegeli-rs/riegeli/testdata") else { return };
    // What their own conformance test expects of each.
    let expected: Vec<Vec<u8>> = (0..100).map(|index| format!("record_{index:06}").into_bytes()).collect();
    for (name, kind) in
        [("simple_none", b'r'), ("simple_brotli", b'r'), ("simple_zstd", b'r'), ("transpose_none", b't'), ("transpose_brotli", b't'), ("transpose_zstd", b't')]
    {
        let plain = fs::read(folder.join("golden").join(name).with_extension("riegeli")).unwrap();
        assert!(verify(&plain).is_err() && Reader::open(&plain).is_err(), "{name}: a plain Riegeli file is no ArrayRecord file");
        assert!(forge::chunks(&plain).iter().any(|chunk| chunk.header.kind == kind), "{name}");
        let file = forge::indexed(&plain);
        let sound = verify(&file).unwrap_or_else(|damage| panic!("{name}: {damage}"));
        assert_eq!(sound.records, 100, "{name}");
        let reader = Reader::open(&file).unwrap();
        let records: Vec<Vec<u8>> = reader.records(0..100).map(Result::unwrap).collect();
        assert_eq!(records, expected, "{name}");
        assert_eq!(reader.record(57).unwrap(), expected[57], "{name}");
    }
    // A file that once led a reader that recovers astray: refused, whatever follows it.
    let mut damaged = fs::read(folder.join("regression/recovery_regions_alias.riegeli")).unwrap();
    assert!(verify(&damaged).is_err());
    damaged.resize(3 << 16, 0);
    assert!(verify(&damaged).is_err() && Reader::open(&damaged).is_err());
}
