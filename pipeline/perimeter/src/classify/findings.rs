//! From verdicts to findings: what a person has to answer for.
//!
//! A column that is what its contract says looks like other things too (a tenth of all card numbers are valid in a dozen ways). So a type that nearly all values have
//! *explains* others that chance would make as likely, and those are left out: the contract's own type where it agrees, else the likeliest.
use super::scan::{SeenColumn, value_type};
use super::words::{is_form, says};
use perimeter_contract::schema::{Column, DataType};
use perimeter_detect::{Agreement as Agreed, InfoType, Likelihood, Shape};

/// Where in a column something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Values are of the type.
    Values,
    /// It stands inside of longer texts.
    Texts,
    /// The name of the column is of the type (Amazon Macie, csv).
    Header,
}

/// One type that the detectors have found in one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The type.
    pub info_type: InfoType,
    /// Where.
    pub place: Place,
    /// Share of the distinct values looked at; `None` where zeros in front had to be put back.
    pub share: Option<f64>,
    /// Its interval at 99 %; of texts there is none, all were looked at.
    pub interval: Option<(f64, f64)>,
    /// How likely that is.
    pub confidence: Likelihood,
}

/// Any number can be a telephone number or a count of seconds.
pub(crate) fn is_weak(info_type: InfoType) -> bool {
    matches!(info_type, InfoType::Date | InfoType::DateTime | InfoType::Phone)
}

/// Whether a finding would be left when this one stands: the evidence for the other must be the better one.
fn explains(one: &Agreed, other: &Agreed) -> bool {
    one.share >= 0.9 && one.chance <= other.chance
}

/// What has been found in a column, the likeliest first. `column` is what its contract says, where there is one.
pub fn of_column(column: &Column, seen: &SeenColumn) -> Vec<Found> {
    let verdict = &seen.verdict;
    let data_type = value_type(&column.data_type);
    let number = matches!(data_type, DataType::Int32 | DataType::Int64 | DataType::Decimal { .. } | DataType::Float64);
    // A day is a day: only that it is somebody's birthday says more.
    let calendar = matches!(data_type, DataType::Date { .. } | DataType::Timestamp { .. } | DataType::Time { .. } | DataType::Boolean);
    let counts = |agreed: &&Agreed| {
        agreed.confidence >= Likelihood::Likely && !(number && is_weak(agreed.info_type) && !agreed.announced) && (!calendar || is_date(agreed.info_type))
    };
    let agreed: Vec<&Agreed> = verdict.agreements.iter().filter(counts).collect();
    let contract = column.semantic_type.as_deref();
    let by_contract = agreed.iter().copied().find(|agreed| contract.is_some_and(|contract| says(contract, agreed.info_type.semantic_type())));
    let first = by_contract.or_else(|| agreed.first().copied());
    let left = |agreed: &&Agreed| first.is_none_or(|first| std::ptr::eq(first, *agreed) || !explains(first, agreed));
    // Sentences are never values of a type, however many of them look like an address.
    let place = if verdict.shape == Shape::FreeText { Place::Texts } else { Place::Values };
    let mut found: Vec<Found> = agreed
        .into_iter()
        .filter(left)
        .map(|agreed| Found { info_type: agreed.info_type, place, share: Some(agreed.share), interval: Some(agreed.interval), confidence: agreed.confidence })
        .collect();
    if let Some(lost) = verdict.lost_leading_zeros.filter(|lost| !found.iter().any(|found| found.info_type == *lost)) {
        found.push(Found { info_type: lost, place: Place::Values, share: None, interval: None, confidence: Likelihood::Likely });
    }
    let inside = inside(seen, &found);
    found.extend(inside);
    found
}

fn is_date(info_type: InfoType) -> bool {
    matches!(info_type, InfoType::Date | InfoType::DateTime | InfoType::DateOfBirth)
}

/// What stands inside of texts, and is not what the values are anyway. How a value is written says nothing there: addresses of sites and times are in every memo.
fn inside(seen: &SeenColumn, values: &[Found]) -> Vec<Found> {
    let known = |info_type: InfoType| is_form(info_type) || values.iter().any(|found| found.info_type == info_type);
    let mut counts: Vec<(&InfoType, &u64)> = seen.inside.iter().filter(|(info_type, count)| **count > 0 && !known(**info_type)).collect();
    counts.sort_by_key(|(info_type, count)| (std::cmp::Reverse(**count), **info_type));
    let found = |(info_type, count): (&InfoType, &u64)| Found {
        info_type: *info_type,
        place: Place::Texts,
        share: Some(*count as f64 / seen.texts.max(1) as f64),
        interval: None,
        confidence: Likelihood::Likely,
    };
    counts.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests;
