//! No finding is ever dropped: what comes in comes out, in a column or in none, whatever its shape.
use super::super::judge::Judge;
use super::super::report::{Code, Detection, Kind, Location, Report};
use super::*;
use proptest::prelude::*;

fn location() -> impl Strategy<Value = Location> {
    let name = prop_oneof![Just(None), Just(Some("cpf")), Just(Some("memo")), Just(Some("nobody knows")), Just(Some(""))];
    let path = prop_oneof![Just(None), Just(Some("$.cpf")), Just(Some("$.x.y")), Just(Some("pf")), Just(Some("$["))];
    prop_oneof![
        (proptest::option::of(-1i64..6), name).prop_map(|(column, name)| Location::Cell { column, name: name.map(str::to_owned), reference: None }),
        path.prop_map(|path| Location::Record { path: path.map(str::to_owned) }),
        (0i64..4, 0i64..4).prop_map(|(start, end)| Location::Lines { start, end }),
        Just(Location::Page),
        Just(Location::Offset),
    ]
}

fn detection() -> impl Strategy<Value = Detection> {
    let info_type = prop_oneof![Just("BRAZIL_CPF_NUMBER"), Just("NAME"), Just("UNNAMED")];
    (info_type, any::<bool>(), 0u64..40, proptest::collection::vec(location(), 0..20)).prop_map(|(info_type, custom, more, locations)| Detection {
        info_type: info_type.to_owned(),
        custom,
        count: (locations.len() as u64 + more).max(1),
        locations,
    })
}

fn report(kind: Kind) -> impl Strategy<Value = Report> {
    let code = prop_oneof![Just(Code::Complete), Just(Code::Partial), Just(Code::Skipped)];
    (code, 0usize..3, proptest::option::of(Just(ETAG.to_owned())), proptest::collection::vec(detection(), 0..4)).prop_map(
        move |(code, at, etag, detections)| Report {
            kind,
            bucket: "raw".into(),
            key: format!("in/tx-{at}.csv"),
            etag,
            modified_s: Some(WRITTEN_S),
            code,
            reason: None,
            detections,
        },
    )
}

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![Just(csv(true, b',')), Just(csv(false, b',')), Just(csv(true, b';')), Just(json_lines()), Just(Format::Parquet)]
}

fn judged(format: Format, files: usize, reports: &[Report]) -> Macie {
    let source = source("tx", "s3://raw/in/*", format, &[&["tx_id"], &["cpf"], &["memo"]]);
    let files: Vec<InputFile> = (0..files).map(|i| file("raw", &format!("in/tx-{i}.csv"), ETAG)).collect();
    let mut judge = Judge::new(&[SourceFiles { source: &source, files: &files }]);
    for report in reports {
        judge.take(report, Some(NOW_S));
    }
    judge.finish(Vec::new(), &Options::new("j", "r"), NOW_S)
}

fn total(detections: &[Detection]) -> u64 {
    detections.iter().map(|detection| detection.count).sum()
}

proptest! {
    /// Files inside of an object are added up, so what comes in is what comes out.
    #[test]
    fn counts_in_are_counts_out(format in formats(), reports in proptest::collection::vec(report(Kind::Embedded), 0..6)) {
        let macie = judged(format, 3, &reports);
        let going_in: u64 = reports.iter().map(|report| total(&report.detections)).sum();
        let matched: u64 = macie.findings.iter().filter(|finding| finding.column.is_some()).map(|finding| finding.count).sum();
        let unmatched: u64 = macie.findings.iter().filter(|finding| finding.column.is_none()).map(|finding| finding.count).sum();
        prop_assert_eq!(going_in, matched + unmatched);
    }

    /// One view of each object: the same.
    #[test]
    fn one_report_of_any_kind(format in formats(), one in prop_oneof![report(Kind::Finding), report(Kind::Result)]) {
        let macie = judged(format, 3, std::slice::from_ref(&one));
        prop_assert_eq!(macie.findings.iter().map(|finding| finding.count).sum::<u64>(), total(&one.detections));
    }

    /// Several views of an object never make less of it than the largest one, type by type, and never lose a type.
    #[test]
    fn views_never_make_less(format in formats(), finding in report(Kind::Finding), result in report(Kind::Result)) {
        let (mut finding, mut result) = (finding, result);
        (finding.key, result.key) = ("in/tx-0.csv".into(), "in/tx-0.csv".into());
        let macie = judged(format, 1, &[finding.clone(), result.clone()]);
        for view in [&finding, &result] {
            for detection in &view.detections {
                let same = |other: &&Detection| other.info_type == detection.info_type && other.custom == detection.custom;
                let seen: u64 = view.detections.iter().filter(same).map(|other| other.count).sum();
                let out: u64 = macie.findings.iter().filter(|f| f.info_type == detection.info_type && f.custom == detection.custom).map(|f| f.count).sum();
                prop_assert!(out >= seen);
            }
        }
    }

    /// Clean means: every object complete and unchanged, every occurrence in a column.
    #[test]
    fn clean_is_exactly_that(format in formats(), reports in proptest::collection::vec(report(Kind::Result), 0..6)) {
        let macie = judged(format, 3, &reports);
        let complete = macie.objects.iter().all(|object| object.status == ObjectStatus::Complete);
        let placed = macie.findings.iter().all(|finding| finding.column.is_some());
        prop_assert_eq!(macie.not_clean.is_empty(), complete && placed);
        prop_assert_eq!(macie.objects.len(), 3);
        for object in macie.objects.iter().filter(|object| object.status != ObjectStatus::Complete) {
            prop_assert!(macie.needs_local_scan().contains(&(object.source, object.file)));
        }
    }

    /// Reports about objects that the plan does not read are counted and no more.
    #[test]
    fn the_plan_is_the_scope(reports in proptest::collection::vec(report(Kind::Finding), 0..6)) {
        let macie = judged(json_lines(), 1, &reports);
        let inside: Vec<&Report> = reports.iter().filter(|report| report.key == "in/tx-0.csv").collect();
        prop_assert_eq!(macie.reports_outside_of_the_plan, (reports.len() - inside.len()) as u64);
        prop_assert!(macie.findings.iter().all(|finding| finding.objects.iter().eq([&0])));
    }
}
