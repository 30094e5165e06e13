//! Any bytes as an ArrayRecord file, read in every way.
//!
//! Hashes stop random bytes at the door, so most inputs are not a file but a recipe for one: chunks, footer entries and a postscript with
//! any contents, around which the right hashes are put. Only then may bytes be changed at random.
use super::forge::{Forge, Header, MAGIC, compress, put_field, put_varint, simple_chunk};
use super::input::Input;
use array_record::{Options, Reader, Reason, Writer, verify};
use std::ops::Range;

/// No chunk may decode to more in these runs.
const MAX_CHUNK_BYTES: u64 = 64 << 20;

/// Runs one input.
pub fn run(input: &[u8]) {
    if let Some(file) = file(input) {
        check(&file, input);
    }
}

/// The file that an input means.
pub fn file(input: &[u8]) -> Option<Vec<u8>> {
    let mut input = Input(input);
    let mode = input.byte();
    let mut file = if mode & 7 == 7 { plain(&mut input, mode) } else { forged(&mut input)? };
    // Changes without new hashes, in one mode of eight.
    if mode & 7 == 6 {
        while !input.is_empty() && !file.is_empty() {
            let at = usize::from(input.short()) | usize::from(input.byte()) << 16;
            let len = file.len();
            match input.byte() {
                255 => file.truncate(at),
                254 => file.resize(len + at % 70_000, 0),
                change => file[at % len] ^= change,
            }
        }
    }
    Some(file)
}

/// The bytes themselves: some at the front, some in the last block, zeros between.
fn plain(input: &mut Input<'_>, mode: u8) -> Vec<u8> {
    if mode & 8 > 0 {
        return input.0.to_vec();
    }
    let mut file = if mode & 16 > 0 { Forge::new().file } else { Vec::new() };
    let n = usize::from(input.short());
    file.extend_from_slice(input.take(n));
    let last_block = file.len().next_multiple_of(1 << 16).max(1 << 16);
    file.resize(last_block, 0);
    file.extend_from_slice(input.0);
    file.resize(file.len().next_multiple_of(1 << 16).max(1 << 17), 0);
    file
}

/// A compression that there is, or seldom one that there is not.
fn compression(byte: u8) -> u8 {
    match byte {
        0..=99 => 0,
        100..=149 => b'z',
        150..=199 => b's',
        200..=249 => b'b',
        other => other,
    }
}

/// A buffer as chunks hold it: compressed honestly, or not at all; its declared size may lie.
fn packed(input: &mut Input<'_>, compression: u8, plain: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if compression != 0 {
        put_varint(&mut out, input.number_near(plain.len() as u64));
    }
    out.extend_from_slice(&compress(compression, plain));
    out
}

/// Bytes of the input, sometimes repeated, up to more than a block.
fn long(input: &mut Input<'_>) -> Vec<u8> {
    let times = match input.byte() {
        byte @ 240.. => 1 << (byte - 240),
        _ => 1,
    };
    let bytes = input.bytes();
    bytes.repeat(times.min(80_000 / bytes.len().max(1) + 1))
}

struct Entry {
    offset_bytes: u64,
    decoded_bytes: u64,
    records: u64,
}

fn forged(input: &mut Input<'_>) -> Option<Vec<u8>> {
    let mut forge = Forge::new();
    let mut entries = Vec::new();
    // Each step is one byte and what it asks for; 0 ends the data.
    loop {
        // Larger files take longer and show nothing more.
        if forge.file.len() > 1 << 19 {
            return None;
        }
        let step = input.byte();
        let is_indexed = step & 0x80 == 0;
        let (kind, records, decoded_bytes, data) = match step & 0x7f {
            0 => break,
            // Records as they should be.
            1..=15 => {
                let compression = compression(input.byte());
                let records: Vec<Vec<u8>> = (0..step & 0x0f).map(|_| long(input)).collect();
                let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
                let bytes = records.iter().map(|record| record.len() as u64).sum();
                (b'r', records.len() as u64, bytes, simple_chunk(compression, &records))
            }
            // A simple chunk of any sizes and values.
            16..=31 => {
                let compression = compression(input.byte());
                let sizes = long(input);
                let values = long(input);
                let count = sizes.iter().filter(|byte| **byte < 0x80).count() as u64;
                let sizes = packed(input, compression, &sizes);
                let mut data = vec![compression];
                put_varint(&mut data, input.number_near(sizes.len() as u64));
                data.extend_from_slice(&sizes);
                let bytes = values.len() as u64;
                data.extend_from_slice(&packed(input, compression, &values));
                (b'r', count, bytes, data)
            }
            // A transposed chunk of any header, buckets and transitions.
            32..=63 => {
                let compression = compression(input.byte());
                let buckets: Vec<Vec<u8>> = (0..step & 7)
                    .map(|_| {
                        let plain = long(input);
                        packed(input, compression, &plain)
                    })
                    .collect();
                let mut header = Vec::new();
                if step & 8 > 0 {
                    put_varint(&mut header, buckets.len() as u64);
                    put_varint(&mut header, input.number_near(1));
                    buckets.iter().for_each(|bucket| put_varint(&mut header, bucket.len() as u64));
                }
                header.extend_from_slice(&long(input));
                let header = packed(input, compression, &header);
                let mut data = vec![compression];
                put_varint(&mut data, header.len() as u64);
                data.extend_from_slice(&header);
                data.extend_from_slice(&buckets.concat());
                let transitions = long(input);
                data.extend_from_slice(&packed(input, compression, &transitions));
                (b't', u64::from(input.byte()), u64::from(input.short()), data)
            }
            // A simple or a transposed chunk of any data.
            64..=79 => {
                let kind = if step & 1 > 0 { b't' } else { b'r' };
                (kind, u64::from(input.byte()), u64::from(input.short()), long(input))
            }
            // Any other chunk.
            80..=95 => (input.byte(), u64::from(input.byte()), u64::from(input.byte()), long(input)),
            // The next chunk begins near a block edge.
            96..=111 => {
                forge.pad_to(usize::from(input.byte()));
                continue;
            }
            // An entry without a chunk.
            112..=119 => {
                let offset_bytes = input.number_near(forge.file.len() as u64);
                entries.push(Entry { offset_bytes, decoded_bytes: input.number_near(0), records: input.number_near(1) });
                continue;
            }
            // Bytes that are no chunk.
            _ => {
                forge.file.extend_from_slice(&long(input));
                continue;
            }
        };
        let header = Header {
            kind,
            data_bytes: input.number_near(data.len() as u64),
            records: input.number_near(records),
            decoded_bytes: input.number_near(decoded_bytes),
        };
        let offset_bytes = forge.chunk_saying(header, &data) as u64;
        if is_indexed {
            entries.push(Entry { offset_bytes, decoded_bytes: header.decoded_bytes, records: header.records & (u64::MAX >> 8) });
        }
    }

    // The footer, of which any number may be another.
    let flags = input.byte();
    for entry in &mut entries {
        if flags & 1 > 0 {
            entry.offset_bytes = input.number_near(entry.offset_bytes);
            entry.decoded_bytes = input.number_near(entry.decoded_bytes);
            entry.records = input.number_near(entry.records);
        }
    }
    let records = entries.iter().fold(0u64, |sum, entry| sum.wrapping_add(entry.records));
    let mut inner = Vec::new();
    put_field(&mut inner, 1, input.number_near(1));
    put_field(&mut inner, 2, input.number_near(entries.len() as u64));
    put_field(&mut inner, 3, input.number_near(records));
    if flags & 2 > 0 {
        inner.extend_from_slice(input.bytes());
    }
    let mut metadata = Vec::new();
    put_varint(&mut metadata, 1 << 3 | 2);
    put_varint(&mut metadata, inner.len() as u64);
    metadata.extend_from_slice(&inner);
    let mut footer = vec![metadata];
    for entry in &entries {
        let mut message = Vec::new();
        put_field(&mut message, 1, entry.offset_bytes);
        put_field(&mut message, 2, entry.decoded_bytes);
        put_field(&mut message, 3, entry.records);
        footer.push(message);
    }
    if flags & 4 > 0 {
        let at = usize::from(input.byte()) % footer.len();
        footer[at] = input.bytes().to_vec();
    }
    let footer: Vec<&[u8]> = footer.iter().map(Vec::as_slice).collect();
    let bytes: u64 = footer.iter().map(|record| record.len() as u64).sum();
    let data = if flags & 8 > 0 { long(input) } else { simple_chunk(compression(input.byte()), &footer) };
    let (footer_records, bytes) = (input.number_near(footer.len() as u64), input.number_near(bytes));
    let footer_offset_bytes = forge.chunk_saying(Header { kind: b'r', data_bytes: data.len() as u64, records: footer_records, decoded_bytes: bytes }, &data);
    forge.pad_to(0);

    let mut postscript = Vec::new();
    put_field(&mut postscript, 1, input.number_near(footer_offset_bytes as u64));
    put_field(&mut postscript, 2, input.number_near(MAGIC));
    if flags & 16 > 0 {
        postscript = input.bytes().to_vec();
    }
    let copies = if flags & 32 > 0 { usize::from(input.byte() % 5) } else { 3 };
    let data = simple_chunk(0, &vec![postscript.as_slice(); copies]);
    forge.chunk(b'r', copies as u64, (copies * postscript.len()) as u64, &data);
    forge.pad_to(0);
    Some(forge.file)
}

/// How many bytes a record may be copied to, in all answers of a call.
const ANSWER_BYTES: usize = 64 << 20;

/// Reads `file` in every way and holds the answers against each other.
pub fn check(file: &[u8], seed: &[u8]) {
    let verdict = verify(file);
    let reader = match Reader::open(file) {
        Ok(reader) => reader.with_max_chunk_bytes(MAX_CHUNK_BYTES),
        Err(error) => {
            assert!(verdict.is_err(), "sound, but does not open: {error}");
            return;
        }
    };
    let count = reader.num_records();
    assert!(count <= file.len() as u64, "{count} records in {} bytes", file.len());
    let (records, gave_up) = in_order(&reader, 0..count);
    let readable = records.iter().flatten().count() as u64;
    match &verdict {
        Ok(sound) => {
            assert_eq!(sound.records, count, "verify and the reader count differently");
            assert_eq!(sound.bytes, file.len() as u64);
            assert_eq!(readable, count, "sound, but not every record is read");
        }
        Err(damage) => {
            assert!(damage.bytes.start <= damage.bytes.end && damage.bytes.end <= file.len() as u64, "damage outside the file: {:?}", damage.bytes);
            assert!(matches!(damage.reason, Reason::Fault(_)), "bytes in memory can be had");
            assert_eq!(damage.records_lost.map(|lost| lost + damage.records_sound), Some(count), "lost and sound are not all");
            assert!(damage.records_sound <= readable || gave_up, "{} sound, but only {readable} of {count} are read", damage.records_sound);
        }
    }
    random_access(&reader, &records, gave_up, seed);
    if verdict.is_ok() {
        write_again(&records, seed);
    }
}

/// Every record as an iterator gives it; after an error it starts again with the record behind. `None` is a record that cannot be read, or
/// that was not asked for after too many of these: then the second answer is true.
fn in_order(reader: &Reader<&[u8]>, range: Range<u64>) -> (Vec<Option<Vec<u8>>>, bool) {
    let mut all = Vec::new();
    let mut failures = 0;
    while (all.len() as u64) < range.end {
        let mut records = reader.records(range.start + all.len() as u64..range.end);
        while let Some(record) = records.next_borrowed() {
            match record {
                Ok(record) => all.push(Some(record.to_vec())),
                Err(_) => {
                    all.push(None);
                    failures += 1;
                    assert!(records.next_borrowed().is_none(), "goes on after an error");
                    break;
                }
            }
        }
        // Each failure decodes a chunk in vain.
        if failures > 20 {
            all.resize(usize::try_from(range.end).unwrap_or(usize::MAX), None);
            return (all, true);
        }
    }
    (all, false)
}

fn random_access(reader: &Reader<&[u8]>, records: &[Option<Vec<u8>>], gave_up: bool, seed: &[u8]) {
    let count = records.len() as u64;
    assert!(reader.record(count).is_err());
    assert!(reader.records(count..u64::MAX).next().unwrap().is_err());
    assert!(reader.records_at(&[]).unwrap().is_empty());
    if count == 0 {
        return;
    }
    let mut state = seed.iter().fold(0xcbf2_9ce4_8422_2325, |state: u64, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let mut indexes = vec![0, count - 1];
    for _ in 0..10 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        indexes.push(state % count);
    }
    let expected: Vec<Option<&Vec<u8>>> = indexes.iter().map(|index| records[usize::try_from(*index).unwrap()].as_ref()).collect();
    for (index, expected) in indexes.iter().zip(&expected).take(5) {
        match (reader.record(*index), expected) {
            (Ok(record), Some(expected)) => assert!(record == **expected, "record {index} is another one when read by itself"),
            (Err(error), Some(_)) => panic!("record {index} is read in order only: {error}"),
            (Ok(_), None) => assert!(gave_up, "record {index} is read by itself only"),
            (Err(_), None) => {}
        }
    }
    if expected.iter().flatten().map(|record| record.len()).sum::<usize>() > ANSWER_BYTES {
        return;
    }
    match reader.records_at(&indexes) {
        Ok(answers) => assert!(answers.iter().map(Some).eq(expected.iter().copied()) || expected.contains(&None), "records_at gives other records"),
        Err(error) => assert!(expected.contains(&None), "records_at: {error}"),
    }
}

/// What can be read can be written, and is the same then.
fn write_again(records: &[Option<Vec<u8>>], seed: &[u8]) {
    let options = ["group_size:1,uncompressed", "group_size:7,zstd:1", "group_size:64,snappy", "group_size:2,zstd:-7,pad_to_block_boundary"];
    let mut option = options[usize::from(seed.last().copied().unwrap_or(0)) % options.len()];
    // Padded to blocks, every second record takes 64 KiB; one by one, each takes a chunk.
    if records.len() > 16 {
        option = options[2];
    }
    let options: Options = option.parse().unwrap();
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    records.iter().flatten().for_each(|record| writer.write_record(record).unwrap());
    let (closed, file) = writer.close().unwrap();
    assert_eq!(verify(&file).unwrap().sha256, closed.sha256());
    let reader = Reader::open(file.as_slice()).unwrap();
    assert!(in_order(&reader, 0..reader.num_records()).0 == records, "other records after {option}");
}
