"""Make sampler-vectors.json with the real package and check it against an
independent model of both modes (pip install loaderx==0.5.0).

All integers that may exceed 2^53 are written as decimal strings.
Usage:  python make_sampler_vectors.py [OUT_FILE]
"""
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from loaderx._sampler import Sampler

SETS = [(1, 4, 42), (2, 3, 0), (7, 1, 1), (10, 4, 42), (10, 25, 42), (1000, 256, 42), (60000, 256, 0),
        (60000, 256, 42), (50000, 128, 2**63), (60000, 64, 2**64 - 1), (2**24, 256, 42),
        (2**24, 1000, 2**64 - 1), (2**24 - 1, 512, 12345), (2**32 + 7, 32, 5), (2**53, 16, 9), (2**64 - 1, 16, 9)]
TOTAL = 1_000_000
MASK = (1 << 64) - 1


def model(length, mode, seed, count, cursor=0):
    if mode == 0:
        return [i % length for i in range(count)]
    a = b = c = seed
    n = 1
    out = []
    for i in range(12 + count):
        t = (a + b + n) & MASK
        n = (n + 1) & MASK
        a, b, c = b ^ (b >> 11), (c + (c << 3)) & MASK, (((c << 24 | c >> 40) & MASK) + t) & MASK
        if i >= 12:
            out.append((t * length) >> 64)
    return out


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "vectors" / "sampler-vectors.json"
    vectors = []
    for length, batch, seed in SETS:
        for mode in (0, 1):
            s = Sampler(length, batch, mode, seed)
            parts, have = [], 0
            while have < TOTAL:
                parts.append(s.next())
                have += batch
            stream = np.concatenate(parts)[:TOTAL].astype("<u8")
            assert stream.tolist() == model(length, mode, seed, TOTAL), (length, batch, seed, mode)
            vectors.append({"length": str(length), "batch": batch, "mode": mode, "seed": str(seed),
                            "first32": [str(v) for v in stream[:32].tolist()],
                            "sha256_first_1000000_u64le": hashlib.sha256(stream.tobytes()).hexdigest()})
    head = {"made_with": "loaderx 0.5.0",
            "note": "the stream is the concatenation of consecutive batches; mode 0 sequential, mode 1 iid; "
                    "integers as decimal strings; every stream also equals the model in make_sampler_vectors.py"}
    rows = ",\n".join("    " + json.dumps(v) for v in vectors)
    out.write_text(json.dumps(head, indent=2)[:-2] + ',\n  "vectors": [\n' + rows + "\n  ]\n}\n")
    print(len(vectors), "vectors")


if __name__ == "__main__":
    main()
