"""Contracts of others' tools and of ours: the examples and what `schema infer` proposes pass datacontract-cli's lint, and take the files they came from."""
import json
import pathlib
import shutil
import subprocess
import sys

from harness import DEMO, ROOT, WORK

PLACE = WORK / "contracts"

JOB = """
apiVersion: perimeter/v1
kind: Job
metadata: {{name: inferred}}
policy: policy.yaml
sources:
  {source}
quarantine: {{uri: out/quarantine/, key: person}}
prepare: {prepare}
keys:
  person: {{provider: local, keyring: out/person.keyring.json, create: true}}
shape: {{features: [{{name: x, column: {column}, dtype: bytes}}]}}
sink: {{uri: out/sink/, format: arrayRecord, encoding: tfExample, shards: 1}}
"""

POLICY = """
apiVersion: perimeter/v1
kind: Policy
metadata: {name: inferred, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}
rules:
  - {name: tokens, match: {classification: restricted}, transform: cryptoHash, key: person}
gates: {maxRejectedFraction: 0.9}
"""

MADE_UP = {
    "ledger.csv": "conta;valor;data;ativo;obs\n0001-9;1.234,56;31/01/2026;true;NA\n0002-7;7,00;01/02/2026;false;\"a;b\"\n0003-5;NA;28/02/2026;true;\n",
    "events.jsonl": '{"id": 1, "holder": {"cpf": "39053344705", "phones": ["11 5555-0001"]}, "legs": [{"amount": 1.5}], "at": "2026-01-31T10:00:00Z"}\n{"id": 2, "yes": null, "no": "x"}\n',
    "array.json": '[{"a: b": "#", "on": true}, {"a: b": "- x"}]',
}


def lint(path):
    """datacontract-cli's verdict: what is wrong, or nothing."""
    command = [str(pathlib.Path(sys.executable).with_name("datacontract")), "lint", str(path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    said = " ".join((done.stdout + done.stderr).split())
    return [] if done.returncode == 0 and "Data contract is valid" in said else [f"exit code {done.returncode}: {said[-600:]}"]


def fresh():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)


def examples_lint_clean(suite, perimeter):
    """The contracts in schemas/, and that the lint notices a mistake at all."""
    fresh()
    files = sorted((ROOT / "schemas").glob("*.odcs.yaml"))
    suite.check("there are example contracts", [] if files else ["none"])
    for file in files:
        suite.check(f"datacontract-cli lints {file.name} clean", lint(file))
        broken = PLACE / file.name
        broken.write_text(file.read_text().replace("logicalType: string", "logicalTyp: string", 1))
        suite.check(f"datacontract-cli refuses {file.name} with a key that is misspelt", [] if lint(broken) else ["accepted"])


def inferred(suite, perimeter):
    """From files to a contract: loaded by us, linted by others, and every record passes that can be read at all."""
    files = [DEMO / name for name in ("card_transactions.parquet", "accounts.csv")]
    inputs = WORK / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    for name, text in MADE_UP.items():
        (inputs / name).write_text(text)
        files.append(inputs / name)
    # The demo's csv has cells that are no UTF-8 and records that are torn: they are counted.
    files.append(DEMO / "card_transactions.csv")
    for file in files:
        fresh()
        done = perimeter("schema", "infer", file, "--json", "--name", "inferred")
        if not suite.check(f"schema infer {file.name}", [] if done.code == 0 else [done.last]):
            continue
        proposal = json.loads(done.out)
        contract = PLACE / "inferred.odcs.yaml"
        contract.write_text(proposal["contract"])
        suite.equal(f"schema infer {file.name}: without --json the same", perimeter("schema", "infer", file, "--name", "inferred").out, proposal["contract"])
        suite.check(f"datacontract-cli lints what is proposed for {file.name} clean", lint(contract))
        names = [line.split("name: ", 1)[1].strip('"') for line in proposal["contract"].splitlines() if line.startswith("      - name: ")]
        columns = [name for name in names if name not in ("holder", "legs")]
        (PLACE / "policy.yaml").write_text(POLICY)
        job = PLACE / "job.yaml"
        column = json.dumps(columns[0])
        job.write_text(JOB.format(source=proposal["source"], prepare=json.dumps(f"SELECT {column} AS first FROM inferred"), column="first"))
        checked = perimeter("check", job, "--json")
        if not suite.check(f"check with what is proposed for {file.name}", [] if checked.out.strip() else [checked.last]):
            continue
        report = json.loads(checked.out)
        found = {rule["rule"].removeprefix("inferred."): rule["rows"] for rule in report["rules"]}
        suite.equal(f"check with what is proposed for {file.name}: rejected is what was announced, no more", found, proposal["unreadable"])
        suite.equal(f"check with what is proposed for {file.name}: so many records", report["rows"]["rejected"], proposal["rejected"])
        suite.equal(f"check with what is proposed for {file.name}: all records", report["rows"]["read"], proposal["rows"])


def compared(suite, perimeter):
    """`schema diff` of a committed contract with itself and with edits; a file that is wrong is exit code 2."""
    fresh()
    old = ROOT / "schemas" / "accounts.odcs.yaml"
    done = perimeter("schema", "diff", old, old)
    suite.check("schema diff: nothing has changed", [] if done.code == 0 and "nothing" in done.out else [done.last])
    for what, before, after, code, breaks in [("a looser bound", "maxLength: 4", "maxLength: 5", 0, []), ("another pattern", "{11}", "{10,11}", 1, ["data"]),
                                              ("another meaning", "value: BR_CPF", "value: ACCOUNT_ID", 1, ["protection"]), ("a mistake", "logicalType: date", "logicalType: dat", 2, None)]:
        new = PLACE / "accounts.odcs.yaml"
        new.write_text(old.read_text().replace(before, after, 1))
        done = perimeter("schema", "diff", old, new, "--json")
        suite.equal(f"schema diff: {what}: exit code", done.code, code)
        if breaks is not None:
            suite.equal(f"schema diff: {what}: whom it breaks", [change["breaks"] for change in json.loads(done.out)["changes"]], [breaks])
    done = perimeter("schema", "diff", old, PLACE / "none.odcs.yaml")
    suite.check("schema diff: a file that is not there", [] if done.code == 2 and "none.odcs.yaml" in done.err else [done.last])
