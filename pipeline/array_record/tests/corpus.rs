//! Every file of the public corpus: what its list says of the sound ones holds, the damaged ones are refused for the right reason.
#![allow(clippy::print_stderr)] // tests say what they skip
use array_record::{Damage, Fault, Reader, Reason, verify};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The folder of the corpus, `None` (and a word about it) when it is not beside the repository.
fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/arrayrecord");
    let is_there = folder.join("EXPECTED_array_record.json").is_file();
    if !is_there {
        eprintln!("skipped: the corpus `shared/corpora/arrayrecord` is not beside the repository");
    }
    is_there.then_some(folder)
}

/// The entries of the list whose file is there.
fn entries(folder: &Path) -> Vec<(String, Value, Vec<u8>)> {
    let list: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("EXPECTED_array_record.json")).unwrap()).unwrap();
    let named = list.into_iter().map(|entry| (entry["file"].as_str().unwrap().to_owned(), entry));
    named.filter_map(|(name, entry)| Some((name.clone(), entry, fs::read(folder.join(&name)).ok()?))).collect()
}

#[test]
fn sound_files_hold_what_the_official_reader_says() {
    let Some(folder) = corpus() else { return };
    let mut checked = 0;
    for (name, entry, file) in entries(&folder).iter().filter(|(_, entry, _)| entry["records"].is_u64()) {
        let reader = Reader::open(&file[..]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(reader.num_records(), entry["records"].as_u64().unwrap(), "{name}");
        assert_eq!(reader.options(), entry["writer_options"].as_str(), "{name}");
        let mut hash = Sha256::new();
        let mut lengths = Vec::new();
        let mut records = reader.records(0..reader.num_records());
        while let Some(record) = records.next_borrowed() {
            let record = record.unwrap_or_else(|error| panic!("{name}: {error}"));
            hash.update((record.len() as u64).to_le_bytes());
            hash.update(record);
            lengths.push(record.len() as u64);
        }
        if let Some(expected) = entry["sha256_len_prefixed"].as_str() {
            assert_eq!(hex::encode(hash.finalize()), expected, "{name}");
        }
        for (key, found) in [("min_len", lengths.iter().min()), ("max_len", lengths.iter().max())] {
            assert!(entry[key].is_null() || entry[key].as_u64() == found.copied(), "{name}: {key}");
        }
        assert!(entry["total"].is_null() || entry["total"].as_u64() == Some(lengths.iter().sum()), "{name}: total");

        // Random access sees the same records.
        for index in (0..reader.num_records()).step_by(7) {
            let one = reader.record(index).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(one.len() as u64, lengths[usize::try_from(index).unwrap()], "{name}: record {index}");
            assert_eq!(one, reader.records(index..index + 1).next().unwrap().unwrap(), "{name}: record {index}");
        }

        let sound = verify(&file[..]).unwrap_or_else(|damage| panic!("{name}: {damage}"));
        assert_eq!((sound.records, sound.bytes), (reader.num_records(), file.len() as u64), "{name}");
        assert_eq!(hex::encode(sound.sha256), hex::encode(Sha256::digest(file)), "{name}");
        checked += 1;
    }
    assert!(checked >= 55, "only {checked} files of the corpus were there");
}

/// TFRecord: length (8 bytes), its checksum (4), data, its checksum (4).
fn tfrecords(mut file: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while let Some((head, rest)) = file.split_at_checked(12) {
        let length = u64::from_le_bytes(head[..8].try_into().unwrap());
        let (record, rest) = rest.split_at(usize::try_from(length).unwrap());
        records.push(record);
        file = &rest[4..];
    }
    records
}

#[test]
fn c4_shards_equal_their_tfrecord_twins() {
    let Some(folder) = corpus() else { return };
    let mut checked = 0;
    for (name, _, file) in entries(&folder).iter().filter(|(_, entry, _)| entry["same_as_tfrecord"] == true) {
        let twin = name.replace("c4-", "__local_c4_builder-").replace(".array_record-", ".tfrecord-");
        let Ok(twin) = fs::read(folder.join(&twin)) else { panic!("{twin} is not there") };
        let twins = tfrecords(&twin);
        let reader = Reader::open(&file[..]).unwrap();
        assert_eq!(reader.num_records(), twins.len() as u64, "{name}");
        for (record, twin) in reader.records(0..reader.num_records()).zip(&twins) {
            assert_eq!(record.unwrap(), *twin, "{name}");
        }
        checked += 1;
    }
    assert_eq!(checked, 10);
}

/// What a damaged file must be refused for: the bytes named, the fault, the records lost (`None`: the index is gone) and sound.
type Verdict = (Range<u64>, Fault, Option<u64>, u64);

#[test]
fn damaged_files_are_refused_for_the_right_reason() {
    let Some(folder) = corpus() else { return };
    let postscript = "a chunk of data runs into it";
    let expected: BTreeMap<&str, Verdict> = BTreeMap::from([
        ("bitflip_10", (0..64, Fault::Signature, None, 0)),
        ("bitflip_70", (64..104, Fault::ChunkHeaderHash, Some(7), 993)),
        ("bitflip_200", (192..232, Fault::ChunkHeaderHash, Some(7), 993)),
        ("bitflip_1000", (785..1046, Fault::ChunkDataHash, Some(7), 993)),
        ("bitflip_5000", (4892..5060, Fault::ChunkDataHash, Some(7), 993)),
        ("bitflip_65541", (65536..65560, Fault::BlockHeaderHash, None, 1000)),
        ("bitflip_65596", (65536..65600, Fault::ChunkHeaderHash, None, 1000)),
        // In the padding behind the postscript, where the official reader does not look.
        ("bitflip_131052", (65647..131_072, Fault::ChunkDataHash, Some(0), 1000)),
        ("garbage_tail", (131_172..131_172, Fault::NotWholeBlocks(131_172), None, 1000)),
        ("not_riegeli", (0..64, Fault::Signature, None, 0)),
        ("trunc_half", (65536..65536, Fault::TooSmall(65536), None, 1000)),
        ("trunc_last_64k", (65536..65536, Fault::TooSmall(65536), None, 1000)),
        ("trunc_minus_1", (65647..131_071, Fault::TooSmall(131_071), None, 1000)),
        ("zero_bytes", (0..0, Fault::TooSmall(0), None, 0)),
        ("trunc_at_65536", (65535..65536, Fault::TooSmall(65536), None, 554)),
        ("trunc_at_131072", (65536..131_072, Fault::Postscript(postscript), None, 1000)),
        ("trunc_at_131172", (131_072..131_172, Fault::NotWholeBlocks(131_172), None, 1000)),
    ]);
    let mut report = Vec::new();
    for (name, _, file) in entries(&folder).iter().filter(|(name, ..)| name.starts_with("damaged/")) {
        let key = name.trim_start_matches("damaged/").trim_end_matches(".array_record");
        let verdict = match verify(&file[..]) {
            Ok(sound) => panic!("{name} passes for sound: {sound:?}"),
            Err(Damage { bytes, records_lost, records_sound, reason: Reason::Fault(fault), .. }) => (bytes, fault, records_lost, records_sound),
            Err(other) => panic!("{name}: {other}"),
        };
        if expected.get(key) != Some(&verdict) {
            report.push(format!("{key}: {verdict:?}"));
        }
        // What is lost is never read as something else, and what is sound is read.
        if let Ok(reader) = Reader::open(&file[..]) {
            let sound = (0..reader.num_records()).filter(|index| reader.record(*index).is_ok()).count() as u64;
            assert_eq!(sound, verdict.3, "{name}");
        }
    }
    assert!(report.is_empty(), "{report:#?}");
}
