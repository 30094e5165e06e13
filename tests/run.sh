#!/usr/bin/env bash
# Everything that has to hold, in one command:   tests/run.sh
#
# Needs Rust, Python 3.11 or later with venv, and the package registries. Makes a Python environment under target/ (kept until its requirements
# change), then: formatting, dependency rules, the build, unit and integration tests, clippy, documentation, and tests/end_to_end/ (the demo and
# what reads it, leaks, determinism, S3 and KMS, the corpora). Tests that need ../shared/corpora are skipped, and say so, where it is not there.
# CARGO_TARGET_DIR is respected. `tests/run.sh end-to-end` runs the last part alone, with the binary that is there.
# Prints `N passed, N failed` at the end; exit code 0 when none failed.
set -uo pipefail
exec < /dev/null
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
only=${1:-all}
passed=0 failed=0 skipped=0
failures=()
mkdir -p target/tests
log=target/tests/step.log

step() {  # NAME COMMAND…: one check
  local name=$1; shift
  echo "== $name"
  if "$@" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); failures+=("$name"); echo "FAILED: $name"; fi
}

counted() {  # NAME COMMAND…: a command that counts for itself, as `cargo test` and our Python checks do
  local name=$1 code p f s; shift
  echo "== $name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  read -r p f s < <(awk '
    /^test result:/ { for (i = 1; i < NF; i++) { if ($(i + 1) ~ /^passed/) p += $i; if ($(i + 1) ~ /^failed/) f += $i; if ($(i + 1) ~ /^ignored/) s += $i } }
    /^ok: / { p++ } /^FAILED: / { f++ } /^skipped: / { s++ }
    END { print p + 0, f + 0, s + 0 }' "$log")
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  if [ "$code" -ne 0 ] || [ "$f" -gt 0 ]; then failures+=("$name"); [ "$f" -gt 0 ] || failed=$((failed + 1)); fi
  if [ "$code" -eq 0 ] && [ "$p" -eq 0 ]; then failures+=("$name ran nothing"); failed=$((failed + 1)); fi
}

finish() {
  echo
  for name in "${failures[@]+"${failures[@]}"}"; do echo "failed: $name"; done
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

hash=$( { python3 --version; cat tests/interop/requirements.txt; } | sha256sum | cut -c1-16)
venv=$PWD/target/tests/venv-$hash
if [ ! -e "$venv/complete" ]; then
  echo "== Python environment (once for each state of tests/interop/requirements.txt)"
  rm -rf "$venv"
  if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' && python3 -m venv "$venv" \
    && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt; then
    touch "$venv/complete"
  else
    echo "FAILED: the Python environment cannot be made (Python 3.11 or later with venv is needed)"
    failed=1; failures+=("Python environment"); finish
  fi
fi

if [ "$only" = all ]; then
  step "cargo fmt" cargo fmt --all -- --check
  step "dependencies against deny.toml" "$venv/bin/python" tests/support/dependencies.py
  if command -v cargo-deny > /dev/null; then step "cargo deny" cargo deny --locked check licenses bans sources; fi
  step "cargo build" cargo build --release --locked
  export PERIMETER_PYTHON="$venv/bin/python"      # for the tests that compare with the official writers and messages
  counted "cargo test" cargo test --release --locked --workspace --no-fail-fast
  step "cargo clippy" cargo clippy --release --locked --workspace --all-targets -- -D warnings
  RUSTDOCFLAGS="-D warnings -D missing_docs" step "cargo doc" cargo doc --release --locked --workspace --no-deps
fi
counted "end to end" "$venv/bin/python" tests/end_to_end "$target/release/perimeter"
finish
