#!/usr/bin/env python3
"""Makes test cases out of the C++ in Markdown documents, so that what they show is what happens.

usage: examples.py OUTPUT.cpp DOCUMENT.md...

A ```cpp block is the body of a function; struct, template and inline definitions that begin in its first column go before the
function, and so do names given to types (using D = ...) and all of a block that has an int main(). If a ```text block comes next, with at most one line of prose
in between, that is what the example must print; otherwise it must print nothing. In a table, each piece of code in the column
"xgrad" stands for itself, and must not throw or print. A comment

<!-- given: auto x = ...; -->

(it may have several lines) holds what the examples after it take for granted, up to the next such comment or heading. What stands after a comment
<!-- mistake: ... --> must not compile, which is what mistakes.py tests."""

import dataclasses
import pathlib
import re
import sys

PREFACE = """// Made by tests/docs/examples.py.
#include <doctest/doctest.h>
#include <xgrad/testing/gradcheck.hpp>
#include <xgrad/testing/to_dot.hpp>
{headers}#include <xgrad/xgrad.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <numbers>
#include <optional>
#include <sstream>
#include <thread>

#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
#pragma GCC diagnostic ignored "-Wunused-result"

namespace xg = xgrad;

namespace {{

/// What an example prints; its warnings too, since they go where its author would see them.
class Printed {{
public:
    Printed() : before_(std::cout.rdbuf(text_.rdbuf())), flags_(std::cout.flags(std::ios_base::dec)), handler_(xg::set_warning_handler([](std::string const& w) {{ std::cout << "warning: " << w << '\\n'; }})) {{}}
    Printed(Printed const&) = delete;
    Printed& operator=(Printed const&) = delete;
    ~Printed()
    {{
        std::cout.rdbuf(before_);
        std::cout.flags(flags_);
        xg::set_warning_handler(handler_);
    }}
    std::string text() const {{ return text_.str(); }}

private:
    std::ostringstream text_;
    std::streambuf* before_;
    std::ios_base::fmtflags flags_;
    xg::WarningHandler handler_;
}};

}}  // namespace
"""

CASE = """
namespace {{
namespace {space} {{
{outside}
void example()
{{
{given}
{inside}
}}
}}  // namespace {space}
}}  // namespace
#line {line} "{document}"
TEST_CASE("{document}:{line}")
{{
    std::string printed;
    {{
        Printed const all;
        {space}::example();
        printed = all.text();
    }}
    CHECK(printed == {expected});
}}
"""


@dataclasses.dataclass
class Example:
    line: int
    code: str
    given: str
    printed: str = ""
    mistake: tuple = ()      # what is wrong in the code, and what would be right


def strip_fence(lines, start):
    """The lines of the block whose fence is lines[start], and where the closing fence is."""
    end = start + 1
    while not lines[end].startswith("```"):
        end += 1
    return lines[start + 1:end], end


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def read(lines, mistakes=False):
    """All examples of a document, in order; or instead all mistakes."""
    examples, given, column, mistake = [], "", None, ()
    at, waits_for_text = 0, None
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            kind = line[3:].strip()
            block, end = strip_fence(lines, at)
            if kind == "cpp":
                examples.append(Example(at + 2, "\n".join(block), given, mistake=mistake))
                mistake = ()
                waits_for_text = end
            elif kind == "text" and waits_for_text is not None and at - waits_for_text <= 4:
                examples[-1].printed = "".join(text + "\n" for text in block)
            if kind != "cpp":
                waits_for_text = None
            at = end
        elif line.startswith("<!-- given:"):
            start = at
            while "-->" not in lines[at]:
                at += 1
            given = "\n".join(lines[start:at + 1]).removeprefix("<!-- given:").rpartition("-->")[0]
        elif match := re.fullmatch(r"<!-- mistake: (.*) => (.*) -->", line):
            mistake = match.groups()
        elif line.startswith("#"):
            given = ""
        elif line.startswith("|"):
            if column is None and "xgrad" in cells(line):
                column = cells(line).index("xgrad")
            elif column is not None and not re.fullmatch(r"[|\s:-]+", line):
                pieces = re.findall(r"`([^`]+)`", cells(line)[column])
                if pieces:      # doctest knows test cases by their lines, so a row is one
                    before = given.replace("\n", " ")
                    examples.append(Example(at + 1, " ".join(f"{{ {before} {code}; }}" for code in pieces), ""))
        if not line.startswith("|"):
            column = None
        at += 1
    return [example for example in examples if bool(example.mistake) == mistakes]


def split_definitions(code):
    """What must stand outside of a function, and the rest. Lines keep their places, for the compiler's messages."""
    if "int main()" in code:
        code = re.sub(r"^namespace xg = xgrad;$", "", code, flags=re.MULTILINE)
        return re.sub(r"^#include .*$", "", code, flags=re.MULTILINE).replace("int main()", "void program()"), "program();"
    outside, inside = [], []
    within = False
    for line in re.sub(r"^#include .*$", "", code, flags=re.MULTILINE).split("\n"):
        within = within or re.match(r"(struct|class|template|inline|using \w+ = )\b", line) is not None
        (outside if within else inside).append(line)
        (inside if within else outside).append("")
        if line in ("}", "};") or (within and re.match(r"\S.*;$", line)):
            within = False
    return "\n".join(outside), "\n".join(inside)


def main():
    output, documents = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
    sources = [document.read_text(encoding="utf-8") for document in documents]
    headers = "".join(f"#include <xgrad/{part}.hpp>\n" for part in ("nn", "optim", "data", "linalg", "map", "least_squares", "sparse", "implicit", "sum_over", "vmap", "manifold", "package", "distributed", "interop", "xtensor_functions")
                      if any(f"xg::{part}" in source or f"\n#include <xgrad/{part}.hpp>" in source for source in sources))
    headers += "".join(dict.fromkeys(re.findall(r"^#include <[A-Z].*>\n", "".join(sources), re.M)))      # of others
    text = PREFACE.format(headers=headers)
    number = 0
    for document, source in zip(documents, sources):
        name = f"{document.parent.name}/{document.name}" if document.parent.parent.name == "docs" else document.name
        examples = read(source.split("\n"))
        if not examples:
            return f"{document} has no examples"
        for example in examples:
            outside, inside = split_definitions(example.code)
            place = f'#line {example.line} "{name}"\n'
            text += CASE.format(space=f"example_{number}", outside=place + outside, given=example.given, inside=place + inside, line=example.line,
                                document=name, expected=f'R"__({example.printed})__"')
            number += 1
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
