"""Influences of right-censored rows, and joint counts of two models, against derivatives and sums over rows."""

from dataclasses import replace

import numpy as np
import pytest

from bayescal.stats.bins import make_bins
from bayescal.survival.comparison import ModelRows, paired_horizons
from bayescal.survival.horizon_counts import HorizonCounts, HorizonRows
from bayescal.survival.rows import SurvivalRows

HORIZON, BINS = 1.0, make_bins(4)


def simulated(n=80, seed=1, *, causes=1, ties=0, lost_bin=False):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    died, lost = rng.exponential(1.0, n) / (0.3 + risk), rng.exponential(1.5, n)
    time, event = np.minimum(died, lost), np.where(died <= lost, rng.integers(1, causes + 1, n), 0)
    if ties:
        time = np.ceil(time * ties) / ties
    if lost_bin:
        top = risk >= 0.75
        time[top], event[top] = np.minimum(time[top], 0.6), np.where(time[top] < 0.6, event[top], 0)
    return SurvivalRows(time, event, risk, rng.gamma(2.0, 1.0, n), 1)


def derivative(rows, value, step=1e-6):
    """Derivative of a function of weighted rows by the weight of each row."""

    def moved(i, by):
        weight = rows.weight.copy()
        weight[i] += by
        return value(replace(rows, weight=weight))

    return np.array([(moved(i, step) - moved(i, -step)) / (2 * step) for i in range(len(rows))])


def number_of_events(rows):
    """The sum over bins of weight times product-limit estimate."""
    counts = HorizonCounts.from_rows(rows, HORIZON, BINS)
    weight = np.bincount(np.minimum((rows.risk * 4).astype(int), 3), rows.weight, 4)
    return float(np.nan_to_num(counts.accuracy) @ weight)


CASES = [{}, {"causes": 2}, {"ties": 5}, {"causes": 2, "ties": 5}, {"lost_bin": True}]


@pytest.mark.parametrize("case", CASES)
def test_pseudo_outcomes_are_derivatives_of_the_number_of_events(case):
    rows = simulated(**case)
    found = ModelRows.read(rows, HORIZON, BINS)
    assert found.counts.n_censored.any()
    assert bool(found.counts.followed.all()) != bool(case.get("lost_bin"))
    assert found.pseudo == pytest.approx(derivative(rows, number_of_events), abs=1e-6)
    # a function of weights of degree 1 is the sum of weight times derivative
    assert rows.weight @ found.pseudo == pytest.approx(number_of_events(rows), rel=1e-12)


def test_without_censoring_pseudo_outcomes_are_outcomes():
    rows = simulated(ties=5)
    rows = replace(rows, event=np.where(rows.event == 0, 2, rows.event))
    found = ModelRows.read(rows, HORIZON, BINS)
    assert np.array_equal(found.pseudo, (rows.event == 1) & (rows.time <= HORIZON))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[:4])
def test_influences_on_scores_are_derivatives(case):
    rows = simulated(**case)
    found = ModelRows.read(rows, HORIZON, BINS)
    total = rows.weight.sum()

    def brier(rows):
        counts = HorizonCounts.from_rows(rows, HORIZON, BINS)
        return float(counts.losses.total.sum() / counts.weight.sum())

    def area(rows):
        return HorizonCounts.from_rows(rows, HORIZON, BINS).ranks.auc

    assert found.on_brier_score() == pytest.approx(total * derivative(rows, brier), abs=1e-5)
    # the influences of ranks refer to the weight of the rows with known outcome
    known = HorizonRows.of_rows(rows, HORIZON, BINS).inverse_censoring.sum()
    assert found.on_area() == pytest.approx(known * derivative(rows, area), abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_similarities_of_two_models_are_those_of_their_rows(weighted):
    rows = simulated(300)
    rows = rows if weighted else replace(rows, weight=None)
    others = replace(rows, risk=rows.risk**0.7)
    first, second = ModelRows.read(rows, HORIZON, BINS), ModelRows.read(others, HORIZON, make_bins(3))
    pair = paired_horizons(first, second)
    rng = np.random.default_rng(2)
    gap, mass = ((rng.standard_normal(4), rng.standard_normal(3)) for _ in range(2))
    weight = np.ones(300) if rows.weight is None else rows.weight
    sides = []
    for each, g, h in zip((first, second), gap, mass, strict=True):
        at = each.at.bin_of
        own = g[at] * (each.pseudo - each.counts.mean_confidence[at]) + h[at]
        sides.append(weight * (own - np.average(own, weights=weight)))
    expected = sides[0] @ sides[1] / np.sqrt((sides[0] @ sides[0]) * (sides[1] @ sides[1]))
    assert pair.linear_cosine(gap, mass) == pytest.approx(expected, rel=1e-10)
    x, y = gap[0][first.at.bin_of], gap[1][second.at.bin_of]
    expected = weight @ (x * y) / np.sqrt((weight @ x**2) * (weight @ y**2))
    assert pair.gap_cosine(gap) == pytest.approx(expected, rel=1e-10)
    assert pair.rows.n_rows == 300


def test_one_model_twice_is_perfectly_correlated():
    rows = simulated(300, lost_bin=True)
    first, second = (ModelRows.read(rows, HORIZON, BINS) for _ in range(2))
    pair = paired_horizons(first, second)
    coefficients = np.arange(4.0), np.arange(4.0)
    assert pair.linear_cosine(coefficients, coefficients) == pytest.approx(1.0, abs=1e-12)
    assert pair.ratio_correlation == 1.0
    few = simulated(300)
    first, second = (ModelRows.read(few, HORIZON, BINS) for _ in range(2))
    pair = paired_horizons(first, second)
    assert pair.area_correlation == 1.0
    assert pair.loss_difference.squares == 0


@pytest.mark.parametrize("censored", [False, True])
def test_models_that_both_separate_the_events_are_not_known_to_be_equal(censored):
    """Every row with the event has a larger risk than the others, under both models: influences on the areas are 0."""
    rng = np.random.default_rng(1)
    event = np.arange(120) % 2
    time = np.where(event == 1, 0.5, 2.0)
    time[0] = 0.6 if censored else 2.0  # after the last event
    first, second = (0.1 + 0.5 * event + 0.3 * rng.random(120) for _ in range(2))
    one, other, again = (
        ModelRows.read(SurvivalRows(time, event, risk, None, 1), HORIZON, BINS) for risk in (first, second, first)
    )
    assert paired_horizons(one, again).area_correlation == 1.0
    assert paired_horizons(one, other).area_correlation < 0.5
