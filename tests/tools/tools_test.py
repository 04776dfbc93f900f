#!/usr/bin/env python3
"""Tests of tools/amalgamate, tools/check_layers, tools/check, tools/size, tools/numbers, tools/docs and benchmarks/chart, on small trees that hold the traps."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
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
        self.write("core/config.hpp", CONFIG)
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

    def test_programs_name_headers_as_they_do_in_the_tree(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\nint a;\n")
        self.write("nn.hpp", "#pragma once\n#include <xgrad/nn/b.hpp>\n#include <xgrad/xgrad.hpp>\n")
        self.write("nn/b.hpp", "#pragma once\nint b;\n")
        self.write("testing/gradcheck.hpp", "#pragma once\n#include <xgrad/a.hpp>\nint c;\n")
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.single()
        names = [path.relative_to(self.root / "single_include").as_posix() for path in (self.root / "single_include").rglob("*.hpp")]
        self.assertEqual(sorted(names), ["xgrad/nn.hpp", "xgrad/testing/gradcheck.hpp", "xgrad/xgrad.hpp"])
        single = self.root / "all/xgrad"
        self.assertEqual(self.amalgamate("--internal", "--output", str(single / "xgrad.hpp"))[0], 0)
        for folder, header, home in ((self.root / "single_include/xgrad", "testing/gradcheck.hpp", "xgrad.hpp"),
                                     (single, "testing/gradcheck.hpp", "xgrad.hpp"), (single, "a.hpp", "xgrad.hpp"), (single, "nn/b.hpp", "nn.hpp")):
            self.assertIn(f"#include <xgrad/{home}>\n", (folder / header).read_text())
        program = "#include <xgrad/testing/gradcheck.hpp>\n#include <xgrad/nn/b.hpp>\nint main() { return a + b + c; }\n"
        run = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{single.parent}", "-"],
                             input=program, encoding="utf-8")
        self.assertEqual(run.returncode, 0)
        single = self.root / "single_include/xgrad"
        self.assertEqual(self.amalgamate("--check"), (0, ""))
        (single / "testing/gradcheck.hpp").write_text("int c;\n")
        self.assertIn("gradcheck.hpp is not what include/xgrad makes of it", self.amalgamate("--check")[1])
        self.single()
        (self.root / "include/xgrad/testing/gradcheck.hpp").unlink()
        self.single()
        self.assertIn("gradcheck.hpp is made of no header any more", self.amalgamate("--check")[1])

    def test_headers_beside_the_library_have_forwarders_beside_it(self):
        self.write("xgrad.hpp", "#pragma once\n")
        self.write("nn.hpp", "#pragma once\n#include <xgrad/xgrad.hpp>\n#include <xgrad_nn/b.hpp>\n")
        self.write("../xgrad_nn/b.hpp", "#pragma once\nint b;\n")
        self.single()
        single = self.root / "single_include"
        self.assertIn("\nint b;\n", (single / "xgrad/nn.hpp").read_text())
        self.assertFalse((single / "xgrad_nn").exists())
        every = self.root / "all"
        self.assertEqual(self.amalgamate("--internal", "--output", str(every / "xgrad/xgrad.hpp"))[0], 0)
        self.assertIn("#include <xgrad/nn.hpp>\n", (every / "xgrad_nn/b.hpp").read_text())
        (single / "xgrad_nn").mkdir()
        (single / "xgrad_nn/b.hpp").write_text("int b;\n")
        self.assertIn("xgrad_nn/b.hpp is made of no header any more", self.amalgamate("--check")[1])
        self.write("nn.hpp", "#pragma once\n#include <xgrad_nn/c.hpp>\n")
        self.assertIn("nn.hpp:2: there is no xgrad_nn/c.hpp", self.amalgamate()[1])

    def test_headers_of_bodies_are_there_for_tests_only(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/a.hpp>\n")
        self.write("a.hpp", "#pragma once\nint a();\n#ifdef XGRAD_IMPLEMENTATION\n#include <xgrad/impl/a.ipp>\n#endif\n")
        self.write("impl/a.ipp", "#pragma once\n#include <xgrad/a.hpp>\n#include <xgrad/b.hpp>\nint a() { return b; }\n")
        self.write("b.hpp", "#pragma once\ninline int b = 0;\n")
        self.single()
        self.assertFalse((self.root / "single_include/xgrad/b.hpp").exists())
        output = self.root / "elsewhere/xgrad"
        self.assertEqual(self.amalgamate("--internal", "--output", str(output / "xgrad.hpp"))[0], 0)
        self.assertIn("inline int b", (output / "b.hpp").read_text())

    def test_examples_name_headers_that_are_there(self):
        self.write("xgrad.hpp", "#pragma once\n")
        self.single()
        (self.root / "examples/one").mkdir(parents=True)
        (self.root / "examples/one/main.cpp").write_text("#include <xgrad/gone.hpp>\n")
        code, output = self.amalgamate()
        self.assertEqual(code, 1)
        self.assertIn("examples/one/main.cpp names xgrad/gone.hpp, which single_include does not have", output)

    def test_bodies_stand_in_the_single_header_and_are_compiled_where_that_is_asked_for(self):
        bodies = "#ifdef XGRAD_IMPLEMENTATION\n#include <xgrad/impl/core/a.ipp>\n#endif\n"
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/core/a.hpp>\n")
        self.write("core/a.hpp", "#pragma once\nint a();\n" + bodies)
        self.write("core/b.hpp", "#pragma once\ninline int b() { return 0; }\n")
        self.write("impl/core/a.ipp", "#pragma once\n#include <xgrad/core/a.hpp>\n#include <xgrad/core/b.hpp>\nint a() { return b(); }\n")
        self.single()
        single = self.root / "single_include"
        objects = []
        for name, text in (("main", ""), ("bodies", "#define XGRAD_IMPLEMENTATION\n")):
            source = self.root / f"{name}.cpp"
            source.write_text(text + "#include <xgrad/xgrad.hpp>\n" + ("int main() { return a(); }\n" if name == "main" else ""))
            objects.append(str(source))
        compiler = [os.environ.get("CXX", "c++"), "-std=c++20", f"-I{single}", "-o", str(self.root / "program")]
        self.assertEqual(subprocess.run([*compiler, *objects]).returncode, 0)
        self.assertEqual(subprocess.run([str(self.root / "program")]).returncode, 0)
        self.assertNotEqual(subprocess.run([*compiler, objects[0]], stderr=subprocess.DEVNULL).returncode, 0)
        self.assertEqual(self.layers(), (0, "layers hold\n"))

    def test_a_file_has_the_bodies_of_those_headers_that_it_names_itself(self):
        for part, include in (("xgrad", ""), ("nn", "#include <xgrad/nn/a.hpp>\n#include <xgrad/xgrad.hpp>\n")):
            folder = {"xgrad": "core", "nn": "nn"}[part]
            end = f"#ifdef XGRAD_IMPLEMENTATION\n#include <xgrad/impl/{folder}/a{part}.ipp>\n#endif\n"
            self.write(f"{folder}/a{part}.hpp", f"#pragma once\nint a_{part}();\n{end}")
            self.write(f"impl/{folder}/a{part}.ipp", f"#pragma once\n#include <xgrad/{folder}/a{part}.hpp>\nint a_{part}() {{ return 1; }}\n")
            self.write(f"impl/{part}.ipp", f"#pragma once\n#define XGRAD_IMPLEMENTATION\n#include <xgrad/impl/{folder}/a{part}.ipp>\n")
            self.write(f"{part}.hpp", f"#ifndef XGRAD_{part}\n#define XGRAD_{part}\n#pragma push_macro(\"XGRAD_IMPLEMENTATION\")\n"
                       f"#undef XGRAD_IMPLEMENTATION\n#include <xgrad/{folder}/a{part}.hpp>\n" + ("#include <xgrad/xgrad.hpp>\n" if include else "") +
                       "#pragma pop_macro(\"XGRAD_IMPLEMENTATION\")\n#endif\n#if defined(XGRAD_IMPLEMENTATION) && !defined(XGRAD_INSIDE)\n"
                       f"#include <xgrad/impl/{part}.ipp>\n#endif\n")
        self.assertEqual(self.layers(), (0, "layers hold\n"))
        self.single()
        compiler = [os.environ.get("CXX", "c++"), "-std=c++20"]
        (self.root / "main.cpp").write_text("#include <xgrad/nn.hpp>\nint main() { return a_nn() - a_xgrad(); }\n")
        for tree in ("include", "single_include"):
            for number, files in enumerate(([["nn"], ["xgrad"]], [["nn", "xgrad"]], [["xgrad", "nn"]])):
                sources = [self.root / "main.cpp"]
                for names in files:
                    sources.append(self.root / f"implement_{'_'.join(names)}.cpp")
                    sources[-1].write_text("#define XGRAD_IMPLEMENTATION\n" + "".join(f"#include <xgrad/{name}.hpp>\n" for name in names))
                program = str(self.root / f"{tree}_{number}")
                self.assertEqual(subprocess.run([*compiler, f"-I{self.root / tree}", *map(str, sources), "-o", program]).returncode, 0)
                self.assertEqual(subprocess.run([program]).returncode, 0)
        self.write("impl/nn.ipp", "#pragma once\n")
        code, output = self.layers()
        self.assertEqual(code, 1)
        self.assertIn("impl/nn/ann.ipp: is in 0 of the lists impl/*.ipp, and belongs into one", output)

    def test_bodies_of_lower_layers_belong_to_xgrad_hpp(self):
        self.write("xgrad.hpp", "#pragma once\n")
        self.write("core/a.hpp", "#pragma once\n#include <xgrad/impl/core/a.ipp>\n")
        self.write("impl/core/a.ipp", "#pragma once\n#include <xgrad/core/a.hpp>\n")
        code, output = self.layers()
        self.assertEqual(code, 1)
        self.assertIn("core/a.hpp: has bodies in impl/, so xgrad.hpp has to include it", output)

    def test_bodies_that_only_bodies_include_belong_to_no_other_layer(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/core/b.hpp>\n")
        self.write("core/b.hpp", "#pragma once\n#include <xgrad/impl/core/b.ipp>\n")
        self.write("impl/core/b.ipp", "#pragma once\n#include <xgrad/core/a.hpp>\n#include <xgrad/core/b.hpp>\n")
        self.write("core/a.hpp", "#pragma once\n#include <xgrad/impl/core/a.ipp>\n")
        self.write("impl/core/a.ipp", "#pragma once\n#include <xgrad/core/a.hpp>\n")
        self.assertEqual(self.layers(), (0, "layers hold\n"))
        self.write("nn/c.hpp", "#pragma once\n#include <xgrad/core/a.hpp>\n")
        code, output = self.layers()
        self.assertEqual(code, 1)
        self.assertIn("core/a.hpp: has bodies in impl/, so xgrad.hpp has to include it", output)

    def test_only_a_header_includes_its_bodies(self):
        self.write("xgrad.hpp", "#pragma once\n#include <xgrad/core/a.hpp>\n#include <xgrad/core/b.hpp>\n")
        self.write("core/a.hpp", "#pragma once\n")
        self.write("core/b.hpp", "#pragma once\n#include <xgrad/impl/core/a.ipp>\n")
        self.write("impl/core/a.ipp", "#pragma once\n#include <xgrad/core/a.hpp>\n")
        code, output = self.layers()
        self.assertEqual(code, 1)
        self.assertIn("core/b.hpp:2: core may not know impl/core/a.ipp", output)

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

    def test_what_stands_behind_an_error_is_not_conditional(self):
        self.write("xgrad.hpp", "#if !__has_include(<map>)\n#error no map\n#else\n#include <xgrad/a.hpp>\n#include <map>\n#endif\n"
                                "#include <xgrad/a.hpp>\n#if X\n#include <xgrad/b.hpp>\n#endif\n#include <xgrad/b.hpp>\n#include <map>\n")
        self.write("a.hpp", "#pragma once\nint a;\n")
        self.write("b.hpp", "#pragma once\nint b;\n")
        text = self.single()
        self.assertEqual((text.count("int a;"), text.count("int b;"), text.count("#include <map>")), (1, 2, 1))

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
        self.write("core/xtensor.hpp", "#include <xtensor/xarray.hpp>\n")
        self.write("ops/a.hpp", "// #include <xgrad/autograd/b.hpp>\n#include <xgrad/core/config.hpp>\n#include \"c.hpp\"\n")
        self.write("ops/c.hpp", "\n" * 400)
        self.write("tensor/b.hpp", "#include \"../ops/a.hpp\"\n#include <xgrad/core/config.hpp>\n")
        self.write("xgrad.hpp", "#include <xgrad/tensor/b.hpp>\n")
        self.assertEqual(self.layers(), (0, "layers hold\n"))

    def test_mistakes(self):
        for name, content, words in (
                ("ops/a.hpp", "#include <xgrad/autograd/a.hpp>\n", "ops/a.hpp:1: ops may not know autograd/a.hpp"),
                ("ops/a.hpp", "#include \"../autograd/a.hpp\"\n", "ops may not know"),
                ("core/a.hpp", "#include <xgrad/xgrad.hpp>\n", "core may not know"),
                ("nn/a.hpp", "#include <xgrad/optim/a.hpp>\n", "nn may not know"),
                ("xgrad.hpp", "#include <xgrad_distributed/a.hpp>\n", "xgrad.hpp may not know xgrad_distributed/a.hpp"),
                ("nn/a.hpp", "#include \"../../xgrad_distributed/a.hpp\"\n", "nn may not know xgrad_distributed/a.hpp"),
                ("../xgrad_distributed/a.hpp", "#include <xgrad/optim/a.hpp>\n", "xgrad_distributed may not know optim/a.hpp"),
                ("../xgrad_distributed/a.hpp", "#include <xgrad_distributed/none.hpp>\n", "there is no xgrad_distributed/none.hpp"),
                ("distributed/a.hpp", "\n", "distributed/a.hpp: no layer"),
                ("ops/a.hpp", "#include <xgrad/ops/none.hpp>\n", "there is no ops/none.hpp"),
                ("ops/a.hpp", "#include <xgrad/ops/a.hpp>\n", "circle"),
                ("tensor/a.hpp", "#include <xtensor/xarray.hpp>\n", "only by"),
                ("core/a.hpp", "#  include <xtl/xsequence.hpp>\n", "only by"),
                ("core/a.hpp", "\n" * 401, "401 lines"),
                ("utils/a.hpp", "\n", "no layer")):
            for other in ("autograd", "ops", "optim", "../xgrad_distributed", "nn", "tensor", "core"):
                self.write(f"{other}/a.hpp", "#pragma once\n")
            self.write("xgrad.hpp", "#pragma once\n")
            self.write(name, content)
            code, output = self.layers()
            self.assertEqual(code, 1, words)
            self.assertIn(words, output)
            (self.root / "include/xgrad" / name).unlink()


class Table(unittest.TestCase):
    def test_the_layers_of_the_table_are_there_and_include_what_they_may(self):
        """An entry that no header needs is one that nobody would miss."""
        loader = importlib.machinery.SourceFileLoader("check_layers", str(TOOLS / "check_layers"))
        sys.path.insert(0, str(TOOLS))
        tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
        loader.exec_module(tool)
        root = TOOLS.parent / "include/xgrad"
        for layer, others in tool.MAY_INCLUDE.items():
            path = tool.path_of(layer, root.parent)
            self.assertTrue(path.exists(), f"there is no {layer}")
            files = [path] if layer.endswith(".hpp") else [*path.rglob("*.hpp"), *(root / "impl" / layer).rglob("*.ipp")]
            text = "\n".join(file.read_text() for file in files)
            for other in others - tool.CORE:
                self.assertTrue(re.search(rf"# *include <(xgrad/)?{other}\b", text), f"{layer} does not include {other}")


class Size(unittest.TestCase):
    def test_what_it_counts_is_there(self):
        run = subprocess.run([sys.executable, str(TOOLS / "size"), "--lines"], capture_output=True, encoding="utf-8", env={"PATH": "/nowhere"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        for what in ("loop drivers", "engines", "instructions at n = 4"):
            self.assertRegex(run.stdout, rf"{what}.* [1-9]\d* ")


class Benchmarks(unittest.TestCase):
    def test_the_preset_of_the_tools_builds_them(self):
        presets = {each["name"]: each for each in json.loads((TOOLS.parent / "CMakePresets.json").read_text())["configurePresets"]}
        for tool in ("run", "instructions"):
            named = set(re.findall(r"cmake --preset (\w+)", (TOOLS.parent / "benchmarks" / tool).read_text()))
            self.assertEqual(len(named), 1, tool)
            for name in named:
                self.assertEqual(presets[name]["cacheVariables"].get("XGRAD_BUILD_BENCHMARKS"), "ON", f"benchmarks/{tool}: {name}")


class Numbers(unittest.TestCase):
    """tools/numbers, on pages and records of its own."""

    SPEED = {"date": "2026-01-01", "counts": {"rational": 3000}, "rows": [
        {"subject": "graph", "case": "chain of x = sin(x): time each", "n": 1000000, "peers": {}, "xgrad": 269.4, "ratio": None, "libtorch_ns": None},
        {"subject": "graph", "case": "chain of x = 2*x: time each", "n": 1000000, "peers": {}, "xgrad": 222.0, "ratio": None, "libtorch_ns": None},
        {"subject": "networks", "case": "digits: ConvNet", "n": 32, "peers": {}, "xgrad": 1646572.0, "ratio": None, "libtorch_ns": 2589000.0}]}
    COST = {"programs": {"date": "2026-01-02", "counts": {"MB of the front end": 450}, "costs": {"formula -O2": {"seconds": 6.5, "MB": 1450, "ratio": 8.96}}}}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.put("docs/benchmarks.json", json.dumps(self.SPEED))
        self.put("benchmarks/compile_cost.json", json.dumps(self.COST))
        self.put("benchmarks/instructions.txt", "# built with GNU 12\nrational    3100\n")
        self.put("tools/ratchets/size.txt", "# count | gate\n  460 |  420 |  370 | MB of the front end\n")

    def put(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def numbers(self, *options):
        run = subprocess.run([sys.executable, str(TOOLS / "numbers"), "--project", str(self.root), *options], capture_output=True, encoding="utf-8")
        return run.returncode, run.stdout + run.stderr

    def wrong(self, page):
        self.put("README.md", page)
        code, output = self.numbers()
        return output.splitlines() if code else []

    def test_a_number_is_that_of_its_record_with_as_many_digits_as_it_has(self):
        right = ("a Node takes 222<!-- speed.node.ns.least --> to 269.4<!-- speed.node.ns.most --> ns,\n"
                 "| 1.65<!-- speed.digits.ms --> ms | 2.6<!-- speed.digits.libtorch_ms --> ms | 1.57<!-- speed.digits.libtorch --> |\n"
                 "a formula 9.0<!-- compile.formula -O2.ratio -->x and 1.4<!-- compile.formula -O2.GB --> GB on 2026-01-02<!-- compile.date -->.\n")
        self.assertEqual(self.wrong(right), [])
        stale = right.replace("1.65", "1.70").replace("9.0<", "11.9<").replace("2026-01-02", "2025-12-31")
        self.assertEqual(self.wrong(stale), [
            "README.md:2: speed.digits.ms is 1.65 and not 1.70: tools/numbers --write",
            "README.md:3: compile.formula -O2.ratio is 9.0 and not 11.9: tools/numbers --write",
            "README.md:3: compile.date is 2026-01-02 and not 2025-12-31: tools/numbers --write"])
        self.assertEqual(self.numbers("--write")[0], 0)
        self.assertEqual((self.root / "README.md").read_text(), right)

    def test_a_number_without_a_record(self):
        self.assertEqual(self.wrong("It takes 3<!-- speed.digits.ms --> ms.\n\n`2 s`\n```\n3 s\n```\nIt takes 8 to 11 times as long, or 4x, or 1.2 s, and 2 GB.\n"), [
            "README.md:1: speed.digits.ms is 2 and not 3: tools/numbers --write",
            *(f"README.md:7: {what} has no key: where is it recorded?" for what in ("8 to 11 times", "4x", "1.2 s", "2 GB"))])
        self.assertEqual(self.wrong("6 x 6 matrices, at most 8 threads, xtensor 0.24, in 54 starts\n"), [])
        self.assertEqual(self.wrong("1<!-- speed.digits.days --> 2<!-- speed.nothing.ms --> 3<!-- compile.formula -O3.MB --> 4<!-- pictures.cat --> 5<!-- x -->\n"), [
            "README.md:1: speed.digits.days: docs/benchmarks.json has 0 numbers for it",
            "README.md:1: speed.nothing.ms: there is no alias nothing",
            "README.md:1: compile.formula -O3.MB: benchmarks/compile_cost.json has no MB of formula -O3",
            "README.md:1: pictures.cat: there is no docs/pictures/seconds.json",
            "README.md:1: x: there is no such key"])

    def test_a_record_of_programs_that_have_changed(self):
        self.put("benchmarks/instructions.txt", "rational    2300\n")
        self.put("tools/ratchets/size.txt", "  360 |  |  | MB of the front end\n")
        self.assertEqual(self.wrong(""), [
            "docs/benchmarks.json is of 2026-01-01, when the count of rational was 3,000, and now it is 2,300: measure again, benchmarks/run --publish",
            "benchmarks/compile_cost.json is of 2026-01-02, when the count of MB of the front end was 450, and now it is 360: measure again, benchmarks/compile_cost --record"])


class Chart(Tree):
    """benchmarks/chart, on the numbers that are published and on some of its own."""

    PROJECT = TOOLS.parent

    def chart(self, numbers):
        run = subprocess.run([sys.executable, str(self.PROJECT / "benchmarks/chart"), str(numbers), str(self.root)], capture_output=True, encoding="utf-8")
        return run.returncode, run.stdout + run.stderr

    def test_the_published_charts_are_those_of_the_published_numbers(self):
        docs = self.PROJECT / "docs"
        self.assertEqual(self.chart(docs / "benchmarks.json"), (0, ""))
        charts = sorted(path.relative_to(docs) for path in [docs / "benchmarks.svg", *(docs / "benchmarks").glob("*.svg")])
        self.assertEqual(charts, sorted(path.relative_to(self.root) for path in [self.root / "benchmarks.svg", *(self.root / "benchmarks").glob("*.svg")]))
        page = (docs / "benchmarks.md").read_text()
        for chart in charts:
            self.assertEqual((docs / chart).read_text(), (self.root / chart).read_text(), f"{chart}: run benchmarks/chart docs/benchmarks.json docs")
            self.assertIn(f"({chart.as_posix()})", page)

    def test_words_and_bars(self):
        row = {"subject": "complex", "case": "abs2(z)", "n": 8, "peer": "hand", "peer_ns": 10.0, "xgrad": 5.0, "unit": "ns",
               "peers": {"hand": 10.0, "CoDiPack 2.2": 4.0}, "libtorch_ns": 100.0}
        data = {"date": "2026-01-01", "processor": "P", "compiler": "C", "libtorch": "1.13", "rows": [row, {**row, "n": 9, "xgrad": 30.0}]}
        numbers = self.root / "numbers.json"
        numbers.write_text(json.dumps(data))
        self.assertEqual(self.chart(numbers), (0, ""))
        picture = (self.root / "benchmarks/complex.svg").read_text()
        for words in ("Good: at most 1.15 times the time of hand-written loops in 1 of 2 rows, 0.50 times in the best.",
                      "Good: libtorch 1.13 (2022) takes 11.7 times as long as xgrad (median; least 3.33).",
                      "Bad: CoDiPack 2.2 takes 0.47 times as long as xgrad (median; least 0.13).",
                      "Bad: abs2(z), n = 9, takes 3.00 times as long as hand-written loops: 30.0 ns beside 10.0 ns."):
            self.assertIn(f">{words}</text>", picture)
        self.assertEqual([picture.count(f'<rect class="{kind}"') for kind in ("xgrad", "peer0", "peer1")], [3, 3, 3])      # two bars and the legend
        numbers.write_text(json.dumps({**data, "rows": [{**row, "subject": "new"}]}))
        self.assertEqual(self.chart(numbers), (1, "benchmarks/chart: new is in no group\n"))


class Check(Tree):
    """Each check fails for the fault that it is there for, and no longer once the fault is listed or gone."""

    def check(self, *arguments):
        return self.run_tool("check", "--project", str(self.root), *arguments)

    def put(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def assert_fails(self, name, sentence):
        code, output = self.check(name)
        self.assertEqual(code, 1, output)
        self.assertIn(sentence, output)

    def assert_holds(self, *names):
        self.assertEqual(self.check(*names), (0, "".join(f"{name}: ok\n" for name in names)))

    def test_a_tree_without_faults(self):
        self.put("include/xgrad/core/README.md", "Scalars: `config.hpp`.\n")
        code, output = self.check()
        self.assertEqual(code, 0, output)
        for name in ("layers", "words", "names", "compiler", "cmake", "documentation", "facts", "documents", "reference"):
            self.assertIn(f"{name}: ok\n", output)
        code, output = self.check("spelling")
        self.assertNotEqual(code, 0)
        self.assertIn("there is no check spelling", output)

    def test_layers(self):
        self.write("autograd/b.hpp", "#pragma once\n")
        self.write("ops/a.hpp", "#include <xgrad/autograd/b.hpp>\n")
        self.assert_fails("layers", "layers: ops/a.hpp:1: ops may not know autograd/b.hpp")

    @unittest.skipUnless(shutil.which("clang-format-16"), "clang-format-16 is not installed")
    def test_format(self):
        self.put(".clang-format", "BasedOnStyle: LLVM\n")
        self.put("tests/a.cpp", "int  a;\n")
        self.put("tests/b.cpp", "int  b;\n")
        self.put("tools/ratchets/not_formatted.txt", "# known\ntests/a.cpp\n")
        self.assert_fails("format", "format: tests/b.cpp: not formatted; run clang-format-16 -i tests/b.cpp")
        self.assertNotIn("a.cpp", self.check("format")[1])
        self.put("tests/b.cpp", "int b;\n")
        self.assert_holds("format")
        self.put("tests/a.cpp", "int a;\n")
        self.assertEqual(self.check("format", "--record")[0], 0)
        self.assertEqual((self.root / "tools/ratchets/not_formatted.txt").read_text(), "# known\n")
        self.put("tests/a.cpp", "int  a;\n")
        self.assert_fails("format", "tests/a.cpp: not formatted")

    def test_format_is_skipped_where_there_is_no_formatter(self):
        run = subprocess.run([sys.executable, str(TOOLS / "check"), "--project", str(self.root), "format"], capture_output=True,
                             encoding="utf-8", env={"PATH": "/nowhere"})
        self.assertEqual((run.returncode, run.stdout), (0, "format: skipped, clang-format-16 is not installed\n"))

    def test_words(self):
        list_ = "tools/ratchets/retired_words.txt"
        self.put(list_, "# words\n    1 | room / rooms | buffer\n    0 | Pack / in order | Batch\n")
        self.write("ops/a.hpp", "int room_; // A room\nint mushroom, packs; auto s = \"room for rooms, Pack\"; // broom\n")
        self.assert_fails("words", "words: 'room / rooms' is in 2 names and comments, 1 are known; write buffer")
        where = self.check("--where", "room / rooms")
        self.assertEqual(where[1].count("include/xgrad/ops/a.hpp:1: int room_; // A room\n"), 2)
        self.write("ops/a.hpp", "int room_;\n// room_ is used: the same name, which is one fault.\nint b = room_ + room_;\n")
        self.write("ops/b.hpp", "int c = room_;\n")
        self.assert_holds("words")
        self.write("ops/b.hpp", "\n")
        for text, fault in (("int roomOf;", "room"), ("int Rooms;", "room"), ("int a_room;", "room"), ("struct RealPack;", "Pack"),
                            ("/* lies in\n order */", "Pack"), ("// in order", "Pack"), ("// in ordered", None)):
            self.write("ops/a.hpp", text + " // room\n")
            self.assert_fails("words", f"'{fault}") if fault else self.assert_holds("words")
        self.put("tests/packs.cpp", "")
        self.assert_holds("words")
        self.put("tests/room.cpp", "")
        self.assert_fails("words", "'room / rooms' is in 2 names and comments")
        (self.root / "tests/room.cpp").unlink()
        self.write("ops/a.hpp", "\n")
        self.assertEqual(self.check("words", "--record")[0], 0)
        self.assertIn("    0 | room / rooms | buffer\n", (self.root / list_).read_text())
        self.write("ops/a.hpp", "// room\n")
        self.assert_fails("words", "is in 1 names and comments, 0 are known")
        self.assertEqual(self.check("words", "--record")[0], 1)      # a list does not grow

    def test_names(self):
        self.write("ops/a.hpp", "\n")
        self.assert_holds("names")
        self.write("tensor/a.hpp", "\n")
        self.assert_fails("names", "names: ops/a.hpp and tensor/a.hpp have the same name")
        (self.root / "include/xgrad/tensor/a.hpp").unlink()
        self.put("include/xgrad_more/a.hpp", "\n")
        self.assert_fails("names", "names: ops/a.hpp and xgrad_more/a.hpp have the same name")

    def test_compiler(self):
        self.write("core/compiler.hpp", "inline void barrier() { asm(\"\"); }\n")
        self.write("ops/a.hpp", "// asm(\"\") and __builtin_expect in words\nchar const* here(char const* f = __builtin_FILE());\n")
        self.assert_holds("compiler")
        for line in ("bool b = __builtin_expect(1, 1);", "void f() { asm volatile(\"\"); }", "__attribute__((cold)) void f();"):
            self.write("ops/a.hpp", line + "\n")
            self.assert_fails("compiler", "ops/a.hpp:1: ")

    def test_foreign(self):
        self.write("core/foreign_headers.hpp", "#if XGRAD_FAST_MATH\n#    include <vector>\n#endif\n")
        self.write("ops/a.hpp", "#include <sys/stat.h>\n#include <vector>\n#include <xgrad/core/foreign_headers.hpp>\n")
        self.assert_holds("foreign")
        self.write("impl/ops/a.ipp", "#include <deque>\n")
        self.assert_fails("foreign", "include/xgrad/impl/ops/a.ipp: <deque> is missing in include/xgrad/core/foreign_headers.hpp")

    def test_cmake(self):
        good = ('option(XGRAD_A "A" ON)\nset(xgrad_b 1)\nfunction(xgrad_do name)\nendfunction()\nif(XGRAD_A)\n    xgrad_do(${xgrad_b})\n'
                'endif()\nadd_library(a main.cpp)\n')
        self.put("main.cpp", "")
        self.put("CMakeLists.txt", good)
        self.assert_holds("cmake")
        for text, sentence in (
                ('option(XGRAD_B "B" ON)\n', "CMakeLists.txt: nobody reads XGRAD_B"),
                ('set(XGRAD_C 1 CACHE STRING "C")\nset_property(CACHE XGRAD_C PROPERTY STRINGS 1 2)\n', "nobody reads XGRAD_C"),
                ("set(xgrad_d 1) # xgrad_d\n", "nobody reads xgrad_d"),
                ("function(xgrad_idle a)\nendfunction()\n", "nobody calls xgrad_idle"),
                ("add_subdirectory(gone)\n", "there is no gone"),
                ("add_executable(b gone.cpp)\n", "there is no gone.cpp"),
                ('target_sources(a PRIVATE "${PROJECT_SOURCE_DIR}/gone/b.cpp")\n', "there is no gone/b.cpp"),
                ("install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/gone DESTINATION x)\n", "there is no gone")):
            self.put("CMakeLists.txt", good + text)
            self.assert_fails("cmake", sentence)
        self.put("CMakeLists.txt", good)
        self.put("cmake/lone.cmake", "")
        self.assert_fails("cmake", "cmake/lone.cmake: nobody includes it")
        self.put("CMakeLists.txt", good + "include(cmake/lone.cmake)\n")
        self.assert_holds("cmake")
        self.put("CMakePresets.json", '{"cacheVariables": {"XGRAD_NONE": "ON"}}')
        self.assert_fails("cmake", "there is no option XGRAD_NONE")

    def test_reference(self):
        self.put("include/xgrad/nn/a.hpp", "struct DropOptions {\n    double p = 0.5;\n};\n"
                 "struct Drop : Module<Drop> {};\ntemplate <class Self> struct Base : Module<Self> {};\n")
        self.put("docs/layers.md", "")
        self.assert_fails("reference", "docs/layers.md has no Drop")
        self.assert_fails("reference", "docs/layers.md does not tell of DropOptions::p, `.p = 0.5`")
        self.put("docs/layers.md", "| `Drop` | `.p = 0.1` |\n")
        self.assert_fails("reference", "docs/layers.md does not tell of DropOptions::p, `.p = 0.5`")
        self.put("docs/layers.md", "| `Drop` | `.p = 0.5` |\n")
        self.assert_holds("reference")
        self.put("include/xgrad/optim/b.hpp", "using Fast = Optimizing<Rule>;\n")
        self.assert_fails("reference", "docs/layers.md has no Fast")

    def test_documentation(self):
        self.put("tools/ratchets/undocumented.txt", "xgrad/ops/a.hpp known\n")
        self.write("ops/a.hpp", """namespace xgrad {

namespace detail {
int inner();
struct Inner {
    int member();
};
}  // namespace detail

/// A sine.
struct Sin {
    int value(int x) const { return x; }
};
template <class X> auto sin(X const& x) { return x; }

int known();
int operator+(Sin, Sin);

/// A function.
using Function = int(int);

/// Both.
int both(int);
int both(double);

int both(float);

/// A box.
class Box {
    int hidden();

public:
    explicit Box(int size) : size_{size}, more_(size) {}
    Box(Box const&) = default;
    Box& operator=(Box const& other) { return *this; }
    ~Box() { hidden(); }
    /// The size.
    int size() const { return size_; }

private:
    int private_part() const;
    int size_, more_;
};

template <class T> Box::Box(T size) : Box(size) {}

}  // namespace xgrad
""")
        self.assert_holds("documentation")
        text = (self.root / "include/xgrad/ops/a.hpp").read_text()
        for old, new, name in (("    /// The size.\n", "\n", "Box::size"), ("/// A sine.\n", "", "sin"), ("int both(float);", "int more(float);", "more"),
                               ("int known();\n", "int known();\ntemplate <class T = int> requires(sizeof(T) > 1) std::vector<T> next();\n", "next"),
                               ("\n\nprivate:", "\n    bool empty() const noexcept;\n\nprivate:", None),
                               ("private:", "\n    bool empty() const noexcept;\n\nprivate:", "Box::empty"),
                               ("class Box {", "class Box final {\npublic:\n    bool defined() const { return true; }\n", "Box::defined"),
                               ("class Box {", "class BOX {\npublic:\n    BOX(int size, int more = {}) : size_(size) {}\n    int empty() const { return 0; }\n    int size_;\n};\n\nclass Box {", "BOX::empty")):
            self.assertIn(old, text)
            self.write("ops/a.hpp", text.replace(old, new))
            self.assert_fails("documentation", f"xgrad/ops/a.hpp: {name} has no doc comment") if name else self.assert_holds("documentation")

    def test_facts(self):
        facts = "// Sines.\n//\n// Shapes: that of x.\n// Gradients: of\n// any order.\n// Errors: none.\n"
        code = "#pragma once\nnamespace xgrad {\n/// A sine.\nTensor<double> sine(Tensor<double> const&);\n}  // namespace xgrad\n"
        self.write("ops/a.hpp", facts + "// Read next: b.hpp.\n" + code)
        self.write("simd/b.hpp", code.replace("namespace xgrad", "namespace xgrad::simd"))
        self.write("ops/c.hpp", '#pragma once\n#include <xgrad/ops/a.hpp>\n')
        self.write("core/numbers.hpp", "// Tensor: a word.\n" + code.replace("Tensor<double> const&", "double").replace("Tensor<double>", "double"))
        self.write("ops/d.hpp", "#pragma once\nnamespace xgrad {\nnamespace detail {\nint sine(int);\n}\nnamespace verdict {\nstruct ok {};\n}\nstruct Later;\n}\n")
        self.assert_holds("facts")
        for file in ("core/e.hpp", "expr/e.hpp", "simd/e.hpp", "e.hpp"):
            self.write(file, code)
            self.assert_fails("facts", f'xgrad/{file}: its introduction has no paragraph "Shapes: ..."')
            self.write(file, facts + code)
            self.assert_holds("facts")
        for fact in ("Shapes", "Gradients", "Errors"):
            for text in (facts.replace(f"// {fact}:", f"// {fact}"), facts.replace(f"// {fact}:", f"// All {fact}:"), re.sub(f"({fact}:).*", r"\1", facts)):
                self.write("ops/a.hpp", text + code)
                self.assert_fails("facts", f'xgrad/ops/a.hpp: its introduction has no paragraph "{fact}: ..."')
        shapes = "// Shapes: that of x.\n"
        without = facts.replace(shapes, "")
        for text in (without + "// Read next: b.hpp.\n" + shapes, without + "\n" + shapes):     # it is not in the introduction
            self.write("ops/a.hpp", text + code)
            self.assert_fails("facts", 'has no paragraph "Shapes: ..."')
        for text in (without + shapes, facts + shapes):
            self.write("ops/a.hpp", text + code)
            self.assert_fails("facts", "and should have Shapes, Gradients, Errors in this order")
        macro = "#define XGRAD_MAKE(f) int f(int);\nXGRAD_MAKE(sine)\n"
        for declaration in ("struct Sine {};", "enum class Sine { a };", "inline constexpr int sine = 1;", "using Sine = int;", "template <class T>\nconcept Sine = true;", macro):
            self.write("ops/a.hpp", code.replace("Tensor<double> sine(Tensor<double> const&);", declaration + "\nclass Tensor;"))
            with self.subTest(declaration):
                self.assert_fails("facts", 'has no paragraph "Errors: ..."')

    def test_documentation_of_macros(self):
        text = """namespace xgrad {

#define XGRAD_LIST(f) f(sin) f(cos)
/// `x.f_()` writes `f(x)` into f.
#define XGRAD_IN_PLACE(f)                                                                          \\
    int f##_() { return call(#f); }

/// Waves.
struct Wave {
    XGRAD_LIST(XGRAD_IN_PLACE)
};
#undef XGRAD_IN_PLACE

/// `name(a, b)` is `a op b`.
#define XGRAD_OPERATOR(name, op) int name(int a, int b) { return a op b; }
XGRAD_OPERATOR(add, +)
XGRAD_OPERATOR(both, &&)
}  // namespace xgrad
"""
        self.write("ops/a.hpp", text)
        self.assert_holds("documentation")
        for old, new, names in (("/// `x.f_()` writes `f(x)` into f.\n", "", ("Wave::sin_", "Wave::cos_")), ("/// `name(a, b)` is `a op b`.\n", "", ("add", "both")),
                                ("    XGRAD_LIST(", "#undef XGRAD_LIST\n#define XGRAD_LIST(f) f(tan)\n    XGRAD_LIST(", ())):
            self.assertIn(old, text)
            self.write("ops/a.hpp", text.replace(old, new))
            for name in names:
                self.assert_fails("documentation", f"xgrad/ops/a.hpp: {name} has no doc comment")
            if not names:
                self.assert_holds("documentation")
        sys.path[:0] = [str(TOOLS)]
        import cpp_declarations
        found = {each.inside + name: each.comment for each in cpp_declarations.Declarations(text).found for name in each.names}
        self.assertEqual(found, {"Wave": ["Waves."], "Wave::sin_": ["`x.sin_()` writes `sin(x)` into f."], "Wave::cos_": ["`x.cos_()` writes `cos(x)` into f."],
                                 "add": ["`add(a, b)` is `a + b`."], "both": ["`both(a, b)` is `a && b`."]})

    def test_documentation_of_members(self):
        self.write("ops/a.hpp", """namespace xgrad {

namespace detail {
struct Inner {
    int member;
};
} // namespace detail
namespace simd {
struct Batch {
    int width;
};
} // namespace simd

/// Options of blur().
struct BlurOptions {
    double radius = 1; // in pixels
    int passes = 2;    // how often; a long comment
                       // goes on here
    /// `first` and `last` are axes,
    /// and `step` is between them.
    std::optional<int> first = {}, last = {};
    int step = 1;
    std::function<int()> clock = [] { return 0; };  ///< a time
    Form kind =
        {}; // what it is

private:
    int hidden;
};

/// Each is an extent.
using Height = int;
using Width = int;

/// A small type.
template <class X>
concept Small = sizeof(X) < 9 && requires(X x) { x.f(); };

/// How to blur: box or gauss.
enum class Filter { box, gauss };
/// What to do at the border.
enum class Border {
    zero,   // the border counts as zeros
    /// The border is repeated.
    repeat = 4,
};

/// The largest radius.
inline constexpr int largest = 1 + 1;

/// All of them.
inline constexpr struct All {
    bool operator()(int) const { return true; }
} all{}; // everything

} // namespace xgrad
""")
        self.assert_holds("documentation")
        text = (self.root / "include/xgrad/ops/a.hpp").read_text()
        for old, new, name in (("/// Options of blur().\n", "", "BlurOptions"), (" // in pixels", "", "BlurOptions::radius"), ("; a long comment", ";\n    int more;", "BlurOptions::more"),
                               ("                       // goes on here\n", "    int more;\n", "BlurOptions::more"), ("`last` are", "`end` are", "BlurOptions::last"),
                               ("`step` is", "there is one", "BlurOptions::step"), ("  ///< a time", "", "BlurOptions::clock"), (" // what it is", "", "BlurOptions::kind"),
                               ("    int step = 1;", "\n    int step = 1;", "BlurOptions::step"), ("/// Each is", "/// One is, for each axis,", "Width"),
                               ("/// A small type.\n", "", "Small"), ("/// How to blur: box or gauss.\n", "", "Filter"), ("box or gauss.", "box.", "Filter::gauss"),
                               ("   // the border counts as zeros", "", "Border::zero"), ("    /// The border is repeated.\n", "", "Border::repeat"),
                               ("/// The largest radius.\n", "", "largest"), ("/// All of them.\n", "", "All"), (" // everything", "", "all")):
            self.assertIn(old, text)
            self.write("ops/a.hpp", text.replace(old, new))
            with self.subTest(old):
                self.assert_fails("documentation", f"xgrad/ops/a.hpp: {name} has no doc comment")

    @unittest.skipUnless(importlib.util.find_spec("yaml"), "PyYAML is not installed")
    def test_forge(self):
        self.assert_holds("forge")
        self.put("tools/test", "")
        (self.root / "tools/test").chmod(0o755)
        self.put("CMakePresets.json", '{"configurePresets": [{"name": "asan"}]}')
        self.put(".github/CODEOWNERS", "# all\n* @a/b\n/include/ @c\n")
        good = ("on: [push]\njobs:\n  a:\n    runs-on: ${{ matrix.system }}\n    strategy:\n      matrix:\n        system: [x]\n        preset: [asan]\n"
                "    steps:\n      - uses: actions/checkout@v4\n      - run: tools/test asan\n")
        self.put(".github/workflows/ci.yml", good)
        self.assert_holds("forge")
        for old, new, sentence in (("on: [push]\n", "", "ci.yml: has no jobs, or never runs"), ("[push]", "[push", "ci.yml: is no YAML"),
                                   ("    runs-on: ${{ matrix.system }}\n", "", "a: a job has runs-on and steps"), ("checkout@v4", "checkout", "a: actions/checkout has no version"),
                                   ("run: tools/test asan", "run: tools/none", "a: there is no program tools/none"), ("test asan", "test msan", "a: there is no preset msan"),
                                   ("[asan]", "[asan, tsan]", "a: there is no preset tsan"), ("matrix.system", "matrix.os", "a: the matrix has no os"),
                                   ("    strategy", "    needs: [b]\n    strategy", "a: there is no job b"), ("- run:", "- name:", "a: a job has runs-on and steps")):
            self.assertIn(old, good)
            self.put(".github/workflows/ci.yml", good.replace(old, new))
            self.assert_fails("forge", sentence)
        self.put(".github/workflows/ci.yml", good)
        self.put(".github/CODEOWNERS", "/gone/ @a\n")
        self.assert_fails("forge", ".github/CODEOWNERS:1: there is no /gone/")
        self.put(".github/CODEOWNERS", "/include/\n")
        self.assert_fails("forge", ".github/CODEOWNERS:1: /include/ has no owner")

    def test_documents(self):
        self.assert_fails("documents", "documents: include/xgrad/core has no README.md")
        self.put("include/xgrad/core/README.md", "Read `config.hpp` and\n`other.hpp`.\n")
        self.assert_fails("documents", "include/xgrad/core/README.md:2: there is no other.hpp")
        self.write("core/other.hpp", "")
        self.put("include/xgrad_more/a.hpp", "")
        self.assert_fails("documents", "documents: include/xgrad_more has no README.md")
        self.put("include/xgrad_more/README.md", "Read `a.hpp`.\n")
        self.put("docs/architecture.md", "`core/other.hpp`, <xgrad/core/config.hpp>, xgrad/core/config.hpp\n")
        self.assert_holds("documents")
        self.put("docs/architecture.md", "`ops/other.hpp`\n")
        self.assert_fails("documents", "docs/architecture.md:1: there is no ops/other.hpp")
        self.put("docs/architecture.md", "")
        self.put("README.md", "Version 7.7.7, no release yet\n")
        self.assert_holds("documents")
        self.put("README.md", "Version 7.7.8, no release yet\n")
        self.assert_fails("documents", "README.md says version 7.7.8, and core/config.hpp 7.7.7")


class Docs(Tree):
    @classmethod
    def setUpClass(cls):
        sys.path[:0] = [str(TOOLS), str(TOOLS / "site")]
        global links, pages, reference
        import links, pages, reference

    def test_dead_links(self):
        (self.root / "a").mkdir()
        (self.root / "index.html").write_text('<a href="a/">a</a><a href="a/#there">b</a><a href="https://example.org">c</a><h1 id="top"></h1>')
        (self.root / "a/index.html").write_text('<p id="there"></p><a href="..#top">d</a><a href="#there">e</a>')
        self.assertEqual(links.dead_links(self.root), [])
        (self.root / "a/index.html").write_text('<a href="..#to">d</a><a href="b/">e</a><script src="https://example.org/x.js"></script>')
        self.assertEqual(links.dead_links(self.root), ["a/index.html: ..#to names no anchor", "a/index.html: https://example.org/x.js is fetched from elsewhere",
                                                       "a/index.html: there is no b/", "index.html: a/#there names no anchor"])

    def test_pages(self):
        for name, text in {"README.md": "# R\n[d](docs/d.md#x)\n", "docs/d.md": "# D\n<!-- given: -->\n[r](../README.md) [s](../src/a.cpp) [f](../src) `[](x)`\n```cpp\n[](y)\n```\n",
                           "src/a.cpp": "int a;\n"}.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        collected = pages.Pages(self.root, self.root / "out")
        collected.collect()
        self.assertEqual(collected.missing, [])
        self.assertEqual((self.root / "out/index.md").read_text(), "# R\n[d](d.md#x)\n")
        self.assertEqual((self.root / "out/d.md").read_text(),
                         "# D\n[r](index.md) [s](sources/src/a.cpp.md) [f](sources/src/README.md) `[](x)`\n```cpp\n[](y)\n```\n")
        self.assertIn("int a;", (self.root / "out/sources/src/a.cpp.md").read_text())
        self.assertIn("[a.cpp](a.cpp.md)", (self.root / "out/sources/src/README.md").read_text())
        (self.root / "docs/d.md").write_text("[x](../src/b.cpp)\n")
        collected = pages.Pages(self.root, self.root / "out")
        collected.collect()
        self.assertEqual(collected.missing, ["docs/d.md: there is no ../src/b.cpp"])

    def test_comments_of_groups(self):
        text = reference.for_doxygen("namespace xgrad {\n/// Both.\nint f(int);\nint f(double);\n\nint g(); // One.\nint h();\n\nint last();\n} // namespace xgrad\n")
        self.assertEqual(re.findall(r"/// @verbatim\n/// (.*)\n/// @endverbatim\n(.*);", text),
                         [("Both.", "int f(int)"), ("Both.", "int f(double)"), ("One.", "int g()"), ("One.", "int h()")])

    def test_facts_are_paragraphs(self):
        self.write("ops/a.hpp", "// Sines.\n// Shapes: [N].\n// Errors: `Errors: x`,\n// none.\n// Read next: b.hpp,\n// c.hpp.\n#pragma once\n// Shapes: no.\n")
        self.assertEqual(reference.introduction(self.root / "include/xgrad/ops/a.hpp"),
                         "Sines.\n\n**Shapes:** \\[N\\].\n\n**Errors:** `Errors: x`,\nnone.")

    def test_comments_of_members(self):
        text = reference.for_doxygen("namespace xgrad {\nstruct A {\n    int a; // One.\n    int b; ///< Two,\n           ///< and more.\n    int c;\n    using value_type = int;\n};\n"
                                     "enum class E {\n    x, // The first.\n    y,\n};\n} // namespace xgrad\n")
        self.assertEqual([(comment.replace("\n/// ", " "), code) for comment, code in re.findall(r"/// @verbatim\n/// ((?:.|\n)*?)\n/// @endverbatim\n\s*([\w ]+)", text)],
                         [("One.", "int a"), ("Two, and more.", "int b"), ("The type of the value, or of the elements.", "using value_type "), ("The first.", "x")])

    @unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
    def test_entries_of_members(self):
        self.write("a.hpp", "// A.\nnamespace xgrad {\n/// Options.\nstruct Options {\n    /// `low` and `high` are bounds.\n    double low = 0, high = 1;\n    int n = 2; // a number\n"
                            "    int value = 3; // another\n};\n/// Kinds.\nenum class Kind {\n    x, // The first.\n    y, // The second.\n};\n} // namespace xgrad\n")
        (self.root / "xml").mkdir()
        folder, _ = reference.run_doxygen(self.root, self.root / "xml")
        reference.write(self.root, folder, self.root / "reference")
        page = (self.root / "reference/a.md").read_text()
        for line in ('- <a id="Options.low"></a>`double low = 0;`, <a id="Options.high"></a>`double high = 1;`: `low` and `high` are bounds.', '- <a id="Options.n"></a>`int n = 2;`: a number',
                     '- <a id="Options.value"></a>`int value = 3;`: another', "- `x`: The first.", "- `y`: The second."):
            self.assertIn(line + "\n", page)

    @unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
    def test_entries_without_comment(self):
        self.write("a.hpp", "// A.\nnamespace xgrad {\n/// `f(x)` is `op x`.\n#define XGRAD_MAKE(f, op) int f(int x) { return op x; }\nXGRAD_MAKE(minus, -)\n#undef XGRAD_MAKE\n"
                            "#define XGRAD_MAKE(f) int f(int);\nXGRAD_MAKE(silent)\n\nstruct Silent {\n    Silent(int);\n    int operator()(int) const;\n    explicit operator bool() const;\n"
                            "    int get() const;\n    int more;\n};\nstruct Told {\n    template <class T>\n    explicit(sizeof(T) > 1 && sizeof(T) < 9) Told(T x, int g = {}) : size(x) {}\n"
                            "    int size; // how many\n};\n} // namespace xgrad\n")
        (self.root / "xml").mkdir()
        folder, _ = reference.run_doxygen(self.root, self.root / "xml")
        found = reference.described(self.root, folder)
        self.assertEqual([entry.comment for entry in reference.every_entry(found) if entry.name == "minus"], ["`minus(x)` is `- x`."])
        self.assertEqual(sorted(entry.name for entry in reference.without_comment(found)), ["Silent", "Silent::get", "Silent::more", "Told", "silent"])
        self.assertIn("Told::Told", [entry.name for entry in reference.every_entry(found)])

    def test_links_of_code(self):
        references = pages.References({"sum": "s", "nn::Linear": "l", "Tensor::backward": "b", "Node::saved": "n"})
        self.assertEqual([references.find(code) for code in ("xg::sum", "sum(x)", "nn::Linear", "nn::Linear&lt;T&gt;(3, 4)", "y.backward()", "node-&gt;saved(1)", "x", "y.other()")],
                         ["s", "s", "l", "l", "b", "n", None, None])
        self.assertEqual(references.link("<p><code>sum</code> <a><code>sum</code></a></p>", "../"), '<p><a href="../s"><code>sum</code></a> <a><code>sum</code></a></p>')


if __name__ == "__main__":
    unittest.main()
