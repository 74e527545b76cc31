"""The same counts under several models and priors."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.analyses.sensitivity import PRIORS

ROWS = [0, 1, 1, 1, 0, 1], [0.2, 0.4, 0.7, 0.9, 0.1, 0.6]


@pytest.fixture(scope="module")
def evaluation():
    return bc.evaluate(*ROWS, bins=2, draws=200, rng=1)


def test_the_default_priors(evaluation):
    result = evaluation.sensitivity()
    assert list(result) == [(model, prior) for model, priors in PRIORS.items() for prior in priors]
    assert result["shrinkage", "default"] is evaluation
    for (model, prior), each in result.evaluations.items():
        expected = bc.evaluate(*ROWS, bins=2, draws=200, rng=1, model=model, **PRIORS[model][prior])
        np.testing.assert_array_equal(each.ece.values, expected.ece.values)
        assert each.spec == expected.spec


def test_an_evaluation_with_other_options_comes_first():
    evaluation = bc.evaluate(*ROWS, bins=2, draws=50, rng=1, model="dirichlet", alpha=0.3)
    result = evaluation.sensitivity(models="dirichlet")
    assert next(iter(result)) == ("dirichlet", "prior of 0.3 per cell")
    assert len(result) == 5


def test_the_evaluation_stands_only_for_its_own_options():
    """Neither another variance of the bins nor another array changes the words of a prior."""
    options = {"bins": 2, "draws": 200, "rng": 1, "model": "dirichlet"}
    evaluation = bc.evaluate(*ROWS, **options, bin_variance=1e-6)
    result = evaluation.sensitivity(models="dirichlet")
    np.testing.assert_array_equal(result["dirichlet", "two-rows"].ece.values, bc.evaluate(*ROWS, **options).ece.values)
    assert next(iter(result)) == ("dirichlet", "two-rows prior")
    first, second = np.full((2, 2), 0.3), np.array([[0.3, 0.3], [0.3, 2.0]])
    result = bc.evaluate(*ROWS, **options, alpha=first).sensitivity(
        models="dirichlet", priors={"dirichlet": {"other": {"alpha": second}, "same": {"alpha": first.copy()}}}
    )
    assert list(result) == [("dirichlet", "other"), ("dirichlet", "same")]
    expected = bc.evaluate(*ROWS, **options, alpha=second).loo().elpd
    assert result["dirichlet", "other"].loo().elpd == pytest.approx(expected)


def test_another_estimand(evaluation):
    result = evaluation.sensitivity(priors={}, estimand="signed_error")
    assert result.table()[1]["mean"] == result["dirichlet", "default"].signed_error.mean()


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"models": "beta"}, ValueError, "`models` must be one of"),
        ({"models": []}, ValueError, "`models` must name at least one model"),
        ({"models": "dirichlet", "priors": {"shrinkage": {}}}, ValueError, "`priors` has options of 'shrinkage'"),
        ({"priors": [{}]}, TypeError, "`priors` must be a mapping from models to priors"),
        ({"priors": {"dirichlet": [{"alpha": 1.0}]}}, TypeError, "must be a mapping from names of priors to options"),
        ({"priors": {"dirichlet": {"a": {"prior_odds": 1.0}}}}, TypeError, "takes no 'prior_odds'"),
        ({"estimand": "nothing"}, ValueError, "nothing"),
    ],
)
def test_what_is_refused(evaluation, arguments, error, said):
    with pytest.raises(error, match=said):
        evaluation.sensitivity(**arguments)


def test_rows_that_are_not_equal_are_refused():
    with pytest.raises(ValueError, match="`sensitivity` needs rows with equal weights"):
        bc.evaluate(*ROWS, bins=2, weights=[1, 2, 1, 2, 1, 2], rng=1).sensitivity()
