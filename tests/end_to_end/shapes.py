"""Static shapes: every dtype, overflow mode, packing, tokens, container and encoding, against a model of a few lines; the same bytes in every environment."""
import collections
import datetime
import json
import math
import random
import shutil
import subprocess
import sys

import numpy as np

from harness import ROOT, WORK, digests, interop, latest, manifest

PLACE = WORK / "shapes"
TOKENIZER = ROOT / "tests" / "interop" / "tokenizers" / "byte_level_bpe.json"

POLICY = """
apiVersion: perimeter/v1
kind: Policy
metadata: {name: shapes, version: 1, owner: dpo@bank.example, purpose: tests, legalBasis: [LGPD-7-IX]}
privacyUnit: {joinDomain: person}
rules:
  - {name: people, match: {semanticType: BR_CPF}, transform: cryptoHash, key: person}
  - {name: times, match: {semanticType: EVENT_TIME}, transform: dateShift, key: person, context: {joinDomain: person}, maxDays: 30}
  - {name: facts, match: {classification: public}, transform: keep}
gates: {maxRejectedFraction: 0.0}
"""

EVENTS = """
apiVersion: v3.1.0
kind: DataContract
id: events
version: 1.0.0
status: active
schema:
  - name: events
    properties:
      - {name: entity, logicalType: string, required: true, classification: public}
      - {name: at, logicalType: integer, required: true, classification: public}
      - {name: amount, logicalType: number, physicalType: "decimal(12,2)", required: true, classification: public}
      - {name: kind, logicalType: integer, required: true, classification: public}
      - {name: memo, logicalType: string, required: true, classification: public, customProperties: [{property: acceptedFindings, value: [{type: PERSON_NAME, reason: words drawn at random}]}]}
      - {name: day, logicalType: date, required: true, classification: public}
      - {name: booked, logicalType: date, required: true, customProperties: [{property: semanticType, value: EVENT_TIME}]}
      - name: cpf
        logicalType: string
        customProperties: [{property: semanticType, value: BR_CPF}, {property: joinDomain, value: person}]
"""

WORDS = "pagamento de fatura no mercado da esquina PIX recebido de Maria compra em Sao Paulo <s> </s> <|endoftext|> boleto".split()
FEATURES = ["{name: at, column: at, dtype: int64}", "{name: half, column: amount, dtype: bfloat16}", "{name: small, column: amount, dtype: float16}",
            "{name: exact, column: amount, dtype: float32}", "{name: kind, column: kind, dtype: uint8}", "{name: kind32, column: kind, dtype: int32}",
            "{name: odd, column: odd, dtype: bool}"]
ENVIRONMENTS = [("2 threads", ["--threads", "2"], {}), ("1 thread, batches of 7 rows", ["--threads", "1"], {"PERIMETER_BATCH_ROWS": "7"}),
                ("2 threads, batches of 64 rows", ["--threads", "2"], {"PERIMETER_BATCH_ROWS": "64"})]


def events(entities=40, seed=5):
    """[(entity, at, amount in cents, kind, memo)] with lengths that are often short and seldom long."""
    draw = random.Random(seed)
    rows = []
    for number in range(entities):
        for at in range(min(90, int(draw.expovariate(1 / 14)) + 1)):
            memo = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(0, 14)))
            rows.append((f"e{number:03}", at, draw.randrange(-3_000_000, 3_000_000), draw.randrange(256), memo))
    return rows


def day(at):
    """The date of an event."""
    return datetime.date(2026, 1, 1) + datetime.timedelta(days=at)


def person(entity):
    """The taxpayer number of an entity: two entities each."""
    return f"{int(entity[1:]) // 2:011}"


def write(rows):
    """The events as csv, in an order of its own."""
    rows = list(rows)
    random.Random(1).shuffle(rows)
    lines = [f'{entity};{at};{cents / 100:.2f};{kind};"{memo}";{day(at)};{day(at)};{person(entity)}' for entity, at, cents, kind, memo in rows]
    (PLACE / "in" / "events.csv").write_text("entity;at;amount;kind;memo;day;booked;cpf\n" + "\n".join(lines) + "\n")


def fresh(rows=None):
    """An empty PLACE with contracts and data; gives the events."""
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "in").mkdir(parents=True)
    (PLACE / "events.yaml").write_text(EVENTS)
    (PLACE / "policy.yaml").write_text(POLICY)
    rows = events() if rows is None else rows
    write(rows)
    return rows


def job(shape, features, sink="format: arrayRecord", shards=3):
    """A job; returns its path."""
    text = f"""
apiVersion: perimeter/v1
kind: Job
metadata: {{name: shapes}}
policy: policy.yaml
sources:
  events: {{uri: in/events.csv, format: csv, schema: events.yaml, options: {{delimiter: ";"}}}}
quarantine: {{uri: out/quarantine/, key: person}}
prepare: SELECT entity, at, amount, kind, kind % 2 AS odd, memo, day, cpf FROM events
keys:
  person: {{provider: local, keyring: person.keyring.json, create: true}}
shape:
  features:
""" + "".join(f"    - {feature}\n" for feature in features) + "".join(f"  {line}\n" for line in shape.splitlines()) + f"sink: {{uri: out/sink/, {sink}, shards: {shards}}}\n"
    path = PLACE / "job.yaml"
    path.write_text(text)
    return path


SEQUENCE = "sequence: {by: entity, orderBy: [at]}\n"


def numpy_type(dtype):
    """The numpy type of a dtype of shapes.json."""
    import ml_dtypes
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def read(version):
    """Every record as {feature: array or bytes}, by (bucket, shard path), in order: the containers and encodings that a user may meet."""
    from array_record.python import array_record_module
    from example_proto import example_class
    example = example_class()
    made, shapes = manifest(version), json.loads((version / "shapes.json").read_text())
    specs = {(entry.get("bucket"), entry["name"]): entry["features"] for entry in shapes["splits"]}
    found = {}
    for shard in made["shards"]:
        path = str(version / shard["path"])
        if made["format"]["container"] == "tfRecord":
            from tfrecord.reader import tfrecord_iterator
            records = [bytes(record) for record in tfrecord_iterator(path)]
        else:
            reader = array_record_module.ArrayRecordReader(path)
            records = reader.read_all() if shard["records"] else []
            reader.close()
        parsed = []
        for record in records:
            arrays, at = {}, 0
            for spec in specs[shard.get("bucket"), shard["split"]]:
                name, dtype, shape = spec["name"], spec["dtype"], tuple(spec["shape"])
                if shapes["encoding"] == "tensor":
                    count = int(np.prod(shape, dtype=np.int64))
                    arrays[name] = np.frombuffer(record, numpy_type(dtype), count, at).reshape(shape)
                    at += arrays[name].nbytes
                    continue
                feature = example.FromString(record).features.feature[name]
                value = getattr(feature, feature.WhichOneof("kind")).value
                if dtype == "bytes":
                    arrays[name] = value[0]
                elif dtype in ("bfloat16", "float16"):
                    arrays[name] = np.frombuffer(value[0], numpy_type(dtype)).reshape(shape)
                else:
                    arrays[name] = np.array(value, numpy_type(dtype)).reshape(shape)
            if shapes["encoding"] == "tensor" and at != len(record):
                raise ValueError(f"a record has {len(record)} bytes for {at}")
            parsed.append(arrays)
        found[shard.get("bucket"), shard["path"]] = parsed
    return found


def pieces(rows, buckets, overflow):
    """What must come out of sequences, as simply as possible: {(entity, chunk): [events]}."""
    out, window = {}, buckets[-1]
    by_entity = collections.defaultdict(list)
    for row in rows:
        by_entity[row[0]].append(row)
    for entity, mine in by_entity.items():
        mine.sort(key=lambda row: row[1])
        mode = overflow.get("mode", "split")
        if len(mine) <= window:
            cut = [mine]
        elif mode == "reject":
            cut = []
        elif mode == "truncate":
            cut = [mine[-window:] if overflow.get("side") == "left" else mine[:window]]
        else:
            stride, cut, start = overflow.get("stride", window - overflow.get("overlap", 0)), [], 0
            while True:
                cut.append(mine[start:start + window])
                if start + window >= len(mine):
                    break
                start += stride
        out |= {(entity, chunk): part for chunk, part in enumerate(cut)}
    return out


def expected_bytes(part, name, bucket):
    """A feature of a piece, padded with zeros, as bytes."""
    cents = [row[2] for row in part]
    values = {"at": [row[1] for row in part], "kind": [row[3] for row in part], "kind32": [row[3] for row in part], "odd": [row[3] % 2 for row in part]}
    kinds = {"at": "int64", "kind": "uint8", "kind32": "int32", "odd": "bool", "exact": "float32", "half": "bfloat16", "small": "float16"}
    # bfloat16 is the rounded float32, float16 comes of the double.
    floats = {"exact": lambda: np.array([c / 100 for c in cents], np.float32), "half": lambda: np.array([c / 100 for c in cents], np.float32).astype(numpy_type("bfloat16")),
              "small": lambda: np.array([c / 100 for c in cents], np.float64).astype(np.float16)}
    array = floats[name]() if name in floats else np.array(values[name], numpy_type(kinds[name]))
    return np.concatenate([array, np.zeros(bucket - len(array), array.dtype)]).tobytes()


def account(rows, parts, window):
    """`conservation.elements` of the manifest."""
    lengths = collections.Counter(row[0] for row in rows)
    kept = len({(entity, row[1]) for (entity, _), part in parts.items() for row in part})
    written = sum(len(part) for part in parts.values())
    whole = {entity for entity, _ in parts}
    rejected = sum(length for entity, length in lengths.items() if entity not in whole)
    return {"examplesIn": len(lengths), "examplesRejected": len(lengths) - len(whole), "pieces": len(parts), "elementsIn": len(rows), "kept": kept,
            "truncated": len(rows) - kept - rejected, "rejected": rejected, "duplicated": written - kept}


def same_everywhere(suite, perimeter, what, path):
    """Runs a job in every environment; the newest version, or None."""
    first = None
    for name, options, environment in ENVIRONMENTS:
        done = perimeter("run", path, *options, env=environment)
        if not suite.check(f"{what}: runs with {name}", [] if done.code == 0 else [done.last]):
            return None
        found = digests(latest(PLACE / "out/sink"))
        if first is not None:
            suite.check(f"{what}: the same bytes with {name}", sorted(k for k in first.keys() | found.keys() if first.get(k) != found.get(k)), f"{len(found)} files")
        first = first or found
    version = latest(PLACE / "out/sink")
    done = perimeter("verify", version / "manifest.json")
    suite.check(f"{what}: verify agrees", [] if done.code == 0 else [done.last])
    return version


def overflow_and_encodings(suite, perimeter):
    """Every overflow mode, in every container and encoding, holds what the model says, bit for bit."""
    # Some are exactly as long as the largest bucket.
    rows = fresh(events() + [(f"r{n}", at, 100 + n, 3, "") for n in range(3) for at in range(20)])
    buckets = [4, 8, 20]
    modes = [("split", {}), ("{mode: split, overlap: 3}", {"overlap": 3}), ("{mode: split, stride: 13}", {"stride": 13}), ("truncate", {"mode": "truncate"}),
             ("{mode: truncate, side: left}", {"mode": "truncate", "side": "left"}), ("reject", {"mode": "reject"})]
    sinks = ["format: arrayRecord", "format: tfRecord", "format: arrayRecord, encoding: tensor", "format: tfRecord, encoding: tensor"]
    for number, (overflow, options) in enumerate(modes):
        sink = sinks[number % len(sinks)]
        what = f"overflow {overflow}, {sink}"
        entity = [] if "tensor" in sink else ["{name: entity, column: entity, dtype: bytes}"]
        version = same_everywhere(suite, perimeter, what, job(f"{SEQUENCE}buckets: {buckets}\noverflow: {overflow}", FEATURES + entity, sink))
        if version is None:
            continue
        parts, wrong, seen = pieces(rows, buckets, options), [], collections.Counter()
        # Without the entity, a piece is found by its events.
        by_events = {tuple((row[1], row[2], row[3]) for row in part): key for key, part in parts.items()}
        for (bucket, path), records in read(version).items():
            for record in records:
                length = int(record["length"])
                key = (record["entity"].decode(), int(record["chunk"])) if entity else by_events.get(tuple(
                    (int(a), next((r[2] for part in parts.values() for r in part if r[1] == a and r[3] == k and np.float32(r[2] / 100) == e), None), int(k))
                    for a, k, e in zip(record["at"][:length], record["kind"][:length], record["exact"][:length])))
                part = parts.get(key)
                seen[key] += 1
                if part is None or len(part) != length or bucket != next(b for b in buckets if b >= length) or (key and int(record["chunk"]) != key[1]):
                    wrong.append(f"{path}: {key} of {length}")
                    continue
                wrong += [f"{path}: {key}: {name}" for name in ("at", "half", "small", "exact", "kind", "kind32", "odd") if record[name].tobytes() != expected_bytes(part, name, bucket)]
        wrong += [f"{key} is there {count} times" for key, count in seen.items() if count != 1] + [f"{key} is lost" for key in parts.keys() - seen.keys()]
        suite.check(f"{what}: every piece is there once, bit for bit", wrong, f"{len(parts)} pieces")
        suite.equal(f"{what}: the manifest accounts for every event", manifest(version)["conservation"], {"unit": "events", "elements": account(rows, parts, buckets[-1])})
        done = perimeter("inspect", next(p for p in sorted(version.rglob("*-of-*")) if p.stat().st_size))
        suite.check(f"{what}: inspect says the container", [] if done.code == 0 and ("TFRecord" if "tfRecord" in sink else "ArrayRecord") in done.out else [done.last])
        if sink == sinks[0]:
            interop(suite, what, version)
    check_loader(suite, "overflow", job(f"{SEQUENCE}buckets: {buckets}", FEATURES, "format: arrayRecord, encoding: tensor"), perimeter)


def check_loader(suite, what, path, perimeter):
    """The loader to copy, over raw tensors: its own checks."""
    done = perimeter("run", path)
    if not suite.check(f"{what}: runs for the loader", [] if done.code == 0 else [done.last]):
        return
    checked = subprocess.run([sys.executable, str(ROOT / "tests/interop/check_loader.py"), str(latest(PLACE / "out/sink"))], capture_output=True, text=True, timeout=900)
    lines = [line for line in checked.stdout.splitlines() if line.startswith(("ok: ", "FAILED: "))]
    for line in lines:
        verdict, _, text = line.partition(": ")
        suite.check(f"{what}, loader: {text}", [text] if verdict == "FAILED" else [])
    if not lines:
        suite.check(f"{what}: loader", [checked.stderr[-400:]])


def packing(suite, perimeter):
    """Windows hold every event once, in order, with segmentation and position; a jitted step over them compiles once."""
    import jax
    rows, window, most = fresh(), 24, 5
    path = job(f"{SEQUENCE}buckets: [{window}]\npacking: {{maxSegments: {most}, openWindows: 3}}", ["{name: at, column: at, dtype: int64}", "{name: half, column: amount, dtype: bfloat16}"],
               "format: arrayRecord, encoding: tensor")
    version = same_everywhere(suite, perimeter, "packing", path)
    if version is None:
        return
    parts = pieces(rows, [window], {})
    wanted = collections.Counter((tuple(row[1] for row in part), expected_bytes(part, "half", len(part))) for part in parts.values())
    found, wrong, records = collections.Counter(), [], [record for group in read(version).values() for record in group]
    for record in records:
        segmentation, position, used = record["at_segmentation"], record["at_position"], int(record["length"])
        if not (np.array_equal(segmentation, record["half_segmentation"]) and np.array_equal(position, record["half_position"])):
            wrong.append("features of one window disagree")
        if np.any(segmentation[used:]) or np.any(record["at"][used:]) or np.any(position[used:]) or np.any(segmentation[:used] == 0) or segmentation.max() > most:
            wrong.append(f"a window of {used}: {segmentation}")
        for segment in range(1, int(segmentation.max()) + 1):
            mine = segmentation == segment
            if not np.array_equal(position[mine], np.arange(mine.sum())):
                wrong.append("positions do not count")
            found[tuple(map(int, record["at"][mine])), record["half"][mine].tobytes()] += 1
    suite.check("packing: every event is in one window, in order", wrong + ([] if found == wanted else [f"{sum(found.values())} examples for {sum(wanted.values())}"]))
    made = manifest(version)["conservation"]
    padding = sum(window - int(record["length"]) for record in records)
    suite.equal("packing: the manifest accounts for windows", (made["packing"]["windows"], made["packing"]["padding"], made["packing"]["elements"], made["packing"]["examples"]),
                (len(records), padding, len(rows), len(parts)))
    padded = sum(window - len(part) for part in parts.values())
    suite.check("packing: pads less than padding", [] if padding < padded / 2 else [f"{padding} of {padded}"])
    step = jax.jit(lambda state, batch: state + sum(value.sum() for value in batch.values()))
    state = jax.numpy.float32(0)
    for record in records:
        state = step(state, {name: value.astype(np.float32) for name, value in record.items() if value.ndim})
    suite.equal("packing: one compilation", step._cache_size(), 1)


def tokens(suite, perimeter):
    """Token ids equal those of the Python package: along the bucketed axis of rows, and beside events; text that looks like control tokens stays text."""
    try:
        import tokenizers
    except ImportError:
        return suite.check("tokens", ["tokenizers is not installed"])
    reference = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    reference.no_truncation(), reference.no_padding()
    reference.encode_special_tokens = True
    rows, buckets = fresh(), [8, 16, 32]
    ids = {(row[0], row[1]): reference.encode(row[4], add_special_tokens=False).ids for row in rows}
    memo = f"{{name: memo, column: memo, tokenizer: {TOKENIZER}"
    base = ["{name: at, column: at, dtype: int64}", "{name: entity, column: entity, dtype: bytes}"]
    version = same_everywhere(suite, perimeter, "tokens of rows", job(f"buckets: {buckets}\noverflow: {{mode: split, overlap: 2}}", base + [memo + "}"]))
    if version is not None:
        wrong, seen, written = [], set(), 0
        for (bucket, _), records in read(version).items():
            for record in records:
                key, chunk, length = (record["entity"].decode(), int(record["at"])), int(record["chunk"]), int(record["length"])
                part = ids[key][chunk * 30:chunk * 30 + 32]
                seen.add((*key, chunk))
                written += length
                if list(map(int, record["memo"][:length])) != part or np.any(record["memo"][length:]) or bucket != next(b for b in buckets if b >= length) or record["memo"].dtype != np.int32:
                    wrong.append(f"{key}, piece {chunk}")
        wanted = {(*key, chunk) for key, mine in ids.items() for chunk in range(1 + max(0, math.ceil((len(mine) - 32) / 30)))}
        suite.check("tokens of rows: equal to the Python package's, every piece once", wrong + ([] if seen == wanted else [f"{len(seen)} pieces for {len(wanted)}"]))
        made = manifest(version)
        suite.equal("tokens of rows: the manifest accounts for tokens",
                    (made["conservation"]["unit"], made["conservation"]["elements"]["elementsIn"], made["conservation"]["elements"]["kept"] + made["conservation"]["elements"]["duplicated"],
                     made["tokenizers"]["memo"]["tokens"], made["tokenizers"]["memo"]["truncated"]), ("tokens", sum(map(len, ids.values())), written, sum(map(len, ids.values())), 0))
        import hashlib
        suite.equal("tokens of rows: the manifest names the tokenizer", made["tokenizers"]["memo"]["sha256"], hashlib.sha256(TOKENIZER.read_bytes()).hexdigest())
    version = same_everywhere(suite, perimeter, "tokens beside events", job(f"{SEQUENCE}buckets: [8, 96]", base + [memo + ", maxTokens: 6, truncate: left}"]))
    if version is not None:
        wrong = []
        for (bucket, _), records in read(version).items():
            for record in records:
                for place in range(int(record["length"])):
                    mine = ids[record["entity"].decode(), int(record["at"][place])][-6:]
                    if list(map(int, record["memo"][place])) != mine + [0] * (6 - len(mine)):
                        wrong.append(f"{record['entity'].decode()}, event {place}")
                if record["memo"].shape != (bucket, 6) or np.any(record["memo"][int(record["length"]):]):
                    wrong.append(f"{record['entity'].decode()}: {record['memo'].shape}")
        suite.check("tokens beside events: [bucket, maxTokens], equal to the Python package's", wrong)
        suite.equal("tokens beside events: what was cut off is counted", manifest(version)["tokenizers"]["memo"]["truncated"], sum(max(0, len(mine) - 6) for mine in ids.values()))
        interop(suite, "tokens beside events", version)
    job("buckets: [8]", ["{name: memo, column: token, tokenizer: " + str(TOKENIZER) + "}"])
    text = (PLACE / "job.yaml").read_text().replace("cpf FROM", "cpf AS token FROM")
    (PLACE / "job.yaml").write_text(text)
    done = perimeter("plan", PLACE / "job.yaml")
    suite.check("tokens of a pseudonymized column are refused", [] if done.code == 2 and "tokenized-column" in done.err else [done.last])


def maxtext(suite, perimeter):
    """`layout: maxtext`: one column and nothing beside it, of any length: events, tokens, or the text itself."""
    import tokenizers
    from array_record.python import array_record_module
    from example_proto import example_class
    example, reference = example_class(), tokenizers.Tokenizer.from_file(str(TOKENIZER))
    reference.no_truncation(), reference.no_padding()
    reference.encode_special_tokens = True
    mark = "<|endoftext|>"
    end = reference.token_to_id(mark)
    rows = fresh()
    events_of = collections.Counter(tuple(row[1] for row in part) for part in pieces(rows, [20], {}).values())
    ids = collections.Counter((*reference.encode(row[4], add_special_tokens=False).ids, end) for row in rows)
    texts = collections.Counter(row[4].encode() for row in rows)
    cases = [("events", f"{SEQUENCE}layout: maxtext\nbuckets: [20]", "{name: inputs, column: at, dtype: int64}", "int64_list", events_of),
             ("tokens", "layout: maxtext", f'{{name: text, column: memo, tokenizer: {TOKENIZER}, eos: "{mark}"}}', "int64_list", ids),
             ("raw text", "layout: maxtext", "{name: text, column: memo, dtype: bytes}", "bytes_list", texts)]
    for what, shape, feature, kind, wanted in cases:
        what = f"maxtext, {what}"
        version = same_everywhere(suite, perimeter, what, job(shape, [feature]))
        if version is None:
            continue
        found, wrong, made = collections.Counter(), [], manifest(version)
        for shard in made["shards"]:
            reader = array_record_module.ArrayRecordReader(str(version / shard["path"]))
            for record in reader.read_all() if shard["records"] else []:
                features = example.FromString(record).features.feature
                if len(features) != 1 or features[name := next(iter(features))].WhichOneof("kind") != kind or name != feature[7:].split(",")[0]:
                    wrong.append(f"{sorted(features)}")
                value = getattr(next(iter(features.values())), kind).value
                found[value[0] if kind == "bytes_list" else tuple(value)] += 1
            reader.close()
        suite.check(f"{what}: every example is there once, unpadded", wrong + ([] if found == wanted else [f"{sum(found.values())} examples for {sum(wanted.values())}"]))
        if kind == "int64_list":
            elements = made["conservation"]["elements"]
            suite.equal(f"{what}: the manifest accounts for all", (elements["kept"], elements["pieces"]), (sum(len(k) * n for k, n in wanted.items()), sum(wanted.values())))


def statistics(suite, perimeter):
    """Scales and vocabularies are frozen from values of ten people at least, hide single ones, and are taken as they are when pinned."""
    draw = random.Random(3)
    # Kinds 0 to 9 are common, and one of three people is there in kind 200 alone; two amounts are far beyond all others.
    rows = [(f"e{n:03}", at, draw.randrange(-5000, 5000), draw.choice([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9]), "") for n in range(60) for at in range(20)]
    rows += [(f"e{n:03}", 20, 2_500_000_00, 200, "") for n in (1, 7, 30)]
    fresh(rows)
    features = ["{name: entity, column: entity, dtype: bytes}", "{name: at, column: at, dtype: int64}", "{name: standard, column: amount, dtype: float32, scale: standard}",
                "{name: spread, column: amount, dtype: bfloat16, scale: minMax}", "{name: rank, column: amount, dtype: float32, scale: quantile}",
                "{name: kind, column: kind, dtype: int32, encode: vocabulary, minCount: 2, maxSize: 8}", "{name: hot, column: kind, dtype: uint8, encode: oneHot, maxSize: 12}",
                "{name: bin, column: entity, dtype: int64, encode: hash, hashBuckets: 16}", "{name: weekday, column: day, dtype: uint8, encode: dayOfWeek}"]
    version = same_everywhere(suite, perimeter, "statistics", job("layout: static", features))
    if version is None:
        return
    frozen = json.loads((version / "statistics.json").read_text())
    people, counts = collections.defaultdict(set), collections.Counter()
    for row in rows:
        people[str(row[3])].add(person(row[0]))
        counts[str(row[3])] += 1
    kept = sorted((value for value in counts if len(people[value]) >= 10), key=lambda value: (-counts[value], value.encode()))
    suite.equal("statistics: the vocabulary holds common values by count", frozen["features"]["kind"]["vocabulary"], kept[:8])
    suite.equal("statistics: what three people have is in no vocabulary", "200" in frozen["features"]["hot"]["vocabulary"], False)
    scales = {name: frozen["features"][name]["scale"] for name in ("standard", "spread", "rank")}
    suite.check("statistics: no scale reaches the amounts of three people", [name for name, scale in scales.items() if max(scale.get("clip", scale.get("edges"))) > 60.0])
    wrong, seen = [], 0
    by_key = {(row[0], row[1]): row for row in rows}
    standard, spread, rank = scales["standard"], scales["spread"], scales["rank"]
    for records in read(version).values():
        for record in records:
            row = by_key[record["entity"].decode(), int(record["at"])]
            seen += 1
            value = row[2] / 100
            clipped = np.clip(value, *standard["clip"])
            expected = (clipped - standard["mean"]) / standard["standardDeviation"]
            if not np.isclose(float(record["standard"]), expected, rtol=1e-6, atol=1e-6):
                wrong.append("standard")
            low, high = spread["clip"]
            if record["spread"].tobytes() != np.float32((np.clip(value, low, high) - low) / (high - low)).astype(numpy_type("bfloat16")).tobytes():
                wrong.append("minMax")
            if not np.isclose(float(record["rank"]), np.interp(value, rank["edges"], rank["ranks"]), atol=1e-2):
                wrong.append("quantile")
            vocabulary, hot = frozen["features"]["kind"]["vocabulary"], frozen["features"]["hot"]["vocabulary"]
            number = lambda values: values.index(str(row[3])) + 3 if str(row[3]) in values else 1
            if int(record["kind"]) != number(vocabulary):
                wrong.append("vocabulary")
            if record["hot"].shape != (15,) or list(np.flatnonzero(record["hot"])) != [number(hot)]:
                wrong.append("oneHot")
            if not 3 <= int(record["bin"]) < 19:
                wrong.append("hash")
            if int(record["weekday"]) != day(row[1]).weekday():
                wrong.append("dayOfWeek")
    suite.check("statistics: every value is what the frozen file says", sorted(set(wrong)) + ([] if seen == len(rows) else [f"{seen} records"]))
    mean = np.mean([float(np.clip(row[2] / 100, *standard["clip"])) for row in rows])
    suite.check("statistics: the mean is that of the clipped values", [] if np.isclose(mean, standard["mean"], atol=0.2) else [f"{standard['mean']} for {mean}"])
    interop(suite, "statistics", version)
    shutil.copy(version / "statistics.json", PLACE / "pinned.json")
    write([(f"e{n:03}", at, 777, 1, "") for n in range(4) for at in range(5)])
    path = job("statistics: pinned.json", features)
    again = same_everywhere(suite, perimeter, "pinned statistics of too few people", path)
    if again is not None:
        suite.equal("pinned statistics: passed on", (again / "statistics.json").read_bytes(), (version / "statistics.json").read_bytes())
        found = {(int(record["kind"]), float(record["standard"])) for records in read(again).values() for record in records}
        suite.equal("pinned statistics: ids and scales stay", (len(found), {kind for kind, _ in found}), (1, {frozen["features"]["kind"]["vocabulary"].index("1") + 3}))
    done = perimeter("run", job("layout: static", features))
    suite.check("statistics of too few people are refused", [] if done.code == 1 and "too-few-units" in done.err else [done.last])
    path = job("statistics: pinned.json", features + ["{name: other, column: amount, dtype: float32, scale: minMax}"])
    done = perimeter("plan", path)
    suite.check("pinned statistics without a feature are refused", [] if done.code == 2 and "error[statistics]" in done.err else [done.last])
    path = job("layout: static", ["{name: weekday, column: booked, dtype: uint8, encode: dayOfWeek}"])
    path.write_text(path.read_text().replace("day, cpf FROM", "booked, cpf FROM"))
    done = perimeter("plan", path)
    suite.check("a day of the week of shifted dates is refused", [] if done.code == 2 and "shifted-calendar" in done.err else [done.last])
    (PLACE / "policy.yaml").write_text(POLICY.replace("privacyUnit: {joinDomain: person}\n", ""))
    done = perimeter("plan", job("layout: static", features))
    suite.check("statistics without a privacy unit are refused", [] if done.code == 2 and "no-privacy-unit" in done.err else [done.last])


def waste(lengths, buckets):
    """Elements of padding."""
    return sum(next(b for b in buckets if b >= length) - length for length in lengths)


def auto_buckets(suite, perimeter):
    """`profile` finds the optimum, a run freezes it, and the next run with other data keeps the shapes."""
    import itertools
    rows = fresh()
    counts = collections.Counter(row[0] for row in rows)
    cut = [part for length in counts.values() for part in [40] * (length // 40) + ([length % 40] if length % 40 else [])]
    shape = f"{SEQUENCE}buckets: {{auto: 3, multipleOf: 4, max: 40}}"
    path = job(shape, ["{name: at, column: at, dtype: int64}"])
    done = perimeter("profile", path, "--json")
    if not suite.check("profile runs", [] if done.code == 0 else [done.last]):
        return
    found = json.loads(done.out)
    suite.equal("profile: the lengths are the data's", found["lengths"], sorted([length, count] for length, count in collections.Counter(counts.values()).items()))
    top = -(-max(cut) // 4) * 4
    best = {k: min(waste(cut, [*inner, top]) for inner in itertools.combinations(range(4, top, 4), k - 1)) for k in (1, 2, 3)}
    suite.equal("profile: the best 1, 2 and 3 buckets pad as little as any", [plan["padding"] for plan in found["profile"]["best"][:3]], [best[k] for k in (1, 2, 3)])
    suite.equal("profile: nothing is written", sorted(p.name for p in PLACE.glob("out/*")), [])
    human = perimeter("profile", path)
    suite.check("profile: a person sees a histogram and advice", [word for word in ("█", "compilations", "recommended", "`buckets: {auto:") if word not in human.out])
    version = same_everywhere(suite, perimeter, "auto buckets", path)
    if version is None:
        return
    frozen = json.loads((version / "statistics.json").read_text())
    suite.equal("auto buckets: as good as the best", waste(cut, frozen["buckets"]), best[3])
    suite.equal("auto buckets: one folder for each", sorted(p.name for p in version.glob("b*")), sorted(f"b{bucket}" for bucket in frozen["buckets"]))
    suite.check("auto buckets: the manifest names statistics.json", [] if any(f["path"] == "statistics.json" for f in manifest(version)["files"]) else ["it does not"])
    interop(suite, "auto buckets", version)
    pinned = PLACE / "pinned.json"
    shutil.copy(version / "statistics.json", pinned)
    write(events(entities=25, seed=77))
    path = job(f"{shape}\nstatistics: pinned.json", ["{name: at, column: at, dtype: int64}"])
    version = same_everywhere(suite, perimeter, "pinned buckets", path)
    if version is not None:
        suite.equal("pinned buckets: other data, the same shapes", sorted(p.name for p in version.glob("b*")), sorted(f"b{bucket}" for bucket in frozen["buckets"]))
        suite.equal("pinned buckets: the statistics are passed on", (version / "statistics.json").read_bytes(), pinned.read_bytes())
    pinned.write_text(pinned.read_text().replace('"kind": "Statistics"', '"kind": "Other"'))
    done = perimeter("run", path)
    suite.check("pinned statistics that are none are refused", [] if done.code == 2 and "statistics" in done.err else [done.last])
