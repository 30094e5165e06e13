#!/usr/bin/env python3
"""Checks our token ids against the Python package `tokenizers`, on Portuguese and English notes of the corpora.

usage: check_tokens.py CORPORA

Both sides encode the same texts and hash the ids: the digests below stand in the Rust test `shape::tokenize::tests::the_corpora_encode_as_in_python` too.
The tokenizers are small ones of our own, in `tokenizers/` beside this file: byte-level BPE as GPT-2 has it, WordPiece as BERT, Unigram as T5. Prints one
line per check; exit code 1 when one fails.
"""
import hashlib
import json
import pathlib
import sys

import numpy as np

DIGESTS = {
    "byte_level_bpe": "9aeff310941113d6296f0278e99b69a3caf0f90708212baa31b811dc09083d10",
    "word_piece": "66499f379e9b4cb66f4f7efb101bf72c4afb211ca20d07a73acc9ec82f33dc48",
    "unigram": "388fdf4bbe255ff6147872be3fc2b61253272237e1d3582d133a982c5e75f370",
}
NOTES = ["notes_pt_BR.jsonl", "notes_en_US.jsonl"]


def main(corpora):
    """The command."""
    try:
        import tokenizers
    except ImportError:
        print("skipped: tokenizers is not installed")
        return 0
    folder = corpora / "financial" / "faker_synthetic"
    if not folder.is_dir():
        print(f"skipped: no {folder}")
        return 0
    texts = [json.loads(line)["text"] for name in NOTES for line in (folder / name).read_text().splitlines()]
    failed = 0
    for name, expected in DIGESTS.items():
        tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(__file__).parent / "tokenizers" / f"{name}.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        digest = hashlib.sha256()
        tokens = 0
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            digest.update(np.array([len(ids), *ids], dtype="<i8").tobytes())
            tokens += len(ids)
        wrong = digest.hexdigest() != expected
        failed += wrong
        print(f"{'FAILED' if wrong else 'ok'}: {name}, {tokens} tokens of {len(texts)} texts{': ' + digest.hexdigest() if wrong else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
