//! Files whose hashes hold, whatever they say: an encoder of Riegeli chunks that is independent of the crate under test.
use highway::{HighwayHash, HighwayHasher, Key};
use std::io::{Read, Write};

/// What an ArrayRecord file is made of blocks of.
pub const BLOCK: usize = 1 << 16;
/// The postscript's magic number.
pub const MAGIC: u64 = 0x7193_0e70_4fda_e05e;
const BLOCK_HEADER: usize = 24;

/// HighwayHash-64 with the format's key.
pub fn hash(bytes: &[u8]) -> u64 {
    let word = |text: &[u8; 8]| u64::from_le_bytes(*text);
    let (a, b) = (word(b"Riegeli/"), word(b"records\n"));
    HighwayHasher::new(Key([a, b, a, b])).hash64(bytes)
}

/// LEB128.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of a protocol buffer message that holds a number.
pub fn put_field(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// `bytes` as a chunk of this compression holds them, without the declared size in front. Unknown compressions leave them as they are.
pub fn compress(compression: u8, bytes: &[u8]) -> Vec<u8> {
    match compression {
        b'z' => zstd::bulk::compress(bytes, 1).unwrap_or_default(),
        b's' => snap::raw::Encoder::new().compress_vec(bytes).unwrap_or_default(),
        b'b' => {
            let mut out = Vec::new();
            let mut writer = brotli::CompressorWriter::new(&mut out, 4096, 1, 18);
            drop(writer.write_all(bytes));
            drop(writer);
            out
        }
        _ => bytes.to_vec(),
    }
}

/// What [`compress`] made, at most `limit` bytes of it.
pub fn decompress(compression: u8, bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
    match compression {
        b'z' => zstd::bulk::decompress(bytes, limit).ok(),
        b's' => snap::raw::Decoder::new().decompress_vec(bytes).ok(),
        b'b' => {
            let mut out = Vec::new();
            brotli::Decompressor::new(bytes, 4096).take(limit as u64).read_to_end(&mut out).ok()?;
            Some(out)
        }
        _ => Some(bytes.to_vec()),
    }
}

/// The data of an honest simple chunk.
pub fn simple_chunk(compression: u8, records: &[&[u8]]) -> Vec<u8> {
    let mut sizes = Vec::new();
    records.iter().for_each(|record| put_varint(&mut sizes, record.len() as u64));
    let values = records.concat();
    let pack = |bytes: &[u8]| {
        let mut out = Vec::new();
        if compression != 0 {
            put_varint(&mut out, bytes.len() as u64);
        }
        out.extend_from_slice(&compress(compression, bytes));
        out
    };
    let sizes = pack(&sizes);
    let mut data = vec![compression];
    put_varint(&mut data, sizes.len() as u64);
    data.extend_from_slice(&sizes);
    data.extend_from_slice(&pack(&values));
    data
}

/// What a chunk's header says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// `s`, `r`, `t`, `p`, `m`, or anything.
    pub kind: u8,
    /// Size of the data.
    pub data_bytes: u64,
    /// Number of records; 56 bits count.
    pub records: u64,
    /// Sum of the record sizes.
    pub decoded_bytes: u64,
}

/// A file in the making.
#[derive(Default)]
pub struct Forge {
    /// The bytes so far.
    pub file: Vec<u8>,
}

/// One chunk of a file, as its header has it.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Where it begins.
    pub begin: usize,
    /// What the header says.
    pub header: Header,
    /// The data, without block headers.
    pub data: Vec<u8>,
}

/// The chunks of a sound Riegeli file, found without the crate under test. Hashes are checked.
pub fn chunks(file: &[u8]) -> Vec<Chunk> {
    let mut found = Vec::new();
    let mut begin = 0;
    while begin < file.len() {
        let mut at = begin;
        let mut take = |n: usize| {
            let mut bytes = Vec::with_capacity(n);
            while bytes.len() < n {
                if at.is_multiple_of(BLOCK) {
                    at += BLOCK_HEADER;
                }
                let end = at + (BLOCK - at % BLOCK).min(n - bytes.len());
                bytes.extend_from_slice(&file[at..end]);
                at = end;
            }
            bytes
        };
        let head = take(40);
        let word = |at: usize| head[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        assert_eq!(word(0), hash(&head[8..]), "the header of the chunk at {begin}");
        let header = Header { kind: head[24], data_bytes: word(8), records: word(24) >> 8, decoded_bytes: word(32) };
        let data = take(header.data_bytes as usize);
        assert_eq!(word(16), hash(&data), "the data of the chunk at {begin}");
        // A chunk has at least as many bytes as records; here none has so many.
        assert!(header.records as usize <= at - begin, "a chunk of nothing but empty records");
        found.push(Chunk { begin, header, data });
        begin = at;
    }
    found
}

/// Makes an ArrayRecord file of a plain Riegeli file: its bytes as they are, then a footer that names its chunks of records, and a postscript.
pub fn indexed(plain: &[u8]) -> Vec<u8> {
    let mut footer = vec![Vec::new()];
    let (mut entries, mut records) = (0, 0);
    for chunk in chunks(plain).iter().filter(|chunk| matches!(chunk.header.kind, b'r' | b't')) {
        let mut message = Vec::new();
        put_field(&mut message, 1, chunk.begin as u64);
        put_field(&mut message, 2, chunk.header.decoded_bytes);
        put_field(&mut message, 3, chunk.header.records);
        footer.push(message);
        entries += 1;
        records += chunk.header.records;
    }
    let mut inner = Vec::new();
    put_field(&mut inner, 1, 1);
    put_field(&mut inner, 2, entries);
    put_field(&mut inner, 3, records);
    put_varint(&mut footer[0], 1 << 3 | 2);
    put_varint(&mut footer[0], inner.len() as u64);
    footer[0].extend_from_slice(&inner);

    let mut forge = Forge { file: plain.to_vec() };
    let records: Vec<&[u8]> = footer.iter().map(Vec::as_slice).collect();
    let bytes = records.iter().map(|record| record.len() as u64).sum();
    let footer_offset_bytes = forge.chunk(b'r', records.len() as u64, bytes, &simple_chunk(0, &records)) as u64;
    forge.pad_to(0);
    let mut postscript = Vec::new();
    put_field(&mut postscript, 1, footer_offset_bytes);
    put_field(&mut postscript, 2, MAGIC);
    forge.chunk(b'r', 3, 3 * postscript.len() as u64, &simple_chunk(0, &[postscript.as_slice(); 3]));
    forge.pad_to(0);
    forge.file
}

impl Forge {
    /// A file that begins as all do.
    pub fn new() -> Self {
        let mut forge = Self::default();
        forge.chunk(b's', 0, 0, &[]);
        forge
    }

    /// An honest chunk; returns where it begins.
    pub fn chunk(&mut self, kind: u8, records: u64, decoded_bytes: u64, data: &[u8]) -> usize {
        self.chunk_saying(Header { kind, data_bytes: data.len() as u64, records, decoded_bytes }, data)
    }

    /// A chunk whose header says anything; its hashes hold. It is as long as its data and its records ask for, up to a few hundred thousand.
    pub fn chunk_saying(&mut self, header: Header, data: &[u8]) -> usize {
        let begin = self.file.len();
        let mut stream = vec![0; 8];
        stream.extend_from_slice(&header.data_bytes.to_le_bytes());
        stream.extend_from_slice(&hash(data).to_le_bytes());
        stream.extend_from_slice(&(header.records << 8 | u64::from(header.kind)).to_le_bytes());
        stream.extend_from_slice(&header.decoded_bytes.to_le_bytes());
        let sum = hash(&stream[8..]);
        stream[..8].copy_from_slice(&sum.to_le_bytes());
        stream.extend_from_slice(data);

        // Walk to where the stream ends.
        let mut end = begin;
        let mut left = stream.len();
        while left > 0 {
            if end.is_multiple_of(BLOCK) {
                end += BLOCK_HEADER;
            }
            let n = left.min(BLOCK - end % BLOCK);
            end += n;
            left -= n;
        }
        if header.records <= 300_000 {
            let mut by_records = begin + header.records as usize;
            if (1..=BLOCK_HEADER).contains(&(by_records % BLOCK)) {
                by_records = by_records / BLOCK * BLOCK + BLOCK_HEADER + 1;
            }
            end = end.max(by_records);
        }
        let mut stream = stream.as_slice();
        while self.file.len() < end {
            if self.file.len().is_multiple_of(BLOCK) {
                let mut header = [0; BLOCK_HEADER];
                header[8..16].copy_from_slice(&((self.file.len() - begin) as u64).to_le_bytes());
                header[16..].copy_from_slice(&((end - self.file.len()) as u64).to_le_bytes());
                let sum = hash(&header[8..]);
                header[..8].copy_from_slice(&sum.to_le_bytes());
                self.file.extend_from_slice(&header);
            }
            let room = (BLOCK - self.file.len() % BLOCK).min(end - self.file.len());
            let (part, rest) = stream.split_at(room.min(stream.len()));
            self.file.extend_from_slice(part);
            self.file.resize(self.file.len() + room - part.len(), 0);
            stream = rest;
        }
        begin
    }

    /// A padding chunk, so that the next one begins `before` bytes before a block edge, or soon after it where that is no place for a chunk.
    pub fn pad_to(&mut self, before: usize) {
        let begin = self.file.len();
        let mut end = begin + (2 * BLOCK - before % BLOCK - begin % BLOCK) % BLOCK;
        if end == begin {
            return;
        }
        loop {
            let headers = end.div_ceil(BLOCK) - begin.div_ceil(BLOCK);
            if let Some(data_bytes) = (end - begin).checked_sub(headers * BLOCK_HEADER + 40) {
                self.chunk(b'p', 0, 0, &vec![0; data_bytes]);
                return;
            }
            end += BLOCK;
        }
    }
}
