//! A batch's numeric columns as the numbers of an Example: a column at a time, into buffers that are used again.
use super::dtype::Dtype;
use super::layout::{Number, Out, Source, narrow};
use super::runs::Run;
use super::scale::Scaler;
use super::tokenize::{TokenizeError, Tokenizer};
use super::vocabulary::{Vocabulary, days_of_week, one_hot};
use crate::error::{Culprit, Failure, Result};
use crate::shard::{self, plain};
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use perimeter_contract::job::{Encode, Scale};
use std::num::{NonZeroI64, NonZeroU32};

/// Of a day in UTC.
const MICROSECONDS_A_DAY: NonZeroI64 = NonZeroI64::new(86_400_000_000).unwrap();
/// Of a day in days.
const ONE: NonZeroI64 = NonZeroI64::new(1).unwrap();

/// The values of one feature.
#[derive(Debug)]
pub(crate) enum Values {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    /// Elements of two little-endian bytes.
    Halves(Vec<u8>),
}

impl Values {
    pub(crate) fn of(number: &Number) -> Self {
        match number.out {
            Out::Float { dtype: Dtype::Float32, .. } => Self::Floats(Vec::new()),
            Out::Float { .. } => Self::Halves(Vec::new()),
            Out::Int { .. } => Self::Ints(Vec::new()),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Floats(values) => values.clear(),
            Self::Ints(values) => values.clear(),
            Self::Halves(values) => values.clear(),
        }
    }

    /// A range, as a record takes it.
    pub(super) fn slice(&self, start: usize, end: usize) -> shard::Values<'_> {
        match self {
            Self::Floats(values) => shard::Values::Floats(&values[start..end]),
            Self::Ints(values) => shard::Values::Ints(&values[start..end]),
            Self::Halves(values) => shard::Values::Halves(&values[2 * start..2 * end]),
        }
    }

    /// Drops the first so many values.
    pub(super) fn forget(&mut self, values: usize) {
        match self {
            Self::Floats(held) => drop(held.drain(..values)),
            Self::Ints(held) => drop(held.drain(..values)),
            Self::Halves(held) => drop(held.drain(..2 * values)),
        }
    }

    /// Appends a range of `other`, which holds the same feature.
    pub(super) fn append(&mut self, other: &Self, start: usize, end: usize) {
        match (self, other) {
            (Self::Floats(values), Self::Floats(other)) => values.extend_from_slice(&other[start..end]),
            (Self::Ints(values), Self::Ints(other)) => values.extend_from_slice(&other[start..end]),
            (Self::Halves(values), Self::Halves(other)) => values.extend_from_slice(&other[2 * start..2 * end]),
            _ => debug_assert!(false, "one feature, one type"),
        }
    }
}

/// Converts the column of one feature, batch after batch.
#[derive(Debug)]
pub(super) struct Converter {
    number: Number,
    /// The time of the open entity's last event that had one, in the column's unit.
    previous: Option<i64>,
    ints: Vec<i64>,
    floats: Vec<f64>,
    text: String,
    /// Where each row's tokens end, where they are not padded.
    ends: Vec<usize>,
    /// Tokens written, and tokens that `maxTokens` cut off.
    tokens: u64,
    truncated: u64,
}

/// What a column holds once read: numbers with nulls beside them.
enum Raw {
    Ints,
    Floats,
}

impl Converter {
    pub(super) fn new(number: Number) -> Self {
        Self { number, previous: None, ints: Vec::new(), floats: Vec::new(), text: String::new(), ends: Vec::new(), tokens: 0, truncated: 0 }
    }

    /// Fills `out` with one value for each row of `column`. `runs` are the batch's entities, for what looks back.
    pub(super) fn convert(&mut self, column: &ArrayRef, runs: &[Run], out: &mut Values) -> Result<()> {
        out.clear();
        let column = plain(column)?;
        if self.number.encode.is_category() {
            return self.categories(&column, out);
        }
        let mut nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let missing = matches!(self.number.out, Out::Float { missing: Some(_), .. } | Out::Int { missing: Some(_), .. });
        if nulls.is_some() && !missing {
            return Err(self
                .fault("missing-feature", "a value is null, and the feature has no `missing`")
                .help(if self.number.how.tokenizer.is_some() {
                    "reject such rows with `required`, or use COALESCE in `prepare`"
                } else {
                    "give the feature `missing`, or reject such rows with `required`"
                })
                .into());
        }
        if let Some(tokenizer) = self.number.how.tokenizer.clone() {
            return self.tokenize(&tokenizer, &column, out);
        }
        let raw = self.read(&column, nulls.as_ref())?;
        if self.number.encode == Encode::SecondsSincePrevious {
            self.elapse(nulls.as_ref(), runs);
            // What has no time has no elapsed time, and keeps its `missing`.
        }
        if self.number.encode == Encode::DayOfWeek {
            let times = std::mem::take(&mut self.ints);
            days_of_week(&times, if self.number.source == Source::Date { ONE } else { MICROSECONDS_A_DAY }, &mut self.ints);
        }
        // Slots under a null hold anything: make it harmless.
        if let Some(nulls) = &nulls {
            for row in (0..nulls.len()).filter(|&row| nulls.is_null(row)) {
                match raw {
                    Raw::Ints => self.ints[row] = 0,
                    Raw::Floats => self.floats[row] = 0.0,
                }
            }
        }
        match (out, self.number.out) {
            (Values::Ints(out), Out::Int { dtype, missing }) => {
                if !self.ints.iter().all(|&value| dtype.holds(value)) {
                    let what = format!("a value is no {}", dtype.name());
                    return Err(self.fault("out-of-range", &what).help("bound the column, or choose a wider dtype").into());
                }
                out.extend_from_slice(&self.ints);
                fill(out, nulls.take().as_ref(), missing);
            }
            (Values::Halves(out), Out::Float { dtype, missing }) => {
                let converted = match (raw, self.number.scale) {
                    (Raw::Ints, Scale::None) => dtype.append_ints(&self.ints, out),
                    (Raw::Floats, Scale::None) => dtype.append_doubles(&self.floats, out),
                    (raw, Scale::Log1p) => {
                        self.log1p(&raw)?;
                        dtype.append_doubles(&self.floats, out)
                    }
                    (raw, Scale::Standard | Scale::MinMax | Scale::Quantile) => {
                        self.doubles(&raw);
                        let mut scaled = Vec::new();
                        self.scaled(nulls.as_ref(), &mut scaled)?;
                        dtype.append_floats(&scaled, out)
                    }
                };
                if converted.is_err() || self.floats.iter().any(|value| !value.is_finite()) {
                    return Err(self.not_finite(dtype));
                }
                if let (Some(nulls), Some(missing)) = (nulls.take(), missing) {
                    let mut element = Vec::with_capacity(2);
                    dtype.append_doubles(&[missing], &mut element).map_err(|_| self.not_finite(dtype))?;
                    for row in (0..nulls.len()).filter(|&row| nulls.is_null(row)) {
                        out[2 * row..2 * row + 2].copy_from_slice(&element);
                    }
                }
            }
            (Values::Floats(out), Out::Float { dtype, missing }) => {
                match (raw, self.number.scale) {
                    // Straight to float32: going through float64 would round twice.
                    #[expect(clippy::cast_precision_loss, reason = "rounding to float32 is what the feature asks for")]
                    (Raw::Ints, Scale::None) => out.extend(self.ints.iter().map(|&value| value as f32)),
                    (Raw::Floats, Scale::None) => out.extend(self.floats.iter().map(|&value| narrow(value))),
                    (raw, Scale::Log1p) => {
                        self.log1p(&raw)?;
                        out.extend(self.floats.iter().map(|&value| narrow(value)));
                    }
                    (raw, Scale::Standard | Scale::MinMax | Scale::Quantile) => {
                        self.doubles(&raw);
                        self.scaled(nulls.as_ref(), out)?;
                    }
                }
                if !out.iter().all(|value| value.is_finite()) {
                    return Err(self.not_finite(dtype));
                }
                fill(out, nulls.take().as_ref(), missing.map(narrow));
            }
            _ => debug_assert!(false, "one feature, one type"),
        }
        Ok(())
    }

    /// Token ids of every row: one after the other, or each row's padded with zeros to `maxTokens`.
    fn tokenize(&mut self, tokenizer: &Tokenizer, column: &ArrayRef, out: &mut Values) -> Result<()> {
        let Values::Ints(out) = out else { return Err(self.surprise(column).into()) };
        let tokens = tokenizer.encode(column).map_err(|error| match error {
            TokenizeError::ControlCharacter { .. } => self.fault("control-token", "a character of a text is a control token of the tokenizer"),
            TokenizeError::NotUtf8 { .. } => self.fault("not-utf8", "a text is not UTF-8"),
            _ => self.fault("not-tokenized", "the tokenizer cannot encode a text"),
        });
        let tokens = tokens.map_err(|failure| failure.help("leave such rows out in `prepare`, or use another tokenizer"))?;
        self.tokens += tokens.ids.len() as u64;
        self.truncated += tokens.truncated;
        match self.number.inner {
            None => {
                out.extend_from_slice(&tokens.ids);
                self.ends = tokens.ends;
            }
            Some(inner) => {
                let width = inner as usize;
                out.resize(tokens.ends.len() * width, 0);
                for (row, place) in out.chunks_exact_mut(width).enumerate() {
                    let ids = tokens.row(row);
                    place[..ids.len()].copy_from_slice(ids);
                }
            }
        }
        Ok(())
    }

    /// The place of the column in a batch.
    pub(super) fn column(&self) -> usize {
        self.number.index
    }

    /// Where each row's tokens end, where they are not padded.
    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The feature with its tokens: written, and cut off by `maxTokens`; `None` for numbers.
    pub(super) fn token_counts(&self) -> Option<(&str, [u64; 2])> {
        self.number.how.tokenizer.as_ref().map(|_| (self.number.feature.as_str(), [self.tokens, self.truncated]))
    }

    /// Logarithms in place of what was read, in `self.floats`.
    fn log1p(&mut self, raw: &Raw) -> Result<()> {
        self.doubles(raw);
        if self.floats.iter().any(|&value| value <= -1.0) {
            return Err(self
                .fault("log1p-domain", "a value of -1 or less has no `log1p`")
                .help("bound the column with `minimum`, or shift it in `prepare`")
                .into());
        }
        // Not the C library's: that one picks its code by the processor, and its last bits with it.
        self.floats.iter_mut().for_each(|value| *value = libm::log1p(*value));
        Ok(())
    }

    /// What was read as doubles, in `self.floats`.
    fn doubles(&mut self, raw: &Raw) {
        if matches!(raw, Raw::Ints) {
            self.floats.clear();
            #[expect(clippy::cast_precision_loss, reason = "what is scaled is rounded anyway")]
            self.floats.extend(self.ints.iter().map(|&value| value as f64));
        }
    }

    /// Appends `self.floats` on the frozen scale; a pass that measures has none yet.
    fn scaled(&self, nulls: Option<&NullBuffer>, out: &mut Vec<f32>) -> Result<()> {
        let none = Scaler::None {};
        let scaler = self.number.how.scaler.as_deref().unwrap_or(&none);
        scaler.apply(&self.floats, nulls, out).map_err(|_| self.not_finite(Dtype::Float32))
    }

    /// Ids of categories, or vectors of them.
    fn categories(&mut self, column: &ArrayRef, out: &mut Values) -> Result<()> {
        let (Values::Ints(out), Out::Int { dtype, .. }) = (out, self.number.out) else {
            return Err(self.surprise(column).into());
        };
        self.ints.clear();
        let encoded = match (&self.number.how.hash, &self.number.how.vocabulary) {
            (Some(hash), _) => hash.encode(column, &mut self.ints),
            (None, Some(vocabulary)) => vocabulary.encode(column, &mut self.ints),
            // Not frozen yet.
            (None, None) => Vocabulary::default().encode(column, &mut self.ints),
        };
        encoded.map_err(|_| self.surprise(column))?;
        match self.number.inner.and_then(NonZeroU32::new) {
            Some(width) => one_hot(&self.ints, width, out).map_err(|_| {
                self.fault("out-of-range", "the pinned vocabulary has more values than `maxSize`").help("raise `maxSize`, or pin other statistics")
            })?,
            None => out.extend_from_slice(&self.ints),
        }
        if !out.iter().all(|&value| dtype.holds(value)) {
            return Err(self.fault("out-of-range", &format!("an id is no {}", dtype.name())).help("choose a wider dtype, or a smaller vocabulary").into());
        }
        Ok(())
    }

    /// The column as doubles with its nulls, for statistics.
    pub(super) fn read_doubles(&mut self, column: &ArrayRef) -> Result<(&[f64], Option<NullBuffer>)> {
        let column = plain(column)?;
        let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let raw = self.read(&column, nulls.as_ref())?;
        self.doubles(&raw);
        Ok((&self.floats, nulls))
    }

    /// The feature's name.
    pub(super) fn feature(&self) -> &str {
        &self.number.feature
    }

    /// A mistake of the data about the feature.
    pub(super) fn refuse(&self, code: &'static str, what: &str) -> Failure {
        self.fault(code, what)
    }

    fn not_finite(&self, dtype: Dtype) -> crate::error::Error {
        self.fault("not-finite", &format!("a value is not finite as {}", dtype.name())).help("bound the column with `minimum` and `maximum`").into()
    }

    /// A mistake of the data, without the value that made it.
    fn fault(&self, code: &'static str, what: &str) -> Failure {
        Failure::new(Culprit::Data, code, format!("feature `{}` (column `{}`): {what}", self.number.feature, self.number.column))
    }

    /// The column's numbers, in `self.ints` or `self.floats`.
    fn read(&mut self, column: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<Raw> {
        let elapsed = self.number.encode == Encode::SecondsSincePrevious;
        self.ints.clear();
        self.floats.clear();
        match self.number.source {
            Source::Boolean => self.ints.extend(column.as_boolean().values().iter().map(i64::from)),
            Source::Integer => {
                let wide = cast(column, &DataType::Int64).map_err(|_| self.surprise(column))?;
                self.ints.extend_from_slice(values::<Int64Type>(&wide).ok_or_else(|| self.surprise(column))?);
            }
            Source::Float => {
                let wide = cast(column, &DataType::Float64).map_err(|_| self.surprise(column))?;
                self.floats.extend_from_slice(values::<Float64Type>(&wide).ok_or_else(|| self.surprise(column))?);
                return Ok(Raw::Floats);
            }
            Source::Date => {
                let days = column.as_primitive_opt::<Date32Type>().ok_or_else(|| self.surprise(column))?;
                self.ints.extend(days.values().iter().map(|&day| i64::from(day)));
            }
            Source::Timestamp { per_second } => {
                self.ints.extend_from_slice(ticks(column).ok_or_else(|| self.surprise(column))?);
                if !elapsed {
                    self.microseconds(per_second, nulls)?;
                }
            }
            Source::Text => return Err(self.surprise(column).into()),
            Source::Decimal { scale } => {
                let decimals = column.as_primitive_opt::<Decimal128Type>().ok_or_else(|| self.surprise(column))?.values();
                if matches!(self.number.out, Out::Int { .. }) {
                    for (row, &value) in decimals.iter().enumerate() {
                        let null = nulls.is_some_and(|nulls| nulls.is_null(row));
                        let value = if null {
                            0
                        } else {
                            i64::try_from(value).map_err(|_| self.fault("out-of-range", "a value is not an int64").help("bound the column"))?
                        };
                        self.ints.push(value);
                    }
                    return Ok(Raw::Ints);
                }
                let (text, floats) = (&mut self.text, &mut self.floats);
                floats.extend(decimals.iter().map(|&value| decimal_to_f64(value, scale, text)));
                return Ok(Raw::Floats);
            }
        }
        Ok(Raw::Ints)
    }

    fn surprise(&self, column: &ArrayRef) -> Failure {
        self.fault("column-type", &format!("the column arrived as {}", column.data_type())).help("this is a bug: report it")
    }

    fn microseconds(&mut self, per_second: i64, nulls: Option<&NullBuffer>) -> Result<()> {
        if per_second > 1_000_000 {
            self.ints.iter_mut().for_each(|tick| *tick = tick.div_euclid(per_second / 1_000_000));
        } else if per_second < 1_000_000 {
            for row in 0..self.ints.len() {
                let null = nulls.is_some_and(|nulls| nulls.is_null(row));
                self.ints[row] = match self.ints[row].checked_mul(1_000_000 / per_second) {
                    Some(tick) => tick,
                    None if null => 0,
                    None => return Err(self.fault("out-of-range", "a time is not an int64 of microseconds").into()),
                };
            }
        }
        Ok(())
    }

    /// Replaces times by whole seconds since the entity's previous event that had a time; 0 for the first.
    fn elapse(&mut self, nulls: Option<&NullBuffer>, runs: &[Run]) {
        let (per_second, seconds_per_tick) = match self.number.source {
            Source::Timestamp { per_second } => (per_second, 1),
            _ => (1, 86_400),
        };
        for run in runs {
            let mut previous = if run.continues { self.previous } else { None };
            for row in run.start..run.end {
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    continue;
                }
                let now = self.ints[row];
                // Saturates only where two times are 292,000 years apart.
                self.ints[row] = previous.map_or(0, |previous| now.saturating_sub(previous).div_euclid(per_second).saturating_mul(seconds_per_tick));
                previous = Some(now);
            }
            self.previous = previous;
        }
    }
}

fn values<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<&[T::Native]> {
    array.as_any().downcast_ref::<PrimitiveArray<T>>().map(|array| array.values().as_ref())
}

fn ticks(column: &ArrayRef) -> Option<&[i64]> {
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => values::<TimestampSecondType>(column),
        DataType::Timestamp(TimeUnit::Millisecond, _) => values::<TimestampMillisecondType>(column),
        DataType::Timestamp(TimeUnit::Microsecond, _) => values::<TimestampMicrosecondType>(column),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => values::<TimestampNanosecondType>(column),
        _ => None,
    }
}

fn fill<T: Copy>(out: &mut [T], nulls: Option<&NullBuffer>, missing: Option<T>) {
    if let (Some(nulls), Some(missing)) = (nulls, missing) {
        (0..nulls.len()).filter(|&row| nulls.is_null(row)).for_each(|row| out[row] = missing);
    }
}

/// Powers of ten that float64 holds exactly.
const POWERS: [f64; 23] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

/// `unscaled / 10^scale`, correctly rounded. Both are exact up to 2^53 and 10^22, and IEEE division rounds once (Clinger 1990); beyond, the standard
/// library's parser is exact.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "checked to be below 2^53")]
fn decimal_to_f64(unscaled: i128, scale: u8, text: &mut String) -> f64 {
    use std::fmt::Write;
    if let Some(&power) = POWERS.get(usize::from(scale))
        && unscaled.unsigned_abs() <= 1 << 53
    {
        return unscaled as i64 as f64 / power;
    }
    text.clear();
    let _ = write!(text, "{unscaled}e-{scale}");
    text.parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_round_once() {
        let mut text = String::new();
        for (unscaled, scale, expected) in [
            (0, 2, 0.0),
            (1, 2, 0.01),
            (-12345, 2, -123.45),
            (9_007_199_254_740_993, 0, 9_007_199_254_740_992.0),
            (i128::MAX, 38, 1.701_411_834_604_692_3),
            (5, 38, 5e-38),
        ] {
            assert_eq!(decimal_to_f64(unscaled, scale, &mut text).to_bits(), f64::to_bits(expected), "{unscaled}e-{scale}");
        }
    }

    #[test]
    fn logarithms_are_the_same_on_every_machine() {
        let found = [0.01, 1.0, 123.45, 1e6, -0.99].map(|value| libm::log1p(value).to_bits());
        let expected = [0.01_f64, 1.0, 123.45, 1e6, -0.99].map(|value| value.ln_1p());
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((f64::from_bits(found) - expected).abs() <= expected.abs() * 2.3e-16);
        }
        assert_eq!(found.map(|bits| format!("{bits:016x}")), GOLDEN_LOGARITHMS);
    }

    const GOLDEN_LOGARITHMS: [&str; 5] = ["3f8460d6ccca3677", "3fe62e42fefa39ef", "40134bad7f6b3030", "402ba18abb1dedc8", "c0126bb1bbb55514"];

    proptest! {
        #[test]
        fn decimals_equal_the_parser(unscaled: i64, shift in 0_u32..60, scale in 0_u8..=38) {
            let unscaled = i128::from(unscaled) >> shift;
            let expected: f64 = format!("{unscaled}e-{scale}").parse().unwrap();
            prop_assert_eq!(decimal_to_f64(unscaled, scale, &mut String::new()).to_bits(), expected.to_bits());
        }
    }
}
