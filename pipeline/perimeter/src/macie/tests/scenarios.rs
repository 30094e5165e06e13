//! What comes back, and what it becomes.
use super::*;

#[test]
fn cells_of_a_finding_become_columns() {
    let finding = about(KEY, json!({"data": [cpf(9, cells(2, Some("cpf"), 9)), {"type": "NAME", "count": 2, "occurrences": cells(3, Some("memo"), 2)}]}));
    let Some(server) = StandIn::start(&json!({"findings": [finding]})) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 9), (Some(2), "NAME", 2)]);
    assert_eq!(macie.findings.iter().map(|f| f.semantic_type.as_deref().unwrap()).collect::<Vec<_>>(), ["BR_CPF", "PERSON_NAME"]);
    assert!(macie.findings.iter().all(|f| !f.occurrences_are_partial && !f.custom && !f.header));
    assert_eq!((macie.not_clean.as_slice(), macie.objects[0].status), (&[][..], ObjectStatus::Complete));
}

#[test]
fn without_results_a_clean_object_is_not_known_to_be_clean() {
    let Some(server) = StandIn::start(&json!({"findings": [about(KEY, json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}))]})) else { return };
    let files = [file("raw", KEY, ETAG), file("raw", "in/tx-2.csv", ETAG)];
    let macie = run(&server, &tx(), &files, |_| {}).unwrap();
    assert_eq!((whys(&macie), macie.not_clean[0].object, macie.objects[1].status), (vec![Why::NotScanned], Some((0, 1)), ObjectStatus::NotScanned));
    assert_eq!(macie.needs_local_scan().into_iter().collect::<Vec<_>>(), [(0, 1)]);
}

#[test]
fn results_cover_clean_objects_and_locate_more_than_findings() {
    let fifteen = about(KEY, json!({"additional": true, "data": [cpf(700, cells(2, Some("cpf"), 15))]}));
    let all = about(KEY, json!({"data": [cpf(700, json!({"cells": {"repeat": 700, "column": 2, "columnName": "cpf"}}))]}));
    let clean = about("in/tx-2.csv", json!({}));
    let elsewhere = about("in/other.csv", json!({"data": [cpf(1, cells(1, Some("x"), 1))]}));
    let script = json!({"findings": [fifteen], "results": [all, clean, elsewhere], "export": export(), "batches": 2});
    let Some(server) = StandIn::start(&script) else { return };
    let files = [file("raw", KEY, ETAG), file("raw", "in/tx-2.csv", ETAG)];
    let macie = run(&server, &tx(), &files, |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 700)], "one view of 700 occurrences, not 1,400");
    assert!(!macie.findings[0].occurrences_are_partial);
    assert_eq!((macie.not_clean.as_slice(), macie.reports_outside_of_the_plan), (&[][..], 1));
    assert!(macie.objects.iter().all(|object| object.status == ObjectStatus::Complete));
}

#[test]
fn what_is_counted_and_not_located_is_a_finding_without_a_column() {
    let fifteen = about(KEY, json!({"additional": true, "data": [cpf(700, cells(2, Some("cpf"), 15))]}));
    let Some(server) = StandIn::start(&json!({"findings": [fifteen]})) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 15), (None, "BRAZIL_CPF_NUMBER", 685)]);
    assert!(macie.findings[0].occurrences_are_partial);
    assert_eq!((whys(&macie), macie.not_clean[0].detail.as_deref()), (vec![Why::Unlocated], Some("BRAZIL_CPF_NUMBER")));
    assert_eq!(macie.needs_local_scan().len(), 1);

    let thousand = about(KEY, json!({"data": [cpf(1_000_000, cells(2, Some("cpf"), 1000))]}));
    let Some(server) = StandIn::start(&json!({"results": [thousand], "export": export()})) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 1000), (None, "BRAZIL_CPF_NUMBER", 999_000)]);
    assert_eq!(whys(&macie), [Why::Unlocated]);
}

#[test]
fn partial_and_skipped_objects_are_not_clean_with_macie_s_reason() {
    let partial = about(KEY, json!({"status": "PARTIAL", "reason": "ARCHIVE_CONTAINS_UNPROCESSED_FILES", "data": [cpf(1, cells(2, Some("cpf"), 1))]}));
    let skipped = about("in/tx-2.csv", json!({"status": "SKIPPED", "reason": "INVALID_ENCRYPTION"}));
    let Some(server) = StandIn::start(&json!({"findings": [partial], "results": [partial, skipped], "export": export()})) else { return };
    let files = [file("raw", KEY, ETAG), file("raw", "in/tx-2.csv", ETAG)];
    let macie = run(&server, &tx(), &files, |_| {}).unwrap();
    let reasons: Vec<_> = macie.not_clean.iter().map(|r| (r.why, r.object, r.detail.as_deref())).collect();
    assert_eq!(reasons, [(Why::Partial, Some((0, 0)), Some("ARCHIVE_CONTAINS_UNPROCESSED_FILES")), (Why::Skipped, Some((0, 1)), Some("INVALID_ENCRYPTION"))]);
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 1)], "what a partial scan did find is a finding");
    assert_eq!(macie.needs_local_scan().len(), 2);
}

#[test]
fn the_worst_report_of_an_object_counts() {
    let complete = about(KEY, json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}));
    let partial = about(KEY, json!({"status": "PARTIAL", "reason": "TIME_CUT_OFF_REACHED"}));
    let Some(server) = StandIn::start(&json!({"findings": [complete], "results": [partial], "export": export()})) else { return };
    assert_eq!(whys(&run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap()), [Why::Partial]);
}

#[test]
fn jobs_that_stop_are_not_clean_and_neither_are_their_objects() {
    for (status, why) in [("PAUSED", Why::Paused), ("USER_PAUSED", Why::Paused), ("CANCELLED", Why::Cancelled)] {
        let Some(server) =
            StandIn::start(&json!({"statuses": ["RUNNING", status], "findings": [about(KEY, json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}))]}))
        else {
            return;
        };
        let macie = run(&server, &tx(), &[file("raw", KEY, ETAG), file("raw", "in/tx-2.csv", ETAG)], |_| {}).unwrap();
        assert_eq!(whys(&macie), [why, Why::NotScanned], "{status}");
        assert_eq!(macie.needs_local_scan().len(), 2, "the whole input");
        assert_eq!(found(&macie).len(), 1, "what it found until then counts");
    }
}

#[test]
fn objects_that_changed_since_are_not_clean() {
    let cases = [
        (json!({"etag": "another"}), vec![Why::ObjectChanged]),
        // The same bytes written again are the same bytes.
        (json!({"modified": "2026-11-01T00:00:00Z"}), vec![]),
        (json!({"etag": null}), vec![]),
        (json!({"etag": null, "modified": "2026-11-01T00:00:00Z"}), vec![Why::ObjectChanged]),
        (json!({"etag": null, "modified": null}), vec![]),
    ];
    for (change, expected) in cases {
        let Some(server) = StandIn::start(&json!({"results": [about(KEY, change.clone())], "export": export()})) else { return };
        let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
        assert_eq!(whys(&macie), expected, "{change}");
    }
    let mut rewritten = file("raw", KEY, ETAG);
    rewritten.modified_us = Some(NOW_S * 1_000_000);
    let Some(server) = StandIn::start(&json!({"results": [about(KEY, json!({"etag": null, "modified": null}))], "export": export()})) else { return };
    assert_eq!(whys(&run(&server, &tx(), &[rewritten], |_| {}).unwrap()), [Why::ObjectChanged], "written after the job started");
}

#[test]
fn earlier_jobs_are_imported_and_age() {
    let finding = about(KEY, json!({"data": [cpf(1, cells(2, Some("cpf"), 1))]}));
    let job = |more: Value| {
        let mut job = json!({"managedDataIdentifierSelector": "INCLUDE", "managedDataIdentifierIds": default_identifiers()});
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        job
    };
    let cases = [
        (json!({}), 30, vec![]),
        (json!({}), 1, vec![Why::TooOld]),
        (json!({"lastRunTime": "2026-11-30T11:00:00Z"}), 1, vec![]),
        (json!({"jobType": "SCHEDULED", "jobStatus": "IDLE"}), 30, vec![]),
        (json!({"managedDataIdentifierSelector": "ALL", "managedDataIdentifierIds": null}), 30, vec![]),
        (json!({"managedDataIdentifierSelector": "RECOMMENDED", "managedDataIdentifierIds": null}), 30, vec![Why::NotLookedFor]),
        (json!({"managedDataIdentifierSelector": null, "managedDataIdentifierIds": null}), 30, vec![Why::NotLookedFor]),
        (json!({"managedDataIdentifierSelector": "NONE", "managedDataIdentifierIds": null}), 30, vec![Why::NotLookedFor]),
        (json!({"managedDataIdentifierSelector": "EXCLUDE", "managedDataIdentifierIds": ["BRAZIL_CNPJ_NUMBER"]}), 30, vec![Why::NotLookedFor]),
        (json!({"managedDataIdentifierSelector": "EXCLUDE", "managedDataIdentifierIds": ["AWS_CREDENTIALS"]}), 30, vec![]),
        (json!({"allowListIds": ["s3-list"]}), 30, vec![Why::AllowLists]),
        (json!({"lastRunErrorStatus": {"code": "ERROR"}}), 30, vec![Why::RunErrors]),
    ];
    for (more, days, expected) in cases {
        let Some(server) = StandIn::start(&json!({"jobs": {"0123abcd": job(more.clone())}, "findings": [finding]})) else { return };
        let max_age = Duration::from_secs(days * 86_400);
        let macie = run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |options| options.max_age = Some(max_age)).unwrap();
        assert_eq!(whys(&macie), expected, "{more}");
        assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 1)]);
        assert!(!server.operations().contains(&"CreateClassificationJob".to_owned()));
        if expected == [Why::NotLookedFor] && more["managedDataIdentifierSelector"] == "EXCLUDE" {
            assert_eq!(macie.not_clean[0].detail.as_deref(), Some("BRAZIL_CNPJ_NUMBER"));
        }
    }
}

#[test]
fn suppressed_findings_count() {
    let Some(server) = StandIn::start(&json!({"findings": [about(KEY, json!({"archived": true, "data": [cpf(1, cells(2, Some("cpf"), 1))]}))]})) else {
        return;
    };
    assert_eq!(found(&run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap()).len(), 1);
}

#[test]
fn a_sensitive_header_is_told_from_lines() {
    let occurrences =
        json!({"lineRanges": [{"start": 1, "end": 1, "startColumn": 5}, {"start": 2, "end": 2, "startColumn": 1}, {"start": 3, "end": 4, "startColumn": 1}]});
    let script = json!({"findings": [about(KEY, json!({"data": [cpf(3, occurrences)]}))]});
    let Some(server) = StandIn::start(&script) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
    assert_eq!(macie.findings.iter().map(|f| (f.column, f.header, f.count)).collect::<Vec<_>>(), [(None, true, 1), (None, false, 2)]);
    assert_eq!(whys(&macie), [Why::Unmatched, Why::SensitiveHeader]);
    assert!(macie.needs_local_scan().is_empty(), "a person looks");
}

#[test]
fn custom_identifiers_keep_their_name() {
    let custom = json!({"custom": [{"name": "cnpj alfanumérico", "count": 4, "occurrences": cells(3, Some("memo"), 4)}, {"name": "matrícula", "count": 1, "occurrences": cells(1, Some("tx_id"), 1)}]});
    let script = json!({"findings": [about(KEY, custom.clone())], "results": [about(KEY, custom)], "export": export()});
    let Some(server) = StandIn::start(&script) else { return };
    let macie =
        run(&server, &tx(), &[file("raw", KEY, ETAG)], |options| drop(options.custom_types.insert("cnpj alfanumérico".into(), "BR_CNPJ".into()))).unwrap();
    let found: Vec<_> = macie.findings.iter().map(|f| (f.column, f.custom, f.info_type.as_str(), f.semantic_type.as_deref(), f.count)).collect();
    assert_eq!(found, [(Some(0), true, "matrícula", None, 1), (Some(2), true, "cnpj alfanumérico", Some("BR_CNPJ"), 4)]);
    assert_eq!(whys(&macie), []);
}

#[test]
fn records_become_columns_by_path() {
    let long: String = "l".repeat(230);
    let columns: &[&[&str]] = &[&["cpf"], &["parties", "cpf"], &["customer", &long, "zip"], &["tags"]];
    let source = source("tx", "s3://raw/in/*.jsonl", json_lines(), columns);
    let cut = format!("{}'].zip", &long[..200]);
    let records = json!([
        {"recordIndex": 0, "jsonPath": "$.cpf"}, {"recordIndex": 0, "jsonPath": "$.parties[1].cpf"}, {"recordIndex": 1, "jsonPath": "$['parties'][0]['cpf']"},
        {"recordIndex": 1, "jsonPath": "$.tags[3]"}, {"recordIndex": 2, "jsonPath": cut}, {"recordIndex": 3}, {"recordIndex": 3, "jsonPath": "$.unknown.cpf"}
    ]);
    let data = json!({"mime": "application/jsonl", "data": [cpf(7, json!({"records": records}))]});
    let Some(server) = StandIn::start(&json!({"findings": [about("in/a.jsonl", data)]})) else { return };
    let macie = run(&server, &source, &[file("raw", "in/a.jsonl", ETAG)], |_| {}).unwrap();
    let counts: Vec<_> = macie.findings.iter().map(|f| (f.column, f.count)).collect();
    assert_eq!(counts, [(Some(0), 1), (Some(1), 2), (Some(2), 1), (Some(3), 1), (None, 2)]);
    assert_eq!(whys(&macie), [Why::Unmatched]);
}

#[test]
fn files_inside_of_a_compressed_object_give_the_locations() {
    let key = "in/tx-1.csv.gz";
    let whole = about(key, json!({"mime": "application/gzip", "data": [{"type": "BRAZIL_CPF_NUMBER", "count": 40}]}));
    let inside = about(key, json!({"embedded": "tx-1.csv", "data": [cpf(40, cells(2, Some("cpf"), 40))]}));
    let mut source = tx();
    source.uri = Uri("s3://raw/in/*.csv.gz".into());
    let Some(server) = StandIn::start(&json!({"findings": [whole], "results": [whole, inside], "export": export()})) else { return };
    let macie = run(&server, &source, &[file("raw", key, ETAG)], |_| {}).unwrap();
    assert_eq!((found(&macie), whys(&macie)), (vec![(Some(1), "BRAZIL_CPF_NUMBER", 40)], vec![]));

    let Some(server) = StandIn::start(&json!({"findings": [whole]})) else { return };
    let macie = run(&server, &source, &[file("raw", key, ETAG)], |_| {}).unwrap();
    assert_eq!((found(&macie), whys(&macie)), (vec![(None, "BRAZIL_CPF_NUMBER", 40)], vec![Why::Unlocated]), "findings alone locate nothing in it");
}

#[test]
fn pages_and_offsets_and_counts_without_a_type_are_not_lost() {
    let raw = about(KEY, json!({"data": [{"type": "NAME", "count": 3, "occurrences": {"pages": {"repeat": 2}, "offsetRanges": [{"start": 1, "end": 2}]}}]}));
    let Some(server) = StandIn::start(&json!({"results": [raw], "export": export()})) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG)], |_| {}).unwrap();
    assert_eq!((found(&macie), whys(&macie)), (vec![(None, "NAME", 3)], vec![Why::Unmatched]));
}

#[test]
fn what_a_category_counts_and_no_type_names_is_a_finding() {
    let details = |result: Value| json!({"classificationDetails": {"jobId": "0123abcd", "result": result}});
    let result = json!({
        "status": {"code": "COMPLETE"},
        "sensitiveData": [{"category": "CREDENTIALS", "totalCount": 5, "detections": []}, {"category": "PERSONAL_INFORMATION", "totalCount": 3, "detections": [{"type": "NAME", "count": 2}]}],
        "customDataIdentifiers": {"totalCount": 1, "detections": []}
    });
    let whole = about(KEY, json!({"raw": details(result)}));
    let expected = [(None, "CREDENTIALS", 5), (None, "CUSTOM_IDENTIFIER", 1), (None, "NAME", 2), (None, "PERSONAL_INFORMATION", 1)];
    for script in [json!({"jobs": {"0123abcd": {}}, "findings": [whole]}), json!({"jobs": {"0123abcd": {}}, "results": [whole], "export": export()})] {
        let Some(server) = StandIn::start(&script) else { return };
        let macie = run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["0123abcd"], |_| {}).unwrap();
        let mut all = found(&macie);
        all.sort_by_key(|(_, info_type, _)| *info_type);
        assert_eq!(all, expected);
    }
}

#[test]
fn jobs_over_the_same_object_are_views_of_it() {
    let older = about(KEY, json!({"job": "01", "data": [cpf(5, cells(2, Some("cpf"), 5))]}));
    let newer =
        about(KEY, json!({"job": "02", "data": [cpf(4, cells(2, Some("cpf"), 4)), {"type": "NAME", "count": 1, "occurrences": cells(3, Some("memo"), 1)}]}));
    let Some(server) = StandIn::start(&json!({"jobs": {"01": {}, "02": {}}, "findings": [older, newer]})) else { return };
    let macie = run_import(&server, &tx(), &[file("raw", KEY, ETAG)], &["01", "02"], |_| {}).unwrap();
    assert_eq!(found(&macie), [(Some(1), "BRAZIL_CPF_NUMBER", 5), (Some(2), "NAME", 1)]);
    assert_eq!(macie.jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["01", "02"]);
}

#[test]
fn a_local_scan_mends_what_macie_did_not_see_and_nothing_that_it_saw() {
    let skipped = about(KEY, json!({"status": "SKIPPED"}));
    let odd = about("in/tx-2.csv", json!({"data": [cpf(1, cells(9, Some("nobody knows"), 1))]}));
    let Some(server) = StandIn::start(&json!({"statuses": ["PAUSED"], "results": [skipped, odd], "export": export()})) else { return };
    let macie = run(&server, &tx(), &[file("raw", KEY, ETAG), file("raw", "in/tx-2.csv", ETAG)], |_| {}).unwrap();
    let remaining = |scanned: &[(usize, usize)]| macie.remaining(&scanned.iter().copied().collect()).iter().map(|reason| reason.why).collect::<Vec<_>>();
    assert_eq!(remaining(&[]), [Why::Paused, Why::Skipped, Why::Unmatched]);
    assert_eq!(remaining(&[(0, 0)]), [Why::Paused, Why::Unmatched], "the job was to see both files");
    assert_eq!(remaining(&[(0, 0), (0, 1)]), [Why::Unmatched]);
    assert_eq!(macie.needs_local_scan().into_iter().collect::<Vec<_>>(), [(0, 0), (0, 1)]);
}

#[test]
fn an_object_that_two_sources_read_is_judged_for_both() {
    let mut second = tx();
    second.schema = Schema::new("memos", vec![nested(&["memo"])]);
    let finding = about(KEY, json!({"data": [{"type": "NAME", "count": 1, "occurrences": cells(3, Some("memo"), 1)}, cpf(1, cells(2, Some("cpf"), 1))]}));
    let Some(server) = StandIn::start(&json!({"findings": [finding]})) else { return };
    let files = [file("raw", KEY, ETAG)];
    let macie = run_many(&server, &[SourceFiles { source: &tx(), files: &files }, SourceFiles { source: &second, files: &files }], |_| {}).unwrap();
    let found: Vec<_> = macie.findings.iter().map(|f| (f.source, f.column, f.info_type.as_str())).collect();
    assert_eq!(found, [(0, Some(1), "BRAZIL_CPF_NUMBER"), (0, Some(2), "NAME"), (1, Some(0), "NAME"), (1, None, "BRAZIL_CPF_NUMBER")]);
    assert_eq!(server.operations().iter().filter(|name| *name == "CreateClassificationJob").count(), 1);
}

#[test]
fn nothing_of_keys_names_or_paths_is_shown() {
    let key = "in/cpf=39053344705/dt=2026-11-30/tx-1.csv";
    let mut listed = file("raw", key, ETAG);
    listed.label = "s3://raw/in/cpf=*/dt=*/tx-1.csv".into();
    let occurrences = json!({"cells": [{"row": 2, "column": 2, "columnName": "39053344705"}], "records": [{"recordIndex": 0, "jsonPath": "$.39053344705"}]});
    let skipped = about(key, json!({"status": "SKIPPED", "reason": "39053344705 is odd", "data": [cpf(2, occurrences), {"type": "39053344705", "count": 1}]}));
    let Some(server) = StandIn::start(&json!({"findings": [skipped], "results": [skipped], "export": export()})) else { return };
    let macie = run(&server, &tx(), &[listed], |_| {}).unwrap();
    let shown = format!("{macie:?}");
    assert!(!shown.contains("39053344705"), "{shown}");
    assert_eq!(whys(&macie), [Why::Skipped, Why::Unmatched, Why::Unlocated]);
}
