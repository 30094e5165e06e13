//! Text cells to typed values, one column at a time.
use super::NumberStyle;
use super::number;
use arrow::array::{
    Array, ArrayRef, BooleanArray, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, ListArray, StringBuilder,
    Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::filter;
use arrow::datatypes::Field;
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
    style: NumberStyle,
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
    Time(Time64MicrosecondBuilder, CompiledFormat),
    List(Box<Lists>),
}

/// Lists under construction.
#[derive(Debug)]
struct Lists {
    items: Typing,
    /// Per row, how many items it has.
    lengths: Vec<usize>,
    /// Per row, whether there is a list.
    there: Vec<bool>,
    /// Rows without a list that have items all the same: one of them was no value of the type.
    litter: bool,
}

/// One cell of a column of lists.
#[derive(Clone, Copy, Debug)]
pub enum List<I> {
    /// Nothing.
    Null,
    /// A list of cells.
    Items(I),
    /// Something else.
    Other,
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
    /// For a column of this type. Without a style, numbers are written the plain way.
    pub fn new(data_type: &DataType, style: Option<NumberStyle>) -> Self {
        let style = style.unwrap_or_default();
        let kind = match data_type {
            DataType::String => Kind::Text(StringBuilder::new()),
            DataType::Time { format } => Kind::Time(Time64MicrosecondBuilder::new(), format.compiled.clone()),
            DataType::List(item) => {
                let items = Self::new(item, Some(style.clone()));
                Kind::List(Box::new(Lists { items, lengths: Vec::new(), there: Vec::new(), litter: false }))
            }
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
        Self { kind, style, rows: 0, untyped: Vec::new(), ambiguous: Vec::new() }
    }

    /// Appends cells. A column of lists takes none but null: see [`Typing::extend_lists`].
    pub fn extend<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) {
        let Self { kind, style, rows, untyped, ambiguous } = self;
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
        let only_text = |cell: Cell<'a>| match cell {
            Cell::Text(text) | Cell::JsonText(text) => Some(text),
            _ => None,
        };
        // JSON's own numbers have JSON's grammar, which the scanner has seen to.
        let whole = |cell: Cell<'a>| match cell {
            Cell::Text(text) | Cell::JsonText(text) => style.int64(text.as_bytes()),
            Cell::Number(lexeme) => number::int64(lexeme.as_bytes(), None),
            _ => None,
        };
        match kind {
            Kind::Text(builder) => each!(builder, only_text),
            Kind::Int32(builder) => each!(builder, |cell| whole(cell).and_then(|v| i32::try_from(v).ok())),
            Kind::Int64(builder) => each!(builder, whole),
            Kind::Decimal(builder, precision, scale) => each!(builder, |cell| match cell {
                Cell::Text(text) | Cell::JsonText(text) => style.decimal(text.as_bytes(), *precision, *scale),
                Cell::Number(lexeme) => number::decimal(lexeme.as_bytes(), None, *precision, *scale, true),
                _ => None,
            }),
            Kind::Float64(builder) => each!(builder, |cell| match cell {
                Cell::Text(text) => style.float64(text.as_bytes()),
                Cell::Number(lexeme) => number::float64(lexeme.as_bytes(), None),
                _ => None,
            }),
            Kind::Boolean(builder) => each!(builder, |cell| match cell {
                Cell::Text(text) => number::boolean(text.as_bytes()),
                Cell::Boolean(value) => Some(value),
                _ => None,
            }),
            Kind::Date(builder, format) => each!(builder, |cell| only_text(cell).and_then(|text| format.parse_date(text))),
            Kind::Time(builder, format) => each!(builder, |cell| only_text(cell).and_then(|text| format.parse_time(text))),
            Kind::List(lists) => {
                for cell in cells {
                    if cell != Cell::Null {
                        untyped.push(*rows);
                    }
                    lists.lengths.push(0);
                    lists.there.push(false);
                    *rows += 1;
                }
            }
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

    /// Appends lists of cells. One item that is no value of the type makes the whole cell none. A column of something else takes none but null.
    pub fn extend_lists<'a, I: Iterator<Item = Cell<'a>>>(&mut self, cells: impl Iterator<Item = List<I>>) {
        let Self { kind: Kind::List(lists), rows, untyped, ambiguous, .. } = self else {
            return self.extend(cells.map(|cell| if let List::Null = cell { Cell::Null } else { Cell::Nested }));
        };
        for cell in cells {
            let (mut length, mut there) = (0, false);
            match cell {
                List::Null => {}
                List::Other => untyped.push(*rows),
                List::Items(items) => {
                    let (before, faults) = (lists.items.rows, lists.items.untyped.len());
                    let ambiguous_before = lists.items.ambiguous.len();
                    lists.items.extend(items);
                    length = (lists.items.rows - before) as usize;
                    let faults = lists.items.untyped.len() - faults;
                    there = faults == 0;
                    if !there {
                        lists.litter |= length > 0;
                        untyped.push(*rows);
                        if faults == lists.items.ambiguous.len() - ambiguous_before {
                            ambiguous.push(*rows);
                        }
                    }
                }
            }
            lists.lengths.push(length);
            lists.there.push(there);
            *rows += 1;
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
            Kind::Time(builder, _) => Arc::new(builder.finish()),
            Kind::List(lists) => lists.finish(),
        };
        Typed { array, untyped: std::mem::take(&mut self.untyped), ambiguous: std::mem::take(&mut self.ambiguous) }
    }
}

impl Lists {
    fn finish(&mut self) -> ArrayRef {
        let mut items = self.items.finish().array;
        let (mut lengths, there) = (std::mem::take(&mut self.lengths), std::mem::take(&mut self.there));
        if std::mem::take(&mut self.litter) {
            // What a row without a list holds is taken out: it is nobody's.
            let keep: BooleanArray = lengths.iter().zip(&there).flat_map(|(length, there)| std::iter::repeat_n(Some(*there), *length)).collect();
            for (length, _) in lengths.iter_mut().zip(&there).filter(|(_, there)| !**there) {
                *length = 0;
            }
            // The mask is as long as the items.
            items = filter(&items, &keep).unwrap_or(items);
        }
        let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let nulls = there.contains(&false).then(|| NullBuffer::from(there));
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls))
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
