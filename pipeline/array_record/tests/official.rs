//! Differential test with the official library (PyPI `array_record`), in both directions over the option matrix.
//!
//! Runs when the environment variable `PERIMETER_PYTHON` names a Python that has it.
#![allow(clippy::print_stderr)] // tests say what they skip
use array_record::{Options, Reader, Writer, verify};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const OPTIONS: [&str; 12] = [
    "group_size:1,uncompressed",
    "group_size:1,zstd:3",
    "default",
    "group_size:1,zstd:19,window_log:12",
    "group_size:7,zstd:-3",
    "group_size:64,zstd:3",
    "group_size:64,uncompressed",
    "group_size:1,zstd:1,pad_to_block_boundary:true",
    "group_size:3,brotli:5",
    "group_size:10,snappy",
    "group_size:10,zstd:3,transpose:true",
    "group_size:4,uncompressed,transpose:true",
];

fn noise(length: usize, mut state: u64) -> Vec<u8> {
    state |= 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|at| if at % 3 == 0 { next() } else { b'a' + next() % 3 }).collect()
}

/// A message of protocol buffers with every wire type, nested, so that transposing has something to take apart.
fn message(index: u8) -> Vec<u8> {
    let mut out = vec![0x08, index & 0x7f, 0x10, 0x80 | (index & 0x7f), 1, 0x1d, 1, 2, 3, index, 0x21, 1, 2, 3, 4, 5, 6, 7, index];
    out.extend_from_slice(&[0x2a, 4, b't', b'e', b'x', index, 0x32, 6, 0x08, index & 0x7f, 0x12, 2, b'i', b'n', 0x3b, 0x08, 1, 0x3c]);
    out.extend_from_slice(&[0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    out
}

/// Whether zstd compresses no more than 4095 bytes at once, the footer included: above, the official writer streams without telling the size, so that its
/// frames begin with other bytes (see "Byte for byte" in the crate's documentation).
fn streams_nothing(records: &[Vec<u8>], options: &Options) -> bool {
    let groups = records.chunks(options.group_size() as usize);
    // An entry of the footer has ten bytes or fewer in files of less than 2 MiB with groups of less than 16 KiB.
    let footer_bytes = 80 + 10 * groups.len();
    footer_bytes < 4096 && groups.into_iter().all(|group| group.iter().map(Vec::len).sum::<usize>() < 4096)
}

/// Records of lengths that mean something to the format, drawn by proptest with a fixed seed, and options.
fn drawn() -> Vec<(String, Vec<Vec<u8>>, String)> {
    let length = prop_oneof![4 => 0usize..200, 2 => 0usize..5000, 1 => 65_300usize..65_700, 1 => 131_000usize..131_100, 1 => Just(0)];
    let records = prop::collection::vec((length, any::<u64>()), 0..60);
    let codec = prop_oneof![
        Just("uncompressed".to_owned()),
        Just("snappy".to_owned()),
        (0..7).prop_map(|level| format!("brotli:{level}")),
        (-7..12).prop_map(|level| format!("zstd:{level}")),
        (1..5, 10..24).prop_map(|(level, log)| format!("zstd:{level},window_log:{log}"))
    ];
    let options = (1u32..40, codec, any::<bool>()).prop_map(|(group, codec, pads)| format!("group_size:{group},{codec},pad_to_block_boundary:{pads}"));
    let mut runner = TestRunner::deterministic();
    (0..60)
        .map(|number| {
            let (records, options) = (&records, &options).new_tree(&mut runner).unwrap().current();
            (format!("drawn{number}"), records.into_iter().map(|(length, seed)| noise(length, seed)).collect(), options)
        })
        .collect()
}

/// A first record of each length around those with which its chunk ends on a block edge, where the next one begins.
fn edges() -> Vec<(String, Vec<Vec<u8>>, String)> {
    let edge = 65_536 - 64 - 40 - 1 - 1 - 3;
    (0..80)
        .map(|offset| (format!("edge{offset}"), vec![noise(edge - 60 + offset, 5), noise(300, 6), Vec::new()], "group_size:1,uncompressed".to_owned()))
        .collect()
}

fn shapes() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let edge = 65_536 - 64 - 40 - 1 - 1 - 3;
    let around = [-41, -40, -25, -24, -23, -1, 0, 1, 23, 24, 25, 40].map(|offset: isize| usize::try_from(edge + offset).unwrap());
    vec![
        ("none", Vec::new()),
        ("one_empty", vec![Vec::new()]),
        ("empties", vec![Vec::new(); 250]),
        ("tiny", (0..300).map(|index| noise(index % 9, index as u64)).collect()),
        ("small", (0..40).map(|index| noise(index * 2, index as u64)).collect()),
        ("messages", (0..100).map(message).collect()),
        ("edges", around.iter().flat_map(|size| [noise(*size, *size as u64), Vec::new(), noise(1, 9)]).collect()),
        ("large", vec![noise(700_000, 1), noise(3, 2), noise(200_000, 3)]),
    ]
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| [&(record.len() as u64).to_le_bytes()[..], record].concat()).collect()
}

fn official(python: &str, mode: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/official.py");
    let output = Command::new(python).arg(script).arg(mode).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn both_libraries_read_what_the_other_writes() {
    let Ok(python) = std::env::var("PERIMETER_PYTHON") else {
        eprintln!("skipped: PERIMETER_PYTHON names no Python with array_record");
        return;
    };
    let folder = Folder(std::env::temp_dir().join(format!("array_record_official_{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let mut cases = Vec::new();
    let matrix = shapes().into_iter().flat_map(|(shape, records)| {
        OPTIONS.iter().enumerate().map(move |(number, options)| (format!("{shape}_{number}"), records.clone(), (*options).to_owned())).collect::<Vec<_>>()
    });
    let mut on_edge = 0;
    for (name, records, options) in matrix.chain(edges()).chain(drawn()) {
        let base = folder.0.join(name);
        fs::write(base.with_extension("records"), framed(&records)).unwrap();
        fs::write(base.with_extension("options"), &options).unwrap();
        let parsed: Options = options.parse().unwrap();
        if !parsed.transpose() {
            let mut writer = Writer::new(Vec::new(), &parsed).unwrap();
            records.iter().for_each(|record| writer.write_record(record).unwrap());
            let (_, file) = writer.close().unwrap();
            // A block header that interrupts nothing: a chunk begins there.
            on_edge += usize::from(records.len() == 3 && file[65_536 + 8..65_536 + 16] == [0; 8]);
            fs::write(base.with_extension("ours"), file).unwrap();
        }
        cases.push((base, records, parsed));
    }
    assert!(on_edge > 0, "no chunk ends on the edge of a block");
    official(&python, "write", &folder.0);
    official(&python, "read", &folder.0);
    for (base, records, options) in cases {
        let name = format!("{} with {options}", base.display());
        let theirs = fs::read(base.with_extension("official")).unwrap();
        let sound = verify(&theirs).unwrap_or_else(|damage| panic!("{name}: {damage}"));
        assert_eq!(sound.records, records.len() as u64, "{name}");
        let reader = Reader::open(&theirs).unwrap();
        for (index, record) in reader.records(0..sound.records).enumerate() {
            assert!(record.unwrap() == records[index], "{name}: record {index}");
        }
        if options.transpose() {
            continue;
        }
        assert!(fs::read(base.with_extension("back")).unwrap() == framed(&records), "{name}: the official reader sees other records");
        let ours = fs::read(base.with_extension("ours")).unwrap();
        let is_deterministic = match options.compression() {
            array_record::Compression::Uncompressed => true,
            array_record::Compression::Zstd { .. } => streams_nothing(&records, &options),
            _ => false,
        };
        if is_deterministic {
            let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
            assert!(ours == theirs, "{name}: differs from the official writer's file at byte {differs:?}");
        }
        // Never much longer: within 1 % and a block.
        assert!(ours.len() <= theirs.len() + theirs.len() / 100 + 65_536, "{name}: {} bytes against {}", ours.len(), theirs.len());
    }
}
