"""Sums by index are floats, whatever the number of values."""

import ast
from pathlib import Path

import numpy as np
import pytest

import bayescal.stats
from bayescal.stats.sums import sums_at


@pytest.mark.parametrize("index", [[], [1, 0, 1]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_are_floats(index, dtype):
    found = sums_at(np.array(index, int), np.ones(len(index), dtype), 3)
    assert found.dtype == np.float64
    assert found.tolist() == [index.count(0), index.count(1), 0]
    found += 0.5  # as callers do


def test_nothing_else_in_this_layer_uses_bincount_with_weights():
    """`np.bincount` returns integers if there are no values."""
    for file in Path(bayescal.stats.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.bincount" and file.name != "sums.py":
                weighted = len(node.args) > 1 or any(keyword.arg == "weights" for keyword in node.keywords)
                assert not weighted, f"{file}:{node.lineno} should call sums_at"
