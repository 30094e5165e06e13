//! Numbers on a model's scale: `none`, `log1p`, `standard`, `minMax` and `quantile`, from statistics of one pass.
//!
//! A [`Sketch`] per partition counts values on a fixed grid: 128 steps for each power of two, so a step is at most 0.8 % of its value wide. Per step it holds
//! exact integer sums, and the privacy units with a value in it, exactly up to k. Sketches merge in any order to the same state, so [`Sketch::freeze`] gives
//! the same bytes whatever the partitions were. At most 524,289 steps exist, and amounts of money touch about two thousand.
//!
//! **No single unit's value.** Values are clipped at grid edges that the data only choose among: the lower edge of the first step up to which at least k
//! units have a value, and the upper edge of the last step from which on at least k units have one. Quantiles are told apart only by steps that hold at
//! least k units. With fewer than k units, nothing is frozen. What remains are sums over many units; this is not differential privacy.
use super::layout::narrow;
use super::statistics::{Units, settle};
use arrow::buffer::NullBuffer;
use hashbrown::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};

/// Mantissa bits below a grid step: of 52, seven tell steps apart.
const OFFSET_BITS: u32 = 45;

/// Sums of squares in a step stay exact up to this many values.
const MOST_IN_STEP: u64 = 1 << 37;

/// A spread below this share of the largest magnitude is rounding.
const CONSTANT: f64 = 1e-12;

/// How a feature is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleKind {
    /// Clipped, less the mean, by the standard deviation.
    Standard,
    /// Clipped, to 0 to 1.
    MinMax,
    /// The share of train values below, 0 to 1.
    Quantile {
        /// Steps at most.
        steps: NonZeroU32,
    },
}

/// Why values were not counted or scaled, or statistics not frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// A value is infinite or no number.
    #[error("row {row}: a value is not finite")]
    NotFinite {
        /// From 0, in what was given.
        row: usize,
    },
    /// `log1p` of -1 or less.
    #[error("row {row}: a value of -1 or less has no `log1p`")]
    Log1pDomain {
        /// From 0, in what was given.
        row: usize,
    },
    /// Too few units have a value for statistics that hide each of them.
    #[error("too few privacy units have a value: use `scale: none` or `log1p`, or pin statistics of more data")]
    TooFewUnits,
    /// More than 10^11 values in one step of the grid.
    #[error("too many values to add exactly")]
    TooManyValues,
    /// Rows, nulls and units are not as many.
    #[error("rows, nulls and privacy units are not as many")]
    Rows,
}

/// Counts a column on the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    min_units: NonZeroUsize,
    steps: HashMap<i32, Step>,
    missing: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step {
    values: u64,
    /// Sums of distances from the step's edge nearest to zero and of their squares, in units of the last place.
    offsets: u128,
    squares: u128,
    units: Units,
}

/// The step of a finite value: 0 for zero, its magnitude's leading bits counted from 1 with its sign for others. Steps ascend with the values.
fn step_of(value: f64) -> i32 {
    let magnitude = value.abs().to_bits();
    let step = if magnitude == 0 { 0 } else { (magnitude >> OFFSET_BITS) as i32 + 1 };
    if value < 0.0 { -step } else { step }
}

/// Where a step begins and ends, and one unit in the last place of its values. Zero's step is zero alone.
fn edges(step: i32) -> (f64, f64, f64) {
    if step == 0 {
        return (0.0, 0.0, 0.0);
    }
    let edge = |step: u32| f64::from_bits(u64::from(step) << OFFSET_BITS).min(f64::MAX);
    let near = f64::from_bits(u64::from(step.unsigned_abs() - 1) << OFFSET_BITS);
    let far = edge(step.unsigned_abs());
    let place = near.next_up() - near;
    if step > 0 { (near, far, place) } else { (-far, -near, place) }
}

impl Sketch {
    /// Counts units exactly up to `min_units`: the policy's k.
    pub fn new(min_units: NonZeroUsize) -> Self {
        Self { min_units, steps: HashMap::new(), missing: 0 }
    }

    /// Counts a column; `units` is a digest of each row's privacy unit.
    ///
    /// # Errors
    /// [`ScaleError::NotFinite`], [`ScaleError::TooManyValues`], [`ScaleError::Rows`].
    pub fn add(&mut self, values: &[f64], nulls: Option<&NullBuffer>, units: &[u64]) -> Result<(), ScaleError> {
        if values.len() != units.len() || nulls.is_some_and(|nulls| nulls.len() != values.len()) {
            return Err(ScaleError::Rows);
        }
        for (row, (&value, &unit)) in values.iter().zip(units).enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                self.missing = self.missing.saturating_add(1);
                continue;
            }
            if !value.is_finite() {
                return Err(ScaleError::NotFinite { row });
            }
            let step = self.steps.entry(step_of(value)).or_default();
            let offset = u128::from(value.to_bits() & ((1 << OFFSET_BITS) - 1));
            step.values += 1;
            if step.values > MOST_IN_STEP {
                return Err(ScaleError::TooManyValues);
            }
            step.offsets += offset;
            step.squares += offset * offset;
            step.units.insert(unit, self.min_units);
        }
        Ok(())
    }

    /// Adds all that `other`, made for the same k, counted: in any order and grouping, the same.
    ///
    /// # Errors
    /// [`ScaleError::TooManyValues`].
    pub fn merge(&mut self, other: &Self) -> Result<(), ScaleError> {
        self.missing = self.missing.saturating_add(other.missing);
        for (&at, theirs) in &other.steps {
            let step = self.steps.entry(at).or_default();
            // Both are at most 2^37, the offsets below 2^45.
            step.values += theirs.values;
            step.offsets += theirs.offsets;
            step.squares += theirs.squares;
            if step.values > MOST_IN_STEP {
                return Err(ScaleError::TooManyValues);
            }
            step.units.merge(&theirs.units, self.min_units);
        }
        Ok(())
    }

    /// Values counted.
    pub fn values(&self) -> u64 {
        self.steps.values().fold(0, |sum, step| sum.saturating_add(step.values))
    }

    /// Nulls counted.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// The scale of all that was counted.
    ///
    /// # Errors
    /// [`ScaleError::TooFewUnits`].
    pub fn freeze(&self, kind: ScaleKind) -> Result<Scaler, ScaleError> {
        let mut steps: Vec<(i32, &Step)> = self.steps.iter().map(|(&at, step)| (at, step)).collect();
        steps.sort_unstable_by_key(|&(at, _)| at);
        let low = self.reach(steps.iter().copied())?;
        let high = self.reach(steps.iter().rev().copied())?;
        if low > high {
            // Fewer than 2 k units, apart from one another: any edge would be one of a few units' values.
            return Err(ScaleError::TooFewUnits);
        }
        let clip = [settle(edges(low).0), settle(edges(high).1)];
        Ok(match kind {
            ScaleKind::Standard => {
                let (mean, standard_deviation) = moments(&steps, clip, (low, high));
                Scaler::Standard { clip, mean: settle(mean), standard_deviation: settle(standard_deviation) }
            }
            ScaleKind::MinMax => Scaler::MinMax { clip },
            ScaleKind::Quantile { steps: most } => self.quantiles(&steps, clip, (low, high), most),
        })
    }

    /// The first step, in the order given, up to which at least k units have a value.
    fn reach<'a>(&self, steps: impl Iterator<Item = (i32, &'a Step)>) -> Result<i32, ScaleError> {
        let mut units = Units::default();
        for (at, step) in steps {
            units.merge(&step.units, self.min_units);
            if units.reaches(self.min_units) {
                return Ok(at);
            }
        }
        Err(ScaleError::TooFewUnits)
    }

    /// A piecewise linear map from values to the share of values below, over steps of the grid joined until each holds at least k units and its share of values.
    fn quantiles(&self, steps: &[(i32, &Step)], clip: [f64; 2], (low, high): (i32, i32), most: NonZeroU32) -> Scaler {
        let all = self.values();
        let share = all.div_ceil(u64::from(most.get())).max(1);
        // Per joined step: where it begins and ends, the values in it.
        let mut joined: Vec<(f64, f64, u64)> = Vec::new();
        let mut units = Units::default();
        let mut open: Option<(f64, f64, u64)> = None;
        for &(at, step) in steps {
            // What is clipped lies in the outermost steps.
            let (begins, ends, _) = edges(at.clamp(low, high));
            let (start, values) = open.map_or((begins, 0), |(start, _, values)| (start, values));
            open = Some((start, ends, values.saturating_add(step.values)));
            units.merge(&step.units, self.min_units);
            if let Some((_, _, values)) = open
                && values >= share
                && at >= low
                && units.reaches(self.min_units)
            {
                joined.extend(open.take());
                units = Units::default();
            }
        }
        if let Some((start, ends, values)) = open {
            // Too little for a step of its own.
            match joined.last_mut() {
                Some(last) => (last.1, last.2) = (ends, last.2.saturating_add(values)),
                None => joined.push((start, ends, values)),
            }
        }
        let (mut edges, mut ranks) = (Vec::new(), Vec::new());
        let mut below = 0_u64;
        for (start, ends, values) in joined {
            for (edge, count) in [(start, below), (ends, below.saturating_add(values))] {
                let edge = settle(edge).clamp(edges.last().copied().unwrap_or(clip[0]), clip[1]);
                let rank = settle(ratio(count, all));
                if edges.last() != Some(&edge) || ranks.last() != Some(&rank) {
                    edges.push(edge);
                    ranks.push(rank);
                }
            }
            below = below.saturating_add(values);
        }
        Scaler::Quantile { edges, ranks }
    }
}

/// Mean and standard deviation of the clipped values; a spread that is only rounding is 1.
fn moments(steps: &[(i32, &Step)], clip: [f64; 2], (low, high): (i32, i32)) -> (f64, f64) {
    let all = steps.iter().fold(0_u64, |sum, (_, step)| sum.saturating_add(step.values));
    let scale = clip[0].abs().max(clip[1].abs());
    if all == 0 || scale == 0.0 {
        return (0.0, 1.0);
    }
    // Per step its mean and variance, from exact sums, in units of the largest magnitude; always in the order of the steps.
    let parts: Vec<(f64, f64, f64)> = steps
        .iter()
        .map(|&(at, step)| {
            let weight = ratio(step.values, all);
            if at < low || at > high {
                return (weight, clip[usize::from(at > high)] / scale, 0.0);
            }
            let (begins, ends, place) = edges(at);
            let count = float(step.values.into());
            let mean_offset = float(step.offsets) / count;
            let near = if at > 0 { begins } else { ends };
            let magnitude = near.abs() + mean_offset * place;
            let variance = (float(step.squares) / count - mean_offset * mean_offset).max(0.0);
            let spread = place / scale;
            (weight, if at > 0 { magnitude } else { -magnitude } / scale, variance * spread * spread)
        })
        .collect();
    let mean: f64 = parts.iter().map(|(weight, mean, _)| weight * mean).sum();
    let variance: f64 = parts.iter().map(|(weight, part, variance)| weight * ((part - mean) * (part - mean) + variance)).sum();
    let deviation = variance.sqrt();
    (mean * scale, if deviation <= CONSTANT { 1.0 } else { deviation * scale })
}

#[expect(clippy::cast_precision_loss, reason = "the same rounding on every machine")]
fn float(count: u128) -> f64 {
    count as f64
}

fn ratio(part: u64, whole: u64) -> f64 {
    float(part.into()) / float(whole.max(1).into())
}

/// A frozen scale: what values go through, in float64, before they are rounded to float32.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Scaler {
    /// As it is.
    None {},
    /// ln(1 + x).
    Log1p {},
    /// (clipped x - mean) / standard deviation.
    Standard {
        /// The least and the greatest value.
        clip: [f64; 2],
        /// Of the clipped train values.
        mean: f64,
        /// Of the clipped train values; 1 when they are all the same.
        standard_deviation: f64,
    },
    /// (clipped x - least) / (greatest - least).
    MinMax {
        /// The least and the greatest value.
        clip: [f64; 2],
    },
    /// The share of train values below x, linear between edges.
    Quantile {
        /// Ascending.
        edges: Vec<f64>,
        /// The share of values below each edge, ascending from 0 to 1.
        ranks: Vec<f64>,
    },
}

impl Scaler {
    /// Whether it is what the job file asks for.
    pub fn is_of(&self, scale: perimeter_contract::job::Scale) -> bool {
        use perimeter_contract::job::Scale;
        matches!(
            (self, scale),
            (Self::None {}, Scale::None)
                | (Self::Log1p {}, Scale::Log1p)
                | (Self::Standard { .. }, Scale::Standard)
                | (Self::MinMax { .. }, Scale::MinMax)
                | (Self::Quantile { .. }, Scale::Quantile)
        )
    }

    /// Whether the numbers make sense, as they do in a file of ours.
    pub fn is_sound(&self) -> bool {
        let clips = |clip: &[f64; 2]| clip[0].is_finite() && clip[1].is_finite() && clip[0] <= clip[1];
        match self {
            Self::None {} | Self::Log1p {} => true,
            Self::Standard { clip, mean, standard_deviation } => clips(clip) && mean.is_finite() && *standard_deviation > 0.0 && standard_deviation.is_finite(),
            Self::MinMax { clip } => clips(clip),
            Self::Quantile { edges, ranks } => {
                !edges.is_empty()
                    && edges.len() == ranks.len()
                    && edges.iter().all(|edge| edge.is_finite())
                    && edges.is_sorted()
                    && ranks.is_sorted()
                    && ranks.iter().all(|rank| (0.0..=1.0).contains(rank))
            }
        }
    }

    /// Appends every value on the scale, as float32; the slots of nulls come out as 0.
    ///
    /// # Errors
    /// [`ScaleError::NotFinite`] (also when the result is beyond float32), [`ScaleError::Log1pDomain`], [`ScaleError::Rows`]; `out` is then as it was before.
    pub fn apply(&self, values: &[f64], nulls: Option<&NullBuffer>, out: &mut Vec<f32>) -> Result<(), ScaleError> {
        if nulls.is_some_and(|nulls| nulls.len() != values.len()) {
            return Err(ScaleError::Rows);
        }
        let start = out.len();
        out.reserve(values.len());
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let mut refused = None;
        for (row, &value) in values.iter().enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                out.push(0.0);
                continue;
            }
            let scaled = narrow(self.scaled(value));
            if !scaled.is_finite() || !value.is_finite() {
                let outside = matches!(self, Self::Log1p {}) && value <= -1.0;
                refused = Some(if outside { ScaleError::Log1pDomain { row } } else { ScaleError::NotFinite { row } });
                break;
            }
            out.push(scaled);
        }
        refused.map_or(Ok(()), |error| {
            out.truncate(start);
            Err(error)
        })
    }

    fn scaled(&self, value: f64) -> f64 {
        match self {
            Self::None {} => value,
            // Not the C library's: that one picks its code by the processor, and its last bits with it.
            Self::Log1p {} => libm::log1p(value),
            Self::Standard { clip, mean, standard_deviation } => (value.max(clip[0]).min(clip[1]) - mean) / standard_deviation,
            // Halves, so that the widest range there is does not overflow.
            Self::MinMax { clip: [least, greatest] } if greatest > least => {
                (value.max(*least).min(*greatest) / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0)
            }
            Self::MinMax { .. } => 0.0,
            Self::Quantile { edges, ranks } => {
                let at = edges.partition_point(|&edge| edge < value);
                match (at.checked_sub(1), edges.get(at)) {
                    (_, None) => 1.0,
                    (Some(before), Some(&edge)) if edge > value => {
                        let part = (value / 2.0 - edges[before] / 2.0) / (edge / 2.0 - edges[before] / 2.0);
                        ranks[before] + part * (ranks[at] - ranks[before])
                    }
                    (None, Some(&edge)) if edge > value => 0.0,
                    (_, Some(_)) => ranks[at],
                }
            }
        }
    }
}

/// Appends 1 for every value that is there and 0 for every null: the presence mask of a filled feature.
pub fn presence(rows: usize, nulls: Option<&NullBuffer>, out: &mut Vec<i64>) {
    match nulls {
        Some(nulls) => out.extend(nulls.iter().map(i64::from)),
        None => out.extend(std::iter::repeat_n(1, rows)),
    }
}

#[cfg(test)]
mod tests;
