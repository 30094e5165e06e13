//! Faults that people have reported of other tools (`BUGREPORTS.md`, area PII), each with its kind.

use perimeter_detect::{Check, ColumnProfile, Context, Detector, DetectorOptions, Findings, InfoType, Likelihood, ProfileOptions, Shape, Verdict};

fn found(text: &str) -> Vec<(InfoType, String)> {
    let detector = Detector::new(&DetectorOptions::default()).unwrap();
    let mut findings = Findings::new();
    detector.scan(text, &Context::NONE, &mut findings);
    findings.iter().map(|finding| (finding.info_type, text[finding.span.clone()].to_owned())).collect()
}

fn types(text: &str) -> Vec<InfoType> {
    found(text).into_iter().map(|(info_type, _)| info_type).collect()
}

/// B59: part of a GUID was a telephone number. Its kind: parts of anything that has a form of its own.
#[test]
fn b59_no_part_of_an_identifier_is_another() {
    assert_eq!(types("110bcd25-a55d-453a-8046-1297901ea002"), [InfoType::Uuid]);
    // Digits only, and versions that no one gives out.
    assert_eq!(types("11012325-5551-4532-8046-129790123402"), [InfoType::Uuid]);
    assert_eq!(types("phone 11012325-5551-0532-0046-129790123402"), [InfoType::Uuid]);
    assert_eq!(types("http://example.com/390.533.447-05/4111111111111111"), [InfoType::Url]);
    assert_eq!(types("39053344705@example.com"), [InfoType::Email]);
    assert_eq!(types("BR1800360305000010009795493C1"), [InfoType::Iban]);
    for text in [
        "ORD-4155550132-77",
        "v1.415.555.0132",
        "INV_4155550132",
        "a4155550132b",
        "sha 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "R$ 1.234.567,89",
        "3.14159265358",
    ] {
        assert!(!types(text).contains(&InfoType::Phone), "{text}: {:?}", found(text));
    }
}

/// B60: one card number gave several overlapping hits.
#[test]
fn b60_one_value_one_finding() {
    assert_eq!(found("My credit card number is 6011-5776-3171-1174"), [(InfoType::Pan, "6011-5776-3171-1174".to_owned())]);
    for text in [
        "card 4111111111111111",
        "cartão 5555 5555 5555 4444",
        "tarjeta 378282246310005",
        "cpf 390.533.447-05",
        "cnpj 16727230000197",
        "IBAN DE89 3704 0044 0532 0130 00",
        "SSN 536-90-4399",
        "tel +55 11 98456-5666",
    ] {
        assert_eq!(found(text).len(), 1, "{text}: {:?}", found(text));
    }
}

/// B62: a card that fails Luhn leaked. Its kind: whatever is called something, looks like it, and fails its check digit.
#[test]
fn b62_what_fails_its_check_digit_is_said_so() {
    assert_eq!(InfoType::Pan.validate("1234-5678-1234-5678"), Verdict::Invalid);
    let detector = Detector::new(&DetectorOptions { min_likelihood: Likelihood::VeryUnlikely, ..DetectorOptions::default() }).unwrap();
    let mut findings = Findings::new();
    for (text, info_type) in [
        ("1234-5678-1234-5678", InfoType::Pan),
        ("4111 1111 1111 1112", InfoType::Pan),
        ("390.533.447-06", InfoType::BrCpf),
        ("16.727.230/0001-98", InfoType::BrCnpj),
        ("DE88370400440532013000", InfoType::Iban),
    ] {
        detector.scan(text, &Context::NONE, &mut findings);
        let finding = &findings.as_slice()[0];
        assert_eq!((finding.info_type, finding.check, finding.span.clone()), (info_type, Check::Failed, 0..text.len()), "{text}");
        assert!(finding.likelihood < Likelihood::Possible);
    }
    // Beside its name, it is reported by default.
    for text in ["card 1234-5678-1234-5678", "CPF: 390.533.447-06", "cnpj 16.727.230/0001-98", "IBAN DE88370400440532013000", "credit card 4111111111111112"] {
        assert_eq!(found(text).len(), 1, "{text}");
    }
}

/// B63: seven-digit ids were persons.
#[test]
fn b63_numbers_are_no_persons() {
    let detector = Detector::new(&DetectorOptions::default()).unwrap();
    let mut findings = Findings::new();
    for name in ["id", "customer", "name"] {
        let mut profile = ColumnProfile::new(name, ProfileOptions::default());
        for id in 6_033_391..6_033_691 {
            profile.observe(&id.to_string(), &detector, &mut findings);
        }
        let verdict = profile.verdict();
        assert_eq!((verdict.shape, verdict.info_type()), (Shape::OpaqueId, None), "{name}: {:?}", verdict.agreements);
    }
    assert_eq!(types("Customer 6033391 and 6058722"), []);
}

/// B65: a CNPJ as an integer loses its zeros.
#[test]
fn b65_lost_zeros_are_noticed_not_repaired() {
    assert_eq!(InfoType::BrCnpj.validate("00000400000105"), Verdict::Invalid.max(InfoType::BrCnpj.validate("00.000.400/0001-05")));
    assert_eq!(InfoType::BrCnpj.validate("400000105"), Verdict::Invalid);
    let detector = Detector::new(&DetectorOptions::default()).unwrap();
    let mut findings = Findings::new();
    let mut profile = ColumnProfile::new("doc", ProfileOptions::default());
    for body in 0..300u64 {
        let body = format!("{:012}", (body * 7919 + 11) * 10_000 + 1);
        let check = perimeter_detect::cnpj::digits(body.as_bytes()).unwrap();
        let cnpj = format!("{body}{}", std::str::from_utf8(&check).unwrap());
        profile.observe(cnpj.trim_start_matches('0'), &detector, &mut findings);
    }
    assert_eq!(profile.verdict().lost_leading_zeros, Some(InfoType::BrCnpj));
}

/// B69: an alphanumeric CNPJ failed `^\d{14}$`.
#[test]
fn b69_alphanumeric_cnpj() {
    for cnpj in ["12.ABC.345/01DE-35", "12abc34501de35", "12ABC34501DE35", "12.abc.345/01de-35"] {
        assert_eq!(InfoType::BrCnpj.validate(cnpj), Verdict::Valid, "{cnpj}");
        assert_eq!(found(&format!("cnpj {cnpj}, ok")), [(InfoType::BrCnpj, cnpj.to_owned())]);
    }
    assert_eq!(InfoType::BrCnpj.validate("12ABC34501DE36"), Verdict::Invalid);
}

/// From FACTS: IBANs that swallow the next word, 2-series and 19-digit cards, timestamps, NFC against NFD.
#[test]
fn what_neighbours_users_complain_about() {
    assert_eq!(found("DE89 3704 0044 0532 0130 00 1234 EUR"), [(InfoType::Iban, "DE89 3704 0044 0532 0130 00".to_owned())]);
    assert_eq!(found("GB29NWBK60161331926819 PAID"), [(InfoType::Iban, "GB29NWBK60161331926819".to_owned())]);
    for card in ["2222155765072228", "2720992593319364", "4131034282458809939", "6304000000000000000"] {
        let expected = perimeter_detect::luhn::valid(card.as_bytes());
        assert_eq!(types(&format!("card {card}")), [InfoType::Pan], "{card} {expected}");
    }
    for epoch in ["1700000000", "1700000000007", "1700000000000009", "1700000000000000004"] {
        assert!(!types(&format!("card at {epoch}")).contains(&InfoType::Pan) || !perimeter_detect::luhn::valid(epoch.as_bytes()), "{epoch}");
    }
    assert_eq!(types("Cliente João Conceição"), types("Cliente Joa\u{303}o Conceic\u{327}a\u{303}o"));
}

/// Confusables and digits of other scripts: no crash, and no claim.
#[test]
fn digits_of_other_scripts() {
    for text in [
        "３９０.５３３.４４７-０５",
        "٤١١١١١١١١١١١١١١١",
        "𝟛𝟡𝟘𝟝𝟛𝟛𝟜𝟜𝟟𝟘𝟝",
        "cpf ３９０５３３４４７０５",
        "𝕁𝕠𝕒𝕠 𝕊𝕚𝕝𝕧𝕒",
        "\u{202e}390.533.447-05",
        "İstanbul İ",
        "ﬁ ﬂ ǅ",
    ] {
        for (info_type, span) in found(text) {
            assert!(matches!(info_type, InfoType::BrCpf) && span == "390.533.447-05", "{text}: {info_type:?}");
        }
    }
}
