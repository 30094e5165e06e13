//! Any records with any options: written, read back, the same on two threads; and no damage to the file passes.
use super::input::Input;
use array_record::{Options, Reader, Writer, verify};

const GROUP_SIZES: [u32; 8] = [1, 2, 3, 7, 64, 100, 1000, i32::MAX as u32];
const CODECS: [&str; 12] = [
    "uncompressed",
    "uncompressed",
    "zstd:3",
    "zstd:-5",
    "zstd:1,window_log:10",
    "zstd:2,window_log:auto",
    "snappy",
    "brotli:0",
    "brotli:1,window_log:16",
    "zstd:6",
    "zstd:-131072",
    "brotli:3,window_log:10",
];
/// All records of one input; two megabytes more for a few, so that threads get more than one batch.
const MAX_BYTES: usize = 200_000;
const MAX_RECORDS: usize = 1500;
/// Chunks of one input where each costs more: 64 KiB of padding, or Brotli's tables.
const MAX_DEAR_CHUNKS: usize = 24;

/// Runs one input.
pub fn run(input: &[u8]) {
    let mut input = Input(input);
    let (group, codec, flags) = (input.byte(), input.byte(), input.byte());
    let group_size = GROUP_SIZES[usize::from(group) % GROUP_SIZES.len()];
    let codec = CODECS[usize::from(codec) % CODECS.len()];
    let pads = flags & 3 == 3;
    let mut options = format!("group_size:{group_size},{codec}");
    if pads {
        options.push_str(",pad_to_block_boundary");
    }
    // The damage is read before the records, which take what is left.
    let damage = (input.byte(), input.byte(), usize::from(input.short()) | usize::from(input.byte()) << 16);
    let is_dear = pads || codec.starts_with("brotli");
    let max_records = if is_dear { MAX_DEAR_CHUNKS * group_size.min(100) as usize } else { MAX_RECORDS };
    let max_bytes = if flags >> 2 == 1 { MAX_BYTES + (2 << 20) } else { MAX_BYTES };
    let records = records(&mut input, max_records, max_bytes);

    let file = write(&records, &options);
    let on_two = write(&records, &format!("{options},max_parallelism:2"));
    assert!(file == on_two, "{options}: two threads write other bytes");
    check(&file, &records, &options);
    damaged(file, &records, damage);
}

/// Records from bytes: a kind of size, what it asks for, and a byte that says what the record holds.
fn records(input: &mut Input<'_>, max_records: usize, max_bytes: usize) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    let mut total = 0;
    // Where the next chunk begins if every record is a chunk and nothing is compressed: what matters for block edges.
    let mut position: usize = 64;
    while !input.is_empty() && records.len() < max_records {
        let kind = input.byte();
        let sizes = [0, 1, 5, 6, 7, 127, 128, 255, 256, 4095, 4096, 16_383, 16_384, 65_535, 65_536, 131_071];
        let to_edge = 65_536 - position % 65_536;
        let times = if kind & 0x80 > 0 { usize::from(input.byte()) + 1 } else { 1 };
        let length = match kind & 0x7f {
            kind @ 0..64 => usize::from(kind),
            kind @ 64..80 => sizes[usize::from(kind - 64)],
            // The chunk ends around the next block edge: 40 bytes of header and 5 or so of sizes.
            80..96 => (to_edge + usize::from(input.byte())).saturating_sub(40 + 3 + 128),
            96..100 => (to_edge + 65_512 + usize::from(input.byte())).saturating_sub(40 + 3 + 128),
            100..120 => usize::from(input.short()),
            _ => usize::from(input.short()) * 3,
        };
        let filling = input.byte();
        for _ in 0..times {
            total += length;
            if total > max_bytes || records.len() >= max_records {
                return records;
            }
            records.push(filled(length, filling, records.len()));
            let stream = 40 + 3 + usize::from(length > 127) + usize::from(length > 16_383) + length;
            position += stream + (position % 65_536 + stream) / 65_536 * 24;
        }
    }
    records
}

fn filled(length: usize, filling: u8, number: usize) -> Vec<u8> {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(filling);
    match filling & 3 {
        0 => vec![filling; length],
        1 => (0..length).map(|at| at as u8 ^ filling).collect(),
        _ => {
            let mut bytes = Vec::with_capacity(length + 8);
            while bytes.len() < length {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                bytes.extend_from_slice(&state.to_le_bytes());
            }
            bytes.truncate(length);
            bytes
        }
    }
}

fn write(records: &[Vec<u8>], options: &str) -> Vec<u8> {
    let options: Options = options.parse().unwrap();
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    records.iter().for_each(|record| writer.write_record(record).unwrap());
    let (closed, file) = writer.close().unwrap();
    assert_eq!((closed.records(), closed.bytes()), (records.len() as u64, file.len() as u64));
    file
}

fn check(file: &[u8], records: &[Vec<u8>], options: &str) {
    let sound = verify(file).unwrap_or_else(|damage| panic!("{options}: {damage}"));
    assert_eq!((sound.records, sound.bytes), (records.len() as u64, file.len() as u64));
    let reader = Reader::open(file).unwrap();
    assert_eq!(reader.num_records(), sound.records);
    assert_eq!(reader.options().unwrap().parse::<Options>().unwrap().to_string(), reader.options().unwrap(), "the footer's options do not parse");
    let mut sequential = reader.records(0..sound.records);
    for (index, record) in records.iter().enumerate() {
        assert!(sequential.next_borrowed().unwrap().unwrap() == record, "{options}: record {index}");
    }
    assert!(sequential.next_borrowed().is_none());
    let backwards: Vec<u64> = (0..sound.records).rev().collect();
    assert!(reader.records_at(&backwards).unwrap().iter().eq(records.iter().rev()), "{options}: backwards");
    for index in [0, records.len() / 2, records.len().saturating_sub(1)].into_iter().filter(|index| *index < records.len()) {
        assert!(reader.record(index as u64).unwrap() == records[index], "{options}: record {index} by itself");
    }
}

/// One change to a sound file: `verify` must notice it, and a record that is read all the same must be the one that was written.
fn damaged(mut file: Vec<u8>, records: &[Vec<u8>], (kind, change, place): (u8, u8, usize)) {
    // Most bytes of a small file are padding: half of the changes look for a byte that is none.
    let mut at = place % file.len();
    if kind & 0x80 > 0 {
        at = file[at..].iter().position(|byte| *byte != 0).map_or(at, |zeros| at + zeros);
    }
    match kind & 0x7f {
        0..64 => file[at] ^= change.max(1),
        64..80 => file.truncate(at),
        80..96 => file.truncate(at / 65_536 * 65_536),
        96..104 => file.resize(file.len() + usize::from(change) + 1, 0),
        104..108 => file.resize(file.len() + (1 << 16), 0),
        // A block again, a block less, a stretch that is zero.
        108..112 => {
            let block = file[at / 65_536 * 65_536..][..1 << 16].to_vec();
            file.splice(at / 65_536 * 65_536..at / 65_536 * 65_536, block);
        }
        112..116 => drop(file.drain(at / 65_536 * 65_536..at / 65_536 * 65_536 + (1 << 16))),
        kind => {
            let end = file.len().min(at + (usize::from(change) << (kind & 7)) + 1);
            if file[at..end].iter().all(|byte| *byte == 0) {
                return;
            }
            file[at..end].fill(0);
        }
    }
    let damage = verify(&file).expect_err("damage passes");
    assert!(damage.bytes.end <= file.len() as u64, "damage outside the file");
    let Ok(reader) = Reader::open(file.as_slice()) else { return };
    assert!(reader.num_records() == records.len() as u64, "another number of records");
    for (index, record) in records.iter().enumerate().step_by(records.len() / 50 + 1) {
        assert!(reader.record(index as u64).map_or(true, |read| read == *record), "record {index} is read as another one");
    }
}
