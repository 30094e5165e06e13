//! Values that nobody here wrote: `../shared/corpora/detectors` beside the repository. Rows without a variant must pass.
//!
//! Expected to be valid: the validator says valid or possible. Expected to be invalid: it says invalid.

use perimeter_detect::{Check, Context, Detector, DetectorOptions, Findings, InfoType, Verdict, luhn};
use std::collections::BTreeMap;
use std::path::PathBuf;

fn corpus(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/detectors").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(_) => {
            eprintln(&format!("skipped: {name} is not there"));
            None
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test's tally")]
fn eprintln(line: &str) {
    eprintln!("{line}");
}

/// Records of a csv file: quotes, doubled quotes, line ends inside quotes.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => field.push(characters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            other => field.push(other),
        }
    }
    records
}

/// The info types that a type of the corpora stands for: a value is expected to be of any.
fn types_of(name: &str) -> Option<Vec<InfoType>> {
    use InfoType::*;
    Some(match name {
        "aba_routing" => vec![Aba],
        "bic" => vec![Bic],
        "cnpj" => vec![BrCnpj],
        "cpf" => vec![BrCpf],
        "pis_pasep" => vec![BrPis],
        "cep" => vec![BrCep],
        "processo_cnj" => vec![BrLegalProcess],
        "cnh" => vec![BrCnh],
        "cns" => vec![BrCns],
        "renavam" => vec![BrRenavam],
        "titulo_eleitoral" => vec![BrVoterId],
        "card_pan" => vec![Pan],
        "date" | "iso8601" => vec![Date, DateTime],
        "rfc3339" => vec![DateTime],
        "email" => vec![Email],
        "iban" | "stdnum:be.iban" | "stdnum:es.iban" | "stdnum:me.iban" | "stdnum:no.iban" => vec![Iban],
        "ip" => vec![Ip],
        "mac" => vec![Mac],
        "url" => vec![Url],
        "uuid" => vec![Uuid],
        "isin" => vec![Isin],
        "cusip" => vec![Cusip],
        "sedol" => vec![Sedol],
        "figi" => vec![Figi],
        "lei" => vec![Lei],
        "iso11649_rf" => vec![CreditorReference],
        "mobile_phone" | "phone" => vec![Phone],
        "us_ein" => vec![UsEin],
        "us_itin" => vec![UsItin],
        "us_ssn" => vec![UsSsn],
        "us_tin" => vec![UsSsn, UsItin, UsEin],
        "stdnum:ar.cuit" => vec![ArCuit],
        "stdnum:ar.cbu" => vec![ArCbu],
        "stdnum:au.tfn" => vec![AuTfn],
        "stdnum:be.nn" => vec![BeNn],
        "stdnum:ca.sin" => vec![CaSin],
        "stdnum:ch.ssn" => vec![ChAhv],
        "stdnum:cl.rut" => vec![ClRut],
        "stdnum:cn.ric" => vec![CnRic],
        "stdnum:co.nit" => vec![CoNit],
        "stdnum:cz.rc" | "stdnum:sk.rc" => vec![CzRc],
        "stdnum:de.idnr" => vec![DeTaxId],
        "stdnum:dk.cpr" => vec![DkCpr],
        "stdnum:do.cedula" => vec![DoCedula],
        "stdnum:ec.ci" => vec![EcCi],
        "stdnum:ee.ik" | "stdnum:lt.asmens" => vec![EePersonalCode],
        "stdnum:es.dni" | "stdnum:es.nie" => vec![EsNif],
        "stdnum:es.cif" => vec![EsCif],
        "stdnum:fi.hetu" => vec![FiHetu],
        "stdnum:fr.nir" => vec![FrNir],
        "stdnum:fr.siren" | "stdnum:fr.siret" => vec![FrSiren],
        "stdnum:gb.nhs" => vec![UkNhs],
        "stdnum:hr.oib" => vec![HrOib],
        "stdnum:il.idnr" => vec![IlId],
        "stdnum:in_.aadhaar" => vec![InAadhaar],
        "stdnum:in_.pan" => vec![InPan],
        "stdnum:it.codicefiscale" => vec![ItCodiceFiscale],
        "stdnum:kr.rrn" => vec![KrRrn],
        "stdnum:mx.curp" => vec![MxCurp],
        "stdnum:nl.bsn" => vec![NlBsn],
        "stdnum:no.fodselsnummer" => vec![NoFodselsnummer],
        "stdnum:pe.ruc" => vec![PeRuc],
        "stdnum:pl.pesel" => vec![PlPesel],
        "stdnum:pt.nif" => vec![PtNif],
        "stdnum:ro.cnp" => vec![RoCnp],
        "stdnum:se.personnummer" => vec![SePersonnummer],
        "stdnum:th.pin" => vec![ThPin],
        "stdnum:tr.tckimlik" => vec![TrKimlik],
        "stdnum:uy.rut" => vec![UyRut],
        "stdnum:ve.rif" => vec![VeRif],
        "stdnum:za.idnr" => vec![ZaId],
        _ => return None,
    })
}

fn agrees(types: &[InfoType], value: &str) -> bool {
    types.iter().any(|info_type| info_type.validate(value).agrees())
}

#[test]
fn rows_without_a_variant_pass() {
    let mut wrong = Vec::new();
    for file in [
        "aba_routing.csv",
        "bic.csv",
        "br_cnpj_banks.csv",
        "br_cpf_cnpj.csv",
        "br_other.csv",
        "card_pan_luhn.csv",
        "dates_times.csv",
        "email.csv",
        "iban.csv",
        "ip_mac_url.csv",
        "isin_cusip_sedol_figi_lei.csv",
        "national_ids_other.csv",
        "phone.csv",
        "phone_e164_examples.csv",
        "us_ssn_itin_ein.csv",
    ] {
        let Some(text) = corpus(file) else { return };
        let mut tally: BTreeMap<String, [usize; 4]> = BTreeMap::new();
        let mut unclaimed = 0;
        for row in records(&text).iter().skip(1) {
            let [value, name, expected, _, variant, ..] = &row[..] else { continue };
            let Some(types) = types_of(name) else {
                unclaimed += 1;
                continue;
            };
            let right = agrees(&types, value) == (expected == "true");
            let counts = tally.entry(name.clone()).or_default();
            let at = if variant.is_empty() { 0 } else { 2 };
            counts[at] += usize::from(right);
            counts[at + 1] += 1;
            if variant.is_empty() && !right && !policy_differs(name, value) {
                wrong.push(format!("{file}: {name} `{value}` expected {expected}"));
            }
        }
        for (name, [right, all, right_variants, variants]) in tally {
            eprintln(&format!("{file}: {name}: {right} of {all}; with a variant {right_variants} of {variants}"));
        }
        eprintln(&format!("{file}: {unclaimed} rows of types that are not claimed"));
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Rows that the written policy (`DISAGREEMENTS.md`) decides otherwise.
fn policy_differs(name: &str, value: &str) -> bool {
    matches!(
        (name, value),
        ("cpf", "9380826044")
            | ("url", "http://www.foobar.com/\t")
            | ("stdnum:do.cedula", "00114272360")
            | ("iso8601", "2009")
            | ("rfc3339", "2009-05-19T14:39:22")
            | ("date", "2024/05")
    )
}

/// Presidio's own cases of types that have a form of their own or strong check digits: exactly the expected places, by default.
#[test]
fn cases_of_presidio() {
    let Some(text) = corpus("presidio_text_cases.csv") else { return };
    let detector = Detector::new(&DetectorOptions::default()).unwrap();
    let mut findings = Findings::new();
    let (mut cases, mut wrong) = (0, Vec::new());
    for row in records(&text).iter().skip(1) {
        let [text, entity, matches, places, ..] = &row[..] else { continue };
        let info_type = match &entity[..] {
            "iban" => InfoType::Iban,
            "email" => InfoType::Email,
            "mac" => InfoType::Mac,
            "credit_card" => InfoType::Pan,
            "fi_personal_identity_code" if !text.contains("is030594W903B") => InfoType::FiHetu,
            "za_id_number" => InfoType::ZaId,
            // Quotes around a URL are no part of it here.
            "url" if !text.starts_with('\'') => InfoType::Url,
            _ => continue,
        };
        let Ok(places) = serde_json::from_str::<Vec<[usize; 2]>>(places) else { continue };
        if matches.parse() != Ok(places.len()) {
            continue;
        }
        cases += 1;
        detector.scan(text, &Context::NONE, &mut findings);
        let at = |byte: usize| text[..byte].chars().count();
        let claimed = findings.iter().filter(|finding| finding.info_type == info_type && finding.check != Check::Failed);
        let found: Vec<[usize; 2]> = claimed.map(|finding| [at(finding.span.start), at(finding.span.end)]).collect();
        if found != places {
            wrong.push(format!("{entity} `{text}` expected {places:?} found {found:?}"));
        }
    }
    assert!(cases > 150 && wrong.is_empty(), "{} of {cases}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn disagreements_follow_the_policy() {
    let Some(text) = corpus("disagreements.csv") else { return };
    let mut rows = 0;
    for row in records(&text).iter().skip(1) {
        let [value, name, ..] = &row[..] else { continue };
        rows += 1;
        let verdict = match &name[..] {
            "luhn" => {
                // Single spaces between digits are read over.
                assert!(luhn::valid(value.as_bytes()), "{value}");
                continue;
            }
            "cpf" => InfoType::BrCpf.validate(value),
            "iban" => InfoType::Iban.validate(value),
            other => panic!("{other}"),
        };
        let country = value.get(..2).unwrap_or_default();
        let wanted = match (&name[..], country) {
            // A zero in front is missing: the contract says whether to put it back.
            ("cpf", _) => Verdict::Invalid,
            // No country.
            (_, "AA") => Verdict::Invalid,
            // Registered countries: structure and the two check digits; nothing inside the country's own number.
            (_, "BE" | "FR" | "DE" | "GR" | "ES" | "DK" | "NI" | "BI") if !matches!(value.len(), 16 if country == "BI") && country != "NI" => Verdict::Valid,
            // Not in the registry, or a length that it no longer has.
            _ => Verdict::Possible,
        };
        assert_eq!(verdict, wanted, "{value}");
    }
    assert_eq!(rows, 45);
}
