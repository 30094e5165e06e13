//! From the columns of a columnar file to those of the contract: which is which, and batches of the one as batches of the other.
//!
//! Objects are taken apart into their values: a null object makes all of them null. An array of values is a list, an array of objects one list for each property.
//! Columns go by name; where they stand in the file says nothing.
use super::convert::{Conversion, convert, expansion_bytes, plain, without};
use super::emit::Emit;
use super::{InputFile, corrupt};
use crate::check::{Typed, arrow_type};
use crate::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, OffsetSizeTrait, RecordBatch, StructArray, UInt32Array, UInt64Array, make_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields};
use perimeter_contract::job::{Drift, Source};
use perimeter_contract::schema::{Column, DataType};
use perimeter_contract::{Diagnostic, Diagnostics, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// How the fields of a file stand to the contract's columns.
#[derive(Debug)]
pub(super) struct Layout {
    /// By contract column; `None`: not in the file, its value is in the path.
    columns: Vec<Option<Leaf>>,
    /// By required object: where it is.
    objects: Vec<Vec<usize>>,
    /// Columns that the contract does not have, and that the job lets pass.
    pub(super) added: Vec<String>,
}

/// Where the values of a column are.
#[derive(Debug)]
struct Leaf {
    /// Fields on the way from the top of the record to the value or array.
    steps: Vec<usize>,
    /// For lists: fields on the way from an item to its value.
    item: Option<Vec<usize>>,
    conversion: Conversion,
    nullable: bool,
}

/// The items of any kind of list.
fn item_of(list: &ArrowType) -> Option<&FieldRef> {
    match list {
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::ListView(item) | ArrowType::LargeListView(item) | ArrowType::FixedSizeList(item, _) => {
            Some(item)
        }
        _ => None,
    }
}

/// One mistake of a file against its contract. `place` is the line of the contract.
pub(super) fn drift(code: &'static str, place: Span, file: &InputFile, message: &str, help: &str) -> Diagnostic {
    Diagnostic::new(code, place, format!("{}: {message}", file.label)).help(help)
}

/// The contract's texts are put in by who has them.
pub(super) fn refuse(list: Vec<Diagnostic>) -> Error {
    Diagnostics { list, ..Diagnostics::default() }.into()
}

/// What a name of a file may look like in a message.
fn shown(name: &str) -> String {
    if name.chars().count() <= 60 { name.to_owned() } else { name.chars().take(59).chain(['…']).collect() }
}

/// A type without the names and nullability of what is inside.
fn spelled(found: &ArrowType) -> String {
    match found {
        ArrowType::Struct(_) => "an object".to_owned(),
        ArrowType::Map(..) => "a map".to_owned(),
        ArrowType::Union(..) => "a union of types".to_owned(),
        other => match item_of(other) {
            Some(item) => format!("an array of {}", spelled(item.data_type())),
            None => other.to_string(),
        },
    }
}

fn wanted_type(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => format!("array of {}", arrow_type(item)),
        other => arrow_type(other).to_string(),
    }
}

/// Why a column is not what the contract says.
enum Mismatch {
    Missing,
    Type(String),
}

impl Layout {
    /// Holds the file's fields against the contract. `in_path` says which columns have their value in the path if the file does not have them.
    ///
    /// # Errors
    /// Exit 2: every column that is missing, added, twice there or of another type.
    pub(super) fn of(source: &Source, file: &InputFile, fields: &Fields, in_path: &dyn Fn(usize) -> bool) -> Result<Self> {
        let schema = &source.schema;
        let mut mistakes = Vec::new();
        let mut added = Vec::new();
        twice(fields, "", &schema.columns, file, schema.span, &mut mistakes);
        foreign(fields, &mut Vec::new(), &schema.columns, &mut added);
        if source.drift == Drift::Refuse {
            for (name, at) in &added {
                let message = format!("the contract does not have the column `{}`, {at} of the file", shown(name));
                let help = "Add it to the schema, or set the source's `drift: allowAdded`: a column that no rule covers is never read";
                mistakes.push(drift("unknown-column", schema.span, file, &message, help));
            }
        }
        let mut columns = Vec::with_capacity(schema.columns.len());
        for (index, column) in schema.columns.iter().enumerate() {
            match Leaf::of(column, fields) {
                Ok(leaf) => columns.push(Some(leaf)),
                Err(Mismatch::Missing) if in_path(index) => columns.push(None),
                Err(Mismatch::Missing) => {
                    let message = format!("the file lacks the column `{}` of the contract", column.name);
                    mistakes.push(drift("missing-column", column.span, file, &message, "Add it to the file or remove it from the schema"));
                }
                Err(Mismatch::Type(found)) => {
                    let wanted = wanted_type(&column.data_type);
                    let message = format!("column `{}` is {found}, which is not read as the contract's {wanted}", column.name);
                    mistakes.push(drift("column-type-mismatch", column.span, file, &message, "Change the column's type in the schema, or convert the file"));
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(refuse(mistakes));
        }
        let objects = schema.required_objects.iter().map(|object| steps_to(&object.path, fields).unwrap_or_default()).collect();
        Ok(Self { columns, objects, added: added.into_iter().map(|(name, _)| name).collect() })
    }

    /// The columns whose values must be seen, and the top-level fields of the file that hold them, ascending.
    pub(super) fn wanted(&self, emit: &Emit<'_>, projection: &[usize]) -> Wanted {
        let looked_at = |column: usize, leaf: &Leaf| {
            let ruled = emit.checker.has_rules(column) && (leaf.nullable || leaf.item.is_some() || !emit.checker.forbids_only_null(column));
            projection.contains(&column) || ruled || leaf.conversion.can_fail() || leaf.item.is_some() || emit.in_path(column)
        };
        let columns: Vec<bool> = self.columns.iter().enumerate().map(|(column, leaf)| leaf.as_ref().is_some_and(|leaf| looked_at(column, leaf))).collect();
        let leaves = self.columns.iter().zip(&columns).filter_map(|(leaf, wanted)| leaf.as_ref().filter(|_| *wanted));
        let mut roots: Vec<usize> =
            leaves.filter_map(|leaf| leaf.steps.first().copied()).chain(self.objects.iter().filter_map(|o| o.first().copied())).collect();
        roots.sort_unstable();
        roots.dedup();
        Wanted { columns, roots }
    }

    /// Hands a batch on. Its columns are the fields [`Wanted::roots`], in this order; `row` counts the file's rows.
    pub(super) fn emit(&self, wanted: &Wanted, batch: &RecordBatch, batch_rows: usize, row: &mut u64, file: &InputFile, emit: &mut Emit<'_>) -> Result<()> {
        /// Text that takes part of one batch, where the file holds it only once.
        const EXPANDED_BYTES: usize = 64 << 20;
        let widest = batch.columns().iter().map(|c| expansion_bytes(c.as_ref())).fold(0, usize::saturating_add).max(1);
        let step = batch_rows.min(EXPANDED_BYTES / widest).max(1);
        let mut start = 0;
        while start < batch.num_rows() {
            let part = batch.slice(start, step.min(batch.num_rows() - start));
            let mut columns: Vec<Option<Typed>> = self.columns.iter().map(|_| None).collect();
            for ((slot, leaf), wanted_column) in columns.iter_mut().zip(&self.columns).zip(&wanted.columns) {
                let Some(leaf) = leaf.as_ref().filter(|_| *wanted_column) else { continue };
                *slot = Some(leaf.values(&part, &wanted.roots).ok_or_else(|| corrupt(file))?);
            }
            for (object, steps) in self.objects.iter().enumerate() {
                let rows = absent(&part, &wanted.roots, steps).ok_or_else(|| corrupt(file))?;
                emit.absent_object(object, rows);
            }
            let first = *row;
            emit.batch(part.num_rows(), &columns, |index| first.saturating_add(index as u64).saturating_add(1), |rows| Ok(raw(&part, rows)), &[])?;
            *row = row.saturating_add(part.num_rows() as u64);
            start += part.num_rows();
        }
        Ok(())
    }
}

/// What must be read of a file.
#[derive(Debug)]
pub(super) struct Wanted {
    columns: Vec<bool>,
    /// Top-level fields, ascending.
    pub(super) roots: Vec<usize>,
}

/// Names that stand more than once beside each other.
fn twice(fields: &Fields, prefix: &str, columns: &[Column], file: &InputFile, place: Span, mistakes: &mut Vec<Diagnostic>) {
    for (at, field) in fields.iter().enumerate() {
        let name = format!("{prefix}{}", field.name());
        if fields.iter().take(at).any(|f| f.name() == field.name()) {
            let place = columns.iter().find(|c| c.name == name).map_or(place, |c| c.span);
            mistakes.push(drift("duplicate-column", place, file, &format!("the column `{}` is there twice", shown(&name)), "Rename one of them in the file"));
        }
        let inside = item_of(field.data_type()).map_or(field.data_type(), |item| item.data_type());
        if let ArrowType::Struct(inner) = inside {
            twice(inner, &format!("{name}."), columns, file, place, mistakes);
        }
    }
}

/// Fields that the contract says nothing about, by dotted name, and where they stand.
fn foreign<'f>(fields: &'f Fields, path: &mut Vec<&'f str>, columns: &[Column], added: &mut Vec<(String, String)>) {
    for (at, field) in (1..).zip(fields) {
        path.push(field.name());
        let starts = |column: &&Column| column.path.len() >= path.len() && column.path.iter().zip(path.iter()).all(|(a, b)| a == b);
        let mut under = columns.iter().filter(starts).peekable();
        if under.peek().is_none() {
            let place = if path.len() == 1 { format!("column {at}") } else { format!("field {at} of its object") };
            added.push((path.join("."), place));
        } else if under.all(|column| column.path.len() > path.len()) {
            let inside = item_of(field.data_type()).map_or(field.data_type(), |item| item.data_type());
            if let ArrowType::Struct(inner) = inside {
                foreign(inner, path, columns, added);
            }
        }
        path.pop();
    }
}

fn find<'f>(fields: &'f Fields, name: &str) -> Option<(usize, &'f FieldRef)> {
    fields.iter().enumerate().find(|(_, field)| field.name() == name)
}

/// The way to an object; empty where there is none.
fn steps_to(path: &[String], fields: &Fields) -> Option<Vec<usize>> {
    let mut steps = Vec::new();
    let mut here = fields;
    for (depth, name) in path.iter().enumerate() {
        let (at, field) = find(here, name)?;
        steps.push(at);
        let inside = item_of(field.data_type()).map_or(field.data_type(), |item| item.data_type());
        match inside {
            ArrowType::Struct(inner) => here = inner,
            _ if depth + 1 == path.len() => {}
            _ => return None,
        }
    }
    Some(steps)
}

impl Leaf {
    fn of(column: &Column, fields: &Fields) -> Result<Self, Mismatch> {
        let value_type = if let DataType::List(item) = &column.data_type { item.as_ref() } else { &column.data_type };
        let mut leaf = Self { steps: Vec::new(), item: None, conversion: Conversion::Same, nullable: false };
        let mut here = fields;
        for (depth, name) in (1..).zip(&column.path) {
            let (at, field) = find(here, name).ok_or(Mismatch::Missing)?;
            leaf.nullable |= field.is_nullable();
            leaf.item.as_mut().unwrap_or(&mut leaf.steps).push(at);
            let mut found = field.data_type();
            if column.list_at == Some(depth) {
                let item = item_of(found).ok_or_else(|| Mismatch::Type(spelled(found)))?;
                found = item.data_type();
                leaf.item = Some(Vec::new());
            }
            match found {
                ArrowType::Struct(inner) if depth < column.path.len() => here = inner,
                found if depth < column.path.len() => return Err(Mismatch::Type(format!("inside {}", spelled(found)))),
                found => leaf.conversion = Conversion::of(found, value_type).ok_or_else(|| Mismatch::Type(spelled(field.data_type())))?,
            }
        }
        Ok(leaf)
    }

    fn values(&self, batch: &RecordBatch, roots: &[usize]) -> Option<Typed> {
        let (array, outer) = walk_from(batch, roots, &self.steps)?;
        match &self.item {
            None => convert(&masked(&array, outer.as_ref())?, &self.conversion),
            Some(item) => {
                let (ranges, values) = items(&array)?;
                list(array.nulls(), outer.as_ref(), &ranges, &values, item, &self.conversion)
            }
        }
    }
}

/// Goes down from the top; what comes with the array says which of the objects around it are there.
fn walk_from(batch: &RecordBatch, roots: &[usize], steps: &[usize]) -> Option<(ArrayRef, Option<NullBuffer>)> {
    let (root, rest) = steps.split_first()?;
    let top = batch.columns().get(roots.binary_search(root).ok()?)?;
    walk(top, rest)
}

fn walk(top: &ArrayRef, steps: &[usize]) -> Option<(ArrayRef, Option<NullBuffer>)> {
    let (mut array, mut outer) = (Arc::clone(top), None);
    for step in steps {
        let object = array.as_struct_opt()?;
        outer = NullBuffer::union(outer.as_ref(), object.nulls());
        array = Arc::clone(object.columns().get(*step)?);
    }
    Some((array, outer))
}

/// The values, null where something around them is.
fn masked(array: &ArrayRef, outer: Option<&NullBuffer>) -> Option<ArrayRef> {
    let Some(outer) = outer.filter(|o| o.null_count() > 0) else { return Some(Arc::clone(array)) };
    let array = plain(array)?;
    let nulls = NullBuffer::union(Some(outer), array.nulls());
    Some(make_array(array.to_data().into_builder().nulls(nulls).build().ok()?))
}

/// Start and end of each list in the values.
fn items(array: &ArrayRef) -> Option<(Vec<(usize, usize)>, ArrayRef)> {
    fn offsets<O: OffsetSizeTrait>(array: &ArrayRef) -> Option<(Vec<(usize, usize)>, ArrayRef)> {
        let lists = array.as_list_opt::<O>()?;
        Some((lists.offsets().windows(2).map(|w| (w[0].as_usize(), w[1].as_usize())).collect(), Arc::clone(lists.values())))
    }
    fn views<O: OffsetSizeTrait>(array: &ArrayRef) -> Option<(Vec<(usize, usize)>, ArrayRef)> {
        let lists = array.as_list_view_opt::<O>()?;
        let ends = lists.offsets().iter().zip(lists.sizes()).map(|(start, size)| Some((start.as_usize(), start.as_usize().checked_add(size.as_usize())?)));
        Some((ends.collect::<Option<_>>()?, Arc::clone(lists.values())))
    }
    match array.data_type() {
        ArrowType::List(_) => offsets::<i32>(array),
        ArrowType::LargeList(_) => offsets::<i64>(array),
        ArrowType::ListView(_) => views::<i32>(array),
        ArrowType::LargeListView(_) => views::<i64>(array),
        ArrowType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).ok()?;
            Some(((0..array.len()).map(|row| (row * size, (row + 1) * size)).collect(), Arc::clone(array.as_fixed_size_list_opt()?.values())))
        }
        _ => None,
    }
}

/// Lists of converted values; a value that is none of the type costs the row of its list.
fn list(
    own: Option<&NullBuffer>,
    outer: Option<&NullBuffer>,
    ranges: &[(usize, usize)],
    values: &ArrayRef,
    item: &[usize],
    conversion: &Conversion,
) -> Option<Typed> {
    let nulls = NullBuffer::union(own, outer);
    let there = |row: usize| nulls.as_ref().is_none_or(|n| n.is_valid(row));
    // Only what the lists hold: a slice's values outside of it, and those behind a null, are not looked at.
    let lengths: Vec<usize> = ranges.iter().enumerate().map(|(row, (start, end))| if there(row) { end.saturating_sub(*start) } else { 0 }).collect();
    let total = lengths.iter().try_fold(0usize, |all, n| all.checked_add(*n))?;
    i32::try_from(total).ok()?;
    let mut wanted = Vec::with_capacity(total);
    for ((start, _), length) in ranges.iter().zip(&lengths) {
        wanted.extend(*start as u64..(*start + *length) as u64);
    }
    let taken = match (wanted.first(), wanted.last()) {
        (Some(first), Some(last)) if wanted.is_sorted() && last - first + 1 == total as u64 => values.slice(*first as usize, total),
        _ => take(values, &UInt64Array::from(wanted), None).ok()?,
    };
    let (leaf, around) = walk(&taken, item)?;
    let converted = convert(&masked(&leaf, around.as_ref())?, conversion)?;
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let row_of = |value: u32| offsets.partition_point(|end| i64::from(*end) <= i64::from(value)).checked_sub(1).and_then(|row| u32::try_from(row).ok());
    let mut untyped = converted.untyped.iter().map(|value| row_of(*value)).collect::<Option<Vec<u32>>>()?;
    untyped.dedup();
    let nulls = without(nulls.as_ref(), ranges.len(), &untyped);
    let field = Arc::new(Field::new_list_field(converted.array.data_type().clone(), true));
    let array = ListArray::try_new(field, offsets, converted.array, nulls).ok()?;
    Some(Typed { array: Arc::new(array), untyped, ambiguous: Vec::new() })
}

/// The rows in which an object is not there. One inside an array is missing where an item of the array lacks it.
fn absent(batch: &RecordBatch, roots: &[usize], steps: &[usize]) -> Option<Vec<u32>> {
    let Some((root, rest)) = steps.split_first() else { return Some(Vec::new()) };
    let top = batch.columns().get(roots.binary_search(root).ok()?)?;
    let rows: Vec<u32> = (0..u32::try_from(top.len()).ok()?).collect();
    let mut missing = Vec::new();
    absent_below(top, rest, &rows, &mut missing)?;
    missing.sort_unstable();
    missing.dedup();
    Some(missing)
}

fn absent_below(array: &ArrayRef, steps: &[usize], rows: &[u32], missing: &mut Vec<u32>) -> Option<()> {
    let (gone, kept): (Vec<usize>, Vec<usize>) = (0..array.len()).partition(|at| array.is_null(*at));
    missing.extend(gone.iter().filter_map(|at| rows.get(*at)));
    let Some((step, rest)) = steps.split_first() else { return Some(()) };
    let (values, rows): (ArrayRef, Vec<u32>) = if item_of(array.data_type()).is_some() {
        let (ranges, values) = items(array)?;
        let held = kept.iter().filter_map(|at| Some((ranges.get(*at)?, rows.get(*at)?)));
        let (mut wanted, mut owners) = (Vec::new(), Vec::new());
        for ((start, end), row) in held {
            wanted.extend((*start..*end).map(|at| at as u64));
            owners.extend(std::iter::repeat_n(*row, end.saturating_sub(*start)));
        }
        let taken = take(&values, &UInt64Array::from(wanted), None).ok()?;
        // An item that is not there is no object that lacks one.
        let there: UInt32Array = (0..u32::try_from(taken.len()).ok()?).filter(|at| taken.is_valid(*at as usize)).collect();
        let owners = there.values().iter().filter_map(|at| owners.get(*at as usize).copied()).collect();
        (take(&taken, &there, None).ok()?, owners)
    } else {
        let there: UInt64Array = kept.iter().map(|at| *at as u64).collect();
        (take(array, &there, None).ok()?, kept.iter().filter_map(|at| rows.get(*at).copied()).collect())
    };
    absent_below(values.as_struct_opt()?.columns().get(*step)?, rest, &rows, missing)
}

/// Rows as JSON objects, for the quarantine. Bytes that are no text are written as hexadecimal.
fn raw(batch: &RecordBatch, rows: &[usize]) -> Vec<Cow<'static, [u8]>> {
    if rows.is_empty() {
        return Vec::new();
    }
    let written = |columns: Vec<(String, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).ok()?;
        let mut writer = arrow::json::WriterBuilder::new().with_explicit_nulls(true).build::<_, arrow::json::writer::LineDelimited>(Vec::new());
        writer.write(&batch).ok()?;
        writer.finish().ok()?;
        Some(writer.into_inner())
    };
    let lines = || {
        let taken = arrow::compute::take_record_batch(batch, &UInt64Array::from_iter_values(rows.iter().map(|r| *r as u64))).ok()?;
        let columns: Vec<(String, ArrayRef)> =
            taken.schema().fields().iter().zip(taken.columns()).map(|(field, array)| (field.name().clone(), readable(array))).collect();
        // A date that no calendar has is written as the number that it is.
        written(columns.clone()).or_else(|| {
            let countable = |(name, array): (String, ArrayRef)| match written(vec![(name.clone(), Arc::clone(&array))]) {
                Some(_) => Some((name, array)),
                None => Some((name, cast(&cast(&array, &integer_like(array.data_type())?).ok()?, &ArrowType::Utf8).ok()?)),
            };
            written(columns.into_iter().filter_map(countable).collect())
        })
    };
    let text = lines().unwrap_or_default();
    let mut lines = text.split(|b| *b == b'\n');
    rows.iter().map(|_| Cow::Owned(lines.next().unwrap_or_default().to_vec())).collect()
}

fn integer_like(data_type: &ArrowType) -> Option<ArrowType> {
    match data_type.primitive_width()? {
        4 => Some(ArrowType::Int32),
        8 => Some(ArrowType::Int64),
        _ => None,
    }
}

/// Plain layouts, and text where the bytes are text.
fn readable(array: &ArrayRef) -> ArrayRef {
    let array = plain(array).unwrap_or_else(|| Arc::clone(array));
    match array.data_type() {
        ArrowType::Binary => {
            let text = array.as_binary_opt::<i32>().and_then(|bytes| arrow::array::StringArray::try_from_binary(bytes.clone()).ok());
            text.map_or(array, |text| Arc::new(text))
        }
        ArrowType::Struct(fields) => {
            let object = array.as_struct();
            let columns: Vec<ArrayRef> = object.columns().iter().map(readable).collect();
            let fields: Fields =
                fields.iter().zip(&columns).map(|(f, c)| f.as_ref().clone().with_data_type(c.data_type().clone()).with_nullable(true)).collect();
            StructArray::try_new_with_length(fields, columns, object.nulls().cloned(), object.len()).map_or(array, |o| Arc::new(o))
        }
        _ => {
            let Some((ranges, values)) = items(&array) else { return array };
            let lists = || {
                let lengths: Vec<usize> = ranges.iter().map(|(start, end)| end.saturating_sub(*start)).collect();
                let wanted: UInt64Array = ranges.iter().flat_map(|(start, end)| *start as u64..*end as u64).collect();
                i32::try_from(wanted.len()).ok()?;
                let values = readable(&take(&values, &wanted, None).ok()?);
                let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
                ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, array.nulls().cloned()).ok()
            };
            lists().map_or_else(|| Arc::clone(&array), |l| Arc::new(l))
        }
    }
}
