"""Every raw identifier of the demo is looked for in everything that the tests before made: outputs, tables, JSON, logs at trace level, spill folder."""
import subprocess
import sys

from harness import DEMO, LOGS, RAW, ROOT, WORK


def scan(*paths):
    """Runs tests/interop/leaks.py; returns (exit code, its lines)."""
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "interop" / "leaks.py"), *map(str, RAW), "--", *map(str, paths)], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()


def detector_works(suite, perimeter):
    """The scan finds every kind where it is: a scan that finds nothing anywhere would pass everything."""
    code, lines = scan(DEMO)
    kinds = ["account_id", "birth_date", "cpf", "email", "holder_name", "memo", "pan", "phone", "tx_id", "zip"]
    missing = [k for k in kinds for f in (["accounts.csv"] if k == "birth_date" else ["card_transactions.csv", "card_transactions.parquet"])
               if not any(f in line and f"holds {k} " in line for line in lines)]
    suite.check("the leak scan finds every kind of identifier in the raw files", missing if code == 1 else [f"exit code {code}"] + lines[-1:])


def nothing_leaked(suite, perimeter):
    """Everything under target/demo and the tests' own folder. Inputs are raw; the corpora's outputs hold other people's dates, which may be the same days."""
    places = [p for p in (ROOT / "target" / "demo", *sorted(WORK.iterdir())) if p.exists() and p.name not in ("inputs", "corpora")]
    code, lines = scan(*places)
    suite.check("no raw identifier in shards, tables, JSON files, quarantine, logs at trace level, messages, spill folder", [] if code == 0 else lines, lines[0] if lines else "")
    if not any(LOGS.iterdir()):
        suite.check("there are logs to look at", ["none"])
