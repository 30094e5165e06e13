//! *pseudonymize*: the policy's transforms, on top of the prepared query and below everything else.
//!
//! [`pseudonymize`] takes [`Prepared`] and gives [`Pseudonymized`], the only thing that *shape* accepts. The query is planned
//! and optimized on its own; [`exec::PseudonymizeExec`] goes on top afterwards, so no optimizer rule can move anything across
//! it. Then the plan is walked once more: every leaf must be a checked scan.
//!
//! [`columns`] applies the transforms to batches; [`cache`] makes cryptography run once per distinct value.
pub mod cache;
pub mod columns;
pub mod exec;

use crate::engine::Limits;
use crate::engine::scan::{Checked, CheckedScan};
use crate::error::{Culprit, Failure, Result};
use crate::keys::Keys;
use crate::plan::decide::JoinDomain;
use crate::plan::{Plan, PlannedColumn};
use crate::prepare::Prepared;
use crate::shape::{HIDDEN_PREFIX, SHARD_COLUMN};
use columns::{ColumnSpec, NullWork, Work};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::prelude::SessionContext;
use perimeter_contract::policy::{self, Nulls, TokenEncoding, Transform};
use perimeter_contract::schema::CheckDigit;
use perimeter_pseudonym::RootKey;
use perimeter_pseudonym::transform::{
    self, Canonicalizer, CharacterMask, CryptoDeterministic, CryptoHash, CryptoHashOptions, DateShift, DateShiftOptions, Encoding, Ff1Digits, Ff1Options,
    TextTransform, Truncate,
};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A physical plan whose rows hold nothing raw: what *shape* takes.
pub struct Pseudonymized {
    pub(crate) context: SessionContext,
    pub(crate) rows: Arc<dyn ExecutionPlan>,
    /// Names of the hidden context columns.
    pub(crate) contexts: Vec<String>,
    /// Rows that went through, counted here so that what is sealed is held against it.
    pub(crate) counted: Arc<AtomicU64>,
    pub(crate) checked: Checked,
}

/// Puts the policy's transforms on top of a prepared query.
///
/// # Errors
/// The query cannot be planned; a key's transform cannot be made; a leaf of the plan is not a checked scan.
pub async fn pseudonymize(prepared: Prepared, plan: &Plan, keys: &Keys, limits: &Limits) -> Result<Pseudonymized> {
    let Prepared { context, query, checked } = prepared;
    let failure = checked.failure.clone();
    let engine_failed = |error| failure.explain(&error);

    // Only what shape and table use is computed; contexts come along because shifts read them.
    let sequence = plan.contract.job.shape.sequence.is_some();
    let mut inputs: Vec<usize> = (0..plan.columns.len()).filter(|&index| plan.columns[index].needed).collect();
    let context_columns: Vec<usize> = {
        let mut used: Vec<usize> = inputs.iter().filter_map(|&index| plan.columns[index].context).collect();
        used.sort_unstable();
        used.dedup();
        used
    };
    for &context in &context_columns {
        if !inputs.contains(&context) {
            inputs.push(context);
        }
    }
    let expressions: Vec<Expr> = inputs.iter().map(|&index| Expr::Column(Column::from(query.schema().qualified_field(index)))).collect();
    let projected = LogicalPlanBuilder::from(query).project(expressions).and_then(LogicalPlanBuilder::build).map_err(engine_failed)?;
    let raw = context.state().create_physical_plan(&projected).await.map_err(engine_failed)?;
    only_checked_leaves(&raw)?;

    let position = |column: usize| inputs.iter().position(|&input| input == column).unwrap_or(usize::MAX);
    let mut specs = Vec::new();
    let mut fields = Vec::new();
    for (input, &index) in inputs.iter().enumerate() {
        let column = &plan.columns[index];
        let Some(data_type) = Plan::output_type(column).filter(|_| column.needed) else { continue };
        fields.push(Field::new(&column.name, data_type, true));
        specs.push(spec(plan, column, input, column.context.map(position), keys)?);
    }
    let visible: Vec<usize> = (0..specs.len()).collect();
    let entity = plan.contract.job.shape.sequence.as_ref().and_then(|sequence| specs.iter().position(|spec| spec.name == sequence.by));
    let mut contexts = Vec::new();
    if sequence {
        for &column in &context_columns {
            let name = format!("{HIDDEN_PREFIX}context_{}", contexts.len());
            fields.push(Field::new(&name, DataType::Int64, true));
            specs.push(context_spec(plan, column, position(column), keys)?);
            contexts.push(name);
        }
    }
    let unplaced = Arc::new(Schema::new(fields.clone()));
    let sorted = sort_columns(plan);
    let tied: Vec<usize> = visible.iter().copied().filter(|&index| !sorted.contains(&specs[index].name.as_str())).collect();
    if !tied.is_empty() {
        fields.push(Field::new(TIE_COLUMN, DataType::Int64, false));
    }
    fields.push(Field::new(ORDER_COLUMN, DataType::Int64, false));
    fields.push(Field::new(SHARD_COLUMN, DataType::Int32, false));
    let schema = Arc::new(Schema::new(fields));
    let cache_bytes = limits.cache_bytes() / limits.threads.max(1);
    let spec = exec::Spec { columns: specs, schema, unplaced, entity, visible, tied, shards: plan.shards, cache_bytes };
    let counted = Arc::new(AtomicU64::new(0));
    let rows = Arc::new(exec::PseudonymizeExec::new(raw, spec, failure.clone(), Arc::clone(&counted)));
    Ok(Pseudonymized { context, rows, contexts, counted, checked })
}

/// The hidden column that rows sort by first: shard and the entity's first bytes.
pub const ORDER_COLUMN: &str = "__order";

/// The hidden column that orders rows whose sort columns are equal; absent when the sort columns are all there are.
pub const TIE_COLUMN: &str = "__tie";

/// The columns that rows of a shard are sorted by, before the tie: entity, then the sequence's order.
pub fn sort_columns(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    if let Some(sequence) = &plan.contract.job.shape.sequence {
        for name in std::iter::once(&sequence.by).chain(&sequence.order_by) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// Every path from a source begins with a checked scan, whatever the optimizer made of the query.
fn only_checked_leaves(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let children = plan.children();
    let node: &dyn std::any::Any = plan.as_ref();
    if children.is_empty() && !(node.is::<CheckedScan>() || node.is::<EmptyExec>() || node.is::<PlaceholderRowExec>()) {
        return Err(Failure::new(Culprit::File, "unchecked-leaf", format!("the query reads from {}, which is not a checked source", plan.name()))
            .help("select from the job's sources only")
            .into());
    }
    children.into_iter().try_for_each(only_checked_leaves)
}

fn canonical(steps: &[policy::Canonicalize]) -> Vec<transform::Canonicalize> {
    steps
        .iter()
        .map(|step| match step {
            policy::Canonicalize::Trim => transform::Canonicalize::Trim,
            policy::Canonicalize::Nfc => transform::Canonicalize::Nfc,
            policy::Canonicalize::Upper => transform::Canonicalize::Upper,
            policy::Canonicalize::Lower => transform::Canonicalize::Lower,
            policy::Canonicalize::Digits => transform::Canonicalize::Digits,
            policy::Canonicalize::StripPunctuation => transform::Canonicalize::StripPunctuation,
        })
        .collect()
}

/// The steps that the policy takes before it makes a token of a column: a shift's context goes through the same ones, so that
/// two spellings of one person pick one shift.
fn canonical_of(column: &PlannedColumn) -> Canonicalizer {
    let steps = match &column.decision.transform {
        Transform::CryptoHash { canonicalize, .. }
        | Transform::CryptoDeterministic { canonicalize, .. }
        | Transform::CryptoReplaceFfxFpe { canonicalize, .. } => canonical(canonicalize),
        _ => Vec::new(),
    };
    Canonicalizer::new(&steps)
}

fn check_digit(digit: CheckDigit) -> transform::CheckDigit {
    match digit {
        CheckDigit::Luhn => transform::CheckDigit::Luhn,
        CheckDigit::Cpf => transform::CheckDigit::Cpf,
        CheckDigit::Cnpj => transform::CheckDigit::Cnpj,
    }
}

fn spec(plan: &Plan, column: &PlannedColumn, input: usize, context: Option<usize>, keys: &Keys) -> Result<ColumnSpec> {
    let decision = &column.decision;
    let domain = decision.join_domain.label();
    let rule = decision.rule.clone().unwrap_or_else(|| "computed from kept columns".to_owned());
    let refused = |_| {
        Failure::new(Culprit::File, "transform-options", format!("rule \"{rule}\" gives {} options that it cannot take", decision.transform.name()))
            .help("see the policy reference for the transform's limits")
    };
    let work = match &decision.transform {
        Transform::Keep | Transform::Drop => Work::Keep,
        Transform::CryptoHash { key, canonicalize, encoding, bytes } => {
            let options = CryptoHashOptions { canonicalize: canonical(canonicalize), encoding: token_encoding(*encoding), bytes: *bytes };
            Work::text(TextTransform::CryptoHash(CryptoHash::new(keys.root(key)?, &domain, &options)))
        }
        Transform::CryptoDeterministic { key, canonicalize } => {
            Work::text(TextTransform::CryptoDeterministic(CryptoDeterministic::new(keys.root(key)?, &domain, &canonical(canonicalize))))
        }
        Transform::CryptoReplaceFfxFpe { key, keep_first, keep_last, check_digit: digit, canonicalize } => {
            let options =
                Ff1Options { canonicalize: canonical(canonicalize), keep_first: *keep_first, keep_last: *keep_last, check_digit: digit.map(check_digit) };
            Work::text(TextTransform::Ff1Digits(Ff1Digits::new(keys.root(key)?, &domain, &options)))
        }
        Transform::CharacterMask { masking_character, keep_first, keep_last, mask_length } => {
            Work::text(TextTransform::CharacterMask(CharacterMask::new(*masking_character, *keep_first, *keep_last, *mask_length)))
        }
        Transform::Truncate { length } => Work::text(TextTransform::Truncate(Truncate::new(*length))),
        Transform::DateShift { key, context_join_domain, max_days } => {
            let domain = JoinDomain::Named(context_join_domain.clone()).label();
            let shift = DateShift::new(keys.root(key)?, &domain, DateShiftOptions { max_days: *max_days });
            let (Some(context), Some(of)) = (context, column.context) else { return Err(refused(()).into()) };
            Work::Shift { context, shift, canonical: canonical_of(&plan.columns[of]) }
        }
        Transform::FixedSizeBucketing { size } => Work::Bucket { size: bucket_size(size, &column.data_type).ok_or_else(|| refused(()))? },
    };
    let nulls = match decision.nulls {
        Nulls::Keep => NullWork::Keep,
        Nulls::Reject => NullWork::Refuse,
        Nulls::Token => NullWork::Token(null_token(&work).ok_or_else(|| refused(()))?),
    };
    Ok(ColumnSpec { name: column.name.clone(), rule, input, data_type: column.data_type.clone(), work, nulls })
}

fn token_encoding(encoding: TokenEncoding) -> Encoding {
    match encoding {
        TokenEncoding::Hex => Encoding::Hex,
        TokenEncoding::Base64url => Encoding::Base64url,
    }
}

fn null_token(work: &Work) -> Option<String> {
    let Work::Text(transform) = work else { return None };
    let TextTransform::CryptoHash(hash) = transform.as_ref() else { return None };
    let mut token = Vec::new();
    hash.apply_null(&mut token);
    String::from_utf8(token).ok()
}

fn context_spec(plan: &Plan, column: usize, input: usize, keys: &Keys) -> Result<ColumnSpec> {
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

/// The bucket's width in units of the column's last digit; `None` when the column cannot express it.
pub(crate) fn bucket_size(size: &perimeter_contract::schema::Decimal, data_type: &DataType) -> Option<i128> {
    let scale = match data_type {
        DataType::Int32 | DataType::Int64 => 0,
        DataType::Decimal128(_, scale) => u32::try_from(*scale).ok()?,
        _ => return None,
    };
    let own = u32::from(size.scale);
    let scaled = if own <= scale {
        size.unscaled.checked_mul(10_i128.checked_pow(scale - own)?)?
    } else {
        let divisor = 10_i128.checked_pow(own - scale)?;
        if size.unscaled % divisor != 0 {
            return None;
        }
        size.unscaled / divisor
    };
    (scaled > 0).then_some(scaled)
}
