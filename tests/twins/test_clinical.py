"""Intercept and slope in PyMC."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit
from twins.clinical import RecalibrationTwin, bisected

from bayescal import LogitCounts
from bayescal.clinical.slope.posterior import recalibration_posterior
from bayescal.verify import chains as module
from bayescal.verify.chains import agreement

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 80)
    y = rng.random(80) < expit(0.3 + 0.7 * np.log(p / (1 - p)))
    return recalibration_posterior(LogitCounts.from_arrays(y, p, step=1.0))


def test_nuts_agrees(posterior):
    """Two parameters and a rate per cell, eight cells; 4000 draws."""
    found = agreement(RecalibrationTwin(posterior), draws=4000, rng=1)
    assert found.agrees, found.verdict
    names = [row["quantity"] for row in found.rows]
    assert {"intercept", "slope", "in_the_large", "observed_expected", "product"} <= set(names)
    assert sum(name.startswith("P(") for name in names) == 10


def test_another_prior_does_not(posterior, monkeypatch):
    """Chains of the model with half of the prior's standard deviation of the slope, made of its own closed form."""
    import arviz as az

    other = recalibration_posterior(posterior.counts, prior=(2.5, 0.5))

    def chains(model, draws, target_accept, seed, progress):
        drawn = other.sample(draws, rng=seed)
        rate = np.random.default_rng(seed).gamma(posterior.counts.n, size=(draws, len(posterior.counts.n)))
        values = {"intercept": drawn[:, 0], "slope": drawn[:, 1], "rate": rate}
        values = {name: v.reshape(4, -1, *v.shape[1:]) for name, v in values.items()}
        flags = np.zeros((4, draws // 4), bool)
        return az.from_dict({"posterior": values, "sample_stats": {"diverging": flags}})

    monkeypatch.setattr(module, "_chains", chains)
    found = agreement(RecalibrationTwin(posterior), draws=4000, rng=1)
    assert any(row["quantity"] == "slope" for row in found.apart)


def test_only_normal_priors_have_a_twin(posterior):
    flat = recalibration_posterior(posterior.counts, prior="flat")
    with pytest.raises(ValueError, match="must have a Normal prior"):
        RecalibrationTwin(flat).model()


def test_bisection_solves_its_equation():
    x, rate = np.array([-2.0, 0.0, 1.0]), np.array([[1.0, 2.0, 3.0]])
    (shift,) = bisected(x, rate, np.array([0.5]), np.array([0.4]))
    exact = optimize.brentq(lambda s: rate[0] @ (expit(x + s) - expit(0.5 + 0.4 * x)), -10, 10, xtol=1e-12)
    assert shift == pytest.approx(exact, abs=1e-8)
