"""With few packages, results are those of a full environment, and errors say what to install: see `lean.py`.

`make lean` makes an environment that has only the few, and gives its Python as BAYESCAL_LEAN.
"""

import importlib.util
import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from bayescal._packages import NEEDED

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "tests" / "lean.py"
#: The Python of a lean environment, from `make lean`.
LEAN = os.environ.get("BAYESCAL_LEAN")


@pytest.fixture(scope="module")
def lean():
    """The functions of the program, in the full environment."""
    specification = importlib.util.spec_from_file_location("lean", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made():
    """What the program prints in the lean environment."""
    if not LEAN:
        pytest.skip("needs the environment that `make lean` makes")
    done = subprocess.run([LEAN, PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_results_are_those_of_a_full_environment(lean, made):
    assert made["results"] == lean.results()


def test_no_other_package_is_there(made):
    assert made["others"] == []


def test_errors_say_what_to_install(made):
    assert set(made["refused"]) == {*NEEDED} - {"typer"}
    for package, messages in made["refused"].items():
        purpose, name = NEEDED[package]
        assert set(messages) == {f"{purpose} {name}, which is not installed: `pip install {name}`."}


def test_the_command_line_says_what_to_install(made):
    message = "Error: The command line needs typer, which is not installed: `pip install typer`.\n"
    assert made["command line"] == [2, message]


def test_the_packages_are_dependencies(lean):
    """The lean group names dependencies of the package without versions, and the file has them all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    group = set(project["dependency-groups"]["lean"])
    assert group <= {requirement.partition(">")[0] for requirement in project["project"]["dependencies"]}
    assert group < lean.LEAN
    pinned = (ROOT / ".ci" / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    assert set((ROOT / ".ci" / "requirements" / "lean.txt").read_text(encoding="utf-8").splitlines()) <= set(pinned)
