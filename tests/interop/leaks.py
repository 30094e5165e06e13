#!/usr/bin/env python3
"""Looks for raw identifiers in what a run left behind.

usage: leaks.py RAW_CSV... -- PATH...

RAW_CSV are the demo's raw files (card_transactions.csv, accounts.csv); PATH are output folders, tables, logs, spill folders: everything that must be
clean. Shards are opened record by record (Examples decoded), Parquet cell by cell, everything else is looked at byte by byte; file *names* count too.

Each identifier is sought as text (as written, digits only, with its usual separators, upper and lower case for names and addresses), as base64 and
hexadecimal of that text, and, when it has nine digits or more, as a binary number (little and big endian, varint). Every identifier that is found is
a failure. Prints counts and file names, never a value. Exit code 1 on a hit.
"""
import base64
import collections
import csv
import io
import pathlib
import re
import struct
import sys
import unicodedata

NUMBERS = {"cpf", "pan", "phone", "account_id", "zip"}
# A token is a run of exactly 32 or 64 hexadecimal digits, and a pseudonymous card number is a run of 16 digits: that eight digits of a postal code or a date
# occur inside one is chance (it happens about once in a hundred runs), not a leak.
TOKEN = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{32}|[0-9]{16})(?![0-9a-f])")


def read_raw(path, delimiter):
    """Identifiers of one raw file: {kind: set of texts}."""
    found = collections.defaultdict(set)
    text = pathlib.Path(path).read_bytes().decode("utf-8", "surrogateescape")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = next(rows)
    for row in rows:
        for column, value in zip(header, row):
            if len(row) == len(header) and value:
                if column in ("cpf", "pan", "phone", "account_id", "zip", "email", "holder_name", "tx_id") or (column == "memo" and len(value) >= 12):
                    found[column].add(value)
                elif column == "birth_date":
                    found[column].add(value)
        for value in row if len(row) != len(header) else []:   # a ragged row: by looks, since its cells may have moved
            if re.fullmatch(r"\d{11}|\d{16}", value) or "@" in value:
                found["ragged"].add(value)
    return found


def varint(number):
    """Protobuf's encoding of a non-negative number."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def spellings(kind, value):
    """(form, bytes) of every way in which the value could show."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {value}
    digits = re.sub(r"\D", "", value)
    if kind in NUMBERS or kind == "ragged" and digits == value:
        texts.add(digits)
        if len(digits) == 11 and kind in ("cpf", "ragged"):
            texts.add(f"{digits[:3]}.{digits[3:6]}.{digits[6:9]}-{digits[9:]}")
        if len(digits) == 16:
            texts |= {" ".join(digits[i:i + 4] for i in range(0, 16, 4)), "-".join(digits[i:i + 4] for i in range(0, 16, 4))}
        if kind == "phone":
            texts.add(digits[2:])                      # without the country code
        if kind == "zip":
            texts.add(f"{digits[:5]}-{digits[5:]}")
    if kind == "birth_date":
        day, _, rest = value.partition("/")
        month, _, year = rest.partition("/")
        texts |= {f"{year}-{month}-{day}", f"{year}{month}{day}"}
    if kind in ("holder_name", "email"):
        texts |= {value.lower(), value.upper(), "".join(c for c in unicodedata.normalize("NFD", value) if not unicodedata.combining(c))}
    if kind == "tx_id":
        texts.add(value.replace("-", ""))
    for text in texts:
        plain = text.encode("utf-8", "surrogateescape")
        if len(plain) >= 8:
            yield "text", plain
    if len(raw) >= 8:
        for source in {raw, digits.encode()} if digits and kind in NUMBERS else {raw}:
            if len(source) < 8:
                continue
            yield "hex", source.hex().encode()
            yield "hex", source.hex().upper().encode()
            for shift in range(3):                     # inside a longer base64 text the value may start at any of three offsets
                body = base64.b64encode(b"\0" * shift + source)[(shift * 8 + 5) // 6:]
                body = body.rstrip(b"=")[:-1]          # the last character depends on what follows
                if len(body) >= 9:
                    yield "base64", body
                    yield "base64", body.translate(bytes.maketrans(b"+/", b"-_"))
    if kind in NUMBERS and len(digits) >= 9:
        number = int(digits)
        yield "binary", struct.pack("<q", number)
        yield "binary", struct.pack(">q", number)
        if number >= 1 << 28:
            yield "binary", varint(number)


class Needles:
    """All spellings, found in one pass: by their first bytes in a dictionary, then exactly."""

    PREFIX = 5

    def __init__(self, raw):
        self.by_prefix = collections.defaultdict(list)
        self.count = 0
        seen = set()
        for kind, values in raw.items():
            for value in values:
                for form, needle in spellings(kind, value):
                    if needle not in seen:
                        seen.add(needle)
                        self.by_prefix[needle[:self.PREFIX]].append((needle, kind, form))
                        self.count += 1
        self.numbers = {int(re.sub(r"\D", "", v)) for k in ("zip", "cpf", "pan", "account_id", "phone") for v in raw.get(k, ())}

    def find(self, data):
        """(kind, form) of every needle in `data`."""
        tokens = None
        prefixes, n = self.by_prefix, self.PREFIX
        for i in range(len(data) - n + 1):
            candidates = prefixes.get(data[i:i + n])
            if not candidates:
                continue
            for needle, kind, form in candidates:
                if data.startswith(needle, i):
                    if kind in ("zip", "birth_date") and form == "text" and needle.isdigit():
                        if tokens is None:
                            tokens = [m.span() for m in TOKEN.finditer(data)]
                        if any(a <= i and i + len(needle) <= b for a, b in tokens):
                            continue
                    yield kind, form


def pieces(path):
    """(what, bytes or number) of a file: its records and cells decoded, and its bytes as they are."""
    yield "file name", str(path.name).encode()
    content = path.read_bytes()
    if ".array_record" in path.name:
        from array_record.python import array_record_module
        from example_proto import example_class
        example = example_class()
        reader = array_record_module.ArrayRecordReader(str(path))
        for record in reader.read_all():
            yield "record", record
            for name, feature in example.FromString(record).features.feature.items():
                yield "feature", name.encode()
                for value in feature.bytes_list.value:
                    yield "feature", value
                for value in feature.int64_list.value:
                    yield "number", value
                for value in feature.float_list.value:
                    yield "number", value
        reader.close()
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq
        for column in pq.read_table(path).itercolumns():
            for value in set(column.to_pylist()):
                yield ("number", value) if isinstance(value, (int, float)) else ("cell", str(value).encode())
    else:
        yield "bytes", content
        return
    yield "bytes", content


def scan(needles, paths):
    """Counter of (file, what, kind, form), files looked at, pieces looked at."""
    hits, files, looked = collections.Counter(), 0, 0
    for top in paths:
        top = pathlib.Path(top)
        for path in sorted(p for p in ([top] if top.is_file() else top.rglob("*")) if p.is_file()):
            files += 1
            memory = set()
            for what, piece in pieces(path):
                looked += 1
                if what == "number":
                    if piece in needles.numbers:
                        hits[path, what, "number", "value"] += 1
                    continue
                if what in ("feature", "cell"):
                    if piece in memory:
                        continue
                    memory.add(piece)
                for kind, form in needles.find(piece):
                    hits[path, what, kind, form] += 1
    return hits, files, looked


def main(arguments):
    """The command."""
    if "--" not in arguments:
        print(__doc__, file=sys.stderr)
        return 2
    split = arguments.index("--")
    raw = collections.defaultdict(set)
    for path in arguments[:split]:
        delimiter = ";" if b";" in pathlib.Path(path).read_bytes().split(b"\n", 1)[0] else ","
        for kind, values in read_raw(path, delimiter).items():
            raw[kind] |= values
    needles = Needles(raw)
    hits, files, looked = scan(needles, arguments[split + 1:])
    print(f"leaks: {sum(map(len, raw.values()))} identifiers ({', '.join(f'{k} {len(v)}' for k, v in sorted(raw.items()))}) in {needles.count} spellings; "
          f"{files} files, {looked} pieces; {sum(hits.values())} hits")
    for (path, what, kind, form), count in sorted(hits.items(), key=str):
        print(f"  {path.name}: {what} holds {kind} as {form}, {count} times")
    return 1 if hits or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
