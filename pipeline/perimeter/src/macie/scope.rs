//! What a job looks at: per bucket the smallest set of key prefixes that the sources' globs allow.
//!
//! Macie has no globs: a job takes whole buckets and, over all of them alike, key prefixes. So there is one job per bucket, and results are filtered by key
//! against the listing afterwards. A prefix is the uri's text before its first wildcard; nothing from the listing goes into it, since keys can hold values.
use super::SourceFiles;
use std::collections::BTreeMap;

/// What the jobs of a run look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// One job each, by bucket name.
    pub buckets: Vec<BucketScope>,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketScope {
    /// The bucket.
    pub bucket: String,
    /// Key prefixes, none of which starts with another; empty: the whole bucket.
    pub prefixes: Vec<String>,
}

impl Scope {
    /// The scope of these sources. Sources on local disk add nothing: Macie cannot see them.
    pub fn of(sources: &[SourceFiles<'_>]) -> Self {
        let mut wanted: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for source in sources {
            if let Some((bucket, key)) = split(&source.source.uri.0) {
                wanted.entry(bucket).or_default().push(key.split(['*', '?', '[']).next().unwrap_or_default());
            }
        }
        let buckets = wanted.into_iter().map(|(bucket, prefixes)| BucketScope { bucket: bucket.to_owned(), prefixes: smallest(prefixes) });
        Self { buckets: buckets.collect() }
    }
}

/// Without those that another one covers.
fn smallest(mut prefixes: Vec<&str>) -> Vec<String> {
    prefixes.sort_unstable();
    let mut kept: Vec<String> = Vec::new();
    for prefix in prefixes {
        if prefix.is_empty() {
            return Vec::new();
        }
        // Sorted: what covers a prefix comes right before it.
        if !kept.last().is_some_and(|before| prefix.starts_with(before.as_str())) {
            kept.push(prefix.to_owned());
        }
    }
    kept
}

/// Bucket and key of an `s3://` uri.
pub(super) fn split(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("s3://")?;
    Some(rest.split_once('/').unwrap_or((rest, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_before_the_first_wildcard_and_cover_each_other_once() {
        assert_eq!(smallest(vec!["tx/dt=2026-01-", "tx/dt=2026-01-0", "accounts.csv", "tx/dt=2025"]), ["accounts.csv", "tx/dt=2025", "tx/dt=2026-01-"]);
        assert_eq!(smallest(vec!["tx/", ""]), [""; 0], "one glob over the whole bucket takes it all");
        assert_eq!(smallest(vec!["a", "a"]), ["a"]);
    }
}
