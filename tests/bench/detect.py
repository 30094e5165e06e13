#!/usr/bin/env python3
"""Recall, precision and speed of the detectors against Presidio's pattern recognizers, on labelled texts and columns of
`../shared/corpora/financial` beside the repository.

    python3 tests/bench/detect.py [--errors TYPE] [--no-presidio]

Needs the PyPI package presidio-analyzer (2.2.366 was measured) without any spaCy model, and a Rust toolchain. Both sides get the
same texts, one by one, in one thread, and for cells of a column its name as context. A label counts as found when a finding of its type
shares at least half of the characters that the two cover together; a finding counts as right in the same way.
Presidio gets two rows: all it returns by default, and what it scores 0.4 or more. CPF and CNPJ recognizers of its kind are added (it has
none): the pattern, the check digits, the context word. Names and addresses it leaves to language models, so there is no pattern to
compare with."""
import argparse, collections, csv, glob, json, logging, os, subprocess, sys, tempfile, time, warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CORPORA = os.path.join(REPOSITORY, "..", "shared", "corpora", "financial")
TYPES = ["BR_CPF", "BR_CNPJ", "PAN", "IBAN", "ABA", "BIC", "US_SSN", "EMAIL", "PHONE", "IP", "URL", "DATE", "BR_CEP", "ADDRESS", "PERSON_NAME"]
OURS = {"DATE_TIME": "DATE", "DATE_OF_BIRTH": "DATE"}
THEIRS = {"CREDIT_CARD": "PAN", "IBAN_CODE": "IBAN", "EMAIL_ADDRESS": "EMAIL", "PHONE_NUMBER": "PHONE", "IP_ADDRESS": "IP", "DATE_TIME": "DATE", "ABA_ROUTING_NUMBER": "ABA"}
LABELS = {"name": "PERSON_NAME", "PERSON": "PERSON_NAME", "iban": "IBAN", "IBAN_CODE": "IBAN", "card_number": "PAN", "CREDIT_CARD": "PAN", "phone": "PHONE",
          "PHONE_NUMBER": "PHONE", "email": "EMAIL", "EMAIL_ADDRESS": "EMAIL", "STREET_ADDRESS": "ADDRESS", "ADDRESS": "ADDRESS", "DOMAIN_NAME": "URL",
          "US_SSN": "US_SSN", "IP_ADDRESS": "IP", "DATE_TIME": "DATE"}


def documents():
    """(text, column or None, [(type, start, end)])"""
    for path in sorted(glob.glob(CORPORA + "/faker_synthetic/notes_*.jsonl")):
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            yield row["text"], None, [(LABELS[t], a, b) for t, a, b in row["spans_codepoints"]]
    for path in ["data/synth_dataset_v2.json", "tests/data/generated_small.json"]:
        for row in json.load(open(f"{CORPORA}/presidio_research/{path}", encoding="utf-8")):
            spans = [(LABELS[s["entity_type"]], s["start_position"], s["end_position"]) for s in row["spans"] if s["entity_type"] in LABELS]
            yield row["full_text"], None, spans
    columns = {"name": "PERSON_NAME", "email": "EMAIL", "phone": "PHONE", "street": "ADDRESS", "birth_date": "DATE", "iban": "IBAN", "card_number": "PAN",
               "cpf": "BR_CPF", "cnpj": "BR_CNPJ", "bic": "BIC", "aba_routing": "ABA", "ip": "IP", "city": None, "job": None, "company": None, "card_provider": None}
    for path in sorted(glob.glob(CORPORA + "/faker_synthetic/customers_*.csv")):
        for row in csv.DictReader(open(path, encoding="utf-8")):
            kinds = dict(columns, ssn_or_national_id="BR_CPF" if row["locale"] == "pt_BR" else "US_SSN", postcode="BR_CEP" if row["locale"] == "pt_BR" else None)
            yield from cells(row, kinds)
    for row in csv.DictReader(open(CORPORA + "/presidio_samples/docs/samples/fabric/data/fabric_sample_data.csv", encoding="utf-8")):
        yield from cells(row, {"name": "PERSON_NAME", "email": "EMAIL", "street": "ADDRESS", "city": None, "state": None, "non_pii": None})


def cells(row, kinds):
    for column, kind in kinds.items():
        cell = row[column]
        if cell:
            yield cell, column, [(kind, 0, len(cell))] if kind else []


def ours(docs, directory):
    path = os.path.join(directory, "texts.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for text, column, _ in docs:
            file.write(json.dumps({"text": text, "column": column} if column else {"text": text}) + "\n")
    command = ["cargo", "run", "-q", "--release", "--locked", "-p", "perimeter-detect", "--example", "scan", "--", path]
    ran = subprocess.run(command + ["1"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    found = [[] for _ in docs]
    for line in ran.stdout.splitlines():
        row, start, end, kind, _ = line.split("\t")
        found[int(row)].append((OURS.get(kind, kind), int(start), int(end)))
    texts = [n for n, doc in enumerate(docs) if doc[1] is None]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": docs[n][0]}) + "\n" for n in texts)
    speeds = [subprocess.run(command + ["20"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stderr.split()[-3] for _ in range(3)]
    return found, sorted(map(float, speeds))[1]


def presidio(docs):
    import spacy
    from presidio_analyzer import AnalyzerEngine, Pattern, PatternRecognizer, RecognizerRegistry
    from presidio_analyzer import predefined_recognizers as predefined
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        def __init__(self):
            super().__init__(models=[{"lang_code": "en", "model_name": "blank"}])
            self.nlp = {"en": spacy.blank("en")}

        def load(self):
            self.nlp = {"en": spacy.blank("en")}

    def modulo(digits, weights):
        rest = sum(d * w for d, w in zip(digits, weights)) % 11
        return 0 if rest < 2 else 11 - rest

    class Cpf(PatternRecognizer):
        def __init__(self):
            super().__init__(supported_entity="BR_CPF", patterns=[Pattern("cpf", r"\b\d{3}\.?\d{3}\.?\d{3}-?\d{2}\b", 0.3)], context=["cpf"])

        def validate_result(self, text):
            d = [int(c) for c in text if c.isdigit()]
            return len(set(d)) > 1 and d[9] == modulo(d, range(10, 1, -1)) and d[10] == modulo(d, range(11, 1, -1))

    class Cnpj(PatternRecognizer):
        def __init__(self):
            super().__init__(supported_entity="BR_CNPJ", patterns=[Pattern("cnpj", r"\b[\dA-Z]{2}\.?[\dA-Z]{3}\.?[\dA-Z]{3}/?[\dA-Z]{4}-?\d{2}\b", 0.3)], context=["cnpj"])

        def validate_result(self, text):
            d = [ord(c) - 48 for c in text if c.isalnum()]
            w = [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]
            return len(set(d)) > 1 and d[12] == modulo(d, w) and d[13] == modulo(d, [6] + w)

    registry = RecognizerRegistry()
    for recognizer in (Cpf(), Cnpj(), predefined.CreditCardRecognizer(), predefined.EmailRecognizer(), predefined.PhoneRecognizer(supported_regions=("BR", "US", "GB", "DE", "ES", "FR", "IL", "IN", "CA")),
                       predefined.IbanRecognizer(), predefined.IpRecognizer(), predefined.UrlRecognizer(), predefined.DateRecognizer(), predefined.UsSsnRecognizer(), predefined.AbaRoutingRecognizer()):
        registry.add_recognizer(recognizer)
    engine = AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    engine.analyze("warm up", "en")
    found, seconds, texts = [], 0.0, 0
    for text, column, _ in docs:
        start = time.perf_counter()
        results = engine.analyze(text, "en", context=column.split("_") if column else None)
        if column is None:
            seconds += time.perf_counter() - start
            texts += 1
        found.append([(THEIRS.get(r.entity_type, r.entity_type), r.start, r.end, r.score) for r in results])
    return found, texts / seconds


def same(a, b):
    shared = min(a[2], b[2]) - max(a[1], b[1])
    return a[0] == b[0] and 2 * shared >= max(a[2], b[2]) - min(a[1], b[1])


def count(docs, found):
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (_, _, labels), findings in zip(docs, found):
        for label in labels:
            counts[label[0]][0] += any(same(label, finding) for finding in findings)
            counts[label[0]][1] += 1
        for finding in findings:
            counts[finding[0]][2] += any(same(label, finding) for label in labels)
            counts[finding[0]][3] += 1
    return counts


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--errors", metavar="TYPE", help="list what we miss and what we report wrongly of one type")
    arguments.add_argument("--no-presidio", action="store_true")
    arguments = arguments.parse_args()
    if not os.path.isdir(CORPORA):
        sys.exit("skipped: no corpora beside the repository")
    docs = list(documents())
    with tempfile.TemporaryDirectory() as directory:
        mine, my_speed = ours(docs, directory)
    if arguments.errors:
        for (text, column, labels), findings in zip(docs, mine):
            for label in labels:
                if label[0] == arguments.errors and not any(same(label, f) for f in findings):
                    print(f"missed {text[label[1]:label[2]]!r} in [{column}] {text[max(0, label[1] - 40):label[2] + 20]!r} got {[(f[0], text[f[1]:f[2]]) for f in findings if f[1] < label[2] and f[2] > label[1]]}")
            for f in findings:
                if f[0] == arguments.errors and not any(same(label, f) for label in labels):
                    print(f"wrong {text[f[1]:f[2]]!r} in [{column}] {text[max(0, f[1] - 40):f[2] + 20]!r} labelled {[(l[0], text[l[1]:l[2]]) for l in labels if l[1] < f[2] and l[2] > f[1]]}")
        return
    columns = [count(docs, mine)]
    if not arguments.no_presidio:
        theirs, their_speed = presidio(docs)
        columns += [count(docs, [[f[:3] for f in fs if f[3] >= least] for fs in theirs]) for least in (0.0, 0.4)]
    share = lambda right, all: f"{right / all:.4f}" if all else "-"
    print("| type | labels | recall | precision |" + (" recall, Presidio | precision | recall, 0.4 | precision |" if len(columns) > 1 else ""))
    print("|---|---|---|---|" + ("---|---|---|---|" if len(columns) > 1 else ""))
    for kind in TYPES:
        figures = [f"{share(c[kind][0], c[kind][1])} | {share(c[kind][2], c[kind][3])}" for c in columns]
        if len(columns) > 1 and not columns[1][kind][3]:
            figures[1:] = ["- | -"] * 2
        print(f"| {kind} | {columns[0][kind][1]} | {' | '.join(figures)} |")
    texts = sum(doc[1] is None for doc in docs)
    print(f"\n{texts} texts of {sum(len(doc[0].encode()) for doc in docs if doc[1] is None) // texts} bytes and {len(docs) - texts} cells; texts a second: {my_speed:,.0f}", end="")
    print("" if arguments.no_presidio else f", Presidio {their_speed:,.0f}: {my_speed / their_speed:,.0f} times")


if __name__ == "__main__":
    main()
