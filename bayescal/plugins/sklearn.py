"""Scorers for scikit-learn: errors of calibration and proper scores, from the probabilities of an estimator."""

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from bayescal import _checks, _packages
from bayescal._invalid import quoted
from bayescal._meant import attributes, public, unknown_keyword
from bayescal._texts import text_of
from bayescal.data.columns import class_numbers
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
__getattr__ = attributes(__name__, __all__)
#: Scores of a whole matrix of probabilities.
_OF_MATRIX = {"brier_score": multiclass_brier, "log_score": multiclass_log}
#: Arguments of `evaluate` that a scorer has from the rows, the metadata or the estimator.
_NO_OPTIONS = ("sample_weight", "weights", "cluster", "by", "pooling", "classes", "logits", "progress")


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
        `scores.multiclass_brier` and `scores.multiclass_log`, if no target is given. ``auc`` of a matrix needs a
        target: with ``top-label`` it is the AUC of the confidence, for right against wrong predictions.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; if the estimand has no better direction; if `pos_label` is given with a matrix, or is no
        label of `y_true`; if the estimand of a matrix needs a target; or if rows in clusters have a posterior mean of
        scores of all classes, whose effective number of rows is not known.

    Examples
    --------
    >>> from bayescal.plugins.sklearn import calibration_loss
    >>> calibration_loss(["no", "yes", "yes"], [0.2, 0.4, 0.9], estimand="brier_score", observed=True, pos_label="yes")
    0.136...
    """
    record, matrix = as_scalar(estimand), np.ndim(y_prob) == 2
    if matrix:
        _require_a_quantity(record.name, pos_label, options.get("target"))
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
    if matrix and record.name in _OF_MATRIX and options.get("target") is None:
        return _of_all_classes(record.name, y_true, y_prob, observed, cluster, columns)
    if not matrix and options.get("target") in ("top-label", "classwise"):
        y_prob = np.column_stack([1 - np.asarray(y_prob), y_prob])
    evaluation: Any = evaluate(y_true, y_prob, cluster=cluster, rng=rng, **columns, **options)
    if options.get("target") == "classwise":
        if record.name != "ece":
            raise ValueError(f"`target='classwise'` has the estimand 'ece' only, not {record.name!r}.")
        return float(evaluation.plug_in if observed else evaluation.ece.mean())
    values = np.array([evaluation.plug_in_of(record)]) if observed else evaluation.draws(record).values
    return float(record.badness(values).mean())


def _require_a_quantity(name: str, pos_label: Any, target: str | None) -> None:
    """Raise if a matrix has no such quantity, or several."""
    if pos_label is not None:
        raise ValueError(text_of("probabilities of the positive label"))
    if name == "auc" and target is None:
        raise ValueError(text_of("target of an area"))


def _of_all_classes(
    name: str, y_true: Any, y_prob: Any, observed: bool, cluster: Any, columns: Mapping[str, Any]
) -> float:
    """Return a score of the whole matrix."""
    if cluster is not None:
        _checks.same_length(("y_true", "cluster"), (len(y_true), len(cluster)))
        if not observed:
            raise ValueError(
                f"`cluster` is not used by the posterior of {quoted(name)} of all classes: pass `observed=True`, whose "
                "mean over rows does not depend on clusters, or `target='top-label'`."
            )
    score = _OF_MATRIX[name](y_true, y_prob, **columns)
    return float(score.observed if observed else score.mean)


class _Scorer(_BaseScorer):
    """A scorer that knows the order of the classes of the estimator."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **metadata: Any) -> float:
        self._warn_overlap("Parameters of this scorer are also passed as metadata.", metadata)
        options = {**self._kwargs, **metadata}
        classes, positive = np.asarray(estimator.classes_).tolist(), options.pop("pos_label", None)
        shown = classes[-1] if positive is None else positive
        y_prob = method_caller(estimator, "predict_proba", X, pos_label=shown)
        if len(classes) == 2:
            classes.sort(key=lambda label: label == shown)
        elif positive is not None:
            (at,), y = (
                class_numbers(name, np.asarray(labels), classes, "the classes of `estimator`")
                for name, labels in (("pos_label", [positive]), ("y_true", y_true))
            )
            y_true, y_prob, classes = y == at, np.asarray(y_prob)[:, at], None
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
        As for `calibration_loss`: ``target=``, ``bins=``, ``pos_label=`` and others. They are tried on 100 rows here,
        because ``cross_validate`` turns errors of scorers into NaN.

    Returns
    -------
    scorer
        Called as ``scorer(estimator, X, y)``. Larger is better: it returns the negative of `calibration_loss`. With
        metadata routing, it accepts ``sample_weight`` and ``cluster``.

    Raises
    ------
    ValueError, TypeError
        If there is no such estimand, an option is unknown or invalid, or the estimand is a scorer already. When it is
        called, as for `calibration_loss`, or if `pos_label` is not a class of the estimator.

    Notes
    -----
    Probabilities are matched with labels by ``estimator.classes_``. Of two classes, the event is the second one. Of
    more classes, `pos_label` chooses the event that this class occurs.

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
    if isinstance(estimand, _BaseScorer):
        raise TypeError("`estimand` is a scorer already: pass it as `scoring=`.")
    for word in options:
        if word in _NO_OPTIONS:
            raise unknown_keyword("make_scorer", word, ["estimand", "observed", "rng", "pos_label"])
    scorer = _scorer(estimand, observed=observed, rng=rng, **options)
    if options or rng != 0 or not isinstance(estimand, str):
        _try(**scorer._kwargs)
    return scorer


def _scorer(estimand: EstimandLike, *, observed: bool = False, rng: Any = 0, **options: Any) -> _Scorer:
    as_scalar(estimand)
    named = {"estimand": estimand, "observed": observed, "rng": rng, **options}
    return _Scorer(calibration_loss, -1, named, "predict_proba")


def _try(pos_label: Any = None, **options: Any) -> None:
    """Raise the error of options that are valid neither for two classes nor for more."""
    confidence, problems = (np.arange(100) + 0.5) / 100, []
    for y_prob in (confidence, np.column_stack([confidence, 1 - confidence, 0 * confidence])):
        try:
            with warnings.catch_warnings(action="ignore"):
                calibration_loss(np.arange(100) % 2, y_prob, **deepcopy(options))
            return
        except (TypeError, ValueError) as problem:
            problems.append(problem)
    raise problems[0]


#: Negative posterior mean of the ECE.
neg_ece_scorer = _scorer("ece")
#: Negative posterior mean of the root mean square calibration error of the bins.
neg_l2_error_scorer = _scorer("l2_error")
#: Negative observed Brier score: of the event, or the sum over all classes.
neg_brier_scorer = _scorer("brier_score", observed=True)
#: Negative observed log score.
neg_log_scorer = _scorer("log_score", observed=True)
