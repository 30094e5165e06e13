#!/usr/bin/env bash
# memory.sh [SMALL=200000] [LARGE=5000000] [LIMIT=1GiB]: peak memory of workload W at two sizes under one --memory-limit.
# The large input is many times the limit's share of it: a pipeline that is not streaming shows. Variables as in run.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bench=${BENCH:-$root/../shared/bench}
work=${BENCH_DIR:-${TMPDIR:-/tmp}/perimeter-bench}
binary=${PERIMETER:-${CARGO_TARGET_DIR:-$root/target}/release/perimeter}
small=${1:-200000} large=${2:-5000000} limit=${3:-1GiB}
python="$work/venvs/py/bin/python"
[ -x "$python" ] || { echo "run run.sh first: it makes the environment"; exit 2; }
[ -x "$binary" ] || { echo "no binary at $binary: cargo build --release, or set PERIMETER"; exit 2; }
export RESULTS="$work/results/memory"
rm -rf "$RESULTS"
mkdir -p "$work/keys"
for rows in "$small" "$large"; do
  data="$work/data/$rows"
  [ -f "$data/truth.json" ] || "$python" "$bench/gen.py" "$rows" "$data" --formats parquet
  rm -rf "$work/out/memory"
  "$python" "$bench/meas.py" "$rows" 1 -- "$binary" run "$here/w.job.yaml" --param "src=$data/parquet" --param "out=$work/out/memory" --param "keys=$work/keys" --memory-limit "$limit"
done
rm -rf "$work/out/memory"
"$python" - "$RESULTS/results.jsonl" "$limit" <<'P'
import json, re, sys
number, unit = re.fullmatch(r"(\d+)\s*([KMGkmg]i?)?B?", sys.argv[2]).groups()
limit = int(number) * {None: 1, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "k": 10 ** 3, "m": 10 ** 6, "g": 10 ** 9}[unit.lower() if unit else None]
bad = False
for line in open(sys.argv[1]):
    e = json.loads(line)
    over = e["peak_rss_mb"] * 1e6 > limit
    bad |= over or any(e["rc"])
    print(f"{int(e['label']):>10,} rows: {e['wall_s']:7.2f} s, {e['peak_rss_mb']:6} MB of {limit / 1e6:.0f}{'  OVER THE LIMIT' if over else ''}{f'  FAILED {e[chr(114) + chr(99)]}' if any(e['rc']) else ''}")
sys.exit(bad)
P
