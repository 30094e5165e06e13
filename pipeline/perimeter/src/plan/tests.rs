//! Plans over small contracts: what is decided, and what is refused with which code.
use super::*;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

const SCHEMA: &str = r#"
apiVersion: v3.1.0
kind: DataContract
id: urn:test
name: tx
version: 1.0.0
status: active
schema:
  - name: tx
    properties:
      - {name: account_id, logicalType: string, customProperties: [{property: semanticType, value: ACCOUNT_ID}, {property: joinDomain, value: account}]}
      - {name: cpf, logicalType: string, customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]}
      - {name: holder_cpf, logicalType: string, customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]}
      - {name: born, logicalType: date, customProperties: [{property: semanticType, value: DATE_OF_BIRTH}]}
      - {name: booked_at, logicalType: timestamp, logicalTypeOptions: {timezone: false}, customProperties: [{property: semanticType, value: EVENT_TIME}]}
      - {name: amount, logicalType: number, physicalType: "decimal(18,2)", classification: public}
      - {name: weight, logicalType: number, physicalType: double, classification: public}
      - {name: memo, logicalType: string, customProperties: [{property: semanticType, value: FREE_TEXT}]}
      - {name: stray, logicalType: string}
"#;

const POLICY: &str = r#"
apiVersion: perimeter/v1
kind: Policy
metadata: {name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}
rules:
  - {name: taxpayers, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person, canonicalize: [digits], nulls: reject}
  - {name: accounts, match: {semanticType: ACCOUNT_ID}, transform: cryptoHash, key: person}
  - {name: births, match: {semanticType: DATE_OF_BIRTH}, transform: drop}
  - {name: ages, match: {derivedFrom: DATE_OF_BIRTH}, transform: fixedSizeBucketing, size: 5}
  - {name: times, match: {semanticType: EVENT_TIME}, transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30}
  - {name: memos, match: {semanticType: FREE_TEXT}, transform: drop}
  - {name: public, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 0}
"#;

fn job(prepare: &str, shape: &str) -> String {
    format!(
        r#"
apiVersion: perimeter/v1
kind: Job
metadata: {{name: test}}
policy: policy.yaml
sources:
  tx: {{uri: tx.csv, format: csv, schema: tx.odcs.yaml}}
quarantine: {{uri: quarantine/, key: person}}
prepare: {prepare}
keys:
  person: {{provider: local, keyring: person.keyring.json, create: true}}
shape:
{shape}
sink: {{uri: out/, format: arrayRecord, options: "group_size:1,zstd:3", encoding: tfExample, shards: 2}}
"#
    )
}

const ROWS: &str = "  features: [{name: amount, column: amount, dtype: float32}]";

async fn planned(prepare: &str, shape: &str) -> Result<Plan> {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("tx.odcs.yaml"), SCHEMA).unwrap();
    fs::write(at("policy.yaml"), POLICY).unwrap();
    fs::write(at("job.yaml"), job(prepare, shape)).unwrap();
    fs::write(at("tx.csv"), "account_id,cpf,holder_cpf,born,booked_at,amount,weight,memo,stray\n").unwrap();
    let contract = perimeter_contract::load(&at("job.yaml"), &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
    plan(contract, &Arc::new(Stores::new(tokio::runtime::Handle::current()))).await
}

async fn codes(prepare: &str, shape: &str) -> Vec<&'static str> {
    match planned(prepare, shape).await {
        Ok(_) => Vec::new(),
        Err(Error::Contract(mistakes)) => mistakes.list.iter().map(|mistake| mistake.code).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rule_that_matches_decides() {
    let plan =
        planned("SELECT account_id, cpf, amount, booked_at, born, amount * 2 AS twice, 2020 - date_part('year', born) AS age FROM tx", ROWS).await.unwrap();
    let decided: Vec<_> = plan.columns.iter().map(|column| (column.name.as_str(), column.decision.rule.as_deref(), column.decision.transform.name())).collect();
    assert_eq!(
        decided,
        [
            ("account_id", Some("accounts"), "cryptoHash"),
            ("cpf", Some("taxpayers"), "cryptoHash"),
            ("amount", Some("public"), "keep"),
            ("booked_at", Some("times"), "dateShift"),
            ("born", Some("births"), "drop"),
            ("twice", None, "keep"),
            ("age", Some("ages"), "fixedSizeBucketing"),
        ]
    );
    assert_eq!(plan.columns[3].context, Some(1), "the shift goes by the person");
    assert!(plan.columns[2].needed && !plan.columns[0].needed);
    let required: Vec<_> = plan.contract.job.sources[0].schema.columns.iter().filter(|column| column.required).map(|column| column.name.as_str()).collect();
    assert_eq!(required, ["cpf"], "`nulls: reject` becomes a rule of the check");
}

#[tokio::test(flavor = "multi_thread")]
async fn disagreements_are_refused() {
    for (prepare, expected) in [
        ("SELECT amount, stray FROM tx", "unmatched-column"),
        ("SELECT * FROM tx", "unmatched-column"),
        ("SELECT amount, upper(stray) AS s FROM tx", "unmatched-column"),
        ("SELECT amount, upper(cpf) AS s FROM tx", "derived-not-covered"),
        ("SELECT amount, CASE WHEN cpf = '1' THEN 1 ELSE 0 END AS s FROM tx", "derived-not-covered"),
        ("SELECT amount, cast(born AS VARCHAR) || cpf AS s FROM tx", "derived-not-covered"),
        ("SELECT amount, cpf FROM tx UNION ALL SELECT amount, account_id FROM tx", "conflicting-rules"),
        ("SELECT amount, booked_at FROM tx", "context-missing"),
        ("SELECT amount, booked_at, cpf, holder_cpf FROM tx", "context-ambiguous"),
        ("SELECT amount, cast(born AS VARCHAR) AS s FROM tx", "transform-type"),
        ("SELECT account_id FROM tx", "unknown-column"),
        ("SELECT amount, a.cpf, b.cpf FROM tx AS a JOIN tx AS b USING (account_id, amount)", "duplicate-output"),
        ("SELECT amount, cpf AS __shard FROM tx", "reserved-name"),
        ("SELECT amount FROM tx LIMIT 3", "nondeterministic-query"),
        ("SELECT a.amount, b.amount AS m FROM tx AS a JOIN tx AS b ON cast(b.amount AS VARCHAR) = substr(a.cpf, 1, 4)", "derived-not-covered"),
        ("SELECT a.amount, b.amount AS m FROM tx AS a, tx AS b WHERE cast(b.amount AS VARCHAR) = substr(a.cpf, 1, 4)", "derived-not-covered"),
        ("SELECT amount, 'a' AS x FROM tx WHERE cpf LIKE '1%' UNION ALL SELECT amount, 'b' AS x FROM tx WHERE cpf LIKE '2%'", "derived-not-covered"),
        ("SELECT amount, d.d FROM tx JOIN (VALUES (1), (2)) AS d (d) ON d.d = tx.amount", "constant-relation"),
        ("SELECT amount FROM", "invalid-sql"),
    ] {
        let codes = codes(prepare, ROWS).await;
        assert!(codes.contains(&expected), "{prepare}: {codes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_column_feeds_nothing() {
    let shape = "  sequence: {by: memo, orderBy: [born]}\n  buckets: [4]\n  features: [{name: amount, column: amount, dtype: float32}]";
    assert_eq!(codes("SELECT amount, memo, born FROM tx", shape).await, ["dropped-column", "dropped-column"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_digest_covers_lineage_and_nothing_of_the_machine() {
    let sql = "SELECT amount, cpf FROM tx";
    let digest = planned(sql, ROWS).await.unwrap().digest();
    assert_eq!(planned(sql, ROWS).await.unwrap().digest(), digest, "another folder, the same digest");
    assert_ne!(planned("SELECT amount, cpf FROM tx WHERE cpf <> ''", ROWS).await.unwrap().digest(), digest);
    assert_ne!(planned("SELECT amount, holder_cpf AS cpf FROM tx", ROWS).await.unwrap().digest(), digest);
    // The same columns, the same transforms, another expression: a reviewer must see it.
    let years = planned("SELECT amount, date_part('year', born) AS age FROM tx", ROWS).await;
    let days = planned("SELECT amount, date_part('doy', born) AS age FROM tx", ROWS).await;
    assert_ne!(years.unwrap().digest(), days.unwrap().digest());
}
