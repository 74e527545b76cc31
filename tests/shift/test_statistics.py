"""Differences between cells: the posterior against quadrature, and both P-values against enumeration."""

from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import betaln, expit, xlogy
from scipy.stats import beta

from bayescal.shift.statistics import (
    CellShiftPosterior,
    ShiftTest,
    _beyond_label_shift,
    no_shift_test,
    total_variation,
)

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
