use super::*;
use crate::shape::fixture::{Emission, Event, emit, emit_to, events, stores};
use crate::store::Stores;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn facts(rows: u64) -> Facts {
    Facts {
        development: true,
        run: Run { id: "run-1".into(), started: "2026-11-30T10:00:00Z".into(), finished: String::new(), tool_version: "0".into(), parameters: BTreeMap::new() },
        contract: ContractFiles {
            job_sha256: "00".into(),
            schemas_sha256: BTreeMap::new(),
            plan_digest: "00".into(),
            policy: PolicyFile {
                name: "p".into(),
                version: 1,
                purpose: "test".into(),
                legal_basis: vec![],
                retention_days: None,
                sha256: "00".into(),
                approvals: vec![],
            },
        },
        keys: vec![KeyVersion { name: "person".into(), keyring: "k".into(), version: 1 }],
        inputs: vec![Input { source: "tx".into(), uri: "tx.csv".into(), bytes: 1, etag: None, sha256: None, rows: rows + 2, rejections: BTreeMap::new() }],
        rows: RowCounts { read: rows + 2, rejected: 2, passed_over: 0, with_added_fields: 0, written: rows },
        rejections: BTreeMap::from([("check-digit".into(), 2)]),
        findings: None,
        gates: BTreeMap::new(),
    }
}

fn finish(emission: &Emission, facts: Facts, shards: u32) -> Result<Sealed> {
    let closed = emission.emitted.iter().flat_map(|emitted| emitted.shards.clone()).collect();
    let parts = emission.emitted.iter().flat_map(|emitted| emitted.parts.clone()).collect();
    let mut account = crate::shape::overflow::Conservation::default();
    emission.emitted.iter().for_each(|emitted| account.merge(&emitted.account));
    let conserved = emission.layout.axis_unit().map(|unit| Conserved { unit, elements: account, packing: None });
    let made = Made { conservation: conserved, ..Made::default() };
    seal(facts, &emission.layout, made, shards, &emission.sink, closed, Some((&emission.table, parts)))
}

fn some_events() -> Vec<Event> {
    events(&[3, 40, 7, 1, 1, 20, 16, 9], 3, 11)
}

/// A sealed version, its folder and its manifest.
fn sealed(folder: &Path, buckets: &[u32]) -> (Sealed, PathBuf) {
    let events = some_events();
    let emission = emit(folder, buckets, &events, 3, 2, &[5, 30]).unwrap();
    let sealed = finish(&emission, facts(events.len() as u64), 3).unwrap();
    (sealed, folder.join("sink/run-1"))
}

fn codes(report: &Report) -> Vec<(&str, &str)> {
    report.findings.iter().map(|finding| (finding.path.as_str(), finding.code)).collect()
}

fn again(version: &Path) -> Result<Report> {
    verify(&stores(), &Uri(version.join(MANIFEST_FILE).display().to_string()))
}

#[test]
fn a_sealed_version_verifies() {
    for buckets in [&[8, 16][..], &[]] {
        let folder = tempfile::tempdir().unwrap();
        let (sealed, version) = sealed(folder.path(), buckets);
        assert_eq!(fs::read_to_string(folder.path().join("sink/latest")).unwrap(), "run-1\n");
        let manifest = Manifest::parse(&fs::read(version.join(MANIFEST_FILE)).unwrap()).unwrap();
        assert_eq!(&manifest, sealed.manifest());
        assert_eq!(sealed.manifest_uri().0, version.join(MANIFEST_FILE).display().to_string());
        let report = again(&version).unwrap();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!((report.events, report.shards), (97, if buckets.is_empty() { 3 } else { 6 }));
        assert_eq!(manifest.table.as_ref().unwrap().parts.len(), 3);
        let names: Vec<String> = fs::read_dir(folder.path().join("sink")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.iter().filter(|name| name.starts_with('.')).count(), 0, "no staging is left: {names:?}");
        // The next run of the same id finds the name taken.
        let Err(error) = emit(folder.path(), buckets, &[], 3, 1, &[]).map(|_| ()) else { panic!("took a taken name") };
        assert_eq!(error.exit_code(), 3);
        assert!(again(&version).unwrap().is_sound(), "and leaves it alone");
    }
}

#[test]
fn what_does_not_add_up_is_not_published() {
    let events = some_events();
    let rows = events.len() as u64;
    let fail = |change: &dyn Fn(&mut Emission), rows: u64| {
        let folder = tempfile::tempdir().unwrap();
        let mut emission = emit(folder.path(), &[8, 16], &events, 3, 2, &[]).unwrap();
        change(&mut emission);
        let Err(Error::Failed(failure)) = finish(&emission, facts(rows), 3) else { panic!("was published") };
        assert_eq!(failure.culprit, Culprit::Data);
        drop(emission);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
        failure.code
    };
    let staged = |emission: &Emission, path: &str| PathBuf::from(emission.sink.folder().uri().0).parent().unwrap().join(".staging-run-1").join(path);
    assert_eq!(fail(&|_| (), rows + 1), "rows-lost");
    assert_eq!(fail(&|emission| drop(emission.emitted[0].shards.pop()), rows), "shard-count");
    assert_eq!(
        fail(
            &|emission| {
                let twice = emission.emitted[0].shards[0].clone();
                emission.emitted[0].shards.push(twice)
            },
            rows
        ),
        "shard-count"
    );
    assert_eq!(fail(&|emission| drop(emission.emitted[0].parts.pop()), rows), "rows-lost");
    let flip = |emission: &mut Emission| {
        let path = staged(emission, emission.emitted[0].shards[0].path());
        let mut bytes = fs::read(&path).unwrap();
        bytes[70] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    assert_eq!(fail(&flip, rows), "shard-changed");
    // Sound, but another file.
    let swap = |emission: &mut Emission| {
        let shards = &emission.emitted[0].shards;
        fs::copy(staged(emission, shards[0].path()), staged(emission, shards[2].path())).unwrap();
    };
    assert_eq!(fail(&swap, rows), "shard-changed");
}

#[test]
fn every_kind_of_damage_is_named_with_its_path() {
    let shard = "b16/cards-train.array_record-00001-of-00003";
    let expect = |change: &dyn Fn(&Path), expected: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let (_, version) = sealed(folder.path(), &[8, 16]);
        change(&version);
        let report = again(&version).unwrap();
        assert_eq!(codes(&report), expected, "{report:?}");
        let text = report.to_string();
        assert!(text.contains(&format!("{} finding(s)", expected.len())) && text.contains(expected[0].0), "{text}");
        assert_eq!(report.into_result().unwrap_err().exit_code(), 1);
    };
    let edit = |path: PathBuf, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    };
    expect(&|version| fs::remove_file(version.join(shard)).unwrap(), &[(shard, "missing-file")]);
    expect(&|version| fs::write(version.join("b8/extra"), b"").unwrap(), &[("b8/extra", "extra-file")]);
    expect(&|version| edit(version.join(shard), &|bytes| bytes.truncate(bytes.len() - 1)), &[(shard, "cut-file")]);
    expect(&|version| edit(version.join(shard), &|bytes| bytes.push(0)), &[(shard, "damaged")]);
    let other = "b16/cards-train.array_record-00000-of-00003";
    let copied = |version: &Path| assert!(fs::copy(version.join(other), version.join(shard)).unwrap() > 0);
    expect(&copied, &[(shard, "checksum")]);
    expect(&|version| edit(version.join(SHAPES_FILE), &|bytes| bytes[40] ^= 1), &[(SHAPES_FILE, "checksum")]);
    expect(&|version| fs::remove_file(version.join(SHAPES_FILE)).unwrap(), &[(SHAPES_FILE, "missing-file")]);
    let table = |version: &Path| version.parent().unwrap().parent().unwrap().join("table/run-1");
    let part = "part-00001-of-00003.parquet";
    let part_name = format!("table:{part}");
    expect(&|version| fs::remove_file(table(version).join(part)).unwrap(), &[(&part_name, "missing-file")]);
    expect(&|version| edit(table(version).join(part), &|bytes| bytes[9] ^= 1), &[(&part_name, "checksum")]);
    expect(&|version| fs::write(table(version).join("x"), b"").unwrap(), &[("table:x", "extra-file")]);
    let say = |version: &Path, from: &str, to: &str| {
        let path = version.join(MANIFEST_FILE);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    expect(&|version| say(version, "\"written\": 97", "\"written\": 96"), &[(MANIFEST_FILE, "wrong-total"), (MANIFEST_FILE, "wrong-total")]);
    // Every byte of a shard is guarded.
    let folder = tempfile::tempdir().unwrap();
    let (_, version) = sealed(folder.path(), &[8, 16]);
    let path = version.join(shard);
    let good = fs::read(&path).unwrap();
    for byte in (0..good.len()).step_by(997).chain(0..120) {
        let mut bad = good.clone();
        bad[byte] ^= 1 << (byte % 8);
        fs::write(&path, bad).unwrap();
        let report = again(&version).unwrap();
        assert_eq!(report.findings.len(), 1, "byte {byte}: {report:?}");
        assert_eq!(report.findings[0].path, shard);
    }
}

#[test]
fn a_manifest_that_cannot_be_trusted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, version) = sealed(folder.path(), &[8, 16]);
    let path = version.join(MANIFEST_FILE);
    let good = fs::read_to_string(&path).unwrap();
    let refuse = |text: &str, code: &str| {
        fs::write(&path, text).unwrap();
        let Err(Error::Failed(failure)) = again(&version) else { panic!("took it: {code}") };
        assert_eq!((failure.culprit, failure.code), (Culprit::Data, code));
        failure.to_string()
    };
    refuse(&good.replacen("b8/", "../b8/", 1), "manifest-path");
    refuse(&good.replacen("b8/cards", "/etc/cards", 1), "manifest-path");
    let text = refuse(&good.replacen("\"dataset\"", "\"surprise-4111\": 1, \"dataset\"", 1), "manifest");
    assert!(!text.contains("4111"), "{text}");
    refuse(&good[..good.len() / 2], "manifest");
    refuse("", "manifest");
    refuse(&good.replacen("perimeter/v1", "perimeter/v2", 1), "manifest");
    fs::remove_file(&path).unwrap();
    let Err(Error::Failed(failure)) = again(&version) else { panic!("no manifest") };
    assert_eq!((failure.culprit.exit_code(), failure.code), (2, "input-not-found"));
}

#[test]
fn a_version_may_move() {
    let folder = tempfile::tempdir().unwrap();
    let (_, version) = sealed(folder.path(), &[8, 16]);
    let moved = folder.path().join("moved");
    fs::rename(version, &moved).unwrap();
    assert!(again(&moved).unwrap().is_sound());
}

#[test]
fn a_shard_is_described_without_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let (sealed, version) = sealed(folder.path(), &[8, 16]);
    let shard = sealed.manifest().shards.iter().find(|shard| shard.bucket == Some(16) && shard.records > 0).unwrap();
    let stores: Stores = stores();
    let found = inspect(&stores, &Uri(version.join(&shard.path).display().to_string())).unwrap();
    assert_eq!((found.records, found.bytes, found.other_records), (shard.records, shard.bytes, 0));
    assert!(found.options.as_ref().unwrap().contains("group_size:1"));
    let features: Vec<_> = found.features.iter().map(|feature| (feature.name.as_str(), feature.dtype, feature.fewest_values, feature.most_values)).collect();
    let expected = [
        ("account", "bytes", 1, 1),
        ("amount", "float32", 16, 16),
        ("chunk", "int64", 1, 1),
        ("delta_s", "int64", 16, 16),
        ("length", "int64", 1, 1),
        ("mcc", "int64", 16, 16),
    ];
    assert_eq!(features, expected);
    let text = found.to_string();
    assert!(text.contains("\n  delta_s  int64    16") && !text.contains("only") && !text.contains("not static"), "{text}");
    assert!(!text.contains("entity-"));
    assert!(!serde_json::to_string(&found).unwrap().contains("entity-"), "tokens stay unseen");
    let text = inspect(&stores, &Uri(version.join(MANIFEST_FILE).display().to_string())).unwrap_err().to_string();
    assert!(!text.contains("dataset"), "{text}");
}

#[test]
fn an_unwritable_sink_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sink"), b"a file").unwrap();
    let Err(Error::Failed(failure)) = emit(folder.path(), &[8], &[], 1, 1, &[]).map(|_| ()) else { panic!("wrote into a file") };
    assert_eq!(failure.culprit, Culprit::Denied);
    assert!(!folder.path().join("table").exists());
}

/// moto (or another stand-in for S3) on loopback, when the test command started one.
fn stand_in() -> Option<Stores> {
    use std::io::{Read as _, Write as _};
    let endpoint = std::env::var("AWS_ENDPOINT_URL").ok().filter(|endpoint| endpoint.starts_with("http://127.0.0.1:"));
    let Some(endpoint) = endpoint else {
        let _ = writeln!(std::io::stderr(), "skipped: AWS_ENDPOINT_URL names no stand-in for S3 on loopback");
        return None;
    };
    let mut socket = std::net::TcpStream::connect(&endpoint["http://".len()..]).unwrap();
    write!(socket, "PUT /perimeter-test HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    Some(stores())
}

fn under(stores: &Stores, folder: &str) -> Vec<String> {
    stores.list_under(&Uri(folder.to_owned())).unwrap().into_iter().map(|file| file.uri).collect()
}

#[test]
fn an_object_store_serves_as_well() {
    let Some(stores) = stand_in() else { return };
    let base = format!("s3://perimeter-test/{}", std::process::id());
    let uri = |name: &str| Uri(format!("{base}/{name}"));
    let events = some_events();
    let rows = events.len() as u64;
    let emit = |id: &str| emit_to(&stores, &uri("sink"), &uri("table"), id, &[8, 16], &events, 3, 2, &[5, 30]).unwrap();

    // A run that fails leaves nothing.
    let emission = emit("run-0");
    assert!(!under(&stores, &format!("{base}/sink")).is_empty());
    assert_eq!(finish(&emission, facts(rows + 1), 3).unwrap_err().exit_code(), 1);
    drop(emission);
    assert_eq!(under(&stores, &base), Vec::<String>::new());

    let emission = emit("run-1");
    let sealed = finish(&emission, facts(rows), 3).unwrap();
    drop(emission);
    let report = verify(&stores, sealed.manifest_uri()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!(stores.read_all(&uri("sink/latest"), 100).unwrap(), b"run-1\n");
    assert_eq!(under(&stores, &format!("{base}/sink/run-1")).len(), 6 + 2);
    // The same bytes as on local disk.
    let folder = tempfile::tempdir().unwrap();
    let (local, _) = self::sealed(folder.path(), &[8, 16]);
    assert_eq!(local.manifest().shards, sealed.manifest().shards);
    assert_eq!(local.manifest().table.as_ref().unwrap().parts, sealed.manifest().table.as_ref().unwrap().parts);
    // Another run of the same id finds the name taken.
    let Err(error) = emit_to(&stores, &uri("sink"), &uri("table"), "run-1", &[8, 16], &events, 3, 1, &[]).map(|_| ()) else { panic!("took a taken name") };
    assert_eq!(error.exit_code(), 3);
    assert!(verify(&stores, sealed.manifest_uri()).unwrap().is_sound());

    // A file of several parts comes back, read in any order.
    let folder = crate::shard::VersionFolder::create(&stores, &uri("big"), "run-1").unwrap();
    let bytes: Vec<u8> = (0_u32..5 << 20).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut file = folder.file("a/b").unwrap();
    std::io::Write::write_all(&mut file, &bytes).unwrap();
    file.finish().unwrap();
    let file = folder.open("a/b").unwrap();
    assert_eq!(file.bytes(), bytes.len() as u64);
    for (offset, length) in [(0, 10), (9 << 20, 1 << 20), (5, 17 << 20), (bytes.len() - 1, 1), (1 << 20, 100)] {
        let mut out = vec![0; length];
        file.read_exact_at(offset as u64, &mut out).unwrap();
        assert_eq!(out, bytes[offset..offset + length]);
    }
    assert!(file.read_exact_at(bytes.len() as u64, &mut [0]).is_err());
    drop((file, folder));
    assert_eq!(under(&stores, &format!("{base}/big")), Vec::<String>::new());

    // Damage is found.
    let emission = emit("run-2");
    let sealed = finish(&emission, facts(rows), 3).unwrap();
    drop(emission);
    let shard = &sealed.manifest().shards[4];
    let place = uri(&format!("sink/run-2/{}", shard.path));
    let mut bytes = stores.read_all(&place, 1 << 30).unwrap();
    bytes[100] ^= 4;
    stores.put(&place, bytes).unwrap();
    stores.put(&uri("sink/run-2/b8/extra"), "x").unwrap();
    stores.delete(&uri(&format!("sink/run-2/{}", sealed.manifest().shards[1].path))).unwrap();
    let report = verify(&stores, sealed.manifest_uri()).unwrap();
    let mut expected = [(shard.path.as_str(), "damaged"), ("b8/extra", "extra-file"), (sealed.manifest().shards[1].path.as_str(), "missing-file")];
    expected.sort_unstable();
    assert_eq!(codes(&report), expected);
    assert_eq!(verify(&stores, &uri("sink/run-9/manifest.json")).unwrap_err().exit_code(), 2);
    assert!(inspect(&stores, &uri(&format!("sink/run-2/{}", sealed.manifest().shards[5].path))).is_ok());
}

#[test]
fn a_manifest_that_cannot_be_published_takes_the_table_back() {
    let folder = tempfile::tempdir().unwrap();
    let events = some_events();
    let emission = emit(folder.path(), &[8, 16], &events, 3, 1, &[]).unwrap();
    // Somebody takes the version's name in the meantime.
    fs::create_dir_all(folder.path().join("sink/run-1")).unwrap();
    fs::write(folder.path().join("sink/run-1/theirs"), b"x").unwrap();
    let Err(Error::Failed(failure)) = finish(&emission, facts(events.len() as u64), 3) else { panic!("replaced a version") };
    assert_eq!(failure.code, "version-exists");
    drop(emission);
    assert!(!folder.path().join("table").exists());
    let left: Vec<_> = fs::read_dir(folder.path().join("sink")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["run-1"]);
    assert!(folder.path().join("sink/run-1/theirs").exists());
}

#[test]
fn two_runs_share_a_sink() {
    let folder = tempfile::tempdir().unwrap();
    let uri = |name: &str| Uri(folder.path().join(name).display().to_string());
    let events = some_events();
    let emit = |id: &str| emit_to(&stores(), &uri("sink"), &uri("table"), id, &[8, 16], &events, 3, 1, &[]).unwrap();
    let (first, second, third) = (emit("run-1"), emit("run-2"), emit("run-3"));
    drop(first);
    let sealed = finish(&second, facts(events.len() as u64), 3).unwrap();
    drop(second);
    drop(third);
    assert!(verify(&stores(), sealed.manifest_uri()).unwrap().is_sound());
    let mut left: Vec<_> = fs::read_dir(folder.path().join("sink")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["latest", "run-2"]);
    for id in ["", ".", "..", "a/b", ".hidden", "a b"] {
        let taken = crate::shard::VersionFolder::create(&stores(), &uri("sink"), id);
        assert_eq!(taken.unwrap_err().exit_code(), 2, "{id:?}");
    }
}

#[test]
fn findings_are_kept_and_older_manifests_have_none() {
    use crate::classify::{Agreement, ClassifiedColumn, ClassifiedSource, ContractSays, Finder, Finding, Place, Resolution};
    let finding = Finding {
        semantic_type: "BR_CPF".into(),
        found_as: None,
        source: Finder::Local,
        place: Place::Values,
        share: Some(0.25),
        interval: Some((0.2, 0.3)),
        confidence: Some("LIKELY".into()),
        count: None,
        agreement: Agreement::Accepted,
        resolution: Resolution::Accepted,
        reason: Some("numbers of our own".into()),
        write: None,
    };
    let contract = ContractSays { classification: Some("public".into()), ..ContractSays::default() };
    let column =
        ClassifiedColumn { name: "note".into(), contract, shape: "WORDS".into(), distinct: 9, agreement: Agreement::Accepted, findings: vec![finding] };
    let source = ClassifiedSource { name: "tx".into(), files: 1, rows: 9, complete: true, unreadable: BTreeMap::new(), columns: vec![column] };
    let classified = Classification { seed: 0, sample_rows: "all".into(), sources: vec![source], macie: None };
    let folder = tempfile::tempdir().unwrap();
    let events = some_events();
    let emission = emit(folder.path(), &[8, 16], &events, 3, 2, &[5, 30]).unwrap();
    let facts = Facts { findings: Some(classified.clone()), ..facts(events.len() as u64) };
    finish(&emission, facts, 3).unwrap();
    let bytes = fs::read(folder.path().join("sink/run-1").join(MANIFEST_FILE)).unwrap();
    assert_eq!(Manifest::parse(&bytes).unwrap().findings, Some(classified));

    let mut older: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    older.as_object_mut().unwrap().remove("findings").unwrap();
    assert_eq!(Manifest::parse(older.to_string().as_bytes()).unwrap().findings, None);
}
