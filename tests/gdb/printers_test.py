#!/usr/bin/env python3
"""Compiles program.cpp with debug information, stops in it with gdb and compares what the printers show. Ends with code 77, which
CTest reports as skipped, where gdb has no Python or may not start programs.

usage: printers_test.py COMPILE_COMMANDS PRINTERS.py"""

import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "headers"))
import compiler

SKIPPED = 77
EXPECTED = {
    "x": "Tensor(float64 [2, 3]: 1, 2, 3, 4, 5, 6, requires_grad=true, grad: 3, 3, 3, 3, 3, 3)",
    "plain": "Tensor(float64 [2]: 1.5, -2)",
    "large": "Tensor(float64 [100]: 0, 1, 2, 3, 4, 5, 6, 7, ...)",
    "undefined": "Tensor(undefined)",
    "empty": "Tensor(float64 [0, 3]: )",
    "columns": "Tensor(float64 [2, 5]: 1.5, 1.5, 1.5, 1.5, 1.5, -2, -2, -2, ...)",
    "single": "Tensor(float32 []: 0.25, requires_grad=true)",
    "z": "Tensor(complex128 [2]: 1+2i, 0.5-1i)",
    "integers": "Tensor(int64 [2]: -1, 7)",
    "mask": "Tensor(bool [2]: true, false)",
    "any": "AnyTensor(int64 [2]: -1, 7)",
    "total": "Tensor(float64 []: 136.19, grad_fn=SumBackward)",
    "row": "Tensor(float64 [3]: 4, 5, 6, grad_fn=UnbindBackward)",
    "*total.impl_.p_->grad_fn.p_": "SumBackward = Sum(Mul(a, b)) -> [AddBackward]",
    "product.impl_.p_->grad_fn": "AddBackward = Add(Mul(Sin(a), number), Mul(b, c)) -> [AccumulateGrad of float64 [2, 3]]",
    "moved.impl_.p_->grad_fn": "MatmulBackward -> [AccumulateGrad of float64 [2, 3], PermuteBackward]",
    "own": "OwnBackward -> []",
    "shape": "[1, 1, 1, 1, 2, 1]",
    "deep.impl_.p_->array.shape": "[1, 1, 1, 1, 2, 1]",
}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run_gdb(*arguments):
    run = subprocess.run(["gdb", "-nx", "-batch", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         encoding="utf-8", errors="replace", check=False, timeout=300)
    return run.stdout


def main():
    if "ready" not in run_gdb("-ex", "python print('ready')"):
        skip("this gdb was built without Python")
    words = [word for word in compiler.command(sys.argv[1]) if word not in ("-fsyntax-only", "-flto") and not word.startswith("-fsanitize")]
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory) / "program"
        code, messages = compiler.compile_file(words, HERE / "program.cpp", "-g", "-O0", "-fno-lto", "-UXGRAD_USE_BLAS", "-DXGRAD_USE_BLAS=0",
                                               "-pthread", "-o", str(program))
        if code:
            return f"program.cpp does not compile:\n{messages}"
        if "exited" not in run_gdb("-ex", "run", str(program)):
            skip("gdb may not start programs here")
        commands = ["-ex", "set print frame-arguments none", "-ex", f"source {sys.argv[2]}", "-ex", "break stop_here", "-ex", "run", "-ex", "up"]
        for expression in EXPECTED:
            commands += ["-ex", f"echo \\n@{expression}@", "-ex", f"output {expression}"]
        shown = run_gdb(*commands, str(program))
    wrong = []
    for expression, expected in EXPECTED.items():
        _, found, rest = shown.partition(f"\n@{expression}@")
        got = rest.partition("\n@")[0].strip()
        if not found or got != expected:
            wrong.append(f"{expression}\n  shows   {got}\n  wanted  {expected}")
    return "\n".join(wrong + [shown] if wrong else []) or None


if __name__ == "__main__":
    sys.exit(main())
