"""Draws of the cumulative statistics: against closed forms where the noise is one step, and against P-values."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

import bayescal as bc
from bayescal import BinnedCounts, shrinkage_posterior
from bayescal.cumulative.draws import (
    PATHS,
    confidence_distributions,
    curve_of,
    draw_cumulative,
    invert,
    noise_paths,
    segments_posterior,
)
from bayescal.cumulative.statistics import kolmogorov_smirnov, kuiper
from bayescal.data.predictions import Predictions
from bayescal.datasets.simulate import simulate
from bayescal.draws import BinDraws
from bayescal.posterior.shrinkage.segments import Segments
from bayescal.stats.ordered import OrderedSums, merge_scores


def steps_of(n_rows, seed, **options):
    data = simulate(n_rows, population="flat", rng=seed, **options)
    return OrderedSums.from_rows(Predictions.from_outcomes(data.outcome, data.confidence))


@pytest.mark.parametrize("observed", [0.3, 1.0, 2.5])
def test_one_step_has_a_known_confidence_distribution(observed):
    """The statistic is |d + e| with e standard Normal, so H(d) = Q(x - d) + Q(x + d) for the observed x.

    The noise is a quantile grid instead of random numbers: the error left is that of 1000 paths and 33 values of d.
    """
    noise = np.zeros((PATHS, 2))
    noise[:, 1] = norm.ppf((np.arange(PATHS) + 0.5) / PATHS)
    uniform = np.array([0.05, 0.2, 0.5, 0.8, 0.975])
    # scaled by 0.2, because d is at most 1
    found = invert(kolmogorov_smirnov, 0.2 * observed, np.array([0.0, 1.0]), 0.2 * noise, 0.0)

    def excess(d, u):
        return norm.sf(observed - d) + norm.sf(observed + d) - u

    expected = [0.2 * brentq(excess, 0, 20, args=(u,)) if excess(0, u) < 0 else 0.0 for u in uniform]
    np.testing.assert_allclose(found.quantile(uniform), np.minimum(expected, 1.0), atol=0.2 * 0.02)


def test_the_shortfall_raises_the_statistic_of_every_path():
    noise = noise_paths(np.full(4, 0.01), np.random.default_rng(1))
    assert (noise[:, 0] == 0).all()
    uniform, shape = (np.arange(500) + 0.5) / 500, np.linspace(0, 1, 5)
    one, other = (invert(kuiper, 0.3 + moved, shape, noise, moved) for moved in (0.0, 0.1))
    # both compare the same paths with 0.3; only the grids of d differ
    np.testing.assert_allclose(one.quantile(uniform), other.quantile(uniform), atol=0.02)


def test_noise_paths_have_the_variances_of_their_steps():
    variance = np.array([0.04, 0.01, 0.09])
    paths = noise_paths(variance, np.random.default_rng(2))
    assert paths.shape == (PATHS, 4)
    np.testing.assert_allclose(np.diff(paths).var(axis=0), variance, rtol=5 * np.sqrt(2 / PATHS))


def inverted(steps, seed):
    """Confidence distributions of both statistics."""
    drawn = draw_cumulative(steps, 1000, np.random.default_rng(seed), model="segments")
    counts = merge_scores(steps, 64)
    return drawn, confidence_distributions(steps, counts, drawn.bins, drawn.curve, np.random.default_rng(seed))


def test_the_probability_of_0_is_the_p_value():
    """Rows have 2000 steps and the paths 64, so this fails without the correction for the step size."""
    found, expected = [], []
    for seed in range(12):
        data = simulate(2000, population="flat", rng=seed)
        cd = bc.cumulative_difference(data.outcome, data.confidence)
        found.append([each.probability[0] for each in inverted(cd.steps, seed)[1]])
        expected.append([cd.p_kuiper, cd.p_kolmogorov_smirnov])
    difference = np.array(found) - np.array(expected)
    assert np.abs(difference).max() < 0.1  # 1000 paths: a standard error of 0.016; variances of fitted accuracies
    assert np.abs(difference.mean(axis=0)).max() < 0.02


def test_statistics_of_the_segments_model_are_those_of_its_curves():
    drawn = draw_cumulative(steps_of(500, 1, curve="wave"), 300, np.random.default_rng(1), model="segments")
    assert drawn.curve.shape == (300, 65)
    np.testing.assert_array_equal(drawn.kuiper, drawn.curve.max(axis=1) - drawn.curve.min(axis=1))
    np.testing.assert_array_equal(drawn.kolmogorov_smirnov, np.abs(drawn.curve).max(axis=1))
    np.testing.assert_allclose(drawn.curve[:, 1:], np.cumsum(drawn.bins.mass * drawn.bins.gap, axis=1), atol=1e-15)


def test_half_of_the_pooled_draws_are_from_either_source():
    steps = steps_of(800, 2, curve="temperature", strength=1.5)
    pooled, segments = (
        draw_cumulative(steps, 400, np.random.default_rng(5), model=model) for model in ("pooled", "segments")
    )
    for name in ("kuiper", "kolmogorov_smirnov"):
        first, every = getattr(segments, name)[:200], getattr(pooled, name)
        assert len(every) == 400
        assert np.isin(every[every > 0], first).sum() == np.count_nonzero(first)  # draws of 0 are of either source
    again = draw_cumulative(steps, 400, np.random.default_rng(5))
    np.testing.assert_array_equal(pooled.kuiper, again.kuiper)


def test_inversion_lowers_what_noise_raises():
    """A wave returns to 0 four times: draws of the curve are too high, and the confidence distribution is not."""
    truth = 0.00398  # amplitude 0.05 / (4 pi) of the cumulative wave on a flat population
    drawn, (kuiper_of, _) = inverted(steps_of(20_000, 3, curve="wave"), 1)
    assert kuiper_of.quantile(np.array([0.025]))[0] < truth < np.quantile(drawn.kuiper, 0.025)


@pytest.mark.parametrize("model", ["pooled", "segments"])
def test_certain_and_right(model):
    """All outcomes equal their scores: nothing is known of errors that are rarer than 1 in 1000 rows."""
    score = np.repeat([0.0, 1.0], 500)
    steps = OrderedSums.from_rows(Predictions.from_outcomes(score.astype(int), score))
    drawn = draw_cumulative(steps, 1000, np.random.default_rng(1), model=model)
    assert np.isfinite(drawn.kuiper).all()
    assert np.quantile(drawn.kuiper, 0.975) < 0.01
    assert np.quantile(drawn.kuiper, 0.025) < 1e-6


def test_contrary_outcomes_at_0_and_1():
    """5 % of 500 rows at each end: D is the share of contrary outcomes among all rows of one end, about 0.025."""
    score = np.repeat([0.0, 1.0], 500)
    outcome = np.concatenate([np.arange(500) < 25, np.arange(500) >= 25]).astype(int)
    steps = OrderedSums.from_rows(Predictions.from_outcomes(outcome, score))
    for model in ("segments", "pooled"):
        drawn = draw_cumulative(steps, 2000, np.random.default_rng(1), model=model)
        low, high = np.quantile(drawn.kuiper, [0.025, 0.975])
        assert low < 0.025 < high
        assert high - low < 0.03


def test_rows_of_weight_0_do_not_count():
    """Weights of 0 and 2 leave half of the rows, with the evidence of these."""
    data = simulate(4000, population="flat", curve="temperature", strength=1.5, rng=4)
    weights = np.tile([0.0, 2.0], 2000)
    half = bc.cumulative_difference(data.outcome[1::2], data.confidence[1::2])
    weighted = bc.cumulative_difference(data.outcome, data.confidence, weights=weights)
    one, other = (draw_cumulative(cd.steps, 500, np.random.default_rng(1)) for cd in (half, weighted))
    np.testing.assert_allclose(one.kuiper, other.kuiper, atol=1e-12)


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


def test_example_of_curve_of():
    mass, accuracy, confidence = np.array([[0.25, 0.75]]), np.array([[0.5, 0.75]]), np.array([[0.25, 0.875]])
    assert curve_of(BinDraws(mass, accuracy, confidence, np.ones(2, bool), weight=mass)).tolist() == [
        [0.0, 0.0625, -0.03125]
    ]
