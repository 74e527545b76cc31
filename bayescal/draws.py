"""Posterior draws of one quantity (`Draws`) and of the bins (`BinDraws`); draws lie on axis 0, everywhere."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks, _render

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent posterior draws of one quantity, with the summaries that one asks of them.

    ``numpy.asarray(draws)`` gives the draws themselves. The methods go *over* draws and return a float
    for a scalar quantity, an array for a quantity with a shape.

    Parameters
    ----------
    values : ndarray, shape (n_draws, ...)
        The draws, finite.
    name : str
        What is drawn, for printing.

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
                f"posterior draws cannot be formatted with {spec!r}: format a summary of them, as in "
                f'f"{{ece.mean():{spec}}}".'
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

        The arguments are those with which ``numpy.mean(draws)`` ends up here; draws are always on axis 0.

        Raises
        ------
        ValueError
            For any other axis.
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
        """Credible interval that holds the quantity with probability `prob`.

        Parameters
        ----------
        prob : float, default 0.95
            Posterior probability of the interval, in (0, 1).
        kind : {"equal-tailed", "hdi"}, default "equal-tailed"
            Equal-tailed leaves ``(1 - prob) / 2`` on each side. "hdi" is the narrowest interval, from ArviZ.

        Returns
        -------
        (low, high) : tuple of float or of ndarray
            The ends of the interval.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1, or `kind` is unknown.
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
            Takes the array of draws, returns booleans of the same shape, as in ``lambda e: e < 0.02``.

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
        """Monte Carlo standard error of the mean; the draws are independent, so it is sd / sqrt(n_draws)."""
        return _plain(self.values.std(axis=0, ddof=1) / np.sqrt(len(self)))


def _plain(value: Any) -> Any:
    """A float for a scalar, the array for an array."""
    return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, eq=False)
class BinDraws:
    """Draws of what the bins are like; every estimand is a function of one draw of these.

    Parameters
    ----------
    mass : ndarray, shape (n_draws, n_bins)
        Probability that a row falls into the bin; rows sum to 1.
    accuracy : ndarray, shape (n_draws, n_bins)
        Probability of outcome 1 in the bin, in [0, 1].
    confidence : ndarray, shape (n_draws, n_bins)
        Mean confidence in the bin, in [0, 1]; one row broadcasts over all draws.
    occupied : ndarray of bool, shape (n_bins,)
        Whether the bin has rows. Where no bin has, all count as occupied: the answer is the prior.
    weight : ndarray, shape (n_draws, n_bins), optional
        What a bin's gap counts for in the error. The bin mass, unless the original formula is wanted.
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
