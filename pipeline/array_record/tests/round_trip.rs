//! What is written is read again, whatever the sizes, options and threads, and no damaged byte passes.
use array_record::{Closed, Options, ReadAt, Reader, WriteError, Writer, verify, verify_with};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

fn write(records: &[Vec<u8>], options: &str) -> (Closed, Vec<u8>) {
    let mut writer = Writer::new(Vec::new(), &options.parse().unwrap()).unwrap();
    records.iter().for_each(|record| writer.write_record(record).unwrap());
    writer.close().unwrap()
}

/// Bytes that compress to about half, different for every seed.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|at| if at % 2 == 0 { b'a' + next() % 4 } else { next() }).collect()
}

fn assert_round_trip(records: &[Vec<u8>], options: &str) -> Vec<u8> {
    let (closed, file) = write(records, options);
    assert_eq!((closed.records(), closed.bytes()), (records.len() as u64, file.len() as u64));
    assert_eq!((closed.crc32c(), closed.sha256()), (crc32c::crc32c(&file), Sha256::digest(&file).into()));
    let sound = verify(&file).unwrap_or_else(|damage| panic!("{options}: {damage}"));
    assert_eq!((sound.records, sound.bytes, sound.crc32c, sound.sha256), (closed.records(), closed.bytes(), closed.crc32c(), closed.sha256()));

    let reader = Reader::open(&file).unwrap();
    assert_eq!(reader.num_records(), records.len() as u64);
    let mut sequential = reader.records(0..reader.num_records());
    for (index, record) in records.iter().enumerate() {
        assert_eq!(sequential.next_borrowed().unwrap().unwrap(), record, "{options}: record {index}");
    }
    assert!(sequential.next_borrowed().is_none());
    let backwards: Vec<u64> = (0..reader.num_records()).rev().collect();
    let answers = reader.records_at(&backwards).unwrap();
    assert!(answers.iter().eq(records.iter().rev()), "{options}");
    // Each decodes its whole group.
    for index in (0..records.len()).step_by(records.len() / 100 + 1) {
        assert_eq!(reader.record(index as u64).unwrap(), records[index], "{options}: record {index}");
    }
    assert!(reader.record(records.len() as u64).is_err());
    assert!(reader.records(0..reader.num_records() + 1).last().unwrap().is_err());
    file
}

const OPTIONS: [&str; 9] = [
    "group_size:1,uncompressed",
    "group_size:1,zstd:3",
    "group_size:3,uncompressed",
    "group_size:64,zstd:3",
    "group_size:7,zstd:-5",
    "group_size:2,brotli:1",
    "group_size:5,snappy",
    "group_size:1,zstd:1,pad_to_block_boundary",
    "group_size:2,uncompressed,pad_to_block_boundary",
];

#[test]
fn chunks_may_begin_and_end_on_and_around_block_edges() {
    // With this many bytes in the first record, its chunk ends on the first block edge.
    let exact = 65_536 - 64 - 40 - 1 - 1 - 3;
    for offset in -70_isize..=70 {
        let first = usize::try_from(exact + offset).unwrap();
        let records = [bytes(first, 1), Vec::new(), bytes(1, 2), bytes(70_000, 3), bytes(5, 4)];
        assert_round_trip(&records, "group_size:1,uncompressed");
    }
    for offset in -70_isize..=70 {
        // The second chunk ends around the second edge, one block header later.
        let second = usize::try_from(exact + 64 - 24 + offset).unwrap();
        assert_round_trip(&[bytes(usize::try_from(exact).unwrap(), 1), bytes(second, 2), bytes(9, 3)], "group_size:1,uncompressed");
    }
}

#[test]
fn a_file_without_records_is_a_file() {
    for options in OPTIONS {
        let file = assert_round_trip(&[], options);
        assert_eq!(file.len(), 131_072, "{options}");
    }
}

#[test]
fn many_empty_records_are_as_many_bytes_at_least() {
    // A chunk of n records takes n bytes of the file, even when they are all empty.
    let file = assert_round_trip(&vec![Vec::new(); 200_000], "group_size:200000,zstd:3");
    assert!(file.len() >= 200_000);
}

#[test]
fn large_records_cross_many_blocks() {
    for options in OPTIONS {
        assert_round_trip(&[bytes(3 << 20, 1), bytes(1, 2), bytes(700_001, 3)], options);
    }
}

#[test]
fn threads_change_no_byte() {
    let records: Vec<Vec<u8>> = (0..4000).map(|index| bytes((index * 37) % 1500, index as u64)).collect();
    for options in OPTIONS {
        // Padded to blocks, every record takes 64 KiB.
        let records = if options.contains("pad") { &records[..200] } else { &records };
        let (closed, file) = write(records, options);
        for threads in [2, 3, 8] {
            let (other, parallel) = write(records, &format!("{options},max_parallelism:{threads}"));
            assert!(closed == other && file == parallel, "{options} on {threads} threads");
        }
    }
}

#[test]
fn a_writer_in_the_pool_it_encodes_with_does_not_block_it() {
    let records: Vec<Vec<u8>> = (0..3000).map(|index| bytes(2000, index)).collect();
    let expected = write(&records, "zstd:1").1;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let files: Vec<Vec<u8>> = pool.install(|| {
        use rayon::prelude::*;
        (0..4).into_par_iter().map(|_| write(&records, "zstd:1,max_parallelism:4").1).collect()
    });
    assert!(files.iter().all(|file| *file == expected));
}

#[test]
fn a_dropped_writer_leaves_nothing_that_opens() {
    let mut sink = Vec::new();
    let mut writer = Writer::new(&mut sink, &"group_size:1,max_parallelism:2".parse().unwrap()).unwrap();
    (0..5000).for_each(|index| writer.write_record(&bytes(1000, index)).unwrap());
    drop(writer);
    assert!(Reader::open(&sink).is_err());
    sink.truncate(sink.len() / 65_536 * 65_536);
    assert!(Reader::open(&sink).is_err());
}

/// Takes some bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_final() {
    for options in ["group_size:1,zstd:3", "group_size:1,zstd:3,max_parallelism:2"] {
        let mut writer = Writer::new(Full(1 << 20), &options.parse().unwrap()).unwrap();
        let failed = (0..100_000).find_map(|index| writer.write_record(&bytes(1000, index)).err()).unwrap();
        assert!(matches!(failed, WriteError::Io(error) if error.kind() == io::ErrorKind::StorageFull));
        assert!(matches!(writer.write_record(b"x"), Err(WriteError::Failed)));
        assert!(matches!(writer.close(), Err(WriteError::Failed)));
        // Too small for the last bytes only: closing fails.
        let writer = Writer::new(Full(100_000), &options.parse().unwrap()).unwrap();
        assert!(matches!(writer.close(), Err(WriteError::Io(_))));
    }
}

#[test]
fn transposed_files_are_not_written() {
    let error = Writer::new(Vec::new(), &"transpose".parse::<Options>().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "option `transpose` is not supported for writing; leave it out, or raise `group_size` for a denser file");
}

#[test]
fn writers_go_between_threads() {
    fn assert_send<T: Send>() {}
    assert_send::<Writer<Vec<u8>>>();
    assert_send::<Reader<std::fs::File>>();
    fn assert_sync<T: Sync>() {}
    assert_sync::<Reader<std::fs::File>>();
}

/// Any single changed byte is found; a record that is read all the same is the record that was written.
#[test]
fn no_changed_byte_passes() {
    let records: Vec<Vec<u8>> = (0..40).map(|index| bytes(index * 5, index as u64)).collect();
    for options in ["group_size:1,uncompressed", "group_size:9,zstd:3"] {
        let (_, mut file) = write(&records, options);
        let data_end = file.iter().take(65_536).rposition(|byte| *byte != 0).unwrap() + 8;
        let tail = 65_536..65_536 + 200;
        let sampled = (0..file.len()).filter(|at| *at < data_end || tail.contains(at) || at % 997 == 0).collect::<Vec<_>>();
        for at in sampled {
            let before = file[at];
            file[at] ^= 1 << (at % 8);
            let damage = verify(&file).expect_err("a changed byte passes");
            assert!(damage.bytes.start <= at as u64, "{options}: byte {at} changed, {damage}");
            if let Ok(reader) = Reader::open(&file) {
                for (index, record) in records.iter().enumerate() {
                    assert!(reader.record(index as u64).map_or(true, |read| read == *record), "{options}: byte {at}");
                }
            }
            file[at] = before;
        }
    }
}

/// Cut anywhere, nothing opens.
#[test]
fn no_cut_file_opens() {
    let records: Vec<Vec<u8>> = (0..200).map(|index| bytes(1000, index)).collect();
    let (_, file) = write(&records, "group_size:1,uncompressed");
    for length in (0..file.len()).filter(|length| length % 1021 == 0 || length % 65_536 < 2 || length % 65_536 > 65_534) {
        assert!(Reader::open(&file[..length]).is_err(), "{length}");
        assert!(verify(&file[..length]).is_err(), "{length}");
    }
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![
        4 => 0usize..300,
        2 => prop::sample::select(vec![0, 1, 5, 6, 7, 127, 128, 255, 256, 4095, 4096, 16_383, 16_384]),
        1 => 65_300usize..65_700,
        1 => 131_000usize..131_200,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_records_with_any_options_come_back(
        sizes in prop::collection::vec(sizes(), 0..25),
        seed in any::<u64>(),
        options in prop::sample::select(OPTIONS.to_vec()),
    ) {
        let records: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(index, size)| bytes(*size, seed.wrapping_add(index as u64))).collect();
        assert_round_trip(&records, options);
    }

    #[test]
    fn nonsense_neither_opens_nor_panics(mut file in prop::collection::vec(any::<u8>(), 131_072..=131_072), keep in 0usize..4) {
        // With a real head, a real tail, or both.
        let (_, real) = write(&[b"one".to_vec(), b"two".to_vec()], "group_size:2,zstd:3");
        if keep & 1 > 0 {
            file[..64].copy_from_slice(&real[..64]);
        }
        if keep & 2 > 0 {
            file[65_536..].copy_from_slice(&real[65_536..]);
        }
        prop_assert!(verify(&file).is_err());
        if let Ok(reader) = Reader::open(&file) {
            (0..reader.num_records().min(10)).for_each(|index| drop(reader.record(index)));
        }
    }
}

#[test]
fn bytes_and_digests_do_not_depend_on_where_the_work_is_done() {
    let records: Vec<Vec<u8>> = (0..4000).map(|index| bytes(index % 1500, index as u64)).collect();
    for options in ["uncompressed", "group_size:16,zstd:1", "snappy"] {
        let (closed, file) = write(&records, &format!("{options},max_parallelism:1"));
        for threads in ["", ",max_parallelism:2", ",max_parallelism:5", ",max_parallelism:auto"] {
            let (other, same) = write(&records, &format!("{options}{threads}"));
            assert!(other == closed && same == file, "{options}{threads}");
        }
        for threads in [1, 2, 7] {
            let reader = Reader::open(&file).unwrap().with_max_parallelism(std::num::NonZeroUsize::new(threads).unwrap());
            assert!(reader.records(0..4000).map(Result::unwrap).eq(records.iter().cloned()), "{options} {threads}");
            let wanted: Vec<u64> = (0..4000).map(|index| index * 1237 % 4000).collect();
            assert!(reader.records_at(&wanted).unwrap().iter().zip(&wanted).all(|(found, index)| *found == records[*index as usize]), "{options} {threads}");
        }
    }
}

#[test]
fn a_damaged_chunk_ends_a_batch_with_the_first_damage_whatever_the_threads() {
    let records: Vec<Vec<u8>> = (0..2000).map(|index| bytes(800, index)).collect();
    let (_, mut file) = write(&records, "uncompressed");
    for at in [300_000, 700_000, 1_200_000] {
        file[at] ^= 4;
    }
    let every: Vec<u64> = (0..2000).rev().collect();
    let told = |threads| {
        let reader = Reader::open(&file).unwrap().with_max_parallelism(std::num::NonZeroUsize::new(threads).unwrap());
        (reader.records_at(&every).unwrap_err().to_string(), reader.records(0..2000).last().unwrap().unwrap_err().to_string())
    };
    let (batch, sequence) = told(1);
    assert_eq!(batch, sequence);
    assert!(batch.starts_with("damaged at bytes 299") || batch.starts_with("damaged at bytes 300"), "{batch}");
    for threads in [2, 3, 8] {
        assert_eq!(told(threads), (batch.clone(), sequence.clone()), "{threads}");
    }
}

#[test]
fn verification_hands_every_sound_record_on() {
    let records: Vec<Vec<u8>> = (0..500).map(|index| bytes(index * 3, index as u64)).collect();
    let (_, mut file) = write(&records, "group_size:10,uncompressed");
    let mut seen = Vec::new();
    verify_with(&file, |number, record| seen.push((number, record.to_vec()))).unwrap();
    assert!(seen.into_iter().eq((0..).zip(records.iter().cloned())));
    // A damaged group is left out; the numbers of the others stay.
    file[100_000] ^= 1;
    let mut seen = Vec::new();
    let damage = verify_with(&file, |number, _| seen.push(number)).unwrap_err();
    assert_eq!((damage.records_lost, damage.records_sound), (Some(10), 490));
    assert_eq!(seen.len(), 490);
    let gap = seen.windows(2).find(|pair| pair[1] - pair[0] > 1).map(|pair| pair[0]).unwrap();
    assert!(gap % 10 == 9 && seen.iter().all(|number| *number <= gap || *number > gap + 10), "{gap}");
}

#[test]
fn without_an_index_sound_records_behind_damaged_headers_are_counted() {
    let records: Vec<Vec<u8>> = (0..1000).map(|index| bytes(400, index)).collect();
    let (_, file) = write(&records, "uncompressed");
    // Cut before the postscript: the index is lost.
    let cut = file.len() - 65_536;
    let undamaged = verify(&file[..cut]).unwrap_err();
    assert_eq!((undamaged.records_lost, undamaged.records_sound), (None, 1000));
    // The header of a chunk in the second block: what follows it in its block cannot be found, the next block header points to the rest.
    let mut damaged = file[..cut].to_vec();
    let header = (100_000..101_000).find(|at| file[at + 24] == b'r' && file[at + 25..at + 32] == [1, 0, 0, 0, 0, 0, 0]).unwrap();
    damaged[header + 3] ^= 0x40;
    let damage = verify(&damaged).unwrap_err();
    assert!(damage.bytes.start <= header as u64 && (header as u64) < damage.bytes.end, "{damage}");
    let lost = (131_072 - header) as u64 / 441;
    assert!((1000 - lost - 2..1000 - lost + 2).contains(&damage.records_sound), "{lost} in the block, {damage}");
    // A block header as well: one block more.
    damaged[131_072] ^= 1;
    let damage = verify(&damaged).unwrap_err();
    assert!((1000 - lost - 150 - 3..1000 - lost - 148 + 3).contains(&damage.records_sound), "{damage}");
}

/// Counts reads and the threads that are at one at once.
struct Counted {
    file: Vec<u8>,
    reads: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl ReadAt for Counted {
    fn size_bytes(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let now = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(now, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_micros(300));
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        self.file.read_exact_at(offset, buf)
    }
}

#[test]
fn a_reader_uses_no_more_threads_than_it_was_given_and_reads_no_further_ahead_than_they_need() {
    let records: Vec<Vec<u8>> = (0..20_000).map(|index| bytes(1000, index)).collect();
    let (_, file) = write(&records, "uncompressed");
    let counted = || Counted { file: file.clone(), reads: 0.into(), at_once: 0.into(), most_at_once: 0.into() };
    rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap().install(|| {
        let reader = Reader::open(counted()).unwrap().with_max_parallelism(2.try_into().unwrap());
        let far_apart: Vec<u64> = (0..20_000).step_by(40).collect();
        assert!(reader.records_at(&far_apart).unwrap().iter().zip(&far_apart).all(|(found, index)| *found == records[*index as usize]));
        let most = reader.into_inner().most_at_once.into_inner();
        assert_eq!(most, 2, "no more than two, and not one after the other");
        // A number of threads that no machine has.
        let reader = Reader::open(counted()).unwrap().with_max_parallelism(usize::MAX.try_into().unwrap());
        assert_eq!(reader.records(0..20_000).next().unwrap().unwrap(), records[0]);
        let reads = reader.into_inner().reads.into_inner();
        assert!(reads < 40, "{reads}");
    });
}
