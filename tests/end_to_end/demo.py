"""The README's first command, and what is promised about its result."""
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

from harness import DEMO, ROOT, WORK, digests, interop, latest, manifest, variant

OUT = ROOT / "target" / "demo"
CARDS = OUT / "cards"


def committed_files(suite, perimeter):
    """What is committed is what makes it."""
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "data" / "generate.py"), "--check"], capture_output=True, text=True)
    suite.check("the demo's data is what generate.py makes", done.stdout.splitlines() if done.returncode or "skipped" in done.stdout else [])
    for kind in ("job", "policy"):
        done = perimeter("schema", "json", kind, log_level=None)
        committed = ROOT / "schemas" / "json" / f"{kind}.schema.json"
        same = committed.exists() and json.loads(committed.read_text()) == json.loads(done.out or "null")
        suite.check(f"schemas/json/{kind}.schema.json is what `schema json {kind}` prints", [] if same else [done.last if done.code else "it differs: print it again"])


def first_command(suite, perimeter):
    """`perimeter run pipeline/jobs/card_sequences.yaml` from a tree in which nothing was run."""
    shutil.rmtree(OUT, ignore_errors=True)
    done = perimeter("run", "pipeline/jobs/card_sequences.yaml")
    if not suite.check("the README's first command runs", [] if done.code == 0 else [done.last]):
        raise RuntimeError("no demo, no more to see")
    version = latest(CARDS)
    found = manifest(version)
    suite.equal("the manifest is of its kind", (found["apiVersion"], found["kind"], found["development"]), ("perimeter/v1", "Manifest", True))
    wanted = {"apiVersion", "kind", "dataset", "development", "run", "contract", "keys", "inputs", "rows", "rejections", "splits", "shards", "gates"}
    suite.check("the manifest has the keys of the design", sorted(wanted - set(found)))
    empty = [s["bucket"] for s in found["splits"] if not s["records"]]
    suite.check("the demo fills every bucket", empty)
    modes = {p.name: oct(p.stat().st_mode & 0o777) for p in OUT.rglob("*") if p.is_file() and "key" in p.name and "keyring.json" not in p.name}
    suite.check("local key files are readable by their owner alone", [f"{n} {m}" for n, m in modes.items() if m != "0o600"])


def faults():
    """The faults listed in FAULTS.md: [(file, record, column, rule)]."""
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (.+?) \| (.+?) \| .+ \|$", (DEMO / "FAULTS.md").read_text(), re.M)
    return [(f, int(r), c, k) for f, r, c, k in rows]


def faults_are_counted(suite, perimeter):
    """Every fault of FAULTS.md is found, and nothing else is."""
    found = manifest(latest(CARDS))
    name = {"accounts.csv": "accounts"}
    wanted = collections.Counter(f"{name.get(file, 'tx')}.{f'{column}.' if rule not in ('ragged', 'invalid-encoding') else ''}{rule}" for file, _, column, rule in faults())
    suite.equal("rejections by rule are those of FAULTS.md", dict(sorted(found["rejections"].items())), dict(sorted(wanted.items())))
    rejected = len({(f.split(",")[0], r) for f, r, _, _ in faults()})
    suite.equal("rows read and rejected", (found["rows"]["read"], found["rows"]["rejected"]), (3120, rejected))
    done = perimeter("check", "pipeline/jobs/card_sequences.yaml")
    suite.check("`check` agrees and writes nothing", [] if done.code == 0 else [done.last])


def readers(suite, perimeter):
    """Google's readers, `verify` and `inspect` over the demo."""
    version = latest(CARDS)
    interop(suite, "demo", version)
    for command in (("verify", version / "manifest.json"), ("inspect", next(p for p in sorted(version.rglob("*.array_record*")) if p.stat().st_size > 70000 or True)),
                    ("plan", "pipeline/jobs/card_sequences.yaml"), ("plan", "pipeline/jobs/card_sequences.yaml", "--json")):
        done = perimeter(*command)
        suite.check(f"`{command[0]}{' --json' if '--json' in command else ''}` says yes", [] if done.code == 0 else [done.last])
        if "--json" in command:
            json.loads(done.out)


def verify_notices(suite, perimeter):
    """`verify` finds a flipped bit, a missing, an extra, a cut shard, and a manifest that was changed."""
    version = latest(CARDS)
    shards = sorted((s for s in manifest(version)["shards"] if s["records"]), key=lambda s: -s["bytes"])
    name = shards[0]["path"]

    def flip(copy):
        data = bytearray((copy / name).read_bytes())
        data[len(data) // 2] ^= 1
        (copy / name).write_bytes(data)

    def cut(copy):
        (copy / name).write_bytes((copy / name).read_bytes()[:65536])

    def swap(copy):
        other = shards[1]["path"]
        a, b = (copy / name).read_bytes(), (copy / other).read_bytes()
        (copy / name).write_bytes(b)
        (copy / other).write_bytes(a)

    def recount(copy):
        text = json.loads((copy / "manifest.json").read_text())
        next(s for s in text["shards"] if s["path"] == name)["records"] += 1
        (copy / "manifest.json").write_text(json.dumps(text))

    damages = {"a flipped bit": flip, "a missing shard": lambda c: (c / name).unlink(), "a cut shard": cut, "two shards swapped": swap,
               "an extra shard": lambda c: shutil.copy(c / name, c / name.replace("-00000-", "-00009-").replace("-00001-", "-00009-").replace("-00002-", "-00009-").replace("-00003-", "-00009-")),
               "a changed record count": recount}
    for what, damage in damages.items():
        copy = WORK / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(version, copy)
        damage(copy)
        done = perimeter("verify", copy / "manifest.json")
        suite.check(f"`verify` finds {what}", [] if done.code == 1 else [done.last])
    shutil.rmtree(WORK / "damaged", ignore_errors=True)


def again(suite, perimeter):
    """A second run makes a second version with the same shards, and `latest` names it."""
    first = latest(CARDS)
    done = perimeter("run", "pipeline/jobs/card_sequences.yaml", "--json")
    suite.check("the demo runs again", [] if done.code == 0 else [done.last])
    second = latest(CARDS)
    suite.check("the second run is a version of its own", [] if first != second and (first / "manifest.json").exists() else [first.name])
    suite.equal("both runs made the same shards", digests(second), digests(first))
    json.loads(done.out)
    suite.check("`run --json` prints JSON on stdout alone")


def two_at_once(suite, perimeter):
    """Two runs at one sink at the same time: two sound versions, neither touching the other."""
    before = {path.name for path in CARDS.iterdir()}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: subprocess.run([perimeter.binary, "run", "pipeline/jobs/card_sequences.yaml"], cwd=ROOT, capture_output=True, text=True), range(2)))
    suite.check("two runs at one sink both end well", [done.stderr[-300:] for done in both if done.returncode])
    versions = [pathlib.Path(done.stdout.strip()).parent for done in both]
    new = {path.name for path in CARDS.iterdir()} - before
    suite.equal("each made a version of its own, and nothing else is left", new, {version.name for version in versions})
    suite.equal("both made the same shards", digests(versions[0]), digests(versions[1]))
    suite.check("`latest` names one of them", [] if latest(CARDS) in versions else [latest(CARDS).name])


def rows_from_parquet(suite, perimeter):
    """The second demo job: Parquet, one example per row; its tokens join with the first one's."""
    done = perimeter("run", "pipeline/jobs/card_rows_parquet.yaml")
    if suite.check("card_rows_parquet.yaml runs", [] if done.code == 0 else [done.last]):
        version = latest(OUT / "card-rows")
        found = manifest(version)
        rejected = len({r for f, r, _, _ in faults() if "parquet" in f})
        suite.equal("rows from Parquet", (found["rows"]["read"], found["rows"]["rejected"], sum(s["records"] for s in found["shards"])), (3000, rejected, 3000 - rejected))
        interop(suite, "rows", version)
        tokens = [accounts(v) for v in (version, latest(CARDS))]
        suite.check("account tokens of both jobs join", [] if tokens[1] <= tokens[0] and len(tokens[1]) > 100 else [f"{len(tokens[0] & tokens[1])} of {len(tokens[1])}"])


def accounts(version):
    """The account tokens of a version's examples."""
    from array_record.python import array_record_module
    from example_proto import example_class
    example, tokens = example_class(), set()
    for shard in manifest(version)["shards"]:
        reader = array_record_module.ArrayRecordReader(str(version / shard["path"]))
        tokens |= {example.FromString(r).features.feature["account"].bytes_list.value[0] for r in (reader.read_all() if shard["records"] else [])}
        reader.close()
    return tokens


def says_nothing_raw(suite, perimeter):
    """A run that the gate stops: exit code 1, nothing published; its messages are part of the leak scan."""
    strict = WORK / "gate" / "policy.yaml"
    strict.parent.mkdir(parents=True, exist_ok=True)
    text = (ROOT / "policies" / "lgpd_model_training.yaml").read_text()
    strict.write_text(re.sub(r"maxRejectedFraction: [0-9.]+", "maxRejectedFraction: 0.001", text))
    job = variant("gate", "gate", (f"{ROOT}/policies/lgpd_model_training.yaml", str(strict)))
    done = perimeter("run", job)
    published = [p.name for p in (WORK / "gate").rglob("*") if p.name in ("manifest.json", "latest")]
    suite.check("too many rejected rows end the run with exit code 1 and nothing published", ([] if done.code == 1 else [done.last]) + published)
