//! What holds for every text.

use perimeter_detect::{Context, CustomDetector, Detector, DetectorOptions, Finding, Findings, InfoType, Likelihood, Matcher, replace_spans};
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::LazyLock;

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let custom = vec![
        CustomDetector {
            name: "CODE".into(),
            matcher: Matcher::Regex(r"é.|\d{3}".into()),
            check_digit: None,
            likelihood: Likelihood::Possible,
            context: Vec::new(),
        },
        CustomDetector {
            name: "WORD".into(),
            matcher: Matcher::Dictionary(vec!["ção".into(), "a".into()]),
            check_digit: None,
            likelihood: Likelihood::Possible,
            context: vec!["x".into()],
        },
    ];
    Detector::new(&DetectorOptions { custom, min_likelihood: Likelihood::VeryUnlikely, ..DetectorOptions::default() }).unwrap()
});

static BUILT_IN: LazyLock<Detector> = LazyLock::new(|| Detector::new(&DetectorOptions::default()).unwrap());

/// Pieces of which texts are made that come near to what detectors look for.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("390.533.447-05"),
        Just("39053344705"),
        Just("12.ABC.345/01DE-35"),
        Just("4111 1111 1111 1111"),
        Just("DE89 3704 0044 0532 0130 00"),
        Just("foo@bar.com"),
        Just("http://"),
        Just("www."),
        Just("::"),
        Just("1.2.3.4"),
        Just("2001:db8::1"),
        Just("João"),
        Just("Joa\u{303}o"),
        Just("da"),
        Just("Silva"),
        Just("Rua"),
        Just("Street"),
        Just("123"),
        Just("("),
        Just(")"),
        Just("+55"),
        Just("11"),
        Just("98765-4321"),
        Just("x12"),
        Just("@"),
        Just("."),
        Just("-"),
        Just(" "),
        Just("\n"),
        Just("é"),
        Just("７"),
        Just("٣"),
        Just("\u{301}"),
        Just("\u{200d}"),
        Just("🤨"),
        Just("cpf"),
        Just("card"),
        Just("12/03/1990"),
        Just("May"),
        Just("º"),
        Just("nº"),
        Just("9deb20fe-a6e0-455c-81ea-288b009e4f6d"),
        Just("00:1A:2B:3C:4D:5E"),
        Just("İ"),
        Just("ß"),
        Just("\u{0}"),
    ]
    .prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![4 => piece, 1 => "\\PC{0,3}".prop_map(|text: String| text)], 0..14).prop_map(|pieces| pieces.concat())
}

fn scan(text: &str, context: &Context) -> Vec<Finding> {
    let mut findings = Findings::new();
    DETECTOR.scan(text, context, &mut findings);
    findings.as_slice().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_sound(text in pieces(), name in "[a-z_]{0,8}") {
        let found = scan(&text, &Context::column(&name));
        let mut before = 0;
        for finding in &found {
            prop_assert!(finding.span.start < finding.span.end && finding.span.end <= text.len());
            prop_assert!(finding.span.start >= before, "overlap");
            prop_assert!(text.is_char_boundary(finding.span.start) && text.is_char_boundary(finding.span.end));
            let part = &text[finding.span.clone()];
            // A custom regular expression takes what it says.
            if !matches!(finding.info_type, InfoType::Custom(_)) {
                prop_assert_eq!(part.trim(), part, "white space");
                // Never a part of a number.
                let joined = |a: Option<char>, b: Option<char>| matches!((a, b), (Some(a), Some(b)) if a.is_ascii_digit() && b.is_ascii_digit());
                prop_assert!(!joined(text[..finding.span.start].chars().next_back(), part.chars().next()), "starts inside a number");
                prop_assert!(!joined(part.chars().next_back(), text[finding.span.end..].chars().next()), "ends inside a number");
            }
            before = finding.span.end;
        }
    }

    #[test]
    fn replacing_keeps_the_rest(text in pieces()) {
        let found = scan(&text, &Context::NONE);
        let mut same = String::new();
        replace_spans(&text, &found, &mut same, |_, value, out| { out.push_str(value); Ok::<_, Infallible>(()) }).unwrap();
        prop_assert_eq!(&same, &text);
        let mut gone = String::new();
        replace_spans(&text, &found, &mut gone, |_, _, _| Ok::<_, Infallible>(())).unwrap();
        prop_assert_eq!(gone.len() + found.iter().map(|finding| finding.span.len()).sum::<usize>(), text.len());
    }

    #[test]
    fn a_buffer_remembers_nothing(first in pieces(), second in pieces()) {
        let mut findings = Findings::new();
        DETECTOR.scan(&first, &Context::NONE, &mut findings);
        DETECTOR.scan(&second, &Context::NONE, &mut findings);
        prop_assert_eq!(findings.as_slice(), &scan(&second, &Context::NONE)[..]);
    }

    #[test]
    fn validators_take_anything(value in pieces()) {
        for info_type in InfoType::all() {
            let verdict = info_type.validate(&value);
            prop_assert_eq!(verdict, info_type.validate(&format!(" {value}\t")), "white space around");
        }
    }

    #[test]
    fn what_surrounds_a_value_does_not_hide_it(before in "[a-zà-ü]{1,6}[ :;(\"]", after in "[ ,;:!?)\"]([a-z]{2,8})?") {
        for (value, info_type) in [
            ("390.533.447-05", InfoType::BrCpf), ("16.727.230/0001-97", InfoType::BrCnpj), ("4111111111111111", InfoType::Pan), ("DE89370400440532013000", InfoType::Iban),
            ("foo@bar.com", InfoType::Email), ("10.20.30.40", InfoType::Ip), ("+55 11 98456-5666", InfoType::Phone), ("9deb20fe-a6e0-455c-81ea-288b009e4f6d", InfoType::Uuid),
        ] {
            let text = format!("{before}{value}{after}");
            let mut findings = Findings::new();
            BUILT_IN.scan(&text, &Context::NONE, &mut findings);
            let found = findings.as_slice();
            let span = before.len()..before.len() + value.len();
            // Behind the word, each of the kinds of Pix keys is one.
            let named = |found: InfoType| found == info_type || found == InfoType::BrPixKey;
            prop_assert!(found.iter().any(|finding| named(finding.info_type) && finding.span == span), "{} in {:?}: {:?}", value, text, found);
        }
    }
}

#[test]
fn long_texts_take_time_in_proportion() {
    // Each of these once is nothing; many of them must not be quadratic. There is no clock here: a quadratic scan would take hours.
    for piece in ["@", "a@", "://", "http://", "1-", "1 ", "(1", "A ", "Rua ", "::", "1:", "a.", "12 Maria ", "4111 ", "DE89 ", "é", "João da "] {
        let text = piece.repeat(400_000 / piece.len());
        let _ = scan(&text, &Context::NONE);
    }
}
