"""Components of the mixture and their prior weights, by hand."""

import numpy as np
import pytest

from bayescal.posterior.pooling.prior import COMPLETE, DEVIATING, PARTIAL, Component, PoolingPrior


def test_components_are_every_scale_around_each_centre():
    """Nine drifts times four residuals times two centres; groups alone are one more, the last."""
    assert len(DEVIATING.components) == 9 * 4 * 2
    assert len(PARTIAL.components) == 73
    assert PARTIAL.components[-1].centre == "alone"
    assert COMPLETE.components == (Component("common", 0.0, 0.0, 0.0),)
    assert [c.exact for c in DEVIATING.components].count(True) == 2


def test_weights_favour_what_is_simpler():
    """Twice as much without a residual, and twice as much again on the diagonal without a drift."""
    prior = PoolingPrior(drift_sds=((0.0, 0.0), (0.5, 0.0)), taus=(0.0, 0.1))
    of = dict(zip(prior.components, prior.weights, strict=True))
    relative = {
        Component("common", 0.0, 0.0, 0.0): 2,
        Component("common", 0.5, 0.0, 0.0): 2,
        Component("common", 0.0, 0.0, 0.1): 1,
        Component("common", 0.5, 0.0, 0.1): 1,
        Component("diagonal", 0.0, 0.0, 0.0): 4,
        Component("diagonal", 0.5, 0.0, 0.0): 2,
        Component("diagonal", 0.0, 0.0, 0.1): 2,
        Component("diagonal", 0.5, 0.0, 0.1): 1,
    }
    assert of == pytest.approx({component: weight / 15 for component, weight in relative.items()})


def test_groups_alone_have_a_third_of_the_weight():
    assert PARTIAL.weights[-1] == pytest.approx(1 / 3)
    np.testing.assert_allclose(PARTIAL.weights[:-1], DEVIATING.weights * 2 / 3)
    assert PARTIAL.weights.sum() == pytest.approx(1)
