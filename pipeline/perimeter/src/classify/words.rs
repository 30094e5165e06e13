//! Which words of a contract say what the detectors, or Amazon Macie, have found.
use perimeter_detect::InfoType;

/// A wider word, and those that it takes in.
const WIDER: &[(&str, &[&str])] = &[
    ("ZIP", &["BR_CEP"]),
    ("POSTAL_CODE", &["BR_CEP", "ZIP"]),
    ("CARD_NUMBER", &["PAN"]),
    ("BANK_ACCOUNT", &["IBAN", "AR_CBU"]),
    ("ACCOUNT_ID", &["IBAN", "AR_CBU", "BANK_ACCOUNT"]),
    ("BR_CPF_CNPJ", &["BR_CPF", "BR_CNPJ"]),
    (
        "TAX_ID",
        &[
            "BR_CPF",
            "BR_CNPJ",
            "BR_CPF_CNPJ",
            "US_SSN",
            "US_ITIN",
            "US_EIN",
            "ES_NIF",
            "ES_CIF",
            "PT_NIF",
            "AR_CUIT",
            "CL_RUT",
            "CO_NIT",
            "UY_RUT",
            "VE_RIF",
            "PE_RUC",
            "IT_CODICE_FISCALE",
            "DE_TAX_ID",
            "IN_PAN",
            "AU_TFN",
            "CA_SIN",
        ],
    ),
    (
        "NATIONAL_ID",
        &[
            "BR_RG",
            "BR_CPF",
            "US_SSN",
            "ES_NIF",
            "MX_CURP",
            "CL_RUT",
            "EC_CI",
            "DO_CEDULA",
            "FI_HETU",
            "CN_RIC",
            "KR_RRN",
            "CH_AHV",
            "FR_NIR",
            "PL_PESEL",
            "BE_NN",
            "SE_PERSONNUMMER",
            "NL_BSN",
            "CZ_RC",
            "DK_CPR",
            "IL_ID",
            "IN_AADHAAR",
            "TR_KIMLIK",
            "RO_CNP",
            "HR_OIB",
            "ZA_ID",
            "TH_PIN",
            "NO_FODSELSNUMMER",
            "EE_PERSONAL_CODE",
        ],
    ),
    ("DRIVERS_LICENSE", &["BR_CNH"]),
    ("SECURITY_ID", &["ISIN", "CUSIP", "SEDOL", "FIGI"]),
    ("BR_PIX_KEY", &["UUID", "BR_CPF", "BR_CNPJ", "EMAIL", "PHONE"]),
    ("EVENT_TIME", &["EVENT_DATE"]),
];

/// Whether the contract's word says the found one: the same word, a wider one, or, since Macie has wide words too, a narrower one.
pub(super) fn says(contract: &str, found: &str) -> bool {
    let takes_in = |wide: &str, narrow: &str| WIDER.iter().any(|(word, words)| *word == wide && words.contains(&narrow));
    contract == found
        || takes_in(contract, found)
        || (matches!(found, "TAX_ID" | "NATIONAL_ID" | "BANK_ACCOUNT" | "DRIVERS_LICENSE") && takes_in(found, contract))
}

/// How a value is written, and not whom it is about: any word of the contract, or a calendar type, says more.
pub(super) fn is_form(info_type: InfoType) -> bool {
    matches!(info_type, InfoType::Uuid | InfoType::Url | InfoType::Date | InfoType::DateTime)
}

/// Forms that say nothing at all about a person where nobody has given them a meaning.
pub(super) fn is_harmless(info_type: InfoType) -> bool {
    matches!(info_type, InfoType::Uuid | InfoType::Url)
}

/// Whether the detectors could have seen what the contract says: a word of theirs, with a check digit or a form of its own.
pub(super) fn is_checkable(semantic_type: &str) -> bool {
    InfoType::all().any(|info_type| info_type.semantic_type() == semantic_type && info_type.chance() <= 0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert!(says("BR_CPF", "BR_CPF") && says("ZIP", "BR_CEP") && says("BR_CPF", "TAX_ID") && says("POSTAL_CODE", "ZIP"));
        assert!(!says("BR_CEP", "ZIP"), "a postal code of anywhere is no CEP");
        assert!(!says("BR_CPF", "BR_CNPJ") && !says("FREE_TEXT", "BR_CPF") && !says("BR_CPF", "BR_PIX_KEY"));
    }

    #[test]
    fn every_narrow_word_is_one_of_the_detectors_or_a_wide_one() {
        let known = |word: &str| InfoType::all().any(|info_type| info_type.semantic_type() == word) || WIDER.iter().any(|(wide, _)| *wide == word);
        let unknown: Vec<&str> = WIDER.iter().flat_map(|(_, words)| *words).copied().filter(|word| !known(word)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
