//! `tf.train.Example` bytes, written by hand: three nested messages and one map need no code generator.
//!
//! [`Encoder`] writes what `SerializeToString(deterministic=True)` of the official message would: features in byte order of their names, lists packed (where
//! one name begins another, C++ puts the shorter first, as we do; Python's upb the longer). It measures first and writes once, so a record costs no allocation. [`fields`] reads the same bytes back, for the recount when a dataset is sealed.
//! Source: `tensorflow/core/example/{example,feature}.proto`, and the Protocol Buffers encoding guide.

/// `Feature`'s three kinds are fields 1 to 3 of a oneof; each holds one message whose only field is `repeated value = 1`.
const BYTES_LIST: u8 = 0x0a;
const FLOAT_LIST: u8 = 0x12;
const INT64_LIST: u8 = 0x1a;
/// Field 1, length-delimited: `Example.features`, `Features.feature`, a map entry's key, and the values of every list.
const FIRST: u8 = 0x0a;
/// Field 2, length-delimited: a map entry's value.
const SECOND: u8 = 0x12;

/// What one feature of one record holds.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// A float list, padded at the end with zeros.
    Floats(&'a [f32]),
    /// An int64 list, padded at the end with zeros.
    Ints(&'a [i64]),
    /// An int64 list of one value, never padded.
    Int(i64),
    /// A bytes list of one value, never padded.
    Bytes(&'a [u8]),
    /// A bytes list of one value: elements of two little-endian bytes, padded at the end with zeros.
    Halves(&'a [u8]),
}

impl Values<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Floats(_) => FLOAT_LIST,
            Self::Ints(_) | Self::Int(_) => INT64_LIST,
            Self::Bytes(_) | Self::Halves(_) => BYTES_LIST,
        }
    }

    /// Bytes of the list's values.
    fn payload_bytes(&self, padded: usize) -> usize {
        match self {
            Self::Floats(values) => 4 * values.len().max(padded),
            Self::Ints(values) => values.iter().map(|&value| varint_bytes(value.cast_unsigned())).sum::<usize>() + padded.saturating_sub(values.len()),
            Self::Int(value) => varint_bytes(value.cast_unsigned()),
            Self::Bytes(value) => value.len(),
            Self::Halves(values) => values.len().max(2 * padded),
        }
    }
}

/// Writes Examples of one fixed set of features.
pub struct Encoder {
    /// Per feature: the map key with its tag and length.
    keys: Vec<Vec<u8>>,
    /// Per feature: payload bytes of the record at hand.
    payloads: Vec<usize>,
    out: Vec<u8>,
}

impl Encoder {
    /// `names` in the order in which [`Encoder::encode`] asks for values: ascending, without duplicates.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let keys: Vec<Vec<u8>> = names
            .into_iter()
            .map(|name| {
                let mut key = vec![FIRST];
                push_varint(&mut key, name.len());
                key.extend_from_slice(name.as_bytes());
                key
            })
            .collect();
        debug_assert!(keys.windows(2).all(|pair| pair[0][2..] < pair[1][2..] || pair[0].len() > 129 || pair[1].len() > 129), "names ascend");
        Self { payloads: vec![0; keys.len()], keys, out: Vec::new() }
    }

    /// One record: `values` gives what the n-th feature holds; its list is padded to `padded` of them. The bytes live until the next call.
    pub fn encode<'v>(&mut self, padded: impl Fn(usize) -> usize, values: impl Fn(usize) -> Values<'v>) -> &[u8] {
        let mut features_bytes = 0;
        for (index, (key, payload)) in self.keys.iter().zip(&mut self.payloads).enumerate() {
            *payload = values(index).payload_bytes(padded(index));
            features_bytes += field_bytes(entry_bytes(key, *payload));
        }
        let out = &mut self.out;
        out.clear();
        out.reserve(field_bytes(features_bytes));
        out.push(FIRST);
        push_varint(out, features_bytes);
        for (index, (key, &payload)) in self.keys.iter().zip(&self.payloads).enumerate() {
            let values = values(index);
            out.push(FIRST);
            push_varint(out, entry_bytes(key, payload));
            out.extend_from_slice(key);
            out.push(SECOND);
            push_varint(out, field_bytes(field_bytes(payload)));
            out.push(values.kind());
            push_varint(out, field_bytes(payload));
            out.push(FIRST);
            push_varint(out, payload);
            // Zeros first: what the values leave is the padding (a float zero is four zero bytes, a varint zero is one).
            let start = out.len();
            out.resize(start + payload, 0);
            let place = &mut out[start..];
            match values {
                Values::Floats(values) => {
                    for (four, value) in place.chunks_exact_mut(4).zip(values) {
                        four.copy_from_slice(&value.to_le_bytes());
                    }
                }
                Values::Ints(values) => {
                    let mut at = 0;
                    for &value in values {
                        at += put_varint(&mut place[at..], value.cast_unsigned());
                    }
                }
                Values::Int(value) => {
                    put_varint(place, value.cast_unsigned());
                }
                Values::Bytes(value) => place.copy_from_slice(value),
                Values::Halves(values) => place[..values.len()].copy_from_slice(values),
            }
        }
        out
    }
}

/// A field of `bytes` bytes with tag and length.
fn field_bytes(bytes: usize) -> usize {
    1 + varint_bytes(bytes as u64) + bytes
}

/// A map entry without its own tag and length: key, then `Feature { list { values } }`.
fn entry_bytes(key: &[u8], payload: usize) -> usize {
    key.len() + field_bytes(field_bytes(field_bytes(payload)))
}

fn varint_bytes(value: u64) -> usize {
    // Seven bits a byte, at least one byte; (9 b + 64) / 64 is ceil(b / 7) for b in 1..=64.
    (((64 - (value | 1).leading_zeros()) * 9 + 64) / 64) as usize
}

fn push_varint(out: &mut Vec<u8>, value: usize) {
    let mut bytes = [0; 10];
    let length = put_varint(&mut bytes, value as u64);
    out.extend_from_slice(&bytes[..length]);
}

/// Writes to the front of `out`, which has room, and says how many bytes.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what a varint byte takes")]
fn put_varint(out: &mut [u8], mut value: u64) -> usize {
    let mut at = 0;
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// The type of a feature's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `BytesList`.
    Bytes,
    /// `FloatList`.
    Float,
    /// `Int64List`.
    Int64,
}

/// One feature of a record: where its values are, not what they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The feature's name.
    pub name: &'a str,
    /// Its type; `None` when the oneof is not set.
    pub kind: Option<ListKind>,
    /// Values in the list.
    pub values: usize,
    /// The only value of an int64 list of one.
    pub scalar: Option<i64>,
    /// Bytes of the last value of a bytes list.
    pub bytes: usize,
}

/// The bytes are not a well-formed `tf.train.Example`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a tf.train.Example")]
pub struct Malformed;

/// The features of an encoded Example in file order; see [`each_field`].
///
/// # Errors
/// [`Malformed`].
pub fn fields(example: &[u8]) -> Result<Vec<Field<'_>>, Malformed> {
    let mut out = Vec::new();
    each_field(example, |field| out.push(field))?;
    Ok(out)
}

/// Shows each feature of an encoded Example in file order, read strictly: unknown fields, a list of an unexpected wire type, or torn bytes are [`Malformed`].
/// Takes packed and unpacked lists.
///
/// # Errors
/// [`Malformed`], after the fields before it were shown.
pub fn each_field<'a>(example: &'a [u8], mut show: impl FnMut(Field<'a>)) -> Result<(), Malformed> {
    let mut example = Cursor(example);
    while let Some((tag, mut features)) = example.delimited()? {
        if tag != FIRST {
            return Err(Malformed);
        }
        while let Some((tag, mut entry)) = features.delimited()? {
            if tag != FIRST {
                return Err(Malformed);
            }
            let (mut name, mut field) = ("", Field { name: "", kind: None, values: 0, scalar: None, bytes: 0 });
            while let Some((tag, part)) = entry.delimited()? {
                match tag {
                    FIRST => name = std::str::from_utf8(part.0).map_err(|_| Malformed)?,
                    SECOND => field = feature(part)?,
                    _ => return Err(Malformed),
                }
            }
            field.name = name;
            show(field);
        }
    }
    Ok(())
}

fn feature(mut bytes: Cursor<'_>) -> Result<Field<'static>, Malformed> {
    let mut field = Field { name: "", kind: None, values: 0, scalar: None, bytes: 0 };
    while let Some((tag, mut list)) = bytes.delimited()? {
        let kind = match tag {
            BYTES_LIST => ListKind::Bytes,
            FLOAT_LIST => ListKind::Float,
            INT64_LIST => ListKind::Int64,
            _ => return Err(Malformed),
        };
        field.kind = Some(kind);
        while !list.0.is_empty() {
            let tag = list.byte()?;
            match (kind, tag) {
                (ListKind::Bytes, FIRST) => {
                    field.bytes = list.take()?.0.len();
                    field.values += 1;
                }
                (ListKind::Float, FIRST) => {
                    let packed = list.take()?.0.len();
                    if packed % 4 != 0 {
                        return Err(Malformed);
                    }
                    field.values += packed / 4;
                }
                (ListKind::Float, 0x0d) => {
                    list.split(4)?;
                    field.values += 1;
                }
                (ListKind::Int64, FIRST) => {
                    let mut packed = list.take()?;
                    while !packed.0.is_empty() {
                        field.scalar = Some(packed.varint()?.cast_signed());
                        field.values += 1;
                    }
                }
                (ListKind::Int64, 0x08) => {
                    field.scalar = Some(list.varint()?.cast_signed());
                    field.values += 1;
                }
                _ => return Err(Malformed),
            }
        }
    }
    if field.values != 1 {
        field.scalar = None;
    }
    Ok(field)
}

/// A forward reader that never goes past its end.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.0.split_first().ok_or(Malformed)?;
        self.0 = rest;
        Ok(first)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Malformed);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn split(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(bytes).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn take(&mut self) -> Result<Cursor<'a>, Malformed> {
        let bytes = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        Ok(Cursor(self.split(bytes)?))
    }

    /// The next tag with its length-delimited field.
    fn delimited(&mut self) -> Result<Option<(u8, Cursor<'a>)>, Malformed> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.byte()?;
        Ok(Some((tag, self.take()?)))
    }
}
