"""Same input, same bytes: threads, batch size, memory limit (one that spills), time zone."""
import datetime
import shutil

from harness import DEMO, ROOT, WORK, digests, latest, manifest, variant

COPIES = 200          # of the demo, for the runs that must and must not spill

ENVIRONMENTS = [
    ("1 thread", ["--threads", "1"], {}),
    ("2 threads", ["--threads", "2"], {}),
    ("batches of 64 rows", [], {"PERIMETER_BATCH_ROWS": "64"}),
    ("batches of 8192 rows, 1 thread", ["--threads", "1"], {"PERIMETER_BATCH_ROWS": "8192"}),
    ("TZ Asia/Kolkata", [], {"TZ": "Asia/Kolkata"}),
    ("TZ America/Sao_Paulo, Brazilian locale", [], {"TZ": "America/Sao_Paulo", "LC_ALL": "pt_BR.UTF-8"}),
]


def rows(version_table):
    """All rows of a table, sorted."""
    import pyarrow.dataset as ds
    table = ds.dataset([str(p) for p in sorted(version_table.rglob("*.parquet"))]).to_table()
    return table.select(sorted(table.column_names)).sort_by([(c, "ascending") for c in sorted(table.column_names)])


def compare(suite, perimeter, what, job, place, environments):
    """Runs the job in each environment and compares every shard; returns the runs by name."""
    first, table, runs = None, None, {}
    for name, options, environment in environments:
        for folder in ("cards", "cards-table", "card-rows"):
            shutil.rmtree(place / folder, ignore_errors=True)
        done = perimeter("run", job, *options, env=environment)
        if not suite.check(f"{what}: runs with {name}", [] if done.code == 0 else [done.last]):
            continue
        sink = place / ("cards" if (place / "cards").exists() else "card-rows")
        found, runs[name] = digests(latest(sink)), done
        if first is None:
            first, base = found, name
        else:
            different = sorted(k for k in first.keys() | found.keys() if first.get(k) != found.get(k))
            suite.check(f"{what}: the same bytes with {name} as with {base}", different, f"{len(found)} files")
        if (place / "cards-table").exists():
            these = rows(place / "cards-table")
            if table is None:
                table = these
            else:
                suite.check(f"{what}: the same table with {name}", [] if these.equals(table) else ["rows differ"])
    return runs


def options(suite, perimeter):
    """The demo's two jobs."""
    compare(suite, perimeter, "sequences", variant("sequences", "determinism"), WORK / "determinism", ENVIRONMENTS)
    compare(suite, perimeter, "rows", variant("rows", "determinism-rows", job="card_rows_parquet"), WORK / "determinism-rows", ENVIRONMENTS)


def many_rows(folder, copies):
    """The demo's Parquet twin many times over, every copy a week later and with transaction ids of its own, in four files."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    folder.mkdir(parents=True, exist_ok=True)
    table = pq.read_table(DEMO / "card_transactions.parquet")
    for part in range(4):
        with pq.ParquetWriter(folder / f"part-{part}.parquet", table.schema, compression="snappy") as writer:
            for copy in range(part, copies, 4):
                moved = table.set_column(table.schema.get_field_index("booked_at"), "booked_at", pc.add(table["booked_at"], pa.scalar(datetime.timedelta(days=7 * (copy % 100), seconds=copy))))
                ids = pc.binary_join_element_wise(pc.utf8_slice_codeunits(moved["tx_id"], 0, 30), pa.array([f"{copy:06x}"] * len(moved)), "")
                writer.write_table(moved.set_column(0, "tx_id", ids))


def spilling(suite, perimeter):
    """A larger input under a memory limit that makes its sort spill, and under one that does not."""
    inputs, place = WORK / "inputs" / "many", WORK / "spilling"
    many_rows(inputs, COPIES)
    job = variant("spilling", "spilling", (f"{ROOT}/tests/data/demo/card_transactions.csv", f"{inputs}/*.parquet"), ("format: csv                                               # csv | json", "format: parquet   # csv | json"))
    limits = [("a memory limit of 8GiB", ["--memory-limit", "8GiB"], {}), ("a memory limit of 512MiB, 1 thread", ["--memory-limit", "512MiB", "--threads", "1"], {}),
              ("a memory limit of 512MiB, 2 threads", ["--memory-limit", "512MiB", "--threads", "2"], {"PERIMETER_BATCH_ROWS": "1000"})]
    runs = compare(suite, perimeter, f"{COPIES * 3000:,} rows", job, place, limits)
    spilled = {name: done.spill_files for name, done in runs.items()}
    suite.check("the smaller limit spills and the larger does not", [] if spilled.get(limits[1][0]) and spilled.get(limits[0][0]) == 0 else [spilled], spilled)
    suite.check("no spill file is left behind", [p.name for p in (WORK / "spill").rglob("*") if p.is_file()])
    shutil.rmtree(inputs)
    for folder in ("cards", "cards-table"):
        shutil.rmtree(place / folder, ignore_errors=True)
