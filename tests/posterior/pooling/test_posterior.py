"""Partial pooling: weights of components against quadrature; structure of the draws; groups alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax
from twins.examples import few_groups
from twins.pooling import CURVE

import bayescal as bc
from bayescal.posterior.pooling import posterior
from bayescal.posterior.pooling.evidence import GroupBins
from bayescal.posterior.pooling.posterior import Alone, PooledPosterior, assigned, mixture
from bayescal.posterior.pooling.prior import COMPLETE, DEVIATING, PARTIAL, PoolingPrior

BINS = few_groups()
CENTRE = np.array([CURVE])


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
    monkeypatch.setattr(posterior, "SWEEPS", 0)
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
    # a twentieth of the draws is made first if posteriors share tables, and more are drawn anew
    rngs = np.random.default_rng(4).spawn(3)
    assert alone.draw_first(400, rngs) == []
    first = replace(alone, shared=True).draw_first(400, rngs)
    assert [len(each) for each in first] == [20, 20, 20]
    np.testing.assert_array_equal(alone.draw(1, 15, rngs[1], first)[1], first[1].accuracy[:15])
    assert len(alone.draw(1, 21, rngs[1], first)[1]) == 21


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
