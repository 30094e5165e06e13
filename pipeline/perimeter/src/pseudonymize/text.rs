//! `deidentifyText`: what detectors find in a text becomes something else, by its type; what lies between is copied.
//!
//! A batch goes through in three steps. Every text is scanned once for all types, and each finding is noted with the number of its value among
//! those of its transform; the keyed transforms make their tokens, all values of the batch together; then the texts are put together. A
//! value that its transform and the policy's fallback refuse is replaced by its type in brackets: nothing that was found is ever left, but
//! what the policy keeps by name.
use super::specify::{canonical, fpe_options, keyless, token_encoding};
use crate::error::Result;
use crate::keys::Keys;
use crate::plan::decide::JoinDomain;
use crate::plan::text::{Becomes, TextPlan};
use perimeter_contract::policy::Transform;
use perimeter_detect::{Context, Detector, Findings, InfoType};
use perimeter_pseudonym::transform::{
    CharacterMask, CryptoDeterministic, CryptoHash, CryptoHashOptions, CryptoReplaceFfxFpe, Exceptions, Guarded, OnEmpty, OnInvalid, OnNull, Rules,
    TextTransform, Tokens,
};
use std::fmt;
use std::sync::Arc;

/// Detectors, and what becomes of what they find. Cloned into each partition.
pub struct TextWork {
    detector: Arc<Detector>,
    place: Context,
    /// Every type that there is, sorted.
    types: Arc<[(InfoType, Action)]>,
    keyed: Vec<Guarded>,
    batch: Batch,
}

/// What becomes of the values of one type.
#[derive(Clone)]
struct Action {
    does: Does,
    /// The type in brackets: what becomes of a value that has no token.
    name: Box<str>,
}

#[derive(Clone)]
enum Does {
    /// It stays.
    Keep,
    /// One text for all.
    Constant(Box<str>),
    /// A mask.
    Mask(CharacterMask),
    /// By its place among the keyed transforms.
    Keyed(usize),
}

/// What was found in the batch at hand, and buffers that are used again.
#[derive(Default)]
struct Batch {
    findings: Findings,
    places: Vec<Place>,
    tokens: Vec<Tokens>,
}

/// One finding. `start` and `end` are bytes of its text.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    /// The place in [`TextWork::types`].
    kind: u32,
    /// The number of its value among those of its keyed transform.
    value: u32,
}

impl Clone for TextWork {
    fn clone(&self) -> Self {
        Self { detector: Arc::clone(&self.detector), place: self.place, types: Arc::clone(&self.types), keyed: self.keyed.clone(), batch: Batch::default() }
    }
}

// Values of texts are in the buffers, and keys in the transforms.
impl fmt::Debug for TextWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextWork").field("types", &self.types.len()).field("keyed", &self.keyed.len()).finish_non_exhaustive()
    }
}

/// A finding has no place or no token: a fault of a detector or a transform, and the end of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFault;

impl TextWork {
    /// `None` for options that make no transform.
    pub(super) fn new(plan: &TextPlan, keys: &Keys) -> Result<Option<Self>> {
        let mut keyed = Vec::new();
        let mut types = Vec::new();
        let builtin = InfoType::all().map(|info_type| (info_type, info_type.name().to_owned()));
        let custom = (0..plan.custom).map(InfoType::Custom).map(|info_type| (info_type, plan.detector.name_of(info_type).to_owned()));
        for (info_type, name) in builtin.chain(custom) {
            let becomes = plan.listed.iter().find(|listed| listed.info_type == info_type).map_or(&plan.default, |listed| &listed.becomes);
            let name: Box<str> = format!("[{name}]").into();
            let does = match &becomes.transform {
                Transform::Keep => Does::Keep,
                Transform::ReplaceWithInfoType => Does::Constant(name.clone()),
                Transform::Redact => Does::Constant("".into()),
                Transform::Replace { new_value } => Does::Constant(new_value.as_str().into()),
                Transform::CharacterMask { .. } => match keyless(&becomes.transform) {
                    Some(TextTransform::CharacterMask(mask)) => Does::Mask(mask),
                    _ => return Ok(None),
                },
                _ => match guarded(becomes, keys)? {
                    Some(guarded) => {
                        keyed.push(guarded);
                        Does::Keyed(keyed.len() - 1)
                    }
                    None => return Ok(None),
                },
            };
            types.push((info_type, Action { does, name }));
        }
        types.sort_unstable_by_key(|(info_type, _)| *info_type);
        Ok(Some(Self { detector: Arc::clone(&plan.detector), place: plan.place, types: types.into(), keyed, batch: Batch::default() }))
    }

    /// Puts the batch's texts through: `text` gives the text of a row, `None` for null. Then [`Self::write`] gives the results, row by row.
    ///
    /// # Errors
    /// [`TextFault`]: the detector reports a type that there is not.
    pub(super) fn take<'a>(&mut self, rows: usize, text: impl Fn(usize) -> Option<&'a str>) -> std::result::Result<Taken, TextFault> {
        let Batch { findings, places, tokens } = &mut self.batch;
        places.clear();
        let mut ends = Vec::with_capacity(rows);
        let mut values: Vec<Vec<Option<&'a str>>> = vec![Vec::new(); self.keyed.len()];
        for row in 0..rows {
            if let Some(text) = text(row) {
                self.detector.scan(text, &self.place, findings);
                let mut kept = 0;
                for finding in findings.iter() {
                    // Findings neither overlap nor cut characters; if one does, more is replaced, never less.
                    let start = text.floor_char_boundary(finding.span.start).max(kept);
                    let end = text.ceil_char_boundary(finding.span.end);
                    if start >= end {
                        continue;
                    }
                    kept = end;
                    let kind = self.types.binary_search_by_key(&finding.info_type, |(info_type, _)| *info_type).map_err(|_| TextFault)?;
                    let mut value = 0;
                    if let Does::Keyed(index) = self.types[kind].1.does {
                        value = u32::try_from(values[index].len()).map_err(|_| TextFault)?;
                        values[index].push(Some(&text[start..end]));
                    }
                    places.push(Place { start, end, kind: u32::try_from(kind).map_err(|_| TextFault)?, value });
                }
            }
            ends.push(places.len());
        }
        tokens.resize_with(self.keyed.len(), Tokens::default);
        for ((transform, values), tokens) in self.keyed.iter_mut().zip(&values).zip(tokens) {
            transform.apply_many(values, tokens);
        }
        Ok(Taken { ends })
    }

    /// Appends what became of the text of a row.
    ///
    /// # Errors
    /// [`TextFault`]: a value has no token, or the row was not taken.
    pub(super) fn write(&mut self, taken: &Taken, row: usize, text: &str, out: &mut Vec<u8>) -> std::result::Result<(), TextFault> {
        let first = if row == 0 { 0 } else { *taken.ends.get(row - 1).ok_or(TextFault)? };
        let places = self.batch.places.get(first..*taken.ends.get(row).ok_or(TextFault)?).ok_or(TextFault)?;
        let mut kept = 0;
        for place in places {
            let action = &self.types.get(place.kind as usize).ok_or(TextFault)?.1;
            out.extend_from_slice(text.get(kept..place.start).ok_or(TextFault)?.as_bytes());
            let value = text.get(place.start..place.end).ok_or(TextFault)?;
            match &action.does {
                Does::Keep => out.extend_from_slice(value.as_bytes()),
                Does::Constant(constant) => out.extend_from_slice(constant.as_bytes()),
                Does::Mask(mask) => mask.apply(value, out).map_err(|_| TextFault)?,
                Does::Keyed(index) => {
                    let tokens = self.batch.tokens.get(*index).ok_or(TextFault)?;
                    let token = tokens.get(place.value as usize).ok_or(TextFault)?;
                    // Empty by the fallback `redact`, or refused.
                    let refused = token.is_empty() && tokens.refused().binary_search_by_key(&(place.value as usize), |(value, _)| *value).is_ok();
                    out.extend_from_slice(if refused { action.name.as_bytes() } else { token });
                }
            }
            kept = place.end;
        }
        out.extend_from_slice(text.get(kept..).ok_or(TextFault)?.as_bytes());
        Ok(())
    }
}

/// Where the findings of each row of a batch end.
pub(super) struct Taken {
    ends: Vec<usize>,
}

/// A keyed transform that refuses what it cannot make a token of, but for values that the policy's fallback takes.
fn guarded(becomes: &Becomes, keys: &Keys) -> Result<Option<Guarded>> {
    let Some(domain) = becomes.join_domain.as_ref().map(JoinDomain::label) else { return Ok(None) };
    let Some(transform) = keyed(&becomes.transform, &domain, keys)? else { return Ok(None) };
    let mut exceptions = Exceptions::default();
    if let Transform::CryptoReplaceFfxFpe { fallback: Some(fallback), .. } = &becomes.transform {
        let Some(fallback) = keyed(fallback, &domain, keys)? else { return Ok(None) };
        exceptions.fallback = Some(Box::new(fallback));
    }
    let rules = Rules { null: OnNull::Reject, empty: OnEmpty::Reject, invalid: OnInvalid::Reject };
    Ok(Guarded::new(transform, rules, exceptions).ok())
}

/// The transform as a column of the domain has it.
fn keyed(transform: &Transform, domain: &str, keys: &Keys) -> Result<Option<TextTransform>> {
    Ok(match transform {
        Transform::CryptoHash { key, canonicalize, encoding, bytes } => {
            let options = CryptoHashOptions { canonicalize: canonical(canonicalize), encoding: token_encoding(*encoding), bytes: *bytes };
            Some(TextTransform::CryptoHash(CryptoHash::new(keys.root(key)?, domain, &options)))
        }
        Transform::CryptoDeterministic { key, canonicalize } => {
            Some(TextTransform::CryptoDeterministic(CryptoDeterministic::new(keys.root(key)?, domain, &canonical(canonicalize))))
        }
        Transform::CryptoReplaceFfxFpe { key, .. } => {
            // Without lengths: each value is judged by its own.
            let Some(options) = fpe_options(transform) else { return Ok(None) };
            CryptoReplaceFfxFpe::new(keys.root(key)?, domain, &options).ok().map(|transform| TextTransform::CryptoReplaceFfxFpe(Box::new(transform)))
        }
        other => keyless(other),
    })
}

#[cfg(test)]
mod tests;
