//! Sorted partitions into figures: one [`Measurer`] per partition, each on a blocking thread of its own. Writes nothing.
use super::order::Sorted;
use crate::error::{Culprit, Error, Failure, Result};
use crate::shape::Layout;
use crate::shape::measure::{Measured, Measurer};
use futures::StreamExt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Measures all rows; `layout` has any buckets. Privacy units are counted up to `min_units`.
///
/// # Errors
/// Whatever any stage ends with; the first partition to fail is told.
pub async fn measure(sorted: Sorted, layout: Layout, min_units: NonZeroUsize) -> Result<Measured> {
    let Sorted { context, rows, shards, checked, .. } = sorted;
    let (failure, layout) = (checked.failure.clone(), Arc::new(layout));
    let task = context.task_ctx();
    // All partitions start before any is read: an exchange feeds them side by side.
    let streams = (0..shards.len()).map(|partition| rows.execute(partition, Arc::clone(&task))).collect::<Result<Vec<_>, _>>();
    let mut partitions = Vec::with_capacity(shards.len());
    for mut stream in streams.map_err(|error| failure.explain(&error))? {
        let (failure, handle, layout) = (failure.clone(), Handle::current(), Arc::clone(&layout));
        partitions.push(tokio::task::spawn_blocking(move || -> Result<Measured> {
            let mut measurer = Measurer::new(layout, min_units);
            while let Some(batch) = handle.block_on(stream.next()) {
                measurer.push(&batch.map_err(|error| failure.explain(&error))?)?;
            }
            Ok(measurer.finish())
        }));
    }
    let mut all = Measured::default();
    let mut first_error: Option<Error> = None;
    for partition in partitions {
        match partition.await.unwrap_or_else(|_| Err(Failure::new(Culprit::Outside, "stopped", "the run was stopped").into())) {
            Ok(measured) => all.merge(measured)?,
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    first_error.map_or(Ok(all), Err)
}
