"""The result for several models and priors: its table, sentence and exports."""

import numpy as np
import pytest

import bayescal as bc


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(4)
    p = rng.random(400)
    return bc.evaluate((rng.random(400) < p**1.3).astype(int), p, bins=5, draws=1000, rng=1)


@pytest.fixture(scope="module")
def result(evaluation):
    return evaluation.sensitivity(
        priors={"shrinkage": {"default": {}, "odds": {"prior_odds": 4.0}}, "dirichlet": {"flat": {"alpha": "uniform"}}}
    )


def test_the_table_has_the_numbers_of_the_evaluations(evaluation, result):
    import arviz as az

    assert list(result) == [("shrinkage", "default"), ("shrinkage", "odds"), ("dirichlet", "flat")]
    compared = az.compare(result.loo(), round_to="none")
    for row in result.table(0.9):
        each = result[row["model"], row["prior"]]
        assert (row["mean"], row["sd"]) == (each.ece.mean(), each.ece.sd())
        assert (row["low"], row["high"]) == each.ece.interval(0.9)
        assert row["log_marginal"] == each.posterior.log_marginal_likelihood
        loo = each.loo()
        assert (row["elpd_loo"], row["se_loo"], row["p_loo"]) == (loo.elpd, loo.se, loo.p)
        of_arviz = compared.loc[f"{row['model']}, {row['prior']}"]
        assert row["elpd_difference"] == pytest.approx(of_arviz["elpd_diff"], abs=1e-9)
        assert row["se_difference"] == pytest.approx(of_arviz["dse"], abs=1e-9)


def test_prior_odds_change_the_probability_of_calibration_only(result):
    first, odds, flat = result.table()
    for name in ("mean", "low", "high", "log_marginal", "elpd_loo"):
        assert first[name] == odds[name]
    assert (first["prior_odds"], odds["prior_odds"]) == (1.0, 4.0)
    before, after = (row["p_calibrated"] / (1 - row["p_calibrated"]) for row in (first, odds))
    assert after == pytest.approx(4 * before)
    assert np.isnan(flat["prior_odds"])
    assert np.isnan(flat["p_calibrated"])


def test_the_sentence_names_range_and_best_choice(result):
    rows = result.table()
    default, _, flat = rows
    width = np.mean([row["high"] - row["low"] for row in (default, flat)])
    sentence = result.sentence()
    assert sentence.startswith("For 2 combinations of model and prior, the posterior mean of the ECE lies between")
    assert f"This range is {abs(default['mean'] - flat['mean']) / width:.1f} times" in sentence
    assert "1 more has the same posterior of the ECE as another." in sentence
    assert flat["elpd_difference"] < 0
    assert flat["elpd_difference"] + 2 * flat["se_difference"] > 0  # so that none is best
    assert "is within two standard errors of the largest under both combinations of model and prior; under" in sentence
    assert "under the Dirichlet model, flat, it is" in sentence


def test_a_choice_that_predicts_better_by_two_standard_errors_is_named(evaluation):
    strong = {"shrinkage": {"default": {}}, "dirichlet": {"half": {"alpha": 300.0}}}
    other = evaluation.sensitivity(priors=strong)
    row = other.table()[1]
    assert row["elpd_difference"] < -2 * row["se_difference"]
    assert "is largest under the shrinkage model, default; under the Dirichlet model, half, it is" in other.sentence()


def test_a_quantity_without_the_model_is_said_to_be_the_same(evaluation):
    auc = evaluation.sensitivity(estimand="auc")
    assert auc.sentence().startswith(
        "The posterior of the AUC is the same under all 11 combinations of model and prior: it is computed from the "
    )
    p = np.linspace(0.1, 0.9, 40)
    labels = bc.evaluate(np.arange(40) % 2, np.column_stack([1 - p, p]), draws=100, rng=1)
    assert labels.sensitivity(estimand="auc").spec.startswith("top-label AUC, ")


def test_models_without_the_quantity_are_refused_with_a_call_that_works(evaluation):
    for models in (("shrinkage", "dirichlet"), "dirichlet"):
        with pytest.raises(
            ValueError, match=r"`models` must be models under which 'largest_regret' exists; "
        ) as caught:
            evaluation.sensitivity(models, estimand="largest_regret")
    call = str(caught.value).split("`")[-2]
    found = eval(f"evaluation.{call}", {"evaluation": evaluation})  # the call that the message names
    assert len(found) == 7
    np.testing.assert_array_equal(found["shrinkage", "default"].largest_regret.values, evaluation.largest_regret.values)
    assert "posterior mean of the largest regret lies between" in found.sentence()


def test_a_quantity_that_the_evaluation_lacks_is_refused_at_once(evaluation):
    """Not only when the result is printed."""
    dirichlet = bc.evaluate_counts(evaluation.counts, model="dirichlet", draws=50, rng=1)
    with pytest.raises(ValueError, match="needs `model='shrinkage'`"):
        dirichlet.sensitivity("shrinkage", estimand="largest_regret")
    with pytest.raises(ValueError, match="the accuracy needs rows"):
        evaluation.sensitivity(estimand="accuracy")


def test_exports(result):
    assert result.to_frame().index.names == ["model", "prior"]
    assert '"kind": "ModelSensitivity"' in result.to_json()
    assert "dirichlet, flat" in result.to_latex()
    assert "dirichlet, flat" in result.to_html()
    assert "P(cal.)" in str(result)
    assert repr(result).startswith("ModelSensitivity(For 2 combinations")


def test_one_model_has_no_best(evaluation):
    result = evaluation.sensitivity(models="shrinkage", priors={})
    assert len(result) == 1
    assert "predictive density" not in result.sentence()


def test_a_choice_that_was_not_asked_for_is_a_key_error(result):
    with pytest.raises(KeyError, match="no choice"):
        result["dirichlet", "perks"]
