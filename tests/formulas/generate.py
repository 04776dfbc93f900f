#!/usr/bin/env python3
"""Writes a test of random fused formulas: see reference.hpp.

usage: generate.py OUTPUT.cpp [number of formulas] [seed]"""

import random
import re
import sys

UNARY = ["sin({})", "cos({})", "tanh({})", "exp(sin({}))", "log(1.5 + square({}))", "sqrt(0.5 + square({}))", "atan({})", "erf({})",
         "square({})", "sigmoid({})", "softplus({})", "abs({})", "relu({})", "(-{})", "(0.75 * {})", "({} - 0.5)", "(2. / (1.5 + square({})))"]
BINARY = ["({} + {})", "({} - {})", "({} * {})", "({} / (1.25 + square({})))", "maximum({}, {})", "minimum({}, {})",
          "where({0} < {1}, {0} * {1}, {1} - {0})", "where({0} > 0.25, sin({0}), {0} * {1})"]


def formula(choose, names, depth):
    if depth == 0:
        return choose.choice(names)
    if choose.random() < 0.45:
        return choose.choice(UNARY).format(formula(choose, names, depth - 1))
    parts = formula(choose, names, depth - 1), formula(choose, names, choose.randrange(depth))
    return choose.choice(BINARY).format(*parts)


def main():
    output, count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40, int(sys.argv[3]) if len(sys.argv) > 3 else 1
    choose = random.Random(seed)
    lines = ["// Made by tests/formulas/generate.py.", '#include "formulas/reference.hpp"', ""]
    for number in range(count):
        names = ["a", "b", "c", "d"][:choose.randint(1, 4)]
        text = "a"
        while len(text) < 8 or len(text) > 220:
            text = formula(choose, names, choose.randint(2, 4))
        used = [name for name in names if re.search(rf"\b{name}\b", text)]
        parameters = ", ".join(f"auto const& {name}" for name in used)
        lines += [f'TEST_CASE("formula {number}: {text}")', "{",
                  f'    formulas::check<{len(used)}>("{text}", {seed * 1000 + number}u, []({parameters}) {{ return {text}; }});', "}"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
