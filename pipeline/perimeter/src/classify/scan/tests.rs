//! Which units, and how much of each.
use super::*;
use crate::read::Part;
use proptest::prelude::*;

fn units(count: usize) -> Vec<Unit> {
    (0..count).map(|file| Unit { source: 0, file, part: Part::Whole }).collect()
}

proptest! {
    #[test]
    fn every_unit_has_its_turn_once(count in 0usize..60, seed: u64, whole in prop::collection::btree_set(0usize..60, 0..5)) {
        let units = units(count);
        let sampling = |rows| Sampling { seed, rows, whole_files: &whole };
        let (first, drawn) = order(&units, sampling(SampleRows::DEFAULT));
        prop_assert!(first.iter().all(|unit| whole.contains(&unit.file)) && drawn.iter().all(|unit| !whole.contains(&unit.file)));
        let mut files: Vec<usize> = first.iter().chain(&drawn).map(|unit| unit.file).collect();
        files.sort_unstable();
        prop_assert_eq!(files, (0..count).collect::<Vec<_>>());
        let (all, none) = order(&units, sampling(SampleRows::All));
        prop_assert!(none.is_empty() && all.len() == count);
    }

    #[test]
    fn shares_come_to_what_is_wanted(count in 1usize..17, wanted in 0u64..1_000) {
        let units = units(count);
        let units: Vec<&Unit> = units.iter().collect();
        let shares: Vec<u64> = shares(&units, wanted).into_iter().filter_map(|(_, rows)| rows).collect();
        prop_assert_eq!(shares.iter().sum::<u64>(), wanted);
        prop_assert!(shares.iter().all(|share| *share > 0));
        prop_assert!(shares.iter().max().copied().unwrap_or(0) - shares.iter().min().copied().unwrap_or(0) <= 1);
    }
}

#[test]
fn another_seed_draws_another_order() {
    let (units, none) = (units(40), BTreeSet::new());
    let drawn = |seed| order(&units, Sampling { seed, rows: SampleRows::DEFAULT, whole_files: &none }).1.iter().map(|unit| unit.file).collect::<Vec<_>>();
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    assert_ne!(drawn(1), (0..40).collect::<Vec<_>>(), "not the listing's");
}
