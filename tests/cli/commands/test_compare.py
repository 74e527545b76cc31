"""``bayescal compare``: its page of help."""

from typer.testing import CliRunner

from bayescal.analyses.one import DEFAULT_MODEL, MODELS
from bayescal.app import app
from bayescal.estimands.registry import registered


def run(*arguments, width=120):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": str(width), "TERM": "dumb"})


def test_help_is_a_page():
    page = run("--help", width=80)
    assert page.exit_code == 0
    words = " ".join(page.stdout.replace("│", " ").split())
    for option in (
        "label",
        "prob",
        "prob-prefix",
        "correct",
        "confidence",
        "key",
        "rope",
        "estimand",
        "target",
        "json",
    ):
        assert f"--{option} " in words
    for panel in ("Columns of FILE", "Question", "Model", "Output", "Examples"):
        assert panel in words
    for default in (DEFAULT_MODEL, "15", "4000", "0.01", "ece", "equal-width"):
        assert f"[default: {default}]" in words
    for name in (*MODELS, *registered()):
        assert name in words
