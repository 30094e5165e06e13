#!/usr/bin/env python3
"""A stand-in for Amazon Macie: the calls that `perimeter` makes, over HTTP, after a script. Standard library only.

As a program:   macie.py SCRIPT.json [--results FOLDER | --s3 ENDPOINT]
                prints its address on stdout and ends when its stdin is closed
As a library:   with Macie(script, results=FOLDER) as macie:  macie.endpoint, macie.requests
As a check:     macie.py --check          holds macie/shapes.json against botocore's copy of the published API model, where botocore is installed

Nothing is scanned here: the script says what is found. What the stand-in does check is the caller: every request is held against the shapes of the published
model (unknown members, missing ones, wrong types, unknown enum values are refused with HTTP 400), the documented limits, and the signature's service name.
moto has no classification jobs and no findings; this file says nothing about how well the real service finds.

The script is one JSON object, everything in it optional:
  account, region      of the caller
  session              ENABLED | PAUSED | absent (Macie was never enabled)
  statuses             what DescribeClassificationJob says, one a call; the last one stays
  job                  members of the job's description that override what the request said
  jobs                 earlier jobs by id, as descriptions
  export               s3Destination, when detailed results are kept
  findings, results    what ListFindings/GetFindings and the results objects hold, in short form (see `expand`)
  batches              results objects a job writes; 1 by default
  identifiers          managed data identifiers of the region
  page                 most findings a page
  gone                 keys of objects whose findings are listed and cannot be read
  errors               [{operation, code, status, message, after, times}]: after so many calls of an operation that many fail
"""
import argparse
import base64
import gzip
import hashlib
import http.server
import json
import pathlib
import re
import sys
import threading
import urllib.parse
import urllib.request
import uuid

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = json.loads((HERE / "macie" / "shapes.json").read_text())
IDENTIFIERS = json.loads((HERE / "macie" / "identifiers.json").read_text())
JOB_MEMBERS = set(SHAPES["structures"]["DescribeClassificationJobResponse"]["members"])


class Refused(Exception):
    """An error answer of the service."""

    def __init__(self, status, code, message="the request was refused"):
        super().__init__(message)
        self.status, self.code = status, code


def invalid(message):
    """HTTP 400."""
    return Refused(400, "ValidationException", message)


def validate(value, shape, where):
    """Holds a JSON value against a shape: `string`, `integer`, `boolean`, `number`, `timestamp`, `[X]`, `{X}` (a map), an enum or a structure."""
    if value is None:
        return
    if shape.startswith("["):
        if not isinstance(value, list):
            raise invalid(f"{where} is not a list")
        for index, item in enumerate(value):
            validate(item, shape[1:-1], f"{where}[{index}]")
    elif shape.startswith("{"):
        if not isinstance(value, dict):
            raise invalid(f"{where} is not a map")
        for name, item in value.items():
            validate(item, shape[1:-1], f"{where}.{name}")
    elif shape in SHAPES["enums"]:
        if value not in SHAPES["enums"][shape]:
            raise invalid(f"{where} is none of {SHAPES['enums'][shape]}")
    elif shape in SHAPES["structures"]:
        structure = SHAPES["structures"][shape]
        if not isinstance(value, dict):
            raise invalid(f"{where} is not an object")
        for name in value:
            if name not in structure["members"]:
                raise invalid(f"{where} has no member {name}")
        for name in structure.get("required", []):
            if value.get(name) is None:
                raise invalid(f"{where} lacks {name}")
        for name, item in value.items():
            validate(item, structure["members"][name], f"{where}.{name}")
    elif shape == "timestamp":
        if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
            raise invalid(f"{where} is no timestamp")
    else:
        kind = {"string": str, "integer": int, "boolean": bool, "number": (int, float)}[shape]
        if not isinstance(value, kind) or isinstance(value, bool) != (shape == "boolean"):
            raise invalid(f"{where} is no {shape}")


def occurrences(short):
    """`{"cells": {"repeat": 1000, "column": 3}}` stands for a thousand cells, rows counted from 2 (the line after the header)."""
    full = {}
    for kind, places in (short or {}).items():
        if isinstance(places, dict):
            place = {name: value for name, value in places.items() if name != "repeat"}
            counter = {"cells": ("row", 2), "records": ("recordIndex", 0), "lineRanges": ("start", 2), "pages": ("pageNumber", 1)}[kind]
            places = [{**place, counter[0]: counter[1] + index} for index in range(places["repeat"])]
        full[kind] = places
    return full


def expand(short, state, job_id):
    """A finding or result in the service's shape. The short form: bucket, key, etag, modified, status, reason, mime, additional, archived, embedded,
    data: [{category, type, count, occurrences}], custom: [{name, arn, count, occurrences}], and `raw`: members of the whole that replace what is made here."""
    groups = {}
    for item in short.get("data", []):
        group = groups.setdefault(item.get("category", "PERSONAL_INFORMATION"), {"category": item.get("category", "PERSONAL_INFORMATION"), "detections": [], "totalCount": 0})
        detection = {"type": item["type"], "count": item.get("count", 1)}
        if "occurrences" in item:
            detection["occurrences"] = occurrences(item["occurrences"])
        group["detections"].append(detection)
        group["totalCount"] += detection["count"]
    custom = [{"name": item["name"], "arn": item.get("arn", "0e8eb8a1-1a3a-49ad-992f-0ab825642859"), "count": item.get("count", 1), **({"occurrences": occurrences(item["occurrences"])} if "occurrences" in item else {})}
              for item in short.get("custom", [])]
    status = {"code": short.get("status", "COMPLETE")}
    if "reason" in short:
        status["reason"] = short["reason"]
    result = {"status": status, "mimeType": short.get("mime", "text/csv"), "sizeClassified": short.get("size", 1000), "additionalOccurrences": short.get("additional", False),
              "sensitiveData": list(groups.values()), "customDataIdentifiers": {"detections": custom, "totalCount": sum(item["count"] for item in custom)}}
    bucket, key = short["bucket"], short["key"]
    where = state.destination
    folder = f"{state.results_prefix(job_id)}/{state.account}/"
    location = f"s3://{where['bucketName']}/{folder}" if where else f"s3://[export-config-not-set]/AWSLogs/{state.account}/Macie/{state.region}/"
    item = {"bucketArn": f"arn:aws:s3:::{bucket}", "key": key, "path": f"{bucket}/{key}", "extension": key.rpartition(".")[2], "size": 1000, "storageClass": "STANDARD",
            "publicAccess": False, "tags": []}
    if short.get("etag") is not None:
        item["eTag"] = short["etag"]
    if short.get("modified") is not None:
        item["lastModified"] = short["modified"]
    if "embedded" in short:
        item["embeddedFileDetails"] = {"filePath": short["embedded"], "fileExtension": short["embedded"].rpartition(".")[2]}
    kind = "Financial" if set(groups) == {"FINANCIAL_INFORMATION"} else "Personal" if len(groups) == 1 else "Multiple"
    whole = {
        "schemaVersion": "1.0", "id": hashlib.md5(json.dumps([short, job_id], sort_keys=True).encode()).hexdigest(), "accountId": state.account, "partition": "aws", "region": state.region,
        "type": f"SensitiveData:S3Object/{kind}", "title": "The S3 object contains sensitive data.", "description": "The S3 object contains more than one category of sensitive data.",
        "severity": {"score": 3, "description": "High"}, "createdAt": short.get("created", "2026-11-30T10:05:00Z"), "updatedAt": short.get("created", "2026-11-30T10:05:00Z"), "count": 1,
        "category": "CLASSIFICATION", "archived": short.get("archived", False), "sample": False,
        "classificationDetails": {"detailedResultsLocation": location, "jobArn": state.job_arn(job_id), "jobId": job_id, "originType": "SENSITIVE_DATA_DISCOVERY_JOB", "result": result},
        "resourcesAffected": {"s3Bucket": {"arn": f"arn:aws:s3:::{bucket}", "name": bucket, "owner": {"displayName": "owner", "id": "0a1b"}, "tags": []}, "s3Object": item},
    }
    return whole | short.get("raw", {})


class State:
    """What the service remembers."""

    def __init__(self, script, results=None, s3=None):
        self.script, self.results, self.s3 = script, results, s3
        self.account, self.region = script.get("account", "111122223333"), script.get("region", "us-east-1")
        self.destination = script.get("export")
        self.errors = [dict(error) for error in script.get("errors", [])]
        self.jobs, self.tokens, self.described, self.requests, self.custom = {}, {}, {}, [], {}
        for job_id, job in script.get("jobs", {}).items():
            self.jobs[job_id] = {"jobId": job_id, "jobArn": self.job_arn(job_id), "jobType": "ONE_TIME", "jobStatus": "COMPLETE", "name": "earlier",
                                 "createdAt": "2026-11-29T09:00:00Z", "lastRunTime": "2026-11-29T09:01:00Z", "samplingPercentage": 100} | job
            self.write_results(job_id)

    def job_arn(self, job_id):
        return f"arn:aws:macie2:{self.region}:{self.account}:classification-job/{job_id}"

    def results_prefix(self, job_id):
        prefix = (self.destination or {}).get("keyPrefix", "").strip("/")
        return (prefix + "/" if prefix else "") + f"AWSLogs/{self.account}/Macie/{self.region}/{job_id}"

    def of_job(self, kind, job_id):
        """Findings or results of a job: those without `job` belong to every job of their bucket (all of them, for earlier jobs)."""
        buckets = self.jobs[job_id].get("buckets")
        return [short for short in self.script.get(kind, []) if short.get("job", job_id) == job_id and (buckets is None or short["bucket"] in buckets)]

    def write_results(self, job_id):
        """The results objects: JSON lines, gzipped, below the job's id; where asked for, in several objects."""
        if not self.destination:
            return
        lines = [json.dumps(expand(short, self, job_id)) for short in self.of_job("results", job_id)]
        batches = max(1, self.script.get("batches", 1))
        for batch in range(batches):
            body = gzip.compress("".join(line + "\n" for line in lines[batch::batches]).encode())
            key = f"{self.results_prefix(job_id)}/{self.account}/{uuid.uuid4()}.jsonl.gz"
            if self.results:
                path = pathlib.Path(self.results) / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
            if self.s3:
                request = urllib.request.Request(f"{self.s3}/{self.destination['bucketName']}/{urllib.parse.quote(key)}", body, {"Content-Type": "application/gzip"}, method="PUT")
                urllib.request.urlopen(request, timeout=30).read()


def page(items, token, size):
    """One page and the token of the next."""
    start = 0
    if token is not None:
        try:
            start = int(base64.b64decode(token, validate=True).decode().removeprefix("page:"))
        except (ValueError, UnicodeDecodeError):
            raise invalid("nextToken is not one of ours") from None
    after = start + size
    return items[start:after], base64.b64encode(f"page:{after}".encode()).decode() if after < len(items) else None


def create_job(state, body, _):
    if body["jobType"] == "ONE_TIME" and (body.get("scheduleFrequency") is not None or body.get("initialRun") is not None):
        raise invalid("a one-time job has no schedule and no initial run")
    selector, ids = body.get("managedDataIdentifierSelector", "RECOMMENDED"), body.get("managedDataIdentifierIds") or []
    if bool(ids) != (selector in ("INCLUDE", "EXCLUDE")):
        raise invalid(f"{selector} and {len(ids)} managed data identifiers")
    unknown = sorted(set(ids) - set(state.script.get("identifiers", IDENTIFIERS)))
    if unknown or len(set(ids)) != len(ids):
        raise invalid(f"managed data identifiers {unknown}")
    if not 1 <= body.get("samplingPercentage", 100) <= 100 or len(body["name"]) > 500 or len(body.get("description") or "") > 200 or not body["clientToken"]:
        raise invalid("a value is out of its bounds")
    tags = body.get("tags") or {}
    if len(tags) > 50 or any(not 1 <= len(name) <= 128 or len(value) > 256 for name, value in tags.items()):
        raise invalid("tags are out of their bounds")
    definition = body["s3JobDefinition"]
    if bool(definition.get("bucketDefinitions")) == bool(definition.get("bucketCriteria")):
        raise invalid("one of bucketDefinitions and bucketCriteria")
    for side in ("includes", "excludes"):
        for term in ((definition.get("scoping") or {}).get(side) or {}).get("and") or []:
            simple = term.get("simpleScopeTerm") or {}
            if simple.get("key") == "OBJECT_KEY" and (simple.get("comparator") != "STARTS_WITH" or not simple.get("values") or not all(simple["values"])):
                raise invalid("OBJECT_KEY takes STARTS_WITH and prefixes")
    token = body["clientToken"]
    if token in state.tokens:
        job_id, before = state.tokens[token]
        if before != body:
            raise Refused(409, "ConflictException", "the client token was used with another request")
        return {"jobId": job_id, "jobArn": state.job_arn(job_id)}
    job_id = hashlib.md5(token.encode()).hexdigest()
    state.tokens[token] = (job_id, body)
    job = {name: value for name, value in body.items() if name in JOB_MEMBERS}
    state.jobs[job_id] = job | {"jobId": job_id, "jobArn": state.job_arn(job_id), "createdAt": "2026-11-30T10:00:00Z", "lastRunTime": "2026-11-30T10:00:01Z",
                                "lastRunErrorStatus": {"code": "NONE"}, "statistics": {"approximateNumberOfObjectsToProcess": 2.0, "numberOfRuns": 1.0},
                                "buckets": [name for bucket in definition.get("bucketDefinitions") or [] for name in bucket["buckets"]]} | state.script.get("job", {})
    return {"jobId": job_id, "jobArn": state.job_arn(job_id)}


def describe_job(state, _, path):
    job_id = path["jobId"]
    if job_id not in state.jobs:
        raise Refused(404, "ResourceNotFoundException", "no such job")
    job = state.jobs[job_id]
    if "jobStatus" not in job:
        statuses = state.script.get("statuses", ["COMPLETE"])
        call = state.described.setdefault(job_id, 0)
        state.described[job_id] += 1
        status = statuses[min(call, len(statuses) - 1)]
        if status not in ("RUNNING",) and call + 1 >= len(statuses):
            job["jobStatus"] = status
            state.write_results(job_id)
    else:
        status = job["jobStatus"]
    answer = {name: value for name, value in job.items() if name in JOB_MEMBERS} | {"jobStatus": status}
    if status == "USER_PAUSED":
        answer["userPausedDetails"] = {"jobPausedAt": "2026-11-30T10:01:00Z", "jobExpiresAt": "2026-12-30T10:01:00Z"}
    return answer


def list_jobs(state, body, _):
    jobs = [{name: job[name] for name in ("jobId", "name", "jobType", "jobStatus", "createdAt") if name in job} | {"jobStatus": job.get("jobStatus", "RUNNING")} for job in state.jobs.values()]
    for side, keep in (("includes", True), ("excludes", False)):
        for term in (body.get("filterCriteria") or {}).get(side) or []:
            if term.get("comparator") not in ("EQ", "CONTAINS", "STARTS_WITH"):
                raise invalid("the stand-in knows EQ, CONTAINS and STARTS_WITH")
            test = {"EQ": str.__eq__, "CONTAINS": str.__contains__, "STARTS_WITH": str.startswith}[term["comparator"]]
            jobs = [job for job in jobs if any(test(job[term["key"]], value) for value in term["values"]) == keep]
    found, token = page(sorted(jobs, key=lambda job: job["createdAt"]), body.get("nextToken"), limit(body, 200))
    return {"items": found, "nextToken": token}


def limit(body, most):
    """`maxResults` within its bounds."""
    asked = body.get("maxResults", most)
    if not 1 <= asked <= most:
        raise invalid(f"maxResults is not in 1..{most}")
    return asked


def findings_of(state):
    """Every finding of every job that has run, by id."""
    return {finding["id"]: finding for job_id, job in state.jobs.items() if "jobStatus" in job for finding in (expand(short, state, job_id) for short in state.of_job("findings", job_id))}


def list_findings(state, body, _):
    found = list(findings_of(state).values())
    for field, condition in ((body.get("findingCriteria") or {}).get("criterion") or {}).items():
        if set(condition) - {"eq", "neq"}:
            raise invalid("the stand-in knows eq and neq")

        def at(finding, field=field):
            for name in field.split("."):
                finding = finding.get(name) if isinstance(finding, dict) else None
            return json.dumps(finding) if isinstance(finding, bool) else finding
        found = [finding for finding in found if ("eq" not in condition or at(finding) in condition["eq"]) and at(finding) not in condition.get("neq", [])]
    ids, token = page([finding["id"] for finding in found], body.get("nextToken"), min(limit(body, 50), state.script.get("page", 50)))
    return {"findingIds": ids, "nextToken": token}


def get_findings(state, body, _):
    if not 1 <= len(body["findingIds"]) <= 50:
        raise invalid("1 to 50 ids")
    gone = set(state.script.get("gone", []))
    known = {name: finding for name, finding in findings_of(state).items() if finding["resourcesAffected"]["s3Object"]["key"] not in gone}
    return {"findings": [known[name] for name in body["findingIds"] if name in known]}


def export_configuration(state, *_):
    return {"configuration": {"s3Destination": state.destination}} if state.destination else {}


def list_identifiers(state, body, _):
    items, token = page([{"id": name, "category": "PERSONAL_INFORMATION"} for name in state.script.get("identifiers", IDENTIFIERS)], body.get("nextToken"), 100)
    return {"items": items, "nextToken": token}


def session(state, *_):
    kind = state.script.get("session", "ENABLED")
    if kind == "absent":
        raise Refused(403, "AccessDeniedException", "Macie is not enabled.")
    return {"status": kind, "findingPublishingFrequency": "FIFTEEN_MINUTES", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
            "serviceRole": f"arn:aws:iam::{state.account}:role/aws-service-role/macie.amazonaws.com/AWSServiceRoleForAmazonMacie"}


def create_custom(state, body, _):
    if not 1 <= len(body["name"]) <= 128 or len(body["regex"]) > 512:
        raise invalid("name or regex is too long")
    name = str(uuid.uuid5(uuid.NAMESPACE_URL, body.get("clientToken") or body["name"]))
    state.custom[name] = body
    return {"customDataIdentifierId": name}


CALLS = {"CreateClassificationJob": create_job, "DescribeClassificationJob": describe_job, "ListClassificationJobs": list_jobs, "ListFindings": list_findings, "GetFindings": get_findings,
         "GetClassificationExportConfiguration": export_configuration, "ListManagedDataIdentifiers": list_identifiers, "GetMacieSession": session, "CreateCustomDataIdentifier": create_custom}


def route(method, path):
    """The operation and its path parameters. Fixed paths win over `/jobs/{jobId}`."""
    for name, operation in sorted(SHAPES["operations"].items(), key=lambda item: "{" in item[1]["path"]):
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", operation["path"])
        found = re.fullmatch(pattern, path)
        if operation["method"] == method and found:
            return name, {key: urllib.parse.unquote(value) for key, value in found.groupdict().items()}
    raise Refused(404, "UnknownOperationException", "no such operation")


def answer(state, method, path, headers, raw):
    """Status, headers and JSON of one answer."""
    operation = None
    try:
        operation, parameters = route(method, urllib.parse.urlsplit(path).path)
        body = json.loads(raw) if raw else {}
        state.requests.append([operation, body | parameters])
        if "/macie2/aws4_request" not in headers.get("Authorization", ""):
            raise Refused(403, "MissingAuthenticationTokenException", "not signed for macie2")
        for error in state.errors:
            if error["operation"] == operation and error.setdefault("times", 1 << 30) > 0:
                if error.get("after", 0) > 0:
                    error["after"] -= 1
                    continue
                error["times"] -= 1
                raise Refused(error.get("status", 400), error["code"], error.get("message", "scripted"))
        shape = SHAPES["operations"][operation]
        validate(body | parameters, shape["input"], operation)
        if operation != "GetMacieSession" and state.script.get("session") == "absent":
            raise Refused(403, "AccessDeniedException", "Macie is not enabled.")
        found = {name: value for name, value in CALLS[operation](state, body, parameters).items() if value is not None}
        validate(found, shape["output"], f"our own answer to {operation}")
        return 200, {}, found
    except Refused as refused:
        return refused.status, {"x-amzn-ErrorType": refused.code}, {"message": str(refused)}
    except (ValueError, KeyError, TypeError) as error:
        return 500, {"x-amzn-ErrorType": "StandInBroken"}, {"message": f"{operation}: {error!r}"}


class Macie:
    """One server, from `with` to its end. `GET /stand-in/requests` gives the calls so far, `POST /stand-in/script` begins anew with {script, results, s3}."""

    def __init__(self, script, results=None, s3=None):
        self.state = State(script, results, s3)
        lock = threading.Lock()                                  # around every request

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(handler):
                raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
                with lock:
                    if handler.path == "/stand-in/requests":
                        status, headers, found = 200, {}, self.state.requests
                    elif handler.path == "/stand-in/script":
                        self.state = State(**json.loads(raw))
                        status, headers, found = 200, {}, {}
                    else:
                        status, headers, found = answer(self.state, handler.command, handler.path, handler.headers, raw)
                content = json.dumps(found).encode()
                handler.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(content)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = serve

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def requests(self):
        """Every call so far: operation and members."""
        return list(self.state.requests)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def check_model():
    """Lines that say where shapes.json and the published model differ."""
    try:
        import botocore.loaders
    except ImportError:
        print("skipped: botocore is not installed")
        return []
    model = botocore.loaders.Loader().load_service_model("macie2", "service-2")
    wrong, seen = [], set()

    def name_of(shape):
        kind = model["shapes"][shape]
        if "enum" in kind:
            return shape
        return {"structure": shape, "list": f"[{name_of(kind['member']['shape'])}]" if kind["type"] == "list" else "", "map": f"{{{name_of(kind['value']['shape'])}}}" if kind["type"] == "map" else "",
                "string": "string", "integer": "integer", "long": "integer", "double": "number", "boolean": "boolean", "timestamp": "timestamp"}[kind["type"]]

    def compare(shape):
        if shape in seen:
            return
        seen.add(shape)
        kind = model["shapes"][shape]
        if "enum" in kind:
            if SHAPES["enums"].get(shape) != kind["enum"]:
                wrong.append(f"enum {shape}")
        elif kind["type"] == "structure":
            ours = SHAPES["structures"].get(shape, {})
            if sorted(ours.get("required", [])) != sorted(kind.get("required", [])):
                wrong.append(f"required of {shape}")
            theirs = {member.get("locationName", name): name_of(member["shape"]) for name, member in kind["members"].items()}
            if ours.get("members") != theirs:
                wrong.append(f"members of {shape}")
            for member in kind["members"].values():
                compare(member["shape"])
        elif kind["type"] in ("list", "map"):
            compare(kind["member" if kind["type"] == "list" else "value"]["shape"])

    for name, operation in SHAPES["operations"].items():
        theirs = model["operations"][name]
        if (operation["method"], operation["path"]) != (theirs["http"]["method"], theirs["http"]["requestUri"]):
            wrong.append(f"path of {name}")
        compare(theirs["input"]["shape"])
        compare(theirs["output"]["shape"])
    return wrong


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="A stand-in for Amazon Macie")
    parser.add_argument("script", nargs="?")
    parser.add_argument("--results", help="folder that results objects are written to, as if it were the bucket")
    parser.add_argument("--s3", help="endpoint of an S3 that results objects are put to")
    parser.add_argument("--check", action="store_true", help="compare macie/shapes.json with botocore's model")
    options = parser.parse_args()
    if options.check:
        wrong = check_model()
        for line in wrong:
            print(f"FAILED: {line}")
        return 1 if wrong else 0
    script = json.loads(pathlib.Path(options.script).read_text()) if options.script else {}
    with Macie(script, options.results, options.s3) as macie:
        print(macie.endpoint, flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
