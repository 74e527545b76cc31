"""A browser for tests of pages: Chromium without a window, driven over a pair of pipes by its DevTools protocol."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")
#: Seconds after which a browser that does not answer is given up.
PATIENCE = 60


class Browser:
    """One tab. `open` loads a page, `run` evaluates JavaScript in it; neither is hindered by the page's own policy."""

    def __init__(self, program, profile):
        (given, self._commands), (self._answers, taken) = os.pipe(), os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to descriptor 4; a shell puts them there
        read, write = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (given, taken))
        flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
        start = f'exec "$0" {flags} --user-data-dir="$1" about:blank 3<&{read} 4>&{write} {read}<&- {write}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", start, program, str(profile)],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (given, taken, read, write):
            os.close(each)
        self._numbers, self._rest, self._events, self._tab = itertools.count(1), b"", [], {}
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._tab = {"sessionId": self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, path, width=1280, height=900, dark=False):
        """Load a file, and wait until it is complete."""
        self.show_as("screen", dark)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._events.clear()
        self._call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())

    def show_as(self, media, dark):
        """Show pages as on a screen or as printed, for a reader who prefers light or dark."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", media=media, features=features)

    def run(self, code):
        """Return the value of a JavaScript expression, as JSON has it."""
        done = self._call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def complaints(self):
        """Return what the browser has logged since the page was opened: errors, and refusals by the page's policy."""
        self.run("new Promise((done) => setTimeout(done, 50))")
        kinds = (
            "Log.entryAdded",
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Page.javascriptDialogOpening",
        )
        return [event for event in self._events if event["method"] in kinds]

    def requests(self):
        """Return the addresses that the page has asked for."""
        sent = [e["params"]["request"]["url"] for e in self._events if e["method"] == "Network.requestWillBeSent"]
        return list(dict.fromkeys(sent))

    def picture(self, path):
        """Save a picture of the whole page."""
        height = self.run("document.documentElement.scrollHeight")
        width = self.run("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        done = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(done["data"]))

    def print(self, path):
        """Save the page as PDF."""
        done = self._call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        path.write_bytes(base64.b64decode(done["data"]))

    def close(self):
        """End the browser."""
        os.close(self._commands)
        os.close(self._answers)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **self._tab}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._events.append(answer)

    def _receive(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            assert ready, f"the browser has not answered within {PATIENCE} seconds"
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise ConnectionError("the browser has ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a browser; tests that need one are skipped where none is installed."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium or Chrome is installed, which shows the page (Debian: apt install chromium)")
    started = Browser(program, tmp_path_factory.mktemp("browser"))
    yield started
    started.close()
