"""Integration of independent bins: resolution, cells that are halved, lattices for fewer tau, and warnings."""

from functools import partial

import numpy as np
import pytest
from moments_of_ece import averaged, finely, of_independent
from scipy import integrate
from scipy.special import betaln, expit, gammaln, logit

from bayescal import BinnedCounts, evaluate_counts, shrinkage_posterior
from bayescal.posterior.shrinkage import sub_model
from bayescal.posterior.shrinkage.independent import family, integrated
from bayescal.posterior.shrinkage.independent.integrated import _sparsest
from bayescal.posterior.shrinkage.posterior import SamplerWarning, ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import INDEPENDENT, ShrinkagePrior, posterior_probabilities

NAMES = ("logistic", "dense", "sparse", "logistic_dense", "logistic_sparse")
independent_posterior = partial(shrinkage_posterior, sub_models=[INDEPENDENT])


def test_evidence_under_a_wide_prior_of_the_slope(counts_of):
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
    posterior = independent_posterior(counts_of([n], [n], [0.9]), log_slope_sd=2, rho=rho)
    # a thousandth of the mass may be missed before a warning says so
    assert posterior.log_evidence[NAMES[4]] == pytest.approx(expected, abs=1e-3)


def test_evidence_far_from_where_the_search_begins(counts_of):
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
    posterior = independent_posterior(counts_of([n], [0], [c]))
    assert posterior.log_evidence["logistic_dense"] == pytest.approx(np.log(total), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 20, 300, 2000, 20_000, 1_000_000])
@pytest.mark.parametrize("temperature", [1.0, 1.5])
def test_halving_every_step_moves_nothing(n_rows, temperature, simulated):
    """By more than a tenth of the Monte Carlo error of 4000 draws."""
    posterior = independent_posterior(simulated(n_rows, temperature=temperature, seed=n_rows))
    of_ece, probabilities, off = [], [], []
    for bins, models in (posterior._independent.integration, finely(posterior._independent)):
        evidence = {name: model.log_evidence for name, model in models.items()}
        p = posterior_probabilities(posterior.prior_options.families, evidence)
        mass = posterior.mass_parameters[posterior.counts.occupied]
        sums = [of_independent(bins, model, mass) for model in models.values()]
        of_ece.append(averaged(list(p.values()), sums, mass.sum()))
        probabilities.append(np.array(list(p.values())))
        off.append(sum(p[name] * family.off_probability(bins, model) for name, model in models.items()))
    for one, two in (probabilities, off):
        assert np.all(np.abs(one - two) < 0.1 * np.sqrt(two * (1 - two) / 4000) + 1e-7)
    (mean, sd), (fine_mean, fine_sd) = of_ece
    assert abs(mean - fine_mean) < 0.1 * fine_sd / np.sqrt(4000)
    assert abs(sd - fine_sd) < 0.1 * fine_sd / np.sqrt(2 * 4000)


@pytest.mark.parametrize("n_rows", [0, 300, 20_000])
def test_points_of_no_weight_are_left_out(n_rows, simulated):
    """Points below exp(-25) of the largest weight would cost time and memory without changing a displayed digit."""
    posterior = independent_posterior(simulated(n_rows) if n_rows else BinnedCounts.empty(15))
    for name in ("logistic", NAMES[3], NAMES[4]):
        log_mass = posterior._independent.integration[1][name].nodes.log_mass
        assert np.ptp(log_mass) < 28  # 1e-12 in a lattice, exp(-25) in cells
        assert len(log_mass) > 50


def test_two_sharp_modes(counts_of, only):
    """Two bins of a million rows on one line and two on another: neither mode is missed, wherever the search begins."""
    n = np.array([1e6, 1e6, 1e6, 1e6])
    c = np.array([0.2, 0.4, 0.6, 0.8])
    share = expit(np.array([0.3, 0.3, -0.2, -0.2]) + logit(c))
    posterior = independent_posterior(counts_of(n, np.round(n * share), c), rho=0.5)
    draws = only(posterior.counts, NAMES[4], rho=0.5).sample_all(4000, rng=4)
    up = np.abs(draws.intercept - 0.3) + np.abs(draws.slope - 1) < 0.05
    down = np.abs(draws.intercept + 0.2) + np.abs(draws.slope - 1) < 0.05
    assert up.mean() > 0.03
    assert down.mean() > 0.03
    # and in each the bins of the other line are those that are off
    assert draws.off[up].mean(axis=0) == pytest.approx([0, 0, 1, 1], abs=0.25)
    assert draws.off[down].mean(axis=0) == pytest.approx([1, 1, 0, 0], abs=0.25)


def test_what_cannot_be_sampled_well_is_told(monkeypatch, only, simulated):
    """An importance sample below the share that is asked for; and an integration that is stopped before its end."""
    monkeypatch.setattr(sub_model, "POOR_SHARE", 0.9)
    with pytest.warns(SamplerWarning, match=r"'logistic_dense' \(probability 1\) .* effective size \d+ of 4000"):
        only(simulated(2000), NAMES[3]).sample(4000, rng=1)
    monkeypatch.undo()
    monkeypatch.setattr(integrated, "MOST_CELLS", 20)
    stopped = only(simulated(2000), NAMES[4])
    for draw in (
        lambda: stopped.sample(10, rng=1),
        lambda: stopped.sample_all(10, rng=1),
        lambda: evaluate_counts(stopped.counts, draws=10, rng=1, sub_model_weights=(0, 0, 0, 0, 1)),
    ):
        with pytest.warns(SamplerWarning, match=r"'logistic_sparse' .* of its posterior mass not integrated") as caught:
            draw()
        assert [warning.filename for warning in caught] == [__file__]  # the line that asked for draws


def test_too_few_draws_say_nothing_about_an_importance_sample(monkeypatch, only, simulated):
    """The check applies from fifty draws on."""
    monkeypatch.setattr(sub_model, "POOR_SHARE", 1.0)
    posterior = only(simulated(2000), NAMES[3])
    posterior.sample(49, rng=1)
    with pytest.warns(SamplerWarning, match=r"effective size \d+ of 50 draws"):
        posterior.sample(50, rng=1)


def test_needles_that_no_node_has_seen_are_told(counts_of, only):
    """Lines through bins of ten million rows are narrower than what is looked at; what may hide between is counted."""
    n, k = [5, 31_174_344, 12_130_669, 142], [1, 6_854_731, 2_640_910, 115]
    posterior = only(counts_of(n, k, [0.0586, 0.1503, 0.3361, 0.8765]), NAMES[4])
    with pytest.warns(SamplerWarning, match="of its posterior mass not integrated"):
        posterior.sample(10, rng=1)


@pytest.mark.parametrize(
    ("spacing", "tolerance", "expected"), [(0.25, 3e-5, 5), (0.25, 1e-6, 4), (0.25, 0.1, 8), (0.9, 3e-5, 1)]
)
def test_so_many_terms_can_be_left_out(spacing, tolerance, expected):
    """The sum of a Normal density at distances h has the relative error 2 exp(-2 pi^2 / h^2), by Poisson's formula.

    With h = 0.25 m: 3.1e-4 for m = 6, 6.5e-6 for 5, 5e-9 for 4; with h = 1.8: 4.5e-3.
    """
    terms = -0.5 * (spacing * np.arange(-40, 41)) ** 2
    assert _sparsest(terms, 8, tolerance) == expected


def test_lattices_for_fewer_tau_give_the_same_evidence(monkeypatch, simulated):
    """200 bins of a calibrated model: half of the lattices or fewer."""
    counts = simulated(4000, bins=200)
    found = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_dense"]
    evidence, nodes = found.log_evidence, found.family.integration[1][found.name].nodes
    monkeypatch.setattr(integrated, "SMOOTH_STEP", 0.0)
    every = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_dense"]
    assert evidence == pytest.approx(every.log_evidence, abs=1e-4)
    assert 2 * len(np.unique(nodes.kappa)) <= len(np.unique(every.family.integration[1][every.name].nodes.kappa)) + 1


def test_many_bins_have_the_cells_of_few_bins(monkeypatch, simulated):
    """300 bins: cells judged by the density at their middle leave the evidence and the nodes."""
    counts = simulated(30_000, bins=300, temperature=1.1)
    found = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_sparse"]
    evidence, nodes = found.log_evidence, found.family.integration[1][found.name].nodes
    monkeypatch.setattr(integrated, "MANY_BINS", 1000)
    every = ShrinkagePosterior(counts, ShrinkagePrior())._sub_models["logistic_sparse"]
    assert evidence == pytest.approx(every.log_evidence, abs=1e-5)
    assert len(nodes.t) == pytest.approx(len(every.family.integration[1][every.name].nodes.t), rel=0.1)
