//! `deidentifyText` and `detectors`.
use super::{Hash, canonicalize, fpe, join_domain, key, mask, not_blank};
use crate::policy::{Rule, TextDetector, TextMatcher, TextType, TextTypes, Transform, Treatment};
use crate::spanned::{OneOrMany, Spanned};
use crate::typed::policy::text as typed;
use crate::validate::{Report, semantic_type, touched};
use crate::{Diagnostic, Span, codes};

/// The key of what every other type becomes.
const DEFAULT: &str = "default";

/// A regular expression compiles to this at most; all of them together have a limit of their own.
const REGEX_LIMIT_BYTES: usize = 1 << 20;

pub(super) fn types(typed: Spanned<typed::TextTypes>, report: &mut Report) -> Option<TextTypes> {
    let before = report.len();
    let mut default = None;
    let mut listed = Vec::new();
    for (name, treatment) in typed.value.0.0 {
        let Spanned { value: typed, span } = treatment;
        let treatment = self::treatment(typed, span, report);
        if name.value == DEFAULT {
            // The structure takes nothing else there.
            default = treatment.and_then(|treatment| match treatment {
                Treatment::Own { transform, join_domain: None } if transform.key().is_none() && *transform != Transform::Keep => Some(transform),
                _ => None,
            });
            continue;
        }
        let at = name.span;
        if let (Some(name), Some(treatment)) = (semantic_type(name, report), treatment) {
            listed.push(TextType { name, treatment, span: at });
        }
    }
    (report.len() == before).then_some(TextTypes { listed, default: default? })
}

fn treatment(typed: typed::Treatment, span: Span, report: &mut Report) -> Option<Treatment> {
    use typed::{TextTransform, TreatmentWord};
    let keyless = |transform: Transform| Treatment::Own { transform: Box::new(transform), join_domain: None };
    let as_columns = |transform: &'static str| Treatment::AsColumns { transform };
    Some(match typed {
        typed::Treatment::Word(word) => match word {
            TreatmentWord::CryptoHash => as_columns("cryptoHash"),
            TreatmentWord::CryptoDeterministic => as_columns("cryptoDeterministic"),
            TreatmentWord::CryptoReplaceFfxFpe => as_columns("cryptoReplaceFfxFpe"),
            TreatmentWord::CharacterMask => keyless(mask(None, None, None, None, report)?),
            TreatmentWord::Redact => keyless(Transform::Redact),
            TreatmentWord::ReplaceWithInfoType => keyless(Transform::ReplaceWithInfoType),
            TreatmentWord::Keep => keyless(Transform::Keep),
        },
        typed::Treatment::Rule(as_rule) => {
            let join_domain = domain(as_rule.join_domain, report);
            let rule = as_rule.rule.and_then(|rule| not_blank(rule, "rule", report));
            Treatment::AsRule { rule: rule?, join_domain: join_domain? }
        }
        typed::Treatment::Transform(transform) => match *transform {
            TextTransform::CryptoHash(t) => {
                let join_domain = domain(t.join_domain, report);
                let transform = Hash { key: t.key, canonicalize: t.canonicalize, encoding: t.encoding, bytes: t.bytes }.transform(report);
                keyed(transform?, join_domain?)
            }
            TextTransform::CryptoDeterministic(t) => {
                let join_domain = domain(t.join_domain, report);
                let (key, canonicalize) = (key(t.key, report), canonicalize(t.canonicalize, report));
                keyed(Transform::CryptoDeterministic { key: key?, canonicalize: canonicalize? }, join_domain?)
            }
            TextTransform::CryptoReplaceFfxFpe(t) => {
                let join_domain = domain(t.join_domain, report);
                let (key, canonicalize) = (key(t.key, report), canonicalize(t.canonicalize, report));
                let options = fpe::Options {
                    alphabet: t.alphabet,
                    custom_alphabet: t.custom_alphabet,
                    keep_first: t.keep_first,
                    keep_last: t.keep_last,
                    check_digit: t.check_digit,
                    lengths: t.lengths,
                    fallback: t.fallback,
                };
                keyed(fpe::transform(options, key, canonicalize, span, report)?, join_domain?)
            }
            TextTransform::CharacterMask(t) => keyless(mask(t.masking_character, t.keep_first, t.keep_last, t.mask_length, report)?),
            TextTransform::Redact(_) => keyless(Transform::Redact),
            TextTransform::Replace(t) => keyless(Transform::Replace { new_value: not_blank(t.new_value?, "newValue", report)? }),
            TextTransform::ReplaceWithInfoType(_) => keyless(Transform::ReplaceWithInfoType),
        },
    })
}

fn keyed(transform: Transform, join_domain: Option<String>) -> Treatment {
    Treatment::Own { transform: Box::new(transform), join_domain }
}

/// `None` when it is there and wrong.
fn domain(typed: Option<Spanned<String>>, report: &mut Report) -> Option<Option<String>> {
    match typed {
        None => Some(None),
        Some(name) => join_domain(name, report).map(Some),
    }
}

/// A treatment names a rule of this policy whose transform makes sense for a value inside a text.
pub(super) fn rules_are_there(rules: &[Rule], report: &mut Report) {
    for rule in rules {
        let Transform::DeidentifyText(types) = &rule.transform else { continue };
        for listed in &types.listed {
            let Treatment::AsRule { rule: name, .. } = &listed.treatment else { continue };
            match rules.iter().find(|rule| rule.name == *name) {
                None => {
                    let known: Vec<&str> = rules.iter().filter(|rule| rule.transform.is_for_text()).map(|rule| rule.name.as_str()).collect();
                    let message = format!("the policy has no rule `{}`", crate::diagnostic::shorten(name));
                    let help = match crate::diagnostic::nearest(name, &known) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None if known.is_empty() => "write the transform itself: `{transform: cryptoHash, key: …, joinDomain: …}`".to_owned(),
                        None => format!("one of {}", crate::diagnostic::list(&known)),
                    };
                    report.push(Diagnostic::new(codes::UNKNOWN_RULE, listed.span, message).help(help));
                }
                Some(rule) if !rule.transform.is_for_text() => {
                    let message = format!("values inside a text cannot become what rule `{}` says: `{}`", rule.name, rule.transform.name());
                    let help = "`cryptoHash`, `cryptoDeterministic`, `cryptoReplaceFfxFpe`, `characterMask`, `redact`, `replace` or `replaceWithInfoType`";
                    report.push(Diagnostic::new(codes::NOT_FOR_TEXT, listed.span, message).help(help));
                }
                Some(_) => {}
            }
        }
    }
}

pub(super) fn detector(typed: Spanned<typed::Detector>, report: &mut Report) -> Option<TextDetector> {
    let Spanned { value: typed, span } = typed;
    let cut = touched(report, span);
    let before = report.len();
    let at = typed.name.as_ref().map_or(span, |name| name.span);
    let name = typed.name.and_then(|name| semantic_type(name, report));
    let matcher = match (typed.regex, typed.dictionary) {
        (Some(regex), None) => self::regex(regex, report),
        (None, Some(words)) => dictionary(words, report),
        (Some(_), Some(also)) => {
            let message = "a detector looks for a `regex` or for a `dictionary`";
            report.push(Diagnostic::new(codes::BAD_DETECTOR, also.span, message).help("write two detectors"));
            None
        }
        (None, None) => {
            if !cut && report.len() == before {
                let message = "a detector without `regex` and `dictionary` finds nothing";
                report.push(Diagnostic::new(codes::BAD_DETECTOR, at, message).help("`regex: 'E-[0-9]{6}'` or `dictionary: [ALPHA, BETA]`"));
            }
            None
        }
    };
    let context = typed.context.map_or_else(Vec::new, |OneOrMany(words)| words);
    let context: Vec<String> = context.into_iter().filter_map(|word| context_word(word, report)).collect();
    (report.len() == before).then_some(TextDetector {
        name: name?,
        matcher: matcher?,
        check_digit: typed.check_digit,
        likelihood: typed.likelihood.unwrap_or_default(),
        context,
        span: at,
    })
}

fn regex(pattern: Spanned<String>, report: &mut Report) -> Option<TextMatcher> {
    let compiled = regex::RegexBuilder::new(&pattern.value).size_limit(REGEX_LIMIT_BYTES).nest_limit(50).build();
    let (message, help) = match compiled {
        Ok(compiled) if !compiled.is_match("") => return Some(TextMatcher::Regex(pattern.value)),
        Ok(_) => ("the pattern matches the empty text, and so everywhere".to_owned(), "say what must be there: `+` instead of `*`"),
        Err(regex::Error::CompiledTooBig(_)) => ("the pattern is too large".to_owned(), "repeat less: what `{1,1000}` repeats is there a thousand times"),
        Err(other) => {
            let why = other.to_string().lines().last().unwrap_or("it is not a pattern").trim().trim_start_matches("error: ").to_owned();
            (
                format!("the pattern cannot be used: {why}"),
                "Rust's `regex` syntax, without look-around and back-references; it is searched for anywhere in the text",
            )
        }
    };
    report.push(Diagnostic::new(codes::BAD_DETECTOR, pattern.span, message).help(help));
    None
}

fn dictionary(words: Spanned<Vec<Spanned<String>>>, report: &mut Report) -> Option<TextMatcher> {
    let before = report.len();
    if words.value.is_empty() && !touched(report, words.span) {
        report.push(Diagnostic::new(codes::EMPTY_LIST, words.span, "an empty dictionary finds nothing").help("write its words, or remove the detector"));
    }
    let words: Vec<String> = words.value.into_iter().filter_map(|word| not_blank(word, "dictionary", report)).collect();
    (report.len() == before).then_some(TextMatcher::Dictionary(words))
}

/// Context is looked up word by word.
fn context_word(word: Spanned<String>, report: &mut Report) -> Option<String> {
    if !word.value.is_empty() && word.value.chars().all(char::is_alphanumeric) {
        return Some(word.value);
    }
    let message = "a word of `context` is letters and digits";
    report.push(Diagnostic::new(codes::BAD_DETECTOR, word.span, message).help("list the words of a phrase one by one, or put the phrase into the `regex`"));
    None
}
