//! Object stores: what is asked of them, what is refused, and uploads that fail.
use array_record::store::{StoreReader, StoreWriter};
use array_record::{Options, ReadError, Reader, WriteError, Writer};
use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result, UploadPart,
};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store in memory that keeps book, and refuses a part or the completion of an upload when told to.
#[derive(Debug, Default)]
struct Watched {
    inner: Arc<InMemory>,
    heads: AtomicUsize,
    ranges: Mutex<Vec<Range<u64>>>,
    refused: Option<Refused>,
    book: Arc<Book>,
}

#[derive(Debug, Default)]
struct Book {
    parts: Mutex<Vec<usize>>,
    aborted: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refused {
    Part(usize),
    Completion,
}

#[derive(Debug)]
struct WatchedUpload {
    inner: Box<dyn MultipartUpload>,
    refused: Option<Refused>,
    book: Arc<Book>,
}

fn refusal() -> object_store::Error {
    object_store::Error::Generic { store: "Watched", source: "as asked".into() }
}

#[async_trait]
impl MultipartUpload for WatchedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let mut parts = self.book.parts.lock().unwrap();
        parts.push(data.content_length());
        if self.refused == Some(Refused::Part(parts.len())) { Box::pin(async { Err(refusal()) }) } else { self.inner.put_part(data) }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if self.refused == Some(Refused::Completion) { Err(refusal()) } else { self.inner.complete().await }
    }

    async fn abort(&mut self) -> Result<()> {
        self.book.aborted.fetch_add(1, Ordering::Relaxed);
        self.inner.abort().await
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

#[async_trait]
impl ObjectStore for Watched {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, location: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let inner = self.inner.put_multipart_opts(location, options).await?;
        Ok(Box::new(WatchedUpload { inner, refused: self.refused, book: Arc::clone(&self.book) }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match &options.range {
            _ if options.head => drop(self.heads.fetch_add(1, Ordering::Relaxed)),
            Some(GetRange::Bounded(range)) => self.ranges.lock().unwrap().push(range.clone()),
            other => panic!("a request for {other:?}"),
        }
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

impl Watched {
    fn with(file: &[u8]) -> Arc<Self> {
        let watched = Arc::new(Self::default());
        run(async { watched.inner.put(&path(), file.to_vec().into()).await.unwrap() });
        watched
    }

    fn requests(&self) -> Vec<Range<u64>> {
        let mut ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn path() -> Path {
    Path::from("cards/b128/train.array_record-00000-of-00001")
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}

fn file(records: &[Vec<u8>], options: &str) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &options.parse::<Options>().unwrap()).unwrap();
    records.iter().for_each(|record| writer.write_record(record).unwrap());
    writer.close().unwrap().1
}

#[test]
fn a_store_gives_what_a_file_gives() {
    let records: Vec<Vec<u8>> = (0..3000).map(|index| noise(index % 700, index as u64)).collect();
    for options in ["group_size:1,zstd:3", "group_size:64,uncompressed", "group_size:7,snappy,pad_to_block_boundary:true", "group_size:100000,brotli:1"] {
        let watched = Watched::with(&file(&records, options));
        run(async {
            let reader = StoreReader::open(watched.clone(), path()).await.unwrap();
            assert_eq!(reader.num_records(), 3000);
            assert!(reader.options().unwrap().starts_with(&options[..12]));
            let wanted: Vec<u64> = (0..500).map(|index| index * 7919 % 3000).chain([5, 5, 2999, 0]).collect();
            let found = reader.records_at(&wanted).await.unwrap();
            assert!(wanted.iter().zip(&found).all(|(index, record)| *record == records[*index as usize]), "{options}");
            assert_eq!(reader.record(1234).await.unwrap(), records[1234]);
            assert_eq!(reader.records_at(&[]).await.unwrap(), Vec::<Vec<u8>>::new());
            for range in [0..3000, 0..0, 17..18, 63..65, 2900..3000, std::ops::Range { start: 50, end: 40 }] {
                let found: Vec<Vec<u8>> = reader.records(range.clone()).try_collect().await.unwrap();
                let range = range.start as usize..range.end.max(range.start) as usize;
                assert!(found == records[range.clone()], "{options} {range:?}");
            }
            assert!(matches!(reader.record(3000).await, Err(ReadError::NoSuchRecord { index: 3000, records: 3000 })));
            let beyond: Vec<_> = reader.records(2998..4000).collect().await;
            assert_eq!(beyond.len(), 3);
            assert!(matches!(beyond[2], Err(ReadError::NoSuchRecord { index: 3000, .. })));
            assert!(matches!(reader.records(9000..9001).next().await, Some(Err(ReadError::NoSuchRecord { index: 9000, .. }))));
        });
    }
}

#[test]
fn only_footer_and_needed_chunks_are_fetched_in_few_requests() {
    // 4 KiB a chunk, 12,000 chunks: 48 MiB, and a footer within the tail.
    let records: Vec<Vec<u8>> = (0..12_000).map(|index| noise(4096, index)).collect();
    let whole = file(&records, "uncompressed");
    let watched = Watched::with(&whole);
    run(async {
        let reader = StoreReader::open(watched.clone(), path()).await.unwrap();
        assert_eq!(watched.heads.load(Ordering::Relaxed), 1);
        let opened = watched.requests();
        assert_eq!(opened, [0..64, whole.len() as u64 - (256 << 10)..whole.len() as u64]);

        // Neighbours share a request; a record far off has its own, and what lies between is not read.
        let found = reader.records_at(&[9000, 100, 103, 101]).await.unwrap();
        assert!(found == [9000, 100, 103, 101].map(|index: usize| records[index].clone()));
        let requests = watched.requests();
        assert_eq!(requests.len(), 2, "{requests:?}");
        assert!(requests.iter().all(|range| range.end - range.start < 20_000), "{requests:?}");

        // In order: requests of about 4 MiB that do not overlap.
        let found: Vec<Vec<u8>> = reader.records(0..12_000).try_collect().await.unwrap();
        assert!(found == records);
        let requests = watched.requests();
        assert!(requests.len() <= 13 && requests.windows(2).all(|pair| pair[0].end == pair[1].start), "{requests:?}");

        // A batch over the whole file holds 64 MiB of it at most, in requests of at most 4 MiB.
        let every: Vec<u64> = (0..12_000).step_by(3).collect();
        assert_eq!(reader.records_at(&every).await.unwrap().len(), every.len());
        let requests = watched.requests();
        assert!(requests.iter().all(|range| range.end - range.start <= 4 << 20) && requests.len() <= 15, "{requests:?}");
    });
}

#[test]
fn small_gaps_between_requests_are_fetched() {
    let records: Vec<Vec<u8>> = (0..40_000).map(|index| noise(300, index)).collect();
    let watched = Watched::with(&file(&records, "uncompressed"));
    run(async {
        let reader = StoreReader::open(watched.clone(), path()).await.unwrap();
        for step in [2, 3, 12, 15, 600] {
            let wanted: Vec<u64> = (0..40_000).step_by(step).collect();
            let found = reader.records_at(&wanted).await.unwrap();
            assert!(wanted.iter().zip(&found).all(|(index, record)| *record == records[*index as usize]), "{step}");
        }
    });
}

#[test]
fn a_footer_longer_than_the_first_request_is_fetched_once_its_header_says_so() {
    // One chunk a record, some 13 bytes of footer each, uncompressed.
    let records: Vec<Vec<u8>> = (0..40_000u64).map(|index| index.to_le_bytes().to_vec()).collect();
    let watched = Watched::with(&file(&records, "uncompressed"));
    run(async {
        let reader = StoreReader::open(watched.clone(), path()).await.unwrap();
        assert_eq!(reader.record(39_999).await.unwrap(), records[39_999]);
        let requests = watched.requests();
        assert!(requests.len() <= 5, "{requests:?}");
    });
}

#[test]
fn what_a_reader_refuses_is_refused_here_with_the_same_words() {
    let records: Vec<Vec<u8>> = (0..2000).map(|index| noise(300, index)).collect();
    let sound = file(&records, "uncompressed");
    let mut damaged: Vec<Vec<u8>> = [0, 1, 63, 65_536, 131_072, sound.len() - 65_536, sound.len() - 1].map(|bytes| sound[..bytes].to_vec()).into();
    for at in [10, 1000, 400_000, sound.len() - 131_000, sound.len() - 70_000, sound.len() - 65_500, sound.len() - 65_400] {
        let mut flipped = sound.clone();
        flipped[at] ^= 0x10;
        damaged.push(flipped);
    }
    for (case, bytes) in damaged.into_iter().enumerate() {
        let watched = Watched::with(&bytes);
        let here = run(async {
            let reader = StoreReader::open(watched, path()).await?;
            reader.records(0..reader.num_records()).try_collect::<Vec<_>>().await
        });
        let there = Reader::open(bytes).and_then(|reader| reader.records(0..reader.num_records()).collect::<std::result::Result<Vec<_>, _>>());
        match (here, there) {
            (Ok(here), Ok(there)) => assert!(here == there, "{case}"),
            (Err(here), Err(there)) => assert_eq!(here.to_string(), there.to_string(), "{case}"),
            (here, there) => panic!("{case}: {:?} here, {:?} there", here.err(), there.err()),
        }
    }
}

#[test]
fn records_before_a_damaged_chunk_are_given_and_the_stream_ends_there() {
    let records: Vec<Vec<u8>> = (0..100).map(|index| noise(300, index)).collect();
    let mut bytes = file(&records, "uncompressed");
    bytes[20_000] ^= 1;
    let watched = Watched::with(&bytes);
    let found: Vec<_> = run(async { StoreReader::open(watched, path()).await.unwrap().records(0..100).collect().await });
    let sound = found.iter().take_while(|record| record.is_ok()).count();
    assert!((50..65).contains(&sound), "{sound}");
    assert_eq!(found.len(), sound + 1);
    assert!(matches!(found[sound], Err(ReadError::Damaged { .. })));
}

#[test]
fn an_object_that_is_not_there_or_is_replaced_is_an_error() {
    run(async {
        let watched = Arc::new(Watched::default());
        match StoreReader::open(watched.clone(), path()).await {
            Err(ReadError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
            other => panic!("{other:?}"),
        }
        let first = file(&[b"first".to_vec()], "uncompressed");
        let second = file(&[b"other".to_vec()], "uncompressed");
        watched.inner.put(&path(), first.into()).await.unwrap();
        let reader = StoreReader::open(watched.clone(), path()).await.unwrap();
        watched.inner.put(&path(), second.into()).await.unwrap();
        assert!(matches!(reader.record(0).await, Err(ReadError::Io(_))));
    });
}

#[test]
fn an_upload_has_the_bytes_of_a_file_and_appears_when_it_is_closed() {
    let records: Vec<Vec<u8>> = (0..4000).map(|index| noise(7000, index)).collect();
    // Noise does not compress.
    for options in ["group_size:1,uncompressed", "group_size:16,zstd:1,max_parallelism:2"] {
        let watched = Arc::new(Watched::default());
        run(async {
            let mut writer = StoreWriter::create(watched.clone(), path(), &options.parse().unwrap()).await.unwrap();
            for record in &records {
                writer.write_record(record).await.unwrap();
            }
            assert_eq!(writer.records(), 4000);
            assert!(watched.inner.head(&path()).await.is_err(), "not before it is closed");
            let closed = writer.close().await.unwrap();
            let there = watched.inner.get(&path()).await.unwrap().bytes().await.unwrap();
            assert!(there == file(&records, options), "{options}");
            assert_eq!(closed.bytes(), there.len() as u64);
            let parts = watched.book.parts.lock().unwrap();
            // All of one size but the last, which holds what was held back until the end as well.
            let (_, full) = parts.split_last().unwrap();
            assert!(!full.is_empty() && full.iter().all(|bytes| *bytes == 8 << 20), "{parts:?}");
            assert_eq!(watched.book.aborted.load(Ordering::Relaxed), 0);
        });
    }
}

/// Uploads 600 records in parts of about 100,000 bytes; what the writer said first, and what closing said.
async fn upload(watched: &Arc<Watched>) -> (Option<WriteError>, std::result::Result<(), WriteError>) {
    let writer = StoreWriter::create(watched.clone(), path(), &"uncompressed".parse().unwrap()).await.unwrap();
    let mut writer = writer.with_part_bytes(100_000);
    let mut failed = None;
    for index in 0..600 {
        if let Err(error) = writer.write_record(&noise(5000, index)).await {
            failed = Some(error);
            break;
        }
    }
    if failed.is_some() {
        assert!(matches!(writer.write_record(b"more").await, Err(WriteError::Failed)));
    }
    (failed, writer.close().await.map(drop))
}

#[test]
fn a_refused_upload_is_told_and_leaves_nothing() {
    let watched = Arc::new(Watched::default());
    assert!(matches!(run(upload(&watched)), (None, Ok(()))));
    let parts = watched.book.parts.lock().unwrap().len();
    assert!(parts > 20, "{parts}");
    for (refused, while_writing) in [(Refused::Part(1), true), (Refused::Part(3), true), (Refused::Part(parts), false), (Refused::Completion, false)] {
        let watched = Arc::new(Watched { refused: Some(refused), ..Watched::default() });
        let (writing, closing) = run(upload(&watched));
        assert_eq!(matches!(writing, Some(WriteError::Io(_))), while_writing, "{refused:?}");
        assert!(closing.is_err(), "{refused:?}");
        assert!(run(watched.inner.head(&path())).is_err(), "{refused:?}");
        assert_eq!(watched.book.aborted.load(Ordering::Relaxed), 1, "{refused:?}");
    }
}

#[test]
fn options_that_are_not_for_writing_start_no_upload() {
    let watched = Arc::new(Watched::default());
    let outcome = run(StoreWriter::create(watched, path(), &"transpose".parse().unwrap()));
    assert!(matches!(outcome, Err(WriteError::Unsupported { option: "transpose", .. })));
}

#[test]
fn a_record_whose_future_is_dropped_is_written_once_all_the_same() {
    let store = object_store::throttle::ThrottledStore::new(
        InMemory::new(),
        object_store::throttle::ThrottleConfig { wait_put_per_call: Duration::from_millis(40), ..Default::default() },
    );
    let store = Arc::new(store);
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
        let writer = StoreWriter::create(store.clone(), path(), &"uncompressed".parse().unwrap()).await.unwrap();
        let mut writer = writer.with_part_bytes(1 << 20);
        let records: Vec<Vec<u8>> = (0..24).map(|index| noise(1 << 20, index)).collect();
        let mut dropped = 0;
        for record in &records {
            dropped += usize::from(tokio::time::timeout(Duration::from_millis(1), writer.write_record(record)).await.is_err());
        }
        assert!(dropped > 0);
        let closed = writer.close().await.unwrap();
        let there = store.get(&path()).await.unwrap().bytes().await.unwrap();
        assert_eq!(closed.bytes(), there.len() as u64);
        assert!(there == file(&records, "uncompressed"));
    });
}

#[test]
fn reading_from_a_store_needs_no_thread_of_a_pool_that_waits_for_it() {
    let records: Vec<Vec<u8>> = (0..2000).map(|index| noise(300, index)).collect();
    let watched = Watched::with(&file(&records, "group_size:4,zstd:1"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        run(async {
            let reader = StoreReader::open(watched, path()).await.unwrap();
            assert_eq!(reader.record(77).await.unwrap(), records[77]);
            assert!(reader.records_at(&(0..2000).collect::<Vec<_>>()).await.unwrap() == records);
            assert!(reader.records(0..2000).try_collect::<Vec<_>>().await.unwrap() == records);
        });
    });
}
