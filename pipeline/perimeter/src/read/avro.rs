//! Avro object container files: blocks of records in, checked batches out.
//!
//! The framing is our own: arrow-avro does not hold a block's marker against the file's, takes the end of the bytes inside a block for the end of the file, and
//! loses or repeats what a wrong count leaves over. Here a block is decompressed within bounds, its marker and (Snappy) checksum hold, and the decoder gets all
//! of it as one array: it must give exactly as many records as the block declares from exactly its bytes. Records stand in row order over the file.
//! A file that ends between two blocks is whole, as far as anybody can tell. Source: the Avro 1.12 specification, "Object Container Files".
//!
//! Text is decoded as bytes, which it is on the wire, so that one cell that is no UTF-8 costs its row and not the block.
use super::columns::{Layout, Wanted};
use super::emit::Emit;
use super::partitions::Partitions;
use super::{Ingest, InputFile, Part, PlannedFile, UNIT_BYTES, corrupt, decompress, truncated};
use crate::error::{Culprit, Error, Failure, Result};
use crate::store::{Ranges, Stores};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType as ArrowType, Fields};
use arrow_avro::reader::{Decoder, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use perimeter_contract::job::Source;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8] = b"Obj\x01";
/// Of a file's header.
const HEADER_BYTES: u64 = 16 << 20;
/// Of a block, as it stands in the file and decompressed.
const BLOCK_BYTES: u64 = 256 << 20;
/// Types of a schema, each counted as often as it is used.
const SCHEMA_NODES: usize = 10_000;
/// The name of the record around a block, which the decoder takes for one record with one array.
const BLOCK: &str = "perimeter_block_";
/// Confluent's framing in front of it: a zero and the number of the schema, which is 0.
const PREFIX: [u8; 5] = [0; 5];

/// Holds the file's schema against the contract; a large local file is cut between blocks.
pub(super) fn plan(stores: &Stores, source: &Source, partitions: &Partitions, file: &InputFile) -> Result<PlannedFile> {
    let mut opened = Opened::open(stores, file, &Part::Whole)?;
    let layout = opened.layout(source, partitions, file)?;
    let cuttable = file.size_bytes >= 2 * UNIT_BYTES && file.etag.is_none() && decompress::of(file)? == decompress::Compression::None;
    let parts = if cuttable { cut(&stores.ranges(file)?, opened.input.at, &opened.sync, file)? } else { vec![Part::Whole] };
    Ok(PlannedFile { parts, added: layout.added })
}

/// The file's columns.
pub(super) fn fields(stores: &Stores, file: &InputFile) -> Result<Fields> {
    Ok(Opened::open(stores, file, &Part::Whole)?.fields)
}

/// Reads one unit.
pub(super) fn ingest(ingest: &Ingest<'_>, partitions: &Partitions, file: &InputFile, part: &Part, emit: &mut Emit<'_>) -> Result<()> {
    let mut opened = Opened::open(ingest.stores, file, part)?;
    let layout = opened.layout(ingest.source, partitions, file)?;
    let wanted = layout.wanted(emit, ingest.projection);
    let mut row = if let Part::Bytes { first_record, .. } = part { *first_record } else { 0 };
    if let Part::Bytes { start, .. } = part {
        emit.bytes_read = opened.input.taken.load(Ordering::Relaxed);
        let stored = decompress::open(ingest.stores, file, part)?;
        opened.input = Input { bytes: stored.bytes, taken: stored.taken, at: *start };
    }
    while let Some(batch) = opened.next(&wanted, file)? {
        layout.emit(&wanted, &batch, ingest.batch_rows, &mut row, file, emit)?;
    }
    emit.bytes_read = emit.bytes_read.saturating_add(opened.input.taken.load(Ordering::Relaxed));
    Ok(())
}

fn cut_off(file: &InputFile) -> Error {
    Failure { message: format!("{} is cut off: it ends inside a block", file.label), ..truncated(file) }.into()
}

fn too_large(file: &InputFile) -> Failure {
    Failure::new(Culprit::Data, "batch-too-large", format!("{} has a header or block of more than {} MiB", file.label, BLOCK_BYTES >> 20))
        .help("Write it in smaller blocks")
}

/// Bytes as they come, and how many were taken.
struct Input {
    bytes: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    at: u64,
}

impl Input {
    /// So many bytes, fewer at the end. Memory follows what is there, not what a length says.
    fn read(&mut self, length: u64, file: &InputFile) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.bytes).take(length).read_to_end(&mut bytes).map_err(|e| decompress::failure(file, e))?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(bytes)
    }

    fn exactly(&mut self, length: u64, file: &InputFile) -> Result<Vec<u8>> {
        let bytes = self.read(length, file)?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(cut_off(file)) }
    }

    /// A variable-length zigzag number; `None` when there is nothing at all.
    fn long(&mut self, file: &InputFile) -> Result<Option<i64>> {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let bytes = self.read(1, file)?;
            let Some(byte) = bytes.first() else { return if shift == 0 { Ok(None) } else { Err(cut_off(file)) } };
            // Nine bytes of seven bits, and one bit more.
            if shift == 63 && *byte > 1 {
                return Err(corrupt(file).into());
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(Some(unzigzag(number)));
            }
            shift += 7;
        }
    }

    fn length(&mut self, most: u64, file: &InputFile) -> Result<u64> {
        let length = self.long(file)?.ok_or_else(|| cut_off(file))?;
        let length = u64::try_from(length).map_err(|_| corrupt(file))?;
        if length > most { Err(too_large(file).into()) } else { Ok(length) }
    }
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn zigzag(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    None,
    Deflate,
    Snappy,
    Zstandard,
    Bzip2,
    Xz,
}

struct Opened {
    input: Input,
    sync: [u8; 16],
    codec: Codec,
    decoder: Decoder,
    fields: Fields,
}

impl Opened {
    /// Reads the header, which stands at the start of the file whatever the part.
    fn open(stores: &Stores, file: &InputFile, _: &Part) -> Result<Self> {
        let opened = decompress::open(stores, file, &Part::Whole)?;
        let mut input = Input { bytes: Box::new(std::io::BufReader::with_capacity(1 << 17, opened.bytes)), taken: opened.taken, at: 0 };
        let magic = input.read(MAGIC.len() as u64, file)?;
        if magic.is_empty() {
            return Err(decompress::empty(file));
        }
        if magic != MAGIC {
            let message = format!("{} is not an Avro object container file", file.label);
            return Err(Failure::new(Culprit::File, "format-mismatch", message).help("Set the source's `format` to what the file is").into());
        }
        let mut metadata: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        loop {
            let mut pairs = input.long(file)?.ok_or_else(|| cut_off(file))?;
            if pairs == 0 {
                break;
            }
            if pairs < 0 {
                input.length(HEADER_BYTES, file)?;
                pairs = pairs.checked_neg().ok_or_else(|| corrupt(file))?;
            }
            for _ in 0..pairs {
                let length = input.length(HEADER_BYTES, file)?;
                let key = input.exactly(length, file)?;
                let length = input.length(HEADER_BYTES, file)?;
                let value = input.exactly(length, file)?;
                if input.at > HEADER_BYTES || metadata.insert(key, value).is_some() {
                    return Err(corrupt(file).into());
                }
            }
        }
        let sync = *input.exactly(16, file)?.first_chunk::<16>().ok_or_else(|| corrupt(file))?;
        let codec = match metadata.get(b"avro.codec".as_slice()).map(Vec::as_slice) {
            None | Some(b"null" | b"") => Codec::None,
            Some(b"deflate") => Codec::Deflate,
            Some(b"snappy") => Codec::Snappy,
            Some(b"zstandard") => Codec::Zstandard,
            Some(b"bzip2") => Codec::Bzip2,
            Some(b"xz") => Codec::Xz,
            Some(_) => {
                let message = format!("{} has blocks that are compressed in a way that is not read", file.label);
                let help = "Write it with deflate, snappy, zstandard, bzip2, xz or without compression";
                return Err(Failure::new(Culprit::File, "unsupported-compression", message).help(help).into());
            }
        };
        let schema = metadata.get(b"avro.schema".as_slice()).ok_or_else(|| corrupt(file))?;
        let schema: Value = serde_json::from_slice(schema).map_err(|_| corrupt(file))?;
        let unsupported = |why: &str| {
            Failure::new(Culprit::File, "unsupported-schema", format!("{} has an Avro schema that is not read: {why}", file.label))
                .help("Write the file with another schema: a record of plain values, arrays and records")
        };
        let mut rewriting = Rewriting { sizes: HashMap::new(), fault: None };
        let (record, _) = rewriting.type_of(&schema, "", 0);
        if let Some(fault) = rewriting.fault {
            return Err(unsupported(fault).into());
        }
        let block = serde_json::json!({
            "type": "record", "name": BLOCK, "fields": [{"name": "rows", "type": {"type": "array", "items": record}}]
        });
        let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
        // What arrow-avro says quotes the schema, and no data; it is not for people all the same.
        let refused = |_| unsupported("it has a type that is not known, or a name that is not defined");
        store.set(Fingerprint::Id(0), AvroSchema::new(block.to_string())).map_err(refused)?;
        let decoder = ReaderBuilder::new().with_batch_size(1).with_writer_schema_store(store).build_decoder().map_err(refused)?;
        let fields = match decoder.schema().fields().first().map(|f| f.data_type()) {
            Some(ArrowType::List(item)) => match item.data_type() {
                ArrowType::Struct(fields) if !item.is_nullable() => fields.clone(),
                _ => return Err(unsupported("its records are no records").into()),
            },
            _ => return Err(corrupt(file).into()),
        };
        Ok(Self { input, sync, codec, decoder, fields })
    }

    fn layout(&mut self, source: &Source, partitions: &Partitions, file: &InputFile) -> Result<Layout> {
        Layout::of(source, file, &self.fields, &|column| partitions.has(column))
    }

    /// The wanted fields of the next block that has records.
    fn next(&mut self, wanted: &Wanted, file: &InputFile) -> Result<Option<RecordBatch>> {
        loop {
            let Some(count) = self.input.long(file)? else { return Ok(None) };
            let count = u64::try_from(count).map_err(|_| corrupt(file))?;
            let length = self.input.length(BLOCK_BYTES, file)?;
            let stored = self.input.exactly(length, file)?;
            if self.input.exactly(16, file)? != self.sync {
                return Err(corrupt(file).into());
            }
            let bytes = self.decompressed(stored, file)?;
            // A record of at least one column takes at least one byte; without the bound, one of nothing could be there a billion times.
            if count > bytes.len() as u64 {
                return Err(corrupt(file).into());
            }
            let rows = self.rows(count, &bytes, wanted, file)?;
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
    }

    /// Decodes a block as one array.
    fn rows(&mut self, count: u64, bytes: &[u8], wanted: &Wanted, file: &InputFile) -> Result<RecordBatch> {
        let mut array = Vec::with_capacity(bytes.len() + 16);
        if count > 0 {
            zigzag(i64::try_from(count).map_err(|_| corrupt(file))?, &mut array);
        }
        array.extend_from_slice(bytes);
        array.push(0);
        let damaged = |_| corrupt(file);
        let framed = self.decoder.decode(&PREFIX).map_err(damaged)?;
        let taken = self.decoder.decode(&array).map_err(damaged)?;
        let batch = self.decoder.flush().map_err(damaged)?.ok_or_else(|| corrupt(file))?;
        let lists = batch.columns().first().and_then(|rows| rows.as_list_opt::<i32>()).ok_or_else(|| corrupt(file))?;
        let records = lists.values().as_struct_opt().ok_or_else(|| corrupt(file))?;
        if framed != PREFIX.len() || taken != array.len() || lists.len() != 1 || records.len() as u64 != count || records.null_count() > 0 {
            return Err(corrupt(file).into());
        }
        RecordBatch::from(records.clone()).project(&wanted.roots).map_err(|_| corrupt(file).into())
    }

    fn decompressed(&self, stored: Vec<u8>, file: &InputFile) -> Result<Vec<u8>> {
        let read = |decoder: &mut dyn Read| {
            let mut bytes = Vec::new();
            decoder.take(BLOCK_BYTES + 1).read_to_end(&mut bytes).map_err(|_| corrupt(file))?;
            if bytes.len() as u64 > BLOCK_BYTES { Err(Error::from(too_large(file))) } else { Ok(bytes) }
        };
        match self.codec {
            Codec::None => Ok(stored),
            Codec::Deflate => read(&mut flate2::read::DeflateDecoder::new(stored.as_slice())),
            Codec::Zstandard => read(&mut zstd::stream::read::Decoder::new(stored.as_slice()).map_err(|_| corrupt(file))?),
            Codec::Bzip2 => read(&mut bzip2::read::MultiBzDecoder::new(stored.as_slice())),
            Codec::Xz => read(&mut liblzma::read::XzDecoder::new_multi_decoder(stored.as_slice())),
            Codec::Snappy => {
                let (packed, checksum) = stored.split_last_chunk::<4>().ok_or_else(|| corrupt(file))?;
                if snap::raw::decompress_len(packed).map_err(|_| corrupt(file))? as u64 > BLOCK_BYTES {
                    return Err(too_large(file).into());
                }
                let bytes = snap::raw::Decoder::new().decompress_vec(packed).map_err(|_| corrupt(file))?;
                let mut sum = flate2::Crc::new();
                sum.update(&bytes);
                if sum.sum() == u32::from_be_bytes(*checksum) { Ok(bytes) } else { Err(corrupt(file).into()) }
            }
        }
    }
}

/// Ranges of whole blocks of about a unit's length. Only the blocks' heads and ends are read.
fn cut(ranges: &Ranges, first: u64, sync: &[u8; 16], file: &InputFile) -> Result<Vec<Part>> {
    let size = ranges.size_bytes();
    let (mut parts, mut start, mut first_record, mut row, mut at) = (Vec::new(), first, 0u64, 0u64, first);
    while at < size {
        let head = ranges.read(at..at.saturating_add(20).min(size))?;
        let held = Box::new(std::io::Cursor::new(head));
        let mut input = Input { bytes: held, taken: Arc::default(), at: 0 };
        let count = input.long(file)?.and_then(|count| u64::try_from(count).ok()).ok_or_else(|| corrupt(file))?;
        let length = input.length(BLOCK_BYTES, file)?;
        let end = at.saturating_add(input.at).saturating_add(length);
        let next = end.saturating_add(16);
        if next > size {
            return Err(cut_off(file));
        }
        if ranges.read(end..next)?.as_ref() != sync {
            return Err(corrupt(file).into());
        }
        row = row.saturating_add(count);
        at = next;
        if at - start >= UNIT_BYTES || at == size {
            parts.push(Part::Bytes { start, end: at, first_record });
            (start, first_record) = (at, row);
        }
    }
    Ok(if parts.is_empty() { vec![Part::Whole] } else { parts })
}

/// The writer's schema with bytes for text. What stands in a schema only for people and for other readers is left out.
struct Rewriting {
    /// Types under each name so far.
    sizes: HashMap<String, (usize, bool)>,
    fault: Option<&'static str>,
}

impl Rewriting {
    /// The type, how many types it is made of, and whether a value can take no bytes at all.
    fn sized(&mut self, schema: &Value, namespace: &str, depth: usize) -> (Value, usize, bool) {
        let fail = |rewriting: &mut Self, fault| {
            rewriting.fault.get_or_insert(fault);
            (Value::Null, 1, false)
        };
        if depth > 64 {
            return fail(self, "it is nested too deeply");
        }
        match schema {
            Value::String(name) => match name.as_str() {
                "string" => (Value::String("bytes".to_owned()), 1, false),
                "null" => (schema.clone(), 1, true),
                "boolean" | "int" | "long" | "float" | "double" | "bytes" => (schema.clone(), 1, false),
                name => match self.sizes.get(&full_name(name, namespace)).or_else(|| self.sizes.get(name)) {
                    Some((size, empty)) => (schema.clone(), *size, *empty),
                    None => fail(self, "a type is used inside itself, or before it is defined"),
                },
            },
            Value::Array(branches) => {
                let (mut all, mut size) = (Vec::with_capacity(branches.len()), 1usize);
                // A union holds a type once: beside bytes, text stays text.
                let bytes = branches.iter().any(|branch| is_plain(branch, "bytes"));
                for branch in branches {
                    if bytes && is_plain(branch, "string") {
                        all.push(Value::String("string".to_owned()));
                        continue;
                    }
                    let (branch, inside, _) = self.sized(branch, namespace, depth + 1);
                    all.push(branch);
                    size = size.saturating_add(inside);
                }
                self.bounded(size);
                (Value::Array(all), size, false)
            }
            Value::Object(object) => {
                let Some(kind) = object.get("type") else { return fail(self, "a type is missing") };
                let Value::String(kind) = kind else { return self.sized(kind, namespace, depth + 1) };
                let mut object = object.clone();
                for word in ["doc", "default", "aliases", "order"] {
                    object.remove(word);
                }
                let named = matches!(kind.as_str(), "record" | "error" | "enum" | "fixed");
                let name = object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                let own = object.get("namespace").and_then(Value::as_str).map(str::to_owned);
                let full = full_name(&name, own.as_deref().unwrap_or(namespace));
                if named && (name.is_empty() || full == BLOCK || self.sizes.contains_key(&full)) {
                    return fail(self, "a name is missing or defined twice");
                }
                let (size, empty) = match kind.as_str() {
                    "record" | "error" => {
                        let inside = full.rsplit_once('.').map_or(String::new(), |(namespace, _)| namespace.to_owned());
                        let Some(Value::Array(fields)) = object.get("fields").cloned() else { return fail(self, "a record has no fields") };
                        let (mut renewed, mut size, mut empty) = (Vec::with_capacity(fields.len()), 1usize, true);
                        for field in fields {
                            let (Some(name), Some(of)) = (field.get("name").and_then(Value::as_str), field.get("type")) else {
                                return fail(self, "a field has no name or no type");
                            };
                            let (of, within, nothing) = self.sized(of, &inside, depth + 1);
                            renewed.push(serde_json::json!({"name": name, "type": of}));
                            size = size.saturating_add(within);
                            empty &= nothing;
                        }
                        object.insert("fields".to_owned(), Value::Array(renewed));
                        object.insert("type".to_owned(), Value::String("record".to_owned()));
                        (size, empty)
                    }
                    "array" | "map" => {
                        let word = if kind == "array" { "items" } else { "values" };
                        let Some(item) = object.get(word).cloned() else { return fail(self, "an array has no items, or a map no values") };
                        let (item, size, empty) = self.sized(&item, namespace, depth + 1);
                        if empty {
                            return fail(self, "the items of an array are nothing");
                        }
                        object.insert(word.to_owned(), item);
                        (size.saturating_add(1), false)
                    }
                    "enum" => (1, false),
                    "fixed" => (1, object.get("size").and_then(Value::as_u64) == Some(0)),
                    "string" => return (Value::String("bytes".to_owned()), 1, false),
                    "null" => (1, true),
                    "boolean" | "int" | "long" | "float" | "double" | "bytes" => (1, false),
                    _ => return self.sized(&Value::String(kind.clone()), namespace, depth + 1),
                };
                self.bounded(size);
                if named {
                    self.sizes.insert(full, (size, empty));
                }
                (Value::Object(object), size, empty)
            }
            _ => fail(self, "a type is missing"),
        }
    }

    fn type_of(&mut self, schema: &Value, namespace: &str, depth: usize) -> (Value, usize) {
        let (schema, size, _) = self.sized(schema, namespace, depth);
        (schema, size)
    }

    fn bounded(&mut self, size: usize) {
        if size > SCHEMA_NODES {
            self.fault.get_or_insert("it is too large");
        }
    }
}

/// Whether the type is this one, with or without words about it.
fn is_plain(schema: &Value, name: &str) -> bool {
    schema == name || schema.get("type").is_some_and(|kind| kind == name)
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}
