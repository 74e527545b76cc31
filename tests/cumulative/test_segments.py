"""The segments model: how its sub-models are averaged, its prior, and bins at 0 and 1 against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.cumulative.draws import segments_posterior
from bayescal.posterior.shrinkage.segments import Segments


def test_sub_models_are_averaged_by_their_evidence():
    rng = np.random.default_rng(3)
    confidence = rng.random(400)
    counts = BinnedCounts.from_arrays(rng.random(400) < confidence**1.4, confidence, bins=20)
    posterior = segments_posterior(counts)
    evidence = posterior.log_evidence
    log_odds = evidence["logistic"] - evidence["runs"]
    assert posterior.probabilities["logistic"] == pytest.approx(expit(log_odds), rel=1e-9)
    pooled = shrinkage_posterior(counts, sub_models=["logistic", "runs"])
    assert pooled.probabilities["logistic"] == pytest.approx(0.5)
    for name in ("logistic", "runs"):  # a sub-model alone is the same as within the average
        alone = shrinkage_posterior(counts, sub_models=[name]).log_evidence[name]
        assert evidence[name] == pytest.approx(alone, rel=1e-12)
    # the Bayes factor is against the average of the two with equal weights
    average = np.logaddexp(evidence["logistic"], evidence["runs"]) - np.log(2)
    assert posterior.log_bayes_factor == pytest.approx(evidence["exact"] - average, rel=1e-9)


def test_prior_probability_of_exact_calibration():
    """Half of the mean over nu of (1/2) (1 - nu / (2 (M - 1)))^(M - 1): each further segment is exact by a coin."""
    posterior = segments_posterior(BinnedCounts.empty(64))
    exact = np.mean([0.5 * (1 - nu / 126) ** 63 for nu in (1, 4, 16)]) / 2
    drawn = posterior.sample(40_000, rng=1)
    share = float((np.abs(drawn.gap).max(axis=1) == 0).mean())
    assert share == pytest.approx(exact, abs=4 * np.sqrt(exact / 40_000))


def test_pool_must_be_a_boolean():
    with pytest.raises(ValueError, match="`pool` must be"):
        shrinkage_posterior(BinnedCounts.empty(3), pool="no")


def shift_density(shift):
    """Normal(0, tau^2) with density 0.5 tau^(-1/2) / sqrt(2.5) of tau: an integral over u = sqrt(tau / 2.5)."""
    return quad(lambda u: norm.pdf(shift, scale=2.5 * u * u), 0, 1, points=[0.05, 0.2], limit=200)[0]


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.0, 1.0, 1e-6, 0.5])
def test_one_bin_against_quadrature(confidence):
    """Shifts start from logits of at most 9.21 in size, so that contrary outcomes at 0 and 1 have a density."""
    n, k = 200.0, 10.0
    inside = np.clip(confidence, 1e-9, 1 - 1e-9)
    base = np.log(inside) - np.log1p(-inside)
    start = np.clip(base, -9.21, 9.21)
    successes = n - k if confidence > 0.5 else k

    def ratio(shift):
        h = expit(start + shift)
        log = successes * np.log(h / inside) + (n - successes) * np.log1p(-h) - (n - successes) * np.log1p(-inside)
        return np.exp(log - top)

    peak = np.log(successes / (n - successes)) - start
    top = 0.0
    top = float(np.log(ratio(peak))) if ratio(peak) > 0 else 0.0
    grid = np.linspace(peak - 4, peak + 4, 321)
    weight = np.array([ratio(s) * shift_density(s) if abs(s) > 1e-9 else 0.0 for s in grid])
    slab = np.log(np.trapezoid(weight, grid)) + top
    segments = Segments(np.array([n]), np.array([successes]), np.array([base]), np.array([confidence]))
    assert segments.log_evidence == pytest.approx(np.logaddexp(np.log(0.5), np.log(0.5) + slab), abs=0.003)
    accuracy = segments.draw(20_000, np.random.default_rng(1)).accuracy[:, 0]
    p_off = np.exp(slab) / (1 + np.exp(slab)) if slab < 300 else 1.0
    mean_if_off = np.trapezoid(weight * expit(start + grid), grid) / np.trapezoid(weight, grid)
    mean = p_off * mean_if_off + (1 - p_off) * confidence
    assert accuracy.mean() == pytest.approx(mean, abs=5 * accuracy.std() / np.sqrt(20_000) + 1e-5)
