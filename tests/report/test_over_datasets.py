"""Plots over data sets: ranks and differences."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.report.comparison import difference_rows, rank_rows

NAMES = ("A", "B", "C")


def rows(seed, n=300, names=NAMES):
    """Rows of one data set; A is calibrated, B timid, C shifted."""
    made = simulate(n, population="flat", rng=seed)
    p = made.confidence
    scores = {"A": p, "B": 0.25 + p / 2, "C": p**2}
    return made.outcome, {name: scores[name] for name in names}


@pytest.fixture(scope="module")
def comparisons():
    return {f"set {i}": bc.compare(*rows(i, 200 + 100 * i), rng=i, draws=800) for i in range(5)}


@pytest.fixture(scope="module")
def result(comparisons):
    return bc.compare_over_datasets(comparisons, rng=1)


def test_plots(result):
    ranks = rank_rows(result)
    assert ranks.names[0] == "A"
    assert np.all(np.diff(ranks.mean) >= 0)
    pair = difference_rows(result, "A", "C")
    assert pair.names[:1] + pair.names[-3:] == (
        "set 0 (n = 200)",
        "mean of these data sets",
        "population mean",
        "new data set",
    )
    assert pair.mean[-3] == pytest.approx(pair.mean[:5].mean())
    widths = pair.high - pair.low
    assert widths[-3] < widths[-2] < widths[-1]
    ax = bc.plot_over_datasets(result, Figure().subplots())
    assert ax.get_xlabel().startswith("mean rank by ECE over 5 data sets")
    ax = bc.plot_over_datasets(result, Figure(figsize=(7, 5)).subplots(), first="C", second="A")
    label = " ".join(ax.get_xlabel().split())
    assert "ECE: C - A C is better left of 0, A right of it" in label
    with pytest.raises(TypeError, match="must be a ComparisonOverDatasets, not dict"):
        bc.plot_over_datasets({})
    with pytest.raises(TypeError, match="`first` and `second` must be two"):
        bc.plot_over_datasets(result, Figure().subplots(), first="A")
