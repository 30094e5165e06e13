//! Results on S3, through the stores, with a listing whose entity tags the store made. The stores take their endpoint from the environment, so the test runs itself
//! again below `tests/support/moto.py`.
#![allow(clippy::print_stdout, reason = "skips are for whoever reads the test's output")]
use super::*;
use std::process::Command;

const NAME: &str = "macie::tests::on_s3::results_on_s3_cover_objects_of_a_real_listing";

#[test]
fn results_on_s3_cover_objects_of_a_real_listing() {
    if std::env::var_os("PERIMETER_BELOW_MOTO").is_some() {
        return below_moto(&std::env::var("AWS_ENDPOINT_URL").unwrap());
    }
    let ready = "import importlib.util, pathlib, sys; sys.exit(not (importlib.util.find_spec('moto') and (pathlib.Path(sys.executable).parent / 'moto_server').exists()))";
    if !Command::new("python3").args(["-c", ready]).status().is_ok_and(|status| status.success()) {
        println!("skipped: no python3 with moto's server");
        return;
    }
    let own = std::env::current_exe().unwrap();
    let moto = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/moto.py");
    let done = Command::new("python3").arg(moto).arg(own).args([NAME, "--exact", "--nocapture"]).env("PERIMETER_BELOW_MOTO", "1").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

fn put(endpoint: &str, path: &str, body: &str) {
    let (status, _, answer) = stand_in::call(endpoint, "PUT", path, "", body);
    assert_eq!(status, 200, "{answer}");
}

fn below_moto(s3: &str) {
    for path in ["/raw", "/macie-results"] {
        put(s3, path, "");
    }
    for at in 0..3 {
        put(s3, &format!("/raw/in/tx-{at}.csv"), &format!("tx_id,cpf,memo\n{at},,\n"));
    }
    let Some(listing) = StandIn::start(&json!({})) else { return };
    let files = listing.block_on(|_, stores| async move { tokio::task::spawn_blocking(move || stores.list(&tx().uri)).await.unwrap() }).unwrap();
    let etag = |at: usize| files[at].etag.as_ref().unwrap().trim_matches('"').to_owned();
    let found = about("in/tx-0.csv", json!({"etag": etag(0), "data": [cpf(300, cells(2, Some("cpf"), 300))]}));
    let results = json!([found, about("in/tx-1.csv", json!({"etag": etag(1)})), about("in/tx-2.csv", json!({"etag": etag(1)}))]);
    let Some(server) = StandIn::start_with(&json!({"results": results, "export": export(), "batches": 2}), Some(s3)) else { return };
    let macie = run(&server, &tx(), &files, |options| options.results = None).unwrap();
    assert_eq!(found_of(&macie), [(Some(1), 300)]);
    assert_eq!(macie.not_clean.iter().map(|r| (r.why, r.object)).collect::<Vec<_>>(), [(Why::ObjectChanged, Some((0, 2)))]);

    let absent = json!({"results": [], "export": {"bucketName": "nobody-s", "kmsKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}});
    let Some(server) = StandIn::start(&absent) else { return };
    let (code, exit, text) = refusal(run(&server, &tx(), &files, |options| options.results = None));
    assert_eq!((code, exit), ("bucket-not-found", 2), "{text}");
}

fn found_of(macie: &Macie) -> Vec<(Option<usize>, u64)> {
    macie.findings.iter().map(|finding| (finding.column, finding.count)).collect()
}
