#!/usr/bin/env python3
"""Compares perimeter's output of workload W with the Polars program's, value by value where keys do not matter.

usage: compare.py OURS POLARS [TRUTH_JSON]       OURS: the job's ${out}; POLARS: the program's OUT

Tokens differ (other keys), so accounts cannot be matched by name and lie in other shards: sequences are compared as a multiset of
(bucket, chunk, length, amounts within one ulp of float32, mcc, delta_t). The tables are compared by tx_id in the columns that keep their values.
"""
import json
import pathlib
import sys

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from array_record.python import array_record_module

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "interop"))
from example_proto import example_class  # noqa: E402

EXAMPLE = example_class()


def sequences(paths):
    """Sorted list of (bucket, mcc bytes, delta bytes, chunk, length, amounts)."""
    found = []
    for path in paths:
        reader = array_record_module.ArrayRecordReader(str(path))
        for record in reader.read_all():
            f = EXAMPLE.FromString(record).features.feature
            mcc = np.array(f["mcc"].int64_list.value, np.int64)
            delta = np.array(f["delta_t"].int64_list.value, np.int64)
            amount = np.array(f["amount"].float_list.value, np.float32)
            found.append((len(mcc), f["chunk"].int64_list.value[0], f["length"].int64_list.value[0], mcc.tobytes(), delta.tobytes(), amount.tobytes()))
        reader.close()
    return sorted(found)


def main(ours, polars, truth=None):
    """The command."""
    version = ours / "seq" / (ours / "seq" / "latest").read_text().strip()
    manifest = json.loads((version / "manifest.json").read_text())
    report = json.loads((polars / "report.json").read_text())
    wrong = []
    rows = manifest["rows"]
    if rows["read"] != report["rows_in"] or rows["read"] - rows["rejected"] != report["rows_ok"]:
        wrong.append(f"rows {rows} against {report['rows_in']} read, {report['rows_ok']} sound")
    if truth and rows["rejected"] != json.loads(truth.read_text())["bad_total"]:
        wrong.append("the generator's count of bad rows differs")
    a = sequences(version / s["path"] for s in manifest["shards"] if s["records"])
    b = sequences(p for p in (polars / "seq").rglob("*.array_record"))
    if [x[:5] for x in a] != [x[:5] for x in b]:
        wrong.append(f"sequences differ: {len(a)} against {len(b)}")
    else:
        for x, y in zip(a, b):
            u, v = np.frombuffer(x[5], np.int32).astype(np.int64), np.frombuffer(y[5], np.int32).astype(np.int64)
            if np.abs(u - v).max() > 1:
                wrong.append("amounts differ by more than one ulp")
                break
    table = ours / "deid"
    if table.exists() and (polars / "deid").exists():
        left = ds.dataset([str(p) for p in sorted(table.rglob("*.parquet"))]).to_table().sort_by("tx_id")
        right = ds.dataset(str(polars / "deid")).to_table().sort_by("tx_id")
        for name, other in [("tx_id", "tx_id"), ("amount", "amount"), ("currency", "currency"), ("mcc", "mcc"), ("merchant_city", "merchant_city"), ("phone", "phone"), ("zip", "zip3")]:
            x, y = left[name].combine_chunks(), right[other].combine_chunks().cast(left[name].type)
            if len(x) != len(y) or not pc.all(pc.or_kleene(pc.equal(x, y), pc.and_(pc.is_null(x), pc.is_null(y))).fill_null(False)).as_py():
                wrong.append(f"table: {name} differs")
        for name in ("account_id", "cpf", "pan", "email"):
            if left[name].combine_chunks().dictionary_encode().indices.equals(right[{"account_id": "account"}.get(name, name)].combine_chunks().dictionary_encode().indices) is False:
                wrong.append(f"table: {name} is not a renaming of the reference's")
    print("\n".join(wrong) or f"equal: {rows['read']} rows, {len(a)} sequences{', table' if table.exists() else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
