//! Policies.
mod buckets;
mod fpe;
mod text;

use super::{Report, days, file_name, join_domain, not_blank, semantic_type, touched, unique};
use crate::diagnostic::{list, nearest, shorten};
use crate::policy::TokenEncoding;
use crate::policy::{Canonicalize, Destination, Gates, Invalid, MacieGate, Match, Nulls, Policy, Rule, SampleRows, TextDetector, Transform};
use crate::spanned::{OneOrMany, Spanned};
use crate::typed::policy as typed;
use crate::{Diagnostic, codes};

pub(crate) fn policy(typed: typed::Policy, report: &mut Report) -> Option<Policy> {
    let metadata = typed.metadata.map(|metadata| {
        let name = metadata.name.and_then(|name| file_name(name, "policy", report));
        let owner = metadata.owner.and_then(|owner| not_blank(owner, "owner", report));
        let purpose = metadata.purpose.and_then(|purpose| not_blank(purpose, "purpose", report));
        let legal_basis: Vec<String> = metadata.legal_basis.into_iter().flat_map(|list| list.0).map(|basis| basis.value).collect();
        Some((name?, metadata.version?, owner?, purpose?, legal_basis))
    });
    let privacy_unit = typed.privacy_unit.map(|unit| unit.join_domain.and_then(|domain| join_domain(domain, report)));
    let rules = typed.rules.map(|rules| {
        if rules.value.is_empty() && !touched(report, rules.span) {
            report.push(Diagnostic::new(codes::EMPTY_LIST, rules.span, "`rules` is empty").help("a column that no rule matches is refused: write a rule"));
        }
        let count = rules.value.len();
        let rules: Vec<Rule> = rules.value.into_iter().filter_map(|rule| self::rule(rule, report)).collect();
        (rules.len() == count).then_some(rules)
    });
    let rules = rules.flatten();
    unique(rules.iter().flatten().map(|rule| (rule.name.as_str(), rule.span)), "the rule", report);
    if let Some(rules) = &rules {
        text::rules_are_there(rules, report);
    }
    let detectors: Vec<Option<TextDetector>> = typed.detectors.into_iter().flatten().map(|detector| text::detector(detector, report)).collect();
    unique(detectors.iter().flatten().map(|detector| (detector.name.as_str(), detector.span)), "the detector", report);
    let gates = gates(typed.gates.unwrap_or_default(), report);
    let retention = typed.retention.map(|text| days(text, report));
    let destinations: Vec<Option<Destination>> = typed.destinations.into_iter().flatten().map(|destination| self::destination(destination, report)).collect();
    let (name, version, owner, purpose, legal_basis) = metadata.flatten()?;
    Some(Policy {
        name,
        version,
        owner,
        purpose,
        legal_basis,
        privacy_unit: optional(privacy_unit)?,
        rules: rules?,
        detectors: detectors.into_iter().collect::<Option<_>>()?,
        gates: gates?,
        retention_days: optional(retention)?,
        destinations: destinations.into_iter().collect::<Option<_>>()?,
    })
}

fn gates(typed: typed::Gates, report: &mut Report) -> Option<Gates> {
    let sample_rows = typed.findings.and_then(|findings| findings.sample_rows).map_or(Some(SampleRows::DEFAULT), |rows| {
        let sample = match rows.value.0.as_str() {
            "all" => Some(SampleRows::All),
            number => number.parse().ok().filter(|rows| (SampleRows::LEAST..=u64::from(u32::MAX)).contains(rows)).map(SampleRows::AtMost),
        };
        if sample.is_none() {
            let message = format!("`sampleRows: {}` is no number of rows", shorten(&rows.value.0));
            let help = format!("a whole number from {}, or `all`", SampleRows::LEAST);
            report.push(Diagnostic::new(codes::OUT_OF_RANGE, rows.span, message).help(help));
        }
        sample
    });
    let macie = typed.macie.map(|macie| {
        let max_age_days = macie.max_age.and_then(|age| days(age, report))?;
        Some(MacieGate { max_age_days, on_skipped: macie.on_skipped.unwrap_or_default() })
    });
    Some(Gates { max_rejected_fraction: typed.max_rejected_fraction.unwrap_or(0.0), sample_rows: sample_rows?, macie: optional(macie)? })
}

/// What was absent stays absent; what was there and wrong is `None`.
fn optional<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(None) => None,
        Some(some) => Some(some),
    }
}

fn destination(typed: Spanned<typed::Destination>, report: &mut Report) -> Option<Destination> {
    let Spanned { value: typed, .. } = typed;
    if let Some(expires) = typed.agreement.and_then(|agreement| agreement.expires)
        && crate::date_format::CompiledFormat::iso_date().parse_date(&expires.value).is_none()
    {
        report.push(Diagnostic::new(codes::BAD_DESTINATION, expires.span, "`expires` is not a day").help("write it as `2027-06-30`"));
    }
    let uri = typed.uri.and_then(|uri| {
        let place = uri.value.strip_prefix("gs://").or(uri.value.strip_prefix("s3://"));
        if place.is_some_and(|place| !place.is_empty() && !place.starts_with(['/', '*']) && !place.contains(char::is_whitespace)) {
            return Some(uri.value);
        }
        let message = "a destination is a bucket with an optional prefix";
        report.push(Diagnostic::new(codes::BAD_DESTINATION, uri.span, message).help("`gs://bucket/prefix/*` or `s3://bucket/prefix/*`"));
        None
    });
    let region = typed.region.and_then(|region| not_blank(region, "region", report));
    Some(Destination { uri: uri?, region: region? })
}

fn rule(typed: Spanned<typed::Rule>, report: &mut Report) -> Option<Rule> {
    let Spanned { value, span } = typed;
    macro_rules! common {
        ($rule:ident) => {
            ($rule.name, $rule.matches, $rule.nulls, (None, None))
        };
        ($rule:ident, guarded) => {
            ($rule.name, $rule.matches, $rule.nulls, ($rule.empty, $rule.invalid))
        };
    }
    let ((name, matches, nulls, (empty, invalid)), transform) = match value {
        typed::Rule::CryptoHash(r) => {
            let transform = Hash { key: r.key, canonicalize: r.canonicalize, encoding: r.encoding, bytes: r.bytes }.transform(report);
            (common!(r, guarded), transform)
        }
        typed::Rule::CryptoDeterministic(r) => (
            common!(r, guarded),
            canonicalize(r.canonicalize, report).zip(key(r.key, report)).map(|(canonicalize, key)| Transform::CryptoDeterministic { key, canonicalize }),
        ),
        typed::Rule::Encrypt(r) => (common!(r), key(r.key, report).map(|key| Transform::Encrypt { key })),
        typed::Rule::CryptoReplaceFfxFpe(r) => {
            let key = key(r.key, report);
            let canonicalize = canonicalize(r.canonicalize, report);
            let options = fpe::Options {
                alphabet: r.alphabet,
                custom_alphabet: r.custom_alphabet,
                keep_first: r.keep_first,
                keep_last: r.keep_last,
                check_digit: r.check_digit,
                lengths: r.lengths,
                fallback: r.fallback,
            };
            let transform = fpe::transform(options, key, canonicalize, span, report);
            ((r.name, r.matches, r.nulls, (r.empty, r.invalid)), transform)
        }
        typed::Rule::DateShift(r) => {
            let context = r.context.and_then(|context| context.join_domain).and_then(|domain| join_domain(domain, report));
            let key = key(r.key, report);
            let transform =
                key.zip(context).zip(r.max_days).map(|((key, context_join_domain), max_days)| Transform::DateShift { key, context_join_domain, max_days });
            (common!(r), transform)
        }
        typed::Rule::CharacterMask(r) => {
            let transform = mask(r.masking_character, r.keep_first, r.keep_last, r.mask_length, report);
            (common!(r), transform)
        }
        typed::Rule::Truncate(r) => (common!(r), r.length.map(|length| Transform::Truncate { length })),
        typed::Rule::FixedSizeBucketing(r) => {
            let transform = buckets::fixed_size(r.size, r.lower_bound, r.upper_bound, report);
            (common!(r), transform)
        }
        typed::Rule::Bucketing(r) => {
            let transform = buckets::ranges(r.buckets, r.bounds, span, report);
            (common!(r), transform)
        }
        typed::Rule::TimePart(r) => (common!(r), r.part.map(|part| Transform::TimePart { part })),
        typed::Rule::Redact(r) => (common!(r), Some(Transform::Redact)),
        typed::Rule::Replace(r) => {
            let new_value = r.new_value.and_then(|text| not_blank(text, "newValue", report));
            (common!(r), new_value.map(|new_value| Transform::Replace { new_value }))
        }
        typed::Rule::ReplaceWithInfoType(r) => (common!(r), Some(Transform::ReplaceWithInfoType)),
        typed::Rule::DeidentifyText(r) => {
            let types = r.types.and_then(|types| text::types(types, report));
            (common!(r), types.map(Transform::DeidentifyText))
        }
        typed::Rule::Drop(r) => (common!(r), Some(Transform::Drop)),
        typed::Rule::Keep(r) => (common!(r), Some(Transform::Keep)),
    };
    let name = name.and_then(|name| not_blank(name, "name", report));
    let matches = matches.and_then(|matches| self::matches(matches, report));
    if let (Some(Spanned { value: Nulls::Token, span }), Some(transform)) = (&nulls, &transform)
        && !transform.has_null_token()
    {
        let message = format!("`{}` has no token for null", transform.name());
        let help = "`keep` or `reject`; `token` is for `cryptoHash`, `cryptoDeterministic`, `cryptoReplaceFfxFpe` and replacements";
        report.push(Diagnostic::new(codes::NULLS_TOKEN, *span, message).help(help));
    }
    let nulls = nulls.map(|nulls| nulls.value).unwrap_or_default();
    let empty = empty.unwrap_or(nulls);
    let invalid = invalid.unwrap_or(if nulls == Nulls::Token { Invalid::Token } else { Invalid::Reject });
    Some(Rule { name: name?, matches: matches?, transform: transform?, nulls, empty, invalid, span })
}

/// `cryptoHash` as typed, of a rule or of a type inside a text.
struct Hash {
    key: Option<Spanned<String>>,
    canonicalize: Option<OneOrMany<Spanned<typed::Step>>>,
    encoding: Option<TokenEncoding>,
    bytes: Option<Spanned<u8>>,
}

impl Hash {
    fn transform(self, report: &mut Report) -> Option<Transform> {
        let encoding = self.encoding.unwrap_or_default();
        let written_whole = matches!(encoding, TokenEncoding::Int64 | TokenEncoding::Uuid);
        if let Some(bytes) = self.bytes.as_ref().filter(|_| written_whole) {
            let message = "`bytes` says nothing about `int64` and `uuid`, which have 63 and 122 bits";
            report.push(Diagnostic::new(codes::ENCODING_BYTES, bytes.span, message).help("remove it, or use `encoding: hex` or `base64url`"));
        }
        let bytes = self.bytes.map_or(32, |bytes| bytes.value);
        let (canonicalize, key) = (canonicalize(self.canonicalize, report), key(self.key, report));
        Some(Transform::CryptoHash { key: key?, canonicalize: canonicalize?, encoding, bytes })
    }
}

/// `characterMask` as typed.
fn mask(character: Option<Spanned<String>>, first: Option<u32>, last: Option<u32>, length: Option<u32>, report: &mut Report) -> Option<Transform> {
    let masking_character = masking_character(character, report)?;
    Some(Transform::CharacterMask { masking_character, keep_first: first.unwrap_or(0), keep_last: last.unwrap_or(0), mask_length: length })
}

fn key(name: Option<Spanned<String>>, report: &mut Report) -> Option<String> {
    name.and_then(|name| file_name(name, "key", report))
}

fn matches(typed: Spanned<typed::Match>, report: &mut Report) -> Option<Match> {
    let Spanned { value: typed, span } = typed;
    let cut = touched(report, span);
    let before = report.len();
    let mut words = |list: Option<Spanned<OneOrMany<Spanned<String>>>>, check: fn(Spanned<String>, &mut Report) -> Option<String>| -> Vec<String> {
        let Some(Spanned { value: OneOrMany(list), span }) = list else { return Vec::new() };
        if list.is_empty() {
            let message = "an empty list matches nothing";
            report.push(Diagnostic::new(codes::EMPTY_MATCH, span, message).help("write what it matches, or remove the key"));
        }
        list.into_iter().filter_map(|word| check(word, report)).collect()
    };
    let any = |word: Spanned<String>, report: &mut Report| not_blank(word, "match", report);
    let matches = Match {
        semantic_type: words(typed.semantic_type, semantic_type),
        classification: words(typed.classification, any),
        tags: words(typed.tags, any),
        derived_from: words(typed.derived_from, semantic_type),
        join_domain: words(typed.join_domain, join_domain),
    };
    let Match { semantic_type, classification, tags, derived_from, join_domain } = &matches;
    if !cut && report.len() == before && [semantic_type, classification, tags, derived_from, join_domain].iter().all(|list| list.is_empty()) {
        let help = "`semanticType`, `classification`, `tags`, `derivedFrom` or `joinDomain`";
        report.push(Diagnostic::new(codes::EMPTY_MATCH, span, "a rule that looks at nothing matches nothing").help(help));
    }
    (report.len() == before).then_some(matches)
}

fn canonicalize(steps: Option<OneOrMany<Spanned<typed::Step>>>, report: &mut Report) -> Option<Vec<Canonicalize>> {
    let steps = steps.map(|steps| steps.0).unwrap_or_default();
    let before = report.len();
    let mut known: Vec<Canonicalize> = Vec::with_capacity(steps.len());
    for step in steps {
        let Some(value) = Canonicalize::parse(&step.value.0) else {
            let words: Vec<&str> = Canonicalize::WORDS.iter().map(|(word, _)| *word).chain(["leftPad:11"]).collect();
            let help = match nearest(&step.value.0, &words) {
                _ if step.value.0.starts_with("leftPad") => "the length that values have with all their zeros, 1 to 255: `leftPad:11`".to_owned(),
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("one of {}", list(&words)),
            };
            let message = format!("`{}` is not a value of `canonicalize`", shorten(&step.value.0));
            report.push(Diagnostic::new(codes::UNKNOWN_VALUE, step.span, message).help(help));
            continue;
        };
        let same = |other: &Canonicalize| *other == value || matches!((other, value), (Canonicalize::LeftPad(_), Canonicalize::LeftPad(_)));
        if known.iter().any(same) {
            report.push(Diagnostic::new(codes::CANONICALIZE_CONFLICT, step.span, "the step is here twice").help("keep one of them"));
        }
        let other_case = match value {
            Canonicalize::Upper => Some(Canonicalize::Lower),
            Canonicalize::Lower => Some(Canonicalize::Upper),
            _ => None,
        };
        if other_case.is_some_and(|other| known.contains(&other)) {
            report.push(Diagnostic::new(codes::CANONICALIZE_CONFLICT, step.span, "`upper` and `lower` undo each other").help("keep one of them"));
        }
        known.push(value);
    }
    (report.len() == before).then_some(known)
}

fn masking_character(text: Option<Spanned<String>>, report: &mut Report) -> Option<char> {
    let Some(text) = text else { return Some('*') };
    let mut characters = text.value.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) if !character.is_control() => Some(character),
        _ => {
            report.push(Diagnostic::new(codes::BAD_CHARACTER, text.span, "`maskingCharacter` is one character").help("`'*'`"));
            None
        }
    }
}
