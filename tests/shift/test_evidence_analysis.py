"""Evidence of shift: the posterior against quadrature, both P-values against enumeration and their levels, refusals."""

import json
from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import betaln, expit, xlogy
from scipy.stats import beta, binomtest

import bayescal as bc
from bayescal.shift.cells import ShiftCells
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.statistics import (
    CellShiftPosterior,
    ShiftTest,
    _beyond_label_shift,
    label_shift_test,
    no_shift_test,
    total_variation,
)


def scores(label, rng, moved=0.0):
    return expit(2 * rng.normal(2 * label - 1.0 + moved, 1))


def problem(rng, n=500, share=0.2, moved=0.0):
    """Source with equal classes, target with another share of class 1, and scores moved in its class 0."""
    y, z = rng.random(n) < 0.5, rng.random(n) < share
    return y, scores(y, rng), scores(z, rng, moved * ~z)


# --- the posterior of the difference


def test_evidence_by_quadrature():
    """Two cells: marginal likelihoods are integrals over one share, with arcsine density."""
    s, t = np.array([30, 12]), np.array([10, 15])
    posterior = CellShiftPosterior(s, t)

    def of_rows(rows, a, b):
        return betaln(a + rows[0], b + rows[1]) - betaln(a, b)

    expected = []
    for c in posterior.concentrations:
        value = quad(
            lambda m, c=c: (
                beta.pdf(m, 0.5, 0.5) * np.exp(of_rows(s, c * m, c * (1 - m)) + of_rows(t, c * m, c * (1 - m)) + 45)
            ),
            0,
            1,
            limit=400,
            epsabs=0,
            epsrel=1e-6,
        )[0]
        expected.append(np.log(value) - 45)
    expected.append(of_rows(s + t, 0.5, 0.5))
    np.testing.assert_allclose(posterior.log_evidence(rng=1), expected, atol=0.15)
    assert posterior.log_evidence(rng=1)[-1] == pytest.approx(expected[-1])


def test_draws_by_weighted_draws_from_the_prior(close_to):
    """Three cells: draws of the prior, weighted by their multinomial likelihood, have the same mean difference."""
    s, t = np.array([12, 5, 3]), np.array([4, 6, 10])
    posterior, rng, n = CellShiftPosterior(s, t), np.random.default_rng(2), 400_000
    c = np.append(posterior.concentrations, np.inf)[rng.integers(8, size=n)]
    common = rng.dirichlet(np.full(3, 1 / 3), n)
    finite = np.where(np.isfinite(c), c, 1.0)[:, None, None]
    gamma = np.maximum(rng.standard_gamma(np.broadcast_to(finite * common[:, None], (n, 2, 3))), 1e-300)
    q = gamma / gamma.sum(axis=2, keepdims=True)
    q[np.isinf(c)] = common[np.isinf(c), None]
    log_weight = xlogy(np.stack([s, t]), np.maximum(q, 1e-300)).sum(axis=(1, 2))
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    drawn = posterior.sample(20_000, rng=1)
    for name, own, prior in (
        ("total variation", total_variation(drawn), total_variation(q)),
        ("first cell", drawn[:, 1, 0] - drawn[:, 0, 0], q[:, 1, 0] - q[:, 0, 0]),
        ("no difference", (total_variation(drawn) == 0).astype(float), np.isinf(c).astype(float)),
    ):
        expected = weight @ prior
        error = np.hypot(own.std() / np.sqrt(len(own)), np.sqrt((weight**2) @ (prior - expected) ** 2))
        close_to(own.mean(), expected, error, name)


def test_intervals_can_contain_no_difference():
    """Equal shares: independent uniform priors exclude 0, this model does not; a clear difference excludes it."""
    rng = np.random.default_rng(1)
    rows = [rng.multinomial(1000, np.full(10, 0.1)) for _ in range(2)]
    assert np.quantile(total_variation(CellShiftPosterior(*rows).sample(4000, rng=1)), 0.025) == 0
    flat = np.stack([rng.dirichlet(1 + each, 4000) for each in rows], axis=1)
    assert np.quantile(total_variation(flat), 0.025) > 0.02
    moved = rows[0] + np.array([150] * 5 + [-50] * 5)
    assert np.quantile(total_variation(CellShiftPosterior(rows[0], moved).sample(4000, rng=1)), 0.025) > 0.1


def test_total_variation_by_hand():
    assert total_variation(np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])) == pytest.approx(0.3)


# --- no shift


def test_permutations_by_enumeration():
    """Two cells: the number of target rows in the first one is hypergeometric."""
    s, t = np.array([7, 3]), np.array([2, 8])
    both, m = s + t, int(t.sum())

    def statistic(first):
        target = np.array([first, m - first])
        rows = (both - target, target)
        own = sum(xlogy(each, each / each.sum()).sum() for each in rows)
        return 2 * (own - xlogy(both, both / both.sum()).sum())

    chance = {k: comb(both[0], k) * comb(both[1], m - k) / comb(both.sum(), m) for k in range(max(0, m - both[1]), 10)}
    observed = statistic(2)
    expected = sum(p for k, p in chance.items() if statistic(k) >= observed - 1e-9)
    n = 20_000
    test = no_shift_test(s, t, n, rng=1)
    assert test.statistic == pytest.approx(observed)
    assert test.p_value == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / n) + 1 / n)
    mean = sum(p * statistic(k) for k, p in chance.items())
    assert test.null_mean == pytest.approx(mean, rel=0.05)


def test_p_value_counts_the_observed_statistic():
    assert ShiftTest.against(2.0, np.array([1.0, 2.0, 3.0])).p_value == 3 / 4
    assert ShiftTest.against(9.0, np.zeros(99)).p_value == 1 / 100


# --- label shift


def test_fit_against_an_optimiser():
    """The likelihood ratio against label shift equals that of a general optimiser."""
    rng = np.random.default_rng(3)
    s = np.stack([rng.multinomial(200, p) for p in ([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4])])
    t = rng.multinomial(150, [0.3, 0.1, 0.3, 0.3])

    def negative(x):
        pi = expit(x[0])
        cells = np.exp(np.concatenate([x[1:].reshape(2, 3), np.zeros((2, 1))], axis=1))
        cells /= cells.sum(axis=1, keepdims=True)
        mixed = np.array([1 - pi, pi]) @ cells
        return -(xlogy(s, cells).sum() + xlogy(t, mixed).sum())

    best = minimize(negative, np.zeros(7), method="BFGS", options={"gtol": 1e-8})
    free = xlogy(s, s / s.sum(axis=1, keepdims=True)).sum() + xlogy(t, t / t.sum()).sum()
    assert _beyond_label_shift(s[None], t[None])[0] == pytest.approx(2 * (free + best.fun), abs=2e-3)


def test_a_mixture_of_the_classes_fits_exactly():
    s = np.array([[40, 30, 20, 10], [10, 20, 30, 40]])
    assert _beyond_label_shift(s[None], (s[0] + 3 * s[1])[None])[0] == pytest.approx(0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_level_under_label_shift(share):
    """200 data sets: the number of alarms at 0.05 is plausible for a rate of 0.05, at 0.001 two-sided."""
    rng, alarms, n = np.random.default_rng(4), [0, 0], 200
    for _ in range(n):
        y, p, q = problem(rng, 300, share)
        matrix, other = (np.column_stack([1 - each, each]) for each in (p, q))
        cells = ShiftCells.of_confidences(np.concatenate([matrix, other]), 4)
        source = np.stack([np.bincount(cells.of_rows(matrix[y == k]), minlength=8) for k in (0, 1)])
        counts = ShiftCounts(source, np.bincount(cells.of_rows(other), minlength=8), cells)
        alarms[0] += label_shift_test(counts, 99, rng=rng).p_value <= 0.05
        alarms[1] += no_shift_test(source.sum(axis=0), counts.target, 99, rng=rng).p_value <= 0.05
    assert binomtest(alarms[0], n, 0.05).pvalue > 0.001
    if share == 0.5:  # no shift at all
        assert binomtest(alarms[1], n, 0.05).pvalue > 0.001
    else:
        assert alarms[1] == n


def test_power_against_a_moved_class():
    rng = np.random.default_rng(5)
    evidence = bc.shift_evidence(*problem(rng, 1000, 0.3, moved=0.7), rng=1)
    assert evidence.no_shift.p_value < 0.01
    assert evidence.label_shift.p_value < 0.01
    assert "do not explain it" in evidence.sentence()


# --- the result


def test_result():
    rng = np.random.default_rng(6)
    y, p, q = problem(rng, 2000)
    evidence = bc.shift_evidence(y, p, q, rng=1)
    assert "alone can explain it" in evidence.sentence()
    table = evidence.table()
    assert len(table) == len(evidence.cells) == 10
    # both sides in the cells: named after class and range, that contain exactly these rows
    low, high = (float(each) for each in evidence.cells[-1].removeprefix("1: ").split(" to "))
    assert table[-1]["n_source"] == pytest.approx(np.count_nonzero((p >= low) & (p <= high)), abs=5)
    shift = np.array([row["share_target"] - row["share_source"] for row in table])
    assert np.abs(shift).sum() / 2 == pytest.approx(evidence.total_variation.mean(), abs=0.03)
    np.testing.assert_allclose([row["mean"] for row in table], shift, atol=0.02)
    assert evidence.to_frame().shape == (10, 7)
    stored = json.loads(evidence.to_json())
    assert stored["tests"]["label_shift"]["p_value"] == evidence.label_shift.p_value
    assert stored["total_variation"]["mean"] == evidence.total_variation.mean()
    tree = evidence.to_datatree()
    moved = (tree["posterior"]["share_target"] - tree["posterior"]["share_source"]).mean(["chain", "draw"])
    np.testing.assert_allclose(moved, evidence.difference.mean(), rtol=0, atol=1e-12)
    assert tree["posterior"]["cell"].values.tolist() == list(evidence.cells)
    assert "alone can explain it" in evidence.to_html()
    assert "labels of the target" in evidence.remarks[0]
    again = bc.shift_evidence(y, p, q, rng=1)
    np.testing.assert_array_equal(again.drawn, evidence.drawn)
    assert (again.no_shift, again.label_shift) == (evidence.no_shift, evidence.label_shift)


def test_names_of_cells_differ():
    """Cuts that differ in the fourth digit, and equal cuts, as arise if many probabilities are equal."""
    y, p = np.arange(400) % 2, np.repeat([0.9991, 0.9992, 0.3, 0.2], 100)
    cells = ShiftCells(np.array([[0.75, 0.75, 0.75], [0.9990, 0.9991, 1.0]]))
    names = bc.shift_evidence(y, p, p, cells=cells, draws=100, simulations=99, rng=1).cells
    assert names[:4] == ("0: 0.5 to 0.75", "0: 0.75 to 0.75", "0: 0.75 to 0.75 (2)", "0: 0.75 to 1")
    assert names[4:] == ("1: 0.5 to 0.999", "1: 0.999 to 0.9991", "1: 0.9991 to 1", "1: 1 to 1")


def test_equal_scores():
    rng = np.random.default_rng(7)
    evidence = bc.shift_evidence(*problem(rng, 500, 0.5), rng=1)
    assert evidence.no_shift.p_value > 0.05
    assert "There is no evidence that the scores of source and target differ" in evidence.sentence()
    assert evidence.total_variation.interval(0.95)[0] == 0


def test_many_classes():
    rng = np.random.default_rng(8)
    matrix, target = rng.dirichlet(np.full(6, 0.3), 800), rng.dirichlet(np.full(6, 0.3), 600)
    label = (matrix.cumsum(axis=1) > rng.random((800, 1))).argmax(axis=1)
    evidence = bc.shift_evidence(label, matrix, target, simulations=200, rng=1)
    assert len(evidence.cells) == 12
    assert evidence.no_shift.p_value > 0.01


def test_refused():
    y, p, q = problem(np.random.default_rng(9))
    with pytest.raises(ValueError, match=r"`cells` must contain more cells than.*2 cells and 2 classes"):
        bc.shift_evidence(y, p, q, cells=ShiftCells.predicted_class(2))
    with pytest.raises(ValueError, match="`y_true` must have labelled rows of every class"):
        bc.shift_evidence(np.zeros(500), p, q)
    with pytest.raises(ValueError, match="`simulations` must be an integer >= 99"):
        bc.shift_evidence(y, p, q, simulations=10)
    with pytest.raises(TypeError, match="Labels of the target are not used"):
        bc.shift_evidence(y, p, q, y_target=y)
