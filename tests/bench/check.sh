#!/usr/bin/env bash
# check.sh ROWS [RUNS=3]: the checks of workload W with `perimeter check` and with Polars (check.py), in turn; compares what they count, prints medians and ratios.
#
#   PARTS       regex over "parquet", "csv", "parquet quarantine", "csv quarantine" (default: all)
#   PERIMETER, BENCH, BENCH_DIR, LIMIT as in run.sh; environment and data are shared with it
# Wall, CPU and peak memory of the whole process tree; the page cache is warm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export BENCH=${BENCH:-$root/../shared/bench} BENCH_DIR=${BENCH_DIR:-${TMPDIR:-/tmp}/perimeter-bench}
binary=${PERIMETER:-${CARGO_TARGET_DIR:-$root/target}/release/perimeter}
rows=${1:?usage: check.sh ROWS [RUNS]}
runs=${2:-3}
[ -x "$binary" ] || { echo "no binary at $binary: cargo build --release, or set PERIMETER"; exit 2; }
[ -d "$BENCH" ] || { echo "no workload at $BENCH: set BENCH"; exit 2; }
python="$BENCH_DIR/venvs/py/bin/python"
[ -e "$BENCH_DIR/venvs/py/ok" ] || { python3 -m venv "$BENCH_DIR/venvs/py"; "$BENCH_DIR/venvs/py/bin/pip" install -q polars==2.1.0 pyarrow==26.0.1 numpy; }
data="$BENCH_DIR/data/$rows"
[ -f "$data/truth.json" ] || "$python" "$BENCH/gen.py" "$rows" "$data" --formats parquet,csv
cat "$data"/parquet/* "$data"/csv/* > /dev/null
out="$BENCH_DIR/out/check-$rows"
export RESULTS="$BENCH_DIR/results/check-$rows"
rm -rf "$RESULTS"
mkdir -p "$out"
measure() { "$python" "$BENCH/meas.py" "$1" 1 -- "${@:2}"; }
for _ in $(seq "$runs"); do
  for part in parquet csv "parquet quarantine" "csv quarantine"; do
    [[ "$part" =~ ^(${PARTS:-.*})$ ]] || continue
    format=${part%% *}
    job=w.job.yaml; [ "$format" = csv ] && job=w_csv.job.yaml
    ours=(); theirs=()
    if [ "$part" != "$format" ]; then ours=(--quarantine); theirs=(--quarantine "$out/polars.parquet"); fi
    rm -rf "${out:?}"/*
    measure "perimeter $part" "$binary" check "$here/$job" --json "${ours[@]}" --param "src=$data/$format" --param "out=$out" --param "keys=$BENCH_DIR/keys" ${LIMIT:+--memory-limit "$LIMIT"}
    measure "polars $part" "$python" "$here/check.py" "$data/$format" --format "$format" "${theirs[@]}"
  done
done
# What both count, once more, outside of the clock.
for format in parquet csv; do
  job=w.job.yaml; [ "$format" = csv ] && job=w_csv.job.yaml
  "$binary" check "$here/$job" --json --param "src=$data/$format" --param "out=$out" --param "keys=$BENCH_DIR/keys" > "$out/ours.json" || true
  "$python" "$here/check.py" "$data/$format" --format "$format" > "$out/theirs.json"
  "$python" - "$out/ours.json" "$out/theirs.json" "$format" <<'P'
import json, sys
ours, theirs = (json.load(open(path)) for path in sys.argv[1:3])
same = ({k: ours["rows"][k] for k in theirs["rows"]}, ours["rejections"]) == (theirs["rows"], theirs["rejections"])
print(f"{sys.argv[3]}: both count the same" if same else f"{sys.argv[3]}: COUNTS DIFFER: {ours['rows']} {ours['rejections']} / {theirs}")
P
done
"$python" - "$RESULTS/results.jsonl" "$rows" <<'P'
import json, statistics, sys
runs = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    runs.setdefault(entry["label"], []).append(entry)
median = {k: {f: statistics.median(e[f] for e in v) for f in ("wall_s", "cpu_s", "peak_rss_mb")} for k, v in runs.items()}
print(f"\n{int(sys.argv[2]):,} rows, medians       wall s    cpu s   peak MB   runs")
for label, m in median.items():
    noisy = " noisy: others used the machine" if any(n for e in runs[label] for n in e["noisy"]) else ""
    print(f"{label:28} {m['wall_s']:8.2f} {m['cpu_s']:8.2f} {m['peak_rss_mb']:9.0f}   {[e['wall_s'] for e in runs[label]]}{noisy}")
for label in [l.removeprefix("perimeter ") for l in median if l.startswith("perimeter ")]:
    a, b = median["perimeter " + label], median.get("polars " + label)
    if b:
        print(f"{label}: perimeter is {b['wall_s'] / a['wall_s']:.2f} times as fast as Polars, with {a['cpu_s'] / b['cpu_s']:.2f} of its CPU and {a['peak_rss_mb'] / b['peak_rss_mb']:.2f} of its memory")
P
