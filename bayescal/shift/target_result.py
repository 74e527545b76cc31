"""TargetEvaluation: the base of evaluations of a target without labels, and remarks on its labelled rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import ROWS, ROWS_PER_BIN, reading_remarks
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.shifted_bins import LabelShiftedCounts
from bayescal.shift.target_counts import TargetCounts
from bayescal.stats.contract import Counts


@dataclass(frozen=True, eq=False, repr=False)
class TargetEvaluation(Evaluation):
    """An evaluation of a target, whose accuracies come from labelled rows of a source."""

    counts: LabelShiftedCounts | TargetCounts

    _labelled_elsewhere: ClassVar[bool] = True
    _bin_rows: ClassVar[Mapping[str, str]] = {"labelled rows": "n", "rows of the target": "target_rows"}
    _bin_dash: ClassVar[str] = "no rows of the target in the bin"

    def _bin_columns(self) -> dict[str, NDArray[Any]]:
        return {"target_rows": self.counts.target_rows}


def readings_of(counts: ShiftCounts) -> list[str]:
    """State how the probabilities of source and target were read; see `reading_remarks`.

    Examples
    --------
    >>> from bayescal import ShiftCells, ShiftCounts
    >>> cells = ShiftCells.predicted_class(3)
    >>> readings_of(ShiftCounts.of_target([[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]], cells=cells))
    ['Target: 1 of 2 rows sum to 1 only up to rounding (largest deviation 0.01); the rows were divided by their sums.']
    """
    sides = zip(("Source", "Target"), counts.readings, (counts.n_source, counts.n_target), strict=True)
    return [f"{side}: {text}" for side, reading, n in sides for text in reading_remarks(reading, n)]


def few_labelled_rows(labelled: float, counts: Counts, model: str) -> list[str]:
    """Warn about few labelled rows of a source; the effective rows of counts of a target are those of its masses."""
    bins = int(counts.occupied.sum())
    texts: list[str] = []
    if model != "shrinkage":
        return texts
    if labelled < ROWS_PER_BIN * bins and bins > 1:
        texts.append(
            f"There are fewer than {ROWS_PER_BIN} effective source rows per bin of the target. With so few rows, "
            "errors that vary from bin to bin cannot be distinguished from noise. Use fewer bins."
        )
    if labelled < ROWS:
        texts.append(f"With fewer than {ROWS} labelled rows the interval depends mostly on the prior.")
    return texts
