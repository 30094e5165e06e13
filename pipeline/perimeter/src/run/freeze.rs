//! What a job leaves to the data, and the pass that finds it out before any example is written.
use super::{RunId, input_bytes, look_ahead};
use crate::check::sets::Violations;
use crate::engine::scan::{Checked, Passes};
use crate::engine::{self, order};
use crate::error::{Culprit, Failure, Result};
use crate::keys::{self, Keys};
use crate::plan::Plan;
use crate::prepare::prepare;
use crate::progress::Stage;
use crate::pseudonymize::pseudonymize;
use crate::run::Services;
use crate::shape::Frozen;
use crate::shape::measure::Measured;
use crate::shape::statistics::Statistics;
use perimeter_contract::job::Buckets;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// The fewest privacy units that frozen statistics stand for, while no gate of the policy says another number.
const MIN_UNITS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

/// What the job leaves to the data: pinned, or found out by a pass of its own; `None` where it leaves nothing.
pub(super) async fn freeze(plan: &Plan, services: &Services, keys: &Keys, run: &RunId, violations: Option<&Arc<Violations>>) -> Result<Option<Statistics>> {
    if let Some(pinned) = &plan.statistics {
        return Ok(Some(pinned.clone()));
    }
    let shape = &plan.contract.job.shape;
    if !shape.leaves_to_data() {
        return Ok(None);
    }
    services.progress.expect_bytes(2 * input_bytes(plan));
    let measured = measure(plan, services, keys, &run.id, violations).await?;
    measured.freeze(shape, MIN_UNITS).map(Some)
}

/// What the layout needs of what was loaded and frozen.
pub(super) fn frozen(plan: &Plan, statistics: Option<&Statistics>) -> Frozen {
    let buckets = statistics.and_then(|statistics| statistics.buckets.clone()).unwrap_or_default();
    let features = Some(statistics.map(|statistics| statistics.features.clone()).unwrap_or_default());
    Frozen { tokenizers: plan.tokenizers.clone(), buckets, features }
}

/// A pass over the rows that a run would write, which writes nothing.
async fn measure(plan: &Plan, services: &Services, keys: &Keys, run_id: &str, violations: Option<&Arc<Violations>>) -> Result<Measured> {
    let context = engine::session(&services.limits).map_err(|error| engine::failure::FirstFailure::default().explain(&error))?;
    let passes = Passes { violations: violations.cloned(), gather: None, ahead: true };
    let checked = Checked::register(plan, &context, services, None, &passes)?;
    let prepared = prepare(plan, context, checked).await?;
    let pseudonymized = pseudonymize(prepared, plan, keys, &services.limits, run_id).await?;
    let sorted = order::sort(pseudonymized, plan, &services.limits)?;
    let buckets = match &plan.contract.job.shape.buckets {
        Buckets::Auto(auto) => vec![auto.max.get()],
        Buckets::Fixed(_) => Vec::new(),
    };
    let layout = sorted.layout(plan, &Frozen { buckets, features: None, ..frozen(plan, None) })?;
    engine::measure::measure(sorted, layout, MIN_UNITS).await
}

/// How long the examples of a run would be, before any is cut or padded. Reads what a run would read and opens the keys that it would open; writes nothing
/// (but a keyring that `create: true` asks for).
///
/// # Errors
/// What a run can end with before it writes; `no-lengths` (exit 2) for a job whose examples have no length.
pub async fn profile(plan: &Plan, services: &Services) -> Result<Measured> {
    let Services { stores, progress, .. } = services;
    if plan.contract.job.shape.buckets.is_none() {
        return Err(Failure::new(Culprit::File, "no-lengths", "the job makes an example of every row, and all have one shape")
            .help("there is nothing to choose: one compilation, no padding")
            .into());
    }
    progress.expect_bytes(input_bytes(plan));
    progress.enter(Stage::Keys);
    let keys = keys::open(plan, stores).await?;
    progress.enter(Stage::Read);
    let violations = if plan.rules.sets.rejects_rows() { Some(Arc::new(look_ahead(plan, services).await?.violations)) } else { None };
    let measured = measure(plan, services, &keys, &RunId::new().id, violations.as_ref()).await?;
    progress.enter(Stage::Done);
    Ok(measured)
}
