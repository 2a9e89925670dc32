"""Make broken/<case>/: deliberately damaged stores, and record what loaderx 0.5.0
does with each (pip install loaderx==0.5.0; Linux).

Every case starts from one small Dataset (dtype |u1, shape [200], six records:
0-2 stored raw, 3-5 deflated) and changes one thing.  The reference is observed
in child processes (it may crash), with stdin connected to a file of 'S' bytes
so that reads from descriptor 0 are recognisable.

broken/expected.json holds, per case, the restore manifest (store_files.py), the
observed behaviour, and what a careful implementation should do.  In
"careful", records in fail_records must give a clear error, records in
may_differ_from_base may give other bytes (the format cannot tell), and all
others must give exactly the base bytes; "open": "fail" means that opening must
give a clear error and must not create or change any file.

Usage:  python make_broken.py [OUT_DIR]
"""
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from store_files import CHUNK_SIZE, META_SIZE, restore  # noqa: E402

OUT = Path(__file__).resolve().parents[2] / "vectors" / "broken"
SIZE = 200

CHILD = r'''
import hashlib, json, sys
import numpy as np
from loaderx import Dataset, Zrecord, ZrecordError
store, action, kind = sys.argv[1:4]
base = json.loads(sys.argv[4])
def say(**k): print(json.dumps(k), flush=True)
def err(e):
    # paths of the machine that made the data do not belong in it
    return {"error": type(e).__name__, "code": getattr(e, "code", None), "message": str(e).replace(store, "STORE")[:160]}
def classify(buf, i):
    got = buf.tobytes()
    if i < len(base) and hashlib.sha256(got).hexdigest() == base[i]: return "correct"
    un = int((buf == 0xEE).sum())
    if un == len(got) and un: return "SILENT: destination left untouched"
    if (buf == 0x53).all() and len(got): return "SILENT: bytes read from stdin"
    if len(got) == 0: return "SILENT: empty record"
    if un > len(got) // 4: return "SILENT: part of the destination left untouched"
    return "SILENT: wrong bytes"
try:
    z = Zrecord(store)
    d = Dataset(store) if kind == "schema" else None
    say(open="ok", length=len(z))
except BaseException as e:
    say(open=err(e)); sys.exit()
def readall(tag):
    for i in list(range(min(len(z), 7))) :
        try:
            n = int(z.lengths([i])[0])
            if kind == "schema":
                x = d[i]; r = "ok shape=%s dtype=%s" % (x.shape, x.dtype)
                r = r + (" bytes correct" if hashlib.sha256(x.tobytes()).hexdigest() == base[i] else " DIFFERENT BYTES")
            else:
                # the slot has the expected record size, or the stored size when larger
                buf = np.full(max(n, 0), 0xEE, np.uint8) if n <= 8 << 20 else np.full(200, 0xEE, np.uint8)
                z.gather([i], buf, len(buf)); r = classify(buf, i)
        except BaseException as e:
            r = err(e)
        say(**{tag: i, "result": r})
if action == "read":
    readall("record")
    if kind != "schema": say(stats=z.stats())
elif action == "append":
    try: say(append=z.append(np.full(200, 0x41, np.uint8), 1, 200, codec="raw"))
    except BaseException as e: say(append=err(e))
    base.append(hashlib.sha256(b"A" * 200).hexdigest())
    readall("record")
elif action == "compact":
    try: z.compact(); say(compact="ok")
    except BaseException as e: say(compact=err(e))
    readall("record")
if d is not None: d.close()
z.close(); say(closed=True)
'''


def noise(n, seed):
    out, x = bytearray(), seed
    for _ in range(n):
        x = (1664525 * x + 1013904223) & 0xFFFFFFFF
        out.append(x >> 24)
    return bytes(out)


def base_store(p):
    from loaderx import Dataset
    rows = [noise(SIZE, k) for k in (1, 2, 3)]
    rows += [bytes(b & (7 << k) for b in noise(SIZE, 10 + k)) for k in (0, 1)]
    rows += [bytes(i // 40 for i in range(SIZE))]
    Dataset.write(p, np.array([list(r) for r in rows], np.uint8)).close()
    return [hashlib.sha256(r).hexdigest() for r in rows]


class Store:
    """The trimmed bytes of the base store, with field setters."""

    def __init__(self, p, frontier, count=6):
        with open(p / "meta.zr", "rb") as f:
            self.meta = bytearray(f.read(16 + 16 * count))
        with open(p / "0.zr", "rb") as f:
            self.chunk = bytearray(f.read(frontier))
        self.meta_size, self.chunk_size, self.have_chunk = META_SIZE, CHUNK_SIZE, True
        self.schema = json.loads((p / "schema.json").read_text())
        self.schema_text = (p / "schema.json").read_text()

    def head(self, **k):
        h = list(struct.unpack_from("<4sHHII", self.meta))
        for i, name in enumerate(("magic", "version", "tail_chunk", "tail_offset", "length")):
            h[i] = k.get(name, h[i])
        struct.pack_into("<4sHHII", self.meta, 0, *h)

    def get(self, i):
        return dict(zip(("offset", "phys", "logic", "chunk", "codec", "reserved"),
                        struct.unpack_from("<IIIHBB", self.meta, 16 + 16 * i)))

    def entry(self, i, **k):
        e = {**self.get(i), **k}
        struct.pack_into("<IIIHBB", self.meta, 16 + 16 * i, *e.values())

    def place(self, i, data, **k):
        """Put `data` behind the frontier as the stored bytes of record i."""
        at = len(self.chunk)
        self.chunk += data
        self.entry(i, offset=at, phys=len(data), **k)
        self.head(tail_offset=len(self.chunk))

    def stored(self, i):
        e = self.get(i)
        return bytes(self.chunk[e["offset"]:e["offset"] + e["phys"]])

    def shape(self, **k):
        self.schema.update(k)
        self.schema_text = json.dumps(self.schema, indent=2) + "\n"


ALL = list(range(6))
CASES = []


def case(name, what, mutate, open="ok", fail=(), differs=(), note="", kind="store"):
    verdict = {"open": open}
    if open == "ok":
        stream = name.startswith(("deflate_", "codec_", "bitflip_"))
        layout = name.startswith(("overlap", "same_address")) or (fail and not stream)
        verdict.update(fail_records=sorted(fail), may_differ_from_base=sorted(differs),
                       append="fail" if name == "tail_before_last" else "any" if fail else "ok",
                       compact="fail" if layout or name == "tail_before_last" else "any" if fail else "ok")
    CASES.append(dict(name=name, what=what, mutate=mutate, kind=kind, careful={**verdict, "note": note}))


def set_(obj, **k):
    for key, v in k.items():
        setattr(obj, key, v)


case("control", "undamaged", lambda s: None)
# header
case("bad_magic", "first byte of the magic changed", lambda s: s.head(magic=b"YREC"), open="fail")
case("version_0", "version 0", lambda s: s.head(version=0), open="fail")
case("version_2", "version 2", lambda s: s.head(version=2), open="fail", note="say that the version is newer than this reader knows")
case("version_high_byte", "version 0x0101: the high byte counts too", lambda s: s.head(version=0x0101), open="fail")
case("length_one_too_many", "length 7 over 6 entries: the seventh is all zero", lambda s: s.head(length=7), fail=[6], note="an all-zero entry (phys 0, logic 0) is not a record")
case("length_over_table", "length 2^24+1", lambda s: s.head(length=(1 << 24) + 1), open="fail")
case("length_max", "length 2^32-1", lambda s: s.head(length=0xFFFFFFFF), open="fail")
case("length_over_meta", "length 1000000 over 6 entries in a full-size meta.zr", lambda s: s.head(length=1000000), fail=[6], note="entries 6 and up are all zero; a verify pass must report them")
case("tail_before_last", "tail_offset 50, before the end of every record", lambda s: s.head(tail_offset=50), note="reading is fine; an append must fail (or first move the frontier), or it overwrites live records")
case("tail_chunk_ahead", "tail_chunk 2, but only chunk 0 exists", lambda s: s.head(tail_chunk=2), open="fail", note="must not create the missing chunks; the reference does")
case("tail_chunk_too_big", "tail_chunk 4096 (limit is 4095)", lambda s: s.head(tail_chunk=4096), open="fail", note="must be refused before any file is made")
# file sizes
case("meta_empty", "meta.zr of 0 bytes (what an interrupted first open leaves)", lambda s: set_(s, meta_size=0), open="fail")
case("meta_8_bytes", "meta.zr of 8 bytes: magic and version only", lambda s: set_(s, meta_size=8), open="fail")
case("meta_header_only", "meta.zr of 16 bytes with length 6", lambda s: set_(s, meta_size=16), open="fail")
case("meta_mid_entry", "meta.zr cut in the middle of entry 4", lambda s: set_(s, meta_size=16 + 16 * 4 + 7), open="fail")
case("meta_exact", "meta.zr cut exactly after entry 5", lambda s: set_(s, meta_size=16 + 16 * 6), note="complete for reading; a writer must grow the file to 268435472 bytes before it maps or writes entries")
case("meta_zero_header", "full-size meta.zr of zeros (sized, never stamped)", lambda s: set_(s, meta=bytearray(len(s.meta))), open="fail")
case("meta_is_noise", "meta.zr of 300 noise bytes", lambda s: set_(s, meta=bytearray(noise(300, 99)), meta_size=300), open="fail")
case("chunk_missing", "0.zr deleted", lambda s: set_(s, have_chunk=False), open="fail", note="must not create an empty 0.zr")
case("chunk_empty", "0.zr of 0 bytes", lambda s: set_(s, chunk_size=0), fail=ALL)
case("chunk_cut", "0.zr cut inside record 2", lambda s: set_(s, chunk_size=450), fail=[2, 3, 4, 5])
case("chunk_exact", "0.zr cut exactly at the frontier", lambda s: set_(s, chunk_size=len(s.chunk)), note="not damage: all bytes are there")
# entries
case("offset_past_frontier", "record 1 points behind the frontier (zeros in a sparse file)", lambda s: s.entry(1, offset=100000), fail=[1], note="offset + phys must not exceed the frontier in the tail chunk")
case("offset_past_file", "record 1 at 2^32-3 so that it ends outside the chunk", lambda s: s.entry(1, offset=2**32 - 3), fail=[1])
case("overlap", "record 1 starts in the middle of record 0", lambda s: s.entry(1, offset=100), differs=[1], note="each entry alone is valid, so gather gives wrong bytes for 1; verify must report it and compact must refuse. Record 1 does not match the base bytes")
case("same_address", "records 0 and 1 share an address", lambda s: s.entry(1, offset=0), differs=[1], note="as overlap; record 1 gives the bytes of record 0")
case("same_address_early", "record 2 moved to the address of record 0: a compact that trusts the table overwrites record 1", lambda s: s.entry(2, offset=0), differs=[2], note="gather as overlap; compact must refuse before it writes anything")
case("phys_zero_raw", "phys_length 0 on raw record 1", lambda s: s.entry(1, phys=0), fail=[1])
case("phys_zero_flate", "phys_length 0 on deflated record 3", lambda s: s.entry(3, phys=0), fail=[3])
case("phys_ne_logic_raw", "raw record 1 with phys 150, logic 200", lambda s: s.entry(1, phys=150), fail=[1], note="raw requires phys == logic")
case("phys_over_cap", "deflated record 3 with phys 2^20+1", lambda s: s.entry(3, phys=(1 << 20) + 1), fail=[3])
case("phys_huge", "deflated record 3 with phys 2^31", lambda s: s.entry(3, phys=1 << 31), fail=[3], note="must be refused before any allocation")
case("logic_zero_raw", "logic_length 0 on raw record 1", lambda s: s.entry(1, logic=0), fail=[1])
case("logic_zero_flate", "logic_length 0 on deflated record 3", lambda s: s.entry(3, logic=0), fail=[3])
case("logic_over_cap", "logic_length 2^20+1 on raw record 1", lambda s: s.entry(1, logic=(1 << 20) + 1), fail=[1])
case("logic_short_raw", "logic_length 150 on raw record 1", lambda s: s.entry(1, logic=150), fail=[1])
case("codec_2", "codec tag 2 on record 3", lambda s: s.entry(3, codec=2), fail=[3])
case("codec_255", "codec tag 255 on raw record 1", lambda s: s.entry(1, codec=255), fail=[1])
case("codec_raw_on_deflate", "deflated record 3 tagged raw", lambda s: s.entry(3, codec=0), fail=[3], note="caught because phys != logic")
case("codec_flate_on_raw", "raw record 1 tagged flate", lambda s: s.entry(1, codec=1), fail=[1], note="noise rarely inflates to exactly logic bytes; phys == logic with codec 1 is already suspect (the writer stores raw then)")
case("reserved_set", "reserved byte 77 on record 1", lambda s: s.entry(1, reserved=77), note="not damage: the byte is ignored on reading, written as 0")
case("chunk_id_past_tail", "record 1 in chunk 5, tail_chunk 0", lambda s: s.entry(1, chunk=5), fail=[1])
case("chunk_id_65535", "record 1 in chunk 65535", lambda s: s.entry(1, chunk=65535), fail=[1])
# deflate streams (records 3, 4: dynamic; 5: short)
case("deflate_cut", "deflate stream of record 3 cut by one byte", lambda s: s.place(3, s.stored(3)[:-1]), fail=[3])
case("deflate_cut_half", "deflate stream of record 3 cut in the middle", lambda s: s.place(3, s.stored(3)[:20]), fail=[3])
case("deflate_trailing", "16 extra bytes after the end of record 3's stream, inside phys_length", lambda s: s.place(3, s.stored(3) + b"\xff" * 16), note="decodes to the right bytes; the reference accepts it, so gather should too; verify should report it")
case("deflate_short", "stream of record 3 inflates to 199 bytes", lambda s: s.place(3, __import__("zlib").compress(noise(199, 5), 9, -15)), fail=[3])
case("deflate_long", "stream of record 3 inflates to 201 bytes", lambda s: s.place(3, __import__("zlib").compress(noise(201, 5), 9, -15)), fail=[3])
case("deflate_bomb", "stream of record 3 (about 1 KiB) inflates to 1 MiB", lambda s: s.place(3, __import__("zlib").compress(bytes(1 << 20), 9, -15)), fail=[3], note="output must be bounded by logic_length")
case("deflate_not_final", "record 3's stream has its final-block bit cleared", lambda s: s.place(3, bytes([s.stored(3)[0] & 0xFE]) + s.stored(3)[1:]), fail=[3])
case("deflate_zlib_header", "record 3 stored as a zlib stream (with header) instead of raw deflate", lambda s: s.place(3, __import__("zlib").compress(noise(200, 5))), fail=[3])
case("deflate_sync_tail", "record 3 re-deflated with a sync flush before the end: 00 00 ff ff, then an empty final block", lambda s: s.place(3, resync(s.stored(3))), note="valid deflate with the right bytes; the reference refuses it (an empty stored block after the last byte), so a writer must never produce it")
case("bitflip_deflate", "one bit flipped inside record 3's stream", lambda s: s.chunk.__setitem__(s.get(3)["offset"] + 60, s.chunk[s.get(3)["offset"] + 60] ^ 1), differs=[3], note="the format has no checksum: wrong bytes may come back without an error when the stream still inflates to 200 bytes")
case("bitflip_raw", "one bit flipped inside raw record 1", lambda s: s.chunk.__setitem__(s.get(1)["offset"] + 60, s.chunk[s.get(1)["offset"] + 60] ^ 1), differs=[1], note="undetectable in this format")
# schema
for name, what, change, open_ in [
        ("schema_missing", "no schema.json", lambda s: set_(s, schema_text=None), "fail"),
        ("schema_not_json", "schema.json is not JSON", lambda s: set_(s, schema_text="{nope"), "fail"),
        ("schema_empty", "schema.json of 0 bytes", lambda s: set_(s, schema_text=""), "fail"),
        ("schema_list", "schema.json is a list", lambda s: set_(s, schema_text="[1]\n"), "fail"),
        ("schema_format", "another format name", lambda s: s.shape(format="other"), "fail"),
        ("schema_version_99", "schema version 99", lambda s: s.shape(version=99), "fail"),
        ("schema_extra_keys", "unknown extra keys", lambda s: s.shape(extra={"a": 1}), "ok"),
        ("schema_dtype_bad", "dtype '<q9'", lambda s: s.shape(dtype="<q9"), "fail"),
        ("schema_dtype_null", "dtype null", lambda s: s.shape(dtype=None), "fail"),
        ("schema_dtype_object", "dtype '|O' with shape [25]", lambda s: s.shape(dtype="|O", shape=[25]), "fail"),
        ("schema_dtype_smaller", "dtype matches half of the record (shape [100])", lambda s: s.shape(shape=[100]), "fail"),
        ("schema_dtype_larger", "dtype twice the record (<u2, shape [200])", lambda s: s.shape(dtype="<u2"), "fail"),
        ("schema_shape_string", "shape is the string '200'", lambda s: s.shape(shape="200"), "fail"),
        ("schema_shape_float", "shape [200.0]", lambda s: s.shape(shape=[200.0]), "fail"),
        ("schema_shape_negative", "shape [-200]", lambda s: s.shape(shape=[-200]), "fail"),
        ("schema_shape_two_negative", "shape [-10, -20]: the product is 200", lambda s: s.shape(shape=[-10, -20]), "fail"),
        ("schema_shape_zero", "shape [0]", lambda s: s.shape(shape=[0]), "fail"),
        ("schema_shape_huge", "shape [2^40]", lambda s: s.shape(shape=[1 << 40]), "fail"),
        ("schema_shape_overflow", "shape [2^62, 4]: the product wraps to 0 in int64", lambda s: s.shape(shape=[1 << 62, 4]), "fail"),
        ("schema_codec_bad", "codec 'zstd'", lambda s: s.shape(codec="zstd"), "fail"),
        ("schema_codec_missing", "no codec key", lambda s: (s.schema.pop("codec"), s.shape()), "fail")]:
    case(name, what, change, open=open_, kind="schema",
         note="open as a Dataset; opening the same directory as a byte store is fine")


def resync(stream):
    import zlib
    d = zlib.decompress(stream, -15)
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(d) + c.flush(zlib.Z_SYNC_FLUSH) + b"\x01\x00\x00\xff\xff"


def observe(case_dir, manifest, tmp, action, kind, base):
    store = restore(case_dir, tmp / "store", manifest)
    (tmp / "stdin").write_bytes(b"S" * 4096)
    with open(tmp / "stdin", "r+b") as stdin:
        try:
            r = subprocess.run([sys.executable, "-c", CHILD, str(store), action, kind, json.dumps(base)],
                               stdin=stdin, capture_output=True, text=True, timeout=120)
            end = "exit 0" if r.returncode == 0 else f"killed by {signal.Signals(-r.returncode).name}" if r.returncode < 0 else f"exit {r.returncode}"
            lines = r.stdout
        except subprocess.TimeoutExpired as e:
            end, lines = "no end within 120 s", (e.stdout or b"").decode()
    out = {"process": end, "records": {}}
    for line in lines.splitlines():
        m = json.loads(line)
        if "record" in m:
            out["records"][str(m["record"])] = m["result"]
        else:
            m.pop("closed", None)
            out.update(m)
    if (tmp / "stdin").read_bytes() != b"S" * 4096:
        out["stdin_file"] = "OVERWRITTEN"
    after = {f: os.stat(store / f).st_size for f in sorted(os.listdir(store))}
    before = {f["name"]: f["size"] for f in manifest["files"]}
    made = {f: n for f, n in after.items() if f.endswith(".zr") and before.get(f) != n}
    if len(made) > 8:
        made = {"...": f"{len(made)} files"}
    if made:
        out["files_created_or_resized"] = made
    return out


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    results = []
    with tempfile.TemporaryDirectory() as t:
        t = Path(t)
        base = base_store(t / "base")
        with open(t / "base" / "meta.zr", "rb") as f:
            frontier = struct.unpack_from("<I", f.read(16), 8)[0]
        for c in CASES:
            s = Store(t / "base", frontier)
            c["mutate"](s)
            d = out / c["name"]
            d.mkdir()
            files = []
            meta = bytes(s.meta[:s.meta_size])
            (d / "meta.trimmed").write_bytes(meta)
            files.append({"name": "meta.zr", "size": s.meta_size,
                          "pieces": [{"file": "meta.trimmed", "offset": 0, "length": len(meta)}] if meta else []})
            if s.have_chunk:
                chunk = bytes(s.chunk[:s.chunk_size])
                (d / "0.zr.trimmed").write_bytes(chunk)
                files.append({"name": "0.zr", "size": s.chunk_size,
                              "pieces": [{"file": "0.zr.trimmed", "offset": 0, "length": len(chunk)}] if chunk else []})
            if s.schema_text is not None:
                (d / "schema.json").write_text(s.schema_text)
            manifest = {"files": files}
            observed = {"read": observe(d, manifest, t, "read", c["kind"], list(base))}
            if c["kind"] == "store":
                for action in ("append", "compact"):
                    observed["then_" + action if action == "compact" else "append_one"] = observe(d, manifest, t, action, c["kind"], list(base))
            results.append({"case": c["name"], "kind": c["kind"], "what": c["what"], "files": files,
                            "reference": observed, "careful": c["careful"]})
            r = observed["read"]
            print(f"{c['name']:26} {r['process']:20} open={r.get('open')} {list(r['records'].values())[:7]}", flush=True)
    doc = {"made_with": "loaderx 0.5.0", "base_sha256": base, "record_length": SIZE, "cases": results}
    (out / "expected.json").write_text(json.dumps(doc, indent=1) + "\n")
    print(len(results), "cases")


if __name__ == "__main__":
    main()
