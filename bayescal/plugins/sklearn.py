"""Scorers for scikit-learn: errors of calibration and proper scores, from the probabilities of an estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal import _packages
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.evaluate import evaluate
from bayescal.scores.multiclass import multiclass_brier, multiclass_log

_packages.require("sklearn")
from sklearn.metrics._scorer import _BaseScorer  # noqa: E402  # metadata are routed to scorers of this class only

__all__ = [
    "calibration_loss",
    "make_scorer",
    "neg_brier_scorer",
    "neg_ece_scorer",
    "neg_l2_error_scorer",
    "neg_log_scorer",
]
#: Scores of a whole matrix of probabilities.
_OF_MATRIX = {"brier_score": multiclass_brier, "log_score": multiclass_log}


@public
def calibration_loss(
    y_true: Any,
    y_prob: Any,
    *,
    estimand: EstimandLike = "ece",
    observed: bool = False,
    classes: Sequence[Any] | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    rng: Any = 0,
    **options: Any,
) -> float:
    r"""Return the calibration error or score of probabilities as a loss: smaller is better.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels.
    y_prob : array-like, shape (n_rows,) or (n_rows, n_classes)
        Probabilities of the second class, or of all classes.
    estimand : str, Estimand or callable, default "ece"
        The quantity, which must have a better direction.
    observed : bool, default False
        Whether to return the observed (plug-in) value instead of the posterior mean.
    classes : sequence, optional
        Labels in the order of the columns; of two classes, the labels of outcomes 0 and 1.
    pos_label : label, optional
        The label whose probability a column holds; instead of `classes`.
    sample_weight : array-like, shape (n_rows,), optional
        Weights of the rows.
    cluster : array-like, shape (n_rows,), optional
        Cluster of each row.
    rng : int, SeedSequence or Generator, default 0
        Seed of the draws, so that the same rows give the same number.
    **options
        As for `evaluate`: ``target=``, ``bins=``, ``binning=``, ``model=``, ``draws=``. The default target is
        ``event`` for a column and ``top-label`` for a matrix.

    Returns
    -------
    float
        The posterior mean, its negative if larger values are better, or that of the absolute value if the value
        nearest zero is best. ``brier_score`` and ``log_score`` of a matrix are those of all classes, as in
        `scores.multiclass_brier` and `scores.multiclass_log`, if no target is given.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`, if the estimand has no better direction, or if `y_true` does not contain `pos_label`.

    Examples
    --------
    >>> from bayescal.plugins.sklearn import calibration_loss
    >>> calibration_loss(["no", "yes", "yes"], [0.2, 0.4, 0.9], estimand="brier_score", observed=True, pos_label="yes")
    0.136...
    """
    record, matrix = as_scalar(estimand), np.ndim(y_prob) == 2
    if pos_label is not None:
        labels = np.unique(np.asarray(y_true))
        if pos_label not in labels:
            raise ValueError(
                f"`pos_label` must be a label of `y_true`, such as {quoted(labels[0].item())}, not "
                f"{quoted(pos_label)}. If no row has this label, pass `classes=(other, pos_label)` instead."
            )
        y_true, classes = np.asarray(y_true) == pos_label, None
    elif classes is None and np.asarray(y_true).dtype.kind not in "biuf":
        labels = np.unique(np.asarray(y_true))
        classes = labels.tolist() if len(labels) == (np.shape(y_prob)[1] if matrix else 2) else None
    columns = {"classes": classes, "weights": sample_weight}
    if matrix and record.name in _OF_MATRIX and options.get("target") is None and cluster is None:
        score = _OF_MATRIX[record.name](y_true, y_prob, **columns)
        return float(score.observed if observed else score.mean)
    if not matrix and options.get("target") in ("top-label", "classwise"):
        y_prob = np.column_stack([1 - np.asarray(y_prob), y_prob])
    evaluation: Any = evaluate(y_true, y_prob, cluster=cluster, rng=rng, **columns, **options)
    if options.get("target") == "classwise":
        if record.name != "ece":
            raise ValueError(f"`target='classwise'` has the estimand 'ece' only, not {record.name!r}.")
        return float(evaluation.plug_in if observed else evaluation.ece.mean())
    values = np.array([evaluation.plug_in_of(record)]) if observed else evaluation.draws(record).values
    return float(record.badness(values).mean())


class _Scorer(_BaseScorer):
    """A scorer that knows the order of the classes of the estimator."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **metadata: Any) -> float:
        self._warn_overlap("Parameters of this scorer are also passed as metadata.", metadata)
        options = {**self._kwargs, **metadata}
        classes, positive = np.asarray(estimator.classes_).tolist(), options.pop("pos_label", None)
        positive = classes[-1] if positive is None else positive
        y_prob = method_caller(estimator, "predict_proba", X, pos_label=positive)
        if len(classes) == 2:
            classes.sort(key=lambda label: label == positive)
        return self._sign * calibration_loss(y_true, y_prob, classes=classes, **options)


@public
def make_scorer(estimand: EstimandLike = "ece", *, observed: bool = False, rng: Any = 0, **options: Any) -> _BaseScorer:
    """Return a scorer for ``scoring=`` of scikit-learn, for any estimand.

    Parameters
    ----------
    estimand : str, Estimand or callable, default "ece"
        The quantity, which must have a better direction; a string or a function of a module if the scorer is to be
        pickled.
    observed : bool, default False
        Whether the score is the observed (plug-in) value instead of the posterior mean.
    rng : int, SeedSequence or Generator, default 0
        Seed of the draws. Candidates on the same rows have the same random numbers.
    **options
        As for `calibration_loss`: ``target=``, ``bins=``, ``pos_label=`` and others.

    Returns
    -------
    scorer
        Called as ``scorer(estimator, X, y)``. Larger is better: it returns the negative of `calibration_loss`. With
        metadata routing, it accepts ``sample_weight`` and ``cluster``.

    Raises
    ------
    ValueError, TypeError
        If there is no such estimand; when it is called, as for `calibration_loss`.

    Notes
    -----
    Probabilities are matched with labels by ``estimator.classes_``. Of two classes, the event is the second one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from bayescal.plugins.sklearn import make_scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = GaussianNB().fit(X[::2], y[::2])
    >>> round(make_scorer("ece", bins=10)(classifier, X[1::2], y[1::2]), 2)
    -0.05
    """
    as_scalar(estimand)
    named = {"estimand": estimand, "observed": observed, "rng": rng, **options}
    return _Scorer(calibration_loss, -1, named, "predict_proba")


#: Negative posterior mean of the ECE.
neg_ece_scorer = make_scorer("ece")
#: Negative posterior mean of the root mean square calibration error of the bins.
neg_l2_error_scorer = make_scorer("l2_error")
#: Negative observed Brier score: of the event, or the sum over all classes.
neg_brier_scorer = make_scorer("brier_score", observed=True)
#: Negative observed log score.
neg_log_scorer = make_scorer("log_score", observed=True)
