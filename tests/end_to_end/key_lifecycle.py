"""Keyrings from the first version to the last, and `reveal`: on disk and on S3 with KMS. The values are made up for these tests."""
import base64
import concurrent.futures
import csv
import json
import os
import pty
import shutil
import stat
import subprocess
import time

from harness import WORK, latest, manifest

CARDS = [f"41111111{number:07d}" for number in range(12)]
MAILS = [f" Ana.{number}@Bank.Example " for number in range(12)]
REASON = "chargeback 4711, asked for by the card office"
SECRETS = []                       # (what, bytes) of keys that these tests could unwrap, for key_secrets

SCHEMA = """\
apiVersion: v3.1.0
kind: DataContract
id: urn:datacontract:bank.example:cards
version: 1.0.0
status: active
schema:
  - name: cards
    properties:
      - {name: n, logicalType: integer, classification: public}
      - {name: pan, logicalType: string, customProperties: [{property: semanticType, value: PAN}, {property: joinDomain, value: card}]}
      - {name: email, logicalType: string, customProperties: [{property: semanticType, value: EMAIL}, {property: joinDomain, value: email}]}
      - {name: holder, logicalType: string, customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]}
"""

POLICY = """\
apiVersion: perimeter/v1
kind: Policy
metadata: {name: reversible, version: 1, owner: dpo@bank.example, purpose: test, legalBasis: [LGPD-7-IX]}
rules:
  - {name: cards, match: {semanticType: PAN}, transform: cryptoReplaceFfxFpe, key: person, keepFirst: 6, checkDigit: luhn}
  - {name: mails, match: {semanticType: EMAIL}, transform: cryptoDeterministic, key: person, canonicalize: [trim, lower]}
  - {name: holders, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person}
  - {name: public facts, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 0}
"""

JOB = """\
apiVersion: perimeter/v1
kind: Job
metadata: {{name: reversible}}
policy: policy.yaml
sources:
  cards: {{uri: cards.csv, format: csv, schema: cards.odcs.yaml}}
quarantine: {{uri: out/quarantine/, key: person}}
keys:
  person: {{{provider}, version: {version}}}
shape:
  features: [{{name: n, column: n, dtype: int64}}]
sink: {{uri: out/cards/, shards: 1}}
table: {{uri: out/table/, format: parquet}}
"""


def luhn(digits):
    """The digits with their check digit."""
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(digits)))
    return digits + str(-total % 10)


PANS = [luhn(digits) for digits in CARDS]
WANTED = {"pan": PANS, "email": [mail.strip().lower() for mail in MAILS]}


class Place:
    """A folder with the job, its contract and its data."""

    def __init__(self, name, provider):
        self.folder = WORK / name
        self.provider = provider
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "cards.odcs.yaml").write_text(SCHEMA)
        (self.folder / "policy.yaml").write_text(POLICY)
        with open(self.folder / "cards.csv", "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["n", "pan", "email", "holder"])
            rows.writerows((n, pan, mail, f"person {n}") for n, (pan, mail) in enumerate(zip(PANS, MAILS)))

    def job(self, version):
        """The job that pins a key version."""
        path = self.folder / f"job-{version}.yaml"
        path.write_text(JOB.format(provider=self.provider, version=version))
        return path

    def tokens(self, column):
        """What the newest run made of a column, in the order of the raw rows."""
        import pyarrow.parquet as pq
        version = latest(self.folder / "out" / "cards").name
        files = sorted((self.folder / "out" / "table" / version).rglob("*.parquet"))
        rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        return [row[column] for row in sorted(rows, key=lambda row: row["n"])]

    def all_tokens(self):
        """All pseudonymized columns of the newest run."""
        return {column: self.tokens(column) for column in ("pan", "email", "holder")}

    def write(self, name, lines):
        """A file of tokens."""
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


def problems(done, code, *texts):
    """What is wrong with how a command ended."""
    said = done.out + done.err
    return ([] if done.code == code else [done.last]) + [f"does not say {text!r}: {done.last}" for text in texts if text not in said]


def reveals(suite, perimeter, what, place, version, tokens, audit, env=None, extra=()):
    """All tokens of both reversible columns give their raw values again."""
    for column, wanted in WANTED.items():
        done = perimeter("reveal", place.job(version), place.write(f"{column}.txt", tokens[column]), "--column", column, "--reason", REASON, "--audit", audit, *extra, env=env)
        same = done.code == 0 and done.out.splitlines() == wanted
        suite.check(f"{what}: `reveal` gives the values of {column} back", [] if same else [done.last if done.code else "other values"])


def steps(suite, perimeter, what, place, keyring, audit, env=None, rewrap=()):
    """create → run → reveal → rewrap → rotate → retire → destroy, with what each must and must not change. Returns the tokens of each version."""
    run = lambda version: perimeter("run", place.job(version), env=env)
    keys = lambda *arguments: perimeter("keys", *arguments, env=env)
    if not suite.check(f"{what}: a run under version 1", problems(run(1), 0)):
        raise RuntimeError("no tokens, no more to see")
    first = place.all_tokens()
    suite.check(f"{what}: nothing leaves as it is", [c for c, raw in (("pan", PANS), ("email", MAILS)) if set(first[c]) & set(raw)])
    reveals(suite, perimeter, what, place, 1, first, audit, env)

    suite.check(f"{what}: `rewrap`", problems(keys("rewrap", keyring, *rewrap), 0, "tokens stay as they are"))
    return first, run, keys


def after_rewrap(suite, perimeter, what, place, keyring, audit, first, run, keys, env=None):
    """The second half of the lifecycle."""
    suite.check(f"{what}: a run after `rewrap`", problems(run(1), 0))
    suite.check(f"{what}: its tokens are those of before, byte by byte", [] if place.all_tokens() == first else ["they differ"])

    suite.check(f"{what}: `rotate` makes version 2", problems(keys("rotate", keyring), 0, "version 2 is new"))
    suite.check(f"{what}: a run that pins version 1 goes on as before", problems(run(1), 0) + ([] if place.all_tokens() == first else ["other tokens"]))
    suite.check(f"{what}: a run under version 2", problems(run(2), 0))
    second = place.all_tokens()
    suite.check(f"{what}: every token is another one", [c for c in first if set(first[c]) & set(second[c])])
    suite.check(f"{what}: tokens carry their version", [c for c, v in ((first, 1), (second, 2)) if not all(t.startswith(f"v{v}.") for t in c["email"])])
    suite.equal(f"{what}: so does the manifest", [k["version"] for k in manifest(latest(place.folder / "out" / "cards"))["keys"]], [2])
    reveals(suite, perimeter, f"{what}, version 2", place, 2, second, audit, env)
    reveals(suite, perimeter, f"{what}, old tokens after `rotate`", place, 2, first, audit, env, extra=("--key-version", "1"))
    mixed = place.write("mixed.txt", first["email"][:2] + second["email"][:2])
    done = perimeter("reveal", place.job(2), mixed, "--column", "email", "--reason", REASON, "--audit", audit, env=env)
    suite.check(f"{what}: tokens of both versions in one request", problems(done, 0) + ([] if done.out.splitlines() == WANTED["email"][:2] * 2 else ["other values"]))

    suite.check(f"{what}: an active version is not destroyed", problems(keys("destroy", keyring, "1", "--confirm", "person", "--reason", "over"), 2, "version-active"))
    suite.check(f"{what}: `retire`", problems(keys("retire", keyring, "1"), 0, "makes no more tokens"))
    suite.check(f"{what}: a run that pins a retired version is refused (exit code 2)", problems(run(1), 2, "version-retired"))
    reveals(suite, perimeter, f"{what}, a retired version", place, 1, first, audit, env)

    suite.check(f"{what}: `destroy` wants the keyring's own id", problems(keys("destroy", keyring, "1", "--confirm", "persona", "--reason", "over"), 2, "not-confirmed"))
    suite.check(f"{what}: `destroy` wants a reason", problems(keys("destroy", keyring, "1", "--confirm", "person"), 2, "--reason"))
    reveals(suite, perimeter, f"{what}, after refusals of `destroy`", place, 1, first, audit, env)
    done = keys("destroy", keyring, "1", "--confirm", "person", "--reason", "retention is over")
    suite.check(f"{what}: `destroy` says what is lost and where copies are", problems(done, 0, "cannot be revealed, by anyone", "they have to go too", "retention is over"))
    suite.check(f"{what}: a run that pins a destroyed version is refused", problems(run(1), 2, "version-destroyed"))
    for column in WANTED:
        done = perimeter("reveal", place.job(1), place.write(f"{column}.txt", first[column]), "--column", column, "--reason", REASON, "--audit", audit, env=env)
        suite.check(f"{what}: tokens of {column} of a destroyed version are gone", problems(done, 2, "version-destroyed") + (["a value"] if done.out.strip() else []))
    done = perimeter("reveal", place.job(2), mixed, "--column", "email", "--reason", REASON, "--audit", audit, env=env)
    suite.check(f"{what}: of a mixed request, only the living version's open", problems(done, 1, "line 1: its key version is destroyed", "line 2: its key version is destroyed")
                + ([] if done.out.splitlines() == ["", ""] + WANTED["email"][:2] else ["other values"]))
    reveals(suite, perimeter, f"{what}, version 2 after `destroy`", place, 2, second, audit, env)
    suite.check(f"{what}: a run under version 2 after `destroy`", problems(run(2), 0) + ([] if place.all_tokens() == second else ["other tokens"]))


def on_disk(suite, perimeter):
    """The local provider, and what is special to files."""
    place = Place("keys-local", "provider: local, keyring: person.keyring.json")
    keyring, audit = place.folder / "person.keyring.json", place.folder / "audit.jsonl"
    suite.check("local: `keys create`", problems(perimeter("keys", "create", keyring, "--local"), 0))
    first, run, keys = steps(suite, perimeter, "local", place, keyring, audit)
    kept = place.folder / "kept.keyring.json"
    shutil.copy(keyring, kept)
    after_rewrap(suite, perimeter, "local", place, keyring, audit, first, run, keys)
    suite.check("local: a copy from before a destruction is recognised", problems(keys("list", kept, "--known", keyring), 1, "resurrected-version", "version 1"))
    suite.check("local: and the file itself is not taken for one", problems(keys("list", keyring, "--known", kept), 0))
    suite.check("local: nothing is left beside the keyring", [p.name for p in place.folder.iterdir() if p.name.startswith((".staged", "person.keyring")) and p.suffix not in (".json", ".key")])
    records(suite, place, audit)
    refusals(suite, perimeter, place)
    purposes(suite, perimeter, place, keyring)
    killed(suite, perimeter, place)
    at_a_terminal(suite, perimeter)
    old_keyring(suite, perimeter)


def records(suite, place, audit):
    """What the audit file holds after all that, and what it does not."""
    lines = audit.read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    suite.equal("audit: mode 0600", stat.S_IMODE(audit.stat().st_mode), 0o600)
    intents = [e for e in entries if e["event"] == "intent"]
    outcomes = {e["id"]: e for e in entries if e["event"] == "outcome"}
    suite.check("audit: every intent has its outcome, behind it", [e["id"] for e in intents if e["id"] not in outcomes or lines.index(json.dumps(e, separators=(",", ":"), ensure_ascii=False)) > lines.index(json.dumps(outcomes[e["id"]], separators=(",", ":"), ensure_ascii=False))])
    suite.check("audit: who, when, where, why, what by which keys, how many", [f"{e['id']}: {k}" for e in intents for k in ("who", "at", "reason", "column", "transform", "keyring", "tokens", "contract") if not e.get(k)])
    suite.equal("audit: the user is the operating system's", {e["who"]["uid"] for e in intents}, {os.getuid()})
    suite.equal("audit: the reason as it was given", {e["reason"] for e in intents}, {REASON})
    suite.check("audit: counts add up", [e["id"] for e in intents if outcomes[e["id"]]["revealed"] + outcomes[e["id"]]["unopened"] != e["tokens"]])
    suite.check("audit: versions are recorded", [] if {tuple(e["keyring"]["versions"]) for e in intents} >= {(1,), (2,), (1, 2)} else ["missing"])
    text = audit.read_text().lower()
    said = [value for values in WANTED.values() for value in values] + [m.strip() for m in MAILS] + [p for name in ("pan.txt", "email.txt", "mixed.txt") for p in (place.folder / name).read_text().split()]
    suite.check("audit: no token and no value in it", [f"{len(value)} characters" for value in said if value.lower() in text])


def refusals(suite, perimeter, place):
    """What gives no value: no record, no way back, no right question."""
    tokens = place.write("some.txt", place.tokens("email")[:2])
    ask = lambda audit, *more, column="email", file=tokens: perimeter("reveal", place.job(2), file, "--column", column, "--reason", REASON, "--audit", audit, *more)
    silent = lambda done: ["values were shown"] if done.out.strip() else []
    group_writable = place.folder / "open.jsonl"
    group_writable.write_text("")
    group_writable.chmod(0o660)
    for what, audit in (("a folder that is not there", place.folder / "none" / "audit.jsonl"), ("a folder", place.folder), ("no regular file", "/dev/null"), ("a file that others write", group_writable), ("another store", "gs://bank/audit/")):
        done = ask(audit)
        suite.check(f"audit at {what}: nothing is revealed", problems(done, 2) + silent(done))
    limited = place.folder / "limited.jsonl"
    command = f'ulimit -f 0; trap "" XFSZ; exec "{perimeter.binary}" reveal "{place.job(2)}" "{tokens}" --column email --reason "{REASON}" --audit "{limited}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    suite.check("audit on a disk that takes no more: nothing is revealed (exit code 3)", ([] if done.returncode == 3 else [f"exit code {done.returncode}: {done.stderr[-300:]}"]) + silent(type("", (), {"out": done.stdout})))
    before = (place.folder / "person.keyring.json").read_bytes()
    done = ask(place.folder / "person.keyring.json")
    suite.check("audit at the keyring itself: nothing is revealed, and the keyring is whole", problems(done, 2, "audit-file") + silent(done) + ([] if (place.folder / "person.keyring.json").read_bytes() == before else ["it was changed"]))
    audit = place.folder / "refused.jsonl"
    for what, code, done in (("a hash", "not-reversible", ask(audit, column="holder")), ("a column that is kept", "not-reversible", ask(audit, column="n")), ("no column", "unknown-column", ask(audit, column="mail")),
                             ("more than --max", "too-many-tokens", ask(audit, "--max", "1")), ("a version that is not there", "no-such-version", ask(audit, "--key-version", "9"))):
        suite.check(f"`reveal` of {what} is refused (exit code 2), with the reason", problems(done, 2, code) + silent(done))
    unpinned = place.folder / "unpinned.yaml"
    unpinned.write_text(place.job(2).read_text().replace(", version: 2}", ", create: true}"))
    done = perimeter("reveal", unpinned, place.write("pan.txt", place.tokens("pan")), "--column", "pan", "--reason", REASON, "--audit", audit)
    suite.check("`reveal` of tokens without a version, by a job that pins none, asks which", problems(done, 2, "version-needed") + silent(done))
    suite.check("and nothing is recorded", [audit.name] if audit.exists() else [])
    strangers = place.write("strangers.txt", ["v2.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", *tokens.read_text().split(), "ana.0@bank.example"])
    done = ask(audit, file=strangers)
    suite.check("tokens that do not open are named by line, never shown (exit code 1)",
                problems(done, 1, "line 1: ", "line 4: ") + (["a token was shown"] if "AAAAAA" in done.err + done.out or "ana.0@" in done.err else []) + ([] if done.out.splitlines() == ["", *WANTED["email"][:2], ""] else ["other values"]))
    typed = subprocess.run([perimeter.binary, "reveal", place.job(2), "--column", "email", "--reason", REASON, "--audit", audit, "--rate", "50", "--json"], input=tokens.read_bytes(), capture_output=True)
    suite.equal("tokens from stdin, values as JSON", [json.loads(line) for line in typed.stdout.splitlines()], [{"line": n + 1, "value": value} for n, value in enumerate(WANTED["email"][:2])])


def purposes(suite, perimeter, place, keyring):
    """`reveal` opens the wrap for reveals and no other; a run opens the one for runs and no other."""
    whole = keyring.read_text()
    tokens = place.write("some.txt", place.tokens("email")[:2])
    reveal = lambda: perimeter("reveal", place.job(2), tokens, "--column", "email", "--reason", REASON, "--audit", place.folder / "purposes.jsonl")
    run = lambda: perimeter("run", place.job(2))

    def edited(change):
        content = json.loads(whole)
        change(content["versions"][1]["wrapped"])
        keyring.write_text(json.dumps(content))

    edited(lambda wrapped: wrapped.pop("reveal"))
    suite.check("without its wrap for reveals a version runs and does not reveal", problems(reveal(), 2, "reveal") + problems(run(), 0))
    edited(lambda wrapped: wrapped.pop("run"))
    suite.check("without its wrap for runs it reveals and does not run", problems(reveal(), 0) + problems(run(), 2, "run"))
    edited(lambda wrapped: wrapped.update(reveal=wrapped["run"]))
    suite.check("a wrap for runs in the place of the one for reveals does not open (exit code 4)", problems(reveal(), 4, "kms-rejected") + problems(run(), 0))
    keyring.write_text(whole)
    suite.check("the keyring as it was reveals again", problems(reveal(), 0))


def killed(suite, perimeter, place):
    """A process that is killed: its record was there before the first value; a keyring is the old one or the new one."""
    audit = place.folder / "killed.jsonl"
    tokens = place.write("all.txt", place.tokens("email"))
    command = [perimeter.binary, "reveal", place.job(2), tokens, "--column", "email", "--reason", REASON, "--audit", audit, "--rate", "1"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    first = process.stdout.readline().decode().strip()
    process.kill()
    process.communicate()
    entries = [json.loads(line) for line in audit.read_text().splitlines()]
    suite.equal("the first value comes behind the record of the intent", (first, [e["event"] for e in entries], entries[0]["tokens"]), (WANTED["email"][0], ["intent"], len(MAILS)))
    folder = WORK / "keys-killed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    keyring = folder / "person.keyring.json"
    perimeter("keys", "create", keyring, "--local")
    broken = []
    for step in range(40):
        process = subprocess.Popen([perimeter.binary, "keys", "rotate", keyring], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(step / 2000)
        process.kill()
        process.wait()
        try:
            numbers = [version["version"] for version in json.loads(keyring.read_text())["versions"]]
            if numbers != list(range(1, len(numbers) + 1)):
                broken.append(numbers)
        except ValueError as error:
            broken.append(error)
    suite.check("`rotate` killed at any moment leaves the old keyring or the new one", broken + problems(perimeter("keys", "list", keyring), 0))


def at_a_terminal(suite, perimeter):
    """Where somebody is there to answer, `destroy` asks a second time."""
    folder = WORK / "keys-terminal"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    keyring = folder / "person.keyring.json"
    perimeter("keys", "create", keyring, "--local")
    perimeter("keys", "retire", keyring, "1")
    state = lambda: json.loads(keyring.read_text())["versions"][0]["state"]
    code, said = answer(perimeter, keyring, b"yes\n")
    suite.check("at a terminal, `yes` does not destroy", [] if (code, state()) == (2, "retired") and "Type `destroy 1`" in said else [f"exit code {code}, {state()}"])
    code, said = answer(perimeter, keyring, b"destroy 1\n", meanwhile=lambda: perimeter("keys", "rotate", keyring))
    suite.check("a keyring that somebody changed since it was read is left as it is (exit code 3)", [] if (code, state()) == (3, "retired") and "keyring-changed" in said and len(json.loads(keyring.read_text())["versions"]) == 2 else [f"exit code {code}, {state()}"])
    code, said = answer(perimeter, keyring, b"destroy 1\n")
    suite.check("at a terminal, the words that are asked for destroy", [] if (code, state()) == (0, "destroyed") else [f"exit code {code}, {state()}"])
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(lambda _: subprocess.run([perimeter.binary, "keys", "rotate", keyring], capture_output=True).returncode, range(6)))
    versions = [version["version"] for version in json.loads(keyring.read_text())["versions"]]
    suite.equal("of several `rotate` at once, each makes its version or says that it did not (exit code 3)", (set(codes) <= {0, 3}, versions), (True, list(range(1, 3 + codes.count(0)))))


def answer(perimeter, keyring, typed, meanwhile=lambda: None, env=None):
    """`keys destroy` at a terminal: waits for the question, does something meanwhile, answers. Returns (exit code, what was said)."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "PERIMETER_", "RUST_"))} | (env or {})
    command = [perimeter.binary, "keys", "destroy", str(keyring), "1", "--confirm", "person", "--reason", "over"]
    process = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=clean)
    os.close(theirs)
    said = b""
    while b"to go on: " not in said and (more := os.read(process.stderr.fileno(), 4096)):
        said += more
    meanwhile()
    os.write(ours, typed)
    said += process.communicate(timeout=60)[1]
    os.close(ours)
    return process.returncode, said.decode()


def old_keyring(suite, perimeter):
    """A keyring from before there were split keys gets one by a command of its own, once; nothing else of it changes."""
    folder = WORK / "keys-old"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    keyring = folder / "person.keyring.json"
    perimeter("keys", "create", keyring, "--local")
    content = json.loads(keyring.read_text())
    del content["split"]
    keyring.write_text(json.dumps(content))
    suite.check("a keyring without a split key says how it gets one", problems(perimeter("keys", "list", keyring), 0, "add-split-key"))
    suite.check("`rotate` adds none", problems(perimeter("keys", "rotate", keyring), 0) + (["it did"] if "split" in json.loads(keyring.read_text()) else []))
    before = json.loads(keyring.read_text())
    suite.check("`add-split-key` adds it", problems(perimeter("keys", "add-split-key", keyring), 0))
    after = json.loads(keyring.read_text())
    suite.check("and changes nothing else", [] if after.pop("split", None) and after == before else ["it did"])
    suite.check("once", problems(perimeter("keys", "add-split-key", keyring), 2, "split-key-exists"))


def on_aws(suite, perimeter):
    """KMS and a keyring on S3, against moto. Nothing that moto gets wrong is asserted."""
    from moto import Moto
    place = Place("keys-aws", "provider: awsKms, keyId: alias/first, keyring: 's3://keys/person.keyring.json'")
    with Moto(log=WORK / "moto.txt") as aws:
        s3, kms = aws.client("s3"), aws.client("kms")
        env = {k: v for k, v in aws.environment().items() if k.startswith("AWS_") or k == "NO_PROXY"}
        for alias in ("alias/first", "alias/second"):
            kms.create_alias(AliasName=alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        s3.create_bucket(Bucket="keys")
        s3.create_bucket(Bucket="audit", ObjectLockEnabledForBucket=True)
        s3.create_bucket(Bucket="plain")
        s3.create_bucket(Bucket="always", ObjectLockEnabledForBucket=True)
        s3.put_object_lock_configuration(Bucket="always", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 7}}})
        keyring = "s3://keys/person.keyring.json"
        content = lambda: json.loads(s3.get_object(Bucket="keys", Key="person.keyring.json")["Body"].read())
        suite.check("AWS: `keys create`", problems(perimeter("keys", "create", keyring, "--kms-key", "alias/first", env=env), 0))
        before = content()
        first, run, keys = steps(suite, perimeter, "AWS", place, keyring, "s3://audit/reveals/", env, rewrap=("--kms-key", "alias/second"))
        after = content()
        suite.equal("AWS: the keyring names the new key", after["keyId"], "alias/second")
        wraps = lambda file: {text for version in file["versions"] for text in version["wrapped"].values()} | {file["split"]["wrapped"]}
        suite.check("AWS: every wrap is a new one, and nothing else changed", [] if not wraps(before) & wraps(after) and [v["commitment"] for v in before["versions"]] == [v["commitment"] for v in after["versions"]] else ["no"])
        remember(kms, after)
        done = run(1)
        suite.check("AWS: a job that still names the old KMS key is refused (exit code 4)", problems(done, 4))
        place.provider = place.provider.replace("alias/first", "alias/second")
        after_rewrap(suite, perimeter, "AWS", place, keyring, "s3://audit/reveals/", first, run, keys, env)
        remember(kms, content())
        perimeter("keys", "create", "s3://keys/other/person.keyring.json", "--kms-key", "alias/second", env=env)
        other = "s3://keys/other/person.keyring.json"
        keys("retire", other, "1")
        code, said = answer(perimeter, other, b"destroy 1\n", lambda: keys("rotate", other), env)
        states = [version["state"] for version in json.loads(s3.get_object(Bucket="keys", Key="other/person.keyring.json")["Body"].read())["versions"]]
        suite.check("AWS: a keyring that somebody changed since it was read is left as it is (exit code 3)", [] if (code, states) == (3, ["retired", "active"]) and "keyring-changed" in said else [f"exit code {code}, {states}: {said[-300:]}"])
        audit_on_s3(suite, perimeter, place, s3, env)


def remember(kms, keyring):
    """Unwraps what can be unwrapped, as the key's owner could: key_secrets looks for it everywhere."""
    for version in keyring["versions"]:
        for purpose, wrapped in version["wrapped"].items():
            context = {"app": "perimeter", "keyring": keyring["id"], "keyVersion": str(version["version"]), "purpose": purpose}
            root = kms.decrypt(CiphertextBlob=base64.b64decode(wrapped), EncryptionContext=context)["Plaintext"]
            SECRETS.append((f"the root key of version {version['version']} on AWS", root))
    context = {"app": "perimeter", "keyring": keyring["id"], "keyVersion": "0", "purpose": "split"}
    SECRETS.append(("the split key on AWS", kms.decrypt(CiphertextBlob=base64.b64decode(keyring["split"]["wrapped"]), EncryptionContext=context)["Plaintext"]))


def audit_on_s3(suite, perimeter, place, s3, env):
    """One object per record, locked where it is asked for, and no value without one."""
    objects = lambda bucket: [item for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket) for item in page.get("Contents", [])]
    tokens = place.write("some.txt", place.tokens("email")[:2])
    ask = lambda audit, *more, environment=env: perimeter("reveal", place.job(2), tokens, "--column", "email", "--reason", REASON, "--audit", audit, *more, env=environment)
    entries = [json.loads(s3.get_object(Bucket="audit", Key=item["Key"])["Body"].read()) for item in objects("audit")]
    suite.check("AWS audit: one object per record, intents and outcomes in pairs", [] if entries and {e["id"] for e in entries if e["event"] == "intent"} == {e["id"] for e in entries if e["event"] == "outcome"} and len(entries) == 2 * len({e["id"] for e in entries}) else [f"{len(entries)} records"])
    text = json.dumps(entries, ensure_ascii=False).lower()
    suite.check("AWS audit: no token and no value", [len(value) for values in (*WANTED.values(), *place.all_tokens().values()) for value in values if value.lower() in text])
    seen = {item["Key"] for item in objects("audit")}
    done = ask("s3://audit/locked", "--audit-retain", "30")
    new = [item["Key"] for item in objects("audit") if item["Key"] not in seen]
    heads = [s3.head_object(Bucket="audit", Key=key) for key in new]
    suite.check("AWS audit: --audit-retain locks both records", problems(done, 0) + ([] if len(heads) == 2 and all(key.startswith("locked/") for key in new) and all(h.get("ObjectLockMode") == "COMPLIANCE" and 29 <= (h["ObjectLockRetainUntilDate"] - h["LastModified"]).days <= 30 for h in heads) else [f"{[h.get('ObjectLockMode') for h in heads]}"]))
    done = ask("s3://always/reveals")
    modes = [s3.head_object(Bucket="always", Key=item["Key"]).get("ObjectLockMode") for item in objects("always")]
    suite.check("AWS audit: a bucket's default retention locks them too", problems(done, 0) + ([] if modes == ["COMPLIANCE"] * 2 else [modes]))
    for what, audit, more, codes in (("a bucket without Object Lock under --audit-retain", "s3://plain/reveals/", ("--audit-retain", "30"), (2, 4)), ("a bucket that is not there", "s3://nowhere/reveals/", (), (2, 4))):
        done = ask(audit, *more)
        suite.check(f"AWS audit at {what}: nothing is revealed", ([] if done.code in codes else [done.last]) + (["a value"] if done.out.strip() else []))
    suite.check("AWS audit: nothing was written there", [item["Key"] for item in objects("plain")])
    done = ask("s3://audit/reveals/", environment=env | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"})
    suite.check("AWS: S3 that does not answer: nothing is revealed (exit code 3)", problems(done, 3) + (["a value"] if done.out.strip() else []))
    shared = place.folder / "person.keyring.json"
    shared.write_bytes(s3.get_object(Bucket="keys", Key="person.keyring.json")["Body"].read())
    job = place.job(2)
    job.write_text(job.read_text().replace("'s3://keys/person.keyring.json'", "person.keyring.json"))
    local = perimeter("reveal", job, tokens, "--column", "email", "--reason", REASON, "--audit", "s3://audit/reveals/", env=env | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"})
    suite.check("AWS: an audit place that does not answer: nothing is revealed (exit code 3)", problems(local, 3, "the audit record cannot be written") + (["a value"] if local.out.strip() else []))
    kms_says_no(suite, perimeter, place, job, tokens, env)
    calls(suite, perimeter, place, tokens, env)


def calls(suite, perimeter, place, tokens, env):
    """KMS is asked by keys, not by rows or names, and for the one purpose."""
    from kms import KmsCounted
    job = place.folder / "two_names.job.yaml"
    names = f"  same: {{{place.provider}, version: 2}}\n  person: {{"
    job.write_text(place.job(2).read_text().replace("  person: {", names).replace("policy: policy.yaml", "policy: two_names.yaml"))
    (place.folder / "two_names.yaml").write_text(POLICY.replace("transform: cryptoHash, key: person", "transform: cryptoHash, key: same"))
    for what, command, purpose in (("a run whose job has two names for one key", ("run", job), "run"), ("`reveal`", ("reveal", place.job(2), tokens, "--column", "email", "--reason", REASON, "--audit", place.folder / "calls.jsonl"), "reveal")):
        with KmsCounted(env["AWS_ENDPOINT_URL"]) as kms:
            done = perimeter(*command, env=env | {"AWS_ENDPOINT_URL_KMS": kms.endpoint})
            asked = [(operation, request["KeyId"], request["EncryptionContext"]) for operation, request in kms.calls]
        wanted = [("Decrypt", "alias/second", {"app": "perimeter", "keyring": "person", "keyVersion": "2", "purpose": purpose})]
        suite.check(f"AWS: {what} makes one call to KMS, for the purpose {purpose}", problems(done, 0) + ([] if asked == wanted else [asked]))


def kms_says_no(suite, perimeter, place, job, tokens, env):
    """Each way in which KMS refuses has its exit code and its words; only what may pass is asked again."""
    from kms import KmsSaysNo
    said = {}
    for kms_code, exit_code, code, again in (("AccessDeniedException", 4, "kms-denied", False), ("DisabledException", 4, "kms-key-disabled", False), ("KMSInvalidStateException", 4, "kms-key-state", False),
                                             ("IncorrectKeyException", 4, "kms-rejected", False), ("NotFoundException", 2, "kms-key-invalid", False), ("ThrottlingException", 3, "kms-throttled", True)):
        with KmsSaysNo(kms_code) as kms:
            audit = place.folder / f"{code}.jsonl"
            done = perimeter("reveal", job, tokens, "--column", "email", "--reason", REASON, "--audit", audit, env=env | {"AWS_ENDPOINT_URL_KMS": kms.endpoint})
            said[code] = done.err.partition("help: ")[2]
            suite.check(f"KMS says {kms_code}: exit code {exit_code}, {'asked again' if again else 'asked once'}", problems(done, exit_code, code) + ([] if (kms.calls > 1) == again else [f"{kms.calls} calls"]) + (["a value"] if done.out.strip() else []))
            ended = [json.loads(line).get("ended") for line in audit.read_text().splitlines()]
            suite.equal(f"KMS says {kms_code}: both records say so", ended, [None, "keys-not-opened"])
    suite.check("each with a help text of its own", [code for code, text in said.items() if not text.strip() or list(said.values()).count(text) > 1])
