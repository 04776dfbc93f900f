#!/usr/bin/env python3
"""Compiles the module of Python in docs/from_xtensor.md, and compares its gradients with closed forms.

usage: numpy_module.py DOCUMENT COMPILER INCLUDE...     exits with 77 where Python's headers are missing"""

import math
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

import numpy


def main():
    document, compiler, *includes = sys.argv[1:]
    python = sysconfig.get_path("include")
    if not pathlib.Path(python, "Python.h").exists():
        print("skipped: Python's headers are not installed")
        sys.exit(77)
    code = re.search(r"```c\+\+\n(.*?)```", pathlib.Path(document).read_text(), re.S)[1]
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        (folder / "fit.cpp").write_text(code)
        module = folder / f"fit{sysconfig.get_config_var('EXT_SUFFIX')}"
        subprocess.run([compiler, "-std=c++20", "-fPIC", "-shared", "-DXGRAD_USE_BLAS=0", *(f"-I{include}" for include in includes),
                        f"-I{python}", f"-I{numpy.get_include()}", str(folder / "fit.cpp"), "-o", str(module), "-pthread"], check=True)
        sys.path.insert(0, directory)
        import fit
        table = numpy.arange(12.).reshape(3, 4) / 4
        for x in (numpy.array([0.5, 1., 2.]), table, numpy.asfortranarray(table), table[:, ::2], table.T[1:], numpy.zeros((0, 2))):
            before = x.copy()
            gradient = fit.gradient(x)
            assert gradient.shape == x.shape and numpy.array_equal(x, before)
            for index in numpy.ndindex(x.shape):
                expected = (x[index] + 1) * math.exp(x[index])
                assert abs(gradient[index] - expected) <= 1e-15 * expected, (x, gradient)


main()
