//! Reports of many objects into one verdict: what was found in which column, and what is not clean.
//!
//! Nothing is dropped. Of one object and type the counts of a finding, of a result and of an earlier job are views of the same occurrences, so the largest counts; what is
//! counted beyond what is located is a finding without a column. An object that no report covers is not clean, and neither is one that is not what Macie saw.
use super::locate::{Columns, Place};
use super::report::{Code, Detection, Kind, Report};
use super::scope::split;
use super::{ColumnFinding, JobReport, JobStatus, Macie, NotClean, ObjectResult, ObjectStatus, Options, SourceFiles, Why, semantic_type};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Collects reports.
pub(super) struct Judge {
    sources: Vec<Columns>,
    objects: Vec<Object>,
    /// By bucket and key: every source that reads the object.
    by_key: HashMap<String, HashMap<String, Vec<usize>>>,
    outside: u64,
}

/// A planned object.
struct Object {
    source: usize,
    file: usize,
    label: String,
    on_s3: bool,
    etag: Option<String>,
    modified_us: Option<i64>,
    worst: Option<Code>,
    reason: Option<String>,
    /// Reports were about other bytes than the listing's.
    changed: bool,
    found: BTreeMap<(String, bool), Tally>,
}

/// One type in one object, by kind of report.
#[derive(Default)]
struct Tally {
    finding: Counts,
    result: Counts,
    embedded: Counts,
}

#[derive(Default)]
struct Counts {
    total: u64,
    places: BTreeMap<Place, u64>,
}

impl Counts {
    /// Another view of the same occurrences.
    fn largest(&mut self, other: &Self) {
        self.total = self.total.max(other.total);
        for (place, count) in &other.places {
            let own = self.places.entry(*place).or_default();
            *own = (*own).max(*count);
        }
    }

    /// Other occurrences.
    fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        for (place, count) in &other.places {
            let own = self.places.entry(*place).or_default();
            *own = own.saturating_add(*count);
        }
    }

    fn located(&self) -> u64 {
        self.places.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

impl Judge {
    pub(super) fn new(sources: &[SourceFiles<'_>]) -> Self {
        let mut judge = Self { sources: Vec::new(), objects: Vec::new(), by_key: HashMap::new(), outside: 0 };
        for (index, source) in sources.iter().enumerate() {
            judge.sources.push(Columns::new(&source.source.schema, &source.source.format));
            for (at, file) in source.files.iter().enumerate() {
                let place = split(&file.uri);
                if let Some((bucket, key)) = place {
                    judge.by_key.entry(bucket.to_owned()).or_default().entry(key.to_owned()).or_default().push(judge.objects.len());
                }
                judge.objects.push(Object {
                    source: index,
                    file: at,
                    label: file.label.clone(),
                    on_s3: place.is_some(),
                    etag: file.etag.as_deref().map(bare_etag).map(str::to_owned),
                    modified_us: file.modified_us,
                    worst: None,
                    reason: None,
                    changed: false,
                    found: BTreeMap::new(),
                });
            }
        }
        judge
    }

    /// Takes one report of a job that started then (seconds since 1970).
    pub(super) fn take(&mut self, report: &Report, started_s: Option<i64>) {
        let Some(planned) = self.by_key.get(&report.bucket).and_then(|keys| keys.get(&report.key)) else {
            self.outside = self.outside.saturating_add(1);
            return;
        };
        for &index in planned {
            let Some(object) = self.objects.get_mut(index) else { continue };
            object.changed |= object.differs(report, started_s);
            if object.worst.is_none_or(|worst| report.code > worst) {
                object.worst = Some(report.code);
                object.reason.clone_from(&report.reason);
            }
            let Some(columns) = self.sources.get(object.source) else { continue };
            // Of one report, a type can be in two groups.
            let mut own: BTreeMap<(&str, bool), Counts> = BTreeMap::new();
            for detection in &report.detections {
                own.entry((&detection.info_type, detection.custom)).or_default().add(&locate(columns, detection));
            }
            for ((info_type, custom), counts) in own {
                let tally = object.found.entry((info_type.to_owned(), custom)).or_default();
                match report.kind {
                    Kind::Finding => tally.finding.largest(&counts),
                    Kind::Result => tally.result.largest(&counts),
                    Kind::Embedded => tally.embedded.add(&counts),
                }
            }
        }
    }

    /// The verdict.
    pub(super) fn finish(self, jobs: Vec<JobReport>, options: &Options, now_s: i64) -> Macie {
        let mut not_clean: Vec<NotClean> = jobs.iter().flat_map(|job| of_job(job, options, now_s)).collect();
        let mut findings: BTreeMap<(usize, Place, String, bool), ColumnFinding> = BTreeMap::new();
        let mut objects = Vec::with_capacity(self.objects.len());
        for object in &self.objects {
            let why = |why: Why, detail: Option<String>| NotClean { why, object: Some((object.source, object.file)), label: object.label.clone(), detail };
            let status = match object.worst {
                Some(Code::Complete) => ObjectStatus::Complete,
                Some(Code::Partial) => ObjectStatus::Partial,
                Some(Code::Skipped) => ObjectStatus::Skipped,
                None => ObjectStatus::NotScanned,
            };
            match status {
                ObjectStatus::Complete => {}
                ObjectStatus::Partial => not_clean.push(why(Why::Partial, object.reason.clone())),
                ObjectStatus::Skipped => not_clean.push(why(Why::Skipped, object.reason.clone())),
                ObjectStatus::NotScanned => not_clean.push(why(Why::NotScanned, (!object.on_s3).then(|| "not on S3".to_owned()))),
            }
            if object.changed {
                not_clean.push(why(Why::ObjectChanged, None));
            }
            let mut unclear: BTreeSet<(Why, &str)> = BTreeSet::new();
            for ((info_type, custom), tally) in &object.found {
                for (place, count, unlocated) in tally.spread() {
                    match place {
                        Place::Column(_) => {}
                        Place::Header => drop(unclear.insert((Why::SensitiveHeader, info_type))),
                        Place::Nowhere if unlocated => drop(unclear.insert((Why::Unlocated, info_type))),
                        Place::Nowhere => drop(unclear.insert((Why::Unmatched, info_type))),
                    }
                    let column = if let Place::Column(column) = place { Some(column) } else { None };
                    let known = options.custom_types.get(info_type).map(String::as_str);
                    let finding = findings.entry((object.source, place, info_type.clone(), *custom)).or_insert_with(|| ColumnFinding {
                        source: object.source,
                        column,
                        header: place == Place::Header,
                        info_type: info_type.clone(),
                        custom: *custom,
                        semantic_type: if *custom { known } else { semantic_type(info_type) }.map(str::to_owned),
                        count: 0,
                        objects: BTreeSet::new(),
                        occurrences_are_partial: false,
                    });
                    finding.count = finding.count.saturating_add(count);
                    finding.objects.insert(object.file);
                    finding.occurrences_are_partial |= tally.is_partial();
                }
            }
            not_clean.extend(unclear.into_iter().map(|(kind, info_type)| why(kind, Some(info_type.to_owned()))));
            objects.push(ObjectResult { source: object.source, file: object.file, label: object.label.clone(), status, reason: object.reason.clone() });
        }
        Macie { jobs, objects, findings: findings.into_values().collect(), not_clean, reports_outside_of_the_plan: self.outside }
    }
}

impl Tally {
    fn merged(&self) -> Counts {
        let mut all = Counts::default();
        for view in [&self.finding, &self.result, &self.embedded] {
            all.largest(view);
        }
        all
    }

    fn is_partial(&self) -> bool {
        let all = self.merged();
        all.total > all.located()
    }

    /// Places with their counts; the last one, marked, is what is counted and not located.
    fn spread(&self) -> Vec<(Place, u64, bool)> {
        let all = self.merged();
        let rest = all.total.saturating_sub(all.located());
        let mut spread: Vec<_> = all.places.iter().map(|(place, count)| (*place, *count, false)).collect();
        if rest > 0 {
            spread.push((Place::Nowhere, rest, true));
        }
        spread
    }
}

impl Object {
    /// Whether a report is about other bytes than those that were listed. Without anything to compare it is.
    fn differs(&self, report: &Report, started_s: Option<i64>) -> bool {
        if let (Some(listed), Some(seen)) = (self.etag.as_deref(), report.etag.as_deref()) {
            return listed != bare_etag(seen);
        }
        let Some(modified_s) = self.modified_us.map(|us| us.div_euclid(1_000_000)) else { return true };
        match (report.modified_s, started_s) {
            (Some(seen), _) => seen != modified_s,
            (None, Some(started)) => modified_s >= started,
            (None, None) => true,
        }
    }
}

/// Stores quote entity tags, Macie does not.
fn bare_etag(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}

fn locate(columns: &Columns, detection: &Detection) -> Counts {
    let mut counts = Counts { total: detection.count, places: BTreeMap::new() };
    for location in &detection.locations {
        *counts.places.entry(columns.place(location)).or_default() += 1;
    }
    counts
}

/// What is wrong with a job as a whole.
fn of_job(job: &JobReport, options: &Options, now_s: i64) -> Vec<NotClean> {
    let mut all = Vec::new();
    let mut not_clean = |why, detail: Option<String>| all.push(NotClean { why, object: None, label: format!("job {}", job.id), detail });
    match job.status {
        JobStatus::Complete => {}
        JobStatus::Paused => not_clean(Why::Paused, Some("the monthly quota of the account is used up".into())),
        JobStatus::UserPaused => not_clean(Why::Paused, Some("somebody paused it".into())),
        JobStatus::Cancelled => not_clean(Why::Cancelled, None),
        JobStatus::Running => not_clean(Why::Running, None),
    }
    if job.had_errors {
        not_clean(Why::RunErrors, None);
    }
    if job.has_allow_lists {
        not_clean(Why::AllowLists, None);
    }
    let missing = job.not_looked_for(&options.identifiers);
    if !missing.is_empty() {
        not_clean(Why::NotLookedFor, Some(missing.join(", ")));
    }
    if let Some(max_age) = options.max_age {
        let limit = i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX);
        if job.started_s.is_none_or(|started| now_s.saturating_sub(started) > limit) {
            not_clean(Why::TooOld, job.started_s.map(|started| format!("{} days", now_s.saturating_sub(started) / 86_400)));
        }
    }
    all
}

#[cfg(test)]
mod tests;
