"""Simulated losses have the moments of rows."""

import numpy as np
import pytest
from pilots import curved_pilot, rows_of_two

import bayescal as bc
from bayescal.planning.simulated import JointLosses, LogLosses, SquaredErrors


def test_simulated_losses_have_the_moments_of_the_rows():
    rng = np.random.default_rng(2)
    confidence = rng.random(40_000)
    pilot = bc.BinnedCounts.from_arrays(rng.random(40_000) < confidence, confidence, bins=3)
    drawn = [SquaredErrors(pilot).simulate(pilot.cells, rng) for _ in range(200)]
    for name in ("total", "squares"):
        mean = np.mean([getattr(each, name) for each in drawn], axis=0)
        # about 200 x 4000 rows of each outcome and bin, whose squared errors have coefficients of variation of 0.5 to 2
        np.testing.assert_allclose(mean, getattr(pilot.losses, name), rtol=0.01)
    # a sum varies by the sampling of n rows and by the truth, which the pilot's n rows leave uncertain
    n = pilot.cells
    variance = pilot.losses.squares / n - (pilot.losses.total / n) ** 2
    np.testing.assert_allclose(np.std([each.total for each in drawn], axis=0), np.sqrt(2 * n * variance), rtol=0.25)


def test_no_rows_have_no_losses():
    pilot = curved_pilot()
    none = SquaredErrors(pilot).simulate(np.zeros_like(pilot.cells), np.random.default_rng(1))
    assert not none.total.any()
    assert not none.squares.any()


def test_simulated_log_losses_have_the_moments_of_the_rows():
    rng = np.random.default_rng(2)
    confidence = rng.random(40_000)
    pilot = bc.BinnedCounts.from_arrays(rng.random(40_000) < confidence, confidence, bins=3)
    drawn = [LogLosses(pilot).simulate(pilot.cells, rng) for _ in range(200)]
    for name in ("total", "squares"):
        mean = np.mean([getattr(each, name) for each in drawn], axis=0)
        # 200 x 1000 rows of the smallest cell, whose squared losses have a coefficient of variation of about 4
        np.testing.assert_allclose(mean, getattr(pilot.log_losses, name), rtol=0.03)
    n = pilot.cells
    variance = pilot.log_losses.squares / n - (pilot.log_losses.total / n) ** 2
    np.testing.assert_allclose(np.std([each.total for each in drawn], axis=0), np.sqrt(2 * n * variance), rtol=0.25)
    none = LogLosses(pilot).simulate(np.zeros_like(n), rng)
    assert not none.total.any()
    assert not none.squares.any()


def test_simulated_differences_of_losses_have_the_moments_of_the_rows():
    y, p, q = rows_of_two(5000)
    pair = bc.PairedCounts.from_arrays(y, p, y, q, bins=5)
    rng, simulated = np.random.default_rng(1), JointLosses(pair, "losses")
    drawn = [simulated.simulate(5000, rng) for _ in range(300)]
    for at, sums in enumerate((pair.first.losses, pair.second.losses, pair.loss_difference)):
        total, squares = (float(np.sum(each)) for each in (sums.total, sums.squares))
        assert np.mean([d[at].squares for d in drawn]) == pytest.approx(squares, rel=0.01)
        sd = np.sqrt(2 * (squares - total**2 / 5000))  # of the truth, and of the rows
        totals = [d[at].total for d in drawn]
        assert np.mean(totals) == pytest.approx(total, abs=4 * sd / np.sqrt(300))
        assert np.std(totals) == pytest.approx(sd, rel=0.15)
