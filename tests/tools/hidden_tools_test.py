#!/usr/bin/env python3
"""Configures xgrad once more where the tools and headers that only some tests need cannot be found, and asks there for the list of tests: no test of the other build is
missing, those that need one of these tools are skipped with a sentence that names it, and tests that can do with less hold.

usage: hidden_tools_test.py PROJECT BUILD SCRATCH     BUILD: a configured build, whose compiler, generator and options are taken
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
PROJECT, BUILD, SCRATCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
HIDDEN_PROGRAMS = re.compile(r"clang|valgrind|gdb|mkdocs|doxygen|chromium|chrome|pkg-?conf|qemu|aarch64-linux-gnu|mpi|ompi|orte|prte")
HIDDEN_MODULES = ("numpy", "torch", "yaml")
# What the tests say where none of them is there.
SENTENCES = {f"{name} is not installed" for name in (
    "clang++-14", "clang++-16", "clang-format-16", "valgrind", "gdb", "mkdocs", "doxygen", "chromium", "pkg-config", "MPI", "Python's module numpy", "Python's module yaml", "Eigen", "dlpack.h",
    "libc++", "aarch64-linux-gnu-g++", "qemu-aarch64")}
# Tests of the sources that take seconds and look for tools themselves, or need the lack of one.
RUN = r"^(check|tools|module\.headers|compile_fail\.distributed_without_mpi)$"


def cache():
    """{name: value} of what the build was configured with."""
    return {match[1]: match[2] for match in re.finditer(r"^([\w-]+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)}


def folders():
    return [pathlib.Path(folder) for folder in dict.fromkeys([*os.environ["PATH"].split(os.pathsep), "/usr/local/bin", "/usr/bin", "/bin"]) if folder]


def environment():
    """A PATH of links to all programs that are not hidden, and modules of Python that cannot be imported."""
    programs, modules = SCRATCH / "programs", SCRATCH / "modules"
    programs.mkdir()
    modules.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    for folder in folders():
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            link = programs / path.name
            if not HIDDEN_PROGRAMS.search(path.name) and not link.is_symlink():
                link.symlink_to(path)
    (modules / "sitecustomize.py").write_text("import sys\n" + "".join(f"sys.modules['{name}'] = None\n" for name in HIDDEN_MODULES))
    kept = {name: value for name, value in os.environ.items() if not re.match(r"MPI|OMPI|PKG_CONFIG|CTEST|CMAKE", name)}
    return kept | {"PATH": str(programs), "PYTHONPATH": str(modules)}


def configure(build, variables):
    known = cache()
    options = {name: value for name, value in known.items() if re.fullmatch(r"XGRAD_(USE|BUILD|TEST|SOURCE|LONE|ORACLE|INSTALL|NATIVE)\w*", name)}
    options |= {name: known[name] for name in ("CMAKE_CXX_COMPILER", "CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "CMAKE_MAKE_PROGRAM", "XGRAD_FETCH_DEPENDENCIES")}
    # What is a tool's is not looked for in the folders of programs; what was found beside them is still found, and what was fetched is fetched from there.
    headers = [known[name] for name in ("XGRAD_EIGEN_HEADERS", "XGRAD_DLPACK_HEADERS")]
    options |= {"CMAKE_IGNORE_PATH": ";".join([*map(str, folders()), *headers]), "FETCHCONTENT_FULLY_DISCONNECTED": "ON", "Python3_EXECUTABLE": sys.executable,
                "CMAKE_PREFIX_PATH": ";".join([known.get("CMAKE_PREFIX_PATH", ""), *(str(folder.parent) for folder in folders())]).strip(";")}
    if "FETCHCONTENT_BASE_DIR" in known:
        options["FETCHCONTENT_BASE_DIR"] = known["FETCHCONTENT_BASE_DIR"]
    return subprocess.run(["cmake", "-S", str(PROJECT), "-B", str(build), "-G", known["CMAKE_GENERATOR"], *(f"-D{name}={value}" for name, value in options.items())],
                          env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def tests_of(build, variables=None):
    """{name: test} as CTest knows them. It is asked in another folder, since it empties the log of the one where it is asked; tools/test reads that log."""
    folder = SCRATCH / "list"
    folder.mkdir(exist_ok=True)
    (folder / "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n')
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, env=variables, check=True, capture_output=True, encoding="utf-8").stdout
    return {test["name"]: test for test in json.loads(shown)["tests"]}


class HiddenTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        cls.variables = environment()
        cls.build = SCRATCH / "build"
        configured = configure(cls.build, cls.variables)
        assert configured.returncode == 0, configured.stdout
        cls.tests = tests_of(cls.build, cls.variables)

    def run_tests(self, *chosen):
        """{name: (what CTest says of it, what it printed)}"""
        results = self.build / "results.xml"
        subprocess.run(["ctest", "--no-tests=error", "--output-junit", str(results), *chosen], cwd=self.build, env=self.variables, stdout=subprocess.DEVNULL)
        return {case.get("name"): (case.get("status"), case.findtext("system-out", "")) for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase")}

    def test_no_test_is_missing(self):
        def logs():
            return {path.name: path.stat().st_ino for path in (BUILD / "Testing/Temporary").glob("LastTest.log*")}
        before = logs()
        self.assertEqual(sorted(set(tests_of(BUILD)) - set(self.tests)), [])
        self.assertEqual(logs(), before, "the log of the tests that run now is another one")

    def test_no_test_names_a_tool_that_is_not_there(self):
        for path in self.build.rglob("CTestTestfile.cmake"):
            for line in path.read_text().splitlines():
                if line.startswith("add_test("):
                    self.assertNotRegex(line, r'NOTFOUND|"\|| ""')

    def test_tests_that_need_tools_are_skipped_and_say_why(self):
        told = set()
        for name, (status, output) in self.run_tests("--label-regex", "^skipped$").items():
            self.assertEqual(status, "notrun", f"{name}: {output}")
            self.assertRegex(output, "^skipped: .", name)
            told |= set(output.removeprefix("skipped: ").strip().split(", "))
        self.assertEqual(sorted(SENTENCES - told), [])

    def test_others_can_do_without(self):
        for name, (status, output) in self.run_tests("--tests-regex", RUN).items():
            self.assertEqual(status, "run", f"{name}: {output}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
