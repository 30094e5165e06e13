//! Rules about lists and about each of their items.
use super::Rule;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::Float64Type;
use std::cmp::Ordering;
use std::sync::Arc;

/// Lists that are there, with where their items stand.
fn lists(array: &ListArray) -> impl Iterator<Item = (u32, std::ops::Range<usize>)> {
    let bounds = array.value_offsets().windows(2).map(|pair| match pair {
        [start, end] => usize::try_from(*start).unwrap_or(0)..usize::try_from(*end).unwrap_or(0),
        _ => 0..0,
    });
    (0u32..).zip(bounds).filter(|(row, _)| array.is_valid(*row as usize))
}

pub(super) fn lengths(array: &ArrayRef, broken: &mut dyn FnMut(u32), holds: impl Fn(usize) -> bool) {
    let Some(array) = array.as_list_opt::<i32>() else { return };
    lists(array).filter(|(_, items)| !holds(items.len())).for_each(|(row, _)| broken(row));
}

/// Calls `broken` with the row of every item for which `rule` does not hold, once per row.
pub(super) fn each(array: &ArrayRef, rule: &Rule, broken: &mut dyn FnMut(u32)) {
    let Some(array) = array.as_list_opt::<i32>() else { return };
    let mut rows = lists(array).peekable();
    let mut last = None;
    rule.evaluate(array.values(), &mut |item| {
        // Both ascend; items between two lists that are there belong to none.
        let item = item as usize;
        while rows.next_if(|(_, items)| items.end <= item).is_some() {}
        if let Some((row, items)) = rows.peek()
            && items.contains(&item)
            && last != Some(*row)
        {
            last = Some(*row);
            broken(*row);
        }
    });
}

/// Rows with an item that is null.
pub(in crate::check) fn null_items(array: &ArrayRef, broken: &mut dyn FnMut(u32)) {
    let Some(array) = array.as_list_opt::<i32>() else { return };
    let Some(nulls) = array.values().nulls().filter(|nulls| nulls.null_count() > 0) else { return };
    lists(array).filter(|(_, items)| nulls.slice(items.start, items.len()).null_count() > 0).for_each(|(row, _)| broken(row));
}

/// Rows in which an item is there twice; two nulls are equal, and so are zero and negative zero.
pub(super) fn unique_items(array: &ArrayRef, broken: &mut dyn FnMut(u32)) {
    let Some(array) = array.as_list_opt::<i32>() else { return };
    let items: ArrayRef = match array.values().as_primitive_opt::<Float64Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float64Type>(canonical)) as Arc<Float64Array>,
        None => Arc::clone(array.values()),
    };
    let Ok(compare) = make_comparator(&items, &items, SortOptions::default()) else { return };
    let mut order: Vec<usize> = Vec::new();
    for (row, items) in lists(array).filter(|(_, items)| items.len() > 1) {
        order.clear();
        order.extend(items);
        order.sort_unstable_by(|a, b| compare(*a, *b));
        if order.windows(2).any(|pair| matches!(pair, [a, b] if compare(*a, *b) == Ordering::Equal)) {
            broken(row);
        }
    }
}

/// One zero and one NaN.
pub(in crate::check) fn canonical(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}
