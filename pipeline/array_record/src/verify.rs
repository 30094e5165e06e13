//! Proof that a file is sound, or what is damaged first and what is lost.
use crate::decode::{Decoded, Decoder};
use crate::footer::{Metadata, Postscript};
use crate::index::Index;
use crate::layout::{
    At, BLOCK_BYTES, BLOCK_HEADER_BYTES, ChunkHeader, HEADER_SPAN_BYTES, at, chunk_data, dirty_padding, is_chunk_boundary, kind, parse_block_header,
    parse_header,
};
use crate::read::MAX_CHUNK_BYTES;
use crate::{Fault, ReadAt, ReadError};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::ops::Range;

/// A file that [`verify`] read from the first byte to the last and found sound. Only `verify` makes it.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Sound {
    /// Records in the file.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// CRC-32C (Castagnoli) of the file.
    pub crc32c: u32,
    /// SHA-256 of the file.
    pub sha256: [u8; 32],
}

impl fmt::Debug for Sound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sound {{ records: {}, bytes: {}, crc32c: {:08x}, sha256: ", self.records, self.bytes, self.crc32c)?;
        self.sha256.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(" }")
    }
}

/// A file that is not sound: the first damage, and what it costs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Damage {
    /// The first damaged bytes; empty, at the end of the file, where bytes are missing.
    pub bytes: Range<u64>,
    /// Records that cannot be read, of the whole file; `None` when the index itself is lost, and with it every record for a reader.
    pub records_lost: Option<u64>,
    /// Records that were read and are sound.
    pub records_sound: u64,
    /// What is wrong.
    pub reason: Reason,
}

/// What ended a verification.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes are wrong.
    Fault(Fault),
    /// The bytes cannot be had; they may be sound.
    Unreadable(io::Error),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Unreadable(error) => write!(f, "the file cannot be read ({error})"),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {} to {}: {}; ", self.bytes.start, self.bytes.end, self.reason)?;
        match self.records_lost {
            Some(lost) => write!(f, "{lost} records lost, {} sound", self.records_sound),
            None => write!(f, "no record can be found, though {} are sound", self.records_sound),
        }
    }
}

impl std::error::Error for Damage {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Reason::Fault(_) => None,
            Reason::Unreadable(error) => Some(error),
        }
    }
}

/// How much is read at once; a chunk that is larger is read whole.
const WINDOW_BYTES: u64 = 1 << 20;

/// Reads every byte of a file once, in order, and proves it sound: block headers, hashes, that every chunk decodes to the records that
/// the footer names, that nothing else stands in the file and that padding is zero.
///
/// After damage it goes on with the next chunk that the footer names (without a footer, with the next one that a block header points to),
/// so the loss is counted over the whole file. Memory: the largest chunk, encoded and decoded; one that decodes to more than 8 GiB is refused.
pub fn verify<R: ReadAt + ?Sized>(file: &R) -> Result<Sound, Damage> {
    verify_with(file, |_, _| ())
}

/// As [`verify`], and calls `each` with the number and the bytes of every sound record, in order: whoever has to look into the records of
/// a file that must be verified reads and decodes it once. What `each` saw counts only when the file turns out sound.
pub fn verify_with<R: ReadAt + ?Sized>(file: &R, each: impl FnMut(u64, &[u8])) -> Result<Sound, Damage> {
    let unreadable = |error, sound| Damage { bytes: 0..0, records_lost: None, records_sound: sound, reason: Reason::Unreadable(error) };
    let size_bytes = file.size_bytes().map_err(|error| unreadable(error, 0))?;
    let (index, index_fault) = match Index::open(file, size_bytes) {
        Ok(index) => (Some(index), None),
        Err(ReadError::Damaged { bytes, fault }) => (None, Some(At { bytes, fault })),
        Err(ReadError::Io(error)) => return Err(unreadable(error, 0)),
        Err(ReadError::NoSuchRecord { .. }) => (None, None),
    };
    let mut walk = Walk {
        window: Window { file, size_bytes, start: 0, buffer: Vec::new(), crc32c: 0, sha256: Sha256::new() },
        index: index.as_ref(),
        decoder: Decoder::new(MAX_CHUNK_BYTES),
        decoded: Decoded::default(),
        joined: Vec::new(),
        next_chunk: 0,
        next_edge_bytes: 0,
        sound: 0,
        damage: None,
        each,
    };
    if let Err(error) = walk.run() {
        return Err(unreadable(error, walk.sound));
    }
    if let Some(index) = &index
        && walk.next_chunk < index.chunks()
    {
        walk.note(at(index.span(walk.next_chunk), Fault::IndexMismatch("where a chunk begins")));
    }
    let Walk { window, sound, damage, .. } = walk;
    let lost = index.as_ref().map(|index| index.records() - sound);
    let first = match (damage, index_fault) {
        // What is missing at the end explains more than the chunk that the cut tore.
        (Some(torn), Some(At { fault: fault @ (Fault::TooSmall(_) | Fault::NotWholeBlocks(_)), .. })) => Some(at(torn.bytes.start..size_bytes, fault)),
        (Some(found), Some(known)) if found.bytes.start < known.bytes.start => Some(found),
        (damage, known) => known.or(damage),
    };
    match (first, &index) {
        (None, Some(index)) => Ok(Sound { records: index.records(), bytes: size_bytes, crc32c: window.crc32c, sha256: window.sha256.finalize().into() }),
        (Some(At { bytes, fault }), _) => Err(Damage { bytes, records_lost: lost, records_sound: sound, reason: Reason::Fault(fault) }),
        (None, None) => {
            Err(Damage { bytes: 0..size_bytes, records_lost: None, records_sound: sound, reason: Reason::Fault(Fault::Footer("it cannot be read")) })
        }
    }
}

/// A stretch of the file in memory that moves forward; every byte is hashed once, in order.
struct Window<'a, R: ?Sized> {
    file: &'a R,
    size_bytes: u64,
    start: u64,
    buffer: Vec<u8>,
    crc32c: u32,
    sha256: Sha256,
}

impl<R: ReadAt + ?Sized> Window<'_, R> {
    /// The bytes of a range, which lies in the file and does not begin before an earlier one.
    fn bytes(&mut self, range: Range<u64>) -> io::Result<&[u8]> {
        let have_end = self.start + self.buffer.len() as u64;
        if range.end > have_end {
            // What lies before the range is done with.
            let done = (range.start.min(have_end) - self.start) as usize;
            self.buffer.drain(..done);
            self.start += done as u64;
            let read_end = range.end.max(have_end.saturating_add(WINDOW_BYTES)).min(self.size_bytes);
            // In steps, so that a hole between two ranges is hashed without being kept whole.
            let mut at = have_end;
            while at < read_end {
                if at < range.start {
                    self.start = at;
                    self.buffer.clear();
                }
                let stop = read_end.min(at.saturating_add(WINDOW_BYTES));
                let old = self.buffer.len();
                self.buffer.try_reserve((stop - at) as usize).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
                self.buffer.resize(old + (stop - at) as usize, 0);
                let fresh = &mut self.buffer[old..];
                self.file.read_exact_at(at, fresh)?;
                self.crc32c = crc32c::crc32c_append(self.crc32c, fresh);
                self.sha256.update(&*fresh);
                at = stop;
            }
        }
        let from = (range.start - self.start) as usize;
        self.buffer.get(from..from + (range.end - range.start) as usize).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

struct Walk<'a, R: ?Sized, E> {
    window: Window<'a, R>,
    index: Option<&'a Index>,
    decoder: Decoder,
    decoded: Decoded,
    joined: Vec<u8>,
    next_chunk: usize,
    /// The first block edge whose header was not used yet to find a way on.
    next_edge_bytes: u64,
    sound: u64,
    damage: Option<At>,
    each: E,
}

impl<R: ReadAt + ?Sized, E: FnMut(u64, &[u8])> Walk<'_, R, E> {
    fn run(&mut self) -> io::Result<()> {
        let size_bytes = self.window.size_bytes;
        if let Some(index) = self.index
            && !index.is_even()
        {
            let bytes = index.footer_offset_bytes()..index.footer_offset_bytes() + 1;
            self.note(at(bytes, Fault::Footer("its chunks have different numbers of records, so that the official reader finds the wrong ones")));
        }
        let mut position = 0;
        while position < size_bytes {
            let head = self.window.bytes(position..size_bytes.min(position + HEADER_SPAN_BYTES))?;
            match parse_header(head, position, size_bytes) {
                Ok((header, end)) => {
                    self.chunk(position, end, &header)?;
                    position = end;
                }
                Err(found) => {
                    self.note(found);
                    let next = if self.index.is_some() { self.next_known(position) } else { self.next_by_block_header(position)? };
                    match next {
                        Some(next) => position = next,
                        None => return Ok(()),
                    }
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, found: At) {
        if self.damage.as_ref().is_none_or(|first| found.bytes.start < first.bytes.start) {
            self.damage = Some(found);
        }
    }

    /// The next place behind `position` where the index says that a chunk begins.
    fn next_known(&self, position: u64) -> Option<u64> {
        let index = self.index?;
        (self.next_chunk..=index.chunks()).map(|chunk| index.offset_bytes(chunk)).chain([index.postscript_offset_bytes()]).find(|next| *next > position)
    }

    /// The next place behind `position` where a block header says that a chunk begins or ends. Riegeli made them for this.
    fn next_by_block_header(&mut self, position: u64) -> io::Result<Option<u64>> {
        let Window { file, size_bytes, .. } = self.window;
        // Never back: each block header is looked at once, or twice where it names two places.
        let mut edge = (position + 1).next_multiple_of(BLOCK_BYTES).max(self.next_edge_bytes);
        while edge + BLOCK_HEADER_BYTES <= size_bytes {
            let mut header = [0; BLOCK_HEADER_BYTES as usize];
            file.read_exact_at(edge, &mut header)?;
            if let Some((before, after)) = parse_block_header(&header) {
                let (begin, end) = (edge.checked_sub(before), edge.checked_add(after));
                let behind = |at: &u64| *at > position && *at <= size_bytes && is_chunk_boundary(*at);
                if let Some(next) = begin.filter(behind) {
                    self.next_edge_bytes = edge;
                    return Ok(Some(next));
                }
                if let Some(next) = end.filter(behind) {
                    self.next_edge_bytes = edge + BLOCK_BYTES;
                    return Ok(Some(next));
                }
            }
            edge += BLOCK_BYTES;
        }
        Ok(None)
    }

    fn chunk(&mut self, begin: u64, end: u64, header: &ChunkHeader) -> io::Result<()> {
        // Entries that point behind us: no chunk began there.
        while let Some(index) = self.index
            && self.next_chunk < index.chunks()
            && index.offset_bytes(self.next_chunk) < begin
        {
            let bytes = index.offset_bytes(self.next_chunk)..begin;
            self.next_chunk += 1;
            // Its chunk was damaged and is noted, or the entry is wrong, which is noted here.
            if self.damage.is_none() {
                self.note(at(bytes, Fault::IndexMismatch("where a chunk begins")));
            }
        }
        let is_indexed = self.index.is_some_and(|index| self.next_chunk < index.chunks() && index.offset_bytes(self.next_chunk) == begin);
        let chunk = self.next_chunk;
        self.next_chunk += usize::from(is_indexed);
        let raw = self.window.bytes(begin..end)?;
        let data = match chunk_data(raw, begin, end, header, &mut self.joined) {
            Ok(data) => data,
            Err(found) => {
                self.note(found);
                return Ok(());
            }
        };
        let dirty = dirty_padding(raw, begin, end, header);
        let is_records = matches!(header.kind, kind::SIMPLE | kind::TRANSPOSED);
        let hides = header.kind == kind::PADDING && data.iter().any(|byte| *byte != 0);
        let expected = self.index.map(|index| {
            if is_indexed && end > index.span(chunk).end {
                // The next entry points into this chunk, so that a reader finds neither.
                Err(Fault::ChunkPastEnd)
            } else if is_indexed {
                index.agrees(chunk, header).and_then(|()| index.is_readable(chunk, MAX_CHUNK_BYTES).map_err(|found| found.fault)).map(|()| true)
            } else if begin == index.footer_offset_bytes() {
                // Met again, and perhaps not the same: the file can have changed since the index was opened.
                let again = self.decoder.decode(header, data, &mut self.decoded).is_ok() && index.is_made_of(&self.decoded);
                if again { Ok(false) } else { Err(Fault::Footer("it was another one a moment ago")) }
            } else if begin == index.postscript_offset_bytes() {
                let again = self.decoder.decode(header, data, &mut self.decoded).is_ok()
                    && self.decoded.record(0).is_some_and(|first| Postscript::decode(first).ok() == Some(index.footer_offset_bytes()));
                if again { Ok(false) } else { Err(Fault::Postscript("it was another one a moment ago")) }
            } else if is_records {
                Err(Fault::Unindexed)
            } else if header.records == 0 && (header.kind == kind::PADDING || begin == 0) {
                Ok(false)
            } else {
                Err(Fault::ChunkKind(header.kind))
            }
        });
        let outcome = match expected {
            // Without an index, chunks of records that decode are counted, but for the footer and the postscript.
            None if is_records => self.decoder.decode(header, data, &mut self.decoded).map(|()| {
                let first = self.decoded.record(0).unwrap_or_default();
                let is_ours = Metadata::decode(first).is_ok() || Postscript::decode(first).is_ok();
                if is_ours { 0 } else { header.records }
            }),
            None | Some(Ok(false)) => Ok(0),
            Some(Ok(true)) => self.decoder.decode(header, data, &mut self.decoded).map(|()| {
                let first = self.index.map_or(0, |index| index.records_of(chunk).start);
                (first..).zip(self.decoded.iter()).for_each(|(number, record)| (self.each)(number, record));
                header.records
            }),
            Some(Err(fault)) => Err(fault),
        };
        match outcome {
            Ok(records) => self.sound += records,
            Err(fault) => self.note(at(begin..end, fault)),
        }
        if hides {
            self.note(at(begin..end, Fault::Padding));
        }
        if let Some(byte) = dirty {
            self.note(at(byte..byte + 1, Fault::Padding));
        }
        Ok(())
    }
}
