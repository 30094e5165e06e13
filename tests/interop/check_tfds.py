#!/usr/bin/env python3
"""Opens every bucket of a finished data set as a TFDS directory, without TensorFlow.

usage: check_tfds.py VERSION_DIR

Checks that tfds.builder_from_directory(BUCKET).as_data_source() has the records of the manifest, the features, types and shapes of shapes.json, and the
values that the official tf.train.Example holds. Prints one line per check; exit code 1 when one fails.
"""
import collections
import json
import pathlib
import sys

import numpy as np

from example_proto import example_class


def main(version):
    """The command."""
    try:
        import tensorflow_datasets as tfds
    except ImportError:
        print("skipped: tensorflow_datasets is not installed")
        return 0
    import ml_dtypes                                            # registers bfloat16 with numpy
    from array_record.python import array_record_module

    example = example_class()
    shapes = json.loads((version / "shapes.json").read_text())
    manifest = json.loads((version / "manifest.json").read_text())
    failed = 0
    folders = collections.defaultdict(list)
    for entry in shapes["splits"]:
        folders[entry.get("bucket")].append(entry)
    for bucket, entries in folders.items():
        shards = [shard for shard in sorted(manifest["shards"], key=lambda shard: shard["path"]) if shard.get("bucket") == bucket]
        folder = version / pathlib.Path(shards[0]["path"]).parent
        sources = tfds.builder_from_directory(str(folder)).as_data_source()
        wrong = []
        if set(sources) != {entry["name"] for entry in entries if entry["records"]}:
            wrong.append(f"splits {sorted(sources)}")
        for entry in entries:
            if entry["name"] not in sources:
                continue
            source = sources[entry["name"]]
            if len(source) != entry["records"]:
                wrong.append(f"{len(source)} records for {entry['records']}")
            raw = []
            for shard in shards:
                if shard["split"] == entry["name"]:
                    reader = array_record_module.ArrayRecordReader(str(version / shard["path"]))
                    raw += reader.read_all()
                    reader.close()
            for index, record in enumerate(raw):
                found, features = source[index], example.FromString(record).features.feature
                for spec in entry["features"]:
                    name, dtype, shape = spec["name"], spec["dtype"], tuple(spec["shape"])
                    value = getattr(features[name], features[name].WhichOneof("kind")).value
                    if dtype == "bytes":
                        if found[name] != value[0]:
                            wrong.append(f"record {index}: {name}")
                        continue
                    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
                    expected = np.frombuffer(value[0], kind) if dtype in ("bfloat16", "float16") else np.array(value, kind)
                    got = np.asarray(found[name])
                    if got.shape != shape or (shape and got.dtype != kind) or got.tobytes() != expected.astype(got.dtype).tobytes():
                        wrong.append(f"record {index}: {name} is {got.dtype}{got.shape}")
        failed += bool(wrong)
        count = sum(entry["records"] for entry in entries)
        print(f"{'FAILED' if wrong else 'ok'}: {folder.name} opens in TFDS with {count} records{': ' + '; '.join(wrong[:3]) if wrong else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
