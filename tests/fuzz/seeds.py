#!/usr/bin/env python3
"""Writes small files of all kinds, for the fuzzer to begin with. Needs nothing but Python.

usage: seeds.py DIRECTORY      one directory a reader goes there
"""

import io
import json
import pathlib
import struct
import sys
import zipfile
import zlib

SIZES = {"b1": 1, "i1": 1, "u1": 1, "i2": 2, "u2": 2, "i4": 4, "u4": 4, "i8": 8, "u8": 8, "f2": 2, "f4": 4, "f8": 8, "c8": 8, "c16": 16}


def npy(descr, shape=(2, 3), fortran=False, version=1):
    count = 1
    for extent in shape:
        count *= extent
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    before = 10 if version == 1 else 12
    text += b" " * (-(before + len(text) + 1) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + bytes([1]) * (count * SIZES[descr[1:]])


def npz(method, comment=b""):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in ("a", "b.weight"):
            with archive.open(name + ".npy", "w", force_zip64=name == "a") as entry:
                entry.write(npy("<f8"))
        archive.comment = comment
    return file.getvalue()


def safetensors(header, length):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes([1]) * length


def package(types, modules, state, actions=None, **resources):
    """One that holds a module and resources (kind, bytes)."""
    dependencies = {name: {"action": (actions or {}).get(name, "intern"), "depends_on": types[:1]} for name in types}
    manifest = {"format": 1, "xgrad": "0.1.0", "dependencies": dependencies,
                "resources": {"a/m": {"kind": "module", "depends_on": types[:1]},
                              **{f"a/{name}": {"kind": kind, "depends_on": []} for name, (kind, _) in resources.items()}}}
    module = {"module": modules, "parameters": list(state), "frozen": list(state)[:1], "evaluating": ["", "0"]}
    header = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in state.items()}
    at = 0
    for entry in header.values():
        size = 4
        for extent in entry["shape"]:
            size *= extent
        entry["data_offsets"], at = [at, at + size], at + size
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(".data/package.json", json.dumps(manifest))
        archive.writestr("a/m.json", json.dumps(module))
        archive.writestr("a/m.safetensors", safetensors(header, at))
        for name, (kind, data) in resources.items():
            archive.writestr(f"a/{name}" + (".safetensors" if kind.startswith("tensor") else ""), data)
    return file.getvalue()


def packages():
    def layer(kind, dtype="float32", **arguments):
        return {"type": "xgrad.nn." + kind, "dtype": dtype, "arguments": arguments} if dtype else {"type": "xgrad.nn." + kind, "arguments": arguments}

    linear = layer("Linear", in_features=2, out_features=1, bias=True)
    conv = layer("Conv2d", in_channels=1, out_channels=2, kernel_size=[1, 2], bias=False,
                 options={"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1})
    lstm = layer("LSTM", input_size=1, hidden_size=1, options={"num_layers": 1, "bias": False, "batch_first": False, "dropout": 0.0,
                                                               "bidirectional": False, "proj_size": 0, "nonlinearity": 0})
    norm = layer("BatchNorm1d", num_features=2, options={"eps": 1e-5, "momentum": None, "affine": True, "track_running_stats": False})
    row = {"type": "xgrad.nn.Sequential", "dtype": "float32", "modules": {"0": linear, "1": layer("ReLU", None), "2": {"type": "acme.Outside"}, "3": {"type": "acme.Mock"}}}
    one = safetensors({"tensor": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]}}, 8)
    return [
        package(["xgrad.nn.Linear"], linear, {"weight": [1, 2], "bias": [1]}, text=("text", b"t"), t=("tensor", one), s=("tensors", one), b=("binary", b"")),
        package(["xgrad.nn.Sequential", "xgrad.nn.Linear", "xgrad.nn.ReLU", "acme.Outside", "acme.Mock"], row, {"0.weight": [1, 2], "0.bias": [1]},
                {"acme.Outside": "extern", "acme.Mock": "mock"}),
        package(["xgrad.nn.Conv2d"], conv, {"weight": [2, 1, 1, 2]}),
        package(["xgrad.nn.LSTM"], lstm, {"weight_ih_l0": [4, 1], "weight_hh_l0": [4, 1]}),
        package(["xgrad.nn.BatchNorm1d"], norm, {"weight": [2], "bias": [2]}),
        package(["beta.Net", "xgrad.nn.Linear"], {"type": "beta.Net", "arguments": [1, None], "modules": {"l": linear}}, {"w": [2], "l.weight": [1, 2], "l.bias": [1]}),
    ]


def deflated(data, level, strategy=zlib.Z_DEFAULT_STRATEGY):
    compressor = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return compressor.compress(data) + compressor.flush()


def main():
    seeds = {
        "npy": [npy(order + kind) for kind, size in SIZES.items() for order in ("<>" if size > 1 else "|")]
        + [npy("<f8", (4, 3), True), npy("<f8", ()), npy(">c16", (3,), False, 2), npy("<i4", (0, 5), True, 3)],
        "npz": [npz(zipfile.ZIP_STORED), npz(zipfile.ZIP_DEFLATED), npz(zipfile.ZIP_STORED, b"a comment")],
        "safetensors": [
            safetensors({}, 0),
            safetensors({"__metadata__": {"format": "pt", "xgrad.complex.z": "complex64"}, "z": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, 16),
            safetensors({f"t{i}\u00e9\n": {"dtype": t, "shape": [1], "data_offsets": [8 * i, 8 * i + 8]} for i, t in enumerate(("F64", "I64", "U64", "C64"))}, 32),
            *(safetensors({"t": {"dtype": t, "shape": [2, 1], "data_offsets": [0, 2 * n]}}, 2 * n)
              for t, n in (("BOOL", 1), ("U8", 1), ("I8", 1), ("F16", 2), ("BF16", 2), ("I16", 2), ("U16", 2), ("I32", 4), ("U32", 4), ("F32", 4)))],
        "json": [b'{"a": [1, -2.5e3, true, null], "b": {"c": "\\u00e9\\n"}}', b"[]", b'"\xc3\xa9"'],
        "csv": [b"a,b\n1,2.5\n-3e4,nan\n", b"\xef\xbb\xbfa, \"b\"\"\n\"\r\n1,\"2\"\r\n,NA", b"1;2\n+3;-4\n\n"],
        "package": packages(),
        "inflate": [deflated(data, level, strategy) for data in (b"", b"abc" * 50, bytes(range(256)) * 3) for level in (0, 1, 9)
                    for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED)],
    }
    for reader, files in seeds.items():
        directory = pathlib.Path(sys.argv[1]) / reader
        directory.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(files):
            (directory / f"seed_{number}").write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
