//! Rules about rows, sets and datasets, from contract to report and manifest.
use crate::engine::Limits;
use crate::engine::tally::Tally;
use crate::error::{Error, Result};
use crate::plan::{self, Plan};
use crate::run::{self, Services};
use perimeter_contract::Span;
use perimeter_contract::schema::{Bound, Check, Column, DataType, DateFormat, Decimal, Metric, MetricUnit, Schema, SetCheck, SetRule, Zone};
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

const POLICY: &str = r#"
apiVersion: perimeter/v1
kind: Policy
metadata: {name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}
rules:
  - {name: public, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 1}
"#;

/// A source of a test: its name, its contract, its files.
struct Table {
    name: &'static str,
    schema: Schema,
    format: &'static str,
    files: Vec<Vec<u8>>,
}

fn table(name: &'static str, columns: Vec<Column>, rules: Vec<SetRule>, csv: &str) -> Table {
    let mut schema = Schema::new(name, columns);
    schema.columns.iter_mut().for_each(|column| column.classification = Some("public".to_owned()));
    schema.rules = rules;
    let header = schema.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(",");
    // Files are cut at lines of three hyphens.
    let files = csv.split("---\n").map(|rows| format!("{header}\n{}", rows.lines().map(|l| format!("{}\n", l.trim())).collect::<String>()).into_bytes());
    Table { name, schema, format: "csv", files: files.collect() }
}

fn text(name: &str) -> Column {
    Column::new(name, DataType::String)
}

fn int(name: &str) -> Column {
    Column::new(name, DataType::Int64)
}

fn money(name: &str) -> Column {
    Column::new(name, DataType::Decimal { precision: 18, scale: 2 })
}

fn time(name: &str) -> Column {
    Column::new(name, DataType::Timestamp { format: DateFormat::iso_timestamp(), zone: Zone::None })
}

fn rule(code: &str, check: SetCheck) -> SetRule {
    SetRule { code: code.to_owned(), check, span: Span::default() }
}

fn unique(code: &str, columns: &[usize]) -> SetRule {
    rule(code, SetCheck::Unique { columns: columns.to_vec() })
}

fn refers(code: &str, columns: &[usize], dataset: &str, to: &[&str]) -> SetRule {
    rule(code, SetCheck::References { columns: columns.to_vec(), dataset: dataset.to_owned(), to: to.iter().map(|t| (*t).to_owned()).collect() })
}

fn expression(code: &str, sql: &str) -> SetRule {
    rule(code, SetCheck::Expression { sql: sql.to_owned() })
}

fn number(value: i128) -> Decimal {
    Decimal { unscaled: value, scale: 0 }
}

fn metric(code: &str, metric: Metric, unit: MetricUnit, bound: Bound) -> SetRule {
    rule(code, SetCheck::Metric { metric, unit, bounds: vec![bound] })
}

fn sql(code: &str, query: &str, bound: Bound) -> SetRule {
    rule(code, SetCheck::Sql { query: query.to_owned(), bounds: vec![bound] })
}

/// A job over tables, in a folder of its own.
struct World {
    folder: TempDir,
    schemas: Vec<Schema>,
}

impl World {
    fn new(tables: Vec<Table>) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut sources = String::new();
        for table in &tables {
            let columns: String =
                table.schema.columns.iter().map(|c| format!("      - {{name: {}, logicalType: string, classification: public}}\n", c.name)).collect();
            let schema = format!(
                "apiVersion: v3.1.0\nkind: DataContract\nid: urn:test\nname: t\nversion: 1.0.0\nstatus: active\nschema:\n  - name: {}\n    properties:\n{columns}",
                table.schema.name
            );
            fs::write(at(&format!("{}.odcs.yaml", table.name)), schema).unwrap();
            fs::create_dir(at(table.name)).unwrap();
            for (number, file) in table.files.iter().enumerate() {
                fs::write(at(table.name).join(format!("{number}.{}", table.format)), file).unwrap();
            }
            sources.push_str(&format!("  {0}: {{uri: \"{0}/*.{1}\", format: {1}, schema: {0}.odcs.yaml}}\n", table.name, table.format));
        }
        let (first, column) = (tables[0].name, tables[0].schema.columns[0].name.clone());
        let job = format!(
            "apiVersion: perimeter/v1\nkind: Job\nmetadata: {{name: test}}\npolicy: policy.yaml\nsources:\n{sources}quarantine: {{uri: quarantine/, key: k}}\n\
             prepare: SELECT {column} FROM {first}\nkeys: {{k: {{provider: local, keyring: k.keyring.json, create: true}}}}\n\
             shape:\n  features: [{{name: {column}, column: {column}, dtype: bytes}}]\n\
             sink: {{uri: out/, format: arrayRecord, options: \"group_size:1\", encoding: tfExample, shards: 1}}\n"
        );
        fs::write(at("policy.yaml"), POLICY).unwrap();
        fs::write(at("job.yaml"), job).unwrap();
        Self { schemas: tables.into_iter().map(|table| table.schema).collect(), folder }
    }

    async fn plan(&self, services: &Services) -> Result<Plan> {
        let job = self.folder.path().join("job.yaml");
        let mut contract = perimeter_contract::load(&job, &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
        for (source, schema) in contract.job.sources.iter_mut().zip(&self.schemas) {
            source.schema = Schema { span: source.schema.span, ..schema.clone() };
        }
        plan::plan(contract, &services.stores).await
    }

    async fn check_with(&self, limits: Limits) -> Result<(Plan, Tally)> {
        let services = Services::new(limits);
        let plan = self.plan(&services).await?;
        let tally = run::check(&plan, &services).await?;
        Ok((plan, tally))
    }

    async fn check(&self) -> (Plan, Tally) {
        self.check_with(Limits::default()).await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Rules and rows, `rejected` last.
    async fn counts(&self) -> Vec<(String, u64)> {
        let (_, tally) = self.check().await;
        tally.rejections.into_iter().chain([("rejected".to_owned(), tally.rows_rejected)]).collect()
    }

    async fn refused(&self) -> Vec<(&'static str, String)> {
        match self.check_with(Limits::default()).await {
            Err(Error::Contract(mistakes)) => mistakes.list.iter().map(|mistake| (mistake.code, mistake.message.clone())).collect(),
            Err(Error::Failed(failure)) => vec![(failure.code, failure.message)],
            Ok(_) => panic!("it was let through"),
        }
    }
}

fn counted(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(rule, rows)| ((*rule).to_owned(), *rows)).collect()
}

/// `file:record` of the first positions of a rule.
fn first(plan: &Plan, tally: &Tally, rule: &str) -> Vec<String> {
    let report = tally.report(plan);
    let rule = report.rules.iter().find(|r| r.rule == rule).unwrap_or_else(|| panic!("{rule} is not in the report"));
    rule.first.iter().map(|at| format!("{}:{}", at.file.rsplit('/').next().unwrap(), at.record)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_share_a_key_are_all_rejected() {
    let world = World::new(vec![table(
        "t",
        vec![text("a"), text("b"), money("m")],
        vec![unique("a.unique", &[0]), unique("primary-key", &[0, 1]), unique("m.unique", &[2])],
        "a,bc,1\nab,c,1.00\nx,y,2\n,y,3\n,y,4\nx,z,\nx,y,\n---\na,bd,5\n",
    )]);
    let (plan, tally) = world.check().await;
    assert_eq!(
        tally.rejections,
        BTreeMap::from([("t.a.unique".into(), 5), ("t.primary-key".into(), 2), ("t.m.unique".into(), 2)]),
        "nulls share with none; (a, bc) is not (ab, c); 1 is 1.00"
    );
    assert_eq!((tally.rows_read, tally.rows_rejected), (8, 6), "a row that breaks two rules is rejected once");
    assert_eq!(first(&plan, &tally, "t.a.unique"), ["0.csv:1", "0.csv:3", "0.csv:6"]);
    assert_eq!(first(&plan, &tally, "t.primary-key"), ["0.csv:3", "0.csv:7"]);
    assert_eq!(tally.file_rejections[0][1], BTreeMap::from([("a.unique".into(), 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_break_rules_of_their_own_take_no_part() {
    let mut key = text("a");
    key.rules.push(Check::MaxLength(2).into());
    let rules = || vec![unique("a.unique", &[0]), expression("positive", "n > 0")];
    let world = World::new(vec![table("t", vec![key.clone(), int("n")], rules(), "x,1\nx,one\nlong,1\nlong,2\ny,-1\ny,2\n")]);
    // The row with n = one is no row; those that are too long are none, nor is the one with -1.
    assert_eq!(world.counts().await, counted(&[("t.a.max-length", 2), ("t.n.type", 1), ("t.positive", 1), ("rejected", 4)]));
    let world = World::new(vec![table("t", vec![key.clone(), int("n")], rules(), "long,1\nlong,-1\nlong,x\n")]);
    assert_eq!(world.counts().await, counted(&[("t.a.max-length", 3), ("t.n.type", 1), ("t.positive", 1), ("rejected", 3)]), "all of them");
    let world = World::new(vec![table("t", vec![key, int("n")], rules(), "")]);
    assert_eq!(world.counts().await, counted(&[("rejected", 0)]), "none at all");
}

/// A row that an expression rejects costs no other row, and counts nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn an_expression_is_a_rule_of_the_row() {
    let parent = || {
        let rules = vec![
            expression("positive", "k > 0"),
            unique("id.unique", &[0]),
            unique("primary-key", &[0, 2]),
            rule("order", SetCheck::Monotonic { column: 1, per: vec![], strict: true }),
            metric("rows", Metric::RowCount, MetricUnit::Rows, Bound::Be(number(3))),
            metric("repeats", Metric::DuplicateValues { columns: vec![2] }, MetricUnit::Rows, Bound::Be(number(2))),
            sql("total", "SELECT sum(k) FROM {object}", Bound::Be(number(18))),
        ];
        table("p", vec![int("id"), int("k"), text("z")], rules, "1,5,a\n1,-5,a\n2,6,a\n9,-1,a\n---\n3,7,a\n")
    };
    let child = table("c", vec![int("p")], vec![refers("p.references", &[0], "p", &["id"])], "1\n9\n");
    let world = World::new(vec![parent(), child]);
    let (_, tally) = world.check().await;
    assert_eq!(tally.rejections, BTreeMap::from([("p.positive".into(), 2), ("c.p.references".into(), 1)]));
    assert_eq!(tally.rows_rejected, 3);
    assert!(tally.verdicts.iter().all(|verdict| verdict.holds), "{:?}", tally.verdicts);
    // As a rule about values says it.
    let mut same = parent();
    same.schema.rules.remove(0);
    same.schema.columns[1].rules.push(Check::Minimum(number(1)).into());
    assert_eq!(World::new(vec![same]).counts().await, counted(&[("p.k.minimum", 2), ("rejected", 2)]));
}

/// Every row says what it breaks, as far as its cells are values.
#[tokio::test(flavor = "multi_thread")]
async fn expressions_are_asked_of_rows_with_other_faults() {
    let rules = || {
        vec![expression("positive", "k > 0"), expression("both", "k > 0 AND z > 0"), expression("there", "z IS NOT NULL"), expression("ratio", "100 / k > 1")]
    };
    let csv = "1,-5,x\n2,x,-1\n3,x,x\n4,,x\n5,0,x\n6,1,\n7,9,1\n";
    for batch_rows in [1, 3, 8192] {
        let world = World::new(vec![table("t", vec![int("id"), int("k"), int("z")], rules(), csv)]);
        let (_, tally) = world.check_with(Limits { batch_rows, ..Limits::default() }).await.unwrap();
        let found: BTreeMap<&str, Vec<u64>> = tally.first.iter().map(|(rule, first)| (rule.as_str(), first.iter().map(|at| at.2).collect())).collect();
        let want = [
            ("t.k.type", vec![2, 3]),
            ("t.z.type", vec![1, 3, 4]),
            ("t.positive", vec![1, 5]),
            // Not 1 and 5: z is no value there.
            ("t.there", vec![6]),
            // A division by zero is no end of the job.
            ("t.ratio", vec![1, 5]),
        ];
        assert_eq!(found, BTreeMap::from(want), "{batch_rows}");
        assert_eq!((tally.rejections["t.z.type"], tally.rows_rejected), (4, 6));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_numbers_in_rules_do_not_wrap() {
    const MAX: i128 = i64::MAX as i128;
    let wide = || Column::new("d", DataType::Decimal { precision: 38, scale: 0 });
    let nines = "9".repeat(38);
    let csv = format!("{MAX},2147483647,{nines},2026-01-01 00:00:00\n{MAX},2147483647,{nines},1970-01-01 00:00:00\n");
    let tables = |rules| vec![table("t", vec![int("k"), Column::new("i", DataType::Int32), wide(), time("at")], rules, &csv)];
    for query in [
        "SELECT sum(k) FROM t",
        "SELECT sum(k + 0) FROM t",
        "SELECT sum(k) + 1 FROM t",
        "SELECT max(k) + 1 FROM t",
        "SELECT max(k + k) FROM t",
        "SELECT min(i * i * i) FROM t",
        "SELECT min(-2 - k) FROM t",
        "SELECT -(min(-k) - 1) FROM t",
        "SELECT sum(d) FROM t",
        "SELECT max(d + d) FROM t",
        "SELECT max(d * d) FROM t",
        "SELECT count(*) FROM t WHERE k + 1 > 0",
        "SELECT count(*) FROM t a JOIN t b ON a.k + 1 = b.k",
        "SELECT count(*) FROM (SELECT i, sum(k) AS s FROM t GROUP BY i HAVING sum(k) <> 0) WHERE s % 2 = 0",
        "SELECT count(*) FROM t WHERE k < (SELECT sum(k) FROM t) + 7",
        "SELECT max(s) FROM (SELECT sum(k) OVER (ORDER BY at) AS s FROM t)",
        "SELECT max(s) FROM (SELECT sum(k) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t)",
        "SELECT count(*) FROM t GROUP BY k + 1",
        "SELECT max(CASE WHEN i > 0 THEN k * 2 ELSE 0 END) FROM t",
    ] {
        let world = World::new(tables(vec![sql("q", query, Bound::LessThan(number(0)))]));
        let refused = match world.check_with(Limits::default()).await {
            Err(Error::Failed(failure)) => (failure.code, failure.culprit.exit_code()),
            other => panic!("{query}: {other:?}"),
        };
        assert_eq!(refused, ("query-failed", 1), "{query}");
    }
    for (query, bound) in [
        ("SELECT sum(k - 1) FROM t WHERE at > '2000-01-01'", Bound::Be(number(MAX - 1))),
        ("SELECT sum(i) FROM t", Bound::Be(number(2 * 2_147_483_647))),
        ("SELECT sum(DISTINCT k) FROM t", Bound::Be(number(MAX))),
        ("SELECT (k - 7) / 2 AS half FROM t GROUP BY (k - 7) / 2", Bound::Be(number((MAX - 7) / 2))),
        ("SELECT sum(k) - 1 AS s FROM t WHERE at < '2000-01-01' GROUP BY i HAVING sum(k) > 5", Bound::Be(number(MAX - 1))),
        ("SELECT sum(x) FROM (SELECT CASE WHEN at < '2000-01-01' THEN k ELSE -k END AS x FROM t)", Bound::Be(number(0))),
        ("SELECT sum(CAST(k AS DECIMAL(38, 0))) FROM t", Bound::Be(number(2 * MAX))),
        ("SELECT avg(CAST(i AS DECIMAL(30, 0))) FROM t", Bound::Be(number(2_147_483_647))),
    ] {
        let (_, tally) =
            World::new(tables(vec![sql("q", query, bound)])).check_with(Limits::default()).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert!(tally.verdicts[0].holds, "{query}");
    }
    // No value, so the row is rejected; never because of another number.
    for (sql, rows) in
        [("k + 1 > k", 2), ("k - 1 < k", 0), ("k * 2 < 0", 2), ("-k - 2 > 0", 2), ("i + i < 0", 2), ("d > 0 AND -k < 0", 0), ("k / 2 * 2 < k", 0)]
    {
        let (_, tally) = World::new(tables(vec![expression("e", sql)])).check().await;
        assert_eq!(tally.rows_rejected, rows, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_a_group_where_rows_are_in_order() {
    let csv = "1,a,5\n2,,7\n3,a,4\n4,,6\n5,,8\n6,,\n7,,7\n";
    let columns = || vec![int("n"), text("per"), int("k")];
    let world = World::new(vec![table("t", columns(), vec![rule("order", SetCheck::Monotonic { column: 2, per: vec![1], strict: false })], csv)]);
    let (plan, tally) = world.check().await;
    assert_eq!(first(&plan, &tally, "t.order"), ["0.csv:3", "0.csv:4", "0.csv:7"]);
    // Which of two columns is null makes a difference.
    let csv = "1,a,,9\n2,,a,1\n3,,,5\n4,,,4\n";
    let columns = vec![int("n"), text("p"), text("q"), int("k")];
    let world = World::new(vec![table("t", columns, vec![rule("order", SetCheck::Monotonic { column: 3, per: vec![1, 2], strict: false })], csv)]);
    let (plan, tally) = world.check().await;
    assert_eq!(first(&plan, &tally, "t.order"), ["0.csv:4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn references_are_to_clean_rows_of_the_other_source() {
    let mut id = int("id");
    id.rules.push(Check::Maximum(number(100)).into());
    let accounts = || table("accounts", vec![text("name"), id.clone()], vec![], "a,1\nb,2\nb,2\nc,300\nd,\n");
    let tx = table(
        "tx",
        vec![text("x"), money("account")],
        vec![refers("account.references", &[1], "accounts", &["id"])],
        "p,1\nq,2.00\nr,300\ns,\nt,1.01\n---\nu,5\n",
    );
    let world = World::new(vec![tx, accounts()]);
    let (plan, tally) = world.check().await;
    // 300 is there, in a row that breaks a rule.
    assert_eq!(tally.rejections, BTreeMap::from([("accounts.id.maximum".into(), 1), ("tx.account.references".into(), 3)]));
    assert_eq!(first(&plan, &tally, "tx.account.references"), ["0.csv:3", "0.csv:5", "1.csv:1"]);

    for (rule, code) in [
        (refers("r", &[1], "customers", &["id"]), "unknown-reference"),
        (refers("r", &[1], "accounts", &["number"]), "unknown-reference"),
        (refers("r", &[1], "accounts", &["name"]), "unknown-reference"),
        (refers("r", &[0, 1], "accounts", &["name"]), "unknown-reference"),
    ] {
        let tx = table("tx", vec![text("x"), money("account")], vec![rule], "p,1\n");
        assert_eq!(World::new(vec![tx, accounts()]).refused().await[0].0, code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn references_may_go_to_the_own_source_and_in_circles() {
    let staff = table("staff", vec![text("id"), text("boss")], vec![refers("boss.references", &[1], "staff", &["id"])], "1,\n2,1\n3,2\n4,9\n5,5\n");
    assert_eq!(World::new(vec![staff]).counts().await, counted(&[("staff.boss.references", 1), ("rejected", 1)]));

    let left = table("left", vec![text("id"), text("other")], vec![refers("other.references", &[1], "right", &["id"])], "1,a\n2,b\n3,z\n");
    let right = table("right", vec![text("id"), text("other")], vec![refers("other.references", &[1], "left", &["id"])], "a,3\nb,4\n");
    // 3 dangles itself and can be referred to all the same: it breaks no rule of its own.
    assert_eq!(World::new(vec![left, right]).counts().await, counted(&[("left.other.references", 1), ("right.other.references", 1), ("rejected", 2)]));

    // Two sources of one contract are one dataset.
    let mut old = table("y2024", vec![text("id")], vec![], "1\n");
    let mut new = table("y2025", vec![text("id")], vec![], "2\n");
    (old.schema.name, new.schema.name) = ("customers".into(), "customers".into());
    let tx = table("tx", vec![text("customer")], vec![refers("customer.references", &[0], "customers", &["id"])], "1\n2\n3\n");
    assert_eq!(World::new(vec![tx, old, new]).counts().await, counted(&[("tx.customer.references", 1), ("rejected", 1)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_back_is_rejected() {
    let columns = || vec![text("k"), time("at"), money("m")];
    let csv = "a,2026-01-02 00:00:00,1\na,2026-01-01 00:00:00,1.00\na,2026-01-01 12:00:00,2\nb,2026-01-01 00:00:00,-3\na,,9\n---\na,2026-01-02 00:00:00,3\n,2020-01-01 00:00:00,4\nb,2025-12-31 23:59:59.999999,4\na,2026-01-03 00:00:00,1\n";
    let monotonic = |column, per: &[usize], strict| vec![rule("order", SetCheck::Monotonic { column, per: per.to_vec(), strict })];
    let go = async |rules| {
        let (plan, tally) = World::new(vec![table("t", columns(), rules, csv)]).check().await;
        first(&plan, &tally, "t.order").into_iter().chain([tally.rows_rejected.to_string()]).collect::<Vec<_>>()
    };
    // The third row lies behind the first, which is the latest that was not rejected.
    assert_eq!(go(monotonic(1, &[0], false)).await, ["0.csv:2", "0.csv:3", "1.csv:3", "3"]);
    assert_eq!(go(monotonic(1, &[0], true)).await, ["0.csv:2", "0.csv:3", "1.csv:1", "4"]);
    assert_eq!(go(monotonic(2, &[], false)).await, ["0.csv:4", "1.csv:1", "1.csv:2", "5"]);
    let mut list = columns();
    list[1] = text("at");
    let world = World::new(vec![table("t", list, monotonic(1, &[0], false), "")]);
    assert_eq!(world.refused().await[0].0, "rule-not-applicable");
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_are_false_null_or_fail_by_row() {
    let columns = || vec![text("t"), int("a"), int("b"), money("m")];
    let csv = "x,4,2,1.10\nx,4,0,1.10\nx,,2,\nx,9223372036854775807,1,0.01\n7,4,3,2\n";
    for (sql, records) in [
        ("a / b > 1", vec![2u64, 5]),
        ("b <> 0 AND a / b > 1", vec![2, 5]),
        ("b = 0 OR a / b >= 1", vec![]),
        ("CASE WHEN b = 0 THEN true ELSE a / b > 1 END", vec![5]),
        ("a + b < 7", vec![4, 5]),
        ("a + b > 6", vec![1, 2, 4]),
        ("CAST(t AS BIGINT) = 7", vec![1, 2, 3, 4]),
        ("coalesce(TRY_CAST(t AS BIGINT), 7) = 7", vec![]),
        ("m * 2 <> 2.20", vec![1, 2]),
        ("m IS NOT NULL", vec![3]),
        ("t IN ('x', 'y') AND length(t) = 1", vec![5]),
        ("a > b", vec![]),
    ] {
        for batch_rows in [1, 2, 8192] {
            let world = World::new(vec![table("t", columns(), vec![expression("rule", sql)], csv)]);
            let (_, tally) = world.check_with(Limits { batch_rows, ..Limits::default() }).await.unwrap();
            let found: Vec<u64> = tally.first.get("t.rule").map(|first| first.iter().map(|(_, _, record)| *record).collect()).unwrap_or_default();
            assert_eq!(found, records.iter().copied().take(3).collect::<Vec<_>>(), "{sql}");
            assert_eq!(tally.rows_rejected, records.len() as u64, "{sql}");
        }
    }
    for (sql, code) in [
        ("a +", "invalid-expression"),
        ("a", "invalid-expression"),
        ("true", "invalid-expression"),
        ("1 + 1 = 2", "invalid-expression"),
        ("a > 1; DROP TABLE t", "invalid-expression"),
        ("nothing > 1", "invalid-expression"),
        ("other.a > 1", "invalid-expression"),
        ("a > 1 a", "invalid-expression"),
        ("true) OR (true", "invalid-expression"),
        ("sum(a) > 1", "expression-not-allowed"),
        ("row_number() OVER () > 1", "expression-not-allowed"),
        ("random() > 0.5", "expression-not-allowed"),
        ("now() > '2026-01-01'", "expression-not-allowed"),
        ("a IN (SELECT 1)", "expression"),
        ("EXISTS (SELECT 1)", "expression"),
        ("a > $1", "expression"),
        ("@@x", "invalid-expression"),
    ] {
        let world = World::new(vec![table("t", columns(), vec![expression("rule", sql)], csv)]);
        let refused = world.refused().await;
        assert!(refused[0].0.contains(code), "{sql}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_held_against_their_bounds() {
    let columns = || vec![text("t"), int("n"), money("m")];
    // Nine rows, eight clean.
    let csv = "x,1,1\nx,2,\ny,,1.0\n,3,2\n,3,2\nN/A,-1,2\nz,3,7\nz,one,7\nw,9,\n";
    let null = |column| Metric::NullValues { column };
    for (metric_, unit, bound, holds, counted, of) in [
        (null(0), MetricUnit::Rows, Bound::LessThan(number(3)), true, 2, Some(8)),
        (null(0), MetricUnit::Percent, Bound::LessOrEqualTo(number(25)), true, 2, Some(8)),
        (null(0), MetricUnit::Percent, Bound::LessThan(number(25)), false, 2, Some(8)),
        (null(1), MetricUnit::Rows, Bound::Be(number(0)), false, 1, Some(8)),
        (Metric::MissingValues { column: 0, values: vec!["N/A".into()], null: true }, MetricUnit::Rows, Bound::Be(number(3)), true, 3, Some(8)),
        (Metric::MissingValues { column: 0, values: vec!["N/A".into(), "-".into()], null: false }, MetricUnit::Rows, Bound::Be(number(1)), true, 1, Some(8)),
        (Metric::MissingValues { column: 1, values: vec!["-1".into(), "N/A".into()], null: false }, MetricUnit::Rows, Bound::Be(number(1)), true, 1, Some(8)),
        (
            Metric::InvalidValues {
                column: 0,
                checks: vec![Check::ValidValues(vec!["x".into(), "y".into()]), Check::Pattern(regex::Regex::new("^[a-z]$").unwrap())],
            },
            MetricUnit::Rows,
            Bound::Be(number(3)),
            true,
            3,
            Some(8),
        ),
        (
            Metric::InvalidValues { column: 2, checks: vec![Check::ValidValues(vec!["1.00".into(), "2".into()])] },
            MetricUnit::Rows,
            Bound::Be(number(1)),
            true,
            1,
            Some(8),
        ),
        (Metric::DuplicateValues { columns: vec![0] }, MetricUnit::Rows, Bound::Be(number(1)), true, 1, Some(8)),
        (Metric::DuplicateValues { columns: vec![1, 2] }, MetricUnit::Percent, Bound::GreaterThan(number(0)), true, 1, Some(8)),
        (Metric::RowCount, MetricUnit::Rows, Bound::Between(number(8), number(8)), true, 8, None),
    ] {
        let world = World::new(vec![table("t", columns(), vec![metric("q", metric_.clone(), unit, bound)], csv)]);
        let (plan, tally) = world.check().await;
        let [verdict] = tally.verdicts.as_slice() else { panic!("one verdict") };
        assert_eq!((verdict.holds, verdict.counted, verdict.of), (holds, Some(counted), of), "{metric_:?}");
        assert_eq!(tally.rows_rejected, 1, "metrics reject no row");
        assert_eq!(run::gate(&plan, &tally).is_ok(), holds);
        let report = tally.report(&plan);
        assert_eq!(report.json()["verdicts"][0]["holds"], holds);
        assert!(report.text().contains(if holds { "t.q       holds  " } else { "t.q       fails  " }), "{}", report.text());
    }
    let world = World::new(vec![table("t", columns(), vec![metric("rows", Metric::RowCount, MetricUnit::Rows, Bound::GreaterThan(number(0)))], "")]);
    let (plan, tally) = world.check().await;
    let Err(Error::Failed(failure)) = run::gate(&plan, &tally) else { panic!("an empty source has no row") };
    assert_eq!((failure.code, failure.culprit.exit_code()), ("quality-failed", 1));
    assert!(
        failure.message.contains("t.rows") && failure.message.contains(":1)") && failure.message.contains("rowCount mustBeGreaterThan 0, counted 0"),
        "{}",
        failure.message
    );
    let list = Column::new("l", DataType::List(Box::new(DataType::String)));
    let world = World::new(vec![table("t", vec![text("t"), list], vec![unique("l.unique", &[1])], "")]);
    assert_eq!(world.refused().await[0].0, "rule-not-applicable");
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_give_one_number() {
    let tables = |rules| {
        vec![
            table(
                "tx",
                vec![text("id"), text("account"), money("m"), Column::new("w", DataType::Float64)],
                rules,
                "1,a,10,0.1\n2,b,20,0.2\n3,c,x,9\n4,,30.5,0.3\n",
            ),
            table("accounts", vec![text("id"), int("limit")], vec![], "a,15\nb,15\n"),
        ]
    };
    for (query, bound, holds) in [
        ("SELECT count(*) FROM {object}", Bound::Be(number(3)), true),
        ("SELECT COUNT(*) FROM ${table} WHERE m > 15;", Bound::Be(number(2)), true),
        ("SELECT sum(m) FROM tx", Bound::Be(Decimal { unscaled: 605, scale: 1 }), true),
        ("SELECT sum(m) FROM tx", Bound::Between(number(0), number(60)), false),
        ("SELECT avg(w) FROM {object}", Bound::LessThan(number(1)), true),
        ("SELECT count(*) FROM tx JOIN accounts ON tx.account = accounts.id WHERE tx.m > accounts.\"limit\"", Bound::Be(number(1)), true),
        ("SELECT count(DISTINCT account) FROM tx WHERE account NOT IN (SELECT id FROM accounts)", Bound::Be(number(0)), true),
        ("SELECT max(m) FROM tx WHERE m > 1000", Bound::NotBe(number(7)), false),
        ("SELECT -3 * min(\"limit\") / 45 FROM accounts", Bound::Be(number(-1)), true),
    ] {
        let (plan, tally) = World::new(tables(vec![sql("q", query, bound)])).check().await;
        let [verdict] = tally.verdicts.as_slice() else { panic!("one verdict") };
        assert_eq!((verdict.holds, verdict.counted), (holds, None), "{query}");
        assert!(holds || !format!("{:?}{}", tally.report(&plan), run::gate(&plan, &tally).unwrap_err()).contains("60.5"), "what a query gives is not shown");
    }
    for (query, code) in [
        ("SELECT 1/0", "invalid-sql|query-failed"),
        ("SELECT sum(CAST(account AS BIGINT)) FROM tx", "query-failed"),
        ("SELECT m FROM tx", "query-failed"),
        ("SELECT count(*) FROM tx GROUP BY account", "query-failed"),
        ("SELECT count(*), 1 FROM tx", "invalid-sql"),
        ("SELECT account FROM tx", "invalid-sql"),
        ("SELECT count(*) FROM nowhere", "invalid-sql"),
        ("SELECT count(*) FROM information_schema.tables", "invalid-sql|query-not-allowed"),
        ("SELECT count(*) FROM tx WHERE random() > 0.5", "query-not-allowed"),
        ("SELECT count(*) FROM tx WHERE now() > '2026-01-01'", "query-not-allowed"),
        ("DROP TABLE tx", "invalid-sql|query-not-allowed"),
        ("COPY tx TO 'x.csv'", "invalid-sql|query-not-allowed"),
        ("SELECT count(*) FROM tx; SELECT 1", "invalid-sql"),
        ("SELECT count({property}) FROM tx", "invalid-sql"),
        ("SELECT 0", "invalid-sql"),
        ("SELECT count(*) FROM (VALUES (1), (2)) AS v(a)", "invalid-sql"),
        ("", "invalid-sql"),
    ] {
        let refused = World::new(tables(vec![sql("q", query, Bound::Be(number(0)))])).refused().await;
        assert!(code.split('|').any(|code| refused[0].0 == code), "{query}: {refused:?}");
        assert!(!refused[0].1.contains("30.5"));
    }
}

/// 1,200 rows in three files with violations of every kind.
fn many() -> Vec<Table> {
    let mut csv = String::new();
    for row in 0..1200u64 {
        let id = if row % 97 == 5 { row - 1 } else { row };
        let parent = if row % 89 == 3 { "none".to_owned() } else { (row % 50).to_string() };
        let at = if row % 71 == 9 { 0 } else { row };
        let cell = if row % 101 == 7 { "x".to_owned() } else { (row % 13).to_string() };
        csv.push_str(&format!("{id},{parent},{at},{cell}\n"));
        if row % 400 == 399 && row < 1199 {
            csv.push_str("---\n");
        }
    }
    let rules = vec![
        unique("id.unique", &[0]),
        refers("parent.references", &[1], "parents", &["id"]),
        rule("order", SetCheck::Monotonic { column: 2, per: vec![1], strict: true }),
        expression("no-seven", "n <> 7"),
        metric("repeats", Metric::DuplicateValues { columns: vec![1] }, MetricUnit::Rows, Bound::GreaterThan(number(0))),
        metric("rows", Metric::RowCount, MetricUnit::Rows, Bound::GreaterThan(number(0))),
        sql("weight", "SELECT avg(CAST(n AS DOUBLE)) FROM {object}", Bound::GreaterThan(number(1))),
    ];
    let parents: String = (0..50).map(|n| format!("{n}\n")).collect();
    vec![table("t", vec![text("id"), text("parent"), int("at"), int("n")], rules, &csv), table("parents", vec![text("id")], vec![], &parents)]
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_depends_on_threads_and_batches() {
    let world = World::new(many());
    let (plan, expected) = world.check().await;
    assert_eq!(expected.rejections.len(), 5);
    assert!(expected.rejections.values().all(|rows| *rows > 5), "{:?}", expected.rejections);
    let expected = expected.report(&plan);
    for threads in [1, 2, 5] {
        for batch_rows in [1, 7, 400, 32_768] {
            for memory_bytes in [64 << 20, 2 << 30] {
                let (plan, tally) = world.check_with(Limits { threads, batch_rows, memory_bytes }).await.unwrap();
                assert_eq!(tally.report(&plan), expected, "{threads} threads, {batch_rows} rows a batch");
            }
        }
    }
    // The same rows in one file instead of three.
    let mut tables = many();
    let header = "id,parent,at,n\n";
    let rows = tables[0].files.iter().flat_map(|file| file.strip_prefix(header.as_bytes()).unwrap().to_vec());
    tables[0].files = vec![header.bytes().chain(rows).collect()];
    let (_, tally) = World::new(tables).check().await;
    let counts: Vec<_> = expected.rules.iter().map(|rule| (rule.rule.clone(), rule.rows)).collect();
    assert_eq!(tally.rejections.into_iter().collect::<Vec<_>>(), counts);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_rejects_what_check_counts() {
    let world = World::new(many());
    let (plan, checked) = world.check().await;
    let services = Services::new(Limits::default());
    let sealed = run::run(&plan, &services).await.unwrap_or_else(|error| panic!("{error:?}"));
    let manifest = sealed.manifest();
    assert_eq!(manifest.rejections, checked.rejections);
    assert_eq!((manifest.rows.read, manifest.rows.rejected), (checked.rows_read, checked.rows_rejected));
    assert_eq!(manifest.rows.written, 1200 - (checked.rows_rejected));
    let by_file: Vec<_> = manifest.inputs.iter().map(|input| input.rejections.clone()).collect();
    assert_eq!(by_file, checked.file_rejections.concat());
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for input in &manifest.inputs {
        for (code, rows) in &input.rejections {
            *sums.entry(format!("{}.{code}", input.source)).or_default() += rows;
        }
    }
    assert_eq!(sums, manifest.rejections);
    // Rejected records lie in quarantine with every code that they break.
    let quarantine = world.folder.path().join("quarantine");
    assert!(fs::read_dir(&quarantine).unwrap().count() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_can_put_rejected_rows_into_quarantine() {
    for sets in [true, false] {
        let mut tables = many();
        if !sets {
            tables[0].schema.rules.retain(|rule| !rule.check.rejects_rows() || matches!(rule.check, SetCheck::Expression { .. }));
        }
        let world = World::new(tables);
        let services = Services::new(Limits::default());
        let plan = world.plan(&services).await.unwrap();
        let (counted, folder) = run::check_and_quarantine(&plan, &services).await.unwrap_or_else(|error| panic!("{error:?}"));
        let (_, checked) = world.check().await;
        assert_eq!(counted.report(&plan), checked.report(&plan));
        let root = crate::keys::open_one("k", &plan.contract.job, &services.stores).await.unwrap();
        let mut codes: BTreeMap<String, u64> = BTreeMap::new();
        let mut records = 0;
        let files = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        let found = tokio::task::spawn_blocking(move || {
            for file in files {
                let uri = perimeter_contract::job::Uri(file.to_str().unwrap().to_owned());
                let sealed = crate::quarantine::list(&services.stores, &[uri]).unwrap();
                for record in crate::quarantine::open(&services.stores, &root, &sealed[0]).unwrap() {
                    let record = record.unwrap();
                    records += 1;
                    assert!(!record.raw.is_empty());
                    record.codes.iter().for_each(|code| *codes.entry(format!("t.{code}")).or_default() += 1);
                }
            }
            (records, codes)
        });
        assert_eq!(found.await.unwrap(), (checked.rows_rejected, checked.rejections));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_shows_rules_about_rows_sets_and_datasets() {
    let services = Services::new(Limits::default());
    let plan = World::new(many()).plan(&services).await.unwrap();
    let text = plan::explain::text(&plan);
    for line in [
        "rule      t.id.unique: rejects every row that shares id with another",
        "rule      t.parent.references: rejects rows whose parent is not among id of parents",
        "rule      t.order: rejects rows whose at does not go on within parent",
        "rule      t.no-seven: rejects rows unless n <> 7",
        "rule      t.repeats: duplicateValues of parent mustBeGreaterThan 0",
        "rule      t.rows: rowCount mustBeGreaterThan 0",
        "rule      t.weight: SELECT avg(CAST(n AS DOUBLE)) FROM {object} mustBeGreaterThan 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(plan::explain::json(&plan)["sources"][0]["rules"][3]["rule"], "no-seven");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_fails_publishes_nothing() {
    for early in [true, false] {
        let mut tables = many();
        tables[0].schema.rules.push(metric("too-many", Metric::RowCount, MetricUnit::Rows, Bound::LessThan(number(10))));
        if !early {
            tables[0].schema.rules.retain(|rule| !matches!(rule.check, SetCheck::Unique { .. } | SetCheck::References { .. } | SetCheck::Monotonic { .. }));
            tables[0].schema.rules.retain(|rule| rule.code != "repeats");
        }
        let world = World::new(tables);
        let services = Services::new(Limits::default());
        let plan = world.plan(&services).await.unwrap();
        let Err(Error::Failed(failure)) = run::run(&plan, &services).await else { panic!("it was sealed") };
        assert_eq!(failure.code, "quality-failed");
        assert!(failure.message.contains("t.too-many") && !failure.message.contains("t.rows"), "{}", failure.message);
        let left = glob::glob(world.folder.path().join("out/**/*").to_str().unwrap()).unwrap().filter(|p| p.as_ref().unwrap().is_file()).count();
        assert_eq!(left, 0);
    }
}

/// A table of Parquet files: a text and a number, four rows in two row groups.
fn parquet(rules: Vec<SetRule>) -> Table {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    let texts: ArrayRef = std::sync::Arc::new(StringArray::from(vec![Some("a"), Some("b"), Some("a"), Some("c")]));
    let numbers: ArrayRef = std::sync::Arc::new(Int64Array::from(vec![Some(1), Some(7), None, Some(7)]));
    let batch = RecordBatch::try_from_iter([("id", texts), ("n", numbers)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch.slice(0, 2)).unwrap();
    writer.flush().unwrap();
    writer.write(&batch.slice(2, 2)).unwrap();
    writer.close().unwrap();
    Table { format: "parquet", files: vec![bytes], ..table("t", vec![text("id"), int("n")], rules, "") }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_only_rules_look_at_are_read() {
    // `prepare` selects the text alone.
    let rules = vec![expression("no-seven", "n <> 7 AND length(id) < 3"), unique("id.unique", &[0]), unique("n.unique", &[1])];
    let world = World::new(vec![parquet(rules)]);
    let (plan, tally) = world.check().await;
    let expected = BTreeMap::from([("t.id.unique".into(), 2), ("t.no-seven".into(), 2)]);
    assert_eq!((tally.rejections, tally.rows_rejected), (expected, 4));
    // A run reads them too: no row is left, and so nothing is published.
    match run::run(&plan, &Services::new(Limits::default())).await {
        Err(Error::Failed(failure)) => {
            assert_eq!((failure.code, failure.message.as_str()), ("no-records", "there is no record to publish: all 4 rows of source `t` were rejected"))
        }
        other => panic!("{other:?}"),
    }

    let world = World::new(vec![parquet(vec![
        expression("seven", "n = 7"),
        metric("nulls", Metric::NullValues { column: 1 }, MetricUnit::Rows, Bound::Be(number(1))),
    ])]);
    let (plan, tally) = world.check().await;
    assert_eq!((tally.rejections.get("t.seven").copied(), tally.verdicts[0].holds), (Some(1), true));
    let sealed = run::run(&plan, &Services::new(Limits::default())).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(sealed.manifest().rows.written, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_rules_over_five_hundred_columns() {
    let mut columns: Vec<Column> = (0..500).map(|at| if at % 2 == 0 { text(&format!("c{at}")) } else { int(&format!("c{at}")) }).collect();
    for (at, column) in columns.iter_mut().enumerate() {
        column.required = true;
        column.rules.push(if at % 2 == 0 { Check::MaxLength(3).into() } else { Check::Maximum(number(999)).into() });
    }
    // Many rules on one column, and rules about rows and sets of every kind.
    columns[0].rules.extend((0..1000).map(|n| Check::NotAmong(vec![format!("v{n}")]).into()));
    let mut rules: Vec<SetRule> = (0..100).map(|n| expression(&format!("e{n}"), &format!("c{} + c{} < 1998", 2 * n + 1, 2 * n + 3))).collect();
    rules.extend((0..20).map(|n| unique(&format!("u{n}"), &[2 * n, 2 * n + 1])));
    rules.extend((0..50).map(|n| metric(&format!("m{n}"), Metric::NullValues { column: n }, MetricUnit::Percent, Bound::LessThan(number(1)))));
    let line = |row: usize| (0..500).map(|at| if at % 2 == 0 { format!("t{}", row % 10) } else { (row * 7 % 1000).to_string() }).collect::<Vec<_>>().join(",");
    let csv: String = (0..300).map(|row| format!("{}\n", line(row))).collect();
    let world = World::new(vec![table("wide", columns, rules, &csv)]);
    let begun = std::time::Instant::now();
    let (_, tally) = world.check().await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!((tally.rows_read, tally.verdicts.len()), (300, 50));
    assert!(tally.verdicts.iter().all(|verdict| verdict.holds));
    assert_eq!(tally.rejections.get("wide.e0"), None, "7 * row % 1000 is 999 in no row of these");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_holds_for_every_source_by_itself() {
    let refused = |plan: &Plan, tally: &Tally| match run::gate(plan, tally) {
        Err(Error::Failed(failure)) => (failure.code, failure.message),
        other => panic!("{other:?}"),
    };
    let large: String = (0..300).map(|n| format!("{n}\n")).collect();
    // Of 303 rows 3 are rejected, which is little; of `small`, all: by its type, by a rule about its row, and by a reference.
    let small = table("small", vec![int("a")], vec![expression("positive", "a > 0"), refers("a.references", &[0], "large", &["n"])], "x\n-1\n999\n");
    let (mut plan, tally) = World::new(vec![table("large", vec![int("n")], vec![], &large), small]).check().await;
    plan.contract.policy.gates.max_rejected_fraction = 0.5;
    let by_source: Vec<_> = tally.by_source(&plan).map(|rows| (rows.source.clone(), rows.read, rows.rejected, rows.rejected_fraction())).collect();
    assert_eq!(by_source, [("large".to_owned(), 300, 0, 0.0), ("small".to_owned(), 3, 3, 1.0)]);
    assert!(tally.rejected_fraction() < 0.01);
    let (code, message) = refused(&plan, &tally);
    assert_eq!(code, "too-many-rejected");
    assert_eq!(
        message,
        "source `small`: 3 of 3 rows were rejected, a share of 1.0000, more than the policy's maxRejectedFraction 0.5: small.a.references (1), small.a.type (1), small.positive (1)"
    );
    let report = tally.report(&plan);
    let shares: Vec<_> = report.rules.iter().map(|rule| (rule.rows, rule.of)).collect();
    assert_eq!(shares, [(1, 3), (1, 3), (1, 3)], "a rule's share is of its source");
    assert!(report.text().contains("rejected of small"), "{}", report.text());

    plan.contract.policy.gates.max_rejected_fraction = 1.0;
    run::gate(&plan, &tally).unwrap();
    // At the limit is not above it.
    let (mut plan, tally) = World::new(vec![table("t", vec![int("n")], vec![], "1\n2\nx\n4\n")]).check().await;
    for (allowed, passes) in [(0.25, true), (0.249, false)] {
        plan.contract.policy.gates.max_rejected_fraction = allowed;
        assert_eq!(run::gate(&plan, &tally).is_ok(), passes, "{allowed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ragged_records_say_what_they_have_and_what_they_should() {
    let mut wide = table("t", vec![text("a"), text("b")], vec![], "");
    wide.files = vec![b"a,b\n1,2,3\n1,2,3\n1\n4,5,6\n".to_vec()];
    let (mut plan, tally) = World::new(vec![wide]).check().await;
    let report = tally.report(&plan);
    let line = "3 of 4 ragged records of source `t` have 3 cells: the header, or without one the contract, has 2";
    assert!(report.text().contains(line), "{}", report.text());
    assert_eq!(report.json()["ragged"][0], serde_json::json!({"source": "t", "unit": "cells", "found": 3, "expected": 2, "rows": 3, "of": 4}));
    plan.contract.policy.gates.max_rejected_fraction = 0.0;
    match run::gate(&plan, &tally) {
        Err(Error::Failed(failure)) => assert!(failure.help.as_deref().unwrap_or_default().contains(line), "{:?}", failure.help),
        other => panic!("{other:?}"),
    }
    let (plan, tally) = World::new(vec![table("t", vec![text("a"), text("b")], vec![], "1,2\n")]).check().await;
    assert_eq!(tally.report(&plan).ragged, []);
}
