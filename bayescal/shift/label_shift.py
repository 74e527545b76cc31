"""Calibration in a target without labels under label shift: rows or counts -> class frequencies -> evaluation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL, evaluation_of, posterior_maker
from bayescal.posterior.contract import Posterior
from bayescal.results.evaluation import Evaluation
from bayescal.shift.cells import ShiftCells
from bayescal.shift.class_frequencies import class_priors_counts, priors_of_rows
from bayescal.shift.class_frequencies_result import ClassPriors, adapted
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.given_priors import CountsGivenPriors
from bayescal.shift.label_counts import LabelShiftedCounts, ShiftedBins
from bayescal.shift.label_shift_result import LabelShiftClasses, LabelShiftEvaluation
from bayescal.shift.over_priors import OverPriors, over_priors
from bayescal.shift.rows import ShiftedRows, require_overlap
from bayescal.stats.bins import make_bins
from bayescal.stats.contract import Counts

Floats = NDArray[np.float64]

#: Draws of the class frequencies for which posteriors of the bins are computed, and draws that each stands for.
PARTS, NEAR = 16, 8


def evaluate_label_shift(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    bins: Any,
    binning: str,
    model: str,
    draws: int,
    rng: Any,
    classes: Any,
    logits: bool,
    using: str = "cells",
    cells: ShiftCells | None = None,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses:
    """Evaluate a target whose class frequencies differ from those of the source; see `evaluate_shifted`."""
    problem = _Problem.of(model, draws, options)
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    for_priors, seeds = _seeds(rows.n_classes, rng)
    priors = priors_of_rows(rows, using=using, cells=cells, rng=for_priors)
    counted = _CountedRows(rows, priors, bins, binning)
    of = [1] if rows.event else range(rows.n_classes)
    later = {k: partial(counted.adapted, k) for k in of}
    return problem.evaluate({k: counted.stated(k) for k in of}, later, priors, seeds)


@public
def evaluate_shifted_counts(
    counts: ShiftCounts,
    *,
    shift: str,
    adapted: ShiftCounts | None = None,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses:
    """Compute the posterior of the calibration error in a target without labels, from counts of source and target.

    Parameters
    ----------
    counts : ShiftCounts
        Labelled rows of the source and rows of the target, by cells and by bins (``bins=`` of `ShiftCounts.of_source`
        and `ShiftCounts.of_target`).
    shift : {"label"}
        What differs between source and target, as for `evaluate_shifted`. Counts of classes and cells are sufficient
        for label shift only.
    adapted : ShiftCounts, optional
        Counts of the same rows with adapted probabilities, from a second pass over the rows: `adapt` of the result for
        `counts` adapts them. Without `adapted`, the result does not evaluate adapted predictions.
    model, draws, rng, **options
        As for `evaluate_shifted`.

    Returns
    -------
    LabelShiftEvaluation or LabelShiftClasses
        The result of `evaluate_shifted` for the rows, with these cells and bins: bit for bit if each side was
        counted in one pass, and up to rounding if batches were added. The area under the ROC curve is an exception: the
        order of rows within bins is unknown, and the result states the error.

    Raises
    ------
    TypeError
        If `counts` are of another type, or an option is unknown to the model.
    ValueError
        If `shift` is not "label", rows were not counted by bins, a class has no labelled row, there are no rows of the
        target, more than half of them are in bins or cells without labelled rows, or `adapted` holds other rows.

    See Also
    --------
    evaluate_shifted : The same from rows.
    class_priors_counts : The class frequencies alone.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(100_000) < 1 / 6
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> how = {"cells": ShiftCells.predicted_class(2), "bins": 10}
    >>> batches = (ShiftCounts.of_target(batch, **how) for batch in np.array_split(p_target, 10))
    >>> counts = sum(batches, start=ShiftCounts.of_source(y, p, **how))
    >>> evaluate_shifted_counts(counts, shift="label", rng=1).ece.interval(0.95)
    (0.14..., 0.2...)
    """
    _require_label(shift)
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


def _unchanged(counted: ShiftedBins) -> ShiftedBins:
    return counted


def _seeds(n_classes: int, rng: Any) -> tuple[int, list[list[int]]]:
    """Return a seed for the class frequencies, and two for each class: for stated and for adapted probabilities."""
    first, *others = _checks.seeds(rng, 1 + 2 * n_classes)
    return first, [others[2 * k : 2 * k + 2] for k in range(n_classes)]


def _require_label(shift: str) -> None:
    _checks.one_of("shift", shift, ["label", "covariate"])
    if shift != "label":
        raise ValueError(
            "`shift='covariate'` needs rows: weights belong to the rows of the source, and counts of classes and cells "
            "do not have them. Use `evaluate_shifted(y, p, p_target, shift='covariate', weights=weights)`."
        )


def _require_binned(name: str, counts: Any) -> None:
    if not isinstance(counts, ShiftCounts):
        raise TypeError(
            f"`{name}` must be ShiftCounts, not {type(counts).__name__}; add `ShiftCounts.of_source(y, p, cells=cells, "
            "bins=bins)` and `ShiftCounts.of_target(p_target, cells=cells, bins=bins)`."
        )
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
        edges = make_bins(self.bins, binning=self.binning, confidence=target)
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
            return self._of_class(first[1], later.get(1), priors, seeds[1], "")
        own = {
            priors.classes[k]: self._of_class(each, later.get(k), priors, seeds[k], f"class {priors.classes[k]}")
            for k, each in first.items()
        }
        return LabelShiftClasses(own, priors)

    def _of_class(
        self,
        counted: ShiftedBins,
        later: Callable[[], ShiftedBins] | None,
        priors: ClassPriors,
        seeds: list[int],
        label: str,
    ) -> LabelShiftEvaluation:
        """Evaluate stated probabilities, and prepare the evaluation of adapted ones."""
        _require_overlap(counted.at(priors.mean()))  # for scores as stated: the error describes the rows as given
        found = self._found(counted, priors, seeds[0])
        adapt = None if later is None else partial(self._adapted, later, priors, seeds[1], label)
        return LabelShiftEvaluation.of(found, priors, adapt, label)

    def _adapted(
        self, later: Callable[[], ShiftedBins], priors: ClassPriors, seed: int, label: str
    ) -> LabelShiftEvaluation:
        return LabelShiftEvaluation.of(self._found(later(), priors, seed), priors, label=label, of_adapted=True)

    def _found(self, counted: ShiftedBins, priors: ClassPriors, seed: int) -> Evaluation:
        make = partial(pooled, self.make, priors.drawn)
        return evaluation_of(counted.at(priors.mean()), make, model=self.model, draws=self.draws, rng=seed)


def _require_overlap(counts: LabelShiftedCounts) -> None:
    empty = int(np.count_nonzero(counts.occupied & (counts.n == 0)))
    require_overlap(counts.without_labels, counts.rows.unlabelled.n_rows, empty)


def pooled(make: Callable[[Counts], Posterior], drawn: Floats, counts: LabelShiftedCounts) -> OverPriors:
    """Make one posterior for each of 16 draws of the class frequencies, at equal steps in the order of the class."""
    in_order = drawn[np.argsort(drawn[:, counts.rows.of], kind="stable")]
    parts = [make(CountsGivenPriors(counts.rows, priors)) for priors in _at_steps(in_order, PARTS)]
    near = _at_steps(in_order, PARTS * NEAR).reshape(PARTS, NEAR, -1)
    return over_priors(counts, parts, near)


def _at_steps(values: Floats, n_steps: int) -> Floats:
    """Return the values at the midpoints of `n_steps` equal ranges of rank."""
    return np.asarray(values[((np.arange(n_steps) + 0.5) / n_steps * len(values)).astype(int)])
