//! The patterns that dates, timestamps and times are tried with.
use perimeter_contract::schema::{CompiledFormat, Offset};
use std::sync::LazyLock;

/// What a pattern says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Date,
    Timestamp,
}

/// One pattern of the list, ready to run.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As the contract writes it; `None`: the default of the type.
    pub(super) text: Option<&'static str>,
    pub(super) says: Says,
    /// Nothing but digits: a number could look the same. So many distinct values make it a date all the same.
    pub(super) digits_only: Option<u64>,
    pub(super) offset: Offset,
    pub(super) two_digit_year: bool,
    compiled: CompiledFormat,
}

impl Pattern {
    /// For comments.
    pub(super) fn name(&self) -> &'static str {
        self.text.unwrap_or(match self.says {
            Says::Date => "ISO 8601 dates",
            Says::Timestamp => "ISO 8601 timestamps",
        })
    }

    /// Days since 1970-01-01, years of two digits counted from 2000.
    pub(super) fn days(&self, cell: &str) -> Option<i32> {
        match self.says {
            Says::Date => self.compiled.parse_date(cell),
            Says::Timestamp => self.compiled.parse_timestamp(cell).and_then(|(micros, _)| i32::try_from(micros.div_euclid(86_400_000_000)).ok()),
        }
    }

    /// Whether this value carries an offset from UTC.
    pub(super) fn has_offset(&self, cell: &str) -> bool {
        self.says == Says::Timestamp && self.compiled.parse_timestamp(cell).is_some_and(|(_, offset)| offset.is_some())
    }
}

/// In order of preference: what fits first is proposed, what else fits is said.
pub(super) static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    use Says::{Date, Timestamp};
    let plain: &[(&str, Says)] = &[
        ("dd/MM/yyyy", Date),
        ("MM/dd/yyyy", Date),
        ("dd-MM-yyyy", Date),
        ("MM-dd-yyyy", Date),
        ("dd.MM.yyyy", Date),
        ("yyyy/MM/dd", Date),
        ("yyyy.MM.dd", Date),
        ("d/M/yyyy", Date),
        ("M/d/yyyy", Date),
        ("d-M-yyyy", Date),
        ("d.M.yyyy", Date),
        ("yyyy-M-d", Date),
        ("dd/MM/yy", Date),
        ("MM/dd/yy", Date),
        ("d/M/yy", Date),
        ("M/d/yy", Date),
        ("dd.MM.yy", Date),
        ("dd-MMM-yyyy", Date),
        ("dd-MMM-yy", Date),
        ("d MMM yyyy", Date),
        ("MMM d, yyyy", Date),
        ("ddMMMyyyy", Date),
        ("yyyy-MM-dd HH:mm", Timestamp),
        ("yyyy-MM-dd'T'HH:mm", Timestamp),
        ("yyyy-MM-dd HH:mm:ss Z", Timestamp),
        ("dd/MM/yyyy HH:mm:ss", Timestamp),
        ("MM/dd/yyyy HH:mm:ss", Timestamp),
        ("dd/MM/yyyy HH:mm", Timestamp),
        ("MM/dd/yyyy HH:mm", Timestamp),
        ("d/M/yyyy H:mm", Timestamp),
        ("M/d/yyyy H:mm", Timestamp),
        ("M/d/yyyy h:mm:ss a", Timestamp),
        ("M/d/yyyy h:mm a", Timestamp),
        ("dd.MM.yyyy HH:mm:ss", Timestamp),
        ("dd.MM.yyyy HH:mm", Timestamp),
        ("yyyy/MM/dd HH:mm:ss", Timestamp),
        ("yyMMdd HH:mm:ss", Timestamp),
        ("yyyyMMdd HH:mm:ss", Timestamp),
        ("yyyyMMdd'T'HHmmssX", Timestamp),
    ];
    let digits: &[(&str, Says, u64)] =
        &[("yyyyMMdd", Date, 5), ("ddMMyyyy", Date, 5), ("yyMMdd", Date, 30), ("ddMMyy", Date, 30), ("yyyyMMddHHmmss", Timestamp, 5)];
    let pattern = |text: Option<&'static str>, says, digits_only, compiled: CompiledFormat| Pattern {
        text,
        says,
        digits_only,
        offset: compiled.offset(),
        two_digit_year: compiled.has_year_of_base(),
        compiled,
    };
    let mut all = vec![pattern(None, Date, None, CompiledFormat::iso_date()), pattern(None, Timestamp, None, CompiledFormat::iso_timestamp())];
    let listed = plain.iter().map(|(text, says)| (*text, *says, None)).chain(digits.iter().map(|(text, says, least)| (*text, *says, Some(*least))));
    for (text, says, digits_only) in listed {
        if let Ok(compiled) = CompiledFormat::compile(text, 2000) {
            all.push(pattern(Some(text), says, digits_only, compiled));
        }
    }
    all
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_list_compiles() {
        assert_eq!(PATTERNS.len(), 2 + 39 + 5);
        assert!(PATTERNS.len() <= 64, "one bit each");
    }
}
