"""The averaged two-bin error: a double sum over rows, an integral, truthfulness, and the draws of the bins."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.estimands.two_bins import over_thresholds


def double_sum(outcome, confidence, weight=None):
    """Mean over pairs of rows of the product of residuals times 1 - |c - c'|."""
    weight = np.ones(len(outcome)) if weight is None else weight
    residual = weight * (outcome - confidence) / weight.sum()
    return residual @ (1 - np.abs(confidence[:, None] - confidence)) @ residual


@pytest.mark.parametrize("n", [1, 7, 300, 2000])
@pytest.mark.parametrize("digits", [1, 6])
def test_the_observed_value_is_a_double_sum_over_rows(n, digits):
    rng = np.random.default_rng(n)
    confidence, weight = rng.random(n).round(digits), rng.exponential(size=n)
    outcome = (rng.random(n) < confidence**2).astype(int)
    alone = bc.evaluate(outcome, confidence, draws=10, rng=1)
    weighted = bc.evaluate(outcome, confidence, weights=weight, draws=10, rng=1)
    assert alone.plug_in_of("atb") == pytest.approx(double_sum(outcome, confidence), abs=1e-12)
    assert weighted.plug_in_of("atb") == pytest.approx(double_sum(outcome, confidence, weight), abs=1e-12)


def test_it_is_the_integral_of_the_definition():
    """F(q)^2 + (F(1) - F(q))^2 with F(q) = mean of (y - c) 1{c < q}, at the midpoints of a fine grid."""
    rng = np.random.default_rng(2)
    confidence = rng.integers(0, 1001, 50) / 1000  # no step inside a cell of the grid
    outcome = (rng.random(50) < 0.4).astype(int)
    q = (np.arange(1000) + 0.5) / 1000
    below = ((outcome - confidence) * (confidence < q[:, None])).mean(axis=1)
    every = (outcome - confidence).mean()
    integral = np.mean(below**2 + (every - below) ** 2)
    assert bc.evaluate(outcome, confidence, draws=10, rng=1).plug_in_of("atb") == pytest.approx(integral, abs=1e-12)


def test_of_more_rows_than_distinct_confidences_are_kept_for():
    """On the fine grid, confidences are known up to 1/1024 of the smaller one of confidence and 1 - confidence."""
    rows = simulate(150_000, population="flat", curve="temperature", strength=1.1, rng=1)
    order = np.argsort(rows.confidence)
    c, residual = rows.confidence[order], (rows.outcome - rows.confidence)[order] / len(order)
    exact = over_thresholds(c, residual)
    ev = bc.evaluate(rows.outcome, rows.confidence, draws=10, rng=1)
    assert ev.counts.ranks.grid == "fine"
    assert ev.plug_in_of("atb") == pytest.approx(exact, rel=0.003)
    of_bins = bc.evaluate_counts(bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence), draws=10, rng=1)
    assert np.isnan(of_bins.plug_in_of("atb"))  # that of bins is not the number for a leaderboard


@pytest.mark.parametrize("probability", [[0.2, 0.5, 0.9], [0.05, 0.1, 0.6], [0.5, 0.5, 0.5]])
def test_no_other_confidence_is_better_on_average(probability):
    """The expected value on the sample by enumeration of all outcomes: E[(y - c)^2] / n + (1 - 1 / n) ATB."""
    r = np.repeat(probability, 2)
    n, outcomes = len(r), np.array(np.meshgrid(*[[0, 1]] * len(r))).reshape(len(r), -1).T
    chance = np.prod(np.where(outcomes == 1, r, 1 - r), axis=1)

    def expected(c):
        return sum(p * double_sum(y, c) for p, y in zip(chance, outcomes, strict=True))

    honest = expected(r)
    assert honest == pytest.approx((r * (1 - r)).sum() / n**2, abs=1e-12)
    rng = np.random.default_rng(3)
    for _ in range(20):
        c = np.clip(r + rng.normal(0, 0.2, n), 0, 1)
        gap = (r - c) / n
        population = gap @ (1 - np.abs(c[:, None] - c)) @ gap
        noise = (r * (1 - r)).sum() / n**2
        assert expected(c) == pytest.approx(noise + population, abs=1e-12)
        assert expected(c) > honest


def test_draws_are_those_of_the_bins():
    rows = simulate(3000, population="flat", curve="shift", strength=0.5, rng=1)
    ev = bc.evaluate(rows.outcome, rows.confidence, rng=1)
    bins = ev.bin_draws
    gap, c = bins.weight * bins.gap, bins.confidence
    pairs = np.einsum("si,sj,sij->s", gap, gap, 1 - np.abs(c[:, :, None] - c[:, None, :]))
    np.testing.assert_allclose(ev.atb.values, pairs, atol=1e-12)
    assert (np.sqrt(ev.atb.values) <= ev.ece.values + 1e-12).all()
    assert (ev.atb.values >= ev.signed_error.values**2 / 2 - 1e-12).all()  # a^2 + b^2 >= (a + b)^2 / 2
    row = ev.row("atb")
    assert row["null_mean"] == pytest.approx((rows.confidence * (1 - rows.confidence)).sum() / 3000**2, rel=0.05)


def test_comparisons_and_groups():
    rows = simulate(2000, population="flat", rng=1)
    probs = {"honest": rows.confidence, "timid": 0.5 + 0.5 * (rows.confidence - 0.5)}
    difference = bc.compare(rows.outcome, probs, rng=1).difference(estimand="atb")
    assert difference.interval(0.95)[1] < 0
    groups = bc.evaluate(rows.outcome, rows.confidence, by=np.arange(2000) % 2, rng=1)
    assert groups.table(estimand="atb")[0]["mean"] >= 0


def test_printing_names_the_number_for_a_leaderboard():
    rows = simulate(2000, population="flat", curve="shift", strength=0.1, rng=1)
    ev = bc.evaluate(rows.outcome, rows.confidence, draws=500, rng=1)
    sheet = ev.sheet(estimands=["ece", "atb"])
    assert sheet.remarks[0].startswith("The plug-in ATB is the number for a leaderboard")
    assert not any("leaderboard" in each for each in ev.sheet().remarks)
    # small numbers have more decimals than those of the ECE
    assert [len(row[-1].partition(".")[2]) for row in sheet.rows] == [4, 7]
    assert float(sheet.rows[1][5]) == pytest.approx(ev.plug_in_of("atb"), abs=1e-7)
