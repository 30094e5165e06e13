//! `type: sql` rules: queries over the clean rows of all sources that give one number.
//!
//! `{object}`, `${object}` and `${table}` stand for the rule's source; `{property}` and `${column}` for the column under which the rule stands. Tables are called as the
//! job calls its sources, and as their contracts call them where that is clear; the rule's own source comes first. A query is one SELECT without functions that give
//! another answer tomorrow, and gives one row with one number. The number is never shown. Whole numbers that overflow fail the query ([`super::checked`]).
//!
//! Where its result depends on the order of rows (sums of floats, windows, LIMIT), a query runs over one partition in the order of files and records, so that it
//! is the same whatever the number of threads.
use super::failure::FirstFailure;
use super::scan::{CheckedSource, CheckedTable, Pass, Reading};
use super::{Limits, checked, session};
use crate::check::metric::{Quantity, Verdict, wanted};
use crate::error::{Culprit, Failure, Result};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::read;
use crate::run::Services;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use datafusion::common::TableReference;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::empty::EmptyTable;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Volatility};
use datafusion::prelude::SessionContext;
use perimeter_contract::Diagnostic;
use perimeter_contract::job::Source;
use perimeter_contract::schema::{Bound, Decimal, SetCheck, SetRule};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One query, ready to be asked.
#[derive(Debug)]
pub(crate) struct DatasetQuery {
    source: usize,
    rule: usize,
    sql: String,
    /// Source by table name.
    tables: BTreeMap<String, usize>,
    /// Its result depends on the order of rows.
    ordered: bool,
    bounds: Vec<Bound>,
}

/// Batches of queries whose result depends on the order of rows: their size must not depend on the machine.
const ORDERED_BATCH_ROWS: usize = 8192;

/// Resolves the queries of all sources. Reads nothing.
///
/// # Errors
/// `invalid-sql`, `query-not-allowed`: a diagnostic for each that cannot be asked.
pub(crate) async fn resolve(sources: &[Source]) -> Result<Vec<DatasetQuery>, Vec<Diagnostic>> {
    let (mut queries, mut problems) = (Vec::new(), Vec::new());
    for (index, source) in sources.iter().enumerate() {
        for (number, rule) in source.schema.rules.iter().enumerate() {
            let SetCheck::Sql { query, bounds } = &rule.check else { continue };
            match one(sources, index, rule, query).await {
                Ok((sql, tables, ordered)) => queries.push(DatasetQuery { source: index, rule: number, sql, tables, ordered, bounds: bounds.clone() }),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if problems.is_empty() { Ok(queries) } else { Err(problems) }
}

async fn one(sources: &[Source], index: usize, rule: &SetRule, query: &str) -> Result<(String, BTreeMap<String, usize>, bool), Diagnostic> {
    let invalid = |text: &str| {
        Diagnostic::new("invalid-sql", rule.span, format!("the query of `{}` cannot be planned: {text}", rule.code))
            .help("it is one SELECT that gives one number; tables are the job's sources, by their names in the job or in their contracts")
    };
    let refuse = |what: &str| {
        Diagnostic::new("query-not-allowed", rule.span, format!("{what} is not allowed in the query of `{}`", rule.code))
            .help("a quality rule is one SELECT over the job's sources, with functions that always give the same answer")
    };
    let fail = |error: datafusion::common::DataFusionError| invalid(&error.strip_backtrace());
    let sql = written_out(sources, index, rule, query).ok_or_else(|| invalid("there is no column that `{property}` could stand for"))?;
    let tables = tables(sources, index);
    let context = session(&Limits::default()).map_err(fail)?;
    for (name, source) in &tables {
        let Some(schema) = sources.get(*source).map(|source| read::arrow_schema(&source.schema)) else { continue };
        context.register_table(TableReference::bare(name.as_str()), Arc::new(EmptyTable::new(schema))).map_err(fail)?;
    }
    let plan = context.state().create_logical_plan(&sql).await.map_err(fail)?;
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(&plan).map_err(fail)?;
    let ordered = walk(&plan, &tables).map_err(|what| refuse(&what))?;
    if !reads_a_table(&plan).map_err(fail)? {
        return Err(invalid("it reads no table of the job"));
    }
    // What the engine finds out about types must not come out only once rows are there.
    checked::check_arithmetic(&context);
    context.state().optimize(&plan).map_err(fail)?;
    match plan.schema().fields().iter().as_slice() {
        [field] if field.data_type().is_numeric() => Ok((sql, tables, ordered)),
        _ => Err(invalid("it does not give one number")),
    }
}

/// What a table may be called: the rule's own source comes first, then sources by name and by contract, where one of them is meant.
fn tables(sources: &[Source], own: usize) -> BTreeMap<String, usize> {
    let mut meant: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate() {
        for name in [source.name.as_str(), source.schema.name.as_str()] {
            let list = meant.entry(name).or_default();
            if !list.contains(&index) {
                list.push(index);
            }
        }
    }
    let clear = meant.into_iter().filter_map(|(name, list)| match list.as_slice() {
        [one] => Some((name.to_owned(), *one)),
        several if several.contains(&own) => Some((name.to_owned(), own)),
        _ => None,
    });
    clear.collect()
}

/// The query with its placeholders replaced; `None` when one stands for nothing.
fn written_out(sources: &[Source], own: usize, rule: &SetRule, query: &str) -> Option<String> {
    let source = sources.get(own)?;
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let mut sql = query.trim().trim_end_matches(';').to_owned();
    for place in ["${object}", "{object}", "${table}", "{table}"] {
        sql = sql.replace(place, &quoted(&source.name));
    }
    for place in ["${column}", "{column}", "${property}", "{property}"] {
        if sql.contains(place) {
            // The last column that begins before the rule in the contract's file is the one under which the rule stands.
            let before = source.schema.columns.iter().filter(|c| c.span.file == rule.span.file && c.span.start <= rule.span.start && rule.span.end > 0);
            sql = sql.replace(place, &quoted(&before.max_by_key(|c| c.span.start)?.name));
        }
    }
    Some(sql)
}

fn reads_a_table(plan: &LogicalPlan) -> datafusion::common::Result<bool> {
    let mut reads = false;
    plan.apply_with_subqueries(|node| {
        reads |= matches!(node, LogicalPlan::TableScan(_));
        Ok(if reads { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(reads)
}

/// Whether the result depends on the order of rows; else what is not allowed.
fn walk(plan: &LogicalPlan, tables: &BTreeMap<String, usize>) -> Result<bool, String> {
    /// Aggregates whose result does not depend on the order of their input, but for floats.
    const ORDER_FREE: [&str; 9] = ["count", "sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"];
    let mut refused: Option<String> = None;
    let mut ordered = false;
    let walked = plan.apply_with_subqueries(|node| {
        let what = match node {
            LogicalPlan::TableScan(scan) if scan.table_name.schema().is_some() || !tables.contains_key(scan.table_name.table()) => {
                Some(format!("the table {}", scan.table_name))
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::TableScan(_)
            | LogicalPlan::EmptyRelation(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Values(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Distinct(Distinct::All(_)) => None,
            LogicalPlan::Window(_) | LogicalPlan::Limit(_) | LogicalPlan::Distinct(Distinct::On(_)) => {
                ordered = true;
                None
            }
            _ => Some("this kind of query".to_owned()),
        };
        if what.is_some() {
            refused = what;
            return Ok(TreeNodeRecursion::Stop);
        }
        let input = node.inputs().first().map(|input| Arc::clone(input.schema()));
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                match part {
                    Expr::ScalarFunction(call) if call.func.signature().volatility != Volatility::Immutable => {
                        refused = Some(format!("the function {}", call.func.name()));
                    }
                    Expr::Placeholder(_) | Expr::ScalarVariable(..) => refused = Some("a variable".to_owned()),
                    Expr::AggregateFunction(call) => {
                        let floats = |arg: &Expr| {
                            let data_type = input.as_ref().and_then(|schema| arg.get_type(schema.as_ref()).ok());
                            data_type.is_none_or(|data_type| data_type.is_floating())
                        };
                        ordered |= !ORDER_FREE.contains(&call.func.name().to_lowercase().as_str())
                            || !call.params.order_by.is_empty()
                            || (call.func.name() != "count" && call.params.args.iter().any(floats));
                    }
                    _ => {}
                }
                Ok(if refused.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    });
    match (walked, refused) {
        (Ok(_), None) => Ok(ordered),
        (_, Some(what)) => Err(what),
        (Err(_), None) => Err("this query".to_owned()),
    }
}

/// Asks every query, one after the other; each reads what it needs.
///
/// # Errors
/// What reading can fail with. `query-failed` (exit 1): a row on which the query fails, or another result than one row.
pub(crate) async fn ask(plan: &Plan, services: &Services) -> Result<Vec<((usize, usize), Verdict)>> {
    let mut verdicts = Vec::with_capacity(plan.rules.queries.len());
    for query in &plan.rules.queries {
        let Some((source, rule)) = plan.contract.job.sources.get(query.source).and_then(|s| Some((s, s.schema.rules.get(query.rule)?))) else { continue };
        let found = answer(query, plan, services, &format!("{}.{}", source.name, rule.code)).await?;
        let verdict = Verdict {
            rule: format!("{}.{}", source.name, rule.code),
            metric: "sql",
            holds: found.holds(&query.bounds),
            counted: None,
            of: None,
            wanted: wanted(&query.bounds, false),
            span: rule.span,
        };
        verdicts.push(((query.source, query.rule), verdict));
    }
    Ok(verdicts)
}

async fn answer(query: &DatasetQuery, plan: &Plan, services: &Services, name: &str) -> Result<Quantity> {
    let mut limits = services.limits;
    if query.ordered {
        limits = Limits { threads: 1, batch_rows: ORDERED_BATCH_ROWS, ..limits };
    }
    let failure = FirstFailure::default();
    // The engine's texts quote cells.
    let fail = |error: datafusion::common::DataFusionError| match failure.take() {
        Some(error) => error,
        None => match FirstFailure::default().explain(&error) {
            crate::error::Error::Failed(sorted) if sorted.code.starts_with("prepare-") => Failure::new(
                Culprit::Data,
                "query-failed",
                format!("the query of `{name}` fails on a row: a cast, an overflow or a division that the data does not allow"),
            )
            .help("use TRY_CAST or a CASE around it; the engine's own message quotes cell values and is not shown")
            .into(),
            error => error,
        },
    };
    let context: SessionContext = session(&limits).map_err(fail)?;
    checked::check_arithmetic(&context);
    let mut read: BTreeMap<usize, Arc<CheckedSource>> = BTreeMap::new();
    for (table, index) in &query.tables {
        let Some((source, input)) = plan.contract.job.sources.get(*index).zip(plan.inputs.get(*index)) else { continue };
        let checked = read.entry(*index).or_insert_with(|| {
            let reading = Reading {
                stores: Arc::clone(&services.stores),
                batch_rows: limits.batch_rows,
                quarantine: None,
                failure: failure.clone(),
                progress: Arc::new(Progress::default()),
                pass: Pass::clean(&plan.rules, *index),
            };
            CheckedSource::new(source.clone(), input.files.clone(), input.units.clone(), reading)
        });
        context.register_table(TableReference::bare(table.as_str()), Arc::new(CheckedTable(Arc::clone(checked)))).map_err(fail)?;
    }
    let planned = context.state().create_logical_plan(&query.sql).await.map_err(fail)?;
    let batches = context.execute_logical_plan(planned).await.map_err(fail)?.collect().await.map_err(fail)?;
    let rows: Vec<&RecordBatch> = batches.iter().filter(|batch| batch.num_rows() > 0).collect();
    let number = match rows.as_slice() {
        [batch] if batch.num_rows() == 1 && batch.num_columns() == 1 => number(batch.column(0).as_ref()),
        _ => None,
    };
    number.ok_or_else(|| {
        Failure::new(Culprit::Data, "query-failed", format!("the query of `{name}` does not give one row with one number"))
            .help("aggregate: `SELECT count(*) FROM …`; its result is never shown")
            .into()
    })
}

fn number(array: &dyn Array) -> Option<Quantity> {
    if array.is_null(0) {
        return Some(Quantity::Missing);
    }
    let whole = |value: i128| Quantity::Decimal(Decimal { unscaled: value, scale: 0 });
    Some(match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let value = array.as_primitive_opt::<Decimal128Type>()?.value(0);
            match u8::try_from(*scale) {
                Ok(scale) => Quantity::Decimal(Decimal { unscaled: value, scale }),
                Err(_) => whole(value.checked_mul(10i128.checked_pow(scale.unsigned_abs().into())?)?),
            }
        }
        DataType::UInt64 => whole(array.as_primitive_opt::<UInt64Type>()?.value(0).into()),
        data_type if data_type.is_integer() => whole(cast(array, &DataType::Int64).ok()?.as_primitive_opt::<Int64Type>()?.value(0).into()),
        _ => Quantity::Float(cast(array, &DataType::Float64).ok()?.as_primitive_opt::<Float64Type>()?.value(0)),
    })
}
