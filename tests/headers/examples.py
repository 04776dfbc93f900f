#!/usr/bin/env python3
"""Another compiler compiles all examples, without making code.

usage: examples.py COMPILE_COMMANDS COMPILER SCRATCH EXAMPLES"""

import pathlib
import sys

sys.dont_write_bytecode = True
import compiler

OF_GCC = {"-fno-new-ttp-matching", "-Wno-restrict", "-Wno-stringop-overflow", "-Wno-maybe-uninitialized", "--param=ggc-min-heapsize=1048576"}
OF_CLANG = {"-Xclang", "-fno-pch-timestamp"}


def main():
    scratch, examples = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
    scratch.mkdir(parents=True, exist_ok=True)
    is_clang = "clang" in sys.argv[2]
    known = [word for word in compiler.command(sys.argv[1])[1:] if word not in (OF_GCC if is_clang else OF_CLANG)]
    words = [sys.argv[2], *known, "-Werror", "-DXGRAD_SEPARATE_COMPILATION", f"-I{examples / 'support'}"]
    header, headers = scratch / "headers.hpp", scratch / ("headers.pch" if is_clang else "headers.hpp.gch")
    header.write_text("#include <xgrad/xgrad.hpp>\n", encoding="utf-8")
    code, messages = compiler.compile_file([word for word in words if word != "-fsyntax-only"], header, "-x", "c++-header", "-o", str(headers))
    if code:
        return messages
    included = ["-include-pch", str(headers)] if is_clang else ["-include", str(header)]
    sources = [source for source in sorted(examples.glob("*/*.cpp")) if source.parent.name != "support"]
    if not sources:
        return f"there are no examples in {examples}"
    wrong = [messages for source in sources for code, messages in [compiler.compile_file(words, source, *included)] if code]
    print(f"{len(sources)} sources")
    return "\n".join("\n".join(messages.splitlines()[:50]) for messages in wrong) or 0


if __name__ == "__main__":
    sys.exit(main())
