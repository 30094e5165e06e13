"""Jobs on data that nobody here wrote, compared with what Python's csv module reads from the same files."""
import collections
import csv
import datetime
import math
import struct

from harness import CORPORA, ROOT, WORK, Skip, interop, latest, manifest

FINANCIAL = CORPORA / "financial"


def run(suite, perimeter, name):
    """Runs one of the corpora's jobs to a verified manifest; returns (version, manifest)."""
    if not FINANCIAL.exists():
        raise Skip("../shared/corpora is not there")
    out = WORK / "corpora" / name
    parameters = ["--param", f"corpora={CORPORA.resolve()}", "--param", f"out={out}"]
    done = perimeter("run", ROOT / "tests" / "corpora" / f"{name}.job.yaml", *parameters)
    if not suite.check(f"{name} runs", [] if done.code == 0 else [done.last]):
        raise Skip(f"{name} has no output to look at")
    version = latest(out / name)
    done = perimeter("verify", version / "manifest.json")
    suite.check(f"{name} verifies", [] if done.code == 0 else [done.last])
    interop(suite, name, version)
    return version, manifest(version)


def examples(version):
    """All examples of a version: {feature: list of values}."""
    from array_record.python import array_record_module
    from example_proto import example_class
    example = example_class()
    for shard in manifest(version)["shards"]:
        if shard["records"]:
            reader = array_record_module.ArrayRecordReader(str(version / shard["path"]))
            for record in reader.read_all():
                yield {k: list(getattr(f, f.WhichOneof("kind")).value) for k, f in example.FromString(record).features.feature.items()}
            reader.close()


def berka(suite, perimeter):
    """Clients with accounts and cards: counts of everything that the query computes."""
    version, found = run(suite, perimeter, "berka")
    suite.equal("berka: rows read, rejected, written", (found["rows"]["read"], found["rows"]["rejected"], found["rows"]["written"]), (16130, 0, 5369))

    def read(name):
        with open(FINANCIAL / "berka_pkdd99" / f"{name}.asc", newline="") as file:
            return list(csv.DictReader(file, delimiter=";"))

    clients = {c["client_id"]: c for c in read("client")}
    account = {a["account_id"]: a for a in read("account")}
    cards = {c["disp_id"]: c["type"] for c in read("card")}
    wanted, found = collections.Counter(), collections.Counter()
    for d in read("disp"):
        birth = clients[d["client_id"]]["birth_number"]
        wanted[d["type"], account[d["account_id"]]["frequency"], cards.get(d["disp_id"], "none"), "F" if int(birth[2:4]) > 50 else "M", "19" + birth[:2],
               int(clients[d["client_id"]]["district_id"])] += 1
    people = set()
    for e in examples(version):
        people.add(e["client"][0])
        found[tuple(e[k][0].decode() for k in ("role", "frequency", "card_type", "sex", "birth_year")) + (e["district"][0],)] += 1
    suite.check("berka: role, frequency, card, sex, year of birth and district of every example are those of the files", [] if found == wanted else [f"{sum((found - wanted).values())} differ"])
    suite.equal("berka: a token per client", len(people), len(clients))
    suite.check("berka: no token is a client's number", [t for t in people if t.decode() in clients])


def tabformer(suite, perimeter):
    """Five cards in sequences: every event is there, in its order, with the right interval."""
    version, found = run(suite, perimeter, "tabformer")
    suite.equal("tabformer: rows read and rejected", (found["rows"]["read"], found["rows"]["rejected"]), (19963, 0))
    with open(FINANCIAL / "ibm_tabformer" / "User0_credit_card_transactions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = collections.defaultdict(list)
    for r in rows:
        hour, minute = map(int, r["Time"].split(":"))
        when = datetime.datetime(int(r["Year"]), int(r["Month"]), int(r["Day"]), hour, minute)
        amount = struct.unpack("f", struct.pack("f", float(r["Amount"].replace("$", ""))))[0]
        wanted[r["Card"]].append((when, amount, int(r["MCC"]), int(r["Merchant Name"]), int(r["Is Fraud?"] == "Yes")))
    cards = collections.defaultdict(dict)
    for e in examples(version):
        cards[e["card"][0]][e["chunk"][0]] = e
    suite.equal("tabformer: sequences", sum(map(len, cards.values())), sum(math.ceil(len(v) / 256) for v in wanted.values()))
    sequences = {}
    for chunks in cards.values():
        events, seconds = [], 0
        for number in range(len(chunks)):
            e = chunks[number]
            for i in range(e["length"][0]):
                seconds += e["delta_s"][i]
                events.append((seconds, e["amount"][i], e["mcc"][i], e["merchant"][i], e["is_fraud"][i]))
        sequences[len(events)] = events
    problems = []
    for card, events in wanted.items():
        start = min(e[0] for e in events)
        expected = sorted((int((e[0] - start).total_seconds()), *e[1:]) for e in events)
        got = sequences.get(len(events), [])
        if sorted(got) != expected:
            problems.append(f"card {card}: {len(set(got) ^ set(expected))} events differ")
        if any(a[0] > b[0] for a, b in zip(got, got[1:])):
            problems.append(f"card {card}: out of order")
    suite.check("tabformer: every event of every card, in order of time, with its interval, amount, MCC, merchant and label", problems)
    worst = max((abs(math.log1p(abs(a)) - l) for e in examples(version) for a, l in zip(e["amount"][: e["length"][0]], e["log_amount"])), default=1)
    suite.check("tabformer: log_amount is the logarithm of the magnitude", [] if worst < 1e-5 else [worst])
