#!/usr/bin/env python3
"""Compiles every header alone: whoever includes one header needs no other before it.

usage: self_contained.py COMPILE_COMMANDS INCLUDE_DIRECTORY"""

import concurrent.futures
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import compiler


def main():
    words = compiler.command(sys.argv[1])
    include = pathlib.Path(sys.argv[2])
    headers = sorted(include.rglob("*.hpp"))
    with tempfile.TemporaryDirectory() as scratch:
        def compile_alone(header):
            name = header.relative_to(include).as_posix()
            # Twice, which finds a header without "#pragma once"; and from a source file, as users do.
            source = pathlib.Path(scratch, name.replace("/", "_") + ".cpp")
            source.write_text(f"#include <{name}>\n#include <{name}>\n", encoding="utf-8")
            return name, *compiler.compile_file(words, source)

        mpi = pathlib.Path(scratch, "mpi.cpp")
        mpi.write_text("#include <mpi.h>\n", encoding="utf-8")
        if compiler.compile_file(words, mpi)[0]:
            headers = [header for header in headers if header.relative_to(include).parts[0] != "xgrad_distributed"]
            print("no MPI: the headers of xgrad_distributed/ are left out")

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(compile_alone, headers))
    for name, code, messages in verdicts:
        if messages.strip():       # the first lines tell enough: a missing include makes pages
            print(f"---- {name} alone:", *messages.splitlines()[:12], sep="\n")
    good = sum(code == 0 for name, code, messages in verdicts)
    print(f"{good} of {len(verdicts)} headers compile alone")
    return good < len(verdicts) or not verdicts


if __name__ == "__main__":
    sys.exit(main())
