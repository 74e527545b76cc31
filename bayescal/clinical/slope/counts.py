"""LogitCounts: rows grouped by the logit of their probability, for the calibration intercept and slope. Addable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from bayescal import _checks
from bayescal._arrays import Array, Bools, Floats, Ints
from bayescal._meant import public
from bayescal.data.columns import own_hints
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Columns, Predictions
from bayescal.decisions.cells import ClusteredCells
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import add_clusters
from bayescal.stats.frozen import Sums
from bayescal.stats.sums import sums_at

#: Default width of the cells, and its limits.
STEP, SMALLEST_STEP, LARGEST_STEP = 0.05, 0.001, 1.0
#: Cells end here: -40 is a probability of 4e-18, and float64 has no number between 1 and a probability of logit 36.7.
FARTHEST = 40.0
#: Smallest floor: float64 has no number between 1 - 1e-16 and 1, so that smaller floors would not be symmetric.
SMALLEST_FLOOR = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class LogitBins(Bins):
    """Bins of equal width `step` on the logit scale; exactly 0 and exactly 1 have bins of their own.

    Made by `logit_bins`. The cells are centred on the multiples of their width; the second bin also contains all
    smaller positive probabilities, and the first and the last are those of 0 and 1. The last two edges are 1.
    """

    step: float = STEP

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.closed != "left":
            raise ValueError("`closed` must be 'left' for bins of logits.")

    def starts_as(self, dtype: Any) -> Array:
        """First value of each bin in the dtype of the confidences, and 1; see `Bins`."""
        starts = self.edges.astype(dtype)
        zero = starts.dtype.type(0)
        starts[1:] = np.maximum(starts[1:], np.nextafter(zero, starts.dtype.type(1)))
        return starts

    def __str__(self) -> str:
        return f"cells of {self.step:g} in logit"


@public
def logit_bins(step: float = STEP) -> LogitBins:
    """Make bins of equal width on the logit scale, from -40 to the largest logit below that of 1.

    Parameters
    ----------
    step : float, default 0.05
        Width on the logit scale, in [0.001, 1].

    Returns
    -------
    LogitBins
        Bins that every argument ``bins=`` accepts, as that of `count_file`.

    Raises
    ------
    ValueError, TypeError
        If `step` is not a number in this range.

    Examples
    --------
    >>> bins = bc.clinical.logit_bins(0.5)
    >>> bins, bins.edges[[0, -3, -2, -1]]
    (Bins(cells of 0.5 in logit), array([0., 1., 1., 1.]))
    """
    width = float(_checks.between("step", _checks.positive("step", step, ()), SMALLEST_STEP, LARGEST_STEP, "widths"))
    half = int(np.ceil(FARTHEST / width))
    logit = (np.arange(-half, half + 2) - 0.5) * width
    with np.errstate(under="ignore"):
        inner = np.where(logit < 0, np.exp(logit) / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit)))
    inner = np.unique(inner[(logit > -FARTHEST) & (inner < 1)])
    return LogitBins(np.concatenate([[0.0, np.nextafter(0.0, 1.0)], inner, [1.0, 1.0]]), "logit", step=width)


@public
@dataclass(frozen=True, eq=False)
class LogitCounts(Sums):
    """Rows grouped by the logit of their probability: all that the calibration intercept and slope depend on.

    Counts from different batches, files or workers can be added.

    Parameters
    ----------
    binned : BinnedCounts
        Counts in `logit_bins`, for example from `count_file(..., bins=logit_bins())` or from windows of a monitor.
    clusters : ClusteredCells, optional
        The rows by cluster, if rows of one cluster may depend on each other.

    Notes
    -----
    Within a cell, the mean logit follows from the mean and the variance of the probabilities by a Taylor expansion of
    second order, whose error is below 5e-6 for cells of 0.05. Exact 0 and 1 have no logit and are counted apart.

    Examples
    --------
    >>> counts = bc.clinical.LogitCounts.from_arrays([0, 1, 1, 0, 1], [0.2, 0.2, 0.7, 0.0, 1.0])
    >>> counts
    LogitCounts(5 rows, 2 cells of 0.05 in logit, 2 rows at 0 or 1)
    >>> counts.logit.round(3), counts.n, counts.k
    (array([-1.386,  0.847]), array([2., 1.]), array([1., 1.]))
    >>> counts.agreeing, counts.contradicted.tolist()
    (2, [0, 0])
    """

    binned: BinnedCounts
    clusters: ClusteredCells | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.binned, BinnedCounts) and isinstance(self.binned.bins, LogitBins)):
            raise TypeError(
                "`binned` must be BinnedCounts in cells of logits, as from `count_file(path, ..., bins=logit_bins())`; "
                f"it is {self.binned!r}."
            )
        kept = replace(self.binned, losses=None, log_losses=None, ranks=None)
        object.__setattr__(self, "binned", kept)

    @classmethod
    def empty(cls, step: float = STEP) -> "LogitCounts":
        """Return counts without rows: adding them changes nothing."""
        return cls(BinnedCounts.empty(logit_bins(step), target="event"))

    @classmethod
    def from_arrays(cls, y_true: Any, y_prob: Any, *, weights: Any = None, step: float = STEP) -> "LogitCounts":
        """Count the rows of a binary problem.

        Parameters
        ----------
        y_true : array-like of {0, 1} or bool, shape (n_rows,)
            Whether the event happened.
        y_prob : array-like of float, shape (n_rows,)
            Probability of the event, in [0, 1].

        Raises
        ------
        ValueError, TypeError
            If values are missing or invalid, or columns differ in length; the message gives the first index.

        Examples
        --------
        >>> bc.clinical.LogitCounts.from_arrays([1, 0, 1], [0.9, 0.4, 0.5], weights=[1, 1, 2]).n_rows
        3
        """
        columns = Columns.read(y_true, y_prob, weights, names=("y_true", "y_prob"), target="event")
        with own_hints():
            return cls.from_predictions(columns, step=step)

    @classmethod
    def from_predictions(
        cls, predictions: Predictions | Columns, *, step: float = STEP, clusters: Clusters | None = None
    ) -> "LogitCounts":
        """Count rows; the values of unvalidated `Columns` are checked in the same pass.

        Parameters
        ----------
        predictions : Predictions or Columns
            The rows.
        clusters : Clusters, optional
            The cluster of each row.
        """
        counts = cls(BinnedCounts.from_predictions(predictions, bins=logit_bins(step)))
        if clusters is None:
            return counts
        weight = np.ones(len(predictions)) if predictions.weight is None else predictions.weight
        columns = bin_index(predictions.confidence, counts.binned.bins), predictions.outcome
        cells = np.stack(columns, axis=1).astype(np.int64)
        return replace(counts, clusters=ClusteredCells.of_rows(clusters.of_row, cells, weight))

    def _plus(self, other: "LogitCounts") -> "LogitCounts":
        return LogitCounts(self.binned + other.binned, add_clusters(self.clusters, other.clusters))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str = "y_true",
        y_prob: str = "y_prob",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        step: float = STEP,
    ) -> "LogitCounts | dict[Any, LogitCounts]":
        """Count the rows of a data frame in one query of its engine, which returns sums and no rows.

        With `by`, there is one entry per group; keys are tuples if `by` names several columns.

        Parameters
        ----------
        frame, weights, by
            As for `BinnedCounts.from_frame`.
        y_true : str, default "y_true"
            Column of outcomes: 0 and 1, or booleans.
        y_prob : str, default "y_prob"
            Column of probabilities of the event, in [0, 1].

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"died": [0, 1, 1], "risk": [0.2, 0.7, 1.0], "site": ["a", "b", "a"]})
        >>> bc.clinical.LogitCounts.from_frame(frame, y_true="died", y_prob="risk", by="site")["a"]
        LogitCounts(2 rows, 1 cell of 0.05 in logit, 1 row at 0 or 1)
        """
        options: dict[str, Any] = {"weights": weights, "by": by, "bins": logit_bins(step), "target": "event"}
        counted: Any = BinnedCounts.from_frame(frame, outcome=y_true, confidence=y_prob, **options)
        return cls(counted) if by is None else {label: cls(each) for label, each in counted.items()}

    def __repr__(self) -> str:
        cells, ends = int(self._inside.sum()), int(self._ends.sum())
        words = f"{self.n_rows} rows, {cells} cell{'s' * (cells != 1)} of {self.step:g} in logit"
        return f"LogitCounts({words}" + (f", {ends} row{'s' * (ends != 1)} at 0 or 1)" if ends else ")")

    @property
    def step(self) -> float:
        """Width of the cells on the logit scale."""
        bins = self.binned.bins
        assert isinstance(bins, LogitBins)  # checked when the record was made
        return bins.step

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.binned.n_rows

    @property
    def n_inside(self) -> int:
        """Number of rows with a probability strictly between 0 and 1."""
        return self.n_rows - int(self._ends.sum())

    @property
    def weighted(self) -> bool:
        """Whether some weights differ from 1."""
        return self.binned.weighted

    @property
    def agreeing(self) -> int:
        """Number of rows with probability 0 and outcome 0, or 1 and 1: certain at every positive slope only."""
        return int(self._ends[0, 0] + self._ends[1, 1])

    @property
    def contradicted(self) -> Ints:
        """Numbers of rows with probability 0 and outcome 1, and with probability 1 and outcome 0, shape (2,)."""
        return np.array([self._ends[1, 0], self._ends[0, 1]])

    @property
    def _ends(self) -> Ints:
        """Rows of positive weight at exactly 0 and 1, by outcome and end, shape (2, 2)."""
        ends = [0, -1]
        return np.where(self.binned.weight[:, ends] > 0, self.binned.cells[:, ends], 0)

    @property
    def _inside(self) -> Bools:
        """Whether each bin is a cell of logits with rows of positive weight."""
        inside = self.binned.weight.sum(axis=0) > 0
        inside[[0, -1]] = False
        return inside

    @property
    def _scale(self) -> float:
        """Factor from sums of weights to effective numbers of rows (Kish), of the rows inside (0, 1)."""
        inside = self._inside
        total, squares = self.binned.weight[:, inside].sum(), self.binned.weight_sq[inside].sum()
        return float(total / squares) if squares > 0 else 1.0

    @property
    def n(self) -> Floats:
        """Effective number of rows in each cell, shape (n_cells,): weights times (sum w) / (sum w^2)."""
        return self._scale * self.binned.weight[:, self._inside].sum(axis=0)

    @property
    def mass(self) -> Floats:
        """Effective number of rows in each cell from which the distribution of the logits comes, shape (n_cells,).

        For rows in clusters, it is divided by the design effect of the mean probability.
        """
        if self.clusters is None or self.clusters.number < 2:
            return self.n
        cluster, place, _, weight = self.in_clusters
        p, number = expit(self.logit), int(cluster.max()) + 1
        gap = p - self.n @ p / self.n.sum()
        of_cluster = sums_at(cluster, weight * gap[place], number)
        alone = self.n @ gap**2
        effect = of_cluster @ of_cluster / alone * number / (number - 1) if alone > 0 else 1.0
        return self.n / max(effect, 1.0)

    @property
    def in_clusters(self) -> tuple[Ints, Ints, Ints, Floats]:
        """Cluster, position of the cell, outcome and effective rows of each entry of the clusters, for `n` and `k`.

        Clusters that have no rows strictly between 0 and 1 are not counted.
        """
        assert self.clusters is not None
        inside = self._inside
        kept = inside[self.clusters.cells[:, 0]]
        cell, outcome = self.clusters.cells[kept].T
        weight = self._scale * self.clusters.weight[kept]
        cluster = np.unique(self.clusters.cluster[kept], return_inverse=True)[1]
        return cluster, (np.cumsum(inside) - 1)[cell], outcome, weight

    @property
    def k(self) -> Floats:
        """Effective number of rows with outcome 1 in each cell, shape (n_cells,)."""
        return self._scale * self.binned.weight[1, self._inside]

    @property
    def certain_events(self) -> float:
        """Effective number of rows of outcome 1 with a probability of exactly 1."""
        return self._scale * float(self.binned.weight[1, -1])

    @property
    def logit(self) -> Floats:
        """Mean logit of each cell, shape (n_cells,), increasing."""
        inside, binned = self._inside, self.binned
        weight, middle = binned.weight[:, inside].sum(axis=0), binned.bins.midpoints[inside]
        shift = binned.deviation[:, inside].sum(axis=0) / weight
        p = np.clip(middle + shift, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))
        variance = np.maximum(binned.deviation_sq[inside] / weight - shift**2, 0.0)
        # relative to p (1 - p), so that squares of tiny probabilities do not underflow
        spread = np.minimum(np.sqrt(variance) / (p * (1 - p)), self.step) ** 2
        return np.log(p) - np.log1p(-p) + (p - 0.5) * spread

    def floored(self, floor: float) -> "LogitCounts":
        """Keep probabilities at least `floor` away from 0 and 1: move the rows beyond into the cell of the floor.

        The result has no rows at 0 and 1. The cell of the floor moves to the floor as a whole.

        Parameters
        ----------
        floor : float
            In [1e-15, 0.5).

        Raises
        ------
        ValueError, TypeError
            If `floor` is not a number in [1e-15, 0.5).

        Examples
        --------
        >>> counts = bc.clinical.LogitCounts.from_arrays([1, 0, 1], [0.0, 0.3, 1.0]).floored(0.001)
        >>> counts.logit.round(2), counts.k
        (array([-6.91, -0.85,  6.91]), array([1., 0., 1.]))
        """
        floor = _checks.fraction("floor", floor)
        if not SMALLEST_FLOOR <= floor < 0.5:
            raise ValueError(
                f"`floor` must be at least {SMALLEST_FLOOR:g} and below 0.5, not {floor}; usual values are 1e-6 to "
                "1e-2. Smaller ones are no distance from 1 in floating point."
            )
        binned = self.binned
        bins = binned.bins
        place = np.arange(len(bins))
        ends = np.array([floor, 1 - floor])
        low, high = np.searchsorted(bins.edges[:-1], ends, side="right") - 1
        to = np.clip(place, low, min(high, len(bins) - 2))

        def moved(values: Array) -> Array:
            sums = np.zeros_like(values)
            np.add.at(sums.T, to, values.T)
            return sums

        weight = moved(binned.weight)
        deviation, deviation_sq = binned.deviation.copy(), binned.deviation_sq.copy()
        for cell, end in zip((low, min(high, len(bins) - 2)), ends, strict=True):
            offset = end - bins.midpoints[cell]
            deviation[:, cell] = weight[:, cell] * offset
            deviation_sq[cell] = weight[:, cell].sum() * offset**2
        outside = to != place
        deviation[:, outside], deviation_sq[outside] = 0.0, 0.0
        cells, weight_sq, clusters = moved(binned.cells), moved(binned.weight_sq), self.clusters
        if clusters is not None:
            place = np.stack([to[clusters.cells[:, 0]], clusters.cells[:, 1]], axis=1)
            clusters = ClusteredCells.of_rows(clusters.cluster, place, clusters.weight)
        kept = BinnedCounts(bins, cells, weight, deviation, deviation_sq, weight_sq, binned.target)
        return LogitCounts(kept, clusters)
