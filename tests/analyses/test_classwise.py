"""Evaluations of all classes from rows."""

import numpy as np
import pytest

import bayescal as bc

N = 500


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), N)
    return np.array([rng.choice(3, p=row) for row in p]), p


def test_classwise(matrix):
    y, p = matrix
    ev = bc.evaluate(y, p, target="classwise", bins=10, rng=1, draws=400)
    assert len(ev) == 3
    assert list(ev) == [0, 1, 2]
    assert ev.by_class.values.shape == (400, 3)
    apart = ~ev.exact
    np.testing.assert_allclose(ev.ece.values[apart], ev.by_class.values[apart].mean(axis=1))
    frequency = np.bincount(y) / N
    np.testing.assert_allclose(ev.marginal_error.values[apart], ev.by_class.values[apart] @ frequency, rtol=1e-12)
    assert not ev.ece.values[ev.exact].any()
    assert not ev.marginal_error.values[ev.exact].any()
    assert ev.plug_in == pytest.approx(np.mean([bc.plug_in_ece(y == k, p[:, k], bins=10) for k in range(3)]))
    assert ev.plug_in == pytest.approx(bc.plug_in_ece(y, p, target="classwise", bins=10))


def test_weights_reach_every_class(matrix):
    y, p = matrix
    weights = np.where(y == 0, 3.0, 1.0)
    weighted = bc.evaluate(y, p, target="classwise", weights=weights, rng=1, draws=100)
    assert weighted.plug_in == pytest.approx(bc.plug_in_ece(y, p, target="classwise", weights=weights))
    assert "weighted" in weighted.spec
    share = np.bincount(y, weights) / weights.sum()
    np.testing.assert_allclose(weighted.marginal_error.values, weighted.by_class.values @ share, rtol=1e-12)
    marginal = next(row for row in weighted.table() if row["quantity"] == "marginal error")
    assert marginal["null_mean"] == pytest.approx(float((weighted.null_by_class.values @ share).mean()))
