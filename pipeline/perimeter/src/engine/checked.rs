//! Whole numbers in rules do not wrap: what overflows has no value.
//!
//! The engine's `+`, `-`, `*` and `sum` over whole numbers give another number when the result does not fit. Once types are settled, `expression` and
//! `Checked` put in their place:
//!
//! | written | is run as |
//! |---|---|
//! | `a + b`, `a - b`, `a * b`, `-a` of integers, timestamps, durations | the same through Arrow's checked kernels |
//! | `sum(a)` of integers and `decimal(p, s)` | `CAST(sum(CAST(a AS decimal(76, s))) AS` its own type`)`: exact in 256 bits, so it does not depend on the order of rows |
//!
//! Types and names of columns stay what they were. Arithmetic of decimals, division and casts fail by themselves; `avg` of whole numbers is a float.
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result as EngineResult, ScalarValue};
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunctionDefinition};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// Digits of a sum: 38 of a value and room for 2^64 rows, in 256 bits.
const SUM_DIGITS: u8 = 76;

/// One operator through a checked kernel.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operator: Operator,
    result: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_sub",
            _ => "checked_mul",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> EngineResult<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let [left, right] = args.args.as_slice() else { return Err(DataFusionError::Plan("two operands".to_owned())) };
        match self.operator {
            Operator::Plus => apply(left, right, numeric::add),
            Operator::Minus => apply(left, right, numeric::sub),
            _ => apply(left, right, numeric::mul),
        }
    }
}

fn arithmetic(operator: Operator, left: Expr, right: Expr, result: DataType) -> Expr {
    let operator = Arithmetic { operator, result, signature: Signature::any(2, Volatility::Immutable) };
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(ScalarUDF::from(operator)), vec![left, right]))
}

/// What wraps in the engine.
fn wraps(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Timestamp(..) | DataType::Duration(_))
}

/// The expression with checked arithmetic, and sums in 256 bits: those have another type then. Types are settled in `expr`.
fn rewrite(expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    expr.transform_up(|node| {
        Ok(match node {
            Expr::BinaryExpr(binary) if matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply) => {
                let (left, right) = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
                if left != right || !wraps(&left) {
                    return Ok(Transformed::no(Expr::BinaryExpr(binary)));
                }
                let (operator, binary) = (binary.op, Expr::BinaryExpr(binary));
                let result = binary.get_type(schema)?;
                let Expr::BinaryExpr(binary) = binary else { return Ok(Transformed::no(binary)) };
                Transformed::yes(arithmetic(operator, *binary.left, *binary.right, result))
            }
            Expr::Negative(of) => {
                let data_type = of.get_type(schema)?;
                if !data_type.is_integer() {
                    return Ok(Transformed::no(Expr::Negative(of)));
                }
                let zero = Expr::Literal(ScalarValue::new_zero(&data_type)?, None);
                Transformed::yes(arithmetic(Operator::Minus, zero, *of, data_type))
            }
            Expr::AggregateFunction(mut call) if call.func.name() == "sum" => {
                let changed = widen(&mut call.params.args, schema)?;
                Transformed::new_transformed(Expr::AggregateFunction(call), changed)
            }
            Expr::WindowFunction(mut call) if matches!(&call.fun, WindowFunctionDefinition::AggregateUDF(function) if function.name() == "sum") => {
                let changed = widen(&mut call.params.args, schema)?;
                Transformed::new_transformed(Expr::WindowFunction(call), changed)
            }
            other => Transformed::no(other),
        })
    })
}

/// Casts what is summed up so that no sum wraps.
fn widen(args: &mut [Expr], schema: &DFSchema) -> EngineResult<bool> {
    let [arg] = args else { return Err(DataFusionError::Plan("sum takes one column".to_owned())) };
    let scale = match arg.get_type(schema)? {
        data_type if data_type.is_integer() => 0,
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) => scale,
        DataType::Float64 | DataType::Float32 | DataType::Float16 => return Ok(false),
        _ => return Err(DataFusionError::Plan("sum is of whole numbers, of decimals of 38 digits at most, and of floats".to_owned())),
    };
    *arg = cast(arg.clone(), DataType::Decimal256(SUM_DIGITS, scale));
    Ok(true)
}

/// An expression over one row, with checked arithmetic. Types are settled in it.
///
/// # Errors
/// It does not fit `schema`.
pub(super) fn expression(expr: Expr, schema: &DFSchema) -> EngineResult<Expr> {
    rewrite(expr, schema).data()
}

/// Puts the checked operators into every query of a session; runs after types are settled.
#[derive(Debug)]
struct Checked;

/// From now on no query of this session wraps.
pub(super) fn check_arithmetic(context: &SessionContext) {
    context.add_analyzer_rule(Arc::new(Checked));
}

impl AnalyzerRule for Checked {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        plan.transform_up_with_subqueries(node).data()
    }
}

fn node(plan: LogicalPlan) -> EngineResult<Transformed<LogicalPlan>> {
    let seen = merge_schema(&plan.inputs());
    let before = Arc::clone(plan.schema());
    let names = NamePreserver::new(&plan);
    let changed = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(rewrite(expr, &seen)?.update_data(|expr| name.restore(expr)))
    })?;
    if !changed.transformed {
        return Ok(changed);
    }
    let plan = changed.data.recompute_schema()?;
    if before.fields().iter().zip(plan.schema().fields()).all(|(before, after)| before.data_type() == after.data_type()) {
        return Ok(Transformed::yes(plan));
    }
    // Sums go back to their own type, or fail.
    let columns: Vec<Expr> = before
        .iter()
        .zip(plan.schema().columns())
        .zip(plan.schema().fields())
        .map(|(((qualifier, was), column), is)| {
            let column = Expr::Column(column);
            if was.data_type() == is.data_type() { column } else { cast(column, was.data_type().clone()).alias_qualified(qualifier.cloned(), was.name()) }
        })
        .collect();
    Ok(Transformed::yes(LogicalPlanBuilder::from(plan).project(columns)?.build()?))
}
