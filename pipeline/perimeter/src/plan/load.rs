//! The files that a job's shape names: tokenizers and pinned statistics.
use crate::error::{Culprit, Error, Failure, Result};
use crate::shape::overflow::Side;
use crate::shape::statistics::Statistics;
use crate::shape::tokenize::{Options, Tokenizer};
use crate::store::Stores;
use perimeter_contract::job::{self, Buckets, Uri};
use perimeter_contract::{Contract, Diagnostic, Diagnostics, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// No tokenizer or statistics file is larger.
const MAX_BYTES: u64 = 256 << 20;

/// Loads all of them.
///
/// # Errors
/// Diagnostics (exit 2) at the place in the job that names the file; the store's failures.
pub(super) async fn frozen(contract: &Contract, stores: &Arc<Stores>) -> Result<(BTreeMap<String, Arc<Tokenizer>>, Option<Statistics>)> {
    let shape = &contract.job.shape;
    let refuse = |list: Vec<Diagnostic>| Error::Contract(Diagnostics { list, sources: Arc::clone(&contract.sources) });
    let mut tokenizers = BTreeMap::new();
    let mut problems = Vec::new();
    for (feature, wanted) in shape.features.iter().filter_map(|feature| Some((feature, feature.tokenizer.as_ref()?))) {
        let bytes = read(&wanted.uri, stores).await?;
        let options = Options {
            bos: wanted.bos.clone(),
            eos: wanted.eos.clone(),
            max_tokens: wanted.max_tokens.map(|most| most.get() as usize),
            truncate: match wanted.truncate {
                job::Side::Left => Side::Left,
                job::Side::Right => Side::Right,
            },
        };
        match Tokenizer::from_bytes(&bytes, &options) {
            Ok(tokenizer) => drop(tokenizers.insert(feature.name.clone(), Arc::new(tokenizer))),
            Err(error) => problems.push(problem("tokenizer", wanted.span, format!("the tokenizer of `{}`: {error}", feature.name))),
        }
    }
    let mut statistics = None;
    if let Some(pinned) = &shape.statistics {
        let bytes = read(&pinned.uri, stores).await?;
        match Statistics::from_json(&bytes) {
            Ok(read) => {
                if matches!(shape.buckets, Buckets::Auto(_)) && read.buckets.is_none() {
                    problems.push(problem("statistics", pinned.span, "the statistics hold no buckets, and the job leaves them to the data".to_owned()));
                }
                for feature in shape.features.iter().filter(|feature| feature.is_frozen()) {
                    let there = read.features.get(&feature.name);
                    let scale = there.is_some_and(|there| there.scale.as_ref().is_some_and(|scaler| scaler.is_of(feature.scale)));
                    let vocabulary = there.is_some_and(|there| there.vocabulary.is_some());
                    if (feature.scale.is_frozen() && !scale) || (feature.encode.vocabulary().is_some() && !vocabulary) {
                        let message = format!("the statistics hold no such scale or vocabulary for the feature `{}`", feature.name);
                        problems.push(problem("statistics", pinned.span, message));
                    }
                }
                statistics = Some(read);
            }
            Err(error) => problems.push(problem("statistics", pinned.span, format!("the pinned statistics: {error}"))),
        }
    }
    if problems.is_empty() { Ok((tokenizers, statistics)) } else { Err(refuse(problems)) }
}

fn problem(code: &'static str, span: Span, message: String) -> Diagnostic {
    let help =
        if code == "tokenizer" { "name a Hugging Face `tokenizer.json`, and tokens that it has" } else { "name the `statistics.json` of a run of this job" };
    Diagnostic::new(code, span, message).help(help)
}

async fn read(uri: &Uri, stores: &Arc<Stores>) -> Result<Vec<u8>> {
    let (stores, uri) = (Arc::clone(stores), uri.clone());
    let read = tokio::task::spawn_blocking(move || stores.read_all(&uri, MAX_BYTES)).await;
    read.map_err(|_| Failure::new(Culprit::Outside, "planning-stopped", "loading the shape's files was stopped"))?
}
