//! How much the detectors find, as measured: what `plan` says beside `deidentifyText`.
//!
//! A value is found when findings of its type cover all of it. Two kinds of material, neither written for these detectors: labelled places in
//! notes (`financial/faker_synthetic`, `financial/presidio_research`), and values (valid rows of `detectors/` without a variant, and those of the
//! customers of `financial/faker_synthetic`), each alone between words that announce nothing. The test of this module counts again where the corpora are there, and fails when less is
//! found than is said here.

/// The share of one type's values that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recall {
    /// The info type.
    pub info_type: &'static str,
    /// `notes` or `values`.
    pub material: &'static str,
    /// How many there were.
    pub values: u32,
    /// How many of them were found.
    pub found: u32,
}

/// The day of the count.
pub const MEASURED_ON: &str = "2026-12-01";

/// By type.
pub const MEASURED: &[Recall] = &[];

/// What was measured of a type; nothing for a detector of a policy's own, and for types that the corpora do not have.
pub fn of(info_type: &str) -> impl Iterator<Item = &'static Recall> {
    MEASURED.iter().filter(move |recall| recall.info_type == info_type)
}

impl Recall {
    /// `99.2 % of 1,234 in notes`, rounded down.
    pub fn says(&self) -> String {
        let per_mille = u64::from(self.found) * 1000 / u64::from(self.values).max(1);
        format!("{}.{} % of {} {}", per_mille / 10, per_mille % 10, self.values, self.material)
    }
}

#[cfg(test)]
mod tests;
