#!/usr/bin/env bash
# run.sh ROWS [RUNS=3]: workload W with perimeter and with Polars, in turn, on this machine; prints medians and ratios.
#
#   PERIMETER   the binary (default: target/release/perimeter, or below CARGO_TARGET_DIR)
#   BENCH       the workload's generator and baselines (default: ../shared/bench beside the repository; not part of it)
#   BENCH_DIR   where environment, data, output and results go (default: a folder under TMPDIR)
#   PARTS       regex over "W", "W-seq", "W csv" (default: all)
#   LIMIT       perimeter's --memory-limit (default: its own)
# Wall, CPU and peak memory of the whole process tree; the page cache is warm; the output is removed before each run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bench=${BENCH:-$root/../shared/bench}
work=${BENCH_DIR:-${TMPDIR:-/tmp}/perimeter-bench}
binary=${PERIMETER:-${CARGO_TARGET_DIR:-$root/target}/release/perimeter}
rows=${1:?usage: run.sh ROWS [RUNS]}
runs=${2:-3}
[ -d "$bench" ] || { echo "no workload at $bench: set BENCH"; exit 2; }
[ -x "$binary" ] || { echo "no binary at $binary: cargo build --release, or set PERIMETER"; exit 2; }
mkdir -p "$work/results"
python="$work/venvs/py/bin/python"
if [ ! -e "$work/venvs/py/ok" ]; then
  python3 -m venv "$work/venvs/py"
  "$work/venvs/py/bin/pip" install -q polars==2.1.0 pyarrow==26.0.1 numpy cryptography==50.0.2 array_record==0.8.6 protobuf
  touch "$work/venvs/py/ok"
fi
data="$work/data/$rows"
[ -f "$data/truth.json" ] || "$python" "$bench/gen.py" "$rows" "$data" --formats parquet,csv
out="$work/out/$rows"
mkdir -p "$out" "$work/keys"
export RESULTS="$work/results/$rows"
rm -rf "$RESULTS"
cat "$data"/parquet/* "$data"/csv/* > /dev/null

measure() { "$python" "$bench/meas.py" "$1" 1 -- "${@:2}"; }
ours() {  # LABEL JOB SRC
  rm -rf "$out/ours"
  measure "perimeter $1" "$binary" run "$here/$2" --param "src=$3" --param "out=$out/ours" --param "keys=$work/keys" ${LIMIT:+--memory-limit "$LIMIT"}
}
polars() {  # LABEL ARGUMENTS…
  rm -rf "$out/polars"
  measure "polars $1" "$python" "$bench/b_polars.py" "${@:2}"
}
for _ in $(seq "$runs"); do
  if [[ "W" =~ ^(${PARTS:-.*})$ ]]; then
    ours W w.job.yaml "$data/parquet"
    polars W "$data/parquet" "$out/polars"
  fi
  if [[ "W-seq" =~ ^(${PARTS:-.*})$ ]]; then
    ours W-seq w_seq.job.yaml "$data/parquet"
    polars W-seq "$data/parquet" "$out/polars" --no-table
  fi
  if [[ "W csv" =~ ^(${PARTS:-.*})$ ]]; then
    ours "W csv" w_csv.job.yaml "$data/csv"
    polars "W csv" "$data/csv" "$out/polars" --format csv
  fi
done
"$python" - "$RESULTS/results.jsonl" "$rows" <<'P'
import json, statistics, sys
runs = {}
for line in open(sys.argv[1]):
    entry = json.loads(line)
    runs.setdefault(entry["label"], []).append(entry)
print(f"\n{int(sys.argv[2]):,} rows, medians       wall s    cpu s   peak MB   runs")
median = {k: {f: statistics.median(e[f] for e in v) for f in ("wall_s", "cpu_s", "peak_rss_mb")} for k, v in runs.items()}
for label, m in median.items():
    failed = [code for e in runs[label] for code in e["rc"] if code]
    noisy = " noisy: others used the machine" if any(n for e in runs[label] for n in e["noisy"]) else ""
    print(f"{label:24} {m['wall_s']:8.2f} {m['cpu_s']:8.2f} {m['peak_rss_mb']:9.0f}   {[e['wall_s'] for e in runs[label]]}{noisy}{f' FAILED {failed}' if failed else ''}")
for label in [l.removeprefix("perimeter ") for l in median if l.startswith("perimeter ")]:
    a, b = median["perimeter " + label], median.get("polars " + label)
    if b:
        print(f"{label}: perimeter takes {a['wall_s'] / b['wall_s']:.2f} of Polars' time, {a['cpu_s'] / b['cpu_s']:.2f} of its CPU, {a['peak_rss_mb'] / b['peak_rss_mb']:.2f} of its memory")
sys.exit(any(code for v in runs.values() for e in v for code in e["rc"]))
P
