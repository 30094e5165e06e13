use super::*;
use crate::column::verdict::wilson;
use crate::{DetectorOptions, InfoType, Likelihood, Shape, cpf, luhn};

fn detector() -> Detector {
    Detector::new(&DetectorOptions::default()).unwrap()
}

fn profile<S: AsRef<str>>(name: &str, values: impl IntoIterator<Item = S>) -> ColumnProfile {
    let (detector, mut findings) = (detector(), Findings::new());
    let mut profile = ColumnProfile::new(name, ProfileOptions::default());
    for value in values {
        profile.observe(value.as_ref(), &detector, &mut findings);
    }
    profile
}

/// A sequence that looks random and is the same every time.
fn random(count: usize, below: u64) -> impl Iterator<Item = u64> + Clone {
    (0..count as u64).map(move |index| hash(&index.to_le_bytes(), 99) % below)
}

fn cpfs(count: usize) -> impl Iterator<Item = String> {
    random(count, 1_000_000_000).map(|body| {
        let body = format!("{body:09}");
        format!("{body}{}", String::from_utf8(cpf::digits(body.as_bytes()).unwrap().to_vec()).unwrap())
    })
}

fn types(verdict: &ColumnVerdict) -> Vec<InfoType> {
    verdict.agreements.iter().filter(|agreement| agreement.confidence >= Likelihood::Possible).map(|agreement| agreement.info_type).collect()
}

#[test]
fn cpfs_are_found_without_a_name() {
    let verdict = profile("a", cpfs(500)).verdict();
    assert_eq!(verdict.info_type(), Some(InfoType::BrCpf));
    assert_eq!(verdict.agreements[0].confidence, Likelihood::VeryLikely);
    assert!(verdict.agreements[0].interval.0 > 0.98 && verdict.complete);
    assert_eq!(verdict.semantic_type(), Some("BR_CPF"));
}

#[test]
fn random_numbers_are_nothing() {
    for digits in 5..=19u32 {
        let low = 10u64.pow(digits - 1);
        let span = if digits == 19 { 8 * low } else { 9 * low };
        let verdict = profile("ref", random(3000, span).map(|number| (low + number).to_string())).verdict();
        assert!(types(&verdict).is_empty(), "{digits}: {:?}", verdict.agreements);
        assert_eq!(verdict.shape, Shape::OpaqueId, "{digits}");
    }
}

#[test]
fn timestamps_are_no_cards() {
    for (unit, name) in [(1, "s"), (1000, "ms"), (1_000_000, "us"), (1_000_000_000, "ns")] {
        let verdict = profile("created", random(3000, 300_000_000).map(|offset| ((1_500_000_000 + offset) * unit + offset % unit).to_string())).verdict();
        assert_eq!(types(&verdict), [InfoType::DateTime], "{name}");
        assert_eq!(verdict.semantic_type(), Some("EVENT_TIME"));
    }
}

#[test]
fn cards_are_found_among_others() {
    let cards = random(400, 10_000_000_000).map(|body| {
        let body = format!("41111{body:010}");
        format!("{body}{}", char::from(luhn::digit(body.as_bytes()).unwrap()))
    });
    let verdict = profile("ref", cards.clone()).verdict();
    assert_eq!(verdict.info_type(), Some(InfoType::Pan));
    // A fifth of the values are cards, the rest are order numbers: no type for the column, and no silence either.
    let mixed = cards.take(200).chain(random(800, 1_000_000).map(|number| format!("PO-{number}")));
    let verdict = profile("ref", mixed).verdict();
    assert_eq!((verdict.agreements[0].info_type, verdict.agreements[0].confidence), (InfoType::Pan, Likelihood::Possible));
}

#[test]
fn the_name_settles_what_values_cannot() {
    let days = || (0..500).map(|day| format!("19{:02}-{:02}-{:02}", 40 + day % 60, 1 + day % 12, 1 + day % 28));
    assert_eq!(profile("dt_nascimento", days()).verdict().semantic_type(), Some("DATE_OF_BIRTH"));
    assert_eq!(profile("booked", days()).verdict().semantic_type(), Some("EVENT_DATE"));
    let eight = || random(500, 90_000_000).map(|number| (10_000_000 + number).to_string());
    assert_eq!(profile("cep", eight()).verdict().semantic_type(), Some("BR_CEP"));
    assert_eq!(profile("ref", eight()).verdict().semantic_type(), None);
}

#[test]
fn opaque_ids_are_not_persons() {
    let verdict = profile("id", ["6033391", "6058722", "6058723", "6133391"]).verdict();
    assert_eq!((verdict.shape, types(&verdict)), (Shape::OpaqueId, Vec::new()));
}

#[test]
fn lost_leading_zeros_are_noticed() {
    let integers = cpfs(500).map(|cpf| cpf.trim_start_matches('0').to_owned());
    let verdict = profile("doc", integers).verdict();
    assert_eq!(verdict.lost_leading_zeros, Some(InfoType::BrCpf));
    assert_eq!(profile("doc", random(500, 1_000_000_000).map(|n| n.to_string())).verdict().lost_leading_zeros, None);
}

#[test]
fn shapes() {
    let texts = (0..200).map(|n| format!("customer {n} called about the card and will call again, mail a{n}@example.com"));
    let verdict = profile("note", texts).verdict();
    assert_eq!((verdict.shape, verdict.semantic_type()), (Shape::FreeText, Some("FREE_TEXT")));
    assert_eq!(verdict.inside[0].info_type, InfoType::Email);
    assert!(verdict.inside[0].share > 0.99);
    assert_eq!(profile("amount", random(500, 100_000).map(|n| format!("{}.{:02}", n / 100, n % 100))).verdict().shape, Shape::Number);
    assert_eq!(profile("status", (0..500).map(|n| ["OPEN", "SETTLED", "REJECTED"][n % 3])).verdict().shape, Shape::Category);
    assert_eq!(profile("x", [""; 3]).verdict().shape, Shape::Empty);
    assert_eq!(profile("x", ["", " ", "a"]).verdict().nulls, 2);
}

#[test]
fn order_and_grouping_do_not_matter() {
    let options = ProfileOptions { distinct_values: 100, seed: 3 };
    let values: Vec<String> = cpfs(1000).chain(random(1000, 1_000_000).map(|n| n.to_string())).collect();
    let (detector, mut findings) = (detector(), Findings::new());
    let mut of = |values: &mut dyn Iterator<Item = &String>| {
        let mut profile = ColumnProfile::new("c", options);
        values.for_each(|value| profile.observe(value, &detector, &mut findings));
        profile
    };
    let whole = of(&mut values.iter());
    let backwards = of(&mut values.iter().rev());
    assert!(whole == backwards);
    let parts: Vec<ColumnProfile> = values.chunks(333).map(|chunk| of(&mut chunk.iter())).collect();
    let mut left = parts[0].clone();
    parts[1..].iter().for_each(|part| left.merge(part.clone()).unwrap());
    let mut right = parts[parts.len() - 1].clone();
    parts[..parts.len() - 1].iter().rev().for_each(|part| right.merge(part.clone()).unwrap());
    assert!(left == whole && right == whole);
    let verdict = whole.verdict();
    assert!(!verdict.complete && (1200..3000).contains(&verdict.distinct), "{}", verdict.distinct);
    assert_eq!(left.merge(ColumnProfile::new("other", options)), Err(DifferentProfiles));
}

#[test]
fn judging_at_the_end_is_judging_at_once() {
    let options = ProfileOptions { distinct_values: 100, seed: 3 };
    let long = |n: u64| format!("{} CPF 529.982.247-25 nota {n}", "pagamento recebido ".repeat(20));
    let values: Vec<String> = cpfs(500).chain(random(500, 1_000_000).map(|n| n.to_string())).chain((0..300).map(long)).chain([String::new()]).collect();
    let (detector, mut findings) = (detector(), Findings::new());
    let mut profile = ColumnProfile::new("c", options);
    values.iter().for_each(|value| profile.observe(value, &detector, &mut findings));
    profile.observe_nulls(7);
    let mut sample = ColumnSample::new("c", options);
    for part in values.chunks(400) {
        let mut other = ColumnSample::new("c", options);
        part.iter().for_each(|value| other.observe(value, &detector, &mut findings));
        sample.merge(other).unwrap();
    }
    sample.observe_nulls(7);
    assert!(!format!("{sample:?}").contains("pagamento"));
    assert!(sample.judged(&detector, &mut findings) == profile);
}

#[test]
fn wilson_intervals() {
    let (low, high) = wilson(10, 1000);
    assert!((0.004..0.005).contains(&low) && (0.021..0.023).contains(&high), "{low} {high}");
    assert_eq!(wilson(0, 0), (0.0, 1.0));
    assert!(wilson(5, 5).0 < 0.5, "five values prove nothing");
}

#[test]
fn nothing_of_a_value_is_shown() {
    let profile = profile("c", ["390.533.447-05"]);
    let shown = format!("{profile:?} {:?}", profile.verdict());
    assert!(!shown.contains("390") && !shown.contains("447"));
}
