"""A loader to copy: static batches from a data set of perimeter, with Grain.

    from loader import BucketSteps, batches
    steps = BucketSteps("cards/20261130T101500Z-1a2b3c4d", batch_size=64, seed=7, epochs=3, host=jax.process_index(), hosts=jax.process_count())
    iterator = iter(batches(steps))
    for batch in iterator:                    # {feature: numpy array of [batch_size, …]}
        state = train_step(state, batch)      # compiles once per bucket
    saved = iterator.get_state()              # at any step; iterator.set_state(saved) goes on from there (what Orbax's Grain handler does)

A step's batch is a function of (seed, step, host) alone. Which bucket a step takes is drawn from the seed and the step's number, so all hosts take the same
shape at the same step without talking to each other, and have the same number of steps. Records are shuffled within their bucket anew in every epoch, over
all shards; every host takes its part of each batch. Nothing here depends on how many threads or processes read.

`batch_size` is per host. What is left at the end of a bucket's epoch fills one more batch with zeros (`remainder="pad"`, with a bool feature `mask`), or is
left out until the next epoch's shuffle (`remainder="drop"`).

Needs grain and numpy; protobuf for `encoding: tfExample`, ml_dtypes for bfloat16.
"""
import functools
import json
import pathlib

import grain
import numpy as np

MASK = "mask"


class BucketSteps:
    """All steps of a training run as a random-access source: `len(steps)` of them, `steps[n]` a batch."""

    def __init__(self, version, batch_size, seed=0, epochs=1, split="train", features=None, host=0, hosts=1, remainder="pad"):
        """`version`: a sealed version's folder. `features`: the names to read; by default all that are numbers."""
        if not 0 <= host < hosts or batch_size < 1 or epochs < 1 or remainder not in ("pad", "drop"):
            raise ValueError("host must be below hosts, batch_size and epochs positive, remainder pad or drop")
        version = pathlib.Path(version)
        shapes = json.loads((version / "shapes.json").read_text())
        manifest = json.loads((version / "manifest.json").read_text())
        self._batch_size, self._seed, self._epochs, self._host, self._hosts, self._pad = batch_size, seed, epochs, host, hosts, remainder == "pad"
        self._encoding = shapes["encoding"]
        self.buckets = []                                       # None in row jobs
        self._specs, self._records, self._sources = [], [], []
        for entry in shapes["splits"]:
            bucket = entry.get("bucket")
            paths = [
                str(version / shard["path"])
                for shard in sorted(manifest["shards"], key=lambda shard: shard["path"])
                if shard["split"] == entry["name"] == split and shard.get("bucket") == bucket and shard["records"]
            ]
            if not paths:
                continue
            spec = {f["name"]: (f["dtype"], tuple(f["shape"])) for f in entry["features"]}
            wanted = [name for name, (dtype, _) in spec.items() if dtype != "bytes"] if features is None else list(features)
            if MASK in wanted and self._pad:
                raise ValueError(f"a feature is called `{MASK}`: choose `features` without it")
            self.buckets.append(bucket)
            self._specs.append((spec, wanted))
            source = grain.sources.ArrayRecordDataSource(paths)
            self._sources.append(source)
            # Grain shuffles anew in every epoch: index // length is the epoch.
            self._records.append(grain.MapDataset.source(source).shuffle(seed=_fold(seed, len(self.buckets))).repeat())
        if not self.buckets:
            raise ValueError(f"no records in split {split!r}")
        together = batch_size * hosts
        self._steps = [-(-len(s) // together) if self._pad else len(s) // together for s in self._sources]
        self.steps_per_epoch = sum(self._steps)
        if not self.steps_per_epoch:
            raise ValueError("no bucket fills a batch: take remainder='pad' or a smaller batch")

    def __len__(self):
        return self.steps_per_epoch * self._epochs

    def __repr__(self):                                         # Grain keeps it in its state: the state of another run is refused
        return (f"BucketSteps(steps={self._steps}, batch_size={self._batch_size}, seed={self._seed}, epochs={self._epochs}, "
                f"host={self._host}, hosts={self._hosts}, pad={self._pad})")

    @functools.lru_cache(maxsize=2)
    def _schedule(self, epoch):
        """Per step of an epoch: which bucket it takes, and which of the bucket's batches."""
        order = np.repeat(np.arange(len(self._steps)), self._steps)
        np.random.Generator(np.random.Philox(key=_fold(self._seed, 0), counter=epoch)).shuffle(order)
        place = np.empty_like(order)
        for bucket, steps in enumerate(self._steps):
            place[order == bucket] = np.arange(steps)
        return order, place

    def bucket(self, step):
        """The bucket of a step: the same on every host."""
        epoch, at = divmod(step, self.steps_per_epoch)
        return self.buckets[self._schedule(epoch)[0][at]]

    def __getitem__(self, step):
        epoch, at = divmod(int(step), self.steps_per_epoch)
        order, place = self._schedule(epoch)
        bucket = order[at]
        length = len(self._sources[bucket])
        first = (int(place[at]) * self._hosts + self._host) * self._batch_size
        here = range(min(first, length), min(first + self._batch_size, length))
        spec, wanted = self._specs[bucket]
        records = [self._records[bucket][epoch * length + index] for index in here]
        examples = [self._parse(record, spec, wanted) for record in records]
        batch = {}
        for name in wanted:
            dtype, shape = spec[name]
            kind = object if dtype == "bytes" else _numpy(dtype)
            batch[name] = np.zeros((self._batch_size, *shape), kind)
            for row, example in enumerate(examples):
                batch[name][row] = example[name]
        if self._pad:
            batch[MASK] = np.arange(self._batch_size) < len(examples)
        return batch

    def _parse(self, record, spec, wanted):
        if self._encoding == "tensor":
            arrays, at = {}, 0
            for name, (dtype, shape) in spec.items():
                kind = _numpy(dtype)
                count = int(np.prod(shape, dtype=np.int64))
                arrays[name] = np.frombuffer(record, kind, count, at).reshape(shape)
                at += count * kind.itemsize
            return arrays
        features = _example().FromString(record).features.feature
        arrays = {}
        for name in wanted:
            dtype, shape = spec[name]
            value = getattr(features[name], features[name].WhichOneof("kind")).value
            if dtype == "bytes":
                arrays[name] = value[0]
            elif dtype in ("bfloat16", "float16"):              # little-endian bytes: an Example's lists hold neither
                arrays[name] = np.frombuffer(value[0], _numpy(dtype)).reshape(shape)
            else:
                arrays[name] = np.array(value, _numpy(dtype)).reshape(shape)
        return arrays


def batches(steps, threads=4, prefetch=8, workers=0):
    """A Grain dataset of the steps, read ahead by threads, or by as many processes as `workers` says (Grain wants those under
    absl.app.run, or after flags.FLAGS.mark_as_parsed()). Its iterators have get_state and set_state."""
    data = grain.MapDataset.source(steps).to_iter_dataset(grain.ReadOptions(num_threads=threads, prefetch_buffer_size=prefetch))
    return data.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers)) if workers else data


def _fold(seed, stream):
    """One seed for each stream: as far as Grain takes one (32 bits)."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1)[0])


@functools.lru_cache(maxsize=None)
def _numpy(dtype):
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype).newbyteorder("<")


@functools.lru_cache(maxsize=None)
def _example():
    from example_proto import example_class                     # beside this file; or tf.train.Example

    return example_class()
