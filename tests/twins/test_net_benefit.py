"""Net benefit: the joint cells of the PyMC model."""

import numpy as np
import pytest
from twins.net_benefit import NetBenefitTwin, margins_of

import bayescal as bc

pytestmark = pytest.mark.slow


def test_cells_of_each_model():
    q = np.random.default_rng(1).dirichlet(np.ones(18), 4).reshape(4, 2, 3, 3)
    found = margins_of(q, 2)
    np.testing.assert_allclose(found[:, 0], q.sum(axis=3))
    np.testing.assert_allclose(found[:, 1], q.sum(axis=2))


def test_the_twin_names_the_same_quantities():
    counts = bc.ThresholdCounts.from_arrays([0, 1, 1, 0], {"a": [0.2, 0.7, 0.9, 0.4], "b": [0.5] * 4}, [0.3, 0.6])
    twin = NetBenefitTwin(counts)
    drawn = twin.of_closed_form(50, np.random.default_rng(1))
    assert len(drawn) == 16
    assert "difference of b at 0.3" in drawn
    assert drawn["net benefit of a at 0.3"].mean == pytest.approx(bc.net_benefit_counts(counts).moments["a"][0][0])


def test_the_model_has_the_counts_and_the_prior():
    pytest.importorskip("pymc")
    from bayescal.verify.pymc_models import score_cells_model

    counts = bc.ThresholdCounts.from_arrays([0, 1, 1, 1], {"a": [0.2, 0.7, 0.9, 0.9], "b": [0.5] * 4}, [0.3, 0.6])
    model = score_cells_model(counts)
    observed = model.rvs_to_values[model["rows"]].eval(mode="FAST_COMPILE").reshape(2, 3, 3)
    expected = np.zeros((2, 3, 3))
    for (first, second, outcome), n in zip(counts.cells, counts.n, strict=True):
        expected[outcome, first, second] = n
    np.testing.assert_array_equal(observed, expected)
    rate = model["rate"].owner.inputs
    shape = next(
        each
        for each in (variable.eval(mode="FAST_COMPILE") for variable in rate if getattr(variable, "ndim", 0) == 2)
        if each.shape == (2, 9)
    )
    # 0.45 at both ends and 0.1 uniform, between 0, 0.3, 0.6 and 1; 3 pseudo-rows, half of them of each outcome
    share = np.array([0.48, 0.03, 0.49])
    np.testing.assert_allclose(shape, np.broadcast_to(1.5 * np.outer(share, share).ravel(), (2, 9)))
