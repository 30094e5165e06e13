//! Bounds of the contract in a column's own unit.
use perimeter_contract::schema::Decimal;

pub(super) fn clamp<N: TryFrom<i128> + num::Bounds>(bound: i128) -> N {
    N::try_from(bound).unwrap_or(if bound < 0 { N::LOWEST } else { N::HIGHEST })
}

/// Whether no value of the type can lie between the bounds.
pub(super) fn out_of(low: i128, high: i128, type_low: i128, type_high: i128) -> bool {
    low > type_high || high < type_low || low > high
}

mod num {
    pub(in crate::check) trait Bounds {
        const LOWEST: Self;
        const HIGHEST: Self;
    }
    impl Bounds for i32 {
        const LOWEST: Self = Self::MIN;
        const HIGHEST: Self = Self::MAX;
    }
    impl Bounds for i64 {
        const LOWEST: Self = Self::MIN;
        const HIGHEST: Self = Self::MAX;
    }
}

/// The smallest unscaled value at `scale` that is not below the bound (above it, when the bound is not included).
pub(super) fn at_least(bound: &Decimal, scale: u8, included: bool) -> i128 {
    let (floor, exact) = rescale(bound, scale);
    if exact && included { floor } else { floor.saturating_add(1) }
}

/// The largest unscaled value at `scale` that is not above the bound (below it, when the bound is not included).
pub(super) fn at_most(bound: &Decimal, scale: u8, included: bool) -> i128 {
    let (floor, exact) = rescale(bound, scale);
    if exact && !included { floor.saturating_sub(1) } else { floor }
}

/// The bound at another scale: rounded down, and whether that is exact. Beyond 128 bits it is further out than any value.
fn rescale(bound: &Decimal, scale: u8) -> (i128, bool) {
    if scale >= bound.scale {
        let power = 10i128.checked_pow(u32::from(scale - bound.scale));
        let scaled = power.and_then(|p| bound.unscaled.checked_mul(p));
        (scaled.unwrap_or(if bound.unscaled < 0 { i128::MIN } else { i128::MAX }), true)
    } else {
        match 10i128.checked_pow(u32::from(bound.scale - scale)) {
            Some(power) => (bound.unscaled.div_euclid(power), bound.unscaled.rem_euclid(power) == 0),
            None => (if bound.unscaled < 0 { -1 } else { 0 }, bound.unscaled == 0),
        }
    }
}

/// A bound of a float column is read as its values are: to the nearest binary64, so that equal texts are equal.
pub(in crate::check) fn nearest(bound: &Decimal) -> f64 {
    format!("{}e-{}", bound.unscaled, bound.scale).parse().unwrap_or(f64::NAN)
}
