//! Files whose hashes all hold and whose numbers lie: none may panic, take memory beyond the file's measure, or be read as something else.
use crate::footer::{Entry, Metadata, Postscript};
use crate::layout::{BLOCK_BYTES, ChunkHeader, kind, put_varint};
use crate::write::sink::Sink;
use crate::{Fault, Options, ReadError, Reader, Reason, Writer, verify};
use sha2::{Digest, Sha256};
use std::io::Write;

/// A simple chunk's data, uncompressed.
fn simple(records: &[&[u8]]) -> Vec<u8> {
    let mut sizes = Vec::new();
    records.iter().for_each(|record| put_varint(&mut sizes, record.len() as u64));
    let mut data = vec![0];
    put_varint(&mut data, sizes.len() as u64);
    data.extend_from_slice(&sizes);
    records.iter().for_each(|record| data.extend_from_slice(record));
    data
}

/// Builds files chunk by chunk.
struct Forge {
    sink: Sink<Vec<u8>>,
    entries: Vec<Entry>,
}

impl Forge {
    fn new() -> Self {
        let mut forge = Self { sink: Sink::new(Vec::new(), false), entries: Vec::new() };
        forge.raw(kind::SIGNATURE, 0, 0, &[]);
        forge
    }

    /// A chunk that the index does not name.
    fn raw(&mut self, kind: u8, records: u64, decoded_bytes: u64, data: &[u8]) -> u64 {
        let header = ChunkHeader::of(kind, data, records, decoded_bytes).encode();
        let chunk = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(&header);
            buffer.extend_from_slice(data);
            Ok(data.len() as u64)
        };
        self.sink.chunk(records, chunk).unwrap()
    }

    /// A chunk that it does.
    fn indexed(mut self, kind: u8, records: u64, decoded_bytes: u64, data: &[u8]) -> Self {
        let offset_bytes = self.raw(kind, records, decoded_bytes, data);
        self.entries.push(Entry { offset_bytes, decoded_bytes, records });
        self
    }

    fn records(self, records: &[&[u8]]) -> Self {
        let bytes = records.iter().map(|record| record.len() as u64).sum();
        self.indexed(kind::SIMPLE, records.len() as u64, bytes, &simple(records))
    }

    fn finish(self) -> Vec<u8> {
        let metadata = Metadata { chunks: self.entries.len() as u64, records: self.entries.iter().map(|entry| entry.records).sum(), writer_options: None };
        self.finish_with(&metadata)
    }

    /// Bytes that no chunk takes; zeros, as a padding chunk has them, with the index none the wiser.
    fn hole(mut self, bytes: usize) -> Self {
        self.raw(kind::PADDING, 0, 0, &vec![0; bytes]);
        self
    }

    fn finish_with(mut self, metadata: &Metadata) -> Vec<u8> {
        let mut records = vec![metadata.encode()];
        for entry in &self.entries {
            let mut record = Vec::new();
            entry.encode(&mut record);
            records.push(record);
        }
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let bytes = records.iter().map(|record| record.len() as u64).sum();
        let footer = self.raw(kind::SIMPLE, records.len() as u64, bytes, &simple(&records));
        self.finish_at(footer)
    }

    fn finish_at(mut self, footer: u64) -> Vec<u8> {
        self.sink.pad_to_block().unwrap();
        let postscript = Postscript::encode(footer);
        self.raw(kind::SIMPLE, 3, 3 * postscript.len() as u64, &simple(&[postscript.as_slice(); 3]));
        self.sink.pad_to_block().unwrap();
        self.sink.finish().unwrap().1
    }
}

fn open_fault(file: &[u8]) -> Fault {
    match Reader::open(file) {
        Err(ReadError::Damaged { fault, .. }) => {
            assert!(verify(file).is_err());
            fault
        }
        other => panic!("opened: {other:?}"),
    }
}

/// Opens, but its first record cannot be read, nor does it verify.
fn record_fault(file: &[u8]) -> Fault {
    assert!(verify(file).is_err());
    match Reader::open(file).unwrap().record(0) {
        Err(ReadError::Damaged { fault, .. }) => fault,
        other => panic!("read: {:?}", other.map(|record| record.len())),
    }
}

#[test]
fn a_forged_file_without_lies_is_sound() {
    let file = Forge::new().records(&[b"one", b"", b"three"]).records(&[b"four"]).finish();
    assert_eq!(verify(&file).unwrap().records, 4);
    assert_eq!(Reader::open(&file).unwrap().record(2).unwrap(), b"three");
}

#[test]
fn declared_sizes_are_not_believed() {
    let huge = 1u64 << 40;
    // One exbibyte of records, said by header and footer alike.
    assert_eq!(record_fault(&Forge::new().indexed(kind::SIMPLE, 1, 1 << 60, &simple(&[b"x"])).finish()), Fault::OverLimit(1 << 60));
    // Compressors that promise a terabyte.
    for (compression, body) in [(b'z', &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0][..]), (b's', &[0][..]), (b'b', &[6][..])] {
        let mut data = vec![compression];
        let mut sizes = Vec::new();
        put_varint(&mut sizes, huge);
        sizes.extend_from_slice(body);
        put_varint(&mut data, sizes.len() as u64);
        data.extend_from_slice(&sizes);
        data.extend_from_slice(&sizes);
        assert_eq!(record_fault(&Forge::new().indexed(kind::SIMPLE, 1, 100, &data).finish()), Fault::Chunk("it holds more than its header says"));
        let file = Forge::new().indexed(kind::SIMPLE, 1 << 16, 1 << 32, &data).finish();
        assert!(matches!(record_fault(&file), Fault::Chunk(_) | Fault::Decompress(_)));
    }
    // A snappy length that promises more than the declared size.
    let mut data = vec![b's', 4, 1, 1, 0, 0];
    data.extend_from_slice(&[5, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert_eq!(record_fault(&Forge::new().indexed(kind::SIMPLE, 1, 5, &data).finish()), Fault::Decompress("values"));
}

#[test]
fn a_small_file_may_hold_much_but_only_up_to_the_limit() {
    let mut writer = Writer::new(Vec::new(), &Options::default()).unwrap();
    writer.write_record(&vec![0; 32 << 20]).unwrap();
    let (_, file) = writer.close().unwrap();
    assert!(file.len() <= 256 << 10);
    assert_eq!(Reader::open(&file).unwrap().record(0).unwrap().len(), 32 << 20);
    let limited = Reader::open(&file).unwrap().with_max_chunk_bytes(16 << 20);
    assert!(matches!(limited.record(0), Err(ReadError::Damaged { fault: Fault::OverLimit(33_554_432), .. })));
}

#[test]
fn sizes_that_lie_are_refused() {
    let chunk = |sizes: &[u8], values: &[u8], records: u64, decoded: u64| {
        let mut data = vec![0];
        put_varint(&mut data, sizes.len() as u64);
        data.extend_from_slice(sizes);
        data.extend_from_slice(values);
        record_fault(&Forge::new().indexed(kind::SIMPLE, records, decoded, &data).finish())
    };
    assert_eq!(chunk(&[5], b"abc", 1, 3), Fault::Chunk("its sizes exceed its values"));
    assert_eq!(chunk(&[2], b"abc", 1, 3), Fault::Chunk("its sizes and values disagree"));
    assert_eq!(chunk(&[3], b"abc", 2, 3), Fault::Chunk("it has fewer sizes than records"));
    assert_eq!(chunk(&[1, 2], b"abc", 1, 3), Fault::Chunk("its sizes and values disagree"));
    assert_eq!(chunk(&[0x83], b"abc", 1, 3), Fault::Chunk("a size is torn"));
    assert_eq!(chunk(&[4], b"abcd", 1, 3), Fault::Chunk("it holds more than its header says"));
    assert_eq!(chunk(&[4], b"abcd", 1, 5), Fault::Chunk("its values have another length than its header says"));
    assert_eq!(chunk(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], b"abc", 1, 3), Fault::Chunk("its sizes exceed its values"));
    for data in [&[][..], &[0], &[0, 0xff], &[0, 9, 1], &[b'q', 1, 1, 1]] {
        let file = Forge::new().indexed(kind::SIMPLE, 1, 1, data).finish();
        assert!(matches!(record_fault(&file), Fault::Chunk(_) | Fault::Compression(b'q')), "{data:?}");
    }
}

#[test]
fn footers_that_lie_are_refused() {
    let honest = || Forge::new().records(&[b"one"]).records(&[b"two"]);
    let lie = |chunks, records| open_fault(&honest().finish_with(&Metadata { chunks, records, writer_options: None }));
    assert_eq!(lie(3, 2), Fault::Footer("its number of entries is not the number of chunks"));
    assert_eq!(lie(2, 3), Fault::Footer("its number of records is not the sum of its entries"));
    for change in [|entry: &mut Entry| entry.offset_bytes = 3, |entry: &mut Entry| entry.offset_bytes = 1 << 50, |entry: &mut Entry| entry.records = 1 << 50] {
        let mut forge = honest();
        change(&mut forge.entries[1]);
        assert!(matches!(open_fault(&forge.finish()), Fault::Footer(_)));
    }
    let mut forge = honest();
    forge.entries.swap(0, 1);
    assert_eq!(open_fault(&forge.finish()), Fault::Footer("a chunk offset is out of order or outside the data"));
    // Numbers that the chunk contradicts.
    let mut forge = honest();
    forge.entries[0].decoded_bytes = 4;
    assert_eq!(record_fault(&forge.finish()), Fault::IndexMismatch("its decoded size"));
    let mut forge = honest();
    forge.entries[0].records = 2;
    assert_eq!(record_fault(&forge.finish()), Fault::IndexMismatch("its number of records"));
    // An entry that points into a chunk, at bytes that would pass for one.
    let inner = Forge::new().records(&[b"inner"]).finish();
    let mut forge = Forge::new().records(&[&inner[64..200]]).records(&[b"two"]);
    forge.entries[0] = Entry { offset_bytes: 64 + 40 + 4, decoded_bytes: 5, records: 1 };
    let file = forge.finish();
    assert!(matches!(verify(&file).unwrap_err().reason, Reason::Fault(Fault::Unindexed)));
}

#[test]
fn a_chunk_that_the_next_entry_points_into_is_not_counted_as_sound() {
    let mut forge = Forge::new().records(&[b"one", b"two"]);
    let offset_bytes = forge.entries[0].offset_bytes + 45;
    forge.entries.push(Entry { offset_bytes, decoded_bytes: 0, records: 1 });
    let file = forge.finish();
    let damage = verify(&file).unwrap_err();
    assert!(matches!(damage.reason, Reason::Fault(Fault::ChunkPastEnd)));
    assert_eq!((damage.records_sound, damage.records_lost), (0, Some(3)));
    assert_eq!(record_fault(&file), Fault::ChunkPastEnd);
}

#[test]
fn postscripts_that_lie_are_refused() {
    for footer in [0, 65_536, 65_540, 1 << 60] {
        assert_eq!(open_fault(&Forge::new().finish_at(footer)), Fault::Postscript("the footer offset lies outside the file"));
    }
    // It points at a chunk that is no footer.
    let mut forge = Forge::new();
    let at = forge.raw(kind::SIMPLE, 1, 1, &simple(&[b"\x08"]));
    assert_eq!(open_fault(&forge.finish_at(at)), Fault::Footer("its metadata is not a protocol buffer message"));
    let mut forge = Forge::new();
    let at = forge.raw(kind::PADDING, 0, 0, &[0; 9]);
    assert_eq!(open_fault(&forge.finish_at(at)), Fault::ChunkKind(kind::PADDING));
}

#[test]
fn what_the_index_does_not_name_is_found() {
    let mut forge = Forge::new().records(&[b"one"]);
    forge.raw(kind::SIMPLE, 1, 6, &simple(&[b"hidden"]));
    let damage = verify(&forge.finish()).unwrap_err();
    assert!(matches!(damage.reason, Reason::Fault(Fault::Unindexed)));
    assert_eq!(damage.records_lost, Some(0));
    // Padding may stand anywhere.
    let mut forge = Forge::new().records(&[b"one"]);
    forge.raw(kind::PADDING, 0, 0, &[0; 100]);
    let file = forge.records(&[b"two"]).finish();
    assert_eq!(verify(&file).unwrap().records, 2);
    assert_eq!(Reader::open(&file).unwrap().record(1).unwrap(), b"two");
}

#[test]
fn groups_of_different_sizes_are_read_but_not_sound() {
    let file = Forge::new().records(&[b"a"]).records(&[b"b", b"c", b"d"]).records(&[b"e"]).finish();
    let reader = Reader::open(&file).unwrap();
    let all: Vec<Vec<u8>> = reader.records(0..5).map(Result::unwrap).collect();
    assert_eq!(all, [b"a", b"b", b"c", b"d", b"e"]);
    assert_eq!(reader.records_at(&[4, 0, 2, 2]).unwrap(), [b"e", b"a", b"c", b"c"]);
    assert!(matches!(verify(&file).unwrap_err().reason, Reason::Fault(Fault::Footer(_))), "the official reader finds other records");
}

#[test]
fn transposed_chunks_that_lie_are_refused() {
    let chunk = |header: &[u8], rest: &[u8]| {
        let mut data = vec![0];
        put_varint(&mut data, header.len() as u64);
        data.extend_from_slice(header);
        data.extend_from_slice(rest);
        match record_fault(&Forge::new().indexed(kind::TRANSPOSED, 1, 3, &data).finish()) {
            Fault::Chunk(why) => why,
            other => panic!("{other:?}"),
        }
    };
    // buckets, buffers, [bucket sizes], [buffer sizes], nodes, [tags], [next nodes], first
    assert_eq!(chunk(&[], &[]), "its buckets are torn");
    assert_eq!(chunk(&[0xff, 0xff, 0xff, 0xff, 0x0f], &[]), "its buckets are torn");
    assert_eq!(chunk(&[1, 1, 3, 4, 0, 0], &[1, 2, 3]), "a buffer exceeds its bucket");
    assert_eq!(chunk(&[1, 1, 4, 3, 0, 0], &[1, 2, 3]), "a bucket is torn");
    assert_eq!(chunk(&[0, 0, 0, 0], &[]), "its state machine is torn");
    // A message start that is its own implicit successor.
    assert_eq!(chunk(&[0, 0, 1, 3, 1, 0], &[]), "its state machine runs in a circle");
    // Two starts for one record; a jump behind the nodes; a submessage without its end.
    assert_eq!(chunk(&[0, 0, 1, 3, 0, 0], &[0]), "it has more records than its header says");
    assert_eq!(chunk(&[0, 0, 1, 3, 0, 0], &[0xfc]), "its state machine leaves its nodes");
    assert_eq!(chunk(&[0, 0, 1, 2, 0, 0], &[0]), "a submessage has no end");
    assert_eq!(chunk(&[0, 0, 1, 14, 0, 0], &[0]), "a submessage has no start");
    assert_eq!(chunk(&[0, 0, 1, 3, 0, 0], &[]), "its records have other numbers or sizes than its header says");
    // Groups, for ever.
    assert_eq!(chunk(&[0, 0, 1, 11, 0, 0], &[3; 64]), "its records are longer than its header says");
}

/// A transposed chunk whose header and transitions are compressed.
fn compressed_machine(header: &[u8], transitions: &[u8], decoded_bytes: u64) -> Vec<u8> {
    let pack = |plain: &[u8]| {
        let mut out = Vec::new();
        put_varint(&mut out, plain.len() as u64);
        out.extend_from_slice(&zstd::bulk::compress(plain, 3).unwrap());
        out
    };
    let header = pack(header);
    let mut data = vec![b'z'];
    put_varint(&mut data, header.len() as u64);
    data.extend_from_slice(&header);
    data.extend_from_slice(&pack(transitions));
    Forge::new().indexed(kind::TRANSPOSED, 1, decoded_bytes, &data).finish()
}

fn machine(tags: &[u8], nexts: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut header = vec![0, 0];
    put_varint(&mut header, tags.len() as u64);
    header.extend_from_slice(tags);
    nexts.for_each(|next| put_varint(&mut header, next));
    header.push(0);
    header
}

#[test]
fn state_machines_that_work_for_nothing_are_stopped() {
    // Ten billion steps, if the claim of four gigabytes to come were believed: a chain of nodes that do nothing, walked again and again.
    let nodes = 100_000;
    let header = machine(&vec![0; nodes], (1..nodes as u64).map(|next| next + nodes as u64).chain([0]));
    let file = compressed_machine(&header, &[0; 100_000], 1 << 32);
    assert_eq!(record_fault(&file), Fault::Chunk("its state machine does not come to an end"));
    // Ends of submessages alone take memory with every step.
    let header = machine(&[14], [0].into_iter());
    let file = compressed_machine(&header, &[0; 100_000], 1 << 32);
    assert_eq!(record_fault(&file), Fault::Chunk("its submessages are nested too deep"));
    // A state machine of millions of nodes from a few kilobytes.
    let file = compressed_machine(&[0; 64 << 20], &[], 1 << 32);
    assert_eq!(record_fault(&file), Fault::Chunk("it holds more than its header says"));
}

/// A file whose one chunk has these compressed values.
fn compressed(compression: u8, plain_bytes: u64, values: &[u8]) -> Vec<u8> {
    let sizes = {
        let mut plain = Vec::new();
        put_varint(&mut plain, plain_bytes);
        let mut frame = Vec::new();
        put_varint(&mut frame, plain.len() as u64);
        match compression {
            b'z' => frame.extend_from_slice(&zstd::bulk::compress(&plain, 3).unwrap()),
            _ => drop(brotli::CompressorWriter::new(&mut frame, 64, 1, 16).write_all(&plain)),
        }
        frame
    };
    let mut data = vec![compression];
    put_varint(&mut data, sizes.len() as u64);
    data.extend_from_slice(&sizes);
    put_varint(&mut data, plain_bytes);
    data.extend_from_slice(values);
    Forge::new().indexed(kind::SIMPLE, 1, plain_bytes, &data).finish()
}

#[test]
fn one_frame_and_nothing_behind_it() {
    let frame = |plain: &[u8]| zstd::bulk::compress(plain, 3).unwrap();
    assert_eq!(verify(&compressed(b'z', 6, &frame(b"abcdef"))).unwrap().records, 1);
    let two = [frame(b"abc"), frame(b"def")].concat();
    let skippable = [&frame(b"abcdef")[..], &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]].concat();
    let skipped_first = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2], &frame(b"abcdef")[..]].concat();
    let trailing = [&frame(b"abcdef")[..], b"x"].concat();
    for values in [two, skippable, skipped_first, trailing] {
        assert_eq!(record_fault(&compressed(b'z', 6, &values)), Fault::Decompress("values"));
    }
    let mut stream = Vec::new();
    brotli::CompressorWriter::new(&mut stream, 64, 5, 16).write_all(b"abcdef").unwrap();
    assert_eq!(verify(&compressed(b'b', 6, &stream)).unwrap().records, 1);
    assert_eq!(record_fault(&compressed(b'b', 6, &stream[..stream.len() - 1])), Fault::Decompress("values"));
    stream.push(0);
    assert_eq!(record_fault(&compressed(b'b', 6, &stream)), Fault::Decompress("values"));
}

#[test]
fn a_footer_decodes_to_no_more_than_the_file_has_bytes() {
    // A metadata record with an unknown field of many zeros, in a frame of a few kilobytes.
    let zeros = 64 << 20;
    let mut metadata = Metadata { chunks: 0, records: 0, writer_options: None }.encode();
    put_varint(&mut metadata, 9 << 3 | 2);
    put_varint(&mut metadata, zeros);
    metadata.resize(metadata.len() + zeros as usize, 0);
    let mut forge = Forge::new();
    let mut data = vec![b'z'];
    let pack = |plain: &[u8]| {
        let mut out = Vec::new();
        put_varint(&mut out, plain.len() as u64);
        out.extend_from_slice(&zstd::bulk::compress(plain, 3).unwrap());
        out
    };
    let mut size = Vec::new();
    put_varint(&mut size, metadata.len() as u64);
    let size = pack(&size);
    put_varint(&mut data, size.len() as u64);
    data.extend_from_slice(&size);
    data.extend_from_slice(&pack(&metadata));
    let footer = forge.raw(kind::SIMPLE, 1, metadata.len() as u64, &data);
    let file = forge.finish_at(footer);
    assert!(file.len() < 1 << 18);
    assert!(matches!(open_fault(&file), Fault::OverLimit(_)), "{:?}", open_fault(&file));
    assert!(matches!(verify(&file).unwrap_err().reason, Reason::Fault(Fault::OverLimit(_))));
}

#[test]
fn nothing_is_read_or_allocated_for_a_hole_between_chunks() {
    // What is read for a chunk follows from what it decodes to, not from where the index says that the next one begins.
    let gap = Forge::new().records(&[b"x"]).hole(3 << 20).records(&[b"y"]).finish();
    let reader = Reader::open(&gap).unwrap();
    assert_eq!(reader.record(1).unwrap(), b"y");
    let refused = |error| matches!(error, ReadError::Damaged { fault: Fault::IndexMismatch("where a chunk ends"), .. });
    assert!(refused(reader.record(0).unwrap_err()));
    assert!(refused(reader.records_at(&[1, 0]).unwrap_err()));
    assert!(refused(reader.records(0..2).next().unwrap().unwrap_err()));
}

#[test]
fn chunks_that_hide_something_are_found() {
    let padding = |data: &[u8]| {
        let mut forge = Forge::new().records(&[b"one"]);
        forge.raw(kind::PADDING, 0, 0, data);
        forge.finish()
    };
    assert!(verify(&padding(&[0; 40])).is_ok());
    assert!(matches!(verify(&padding(b"hidden text")).unwrap_err().reason, Reason::Fault(Fault::Padding)));
    for other in [kind::METADATA, kind::SIGNATURE] {
        let mut forge = Forge::new().records(&[b"one"]);
        forge.raw(other, 0, 0, b"hidden text");
        let file = forge.finish();
        assert!(matches!(verify(&file).unwrap_err().reason, Reason::Fault(Fault::ChunkKind(kind)) if kind == other));
    }
}

/// A file that is another one after some reads.
struct Changing {
    before: Vec<u8>,
    after: Vec<u8>,
    reads: std::sync::atomic::AtomicUsize,
    change_at: usize,
}

impl crate::ReadAt for Changing {
    fn size_bytes(&self) -> std::io::Result<u64> {
        Ok(self.before.len() as u64)
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        let reads = self.reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if reads < self.change_at { &self.before } else { &self.after }.read_exact_at(offset, out)
    }
}

#[test]
fn a_file_that_changes_while_it_is_verified_is_never_sound_by_halves() {
    // The same chunks; the footer of the second names other records.
    let before = Forge::new().records(&[b"one", b"two"]).records(&[b"three"]).finish();
    let mut forge = Forge::new().records(&[b"one", b"two"]).records(&[b"three"]);
    forge.entries[1].decoded_bytes = 6;
    let after = forge.finish();
    assert!(verify(&before).is_ok() && verify(&after).is_err() && before.len() == after.len());
    for change_at in 0..12 {
        let file = Changing { before: before.clone(), after: after.clone(), reads: 0.into(), change_at };
        if let Ok(sound) = verify(&file) {
            assert_eq!(sound.sha256, <[u8; 32]>::from(Sha256::digest(&before)), "{change_at}");
        }
    }
}

#[test]
fn finding_a_way_on_without_an_index_looks_at_each_block_once() {
    // Block headers that all point just behind where the walk stands.
    let mut file = vec![1u8; 200 * BLOCK_BYTES as usize];
    file[..64].copy_from_slice(&crate::layout::SIGNATURE);
    for block in 100..200u64 {
        let edge = block * BLOCK_BYTES;
        let header = crate::layout::block_header(edge - 70_000 - block, BLOCK_BYTES - 1000);
        file[edge as usize..edge as usize + 24].copy_from_slice(&header);
    }
    let counted = Changing { before: file.clone(), after: file, reads: 0.into(), change_at: usize::MAX };
    assert!(verify(&counted).is_err());
    let reads = counted.reads.into_inner();
    assert!(reads < 1500, "{reads} reads for 200 blocks");
}
