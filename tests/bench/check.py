#!/usr/bin/env python3
"""The checks of workload W in Polars: what `perimeter check` does on the same files, by the means of a careful engineer.

usage: check.py INPUT_DIR [--format parquet|csv] [--quarantine FILE]

Explicit types, only the columns that rules look at (all of them when rejected rows are kept), check digits once per distinct value in numpy, everything else as
expressions over both threads. Prints the rows, the rejected ones and, as perimeter does, how many rows break each rule. The rejected rows go into a Parquet file,
in the clear: perimeter seals its own.
"""
import argparse
import glob
import json

import numpy as np
import polars as pl

TYPES = {c: pl.String for c in ("tx_id", "account_id", "cpf", "pan", "holder_name", "email", "phone")} | {
    "booked_at": pl.Datetime("us"), "amount": pl.Decimal(18, 2), "currency": pl.String, "mcc": pl.Int32, "merchant_city": pl.String, "zip": pl.String, "memo": pl.String}
REQUIRED = ["tx_id", "account_id", "cpf", "pan", "booked_at", "amount", "currency", "mcc"]


def digits(values, length):
    """Which texts are `length` ASCII digits, and all of them as a matrix (zeros where they are not)."""
    good = np.array([len(v) == length and v.isascii() and v.isdigit() for v in values], bool)
    text = "".join(v if g else "0" * length for v, g in zip(values, good))
    return good, (np.frombuffer(text.encode(), np.uint8) - 48).reshape(-1, length).astype(np.int64)


def is_cpf(values):
    good, d = digits(values, 11)
    good &= (d != d[:, :1]).any(axis=1)
    for at in (9, 10):
        rest = d[:, :at] @ np.arange(at + 1, 1, -1) % 11
        good &= d[:, at] == np.where(rest < 2, 0, 11 - rest)
    return good


def is_luhn(values):
    good, d = digits(values, 16)
    d[:, ::2] *= 2
    return good & (np.where(d > 9, d - 9, d).sum(axis=1) % 10 == 0)


def verdicts(frame, column, holds):
    """Distinct values of a column with whether each is valid."""
    values = frame.lazy().select(pl.col(column).unique()).collect().to_series().drop_nulls()
    return pl.LazyFrame({column: values, f"{column}_ok": holds(values.to_list())}, schema={column: pl.String, f"{column}_ok": pl.Boolean})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--format", default="parquet", choices=["parquet", "csv"])
    parser.add_argument("--quarantine")
    asked = parser.parse_args()
    files = sorted(glob.glob(f"{asked.source}/*.{asked.format}"))
    scan = pl.scan_parquet(files) if asked.format == "parquet" else pl.scan_csv(files, schema=TYPES)
    frame = (scan if asked.quarantine else scan.select(REQUIRED)).collect()
    money = lambda text: pl.lit(text).cast(pl.Decimal(18, 2))
    col = pl.col
    rules = {f"tx.{c}.required": col(c).is_null() for c in REQUIRED} | {
        "tx.cpf.check-digit": ~col("cpf_ok"),
        "tx.pan.min-length": col("pan").str.len_chars() < 16,
        "tx.pan.max-length": col("pan").str.len_chars() > 16,
        "tx.pan.check-digit": ~col("pan_ok"),
        "tx.amount.minimum": col("amount") < money("0.01"),
        "tx.amount.maximum": col("amount") > money("1000000"),
        "tx.mcc.minimum": col("mcc") < 1,
        "tx.mcc.maximum": col("mcc") > 9999,
    }
    rules = {name: rule.fill_null(False) for name, rule in rules.items()}
    joined = frame.lazy()
    for column, holds in (("cpf", is_cpf), ("pan", is_luhn)):
        joined = joined.join(verdicts(frame, column, holds), on=column, how="left")
    broken = joined.select(**rules).with_columns(any=pl.any_horizontal(list(rules))).collect()
    counts = broken.lazy().sum().collect().row(0, named=True)
    rejected = counts.pop("any")
    if asked.quarantine:
        kept, why = frame.filter(broken["any"]), broken.filter(pl.col("any"))
        reasons = why.select(codes=pl.concat_list([pl.when(pl.col(name)).then(pl.lit(name)) for name in rules]).list.drop_nulls())
        kept.hstack(reasons).write_parquet(asked.quarantine, compression="zstd")
    print(json.dumps({"rows": {"read": frame.height, "rejected": rejected}, "rejections": {name: n for name, n in sorted(counts.items()) if n}}))


if __name__ == "__main__":
    main()
