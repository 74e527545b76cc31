"""The family of independent bins: evidences and parameters against integration, draws against moments, extremes.

The reference below knows nothing of the module's numerics: textbook formulas, scipy.integrate over tau, and a plain
grid of nine prior standard deviations over intercept and slope.
"""

import subprocess
import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betaln, expit, gammaln, logit

from bayescal import BinnedCounts, ece, evaluate_counts
from bayescal.posterior.beta_binomial import absolute_gap
from bayescal.posterior.shrinkage import model as shrinkage
from bayescal.posterior.shrinkage import sub_model
from bayescal.posterior.shrinkage.independent import cells, integrated, moments
from bayescal.posterior.shrinkage.independent.drift import DriftingBins
from bayescal.posterior.shrinkage.independent.integrated import COARSE, FINE, _sparsest
from bayescal.posterior.shrinkage.posterior import SamplerWarning, ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import INDEPENDENT, SUB_MODELS, ShrinkagePrior, posterior_probabilities
from bayescal.posterior.shrinkage.sub_model import ece_moments

NAMES = (
    "logistic",
    "dense",
    "sparse",
    "logistic_dense",
    "logistic_sparse",
)
shrinkage_posterior = partial(shrinkage.shrinkage_posterior, sub_models=[INDEPENDENT])
DRIFTING = {name: name.startswith("logistic") for name in NAMES}
RHO = (0.05, 0.15, 0.3, 0.5)
MIDDLE = (np.arange(15) + 0.5) / 15


def counts_of(n, k, confidence):
    """Counts with a bin for each given row of (n, k, mean confidence), edges half-way between the confidences."""
    order = np.argsort(confidence)
    n, k, confidence = (np.asarray(v, dtype=float)[order] for v in (n, k, confidence))
    empty = BinnedCounts.empty(np.r_[0.0, (confidence[1:] + confidence[:-1]) / 2, 1.0])
    cells = np.stack([n - k, k])
    deviation = confidence - empty.bins.midpoints
    return replace(
        empty,
        cells=np.ceil(cells).astype(np.int64),
        weight=cells,
        deviation=deviation * cells,
        deviation_sq=deviation**2 * n,
        weight_sq=n,
    )


def simulated(n_rows, bins=15, temperature=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n_rows)
    return BinnedCounts.from_arrays(rng.random(n_rows) < expit(logit(p) / temperature), p, bins=bins)


def only(counts, name, **options):
    """The posterior under one sub-model."""
    return shrinkage_posterior(counts, sub_model_weights=[float(n == name) for n in NAMES], **options)


# --- evidences and parameters against independent integration

SMALL = {
    "one bin": ([7], [5], [0.6]),
    "two bins": ([6, 9], [1, 8], [0.3, 0.8]),
    "three bins": ([4, 12, 30], [2, 3, 29], [0.15, 0.5, 0.85]),
    "fractions of rows": ([0.3, 2.5, 4.75], [0.1, 1.3, 4.5], [0.2, 0.6, 0.9]),
    "a bin off": ([40, 40, 40, 40], [4, 30, 24, 36], [0.1, 0.3, 0.6, 0.9]),
}


class Reference:
    """Log evidence of the outcomes, and means of intercept, slope, tau and rho, under one sub-model."""

    def __init__(self, case, name):
        self.n, self.k, confidence = (np.array(v, dtype=float)[:, None, None] for v in case)
        self.a = self.s = np.zeros((1, 1))
        self.weight = np.ones((1, 1))
        if DRIFTING[name]:
            grid = np.linspace(-4.5, 4.5, 181)  # 0.1 standard deviations a step: exact for anything smooth
            self.a, self.s = np.meshgrid(grid, grid, indexing="ij")
            self.weight = np.exp(-0.5 * ((self.a / 0.5) ** 2 + (self.s / 0.5) ** 2))
            self.weight /= self.weight.sum()
        self.h = np.clip(expit(self.a + np.exp(self.s) * logit(confidence)), 1e-13, 1 - 1e-13)
        self.binomial = self.h**self.k * (1 - self.h) ** (self.n - self.k)
        total = {"dense": self.dense, "sparse": self.sparse}.get(name.removeprefix("logistic_"), self.none)()
        self.log_evidence = np.log(total[0])
        self.intercept, self.slope, self.tau, self.rho = total[1:] / total[0]

    def moments(self, likelihood, tau=np.nan, rho=np.nan):
        mass = self.weight * likelihood
        return np.array(
            [mass.sum(), (mass * self.a).sum(), (mass * np.exp(self.s)).sum(), tau * mass.sum(), rho * mass.sum()]
        )

    def beta_binomial(self, tau):
        kappa = 1 / tau**2 - 1
        mixed = betaln(kappa * self.h + self.k, kappa * (1 - self.h) + self.n - self.k)
        return np.exp(mixed - betaln(kappa * self.h, kappa * (1 - self.h)))

    def none(self):
        return self.moments(self.binomial.prod(axis=0))

    def dense(self):
        """Below tau = 0.002 the textbook formula cancels; the likelihoods of these cases are flat there."""

        def at(tau):
            return np.exp(-0.5 * (tau / 0.2) ** 2) * self.moments(self.beta_binomial(tau).prod(axis=0), tau)

        total, _ = integrate.quad_vec(at, 2e-3, 1 - 1e-9, epsrel=1e-10, epsabs=0, limit=400)
        normaliser, _ = integrate.quad(lambda tau: np.exp(-0.5 * (tau / 0.2) ** 2), 0, 1, epsabs=0, epsrel=1e-13)
        below = 2e-3 * at(2e-3)
        below[3] /= 2
        return (total + below) / normaliser

    def sparse(self):
        """Of every bin its own tau, with density 0.5 tau^-0.5: v = tau^0.5 is uniform, and a likelihood even in tau."""
        v, weight = np.polynomial.legendre.leggauss(60)
        slab = sum(w / 2 * self.beta_binomial(max((x + 1) / 2, 0.015) ** 2) for x, w in zip(v, weight, strict=True))
        return sum(self.moments(((1 - r) * self.binomial + r * slab).prod(axis=0), rho=r) / 4 for r in RHO)


@pytest.fixture(scope="module")
def references():
    """Each is computed once."""
    cache = {}

    def get(case, name):
        if (case, name) not in cache:
            cache[case, name] = Reference(SMALL[case], name)
        return cache[case, name]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("name", NAMES)
def test_evidence_and_parameters(references, case, name):
    expected = references(case, name)
    posterior = shrinkage_posterior(counts_of(*SMALL[case]))
    assert posterior.log_evidence[name] == pytest.approx(expected.log_evidence, abs=1e-6)
    means = posterior.parameter_means()[name]
    for parameter in ("intercept", "slope", "tau", "rho"):
        assert means[parameter] == pytest.approx(getattr(expected, parameter), abs=2e-5, nan_ok=True), parameter


def test_evidence_under_a_wide_prior_of_the_slope():
    """300 of 300 at 0.9: any steeper slope explains it, out to slopes of exp(8) under a prior sd of 2.

    Given s the logit of the centre is Normal(x exp(s), 0.5^2). A bin that is off has the likelihood
    prod_i (kappa h + i) / (kappa + i), with v = tau^0.5 uniform.
    """
    n, x, rho = 300, logit(0.9), 0.2
    s = np.linspace(-12, 12, 1201)
    z, weight = np.polynomial.hermite_e.hermegauss(40)
    h = expit(x * np.exp(s)[:, None] + 0.5 * z)
    likelihood = (1 - rho) * h**n
    for node, share in zip(*np.polynomial.legendre.leggauss(60), strict=True):
        kappa = ((node + 1) / 2) ** -4 - 1
        rising = n * np.log(h)  # where the Beta is so narrow that it is binomial
        if kappa < 1e8:
            rising = gammaln(kappa * h + n) - gammaln(kappa * h) - gammaln(kappa + n) + gammaln(kappa)
        likelihood += rho * share / 2 * np.exp(rising)
    by_s = likelihood @ weight / weight.sum() * np.exp(-0.5 * (s / 2) ** 2)
    expected = np.log(by_s.sum() * (s[1] - s[0]) / (2 * np.sqrt(2 * np.pi)))
    posterior = shrinkage_posterior(counts_of([n], [n], [0.9]), log_slope_sd=2, rho=rho)
    # a thousandth of the mass may be missed before a warning says so
    assert posterior.log_evidence[NAMES[4]] == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_drawn_parameters(references, name, close_to, mcse):
    """Means of intercept, slope, tau, rho: 14 comparisons with false alarms in 1.7 million each.

    A tenth of the draws repeat a drift, hence half a standard error more.
    """
    expected = references("a bin off", name)
    draws = only(counts_of(*SMALL["a bin off"]), name).sample_all(400_000, rng=1)
    for parameter in ("intercept", "slope", "tau", "rho"):
        values = getattr(draws, parameter)
        if np.isnan(getattr(expected, parameter)):
            assert np.isnan(values).all()
        else:
            close_to(values.mean(), getattr(expected, parameter), 1.5 * mcse.mean(values), parameter)
    assert np.all(draws.sub_model == NAMES.index(name))


def test_smooth_drift_by_another_integrator():
    n, k, c = (np.array(v) for v in SMALL["two bins"])

    def density(s, a):
        h = expit(a + np.exp(s) * logit(c))
        return float(np.prod(h**k * (1 - h) ** (n - k)) * np.exp(-2 * (a * a + s * s)) * 2 / np.pi)

    value, _ = integrate.dblquad(density, -4, 4, -4, 4, epsabs=0, epsrel=1e-9)
    posterior = shrinkage_posterior(counts_of(n, k, c))
    assert posterior.log_evidence["logistic"] == pytest.approx(np.log(value), abs=1e-7)


def test_posterior_of_tau_by_another_integrator():
    """One bin without drift, k of n = 5 of 7 at 0.6: the mean of tau with mpmath's Beta function."""
    mp = pytest.importorskip("mpmath")

    def density(tau):
        kappa = 1 / tau**2 - 1
        return (
            mp.exp(-0.5 * (tau / 0.2) ** 2)
            * mp.beta(kappa * 0.6 + 5, kappa * 0.4 + 2)
            / mp.beta(kappa * 0.6, kappa * 0.4)
        )

    with mp.workdps(30):
        total, first = (mp.quad(lambda t, p=p: t**p * density(t), [mp.mpf("1e-6"), 0.1, 0.5, 1]) for p in (0, 1))
    means = shrinkage_posterior(counts_of(*SMALL["one bin"])).parameter_means()
    assert means["dense"]["tau"] == pytest.approx(float(first / total), rel=1e-5)


def test_evidence_far_from_where_the_search_begins():
    """No positive among 277 million rows at 0.025: intercepts of -20 if nothing else, but tau explains it too."""
    n, c = 276_845_122.0, 0.0252
    grid = np.linspace(-4.5, 4.5, 181)
    a, s = np.meshgrid(grid, grid)
    weight = np.exp(-2 * (a**2 + s**2))
    h = expit(a + np.exp(s) * logit(c))
    keep = (h > 1e-250) & (weight > 1e-20)
    weight, h = weight[keep] / weight.sum(), h[keep]

    def density(tau):
        kappa = 1 / tau**2 - 1
        none = betaln(kappa * h, kappa * (1 - h) + n) - betaln(kappa * h, kappa * (1 - h))
        return np.exp(-0.5 * (tau / 0.2) ** 2) * float(weight @ np.exp(none))

    # nothing below tau = 0.001: there it is the binomial, e^-6 times as probable
    total = sum(integrate.quad(density, *ends, epsrel=1e-6)[0] for ends in ((1e-3, 0.05), (0.05, 0.3), (0.3, 1)))
    total /= integrate.quad(lambda tau: np.exp(-0.5 * (tau / 0.2) ** 2), 0, 1)[0]
    posterior = shrinkage_posterior(counts_of([n], [0], [c]))
    assert posterior.log_evidence["logistic_dense"] == pytest.approx(np.log(total), abs=1e-4)


def test_sub_models_are_what_they_are_called():
    """Check drift and residual of each integrated sub-model against the table that names them."""
    expected = dict(
        zip(
            NAMES, [(True, "none"), (False, "dense"), (False, "sparse"), (True, "dense"), (True, "sparse")], strict=True
        )
    )
    models = shrinkage_posterior(BinnedCounts.empty(2))._independent.coarse[1]
    assert {name: (model.drift, model.residual) for name, model in models.items()} == expected
    assert expected == SUB_MODELS


@pytest.mark.parametrize("n_bins", [1, 3])
def test_moments_of_the_ece_by_another_integrator(n_bins):
    """No rows, many bins off: given tau the gaps are independent, and masses are Dirichlet(2 / M, ..., 2 / M).

    E[m_b m_c] = a_b (a_c + [b = c]) / (T (T + 1)) with T = 2; E gap^2 = c (1 - c) tau^2.
    """
    c, a = (np.arange(n_bins) + 0.5) / n_bins, 2 / n_bins
    products = a * (a + np.eye(n_bins)) / (2 * 3)

    def at(tau):
        kappa = 1 / tau**2 - 1
        first = absolute_gap(c, kappa * c, kappa * (1 - c))
        both = np.outer(first, first)
        np.fill_diagonal(both, c * (1 - c) * tau**2)
        return np.exp(-0.5 * (tau / 0.2) ** 2) * np.array([1.0, first.mean(), (products * both).sum()])

    (total, mean, square), _ = integrate.quad_vec(at, 1e-6, 1 - 1e-9, epsrel=1e-9)
    posterior = only(BinnedCounts.empty(n_bins), "dense")
    assert posterior.ece_mean() == pytest.approx(mean / total, rel=2e-4)
    assert posterior.ece_sd() == pytest.approx(np.sqrt(square / total - (mean / total) ** 2), rel=2e-4)


def test_how_far_a_centre_can_be():
    """The bound is the maximum of |logit c| + (exp(6 sd_s) - 1) |x| + 6 sd_a, here that of the first bin, by hand."""
    bins = DriftingBins(np.array([5.0, 5.0]), np.array([1.0, 2.0]), np.array([0.1, 0.6]), 0.3, 0.2)
    x = np.log(9)
    assert bins.farthest_logit == pytest.approx(x + (np.exp(1.2) - 1) * x + 1.8, rel=1e-12)


def test_exact_calibration_and_the_bayes_factor():
    """By hand: prod c^k (1 - c)^(n - k), against the average of the five; odds by Bayes' rule."""
    n, k, c = (np.array(v) for v in SMALL["three bins"])
    posterior = shrinkage_posterior(counts_of(n, k, c))
    evidence = posterior.log_evidence
    assert evidence["exact"] == pytest.approx(float((k * np.log(c) + (n - k) * np.log(1 - c)).sum()), abs=1e-9)
    average = np.log(np.mean([np.exp(evidence[name]) for name in NAMES]))
    assert posterior.log_bayes_factor == pytest.approx(evidence["exact"] - average, abs=1e-9)
    assert posterior.bayes_factor == pytest.approx(np.exp(posterior.log_bayes_factor))
    assert posterior.p_calibrated == pytest.approx(posterior.bayes_factor / (1 + posterior.bayes_factor))
    expected = {name: np.exp(evidence[name] - average) / 5 for name in NAMES}
    assert posterior.probabilities == pytest.approx(expected, rel=1e-9)
    odds = shrinkage_posterior(counts_of(n, k, c), prior_odds=3)
    assert odds.p_calibrated / (1 - odds.p_calibrated) == pytest.approx(3 * posterior.bayes_factor)
    unequal = shrinkage_posterior(counts_of(n, k, c), sub_model_weights=(1, 0, 0, 0, 3))
    mass = np.exp([evidence[NAMES[0]], evidence[NAMES[4]]]) * [1, 3]
    assert list(unequal.probabilities.values()) == pytest.approx([mass[0] / mass.sum(), 0, 0, 0, mass[1] / mass.sum()])


# --- numerics


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 20, 300, 2000, 20_000, 1_000_000])
@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_halving_every_step_moves_nothing(n_rows, temperature):
    """By more than a tenth of the Monte Carlo error of 4000 draws."""
    posterior = shrinkage_posterior(simulated(n_rows, temperature=temperature, seed=n_rows))
    of_ece, probabilities, off = [], [], []
    for resolution in (COARSE, FINE):
        bins, models = posterior._independent._integrate(resolution)
        evidence = {name: model.log_evidence for name, model in models.items()}
        p = posterior_probabilities(posterior.prior_options.families, evidence)
        mass = posterior.mass_parameters[posterior.counts.occupied]
        sums = [moments.gap_sums(bins, model, mass) for model in models.values()]
        of_ece.append(ece_moments(list(p.values()), sums, mass.sum()))
        probabilities.append(np.array(list(p.values())))
        off.append(sum(p[name] * moments.off_probability(bins, model) for name, model in models.items()))
    for one, two in (probabilities, off):
        assert np.all(np.abs(one - two) < 0.1 * np.sqrt(two * (1 - two) / 4000) + 1e-7)
    (mean, sd), (fine_mean, fine_sd) = of_ece
    assert abs(mean - fine_mean) < 0.1 * fine_sd / np.sqrt(4000)
    assert abs(sd - fine_sd) < 0.1 * fine_sd / np.sqrt(2 * 4000)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [20, 2000, 1_000_000])
@pytest.mark.parametrize("name", NAMES)
def test_draws_against_moments(n_rows, name, close_to, mcse):
    """Mean and sd of the ECE under each sub-model: 30 comparisons, with false alarms in 1.7 million each."""
    posterior = only(simulated(n_rows, temperature=1.2, seed=5), name)
    drawn = ece(posterior.sample(40_000, rng=2)).values
    close_to(drawn.mean(), posterior.ece_mean(), 1.1 * mcse.mean(drawn), "mean")
    close_to(drawn.std(ddof=1), posterior.ece_sd(), 1.1 * mcse.sd(drawn), "sd")


@pytest.mark.parametrize("n_rows", [0, 300, 20_000])
def test_points_of_no_weight_are_left_out(n_rows):
    """Points below exp(-25) of the largest weight would cost time and memory without changing a displayed digit."""
    posterior = shrinkage_posterior(simulated(n_rows) if n_rows else BinnedCounts.empty(15))
    for name in ("logistic", NAMES[3], NAMES[4]):
        log_mass = posterior._independent.coarse[1][name].nodes.log_mass
        assert np.ptp(log_mass) < 28  # 1e-12 in a lattice, exp(-25) in cells
        assert len(log_mass) > 50


def test_drawn_bins_that_are_off(close_to):
    """One bin of 0.3 off among fifteen; each bin's share of draws against its probability."""
    k = np.round(2000 * np.where(np.arange(15) == 12, MIDDLE - 0.3, MIDDLE))
    posterior = shrinkage_posterior(counts_of(np.full(15, 2000), k, MIDDLE))
    draws, expected = posterior.sample_all(20_000, rng=3), posterior.off_probability()
    close_to(draws.off.mean(axis=0), expected, np.sqrt(expected * (1 - expected) / 20_000) + 1e-5)
    assert expected[12] > 0.999
    assert np.all(np.delete(expected, 12) < 0.2)
    assert posterior.probabilities["sparse"] > 0.9


def test_two_sharp_modes():
    """Two bins of a million rows on one line and two on another: neither mode is missed, wherever the search begins."""
    n = np.array([1e6, 1e6, 1e6, 1e6])
    c = np.array([0.2, 0.4, 0.6, 0.8])
    share = expit(np.array([0.3, 0.3, -0.2, -0.2]) + logit(c))
    posterior = shrinkage_posterior(counts_of(n, np.round(n * share), c), rho=0.5)
    draws = only(posterior.counts, NAMES[4], rho=0.5).sample_all(4000, rng=4)
    up = np.abs(draws.intercept - 0.3) + np.abs(draws.slope - 1) < 0.05
    down = np.abs(draws.intercept + 0.2) + np.abs(draws.slope - 1) < 0.05
    assert up.mean() > 0.03
    assert down.mean() > 0.03
    # and in each the bins of the other line are those that are off
    assert draws.off[up].mean(axis=0) == pytest.approx([0, 0, 1, 1], abs=0.25)
    assert draws.off[down].mean(axis=0) == pytest.approx([1, 1, 0, 0], abs=0.25)


def test_importance_samples_are_good():
    posterior = shrinkage_posterior(simulated(2000))
    sizes, k = posterior.effective_sample_size(), posterior.pareto_k()
    assert set(sizes) == set(k) == {name for name in NAMES if DRIFTING[name]}
    assert min(sizes.values()) > 500
    assert max(sizes.values()) <= 1000
    assert max(k.values()) < 0.7


def test_what_cannot_be_sampled_well_is_told(monkeypatch):
    """An importance sample below the share that is asked for; and an integration that is stopped before its end."""
    monkeypatch.setattr(sub_model, "POOR_SHARE", 0.9)
    with pytest.warns(SamplerWarning, match=r"'logistic_dense' \(probability 1\) .* effective size \d+ of 4000"):
        only(simulated(2000), NAMES[3]).sample(4000, rng=1)
    monkeypatch.undo()
    monkeypatch.setattr(cells, "MOST_CELLS", 20)
    stopped = only(simulated(2000), NAMES[4])
    for draw in (
        lambda: stopped.sample(10, rng=1),
        lambda: stopped.sample_all(10, rng=1),
        lambda: evaluate_counts(stopped.counts, draws=10, rng=1, sub_model_weights=(0, 0, 0, 0, 1)),
    ):
        with pytest.warns(SamplerWarning, match=r"'logistic_sparse' .* of its posterior mass not integrated") as caught:
            draw()
        assert [warning.filename for warning in caught] == [__file__]  # the line that asked for draws


def test_too_few_draws_say_nothing_about_an_importance_sample(monkeypatch):
    """The check applies from fifty draws on."""
    monkeypatch.setattr(sub_model, "POOR_SHARE", 1.0)
    posterior = only(simulated(2000), NAMES[3])
    posterior.sample(49, rng=1)
    with pytest.warns(SamplerWarning, match=r"effective size \d+ of 50 draws"):
        posterior.sample(50, rng=1)


def test_needles_that_no_node_has_seen_are_told():
    """Lines through bins of ten million rows are narrower than what is looked at; what may hide between is counted."""
    n, k = [5, 31_174_344, 12_130_669, 142], [1, 6_854_731, 2_640_910, 115]
    posterior = only(counts_of(n, k, [0.0586, 0.1503, 0.3361, 0.8765]), NAMES[4])
    with pytest.warns(SamplerWarning, match="of its posterior mass not integrated"):
        posterior.sample(10, rng=1)


# --- extremes

EXTREMES = {
    "one row": ([1], [1], [0.7]),
    "one row, impossible": ([1], [0], [1.0]),
    "one bin of 1e9": ([1e9], [7e8], [0.7]),
    "one bin of 1e9, off": ([1e9], [5e8], [0.9]),
    "one bin of 1e9, impossible": ([1e9], [5e8], [1.0]),
    "all positive": (np.full(15, 20), np.full(15, 20), MIDDLE),
    "all negative": (np.full(15, 2e6), np.zeros(15), MIDDLE),
    "certain and right": ([50, 60], [0, 60], [0, 1]),
    "certain and once wrong": ([50, 60], [1, 59], [0, 1]),
    "certain and wrong": ([50, 60], [50, 0], [0, 1]),
    "certain and once wrong in 1e9": ([1e9, 1e9], [1, 1e9 - 1], [0, 1]),
    "1e9 and all positive": (np.full(15, 66_666_667), np.full(15, 66_666_667), MIDDLE),
    "1e9 and all negative": (np.full(15, 66_666_667), np.zeros(15), MIDDLE),
    "1e9 calibrated": (np.full(15, 1e9), np.round(1e9 * MIDDLE), MIDDLE),
    "1e9 drifting": (np.full(15, 1e9), np.round(1e9 * expit(0.2 + 0.8 * logit(MIDDLE))), MIDDLE),
    "1e9 but for a bin": (
        np.full(15, 1e9),
        np.round(1e9 * np.where(np.arange(15) == 12, MIDDLE - 0.3, MIDDLE)),
        MIDDLE,
    ),
    "few and many": ([1, 1e9, 3, 1e5], [0, 5e8, 3, 1e4], [0.2, 0.5, 0.9, 0.12]),
    "on the middle": ([10], [4], [0.5]),
    "tiny confidences": ([50_000, 3000, 100], [1, 5, 60], [1e-5, 2e-3, 0.6]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", EXTREMES)
def test_extremes(case):
    posterior = shrinkage_posterior(counts_of(*EXTREMES[case]))
    draws = posterior.sample_all(2000, rng=5)
    mean, sd = posterior.ece_mean(), posterior.ece_sd()
    values = [
        draws.bin_draws.accuracy, draws.bin_draws.mass, draws.intercept, draws.slope, posterior.off_probability(),
        list(posterior.log_evidence.values()), posterior.log_bayes_factor, posterior.p_calibrated, mean, sd,
    ]  # fmt: skip
    assert all(np.isfinite(v).all() for v in values)
    assert np.all((draws.bin_draws.accuracy >= 0) & (draws.bin_draws.accuracy <= 1))
    assert sum(posterior.probabilities.values()) == pytest.approx(1)
    drawn = ece(draws.bin_draws).values
    assert drawn.mean() == pytest.approx(mean, abs=6 * max(sd, drawn.std()) / np.sqrt(2000) + 1e-9)


def test_certain_and_right_is_calibrated():
    posterior = shrinkage_posterior(counts_of([50, 60], [0, 60], [0, 1]))
    assert posterior.ece_mean() < 1e-6
    assert posterior.p_calibrated == pytest.approx(0.5, abs=1e-4)  # every model says so


def test_without_rows_the_answer_is_the_prior(close_to, mcse):
    """Intercept and log slope N(0, 0.5), tau half-Normal(0.2), rho uniform on its grid; sub-models equally probable."""
    posterior = shrinkage_posterior(BinnedCounts.empty(15))
    assert list(posterior.probabilities.values()) == pytest.approx([0.2] * 5, abs=1e-5)
    assert posterior.bayes_factor == pytest.approx(1, abs=1e-5)
    draws = posterior.sample_all(40_000, rng=6)
    assert draws.bin_draws.occupied.all()
    np.testing.assert_array_equal(draws.bin_draws.confidence, posterior.counts.bins.midpoints[None])
    drifts = np.isin(draws.sub_model, [0, 3, 4])
    for values in (draws.intercept[drifts], np.log(draws.slope[drifts])):
        close_to(values.mean(), 0, 1.5 * mcse.mean(values))
        close_to(values.std(), 0.5, 1.5 * mcse.sd(values))
    tau, rho = (v[~np.isnan(v)] for v in (draws.tau, draws.rho))
    close_to(tau.mean(), 0.2 * np.sqrt(2 / np.pi), mcse.mean(tau), "tau")
    close_to(rho.mean(), 0.25, mcse.mean(rho), "rho")
    close_to(draws.off[np.isin(draws.sub_model, [2, 4])].mean(), 0.25, 0.002, "off")
    assert np.all(draws.off[np.isin(draws.sub_model, [1, 3])])
    assert not np.any(draws.off[draws.sub_model == 0])


def test_the_means_of_the_prior_that_are_documented():
    """Of the ECE over 15 bins, to the digits of the docstring; by draws of one's own, without the module.

    Masses are Dirichlet(2/15), so that the mean ECE is the mean absolute gap.
    """
    rng = np.random.default_rng(7)
    a, s = rng.normal(0, 0.5, (2, 200_000, 1))
    tau = np.abs(rng.normal(0, 0.2, (400_000, 1)))
    tau = tau[tau < 1][:, None][:200_000]
    own = rng.random((200_000, 15)) ** 2  # density 0.5 tau^-0.5

    def of(theta):
        return np.abs(theta - MIDDLE).mean()

    def beta(tau):
        kappa = 1 / tau**2 - 1
        return rng.beta(np.maximum(kappa * MIDDLE, 1e-300), np.maximum(kappa * (1 - MIDDLE), 1e-300))

    empty = BinnedCounts.empty(15)
    expected = {
        NAMES[0]: (of(expit(a + np.exp(s) * logit(MIDDLE))), 0.091),
        NAMES[1]: (of(beta(tau)), 0.050),
        NAMES[2]: (0.25 * of(beta(own)), 0.027),
    }
    for name, (mean, documented) in expected.items():
        assert only(empty, name).ece_mean() == pytest.approx(mean, rel=0.01)
        assert round(only(empty, name).ece_mean(), 3) == documented
    for options, documented in (({"log_slope_sd": 1e-3}, 0.065), ({"intercept_sd": 1e-3}, 0.056)):
        assert only(empty, NAMES[0], **options).ece_mean() == pytest.approx(documented, abs=6e-4)
    assert only(empty, NAMES[1], dense_scale=0.1).ece_mean() == pytest.approx(0.1 / 4, rel=0.02)
    for shape, documented in ((0.5, 0.107), (1.0, 0.161)):
        assert only(empty, NAMES[2], rho=0.9999, sparse_shape=shape).ece_mean() == pytest.approx(documented, abs=1e-3)
    zero = ece(only(empty, NAMES[2]).sample(20_000, rng=8)).values == 0
    assert zero.mean() == pytest.approx(np.mean((1 - np.array(RHO)) ** 15), abs=5 * np.sqrt(0.14 * 0.86 / 20_000))


# --- what a draw is


def test_exact_calibration_has_a_gap_of_exactly_zero():
    """Also at confidences of 0 and 1, and next to them."""
    c = np.r_[0.0, 1e-6, MIDDLE, 1.0]
    draws = shrinkage_posterior(counts_of(np.full(18, 100), np.round(100 * c), c)).sample_all(4000, rng=9)
    exact = (draws.sub_model == 2) & ~draws.off.any(axis=1)
    assert exact.any()
    assert np.all(draws.bin_draws.gap[exact] == 0)
    assert np.all(ece(draws.bin_draws).values[exact] == 0)


def test_the_leverage_of_certain_bins_is_limited():
    """logit h = logit(c) + a + (exp(s) - 1) x, with x the logit of c but kept within 1e-4 of 0 and 1."""
    c = np.array([1e-7, 1e-3, 0.3, 0.9999999])
    draws = only(counts_of([10, 10, 10, 10], [0, 0, 3, 10], c), NAMES[0]).sample_all(100, rng=9)
    x = logit(np.array([1e-4, 1e-3, 0.3, 0.9999]))
    expected = logit(c) + draws.intercept[:, None] + (draws.slope[:, None] - 1) * x
    np.testing.assert_allclose(draws.bin_draws.accuracy, expit(expected), rtol=1e-6)


def test_empty_bins_have_no_part():
    """Mass 0, gap 0, confidence the midpoint; the others are as if the empty ones did not exist."""
    with_gap = BinnedCounts.from_arrays([0, 1, 1, 1, 0], [0.1, 0.15, 0.7, 0.9, 0.95], bins=[0, 0.2, 0.4, 0.8, 1])
    without = BinnedCounts.from_arrays([0, 1, 1, 1, 0], [0.1, 0.15, 0.7, 0.9, 0.95], bins=[0, 0.2, 0.8, 1])
    alpha = {"mass_alpha": 0.5}
    one, other = (shrinkage_posterior(c, **alpha) for c in (with_gap, without))
    assert one.sample(5, rng=1).occupied.tolist() == [True, False, True, True]
    bins = one.sample(500, rng=1)
    assert np.all(bins.mass[:, 1] == 0)
    assert np.all(bins.gap[:, 1] == 0)
    assert bins.confidence.shape == (1, 4)
    np.testing.assert_allclose(bins.confidence[0], [0.125, 0.3, 0.7, 0.925])
    np.testing.assert_array_equal(np.delete(bins.mass, 1, axis=1), other.sample(500, rng=1).mass)
    np.testing.assert_array_equal(np.delete(bins.accuracy, 1, axis=1), other.sample(500, rng=1).accuracy)
    assert one.ece_mean() == pytest.approx(other.ece_mean(), rel=1e-12)
    assert np.isnan(one.off_probability()).tolist() == [False, True, False, False]


def test_masses_are_those_of_the_dirichlet_model():
    """Dirichlet parameters 2/M + n on the occupied bins: Kish's effective rows by weight."""
    counts = BinnedCounts.from_arrays([1, 0, 1], [0.1, 0.6, 0.65], bins=4, weights=[3, 1, 1])
    np.testing.assert_allclose(
        shrinkage_posterior(counts).mass_parameters, [0.5 + 25 / 11 * 0.6, 0, 0.5 + 25 / 11 * 0.4, 0]
    )
    np.testing.assert_allclose(
        shrinkage_posterior(counts, mass_alpha=2).mass_parameters[[0, 2]], 2 + 25 / 11 * np.array([0.6, 0.4])
    )


def test_sample_and_sample_all_are_the_same_draws():
    posterior = shrinkage_posterior(simulated(300))
    bins, draws = posterior.sample(300, rng=10), posterior.sample_all(300, rng=10)
    np.testing.assert_array_equal(bins.accuracy, draws.bin_draws.accuracy)
    np.testing.assert_array_equal(bins.mass, draws.bin_draws.mass)
    drift = expit(draws.intercept[:, None] + draws.slope[:, None] * logit(bins.confidence))
    still = ~draws.off
    np.testing.assert_allclose(bins.accuracy[still], drift[still], rtol=1e-9)


def test_sub_models_come_as_often_as_they_are_probable():
    """To within one draw: they are allotted, not drawn."""
    posterior = shrinkage_posterior(simulated(300))
    often = np.bincount(posterior.sample_all(4000, rng=11).sub_model, minlength=5)
    assert np.all(np.abs(often - 4000 * np.array(list(posterior.probabilities.values()))) <= 1)


# --- symmetries


def test_bins_can_be_permuted_and_outcomes_mirrored():
    n, k = np.full(6, 50.0), np.array([3.0, 14, 20, 33, 38, 49])
    c = np.array([0.08, 0.2, 0.41, 0.6, 0.81, 0.93])
    one, mirrored = (shrinkage_posterior(counts_of(*data)) for data in ((n, k, c), (n, n - k, 1 - c)))
    assert one.log_evidence == pytest.approx(mirrored.log_evidence, abs=1e-5)
    means, other = one.parameter_means()["logistic"], mirrored.parameter_means()["logistic"]
    assert means["intercept"] == pytest.approx(-other["intercept"], abs=1e-7)
    assert means["slope"] == pytest.approx(other["slope"], abs=1e-7)
    np.testing.assert_allclose(one.off_probability(), mirrored.off_probability()[::-1], atol=1e-5)
    bins, models = one._independent.coarse
    order = np.array([3, 0, 5, 1, 4, 2])
    drifting = replace(bins.drifting, n=n[order], k=k[order], confidence=c[order])
    from bayescal.posterior.shrinkage.independent.integrated import BinLikelihoods, integrate

    permuted = integrate(BinLikelihoods(drifting, bins.prior, bins.resolution))
    for name in NAMES:
        assert permuted[name].log_evidence == pytest.approx(models[name].log_evidence, abs=1e-8)


def test_weights_count_as_effective_rows():
    """Rows twice, at half weight each, are worth Kish's number of them: as unweighted rows twice; scale is nothing."""
    rng = np.random.default_rng(12)
    p = rng.random(200)
    y = rng.random(200) < p
    twice = BinnedCounts.from_arrays(np.r_[y, y], np.r_[p, p], bins=5)
    halves = BinnedCounts.from_arrays(np.r_[y, y], np.r_[p, p], bins=5, weights=np.full(400, 0.5))
    one, other = (shrinkage_posterior(c) for c in (twice, halves))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)
    assert one.ece_mean() == pytest.approx(other.ece_mean(), rel=1e-9)


# --- options


def test_the_defaults_are_those_of_the_design():
    prior = shrinkage.shrinkage_posterior(BinnedCounts.empty(2)).prior_options
    assert prior == ShrinkagePrior()
    assert (prior.intercept_sd, prior.log_slope_sd, prior.dense_scale, prior.sparse_shape) == (0.5, 0.5, 0.2, 0.5)
    assert prior.rho == RHO
    assert prior.sub_model_weights == (1, 1, 1, 1, 1)
    assert prior.prior_odds == 1
    assert prior.mass_alpha is None


def test_options_at_the_ends_of_their_ranges():
    empty = BinnedCounts.empty(2)
    assert shrinkage_posterior(empty, sparse_shape=0.05).prior_options.sparse_shape == 0.05
    assert shrinkage_posterior(empty, rho=0.5).prior_options.rho == (0.5,)
    assert shrinkage_posterior(empty, mass_alpha=2).prior_options.mass_alpha == 2.0
    assert shrinkage_posterior(empty, sub_model_weights=(0, 0, 0, 0, 1)).probabilities[NAMES[4]] == 1
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="`sub_model_weights` must be finite and >= 0; 1 of 5"):
            shrinkage_posterior(empty, sub_model_weights=(1, 1, bad, 1, 1))


def test_the_default_number_of_draws():
    posterior = shrinkage_posterior(BinnedCounts.from_arrays([0, 1], [0.2, 0.7], bins=2))
    assert posterior.sample(rng=1).mass.shape == (4000, 2)
    assert posterior.sample_all(rng=1).tau.shape == (4000,)


def test_the_prior_in_words():
    empty = BinnedCounts.empty(2)
    assert shrinkage.shrinkage_posterior(empty).prior == ""
    changed = shrinkage.shrinkage_posterior(empty, dense_scale=0.3, rho=0.2)
    assert changed.prior == "prior with dense_scale=0.3, rho=(0.2,)"
    assert shrinkage_posterior(empty).prior == "prior with sub_models=['independent']"
    some = shrinkage.shrinkage_posterior(empty, sub_models=["noise", "logistic"])
    assert some.prior == "prior with sub_models=['noise', 'logistic']"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"intercept_sd": 0}, ValueError, "`intercept_sd` must be finite and > 0"),
        ({"log_slope_sd": -1}, ValueError, "`log_slope_sd` must be finite and > 0"),
        ({"dense_scale": np.inf}, ValueError, "`dense_scale` must be finite and > 0"),
        ({"sparse_shape": "half"}, TypeError, "`sparse_shape` must be a number"),
        ({"sparse_shape": [0.5, 1]}, ValueError, "`sparse_shape` must be a number or have shape ()"),
        ({"prior_odds": 0}, ValueError, "`prior_odds` must be finite and > 0"),
        ({"mass_alpha": 0}, ValueError, "`mass_alpha` must be finite and > 0"),
        ({"rho": 0}, ValueError, "`rho` must lie strictly between 0 and 1, not 0"),
        ({"rho": (0.1, 5)}, ValueError, "`rho` must lie strictly between 0 and 1, not 5. Percent? Divide by 100."),
        ({"rho": "few"}, TypeError, "`rho` must be a number in (0, 1)"),
        ({"rho": ()}, ValueError, "`rho` must hold at least one number"),
        ({"sparse_shape": 0.03}, ValueError, "`sparse_shape` must be at least 0.05, not 0.03"),
        ({"sub_model_weights": (1, 2)}, ValueError, "`sub_model_weights` must be five numbers"),
        (
            {"sub_model_weights": (1, 1, 1, 1, -1)},
            ValueError,
            "`sub_model_weights` must be finite and >= 0; 1 of 5 values is not, first at index 4",
        ),
        ({"sub_model_weights": (0, 0, 0, 0, 0)}, ValueError, "`sub_model_weights` must not all be 0"),
    ],
)
def test_options_that_make_no_sense(options, error, message):
    with pytest.raises(error) as caught:
        shrinkage_posterior(BinnedCounts.empty(2), **options)
    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"intercept_sd": 5, "log_slope_sd": 3},
        {"intercept_sd": 1e-6, "log_slope_sd": 1e-6},
        {"dense_scale": 10},
        {"dense_scale": 1e-3},
        {"sparse_shape": 3},
        {"sparse_shape": 0.1},
        {"rho": 0.2},
        {"rho": (0.001, 0.999)},
    ],
)
@pytest.mark.parametrize("n_rows", [0, 300])
def test_other_priors(options, n_rows, close_to, mcse):
    """Draws against moments, and without rows no sub-model is preferred."""
    counts = simulated(n_rows, seed=13) if n_rows else BinnedCounts.empty(15)
    posterior = shrinkage_posterior(counts, **options)
    drawn = ece(posterior.sample(20_000, rng=14)).values
    close_to(drawn.mean(), posterior.ece_mean(), 1.2 * mcse.mean(drawn))
    if not n_rows:
        assert list(posterior.probabilities.values()) == pytest.approx([0.2] * 5, abs=1e-4)


def test_importing_is_cheap():
    code = (
        "import sys; import bayescal.posterior.shrinkage; "
        "assert not {'scipy.stats', 'arviz', 'arviz_stats', 'pymc', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_warns_that_should_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = shrinkage_posterior(simulated(500, bins=100))
        assert isinstance(posterior, ShrinkagePosterior)
        posterior.sample(1, rng=1)


# --- many bins: lattices for fewer tau


@pytest.mark.parametrize(
    ("spacing", "tolerance", "expected"), [(0.25, 3e-5, 5), (0.25, 1e-6, 4), (0.25, 0.1, 8), (0.9, 3e-5, 1)]
)
def test_so_many_terms_can_be_left_out(spacing, tolerance, expected):
    """The sum of a Normal density at distances h has the relative error 2 exp(-2 pi^2 / h^2), by Poisson's formula.

    With h = 0.25 m: 3.1e-4 for m = 6, 6.5e-6 for 5, 5e-9 for 4; with h = 1.8: 4.5e-3.
    """
    terms = -0.5 * (spacing * np.arange(-40, 41)) ** 2
    assert _sparsest(terms, 8, tolerance) == expected


def test_lattices_for_fewer_tau_give_the_same_evidence(monkeypatch):
    """200 bins of a calibrated model: half of the lattices or fewer."""
    counts = simulated(4000, bins=200)
    found = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_dense"]
    evidence, nodes = found.log_evidence, found.family.coarse[1][found.name].nodes
    monkeypatch.setattr(integrated, "SMOOTH_STEP", 0.0)
    every = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_dense"]
    assert evidence == pytest.approx(every.log_evidence, abs=1e-4)
    assert 2 * len(np.unique(nodes.kappa)) <= len(np.unique(every.family.coarse[1][every.name].nodes.kappa)) + 1
