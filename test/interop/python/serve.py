"""Operate stores with the reference package on request (pip install loaderx==0.5.0).

Reads one JSON object a line from standard input, answers with one JSON line each: {"result": ...} or
{"error": name, "code": code, "message": text}. Every request opens the store anew and closes it, as the package does
not see what another process did to an open store. Bytes travel as base64.

  {"op": "append",  "store": path, "codec": "raw" | "flate", "records": [base64, ...]}   -> index of the first
  {"op": "records", "store": path}                                                       -> [base64, ...]
  {"op": "delete",  "store": path, "indices": [i, ...]}                                  -> records left
  {"op": "compact", "store": path}                                                       -> stats
  {"op": "stats",   "store": path}                                                       -> stats
"""
import base64
import json
import sys

import numpy as np
from loaderx import Zrecord


def append(z, request):
    records = [base64.b64decode(text) for text in request["records"]]
    lengths = np.array([len(record) for record in records], np.uint64)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)
    source = np.frombuffer(b"".join(records), np.uint8)
    return int(z.append_var(source, offsets, lengths, codec=request["codec"]))


def records(z, request):
    count = len(z)
    if count == 0:
        return []
    indices = np.arange(count, dtype=np.uint64)
    lengths = z.lengths(indices).astype(np.uint64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    out = np.full(int(offsets[-1]), 0xEE, np.uint8)
    z.gather_var(indices, out, offsets[:-1])
    return [base64.b64encode(out[int(a):int(b)].tobytes()).decode() for a, b in zip(offsets[:-1], offsets[1:])]


def delete(z, request):
    z.delete(request["indices"])
    return len(z)


def compact(z, request):
    z.compact()
    return z.stats()


def stats(z, request):
    return z.stats()


OPERATIONS = {f.__name__: f for f in (append, records, delete, compact, stats)}

for line in sys.stdin:
    request = json.loads(line)
    try:
        with Zrecord(request["store"]) as z:
            answer = {"result": OPERATIONS[request["op"]](z, request)}
    except Exception as e:
        answer = {"error": type(e).__name__, "code": getattr(e, "code", None), "message": str(e)}
    print(json.dumps(answer), flush=True)
