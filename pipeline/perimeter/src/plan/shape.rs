//! A job's shape against its columns; in words and as JSON, for `perimeter plan`.
use super::PlannedColumn;
use super::decide::JoinDomain;
use perimeter_contract::job::Encode;
use perimeter_contract::job::{Buckets, Job, Layout, Overflow, RecordEncoding, Side};
use perimeter_contract::policy::Transform;
use perimeter_contract::{Contract, Diagnostic};
use serde_json::{Value, json};

/// What an example is, in words.
pub(super) fn words(job: &Job) -> String {
    let shape = &job.shape;
    let what = if shape.sequence.is_some() { "sequences" } else { "rows of tokens" };
    let mut words = match &shape.buckets {
        Buckets::Fixed(buckets) if buckets.is_empty() => "one example per row".to_owned(),
        Buckets::Fixed(buckets) if shape.packing.is_some() => format!("{what} packed into windows of {buckets:?}"),
        Buckets::Fixed(buckets) => format!("{what} in buckets {buckets:?}"),
        Buckets::Auto(_) if shape.statistics.is_some() => format!("{what} in the pinned buckets"),
        Buckets::Auto(auto) => {
            format!("{what} in at most {} buckets that the data choose (multiples of {}, up to {})", auto.auto, auto.multiple_of, auto.max)
        }
    };
    match shape.overflow {
        Overflow::Split { overlap: 0 } => {}
        Overflow::Split { overlap } => words.push_str(&format!(", longer ones cut with {overlap} elements twice")),
        Overflow::Truncate(Side::Left) => words.push_str(", of longer ones the newest elements"),
        Overflow::Truncate(Side::Right) => words.push_str(", of longer ones the oldest elements"),
        Overflow::Reject => words.push_str(", longer ones left out"),
    }
    if shape.layout == Layout::Maxtext {
        words = match shape.buckets.listed() {
            [cut] => format!("{what} of any length up to {cut}, one column for MaxText"),
            _ if shape.sequence.is_none() && shape.features.iter().all(|feature| feature.tokenizer.is_none()) => "one text per row, for MaxText".to_owned(),
            _ => format!("{what} of any length, one column for MaxText"),
        };
    }
    if job.sink.encoding == RecordEncoding::Tensor {
        words.push_str(", as raw tensors");
    }
    words
}

/// `buckets` as the job file says it.
pub(super) fn buckets(buckets: &Buckets) -> Value {
    match buckets {
        Buckets::Fixed(buckets) => json!(buckets),
        Buckets::Auto(auto) => json!({"auto": auto.auto, "multipleOf": auto.multiple_of, "max": auto.max}),
    }
}

/// `overflow` as the job file may say it.
pub(super) fn overflow(overflow: Overflow) -> Value {
    match overflow {
        Overflow::Split { overlap: 0 } => json!("split"),
        Overflow::Split { overlap } => json!({"mode": "split", "overlap": overlap}),
        Overflow::Truncate(side) => json!({"mode": "truncate", "side": side}),
        Overflow::Reject => json!("reject"),
    }
}

/// The column whose value is a row's privacy unit; `None` where the job's statistics, if any, count none or are pinned.
pub(super) fn unit(contract: &Contract, columns: &[PlannedColumn], problems: &mut Vec<Diagnostic>) -> Option<usize> {
    let shape = &contract.job.shape;
    let feature = shape.features.iter().find(|feature| feature.is_frozen()).filter(|_| shape.statistics.is_none())?;
    let mut refuse = |message: String, help: &str| {
        problems.push(Diagnostic::new("no-privacy-unit", feature.span, message).help(help));
        None
    };
    let what = format!("the statistics of the feature `{}` count privacy units", feature.name);
    let Some(domain) = &contract.policy.privacy_unit else {
        return refuse(format!("{what}, and the policy names none"), "have `privacyUnit: {joinDomain: …}` added to the policy, or pin `statistics`");
    };
    let wanted = JoinDomain::Named(domain.clone());
    let plain = |column: &PlannedColumn| !column.lineage.computed && !super::is_list(&column.data_type) && column.decision.join_domain == wanted;
    let found: Vec<usize> = (0..columns.len()).filter(|&index| plain(&columns[index])).collect();
    match found.as_slice() {
        [unit] => Some(*unit),
        [] => refuse(format!("{what}, and the query selects no column of join domain {domain}"), "select the column as it is; it need not leave"),
        _ => refuse(format!("{what}, and the query selects several columns of join domain {domain}"), "select only the one that a row belongs to"),
    }
}

/// What a feature may be made of depends on what the policy does to its column.
pub(super) fn check(contract: &Contract, columns: &[PlannedColumn], problems: &mut Vec<Diagnostic>) {
    for feature in &contract.job.shape.features {
        let Some(column) = columns.iter().find(|column| column.name == feature.column) else { continue };
        let (transform, rule) = (&column.decision.transform, column.decision.rule.as_deref().unwrap_or_default());
        let (name, of) = (&feature.name, &feature.column);
        if feature.tokenizer.is_some() && !matches!(transform.name(), "keep" | "deidentifyText") {
            let message = format!("the feature `{name}` is tokenized, and `{of}` is text after {} (rule \"{rule}\")", transform.name());
            problems.push(
                Diagnostic::new("tokenized-column", feature.span, message)
                    .help("tokens come of text that `deidentifyText` has cleaned, or that a `keep` rule lets through"),
            );
        }
        if feature.encode == Encode::DayOfWeek && matches!(transform, Transform::DateShift { .. }) {
            let message = format!("the feature `{name}` is a day of the week, and `{of}` is shifted (rule \"{rule}\")");
            problems.push(
                Diagnostic::new("shifted-calendar", feature.span, message)
                    .help("a shifted date says nothing about the calendar: take `timePart` of the date in the policy, or leave the feature out"),
            );
        }
        // Its values would stand in `statistics.json`, or be told apart by it.
        if feature.is_frozen() && matches!(transform, Transform::Encrypt { .. }) {
            let message = format!("the feature `{name}` needs statistics, and `{of}` is encrypted (rule \"{rule}\")");
            problems.push(Diagnostic::new("encrypted-statistics", feature.span, message).help("take another column"));
        }
    }
}
