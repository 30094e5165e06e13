//! What a file says of itself before there is a contract for it.
use super::decompress::{empty, failure, open};
use super::{Part, arrow_ipc, avro, guarded, parquet, partitions};
use crate::error::Result;
use crate::store::{InputFile, Stores};
use arrow::datatypes::Fields;
use perimeter_contract::job::Format;
use std::io::Read;

/// The first bytes, decompressed.
///
/// # Errors
/// The file is empty, or compressed in a way that is not read; what the store says.
pub(crate) fn head(stores: &Stores, file: &InputFile, bytes: u64) -> Result<Vec<u8>> {
    guarded(file, || {
        let mut start = Vec::new();
        open(stores, file, &Part::Whole)?.bytes.take(bytes).read_to_end(&mut start).map_err(|e| failure(file, e))?;
        if start.is_empty() { Err(empty(file)) } else { Ok(start) }
    })
}

/// The columns of a columnar file; of text there are none.
///
/// # Errors
/// As planning.
pub(crate) fn fields(stores: &Stores, format: &Format, file: &InputFile) -> Result<Fields> {
    guarded(file, || match format {
        Format::Parquet => parquet::fields(stores, file),
        Format::Arrow => arrow_ipc::fields(stores, file),
        Format::Avro => avro::fields(stores, file),
        Format::Csv(_) | Format::Json(_) | Format::FixedWidth(_) => Ok(Fields::empty()),
    })
}

/// Keys and values of the folders of its path, which can be columns. The values are cell values.
pub(crate) fn partition_keys(file: &InputFile) -> Vec<(String, Option<String>)> {
    partitions::keys(file)
}
