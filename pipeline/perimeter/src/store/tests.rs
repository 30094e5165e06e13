use super::*;
use crate::error::Error;
use object_store::memory::InMemory;
use std::io::Write;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Stores with a bucket `b` in memory.
fn with_memory(runtime: &tokio::runtime::Runtime) -> Stores {
    let stores = Stores::new(runtime.handle().clone());
    stores.inner.clients.lock().unwrap().insert(("b".into(), None), Arc::new(InMemory::new()));
    stores
}

fn uri(text: impl Into<String>) -> Uri {
    Uri(text.into())
}

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> (&'static str, u8, String) {
    match result.unwrap_err() {
        Error::Failed(failure) => (failure.code, failure.culprit.exit_code(), failure.message),
        Error::Contract(_) => panic!("a diagnostic"),
    }
}

/// The same of local disk and an object store.
fn both(check: impl Fn(&Stores, &str)) {
    let runtime = runtime();
    let folder = tempfile::tempdir().unwrap();
    check(&Stores::new(runtime.handle().clone()), folder.path().to_str().unwrap());
    check(&with_memory(&runtime), "s3://b/root");
}

#[test]
fn globs_name_files_in_order() {
    both(|stores, root| {
        for name in ["tx/dt=2026-01-02/b.csv", "tx/dt=2026-01-01/a.csv", "tx/dt=2026-01-01/a.json", "tx/.hidden.csv", "tx/c.csv", "tx/deep/er/d.csv"] {
            stores.put(&uri(format!("{root}/{name}")), name.as_bytes().to_vec()).unwrap();
        }
        let list = |pattern: &str| -> Vec<String> {
            stores.list(&uri(format!("{root}/{pattern}"))).unwrap().into_iter().map(|f| f.uri.strip_prefix(root).unwrap().to_owned()).collect()
        };
        assert_eq!(list("tx/*.csv"), ["/tx/c.csv"]);
        assert_eq!(list("tx/*/*.csv"), ["/tx/dt=2026-01-01/a.csv", "/tx/dt=2026-01-02/b.csv"]);
        assert_eq!(list("tx/dt=2026-01-0[2-9]/?.csv"), ["/tx/dt=2026-01-02/b.csv"]);
        assert_eq!(list("tx/**/*.csv"), ["/tx/c.csv", "/tx/deep/er/d.csv", "/tx/dt=2026-01-01/a.csv", "/tx/dt=2026-01-02/b.csv"]);
        assert_eq!(list("tx/c.csv"), ["/tx/c.csv"]);
        assert_eq!(stores.list_under(&uri(format!("{root}/tx/deep"))).unwrap().len(), 1);
        assert_eq!(stores.list_under(&uri(format!("{root}/nowhere"))).unwrap(), []);
        for absent in ["tx/none.csv", "tx/*.parquet", "none/*/x"] {
            let (code, exit, message) = refusal(stores.list(&uri(format!("{root}/{absent}"))));
            assert_eq!((code, exit), ("input-not-found", 2));
            assert!(message.contains(absent), "{message}");
        }
        let found = stores.list(&uri(format!("{root}/tx/*/a.csv"))).unwrap();
        assert_eq!(found[0].label, format!("{root}/tx/dt=*/a.csv"), "a value that the wildcard found is taken out");
        let found = stores.list(&uri(format!("{root}/tx/dt=2026-01-01/*.csv"))).unwrap();
        assert_eq!(found[0].label, found[0].uri, "one that the job file spells out is not");
    });
}

#[test]
fn streams_and_ranges_give_the_bytes() {
    both(|stores, root| {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let at = uri(format!("{root}/blob"));
        let mut writer = stores.writer(&at).unwrap();
        for piece in bytes.chunks(77_777) {
            writer.write_all(piece).unwrap();
        }
        assert_eq!(refusal(stores.list(&at)).0, "input-not-found", "invisible until it is finished");
        writer.finish().unwrap();
        let file = stores.list(&at).unwrap().remove(0);
        assert_eq!(file.size_bytes, bytes.len() as u64);
        let mut read = Vec::new();
        stores.reader(&file).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == bytes);
        read.clear();
        stores.reader_range(&file, 1_000..2_500_000).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == bytes[1_000..2_500_000]);
        let ranges = stores.ranges(&file).unwrap();
        assert_eq!(ranges.read(5..9).unwrap(), bytes[5..9]);
        let many = ranges.read_many(&[0..1, 7..7, 2_999_999..3_000_000]).unwrap();
        assert_eq!(many.concat(), [bytes[0], bytes[2_999_999]]);
        assert_eq!(refusal(ranges.read(0..3_000_001)).0, "truncated-input");
        assert_eq!(stores.read_all(&at, 3_000_000).unwrap().len(), 3_000_000);
        assert_eq!(refusal(stores.read_all(&at, 2_999_999)).0, "file-too-long");
    });
}

#[test]
fn long_files_go_up_in_parts() {
    both(|stores, root| {
        let at = uri(format!("{root}/long"));
        let piece = vec![7u8; 1 << 20];
        let mut writer = stores.writer(&at).unwrap();
        for _ in 0..20 {
            writer.write_all(&piece).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(stores.list(&at).unwrap()[0].size_bytes, 20 << 20);
        // Given up: nothing is left, and what was there stays.
        let mut writer = stores.writer(&at).unwrap();
        writer.write_all(&vec![8u8; 9 << 20]).unwrap();
        drop(writer);
        let mut first = [0];
        stores.reader(&stores.list(&at).unwrap()[0]).unwrap().read_exact(&mut first).unwrap();
        assert_eq!((first, stores.list_under(&uri(root)).unwrap().len()), ([7], 1));
    });
}

#[test]
fn the_first_one_wins() {
    both(|stores, root| {
        let at = uri(format!("{root}/manifest.json"));
        assert!(stores.put_if_absent(&at, "one").unwrap());
        assert!(!stores.put_if_absent(&at, "two").unwrap());
        assert_eq!(stores.read_all(&at, 10).unwrap(), b"one");
        stores.put(&at, "three").unwrap();
        assert_eq!(stores.read_all(&at, 10).unwrap(), b"three");
        stores.delete(&at).unwrap();
        stores.delete(&at).unwrap();
        assert_eq!(refusal(stores.read_all(&at, 10)).0, "input-not-found");
    });
}

#[test]
fn what_changes_while_it_is_read_is_noticed() {
    both(|stores, root| {
        let at = uri(format!("{root}/in"));
        stores.put(&at, "before").unwrap();
        let file = stores.list(&at).unwrap().remove(0);
        stores.put(&at, "after it").unwrap();
        let read = stores.reader(&file).and_then(|mut r| {
            let mut all = Vec::new();
            r.read_to_end(&mut all).map_err(|e| read_failure(&file, e).unwrap())
        });
        assert_eq!((refusal(read).0, refusal(stores.ranges(&file).and_then(|r| r.read(0..1))).0), ("input-changed", "input-changed"));
    });
}

#[test]
fn stores_work_inside_the_runtime_too() {
    let runtime = runtime();
    let stores = with_memory(&runtime);
    runtime.block_on(async {
        // A blocking thread, and a worker itself when there is another one.
        let inner = stores.clone();
        tokio::task::spawn_blocking(move || inner.put(&uri("s3://b/x"), "x").unwrap()).await.unwrap();
        assert_eq!(stores.list(&uri("s3://b/*")).unwrap().len(), 1);
    });
}

#[test]
fn an_endpoint_that_refuses_is_outside_and_a_strange_uri_a_mistake() {
    let runtime = runtime();
    let stores = Stores::new(runtime.handle().clone());
    // A port that nobody listens on any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = aws_config::SdkConfig::builder().behavior_version(aws_config::BehaviorVersion::latest()).build();
    let client = aws::s3("gone", None, &config, Some(format!("http://127.0.0.1:{port}"))).unwrap();
    stores.inner.clients.lock().unwrap().insert(("gone".into(), None), Arc::new(client));
    let (code, exit, message) = refusal(stores.list(&uri("s3://gone/x=1/*.csv")));
    // Without credentials no request is sent at all.
    assert_eq!((code, exit), ("no-credentials", 4), "{message}");
    let credentials = object_store::aws::AmazonS3Builder::new()
        .with_bucket_name("gone")
        .with_endpoint(format!("http://127.0.0.1:{port}"))
        .with_allow_http(true)
        .with_access_key_id("a")
        .with_secret_access_key("b")
        .with_retry(object_store::RetryConfig { max_retries: 0, ..Default::default() })
        .build()
        .unwrap();
    stores.inner.clients.lock().unwrap().insert(("gone".into(), None), Arc::new(credentials));
    let (code, exit, message) = refusal(stores.list(&uri("s3://gone/x=1/*.csv")));
    assert_eq!((code, exit), ("store-unavailable", 3), "{message}");
    assert!(message.contains("no connection") && !message.contains("127.0.0.1"), "{message}");
    for (text, code) in
        [("gs://b/x", "unknown-scheme"), ("s3://", "invalid-uri"), ("s3:///x", "invalid-uri"), ("s3://b/a//b", "invalid-uri"), ("s3://b/../x", "invalid-uri")]
    {
        let stores = with_memory(&runtime);
        assert_eq!(refusal(stores.place(&uri(text))).0, code, "{text}");
    }
}

#[test]
fn paths_that_may_not_be_used() {
    let runtime = runtime();
    let stores = Stores::new(runtime.handle().clone());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let below = uri(file.join("below").to_str().unwrap());
    let (code, exit, _) = refusal(stores.put(&below, "x"));
    assert_eq!((code, exit), ("unusable-path", 2));
    assert_eq!(refusal(stores.put(&uri("/proc/nothing/here"), "x")).1, 2);
}
