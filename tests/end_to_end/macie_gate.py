"""Amazon Macie's findings in `classify` and in the gate of `run`, against tests/support/macie.py and moto's S3: clean, not clean, resolved and not. Nothing is scanned by
the stand-in: a script says what Macie finds."""
import datetime
import json
import shutil
import sys

from classify import PLACE, by_column, data, files, published, says_nothing_raw
from harness import ROOT, WORK, latest, manifest

sys.path.insert(0, str(ROOT / "tests" / "support"))

NOTE = "{property: semanticType, value: BR_CPF}"
EXPORT = {"bucketName": "macie-results", "keyPrefix": "", "kmsKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}


def ago(days):
    """A time of Macie's, so many days before now."""
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def column(number, name, count, kind="BRAZIL_CPF_NUMBER"):
    """A detection of so many cells of one column."""
    return {"category": "PERSONAL_INFORMATION", "type": kind, "count": count, "occurrences": {"cells": {"repeat": count, "column": number, "columnName": name}}}


class Account:
    """A script for three objects, each looked at whole."""

    def __init__(self, s3):
        keys = [o["Key"] for o in s3.list_objects_v2(Bucket="raw")["Contents"]]
        self.objects = {key: {"bucket": "raw", "key": key, "etag": s3.head_object(Bucket="raw", Key=key)["ETag"].strip('"'), "data": [column(3, "payer", 400)]} for key in keys}

    def script(self, started=0.0, statuses=("COMPLETE",), **changes):
        """The service's state; `changes` by object: `part_1={"status": "SKIPPED"}`."""
        results = [short | changes.get(key.rsplit("/", 1)[-1].removesuffix(".csv").replace("-", "_"), {}) for key, short in self.objects.items()]
        return {"export": EXPORT, "statuses": list(statuses), "job": {"createdAt": ago(started), "lastRunTime": ago(started)},
                "results": results, "findings": [short for short in results if short.get("data") or short.get("custom")]}


def gate(suite, perimeter):
    """From making a job to a dataset, and every way in which Macie keeps one from being made."""
    from macie import Macie
    from moto import Moto
    shutil.rmtree(PLACE, ignore_errors=True)
    people = data(PLACE / "in")
    with Moto(log=WORK / "moto.txt") as aws:
        s3 = aws.client("s3")
        for bucket in ("raw", "macie-results"):
            s3.create_bucket(Bucket=bucket)
        for path in sorted((PLACE / "in").iterdir()):
            s3.put_object(Bucket="raw", Key=f"in/{path.name}", Body=path.read_bytes())
        account = Account(s3)
        environment = {k: v for k, v in aws.environment().items() if k.startswith("AWS_") or k == "NO_PROXY"}

        def asked(script, *arguments):
            """Runs a command against a fresh service; `ID` among the arguments becomes a job that was made just before."""
            with Macie(script, s3=aws.endpoint) as macie:
                env = environment | {"AWS_ENDPOINT_URL_MACIE2": macie.endpoint}
                if "ID" in arguments:
                    made = perimeter("classify", job, "--macie", "--json", env=env)
                    jobs = (json.loads(made.out or "{}").get("macie") or {}).get("jobs") or [{"id": "none"}]
                    arguments = [jobs[0]["id"] if argument == "ID" else argument for argument in arguments]
                return perimeter(*arguments, env=env), macie.requests

        def refused(name, script, code, *parts):
            done, _ = asked(script, "run", job, "--macie-job", "ID")
            suite.check(f"{name}: `run` is refused", [] if done.code == 1 and code in done.err and all(part in done.err for part in parts) else [done.last])
            suite.check(f"{name}: nothing was published", published(PLACE))

        macie_gate = ", macie: {maxAge: 30d}"
        job = files(note=NOTE, gates=macie_gate, uri="s3://raw/in/*.csv")
        done, requests = asked(account.script(), "classify", job, "--macie", "--json")
        report = json.loads(done.out or "{}")
        suite.check("`classify --macie` makes a job, waits and is clean", [] if done.code == 0 and report["macie"]["notClean"] == [] else [done.last])
        suite.equal("one job was made", [operation for operation, _ in requests].count("CreateClassificationJob"), 1)
        found = [(f["type"], f["source"], f["agreement"], f.get("count")) for f in by_column(report)["payer"]["findings"]]
        suite.equal("both finders stand beside the contract", found, [("BR_CPF", "local", "agrees", None), ("BR_CPF", "macie", "agrees", 1200)])
        says_nothing_raw(suite, "`classify --macie`", done, people)
        done, _ = asked(account.script(), "classify", job, "--macie-job", "ID")
        suite.check("`classify --macie-job` takes the findings of an earlier job", [] if done.code == 0 and "macie: clean" in done.out else [done.last])

        done, requests = asked(account.script(), "run", job)
        suite.check("a policy that wants Macie, and a run without a job: exit code 2, and the fix", [] if done.code == 2 and "--macie-job" in done.err and not requests else [done.last])
        done, _ = asked(account.script(), "run", job, "--macie-job", "ID")
        suite.check("`run --macie-job` runs", [] if done.code == 0 else [done.last])
        kept = manifest(latest(PLACE / "out/sink"))
        suite.equal("the manifest names the gate and the job", (kept["gates"]["macie"]["verdict"], len(kept["findings"]["macie"]["jobs"])), ("pass", 1))
        shutil.rmtree(PLACE / "out")

        refused("a type that neither contract nor detectors know of", account.script(part_1={"data": [column(3, "payer", 400), column(2, "amount", 3, "BRAZIL_RG_NUMBER")]}), "findings-unresolved",
                "tx.amount: BR_RG, 3 times (macie)", "semanticType, value: BR_RG")
        skipped = account.script(part_2={"status": "SKIPPED", "reason": "INVALID_ENCRYPTION", "data": []})
        refused("an object that Macie skipped", skipped, "macie-not-clean", "skipped", "INVALID_ENCRYPTION")
        refused("a job at the monthly quota", account.script(statuses=["PAUSED"]), "macie-not-clean", "paused")
        refused("an old job", account.script(started=31), "macie-not-clean", "too-old")
        unmatched = account.script(part_0={"data": [column(9, "another", 1)]})
        refused("a finding in no column", unmatched, "macie-not-clean", "unmatched")

        job = files(note=NOTE, gates=", macie: {maxAge: 30d, onSkipped: localScan}", uri="s3://raw/in/*.csv")
        refused("`localScan`, and a finding in no column", unmatched, "macie-not-clean", "unmatched")
        for name, script in (("skipped", skipped), ("paused", account.script(statuses=["PAUSED"])), ("too-old", account.script(started=31))):
            done, _ = asked(script, "run", job, "--macie-job", "ID")
            suite.check(f"`localScan` stands in for {name}", [] if done.code == 0 else [done.last])
            kept = manifest(latest(PLACE / "out/sink"))
            reasons = kept["findings"]["macie"]["notClean"]
            suite.check(f"and the manifest says so ({name})", [] if any(r["why"] == name and r["scannedLocally"] for r in reasons) else [reasons])
        done, _ = asked({"session": "absent"}, "run", job, "--macie-job", "0" * 32)
        suite.check("an account without Macie: exit code 4", [] if done.code == 4 and "macie-not-enabled" in done.err else [done.last])
        done, _ = asked(account.script(), "run", job, "--macie-job", "0" * 32)
        suite.check("a job that is not there: exit code 2", [] if done.code == 2 and "macie-job-not-found" in done.err else [done.last])
