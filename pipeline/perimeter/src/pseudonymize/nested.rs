//! Values inside lists and structs, element by element: what is around them stays, what is null stays null.
use datafusion::arrow::array::{Array, ArrayRef, AsArray, GenericListArray, OffsetSizeTrait, StructArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// What is done to innermost values, and the row of the batch that each stands in.
type Leaf<'a, E> = dyn FnMut(&ArrayRef, &dyn Fn(usize) -> usize) -> Result<ArrayRef, E> + 'a;

/// Applies `leaf` to the innermost values of `raw`. `row_of` says in which row of the batch an element of `raw` stands; `leaf` gets the same
/// for its values.
///
/// # Errors
/// Those of `leaf`; `None` for a nesting that is not taken apart (maps, unions, fixed-size lists).
pub(super) fn nested<E>(raw: &ArrayRef, row_of: &dyn Fn(usize) -> usize, leaf: &mut Leaf<'_, E>) -> Result<ArrayRef, Option<E>> {
    match raw.data_type() {
        DataType::List(field) => list(raw.as_list::<i32>(), field, row_of, leaf),
        DataType::LargeList(field) => list(raw.as_list::<i64>(), field, row_of, leaf),
        DataType::Struct(fields) => {
            let raw = raw.as_struct();
            let mut columns = Vec::with_capacity(fields.len());
            let mut renewed: Vec<Arc<Field>> = Vec::with_capacity(fields.len());
            for (field, column) in fields.iter().zip(raw.columns()) {
                let column = nested(column, row_of, leaf)?;
                renewed.push(Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()).with_nullable(true)));
                columns.push(column);
            }
            let output = StructArray::try_new_with_length(renewed.into(), columns, raw.nulls().cloned(), raw.len());
            Ok(Arc::new(output.map_err(|_| None)?))
        }
        other if other.is_nested() => Err(None),
        _ => leaf(raw, row_of).map_err(Some),
    }
}

fn list<O: OffsetSizeTrait, E>(
    raw: &GenericListArray<O>,
    field: &Arc<Field>,
    row_of: &dyn Fn(usize) -> usize,
    leaf: &mut Leaf<'_, E>,
) -> Result<ArrayRef, Option<E>> {
    // Only what the lists hold: a slice's values outside of it, and those behind a null, are not looked at.
    let mut rows = Vec::new();
    let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(raw.len());
    for element in 0..raw.len() {
        let (start, end) = (raw.value_offsets()[element].as_usize(), raw.value_offsets()[element + 1].as_usize());
        let end = if raw.is_null(element) { start } else { end };
        ranges.push((start, end));
        rows.extend(std::iter::repeat_n(row_of(element), end - start));
    }
    let wanted: arrow::array::UInt64Array = ranges.iter().flat_map(|(start, end)| *start as u64..*end as u64).collect();
    let values = arrow::compute::take(raw.values(), &wanted, None).map_err(|_| None)?;
    let values = nested(&values, &|value| rows.get(value).copied().unwrap_or(usize::MAX), leaf)?;
    let offsets = OffsetBuffer::<O>::from_lengths(ranges.iter().map(|(start, end)| end - start));
    let field = Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone()).with_nullable(true));
    let output = GenericListArray::<O>::try_new(field, offsets, values, raw.nulls().cloned());
    Ok(Arc::new(output.map_err(|_| None)?))
}

#[cfg(test)]
mod tests;
