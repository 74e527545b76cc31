"""Saturated bins: mixtures of Betas in closed form, coverage by enumeration, and the limits of no rows."""

import numpy as np
import pytest
from moments_of_ece import sums_of_gaps
from scipy import stats

from bayescal.posterior.shrinkage.saturated import EXACT_ODDS, SaturatedBins, is_saturated

DRAWS = 200_000


def test_saturated_bins_are_mixtures_of_betas_or_all_as_stated(close_to, contrary_share):
    n, k, c = np.array([300.0, 200.0]), np.array([0.0, 200.0]), np.array([0.0, 1.0])
    found = SaturatedBins(n, k, c)
    assert found.exact_probability == pytest.approx(0.05)
    accuracy, off = found.draw(DRAWS, np.random.default_rng(7))
    close_to((~off).all(axis=1).mean(), 0.05, 5e-4, "all exact")
    assert np.all(off[:, 0] == off[:, 1])
    np.testing.assert_array_equal(accuracy[~off[:, 0]], np.tile(c, ((~off[:, 0]).sum(), 1)))
    contrary = np.abs(accuracy - c)[off[:, 0]]
    _, expected, variance = np.transpose([contrary_share(rows, 0) for rows in n])
    close_to(contrary.mean(axis=0), expected, np.sqrt(variance / len(contrary)), "mean share")
    close_to(contrary.var(axis=0), variance, 0.01 * variance, "its variance")
    mean, variance, squares = sums_of_gaps(found, n)
    total = np.abs(accuracy - c) @ n
    close_to(total.mean(), mean, np.sqrt(variance / DRAWS), "sum of gaps")
    close_to(total.var(), variance, 0.02 * variance, "its variance")
    close_to((np.abs(accuracy - c) ** 2 @ n).mean(), squares, 0.05 * squares, "sum of squares")


def test_the_evidence_of_saturated_bins_is_that_of_the_mixture(contrary_share):
    n, k, c = np.array([50.0, 80.0]), np.array([2.0, 79.0]), np.array([0.0, 1 - 1e-5])
    found = SaturatedBins(n, k, c)
    assert found.log_evidence == pytest.approx(contrary_share(50, 2)[0] + contrary_share(80, 1)[0], abs=1e-7)
    expected = 2 * np.log(1e-9) + 48 * np.log1p(-1e-9) + np.log(1e-5) + 79 * np.log1p(-1e-5)
    assert found.log_exact == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("confidence", [0.0, 1.0])
def test_intervals_of_saturated_bins_contain_any_true_share(n, confidence):
    """By enumeration over the numbers of contrary outcomes, at each share of .01, .02, ..., .90.

    Clopper-Pearson's intervals contain it with a probability of at least 0.95, and Beta(1/2, 10) alone had 0.00.
    """
    contrary = np.arange(n + 1)
    rows, stated = np.full(n + 1, float(n)), np.full(n + 1, confidence)
    outcomes = np.where(stated > 0.5, n - contrary, contrary).astype(float)
    # each bin is one possible data set; the state in which all are exact is a property of each alone
    low, high = np.transpose(
        [
            np.quantile(
                np.abs(SaturatedBins(*one).draw(20_000, np.random.default_rng(i))[0][:, 0] - confidence), [0.025, 0.975]
            )
            for i, one in enumerate(zip(rows[:, None], outcomes[:, None], stated[:, None], strict=True))
        ]
    )
    share = np.arange(1, 91) / 100
    inside = (low[:, None] <= share) & (share <= high[:, None])
    coverage = (stats.binom.pmf(contrary[:, None], n, share) * inside).sum(axis=0)
    assert coverage.min() > 0.85
    assert coverage.mean() > 0.93


def test_a_contrary_outcome_speaks_against_a_stated_zero():
    assert SaturatedBins(np.array([1000.0]), np.array([1.0]), np.array([0.0])).exact_probability == 0
    # 1e-5 stated, 1 of 1000 seen: odds 0.05 / 0.95 times the likelihood ratio
    ratio = np.log(1e-5) + 999 * np.log1p(-1e-5) - np.log(1e-3) - 999 * np.log1p(-1e-3)
    odds = 0.05 / 0.95 * np.exp(ratio)
    found = SaturatedBins(np.array([1000.0]), np.array([1.0]), np.array([1e-5]))
    assert found.exact_probability == pytest.approx(odds / (1 + odds))


def test_which_bins_are_saturated():
    four_digits = np.array([0.0001, 0.9999])  # 1 - 0.9999 is rounded below 0.0001
    assert is_saturated(four_digits).tolist() == [True, True]
    assert is_saturated(np.array([0, 9.9e-5, 1.01e-4, 0.5, 1 - 9.9e-5, 1.0])).tolist() == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


def test_saturated_bins_without_rows_are_the_prior():
    """Odds of exact calibration are those of the prior; nothing is divided by 0 rows."""
    nothing = np.zeros(1)
    found = SaturatedBins(nothing, nothing, np.full(1, 5e-5))
    assert found.exact_probability == pytest.approx(EXACT_ODDS / (1 + EXACT_ODDS))


def test_mean_accuracies_are_those_of_the_draws():
    """Four Monte Carlo errors of 200 000 draws, for two bins: exceeded in 1 of 8000 data sets."""
    found = SaturatedBins(np.array([40.0, 7.0]), np.array([3.0, 6.0]), np.array([1e-5, 1 - 1e-6]))
    accuracy, _ = found.draw(DRAWS, np.random.default_rng(3))
    error = accuracy.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(accuracy.mean(axis=0) - found.accuracy_mean()) < 4 * error).all()
