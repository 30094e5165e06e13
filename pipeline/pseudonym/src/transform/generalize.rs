//! `bucketing`, `fixedSizeBucketing` and `timePart`: coarser values in place of exact ones. None has a key.
//!
//! Numbers are integers in the unit of their column (a decimal's unscaled value, days, microseconds): nothing becomes a float.
use super::ValueRefused;
use chrono::{DateTime, Datelike, NaiveDateTime, Timelike};
use std::ops::RangeInclusive;

/// Ranges with a text each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucketing {
    buckets: Box<[Bucket]>,
}

/// One range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value in it; open at the bottom when `None`.
    pub min: Option<i128>,
    /// The first value above it; open at the top when `None`.
    pub max: Option<i128>,
    /// What stands for its values.
    pub replacement: String,
}

/// Why ranges are no buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buckets ascend, do not overlap, hold at least one value each, and only the first and the last may be open")]
pub struct BadBuckets;

impl Bucketing {
    /// Buckets in ascending order.
    ///
    /// # Errors
    /// [`BadBuckets`].
    pub fn new(buckets: Vec<Bucket>) -> Result<Self, BadBuckets> {
        let holds_something = |bucket: &Bucket| bucket.min.zip(bucket.max).is_none_or(|(min, max)| min < max);
        let ascend = |pair: &[Bucket]| pair[0].max.zip(pair[1].min).is_some_and(|(max, min)| max <= min);
        if buckets.is_empty() || !buckets.iter().all(holds_something) || !buckets.windows(2).all(ascend) {
            return Err(BadBuckets);
        }
        Ok(Self { buckets: buckets.into() })
    }

    /// The text of the bucket that holds `value`.
    ///
    /// # Errors
    /// [`ValueRefused::NoBucket`]: a value between buckets is never passed on as it is.
    pub fn bucket(&self, value: i128) -> Result<&str, ValueRefused> {
        self.holding(value).map(|bucket| &*bucket.replacement)
    }

    /// The lower bound of the bucket that holds `value`.
    ///
    /// # Errors
    /// As [`Self::bucket`], and for a bucket that is open at the bottom.
    pub fn lower_bound(&self, value: i128) -> Result<i128, ValueRefused> {
        self.holding(value)?.min.ok_or(ValueRefused::NoBucket)
    }

    fn holding(&self, value: i128) -> Result<&Bucket, ValueRefused> {
        let behind = self.buckets.partition_point(|bucket| bucket.min.is_none_or(|min| min <= value));
        let bucket = behind.checked_sub(1).and_then(|index| self.buckets.get(index));
        bucket.filter(|bucket| bucket.max.is_none_or(|max| value < max)).ok_or(ValueRefused::NoBucket)
    }
}

/// Buckets of one width, from zero in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedSizeBucketing {
    size: i128,
    bounds: Option<RangeInclusive<i128>>,
}

impl FixedSizeBucketing {
    /// Buckets of `size`. With `bounds`, values outside count as the nearest inside, so that rare ones at the ends (ages above 89) share a
    /// bucket. `None` when the size is not positive or the bounds are empty.
    pub fn new(size: i128, bounds: Option<RangeInclusive<i128>>) -> Option<Self> {
        (size > 0 && !bounds.as_ref().is_some_and(RangeInclusive::is_empty)).then_some(Self { size, bounds })
    }

    /// The lower bound of the bucket that holds `value`.
    ///
    /// # Errors
    /// [`ValueRefused::NoBucket`] when it is below what an `i128` can express.
    pub fn lower_bound(&self, value: i128) -> Result<i128, ValueRefused> {
        let value = self.bounds.as_ref().map_or(value, |bounds| value.clamp(*bounds.start(), *bounds.end()));
        value.div_euclid(self.size).checked_mul(self.size).ok_or(ValueRefused::NoBucket)
    }
}

/// One part of a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimePart {
    /// The calendar year.
    Year,
    /// 1 to 12.
    Month,
    /// 1 to 31.
    DayOfMonth,
    /// 1 (Monday) to 7, by ISO 8601.
    DayOfWeek,
    /// 1 to 53, by ISO 8601: it can belong to the year before or after.
    WeekOfYear,
    /// 0 to 23.
    HourOfDay,
}

impl TimePart {
    /// The part of a date, in days since 1970-01-01.
    ///
    /// # Errors
    /// [`ValueRefused::NotInCalendar`] for an hour, which a date has not, and beyond the years ±262,000.
    pub fn of_days(self, days: i32) -> Result<i32, ValueRefused> {
        match self {
            Self::HourOfDay => Err(ValueRefused::NotInCalendar),
            _ => self.of_time(DateTime::from_timestamp(i64::from(days) * 86_400, 0)),
        }
    }

    /// The part of a time, in microseconds since 1970-01-01T00:00 as the clock on the wall showed it: a zone's offset is added before.
    ///
    /// # Errors
    /// [`ValueRefused::NotInCalendar`] beyond the years ±262,000.
    pub fn of_micros(self, micros: i64) -> Result<i32, ValueRefused> {
        self.of_time(DateTime::from_timestamp_micros(micros))
    }

    fn of_time(self, time: Option<DateTime<chrono::Utc>>) -> Result<i32, ValueRefused> {
        let time: NaiveDateTime = time.ok_or(ValueRefused::NotInCalendar)?.naive_utc();
        Ok(match self {
            Self::Year => time.year(),
            Self::Month => time.month() as i32,
            Self::DayOfMonth => time.day() as i32,
            Self::DayOfWeek => time.weekday().number_from_monday() as i32,
            Self::WeekOfYear => time.iso_week().week() as i32,
            Self::HourOfDay => time.hour() as i32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(min: impl Into<Option<i128>>, max: impl Into<Option<i128>>, replacement: &str) -> Bucket {
        Bucket { min: min.into(), max: max.into(), replacement: replacement.into() }
    }

    #[test]
    fn buckets_hold_their_minimum_and_not_their_maximum() {
        let buckets = Bucketing::new(vec![bucket(None, 0, "debt"), bucket(0, 100, "small"), bucket(200, None, "large")]).unwrap();
        for (value, expected) in [(i128::MIN, "debt"), (-1, "debt"), (0, "small"), (99, "small"), (200, "large"), (i128::MAX, "large")] {
            assert_eq!(buckets.bucket(value), Ok(expected), "{value}");
            let bound = match expected {
                "debt" => Err(ValueRefused::NoBucket),
                "small" => Ok(0),
                _ => Ok(200),
            };
            assert_eq!(buckets.lower_bound(value), bound, "{value}");
        }
        for value in [100, 150, 199] {
            assert_eq!(buckets.bucket(value), Err(ValueRefused::NoBucket), "{value}");
        }
        assert_eq!(Bucketing::new(vec![bucket(5, 6, "")]).unwrap().bucket(4), Err(ValueRefused::NoBucket));
        for bad in [
            vec![],
            vec![bucket(1, 1, "")],
            vec![bucket(2, 1, "")],
            vec![bucket(0, 10, ""), bucket(9, 20, "")],
            vec![bucket(10, 20, ""), bucket(0, 5, "")],
            vec![bucket(0, None, ""), bucket(5, 6, "")],
            vec![bucket(0, 1, ""), bucket(None, 6, "")],
        ] {
            assert_eq!(Bucketing::new(bad), Err(BadBuckets));
        }
    }

    #[test]
    fn widths_are_the_same_below_zero() {
        let buckets = FixedSizeBucketing::new(5, None).unwrap();
        for (value, expected) in [(0, 0), (4, 0), (5, 5), (-1, -5), (-5, -5), (-6, -10)] {
            assert_eq!(buckets.lower_bound(value), Ok(expected), "{value}");
        }
        assert_eq!(buckets.lower_bound(i128::MIN), Err(ValueRefused::NoBucket));
        let ages = FixedSizeBucketing::new(5, Some(0..=89)).unwrap();
        assert_eq!((ages.lower_bound(103), ages.lower_bound(-4), ages.lower_bound(86)), (Ok(85), Ok(0), Ok(85)));
        assert!(FixedSizeBucketing::new(0, None).is_none() && FixedSizeBucketing::new(-5, None).is_none());
        #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
        let empty = 2..=1;
        assert!(FixedSizeBucketing::new(5, Some(empty)).is_none());
    }

    #[test]
    fn parts_of_a_time() {
        // 2021-01-03T22:30, a Sunday in the last week of 2020.
        let (days, micros) = (18_630, 18_630 * 86_400_000_000 + 22 * 3_600_000_000 + 1_800_000_000);
        let parts = [TimePart::Year, TimePart::Month, TimePart::DayOfMonth, TimePart::DayOfWeek, TimePart::WeekOfYear];
        assert_eq!(parts.map(|part| part.of_days(days).unwrap()), [2021, 1, 3, 7, 53]);
        assert_eq!(parts.map(|part| part.of_micros(micros).unwrap()), [2021, 1, 3, 7, 53]);
        assert_eq!((TimePart::HourOfDay.of_micros(micros), TimePart::HourOfDay.of_micros(-1)), (Ok(22), Ok(23)));
        assert_eq!(TimePart::HourOfDay.of_days(0), Err(ValueRefused::NotInCalendar));
        assert_eq!(TimePart::Year.of_days(-1), Ok(1969));
        for days in [i32::MIN, i32::MAX] {
            assert_eq!(TimePart::Year.of_days(days), Err(ValueRefused::NotInCalendar));
        }
        for micros in [i64::MIN, i64::MAX] {
            assert_eq!(TimePart::Year.of_micros(micros), Err(ValueRefused::NotInCalendar));
        }
    }
}
