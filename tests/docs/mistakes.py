#!/usr/bin/env python3
"""Compiles what a document shows as wrong, and compares what the compiler says with what the document shows.

usage: mistakes.py COMPILE_COMMANDS DOCUMENT.md

A comment <!-- mistake: wrong text => right text --> stands before a ```cpp block, which examples.py leaves out. The block must not compile, and
the ```text block after it must be in the compiler's messages; where blanks and lines end does not count. With the right text
in place of the wrong one the block must compile."""

import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "headers")]
import compiler
import examples

PROGRAM = """#include <xgrad/xgrad.hpp>
namespace xg = xgrad;
{given}
{outside}
void example()
{{
{inside}
}}
"""


def main():
    words = compiler.command(sys.argv[1], "precompiled_probe.cpp")
    document = pathlib.Path(sys.argv[2])
    mistakes = examples.read(document.read_text(encoding="utf-8").split("\n"), mistakes=True)
    if not mistakes:
        return f"{document.name} shows no mistakes"
    for example in mistakes:
        wrong, right = example.mistake
        place = f"{document.name}:{example.line}"
        if example.code.count(wrong) != 1:
            return f"{place}: {wrong!r} must be there once"
        if not example.printed:
            return f"{place}: no ```text block says what the compiler says"
        for code, must_compile in ((example.code, False), (example.code.replace(wrong, right), True)):
            outside, inside = examples.split_definitions(code)
            with tempfile.TemporaryDirectory() as directory:
                source = pathlib.Path(directory, "example.cpp")
                source.write_text(PROGRAM.format(given=example.given, outside=outside, inside=inside), encoding="utf-8")
                failed, messages = compiler.compile_file(words, source)
            if must_compile and failed:
                return f"{place}: does not compile with {right!r}:\n{messages}"
            if not must_compile and not failed:
                return f"{place}: compiles, and must not"
            if not must_compile and re.sub(r"\s", "", example.printed) not in re.sub(r"\s", "", messages):
                return f"{place}: the compiler does not say\n{example.printed}but\n{messages}"
        print(f"{place}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
