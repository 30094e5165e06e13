//! What is found in texts, and where.

use perimeter_detect::{Check, CheckDigit, Context, CustomDetector, Detector, DetectorError, DetectorOptions, Findings, InfoType, Likelihood, Matcher};

fn scan(text: &str) -> Vec<(String, String)> {
    scan_in(text, &Context::NONE)
}

fn scan_in(text: &str, context: &Context) -> Vec<(String, String)> {
    let detector = Detector::new(&DetectorOptions::default()).unwrap();
    let mut findings = Findings::new();
    detector.scan(text, context, &mut findings);
    findings.iter().map(|finding| (finding.info_type.name().to_owned(), text[finding.span.clone()].to_owned())).collect()
}

#[track_caller]
fn expect(text: &str, wanted: &[(&str, &str)]) {
    let found = scan(text);
    let wanted: Vec<(String, String)> = wanted.iter().map(|&(info_type, span)| (info_type.to_owned(), span.to_owned())).collect();
    assert_eq!(found, wanted, "in `{text}`");
}

#[test]
fn brazil() {
    expect("CPF 390.533.447-05, tel (11) 98765-4321.", &[("BR_CPF", "390.533.447-05"), ("PHONE", "(11) 98765-4321")]);
    expect("cliente 39053344705 pagou", &[("BR_CPF", "39053344705")]);
    expect("CNPJ 12.ABC.345/01DE-35 e 12abc34501de35", &[("BR_CNPJ", "12.ABC.345/01DE-35"), ("BR_CNPJ", "12abc34501de35")]);
    expect("CEP 01310-100; CEP 01310100", &[("BR_CEP", "01310-100"), ("BR_CEP", "01310100")]);
    expect("RG 24.678.131-2 SSP/SP", &[("BR_RG", "24.678.131-2")]);
    expect("chave pix 9deb20fe-a6e0-455c-81ea-288b009e4f6d", &[("BR_PIX_KEY", "9deb20fe-a6e0-455c-81ea-288b009e4f6d")]);
    expect("processo 4553234-70.2023.4.02.5107", &[("BR_LEGAL_PROCESS", "4553234-70.2023.4.02.5107")]);
    expect("PIS 120.16784.01-8, CNH 65821310502", &[("BR_PIS", "120.16784.01-8"), ("BR_CNH", "65821310502")]);
    expect("Rua das Flores, 123, apto 45 - João da Silva", &[("ADDRESS", "Rua das Flores, 123, apto 45"), ("PERSON_NAME", "João da Silva")]);
}

#[test]
fn banks() {
    expect("pay DE89 3704 0044 0532 0130 00 Mueller today", &[("IBAN", "DE89 3704 0044 0532 0130 00")]);
    expect("IBAN: GB29NWBK60161331926819.", &[("IBAN", "GB29NWBK60161331926819")]);
    expect("NO93 8601 1117 947 and NO9386011117947", &[("IBAN", "NO93 8601 1117 947"), ("IBAN", "NO9386011117947")]);
    expect("card 4111 1111 1111 1111 12/27", &[("PAN", "4111 1111 1111 1111")]);
    expect("swift AGRIFRPP882, isin US0378331005", &[("BIC", "AGRIFRPP882"), ("ISIN", "US0378331005")]);
    expect("routing number 322070381", &[("ABA", "322070381")]);
    expect("LEI 213800KUD8LAJWSQ9D15", &[("LEI", "213800KUD8LAJWSQ9D15")]);
    expect("SSN is 536-90-4399", &[("US_SSN", "536-90-4399")]);
}

#[test]
fn times_are_neither_cards_nor_telephones() {
    expect("2026-01-01T12:00:00Z", &[("DATE_TIME", "2026-01-01T12:00:00Z")]);
    // All of these pass Luhn or have the length of a telephone number.
    for text in ["1700000000004", "1700000000000001", "1700000000000000004", "ts=1700000000"] {
        let found = scan(text);
        assert!(found.iter().all(|(info_type, _)| info_type == "DATE_TIME"), "{text}: {found:?}");
    }
    expect("called at 10:45 on 12/03/2024", &[("DATE", "12/03/2024")]);
    expect("nascido em 12 de janeiro de 1990", &[("DATE_OF_BIRTH", "12 de janeiro de 1990")]);
}

#[test]
fn numbers_that_no_word_announces() {
    let detector = Detector::new(&DetectorOptions { min_likelihood: Likelihood::VeryUnlikely, ..DetectorOptions::default() }).unwrap();
    let mut findings = Findings::new();
    for (text, info_type, likelihood) in [
        // Forms of their own, and a day of birth with a check character.
        ("131052-308T", InfoType::FiHetu, Likelihood::VeryLikely),
        ("131052+308T", InfoType::FiHetu, Likelihood::VeryLikely),
        ("010594Y9032", InfoType::FiHetu, Likelihood::VeryLikely),
        ("960121-1234567", InfoType::KrRrn, Likelihood::Possible),
        ("X-2482300-W", InfoType::EsNif, Likelihood::Likely),
        ("54362315K", InfoType::EsNif, Likelihood::Possible),
        ("AB 12 34 56 C", InfoType::UkNino, Likelihood::Possible),
        ("ab 12 34 56 c", InfoType::UkNino, Likelihood::Unlikely),
        ("078 05 1123", InfoType::UsSsn, Likelihood::Possible),
        ("8001015009087", InfoType::ZaId, Likelihood::Possible),
        // One number in ten passes.
        ("121000358", InfoType::Aba, Likelihood::Unlikely),
        ("435 418 165", InfoType::CaSin, Likelihood::Unlikely),
        ("44051401458", InfoType::PlPesel, Likelihood::Unlikely),
        // No check digit at all.
        ("078051121", InfoType::UsSsn, Likelihood::VeryUnlikely),
    ] {
        detector.scan(text, &Context::NONE, &mut findings);
        let found: Vec<_> = findings.iter().map(|finding| (finding.info_type, finding.span.clone(), finding.likelihood)).collect();
        assert_eq!(found, [(info_type, 0..text.len(), likelihood)], "{text}");
    }
    // Announced by two words together, they are sure.
    expect("My Thai ID is 1234567890121", &[("TH_PIN", "1234567890121")]);
    expect("Steuer-ID 36574261809", &[("DE_TAX_ID", "36574261809")]);
    expect("RIF V-11470283-4", &[("VE_RIF", "V-11470283-4")]);
    expect("reference RF18 5390 0754 7034 paid", &[("CREDITOR_REFERENCE", "RF18 5390 0754 7034")]);
    expect("order 121000358, lot 44051401458, batch 435 418 165", &[]);
}

#[test]
fn places_that_are_called_after_days_and_people() {
    expect("Rua 7 de Setembro", &[]);
    expect("vence em 7 de setembro", &[("DATE", "7 de setembro")]);
    assert_eq!(scan_in("25 de Agosto", &Context::column("city")), []);
    assert_eq!(scan_in("Green-Arellano", &Context::column("company")), []);
    // A firm of one person may bear the person's whole name.
    assert_eq!(scan_in("João da Silva", &Context::column("company")), [("PERSON_NAME".to_owned(), "João da Silva".to_owned())]);
    expect("Customer Xyzzyq Beyer, account", &[("PERSON_NAME", "Xyzzyq Beyer")]);
    expect("Cliente Dipl.-Ing. Freya Schomber", &[("PERSON_NAME", "Freya Schomber")]);
}

#[test]
fn networks() {
    expect(
        "mail a.b+c@example.com. Then www.example.org/x?y=1, or 10.0.0.1!",
        &[("EMAIL", "a.b+c@example.com"), ("URL", "www.example.org/x?y=1"), ("IP", "10.0.0.1")],
    );
    expect("(https://example.com/a_(b)) [2001:db8::1]:80", &[("URL", "https://example.com/a_(b)"), ("IP", "2001:db8::1")]);
    expect("00:1A:2B:3C:4D:5E ::1 fe80::1", &[("MAC", "00:1A:2B:3C:4D:5E"), ("IP", "::1"), ("IP", "fe80::1")]);
    expect("user@xn--80ak6aa92e.com, email=x@y.de", &[("EMAIL", "user@xn--80ak6aa92e.com"), ("EMAIL", "x@y.de")]);
    expect("a@b no@ @x ::: ... http:// www.", &[]);
    expect("route 10.0.0.0/8 and 2001:db8::/32, not 10.0.0.0/33", &[("IP", "10.0.0.0/8"), ("IP", "2001:db8::/32"), ("IP", "10.0.0.0")]);
    // The top levels of smaller countries end file names and sentences too.
    expect("see main.rs or readme.md, shop.com.ee; domain example.ee", &[("URL", "shop.com.ee"), ("URL", "example.ee")]);
}

#[test]
fn names_composed_or_not() {
    for name in ["João Conceição", "Joa\u{303}o Conceic\u{327}a\u{303}o", "JOÃO CONCEIÇÃO"] {
        let text = format!("Cliente {name}, pago");
        assert_eq!(scan(&text), [("PERSON_NAME".to_owned(), name.to_owned())]);
    }
    expect("Mr. Xyzzyq spoke", &[("PERSON_NAME", "Xyzzyq")]);
    expect("Moved to Silva Ltda. The Big Three. Payment Received", &[]);
}

#[test]
fn overlaps_are_resolved() {
    // B60: one card, one finding.
    expect("My credit card number is 6011-5776-3171-1174", &[("PAN", "6011-5776-3171-1174")]);
    // B59: no telephone inside a UUID.
    expect("110bcd25-a55d-453a-8046-1297901ea002", &[("UUID", "110bcd25-a55d-453a-8046-1297901ea002")]);
}

#[test]
fn findings_say_how_likely_they_are() {
    let detector = Detector::new(&DetectorOptions { min_likelihood: Likelihood::VeryUnlikely, ..DetectorOptions::default() }).unwrap();
    let mut findings = Findings::new();
    // B62: looks like a card, fails Luhn.
    detector.scan("1234-5678-1234-5678", &Context::NONE, &mut findings);
    assert_eq!(
        findings.as_slice().iter().map(|f| (f.info_type, f.likelihood, f.check)).collect::<Vec<_>>(),
        [(InfoType::Pan, Likelihood::VeryUnlikely, Check::Failed)]
    );
    detector.scan("card 1234-5678-1234-5678", &Context::NONE, &mut findings);
    assert_eq!((findings.as_slice()[0].likelihood, findings.as_slice()[0].check), (Likelihood::Possible, Check::Failed));
    detector.scan("1234-5678-1234-5678", &Context::column("card_number"), &mut findings);
    assert_eq!(findings.as_slice()[0].likelihood, Likelihood::Possible);
}

#[test]
fn custom_detectors() {
    let custom = vec![
        CustomDetector {
            name: "CONTRACT_NO".into(),
            matcher: Matcher::Regex(r"\bCT-\d{6}\b".into()),
            check_digit: None,
            likelihood: Likelihood::Likely,
            context: Vec::new(),
        },
        CustomDetector {
            name: "BRANCH".into(),
            matcher: Matcher::Dictionary(vec!["north wing".into(), "ágora".into()]),
            check_digit: None,
            likelihood: Likelihood::Possible,
            context: vec!["branch".into()],
        },
        CustomDetector {
            name: "CLUB".into(),
            matcher: Matcher::Regex(r"\b9\d{7}\b".into()),
            check_digit: Some(CheckDigit::Luhn),
            likelihood: Likelihood::VeryLikely,
            context: Vec::new(),
        },
    ];
    let options = DetectorOptions { custom, ..DetectorOptions::default() };
    assert!(!format!("{options:?}").contains("wing"));
    let detector = Detector::new(&options).unwrap();
    let mut findings = Findings::new();
    let text = "CT-123456 branch North Wing, northwing, north wingX, 90000001 90000002; the ágora";
    detector.scan(text, &Context::NONE, &mut findings);
    let found: Vec<(&str, &str)> = findings.iter().map(|f| (detector.name_of(f.info_type), &text[f.span.clone()])).collect();
    assert_eq!(found, [("CONTRACT_NO", "CT-123456"), ("BRANCH", "North Wing"), ("CLUB", "90000001")]);
}

#[test]
fn custom_detectors_that_do_not_compile() {
    let one = |name: &str, matcher| {
        let custom = vec![CustomDetector { name: name.into(), matcher, check_digit: None, likelihood: Likelihood::Likely, context: Vec::new() }];
        Detector::new(&DetectorOptions { custom, ..DetectorOptions::default() }).map(drop)
    };
    assert_eq!(one("lower", Matcher::Regex("a".into())), Err(DetectorError::Name { index: 0 }));
    assert_eq!(one("PAN", Matcher::Regex("a".into())), Err(DetectorError::Duplicate { name: "PAN".into() }));
    for pattern in ["(", "a*", "", r"(?:(?:\pL{1000}){1000}){1000}"] {
        assert_eq!(one("X", Matcher::Regex(pattern.into())), Err(DetectorError::Regex { name: "X".into() }), "{pattern}");
    }
    assert_eq!(one("X", Matcher::Dictionary(vec![" ".into()])), Err(DetectorError::Dictionary { name: "X".into() }));
    assert_eq!(one("X", Matcher::Dictionary(Vec::new())), Err(DetectorError::Dictionary { name: "X".into() }));
}

#[test]
fn types_that_are_not_asked_for_are_not_reported() {
    let detector = Detector::new(&DetectorOptions { types: [InfoType::Email].into_iter().collect(), ..DetectorOptions::default() }).unwrap();
    let mut findings = Findings::new();
    detector.scan("a@b.com 390.533.447-05", &Context::NONE, &mut findings);
    assert_eq!(findings.as_slice().len(), 1);
}
