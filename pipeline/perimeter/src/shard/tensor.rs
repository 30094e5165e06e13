//! Records without a container: `encoding: tensor`, the raw little-endian static tensors one after the other, in the order of `shapes.json`.
//!
//! A [`TensorLayout`] says where each tensor lies; every record of it has the same size, so a reader needs `numpy.frombuffer` and nothing else.
//! [`TensorEncoder`] writes records, pads at the end of each tensor with zeros, and allocates nothing for a record.
use super::example::Values;
use crate::shape::dtype::{Dtype, Reason, Refused};

/// One tensor of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The feature's name.
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// Its static shape; empty for a single value.
    pub shape: Vec<u32>,
}

/// Why a layout or record cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// A record of this layout is beyond 2 GiB.
    #[error("a record of these tensors is too large")]
    TooLarge,
    /// More values than the tensor has elements, or bytes that are no whole elements.
    #[error("feature {feature}: the values do not fit the tensor's shape")]
    Shape {
        /// Its place in the layout.
        feature: usize,
    },
    /// A value that the type cannot hold.
    #[error("feature {feature}, element {element}: {reason}")]
    Value {
        /// Its place in the layout.
        feature: usize,
        /// From 0.
        element: usize,
        /// Why.
        reason: Reason,
    },
}

/// Where each tensor of a record lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    tensors: Vec<Tensor>,
    /// Where each tensor begins, and where the record ends.
    offsets: Vec<usize>,
}

impl TensorLayout {
    /// For these tensors in this order.
    ///
    /// # Errors
    /// [`TensorError::TooLarge`].
    pub fn new(tensors: Vec<Tensor>) -> Result<Self, TensorError> {
        let mut offsets = vec![0_usize];
        let mut end = 0_usize;
        for tensor in &tensors {
            let elements = tensor.shape.iter().try_fold(1_usize, |elements, &side| elements.checked_mul(usize::try_from(side).ok()?));
            let bytes = elements.and_then(|elements| elements.checked_mul(tensor.dtype.bytes()));
            end = bytes.and_then(|bytes| end.checked_add(bytes)).filter(|&end| end < 1 << 31).ok_or(TensorError::TooLarge)?;
            offsets.push(end);
        }
        Ok(Self { tensors, offsets })
    }

    /// The tensors, in order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Bytes of every record.
    pub fn record_bytes(&self) -> usize {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// Where a tensor's bytes lie in a record.
    pub fn range(&self, tensor: usize) -> Option<std::ops::Range<usize>> {
        Some(*self.offsets.get(tensor)?..*self.offsets.get(tensor + 1)?)
    }
}

/// Writes records of one layout.
#[derive(Clone, Debug)]
pub struct TensorEncoder {
    layout: TensorLayout,
    out: Vec<u8>,
}

impl TensorEncoder {
    /// For records of `layout`.
    pub fn new(layout: TensorLayout) -> Self {
        Self { out: Vec::with_capacity(layout.record_bytes()), layout }
    }

    /// The layout.
    pub fn layout(&self) -> &TensorLayout {
        &self.layout
    }

    /// One record: `values` gives what the n-th tensor holds, as for [`Encoder`](super::Encoder); what it leaves of the tensor is zero. [`Values::Bytes`] are
    /// whole little-endian elements, converted before. The bytes live until the next call.
    ///
    /// # Errors
    /// [`TensorError::Shape`], [`TensorError::Value`].
    pub fn encode<'v>(&mut self, values: impl Fn(usize) -> Values<'v>) -> Result<&[u8], TensorError> {
        self.out.clear();
        for (feature, tensor) in self.layout.tensors.iter().enumerate() {
            let end = self.layout.offsets[feature + 1];
            let room = end - self.out.len();
            let (width, dtype) = (tensor.dtype.bytes(), tensor.dtype);
            let refuse = |Refused { row, reason }| TensorError::Value { feature, element: row, reason };
            match values(feature) {
                Values::Floats(values) if values.len() * width <= room => dtype.append_floats(values, &mut self.out).map_err(refuse)?,
                Values::Ints(values) if values.len() * width <= room => dtype.append_ints(values, &mut self.out).map_err(refuse)?,
                Values::Int(value) if width <= room => dtype.append_ints(&[value], &mut self.out).map_err(refuse)?,
                Values::Bytes(bytes) | Values::Halves(bytes) if bytes.len() <= room && bytes.len() % width == 0 => self.out.extend_from_slice(bytes),
                _ => return Err(TensorError::Shape { feature }),
            }
            self.out.resize(end, 0);
        }
        Ok(&self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tensor(name: &str, dtype: Dtype, shape: &[u32]) -> Tensor {
        Tensor { name: name.to_owned(), dtype, shape: shape.to_vec() }
    }

    #[test]
    fn records_are_tensors_one_after_the_other() {
        let layout = TensorLayout::new(vec![
            tensor("amount", Dtype::Bfloat16, &[4]),
            tensor("chunk", Dtype::Int64, &[]),
            tensor("kept", Dtype::Bool, &[4]),
            tensor("memo", Dtype::Int32, &[2, 2]),
            tensor("ready", Dtype::Float16, &[2]),
        ])
        .unwrap();
        assert_eq!((layout.record_bytes(), layout.range(3), layout.range(5)), (8 + 8 + 4 + 16 + 4, Some(20..36), None));
        let mut encoder = TensorEncoder::new(layout);
        let record = encoder
            .encode(|feature| match feature {
                0 => Values::Floats(&[1.0, -2.0]),
                1 => Values::Int(-1),
                2 => Values::Ints(&[1]),
                3 => Values::Ints(&[7, 8, 9]),
                _ => Values::Bytes(&[0x00, 0x3c]),
            })
            .unwrap();
        let expected = "803f00c000000000 ffffffffffffffff 01000000 07000000080000000900000000000000 003c0000";
        assert_eq!(hex::encode(record), expected.replace(' ', ""));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut encoder = TensorEncoder::new(TensorLayout::new(vec![tensor("x", Dtype::Uint8, &[2])]).unwrap());
        let error = |result: Result<&[u8], TensorError>| result.unwrap_err();
        assert_eq!(error(encoder.encode(|_| Values::Ints(&[1, 2, 3]))), TensorError::Shape { feature: 0 });
        assert_eq!(error(encoder.encode(|_| Values::Ints(&[1, 256]))), TensorError::Value { feature: 0, element: 1, reason: Reason::OutOfRange });
        assert_eq!(encoder.encode(|_| Values::Ints(&[255])).unwrap(), [255, 0]);
        let mut encoder = TensorEncoder::new(TensorLayout::new(vec![tensor("x", Dtype::Float32, &[2])]).unwrap());
        assert_eq!(error(encoder.encode(|_| Values::Bytes(&[1, 2, 3]))), TensorError::Shape { feature: 0 });
        assert_eq!(TensorLayout::new(vec![tensor("x", Dtype::Int64, &[1 << 16, 1 << 16])]), Err(TensorError::TooLarge));
        assert_eq!(TensorLayout::new(vec![tensor("x", Dtype::Int64, &[u32::MAX; 9])]), Err(TensorError::TooLarge));
    }

    proptest! {
        /// Each tensor is in its place, padded with zeros at the end only.
        #[test]
        fn tensors_are_where_the_layout_says(
            lengths in prop::collection::vec((0_usize..6, 0_u32..3), 1..6),
            values in prop::collection::vec(1_i64..256, 40),
        ) {
            let tensors: Vec<Tensor> = lengths
                .iter()
                .enumerate()
                .map(|(index, &(length, more))| tensor(&index.to_string(), Dtype::ALL[index % 6], &[u32::try_from(length).unwrap() + more]))
                .collect();
            let mut encoder = TensorEncoder::new(TensorLayout::new(tensors).unwrap());
            let slice = |index: usize| &values[index * 6..index * 6 + lengths[index].0];
            let record = encoder.encode(|index| Values::Ints(slice(index))).unwrap().to_vec();
            prop_assert_eq!(record.len(), encoder.layout().record_bytes());
            for index in 0..lengths.len() {
                let mut expected = Vec::new();
                encoder.layout().tensors()[index].dtype.append_ints(slice(index), &mut expected).unwrap();
                let found = &record[encoder.layout().range(index).unwrap()];
                prop_assert_eq!(&found[..expected.len()], expected.as_slice());
                prop_assert!(found[expected.len()..].iter().all(|&byte| byte == 0));
            }
        }
    }
}
