"""One problem under all sub-models: evidences under other priors, numbers of draws, exact calibration."""

import numpy as np
import pytest

from bayescal import shrinkage_posterior
from bayescal.posterior.shrinkage.model import compiled_form

pytest.importorskip("numba")


@pytest.mark.parametrize(
    "options",
    [
        {"intercept_sd": 2.0, "log_slope_sd": 0.1},
        {"dense_scale": 0.7, "sparse_shape": 1.0},
        {"rho": 0.2, "sub_model_weights": (1, 0, 2, 1, 1)},
        {"sub_models": ["shared", "label_noise"]},
        {"sub_models": ["logistic_sparse"]},
    ],
)
def test_probabilities_agree_under_other_priors(options, both, counts_of_kind):
    one, other = both(counts_of_kind("flat", 500), **options)
    assert other.probabilities == pytest.approx(one.probabilities, abs=0.002)


@pytest.mark.parametrize("number", [{"exact": 3}, {"logistic": 1, "exact": 2}, {"no such": 2}])
def test_a_wrong_number_of_draws_is_refused(number, counts_of_kind):
    problem = compiled_form(shrinkage_posterior(counts_of_kind("flat", 100)))._compiled
    with pytest.raises(ValueError, match="values that sum to the length of `rows`"):
        problem.draw(number, np.arange(2), np.random.default_rng(1))


def test_draws_of_exact_calibration_have_the_same_distribution(same_distribution):
    same_distribution("exact")
