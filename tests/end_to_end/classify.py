"""What is sensitive, and who answers for it: `classify` over jobs and files, the gate in `run`, and what the manifest says afterwards."""
import json
import shutil

from harness import DEMO, ROOT, WORK, latest, manifest

PLACE = WORK / "classify"

POLICY = """
apiVersion: perimeter/v1
kind: Policy
metadata: {name: gate, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}
rules:
  - {name: people, match: {semanticType: [BR_CPF, BR_CNPJ]}, transform: cryptoHash, key: person}
  - {name: memos, match: {semanticType: FREE_TEXT}, transform: MEMOS}
  - {name: facts, match: {classification: public}, transform: keep}
gates: {findings: {sampleRows: 5000}GATES}
"""

JOB = """
apiVersion: perimeter/v1
kind: Job
metadata: {name: gate}
policy: policy.yaml
sources: {tx: {uri: "URI", format: csv, schema: tx.yaml}}
quarantine: {uri: out/quarantine/, key: person}
prepare: SELECT id, amount, payer, note, memo FROM tx
keys: {person: {provider: local, keyring: out/person.keyring.json, create: true}}
shape: {features: [{name: amount, column: amount, dtype: float32}, {name: payer, column: payer, dtype: bytes}]}
sink: {uri: out/sink/, format: arrayRecord, encoding: tfExample, shards: 1}
table: {uri: out/table/, format: parquet}
"""

CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: tx
version: 1.0.0
status: active
schema:
  - name: tx
    properties:
      - {name: id, logicalType: integer, required: true, classification: public}
      - {name: amount, logicalType: number, physicalType: "decimal(12,2)", classification: public}
      - {name: payer, logicalType: string, customProperties: [{property: semanticType, value: BR_CPF}]}
      - {name: note, logicalType: string, classification: public, customProperties: [NOTE]}
      - {name: memo, logicalType: string, MEMO}
"""

FREE = "customProperties: [{property: semanticType, value: FREE_TEXT}]"


def cpf(number):
    """A well-formed CPF that nobody has, as far as we know."""
    digits = [int(d) for d in f"{number:09}"]
    for weight in (10, 11):
        rest = sum(d * w for d, w in zip(digits, range(weight, 1, -1))) * 10 % 11
        digits.append(0 if rest == 10 else rest)
    return "".join(map(str, digits))


def files(contract=CONTRACT, note="", memo=FREE, memos="drop", gates="", uri="in/*.csv"):
    """The job's files in PLACE; the job's path."""
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "policy.yaml").write_text(POLICY.replace("MEMOS", memos).replace("GATES", gates))
    (PLACE / "tx.yaml").write_text(contract.replace("NOTE", note).replace("MEMO", memo))
    (PLACE / "job.yaml").write_text(JOB.replace("URI", uri))
    return PLACE / "job.yaml"


def data(folder):
    """Three files of 400 rows: `note` holds CPFs that the contract does not know of, `memo` has one in every fortieth text. All CPFs are returned."""
    folder.mkdir(parents=True, exist_ok=True)
    people = []
    for part in range(3):
        lines = ["id,amount,payer,note,memo"]
        for row in range(400):
            number = part * 400 + row
            payer, note = cpf(101_000_000 + number * 7919), cpf(501_000_000 + number * 7907)
            people += [payer, note]
            said = f"please send it to the taxpayer with CPF {payer[:3]}.{payer[3:6]}.{payer[6:9]}-{payer[9:]} until friday" if row % 40 == 7 else "the invoice of last month and the one before it paid"
            lines.append(f"{number},{row}.50,{payer},{note},{said} {number}")
        (folder / f"part-{part}.csv").write_text("\n".join(lines) + "\n")
    return people


def says_nothing_raw(suite, name, done, people):
    """No value in what a command said."""
    text = done.out + done.err
    suite.check(f"{name}: no value in what it says", [f"{len(found)} values" for found in [[p for p in people if p in text or f"{p[:3]}.{p[3:6]}.{p[6:9]}-{p[9:]}" in text]] if found])


def published(place):
    """Whether a run left anything where results go."""
    return [str(p) for folder in ("sink", "table") for p in (place / "out" / folder).rglob("*") if p.is_file()]


def by_column(report):
    return {column["name"]: column for source in report["sources"] for column in source["columns"]}


def answers(suite, perimeter):
    """A contract that does not know what is in its columns: refused with the line to write, and let through once the line is there."""
    shutil.rmtree(PLACE, ignore_errors=True)
    people = data(PLACE / "in")
    job = files()
    done = perimeter("classify", job)
    suite.check("`classify JOB` ends with 1 while nobody answers for a column of CPFs", [] if done.code == 1 and "tx.note: BR_CPF" in done.err and "acceptedFindings" in done.err else [done.last])
    says_nothing_raw(suite, "`classify JOB`", done, people)
    done = perimeter("classify", job, "--json", "--out", PLACE / "report.json")
    report = json.loads(done.out)
    suite.equal("--out keeps the report", json.loads((PLACE / "report.json").read_text()), report)
    found = {name: [(f["type"], f["place"], f["agreement"], f["resolution"]) for f in column["findings"]] for name, column in by_column(report).items()}
    suite.equal("every column is judged", found, {"id": [], "amount": [], "payer": [("BR_CPF", "values", "agrees", "contract")], "note": [("BR_CPF", "values", "missing", "unresolved")],
                                                   "memo": [("BR_CPF", "texts", "agrees", "hidden")]})
    suite.equal("as many rows as there are", (report["sources"][0]["rows"], report["sources"][0]["complete"], report["sampleRows"]), (1200, True, "5000"))
    says_nothing_raw(suite, "`classify --json`", done, people)
    done = perimeter("run", job)
    suite.check("`run` is refused with the same list", [] if done.code == 1 and "findings-unresolved" in done.err and "tx.yaml:13" in done.err else [done.last])
    suite.check("and nothing was published", published(PLACE))
    says_nothing_raw(suite, "the refusal", done, people)

    job = files(note="{property: semanticType, value: BR_CPF}")
    done = perimeter("run", job)
    suite.check("with `semanticType: BR_CPF` it runs", [] if done.code == 0 else [done.last])
    version = latest(PLACE / "out/sink")
    kept = manifest(version)
    suite.equal("the manifest says who answers for what", {c["name"]: [f["resolution"] for f in c["findings"]] for s in kept["findings"]["sources"] for c in s["columns"]},
                {"payer": ["contract"], "note": ["contract"], "memo": ["hidden"]})
    suite.equal("and that the gate passed", (kept["gates"]["findings"]["verdict"], kept["gates"]["findings"]["figures"]["unresolved"]), ("pass", 0))
    done = perimeter("verify", version / "manifest.json")
    suite.check("`verify` takes it", [] if done.code == 0 else [done.last])
    old = json.loads((version / "manifest.json").read_text())
    del old["findings"]
    (version / "manifest.json").write_text(json.dumps(old))
    done = perimeter("verify", version / "manifest.json")
    suite.check("`verify` takes a manifest of before there were findings", [] if done.code == 0 else [done.last])

    done = perimeter("run", files(note='{property: acceptedFindings, value: [{type: BR_CPF, reason: "order numbers with two check digits"}]}'))
    kept = manifest(latest(PLACE / "out/sink"))
    reasons = [f.get("reason") for s in kept["findings"]["sources"] for c in s["columns"] for f in c["findings"] if f["agreement"] == "accepted"]
    suite.check("an accepted finding lets it run, and its reason is in the manifest", [] if done.code == 0 and reasons == ["order numbers with two check digits"] else [done.last, reasons])
    done = perimeter("run", files(note="{property: semanticType, value: BR_CPF}", memos="keep"))
    suite.check("free text that is kept is refused for what stands in it", [] if done.code == 1 and "tx.memo: BR_CPF inside of texts" in done.err and "deidentifyText" in done.err else [done.last])
    done = perimeter("plan", files())
    suite.check("`plan` shows the step", [] if done.code == 0 and "5000 rows of each source go through the detectors" in done.out else [done.last])


def without_contracts(suite, perimeter):
    """`classify` of files: what their columns are, from every format, sampled and in full, the same whatever the threads."""
    folder = PLACE / "in"
    people = data(folder)
    reports = {}
    for threads in (1, 2, 5):
        done = perimeter("classify", folder / "*.csv", "--sample-rows", "300", "--seed", "9", "--threads", threads, "--json")
        reports[threads] = done.out
    suite.check("the same seed gives the same report with 1, 2 and 5 threads", [] if done.code == 0 and len(set(reports.values())) == 1 else [done.last, len(set(reports.values()))])
    report = json.loads(reports[1])
    suite.equal("from 300 rows", (report["sources"][0]["rows"], report["sources"][0]["complete"]), (300, False))
    found = {name: [f["type"] for f in column["findings"]] for name, column in by_column(report).items()}
    suite.equal("the columns are found out", (found["payer"], found["note"]), (["BR_CPF"], ["BR_CPF"]))
    done = perimeter("classify", folder / "*.csv", "--full")
    suite.check("--full looks at every row, as a table", [] if done.code == 0 and "1200 row(s) of 3 file(s) looked at, all of them" in done.out and "BR_CPF in texts" in done.out else [done.last])
    says_nothing_raw(suite, "`classify` of files", done, people)
    done = perimeter("classify", PLACE / "nothing-*.csv")
    suite.check("files that are not there: exit code 2", [] if done.code == 2 else [done.last])
    done = perimeter("classify", folder / "*.csv", "--macie")
    suite.check("Amazon Macie needs a job file: exit code 2", [] if done.code == 2 and "option-not-here" in done.err else [done.last])
    for name, options in (("card_transactions.csv", ("--encoding", "latin-1")), ("card_transactions.parquet", ())):
        done = perimeter("classify", DEMO / name, "--json", *options)
        columns = by_column(json.loads(done.out or '{"sources": []}'))
        found = {column: {f["type"] for f in columns[column]["findings"]} for column in ("cpf", "pan", "email", "phone", "holder_name") if column in columns}
        wanted = {"cpf": "BR_CPF", "pan": "PAN", "email": "EMAIL", "phone": "PHONE", "holder_name": "PERSON_NAME"}
        suite.check(f"{name}: what the demo's columns are", [f"{column}: {found.get(column)}" for column, kind in wanted.items() if kind not in found.get(column, ())])


def examples(suite, perimeter):
    """The contracts of the examples agree with the detectors."""
    for job in sorted((ROOT / "pipeline/jobs").glob("*.yaml")):
        done = perimeter("classify", job, "--json", "--full")
        wrong = [f"{name}: {f['type']} {f['agreement']}" for name, column in by_column(json.loads(done.out or '{"sources": []}')).items() for f in column["findings"] if f["agreement"] in ("missing", "contradicts")]
        suite.check(f"{job.name}: its contracts agree with what is found", wrong + ([] if done.code == 0 else [done.last]))
