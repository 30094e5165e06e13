//! From counts to a verdict.

use super::ColumnProfile;
use super::observe::Class;
use crate::words::announced_by_name;
use crate::{InfoType, Likelihood, TypeSet};
use std::collections::BTreeSet;

/// What the values of a column look like, whatever they mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// No value.
    Empty,
    /// Texts of many words.
    FreeText,
    /// Calendar days.
    Date,
    /// Points in time.
    DateTime,
    /// Quantities.
    Number,
    /// Codes or numbers that differ from row to row and say nothing by themselves: review as a quasi-identifier.
    OpaqueId,
    /// A few values that come back.
    Category,
    /// Words, and anything else.
    Words,
}

impl Shape {
    /// The stable name, as reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "EMPTY",
            Self::FreeText => "FREE_TEXT",
            Self::Date => "DATE",
            Self::DateTime => "DATE_TIME",
            Self::Number => "NUMBER",
            Self::OpaqueId => "OPAQUE_ID",
            Self::Category => "CATEGORY",
            Self::Words => "WORDS",
        }
    }
}

/// A type that a column's values agree with.
#[derive(Clone, PartialEq, Debug)]
pub struct Agreement {
    /// The type.
    pub info_type: InfoType,
    /// Share of the distinct values looked at that are of the type.
    pub share: f64,
    /// The share's Wilson interval at 99 %.
    pub interval: (f64, f64),
    /// Share that random values of the type's shape would reach.
    pub chance: f64,
    /// Whether the column's name announces the type.
    pub announced: bool,
    /// How likely the column is of the type.
    pub confidence: Likelihood,
}

/// A type that stands inside the texts of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct TextShare {
    /// The type.
    pub info_type: InfoType,
    /// Share of the distinct values looked at that have it inside.
    pub share: f64,
    /// The share's Wilson interval at 99 %.
    pub interval: (f64, f64),
}

/// What a column is found to be. There is no value in it.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnVerdict {
    /// Rows seen.
    pub rows: u64,
    /// Of them null or blank.
    pub nulls: u64,
    /// Distinct values, estimated where not all were kept.
    pub distinct: u64,
    /// Distinct values looked at.
    pub looked_at: usize,
    /// Whether every distinct value was looked at.
    pub complete: bool,
    /// What the values look like.
    pub shape: Shape,
    /// Types of whole values, the likeliest first.
    pub agreements: Vec<Agreement>,
    /// Types inside longer texts, the most frequent first.
    pub inside: Vec<TextShare>,
    /// The values are of this type once the leading zeros that an integer column has lost are put back.
    pub lost_leading_zeros: Option<InfoType>,
}

impl ColumnVerdict {
    /// The likeliest type, if it is likely at all.
    pub fn info_type(&self) -> Option<InfoType> {
        self.agreements.first().filter(|agreement| agreement.confidence >= Likelihood::Likely).map(|agreement| agreement.info_type)
    }

    /// The `semanticType` to propose for a contract; `None` where the values say nothing. A custom type has the caller's own.
    pub fn semantic_type(&self) -> Option<&'static str> {
        if let Some(info_type) = self.info_type() {
            return Some(info_type.semantic_type());
        }
        match self.shape {
            Shape::FreeText => Some("FREE_TEXT"),
            Shape::Date => Some("EVENT_DATE"),
            Shape::DateTime => Some("EVENT_TIME"),
            _ => None,
        }
    }
}

pub(super) fn judge(profile: &ColumnProfile) -> ColumnVerdict {
    let announced = announced_by_name(&profile.sample.name);
    let looked_at = profile.sample.kept.len();
    let count = |holds: &dyn Fn(&super::observe::Observation) -> bool| profile.sample.kept.values().filter(|observation| holds(observation)).count();
    let distinct = match profile.sample.kept.last_key_value() {
        // The k smallest of uniform hashes: the k-th stands at about k / n of their range.
        Some((&largest, _)) if profile.sample.left_out && looked_at > 1 => {
            let estimate = ((looked_at - 1) as f64 / (largest as f64 / u64::MAX as f64)) as u64;
            // One value at least was left out, and no more than there are rows.
            estimate.clamp((looked_at as u64 + 1).min(profile.sample.rows - profile.sample.nulls), profile.sample.rows - profile.sample.nulls)
        }
        _ => looked_at as u64,
    };
    let shape = shape(profile, &count, distinct);
    let (mut valid, mut agrees, mut inside) = (TypeSet::EMPTY, TypeSet::EMPTY, TypeSet::EMPTY);
    let mut custom = 0u64;
    for observation in profile.sample.kept.values() {
        valid = valid.union(observation.valid);
        agrees = agrees.union(observation.agrees);
        inside = inside.union(observation.inside);
        custom |= observation.custom;
    }
    let mut agreements: Vec<Agreement> = agrees
        .iter()
        .filter_map(|info_type| {
            let valid = count(&|observation| observation.valid.contains(info_type));
            let agrees = count(&|observation| observation.agrees.contains(info_type));
            let counts = Counts { valid, agrees, shaped: shaped(profile, info_type), total: looked_at };
            agreement(info_type, counts, announced)
        })
        .collect();
    for index in (0..64u16).filter(|index| custom >> index & 1 == 1) {
        let count = count(&|observation| observation.custom >> index & 1 == 1);
        let share = share(count, looked_at);
        let confidence = if share >= 0.9 {
            Likelihood::VeryLikely
        } else if share >= 0.5 {
            Likelihood::Likely
        } else {
            Likelihood::Possible
        };
        agreements.push(Agreement { info_type: InfoType::Custom(index), share, interval: wilson(count, looked_at), chance: 0.0, announced: false, confidence });
    }
    if agreements.iter().any(|agreement| agreement.info_type == InfoType::DateOfBirth) {
        agreements.retain(|agreement| agreement.info_type != InfoType::Date);
    }
    if shape == Shape::FreeText {
        agreements.retain(|agreement| agreement.share >= 0.5);
    }
    agreements.sort_by(|a, b| {
        b.confidence.cmp(&a.confidence).then(b.announced.cmp(&a.announced)).then(b.share.total_cmp(&a.share)).then(a.info_type.rank().cmp(&b.info_type.rank()))
    });
    let mut inside: Vec<TextShare> = inside
        .iter()
        .map(|info_type| {
            let count = count(&|observation| observation.inside.contains(info_type));
            TextShare { info_type, share: share(count, looked_at), interval: wilson(count, looked_at) }
        })
        .collect();
    inside.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.info_type.rank().cmp(&b.info_type.rank())));
    ColumnVerdict {
        rows: profile.sample.rows,
        nulls: profile.sample.nulls,
        distinct,
        looked_at,
        complete: !profile.sample.left_out,
        shape,
        agreements,
        inside,
        lost_leading_zeros: lost_leading_zeros(&count, looked_at),
    }
}

/// Distinct values by what they say of one type.
struct Counts {
    valid: usize,
    agrees: usize,
    /// Those of the kinds and lengths that the valid ones have: what chance is a share of.
    shaped: usize,
    total: usize,
}

fn shaped(profile: &ColumnProfile, info_type: InfoType) -> usize {
    let valid = profile.sample.kept.values().filter(|observation| observation.valid.contains(info_type));
    let shapes: BTreeSet<(u8, u16)> = valid.map(|observation| (observation.characters, observation.length)).collect();
    profile.sample.kept.values().filter(|observation| shapes.contains(&(observation.characters, observation.length))).count()
}

/// Counts the distinct values looked at of which something holds.
type Count<'a> = &'a dyn Fn(&dyn Fn(&super::observe::Observation) -> bool) -> usize;

/// What the counts say of one type; `None` if nothing.
fn agreement(info_type: InfoType, Counts { valid, agrees, shaped, total }: Counts, announced: TypeSet) -> Option<Agreement> {
    let chance = info_type.chance();
    let announced = announced.contains(info_type);
    let interval = wilson(valid, total);
    let valid_share = share(valid, total);
    // Dozens of types are tried on each column: a share must be well above chance, not just surely above.
    let bar = (2.0 * chance).min(chance + (1.0 - chance) / 2.0);
    let above_chance = wilson(valid, shaped).0 > bar;
    let by_check = match valid_share {
        _ if !above_chance => None,
        share if share >= 0.9 => Some(if announced || chance <= 0.02 { Likelihood::VeryLikely } else { Likelihood::Likely }),
        share if share >= 0.5 => Some(if announced || chance <= 0.02 { Likelihood::Likely } else { Likelihood::Possible }),
        _ => Some(if announced { Likelihood::Likely } else { Likelihood::Possible }),
    };
    let by_name = match (announced, share(agrees, total)) {
        (true, share) if share >= 0.9 && valid_share >= 0.9 => Some(Likelihood::VeryLikely),
        (true, share) if share >= 0.5 => Some(Likelihood::Likely),
        (true, share) if share >= 0.1 => Some(Likelihood::Possible),
        _ => None,
    };
    let confidence = by_check.max(by_name)?;
    // What the name announces is counted as loosely as it is claimed.
    let (share, interval) = if by_check >= by_name { (valid_share, interval) } else { (share(agrees, total), wilson(agrees, total)) };
    Some(Agreement { info_type, share, interval, chance, announced, confidence })
}

fn shape(profile: &ColumnProfile, count: Count<'_>, distinct: u64) -> Shape {
    let total = profile.sample.kept.len();
    if total == 0 {
        return Shape::Empty;
    }
    let of = |class: Class| share(count(&|observation| observation.class == class), total);
    let values = profile.sample.rows - profile.sample.nulls;
    let unique = distinct as f64 / values.max(1) as f64;
    let (integers, zero_led) = (of(Class::Integer), of(Class::ZeroLed));
    let lengths = profile.sample.kept.values().fold((u16::MAX, 0), |(least, most), observation| (least.min(observation.length), most.max(observation.length)));
    if of(Class::Text) >= 0.3 {
        Shape::FreeText
    } else if of(Class::Time) >= 0.9 {
        Shape::DateTime
    } else if of(Class::Day) + of(Class::Time) >= 0.9 {
        if of(Class::Time) > 0.5 { Shape::DateTime } else { Shape::Date }
    } else if integers + zero_led + of(Class::Code) >= 0.9
        && unique >= 0.5
        && (zero_led > 0.02 || of(Class::Code) > 0.1 || lengths.0 >= 5 && lengths.1 - lengths.0 <= 2)
        && of(Class::Decimal) < 0.05
    {
        Shape::OpaqueId
    } else if integers + zero_led + of(Class::Decimal) >= 0.9 && zero_led < 0.5 {
        if distinct <= 12 && values > 10 * distinct && of(Class::Decimal) < 0.1 { Shape::Category } else { Shape::Number }
    } else if unique < 0.1 && distinct <= 1000 {
        Shape::Category
    } else if of(Class::Code) + zero_led + integers >= 0.5 {
        Shape::OpaqueId
    } else {
        Shape::Words
    }
}

fn lost_leading_zeros(count: Count<'_>, total: usize) -> Option<InfoType> {
    let of = |info_type: InfoType, padded: &dyn Fn(&super::observe::Observation) -> bool| {
        let some = count(padded);
        let all = count(&|observation| padded(observation) || observation.valid.contains(info_type));
        // A tenth of all CPF begin with a zero; a single one may be a mistake.
        (some > 0 && share(all, total) >= 0.9 && wilson(all, total).0 > 0.1).then_some(info_type)
    };
    of(InfoType::BrCpf, &|observation| observation.padded_cpf).or_else(|| of(InfoType::BrCnpj, &|observation| observation.padded_cnpj))
}

fn share(count: usize, total: usize) -> f64 {
    if total == 0 { 0.0 } else { count as f64 / total as f64 }
}

/// Wilson's interval for a share, at 99 %.
pub(super) fn wilson(count: usize, total: usize) -> (f64, f64) {
    if total == 0 {
        return (0.0, 1.0);
    }
    const Z: f64 = 2.576;
    let (n, p) = (total as f64, count as f64 / total as f64);
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
}
