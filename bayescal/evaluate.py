"""READ FIRST. The public functions, from rows or counts to a result; `analyses.one` contains the single steps."""

from collections.abc import Mapping
from typing import Any, overload

from bayescal._arrays import Classes
from bayescal._meant import public
from bayescal.analyses import groups as by_group
from bayescal.analyses.groups import evaluate_class_counts, evaluate_classes, evaluate_count_groups, evaluate_row_groups
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters, Groups
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import read_rows
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import ClasswiseCounts


@overload
def evaluate(
    y_true: Any, y_prob: Any, *, by: None = None, pooling: None = None, **options: Any
) -> Evaluation | ClasswiseEvaluation: ...
@overload
def evaluate(y_true: Any, y_prob: Any, *, by: Any, **options: Any) -> GroupedEvaluation: ...
@public
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
    cluster: Any = None,
    pooling: str | None = None,
    classes: Classes = None,
    logits: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation | GroupedEvaluation:
    r"""Compute the posterior of the Expected Calibration Error (ECE) from labels and probabilities.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels: 0/1 or booleans if `y_prob` is a column, class numbers 0..K-1 if it is a matrix. For strings and other
        labels, pass `classes`, or a data frame with one column per class.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Probabilities in [0, 1]; each row of a matrix sums to 1. In a data frame, the names of the columns are the
        classes, in this order; see Notes.
    target : {"event", "top-label", "classwise", "confidence"}, optional
        The outcome whose frequency is compared with the stated probability:

        - ``event`` (default for a column): class 1 occurs;
        - ``top-label`` (default for a matrix): the most probable class is the true one;
        - ``classwise``: class k occurs, one binary problem per column of the matrix;
        - ``confidence``: the prediction is right; `y_true` states whether it is, and `y_prob` is its confidence.
    bins : int, array-like or Bins, default 15
        Number of bins, or edges that increase from 0 to 1. Bins are [a, b); the last one is closed. For (a, b], pass
        ``make_bins(15, closed="right")``. The ECE depends on the bins; `Evaluation.spec` and
        `Evaluation.details` state them.
    binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
        How the edges are chosen if `bins` is a number: bins of equal width, bins with nearly equal numbers of rows
        (`equal_mass_edges`), or, for weighted rows, bins with nearly equal effective numbers of rows
        (`equal_effective_mass_edges`). ``values`` has one bin for each distinct probability, at most 101, such as the
        90 % that a language model states; printing then shows the share of outcome 1 at each value.
    model : {"shrinkage", "dirichlet"}, default "shrinkage"
        The posterior. ``shrinkage`` allows exact and nearly exact calibration. Its 95 % intervals contain the true
        ECE in about 95 % of data sets, but in less than 90 % if the calibration errors of the bins are about as large
        as the sampling noise. ``dirichlet`` is the Dirichlet model (Bayesian ECE). Its intervals do not contain a true
        ECE near 0, however many rows there are.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`. With None, the last digits differ between calls.
    weights : array-like, shape (n_rows,), optional
        Importance weights >= 0. The effective number of rows is that of Kish, (sum w)^2 / sum w^2 [3]_.
    by : array-like, shape (n_rows,), or data frame of several columns, optional
        Group of each row, such as its fold, site or sex. By default each group is evaluated separately; see `pooling`.
        All groups have the same bin edges. Labels may be any hashable values. Missing labels raise an error. A column
        with more than 30 distinct non-integer numbers also raises an error, because it is likely a measurement: divide
        it into ranges first.
    cluster : array-like, shape (n_rows,), or data frame of several columns, optional
        Cluster of each row, such as the question that several answers belong to, or the patient of several images.
        Rows of one cluster may depend on each other; intervals become wider accordingly (see Notes). By default all
        rows are independent. Labels may be any hashable values; missing labels raise an error.
    pooling : {"none", "partial", "complete"}, optional
        How the groups of `by` borrow strength from each other:

        - ``none`` (default): each group is evaluated from its own rows, so that its result does not depend on which
          other groups there are;
        - ``partial``: groups deviate from the curve of all rows, or from exact calibration, by amounts that are learnt
          from all groups; where the rows of a group, or of all groups, do not support this, their results without
          pooling enter. Intervals are narrower, the more groups agree. The result of a category without rows is the
          prediction for a new group. Only for the shrinkage model, and not with `cluster`;
        - ``complete``: all groups have the curve of all rows. For comparison only: its intervals are too narrow if
          groups differ.
    classes : sequence, optional
        Labels in the order of the columns; for ``event``, the labels of outcomes 0 and 1. By default the names of the
        columns of a data frame, otherwise 0..K-1.
    logits : bool, default False
        Whether `y_prob` holds logits instead of probabilities; logits of all types are converted to float64.
    progress : bool, optional
        Whether to show a progress bar for groups and classes, on standard error. By default it appears on a terminal
        after two seconds. True shows it at once; if standard error is not a terminal, it writes one line per tenth of
        the work.
    **options
        Options of the model, such as ``intercept_sd=1.0`` (see `shrinkage_posterior`) or ``alpha="jeffreys"`` (see
        `dirichlet_posterior`).

    Returns
    -------
    Evaluation, ClasswiseEvaluation or GroupedEvaluation
        A `ClasswiseEvaluation` for ``target="classwise"``, a `GroupedEvaluation` with `by`, else an `Evaluation`.

    Raises
    ------
    ValueError, TypeError
        For invalid input. The message names the argument, the rule, the number of invalid values, the first index and
        value, and a remedy.

    Notes
    -----
    The ECE of the population is :math:`\sum_b m_b |\theta_b - \mu_b|` with masses m, accuracies :math:`\theta` and mean
    confidences :math:`\mu` of the bins [1]_ [2]_. Each posterior draw of the bins gives one draw of the ECE.

    With `cluster`, effective numbers of rows are divided by design effects, which follow from the correlation of the
    residuals of rows of one cluster (see `ClusterSums`). Intervals of the Brier score, the log score and the AUC use
    the variance over clusters. With fewer than 40 clusters a remark warns that intervals may be too narrow. With
    `by`, clusters are those within a group; groups are taken as independent.

    Rows are matched by position. The indexes of Series and data frames must be equal; otherwise a `ValueError` says
    how to align them. There is one exception: a default index ``0, 1, ..., n - 1`` is ignored, unless the other index
    contains the same labels in another order.

    If `y_prob` is a data frame with one column per class (pandas, polars, pyarrow), labels are matched with the names
    of its columns. Labels that are numbers need names that are numbers, or that number the columns, as in ``prob_0,
    prob_1, prob_2``; with other names, such as ``cat, dog``, it would be a guess that label 0 belongs to the first
    column, and a `TypeError` asks for `classes`. A `ValueError` is raised if `classes` contradicts the names.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), "Obtaining well calibrated probabilities using Bayesian
       binning", Proceedings of the AAAI Conference on Artificial Intelligence 29.
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks",
       Proceedings of the 34th International Conference on Machine Learning, PMLR 70, equation 3.
    .. [3] Kish (1965), Survey Sampling, Wiley.

    Examples
    --------
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p ** 1.3
    >>> ev = bc.evaluate(y, p, rng=1)
    >>> ev.question
    'event ECE, 15 equal-width bins [a, b), N = 1000, shrinkage model'
    >>> ev.ece.interval(0.95)
    (0.0..., 0.1...)
    >>> list(bc.evaluate(y, p, by=p > 0.5, rng=1))
    [False, True]

    Columns of a data frame name the classes:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> bc.evaluate(["cat", "cat"], frame, target="classwise", rng=1).classes
    ('cat', 'dog')
    """
    settings = {"bins": bins, "binning": binning, "model": model, "draws": draws, "rng": rng, **options}
    arguments = {"y_true": y_true, "y_prob": y_prob, "weights": weights, "by": by, "cluster": cluster}

    def clusters_of_rows(n_rows: int) -> Clusters | None:
        if cluster is None:
            return None
        same_rows(arguments)
        return Clusters.from_column(cluster, n_rows)

    shown = {**settings, "progress": progress}
    if target == "classwise":
        by_group.checked_pooling(pooling, groups=by is not None)
        if by is not None:
            raise ValueError(
                "`by` cannot be combined with `target='classwise'`, which has one problem per class: use "
                "`target='top-label'`, or evaluate one class at a time as an event."
            )
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights, with_target=True)
        return evaluate_classes(rows, clusters=clusters_of_rows(len(rows)), **shown)
    columns = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    by_group.checked_pooling(pooling, groups=by is not None, model=model)
    if by is not None:
        same_rows(arguments)
        groups = Groups.from_column(by, len(columns))
        groups = groups.with_empty(by) if pooling in (by_group.PARTIAL, by_group.TOTAL) else groups
        clusters = clusters_of_rows(len(columns))
        return evaluate_row_groups(columns.checked(), groups, clusters=clusters, pooling=pooling, **shown)
    clusters = clusters_of_rows(len(columns))
    counts = count_rows(columns, bins, binning, ranked=True, clusters=clusters)
    return evaluate_one(counts, model=model, draws=draws, rng=rng, **options)


@overload
def evaluate_counts(counts: BinnedCounts, *, pooling: None = None, **options: Any) -> Evaluation: ...
@overload
def evaluate_counts(counts: ClasswiseCounts, **options: Any) -> ClasswiseEvaluation: ...
@overload
def evaluate_counts(counts: Mapping[Any, BinnedCounts], **options: Any) -> GroupedEvaluation: ...
@public
def evaluate_counts(
    counts: BinnedCounts | ClasswiseCounts | Mapping[Any, BinnedCounts],
    *,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    progress: bool | None = None,
    pooling: str | None = None,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation | GroupedEvaluation:
    """Compute the posterior of the Expected Calibration Error (ECE) from counts.

    The estimand is that of `evaluate` [1]_. The running time does not depend on the number of rows that were counted.

    Parameters
    ----------
    counts : BinnedCounts, ClasswiseCounts, or mapping of label to BinnedCounts
        Counts; empty counts give the prior. `ClasswiseCounts` hold those of all classes of one classifier. A mapping
        holds the counts of groups on the same bins, as returned by ``BinnedCounts.from_frame(..., by=...)``. No row may
        belong to two groups.
    pooling : {"none", "partial", "complete"}, optional
        How the groups of a mapping borrow strength from each other, as for `evaluate`; by default they do not. With
        pooling, a group with empty counts has the predictive distribution of a new group.

    Returns
    -------
    Evaluation, ClasswiseEvaluation or GroupedEvaluation
        A `ClasswiseEvaluation` of `ClasswiseCounts`. A `GroupedEvaluation` if `counts` is a mapping: one evaluation per
        group, and one of all rows.

    Raises
    ------
    TypeError
        If `counts` is neither `BinnedCounts` nor a mapping to them, or an option is unknown to the model.
    ValueError
        If groups were counted on different bins, or an option is invalid.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), as for `evaluate`.

    Examples
    --------
    >>> counts = bc.BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.6, 0.9], bins=5)
    >>> bc.evaluate_counts(counts, model="dirichlet", alpha="jeffreys", rng=1).plug_in
    0.233
    >>> list(bc.evaluate_counts({"north": counts, "south": counts}, rng=1))
    ['north', 'south']
    """
    by_group.checked_pooling(pooling, groups=isinstance(counts, Mapping), model=model)
    if isinstance(counts, Mapping):
        shown = {"draws": draws, "progress": progress, "pooling": pooling}
        return evaluate_count_groups(counts, model=model, rng=rng, **shown, **options)
    if isinstance(counts, ClasswiseCounts):
        return evaluate_class_counts(counts, model=model, draws=draws, rng=rng, progress=progress, **options)
    return evaluate_one(counts, model=model, draws=draws, rng=rng, **options)
