"""Edges of the bins: equal width, equal mass, custom. Bins are closed on the left, or on the right on request."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal.data.frames import to_array

Floats = NDArray[np.float64]
#: Maximum number of bins: with more, neighbouring edges would be only a few float32 steps apart.
MOST_BINS = 1_000_000
#: Ways to choose edges for a number of bins.
BINNINGS = ("equal-width", "equal-mass")
#: The side on which bins contain their edge: [a, b) with the last bin closed, or (a, b] with the first bin closed.
SIDES = ("left", "right")


@dataclass(frozen=True, eq=False)
class Bins:
    """Edges 0 = e_0 < ... < e_M = 1 and how they were chosen.

    Parameters
    ----------
    edges : ndarray of float64, shape (n_bins + 1,)
        Strictly increasing from 0 to 1.
    kind : {"equal-width", "equal-mass", "custom"}
        How the edges were chosen; part of every printed specification.
    closed : {"left", "right"}, default "left"
        The side on which a bin contains its edge: [a, b), where the last bin also contains 1, or (a, b], where the
        first bin also contains 0.

    Examples
    --------
    >>> bins = make_bins(4)
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

    def starts_as(self, dtype: Any) -> NDArray[Any]:
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
        kind = "" if self.kind == "custom" else f"{self.kind} "
        return f"{len(self)} {kind}bin{'s' * (len(self) > 1)} {self.interval}" + (" (custom edges)" if not kind else "")


def equal_width_edges(n_bins: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Compute the edges k / M of M bins, each by one correctly rounded division.

    ``k * (1 / M)`` and `numpy.linspace` round twice, so that some of their edges differ in the last digit.

    Parameters
    ----------
    n_bins : int
        M, at least 1.
    dtype : dtype, default float64
        float16, float32 or float64.

    Returns
    -------
    ndarray, shape (n_bins + 1,)
        From 0 to 1.

    Examples
    --------
    >>> bool(equal_width_edges(10)[3] == 0.3), bool(np.linspace(0, 1, 11)[3] == 0.3)
    (True, False)
    """
    # k / M is rounded to the 53 bits of float64, then to the 24 or 11 bits of the dtype; this equals one rounding,
    # because 53 >= 2 * 24 + 2 (Figueroa 1995, "When is double rounding innocuous?")
    return (np.arange(n_bins + 1) / np.float64(n_bins)).astype(dtype)


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
    >>> equal_mass_edges([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 3)
    array([0.  , 0.25, 0.45, 1.  ])
    >>> equal_mass_edges([0.2, 0.2, 0.2, 0.2, 0.8], 2)
    array([0. , 0.5, 1. ])
    """
    n_bins = _checks.whole_number("n_bins", n_bins)
    _checks.one_of("closed", closed, SIDES)
    values = to_array("confidence", confidence)
    _checks.not_empty("confidence", len(values))
    values = np.sort(_checks.probabilities("confidence", values))
    size, extra = divmod(len(values), n_bins)
    cuts = np.cumsum(np.where(np.arange(n_bins) < extra, size + 1, size))[:-1]
    cuts = _off_ties(values, cuts[(cuts > 0) & (cuts < len(values))])
    low, high = values[cuts - 1], values[cuts]
    edges = low + (high - low) / 2
    # there is no number between neighbouring floats: take the one that belongs to its own bin
    edges = np.where(edges <= low, high, edges) if closed == "left" else np.where(edges >= high, low, edges)
    inner = np.unique(edges[(edges > 0) & (edges < 1)]).astype(np.float64)
    return np.concatenate([[0.0], inner, [1.0]])


def _off_ties(values: NDArray[Any], cuts: NDArray[Any]) -> NDArray[Any]:
    """Move a cut inside a run of equal values to the nearer end of the run; drop cuts before the first or last row."""
    start = np.searchsorted(values, values[cuts], side="left")
    end = np.searchsorted(values, values[cuts], side="right")
    moved = np.where(cuts - start <= end - cuts, start, end)
    moved = np.where(values[cuts - 1] == values[cuts], moved, cuts)
    return np.unique(moved[(moved > 0) & (moved < len(values))])


def make_bins(
    bins: Any = 15, *, binning: str = "equal-width", confidence: ArrayLike | None = None, closed: str | None = None
) -> Bins:
    """Make `Bins`, which every argument ``bins=`` accepts.

    Parameters
    ----------
    bins : int, array-like or Bins, default 15
        Number of bins, or edges that increase strictly from 0 to 1.
    binning : {"equal-width", "equal-mass"}, default "equal-width"
        How the edges are chosen if `bins` is a number.
    confidence : array-like, optional
        The confidences, for "equal-mass".
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
        If `bins` is neither a positive integer nor edges that increase from 0 to 1.

    Examples
    --------
    >>> print(make_bins(10))
    10 equal-width bins [a, b)

    A confidence of 0.5 is in the upper bin, or in the lower one:

    >>> from bayescal import BinnedCounts
    >>> BinnedCounts.from_arrays([1], [0.5], bins=make_bins(2)).n
    array([0, 1])
    >>> BinnedCounts.from_arrays([1], [0.5], bins=make_bins(2, closed="right")).n
    array([1, 0])
    """
    if closed is not None:
        _checks.one_of("closed", closed, SIDES)
        if binning == "equal-mass" and confidence is not None and np.ndim(bins) == 0 and not isinstance(bins, Bins):
            return Bins(equal_mass_edges(confidence, bins, closed=closed), binning, closed)
        return replace(make_bins(bins, binning=binning, confidence=confidence), closed=closed)
    _checks.one_of("binning", binning, BINNINGS)
    given = isinstance(bins, Bins) or np.ndim(bins) > 0
    if given and binning != "equal-width":
        raise ValueError(
            f"`bins` gives the edges, so `binning={binning!r}` has nothing to choose; pass a number of bins."
        )
    if isinstance(bins, Bins):
        return bins
    if given:
        return Bins(_custom_edges(bins), "custom")
    n_bins = _checks.whole_number("bins", bins)
    if n_bins > MOST_BINS:
        raise ValueError(f"`bins` must be at most {MOST_BINS}, not {n_bins}.")
    if binning == "equal-width":
        return Bins(equal_width_edges(n_bins), binning)
    if confidence is None:
        raise ValueError("`binning='equal-mass'` needs the confidences: its edges depend on them.")
    return Bins(equal_mass_edges(confidence, n_bins), binning)


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
