#!/usr/bin/env bash
# records.sh [RUNS=5] [CASE]: our ArrayRecord writer and reader and the official library (PyPI array_record), in turn, on the same records; prints
# medians as ratios: official time over ours, so above 1 is faster. CASE picks by text, for example "512 group_size:1".
#
#   BENCH_DIR   where environment, records and files go (default: a folder under TMPDIR)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_DIR:-${TMPDIR:-/tmp}/perimeter-bench}
mkdir -p "$work"
python="$work/venvs/records/bin/python"
if [ ! -e "$work/venvs/records/ok" ]; then
  python3 -m venv "$work/venvs/records"
  "$work/venvs/records/bin/pip" install -q "$(grep '^array_record==' "$root/tests/interop/requirements.txt")"
  touch "$work/venvs/records/ok"
fi
(cd "$root" && cargo build --release --locked -p array_record --example measure)
"$python" "$here/records.py" "${CARGO_TARGET_DIR:-$root/target}/release/examples/measure" "$work/records" "${1:-5}" "${2:-}"
