//! Which managed data identifiers a job uses, and what their findings mean in the contract's words.
//!
//! Source: Amazon Macie User Guide, "Managed data identifiers: quick reference". The recommended set has neither CNPJ, RG, CEP, Brazilian phone numbers nor any
//! IBAN, and what a set holds changes with time; so a job names every identifier.

/// Identifier and semantic type. Financial records, Brazil first; then what a memo of a bank customer can hold.
const TABLE: &[(&str, &str)] = &[
    ("BRAZIL_CPF_NUMBER", "BR_CPF"),
    ("BRAZIL_CNPJ_NUMBER", "BR_CNPJ"),
    ("BRAZIL_RG_NUMBER", "BR_RG"),
    ("BRAZIL_CEP_CODE", "BR_CEP"),
    ("BRAZIL_PHONE_NUMBER", "PHONE"),
    ("PHONE_NUMBER", "PHONE"),
    ("CREDIT_CARD_NUMBER", "PAN"),
    ("CREDIT_CARD_NUMBER_(NO_KEYWORD)", "PAN"),
    ("CREDIT_CARD_EXPIRATION", "CARD_EXPIRATION"),
    ("CREDIT_CARD_MAGNETIC_STRIPE", "CARD_MAGNETIC_STRIPE"),
    ("CREDIT_CARD_SECURITY_CODE", "CARD_SECURITY_CODE"),
    ("BANK_ACCOUNT_NUMBER", "BANK_ACCOUNT"),
    ("NAME", "PERSON_NAME"),
    ("ADDRESS", "ADDRESS"),
    ("DATE_OF_BIRTH", "DATE_OF_BIRTH"),
    ("LATITUDE_LONGITUDE", "GEO_COORDINATES"),
    ("DRIVERS_LICENSE", "DRIVERS_LICENSE"),
    ("USA_SOCIAL_SECURITY_NUMBER", "US_SSN"),
    ("USA_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER", "TAX_ID"),
    ("USA_PASSPORT_NUMBER", "PASSPORT"),
    ("ARGENTINA_DNI_NUMBER", "NATIONAL_ID"),
    ("ARGENTINA_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER", "TAX_ID"),
    ("ARGENTINA_ORGANIZATION_TAX_IDENTIFICATION_NUMBER", "TAX_ID"),
    ("CHILE_RUT_NUMBER", "NATIONAL_ID"),
    ("COLOMBIA_CITIZENSHIP_CARD_NUMBER", "NATIONAL_ID"),
    ("COLOMBIA_INDIVIDUAL_NIT_NUMBER", "TAX_ID"),
    ("COLOMBIA_ORGANIZATION_NIT_NUMBER", "TAX_ID"),
    ("MEXICO_CURP_NUMBER", "NATIONAL_ID"),
    ("MEXICO_INDIVIDUAL_RFC_NUMBER", "TAX_ID"),
    ("MEXICO_ORGANIZATION_RFC_NUMBER", "TAX_ID"),
    ("SPAIN_DNI_NUMBER", "NATIONAL_ID"),
    ("SPAIN_NIE_NUMBER", "TAX_ID"),
    ("SPAIN_NIF_NUMBER", "TAX_ID"),
];

/// Countries whose IBANs have an identifier, `<COUNTRY>_BANK_ACCOUNT_NUMBER`.
const IBAN_COUNTRIES: &[&str] = &[
    "ALBANIA",
    "ANDORRA",
    "BOSNIA_AND_HERZEGOVINA",
    "BRAZIL",
    "BULGARIA",
    "COSTA_RICA",
    "CROATIA",
    "CYPRUS",
    "CZECH_REPUBLIC",
    "DENMARK",
    "DOMINICAN_REPUBLIC",
    "EGYPT",
    "ESTONIA",
    "FAROE_ISLANDS",
    "FINLAND",
    "FRANCE",
    "GEORGIA",
    "GERMANY",
    "GREECE",
    "GREENLAND",
    "HUNGARY",
    "ICELAND",
    "IRELAND",
    "ITALY",
    "JORDAN",
    "KOSOVO",
    "LIECHTENSTEIN",
    "LITHUANIA",
    "MALTA",
    "MAURITANIA",
    "MAURITIUS",
    "MONACO",
    "MONTENEGRO",
    "NETHERLANDS",
    "NORTH_MACEDONIA",
    "POLAND",
    "PORTUGAL",
    "SAN_MARINO",
    "SENEGAL",
    "SERBIA",
    "SLOVAKIA",
    "SLOVENIA",
    "SPAIN",
    "SWEDEN",
    "SWITZERLAND",
    "TIMOR_LESTE",
    "TUNISIA",
    "TURKIYE",
    "UK",
    "UKRAINE",
    "UNITED_ARAB_EMIRATES",
    "VIRGIN_ISLANDS",
];

/// Endings of identifiers that exist for many countries; an earlier job may have used them all.
const ENDINGS: &[(&str, &str)] = &[
    ("_BANK_ACCOUNT_NUMBER", "IBAN"),
    ("_PHONE_NUMBER", "PHONE"),
    ("_DRIVERS_LICENSE", "DRIVERS_LICENSE"),
    ("_PASSPORT_NUMBER", "PASSPORT"),
    ("_TAX_IDENTIFICATION_NUMBER", "TAX_ID"),
    ("_NATIONAL_IDENTIFICATION_NUMBER", "NATIONAL_ID"),
];

/// The identifiers that a job uses unless its caller names others, sorted.
pub fn default_identifiers() -> Vec<String> {
    let ibans = IBAN_COUNTRIES.iter().map(|country| format!("{country}_BANK_ACCOUNT_NUMBER"));
    let mut ids: Vec<String> = TABLE.iter().map(|(id, _)| (*id).to_owned()).chain(ibans).collect();
    ids.sort_unstable();
    ids
}

/// The semantic type of what a managed identifier finds; `None` for types that contracts have no word for yet, which are findings all the same.
///
/// The identifiers of France, Germany, Italy, Spain and the United Kingdom find national account numbers (BBAN) too; both are `IBAN` here.
pub fn semantic_type(identifier: &str) -> Option<&'static str> {
    let exact = TABLE.iter().find(|(id, _)| *id == identifier);
    exact.or_else(|| ENDINGS.iter().find(|(ending, _)| identifier.ends_with(ending))).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recommended_set_s_gaps_are_asked_for() {
        let ids = default_identifiers();
        for id in ["BRAZIL_CPF_NUMBER", "BRAZIL_CNPJ_NUMBER", "BRAZIL_RG_NUMBER", "BRAZIL_CEP_CODE", "BRAZIL_PHONE_NUMBER", "BRAZIL_BANK_ACCOUNT_NUMBER"] {
            assert!(ids.iter().any(|known| known == id), "{id}");
        }
        assert!(ids.is_sorted_by(|a, b| a < b), "sorted and without repetition");
        assert!(ids.iter().all(|id| semantic_type(id).is_some()), "all of them have a meaning");
    }

    #[test]
    fn meanings() {
        assert_eq!(semantic_type("BRAZIL_BANK_ACCOUNT_NUMBER"), Some("IBAN"));
        assert_eq!(semantic_type("BANK_ACCOUNT_NUMBER"), Some("BANK_ACCOUNT"), "numbers of the United States and Canada are no IBANs");
        assert_eq!(semantic_type("FRANCE_PHONE_NUMBER"), Some("PHONE"));
        assert_eq!(semantic_type("CREDIT_CARD_NUMBER_(NO_KEYWORD)"), Some("PAN"));
        assert_eq!(semantic_type("A_NEW_ONE"), None);
    }
}
