//! TFRecord files: records one after the other, each with its length and two masked checksums.
//!
//! [`RecordWriter`] writes to anything and returns proof of what it wrote; [`RecordReader`] reads back, and believes no length before its checksum. The format
//! has no index, no compression of its own and no end mark: a file cut between records looks whole, which is why seal compares counts and digests.
//! Source: `tensorflow/core/lib/io/record_writer.h`: u64 length, masked crc32c of the length, the bytes, masked crc32c of the bytes; all little-endian.
use crc32c::{crc32c, crc32c_append};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Read, Write};

/// Bytes beside each record's own.
pub const FRAME_BYTES: u64 = 16;

/// A crc32c of data that may hold crc32cs: rotated, and moved by a constant.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Proof of a file written to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClosedRecords {
    records: u64,
    bytes: u64,
    crc32c: u32,
    sha256: [u8; 32],
}

impl ClosedRecords {
    /// Records in the file.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// CRC-32C (Castagnoli) of the file, as object stores report it (there in base64 of the big-endian bytes).
    pub fn crc32c(&self) -> u32 {
        self.crc32c
    }

    /// SHA-256 of the file.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

impl fmt::Debug for ClosedRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedRecords").field("records", &self.records).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Writes records.
pub struct RecordWriter<W> {
    to: W,
    records: u64,
    bytes: u64,
    crc32c: u32,
    sha256: Sha256,
}

impl<W> fmt::Debug for RecordWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWriter").field("records", &self.records).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<W: Write> RecordWriter<W> {
    /// Writes to `to`, which buffers if it should: a record is four writes.
    pub fn new(to: W) -> Self {
        Self { to, records: 0, bytes: 0, crc32c: 0, sha256: Sha256::new() }
    }

    /// Appends a record.
    ///
    /// # Errors
    /// As `to` says; the file is then of no use.
    pub fn write_record(&mut self, record: &[u8]) -> io::Result<()> {
        let length = (record.len() as u64).to_le_bytes();
        self.put(&length)?;
        self.put(&masked(crc32c(&length)).to_le_bytes())?;
        self.put(record)?;
        self.put(&masked(crc32c(record)).to_le_bytes())?;
        self.records += 1;
        Ok(())
    }

    /// Ends the file: proof, and what was written to, flushed.
    ///
    /// # Errors
    /// As `to` says.
    pub fn close(mut self) -> io::Result<(ClosedRecords, W)> {
        self.to.flush()?;
        let proof = ClosedRecords { records: self.records, bytes: self.bytes, crc32c: self.crc32c, sha256: self.sha256.finalize().into() };
        Ok((proof, self.to))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.crc32c = crc32c_append(self.crc32c, bytes);
        self.sha256.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Why a file could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file ends within a record.
    #[error("record {record}: the file ends within it")]
    Truncated {
        /// From 0.
        record: u64,
    },
    /// A checksum does not fit.
    #[error("record {record}: its {part} does not fit its checksum")]
    Checksum {
        /// From 0.
        record: u64,
        /// `length` or `bytes`.
        part: &'static str,
    },
    /// The record is longer than the reader takes.
    #[error("record {record}: it is longer than {limit} bytes")]
    TooLong {
        /// From 0.
        record: u64,
        /// What the reader was made for.
        limit: u64,
    },
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Io(#[source] io::Error),
}

/// Reads records in order.
pub struct RecordReader<R> {
    from: R,
    record: u64,
    limit: u64,
    bytes: Vec<u8>,
}

impl<R> fmt::Debug for RecordReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordReader").field("record", &self.record).finish_non_exhaustive()
    }
}

impl<R: Read> RecordReader<R> {
    /// Reads from `from`, which buffers if it should; a record of more than `limit_bytes` is an error.
    pub fn new(from: R, limit_bytes: u64) -> Self {
        Self { from, record: 0, limit: limit_bytes, bytes: Vec::new() }
    }

    /// The next record; `None` at the end. Its bytes live until the next call. After an error, there is no next.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, RecordError> {
        let record = self.record;
        if !self.fill(8)? {
            return Ok(None);
        }
        let length = <[u8; 8]>::try_from(self.bytes.as_slice()).map(u64::from_le_bytes).map_err(|_| RecordError::Truncated { record })?;
        let sum = masked(crc32c(&self.bytes));
        if !self.fill(4)? {
            return Err(RecordError::Truncated { record });
        }
        if self.bytes != sum.to_le_bytes() {
            return Err(RecordError::Checksum { record, part: "length" });
        }
        if length > self.limit {
            return Err(RecordError::TooLong { record, limit: self.limit });
        }
        // The record and its checksum. Memory grows with what is there, not with what is claimed.
        if !self.fill(length.saturating_add(4))? {
            return Err(RecordError::Truncated { record });
        }
        let (bytes, stored) = self.bytes.split_last_chunk::<4>().ok_or(RecordError::Truncated { record })?;
        if masked(crc32c(bytes)).to_le_bytes() != *stored {
            return Err(RecordError::Checksum { record, part: "bytes" });
        }
        self.record += 1;
        Ok(Some(bytes))
    }

    /// Reads so many bytes; false when there are none at all.
    fn fill(&mut self, bytes: u64) -> Result<bool, RecordError> {
        self.bytes.clear();
        let read = self.from.by_ref().take(bytes).read_to_end(&mut self.bytes).map_err(RecordError::Io)? as u64;
        if read != bytes && read != 0 {
            return Err(RecordError::Truncated { record: self.record });
        }
        Ok(read == bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(records: &[Vec<u8>]) -> (ClosedRecords, Vec<u8>) {
        let mut writer = RecordWriter::new(Vec::new());
        records.iter().for_each(|record| writer.write_record(record).unwrap());
        writer.close().unwrap()
    }

    fn read(file: &[u8]) -> Result<Vec<Vec<u8>>, RecordError> {
        let mut reader = RecordReader::new(file, 1 << 20);
        let mut out = Vec::new();
        while let Some(record) = reader.next_record()? {
            out.push(record.to_vec());
        }
        Ok(out)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..20)) {
            let (proof, file) = write(&records);
            prop_assert_eq!(read(&file).unwrap(), records.clone());
            prop_assert_eq!(proof.records(), records.len() as u64);
            prop_assert_eq!(proof.bytes(), file.len() as u64);
            prop_assert_eq!(proof.bytes(), records.iter().map(|record| record.len() as u64 + FRAME_BYTES).sum::<u64>());
            prop_assert_eq!(proof.crc32c(), crc32c(&file));
            prop_assert_eq!(proof.sha256(), <[u8; 32]>::from(Sha256::digest(&file)));
        }

        #[test]
        fn damage_is_seen(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..6), at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
            let (_, mut file) = write(&records);
            let place = at.index(file.len());
            file[place] ^= flip;
            prop_assert!(read(&file).is_err());
        }

        #[test]
        fn torn_ends_are_seen(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..6), at in any::<prop::sample::Index>()) {
            let (_, file) = write(&records);
            let mut ends = vec![0];
            for record in &records {
                ends.push(ends.last().unwrap() + record.len() + 16);
            }
            let cut = at.index(file.len());
            prop_assert_eq!(read(&file[..cut]).is_ok(), ends.contains(&cut));
        }

        #[test]
        fn no_bytes_panic(file in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&file);
        }
    }

    /// What the writer of the PyPI package `tfrecord` makes of an empty record and of `abc`.
    #[test]
    fn bytes_are_those_of_another_writer() {
        let expected = "000000000000000029039807d8ea82a20300000000000000b099490e6162636e57f121";
        assert_eq!(hex::encode(write(&[vec![], b"abc".to_vec()]).1), expected);
    }

    #[test]
    fn a_length_is_not_believed() {
        let length = (1_u64 << 40).to_le_bytes();
        let file = [&length[..], &masked(crc32c(&length)).to_le_bytes(), b"abc"].concat();
        assert!(matches!(read(&file), Err(RecordError::TooLong { record: 0, .. })));
        let mut reader = RecordReader::new(&file[..], u64::MAX);
        assert!(matches!(reader.next_record(), Err(RecordError::Truncated { record: 0 })));
    }
}
