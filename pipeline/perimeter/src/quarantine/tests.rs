use super::*;
use perimeter_pseudonym::{LocalKms, Purpose, create_keyring, unwrap_root};

fn root(runtime: &tokio::runtime::Runtime, folder: &std::path::Path, name: &str) -> RootKey {
    let kms = LocalKms::create(&folder.join(format!("{name}.key"))).unwrap();
    runtime.block_on(async {
        let keyring = create_keyring(&kms, name).await.unwrap();
        unwrap_root(&kms, &keyring, None, Purpose::Run).await.unwrap()
    })
}

fn records(stores: &Stores, root: &RootKey, uri: &str) -> Result<Vec<Record<'static>>> {
    let files = list(stores, &[Uri(uri.to_owned())])?;
    assert_eq!(files.len(), 1);
    open(stores, root, &files[0])?.collect()
}

#[test]
fn what_goes_in_comes_out_and_only_with_the_key_and_under_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stores = Stores::new(runtime.handle().clone());
    let (ours, theirs) = (root(&runtime, folder.path(), "ours"), root(&runtime, folder.path(), "theirs"));
    let to = Uri(folder.path().join("quarantine").to_str().unwrap().to_owned());
    let mut writer = QuarantineWriter::new(&stores, &ours, &to, "run-1", "tx", 7);
    for number in 1..=1000u64 {
        let raw = format!("52998224725,{number},\u{fffd}").into_bytes();
        let mut raw = raw;
        raw.push(0xff);
        writer
            .push(&Rejected { file: "/in/cpf=52998224725/a.csv", record_number: number, codes: &["cpf.check-digit", "invalid-encoding"], raw: raw.into() })
            .unwrap();
    }
    assert!(!folder.path().join("quarantine/run-1/tx-000007.sealed").exists(), "nothing is visible before the end");
    let sealed = writer.finish().unwrap().unwrap();
    assert_eq!(sealed.records, 1000);
    assert_eq!(sealed.uri.0, format!("{}/run-1/tx-000007.sealed", to.0));
    let bytes = std::fs::read(&sealed.uri.0).unwrap();
    assert!(!bytes.windows(11).any(|w| w == b"52998224725"), "nothing raw in the file");

    let read = records(&stores, &ours, &sealed.uri.0).unwrap();
    assert_eq!(read.len(), 1000);
    let last = read.last().unwrap();
    assert_eq!((last.record, last.file.as_ref()), (1000, "/in/cpf=52998224725/a.csv"));
    assert_eq!(last.codes, ["cpf.check-digit", "invalid-encoding"]);
    assert_eq!(last.raw_bytes().unwrap(), [b"52998224725,1000,\xef\xbf\xbd".as_slice(), b"\xff"].concat());

    let refused = |root: &RootKey, uri: &str| match records(&stores, root, uri) {
        Err(Error::Failed(failure)) => assert_eq!(failure.code, "quarantine-not-opened"),
        other => panic!("{other:?}"),
    };
    refused(&theirs, &sealed.uri.0);
    let renamed = sealed.uri.0.replace("000007", "000008");
    std::fs::copy(&sealed.uri.0, &renamed).unwrap();
    refused(&ours, &renamed);
    std::fs::write(&sealed.uri.0, &bytes[..bytes.len() - 1]).unwrap();
    refused(&ours, &sealed.uri.0);
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    std::fs::write(&sealed.uri.0, &flipped).unwrap();
    refused(&ours, &sealed.uri.0);
}

#[test]
fn a_unit_without_rejects_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stores = Stores::new(runtime.handle().clone());
    let root = root(&runtime, folder.path(), "ours");
    let to = Uri(folder.path().join("quarantine").to_str().unwrap().to_owned());
    assert_eq!(QuarantineWriter::new(&stores, &root, &to, "run-1", "tx", 0).finish().unwrap(), None);
    // Given up half way.
    let mut writer = QuarantineWriter::new(&stores, &root, &to, "run-1", "tx", 1);
    writer.push(&Rejected { file: "f", record_number: 1, codes: &["ragged"], raw: b"x".as_slice().into() }).unwrap();
    drop(writer);
    let left = stores.list_under(&to).unwrap();
    assert_eq!(left, [], "{left:?}");
}

#[test]
fn names_are_safe() {
    assert_eq!(plain("tx_1-a.b"), "tx_1-a.b");
    assert_eq!(plain("../é x"), "=2e.=2f=c3=a9=20x");
}

#[test]
fn files_patterns_and_folders_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stores = Stores::new(runtime.handle().clone());
    let root = root(&runtime, folder.path(), "ours");
    let to = Uri(folder.path().join("quarantine").to_str().unwrap().to_owned());
    for (run, source, unit) in [("run-1", "tx", 0), ("run-1", "tx", 1), ("run-1", "tx-000001", 2), ("run-2", "tx", 0)] {
        let mut writer = QuarantineWriter::new(&stores, &root, &to, run, source, unit);
        writer.push(&Rejected { file: "f", record_number: 1, codes: &["ragged"], raw: b"x".as_slice().into() }).unwrap();
        writer.finish().unwrap();
    }
    std::fs::write(folder.path().join("quarantine/run-1/notes.txt"), "not ours").unwrap();
    let named = |names: &[&str]| -> Vec<String> {
        let uris: Vec<Uri> = names.iter().map(|name| Uri(format!("{}/{name}", to.0))).collect();
        list(&stores, &uris).unwrap().into_iter().map(|file| file.uri[to.0.len() + 1..].to_owned()).collect()
    };
    let (first, second, other) = ("run-1/tx-000000.sealed", "run-1/tx-000001.sealed", "run-1/tx-000001-000002.sealed");
    assert_eq!(named(&["run-1"]), [first, other, second]);
    assert_eq!(named(&["run-1/"]), [first, other, second]);
    assert_eq!(named(&["run-1/tx-00000?.sealed"]), [first, second]);
    assert_eq!(named(&[second, first, second]), [first, second], "each once");
    assert_eq!(named(&[""]).len(), 4, "all runs");
    match list(&stores, &[Uri(format!("{}/run-3", to.0))]) {
        Err(Error::Failed(failure)) => assert_eq!(failure.code, "input-not-found"),
        other => panic!("{other:?}"),
    }
    let of = |source: &str| list(&stores, std::slice::from_ref(&to)).unwrap().iter().filter(|file| is_of(file, source)).count();
    assert_eq!((of("tx"), of("tx-000001"), of("t")), (3, 1, 0));
}
