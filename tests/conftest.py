"""What several tests share: the folder of reference numbers, and the size of a Monte Carlo error."""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, whichever test draws first

ROOT = Path(__file__).resolve().parents[1]


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
