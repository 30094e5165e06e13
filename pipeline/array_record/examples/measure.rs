//! Times one thing in this process and prints it as JSON, for `tests/bench/records.sh`, which runs the official library beside it.
//!
//! `measure RECORDS OPTIONS FILE WHAT`: RECORDS holds records behind their lengths (8 bytes, little-endian). WHAT is `write` (RECORDS to
//! FILE), its limits `zstd` (zstd alone over each group with one reused context) and `sha256` (SHA-256 alone over FILE), `read` (all of
//! FILE, in order) or `random` (1,000 records a batch).
use array_record::{Compression, Options, Reader, Writer};
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;
use zstd::zstd_safe::{CCtx, CParameter, compress_bound};

/// Records a batch of `random`, and how many batches.
const BATCH_RECORDS: usize = 1000;
const BATCHES: usize = 50;

fn split(mut framed: &[u8]) -> Result<Vec<&[u8]>, Box<dyn Error>> {
    let mut records = Vec::new();
    while !framed.is_empty() {
        let (length, rest) = framed.split_first_chunk().ok_or("a length is torn")?;
        let (record, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length))?).ok_or("a record is torn")?;
        records.push(record);
        framed = rest;
    }
    Ok(records)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [records, options, file, what] = arguments.as_slice() else { return Err("usage: measure RECORDS OPTIONS FILE write|zstd|sha256|read|random".into()) };
    let framed = std::fs::read(records)?;
    let records = split(&framed)?;
    let options: Options = options.parse()?;
    let (seconds, count) = match what.as_str() {
        "write" => {
            let begin = Instant::now();
            let mut writer = Writer::new(File::create(file)?, &options)?;
            for record in &records {
                writer.write_record(record)?;
            }
            writer.close()?;
            (begin.elapsed(), records.len())
        }
        "zstd" => {
            let Compression::Zstd { level } = options.compression() else { return Err("`zstd` wants zstd options".into()) };
            let groups: Vec<Vec<u8>> = records.chunks(options.group_size() as usize).map(<[&[u8]]>::concat).collect();
            let mut context = CCtx::create();
            let set = |context: &mut CCtx<'_>, parameter| context.set_parameter(parameter).map_err(|_| "a zstd parameter is refused");
            set(&mut context, CParameter::CompressionLevel(level))?;
            set(&mut context, CParameter::WindowLog(u32::from(options.window_log().unwrap_or(20))))?;
            let mut out = Vec::with_capacity(compress_bound(groups.iter().map(Vec::len).max().unwrap_or(0)));
            let begin = Instant::now();
            for group in &groups {
                out.clear();
                context.compress2(&mut out, group).map_err(|_| "zstd refused a group")?;
                black_box(&out);
            }
            (begin.elapsed(), records.len())
        }
        "sha256" => {
            let bytes = std::fs::read(file)?;
            let begin = Instant::now();
            black_box(Sha256::digest(&bytes));
            (begin.elapsed(), records.len())
        }
        "read" => {
            let begin = Instant::now();
            let reader = Reader::open(File::open(file)?)?;
            let mut all = reader.records(0..reader.num_records());
            let mut count = 0;
            while let Some(record) = all.next_borrowed() {
                black_box(record?);
                count += 1;
            }
            (begin.elapsed(), count)
        }
        "random" => {
            let reader = Reader::open(File::open(file)?)?;
            let mut state = 0x9e37_79b9_7f4a_7c15u64;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % reader.num_records()
            };
            let batches: Vec<Vec<u64>> = (0..BATCHES).map(|_| (0..BATCH_RECORDS).map(|_| next()).collect()).collect();
            let begin = Instant::now();
            for batch in &batches {
                black_box(reader.records_at(batch)?);
            }
            (begin.elapsed(), BATCHES * BATCH_RECORDS)
        }
        other => return Err(format!("no measure `{other}`").into()),
    };
    writeln!(std::io::stdout(), "{{\"seconds\": {:.6}, \"records\": {count}}}", seconds.as_secs_f64())?;
    Ok(())
}
