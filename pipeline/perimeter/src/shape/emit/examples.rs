//! Pieces of examples as records in shards: padded to a bucket, or packed into windows.
use super::super::column::Values;
use super::super::layout::{Content, Layout};
use super::super::overflow::Conservation;
use super::super::pack::{Packed, Packer, Window};
use crate::error::{Culprit, Failure, Result};
use crate::shard::tensor::{Tensor, TensorEncoder, TensorLayout};
use crate::shard::{self, Encoder, ShardWriter, Text};
use perimeter_contract::job::RecordEncoding;
use std::ops::Range;

/// What one record is made of.
pub(super) struct Piece<'a> {
    /// The values along the bucketed axis, by [`Content::Axis`], and which of them are the piece.
    pub(super) axis: &'a [Values],
    pub(super) range: Range<usize>,
    /// The number of the piece in its example, from 0.
    pub(super) chunk: i64,
    /// The entity's token.
    pub(super) token: &'a [u8],
    /// What a row has once, by [`Content::Scalar`] and [`Content::Text`], and which row it is.
    pub(super) scalars: &'a [Values],
    pub(super) texts: &'a [Text<'a>],
    pub(super) row: usize,
}

/// Encodes pieces, and hands them to the shard's file.
pub(super) struct Examples {
    encoder: RecordEncoder,
    writer: ShardWriter,
    packing: Option<Packing>,
    /// Where the elements of all examples went.
    pub(super) account: Conservation,
}

enum RecordEncoder {
    Example(Encoder),
    /// By bucket.
    Tensors(Vec<TensorEncoder>),
}

/// Open windows.
struct Packing {
    packer: Packer,
    /// By slot: what its window holds so far.
    slots: Vec<Vec<Values>>,
    segmentation: Vec<i64>,
    position: Vec<i64>,
}

impl Examples {
    pub(super) fn new(layout: &Layout, encoding: RecordEncoding, writer: ShardWriter) -> Result<Self> {
        let encoder = match encoding {
            RecordEncoding::TfExample => RecordEncoder::Example(Encoder::new(layout.slots.iter().map(|slot| slot.name.as_str()))),
            RecordEncoding::Tensor => RecordEncoder::Tensors(layout.bins().into_iter().map(|bucket| tensors(layout, bucket)).collect::<Result<_>>()?),
        };
        let packing = layout.packing.map(|limits| Packing {
            packer: Packer::new(limits),
            slots: (0..limits.open.get()).map(|_| layout.axis_values()).collect(),
            segmentation: Vec::new(),
            position: Vec::new(),
        });
        Ok(Self { encoder, writer, packing, account: Conservation::default() })
    }

    /// Goes to `shard`; windows never hold examples of two.
    pub(super) fn advance(&mut self, layout: &Layout, shard: u32) -> Result<()> {
        if self.writer.shard() != Some(shard) {
            self.flush(layout)?;
        }
        self.writer.advance(shard)
    }

    /// Writes or packs one piece.
    pub(super) fn piece(&mut self, layout: &Layout, piece: &Piece<'_>) -> Result<()> {
        let length = piece.range.len();
        let Some(packing) = &mut self.packing else {
            let bucket_index = layout.buckets().partition_point(|&bucket| (bucket as usize) < length);
            let padded = layout.buckets().get(bucket_index).map_or(length, |&bucket| bucket as usize);
            let bucket_index = if layout.buckets().is_empty() { 0 } else { bucket_index };
            return self.write(layout, bucket_index, padded, |content, width| content_of(piece, content, width));
        };
        let place = packing.packer.place(length).map_err(|_| bug("a piece is longer than its window"))?;
        let Some(place) = place else { return Ok(()) };
        if let Some(closed) = &place.closed {
            self.window(layout, closed)?;
        }
        if let Some(packing) = &mut self.packing {
            for ((held, values), width) in packing.slots[place.slot].iter_mut().zip(piece.axis).zip(layout.axis_widths()) {
                held.append(values, piece.range.start * width, piece.range.end * width);
            }
        }
        Ok(())
    }

    /// Closes every file.
    pub(super) fn finish(mut self, layout: &Layout) -> Result<(Vec<crate::shard::ClosedShard>, Conservation, Option<Packed>)> {
        self.flush(layout)?;
        let packed = self.packing.as_ref().map(|packing| *packing.packer.packed());
        Ok((self.writer.finish()?, self.account, packed))
    }

    /// Writes the open windows.
    fn flush(&mut self, layout: &Layout) -> Result<()> {
        let windows = self.packing.as_mut().map(|packing| packing.packer.finish()).unwrap_or_default();
        windows.iter().try_for_each(|window| self.window(layout, window))
    }

    fn window(&mut self, layout: &Layout, window: &Window) -> Result<()> {
        let Some(mut packing) = self.packing.take() else { return Ok(()) };
        packing.segmentation.clear();
        packing.position.clear();
        window.segmentation(&mut packing.segmentation);
        window.position(&mut packing.position);
        let (used, held) = (window.used(), &packing.slots[window.slot]);
        let written = self.write(layout, 0, layout.chunk_events(), |content, width| match content {
            Content::Axis(index) => held[index].slice(0, used * width),
            Content::Segmentation => shard::Values::Ints(&packing.segmentation),
            Content::Position => shard::Values::Ints(&packing.position),
            Content::Length => shard::Values::Int(i64::try_from(used).unwrap_or(i64::MAX)),
            // A window holds several examples, and nothing that only one of them has.
            Content::Scalar(_) | Content::Text(_) | Content::Entity | Content::Chunk => shard::Values::Int(0),
        });
        packing.slots[window.slot].iter_mut().for_each(Values::clear);
        self.packing = Some(packing);
        written
    }

    /// One record of `padded` places along the axis.
    fn write<'v>(&mut self, layout: &'v Layout, bucket_index: usize, padded: usize, values: impl Fn(Content, usize) -> shard::Values<'v>) -> Result<()> {
        let of_slot = |slot: usize| values(layout.slots[slot].content, layout.slots[slot].width());
        let record = match &mut self.encoder {
            RecordEncoder::Example(encoder) => encoder.encode(|slot| layout.slots[slot].places(padded), of_slot),
            RecordEncoder::Tensors(encoders) => {
                let encoder = encoders.get_mut(bucket_index).ok_or_else(|| bug("a record has no bucket"))?;
                encoder.encode(of_slot).map_err(|_| bug("a record does not fit its tensors"))?
            }
        };
        self.writer.write(bucket_index, record)
    }
}

fn content_of<'v>(piece: &Piece<'v>, content: Content, width: usize) -> shard::Values<'v> {
    match content {
        Content::Axis(index) => piece.axis[index].slice(piece.range.start * width, piece.range.end * width),
        Content::Scalar(index) => piece.scalars[index].slice(piece.row * width, (piece.row + 1) * width),
        Content::Text(index) => shard::Values::Bytes(piece.texts[index].value(piece.row)),
        Content::Entity => shard::Values::Bytes(piece.token),
        Content::Length => shard::Values::Int(i64::try_from(piece.range.len()).unwrap_or(i64::MAX)),
        // Only windows have the others.
        Content::Chunk | Content::Segmentation | Content::Position => shard::Values::Int(piece.chunk),
    }
}

fn tensors(layout: &Layout, bucket: Option<u32>) -> Result<TensorEncoder> {
    let tensor = |feature: super::super::FeatureShape| {
        let dtype = super::super::dtype::Dtype::of(feature.dtype).ok_or_else(|| bug("bytes are no tensor"))?;
        Ok(Tensor { name: feature.name, dtype, shape: feature.shape })
    };
    let tensors = layout.features(bucket).into_iter().map(tensor).collect::<Result<Vec<_>>>()?;
    let layout = TensorLayout::new(tensors).map_err(|_| {
        Failure::new(Culprit::File, "record-too-large", "a record of these features and buckets is beyond 2 GiB").help("fewer features, or smaller buckets")
    })?;
    Ok(TensorEncoder::new(layout))
}

fn bug(what: &str) -> Failure {
    Failure::new(Culprit::Data, "column-type", what.to_owned()).help("this is a bug: report it")
}
