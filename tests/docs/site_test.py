#!/usr/bin/env python3
"""Builds the site with tools/docs, compares the reference with the headers, and looks at pages in headless Chromium.

usage: site_test.py FOLDER          a folder to build in
Ends with 77, which is skipped, where mkdocs-material, doxygen or Chromium is not installed.
"""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(PROJECT / "tools"), str(PROJECT / "tools/site")]
import cpp_declarations
import cpp_source
import links
import reference

LOOKED_AT = ("", "tutorial/", "gallery/", "autograd/hooks/", "reference/tensor/tensor/")
SEARCHED = ("register_hook", ["autograd/hooks/", "reference/tensor/tensor/#Tensor.register_hook"])


def missing_tools():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    missing = [name for name, found in (("mkdocs", shutil.which("mkdocs")), ("doxygen", shutil.which("doxygen")), ("chromium", chromium)) if not found]
    if not missing:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "docs").mkdir()
            pathlib.Path(folder, "mkdocs.yml").write_text("site_name: x\ntheme: material\n")
            if "Unrecognised theme" in subprocess.run(["mkdocs", "build"], cwd=folder, capture_output=True, encoding="utf-8").stderr:
                missing.append("mkdocs-material")
    return missing, chromium


# -- the reference

def public_names():
    """{name: header} of what tools/cpp_declarations.py finds, which knows nothing of doxygen."""
    names = {}
    for path in sorted((PROJECT / "include/xgrad").rglob("*.hpp")):
        for each in cpp_declarations.Declarations(cpp_source.read(path)).found:
            if each.public and each.space.startswith("xgrad") and not reference.INTERNAL.search(each.space):
                names |= {(each.space + each.inside + name).removeprefix("xgrad::"): path.name for name in each.names if name not in reference.NOT_LISTED}
    return names


def names_without_entry(site):
    anchors = set().union(*(links.Page(path.read_text(encoding="utf-8")).anchors for path in (site / "reference").rglob("*.html")))
    names = public_names()
    assert len(names) > 1500, f"only {len(names)} public names were found"
    return [f"{header}: {name} has no entry in the reference" for name, header in names.items()
            if reference.Entry(name, "", "", 0).anchor not in anchors]


# -- pages in Chromium

class Browser:
    """Headless Chromium, spoken to by the DevTools protocol over two pipes."""

    def __init__(self, program, profile):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]       # neither is 3 or 4
        command = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        self.process = subprocess.Popen(["bash", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                                         f"--user-data-dir={profile}", "--window-size=1300,1000", "--remote-debugging-pipe"],
                                        pass_fds=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, *theirs):
            os.close(end)
        self.buffer, self.count, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.input], [], [], max(until - time.monotonic(), 0))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.input, 1 << 16)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, timeout=120, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.output, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self.receive(until)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, code):
        result = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{code}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, code, timeout=60):
        """Evaluates until the value is true, and returns it, or what it is at the end."""
        until = time.monotonic() + timeout
        while not (value := self.evaluate(code)) and time.monotonic() < until:
            time.sleep(0.1)
        return value

    def open(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.wait_for(f"location.href == {json.dumps(address)} && document.readyState == 'complete'")

    def faults(self, address):
        """What the console told, and what was fetched from elsewhere."""
        self.evaluate("0")          # brings events that are under way
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                yield f"exception: {parameters['exceptionDetails'].get('exception', {}).get('description')}"
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                yield f"console: {[each.get('value') for each in parameters['args']]}"
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                yield f"log: {parameters['entry']['text']} {parameters['entry'].get('url', '')}"
            elif event["method"] == "Network.requestWillBeSent" and not parameters["request"]["url"].startswith((address, "data:", "blob:")):
                yield f"fetched: {parameters['request']['url']}"

    def close(self):
        with contextlib.suppress(RuntimeError, OSError):
            self.session = None
            self.call("Browser.close")
        self.process.wait(30)


def look_at(browser, address):
    wrong = []

    def expect(condition, sentence):
        if not condition:
            wrong.append(sentence)

    for page in LOOKED_AT:
        browser.open(address + page)
        here = "/" + page
        heading = browser.evaluate("document.querySelector('article h1')?.innerText")
        expect(heading, f"{here} has no heading")
        size = browser.evaluate("(r => [r.width, r.height])(document.querySelector('article').getBoundingClientRect())")
        expect(size[0] > 400 and size[1] > 600, f"{here}: the text is {size[0]} x {size[1]} pixels")
        broken = browser.evaluate("[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)")
        expect(not broken, f"{here}: pictures are not shown: {broken}")
        expect(browser.evaluate("getComputedStyle(document.querySelector('.md-header')).position") == "sticky", f"{here} has no style")
        wrong.extend(f"{here}: {fault}" for fault in browser.faults(address))

    query, expected = SEARCHED
    results = "[...document.querySelectorAll('.md-search-result__item a')].map(link => link.href)"
    for _ in range(4):          # what is typed before the index is there has no results
        browser.open(address)
        browser.wait_for("document.querySelector('.md-search-result__meta')?.innerText.startsWith('Type to')", 20)
        browser.evaluate(f"""(field => {{
            field.focus();
            field.value = {json.dumps(query)};
            field.dispatchEvent(new Event('keyup', {{bubbles: true}}));
        }})(document.querySelector('[data-md-component=search-query]'))""")
        found = browser.wait_for(f"""(results => {{
            const pages = results.map(result => result.replace(/[?]h=[^#]*/, ''));
            return {json.dumps([address + each for each in expected])}.every(each => pages.some(page => page == each || page.startsWith(each + '#')));
        }})({results})""", 20)
        if found:
            break
    expect(found, f"the search for {query} finds {browser.evaluate(results)}, and not {expected}")
    light = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    browser.evaluate("document.querySelectorAll('input[name=__palette]')[1].click()")
    dark = browser.wait_for("document.body.getAttribute('data-md-color-scheme') == 'slate' && getComputedStyle(document.body).backgroundColor")
    expect(dark and dark != light, f"dark mode has the background {dark}, and light mode {light}")
    wrong.extend(f"search and dark mode: {fault}" for fault in browser.faults(address))
    return wrong


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    missing, chromium = missing_tools()
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    output = pathlib.Path(sys.argv[1]).resolve()
    build = subprocess.run([sys.executable, str(PROJECT / "tools/docs"), "--output", str(output)])
    if build.returncode:
        return build.returncode
    site = output / "site"
    wrong = names_without_entry(site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(chromium, profile)
        try:
            wrong += look_at(browser, f"http://127.0.0.1:{server.server_port}/")
        finally:
            browser.close()
    server.shutdown()
    print(*wrong, f"site: {len(wrong)} faults; {len(public_names())} public names were compared, and {len(LOOKED_AT)} pages were looked at", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
