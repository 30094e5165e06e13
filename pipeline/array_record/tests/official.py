"""The official library's side of the differential test: see official.rs.

  official.py write FOLDER   NAME.records + NAME.options -> NAME.official
  official.py read FOLDER    NAME.ours -> NAME.back

`records` and `back` are records one after another, each behind its length (8 bytes, little-endian).
"""
import pathlib
import struct
import sys

from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter


def split(data):
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 8 : at + 8 + length]
        at += 8 + length


mode, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if mode == "write":
    for path in sorted(folder.glob("*.records")):
        writer = ArrayRecordWriter(str(path.with_suffix(".official")), path.with_suffix(".options").read_text())
        for record in split(path.read_bytes()):
            writer.write(record)
        writer.close()
else:
    for path in sorted(folder.glob("*.ours")):
        reader = ArrayRecordReader(str(path))
        if not reader.ok():
            sys.exit(f"{path.name}: not opened")
        records = reader.read(list(range(reader.num_records()))) if reader.num_records() else []
        with open(path.with_suffix(".back"), "wb") as back:
            for record in records:
                back.write(struct.pack("<Q", len(record)) + record)
