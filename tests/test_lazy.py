"""Public names are loaded when they are first used, and are those of the stubs."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import bayescal
from bayescal._lazy import MODULES

STUB = Path(bayescal.__file__).with_suffix(".pyi")


def test_the_stub_lists_every_name():
    for module in ("", *MODULES):
        thing = importlib.import_module(f"bayescal.{module}".rstrip("."))
        stub = ast.parse((STUB.parent / module / "__init__.pyi").read_text())
        listed = sorted(each.asname for node in stub.body if isinstance(node, ast.ImportFrom) for each in node.names)
        assert listed == sorted(dir(thing)) == sorted(thing.__all__)


def test_no_topic_is_loaded_before_it_is_used():
    code = f"""
import sys
import bayescal as bc
bc.BinnedCounts.from_arrays([0, 1], [0.2, 0.7])
print([module for module in {MODULES} if f"bayescal.{{module}}" in sys.modules])
bc.evaluate_survival, dir(bc.planning)
print([module for module in {MODULES} if f"bayescal.{{module}}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == "[]"
    assert "survival" in after
    assert "planning" in after
    assert "cumulative" not in after


def test_a_name_that_is_not_there():
    for module, name, meant in (
        (bayescal, "evaluat", "bayescal.evaluate"),
        (bayescal, "evalute_survival", "bayescal.survival.evaluate"),
        (bayescal, "compare_over_dataset", "bayescal.compare_over_datasets"),
        (bayescal.survival, "compair", "bayescal.survival.compare"),
        (bayescal.shift, "evaluate_shifted_count", "bayescal.evaluate_shifted_counts"),
    ):
        with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute '{name}'.*`{meant}`"):
            getattr(module, name)
