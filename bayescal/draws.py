"""Posterior draws of one quantity (`Draws`) and of the bins (`BinDraws`); draws are always on axis 0."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks, _render

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent posterior draws of one quantity, and their summaries.

    ``numpy.asarray(draws)`` returns the draws as an array. All methods summarise *over* draws. They return a float
    for a scalar quantity and an array for an array-valued one.

    Parameters
    ----------
    values : ndarray, shape (n_draws, ...)
        The draws, finite.
    name : str
        Name of the quantity, for printing.

    Examples
    --------
    >>> ece = Draws(np.linspace(0.01, 0.03, 2001), "ece")
    >>> ece.mean()
    0.02
    >>> ece.interval(0.95)
    (0.0105, 0.0295)
    >>> ece.pr(lambda e: e < 0.015)
    0.25
    """

    values: Floats
    name: str = "draws"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
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
        if spec:
            raise TypeError(
                f'posterior draws cannot be formatted with {spec!r}: format a summary, as in f"{{ece.mean():{spec}}}".'
            )
        return repr(self)

    def _refuse_order(self, other: Any) -> NoReturn:
        plain = other.item() if isinstance(other, np.generic) else other
        shown = _checks.quoted(plain) if np.ndim(other) == 0 else "an array"
        raise TypeError(
            f"posterior draws are neither smaller nor larger than {shown}: use a probability, as in "
            "`ece.pr(lambda e: e < 0.05)`, or a summary, as in `ece.mean() < 0.05`."
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse_order

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

    def median(self) -> Any:
        """Posterior median."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Any:
        """Posterior quantile(s).

        Parameters
        ----------
        q : float or array-like
            Probability or probabilities in [0, 1].

        Returns
        -------
        float or ndarray
            Linear interpolation between order statistics (`numpy.quantile`).
        """
        return _plain(np.quantile(self.values, np.asarray(q, dtype=np.float64), axis=0))

    def interval(self, prob: float = 0.95, kind: str = "equal-tailed") -> tuple[Any, Any]:
        """Credible interval: it contains the quantity with posterior probability `prob`.

        Parameters
        ----------
        prob : float, default 0.95
            Posterior probability of the interval, in (0, 1).
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
            import arviz

            ends = np.asarray(arviz.hdi(np.moveaxis(self.values, 0, -1), prob=prob))
            return _plain(ends[..., 0]), _plain(ends[..., 1])
        tail = (1 - prob) / 2
        low, high = np.quantile(self.values, [tail, 1 - tail], axis=0)
        return _plain(low), _plain(high)

    def pr(self, event: Callable[[Floats], ArrayLike]) -> Any:
        """Posterior probability of an event.

        Parameters
        ----------
        event : callable
            Takes the array of draws and returns booleans of the same shape, as in ``lambda e: e < 0.02``.

        Returns
        -------
        float or ndarray
            The share of draws in which the event holds. Its Monte Carlo standard error is
            ``sqrt(p (1 - p) / n_draws)``.

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


def _plain(value: Any) -> Any:
    """A float for a scalar, the array for an array."""
    return float(value) if np.ndim(value) == 0 else value


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
    >>> BinDraws(mass, accuracy, confidence, np.ones(2, bool), weight=mass).gap
    array([[ 0.25 , -0.125]])
    """

    mass: Floats
    accuracy: Floats
    confidence: Floats
    occupied: NDArray[np.bool_]
    weight: Floats

    @property
    def gap(self) -> Floats:
        """Accuracy minus confidence, shape (n_draws, n_bins): positive means that the confidence is too low."""
        return self.accuracy - self.confidence

    def __len__(self) -> int:
        return len(self.accuracy)
