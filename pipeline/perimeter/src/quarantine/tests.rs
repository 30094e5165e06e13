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
    open(stores, root, &Uri(uri.to_owned()))?.collect()
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
            .push(&Rejected { file: "/in/cpf=52998224725/a.csv", record_number: number, codes: &["cpf.check-digit", "invalid-utf8"], raw: raw.into() })
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
    assert_eq!(last.codes, ["cpf.check-digit", "invalid-utf8"]);
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
