"""Parts of scores as functions of counts and rows: exact arithmetic, and isotonic regression by exhaustive search."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.decompositions import corp_parts, isotonic_fit, mean_squared_error, murphy_parts
from bayescal.estimands.registry import registered
from bayescal.results.scores import MURPHY
from bayescal.stats.binned import BinnedCounts


def test_murphy_parts_in_exact_arithmetic():
    """Equations 5 to 9 of Stephenson et al. (2008) with fractions; edges and probabilities are dyadic."""
    rng = np.random.default_rng(3)
    p, y, w = rng.integers(0, 65, 40) / 64, rng.integers(0, 2, 40), rng.integers(1, 5, 40)
    rows = [(min(int(pi * 4), 3), Fraction(pi), Fraction(int(yi)), int(wi)) for pi, yi, wi in zip(p, y, w, strict=True)]
    total = sum(wi for *_, wi in rows)
    base = sum(wi * yi for _, _, yi, wi in rows) / total
    parts = dict.fromkeys(MURPHY, Fraction(0))
    parts["uncertainty"] = base * (1 - base)
    for _, group in itertools.groupby(sorted(rows), key=lambda row: row[0]):
        inside = [row[1:] for row in group]
        size = sum(wi for *_, wi in inside)
        mean, share = sum(wi * pi for pi, _, wi in inside) / size, sum(wi * yi for _, yi, wi in inside) / size
        parts["reliability"] += size * (mean - share) ** 2 / total
        parts["resolution"] += size * (share - base) ** 2 / total
        parts["within_bin_variance"] += sum(wi * (pi - mean) ** 2 for pi, _, wi in inside) / total
        parts["within_bin_covariance"] += 2 * sum(wi * (pi - mean) * (yi - share) for pi, yi, wi in inside) / total
    result = bc.brier_decomposition(y, p, weights=w, method="murphy", bins=4)
    for name, value in parts.items():
        assert getattr(result, name) == pytest.approx(float(value), abs=1e-15), name


def test_isotonic_regression_by_exhaustive_search():
    """The fit is the best of all non-decreasing step functions whose values are means of consecutive levels."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        p, y, w = rng.integers(0, 5, 12) / 4, rng.integers(0, 2, 12), rng.integers(1, 4, 12).astype(float)
        fit = isotonic_fit(p, y, w)
        levels = np.unique(p)
        best = np.inf
        for cuts in itertools.product([0, 1], repeat=len(levels) - 1):
            block = np.concatenate([[0], np.cumsum(cuts)])[np.searchsorted(levels, p)]
            means = np.bincount(block, w * y) / np.bincount(block, w)
            if (np.diff(means) >= 0).all():
                best = min(best, np.average((y - means[block]) ** 2, weights=w))
        fitted = fit.fitted[np.searchsorted(levels, p)]
        assert np.average((y - fitted) ** 2, weights=w) == pytest.approx(best, abs=1e-14)
        np.testing.assert_array_equal(fit.confidence, levels)


def test_squared_l2_error_is_the_square_and_the_reliability():
    rng = np.random.default_rng(7)
    p = rng.random(400)
    y = rng.random(400) < p**2
    ev = bc.evaluate(y, p, draws=200, rng=1)
    np.testing.assert_allclose(ev.squared_l2_error.values, ev.l2_error.values**2, rtol=1e-12)
    observed = bc.brier_decomposition(y, p, method="murphy").reliability
    assert ev.plug_in_of("squared_l2_error") == pytest.approx(observed, rel=1e-12)
    assert not registered()["squared_l2_error"].reported
    assert "squared l_2 error" not in str(ev)


def test_example_of_murphy_parts():
    parts = murphy_parts(BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    assert [round(parts[name], 4) for name in ("reliability", "resolution", "uncertainty")] == [0.04, 0.0625, 0.1875]
    assert [round(parts[name], 4) for name in ("within_bin_variance", "within_bin_covariance", "score")] == [
        0.01,
        0.05,
        0.125,
    ]


def test_example_of_corp_parts():
    fit = isotonic_fit(np.array([0.2, 0.4, 0.7, 0.9]), np.array([0, 1, 1, 1]), None)
    assert {name: round(value, 4) for name, value in corp_parts(fit, mean_squared_error).items()} == {
        "miscalibration": 0.125,
        "discrimination": 0.1875,
        "uncertainty": 0.1875,
        "score": 0.125,
    }
