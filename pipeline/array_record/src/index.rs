//! The index of a file: what postscript and footer say, checked against each other and the file's size.
use crate::decode::{Decoded, Decoder};
use crate::footer::{Entry, Metadata, Postscript};
use crate::layout::{
    At, BLOCK_BYTES, BLOCK_HEADER_BYTES, ChunkHeader, HEADER_SPAN_BYTES, SIGNATURE, at, chunk_data, is_chunk_boundary, kind, most_data_bytes,
    parse_block_header, parse_header,
};
use crate::{Fault, ReadAt, ReadError};
use std::ops::Range;

#[derive(PartialEq)]
pub(crate) struct Index {
    size_bytes: u64,
    footer_offset_bytes: u64,
    offsets_bytes: Vec<u64>,
    decoded_bytes: Vec<u64>,
    starts: Starts,
    records: u64,
    writer_options: Option<String>,
}

/// The number of each chunk's first record.
#[derive(PartialEq)]
enum Starts {
    /// Every chunk but the last has this many records, as in every file that the official writer makes.
    Every(u64),
    Each(Vec<u64>),
}

impl Index {
    pub(crate) fn open<R: ReadAt + ?Sized>(file: &R, size_bytes: u64) -> Result<Self, ReadError> {
        if size_bytes < 2 * BLOCK_BYTES {
            return Err(at(size_bytes..size_bytes, Fault::TooSmall(size_bytes)).into());
        }
        if !size_bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(at(size_bytes..size_bytes, Fault::NotWholeBlocks(size_bytes)).into());
        }
        let mut signature = [0; SIGNATURE.len()];
        file.read_exact_at(0, &mut signature)?;
        if signature != SIGNATURE {
            return Err(at(0..SIGNATURE.len() as u64, Fault::Signature).into());
        }
        // An index has fewer bytes than the file: every chunk takes 41 bytes and more, its entry 36 at most.
        let mut decoder = Decoder::new(size_bytes);
        let footer_offset_bytes = read_postscript(file, size_bytes, &mut decoder)?;
        read_footer(file, size_bytes, footer_offset_bytes, &mut decoder)
    }

    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    pub(crate) fn chunks(&self) -> usize {
        self.offsets_bytes.len()
    }

    pub(crate) fn writer_options(&self) -> Option<&str> {
        self.writer_options.as_deref()
    }

    pub(crate) fn footer_offset_bytes(&self) -> u64 {
        self.footer_offset_bytes
    }

    pub(crate) fn postscript_offset_bytes(&self) -> u64 {
        self.size_bytes - BLOCK_BYTES
    }

    /// Whether the footer chunk, met again, is the one that the index was made of.
    pub(crate) fn is_made_of(&self, footer: &Decoded) -> bool {
        build(footer, self.size_bytes, self.footer_offset_bytes).is_ok_and(|index| index == *self)
    }

    /// Whether the official reader, which divides by the first chunk's number of records, finds every record.
    pub(crate) fn is_even(&self) -> bool {
        matches!(self.starts, Starts::Every(_))
    }

    /// Chunk and place in the chunk of a record.
    pub(crate) fn locate(&self, record: u64) -> Option<(usize, usize)> {
        if record >= self.records {
            return None;
        }
        let (chunk, within) = match &self.starts {
            Starts::Every(group) => (usize::try_from(record / group).ok()?, record % group),
            Starts::Each(starts) => {
                let chunk = starts.partition_point(|start| *start <= record).checked_sub(1)?;
                (chunk, record - starts[chunk])
            }
        };
        Some((chunk, usize::try_from(within).ok()?))
    }

    pub(crate) fn records_of(&self, chunk: usize) -> Range<u64> {
        let start = |chunk: usize| {
            if chunk >= self.chunks() {
                return self.records;
            }
            match &self.starts {
                // No overflow: chunks but the last are full, and together they are at most `records`.
                Starts::Every(group) => group * chunk as u64,
                Starts::Each(starts) => starts[chunk],
            }
        };
        start(chunk)..start(chunk + 1)
    }

    pub(crate) fn offset_bytes(&self, chunk: usize) -> u64 {
        self.offsets_bytes.get(chunk).copied().unwrap_or(self.footer_offset_bytes)
    }

    /// The bytes of the file that a chunk may take: up to the next one or the footer.
    pub(crate) fn span(&self, chunk: usize) -> Range<u64> {
        self.offset_bytes(chunk)..self.offset_bytes(chunk + 1)
    }

    /// What a chunk decodes to, as the footer says.
    pub(crate) fn decoded_bytes(&self, chunk: usize) -> u64 {
        self.decoded_bytes.get(chunk).copied().unwrap_or(0)
    }

    /// Whether the chunk's place in the file is one that such a chunk can have: what is read and allocated follows from it. A chunk is
    /// little longer than what it decodes to, or as long as its records are many, and at most two blocks of padding follow.
    pub(crate) fn is_readable(&self, chunk: usize, max_chunk_bytes: u64) -> Result<(), At> {
        let span = self.span(chunk);
        let (decoded_bytes, records) = (self.decoded_bytes(chunk), self.records_of(chunk));
        if decoded_bytes > max_chunk_bytes {
            return Err(at(span, Fault::OverLimit(decoded_bytes)));
        }
        let most = most_data_bytes(decoded_bytes, records.end - records.start).saturating_add(4 * BLOCK_BYTES);
        if span.end - span.start > most {
            return Err(at(span, Fault::IndexMismatch("where a chunk ends")));
        }
        Ok(())
    }

    /// Whether a chunk's header says what the footer says.
    pub(crate) fn agrees(&self, chunk: usize, header: &ChunkHeader) -> Result<(), Fault> {
        let records = self.records_of(chunk);
        if header.kind != kind::SIMPLE && header.kind != kind::TRANSPOSED {
            return Err(Fault::ChunkKind(header.kind));
        }
        if header.records != records.end - records.start {
            return Err(Fault::IndexMismatch("its number of records"));
        }
        if Some(&header.decoded_bytes) != self.decoded_bytes.get(chunk) {
            return Err(Fault::IndexMismatch("its decoded size"));
        }
        Ok(())
    }
}

/// Reads, checks and decodes the simple chunk at `begin`, which ends at `limit` or before.
fn read_simple_chunk<R: ReadAt + ?Sized>(file: &R, begin: u64, limit: u64, decoder: &mut Decoder) -> Result<(Decoded, Range<u64>), ReadError> {
    let mut head = [0; HEADER_SPAN_BYTES as usize];
    let head = &mut head[..HEADER_SPAN_BYTES.min(limit - begin) as usize];
    file.read_exact_at(begin, head)?;
    let (header, end) = parse_header(head, begin, limit)?;
    if header.kind != kind::SIMPLE {
        return Err(at(begin..end, Fault::ChunkKind(header.kind)).into());
    }
    // Bounded by the file: `end` is at most `limit`.
    let bytes = usize::try_from(end - begin).map_err(|_| at(begin..end, Fault::OverLimit(end - begin)))?;
    let mut raw = Vec::new();
    raw.try_reserve_exact(bytes).map_err(|_| at(begin..end, Fault::OverLimit(end - begin)))?;
    raw.resize(bytes, 0);
    file.read_exact_at(begin, &mut raw)?;
    let mut joined = Vec::new();
    let data = chunk_data(&raw, begin, end, &header, &mut joined)?;
    let mut decoded = Decoded::default();
    decoder.decode(&header, data, &mut decoded).map_err(|fault| at(begin..end, fault))?;
    Ok((decoded, begin..end))
}

fn read_postscript<R: ReadAt + ?Sized>(file: &R, size_bytes: u64, decoder: &mut Decoder) -> Result<u64, ReadError> {
    let begin = size_bytes - BLOCK_BYTES;
    // A file cut to whole blocks ends in a block of data: its block header is sound, but the chunk began earlier.
    let mut found = [0; BLOCK_HEADER_BYTES as usize];
    file.read_exact_at(begin, &mut found)?;
    if parse_block_header(&found).is_some_and(|(before, _)| before != 0) {
        return Err(at(begin..size_bytes, Fault::Postscript("a chunk of data runs into it")).into());
    }
    let (decoded, bytes) = match read_simple_chunk(file, begin, size_bytes, decoder) {
        Err(ReadError::Damaged { bytes, fault: Fault::ChunkKind(_) }) => {
            return Err(at(bytes, Fault::Postscript("a chunk of another kind stands there")).into());
        }
        other => other?,
    };
    let wrong = |why| At { bytes: bytes.clone(), fault: Fault::Postscript(why) };
    if decoded.len() != 3 {
        return Err(wrong("it has not three records").into());
    }
    let mut copies = decoded.iter();
    let first = copies.next().unwrap_or_default();
    let offset = Postscript::decode(first).map_err(|fault| At { bytes: bytes.clone(), fault })?;
    if copies.any(|copy| copy != first) {
        return Err(wrong("its three copies differ").into());
    }
    if offset < SIGNATURE.len() as u64 || offset >= begin || !is_chunk_boundary(offset) {
        return Err(wrong("the footer offset lies outside the file").into());
    }
    Ok(offset)
}

fn read_footer<R: ReadAt + ?Sized>(file: &R, size_bytes: u64, offset: u64, decoder: &mut Decoder) -> Result<Index, ReadError> {
    let (decoded, bytes) = read_simple_chunk(file, offset, size_bytes - BLOCK_BYTES, decoder)?;
    build(&decoded, size_bytes, offset).map_err(|fault| At { bytes, fault }.into())
}

fn build(footer: &Decoded, size_bytes: u64, footer_offset_bytes: u64) -> Result<Index, Fault> {
    let metadata = Metadata::decode(footer.record(0).ok_or(Fault::Footer("it is empty"))?)?;
    let chunks = footer.len() - 1;
    if metadata.chunks != chunks as u64 {
        return Err(Fault::Footer("its number of entries is not the number of chunks"));
    }
    let mut offsets_bytes = Vec::with_capacity(chunks);
    let mut decoded_bytes = Vec::with_capacity(chunks);
    let mut counts = Vec::with_capacity(chunks);
    let mut records = 0u64;
    let mut free = SIGNATURE.len() as u64;
    for entry in footer.iter().skip(1) {
        let entry = Entry::decode(entry)?;
        if entry.offset_bytes < free || entry.offset_bytes >= footer_offset_bytes || !is_chunk_boundary(entry.offset_bytes) {
            return Err(Fault::Footer("a chunk offset is out of order or outside the data"));
        }
        // A chunk has at least as many bytes as records, which bounds the count by the file.
        if entry.records == 0 || entry.records > footer_offset_bytes - entry.offset_bytes {
            return Err(Fault::Footer("a chunk has no records, or more than bytes"));
        }
        free = entry.offset_bytes + 1;
        records = records.checked_add(entry.records).ok_or(Fault::Footer("there are too many records"))?;
        offsets_bytes.push(entry.offset_bytes);
        decoded_bytes.push(entry.decoded_bytes);
        counts.push(entry.records);
    }
    if records != metadata.records {
        return Err(Fault::Footer("its number of records is not the sum of its entries"));
    }
    let group = counts.first().copied().unwrap_or(1);
    let even = counts.split_last().is_none_or(|(last, full)| *last <= group && full.iter().all(|count| *count == group));
    let starts = if even {
        Starts::Every(group)
    } else {
        let mut next = 0;
        for count in &mut counts {
            let start = next;
            next += *count;
            *count = start;
        }
        Starts::Each(counts)
    };
    Ok(Index { size_bytes, footer_offset_bytes, offsets_bytes, decoded_bytes, starts, records, writer_options: metadata.writer_options })
}
