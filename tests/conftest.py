"""What several tests share: reference numbers, the size of a Monte Carlo error, and a browser."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from typer import main, testing

# a process builds its commands once; the runner of tests would build them at every call
testing._get_command = cache(main.get_command)

os.environ["MPLBACKEND"] = "Agg"  # no window, whichever test draws first

ROOT = Path(__file__).resolve().parents[1]

sys.path.append(str(ROOT / "tests"))  # for `moments_of_ece`


@pytest.fixture(autouse=True)
def _closed_figures():
    """Close the figures of a test: pyplot keeps them, and warns of the twenty-first, in whichever test opens it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def warning_options(pytestconfig):
    """Options of Python for processes that tests start: warnings are errors, unless pytest was told otherwise."""
    given = pytestconfig.getoption("pythonwarnings") or ["error"]
    return [word for option in given for word in ("-W", option)]


@pytest.fixture(scope="session")
def shared():
    """Folder of reference data and numbers; absent from a clone of the project alone."""
    folder = Path(os.environ.get("BAYESCAL_SHARED", ROOT.parent / "shared"))
    if not (folder / "reference" / "reference.json").is_file():
        pytest.skip("no folder of reference numbers beside the project (BAYESCAL_SHARED says where it is)")
    return folder


@pytest.fixture(scope="session")
def records(shared):
    """Numbers that other programs gave, by family."""
    every = json.loads((shared / "reference" / "reference.json").read_text())["records"]
    return lambda family: [r for r in every if r["family"] == family]


@pytest.fixture(scope="session")
def reference_data(shared):
    """Arrays of one reference data set, by name; the file is closed again, or its finalizer warns in any test."""

    @cache
    def load(name):
        with np.load(shared / "data" / f"{name}.npz") as arrays:
            return dict(arrays)

    return load


@pytest.fixture(scope="session")
def close_to():
    """Assert that Monte Carlo numbers agree: five standard errors, a false alarm in 1.7 million comparisons."""

    def check(drawn, expected, standard_error, what=""):
        z = np.abs(np.asarray(drawn) - expected) / np.maximum(standard_error, 1e-300)
        assert np.all(z < 5), f"{what}: {drawn} against {expected}, {np.max(z):.1f} standard errors off"

    return check


@pytest.fixture(scope="session")
def mcse():
    """Standard errors of the mean, the sd and quantiles of independent draws."""

    class MonteCarloError:
        @staticmethod
        def mean(x):
            return x.std(axis=0, ddof=1) / np.sqrt(len(x))

        @staticmethod
        def sd(x):
            centred = x - x.mean(axis=0)
            variance = (centred**2).mean(axis=0)
            return np.sqrt(((centred**4).mean(axis=0) - variance**2) / (4 * variance * len(x)))

        @staticmethod
        def quantile(x, q, n=None):
            """Of a sample of `n` draws (default: as many as `x`), with the density taken from `x`."""
            step = min(0.2 * min(q, 1 - q), 0.02)
            low, high = np.quantile(x, [q - step, q + step])
            return np.sqrt(q * (1 - q) / (n or len(x))) * (high - low) / (2 * step)

    return MonteCarloError


# a browser for tests of pages: Chromium without a window, driven over a pair of pipes by its DevTools protocol

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

    def open(self, path, width=1280, height=900, dark=False, still=False, fragment=""):
        """Load a file, and wait until it is complete; `fragment` is the part of the address after #."""
        self.show_as("screen", dark, still)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._load("about:blank")  # from the same file with another fragment, nothing would be loaded
        self._load(f"{path.resolve().as_uri()}#{fragment}" if fragment else path.resolve().as_uri())

    def _load(self, address):
        self._events.clear()
        self._call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._receive())

    def show_as(self, media, dark, still=False):
        """Show pages as on a screen or as printed, for a reader who prefers light or dark, and little motion."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
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


@pytest.fixture(scope="session")
def contrary_share():
    """Function from rows and contrary outcomes of a saturated bin to log evidence, mean and variance, by quadrature."""

    def moments(n, r):
        def density(root):  # of the share, root^2, times the likelihood relative to that at r / n
            u = root**2
            prior = 0.2 * stats.beta.pdf(u, 0.5, 10) + 0.8
            return prior * np.exp(stats.binom.logpmf(r, n, u) - stats.binom.logpmf(r, n, r / n)) * 2 * root

        peak = np.sqrt([max(r - 6 * np.sqrt(r + 1), 0) / n, min((r + 40) / n, 1)])
        of = [
            integrate.quad(lambda x, m=m: density(x) * x ** (2 * m), 0, 1, points=peak, limit=500)[0] for m in range(3)
        ]
        scale = stats.binom.logpmf(r, n, r / n) - stats.binom(n, 0.5).logpmf(r) + n * np.log(0.5)
        mean = of[1] / of[0]
        return np.log(of[0]) + scale, mean, of[2] / of[0] - mean**2

    return moments
