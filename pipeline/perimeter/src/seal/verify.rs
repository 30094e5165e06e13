//! Is a sealed version still what its manifest says? From the manifest alone, every byte is read again.
use super::manifest::{MANIFEST_FILE, Manifest, SHAPES_FILE, Shapes, malformed};
use super::recount::{Recount, Wrong, recount};
use super::{crc32c_text, sha256};
use crate::error::{Culprit, Error, Failure, Result};
use crate::shard::{StoredFile, io_failure};
use crate::store::{InputFile, Stores};
use perimeter_contract::job::Uri;
use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// A manifest longer than this is none.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The manifest that was verified.
    pub manifest: String,
    /// The dataset's name.
    pub dataset: String,
    /// The version.
    pub run_id: String,
    /// Shards named in the manifest.
    pub shards: u64,
    /// Records in the shards that are sound.
    pub records: u64,
    /// Events in them.
    pub events: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Everything that is wrong, by path; empty when the version is sound.
    pub findings: Vec<Finding>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which file, relative to the manifest (parts of the table: to the table's folder, with `table:` in front).
    pub path: String,
    /// Kebab-case: `missing-file`, `extra-file`, `cut-file`, `damaged`, `checksum`, `wrong-shape`, `wrong-total`, `unreadable`.
    pub code: &'static str,
    /// What is wrong, without content.
    pub message: String,
}

impl Report {
    /// Whether the version is what its manifest says.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Nothing, for a sound version.
    ///
    /// # Errors
    /// `verification-failed` (exit 1) when anything is wrong.
    pub fn into_result(self) -> Result<()> {
        let Some(first) = self.findings.first() else { return Ok(()) };
        let message = format!("{} finding(s); the first: `{}`: {}", self.findings.len(), first.path, first.message);
        Err(Failure::new(Culprit::Data, "verification-failed", message).help("do not train on this version: copy or make it again").into())
    }
}

/// For people: one line when it is sound, one more for each finding when it is not.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_sound() { "sound".to_owned() } else { format!("{} finding(s)", self.findings.len()) };
        let Self { dataset, run_id, shards, records, events, bytes, .. } = self;
        write!(f, "{dataset} {run_id}: {verdict} ({shards} shards; {records} records with {events} events are sound; {bytes} bytes read)")?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n  {}: {}: {}", finding.path, finding.code, finding.message))
    }
}

/// Re-reads all that a manifest names, and looks for files that it does not name.
///
/// # Errors
/// Only when the manifest itself cannot be used (exit 1) or a store cannot be reached at all (3, 4); what is wrong with the version is in the [`Report`].
pub fn verify(stores: &Stores, manifest_uri: &Uri) -> Result<Report> {
    let file = StoredFile::open(stores, manifest_uri)?;
    let bytes = file.read_all(MAX_MANIFEST_BYTES).map_err(|error| io_failure("read", Path::new(&manifest_uri.0), error))?;
    let manifest = Manifest::parse(&bytes)?;
    let folder = match manifest_uri.0.rsplit_once('/') {
        Some((folder, MANIFEST_FILE)) => folder.to_owned(),
        None if manifest_uri.0 == MANIFEST_FILE => ".".to_owned(),
        _ => {
            return Err(Failure::new(Culprit::File, "manifest", format!("a manifest is called `{MANIFEST_FILE}`"))
                .help(format!("give the path of a `{MANIFEST_FILE}`"))
                .into());
        }
    };
    let mut check = Check { stores, findings: Vec::new(), bytes: bytes.len() as u64 };
    let listed = check.list(&folder)?;
    check.names(&manifest, &listed);
    let recounts = check.shards(&manifest, &listed)?;
    check.totals(&manifest, &recounts);
    check.side_files(&manifest, &listed)?;
    check.table(&manifest)?;
    let Check { mut findings, bytes, .. } = check;
    findings.sort();
    findings.dedup();
    Ok(Report {
        manifest: manifest_uri.0.clone(),
        dataset: manifest.dataset,
        run_id: manifest.run.id,
        shards: manifest.shards.len() as u64,
        records: recounts.values().map(|recount| recount.records).sum(),
        events: recounts.values().map(|recount| recount.events).sum(),
        bytes,
        findings,
    })
}

struct Check<'a> {
    stores: &'a Stores,
    findings: Vec<Finding>,
    bytes: u64,
}

fn finding(path: &str, code: &'static str, message: impl Into<String>) -> Finding {
    Finding { path: path.to_owned(), code, message: message.into() }
}

/// By path relative to the folder.
type Listing = BTreeMap<String, InputFile>;

impl Check<'_> {
    fn list(&self, folder: &str) -> Result<Listing> {
        let files = self.stores.list_under(&Uri(folder.to_owned()))?;
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        Ok(files.into_iter().filter_map(|file| Some((file.uri.strip_prefix(&prefix)?.to_owned(), file))).collect())
    }

    /// Missing, extra and repeated files of the version's folder.
    fn names(&mut self, manifest: &Manifest, listed: &Listing) {
        let mut named: BTreeSet<&str> = BTreeSet::from([MANIFEST_FILE]);
        for path in manifest.shards.iter().map(|shard| &shard.path).chain(manifest.files.iter().map(|file| &file.path)) {
            if !named.insert(path) {
                self.findings.push(finding(path, "wrong-total", "the manifest names it twice"));
            }
            if !listed.contains_key(path) {
                self.findings.push(finding(path, "missing-file", "it is not there"));
            }
        }
        if !named.contains(SHAPES_FILE) {
            self.findings.push(finding(SHAPES_FILE, "missing-file", "the manifest does not name it"));
        }
        for path in listed.keys().filter(|path| !named.contains(path.as_str())) {
            self.findings.push(finding(path, "extra-file", "the manifest does not name it"));
        }
    }

    /// Re-reads every shard that is there; the recounts of those that are as the manifest says.
    fn shards(&mut self, manifest: &Manifest, listed: &Listing) -> Result<BTreeMap<String, Recount>> {
        type Outcome = (String, Result<Recount, Finding>);
        let outcomes = manifest
            .shards
            .par_iter()
            .filter_map(|shard| Some((shard, listed.get(&shard.path)?)))
            .map(|(shard, file)| -> Result<Outcome> {
                let path = &shard.path;
                let outcome = |found| Ok((path.clone(), found));
                if file.size_bytes != shard.bytes {
                    let message = format!("it has {} bytes, the manifest says {}", file.size_bytes, shard.bytes);
                    return outcome(Err(finding(path, if file.size_bytes < shard.bytes { "cut-file" } else { "damaged" }, message)));
                }
                let Some(split) = manifest.splits.iter().find(|split| split.name == shard.split && split.bucket == shard.bucket) else {
                    return outcome(Err(finding(path, "wrong-total", "the manifest has no such split and bucket")));
                };
                let opened = StoredFile::listed(self.stores, file)?;
                let recount = match recount(&opened, &manifest.format, shard.bucket, &split.features) {
                    Ok(recount) => recount,
                    Err(Wrong::Damaged(what)) => return outcome(Err(finding(path, "damaged", what))),
                    Err(Wrong::Shape(record)) => {
                        return outcome(Err(finding(path, "wrong-shape", format!("record {record} does not have the declared features and shapes"))));
                    }
                    Err(Wrong::Unreadable(error)) => return Err(io_failure("read", Path::new(path), error)),
                };
                let sound = &recount;
                if sound.records != shard.records {
                    return outcome(Err(finding(path, "wrong-total", format!("it has {} records, the manifest says {}", sound.records, shard.records))));
                }
                if crc32c_text(sound.crc32c) != shard.crc32c || hex::encode(sound.sha256) != shard.sha256 {
                    return outcome(Err(finding(path, "checksum", "its checksums are not those of the manifest")));
                }
                outcome(Ok(recount))
            })
            .collect::<Result<Vec<Outcome>>>()?;
        let mut recounts = BTreeMap::new();
        for (path, outcome) in outcomes {
            match outcome {
                Ok(recount) => {
                    self.bytes += recount.bytes;
                    recounts.insert(path, recount);
                }
                Err(found) => self.findings.push(found),
            }
        }
        Ok(recounts)
    }

    /// Figures of the manifest against each other and against what was counted.
    fn totals(&mut self, manifest: &Manifest, recounts: &BTreeMap<String, Recount>) {
        let mut wrong = |message: String| self.findings.push(finding(MANIFEST_FILE, "wrong-total", message));
        let broken: u64 = manifest.rejections.values().sum();
        // A row breaks one rule or more, and is read before it is rejected.
        if manifest.rows.rejected > broken || (manifest.rows.rejected == 0) != (broken == 0) || manifest.rows.rejected > manifest.rows.read {
            wrong(format!("{} rows rejected of {} read do not fit {broken} broken rules", manifest.rows.rejected, manifest.rows.read));
        }
        let all_sound = recounts.len() == manifest.shards.len();
        let per_split: BTreeSet<usize> = manifest
            .splits
            .iter()
            .map(|split| manifest.shards.iter().filter(|shard| shard.split == split.name && shard.bucket == split.bucket).count())
            .collect();
        if per_split.len() != 1 || per_split.contains(&0) {
            wrong("splits and buckets have different numbers of shards".to_owned());
        }
        for split in &manifest.splits {
            let mine: Vec<_> = manifest.shards.iter().filter(|shard| shard.split == split.name && shard.bucket == split.bucket).collect();
            let place = split.bucket.map_or_else(|| split.name.clone(), |bucket| format!("{} bucket {bucket}", split.name));
            let records: u64 = mine.iter().map(|shard| shard.records).fold(0, u64::saturating_add);
            let largest = mine.iter().map(|shard| shard.records).max().unwrap_or_default();
            let smallest = mine.iter().map(|shard| shard.records).min().unwrap_or_default();
            if (records, largest, smallest) != (split.records, split.largest_shard_records, split.smallest_shard_records) {
                wrong(format!("{place}: its shards have {records} records, the split says {}", split.records));
            }
            let events: u64 = mine.iter().filter_map(|shard| recounts.get(&shard.path)).map(|recount| recount.events).fold(0, u64::saturating_add);
            if all_sound && events != split.events {
                wrong(format!("{place}: its shards have {events} events, the split says {}", split.events));
            }
        }
        let events = manifest.splits.iter().map(|split| split.events).fold(0, u64::saturating_add);
        match &manifest.conservation {
            None if events != manifest.rows.written => wrong(format!("the splits have {events} events, `rows.written` says {}", manifest.rows.written)),
            Some(account) if !account.explains(manifest.rows.written, events) => {
                wrong(format!("the splits have {events} events, and neither `conservation` nor `rows.written` ({}) explains them", manifest.rows.written));
            }
            _ => {}
        }
        let bytes = manifest.shards.iter().map(|shard| shard.bytes).fold(0, u64::saturating_add);
        if bytes != manifest.egress.bytes {
            wrong(format!("the shards have {bytes} bytes, `egress.bytes` says {}", manifest.egress.bytes));
        }
    }

    /// `shapes.json` and whatever else the manifest names.
    fn side_files(&mut self, manifest: &Manifest, listed: &Listing) -> Result<()> {
        for file in &manifest.files {
            let Some(found) = listed.get(&file.path) else { continue };
            if found.size_bytes != file.bytes || found.size_bytes > MAX_MANIFEST_BYTES {
                let message = format!("it has {} bytes, the manifest says {}", found.size_bytes, file.bytes);
                self.findings.push(finding(&file.path, if found.size_bytes < file.bytes { "cut-file" } else { "damaged" }, message));
                continue;
            }
            let opened = StoredFile::listed(self.stores, found)?;
            let bytes = opened.read_all(MAX_MANIFEST_BYTES).map_err(|error| io_failure("read", Path::new(&file.path), error))?;
            self.bytes += bytes.len() as u64;
            if hex::encode(Sha256::digest(&bytes)) != file.sha256 {
                self.findings.push(finding(&file.path, "checksum", "its checksum is not that of the manifest"));
            } else if file.path == SHAPES_FILE {
                match serde_json::from_slice::<Shapes>(&bytes) {
                    Ok(shapes) if shapes == Shapes::of(manifest.format.encoding, &manifest.splits) => {}
                    Ok(_) => self.findings.push(finding(SHAPES_FILE, "wrong-shape", "it says other shapes than the manifest")),
                    Err(error) => self.findings.push(finding(SHAPES_FILE, "damaged", malformed(SHAPES_FILE, &error).message)),
                }
            }
        }
        Ok(())
    }

    /// The table's folder.
    fn table(&mut self, manifest: &Manifest) -> Result<()> {
        let Some(table) = &manifest.table else { return Ok(()) };
        let name = |path: &str| format!("table:{path}");
        let listed = self.list(&table.uri)?;
        let mut named = BTreeSet::new();
        for part in &table.parts {
            if !named.insert(part.path.as_str()) {
                self.findings.push(finding(&name(&part.path), "wrong-total", "the manifest names it twice"));
            }
            let Some(found) = listed.get(&part.path) else {
                self.findings.push(finding(&name(&part.path), "missing-file", "it is not there"));
                continue;
            };
            if found.size_bytes != part.bytes {
                let message = format!("it has {} bytes, the manifest says {}", found.size_bytes, part.bytes);
                self.findings.push(finding(&name(&part.path), if found.size_bytes < part.bytes { "cut-file" } else { "damaged" }, message));
                continue;
            }
            let opened = StoredFile::listed(self.stores, found)?;
            let digest = sha256(&opened).map_err(|error| -> Error { io_failure("read", Path::new(&part.path), error) })?;
            self.bytes += part.bytes;
            if hex::encode(digest) != part.sha256 {
                self.findings.push(finding(&name(&part.path), "checksum", "its checksum is not that of the manifest"));
            }
        }
        for path in listed.keys().filter(|path| !named.contains(path.as_str())) {
            self.findings.push(finding(&name(path), "extra-file", "the manifest does not name it"));
        }
        let rows = table.parts.iter().map(|part| part.rows).fold(0, u64::saturating_add);
        if rows != table.rows || rows != manifest.rows.written {
            let message = format!("the table's parts have {rows} rows, the table says {}, `rows.written` {}", table.rows, manifest.rows.written);
            self.findings.push(finding(MANIFEST_FILE, "wrong-total", message));
        }
        Ok(())
    }
}
