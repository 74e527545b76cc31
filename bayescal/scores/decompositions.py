"""Decompositions of scores: rows or counts -> a score and the parts that add up to it."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._meant import public
from bayescal.analyses.one import count_rows, remarks_on
from bayescal.data.predictions import Columns, Predictions, TopLabels, read_rows
from bayescal.estimands.decompositions import corp_parts, isotonic_fit, mean_log_loss, mean_squared_error, murphy_parts
from bayescal.results.remarks import row_remarks
from bayescal.results.scores import CorpDecomposition, MurphyDecomposition
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import require_kind
from bayescal.stats.sums import effective_number


@public
def brier_decomposition(
    y_true: Any,
    y_prob: Any,
    *,
    method: str = "corp",
    bins: Any = None,
    binning: str = "equal-width",
    target: str | None = None,
    weights: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> CorpDecomposition | MurphyDecomposition:
    r"""Decompose the Brier score of rows into parts for calibration, discrimination and uncertainty.

    Parameters
    ----------
    y_true, y_prob, target, weights, classes, logits
        As for `evaluate`, except that `target` cannot be ``"classwise"``. The Brier score is that of the binary
        problem, the mean of (outcome - confidence)^2.
    method : {"corp", "murphy"}, default "corp"
        "corp" uses isotonic regression [1]_, which needs no bins. "murphy" uses bins [2]_ and includes the terms within
        bins [3]_, so that the parts add up for probabilities that vary within a bin.
    bins : int, array-like or Bins, optional
        Number of bins or edges for ``method="murphy"``; 15 by default. Not allowed for ``"corp"``.
    binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
        How the edges are chosen if `bins` is a number; for ``method="murphy"`` only.

    Returns
    -------
    CorpDecomposition or MurphyDecomposition
        The score and its parts, which describe the observed rows and have no intervals. `evaluate` gives an interval of
        the reliability in the population, ``ev.squared_l2_error``.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; also if the method is unknown, or bins are given for ``"corp"``.

    References
    ----------
    .. [1] T. Dimitriadis, T. Gneiting and A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
       classifiers", Proceedings of the National Academy of Sciences 118, e2016191118.
    .. [2] A. H. Murphy (1973), "A new vector partition of the probability score", Journal of Applied Meteorology 12,
       595-600.
    .. [3] D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe (2008), "Two extra components in the Brier score
       decomposition", Weather and Forecasting 23, 752-757.

    Examples
    --------
    Isotonic regression replaces the outcomes 1 and 0 at 0.4 and 0.7 by their mean, and the score 0.225 by
    (0 + 0.5^2 + 0.5^2 + 0) / 4 = 0.125: the miscalibration is 0.1.

    >>> parts = bc.scores.brier_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9])
    >>> [round(value, 3) for value in (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty)]
    [0.225, 0.1, 0.125, 0.25]

    With two bins, the observed shares are 0.5 in both, so that the resolution is 0.

    >>> parts = bc.scores.brier_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9], method="murphy", bins=2)
    >>> round(parts.reliability, 3), round(parts.resolution, 3)
    (0.065, 0.0)
    """
    _checks.one_of("method", method, ("corp", "murphy"))
    if method == "corp" and (bins is not None or binning != "equal-width"):
        name = "binning" if bins is None else "bins"
        raise ValueError(f"`{name}` is for `method='murphy'`; `method='corp'` uses isotonic regression without bins.")
    rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    if method == "corp":
        return _corp(_validated(rows), "Brier score")
    return murphy_decomposition(count_rows(rows, 15 if bins is None else bins, binning))


@public
def log_decomposition(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    weights: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> CorpDecomposition:
    """Decompose the log score of rows by isotonic regression (CORP).

    Parameters
    ----------
    y_true, y_prob, target, weights, classes, logits
        As for `brier_decomposition`.

    Returns
    -------
    CorpDecomposition
        The log score in nats, the mean of -log(probability of the observed outcome), and its parts [1]_.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`; also if an observed outcome has probability 0, because the log score is then infinite.

    References
    ----------
    .. [1] T. Dimitriadis, T. Gneiting and A. I. Jordan (2021), as for `brier_decomposition`.

    Examples
    --------
    The score of the constant forecast 1/2 is log 2 = 0.693.

    >>> parts = bc.scores.log_decomposition([0, 1, 0, 1], [0.2, 0.4, 0.7, 0.9])
    >>> [round(value, 3) for value in (parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty)]
    [0.612, 0.266, 0.347, 0.693]
    """
    rows = _validated(read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights))
    impossible = np.where(rows.outcome == 1, rows.confidence == 0, rows.confidence == 1)
    if rows.weight is not None:
        impossible &= rows.weight > 0
    if impossible.any():
        rule = "must not be 0 for outcome 1 or 1 for outcome 0, because the log score is then infinite"
        hint = "To limit the loss, clip the probabilities, as in `np.clip(p, 1e-15, 1 - 1e-15)`, and report the limits."
        _checks.refuse("y_prob", rule, impossible, rows.confidence, hint, ("is", "are"))
    return _corp(rows, "log score")


@public
def murphy_decomposition(counts: BinnedCounts) -> MurphyDecomposition:
    """Decompose the Brier score of counts by their bins.

    Parameters
    ----------
    counts : BinnedCounts
        Counts with at least one row of positive weight. Counts of batches can be added first.

    Returns
    -------
    MurphyDecomposition
        The score and its five parts [1]_ [2]_, which add up to the score for any bins.

    Raises
    ------
    ValueError
        If there are no rows.
    TypeError
        If `counts` are not `BinnedCounts`.

    References
    ----------
    .. [1] A. H. Murphy (1973), as for `brier_decomposition`.
    .. [2] D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe (2008), "Two extra components in the Brier score
       decomposition", Weather and Forecasting 23, 752-757.

    Examples
    --------
    >>> parts = bc.scores.murphy_decomposition(bc.BinnedCounts.from_arrays([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2))
    >>> round(parts.reliability, 4), round(parts.generalized_resolution, 4), round(parts.score, 4)
    (0.04, 0.1025, 0.125)
    """
    require_kind(BinnedCounts, "; for rows, use `brier_decomposition`.", counts)
    if not counts.occupied.any():
        raise ValueError("`counts` must have at least one row of positive weight; a score needs rows.")
    weighted = _weighted(counts.weighted, counts.effective_rows)
    question = f"Brier score, Murphy decomposition of {counts.target}, {counts.bins}, N = {counts.n_rows}{weighted}"
    of_rows, parts = row_remarks(counts), murphy_parts(counts)
    return MurphyDecomposition(score_name="Brier score", question=question, of_rows=of_rows, **parts)


def _validated(rows: Columns | TopLabels) -> Predictions:
    return rows.checked().scale_free()


def _corp(rows: Predictions, score_name: str) -> CorpDecomposition:
    weight = rows.weight
    effective = 0.0 if weight is None else effective_number(weight)
    weighted = _weighted(weight is not None, effective)
    question = f"{score_name}, CORP decomposition of {rows.target}, N = {len(rows.outcome)}{weighted}"
    mean_loss = mean_log_loss if score_name == "log score" else mean_squared_error
    parts = corp_parts(isotonic_fit(rows.confidence, rows.outcome, weight), mean_loss)
    return CorpDecomposition(score_name=score_name, question=question, of_rows=remarks_on(rows), **parts)


def _weighted(weighted: bool, effective_rows: float) -> str:
    return f" (weighted, effective N = {effective_rows:.0f})" if weighted else ""
