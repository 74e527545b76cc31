"""Calibration in a target without labels under label shift: rows -> class frequencies -> counts -> evaluation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks
from bayescal.analyses.class_priors import priors_of_rows
from bayescal.analyses.one import evaluation_of, posterior_maker
from bayescal.data.shifted import ShiftedRows, require_overlap
from bayescal.posterior.contract import Posterior
from bayescal.posterior.over_priors import OverPriors, over_priors
from bayescal.results.class_priors import ClassPriors, adapted
from bayescal.results.label_shift import LabelShiftClasses, LabelShiftEvaluation
from bayescal.stats.bins import make_bins
from bayescal.stats.contract import Counts
from bayescal.stats.label_shift import LabelShiftedCounts, ShiftedBins

Floats = NDArray[np.float64]

#: Draws of the class frequencies for which posteriors of the bins are computed.
PARTS = 16


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
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses:
    """Evaluate a target whose class frequencies differ from those of the source; see `evaluate_shifted`."""
    make, draws = posterior_maker(model, False, options), _checks.whole_number("draws", draws, at_least=PARTS)
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    for_priors, *seeds = (int(s) for s in _checks.generator(rng).integers(2**63, size=1 + 2 * rows.n_classes))
    priors = priors_of_rows(rows, using=using, rng=for_priors)
    problem = _Problem(rows, priors, bins, binning, make, model, draws)
    if rows.event:
        return problem.evaluate(1, seeds[2:])
    own = {k: problem.evaluate(k, seeds[2 * k : 2 * k + 2], f"class {rows.classes[k]}") for k in range(rows.n_classes)}
    return LabelShiftClasses({rows.classes[k]: each for k, each in own.items()}, priors)


@dataclass(frozen=True)
class _Problem:
    """Rows, class frequencies and options, which all classes share."""

    rows: ShiftedRows
    priors: ClassPriors
    bins: Any
    binning: str
    make: Callable[[Counts], Posterior]
    model: str
    draws: int

    def evaluate(self, of: int, seeds: list[int], label: str = "") -> LabelShiftEvaluation:
        """Evaluate class number `of` as stated, and prepare the evaluation of the adapted probabilities."""
        weight = self.priors.mean() / self.priors.source
        source, target = (adapted(side, weight)[:, of] for side in (self.rows.source, self.rows.target))
        later = partial(self._of_scores, of, source, target, seeds[1], label, None)
        return self._of_scores(of, self.rows.source[:, of], self.rows.target[:, of], seeds[0], label, later)

    def _of_scores(
        self,
        of: int,
        source: Floats,
        target: Floats,
        seed: int,
        label: str,
        later: Callable[[], LabelShiftEvaluation] | None,
    ) -> LabelShiftEvaluation:
        edges = make_bins(self.bins, binning=self.binning, confidence=target)
        mean = self.priors.mean()
        counted = ShiftedBins.from_rows(self.rows.label, source, target, of, edges, mean)
        counts = counted.at(mean)
        if later is not None:  # scores as stated, which tell what is wrong with the rows
            require_overlap(
                counts.without_labels, len(target), int(np.count_nonzero(counts.occupied & (counts.n == 0)))
            )
        make = partial(pooled, self.make, self.priors.drawn)
        found = evaluation_of(counts, make, model=self.model, draws=self.draws, rng=seed)
        return LabelShiftEvaluation.of(found, self.priors, later, label)


def pooled(make: Callable[[Counts], Posterior], drawn: Floats, counts: LabelShiftedCounts) -> OverPriors:
    """Make one posterior for each of 16 draws of the class frequencies, at equal steps in the order of the class."""
    order = np.argsort(drawn[:, counts.rows.of], kind="stable")
    at = order[((np.arange(PARTS) + 0.5) / PARTS * len(order)).astype(int)]
    return over_priors(counts, [make(counts.rows.at(priors)) for priors in drawn[at]])
