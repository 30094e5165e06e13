//! Transposed chunks: records taken apart as protocol buffer messages, values of one field beside each other.
//!
//! The format has no written description; this follows google/riegeli, `riegeli/chunk_encoding/transpose_decoder.cc`. A chunk holds a
//! state machine whose nodes append one piece of a message each, and a string of transitions that walks it. Messages come out back to
//! front: pieces are gathered reversed, and the whole is reversed at the end.
use crate::Fault;
use crate::decode::decompress;
use crate::layout::{ChunkHeader, put_varint, take_varint};
use std::ops::Range;
use zstd::zstd_safe::DCtx;

const NO_OP: u32 = 0;
const NON_PROTO: u32 = 1;
const START_OF_SUBMESSAGE: u32 = 2;
const START_OF_MESSAGE: u32 = 3;
/// A tag below this has no field number.
const FIRST_TAG: u32 = 8;

/// Wire types of protocol buffers, and the format's own for the end of a submessage.
mod wire {
    pub(super) const VARINT: u32 = 0;
    pub(super) const FIXED64: u32 = 1;
    pub(super) const LENGTH: u32 = 2;
    pub(super) const END_GROUP: u32 = 4;
    pub(super) const FIXED32: u32 = 5;
    pub(super) const SUBMESSAGE: u32 = 6;
}

/// Subtypes of a varint from here on are its value; those below are its length less one.
const VARINT_INLINE: u8 = 10;

fn wrong(why: &'static str) -> Fault {
    Fault::Chunk(why)
}

/// What a node appends.
enum Piece {
    Nothing,
    Failure,
    MessageStart,
    /// A record that is no message: its length and bytes come from buffers.
    NonProto {
        buffer: usize,
    },
    SubmessageStart,
    SubmessageEnd,
    /// The tag alone: groups and varints with their value inline.
    Tag,
    /// The tag and this many bytes of a varint, stored without continuation bits.
    Varint {
        buffer: usize,
        bytes: usize,
    },
    Fixed {
        buffer: usize,
        bytes: usize,
    },
    Text {
        buffer: usize,
    },
}

struct Node {
    piece: Piece,
    tag: [u8; 6],
    tag_bytes: usize,
    next: usize,
    is_implicit: bool,
}

/// Buffers of the chunk, each read from front to back.
struct Buffers {
    arena: Vec<u8>,
    rest: Vec<Range<usize>>,
}

impl Buffers {
    fn take(&mut self, buffer: usize, bytes: usize) -> Result<&[u8], Fault> {
        let rest = self.rest.get_mut(buffer).ok_or(wrong("a buffer is missing"))?;
        let end = rest.start.checked_add(bytes).filter(|end| *end <= rest.end).ok_or(wrong("a buffer ends early"))?;
        let part = &self.arena[rest.start..end];
        rest.start = end;
        Ok(part)
    }

    /// Looks at a varint without taking it: its value and how many bytes it has.
    fn peek_varint(&self, buffer: usize) -> Result<(usize, usize), Fault> {
        let rest = self.rest.get(buffer).ok_or(wrong("a buffer is missing"))?;
        let mut bytes = &self.arena[rest.clone()];
        let before = bytes.len();
        let value = take_varint(&mut bytes).and_then(|value| usize::try_from(value).ok()).ok_or(wrong("a length is torn"))?;
        Ok((value, before - bytes.len()))
    }
}

fn index(header: &mut &[u8], below: usize, why: &'static str) -> Result<usize, Fault> {
    take_varint(header).and_then(|value| usize::try_from(value).ok()).filter(|value| *value < below).ok_or(wrong(why))
}

/// A count of things that each take a byte of `header` at least, so that it bounds what is allocated.
fn count(header: &mut &[u8], why: &'static str) -> Result<usize, Fault> {
    let value = take_varint(header).and_then(|value| usize::try_from(value).ok()).ok_or(wrong(why))?;
    if value <= header.len() { Ok(value) } else { Err(wrong(why)) }
}

/// Decodes the records into `values`, their ends into `ends`.
pub(crate) fn decode(
    zstd: &mut DCtx<'static>,
    chunk: &ChunkHeader,
    data: &[u8],
    max_chunk_bytes: u64,
    values: &mut Vec<u8>,
    ends: &mut Vec<usize>,
) -> Result<(), Fault> {
    let (&compression, mut rest) = data.split_first().ok_or(wrong("it is empty"))?;
    let header_bytes = take_varint(&mut rest).and_then(|n| usize::try_from(n).ok()).ok_or(wrong("the length of its header is torn"))?;
    let (header, mut rest) = rest.split_at_checked(header_bytes).ok_or(wrong("its header is torn"))?;
    let mut plain = Vec::new();
    // A node takes far more memory than the two bytes that make it, and a real state machine, full of different numbers, compresses a
    // few times: one that would decompress to much more than the whole chunk has is not real.
    let header_limit_bytes = max_chunk_bytes.min((data.len() as u64).saturating_mul(32).saturating_add(1 << 16));
    decompress(zstd, compression, header, header_limit_bytes, "header", &mut plain)?;
    let mut header = plain.as_slice();

    let buffers = parse_buffers(zstd, compression, chunk, &mut header, &mut rest)?;
    // A writer's machine has a node or two, and takes a step or two, for every byte and record that it writes.
    let steps = chunk.decoded_bytes.saturating_add(chunk.records).saturating_mul(4).saturating_add(1 << 10);
    let (nodes, first, lengths) = parse_nodes(&mut header, buffers.rest.len(), steps)?;
    let mut transitions = Vec::new();
    decompress(zstd, compression, rest, steps.min(max_chunk_bytes), "transitions", &mut transitions)?;

    values.clear();
    ends.clear();
    let limit_bytes = usize::try_from(chunk.decoded_bytes).map_err(|_| Fault::OverLimit(chunk.decoded_bytes))?;
    let mut machine = Machine { nodes: &nodes, buffers, lengths, out: values, limit_bytes, starts: ends, records: chunk.records, open: Vec::new() };
    machine.run(first, &transitions)?;
    finish(values, ends, chunk)
}

/// Turns what was gathered back to front the right way round.
fn finish(values: &mut [u8], ends: &mut Vec<usize>, chunk: &ChunkHeader) -> Result<(), Fault> {
    let total = values.len();
    if ends.len() as u64 != chunk.records || ends.last().copied().unwrap_or(0) != total || total as u64 != chunk.decoded_bytes {
        return Err(wrong("its records have other numbers or sizes than its header says"));
    }
    values.reverse();
    // The distances from the end at which records start become the ends of the records before them.
    ends.pop();
    ends.reverse();
    ends.iter_mut().for_each(|end| *end = total - *end);
    if chunk.records > 0 {
        ends.push(total);
    }
    Ok(())
}

fn parse_buffers(zstd: &mut DCtx<'static>, compression: u8, chunk: &ChunkHeader, header: &mut &[u8], rest: &mut &[u8]) -> Result<Buffers, Fault> {
    let buckets = count(header, "its buckets are torn")?;
    let buffers = take_varint(header).and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= header.len()).ok_or(wrong("its buffers are torn"))?;
    if buckets == 0 && buffers > 0 {
        return Err(wrong("it has buffers without buckets"));
    }
    // All that a buffer holds comes out in a record, but for the lengths of records that are no messages.
    let mut budget = chunk.decoded_bytes.saturating_add(chunk.records.saturating_mul(10));
    let mut arena = Vec::new();
    let mut bucket_ends = Vec::with_capacity(buckets);
    let mut plain = Vec::new();
    for _ in 0..buckets {
        let bytes = take_varint(header).and_then(|n| usize::try_from(n).ok()).ok_or(wrong("its buckets are torn"))?;
        let (bucket, after) = rest.split_at_checked(bytes).ok_or(wrong("a bucket is torn"))?;
        *rest = after;
        let got = decompress(zstd, compression, bucket, budget, "buckets", &mut plain)?;
        budget -= got as u64;
        arena.extend_from_slice(&plain);
        bucket_ends.push(arena.len());
    }
    let mut ranges = Vec::with_capacity(buffers);
    let mut bucket = 0;
    let mut position = 0usize;
    for _ in 0..buffers {
        let bytes = take_varint(header).and_then(|n| usize::try_from(n).ok()).ok_or(wrong("its buffers are torn"))?;
        let end = position.checked_add(bytes).filter(|end| *end <= bucket_ends[bucket]).ok_or(wrong("a buffer exceeds its bucket"))?;
        ranges.push(position..end);
        position = end;
        while position == bucket_ends[bucket] && bucket + 1 < buckets {
            bucket += 1;
        }
    }
    if buckets > 0 && (bucket + 1 < buckets || position != arena.len()) {
        return Err(wrong("its buffers do not fill its buckets"));
    }
    Ok(Buffers { arena, rest: ranges })
}

/// Nodes, the first of them, and the buffer with the lengths of records that are no messages (the last one, where there are such).
fn parse_nodes(header: &mut &[u8], buffers: usize, most: u64) -> Result<(Vec<Node>, usize, usize), Fault> {
    const TORN: &str = "its state machine is torn";
    let size = count(header, TORN)?;
    if size as u64 > most {
        return Err(wrong("its state machine has more nodes than its records have bytes"));
    }
    let mut tags = Vec::with_capacity(size);
    for _ in 0..size {
        tags.push(take_varint(header).and_then(|tag| u32::try_from(tag).ok()).ok_or(wrong(TORN))?);
    }
    let mut nexts = Vec::with_capacity(size);
    for _ in 0..size {
        nexts.push(index(header, size.saturating_mul(2), TORN)?);
    }
    let with_subtype = |tag: u32| tag >= FIRST_TAG && tag & 7 == wire::VARINT;
    let subtypes = tags.iter().filter(|tag| with_subtype(**tag)).count();
    let (mut subtypes, after) = header.split_at_checked(subtypes).ok_or(wrong(TORN))?;
    *header = after;

    let mut nodes = Vec::with_capacity(size);
    let mut has_non_proto = false;
    for (&tag, &next) in tags.iter().zip(&nexts) {
        let mut node = Node { piece: Piece::Nothing, tag: [0; 6], tag_bytes: 0, next: next % size, is_implicit: next >= size };
        let mut buffer = || index(header, buffers, "a buffer is missing");
        node.piece = match tag {
            NO_OP => Piece::Nothing,
            NON_PROTO => {
                has_non_proto = true;
                Piece::NonProto { buffer: buffer()? }
            }
            START_OF_SUBMESSAGE => Piece::SubmessageStart,
            START_OF_MESSAGE => Piece::MessageStart,
            _ => {
                let ends_submessage = tag & 7 == wire::SUBMESSAGE;
                let tag = if ends_submessage { tag - (wire::SUBMESSAGE - wire::LENGTH) } else { tag };
                if tag < FIRST_TAG {
                    return Err(wrong("a tag is not one of a message"));
                }
                let mut encoded = Vec::with_capacity(6);
                put_varint(&mut encoded, u64::from(tag));
                node.tag_bytes = encoded.len();
                let piece = match tag & 7 {
                    wire::LENGTH if ends_submessage => Piece::SubmessageEnd,
                    wire::LENGTH => Piece::Text { buffer: buffer()? },
                    wire::FIXED32 => Piece::Fixed { buffer: buffer()?, bytes: 4 },
                    wire::FIXED64 => Piece::Fixed { buffer: buffer()?, bytes: 8 },
                    wire::VARINT => {
                        let (&subtype, after) = subtypes.split_first().ok_or(wrong(TORN))?;
                        subtypes = after;
                        match subtype.checked_sub(VARINT_INLINE) {
                            None => Piece::Varint { buffer: buffer()?, bytes: usize::from(subtype) + 1 },
                            Some(value @ ..=0x7f) => {
                                encoded.push(value);
                                node.tag_bytes += 1;
                                Piece::Tag
                            }
                            Some(_) => return Err(wrong("a varint has no such length")),
                        }
                    }
                    3 | wire::END_GROUP => Piece::Tag,
                    _ => return Err(wrong("a tag is not one of a message")),
                };
                node.tag[..encoded.len()].copy_from_slice(&encoded);
                piece
            }
        };
        nodes.push(node);
    }
    let first = index(header, size, TORN)?;
    if !header.is_empty() {
        return Err(wrong("something follows its state machine"));
    }
    if has_implicit_loop(&nodes) {
        return Err(wrong("its state machine runs in a circle"));
    }
    let lengths = if has_non_proto { buffers.checked_sub(1).ok_or(wrong("a buffer is missing"))? } else { 0 };
    Ok((nodes, first, lengths))
}

/// Whether following implicit transitions alone can go on for ever.
fn has_implicit_loop(nodes: &[Node]) -> bool {
    let mut seen_in = vec![0usize; nodes.len()];
    for start in 0..nodes.len() {
        let mut at = start;
        loop {
            if seen_in[at] == start + 1 {
                return true;
            }
            if seen_in[at] != 0 {
                break;
            }
            seen_in[at] = start + 1;
            if !nodes[at].is_implicit {
                break;
            }
            at = nodes[at].next;
        }
    }
    false
}

struct Machine<'a> {
    nodes: &'a [Node],
    buffers: Buffers,
    lengths: usize,
    /// Back to front.
    out: &'a mut Vec<u8>,
    limit_bytes: usize,
    /// Where each record starts, counted from the end, last record first.
    starts: &'a mut Vec<usize>,
    records: u64,
    /// Submessages whose end has been seen: where they end, counted from the end, and the node with their tag.
    open: Vec<(usize, usize)>,
}

static FAILURE: Node = Node { piece: Piece::Failure, tag: [0; 6], tag_bytes: 0, next: 0, is_implicit: false };

impl Machine<'_> {
    fn run(&mut self, first: usize, transitions: &[u8]) -> Result<(), Fault> {
        // A hostile machine could take many steps that write nothing; a writer's takes a few for each byte. What counts is what was
        // written, not what the header says will be, nor how many transitions there are: both cost nothing to claim.
        let mut steps = 0;
        let mut transitions = transitions.iter();
        let node = |at: usize| self.nodes.get(at).unwrap_or(&FAILURE);
        let mut at = first;
        let mut repeat = u8::from(node(at).is_implicit);
        loop {
            steps += 1;
            if steps > 16 * (self.out.len() + self.starts.len() + self.nodes.len()) + 4096 {
                return Err(wrong("its state machine does not come to an end"));
            }
            self.step(at)?;
            let node = |at: usize| self.nodes.get(at).unwrap_or(&FAILURE);
            at = node(at).next;
            if repeat == 0 {
                let Some(&byte) = transitions.next() else { break };
                at += usize::from(byte >> 2);
                repeat = (byte & 3) + u8::from(node(at).is_implicit);
            } else {
                repeat -= u8::from(!node(at).is_implicit);
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err(wrong("a submessage has no start")) }
    }

    fn step(&mut self, at: usize) -> Result<(), Fault> {
        let node = self.nodes.get(at).unwrap_or(&FAILURE);
        let tag = &node.tag[..node.tag_bytes];
        let Self { out, buffers, limit_bytes, .. } = self;
        let position = out.len();
        let mut push = |bytes: &[u8]| {
            if bytes.len() > *limit_bytes - out.len() {
                return Err(wrong("its records are longer than its header says"));
            }
            out.extend(bytes.iter().rev());
            Ok(())
        };
        match node.piece {
            Piece::Nothing => {}
            Piece::Failure => return Err(wrong("its state machine leaves its nodes")),
            Piece::MessageStart => return self.start_message(),
            Piece::NonProto { buffer } => {
                let (bytes, length_bytes) = buffers.peek_varint(self.lengths)?;
                buffers.take(self.lengths, length_bytes)?;
                push(buffers.take(buffer, bytes)?)?;
                return self.start_message();
            }
            // A writer has a node for every level.
            Piece::SubmessageEnd if self.open.len() > self.nodes.len() => return Err(wrong("its submessages are nested too deep")),
            Piece::SubmessageEnd => self.open.push((position, at)),
            Piece::SubmessageStart => {
                let (end, node) = self.open.pop().ok_or(wrong("a submessage has no end"))?;
                let mut head = Vec::with_capacity(16);
                let node = &self.nodes[node];
                head.extend_from_slice(&node.tag[..node.tag_bytes]);
                put_varint(&mut head, (position - end) as u64);
                push(&head)?;
            }
            Piece::Tag => push(tag)?,
            Piece::Varint { buffer, bytes } => {
                let mut varint = [0; 10];
                let varint = &mut varint[..bytes];
                varint.copy_from_slice(buffers.take(buffer, bytes)?);
                varint[..bytes - 1].iter_mut().for_each(|byte| *byte |= 0x80);
                push(varint)?;
                push(tag)?;
            }
            Piece::Fixed { buffer, bytes } => {
                push(buffers.take(buffer, bytes)?)?;
                push(tag)?;
            }
            Piece::Text { buffer } => {
                let (bytes, length_bytes) = buffers.peek_varint(buffer)?;
                push(buffers.take(buffer, bytes.checked_add(length_bytes).ok_or(wrong("a length is torn"))?)?)?;
                push(tag)?;
            }
        }
        Ok(())
    }

    fn start_message(&mut self) -> Result<(), Fault> {
        if !self.open.is_empty() {
            return Err(wrong("a submessage has no start"));
        }
        if self.starts.len() as u64 >= self.records {
            return Err(wrong("it has more records than its header says"));
        }
        self.starts.push(self.out.len());
        Ok(())
    }
}
