//! Policies.
use super::{Report, days, decimal, file_name, join_domain, not_blank, semantic_type, touched, unique};
use crate::policy::{Canonicalize, Destination, Gates, Match, Nulls, Policy, Rule, Transform};
use crate::schema::CheckDigit;
use crate::spanned::{OneOrMany, Spanned};
use crate::typed::policy as typed;
use crate::{Diagnostic, Span, codes};

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
    let gates = Gates { max_rejected_fraction: typed.gates.and_then(|gates| gates.max_rejected_fraction).unwrap_or(0.0) };
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
        gates,
        retention_days: optional(retention)?,
        destinations: destinations.into_iter().collect::<Option<_>>()?,
    })
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
            ($rule.name, $rule.matches, $rule.nulls)
        };
    }
    let ((name, matches, nulls), transform) = match value {
        typed::Rule::CryptoHash(r) => (
            common!(r),
            canonicalize(r.canonicalize, report).zip(key(r.key, report)).map(|(canonicalize, key)| Transform::CryptoHash {
                key,
                canonicalize,
                encoding: r.encoding.unwrap_or_default(),
                bytes: r.bytes.unwrap_or(32),
            }),
        ),
        typed::Rule::CryptoDeterministic(r) => (
            common!(r),
            canonicalize(r.canonicalize, report).zip(key(r.key, report)).map(|(canonicalize, key)| Transform::CryptoDeterministic { key, canonicalize }),
        ),
        typed::Rule::CryptoReplaceFfxFpe(r) => {
            let common = common!(r);
            let keep_first = r.keep_first.as_ref().map_or(0, |n| n.value);
            let keep_last = r.keep_last.as_ref().map_or(0, |n| n.value);
            let span = r.keep_last.or(r.keep_first).map_or(span, |n| n.span);
            let kept_is_fine = kept_digits(keep_first, keep_last, r.check_digit, span, report);
            let transform = canonicalize(r.canonicalize, report)
                .zip(key(r.key, report))
                .filter(|_| kept_is_fine)
                .map(|(canonicalize, key)| Transform::CryptoReplaceFfxFpe { key, keep_first, keep_last, check_digit: r.check_digit, canonicalize });
            (common, transform)
        }
        typed::Rule::DateShift(r) => {
            let context = r.context.and_then(|context| context.join_domain).and_then(|domain| join_domain(domain, report));
            let key = key(r.key, report);
            let transform =
                key.zip(context).zip(r.max_days).map(|((key, context_join_domain), max_days)| Transform::DateShift { key, context_join_domain, max_days });
            (common!(r), transform)
        }
        typed::Rule::CharacterMask(r) => {
            let character = masking_character(r.masking_character, report);
            let transform = character.map(|masking_character| Transform::CharacterMask {
                masking_character,
                keep_first: r.keep_first.unwrap_or(0),
                keep_last: r.keep_last.unwrap_or(0),
                mask_length: r.mask_length,
            });
            (common!(r), transform)
        }
        typed::Rule::Truncate(r) => (common!(r), r.length.map(|length| Transform::Truncate { length })),
        typed::Rule::FixedSizeBucketing(r) => {
            let size = r.size.and_then(|size| {
                let number = decimal(&size.value.0.0).filter(|number| number.unscaled > 0);
                if number.is_none() {
                    let message = "`size` is not a width of a bucket";
                    report.push(Diagnostic::new(codes::BAD_SIZE, size.span, message).help("a number greater than 0, 38 digits at most: `5`, `0.25`"));
                }
                number
            });
            (common!(r), size.map(|size| Transform::FixedSizeBucketing { size }))
        }
        typed::Rule::Drop(r) => (common!(r), Some(Transform::Drop)),
        typed::Rule::Keep(r) => (common!(r), Some(Transform::Keep)),
    };
    let name = name.and_then(|name| not_blank(name, "name", report));
    let matches = matches.and_then(|matches| self::matches(matches, report));
    if let (Some(Spanned { value: Nulls::Token, span }), Some(transform)) = (&nulls, &transform)
        && !matches!(transform, Transform::CryptoHash { .. })
    {
        let message = format!("`{}` has no token for null", transform.name());
        report.push(Diagnostic::new(codes::NULLS_TOKEN, *span, message).help("`keep` or `reject`; `token` is for `cryptoHash`"));
    }
    Some(Rule { name: name?, matches: matches?, transform: transform?, nulls: nulls.map(|nulls| nulls.value).unwrap_or_default(), span })
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

fn canonicalize(steps: Option<OneOrMany<Spanned<Canonicalize>>>, report: &mut Report) -> Option<Vec<Canonicalize>> {
    let steps = steps.map(|steps| steps.0).unwrap_or_default();
    let before = report.len();
    for (index, step) in steps.iter().enumerate() {
        let earlier = || steps.iter().take(index).map(|step| step.value);
        if earlier().any(|other| other == step.value) {
            report.push(Diagnostic::new(codes::CANONICALIZE_CONFLICT, step.span, "the step is here twice").help("keep one of them"));
        }
        let other_case = match step.value {
            Canonicalize::Upper => Some(Canonicalize::Lower),
            Canonicalize::Lower => Some(Canonicalize::Upper),
            _ => None,
        };
        if other_case.is_some_and(|other| earlier().any(|step| step == other)) {
            report.push(Diagnostic::new(codes::CANONICALIZE_CONFLICT, step.span, "`upper` and `lower` undo each other").help("keep one of them"));
        }
    }
    (report.len() == before).then(|| steps.into_iter().map(|step| step.value).collect())
}

/// FF1 needs six digits to work on; where the check digit tells the length of the value, this can be said before any data is seen.
fn kept_digits(first: u8, last: u8, check_digit: Option<CheckDigit>, span: Span, report: &mut Report) -> bool {
    let (body, what) = match check_digit {
        Some(CheckDigit::Cpf) => (9, "a CPF has nine digits before its check digits"),
        Some(CheckDigit::Cnpj) => (12, "a CNPJ has twelve characters before its check digits"),
        Some(CheckDigit::Luhn) => (18, "a card number has eighteen digits at most before its check digit"),
        None => return true,
    };
    if u32::from(first) + u32::from(last) + 6 <= body {
        return true;
    }
    let help = format!("{what}: keep {} at most", body - 6);
    report.push(Diagnostic::new(codes::TOO_FEW_DIGITS, span, "fewer than six digits are left to encrypt").help(help));
    false
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
