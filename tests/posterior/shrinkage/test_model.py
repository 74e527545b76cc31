"""Options of the shrinkage model: defaults, ranges, and the means of the prior that the docstring states."""

from functools import partial

import numpy as np
import pytest
from moments_of_ece import ece_mean
from scipy.special import expit, logit

from bayescal import BinnedCounts, ece, evaluate, shrinkage_posterior
from bayescal.posterior.shrinkage.prior import (
    ENDS,
    INDEPENDENT,
    ShrinkagePrior,
)

NAMES = ("logistic", "dense", "sparse", "logistic_dense", "logistic_sparse")
independent_posterior = partial(shrinkage_posterior, sub_models=[INDEPENDENT])
RHO = (0.05, 0.15, 0.3, 0.5)
MIDDLE = (np.arange(15) + 0.5) / 15


@pytest.mark.slow
def test_the_means_of_the_prior_that_are_documented(only):
    """Of the ECE over 15 bins, to the digits of the docstring; by draws of one's own, without the module.

    Masses are Dirichlet(2/15), so that the mean ECE is the mean absolute gap.
    """
    rng = np.random.default_rng(7)
    a, s = rng.normal(0, 0.5, (2, 200_000, 1))
    tau = np.abs(rng.normal(0, 0.2, (400_000, 1)))
    tau = tau[tau < 1][:, None][:200_000]
    own = rng.random((200_000, 15)) ** 2  # density 0.5 tau^-0.5

    def of(theta):
        return np.abs(theta - MIDDLE).mean()

    def beta(tau):
        kappa = 1 / tau**2 - 1
        return rng.beta(np.maximum(kappa * MIDDLE, 1e-300), np.maximum(kappa * (1 - MIDDLE), 1e-300))

    empty = BinnedCounts.empty(15)
    expected = {
        NAMES[0]: (of(expit(a + np.exp(s) * logit(MIDDLE))), 0.091),
        NAMES[1]: (of(beta(tau)), 0.050),
        NAMES[2]: (0.25 * of(beta(own)), 0.027),
    }
    for name, (mean, documented) in expected.items():
        assert ece_mean(only(empty, name)) == pytest.approx(mean, rel=0.01)
        assert round(ece_mean(only(empty, name)), 3) == documented
    for options, documented in (({"log_slope_sd": 1e-3}, 0.065), ({"intercept_sd": 1e-3}, 0.056)):
        assert ece_mean(only(empty, NAMES[0], **options)) == pytest.approx(documented, abs=6e-4)
    assert ece_mean(only(empty, NAMES[1], dense_scale=0.1)) == pytest.approx(0.1 / 4, rel=0.02)
    for shape, documented in ((0.5, 0.107), (1.0, 0.161)):
        assert ece_mean(only(empty, NAMES[2], rho=0.9999, sparse_shape=shape)) == pytest.approx(documented, abs=1e-3)
    zero = ece(only(empty, NAMES[2]).sample(20_000, rng=8)).values == 0
    assert zero.mean() == pytest.approx(np.mean((1 - np.array(RHO)) ** 15), abs=5 * np.sqrt(0.14 * 0.86 / 20_000))


def test_the_defaults_are_those_of_the_design():
    prior = shrinkage_posterior(BinnedCounts.empty(2)).prior_options
    assert prior == ShrinkagePrior()
    assert (prior.intercept_sd, prior.log_slope_sd, prior.dense_scale, prior.sparse_shape) == (0.5, 0.5, 0.2, 0.5)
    assert prior.rho == RHO
    assert prior.sub_model_weights == (1, 1, 1, 1, 1)
    assert prior.prior_odds == 1
    assert prior.mass_alpha is None


def test_options_at_the_ends_of_their_ranges():
    empty = BinnedCounts.empty(2)
    assert independent_posterior(empty, sparse_shape=0.05).prior_options.sparse_shape == 0.05
    assert independent_posterior(empty, rho=0.5).prior_options.rho == (0.5,)
    assert independent_posterior(empty, mass_alpha=2).prior_options.mass_alpha == 2.0
    assert independent_posterior(empty, sub_model_weights=(0, 0, 0, 0, 1)).probabilities[NAMES[4]] == 1
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="`sub_model_weights` must be finite and >= 0; 1 of 5"):
            independent_posterior(empty, sub_model_weights=(1, 1, bad, 1, 1))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"intercept_sd": 0}, ValueError, "`intercept_sd` must be finite and > 0"),
        ({"log_slope_sd": -1}, ValueError, "`log_slope_sd` must be finite and > 0"),
        ({"dense_scale": np.inf}, ValueError, "`dense_scale` must be finite and > 0"),
        ({"sparse_shape": "half"}, TypeError, "`sparse_shape` must be a number"),
        ({"sparse_shape": [0.5, 1]}, ValueError, "`sparse_shape` must be a number or have shape ()"),
        ({"prior_odds": 0}, ValueError, "`prior_odds` must be finite and > 0"),
        ({"mass_alpha": 0}, ValueError, "`mass_alpha` must be finite and > 0"),
        ({"rho": 0}, ValueError, "`rho` must lie strictly between 0 and 1, not 0"),
        ({"rho": (0.1, 5)}, ValueError, "`rho` must lie strictly between 0 and 1, not 5. Percent? Divide by 100."),
        ({"rho": "few"}, TypeError, "`rho` must be a number in (0, 1)"),
        ({"rho": ()}, ValueError, "`rho` must hold at least one number"),
        ({"sparse_shape": 0.03}, ValueError, "`sparse_shape` must be at least 0.05, not 0.03"),
        ({"sub_model_weights": (1, 2)}, ValueError, "`sub_model_weights` must be five numbers"),
        (
            {"sub_model_weights": (1, 1, 1, 1, -1)},
            ValueError,
            "`sub_model_weights` must be finite and >= 0; 1 of 5 values is not, first at index 4",
        ),
        ({"sub_model_weights": (0, 0, 0, 0, 0)}, ValueError, "`sub_model_weights` must not all be 0"),
    ],
)
def test_options_that_make_no_sense(options, error, message):
    with pytest.raises(error) as caught:
        independent_posterior(BinnedCounts.empty(2), **options)
    assert message in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"intercept_sd": 5, "log_slope_sd": 3},
        {"intercept_sd": 1e-6, "log_slope_sd": 1e-6},
        {"dense_scale": 10},
        {"dense_scale": 1e-3},
        {"sparse_shape": 3},
        {"sparse_shape": 0.1},
        {"rho": 0.2},
        {"rho": (0.001, 0.999)},
    ],
)
@pytest.mark.parametrize("n_rows", [0, 300])
def test_other_priors(options, n_rows, close_to, mcse, simulated):
    """Draws against moments, and without rows no sub-model is preferred."""
    counts = simulated(n_rows, seed=13) if n_rows else BinnedCounts.empty(15)
    posterior = independent_posterior(counts, **options)
    drawn = ece(posterior.sample(20_000, rng=14)).values
    close_to(drawn.mean(), ece_mean(posterior), 1.2 * mcse.mean(drawn))
    if not n_rows:
        assert list(posterior.probabilities.values()) == pytest.approx([0.2] * 5, abs=1e-4)


def test_noise_at_the_ends_alone_needs_a_crowded_end(counted):
    with pytest.raises(
        ValueError, match="`sub_models` leaves only 'label_noise_ends', which needs a first or last bin"
    ):
        shrinkage_posterior(counted(300), sub_models=[ENDS])
    assert shrinkage_posterior(BinnedCounts.empty(5), sub_models=[ENDS]).probabilities == {ENDS: 1.0}


def test_sub_models_by_name_and_by_family(counted):
    counts = counted(100)
    some = shrinkage_posterior(counts, sub_models=["noise", "logistic"])
    assert list(some.probabilities) == ["logistic", "label_noise", "label_noise_any_rate"]
    assert shrinkage_posterior(counts, sub_models="shared").families.keys() == {"shared"}
    assert evaluate([0, 1, 1], [0.2, 0.7, 0.9], rng=1, sub_models=["label_noise"]).sub_models == {"label_noise": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sub_models": ["drift"]}, "`sub_models` must be one of .'independent', .* not 'drift'"),
        ({"sub_models": []}, "must leave at least one sub-model"),
        ({"sub_models": ["saturated"]}, "must leave at least one sub-model .*; 'saturated' does not count"),
        ({"sub_models": ["logistic"], "sub_model_weights": [0, 1, 1, 1, 1]}, "must leave at least one"),
    ],
)
def test_sub_models_that_cannot_be(options, message, counted):
    with pytest.raises(ValueError, match=message):
        shrinkage_posterior(counted(10), **options)
