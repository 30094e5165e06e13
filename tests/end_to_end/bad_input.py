"""Bad files and bad contracts: each ends with a clear message, the right exit code, and nothing published. The messages are part of the leak scan."""
import gzip
import shutil

from harness import DEMO, ROOT, WORK, variant

PLACE, INPUTS = WORK / "bad", WORK / "inputs"


def published():
    """What a failed run must not leave: manifests, `latest`, shards under a version."""
    return [str(p.relative_to(PLACE)) for p in PLACE.rglob("*") if p.name in ("manifest.json", "latest")]


def attempt(suite, perimeter, what, content, codes, mentions=(), name="card_transactions.csv", source="csv", *changes):
    """Runs the demo with another transactions file; it must end with one of `codes` and say what `mentions` lists."""
    INPUTS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(PLACE, ignore_errors=True)
    path = INPUTS / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    more = [("format: csv                                               # csv | json", f"format: {source}   # csv | json")] if source != "csv" else []
    job = variant("bad", "bad", (f"{ROOT}/tests/data/demo/card_transactions.csv", str(path)), *more, *changes)
    done = perimeter("run", job)
    problems = [] if done.code in codes else [done.last]
    problems += [f"does not say {m!r}: {done.last}" for m in mentions if m.lower() not in done.err.lower()]
    problems += [f"panicked: {done.last}"] if "panicked" in done.err else []
    if done.code:
        problems += [f"published {p}" for p in published()]
    suite.check(f"{what}: exit code {' or '.join(map(str, codes))}", problems)
    path.unlink(missing_ok=True)
    return done


def inputs(suite, perimeter):
    """Files that are missing, empty, torn, cut or written by another hand."""
    csv = (DEMO / "card_transactions.csv").read_bytes()
    header, _, body = csv.partition(b"\n")
    parquet = (DEMO / "card_transactions.parquet").read_bytes()
    name = "card_transactions.csv"
    attempt(suite, perimeter, "a missing file", None, (2, 4), [name])
    attempt(suite, perimeter, "an empty file", b"", (1, 2), [name])
    attempt(suite, perimeter, "a header without rows", header + b"\n", (0, 1))
    attempt(suite, perimeter, "a duplicate header", header.replace(b"memo", b"status") + b"\n" + body, (1, 2), [name, "status"])
    # A name that no contract knows can be a cell of a file without a header: its position is said, never its text.
    attempt(suite, perimeter, "a column missing from the file", header.replace(b"memo", b"note") + b"\n" + body, (1, 2), [name, "position 15"])
    attempt(suite, perimeter, "a column missing from the contract", header + b",extra\n" + body.replace(b"\n", b",1\n"), (1, 2), [name, "position 16"])
    attempt(suite, perimeter, "a byte order mark is no part of a name", b"\xef\xbb\xbf" + csv, (0,))
    attempt(suite, perimeter, "carriage returns", csv.replace(b"\n", b"\r\n"), (0,))
    attempt(suite, perimeter, "a torn last line costs one row", csv[:-40], (0,))
    attempt(suite, perimeter, "a torn quote does not swallow the rest in silence", body_with_torn_quote(csv), (0, 1))
    attempt(suite, perimeter, "UTF-16", csv.decode("utf-8", "replace").encode("utf-16"), (1, 2), [name])
    attempt(suite, perimeter, "a gzip file is unpacked", gzip.compress(csv, 1), (0,), name="card_transactions.csv.gz")
    attempt(suite, perimeter, "a truncated gzip file", gzip.compress(csv, 1)[:-5000], (1,), ["card_transactions.csv.gz"], name="card_transactions.csv.gz")
    attempt(suite, perimeter, "a gzip file with a flipped bit", flipped(gzip.compress(csv, 1)), (1,), ["card_transactions.csv.gz"], name="card_transactions.csv.gz")
    attempt(suite, perimeter, "a truncated Parquet file", parquet[:-1000], (1, 2), ["card_transactions.parquet"], "card_transactions.parquet", "parquet")
    attempt(suite, perimeter, "a Parquet file cut in the middle of its data", parquet[:20000] + parquet[30000:], (1, 2), ["card_transactions.parquet"], "card_transactions.parquet", "parquet")
    attempt(suite, perimeter, "a Parquet file that is text", csv, (1, 2), ["card_transactions.parquet"], "card_transactions.parquet", "parquet")
    INPUTS.mkdir(parents=True, exist_ok=True)
    (INPUTS / "a-file").write_text("in the way")
    attempt(suite, perimeter, "a sink that cannot be written", csv, (2, 3, 4), ["a-file"], name, "csv", (f"{PLACE}/cards/ ", f"{INPUTS}/a-file/cards/ "))


def body_with_torn_quote(csv):
    """A quote that opens at a record in the middle and never closes."""
    lines = csv.split(b"\n")
    middle = next(i for i in range(len(lines) // 2, len(lines)) if lines[i].endswith(b",SETTLED,"))
    lines[middle] += b'"never closed'
    return b"\n".join(line if i <= middle else line.replace(b'"', b"") for i, line in enumerate(lines))


def flipped(data):
    """The bytes with a bit changed near their end."""
    changed = bytearray(data)
    changed[len(changed) * 3 // 4] ^= 16
    return bytes(changed)


def contracts(suite, perimeter):
    """Mistakes in the files: exit code 2, all of them in one go, nothing read."""
    def refuse(what, mentions, *changes):
        shutil.rmtree(PLACE, ignore_errors=True)
        done = perimeter("run", variant("bad", "bad", *changes))
        problems = [] if done.code == 2 else [done.last]
        problems += [f"does not say {m!r}: {done.last}" for m in mentions if m not in done.err]
        suite.check(f"{what}: exit code 2", problems + [p.name for p in PLACE.rglob("*") if p.name != "bad.yaml" and p.is_file()])

    refuse("an unknown key names the nearest known one", ["quarantine"], ("quarantine:  ", "quarantin:   "))
    refuse("two mistakes are both named", ["arrayrecord", "shardz"], ("format: arrayRecord", "format: arrayrecord"), ("shards: 4", "shardz: 4"))
    refuse("an unknown column in the query", ["amont"], ("tx.amount", "tx.amont"))
    refuse("a column that no rule matches", ["branch"], ("accounts.opened_on,", "accounts.opened_on, accounts.branch,"))
    refuse("a computed column that no rule covers", ["holder"], ("tx.zip,", "tx.zip, upper(tx.holder_name) AS holder,"))
    refuse("a quarantine under the sink", ["quarantine"], (f"{PLACE}/quarantine/", f"{PLACE}/cards/quarantine/"))
    refuse("a statement that is no query", ["error[", "DELETE"], ("SELECT tx.account_id", "DELETE FROM tx; SELECT tx.account_id"))
    refuse("a file read past the sources", [], ("FROM tx JOIN", "FROM '/etc/passwd' JOIN"))
    done = perimeter("run", PLACE / "no-such-job.yaml")
    suite.check("a job file that is not there: exit code 2", [] if done.code == 2 and "no-such-job" in done.err else [done.last])
    done = perimeter("run", "--nonsense", log_level=None)
    suite.check("an option that does not exist: exit code 2", [] if done.code == 2 else [done.last])
