"""What tests of the command line share: commands that run in this process, and a small file of rows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bayescal.app import app

sys.path.append(str(Path(__file__).parent))


def _run(*arguments, width=120):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(width), "TERM": "dumb"})


def _report(*arguments, **options):
    done = _run("report", *arguments, **options)
    assert done.exit_code == 0, done.stderr
    return done


def _refused(*arguments):
    done = _run("report", *arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def _read_json(path):
    def no_such_constant(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=no_such_constant)


def _in_processes(code, cwd):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ}
    )


@pytest.fixture(scope="session")
def run():
    """Run the program with arguments."""
    return _run


@pytest.fixture(scope="session")
def report():
    """Run ``bayescal report``, which must succeed."""
    return _report


@pytest.fixture(scope="session")
def refused():
    """Return stderr of ``bayescal report`` when the exit code is 2: one message, no traceback, nothing on stdout."""
    return _refused


@pytest.fixture(scope="session")
def read_json():
    """Read standard JSON."""
    return _read_json


@pytest.fixture(scope="session")
def in_processes():
    """Run Python code with the command line in a process of its own."""
    return _in_processes


@pytest.fixture(scope="module")
def rows():
    """Rows of `counted_files`."""
    from counted_files import table

    return table()


@pytest.fixture
def tiny(tmp_path):
    """A file of twenty rows, alone in its folder."""
    file = tmp_path / "tiny.csv"
    file.write_text("label,p\n" + "".join(f"{i % 2},{(i % 10) / 10}\n" for i in range(20)))
    return file
