"""What tests of results share: comparisons whose joint draws are known, and a comparison over data sets."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import Comparison, evaluate_counts
from bayescal.datasets.simulate import simulate
from bayescal.estimands.registry import registered
from bayescal.stats.binned import BinnedCounts


def _counts(seed, n=80):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return BinnedCounts.from_arrays(rng.random(n) < p, p, bins=4)


def _comparison_of(draws, rope=0.01):
    names, values = list(draws), np.array(list(draws.values())).T
    evaluations = {name: evaluate_counts(_counts(i), draws=max(len(values), 2), rng=i) for i, name in enumerate(names)}
    made = Comparison(evaluations, None, rope, 1)
    made._joint["ece"] = registered()["ece"], values
    return made


@pytest.fixture(scope="session")
def comparison_of():
    """A comparison whose joint draws of the ECE are given, one row a draw."""
    return _comparison_of


@pytest.fixture(scope="session")
def eight_draws():
    """Eight joint draws of the ECE of three classifiers."""
    return {
        "A": [0.01, 0.01, 0.02, 0.05, 0.03, 0.04, 0.02, 0.02],
        "B": [0.02, 0.01, 0.05, 0.01, 0.03, 0.01, 0.06, 0.02],
        "C": [0.03, 0.01, 0.02, 0.09, 0.01, 0.04, 0.07, 0.08],
    }


@pytest.fixture
def eight(eight_draws):
    """Differences A - B: -1, 0, -3, 4, 0, 3, -4, 0 hundredths."""
    return _comparison_of(eight_draws)


@pytest.fixture(scope="session")
def real():
    evaluations = {name: evaluate_counts(_counts(i), draws=200, rng=i) for i, name in enumerate("AB")}
    return Comparison(evaluations, None, 0.02, 3)


def _rows(seed, n=300, names=("A", "B", "C")):
    made = simulate(n, population="flat", rng=seed)
    p = made.confidence
    scores = {"A": p, "B": 0.25 + p / 2, "C": p**2}
    return made.outcome, {name: scores[name] for name in names}


@pytest.fixture(scope="session")
def rows_of_set():
    """Rows of one data set; A is calibrated, B timid, C shifted."""
    return _rows


@pytest.fixture(scope="session")
def comparisons():
    return {f"set {i}": bc.compare(*_rows(i, 200 + 100 * i), rng=i, draws=800) for i in range(5)}


@pytest.fixture(scope="session")
def over_datasets(comparisons):
    return bc.compare_over_datasets(comparisons, rng=1)
