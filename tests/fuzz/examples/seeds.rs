//! Writes the inputs that fuzzing starts from: `cargo run --release --example seeds -- FOLDER`, into one folder for each target.
//! Transposed chunks come from the riegeli crate; nothing comes from anybody's files.
use perimeter_fuzz::forge::{self, Forge};
use riegeli::{CompressionType, RecordWriter, WriterOptions};
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

/// A message with a number, a text, a fixed number, a submessage and repeated fields.
fn message(number: u64) -> Vec<u8> {
    let mut inner = Vec::new();
    forge::put_field(&mut inner, 1, number * 1000);
    inner.extend_from_slice(&[0x12, 2, b'x', b'y']);
    let mut out = Vec::new();
    forge::put_field(&mut out, 1, number);
    out.extend_from_slice(&[0x12, 3, b'a', b'b', b'c']);
    out.extend_from_slice(&[0x19, 1, 2, 3, 4, 5, 6, 7, number as u8]);
    out.extend_from_slice(&[0x25, 1, 2, 3, number as u8]);
    for _ in 0..number % 3 {
        forge::put_varint(&mut out, 5 << 3 | 2);
        forge::put_varint(&mut out, inner.len() as u64);
        out.extend_from_slice(&inner);
    }
    out.extend_from_slice(&[0x33, 0x08, 1, 0x34]);
    out
}

fn transposed(compression: CompressionType, records: &[Vec<u8>]) -> forge::Chunk {
    let mut file = Vec::new();
    let options = WriterOptions::new().transpose(true).compression(compression).bucket_fraction(0.0);
    let mut writer = RecordWriter::new(Cursor::new(&mut file), options).unwrap();
    records.iter().for_each(|record| writer.write_record(record).unwrap());
    writer.close().unwrap();
    forge::chunks(&file).remove(1)
}

/// A length and the bytes, as the recipes have them: once, or `repeat` times a power of two.
fn long(out: &mut Vec<u8>, repeat: u8, bytes: &[u8]) {
    out.push(if repeat == 0 { 0 } else { 240 + repeat });
    if bytes.len() < 255 {
        out.push(bytes.len() as u8);
    } else {
        out.push(255);
        out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    }
    out.extend_from_slice(bytes);
}

fn recipes() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    // Records in each compression, short and long ones.
    for compression in [0, 100, 150, 200, 255] {
        let mut seed = vec![0, 3, compression];
        long(&mut seed, 0, b"first");
        long(&mut seed, 0, b"");
        long(&mut seed, 12, b"third, and again ");
        seed.extend([0, 0, 0]);
        seed.extend([1, compression]);
        long(&mut seed, 0, b"last");
        seed.extend([0, 0, 0, 0]);
        seeds.push(seed.clone());
        // With every flag of the footer.
        for flag in [1, 2, 4, 8, 16, 32] {
            seed.push(flag);
            seeds.push(seed.clone());
            seed.pop();
        }
        // A simple chunk by its parts.
        let mut seed = vec![0, 16, compression];
        long(&mut seed, 0, &[1, 2, 3]);
        long(&mut seed, 0, b"abbccc");
        seeds.push(seed);
    }
    // Around a block edge.
    for before in [0, 1, 23, 24, 25, 39, 40, 41, 64, 80, 200] {
        let mut seed = vec![0, 96, before, 2, 0];
        long(&mut seed, 0, b"over the edge");
        long(&mut seed, 10, b"far over the edge ");
        seed.extend([0, 0, 0]);
        seeds.push(seed);
    }
    // Chunks that no index names, other kinds, entries without a chunk, bytes that are no chunk.
    seeds.push(vec![0, 0x81, 0, 0, 1, b'x', 0, 0, 0, 1, 0, 0, 1, b'y']);
    for kind in *b"smp\0" {
        seeds.push(vec![0, 80, kind, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0xd0, kind, 0, 0, 0, 1, 0]);
    }
    seeds.push(vec![0, 2, 0, 0, 1, b'x', 0, 1, b'y', 0, 0, 0, 112, 208, 0, 0]);
    seeds.push(vec![0, 120, 245, 1, 7]);
    // Transposed chunks, whole and by their parts; records that are no messages, too.
    let messages: Vec<Vec<u8>> = (0..12).map(message).collect();
    let mixed: Vec<Vec<u8>> = (0..9).map(|at| if at % 3 == 0 { vec![0xff; at] } else { message(at as u64) }).collect();
    let nested = (0..20).fold(message(1), |inner, _| {
        let mut outer = vec![0x0a];
        forge::put_varint(&mut outer, inner.len() as u64);
        outer.extend_from_slice(&inner);
        outer
    });
    for records in [&messages[..], &mixed, &messages[..1], &[nested], &[vec![]], &[b"no message".to_vec(), vec![7; 300]]] {
        for compression in [CompressionType::None, CompressionType::Zstd, CompressionType::Brotli, CompressionType::Snappy] {
            let chunk = transposed(compression, records);
            let mut seed = vec![0, 65, chunk.header.records as u8];
            seed.extend((chunk.header.decoded_bytes as u16).to_le_bytes());
            long(&mut seed, 0, &chunk.data);
            seeds.push(seed);
        }
        let chunk = transposed(CompressionType::None, records);
        let mut rest = &chunk.data[1..];
        let varint = |rest: &mut &[u8]| {
            let mut value = 0usize;
            for shift in 0.. {
                let byte = rest[0];
                *rest = &rest[1..];
                value |= usize::from(byte & 0x7f) << (7 * shift);
                if byte < 0x80 {
                    break;
                }
            }
            value
        };
        let n = varint(&mut rest);
        let (header, mut rest) = rest.split_at(n);
        let mut numbers = header;
        let buckets = varint(&mut numbers);
        if buckets > 7 {
            continue;
        }
        varint(&mut numbers);
        for compression in [0, 100, 200] {
            let mut seed = vec![0, 32 | buckets as u8, compression];
            let (mut numbers, mut rest) = (numbers, &mut rest);
            let mut left: &[u8] = rest;
            for _ in 0..buckets {
                let (bucket, after) = left.split_at(varint(&mut numbers));
                left = after;
                long(&mut seed, 0, bucket);
                if compression != 0 {
                    seed.push(0);
                }
            }
            let _ = &mut rest;
            long(&mut seed, 0, header);
            if compression != 0 {
                seed.push(0);
            }
            long(&mut seed, 0, left);
            seed.push(chunk.header.records as u8);
            seed.extend((chunk.header.decoded_bytes as u16).to_le_bytes());
            seeds.push(seed);
        }
    }
    // Changes without new hashes: after the recipe's end, in mode 6; and whole files in mode 7.
    let mut changed = vec![6, 1, 0, 0, 1, b'x'];
    changed.extend([0; 18]);
    changed.extend([70, 0, 0, 1, 0, 0, 1, 254, 0, 0, 1, 255]);
    seeds.push(changed);
    let mut file = Forge::new();
    file.chunk(b'r', 2, 5, &forge::simple_chunk(0, &[b"one", b"tw"]));
    let file = forge::indexed(&file.file);
    let (head, tail) = (&file[..400], &file[65_536..65_536 + 200]);
    let mut seed = vec![7, 144, 1];
    seed.extend_from_slice(head);
    seed.extend_from_slice(tail);
    seeds.push(seed);
    seeds
}

fn round_trips() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for codec in 0..12 {
        for group in 0..8 {
            let mut seed = vec![group, codec, (group ^ codec) & 3, codec << 3 | group << 4, 1, 200, codec, group / 4];
            seed.extend([64, 0, 5, 1, 80, 128 + codec - group, 2, 120, 0, 60, 3, 0x80 | 20, 30, 2, 96, 126, 1]);
            seeds.push(seed);
        }
    }
    // Every kind of damage.
    seeds.extend((0..128).step_by(3).map(|kind| vec![2, 2, 0, kind, kind, 70, 3, kind & 1, 5, 1, 120, 0, 40, 3]));
    seeds
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    for (target, seeds) in [("array_record_read", recipes()), ("array_record_round_trip", round_trips())] {
        fs::create_dir_all(folder.join(target)).unwrap();
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(target).join(format!("seed_{number:03}")), seed).unwrap();
        }
    }
}
