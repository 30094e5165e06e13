#!/usr/bin/env python3
"""Opens a finished data set as its users will: with Google's ArrayRecord reader, Grain, protobuf and JAX.

usage: check_output.py VERSION_DIR

Checks that every shard of the manifest opens with ArrayRecordReader and grain.sources.ArrayRecordDataSource, that record counts equal the manifest,
that every record parses as the official tf.train.Example and has exactly the features, types and static shapes of shapes.json, and that a jitted step
over all batches compiles exactly once per bucket. Prints one line per check; exit code 1 when one fails.
"""
import collections
import json
import pathlib
import re
import sys

import grain
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from array_record.python import array_record_module

from example_proto import example_class

BATCH = 8
EXAMPLE = example_class()


# How a dtype lies in an Example, whose lists hold bytes, float32 and int64 alone: two-byte floats are one value of little-endian bytes.
STORED = {"bytes": "bytes", "bfloat16": "bytes", "float16": "bytes", "float32": "float32", "int64": "int64", "int32": "int64", "uint8": "int64", "bool": "int64"}


def to_arrays(record):
    """{feature: numpy array or list of bytes} of one serialized Example, with nothing unknown in it."""
    example = EXAMPLE.FromString(record)
    arrays = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            arrays[name] = list(feature.bytes_list.value)
        else:
            arrays[name] = np.asarray(getattr(feature, kind).value, {"float_list": np.float32, "int64_list": np.int64}[kind])
    if EXAMPLE.FromString(example.SerializeToString()) != example or example.ByteSize() != len(record):
        raise ValueError("the record holds bytes that the official definition does not know")
    return arrays


def feature_specs(shapes):
    """{(bucket or None, split): (features {name: (dtype, shape)}, records)} of a parsed shapes.json."""
    specs = {}
    for entry in shapes["splits"]:
        features = {f["name"]: (f["dtype"], tuple(f["shape"])) for f in entry["features"]}
        specs[entry.get("bucket"), entry["name"]] = (features, entry["records"])
    return specs


def main(version):
    """The command."""
    jax.config.update("jax_enable_x64", True)
    failures = []

    def check(name, wrong):
        print(f"{'ok' if not wrong else 'FAILED'}: {name}{': ' + '; '.join(map(str, wrong[:3])) if wrong else ''}")
        failures.extend(wrong)

    manifest = json.loads((version / "manifest.json").read_text())
    specs = feature_specs(json.loads((version / "shapes.json").read_text()))
    shards = manifest["shards"]
    by_bucket = collections.defaultdict(list)
    for shard in shards:
        by_bucket[shard.get("bucket"), shard["split"]].append(shard)

    wrong = []
    for shard in shards:
        path = version / shard["path"]
        reader = array_record_module.ArrayRecordReader(str(path))
        if not reader.ok() or reader.num_records() != shard["records"] or path.stat().st_size != shard["bytes"]:
            wrong.append(f"{shard['path']}: {reader.num_records()} records for {shard['records']}")
        reader.close()
    check(f"{len(shards)} shards open with ArrayRecordReader and hold what the manifest says", wrong)
    on_disk = {str(p.relative_to(version)) for p in version.rglob("*array_record*") if p.is_file()}
    check("the manifest names every shard", sorted(on_disk ^ {s["path"] for s in shards}))

    wrong = []
    for (bucket, split), group in by_bucket.items():
        full = [s for s in group if s["records"]]
        if full:
            source = grain.sources.ArrayRecordDataSource([str(version / s["path"]) for s in full])
            if len(source) != sum(s["records"] for s in full):
                wrong.append(f"bucket {bucket}: {len(source)} records")
    check("grain.sources.ArrayRecordDataSource counts the same", wrong)
    written = sum(s["records"] for s in shards)
    check("splits of the manifest add up", [] if sum(s["records"] for s in manifest["splits"]) == written else [f"{written} records in shards"])

    traces = []

    @jax.jit
    def step(state, batch):
        traces.append({k: v.shape for k, v in batch.items()})      # runs while tracing only: once per compilation
        total = sum(jnp.sum(v.astype(jnp.float64)) for v in batch.values())
        return state + total

    wrong, records, state, batches, used = [], 0, jnp.float64(0), 0, set()
    for (bucket, split), group in sorted(by_bucket.items(), key=str):
        features, expected = specs.get((bucket, split), ({}, None))
        paths = [str(version / s["path"]) for s in group if s["records"]]
        if expected != sum(s["records"] for s in group):
            wrong.append(f"shapes.json, bucket {bucket}: {expected} records")
        if not paths:
            continue
        used.add(bucket)

        def parse(record, features=features, bucket=bucket):
            arrays = to_arrays(record)
            if set(arrays) != set(features):
                wrong.append(f"bucket {bucket}: features {sorted(arrays)}")
            for name, (dtype, shape) in features.items():
                value = arrays.get(name)
                kind = "bytes" if isinstance(value, list) else str(value.dtype)
                if kind == STORED[dtype] and dtype != "bytes":
                    if kind == "bytes":
                        value = np.frombuffer(value[0], ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype) if len(value) == 1 else np.zeros(0)
                    elif not np.array_equal(value, value.astype(dtype).astype(value.dtype)):
                        wrong.append(f"bucket {bucket}: a value of {name} is no {dtype}")
                    value = arrays[name] = value.astype(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
                if kind != STORED[dtype] or len(value) != int(np.prod(shape)):
                    wrong.append(f"bucket {bucket}: {name} is {kind}[{len(value)}] for {dtype}{list(shape)}")
            if "length" in arrays and bucket is not None:
                length = int(arrays["length"][0])
                smaller = max([b for b, _ in by_bucket if b is not None and b < bucket], default=0)
                if not (smaller or -1) < length <= bucket:                  # a text without tokens has none
                    wrong.append(f"bucket {bucket}: a sequence of {length}")
                for name, (dtype, shape) in features.items():
                    if shape[:1] == (bucket,) and np.any(arrays[name].reshape(shape)[length:]):
                        wrong.append(f"bucket {bucket}: {name} is not padded with zeros")
            return {n: a.reshape(features[n][1]) for n, a in arrays.items() if not isinstance(a, list)}

        source = grain.sources.ArrayRecordDataSource(paths)
        data = grain.MapDataset.source(source).map(parse).batch(BATCH, drop_remainder=False)
        for batch in data:
            short = BATCH - len(next(iter(batch.values())))
            records += BATCH - short
            if short:                                              # the loader pads the last batch: its shape stays static too
                batch = {k: np.concatenate([v, np.zeros((short, *v.shape[1:]), v.dtype)]) for k, v in batch.items()}
            state = step(state, batch)
            batches += 1
    check(f"{records} records parse as tf.train.Example and are what shapes.json says", wrong + ([] if records == written else [f"{written} written"]))
    check("the sums over all batches are finite", [] if bool(jnp.isfinite(state)) else [str(state)])
    compiled = step._cache_size()
    check(f"a jitted step over {batches} batches compiles once per bucket: {len(traces)} traces, {compiled} compilations, {len(used)} buckets",
          [] if len(traces) == compiled == len(used) else ["a static shape is not static"])
    names = [s["path"] for s in shards if not re.search(r"\.array_record-\d{5}-of-\d{5}$", s["path"])]
    check("shards are named as TFDS names them", names)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
