"""The second implementation of intercept and slope, its simulator, and wrong samplers that are caught."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from bayescal import LogitCounts
from bayescal.clinical.slope.posterior import recalibration_posterior
from bayescal.verify import references
from bayescal.verify.agreement import agreement
from bayescal.verify.clinical.recalibration import RecalibrationSimulator, RecalibrationTwin, bisected
from bayescal.verify.controls import run_controls
from bayescal.verify.mistakes import controls
from bayescal.verify.sbc import sbc

pytestmark = pytest.mark.slow

ERROR_RATE = 1e-6


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

    monkeypatch.setattr(references, "_chains", chains)
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


def test_the_simulator_draws_from_the_prior():
    """The shift at the weighted mean logit has mean 0 and standard deviation 2.5, the slope 1 and 1; five errors."""
    simulator = RecalibrationSimulator(rows=40)
    truth, data = simulator.simulate(2000, np.random.default_rng(2))
    slope = truth["slope"][0]
    assert slope.mean() == pytest.approx(1, abs=5 / np.sqrt(2000))
    assert slope.std() == pytest.approx(1, abs=5 / np.sqrt(4000))
    weights = [each.n * expit(each.logit) * expit(-each.logit) for each in data]
    levers = np.array([w @ each.logit / w.sum() for w, each in zip(weights, data, strict=True)])
    shift = truth["intercept"][0] + levers * (slope - 1)
    assert shift.mean() == pytest.approx(0, abs=5 * 2.5 / np.sqrt(2000))
    assert shift.std() == pytest.approx(2.5, abs=5 * 2.5 / np.sqrt(4000))
    assert all(each.n_rows == 40 for each in data)


def test_the_sampler_passes_and_mistakes_do_not():
    """100 data sets; `make verify` runs all mistakes."""
    simulator = RecalibrationSimulator(rows=60, step=0.5)
    assert sbc(simulator, runs=100, rng=3).rejected(ERROR_RATE) == []
    plain = ("posterior = prior", "outcomes flipped", "t for the intercept")
    few = [replace(c, runs=100) for c in controls("recalibration") if c.name in plain]
    found = run_controls(error_rate=ERROR_RATE, rng=3, chosen=few)
    assert found.survivors == []
    assert found.false_alarms == []
