#!/usr/bin/env python3
"""Follows the first lines of README.md as a reader does: writes the first ```cpp block to a file, runs the first command that compiles it,
and compares what the program prints with the first ```text block.

usage: first_program.py README.md COMPILER      (in place of the command's g++)"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def main():
    readme, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    text = readme.read_text(encoding="utf-8")
    block = {kind: re.search(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)[1] for kind in ("cpp", "text")}
    command = re.search(r"^g\+\+ .*\bfirst\.cpp\b.*$", text, re.M)
    if not command:
        return f"{readme.name} has no line 'g++ ... first.cpp'"
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "first.cpp").write_text(block["cpp"], encoding="utf-8")
        pathlib.Path(directory, "single_include").symlink_to(readme.parent / "single_include")
        line = re.sub(r"^g\+\+", shlex.quote(compiler), command[0])
        run = subprocess.run(line, shell=True, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    if run.returncode or run.stdout != block["text"]:
        return f"{command[0]}\nprints\n{run.stdout}and must print\n{block['text']}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
