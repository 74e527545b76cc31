"""Local regression as R computes it: lowess and loess of one column on another, without robustness iterations."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: lowess: share of the rows in a neighbourhood, and the distance within which fits are interpolated, as a share of the
#: range.
LOWESS_SPAN, LOWESS_DELTA = 2 / 3, 0.01
#: loess: share of the rows in a neighbourhood, and share of a neighbourhood in a cell between two vertices.
LOESS_SPAN, LOESS_CELL = 0.75, 0.2
#: loess: the outer vertices lie beyond the data by this share of the range.
MARGIN = 0.005


def lowess(x: Floats, y: Floats) -> Floats:
    """Smooth by local linear regression, as ``lowess(x, y, iter = 0)`` in R.

    Parameters
    ----------
    x : ndarray, shape (n_rows,)
        Scores, in any order.
    y : ndarray, shape (n_rows,)
        Outcomes.

    Returns
    -------
    ndarray, shape (n_rows,)
        Fitted values of the rows. A fit uses the nearest two thirds of the rows with tricube weights [1]_; between
        fits that are at most 1 % of the range apart, values are interpolated.

    References
    ----------
    .. [1] W. S. Cleveland (1979), "Robust locally weighted regression and smoothing scatterplots", Journal of the
       American Statistical Association 74, 829-836.

    Examples
    --------
    A straight line is its own smooth:

    >>> x = np.arange(5.0)
    >>> lowess(x, 2 * x)
    array([0., 2., 4., 6., 8.])
    """
    order = np.argsort(x, kind="stable")
    xs, ys = x[order], y[order]
    at = _fitted_rows(xs)
    values = _local_lines(xs, ys, at)
    fitted = np.empty(len(x))
    fitted[order] = np.interp(xs, xs[at], values)
    return fitted


def _fitted_rows(xs: Floats) -> NDArray[np.intp]:
    """Return rows at which lowess fits: the first, and the last within delta of the previous one, or the next."""
    delta = LOWESS_DELTA * (xs[-1] - xs[0])
    distinct = np.flatnonzero(np.append(True, np.diff(xs) > 0))
    values, at, i = xs[distinct], [0], 0
    while i < len(values) - 1:
        beyond = int(np.searchsorted(values, values[i] + delta, side="right"))
        i = max(i + 1, beyond - 1)
        at.append(i)
    chosen: NDArray[np.intp] = distinct[at]
    return chosen


def _local_lines(xs: Floats, ys: Floats, at: NDArray[np.intp]) -> Floats:
    """Return local linear fits at some of the sorted rows; where no row has weight, the row's own value."""
    n = len(xs)
    size = max(2, min(n, int(LOWESS_SPAN * n + 1e-7)))
    centres = xs[at]
    # the window moves on while its first row is farther than the row after it
    left = np.searchsorted(xs[: n - size] + xs[size:], 2 * centres) if size < n else np.zeros(len(at), np.intp)
    radius = np.maximum(centres - xs[left], xs[left + size - 1] - centres)
    ends = np.searchsorted(xs, centres + radius, side="right")
    fitted = np.empty(len(at))
    for j, (centre, h) in enumerate(zip(centres, radius, strict=True)):
        part = slice(left[j], ends[j])
        near, values = xs[part], ys[part]
        distance = np.abs(near - centre)
        weight = np.where(distance <= 0.001 * h, 1.0, (1 - (distance / h if h > 0 else distance) ** 3) ** 3)
        weight = np.where(distance <= 0.999 * h, weight, 0.0)
        weight /= weight.sum()
        mean = weight @ near
        spread = weight @ (near - mean) ** 2
        fitted[j] = weight @ values
        if h > 0 and np.sqrt(spread) > 0.001 * (xs[-1] - xs[0]):
            fitted[j] += (centre - mean) * (weight * (near - mean)) @ values / spread
    return fitted


def loess(x: Floats, y: Floats) -> Floats:
    """Smooth by local quadratic regression, as ``loess(y ~ x)`` in R with its default interpolation.

    Parameters
    ----------
    x : ndarray, shape (n_rows,)
        Scores, in any order.
    y : ndarray, shape (n_rows,)
        Outcomes.

    Returns
    -------
    ndarray, shape (n_rows,)
        Fitted values of the rows. Fits use the nearest three quarters of the rows with tricube weights; they are made
        at the vertices of a k-d tree and interpolated by cubic polynomials with the values and slopes of the fits [1]_.
        NaN if a fit is not defined, because its neighbourhood has fewer than three distinct scores.

    References
    ----------
    .. [1] W. S. Cleveland and E. Grosse (1991), "Computational methods for local regression", Statistics and Computing
       1, 47-62.

    Examples
    --------
    A parabola is its own smooth:

    >>> x = np.arange(9.0)
    >>> loess(x, x**2).round(6)
    array([ 0.,  1.,  4.,  9., 16., 25., 36., 49., 64.])
    """
    order = np.argsort(x, kind="stable")
    xs, ys = x[order], y[order]
    vertices = _vertices(xs)
    values, slopes = np.array([_local_parabola(xs, ys, vertex) for vertex in vertices]).T
    fitted = np.empty(len(x))
    fitted[order] = _hermite(xs, vertices, values, slopes)
    return fitted


def _vertices(xs: Floats) -> Floats:
    """Return the vertices of a k-d tree of sorted values, whose cells contain at most a share of the rows."""
    most = int(len(xs) * LOESS_SPAN * LOESS_CELL)
    width = max(xs[-1] - xs[0], 1e-10 * max(abs(xs[0]), abs(xs[-1])) + 1e-30)
    found, cells = {xs[0] - MARGIN * width, xs[-1] + MARGIN * width}, [(0, len(xs) - 1)]
    while cells:
        first, last = cells.pop()
        if last - first + 1 > most:
            m = _last_below(xs, first, last)
            found.add(xs[(first + last) // 2 if m is None else m])
            cells += [] if m is None else [(first, m), (m + 1, last)]
    return np.array(sorted(found))


def _last_below(xs: Floats, first: int, last: int) -> int | None:
    """Return the row nearest to the median after which a cut divides no tie; None if there is none."""
    middle, offset = (first + last) // 2, 0
    while first <= middle + offset < last:
        if xs[middle + offset] != xs[middle + offset + 1]:
            return middle + offset
        offset = -offset if offset > 0 else 1 - offset
    return None


def _local_parabola(xs: Floats, ys: Floats, at: float) -> tuple[float, float]:
    """Return value and slope of a local quadratic fit."""
    n = len(xs)
    distance = np.abs(xs - at)
    h = np.partition(distance, (size := min(n, int(n * LOESS_SPAN + 1e-5))) - 1)[size - 1]
    inside = distance < h
    u = (xs[inside] - at) / h
    root = np.sqrt((1 - np.abs(u) ** 3) ** 3)
    design = root[:, None] * np.stack([np.ones_like(u), u, u**2], axis=1)
    found, _, rank, _ = np.linalg.lstsq(design, root * ys[inside], rcond=1e-12)
    return (float(found[0]), float(found[1] / h)) if rank == 3 else (np.nan, np.nan)


def _hermite(xs: Floats, vertices: Floats, values: Floats, slopes: Floats) -> Floats:
    """Interpolate with cubic polynomials between vertices."""
    i = np.clip(np.searchsorted(vertices, xs, side="right") - 1, 0, len(vertices) - 2)
    width = vertices[i + 1] - vertices[i]
    t = (xs - vertices[i]) / width
    interpolated: Floats = (
        (1 - t) ** 2 * (1 + 2 * t) * values[i]
        + t**2 * (3 - 2 * t) * values[i + 1]
        + width * t * (1 - t) * ((1 - t) * slopes[i] - t * slopes[i + 1])
    )
    return interpolated
