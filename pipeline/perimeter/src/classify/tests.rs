//! Small jobs with what people get wrong in them, and large files with one wrong cell.
use super::*;
use crate::engine::Limits;
use crate::error::Error;
use crate::plan;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const POLICY: &str = r#"
apiVersion: perimeter/v1
kind: Policy
metadata: {name: test, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}
rules:
  - {name: taxpayers, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person}
  - {name: phones, match: {semanticType: PHONE}, transform: characterMask, keepLast: 4}
  - {name: memos, match: {semanticType: FREE_TEXT}, transform: drop}
  - {name: secrets, match: {classification: restricted}, transform: redact}
  - {name: facts, match: {classification: public}, transform: keep}
"#;

/// Number `n` of made-up taxpayers.
fn cpf(n: u64) -> String {
    let body = format!("{:09}", 100_000_007 + n * 1_234_577 % 800_000_000);
    let digits = perimeter_detect::cpf::digits(body.as_bytes()).unwrap();
    format!("{body}{}", String::from_utf8_lossy(&digits))
}

struct Job {
    folder: TempDir,
}

impl Job {
    /// One csv source `tx` with these properties, taken as it is.
    fn new(properties: &str, data: &str) -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap() };
        job.write("policy.yaml", POLICY);
        job.write("tx.csv", data);
        job.contract(properties);
        job.select("*");
        job
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn contract(&self, properties: &str) {
        let head = "apiVersion: v3.1.0\nkind: DataContract\nid: tx\nversion: 1.0.0\nstatus: active\nschema:\n  - name: tx\n    properties:\n";
        self.write("tx.odcs.yaml", &format!("{head}{properties}"));
    }

    fn select(&self, columns: &str) {
        self.write(
            "job.yaml",
            &format!(
                "apiVersion: perimeter/v1\nkind: Job\nmetadata: {{name: test}}\npolicy: policy.yaml\nsources:\n  tx: {{uri: tx*.csv, format: csv, schema: tx.odcs.yaml}}\n\
                 quarantine: {{uri: quarantine/, key: person}}\nprepare: SELECT {columns} FROM tx\nkeys:\n  person: {{provider: local, keyring: person.keyring.json, create: true}}\n\
                 shape: {{features: [{{name: n, column: n, dtype: int64}}]}}\nsink: {{uri: out/, format: arrayRecord, encoding: tfExample, shards: 1}}\n\
                 table: {{uri: table/, format: parquet}}\n"
            ),
        );
    }

    fn classified(&self, options: Options, threads: usize) -> Classification {
        self.with(threads, async |plan, services| job(plan, services, options, &MacieRequest::default(), "run", &|_| {}).await.unwrap())
    }

    fn gate(&self) -> Result<Classification> {
        self.with(2, async |plan, services| gate(plan, services, &MacieRequest::default(), "run").await)
    }

    fn with<T>(&self, threads: usize, work: impl AsyncFnOnce(&Plan, &Services) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let services = Services::new(Limits::new(1 << 30, Some(threads)));
            let contract =
                perimeter_contract::load(&self.folder.path().join("job.yaml"), &BTreeMap::new()).unwrap_or_else(|found| panic!("{}", found.render()));
            let plan = plan::plan(contract, &services.stores).await.unwrap_or_else(|error| match error {
                Error::Contract(found) => panic!("{}", found.render()),
                Error::Failed(failure) => panic!("{failure:?}"),
            });
            work(&plan, &services).await
        })
    }
}

fn default() -> Options {
    Options { seed: SEED, rows: SampleRows::DEFAULT }
}

/// (type, agreement, resolution) of every finding of a column.
fn of<'a>(found: &'a Classification, column: &str) -> Vec<(&'a str, Agreement, Resolution)> {
    let column = found.sources.iter().flat_map(|source| &source.columns).find(|candidate| candidate.name == column).unwrap();
    column.findings.iter().map(|finding| (finding.semantic_type.as_str(), finding.agreement, finding.resolution)).collect()
}

fn column<'a>(found: &'a Classification, name: &str) -> &'a ClassifiedColumn {
    found.sources.iter().flat_map(|source| &source.columns).find(|candidate| candidate.name == name).unwrap()
}

/// A number and two columns of taxpayer numbers.
fn two_columns() -> String {
    (0..300).fold("n,one,two\n".to_owned(), |mut text, n| {
        let _ = writeln!(text, "{n},{},{}", cpf(n), cpf(n + 1000));
        text
    })
}

const N: &str = "      - {name: n, logicalType: integer, classification: public}\n";

#[test]
fn what_the_contract_says_or_does_not_say() {
    let job = Job::new(
        &format!(
            "{N}      - {{name: one, logicalType: string, customProperties: [{{property: semanticType, value: BR_CPF}}]}}\n      - {{name: two, logicalType: string, classification: public}}\n"
        ),
        &two_columns(),
    );
    let found = job.classified(default(), 2);
    assert_eq!(of(&found, "n"), []);
    assert_eq!(column(&found, "n").agreement, Agreement::Silent);
    assert_eq!(of(&found, "one"), [("BR_CPF", Agreement::Agrees, Resolution::Contract)]);
    assert_eq!(of(&found, "two"), [("BR_CPF", Agreement::Missing, Resolution::Unresolved)]);
    assert!(found.sources[0].complete && found.sources[0].rows == 300);
    let finding = &column(&found, "two").findings[0];
    assert_eq!((finding.share, finding.confidence.as_deref()), (Some(1.0), Some("VERY_LIKELY")));

    let Err(Error::Failed(refusal)) = job.gate() else { panic!("the gate let it pass") };
    assert_eq!((refusal.code, refusal.culprit.exit_code()), ("findings-unresolved", 1));
    for part in
        ["tx.two: BR_CPF, 100 % of 300 distinct values", "{property: semanticType, value: BR_CPF}", "tx.odcs.yaml:11", "acceptedFindings", "rule \"facts\""]
    {
        assert!(refusal.message.contains(part), "{part} is not in {}", refusal.message);
    }
    assert!(!refusal.message.contains("tx.one"), "{}", refusal.message);

    // Each of the answers that it names.
    job.contract(&format!("{N}      - {{name: one, logicalType: string, customProperties: [{{property: semanticType, value: BR_CPF}}]}}\n      - {{name: two, logicalType: string, customProperties: [{{property: semanticType, value: BR_CPF}}]}}\n"));
    job.gate().unwrap();
    job.contract(&format!("{N}      - {{name: one, logicalType: string, classification: restricted}}\n      - {{name: two, logicalType: string, classification: public, customProperties: [{{property: acceptedFindings, value: [{{type: BR_CPF, reason: \"numbers of our own\"}}]}}]}}\n"));
    let found = job.gate().unwrap();
    assert_eq!(of(&found, "one"), [("BR_CPF", Agreement::Missing, Resolution::Hidden)]);
    assert_eq!(of(&found, "two"), [("BR_CPF", Agreement::Accepted, Resolution::Accepted)]);
    assert_eq!(column(&found, "two").findings[0].reason.as_deref(), Some("numbers of our own"));
}

#[test]
fn a_column_that_nothing_is_made_of_needs_no_answer_and_one_that_is_computed_does() {
    let properties =
        format!("{N}      - {{name: one, logicalType: string, classification: public}}\n      - {{name: two, logicalType: string, classification: public}}\n");
    let job = Job::new(&properties, &two_columns());
    job.select("n");
    assert_eq!(of(&job.gate().unwrap(), "one"), [("BR_CPF", Agreement::Missing, Resolution::NotUsed)]);
    job.select("n, upper(one) AS shouted");
    let found = job.classified(default(), 1);
    assert_eq!(of(&found, "one"), [("BR_CPF", Agreement::Missing, Resolution::Unresolved)]);
    assert_eq!(of(&found, "two"), [("BR_CPF", Agreement::Missing, Resolution::NotUsed)]);
}

#[test]
fn what_leaves_a_part_of_a_value_was_decided_for_another_type() {
    let properties = format!(
        "{N}      - {{name: one, logicalType: string, customProperties: [{{property: semanticType, value: PHONE}}]}}\n      - {{name: two, logicalType: string, customProperties: [{{property: semanticType, value: FREE_TEXT}}]}}\n"
    );
    let found = Job::new(&properties, &two_columns()).classified(default(), 2);
    assert_eq!(of(&found, "one"), [("BR_CPF", Agreement::Contradicts, Resolution::Unresolved)]);
    assert_eq!(of(&found, "two"), [("BR_CPF", Agreement::Contradicts, Resolution::Hidden)], "a dropped column holds what it likes");
}

#[test]
fn a_type_that_is_not_there_is_a_disagreement_and_no_refusal() {
    let properties = format!("{N}      - {{name: cpf, logicalType: string, customProperties: [{{property: semanticType, value: BR_CPF}}]}}\n");
    let data = (0..300).fold("n,cpf\n".to_owned(), |text, n| format!("{text}{n},ref-{}\n", n * 7));
    let found = Job::new(&properties, &data).gate().unwrap();
    assert_eq!(of(&found, "cpf"), []);
    assert_eq!(column(&found, "cpf").agreement, Agreement::NotFound);
    let kept = found.disagreements_and_findings();
    assert_eq!(kept.sources[0].columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["cpf"]);
}

#[test]
fn rows_that_break_rules_are_looked_at_and_rows_that_are_none_are_counted() {
    let properties = format!(
        "{N}      - name: one\n        logicalType: string\n        classification: public\n        logicalTypeOptions: {{maxLength: 3}}\n      - {{name: two, logicalType: integer, classification: public}}\n"
    );
    let found = Job::new(&properties, "n,one,two\n1,39053344705,5\n2,52998224725,x\n3,11144477735,7,8\n").classified(default(), 1);
    assert_eq!(found.sources[0].rows, 1);
    assert_eq!(found.sources[0].unreadable, BTreeMap::from([("ragged".to_owned(), 1), ("two.type".to_owned(), 1)]));
}

/// 20,000 rows in 20 files of different lengths.
fn many_files() -> Job {
    let properties = format!("{N}      - {{name: memo, logicalType: string, customProperties: [{{property: semanticType, value: FREE_TEXT}}]}}\n");
    let job = Job::new(&properties, "n,memo\n0,nothing\n");
    for file in 0..20 {
        let rows = 100 + file * 95;
        let text = (0..rows).fold("n,memo\n".to_owned(), |mut text, n| {
            let _ = writeln!(text, "{n},nothing to say of it {file} {n} but thanks to all of you");
            text
        });
        job.write(&format!("tx-{file:02}.csv"), &text);
    }
    job
}

#[test]
fn the_sample_is_what_the_seed_says_whatever_the_threads() {
    let job = many_files();
    let some = |seed, rows| Options { seed, rows: SampleRows::AtMost(rows) };
    let one = job.classified(some(7, 5_000), 1);
    assert_eq!(one.sources[0].rows, 5_000);
    assert!(!one.sources[0].complete);
    for threads in [2, 3, 8] {
        assert_eq!(job.classified(some(7, 5_000), threads), one, "{threads} threads");
    }
    let all = job.classified(Options { seed: 7, rows: SampleRows::All }, 1);
    assert!(all.sources[0].complete);
    assert_eq!(all.sources[0].rows, 1 + (0..20).map(|file| 100 + file * 95).sum::<u64>());
    assert_eq!(job.classified(Options { seed: 7, rows: SampleRows::All }, 8), all);
    // More than there is.
    let more = job.classified(some(7, 1_000_000), 3);
    assert!(more.sources[0].complete);
    assert_eq!(more.sources[0].rows, all.sources[0].rows);
}

#[test]
fn where_every_row_is_looked_at_one_text_in_twenty_thousand_counts() {
    let job = many_files();
    job.write("policy.yaml", &POLICY.replace("transform: drop", "transform: keep"));
    let text = fs::read_to_string(job.folder.path().join("tx-19.csv")).unwrap();
    let line = text.lines().nth(1_234).unwrap().to_owned();
    job.write("tx-19.csv", &text.replace(&line, &format!("1233,please pay to the CPF 390.533.447-05 of my brother {}", "today")));
    let found = job.classified(Options { seed: 1, rows: SampleRows::All }, 2);
    assert_eq!(of(&found, "memo"), [("BR_CPF", Agreement::Agrees, Resolution::Unresolved)]);
    let finding = &column(&found, "memo").findings[0];
    assert_eq!(finding.place, Place::Texts);
    assert!(finding.write.as_deref().unwrap().contains("deidentifyText"), "{finding:?}");
    assert_eq!(job.classified(Options { seed: 1, rows: SampleRows::All }, 5), found);
}

#[test]
fn a_short_text_counts_for_what_proves_itself() {
    let properties = format!("{N}      - {{name: note, logicalType: string, classification: public}}\n");
    let data = (0..300).fold("n,note\n".to_owned(), |text, n| {
        let note = match n {
            7 => "cpf na nota 390.533.447-05".to_owned(),
            8 => "pix maria.silva@bank.example".to_owned(),
            n if n % 3 == 0 => format!("Mercado Lopes {n}"),
            n => format!("ref {}", n * 7919 % 100_003),
        };
        format!("{text}{n},{note}\n")
    });
    let found = Job::new(&properties, &data).classified(default(), 2);
    assert_eq!(
        of(&found, "note"),
        [("EMAIL", Agreement::Missing, Resolution::Unresolved), ("BR_CPF", Agreement::Missing, Resolution::Unresolved)],
        "and neither shops nor references"
    );
}

#[test]
fn nothing_that_is_said_holds_a_value() {
    let properties =
        format!("{N}      - {{name: one, logicalType: string, classification: public}}\n      - {{name: two, logicalType: string, classification: public}}\n");
    let job = Job::new(&properties, &two_columns());
    let found = job.classified(default(), 2);
    let Err(Error::Failed(refusal)) = job.gate() else { panic!("the gate let it pass") };
    let said = format!("{}{}{found:?}{}{refusal:?}", found.text(), serde_json::to_string(&found).unwrap(), refusal.message);
    for n in 0..300 {
        assert!(!said.contains(&cpf(n)) && !said.contains(&cpf(n + 1000)));
    }
    assert!(said.contains("BR_CPF"));
}

fn of_files(folder: &Path, pattern: &str, rows: SampleRows) -> Classification {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let services = runtime.block_on(async { Services::new(Limits::new(1 << 30, Some(2))) });
    let uri = Uri(folder.join(pattern).to_str().unwrap().to_owned());
    let request =
        Request { files: vec![uri], name: None, format: None, delimiter: None, quote: Some(b'"'), comment: None, header: None, encoding: None, rows: 0 };
    files(&services, &request, Options { seed: 3, rows }).unwrap()
}

#[test]
fn files_without_a_contract() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), two_columns().replace(',', ";")).unwrap();
    let found = of_files(folder.path(), "a.csv", SampleRows::DEFAULT);
    assert_eq!(of(&found, "two"), [("BR_CPF", Agreement::Missing, Resolution::NotAsked)]);
    assert_eq!((found.sources[0].name.as_str(), found.sources[0].rows), ("a", 300));

    // Inside of objects and arrays; a key that is a value is not shown.
    let lines = (0..200).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, r#"{{"id":{n},"holder":{{"doc":"{}"}},"others":[{{"doc":"{}"}}],"by":{{"390.533.447-05":1}}}}"#, cpf(n), cpf(n + 500));
        text
    });
    fs::write(folder.path().join("b.json"), lines).unwrap();
    let found = of_files(folder.path(), "b.json", SampleRows::AtMost(50));
    assert_eq!(of(&found, "holder.doc"), [("BR_CPF", Agreement::Missing, Resolution::NotAsked)]);
    assert_eq!(of(&found, "others.doc"), [("BR_CPF", Agreement::Missing, Resolution::NotAsked)]);
    assert_eq!(found.sources[0].rows, 50);
    assert!(!serde_json::to_string(&found).unwrap().contains("390.533"));

    // Without a header, the first line is data and is looked at too.
    fs::write(folder.path().join("c.csv"), (0..100).fold(String::new(), |text, n| format!("{text}{n},{}\n", cpf(n)))).unwrap();
    let found = of_files(folder.path(), "c.csv", SampleRows::All);
    assert_eq!((found.sources[0].rows, of(&found, "column_2").len()), (100, 1));
}

#[test]
fn the_policy_can_ask_for_macie_and_then_a_run_has_to_name_a_job() {
    let properties = format!(
        "{N}      - {{name: one, logicalType: string, classification: restricted}}\n      - {{name: two, logicalType: string, classification: restricted}}\n"
    );
    let job = Job::new(&properties, &two_columns());
    job.write("policy.yaml", &format!("{POLICY}gates: {{macie: {{maxAge: 30d}}}}\n"));
    let Err(Error::Failed(refusal)) = job.gate() else { panic!("the gate let it pass") };
    assert_eq!((refusal.code, refusal.culprit.exit_code()), ("macie-job-needed", 2));
}
