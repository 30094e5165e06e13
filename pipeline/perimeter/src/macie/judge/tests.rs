use super::super::locate::Place;
use super::super::report::Location;
use super::*;

fn counts(total: u64, places: &[(Place, u64)]) -> Counts {
    Counts { total, places: places.iter().copied().collect() }
}

#[test]
fn views_of_the_same_occurrences_are_not_added() {
    let tally = Tally {
        finding: counts(700, &[(Place::Column(1), 12), (Place::Column(2), 3)]),
        result: counts(700, &[(Place::Column(1), 690)]),
        embedded: counts(0, &[]),
    };
    assert_eq!(tally.spread(), [(Place::Column(1), 690, false), (Place::Column(2), 3, false), (Place::Nowhere, 7, true)]);
    assert!(tally.is_partial());
}

#[test]
fn files_inside_of_an_object_are_added() {
    let mut tally = Tally::default();
    tally.result.largest(&counts(30, &[]));
    tally.embedded.add(&counts(10, &[(Place::Column(0), 10)]));
    tally.embedded.add(&counts(20, &[(Place::Column(0), 15), (Place::Header, 5)]));
    assert_eq!(tally.spread(), [(Place::Column(0), 25, false), (Place::Header, 5, false)]);
    assert!(!tally.is_partial());
}

#[test]
fn more_located_than_counted_is_what_is_located() {
    let tally = Tally { finding: counts(1, &[(Place::Nowhere, 4)]), ..Tally::default() };
    assert_eq!(tally.spread(), [(Place::Nowhere, 4, false)]);
}

#[test]
fn huge_counts_do_not_overflow() {
    let mut all = counts(u64::MAX, &[(Place::Column(0), u64::MAX)]);
    all.add(&counts(u64::MAX, &[(Place::Column(0), 1), (Place::Nowhere, u64::MAX)]));
    assert_eq!((all.total, all.located()), (u64::MAX, u64::MAX));
    let _ = Location::Page;
}

#[test]
fn entity_tags_are_compared_without_their_quotes() {
    for (a, b) in [("\"abc-12\"", "abc-12"), ("W/\"abc\"", "abc"), ("abc", "abc")] {
        assert_eq!(bare_etag(a), b);
    }
}
