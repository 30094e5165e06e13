//! Arrow IPC, the file and the stream: record batches in, checked batches out. Which of the two it is the bytes say.
//!
//! The framing is our own: arrow's reader takes the end of the bytes for the end of the stream, and lengths in a message for true. A stream ends with its end
//! mark and with nothing behind it; a file has its footer. Messages are held against the bytes that are there before arrow's decoder, which then validates
//! every buffer, sees them. Source: the Arrow columnar format, "Serialization and Interprocess Communication".
use super::columns::Layout;
use super::emit::Emit;
use super::partitions::Partitions;
use super::{Ingest, InputFile, Part, PlannedFile, UNIT_BYTES, corrupt, decompress, truncated};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{Ranges, Stores};
use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, SchemaRef};
use arrow::ipc::reader::{read_dictionary, read_record_batch};
use arrow::ipc::{CompressionType, MessageHeader, MetadataVersion, convert::fb_to_schema, root_as_footer, root_as_message};
use perimeter_contract::job::Source;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8] = b"ARROW1";
/// Of a message without its body, or of a footer.
const METADATA_BYTES: u64 = 64 << 20;
/// Of a message's body, of what its buffers become decompressed, and of all dictionaries together.
const BODY_BYTES: u64 = 1 << 30;
/// What the format recommends as the most rows of a batch.
const BATCH_ROWS: i64 = i32::MAX as i64;

/// Holds the file's schema against the contract; a large file with an index is cut into ranges of batches.
pub(super) fn plan(stores: &Stores, source: &Source, partitions: &Partitions, file: &InputFile) -> Result<PlannedFile> {
    let in_path = |column| partitions.has(column);
    match Opened::open(stores, file)? {
        Opened::File(opened) => {
            let layout = Layout::of(source, file, opened.schema.fields(), &in_path)?;
            let parts = if file.size_bytes < 2 * UNIT_BYTES { vec![Part::Whole] } else { opened.cut(file)? };
            Ok(PlannedFile { parts, added: layout.added })
        }
        Opened::Stream(stream) => {
            let layout = Layout::of(source, file, stream.schema.fields(), &in_path)?;
            Ok(PlannedFile { parts: vec![Part::Whole], added: layout.added })
        }
    }
}

/// The file's columns.
pub(super) fn fields(stores: &Stores, file: &InputFile) -> Result<Fields> {
    Ok(match Opened::open(stores, file)? {
        Opened::File(opened) => opened.schema.fields().clone(),
        Opened::Stream(stream) => stream.schema.fields().clone(),
    })
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, partitions: &Partitions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let in_path = |column| partitions.has(column);
    match Opened::open(ingest.stores, file)? {
        Opened::File(opened) => {
            let layout = Layout::of(ingest.source, file, opened.schema.fields(), &in_path)?;
            let (batches, mut row) = match part {
                Part::RowGroups { start, end, first_record } => (*start..*end, *first_record),
                _ => (0..opened.batches.len(), 0),
            };
            let wanted = layout.wanted(emit, ingest.projection);
            let blocks = opened.batches.get(batches).ok_or_else(|| changed(file))?;
            let mut dictionaries = Dictionaries::default();
            for block in &opened.dictionaries {
                let message = opened.message(block, file)?;
                emit.bytes_read = emit.bytes_read.saturating_add(block.bytes());
                dictionaries.take(&message, &opened.reading, file)?;
            }
            for block in blocks {
                let message = opened.message(block, file)?;
                emit.bytes_read = emit.bytes_read.saturating_add(block.bytes());
                let batch = dictionaries.batch(&message, &opened.reading, &wanted.roots, file)?;
                layout.emit(&wanted, &batch, ingest.batch_rows, &mut row, file, emit)?;
            }
            Ok(())
        }
        Opened::Stream(mut stream) => {
            let layout = Layout::of(ingest.source, file, stream.schema.fields(), &in_path)?;
            let wanted = layout.wanted(emit, ingest.projection);
            let mut dictionaries = Dictionaries::default();
            let mut row = 0;
            while let Some(message) = stream.next(file)? {
                match message.kind {
                    MessageHeader::DictionaryBatch => dictionaries.take(&message, &stream.reading, file)?,
                    MessageHeader::RecordBatch => {
                        let batch = dictionaries.batch(&message, &stream.reading, &wanted.roots, file)?;
                        layout.emit(&wanted, &batch, ingest.batch_rows, &mut row, file, emit)?;
                    }
                    _ => return Err(corrupt(file).into()),
                }
            }
            emit.bytes_read = stream.taken.load(Ordering::Relaxed);
            Ok(())
        }
    }
}

fn changed(file: &InputFile) -> Failure {
    Failure::new(Culprit::Outside, "input-changed", format!("{} has other record batches than when it was planned", file.label)).help("Run again")
}

fn too_large(file: &InputFile) -> Failure {
    Failure::new(Culprit::Data, "batch-too-large", format!("{} has a record batch or dictionary of more than 1 GiB", file.label))
        .help("Write it in smaller record batches")
}

fn cut_off(file: &InputFile, what: &str) -> Error {
    Failure { message: format!("{} is cut off: {what}", file.label), ..truncated(file) }.into()
}

enum Opened {
    File(OpenedFile),
    Stream(Stream),
}

impl Opened {
    fn open(stores: &Stores, file: &InputFile) -> Result<Self> {
        let opened = decompress::open(stores, file, &Part::Whole)?;
        let none = Arc::new(ArrowSchema::empty());
        let mut stream = Stream { bytes: opened.bytes, taken: opened.taken, schema: Arc::clone(&none), reading: none, start: Vec::new() };
        stream.start = stream.read(8, file)?;
        if stream.start.is_empty() {
            return Err(decompress::empty(file));
        }
        if stream.start.starts_with(MAGIC) {
            if decompress::of(file)? != decompress::Compression::None {
                let message = format!("{} is a compressed Arrow file, whose index cannot be reached", file.label);
                return Err(Failure::new(Culprit::File, "unsupported-compression", message).help("Decompress it, or write an Arrow stream").into());
            }
            return OpenedFile::open(stores.ranges(file)?, file).map(Self::File);
        }
        let first = stream.start.first_chunk::<4>().map(|first| i32::from_le_bytes(*first));
        // A length in front of the first message, with or without the mark that came with version 0.15.
        if !first.is_some_and(|first| first == -1 || (first > 0 && first % 4 == 0 && i64::from(first) < METADATA_BYTES as i64)) {
            let message = format!("{} is neither an Arrow file nor an Arrow stream", file.label);
            return Err(Failure::new(Culprit::File, "format-mismatch", message).help("Set the source's `format` to what the file is").into());
        }
        stream.open(file).map(Self::Stream)
    }
}

/// The fields with bytes where they say text: the values are looked at one by one, later.
fn as_bytes(fields: &Fields) -> Fields {
    fields.iter().map(|field| bytes_field(field)).collect()
}

fn bytes_field(field: &Field) -> Field {
    field.clone().with_data_type(bytes_type(field.data_type()))
}

fn bytes_type(data_type: &ArrowType) -> ArrowType {
    use ArrowType as A;
    let inside = |field: &Arc<Field>| Arc::new(bytes_field(field));
    match data_type {
        A::Utf8 => A::Binary,
        A::LargeUtf8 => A::LargeBinary,
        A::Utf8View => A::BinaryView,
        A::Dictionary(keys, values) => A::Dictionary(keys.clone(), Box::new(bytes_type(values))),
        A::RunEndEncoded(ends, values) => A::RunEndEncoded(Arc::clone(ends), inside(values)),
        A::Struct(fields) => A::Struct(as_bytes(fields)),
        A::List(item) => A::List(inside(item)),
        A::LargeList(item) => A::LargeList(inside(item)),
        A::ListView(item) => A::ListView(inside(item)),
        A::LargeListView(item) => A::LargeListView(inside(item)),
        A::FixedSizeList(item, size) => A::FixedSizeList(inside(item), *size),
        other => other.clone(),
    }
}

fn schema_of(schema: arrow::ipc::Schema<'_>, file: &InputFile) -> Result<SchemaRef> {
    if schema.endianness() != arrow::ipc::Endianness::Little {
        let message = format!("{} was written big-endian, which is not read", file.label);
        return Err(Failure::new(Culprit::File, "unsupported-endianness", message).help("Write it on, or for, a little-endian machine").into());
    }
    Ok(Arc::new(fb_to_schema(schema)))
}

/// One message: its metadata as it stands in the file, and its body.
struct Message {
    metadata: Vec<u8>,
    body: Buffer,
    kind: MessageHeader,
}

impl Message {
    /// Checks the message's own words against the bytes of its body.
    fn new(metadata: Vec<u8>, body: Buffer, file: &InputFile) -> Result<Self> {
        let kind = {
            let message = root_as_message(&metadata).map_err(|_| corrupt(file))?;
            let batch = match message.header_type() {
                MessageHeader::RecordBatch => message.header_as_record_batch(),
                MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|d| d.data()),
                _ => None,
            };
            if let Some(batch) = batch {
                fits(batch, &body, file)?;
            } else if matches!(message.header_type(), MessageHeader::RecordBatch | MessageHeader::DictionaryBatch) {
                return Err(corrupt(file).into());
            }
            message.header_type()
        };
        Ok(Self { metadata, body, kind })
    }
}

/// Every buffer is in the body, and none becomes more than there is room for.
fn fits(batch: arrow::ipc::RecordBatch<'_>, body: &Buffer, file: &InputFile) -> Result<()> {
    let within = |start: i64, length: i64| Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?);
    if !(0..=BATCH_ROWS).contains(&batch.length()) {
        return Err(corrupt(file).into());
    }
    let sound = |node: &arrow::ipc::FieldNode| node.length() >= 0 && (0..=node.length()).contains(&node.null_count());
    if batch.nodes().is_some_and(|nodes| !nodes.iter().all(sound)) {
        return Err(corrupt(file).into());
    }
    if batch.variadicBufferCounts().is_some_and(|counts| counts.iter().any(|count| !(0..=BATCH_ROWS).contains(&count))) {
        return Err(corrupt(file).into());
    }
    let compression = batch.compression();
    if compression.is_some_and(|c| !matches!(c.codec(), CompressionType::LZ4_FRAME | CompressionType::ZSTD)) {
        let message = format!("{} is compressed inside in a way that is not read", file.label);
        return Err(Failure::new(Culprit::File, "unsupported-compression", message).help("Write it with LZ4 or Zstandard, or without compression").into());
    }
    let mut total = 0u64;
    for buffer in batch.buffers().iter().flatten() {
        let bytes = within(buffer.offset(), buffer.length()).and_then(|range| body.get(range)).ok_or_else(|| corrupt(file))?;
        if compression.is_none() || bytes.is_empty() {
            total = total.saturating_add(bytes.len() as u64);
            continue;
        }
        let (declared, packed) = bytes.split_first_chunk::<8>().ok_or_else(|| corrupt(file))?;
        let declared = match i64::from_le_bytes(*declared) {
            -1 => packed.len() as u64,
            declared => u64::try_from(declared).map_err(|_| corrupt(file))?,
        };
        total = total.saturating_add(declared);
    }
    if total > BODY_BYTES { Err(too_large(file).into()) } else { Ok(()) }
}

/// Dictionaries so far, by id. One that comes again replaces the one before, a delta goes behind it.
#[derive(Default)]
struct Dictionaries {
    by_id: HashMap<i64, ArrayRef>,
}

impl Dictionaries {
    fn take(&mut self, message: &Message, schema: &SchemaRef, file: &InputFile) -> Result<()> {
        let (batch, version) = {
            let message = root_as_message(&message.metadata).map_err(|_| corrupt(file))?;
            (message.header_as_dictionary_batch().ok_or_else(|| corrupt(file))?, message.version())
        };
        read_dictionary(&message.body, batch, schema, &mut self.by_id, &version).map_err(|_| corrupt(file))?;
        let bytes = self.by_id.values().map(|values| values.get_buffer_memory_size() as u64).fold(0, u64::saturating_add);
        if bytes > BODY_BYTES { Err(too_large(file).into()) } else { Ok(()) }
    }

    fn batch(&self, message: &Message, schema: &SchemaRef, roots: &[usize], file: &InputFile) -> Result<arrow::array::RecordBatch> {
        let (batch, version): (_, MetadataVersion) = {
            let message = root_as_message(&message.metadata).map_err(|_| corrupt(file))?;
            (message.header_as_record_batch().ok_or_else(|| corrupt(file))?, message.version())
        };
        let declared = batch.length();
        let batch = read_record_batch(&message.body, batch, Arc::clone(schema), &self.by_id, Some(roots), &version).map_err(|_| corrupt(file))?;
        if i64::try_from(batch.num_rows()) == Ok(declared) { Ok(batch) } else { Err(corrupt(file).into()) }
    }
}

struct Stream {
    bytes: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    schema: SchemaRef,
    reading: SchemaRef,
    /// Read already.
    start: Vec<u8>,
}

impl Stream {
    /// The first message is the schema.
    fn open(mut self, file: &InputFile) -> Result<Self> {
        let first = self.next(file)?.ok_or_else(|| corrupt(file))?;
        let message = root_as_message(&first.metadata).map_err(|_| corrupt(file))?;
        let schema = message.header_as_schema().ok_or_else(|| corrupt(file))?;
        let schema = schema_of(schema, file)?;
        Ok(Self { reading: for_reading(&schema), schema, ..self })
    }

    /// So many bytes, fewer at the end. Memory follows what is there, not what a length says.
    fn read(&mut self, length: u64, file: &InputFile) -> Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.start);
        let kept = usize::try_from(length).unwrap_or(usize::MAX).min(bytes.len());
        self.start = bytes.split_off(kept);
        let rest = length - bytes.len() as u64;
        if rest > 0 {
            (&mut self.bytes).take(rest).read_to_end(&mut bytes).map_err(|e| decompress::failure(file, e))?;
        }
        Ok(bytes)
    }

    fn exactly(&mut self, length: u64, file: &InputFile) -> Result<Vec<u8>> {
        let bytes = self.read(length, file)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(cut_off(file, "it ends inside a message")) }
    }

    /// `None` at the mark of the end.
    fn next(&mut self, file: &InputFile) -> Result<Option<Message>> {
        let word = |stream: &mut Self| {
            let bytes = stream.read(4, file)?;
            match bytes.first_chunk::<4>() {
                Some(word) => Ok(i32::from_le_bytes(*word)),
                None => Err(cut_off(file, "it has no mark of its end")),
            }
        };
        let mut length = word(self)?;
        if length == -1 {
            length = word(self)?;
        }
        if length == 0 {
            return if self.read(1, file)?.is_empty() { Ok(None) } else { Err(goes_on(file)) };
        }
        let length = u64::try_from(length).ok().filter(|length| *length <= METADATA_BYTES).ok_or_else(|| corrupt(file))?;
        let metadata = self.exactly(length, file)?;
        let body = u64::try_from(root_as_message(&metadata).map_err(|_| corrupt(file))?.bodyLength()).map_err(|_| corrupt(file))?;
        if body > BODY_BYTES {
            return Err(too_large(file).into());
        }
        let body = self.exactly(body, file)?;
        // Copied: buffers must be aligned.
        Message::new(metadata, Buffer::from(body.as_slice()), file).map(Some)
    }
}

fn goes_on(file: &InputFile) -> Error {
    Failure::new(Culprit::Data, "corrupt-input", format!("{} goes on after the end of its stream", file.label))
        .help("Put one stream into one file: what stands behind the first would not be read")
        .into()
}

/// The schema as the decoder takes it: text as bytes.
fn for_reading(schema: &SchemaRef) -> SchemaRef {
    Arc::new(ArrowSchema::new(as_bytes(schema.fields())))
}

/// Where a message stands in a file.
struct Block {
    metadata: Range<u64>,
    body: Range<u64>,
}

impl Block {
    fn new(block: &arrow::ipc::Block, size: u64) -> Option<Self> {
        let start = u64::try_from(block.offset()).ok()?;
        let middle = start.checked_add(u64::try_from(block.metaDataLength()).ok()?)?;
        let end = middle.checked_add(u64::try_from(block.bodyLength()).ok()?)?;
        (end <= size && middle - start <= METADATA_BYTES && middle - start >= 8).then_some(Self { metadata: start..middle, body: middle..end })
    }

    fn bytes(&self) -> u64 {
        self.body.end - self.metadata.start
    }
}

/// The bytes of a message without what says how long they are.
fn unframed(bytes: &[u8], file: &InputFile) -> Result<Vec<u8>> {
    let (first, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| corrupt(file))?;
    let (length, rest) = match (i32::from_le_bytes(*first), rest.split_first_chunk::<4>()) {
        (-1, Some((length, rest))) => (i32::from_le_bytes(*length), rest),
        (length, _) => (length, rest),
    };
    let length = usize::try_from(length).map_err(|_| corrupt(file))?;
    Ok(rest.get(..length).ok_or_else(|| corrupt(file))?.to_vec())
}

struct OpenedFile {
    ranges: Ranges,
    schema: SchemaRef,
    reading: SchemaRef,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl OpenedFile {
    fn open(ranges: Ranges, file: &InputFile) -> Result<Self> {
        let size = ranges.size_bytes();
        let no_footer = || cut_off(file, "it has no footer");
        let end = size.checked_sub(10).filter(|end| *end >= 8).ok_or_else(no_footer)?;
        let tail = ranges.read(end..size)?;
        let (length, magic) = tail.split_first_chunk::<4>().ok_or_else(no_footer)?;
        if magic != MAGIC {
            return Err(no_footer());
        }
        let length = u64::try_from(i32::from_le_bytes(*length)).ok().filter(|l| *l <= METADATA_BYTES).ok_or_else(|| corrupt(file))?;
        let start = end.checked_sub(length).filter(|start| *start >= 8).ok_or_else(|| corrupt(file))?;
        let bytes = ranges.read(start..end)?.to_vec();
        let footer = root_as_footer(&bytes).map_err(|_| corrupt(file))?;
        let schema = schema_of(footer.schema().ok_or_else(|| corrupt(file))?, file)?;
        let block = |block: &arrow::ipc::Block| Block::new(block, start).ok_or_else(|| Error::from(corrupt(file)));
        let dictionaries = footer.dictionaries().iter().flatten().map(block).collect::<Result<Vec<_>>>()?;
        let batches = footer.recordBatches().iter().flatten().map(block).collect::<Result<Vec<_>>>()?;
        Ok(Self { reading: for_reading(&schema), schema, ranges, dictionaries, batches })
    }

    fn message(&self, block: &Block, file: &InputFile) -> Result<Message> {
        if block.body.end - block.body.start > BODY_BYTES {
            return Err(too_large(file).into());
        }
        let mut bytes = self.ranges.read_many(&[block.metadata.clone(), block.body.clone()])?.into_iter();
        let (metadata, body) = (bytes.next().unwrap_or_default(), bytes.next().unwrap_or_default());
        let metadata = unframed(&metadata, file)?;
        let declared = root_as_message(&metadata).map_err(|_| corrupt(file))?.bodyLength();
        if u64::try_from(declared).ok().is_none_or(|declared| declared > body.len() as u64) {
            return Err(corrupt(file).into());
        }
        Message::new(metadata, Buffer::from(body.as_ref()), file)
    }

    /// Ranges of batches of about a unit's length; the rows of each batch are in its metadata.
    fn cut(&self, file: &InputFile) -> Result<Vec<Part>> {
        let (mut parts, mut start, mut first_record, mut row, mut bytes) = (Vec::new(), 0, 0u64, 0u64, 0u64);
        let mut index = 0;
        for some in self.batches.chunks(64) {
            let ranges: Vec<Range<u64>> = some.iter().map(|block| block.metadata.clone()).collect();
            for (block, metadata) in some.iter().zip(self.ranges.read_many(&ranges)?) {
                let metadata = unframed(&metadata, file)?;
                let message = root_as_message(&metadata).map_err(|_| corrupt(file))?;
                let rows = message.header_as_record_batch().map(|batch| batch.length()).ok_or_else(|| corrupt(file))?;
                row = row.saturating_add(u64::try_from(rows).map_err(|_| corrupt(file))?);
                bytes = bytes.saturating_add(block.bytes());
                index += 1;
                if bytes >= UNIT_BYTES || index == self.batches.len() {
                    parts.push(Part::RowGroups { start, end: index, first_record });
                    (start, first_record, bytes) = (index, row, 0);
                }
            }
        }
        Ok(if parts.is_empty() { vec![Part::Whole] } else { parts })
    }
}
