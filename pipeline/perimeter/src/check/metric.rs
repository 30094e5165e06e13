//! Verdicts about the dataset: what a metric counts, and whether the count is what the contract says.
//!
//! Metrics look at the clean rows of a source: those that break no rule of their own (type, `required`, value rules, expressions). `rows` of a metric is how many of them it
//! counts; `percent` is `100 * counted / clean rows`, compared exactly, and 0 when there is no row. `rowCount` is the number of clean rows, in either unit.
use super::rules::Rule;
use super::sets::{Clean, Counts};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::i256;
use perimeter_contract::Span;
use perimeter_contract::schema::{Bound, Check, DataType, Decimal, Metric, MetricUnit, Schema, SetRule};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// A metric, compiled.
#[derive(Debug)]
pub struct MetricPlan {
    /// Which of the contract's `rules` it is.
    pub(crate) rule: usize,
    unit: MetricUnit,
    bounds: Vec<Bound>,
    counts: Counted,
}

#[derive(Debug)]
enum Counted {
    Null {
        column: usize,
    },
    Missing {
        column: usize,
        values: Rule,
        null: bool,
    },
    Invalid {
        column: usize,
        rules: Vec<Rule>,
    },
    /// The group of digests that says.
    Duplicates {
        group: u32,
    },
    Rows,
}

impl MetricPlan {
    /// `None`: the metric says nothing about its column's type.
    pub(super) fn new(schema: &Schema, rule: usize, metric: &Metric, unit: MetricUnit, bounds: &[Bound], duplicates: Option<u32>) -> Option<Self> {
        let data_type = |column: usize| schema.columns.get(column).map(|column| &column.data_type);
        let compile = |check: &Check, data_type: &DataType| Rule::compile(check, data_type);
        let counts = match metric {
            Metric::NullValues { column } => {
                data_type(*column)?;
                Counted::Null { column: *column }
            }
            Metric::MissingValues { column, values, null } => {
                Counted::Missing { column: *column, values: compile(&Check::NotAmong(values.clone()), data_type(*column)?)?, null: *null }
            }
            Metric::InvalidValues { column, checks } => {
                let data_type = data_type(*column)?;
                Counted::Invalid { column: *column, rules: checks.iter().map(|check| compile(check, data_type)).collect::<Option<_>>()? }
            }
            Metric::DuplicateValues { .. } => Counted::Duplicates { group: duplicates? },
            Metric::RowCount => Counted::Rows,
        };
        Some(Self { rule, unit, bounds: bounds.to_vec(), counts })
    }

    /// The column whose values it looks at while they are read.
    pub(super) fn column(&self) -> Option<usize> {
        match self.counts {
            Counted::Null { column } | Counted::Missing { column, .. } | Counted::Invalid { column, .. } => Some(column),
            Counted::Duplicates { .. } | Counted::Rows => None,
        }
    }

    /// How many clean rows of a batch it counts.
    pub(super) fn count(&self, array: &ArrayRef, clean: &Clean) -> u64 {
        let nulls = || {
            if clean.is_all() { array.null_count() } else { clean.rows().filter(|row| array.is_null(*row)).count() }
        };
        let broken = |rules: &[Rule]| {
            let taken = clean.take(array);
            let Some(array) = taken.as_ref() else { return 0 };
            let mut rows = Vec::new();
            for rule in rules {
                rule.evaluate(array, &mut |row| rows.push(row));
            }
            if rules.len() > 1 {
                rows.sort_unstable();
                rows.dedup();
            }
            rows.len()
        };
        let counted = match &self.counts {
            Counted::Null { .. } => nulls(),
            Counted::Missing { values, null, .. } => broken(std::slice::from_ref(values)) + if *null { nulls() } else { 0 },
            Counted::Invalid { rules, .. } => broken(rules),
            Counted::Duplicates { .. } | Counted::Rows => 0,
        };
        counted as u64
    }

    /// The verdict once all rows have been seen. `at`: which of the source's metrics it is; `duplicates` by group.
    pub(crate) fn verdict(&self, source: &str, rule: &SetRule, at: usize, counts: &Counts, duplicates: &[u64]) -> Verdict {
        let counted = match self.counts {
            Counted::Duplicates { group } => duplicates.get(group as usize).copied().unwrap_or(0),
            Counted::Rows => counts.rows,
            _ => counts.metrics.get(at).copied().unwrap_or(0),
        };
        let percent = self.unit == MetricUnit::Percent && !matches!(self.counts, Counted::Rows);
        let quantity = if percent { Quantity::percent(counted, counts.rows) } else { Quantity::Ratio(i128::from(counted), 1) };
        let name = match self.counts {
            Counted::Null { .. } => "nullValues",
            Counted::Missing { .. } => "missingValues",
            Counted::Invalid { .. } => "invalidValues",
            Counted::Duplicates { .. } => "duplicateValues",
            Counted::Rows => "rowCount",
        };
        Verdict {
            rule: format!("{source}.{}", rule.code),
            metric: name,
            holds: quantity.holds(&self.bounds),
            counted: Some(counted),
            of: (!matches!(self.counts, Counted::Rows)).then_some(counts.rows),
            wanted: wanted(&self.bounds, percent),
            span: rule.span,
        }
    }
}

/// What became of one rule about a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `<source>.<rule>`.
    pub rule: String,
    /// `nullValues`, `missingValues`, `invalidValues`, `duplicateValues`, `rowCount` or `sql`.
    pub metric: &'static str,
    /// Whether the dataset is as the contract says.
    pub holds: bool,
    /// Rows that were counted. What a query gives is never shown.
    pub counted: Option<u64>,
    /// Clean rows.
    pub of: Option<u64>,
    /// `mustBeLessThan 5 percent`, as the contract says.
    pub wanted: String,
    /// Where the rule stands.
    pub span: Span,
}

/// A number that a bound is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantity {
    /// Numerator and positive denominator.
    Ratio(i128, i128),
    Decimal(Decimal),
    Float(f64),
    /// There is none: nothing holds of it.
    Missing,
}

impl Quantity {
    fn percent(counted: u64, of: u64) -> Self {
        Self::Ratio(i128::from(counted) * 100, i128::from(of.max(1)))
    }

    /// Exact, but for floats: those meet the float next to the bound. `None` when the two cannot be compared.
    fn compare(self, bound: Decimal) -> Option<Ordering> {
        let power = |scale: u8| 10i128.checked_pow(scale.into());
        let product = |a: i128, b: i128| i256::from_i128(a).checked_mul(i256::from_i128(b));
        match self {
            Self::Ratio(numerator, denominator) => Some(product(numerator, power(bound.scale)?)?.cmp(&product(bound.unscaled, denominator)?)),
            Self::Decimal(value) => Some(product(value.unscaled, power(bound.scale)?)?.cmp(&product(bound.unscaled, power(value.scale)?)?)),
            Self::Float(value) => value.partial_cmp(&super::rules::nearest(&bound)),
            Self::Missing => None,
        }
    }

    /// Whether all of the bounds hold.
    pub(crate) fn holds(self, bounds: &[Bound]) -> bool {
        use Ordering::{Equal, Greater, Less};
        let within = |low, high| Some(matches!(self.compare(low)?, Greater | Equal) && matches!(self.compare(high)?, Less | Equal));
        let holds = |bound: &Bound| match *bound {
            Bound::Be(d) => self.compare(d).map(|o| o == Equal),
            Bound::NotBe(d) => self.compare(d).map(|o| o != Equal),
            Bound::GreaterThan(d) => self.compare(d).map(|o| o == Greater),
            Bound::GreaterOrEqualTo(d) => self.compare(d).map(|o| o != Less),
            Bound::LessThan(d) => self.compare(d).map(|o| o == Less),
            Bound::LessOrEqualTo(d) => self.compare(d).map(|o| o != Greater),
            Bound::Between(low, high) => within(low, high),
            Bound::NotBetween(low, high) => within(low, high).map(|inside| !inside),
        };
        bounds.iter().all(|bound| holds(bound) == Some(true))
    }
}

/// The bounds as the contract writes them.
pub(crate) fn wanted(bounds: &[Bound], percent: bool) -> String {
    let mut text = String::new();
    for bound in bounds {
        if !text.is_empty() {
            text.push_str(", ");
        }
        let _ = match *bound {
            Bound::Be(d) => write!(text, "mustBe {}", plain(d)),
            Bound::NotBe(d) => write!(text, "mustNotBe {}", plain(d)),
            Bound::GreaterThan(d) => write!(text, "mustBeGreaterThan {}", plain(d)),
            Bound::GreaterOrEqualTo(d) => write!(text, "mustBeGreaterOrEqualTo {}", plain(d)),
            Bound::LessThan(d) => write!(text, "mustBeLessThan {}", plain(d)),
            Bound::LessOrEqualTo(d) => write!(text, "mustBeLessOrEqualTo {}", plain(d)),
            Bound::Between(a, b) => write!(text, "mustBeBetween {} and {}", plain(a), plain(b)),
            Bound::NotBetween(a, b) => write!(text, "mustNotBeBetween {} and {}", plain(a), plain(b)),
        };
        if percent {
            text.push_str(" percent");
        }
    }
    text
}

fn plain(d: Decimal) -> String {
    let scale = usize::from(d.scale);
    let digits = format!("{:0>width$}", d.unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if d.unscaled < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    #[test]
    fn bounds_are_exact() {
        // One row of three is more than 33.33 percent and less than 33.34.
        let third = Quantity::percent(1, 3);
        assert!(third.holds(&[Bound::GreaterThan(d(3333, 2)), Bound::LessThan(d(3334, 2))]));
        assert!(!third.holds(&[Bound::LessOrEqualTo(d(3333, 2))]));
        assert!(Quantity::percent(1, 8).holds(&[Bound::Be(d(125, 1))]));
        assert!(Quantity::percent(0, 0).holds(&[Bound::Be(d(0, 0)), Bound::LessThan(d(1, 38))]));
        assert!(Quantity::percent(u64::MAX, u64::MAX).holds(&[Bound::Be(d(100, 0))]));
        assert!(!Quantity::percent(u64::MAX - 1, u64::MAX).holds(&[Bound::Be(d(100, 0))]));
        let five = Quantity::Ratio(5, 1);
        assert!(five.holds(&[
            Bound::Between(d(5, 0), d(50, 1)),
            Bound::NotBetween(d(51, 1), d(6, 0)),
            Bound::NotBe(d(51, 1)),
            Bound::GreaterOrEqualTo(d(500, 2))
        ]));
        assert!(!five.holds(&[Bound::NotBetween(d(5, 0), d(6, 0))]));
        assert!(Quantity::Decimal(d(-150, 2)).holds(&[Bound::Be(d(-15, 1))]));
        assert!(Quantity::Float(0.3).holds(&[Bound::Be(d(3, 1))]));
    }

    #[test]
    fn nothing_holds_of_what_is_not_there() {
        for bound in [Bound::NotBe(d(1, 0)), Bound::LessThan(d(1, 0)), Bound::NotBetween(d(1, 0), d(2, 0))] {
            assert!(!Quantity::Missing.holds(&[bound]));
            assert!(!Quantity::Float(f64::NAN).holds(&[bound]));
        }
        // Fails closed when the numbers are beyond comparing.
        assert!(!Quantity::Ratio(1, 1).holds(&[Bound::NotBe(d(1, 200))]));
    }

    #[test]
    fn bounds_are_shown_as_written() {
        assert_eq!(
            wanted(&[Bound::LessThan(d(5, 1)), Bound::Between(d(-1, 0), d(5, 2))], true),
            "mustBeLessThan 0.5 percent, mustBeBetween -1 and 0.05 percent"
        );
        assert_eq!(wanted(&[Bound::Be(d(0, 0))], false), "mustBe 0");
    }
}
