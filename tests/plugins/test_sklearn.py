"""Scorers for scikit-learn: values, classes, metadata, and that a search prefers the calibrated of two classifiers."""

import pickle
import sys

import numpy as np
import pytest
from scipy.special import expit
from sklearn import clone, config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.naive_bayes import GaussianNB

import bayescal as bc
from bayescal.plugins import sklearn as scorers

RNG = np.random.default_rng(7)
X = RNG.normal(0, 1.5, (600, 1))
Y = (RNG.random(600) < expit(X[:, 0])).astype(int)
IRIS = load_iris(return_X_y=True)


class Stated(ClassifierMixin, BaseEstimator):
    """States expit(slope x) whatever the rows of training are; it is calibrated if the slope is 1."""

    def __init__(self, slope=1.0):
        self.slope = slope

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = expit(self.slope * np.asarray(X)[:, 0])
        return np.column_stack([1 - p, p])


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.3, 3.0])
@pytest.mark.parametrize("scorer", [scorers.neg_ece_scorer, scorers.neg_l2_error_scorer, scorers.neg_brier_scorer])
def test_a_search_prefers_the_calibrated_of_two(scorer, slope):
    """The seed is fixed; slopes of 0.3 and 3 are far from 1 for 600 rows."""
    search = GridSearchCV(Stated(), {"slope": [slope, 1.0]}, scoring=scorer, cv=KFold(3)).fit(X, Y)
    assert search.best_params_ == {"slope": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("names", [[0, 1], ["no", "yes"], ["yes", "no"], [5, 2], [False, True]])
def test_values_of_two_classes_are_those_of_evaluate(names):
    """Also if the second label in alphabetic order is not the one of outcome 1."""
    y = np.array(names)[Y]
    classifier = Stated(2.0).fit(X, y)
    event, p = (y == classifier.classes_[1]).astype(int), classifier.predict_proba(X)[:, 1]
    ev = bc.evaluate(event, p, rng=0)
    expected = [ev.ece.values.mean(), ev.l2_error.values.mean(), np.mean((p - event) ** 2)]
    expected += [-np.mean(np.log(np.where(event == 1, p, 1 - p)))]
    found = [
        -scorer(classifier, X, y)
        for scorer in (
            scorers.neg_ece_scorer,
            scorers.neg_l2_error_scorer,
            scorers.neg_brier_scorer,
            scorers.neg_log_scorer,
        )
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_other_class_can_be_the_event():
    y = np.array(["no", "yes"])[Y]
    classifier = Stated(2.0).fit(X, y)
    p = classifier.predict_proba(X)[:, 0]
    ev = bc.evaluate(y == "no", p, rng=0)
    assert scorers.make_scorer("ece", pos_label="no")(classifier, X, y) == pytest.approx(
        -ev.ece.values.mean(), rel=1e-12
    )
    assert scorers.make_scorer("auc")(classifier, X, y) > 0.7
    signed = scorers.make_scorer("signed_error", pos_label="no")(classifier, X, y)
    assert signed == pytest.approx(-np.abs(ev.signed_error.values).mean(), rel=1e-12)


def test_three_classes_and_a_fold_without_one_of_them():
    X, y = IRIS[0], np.array(["c", "b", "a"])[IRIS[1]]
    classifier = GaussianNB().fit(X[::2], y[::2])
    rows = np.flatnonzero(y != "b")[::2]
    for X_, y_ in ((X[1::2], y[1::2]), (X[rows], y[rows])):
        matrix = classifier.predict_proba(X_)
        right = np.asarray(classifier.classes_)[matrix.argmax(axis=1)] == y_
        ev = bc.evaluate(right, matrix.max(axis=1), target="confidence", rng=0)
        assert scorers.neg_ece_scorer(classifier, X_, y_) == pytest.approx(-ev.ece.values.mean(), rel=1e-12)
        brier = ((matrix - (np.asarray(classifier.classes_) == y_[:, None])) ** 2).sum(axis=1).mean()
        assert scorers.neg_brier_scorer(classifier, X_, y_) == pytest.approx(-brier, rel=1e-12)
    classwise = bc.evaluate(
        y[1::2], classifier.predict_proba(X[1::2]), classes=["a", "b", "c"], target="classwise", rng=0
    )
    found = scorers.make_scorer("ece", target="classwise")(classifier, X[1::2], y[1::2])
    assert found == pytest.approx(-classwise.ece.values.mean(), rel=1e-12)
    log = get_scorer("neg_log_loss")(classifier, X[1::2], y[1::2])
    assert scorers.neg_log_scorer(classifier, X[1::2], y[1::2]) == pytest.approx(log, rel=1e-9)


def test_clusters_do_not_change_which_score_is_computed():
    """The observed score of all classes is a mean over rows; its posterior mean has no form for clusters."""
    matrix = RNG.dirichlet(np.ones(3), 200)
    y, cluster = RNG.integers(0, 3, 200), np.arange(200) // 2
    by_hand = ((matrix - np.eye(3)[y]) ** 2).sum(axis=1).mean()
    brier = {"estimand": "brier_score", "cluster": cluster}
    assert scorers.calibration_loss(y, matrix, observed=True, **brier) == pytest.approx(by_hand, rel=1e-12)
    with pytest.raises(ValueError, match="`cluster` is not used by the posterior of 'brier_score' of all classes"):
        scorers.calibration_loss(y, matrix, **brier)
    with pytest.raises(ValueError, match="same length"):
        scorers.calibration_loss(y, matrix, estimand="log_score", observed=True, cluster=cluster[1:])
    right = matrix.argmax(axis=1) == y
    top = scorers.calibration_loss(y, matrix, observed=True, target="top-label", **brier)
    assert top == pytest.approx(np.mean((matrix.max(axis=1) - right) ** 2), rel=1e-12)


def test_the_label_of_three_classes_is_the_event():
    X, y = IRIS[0], np.array(["c", "b", "a"])[IRIS[1]]
    classifier = GaussianNB().fit(X[::2], y[::2])
    for column, label in enumerate("abc"):
        p, event = classifier.predict_proba(X[1::2])[:, column], y[1::2] == label
        found = scorers.make_scorer("ece", pos_label=label)(classifier, X[1::2], y[1::2])
        assert found == pytest.approx(-bc.evaluate(event, p, rng=0).ece.values.mean(), rel=1e-12)
        pairs = np.sign(p[event][:, None] - p[~event])
        auc = scorers.make_scorer("auc", observed=True, pos_label=label)(classifier, X[1::2], y[1::2])
        assert auc == pytest.approx((1 + pairs.mean()) / 2, abs=2e-3)  # on fine bins
    with pytest.raises(
        ValueError, match=r"`pos_label` must be labels from the classes of `estimator` \['a', 'b', 'c'\]"
    ):
        scorers.make_scorer("ece", pos_label="d")(classifier, X, y)
    with pytest.raises(ValueError, match="`pos_label` needs the probabilities of that class alone"):
        scorers.calibration_loss(y, classifier.predict_proba(X), pos_label="a")


def test_the_auc_of_three_classes_needs_a_target():
    """Without one, it would silently be that of the confidences of right and wrong predictions."""
    X, y = IRIS
    classifier = GaussianNB().fit(X[::2], y[::2])
    with pytest.raises(ValueError, match="of several classes needs a target"):
        scorers.make_scorer("auc")(classifier, X, y)
    matrix = classifier.predict_proba(X)
    ev = bc.evaluate(matrix.argmax(axis=1) == y, matrix.max(axis=1), target="confidence", rng=0)
    found = scorers.make_scorer("auc", target="top-label")(classifier, X, y)
    assert found == pytest.approx(ev.auc.values.mean(), rel=1e-12)


def test_options_of_the_evaluation():
    classifier = Stated(2.0).fit(X, Y)
    p = classifier.predict_proba(X)[:, 1]
    scorer = scorers.make_scorer("ece", bins=8, model="dirichlet", draws=300, rng=3)
    ev = bc.evaluate(Y, p, bins=8, model="dirichlet", draws=300, rng=3)
    assert scorer(classifier, X, Y) == pytest.approx(-ev.ece.values.mean(), rel=1e-12)
    assert scorers.make_scorer("ece", observed=True)(classifier, X, Y) == pytest.approx(
        -bc.plug_in_ece(Y, p), rel=1e-12
    )
    matrix = classifier.predict_proba(X)
    top = scorers.make_scorer("ece", target="top-label")(classifier, X, Y)
    assert top == pytest.approx(-bc.evaluate(Y, matrix, rng=0).ece.values.mean(), rel=1e-12)


def test_weights_and_clusters_are_routed():
    weights, cluster = RNG.gamma(2.0, size=600), np.arange(600) // 3
    folds = KFold(2)
    with config_context(enable_metadata_routing=True):
        scorer = scorers.make_scorer("ece").set_score_request(sample_weight=True, cluster=True)
        found = cross_validate(
            Stated(2.0), X, Y, scoring=scorer, cv=folds, params={"sample_weight": weights, "cluster": cluster}
        )
    p = Stated(2.0).fit(X, Y).predict_proba(X)[:, 1]
    for (_, rows), score in zip(folds.split(X), found["test_score"], strict=True):
        ev = bc.evaluate(Y[rows], p[rows], weights=weights[rows], cluster=cluster[rows], rng=0)
        assert score == pytest.approx(-ev.ece.values.mean(), rel=1e-12)
    scores = [scorers.neg_brier_scorer(Stated(2.0).fit(X, Y), X, Y, sample_weight=weights)]
    assert scores == pytest.approx([-np.average((p - Y) ** 2, weights=weights)], rel=1e-12)


@pytest.mark.slow
def test_several_scores_in_two_processes():
    names = {"ece": scorers.neg_ece_scorer, "brier": scorers.neg_brier_scorer}
    options = {"scoring": names, "cv": KFold(3)}
    one = cross_validate(LogisticRegression(), X, Y, **options)
    two = cross_validate(LogisticRegression(), X, Y, n_jobs=2, **options)
    for name in ("test_ece", "test_brier"):
        np.testing.assert_array_equal(one[name], two[name])
    search = GridSearchCV(Stated(), {"slope": [1.0]}, scoring=names, refit="brier", cv=3)
    assert clone(search).fit(X, Y).best_score_ < 0


def test_scorers_are_pickled():
    classifier = Stated(2.0).fit(X, Y)
    for scorer in (scorers.neg_ece_scorer, scorers.make_scorer("l2_error", bins=8)):
        copy = pickle.loads(pickle.dumps(scorer))
        assert copy(classifier, X, Y) == scorer(classifier, X, Y)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda c: scorers.make_scorer("eces"), "estimand"),
        (lambda c: scorers.neg_ece_scorer(c, X, np.full(600, 7)), "7"),
    ],
)
def test_errors(call, said):
    with pytest.raises((ValueError, TypeError), match=said):
        call(Stated().fit(X, Y))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bin": 3}, "`make_scorer` takes no 'bin'"),
        ({"n_bins": 10}, "Here it is called 'bins'"),
        ({"bins": 0}, "`bins` must be an integer >= 1"),
        ({"draws": 1}, "`draws` must be"),
        ({"target": "labels"}, "`target` must be one of"),
        ({"alpha": 1}, "It is an option of `model='dirichlet'`"),
        ({"estimand": "auc", "target": "classwise"}, "has the estimand 'ece' only"),
        ({"estimand": "accuracy", "target": "event"}, "the accuracy needs rows"),
        ({"rng": "seed"}, "`rng` must be"),
        ({"greater_is_better": False}, "The sign follows from the estimand"),
        ({"response_method": "predict_proba"}, "calls `predict_proba`"),
        ({"sample_weight": Y}, "set_score_request"),
        ({"classes": [0, 1]}, "for the classes of the estimator"),
        ({"estimand": scorers.neg_ece_scorer}, "a scorer already"),
    ],
)
def test_options_are_refused_before_cross_validation_returns_nan(options, said):
    with pytest.raises((ValueError, TypeError), match=said):
        scorers.make_scorer(**options)


def test_options_for_two_classes_or_for_more_are_accepted_and_a_generator_is_not_used():
    rng = np.random.default_rng(1)
    for options in (
        {"estimand": "accuracy"},
        {"binning": "values"},
        {"bins": [0, 0.5, 1]},
        {"target": "event", "rng": rng},
    ):
        scorers.make_scorer(**options)
    assert rng.random() == np.random.default_rng(1).random()


def test_names_that_are_no_scorer_lead_to_one():
    with pytest.raises(AttributeError, match=r"Did you mean `bayescal\.plugins\.sklearn\.neg_ece_scorer`"):
        scorers.ece_scorer  # noqa: B018
    for name in ("sklearn", "scikit_learn"):
        with pytest.raises(AttributeError, match=r"Did you mean `bayescal\.plugins\.sklearn`\?"):
            getattr(bc, name)


def test_scikit_learn_that_is_missing_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "bayescal.plugins.sklearn")
    monkeypatch.delattr(bc.plugins, "sklearn", raising=False)
    for name in [each for each in sys.modules if each.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ModuleNotFoundError, match="need scikit-learn, which is not installed: `pip install"):
        bc.plugins.sklearn.neg_ece_scorer  # noqa: B018


def test_a_label_that_no_row_has_is_refused():
    """A misspelt label would make every outcome 0."""
    with pytest.raises(ValueError, match=r"`pos_label` must be a label of `y_true`, such as 'no', not 'yse'"):
        scorers.calibration_loss(["no", "yes", "yes"], [0.2, 0.4, 0.9], pos_label="yse")
    assert scorers.calibration_loss(["no", "no"], [0.2, 0.4], classes=("no", "yes")) > 0
