"""End-to-end tests of the binary: what a user does, on real files, with the readers that users have.

usage: python tests/end_to_end BINARY [PATTERN]      PATTERN: regex over group names

Each module is one concern. A line per check (`ok:`, `FAILED:`, `skipped:`); exit code 1 when one fails.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import aws, bad_input, classify, contracts, corpora, demo, determinism, financial, ingest, key_lifecycle, key_secrets, leaks_everywhere, macie_gate, shapes, text  # noqa: E402
from harness import Perimeter, Suite, fresh  # noqa: E402


def main(binary, pattern="."):
    """The command."""
    suite, perimeter = Suite(), Perimeter(binary)
    if not perimeter.binary.exists():
        print(f"FAILED: no binary at {perimeter.binary}: cargo build --release")
        return 1
    fresh()
    groups = [demo.committed_files, demo.first_command, demo.faults_are_counted, demo.readers, demo.verify_notices, demo.again, demo.two_at_once, demo.rows_from_parquet,
              demo.says_nothing_raw, determinism.options, determinism.spilling, aws.everything_on_aws, aws.refusals, corpora.berka, corpora.tabformer,
              financial.contracts, financial.cfpb_formats, financial.determinism, financial.splitting, financial.says_nothing_raw,
              bad_input.inputs, bad_input.contracts, ingest.rules_about_sets, ingest.nested_json, ingest.fixed_width, contracts.examples_lint_clean, contracts.inferred, contracts.compared,
              classify.answers, classify.without_contracts, classify.examples, macie_gate.gate,
              text.same_tokens, text.nothing_left, text.same_bytes, text.plans, text.example_policy,
              shapes.overflow_and_encodings, shapes.packing, shapes.tokens, shapes.maxtext, shapes.auto_buckets, shapes.statistics,
              key_lifecycle.on_disk, key_lifecycle.on_aws, key_secrets.search_works, key_secrets.keys_are_nowhere,
              leaks_everywhere.detector_works, leaks_everywhere.nothing_leaked]
    for group in groups:
        if re.search(pattern, f"{group.__module__}.{group.__name__}"):
            suite.group(group, perimeter)
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
