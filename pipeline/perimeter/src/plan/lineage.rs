//! Lineage: which source columns each output column of the prepare query comes from.
//!
//! The walk is our own, over the *unoptimized* logical plan, because the engine has none (`Expr::column_refs` is
//! empty for a scalar subquery, and the optimizer rewrites names away). It is exhaustive over the node and expression
//! kinds: what it does not know, it refuses. It keeps two things apart:
//!
//! - **value**: the column's cells are made of those source columns (`upper(name)`, `a || b`, a `CASE` branch, and the
//!   condition of a `CASE` too: `CASE WHEN cpf = '…' THEN 1 ELSE 0 END` says as much as the number itself);
//! - **row influence**: whether a row is there at all depends on those columns (filter, join, group).
//!
//! Between the two lies a third: a join or filter can *tie* a column to another one's value without computing anything from it
//! (`JOIN digits ON digits.d = substr(cpf, 1, 1)` puts the CPF's first digit into `d`). Every comparison that is not a plain
//! equality within one join domain ties all columns that come from elsewhere; a tied column is decided as if it were computed.
//! Rows come from the sources alone: constant relations (`VALUES`, `SELECT 'x'`) are refused, because they are dictionaries for
//! just that.
//!
//! It also refuses what would make the output depend on the run (tenet 4): volatile functions, LIMIT, windows, ordered
//! aggregates, float aggregates.
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::expr::{AggregateFunction, BinaryExpr, GroupingSet};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator, Subquery, Volatility};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// A column of a source, by the names of job and contract.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceColumn {
    /// The source's name in the job.
    pub source: String,
    /// The column's name in the contract.
    pub column: String,
}

impl fmt::Display for SourceColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.source, self.column)
    }
}

impl Serialize for SourceColumn {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where one column of a plan comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnLineage {
    /// The source columns that its cells are made of.
    pub from: BTreeSet<SourceColumn>,
    /// True when something was computed: the cells are not those of a source column as they are.
    pub computed: bool,
    /// Source columns of other rows that a comparison has tied its cells to.
    pub tied: BTreeSet<SourceColumn>,
    /// The scans whose rows its cells come from: columns of one scan sit in one row and cannot be tied to each other.
    scans: BTreeSet<usize>,
}

impl ColumnLineage {
    fn computed_from(parts: impl IntoIterator<Item = ColumnLineage>) -> Self {
        let mut whole = Self { computed: true, ..Self::default() };
        for part in parts {
            whole.from.extend(part.from);
            whole.tied.extend(part.tied);
            whole.scans.extend(part.scans);
        }
        whole
    }
}

/// Why a source column decides which rows are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RowInfluence {
    /// `WHERE`, `HAVING`, `EXISTS`, `IN`.
    Filter,
    /// Join keys and join filters.
    Join,
    /// `GROUP BY` and `DISTINCT`.
    Group,
}

/// The lineage of a whole query.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    /// By position in the output.
    pub columns: Vec<ColumnLineage>,
    /// What the presence of a row depends on.
    pub rows: BTreeSet<(SourceColumn, RowInfluence)>,
}

/// Something that a prepare query may not do; a diagnostic of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Kebab-case diagnostic code.
    pub code: &'static str,
    /// What it is.
    pub what: String,
    /// What to do instead.
    pub help: &'static str,
}

fn unsupported<T>(code: &'static str, what: impl Into<String>, help: &'static str) -> Result<T, Unsupported> {
    Err(Unsupported { code, what: what.into(), help })
}

const ORDER_HELP: &str = "the same input must give the same bytes: select without it";

/// Walks the unoptimized plan of a query whose tables are the sources of a job. `one_domain` says whether two source columns are
/// of one join domain: an equality between them ties nothing.
///
/// # Errors
/// The first node, expression or function that this tool does not let through.
pub fn trace(plan: &LogicalPlan, one_domain: &dyn Fn(&SourceColumn, &SourceColumn) -> bool) -> Result<Lineage, Unsupported> {
    let mut walk = Walk { rows: BTreeSet::new(), outer: Vec::new(), scans: 0, compared: BTreeSet::new(), one_domain };
    let mut columns = walk.plan(plan)?;
    // A literal can only say what the filters around it looked at.
    for column in columns.iter_mut().filter(|column| column.from.is_empty()) {
        column.tied.extend(walk.compared.iter().cloned());
    }
    Ok(Lineage { columns, rows: walk.rows })
}

/// The columns that expressions of one node can name.
struct Scope<'a> {
    schema: &'a DFSchema,
    columns: &'a [ColumnLineage],
}

struct Walk<'a> {
    rows: BTreeSet<(SourceColumn, RowInfluence)>,
    /// Scans met so far: each gets a number.
    scans: usize,
    /// What filters and joins have looked at, but for plain equalities within one domain: what a UNION's branches can tell apart.
    compared: BTreeSet<SourceColumn>,
    one_domain: &'a dyn Fn(&SourceColumn, &SourceColumn) -> bool,
    /// Schemas and lineages of the queries around a correlated subquery, innermost last.
    outer: Vec<(DFSchema, Vec<ColumnLineage>)>,
}

impl Walk<'_> {
    fn plan(&mut self, plan: &LogicalPlan) -> Result<Vec<ColumnLineage>, Unsupported> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                if !scan.filters.is_empty() || scan.fetch.is_some() {
                    return unsupported("unsupported-plan", "a scan with filters or a limit", "this is a fault of the tool: report it");
                }
                let source = scan.table_name.table();
                let scans = BTreeSet::from([self.scans]);
                self.scans += 1;
                let of_field = |name: &str| ColumnLineage {
                    from: BTreeSet::from([SourceColumn { source: source.to_owned(), column: name.to_owned() }]),
                    scans: scans.clone(),
                    ..ColumnLineage::default()
                };
                Ok(scan.projected_schema.fields().iter().map(|field| of_field(field.name())).collect())
            }
            LogicalPlan::Projection(projection) => {
                let input = self.plan(&projection.input)?;
                let scope = Scope { schema: projection.input.schema(), columns: &input };
                projection.expr.iter().map(|expr| self.expr(expr, &scope)).collect()
            }
            LogicalPlan::Filter(filter) => {
                let mut input = self.plan(&filter.input)?;
                self.compare(&filter.predicate, filter.input.schema(), &mut input, RowInfluence::Filter)?;
                Ok(input)
            }
            LogicalPlan::Join(join) => {
                let outside = std::mem::take(&mut self.compared);
                let left = self.plan(&join.left)?;
                let in_left = std::mem::take(&mut self.compared);
                let right = self.plan(&join.right)?;
                let in_right = std::mem::take(&mut self.compared);
                let mut both: Vec<_> = left.iter().chain(&right).cloned().collect();
                let Ok(schema) = join.left.schema().join(join.right.schema()) else {
                    return unsupported("unsupported-plan", "a join whose sides share qualified names", "give the tables aliases");
                };
                for (l, r) in &join.on {
                    let equal = Expr::BinaryExpr(BinaryExpr::new(Box::new(l.clone()), Operator::Eq, Box::new(r.clone())));
                    self.compare(&equal, &schema, &mut both, RowInfluence::Join)?;
                }
                if let Some(filter) = &join.filter {
                    self.compare(filter, &schema, &mut both, RowInfluence::Join)?;
                }
                let mut right = both.split_off(left.len());
                let mut left = both;
                // Whether the nullable side is there says what its own filters and the join's condition looked at.
                let on = self.compared.clone();
                if matches!(join.join_type, JoinType::Left | JoinType::Full) {
                    right.iter_mut().for_each(|column| column.tied.extend(on.iter().chain(&in_right).cloned()));
                }
                if matches!(join.join_type, JoinType::Right | JoinType::Full) {
                    left.iter_mut().for_each(|column| column.tied.extend(on.iter().chain(&in_left).cloned()));
                }
                self.compared.extend(outside.into_iter().chain(in_left).chain(in_right));
                match join.join_type {
                    JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Ok(left.into_iter().chain(right).collect()),
                    JoinType::LeftSemi | JoinType::LeftAnti => Ok(left),
                    JoinType::RightSemi | JoinType::RightAnti => Ok(right),
                    JoinType::LeftMark | JoinType::RightMark => unsupported("unsupported-plan", "a mark join", "write the condition as a join or a filter"),
                }
            }
            LogicalPlan::Aggregate(aggregate) => {
                let input = self.plan(&aggregate.input)?;
                let scope = Scope { schema: aggregate.input.schema(), columns: &input };
                let mut columns = Vec::with_capacity(aggregate.schema.fields().len());
                for expr in &aggregate.group_expr {
                    if let Expr::GroupingSet(_) = expr {
                        return unsupported("unsupported-expression", "GROUPING SETS, ROLLUP or CUBE", "group by plain columns");
                    }
                    self.influence(expr, &scope, RowInfluence::Group)?;
                    columns.push(self.expr(expr, &scope)?);
                }
                for expr in &aggregate.aggr_expr {
                    let mut column = self.expr(expr, &scope)?;
                    // A count of what a filter let through says what the filter looked at.
                    column.tied.extend(self.compared.iter().cloned());
                    columns.push(column);
                }
                Ok(columns)
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let columns = self.plan(input)?;
                self.rows.extend(columns.iter().flat_map(|column| &column.from).map(|from| (from.clone(), RowInfluence::Group)));
                Ok(columns)
            }
            LogicalPlan::Distinct(Distinct::On(_)) => {
                unsupported("unsupported-plan", "DISTINCT ON", "which row it keeps depends on the order of the input; use GROUP BY with min or max")
            }
            LogicalPlan::Sort(sort) => {
                if sort.fetch.is_some() {
                    return unsupported("nondeterministic-query", "LIMIT", ORDER_HELP);
                }
                let input = self.plan(&sort.input)?;
                let scope = Scope { schema: sort.input.schema(), columns: &input };
                // An ORDER BY without LIMIT changes nothing (shards have their own total order), but what it names is still walked.
                for key in &sort.expr {
                    self.expr(&key.expr, &scope)?;
                }
                Ok(input)
            }
            LogicalPlan::SubqueryAlias(alias) => self.plan(&alias.input),
            LogicalPlan::Union(union) => {
                let mut inputs = union.inputs.iter();
                let Some(first) = inputs.next() else { return Ok(Vec::new()) };
                let outside = std::mem::take(&mut self.compared);
                let mut columns = self.plan(first)?;
                for input in inputs {
                    for (column, other) in columns.iter_mut().zip(self.plan(input)?) {
                        column.from.extend(other.from);
                        column.tied.extend(other.tied);
                        column.scans.extend(other.scans);
                        column.computed |= other.computed;
                    }
                }
                // Which branch a row came through can show in any column, and says what that branch's filters looked at.
                for column in &mut columns {
                    column.tied.extend(self.compared.iter().cloned());
                }
                self.compared.extend(outside);
                Ok(columns)
            }
            LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => unsupported(
                "constant-relation",
                "a relation of constants (VALUES, or SELECT without FROM)",
                "rows come from the job's sources; add a source for a look-up table, with a contract of its own",
            ),
            LogicalPlan::Limit(_) => unsupported("nondeterministic-query", "LIMIT", ORDER_HELP),
            LogicalPlan::Window(_) => unsupported(
                "nondeterministic-query",
                "a window function",
                "window functions are not available in this version: use features such as secondsSincePrevious, or GROUP BY",
            ),
            LogicalPlan::Unnest(_) => unsupported("unsupported-plan", "UNNEST", "nested columns are not available in this version"),
            LogicalPlan::RecursiveQuery(_) => unsupported("unsupported-plan", "a recursive query", "join the sources instead"),
            LogicalPlan::Repartition(_) | LogicalPlan::Subquery(_) | LogicalPlan::Extension(_) => {
                unsupported("unsupported-plan", "a plan node that SQL does not make", "this is a fault of the tool: report it")
            }
            LogicalPlan::Statement(_)
            | LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::DescribeTable(_) => {
                unsupported("not-a-query", "a statement that is not a query", "prepare takes a single SELECT over the job's sources")
            }
        }
    }

    fn influence(&mut self, expr: &Expr, scope: &Scope<'_>, kind: RowInfluence) -> Result<(), Unsupported> {
        let lineage = self.expr(expr, scope)?;
        self.rows.extend(lineage.from.into_iter().map(|from| (from, kind)));
        Ok(())
    }

    /// What a filter or join compares: it decides rows, and ties columns of other rows to what it looks at.
    fn compare(&mut self, predicate: &Expr, schema: &DFSchema, columns: &mut [ColumnLineage], kind: RowInfluence) -> Result<(), Unsupported> {
        for part in split_conjunction(predicate) {
            let scope = Scope { schema, columns };
            self.influence(part, &scope, kind)?;
            if self.is_plain_equality(part, &scope)? {
                continue;
            }
            let mut looked_at = Vec::new();
            let walked = part.apply(|expr| {
                if matches!(expr, Expr::Column(_) | Expr::OuterReferenceColumn(..)) {
                    looked_at.push(expr.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            });
            if walked.is_err() {
                return unsupported("unsupported-expression", "a predicate that cannot be walked", "this is a fault of the tool: report it");
            }
            let looked_at = looked_at.iter().map(|expr| self.expr(expr, &scope)).collect::<Result<Vec<_>, _>>()?;
            let scans: BTreeSet<usize> = looked_at.iter().flat_map(|column| column.scans.iter().copied()).collect();
            self.compared.extend(looked_at.iter().flat_map(|column| column.from.iter().chain(&column.tied).cloned()));
            if scans.len() < 2 {
                continue;
            }
            for column in columns.iter_mut() {
                for other in looked_at.iter().filter(|other| !other.scans.is_subset(&column.scans)) {
                    column.tied.extend(other.from.iter().chain(&other.tied).cloned());
                }
            }
        }
        Ok(())
    }

    /// `a = b` between untouched columns of one join domain.
    fn is_plain_equality(&mut self, predicate: &Expr, scope: &Scope<'_>) -> Result<bool, Unsupported> {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = predicate else { return Ok(false) };
        let (left, right) = (self.expr(left, scope)?, self.expr(right, scope)?);
        let untouched = |column: &ColumnLineage| !column.computed && column.tied.is_empty() && !column.from.is_empty();
        let one_domain = left.from.iter().all(|l| right.from.iter().all(|r| (self.one_domain)(l, r)));
        Ok(untouched(&left) && untouched(&right) && one_domain)
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = impl AsRef<Expr>>, scope: &Scope<'_>) -> Result<ColumnLineage, Unsupported> {
        let parts = exprs.into_iter().map(|expr| self.expr(expr.as_ref(), scope)).collect::<Result<Vec<_>, _>>()?;
        Ok(ColumnLineage::computed_from(parts))
    }

    fn expr(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<ColumnLineage, Unsupported> {
        match expr {
            Expr::Column(column) => self.column(column, scope),
            Expr::OuterReferenceColumn(_, column) => {
                for (schema, columns) in self.outer.iter().rev() {
                    if let Ok(index) = schema.index_of_column(column) {
                        return Ok(columns[index].clone());
                    }
                }
                unsupported("unsupported-expression", "an outer reference out of scope", "this is a fault of the tool: report it")
            }
            Expr::Alias(alias) => self.expr(&alias.expr, scope),
            Expr::Literal(_, _) => Ok(ColumnLineage::computed_from([])),
            Expr::Not(e)
            | Expr::IsNotNull(e)
            | Expr::IsNull(e)
            | Expr::IsTrue(e)
            | Expr::IsFalse(e)
            | Expr::IsUnknown(e)
            | Expr::IsNotTrue(e)
            | Expr::IsNotFalse(e)
            | Expr::IsNotUnknown(e)
            | Expr::Negative(e) => self.all([e], scope),
            Expr::BinaryExpr(binary) => self.all([&binary.left, &binary.right], scope),
            Expr::Like(like) | Expr::SimilarTo(like) => self.all([&like.expr, &like.pattern], scope),
            Expr::Between(between) => self.all([&between.expr, &between.low, &between.high], scope),
            Expr::InList(list) => {
                let mut parts = vec![self.expr(&list.expr, scope)?];
                for item in &list.list {
                    parts.push(self.expr(item, scope)?);
                }
                Ok(ColumnLineage::computed_from(parts))
            }
            Expr::Case(case) => {
                let branches = case.when_then_expr.iter().flat_map(|(when, then)| [when, then]);
                self.all(case.expr.iter().chain(branches).chain(case.else_expr.iter()), scope)
            }
            Expr::Cast(cast) => self.all([&cast.expr], scope),
            Expr::TryCast(cast) => self.all([&cast.expr], scope),
            Expr::ScalarFunction(call) => {
                if call.func.signature().volatility != Volatility::Immutable {
                    return unsupported(
                        "nondeterministic-query",
                        format!("the function {}", call.func.name()),
                        "its result changes from run to run: pass the value as a job parameter",
                    );
                }
                let parts = call.args.iter().map(|arg| self.expr(arg, scope)).collect::<Result<Vec<_>, _>>()?;
                Ok(ColumnLineage::computed_from(parts))
            }
            Expr::AggregateFunction(call) => self.aggregate(call, scope),
            Expr::ScalarSubquery(subquery) => {
                let columns = self.subquery(subquery, scope)?;
                Ok(ColumnLineage::computed_from(columns))
            }
            Expr::InSubquery(within) => {
                let mut parts = self.subquery(&within.subquery, scope)?;
                parts.push(self.expr(&within.expr, scope)?);
                Ok(ColumnLineage::computed_from(parts))
            }
            Expr::Exists(exists) => {
                let columns = self.subquery(&exists.subquery, scope)?;
                Ok(ColumnLineage::computed_from(columns))
            }
            Expr::SetComparison(comparison) => {
                let mut parts = self.subquery(&comparison.subquery, scope)?;
                parts.push(self.expr(&comparison.expr, scope)?);
                Ok(ColumnLineage::computed_from(parts))
            }
            Expr::GroupingSet(GroupingSet::Rollup(_) | GroupingSet::Cube(_) | GroupingSet::GroupingSets(_)) => {
                unsupported("unsupported-expression", "GROUPING SETS, ROLLUP or CUBE", "group by plain columns")
            }
            Expr::WindowFunction(_) => unsupported("nondeterministic-query", "a window function", "window functions are not available in this version"),
            Expr::Placeholder(_) => unsupported("unsupported-expression", "a placeholder", "write the value, or use a job parameter in a uri"),
            Expr::ScalarVariable(..) => unsupported("unsupported-expression", "a variable", "write the value"),
            Expr::Unnest(_) => unsupported("unsupported-expression", "UNNEST", "nested columns are not available in this version"),
            Expr::HigherOrderFunction(_) | Expr::Lambda(_) | Expr::LambdaVariable(_) => {
                unsupported("unsupported-expression", "a lambda", "nested columns are not available in this version")
            }
            #[expect(deprecated, reason = "the walk is exhaustive")]
            Expr::Wildcard { .. } => unsupported("unsupported-expression", "an unresolved *", "this is a fault of the tool: report it"),
        }
    }

    fn column(&self, column: &Column, scope: &Scope<'_>) -> Result<ColumnLineage, Unsupported> {
        match scope.schema.index_of_column(column) {
            Ok(index) => Ok(scope.columns[index].clone()),
            Err(_) => unsupported("unsupported-expression", format!("the column {}", column.name), "this is a fault of the tool: report it"),
        }
    }

    fn aggregate(&mut self, call: &AggregateFunction, scope: &Scope<'_>) -> Result<ColumnLineage, Unsupported> {
        /// Aggregates whose result does not depend on the order of their input.
        const ORDER_FREE: [&str; 9] = ["count", "sum", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"];
        let name = call.func.name().to_lowercase();
        if !ORDER_FREE.contains(&name.as_str()) {
            return unsupported(
                "nondeterministic-query",
                format!("the aggregate {name}"),
                "its result can depend on the order of rows: count, sum, min, max, bool_* and bit_* are allowed",
            );
        }
        if !call.params.order_by.is_empty() {
            return unsupported("nondeterministic-query", "an ordered aggregate", ORDER_HELP);
        }
        if matches!(name.as_str(), "sum" | "min" | "max") {
            for arg in &call.params.args {
                if !matches!(arg.get_type(scope.schema), Ok(data_type) if !matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)) {
                    return unsupported(
                        "nondeterministic-query",
                        format!("{name} of floats"),
                        "float sums, signed zeros and NaN depend on the order of rows: use a decimal or an integer",
                    );
                }
            }
        }
        let mut parts = call.params.args.iter().map(|arg| self.expr(arg, scope)).collect::<Result<Vec<_>, _>>()?;
        if let Some(filter) = &call.params.filter {
            parts.push(self.expr(filter, scope)?);
        }
        Ok(ColumnLineage::computed_from(parts))
    }

    /// Columns of a subquery; what decides its rows decides rows of the whole.
    fn subquery(&mut self, subquery: &Subquery, scope: &Scope<'_>) -> Result<Vec<ColumnLineage>, Unsupported> {
        self.outer.push((scope.schema.clone(), scope.columns.to_vec()));
        let outside = std::mem::take(&mut self.compared);
        let columns = self.plan(&subquery.subquery);
        self.outer.pop();
        let mut columns = columns?;
        // What comes out of a subquery, and whether anything does, says what its filters looked at.
        columns.iter_mut().for_each(|column| column.tied.extend(self.compared.iter().cloned()));
        self.compared.extend(outside);
        self.rows.extend(columns.iter().flat_map(|column| &column.from).map(|from| (from.clone(), RowInfluence::Filter)));
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{self, Limits};
    use crate::prepare::{self, NotAQuery};
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::datasource::empty::EmptyTable;
    use std::sync::Arc;

    /// Lineage of a query over `tx(account_id, cpf, amount decimal, weight double, at date)` and `accounts(account_id, cpf, birth date)`.
    async fn lineage(sql: &str) -> Result<Lineage, NotAQuery> {
        let context = engine::session(&Limits::default()).unwrap();
        let table = |fields: &[(&str, DataType)]| {
            let fields: Vec<Field> = fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect();
            Arc::new(EmptyTable::new(Arc::new(Schema::new(fields))))
        };
        let tx = table(&[
            ("account_id", DataType::Utf8),
            ("cpf", DataType::Utf8),
            ("amount", DataType::Decimal128(18, 2)),
            ("weight", DataType::Float64),
            ("at", DataType::Date32),
        ]);
        context.register_table("tx", tx).unwrap();
        context.register_table("accounts", table(&[("account_id", DataType::Utf8), ("cpf", DataType::Utf8), ("birth", DataType::Date32)])).unwrap();
        prepare::parse(&context, sql, &["tx", "accounts"], &|a, b| a.column == b.column).await.map(|query| query.lineage)
    }

    fn show(lineage: &Lineage) -> Vec<String> {
        let columns = lineage.columns.iter().map(|column| {
            let from: Vec<String> = column.from.iter().map(ToString::to_string).collect();
            format!("{}{}", if column.computed { "f " } else { "" }, from.join(" "))
        });
        columns.collect()
    }

    fn rows(lineage: &Lineage) -> Vec<String> {
        lineage.rows.iter().map(|(column, influence)| format!("{column} {influence:?}")).collect()
    }

    #[tokio::test]
    async fn columns_pass_through_or_are_computed() {
        for (sql, columns) in [
            ("SELECT * FROM accounts", vec!["accounts.account_id", "accounts.cpf", "accounts.birth"]),
            ("SELECT a.cpf AS who FROM accounts AS a", vec!["accounts.cpf"]),
            ("SELECT x.who FROM (SELECT cpf AS who FROM tx) AS x", vec!["tx.cpf"]),
            ("WITH x AS (SELECT cpf FROM tx) SELECT cpf FROM x", vec!["tx.cpf"]),
            ("SELECT upper(cpf), cpf || account_id, 1 FROM tx", vec!["f tx.cpf", "f tx.account_id tx.cpf", "f "]),
            ("SELECT CAST(cpf AS BIGINT) FROM tx", vec!["f tx.cpf"]),
            // A condition says as much as a value.
            ("SELECT CASE WHEN cpf = '1' THEN 1 ELSE 0 END FROM tx", vec!["f tx.cpf"]),
            ("SELECT cpf IN ('1', '2'), cpf LIKE '1%', cpf IS NULL FROM tx", vec!["f tx.cpf", "f tx.cpf", "f tx.cpf"]),
            ("SELECT coalesce(tx.cpf, accounts.cpf) FROM tx JOIN accounts USING (account_id)", vec!["f accounts.cpf tx.cpf"]),
            ("SELECT (SELECT max(cpf) FROM accounts) AS top FROM tx", vec!["f accounts.cpf"]),
            ("SELECT account_id, sum(amount), count(*), min(at) FROM tx GROUP BY account_id", vec!["tx.account_id", "f tx.amount", "f ", "f tx.at"]),
            ("SELECT cpf FROM tx UNION ALL SELECT cpf FROM accounts", vec!["accounts.cpf tx.cpf"]),
            ("SELECT DISTINCT cpf FROM tx ORDER BY cpf", vec!["tx.cpf"]),
        ] {
            let traced = lineage(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(show(&traced), columns, "{sql}");
        }
    }

    #[tokio::test]
    async fn what_decides_rows_is_kept_apart() {
        for (sql, expected) in [
            ("SELECT amount FROM tx WHERE cpf <> ''", vec!["tx.cpf Filter"]),
            (
                "SELECT amount FROM tx JOIN accounts ON tx.cpf = accounts.cpf AND tx.at > accounts.birth",
                vec!["accounts.birth Join", "accounts.cpf Join", "tx.at Join", "tx.cpf Join"],
            ),
            ("SELECT count(*) FROM tx GROUP BY account_id", vec!["tx.account_id Group"]),
            ("SELECT account_id FROM tx GROUP BY account_id HAVING sum(amount) > 1", vec!["tx.account_id Group", "tx.amount Filter"]),
            ("SELECT amount FROM tx WHERE cpf IN (SELECT cpf FROM accounts)", vec!["accounts.cpf Filter", "tx.cpf Filter"]),
            ("SELECT amount FROM tx WHERE EXISTS (SELECT 1 FROM accounts WHERE accounts.cpf = tx.cpf)", vec!["accounts.cpf Filter", "tx.cpf Filter"]),
            ("SELECT DISTINCT account_id FROM tx", vec!["tx.account_id Group"]),
        ] {
            let traced = lineage(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(rows(&traced), expected, "{sql}");
        }
    }

    #[tokio::test]
    async fn comparisons_tie_what_comes_from_elsewhere() {
        let tied = |lineage: &Lineage| -> Vec<String> {
            lineage
                .columns
                .iter()
                .map(|column| column.tied.iter().filter(|tied| !column.from.contains(tied)).map(ToString::to_string).collect::<Vec<_>>().join(" "))
                .collect()
        };
        for (sql, expected) in [
            // A plain equality within one domain brings rows together and says nothing new.
            ("SELECT tx.amount, accounts.birth FROM tx JOIN accounts ON tx.account_id = accounts.account_id", vec!["", ""]),
            ("SELECT tx.amount, accounts.birth FROM tx, accounts WHERE tx.account_id = accounts.account_id", vec!["", ""]),
            ("SELECT tx.amount, accounts.birth FROM tx JOIN accounts USING (account_id) WHERE tx.cpf LIKE '1%'", vec!["", ""]),
            // Anything else makes one side a dictionary of the other.
            ("SELECT tx.cpf, m.amount FROM tx JOIN tx AS m ON CAST(m.amount AS VARCHAR) = substr(tx.cpf, 1, 4)", vec!["tx.amount", "tx.cpf"]),
            ("SELECT m.amount FROM tx, tx AS m WHERE CAST(m.amount AS VARCHAR) = substr(tx.cpf, 1, 4)", vec!["tx.cpf"]),
            ("SELECT accounts.birth FROM tx JOIN accounts ON tx.cpf = accounts.account_id", vec!["tx.cpf"]),
            ("SELECT accounts.birth FROM tx JOIN accounts ON tx.cpf < accounts.cpf", vec!["tx.cpf"]),
            (
                "SELECT accounts.birth FROM tx JOIN accounts ON (tx.cpf LIKE '1%' AND accounts.birth > '1990-01-01') OR (tx.cpf LIKE '2%' AND accounts.birth < '1990-01-01')",
                vec!["tx.cpf"],
            ),
            (
                "SELECT (SELECT max(m.amount) FROM tx AS m WHERE CAST(m.amount AS VARCHAR) = substr(accounts.cpf, 1, 4)) AS x FROM accounts",
                vec!["accounts.cpf"],
            ),
            // A null, a count, an EXISTS or a literal stands for what a filter saw.
            (
                "SELECT tx.amount, accounts.birth FROM tx LEFT JOIN accounts ON tx.account_id = accounts.account_id AND accounts.cpf LIKE '5%'",
                vec!["", "accounts.cpf"],
            ),
            ("SELECT a.birth FROM tx LEFT JOIN (SELECT * FROM accounts WHERE cpf LIKE '5%') AS a ON tx.account_id = a.account_id", vec!["accounts.cpf"]),
            ("SELECT (SELECT count(*) FROM accounts WHERE accounts.account_id = tx.account_id AND accounts.cpf LIKE '5%') AS x FROM tx", vec!["accounts.cpf"]),
            ("SELECT account_id, count(*) FROM tx WHERE cpf LIKE '5%' GROUP BY account_id", vec!["", "tx.cpf"]),
            ("SELECT account_id, 'x' AS x FROM tx WHERE cpf = '52998224725'", vec!["", "tx.cpf"]),
            // A literal that stands for what the branch's filter saw.
            (
                "SELECT account_id, 'a' AS x FROM tx WHERE cpf LIKE '1%' UNION ALL SELECT account_id, 'b' AS x FROM tx WHERE cpf LIKE '2%'",
                vec!["tx.cpf", "tx.cpf"],
            ),
        ] {
            let traced = lineage(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            assert_eq!(tied(&traced), expected, "{sql}");
        }
    }

    #[tokio::test]
    async fn what_depends_on_the_run_is_refused() {
        for (sql, code) in [
            ("SELECT cpf FROM tx LIMIT 5", "nondeterministic-query"),
            ("SELECT cpf FROM tx ORDER BY cpf LIMIT 5", "nondeterministic-query"),
            ("SELECT random() FROM tx", "nondeterministic-query"),
            ("SELECT now() FROM tx", "nondeterministic-query"),
            ("SELECT current_date() FROM tx", "nondeterministic-query"),
            ("SELECT uuid() FROM tx", "nondeterministic-query"),
            ("SELECT sum(weight) FROM tx", "nondeterministic-query"),
            ("SELECT avg(weight) FROM tx", "nondeterministic-query"),
            ("SELECT min(weight) FROM tx", "nondeterministic-query"),
            ("SELECT first_value(cpf) FROM tx", "nondeterministic-query"),
            ("SELECT string_agg(cpf, ',') FROM tx", "nondeterministic-query"),
            ("SELECT row_number() OVER (ORDER BY at) FROM tx", "nondeterministic-query"),
            ("SELECT DISTINCT ON (cpf) cpf FROM tx", "unsupported-plan"),
            ("SELECT cpf FROM tx GROUP BY ROLLUP (cpf)", "unsupported-expression"),
            ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r", "unknown-table"),
            ("SELECT value FROM generate_series(1, 3)", "unknown-table"),
            ("SELECT tx.cpf, n.d FROM tx JOIN (VALUES ('0'), ('1')) AS n (d) ON substr(tx.cpf, 1, 1) = n.d", "constant-relation"),
            ("SELECT tx.cpf, n.d FROM tx JOIN (SELECT '0' AS d UNION ALL SELECT '1' AS d) AS n ON substr(tx.cpf, 1, 1) = n.d", "constant-relation"),
        ] {
            match lineage(sql).await {
                Err(NotAQuery::Unsupported(unsupported)) => assert_eq!(unsupported.code, code, "{sql}"),
                other => panic!("{sql}: {other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn only_a_single_query_is_let_through() {
        for sql in [
            "",
            "DROP TABLE tx",
            "CREATE TABLE x AS SELECT * FROM tx",
            "INSERT INTO tx SELECT * FROM tx",
            "SET datafusion.execution.batch_size = 1",
            "COPY tx TO 'x.csv'",
            "SELECT 1 FROM tx; SELECT 2 FROM tx",
            "SELECT * FROM nowhere",
            "SELECT nothing FROM tx",
            "SELEC cpf FROM tx",
            "CREATE EXTERNAL TABLE p STORED AS CSV LOCATION 'passwd'",
        ] {
            assert!(lineage(sql).await.is_err(), "{sql}");
        }
        assert!(lineage("EXPLAIN SELECT * FROM tx").await.is_err());
    }
}
