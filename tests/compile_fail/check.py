#!/usr/bin/env python3
"""Checks the messages about one program of this folder with -DMISTAKE; CMakeLists.txt here says how they are written.

usage: check.py COMPILE_COMMANDS PROGRAM.cpp"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "headers"))
import compiler

MOST_LINES = 25
MOST_LINES_OF_CLANG = 45     # it tells of every constructor that does not fit
DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "functions.md"


def beginning(messages):
    return "\n".join(messages.splitlines()[:2 * MOST_LINES])


def main():
    words = compiler.command(sys.argv[1], "precompiled_probe.cpp")
    program = pathlib.Path(sys.argv[2])
    with program.open(encoding="utf-8") as file:
        first = file.readline()
    expected = re.match(r"//\s*expect:\s*(\S.*)$", first)
    if not expected:
        return f'{program.name}: the first line must be "// expect: regular expression", and is: {first.strip()}'

    sentence = re.search(r"\w+(?:_\w+){2,}(?=<|$)", expected[1])
    if sentence and sentence[0] not in DOCUMENT.read_text(encoding="utf-8"):
        return f"{DOCUMENT.name} does not say what {sentence[0]} means"

    code, messages = compiler.compile_file(words, program, "-DMISTAKE")
    # clang says with each mistake through which headers it came there, which is no fault of the message
    lines = sum(not line.startswith("In file included from ") for line in messages.splitlines())
    if not code:
        return f"{program.name} compiles with MISTAKE, and must not"
    if not re.search(expected[1].strip(), messages):
        return f"{program.name}: no message matches /{expected[1].strip()}/ in\n{beginning(messages)}"
    most = MOST_LINES_OF_CLANG if "clang" in words[0] else MOST_LINES
    if lines >= most:
        return f"{program.name}: {lines} lines of messages, {most} are too many:\n{beginning(messages)}"
    print(f"{lines} lines:\n{messages}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
