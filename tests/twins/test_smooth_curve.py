"""The smooth curve model in PyMC."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import binom, norm
from twins.clinical import SmoothCurveTwin
from twins.examples import simulated_curve

from bayescal.verify.named import Moments
from bayescal.verify.topic_models import components, components_of

pytestmark = pytest.mark.slow

POSTERIOR = simulated_curve(200, 6)
TWIN = SmoothCurveTwin(POSTERIOR)


def test_components_have_the_covariances_of_the_model():
    """The twin's matrices times their transpose; written apart from the model, with two parameters for the drift."""
    share = POSTERIOR.counts.share
    names, shares, matrix = components(POSTERIOR.confidence, np.cumsum(share) - share / 2)
    made = POSTERIOR.covariances
    assert (names, shares.tolist()) == (made.sub_model, made.share.tolist())
    np.testing.assert_allclose(matrix @ np.swapaxes(matrix, 1, 2), made.matrix, atol=3e-8)


def test_the_density_of_the_pymc_model():
    """At a point: Normal and Gamma priors, and Binomial likelihoods averaged over components by their definition."""
    model = TWIN.model()
    rng = np.random.default_rng(1)
    z = rng.standard_normal(8)
    counts, (names, share, matrix) = POSTERIOR.counts, components_of(POSTERIOR)
    n, k, c = counts.effective_n, counts.effective_k, POSTERIOR.confidence
    rates = np.vstack([c, expit(np.log(c / (1 - c)) + matrix @ z)])
    log_likelihood = binom.logpmf(np.round(k), n, rates).sum(axis=1)
    log_prior = np.log(np.append(0.1, 0.3 * share))
    wanted = [model.logp(vars=[model["z"]]), model.potentials[0], model["probability"]]
    compiled = model.compile_fn(model.replace_rvs_by_values(wanted), mode="FAST_COMPILE")
    prior, likelihood, probability = compiled({"z": z})
    # the twin has no binomial coefficients
    coefficients = binom.logpmf(np.round(k), n, 0.5).sum() - np.log(0.5) * n.sum()
    expected = norm.logpdf(z).sum() + logsumexp(log_likelihood + log_prior) - coefficients
    assert prior + likelihood == pytest.approx(expected)
    np.testing.assert_allclose(
        probability, np.exp(log_prior + log_likelihood - logsumexp(log_prior + log_likelihood)), atol=1e-12
    )
    assert len(names) == 75


def test_quantities_of_chains_and_of_the_posterior_have_the_same_names(monkeypatch):
    """Chains that stand still at one z: rates are those of the drawn components."""
    matrix = components_of(POSTERIOR)[2]
    z = np.full((50, 8), 0.3)
    probability = np.zeros((50, 76))
    probability[:25, 0] = probability[25:, 7] = 1
    chains = {"z": z, "probability": probability, "rate": np.ones((50, 6))}
    monkeypatch.setattr("twins.clinical.by_name", lambda tree, names: chains)
    found, own = TWIN.of_pymc(None), TWIN.of_closed_form(100, np.random.default_rng(1))
    assert found.keys() == own.keys()
    assert (found["ici"][:25] == 0).all()
    x = np.log(POSTERIOR.confidence / (1 - POSTERIOR.confidence))
    np.testing.assert_allclose(found["rate[5]"][25:], expit(x + matrix[6] @ z[0])[5])
    assert found["P(exact)"].mean() == 0.5
    assert own["P(drift)"] == Moments(POSTERIOR.probabilities["drift"])
