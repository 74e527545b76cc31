"""Partial pooling: likelihoods, evidences, weights and masses against SciPy and quadrature; structure of the draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import expit, softmax
from scipy.stats import betabinom, binom, dirichlet_multinomial, norm

import bayescal as bc
from bayescal.posterior.pooling import evidence, sampling, weights
from bayescal.posterior.pooling.evidence import GroupBins, Rows, deviations, log_likelihood
from bayescal.posterior.pooling.posterior import Alone, PooledPosterior, assigned, mixture
from bayescal.posterior.pooling.prior import COMPLETE, DEVIATING, PARTIAL, PoolingPrior
from bayescal.posterior.pooling.sampling import draw_masses, precision_probabilities
from bayescal.verify.twins.pooling import CURVE, few_groups

BINS = few_groups()
CENTRE = np.array([CURVE])


@pytest.mark.parametrize("tau", [0.0, 0.08, 0.2])
def test_likelihoods_are_those_of_scipy(tau):
    eta = np.linspace(-2, 2, 5)[None]
    h, n, k = expit(eta), BINS.n[:1], BINS.k[:1]
    if tau == 0:
        expected = binom.logpmf(k, n, h).sum()
    else:
        expected = betabinom.logpmf(k, n, (1 / tau**2 - 1) * h, (1 / tau**2 - 1) * (1 - h)).sum()
    coefficients = (binom.logpmf(k, n, 0.5) - n * np.log(0.5)).sum()
    assert log_likelihood(n, k, eta, tau)[0] == pytest.approx(expected - coefficients)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.0, 0.2])
@pytest.mark.parametrize("sd", [(0.25, 0.0), (0.7, 0.0), (0.25, 0.25), (0.7, 0.7)])
def test_evidences_are_integrals(tau, sd):
    """Adaptive quadrature of SciPy; the rule with three nodes per dimension is accurate to 2 %."""
    rows = Rows(BINS.n, BINS.k, BINS.start + np.array(CURVE), BINS.lever)
    found = deviations(rows, (*sd, tau)).log_evidence
    for g in range(3):
        best = rows.log_likelihood(deviations(rows, (*sd, tau)).mode[:, None], tau)[g, 0]

        def density(b, a, g=g, best=best):
            eta = rows.offset[g] + a + b * rows.lever[g]
            value = np.exp(log_likelihood(rows.n[g], rows.k[g], eta, tau) - best) * norm.pdf(a, 0, sd[0])
            return value * norm.pdf(b, 0, sd[1]) if sd[1] else value

        ends = -5 * sd[0], 5 * sd[0]
        if sd[1]:
            integral = dblquad(density, *ends, -5 * sd[1], 5 * sd[1], epsabs=1e-5)[0]
        else:
            integral = quad(lambda a: density(0.0, a), *ends)[0]
        assert found[g] == pytest.approx(np.log(integral) + best, abs=0.02)


@pytest.mark.parametrize("factor", [30, 3000])
@pytest.mark.parametrize("tau", [0.0, 0.08, 0.2])
def test_evidences_of_many_rows_are_integrals(tau, factor):
    """Residuals limit how much many rows say about the intercept; a fine grid of intercepts."""
    shares = np.array([[0.22, 0.34, 0.47, 0.78, 0.9]])
    n = np.full((1, 5), 10.0 * factor)
    rows = Rows(n, n * shares, BINS.start[:1], BINS.lever[:1])
    found = deviations(rows, (0.4, 0.0, tau))
    a = np.linspace(-2, 2, 40_001)
    at = np.stack([a, np.zeros_like(a)], axis=-1)[None]
    log_density = rows.log_likelihood(at, tau)[0] + norm.logpdf(a, 0, 0.4)
    expected = np.logaddexp.reduce(log_density) + np.log(a[1] - a[0])
    assert found.log_evidence[0] == pytest.approx(expected, abs=0.02)
    sd = np.sqrt(softmax(log_density) @ (a - softmax(log_density) @ a) ** 2)
    assert found.chol[0, 0] == pytest.approx(sd, rel=0.15)


def test_without_deviation_the_evidence_is_the_likelihood():
    rows = Rows(BINS.n, BINS.k, BINS.start, BINS.lever)
    np.testing.assert_allclose(
        deviations(rows, (0, 0, 0.0)).log_evidence, log_likelihood(BINS.n, BINS.k, BINS.start, 0.0)
    )


def test_weights_of_two_components_are_those_of_quadrature():
    """The posterior mean of each group's share, from the density of one weight on a grid."""
    prior = PoolingPrior(drift_sds=((0, 0), (0.25, 0)), taus=(0.0,), centres=("common",), pseudo_groups=3.0, together=0)
    rng = np.random.default_rng(1)
    log_evidence = rng.normal(0, 2, (15, 2))
    w = (np.arange(20_000) + 0.5) / 20_000
    e = np.exp(log_evidence)
    alpha = 3 * prior.weights
    log_density = np.log(np.outer(w, e[:, 0]) + np.outer(1 - w, e[:, 1])).sum(axis=1)
    log_density += (alpha[0] - 1) * np.log(w) + (alpha[1] - 1) * np.log1p(-w)
    share = np.outer(w, e[:, 0]) / (np.outer(w, e[:, 0]) + np.outer(1 - w, e[:, 1]))
    expected = softmax(log_density) @ share
    found = np.mean([mixture(log_evidence, prior, r).shares()[:, 0] for r in rng.spawn(20)], axis=0)
    np.testing.assert_allclose(found, expected, atol=0.01)  # 8000 weights: standard errors are below 0.002


def test_weights_before_the_sweeps_are_those_of_quadrature(monkeypatch):
    """Importance sampling alone: the posterior mean of a weight, from its density on a grid."""
    monkeypatch.setattr(weights, "SWEEPS", 0)
    prior = PoolingPrior(drift_sds=((0, 0), (0.25, 0)), taus=(0.0,), centres=("common",), pseudo_groups=3.0, together=0)
    rng = np.random.default_rng(5)
    log_evidence = rng.normal(0, 1, (10, 2)) + np.array([1.0, 0.0])
    w = (np.arange(20_000) + 0.5) / 20_000
    alpha = 3 * prior.weights
    log_density = np.log(np.outer(w, np.exp(log_evidence[:, 0])) + np.outer(1 - w, np.exp(log_evidence[:, 1])))
    log_density = log_density.sum(axis=1) + (alpha[0] - 1) * np.log(w) + (alpha[1] - 1) * np.log1p(-w)
    mean = softmax(log_density) @ w
    sd = np.sqrt(softmax(log_density) @ (w - mean) ** 2)
    drawn = np.concatenate([mixture(log_evidence, prior, r).weights[:, 0] for r in rng.spawn(20)])
    assert drawn.mean() == pytest.approx(mean, abs=0.1 * sd)  # 2000 weights
    assert drawn.std() == pytest.approx(sd, rel=0.1)


def test_shares_are_frequencies_of_draws(close_to):
    """Both families: probabilities of components against 20 000 draws."""
    log_evidence = np.random.default_rng(7).normal(0, 1, (3, 72))
    found = mixture(log_evidence, DEVIATING, np.random.default_rng(1))
    drawn = found.draw(20_000, np.random.default_rng(2))
    for expected, of_group in zip(found.shares(), drawn, strict=True):
        assert expected.sum() == pytest.approx(1)
        frequency = np.bincount(of_group, minlength=72) / 20_000
        close_to(frequency, expected, np.sqrt(expected * (1 - expected) / 20_000) + 1e-4)


def test_one_component_for_all_groups_has_the_product_of_evidences():
    prior = PoolingPrior(drift_sds=((0, 0), (0.25, 0)), taus=(0.0,), centres=("common",), together=1)
    log_evidence = np.random.default_rng(2).normal(0, 0.3, (6, 2))
    found = mixture(log_evidence, prior, np.random.default_rng(1))
    np.testing.assert_allclose(found.same, softmax(np.log(prior.weights) + log_evidence.sum(axis=0)))
    drawn = found.draw(4000, np.random.default_rng(1))
    assert (drawn == drawn[0]).all()


def test_components_are_drawn_in_proportion(close_to):
    evidence, weights = np.array([[1.0, 3.0], [2.0, 0.0]]), np.array([[0.5, 0.5], [0.75, 0.25]])
    of = np.arange(20_000) % 2
    drawn = assigned(evidence, weights, of, np.random.default_rng(1))
    close_to((drawn[0, of == 0] == 0).mean(), 0.25, np.sqrt(0.25 * 0.75 / 10_000))
    close_to((drawn[0, of == 1] == 0).mean(), 0.5, np.sqrt(0.25 / 10_000))
    assert (drawn[1] == 0).all()


def test_precisions_have_dirichlet_multinomial_probabilities():
    precisions = np.array([3.0, 30.0, 3000.0])
    rows = BINS.rows.astype(int)
    each = [sum(dirichlet_multinomial(c * BINS.share, n.sum()).logpmf(n) for n in rows) for c in precisions]
    np.testing.assert_allclose(precision_probabilities(BINS, precisions), softmax(each))


def test_sums_of_groups_by_hand():
    """Weighted rows: Kish's number of rows of a group, divided by weight; half a row is added to each share."""
    p, w = np.array([0.1, 0.1, 0.6, 0.7, 0.1, 0.7]), np.array([1.0, 3.0, 2.0, 2.0, 1.0, 1.0])
    y, last = np.array([0, 1, 1, 0, 1, 1]), np.arange(6) >= 4
    counts = [bc.BinnedCounts.from_arrays(y[at], p[at], weights=w[at], bins=2) for at in (~last, last)]
    bins = GroupBins.of(counts, counts[0] + counts[1])
    np.testing.assert_allclose(bins.n, [[16 / 10, 2], [1, 1]])
    np.testing.assert_allclose(bins.k, [[0.75 * 1.6, 1], [1, 1]])
    np.testing.assert_allclose(bins.rows, [[64 / 18 / 2, 64 / 18 / 2], [1, 1]])
    np.testing.assert_allclose(bins.confidence, [[0.1, 0.65], [0.1, 0.7]])
    assert bins.share_rows == pytest.approx(100 / 20 + 1)
    np.testing.assert_allclose(bins.share, [0.5, 0.5])
    np.testing.assert_allclose(bins.of_all, [0.1, (2 * 0.6 + 3 * 0.7) / 5])
    x, information = np.log([1 / 9, 65 / 35]), np.array([1.6 * 0.1 * 0.9, 2 * 0.65 * 0.35])
    np.testing.assert_allclose(bins.lever[0], x - (information @ x) / information.sum(), rtol=1e-6)


def test_masses_vary_with_the_shares_of_all_rows(close_to):
    """Moments of a Dirichlet whose centre is Dirichlet: E = (C s + r) / (C + R), and the law of total variance."""
    rows, share, precision, of_all = np.array([[3.0, 1.0, 6.0], [0.0, 0.0, 0.0]]), np.array([0.2, 0.3, 0.5]), 20.0, 50.0
    bins = GroupBins(rows, 0 * rows, rows, np.full((2, 3), 0.5), share, share_rows=of_all)
    drawn = draw_masses(bins, np.array([precision]), 40_000, np.random.default_rng(1))
    total = precision + rows.sum(axis=1, keepdims=True)
    expected = (precision * share + rows) / total
    of_centre = (precision / total) ** 2 * share * (1 - share) / (of_all + 1)
    variance = (expected * (1 - expected) - of_centre) / (total + 1) + of_centre
    close_to(drawn.mean(axis=1), expected, np.sqrt(variance / 40_000))
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.05)
    # groups of one draw have the same shares
    np.testing.assert_allclose(
        np.cov(drawn[0, :, 0], drawn[1, :, 0])[0, 1], precision / total[0, 0] * share[0] * (1 - share[0]) / 51, rtol=0.1
    )


def test_errors_carry_over_to_other_confidences_within_a_bin():
    """As the same shift of the logit or as the same gap, whichever stays nearer to the accuracy of all rows."""
    of_all, theta = np.array([0.98, 0.98, 0.5, 0.98]), np.array([0.8, 0.8, 0.6, 0.99])
    confidence = np.array([[1.0, 0.97, 0.52, 0.99]])
    n = np.ones((1, 4))
    bins = GroupBins(n, n, n, confidence, np.full(4, 0.25), of_all=of_all)
    curve = np.log(theta / (1 - theta)) - np.log(of_all / (1 - of_all))
    same = 0.99 / 0.01 * (theta[3] / 0.01) / (0.98 / 0.02)  # odds of the group times the ratio of odds of all rows
    found = expit(bins.start + bins.shifts(np.array([curve, np.zeros(4)])))
    np.testing.assert_allclose(found[0, 0], [0.82, 0.79, 0.62, same / (1 + same)], atol=1e-3)
    np.testing.assert_allclose(found[0, 0, :2], [0.82, 0.79], rtol=1e-12)
    np.testing.assert_allclose(found[1, 0], confidence[0])


def test_draws_do_not_depend_on_chunks(monkeypatch):
    factor = np.geomspace(1, 1e5, len(BINS))[:, None]  # likelihoods of few rows and of many are computed differently
    many = GroupBins(BINS.n * factor, BINS.k * factor, BINS.rows, BINS.confidence, BINS.share)
    whole = PooledPosterior(many, CENTRE).sample(300, rng=1)
    monkeypatch.setattr(evidence, "CHUNK", 700)
    parts = PooledPosterior(many, CENTRE).sample(300, rng=1)
    for name in ("mass", "accuracy", "deviation"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_a_draw_has_one_common_curve_for_all_groups():
    """Under complete pooling all groups have the logits of one centre in each draw, and every centre as many draws."""
    centres = np.random.default_rng(1).normal(0, 0.5, (4, 5))
    drawn = PooledPosterior(BINS, centres, COMPLETE).sample(400, rng=1)
    shift = np.log(drawn.accuracy / (1 - drawn.accuracy)) - BINS.start[:, None]
    np.testing.assert_allclose(shift, np.broadcast_to(centres[drawn.chosen.centre], shift.shape), atol=1e-9)
    np.testing.assert_array_equal(np.bincount(drawn.chosen.centre), [100] * 4)
    assert not drawn.deviation.any()


def test_components_belong_to_the_centre_of_their_draw():
    """Calibrated groups of many rows: around a curve that is far off, only the diagonal is possible."""
    n = np.full((3, 5), 1000.0)
    confidence = np.tile(BINS.confidence[:1], (3, 1))
    bins = GroupBins(n, n * confidence, n, confidence, BINS.share)
    drawn = PooledPosterior(bins, np.stack([np.zeros(5), np.full(5, 5.0)])).sample(400, rng=1)
    common = np.array([c.centre == "common" for c in DEVIATING.components])[drawn.chosen.component]
    assert not common[:, drawn.chosen.centre == 1].any()
    assert 0.2 < common[:, drawn.chosen.centre == 0].mean() < 0.8


def test_centres_are_draws_of_the_curve_of_all_rows():
    """Ten different ones, at the 5, 15, ..., 95 % quantiles of their ECE."""
    rng = np.random.default_rng(8)
    p = rng.random(500)
    overall = bc.evaluate((rng.random(500) < p**1.5).astype(int), p, bins=5, draws=1000, rng=1)
    drawn = overall.bin_draws
    posterior = PooledPosterior.of([overall.counts], overall.counts, drawn)
    accuracy = expit(np.log(drawn.confidence / (1 - drawn.confidence)) + posterior.centres)
    ordered = np.sort(overall.ece.values)[50::100]
    chosen = np.argsort(overall.ece.values, kind="stable")[50::100]
    np.testing.assert_allclose(accuracy, drawn.accuracy[chosen], atol=1e-9)
    np.testing.assert_allclose((drawn.mass[chosen] * np.abs(accuracy - drawn.confidence)).sum(axis=1), ordered)


def test_groups_that_do_not_deviate_from_the_diagonal_are_exactly_calibrated():
    prior = PoolingPrior(drift_sds=((0.0, 0.0),), taus=(0.0,), centres=("diagonal",))
    drawn = PooledPosterior(BINS, CENTRE, prior).sample(50, rng=1)
    np.testing.assert_array_equal(drawn.accuracy, np.broadcast_to(BINS.confidence[:, None], drawn.accuracy.shape))


def test_a_group_without_rows_has_the_prior_given_the_weights(close_to):
    """One scale: intercepts of a group without rows are Normal with its standard deviation."""
    n = np.vstack([BINS.n, np.zeros(5)])
    bins = GroupBins(n, np.vstack([BINS.k, np.zeros(5)]), n, np.tile(BINS.confidence[:1], (4, 1)), BINS.share)
    prior = PoolingPrior(drift_sds=((0.4, 0.0),), taus=(0.0,), centres=("common",))
    a = PooledPosterior(bins, CENTRE, prior).sample(20_000, rng=1).deviation[3, :, 0]
    close_to(a.mean(), 0.0, 0.4 / np.sqrt(20_000))
    close_to(a.std(), 0.4, 0.4 / np.sqrt(40_000))


@pytest.mark.parametrize("tau", [0.0, 0.2])
def test_deviations_have_their_posterior_after_many_steps(tau, monkeypatch, close_to):
    """A skewed posterior: nearly all outcomes are 1, and the prior is wide; 60 steps instead of 2, and a fine grid."""
    monkeypatch.setattr(sampling, "STEPS", 60)
    n = np.full((1, 3), 20.0)
    confidence = np.array([[0.3, 0.5, 0.7]])
    bins = GroupBins(n, n * np.array([0.7, 0.9, 1.0]), n, confidence, np.full(3, 1 / 3))
    prior = PoolingPrior(drift_sds=((1.0, 0.0),), taus=(tau,), centres=("diagonal",), together=1.0)
    drawn = PooledPosterior(bins, np.zeros((1, 3)), prior).sample(20_000, rng=1).deviation[0, :, 0]
    a = np.linspace(-5, 9, 40_001)
    at = np.stack([a, np.zeros_like(a)], axis=-1)[None]
    rows = Rows(bins.n, bins.k, bins.start, bins.lever)
    share = softmax(rows.log_likelihood(at, tau)[0] + norm.logpdf(a, 0, 1.0))
    mean = share @ a
    sd = np.sqrt(share @ (a - mean) ** 2)
    close_to(drawn.mean(), mean, sd / np.sqrt(20_000))
    close_to(drawn.std(), sd, np.sqrt((share @ (a - mean) ** 4 - sd**4) / (4 * sd**2 * 20_000)))


def test_a_large_group_keeps_its_own_rate(close_to):
    """With 10^6 rows per bin, accuracies are observed shares under a component with residuals."""
    n = np.full((2, 5), 1e6)
    share = np.array([[0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.3, 0.5, 0.7, 0.9]])
    bins = GroupBins(n, n * share, n, np.tile([0.1, 0.3, 0.5, 0.7, 0.9], (2, 1)), np.full(5, 0.2))
    drawn = PooledPosterior(bins, CENTRE).sample(200, rng=1)
    np.testing.assert_allclose(drawn.accuracy, np.broadcast_to(share[:, None], drawn.accuracy.shape), atol=0.003)


def test_fractional_rows_are_accepted():
    """Effective rows of weighted data need not be integers."""
    bins = replace(BINS, n=BINS.n * 0.7, k=BINS.k * 0.7, rows=BINS.rows * 0.7)
    assert np.isfinite(PooledPosterior(bins, CENTRE).sample(100, rng=1).accuracy).all()


def test_shares_of_groups_alone_are_frequencies_of_draws(close_to):
    """All three families, with 20 000 draws."""
    log_evidence = np.random.default_rng(7).normal(0, 1, (3, 73))
    found = mixture(log_evidence, PARTIAL, np.random.default_rng(1))
    drawn = found.draw(20_000, np.random.default_rng(2))
    assert (drawn == 72).all(axis=0).mean() >= found.apart - 1e-9 > 0.1
    for expected, of_group in zip(found.shares(), drawn, strict=True):
        assert expected.sum() == pytest.approx(1)
        frequency = np.bincount(of_group, minlength=73) / 20_000
        close_to(frequency, expected, np.sqrt(expected * (1 - expected) / 20_000) + 1e-4)


def test_the_share_of_all_groups_alone_falls_with_their_evidence():
    """Half of the draws; with one component, a ratio exp(10) of evidences leaves exp(-(10 - 3) / 2) of it."""
    prior = PoolingPrior(
        drift_sds=((0, 0),), taus=(0.0,), centres=("common",), together=1.0, alone=1e-9, apart=0.5, pseudo_groups=1e-6
    )
    rng = np.random.default_rng(1)
    for total, expected in ((-5.0, 0.5), (2.9, 0.5), (10.0, 0.5 * np.exp(-3.5)), (200.0, 0.0)):
        log_evidence = np.tile([total / 4, 0.0], (4, 1))
        assert mixture(log_evidence, prior, rng).apart == pytest.approx(expected, abs=1e-6)


def own_posteriors(p, y, site):
    from bayescal.posterior.shrinkage.model import shrinkage_posterior

    counts = [bc.BinnedCounts.from_arrays(y[site == g], p[site == g], bins=5) for g in range(3)]
    return counts, [shrinkage_posterior(c) for c in counts]


def test_groups_alone_have_the_evidence_and_the_draws_of_their_own_posterior():
    """The evidence is the average over sub-models by prior weight; draws have the same masses and accuracies."""
    rng = np.random.default_rng(5)
    p, site = rng.random(600), np.arange(600) % 3
    y = (rng.random(600) < p ** np.array([0.5, 1.0, 2.0])[site]).astype(int)
    counts, posteriors = own_posteriors(p, y, site)
    alone = Alone(posteriors, np.ones(5, bool), np.stack([c.mean_confidence for c in counts]))
    for found, each in zip(alone.log_evidence, posteriors, strict=True):
        weights = {"exact": 0.25, "label_noise": 0.5, "label_noise_any_rate": 0.5}
        pooled = {"logistic": 1, "dense": 1, "sparse": 1, "logistic_dense": 1, "logistic_sparse": 1}
        e = {name: np.exp(value - found) for name, value in each.log_evidence.items()}
        independent = sum(e[name] for name in pooled) / 5
        shared = (e["runs"] + 0.5 * e["offset"]) / 1.5
        noise = sum(weights[name] * e[name] for name in weights if name != "exact")
        pool = 10 / 3 * (independent + shared + e["small_errors"])
        assert pool + noise + 0.25 * e["exact"] == pytest.approx(11.25, rel=0.03)
    mass, accuracy = alone.draw(1, 50, np.random.default_rng(3))
    expected = posteriors[1].sample(50, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(mass, expected.mass)
    np.testing.assert_array_equal(accuracy, expected.accuracy)


def test_bins_without_rows_of_a_group_alone_have_no_gap():
    counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.1, 0.3, 0.5], bins=5)
    from bayescal.posterior.shrinkage.model import shrinkage_posterior

    confidence = np.array([[0.1, 0.3, 0.5, 0.72, 0.9], [0.1, 0.3, 0.5, 0.72, 0.9]])
    posteriors = [shrinkage_posterior(counts), shrinkage_posterior(bc.BinnedCounts.empty(5))]
    alone = Alone(posteriors, np.ones(5, bool), confidence)
    mass, accuracy = alone.draw(0, 20, np.random.default_rng(1))
    assert not mass[:, 3:].any()
    assert (accuracy[:, 3:] == confidence[0, 3:]).all()
    assert alone.log_evidence[1] == pytest.approx(0, abs=0.03)
    nothing, predicted = alone.draw(1, 20, np.random.default_rng(1))
    assert nothing is None
    assert np.ptp(predicted, axis=0).min() > 0


def test_groups_alone_are_given_if_and_only_if_the_prior_has_them():
    for prior, alone in ((PARTIAL, None), (DEVIATING, Alone([], np.ones(5, bool), BINS.confidence))):
        with pytest.raises(ValueError, match="`alone` must be given"):
            PooledPosterior(BINS, CENTRE, prior, alone)
