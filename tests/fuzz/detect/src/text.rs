//! Any text, scanned with all types and some detectors of the caller's own.
//!
//! The first byte says what column the text stands in. Of the rest, control characters that texts do not have stand for pieces that come
//! near to what detectors look for; the others are the text, as far as they are UTF-8.

use perimeter_detect::{
    Check, CheckDigit, Context, CustomDetector, Detector, DetectorOptions, Finding, Findings, InfoType, Likelihood, Matcher, Verdict, luhn, replace_spans,
};
use std::convert::Infallible;
use std::sync::LazyLock;

/// What the bytes 1 to 31 stand for; tab and line ends stand for themselves.
const PIECES: [&str; 32] = [
    "\0",
    "390.533.447-05",
    "39053344705",
    "12.ABC.345/01DE-35",
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "foo@bar.com",
    "https://",
    "www.",
    "\t",
    "\n",
    "10.20.30.40",
    "2001:db8::1",
    "\r",
    "João da Silva",
    "Joa\u{303}o",
    "Rua das Flores, 12",
    "12 Main Street",
    "(11) 98765-4321",
    "+55 11 98456-5666",
    "1990-03-12",
    "12 de maio de 1990",
    "9deb20fe-a6e0-455c-81ea-288b009e4f6d",
    "00:1A:2B:3C:4D:5E",
    "US0378331005",
    "01310-100",
    " cpf ",
    " card ",
    " phone ",
    "536-90-4399",
    "6011-5776-3171-1174",
    "1700000000007",
];

/// Columns that the first byte chooses among.
const COLUMNS: [&str; 8] = ["", "cpf", "card_number", "phone", "birth_date", "customer_name", "street", "account_iban_swift_routing"];

static ALL: LazyLock<Option<Detector>> = LazyLock::new(|| detector(Likelihood::VeryUnlikely));
static DEFAULT: LazyLock<Option<Detector>> = LazyLock::new(|| detector(Likelihood::Possible));

fn detector(min_likelihood: Likelihood) -> Option<Detector> {
    let one = |name: &str, matcher, check_digit, likelihood, context: &[&str]| CustomDetector {
        name: name.into(),
        matcher,
        check_digit,
        likelihood,
        context: context.iter().map(|&word| word.to_owned()).collect(),
    };
    let custom = vec![
        one("CODE", Matcher::Regex(r"é.|\bCT-?\d{3}".into()), None, Likelihood::Possible, &[]),
        one("WORD", Matcher::Dictionary(vec!["ção".into(), "north wing".into()]), None, Likelihood::Likely, &["card"]),
        one("CLUB", Matcher::Regex(r"\b9\d{7}\b".into()), Some(CheckDigit::Luhn), Likelihood::VeryLikely, &[]),
    ];
    Detector::new(&DetectorOptions { custom, min_likelihood, ..DetectorOptions::default() }).ok()
}

/// The text that an input stands for.
fn text_of(input: &[u8]) -> String {
    let mut text = String::new();
    for character in String::from_utf8_lossy(input).chars() {
        match PIECES.get(character as usize) {
            Some(piece) => text.push_str(piece),
            None => text.push(character),
        }
    }
    text
}

/// Runs one input; how many findings there were.
pub fn run(input: &[u8]) -> usize {
    let Some((first, rest)) = input.split_first() else { return 0 };
    let (Some(all), Some(default)) = (&*ALL, &*DEFAULT) else { panic!("the detectors compile") };
    let text = text_of(rest);
    let context = Context::column(COLUMNS[usize::from(first % 8)]);
    let mut findings = Findings::new();
    all.scan(&text, &context, &mut findings);
    let found = findings.as_slice().to_vec();
    sound(&text, &found);
    // A buffer remembers nothing, and what is too unlikely to be reported changes nothing of what is.
    default.scan("João da Silva, Rua das Flores, 12; a@b.com 390.533.447-05", &Context::NONE, &mut findings);
    default.scan(&text, &context, &mut findings);
    let likely: Vec<Finding> = found.iter().filter(|finding| finding.likelihood >= Likelihood::Possible).cloned().collect();
    assert_eq!(findings.as_slice(), likely, "the least likelihood only leaves findings out");
    replaced(&text, &found);
    found.len()
}

fn sound(text: &str, found: &[Finding]) {
    let mut before = 0;
    for finding in found {
        let span = finding.span.clone();
        assert!(before <= span.start && span.start < span.end && span.end <= text.len(), "in order, not empty, not overlapping, inside");
        assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "whole characters");
        before = span.end;
        if matches!(finding.info_type, InfoType::Custom(_)) {
            continue;
        }
        let value = &text[span.clone()];
        assert_eq!(value.trim(), value, "no white space around {:?}", finding.info_type);
        let digits = |a: Option<char>, b: Option<char>| matches!((a, b), (Some(a), Some(b)) if a.is_ascii_digit() && b.is_ascii_digit());
        assert!(!digits(text[..span.start].chars().next_back(), value.chars().next()), "{:?} starts inside a number", finding.info_type);
        assert!(!digits(value.chars().next_back(), text[span.end..].chars().next()), "{:?} ends inside a number", finding.info_type);
        let verdict = finding.info_type.validate(value);
        match finding.check {
            Check::Passed if finding.info_type == InfoType::Pan => {
                // Beside a word for cards, ranges and lengths are not asked for.
                let digits: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).collect();
                assert!(luhn::valid(&digits), "a card that is said to pass Luhn");
            }
            Check::Passed => assert!(verdict.agrees(), "{:?} that is said to pass", finding.info_type),
            Check::Failed => assert!(verdict != Verdict::Valid && finding.likelihood <= Likelihood::Possible, "{:?} that is said to fail", finding.info_type),
            Check::None => {}
        }
    }
}

fn replaced(text: &str, found: &[Finding]) {
    let mut same = String::new();
    let kept = replace_spans(text, found, &mut same, |_, value, out| {
        out.push_str(value);
        Ok::<_, Infallible>(())
    });
    assert!(kept.is_ok() && same == text, "what is replaced by itself is the same");
    let mut gone = String::new();
    let mut taken = 0;
    let dropped = replace_spans(text, found, &mut gone, |_, value, _| {
        taken += value.len();
        Ok::<_, Infallible>(())
    });
    assert!(dropped.is_ok() && gone.len() + taken == text.len(), "nothing but the findings goes");
}
