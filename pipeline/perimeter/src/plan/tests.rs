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

/// A contract of one column `v` beside `n`, with one rule; the codes that the plan refuses it with, or what it says.
async fn one(logical: &str, options: &str, rule: &str, shape: &str) -> std::result::Result<Plan, String> {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let schema = format!(
        "apiVersion: v3.1.0\nkind: DataContract\nid: urn:test\nname: tx\nversion: 1.0.0\nstatus: active\nschema:\n  - name: tx\n    properties:\n      - {{name: v, logicalType: {logical}{options}, customProperties: [{{property: semanticType, value: V}}, {{property: joinDomain, value: v}}]}}\n      - {{name: at, logicalType: date, customProperties: [{{property: semanticType, value: AT}}]}}\n      - {{name: n, logicalType: integer, classification: public}}\n"
    );
    let policy = format!(
        "apiVersion: perimeter/v1\nkind: Policy\nmetadata: {{name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}}\nrules:\n  - {{name: v, match: {{semanticType: V}}, {rule}}}\n  - {{name: at, match: {{semanticType: AT}}, transform: dateShift, key: person, context: {{joinDomain: v}}, maxDays: 3}}\n  - {{name: public, match: {{classification: public}}, transform: keep}}\ngates: {{maxRejectedFraction: 0}}\n"
    );
    fs::write(at("tx.odcs.yaml"), schema).unwrap();
    fs::write(at("policy.yaml"), policy).unwrap();
    fs::write(at("tx.csv"), "v,at,n\n").unwrap();
    let (prepare, shape) = shape.split_once('|').unwrap_or(("SELECT v, n FROM tx", shape));
    fs::write(at("job.yaml"), job(prepare, shape)).unwrap();
    let contract = perimeter_contract::load(&at("job.yaml"), &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
    match plan(contract, &Arc::new(Stores::new(tokio::runtime::Handle::current()))).await {
        Ok(plan) => Ok(plan),
        Err(Error::Contract(mistakes)) => Err(mistakes.render()),
        Err(other) => panic!("{other}"),
    }
}

const N: &str = "  features: [{name: n, column: n, dtype: int64}]";

#[tokio::test(flavor = "multi_thread")]
async fn transforms_that_do_not_fit_are_refused() {
    let sequence = "SELECT v, n FROM tx|  sequence: {by: v, orderBy: [n]}\n  buckets: [4]\n  features: [{name: n, column: n, dtype: int64}]";
    let ordered = "SELECT v, n FROM tx|  sequence: {by: n, orderBy: [v]}\n  buckets: [4]\n  features: [{name: n, column: n, dtype: int64}]";
    let shifted = "SELECT v, n, at FROM tx|  features: [{name: n, column: n, dtype: int64}]";
    let alone = "SELECT v, n FROM tx|  features: [{name: v, column: v, dtype: bytes}]";
    let fpe = "transform: cryptoReplaceFfxFpe, key: person";
    for (logical, options, rule, shape, expected) in [
        ("string", ", logicalTypeOptions: {minLength: 5, maxLength: 9}", fpe.to_owned(), N, "error[fpe-domain]"),
        ("string", ", logicalTypeOptions: {minLength: 5, maxLength: 9}", fpe.to_owned(), N, "10^5 = 100000 values"),
        ("string", ", logicalTypeOptions: {maxLength: 8}", format!("{fpe}, keepLast: 4, alphabet: hexLower"), N, "16^4 = 65536 values"),
        ("integer", "", fpe.to_owned(), N, "error[transform-type]"),
        ("integer", "", "transform: timePart, part: year".to_owned(), N, "error[transform-type]"),
        ("date", "", "transform: timePart, part: hourOfDay".to_owned(), N, "error[time-part]"),
        ("string", "", "transform: bucketing, bounds: [0, 1]".to_owned(), N, "error[transform-type]"),
        ("integer", "", "transform: bucketing, bounds: [0, 1.5]".to_owned(), N, "error[bucket-size]"),
        ("integer", ", physicalType: int", "transform: bucketing, bounds: [0, 3000000000]".to_owned(), N, "error[bucket-size]"),
        ("integer", "", "transform: fixedSizeBucketing, size: 5, lowerBound: 0.5".to_owned(), N, "error[bucket-size]"),
        ("number", ", physicalType: double", "transform: encrypt, key: person".to_owned(), N, "error[transform-type]"),
        ("number", ", physicalType: double", "transform: cryptoHash, key: person".to_owned(), N, "error[transform-type]"),
        ("string", "", "transform: encrypt, key: person".to_owned(), sequence, "error[encrypted-order]"),
        ("string", "", "transform: encrypt, key: person".to_owned(), ordered, "error[encrypted-order]"),
        ("string", "", "transform: encrypt, key: person".to_owned(), alone, "error[encrypted-order]"),
        ("string", "", "transform: encrypt, key: person".to_owned(), shifted, "error[encrypted-context]"),
        ("string", "", "transform: encrypt, key: other".to_owned(), N, "error[key-missing]"),
    ] {
        let said = one(logical, options, &rule, shape).await.map(|plan| explain::text(&plan)).expect_err(&rule);
        assert!(said.contains(expected), "{rule}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_says_what_a_transform_costs() {
    let fpe = "transform: cryptoReplaceFfxFpe, key: person";
    for (options, rule, becomes, expected) in [
        ("", "transform: cryptoHash, key: person, encoding: int64", "Int64", "63 bits: odds of any collision 5.3e-2 at 10^9 distinct values"),
        ("", "transform: cryptoHash, key: person, encoding: uuid", "Utf8", "122 bits: odds of any collision 9.4e-20 at 10^9 distinct values"),
        ("", "transform: cryptoHash, key: person, bytes: 16", "Utf8", "128 bits: odds of any collision 1.5e-21 at 10^9 distinct values"),
        ("", "transform: cryptoHash, key: person, empty: reject, invalid: token", "Utf8", "empty reject, invalid token"),
        ("", fpe, "Utf8", "lengths not known; values whose format fewer than 10^6 share end the job"),
        ("", &format!("{fpe}, canonicalize: [digits, leftPad:11]"), "Utf8", "11 characters"),
        (
            ", logicalTypeOptions: {minLength: 5, maxLength: 5}",
            &format!("{fpe}, fallback: {{transform: redact}}"),
            "Utf8",
            "fewer than 10^6: all values get redact",
        ),
        (
            ", logicalTypeOptions: {minLength: 5, maxLength: 5}",
            &format!("{fpe}, fallback: {{transform: characterMask, keepLast: 2}}"),
            "Utf8",
            "fallback characterMask, maskingCharacter *, keepFirst 0, keepLast 2",
        ),
        (", logicalTypeOptions: {minLength: 10}", &format!("{fpe}, alphabet: letters"), "Utf8", "52^10 = 144555105949057024 values"),
        ("", "transform: encrypt, key: person", "Utf8", "reversible true, joins false"),
        ("", "transform: replaceWithInfoType", "Utf8", "replaceWithInfoType [V]"),
        ("", "transform: redact, nulls: token", "Utf8", "redact, nulls token"),
    ] {
        let plan = one("string", options, rule, N).await.unwrap_or_else(|said| panic!("{said}"));
        let said = explain::text(&plan);
        assert!(said.contains(expected), "{rule}: {said}");
        assert_eq!(explain::columns(&plan)["columns"][0]["becomes"], becomes, "{rule}");
    }
}
