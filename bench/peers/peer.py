"""The Python peers of the bench: the original package and NumPy over a memory-mapped file.

The first line on standard input says where the data are; every further one asks for a number of batches of one case,
to be timed here ({"seconds", "cpu"}) or to be given back for a check ([{"indices", "bytes"}]).
"""
import base64
import importlib.metadata
import json
import platform
import sys
import time

import loaderx
import numpy as np

setup = json.loads(sys.stdin.readline())
batch_size, pool = setup["batchSize"], setup["poolBatches"]
x = np.load(setup["npy"]["data"], mmap_mode="r")
y = np.load(setup["npy"]["label"], mmap_mode="r")
lists = np.fromfile(setup["indices"], np.uint32).astype(np.uint64).reshape(pool, batch_size)
lists_i64 = lists.astype(np.int64)
record_bytes = int(x[0].nbytes)


class OriginalGather:
    """Its store's gather into one buffer again and again, as its own Dataset does into fresh ones."""

    group, name = "gather", "loaderx 0.5.0"

    def __init__(self):
        self.store = loaderx.Zrecord(setup["stores"]["data"], codec="raw")
        self.out = np.empty((batch_size, *x.shape[1:]), x.dtype)

    def batch(self, k):
        self.store.gather(lists[k % pool], self.out, record_bytes)
        return lists[k % pool], self.out


class MemmapIndex:
    group, name = "gather", "NumPy memmap, x[idx]"

    def batch(self, k):
        return lists[k % pool], x[lists_i64[k % pool]]


class MemmapTake:
    group, name = "gather", "NumPy memmap, take into one buffer"

    def __init__(self):
        self.out = np.empty((batch_size, *x.shape[1:]), x.dtype)

    def batch(self, k):
        # Without a mode other than the default, take makes a buffer of its own.
        np.take(x, lists_i64[k % pool], axis=0, out=self.out, mode="clip")
        return lists[k % pool], self.out


class OriginalLoader:
    """With its defaults, beside the size of a batch."""

    group, name = "loader", "loaderx 0.5.0, its defaults"

    def __init__(self):
        data = loaderx.Dataset(setup["stores"]["data"])
        label = loaderx.Dataset(setup["stores"]["label"])
        self.loader = loaderx.DataLoader(data, label, batch_size=batch_size)

    def batch(self, _k):
        batch = next(self.loader)
        return batch["label"], batch["data"]


class NumpyLoop:
    """The plain loop: draw indices, index both arrays."""

    group, name = "loader", "NumPy memmap, plain loop"

    def __init__(self):
        self.rng = np.random.default_rng(42)

    def batch(self, _k):
        idx = self.rng.integers(0, len(x), batch_size)
        return y[idx], x[idx]


cases = [OriginalGather(), MemmapIndex(), MemmapTake(), OriginalLoader(), NumpyLoop()]


def answer(value):
    print(json.dumps(value), flush=True)


answer({
    "cases": [{"group": case.group, "name": case.name} for case in cases],
    "versions": {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "loaderx (Python)": importlib.metadata.version("loaderx"),
    },
})
for line in sys.stdin:
    request = json.loads(line)
    case = cases[request["id"]]
    if "check" in request:
        batches = []
        for k in range(request["check"]):
            indices, data = case.batch(k)
            batches.append({"indices": indices.tolist(), "bytes": base64.b64encode(data.tobytes()).decode()})
        answer(batches)
        continue
    cpu, start = time.process_time(), time.perf_counter()
    for k in range(request["batches"]):
        case.batch(k)
    seconds = time.perf_counter() - start
    cpu = time.process_time() - cpu
    # Threads that fill batches ahead come to rest before another case runs.
    time.sleep(0.02)
    answer({"seconds": seconds, "cpu": cpu})
