//! What short forms borrow, and what is refused.
use super::*;
use crate::error::{Error, Result};
use crate::plan::{Plan, explain, plan};
use crate::store::Stores;
use perimeter_contract::Diagnostics;
use std::collections::BTreeMap;
use std::fs;
use tempfile::TempDir;

/// A job over one source of these columns: `(name, logical type, semantic type, join domain)`.
struct Job<'a> {
    columns: &'a [(&'a str, &'a str, &'a str, &'a str)],
    rules: &'a str,
    types: &'a str,
    detectors: &'a str,
    prepare: &'a str,
}

const COLUMNS: &[(&str, &str, &str, &str)] = &[("cpf", "string", "BR_CPF", "person"), ("memo", "string", "FREE_TEXT", "")];
const RULES: &str = "
  - {name: people, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person, canonicalize: [digits], bytes: 16}
  - {name: cards, match: {semanticType: PAN}, transform: cryptoReplaceFfxFpe, key: card, keepFirst: 6, checkDigit: luhn, fallback: {transform: redact}}
  - {name: phones, match: {semanticType: PHONE}, transform: drop}";

impl Default for Job<'_> {
    fn default() -> Self {
        Self { columns: COLUMNS, rules: RULES, types: "default: redact", detectors: "", prepare: "SELECT * FROM t" }
    }
}

impl Job<'_> {
    async fn plan(&self) -> Result<Plan> {
        let folder = TempDir::new().unwrap();
        let columns = self.columns.iter().map(|(name, logical, semantic, domain)| {
            let domain = if domain.is_empty() { String::new() } else { format!(", {{property: joinDomain, value: {domain}}}") };
            format!("      - {{name: {name}, logicalType: {logical}, customProperties: [{{property: semanticType, value: {semantic}}}{domain}]}}\n")
        });
        let columns: String = columns.collect();
        let schema = format!(
            "apiVersion: v3.1.0\nkind: DataContract\nid: urn:test\nname: t\nversion: 1.0.0\nstatus: active\nschema:\n  - name: t\n    properties:\n{columns}      - {{name: n, logicalType: integer, classification: public}}\n"
        );
        let Self { rules, types, detectors, .. } = self;
        let policy = format!(
            "apiVersion: perimeter/v1\nkind: Policy\nmetadata: {{name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}}\nrules:{rules}\n  - {{name: memos, match: {{semanticType: FREE_TEXT}}, transform: deidentifyText, types: {{{types}}}}}\n  - {{name: public, match: {{classification: public}}, transform: keep}}\n{detectors}\ngates: {{maxRejectedFraction: 0}}\n"
        );
        let job = "apiVersion: perimeter/v1\nkind: Job\nmetadata: {name: test}\npolicy: policy.yaml\nsources:\n  t: {uri: t.csv, format: csv, schema: t.odcs.yaml}\nquarantine: {uri: quarantine/, key: person}\nprepare: PREPARE\nkeys:\n  person: {provider: local, keyring: person.keyring.json, create: true}\n  card: {provider: local, keyring: card.keyring.json, create: true}\nshape:\n  features: [{name: n, column: n, dtype: int64}]\nsink: {uri: out/, format: arrayRecord, encoding: tfExample, shards: 2}\ntable: {uri: table/, format: parquet}\n";
        let job = job.replace("PREPARE", self.prepare);
        let header: String = self.columns.iter().map(|(name, ..)| format!("{name},")).collect::<String>() + "n\n";
        for (name, text) in [("t.odcs.yaml", schema.as_str()), ("policy.yaml", &policy), ("job.yaml", &job), ("t.csv", &header)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let contract = perimeter_contract::load(&folder.path().join("job.yaml"), &BTreeMap::new()).unwrap_or_else(|mistakes| panic!("{}", mistakes.render()));
        plan(contract, &Arc::new(Stores::new(tokio::runtime::Handle::current()))).await
    }

    async fn refused(&self) -> Diagnostics {
        match self.plan().await {
            Err(Error::Contract(mistakes)) => mistakes,
            Ok(_) => panic!("{} was planned", self.types),
            Err(other) => panic!("{other}"),
        }
    }

    /// The code, and what the message or the help must hold.
    async fn is_refused(&self, code: &str, says: &[&str]) {
        let mistakes = self.refused().await;
        let codes: Vec<&str> = mistakes.list.iter().map(|mistake| mistake.code).collect();
        assert_eq!(codes, [code], "{}", mistakes.render());
        let rendered = mistakes.render();
        assert!(says.iter().all(|says| rendered.contains(says)), "{rendered}");
        assert!(rendered.contains("policy.yaml:"), "{rendered}");
    }
}

fn memo(plan: &Plan) -> &TextPlan {
    plan.columns[plan.column("memo").unwrap()].text.as_ref().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn short_forms_borrow_the_rule_and_the_domain_of_columns() {
    let types = "BR_CPF: cryptoHash, PAN: {rule: cards, joinDomain: card}, IBAN: {transform: cryptoDeterministic, key: person, joinDomain: account}, PHONE: characterMask, DATE: keep, default: replaceWithInfoType";
    let plan = Job { types, ..Job::default() }.plan().await.unwrap();
    let found = memo(&plan);
    let [cpf, pan, iban, phone, date] = found.listed.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (cpf.info_type, cpf.becomes.rule.as_deref(), &cpf.becomes.join_domain),
        (InfoType::BrCpf, Some("people"), &Some(JoinDomain::Named("person".to_owned())))
    );
    assert_eq!(cpf.becomes.transform, plan.contract.policy.rules[0].transform, "all its options");
    assert_eq!((pan.becomes.transform.key(), pan.becomes.rule.as_deref()), (Some("card"), Some("cards")));
    assert_eq!((iban.becomes.rule.as_deref(), iban.becomes.transform.name()), (None, "cryptoDeterministic"));
    assert_eq!((phone.becomes.transform.name(), date.becomes.transform.name()), ("characterMask", "keep"));
    assert_eq!(plan.key_names().into_iter().collect::<Vec<_>>(), ["card", "person"], "keys of text are opened too");

    let explained = explain::text(&plan);
    for line in [
        "      deidentifyText (rule \"memos\"), used by table\n",
        "        BR_CPF      cryptoHash, key person, join domain person, as rule \"people\", canonicalize [\"digits\"], encoding hex, bytes 16\n",
        "        DATE        keep\n",
        "        all others  replaceWithInfoType\n",
        "        what detectors miss stays in the text, and is for the gates\n",
    ] {
        assert!(explained.contains(line), "{line}\n{explained}");
    }
    assert!(explained.contains("        found, as measured on ") && explained.contains("BR_CPF 99."), "{explained}");
    let json = explain::json(&plan);
    let memo = json["lineage"]["columns"].as_array().unwrap().iter().find(|column| column["name"] == "memo").unwrap();
    let cpf = &memo["text"]["types"][0];
    assert_eq!((&cpf["type"], &cpf["key"], &cpf["joinDomain"]), (&"BR_CPF".into(), &"person".into(), &"named:person".into()));
    assert_eq!(memo["text"]["default"]["transform"], "replaceWithInfoType");
    assert!(json["recall"]["types"].as_array().is_some_and(|types| !types.is_empty()));
    let named: Vec<bool> = plan.columns.iter().map(crate::plan::PlannedColumn::may_be_tokenized).collect();
    assert_eq!(named, [false, true, false], "a token, a text, a number");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_column_becomes_is_part_of_the_digest() {
    let digest = async |types: &str| Job { types, ..Job::default() }.plan().await.unwrap().digest();
    assert_ne!(digest("BR_CPF: cryptoHash, default: redact").await, digest("BR_CPF: redact, default: redact").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_ambiguous_is_refused_with_the_fix() {
    let types = |types: &'static str| Job { types, ..Job::default() };
    types("CPF: redact, default: redact").is_refused("unknown-info-type", &["nothing finds the type `CPF`", "did you mean `BR_CPF`"]).await;
    types("SHOE_SIZE: redact, default: redact").is_refused("unknown-info-type", &["goes under `detectors`"]).await;
    types("PAN: cryptoReplaceFfxFpe, default: redact").is_refused("text-join-domain", &["no column of PAN", "PAN: {rule: cards, joinDomain: …}"]).await;
    types("PAN: {rule: cards}, default: redact").is_refused("text-join-domain", &["no column of PAN"]).await;
    types("PAN: {transform: cryptoHash, key: person}, default: redact")
        .is_refused("text-join-domain", &["PAN: {transform: cryptoHash, key: person, joinDomain: …}"])
        .await;
    types("BR_CPF: cryptoDeterministic, default: redact")
        .is_refused("text-rule", &["rule `people` says `cryptoHash`", "{transform: cryptoDeterministic, key: …"])
        .await;
    types("EMAIL: cryptoHash, default: redact").is_refused("text-rule", &["there is none"]).await;
    types("PHONE: cryptoHash, default: redact").is_refused("text-rule", &["there is none"]).await;
    types("IBAN: {transform: cryptoHash, key: bank, joinDomain: account}, default: redact").is_refused("key-missing", &["the key `bank`"]).await;

    let rules = "
  - {name: people, match: {semanticType: BR_CPF, joinDomain: person}, transform: cryptoHash, key: person}
  - {name: payers, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person, bytes: 16}";
    let two = [("cpf", "string", "BR_CPF", "person"), ("payer", "string", "BR_CPF", "payer"), ("memo", "string", "FREE_TEXT", "")];
    let job = Job { columns: &two, rules, types: "BR_CPF: cryptoHash, default: redact", ..Job::default() };
    job.is_refused("text-rule", &["there are several: `payers`, `people`", "BR_CPF: {rule: people, joinDomain: …}"]).await;
    let job = Job { columns: &two, types: "BR_CPF: cryptoHash, default: redact", ..Job::default() };
    job.is_refused("text-join-domain", &["not in one join domain", "BR_CPF: {rule: people, joinDomain: payer}"]).await;
    let alone = [("cpf", "string", "BR_CPF", ""), ("memo", "string", "FREE_TEXT", "")];
    let job = Job { columns: &alone, types: "BR_CPF: cryptoHash, default: redact", ..Job::default() };
    job.is_refused("text-join-domain", &["in no join domain"]).await;

    let number = [("memo", "integer", "FREE_TEXT", "")];
    Job { columns: &number, ..Job::default() }.is_refused("transform-type", &["deidentifyText takes text"]).await;
    let rules = format!("{RULES}\n  - {{name: parts, match: {{derivedFrom: FREE_TEXT}}, transform: deidentifyText, types: {{default: redact}}}}");
    let job = Job { rules: &rules, prepare: "SELECT n, replace(memo, '@', ' at ') AS memo FROM t", ..Job::default() };
    job.is_refused("text-computed", &["`memo` is computed"]).await;
    let taken = "detectors: [{name: BR_CPF, regex: '[0-9]{11}'}]";
    Job { detectors: taken, ..Job::default() }.is_refused("detector-refused", &["`BR_CPF`: the name is taken"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn short_forms_are_asked_about_only_where_there_is_a_text() {
    let no_text = [("cpf", "string", "BR_CPF", "person")];
    let job = Job { columns: &no_text, types: "PAN: cryptoReplaceFfxFpe, default: redact", ..Job::default() };
    assert!(job.plan().await.is_ok(), "one policy serves jobs without cards");
    let job = Job { columns: &no_text, types: "CPF: redact, default: redact", ..Job::default() };
    job.is_refused("unknown-info-type", &["`BR_CPF`"]).await;
}
