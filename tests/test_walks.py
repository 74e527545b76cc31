"""Few functions stand between an argument and its use: how many of the package get it, in any call of theirs.

A function gets a column if it is one of its arguments, or an element of a list, tuple or dict among them: the same
array, or one with the same values in any order. A record gets counted until it reaches its own methods.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc

PACKAGE = str(Path(bc.__file__).parent)
#: Longest list or dict whose elements are looked at.
LONGEST = 50


def holds(value, sought):
    """Whether an argument is, or contains, what is sought."""
    if value is sought:
        return True
    if isinstance(value, np.ndarray):
        same_size = isinstance(sought, np.ndarray) and value.dtype != object and value.size == sought.size
        return same_size and bool(np.array_equal(np.sort(value.ravel()), np.sort(sought)))
    if isinstance(value, list | tuple | dict) and len(value) < LONGEST:
        return any(holds(each, sought) for each in (value.values() if isinstance(value, Mapping) else value))
    return False


def functions_that_get(sought, call):
    """Return the names of the functions of the package that get an object during a call."""
    names = {}

    def look(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        several = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + several]
        of_itself = bool(arguments) and arguments[0] == "self" and frame.f_locals.get("self") is sought
        if not of_itself and any(holds(frame.f_locals.get(name), sought) for name in arguments):
            names[code.co_filename.removeprefix(PACKAGE), code.co_qualname] = True

    call()  # what is imported and cached at the first call is no part of the way
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(names)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p, n = rng.random(397), 397
    return {
        "y": (rng.random(n) < p).astype(float),
        "p": p,
        "weights": rng.gamma(2, 1, n),
        "times": rng.exponential(5, n) + 0.01,
    }


def test_counts_pass_at_most_12_functions(rows):
    counts = bc.BinnedCounts.from_arrays(rows["y"], rows["p"], weights=rows["weights"])
    names = functions_that_get(counts, lambda: bc.evaluate_counts(counts, rng=1, draws=200))
    assert ("/analyses/one.py", "evaluate_one") in names
    assert len(names) <= 12


def test_weights_pass_at_most_30_functions(rows):
    names = functions_that_get(
        rows["weights"],
        lambda: bc.evaluate(rows["y"], rows["p"], weights=rows["weights"], rng=1, draws=200),
    )
    assert ("/stats/_kernel.py", "accumulate") in names
    assert len(names) <= 30


def test_times_pass_at_most_50_functions(rows):
    names = functions_that_get(
        rows["times"],
        lambda: bc.survival.evaluate(rows["times"], rows["y"], rows["p"], horizon=3, rng=1, draws=200),
    )
    assert ("/survival/rows.py", "SurvivalRows.read") in names
    assert len(names) <= 50


@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}, lambda x: x[::-1].copy()])
def test_an_argument_is_found_within_others(wrapped):
    column = np.arange(5.0)
    assert holds(wrapped(column), column)
    assert not holds(wrapped(column + 1), column)
