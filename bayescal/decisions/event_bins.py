"""Counts of an event in bins, read as counts between thresholds: their edges, cells and rules."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal._invalid import prefixed
from bayescal.decisions.thresholds import checked_thresholds
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.paired import PairedCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def event_margins(counts: Any) -> list[BinnedCounts]:
    """Return the counts of each classifier, if they can be taken as counts of models between thresholds."""
    if not isinstance(counts, BinnedCounts | PairedCounts):
        raise TypeError(
            f"`counts` must be ThresholdCounts, BinnedCounts or PairedCounts, not {type(counts).__name__}; make them "
            "with `ThresholdCounts.from_arrays(outcome, confidence, thresholds)`."
        )
    refuse_clusters(counts, "counts", "net benefit of bins")
    margins = [counts] if isinstance(counts, BinnedCounts) else [counts.first, counts.second]
    if counts.weighted:
        raise ValueError(
            "`counts` must have no weights: bins do not store squared weights by outcome. Count the rows with "
            "`ThresholdCounts.from_arrays`."
        )
    if len({each.bins for each in margins}) > 1:
        raise ValueError("`counts` must have the same bins for both classifiers.")
    bins, target = margins[0].bins, margins[0].target
    if target not in ("event", "classwise"):
        raise ValueError(
            f"`counts` must be of an event (`target='event'`), which decisions are about; not of {target!r}."
        )
    if bins.closed != "left":
        raise ValueError("`counts` must have bins that are closed on the left: a row is treated at t if p >= t.")
    if len(bins) < 2:
        raise ValueError("`counts` must have at least two bins, whose inner edges are the thresholds.")
    if isinstance(counts, PairedCounts) and (counts.cells[:, 1] != counts.cells[:, 3]).any():
        raise ValueError("`counts` must have the same outcome for both classifiers.")
    return margins


def event_cells(counts: BinnedCounts | PairedCounts) -> tuple[Ints, Ints]:
    """Return the bins of each classifier and the outcome, shape (n_cells, n_classifiers + 1), and rows per cell."""
    if isinstance(counts, PairedCounts):
        return counts.cells[:, [0, 2, 1]], counts.n
    outcome, index = np.nonzero(counts.cells)
    return np.stack([index, outcome], axis=1), counts.cells[outcome, index]


def edges_as_thresholds(edges: Floats) -> Floats:
    """Return inner edges of bins as thresholds, or refuse them."""
    try:
        return checked_thresholds(edges)
    except ValueError as problem:
        context = "of the inner edges of `counts`, give those that are thresholds: "
        raise prefixed(problem, context) from problem
