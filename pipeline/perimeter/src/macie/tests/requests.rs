//! What is asked, member by member. (The stand-in refuses unknown members, wrong types and what the documentation forbids by itself.)
use super::*;

#[test]
fn a_job_is_asked_for_in_full() {
    let Some(server) = StandIn::start(&json!({"statuses": ["RUNNING", "COMPLETE"]})) else { return };
    let mut more = tx();
    more.uri = Uri("s3://raw/in/accounts/dt=2026-11-30/*.csv".into());
    let mut other = tx();
    other.uri = Uri("s3://other/one.csv".into());
    let mut local = tx();
    local.uri = Uri("/data/*.csv".into());
    let none: &[InputFile] = &[];
    let first = tx();
    let all = [&first, &more, &other, &local].map(|source| SourceFiles { source, files: none });
    run_many(&server, &all, |options| options.custom_identifiers = vec!["0e8eb8a1".into()]).unwrap();
    let requests = server.requests();
    let operations: Vec<&str> = requests.iter().map(|(operation, _)| operation.as_str()).collect();
    assert_eq!(
        operations,
        [
            "GetMacieSession",
            "ListManagedDataIdentifiers",
            "ListManagedDataIdentifiers",
            "CreateClassificationJob",
            "CreateClassificationJob",
            "DescribeClassificationJob",
            "DescribeClassificationJob",
            "DescribeClassificationJob",
            "DescribeClassificationJob",
            "ListFindings",
            "ListFindings",
            "GetClassificationExportConfiguration"
        ]
    );
    let jobs: Vec<&Value> = requests.iter().filter(|(operation, _)| operation == "CreateClassificationJob").map(|(_, body)| body).collect();
    let definition = |bucket: &str, prefixes: &[&str]| {
        json!({"bucketDefinitions": [{"accountId": "111122223333", "buckets": [bucket]}],
               "scoping": {"includes": {"and": [{"simpleScopeTerm": {"comparator": "STARTS_WITH", "key": "OBJECT_KEY", "values": prefixes}}]}}})
    };
    assert_eq!(jobs[0]["s3JobDefinition"], definition("other", &["one.csv"]));
    assert_eq!(jobs[1]["s3JobDefinition"], definition("raw", &["in/accounts/dt=2026-11-30/", "in/tx-"]));
    for job in &jobs {
        assert_eq!((&job["jobType"], &job["managedDataIdentifierSelector"], &job["samplingPercentage"]), (&json!("ONE_TIME"), &json!("INCLUDE"), &json!(100)));
        assert_eq!(job["managedDataIdentifierIds"], json!(default_identifiers()));
        assert_eq!(job["customDataIdentifierIds"], json!(["0e8eb8a1"]));
        assert_eq!(job["tags"], json!({"perimeter-job": "card-sequences", "perimeter-run": "20261130T100000Z-1a2b"}));
        assert_eq!(job["clientToken"].as_str().unwrap().len(), 64);
    }
    assert_ne!(jobs[0]["clientToken"], jobs[1]["clientToken"]);
    assert_eq!(jobs[1]["name"], "perimeter card-sequences raw 20261130T100000Z-1a2b");
    let listing = requests.iter().find(|(operation, _)| operation == "ListFindings").unwrap();
    let id = requests.iter().find(|(operation, _)| operation == "DescribeClassificationJob").unwrap().1["jobId"].clone();
    assert_eq!(
        listing.1,
        json!({"findingCriteria": {"criterion": {"classificationDetails.jobId": {"eq": [id]}}}, "maxResults": 50}),
        "archived findings are not left out"
    );
}

#[test]
fn the_same_run_makes_no_second_job() {
    let Some(server) = StandIn::start(&json!({})) else { return };
    let ids = |change: fn(&mut Options)| run(&server, &tx(), &[], change).unwrap().jobs.into_iter().map(|job| job.id).collect::<Vec<_>>();
    let first = ids(|_| {});
    assert_eq!(ids(|_| {}), first);
    assert_ne!(ids(|options| options.run_id = "another".into()), first);
    assert_ne!(ids(|options| drop(options.identifiers.pop())), first, "another question is another job");
}

#[test]
fn a_whole_bucket_has_no_scoping_and_another_account_is_named() {
    let Some(server) = StandIn::start(&json!({})) else { return };
    let mut source = tx();
    source.uri = Uri("s3://raw/*.csv".into());
    run(&server, &source, &[], |options| options.account = Some("444455556666".into())).unwrap();
    let (_, body) = server.requests().into_iter().find(|(operation, _)| operation == "CreateClassificationJob").unwrap();
    assert_eq!(body["s3JobDefinition"], json!({"bucketDefinitions": [{"accountId": "444455556666", "buckets": ["raw"]}]}));
}

#[test]
fn waiting_backs_off_and_tells() {
    let Some(server) =
        StandIn::start(&json!({"statuses": ["RUNNING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "COMPLETE"]}))
    else {
        return;
    };
    let (clock, told) = (TestClock::new(), Mutex::new(Vec::new()));
    let options = options(&server, |_| {});
    let source = tx();
    let (clock, told) = (&clock, &told);
    server
        .block_on(|client, stores| async move {
            let tell = |waiting: &Waiting<'_>| told.lock().unwrap().push((waiting.status, waiting.waited.as_secs()));
            classify(&client, &stores, &[SourceFiles { source: &source, files: &[] }], &options, clock, &tell).await
        })
        .unwrap();
    assert_eq!(*clock.naps.lock().unwrap(), [5, 7, 11, 16, 25, 37, 56, 60]);
    let told = told.lock().unwrap();
    assert_eq!((told.len(), told[0], told[2].1), (9, (JobStatus::Running, 0), 12));
    assert_eq!(told[8].0, JobStatus::Complete);
}

#[test]
fn findings_are_paged_and_read_by_fifty() {
    let findings: Vec<Value> = (0..123).map(|i| about(&format!("in/tx-{i}.csv"), json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}))).collect();
    let Some(server) = StandIn::start(&json!({"findings": findings})) else { return };
    let files: Vec<InputFile> = (0..123).map(|i| file("raw", &format!("in/tx-{i}.csv"), ETAG)).collect();
    let macie = run(&server, &tx(), &files, |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 123)]);
    assert_eq!(macie.findings[0].objects.len(), 123);
    assert_eq!(whys(&macie), []);
    let sizes: Vec<usize> =
        server.requests().iter().filter(|(operation, _)| operation == "GetFindings").map(|(_, body)| body["findingIds"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [50, 50, 23]);
}

#[test]
fn the_stand_in_refuses_what_the_model_does_not_have() {
    let Some(server) = StandIn::start(&json!({})) else { return };
    let signed = "AWS4-HMAC-SHA256 Credential=id/20261130/us-east-1/macie2/aws4_request, SignedHeaders=host, Signature=00";
    let by_hand = |method: &str, path: &str, signed: &str, body: &str| {
        let (status, code, _) = stand_in::call(&server.endpoint, method, path, signed, body);
        (status, code)
    };
    let job = |change: fn(&mut serde_json::Map<String, Value>)| {
        let mut body = json!({"name": "n", "clientToken": "t", "jobType": "ONE_TIME", "s3JobDefinition": {"bucketDefinitions": [{"accountId": "111122223333", "buckets": ["b"]}]}});
        change(body.as_object_mut().unwrap());
        body.to_string()
    };
    let set = |body: &mut serde_json::Map<String, Value>, name: &str, value: Value| drop(body.insert(name.into(), value));
    assert_eq!(by_hand("POST", "/jobs", signed, &job(|_| {})), (200, String::new()));
    let scope = json!({"bucketDefinitions": [{"accountId": "1", "buckets": ["b"]}], "scoping": {"includes": {"and": [{"simpleScopeTerm": {"comparator": "EQ", "key": "OBJECT_KEY", "values": ["p"]}}]}}});
    let mut scoped: Value = serde_json::from_str(&job(|_| {})).unwrap();
    set(scoped.as_object_mut().unwrap(), "s3JobDefinition", scope);
    let invalid = [
        ("POST", "/jobs", job(|body| drop(body.insert("jobtype".into(), json!("ONE_TIME"))))),
        ("POST", "/jobs", job(|body| drop(body.remove("clientToken")))),
        ("POST", "/jobs", job(|body| drop(body.insert("jobType".into(), json!("ONCE"))))),
        ("POST", "/jobs", job(|body| drop(body.insert("samplingPercentage".into(), json!("100"))))),
        ("POST", "/jobs", job(|body| drop(body.insert("samplingPercentage".into(), json!(101))))),
        ("POST", "/jobs", job(|body| drop(body.insert("initialRun".into(), json!(true))))),
        ("POST", "/jobs", job(|body| drop(body.insert("managedDataIdentifierSelector".into(), json!("INCLUDE"))))),
        ("POST", "/jobs", job(|body| drop(body.insert("managedDataIdentifierIds".into(), json!(["NAME"]))))),
        ("POST", "/jobs", scoped.to_string()),
        ("POST", "/findings", json!({"maxResults": 51}).to_string()),
        ("POST", "/findings", json!({"nextToken": "nonsense"}).to_string()),
        ("POST", "/findings", json!({"findingCriteria": {"criterion": {"classificationDetails.jobId": {"equals": ["x"]}}}}).to_string()),
        ("POST", "/findings/describe", json!({}).to_string()),
        ("POST", "/findings/describe", json!({"findingIds": vec!["x"; 51]}).to_string()),
    ];
    for (method, path, body) in invalid {
        assert_eq!(by_hand(method, path, signed, &body), (400, "ValidationException".into()), "{body}");
    }
    assert_eq!(by_hand("POST", "/jobs", signed, &job(|body| drop(body.insert("name".into(), json!("other"))))), (409, "ConflictException".into()));
    assert_eq!(by_hand("GET", "/jobs/nobody", signed, "").0, 404);
    assert_eq!(by_hand("GET", "/macie", "AWS4-HMAC-SHA256 Credential=id/20261130/us-east-1/kms/aws4_request", "").0, 403);
    assert_eq!(by_hand("PATCH", "/macie", signed, "").0, 404);
}

#[test]
fn the_stand_in_s_shapes_are_those_of_the_published_model() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/macie.py");
    let Ok(done) = std::process::Command::new("python3").args([program, "--check"]).output() else { return };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn the_calls_can_move_between_threads() {
    fn sendable<T: Send>(_: impl FnOnce(&'static MacieClient, &'static Stores, &'static Options) -> T) {}
    sendable(|client, stores, options| classify(client, stores, &[], options, &SystemClock, &|_| {}));
    sendable(|client, stores, options| import(client, stores, &[], &[], options, &SystemClock, &|_| {}));
}
