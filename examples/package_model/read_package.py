#!/usr/bin/env python3
"""Reads a package of xgrad without xgrad: prints its dependencies, its modules and its tensors. Needs NumPy.

usage: read_package.py FILE
"""

import json
import struct
import sys
import zipfile

import numpy

DTYPES = {"BOOL": "?", "I64": "<i8", "F32": "<f4", "F64": "<f8"}
COMPLEX = "xgrad.complex."


def tensors(data):
    """The arrays of a safetensors file under their names."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    notes = header.pop("__metadata__", {})
    found = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if COMPLEX + name in notes:                  # pairs of real numbers along the last axis
            array = array[..., 0] + 1j * array[..., 1]
        found[name] = array
    return found


def modules(module, path=""):
    """(path, type, arguments) of a module and of all inside it."""
    yield path, module["type"], module.get("arguments", {})
    for name, inside in module.get("modules", {}).items():
        yield from modules(inside, f"{path}.{name}" if path else name)


def main():
    if len(sys.argv) != 2:
        return __doc__
    with zipfile.ZipFile(sys.argv[1]) as package:
        manifest = json.loads(package.read(".data/package.json"))
        print(f"format {manifest['format']}, written by xgrad {manifest['xgrad']}")
        for name, dependency in manifest["dependencies"].items():
            print(f"{dependency['action']:>8} {name}")
        for path, resource in manifest["resources"].items():
            kind = resource["kind"]
            print(f"\n{path}: {kind}")
            if kind == "text":
                print(package.read(path).decode(), end="")
            elif kind == "binary":
                print(f"{len(package.read(path))} bytes")
            if kind == "module":
                for where, type_name, arguments in modules(json.loads(package.read(path + ".json"))["module"]):
                    print(f"{where or '(root)'}: {type_name} {json.dumps(arguments)}")
            if kind in ("module", "tensor", "tensors"):
                for name, array in tensors(package.read(path + ".safetensors")).items():
                    print(f"{name}: {array.dtype} {list(array.shape)}, sum {array.sum():.6g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
