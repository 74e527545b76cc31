"""Calibration in a target without labels under label shift: rows or counts -> class frequencies -> evaluation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL, evaluation_of, posterior_maker
from bayescal.posterior.contract import Posterior
from bayescal.results.evaluation import Evaluation, extended
from bayescal.shift.class_frequencies import ClassPriors, adapted, class_priors_counts, priors_of_rows
from bayescal.shift.counts import ShiftCells, ShiftCounts
from bayescal.shift.label_shift_result import LabelShiftClasses, LabelShiftEvaluation
from bayescal.shift.over_priors import CountsGivenPriors, OverPriors, over_priors
from bayescal.shift.rows import ShiftedRows, require_overlap
from bayescal.shift.shifted_bins import LabelShiftedCounts, ShiftedBins
from bayescal.stats.bins import VALUES, make_bins
from bayescal.stats.contract import Counts, require_kind

#: Draws of the class frequencies for which posteriors of the bins are computed, and draws that each stands for.
PARTS, NEAR = 16, 8


@public
def label(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    using: str = "cells",
    cells: ShiftCells | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses:
    r"""Compute the posterior of the calibration error in a target whose class frequencies differ from the source's.

    Under label shift, the rows of each class have the same distribution in source and target, as when a disease is
    rarer among those who are screened.

    Parameters
    ----------
    y_true, y_prob, y_prob_target, using, cells
        As for `class_priors`.
    bins, binning, model, draws, rng, classes, logits
        As for `evaluate`. ``binning="equal-mass"`` divides the rows of the target. `draws` must be at least 16; they
        are divided between 16 draws of the class frequencies.

    Returns
    -------
    LabelShiftEvaluation or LabelShiftClasses
        For a column, an `Evaluation` of the event in the target; for a matrix, a mapping from each class to such an
        evaluation. Both have `priors`, the posterior of the class frequencies, and `adapt`, which adapts predictions to
        them; ``evaluation.adapted`` evaluates the adapted predictions.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; if a class has no labelled row, or more than half of the rows of the
        target are in bins or cells without labelled rows.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.

    See Also
    --------
    bayescal.shift.label_counts : The same from counts of streams or large data.
    bayescal.shift.covariate : If the distribution of the features differs.
    bayescal.shift.class_priors : The class frequencies alone.
    bayescal.shift.evidence : Whether source and target differ, and whether class frequencies alone explain it.
    evaluate : If labels of the target are known.

    Notes
    -----
    Mean confidences of the bins are those of the target's rows. If :math:`\theta_s` is the event rate in a bin of the
    source, Bayes' rule gives the event rate in the target:

    .. math::
        \theta_t = \frac{r \theta_s}{1 - \theta_s + r \theta_s}, \quad r = \frac{\pi / (1 - \pi)}{\rho / (1 - \rho)},

    with the frequencies :math:`\rho` of the event in the source and :math:`\pi` in the target [1]_. For each of 16
    draws of :math:`\pi`, the n labelled rows of a bin become :math:`n (1 - \theta_s + r \theta_s)^2 / r` rows of the
    target with the event rate :math:`\theta_t`. If :math:`\pi` is known, label shift also implies how the distributions
    of scores differ between source and target, which is further evidence about :math:`\theta_t` and the masses. The
    posterior of `model` is computed from this evidence. Draws whose masses and event rates imply a frequency near
    :math:`\pi` are kept and pooled over :math:`\pi`. [Shift](../explanation/shift.md) has the formulas and the coverage
    of the intervals.

    With more than two classes, each class is evaluated against the others, whose composition differs between source
    and target, too: r then depends on the classes of the labelled rows in the bin.

    References
    ----------
    .. [1] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 21-41.

    Examples
    --------
    Half of the source has the event, and a sixth of the target:

    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(2000) < 1 / 6
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> evaluation = bc.shift.label(y, p, p_target, rng=1)
    >>> evaluation.ece.interval(0.95)
    (0.1..., 0.1...)
    >>> evaluation.adapted.ece.interval(0.95)
    (0.0, 0.0...)
    """
    problem = _Problem.of(model, draws, options)
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    for_priors, seeds = _seeds(rows.n_classes, rng)
    priors = priors_of_rows(rows, using=using, cells=cells, rng=for_priors)
    counted = _CountedRows(rows, priors, bins, binning)
    of = [1] if rows.event else range(rows.n_classes)
    later = {k: partial(counted.adapted, k) for k in of}
    return problem.evaluate({k: counted.stated(k) for k in of}, later, priors, seeds)


@public
def label_counts(
    counts: ShiftCounts,
    *,
    adapted: ShiftCounts | None = None,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses:
    """Compute the posterior of the calibration error in a target under label shift, from counts of source and target.

    Parameters
    ----------
    counts : ShiftCounts
        Labelled rows of the source and rows of the target, by cells and by bins (``bins=`` of `ShiftCounts.of_source`
        and `ShiftCounts.of_target`).
    adapted : ShiftCounts, optional
        Counts of the same rows with adapted probabilities, from a second pass over the rows: `adapt` of the result for
        `counts` adapts them. Without `adapted`, the result does not evaluate adapted predictions.

    Returns
    -------
    LabelShiftEvaluation or LabelShiftClasses
        The result of `bayescal.shift.label` for the rows, with these cells and bins: bit for bit if each side was
        counted in one pass, and up to rounding if batches were added. The area under the ROC curve is an exception: the
        order of rows within bins is unknown, and the result states the error.

    Raises
    ------
    TypeError
        If `counts` are of another type, or an option is unknown to the model.
    ValueError
        If rows were not counted by bins, a class has no labelled row, there are no rows of the target, more than half
        of them are in bins or cells without labelled rows, or `adapted` holds other rows.

    See Also
    --------
    bayescal.shift.label : The same from rows.
    bayescal.shift.class_priors_counts : The class frequencies alone.

    Examples
    --------
    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(100_000) < 1 / 6
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> options = {"cells": bc.shift.ShiftCells.predicted_class(2), "bins": 10}
    >>> batches = (bc.shift.ShiftCounts.of_target(batch, **options) for batch in np.array_split(p_target, 10))
    >>> counts = sum(batches, start=bc.shift.ShiftCounts.of_source(y, p, **options))
    >>> bc.shift.label_counts(counts, rng=1).ece.interval(0.95)
    (0.14..., 0.2...)
    """
    problem = _Problem.of(model, draws, options)
    for name, each in (("counts", counts), ("adapted", adapted)):
        if each is not None:
            _require_binned(name, each)
    for_priors, seeds = _seeds(counts.cells.n_classes, rng)
    priors = class_priors_counts(counts, rng=for_priors)
    first, later = {each.of: each for each in counts.binned}, {}
    if adapted is not None:
        _require_same_rows(counts, adapted)
        later = {each.of: partial(_unchanged, each) for each in adapted.binned}
    return problem.evaluate(first, later, priors, seeds)


@public
def evaluate_shifted_counts(
    counts: ShiftCounts, *, shift: str, **options: Any
) -> LabelShiftEvaluation | LabelShiftClasses:
    """Compute the posterior of the calibration error in a target without labels, from counts of source and target.

    Parameters
    ----------
    counts : ShiftCounts
        As for `bayescal.shift.label_counts`, which this function calls.
    shift : {"label"}
        What differs between source and target. Counts of classes and cells are sufficient for label shift only.
    **options
        As for `bayescal.shift.label_counts`.

    Returns
    -------
    LabelShiftEvaluation or LabelShiftClasses
        The result of `bayescal.shift.label_counts`.

    Raises
    ------
    ValueError, TypeError
        If `shift` is not "label", or as `bayescal.shift.label_counts`.

    Examples
    --------
    >>> options = {"cells": bc.shift.ShiftCells.predicted_class(2), "bins": 2}
    >>> source = bc.shift.ShiftCounts.of_source([0, 0, 1, 1] * 50, [0.1, 0.3, 0.7, 0.9] * 50, **options)
    >>> counts = source + bc.shift.ShiftCounts.of_target([0.1, 0.3, 0.1, 0.9] * 50, **options)
    >>> bc.evaluate_shifted_counts(counts, shift="label", rng=1).table() == bc.shift.label_counts(counts, rng=1).table()
    True
    """
    _checks.one_of("shift", shift, ["label", "covariate"])
    if shift != "label":
        raise ValueError(
            "`shift='covariate'` needs rows: weights belong to the rows of the source, and counts of classes and cells "
            "do not have them. Use `bayescal.shift.covariate(y, p, p_target, weights=weights)`."
        )
    return label_counts(counts, **options)


def _unchanged(counted: ShiftedBins) -> ShiftedBins:
    return counted


def _seeds(n_classes: int, rng: Any) -> tuple[int, list[list[int]]]:
    """Return a seed for the class frequencies, and two for each class: for stated and for adapted probabilities."""
    first, *others = _checks.seeds(rng, 1 + 2 * n_classes)
    return first, [others[2 * k : 2 * k + 2] for k in range(n_classes)]


def _require_binned(name: str, counts: Any) -> None:
    source, target = "of_source(y, p, cells=cells, bins=bins)", "of_target(p_target, cells=cells, bins=bins)"
    require_kind(ShiftCounts, f"; add `ShiftCounts.{source}` and `ShiftCounts.{target}`.", counts, name)
    if not counts.binned:
        raise ValueError(
            f"`{name}` must be counted by bins, too: pass `bins=` to `ShiftCounts.of_source` and "
            "`ShiftCounts.of_target`. Without bins, `class_priors_counts` computes the class frequencies."
        )


def _require_same_rows(counts: ShiftCounts, adapted: ShiftCounts) -> None:
    if adapted == counts:
        raise ValueError(
            "`adapted` must be counts of adapted probabilities; they equal `counts`. Count the rows again with "
            "`adapt(p)` of the result for `counts` in place of p."
        )
    sizes = [(each.by_class.tolist(), each.n_target, len(each.binned)) for each in (counts, adapted)]
    if sizes[0] != sizes[1] or counts.classes != adapted.classes:
        raise ValueError(
            f"`adapted` must hold the rows of `counts`; it has {adapted.n_source} rows of the source and "
            f"{adapted.n_target} of the target, and `counts` has {counts.n_source} and {counts.n_target}."
        )


@dataclass(frozen=True)
class _CountedRows:
    """Rows that are counted by bins of the stated probability of a class, and of the adapted one."""

    rows: ShiftedRows
    priors: ClassPriors
    bins: Any
    binning: str

    def stated(self, k: int) -> ShiftedBins:
        """Count rows by the stated probability of class number `k`."""
        return self._counted(k, self.rows.source[:, k], self.rows.target[:, k])

    def adapted(self, k: int) -> ShiftedBins:
        """Count rows by the probability of class number `k` that is adapted to the target."""
        weight = self.priors.mean() / self.priors.source
        return self._counted(k, *(adapted(side, weight)[:, k] for side in (self.rows.source, self.rows.target)))

    def _counted(self, k: int, source: Floats, target: Floats) -> ShiftedBins:
        of_values = np.concatenate([source, target]) if self.binning == VALUES else target
        edges = make_bins(self.bins, binning=self.binning, confidence=of_values)
        return ShiftedBins.from_rows(self.rows.label, source, target, k, self.rows.n_classes, edges)


@dataclass(frozen=True)
class _Problem:
    """Options, which all classes share."""

    make: Callable[[Counts], Posterior]
    model: str
    draws: int

    @classmethod
    def of(cls, model: str, draws: int, options: dict[str, Any]) -> "_Problem":
        """Check the options."""
        make = posterior_maker(model, False, options)
        return cls(make, model, _checks.whole_number("draws", draws, at_least=PARTS))

    def evaluate(
        self,
        first: Mapping[int, ShiftedBins],
        later: Mapping[int, Callable[[], ShiftedBins]],
        priors: ClassPriors,
        seeds: list[list[int]],
    ) -> LabelShiftEvaluation | LabelShiftClasses:
        """Evaluate the event, or each class; `later` counts the rows of a class after adaptation, if they are known."""
        if len(first) == 1:
            return self._class_evaluation(first[1], later.get(1), priors, "", *seeds[1])
        each = {
            name: self._class_evaluation(first[k], later.get(k), priors, f"class {name}", *seeds[k])
            for k, name in enumerate(priors.classes)
        }
        return LabelShiftClasses(each, priors)

    def _class_evaluation(
        self, now: ShiftedBins, later: Callable[[], ShiftedBins] | None, priors: ClassPriors, name: str, *seeds: int
    ) -> LabelShiftEvaluation:
        """Evaluate stated probabilities, and prepare the evaluation of adapted ones."""
        stated = now.at(priors.mean())  # for scores as stated: the error describes the rows as given
        empty = int(np.count_nonzero(stated.occupied & (stated.n == 0)))
        require_overlap(stated.without_labels, stated.rows.unlabelled.n_rows, empty)
        evaluation = self._evaluation(now, priors, seeds[0])
        adapt = None if later is None else partial(self._adapted, later, priors, seeds[1], name)
        return extended(LabelShiftEvaluation, evaluation, priors=priors, evaluate_adapted=adapt, label=name)

    def _adapted(
        self, later: Callable[[], ShiftedBins], priors: ClassPriors, seed: int, label: str
    ) -> LabelShiftEvaluation:
        evaluation = self._evaluation(later(), priors, seed)
        return extended(LabelShiftEvaluation, evaluation, priors=priors, label=label, of_adapted=True)

    def _evaluation(self, counted: ShiftedBins, priors: ClassPriors, seed: int) -> Evaluation:
        make = partial(pooled, self.make, priors.drawn)
        return evaluation_of(counted.at(priors.mean()), make, model=self.model, draws=self.draws, rng=seed)


def pooled(make: Callable[[Counts], Posterior], frequencies: Floats, counts: LabelShiftedCounts) -> OverPriors:
    """Make one posterior for each of 16 draws of the class frequencies, at equal steps in the order of the class."""
    in_order = frequencies[np.argsort(frequencies[:, counts.rows.of], kind="stable")]
    parts = [make(CountsGivenPriors(counts.rows, priors)) for priors in _rank_midpoints(in_order, PARTS)]
    near = _rank_midpoints(in_order, PARTS * NEAR).reshape(PARTS, NEAR, -1)
    return over_priors(counts, parts, near)


def _rank_midpoints(values: Floats, n_steps: int) -> Floats:
    """Return the values at the midpoints of `n_steps` equal ranges of rank."""
    return np.asarray(values[((np.arange(n_steps) + 0.5) / n_steps * len(values)).astype(int)])
