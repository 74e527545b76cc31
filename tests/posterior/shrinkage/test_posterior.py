"""The average over families: probabilities, draws against moments, saturated bins, what a draw is."""

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from moments_of_ece import ece_mean, ece_sd
from scipy.special import expit, logit

from bayescal import BinnedCounts, ece, shrinkage_posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.posterior.shrinkage.prior import ENDS, FAMILIES, INDEPENDENT, alternatives, posterior_probabilities

NAMES = ("logistic", "dense", "sparse", "logistic_dense", "logistic_sparse")
independent_posterior = partial(shrinkage_posterior, sub_models=[INDEPENDENT])
DRIFTING = {name: name.startswith("logistic") for name in NAMES}
MIDDLE = (np.arange(15) + 0.5) / 15


def test_importance_samples_are_good(simulated):
    posterior = independent_posterior(simulated(2000))
    sizes, k = posterior.effective_sample_size(), posterior.pareto_k()
    assert set(sizes) == set(k) == {name for name in NAMES if DRIFTING[name]}
    assert min(sizes.values()) > 500
    assert max(sizes.values()) <= 1000
    assert max(k.values()) < 0.7


def test_exact_calibration_has_a_gap_of_exactly_zero(counts_of):
    """Also at confidences of 0 and 1, and next to them."""
    c = np.r_[0.0, 1e-6, MIDDLE, 1.0]
    draws = independent_posterior(counts_of(np.full(18, 100), np.round(100 * c), c)).sample_all(4000, rng=9)
    exact = (draws.sub_model == 2) & ~draws.off.any(axis=1)
    assert exact.any()
    assert np.all(draws.bin_draws.gap[exact] == 0)
    assert np.all(ece(draws.bin_draws).values[exact] == 0)


def test_empty_bins_have_no_part():
    """Mass 0, gap 0, confidence the midpoint; the others are as if the empty ones did not exist."""
    with_gap = BinnedCounts.from_arrays([0, 1, 1, 1, 0], [0.1, 0.15, 0.7, 0.9, 0.95], bins=[0, 0.2, 0.4, 0.8, 1])
    without = BinnedCounts.from_arrays([0, 1, 1, 1, 0], [0.1, 0.15, 0.7, 0.9, 0.95], bins=[0, 0.2, 0.8, 1])
    alpha = {"mass_alpha": 0.5}
    one, other = (independent_posterior(c, **alpha) for c in (with_gap, without))
    assert one.sample(5, rng=1).occupied.tolist() == [True, False, True, True]
    bins = one.sample(500, rng=1)
    assert np.all(bins.mass[:, 1] == 0)
    assert np.all(bins.gap[:, 1] == 0)
    assert bins.confidence.shape == (1, 4)
    np.testing.assert_allclose(bins.confidence[0], [0.125, 0.3, 0.7, 0.925])
    np.testing.assert_array_equal(np.delete(bins.mass, 1, axis=1), other.sample(500, rng=1).mass)
    np.testing.assert_array_equal(np.delete(bins.accuracy, 1, axis=1), other.sample(500, rng=1).accuracy)
    assert ece_mean(one) == pytest.approx(ece_mean(other), rel=1e-12)
    assert np.isnan(one.off_probability()).tolist() == [False, True, False, False]


def test_masses_are_those_of_the_dirichlet_model():
    """Dirichlet parameters 2/M + n on the occupied bins: Kish's effective rows by weight."""
    counts = BinnedCounts.from_arrays([1, 0, 1], [0.1, 0.6, 0.65], bins=4, weights=[3, 1, 1])
    np.testing.assert_allclose(
        independent_posterior(counts).mass_parameters, [0.5 + 25 / 11 * 0.6, 0, 0.5 + 25 / 11 * 0.4, 0]
    )
    np.testing.assert_allclose(
        independent_posterior(counts, mass_alpha=2).mass_parameters[[0, 2]], 2 + 25 / 11 * np.array([0.6, 0.4])
    )


def test_sample_and_sample_all_are_the_same_draws(simulated):
    posterior = independent_posterior(simulated(300))
    bins, draws = posterior.sample(300, rng=10), posterior.sample_all(300, rng=10)
    np.testing.assert_array_equal(bins.accuracy, draws.bin_draws.accuracy)
    np.testing.assert_array_equal(bins.mass, draws.bin_draws.mass)
    drift = expit(draws.intercept[:, None] + draws.slope[:, None] * logit(bins.confidence))
    still = ~draws.off
    np.testing.assert_allclose(bins.accuracy[still], drift[still], rtol=1e-9)


def test_sub_models_come_as_often_as_they_are_probable(simulated):
    """To within one draw: they are allotted, not drawn."""
    posterior = independent_posterior(simulated(300))
    often = np.bincount(posterior.sample_all(4000, rng=11).sub_model, minlength=5)
    assert np.all(np.abs(often - 4000 * np.array(list(posterior.probabilities.values()))) <= 1)


def test_the_default_number_of_draws():
    posterior = independent_posterior(BinnedCounts.from_arrays([0, 1], [0.2, 0.7], bins=2))
    assert posterior.sample(rng=1).mass.shape == (4000, 2)
    assert posterior.sample_all(rng=1).tau.shape == (4000,)


def test_importing_is_cheap():
    code = (
        "import sys; import bayescal.posterior.shrinkage; "
        "assert not {'scipy.stats', 'arviz', 'arviz_stats', 'pymc', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_warns_that_should_not(simulated):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = independent_posterior(simulated(500, bins=100))
        assert isinstance(posterior, ShrinkagePosterior)
        posterior.sample(1, rng=1)


FIVE = list(FAMILIES["independent"])
#: Mean ECE and first three draws from release 0.1.0, by `shrinkage_posterior(counts).sample(4000, rng=1)`.
RELEASE_0_1_0 = (0.03415694579652982, 0.04010283236610007, 0.03872234212298589, 0.04506792547369496)
#: The sub-models by family, where no bin at an end is crowded and where one is; the names of the former.
CROWDED = FAMILIES
FAMILIES = {f: {name: w for name, w in of.items() if name != ENDS} for f, of in CROWDED.items()}
ALL = [name for family in FAMILIES.values() for name in family]


def test_probabilities_follow_from_the_evidences_of_each_alone(counted):
    """Each sub-model by itself has the evidence that it has among the others."""
    counts = counted(500, lambda p: p**1.3)
    posterior = shrinkage_posterior(counts)
    alone = {name: shrinkage_posterior(counts, sub_models=[name]).log_evidence[name] for name in ALL}
    assert posterior.log_evidence == pytest.approx(alone, abs=1e-9)
    assert posterior.probabilities == pytest.approx(posterior_probabilities(FAMILIES, alone), abs=1e-12)
    assert list(posterior.probabilities) == ALL
    assert {f: list(of) for f, of in posterior.families.items()} == {f: list(of) for f, of in FAMILIES.items()}
    average = np.logaddexp.reduce([alone[n] + np.log(w) for n, w in alternatives(FAMILIES).items()])
    assert posterior.log_bayes_factor == pytest.approx(alone["exact"] - average, abs=1e-9)


def crowded(n_rows=5000, seed=1, wrong=0.02):
    """Half of the rows at 0 and 1, of which a share is wrong, the others uniform and calibrated."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n_rows) < 0.5, np.round(rng.random(n_rows)), rng.random(n_rows))
    truth = np.clip(p, np.where(p == 0, wrong, 0), np.where(p == 1, 1 - wrong, 1))
    return BinnedCounts.from_arrays(rng.random(n_rows) < truth, p)


def test_noise_at_the_ends_takes_part_where_an_end_is_crowded(counted):
    """A bin of 0 to 1/15 with three quarters of its rows at 0 is; one of uniform confidences is not."""
    posterior = shrinkage_posterior(crowded())
    assert {f: list(of) for f, of in posterior.families.items()} == {f: list(of) for f, of in CROWDED.items()}
    alone = {n: shrinkage_posterior(crowded(), sub_models=[n]).log_evidence[n] for n in posterior.probabilities}
    assert posterior.probabilities == pytest.approx(posterior_probabilities(CROWDED, alone), abs=1e-12)
    assert posterior.probabilities[ENDS] > 0.1
    assert posterior.prior == ""
    assert ENDS not in shrinkage_posterior(counted(2000)).probabilities
    assert shrinkage_posterior(counted(2000)).prior == ""


def test_draws_of_crowded_ends_agree_with_moments(close_to):
    posterior = shrinkage_posterior(crowded())
    values = ece(posterior.sample(40_000, rng=2)).values
    close_to(values.mean(), ece_mean(posterior), values.std() / np.sqrt(40_000) + 2e-3 * values.mean(), "mean")
    close_to(values.std(), ece_sd(posterior), 0.01 * values.std(), "sd")


def test_exact_calibration_alone(counted):
    posterior = shrinkage_posterior(counted(100), sub_models=["exact"])
    assert posterior.bayes_factor == 1
    assert ece_mean(posterior) == 0
    assert not ece(posterior.sample(10, rng=1)).values.any()


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [0, 30, 2000, 100_000])
def test_draws_agree_with_moments(n_rows, close_to, counted):
    counts = counted(n_rows, lambda p: 0.03 + 0.94 * p) if n_rows else BinnedCounts.empty(15)
    posterior = shrinkage_posterior(counts)
    drawn = posterior.sample_all(40_000, rng=2)
    values = ece(drawn.bin_draws).values
    close_to(values.mean(), ece_mean(posterior), values.std() / np.sqrt(40_000) + 2e-3 * values.mean(), "mean")
    close_to(values.std(), ece_sd(posterior), 0.01 * values.std(), "sd")
    expected = posterior.off_probability()
    there = np.isfinite(expected)
    close_to(drawn.off.mean(axis=0)[there], expected[there], 0.5 / np.sqrt(40_000), "off")


def test_parameters_are_there_where_a_sub_model_has_them(counted):
    drawn = shrinkage_posterior(counted(300)).sample_all(4000, rng=3)
    names = np.array(ALL)[drawn.sub_model]
    has = {
        "amount": names == "offset",
        "noise": np.char.startswith(names, "label_noise"),
        "noise_rate": np.char.startswith(names, "label_noise"),
    }
    for name, where in has.items():
        assert where.any()
        np.testing.assert_array_equal(np.isfinite(getattr(drawn, name)), where, err_msg=name)
    assert np.all(drawn.noise_rate[names == "label_noise"] == 0.5)
    drifting = np.char.startswith(names, "logistic") | (names == "small_errors")
    assert np.all(drawn.intercept[drifting] != 0)
    assert np.all(drawn.intercept[~drifting] == 0)
    assert np.all(drawn.slope[~drifting] == 1)
    assert not drawn.off[np.isin(names, ["exact", "label_noise"])].any()
    counts = np.bincount(drawn.sub_model, minlength=len(ALL))
    p = np.array(list(shrinkage_posterior(counted(300)).probabilities.values()))
    assert np.all(np.abs(counts - 4000 * p) <= 1)


def test_off_probabilities_say_which_family_they_come_from(counted):
    """Two neighbouring bins of 15 that are off together, which runs of bins see at once."""
    posterior = shrinkage_posterior(counted(3000, lambda p: np.where((p > 0.4) & (p < 0.533), p - 0.2, p)))
    shared, independent = (posterior.off_probability(f) for f in ("shared", "independent"))
    assert shared[6:8].min() > 0.9
    assert posterior.off_probability("noise").max() == 0
    weights = {f: sum(of.values()) for f, of in posterior.families.items()}
    total = sum(w * posterior.off_probability(f) for f, w in weights.items())
    np.testing.assert_allclose(posterior.off_probability(), total, atol=1e-12)
    assert not np.allclose(shared, independent, atol=0.01)
    with pytest.raises(ValueError, match="`family` must be one of"):
        posterior.off_probability("runs")


def test_a_calibrated_classifier_has_an_interval_that_begins_at_zero_with_any_number_of_bins(counted):
    for bins in (2, 15, 100, 300):
        low, high = ece(shrinkage_posterior(counted(2000, bins=bins, seed=4)).sample(4000, rng=1)).interval(0.95)
        assert low == 0 < high < 0.06


def test_saturated_bins_have_their_own_posterior(close_to, contrary_share):
    """300 rows at 0 and 200 at 1, of which 2 are wrong, beside 15 calibrated rows in the middle."""
    outcome = np.r_[np.zeros(300), np.ones(198), np.zeros(2), np.arange(15) % 2]
    confidence = np.r_[np.zeros(300), np.ones(200), np.full(15, 0.5)]
    posterior = shrinkage_posterior(BinnedCounts.from_arrays(outcome, confidence))
    drawn = posterior.sample_all(40_000, rng=5)
    zero, one = drawn.bin_draws.accuracy[:, 0], 1 - drawn.bin_draws.accuracy[:, -1]
    (at_one, mean_one, var_one), (at_zero, mean_zero, var_zero) = contrary_share(200, 2), contrary_share(300, 0)
    close_to(one.mean(), mean_one, np.sqrt(var_one) / 200, "share of contrary outcomes at 1")
    close_to(zero.mean(), mean_zero, np.sqrt(var_zero) / 200, "at 0")
    assert posterior.off_probability()[0] == pytest.approx(1)  # two wrong ones refute 'all as stated'
    values = ece(drawn.bin_draws).values
    close_to(values.mean(), ece_mean(posterior), values.std() / 200, "mean")
    close_to(values.std(), ece_sd(posterior), 0.01 * values.std(), "sd")
    middle = shrinkage_posterior(BinnedCounts.from_arrays(outcome[500:], confidence[500:]))
    for name in FIVE:
        assert posterior.log_evidence[name] == pytest.approx(middle.log_evidence[name] + at_one + at_zero, abs=1e-6)
    assert posterior.p_calibrated < 1e-6


def test_only_saturated_bins(contrary_share):
    counts = BinnedCounts.from_arrays([0] * 500 + [1] * 500, [0.0] * 500 + [1.0] * 500)
    posterior = shrinkage_posterior(counts)
    assert posterior.families["independent"] == pytest.approx(dict.fromkeys(FIVE, 10 / 3 / 5 / 11.25))
    values = ece(posterior.sample(40_000, rng=6)).values
    assert (values == 0).mean() == pytest.approx(0.05, abs=0.006)
    assert values.mean() == pytest.approx(0.95 * contrary_share(500, 0)[1], rel=0.02)  # each mass is close to 1/2
    assert posterior.p_calibrated > 0.9


def test_off_probabilities_of_an_impossible_family_are_its_own():
    """A million noisy rows leave independent bins no probability, and a weight of 0 leaves all but a drift out."""
    rng = np.random.default_rng(3)
    p = rng.random(1_000_000)
    counts = BinnedCounts.from_arrays(rng.random(1_000_000) < 0.8 * p + 0.1, p)
    names = ["independent", "noise"]
    posterior = shrinkage_posterior(counts, sub_models=names, sub_model_weights=[1, 0, 0, 0, 0])
    assert posterior.off_probability("independent").max() == 0
    alone = shrinkage_posterior(counts, sub_models=["independent"])
    np.testing.assert_allclose(
        shrinkage_posterior(counts, sub_models=names).off_probability("independent"), alone.off_probability()
    )


def test_saturated_bins_alone_are_the_alternative_to_exact_calibration(contrary_share):
    """Quadrature over the share against what is stated, 1e-9."""
    counts = BinnedCounts.from_arrays([1] * 2 + [0] * 98, np.zeros(100))
    posterior = shrinkage_posterior(counts, sub_models=["exact", "saturated"])
    expected = 2 * np.log(1e-9) + 98 * np.log1p(-1e-9) - contrary_share(100, 2)[0]
    assert posterior.log_bayes_factor == pytest.approx(expected, rel=1e-7)


def test_independent_bins_are_release_0_1_0():
    """The draws of release 0.1.0, of its own test data: mean and sd of the ECE of 4000 draws, and three draws."""
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    counts = BinnedCounts.from_arrays(rng.random(2000) < p**1.2, p)
    posterior = shrinkage_posterior(counts, sub_models=["independent"])
    assert list(posterior.probabilities) == FIVE
    assert ece_mean(posterior) == pytest.approx(0.034087088853072996, rel=1e-5)
    assert ece_sd(posterior) == pytest.approx(0.010194692262842317, rel=1e-4)
    assert posterior.log_bayes_factor == pytest.approx(-1.6984939596054573, rel=1e-9)
    values = ece(posterior.sample(4000, rng=1)).values
    assert values.mean() == pytest.approx(RELEASE_0_1_0[0], rel=1e-9)
    np.testing.assert_allclose(values[:3], RELEASE_0_1_0[1:], rtol=1e-9)


def test_whether_all_bins_are_saturated_is_a_value():
    some = BinnedCounts.from_arrays([0, 1, 1], [0.0, 1.0, 0.5], bins=3)
    assert shrinkage_posterior(some).all_saturated is False
    assert shrinkage_posterior(BinnedCounts.from_arrays([0, 1], [0.0, 1.0], bins=3)).all_saturated is True


@pytest.mark.parametrize(("rho", "bins"), [(1e-4, 100), (1e-12, 40)])
def test_a_tiny_rho_does_not_underflow(rho, bins):
    """All bins are certainly off, so that the evidence is proportional to rho^bins, which float64 does not hold."""
    confidence = np.repeat((np.arange(bins) + 0.5) / bins, 2000)
    y_true = np.tile(np.arange(2000), bins) < 2000 * ((confidence + 0.5) % 1)
    counts = BinnedCounts.from_arrays(y_true, confidence, bins=bins)
    evidence = [shrinkage_posterior(counts, rho=r, sub_models=["sparse"]).log_evidence["sparse"] for r in (rho, 0.01)]
    assert evidence[0] - evidence[1] == pytest.approx(bins * np.log(rho / 0.01), rel=1e-10)


def test_the_marginal_likelihood_averages_label_noise_and_exact_calibration():
    """Quadrature over the share of noise, l = 1.25 u^2; prior weights 0.5 and 0.25."""
    from scipy import integrate

    n, k, c = np.array([20, 30, 25]), np.array([5, 13, 20]), np.array([0.2, 0.5, 0.8])
    y = np.concatenate([np.r_[np.ones(ones), np.zeros(rows - ones)] for rows, ones in zip(n, k, strict=True)])
    counts = BinnedCounts.from_arrays(y, np.repeat(c, n), bins=3)

    def likelihood(noise):
        accuracy = np.clip((1 - noise) * c + noise / 2, 0, 1)
        return float(np.prod(accuracy**k * (1 - accuracy) ** (n - k)))

    noisy = integrate.quad(lambda u: 1e20 * likelihood(1.25 * u**2), 0, 1, epsabs=0)[0]
    posterior = shrinkage_posterior(counts, sub_models=["label_noise", "exact"])
    expected = np.log((0.5 * noisy + 0.25 * 1e20 * likelihood(0.0)) / 0.75) - 20 * np.log(10)
    assert posterior.log_marginal_likelihood == pytest.approx(expected, abs=1e-5)
    left_out = np.exp(posterior.log_left_out())
    for at in range(3):

        def one_less(noise, at=at):
            accuracy = np.clip((1 - noise) * c + noise / 2, 0, 1)
            return likelihood(noise) / accuracy[at]

        parts = [0.5 * integrate.quad(lambda u: 1e20 * one_less(1.25 * u**2), 0, 1, epsabs=0)[0], 0.25e20 * one_less(0)]
        assert left_out[1, at] == pytest.approx((0.5 * noisy + 0.25e20 * likelihood(0.0)) / sum(parts), abs=1e-5)


class OneRowLess:
    """Counts without one row, with the mean confidences of all rows."""

    def __init__(self, counts, outcome, at):
        place = np.arange(len(counts.bins)) == at
        self._counts = counts
        self.effective_n, self.effective_k = counts.effective_n - place, counts.effective_k - place * outcome

    def __getattr__(self, name):
        return getattr(self._counts, name)


#: Errors of the ratio of two marginal likelihoods, whose rules have different nodes.
TOLERANCE = {"offset": 0.01, "sparse": 3e-3, "logistic_sparse": 3e-3}


@pytest.mark.parametrize("ends", [0.05, 0.002])
def test_inverse_predictive_probabilities_are_ratios_of_marginal_likelihoods(ends):
    """For all sub-models and all cells, among them cells of a single row; the first bin may be crowded."""
    n, k = np.array([60, 1, 30, 25, 40]), np.array([2, 1, 12, 20, 34])
    c = np.array([ends, 0.3, 0.5, 0.7, 0.9])
    y = np.concatenate([np.r_[np.ones(ones), np.zeros(rows - ones)] for rows, ones in zip(n, k, strict=True)])
    posterior = shrinkage_posterior(BinnedCounts.from_arrays(y, np.repeat(c, n), bins=5))
    assert (ENDS in posterior.probabilities) == (ends < 0.02)
    cells = np.stack([n - k, k])
    for outcome, at in zip(*np.nonzero(cells), strict=True):
        others = ShrinkagePosterior(OneRowLess(posterior.counts, outcome, at), posterior.prior_options)
        for name, sub_model in posterior._sub_models.items():
            change = others._sub_models[name].log_evidence - sub_model.log_evidence
            expected = change - np.log(c[at] if outcome else 1 - c[at])
            found = np.log(sub_model.inverse_predictive()[outcome, at])
            assert found == pytest.approx(expected, abs=TOLERANCE.get(name, 1e-3)), (name, outcome, at)


@pytest.mark.parametrize("rows", [300, 1_000_000])
def test_leaving_one_row_out_is_accurate_for_many_rows(simulated, rows):
    """The sum over rows is below that given all rows by a few parameters, and not by errors of the integration."""
    posterior = shrinkage_posterior(simulated(rows))
    counts, accuracy = posterior.counts, posterior.sample(20_000, rng=1).accuracy.mean(axis=0)
    number = np.stack([counts.n - counts.k, counts.k])
    some = number > 0
    given_all = (number[some] * np.log(np.stack([1 - accuracy, accuracy])[some])).sum()
    assert 0 < given_all - (number[some] * posterior.log_left_out()[some]).sum() < 16
