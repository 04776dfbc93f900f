#!/usr/bin/env python3
"""Tests of tools/amalgamate and tools/check_layers on small trees that hold the traps."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
CONFIG = "#pragma once\n" + "".join(f"#define XGRAD_VERSION_{part} 7\n" for part in ("MAJOR", "MINOR", "PATCH"))


class Tree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.write("base/config.hpp", CONFIG)
        (self.root / "LICENSE").write_text("Free.\n")

    def write(self, name, content):
        path = self.root / "include/xgrad" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def run_tool(self, name, *arguments):
        run = subprocess.run([sys.executable, str(TOOLS / name), *arguments], capture_output=True, encoding="utf-8")
        return run.returncode, run.stdout + run.stderr

    def amalgamate(self, *arguments):
        return self.run_tool("amalgamate", "--project", str(self.root), *arguments)

    def single(self):
        code, output = self.amalgamate()
        self.assertEqual(code, 0, output)
        return (self.root / "single_include/xgrad/xgrad.hpp").read_bytes().decode()

    def layers(self):
        return self.run_tool("check_layers", str(self.root / "include"))


class Amalgamate(Tree):
    def test_order_and_once(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n#include \"b.hpp\"\nlast\n")
        self.write("a.hpp", "#pragma once\n#include <xgrad/b.hpp>\nmiddle\n")
        self.write("b.hpp", "#pragma once\n#include <vector>\nfirst\n")
        text = self.single()
        self.assertTrue(text.index("first") < text.index("middle") < text.index("last"))
        self.assertEqual(text.count("first"), 1)
        self.assertNotIn("pragma once", text)
        self.assertIn("xgrad 7.7.7", text)
        self.assertIn("// Free.", text)

    def test_extensions_hold_what_the_single_header_does_not(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\ncore\n")
        self.write("shared.hpp", "#pragma once\n#include <xgrad/a.hpp>\nshared\n")
        for part in ("nn", "optim"):
            self.write(f"{part}.hpp", f"#pragma once\n#include <xgrad/shared.hpp>\n#include <xgrad/xgrad.hpp>\nown {part}\n")
        self.assertNotIn("shared", self.single())
        for part in ("nn", "optim"):
            text = (self.root / f"single_include/xgrad/{part}.hpp").read_text()
            self.assertIn("#include <xgrad/xgrad.hpp>\n", text)
            self.assertNotIn("core", text)
            self.assertIn("#ifndef XGRAD_SINGLE_XGRAD_SHARED_HPP\n", text)     # a program may include both
            self.assertEqual(text.count("\nshared\n"), 1)
            self.assertIn(f"own {part}", text)
        self.write("shared.hpp", "#pragma once\nanother\n")
        code, output = self.amalgamate("--check")
        self.assertEqual(code, 1)
        self.assertIn("nn.hpp is not what include/xgrad makes of it", output)

    def test_programs_name_the_headers_of_testing_as_they_do_in_the_tree(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\nint a;\n")
        self.write("nn.hpp", "#pragma once\n#include <xgrad/nn/b.hpp>\n#include <xgrad/xgrad.hpp>\n")
        self.write("nn/b.hpp", "#pragma once\nint b;\n")
        self.write("testing/check.hpp", "#pragma once\n#include <xgrad/a.hpp>\nint c;\n")
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.single()
        single = self.root / "single_include/xgrad"
        self.assertIn("#include <xgrad/xgrad.hpp>\n", (single / "testing/check.hpp").read_text())
        self.assertFalse((single / "a.hpp").exists())
        program = "#include <xgrad/testing/check.hpp>\n#include <xgrad/nn.hpp>\nint main() { return a + b + c; }\n"
        run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{single.parent}", "-"],
                             input=program, encoding="utf-8")
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.amalgamate("--check"), (0, ""))
        (single / "testing/check.hpp").write_text("int c;\n")
        self.assertIn("check.hpp is not what include/xgrad makes of it", self.amalgamate("--check")[1])
        self.single()
        (self.root / "include/xgrad/testing/check.hpp").unlink()
        self.single()
        self.assertIn("check.hpp is made of no header any more", self.amalgamate("--check")[1])

    def test_internal_headers_are_forwarded_for_tests(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\nint a;\n")
        self.write("nn.hpp", "#pragma once\n#include <xgrad/nn/b.hpp>\n#include <xgrad/xgrad.hpp>\n")
        self.write("nn/b.hpp", "#pragma once\nint b;\n")
        output = self.root / "elsewhere/xgrad"
        self.assertEqual(self.amalgamate("--internal", "--output", str(output / "xgrad.hpp"))[0], 0)
        self.assertIn("#include <xgrad/xgrad.hpp>\n", (output / "a.hpp").read_text())
        self.assertIn("#include <xgrad/nn.hpp>\n", (output / "nn/b.hpp").read_text())

    def test_the_source_of_a_program_includes_the_extensions_that_are_there(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/base/a.hpp>\n#ifdef XGRAD_SOURCE\n#include <xgrad/source.hpp>\n#endif\n")
        self.write("base/a.hpp", "#pragma once\nint a;\n")
        self.write("source.hpp", "#pragma once\n#include <xgrad/nn.hpp>\n#include <xgrad/base/a.hpp>\n")
        self.write("nn.hpp", "#pragma once\n#include <xgrad/xgrad.hpp>\nint b;\n")
        self.single()
        single = self.root / "single_include/xgrad"
        program = "#define XGRAD_SOURCE\n#include <xgrad/xgrad.hpp>\nint main() { return a + b; }\n"
        compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{single.parent}", "-"]
        self.assertEqual(subprocess.run(compiler, input=program, encoding="utf-8").returncode, 0)
        (single / "nn.hpp").unlink()
        self.assertEqual(subprocess.run(compiler, input=program.replace(" + b", ""), encoding="utf-8").returncode, 0)
        self.assertEqual(self.layers(), (0, "layers hold\n"))

    def test_documents_name_headers_that_are_there(self):
        self.write("xgrad.hpp", "#pragma once\n")
        self.write("ops/a.hpp", "#pragma once\n")
        (self.root / "docs").mkdir()
        (self.root / "docs/guide.md").write_text("`ops/a.hpp` computes; include <xgrad/xgrad.hpp>.\n")
        self.single()
        (self.root / "docs/guide.md").write_text("Include `xgrad/ops/a.hpp`.\n")
        code, output = self.amalgamate()
        self.assertEqual(code, 1)
        self.assertIn("guide.md names xgrad/ops/a.hpp, which single_include does not have", output)

    def test_byte_order_mark_and_carriage_returns(self):
        self.write("xgrad.hpp", b"\xef\xbb\xbf#pragma once\r\n#include <xgrad/a.hpp>\r\n")
        self.write("a.hpp", b"\xef\xbb\xbf#pragma once\r\nint a;")
        text = self.single()
        self.assertIn("\nint a;\n", text)
        self.assertNotIn("\r", text)
        self.assertNotIn("\ufeff", text)

    def test_header_first_met_in_an_inactive_branch(self):
        self.write("xgrad.hpp", "#pragma once\n#if 0\n#include <xgrad/a.hpp>\n#endif\n#include <xgrad/a.hpp>\n"
                                "#include <xgrad/a.hpp>\nint main() { return b - 2; }\n")
        self.write("a.hpp", "#pragma once\n#include <xgrad/b.hpp>\n")
        self.write("b.hpp", "#ifndef B\n#define B\n#include <vector>\nint b = 2;\n#endif\n")
        text = self.single()
        self.assertEqual(text.count("int b"), 2)
        self.assertEqual(text.count("#include <vector>"), 2)
        run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", "-"],
                             input=text, encoding="utf-8")
        self.assertEqual(run.returncode, 0)

    def test_what_looks_like_a_directive(self):
        decoys = ('/*\n#include <xgrad/none.hpp>\n*/\n// \\\n#include <xgrad/none.hpp>\nauto s = R"x(\n#pragma once\n)x";\n'
                  'int n = 1\'000; char c = \'"\'; /* " */\n')
        self.write("xgrad.hpp", "#pragma once\n" + decoys + "#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\nint a;\n")
        text = self.single()
        self.assertIn(decoys, text)
        self.assertIn("int a;", text)
        self.assertNotIn("<xgrad/a.hpp>", text)

    def test_foreign_headers_once_unless_conditional(self):
        self.write("xgrad.hpp", "#include <xgrad/a.hpp>\n#include <map>\n#include <set>\n")
        self.write("a.hpp", "#pragma once\n#include <map>\n#if X\n#include <set>\n#endif\n")
        text = self.single()
        self.assertEqual((text.count("<map>"), text.count("<set>")), (1, 2))

    def test_mistakes(self):
        for line, words in (("#include <xgrad/none.hpp>", "xgrad.hpp:2: there is no"), ("#include WHAT", "macro"),
                            ("#if __has_include(<xgrad/a.hpp>)\n#endif", "__has_include"),
                            ("#include <xgrad/a.hpp>", "circle")):
            self.write("xgrad.hpp", f"\n{line}\n")
            self.write("a.hpp", "#include <xgrad/xgrad.hpp>\n")
            code, output = self.amalgamate()
            self.assertEqual(code, 1)
            self.assertIn(words, output)

    def test_check(self):
        self.write("xgrad.hpp", "int a;\n")
        self.assertIn("run tools/amalgamate", self.amalgamate("--check")[1])
        self.single()
        self.assertEqual(self.amalgamate("--check"), (0, ""))
        self.write("xgrad.hpp", "int b;\n")
        code, output = self.amalgamate("--check")
        self.assertEqual(code, 1)
        self.assertIn("run tools/amalgamate", output)


class CheckLayers(Tree):
    def test_tree_that_holds(self):
        self.write("base/xtensor.hpp", "#include <xtensor/xarray.hpp>\n")
        self.write("ops/a.hpp", "// #include <xgrad/graph/b.hpp>\n#include <xgrad/base/config.hpp>\n#include \"c.hpp\"\n")
        self.write("ops/c.hpp", "\n" * 400)
        self.write("tensor/b.hpp", "#include \"../ops/a.hpp\"\n#include <xgrad/fwd.hpp>\n")
        self.write("fwd.hpp", "#include <xgrad/base/config.hpp>\n")
        self.write("xgrad.hpp", "#include <xgrad/fwd.hpp>\n#include <xgrad/tensor/b.hpp>\n")
        self.assertEqual(self.layers(), (0, "layers hold\n"))

    def test_mistakes(self):
        for name, content, words in (
                ("ops/a.hpp", "#include <xgrad/graph/a.hpp>\n", "ops/a.hpp:1: ops may not know graph/a.hpp"),
                ("ops/a.hpp", "#include \"../graph/a.hpp\"\n", "ops may not know"),
                ("base/a.hpp", "#include <xgrad/xgrad.hpp>\n", "base may not know"),
                ("nn/a.hpp", "#include <xgrad/optim/a.hpp>\n", "nn may not know"),
                ("xgrad.hpp", "#include <xgrad/distributed/a.hpp>\n", "xgrad.hpp may not know"),
                ("ops/a.hpp", "#include <xgrad/ops/none.hpp>\n", "there is no ops/none.hpp"),
                ("ops/a.hpp", "#include <xgrad/ops/a.hpp>\n", "circle"),
                ("tensor/a.hpp", "#include <xtensor/xarray.hpp>\n", "only by"),
                ("base/a.hpp", "#  include <xsimd/xsimd.hpp>\n", "only by"),
                ("base/a.hpp", "\n" * 401, "401 lines"),
                ("utils/a.hpp", "\n", "no layer")):
            for other in ("graph", "ops", "optim", "distributed", "nn", "tensor", "base"):
                self.write(f"{other}/a.hpp", "#pragma once\n")
            self.write("xgrad.hpp", "#pragma once\n")
            self.write(name, content)
            code, output = self.layers()
            self.assertEqual(code, 1, words)
            self.assertIn(words, output)
            (self.root / "include/xgrad" / name).unlink()


if __name__ == "__main__":
    unittest.main()
