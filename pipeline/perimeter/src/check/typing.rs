//! Text cells to typed values, one column at a time.
use super::number;
use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use chrono::{DateTime, LocalResult, TimeZone};
use perimeter_contract::schema::CompiledFormat;
use perimeter_contract::schema::{DataType, Zone};
use std::sync::Arc;

/// One cell as a text format holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// Text.
    Text(&'a str),
    /// The characters of a JSON number; columns of text do not take them.
    Number(&'a str),
    /// A JSON literal.
    Boolean(bool),
    /// A JSON string; columns of float and boolean do not take them.
    JsonText(&'a str),
    /// What no column takes: an object or array.
    Nested,
}

/// Builds one column of one batch from cells.
#[derive(Debug)]
pub struct Typing {
    kind: Kind,
    /// Dropped in front of numbers.
    prefix: Option<Vec<u8>>,
    rows: u32,
    untyped: Vec<u32>,
    ambiguous: Vec<u32>,
}

#[derive(Debug)]
enum Kind {
    Text(StringBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Decimal(Decimal128Builder, u8, u8),
    Float64(Float64Builder),
    Boolean(BooleanBuilder),
    Date(Date32Builder, CompiledFormat),
    Timestamp(TimestampMicrosecondBuilder, CompiledFormat, Zone),
}

/// A finished column.
#[derive(Debug)]
pub struct Typed {
    /// The values; null where there is none or it is none of the type.
    pub array: ArrayRef,
    /// Rows whose cell is no value of the type, ascending.
    pub untyped: Vec<u32>,
    /// Those of them whose local time the zone has twice or never, ascending.
    pub ambiguous: Vec<u32>,
}

impl Typing {
    /// For a column of this type.
    pub fn new(data_type: &DataType, number_prefix: Option<&str>) -> Self {
        let kind = match data_type {
            DataType::String | DataType::Time { .. } | DataType::List(_) => Kind::Text(StringBuilder::new()),
            DataType::Int32 => Kind::Int32(Int32Builder::new()),
            DataType::Int64 => Kind::Int64(Int64Builder::new()),
            DataType::Decimal { precision, scale } => Kind::Decimal(Decimal128Builder::new().with_data_type(super::arrow_type(data_type)), *precision, *scale),
            DataType::Float64 => Kind::Float64(Float64Builder::new()),
            DataType::Boolean => Kind::Boolean(BooleanBuilder::new()),
            DataType::Date { format } => Kind::Date(Date32Builder::new(), format.compiled.clone()),
            DataType::Timestamp { format, zone } => {
                Kind::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(super::arrow_type(data_type)), format.compiled.clone(), zone.clone())
            }
        };
        Self { kind, prefix: number_prefix.map(|p| p.as_bytes().to_vec()), rows: 0, untyped: Vec::new(), ambiguous: Vec::new() }
    }

    /// Appends cells.
    pub fn extend<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) {
        let Self { kind, prefix, rows, untyped, ambiguous } = self;
        let prefix = prefix.as_deref();
        // The type is looked at once per call, not per cell.
        macro_rules! each {
            ($builder:expr, $value:expr) => {
                for cell in cells {
                    match cell {
                        Cell::Null => $builder.append_null(),
                        cell => match $value(cell) {
                            Some(value) => $builder.append_value(value),
                            None => {
                                untyped.push(*rows);
                                $builder.append_null();
                            }
                        },
                    }
                    *rows += 1;
                }
            };
        }
        let number_text = |cell: Cell<'a>| match cell {
            Cell::Text(text) | Cell::JsonText(text) => Some((text.as_bytes(), false)),
            Cell::Number(lexeme) => Some((lexeme.as_bytes(), true)),
            _ => None,
        };
        let only_text = |cell: Cell<'a>| match cell {
            Cell::Text(text) | Cell::JsonText(text) => Some(text),
            _ => None,
        };
        match kind {
            Kind::Text(builder) => each!(builder, only_text),
            Kind::Int32(builder) => each!(builder, |cell| number_text(cell).and_then(|(t, _)| number::int64(t, prefix)).and_then(|v| i32::try_from(v).ok())),
            Kind::Int64(builder) => each!(builder, |cell| number_text(cell).and_then(|(t, _)| number::int64(t, prefix))),
            Kind::Decimal(builder, precision, scale) => {
                each!(builder, |cell| number_text(cell).and_then(|(t, json)| number::decimal(t, prefix, *precision, *scale, json)))
            }
            Kind::Float64(builder) => each!(builder, |cell| match cell {
                Cell::Text(text) | Cell::Number(text) => number::float64(text.as_bytes(), prefix),
                _ => None,
            }),
            Kind::Boolean(builder) => each!(builder, |cell| match cell {
                Cell::Text(text) => number::boolean(text.as_bytes()),
                Cell::Boolean(value) => Some(value),
                _ => None,
            }),
            Kind::Date(builder, format) => each!(builder, |cell| only_text(cell).and_then(|text| format.parse_date(text))),
            Kind::Timestamp(builder, format, zone) => {
                let mut clock = Clock { zone, known: None };
                for cell in cells {
                    match cell {
                        Cell::Null => builder.append_null(),
                        cell => match only_text(cell)
                            .and_then(|text| format.parse_timestamp(text))
                            .map_or(Err(Fault::Type), |(wall, offset)| clock.instant(wall, offset))
                        {
                            Ok(micros) => builder.append_value(micros),
                            Err(fault) => {
                                untyped.push(*rows);
                                if fault == Fault::Ambiguous {
                                    ambiguous.push(*rows);
                                }
                                builder.append_null();
                            }
                        },
                    }
                    *rows += 1;
                }
            }
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The column; the builder is empty again.
    pub fn finish(&mut self) -> Typed {
        self.rows = 0;
        let array: ArrayRef = match &mut self.kind {
            Kind::Text(builder) => Arc::new(builder.finish()),
            Kind::Int32(builder) => Arc::new(builder.finish()),
            Kind::Int64(builder) => Arc::new(builder.finish()),
            Kind::Decimal(builder, ..) => Arc::new(builder.finish()),
            Kind::Float64(builder) => Arc::new(builder.finish()),
            Kind::Boolean(builder) => Arc::new(builder.finish()),
            Kind::Date(builder, _) => Arc::new(builder.finish()),
            Kind::Timestamp(builder, ..) => Arc::new(builder.finish()),
        };
        Typed { array, untyped: std::mem::take(&mut self.untyped), ambiguous: std::mem::take(&mut self.ambiguous) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Type,
    Ambiguous,
}

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// Reads wall clocks of one column.
struct Clock<'z> {
    zone: &'z Zone,
    /// The hour (since 1970, on the wall) that was asked last, with the offset that holds for all of it.
    known: Option<(i64, i64)>,
}

impl Clock<'_> {
    /// Microseconds since 1970-01-01T00:00:00 UTC, or of the wall clock for columns without a zone.
    fn instant(&mut self, wall: i64, offset: Option<i32>) -> Result<i64, Fault> {
        let at = |seconds: i64| wall.checked_sub(seconds.checked_mul(1_000_000).ok_or(Fault::Type)?).ok_or(Fault::Type);
        match (self.zone, offset) {
            (Zone::None, None) => Ok(wall),
            (Zone::None, Some(_)) | (Zone::Utc { default: None }, None) => Err(Fault::Type),
            (Zone::Utc { .. }, Some(seconds)) => at(i64::from(seconds)),
            (Zone::Utc { default: Some(zone) }, None) => {
                let hour = wall.div_euclid(MICROS_PER_HOUR);
                if let Some((known, seconds)) = self.known
                    && known == hour
                {
                    return at(seconds);
                }
                let seconds = offset_of(*zone, wall)?;
                // Only an hour that has one offset from end to end is remembered.
                let (first, last) = (hour * MICROS_PER_HOUR, hour * MICROS_PER_HOUR + MICROS_PER_HOUR - 1);
                if offset_of(*zone, first) == Ok(seconds) && offset_of(*zone, last) == Ok(seconds) {
                    self.known = Some((hour, seconds));
                }
                at(seconds)
            }
        }
    }
}

/// Seconds east of UTC of a wall clock in a zone.
fn offset_of(zone: chrono_tz::Tz, wall: i64) -> Result<i64, Fault> {
    let local = DateTime::from_timestamp_micros(wall).ok_or(Fault::Type)?.naive_utc();
    match zone.offset_from_local_datetime(&local) {
        LocalResult::Single(offset) => Ok(i64::from(chrono::Offset::fix(&offset).local_minus_utc())),
        LocalResult::None | LocalResult::Ambiguous(..) => Err(Fault::Ambiguous),
    }
}
