"""Detection before correction: rows of source and target -> cells -> differences and tests -> ShiftEvidence."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.shift.cell_shift import CellShiftPosterior
from bayescal.shift.cells import ShiftCells, require_cells
from bayescal.shift.class_frequencies import MOST_CLASSES, require_all_classes
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.evidence_result import ShiftEvidence
from bayescal.shift.rows import ShiftedRows
from bayescal.shift.statistics import label_shift_test, no_shift_test

#: Ranges of confidence per predicted class: for 2 classes, up to 5 classes, and more.
RANGES = ((2, 5), (5, 3), (MOST_CLASSES, 2))


@public
def evidence(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    cells: ShiftCells | None = None,
    draws: int = 4000,
    simulations: int = 1000,
    rng: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> ShiftEvidence:
    """Compare the scores of a target with those of a source; test whether label shift alone explains the difference.

    Parameters
    ----------
    y_true : array-like, shape (n_source,)
        Labels of the source: 0/1 or booleans if `y_prob` is a column, class numbers 0..K-1 if it is a matrix. Other
        labels need `classes`.
    y_prob : array-like of float, shape (n_source,) or (n_source, n_classes)
        Probabilities stated for the rows of the source, for 2 to 100 classes. Every class needs labelled rows.
    y_prob_target : array-like of float, shape (n_target,) or (n_target, n_classes)
        Probabilities that the same classifier states for rows of the target, whose labels are unknown.
    cells : ShiftCells, optional
        Cells of the predictions: more cells than classes. By default five ranges of confidence per predicted class for
        two classes, three for up to five classes and two for more, with nearly equal numbers of rows of both sides.
    draws : int, default 4000
        Number of independent posterior draws, at least 2.
    simulations : int, default 1000
        Number of simulated data sets for each P-value, at least 99.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.
    classes : sequence, optional
        Labels in the order of the columns; for a column, the labels of outcomes 0 and 1.
    logits : bool, default False
        Whether `y_prob` and `y_prob_target` hold logits.

    Returns
    -------
    ShiftEvidence
        The total variation of the scores and the difference of each cell, with intervals; and two P-values.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; also if a class has no labelled row, or there are no more cells than
        classes.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.

    See Also
    --------
    bayescal.shift.label : Calibration errors in the target.
    class_priors : The class frequencies of the target under label shift.

    Notes
    -----
    `CellShiftPosterior` describes the model of the difference, which contains no difference: intervals of the total
    variation can contain 0. With independent uniform priors of both sides, they could not, however equal the rows are.
    The P-value of no shift is exact (permutations of the rows); that of label shift is a posterior predictive check of
    a likelihood ratio. [Covariate shift](../explanation/covariate_shift.md) has their measured levels and power.

    Under label shift, the distribution of the target over cells is a mixture of those of the classes [1]_. A test of
    this mixture needs more cells than classes.

    References
    ----------
    .. [1] Z. Lipton, Y.-X. Wang and A. Smola (2018), "Detecting and correcting for label shift with black box
       predictors", Proceedings of the 35th International Conference on Machine Learning, 3122-3130.

    Examples
    --------
    The event has the frequency 1/2 in the source and 1/5 in the target:

    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(1000) < 1 / 5
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> found = evidence(y, p, p_target, rng=1)
    >>> found.total_variation.interval(0.95)
    (0.1..., 0.2...)
    >>> found.no_shift.p_value < 0.01, found.label_shift.p_value > 0.05
    (True, True)
    """
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    if rows.n_classes > MOST_CLASSES:
        raise ValueError(f"`y_prob` must have at most {MOST_CLASSES} columns; it has {rows.n_classes}.")
    require_all_classes(np.bincount(rows.label, minlength=rows.n_classes), rows.classes)
    draws = _checks.whole_number("draws", draws, at_least=2)
    simulations = _checks.whole_number("simulations", simulations, at_least=99)
    chosen = _default_cells(rows) if cells is None else cells
    require_cells(chosen, rows.n_classes)
    if len(chosen) <= rows.n_classes:
        raise ValueError(
            f"`cells` must contain more cells than there are classes, so that label shift can be tested; there are "
            f"{len(chosen)} cells and {rows.n_classes} classes. Use `ShiftCells.of_confidences(y_prob, 3)`."
        )
    counts = ShiftCounts.from_rows(rows, chosen)
    for_difference, for_none, for_label = _checks.seeds(rng, 3)
    source = counts.source.sum(axis=0)
    return ShiftEvidence(
        counts=counts,
        drawn=CellShiftPosterior(source, counts.target).sample(draws, rng=for_difference),
        no_shift=no_shift_test(source, counts.target, simulations, rng=for_none),
        label_shift=label_shift_test(counts, simulations, rng=for_label),
    )


def _default_cells(rows: ShiftedRows) -> ShiftCells:
    """Divide the rows of both sides, so that cells do not depend on the side of a row."""
    ranges = next(number for most, number in RANGES if rows.n_classes <= most)
    return ShiftCells.of_confidences(np.concatenate([rows.source, rows.target]), ranges)
