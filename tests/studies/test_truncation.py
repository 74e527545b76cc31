"""The truncated likelihood against mpmath, a brute-force grid with SciPy's truncated Normal, and its limits."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from studies.truncation import (
    RELATIVE_SD,
    confidence_posterior,
    mean_of_truncated,
    truncated_ece_mean,
    truncation_study,
)

from bayescal import BinnedCounts, dirichlet_posterior

#: Rows and observed means: few, many, in the middle, off it, next to either edge, on it.
CELLS = [(1, 0.5), (1, 0.05), (10, 0.25), (10, 0.97), (100, 0.5), (100, 0.05), (1000, 0.25), (1000, 0.05), (7.5, 1.0)]


def by_mpmath(n, observed, s):
    """Mean and sd of E[c | mu], from densities written out with 25 digits."""
    with mp.workdps(25):
        n, observed, s = mp.mpf(n), mp.mpf(observed), mp.mpf(s)

        def inside(mu):
            return mp.ncdf(1, mu, s) - mp.ncdf(0, mu, s)

        def expected(mu):
            return mu + s**2 * (mp.npdf(0, mu, s) - mp.npdf(1, mu, s)) / inside(mu)

        def log_density(mu):
            return -((mu - 0.5) ** 2 + n * (mu - observed) ** 2) / (2 * s**2) - n * mp.log(inside(mu))

        best = max((mp.mpf(i) / 100 for i in range(101)), key=log_density)
        top, away = log_density(best), [mp.mpf(10) ** -power for power in (1, 1.5, 2, 3, 4)]
        points = sorted({mp.mpf(0), mp.mpf(1), best, *(p for a in away for p in (best - a, best + a) if 0 < p < 1)})

        def integral(f):
            return mp.quad(lambda mu: f(expected(mu)) * mp.exp(log_density(mu) - top), points)

        whole = integral(lambda c: mp.mpf(1))
        mean = integral(lambda c: c) / whole
        return float(mean), float(mp.sqrt(integral(lambda c: (c - mean) ** 2) / whole))


@pytest.mark.measuring
@pytest.mark.parametrize(("n", "observed"), [(1, 0.05), (10, 0.25), (100, 0.05), (10_000, 0.05)])
def test_moments_by_mpmath(n, observed):
    found = confidence_posterior(n, observed)
    mean, sd = by_mpmath(n, observed, RELATIVE_SD)
    assert found.mean() == pytest.approx(mean, rel=1e-10)
    assert found.sd() == pytest.approx(sd, rel=1e-9)


def by_grid(n, observed, s, truncation, size=100_001):
    """The posterior on a grid of mu by SciPy's truncated Normal, with data whose mean and spread are written out."""
    mu = np.linspace(0, 1, size)
    if truncation == "mean":
        log_likelihood, confidence = n * stats.norm.logpdf(observed, mu, s), mu
    else:
        # given their mean the spread of the rows does not matter, so all of them are there
        log_likelihood = n * stats.truncnorm.logpdf(observed, -mu / s, (1 - mu) / s, mu, s)
        inside = stats.norm.cdf(1, mu, s) - stats.norm.cdf(0, mu, s)
        confidence = mu + s**2 * (stats.norm.pdf(0, mu, s) - stats.norm.pdf(1, mu, s)) / inside
    log_density = log_likelihood + stats.norm.logpdf(mu, 0.5, s)
    weight = np.exp(log_density - log_density.max())
    weight[[0, -1]] /= 2
    return confidence, weight / weight.sum()


@pytest.mark.parametrize("truncation", ["mean", "confidences"])
@pytest.mark.parametrize(("n", "observed"), CELLS)
def test_moments_by_brute_force(n, observed, truncation):
    found = confidence_posterior(n, observed, truncation=truncation)
    confidence, weight = by_grid(n, observed, RELATIVE_SD, truncation)
    mean = weight @ confidence
    assert found.mean() == pytest.approx(mean, abs=1e-7)
    assert found.sd() == pytest.approx(np.sqrt(weight @ (confidence - mean) ** 2), rel=2e-4)
    for accuracy in (0.0, 0.2, mean, 0.9):
        assert found.mean_gap(accuracy) == pytest.approx(weight @ np.abs(accuracy - confidence), abs=3e-6)


@pytest.mark.parametrize("s", [0.05, RELATIVE_SD, 2.0])
def test_the_formula_for_the_mean_is_that_of_scipy(s):
    mu = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
    expected = stats.truncnorm.mean(-mu / s, (1 - mu) / s, mu, s)
    np.testing.assert_allclose(mean_of_truncated(mu, s), expected, rtol=1e-10)


def test_the_mean_confidence_cannot_come_near_an_edge():
    """At mu = 0, by arithmetic: s (phi(0) - phi(sqrt 12)) / (Phi(sqrt 12) - 1/2), and no smaller mu is allowed."""
    s, end = mp.sqrt(mp.mpf(1) / 12), mp.sqrt(12)
    nearest = float(s * (mp.npdf(0) - mp.npdf(end)) / (mp.ncdf(end) - 0.5))
    assert nearest == pytest.approx(0.23, abs=0.0005)
    assert mean_of_truncated(0.0) == pytest.approx(nearest, rel=1e-12)
    assert mean_of_truncated(1.0) == pytest.approx(1 - nearest, rel=1e-12)
    assert np.all(np.diff(mean_of_truncated(np.linspace(0, 1, 1001))) > 0)


@pytest.mark.parametrize(
    ("observed", "reached"), [(0.05, 0.2299), (0.2, 0.2299), (0.25, 0.25), (0.5, 0.5), (0.9, 0.7701)]
)
def test_with_many_rows_it_stops_there_and_the_conjugate_model_does_not(observed, reached):
    truncated, conjugate = (confidence_posterior(1e8, observed, truncation=t) for t in ("confidences", "mean"))
    assert truncated.mean() == pytest.approx(reached, abs=1e-4)
    assert conjugate.mean() == pytest.approx(observed, abs=1e-6)
    assert max(truncated.sd(), conjugate.sd()) < 1e-4


def test_without_rows_it_is_the_prior():
    """Of mu the same under both: a Normal around the middle, truncated to the bin."""
    prior = stats.truncnorm(-np.sqrt(3), np.sqrt(3), 0.5, RELATIVE_SD)
    for truncation in ("mean", "confidences"):
        found = confidence_posterior(0, 0.9, truncation=truncation)
        assert found.weight @ found.location == pytest.approx(prior.mean(), rel=1e-12)
        assert found.weight @ (found.location - 0.5) ** 2 == pytest.approx(prior.var(), rel=1e-10)


def test_confidences_much_narrower_than_the_bin_are_not_truncated():
    """Then Z is 1 and both are the conjugate posterior; this one by the textbook, as its ends are twelve sd away."""
    s, n, observed = 0.02, 5, 0.4
    for truncation in ("mean", "confidences"):
        found = confidence_posterior(n, observed, truncation=truncation, relative_sd=s)
        assert found.mean() == pytest.approx((0.5 + n * observed) / (n + 1), rel=1e-10)
        assert found.sd() == pytest.approx(s / np.sqrt(n + 1), rel=1e-9)


def test_the_upper_edge_is_the_mirror_of_the_lower():
    low, high = confidence_posterior(20, 0.1), confidence_posterior(20, 0.9)
    assert high.mean() == pytest.approx(1 - low.mean(), rel=1e-12)
    assert high.sd() == pytest.approx(low.sd(), rel=1e-10)


# --- the ECE


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(2)
    confidence = np.concatenate([rng.beta(8, 1, 300), [0.02, 0.4]])
    return BinnedCounts.from_arrays(rng.random(302) < confidence**1.5, confidence, bins=[0, 0.1, 0.5, 0.9, 1.0])


def test_the_conjugate_ece_by_these_integrals_is_that_of_the_posterior(counts):
    posterior = dirichlet_posterior(counts, alpha="jeffreys")
    assert truncated_ece_mean(posterior, truncation="mean") == pytest.approx(posterior.ece_mean(), rel=1e-8)


def test_the_truncated_ece_by_brute_force(counts):
    """Sum over bins of E[mass] times E|theta - E[c | mu]|, Betas and mu as a million draws, to 4 standard errors."""
    posterior = dirichlet_posterior(counts, alpha=0.5)
    rng, total, variance = np.random.default_rng(3), 0.0, 0.0
    for b, (low, high) in enumerate(zip(counts.bins.edges[:-1], counts.bins.edges[1:], strict=True)):
        n, k = counts.n[b], counts.k[b]
        place = (counts.mean_confidence[b] - low) / (high - low) if n else 0.5
        confidence, weight = by_grid(n, place, RELATIVE_SD, "confidences", size=20_001)
        drawn = low + (high - low) * rng.choice(confidence, 1_000_000, p=weight)
        gap = np.abs(rng.beta(0.5 + k, 0.5 + n - k, 1_000_000) - drawn)
        mass = (1 + n) / (4 + counts.n_rows)
        total, variance = total + mass * gap.mean(), variance + mass**2 * gap.var() / 1_000_000
    assert truncated_ece_mean(posterior) == pytest.approx(total, abs=4 * np.sqrt(variance))
    assert abs(posterior.ece_mean() - total) > 20 * np.sqrt(variance)


def test_the_original_formula_has_no_exact_moments(counts):
    with pytest.raises(NotImplementedError, match="corrected"):
        truncated_ece_mean(dirichlet_posterior(counts, formula="original"))


# --- the study


def test_the_study_has_every_combination_and_scales_with_the_width():
    study = truncation_study()
    assert len(study.rows) == 3 * 4 * 3
    frame = study.to_frame().set_index(["width", "n_rows", "observed"])
    wide, narrow = frame.loc[1 / 2], frame.loc[1 / 100]
    in_widths = ["conjugate_mean", "conjugate_sd", "truncated_mean", "truncated_sd"]
    np.testing.assert_array_equal(wide[in_widths], narrow[in_widths])
    np.testing.assert_allclose(wide[["shift", "ece_change"]], 50 * narrow[["shift", "ece_change"]], atol=1e-15)


@pytest.mark.measuring
def test_the_ece_changes_most_where_the_accuracy_is_worst(counts):
    """The largest over accuracies on a fine grid; never less than the shift of the mean."""
    for row in truncation_study(widths=[1.0]).rows:
        accuracy = np.linspace(0, 1, 1001)
        pair = [by_grid(row["n_rows"], row["observed"], RELATIVE_SD, t, 20_001) for t in ("mean", "confidences")]
        gaps = [np.abs(accuracy[:, None] - c[w > 1e-12]) @ w[w > 1e-12] for c, w in pair]
        expected = np.abs(gaps[1] - gaps[0]).max()
        assert row["ece_change"] == pytest.approx(expected, rel=0.02, abs=2e-5)
        assert row["ece_change"] >= abs(row["shift"]) - 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confidence_posterior(-1), "`n_rows` must"),
        (lambda: confidence_posterior(1, 1.5), "`observed` must.*first at index 0: 1.5"),
        (lambda: confidence_posterior(1, np.nan), "`observed` must"),
        (lambda: confidence_posterior(1, 0.5, relative_sd=0), "`relative_sd` must"),
        (lambda: confidence_posterior(1, 0.5, truncation="both"), "`truncation` must be one of"),
        (lambda: truncation_study(widths=[2]), "`widths` must"),
    ],
)
def test_arguments_that_make_no_sense(call, message):
    with pytest.raises(ValueError, match=message):
        call()
