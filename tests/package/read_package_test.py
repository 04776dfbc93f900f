#!/usr/bin/env python3
"""What examples/package_model/read_package.py says of the package that the tests have.

usage: read_package_test.py READ_PACKAGE.py PACKAGE
"""

import subprocess
import sys

EXPECTED = """format 1, written by xgrad 0.1.0
  intern xgrad.nn.Sequential
  extern acme.Normalize
  intern xgrad.nn.Linear
  intern xgrad.nn.LeakyReLU
    mock xgrad.nn.Dropout

acme/net: module
(root): xgrad.nn.Sequential {}
0: acme.Normalize {}
1: xgrad.nn.Linear {"in_features": 2, "out_features": 1, "bias": true}
2: xgrad.nn.LeakyReLU {"negative_slope": 0.25}
3: xgrad.nn.Dropout {}
1.weight: float64 [1, 2], sum 2.5
1.bias: float64 [1], sum -1

acme/labels/labels.txt: text
zero
one

acme/bytes: binary
2 bytes

acme/z: tensor
tensor: complex128 [2], sum 4-2j

acme/counts: tensors
n: int64 [], sum 12
"""


def main():
    printed = subprocess.run([sys.executable, *sys.argv[1:]], check=True, capture_output=True, text=True).stdout
    if printed != EXPECTED:
        return f"read_package.py says\n{printed}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
