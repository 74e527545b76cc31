"""The compiled form of the shrinkage posterior against the other form, quadrature and exact distributions.

Statistical tests have fixed seeds; each bound is exceeded by chance with a probability below 1e-4.
"""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from moments_of_ece import ece_mean, ece_sd
from scipy import stats

from bayescal import BinnedCounts, ClasswiseCounts, evaluate, evaluate_counts, shrinkage_posterior
from bayescal.analyses.one import evaluate_one
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import null_bins
from bayescal.posterior.shrinkage import many
from bayescal.posterior.shrinkage.model import MANY_PROBLEMS, compiled_form, compiled_form_pays
from bayescal.posterior.shrinkage.sub_model import SamplerWarning

pytest.importorskip("numba")


DRAWS = 20_000
KINDS = ("flat", "crowded", "top", "saturated")


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [1, 20, 300, 5000, 100_000, 3_000_000])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_sub_models_agree(kind, n_rows, both, counts_of_kind):
    """To a fifth of the Monte Carlo error of 4000 draws of a probability of 1/2."""
    one, other = both(counts_of_kind(kind, n_rows))
    assert (other._compiled is None) == one.all_saturated
    assert list(other.probabilities) == list(one.probabilities)
    for name, probability in one.probabilities.items():
        assert other.probabilities[name] == pytest.approx(probability, abs=0.0016), name
    assert other.log_bayes_factor == pytest.approx(one.log_bayes_factor, abs=0.01)
    assert other.p_calibrated == pytest.approx(one.p_calibrated, abs=0.0016)


@pytest.mark.parametrize("bins", [1, 2, 5, 40])
def test_probabilities_agree_with_any_number_of_bins(bins, both, counts_of_kind):
    one, other = both(counts_of_kind("flat", 800, bins))
    for name, probability in one.probabilities.items():
        assert other.probabilities[name] == pytest.approx(probability, abs=0.0016), name


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [3, 60, 2000, 100_000])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_moments_of_quadrature(kind, n_rows, both, counts_of_kind):
    one, other = both(counts_of_kind(kind, n_rows, seed=2))
    errors = ece(other.sample(DRAWS, rng=3)).values
    assert errors.mean() == pytest.approx(ece_mean(one), abs=4.5 * errors.std() / np.sqrt(DRAWS) + 2e-3 * ece_sd(one))
    assert errors.std() == pytest.approx(ece_sd(one), rel=0.05)


def test_a_problem_has_the_same_draws_whatever_was_solved_before(counts_of_kind):
    """Also in another thread, and after pickling."""
    first, second = (compiled_form(shrinkage_posterior(counts_of_kind("flat", n))) for n in (300, 500))
    alone = first.sample(50, rng=1).accuracy
    second.sample(50, rng=1)
    np.testing.assert_array_equal(first.sample(50, rng=1).accuracy, alone)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).sample(50, rng=1).accuracy, alone)
    with ThreadPoolExecutor(4) as pool:
        for drawn in pool.map(lambda i: (first if i % 2 else second).sample(50, rng=1).accuracy, range(40)):
            assert np.array_equal(drawn, alone) or not np.isclose(drawn, alone).all()
        odd = list(pool.map(lambda i: (first if i % 2 else second).sample(50, rng=1).accuracy, range(40)))[1::2]
    for drawn in odd:
        np.testing.assert_array_equal(drawn, alone)


@pytest.mark.parametrize(
    "counts",
    [
        BinnedCounts.empty(15),
        BinnedCounts.from_arrays(np.arange(300) % 3 == 0, (np.arange(300) + 0.5) / 300, bins=41),
        BinnedCounts.from_arrays([0, 1, 1], [0.0, 1.0, 1.0]),
    ],
    ids=["no rows", "many bins", "saturated bins only"],
)
def test_problems_that_have_no_compiled_form_are_solved_in_the_other(counts, both):
    one, other = both(counts)
    assert other.probabilities == one.probabilities
    np.testing.assert_array_equal(other.sample(50, rng=1).accuracy, one.sample(50, rng=1).accuracy)


@pytest.mark.parametrize("size", ["SMOOTH", "DENSE", "SPARSE", "CELLS", "HALF"])
def test_a_problem_that_needs_more_room_is_solved_in_the_other_form(size, monkeypatch, both, counts_of_kind):
    monkeypatch.setattr(many, size, 4)
    monkeypatch.setattr(many, "_rooms", type("Rooms", (), {})())
    one, other = both(counts_of_kind("flat", 300))
    assert other._compiled is None
    assert other.probabilities == one.probabilities


@pytest.mark.parametrize("sd", [1e6, 1e30])
def test_vague_priors_fit_or_are_solved_in_the_other_form(sd, both, counts_of_kind):
    """The first cells of the adaptive integration grow in number with the logarithm of the prior's width."""
    other = both(counts_of_kind("flat", 100), intercept_sd=sd, log_slope_sd=min(sd, 1e3))[1]
    assert np.isfinite(list(other.probabilities.values())).all()
    assert np.isfinite(other.sample(50, rng=1).accuracy).all()


def test_poor_draws_are_reported(monkeypatch, counts_of_kind):
    monkeypatch.setattr("bayescal.posterior.shrinkage.sub_model.POOR_SHARE", 1.0)
    posterior = compiled_form(shrinkage_posterior(counts_of_kind("flat", 300), sub_models=["logistic"]))
    with pytest.warns(SamplerWarning, match=r"'logistic' \(probability 1\) are inaccurate"):
        posterior.sample(200, rng=1)


def test_the_dirichlet_model_has_no_other_form(counts_of_kind):
    posterior = evaluate_counts(counts_of_kind("flat", 100), model="dirichlet").posterior
    assert compiled_form(posterior) is posterior


def test_many_problems_take_the_compiled_form(monkeypatch):
    monkeypatch.delenv("BAYESCAL_COMPILE", raising=False)
    assert [compiled_form_pays(n) for n in (1, MANY_PROBLEMS - 1, MANY_PROBLEMS)] == [False, False, True]
    monkeypatch.setenv("BAYESCAL_COMPILE", "never")
    assert not compiled_form_pays(MANY_PROBLEMS)
    monkeypatch.setenv("BAYESCAL_COMPILE", "always")
    assert [compiled_form_pays(n) for n in (1, 2)] == [False, True]


def test_classes_in_compiled_form(monkeypatch):
    """A class in full has the draws that the mean over classes contains."""
    monkeypatch.setattr("bayescal.posterior.shrinkage.model.MANY_PROBLEMS", 3)
    monkeypatch.delenv("BAYESCAL_COMPILE", raising=False)
    rows = np.random.default_rng(1)
    matrix = rows.dirichlet([1, 1, 1], 300)
    counts = ClasswiseCounts.from_arrays((matrix.cumsum(axis=1)[:, :2] < rows.random((300, 1))).sum(axis=1), matrix)
    result = evaluate_counts(counts, rng=1, model="shrinkage", draws=400)
    for i, label in enumerate(result):
        full = result[label]
        assert type(full.posterior).__name__ == "CompiledShrinkagePosterior"
        np.testing.assert_array_equal(np.sort(full.ece.values), np.sort(result.by_class.values[:, i]))
        assert full.parameters.bin_draws.accuracy == pytest.approx(full.bin_draws.accuracy)
    monkeypatch.setattr("bayescal.posterior.shrinkage.model.MANY_PROBLEMS", 4)
    other = evaluate_counts(counts, rng=1, model="shrinkage", draws=400)
    assert result.ece.mean() == pytest.approx(other.ece.mean(), abs=4 * other.ece.sd() / np.sqrt(200))


def test_groups_in_compiled_form(monkeypatch):
    monkeypatch.setattr("bayescal.posterior.shrinkage.model.MANY_PROBLEMS", 2)
    rng = np.random.default_rng(1)
    p = rng.random(600)
    y, group = rng.random(600) < p, np.arange(600) % 3
    result = evaluate(y, p, by=group, rng=1)
    assert {type(each.posterior).__name__ for each in result.values()} == {"CompiledShrinkagePosterior"}
    assert type(result.overall.posterior).__name__ == "ShrinkagePosterior"
    np.testing.assert_array_equal(result.overall.ece.values, evaluate(y, p, rng=1).ece.values)


def test_the_null_distribution_is_binomial():
    """Chi-squared tests of the compiled inversion, bin by bin; a bin of confidence 0 is constant."""
    n = [1, 7, 40, 3000]
    p = np.concatenate([np.full(size, at) for size, at in zip(n, (0.05, 0.45, 0.7, 0.99), strict=True)])
    counts = BinnedCounts.from_arrays(np.zeros(len(p)), p, bins=[0, 0.1, 0.5, 0.9, 1.0])
    drawn = null_bins(counts, 50_000, rng=1, compiled=True).accuracy
    for b, (size, at) in enumerate(zip(n, (0.05, 0.45, 0.7, 0.99), strict=True)):
        successes = np.rint(drawn[:, b] * size).astype(int)
        expected = stats.binom(size, at).pmf(np.arange(size + 1)) * len(drawn)
        observed, often = np.bincount(successes, minlength=size + 1), expected > 5
        groups = [np.append(each[often], each[~often].sum() + 1e-9) for each in (observed, expected)]
        assert stats.chisquare(*groups, sum_check=False).pvalue > 1e-4
    certain = BinnedCounts.from_arrays([0, 0], [0.0, 0.0], bins=2)
    assert np.all(null_bins(certain, 100, rng=1, compiled=True).accuracy == 0)


def test_masses_with_tiny_parameters_are_finite():
    """The Gamma variables of a row would all be zero; the generator of numpy draws instead."""
    posterior = compiled_form(shrinkage_posterior(BinnedCounts.empty(3), mass_alpha=1e-12))
    np.testing.assert_allclose(posterior.sample(200, rng=1).mass.sum(axis=1), 1)


def test_large_bins_have_the_other_null_distribution(monkeypatch, counts_of_kind):
    monkeypatch.setattr("bayescal.estimands.plug_in.MOST_TABULATED", 10)
    counts = counts_of_kind("flat", 500)
    np.testing.assert_array_equal(
        null_bins(counts, 50, rng=1, compiled=True).accuracy, null_bins(counts, 50, rng=1).accuracy
    )


@pytest.mark.slow
def test_calibration_of_the_compiled_form():
    """Simulation-based: ranks of truths from the prior among draws are uniform."""
    rng = np.random.default_rng(5)
    ranks = []
    for _ in range(600):
        a, s = rng.normal(0, 0.5, 2)
        p = rng.random(120)
        logit = np.log(p) - np.log1p(-p)
        y = rng.random(120) < 1 / (1 + np.exp(-(logit + a + np.expm1(s) * logit)))
        counts = BinnedCounts.from_arrays(y, p, bins=8)
        drawn = compiled_form(shrinkage_posterior(counts, sub_models=["logistic"])).sample_all(99, rng=rng)
        ranks.append([(drawn.intercept < a).sum(), (drawn.slope < np.exp(s)).sum()])
    for column in np.array(ranks).T:
        assert stats.kstest((column + rng.random(len(column))) / 100, "uniform").pvalue > 1e-4


def test_one_of_many_has_the_result_of_one(counts_of_kind):
    counts = counts_of_kind("flat", 1000)
    alone, of_many = evaluate_one(counts, rng=1), evaluate_one(counts, rng=1, compiled=True)
    error = alone.ece.sd() / np.sqrt(len(alone.bin_draws))
    assert of_many.ece.mean() == pytest.approx(alone.ece.mean(), abs=6 * error)
    np.testing.assert_allclose(of_many.ece.interval(), alone.ece.interval(), atol=12 * error)
    np.testing.assert_allclose(of_many.null.interval(), alone.null.interval(), rtol=0.06)


def test_a_tiny_rho_is_left_to_the_other_form(both, counts_of_kind):
    """The product of 40 factors of 1e-9 would underflow."""
    one, other = both(counts_of_kind("flat", 800, 40), rho=1e-9)
    assert other._compiled is None
    assert other.probabilities == one.probabilities
