"""skore shows the scorers in its reports, with the numbers of `evaluate`."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from skore import EstimatorReport

import bayescal as bc
from bayescal.plugins import sklearn as scorers

X, Y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("names", [[0, 1], ["malignant", "benign"]])
def test_a_report_has_the_numbers_of_evaluate(names):
    y = np.array(names)[Y]
    halves = {"X_train": X[::2], "X_test": X[1::2], "y_train": y[::2], "y_test": y[1::2]}
    report = EstimatorReport(GaussianNB(), **halves, pos_label=names[1])
    report.metrics.add(scorers.neg_ece_scorer, name="ece")
    report.metrics.add(scorers.neg_brier_scorer, name="brier")
    found = report.metrics.summarize().frame()
    p = GaussianNB().fit(X[::2], Y[::2]).predict_proba(X[1::2])[:, 1]
    ev = bc.evaluate(Y[1::2], p, rng=0)
    assert found["ece"] == pytest.approx(ev.ece.values.mean(), rel=1e-12)
    assert found["brier"] == pytest.approx(np.mean((p - Y[1::2]) ** 2), rel=1e-12)
    assert len(found) > 5  # its own metrics
