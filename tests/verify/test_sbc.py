"""Simulation-based calibration: its tests of uniformity, its simulator, its power, and that our samplers pass it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bayescal import BinnedCounts, dirichlet_posterior
from bayescal.verify.sbc import (
    Ranks,
    StackedCounts,
    chi_square_p,
    ecdf_band,
    ecdf_p,
    one_by_one,
    plot_ranks,
    reference_model,
    sbc,
)

#: Probability that a right sampler fails one of the tests below that say so.
ERROR_RATE = 1e-6


# --- tests of uniformity


def slow_ecdf_p(histogram):
    """Sum of the probabilities of all histograms whose statistic is as small: the definition, by enumeration."""
    n, n_cells = sum(histogram), len(histogram)
    place = np.arange(1, n_cells) / n_cells

    def statistic(counts):
        below = np.cumsum(counts)[:-1]
        return 2 * min(stats.binom.cdf(below, n, place).min(), stats.binom.sf(below - 1, n, place).min())

    own = statistic(histogram)
    total = 0.0
    for counts in itertools.product(range(n + 1), repeat=n_cells):
        if sum(counts) == n and statistic(counts) <= own * (1 + 1e-9):
            total += math.factorial(n) / math.prod(math.factorial(c) for c in counts) / n_cells**n
    return total


@pytest.mark.parametrize(
    "histogram", [(3, 0), (2, 2, 2), (0, 6, 0), (5, 1, 0), (0, 0, 6), (1, 2, 1, 1), (4, 0, 1, 0), (0, 1, 2, 3)]
)
def test_ecdf_p_is_its_definition(histogram):
    assert ecdf_p(histogram) == pytest.approx(slow_ecdf_p(histogram), rel=1e-12)


@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_the_band_holds_as_many_uniform_samples_as_it_says(n):
    """100 000 simulated samples; the band is discrete, so it holds 95 % or somewhat more, and a narrower one less."""
    rng = np.random.default_rng(1)
    below = np.cumsum(rng.multinomial(n, np.full(20, 1 / 20), size=100_000), axis=1)[:, :-1]
    low, high = ecdf_band(n, 20, 0.95)
    inside = np.all((below >= low) & (below <= high), axis=1).mean()
    assert 0.95 - 5 * np.sqrt(0.95 * 0.05 / 100_000) < inside < 0.96
    histogram = np.diff(low, prepend=0, append=n)  # a sample that walks along the lower edge is inside, just
    assert ecdf_p(histogram) + 0.01 > 0.05 - 0.01
    assert ecdf_p(np.diff(np.maximum(low - 1, 0), prepend=0, append=n)) < 0.05


def test_the_band_is_that_of_arviz():
    """ArviZ finds it by simulation (10 000 samples); counts agree to one."""
    from arviz_stats.ecdf_utils import get_pointwise_confidence_band, simulate_confidence_bands

    place = np.arange(1, 20) / 20
    pointwise = simulate_confidence_bands(500, 1, place, 0.95, 10_000, np.random.default_rng(1))
    theirs = np.stack(get_pointwise_confidence_band(pointwise, 500, place)) * 500
    assert np.abs(np.stack(ecdf_band(500, 20, 0.95)) - theirs).max() < 1.01


def test_p_values_of_uniform_ranks_are_uniform():
    """Of 800 samples, the share with p < q is q at most (p-values are discrete) and not far below."""
    rng = np.random.default_rng(2)
    histograms = rng.multinomial(1000, np.full(20, 1 / 20), size=800)
    for test in (chi_square_p, ecdf_p):
        p = np.array([test(h) for h in histograms])
        for q in (0.5, 0.1, 0.01):
            assert abs((p < q).mean() - q) < 5 * np.sqrt(q * (1 - q) / 800) + 0.02 * q, (test.__name__, q)


def test_chi_square_against_scipy():
    for histogram in ([60, 40], [5, 9, 7, 11], np.arange(20) + 40):
        assert chi_square_p(histogram) == pytest.approx(stats.chisquare(histogram).pvalue, rel=1e-10)


def test_far_tails_stay_finite():
    assert ecdf_p([0] * 19 + [100_000]) == 1e-12
    assert ecdf_p([5000] * 20) == 1.0


# --- ranks


def ranks_of(values, n_draws=99, n_cells=20, pooled=()):
    return Ranks(values, n_draws, n_cells, pooled)


def test_uniform_ranks_pass_and_others_do_not():
    rng = np.random.default_rng(3)
    uniform = ranks_of({"a": rng.integers(0, 100, 1000), "b": rng.integers(0, 100, (1000, 3))}, pooled=("b",))
    assert set(uniform.samples) == {"a", "b, all bins", "b[0]", "b[1]", "b[2]"}
    assert len(uniform.samples["b, all bins"]) == 3000
    assert uniform.rejected(1e-4) == []
    skew = ranks_of({"a": rng.integers(0, 100, 1000), "b": (100 * rng.beta(1.3, 1, 1000)).astype(int)})
    assert skew.rejected(1e-4) == ["b"]
    assert skew.p_value < 1e-4
    assert {row["quantity"] for row in skew.summary()} == {"a", "b"}


def test_p_values_of_both_tests_are_combined():
    rng = np.random.default_rng(4)
    ranks = ranks_of({name: rng.integers(0, 100, 500) for name in "abc"})
    for name in "abc":
        histogram = np.bincount(ranks.values[name] // 5, minlength=20)
        assert ranks.p_values[name] == min(1, 2 * min(chi_square_p(histogram), ecdf_p(histogram)))
    assert ranks.p_value == min(1, 3 * min(ranks.p_values.values()))


class AllTies:
    """A model whose truths and draws are all the same numbers, so that every rank is a tie."""

    parameters = ("accuracy",)
    independent = ()

    def __init__(self):
        self.inner = reference_model(bins=3, rows=5)

    def simulate(self, n_sets, rng):
        truth, counts = self.inner.simulate(n_sets, rng)
        return replace(truth, **{name: np.full_like(truth.mass, 1 / 3) for name in FIELDS}), counts

    def log_likelihood(self, bins, counts):
        return np.zeros(bins.mass.shape[:-1])

    def sample(self, counts, n_draws, rng):
        truth, _ = self.inner.simulate(1, rng)
        return replace(truth, **{name: np.full((n_draws, len(counts), 3), 1 / 3) for name in FIELDS})


FIELDS = ("mass", "accuracy", "confidence", "weight")


def test_ties_are_broken_at_random():
    ranks = sbc(AllTies(), runs=2000, rng=1)
    assert ranks.rejected(ERROR_RATE) == []
    assert set(ranks.values["ece"].tolist()) == set(range(100))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"draws": 100}, ValueError, r"20 does not divide 101. `draws=99` would do"),
        ({"draws": 5, "cells": 20}, ValueError, "`draws=19` would do"),
        ({"runs": 0}, ValueError, "`runs` must be an integer >= 1"),
        ({"cells": 1}, ValueError, "`cells` must be an integer >= 2"),
        ({"rng": -1}, ValueError, "rng|expected non-negative"),
    ],
)
def test_options_that_make_no_sense(options, error, message):
    with pytest.raises(error, match=message):
        sbc(reference_model(bins=3), **options)


def test_the_same_seed_gives_the_same_ranks_and_the_same_data_for_every_sampler():
    model = reference_model(bins=3, rows=20)
    seen = []

    def spy(counts, n_draws, rng):
        seen.append(counts.cells)
        rng.random(7)
        return model.sample(counts, n_draws, rng)

    one, same = (sbc(model, runs=50, rng=4) for _ in range(2))
    other, _ = sbc(model, spy, runs=50, rng=4), sbc(model, spy, runs=50, rng=4)
    np.testing.assert_array_equal(one.values["ece"], same.values["ece"])
    np.testing.assert_array_equal(seen[0], seen[1])
    assert not np.array_equal(one.values["ece"], other.values["ece"])


# --- the simulator


def test_truths_have_the_moments_of_the_prior(close_to, mcse):
    """q ~ Dirichlet(alpha) over cells: masses, accuracies, products of cells; bin means N(mid, width^2/12) on bins."""
    alpha = np.array([[0.3, 1.0, 2.0], [1.5, 0.2, 4.0]])
    edges = np.array([0.0, 0.2, 0.5, 1.0])
    truth, counts = reference_model(bins=edges, alpha=alpha, rows=1).simulate(100_000, np.random.default_rng(5))
    mass, accuracy, confidence = (v[0] for v in (truth.mass, truth.accuracy, truth.confidence))
    total = alpha.sum()
    close_to(mass.mean(axis=0), alpha.sum(axis=0) / total, mcse.mean(mass), "mass")
    close_to(accuracy.mean(axis=0), alpha[1] / alpha.sum(axis=0), mcse.mean(accuracy), "accuracy")
    product = mass[:, 0] * accuracy[:, 0] * mass[:, 2] * (1 - accuracy[:, 2])  # two cells: a_i a_j / (A (A + 1))
    close_to(product.mean(), 1.5 * 2.0 / (total * (total + 1)), mcse.mean(product), "two cells")
    for b, (low, high) in enumerate(itertools.pairwise(edges)):
        sd = (high - low) / np.sqrt(12)
        exact = stats.truncnorm(-np.sqrt(3), np.sqrt(3), (low + high) / 2, sd)
        empty = confidence[counts.n[:, b] == 0, b]  # with rows, bin means that no rows can have are drawn again
        close_to(empty.mean(), exact.mean(), mcse.mean(empty), "confidence")
        close_to(empty.std(ddof=1), exact.std(), mcse.sd(empty), "sd of confidence")


def test_data_have_the_moments_of_the_likelihood(close_to, mcse):
    """Given the truth: multinomial rows, binomial outcomes, and means inside their bins."""
    model = reference_model(bins=4, alpha=2.0, rows=40)
    truth, counts = model.simulate(50_000, np.random.default_rng(6))
    assert counts.n.sum(axis=1).tolist() == [40] * 50_000
    surplus = counts.n - 40 * truth.mass[0]
    close_to(surplus.mean(axis=0), 0, mcse.mean(surplus), "rows")
    surplus = counts.k - counts.n * truth.accuracy[0]
    close_to(surplus.mean(axis=0), 0, mcse.mean(surplus), "outcomes")
    variance = surplus**2 - counts.n * truth.accuracy[0] * (1 - truth.accuracy[0])
    close_to(variance.mean(axis=0), 0, mcse.mean(variance), "variance of outcomes")
    mean = counts.mean_confidence[counts.occupied]
    edges = np.broadcast_to(counts.bins.edges[:-1], counts.n.shape)[counts.occupied]
    assert np.all((mean >= edges) & (mean <= edges + 0.25))


def test_rows_of_weight_zero_are_there_and_count_nothing():
    model = reference_model(bins=4, rows=40, weight=3.0, discarded=25)
    _, counts = model.simulate(100, np.random.default_rng(7))
    np.testing.assert_array_equal(counts.n_rows[:, 0], 65)
    np.testing.assert_allclose(counts.effective_rows[:, 0], 40)
    np.testing.assert_allclose(counts.effective_n.sum(axis=1), 40)


def test_a_stack_is_its_data_sets():
    """Everything that a posterior computes from stacked counts is what it computes from each data set alone."""
    model = reference_model(bins=5, rows=30, weight=2.0, discarded=10)
    _, stack = model.simulate(20, np.random.default_rng(8))
    assert len(stack) == 20
    assert repr(stack) == "StackedCounts(5 equal-width bins [a, b), 20 data sets)"
    together = dirichlet_posterior(stack, alpha="jeffreys")
    for i, one in enumerate(stack):
        assert type(one) is BinnedCounts
        for name in ("n", "k", "share", "accuracy", "mean_confidence", "effective_n", "effective_k", "occupied"):
            np.testing.assert_array_equal(getattr(stack, name)[i], getattr(one, name), err_msg=name)
        assert stack.effective_rows[i, 0] == one.effective_rows
        assert stack.n_rows[i, 0] == one.n_rows
        alone = dirichlet_posterior(one, alpha="jeffreys")
        np.testing.assert_array_equal(together.mass_parameters[i], alone.mass_parameters)
        for every, single in zip(together.accuracy_parameters, alone.accuracy_parameters, strict=True):
            np.testing.assert_array_equal(every[i], single)
        for every, single in zip(together.confidence_parameters[:2], alone.confidence_parameters[:2], strict=True):
            np.testing.assert_array_equal(np.broadcast_to(every, (20, 5))[i], single)


def test_a_stack_of_one_gives_the_draws_of_one():
    _, stack = reference_model(bins=5, rows=30).simulate(1, np.random.default_rng(9))
    many, one = (dirichlet_posterior(c).sample(50, rng=1) for c in (stack, next(iter(stack))))
    for name in ("mass", "accuracy", "confidence"):
        np.testing.assert_array_equal(getattr(many, name)[:, 0], getattr(one, name))


def test_an_empty_stack_of_rows_is_the_prior():
    zero = np.zeros((2, 3, 4))
    stack = StackedCounts(BinnedCounts.empty(4).bins, zero.astype(np.int64), zero, zero, zero[0], zero[0])
    np.testing.assert_array_equal(stack.share, 0)
    np.testing.assert_array_equal(stack.effective_rows, 0)


# --- our sampler


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": "reference"},
        {"alpha": "perks"},
        {"alpha": "jeffreys"},
        {"alpha": "uniform"},
        {"alpha": "uniform", "rows": 5},
        {"bins": [0, 0.02, 0.5, 0.9, 1.0], "alpha": "jeffreys"},
        {"bins": 5, "weight": 3.0, "discarded": 50, "alpha": "jeffreys"},
        {"bins": 2, "rows": 10, "alpha": [[1.0, 0.01], [3.0, 20.0]]},
    ],
    ids=str,
)
def test_our_sampler_is_calibrated(options):
    """False alarm rate 1e-6; `test_an_error_of_the_width_is_seen` says what 1000 runs can see."""
    assert sbc(reference_model(**options), runs=1000, rng=10).rejected(ERROR_RATE) == []


def test_one_data_set_after_the_other():
    """The slow path for any posterior; a pool of draws, of which a random few are kept, changes nothing."""
    model = reference_model(bins=5, rows=50, alpha="jeffreys")
    for pool in (None, 150):
        ranks = sbc(model, one_by_one(model.posterior, pool=pool), runs=400, rng=11)
        assert ranks.rejected(ERROR_RATE) == []
    wrong = one_by_one(lambda counts: dirichlet_posterior(counts, alpha=5.0))
    assert sbc(model, wrong, runs=400, rng=11).rejected(ERROR_RATE)


def wider(model, factor):
    """The right sampler with standard deviations of all accuracies times a factor."""

    def sample(counts, n_draws, rng):
        right = model.sample(counts, n_draws, rng)
        mean = right.accuracy.mean(axis=0)
        return replace(right, accuracy=np.clip(mean + factor * (right.accuracy - mean), 0, 1))

    return sample


@pytest.mark.parametrize(("runs", "factor"), [(100, 1.25), (1000, 1.05), (1000, 0.95)])
def test_an_error_of_the_width_is_seen(runs, factor):
    """At an error rate of 1e-6, on each of three seeds: so a single run of the test sees it with high probability."""
    model = reference_model(alpha="uniform")
    for seed in range(3):
        assert "accuracy, all bins" in sbc(model, wider(model, factor), runs=runs, rng=seed).rejected(ERROR_RATE)


def test_data_dependent_quantities_are_needed():
    """Draws from the prior have uniform ranks of every parameter; the likelihood and the worst bin tell."""
    model = reference_model(bins=8, alpha="uniform", rows=50)

    def prior(counts, n_draws, rng):
        truth, _ = model.simulate(n_draws * len(counts), rng)
        shape = (n_draws, len(counts), 8)
        return replace(truth, **{name: getattr(truth, name).reshape(shape) for name in FIELDS})

    ranks = sbc(model, prior, runs=1000, rng=12)
    rejected = ranks.rejected(ERROR_RATE)
    assert {"log_likelihood", "worst_gap"} <= set(rejected)
    assert not [name for name in rejected if name.startswith(("mass", "accuracy", "ece", "signed"))]


# --- the picture


@pytest.fixture
def axes():
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    yield plt.figure().subplots()
    assert dict(mpl.rcParams) == before
    plt.close("all")


def test_the_picture_names_what_leaves_the_band(axes):
    even = np.random.default_rng(13).permuted(np.tile(np.arange(100), (3, 10)), axis=1)
    values = {"fine": even[0], "b": even[1:].T}
    assert plot_ranks(ranks_of(values, pooled=("b",)), axes) is axes
    assert axes.get_title(loc="left").startswith("all 3 inside the 95 % band")
    assert len(axes.lines) == 4  # and the axis
    axes.clear()
    values["skew"] = np.maximum(even[0], even[1])
    plot_ranks(ranks_of(values), axes)
    assert axes.get_title(loc="left").startswith("1 of 4 outside")
    assert [text.get_text() for text in axes.texts] == ["skew"]


def test_the_picture_without_axes_is_a_new_one(axes):
    values = {"fine": np.random.default_rng(14).integers(0, 100, 200)}
    assert plot_ranks(ranks_of(values)) is not axes
