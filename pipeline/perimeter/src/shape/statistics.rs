//! What is computed once from the train split and frozen: `statistics.json`.
//!
//! [`Statistics`] holds scales, vocabularies and bucket boundaries. Written once, a later run pins it (`statistics: URI`), so that ids, scales and shapes stay
//! what the model was trained on. The file is read strictly: unknown keys, another version and values that no run of ours writes are refused. Its numbers are
//! rounded so that reading gives back the bits that were written.
use super::scale::Scaler;
use super::vocabulary::Vocabulary;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Distinct privacy units, exactly up to a limit: all of them while they are fewer, else as many as the limit.
///
/// It holds digests, keyed by the caller, and of these the smallest: so two sets of the same units are equal, in whatever order they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    digests: Vec<u64>,
}

impl Units {
    /// Counts a unit, unless `limit` smaller digests are there.
    pub fn insert(&mut self, digest: u64, limit: NonZeroUsize) {
        if self.reaches(limit) && self.digests.last().is_none_or(|&last| last <= digest) {
            return;
        }
        if let Err(place) = self.digests.binary_search(&digest) {
            self.digests.insert(place, digest);
            self.digests.truncate(limit.get());
        }
    }

    /// Counts the units of `other`.
    pub fn merge(&mut self, other: &Self, limit: NonZeroUsize) {
        other.digests.iter().for_each(|&digest| self.insert(digest, limit));
    }

    /// Whether there are at least `limit`.
    pub fn reaches(&self, limit: NonZeroUsize) -> bool {
        self.digests.len() >= limit.get()
    }
}

/// The frozen statistics of a dataset.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Statistics {
    api_version: ApiVersion,
    kind: Kind,
    /// The fewest privacy units that anything in here stands for.
    pub min_units: NonZeroUsize,
    /// Bucket boundaries, ascending; absent when the job does not choose them by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<u32>>,
    /// By feature.
    pub features: BTreeMap<String, FeatureStatistics>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum ApiVersion {
    #[serde(rename = "perimeter/v1")]
    V1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Kind {
    Statistics,
}

/// What one feature needs.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeatureStatistics {
    /// Of a number that is scaled by the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scaler>,
    /// Of a category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<Vocabulary>,
}

/// The file is not one that a run of ours wrote. Its texts quote nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatisticsError {
    /// Not JSON of the expected form.
    #[error("line {line}, column {column}: not what `statistics.json` has there")]
    Form {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// Buckets do not ascend.
    #[error("buckets do not ascend")]
    Buckets,
    /// Numbers of a scale contradict each other.
    #[error("the numbers of a scale contradict each other")]
    Scale,
}

impl Statistics {
    /// Without features yet.
    pub fn new(min_units: NonZeroUsize) -> Self {
        Self { api_version: ApiVersion::V1, kind: Kind::Statistics, min_units, buckets: None, features: BTreeMap::new() }
    }

    /// The file's bytes: features in byte order, the same for the same statistics.
    pub fn to_json(&self) -> Vec<u8> {
        // Strings, numbers and maps with string keys: nothing that serde_json can refuse.
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`StatisticsError`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, StatisticsError> {
        let this: Self = serde_json::from_slice(bytes).map_err(|error| StatisticsError::Form { line: error.line(), column: error.column() })?;
        if this.buckets.as_ref().is_some_and(|buckets| buckets.first().is_none_or(|&first| first == 0) || buckets.windows(2).any(|pair| pair[0] >= pair[1])) {
            return Err(StatisticsError::Buckets);
        }
        if this.features.values().filter_map(|feature| feature.scale.as_ref()).any(|scale| !scale.is_sound()) {
            return Err(StatisticsError::Scale);
        }
        Ok(this)
    }
}

/// SHA-256 in hex: what the manifest says of the file.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A number near `value` (to 15 digits; far beyond 1e±22 to fewer) that our JSON reader gives back bit for bit: serde_json reads fast rather than to the last bit.
pub(super) fn settle(value: f64) -> f64 {
    if !value.is_finite() {
        return value;
    }
    let through_json = |value: f64| serde_json::to_string(&value).ok().and_then(|text| serde_json::from_str::<f64>(&text).ok()).filter(|read| read.is_finite());
    let at_rest = |value: f64| through_json(value).is_some_and(|read| read.to_bits() == value.to_bits());
    let rounded = |digits: usize| format!("{value:.digits$e}").parse::<f64>().ok().filter(|&rounded| rounded.is_finite() && at_rest(rounded));
    // Fifteen digits, nearly always. Of very large and very small numbers, reading and writing until it rests; else as many digits as survive.
    let read_again = || std::iter::successors(Some(value), |&value| through_json(value)).take(64).find(|&value| at_rest(value));
    rounded(14).or_else(read_again).or_else(|| (0..14).rev().find_map(rounded)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn number(value: usize) -> NonZeroUsize {
        NonZeroUsize::new(value).unwrap()
    }

    proptest! {
        #[test]
        fn units_are_counted_exactly_up_to_the_limit(left in prop::collection::vec(0_u64..12, 0..20), right in prop::collection::vec(0_u64..12, 0..20), limit in 1_usize..8) {
            let of = |digests: &[u64]| {
                let mut units = Units::default();
                digests.iter().for_each(|&digest| units.insert(digest, number(limit)));
                units
            };
            let mut merged = of(&left);
            merged.merge(&of(&right), number(limit));
            let all: BTreeSet<u64> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(merged.digests.len(), all.len().min(limit));
            for below in 1..=limit {
                prop_assert_eq!(merged.reaches(number(below)), all.len() >= below);
            }
            let backwards: Vec<u64> = left.iter().chain(&right).rev().copied().collect();
            prop_assert_eq!(merged, of(&backwards));
        }

        #[test]
        fn settled_numbers_survive_their_file(value in prop_oneof![any::<u64>().prop_map(f64::from_bits), -1e9..1e9]) {
            prop_assume!(value.is_finite());
            let settled = settle(value);
            let read: f64 = serde_json::from_str(&serde_json::to_string(&settled).unwrap()).unwrap();
            prop_assert_eq!(read.to_bits(), settled.to_bits());
            let usual = (1e-6..1e22).contains(&value.abs());
            prop_assert!((settled - value).abs() <= value.abs() * if usual { 1e-14 } else { 1e-5 } || value.abs() < 1e-300, "{} {}", value, settled);
        }
    }

    #[test]
    fn round_numbers_stay() {
        for value in [0.0, 1.0, -2.5, 1e15, 0.1, 123_456.789, 1e-7] {
            assert_eq!(settle(value), value);
        }
    }

    #[test]
    fn the_file_is_read_strictly() {
        let mut statistics = Statistics::new(number(10));
        statistics.buckets = Some(vec![8, 16]);
        statistics.features.insert("amount".to_owned(), FeatureStatistics { scale: Some(Scaler::MinMax { clip: [-1.5, 2.0] }), vocabulary: None });
        let vocabulary = serde_json::from_str(r#"["GROCERY","FUEL"]"#).unwrap();
        statistics.features.insert("kind".to_owned(), FeatureStatistics { scale: None, vocabulary: Some(vocabulary) });
        let bytes = statistics.to_json();
        assert_eq!(Statistics::from_json(&bytes), Ok(statistics));
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_eq!(sha256(&bytes).len(), 64);
        for (from, to) in [
            ("perimeter/v1", "perimeter/v2"),
            ("Statistics", "Manifest"),
            ("\"minUnits\"", "\"minimumUnits\""),
            ("\"minUnits\": 10", "\"minUnits\": 0"),
            ("\"GROCERY\"", "\"FUEL\""),
            ("minMax", "secretScale"),
            ("\"clip\"", "\"clap\""),
            ("}\n", "}}\n"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let error = Statistics::from_json(changed.as_bytes()).unwrap_err();
            assert!(matches!(error, StatisticsError::Form { .. }), "{from}: {error}");
            assert!(!error.to_string().contains("FUEL") && !error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(Statistics::from_json(text.replace("2.0", "-2.0").as_bytes()), Err(StatisticsError::Scale));
        assert_eq!(Statistics::from_json(text.replace("16", "8").as_bytes()), Err(StatisticsError::Buckets));
    }
}
