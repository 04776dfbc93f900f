#!/usr/bin/env python3
"""xgrad.natvis is well-formed, and every type, member and expression that it names is there: a compiler judges them inside of the classes.

usage: natvis_test.py COMPILE_COMMANDS NATVIS     COMPILE_COMMANDS: with probe.cpp, whose command line is taken
"""

import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "headers"))
import compiler

COMMANDS, NATVIS = map(pathlib.Path, sys.argv[1:3])
SPACE = "{http://schemas.microsoft.com/vstudio/debugger/natvis/2010}"
# What stands for * in the names of templates.
ARGUMENTS = {"xgrad::detail::Ref": "xgrad::detail::TensorImpl", "xgrad::Dims": "std::ptrdiff_t"}
CHILDREN = {"AutoVisualizer": {"Type"}, "Type": {"DisplayString", "Expand"}, "Expand": {"Item", "ExpandedItem", "ArrayItems"},
            "ArrayItems": {"Size", "ValuePointer"}, "DisplayString": set(), "Item": set(), "ExpandedItem": set(), "Size": set(), "ValuePointer": set()}
ATTRIBUTES = {"Type": {"Name"}, "DisplayString": {"Condition"}, "Item": {"Name", "Condition"}, "ExpandedItem": {"Condition"}, "ArrayItems": {"Condition"}}


def tag(element):
    return element.tag.removeprefix(SPACE)


def faults_of_form(element):
    faults = [f"<{tag(element)}> has no attribute {name}" for name in element.attrib if name not in ATTRIBUTES.get(tag(element), set())]
    for child in element:
        if tag(child) not in CHILDREN.get(tag(element), set()):
            faults.append(f"<{tag(child)}> does not belong into <{tag(element)}>")
        faults += faults_of_form(child)
    return faults


def expressions(kind):
    """The expressions of a <Type>, without format specifiers."""
    found = []
    for element in kind.iter():
        if "Condition" in element.attrib:
            found.append(element.attrib["Condition"])
        text = (element.text or "").strip()
        if tag(element) == "DisplayString":
            found += re.findall(r"\{([^{}]+)\}", text)
        elif tag(element) in ("Item", "ExpandedItem", "Size", "ValuePointer"):
            found.append(text)
    return [re.sub(r",(en|nd|na|d|x)$", "", expression) for expression in found]


PRELUDE = "#include <xgrad/core/xtensor.hpp>\n#define final\n#include <xgrad/xgrad.hpp>\n"      # final classes are derived from, too


def program(root, prelude):
    """A class derived from each of the types evaluates the expressions, so that names are looked up as a debugger does."""
    lines = []
    for number, kind in enumerate(root.findall(f"{SPACE}Type")):
        name = kind.attrib["Name"]
        for template, argument in ARGUMENTS.items():
            name = name.replace(f"{template}<*>", f"{template}<{argument}>")
        lines.append(f"struct Shown{number} : {name} {{ void all() {{")
        lines += [f"auto&& v{i} = ({expression}); static_cast<void>(v{i});" for i, expression in enumerate(expressions(kind))]
        lines.append("} };")
    return prelude + "\n".join(lines) + "\n"


def compiles(text):
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "natvis.cpp"
        source.write_text(text)
        # A final class has no derived class, in whose functions the expressions stand.
        return compiler.compile_file(compiler.command(COMMANDS), source, "-fno-access-control", "-Dfinal=", "-w")


class Natvis(unittest.TestCase):
    def setUp(self):
        self.root = xml.etree.ElementTree.parse(NATVIS).getroot()

    def test_the_form(self):
        self.assertEqual(tag(self.root), "AutoVisualizer")
        self.assertEqual(faults_of_form(self.root), [])

    def test_members_are_there(self):
        for kind in self.root:
            self.assertTrue(expressions(kind), kind.attrib)
        code, messages = compiles(program(self.root, PRELUDE))
        self.assertEqual(code, 0, messages[:4000])

    def test_a_wrong_name_is_found(self):
        prelude = "class S { int a_ = 0; S* next_ = nullptr; };\n"
        for expression, right in (("a_", True), ("next_->a_", True), ("b_", False), ("next_->b_", False), ("a_->a_", False)):
            with self.subTest(expression):
                text = f'<AutoVisualizer xmlns="{SPACE[1:-1]}"><Type Name="S"><DisplayString>it is {{{expression}}}</DisplayString></Type></AutoVisualizer>'
                text = text.replace("->", "-&gt;")
                code, _ = compiles(program(xml.etree.ElementTree.fromstring(text), prelude))
                self.assertEqual(code == 0, right)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
