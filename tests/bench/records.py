"""Our ArrayRecord writer and reader against the official library, in turn, on the same records; prints medians and ratios.

  records.py MEASURE FOLDER [RUNS=5]    MEASURE: the example `measure` of the crate; see records.sh, which builds it

Each run of a case times: ours on one thread and on two, the limit (zstd alone over the same groups with one reused context; without
compression SHA-256 alone over the file, which the official writer does not compute), the official writer; then reading all records and
random batches of 1,000 with either. "write x1" encodes on one thread, with digests beside it where a core is free. Times are taken inside each process around the work, files are in the page cache.
"""
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import time

from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

SIZES_BYTES = [128, 512, 4096, 65536]
OPTIONS = ["group_size:1,zstd:3", "group_size:1,uncompressed", "group_size:64,zstd:3", "group_size:64,uncompressed"]
CASE_BYTES = 48 << 20
MOST_RECORDS = 150_000


def records_of(size, rng):
    """Records that compress by about half, as encoded examples do: words of a skewed vocabulary, and a third of noise."""
    words = [rng.randbytes(rng.randint(3, 12)) for _ in range(2000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    count = min(MOST_RECORDS, CASE_BYTES // size)
    pool = b"".join(rng.randbytes(rng.randint(1, 8)) if rng.random() < 0.33 else word for word in rng.choices(words, weights, k=1 << 20))
    starts = (rng.randrange(len(pool) - size) for _ in range(count))
    return [pool[start : start + size] for start in starts]


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def official_write(path, records, options):
    path.unlink(missing_ok=True)

    def work():
        writer = ArrayRecordWriter(str(path), options)
        write = writer.write
        for record in records:
            write(record)
        writer.close()
    return timed(work)


def official_read(path):
    # The constructor's defaults are for random access; read_all is the library's fastest way through a file.
    return timed(lambda: ArrayRecordReader(str(path), "readahead_buffer_size:16777216").read_all())


def official_random(path, count):
    reader = ArrayRecordReader(str(path), "readahead_buffer_size:0")
    rng = random.Random(7)
    batches = [[rng.randrange(count) for _ in range(1000)] for _ in range(50)]
    return timed(lambda: [reader.read(batch) for batch in batches])


def main():
    measure, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    only = sys.argv[4] if len(sys.argv) > 4 else ""
    folder.mkdir(parents=True, exist_ok=True)
    print("| bytes | options | write x1 | x2 | x1 over its limit | read all | random 1,000 | file size |")
    print("|---|---|---|---|---|---|---|---|")
    results = []
    for size in SIZES_BYTES:
        records = records_of(size, random.Random(size))
        framed = folder / f"{size}.records"
        framed.write_bytes(b"".join(struct.pack("<Q", len(record)) + record for record in records))
        for options in OPTIONS:
            if only not in f"{size} {options}":
                continue
            ours, theirs = folder / "ours.array_record", folder / "official.array_record"
            seconds = {}

            def take(name, value):
                seconds.setdefault(name, []).append(value)

            def run(what, path, with_options):
                if what == "write":  # cutting an old file off costs, and is not what is measured
                    path.unlink(missing_ok=True)
                output = subprocess.run([measure, framed, with_options, path, what], check=True, capture_output=True, text=True).stdout
                return json.loads(output)["seconds"]

            for _ in range(runs):
                take("write", run("write", ours, options))
                take("official write", official_write(theirs, records, options))
                take("write 2", run("write", folder / "two.array_record", f"{options},max_parallelism:2"))
                take("limit", run("zstd" if "zstd" in options else "sha256", ours, options))
                take("read", run("read", ours, options))
                take("official read", official_read(ours))
                take("random", run("random", ours, options))
                take("official random", official_random(ours, len(records)))
            median = {name: statistics.median(values) for name, values in seconds.items()}
            ratio = lambda ours, theirs: median[theirs] / median[ours]  # noqa: E731
            limit = f"{median['write'] / median['limit']:.2f}"
            bytes_ratio = ours.stat().st_size / theirs.stat().st_size
            print(f"| {size} | {options} | {ratio('write', 'official write'):.2f} | {ratio('write 2', 'official write'):.2f} | {limit} "
                  f"| {ratio('read', 'official read'):.2f} | {ratio('random', 'official random'):.2f} | {bytes_ratio:.4f} |", flush=True)
            results.append({"bytes": size, "options": options, "records": len(records), "median_seconds": median, "file_size_ratio": bytes_ratio})
    (folder / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
