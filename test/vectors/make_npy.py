"""Writes test/vectors/npy/ with NumPy: small .npy files and expected.json, which says of each what it holds (dtype by
our name, shape, order, and the SHA-256 of its items in C order and little endian) or the error that opening it is to
give. All data is from closed formulas, so a second run writes the same files.

    python make_npy.py [OUT_DIR]
"""
import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "npy"
CASES = []


def ramp(shape, dtype):
    """Numbers that differ in every byte, cast to dtype."""
    n = int(np.prod(shape))
    x = (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(8)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return (x % 3 == 0).reshape(shape)
    if kind == "f":
        return (x.astype(np.float64) / 2.0**50 - 20).astype(dtype).reshape(shape)
    if kind == "c":
        return ((x % 1000).astype(np.float64) - 1j * (x % 77).astype(np.float64)).astype(dtype).reshape(shape)
    if kind in "mM":
        return x.astype(np.int64).astype(np.dtype(dtype).newbyteorder("=")).astype(dtype).reshape(shape)
    return x.astype(dtype).reshape(shape)


def our_name(dtype):
    kind = dtype.kind
    if kind == "U":
        return f"U{dtype.itemsize // 4}"
    if kind == "S":
        return f"S{dtype.itemsize}"
    return dtype.name


def ok(name, array, version=None, tail=b""):
    with open(OUT / f"{name}.npy", "wb") as f:
        npy.write_array(f, array, version=version)
        f.write(tail)
    again = np.load(OUT / f"{name}.npy")
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes(), name
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    CASES.append({
        "name": name,
        "dtype": our_name(array.dtype),
        "shape": list(array.shape),
        "fortranOrder": bool(array.flags.f_contiguous and not array.flags.c_contiguous),
        "sha256": hashlib.sha256(plain.tobytes()).hexdigest(),
    })


def refused(name, error, array=None, cut=None, data=None):
    if data is None:
        np.save(OUT / f"{name}.npy", array, allow_pickle=True)
        data = (OUT / f"{name}.npy").read_bytes()
    (OUT / f"{name}.npy").write_bytes(data[:cut])
    CASES.append({"name": name, "error": error})


OUT.mkdir(parents=True, exist_ok=True)
for old in OUT.glob("*"):
    old.unlink()

for dtype in ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "M8[ns]", "M8[D]", "m8[25s]", "M8"]:
    for order in "<>":
        if np.dtype(dtype).itemsize == 1 and order == ">":
            continue
        word = dtype.replace("[", "_").replace("]", "")
        ok(f"{word}_{'le' if order == '<' else 'be'}", ramp((5, 3), order + dtype))
texts = np.array([["ab", "h\u00e9llo"], ["\u65e5\u672c", "\U0001f40d!"], ["", "12345"]])
for order in "<>":
    ok(f"U5_{'le' if order == '<' else 'be'}", texts.astype(order + "U5"))
    ok(f"U5_fortran_{'le' if order == '<' else 'be'}", np.asfortranarray(texts.astype(order + "U5")))
ok("S3", np.array([[b"ab", b"c"], [b"", b"xyz"]], "S3"))
ok("S3_fortran", np.asfortranarray(np.array([[b"ab", b"c", b"d"], [b"", b"xyz", b"q"]], "S3")))

ok("version_1", ramp((7,), "<i4"), (1, 0))
ok("version_2", ramp((7,), "<i4"), (2, 0))
ok("version_3", ramp((7,), "<i4"), (3, 0))
ok("scalars", ramp((300,), "<i8"))
ok("no_rows", ramp((0, 3), "<f4"))
ok("empty_rows", ramp((4, 0), "<f4"))
ok("one_row", ramp((1, 2, 2), "u1"))
ok("trailing_bytes", ramp((3, 2), "<u2"), tail=b"more")
ok("five_dimensions", ramp((2, 3, 1, 2, 4), "<u2"))
for shape in [(9,), (7, 5), (4, 3, 5), (3, 4, 2, 3)]:
    for dtype in ["u1", "<u2", "<f4", ">i8", "<c16"]:
        ok(f"fortran_{len(shape)}d_{np.dtype(dtype).name}", np.asfortranarray(ramp(shape, dtype)))
ok("fortran_tall", np.asfortranarray(ramp((1500, 3), "u1")))
ok("fortran_wide", np.asfortranarray(ramp((3, 1500), "u1")))

refused("object", "LOADERX_UNSUPPORTED_DTYPE", np.array([{}, 1, "x"], object))
refused("structured", "LOADERX_UNSUPPORTED_DTYPE", np.zeros(3, [("a", "<i4"), ("b", "<f8", (2,))]))
refused("void", "LOADERX_UNSUPPORTED_DTYPE", np.zeros(3, "V4"))
refused("longdouble", "LOADERX_UNSUPPORTED_DTYPE", np.zeros(3, np.longdouble))
refused("clongdouble", "LOADERX_UNSUPPORTED_DTYPE", np.zeros(3, np.clongdouble))
refused("no_dimensions", "LOADERX_INVALID_NPY", np.array(5))
refused("cut_by_one", "LOADERX_TRUNCATED", ramp((5, 3), "<f4"), cut=-1)
refused("cut_at_data", "LOADERX_TRUNCATED", ramp((5, 3), "<f4"), cut=128)
refused("cut_in_header", "LOADERX_TRUNCATED", ramp((5, 3), "<f4"), cut=60)
refused("cut_in_preamble", "LOADERX_TRUNCATED", ramp((5, 3), "<f4"), cut=8)
refused("empty_file", "LOADERX_INVALID_NPY", data=b"")
refused("npz", "LOADERX_INVALID_NPY", data=b"PK\x03\x04" + bytes(60))

(OUT / "expected.json").write_text(json.dumps({"made_with": f"NumPy {np.__version__}", "cases": CASES}, indent=1) + "\n")
