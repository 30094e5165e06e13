//! `bucketing` and `fixedSizeBucketing`.
use crate::policy::{BucketRange, Transform};
use crate::schema::Decimal;
use crate::spanned::Spanned;
use crate::typed::job::Number;
use crate::typed::policy::Range;
use crate::validate::{Report, decimal, not_blank};
use crate::{Diagnostic, Span, codes};
use std::cmp::Ordering;

pub(super) fn fixed_size(
    size: Option<Spanned<Number>>,
    lower: Option<Spanned<Number>>,
    upper: Option<Spanned<Number>>,
    report: &mut Report,
) -> Option<Transform> {
    let before = report.len();
    let size = size.and_then(|size| {
        let number = decimal(&size.value.0.0).filter(|number| number.unscaled > 0);
        if number.is_none() {
            let message = "`size` is not a width of a bucket";
            report.push(Diagnostic::new(codes::BAD_SIZE, size.span, message).help("a number greater than 0, 38 digits at most: `5`, `0.25`"));
        }
        number
    });
    let upper_span = upper.as_ref().map(|number| number.span);
    let lower_bound = lower.and_then(|number| exact(&number, codes::BAD_SIZE, report));
    let upper_bound = upper.and_then(|number| exact(&number, codes::BAD_SIZE, report));
    if let (Some(lower), Some(upper), Some(span)) = (lower_bound, upper_bound, upper_span)
        && compare(lower, upper).is_none_or(Ordering::is_gt)
    {
        report.push(Diagnostic::new(codes::BAD_SIZE, span, "`upperBound` is below `lowerBound`").help("the smaller number is `lowerBound`"));
    }
    size.filter(|_| report.len() == before).map(|size| Transform::FixedSizeBucketing { size, lower_bound, upper_bound })
}

pub(super) fn ranges(
    buckets: Option<Spanned<Vec<Spanned<Range>>>>,
    bounds: Option<Spanned<Vec<Spanned<Number>>>>,
    rule: Span,
    report: &mut Report,
) -> Option<Transform> {
    let before = report.len();
    let mut refuse = |span, message: &str, help: &str| report.push(Diagnostic::new(codes::BAD_BUCKETS, span, message).help(help));
    let buckets: Vec<(Span, BucketRange)> = match (buckets, bounds) {
        (Some(buckets), None) => {
            if buckets.value.is_empty() {
                refuse(buckets.span, "`buckets` is empty", "`buckets: [{max: 0, label: debt}, {min: 0, label: credit}]`");
            }
            let labels = buckets.value.iter().filter(|bucket| bucket.value.label.is_some()).count();
            for bucket in &buckets.value {
                let Range { min, label, .. } = &bucket.value;
                if label.is_none() && labels > 0 {
                    refuse(bucket.span, "a bucket without a label beside others that have one", "give all of them a `label`, or none");
                } else if label.is_none() && min.is_none() {
                    refuse(bucket.span, "nothing stands for the numbers of this bucket", "give it a `min`, which stands for them, or a `label`");
                }
            }
            let one = |bucket: Spanned<Range>, report: &mut Report| {
                let Range { min, max, label } = bucket.value;
                let min = min.map(|number| exact(&number, codes::BAD_BUCKETS, report));
                let max = max.map(|number| exact(&number, codes::BAD_BUCKETS, report));
                let label = label.map(|label| not_blank(label, "label", report));
                Some((bucket.span, BucketRange { min: present(min)?, max: present(max)?, label: present(label)? }))
            };
            buckets.value.into_iter().filter_map(|bucket| one(bucket, report)).collect()
        }
        (None, Some(bounds)) => {
            if bounds.value.is_empty() {
                refuse(bounds.span, "`bounds` is empty", "`bounds: [0, 18, 30, 65]`");
            }
            let numbers: Vec<(Span, Decimal)> =
                bounds.value.iter().filter_map(|number| Some((number.span, exact(number, codes::BAD_BUCKETS, report)?))).collect();
            let next = |index: usize| numbers.get(index + 1).map(|(_, number)| *number);
            numbers.iter().enumerate().map(|(index, (span, min))| (*span, BucketRange { min: Some(*min), max: next(index), label: None })).collect()
        }
        (None, None) => {
            let help = "`bounds: [0, 18, 30, 65]`, or `buckets: [{max: 0, label: debt}, {min: 0, label: credit}]`";
            if !crate::validate::touched(report, rule) {
                report.push(Diagnostic::new(codes::BAD_BUCKETS, rule, "`bucketing` without buckets").help(help));
            }
            return None;
        }
        (Some(_), Some(bounds)) => {
            refuse(bounds.span, "`buckets` and `bounds` say the same thing", "keep one of them");
            return None;
        }
    };
    let ascending = |a: Option<Decimal>, b: Option<Decimal>| a.zip(b).is_some_and(|(a, b)| compare(a, b).is_some_and(Ordering::is_le));
    for (index, (span, bucket)) in buckets.iter().enumerate() {
        let holds_something = bucket.min.zip(bucket.max).is_none_or(|(min, max)| compare(min, max) == Some(Ordering::Less));
        let follows = index == 0 || ascending(buckets[index - 1].1.max, bucket.min);
        if !holds_something || !follows {
            let help = "a bucket holds its `min` and not its `max`; only the first may lack `min`, only the last `max`";
            report.push(Diagnostic::new(codes::BAD_BUCKETS, *span, "buckets ascend and do not overlap").help(help));
            break;
        }
    }
    (report.len() == before).then(|| Transform::Bucketing { buckets: buckets.into_iter().map(|(_, bucket)| bucket).collect() })
}

fn present<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    super::optional(value)
}

fn exact(number: &Spanned<Number>, code: &'static str, report: &mut Report) -> Option<Decimal> {
    let exact = decimal(&number.value.0.0);
    if exact.is_none() {
        report.push(Diagnostic::new(code, number.span, "not an exact number").help("38 digits at most: `100`, `-0.25`"));
    }
    exact
}

/// `None` when 38 digits are not enough for both.
fn compare(a: Decimal, b: Decimal) -> Option<Ordering> {
    let scale = a.scale.max(b.scale);
    let at = |number: Decimal| number.unscaled.checked_mul(10_i128.checked_pow(u32::from(scale - number.scale))?);
    Some(at(a)?.cmp(&at(b)?))
}
