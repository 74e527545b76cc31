"""Sums over clusters of rows: intra-cluster correlation, design effects, and correlation of two classifiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayescal._arrays import Array, Floats, Generator, Ints
from bayescal._meant import public
from bayescal.data.predictions import Columns, Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.bins import Bins
from bayescal.stats.frozen import Sums
from bayescal.stats.losses import log_losses
from bayescal.stats.sums import effective_number, ratio, sums_at

MOST_BINS = 512  #: Largest number of bins whose matrices are kept: 2 MB each.
#: Share of the pairs of rows of one cluster that must remain after the gaps of the bins were estimated.
LEAST_PAIRS = 0.02
CHUNK = 262_144  #: Rows per chunk.
AT_ONCE = 4_000_000  #: Largest number of random numbers that are drawn at once.
MOST_PARTS = 16  #: Blocks that are joined at a time.
_ratio = partial(ratio, empty=0.0)  #: Quotients, 0 in empty bins.


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """Sums over the rows of one cluster in one bin."""

    key: Ints  # (n_cells,) code of the cluster times the number of bins, plus the bin; each once
    sums: Floats  # (4, n_cells) sums of w, w r, w l and w g: residual, squared error, log loss or 0 if infinite
    weight_sq: Floats  # (n_bins,) sum of w^2 over all rows of a bin
    own: Floats  # (n_bins,) sum of w^2 r
    own_sq: Floats  # (n_bins,) sum of w^2 r^2

    @classmethod
    def of_rows(cls, rows: Predictions | Columns, of_row: Array, bins: Bins) -> "ClusterCells":
        """Sum validated rows, given the code of the cluster of each."""
        size = len(bins)
        parts = []
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            confidence, outcome = np.clip(rows.confidence[part], 0, 1), rows.outcome[part]
            place = bin_index(confidence, bins)
            residual = outcome - confidence.astype(np.float64)
            losses = residual * residual, log_losses(confidence, outcome)[0]
            weight = np.ones(len(residual)) if rows.weight is None else rows.weight[part].astype(np.float64)
            parts.append(cls.of_residuals(of_row[part], place, size, weight, residual, losses))
        return cls.joined(parts)

    @classmethod
    def of_residuals(
        cls, of_row: Array, place: Ints, n_bins: int, weight: Floats, residual: Floats, losses: tuple[Floats, Floats]
    ) -> "ClusterCells":
        """Sum rows with given residuals; `losses` are squared error and log loss, or values that replace them."""
        key, cell = np.unique(of_row * n_bins + place, return_inverse=True)
        sums = (sums_at(cell, weight * values, len(key)) for values in (1.0, residual, *losses))
        by_bin = (sums_at(place, weight**2 * values, n_bins) for values in (1.0, residual, residual * residual))
        return cls(key, np.stack(list(sums)), *by_bin)

    @classmethod
    def joined(cls, parts: Sequence["ClusterCells"]) -> "ClusterCells":
        """Join the cells of blocks of rows; the cells of a cluster with rows in several blocks are added."""
        if len(parts) == 1:
            return parts[0]
        key, cell = np.unique(np.concatenate([part.key for part in parts]), return_inverse=True)
        sums = np.concatenate([part.sums for part in parts], axis=1)
        joined = np.stack([sums_at(cell, values, len(key)) for values in sums])
        by_bin = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("weight_sq", "own", "own_sq"))
        return cls(key, joined, *by_bin)

    def matrices(self) -> tuple[int, Any, Any, tuple[Floats, Floats, Floats]]:
        """Return the number of clusters, sparse matrices of weight and residual, and sums of each cluster."""
        from scipy.sparse import csr_array

        kept = self.sums[0] > 0
        code, place = np.divmod(self.key[kept], len(self.weight_sq))
        distinct, row = np.unique(code, return_inverse=True)
        shape = len(distinct), len(self.weight_sq)
        weight, residual = (csr_array((values[kept], (row, place)), shape=shape) for values in self.sums[:2])
        whole = tuple(sums_at(row, values[kept], shape[0]) for values in self.sums[[0, 2, 3]])
        return shape[0], weight, residual, whole  # type: ignore[return-value]  # three of them


class CollectedCells:
    """Cells of blocks of rows, in which clusters may be split; memory grows with the number of cells that have rows."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins
        self._parts: list[ClusterCells] = []

    def add(self, rows: Predictions | Columns, of_row: Array) -> None:
        """Add a block of validated rows, given the code of the cluster of each, the same in all blocks."""
        self._parts.append(ClusterCells.of_rows(rows, of_row, self.bins))
        if len(self._parts) == MOST_PARTS:
            self._parts = [ClusterCells.joined(self._parts)]

    @property
    def joined(self) -> ClusterCells:
        """The cells of all blocks, of which there is at least one."""
        return ClusterCells.joined(self._parts)


@public
@dataclass(frozen=True, eq=False)
class ClusterSums(Sums):
    r"""Sums over clusters of rows, by pair of bins.

    Rows of one cluster, such as the answers to one question or the images of one patient, may have dependent outcomes.
    With :math:`n_{jb} = \sum w` and :math:`r_{jb} = \sum w (z - c)` over the rows of cluster j in bin b, the sums over
    clusters :math:`\sum_j r_{jb} r_{jb'}`, :math:`\sum_j r_{jb} n_{jb'}` and :math:`\sum_j n_{jb} n_{jb'}` give the
    correlation of two rows of one cluster, and how much wider intervals must be.

    For censored rows, pseudo-outcomes take the place of the outcomes z; `survival/horizon_counts.py` defines them.

    Sums of two batches can be added if no cluster has rows in both. Sums do not contain the labels of clusters, so this
    cannot be checked: a cluster that is split counts as two.

    Parameters
    ----------
    number : int
        Number of clusters with rows of positive weight.
    weight, weight_sq : ndarray, shape (n_bins,)
        Sums of weights and of squared weights.
    residual : ndarray, shape (n_bins,)
        Sums of weight * (outcome - confidence).
    own, own_sq : ndarray, shape (n_bins,)
        Sums of weight^2 * (outcome - confidence) and of weight^2 * (outcome - confidence)^2.
    rr, rn, nn : ndarray, shape (n_bins, n_bins)
        Sums over clusters of :math:`r_{jb} r_{jb'}`, :math:`r_{jb} n_{jb'}` and :math:`n_{jb} n_{jb'}`.
    nn_size : ndarray, shape (n_bins, n_bins)
        Sums over clusters of :math:`n_{jb} n_{jb'} n_j`.
    losses, log_losses : ndarray, shape (2,)
        Sums over clusters of :math:`L_j^2` and :math:`L_j n_j`, where :math:`L_j` is the sum of weight times squared
        error, or times log loss, and :math:`n_j` the sum of weights.

    Examples
    --------
    Ten rows, each of which occurs three times:

    >>> outcome, patient = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0] * 3, list(range(10)) * 3
    >>> clusters = bc.BinnedCounts.from_arrays(outcome, [0.5] * 30, bins=1, cluster=patient).clusters
    >>> clusters, clusters.icc, clusters.total_effect
    (ClusterSums(10 clusters, 1 bins), 1.0, 3.0)
    """

    number: int
    weight: Floats
    weight_sq: Floats
    residual: Floats
    own: Floats
    own_sq: Floats
    rr: Floats
    rn: Floats
    nn: Floats
    nn_size: Floats
    losses: Floats
    log_losses: Floats

    @classmethod
    def from_rows(cls, rows: Predictions | Columns, of_row: Array, bins: Bins) -> "ClusterSums":
        """Sum validated rows.

        Parameters
        ----------
        rows : Predictions or Columns
            The rows.
        of_row : ndarray of int64, shape (n_rows,)
            Code of the cluster of each row, >= 0.
        bins : Bins
            The bins, at most 512.

        Raises
        ------
        ValueError
            If there are more bins.
        """
        require_few(len(bins))
        return cls.from_cells(ClusterCells.of_rows(rows, of_row, bins))

    @classmethod
    def from_cells(cls, cells: ClusterCells) -> "ClusterSums":
        """Sum the cells of all clusters; no cluster may be in other cells."""
        number, n, r, (n_j, loss, log_loss) = cells.matrices()
        lower = np.tril((n.T @ (n * n_j[:, None])).toarray())  # rounding must not make the matrix unsymmetric
        return cls(
            number, n.sum(axis=0), cells.weight_sq, r.sum(axis=0), cells.own, cells.own_sq,
            (r.T @ r).toarray(), (r.T @ n).toarray(), (n.T @ n).toarray(), lower + np.tril(lower, -1).T,
            np.array([loss @ loss, loss @ n_j]), np.array([log_loss @ log_loss, log_loss @ n_j]),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"ClusterSums({self.number} clusters, {len(self.weight)} bins)"

    def coarsen(self, start: Array) -> "ClusterSums":
        """Merge neighbouring bins; `start` holds the first of the present bins of each new one."""

        def add(values: Floats) -> Floats:
            for axis in range(values.ndim):
                values = np.add.reduceat(values, start, axis=axis)
            return values

        merged = {name: add(getattr(self, name)) for name in (*_BY_BIN, *_BY_PAIR)}
        return ClusterSums(number=self.number, losses=self.losses, log_losses=self.log_losses, **merged)

    @property
    def gap(self) -> Floats:
        """Mean of outcome minus confidence of each bin, shape (n_bins,); 0 in empty bins."""
        return _ratio(self.residual, self.weight)

    @property
    def _own_squares(self) -> Floats:
        """Sum of squared weight times squared centred residual of each bin."""
        return np.maximum(self.own_sq - self.gap * (2 * self.own - self.gap * self.weight_sq), 0.0)

    @property
    def variance(self) -> Floats:
        """Variance of a residual in each bin, shape (n_bins,); one row with the mean variance is added to each."""
        squares, rows = self._own_squares, _ratio(self.weight**2, self.weight_sq)
        pooled = squares.sum() / max(self.weight_sq.sum(), np.finfo(float).tiny)
        return (_ratio(squares, self.weight_sq) * rows + pooled) / (rows + 1)

    @property
    def _scatter(self) -> Floats:
        """Products of the residual sums of clusters, each bin centred at its gap, shape (n_bins, n_bins)."""
        g = self.gap
        mixed = self.rn * g
        return self.rr - mixed - mixed.T + np.outer(g, g) * self.nn

    @cached_property
    def icc(self) -> float:
        r"""Intra-cluster correlation of the standardised residuals of two rows of one cluster, in [0, 1].

        Notes
        -----
        The sum over all pairs of rows of one cluster of the products of their standardised centred residuals is linear
        in the correlation: its expectation is :math:`(1 - \rho) a_0 + \rho a_1`. Without centring, :math:`a_0` would
        be 0 and :math:`a_1` the (weighted) number of pairs. Both are exact for rows of equal weight, apart from the
        estimated variances, and approximate otherwise. The estimate is this equation solved for
        :math:`\rho`, clipped to [0, 1]. It is 1 if hardly any pairs are left after centring, because clusters and bins
        cannot be told apart; and 0 if every cluster has one row.
        """
        pairs = self.nn.sum() - self.weight_sq.sum()
        if pairs <= 1e-9 * self.weight_sq.sum():
            return 0.0
        sd = np.sqrt(np.where(self.variance > 0, self.variance, 1.0))
        total = ((self._scatter - np.diag(self._own_squares)) / np.outer(sd, sd)).sum()
        none, full = self._expected
        if full < LEAST_PAIRS * pairs:
            return 1.0
        return float(np.clip((total - none) / (full - none), 0.0, 1.0))

    @property
    def _expected(self) -> tuple[float, float]:
        """Expected sum over pairs of centred residuals for correlation 0 and for correlation 1 within clusters."""
        n, q = self.weight, self.weight_sq
        n_sq = np.diag(self.nn)
        per_n, per_row = _ratio(n_sq, n), _ratio(q, n)  # rows of the cluster in the bin; weight of a row
        mixed = _ratio(np.diag(self.nn_size), n)  # square of rows in the bin times rows of the cluster
        of_bins = _ratio(self.nn**2, np.outer(n, n)).sum()
        # residuals of independent rows: what is subtracted by centring is positive within clusters
        none = (q - per_n * per_row).sum() - (q - per_row**2).sum()
        # residuals equal within clusters
        full = self.nn.sum() - 2 * mixed.sum() + of_bins - (q - per_n * per_row).sum()
        return float(none), float(full)

    @cached_property
    def bin_effects(self) -> Floats:
        """Design effect of the gap of each bin, shape (n_bins,): only pairs that share cluster and bin count."""
        return 1 + self.icc * np.maximum(_ratio(np.diag(self.nn), self.weight_sq, empty=1.0) - 1, 0.0)

    @cached_property
    def total_effect(self) -> float:
        """Design effect of the sum of all residuals: all pairs of rows of one cluster count."""
        sd = np.sqrt(self.variance)
        alone = float(self.weight_sq @ sd**2)
        return 1 + self.icc * max(float(sd @ self.nn @ sd) / alone - 1, 0.0) if alone > 0 else 1.0

    @cached_property
    def effects(self) -> Floats:
        r"""Design effect by which the effective rows of each bin are divided, shape (n_bins,).

        The share :math:`1 - 1 / d_b` of the variance of a gap comes from pairs of rows of one cluster. It is common to
        the bins of the cluster and counts with the design effect D of the total; the rest counts with that of the bin:
        :math:`d_b / d_b + (1 - 1 / d_b) D`. See ``docs/explanation/clusters.md``.
        """
        return 1 + (1 - 1 / self.bin_effects) * self.total_effect

    @property
    def correlation(self) -> Floats:
        """Correlation of the gaps of all bins over data sets, shape (n_bins, n_bins)."""
        covariance = self.icc * self.nn + (1 - self.icc) * np.diag(self.weight_sq)
        sd = np.sqrt(np.diag(covariance))
        result = _ratio(covariance, np.outer(sd, sd))
        np.fill_diagonal(result, 1.0)
        return result

    @property
    def effective_number(self) -> float:
        """Number of clusters of equal weight that carry as much evidence, (sum n_j)^2 / sum n_j^2."""
        return effective_number(self.weight, self.nn)

    def variance_of_mean(self, mean: float, sums: Floats) -> float:
        r"""Variance of the mean of a loss over rows, from its sums over clusters.

        It is :math:`\frac{J}{J - 1} \sum_j (L_j - n_j \bar L)^2 / (\sum_j n_j)^2` with the effective number J of
        clusters; infinite if it is at most 1.

        Parameters
        ----------
        mean : float
            The weighted mean of the loss.
        sums : ndarray, shape (2,)
            `losses` or `log_losses`.
        """
        weight, number = float(self.weight.sum()), self.effective_number
        if number <= 1 + 1e-9:
            return float("inf")
        squares = float(sums[0]) - 2 * mean * float(sums[1]) + mean**2 * float(self.nn.sum())
        return max(squares, 0.0) / weight**2 * number / (number - 1)


_BY_BIN, _BY_PAIR = ("weight", "weight_sq", "residual", "own", "own_sq"), ("rr", "rn", "nn", "nn_size")


def masses_of_units(rows: Any, n_draws: int, rng: Generator, shape: Floats | float = 1.0) -> Floats:
    """Draw Gamma numbers of the units and multiply their sums, sparse, by them; (n_draws, size)."""
    mass, step = np.zeros((n_draws, rows.shape[1])), max(AT_ONCE // n_draws, 1)
    shapes = np.broadcast_to(shape, rows.shape[0])[:, None]
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        mass += (rows[part].T @ rng.standard_gamma(shapes[part], (len(shapes[part]), n_draws))).T
    return mass


def require_few(n_bins: int) -> None:
    """Refuse more bins than matrices over pairs of bins can hold."""
    if n_bins > MOST_BINS:
        raise ValueError(
            f"`bins` must be at most {MOST_BINS} for rows in clusters, whose sums are kept for every pair of bins; "
            f"there are {n_bins}. Count in the bins of the result."
        )


def require_several(number: int, n_rows: int = 1, context: str = "", instead: str = "Evaluate") -> None:
    """Refuse fewer than two clusters, whose differences show how uncertain a result is; there may be no rows."""
    if n_rows and number < 2:
        raise ValueError(
            f"{context}`cluster` must hold at least two clusters with rows of positive weight, because the "
            f"differences between clusters show how uncertain a result is; it holds {number}. {instead} independent "
            "rows without clusters; in logs, answers to one question in several epochs are a cluster."
        )


def require_several_clusters(counts: Any) -> None:
    """Refuse counts whose rows are in a single cluster: only differences between clusters show their dependence."""
    clusters = clusters_of(counts)
    if clusters is not None:
        require_several(clusters.number, counts.n_rows)


def require_several_in_groups(groups: Mapping[Any, Any]) -> None:
    """Refuse groups of counts whose rows are in a single cluster."""
    numbers = {label: each.number for label, counts in groups.items() if (each := clusters_of(counts)) is not None}
    alone = [label for label, number in numbers.items() if number < 2 and groups[label].n_rows]
    if alone:
        first = f"group {alone[0]!r}"
        context = first if len(alone) == 1 else f"{len(alone)} of {len(groups)} groups, first {first}"
        require_several(numbers[alone[0]], 1, f"{context}: ", "Leave such groups out, or evaluate")


def refuse_clusters(counts: Any, name: str, what: str) -> None:
    """Refuse counts of rows in clusters for a method whose intervals or tests take rows as independent."""
    if clusters_of(counts) is not None:
        raise ValueError(
            f"`{name}` must be counts of independent rows: {what} would take rows of one cluster as independent, and "
            "so state too much certainty. `evaluate`, `compare` and their forms for counts take clusters into account."
        )


def add_clusters[S: Sums](one: S | None, other: S | None) -> S | None:
    """Add the sums over clusters of two batches; None if neither has clusters. Refuse to add a batch without."""
    if (one is None) != (other is None):
        raise ValueError(
            "counts of rows in clusters cannot be added to counts without: the dependence of the other rows is not "
            "known. Count all batches with `cluster=`; if the rows of a batch are independent, give each a label of "
            "its own, such as its number."
        )
    return None if one is None or other is None else one + other


def clusters_of(counts: Any) -> ClusterSums | None:
    """Return the sums over clusters of any counts; None if their rows are independent."""
    return getattr(counts, "clusters", None)


@dataclass(frozen=True, eq=False)
class PairedClusters(Sums):
    """Sums over clusters j, by bin b of the first and bin c of the second classifier."""

    rr: Floats  # (n_first, n_second) sum of r_jb s_jc
    rn: Floats  # sum of r_jb m_jc
    nr: Floats  # sum of n_jb s_jc
    nn: Floats  # sum of n_jb m_jc
    losses: Floats  # () sum of the product of the sums of squared errors of both classifiers
    log_losses: Floats  # () the same for log losses

    @classmethod
    def from_cells(cls, first: ClusterCells, second: ClusterCells) -> "PairedClusters":
        """Sum the cells of two classifiers on the same rows."""
        _, n, r, (_, loss, log_loss) = first.matrices()
        _, m, s, (_, other_loss, other_log_loss) = second.matrices()
        products = ((r.T @ s).toarray(), (r.T @ m).toarray(), (n.T @ s).toarray(), (n.T @ m).toarray())
        return cls(*products, np.asarray(loss @ other_loss), np.asarray(log_loss @ other_log_loss))

    def swapped(self) -> "PairedClusters":
        """Return the sums with the two classifiers exchanged."""
        return PairedClusters(self.rr.T, self.nr.T, self.rn.T, self.nn.T, self.losses, self.log_losses)

    def product(self, of_gap: tuple[Floats, Floats], of_mass: tuple[Floats, Floats]) -> float:
        """Sum over clusters of the product of two linear functions of residuals and weights by bin."""
        (a, b), (c, d) = of_gap, of_mass
        return float(a @ self.rr @ b + a @ self.rn @ d + c @ self.nr @ b + c @ self.nn @ d)


def square(clusters: ClusterSums, of_gap: Floats, of_mass: Floats) -> float:
    """Sum over clusters of the square of a linear function of residuals and weights by bin."""
    mixed = 2 * float(of_gap @ clusters.rn @ of_mass)
    return float(of_gap @ clusters.rr @ of_gap + of_mass @ clusters.nn @ of_mass) + mixed


def covariance_of_means(
    first: ClusterSums, second: ClusterSums, means: tuple[float, float], member: str, product: float
) -> float:
    """Covariance of two mean losses over data sets; see `ClusterSums.variance_of_mean`."""
    weight, number = float(first.weight.sum()), first.effective_number
    one, other = means
    mixed = one * float(getattr(second, member)[1]) + other * float(getattr(first, member)[1])
    return (product - mixed + one * other * float(first.nn.sum())) / weight**2 * number / (number - 1)
