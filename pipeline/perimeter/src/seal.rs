//! The end of a run: what was written is read back, counted and hashed, and only then does the version exist.
//!
//! [`seal()`] takes the proof of every closed shard, re-reads each from where it was written, and writes `shapes.json` and TFDS's files, `manifest.json` and `latest`, in this
//! order. [`verify()`] does the reading again at any later time, from the manifest alone; [`inspect()`] describes one shard without showing a value.
mod directories;
mod inspect;
mod manifest;
mod recount;
mod verify;

pub use inspect::{FeatureSummary, Inspection, inspect};
pub use manifest::{
    API_VERSION, Conserved, ContractFiles, Egress, Feature, Gate, Input, KeyVersion, MANIFEST_FILE, Manifest, PolicyFile, RowCounts, Run, SHAPES_FILE,
    STATISTICS_FILE, Shapes, Shard, ShardFormat, SideFile, Split, SplitShape, TableFiles, TablePart, TokenizerFile, Unit, Verdict,
};
pub use verify::{Finding, Report, verify};

use crate::classify::Classification;
use crate::error::{Culprit, Error, Failure, Result};
use crate::shape::Layout;
use crate::shape::statistics::Statistics;
use crate::shard::{ClosedPart, ClosedShard, SPLIT, ShardSink, StoredFile, TableSink};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use perimeter_contract::job::Uri;
use rayon::prelude::*;
use recount::{Recount, Wrong, recount};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What the caller knows of the run, and sealing cannot see for itself.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Made without a trust file or with local keys.
    pub development: bool,
    /// The run; its `finished` is set when the manifest is written.
    pub run: Run,
    /// Digests of the contract files.
    pub contract: ContractFiles,
    /// Keys used.
    pub keys: Vec<KeyVersion>,
    /// Files read.
    pub inputs: Vec<Input>,
    /// Rows counted by the stages themselves: `written` must not come from the emitters, since it is what their work is checked against.
    pub rows: RowCounts,
    /// Rejections by rule.
    pub rejections: BTreeMap<String, u64>,
    /// Verdicts of the gates that ran.
    pub gates: BTreeMap<String, Gate>,
    /// What was found in the raw sources.
    pub findings: Option<Classification>,
}

/// What the stages made beside shards.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Where the elements along the bucketed axis went.
    pub conservation: Option<Conserved>,
    /// What was frozen, or pinned.
    pub statistics: Option<Statistics>,
    /// By feature.
    pub tokenizers: BTreeMap<String, TokenizerFile>,
}

/// Proof that a version exists. Only [`seal()`] makes it.
#[derive(Clone, Debug)]
pub struct Sealed {
    manifest: Manifest,
    manifest_uri: Uri,
    sha256: [u8; 32],
}

impl Sealed {
    /// What was written.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it was written.
    pub fn manifest_uri(&self) -> &Uri {
        &self.manifest_uri
    }

    /// SHA-256 of the manifest's bytes.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

/// Publishes a version: exactly `total_shards` shards per bucket, each re-read and equal to its proof, holding all of `facts.rows.written` together, or as
/// many of them as `made.conservation` explains.
///
/// Blocks; shards are re-read in parallel on rayon's pool.
///
/// # Errors
/// `shard-count`, `shard-changed`, `rows-lost` (exit 1): then nothing is published, and dropping the sinks removes what was written. Disk's or store's (3, 4).
pub fn seal(
    facts: Facts,
    layout: &Layout,
    made: Made,
    total_shards: u32,
    sink: &ShardSink,
    mut shards: Vec<ClosedShard>,
    table: Option<(&TableSink, Vec<ClosedPart>)>,
) -> Result<Sealed> {
    let buckets: Vec<Option<u32>> = if layout.buckets().is_empty() { vec![None] } else { layout.buckets().iter().copied().map(Some).collect() };
    shards.sort_by_key(|shard| (shard.bucket(), shard.shard()));
    let expected = buckets.iter().flat_map(|&bucket| (0..total_shards).map(move |shard| (bucket, shard)));
    if !expected.eq(shards.iter().map(|shard| (shard.bucket(), shard.shard()))) {
        let message = format!("{} files were closed, not exactly one for each of {total_shards} shards and {} buckets", shards.len(), buckets.len());
        return Err(Failure::new(Culprit::Data, "shard-count", message).help("this is a bug: report it").into());
    }
    let features: BTreeMap<Option<u32>, Vec<Feature>> = buckets.iter().map(|&bucket| (bucket, features(layout, bucket))).collect();
    let format = ShardFormat { container: sink.format(), options: sink.options().to_owned(), encoding: sink.encoding() };
    let recounts = shards.par_iter().map(|shard| reread(sink, &format, shard, &features[&shard.bucket()])).collect::<Result<Vec<Recount>>>()?;

    let splits: Vec<Split> = buckets
        .iter()
        .map(|&bucket| {
            let mine = || shards.iter().zip(&recounts).filter(|(shard, _)| shard.bucket() == bucket).map(|(_, recount)| recount);
            let records = || mine().map(|recount| recount.records);
            Split {
                name: SPLIT.to_owned(),
                bucket,
                records: records().sum(),
                events: mine().map(|recount| recount.events).sum(),
                largest_shard_records: records().max().unwrap_or_default(),
                smallest_shard_records: records().min().unwrap_or_default(),
                features: features[&bucket].clone(),
            }
        })
        .collect();
    let events: u64 = splits.iter().map(|split| split.events).sum();
    let Made { conservation, statistics, tokenizers } = made;
    if !conservation.map_or(events == facts.rows.written, |account| account.explains(facts.rows.written, events)) {
        let message = format!("{} rows went into the shards, {events} were found in them", facts.rows.written);
        return Err(Failure::new(Culprit::Data, "rows-lost", message).help("this is a bug: report it").into());
    }
    let table_files = table.as_ref().map(|(sink, parts)| table_files(sink, parts, total_shards, facts.rows.written)).transpose()?;

    let mut files = vec![(SHAPES_FILE.to_owned(), json(&Shapes::of(format.encoding, &splits))?)];
    files.extend(statistics.map(|statistics| (STATISTICS_FILE.to_owned(), statistics.to_json())));
    files.extend(directories::files(sink, &splits, &shards));
    let mut gates = facts.gates;
    let figures = [("rowsWritten", facts.rows.written), ("eventsInShards", events), ("shards", shards.len() as u64)];
    let figures = figures.map(|(name, figure)| (name.to_owned(), figure.into())).into();
    gates.insert("conservation".to_owned(), Gate { verdict: Verdict::Pass, figures });
    let manifest = Manifest {
        api_version: API_VERSION.to_owned(),
        kind: "Manifest".to_owned(),
        dataset: sink.dataset().to_owned(),
        development: facts.development,
        run: Run { finished: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true), ..facts.run },
        contract: facts.contract,
        keys: facts.keys,
        inputs: facts.inputs,
        rows: facts.rows,
        rejections: facts.rejections,
        format,
        conservation,
        tokenizers,
        splits,
        egress: Egress { bytes: shards.iter().map(|shard| shard.proof().bytes()).sum(), usd: None },
        shards: shards.iter().map(entry).collect(),
        files: files.iter().map(side_file).collect(),
        table: table_files,
        gates,
        findings: facts.findings,
    };
    let bytes = json(&manifest)?;
    let folder = sink.folder();
    files.iter().try_for_each(|(path, bytes)| folder.put_new(path, bytes))?;
    // The table first: it is no version by itself, and is taken back if the manifest fails.
    if let Some((table, _)) = &table {
        table.folder().publish()?;
    }
    folder.put_new(MANIFEST_FILE, &bytes)?;
    folder.publish()?;
    folder.keep();
    if let Some((table, _)) = &table {
        table.folder().keep();
    }
    folder.point_latest()?;
    Ok(Sealed { manifest, manifest_uri: Uri(format!("{}/{MANIFEST_FILE}", folder.uri().0)), sha256: Sha256::digest(&bytes).into() })
}

fn side_file((path, bytes): &(String, Vec<u8>)) -> SideFile {
    SideFile { path: path.clone(), bytes: bytes.len() as u64, sha256: hex::encode(Sha256::digest(bytes)) }
}

fn features(layout: &Layout, bucket: Option<u32>) -> Vec<Feature> {
    layout.features(bucket).into_iter().map(|feature| Feature { name: feature.name, dtype: feature.dtype, shape: feature.shape }).collect()
}

fn entry(shard: &ClosedShard) -> Shard {
    let proof = shard.proof();
    Shard {
        path: shard.path().to_owned(),
        bucket: shard.bucket(),
        split: shard.split().to_owned(),
        records: proof.records(),
        bytes: proof.bytes(),
        crc32c: crc32c_text(proof.crc32c()),
        sha256: hex::encode(proof.sha256()),
    }
}

/// As object stores show it.
fn crc32c_text(crc32c: u32) -> String {
    STANDARD.encode(crc32c.to_be_bytes())
}

fn reread(sink: &ShardSink, format: &ShardFormat, shard: &ClosedShard, features: &[Feature]) -> Result<Recount> {
    let file = sink.folder().open(shard.path())?;
    let changed = |what: &str| -> Error {
        Failure::new(Culprit::Data, "shard-changed", format!("`{}` is not what was written: {what}", shard.path()))
            .help("disk, store or another process changed it: run again elsewhere")
            .into()
    };
    let recount = recount(&file, format, shard.bucket(), features).map_err(|wrong| match wrong {
        Wrong::Damaged(what) => changed(&what),
        Wrong::Unreadable(error) => crate::shard::io_failure("read", std::path::Path::new(shard.path()), error),
        Wrong::Shape(record) => changed(&format!("record {record} has another shape")),
    })?;
    let (sound, proof) = (&recount, shard.proof());
    if (sound.records, sound.bytes, sound.crc32c, sound.sha256) != (proof.records(), proof.bytes(), proof.crc32c(), proof.sha256()) {
        return Err(changed("its checksums differ"));
    }
    Ok(recount)
}

fn table_files(sink: &TableSink, parts: &[ClosedPart], total_shards: u32, rows_written: u64) -> Result<TableFiles> {
    let mut parts: Vec<&ClosedPart> = parts.iter().collect();
    parts.sort_by_key(|part| part.path());
    parts.dedup_by_key(|part| part.path());
    let rows: u64 = parts.iter().map(|part| part.rows()).sum();
    if parts.len() != total_shards as usize || rows != rows_written {
        let message = format!("{rows_written} rows went into {total_shards} files of the table, {rows} were found in {}", parts.len());
        return Err(Failure::new(Culprit::Data, "rows-lost", message).help("this is a bug: report it").into());
    }
    parts.par_iter().try_for_each(|part| {
        let file = sink.folder().open(part.path())?;
        let sha256 = sha256(&file).map_err(|error| crate::shard::io_failure("read", std::path::Path::new(part.path()), error))?;
        if file.bytes() == part.bytes() && sha256 == part.sha256() {
            return Ok(());
        }
        let message = format!("`{}` is not what was written: its checksum differs", part.path());
        Err(Error::from(Failure::new(Culprit::Data, "shard-changed", message).help("disk, store or another process changed it: run again elsewhere")))
    })?;
    let parts = parts
        .into_iter()
        .map(|part| TablePart { path: part.path().to_owned(), rows: part.rows(), bytes: part.bytes(), sha256: hex::encode(part.sha256()) })
        .collect();
    Ok(TableFiles { uri: sink.folder().uri().0, rows, parts })
}

/// A whole file's digest, read in pieces.
fn sha256(file: &StoredFile) -> std::io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < file.bytes() {
        let length = usize::try_from(file.bytes() - offset).unwrap_or(usize::MAX).min(buffer.len());
        file.read_exact_at(offset, &mut buffer[..length])?;
        hash.update(&buffer[..length]);
        offset += length as u64;
    }
    Ok(hash.finalize().into())
}

fn json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>> {
    let bug = |_| Error::from(Failure::new(Culprit::Data, "manifest", "a figure of the manifest cannot be written as JSON").help("this is a bug: report it"));
    let mut bytes = serde_json::to_vec_pretty(value).map_err(bug)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests;
