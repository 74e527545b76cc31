"""SurvivalCounts: exact on the grid of times, addable, and close to the rows between its times."""

import pickle

import numpy as np
import pytest
from censored_rows import GRID, weekly

import bayescal as bc
from bayescal.stats.bins import make_bins
from bayescal.survival.horizon_counts import HorizonCounts
from bayescal.survival.rows import SurvivalRows


@pytest.mark.parametrize("horizon", [0.5, 1.0])
@pytest.mark.parametrize("causes", [1, 2])
def test_counts_on_the_grid_are_those_of_the_rows(causes, horizon):
    time, event, risk = weekly(causes=causes)
    of_rows = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), horizon, make_bins(8))
    found = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID, bins=8).at(horizon)
    for name in ("n", "k", "n_censored", "followed"):
        assert getattr(found, name).tolist() == getattr(of_rows, name).tolist(), name
    for name in ("accuracy", "effective_n", "effective_k", "mean_confidence", "weight"):
        assert getattr(found, name) == pytest.approx(getattr(of_rows, name), rel=1e-10, abs=1e-12, nan_ok=True), name
    assert found.losses.total == pytest.approx(of_rows.losses.total, rel=1e-10, abs=1e-12)
    # to first order in the width of a bin
    assert found.losses.squares.sum() == pytest.approx(of_rows.losses.squares.sum(), rel=0.02)
    wide = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID, bins=2).at(horizon)
    exact = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), horizon, make_bins(2)).losses.squares
    without_variance = wide.losses.total**2 / wide.weight
    assert np.abs(wide.losses.squares - exact).sum() < 0.3 * np.abs(without_variance - exact).sum()


def test_batches_add_up():
    time, event, risk = weekly()
    parts = [bc.SurvivalCounts.from_arrays(time[i::3], event[i::3], risk[i::3], times=GRID, bins=8) for i in range(3)]
    whole = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID, bins=8)
    total = sum(parts)
    assert np.array_equal(total.exits, whole.exits)
    assert total.deviation == pytest.approx(whole.deviation, abs=1e-12)
    assert total + bc.SurvivalCounts.empty(times=GRID, bins=8) == total
    assert pickle.loads(pickle.dumps(total)) == total
    with pytest.raises(ValueError, match="read-only"):
        total.exits[0] += 1


def test_evaluations_of_counts_and_rows_agree():
    time, event, risk = weekly()
    counts = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID)
    of_counts = bc.evaluate_survival_counts(counts, horizon=1.0, rng=1, draws=500)
    of_rows = bc.evaluate_survival(time, event, risk, horizon=1.0, rng=1, draws=500)
    assert of_counts.ece.values == pytest.approx(of_rows.ece.values, abs=1e-9)
    assert of_counts.observed_expected.values == pytest.approx(of_rows.observed_expected.values, abs=1e-9)
    assert of_counts.brier_score.mean() == pytest.approx(of_rows.brier_score.mean(), abs=2e-4)
    assert abs(of_counts.auc.mean() - of_rows.auc.mean()) < bc.auc_grid_error(of_counts.counts)
    assert of_counts.question == of_rows.question


def test_a_fine_grid_approximates_continuous_times():
    rng = np.random.default_rng(2)
    risk = rng.beta(1.2, 2.4, 5000)
    died = (np.log(rng.random(5000)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1.0, 5000)
    time, event = np.minimum(died, lost), died <= lost
    of_rows = HorizonCounts.from_rows(SurvivalRows.read(time, event, risk), 1.0, make_bins(5))
    errors = []
    for cells in (10, 100, 1000):
        counts = bc.SurvivalCounts.from_arrays(time, event, risk, times=np.arange(1, cells + 1) / cells, bins=5).at()
        assert counts.n_censored.tolist() == of_rows.n_censored.tolist()
        assert counts.k.tolist() == of_rows.k.tolist()
        errors.append(np.abs(counts.accuracy - of_rows.accuracy).max())
    assert errors[0] < 0.05
    assert errors[1] < errors[0] / 5
    assert errors[2] < 0.001


def test_a_row_censored_inside_the_last_cell_is_not_known_to_be_event_free():
    counts = bc.SurvivalCounts.from_arrays([0.9, 1.0, 2.0], [0, 0, 1], [0.2, 0.2, 0.2], times=[1.0], bins=1)
    assert counts.exits[:, 0].tolist() == [[0, 1], [0, 0], [1, 0], [1, 0]]
    assert counts.at(1.0).n_censored.tolist() == [1]


def test_errors():
    time, event, risk = weekly(100)
    counts = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID)
    with pytest.raises(ValueError, match=r"`horizon` must be a time of the grid.*0\.9 is not.* nearest one is 0\.875"):
        bc.evaluate_survival_counts(counts, horizon=0.9)
    with pytest.raises(ValueError, match=r"`times` must be strictly increasing; 1 of 3 .* first at index 2: 1"):
        bc.SurvivalCounts.empty(times=[1, 2, 1])
    with pytest.raises(ValueError, match="`times` must be finite and > 0"):
        bc.SurvivalCounts.empty(times=[-1, 2])
    for horizon in ([0.5, 1.0], "0.5"):
        with pytest.raises(TypeError, match="`horizon` must be a number"):
            bc.evaluate_survival_counts(counts, horizon=horizon)
    with pytest.raises(ValueError, match="same times"):
        counts + bc.SurvivalCounts.empty(times=[1, 2])
    with pytest.raises(ValueError, match="same bins"):
        counts + bc.SurvivalCounts.empty(times=GRID, bins=3)
    with pytest.raises(ValueError, match="same cause"):
        counts + bc.SurvivalCounts.empty(times=GRID, cause=2)
    with pytest.raises(TypeError, match="`counts` must be SurvivalCounts, not BinnedCounts"):
        bc.evaluate_survival_counts(bc.BinnedCounts.empty(3))
    with pytest.raises(TypeError, match="takes no 'bins'"):
        bc.evaluate_survival_counts(counts, horizon=0.5, bins=3)
    with pytest.raises(ValueError, match="is after the last time of the rows"):
        bc.SurvivalCounts.from_arrays([1, 2], [1, 0], [0.2, 0.3], times=[1, 5]).at(5)
    with pytest.raises(ValueError, match="coarser grid"):
        bc.SurvivalCounts.empty(times=np.arange(1, 10**6), bins=100)


@pytest.mark.parametrize("weights", [[0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 1, 0]])
@pytest.mark.parametrize("horizon", [2.0, 3.0])
@pytest.mark.filterwarnings("ignore::bayescal.survival.analysis.NotFollowedWarning")
def test_rows_of_weight_0_that_leave_first_change_nothing(weights, horizon):
    """At the first horizon nobody of positive weight has left: sums of no values, which numpy returns as integers."""
    time, event, risk = np.arange(1.0, 7), np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.4, 0.6, 0.3, 0.7, 0.2])
    kept = np.array(weights) > 0
    found, without = (
        bc.evaluate_survival_counts(
            bc.SurvivalCounts.from_arrays(time[i], event[i], risk[i], times=time, bins=4, weights=np.array(weights)[i]),
            horizon=horizon,
            draws=50,
            rng=1,
        )
        for i in (slice(None), kept)
    )
    np.testing.assert_array_equal(found.ece.values, without.ece.values)
