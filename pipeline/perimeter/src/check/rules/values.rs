//! Lists of values that a contract writes as text, in the column's own type.
use super::{integers, primitive, rows, text};
use crate::check::{Cell, Typing};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType as ArrowType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use perimeter_contract::schema::DataType;

/// A set of values of one type.
#[derive(Clone, Debug)]
pub(in crate::check) enum Values {
    Text(HashSet<String, FixedState>),
    /// Integers, unscaled decimals, days, microseconds.
    Integers(HashSet<i128, FixedState>),
    Floats(Vec<f64>),
    Booleans {
        holds_true: bool,
        holds_false: bool,
    },
}

impl Values {
    /// Every one of the texts must be a value of the type, as text files write it.
    pub(super) fn all(texts: &[String], data_type: &DataType) -> Option<Self> {
        let (values, left_out) = Self::read(texts, data_type)?;
        (left_out == 0).then_some(values)
    }

    /// Those of the texts that are values of the type: no cell can be equal to the others.
    pub(super) fn any(texts: &[String], data_type: &DataType) -> Option<Self> {
        Self::read(texts, data_type).map(|(values, _)| values)
    }

    fn read(texts: &[String], data_type: &DataType) -> Option<(Self, usize)> {
        if *data_type == DataType::String {
            return Some((Self::Text(texts.iter().cloned().collect()), 0));
        }
        if matches!(data_type, DataType::List(_)) {
            return None;
        }
        let mut typing = Typing::new(data_type, None);
        typing.extend(texts.iter().map(|text| Cell::Text(text)));
        let typed = typing.finish();
        let array = &typed.array;
        let values = match array.data_type() {
            ArrowType::Int32 => Self::Integers(array.as_primitive_opt::<Int32Type>()?.iter().flatten().map(i128::from).collect()),
            ArrowType::Int64 => Self::Integers(array.as_primitive_opt::<Int64Type>()?.iter().flatten().map(i128::from).collect()),
            ArrowType::Date32 => Self::Integers(array.as_primitive_opt::<Date32Type>()?.iter().flatten().map(i128::from).collect()),
            ArrowType::Time64(_) => Self::Integers(array.as_primitive_opt::<Time64MicrosecondType>()?.iter().flatten().map(i128::from).collect()),
            ArrowType::Timestamp(..) => Self::Integers(array.as_primitive_opt::<TimestampMicrosecondType>()?.iter().flatten().map(i128::from).collect()),
            ArrowType::Decimal128(..) => Self::Integers(array.as_primitive_opt::<Decimal128Type>()?.iter().flatten().collect()),
            ArrowType::Float64 => Self::Floats(array.as_primitive_opt::<Float64Type>()?.iter().flatten().collect()),
            ArrowType::Boolean => {
                let values = array.as_boolean_opt()?;
                let holds = |wanted: bool| values.iter().any(|value| value == Some(wanted));
                Self::Booleans { holds_true: holds(true), holds_false: holds(false) }
            }
            _ => return None,
        };
        Some((values, typed.untyped.len()))
    }

    /// Rows whose value is among them, or is not, unlike `wanted`.
    pub(super) fn evaluate(&self, array: &ArrayRef, wanted: bool, broken: &mut dyn FnMut(u32)) {
        match self {
            Self::Text(values) => text(array, broken, |v| values.contains(v) == wanted),
            Self::Integers(values) => integers(array, broken, |v| values.contains(&v) == wanted),
            Self::Floats(values) => primitive::<Float64Type>(array, broken, |v| values.contains(&v) == wanted),
            Self::Booleans { holds_true, holds_false } => {
                let Some(array) = array.as_boolean_opt() else { return };
                rows(array, broken, |row| (if array.value(row) { *holds_true } else { *holds_false }) == wanted);
            }
        }
    }
}
