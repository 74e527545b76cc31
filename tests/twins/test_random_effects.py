"""Random effects in PyMC."""

import numpy as np
import pytest
from twins.pooling import RandomEffectsTwin

pytestmark = pytest.mark.slow


def test_the_model_has_the_estimates_their_errors_and_the_prior():
    """Logarithms of densities by hand, at one point: t with 4 degrees of freedom, and Normals."""
    pytest.importorskip("pymc")
    from scipy import stats

    estimate, error = np.array([0.02, -0.01]), np.array([0.01, 0.03])
    twin = RandomEffectsTwin(estimate, error, scale=0.05)
    model = twin.model()
    point = {"mean": 0.01, "spread_log__": np.log(0.04), "unit": np.array([0.5, -1.0]), "new_unit": 0.3}
    by_hand = (
        np.log(2)
        + stats.t.logpdf(0.04 / 0.05, 4)
        - np.log(0.05)
        + np.log(0.04)  # and the Jacobian of the logarithm
        + stats.norm.logpdf(0.01, 0, 1e5 * 0.05)  # nearly uniform
        + stats.norm.logpdf([0.5, -1.0, 0.3]).sum()
        + stats.norm.logpdf(estimate, [0.01 + 0.04 * 0.5, 0.01 - 0.04], error).sum()
    )
    assert float(model.compile_logp(mode="FAST_COMPILE")(point)) == pytest.approx(
        by_hand, abs=1e-6
    )  # a constant is float32


def test_the_twin_names_the_same_quantities():
    twin = RandomEffectsTwin(np.array([0.02, 0.01, 0.03]), np.array([0.01, 0.02, 0.01]), 0.05)
    drawn = twin.of_closed_form(50, np.random.default_rng(1))
    assert {"mean", "spread", "new", "P(spread <= 0.05)", "P(new <= 0)"} <= drawn.keys()
    assert "P(spread <= 0)" not in drawn
