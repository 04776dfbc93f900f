#!/usr/bin/env python3
"""Checks the messages about programs of this folder with -DMISTAKE; CMakeLists.txt here says how they are written. Many are compiled at once, each in a
namespace of its own, after the #includes of all: reading the precompiled header takes longer than the rest. A program whose messages are few and as expected
has passed; any other is compiled alone, which decides.

usage: check.py COMPILE_COMMANDS SCRATCH.cpp PROGRAM.cpp..."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "headers"))
import compiler

MOST_LINES = 25
MOST_LINES_OF_CLANG = 45     # it tells of every constructor that does not fit
# All constructors of Tensor, since a deleted one would fit and be chosen among overloads.
MORE_LINES_OF_CLANG = {"double_expression_for_a_float_tensor.cpp": 75}
EXPECTED_IN_CLANG = re.S     # it names a deleted function, and shows its declaration on other lines
FEW_LINES = 12               # of a message beside others; alone, the headers that lead to it come on top
FEW_LINES_OF_CLANG = 40      # which are not counted there
DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "functions.md"


def beginning(messages):
    return "\n".join(messages.splitlines()[:2 * MOST_LINES])


def messages_at_once(words, together, programs):
    """{program: its messages} without the lines that say who includes whom. Empty where the messages of two programs cannot be told apart."""
    programs = [program for program in programs if not re.search("^template <>", program.read_text(encoding="utf-8"), re.M)]
    is_clang = "clang" in words[0]
    if len(programs) < 2:
        return {}
    includes = dict.fromkeys(line for program in programs for line in re.findall(r"^#include .*$", program.read_text(encoding="utf-8"), re.M))
    parts = [f'namespace program_{number} {{\n#include "{program}"\n}}' for number, program in enumerate(programs)]
    together.write_text("\n".join([*includes, *parts, ""]), encoding="utf-8")
    words = [*words, f"-I{programs[0].parent}", "-Wno-return-type"]      # a main() in a namespace returns nothing
    if is_clang:
        words += ["-ferror-limit=0", "-Wno-main"]
    # A message is what leads to it, the sentence and its notes; a new one begins where something leads to it again. clang has what leads to it among the notes.
    found, leads = [], False
    for line in compiler.compile_file(words, together, "-DMISTAKE")[1].splitlines():
        if re.match(r"In file included from |  +from ", line):
            continue
        led, leads = leads, not is_clang and bool(re.search(r": In |:   (?:(?:recursively )?required|in |\[ skipping )", line))
        if (leads and not led) or (not led and re.search(": (?:error|warning): ", line)):
            found.append([])
        if not found:
            return {}
        found[-1].append(re.sub(r"\bprogram_\d+::", "", line))
    messages = []
    for lines in found:
        if messages and not re.search(": (?:error|warning): ", "\n".join(lines)):
            messages[-1] += lines       # a note that something leads to
        else:
            messages.append(lines)
    result = {program: [] for program in programs}
    for lines in messages:
        about = [program for program in programs if any(str(program) in line for line in lines)]
        if len(about) != 1:
            return {}
        result[about[0]] += lines
    return result


def check(words, program, lines_at_once):
    with program.open(encoding="utf-8") as file:
        first = file.readline()
    expected = re.match(r"//\s*expect:\s*(\S.*)$", first)
    if not expected:
        return f'{program.name}: the first line must be "// expect: regular expression", and is: {first.strip()}'

    sentence = re.search(r"\w+(?:_\w+){2,}(?=<|$)", expected[1])
    if sentence and sentence[0] not in DOCUMENT.read_text(encoding="utf-8"):
        return f"{DOCUMENT.name} does not say what {sentence[0]} means"

    is_error = any(": error: " in line for line in lines_at_once)
    flags = EXPECTED_IN_CLANG if "clang" in words[0] else 0
    few = FEW_LINES_OF_CLANG if "clang" in words[0] else FEW_LINES
    if is_error and len(lines_at_once) <= few and re.search(expected[1].strip(), "\n".join(lines_at_once), flags):
        print(f"{program.name}, beside others, {len(lines_at_once)} lines:", *lines_at_once, sep="\n")
        return 0
    code, messages = compiler.compile_file(words, program, "-DMISTAKE")
    # clang says with each mistake through which headers it came there, which is no fault of the message
    lines = sum(not line.startswith("In file included from ") for line in messages.splitlines())
    if not code:
        return f"{program.name} compiles with MISTAKE, and must not"
    if not re.search(expected[1].strip(), messages, flags):
        return f"{program.name}: no message matches /{expected[1].strip()}/ in\n{beginning(messages)}"
    most = MORE_LINES_OF_CLANG.get(program.name, MOST_LINES_OF_CLANG) if "clang" in words[0] else MOST_LINES
    if lines >= most:
        return f"{program.name}: {lines} lines of messages, {most} are too many:\n{beginning(messages)}"
    print(f"{program.name}, alone, {lines} lines:\n{messages}")
    return 0


def main():
    words = compiler.command(sys.argv[1], "precompiled_probe.cpp")
    programs = [pathlib.Path(argument) for argument in sys.argv[3:]]
    at_once = messages_at_once(words, pathlib.Path(sys.argv[2]), programs)
    return "\n".join(wrong for program in programs if (wrong := check(words, program, at_once.get(program, [])))) or 0


if __name__ == "__main__":
    sys.exit(main())
