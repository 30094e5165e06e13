//! `dateShift`: whole days from a context.
use super::ValueRefused;
use super::hash::KeyedHash;
use crate::derive::{Label, RootKey};
use std::fmt;

/// 0001-01-01 to 9999-12-31, in days since 1970-01-01.
const CALENDAR: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

/// Options of [`DateShift`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateShiftOptions {
    /// The shift is in `-max_days ..= max_days`; part of its identity.
    pub max_days: u16,
}

/// One shift in whole days for every context, so that intervals within a context survive. Time of day and zone are not touched:
/// adding the days is the caller's.
#[derive(Clone)]
pub struct DateShift {
    mac: KeyedHash,
    max_days: u16,
}

impl DateShift {
    /// The transform for one join domain.
    pub fn new(root: &RootKey, join_domain: &str, options: DateShiftOptions) -> Self {
        let key = root.derive_with(join_domain, Label::DateShift, &[&options.max_days.to_be_bytes()]);
        Self { mac: KeyedHash::new(&key), max_days: options.max_days }
    }

    /// The days to add for `context` (the canonical bytes of the entity's value), uniform over all that are allowed, zero among them.
    #[inline]
    pub fn days(&self, context: &[u8]) -> i32 {
        let choices = 2 * u64::from(self.max_days) + 1;
        // Numbers below this limit hold every remainder equally often; the few above it are drawn again.
        let limit = u64::MAX - u64::MAX % choices;
        let mut last = 0;
        for round in 0..=u8::MAX {
            for word in self.mac.hash(&[&[round], context]).as_chunks::<8>().0 {
                last = u64::from_be_bytes(*word);
                if last < limit {
                    return self.centred(last % choices);
                }
            }
        }
        // Not reached: 1,024 draws, each above the limit with a probability under 2^-47.
        self.centred(last % choices)
    }

    /// A date in days since 1970-01-01, shifted for `context`.
    ///
    /// # Errors
    /// [`ValueRefused::NotInCalendar`] when the result leaves the years 1 to 9999, which is as far as every reader goes.
    pub fn date(&self, days: i32, context: &[u8]) -> Result<i32, ValueRefused> {
        days.checked_add(self.days(context)).filter(|days| CALENDAR.contains(days)).ok_or(ValueRefused::NotInCalendar)
    }

    /// A time in units of which a day has `units_per_day`, since 1970-01-01, shifted for `context`: time of day and zone stay.
    ///
    /// # Errors
    /// As [`Self::date`].
    pub fn time(&self, time: i64, units_per_day: i64, context: &[u8]) -> Result<i64, ValueRefused> {
        let in_calendar =
            |time: &i64| time.checked_div_euclid(units_per_day).and_then(|days| i32::try_from(days).ok()).is_some_and(|days| CALENDAR.contains(&days));
        let shift = i64::from(self.days(context)).checked_mul(units_per_day);
        shift.and_then(|shift| time.checked_add(shift)).filter(in_calendar).ok_or(ValueRefused::NotInCalendar)
    }

    /// `choice` is at most twice `max_days`.
    fn centred(&self, choice: u64) -> i32 {
        choice as i32 - i32::from(self.max_days)
    }
}

impl fmt::Debug for DateShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DateShift").field("max_days", &self.max_days).finish_non_exhaustive()
    }
}

/// A keyed 64-bit hash of a shift's context, to check that all events of a sequence share one context without carrying it.
///
/// Two contexts collide with probability 2^-64: enough for a check between the events of one entity, not for an identifier.
#[derive(Clone)]
pub struct Context(KeyedHash);

impl Context {
    /// The hash for one join domain.
    pub fn new(root: &RootKey, join_domain: &str) -> Self {
        Self(KeyedHash::new(&root.derive(join_domain, Label::Context)))
    }

    /// The hash of one context.
    #[inline]
    pub fn hash64(&self, context: &[u8]) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0.hash(&[context]);
        i64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn shift(max_days: u16) -> DateShift {
        DateShift::new(&RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", 1), "person", DateShiftOptions { max_days })
    }

    #[test]
    fn uniform_over_the_whole_range() {
        let shift = shift(3);
        let mut counts = [0u32; 7];
        for context in 0..70_000u32 {
            counts[(shift.days(&context.to_be_bytes()) + 3) as usize] += 1;
        }
        // Chi-squared with 6 degrees of freedom exceeds 30 with a probability under 10^-4, and the key is fixed.
        let chi: f64 = counts.iter().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 30.0, "{counts:?}");
    }

    #[test]
    fn the_same_context_the_same_days() {
        assert_eq!(shift(30).days(b"39053344705"), shift(30).days(b"39053344705"));
        assert!((0..100u8).all(|context| shift(0).days(&[context]) == 0));
        assert!((0..100u8).all(|context| shift(u16::MAX).days(&[context]).unsigned_abs() <= u32::from(u16::MAX)));
        let (near, far) = (shift(30), shift(31));
        assert!((0..100u8).any(|context| near.days(&[context]) != far.days(&[context])));
    }

    #[test]
    fn only_the_day_moves() {
        const DAY_MICROS: i64 = 86_400_000_000;
        let shift = shift(30);
        for context in 0..200u8 {
            let (context, by) = ([context], shift.days(&[context]));
            assert_eq!(shift.date(20_000, &context), Ok(20_000 + by));
            for time in [-1, 0, 12_345_678, 20_000 * DAY_MICROS + 86_399_999_999] {
                let shifted = shift.time(time, DAY_MICROS, &context).unwrap();
                assert_eq!((shifted - time, shifted.rem_euclid(DAY_MICROS)), (i64::from(by) * DAY_MICROS, time.rem_euclid(DAY_MICROS)));
            }
            assert_eq!(shift.date(2_932_896, &context).is_err(), by > 0);
            assert_eq!(shift.date(-719_162, &context).is_err(), by < 0);
        }
        assert_eq!(shift.date(i32::MAX, b"x"), Err(ValueRefused::NotInCalendar));
        assert_eq!(shift.time(i64::MIN, DAY_MICROS, b"x"), Err(ValueRefused::NotInCalendar));
        assert_eq!(shift.time(0, 0, b"x"), Err(ValueRefused::NotInCalendar));
    }

    #[test]
    fn contexts_hash_apart() {
        let context = Context::new(&RootKey::new(Secret::from_slice(&[1; 32]).unwrap(), "person", 1), "person");
        assert_eq!(context.hash64(b"a"), context.hash64(b"a"));
        assert_ne!(context.hash64(b"a"), context.hash64(b"b"));
        assert_eq!(format!("{context:?} {:?}", shift(3)), "Context { .. } DateShift { max_days: 3, .. }");
    }
}
