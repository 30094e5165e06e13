"""Free text: what detectors find in a memo becomes something else, a value in a memo gets the token of its column, nothing of it is left anywhere."""
import csv
import json
import random
import re
import shutil

from harness import LOGS, ROOT, WORK, digests, latest

PLACE = WORK / "text"
ROWS, PEOPLE = 3000, 80

POLICY = """
apiVersion: perimeter/v1
kind: Policy
metadata: {name: text, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}
rules:
  - {name: people, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person, canonicalize: [digits], bytes: 16}
  - {name: cards, match: {semanticType: PAN}, transform: cryptoReplaceFfxFpe, key: card, keepFirst: 6, checkDigit: luhn, lengths: 16}
  - {name: mails, match: {semanticType: EMAIL}, transform: cryptoDeterministic, key: person, canonicalize: [trim, lower]}
  - name: memos
    match: {semanticType: FREE_TEXT}
    transform: deidentifyText
    types:
      BR_CPF: cryptoHash
      PAN: {rule: cards, joinDomain: card}
      EMAIL: cryptoDeterministic
      BADGE: {transform: replace, newValue: staff}
      DATE: keep
      default: replaceWithInfoType
  - {name: facts, match: {classification: public}, transform: keep}
detectors:
  - {name: BADGE, regex: '\\bE-[0-9]{6}\\b'}
gates: {maxRejectedFraction: 0}
"""

CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: memos
version: 1.0.0
status: active
schema:
  - name: memos
    properties:
      - {name: id, logicalType: integer, required: true, classification: public}
      - {name: cpf, logicalType: string, customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]}
      - {name: pan, logicalType: string, customProperties: [{property: semanticType, value: PAN}, {property: joinDomain, value: card}]}
      - {name: mail, logicalType: string, customProperties: [{property: semanticType, value: EMAIL}, {property: joinDomain, value: email}]}
      - {name: memo, logicalType: string, customProperties: [{property: semanticType, value: FREE_TEXT}]}
"""

JOB = """
apiVersion: perimeter/v1
kind: Job
metadata: {name: text}
policy: policy.yaml
sources:
  memos: {uri: "in/*.csv", format: csv, schema: memos.yaml}
quarantine: {uri: out/quarantine/, key: person}
keys:
  person: {provider: local, keyring: out/person.keyring.json, create: true}
  card: {provider: local, keyring: out/card.keyring.json, create: true}
shape:
  features:
    - {name: id, column: id, dtype: int64}
    - {name: cpf, column: cpf, dtype: bytes}
    - {name: memo, column: memo, dtype: bytes}
sink: {uri: out/sink/, format: arrayRecord, encoding: tfExample, shards: 3}
table: {uri: out/table/, format: parquet}
"""


def cpf(draw):
    """A taxpayer number that is right."""
    digits = [int(draw() * 10) for _ in range(9)]
    for start in (10, 11):
        rest = sum(digit * weight for digit, weight in zip(digits, range(start, 1, -1))) % 11
        digits.append(0 if rest < 2 else 11 - rest)
    return "".join(map(str, digits))


def pan(draw):
    """A card number that is right."""
    digits = [4, 1, 1, 1, 1, 1] + [int(draw() * 10) for _ in range(9)]
    total = sum(sum(divmod(2 * digit, 10)) if place % 2 == 0 else digit for place, digit in enumerate(digits))
    return "".join(map(str, digits + [-total % 10]))


def memos():
    """The people, and [(person of the row, person of the memo, template)]: templates say `{cpf}`, `{masked}`, `{pan}`, `{spaced}`, `{mail}`, `{shout}`, and which person's."""
    draw = random.Random(20261201).random
    people = [{"cpf": cpf(draw), "pan": pan(draw), "mail": f"cliente{i}.{int(draw() * 1e6)}@correio.example.br"} for i in range(PEOPLE)]
    templates = ["pagamento da parcela, ação nº 7", "cpf {masked}", "de {cpf} para o CPF {masked}", "cartão {pan}", "estorno do cartão {spaced}: ok", "recibo a {mail}",
                 "e-mail {shout}; cartão {pan}", "cpf {masked},{mail}", "crachá E-123456 aprovou em 2026-11-30", "CPF: {masked}\n{mail}"]
    rows = []
    for _ in range(ROWS):
        who, other = int(draw() * PEOPLE), int(draw() * PEOPLE)
        rows.append((who, other, templates[int(draw() * len(templates))]))
    return people, rows


def written(template, values):
    """A memo with these values in it."""
    p, c = values["pan"], values["cpf"]
    return template.format(masked=values.get("masked", f"{c[:3]}.{c[3:6]}.{c[6:9]}-{c[9:]}"), cpf=c, pan=p, spaced=" ".join(p[i:i + 4] for i in range(0, 16, 4)),
                           mail=values["mail"], shout=values.get("shout", values["mail"].upper()))


def files():
    """The job's folder; the input in two files."""
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "in").mkdir(parents=True)
    people, rows = memos()
    for half in (0, 1):
        with open(PLACE / "in" / f"memos-{half}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "cpf", "pan", "mail", "memo"])
            for number, (who, other, template) in enumerate(rows):
                if number % 2 == half:
                    out.writerow([number, *people[who].values(), written(template, people[other])])
    for name, text in (("policy.yaml", POLICY), ("memos.yaml", CONTRACT), ("job.yaml", JOB)):
        (PLACE / name).write_text(text)
    return people, rows


def same_tokens(suite, perimeter):
    """Every memo of the table and of the shards is what its template says with the tokens of the columns."""
    import pyarrow.parquet
    from leaks import pieces
    people, rows = files()
    ran = perimeter("run", PLACE / "job.yaml")
    if not suite.check("text: the job runs", [] if ran.code == 0 else [ran.last]):
        raise RuntimeError("no run, no more to see")
    table = [row for path in sorted((PLACE / "out/table").rglob("*.parquet")) for row in pyarrow.parquet.read_table(path).to_pylist()]
    by_id = {row["id"]: row for row in table}
    suite.equal("text: no row is lost", sorted(by_id), list(range(ROWS)))
    tokens = {}
    for number, (who, _, _) in enumerate(rows):
        tokens[who] = {key: by_id[number][key] for key in ("cpf", "pan", "mail")}
    unlike, kinds = [], set()
    for number, (_, other, template) in enumerate(rows):
        memo = by_id[number]["memo"]
        if other not in tokens:
            continue
        kinds.add(template)
        of = tokens[other]
        wanted = written(template, of | {"masked": of["cpf"], "shout": of["mail"]}).replace("E-123456", "staff")
        if memo != wanted:
            unlike.append(f"id {number}: {template!r}")
    suite.check("text: every value in a memo has the token of its column, what lies between is as it was", unlike, f"{len(kinds)} kinds of memos")
    shards = [path for path in latest(PLACE / "out/sink").rglob("*") if ".array_record" in path.name]
    features = {piece for path in shards for what, piece in pieces(path) if what == "feature"}
    missing = [row["id"] for row in table if row["memo"] and row["memo"].encode() not in features]
    suite.check("text: the shards hold the same memos", [f"{len(missing)} are not there"] if missing or not shards else [])


def nothing_left(suite, perimeter):
    """No CPF, card or address of a memo in shards, table, quarantine, manifest or logs, in any spelling."""
    from leaks import Needles, scan
    people, _ = memos()
    needles = Needles({"cpf": {p["cpf"] for p in people}, "pan": {p["pan"] for p in people}, "email": {p["mail"] for p in people}})
    hits, _, _ = scan(needles, [PLACE / "in"])
    suite.equal("text: the scan finds every kind where it is", sorted({kind for _, _, kind, _ in hits}), ["cpf", "email", "pan"])
    hits, found, looked = scan(needles, [PLACE / "out", LOGS])
    suite.check("text: no CPF, card or address in what was written and said", [f"{path.name}: {kind} as {form}" for path, _, kind, form in hits], f"{found} files, {looked} pieces")


def same_bytes(suite, perimeter):
    """Shards do not depend on threads or on memory."""
    wanted = digests(latest(PLACE / "out/sink"))
    for options in (("--threads", "1"), ("--threads", "4"), ("--memory-limit", "512MiB", "--threads", "3")):
        ran = perimeter("run", PLACE / "job.yaml", *options)
        suite.check(f"text: the same bytes with {' '.join(options)}", [] if ran.code == 0 and digests(latest(PLACE / "out/sink")) == wanted else [ran.last])


def plans(suite, perimeter):
    """What the plan says, and refuses."""
    done = perimeter("plan", PLACE / "job.yaml", "--json", log_level=None)
    plan = json.loads(done.out or "{}")
    memo = next((column for column in plan.get("lineage", {}).get("columns", []) if column["name"] == "memo"), {})
    said = [(t["type"], t["transform"], t["rule"], t["key"], t["joinDomain"]) for t in memo.get("text", {}).get("types", [])]
    suite.equal("text: the plan names each type's transform, rule, key and join domain", said,
                [("BR_CPF", "cryptoHash", "people", "person", "named:person"), ("PAN", "cryptoReplaceFfxFpe", "cards", "card", "named:card"),
                 ("EMAIL", "cryptoDeterministic", "mails", "person", "named:email"), ("BADGE", "replace", None, None, None), ("DATE", "keep", None, None, None)])
    recall = {r["infoType"]: r["found"] / r["values"] for r in (plan.get("recall") or {}).get("types", [])}
    suite.check("text: the plan states how much is found", [t for t in ("BR_CPF", "PAN", "EMAIL") if not 0.5 < recall.get(t, 0) <= 1])
    for name, old, new, code in [("a type that nothing finds", "BR_CPF: cryptoHash", "CPF: cryptoHash", "unknown-info-type"),
                                 ("`keep` for all", "default: replaceWithInfoType", "default: keep", "unknown-value"),
                                 ("a join domain that nobody says", "PAN: {rule: cards, joinDomain: card}", "IBAN: {rule: cards}", "text-join-domain"),
                                 ("a pattern that does not compile", "E-[0-9]{6}", "E-[0-9]{6", "bad-detector"),
                                 ("a detector with the name of a type", "name: BADGE", "name: BR_RG", "detector-refused")]:
        (PLACE / "policy.yaml").write_text(POLICY.replace(old, new).replace("BADGE: {", "BR_RG: {" if code == "detector-refused" else "BADGE: {"))
        done = perimeter("plan", PLACE / "job.yaml", log_level=None)
        suite.check(f"text: {name} is refused", [] if done.code == 2 and f"error[{code}]" in done.err and "policy.yaml:" in done.err else [done.last])
    (PLACE / "policy.yaml").write_text(POLICY)


def example_policy(suite, perimeter):
    """The policy of the README takes a job with memos: the demo's, over the demo's data."""
    text = (ROOT / "pipeline" / "jobs" / "card_sequences.yaml").read_text()
    text = text.replace("../../target/demo/", f"{PLACE}/demo/").replace("../../", f"{ROOT}/").replace("tx.zip, tx.booked_at", "tx.zip, tx.memo, tx.booked_at")
    (PLACE / "demo.yaml").write_text(text)
    done = perimeter("plan", PLACE / "demo.yaml", log_level=None)
    problems = [] if done.code == 0 else [done.last]
    problems += [line for line in ("memo = tx.memo", 'join domain person, as rule "taxpayer ids"', 'join domain account, as rule "account and transaction ids"',
                                   "all others replaceWithInfoType") if line not in re.sub(" +", " ", done.out)]
    suite.check("text: the example policy covers the demo's memos", problems)
