"""The family of independent bins: evidences and parameters against integration, draws against moments, extremes.

The reference below knows nothing of the module's numerics: textbook formulas, scipy.integrate over tau, and a plain
grid of nine prior standard deviations over intercept and slope.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from moments_of_ece import ece_mean, ece_sd
from scipy import integrate
from scipy.special import betaln, expit, logit

from bayescal import BinnedCounts, ece, shrinkage_posterior
from bayescal.posterior.beta_binomial import absolute_gap
from bayescal.posterior.shrinkage.prior import INDEPENDENT, SUB_MODELS

NAMES = ("logistic", "dense", "sparse", "logistic_dense", "logistic_sparse")
independent_posterior = partial(shrinkage_posterior, sub_models=[INDEPENDENT])
DRIFTING = {name: name.startswith("logistic") for name in NAMES}
RHO = (0.05, 0.15, 0.3, 0.5)
MIDDLE = (np.arange(15) + 0.5) / 15
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
def test_evidence_and_parameters(references, case, name, counts_of):
    expected = references(case, name)
    posterior = independent_posterior(counts_of(*SMALL[case]))
    assert posterior.log_evidence[name] == pytest.approx(expected.log_evidence, abs=1e-6)
    means = posterior.parameter_means()[name]
    for parameter in ("intercept", "slope", "tau", "rho"):
        assert means[parameter] == pytest.approx(getattr(expected, parameter), abs=2e-5, nan_ok=True), parameter


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_drawn_parameters(references, name, close_to, mcse, counts_of, only):
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


def test_smooth_drift_by_another_integrator(counts_of):
    n, k, c = (np.array(v) for v in SMALL["two bins"])

    def density(s, a):
        h = expit(a + np.exp(s) * logit(c))
        return float(np.prod(h**k * (1 - h) ** (n - k)) * np.exp(-2 * (a * a + s * s)) * 2 / np.pi)

    value, _ = integrate.dblquad(density, -4, 4, -4, 4, epsabs=0, epsrel=1e-9)
    posterior = independent_posterior(counts_of(n, k, c))
    assert posterior.log_evidence["logistic"] == pytest.approx(np.log(value), abs=1e-7)


def test_posterior_of_tau_by_another_integrator(counts_of):
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
    means = independent_posterior(counts_of(*SMALL["one bin"])).parameter_means()
    assert means["dense"]["tau"] == pytest.approx(float(first / total), rel=1e-5)


def test_sub_models_are_what_they_are_called():
    """Check drift and residual of each integrated sub-model against the table that names them."""
    expected = dict(
        zip(
            NAMES, [(True, "none"), (False, "dense"), (False, "sparse"), (True, "dense"), (True, "sparse")], strict=True
        )
    )
    models = independent_posterior(BinnedCounts.empty(2))._independent.integration[1]
    assert {name: (model.drift, model.residual) for name, model in models.items()} == expected
    assert expected == SUB_MODELS


@pytest.mark.parametrize("n_bins", [1, 3])
def test_moments_of_the_ece_by_another_integrator(n_bins, only):
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
    assert ece_mean(posterior) == pytest.approx(mean / total, rel=2e-4)
    assert ece_sd(posterior) == pytest.approx(np.sqrt(square / total - (mean / total) ** 2), rel=2e-4)


def test_exact_calibration_and_the_bayes_factor(counts_of):
    """By hand: prod c^k (1 - c)^(n - k), against the average of the five; odds by Bayes' rule."""
    n, k, c = (np.array(v) for v in SMALL["three bins"])
    posterior = independent_posterior(counts_of(n, k, c))
    evidence = posterior.log_evidence
    assert evidence["exact"] == pytest.approx(float((k * np.log(c) + (n - k) * np.log(1 - c)).sum()), abs=1e-9)
    average = np.log(np.mean([np.exp(evidence[name]) for name in NAMES]))
    assert posterior.log_bayes_factor == pytest.approx(evidence["exact"] - average, abs=1e-9)
    assert posterior.bayes_factor == pytest.approx(np.exp(posterior.log_bayes_factor))
    assert posterior.p_calibrated == pytest.approx(posterior.bayes_factor / (1 + posterior.bayes_factor))
    expected = {name: np.exp(evidence[name] - average) / 5 for name in NAMES}
    assert posterior.probabilities == pytest.approx(expected, rel=1e-9)
    odds = independent_posterior(counts_of(n, k, c), prior_odds=3)
    assert odds.p_calibrated / (1 - odds.p_calibrated) == pytest.approx(3 * posterior.bayes_factor)
    unequal = independent_posterior(counts_of(n, k, c), sub_model_weights=(1, 0, 0, 0, 3))
    mass = np.exp([evidence[NAMES[0]], evidence[NAMES[4]]]) * [1, 3]
    assert list(unequal.probabilities.values()) == pytest.approx([mass[0] / mass.sum(), 0, 0, 0, mass[1] / mass.sum()])


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [20, 2000, 1_000_000])
@pytest.mark.parametrize("name", NAMES)
def test_draws_against_moments(n_rows, name, close_to, mcse, only, simulated):
    """Mean and sd of the ECE under each sub-model: 30 comparisons, with false alarms in 1.7 million each."""
    posterior = only(simulated(n_rows, temperature=1.2, seed=5), name)
    drawn = ece(posterior.sample(40_000, rng=2)).values
    close_to(drawn.mean(), ece_mean(posterior), 1.1 * mcse.mean(drawn), "mean")
    close_to(drawn.std(ddof=1), ece_sd(posterior), 1.1 * mcse.sd(drawn), "sd")


def test_drawn_bins_that_are_off(close_to, counts_of):
    """One bin of 0.3 off among fifteen; each bin's share of draws against its probability."""
    k = np.round(2000 * np.where(np.arange(15) == 12, MIDDLE - 0.3, MIDDLE))
    posterior = independent_posterior(counts_of(np.full(15, 2000), k, MIDDLE))
    draws, expected = posterior.sample_all(20_000, rng=3), posterior.off_probability()
    close_to(draws.off.mean(axis=0), expected, np.sqrt(expected * (1 - expected) / 20_000) + 1e-5)
    assert expected[12] > 0.999
    assert np.all(np.delete(expected, 12) < 0.2)
    assert posterior.probabilities["sparse"] > 0.9


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
def test_extremes(case, counts_of):
    posterior = independent_posterior(counts_of(*EXTREMES[case]))
    draws = posterior.sample_all(2000, rng=5)
    mean, sd = ece_mean(posterior), ece_sd(posterior)
    values = [
        draws.bin_draws.accuracy, draws.bin_draws.mass, draws.intercept, draws.slope, posterior.off_probability(),
        list(posterior.log_evidence.values()), posterior.log_bayes_factor, posterior.p_calibrated, mean, sd,
    ]  # fmt: skip
    assert all(np.isfinite(v).all() for v in values)
    assert np.all((draws.bin_draws.accuracy >= 0) & (draws.bin_draws.accuracy <= 1))
    assert sum(posterior.probabilities.values()) == pytest.approx(1)
    drawn = ece(draws.bin_draws).values
    assert drawn.mean() == pytest.approx(mean, abs=6 * max(sd, drawn.std()) / np.sqrt(2000) + 1e-9)


def test_certain_and_right_is_calibrated(counts_of):
    posterior = independent_posterior(counts_of([50, 60], [0, 60], [0, 1]))
    assert ece_mean(posterior) < 1e-6
    assert posterior.p_calibrated == pytest.approx(0.5, abs=1e-4)  # every model says so


def test_without_rows_the_answer_is_the_prior(close_to, mcse):
    """Intercept and log slope N(0, 0.5), tau half-Normal(0.2), rho uniform on its grid; sub-models equally probable."""
    posterior = independent_posterior(BinnedCounts.empty(15))
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


# --- symmetries


def test_bins_can_be_permuted_and_outcomes_mirrored(counts_of):
    n, k = np.full(6, 50.0), np.array([3.0, 14, 20, 33, 38, 49])
    c = np.array([0.08, 0.2, 0.41, 0.6, 0.81, 0.93])
    one, mirrored = (independent_posterior(counts_of(*data)) for data in ((n, k, c), (n, n - k, 1 - c)))
    assert one.log_evidence == pytest.approx(mirrored.log_evidence, abs=1e-5)
    means, other = one.parameter_means()["logistic"], mirrored.parameter_means()["logistic"]
    assert means["intercept"] == pytest.approx(-other["intercept"], abs=1e-7)
    assert means["slope"] == pytest.approx(other["slope"], abs=1e-7)
    np.testing.assert_allclose(one.off_probability(), mirrored.off_probability()[::-1], atol=1e-5)
    bins, models = one._independent.integration
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
    one, other = (independent_posterior(c) for c in (twice, halves))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)
    assert ece_mean(one) == pytest.approx(ece_mean(other), rel=1e-9)
