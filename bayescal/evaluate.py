"""READ FIRST. The whole pipeline on one page: rows -> counts -> posterior -> draws -> Evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

from bayescal.analyses.classwise import count_classes, evaluate_classes
from bayescal.analyses.groups import evaluate_count_groups, evaluate_row_groups
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.alignment import same_rows
from bayescal.data.groups import Groups
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import read_rows
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import observed_bins
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts


@overload
def evaluate(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    by: None = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation: ...
@overload
def evaluate(y_true: Any, y_prob: Any, *, by: Any, **options: Any) -> GroupedEvaluation: ...
def evaluate(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    by: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation | GroupedEvaluation:
    """Posterior of the Expected Calibration Error, from labels and probabilities.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels: 0/1 or booleans with a column of probabilities, class numbers 0..K-1 with a matrix. Strings and
        other labels need `classes`.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Probabilities in [0, 1]; rows of a matrix sum to 1.
    target : {"event", "top-label", "classwise", "confidence"}, optional
        The question: is class 1 as frequent as stated (``event``, the default for a column); is the most probable
        class right as often as stated (``top-label``, the default for a matrix); is every class as frequent as its
        column says (``classwise``); was a prediction right as often as its confidence says, with `y_true` holding
        right or wrong (``confidence``).
    bins : int or array-like, default 15
        A number of bins, or edges that increase from 0 to 1. Bins are [a, b), the last one closed. The ECE depends
        on them, so they are printed with every result.
    binning : {"equal-width", "equal-mass"}, default "equal-width"
        How a number of bins becomes edges.
    model : {"shrinkage", "dirichlet"}, default "shrinkage"
        The posterior. ``shrinkage`` can sit on or near exact calibration, and its 95 % intervals contain the true ECE
        about 95 % of the time; where bins are off by about as much as their noise, less than 90 %. ``dirichlet`` is
        the Dirichlet model (Bayesian ECE); its intervals miss a true ECE near 0, at any number of rows.
    draws : int, default 4000
        Number of independent posterior draws.
    rng : None, int, SeedSequence or Generator
        Randomness, as for `numpy.random.default_rng`. With None every call differs in the last digits.
    weights : array-like, shape (n_rows,), optional
        Importance weights >= 0. Evidence counts as Kish's effective number of rows.
    by : array-like, shape (n_rows,), or data frame of several columns, optional
        Group of each row, such as a fold, a site or a sex: one evaluation per group, all with the same edges. Labels
        may be any hashable values. Missing labels are refused, and so is a column with more than 30 distinct
        non-integer numbers, which is a measurement: cut it into ranges.
    classes : sequence, optional
        Labels in the order of the columns; for ``event`` the label of 0 and the label of 1.
    logits : bool, default False
        Whether `y_prob` holds logits.
    **options
        Options of the model, as in ``intercept_sd=1.0`` (see `shrinkage_posterior`) or ``alpha="jeffreys"`` (see
        `dirichlet_posterior`).

    Returns
    -------
    Evaluation
        Or, for ``target="classwise"``, a `ClasswiseEvaluation`; with `by`, a `GroupedEvaluation`.

    Raises
    ------
    ValueError, TypeError
        For any input that does not mean what it must; the message names the argument, how many values, the first
        index and its value, and a repair.

    Notes
    -----
    Values are combined by position. The indexes of Series and data frames must be equal; otherwise a `ValueError` says
    how to align them. A default index ``0, 1, ..., n - 1`` is ignored if the other index has different labels.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p ** 1.3
    >>> ev = evaluate(y, p, rng=1)
    >>> ev.question
    'event ECE, 15 equal-width bins [a, b), N = 1000, shrinkage model'
    >>> ev.ece.interval(0.95)
    (0.0..., 0.1...)
    >>> list(evaluate(y, p, by=p > 0.5, rng=1))
    [False, True]
    """
    known = {"bins": bins, "binning": binning, "model": model, "draws": draws, "rng": rng, **options}
    if target == "classwise":
        if by is not None:
            raise ValueError(
                "`target='classwise'` is many problems, and `by` needs one: `target='top-label'`, or one class at a "
                "time as an event."
            )
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights)
        return evaluate_classes(rows, tuple(range(rows.n_classes) if classes is None else classes), **known)
    columns = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    if by is not None:
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights, "by": by})
        return evaluate_row_groups(columns.checked(), Groups.from_column(by, len(columns)), **known)
    return evaluate_counts(count_rows(columns, bins, binning), model=model, draws=draws, rng=rng, **options)


@overload
def evaluate_counts(
    counts: BinnedCounts, *, model: str = DEFAULT_MODEL, draws: int = 4000, rng: Any = None, **options: Any
) -> Evaluation: ...
@overload
def evaluate_counts(counts: Mapping[Any, BinnedCounts], **known: Any) -> GroupedEvaluation: ...
def evaluate_counts(
    counts: BinnedCounts | Mapping[Any, BinnedCounts],
    *,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> Evaluation | GroupedEvaluation:
    """Posterior of the Expected Calibration Error, from counts; costs the same for a thousand rows and a billion.

    Parameters
    ----------
    counts : BinnedCounts, or mapping of label to BinnedCounts
        Counts; empty counts give the prior. A mapping, as ``BinnedCounts.from_frame(..., by=...)`` gives, holds groups
        that have no row in common, on the same bins.
    model, draws, rng, **options
        As for `evaluate`.

    Returns
    -------
    Evaluation
        The posterior, with the plug-in value and its null distribution. For a mapping, a `GroupedEvaluation`, which
        also holds the evaluation of all rows.

    Raises
    ------
    TypeError, ValueError
        If `counts` are something else, or groups were counted on different bins; for options as `evaluate`.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.6, 0.9], bins=5)
    >>> evaluate_counts(counts, model="dirichlet", alpha="jeffreys", rng=1).plug_in
    0.233
    >>> list(evaluate_counts({"north": counts, "south": counts}, rng=1))
    ['north', 'south']
    """
    if isinstance(counts, Mapping):
        return evaluate_count_groups(counts, model=model, draws=draws, rng=rng, **options)
    return evaluate_one(counts, model=model, draws=draws, rng=rng, **options)


def plug_in_ece(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    weights: Any = None,
    binning: str = "equal-width",
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> float:
    r"""Compute the usual ECE, :math:`\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|`: one number, biased upwards.

    Parameters
    ----------
    y_true, y_prob, target, bins, weights, binning, classes, logits
        As for `evaluate`.

    Returns
    -------
    float
        In [0, 1]. For ``target="classwise"`` the unweighted mean over classes.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`.

    Examples
    --------
    Two bins: one with gap 1/2 - 0.3, one with gap 1 - 0.8, half of the rows each.

    >>> plug_in_ece([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
    0.2
    """
    known = {"classes": classes, "logits": logits, "weights": weights}
    if target == "classwise":
        counts = count_classes(ClassRows.read(y_true, y_prob, **known), bins, binning)
    else:
        counts = (count_rows(read_rows(y_true, y_prob, target=target, **known), bins, binning),)
    return float(np.mean([ece(observed_bins(c)).values[0] for c in counts]))
