#!/usr/bin/env python3
"""Checks the loader of loader.py on a finished data set.

usage: check_loader.py VERSION_DIR

All hosts take the same bucket at the same step and have as many steps; every record comes exactly once an epoch; epochs differ; a state saved at step N and
restored gives the same batches, whatever reads ahead; and a jitted step compiles once per bucket. Prints one line per check; exit code 1 when one fails.
"""
import collections
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np

from loader import MASK, BucketSteps, batches

BATCH = 4


def digest(batch):
    """A batch as something that compares."""
    return {name: (value.dtype.str, value.shape, value.tobytes()) for name, value in batch.items()}


def main(version):
    """The command."""
    jax.config.update("jax_enable_x64", True)
    failures = []

    def check(name, wrong):
        print(f"{'ok' if not wrong else 'FAILED'}: {name}{': ' + '; '.join(map(str, wrong[:3])) if wrong else ''}")
        failures.extend(wrong)

    manifest = json.loads((version / "manifest.json").read_text())
    written = collections.Counter()
    for shard in manifest["shards"]:
        written[shard.get("bucket")] += shard["records"]
    written = +written

    hosts = [BucketSteps(version, BATCH, seed=11, epochs=2, host=host, hosts=3) for host in range(3)]
    wrong = [f"{[len(host) for host in hosts]} steps"] if len({len(host) for host in hosts}) != 1 else []
    shapes = collections.defaultdict(set)
    for step in range(len(hosts[0])):
        taken = {host.bucket(step) for host in hosts}
        seen = {tuple(sorted((name, value.shape) for name, value in host[step].items())) for host in hosts}
        shapes[hosts[0].bucket(step)] |= seen
        if len(taken) != 1 or len(seen) != 1:
            wrong.append(f"step {step}: buckets {taken}")
    check(f"3 hosts take one bucket a step over {len(hosts[0])} steps", wrong)
    check(f"each of {len(shapes)} buckets has one shape", [b for b, seen in shapes.items() if len(seen) != 1])

    # Every record, told apart by all that it holds.
    names = [name for name in json.loads((version / "shapes.json").read_text())["splits"][0]["features"]]
    names = [feature["name"] for feature in names]
    wrong, orders = [], []
    readers = [BucketSteps(version, BATCH, seed=11, epochs=2, host=host, hosts=3, features=names) for host in range(3)]
    for epoch in range(2):
        found, order = collections.Counter(), []
        for at in range(readers[0].steps_per_epoch):
            step = epoch * readers[0].steps_per_epoch + at
            for reader in readers:
                batch = reader[step]
                for row in np.flatnonzero(batch[MASK]):
                    key = (reader.bucket(step), *(repr(batch[name][row].tolist() if hasattr(batch[name][row], "tolist") else batch[name][row]) for name in names))
                    found[key] += 1
                    order.append(key)
        by_bucket = collections.Counter()
        for key, count in found.items():
            by_bucket[key[0]] += count
        if by_bucket != written or len(orders) and found != collections.Counter(orders[0]):
            wrong.append(f"epoch {epoch}: {dict(by_bucket)} for {dict(written)}")
        orders.append(order)
    check(f"{sum(written.values())} records come exactly once an epoch over all hosts", wrong)
    check("the second epoch has another order", [] if orders[0] != orders[1] else ["the same"])
    other = BucketSteps(version, BATCH, seed=12, epochs=2)
    same = BucketSteps(version, BATCH, seed=11, epochs=2)
    check("another seed has another order", [] if [digest(other[s]) for s in range(len(other))] != [digest(same[s]) for s in range(len(same))] else ["the same"])

    whole = [digest(batch) for batch in batches(same)]
    check("threads and prefetch do not show", [] if whole == [digest(same[step]) for step in range(len(same))] else ["other batches"])
    wrong = []
    for stop in (0, 1, len(same) // 2, len(same) - 1):
        iterator = iter(batches(same))
        head = [digest(next(iterator)) for _ in range(stop)]
        state = json.loads(json.dumps(iterator.get_state()))
        for _ in range(min(2, len(same) - stop)):               # what comes after the checkpoint and before the crash
            next(iterator)
        again = iter(batches(BucketSteps(version, BATCH, seed=11, epochs=2), threads=1, prefetch=1))
        again.set_state(state)
        if head + [digest(batch) for batch in again] != whole:
            wrong.append(f"saved at step {stop}")
    check("a saved state gives the same batches after it, through another reader", wrong)

    dropped = BucketSteps(version, 2, seed=3, remainder="drop")
    lost = {bucket: records % 2 for bucket, records in written.items() if records % 2}
    check(f"remainder='drop' leaves out {sum(lost.values())} records an epoch",
          [] if len(dropped) == sum(records // 2 for records in written.values()) and MASK not in dropped[0] else [f"{len(dropped)} steps"])

    traces = []

    @jax.jit
    def train_step(state, batch):
        traces.append(1)                                        # runs while tracing only
        return state + sum(jnp.sum(value.astype(jnp.float64)) for value in batch.values())

    state = jnp.float64(0)
    for batch in batches(same):
        state = train_step(state, batch)
    used = len({same.bucket(step) for step in range(len(same))})
    check(f"a jitted step over {len(same)} steps of 2 epochs compiles {train_step._cache_size()} times for {used} buckets",
          [] if train_step._cache_size() == len(traces) == used and bool(jnp.isfinite(state)) else ["not once per bucket"])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
