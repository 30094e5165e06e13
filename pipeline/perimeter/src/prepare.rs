//! *prepare*: the user's SQL over the checked sources, and nothing else.
//!
//! [`parse`] is the only way from a text to a query: one statement, a SELECT, over the job's sources alone, traced by
//! [`lineage`]. The plan uses it over tables without rows; a run uses it again over the checked
//! sources, and [`Prepared`] exists only when both lineages are the same: nothing runs that `perimeter plan` does not show.
use crate::engine::scan::Checked;
use crate::error::{Culprit, Failure, Result};
use crate::plan::Plan;
use crate::plan::decide;
use crate::plan::lineage::{self, Lineage, SourceColumn, Unsupported};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use perimeter_contract::job::Job;
use std::borrow::Cow;

/// A query that was let through, with where its columns come from.
#[derive(Debug)]
pub struct Query {
    /// Unoptimized.
    pub plan: LogicalPlan,
    /// By output position.
    pub lineage: Lineage,
}

/// Why a text is not a query of ours.
#[derive(Debug)]
pub enum NotAQuery {
    /// It cannot be parsed or resolved. The text quotes only the SQL and the contracts' names: no row was read yet.
    Sql(String),
    /// The lineage walk refuses it.
    Unsupported(Unsupported),
}

/// The query of a job: its `prepare`, or all columns of its only source.
pub fn text(job: &Job) -> Cow<'_, str> {
    match (&job.prepare, job.sources.as_slice()) {
        (Some(prepare), _) => Cow::Borrowed(prepare.sql.as_str()),
        (None, [source, ..]) => Cow::Owned(format!("SELECT * FROM \"{}\"", source.name)),
        (None, []) => Cow::Borrowed(""),
    }
}

/// Whether two source columns are of one join domain.
pub type OneDomain<'a> = &'a dyn Fn(&SourceColumn, &SourceColumn) -> bool;

/// Parses and traces `sql` over the tables that are registered in `context`.
///
/// # Errors
/// See [`NotAQuery`].
pub async fn parse(context: &SessionContext, sql: &str, sources: &[&str], one_domain: OneDomain<'_>) -> Result<Query, NotAQuery> {
    let plan = context.state().create_logical_plan(sql).await.map_err(|error| NotAQuery::Sql(error.strip_backtrace()))?;
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    options.verify_plan(&plan).map_err(|error| NotAQuery::Sql(error.strip_backtrace()))?;
    let mut stranger = None;
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && (scan.table_name.schema().is_some() || !sources.contains(&scan.table_name.table()))
        {
            stranger.get_or_insert_with(|| scan.table_name.to_string());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|error| NotAQuery::Sql(error.strip_backtrace()))?;
    if let Some(table) = stranger {
        return Err(NotAQuery::Unsupported(Unsupported {
            code: "unknown-table",
            what: format!("the table {table}"),
            help: "prepare reads the job's sources and nothing else",
        }));
    }
    let lineage = lineage::trace(&plan, one_domain).map_err(NotAQuery::Unsupported)?;
    Ok(Query { plan, lineage })
}

/// The query over checked sources: what *pseudonymize* takes.
pub struct Prepared {
    pub(crate) context: SessionContext,
    pub(crate) query: LogicalPlan,
    pub(crate) checked: Checked,
}

/// Puts the job's query on top of its checked sources.
///
/// # Errors
/// The query is not the one that was planned, which cannot happen unless the tool is at fault.
pub async fn prepare(plan: &Plan, context: SessionContext, checked: Checked) -> Result<Prepared> {
    let job = &plan.contract.job;
    let names: Vec<&str> = job.sources.iter().map(|source| source.name.as_str()).collect();
    let fault = || {
        Failure::new(Culprit::Outside, "plan-changed", "the query over the checked sources is not the one that was planned")
            .help("this is a fault of the tool: report it")
    };
    let query = parse(&context, &text(job), &names, &|a, b| decide::one_domain(&plan.contract, a, b)).await.map_err(|_| fault())?;
    let same = query.lineage.rows == plan.rows && query.lineage.columns.iter().eq(plan.columns.iter().map(|column| &column.lineage));
    if !same {
        return Err(fault().into());
    }
    Ok(Prepared { context, query: query.plan, checked })
}
