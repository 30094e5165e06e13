"""Raw records in, whatever state they are in: every format and kind of rule from real files, one bad cell for one row, nothing lost without a count."""
import bz2
import json
import lzma
import shutil

from harness import WORK, latest, manifest

PLACE = WORK / "ingest"

POLICY = """
apiVersion: perimeter/v1
kind: Policy
metadata: {name: ingest, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}
rules:
  - {name: people, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person}
  - {name: facts, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 0.9}
"""

CUSTOMERS = """
apiVersion: v3.1.0
kind: DataContract
id: customers
version: 1.0.0
status: active
schema:
  - name: customers
    properties:
      - {name: id, logicalType: string, primaryKey: true, classification: public}
      - {name: nome, logicalType: string, classification: public}
"""

PAYMENTS = """
apiVersion: v3.1.0
kind: DataContract
id: payments
version: 1.0.0
status: active
schema:
  - name: payments
    quality:
      - {name: refunds are negative, type: custom, engine: perimeter, implementation: {expression: "kind <> 'REFUND' OR amount < 0"}}
      - {name: clock, type: custom, engine: perimeter, implementation: {monotonic: {column: at, per: [customer]}}}
      - {metric: rowCount, mustBeGreaterThan: ROWS}
      - {name: few nulls, type: sql, query: "SELECT COUNT(*) FROM {object} WHERE note IS NULL", mustBeLessThan: 4}
    properties:
      - {name: payment, logicalType: integer, unique: true, required: true, classification: public}
      - {name: customer, logicalType: string, required: true, classification: public, relationships: [{type: foreignKey, to: customers.id}]}
      - {name: amount, logicalType: number, physicalType: "decimal(12,2)", classification: public, logicalTypeOptions: {multipleOf: 0.05}}
      - {name: kind, logicalType: string, classification: public}
      - {name: at, logicalType: timestamp, classification: public}
      - {name: note, logicalType: string, classification: public}
"""

PARTIES = """
apiVersion: v3.1.0
kind: DataContract
id: contracts
version: 1.0.0
status: active
schema:
  - name: contracts
    properties:
      - {name: id, logicalType: integer, required: true, classification: public}
      - name: holder
        logicalType: object
        required: true
        properties:
          - name: cpf
            logicalType: string
            required: true
            quality: [{type: custom, engine: perimeter, implementation: {checkDigit: cpf}}]
            customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]
      - name: guarantors
        logicalType: array
        logicalTypeOptions: {maxItems: 2}
        items:
          logicalType: object
          properties:
            - name: cpf
              logicalType: string
              customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]
"""

CNAB = """
apiVersion: v3.1.0
kind: DataContract
id: titles
version: 1.0.0
status: active
schema:
  - name: titles
    properties:
      - {name: number, logicalType: string, required: true, classification: public}
      - {name: due, logicalType: date, required: true, classification: public, logicalTypeOptions: {format: ddMMyy}}
      - {name: amount, logicalType: number, physicalType: "decimal(13,2)", classification: public}
"""


def job(sources, columns, prepare, features, table=False):
    """A job over these sources; returns its path."""
    text = f"""
apiVersion: perimeter/v1
kind: Job
metadata: {{name: ingest}}
policy: policy.yaml
sources:
{sources}
quarantine: {{uri: out/quarantine/, key: person}}
prepare: {prepare}
keys:
  person: {{provider: local, keyring: out/person.keyring.json, create: true}}
shape: {{features: [{features}]}}
sink: {{uri: out/sink/, format: arrayRecord, encoding: tfExample, shards: 2}}
""" + ("table: {uri: out/table/, format: parquet}\n" if table else "")
    for name, contract in columns.items():
        (PLACE / name).write_text(contract)
    (PLACE / "policy.yaml").write_text(POLICY)
    path = PLACE / "job.yaml"
    path.write_text(text)
    return path


def fresh():
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "in").mkdir(parents=True)


def checked(perimeter, path):
    done = perimeter("check", path, "--json")
    return done, (json.loads(done.out) if done.out.strip() else {})


def counted(report):
    return {rule["rule"]: rule["rows"] for rule in report.get("rules", [])}


def rules_about_sets(suite, perimeter):
    """Keys, references, expressions, order in time and verdicts, over csv in latin-1 with decimal commas."""
    fresh()
    (PLACE / "in/customers.csv").write_bytes("id;nome\n1;José\n2;Ana\n3;Conceição\n3;Outra\n".encode("latin-1"))
    rows = ["1;1;1.234,50;SALE;2026-01-01 10:00:00;a", "2;1;-10,00;REFUND;2026-01-01 11:00:00;b", "3;1;10,00;REFUND;2026-01-01 12:00:00;c",       # 3: refund > 0
            "4;2;5,03;SALE;2026-01-01 10:00:00;d", "5;9;5,00;SALE;2026-01-01 10:00:00;e", "6;2;5,00;SALE;2026-01-01 09:00:00;f",              # 4: multiple; 5: orphan
            "6;2;5,00;SALE;2026-01-01 10:00:00;g", "7;2;5,00;SALE;2026-01-01 08:00:00;", "8;2;12,34,5;SALE;2026-01-01 12:00:00;h",              # 6 twice; 7 goes back; 8: no number
            "9;3;5,00;SALE;2026-01-01 12:00:00;i"]                                                                                             # 9: its parent is there twice, but there
    (PLACE / "in/payments.csv").write_text("payment;customer;amount;kind;at;note\n" + "\n".join(rows) + "\n")
    sources = """  customers: {uri: in/customers.csv, format: csv, schema: customers.yaml, options: {delimiter: ";", encoding: latin-1}}
  payments: {uri: in/payments.csv, format: csv, schema: payments.yaml, options: {delimiter: ";", decimalSeparator: ",", thousandsSeparator: "."}}"""
    contracts = {"customers.yaml": CUSTOMERS, "payments.yaml": PAYMENTS.replace("ROWS", "3")}
    prepare = "SELECT payments.payment, payments.kind FROM payments JOIN customers ON payments.customer = customers.id"
    path = job(sources, contracts, prepare, "{name: payment, column: payment, dtype: int64}")
    done, report = checked(perimeter, path)
    wanted = {"customers.primary-key": 2, "payments.amount.multiple-of": 1, "payments.amount.type": 1, "payments.clock": 1, "payments.customer.references": 1,
              "payments.payment.unique": 2, "payments.refunds-are-negative": 1}
    suite.check("rules about sets: check ends well", [] if done.code == 0 else [done.last])
    suite.equal("rules about sets: each counts its rows", counted(report), wanted)
    suite.equal("rules about sets: the verdicts hold", [v.get("holds") for v in report.get("verdicts", [])], [True, True])
    again = [checked(perimeter, path)[1] for _ in range(1)] + [json.loads(perimeter("check", path, "--json", "--threads", "1").out)]
    suite.check("rules about sets: one thread says the same", [] if all(a == report for a in again) else ["another report"])
    ran = perimeter("run", path)
    suite.check("rules about sets: run ends well", [] if ran.code == 0 else [ran.last])
    if ran.code == 0:
        made = manifest(latest(PLACE / "out/sink"))
        suite.equal("rules about sets: run rejects what check counts", made["rejections"], wanted)
        suite.equal("rules about sets: rows in and out", made["rows"] | {"written": 0}, {"read": 14, "rejected": 9, "written": 0})
        sealed = sorted((PLACE / "out/quarantine").rglob("*.sealed"))
        shown = [json.loads(line) for file in sealed for line in perimeter("quarantine", "show", path, file).out.splitlines()]
        suite.equal("rules about sets: what run rejects lies in quarantine", len(shown), 9)
    (PLACE / "payments.yaml").write_text(PAYMENTS.replace("ROWS", "300"))
    done, report = checked(perimeter, path)
    suite.check("a verdict that fails refuses", [] if done.code == 1 and "row-count" in done.err else [done.last])
    ran = perimeter("run", path)
    suite.check("a verdict that fails publishes nothing", [] if ran.code == 1 and len(list((PLACE / "out/sink").rglob("manifest.json"))) == 1 else [ran.last])


def nested_json(suite, perimeter):
    """One array and lines of the same nested records, from file to table; the token inside a list is that of the column."""
    import pyarrow.parquet
    records = [{"id": 1, "holder": {"cpf": "52998224725"}, "guarantors": [{"cpf": "39053344705"}, {"cpf": "52998224725"}]},
               {"id": 2, "holder": {"cpf": "39053344705"}, "guarantors": []}, {"id": 3, "holder": {"cpf": "39053344705"}},
               {"id": 4, "holder": None}, {"id": 5, "holder": {"cpf": "39053344700"}}, {"id": 6, "holder": {"cpf": "39053344705"}, "guarantors": [{}, {}, {}]}]
    found = {}
    for layout, text in [("lines", "\n".join(map(json.dumps, records))), ("array", json.dumps(records, indent=2))]:
        fresh()
        (PLACE / "in/contracts.json.xz").write_bytes(lzma.compress(text.encode()))
        sources = f"  contracts: {{uri: in/contracts.json.xz, format: json, schema: contracts.yaml, options: {{layout: {layout}}}}}"
        path = job(sources, {"contracts.yaml": PARTIES}, 'SELECT id, "holder.cpf", "guarantors.cpf" FROM contracts', "{name: id, column: id, dtype: int64}", table=True)
        ran = perimeter("run", path)
        if not suite.check(f"nested JSON, {layout}: run ends well", [] if ran.code == 0 else [ran.last]):
            continue
        made = manifest(latest(PLACE / "out/sink"))
        found[layout] = made["rejections"]
        tables = [pyarrow.parquet.read_table(file) for file in sorted((PLACE / "out/table").rglob("*.parquet"))]
        rows = {row["id"]: row for table in tables for row in table.to_pylist()}
        suite.equal(f"nested JSON, {layout}: the rows that are left", sorted(rows), [1, 2, 3])
        if 1 in rows and 2 in rows:
            suite.equal(f"nested JSON, {layout}: a token in a list is the column's", rows[1]["guarantors.cpf"], [rows[2]["holder.cpf"], rows[1]["holder.cpf"]])
            suite.equal(f"nested JSON, {layout}: empty and missing lists differ", [rows[2]["guarantors.cpf"], rows[3]["guarantors.cpf"]], [[], None])
    if len(found) == 2:
        suite.equal("nested JSON: both layouts reject the same", found["array"], found["lines"])
        suite.check("nested JSON: the broken rules are named", [code for code in ("contracts.holder.required", "contracts.holder.cpf.check-digit", "contracts.guarantors.cpf.max-items")
                                                                if not found["lines"].get(code)])


def fixed_width(suite, perimeter):
    """A small CNAB-like file, bzip2, with a header and a trailer that are passed over and a record of no known type."""
    fresh()
    lines = ["0HEADER              ", "1TIT001310126000012345", "1TIT002310226000012345", "1TIT003310126-00012345", "1TIT004", "9TRAILER             ", "7???????             "]
    text = "".join(line.ljust(22)[:22] + "\r\n" if line != "1TIT004" else line + "\r\n" for line in lines)
    (PLACE / "in/titles.ret.bz2").write_bytes(bz2.compress(text.encode("cp850")))
    sources = """  titles:
    uri: in/titles.ret.bz2
    format: fixedWidth
    schema: titles.yaml
    options:
      recordLength: 22
      encoding: cp850
      recordTypes: {start: 1, width: 1, values: ["1"], others: ["0", "9"]}
      fields:
        - {column: number, start: 2, width: 6}
        - {column: due, start: 8, width: 6}
        - {column: amount, start: 14, width: 9, impliedDecimals: 2}"""
    path = job(sources, {"titles.yaml": CNAB}, "SELECT number, amount FROM titles", "{name: number, column: number, dtype: bytes}", table=True)
    done, report = checked(perimeter, path)
    suite.check("fixed width: check ends well", [] if done.code == 0 else [done.last])
    suite.equal("fixed width: one bad record costs itself", counted(report), {"titles.due.type": 1, "titles.ragged": 1, "titles.unknown-record-type": 1})
    suite.equal("fixed width: rows, and records that are none", [report.get("rows", {}).get(k) for k in ("read", "passedOver")], [5, 2])
