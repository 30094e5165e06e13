//! Expressions of contracts, compiled by the engine to a [`RowRule`].
//!
//! An expression is over the columns of one source and nothing else: no subquery, aggregate or window, no function that gives another answer tomorrow. It is compiled once
//! per source, over the columns that it names. Whole numbers that overflow are errors, not other numbers ([`super::checked`]).
//!
//! The engine's errors while it evaluates a batch quote cells and do not say which row failed: the batch is halved until the rows that fail stand alone. What an
//! expression says of a row in a batch that did not fail is what it says of the row alone.
use super::{Limits, checked, session};
use crate::check::expression::RowRule;
use crate::read::arrow_schema;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::prelude::SessionContext;
use perimeter_contract::Diagnostic;
use perimeter_contract::schema::{Schema, SetCheck, SetRule};
use std::sync::Arc;

/// Compiles the expressions of a contract.
///
/// # Errors
/// `invalid-expression`: it cannot be parsed, names what is not there, reads no column, or is no boolean. `expression-not-allowed`: it is more than an expression over one row.
pub fn compile(schema: &Schema) -> Result<Vec<Arc<dyn RowRule>>, Vec<Diagnostic>> {
    let expressions: Vec<(usize, &SetRule, &str)> = schema
        .rules
        .iter()
        .enumerate()
        .filter_map(|(number, rule)| if let SetCheck::Expression { sql } = &rule.check { Some((number, rule, sql.as_str())) } else { None })
        .collect();
    let Some((_, first, _)) = expressions.first() else { return Ok(Vec::new()) };
    let Ok(context) = session(&Limits::default()) else {
        return Err(vec![Diagnostic::new("invalid-expression", first.span, "the engine does not start: there is no temporary directory")]);
    };
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for (number, rule, sql) in expressions {
        match one(&context, schema, number, rule, sql) {
            Ok(compiled) => rules.push(Arc::new(compiled) as Arc<dyn RowRule>),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}

fn one(context: &SessionContext, schema: &Schema, number: usize, rule: &SetRule, sql: &str) -> Result<Expression, Diagnostic> {
    // No row was read yet: the engine's texts quote the expression and names of the contract.
    let invalid = |text: &str| {
        Diagnostic::new("invalid-expression", rule.span, format!("the expression of `{}` cannot be used: {text}", rule.code))
            .help("an expression is boolean SQL over the columns of one row; names with capitals, points or spaces need double quotes")
    };
    let all = arrow_schema(schema);
    let fail = |error: datafusion::common::DataFusionError| invalid(&error.strip_backtrace());
    let of_all = DFSchema::try_from(all.as_ref().clone()).map_err(fail)?;
    let logical = context.state().create_logical_expr(sql, &of_all).map_err(fail)?;
    allowed(&logical).map_err(|what| {
        Diagnostic::new("expression-not-allowed", rule.span, format!("{what} is not allowed in the expression of `{}`", rule.code))
            .help("an expression looks at one row: columns, literals, operators, CASE, and functions that always give the same answer")
    })?;
    let mut columns: Vec<usize> = Vec::new();
    for column in logical.column_refs() {
        columns.push(of_all.index_of_column(column).map_err(fail)?);
    }
    if columns.is_empty() {
        return Err(invalid("it reads no column"));
    }
    columns.sort_unstable();
    let projected: SchemaRef = Arc::new(all.project(&columns).map_err(|error| invalid(&error.to_string()))?);
    let seen = DFSchema::try_from(projected.as_ref().clone()).map_err(fail)?;
    let state = context.state();
    let simplify = SimplifyContext::builder().with_schema(Arc::new(seen.clone())).with_config_options(Arc::clone(state.config_options())).build();
    let simplifier = ExprSimplifier::new(simplify);
    // Some functions (coalesce) are there only as what they are simplified to.
    let simple = simplifier
        .coerce(logical, &seen)
        .and_then(|coerced| checked::expression(coerced, &seen))
        .and_then(|checked| simplifier.simplify(checked))
        .map_err(fail)?;
    let physical = state.create_physical_expr(simple, &seen).map_err(fail)?;
    // What fails without any row would fail for all of them.
    physical.evaluate(&RecordBatch::new_empty(Arc::clone(&projected))).map_err(fail)?;
    if !matches!(physical.data_type(&projected), Ok(DataType::Boolean)) {
        return Err(invalid("it is no boolean"));
    }
    Ok(Expression { rule: number, columns, schema: projected, physical })
}

/// What an expression over one row may be made of; else what it may not. Exhaustive: what is not known is not allowed.
pub(super) fn allowed(expr: &Expr) -> Result<(), String> {
    let mut refused: Option<String> = None;
    let walked = expr.apply(|node| {
        let what = match node {
            Expr::Alias(_)
            | Expr::Column(_)
            | Expr::Literal(..)
            | Expr::BinaryExpr(_)
            | Expr::Like(_)
            | Expr::SimilarTo(_)
            | Expr::Not(_)
            | Expr::IsNotNull(_)
            | Expr::IsNull(_)
            | Expr::IsTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNotFalse(_)
            | Expr::IsNotUnknown(_)
            | Expr::Negative(_)
            | Expr::Between(_)
            | Expr::Case(_)
            | Expr::Cast(_)
            | Expr::TryCast(_)
            | Expr::InList(_) => None,
            Expr::ScalarFunction(call) if call.func.signature().volatility == Volatility::Immutable => None,
            Expr::ScalarFunction(call) => Some(format!("the function {}", call.func.name())),
            Expr::AggregateFunction(call) => Some(format!("the aggregate {}", call.func.name())),
            Expr::WindowFunction(_) => Some("a window function".to_owned()),
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) | Expr::OuterReferenceColumn(..) => {
                Some("a subquery".to_owned())
            }
            Expr::Placeholder(_) | Expr::ScalarVariable(..) => Some("a variable".to_owned()),
            _ => Some("this kind of expression".to_owned()),
        };
        match what {
            None => Ok(TreeNodeRecursion::Continue),
            Some(what) => {
                refused = Some(what);
                Ok(TreeNodeRecursion::Stop)
            }
        }
    });
    match (walked, refused) {
        (Ok(_), None) => Ok(()),
        (_, Some(what)) => Err(what),
        (Err(_), None) => Err("this expression".to_owned()),
    }
}

#[derive(Debug)]
struct Expression {
    rule: usize,
    columns: Vec<usize>,
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
}

impl Expression {
    fn halve(&self, batch: &RecordBatch, first: usize, broken: &mut dyn FnMut(u32)) {
        let rows = batch.num_rows();
        let said = self.physical.evaluate(batch).and_then(|value| value.into_array(rows));
        let row = |row: usize| u32::try_from(first + row).unwrap_or(u32::MAX);
        match said {
            Ok(array) => match array.as_boolean_opt().filter(|said| said.len() == rows) {
                Some(said) => (0..rows).filter(|at| said.is_valid(*at) && !said.value(*at)).for_each(|at| broken(row(at))),
                None => (0..rows).for_each(|at| broken(row(at))),
            },
            // The text is not looked at.
            Err(_) if rows > 1 => {
                let half = rows / 2;
                self.halve(&batch.slice(0, half), first, broken);
                self.halve(&batch.slice(half, rows - half), first + half, broken);
            }
            Err(_) => broken(row(0)),
        }
    }
}

impl RowRule for Expression {
    fn rule(&self) -> usize {
        self.rule
    }

    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn evaluate(&self, rows: usize, columns: Vec<ArrayRef>, broken: &mut dyn FnMut(u32)) {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        match RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options) {
            Ok(batch) => self.halve(&batch, 0, broken),
            Err(_) => (0..u32::try_from(rows).unwrap_or(u32::MAX)).for_each(broken),
        }
    }
}
