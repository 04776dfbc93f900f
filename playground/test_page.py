#!/usr/bin/env python3
"""Opens the playground in Chromium without a window, types formulas, and compares what it shows with closed forms and differences.

usage: playground/test_page.py FOLDER     the folder has index.html; tools/playground --test calls this
"""

import cmath
import json
import math
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/support"))
import browser

READY = "document.body.dataset.ready === 'true'"


def number(text):
    """1.5, 1 - 2i, nan"""
    text = text.replace(" ", "").replace("infinity", "inf")
    return complex(text.replace("i", "j")) if text.endswith("i") else float(text)


class PageTest(unittest.TestCase):
    folder = None
    browser = None

    @classmethod
    def setUpClass(cls):
        program = browser.find_chromium()
        if not program:
            raise unittest.SkipTest("there is no Chromium")
        cls.browser = browser.Browser(program)

    @classmethod
    def tearDownClass(cls):
        if cls.browser:
            cls.browser.close()

    def setUp(self):
        self.browser.open((self.folder / "index.html").as_uri(), READY)

    def tearDown(self):
        self.assertEqual(self.browser.complaints(), [])

    def type(self, field, text):
        """Types into a field as a person does, in place of what it has."""
        self.browser.run(f"document.getElementById({json.dumps(field)}).focus(); document.activeElement.select()")
        self.browser.call("Input.insertText", text=text)

    def enter(self, formula, **values):
        """Types a formula and the values of its variables: real ones as float, complex ones as complex."""
        self.type("formula", formula)
        for name, value in values.items():
            self.browser.run(f"(() => {{ const kind = document.querySelector('[aria-label=\"kind of {name}\"]');"
                             f"kind.value = '{'complex' if isinstance(value, complex) else 'real'}'; kind.dispatchEvent(new Event('change')); }})()")
            self.type("value-" + name, f"{value.real!r}+{value.imag!r}i".replace("+-", "-") if isinstance(value, complex) else repr(value))
        self.assertEqual(self.message(), "")

    def message(self):
        return self.browser.run("document.getElementById('message').innerText")

    def value(self):
        return number(self.browser.run("document.getElementById('value').textContent"))

    def gradients(self):
        """{(of, variable): (by xgrad, by differences)}"""
        rows = self.browser.run("[...document.querySelectorAll('#gradients tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
        return {(of, name): (number(gradient), number(differences)) for of, name, gradient, differences in rows}

    def vertices(self):
        return self.browser.run("[...document.querySelectorAll('#graph g')].map(g => [g.getAttribute('class'), ...[...g.querySelectorAll('text')].map(t => t.textContent)])")

    def assert_close(self, a, b, tolerance=1e-10):
        self.assertLess(abs(a - b), tolerance * max(1, abs(b)), f"{a} and {b}")

    def test_real_formula(self):
        x, y = 0.7, -1.3
        self.enter("sin(x) * x + y^2 / x", x=x, y=y)
        self.assert_close(self.value(), math.sin(x) * x + y * y / x)
        found = self.gradients()
        self.assertEqual(list(found), [("f", "x"), ("f", "y")])
        self.assert_close(found["f", "x"][0], math.cos(x) * x + math.sin(x) - y * y / x ** 2)
        self.assert_close(found["f", "y"][0], 2 * y / x)
        for gradient, differences in found.values():
            self.assert_close(differences, gradient, 1e-6)

    def test_differences_of_what_the_page_shows(self):
        formula, at, h = "exp(-x^2) * atan2(y, x) + max(x, y)", {"x": 0.8, "y": 0.3}, 1e-5
        self.enter(formula, **at)
        found = self.gradients()
        for name in at:
            values = []
            for shift in (h, -h):
                self.enter(formula, **{**at, name: at[name] + shift})
                values.append(self.value())
            self.assert_close(found["f", name][0], (values[0] - values[1]) / (2 * h), 1e-6)

    def test_real_function_of_a_complex_variable(self):
        z, w = 1.5 - 0.5j, -0.25 + 2j
        self.enter("abs2(z - w)", z=z, w=w)
        self.assert_close(self.value(), abs(z - w) ** 2)
        found = self.gradients()
        self.assert_close(found["f", "z"][0], 2 * (z - w))
        self.assert_close(found["f", "w"][0], 2 * (w - z))
        self.assertTrue(self.browser.run("document.getElementById('convention').checkVisibility()"))

    def test_complex_function(self):
        z = 0.3 + 0.8j
        self.enter("z^2 + exp(i * z)", z=z)
        self.assert_close(self.value(), z * z + cmath.exp(1j * z))
        derivative, found = 2 * z + 1j * cmath.exp(1j * z), self.gradients()
        self.assert_close(found["Re f", "z"][0], derivative.conjugate())         # f is holomorphic: conj(f') and i conj(f')
        self.assert_close(found["Im f", "z"][0], 1j * derivative.conjugate())

    def test_real_variable_of_a_complex_formula(self):
        self.enter("real(exp(i * x) * z)", x=0.4, z=1 + 1j)
        self.assert_close(self.gradients()["f", "x"][0], (1j * cmath.exp(0.4j) * (1 + 1j)).real)

    def test_a_variable_changes_its_kind(self):
        self.enter("sqrt(x)", x=-4.0)
        self.assertTrue(math.isnan(self.value()))
        self.assertIn("nan is not a number", self.browser.run("document.getElementById('note').innerText"))
        self.enter("sqrt(x)", x=-4 + 0j)
        self.assert_close(self.value(), 2j)

    def test_graph(self):
        self.enter("sin(x) * x + y", x=0.5, y=2.0)
        vertices = self.vertices()
        self.assertEqual(sorted((kind, text) for kind, text, *_ in vertices), [
            ("leaf", "x"), ("leaf", "y"), ("result", "f"), ("step", "sin(x)"), ("step", "sin(x) * x"), ("step", "sin(x) * x + y")])
        sine = next(vertex for vertex in vertices if vertex[1] == "sin(x)")
        self.assertEqual(sine[2:], ["SinBackward", "= 0.479426", "gradient 0.5"])
        self.assertEqual(self.browser.run("document.querySelectorAll('#graph .edge').length"), 6)
        self.assertIn("x to sin(x)", self.browser.run("document.querySelector('#graph svg').getAttribute('aria-label')"))
        overlaps = self.browser.run("""(() => { const boxes = [...document.querySelectorAll('#graph rect')].map(r => r.getBBox());
            return boxes.some((a, i) => boxes.some((b, j) => i < j && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)); })()""")
        self.assertFalse(overlaps)

    def test_one_clear_message_for_a_malformed_formula(self):
        for formula, sentence in (("sin(x", "this '(' is never closed"), ("x +", "the formula ends where a value is missing"),
                                  ("x $ 2", "'$' means nothing here"), ("2 * * x", "a value is missing before '*'"),
                                  ("foo(x)", "there is no function 'foo'; a product is written with '*'"), ("", "the formula is empty")):
            self.type("formula", formula)
            self.assertEqual(self.message().splitlines()[0], sentence)
            self.assertEqual(self.browser.run("document.querySelectorAll('[aria-invalid=true]').length"), 1)
            self.assertTrue(self.browser.run("document.getElementById('result').classList.contains('stale')"))
        self.type("formula", "é + x")
        self.assertEqual(self.browser.run("document.querySelector('#message mark').textContent"), "é")
        self.enter("x + 1")
        self.type("value-x", "1 +")
        self.assertTrue(self.message().startswith("x: the formula ends"))
        self.type("value-x", "2")
        self.assertEqual((self.message(), self.value()), ("", 3))

    def test_the_keyboard_reaches_everything(self):
        self.enter("x * y")
        self.browser.run("document.getElementById('formula').focus()")
        seen = []
        for _ in range(14):
            self.browser.press("Tab")
            seen.append(self.browser.run("document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))
        for wanted in ("abs2(z - w)", "value-x", "kind of x", "value-y", "kind of y", "Gradients", "graph", "What can be typed"):
            self.assertIn(wanted, seen)
        self.browser.run("[...document.querySelectorAll('#examples button')].find(b => b.textContent === 'abs2(z - w)').focus()")
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
        self.assertIn(("f", "z"), self.gradients())

    def test_narrow_screen_and_dark_mode(self):
        self.enter("real(exp(i * z) * conj(z)) + x", z=1 + 2j, x=1.0)
        try:
            self.browser.call("Emulation.setDeviceMetricsOverride", width=320, height=640, deviceScaleFactor=1, mobile=True)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 320)
            background = "getComputedStyle(document.body).backgroundColor"
            light = self.browser.run(background)
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
            self.assertNotEqual(self.browser.run(background), light)
        finally:
            self.browser.call("Emulation.setEmulatedMedia", features=[])
            self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_from_a_server_and_nothing_from_elsewhere(self):
        own = (self.folder.as_uri(), "data:")
        self.assertEqual([url for url in self.browser.requests() if not url.startswith(own)], [])
        with browser.Server(self.folder) as server:
            self.browser.open(server.address, READY)
            self.enter("x^3", x=2.0)
            self.assertEqual((self.value(), self.gradients()["f", "x"][0]), (8, 12))
            urls = self.browser.requests()
            self.assertIn(server.address + "xgrad.js", urls)
            self.assertEqual([url for url in urls if not url.startswith((server.address, "data:"))], [])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not (pathlib.Path(sys.argv[1]) / "index.html").is_file():
        sys.exit(__doc__)
    PageTest.folder = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
