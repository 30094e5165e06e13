#!/usr/bin/env python3
"""Recall, precision and speed of the detectors against Presidio's pattern recognizers, on material that neither side wrote:
`../shared/corpora/{detectors,financial/presidio_*,financial/faker_synthetic}` beside the repository.

    python3 -m venv target/presidio && target/presidio/bin/pip install presidio-analyzer pyarrow
    target/presidio/bin/python tests/bench/detect.py [--errors TYPE [--material KIND]] [--no-presidio] [--no-speed]

Prints the table of docs/detect.md. Ends with exit code 1 if somewhere Presidio finds more, or is right more often, than each of our two settings. Needs a Rust toolchain; no spaCy model: names
and addresses Presidio leaves to language models, so there is no pattern to compare with.

Both sides get the same texts, one by one, in one thread, with the column's name as context where there is one. Three kinds of material:
`texts`   notes and cells of columns, every place labelled; a label is found, and a finding right, when one of the other kind of the same type
          shares at least half of the characters that the two cover together
`values`  rows of `detectors/` without a variant: one value of a type, valid or not; a finding counts when it takes the whole value
`cases`   the cases of Presidio's own tests that say where; of both, only the row's type counts, as in `texts`
Each side is shown twice. Ours: as it is by default (from POSSIBLE; a finding that says its own check digit is wrong does not count), and everything
(from VERY_UNLIKELY). Presidio: what scores 0.4 or more with overlaps resolved by score, as its anonymizer does, and everything. CPF and CNPJ
recognizers are added to it (it has none): the pattern, the check digits, the context word."""
import argparse, collections, csv, glob, json, logging, os, subprocess, sys, tempfile, time, warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.path.join(REPOSITORY, "..", "shared")
FINANCIAL = os.path.join(SHARED, "corpora", "financial")
DETECTORS = os.path.join(SHARED, "corpora", "detectors")
OURS = {"DATE_TIME": "DATE", "DATE_OF_BIRTH": "DATE"}
THEIRS = {"CREDIT_CARD": "PAN", "IBAN_CODE": "IBAN", "EMAIL_ADDRESS": "EMAIL", "PHONE_NUMBER": "PHONE", "IP_ADDRESS": "IP", "DATE_TIME": "DATE", "ABA_ROUTING_NUMBER": "ABA",
          "MAC_ADDRESS": "MAC", "IT_FISCAL_CODE": "IT_CODICE_FISCALE", "FI_PERSONAL_IDENTITY_CODE": "FI_HETU", "ES_NIE": "ES_NIF", "ZA_ID_NUMBER": "ZA_ID", "TH_TNIN": "TH_PIN",
          "TR_NATIONAL_ID": "TR_KIMLIK"}
LABELS = {"name": "PERSON_NAME", "PERSON": "PERSON_NAME", "iban": "IBAN", "IBAN_CODE": "IBAN", "card_number": "PAN", "CREDIT_CARD": "PAN", "phone": "PHONE",
          "PHONE_NUMBER": "PHONE", "email": "EMAIL", "EMAIL_ADDRESS": "EMAIL", "STREET_ADDRESS": "ADDRESS", "ADDRESS": "ADDRESS", "DOMAIN_NAME": "URL",
          "US_SSN": "US_SSN", "IP_ADDRESS": "IP", "DATE_TIME": "DATE"}
# Type of a row of detectors/: what it is here, and the name of the column that it could stand in.
VALUES = {"aba_routing": ("ABA", "routing_number"), "bic": ("BIC", "bic"), "cnpj": ("BR_CNPJ", "cnpj"), "cpf": ("BR_CPF", "cpf"), "pis_pasep": ("BR_PIS", "pis"), "cep": ("BR_CEP", "cep"),
          "processo_cnj": ("BR_LEGAL_PROCESS", "processo"), "cnh": ("BR_CNH", "cnh"), "cns": ("BR_CNS", "cns"), "renavam": ("BR_RENAVAM", "renavam"),
          "titulo_eleitoral": ("BR_VOTER_ID", "titulo_eleitor"), "card_pan": ("PAN", "card_number"), "email": ("EMAIL", "email"), "iban": ("IBAN", "iban"), "ip": ("IP", "ip"),
          "mac": ("MAC", "mac"), "url": ("URL", "url"), "uuid": ("UUID", "uuid"), "isin": ("ISIN", "isin"), "cusip": ("CUSIP", "cusip"), "sedol": ("SEDOL", "sedol"), "figi": ("FIGI", "figi"),
          "lei": ("LEI", "lei"), "iso11649_rf": ("CREDITOR_REFERENCE", "creditor_reference"), "mobile_phone": ("PHONE", "phone"), "us_ein": ("US_EIN", "ein"), "us_itin": ("US_ITIN", "itin"),
          "us_ssn": ("US_SSN", "ssn"), "date": ("DATE", "date"), "rfc3339": ("DATE", "timestamp")}
VALUES |= {"stdnum:" + name: (kind, column) for name, kind, column in [
    ("ar.cuit", "AR_CUIT", "cuit"), ("ar.cbu", "AR_CBU", "cbu"), ("au.tfn", "AU_TFN", "tfn"), ("be.nn", "BE_NN", "rijksregisternummer"), ("be.iban", "IBAN", "iban"), ("me.iban", "IBAN", "iban"),
    ("no.iban", "IBAN", "iban"), ("ca.sin", "CA_SIN", "sin"), ("ch.ssn", "CH_AHV", "ahv"), ("cl.rut", "CL_RUT", "rut"), ("cn.ric", "CN_RIC", "resident_id"), ("co.nit", "CO_NIT", "nit"),
    ("cz.rc", "CZ_RC", "rodne_cislo"), ("sk.rc", "CZ_RC", "rodne_cislo"), ("de.idnr", "DE_TAX_ID", "steuer_id"), ("dk.cpr", "DK_CPR", "cpr"), ("do.cedula", "DO_CEDULA", "cedula"),
    ("ec.ci", "EC_CI", "cedula"), ("ee.ik", "EE_PERSONAL_CODE", "isikukood"), ("lt.asmens", "EE_PERSONAL_CODE", "asmens_kodas"), ("es.dni", "ES_NIF", "dni"), ("es.nie", "ES_NIF", "nie"),
    ("es.cif", "ES_CIF", "cif"), ("fi.hetu", "FI_HETU", "hetu"), ("fr.nir", "FR_NIR", "nir"), ("fr.siren", "FR_SIREN", "siren"), ("fr.siret", "FR_SIREN", "siret"), ("gb.nhs", "UK_NHS", "nhs"),
    ("hr.oib", "HR_OIB", "oib"), ("il.idnr", "IL_ID", "teudat_zehut"), ("in_.aadhaar", "IN_AADHAAR", "aadhaar"), ("in_.pan", "IN_PAN", "permanent_account"),
    ("it.codicefiscale", "IT_CODICE_FISCALE", "codice_fiscale"), ("kr.rrn", "KR_RRN", "rrn"), ("mx.curp", "MX_CURP", "curp"), ("nl.bsn", "NL_BSN", "bsn"),
    ("no.fodselsnummer", "NO_FODSELSNUMMER", "fodselsnummer"), ("pe.ruc", "PE_RUC", "ruc"), ("pl.pesel", "PL_PESEL", "pesel"), ("pt.nif", "PT_NIF", "nif"), ("ro.cnp", "RO_CNP", "cnp"),
    ("se.personnummer", "SE_PERSONNUMMER", "personnummer"), ("th.pin", "TH_PIN", "thai_id"), ("tr.tckimlik", "TR_KIMLIK", "kimlik"), ("uy.rut", "UY_RUT", "rut"), ("ve.rif", "VE_RIF", "rif"),
    ("za.idnr", "ZA_ID", "south_african_id")]}
# Entity of a case of Presidio's tests: what it is here. Types that are claimed, and no other.
CASES = {"aba_routing": "ABA", "au_tfn": "AU_TFN", "ca_sin": "CA_SIN", "credit_card": "PAN", "date": "DATE", "de_tax_id": "DE_TAX_ID", "email": "EMAIL", "es_nie": "ES_NIF", "es_nif": "ES_NIF",
         "fi_personal_identity_code": "FI_HETU", "iban": "IBAN", "in_aadhaar": "IN_AADHAAR", "in_pan": "IN_PAN", "ip": "IP", "it_fiscal_code": "IT_CODICE_FISCALE", "kr_rrn": "KR_RRN", "mac": "MAC",
         "phone": "PHONE", "pl_pesel": "PL_PESEL", "se_personnummer": "SE_PERSONNUMMER", "th_tnin": "TH_PIN", "tr_national_id": "TR_KIMLIK", "uk_nhs": "UK_NHS", "uk_nino": "UK_NINO", "url": "URL",
         "us_itin": "US_ITIN", "us_ssn": "US_SSN", "uuid": "UUID", "za_id_number": "ZA_ID"}

# What the labels of a corpus leave out: a part of the text, its type, where in that part.
CORRECTED = [("On 29 March 2017, the sudanese", "DATE", 3, 16), ("became Next Step Living in 1965.", "DATE", 27, 31), ("The Dimensions of a Shadow\", in 1950", "DATE", 32, 36)]

# Cases that pipeline/detect/DISAGREEMENTS.md decides otherwise.
LEFT_OUT = {"ip": ["src=:: dst=::1", "Unspecified ::", "::/128", "192.168.1.1.1", "Visit http://[2001:db8::1]/path"], "uk_nhs": ["221 395 1837"], "us_ssn": ["078-051121 07805-1121"],
            "fi_personal_identity_code": ["My finnish id code is030594W903B."], "kr_rrn": ["760413-5212134"], "th_tnin": ["1234567890121", "1520000000004", "1580000000004"],
            "de_tax_id": ["98765432106", "Meine Steuer-ID: 12345678903.", "IdNr. 98765432106 liegt vor."]}

# A text, the column it stands in if any, its labels (type, start, end), the one type that counts if not all do, the material.
Document = collections.namedtuple("Document", "text column labels only material")


def documents():
    yield from texts()
    yield from values()
    yield from cases()


def texts():
    for path in sorted(glob.glob(FINANCIAL + "/faker_synthetic/notes_*.jsonl")):
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            yield Document(row["text"], None, [(LABELS[t], a, b) for t, a, b in row["spans_codepoints"]], None, "texts")
    for path in ["data/synth_dataset_v2.json", "tests/data/generated_small.json"]:
        for row in json.load(open(f"{FINANCIAL}/presidio_research/{path}", encoding="utf-8")):
            spans = [(LABELS[s["entity_type"]], s["start_position"], s["end_position"]) for s in row["spans"] if s["entity_type"] in LABELS]
            spans += [(kind, at + a, at + b) for part, kind, a, b in CORRECTED if (at := row["full_text"].find(part)) >= 0]
            yield Document(row["full_text"], None, spans, None, "texts")
    columns = {"name": "PERSON_NAME", "email": "EMAIL", "phone": "PHONE", "street": "ADDRESS", "birth_date": "DATE", "iban": "IBAN", "card_number": "PAN",
               "cpf": "BR_CPF", "cnpj": "BR_CNPJ", "bic": "BIC", "aba_routing": "ABA", "ip": "IP", "city": None, "job": None, "company": None, "card_provider": None}
    for path in sorted(glob.glob(FINANCIAL + "/faker_synthetic/customers_*.csv")):
        for row in csv.DictReader(open(path, encoding="utf-8")):
            kinds = dict(columns, ssn_or_national_id="BR_CPF" if row["locale"] == "pt_BR" else "US_SSN", postcode="BR_CEP" if row["locale"] == "pt_BR" else None)
            yield from cells(row, kinds)
    samples = FINANCIAL + "/presidio_samples/docs/samples/"
    for name in ["fabric/data/fabric_sample_data.csv", "python/csv_sample_data/test_structured.csv"]:
        for row in csv.DictReader(open(samples + name, encoding="utf-8")):
            yield from cells(row, {"name": "PERSON_NAME", "email": "EMAIL", "street": "ADDRESS", "city": None, "state": None, "non_pii": None})
    persons = {"EmailAddress": "EMAIL", "TelephoneNumber": "PHONE", "Birthday": "DATE", "Domain": "URL", "StreetAddress": "ADDRESS", "City": None, "Occupation": None, "Company": None, "Password": None}
    for row in csv.DictReader(open(FINANCIAL + "/presidio_research/presidio_evaluator/data_generator/raw_data/FakeNameGenerator.com_3000.csv", encoding="utf-8-sig")):
        yield from cells(row, persons)
    more = {"CCNumber": "PAN", "GUID": "UUID", "Latitude": None, "Longitude": None, "Centimeters": None, "Vehicle": None}
    for row in csv.DictReader(open(FINANCIAL + "/presidio_research/tests/data/FakeNameGenerator.com_100.csv", encoding="utf-8-sig")):
        yield from cells(row, more)


def cells(row, kinds):
    for column, kind in kinds.items():
        cell = row[column]
        if cell:
            yield Document(cell, column, [(kind, 0, len(cell))] if kind else [], None, "texts")


def values():
    for path in sorted(glob.glob(DETECTORS + "/*.csv")):
        for row in csv.DictReader(open(path, encoding="utf-8")):
            if row.get("type") in VALUES and row.get("variant") == "" and row["value"]:
                kind, column = VALUES[row["type"]]
                yield Document(row["value"], column, [(kind, 0, len(row["value"]))] if row["expected_valid"] == "true" else [], kind, "values")


def cases():
    rows = list(csv.DictReader(open(DETECTORS + "/presidio_text_cases.csv", encoding="utf-8")))
    expected = collections.defaultdict(set)
    for row in rows:
        expected[row["entity"], row["text"]].add(row["expected_positions"])
    for row in rows:
        # What a setting of the recognizer decides says nothing of the text.
        if len(expected[row["entity"], row["text"]]) > 1 or row["text"] in LEFT_OUT.get(row["entity"], []):
            continue
        places = json.loads(row["expected_positions"] or "[]")
        if row["entity"] in CASES and row["expected_matches"].isdigit() and len(places) == int(row["expected_matches"]):
            kind = CASES[row["entity"]]
            yield Document(row["text"], None, [(kind, a, b) for a, b in places], kind, "cases")


def scan(docs, directory, repeat=1, least="POSSIBLE"):
    """What we find in each text from the least likelihood, and how many texts a second are scanned."""
    path = os.path.join(directory, "texts.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for doc in docs:
            file.write(json.dumps({"text": doc.text, "column": doc.column} if doc.column else {"text": doc.text}) + "\n")
    command = ["cargo", "run", "-q", "--release", "--locked", "-p", "perimeter-detect", "--example", "scan", "--", path, str(repeat), least]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    found = [[] for _ in docs]
    for line in ran.stdout.splitlines():
        row, start, end, kind, _, check = line.split("\t")
        if check != "Failed" or least != "POSSIBLE":
            found[int(row)].append((OURS.get(kind, kind), int(start), int(end)))
    return found, float(ran.stderr.split()[-3])


def presidio(few=False):
    """Presidio's engine over a blank language: with what covers a type that is claimed here, or (`few`) with what workload W is measured with."""
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

    names = ["CreditCard", "Email", "Iban", "Ip", "Url"]
    regions = ("BR", "US")
    if not few:
        names += ["Date", "UsSsn", "UsItin", "AbaRouting", "MacAddress", "Uuid", "AuTfn", "CaSin", "DeTaxId", "EsNie", "EsNif", "FiPersonalIdentityCode", "InAadhaar", "InPan", "ItFiscalCode", "KrRrn",
                  "PlPesel", "SePersonnummer", "ThTnin", "TrNationalId", "Nhs", "UkNino", "ZaIdNumber"]
        regions = ("BR", "US", "GB", "DE", "ES", "FR", "IL", "IN", "CA")
    registry = RecognizerRegistry()
    for recognizer in [Cpf()] + ([] if few else [Cnpj()]) + [predefined.PhoneRecognizer(supported_regions=regions)] + [getattr(predefined, name + "Recognizer")(supported_language="en") for name in names]:
        registry.add_recognizer(recognizer)
    engine = AnalyzerEngine(registry=registry, nlp_engine=Blank(), supported_languages=["en"])
    engine.analyze("warm up", "en")
    return engine


def analyze(docs):
    engine = presidio()
    found = []
    for doc in docs:
        results = engine.analyze(doc.text, "en", context=doc.column.split("_") if doc.column else None)
        found.append([(THEIRS.get(r.entity_type, r.entity_type), r.start, r.end, r.score) for r in results])
    return found


def resolved(found):
    """What scores 0.4, of overlapping findings the best, then the longest."""
    kept = []
    for finding in sorted(found, key=lambda f: (-f[3], f[1] - f[2])):
        if finding[3] >= 0.4 and all(finding[2] <= other[1] or other[2] <= finding[1] for other in kept):
            kept.append(finding)
    return kept


def same(doc, a, b):
    shared = min(a[2], b[2]) - max(a[1], b[1])
    return a[0] == b[0] and 2 * shared >= max(a[2], b[2]) - min(a[1], b[1])


def counted(doc, findings):
    """Findings that count for a document."""
    if doc.only:
        findings = [f for f in findings if f[0] == doc.only]
    if doc.material == "values":
        # White space around a value is not part of it.
        first, last = len(doc.text) - len(doc.text.lstrip()), len(doc.text.rstrip())
        findings = [f for f in findings if f[1] <= first and f[2] >= last]
    return findings


def count(docs, found):
    """By material and type: labels found, labels, findings that are right, findings."""
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for doc, findings in zip(docs, found):
        findings = counted(doc, findings)
        for label in doc.labels:
            tally = counts[doc.material, label[0]]
            tally[0] += any(same(doc, label, finding) for finding in findings)
            tally[1] += 1
        for finding in findings:
            tally = counts[doc.material, finding[0]]
            tally[2] += any(same(doc, label, finding) for label in doc.labels)
            tally[3] += 1
    return counts


def errors(docs, found, kind, material):
    """Prints what was missed or wrong of one type, or of all."""
    for doc, findings in zip(docs, found):
        if material and doc.material != material:
            continue
        findings = counted(doc, findings)
        around = lambda a, b: repr(doc.text[max(0, a - 40):b + 20])
        for label in doc.labels:
            if kind in (label[0], "ALL") and not any(same(doc, label, f) for f in findings):
                print(f"{doc.material} missed {doc.text[label[1]:label[2]]!r} in [{doc.column}] {around(*label[1:])} got {[(f[0], doc.text[f[1]:f[2]]) for f in findings if f[1] < label[2] and f[2] > label[1]]}")
        for f in findings:
            if kind in (f[0], "ALL") and not any(same(doc, label, f) for label in doc.labels):
                print(f"{doc.material} wrong {doc.text[f[1]:f[2]]!r} in [{doc.column}] {around(*f[1:3])} labelled {[(l[0], doc.text[l[1]:l[2]]) for l in doc.labels if l[1] < f[2] and l[2] > f[1]]}")


def table(columns):
    """Prints the table; the rows where one of Presidio's figures is better than both of ours."""
    behind = []
    share = lambda right, total: f"{right / total:.4f}" if total else "-"
    sides = ["", ", everything", ", Presidio", ", Presidio, everything"][:len(columns)]
    print("| material | type | labels |" + "".join(f" recall{side} | precision |" for side in sides) + "\n|---|---|---|" + "---|---|" * len(sides))
    for material in ["texts", "values", "cases"]:
        for key in sorted(key for key in columns[0] if key[0] == material and columns[0][key][1]):
            figures = [c[key] for c in columns]
            shown = figures if key[1] in COVERED else figures[:2]
            print(f"| {material} | {key[1]} | {figures[0][1]} |" + "".join(f" {share(*f[:2])} | {share(*f[2:])} |" for f in shown) + " - | - |" * (len(figures) - len(shown)))
            at_least = lambda a, b: a[0] * b[1] >= b[0] * a[1]
            if not all(any(at_least(our[:2], their[:2]) and (not their[3] or at_least(our[2:], their[2:])) for our in shown[:2]) for their in shown[2:]):
                behind.append(f"{material} {key[1]}")
    return behind


COVERED = set(THEIRS.values()) | {"BR_CPF", "BR_CNPJ", "URL", "US_SSN", "US_ITIN", "UUID", "AU_TFN", "CA_SIN", "DE_TAX_ID", "ES_NIF", "IN_AADHAAR", "IN_PAN", "KR_RRN", "PL_PESEL",
                                  "SE_PERSONNUMMER", "UK_NHS", "UK_NINO"}


def speed(docs, directory):
    """Rows a second of processor time (what else the machine does matters less), both sides, one thread, in one run: the labelled notes, and workload W
    (14 columns, and its memo alone)."""
    rows = 600
    subprocess.run([sys.executable, os.path.join(SHARED, "bench", "gen.py"), str(rows), directory, "--files", "1"], check=True, stdout=subprocess.DEVNULL)
    import pyarrow.parquet
    w = pyarrow.parquet.read_table(os.path.join(directory, "parquet")).to_pydict()
    w = {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in w.items()}
    material = lambda names: [Document(cell, name, [], None, "w") for name in names for cell in w[name]]
    sets = [("labelled notes", [doc for doc in docs if doc.material == "texts" and doc.column is None][::3], 1), ("W, 14 columns", material(w), len(w)), ("W, memo alone", material(["memo"]), 1)]
    from presidio_analyzer import BatchAnalyzerEngine
    batch = BatchAnalyzerEngine(presidio(few=True))
    print("\n| | rows | bytes a row | rows a second | Presidio | times |\n|---|---|---|---|---|---|")
    slow = []
    for name, docs, cells in sets:
        ours = sorted(scan(docs, directory, repeat=max(1, 300_000 // len(docs)))[1] for _ in range(3))[1] / cells
        columns = {column: [doc.text for doc in docs if doc.column == column] for column in dict.fromkeys(doc.column for doc in docs)}
        start = time.process_time()
        for column in columns.values():
            list(batch.analyze_iterator(column, language="en", batch_size=1000))
        theirs = len(docs) / cells / (time.process_time() - start)
        print(f"| {name} | {len(docs) // cells} | {sum(len(doc.text.encode()) for doc in docs) * cells // len(docs)} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:,.0f} |")
        if ours < 100 * theirs:
            slow.append(f"speed on {name}")
    return slow


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--errors", metavar="TYPE", help="list what we miss and what we report wrongly of one type, or of ALL")
    arguments.add_argument("--material", choices=["texts", "values", "cases"], help="with --errors: of one kind of material")
    arguments.add_argument("--everything", action="store_true", help="with --errors: of all that is found, not of the default")
    arguments.add_argument("--no-presidio", action="store_true", help="our figures alone")
    arguments.add_argument("--no-speed", action="store_true", help="recall and precision alone")
    arguments = arguments.parse_args()
    if not os.path.isdir(FINANCIAL):
        sys.exit("skipped: no corpora beside the repository")
    docs = list(documents())
    behind = []
    with tempfile.TemporaryDirectory() as directory:
        mine = [scan(docs, directory)[0], scan(docs, directory, least="VERY_UNLIKELY")[0]]
        if arguments.errors:
            return errors(docs, mine[arguments.everything], arguments.errors, arguments.material)
        columns = [count(docs, found) for found in mine]
        if not arguments.no_presidio:
            theirs = analyze(docs)
            columns += [count(docs, [[f[:3] for f in keep(found)] for found in theirs]) for keep in (resolved, list)]
        behind += table(columns)
        if not arguments.no_presidio and not arguments.no_speed:
            behind += speed(docs, directory)
    for name in behind:
        print(f"behind: {name}")
    sys.exit(1 if behind else 0)


if __name__ == "__main__":
    main()
