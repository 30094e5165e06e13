//! The three protocol buffer messages of the format (google/array_record, `cpp/layout.proto`), written and read by hand.
use crate::Fault;
use crate::layout::{put_varint, take_varint, varint_bytes};

/// What the postscript must hold.
pub(crate) const MAGIC: u64 = 0x7193_0e70_4fda_e05e;
/// The only version there is.
pub(crate) const VERSION: u64 = 1;

const VARINT: u64 = 0;
const LENGTH: u64 = 2;

fn put_field(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3 | VARINT);
    put_varint(out, value);
}

/// One field of a message.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A fixed-width field: none of ours, skipped.
    Other,
}

/// Calls `found` for every field; unknown ones are for it to ignore, as protocol buffers ask.
fn fields<'a>(mut message: &'a [u8], mut found: impl FnMut(u64, Field<'a>)) -> Option<()> {
    while !message.is_empty() {
        // Field numbers begin at 1, and a tag has 32 bits.
        let tag = take_varint(&mut message).filter(|tag| (8..=u64::from(u32::MAX)).contains(tag))?;
        let mut take = |n: usize| {
            let (part, rest) = message.split_at_checked(n)?;
            message = rest;
            Some(part)
        };
        let field = match tag & 7 {
            VARINT => Field::Number(take_varint(&mut message)?),
            1 => take(8).map(|_| Field::Other)?,
            5 => take(4).map(|_| Field::Other)?,
            LENGTH => {
                let n = usize::try_from(take_varint(&mut message)?).ok()?;
                let (part, rest) = message.split_at_checked(n)?;
                message = rest;
                Field::Bytes(part)
            }
            _ => return None,
        };
        found(tag >> 3, field);
    }
    Some(())
}

/// `ArrayRecordFooter`: where one data chunk begins and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset_bytes: u64,
    pub(crate) decoded_bytes: u64,
    pub(crate) records: u64,
}

impl Entry {
    pub(crate) fn encoded_bytes(&self) -> usize {
        3 + varint_bytes(self.offset_bytes) + varint_bytes(self.decoded_bytes) + varint_bytes(self.records)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_field(out, 1, self.offset_bytes);
        put_field(out, 2, self.decoded_bytes);
        put_field(out, 3, self.records);
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Self, Fault> {
        let (mut offset, mut decoded, mut records) = (None, None, None);
        fields(message, |field, value| {
            if let Field::Number(value) = value {
                match field {
                    1 => offset = Some(value),
                    2 => decoded = Some(value),
                    3 => records = Some(value),
                    _ => {}
                }
            }
        })
        .ok_or(Fault::Footer("an entry is not a protocol buffer message"))?;
        match (offset, decoded, records) {
            (Some(offset_bytes), Some(decoded_bytes), Some(records)) => Ok(Self { offset_bytes, decoded_bytes, records }),
            _ => Err(Fault::Footer("an entry lacks offset, size or number of records")),
        }
    }
}

/// `RiegeliFooterMetadata`, the first record of the footer chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) chunks: u64,
    pub(crate) records: u64,
    pub(crate) writer_options: Option<String>,
}

impl Metadata {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut inner = Vec::new();
        put_field(&mut inner, 1, VERSION);
        put_field(&mut inner, 2, self.chunks);
        put_field(&mut inner, 3, self.records);
        if let Some(options) = &self.writer_options {
            put_varint(&mut inner, 4 << 3 | LENGTH);
            put_varint(&mut inner, options.len() as u64);
            inner.extend_from_slice(options.as_bytes());
        }
        let mut out = Vec::with_capacity(inner.len() + 4);
        put_varint(&mut out, 1 << 3 | LENGTH);
        put_varint(&mut out, inner.len() as u64);
        out.extend_from_slice(&inner);
        out
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Self, Fault> {
        const WRONG: Fault = Fault::Footer("its metadata is not a protocol buffer message");
        let mut inner = None;
        fields(message, |field, value| {
            if let (1, Field::Bytes(bytes)) = (field, value) {
                inner = Some(bytes);
            }
        })
        .ok_or(WRONG)?;
        let inner = inner.ok_or(Fault::Footer("its metadata is not that of an ArrayRecord file"))?;
        let (mut version, mut chunks, mut records, mut options) = (0, 0, 0, None);
        fields(inner, |field, value| match (field, value) {
            (1, Field::Number(value)) => version = value,
            (2, Field::Number(value)) => chunks = value,
            (3, Field::Number(value)) => records = value,
            (4, Field::Bytes(bytes)) => options = Some(bytes),
            _ => {}
        })
        .ok_or(WRONG)?;
        if version != VERSION {
            return Err(Fault::Version(version));
        }
        let writer_options = options.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Self { chunks, records, writer_options })
    }
}

/// `RiegeliPostscript`: where the footer chunk begins.
pub(crate) struct Postscript;

impl Postscript {
    pub(crate) fn encode(footer_offset_bytes: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_field(&mut out, 1, footer_offset_bytes);
        put_field(&mut out, 2, MAGIC);
        out
    }

    pub(crate) fn decode(message: &[u8]) -> Result<u64, Fault> {
        let (mut offset, mut magic) = (None, None);
        fields(message, |field, value| match (field, value) {
            (1, Field::Number(value)) => offset = Some(value),
            (2, Field::Number(value)) => magic = Some(value),
            _ => {}
        })
        .ok_or(Fault::Postscript("not a protocol buffer message"))?;
        if magic != Some(MAGIC) {
            return Err(Fault::Postscript("wrong magic number"));
        }
        offset.ok_or(Fault::Postscript("no footer offset"))
    }
}
