//! Typing and rules: what makes a row fit to go on.
//!
//! [`Checker`] is compiled once per source. Text cells become Arrow arrays through [`Typing`], one per column; then [`Checker::evaluate`] runs every rule of
//! every column over the arrays and says which rows break which rules: all of them, each once. Both work column by column; a batch in which nothing is broken
//! takes no path per row.
//!
//! | beside values of one column | is in |
//! |---|---|
//! | rules about the columns of one row | [`expression`], compiled by [`crate::engine::expression`] |
//! | rules about several rows: unique, references, monotonic | [`sets`], sorted by [`crate::engine::digests`] |
//! | verdicts about the dataset | [`metric`]; queries in [`crate::engine::query`] |
//! | what is said of all of it | [`report`] |
//!
//! Rule codes are `<column>.<rule>`: `type` (the cell is not a value of the column's type), `ambiguous-time` (a local time that the zone has twice or never),
//! `required`, `item-required` (a null in a list), and those of [`perimeter_contract::schema::Check::code`].
pub mod expression;
pub mod metric;
mod number;
pub mod report;
mod rules;
pub mod sets;
mod typing;

pub use number::NumberStyle;
pub use typing::{Cell, List, Typed, Typing};

use crate::error::{Culprit, Failure, Result};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType as ArrowType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use hashbrown::HashMap;
use perimeter_contract::schema::{Column, DataType, Schema, Zone};
use rules::Rule;
use std::sync::Arc;

/// The Arrow type of a checked column: never a view, dictionary or unsigned integer.
pub fn arrow_type(data_type: &DataType) -> ArrowType {
    match data_type {
        DataType::String => ArrowType::Utf8,
        DataType::Int32 => ArrowType::Int32,
        DataType::Int64 => ArrowType::Int64,
        DataType::Decimal { precision, scale } => ArrowType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX)),
        DataType::Float64 => ArrowType::Float64,
        DataType::Boolean => ArrowType::Boolean,
        DataType::Date { .. } => ArrowType::Date32,
        DataType::Time { .. } => ArrowType::Time64(TimeUnit::Microsecond),
        DataType::List(item) => ArrowType::List(Arc::new(Field::new_list_field(arrow_type(item), true))),
        DataType::Timestamp { zone: Zone::None, .. } => ArrowType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp { zone: Zone::Utc { .. }, .. } => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

/// The Arrow schema of a checked source, in contract order. Every column is nullable there: `required` is a rule.
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    Arc::new(ArrowSchema::new(schema.columns.iter().map(|c| Field::new(&c.name, arrow_type(&c.data_type), true)).collect::<Vec<_>>()))
}

/// One broken rule of one row of a batch. Ordered by row, then in contract order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broken {
    /// Row of the batch.
    pub row: u32,
    /// Index into [`Checker::codes`].
    pub code: u32,
}

/// All rules of one source, compiled.
#[derive(Clone, Debug)]
pub struct Checker {
    columns: Vec<ColumnRules>,
    codes: Vec<String>,
    /// By rule of the contract's `rules`; none for those that reject no row.
    set_codes: Vec<Option<u32>>,
}

#[derive(Clone, Debug)]
struct ColumnRules {
    type_code: u32,
    ambiguous_code: u32,
    required_code: Option<u32>,
    item_required_code: Option<u32>,
    /// With the code of each.
    rules: Vec<(Rule, u32)>,
    /// A rule about rows or sets looks at the column.
    needed: bool,
}

/// Codes by number, each once.
#[derive(Default)]
struct Codes {
    list: Vec<String>,
    numbers: HashMap<String, u32, foldhash::fast::FixedState>,
}

impl Codes {
    /// Two rules of one kind share a code: a row is counted once under it.
    fn number(&mut self, code: String) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(code).or_insert_with_key(|code| {
            self.list.push(code.clone());
            next
        })
    }
}

impl Checker {
    /// Compiles the rules of every column.
    ///
    /// # Errors
    /// Exit 2 `rule-not-applicable` when a rule says nothing about its column's type.
    pub fn new(schema: &Schema) -> Result<Self> {
        let mut codes = Codes::default();
        let columns = schema.columns.iter().map(|column| ColumnRules::new(column, &mut codes)).collect::<Result<_>>()?;
        let set_codes = schema.rules.iter().map(|rule| rule.check.rejects_rows().then(|| codes.number(rule.code.clone()))).collect();
        Ok(Self { columns, codes: codes.list, set_codes })
    }

    /// Sees to it that the values of these columns are read and typed: a rule about rows or sets looks at them.
    pub fn look_at(&mut self, columns: impl IntoIterator<Item = usize>) {
        for column in columns {
            if let Some(rules) = self.columns.get_mut(column) {
                rules.needed = true;
            }
        }
    }

    /// Whether [`Checker::look_at`] asked for the column.
    pub fn is_needed(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| c.needed)
    }

    /// Every `<column>.<rule>` that a row can break, and the codes of rules about rows and sets.
    pub fn codes(&self) -> &[String] {
        &self.codes
    }

    /// The code of a rule of the contract's `rules`, when it is one that rejects rows.
    pub fn set_code(&self, rule: usize) -> Option<u32> {
        self.set_codes.get(rule).copied().flatten()
    }

    /// Whether the values of the column must be seen, even if nobody wants them, beyond what its type promises.
    pub fn has_rules(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| c.needed || c.required_code.is_some() || c.item_required_code.is_some() || !c.rules.is_empty())
    }

    /// Whether null is all that the column's rules forbid.
    pub fn forbids_only_null(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|c| !c.needed && c.item_required_code.is_none() && c.rules.is_empty())
    }

    /// The code of a cell that is no value of the column's type.
    pub fn type_code(&self, column: usize) -> u32 {
        self.columns.get(column).map_or(0, |c| c.type_code)
    }

    /// The code of a local time that the column's zone has twice or never.
    pub fn ambiguous_code(&self, column: usize) -> u32 {
        self.columns.get(column).map_or(0, |c| c.ambiguous_code)
    }

    /// Appends what the values of one column break. `untyped`: rows whose cell was no value of the type, ascending; they are null in `array`.
    pub fn evaluate(&self, column: usize, array: &ArrayRef, untyped: &[u32], broken: &mut Vec<Broken>) {
        let Some(rules) = self.columns.get(column) else { return };
        if let Some(code) = rules.required_code
            && array.null_count() > untyped.len()
            && let Some(nulls) = array.nulls()
        {
            let mut untyped = untyped.iter().copied().peekable();
            for (row, valid) in (0u32..).zip(nulls.iter()) {
                if untyped.next_if_eq(&row).is_none() && !valid {
                    broken.push(Broken { row, code });
                }
            }
        }
        if let Some(code) = rules.item_required_code {
            rules::null_items(array, &mut |row| broken.push(Broken { row, code }));
        }
        for (rule, code) in &rules.rules {
            rule.evaluate(array, &mut |row| broken.push(Broken { row, code: *code }));
        }
    }
}

impl ColumnRules {
    fn new(column: &Column, codes: &mut Codes) -> Result<Self> {
        let mut code = |rule: &str| codes.number(format!("{}.{rule}", column.name));
        let (type_code, ambiguous_code) = (code("type"), code("ambiguous-time"));
        let required_code = column.required.then(|| code("required"));
        let item_required_code = (column.item_required && matches!(column.data_type, DataType::List(_))).then(|| code("item-required"));
        let mut rules = Vec::with_capacity(column.rules.len());
        for rule in &column.rules {
            let name = rule.check.code();
            let compiled = Rule::of(rule, &column.data_type).ok_or_else(|| {
                Failure::new(Culprit::File, "rule-not-applicable", format!("rule `{name}` of column `{}` cannot be applied to its type", column.name))
                    .help("Remove the rule, write its values as the type does, or change the column's logicalType")
            })?;
            rules.push((compiled, code(name)));
        }
        Ok(Self { type_code, ambiguous_code, required_code, item_required_code, rules, needed: false })
    }
}

#[cfg(test)]
mod tests;
