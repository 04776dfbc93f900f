#!/usr/bin/env python3
"""Tests of tools/fresh and .ci/run, by root.

usage: fresh_test.py PROJECT BUILD [NAME of a test...]     as commands_test.py
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from commands_test import PROJECT, Commands

# What a system has to have for the commands of these tests.
PROGRAMS = ("bash", "cat", "env", "git", "mkdir", "sleep")


class Fresh(Commands):
    """tools/fresh and .ci/run in a checkout of few files. The Debian that mmdebstrap makes there has a shell, a dynamic linker and not much else."""

    def setUp(self):
        super().setUp()
        self.cache, self.checkout = self.root / "cache/xgrad", self.root / "checkout"
        libraries = set()
        for program in PROGRAMS:
            libraries |= set(re.findall(r"/\S+", subprocess.run(["ldd", shutil.which(program)], capture_output=True, encoding="utf-8").stdout))
        self.put("programs/mmdebstrap", f"""#!/bin/bash
echo made >> {self.root}/made
for system; do [[ $system == /*.new ]] && break; done
mkdir -p "$system"/{{proc,sys,dev,etc,root,bin,tmp}}
cp -L --parents {" ".join(sorted(libraries))} "$system"
cp -L {" ".join(map(shutil.which, PROGRAMS))} "$system/bin"
mkdir -p "$system/usr" && ln -s ../bin "$system/usr/bin"
""", executable=True)
        for name in ("apt-get", "apt-config"):
            self.put(f"programs/{name}", "#!/bin/sh\n", executable=True)
        self.put("checkout/README.md", "## Two commands\n\n```sh\ntools/first   # does this\ntools/second\n```\n\n## In your program\n\n```sh\nfalse\n```\n")
        for name in ("tools/fresh", ".ci/run"):
            self.put(f"checkout/{name}", (PROJECT / name).read_text(), executable=True)
        self.put("checkout/tools/first", "#!/bin/bash\necho first in $PWD, CI=$CI, ${XGRAD_ORACLE_MINUTES-no} minutes, seed $XGRAD_ORACLE_SEED, HOME=$HOME, ${NOISE-no noise}, $(cat file)\n", executable=True)
        self.put("checkout/tools/second", "#!/bin/bash\necho second; mkdir left\n", executable=True)
        self.put("checkout/file", "committed")
        self.commit("init", "--quiet")

    def commit(self, *first):
        for words in (first, ["add", "--all"], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "Change"]):
            if words:
                subprocess.run(["git", "-C", str(self.checkout), *words], check=True)

    def variables(self):
        return {"XDG_CACHE_HOME": str(self.root / "cache"), "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}

    def fresh(self, *arguments, program="tools/fresh", **environment):
        code, output = self.run_it(self.checkout / program, *arguments, **self.variables(), **({"XGRAD_ORACLE_MINUTES": ""} | environment))
        return code, re.sub(r"\d+ s$", "N s", output, flags=re.M)

    def assert_nothing_is_left(self):
        self.assertNotIn(str(self.cache), pathlib.Path("/proc/mounts").read_text())
        self.assertEqual([path.name for path in self.cache.glob("run.*")], [])

    def test_it_runs_the_commands_of_readme_on_what_is_committed(self):
        self.put("checkout/file", "not committed")
        code, output = self.fresh(NOISE="noise", CI="true")
        self.assertEqual(code, 0, output)
        tree = subprocess.run(["git", "-C", str(self.checkout), "rev-parse", "HEAD^{tree}"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"\nfirst in /root/xgrad, CI=true, no minutes, seed {int(tree[:8], 16)}, HOME=/root, no noise, committed\nsecond\ntools/fresh: tools/first: passed, N s\ntools/fresh: tools/second: passed, N s\n", output)
        self.assert_nothing_is_left()
        self.assertFalse((self.checkout / "left").exists())
        self.assertEqual(self.fresh()[0], 0)          # in another copy of the same system, where `left` is not
        self.assertEqual((self.root / "made").read_text(), "made\n")

    def test_signals_mean_there_what_they_mean_everywhere(self):
        code, output = self.fresh("bash", "-c", "trap 'echo heard it' INT; kill -INT $$")
        self.assertIn("heard it\n", output)

    def test_what_fails_is_told_and_stops_nothing_else(self):
        code, output = self.fresh("--also", "cat file left; exit 3", "--also", "echo $((6 * 7))", "tools/second", "--help")
        self.assertEqual(code, 1, output)
        self.assertRegex(output, r"committedcat: left: Is a directory\n42\n(tools/fresh: .*\n)*\Z")
        self.assertTrue(output.endswith("tools/fresh: tools/second --help: passed, N s\ntools/fresh: cat file left; exit 3: failed (3), N s\n"
                                        "tools/fresh: echo $((6 * 7)): passed, N s\n"), output)
        self.assert_nothing_is_left()

    def test_it_ends_what_it_started_when_it_is_ended(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with subprocess.Popen([str(self.checkout / "tools/fresh"), "bash", "-c", "echo ready; exec sleep 76543"], env=os.environ | self.variables(), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, encoding="utf-8", restore_signals=True) as process:
                while process.stdout.readline() not in ("ready\n", ""):
                    pass
                process.send_signal(number)
                try:
                    self.assertNotEqual(process.wait(20), 0)
                finally:
                    process.kill()
            self.assertNotIn("\0" + "76543\0", "".join(path.read_text() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if path.exists()))
            self.assert_nothing_is_left()

    def test_ci_is_that_and_the_tests_that_were_skipped(self):
        self.put("checkout/tools/install_dependencies", "#!/bin/bash\necho installs $@\n", executable=True)
        self.put("checkout/tools/test", "#!/bin/bash\necho tests $@\n", executable=True)
        self.commit()
        code, output = self.fresh(program=".ci/run")
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"first in .*, CI=true, 3 minutes, .*\nsecond\ninstalls test clang-14 .*\ntests --skipped\ntests gcc --only .*\n")
        self.put("checkout/tools/second", "#!/bin/bash\nexit 1\n", executable=True)
        self.commit()
        code, output = self.fresh(program=".ci/run")
        self.assertEqual(code, 1, output)
        self.assertIn("tests --skipped\n", output)

    def test_where_it_cannot_it_says_so_and_fails(self):
        self.root.chmod(0o755)
        for name in ("tools/fresh", ".ci/run"):
            code, output = self.run_it("setpriv", "--reuid", "65534", "--clear-groups", self.checkout / name)
            self.assertEqual((code, output), (1, "tools/fresh: only root may make a system in a folder; try: sudo tools/fresh\n"))
        (self.programs / "apt-get").unlink()
        for name in ("bash", "dirname", "sed", "env"):
            (self.programs / name).symlink_to(shutil.which(name))
        code, output = self.run_it(self.checkout / "tools/fresh", PATH=str(self.programs))
        self.assertEqual(code, 1)
        self.assertRegex(output, r"\Atools/fresh: this is no Debian, .*\n\Z")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
