//! Where bytes stand: 64 KiB blocks, the headers that interrupt chunks, and chunk headers. Pure functions, no I/O.
//!
//! Source: google/riegeli, `doc/riegeli_records_file_format.md`; the byte tables are in the crate documentation.
use crate::Fault;
use highway::{HighwayHash, HighwayHasher, Key};
use std::ops::Range;

pub(crate) const BLOCK_BYTES: u64 = 1 << 16;
pub(crate) const BLOCK_HEADER_BYTES: u64 = 24;
pub(crate) const CHUNK_HEADER_BYTES: usize = 40;
const USABLE_BLOCK_BYTES: u64 = BLOCK_BYTES - BLOCK_HEADER_BYTES;

/// `Riegeli/records\n` twice.
const KEY: Key = Key([0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572]);

/// The first 64 bytes of every file: the first block header and the file signature chunk.
pub(crate) const SIGNATURE: [u8; 64] = [
    0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x91, 0xba, 0xc2, 0x3c, 0x92, 0x87, 0xe1, 0xa9, 0, 0, 0,
    0, 0, 0, 0, 0, 0xe1, 0x9f, 0x13, 0xc0, 0xe9, 0xb1, 0xc3, 0x72, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// What a chunk holds.
pub(crate) mod kind {
    pub(crate) const SIGNATURE: u8 = b's';
    /// Plain Riegeli files may have one; those of this format do not.
    #[cfg(test)]
    pub(crate) const METADATA: u8 = b'm';
    pub(crate) const PADDING: u8 = b'p';
    pub(crate) const SIMPLE: u8 = b'r';
    pub(crate) const TRANSPOSED: u8 = b't';
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    HighwayHasher::new(KEY).hash64(bytes)
}

/// Bytes from `position` to the end of its block; 0 on a block edge.
fn left_in_block(position: u64) -> u64 {
    position.wrapping_neg() % BLOCK_BYTES
}

/// A chunk neither begins nor ends inside a block header or right behind one.
pub(crate) fn is_chunk_boundary(position: u64) -> bool {
    left_in_block(position) < USABLE_BLOCK_BYTES
}

/// Where `stream_bytes` of a chunk that begins at `begin` end, counting the block headers between. `None` on overflow.
fn end_of_stream(begin: u64, stream_bytes: u64) -> Option<u64> {
    let headers = stream_bytes.checked_add((begin.checked_add(USABLE_BLOCK_BYTES - 1)?) % BLOCK_BYTES)? / USABLE_BLOCK_BYTES;
    begin.checked_add(stream_bytes)?.checked_add(headers.checked_mul(BLOCK_HEADER_BYTES)?)
}

/// Where a chunk ends, padding included. `None` on overflow.
pub(crate) fn chunk_end(begin: u64, data_bytes: u64, records: u64) -> Option<u64> {
    let by_size = end_of_stream(begin, data_bytes.checked_add(CHUNK_HEADER_BYTES as u64)?)?;
    let numbered = begin.checked_add(records)?;
    let by_records = numbered.checked_add(left_in_block(numbered).saturating_sub(USABLE_BLOCK_BYTES - 1))?;
    Some(by_size.max(by_records))
}

/// How many data bytes a padding chunk at `begin` needs to reach the next block edge; `None` when it already stands there.
pub(crate) fn padding_data_bytes(begin: u64) -> Option<u64> {
    let mut left = left_in_block(begin);
    if left == 0 {
        return None;
    }
    // Too narrow for a chunk header: the padding takes the next block as well, and its header.
    if left < CHUNK_HEADER_BYTES as u64 {
        left += USABLE_BLOCK_BYTES;
    }
    Some(left - CHUNK_HEADER_BYTES as u64)
}

pub(crate) fn block_header(previous_bytes: u64, next_bytes: u64) -> [u8; BLOCK_HEADER_BYTES as usize] {
    let mut header = [0; BLOCK_HEADER_BYTES as usize];
    header[8..16].copy_from_slice(&previous_bytes.to_le_bytes());
    header[16..].copy_from_slice(&next_bytes.to_le_bytes());
    let sum = hash(&header[8..]);
    header[..8].copy_from_slice(&sum.to_le_bytes());
    header
}

/// The two distances of a block header, to the interrupted chunk's begin and end; `None` when its hash does not hold.
pub(crate) fn parse_block_header(header: &[u8; BLOCK_HEADER_BYTES as usize]) -> Option<(u64, u64)> {
    (u64_at(header, 0) == hash(&header[8..])).then(|| (u64_at(header, 8), u64_at(header, 16)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub(crate) data_bytes: u64,
    pub(crate) data_hash: u64,
    pub(crate) kind: u8,
    pub(crate) records: u64,
    pub(crate) decoded_bytes: u64,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl ChunkHeader {
    pub(crate) fn of(kind: u8, data: &[u8], records: u64, decoded_bytes: u64) -> Self {
        Self { data_bytes: data.len() as u64, data_hash: hash(data), kind, records, decoded_bytes }
    }

    pub(crate) fn encode(&self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut header = [0; CHUNK_HEADER_BYTES];
        header[8..16].copy_from_slice(&self.data_bytes.to_le_bytes());
        header[16..24].copy_from_slice(&self.data_hash.to_le_bytes());
        header[24..32].copy_from_slice(&(self.records << 8 | u64::from(self.kind)).to_le_bytes());
        header[32..].copy_from_slice(&self.decoded_bytes.to_le_bytes());
        let sum = hash(&header[8..]);
        header[..8].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// `None` when the header's hash does not hold.
    pub(crate) fn decode(header: &[u8; CHUNK_HEADER_BYTES]) -> Option<Self> {
        if u64_at(header, 0) != hash(&header[8..]) {
            return None;
        }
        let word = u64_at(header, 24);
        Some(Self {
            data_bytes: u64_at(header, 8),
            data_hash: u64_at(header, 16),
            kind: word.to_le_bytes()[0],
            records: word >> 8,
            decoded_bytes: u64_at(header, 32),
        })
    }
}

/// More than the data of any chunk has that decodes to so many bytes and records: compressors add little, sizes have ten bytes each at
/// most, and the state machine of a transposed chunk a few for each byte.
pub(crate) fn most_data_bytes(decoded_bytes: u64, records: u64) -> u64 {
    decoded_bytes.saturating_mul(4).saturating_add(records.saturating_mul(12)).saturating_add(2 * BLOCK_BYTES)
}

/// A fault and the bytes of the file that show it.
#[derive(Debug)]
pub(crate) struct At {
    pub(crate) bytes: Range<u64>,
    pub(crate) fault: Fault,
}

pub(crate) fn at(bytes: Range<u64>, fault: Fault) -> At {
    At { bytes, fault }
}

/// How many bytes from `begin` are enough to hold the chunk's header, whatever block header interrupts it.
pub(crate) const HEADER_SPAN_BYTES: u64 = CHUNK_HEADER_BYTES as u64 + BLOCK_HEADER_BYTES;

/// Reads the header of the chunk at `begin`; `raw` starts there and holds [`HEADER_SPAN_BYTES`] or all that the file has.
/// Returns the header and the end of the chunk, which is at most `limit`.
pub(crate) fn parse_header(raw: &[u8], begin: u64, limit: u64) -> Result<(ChunkHeader, u64), At> {
    let mut header = [0; CHUNK_HEADER_BYTES];
    let mut filled = 0;
    let mut position = begin;
    let mut rest = raw;
    while filled < CHUNK_HEADER_BYTES {
        if position.is_multiple_of(BLOCK_BYTES) {
            let Some((block, after)) = rest.split_at_checked(BLOCK_HEADER_BYTES as usize) else {
                return Err(at(begin..begin + raw.len() as u64, Fault::CutShort));
            };
            // Its distances are checked once the chunk's end is known; a broken hash is the earlier damage and is named first.
            if u64_at(block, 0) != hash(&block[8..]) {
                return Err(at(position..position + BLOCK_HEADER_BYTES, Fault::BlockHeaderHash));
            }
            position += BLOCK_HEADER_BYTES;
            rest = after;
        }
        let room = usize::try_from(BLOCK_BYTES - position % BLOCK_BYTES).unwrap_or(usize::MAX);
        let n = (CHUNK_HEADER_BYTES - filled).min(room);
        let Some((part, after)) = rest.split_at_checked(n) else {
            return Err(at(begin..begin + raw.len() as u64, Fault::CutShort));
        };
        header[filled..filled + n].copy_from_slice(part);
        filled += n;
        position += n as u64;
        rest = after;
    }
    let parsed = ChunkHeader::decode(&header).ok_or_else(|| at(begin..position, Fault::ChunkHeaderHash))?;
    // What is allocated for a chunk follows from here.
    if parsed.data_bytes > most_data_bytes(parsed.decoded_bytes, parsed.records) {
        return Err(at(begin..position, Fault::Chunk("its data is longer than its records can be")));
    }
    match chunk_end(begin, parsed.data_bytes, parsed.records) {
        Some(end) if end <= limit => Ok((parsed, end)),
        _ => Err(at(begin..position, Fault::ChunkPastEnd)),
    }
}

/// The data of a chunk without the block headers that interrupt it. Checks every block header and the data's hash.
/// `raw` holds exactly the bytes from `begin` to the chunk's end.
pub(crate) fn chunk_data<'a>(raw: &'a [u8], begin: u64, end: u64, header: &ChunkHeader, scratch: &'a mut Vec<u8>) -> Result<&'a [u8], At> {
    let short = || at(begin..end, Fault::CutShort);
    let span = usize::try_from(end - begin).map_err(|_| short())?;
    let raw = raw.get(..span).ok_or_else(short)?;
    // Block headers first: they are cheap, and all of them are checked even when the data is damaged.
    let mut edge = begin.next_multiple_of(BLOCK_BYTES);
    while edge < end {
        let offset = (edge - begin) as usize;
        let bytes = edge..edge + BLOCK_HEADER_BYTES;
        let Some(found) = raw.get(offset..offset + BLOCK_HEADER_BYTES as usize) else {
            return Err(at(bytes, Fault::CutShort));
        };
        if found != block_header(edge - begin, end - edge) {
            let fault = if u64_at(found, 0) == hash(&found[8..]) { Fault::BlockHeaderDistance } else { Fault::BlockHeaderHash };
            return Err(at(bytes, fault));
        }
        edge += BLOCK_BYTES;
    }
    // A chunk that no block header interrupts is borrowed, the others are copied together.
    let data_bytes = usize::try_from(header.data_bytes).map_err(|_| short())?;
    let first_edge = (begin.next_multiple_of(BLOCK_BYTES) - begin) as usize;
    let whole = if first_edge >= span {
        raw.get(CHUNK_HEADER_BYTES..CHUNK_HEADER_BYTES + data_bytes).ok_or_else(short)?
    } else {
        scratch.clear();
        let mut position = begin;
        let mut rest = raw;
        while scratch.len() < CHUNK_HEADER_BYTES + data_bytes {
            if position.is_multiple_of(BLOCK_BYTES) {
                rest = rest.get(BLOCK_HEADER_BYTES as usize..).ok_or_else(short)?;
                position += BLOCK_HEADER_BYTES;
            }
            let room = (BLOCK_BYTES - position % BLOCK_BYTES) as usize;
            let n = room.min(CHUNK_HEADER_BYTES + data_bytes - scratch.len());
            let (part, after) = rest.split_at_checked(n).ok_or_else(short)?;
            scratch.extend_from_slice(part);
            rest = after;
            position += n as u64;
        }
        &scratch[CHUNK_HEADER_BYTES..]
    };
    if hash(whole) != header.data_hash {
        return Err(at(begin..end, Fault::ChunkDataHash));
    }
    Ok(whole)
}

/// Lays out the chunk that stands at `buffer[from..]` (header and data in one piece) for the place `begin..end` of the file: block headers
/// interrupt it, zeros fill it up.
pub(crate) fn lay_out(buffer: &mut Vec<u8>, from: usize, begin: u64, end: u64) {
    // All of these fit: the buffer holds the chunk, and the headers are a 2730th of it.
    let within = |position: u64| from + usize::try_from(position - begin).unwrap_or(usize::MAX);
    buffer.resize(within(end), 0);
    let first_edge = begin.next_multiple_of(BLOCK_BYTES);
    if first_edge >= end {
        return;
    }
    // From the last edge to the first, so that every byte moves once.
    for number in (0..=(end - 1 - first_edge) / BLOCK_BYTES).rev() {
        let edge = first_edge + number * BLOCK_BYTES;
        let target = within(edge + BLOCK_HEADER_BYTES);
        let bytes = within(end.min(edge + BLOCK_BYTES)) - target;
        let source = target - BLOCK_HEADER_BYTES as usize * (number as usize + 1);
        buffer.copy_within(source..source + bytes, target);
        buffer[within(edge)..target].copy_from_slice(&block_header(edge - begin, end - edge));
    }
}

/// The first byte of a chunk's padding that is not zero, if any; block headers in it are skipped.
pub(crate) fn dirty_padding(raw: &[u8], begin: u64, end: u64, header: &ChunkHeader) -> Option<u64> {
    let mut position = end_of_stream(begin, header.data_bytes.checked_add(CHUNK_HEADER_BYTES as u64)?)?;
    while position < end {
        if position.is_multiple_of(BLOCK_BYTES) {
            position += BLOCK_HEADER_BYTES;
            continue;
        }
        let stop = end.min(position.next_multiple_of(BLOCK_BYTES));
        let part = raw.get((position - begin) as usize..(stop - begin) as usize)?;
        if let Some(found) = part.iter().position(|&byte| byte != 0) {
            return Some(position + found as u64);
        }
        position = stop;
    }
    None
}

/// Appends a varint (LEB128, as protocol buffers have it).
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

pub(crate) fn varint_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Takes a varint from the front; `None` when it is cut, longer than ten bytes or above 64 bits.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        let low = u64::from(byte & 0x7f);
        if index == 9 && byte > 1 {
            return None;
        }
        value |= low << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a chunk's stream ends, byte by byte: a block header stands at every block edge that a byte of the chunk lies behind.
    fn walked_end(begin: u64, stream_bytes: u64) -> u64 {
        let mut position = begin;
        for _ in 0..stream_bytes {
            if position.is_multiple_of(BLOCK_BYTES) {
                position += BLOCK_HEADER_BYTES;
            }
            position += 1;
        }
        position
    }

    #[test]
    fn chunk_ends_equal_those_found_by_walking() {
        for begin in [64, 107, 65_000, 65_496, 65_534, 65_535, 65_536, 65_536 + 25, 131_000] {
            for stream in (40..200).chain(65_400..65_700).chain(131_000..131_100) {
                assert_eq!(end_of_stream(begin, stream), Some(walked_end(begin, stream)), "{begin} {stream}");
                assert!(is_chunk_boundary(walked_end(begin, stream)), "{begin} {stream}");
            }
        }
    }

    #[test]
    fn a_chunk_is_at_least_as_long_as_its_records_are_many() {
        assert_eq!(chunk_end(64, 0, 1000), Some(1064));
        // Never inside a block header or right behind it.
        for records in 65_400..65_560 {
            let end = chunk_end(64, 0, records).unwrap();
            assert!(end >= 64 + records && is_chunk_boundary(end), "{records}");
        }
        assert_eq!(chunk_end(64, u64::MAX, 0), None);
        assert_eq!(chunk_end(64, 0, u64::MAX), None);
    }

    #[test]
    fn padding_reaches_a_block_edge() {
        for begin in (1..=BLOCK_BYTES).filter(|begin| is_chunk_boundary(*begin)) {
            match padding_data_bytes(begin) {
                None => assert_eq!(begin % BLOCK_BYTES, 0),
                Some(data) => assert_eq!(chunk_end(begin, data, 0).unwrap() % BLOCK_BYTES, 0, "{begin}"),
            }
        }
    }

    #[test]
    fn the_signature_is_what_a_writer_makes() {
        let mut made = block_header(0, 64).to_vec();
        made.extend_from_slice(&ChunkHeader::of(kind::SIGNATURE, &[], 0, 0).encode());
        assert_eq!(made, SIGNATURE);
    }

    #[test]
    fn varints_round_trip_and_refuse_what_is_no_varint() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len(), varint_bytes(value));
            assert_eq!(take_varint(&mut bytes.as_slice()), Some(value));
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None, "torn");
        }
        assert_eq!(take_varint(&mut [0xff; 10].as_slice()), None, "above 64 bits");
        assert_eq!(take_varint(&mut [0x80; 11].as_slice()), None, "too long");
    }
}
