"""Make golden/<case>/ with the real package (pip install loaderx==0.5.0).

Deterministic: all data comes from small closed formulas and a fixed 32-bit LCG,
never from a library generator, so a rerun writes byte-identical files with the
same loaderx version.  Every case is restored from its trimmed form and read
back through the package before it counts.

Usage:  python make_golden.py [OUT_DIR]        (default: test/vectors/golden)

Each case directory holds: expected.json (manifest, header, table, per-record
length and SHA-256, stats), meta.trimmed, N.zr.trimmed (or N.zr.at-OFFSET for a
range that does not start at 0) and schema.json when the store is a Dataset.
See store_files.py for how a test restores a store.
"""
import hashlib
import json
import shutil
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from loaderx import Dataset, Zrecord

from store_files import read_header, restore, trim

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "vectors" / "golden"
CASES = {}


def case(description):
    def register(fn):
        CASES[fn.__name__] = (description, fn)
        return fn
    return register


def noise(n, seed):
    """n bytes from the LCG x = 1664525 x + 1013904223 mod 2^32 (bits 24..31)."""
    a, c, m = 1664525, 1013904223, (1 << 32) - 1
    # jump in blocks: x[i+k] from x[i] by the closed form, vectorised
    x = np.empty(n, dtype=np.uint64)
    s = np.uint64(seed & m)
    block = 4096
    mul = np.empty(block, dtype=np.uint64)
    add = np.empty(block, dtype=np.uint64)
    pm, pa = 1, 0
    for i in range(block):
        pm, pa = (pm * a) & m, (pa * a + c) & m
        mul[i], add[i] = pm, pa
    for at in range(0, n, block):
        k = min(block, n - at)
        x[at:at + k] = (mul[:k] * s + add[:k]) & np.uint64(m)
        s = x[at + k - 1]
    return (x >> np.uint64(24)).astype(np.uint8)


def digits(n, size=28):
    """n smooth, mostly black size x size images that deflate well."""
    y, x = np.mgrid[0:size, 0:size]
    out = np.zeros((n, size, size), np.uint8)
    for i in range(n):
        d = (x - 6 - i % 16) ** 2 + (y - 6 - (i * 7) % 16) ** 2
        out[i] = np.clip(255 - 12 * np.abs(d - 30), 0, 255)
    return out


def set_header(store, **fields):
    with open(store / "meta.zr", "r+b") as f:
        h = list(struct.unpack("<4sHHII", f.read(16)))
        for i, name in enumerate(("magic", "version", "tail_chunk", "tail_offset", "length")):
            if name in fields:
                h[i] = fields[name]
        f.seek(0)
        f.write(struct.pack("<4sHHII", *h))


@case("Dataset of 40 uint8 10x10 samples, codec raw")
def raw_u8(p):
    Dataset.write(p, noise(4000, 1).reshape(40, 10, 10), codec="raw").close()


@case("Dataset of 30 uint8 28x28 samples that all shrink, codec flate")
def flate_u8(p):
    Dataset.write(p, digits(30)).close()


@case("codec flate over records of which every second one does not shrink and is stored raw")
def mixed_fallback(p):
    a = digits(20, 25).reshape(20, 625)
    a[1::2] = noise(10 * 625, 7).reshape(10, 625)
    Dataset.write(p, a).close()


@case("500 int64 scalars (shape [] in the schema); 8-byte records are never compressed")
def scalars_i64(p):
    Dataset.write(p, (np.arange(500, dtype=np.int64) * 1_000_003) % 997 - 300).close()


@case("10 float32 samples of shape 3x16x16 with NaN (quiet and with payload), infinities, -0.0 and denormals")
def images_f32(p):
    a = (np.arange(7680) % 97).astype(np.float32).reshape(10, 3, 16, 16) * np.float32(0.125)
    bits = a.view(np.uint32)
    bits[0, 0, 0, :8] = [0x7FC00000, 0xFFC00001, 0x7F800001, 0x7F800000, 0xFF800000, 0x80000000, 1, 0x807FFFFF]
    Dataset.write(p, a).close()


@case("ragged byte records through append_var (no schema.json); sources overlap and are out of order")
def ragged(p):
    src = np.concatenate([noise(3000, 3), np.zeros(3000, np.uint8), digits(4).reshape(-1)])
    offs = np.array([0, 2990, 3000, 6000, 17, 5999, 9000, 2500, 1, 4000], np.uint64)
    lens = np.array([1, 20, 3000, 3136, 2900, 1, 136, 1000, 16, 17], np.uint32)
    with Zrecord(p, codec="flate") as z:
        z.append_var(src, offs, lens)
        z.append_var(src, offs[::-1], lens[::-1], codec="raw")


def _fifty(p):
    a = np.zeros((50, 120), np.uint8)
    a[:] = np.arange(50)[:, None]
    a[::3, 20:] = noise(17 * 100, 11).reshape(17, 100)
    Dataset.write(p, a).close()


@case("50 records, then delete [49, 3, 3, 17, 0, 48, 20]: 44 left, order permuted, bytes still on disk")
def deleted(p):
    _fifty(p)
    with Dataset(p) as d:
        d.delete([49, 3, 3, 17, 0, 48, 20])


@case("as `deleted`, then compact: dense in physical order, table order unchanged")
def deleted_compacted(p):
    deleted(p)
    with Dataset(p) as d:
        d.compact()


@case("as `deleted`, then 5 more records: new bytes after the old frontier, indices from 44")
def deleted_appended(p):
    deleted(p)
    a = np.full((5, 120), 200, np.uint8)
    a[:, 0] = np.arange(5)
    Dataset.write(p, a).close()


@case("as `deleted_compacted`, then 5 more records: they overwrite bytes the compaction freed")
def compacted_appended(p):
    deleted_compacted(p)
    a = np.full((5, 120), 201, np.uint8)
    a[:, 0] = np.arange(5)
    Dataset.write(p, a).close()


@case("20 records, all deleted (length 0, frontier not 0)")
def all_deleted(p):
    Dataset.write(p, noise(20 * 32, 5).reshape(20, 32), codec="raw").close()
    with Dataset(p) as d:
        d.delete(list(range(20)))


@case("store made by opening a missing path and closing it")
def empty(p):
    Zrecord(p).close()


@case("Dataset written from an array with 0 rows")
def empty_dataset(p):
    Dataset.write(p, np.zeros((0, 4), np.float32)).close()


@case("append calls with record sizes 1, 4, 12, 16 and 17 of constant bytes, codec flate: only 17 is compressed")
def tiny(p):
    with Zrecord(p, codec="flate") as z:
        for size in (1, 4, 12, 16, 17):
            a = np.zeros((6, size), np.uint8)
            a[:] = np.arange(6)[:, None] + size
            z.append(a, 6, size)


@case("two records of exactly 1048576 bytes: noise (stored raw) and a ramp (deflated)")
def one_mib(p):
    n = 1 << 20
    with Zrecord(p, codec="flate") as z:
        z.append(noise(n, 9), 1, n)
        z.append((np.arange(n) // 64 % 256).astype(np.uint8), 1, n)


@case("frontier moved to 2^32-1000 by editing the header of an empty store, then 7 records of 300 bytes: "
      "three stay in chunk 0, the rest roll over to chunk 1")
def multi_chunk(p):
    Zrecord(p).close()
    set_header(p, tail_offset=2**32 - 1000)
    with Zrecord(p, codec="raw") as z:
        z.append(noise(2100, 13).reshape(7, 300), 7, 300)


@case("a record that would end exactly at 2^32 does not fit (>=): it goes to chunk 1 at offset 0")
def rollover_exact(p):
    Zrecord(p).close()
    set_header(p, tail_offset=2**32 - 100)
    with Zrecord(p, codec="raw") as z:
        z.append(noise(100, 14), 1, 100)


@case("a record that ends at 2^32-1 still fits: tail_offset becomes 4294967295; the next record rolls over")
def rollover_last_byte(p):
    Zrecord(p).close()
    set_header(p, tail_offset=2**32 - 101)
    with Zrecord(p, codec="raw") as z:
        z.append(noise(100, 15), 1, 100)
        z.append(noise(1, 16), 1, 1)


@case("three sessions with different codecs on one Dataset: the schema keeps the first codec, which every append uses")
def three_sessions(p):
    for i, codec in enumerate(("flate", "raw", "flate")):
        Dataset.write(p, digits(4 + i), codec=codec).close()


@case("rows written with a small chunk_bytes so that one write makes many append calls")
def many_appends(p):
    Dataset.write(p, digits(25), chunk_bytes=2000).close()


@case("deflate streams made by zlib, not by the package, that the package decodes: stored, fixed, dynamic, "
      "several blocks, flush points inside, an empty block before the data, 9-bit window, trailing bytes after the end")
def deflate_kinds(p):
    data = digits(6).reshape(-1)[:4000].tobytes()
    rnd = noise(700, 21).tobytes()

    def z(d, level=6, bits=-15, mem=8, strategy=0):
        c = zlib.compressobj(level, zlib.DEFLATED, bits, mem, strategy)
        return c.compress(d) + c.flush()

    def mid(d, how):
        c = zlib.compressobj(6, zlib.DEFLATED, -15)
        return c.compress(d[:1500]) + c.flush(how) + c.compress(d[1500:]) + c.flush()

    def stored(d, final):
        return bytes([final]) + struct.pack("<HH", len(d), len(d) ^ 0xFFFF) + d

    streams = [(z(data, l), data) for l in (1, 2, 3, 6, 9)]
    streams += [(z(data, 6, -15, 8, s), data) for s in (zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)]
    streams += [(z(data, 6, -9, 1), data), (mid(data, zlib.Z_SYNC_FLUSH), data), (mid(data, zlib.Z_FULL_FLUSH), data)]
    streams += [(z(rnd, 0), rnd), (stored(rnd[:300], 0) + stored(rnd[300:], 1), rnd), (stored(b"", 0) + stored(rnd, 1), rnd),
                (stored(rnd, 0) + b"\x03\x00", rnd), (z(data) + b"\xff" * 40, data), (z(b"\x00"), b"\x00")]
    Zrecord(p).close()
    table, at = b"", 0
    with open(p / "0.zr", "r+b") as f:
        for s, d in streams:
            f.write(s)
            table += struct.pack("<IIIHBB", at, len(s), len(d), 0, 1, 0)
            at += len(s)
    with open(p / "meta.zr", "r+b") as f:
        f.write(struct.pack("<4sHHII", b"ZREC", 1, 0, at, len(streams)) + table)


def dtype_case(name, array):
    CASES["dtype_" + name] = (f"Dataset of dtype {array.dtype.str}, {len(array)} rows of shape {list(array.shape[1:])}",
                              lambda p: Dataset.write(p, array).close())


dtype_case("bool", (np.arange(60).reshape(6, 10) % 3 == 0))
dtype_case("i8", (np.arange(60).reshape(6, 10) * 5 - 128).astype(np.int8))
dtype_case("u16", (np.arange(60).reshape(6, 10) * 1009).astype(np.uint16))
dtype_case("i32", (np.arange(60).reshape(6, 10) * -1234567).astype(np.int32))
dtype_case("u64", np.array([0, 1, 2**32, 2**53 + 1, 2**63, 2**64 - 1], np.uint64))
dtype_case("f16", (np.arange(60).reshape(6, 10) / 8).astype(np.float16))
dtype_case("f64", np.array([[0.1, -0.0], [np.nan, np.inf], [5e-324, 1.7976931348623157e308]], np.float64))
dtype_case("c64", (np.arange(12) + 1j * np.arange(12)[::-1]).astype(np.complex64).reshape(4, 3))
dtype_case("be_f32", (np.arange(60).reshape(6, 10) / 4).astype(">f4"))
dtype_case("datetime_ns", np.array(["2020-01-02", "1969-12-31T23:59:59.999999999", "NaT"], "M8[ns]"))
dtype_case("unicode5", np.array(["ab", "h\u00e9llo", "\u65e5\u672c"], "<U5"))
dtype_case("bytes3", np.array([b"ab", b"c", b"xyz"], "S3"))


def verify(store, info):
    sums, lengths = [], []
    with Zrecord(store) as z:
        assert len(z) == info["header"]["length"]
        for i in range(len(z)):
            n = int(z.lengths([i])[0])
            buf = np.full(n, 0xEE, np.uint8)
            z.gather([i], buf, n)
            lengths.append(n)
            sums.append(hashlib.sha256(buf.tobytes()).hexdigest())
        stats = z.stats()
    return lengths, sums, stats


def dump(info):
    """JSON with one record per line, so that diffs stay readable."""
    records = info.pop("records")
    text = json.dumps(info, indent=2)
    rows = ",\n".join("    " + json.dumps(r) for r in records)
    return text[:-2] + ',\n  "records": [' + ("\n" + rows + "\n  " if rows else "") + "]\n}\n"


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    total = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, (description, build) in CASES.items():
            store = Path(tmp) / name
            build(store)
            info = trim(store, OUT / name)
            lengths, sums, stats = verify(store, info)
            back = restore(OUT / name, Path(tmp) / "back", info)
            assert verify(back, info) == (lengths, sums, stats), name
            schema = json.loads((store / "schema.json").read_text()) if (store / "schema.json").is_file() else None
            if schema is not None:
                with Dataset(back) as d:
                    assert len(d) == len(lengths)
            records = [{"length": n, "sha256": s, **{k: e[k] for k in ("chunk", "offset", "phys", "codec")}}
                       for n, s, e in zip(lengths, sums, info.pop("table"))]
            result = {"case": name, "description": description, "made_with": "loaderx 0.5.0",
                      "count": len(lengths), "stats": stats, "schema": schema, **info, "records": records}
            (OUT / name / "expected.json").write_text(dump(result))
            size = sum(f.stat().st_size for f in (OUT / name).iterdir())
            assert size < 1.2 * 2**20, (name, size)
            total += size
            print(f"{name:22} {len(lengths):5} records {size:9} bytes")
            shutil.rmtree(store)
            shutil.rmtree(back)
    assert total < 6 * 2**20
    print("total", total)


if __name__ == "__main__":
    main()
