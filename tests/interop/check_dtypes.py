#!/usr/bin/env python3
"""Checks our bfloat16 and float16 against ml_dtypes and numpy, bit for bit.

usage: check_dtypes.py

Both sides convert the same inputs and hash the results: the digests below stand in the Rust test
`shape::dtype::tests::digests_that_ml_dtypes_gives` too, which hashes what we write. Inputs are, for each of the 65,536 upper halves of a float32, six
lower halves: exact, just above, just below the middle, the middle, just above it, and the last. Prints one line per check; exit code 1 when one fails.
"""
import hashlib
import sys

import numpy as np

DIGESTS = {
    "bfloat16 of float32": "6cf8143dd41834d44febab198c7e0b943cd126485e25efc4045013a4a226738f",
    "bfloat16 of float64": "2a05dad98c5b630282ef2390721bdfedec7ed87aabbbfecec7f97209e91527a6",
    "float16 of float64": "86433b03f624d2441008f421b183c5a3bf637f11ca8abad90b04b1dad5da523f",
    "bfloat16 of int64": "ee0849b0d3dabed0d17260dc6e5c2a8e56def941cc2e023475ab6d41c5e92fd2",
}


def inputs():
    """The float32 inputs, and doubles about them: each float32, and its two neighbours among the doubles."""
    lower = np.array([0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], dtype=np.uint32)
    bits = ((np.arange(65536, dtype=np.uint32) << 16)[:, None] | lower[None, :]).reshape(-1)
    floats = bits.view(np.float32)
    numbers = floats[np.isfinite(floats) & (floats != 0)].astype(np.float64).view(np.uint64)
    doubles = np.stack([numbers - np.uint64(1), numbers, numbers + np.uint64(1)], axis=1).reshape(-1).view(np.float64)
    steps = np.arange(63, dtype=np.int64)
    ints = (np.int64(1) << steps)[:, None] + np.arange(-3, 4, dtype=np.int64)[None, :]
    # What a bfloat16 rounds: eight bits, a middle, and one beyond it.
    ints = np.concatenate([ints.reshape(-1), ((np.int64(0x181) << np.arange(54, dtype=np.int64))[:, None] + np.arange(-1, 2, dtype=np.int64)[None, :]).reshape(-1)])
    return floats, doubles, np.concatenate([ints, -ints])


def main():
    """The command."""
    try:
        import ml_dtypes
    except ImportError:
        print("skipped: ml_dtypes is not installed")
        return 0
    floats, doubles, ints = inputs()
    with np.errstate(all="ignore"):
        results = {
            "bfloat16 of float32": floats.astype(ml_dtypes.bfloat16),
            "bfloat16 of float64": doubles.astype(ml_dtypes.bfloat16),
            "float16 of float64": doubles.astype(np.float16),
            "bfloat16 of int64": ints.astype(ml_dtypes.bfloat16),
        }
    failed = 0
    for name, result in results.items():
        digest = hashlib.sha256(result.view(np.uint16).astype("<u2").tobytes()).hexdigest()
        wrong = digest != DIGESTS[name]
        failed += wrong
        print(f"{'FAILED' if wrong else 'ok'}: {name}, {len(result)} values{': ' + digest if wrong else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
