"""The compiler as the tests use it: its command line is read from the compile_commands.json of the build."""

import json
import os
import shlex
import subprocess
import sys


def command(compile_commands, probe_name="probe.cpp"):
    """The command that compiles a probe of this folder, without its input and output, asking only for a verdict."""
    with open(compile_commands, encoding="utf-8") as file:
        entries = json.load(file)
    probe = [entry for entry in entries if entry["file"].endswith("headers/" + probe_name)]
    if not probe:
        sys.exit(f"{compile_commands} does not know headers/{probe_name}: configure again")
    words = probe[0].get("arguments") or shlex.split(probe[0]["command"])
    kept, skip = [], False
    for word in words:
        if skip or word in ("-c", "-o", "-MF", "-MT", "-MQ", "-MD", "-MMD"):
            skip = not skip and word in ("-o", "-MF", "-MT", "-MQ")
        elif not word.endswith("headers/" + probe_name):
            kept.append(word)
    return kept + ["-fsyntax-only"]


def compile_file(words, path, *more):
    """Exit code and messages. Messages in English, since tests look for words in them."""
    run = subprocess.run([*words, *more, str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         encoding="utf-8", errors="replace", env={**os.environ, "LC_ALL": "C"}, check=False)
    return run.returncode, run.stdout
