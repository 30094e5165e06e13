//! What Macie says of one object, in one shape for findings (over the API) and results (JSON lines on S3).
//!
//! Keys, column names and paths in here can hold values: nothing of this module is ever shown, and nothing derives `Debug` outside of tests.
use aws_sdk_macie2::types as sdk;
use serde::Deserialize;
use serde_json::Value;

/// How far Macie got with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Code {
    Complete,
    Partial,
    /// SKIPPED, and any code that we do not know.
    Skipped,
}

/// Where an occurrence is.
#[cfg_attr(test, derive(Clone, Debug))]
pub(super) enum Location {
    Cell { column: Option<i64>, name: Option<String>, reference: Option<String> },
    Record { path: Option<String> },
    Lines { start: i64, end: i64 },
    Page,
    Offset,
}

/// One type found in one object.
#[cfg_attr(test, derive(Clone, Debug))]
pub(super) struct Detection {
    pub(super) info_type: String,
    pub(super) custom: bool,
    pub(super) count: u64,
    pub(super) locations: Vec<Location>,
}

/// Where a report came from; counts of one kind are never added to those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A finding: up to 15 locations a type.
    Finding,
    /// A line of the results: up to 1,000 locations a type.
    Result,
    /// A line of the results about a file inside of a compressed object. The object's own line counts the same occurrences, without locations.
    Embedded,
}

/// Everything that one finding or one line says.
#[cfg_attr(test, derive(Clone, Debug))]
pub(super) struct Report {
    pub(super) kind: Kind,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) etag: Option<String>,
    /// Seconds since 1970.
    pub(super) modified_s: Option<i64>,
    pub(super) code: Code,
    /// A word of Macie's own vocabulary: `INVALID_ENCRYPTION`.
    pub(super) reason: Option<String>,
    pub(super) detections: Vec<Detection>,
}

/// A word of one of Macie's vocabularies (`BRAZIL_CPF_NUMBER`, `CREDIT_CARD_NUMBER_(NO_KEYWORD)`), and nothing else.
pub(super) fn word(text: &str) -> String {
    let fits = text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_-()".contains(&b));
    if fits { text.to_owned() } else { "UNNAMED".to_owned() }
}

fn code(text: Option<&str>) -> Code {
    match text {
        Some("COMPLETE") => Code::Complete,
        Some("PARTIAL") => Code::Partial,
        _ => Code::Skipped,
    }
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// What a category counts beyond its types: found, and of no type that is named.
fn rest(category: &str, total: u64, detections: &[Detection]) -> Option<Detection> {
    let named = detections.iter().map(|detection| detection.count).fold(0, u64::saturating_add);
    (total > named).then(|| Detection { info_type: word(category), custom: false, count: total - named, locations: Vec::new() })
}

/// A finding of the API; `None` for one that is not about an object (policy findings).
pub(super) fn of_finding(finding: &sdk::Finding) -> Option<Report> {
    let affected = finding.resources_affected()?;
    let object = affected.s3_object()?;
    let result = finding.classification_details().and_then(sdk::ClassificationDetails::result);
    let mut detections = Vec::new();
    for group in result.map(sdk::ClassificationResult::sensitive_data).unwrap_or_default() {
        let own = group.detections().iter().map(|d| detection(d.r#type(), false, d.count(), d.occurrences()));
        let own: Vec<Detection> = own.collect();
        let category = group.category().map_or("UNNAMED", sdk::SensitiveDataItemCategory::as_str);
        detections.extend(rest(category, count(group.total_count().unwrap_or(0)), &own));
        detections.extend(own);
    }
    if let Some(group) = result.and_then(sdk::ClassificationResult::custom_data_identifiers) {
        let own: Vec<Detection> = group.detections().iter().map(|d| detection(d.name().or(d.arn()), true, d.count(), d.occurrences())).collect();
        detections.extend(rest("CUSTOM_IDENTIFIER", count(group.total_count().unwrap_or(0)), &own));
        detections.extend(own);
    }
    let status = result.and_then(sdk::ClassificationResult::status);
    Some(Report {
        kind: Kind::Finding,
        bucket: bucket(affected.s3_bucket().and_then(sdk::S3Bucket::name), object.bucket_arn())?,
        key: object.key()?.to_owned(),
        etag: object.e_tag().map(str::to_owned),
        modified_s: object.last_modified().map(aws_sdk_macie2::primitives::DateTime::secs),
        code: code(status.and_then(sdk::ClassificationResultStatus::code)),
        reason: status.and_then(sdk::ClassificationResultStatus::reason).map(word),
        detections,
    })
}

fn bucket(name: Option<&str>, arn: Option<&str>) -> Option<String> {
    name.or_else(|| arn?.rsplit(':').next()).map(str::to_owned)
}

fn detection(info_type: Option<&str>, custom: bool, number: Option<i64>, places: Option<&sdk::Occurrences>) -> Detection {
    let mut locations = Vec::new();
    if let Some(places) = places {
        locations.extend(places.cells().iter().map(|c| Location::Cell {
            column: c.column(),
            name: c.column_name().map(str::to_owned),
            reference: c.cell_reference().map(str::to_owned),
        }));
        locations.extend(places.records().iter().map(|r| Location::Record { path: r.json_path().map(str::to_owned) }));
        locations.extend(places.line_ranges().iter().map(|l| lines(l.start(), l.end())));
        locations.extend(places.pages().iter().map(|_| Location::Page));
        locations.extend(places.offset_ranges().iter().map(|_| Location::Offset));
    }
    named(info_type, custom, count(number.unwrap_or(0)), locations)
}

fn lines(start: Option<i64>, end: Option<i64>) -> Location {
    // Without numbers it is some line, and not the first.
    let start = start.unwrap_or(i64::MAX);
    Location::Lines { start, end: end.unwrap_or(start) }
}

/// A type that is reported was found at least once, and at least where it is located.
fn named(info_type: Option<&str>, custom: bool, count: u64, locations: Vec<Location>) -> Detection {
    let info_type = match info_type {
        // The names of custom identifiers are their owner's words.
        Some(name) if custom => name.chars().filter(|c| !c.is_control()).take(128).collect(),
        Some(name) => word(name),
        None => "UNNAMED".to_owned(),
    };
    Detection { info_type, custom, count: count.max(locations.len() as u64).max(1), locations }
}

/// A line of a results object. Members that we do not use are passed over: the format is Macie's own and grows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    classification_details: Details,
    resources_affected: Affected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    job_id: Option<String>,
    result: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    status: Status,
    sensitive_data: Option<Vec<Group>>,
    custom_data_identifiers: Option<Group>,
}

#[derive(Deserialize)]
struct Status {
    code: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    category: Option<String>,
    total_count: Option<Value>,
    detections: Option<Vec<Found>>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    arn: Option<String>,
    count: Option<Value>,
    occurrences: Option<Places>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Places {
    cells: Option<Vec<Cell>>,
    records: Option<Vec<Record>>,
    line_ranges: Option<Vec<Range>>,
    pages: Option<Vec<serde::de::IgnoredAny>>,
    offset_ranges: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cell {
    column: Option<Value>,
    column_name: Option<String>,
    cell_reference: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    json_path: Option<String>,
}

#[derive(Deserialize)]
struct Range {
    start: Option<Value>,
    end: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Affected {
    s3_bucket: Option<Bucket>,
    s3_object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    bucket_arn: Option<String>,
    key: String,
    e_tag: Option<String>,
    last_modified: Option<String>,
    embedded_file_details: Option<serde::de::IgnoredAny>,
}

/// A number, written as a number or as text.
fn number(value: Option<Value>) -> Option<i64> {
    match value? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

impl Line {
    /// The line as a report; `None` when it names no bucket, or belongs to another job.
    pub(super) fn report(self, job_id: &str) -> Option<Report> {
        if self.classification_details.job_id.is_some_and(|id| id != job_id) {
            return None;
        }
        let (outcome, object) = (self.classification_details.result, self.resources_affected.s3_object);
        let name = self.resources_affected.s3_bucket.and_then(|bucket| bucket.name);
        let mut detections = Vec::new();
        for group in outcome.sensitive_data.unwrap_or_default() {
            group.take("UNNAMED", false, &mut detections);
        }
        if let Some(group) = outcome.custom_data_identifiers {
            group.take("CUSTOM_IDENTIFIER", true, &mut detections);
        }
        Some(Report {
            kind: if object.embedded_file_details.is_some() { Kind::Embedded } else { Kind::Result },
            bucket: bucket(name.as_deref(), object.bucket_arn.as_deref())?,
            key: object.key,
            etag: object.e_tag,
            modified_s: object.last_modified.and_then(|text| Some(chrono::DateTime::parse_from_rfc3339(&text).ok()?.timestamp())),
            code: code(outcome.status.code.as_deref()),
            reason: outcome.status.reason.as_deref().map(word),
            detections,
        })
    }
}

impl Group {
    fn take(self, category: &str, custom: bool, into: &mut Vec<Detection>) {
        let own: Vec<Detection> = self.detections.unwrap_or_default().into_iter().map(|found| found.detection(custom)).collect();
        let category = self.category.as_deref().unwrap_or(category);
        into.extend(rest(category, count(number(self.total_count).unwrap_or(0)), &own));
        into.extend(own);
    }
}

impl Found {
    fn detection(self, custom: bool) -> Detection {
        let mut locations = Vec::new();
        if let Some(places) = self.occurrences {
            let cells = places.cells.unwrap_or_default().into_iter();
            locations.extend(cells.map(|c| Location::Cell { column: number(c.column), name: c.column_name, reference: c.cell_reference }));
            locations.extend(places.records.unwrap_or_default().into_iter().map(|r| Location::Record { path: r.json_path }));
            locations.extend(places.line_ranges.unwrap_or_default().into_iter().map(|l| lines(number(l.start), number(l.end))));
            locations.extend(places.pages.unwrap_or_default().iter().map(|_| Location::Page));
            locations.extend(places.offset_ranges.unwrap_or_default().iter().map(|_| Location::Offset));
        }
        let name = if custom { self.name.or(self.arn) } else { self.kind };
        named(name.as_deref(), custom, count(number(self.count).unwrap_or(0)), locations)
    }
}
