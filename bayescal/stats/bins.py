"""Edges of the bins: equal width, equal mass, equal effective mass, one bin per value, custom; closed on a side."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks
from bayescal._arrays import Array, Floats, Ints
from bayescal._meant import public
from bayescal.data.columns import allowed_weights, weight_column
from bayescal.data.frames import to_array

MOST_BINS = 1_000_000  #: Maximum number of bins: with more, neighbouring edges would be only a few float32 steps apart.
VALUES = "values"  #: One bin for each distinct confidence, such as 0.9 of a language model that says 90 %.
#: Ways to choose edges that depend on the rows, so that edges must be chosen before rows are counted.
FROM_ROWS = ("equal-mass", "equal-effective-mass", VALUES)
#: Ways to choose edges for a number of bins, and all ways to choose edges.
OF_NUMBER = ("equal-width", "equal-mass", "equal-effective-mass")
BINNINGS = (*OF_NUMBER, VALUES)
#: Most distinct confidences with a bin each: whole per cents from 0 to 100. Among more, many bins would have few rows.
MOST_VALUES = 101
#: Confidences that differ by at most this much are one value: rounding of float32, or of division by 100.
SAME_VALUE = 1e-6
DEFAULT_BINS = 15  #: Number of bins by default.
#: The side on which bins contain their edge: [a, b) with the last bin closed, or (a, b] with the first bin closed.
SIDES = ("left", "right")
ROUNDS = 30  #: Largest number of times that all cuts of bins of equal effective mass are moved.


@public
@dataclass(frozen=True, eq=False)
class Bins:
    """Edges 0 = e_0 < ... < e_M = 1 and how they were chosen.

    Parameters
    ----------
    edges : ndarray of float64, shape (n_bins + 1,)
        Strictly increasing from 0 to 1.
    kind : {"equal-width", "equal-mass", "equal-effective-mass", "values", "custom"}
        How the edges were chosen; part of every printed specification.
    closed : {"left", "right"}, default "left"
        The side on which a bin contains its edge: [a, b), where the last bin also contains 1, or (a, b], where the
        first bin also contains 0.

    Examples
    --------
    >>> bins = bc.make_bins(4)
    >>> len(bins), bins.midpoints
    (4, array([0.125, 0.375, 0.625, 0.875]))
    """

    edges: Floats
    kind: str
    closed: str = "left"

    def __post_init__(self) -> None:
        _checks.one_of("closed", self.closed, SIDES)
        edges = np.array(self.edges, dtype=np.float64)
        edges.setflags(write=False)  # counts are valid only for these edges
        object.__setattr__(self, "edges", edges)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bins) and self.closed == other.closed and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.edges.tobytes(), self.closed))

    @property
    def by_product(self) -> bool:
        """Whether the bin of a confidence c is floor(c M), up to rounding."""
        return self.kind == "equal-width" and self.closed == "left"

    @property
    def midpoints(self) -> Floats:
        """Middle of each bin, shape (n_bins,)."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    @property
    def widths(self) -> Floats:
        """Width of each bin, shape (n_bins,)."""
        return np.diff(self.edges)

    def starts_as(self, dtype: Any) -> Array:
        """First value of each bin in the dtype of the confidences, and 1: bin b contains c if s_b <= c < s_{b+1}.

        In their own dtype, float32(0.7) equals the edge 7/10 of ten bins. An equal-width edge is the division k / M,
        correctly rounded to that dtype; other edges are rounded to it. A bin that is closed on the right begins with
        the next larger number of the dtype.
        """
        edges = equal_width_edges(len(self), dtype) if self.kind == "equal-width" else self.edges.astype(dtype)
        if self.closed == "right":
            edges[1:-1] = np.nextafter(edges[1:-1], edges.dtype.type(np.inf))
        return edges

    @property
    def interval(self) -> str:
        """Notation of a bin, which says on which side it contains its edge."""
        return "[a, b)" if self.closed == "left" else "(a, b]"

    def __repr__(self) -> str:
        return f"Bins({self})"

    def __str__(self) -> str:
        return self.in_words(str(len(self)))

    def in_words(self, number: str) -> str:
        """Return the number of bins, in words such as "5 to 9", and their kind.

        Examples
        --------
        >>> bc.make_bins(binning="values", confidence=[0.9, 0.5, 0.9]).in_words("2")
        '2 bins (one per value)'
        """
        bins = "bin" if number == "1" else "bins"
        if self.kind == VALUES:
            return f"{number} {bins} (one per value)"
        if self.kind == "custom":
            return f"{number} {bins} {self.interval} (custom edges)"
        return f"{number} {self.kind} {bins} {self.interval}"


def equal_width_edges(n_bins: int, dtype: Any = np.float64) -> Array:
    """Compute the edges k / M of M >= 1 bins in a float type, shape (M + 1,), each by one correctly rounded division.

    ``k * (1 / M)`` and `numpy.linspace` round twice, so that some of their edges differ in the last digit.
    """
    # k / M is rounded to the 53 bits of float64, then to the 24 or 11 bits of the dtype; this equals one rounding,
    # because 53 >= 2 * 24 + 2 (Figueroa 1995, "When is double rounding innocuous?")
    return (np.arange(n_bins + 1) / np.float64(n_bins)).astype(dtype)


@public
def equal_mass_edges(confidence: ArrayLike, n_bins: int = 15, *, closed: str = "left") -> Floats:
    """Compute edges that put nearly the same number of rows into each bin; equal confidences share a bin.

    Parameters
    ----------
    confidence : array-like of float, shape (n_rows,)
        Confidences in [0, 1].
    n_bins : int, default 15
        Requested number of bins; ties may leave fewer.
    closed : {"left", "right"}, default "left"
        The side on which the bins will contain their edge. It matters only where two neighbouring confidences differ by
        the last digit of their type, so that an edge equals one of them.

    Returns
    -------
    ndarray, shape (at most n_bins + 1,)
        Edges from 0 to 1, midway between neighbouring confidences.

    Raises
    ------
    ValueError, TypeError
        If `confidence` is empty, or has values that are missing or outside [0, 1]; if `n_bins` is no positive integer.

    Notes
    -----
    The sorted confidences are cut after every N / M rows, as in `numpy.array_split`. A cut inside a run of equal
    confidences moves to the nearer end of the run; coinciding cuts are merged. Bins with equal numbers of rows are also
    called adaptive [1]_. The edges depend on the rows, so compute them once and use the same edges for all batches.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel and D. Tran (2019), "Measuring calibration in deep learning",
       CVPR Workshops.

    Examples
    --------
    >>> bc.equal_mass_edges([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 3)
    array([0.  , 0.25, 0.45, 1.  ])
    >>> bc.equal_mass_edges([0.2, 0.2, 0.2, 0.2, 0.8], 2)
    array([0. , 0.5, 1. ])
    """
    n_bins, values = _requested(confidence, n_bins, closed)
    values = np.sort(values)
    return _edges_at(values, _even_cuts(values, n_bins), closed)


@public
def equal_effective_mass_edges(
    confidence: ArrayLike, weights: ArrayLike | None, n_bins: int = 15, *, closed: str = "left"
) -> Floats:
    r"""Compute edges that put nearly the same effective number of rows into each bin; equal confidences share a bin.

    Parameters
    ----------
    confidence, n_bins, closed
        As for `equal_mass_edges`.
    weights : array-like of float, shape (n_rows,), or None
        Importance weights >= 0; rows of weight 0 are ignored. None stands for equal weights.

    Returns
    -------
    ndarray, shape (at most n_bins + 1,)
        Edges from 0 to 1, midway between neighbouring confidences.

    Raises
    ------
    ValueError, TypeError
        As for `equal_mass_edges`; also if weights are missing, negative, infinite or all zero.

    See Also
    --------
    equal_mass_edges : The same numbers of rows in all bins.

    Notes
    -----
    The weighted mean outcome of a bin has the variance :math:`\sigma^2 U^2` if outcomes have the variance
    :math:`\sigma^2`, where

    .. math:: U = \|W\|_2 / \|W\|_1 = \frac{\sqrt{\sum w_i^2}}{\sum w_i}

    over the rows of the bin, and :math:`1 / U^2` is Kish's effective number of rows. Bins with similar U have averages
    of similar precision [1]_ (Remark 5). If all weights are equal, the edges are those of `equal_mass_edges`.

    The procedure of [1]_ takes the value of U from a random subset of the rows, and the number of bins varies. Here no
    random numbers are used, and the number of bins is as requested unless ties reduce it: beginning with equal-mass
    bins, all cuts move 30 times towards equal shares of the effective rows, and the cuts with the smallest ratio of the
    largest to the smallest U are returned. Therefore the bins are never less similar than equal-mass bins of the same
    number. They cannot be similar everywhere if single rows outweigh their neighbours, or if many rows have the same
    confidence. A row that has most of the total weight widens its bin, at the expense of the others.

    Scaling all weights changes nothing. The edges depend on the rows: compute them once, and use them for all batches.

    References
    ----------
    .. [1] M. Tygert (2021), "Cumulative deviation of a subpopulation from the full population", Journal of Big Data 8,
       117.

    Examples
    --------
    In the upper half, weights of 1 and 3 alternate: two such rows count as 1.6 effective rows, ``(1 + 3)**2 / 10``.
    Each bin contains about 40 effective rows:

    >>> i = np.arange(180)
    >>> p, w = (i + 0.5) / 180, np.where((i >= 80) & (i % 2 == 1), 3.0, 1.0)
    >>> counts = bc.BinnedCounts.from_arrays(i % 2, p, weights=w, bins=bc.equal_effective_mass_edges(p, w, 4))
    >>> counts.n, counts.effective_n
    (array([39, 43, 49, 49]), array([39.  , 39.71, 39.04, 39.36]))
    """
    n_bins, values = _requested(confidence, n_bins, closed)
    weight = weight_column(weights, len(values), "confidence")
    if weight is None:
        return equal_mass_edges(values, n_bins, closed=closed)
    weight = allowed_weights(weight)
    weight = weight / weight.max()
    counting = weight > 0
    if not counting.all():
        values, weight = values[counting], weight[counting]
    if weight.min() == 1:
        return equal_mass_edges(values, n_bins, closed=closed)
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    cuts = equalised(weight, weight**2, _even_cuts(values, n_bins), n_bins, settle=lambda cuts: _off_ties(values, cuts))
    return _edges_at(values, cuts, closed)


def _requested(confidence: ArrayLike, n_bins: Any, closed: str) -> tuple[int, Array]:
    """Return the number of bins and the confidences, after their checks."""
    n_bins = _checks.whole_number("n_bins", n_bins)
    _checks.one_of("closed", closed, SIDES)
    return n_bins, _confidences(confidence)


def _confidences(confidence: ArrayLike) -> Array:
    values = to_array("confidence", confidence)
    _checks.not_empty("confidence", len(values))
    return _checks.probabilities("confidence", values)


def _edges_between_values(confidence: ArrayLike, closed: str) -> Floats:
    """Return edges midway between distinct confidences; values that differ by rounding only share a bin."""
    values = np.unique(_confidences(confidence))
    cuts = np.flatnonzero(np.diff(values) > SAME_VALUE) + 1
    spread = values[np.append(cuts, len(values)) - 1] - values[np.append(0, cuts)]
    if len(cuts) >= MOST_VALUES or spread.max() > SAME_VALUE:
        raise ValueError(
            f"`binning='values'` has a bin for each distinct confidence, and is for at most {MOST_VALUES}, such as "
            f"whole per cents; there are {len(values)}, the first are {', '.join(f'{v:.8g}' for v in values[:3])}. Use "
            "`binning='equal-mass'`, or round the confidences if their last digits mean nothing."
        )
    return _edges_at(values, cuts, closed)


def _even_cuts(values: Array, n_bins: int) -> Ints:
    """Cut sorted values into parts of equal length, as `numpy.array_split` does, but outside runs of equal values."""
    size, extra = divmod(len(values), n_bins)
    return _off_ties(values, np.cumsum(np.where(np.arange(n_bins) < extra, size + 1, size))[:-1])


def _edges_at(values: Array, cuts: Ints, closed: str) -> Floats:
    """Return edges midway between the values on both sides of each cut of sorted values."""
    low, high = values[cuts - 1], values[cuts]
    edges = low + (high - low) / 2
    # there is no number between neighbouring floats: take the one that belongs to its own bin
    edges = np.where(edges <= low, high, edges) if closed == "left" else np.where(edges >= high, low, edges)
    inner = np.unique(edges[(edges > 0) & (edges < 1)]).astype(np.float64)
    return np.concatenate([[0.0], inner, [1.0]])


def _off_ties(values: Array, cuts: Ints) -> Ints:
    """Move a cut inside a run of equal values to the nearer end of the run; drop cuts before the first or last row."""
    cuts = cuts[(cuts > 0) & (cuts < len(values))]
    start = np.searchsorted(values, values[cuts], side="left")
    end = np.searchsorted(values, values[cuts], side="right")
    moved = np.where(cuts - start <= end - cuts, start, end)
    moved = np.where(values[cuts - 1] == values[cuts], moved, cuts)
    return np.unique(moved[(moved > 0) & (moved < len(values))])


@public
def make_bins(
    bins: Any = DEFAULT_BINS,
    *,
    binning: str = "equal-width",
    confidence: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    closed: str | None = None,
) -> Bins:
    """Make `Bins`, which every argument ``bins=`` accepts.

    Parameters
    ----------
    bins : int, array-like or Bins, default 15
        Number of bins, or edges that increase strictly from 0 to 1.
    binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
        How the edges are chosen if `bins` is a number: bins of equal width, bins with nearly equal numbers of rows
        (`equal_mass_edges`), or bins with nearly equal effective numbers of rows (`equal_effective_mass_edges`).
        "values" has one bin for each distinct confidence, at most 101, such as 90 % of a language model; edges are
        midway between the values, and `bins` keeps its default. Values that differ by at most 1e-6 share a bin.
    confidence : array-like, optional
        The confidences, for all but "equal-width".
    weights : array-like, optional
        The importance weights, for "equal-effective-mass"; the others ignore them.
    closed : {"left", "right"}, optional
        The side on which a bin contains its edge. The default is that of `bins` if `bins` is a `Bins`, and otherwise
        "left": [a, b), as in `numpy.histogram`. "right" gives (a, b], as in `pandas.cut` and in several programs that
        compute an ECE; a confidence of 0 is then in the first bin.

    Returns
    -------
    Bins
        The edges and how they were chosen.

    Raises
    ------
    TypeError, ValueError
        If `bins` is neither a positive integer nor edges that increase from 0 to 1. For "values", also if there are
        more than 101 distinct confidences, or `bins` is another number than the default.

    Examples
    --------
    >>> print(bc.make_bins(10))
    10 equal-width bins [a, b)
    >>> bc.make_bins(binning="values", confidence=[0.5, 0.9, 0.9, 1.0]).edges
    array([0.  , 0.7 , 0.95, 1.  ])

    A confidence of 0.5 is in the upper bin, or in the lower one:

    >>> bc.BinnedCounts.from_arrays([1], [0.5], bins=bc.make_bins(2)).n
    array([0, 1])
    >>> bc.BinnedCounts.from_arrays([1], [0.5], bins=bc.make_bins(2, closed="right")).n
    array([1, 0])
    """
    if closed is not None:
        _checks.one_of("closed", closed, SIDES)
    _checks.one_of("binning", binning, BINNINGS)
    has_edges = isinstance(bins, Bins) or np.ndim(bins) > 0
    if has_edges and binning != "equal-width":
        raise ValueError(
            f"`bins` gives the edges, so `binning={binning!r}` has nothing to choose; pass a number of bins."
        )
    if isinstance(bins, Bins):
        return bins if closed is None else replace(bins, closed=closed)
    closed = closed or "left"
    if has_edges:
        return Bins(_custom_edges(bins), "custom", closed)
    n_bins = _checks.whole_number("bins", bins)
    if n_bins > MOST_BINS:
        raise ValueError(f"`bins` must be at most {MOST_BINS}, not {n_bins}.")
    if binning == "equal-width":
        return Bins(equal_width_edges(n_bins), binning, closed)
    return Bins(_edges_of_rows(binning, n_bins, confidence, weights, closed), binning, closed)


def _edges_of_rows(binning: str, n_bins: int, confidence: Any, weights: Any, closed: str) -> Floats:
    """Choose edges that depend on the rows."""
    if confidence is None:
        raise ValueError(f"`binning={binning!r}` needs the confidences: its edges depend on them.")
    if binning == "equal-mass":
        return equal_mass_edges(confidence, n_bins, closed=closed)
    if binning == "equal-effective-mass":
        return equal_effective_mass_edges(confidence, weights, n_bins, closed=closed)
    if n_bins != DEFAULT_BINS:
        raise ValueError(
            f"`bins` must be left out with `binning='values'`, which has one bin for each distinct confidence; it "
            f"is {n_bins}."
        )
    return _edges_between_values(confidence, closed)


def _custom_edges(bins: Any) -> Floats:
    edges = to_array("edges", bins)
    if edges.ndim != 1 or edges.dtype.kind not in "iuf" or len(edges) < 2:
        raise TypeError(
            "`bins` must be a number of bins or a one-dimensional array of at least two edges; "
            f"got shape {edges.shape}, dtype {edges.dtype}."
        )
    edges = edges.astype(np.float64)
    _checks.finite("edges", edges)
    falls = np.concatenate([[False], np.diff(edges) <= 0])
    if falls.any():
        _checks.refuse("edges", "must be strictly increasing", falls, edges)
    if edges[0] != 0 or edges[-1] != 1:
        raise ValueError(
            f"`edges` must begin at 0 and end at 1, so that no row is lost; they run from {edges[0]:g} to "
            f"{edges[-1]:g}."
        )
    return edges


def effective_rows(weight: Floats, weight_sq: Floats, cuts: Ints) -> Floats:
    """Compute Kish's effective number of rows, (sum w)^2 / sum w^2, in each bin; at least 1, also if squares underflow.

    `weight` and `weight_sq` are sums over parts, rows or fine bins, and `cuts` the first part of each bin but the
    first.
    """
    start = np.concatenate([[0], cuts])
    total, squares = np.add.reduceat(weight, start), np.add.reduceat(weight_sq, start)
    # each bin is summed by itself: differences of cumulative sums would lose small weights after a large one
    return np.divide(total**2, squares, out=np.ones(len(start)), where=squares > 0)


def equalised(weight: Floats, weight_sq: Floats, cuts: Ints, n_bins: int, settle: Callable[[Ints], Ints]) -> Ints:
    """Move cuts until the effective numbers of rows of all bins are nearly equal; arguments as for `effective_rows`.

    `n_bins` are requested; `settle` maps cuts to the nearest possible ones, for example outside runs of equal
    confidences. Of all cuts that were tried, including those to begin with, the result has most bins, and among these
    the smallest ratio of the largest to the smallest effective number of rows.

    Within each bin, the effective number of rows is spread evenly over its parts; the new cuts divide the total into
    equal shares. Cuts that do not move any more have equal shares: this is the iteration by which de Boor (1974), "Good
    approximation by splines with variable knots II", Lecture Notes in Mathematics 363, 12-20, places knots. Since
    effective numbers of rows do not add up, it may also move back and forth, so it ends after 30 rounds, or when cuts
    recur.
    """
    best: tuple[tuple[int, float], Ints] | None = None
    tried: set[bytes] = set()
    for _ in range(ROUNDS):
        if cuts.tobytes() in tried:
            break
        tried.add(cuts.tobytes())
        rows = effective_rows(weight, weight_sq, cuts)
        quality = (-len(rows), float(rows.max() / rows.min()))
        if best is None or quality < best[0]:
            best = quality, cuts
        reached: Any = np.concatenate([[0.0], np.cumsum(rows)])
        wanted = reached[-1] * np.arange(1, n_bins) / n_bins
        at = np.interp(wanted, reached, np.concatenate([[0], cuts, [len(weight)]]))
        cuts = settle(np.unique(np.rint(at).astype(np.int64)))
    return cuts if best is None else best[1]
