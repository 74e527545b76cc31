"""PairedCounts: rows counted by the bins and outcomes of two classifiers together. Frozen and addable."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayescal._arrays import Floats, Ints
from bayescal._meant import public
from bayescal.data.frames import same_rows
from bayescal.data.groups import Clusters
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.clusters import ClusterCells, PairedClusters, square
from bayescal.stats.frozen import Counted, Frozen
from bayescal.stats.losses import DIFFERENCES, KINDS, Kind, LossSums, added_by_name, applied_by_name
from bayescal.stats.query.row_sums import bins_before_rows, framed, joint_of, loss_differences_of, sums_of
from bayescal.stats.ranks import Ranks, correlation_of_areas
from bayescal.stats.sums import Coefficients, cosine, cosine_of, row_counts, summed_by_key, sums_at, unit_weights

CHUNK = 65_536  #: Rows per chunk.
LOSSES = 16_384  #: Rows per chunk for losses, so that temporary arrays stay in the second-level cache.
#: Correlations of areas over rows, and the influences in `Ranks`.
CORRELATIONS = {"area_correlation": "influences", "risk_correlation": "risk_influences"}
#: Maximum number of possible joint cells for an array of all of them; with more, only cells that occur are stored.
DENSE_CELLS = 1_000_000


@public
@dataclass(frozen=True, eq=False)
class PairedCounts(Counted):
    """Numbers of rows by the bins and outcomes of two classifiers on the same rows.

    A joint cell is a combination (bin and outcome of the first classifier, bin and outcome of the second). Only cells
    with rows are stored. For the target ``event`` both classifiers have the same outcome; for ``top-label`` each is
    right or wrong on its own.

    Parameters
    ----------
    first, second : BinnedCounts
        The counts of each classifier.
    cells : ndarray of int64, shape (n_cells, 4)
        The joint cells, in lexicographic order without duplicates.
    n : ndarray of int64, shape (n_cells,)
        Number of rows in each cell.
    weight, weight_sq : ndarray, shape (n_cells,)
        Sums of weights and of squared weights.
    loss_difference : LossSums of shape (), or None
        Sums of the difference between the squared errors (outcome - confidence)^2 of the first and the second
        classifier, and of its square, for the difference of Brier scores. None if a classifier lacks these sums.
    log_loss_difference : LossSums of shape (), or None
        The same sums of the difference between log losses, over rows where both are finite; the others are counted.
        None if the counts include a file without these sums.
    area_correlation : float or None
        Correlation of the influences of rows on the two areas under the ROC curve, computed by `compare` from the rows.
        None for sums of counts and for counts without ranks; the joint cells then give an approximation. Files lack it.
    clusters : PairedClusters or None
        Sums over clusters of rows whose outcomes may depend; None if rows are independent.
    risk_correlation : float or None
        The same correlation of the influences on the two AUGRCs.

    Examples
    --------
    >>> pair = bc.PairedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], [0, 1, 1], [0.4, 0.3, 0.8], bins=2)
    >>> pair.cells.tolist(), pair.n
    ([[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]], array([1, 1, 1]))
    >>> (pair + pair).n
    array([2, 2, 2])
    """

    first: BinnedCounts
    second: BinnedCounts
    cells: Ints
    n: Ints
    weight: Floats
    weight_sq: Floats
    loss_difference: LossSums | None = None
    log_loss_difference: LossSums | None = None
    area_correlation: float | None = field(default=None, compare=False)
    clusters: PairedClusters | None = None
    risk_correlation: float | None = field(default=None, compare=False)

    rows_field = "n"
    loss_covariance = None  #: The losses of rows with outcomes say how they vary.

    @classmethod
    def empty(cls, first: Any = 15, second: Any = None, *, target: str = "confidence") -> "PairedCounts":
        """Return counts without rows; adding them changes nothing.

        Parameters
        ----------
        first : int or array-like, default 15
            Bins of the first classifier.
        second : int or array-like, optional
            Bins of the second classifier; by default those of the first.
        """
        one = BinnedCounts.empty(first, target=target)
        other = BinnedCounts.empty(first if second is None else second, target=target)
        none = np.zeros(0)
        losses: dict[str, Any] = {name: LossSums.empty() for name in DIFFERENCES}
        return cls(one, other, np.zeros((0, 4), np.int64), none.astype(np.int64), none, none.copy(), **losses)

    @classmethod
    def from_arrays(
        cls,
        first_outcome: Any,
        first_confidence: Any,
        second_outcome: Any,
        second_confidence: Any,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        weights: Any = None,
        target: str = "confidence",
    ) -> "PairedCounts":
        """Count the rows of two binary problems.

        Parameters
        ----------
        first_outcome, second_outcome : array-like of {0, 1} or bool, shape (n_rows,)
            Outcomes of each classifier; the same array twice for an event.
        first_confidence, second_confidence : array-like of float, shape (n_rows,)
            Probability that each classifier states for its outcome 1, in [0, 1].
        bins, binning, weights, target
            As for `BinnedCounts.from_arrays`.

        Raises
        ------
        ValueError, TypeError
            As for `BinnedCounts.from_arrays`; also if the columns differ in length.
        """
        first = {"first_outcome": first_outcome, "first_confidence": first_confidence}
        second = {"second_outcome": second_outcome, "second_confidence": second_confidence}
        same_rows({**first, **second, "weights": weights})
        both = (first_outcome, first_confidence), (second_outcome, second_confidence)
        one, other = (Predictions.from_outcomes(*columns, weights, target=target) for columns in both)
        margins = (BinnedCounts.from_predictions(p, bins=bins, binning=binning) for p in (one, other))
        return cls.from_predictions(one, other, *margins)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        outcome: str | Sequence[str] = "outcome",
        first_confidence: str = "first_confidence",
        second_confidence: str = "second_confidence",
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        bins: Any = 15,
        binning: str = "equal-width",
        target: str = "confidence",
    ) -> "PairedCounts | dict[Any, PairedCounts]":
        """Count the rows of two classifiers in a data frame, in one query of its engine.

        With `by`, the result has the counts of each group.

        Parameters
        ----------
        frame : data frame
            As for `BinnedCounts.from_frame`.
        outcome : str or pair of str, default "outcome"
            Column of observed outcomes. A pair names one column per classifier, for targets where each is right or
            wrong on its own.
        first_confidence, second_confidence : str
            Columns of the probability that each classifier states for its outcome 1, in [0, 1].
        weights, by, bins, binning, target
            As for `BinnedCounts.from_frame`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"rain": [0, 1, 1], "old": [0.2, 0.7, 0.9], "new": [0.4, 0.3, 0.8]})
        >>> names = {"outcome": "rain", "first_confidence": "old", "second_confidence": "new"}
        >>> bc.PairedCounts.from_frame(frame, **names, bins=2, target="event").cells.tolist()
        [[0, 0, 0, 0], [1, 1, 0, 1], [1, 1, 1, 1]]
        """
        edges = bins_before_rows(bins, binning)
        classifiers = _two_classifiers(outcome, first_confidence, second_confidence)
        counts = {}
        for label, rows in framed(frame, classifiers, weights, by, edges, target):
            first, second = (BinnedCounts(edges, **vars(sums_of(rows, i, edges)), target=target) for i in (0, 1))
            keys, n, weight, weight_sq = joint_of(rows, len(edges))
            joint = _unpacked(keys, len(edges)), n, weight, weight_sq
            counts[label] = cls(first, second, *joint, **loss_differences_of(rows))
        return counts[None] if by is None else counts

    @classmethod
    def from_predictions(
        cls,
        first: Predictions,
        second: Predictions,
        first_counts: BinnedCounts,
        second_counts: BinnedCounts,
        *,
        clusters: Clusters | None = None,
    ) -> "PairedCounts":
        """Count the joint cells of validated rows, given the counts of each classifier.

        Parameters
        ----------
        first, second : Predictions
            The rows of each classifier, in the same order and with the same weights.
        first_counts, second_counts : BinnedCounts
            The counts of each classifier.
        clusters : Clusters, optional
            The cluster of each row; the counts of each classifier have clusters too.

        Raises
        ------
        ValueError
            If the two classifiers do not have the same number of rows.
        """
        if len(first) != len(second):
            raise ValueError(
                f"both classifiers must have the same rows; they have {len(first)} and {len(second)} rows. "
                "For different test sets, use `compare_independent`."
            )
        keys, n, weight, weight_sq = _joint_sums(first, second, first_counts.bins, second_counts.bins)
        joint = _unpacked(keys, len(second_counts.bins)), n, weight, weight_sq
        parts: dict[str, Any] = {k.difference: _loss_difference(k, first, second) for k in KINDS.values()}
        of_row = None if clusters is None else clusters.of_row
        parts |= _correlations(first, second, first_counts.ranks, second_counts.ranks, of_row)
        if of_row is not None:
            both = ((first, first_counts), (second, second_counts))
            cells = (ClusterCells.of_rows(rows, of_row, counts.bins) for rows, counts in both)
            parts["clusters"] = PairedClusters.from_cells(*cells)
        return cls(first_counts, second_counts, *joint, **parts)

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return not (np.array_equal(self.weight, self.n) and np.array_equal(self.weight_sq, self.n))

    def _plus(self, other: "PairedCounts") -> "PairedCounts":
        first, second = self.first + other.first, self.second + other.second  # raises if edges or targets differ
        keys = np.concatenate([_packed(c.cells, len(second.bins)) for c in (self, other)])
        keys, at = np.unique(keys, return_inverse=True)
        n = row_counts("n", summed_by_key(at, np.concatenate([self.n, other.n]), len(keys)))
        weight, weight_sq = unit_weights(n)
        if self.weighted or other.weighted:
            sums = ([self.weight, other.weight], [self.weight_sq, other.weight_sq])
            weight, weight_sq = (sums_at(at, np.concatenate(both), len(keys)) for both in sums)
        parts: dict[str, Any] = added_by_name(DIFFERENCES, self, other)
        if not (self.n_rows and other.n_rows):
            parts |= (self if self.n_rows else other)._correlations
        # the sum of the margins has raised an error if only one of both has clusters
        both = [each.clusters for each in (self, other) if each.clusters is not None]
        parts["clusters"] = sum(both[1:], start=both[0]) if both else None
        return PairedCounts(first, second, _unpacked(keys, len(second.bins)), n, weight, weight_sq, **parts)

    def __repr__(self) -> str:
        bins = f"{self.first.bins} and {self.second.bins}"
        return f"PairedCounts({self.n_rows} rows in {len(self.n)} joint cells, {bins})"

    def swapped(self) -> "PairedCounts":
        """Return the counts with the two classifiers exchanged."""
        cells = self.cells[:, [2, 3, 0, 1]]
        order = np.lexsort(cells.T[::-1])
        joint = cells[order], self.n[order], self.weight[order], self.weight_sq[order]
        parts: dict[str, Any] = applied_by_name(DIFFERENCES, self, LossSums.negated)
        parts |= self._correlations | {"clusters": None if self.clusters is None else self.clusters.swapped()}
        return PairedCounts(self.second, self.first, *joint, **parts)

    @property
    def _correlations(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CORRELATIONS}

    def linear_cosine(self, of_gap: Coefficients, of_mass: Coefficients) -> float:
        """Cosine similarity over rows, or over clusters, of two linear functions of the bins; see `Paired`."""
        means, same = (self.first.mean_confidence, self.second.mean_confidence), self._same_cells
        sides = zip(of_gap, of_mass, means, (self.cells.T[:2], self.cells.T[2:]), strict=True)
        moved = [gap[at] * (z - mean[at]) + mass[at] for gap, mass, mean, (at, z) in sides]
        centres = [np.average(m, weights=self.weight) if self.weight.any() else 0.0 for m in moved]
        if self.clusters is None:
            return cosine_of(moved[0] - centres[0], moved[1] - centres[1], self.weight_sq, same=same)
        centred = of_mass[0] - centres[0], of_mass[1] - centres[1]
        of_both: Any = self.first.clusters, self.second.clusters
        xx, yy = (square(*sums) for sums in zip(of_both, of_gap, centred, strict=True))
        return cosine(xx, yy, self.clusters.product(of_gap, centred), same=same)

    def gap_cosine(self, gaps: Coefficients) -> float:
        """Cosine similarity over rows of two profiles of gaps by bin; see `Paired`."""
        return cosine_of(gaps[0][self.cells[:, 0]], gaps[1][self.cells[:, 2]], self.weight, same=self._same_cells)

    @property
    def _same_cells(self) -> bool:
        """Whether both classifiers have the same bins and outcomes, as two names of one classifier have."""
        return bool(np.array_equal(self.cells[:, :2], self.cells[:, 2:]))


def _joint_sums(first: Predictions, second: Predictions, bins: Bins, others: Bins) -> tuple[Ints, Ints, Floats, Floats]:
    """Return keys of the cells that occur, and the sums of rows, weights and squared weights in each."""
    size = 4 * len(bins) * len(others)
    weight = first.weight
    parts: list[tuple[Ints, list[Any]]] = []
    dense = [np.zeros(size) for _ in range(1 if weight is None else 3)] if size <= DENSE_CELLS else None
    for start in range(0, len(first), CHUNK):
        rows = slice(start, start + CHUNK)
        # outcomes may be stored as bool, integers or floats
        key = (2 * bin_index(first.confidence[rows], bins) + first.outcome[rows]).astype(np.int64)
        other = (2 * bin_index(second.confidence[rows], others) + second.outcome[rows]).astype(np.int64)
        key = key * (2 * len(others)) + other
        w = None if weight is None else weight[rows].astype(np.float64)
        values = [None] if w is None else [None, w, w * w]
        if dense is not None:
            for total, value in zip(dense, values, strict=True):
                total += sums_at(key, value, size)
        else:
            present, at = np.unique(key, return_inverse=True)
            parts.append((present, [sums_at(at, value, len(present)) for value in values]))
    if dense is not None:
        keys = np.flatnonzero(dense[0])
        sums = [total[keys] for total in dense]
    else:
        keys, at = np.unique(np.concatenate([present for present, _ in parts]), return_inverse=True)
        stacked = [np.concatenate(columns) for columns in zip(*(sums for _, sums in parts), strict=True)]
        sums = [sums_at(at, column, len(keys)) for column in stacked]
    n = np.rint(sums[0]).astype(np.int64)
    if weight is None:
        return keys, n, *unit_weights(n)
    return keys, n, sums[1], sums[2]


def _loss_difference(kind: Kind, first: Predictions, second: Predictions) -> LossSums:
    """Sum the difference of losses, and its square, over rows where it is finite; count the others."""
    total = LossSums.empty()
    for start in range(0, len(first), LOSSES):
        rows = slice(start, start + LOSSES)
        (one, bad), (other, also_bad) = (kind.of_rows(p.confidence[rows], p.outcome[rows]) for p in (first, second))
        difference = np.subtract(one, other, out=one)
        weight = None if first.weight is None else first.weight[rows]
        infinite = 0
        if bad is not None or also_bad is not None:
            either = np.logical_or(False if bad is None else bad, False if also_bad is None else also_bad)
            difference[either] = 0.0
            infinite = int(np.count_nonzero(either if weight is None else either & (weight > 0)))
        moment = difference if weight is None else weight * difference
        # einsum: one pass, and unlike in a dot product the order of additions does not depend on the number of threads
        total += LossSums(np.sum(moment), np.einsum("i,i->", moment, difference), np.array(infinite))
    return total


def _correlations(
    first: Predictions, second: Predictions, one: Ranks | None, other: Ranks | None, of_row: Ints | None
) -> dict[str, float | None]:
    """Correlations of the influences on the areas under both curves; None without ranks or what a curve needs."""
    if one is None or other is None:
        return {}
    sides = [(r, p.outcome, r.cell_of(p.confidence)) for r, p in ((one, first), (other, second))]
    has = {"area_correlation": one.both_outcomes and other.both_outcomes, "risk_correlation": bool(len(one.position))}
    about: dict[str, Any] = {"weight": first.weight, "of_row": of_row}
    named = {name: influences for name, influences in CORRELATIONS.items() if has[name]}
    return {name: correlation_of_areas(sides, influences=influences, **about) for name, influences in named.items()}


def _two_classifiers(outcome: str | Sequence[str], first: str, second: str) -> list[dict[str, str]]:
    """Map arguments to columns for each classifier; a single outcome column serves both."""
    if isinstance(outcome, str):
        return [{"outcome": outcome, "first_confidence": first}, {"outcome": outcome, "second_confidence": second}]
    if not isinstance(outcome, Sequence) or len(outcome) != 2:
        raise TypeError(f"`outcome` must name one column of `frame`, or two: one for each classifier; not {outcome!r}.")
    names = ("first_confidence", "second_confidence")
    return [{f"outcome[{i}]": outcome[i], names[i]: column} for i, column in enumerate((first, second))]


def _packed(cells: Ints, n_others: int) -> Ints:
    return (2 * cells[:, 0] + cells[:, 1]) * (2 * n_others) + 2 * cells[:, 2] + cells[:, 3]


def _unpacked(keys: Ints, n_others: int) -> Ints:
    one, other = np.divmod(keys, 2 * n_others)
    return np.stack([one // 2, one % 2, other // 2, other % 2], axis=1)


def require_paired(counts: Any) -> PairedCounts:
    """Return `PairedCounts`; of other types, raise TypeError with a message that says how to make them."""
    if not isinstance(counts, PairedCounts):
        why = counts.not_paired if isinstance(counts, Frozen) else ""
        instead = f". {why}" if why else "; make them with `PairedCounts.from_arrays`."
        raise TypeError(f"`pairs` must hold PairedCounts, not {type(counts).__name__}{instead}")
    return counts
