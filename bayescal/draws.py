"""Posterior draws of one quantity (`Draws`) and of the bins (`BinDraws`); draws are always on axis 0."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from bayescal import _checks, _render
from bayescal._arrays import Array, Bools, Floats
from bayescal._meant import public

#: Functions of numpy behind the operators, and how names of results show them.
SIGNS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.power: "**", np.negative: "-",
    np.positive: "+", np.absolute: "abs", np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=",
}  # fmt: skip
COMPARISONS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal})
ARITHMETIC = frozenset(SIGNS) - COMPARISONS


def fingerprint(*contents: Any) -> int:
    """Return a number that differs between contents, to identify the evaluation that draws belong to."""
    digest = blake2b(digest_size=8)
    for each in contents:
        if isinstance(each, np.ndarray):
            digest.update(f"{each.dtype}{each.shape}".encode())
            digest.update(np.ascontiguousarray(each).tobytes())
        else:
            digest.update(f"{each!r};".encode())
    return int.from_bytes(digest.digest())


class Probability(float):
    """Posterior probability of a comparison, as in ``ece < 0.05``: a float that is neither true nor false.

    Parameters
    ----------
    value : float
        In [0, 1].
    event : str
        The comparison, for printing.

    Examples
    --------
    >>> probability = Probability(0.98, "ece < 0.05")
    >>> probability, probability > 0.95, f"{probability:.1f}"
    (P(ece < 0.05) = 0.98, True, '1.0')
    """

    event: str

    def __new__(cls, value: float, event: str) -> Self:
        """Make the number; `event` is kept for printing."""
        probability = super().__new__(cls, value)
        probability.event = event
        return probability

    def __reduce__(self) -> tuple[Any, ...]:
        return Probability, (float(self), self.event)

    def __repr__(self) -> str:
        return f"P({self.event}) = {float(self):.4g}"

    def __bool__(self) -> bool:
        raise TypeError(
            f"`{self.event}` is neither true nor false; it has probability {float(self):.4g}. Compare the "
            f"probability, as in `({self.event}) > 0.95`."
        )


@public
@dataclass(frozen=True, eq=False)
class Draws(NDArrayOperatorsMixin):
    """Independent posterior draws of one quantity, and their summaries.

    ``numpy.asarray(draws)`` returns the draws as an array. All methods summarise *over* draws. They return a float
    for a scalar quantity and an array for an array-valued one.

    Parameters
    ----------
    values : ndarray, shape (n_draws, ...)
        The draws, finite.
    name : str
        Name of the quantity, for printing.
    origin : hashable, optional
        Identifies the evaluation that the draws belong to. Only draws of the same evaluation can be combined.

    Notes
    -----
    Draws can be used like a number. Arithmetic with numbers, or with other draws of the same evaluation, gives draws;
    it raises `ZeroDivisionError` or `ValueError` if any of them is not finite. A comparison gives its posterior
    probability. ``float(draws)`` and a format such as ``f"{draws:.3f}"`` use the posterior mean.

    Examples
    --------
    >>> ece = bc.Draws(np.linspace(0.01, 0.03, 2001), "ece")
    >>> ece.mean()
    0.02
    >>> ece.interval(0.95)
    (0.0105, 0.0295)
    >>> ece.pr(lambda e: e < 0.015)
    0.25
    >>> ece < 0.015
    P(ece < 0.015) = 0.25
    >>> 100 * ece
    Draws(100 * ece: mean 2, 95 % interval [1.05, 2.95], 2001 draws)
    >>> f"{ece:.3f}"
    '0.020'
    """

    values: Floats
    name: str = "draws"
    origin: Hashable = None

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        name = _render.name(self.name)
        if self.values.ndim > 1:
            return f"Draws({name}: {len(self)} draws of shape {self.values.shape[1:]})"
        low, high = self.interval(0.95)
        interval = f"95 % interval [{low:z.4g}, {high:z.4g}]"
        return f"Draws({name}: mean {self.mean():z.4g}, {interval}, {len(self)} draws)"

    def __format__(self, spec: str) -> str:
        """Format the posterior mean, as in ``f"{ece:.3f}"``; without a format, the summary."""
        return format(float(self), spec) if spec else repr(self)

    def __float__(self) -> float:
        """Return the posterior mean."""
        if self.values.ndim > 1:
            raise TypeError(
                f"draws of shape {self.values.shape[1:]} are not one number: use `mean()`, or `numpy.asarray(draws)`."
            )
        return float(self.mean())

    def __round__(self, digits: int | None = None) -> float:
        """Round the posterior mean."""
        return round(float(self), digits)

    def __bool__(self) -> bool:
        raise TypeError("draws are neither true nor false: use a probability, as in `(ece < 0.05) > 0.95`.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of numpy: arithmetic gives draws, comparisons give probabilities, others give arrays."""
        numbers = all(isinstance(each, Draws) or _is_number(each) for each in inputs)
        if method != "__call__" or options or ufunc not in SIGNS or not numbers:
            arrays = (np.asarray(each) if isinstance(each, Draws) else each for each in inputs)
            return getattr(ufunc, method)(*arrays, **options)
        self._require_same_origin(inputs)
        operands = [each.values if isinstance(each, Draws) else float(each) for each in inputs]
        with np.errstate(all="ignore"):  # a value that is not finite raises below
            values = ufunc(*operands)
        shown = [_render.name(each.name) if isinstance(each, Draws) else f"{each:.6g}" for each in inputs]
        sign = SIGNS[ufunc]
        name = f" {sign} ".join(f"({each})" if " " in each else each for each in shown)
        name = name if len(shown) > 1 else f"{sign}({shown[0]})"
        _require_finite(ufunc, operands, values, name)
        if ufunc in ARITHMETIC:
            return Draws(values, name, self.origin)
        return Probability(values.mean(), name) if values.ndim == 1 else values.mean(axis=0)

    def _require_same_origin(self, inputs: tuple[Any, ...]) -> None:
        """Raise TypeError unless all draws are of one evaluation."""
        origins = {each.origin for each in inputs if isinstance(each, Draws)}
        if len(origins) > 1 or (origins == {None} and sum(isinstance(each, Draws) for each in inputs) > 1):
            raise TypeError(
                "draws can be combined only if they come from the same evaluation, because otherwise their dependence "
                "is unknown. For two classifiers or groups, use `bayescal.compare(...).difference()`; if the draws "
                "are joint, use `numpy.asarray(first) - numpy.asarray(second)`."
            )

    def mean(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Posterior mean.

        Parameters
        ----------
        axis, dtype, out
            For ``numpy.mean(draws)``, which calls this method. `axis` must be None or 0, `out` must be None.

        Raises
        ------
        ValueError
            If `axis` is neither None nor 0, or `out` is given.
        """
        if axis not in (None, 0) or out is not None:
            raise ValueError(f"`axis` must be 0: draws are on axis 0, not {axis}. Use `numpy.asarray(draws)`.")
        return _plain(self.values.mean(axis=0, dtype=dtype))

    def sd(self) -> Any:
        """Posterior standard deviation (divisor n - 1)."""
        return _plain(self.values.std(axis=0, ddof=1))

    def std(self, axis: int | None = None, dtype: Any = None, out: None = None, ddof: int = 1) -> Any:
        """Posterior standard deviation, as `sd`; also for ``numpy.std(draws)``.

        Parameters
        ----------
        axis, dtype, out
            As for `mean`.
        ddof : int, default 1
            The divisor is the number of draws minus `ddof`.
        """
        self.mean(axis, dtype, out)  # checks the arguments
        return _plain(self.values.std(axis=0, dtype=dtype, ddof=ddof))

    def median(self) -> Any:
        """Posterior median."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Any:
        """Posterior quantile(s), by linear interpolation between order statistics, as `numpy.quantile`.

        Parameters
        ----------
        q : float or array-like
            Probability or probabilities in [0, 1].
        """
        return _plain(np.quantile(self.values, np.asarray(q, dtype=np.float64), axis=0))

    def interval(self, prob: float = 0.95, kind: str = "equal-tailed") -> tuple[Any, Any]:
        """Credible interval: it contains the quantity with posterior probability `prob`.

        Parameters
        ----------
        kind : {"equal-tailed", "hdi"}, default "equal-tailed"
            "equal-tailed" leaves probability ``(1 - prob) / 2`` on each side. "hdi" is the narrowest interval
            (highest density interval [1]_), computed by ArviZ.

        Returns
        -------
        (low, high) : tuple of float or of ndarray
            The bounds of the interval.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1, or `kind` is unknown.

        References
        ----------
        .. [1] R. J. Hyndman (1996), "Computing and graphing highest density regions", The American Statistician 50,
           120-126.
        """
        prob = _checks.fraction("prob", prob)
        _checks.one_of("kind", kind, ["equal-tailed", "hdi"])
        if kind == "hdi":
            from arviz_stats.base import array_stats

            ends = np.asarray(array_stats.hdi(np.moveaxis(self.values, 0, -1), prob=prob))
            return _plain(ends[..., 0]), _plain(ends[..., 1])
        tail = (1 - prob) / 2
        low, high = np.quantile(self.values, [tail, 1 - tail], axis=0)
        return _plain(low), _plain(high)

    def band(self, prob: float = 0.95) -> tuple[Floats, Floats]:
        """Simultaneous credible band of a curve: it contains all values with posterior probability `prob`.

        Parameters
        ----------
        prob : float, default 0.95
            Posterior probability of the band, in (0, 1).

        Returns
        -------
        (low, high) : tuple of ndarray
            The bounds, one for each value; wider than those of `interval`. They are the narrowest order statistics,
            the same on both sides and at each value, between which this share of the draws lies as a whole [1]_.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1, or the quantity is a single number.

        References
        ----------
        .. [1] J. Besag, P. Green, D. Higdon and K. Mengersen (1995), "Bayesian computation and stochastic systems",
           Statistical Science 10, 3-41, section 6.3.
        """
        prob = _checks.fraction("prob", prob)
        if self.values.ndim < 2:
            raise ValueError("a band needs draws of a curve; these are draws of a single number: use `interval`.")
        ordered = np.sort(self.values, axis=0)
        lowest, highest = (
            np.stack([np.searchsorted(ordered[:, i], self.values[:, i], side) for i in range(ordered.shape[1])], axis=1)
            for side in ("left", "right")
        )
        # number of draws that a band may leave out on each side so that it still contains a draw; ties are inside
        n = len(self)
        left_out = np.minimum(highest - 1, n - 1 - lowest).min(axis=1)
        most = int(np.sort(left_out)[n - int(np.ceil(prob * n))])
        return ordered[most], ordered[n - 1 - most]

    def hdi(self, prob: float = 0.95) -> tuple[Any, Any]:
        """Highest density interval: the narrowest interval; short for ``interval(prob, kind="hdi")``.

        Parameters
        ----------
        prob : float, default 0.95
            Posterior probability of the interval, in (0, 1).
        """
        return self.interval(prob, kind="hdi")

    def pr(self, event: Callable[[Floats], ArrayLike]) -> Any:
        """Posterior probability of an event: the share of draws in which it holds.

        Its Monte Carlo standard error is ``sqrt(p (1 - p) / n_draws)``.

        Parameters
        ----------
        event : callable
            Takes the array of draws and returns booleans of the same shape, as in ``lambda e: e < 0.02``.

        Raises
        ------
        TypeError
            If `event` is not callable or does not return booleans of the shape of the draws.
        """
        if not callable(event):
            raise TypeError(f"`event` must be a function of the draws, like `lambda e: e < 0.02`, not {event!r}.")
        holds = np.asarray(event(self.values))
        if holds.dtype != bool or holds.shape != self.values.shape:
            raise TypeError(
                f"`event` must return booleans of shape {self.values.shape}; "
                f"it returned {holds.dtype} of shape {holds.shape}."
            )
        return _plain(holds.mean(axis=0))

    def mcse(self) -> Any:
        """Monte Carlo standard error of the mean: sd / sqrt(n_draws), because the draws are independent."""
        return _plain(self.values.std(axis=0, ddof=1) / np.sqrt(len(self)))


def _require_finite(ufunc: Any, inputs: Sequence[Any], values: Any, name: str) -> None:
    """Raise if a result is not finite, or a comparison has no answer because a number is NaN."""
    if ufunc in COMPARISONS:
        if any(np.isnan(each).any() for each in inputs):
            raise ValueError(f"`{name}` compares with NaN, which is neither larger nor smaller than any number.")
        return
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    first = tuple(np.argwhere(bad)[0].tolist())
    at = first[0] if len(first) == 1 else first
    numbers = f"{np.count_nonzero(bad)} of {bad.size} draws are not, the first is number {at} ({values[first]:g})"
    if ufunc is np.true_divide and (np.asarray(inputs[1]) == 0).any():
        raise ZeroDivisionError(
            f"`{name}` divides by 0: its draws must be finite; {numbers}. A quantity that can be 0 has no ratio; use "
            "the difference, or `numpy.asarray(draws)` if infinite values are intended."
        )
    raise ValueError(
        f"`{name}` must have finite draws; {numbers}. `numpy.asarray(draws)` gives arrays without this rule."
    )


def _is_number(value: Any) -> bool:
    """Whether the value is a real number, of Python or numpy; arrays, complex numbers and booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A float for a scalar, the array for an array."""
    return float(value) if np.ndim(value) == 0 else value


@public
@dataclass(frozen=True, eq=False)
class BinDraws:
    """Posterior draws of the bins: their masses, accuracies and mean confidences. Estimands are functions of these.

    Parameters
    ----------
    mass : ndarray, shape (n_draws, n_bins)
        Probability that a row falls into the bin; sums to 1 in each draw.
    accuracy : ndarray, shape (n_draws, n_bins)
        Probability of outcome 1 in the bin, in [0, 1].
    confidence : ndarray, shape (n_draws, n_bins)
        Mean confidence in the bin, in [0, 1]. The shape (1, n_bins) means the same values in all draws.
    occupied : ndarray of bool, shape (n_bins,)
        Whether the bin has rows. If no bin has rows, all are marked as occupied and the draws are of the prior.
    weight : ndarray, shape (n_draws, n_bins)
        Weight of each bin's gap in the errors: the bin mass, except under ``formula="original"`` of
        `dirichlet_posterior`.

    Examples
    --------
    One draw of two bins:

    >>> mass, accuracy, confidence = np.array([[0.25, 0.75]]), np.array([[0.5, 0.75]]), np.array([[0.25, 0.875]])
    >>> bc.BinDraws(mass, accuracy, confidence, np.ones(2, bool), weight=mass).gap
    array([[ 0.25 , -0.125]])
    """

    mass: Floats
    accuracy: Floats
    confidence: Floats
    occupied: Bools
    weight: Floats

    def __repr__(self) -> str:
        n_draws, n_bins = self.accuracy.shape
        return f"BinDraws({n_draws} draws of {n_bins} bins, {np.count_nonzero(self.occupied)} with rows)"

    @property
    def gap(self) -> Floats:
        """Accuracy minus confidence, shape (n_draws, n_bins): positive means that the confidence is too low."""
        return self.accuracy - self.confidence

    @property
    def fingerprint(self) -> int:
        """A number that differs between draws of different evaluations, computed from the first draw."""
        return fingerprint(self.mass[0], self.accuracy[0], self.confidence[0])

    def part(self, rows: Any) -> "BinDraws":
        """Return some of the draws; `rows` is an index array or a slice of draws."""
        confidence = self.confidence if len(self.confidence) == 1 else self.confidence[rows]
        return BinDraws(self.mass[rows], self.accuracy[rows], confidence, self.occupied, self.weight[rows])

    def __len__(self) -> int:
        return len(self.accuracy)
