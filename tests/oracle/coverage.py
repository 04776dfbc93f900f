#!/usr/bin/env python3
"""Every public name that takes or returns something differentiable is called by an operation of the oracle.

usage: coverage.py [--record]

Names are those that the headers below declare, functions, members and modules. A name is called where an operation's text, or the
code of a transform, has it before a parenthesis or a template argument. The others stand in not_generated.txt, each with a reason;
that list may only shrink: a line whose name is called, or is no longer there, is an error, too. --record drops such lines.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "tools"))

import cpp_declarations          # noqa: E402
import cpp_source                # noqa: E402

HEADERS = ["ops", "tensor", "expr/function_forms.hpp", "functional", "vmap", "vmap.hpp", "map.hpp", "sum_over.hpp", "sum_over/element_sum.hpp",
           "implicit", "implicit.hpp", "least_squares", "least_squares.hpp", "linalg", "linalg.hpp", "manifold", "nn", "sparse", "higher_order.hpp"]
# What is told by the declaration itself: the parts of an operation's rule, options, and questions whose answer is no tensor.
RULES = {"value", "partial", "pullback", "add_onto", "value_and_partial", "choice_names", "extra_repr"}


def headers():
    root = PROJECT / "include/xgrad"
    for name in HEADERS:
        path = root / name
        yield from sorted(path.rglob("*.hpp")) if path.is_dir() else [path] if path.is_file() else []


def declared_text(declarations, each):
    """The head of a declaration: from its first line to the brace or semicolon that ends it."""
    text = "\n".join(declarations.code_lines[each.line:each.line + 12])
    return re.split(r"[;{]", text, maxsplit=1)[0]


def names():
    """The names with the header that declares them."""
    found = {}
    for path in headers():
        declarations = cpp_declarations.Declarations(cpp_source.read(path))
        file = path.relative_to(PROJECT / "include").as_posix()
        for each in declarations.found:
            if not each.public or cpp_declarations.INTERNAL.search(each.space) or each.kind not in ("function", "class"):
                continue
            head = declared_text(declarations, each)
            for name in each.names:
                if name in RULES or name.endswith(("Options", "Error")):
                    continue
                if each.kind == "class" and not ("/nn/" in file and re.search(r"Module<|detail::\w+<\s*" + name, head)):
                    continue            # a type alone is not called; modules are
                if each.kind == "function" and not each.inside and not re.search(r"Operand|Tensor|class [AXFG]\b|auto const&|TransformedFunction|class\.\.\. [AX]", head):
                    continue            # takes and returns no tensor
                found.setdefault(name, f"{file} {each.inside}{name}")
    return found


def called():
    text = "\n".join(cpp_source.read(path) for path in sorted((HERE / "composed").glob("*.?pp")))
    return set(re.findall(r"(?<!\w)(\w+)(?=\s*[(<])", text))


def main():
    path = HERE / "not_generated.txt"
    listed = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(":")
            for each in name.split():
                listed[each] = reason.strip()
    all_names, used = names(), called()
    missing = sorted(set(all_names) - used)
    wrong = [f"{all_names[name]}: no operation of the oracle calls it" for name in missing if name not in listed]
    wrong += [f"not_generated.txt: {name} has no reason" for name, reason in listed.items() if not reason]
    stale = sorted(name for name in listed if name not in missing)
    if stale and "--record" in sys.argv:
        keep = []
        for line in path.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                name, colon, reason = line.partition(":")
                rest = [each for each in name.split() if each not in stale]
                if not rest:
                    continue
                line = " ".join(rest) + colon + reason
            keep.append(line)
        path.write_text("\n".join(keep) + "\n")
    elif stale:
        wrong += [f"not_generated.txt: {name} is called, or not declared any more; --record drops it" for name in stale]
    print(*wrong, f"{len(all_names)} names, {len(all_names) - len(missing)} of them called, {len(missing)} with a reason why not", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
