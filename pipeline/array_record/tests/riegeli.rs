//! Plain Riegeli files that the C++ library wrote: their chunks, of every compression, simple and transposed, hold what they should.
//!
//! They have no ArrayRecord footer. The test appends one, made by an encoder of its own, and leaves the file's bytes as they are.
//! The differential test against the riegeli crate, whose build costs too much for every run, is in `tests/fuzz`.
#![allow(clippy::print_stderr)] // tests say what they skip
use array_record::{Reader, verify};
use std::fs;
use std::path::Path;

#[allow(dead_code)] // shared with the fuzz targets
#[path = "../../../tests/fuzz/src/forge.rs"]
mod forge;

#[test]
fn golden_files_of_the_riegeli_library_hold_their_records() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/arrayrecord/riegeli-rs/riegeli/testdata");
    if !folder.is_dir() {
        eprintln!("skipped: the corpus `shared/corpora/arrayrecord` is not beside the repository");
        return;
    }
    // What their own conformance test expects of each.
    let expected: Vec<Vec<u8>> = (0..100).map(|index| format!("record_{index:06}").into_bytes()).collect();
    for (name, kind) in
        [("simple_none", b'r'), ("simple_brotli", b'r'), ("simple_zstd", b'r'), ("transpose_none", b't'), ("transpose_brotli", b't'), ("transpose_zstd", b't')]
    {
        let plain = fs::read(folder.join("golden").join(name).with_extension("riegeli")).unwrap();
        assert!(verify(&plain).is_err() && Reader::open(&plain).is_err(), "{name}: a plain Riegeli file is no ArrayRecord file");
        assert!(forge::chunks(&plain).iter().any(|chunk| chunk.header.kind == kind), "{name}");
        let file = forge::indexed(&plain);
        let sound = verify(&file).unwrap_or_else(|damage| panic!("{name}: {damage}"));
        assert_eq!(sound.records, 100, "{name}");
        let reader = Reader::open(&file).unwrap();
        let records: Vec<Vec<u8>> = reader.records(0..100).map(Result::unwrap).collect();
        assert_eq!(records, expected, "{name}");
        assert_eq!(reader.record(57).unwrap(), expected[57], "{name}");
    }
    // A file that once led a reader that recovers astray: refused, whatever follows it.
    let mut damaged = fs::read(folder.join("regression/recovery_regions_alias.riegeli")).unwrap();
    assert!(verify(&damaged).is_err());
    damaged.resize(3 << 16, 0);
    assert!(verify(&damaged).is_err() && Reader::open(&damaged).is_err());
}
