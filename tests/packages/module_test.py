#!/usr/bin/env python3
"""Compiles the module packaging/xgrad.cppm and a program that imports it. Only clang is asked, from 16 on: g++ 12 does not know enough of
modules. Without a compiler: looks at which headers the module names.

usage: module_test.py COMPILE_COMMANDS PROJECT [CLANG]     COMPILE_COMMANDS: with probe.cpp, whose directories are taken
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "headers"))
import compiler

COMMANDS, PROJECT, CLANG = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
MODULE = PROJECT / "packaging/xgrad.cppm"
EXPECTED = """Tensor([4.38177, 12.077, 24.1711], shape=[3], dtype=float64)
(8,0)
ShapeError
"""
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)


def directories():
    """The options of the probe that say where headers are."""
    words, found = compiler.command(COMMANDS), []
    for word, following in zip(words, words[1:] + [""]):
        if word in ("-I", "-isystem"):
            found += [word, following]
        elif re.match(r"-I.|-isystem.", word):
            found.append(word)
    return found


class Headers(unittest.TestCase):
    def test_headers_of_others_come_before_the_module(self):
        before = MODULE.read_text().split("export module")[0]
        ours = [path for pattern in ("*.hpp", "*.ipp", "*.inc") for path in (PROJECT / "include").rglob(pattern)
                if not re.search("distributed|xtensor_functions", path.as_posix())]
        hidden = {PROJECT / "include" / name for name in INCLUDE.findall(before) if name.startswith("xgrad/")}      # they include others for us
        named = {name for path in ours if path not in hidden for name in INCLUDE.findall(path.read_text()) if not name.startswith("xgrad/")}
        self.assertEqual(sorted(named - set(INCLUDE.findall(before))), [])

    def test_it_has_every_header_that_programs_include(self):
        after = MODULE.read_text().split("export module")[1]
        programs = {path.relative_to(PROJECT / "include").as_posix() for folder in ("xgrad", "xgrad/testing")
                    for path in (PROJECT / "include" / folder).glob("*.hpp")}
        self.assertEqual(set(INCLUDE.findall(after)), programs - {"xgrad/distributed.hpp", "xgrad/xtensor_functions.hpp"})


class Program(unittest.TestCase):
    def run_it(self, *command):
        run = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8")
        self.assertEqual(run.returncode, 0, run.stderr[:4000])
        return run.stdout

    def test_it_imports_the_module(self):
        with tempfile.TemporaryDirectory() as directory:
            built = pathlib.Path(directory)
            options = [CLANG, "-std=c++20", "-Wall", "-Wextra", "-Werror", *directories()]
            self.run_it(*options, "--precompile", MODULE, "-o", built / "xgrad.pcm")
            self.run_it(CLANG, "-c", built / "xgrad.pcm", "-o", built / "xgrad.o")
            self.run_it(*options, f"-fmodule-file=xgrad={built / 'xgrad.pcm'}", "-c", HERE / "module/main.cpp", "-o", built / "main.o")
            self.run_it(CLANG, built / "main.o", built / "xgrad.o", "-pthread", "-o", built / "program")
            self.assertEqual(self.run_it(built / "program"), EXPECTED)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "Program" if CLANG else "Headers"])
