#!/usr/bin/env python3
"""Compiles programs of this folder without -DMISTAKE, many at once, since most of the time is for the headers: each in a namespace of its own, after the
#includes of all. One that specializes a template of xgrad is compiled alone, and so is each if they do not compile at once.

usage: corrected.py COMPILE_COMMANDS SCRATCH.cpp PROGRAM.cpp..."""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "headers"))
import compiler


def main():
    words = compiler.command(sys.argv[1], "precompiled_probe.cpp")
    together, programs = pathlib.Path(sys.argv[2]), [pathlib.Path(argument) for argument in sys.argv[3:]]
    words.append(f"-I{programs[0].parent}")
    includes, parts = {}, []
    alone = [program for program in programs if re.search("^template <>", program.read_text(encoding="utf-8"), re.M)]
    for number, program in enumerate(program for program in programs if program not in alone):
        includes |= dict.fromkeys(re.findall(r"^#include .*$", program.read_text(encoding="utf-8"), re.M))
        parts.append(f'namespace program_{number} {{\n#include "{program}"\n}}')
    together.write_text("\n".join([*includes, *parts, ""]), encoding="utf-8")
    if compiler.compile_file(words, together)[0]:
        print("at once they do not compile")
        alone = programs
    wrong = [f"{program.name} must compile without MISTAKE, and does not:\n{messages}"
             for program in alone for code, messages in [compiler.compile_file(words, program)] if code]
    return "\n".join("\n".join(message.splitlines()[:50]) for message in wrong) or 0


if __name__ == "__main__":
    sys.exit(main())
