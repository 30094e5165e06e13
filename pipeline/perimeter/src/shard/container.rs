//! One shard file, whatever its container: ArrayRecord or TFRecord.
use super::folder::{NewFile, write_failure};
use super::tf_record::{ClosedRecords, RecordWriter};
use crate::error::{Culprit, Error, Failure};
use array_record::{Closed, Options, WriteError, Writer};
use perimeter_contract::job::SinkFormat;
use std::fmt;

/// Records, bytes and checksums of a file that was written to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    records: u64,
    bytes: u64,
    crc32c: u32,
    sha256: [u8; 32],
}

impl Proof {
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

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proof").field("records", &self.records).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl From<Closed> for Proof {
    fn from(closed: Closed) -> Self {
        Self { records: closed.records(), bytes: closed.bytes(), crc32c: closed.crc32c(), sha256: closed.sha256() }
    }
}

impl From<ClosedRecords> for Proof {
    fn from(closed: ClosedRecords) -> Self {
        Self { records: closed.records(), bytes: closed.bytes(), crc32c: closed.crc32c(), sha256: closed.sha256() }
    }
}

/// Writes the records of one file.
pub(super) enum FileWriter {
    ArrayRecord(Box<Writer<NewFile>>),
    TfRecord(Box<RecordWriter<NewFile>>),
}

/// A record or file could not be written.
#[derive(Debug)]
pub(super) struct RecordFailure(WriteError);

impl RecordFailure {
    /// Who has to act, about the file at `path`.
    pub(super) fn of(self, path: &str) -> Error {
        match self.0 {
            WriteError::Io(error) => write_failure(path, error),
            WriteError::RecordTooLong(_) => Failure::new(Culprit::Data, "record-too-long", format!("an example of `{path}` is longer than a record may be"))
                .help("bound the length of text columns")
                .into(),
            _ => Failure::new(Culprit::Outside, "shard-write", format!("cannot write `{path}`")).into(),
        }
    }
}

impl From<WriteError> for RecordFailure {
    fn from(error: WriteError) -> Self {
        Self(error)
    }
}

impl From<std::io::Error> for RecordFailure {
    fn from(error: std::io::Error) -> Self {
        Self(WriteError::Io(error))
    }
}

impl FileWriter {
    /// `options` are ArrayRecord's.
    pub(super) fn new(file: NewFile, format: SinkFormat, options: &Options) -> Result<Self, RecordFailure> {
        Ok(match format {
            SinkFormat::ArrayRecord => Self::ArrayRecord(Box::new(Writer::new(file, options)?)),
            SinkFormat::TfRecord => Self::TfRecord(Box::new(RecordWriter::new(file))),
        })
    }

    pub(super) fn write_record(&mut self, record: &[u8]) -> Result<(), RecordFailure> {
        match self {
            Self::ArrayRecord(writer) => Ok(writer.write_record(record)?),
            Self::TfRecord(writer) => Ok(writer.write_record(record)?),
        }
    }

    /// Ends the file: proof, and the file itself.
    pub(super) fn close(self) -> Result<(Proof, NewFile), RecordFailure> {
        Ok(match self {
            Self::ArrayRecord(writer) => {
                let (closed, file) = writer.close()?;
                (closed.into(), file)
            }
            Self::TfRecord(writer) => {
                let (closed, file) = writer.close()?;
                (closed.into(), file)
            }
        })
    }
}
