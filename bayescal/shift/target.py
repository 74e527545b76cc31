"""Counts and evaluations of a target without labels, and remarks on the labelled rows of its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

import numpy as np

from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal.data.reading import Reading
from bayescal.results.evaluation import Evaluation
from bayescal.results.remarks import FEW_ROWS, FEW_ROWS_PER_BIN, reading_remarks
from bayescal.shift.counts import ShiftCounts
from bayescal.shift.shifted_bins import LabelShiftedCounts
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.contract import Counts
from bayescal.stats.frozen import Whole
from bayescal.stats.sums import sums_at


@dataclass(frozen=True, eq=False)
class TargetCounts(Whole):
    """Bins of a target population: masses and mean confidences of its rows, and accuracies from labelled source rows.

    It satisfies the protocol `Counts`. `n`, `k` and `n_rows` are numbers of labelled rows.
    """

    source: BinnedCounts
    target_rows: Ints  # numbers of rows of the target, shape (n_bins,)
    mean_confidence: Floats  # of the target's rows; NaN without them
    accuracy: Floats  # estimated share of outcome 1 in the target; NaN in bins without labelled rows
    effective_n: Floats  # rows of the target that the labelled rows of `source` are worth
    target_reading: Reading = field(default_factory=Reading)

    not_added = "counts of a target cannot be added; add the counts of its source, and evaluate all rows."
    bins, target, n, k = (property(attrgetter(f"source.{name}")) for name in ("bins", "target", "n", "k"))
    n_rows, weight, weighted = (property(attrgetter(f"source.{name}")) for name in ("n_rows", "weight", "weighted"))
    losses, log_losses, ranks = (property(attrgetter(f"source.{name}")) for name in ("losses", "log_losses", "ranks"))
    reading = property(attrgetter("source.reading"))
    within_variance = property(attrgetter("source.within_variance"))
    within_covariance = property(attrgetter("source.within_covariance"))

    @classmethod
    def from_confidences(
        cls, source: BinnedCounts, confidence: Array, reading: Reading | None = None
    ) -> "TargetCounts":
        """Count target rows on the bins of the source; accuracies are those of the (weighted) source rows."""
        cell, middle = bin_index(confidence, source.bins), source.bins.midpoints
        rows = np.bincount(cell, minlength=len(middle))
        deviation = sums_at(cell, confidence.astype(np.float64) - middle[cell], len(middle))
        mean = middle + np.divide(deviation, rows, out=np.full(len(middle), np.nan), where=rows > 0)
        return cls(source, rows, mean, source.accuracy, source.effective_n, reading or Reading())

    @property
    def effective_k(self) -> Floats:
        """Effective number of rows with outcome 1: `effective_n` times `accuracy`."""
        return np.nan_to_num(self.effective_n * self.accuracy)

    @property
    def occupied(self) -> Bools:
        """Whether each bin has target rows."""
        return self.target_rows > 0

    @property
    def share(self) -> Floats:
        """Share of the target rows in each bin."""
        return self.target_rows / max(self.n_target_rows, 1)

    @property
    def n_target_rows(self) -> int:
        """Number of target rows."""
        return int(self.target_rows.sum())

    @property
    def effective_rows(self) -> float:
        """Number of target rows, which give the masses of the bins."""
        return float(self.n_target_rows)

    @property
    def labelled_rows(self) -> float:
        """Effective number of labelled rows of all bins."""
        return self.source.effective_rows

    @property
    def uncovered(self) -> float:
        """Share of the target rows in bins without labelled rows of positive weight."""
        return float(self.share[~self.source.occupied].sum())

    def __repr__(self) -> str:
        return f"TargetCounts({self.bins}, {self.n_target_rows} rows, {self.n_rows} labelled rows of the source)"


@dataclass(frozen=True, eq=False, repr=False)
class TargetEvaluation(Evaluation):
    """An evaluation of a target, whose accuracies come from labelled rows of a source."""

    counts: LabelShiftedCounts | TargetCounts

    _observed_words: ClassVar[str] = "from labelled rows"
    _bin_rows: ClassVar[Mapping[str, str]] = {"labelled rows": "n", "rows of the target": "target_rows"}
    _bin_dash: ClassVar[str] = "no rows of the target in the bin"

    def _bin_columns(self) -> dict[str, Array]:
        return {"target_rows": self.counts.target_rows}


def readings_of(counts: ShiftCounts) -> list[str]:
    """State how the probabilities of source and target were read; see `reading_remarks`."""
    sides = zip(("Source", "Target"), counts.readings, (counts.n_source, counts.n_target), strict=True)
    return [f"{side}: {text}" for side, reading, n in sides for text in reading_remarks(reading, n)]


def few_labelled_rows(labelled: float, counts: Counts, model: str) -> list[str]:
    """Warn about few labelled rows of a source; the effective rows of counts of a target are those of its masses."""
    bins, texts = int(counts.occupied.sum()), list[str]()
    if model != "shrinkage":
        return texts
    if labelled < FEW_ROWS_PER_BIN * bins and bins > 1:
        texts.append(
            f"There are fewer than {FEW_ROWS_PER_BIN} effective source rows per bin of the target. With so few rows, "
            "errors that vary from bin to bin cannot be distinguished from noise. Use fewer bins."
        )
    if labelled < FEW_ROWS:
        texts.append(f"With fewer than {FEW_ROWS} labelled rows the interval depends mostly on the prior.")
    return texts
