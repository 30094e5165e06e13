//! The policy's words as transforms.
use super::columns::{ColumnSpec, NullWork, Output, Work};
use super::text::TextWork;
use crate::error::{Culprit, Failure, Result};
use crate::keys::Keys;
use crate::plan::decide::JoinDomain;
use crate::plan::format::Verdict;
use crate::plan::{Plan, PlannedColumn, value_type};
use datafusion::arrow::datatypes::DataType;
use perimeter_contract::policy::{self, Invalid, Nulls, TokenEncoding, Transform};
use perimeter_contract::schema::Decimal;
use perimeter_pseudonym::RootKey;
use perimeter_pseudonym::transform::{
    self, Alphabet, Bucket, Bucketing, Canonicalizer, CharacterMask, CryptoDeterministic, CryptoHash, CryptoHashOptions, CryptoReplaceFfxFpe, DateShift,
    DateShiftOptions, Encoding, Encrypt, EncryptOptions, Exceptions, FixedSizeBucketing, FpeOptions, Guarded, OnEmpty, OnInvalid, OnNull, Replace, Rules,
    TextTransform, Truncate,
};

/// The policy's steps.
pub(crate) fn canonical(steps: &[policy::Canonicalize]) -> Vec<transform::Canonicalize> {
    steps
        .iter()
        .map(|step| match step {
            policy::Canonicalize::Trim => transform::Canonicalize::Trim,
            policy::Canonicalize::Nfc => transform::Canonicalize::Nfc,
            policy::Canonicalize::Upper => transform::Canonicalize::Upper,
            policy::Canonicalize::Lower => transform::Canonicalize::Lower,
            policy::Canonicalize::Digits => transform::Canonicalize::Digits,
            policy::Canonicalize::StripPunctuation => transform::Canonicalize::StripPunctuation,
            policy::Canonicalize::LeftPad(length) => transform::Canonicalize::LeftPad(*length),
        })
        .collect()
}

/// The options of `cryptoReplaceFfxFpe`, without lengths; `None` for other transforms and for characters that are no alphabet.
pub(crate) fn fpe_options(transform: &Transform) -> Option<FpeOptions> {
    let Transform::CryptoReplaceFfxFpe { alphabet, keep_first, keep_last, check_digit, canonicalize, .. } = transform else { return None };
    let alphabet = match alphabet {
        None => None,
        Some(policy::Alphabet::Named(name)) => Some(Alphabet::named(name.as_str())?),
        Some(policy::Alphabet::Custom(characters)) => Some(Alphabet::custom(characters).ok()?),
    };
    let check_digit = check_digit.map(|digit| match digit {
        policy::CheckDigit::Luhn => transform::CheckDigit::Luhn,
        policy::CheckDigit::Cpf => transform::CheckDigit::Cpf,
        policy::CheckDigit::Cnpj => transform::CheckDigit::Cnpj,
        policy::CheckDigit::CnpjAlphanumeric => transform::CheckDigit::CnpjAlphanumeric,
        policy::CheckDigit::Iban => transform::CheckDigit::Iban,
    });
    Some(FpeOptions { canonicalize: canonical(canonicalize), alphabet, keep_first: *keep_first, keep_last: *keep_last, check_digit, lengths: None })
}

/// What is done to one column of the query.
pub(super) fn column(plan: &Plan, column: &PlannedColumn, input: usize, context: Option<usize>, keys: &Keys, run_id: &str) -> Result<ColumnSpec> {
    let decision = &column.decision;
    let rule = decision.rule.clone().unwrap_or_else(|| "computed from kept columns".to_owned());
    let refused = || {
        Failure::new(Culprit::File, "transform-options", format!("rule \"{rule}\" gives {} options that it cannot take", decision.transform.name()))
            .help("see the policy reference for the transform's limits")
    };
    let work = match &decision.transform {
        Transform::Keep | Transform::Drop => Work::Keep,
        Transform::CryptoHash { .. } | Transform::CryptoDeterministic { .. } | Transform::CryptoReplaceFfxFpe { .. } => {
            tokens(column, keys)?.ok_or_else(refused)?
        }
        Transform::CharacterMask { .. } | Transform::Truncate { .. } => Work::Plain(Box::new(keyless(&decision.transform).ok_or_else(refused)?)),
        Transform::Redact => Work::Constant(String::new()),
        Transform::Replace { new_value } => Work::Constant(new_value.clone()),
        Transform::ReplaceWithInfoType => {
            let mut text = Vec::new();
            let semantic_type = decision.semantic_types.first().ok_or_else(refused)?;
            Replace::with_info_type(semantic_type).apply("", &mut text).map_err(|_| refused())?;
            Work::Constant(String::from_utf8(text).map_err(|_| refused())?)
        }
        Transform::DeidentifyText(_) => {
            let text = column.text.as_ref().ok_or_else(refused)?;
            Work::Text(Box::new(TextWork::new(text, keys)?.ok_or_else(refused)?))
        }
        Transform::Encrypt { key } => {
            let options = EncryptOptions { dataset: plan.contract.job.name.clone(), column: column.name.clone(), run_id: run_id.to_owned() };
            Work::Encrypt(Box::new(Encrypt::new(keys.root(key)?, &decision.join_domain.label(), &options)))
        }
        Transform::DateShift { key, context_join_domain, max_days } => {
            let domain = JoinDomain::Named(context_join_domain.clone()).label();
            let shift = DateShift::new(keys.root(key)?, &domain, DateShiftOptions { max_days: *max_days });
            let (Some(context), Some(of)) = (context, column.context) else { return Err(refused().into()) };
            Work::Shift { context, shift, canonical: canonical_of(&plan.columns[of]) }
        }
        Transform::FixedSizeBucketing { .. } => Work::FixedSize(fixed_buckets(&decision.transform, value_type(&column.data_type)).ok_or_else(refused)?),
        Transform::Bucketing { buckets: ranges } => Work::Buckets {
            labels: ranges.iter().any(|bucket| bucket.label.is_some()),
            buckets: buckets(&decision.transform, value_type(&column.data_type)).ok_or_else(refused)?,
        },
        Transform::TimePart { part } => Work::TimePart(match part {
            policy::TimePart::Year => transform::TimePart::Year,
            policy::TimePart::Month => transform::TimePart::Month,
            policy::TimePart::DayOfMonth => transform::TimePart::DayOfMonth,
            policy::TimePart::DayOfWeek => transform::TimePart::DayOfWeek,
            policy::TimePart::WeekOfYear => transform::TimePart::WeekOfYear,
            policy::TimePart::HourOfDay => transform::TimePart::HourOfDay,
        }),
    };
    let nulls = match decision.nulls {
        Nulls::Keep => NullWork::Keep,
        Nulls::Reject => NullWork::Refuse,
        Nulls::Token => NullWork::Token(null_token(&work).ok_or_else(refused)?),
    };
    Ok(ColumnSpec { name: column.name.clone(), rule, input, data_type: column.data_type.clone(), work, nulls })
}

/// A keyed transform of text under the rules for null, empty and refused values.
fn tokens(column: &PlannedColumn, keys: &Keys) -> Result<Option<Work>> {
    let decision = &column.decision;
    let domain = decision.join_domain.label();
    let mut exceptions = Exceptions::default();
    let mut effective = &decision.transform;
    if let (Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), .. }, Some(format)) = (&decision.transform, &column.format) {
        match format.verdict {
            Verdict::AllFallBack => effective = fallback,
            Verdict::SomeFallBack | Verdict::NotKnown => {
                let Some(transform) = text_transform(fallback, column, &domain, keys)? else { return Ok(None) };
                exceptions.fallback = Some(Box::new(transform));
            }
            Verdict::LargeEnough | Verdict::TooSmall(_) => {}
        }
    }
    let Some(transform) = text_transform(effective, column, &domain, keys)? else { return Ok(None) };
    if !matches!(effective, Transform::CryptoHash { .. }) {
        // The tokens of what has no token of its own: an HMAC under the same key, in the same join domain.
        let root = keys.root(decision.transform.key().unwrap_or_default())?;
        let options = CryptoHashOptions { canonicalize: canonical(decision.transform.canonicalize()), ..CryptoHashOptions::default() };
        exceptions.tokens = Some(CryptoHash::new(root, &domain, &options));
    }
    let rules = Rules {
        null: match decision.nulls {
            Nulls::Keep => OnNull::Keep,
            Nulls::Token => OnNull::Token,
            Nulls::Reject => OnNull::Reject,
        },
        empty: match decision.empty {
            Nulls::Keep => OnEmpty::Keep,
            Nulls::Token => OnEmpty::Token,
            Nulls::Reject => OnEmpty::Reject,
        },
        invalid: match decision.invalid {
            Invalid::Token => OnInvalid::Token,
            Invalid::Reject => OnInvalid::Reject,
        },
    };
    let output = if matches!(effective, Transform::CryptoHash { encoding: TokenEncoding::Int64, .. }) { Output::Int64 } else { Output::Text };
    Ok(Guarded::new(transform, rules, exceptions).ok().map(|guarded| Work::Tokens { transform: Box::new(guarded), output }))
}

/// Transforms of text to text; `None` for others and for options that make none.
fn text_transform(transform: &Transform, column: &PlannedColumn, domain: &str, keys: &Keys) -> Result<Option<TextTransform>> {
    Ok(match transform {
        Transform::CryptoHash { key, canonicalize, encoding, bytes } => {
            let options = CryptoHashOptions { canonicalize: canonical(canonicalize), encoding: token_encoding(*encoding), bytes: *bytes };
            Some(TextTransform::CryptoHash(CryptoHash::new(keys.root(key)?, domain, &options)))
        }
        Transform::CryptoDeterministic { key, canonicalize } => {
            Some(TextTransform::CryptoDeterministic(CryptoDeterministic::new(keys.root(key)?, domain, &canonical(canonicalize))))
        }
        Transform::CryptoReplaceFfxFpe { key, .. } => {
            let Some(options) = column.format.as_ref().map(|format| &format.options) else { return Ok(None) };
            let transform = CryptoReplaceFfxFpe::new(keys.root(key)?, domain, options);
            transform.ok().map(|transform| TextTransform::CryptoReplaceFfxFpe(Box::new(transform)))
        }
        other => keyless(other),
    })
}

pub(super) fn keyless(transform: &Transform) -> Option<TextTransform> {
    Some(match transform {
        Transform::CharacterMask { masking_character, keep_first, keep_last, mask_length } => {
            TextTransform::CharacterMask(CharacterMask::new(*masking_character, *keep_first, *keep_last, *mask_length))
        }
        Transform::Truncate { length } => TextTransform::Truncate(Truncate::new(*length)),
        Transform::Redact => TextTransform::Replace(Replace::redact()),
        Transform::Replace { new_value } => TextTransform::Replace(Replace::with(new_value)),
        _ => return None,
    })
}

pub(super) fn token_encoding(encoding: TokenEncoding) -> Encoding {
    match encoding {
        TokenEncoding::Hex => Encoding::Hex,
        TokenEncoding::Base64url => Encoding::Base64url,
        TokenEncoding::Int64 => Encoding::Int64,
        TokenEncoding::Uuid => Encoding::Uuid,
    }
}

fn null_token(work: &Work) -> Option<String> {
    match work {
        Work::Constant(text) => Some(text.clone()),
        Work::Tokens { transform, .. } => {
            let mut token = Vec::new();
            transform.clone().apply(None, &mut token).ok()?;
            String::from_utf8(token).ok()
        }
        _ => None,
    }
}

/// The hidden column that lets *shape* see that a sequence has one shift context.
pub(super) fn context(plan: &Plan, column: usize, input: usize, keys: &Keys) -> Result<ColumnSpec> {
    let column = &plan.columns[column];
    let key = plan.columns.iter().find_map(|shifted| match &shifted.decision.transform {
        Transform::DateShift { key, context_join_domain, .. } if column.decision.join_domain == JoinDomain::Named(context_join_domain.clone()) => Some(key),
        _ => None,
    });
    let root: &RootKey = keys.root(key.map_or("", String::as_str))?;
    let hash = transform::Context::new(root, &column.decision.join_domain.label());
    Ok(ColumnSpec {
        name: column.name.clone(),
        rule: "shift context".to_owned(),
        input,
        data_type: column.data_type.clone(),
        work: Work::ContextHash { hash, canonical: canonical_of(column) },
        nulls: NullWork::Keep,
    })
}

/// The keyed hash of a row's privacy unit, for statistics that count units. It leaves the process in no form, so any key will do.
pub(super) fn unit(plan: &Plan, column: usize, input: usize, keys: &Keys) -> Result<ColumnSpec> {
    let column = &plan.columns[column];
    let hash = transform::Context::new(keys.root(&plan.contract.job.quarantine.key)?, &column.decision.join_domain.label());
    Ok(ColumnSpec {
        name: column.name.clone(),
        rule: "privacy unit".to_owned(),
        input,
        data_type: column.data_type.clone(),
        work: Work::ContextHash { hash, canonical: canonical_of(column) },
        nulls: NullWork::Keep,
    })
}

/// The steps that the policy takes before it makes a token of a column: a shift's context goes through the same ones, so that
/// two spellings of one person pick one shift.
fn canonical_of(column: &PlannedColumn) -> Canonicalizer {
    Canonicalizer::new(&canonical(column.decision.transform.canonicalize()))
}

/// A number in units of the column's last digit; `None` when the column cannot express it.
fn units(number: &Decimal, data_type: &DataType) -> Option<i128> {
    let (scale, largest) = match data_type {
        DataType::Int32 => (0, i128::from(i32::MAX)),
        DataType::Int64 => (0, i128::from(i64::MAX)),
        DataType::Decimal128(precision, scale) => (u32::try_from(*scale).ok()?, 10_i128.checked_pow(u32::from(*precision))?.checked_sub(1)?),
        _ => return None,
    };
    let own = u32::from(number.scale);
    let scaled = if own <= scale {
        number.unscaled.checked_mul(10_i128.checked_pow(scale - own)?)?
    } else {
        let divisor = 10_i128.checked_pow(own - scale)?;
        if number.unscaled % divisor != 0 {
            return None;
        }
        number.unscaled / divisor
    };
    (scaled.checked_abs()? <= largest).then_some(scaled)
}

/// Buckets of one width for a column; `None` when its type cannot express them.
pub(crate) fn fixed_buckets(transform: &Transform, data_type: &DataType) -> Option<FixedSizeBucketing> {
    let Transform::FixedSizeBucketing { size, lower_bound, upper_bound } = transform else { return None };
    let bound = |bound: &Option<Decimal>, open: i128| bound.as_ref().map_or(Some(open), |number| units(number, data_type));
    let bounds = match (lower_bound, upper_bound) {
        (None, None) => None,
        _ => Some(bound(lower_bound, i128::MIN)?..=bound(upper_bound, i128::MAX)?),
    };
    FixedSizeBucketing::new(units(size, data_type)?, bounds)
}

/// Ranges for a column; `None` when its type cannot express them.
pub(crate) fn buckets(transform: &Transform, data_type: &DataType) -> Option<Bucketing> {
    let Transform::Bucketing { buckets } = transform else { return None };
    let bound = |bound: &Option<Decimal>| match bound {
        None => Some(None),
        Some(number) => units(number, data_type).map(Some),
    };
    let buckets =
        buckets.iter().map(|bucket| Some(Bucket { min: bound(&bucket.min)?, max: bound(&bucket.max)?, replacement: bucket.label.clone().unwrap_or_default() }));
    Bucketing::new(buckets.collect::<Option<_>>()?).ok()
}
