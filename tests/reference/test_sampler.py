"""Distributions and intervals against mpmath, scipy, R's truncnorm and ArviZ."""

import numpy as np
import pytest
from scipy.special import betainc

import bayescal as bc
from bayescal.posterior.dirichlet import truncated_normal_moments, truncated_normal_quantile

N_DRAWS = 200_000


@pytest.fixture(scope="module")
def sampler(records):
    """Records by the program and what it was asked."""

    def pick(view, package):
        found = [r["value"] for r in records("sampler") if r["view"] == view and r["package"] == package]
        assert found
        return found

    return pick


def test_there_are_thirteen_and_all_are_used(records):
    kinds = sorted((r["package"], r["view"]) for r in records("sampler"))
    expected = (
        [("arviz", "HDI and ETI of Beta(a,b)")] * 2
        + [("mpmath", "truncated normal N(mu,sd^2) on [a,b]")] * 4
        + [("scipy", "Beta posterior intervals")] * 2
        + [("scipy", "Dirichlet")] * 2
        + [("truncnorm", "-")] * 3
    )
    assert kinds == expected


def test_truncated_normal_of_mpmath(sampler):
    for v in sampler("truncated normal N(mu,sd^2) on [a,b]", "mpmath"):
        parameters = v["mu"], v["sd"], v["a"], v["b"]
        mean, variance = truncated_normal_moments(*parameters)
        assert mean == pytest.approx(v["mean"], rel=1e-9)
        assert variance == pytest.approx(v["var"], rel=1e-9)
        for q, expected in v["quantiles"].items():
            assert truncated_normal_quantile(float(q), *parameters) == pytest.approx(expected, rel=1e-9)


def test_truncated_normal_of_r(sampler):
    """The R package loses digits in the tail (its record says so): six remain against mpmath."""
    for v in sampler("-", "truncnorm"):
        parameters = v["mu"], v["sd"], v["a"], v["b"]
        mean, variance = truncated_normal_moments(*parameters)
        rel = 1e-9 if v["mu"] > 0 else 1e-8
        assert mean == pytest.approx(v["mean"], rel=rel)
        assert variance == pytest.approx(v["var"], rel=rel)
        for q, name in ((0.025, "q025"), (0.5, "q50"), (0.975, "q975")):
            assert truncated_normal_quantile(q, *parameters) == pytest.approx(v[name], rel=rel)


def test_dirichlet_cells(sampler, close_to):
    """Twenty cells of 0.1: ours are drawn as masses and accuracies, and must be the same Dirichlet when multiplied."""
    v, _ = sampler("Dirichlet", "scipy")
    assert set(v["alpha"]) == {0.1}
    posterior = bc.dirichlet_posterior(bc.BinnedCounts.empty(10), alpha=0.1)
    bins = posterior.sample(N_DRAWS, rng=30)
    # outcome 1 first: 1 - accuracy has no digits below 1e-16, and the lowest quantile is 4e-24
    cells = np.concatenate([bins.mass * bins.accuracy, bins.mass * (1 - bins.accuracy)], axis=1)
    close_to(cells.mean(axis=0), v["mean"], np.sqrt(np.array(v["var"]) / N_DRAWS), "mean")
    squares = (cells - v["mean"]) ** 2
    close_to(squares.mean(axis=0), v["var"], squares.std(axis=0) / np.sqrt(N_DRAWS), "variance")
    marginal_quantiles(cells[:, v["marginal_index"]], v, close_to)
    # a Dirichlet's cells are uncorrelated but for the sum: cov = -a_i a_j / (A^2 (A + 1)); here of the cells of one bin
    product = cells[:, 0] * cells[:, 10]
    close_to(product.mean(), 0.1 * 0.1 / (2 * 3), product.std() / np.sqrt(N_DRAWS), "E of a product of two cells")


def test_dirichlet_masses(sampler, close_to):
    _, v = sampler("Dirichlet", "scipy")
    alpha = np.stack([np.array(v["alpha"]) / 2] * 2)
    posterior = bc.dirichlet_posterior(bc.BinnedCounts.empty(3), alpha=alpha)
    np.testing.assert_allclose(posterior.mass_mean(), v["mean"], rtol=1e-12)
    mass = posterior.sample(N_DRAWS, rng=31).mass
    squares = (mass - v["mean"]) ** 2
    close_to(squares.mean(axis=0), v["var"], squares.std(axis=0) / np.sqrt(N_DRAWS), "variance")
    marginal_quantiles(mass[:, v["marginal_index"]], v, close_to)


def marginal_quantiles(draws, v, close_to):
    """Share of draws below each quantile; P(X < x) keeps its meaning where x is 1e-24."""
    for q, x in v["marginal_quantiles"].items():
        close_to((draws < x).mean(), float(q), np.sqrt(float(q) * (1 - float(q)) / N_DRAWS), f"quantile {q}")


def test_beta_accuracies(sampler, close_to):
    for v in sampler("Beta posterior intervals", "scipy"):
        posterior = bc.dirichlet_posterior(bc.BinnedCounts.empty(1), alpha=[[v["b"]], [v["a"]]])
        assert posterior.accuracy_mean() == pytest.approx(v["mean"], rel=1e-9)
        assert posterior.accuracy_variance() == pytest.approx(v["var"], rel=1e-9)
        accuracy = posterior.sample(N_DRAWS, rng=32).accuracy[:, 0]
        for q, x in v["quantiles"].items():
            close_to((accuracy < x).mean(), float(q), np.sqrt(float(q) * (1 - float(q)) / N_DRAWS), f"quantile {q}")


def test_intervals(sampler):
    """On a grid of 20 000 quantiles of a Beta: the HDI is ArviZ's own, the equal-tailed one scipy's."""
    from scipy.special import betaincinv

    for v in sampler("HDI and ETI of Beta(a,b)", "arviz"):
        assert v["sample"] == "beta.ppf((i+.5)/20000), i=0..19999"
        draws = bc.Draws(betaincinv(v["a"], v["b"], (np.arange(20_000) + 0.5) / 20_000))
        for prob, expected in v["intervals"].items():
            hdi = draws.interval(float(prob), kind="hdi")
            assert hdi == pytest.approx(expected["arviz_hdi"], rel=1e-9)
            # ranks of 20 000 points tell probabilities apart to half a step
            ours = betainc(v["a"], v["b"], draws.interval(float(prob)))
            assert ours == pytest.approx(betainc(v["a"], v["b"], expected["eti"]), abs=0.5 / 20_000)
            inside = betainc(v["a"], v["b"], hdi[1]) - betainc(v["a"], v["b"], hdi[0])
            assert inside == pytest.approx(float(prob), abs=1e-4)
