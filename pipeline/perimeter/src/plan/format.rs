//! How many values share the format of a column under `cryptoReplaceFfxFpe`: whether FF1 may run, and what the plan says about it.
use super::decide::contract_column;
use super::lineage::ColumnLineage;
use crate::pseudonymize::fpe_options;
use perimeter_contract::Contract;
use perimeter_contract::policy::{Canonicalize, Transform};
use perimeter_contract::schema::Check;
use perimeter_pseudonym::transform::{Domain, FpeOptions};

/// The arithmetic of one column.
#[derive(Clone, Debug)]
pub struct Format {
    /// For the shortest values, where their length is known.
    pub smallest: Option<Domain>,
    /// What follows.
    pub verdict: Verdict,
    /// The transform's options; with lengths where all of them will do.
    pub options: FpeOptions,
}

/// Whether FF1 may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At least 10^6 values share every format.
    LargeEnough,
    /// Nobody says how long values are: one that is too short is refused when it comes, or takes the fallback.
    NotKnown,
    /// The shortest values take the fallback.
    SomeFallBack,
    /// All values do: FF1 never runs.
    AllFallBack,
    /// Too few, and the policy states no fallback.
    TooSmall(Domain),
}

impl Format {
    /// `None` for other transforms. Lengths are the policy's, or those of the contract's columns where the column passes through.
    pub fn of(contract: &Contract, lineage: &ColumnLineage, transform: &Transform) -> Option<Self> {
        let Transform::CryptoReplaceFfxFpe { lengths, fallback, canonicalize, .. } = transform else { return None };
        let mut options = fpe_options(transform)?;
        let fixed = options.check_digit.and_then(perimeter_pseudonym::transform::CheckDigit::length);
        let (shortest, longest) = match (fixed, lengths) {
            (Some(length), _) => (Some(length), Some(length)),
            (None, Some((shortest, longest))) => (Some(usize::from(*shortest)), Some(usize::from(*longest))),
            (None, None) if lineage.computed => (None, None),
            (None, None) => of_contract(contract, lineage),
        };
        let padded = canonicalize.iter().find_map(|step| if let Canonicalize::LeftPad(length) = step { Some(usize::from(*length)) } else { None });
        let longer = |length: usize| padded.map_or(length, |padded| length.max(padded));
        let (shortest, longest) = (shortest.or(padded).map(longer), longest.map(longer));
        let smallest = shortest.map(|length| options.domain(length));
        let largest = longest.map(|length| options.domain(length));
        let verdict = match (smallest, largest, fallback) {
            (_, Some(largest), Some(_)) if !largest.is_large_enough() => Verdict::AllFallBack,
            (Some(smallest), _, Some(_)) if !smallest.is_large_enough() => Verdict::SomeFallBack,
            (_, Some(largest), None) if !largest.is_large_enough() => Verdict::TooSmall(largest),
            (Some(smallest), _, None) if !smallest.is_large_enough() => Verdict::TooSmall(smallest),
            (Some(_), _, _) => Verdict::LargeEnough,
            (None, _, _) => Verdict::NotKnown,
        };
        if verdict == Verdict::LargeEnough
            && let Some(shortest) = shortest
        {
            options.lengths = Some(shortest..=longest.unwrap_or(shortest).max(shortest));
        }
        Some(Self { smallest: smallest.or(largest), verdict, options })
    }

    /// The arithmetic, when the plan must refuse.
    pub fn too_small(&self) -> Option<Domain> {
        if let Verdict::TooSmall(domain) = self.verdict { Some(domain) } else { None }
    }

    /// What `plan` says: the arithmetic and what follows from it.
    pub fn explain(&self, transform: &Transform) -> String {
        let instead = match transform {
            Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), .. } => format!("get {}", fallback.name()),
            _ => "end the job".to_owned(),
        };
        let arithmetic = self.smallest.map_or_else(|| "lengths not known".to_owned(), |domain| domain.to_string());
        match self.verdict {
            Verdict::LargeEnough => arithmetic,
            Verdict::NotKnown => format!("{arithmetic}; values whose format fewer than 10^6 share {instead}"),
            Verdict::SomeFallBack => format!("{arithmetic}, fewer than 10^6: such values {instead}"),
            Verdict::AllFallBack => format!("{arithmetic}, fewer than 10^6: all values {instead}"),
            Verdict::TooSmall(_) => format!("{arithmetic}, fewer than 10^6"),
        }
    }
}

/// The shortest and longest text that the contract lets through, separators included.
fn of_contract(contract: &Contract, lineage: &ColumnLineage) -> (Option<usize>, Option<usize>) {
    let size = |length: u32| usize::try_from(length).unwrap_or(usize::MAX);
    let mut shortest: Vec<Option<usize>> = Vec::new();
    let mut longest: Vec<Option<usize>> = Vec::new();
    for from in &lineage.from {
        let rules = contract_column(contract, from).map(|column| column.rules.as_slice()).unwrap_or_default();
        shortest.push(rules.iter().filter_map(|rule| if let Check::MinLength(length) = rule.check { Some(size(length)) } else { None }).max());
        longest.push(rules.iter().filter_map(|rule| if let Check::MaxLength(length) = rule.check { Some(size(length)) } else { None }).min());
    }
    let all = |lengths: Vec<Option<usize>>| lengths.into_iter().collect::<Option<Vec<usize>>>();
    (all(shortest).and_then(|lengths| lengths.into_iter().min()), all(longest).and_then(|lengths| lengths.into_iter().max()))
}
