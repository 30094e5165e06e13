#!/usr/bin/env bash
# RUSTC_WRAPPER: libFuzzer's instrumentation for the crates under test only. Hashes and compressors are not what is tested, and with it they
# take nine tenths of the time.
rustc=$1
shift
case " $* " in
*" --crate-name array_record"* | *" --crate-name perimeter_contract "* | *" --crate-name contract "*) exec "$rustc" "$@" ;;
*" --crate-name perimeter_detect "*) exec "$rustc" "$@" ;;
*" --crate-name perimeter_fuzz "* | *" --crate-name perimeter_fuzz_text "* | *" --crate-name perimeter_fuzz_detect "*) exec "$rustc" "$@" ;;
esac
kept=()
for argument; do
    case $argument in
    *sanitizer-coverage* | -Cpasses=sancov* | -Cdebug-assertions) ;;
    *) kept+=("$argument") ;;
    esac
done
exec "$rustc" "${kept[@]}"
