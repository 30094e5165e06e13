//! The info types: names, semantic types, validators, and the precedence that their order states.

use crate::{Verdict, address, bank, br, card, date, iban, name, national, net, phone, us};

macro_rules! info_types {
    ($($(#[$doc:meta])* $variant:ident $name:literal $semantic:literal $chance:literal $validate:path;)*) => {
        /// What a value is found to be.
        ///
        /// The order of the variants is the precedence: of two findings of equal likelihood in one place the earlier type wins.
        /// Types with a form of their own come first (nothing else looks like an e-mail address), then those with strong check
        /// digits, then weaker ones, then those that only context tells apart.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum InfoType {
            $($(#[$doc])* $variant,)*
            /// A detector of the caller's own, by its place in [`crate::DetectorOptions::custom`].
            Custom(u16),
        }

        /// One row per built-in type, in the order of the enum.
        const ROWS: &[Row] = &[$(Row { info_type: InfoType::$variant, name: $name, semantic: $semantic, chance_ppm: $chance, validate: $validate },)*];
    };
}

/// What is fixed about a type.
struct Row {
    info_type: InfoType,
    name: &'static str,
    semantic: &'static str,
    /// How many of a million values are valid by chance whose shape, prefixes and dates are right: what the check digit lets through.
    chance_ppm: u32,
    validate: fn(&str) -> Verdict,
}

info_types! {
    /// E-mail address.
    Email "EMAIL" "EMAIL" 100 net::email;
    /// Web address, with or without a scheme.
    Url "URL" "URL" 100 net::url;
    /// UUID of RFC 9562.
    Uuid "UUID" "UUID" 100 net::uuid;
    /// EUI-48 or EUI-64 hardware address.
    Mac "MAC" "MAC" 100 net::mac;
    /// IPv4 or IPv6 address.
    Ip "IP" "IP" 100 net::ip;
    /// A point in time: a date with a time of day, or an epoch.
    DateTime "DATE_TIME" "EVENT_TIME" 130_000 date::date_time;
    /// International bank account number.
    Iban "IBAN" "IBAN" 10_300 iban::validate;
    /// CNPJ, numeric or alphanumeric.
    BrCnpj "BR_CNPJ" "BR_CNPJ" 10_000 br::cnpj;
    /// CPF.
    BrCpf "BR_CPF" "BR_CPF" 10_000 br::cpf;
    /// Payment card number of 13 to 19 digits.
    Pan "PAN" "PAN" 100_000 card::validate;
    /// Legal entity identifier, ISO 17442.
    Lei "LEI" "LEI" 10_300 bank::lei;
    /// Creditor reference, ISO 11649.
    CreditorReference "CREDITOR_REFERENCE" "CREDITOR_REFERENCE" 10_300 bank::creditor_reference;
    /// International securities identification number, ISO 6166.
    Isin "ISIN" "ISIN" 100_000 bank::isin;
    /// Financial instrument global identifier.
    Figi "FIGI" "FIGI" 100_000 bank::figi;
    /// Number of a Brazilian court case (CNJ resolution 65).
    BrLegalProcess "BR_LEGAL_PROCESS" "BR_LEGAL_PROCESS" 10_300 br::legal_process;
    /// Italian fiscal code.
    ItCodiceFiscale "IT_CODICE_FISCALE" "IT_CODICE_FISCALE" 38_500 national::it_codice_fiscale;
    /// Mexican population register code.
    MxCurp "MX_CURP" "MX_CURP" 100_000 national::mx_curp;
    /// Finnish identity code.
    FiHetu "FI_HETU" "FI_HETU" 33_000 national::fi_hetu;
    /// Resident identity card number of China.
    CnRic "CN_RIC" "CN_RIC" 91_000 national::cn_ric;
    /// Resident registration number of South Korea.
    KrRrn "KR_RRN" "KR_RRN" 91_000 national::kr_rrn;
    /// Swiss social insurance number.
    ChAhv "CH_AHV" "CH_AHV" 100_000 national::ch_ahv;
    /// French social insurance number.
    FrNir "FR_NIR" "FR_NIR" 10_300 national::fr_nir;
    /// Argentine uniform bank code.
    ArCbu "AR_CBU" "AR_CBU" 10_000 national::ar_cbu;
    /// Spanish tax number of a person (DNI and NIE).
    EsNif "ES_NIF" "ES_NIF" 43_500 national::es_nif;
    /// Spanish tax number of a company.
    EsCif "ES_CIF" "ES_CIF" 100_000 national::es_cif;
    /// Argentine tax number.
    ArCuit "AR_CUIT" "AR_CUIT" 91_000 national::ar_cuit;
    /// Chilean tax number.
    ClRut "CL_RUT" "CL_RUT" 91_000 national::cl_rut;
    /// Venezuelan tax number.
    VeRif "VE_RIF" "VE_RIF" 91_000 national::ve_rif;
    /// Polish population number.
    PlPesel "PL_PESEL" "PL_PESEL" 100_000 national::pl_pesel;
    /// Belgian national number.
    BeNn "BE_NN" "BE_NN" 20_700 national::be_nn;
    /// Swedish personal number.
    SePersonnummer "SE_PERSONNUMMER" "SE_PERSONNUMMER" 100_000 national::se_personnummer;
    /// Norwegian birth number.
    NoFodselsnummer "NO_FODSELSNUMMER" "NO_FODSELSNUMMER" 8_300 national::no_fodselsnummer;
    /// Romanian personal number.
    RoCnp "RO_CNP" "RO_CNP" 91_000 national::ro_cnp;
    /// Personal code of Estonia and Lithuania.
    EePersonalCode "EE_PERSONAL_CODE" "EE_PERSONAL_CODE" 91_000 national::ee_personal_code;
    /// Turkish identity number.
    TrKimlik "TR_KIMLIK" "TR_KIMLIK" 10_000 national::tr_kimlik;
    /// South African identity number.
    ZaId "ZA_ID" "ZA_ID" 100_000 national::za_id;
    /// German tax identification number.
    DeTaxId "DE_TAX_ID" "DE_TAX_ID" 100_000 national::de_tax_id;
    /// Croatian personal number.
    HrOib "HR_OIB" "HR_OIB" 100_000 national::hr_oib;
    /// Aadhaar of India.
    InAadhaar "IN_AADHAAR" "IN_AADHAAR" 100_000 national::in_aadhaar;
    /// Permanent account number of India.
    InPan "IN_PAN" "IN_PAN" 1_000 national::in_pan;
    /// Thai identity number.
    ThPin "TH_PIN" "TH_PIN" 100_000 national::th_pin;
    /// Peruvian tax number.
    PeRuc "PE_RUC" "PE_RUC" 91_000 national::pe_ruc;
    /// Uruguayan tax number.
    UyRut "UY_RUT" "UY_RUT" 91_000 national::uy_rut;
    /// Ecuadorian identity number.
    EcCi "EC_CI" "EC_CI" 100_000 national::ec_ci;
    /// Colombian tax number.
    CoNit "CO_NIT" "CO_NIT" 91_000 national::co_nit;
    /// Dominican identity number.
    DoCedula "DO_CEDULA" "DO_CEDULA" 100_000 national::do_cedula;
    /// Portuguese tax number.
    PtNif "PT_NIF" "PT_NIF" 91_000 national::pt_nif;
    /// French company number (SIREN and SIRET).
    FrSiren "FR_SIREN" "FR_SIREN" 100_000 national::fr_siren;
    /// British health service number.
    UkNhs "UK_NHS" "UK_NHS" 91_000 national::uk_nhs;
    /// British national insurance number; it has no check digit.
    UkNino "UK_NINO" "UK_NINO" 50_000 national::uk_nino;
    /// Dutch citizen service number.
    NlBsn "NL_BSN" "NL_BSN" 91_000 national::nl_bsn;
    /// Canadian social insurance number.
    CaSin "CA_SIN" "CA_SIN" 100_000 national::ca_sin;
    /// Australian tax file number.
    AuTfn "AU_TFN" "AU_TFN" 91_000 national::au_tfn;
    /// Israeli identity number.
    IlId "IL_ID" "IL_ID" 100_000 national::il_id;
    /// Czech or Slovak birth number.
    CzRc "CZ_RC" "CZ_RC" 100_000 national::cz_rc;
    /// Danish personal number; its check digit is no longer assigned.
    DkCpr "DK_CPR" "DK_CPR" 36_000 national::dk_cpr;
    /// Brazilian social integration number (PIS, PASEP, NIS).
    BrPis "BR_PIS" "BR_PIS" 91_000 br::pis;
    /// Brazilian driving licence.
    BrCnh "BR_CNH" "BR_CNH" 9_000 br::cnh;
    /// Brazilian vehicle register number.
    BrRenavam "BR_RENAVAM" "BR_RENAVAM" 91_000 br::renavam;
    /// Brazilian voter number.
    BrVoterId "BR_VOTER_ID" "BR_VOTER_ID" 8_300 br::voter_id;
    /// Brazilian health card.
    BrCns "BR_CNS" "BR_CNS" 91_000 br::cns;
    /// US social security number.
    UsSsn "US_SSN" "US_SSN" 880_000 us::ssn;
    /// US individual taxpayer number.
    UsItin "US_ITIN" "US_ITIN" 600_000 us::itin;
    /// US employer number.
    UsEin "US_EIN" "US_EIN" 830_000 us::ein;
    /// US bank routing number.
    Aba "ABA" "ABA" 100_000 bank::aba;
    /// CUSIP of North American securities.
    Cusip "CUSIP" "CUSIP" 100_000 bank::cusip;
    /// SEDOL of London-listed securities.
    Sedol "SEDOL" "SEDOL" 100_000 bank::sedol;
    /// Bank identifier code, ISO 9362.
    Bic "BIC" "BIC" 370_000 bank::bic;
    /// Telephone number.
    Phone "PHONE" "PHONE" 600_000 phone::validate;
    /// Brazilian postal code.
    BrCep "BR_CEP" "BR_CEP" 1_000_000 br::cep;
    /// Brazilian identity card.
    BrRg "BR_RG" "BR_RG" 1_000_000 br::rg;
    /// Key of Brazil's instant payments: a random UUID in its context. Keys that are a CPF, CNPJ, telephone or e-mail are found as such.
    BrPixKey "BR_PIX_KEY" "BR_PIX_KEY" 1_000_000 br::pix_key;
    /// A street address, or the part of one that holds street and number.
    Address "ADDRESS" "ADDRESS" 20_000 address::validate;
    /// Name of a person.
    PersonName "PERSON_NAME" "PERSON_NAME" 50_000 name::validate;
    /// A date that its context calls a birth date.
    DateOfBirth "DATE_OF_BIRTH" "DATE_OF_BIRTH" 1_000_000 date::birth;
    /// A calendar date.
    Date "DATE" "EVENT_DATE" 40_000 date::date;
}

impl InfoType {
    /// Every built-in type, in order of precedence.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        ROWS.iter().map(|row| row.info_type)
    }

    /// The stable name, as reports and policies write it; `CUSTOM` for a custom detector, whose own name the [`crate::Detector`] knows.
    pub fn name(&self) -> &'static str {
        self.row().map_or("CUSTOM", |row| row.name)
    }

    /// The built-in type of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.info_type)
    }

    /// Whether `value`, the whole of it, is of this type. White space around the value is not looked at.
    ///
    /// Usual separators and letter case are accepted, since a lower-case IBAN says as much as any other; the strict forms that
    /// contracts check are in [`crate::cpf`], [`crate::cnpj`], [`crate::iban`] and [`crate::luhn`]. A custom type is always invalid here.
    pub fn validate(&self, value: &str) -> Verdict {
        self.row().map_or(Verdict::Invalid, |row| (row.validate)(value.trim()))
    }

    /// Share of values that are [`Verdict::Valid`] by chance when their shape, prefixes and dates are those of the type.
    pub fn chance(&self) -> f64 {
        self.row().map_or(1.0, |row| f64::from(row.chance_ppm) / 1e6)
    }

    /// The semantic type of a contract that this type stands for; the caller names custom ones.
    pub fn semantic_type(&self) -> &'static str {
        self.row().map_or("CUSTOM", |row| row.semantic)
    }

    /// Place in the order of precedence; custom types come before all built-in ones.
    pub(crate) fn rank(self) -> usize {
        match self {
            Self::Custom(index) => usize::from(index),
            _ => usize::from(u16::MAX) + 1 + self.index(),
        }
    }

    fn row(&self) -> Option<&'static Row> {
        ROWS.get(self.index())
    }

    /// Index of a built-in type; beyond the table for a custom one.
    pub(crate) fn index(self) -> usize {
        match ROWS.binary_search_by_key(&self, |row| row.info_type) {
            Ok(index) => index,
            Err(beyond) => beyond,
        }
    }
}

/// The semantic type of a contract (`semanticType`) that an info type stands for, e.g. `EVENT_TIME` for [`InfoType::DateTime`].
pub fn semantic_type_of(info_type: &InfoType) -> &'static str {
    info_type.semantic_type()
}

/// A set of built-in types.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct TypeSet(u128);

impl TypeSet {
    /// No type.
    pub const EMPTY: Self = Self(0);

    /// Every built-in type.
    pub fn all() -> Self {
        InfoType::all().collect()
    }

    /// Whether the type is in the set; a custom type never is.
    pub fn contains(self, info_type: InfoType) -> bool {
        self.0 & bit(info_type) != 0
    }

    /// Puts a type into the set; a custom type is left out.
    pub fn insert(&mut self, info_type: InfoType) {
        self.0 |= bit(info_type);
    }

    /// Both sets together.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets share a type.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The types in order of precedence.
    pub fn iter(self) -> impl Iterator<Item = InfoType> {
        InfoType::all().filter(move |&info_type| self.contains(info_type))
    }
}

const _: () = assert!(ROWS.len() <= 128, "a type set is one u128");

fn bit(info_type: InfoType) -> u128 {
    let index = info_type.index();
    if index < ROWS.len() { 1 << index } else { 0 }
}

impl FromIterator<InfoType> for TypeSet {
    fn from_iter<I: IntoIterator<Item = InfoType>>(types: I) -> Self {
        let mut set = Self::EMPTY;
        types.into_iter().for_each(|info_type| set.insert(info_type));
        set
    }
}

impl std::fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter().map(|info_type| info_type.name())).finish()
    }
}
