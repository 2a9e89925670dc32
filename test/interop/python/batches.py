"""Print the SHA-256 of each of the first batches that the reference's DataLoader gives (pip install loaderx==0.5.0).

Usage:  python batches.py DATA LABELS COUNT BATCH_SIZE MODE SEED

One worker, so that the batches come in the sampler's order. A batch's hash is that of the bytes of its data followed
by those of its labels. Prints a JSON list.
"""
import hashlib
import json
import os
import sys

from loaderx import DataLoader, Dataset

data, labels = Dataset(sys.argv[1]), Dataset(sys.argv[2])
count, batch_size, mode, seed = map(int, sys.argv[3:])
loader = DataLoader(data, labels, num_workers=1, batch_size=batch_size, mode=mode, seed=seed)
hashes = []
for _ in range(count):
    batch = next(loader)
    hashes.append(hashlib.sha256(batch["data"].tobytes() + batch["label"].tobytes()).hexdigest())
print(json.dumps(hashes), flush=True)
# The package's close() can wait for ever.
os._exit(0)
