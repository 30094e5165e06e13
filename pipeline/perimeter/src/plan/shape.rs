//! A job's shape in words and as JSON, for `perimeter plan`.
use perimeter_contract::job::{Buckets, Job, Layout, Overflow, RecordEncoding, Side};
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
