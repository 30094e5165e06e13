//! Which shard a row belongs to: a stable hash, the same on every machine, in every run and in every version.
//!
//! HighwayHash-64 (Alakuijala, Cox and Wassenberg 2016, arXiv:1612.06257) with a published key. The hash spreads records; it hides nothing, and need not.
use crate::error::{Culprit, Failure, Result};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, Int32Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, UInt64Array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{
    ArrowNativeType, ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, ToByteSlice, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use highway::{HighwayHash, HighwayHasher, Key};
use std::sync::Arc;

/// `perimeter.dev/shard/hash-key/v1\0` as four little-endian words. Changing it moves every record to another shard.
const KEY: Key = Key([0x6574_656d_6972_6570, 0x6873_2f76_6564_2e72, 0x6873_6168_2f64_7261, 0x0031_762f_7965_6b2d]);

/// Rows hashed at a time: their encoded bytes stay in the cache.
const BLOCK_ROWS: usize = 1024;

/// The shard of an entity token: HighwayHash-64 of its bytes, modulo `shards` (taken as 1 when it is 0).
pub fn shard_of(token: &[u8], shards: u32) -> u32 {
    reduce(HighwayHasher::new(KEY).hash64(token), shards)
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder of a u32 fits in one")]
fn reduce(hash: u64, shards: u32) -> u32 {
    (hash % u64::from(shards.max(1))) as u32
}

/// The shard of every row of `batch`.
///
/// With an `entity` column, that of its token ([`shard_of`] of the bytes of a text or binary column; of any other type as below). Without one, the hash of
/// the `deterministic` columns in the order given: per cell a type tag, then the little-endian value, text with its length in front; a null is the tag 0 alone.
/// A list is its tag and the number of its values, then each of them as a cell. Names do not count, so renaming a column moves no row; neither does the width
/// of offsets, so `Utf8`, `LargeUtf8` and `Utf8View` agree.
///
/// # Errors
/// `unsupported-type` (culprit: the job file) when a column is nested otherwise.
pub fn shard_column(batch: &RecordBatch, entity: Option<usize>, deterministic: &[usize], shards: u32) -> Result<Int32Array> {
    if let Some(entity) = entity {
        let array = plain(batch.column(entity))?;
        if let Some(text) = Text::of(&array) {
            return Ok(text_shards(&array, &text, shards));
        }
        return Ok(rows_hashed(&[array], batch.num_rows(), |hash| signed(reduce(hash, shards)))?.into());
    }
    let columns = deterministic.iter().map(|&index| plain(batch.column(index))).collect::<Result<Vec<_>>>()?;
    Ok(rows_hashed(&columns, batch.num_rows(), |hash| signed(reduce(hash, shards)))?.into())
}

/// A digest of the `deterministic` columns of every row, as [`shard_column`] hashes them: what rows with equal sort columns are ordered by. Rows with
/// equal cells have equal digests; others share one with probability 2^-64.
///
/// # Errors
/// `unsupported-type` (culprit: the job file) when a column is nested.
pub fn tie_column(batch: &RecordBatch, deterministic: &[usize]) -> Result<Int64Array> {
    let columns = deterministic.iter().map(|&index| plain(batch.column(index))).collect::<Result<Vec<_>>>()?;
    Ok(rows_hashed(&columns, batch.num_rows(), u64::cast_signed)?.into())
}

/// One loop for each layout, so that none asks for it row by row.
fn text_shards(array: &ArrayRef, text: &Text<'_>, shards: u32) -> Int32Array {
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    match text {
        Text::Utf8(array) => token_shards(array.len(), nulls, |row| array.value(row).as_bytes(), shards),
        Text::LargeUtf8(array) => token_shards(array.len(), nulls, |row| array.value(row).as_bytes(), shards),
        Text::Utf8View(array) => token_shards(array.len(), nulls, |row| array.value(row).as_bytes(), shards),
        Text::Binary(array) => token_shards(array.len(), nulls, |row| array.value(row), shards),
        Text::LargeBinary(array) => token_shards(array.len(), nulls, |row| array.value(row), shards),
        Text::BinaryView(array) => token_shards(array.len(), nulls, |row| array.value(row), shards),
    }
}

fn token_shards<'a>(rows: usize, nulls: Option<&NullBuffer>, token: impl Fn(usize) -> &'a [u8], shards: u32) -> Int32Array {
    // Neighbours often share their token: then the hash is that of the row before. A null goes where the empty token goes.
    let (mut last, mut shard) = (&b""[..], signed(shard_of(&[], shards)));
    let of_row = |row| {
        let token = if nulls.is_some_and(|nulls| nulls.is_null(row)) { b"" } else { token(row) };
        if token != last {
            (last, shard) = (token, signed(shard_of(token, shards)));
        }
        shard
    };
    (0..rows).map(of_row).collect::<Vec<i32>>().into()
}

/// Shard counts stay far below 2^31.
fn signed(shard: u32) -> i32 {
    i32::try_from(shard).unwrap_or(i32::MAX)
}

/// `of` the hash of each row over `columns`.
fn rows_hashed<T>(columns: &[ArrayRef], rows: usize, of: impl Fn(u64) -> T) -> Result<Vec<T>> {
    let mut out = Vec::with_capacity(rows);
    let (mut ends, mut bytes) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < rows {
        let block = BLOCK_ROWS.min(rows - start);
        let sliced: Vec<ArrayRef> = columns.iter().map(|column| column.slice(start, block)).collect();
        // Column by column: first how many bytes each row takes, then the bytes at each row's place.
        ends.clear();
        ends.resize(block, 0);
        for column in &sliced {
            encode(column, &mut Measure(&mut ends))?;
        }
        let mut total = 0;
        for end in &mut ends {
            let length = *end;
            *end = total;
            total += length;
        }
        bytes.clear();
        bytes.resize(total, 0);
        let mut from = 0;
        for column in &sliced {
            encode(column, &mut Write { at: &mut ends, bytes: &mut bytes })?;
        }
        for &end in &ends {
            out.push(of(HighwayHasher::new(KEY).hash64(&bytes[from..end])));
            from = end;
        }
        start += block;
    }
    Ok(out)
}

/// A pass over a column, cell by cell: a tag, then the value's parts.
trait Pass {
    fn cell<const PARTS: usize>(&mut self, row: usize, tag: u8, parts: [&[u8]; PARTS]);
}

/// Adds up the bytes of each row.
struct Measure<'a>(&'a mut [usize]);

impl Pass for Measure<'_> {
    fn cell<const PARTS: usize>(&mut self, row: usize, _: u8, parts: [&[u8]; PARTS]) {
        self.0[row] += 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    }
}

/// Writes them at each row's place, which moves on.
struct Write<'a> {
    at: &'a mut [usize],
    bytes: &'a mut [u8],
}

impl Pass for Write<'_> {
    fn cell<const PARTS: usize>(&mut self, row: usize, tag: u8, parts: [&[u8]; PARTS]) {
        let mut at = self.at[row];
        self.bytes[at] = tag;
        at += 1;
        for part in parts {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.at[row] = at;
    }
}

const NULL: u8 = 0;

/// The cells of values of lists, at the place of the row that each list is in.
struct Inside<'a, P> {
    rows: &'a [usize],
    pass: &'a mut P,
}

impl<P: Pass> Pass for Inside<'_, P> {
    fn cell<const PARTS: usize>(&mut self, value: usize, tag: u8, parts: [&[u8]; PARTS]) {
        self.pass.cell(self.rows[value], tag, parts);
    }
}

fn encode(array: &ArrayRef, pass: &mut impl Pass) -> Result<()> {
    let Some(lists) = array.as_list_opt::<i32>() else { return encode_values(array, pass) };
    let mut rows = Vec::new();
    let mut wanted = Vec::new();
    for row in 0..lists.len() {
        if lists.is_null(row) {
            pass.cell(row, NULL, []);
            continue;
        }
        let (start, end) = (lists.value_offsets()[row].as_usize(), lists.value_offsets()[row + 1].as_usize());
        pass.cell(row, 21, [&((end - start) as u64).to_le_bytes()]);
        rows.extend(std::iter::repeat_n(row, end - start));
        wanted.extend(start as u64..end as u64);
    }
    let values = take(lists.values(), &UInt64Array::from(wanted), None).map_err(|_| unsupported(array.data_type()))?;
    encode_values(&plain(&values)?, &mut Inside { rows: &rows, pass })
}

fn unsupported(data_type: &DataType) -> Failure {
    Failure::new(Culprit::File, "unsupported-type", format!("rows with a column of type {data_type} cannot be spread over shards"))
        .help("cast the column to a scalar type in `prepare`, or leave it out")
}

fn encode_values(array: &ArrayRef, pass: &mut impl Pass) -> Result<()> {
    match array.data_type() {
        DataType::Null => (0..array.len()).for_each(|row| pass.cell(row, NULL, [])),
        DataType::Boolean => {
            let values = array.as_boolean();
            for row in 0..array.len() {
                if values.is_null(row) { pass.cell(row, NULL, []) } else { pass.cell(row, 1, [&[u8::from(values.value(row))]]) }
            }
        }
        DataType::Int8 => fixed::<Int8Type>(array, 2, pass),
        DataType::Int16 => fixed::<Int16Type>(array, 3, pass),
        DataType::Int32 => fixed::<Int32Type>(array, 4, pass),
        DataType::Int64 => fixed::<Int64Type>(array, 5, pass),
        DataType::UInt8 => fixed::<UInt8Type>(array, 6, pass),
        DataType::UInt16 => fixed::<UInt16Type>(array, 7, pass),
        DataType::UInt32 => fixed::<UInt32Type>(array, 8, pass),
        DataType::UInt64 => fixed::<UInt64Type>(array, 9, pass),
        DataType::Float32 => fixed::<Float32Type>(array, 10, pass),
        DataType::Float64 => fixed::<Float64Type>(array, 11, pass),
        DataType::Decimal128(_, _) => fixed::<Decimal128Type>(array, 12, pass),
        DataType::Date32 => fixed::<Date32Type>(array, 13, pass),
        DataType::Date64 => fixed::<Date64Type>(array, 14, pass),
        DataType::Time64(TimeUnit::Microsecond) => fixed::<Time64MicrosecondType>(array, 20, pass),
        DataType::Timestamp(TimeUnit::Second, _) => fixed::<TimestampSecondType>(array, 15, pass),
        DataType::Timestamp(TimeUnit::Millisecond, _) => fixed::<TimestampMillisecondType>(array, 16, pass),
        DataType::Timestamp(TimeUnit::Microsecond, _) => fixed::<TimestampMicrosecondType>(array, 17, pass),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => fixed::<TimestampNanosecondType>(array, 18, pass),
        other => {
            let nulls = array.nulls();
            match Text::of(array) {
                Some(Text::Utf8(array)) => text_cells(array.len(), nulls, |row| array.value(row).as_bytes(), pass),
                Some(Text::LargeUtf8(array)) => text_cells(array.len(), nulls, |row| array.value(row).as_bytes(), pass),
                Some(Text::Utf8View(array)) => text_cells(array.len(), nulls, |row| array.value(row).as_bytes(), pass),
                Some(Text::Binary(array)) => text_cells(array.len(), nulls, |row| array.value(row), pass),
                Some(Text::LargeBinary(array)) => text_cells(array.len(), nulls, |row| array.value(row), pass),
                Some(Text::BinaryView(array)) => text_cells(array.len(), nulls, |row| array.value(row), pass),
                None => return Err(unsupported(other).into()),
            }
        }
    }
    Ok(())
}

fn text_cells<'a>(rows: usize, nulls: Option<&NullBuffer>, value: impl Fn(usize) -> &'a [u8], pass: &mut impl Pass) {
    for row in 0..rows {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            pass.cell(row, NULL, []);
        } else {
            let value = value(row);
            pass.cell(row, 19, [&(value.len() as u64).to_le_bytes(), value]);
        }
    }
}

/// Arrow's native values are little-endian on every machine that we build for.
fn fixed<T: ArrowPrimitiveType>(array: &ArrayRef, tag: u8, pass: &mut impl Pass)
where
    T::Native: ToByteSlice,
{
    let values = array.as_primitive::<T>();
    for row in 0..values.len() {
        if values.is_null(row) { pass.cell(row, NULL, []) } else { pass.cell(row, tag, [values.value(row).to_byte_slice()]) }
    }
}

/// A column without dictionary keys.
pub(crate) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values).map_err(|_| {
            Failure::new(Culprit::File, "unsupported-type", format!("a dictionary of {values} cannot be read")).help("cast it in `prepare`").into()
        }),
        _ => Ok(Arc::clone(array)),
    }
}

/// The bytes of a text or binary column, whatever its layout.
pub(crate) enum Text<'a> {
    /// `Utf8`.
    Utf8(&'a StringArray),
    /// `LargeUtf8`.
    LargeUtf8(&'a LargeStringArray),
    /// `Utf8View`.
    Utf8View(&'a StringViewArray),
    /// `Binary`.
    Binary(&'a BinaryArray),
    /// `LargeBinary`.
    LargeBinary(&'a LargeBinaryArray),
    /// `BinaryView`.
    BinaryView(&'a BinaryViewArray),
}

impl<'a> Text<'a> {
    /// `None` when the column is of another type.
    pub(crate) fn of(array: &'a ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            _ => return None,
        })
    }

    /// Whether a column of this type can be read.
    pub(crate) fn holds(data_type: &DataType) -> bool {
        use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
        matches!(data_type, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView)
    }

    /// The bytes of one cell; those of a null are unspecified.
    pub(crate) fn value(&self, row: usize) -> &'a [u8] {
        match self {
            Self::Utf8(array) => array.value(row).as_bytes(),
            Self::LargeUtf8(array) => array.value(row).as_bytes(),
            Self::Utf8View(array) => array.value(row).as_bytes(),
            Self::Binary(array) => array.value(row),
            Self::LargeBinary(array) => array.value(row),
            Self::BinaryView(array) => array.value(row),
        }
    }
}
