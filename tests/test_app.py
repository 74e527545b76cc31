"""The program: its help, its version, and what it loads."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bayescal
from bayescal.analyses.one import DEFAULT_MODEL, MODELS
from bayescal.app import app

TINY = ["--label", "label", "--prob", "p"]


def run(*arguments, width=120):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(width), "TERM": "dumb"})


def in_processes(code, cwd):
    """Run Python code with the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ}
    )


@pytest.fixture
def tiny(tmp_path):
    """A file of twenty rows, alone in its folder."""
    file = tmp_path / "tiny.csv"
    file.write_text("label,p\n" + "".join(f"{i % 2},{(i % 10) / 10}\n" for i in range(20)))
    return file


@pytest.mark.parametrize("command", [[], ["report"]])
def test_help_is_a_page(command):
    page = run(*command, "--help", width=80)
    assert page.exit_code == 0
    words = " ".join(page.stdout.replace("│", " ").split())
    if not command:
        assert "demo" in words
        assert "Expected Calibration Error" in words
        return
    for option in ("label", "prob", "prob-prefix", "correct", "confidence", "weights", "classes", "logits", "target"):
        assert f"--{option} " in words
    for panel in ("Columns of FILE", "Question", "Model", "Output", "Examples"):
        assert panel in words
    for default in (DEFAULT_MODEL, "15", "4000", "1", "equal-width"):
        assert f"[default: {default}]" in words
    for model in MODELS:
        assert model in words


def test_lines_of_a_help_are_sentences():
    """The terminal keeps the line breaks of a command's docstring, so a sentence must not have one."""
    from bayescal.app import app

    commands = [each.callback for each in app.registered_commands]
    assert len(commands) > 8
    for command in commands:
        for line in inspect.getdoc(command).splitlines():
            assert not line or line.endswith((".", ":", "?")), (command.__name__, line)


def test_version():
    assert run("--version").stdout == f"bayescal {bayescal.__version__}\n"


def test_help_needs_nothing_heavy():
    code = "import sys; from bayescal.app import app; print([m for m in sys.modules if m in HEAVY])"
    heavy = {"numpy", "scipy", "pymc", "arviz", "matplotlib", "pandas", "duckdb", "narwhals"}
    assert in_processes(f"HEAVY = {heavy}; {code}", ".").stdout == "[]\n"


@pytest.mark.slow
def test_the_installed_program(tiny):
    program = Path(sys.executable).with_name("bayescal")
    if not program.exists():
        pytest.skip("the tests run from a tree that is not installed")
    options = {"cwd": tiny.parent, "capture_output": True, "text": True, "timeout": 120}
    good = subprocess.run([program, "report", "tiny.csv", *TINY, "--json", "x.json"], **options)
    assert (good.returncode, good.stderr) == (0, "")
    assert "Saved x.json" in good.stdout
    bad = subprocess.run([program, "report", "tiny.csv", "--label", "lable", "--prob", "p"], **options)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert (
        bad.stderr == "Error: 'tiny.csv' has no column 'lable'. Did you mean 'label'? The columns are 'label', 'p'.\n"
    )
