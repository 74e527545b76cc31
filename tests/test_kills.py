"""After a writer is killed at a random moment, the file is the old or the new one, and no draft is read.

Writers are children of a process that has imported everything, and write in a loop until they are killed.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count

import numpy as np
import pytest

from bayescal import BinnedCounts, CalibrationMonitor, load_counts, save_counts

KILLS = int(os.environ.get("BAYESCAL_KILLS", "20"))
#: A command takes long.
KILLS_OF_COMMANDS = KILLS if KILLS > 20 else 3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

#: The line that a writer prints after each write.
PARENT = """
import os, sys

def tell(what):
    os.write(told, b"%d\\n" % what)

told = os.dup(1)
os.dup2(2, 1)
{write}
for path in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            write(path.strip())
        finally:
            os._exit(1)
    os.write(told, b"pid %d\\n" % child)
    os.waitpid(child, 0)
    os.write(told, b"dead\\n")
"""


@contextmanager
def writers(write):
    """Return a function that starts a writer, kills it after a number of reported writes, and returns its reports."""
    code = PARENT.format(write=write)
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "BAYESCAL_COMPILE": "never",
    }
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as parent:

        def killed(path, writes, wait):
            parent.stdin.write(f"{path}\n")
            parent.stdin.flush()
            lines = [parent.stdout.readline()]
            while not any(line.startswith("pid") for line in lines) or len(lines) <= writes:
                lines.append(parent.stdout.readline())
                assert lines[-1] not in ("dead\n", ""), "the writer ended by itself"
            wait()
            os.kill(next(int(line.split()[1]) for line in lines if line.startswith("pid")), signal.SIGKILL)
            while lines[-1] != "dead\n":
                lines.append(parent.stdout.readline())
            return [int(line) for line in lines if line[0].isdigit()]

        yield killed
        parent.stdin.close()


def a_while(rng, most=0.03):
    """Return a function that waits for a random time, at most this number of seconds."""
    seconds = rng.uniform(0, most)
    return lambda: time.sleep(seconds)


def until_it_writes(path):
    """Return a function that waits for a new draft, for at most a minute."""
    known = set(drafts_of(path))

    def wait():
        end = time.monotonic() + 60
        while set(drafts_of(path)) <= known and time.monotonic() < end:
            pass

    return wait


def drafts_of(path):
    """Return the hidden files that killed writers left behind."""
    return [p for p in path.parent.iterdir() if ".draft" in p.name]


# --- functions of the library

WRITE = {
    "monitor": """
from bayescal import BinnedCounts, CalibrationMonitor

def write(path):
    monitor = CalibrationMonitor.load(path)
    while True:
        i = monitor.n_rows
        monitor.add_counts(BinnedCounts.from_arrays([i % 2], [1 / (i + 1)]), time=i % 7)
        monitor.save(path)
        tell(i + 1)
""",
    "counts": """
from bayescal import BinnedCounts, load_counts, save_counts

def write(path):
    counts = load_counts(path)
    while True:
        i = counts.n_rows
        counts += BinnedCounts.from_arrays([i % 2], [1 / (i + 1)])
        save_counts(counts, path)
        tell(i + 1)
""",
}


def monitors():
    """Return the states that are written in turn, each with one more row."""
    monitor = CalibrationMonitor(window=1)
    while True:
        yield monitor
        i = monitor.n_rows
        monitor.add_counts(BinnedCounts.from_arrays([i % 2], [1 / (i + 1)]), time=i % 7)


def sums():
    """Return the same for counts."""
    total = BinnedCounts.empty()
    for i in count():
        yield total
        total += BinnedCounts.from_arrays([i % 2], [1 / (i + 1)])


STATES = {
    "monitor": (monitors, CalibrationMonitor.load, CalibrationMonitor.save),
    "counts": (sums, load_counts, save_counts),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
def test_what_was_written_last_is_there_whole(name, tmp_path):
    states, load, save = STATES[name]
    path, rng, expected = tmp_path / "state.json", np.random.default_rng(1), states()
    state = next(expected)
    save(state, path)
    acknowledged = 0
    with writers(WRITE[name]) as killed:
        for kill in range(KILLS):
            # every other one is killed at once, perhaps before it has read the state; the others have written something
            # before, and half of them are killed as soon as they write again
            told = killed(path, kill % 2, until_it_writes(path) if kill % 4 == 3 else a_while(rng))
            acknowledged = max(told, default=acknowledged)
            found = load(path)
            # one that was being written may have been finished without its writer living to say so
            assert found.n_rows in (acknowledged, acknowledged + 1)
            while state.n_rows < found.n_rows:
                state = next(expected)
            assert found == state
            acknowledged = found.n_rows
    assert acknowledged >= KILLS // 2
    assert drafts_of(path)  # some kills hit a write, not only the time between two writes
    assert all(draft.name.startswith(".state.json-") for draft in drafts_of(path))
    for draft in drafts_of(path):
        os.utime(draft, (time.time() - 7200,) * 2)
    save(state, path)
    assert os.listdir(tmp_path) == ["state.json"]


# --- commands

#: Each command writes its result for two inputs in turn.
COMMANDS = {
    "count": (["count", "{input}.csv", "--label", "y", "--prob", "p", "-o", "{folder}/out.json"], ["out.json"]),
    "merge": (["merge", "{input}.json", "{more}", "-o", "{folder}/out.json"], ["out.json"]),
    "report": (
        [
            *("report", "{input}.json", "--draws", "50", "--seed", "1"),
            *("--json", "{folder}/out.json", "--plot", "{folder}/out.png", "--netcdf", "{folder}/out.nc"),
        ],
        ["out.json", "out.png", "out.nc"],
    ),
}
WRITE_BY_COMMAND = """
from itertools import count
import matplotlib.pyplot, arviz, h5netcdf, rich.progress, duckdb, narwhals
import bayescal.evaluate, bayescal.report.reliability
from typer.testing import CliRunner
from bayescal.app import app

def write(line):
    name, folder = line.split(" ", 1)
    for i in count(1):
        known = {{"folder": folder, "input": {inputs!r}[i % 2], "more": {more!r}}}
        done = CliRunner().invoke(app, [a.format_map(known) for a in {commands!r}[name][0]])
        assert done.exit_code == 0, done.output
        tell(i)
"""


def content(path):
    """Return the content of a file without the time at which it was written."""
    if path.suffix != ".nc":
        return path.read_bytes()
    import xarray as xr

    with xr.open_datatree(path, engine="h5netcdf") as tree:
        return {
            group: {k: v.values.tolist() for k, v in node.variables.items()} for group, node in tree.subtree_with_keys
        }


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Write two files of rows and the counts of each."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(1)
    for name in "abc":
        p = rng.random(300)
        y = (rng.random(300) < p).astype(int)
        (folder / f"{name}.csv").write_text(
            "y,p\n" + "".join(f"{z},{c!r}\n" for z, c in zip(y.tolist(), p.tolist(), strict=True))
        )
        save_counts(BinnedCounts.from_arrays(y, p, target="event"), folder / f"{name}.json")
    return folder


@pytest.fixture(scope="module")
def killed_command(inputs):
    """Return `killed` for a writer that runs commands on the first two files in turn, starting with the second."""
    both, more = [str(inputs / "a"), str(inputs / "b")], str(inputs / "c.json")
    with writers(WRITE_BY_COMMAND.format(inputs=both, more=more, commands=COMMANDS)) as killed:
        yield killed


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_outputs_of_commands_are_whole(name, inputs, killed_command, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from bayescal.app import app

    monkeypatch.setenv("BAYESCAL_COMPILE", "never")
    arguments, outputs = COMMANDS[name]
    folder, possible = tmp_path / "written", []
    folder.mkdir()
    for known in (inputs / "b", inputs / "a"):
        words = {"folder": folder, "input": known, "more": inputs / "c.json"}
        began = time.monotonic()
        assert CliRunner().invoke(app, [a.format_map(words) for a in arguments]).exit_code == 0
        took = time.monotonic() - began
        possible.append([content(folder / output) for output in outputs])
    rng = np.random.default_rng(2)
    for kill in range(KILLS_OF_COMMANDS):
        # the last one has written something
        killed_command(f"{name} {folder}", kill == KILLS_OF_COMMANDS - 1, a_while(rng, 2 * took))
        for i, output in enumerate(outputs):
            assert content(folder / output) in [of_input[i] for of_input in possible]
    left = {p.name for p in folder.iterdir()} - set(outputs)
    assert all(name.startswith(".") and ".draft" in name for name in left)
