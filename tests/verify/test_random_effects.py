"""Random effects: simulation-based calibration, wrong samplers, and the PyMC model."""

import numpy as np
import pytest

from bayescal.verify.controls import run_controls
from bayescal.verify.mistakes import controls
from bayescal.verify.random_effects import RandomEffectsSimulator, RandomEffectsTwin
from bayescal.verify.sbc import sbc

pytestmark = pytest.mark.slow

ERROR_RATE = 1e-6


@pytest.mark.parametrize("n_sets", [2, 5, 30])
def test_ranks_are_uniform(n_sets):
    assert sbc(RandomEffectsSimulator(n_sets), runs=400, rng=1).rejected(ERROR_RATE) == []


def test_wrong_samplers_are_caught():
    """Those that need 2000 data sets or more run in `make verify` only."""
    quick = [control for control in controls("random effects") if control.runs <= 1000]
    assert len(quick) == 5
    found = run_controls(chosen=quick, runs=1000, rng=1)
    assert found.survivors == []
    assert found.false_alarms == []


def test_the_model_has_the_estimates_their_errors_and_the_prior():
    """Logarithms of densities by hand, at one point: t with 4 degrees of freedom, and Normals."""
    pytest.importorskip("pymc")
    from scipy import stats

    estimate, error = np.array([0.02, -0.01]), np.array([0.01, 0.03])
    model = RandomEffectsTwin(estimate, error, scale=0.05).model()
    point = {"mean": 0.01, "spread_log__": np.log(0.04), "unit": np.array([0.5, -1.0]), "new_unit": 0.3}
    by_hand = (
        np.log(2)
        + stats.t.logpdf(0.04 / 0.05, 4)
        - np.log(0.05)
        + np.log(0.04)  # and the Jacobian of the logarithm
        + stats.norm.logpdf([0.5, -1.0, 0.3]).sum()
        + stats.norm.logpdf(estimate, [0.01 + 0.04 * 0.5, 0.01 - 0.04], error).sum()
    )
    assert float(model.compile_logp(mode="FAST_COMPILE")(point)) == pytest.approx(by_hand, rel=1e-8)


def test_the_twin_names_the_same_quantities():
    twin = RandomEffectsTwin(np.array([0.02, 0.01, 0.03]), np.array([0.01, 0.02, 0.01]), 0.05)
    drawn = twin.of_closed_form(50, np.random.default_rng(1))
    assert {"mean", "spread", "new", "P(spread <= 0.05)", "P(new <= 0)"} <= drawn.keys()
    assert "P(spread <= 0)" not in drawn
