//! A job's shape in words and as JSON, for `perimeter plan`.
use perimeter_contract::job::{Job, Overflow, RecordEncoding, Side};
use serde_json::{Value, json};

/// What an example is, in words.
pub(super) fn words(job: &Job) -> String {
    let shape = &job.shape;
    let mut words = if shape.buckets.is_empty() { "one example per row".to_owned() } else { format!("sequences in buckets {:?}", shape.buckets) };
    match shape.overflow {
        Overflow::Split { overlap: 0 } => {}
        Overflow::Split { overlap } => words.push_str(&format!(", longer ones cut with {overlap} events twice")),
        Overflow::Truncate(Side::Left) => words.push_str(", of longer ones the newest events"),
        Overflow::Truncate(Side::Right) => words.push_str(", of longer ones the oldest events"),
        Overflow::Reject => words.push_str(", longer ones left out"),
    }
    if job.sink.encoding == RecordEncoding::Tensor {
        words.push_str(", as raw tensors");
    }
    words
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
