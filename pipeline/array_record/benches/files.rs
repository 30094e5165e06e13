//! Writing and reading against the primitives that bound them, in memory: zstd alone over the same groups, SHA-256 over the file's bytes.
//!
//! The official library runs beside ours in `tests/bench/records.sh`.
use array_record::{Closed, Options, Reader, Writer};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::time::Duration;
use zstd::zstd_safe::{CCtx, CParameter, compress_bound};

const SIZES_BYTES: [usize; 4] = [128, 512, 4096, 65_536];
const OPTIONS: [&str; 4] = ["group_size:1,zstd:3", "group_size:1,uncompressed", "group_size:64,zstd:3", "group_size:64,uncompressed"];
/// Of records, in each case.
const CASE_BYTES: usize = 8 << 20;

/// Words of a skewed vocabulary and noise: compresses by about half.
fn records(size_bytes: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words: Vec<Vec<u8>> = (0..2000).map(|_| (0..3 + next() % 10).map(|_| next().to_le_bytes()[0]).collect()).collect();
    let mut pool = Vec::new();
    while pool.len() < CASE_BYTES + size_bytes {
        if next() % 3 == 0 {
            pool.extend_from_slice(&next().to_le_bytes()[..4]);
        } else {
            // Small numbers are common: a product of two draws.
            let word = (next() % 2000) * (next() % 2000) / 2000;
            pool.extend_from_slice(&words[word as usize]);
        }
    }
    pool.chunks_exact(size_bytes).take(CASE_BYTES / size_bytes).map(<[u8]>::to_vec).collect()
}

fn write(records: &[Vec<u8>], options: &Options) -> (Closed, Vec<u8>) {
    let mut writer = Writer::new(Vec::with_capacity(2 * CASE_BYTES), options).expect("options for writing");
    for record in records {
        writer.write_record(record).expect("a vector takes all");
    }
    writer.close().expect("a vector takes all")
}

fn zstd_alone(groups: &[Vec<u8>], context: &mut CCtx<'_>, out: &mut Vec<u8>) {
    for group in groups {
        out.clear();
        context.compress2(out, group).expect("the buffer is large enough");
        black_box(&out);
    }
}

fn files(criterion: &mut Criterion) {
    for size_bytes in SIZES_BYTES {
        let records = records(size_bytes);
        for options in OPTIONS {
            let mut group = criterion.benchmark_group(format!("{size_bytes} {options}"));
            group.throughput(Throughput::Elements(records.len() as u64)).sample_size(10).measurement_time(Duration::from_secs(2));
            for threads in [1, 2] {
                let options: Options = format!("{options},max_parallelism:{threads}").parse().expect("official options");
                group.bench_function(BenchmarkId::new("write", threads), |bencher| bencher.iter(|| write(&records, &options)));
            }
            let options: Options = options.parse().expect("official options");
            let (_, file) = write(&records, &options);
            if options.compression() == array_record::Compression::Uncompressed {
                group.bench_function("limit: SHA-256 alone", |bencher| bencher.iter(|| Sha256::digest(&file)));
            } else {
                let groups: Vec<Vec<u8>> = records.chunks(options.group_size() as usize).map(<[Vec<u8>]>::concat).collect();
                let mut out = Vec::with_capacity(compress_bound(groups[0].len()));
                let mut context = CCtx::create();
                context.set_parameter(CParameter::CompressionLevel(3)).expect("a level that exists");
                context.set_parameter(CParameter::WindowLog(20)).expect("a window that exists");
                group.bench_function("limit: zstd alone", |bencher| bencher.iter(|| zstd_alone(&groups, &mut context, &mut out)));
            }
            let reader = Reader::open(&file).expect("a file of ours");
            group.bench_function("read all", |bencher| {
                bencher.iter(|| {
                    let mut all = reader.records(0..reader.num_records());
                    while let Some(record) = all.next_borrowed() {
                        black_box(record.expect("a sound file"));
                    }
                });
            });
            let batch: Vec<u64> = (0..1000u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % reader.num_records()).collect();
            group.throughput(Throughput::Elements(1000));
            group.bench_function("random 1,000", |bencher| bencher.iter(|| reader.records_at(&batch).expect("a sound file")));
            group.finish();
        }
    }
}

criterion_group!(benches, files);
criterion_main!(benches);
