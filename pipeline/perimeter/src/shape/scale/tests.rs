use super::*;
use crate::shape::statistics::{FeatureStatistics, Statistics};
use proptest::prelude::*;

fn number(value: usize) -> NonZeroUsize {
    NonZeroUsize::new(value).unwrap()
}

fn sketch(rows: &[(f64, u64)], min_units: usize) -> Sketch {
    let mut sketch = Sketch::new(number(min_units));
    let (values, units): (Vec<f64>, Vec<u64>) = rows.iter().copied().unzip();
    sketch.add(&values, None, &units).unwrap();
    sketch
}

fn kinds() -> [ScaleKind; 3] {
    [ScaleKind::Standard, ScaleKind::MinMax, ScaleKind::Quantile { steps: NonZeroU32::new(20).unwrap() }]
}

fn json(sketch: &Sketch, kind: ScaleKind) -> Result<Vec<u8>, ScaleError> {
    let mut statistics = Statistics::new(number(1));
    let scale = sketch.freeze(kind)?;
    assert!(scale.is_sound(), "{scale:?}");
    statistics.features.insert("x".to_owned(), FeatureStatistics { scale: Some(scale), vocabulary: None });
    let bytes = statistics.to_json();
    assert_eq!(Statistics::from_json(&bytes), Ok(statistics), "the file gives back every bit");
    Ok(bytes)
}

fn values() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => (-100_000_i32..1_000_000).prop_map(|cents| f64::from(cents) / 100.0),
        1 => Just(0.0),
        1 => any::<f64>().prop_filter("finite", |value| value.is_finite()),
        1 => -5.0..5.0_f64,
    ]
}

proptest! {
    /// The grid: ascending, gapless, and every value lies in its step.
    #[test]
    fn steps_hold_their_values(value in values(), other in values()) {
        let step = step_of(value);
        let (begins, ends, _) = edges(step);
        prop_assert!(begins <= value && value <= ends);
        prop_assert!(ends - begins <= value.abs().max(f64::MIN_POSITIVE) / 128.0 * 1.000_001 || step == 0);
        prop_assert!((value < other) <= (step <= step_of(other)));
        if step > 0 {
            prop_assert_eq!(edges(step + 1).0.min(f64::MAX), ends);
        }
    }

    /// The same bytes whatever the partitioning and the order.
    #[test]
    fn partitions_do_not_show(rows in prop::collection::vec((values(), 0_u64..20), 1..100), cuts in prop::collection::vec(0_usize..100, 0..4), min_units in 1_usize..6) {
        let whole = sketch(&rows, min_units);
        let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.min(rows.len())).chain([0, rows.len()]).collect();
        ends.sort_unstable();
        let mut merged = Sketch::new(number(min_units));
        for pair in ends.windows(2).rev() {
            let part: Vec<(f64, u64)> = rows[pair[0]..pair[1]].iter().rev().copied().collect();
            merged.merge(&sketch(&part, min_units)).unwrap();
        }
        prop_assert_eq!(&merged, &whole);
        for kind in kinds() {
            prop_assert_eq!(json(&merged, kind), json(&whole, kind));
        }
    }

    /// Against a naive model: clips by sorting, moments in two passes over clipped values.
    #[test]
    fn scales_are_those_of_the_model(rows in prop::collection::vec(((-100_000_i32..1_000_000).prop_map(|cents| f64::from(cents) / 100.0), 0_u64..40), 1..200), min_units in 1_usize..8) {
        let sketch = sketch(&rows, min_units);
        let units = |keep: &dyn Fn(i32) -> bool| {
            let units: std::collections::BTreeSet<u64> = rows.iter().filter(|(value, _)| keep(step_of(*value))).map(|&(_, unit)| unit).collect();
            units.len()
        };
        let mut steps: Vec<i32> = rows.iter().map(|&(value, _)| step_of(value)).collect();
        steps.sort_unstable();
        let low = steps.iter().copied().find(|&at| units(&|other| other <= at) >= min_units);
        let high = steps.iter().rev().copied().find(|&at| units(&|other| other >= at) >= min_units);
        let expected = low.zip(high).filter(|(low, high)| low <= high);
        let frozen = sketch.freeze(ScaleKind::Standard);
        prop_assert_eq!(frozen.is_ok(), expected.is_some());
        prop_assert!(frozen.is_ok() || units(&|_| true) < 2 * min_units);
        let (Ok(Scaler::Standard { clip, mean, standard_deviation }), Some((low, high))) = (frozen, expected) else { return Ok(()) };
        // At least k units lie at or beyond each bound's own step; a bound is an edge of the grid.
        prop_assert!(units(&|at| at <= low) >= min_units && units(&|at| at >= high) >= min_units);
        let clipped: Vec<f64> = rows.iter().map(|(value, _)| value.clamp(clip[0], clip[1])).collect();
        let count = clipped.len() as f64;
        let model_mean = clipped.iter().sum::<f64>() / count;
        let model_deviation = (clipped.iter().map(|value| (value - model_mean).powi(2)).sum::<f64>() / count).sqrt();
        let scale = clip[0].abs().max(clip[1].abs()).max(1e-9);
        prop_assert!((mean - model_mean).abs() <= 1e-11 * scale, "{} {}", mean, model_mean);
        prop_assert!((standard_deviation - model_deviation).abs() <= 1e-6 * scale || standard_deviation == 1.0, "{} {}", standard_deviation, model_deviation);
        for kind in kinds() {
            let scaler = sketch.freeze(kind).unwrap();
            let mut out = Vec::new();
            let mut sorted: Vec<f64> = rows.iter().map(|&(value, _)| value).collect();
            sorted.sort_by(f64::total_cmp);
            scaler.apply(&sorted, None, &mut out).unwrap();
            prop_assert!(out.is_sorted(), "scales keep order");
            if kind != ScaleKind::Standard {
                prop_assert!(out.iter().all(|value| (0.0..=1.0).contains(value)));
            }
        }
    }

    /// Moving one unit's extreme value further out changes nothing, as long as k others are as far out as it was.
    #[test]
    fn one_units_extreme_does_not_show(factor in 1.0..1e6_f64, others in 3_u64..30) {
        let common: Vec<(f64, u64)> = (0..300_u64).map(|row| (f64::from(u32::try_from(row % 50).unwrap()), row % 100)).collect();
        let far: Vec<(f64, u64)> = (0..others).map(|unit| (1000.0, 200 + unit)).collect();
        for kind in kinds() {
            let with = |extreme: f64| json(&sketch(&[&common[..], &far[..], &[(extreme, 999)]].concat(), 3), kind).unwrap();
            prop_assert_eq!(with(1007.0 * factor), with(1010.0));
            let alone = |extreme: f64| json(&sketch(&[&common[..], &[(extreme, 999)]].concat(), 3), kind).unwrap();
            prop_assert_eq!(alone(1000.0 * factor), alone(50.0));
        }
    }

    #[test]
    fn no_value_panics(rows in prop::collection::vec((any::<f64>().prop_filter("finite", |value| value.is_finite()), 0_u64..3), 1..20), probe in any::<f64>()) {
        for kind in kinds() {
            if let Ok(scaler) = sketch(&rows, 1).freeze(kind) {
                prop_assert!(scaler.is_sound());
                let _ = scaler.apply(&[probe], None, &mut Vec::new());
            }
        }
    }
}

#[test]
fn quantiles_are_the_share_below() {
    let rows: Vec<(f64, u64)> = (0..10_000_u32).map(|row| (f64::from(row), u64::from(row % 500))).collect();
    let scaler = sketch(&rows, 10).freeze(ScaleKind::Quantile { steps: NonZeroU32::new(1000).unwrap() }).unwrap();
    let mut out = Vec::new();
    let probes = [-5.0, 0.0, 100.0, 2500.0, 5000.0, 9000.0, 20_000.0];
    scaler.apply(&probes, None, &mut out).unwrap();
    for (probe, rank) in probes.iter().zip(&out) {
        let share = (probe / 10_000.0).clamp(0.0, 1.0);
        assert!((f64::from(*rank) - share).abs() < 0.004, "{probe}: {rank}");
    }
    let Scaler::Quantile { edges, .. } = scaler else { unreachable!() };
    assert!(edges.len() <= 2000);
}

#[test]
fn constants_and_zeros() {
    for constant in [0.0, 5.3, -1e300, 1e-310] {
        let rows: Vec<(f64, u64)> = (0..50).map(|unit| (constant, unit)).collect();
        let sketch = sketch(&rows, 10);
        let mut out = Vec::new();
        let standard = sketch.freeze(ScaleKind::Standard).unwrap();
        standard.apply(&[constant], None, &mut out).unwrap();
        assert!(out[0].abs() < 1e-6 || constant.abs() > 1e200, "{constant}: {out:?} {standard:?}");
        for kind in kinds() {
            json(&sketch, kind).unwrap();
        }
    }
}

#[test]
fn too_few_units_freeze_nothing() {
    let one: Vec<(f64, u64)> = (0..1000_u32).map(|row| (f64::from(row), 7)).collect();
    let apart: Vec<(f64, u64)> = (0..10_u64).map(|unit| (2_f64.powi(i32::try_from(unit).unwrap()), unit)).collect();
    for kind in kinds() {
        assert_eq!(sketch(&one, 2).freeze(kind), Err(ScaleError::TooFewUnits));
        assert_eq!(sketch(&apart, 10).freeze(kind), Err(ScaleError::TooFewUnits));
        assert_eq!(sketch(&[], 1).freeze(kind), Err(ScaleError::TooFewUnits));
    }
}

#[test]
fn nulls_and_what_is_no_number() {
    let nulls = NullBuffer::from(vec![true, false, true]);
    let mut counted = Sketch::new(number(1));
    counted.add(&[1.0, f64::NAN, -0.0], Some(&nulls), &[1, 2, 3]).unwrap();
    assert_eq!((counted.values(), counted.missing()), (2, 1));
    assert_eq!(counted.add(&[f64::INFINITY], None, &[1]), Err(ScaleError::NotFinite { row: 0 }));
    assert_eq!(counted.add(&[1.0], None, &[]), Err(ScaleError::Rows));
    let mut out = vec![9.0];
    Scaler::Log1p {}.apply(&[0.0, -7.0, 1.0], Some(&nulls), &mut out).unwrap();
    assert_eq!(out, [9.0, 0.0, 0.0, std::f32::consts::LN_2]);
    assert_eq!(Scaler::Log1p {}.apply(&[0.0, -1.0], None, &mut out), Err(ScaleError::Log1pDomain { row: 1 }));
    assert_eq!(Scaler::None {}.apply(&[1e39], None, &mut out), Err(ScaleError::NotFinite { row: 0 }));
    assert_eq!(Scaler::MinMax { clip: [0.0, 1.0] }.apply(&[f64::NAN], None, &mut out), Err(ScaleError::NotFinite { row: 0 }));
    assert_eq!(out.len(), 4);
    let mut mask = Vec::new();
    presence(3, Some(&nulls), &mut mask);
    presence(2, None, &mut mask);
    assert_eq!(mask, [1, 0, 1, 1, 1]);
}
