"""The financial corpora under strict contracts: what `check` finds in data that nobody here wrote, and that it is the same however it is read.

A job and a contract for each data set stand under tests/corpora/financial. `expected.json` there says how many rows each check reads and rejects, rule by
rule; FOUND.md says what they are. Beside those numbers, each check is held against the rows that Python's own readers see, and, for flat csv, against
`Model`, which runs the contract's rules about single cells over csv.reader's rows and shares no code with the product.
"""
import bz2
import collections
import csv
import datetime
import io
import json
import re
import shutil

from harness import CORPORA, LOGS, ROOT, WORK, Skip, digests, latest

FINANCIAL = CORPORA / "financial"
JOBS = ROOT / "tests" / "corpora" / "financial"
PLACE = WORK / "corpora" / "financial"

# Ways to run that must not change a number or a byte.
ENVIRONMENTS = [
    ("1 thread", ["--threads", "1"], {}),
    ("2 threads, batches of 64 rows", ["--threads", "2"], {"PERIMETER_BATCH_ROWS": "64"}),
    ("7 threads, batches of 777 rows", ["--threads", "7"], {"PERIMETER_BATCH_ROWS": "777"}),
    ("TZ Asia/Kathmandu", [], {"TZ": "Asia/Kathmandu"}),
    ("a Turkish locale", [], {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}),
    ("the locale C", [], {"LANG": "C", "LC_ALL": "C", "TZ": "America/Sao_Paulo"}),
]


def corpora():
    """The folder of the data, or a skip."""
    if not FINANCIAL.exists():
        raise Skip("../shared/corpora is not there")
    return CORPORA.resolve()


def parameters(out, extra=None):
    """The command line's part of a job's parameters."""
    given = {"corpora": corpora(), "out": out} | (extra or {})
    return [part for name, value in given.items() for part in ("--param", f"{name}={value}")]


def expected():
    """The written expectations: {check: {job, parameters, read, rejected, rules, inputs}}."""
    return json.loads((JOBS / "expected.json").read_text())


def checked(perimeter, name, options=(), env=None):
    """Runs one check; returns (done, report)."""
    entry = expected()[name]
    done = perimeter("check", JOBS / f"{entry['job']}.job.yaml", *parameters(PLACE / "out", entry.get("parameters")), "--json", *options, env=env)
    return done, (json.loads(done.out) if done.code == 0 else {})


def summary(report):
    """The numbers of a report that expected.json writes down."""
    found = {"read": report["rows"]["read"], "rejected": report["rows"]["rejected"], "rules": {rule["rule"]: rule["rows"] for rule in report["rules"]}}
    return found | ({"withAddedFields": report["rows"]["withAddedFields"]} if report["rows"]["withAddedFields"] else {})


def contract(path):
    """(dataset's properties, parsed) of a contract file."""
    import yaml
    return yaml.safe_load(path.read_text())["schema"][0]


def text(path):
    """A file's text, unpacked, without its byte order mark, line ends as they are."""
    raw = path.read_bytes()
    return (bz2.decompress(raw) if path.suffix == ".bz2" else raw).decode("utf-8-sig")


def csv_rows(path, options):
    """All records of a csv file as csv.reader sees them, with its header or None. An empty line is no record for csv.reader, and one of one empty cell for us."""
    quoting = csv.QUOTE_NONE if options.get("quote") == "none" else csv.QUOTE_MINIMAL
    rows = list(csv.reader(io.StringIO(text(path), newline=""), delimiter=options.get("delimiter", ","), quoting=quoting))
    return (None, rows) if options.get("header") is False else (rows[0], rows[1:])


def rows_of(source):
    """The number of records of a source's file by a reader of Python's own."""
    path = FINANCIAL / source["uri"]
    if source["format"] == "csv":
        return len([row for row in csv_rows(path, source["options"])[1] if row])
    if source["options"].get("layout") == "array":
        return len(json.loads(text(path)))
    return sum(1 for line in text(path).split("\n") if line.strip())


def sources_of(entry):
    """The sources of a check's job: {name: {uri below FINANCIAL, format, options, schema}}."""
    import yaml
    path = JOBS / f"{entry['job']}.job.yaml"
    job = yaml.safe_load(path.read_text())
    found = {}
    for name, source in job["sources"].items():
        uri = source["uri"].replace("${corpora}/financial/", "").replace("${file}", entry.get("parameters", {}).get("file", ""))
        found[name] = {"uri": uri, "format": source["format"], "options": source.get("options", {}), "schema": path.parent / source["schema"]}
    return found


def luhn(value):
    """ISO/IEC 7812-1, annex B."""
    if not re.fullmatch("[0-9]+", value):
        return False
    digits = [int(c) for c in reversed(value)]
    return (sum(digits[::2]) + sum(sum(divmod(2 * d, 10)) for d in digits[1::2])) % 10 == 0


def iban(value):
    """ISO 13616: 97 leaves 1."""
    return int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1


def taxpayer(weights):
    """CPF and CNPJ: two digits modulo 11, each over what stands before it."""
    def check(value):
        digits = [int(c) for c in value if c.isdigit()]
        for at, these in zip((-2, -1), (weights[1:], weights)):
            rest = sum(d * w for d, w in zip(digits[: len(these)], these)) % 11
            if digits[at] != (0 if rest < 2 else 11 - rest):
                return False
        return len(digits) == len(weights) + 1
    return check


CHECK_DIGITS = {"luhn": luhn, "iban": iban, "cpf": taxpayer([11, 10, 9, 8, 7, 6, 5, 4, 3, 2]), "cnpj": taxpayer([6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])}
DATES = {"yyMMdd": "%y%m%d", "yyyy-MM-dd": "%Y-%m-%d", "yyyyMMdd": "%Y%m%d", "M/d/yyyy": "%m/%d/%Y", "M/d/yy": "%m/%d/%y", "yyMMdd HH:mm:ss": "%y%m%d %H:%M:%S", "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%M:%S"}


class Model:
    """The contract's rules about single cells, naively: {rule: rows that break it}."""

    NAMES = {"minimum": "minimum", "maximum": "maximum", "exclusiveMinimum": "exclusive-minimum", "exclusiveMaximum": "exclusive-maximum", "multipleOf": "multiple-of", "pattern": "pattern",
             "minLength": "min-length", "maxLength": "max-length"}

    def __init__(self, source, dataset, prefix=""):
        self.source, self.name, self.prefix = dataset, source, prefix
        self.rules = [(p, {q["metric"]: q for q in p.get("quality", []) if "metric" in q}, next((q["implementation"]["checkDigit"] for q in p.get("quality", []) if "implementation" in q), None))
                      for p in dataset["properties"]]

    def number(self, column, cell):
        """The cell as an exact number of the column's type, or None."""
        from decimal import Decimal
        if self.prefix:
            cell = re.sub(rf"^(-?){re.escape(self.prefix)}(-?)", r"\1\2", cell)
        if column["logicalType"] == "integer":
            return Decimal(cell) if re.fullmatch(r"[-+]?[0-9]+", cell) else None
        if column.get("physicalType") == "double":
            return Decimal(cell) if re.fullmatch(r"[-+]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]+)?", cell) else None
        precision, scale = map(int, re.findall(r"[0-9]+", column["physicalType"]))
        whole = re.fullmatch(r"[-+]?0*([0-9]*)(?:\.([0-9]+))?", cell)
        if not whole or not re.search(r"[0-9]", cell) or len(whole[1]) > precision - scale or len(whole[2] or "") > scale:
            return None
        return Decimal(cell)

    def broken(self, column, metrics, digit, cell):
        """Codes of the rules that one cell breaks."""
        from decimal import Decimal
        if cell == "":
            return ["required"] if column.get("required") else []
        options, kind = column.get("logicalTypeOptions", {}), column["logicalType"]
        found = []
        if kind in ("integer", "number"):
            value = self.number(column, cell)
            if value is None:
                return ["type"]
            bound = {k: Decimal(str(v)) for k, v in options.items()}
            found += ["minimum"] * ("minimum" in bound and value < bound["minimum"]) + ["maximum"] * ("maximum" in bound and value > bound["maximum"])
            found += ["exclusive-minimum"] * ("exclusiveMinimum" in bound and value <= bound["exclusiveMinimum"]) + ["exclusive-maximum"] * ("exclusiveMaximum" in bound and value >= bound["exclusiveMaximum"])
            found += ["multiple-of"] * ("multipleOf" in bound and value % bound["multipleOf"] != 0)
        elif kind in ("date", "timestamp"):
            try:
                datetime.datetime.strptime(cell, DATES[options["format"]])
            except ValueError:
                return ["type"]
        elif kind == "string":
            found += ["pattern"] * ("pattern" in options and not re.fullmatch(options["pattern"], cell))
            found += ["min-length"] * (len(cell) < options.get("minLength", 0)) + ["max-length"] * (len(cell) > options.get("maxLength", 1 << 30))
            found += ["check-digit"] * (digit is not None and not CHECK_DIGITS[digit](cell))
        valid = metrics.get("invalidValues", {}).get("arguments", {}).get("validValues")
        return found + ["valid-values"] * (valid is not None and cell not in map(str, valid))

    def count(self, header, rows, rules=()):
        """{rule: rows} over a file's rows. `unique` looks at the rows that break no rule of their own."""
        names = header or [p["name"] for p, _, _ in self.rules]
        columns = [names.index(p["name"]) for p, _, _ in self.rules]
        found, sound = collections.Counter(), []
        for row in rows:
            if not row:
                continue
            if len(row) != len(self.rules):
                found[f"{self.name}.ragged"] += 1
                continue
            codes = [f"{self.name}.{column['name']}.{code}" for at, (column, metrics, digit) in zip(columns, self.rules) for code in self.broken(column, metrics, digit, row[at])]
            untyped = {code.split(".", 1)[1].removesuffix(".type") for code in codes if code.endswith(".type")}
            codes += [rule for rule, holds in (rules or {}).items() if not kept(holds, dict(zip(names, row)), untyped)]
            sound += [row] * (not codes)
            found.update(codes)
        for at, (column, _, _) in zip(columns, self.rules):
            if column.get("unique"):
                times = collections.Counter(row[at] for row in sound if row[at] != "")
                found[f"{self.name}.{column['name']}.unique"] += sum(n for n in times.values() if n > 1)
        return {rule: rows for rule, rows in found.items() if rows}


def kept(holds, row, untyped):
    """Whether a row keeps a rule about whole rows: also when a cell that the rule reads is no value of its type, or null where the rule wants a number."""
    if untyped & {*holds.__code__.co_consts, *(holds.__defaults__ or ())}:                # the names of columns among them
        return True
    try:
        return holds(row)
    except ValueError:
        return True


# The contracts' rules about whole rows, in Python: {check: {rule: whether a row keeps it}}. A rule that is not about the row, because a cell is absent, is kept.
ROWS = {
    "ibm_tabformer/transactions": {"tx.online-is-online": lambda r: (r["Use Chip"] == "Online Transaction") == (r["Merchant City"] == "ONLINE"),
                                   "tx.a-place-has-a-state": lambda r: r["Merchant City"] == "ONLINE" or r["Merchant State"] != ""},
    "lending_club/loans": {"loans.the-grade-is-the-letter-of-the-sub-grade": lambda r: r["sub_grade"][0] == r["grade"], "loans.fico-range": lambda r: int(r["fico_range_high"]) == int(r["fico_range_low"]) + 4,
                           "loans.open-accounts-are-accounts": lambda r: int(r["open_acc"]) <= int(r["total_acc"]), "loans.principal-is-not-above-the-loan": lambda r: float(r["total_rec_prncp"]) <= int(r["loan_amnt"]),
                           "loans.bankruptcies-are-public-records": lambda r: int(r["pub_rec_bankruptcies"]) <= int(r["pub_rec"]),
                           "loans.two-years-delinquent": lambda r: r["delinq_2yrs"] == "0" or r["mths_since_last_delinq"] == "" or float(r["mths_since_last_delinq"]) <= 24},
    "credit_risk_misc/hmeq": {"loans.a-mortgage-is-not-above-twice-the-value": lambda r: "" in (r["MORTDUE"], r["VALUE"]) or float(r["MORTDUE"]) <= 2 * float(r["VALUE"])},
    "credit_risk_misc/loan_data": {"applicants.only-owners-have-a-house-value": lambda r: r["RES"] == "O" or float(r["dHVAL"]) <= 1},
    "pypi_datasets/saving": {"saving.income-is-saved-or-spent": lambda r: int(r["inc"]) == int(r["sav"]) + int(r["cons"]), "saving.nobody-spends-less-than-nothing": lambda r: int(r["cons"]) >= 0},
    "pypi_datasets/loanapp": {"loanapp.approved-or-rejected": lambda r: int(r["approve"]) + int(r["reject"]) == 1},
    "uci_default_credit_card/credit_card": {f"clients.pay-{m}-is-no-zero": lambda r, column=f"PAY_{m}": int(r[column]) != 0 for m in (0, 2, 3, 4, 5, 6)},
} | {f"hmda_lar/{name}": {"lar.s301-every-line-has-the-lei-of-its-loan": lambda r: len(r["uli"]) <= 22 or r["uli"][:20] == r["lei"], "lar.v612-a-purchased-loan-has-no-application-date": lambda r: (r["action_taken"] == "6") == (r["application_date"] == "NA"),
                          "lar.v625-the-tract-lies-in-the-county": lambda r: "NA" in (r["census_tract"], r["county"]) or r["census_tract"][:5] == r["county"]}
     for name in ("bad_file_3_rows_bank0", "clean_file_3_rows_bank0", "clean_file_1k_rows_Bank0_syntax_validity", "clean_file_1k_rows_Bank1_syntax_validity", "ms-census-quality", "ms-check-census-validity", "parser_file_10_rows_bank0",
                  "pipe_file_10_rows_bank0", "trigger_Q600", "trigger_s304_s305", "clean_file_100_rows_Bank0_syntax_validity", "clean_file_100_rows_Bank1_syntax_validity", "clean_file_10_rows_Bank0_syntax_validity",
                  "clean_file_10_rows_Bank1_syntax_validity")}

REFERENCES = re.compile(r"\.(references|primary-key)$")                                       # what the model does not know


def contracts(suite, perimeter):
    """Every data set: rows and rejections are those written down, those of Python's readers and those of the model."""
    corpora()
    shutil.rmtree(PLACE, ignore_errors=True)
    jobs = {str(p.relative_to(JOBS)).removesuffix(".job.yaml") for p in JOBS.rglob("*.job.yaml")}
    suite.equal("financial: every job is checked, and every folder of the corpus has one",
                (jobs - {e["job"] for e in expected().values()}, {p.name for p in FINANCIAL.iterdir() if p.is_dir()} - {j.split("/")[0] for j in jobs}), (set(), set()))
    for name, entry in sorted(expected().items()):
        if "csv" in entry.get("parameters", {}):
            continue                                                                    # a file that the test writes: see `cfpb_formats`
        done, report = checked(perimeter, name)
        if not suite.check(f"{name}: check ends well", [] if done.code == 0 else [done.last]):
            continue
        found = summary(report)
        suite.equal(f"{name}: read, rejected, and rows by rule", found, {k: entry[k] for k in ("read", "rejected", "rules", "withAddedFields") if k in entry})
        sources = sources_of(entry)
        suite.equal(f"{name}: rows read of each source are those of Python's readers", {s["name"]: s["rows"] for s in report["sources"]}, {source: rows_of(what) for source, what in sources.items()})
        if all(source["format"] == "csv" for source in sources.values()):
            wanted = {}
            for source, what in sources.items():
                header, rows = csv_rows(FINANCIAL / what["uri"], what["options"])
                wanted |= Model(source, contract(what["schema"]), what["options"].get("decimalPrefix", "")).count(header, rows, ROWS.get(name))
            for rule, rows in entry.get("quotedEmpty", {}).items():                     # `""` is the empty text; csv.reader cannot tell it from nothing at all
                wanted[f"{rule}.required"] -= rows
                wanted[f"{rule}.min-length"] = wanted.get(f"{rule}.min-length", 0) + rows
            suite.equal(f"{name}: the naive model rejects the same", {r: n for r, n in found["rules"].items() if not REFERENCES.search(r)}, {r: n for r, n in wanted.items() if n})


def table(out):
    """The rows of the newest table, sorted."""
    import pyarrow.dataset as ds
    version = latest(out / "sink").name
    files = [str(p) for p in sorted((out / "table").rglob("*.parquet")) if version in str(p)]
    rows = ds.dataset(files).to_table()
    return sorted(map(json.dumps, (dict(sorted((k, str(v) if v is not None else None) for k, v in row.items())) for row in rows.to_pylist())))


def ran(suite, perimeter, what, job, out, extra=None, options=(), env=None):
    """Runs a job; ({shard: digest}, rows of the table, manifest's counts), or None."""
    done = perimeter("run", job, *parameters(out, extra), *options, env=env)
    if not suite.check(f"{what}: runs", [] if done.code == 0 else [done.last]):
        return None
    version = latest(out / "sink")
    made = json.loads((version / "manifest.json").read_text())
    return digests(version), table(out), (made["rows"], made["rejections"])


def cfpb_csv(path):
    """The ten complaints of from_s3.json as csv, by Python's writer: what is null, absent or "" in json is an empty cell."""
    records = json.loads(text(FINANCIAL / "cfpb_complaints/complaints/ccdb/tests/__fixtures__/from_s3.json"))
    names = [p["name"] for p in contract(JOBS / "cfpb_complaints/complaints.odcs.yaml")["properties"]]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([[record.get(name) or "" for name in names] for record in records])
    return {"csv": path}


def cfpb_formats(suite, perimeter):
    """The CFPB records from csv, json and ndjson: the same rows, rejections, table and bytes of shards."""
    corpora()
    written = cfpb_csv(PLACE / "cfpb.csv")
    for what, jobs, read, rejected in [("complaints", {"complaints_json": None, "complaints_ndjson": None, "complaints_csv": written}, 10, 2), ("utf-8", {"utf8_csv": None, "utf8_json": None, "utf8_ndjson": None}, 3, 0),
                                       ("v1, two headers", {"v1_public": None, "v1_intake": None}, 30, 0), ("v2, two headers", {"v2_public": None, "v2_intake": None}, 30, 1)]:
        out = PLACE / "formats" / what.split(",")[0]
        shutil.rmtree(out, ignore_errors=True)
        first, base = None, None
        for job, extra in jobs.items():
            found = ran(suite, perimeter, f"cfpb {what}: {job}", JOBS / "cfpb_complaints" / f"{job}.job.yaml", out, extra)
            if not found:
                continue
            shards, rows, (counts, rejections) = found
            extra_rows = 1 if job == "utf8_csv" else 0                                    # the csv has a row more, which the query drops
            suite.equal(f"cfpb {what}: {job}: rows read, rejected, and in the table", (counts["read"] - extra_rows, counts["rejected"], len(rows)), (read, rejected, read - rejected))
            entry = expected()[f"cfpb_complaints/{job}"]
            suite.equal(f"cfpb {what}: {job}: the manifest says what check counts", (rejections, counts.get("withAddedFields", 0)), (entry["rules"], entry.get("withAddedFields", 0)))
            if first is None:
                first, base = (shards, rows, rejections), job
            else:
                suite.check(f"cfpb {what}: {job} and {base}: the same bytes of every shard", sorted(k for k in shards.keys() | first[0].keys() if shards.get(k) != first[0].get(k)), f"{len(shards)} files")
                suite.check(f"cfpb {what}: {job} and {base}: the same table", [] if rows == first[1] else [f"{len(set(rows) ^ set(first[1]))} rows differ"])
                suite.equal(f"cfpb {what}: {job} and {base}: as many rejections", sorted(rejections.values()), sorted(first[2].values()))


def determinism(suite, perimeter):
    """Reports, sealed records and shards do not depend on threads, batches, time zone or locale."""
    corpora()
    names = ["berka_pkdd99/berka", "bancos_brasileiros/json", "lending_club/loans", "pypi_datasets/loanapp", "presidio_research/companies", "cfpb_complaints/indexed", "uci_german/german"]
    names += [name for name in expected() if name.startswith("hmda_lar") and "error" in name][:2]
    for name in names:
        first = None
        for what, options, env in ENVIRONMENTS:
            done, report = checked(perimeter, name, options, env)
            if first is None:
                first = report
                suite.check(f"{name}: {what}", [] if done.code == 0 else [done.last])
            else:
                suite.check(f"{name}: the same report with {what}", [] if done.code == 0 and report == first else [done.last if done.code else "another report"])
    entry, out = expected()["lending_club/loans"], PLACE / "sealed"
    job = JOBS / f"{entry['job']}.job.yaml"
    shutil.rmtree(out, ignore_errors=True)
    first, sealed = None, None
    for what, options, env in ENVIRONMENTS:
        shutil.rmtree(out / "quarantine", ignore_errors=True)
        found = ran(suite, perimeter, f"lending club, {what}", job, out, options=options, env=env)
        if not found:
            continue
        shown = []
        for file in sorted((out / "quarantine").rglob("*.sealed")):
            shown += perimeter("quarantine", "show", job, file, *parameters(out)).out.splitlines()
        if first is None:
            first, sealed = found, sorted(shown)
            suite.equal("lending club: what is rejected lies in quarantine", len(shown), entry["rejected"])
        else:
            suite.check(f"lending club: the same shards, table and counts with {what}", [] if found == first else ["they differ"], f"{len(found[0])} files")
            suite.check(f"lending club: the same records in quarantine with {what}", [] if sorted(shown) == sealed else ["they differ"])


def split(path, folder, parts):
    """A csv or JSON lines file cut into several between records, csv each with the header; every second one compressed."""
    lines = text(path).splitlines(keepends=True)
    head, lines = ([lines[0]], lines[1:]) if path.suffix == ".csv" else ([], lines)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    size = -(-len(lines) // parts)
    for part in range(parts):
        data = "".join(head + lines[part * size: (part + 1) * size]).encode()
        name = f"part-{part}{path.suffix}"
        (folder / (name + ".bz2" * (part % 2))).write_bytes(bz2.compress(data) if part % 2 else data)
    return folder


def splitting(suite, perimeter):
    """One file, or the same records in several, or many times over in one that is read in pieces: the same totals, and the same shards."""
    corpora()

    def variant(name, uri, *changes):
        job = JOBS / f"{name}.job.yaml"
        words = job.read_text().replace("../policy.yaml", str(JOBS / "policy.yaml"))
        words = re.sub(r'uri: "\$\{corpora\}[^"]*"', f'uri: "{uri}"', words)
        words = re.sub(r"schema: (\w+\.odcs\.yaml)", lambda m: f"schema: {job.parent / m[1]}", words)
        for old, new in changes:
            if old not in words:
                raise AssertionError(f"{name} no longer holds {old!r}")
            words = words.replace(old, new)
        path = PLACE / "split" / f"{name.replace('/', '-')}.job.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words)
        return path

    out = PLACE / "split" / "out"
    whole = ran(suite, perimeter, "lending club, one file", JOBS / "lending_club/loans.job.yaml", out)
    pieces = split(FINANCIAL / "lending_club/lending_club_loans.csv", PLACE / "split/loans", 7)
    apart = ran(suite, perimeter, "lending club, seven files, three of them compressed", variant("lending_club/loans", f"{pieces}/*"), out)
    suite.check("lending club: one file and seven give the same shards, table and counts", [] if whole and whole == apart else ["they differ"])
    entry = expected()["faker_synthetic/notes_pt_BR"]
    pieces = split(FINANCIAL / "faker_synthetic/notes_pt_BR.jsonl", PLACE / "split/notes", 5)
    done = perimeter("check", variant("faker_synthetic/notes_pt_BR", f"{pieces}/*"), *parameters(out), "--json")
    suite.equal("notes: one file and five give the same counts", summary(json.loads(done.out)) if done.code == 0 else done.last, {k: entry[k] for k in ("read", "rejected", "rules", "withAddedFields")})
    # 70 MB in one file: read in units, whose borders fall anywhere in quoted texts with commas.
    source = FINANCIAL / "pypi_datasets/germancredit.csv"
    header, _, body = text(source).partition("\n")
    copies, big = 260, PLACE / "split/germancredit.csv"
    big.write_text(header + "\n" + body * copies)
    rows = csv_rows(source, {})[1]
    old = sum(int(row[12]) > 60 for row in rows)
    strict = PLACE / "split/germancredit.odcs.yaml"
    strict.write_text((JOBS / "pypi_datasets/germancredit.odcs.yaml").read_text().replace("maximum: 120", "maximum: 60"))
    job = variant("pypi_datasets/germancredit", big, (str(JOBS / "pypi_datasets/germancredit.odcs.yaml"), str(strict)))
    reports = []
    for options in ([], ["--threads", "1"]):
        done = perimeter("check", job, *parameters(out), "--json", *options, log_level=None)
        reports.append(json.loads(done.out) if done.code == 0 else done.last)
    base = expected()["pypi_datasets/germancredit"]["rules"]
    wanted = {"read": len(rows) * copies, "rules": {rule: rows * copies for rule, rows in base.items()} | {"loans.age_in_years.maximum": old * copies}}
    found = {k: summary(reports[0])[k] for k in wanted} if isinstance(reports[0], dict) else reports[0]
    suite.equal("german credit 260 times over in one file: every count is 260 times what one has", found, wanted)
    suite.check("german credit 260 times over: one thread says the same", [] if reports[0] == reports[1] else ["another report"])
    big.unlink()


def says_nothing_raw(suite, perimeter):
    """No identifier of the corpora's people stands in what the checks before said, at log level trace."""
    corpora()
    columns = {"faker_synthetic/customers_*.csv": ["email", "iban", "card_number", "cpf", "ssn_or_national_id", "note"],
               "presidio_research/presidio_evaluator/data_generator/raw_data/FakeNameGenerator.com_3000.csv": ["EmailAddress", "StreetAddress", "Password"], "presidio_samples/docs/samples/fabric/data/*.csv": ["email", "user_query"]}
    values = set()
    for pattern, names in columns.items():
        for path in FINANCIAL.glob(pattern):
            header, rows = csv_rows(path, {})
            values |= {row[header.index(name)] for row in rows for name in names if len(row[header.index(name)]) >= 9}
    said = b"\n".join(path.read_bytes() for path in sorted(LOGS.iterdir())).decode("utf-8", "replace")
    suite.check("financial: there are values to look for and logs to look in", [] if len(values) > 10000 and "FakeNameGenerator.com_3000.csv" in said else [f"{len(values)} values, {len(said)} characters"])
    words = {word.strip("\"',;:()[]{}") for word in said.split()}
    suite.check("financial: no e-mail, account, card or person's number, and no note, in any message or log", [f"{len(v)} characters" for v in values if (v in words if " " not in v else v in said)])
