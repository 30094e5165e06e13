//! `perimeter profile`: how long examples are, and what to pad them to.
use super::arguments::{Global, Profile};
use super::commands::{Done, planned, result, result_json};
use super::progress::Drawn;
use crate::error::{Culprit, Error, Failure};
use crate::plan::Plan;
use crate::run::{self, Services};
use crate::shape::buckets::{BucketPlan, Choice, LengthProfile};
use crate::shape::job_overflow;
use crate::shape::lengths::LengthHistogram;
use perimeter_contract::job::Buckets;
use serde_json::json;
use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;

/// Characters of the longest bar.
const BAR: usize = 40;

pub(super) async fn execute(global: &Global, asked: Profile) -> Done {
    let services = Services::new(global.limits());
    let drawn = Drawn::new(Arc::clone(&services.progress), global.json);
    let planned = planned(global, &asked.job, &services).await?;
    let measured = run::profile(&planned, &services).await;
    drop(drawn);
    let lengths = measured?.lengths;
    let unit = if planned.contract.job.shape.sequence.is_some() { "events" } else { "tokens" };
    let choice = choice(&planned, &asked);
    let window = choice.largest().map_err(|error| usage(&error.to_string()))?;
    let overflow = job_overflow(planned.contract.job.shape.overflow);
    let cut = overflow.histogram(&lengths, NonZeroUsize::new(window.get() as usize).unwrap_or(NonZeroUsize::MIN));
    if cut.is_empty() {
        return Err(
            Error::from(Failure::new(Culprit::Data, "no-examples", "no example is left to profile").help("does every row break a rule, or overflow?")).into()
        );
    }
    let current = current(&planned).filter(|buckets| buckets.last().is_some_and(|&last| u64::from(last) >= cut.longest())).unwrap_or_default();
    let profile = LengthProfile::of(&cut, &current, asked.most, &choice, asked.batch_size).map_err(|error| usage(&error.to_string()))?;
    let advice = profile.recommendation(&choice);
    if global.json {
        let histogram = |lengths: &LengthHistogram| lengths.iter().map(|(length, examples)| json!([length, examples])).collect::<Vec<_>>();
        let cut_at = (cut != lengths).then_some(window);
        return result_json(&json!({
            "apiVersion": "perimeter/v1", "kind": "Profile", "dataset": planned.contract.job.name, "unit": unit, "cutAt": cut_at,
            "lengths": histogram(&lengths), "profile": profile, "recommendation": advice,
        }));
    }
    result(&text(&lengths, &cut, window, unit, &profile, &advice))
}

/// What boundaries may be: as asked, else as the job says.
fn choice(plan: &Plan, asked: &Profile) -> Choice {
    let (multiple_of, max) = match &plan.contract.job.shape.buckets {
        Buckets::Auto(auto) => (auto.multiple_of, Some(auto.max)),
        Buckets::Fixed(buckets) => (NonZeroU32::MIN, buckets.last().copied().and_then(NonZeroU32::new)),
    };
    Choice { multiple_of: asked.multiple_of.unwrap_or(multiple_of), max: asked.max.or(max) }
}

/// The buckets that a run would take, where that is known before it.
fn current(plan: &Plan) -> Option<Vec<u32>> {
    match &plan.contract.job.shape.buckets {
        Buckets::Fixed(buckets) => Some(buckets.clone()),
        Buckets::Auto(_) => plan.statistics.as_ref().and_then(|statistics| statistics.buckets.clone()),
    }
}

fn usage(message: &str) -> Error {
    Failure::new(Culprit::File, "buckets", message.to_owned()).help("choose other `--multiple-of` and `--max`").into()
}

/// For people. Writing to a String cannot fail.
fn text(lengths: &LengthHistogram, cut: &LengthHistogram, window: NonZeroU32, unit: &str, profile: &LengthProfile, advice: &str) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut out = format!("{unit} per example ({} examples, {} {unit}):\n\n{}\n", lengths.examples(), lengths.elements(), lengths.render(BAR));
    if cut != lengths {
        let _ = writeln!(out, "cut at {window} as the job says: {} examples, {} {unit}; what follows is about them\n", profile.examples, profile.elements);
    }
    let [half, ninety, most, longest] = profile.percentiles;
    let _ = writeln!(
        out,
        "mean {:.1}, half have at most {half}, 90 % {ninety}, 99 % {most}, the longest {longest}; {} lengths",
        profile.mean, profile.distinct_lengths
    );
    let unpadded = &profile.unpadded;
    let _ = writeln!(
        out,
        "unpadded, batches of {}: {} steps, {} of them of another shape than the commonest, about {:.0} XLA compilations an epoch\n",
        profile.batch_size,
        unpadded.steps,
        percent(unpadded.varying_steps),
        unpadded.expected_shapes
    );
    let _ = writeln!(out, "compilations  padding  buckets");
    let row = |plan: &BucketPlan, mark: &str| format!("{:>12}  {:>7}  {:?}{mark}", plan.buckets.len(), percent(plan.padding_waste), plan.buckets);
    for (index, plan) in profile.best.iter().enumerate() {
        let _ = writeln!(out, "{}", row(plan, if index == profile.recommended { "  <- recommended" } else { "" }));
    }
    if let Some(plan) = &profile.current {
        let _ = writeln!(out, "{}", row(plan, "  <- the job's"));
        let batches: Vec<String> = plan.occupancy.iter().map(|entry| format!("{}: {}", entry.bucket, entry.batches)).collect();
        let _ = writeln!(out, "\nbatches per bucket of the job's: {}", batches.join(", "));
    }
    let _ = writeln!(out, "\n{advice}");
    out
}
