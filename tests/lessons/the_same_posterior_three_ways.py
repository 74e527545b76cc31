"""Checks of the statements in `notebooks/07_the_same_posterior_three_ways.ipynb`."""

import arviz as az
import numpy as np
from scipy.stats import beta

import bayescal as bc


def check_four_bins(n, k, mean_confidence):
    assert n.sum() == 569
    assert (n > 0).all()
    assert (n[0] + n[3]) / n.sum() > 0.85
    assert k[0] / n[0] < mean_confidence[0]
    assert k[3] / n[3] > mean_confidence[3]
    assert (n[1:3] < 40).all()


def check_closed_form(posterior, ece, drawn, n_draws, n, k, alpha, loc, scale):
    standard_error = posterior.ece_sd() / np.sqrt(n_draws)
    assert abs(ece.mean() - posterior.ece_mean()) < 5 * standard_error
    assert abs(drawn.mean() - posterior.ece_mean()) < 5 * standard_error
    assert np.allclose(posterior.accuracy_parameters, (alpha + k, alpha + n - k))
    assert np.allclose(posterior.mass_parameters, 2 * alpha + n)
    assert np.allclose(posterior.confidence_parameters[:2], (loc, scale))


def check_chains(chains):
    table = az.summary(chains, var_names=["ece", "accuracy", "confidence", "mass"], ci_prob=0.95, round_to="none")
    assert table["r_hat"].max() < 1.015
    assert table["ess_bulk"].min() > 800
    assert int(chains.sample_stats.diverging.sum()) == 0


def check_grid_of_bins(accuracy_on_grid, confidence_on_grid, grid, grid_in_bin, step, posterior, n, k, alpha):
    for b in range(4):
        density = beta.pdf(grid, alpha + k[b], alpha + n[b] - k[b])
        assert np.abs(accuracy_on_grid[b] / step - density).max() < 0.01 * density.max()
        assert abs(confidence_on_grid[b] @ grid_in_bin[b] - posterior.confidence_mean()[b]) < 1e-6


def check_grid_of_the_ece(ece_on_grid, grid_mean, grid_sd, posterior):
    assert abs(ece_on_grid.sum() - 1) < 1e-6
    assert abs(grid_mean - posterior.ece_mean()) < 3e-5
    assert abs(grid_sd - posterior.ece_sd()) < 3e-5


def check_means_of_few_draws_differ(posterior):
    ten = {f"{bc.ece(posterior.sample(100, rng=seed)).mean():.3f}" for seed in range(10)}
    assert len(ten) > 2


def check_wrong_versions_are_detected(checked, compared, versions, n_draws):
    largest_z = {name: max(abs(row["z"]) for row in each.rows) for name, each in compared.items()}
    means = {name: bc.ece(version.sample(n_draws, rng=1)).mean() for name, version in versions.items()}
    assert checked.agrees
    assert compared["right"].agrees
    assert f"{means['right']:.3f}" == f"{means['prior forgotten']:.3f}"
    assert abs(means["Beta swapped"] - means["right"]) > 0.1
    assert 10 < largest_z["prior forgotten"] < 100 < largest_z["Beta swapped"]


def check_smooth_drift(points, mean_a, sd_a, mean_slope, sd_slope, on_grid, levels):
    for intercept, slope in points.values():
        assert abs(intercept.mean() - mean_a) < 5 * sd_a / np.sqrt(1000)
        assert abs(slope.mean() - mean_slope) < 5 * sd_slope / np.sqrt(1000)
        assert abs(slope.std() / sd_slope - 1) < 0.2
    held = [on_grid[on_grid >= level].sum() for level in levels]
    assert np.allclose(held, [0.95, 0.5], atol=0.01)


def check_evidence(log_evidence, exact, ours):
    assert abs(log_evidence - ours["logistic"]) < 1e-3
    assert abs(exact - ours["exact"]) < 1e-9


def check_average_of_sub_models(averaged):
    assert averaged.agrees


def check_another_prior(other_draws, other_grid, a, log_slope, mean_a, mean_slope):
    drawn = other_draws["intercept"]
    mean = (other_grid * a).sum()
    sd = np.sqrt((other_grid * (a - mean) ** 2).sum())
    assert abs(float(drawn.mean()) - mean) < 5 * sd / np.sqrt(1000)
    assert abs(mean) < 0.8 * abs(mean_a)
    assert abs((other_grid * np.exp(log_slope)).sum() - mean_slope) < 0.02


def check_solution_of_smaller_mistakes(smaller, needed, posterior, alpha, n, k):
    """The mean of a Beta, by hand, in the bin that changes most."""
    change = (alpha / 2 + k) / (alpha + n) - (alpha + k) / (2 * alpha + n)
    half = np.abs(change) / np.sqrt(posterior.accuracy_variance())
    assert abs(needed["half of the prior"] / (5 / half.max()) ** 2 - 1) < 1e-6
    assert half.argmax() == 0
    assert 1500 < needed["half of the prior"] < 2500
    assert 200_000 < needed["0.24 for 0.25"] < 500_000


def check_solution_of_mistakes(revealed):
    rows = {name: {row["quantity"]: row for row in comparison.rows} for name, comparison in revealed.items()}
    apart = {name: {row["quantity"] for row in comparison.apart} for name, comparison in revealed.items()}
    assert apart["masses without uncertainty"] == {f"mass[{b}]" for b in range(4)}
    assert abs(rows["sd in place of variance"]["ece"]["z"]) > 10
    assert abs(rows["a missing bin"]["ece"]["z"]) > 10
    assert "ece" not in apart["accuracy and confidence exchanged"]
    assert apart["accuracy and confidence exchanged"] >= {"signed_error", "accuracy[0]", "confidence[3]"}


def check_solution_of_truncated_confidences(by_truncation):
    change = {bins: each[0].mean() - each[1].mean() for bins, each in by_truncation.items()}
    assert 0.01 < change[4] < change[2]
    for _, _, smallest, observed in by_truncation.values():
        assert observed < smallest


def check_solution_of_the_grid_of_the_ece(drift_mean, drift_sd, drift_ece):
    assert abs(drift_ece.mean() - drift_mean) < 5 * drift_sd / np.sqrt(4000)
    assert abs(drift_ece.sd() / drift_sd - 1) < 0.06
