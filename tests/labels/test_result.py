"""JudgedEvaluation: tables, sentences, documents and pages."""

import json
import pickle

import numpy as np
import pytest
from judged_sets import judged_set

import bayescal as bc


@pytest.mark.slow
def test_it_is_an_evaluation_of_the_true_label(judged):
    assert isinstance(judged, bc.Evaluation)
    assert judged.counts.target == "confidence"
    assert judged.sentence().startswith(
        "If the judge's errors do not depend on the confidence within ranges, the Expected Calibration Error is 0."
    )
    assert judged.question == (
        "confidence ECE of the true label from a judge, 15 equal-width bins [a, b), N = 2000 rows, 300 of them "
        "checked, 2 ranges of confidence with error rates of their own, shrinkage model"
    )
    assert judged.spec.startswith(judged.question)


def test_judge_as_truth_and_checked_only_stand_beside(judged):
    rows = judged_set(n=2000, checked=300)
    truth = bc.evaluate(rows.judge, rows.confidence, target="confidence", rng=1)
    checked = bc.evaluate(rows.truth[rows.checked], rows.confidence[rows.checked], target="confidence", rng=1)
    for row in judged.table():
        for name, other in (("judge_as_truth", truth), ("checked_only", checked)):
            draws = other.draws(row["quantity"])
            assert abs(row[name] - draws.mean()) < 0.15 * draws.sd() + 1e-4
    text = str(judged)
    assert "judge as truth  checked only" in text
    assert "if calibrated" not in text
    assert "The judge has the sensitivity" in text


def test_the_area_under_the_curve_is_refused(judged):
    with pytest.raises(AttributeError, match="`checked_only` has that of the checked rows"):
        _ = judged.auc
    assert not hasattr(judged, "auc")
    assert 0.5 < judged.checked_only.auc.mean() < 1
    assert "auc" not in judged.metrics()


def test_scores_are_not_shrunk_and_joint_with_the_bins(judged):
    """The accuracy has the ranks of that of the bins, and the mean of the free accuracies."""
    of_bins = (judged.bin_draws.mass * judged.bin_draws.accuracy).sum(axis=1)
    np.testing.assert_array_equal(np.argsort(judged.accuracy.values), np.argsort(of_bins))
    free = judged.posterior.sample_free(40_000, rng=5)
    expected = (free.mass * free.accuracy).sum(axis=1)
    assert judged.accuracy.mean() == pytest.approx(expected.mean(), abs=0.1 * expected.std())
    assert judged.accuracy.sd() == pytest.approx(expected.std(), rel=0.1)


def test_details_name_the_assumption(judged):
    notes = judged.details().notes
    assert "ECE without shrinkage of the accuracies" in notes[0]
    assert "Exact calibration: probability" in notes[1]
    assert "checked rows were chosen by the judge's label and the confidence alone" in notes[-1]


def test_document_page_and_data_tree(judged, tmp_path):
    document = json.loads(judged.to_json())
    assert document["judge"]["rates"][0]["quantity"] == "sensitivity"
    assert document["judge"]["worth"]["mean"] == pytest.approx(judged.judge.worth.mean())
    assert sum(row["n_checked"] for row in document["bins"]) == 300
    assert sum(row["n_judged"] for row in document["bins"]) == 1700
    page = judged.to_html()
    assert "The judge" in page
    assert "sensitivity" in page
    tree = judged.to_datatree()
    assert float(tree["posterior"]["ece"].mean()) == pytest.approx(judged.ece.mean())
    judged.to_html(tmp_path / "page.html")


def test_plots(judged):
    from matplotlib.figure import Figure

    assert bc.plot_posterior(judged, Figure().subplots()).get_xlabel()
    assert bc.plot_reliability(judged, Figure().subplots()).get_ylabel() == "accuracy"


def test_it_is_pickled(judged):
    copy = pickle.loads(pickle.dumps(judged))
    np.testing.assert_array_equal(copy.ece.values, judged.ece.values)
    np.testing.assert_array_equal(copy.judge.worth.values, judged.judge.worth.values)


def test_functions_for_observed_outcomes_refuse_it(judged):
    for call in (judged.loo, judged.under_prior, judged.sensitivity, lambda: bc.pymc_model(judged)):
        with pytest.raises((TypeError, ValueError)):
            call()
