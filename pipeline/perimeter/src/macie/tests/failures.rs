//! Who has to act, over HTTP.
use super::*;

fn error(operation: &str, code: &str, status: u16, times: Option<u32>) -> Value {
    let mut error = json!({"operation": operation, "code": code, "status": status, "message": "39053344705 is in here"});
    if let Some(times) = times {
        error["times"] = json!(times);
    }
    error
}

fn outcome(script: &Value) -> Option<Result<Macie>> {
    let server = StandIn::start(script)?;
    Some(run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}))
}

#[test]
fn throttling_is_tried_again() {
    let errors: Vec<Value> =
        ["GetMacieSession", "ListManagedDataIdentifiers", "CreateClassificationJob", "DescribeClassificationJob", "ListFindings", "GetFindings"]
            .iter()
            .map(|operation| error(operation, "ThrottlingException", 429, Some(2)))
            .chain([error("GetClassificationExportConfiguration", "TooManyRequestsException", 429, Some(2))])
            .collect();
    let Some(result) = outcome(&json!({"errors": errors, "findings": [about(KEY, json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}))]})) else { return };
    assert_eq!(found(&result.unwrap()).len(), 1);
}

#[test]
fn a_long_wait_survives_a_bad_minute() {
    let script = |times| json!({"statuses": ["RUNNING", "COMPLETE"], "errors": [error("DescribeClassificationJob", "ThrottlingException", 429, Some(times))]});
    // Three attempts of the SDK a look.
    let Some(result) = outcome(&script(9)) else { return };
    assert!(result.is_ok());
    let Some(result) = outcome(&script(1000)) else { return };
    assert_eq!(refusal(result).0, "macie-throttled");
    // Four bad looks, a good one, four bad ones: each good look begins anew.
    let mut second = error("DescribeClassificationJob", "InternalServerException", 500, Some(12));
    second["after"] = json!(1);
    let both = [error("DescribeClassificationJob", "InternalServerException", 500, Some(12)), second];
    let Some(result) = outcome(&json!({"statuses": ["RUNNING", "COMPLETE"], "errors": both})) else { return };
    assert!(result.is_ok());
}

#[test]
fn a_finding_that_is_listed_has_to_be_there() {
    let script = json!({"findings": [about(KEY, json!({"data": [cpf(1, json!({}))]})), about("in/tx-2.csv", json!({}))], "gone": [KEY]});
    let Some(result) = outcome(&script) else { return };
    let (code, exit, _) = refusal(result);
    assert_eq!((code, exit), ("macie-unavailable", 3), "one that nobody resolves is worse than none");
}

#[test]
fn each_failure_says_who_has_to_act_and_never_what_the_service_said() {
    let cases = [
        (json!({"session": "absent"}), "macie-not-enabled", 4),
        (json!({"session": "PAUSED"}), "macie-not-enabled", 4),
        (json!({"errors": [error("CreateClassificationJob", "AccessDeniedException", 403, None)]}), "macie-denied", 4),
        (
            json!({"errors": [error("GetFindings", "AccessDeniedException", 403, None)], "findings": [about(KEY, json!({"data": [cpf(1, json!({}))]}))]}),
            "macie-denied",
            4,
        ),
        (json!({"errors": [error("CreateClassificationJob", "ServiceQuotaExceededException", 402, None)]}), "macie-quota", 4),
        (json!({"errors": [error("CreateClassificationJob", "ValidationException", 400, None)]}), "macie-request-invalid", 2),
        (json!({"errors": [error("ListFindings", "ThrottlingException", 429, None)]}), "macie-throttled", 3),
        (json!({"errors": [error("ListFindings", "InternalServerException", 500, None)]}), "macie-unavailable", 3),
        (json!({"errors": [error("GetMacieSession", "ExpiredTokenException", 403, None)]}), "aws-credentials", 4),
        (json!({"identifiers": ["NAME"]}), "macie-identifier-unknown", 2),
    ];
    for (script, code, exit) in cases {
        let Some(result) = outcome(&script) else { return };
        let (found, found_exit, text) = refusal(result);
        assert_eq!((found, found_exit), (code, exit), "{script}");
        assert!(!text.contains("39053344705"), "{text}");
    }
}

#[test]
fn ids_that_are_none_and_jobs_that_are_not_there() {
    let Some(server) = StandIn::start(&json!({})) else { return };
    for ids in [&["../x"][..], &[""], &[], &["a b"]] {
        assert_eq!(refusal(run_import(&server, &tx(), &[], ids, |_| {})).0, "macie-job-not-found");
    }
    assert!(server.operations().is_empty(), "nothing was asked");
    assert_eq!(refusal(run_import(&server, &tx(), &[], &["0123abcd"], |_| {})), refusal(run_import(&server, &tx(), &[], &["0123abcd"], |_| {})));
    assert_eq!(refusal(run_import(&server, &tx(), &[], &["0123abcd"], |_| {})).0, "macie-job-not-found");
}

#[test]
fn a_job_that_takes_too_long_can_be_taken_up_later() {
    let Some(server) = StandIn::start(&json!({"statuses": ["RUNNING"]})) else { return };
    let (code, exit, text) = refusal(run(&server, &tx(), &[], |options| options.max_wait = Some(Duration::from_secs(60))));
    assert_eq!((code, exit), ("macie-job-running", 3));
    let id = server.requests().iter().find(|(operation, _)| operation == "DescribeClassificationJob").unwrap().1["jobId"].as_str().unwrap().to_owned();
    assert_eq!(text.matches(&id).count(), 2, "the id to import: {text}");
}

#[test]
fn jobs_that_exist_are_named_when_something_else_fails() {
    let denied = error("ListFindings", "AccessDeniedException", 403, None);
    let Some(server) = StandIn::start(&json!({"errors": [denied]})) else { return };
    let (_, _, text) = refusal(run(&server, &tx(), &[], |_| {}));
    let described = server.requests().into_iter().find(|(operation, _)| operation == "DescribeClassificationJob").unwrap().1;
    assert!(text.contains(described["jobId"].as_str().unwrap()), "{text}");
}

#[test]
fn nothing_on_s3_is_a_mistake_and_a_local_file_is_not_clean() {
    let Some(server) = StandIn::start(&json!({"results": [about(KEY, json!({}))], "export": export()})) else { return };
    let mut local = tx();
    local.uri = Uri("/data/*.csv".into());
    assert_eq!(refusal(run(&server, &local, &[], |_| {})).0, "macie-nothing-on-s3");
    let mut on_disk = file("raw", KEY, ETAG);
    on_disk.uri = "/data/a.csv".into();
    let (source, files, disk) = (tx(), [file("raw", KEY, ETAG)], [on_disk]);
    let macie = run_many(&server, &[SourceFiles { source: &source, files: &files }, SourceFiles { source: &local, files: &disk }], |_| {}).unwrap();
    assert_eq!(
        macie.not_clean.iter().map(|r| (r.why, r.object, r.detail.as_deref())).collect::<Vec<_>>(),
        [(Why::NotScanned, Some((1, 0)), Some("not on S3"))]
    );
}

#[test]
fn a_service_that_is_not_there() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let source = tx();
    let result = runtime.block_on(async {
        let client = MacieClient::new(&stand_in::config(&format!("http://127.0.0.1:{port}")).await);
        let stores = Stores::new(runtime.handle().clone());
        classify(&client, &stores, &[SourceFiles { source: &source, files: &[] }], &Options::new("j", "r"), &TestClock::new(), &|_| {}).await
    });
    let (code, exit, _) = refusal(result);
    assert_eq!((code, exit), ("macie-unavailable", 3));
}

#[test]
fn damaged_results_are_refused_without_quoting_them() {
    let script = json!({"jobs": {"0123abcd": {}}, "results": [about(KEY, json!({}))], "export": export()});
    let Some(server) = StandIn::start(&script) else { return };
    let folder = server.results.path().join("perimeter/AWSLogs/111122223333/Macie/us-east-1/0123abcd/111122223333");
    let object = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read(&object).unwrap();
    let gzip = |text: &str| {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let valid = run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |_| {}).unwrap();
    assert_eq!(valid.objects[0].status, ObjectStatus::Complete);
    let valid_end = json!({"classificationDetails": {"result": {"status": {}}}, "resourcesAffected": {"s3Object": {"key": KEY}}});
    let endless = gzip(&format!("{}{valid_end}", " ".repeat(1 << 20)));
    for bytes in [
        endless,
        good[..good.len() / 2].to_vec(),
        b"no gzip".to_vec(),
        gzip("{\"cpf\": \"39053344705\"}\n"),
        gzip("39053344705"),
        gzip("{\"classificationDetails\": {\"result\": {}}}"),
    ] {
        std::fs::write(&object, bytes).unwrap();
        let (code, exit, text) = refusal(run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |_| {}));
        assert_eq!((code, exit), ("macie-results-damaged", 3));
        assert!(!text.contains("39053344705"));
    }
    // Blank lines and several gzip members are fine.
    let mut both = gzip("\n \n");
    both.extend(good);
    std::fs::write(&object, both).unwrap();
    assert_eq!(run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |_| {}).unwrap().objects[0].status, ObjectStatus::Complete);
    // A line of another job says nothing about this one.
    let other = json!({"classificationDetails": {"jobId": "another", "result": {"status": {"code": "COMPLETE"}}}, "resourcesAffected": {"s3Bucket": {"name": "raw"}, "s3Object": {"key": KEY, "eTag": ETAG}}});
    std::fs::write(&object, gzip(&other.to_string())).unwrap();
    assert_eq!(run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |_| {}).unwrap().objects[0].status, ObjectStatus::NotScanned);
}
