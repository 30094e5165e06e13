//! The longest record, and one that is a byte longer.
use array_record::{MAX_RECORD_BYTES, Options, Reader, WriteError, Writer, verify};
use std::fs::{self, File};
use std::path::PathBuf;

/// A file that is removed at the end, whatever happens.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// A pattern that compresses fast and whose length has no small factor, so that a shifted or repeated block would be seen.
fn pattern(length: usize) -> Vec<u8> {
    let period: Vec<u8> = (0..65_521_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let n = period.len().min(length - bytes.len());
        bytes.extend_from_slice(&period[..n]);
    }
    bytes
}

#[test]
fn a_record_of_one_gibibyte_is_written_and_read_and_one_byte_more_is_refused() {
    assert_eq!(MAX_RECORD_BYTES, 1 << 30);
    let file = Temporary(std::env::temp_dir().join(format!("array_record_large_{}", std::process::id())));
    let source = pattern(MAX_RECORD_BYTES + 1);
    let largest = &source[..MAX_RECORD_BYTES];

    let mut writer = Writer::new(File::create(&file.0).unwrap(), &"group_size:1,zstd:1".parse::<Options>().unwrap()).unwrap();
    writer.write_record(b"before").unwrap();
    writer.write_record(largest).unwrap();
    assert!(matches!(writer.write_record(&source), Err(WriteError::RecordTooLong(length)) if length == MAX_RECORD_BYTES + 1));
    // The refused record leaves no trace.
    writer.write_record(b"behind").unwrap();
    let (closed, _) = writer.close().unwrap();
    assert_eq!(closed.records(), 3);

    let sound = verify(&File::open(&file.0).unwrap()).unwrap();
    assert_eq!((sound.records, sound.sha256), (3, closed.sha256()));
    let reader = Reader::open(File::open(&file.0).unwrap()).unwrap();
    assert_eq!(reader.record(0).unwrap(), b"before");
    let read = reader.record(1).unwrap();
    assert_eq!(read.len(), MAX_RECORD_BYTES);
    // Not assert_eq: it would print both.
    assert!(read == largest, "the record comes back as another one");
    assert_eq!(reader.record(2).unwrap(), b"behind");
}
