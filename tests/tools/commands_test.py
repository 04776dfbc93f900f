#!/usr/bin/env python3
"""Tests of the commands of README.md and of what they call: tools/demo, tools/test and tools/install_dependencies.

usage: commands_test.py PROJECT BUILD [NAME of a test...]     BUILD: a configured build, whose compiler is taken, and what it downloaded
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PROJECT, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])


class Commands(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()
        self.programs = self.root / "programs"
        self.programs.mkdir()

    def put(self, name, text, executable=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(0o755)
        return path

    def copy(self, *names):
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, self.root / name)

    def run_it(self, *command, **environment):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("CTEST")}
        run = subprocess.run(list(map(str, command)), env=variables | environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        return run.returncode, run.stdout


class Demo(Commands):
    def test_it_compiles_its_example_and_no_library(self):
        """A cmake that configures elsewhere, says what it would compile and builds nothing."""
        cache = (BUILD / "CMakeCache.txt").read_text()
        options = [f"-D{name}={value[1]}" for name in ("CMAKE_CXX_COMPILER", "XGRAD_FETCH_DEPENDENCIES", "FETCHCONTENT_BASE_DIR", "CMAKE_PREFIX_PATH")
                   if (value := re.search(rf"^{name}:\w+=(.*)$", cache, re.M))]
        build, real = self.root / "build", shutil.which("cmake")
        self.put("build/.cmake/api/v1/query/codemodel-v2", "")
        self.put("programs/cmake", f"""#!{sys.executable}
import os, sys
words = [word.replace("build/demo", {str(build)!r}) for word in sys.argv[1:]]
if "--build" in words:
    sys.exit("builds " + words[words.index("--target") + 1])
if "-S" in words:
    words += {[*options, "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"]!r}
os.execv({real!r}, [{real!r}, *words])
""", executable=True)
        _, output = self.run_it(PROJECT / "tools/demo", XGRAD_NO_APT="1", PATH=f"{self.programs}{os.pathsep}{os.environ['PATH']}")
        self.assertIn("builds phase_retrieval\n", output)
        reply = build / ".cmake/api/v1/reply"
        targets = {target["id"]: target for target in (json.loads(path.read_text()) for path in reply.glob("target-*.json"))}
        needed = [next(id for id, target in targets.items() if target["name"] == "phase_retrieval")]
        for id in needed:
            needed += [each["id"] for each in targets[id].get("dependencies", []) if each["id"] not in needed]
        compiled = [source["path"] for id in needed for source in targets[id]["sources"] if "compileGroupIndex" in source]
        self.assertEqual(sorted(compiled), ["examples/phase_retrieval/main.cpp", "examples/support/image.cpp", "examples/support/options.cpp"])


class Test(Commands):
    """tools/test in a project of few tests, whose tools are files."""

    def setUp(self):
        super().setUp()
        self.copy("tools/test", "tools/build_settings.sh", "cmake/optional_tests.cmake")
        self.put("tools/install_dependencies", "#!/bin/sh\nshift\nfor package; do : > \"$(dirname \"$0\")/$package\"; done\n", executable=True)
        self.put("CMakePresets.json", """{"version": 3, "configurePresets": [{"name": "test", "binaryDir": "${sourceDir}/build/test"}]}""")
        self.project("", "echo holds")

    def project(self, more, first):
        self.put("CMakeLists.txt", """cmake_minimum_required(VERSION 3.22)
project(few LANGUAGES NONE)
enable_testing()
include(cmake/optional_tests.cmake)
add_test(NAME first COMMAND sh -c "echo ran first >> ran; %s")
function(tool_test name tool)
    find_file(FOUND_${tool} ${tool} PATHS "${PROJECT_SOURCE_DIR}/tools" NO_DEFAULT_PATH)
    xgrad_set_tool(${tool} "${FOUND_${tool}}" "${tool} is not installed")
    xgrad_missing_tools(missing ${tool})
    if(missing)
        xgrad_add_skipped_test(${name} unit "${missing}")
    else()
        add_test(NAME ${name} COMMAND sh -c "echo ran ${name} >> ran")
    endif()
endfunction()
tool_test(by.clang clang-16)
tool_test(site chromium)
add_test(NAME printers COMMAND sh -c "echo; echo 'skipped: gdb may not start programs'; exit 77")
set_tests_properties(printers PROPERTIES SKIP_RETURN_CODE 77)
%s
""" % (first, more))

    def ran(self):
        """The tests that ran since the last call, sorted."""
        path = self.root / "build/test/ran"
        found = sorted(line.removeprefix("ran ") for line in path.read_text().splitlines()) if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def assert_ends(self, output, *lines):
        pattern = "".join(rf"\n{re.escape(line)}" for line in lines)
        self.assertRegex(output, pattern + r", \d+ s\n\Z")

    SKIPPED = ("tools/test: test: skipped by.clang: clang-16 is not installed", "tools/test: test: skipped site: chromium is not installed",
               "tools/test: test: skipped printers: gdb may not start programs")

    def test_the_last_lines_name_what_was_skipped_and_why(self):
        code, output = self.run_it(self.root / "tools/test")
        self.assertEqual(code, 0, output)
        self.assert_ends(output, *self.SKIPPED, "tools/test: test: 100% tests passed, 0 tests failed out of 4, 3 skipped: by.clang, site, printers")
        self.assertEqual(self.ran(), ["first"])
        self.project("", "false")
        code, output = self.run_it(self.root / "tools/test")
        self.assertEqual(code, 1, output)
        self.assert_ends(output, *self.SKIPPED, "tools/test: test: 75% tests passed, 1 tests failed out of 4, 3 skipped: by.clang, site, printers")
        self.assertEqual(self.run_it(self.root / "tools/test", "--only", "first")[0], 1)

    def test_what_was_skipped_runs_once_it_can(self):
        self.run_it(self.root / "tools/test")
        self.ran()
        self.put("tools/clang-16", "")
        code, output = self.run_it(self.root / "tools/test", "--skipped")
        self.assertEqual(code, 0, output)
        self.assert_ends(output, *self.SKIPPED[1:], "tools/test: test: 100% tests passed, 0 tests failed out of 3, 2 skipped: site, printers")
        self.assertEqual(self.ran(), ["by.clang"])

    def test_what_cannot_be_built_stops_nothing_else(self):
        self.put("bad.cpp", "#include <nobody/has/this.hpp>\nint main() {}\n")
        self.put("good.cpp", "int main() {}\n")
        self.project("enable_language(CXX)\nadd_executable(test_bad bad.cpp)\nadd_test(NAME bad COMMAND test_bad)\n"
                     "add_executable(test_good good.cpp)\nadd_test(NAME good COMMAND test_good)\n", "echo holds")
        for generator in [name for name, program in (("Ninja", "ninja"), ("Unix Makefiles", "make")) if shutil.which(program)]:
            shutil.rmtree(self.root / "build", ignore_errors=True)
            code, output = self.run_it(self.root / "tools/test", CMAKE_GENERATOR=generator)
            self.assertEqual(code, 1, output)
            self.assert_ends(output, *self.SKIPPED, "tools/test: test: 83% tests passed, 1 tests failed out of 6, 3 skipped: by.clang, site, printers, not built: test_bad")
            self.assertRegex(output, r"- bad \(Not Run\)")
            self.assertRegex(output, r" good \.+ +Passed")
            self.assertEqual(self.ran(), ["first"])


class InstallDependencies(Commands):
    """tools/install_dependencies on a machine that is made of the programs that stand here, and whose apt writes down what it is asked for."""

    def setUp(self):
        super().setUp()
        self.copy("tools/install_dependencies")
        for name in ("bash", "sh", "env", "dirname", "sed", "sort", "head", "grep", "find", "cat", "mkdir", "printf"):
            (self.programs / name).symlink_to(shutil.which(name))
        for name in ("g++", "python3"):         # of a Python without modules
            self.put(f"programs/{name}", "#!/bin/sh\nexit 1\n", executable=True)
        self.put("programs/cmake", "#!/bin/sh\necho cmake version 3.25.1\n", executable=True)
        self.put("programs/dpkg-query", f"#!/bin/sh\ngrep -qx \"$4\" {self.put('installed', '')} && echo install ok installed\n", executable=True)
        self.put("programs/sudo", "#!/bin/sh\nshift\nexec \"$@\"\n", executable=True)
        self.put("programs/apt-cache", f"#!/bin/sh\n! grep -qx \"$2\" {self.put('unknown', '')}\n", executable=True)
        self.put("programs/apt-get", f"""#!/bin/bash
echo "$@" >> {self.root}/asked
[[ $1 == install ]] || exit 0
for package in "${{@:7}}"; do grep -qx "$package" {self.put('broken', '')} && exit 100; done
printf '%s\\n' "${{@:7}}" >> {self.root}/installed
""", executable=True)

    def install(self, *arguments):
        return self.run_it(self.root / "tools/install_dependencies", *arguments, PATH=str(self.programs), CXX="g++")

    def asked(self):
        path = self.root / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def installed(self):
        return set((self.root / "installed").read_text().split())

    def test_it_installs_what_tests_need(self):
        code, output = self.install("test")
        self.assertEqual(code, 0, output)
        for package in ("libxtensor-dev", "doctest-dev", "python3-numpy", "python3-yaml", "libdlpack-dev", "libeigen3-dev", "mkdocs-material", "doxygen", "chromium", "gdb", "valgrind",
                        "libopenmpi-dev", "pkgconf"):
            self.assertIn(package, self.installed())
        self.assertEqual(len(self.asked()), 3)      # update, what is needed, what only some tests need

    def test_it_goes_on_without_what_cannot_be_had(self):
        (self.root / "unknown").write_text("chromium\n")
        (self.root / "broken").write_text("doxygen\n")
        code, output = self.install("test", "clang-16")
        self.assertEqual(code, 0, output)
        self.assertIn("xgrad: apt does not know chromium\n", output)
        self.assertIn("xgrad: doxygen cannot be installed\n", output)
        self.assertNotIn("CMake will download", output)
        self.assertLessEqual({"libxtensor-dev", "python3-numpy", "mkdocs-material", "clang-16"}, self.installed())
        self.assertFalse({"chromium", "doxygen"} & self.installed())

    def test_it_does_not_ask_again_for_what_could_not_be_had(self):
        (self.root / "unknown").write_text("chromium\ndoxygen\ngdb\nlibopenmpi-dev\nmkdocs-material\npkgconf\npython3-numpy\npython3-yaml\nvalgrind\nninja-build\n")
        self.put("programs/ninja", "", executable=True)
        self.install("test")
        self.assertTrue(self.asked())
        self.install("test")                # libraries are there now: less is missing
        self.assertTrue(self.asked())
        self.install("test")
        self.assertEqual(self.asked(), [])
        self.install("test", "clang-16")    # somebody asks for it
        self.assertTrue(self.asked())

    def test_the_demo_needs_no_tools_of_tests(self):
        code, output = self.install("demo")
        self.assertEqual(code, 0, output)
        libraries = {"libxtensor-dev", "libopenblas-dev", "libcli11-dev", "libstb-dev", "ninja-build"}
        self.assertEqual(self.installed(), libraries)
        self.assertEqual(self.install("unit")[0], 0)
        self.assertEqual(self.installed(), libraries | {"doctest-dev", "libopenmpi-dev"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
