"""What the end-to-end tests share: running the binary, variants of the demo's jobs, reading what a run made, counting."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "tests" / "end-to-end"
LOGS = WORK / "logs"
CORPORA = ROOT.parent / "shared" / "corpora"
DEMO = ROOT / "tests" / "data" / "demo"
RAW = [DEMO / "card_transactions.csv", DEMO / "accounts.csv"]

sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "support")]


class Skip(Exception):
    """Raised by a test that cannot run here."""


class Suite:
    """Counts; prints a line per check, which tests/run.sh adds up."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, problems=(), detail=""):
        """One check: passed when there is no problem."""
        problems = [str(p) for p in problems]
        if problems:
            self.failed += 1
            print(f"FAILED: {name}: {'; '.join(problems[:4])}{f' (and {len(problems) - 4} more)' if len(problems) > 4 else ''}", flush=True)
        else:
            self.passed += 1
            print(f"ok: {name}{f' ({detail})' if detail else ''}", flush=True)
        return not problems

    def equal(self, name, found, wanted):
        """Passed when both are equal."""
        return self.check(name, [] if found == wanted else [f"{found!r} instead of {wanted!r}"])

    def group(self, function, *arguments):
        """Runs a test function; an exception in it is a failure, `Skip` is said aloud."""
        try:
            function(self, *arguments)
        except Skip as reason:
            self.skipped += 1
            print(f"skipped: {function.__module__}.{function.__name__}: {reason}", flush=True)
        except Exception as error:
            self.failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"FAILED: {function.__module__}.{function.__name__}: {type(error).__name__}: {error} ({pathlib.Path(where.filename).name}:{where.lineno})", flush=True)


class Done:
    """A command that has ended."""

    def __init__(self, code, out, err, spill_files=0):
        self.code, self.out, self.err, self.spill_files = code, out, err, spill_files

    @property
    def last(self):
        """The end of what it said, for a failure's text."""
        lines = [line for line in self.err.strip().splitlines() if " DEBUG " not in line and " TRACE " not in line]
        return f"exit code {self.code}: " + " / ".join(lines[-4:])[-600:]


class SpillWatch(threading.Thread):
    """Sees the spill files of a run while they exist, from outside, and keeps the first megabyte of some of them for the leak scan."""

    KEPT, BYTES = 6, 1 << 20

    def __init__(self, folder, keep, name):
        super().__init__(daemon=True)
        self.folder, self.keep, self.label = folder, keep, name
        self.files, self.over, self.links = 0, threading.Event(), {}

    def run(self):
        seen = set()
        while not self.over.wait(0.005):
            try:
                paths = list(self.folder.rglob("*"))
            except OSError:                                                             # a folder went while it was looked into
                continue
            for path in paths:
                try:
                    if path in seen or not path.is_file() or not path.stat().st_size:
                        continue
                    seen.add(path)
                    self.files += 1
                    if len(self.links) < self.KEPT:
                        link = self.keep / f"{self.label}-{self.files}.link"        # outlives the file's removal
                        os.link(path, link)
                        self.links[link] = self.keep / f"{self.label}-{self.files}.spill"
                except OSError:
                    continue

    def __enter__(self):
        self.keep.mkdir(parents=True, exist_ok=True)
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        for link, copy in self.links.items():
            with open(link, "rb") as file:
                copy.write_bytes(file.read(self.BYTES))
            link.unlink()


class Perimeter:
    """The binary. Everything that it ever says is kept in LOGS, where the leak scan looks at the end; spills go to WORK/spill."""

    def __init__(self, binary):
        self.binary = pathlib.Path(binary).resolve()
        self.runs = 0

    def __call__(self, *arguments, env=None, log_level="trace", cwd=ROOT):
        """Runs it. Variables that are not part of `env` come from a clean environment."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "PERIMETER_", "RUST_"))}
        spill = WORK / "spill"
        spill.mkdir(parents=True, exist_ok=True)
        clean |= {"TMPDIR": str(spill), "AWS_EC2_METADATA_DISABLED": "true"} | (env or {})
        command = [str(self.binary), *map(str, arguments)] + (["--log-level", log_level] if log_level else [])
        self.runs += 1
        with SpillWatch(spill, WORK / "spilled", f"{self.runs:03}") as watch:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=clean, cwd=cwd, timeout=1200)
        LOGS.mkdir(parents=True, exist_ok=True)
        (LOGS / f"{self.runs:03}.out").write_bytes(done.stdout)
        (LOGS / f"{self.runs:03}.err").write_bytes(done.stderr)
        return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), watch.files)


def variant(name, folder, *changes, job="card_sequences"):
    """Writes a copy of a demo job into WORK/folder, its outputs there too; `changes` are (old text, new text). Returns the job's path."""
    text = (ROOT / "pipeline" / "jobs" / f"{job}.yaml").read_text()
    place = WORK / folder
    place.mkdir(parents=True, exist_ok=True)
    text = text.replace("../../target/demo/", f"{place}/").replace("../../", f"{ROOT}/")
    for old, new in changes:
        if old not in text:
            raise AssertionError(f"{job}.yaml no longer holds {old!r}")
        text = text.replace(old, new)
    path = place / f"{name}.yaml"
    path.write_text(text)
    return path


def latest(sink):
    """The folder of the newest sealed version below a sink."""
    return sink / (sink / "latest").read_text().strip()


def manifest(version):
    """A version's manifest."""
    return json.loads((version / "manifest.json").read_text())


def digests(version):
    """{relative path: sha256} of a version's shards and of the files beside them that may not depend on the run."""
    files = [p for p in version.rglob("*") if p.is_file() and ("-of-" in p.name or p.name in ("shapes.json", "statistics.json", "dataset_info.json", "features.json"))]
    return {str(p.relative_to(version)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def interop(suite, name, version):
    """tests/interop/check_output.py over a version; its lines are counted as they are."""
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "interop" / "check_output.py"), str(version)], capture_output=True, text=True,
                          env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}, timeout=900)
    lines = [line for line in done.stdout.splitlines() if re.match(r"(ok|FAILED): ", line)]
    for line in lines:
        verdict, _, text = line.partition(": ")
        suite.check(f"{name}: {text.split(': ', 1)[0] if verdict == 'FAILED' else text}", [text] if verdict == "FAILED" else [])
    if not lines or (done.returncode and not any(line.startswith("FAILED") for line in lines)):
        suite.check(f"{name}: interop", [f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"])


def fresh():
    """An empty WORK."""
    shutil.rmtree(WORK, ignore_errors=True)
    LOGS.mkdir(parents=True)
