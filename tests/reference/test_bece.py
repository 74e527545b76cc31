"""The Dirichlet model against other implementations: exact quadrature, Monte Carlo, and the original program."""

import dataclasses
from functools import cache

import numpy as np
import pytest

import bayescal as bc

N_DRAWS = 400_000
WEIGHTS = {
    "weights q_{.,m} (corrected)": "corrected",
    "weights q_{1,m}/sum q_1 (as coded by google/uncertainty-metrics)": "original",
    "fixed weights n_m/n (empirical)": "fixed",
}


@pytest.fixture(scope="module")
def counts_of(reference_data):
    """Top-label counts of the data of a record: float64, or float32 as the original program has them."""

    @cache
    def count(name, n_bins, dtype):
        data = reference_data(name)
        label, matrix = data["labels"], data["probs"]
        if name == "cifar10_vgg16":
            label, matrix = label[:200], matrix[:200]
        else:
            matrix = np.column_stack([1 - matrix, matrix])
        predictions = bc.Predictions.from_labels(label, matrix.astype(dtype), target="top-label")
        return bc.BinnedCounts.from_predictions(predictions, bins=n_bins)

    return count


def bin_variance(counts, rule):
    width = counts.bins.widths
    if rule.startswith("h/12"):
        return width / 12
    assert rule.startswith("h^2/12")
    return width**2 / 12


@pytest.fixture(scope="module")
def ece_draws(counts_of):
    """Draws of the ECE of one record; one posterior sample serves several records."""

    @cache
    def draw(name, n_bins, rule, weighting):
        counts = counts_of(name, n_bins, np.float64)
        formula = "original" if weighting == "original" else "corrected"
        posterior = bc.dirichlet_posterior(counts, formula=formula, bin_variance=bin_variance(counts, rule))
        bins = posterior.sample(N_DRAWS, rng=20)
        if weighting == "fixed":
            bins = dataclasses.replace(bins, weight=counts.share[None])
        return bc.ece(bins).values

    return draw


@pytest.mark.slow
def test_exact_quadrature(records, counts_of, ece_draws, close_to, mcse):
    """Exact method to 1e-6 (its own accuracy is far better: 1e-8); sampler within five Monte Carlo errors."""
    for record in records("bece_exact"):
        value = record["value"]
        counts = counts_of(record["data"], value["num_bins"], np.float64)
        np.testing.assert_array_equal(counts.cells, [value["counts_incorrect"], value["counts_correct"]])
        seen = counts.occupied
        np.testing.assert_allclose(counts.mean_confidence[seen], np.array(value["bin_mean_conf"])[seen], rtol=1e-12)

        variance = bin_variance(counts, value["variance_rule"])
        posterior = bc.dirichlet_posterior(counts, bin_variance=variance)
        assert posterior.alpha == pytest.approx(value["alpha0"])
        assert posterior.ece_mean() == pytest.approx(value["post_mean_ECE"], rel=1e-8)
        assert posterior.ece_sd() == pytest.approx(value["post_sd_ECE"], rel=1e-8)

        ece = ece_draws(record["data"], value["num_bins"], value["variance_rule"], "corrected")
        close_to(ece.mean(), value["post_mean_ECE"], mcse.mean(ece), "mean")
        close_to(ece.std(ddof=1), value["post_sd_ECE"], mcse.sd(ece), "sd")
    assert len(records("bece_exact")) == 4


def test_the_exact_method_tells_the_two_variance_rules_apart(counts_of):
    """Or the test above could not fail: width / 12 for width^2 / 12 moves the mean by 5 %."""
    counts = counts_of("cifar10_vgg16", 10, np.float64)
    wide, narrow = (bc.dirichlet_posterior(counts, bin_variance=bin_variance(counts, r)) for r in ("h/12", "h^2/12"))
    assert wide.ece_mean() / narrow.ece_mean() == pytest.approx(0.9516, abs=1e-4)


@pytest.mark.slow
def test_monte_carlo_of_the_reference_maker(records, ece_draws, close_to, mcse):
    """400 000 draws on both sides: mean, sd, eleven quantiles and five probabilities, under three weightings."""
    for record in records("bece_mc"):
        value = record["value"]
        weighting = WEIGHTS[value["weighting"]]
        ece = ece_draws(record["data"], value["num_bins"], value["variance_rule"], weighting)
        what, both = f"{record['data']}, {weighting}", np.sqrt(2)
        close_to(ece.mean(), value["mean"], both * mcse.mean(ece), what)
        close_to(ece.std(ddof=1), value["sd"], both * mcse.sd(ece), what)
        for q, expected in value["quantiles"].items():
            se = np.hypot(value["quantile_mc_se"][q], mcse.quantile(ece, float(q)))
            close_to(np.quantile(ece, float(q)), expected, se, f"{what}, quantile {q}")
        for threshold, expected in value["prob_gt"].items():
            # a probability seen as 0 of 400 000 may still be a few in a million
            se = both * np.sqrt(max(expected * (1 - expected), 1 / N_DRAWS) / N_DRAWS)
            close_to((ece > float(threshold)).mean(), expected, se, f"{what}, P(> {threshold})")
    assert len(records("bece_mc")) == 12


def test_the_original_program(records, counts_of, close_to, mcse):
    """`formula="original"` is Google's code: its counts, its truncated Normals, its 5000 draws."""
    for record in records("bece_google"):
        value = record["value"]
        counts = counts_of(record["data"], value["num_bins"], np.float32)
        np.testing.assert_array_equal(counts.cells, [value["bin_counts_incorrect"], value["bin_counts_correct"]])
        posterior = bc.dirichlet_posterior(counts, formula="original")
        loc, scale, _, _ = posterior.confidence_parameters
        np.testing.assert_allclose(loc, value["post_loc"], rtol=1e-6)
        np.testing.assert_allclose(scale, value["post_scale"], rtol=1e-6)

        ece = bc.ece(posterior.sample(200_000, rng=21)).values
        theirs = value["samples"]
        more = np.sqrt(1 + len(ece) / theirs)  # of both sides, in our standard errors
        close_to(ece.mean(), value["mean"], more * mcse.mean(ece), record["data"])
        close_to(ece.std(ddof=1), value["sd"], more * mcse.sd(ece), record["data"])
        for percent, expected in value["quantiles"].items():
            q = float(percent) / 100
            se = np.hypot(mcse.quantile(ece, q), mcse.quantile(ece, q, theirs))
            close_to(np.quantile(ece, q), expected, se, f"{record['data']}, quantile {q}")
    assert len(records("bece_google")) == 2


def test_a_reported_result_agrees_with_exact_quadrature(records, reference_data, close_to):
    """The whole way, from labels and probabilities, as a user goes."""
    data = reference_data("fte_nfl")
    (record,) = [r for r in records("bece_exact") if r["data"] == "fte_nfl" and "h^2" in r["value"]["variance_rule"]]
    matrix = np.column_stack([1 - data["probs"], data["probs"]])
    ev = bc.evaluate(data["labels"], matrix, target="top-label", model="dirichlet", draws=100_000, rng=22)
    close_to(ev.ece.mean(), record["value"]["post_mean_ECE"], ev.ece.mcse(), "evaluate")


# One record of the reference file by itself, so that something remains without that folder: the top-label problem of
# 1882 football games (P(team 1 wins), 15 bins), prior 1/M per cell, integrated by scipy 1.18.1 (scipy.stats beta and
# truncnorm, no sampling). Rows by bin with outcome 0 and 1, mean confidence by bin, posterior mean and sd of the ECE.
INCORRECT = [0] * 7 + [93, 192, 155, 121, 71, 28, 10, 0]
CORRECT = [0] * 7 + [106, 249, 247, 224, 187, 141, 55, 3]
MEAN_CONFIDENCE = [
    *[0.0] * 7,
    *[0.5172955424912439, 0.5655305591333198, 0.6337386587478228, 0.697114564952016],
    *[0.7635096454155431, 0.8291805430509251, 0.8937384394748837, 0.9440243920227699],
]


@pytest.mark.parametrize(
    ("variance", "mean", "sd"),
    [
        ((1 / 15) ** 2 / 12, 0.031722397266178315, 0.008300979909399587),
        ((1 / 15) / 12, 0.031891416428602645, 0.008377517002598759),
    ],
)
def test_exact_moments_from_quoted_counts(variance, mean, sd):
    cells = np.array([INCORRECT, CORRECT])
    empty = bc.BinnedCounts.empty(15)
    deviation = cells * (np.array(MEAN_CONFIDENCE) - empty.bins.midpoints)
    counts = bc.BinnedCounts(
        empty.bins, cells, cells.astype(float), deviation, np.zeros(15), cells.sum(axis=0).astype(float)
    )
    posterior = bc.dirichlet_posterior(counts, bin_variance=variance)
    assert posterior.ece_mean() == pytest.approx(mean, rel=1e-8)
    assert posterior.ece_sd() == pytest.approx(sd, rel=1e-8)
    drawn = bc.ece(posterior.sample(400_000, rng=1))
    assert abs(drawn.mean() - mean) < 5 * drawn.mcse()
