#!/usr/bin/env python3
"""Every place that names the version of xgrad names the same one, and CHANGELOG.md has the form of Keep a Changelog 1.1.0.

usage: versions_test.py PROJECT VERSION COMPILER     VERSION: that of CMake's project
"""

import datetime
import pathlib
import re
import subprocess
import sys
import unittest

PROJECT, VERSION, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]

# Where else the version stands: a pattern that finds it in each file, exactly once.
PLACES = {
    "CITATION.cff": r"^version: (\S+)$",
    "MODULE.bazel": r'^    version = "(.*)",$',
    "docs/versions.md": r"^(\d+\.\d+\.\d+)$",
    "meson.build": r"^  version: '(.*)',$",
    "packaging/debian/changelog": r"\Axgrad \((.*)\)",
    "packaging/vcpkg/xgrad/vcpkg.json": r'^  "version": "(.*)",$',
}

CATEGORIES = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def versions_in(text, pattern):
    return re.findall(pattern, text, re.M)


def faults_of_changelog(text):
    """What a changelog lacks of the form, as sentences, and the released versions, newest first."""
    faults, released, section, category = [], [], None, None
    if not text.startswith("# Changelog\n"):
        faults.append("the title is not '# Changelog'")
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            match = re.fullmatch(r"## \[(Unreleased|(\d+)\.(\d+)\.(\d+))\](?: - (\d{4}-\d{2}-\d{2}))?", line)
            category, seen = None, set()
            section = match[1] if match else None
            if not match:
                faults.append(f"line {number}: '{line}' is neither '## [Unreleased]' nor '## [1.2.3] - 2026-01-31'")
            elif section == "Unreleased":
                if released or match[5]:
                    faults.append(f"line {number}: [Unreleased] is the first section, without a date")
            else:
                version = tuple(int(match[part]) for part in (2, 3, 4))
                try:
                    day = datetime.date.fromisoformat(match[5] or "")
                except ValueError:
                    faults.append(f"line {number}: {section} has no date")
                    day = datetime.date.min
                if released and (version >= released[-1][0] or day > released[-1][1]):
                    faults.append(f"line {number}: {section} stands beneath an older version")
                released.append((version, day))
        elif line.startswith("### "):
            category = line[4:]
            if category not in CATEGORIES:
                faults.append(f"line {number}: '{category}' is none of {', '.join(CATEGORIES)}")
            elif section is None or category in seen:
                faults.append(f"line {number}: '{category}' is there twice, or in no version")
            else:
                seen.add(category)
        elif line.startswith("- ") and category is None:
            faults.append(f"line {number}: an entry in no category")
    return faults, [".".join(map(str, version)) for version, _ in released]


class Versions(unittest.TestCase):
    def preprocess(self, text):
        run = subprocess.run([COMPILER, "-std=c++20", "-E", "-P", "-x", "c++", f"-I{PROJECT / 'include'}", "-"],
                             input="#include <xgrad/core/config.hpp>\n" + text, capture_output=True, encoding="utf-8")
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.split()

    def test_the_macros_are_the_version_of_cmake(self):
        major, minor, patch = map(int, VERSION.split("."))
        number = 10000 * major + 100 * minor + patch
        last = self.preprocess(f"#if XGRAD_VERSION == {number}\nsame\n#else\nother\n#endif\nXGRAD_VERSION_STRING\n")[-2:]
        self.assertEqual(last, ["same", f'"{VERSION}"'])

    def test_other_files_name_it(self):
        for place, pattern in PLACES.items():
            with self.subTest(place):
                self.assertEqual(versions_in((PROJECT / place).read_text(), pattern), [VERSION])

    def test_the_changelog_has_its_form_and_this_version(self):
        faults, released = faults_of_changelog((PROJECT / "CHANGELOG.md").read_text())
        self.assertEqual(faults, [])
        self.assertEqual(released[0], VERSION)

    def test_faults_of_a_changelog_are_found(self):
        good = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a\n\n## [1.1.0] - 2026-02-01\n\n### Fixed\n\n- b\n\n## [1.0.0] - 2026-01-01\n"
        self.assertEqual(faults_of_changelog(good), ([], ["1.1.0", "1.0.0"]))
        for was, now in (("# Changelog", "# News"), ("[1.1.0]", "1.1.0"), (" - 2026-02-01", ""), ("2026-02-01", "2026-02-31"), ("[1.1.0]", "[0.9.0]"),
                         ("2026-02-01", "2025-12-31"), ("Added", "New"), ("### Added\n", ""), ("- a", "### Added"), ("## [1.0.0] - 2026-01-01", "## [Unreleased]")):
            with self.subTest(now=now):
                self.assertNotEqual(faults_of_changelog(good.replace(was, now))[0], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
