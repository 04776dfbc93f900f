"""Headless Chromium for tests of pages, and a local server for them."""

import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of Chromium, through the DevTools protocol by a pair of pipes: messages end with a zero byte."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="xgrad-browser-")
        to_browser, self.send_to = os.pipe()
        self.receive_from, from_browser = os.pipe()

        def pipes_as_3_and_4():
            # Above 4 first: either end may have one of these numbers.
            high_in, high_out = os.dup(to_browser), os.dup(from_browser)
            while high_in < 5 or high_out < 5:
                high_in, high_out = os.dup(high_in), os.dup(high_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--window-size=1300,1000",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            close_fds=False, preexec_fn=pipes_as_3_and_4, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.received, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.send_to)
        os.close(self.receive_from)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, seconds):
        until = time.monotonic() + seconds
        while b"\0" not in self.received:
            if not select.select([self.receive_from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.receive_from, 1 << 16)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.received += part
        text, _, self.received = self.received.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.send_to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message(120)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        """The value of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", script))
        return result["result"].get("value")

    def wait_for(self, script, seconds=60):
        """Evaluates until the value is true, and returns it, or what it is at the end."""
        until = time.monotonic() + seconds
        while not (value := self.run(script)) and time.monotonic() < until:
            time.sleep(0.05)
        return value

    def open(self, address, ready="document.readyState == 'complete'"):
        self.events.clear()
        self.call("Page.navigate", url=address)
        if not self.wait_for(f"location.href == {json.dumps(address)} && document.body && {ready}"):
            raise TimeoutError("the page does not become ready: " + str(self.run("document.body?.innerText")))

    def press(self, key, code=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "ArrowDown": 40}[key])

    def complaints(self, levels=("error", "assert", "warning")):
        """What the console was told, and exceptions that nobody caught."""
        self.run("1")    # events before this have arrived
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in levels:
                found.append(str(parameters["args"]))
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in levels:
                found.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        return found

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder on a free port of this machine while a with statement lasts, and says nothing."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), functools.partial(self.Quiet, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *arguments):
        self.shutdown()
        self.server_close()
