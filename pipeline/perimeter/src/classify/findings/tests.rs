//! Verdicts over made-up columns, and what is left of them.
use super::*;
use crate::classify::answer::Claim;
use crate::classify::report::Agreement;
use crate::classify::scan::detector;
use perimeter_contract::Span;
use perimeter_contract::policy::{DetectorLikelihood, TextDetector, TextMatcher};
use perimeter_contract::schema::DateFormat;
use perimeter_detect::{ColumnProfile, CustomDetector, Findings, Matcher, ProfileOptions};
use std::collections::BTreeMap;

/// (type, place, agreement) of what is found in 400 values of a column.
fn found(name: &str, data_type: DataType, contract: Option<&str>, value: impl Fn(u64) -> String) -> Vec<(&'static str, Place, Agreement)> {
    let (detector, mut findings) = (detector(Vec::new()).unwrap(), Findings::new());
    let mut profile = ColumnProfile::new(name, ProfileOptions::default());
    (0..400).for_each(|n| profile.observe(&value(n), &detector, &mut findings));
    let column = Column { semantic_type: contract.map(str::to_owned), ..Column::new(name, data_type) };
    let seen = SeenColumn { verdict: profile.verdict(), inside: BTreeMap::new(), texts: 400 };
    of_column(&column, &seen).iter().map(|found| (found.info_type.semantic_type(), found.place, Claim::local(found, &[]).agreement(&column))).collect()
}

fn cpf(n: u64) -> String {
    let body = format!("{:09}", (n * 7_654_321 + 12_345_678) % 1_000_000_000);
    format!("{body}{}", String::from_utf8_lossy(&perimeter_detect::cpf::digits(body.as_bytes()).unwrap()))
}

fn pan(n: u64) -> String {
    let body = format!("4{:014}", n * 9_123_456_789);
    format!("{body}{}", char::from(perimeter_detect::luhn::digit(body.as_bytes()).unwrap()))
}

fn date() -> DataType {
    DataType::Date { format: DateFormat::iso_date() }
}

#[test]
fn the_contract_s_own_type_explains_what_the_same_values_look_like() {
    assert_eq!(found("pan", DataType::String, Some("PAN"), pan), [("PAN", Place::Values, Agreement::Agrees)]);
    assert_eq!(found("x", DataType::String, Some("BR_CPF"), cpf), [("BR_CPF", Place::Values, Agreement::Agrees)]);
}

#[test]
fn weak_evidence_explains_nothing_stronger() {
    // Any digits can be an identity card, and the name says that they are; the check digits say CPF.
    let found = found("rg", DataType::String, Some("BR_RG"), cpf);
    assert!(found.contains(&("BR_CPF", Place::Values, Agreement::Contradicts)), "{found:?}");
}

#[test]
fn integers_that_have_lost_their_zeros() {
    let found = found("doc", DataType::Int64, None, |n| cpf(n).trim_start_matches('0').to_owned());
    assert_eq!(found, [("BR_CPF", Place::Values, Agreement::Missing)]);
}

#[test]
fn a_type_of_the_policy_s_own_is_called_by_its_name() {
    let own = TextDetector {
        name: "EMPLOYEE_ID".to_owned(),
        matcher: TextMatcher::Regex("EMP-[0-9]{6}".to_owned()),
        check_digit: None,
        likelihood: DetectorLikelihood::VeryLikely,
        context: Vec::new(),
        span: Span::default(),
    };
    let custom = CustomDetector {
        name: own.name.clone(),
        matcher: Matcher::Regex("EMP-[0-9]{6}".to_owned()),
        check_digit: None,
        likelihood: Likelihood::VeryLikely,
        context: Vec::new(),
    };
    let (detector, mut findings) = (detector(vec![custom]).unwrap(), Findings::new());
    let mut profile = ColumnProfile::new("matricula", ProfileOptions::default());
    (0..400).for_each(|n| profile.observe(&format!("EMP-{:06}", n * 317), &detector, &mut findings));
    let seen = SeenColumn { verdict: profile.verdict(), inside: BTreeMap::new(), texts: 400 };
    let unknown = Column::new("matricula", DataType::String);
    let known = Column { semantic_type: Some("EMPLOYEE_ID".to_owned()), ..unknown.clone() };
    for (column, expected) in [(unknown, Agreement::Missing), (known, Agreement::Agrees)] {
        let found = of_column(&column, &seen);
        let claims: Vec<_> = found.iter().map(|found| Claim::local(found, std::slice::from_ref(&own))).collect();
        let claim = claims.iter().find(|claim| claim.semantic_type == "EMPLOYEE_ID").unwrap();
        assert_eq!((claim.name, claim.agreement(&column)), ("EMPLOYEE_ID", expected));
    }
}

#[test]
fn numbers_are_no_telephones_and_no_instants() {
    assert_eq!(found("amount", DataType::Int64, None, |n| (11_900_000_000 + n * 7).to_string()), []);
    assert_eq!(found("count", DataType::Int64, None, |n| (1_700_000_000 + n * 61).to_string()), []);
}

#[test]
fn dates_need_a_calendar_type_or_a_word() {
    let day = |n: u64| format!("{}-{:02}-{:02}", 1950 + n % 60, 1 + n % 12, 1 + n % 28);
    assert_eq!(found("created", DataType::String, None, day), [("EVENT_DATE", Place::Values, Agreement::Missing)]);
    assert_eq!(found("created", date(), None, day), [("EVENT_DATE", Place::Values, Agreement::Agrees)]);
    assert_eq!(found("created", DataType::String, Some("VALUE_DATE"), day), [("EVENT_DATE", Place::Values, Agreement::Agrees)]);
    assert_eq!(found("birth_date", date(), Some("EVENT_DATE"), day), [("DATE_OF_BIRTH", Place::Values, Agreement::Contradicts)]);
}
