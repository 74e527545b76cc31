"""Moments by cell against sums over rows in extended precision: losses, and deviations in wide and narrow bins."""

import numpy as np
import pytest

from bayescal.stats import _kernel
from bayescal.stats._cells import ENDS, FLOOR
from bayescal.stats._kernel import accumulate, bin_index
from bayescal.stats.bins import make_bins

#: Largest errors of a log loss, of its square relative to the larger of 1 and the log loss, and of a squared loss.
LOG, LOG_SQ, SQUARE = 1.3e-10, 7e-10, 2.0e-12
WIDE = make_bins(15)


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """Cells are used for any number of rows."""
    monkeypatch.setattr(_kernel, "FEW_ROWS", 0)


@pytest.fixture(params=["always", "never"])
def loops(request, monkeypatch):
    monkeypatch.setenv("BAYESCAL_COMPILE", request.param)


def probability(confidence, outcome):
    """In extended precision."""
    confidence = confidence.astype(np.longdouble)
    return np.where(outcome == 1, confidence, 1 - confidence)


def in_every_cell():
    """Ends, centres and random points of all cells, on both sides of 1/2 and with both outcomes."""
    rng = np.random.default_rng(1)
    u = np.concatenate([ENDS[:-1], (ENDS[:-1] + ENDS[1:]) / 2, rng.uniform(ENDS[:-1], ENDS[1:])])
    u = u[u <= 0.5]
    confidence = np.concatenate([u, u, 1 - u, 1 - u])
    return confidence, np.tile(np.repeat([0, 1], len(u)), 2)


def test_the_error_of_each_loss(loops):
    """Each row by itself: the error of a sum is at most that of all of its rows."""
    confidence, outcome = in_every_cell()
    rows = np.random.default_rng(2).choice(len(confidence), 1500, replace=False)
    with np.errstate(divide="ignore"):
        exact = -np.log(probability(confidence, outcome))
    for i in rows:
        sums, _ = accumulate(confidence[i : i + 1], outcome[i : i + 1], None, WIDE)
        if np.isinf(exact[i]):
            assert sums.log_losses.infinite.sum() == 1
            continue
        assert abs(sums.log_losses.total.sum() - exact[i]) <= LOG
        assert abs(sums.log_losses.squares.sum() - exact[i] ** 2) <= LOG_SQ * max(1, exact[i])
        error = 1 - probability(confidence[i : i + 1], outcome[i : i + 1])
        assert abs(sums.losses.squares.sum() - error[0] ** 4) <= SQUARE


@pytest.mark.parametrize("bins", [1, 2, 15, 4096, 5000, [0, 0.111, 0.25, 0.253, 0.7, 1]])
def test_sums_over_all_cells(bins, loops):
    confidence, outcome = in_every_cell()
    weight = np.random.default_rng(3).gamma(0.5, size=len(confidence))
    made = make_bins(bins)
    sums, _ = accumulate(confidence, outcome, weight, made)
    index, at = bin_index(confidence, made), (2, len(made))
    flat = outcome * len(made) + index
    deviation = confidence.astype(np.longdouble) - made.midpoints[index]

    def by_bin(values, size):
        found = np.zeros(size, np.longdouble)
        np.add.at(found, flat if size == 2 * len(made) else index, values)
        return found

    assert np.array_equal(sums.cells.ravel(), np.bincount(flat, minlength=2 * len(made)))
    scale = by_bin(weight * np.abs(deviation), 2 * len(made)).reshape(at)
    found = by_bin(weight * deviation, 2 * len(made)).reshape(at)
    assert np.all(np.abs(sums.deviation - found) <= 1e-12 * scale)
    spread = by_bin(weight * deviation**2, len(made)).astype(float)
    width_sq = by_bin(weight, len(made)).astype(float) * made.widths**2
    assert np.all(np.abs(sums.deviation_sq - spread) <= 1e-12 * width_sq)
    p = probability(confidence, outcome)
    log = np.where(p > 0, -np.log(np.where(p > 0, p, 1)), 0)
    of_logs = sums.log_losses
    np.testing.assert_allclose(of_logs.total.ravel(), by_bin(weight * log, 2 * len(made)).astype(float), rtol=1e-9)
    np.testing.assert_allclose(of_logs.squares.ravel(), by_bin(weight * log**2, 2 * len(made)).astype(float), rtol=2e-9)


@pytest.mark.parametrize("near", [0.0, 0.3, 0.5, 1.0])
def test_deviations_in_bins_that_are_much_narrower_than_cells(near, loops):
    """Bins of equal mass among confidences that differ by 1e-9."""
    rng = np.random.default_rng(4)
    confidence = np.clip(near + 1e-9 * rng.standard_normal(5000), 0, 1)
    confidence = np.unique(confidence)
    edges = np.unique([0, *np.quantile(confidence, np.arange(1, 15) / 15), 1])
    made, outcome = make_bins(edges), rng.integers(0, 2, len(confidence))
    sums, _ = accumulate(confidence, outcome, None, made)
    index = bin_index(confidence, made)
    deviation = confidence.astype(np.longdouble) - (made.edges[:-1] + made.edges[1:])[index].astype(np.longdouble) / 2
    inner = np.setdiff1d(index, [0, len(made) - 1])
    for b in inner:
        exact = float((deviation[index == b] ** 2).sum())
        assert sums.deviation_sq[b] == pytest.approx(exact, rel=1e-9, abs=0)


def test_confidences_that_are_equal_have_exact_sums(loops):
    """A million rows of few values; sums of equal numbers in one accumulator would lose digits."""
    for value in (0.0, 0.1, 0.4, 0.9, 1 - 1e-3, 1.0):
        n = 300_001
        sums, _ = accumulate(np.full(n, value), np.ones(n), None, WIDE)
        exact = n * (value - WIDE.midpoints[bin_index(np.array([value]), WIDE)[0]])
        assert sums.deviation.sum() == pytest.approx(exact, rel=1e-12, abs=1e-15 * n)
        if value:
            assert sums.log_losses.total.sum() == pytest.approx(-n * np.log(value), rel=1e-9, abs=0)
        assert sums.log_losses.infinite.sum() == (n if value == 0 else 0)


def test_parts_add_up_to_all_rows(loops):
    """Sums of moments are linear: parts differ from all rows by rounding only."""
    rng = np.random.default_rng(5)
    confidence, outcome = rng.beta(0.3, 0.3, 200_000), rng.integers(0, 2, 200_000)
    whole, _ = accumulate(confidence, outcome, None, WIDE)
    parts = [accumulate(confidence[i::3], outcome[i::3], None, WIDE)[0] for i in range(3)]
    for kind in ("losses", "log_losses"):
        for name in ("total", "squares"):
            total = sum(getattr(getattr(part, kind), name) for part in parts)
            np.testing.assert_allclose(getattr(getattr(whole, kind), name), total, rtol=1e-12)


def test_a_probability_of_0_has_the_sign_of_0(loops):
    """-0.0 is in the first cell, not beyond the last."""
    sums, _ = accumulate(np.array([-0.0, FLOOR / 2]), np.array([0, 1]), None, WIDE)
    assert sums.cells[:, 0].tolist() == [1, 1]
    np.testing.assert_allclose(sums.log_losses.total[:, 0], [0, -np.log(FLOOR / 2)], rtol=1e-15)
