//! Parquet: row groups in, checked batches out.
//!
//! The types in the file's own schema count, never the Arrow schema that some writers embed beside it (they can disagree). Bytes come through windows of the
//! column chunks at hand, so that memory follows columns, not row groups. A page that has a checksum must fit it. The decoder's error texts can quote data: they
//! become `corrupt-input`.
use super::columns::Layout;
use super::emit::Emit;
use super::parquet_footer::is_encrypted;
use super::partitions::Partitions;
use super::{Ingest, InputFile, Part, PlannedFile, UNIT_BYTES, corrupt, decompress, truncated};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{Ranges, Stores};
use arrow::datatypes::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use perimeter_contract::job::Source;
use std::fmt::Display;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Holds the file's schema against the contract and cuts it into units of some row groups.
pub(super) fn plan(stores: &Stores, source: &Source, partitions: &Partitions, file: &InputFile) -> Result<PlannedFile> {
    let opened = Opened::open(stores, source, partitions, file)?;
    let (mut parts, mut start, mut first_record, mut row, mut bytes) = (Vec::new(), 0, 0u64, 0u64, 0u64);
    let groups = opened.metadata.metadata().row_groups();
    for (index, group) in groups.iter().enumerate() {
        row = row.saturating_add(rows_of(group.num_rows(), file)?);
        bytes = bytes.saturating_add(u64::try_from(group.compressed_size()).unwrap_or(0));
        if bytes >= UNIT_BYTES || index + 1 == groups.len() {
            parts.push(Part::RowGroups { start, end: index + 1, first_record });
            (start, first_record, bytes) = (index + 1, row, 0);
        }
    }
    if parts.is_empty() {
        parts.push(Part::RowGroups { start: 0, end: 0, first_record: 0 });
    }
    Ok(PlannedFile { parts, added: opened.layout.added })
}

fn rows_of(declared: i64, file: &InputFile) -> Result<u64> {
    u64::try_from(declared).map_err(|_| corrupt(file).into())
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, partitions: &Partitions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let opened = Opened::open(ingest.stores, ingest.source, partitions, file)?;
    let groups = opened.metadata.metadata().num_row_groups();
    let (start, end, mut row) = match part {
        Part::RowGroups { start, end, first_record } => (*start, *end, *first_record),
        _ => (0, groups, 0),
    };
    if start > end || end > groups {
        return Err(Failure::new(Culprit::Outside, "input-changed", format!("{} has other row groups than when it was planned", file.label))
            .help("Run again")
            .into());
    }
    let done = (start..end).try_for_each(|group| opened.ingest_group(ingest, file, group, &mut row, emit));
    emit.bytes_read = opened.pages.taken.load(Ordering::Relaxed);
    done
}

struct Opened {
    pages: Pages,
    metadata: ArrowReaderMetadata,
    layout: Layout,
}

/// The file's columns.
pub(super) fn fields(stores: &Stores, file: &InputFile) -> Result<Fields> {
    Ok(footer(stores, file)?.1.schema().fields().clone())
}

fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

/// Where the pages are, and what the footer says.
fn footer(stores: &Stores, file: &InputFile) -> Result<(Pages, ArrowReaderMetadata)> {
    let ranges = stores.ranges(file)?;
    let size = ranges.size_bytes();
    if size == 0 {
        return Err(decompress::empty(file));
    }
    let magic = ranges.read(0..size.min(4))?;
    if magic.as_ref() == b"PARE" || (size >= 4 && ranges.read(size - 4..size)?.as_ref() == b"PARE") {
        let message = format!("{} has an encrypted footer", file.label);
        return Err(Failure::new(Culprit::File, "unsupported-encryption", message).help("Decrypt it where its keys are").into());
    }
    if magic.as_ref() != b"PAR1" {
        let message = format!("{} is not a Parquet file", file.label);
        return Err(Failure::new(Culprit::File, "format-mismatch", message).help("Set the source's `format` to what the file is").into());
    }
    if size < 12 || ranges.read(size - 4..size)?.as_ref() != b"PAR1" {
        let message = format!("{} is cut off: it has no footer", file.label);
        return Err(Failure { message, ..truncated(file) }.into());
    }
    let length = ranges.read(size - 8..size - 4)?.first_chunk::<4>().map_or(0, |length| u64::from(u32::from_le_bytes(*length)));
    if let Some(start) = (size - 8).checked_sub(length)
        && is_encrypted(&ranges.read(start..size - 8)?)
    {
        let message = format!("{} has encrypted columns", file.label);
        return Err(Failure::new(Culprit::File, "unsupported-encryption", message).help("Decrypt it where its keys are").into());
    }
    let pages = Pages { inner: Arc::new(Inner { ranges, failure: Mutex::new(None), windows: Mutex::default() }), taken: Arc::default() };
    let metadata = ArrowReaderMetadata::load(&pages, options()).map_err(|_| pages.failure(file))?;
    Ok((pages, metadata))
}

impl Opened {
    fn open(stores: &Stores, source: &Source, partitions: &Partitions, file: &InputFile) -> Result<Self> {
        let (pages, mut metadata) = footer(stores, file)?;
        let layout = Layout::of(source, file, metadata.schema().fields(), &|column| partitions.has(column))?;
        if let Some(column) = nested_int96(&metadata) {
            let message = format!("{}: `{column}` is an INT96 timestamp inside an object or array, which is not read", file.label);
            return Err(Failure::new(Culprit::File, "column-type-mismatch", message).help("Write it as INT64 with a TIMESTAMP type").into());
        }
        if let Some(bytes) = without_text(&metadata) {
            metadata = ArrowReaderMetadata::try_new(Arc::new(bytes), options()).map_err(|_| corrupt(file))?;
        }
        if let Some(schema) = without_int96(&metadata) {
            metadata = ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options().with_schema(Arc::new(schema))).map_err(|_| corrupt(file))?;
        }
        Ok(Self { pages, metadata, layout })
    }

    fn ingest_group(&self, ingest: &Ingest<'_>, file: &InputFile, group: usize, row: &mut u64, emit: &mut Emit<'_>) -> Result<()> {
        let declared = rows_of(self.metadata.metadata().row_group(group).num_rows(), file)?;
        let wanted = self.layout.wanted(emit, ingest.projection);
        // Groups without fields are in the file's schema and not in Arrow's: fields stand at other places there.
        let in_file = self.metadata.parquet_schema().root_schema().get_fields();
        let place = |root: &usize| {
            let field = self.metadata.schema().fields().get(*root)?;
            in_file.iter().position(|f| f.name() == field.name() && !(f.is_group() && f.get_fields().is_empty()))
        };
        let places = wanted.roots.iter().map(place).collect::<Option<Vec<_>>>().ok_or_else(|| corrupt(file))?;
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), places);
        self.pages.begin(&self.metadata, group, &mask, file)?;
        let fail = |error: &dyn Display| self.pages.failure_of_group(file, group, error);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.pages.clone(), self.metadata.clone())
            .with_row_groups(vec![group])
            .with_projection(mask)
            .with_batch_size(ingest.batch_rows.max(1))
            .build()
            .map_err(|error| fail(&error))?;
        let mut seen = 0u64;
        for batch in reader {
            let batch = batch.map_err(|error| fail(&error))?;
            self.layout.emit(&wanted, &batch, ingest.batch_rows, row, file, emit)?;
            seen = seen.saturating_add(batch.num_rows() as u64);
        }
        if seen == declared { Ok(()) } else { Err(corrupt(file).into()) }
    }
}

/// The file's metadata with plain byte arrays where it says text, so that one cell that is none costs its row and not the file; `None` when there is no text.
fn without_text(metadata: &ArrowReaderMetadata) -> Option<ParquetMetaData> {
    let root = metadata.parquet_schema().root_schema();
    let mut found = false;
    let fields = root.get_fields().iter().map(|field| plain_bytes(field, &mut found)).collect::<Option<Vec<_>>>()?;
    if !found {
        return None;
    }
    let schema = SchemaDescriptor::new(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build().ok()?));
    let whole = metadata.metadata();
    let file = whole.file_metadata();
    // Neither the writer's name nor its own metadata says anything about reading the rows.
    Some(ParquetMetaData::new(FileMetaData::new(file.version(), file.num_rows(), None, None, Arc::new(schema), None), whole.row_groups().to_vec()))
}

fn plain_bytes(field: &TypePtr, found: &mut bool) -> Option<TypePtr> {
    let info = field.get_basic_info();
    if !info.has_repetition() {
        return Some(Arc::clone(field));
    }
    if field.is_group() {
        let before = *found;
        let fields = field.get_fields().iter().map(|inner| plain_bytes(inner, found)).collect::<Option<Vec<_>>>()?;
        if *found == before {
            return Some(Arc::clone(field));
        }
        let group = Type::group_type_builder(info.name())
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields);
        return group.build().ok().map(Arc::new);
    }
    let text = match info.logical_type_ref() {
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => true,
        Some(_) => false,
        None => matches!(info.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON),
    };
    if field.get_physical_type() != PhysicalType::BYTE_ARRAY || !text {
        return Some(Arc::clone(field));
    }
    *found = true;
    Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY).with_repetition(info.repetition()).build().ok().map(Arc::new)
}

/// An INT96 below the top level: its nanoseconds since 1970 would not fit for all its dates.
fn nested_int96(metadata: &ArrowReaderMetadata) -> Option<String> {
    let leaves = metadata.parquet_schema().columns();
    leaves.iter().find(|leaf| leaf.physical_type() == PhysicalType::INT96 && leaf.path().parts().len() > 1).map(|leaf| leaf.path().string())
}

/// The file's schema with microseconds for INT96, whose nanoseconds since 1970 do not fit 64 bits for all its dates; `None` when there is none.
fn without_int96(metadata: &ArrowReaderMetadata) -> Option<ArrowSchema> {
    let roots = metadata.parquet_schema().root_schema().get_fields();
    let fields = metadata.schema().fields();
    let is_int96 = |at: usize| {
        let root = roots.iter().find(|t| fields.get(at).is_some_and(|f| f.name() == t.name()));
        root.is_some_and(|t| t.is_primitive() && t.get_physical_type() == PhysicalType::INT96)
    };
    (0..fields.len()).any(is_int96).then(|| {
        let micros = |field: &Field| field.clone().with_data_type(ArrowType::Timestamp(TimeUnit::Microsecond, None));
        ArrowSchema::new(fields.iter().enumerate().map(|(at, f)| if is_int96(at) { Arc::new(micros(f)) } else { Arc::clone(f) }).collect::<Vec<_>>())
    })
}

/// The bytes of one file as the decoder asks for them. Errors of the store are kept aside: the decoder would flatten them to text.
#[derive(Clone)]
struct Pages {
    inner: Arc<Inner>,
    taken: Arc<AtomicU64>,
}

struct Inner {
    ranges: Ranges,
    failure: Mutex<Option<Error>>,
    windows: Mutex<Windows>,
}

/// One window per column chunk at hand, ascending.
#[derive(Default)]
struct Windows {
    bytes: u64,
    list: Vec<Window>,
}

struct Window {
    chunk: std::ops::Range<u64>,
    at: u64,
    held: Bytes,
}

/// All windows of a row group together, as far as the smallest window allows.
const WINDOWS_BYTES: u64 = 32 << 20;
const LEAST_WINDOW_BYTES: u64 = 128 << 10;
const MOST_WINDOW_BYTES: u64 = 2 << 20;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    /// The store's failure if there was one, else the file's.
    fn failure(&self, file: &InputFile) -> Error {
        locked(&self.inner.failure).take().unwrap_or_else(|| corrupt(file).into())
    }

    /// As [`Pages::failure`]; of the decoder's words, only that a checksum is wrong is taken over.
    fn failure_of_group(&self, file: &InputFile, group: usize, error: &dyn Display) -> Error {
        let store = locked(&self.inner.failure).take();
        store.unwrap_or_else(|| match error.to_string().contains("CRC checksum mismatch") {
            true => {
                let message = format!("{} is damaged: a page of row group {} has not the checksum that its header says", file.label, group + 1);
                Failure { message, ..corrupt(file) }.into()
            }
            false => corrupt(file).into(),
        })
    }

    /// Opens windows on the column chunks of a row group and fills them, with as few waits as possible.
    fn begin(&self, metadata: &ArrowReaderMetadata, group: usize, mask: &ProjectionMask, file: &InputFile) -> Result<()> {
        let size = self.inner.ranges.size_bytes();
        let mut chunks = Vec::new();
        for (leaf, column) in metadata.metadata().row_group(group).columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            let _ = leaf;
            let start = column.dictionary_page_offset().filter(|d| *d > 0).map_or(column.data_page_offset(), |d| d.min(column.data_page_offset()));
            let chunk =
                u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok()).and_then(|(start, length)| Some(start..start.checked_add(length)?));
            chunks.push(chunk.filter(|c| c.end <= size).ok_or_else(|| corrupt(file))?);
        }
        chunks.sort_by_key(|c| c.start);
        let bytes = (WINDOWS_BYTES / (chunks.len() as u64).max(1)).clamp(LEAST_WINDOW_BYTES, MOST_WINDOW_BYTES);
        let first: Vec<_> = chunks.iter().map(|c| c.start..c.end.min(c.start.saturating_add(bytes))).collect();
        let held = self.inner.ranges.read_many(&first)?;
        self.taken.fetch_add(held.iter().map(|b| b.len() as u64).sum(), Ordering::Relaxed);
        let list = chunks.into_iter().zip(held).map(|(chunk, held)| Window { at: chunk.start, chunk, held }).collect();
        *locked(&self.inner.windows) = Windows { bytes, list };
        Ok(())
    }

    /// At least `length` bytes from `start`, more if they are at hand.
    fn from(&self, start: u64, length: u64) -> Result<Bytes> {
        let size = self.inner.ranges.size_bytes();
        let end = start.checked_add(length).filter(|end| *end <= size);
        let mut windows = locked(&self.inner.windows);
        let step = windows.bytes;
        let index = windows.list.partition_point(|w| w.chunk.start <= start).checked_sub(1);
        let window = index.and_then(|at| windows.list.get_mut(at)).filter(|w| start < w.chunk.end);
        let Some(window) = window else {
            // Footers.
            let end = end.unwrap_or(size).max(start.saturating_add(8 << 10).min(size)).max(start);
            let bytes = self.inner.ranges.read(start..end)?;
            self.taken.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return Ok(bytes);
        };
        let offset = start.checked_sub(window.at).and_then(|o| usize::try_from(o).ok()).filter(|o| *o < window.held.len());
        if let Some(offset) = offset
            && (window.held.len() - offset) as u64 >= length
        {
            return Ok(window.held.slice(offset..));
        }
        let end = end.unwrap_or(size).max(window.chunk.end.min(start.saturating_add(step)));
        window.held = self.inner.ranges.read(start..end)?;
        self.taken.fetch_add(window.held.len() as u64, Ordering::Relaxed);
        window.at = start;
        Ok(window.held.clone())
    }

    fn keep(&self, error: Error) -> ParquetError {
        *locked(&self.inner.failure) = Some(error);
        ParquetError::General(String::new())
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.inner.ranges.size_bytes()
    }
}

impl ChunkReader for Pages {
    type T = PageReader;

    fn get_read(&self, start: u64) -> parquet::errors::Result<PageReader> {
        Ok(PageReader { pages: self.clone(), at: start, held: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.from(start, length as u64).map_err(|e| self.keep(e))?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(String::new()));
        }
        Ok(bytes.slice(..length))
    }
}

/// Reads on from a position; page headers come this way.
struct PageReader {
    pages: Pages,
    at: u64,
    held: Bytes,
}

impl Read for PageReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            if self.at >= self.pages.len() {
                return Ok(0);
            }
            self.held = self.pages.from(self.at, 1).map_err(|e| io::Error::other(self.pages.keep(e)))?;
            self.at = self.at.saturating_add(self.held.len() as u64);
        }
        let n = out.len().min(self.held.len());
        out.get_mut(..n).unwrap_or_default().copy_from_slice(&self.held.split_to(n));
        Ok(n)
    }
}
