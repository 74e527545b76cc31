"""Class frequencies of a target without labels: rows or counts -> posterior -> ClassPriors."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._render import percent
from bayescal.results.wording import p_words
from bayescal.shift.cells import ShiftCells, default_cells
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior
from bayescal.shift.class_frequencies_result import FEW, UNLABELLED, ClassPriors
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.prior_likelihood import PriorLikelihoodPosterior
from bayescal.shift.rows import TARGET, ShiftedRows, require_overlap

USING = ("cells", "probabilities")
#: Maximum number of classes.
MOST_CLASSES = 100
#: Errors of chains that had not converged in simulations.
SEEN = (
    "In simulations with five classes, means then differed from those of long chains by up to 0.5 standard deviations, "
    "and standard deviations were up to 1.5 times as large. More labelled rows help, or a random sample of the rows of "
    "the target."
)
#: P-values of the recalibration below this are mentioned.
MISFIT = 0.005


class FewRowsWarning(UserWarning):
    """A class has fewer than 5 labelled rows."""


@public
def class_priors(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    using: str = "cells",
    cells: ShiftCells | None = None,
    draws: int = 1000,
    rng: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> ClassPriors:
    r"""Compute the posterior of the class frequencies of a target without labels, under label shift.

    Label shift means that the rows of each class have the same distribution in source and target, and that only the
    frequencies of the classes differ.

    Parameters
    ----------
    y_true : array-like, shape (n_source,)
        Labels of the source: 0/1 or booleans if `y_prob` is a column, class numbers 0..K-1 if it is a matrix. Other
        labels need `classes`.
    y_prob : array-like of float, shape (n_source,) or (n_source, n_classes)
        Probabilities stated for the rows of the source, for 2 to 100 classes. Every class needs labelled rows.
    y_prob_target : array-like of float, shape (n_target,) or (n_target, n_classes)
        Probabilities that the same classifier states for rows of the target, whose labels are unknown.
    using : {"cells", "probabilities"}, default "cells"
        How predictions are used:

        - ``cells`` counts rows by predicted class and, for up to 5 classes, by three ranges of its probability.
          Probabilities need not be calibrated;
        - ``probabilities`` recalibrates probabilities on the source by a temperature and a bias per class, with their
          uncertainty, and uses the likelihood of every row. Intervals are narrower, and right only if such a
          recalibration calibrates the classifier. A remark states the P-value of a score test on the source if it is
          below 0.005.
    cells : ShiftCells, optional
        Other cells, as in ``ShiftCells.predicted_class(n_classes)``.
    draws : int, default 1000
        Number of posterior draws, at least 2. They are independent with ``using="cells"``.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.
    classes : sequence, optional
        Labels in the order of the columns; for a column, the labels of outcomes 0 and 1.
    logits : bool, default False
        Whether `y_prob` and `y_prob_target` hold logits.

    Returns
    -------
    ClassPriors
        Draws, intervals, and how well the predictions tell the classes apart.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; also if a class has no labelled row, there are more than 100 classes, or
        more than half of the rows of the target are in cells without labelled rows.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.

    See Also
    --------
    class_priors_counts : The same from counts of streams or large data.
    bayescal.shift.label : Calibration errors in the target.

    Notes
    -----
    `ClassPriorPosterior` and `PriorLikelihoodPosterior` describe the models. With the predicted classes as cells, the
    posterior mean is close to the estimate of [1]_, which inverts the confusion matrix, unless a frequency is near 0.

    References
    ----------
    .. [1] Z. Lipton, Y.-X. Wang and A. Smola (2018), "Detecting and correcting for label shift with black box
       predictors", Proceedings of the 35th International Conference on Machine Learning, 3122-3130.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.random(1000) < 1 / 2, rng.random(1000) < 1 / 5
    >>> p, p_target = (1 / (1 + np.exp(-rng.normal(4 * each - 2.0, 2))) for each in (y, y_target))
    >>> print(class_priors(y, p, p_target, rng=1).sentence())
    The frequency of class 1 in the target is 0.2... (95 % credible interval 0.1... to 0.2...); in the source it is ...
    """
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    return priors_of_rows(rows, using=using, cells=cells, draws=draws, rng=rng)


def priors_of_rows(
    rows: ShiftedRows, *, using: str = "cells", cells: ShiftCells | None = None, draws: int = 1000, rng: Any = None
) -> ClassPriors:
    """Compute the posterior from validated rows; see `class_priors`."""
    _checks.one_of("using", using, USING)
    n_classes = rows.n_classes
    if n_classes > MOST_CLASSES:
        raise ValueError(f"`y_prob` must have at most {MOST_CLASSES} columns; it has {n_classes}.")
    require_all_classes(np.bincount(rows.label, minlength=n_classes), rows.classes)
    if using == "cells":
        counted = ShiftCounts.from_rows(rows, default_cells(n_classes, lambda: rows.source) if cells is None else cells)
        return priors_of_counts(counted, draws=draws, rng=rng)
    if cells is not None:
        raise ValueError("`cells` belong to `using='cells'`; `using='probabilities'` needs none.")
    posterior = PriorLikelihoodPosterior(rows)
    drawn = posterior.sample(_checks.whole_number("draws", draws, at_least=2), rng=rng)
    counts = ShiftCounts.from_rows(rows, ShiftCells.predicted_class(n_classes))
    return ClassPriors(counts, drawn, posterior.worth, "recalibrated probabilities", _notes_on_fit(posterior.p_value))


def _notes_on_fit(p_value: float) -> tuple[str, ...]:
    if p_value >= MISFIT:
        return ()
    return (
        "A temperature and biases probably do not calibrate the probabilities in the source (P-value of a score test: "
        f"{p_words(p_value)}). The frequencies may then be biased; `using='cells'` needs no calibration.",
    )


@public
def class_priors_counts(counts: ShiftCounts, *, draws: int = 1000, rng: Any = None) -> ClassPriors:
    """Compute the posterior of the class frequencies of a target from counts.

    Parameters
    ----------
    counts : ShiftCounts
        Labelled rows of the source by class and cell, and rows of the target by cell.
    draws, rng
        As for `class_priors`.

    Returns
    -------
    ClassPriors
        As for `class_priors` of the rows.

    Raises
    ------
    TypeError
        If `counts` are of another type.
    ValueError
        If a class has no labelled row, there are no rows of the target, or more than half of them are in cells
        without labelled rows.

    Examples
    --------
    >>> cells = ShiftCells.predicted_class(2)
    >>> source = ShiftCounts.of_source([0, 0, 1, 1] * 50, [0.1, 0.2, 0.7, 0.9] * 50, cells=cells)
    >>> target = ShiftCounts.of_target([0.1, 0.2, 0.4, 0.9] * 50, cells=cells)
    >>> class_priors_counts(source + target, rng=1).mean().round(2)
    array([0.75, 0.25])
    """
    if not isinstance(counts, ShiftCounts):
        raise TypeError(
            f"`counts` must be ShiftCounts, not {type(counts).__name__}; add `ShiftCounts.of_source(y, p, cells=cells)`"
            " and `ShiftCounts.of_target(p_target, cells=cells)`."
        )
    if not counts.n_source:
        raise ValueError("`counts` have no rows of the source; add `ShiftCounts.of_source(y, p, cells=cells)`.")
    if not counts.n_target:
        raise ValueError("`counts` have no rows of the target; add `ShiftCounts.of_target(p_target, cells=cells)`.")
    require_all_classes(counts.by_class, counts.classes, "counts")
    return priors_of_counts(counts, draws=draws, rng=rng, name="counts")


def priors_of_counts(counts: ShiftCounts, *, draws: int = 1000, rng: Any = None, name: str = TARGET) -> ClassPriors:
    """Compute the posterior from counts in which every class has labelled rows; `name` is the target's argument."""
    draws = _checks.whole_number("draws", draws, at_least=2)
    lost, empty = counts.without_labels, int(((counts.source.sum(axis=0) == 0) & (counts.target > 0)).sum())
    require_overlap(lost, counts.n_target, empty, part="cell", name=name)
    posterior = ClassPriorPosterior(counts)
    notes = []
    if lost >= UNLABELLED:
        notes.append(
            f"{percent(lost)} of the target's rows are in cells without labelled rows: the prior determines how likely "
            "these cells are in each class."
        )
    if posterior.slow:
        notes.append(f"Chains may not have converged, because {posterior.slow}. {SEEN}")
    drawn = posterior.sample(draws, rng=rng)
    return ClassPriors(counts, drawn, posterior.worth, f"cells: {counts.cells}", tuple(notes))


def require_all_classes(by_class: NDArray[np.int64], classes: Sequence[Any], name: str = "y_true") -> None:
    """Refuse classes without labelled rows; warn about classes with few."""
    none = by_class == 0
    if none.any():
        first = quoted(classes[int(none.argmax())])
        remedy = (
            " If it cannot occur in the target, remove its column from both matrices and divide each row by its sum."
        )
        remedy = remedy if len(none) > 2 else ""
        raise ValueError(
            f"`{name}` must have labelled rows of every class; {int(none.sum())} of {len(none)} classes have none, the "
            f"first is {first}. Nothing is known about the predictions of a class without labelled rows.{remedy}"
        )
    few = by_class < FEW
    if few.any():
        first = quoted(classes[int(few.argmax())])
        warnings.warn(
            f"{int(few.sum())} of {len(few)} classes have fewer than {FEW} labelled rows, the first is {first}: their "
            "frequencies in the target depend on the prior.",
            FewRowsWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )
