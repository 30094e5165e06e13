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
pub const MEASURED: &[Recall] = &[
    Recall { info_type: "ABA", material: "values", values: 3209, found: 0 },
    Recall { info_type: "ADDRESS", material: "notes", values: 644, found: 149 },
    Recall { info_type: "BIC", material: "values", values: 2006, found: 0 },
    Recall { info_type: "BR_CEP", material: "values", values: 502, found: 241 },
    Recall { info_type: "BR_CNH", material: "values", values: 2, found: 0 },
    Recall { info_type: "BR_CNPJ", material: "values", values: 504, found: 503 },
    Recall { info_type: "BR_CPF", material: "values", values: 1007, found: 1005 },
    Recall { info_type: "BR_PIS", material: "values", values: 2, found: 0 },
    Recall { info_type: "DATE", material: "notes", values: 122, found: 86 },
    Recall { info_type: "EMAIL", material: "notes", values: 2051, found: 2051 },
    Recall { info_type: "EMAIL", material: "values", values: 2008, found: 2006 },
    Recall { info_type: "IBAN", material: "notes", values: 2021, found: 2021 },
    Recall { info_type: "IBAN", material: "values", values: 2026, found: 2026 },
    Recall { info_type: "IP", material: "notes", values: 16, found: 16 },
    Recall { info_type: "IP", material: "values", values: 2024, found: 2024 },
    Recall { info_type: "ISIN", material: "values", values: 6, found: 6 },
    Recall { info_type: "MAC", material: "values", values: 12, found: 8 },
    Recall { info_type: "PAN", material: "notes", values: 2146, found: 2146 },
    Recall { info_type: "PAN", material: "values", values: 2014, found: 1851 },
    Recall { info_type: "PERSON_NAME", material: "notes", values: 2912, found: 1972 },
    Recall { info_type: "PERSON_NAME", material: "values", values: 2000, found: 1369 },
    Recall { info_type: "PHONE", material: "notes", values: 2102, found: 2097 },
    Recall { info_type: "PHONE", material: "values", values: 2784, found: 2227 },
    Recall { info_type: "URL", material: "notes", values: 40, found: 40 },
    Recall { info_type: "URL", material: "values", values: 29, found: 28 },
    Recall { info_type: "US_SSN", material: "notes", values: 19, found: 19 },
    Recall { info_type: "US_SSN", material: "values", values: 501, found: 501 },
    Recall { info_type: "UUID", material: "values", values: 6, found: 6 },
];

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
