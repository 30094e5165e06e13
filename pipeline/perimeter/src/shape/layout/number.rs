//! How a column becomes the numbers of a feature.
use super::super::dtype;
use super::super::scale::Scaler;
use super::super::tokenize::Tokenizer;
use super::super::vocabulary::{HashEncoder, Vocabulary};
use arrow::datatypes::{DataType, TimeUnit};
use perimeter_contract::job::{Encode, Scale};
use std::sync::Arc;

/// A numeric feature's way from column to Example.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) feature: String,
    pub(crate) column: String,
    pub(crate) index: usize,
    pub(crate) source: Source,
    pub(crate) encode: Encode,
    pub(crate) scale: Scale,
    pub(crate) out: Out,
    /// What its values go through beside `scale` and `encode`.
    pub(crate) how: How,
    /// Values of one event or row: a text's tokens are padded to it. `None`: one, or as many tokens as there are.
    pub(crate) inner: Option<u32>,
}

/// What was loaded or frozen for a feature; in a pass that measures, nothing is frozen yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct How {
    /// Text as token ids.
    pub(crate) tokenizer: Option<Arc<Tokenizer>>,
    /// Numbers on a frozen scale.
    pub(crate) scaler: Option<Arc<Scaler>>,
    /// Categories by a frozen vocabulary.
    pub(crate) vocabulary: Option<Arc<Vocabulary>>,
    /// Categories by hash.
    pub(crate) hash: Option<HashEncoder>,
}

impl Number {
    /// Values of one place.
    pub(crate) fn width(&self) -> usize {
        self.inner.map_or(1, |inner| inner as usize)
    }
}

/// What a numeric feature becomes; `missing` stands for null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Out {
    Float { dtype: dtype::Dtype, missing: Option<f64> },
    Int { dtype: dtype::Dtype, missing: Option<i64> },
}

/// How a numeric column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Boolean,
    /// Any integer that fits an i64 (cast to Int64 where it is narrower).
    Integer,
    Decimal {
        scale: u8,
    },
    Float,
    /// Days since 1970-01-01.
    Date,
    /// Ticks a second; as a value, microseconds since 1970-01-01.
    Timestamp {
        per_second: i64,
    },
    /// Text, for a tokenizer; any category.
    Text,
}

impl Source {
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Self::Integer,
            DataType::Decimal128(_, scale) => Self::Decimal { scale: u8::try_from(*scale).ok()? },
            DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::Date32 => Self::Date,
            DataType::Timestamp(TimeUnit::Second, _) => Self::Timestamp { per_second: 1 },
            DataType::Timestamp(TimeUnit::Millisecond, _) => Self::Timestamp { per_second: 1_000 },
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Timestamp { per_second: 1_000_000 },
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Self::Timestamp { per_second: 1_000_000_000 },
            _ => return None,
        })
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to float32 is what the feature asks for; infinity is refused after")]
pub(crate) fn narrow(value: f64) -> f32 {
    value as f32
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
pub(super) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value)).then_some(value as i64)
}
