"""Published numbers with their uncertainty: draws of the truth from means, intervals and distributions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from bayescal import _checks
from bayescal._arrays import Floats, Generator

#: Ends of a fitted distribution may differ from those of the interval by this share of its width.
TOLERANCE = 0.25
#: Largest share of a distribution outside the possible values, which is moved to their ends; probabilities of ends.
OUTSIDE, ENDS = 0.01, np.array([0.025, 0.975])

Quantile = Callable[[Floats], Floats]


def _normal(mean: float, low: float, high: float) -> Quantile:
    return lambda u: mean + (high - low) / (2 * ndtri(0.975)) * ndtri(u)


def _log_normal(mean: float, low: float, high: float) -> Quantile:
    return lambda u: np.exp(_normal(*np.log([mean, low, high]))(u))


def _beta(mean: float, low: float, high: float) -> Quantile:
    """The Beta distribution with this mean whose 95 % interval is as wide."""
    least, most = 0.0, 20.0  # log of a + b
    for _ in range(60):
        total = np.exp((least + most) / 2)
        wide = np.ptp(betaincinv(mean * total, (1 - mean) * total, ENDS)) > high - low
        least, most = (np.log(total), most) if wide else (least, np.log(total))
    return lambda u: betaincinv(mean * total, (1 - mean) * total, u)


class Kind(NamedTuple):
    """Possible values of a number, why others are impossible, and how a mean and an interval become a distribution."""

    low: float
    high: float
    why: str
    family: str
    fitted: Callable[[float, float, float], Quantile]


KINDS = {
    "prevalence": Kind(0, 1, "a validation needs rows with the event and rows without it", "Beta", _beta),
    "mean_risk": Kind(0, 1, "it is a probability", "Beta", _beta),
    "auc": Kind(0.5, 0.9999, "at 0.5 all risks are equal and no slope exists", "Beta", _beta),
    "slope": Kind(0, 20, "at 0 or below, predicted risks do not order the rows", "Normal", _normal),
    "intercept": Kind(-20, 20, "it is a difference of log odds", "Normal", _normal),
    "observed_expected": Kind(0, 50, "it is a ratio of numbers of events", "log-Normal", _log_normal),
}


def draws_of(name: str, value: Any, size: int, rng: Generator) -> tuple[Floats, str]:
    """Return a number as draws, shape (1,) if it is known and (size,) if it has a distribution, and in words."""
    kind, quantile = KINDS[name], getattr(value, "ppf", None) or getattr(value, "icdf", None)
    if quantile is not None:
        mean, low, high = (float(quantile(u)) for u in (0.5, *ENDS))
    elif isinstance(value, tuple | list) and len(value) == 3:
        mean, low, high = (_inside(name, each) for each in value)
        if not low < mean < high:
            raise ValueError(f"`{name}` must be (mean, low, high) with low < mean < high, not {tuple(value)}.")
        quantile = kind.fitted(mean, low, high)
        ends = np.asarray(quantile(ENDS))
        if np.abs(ends - [low, high]).max() > TOLERANCE * (high - low):
            raise ValueError(
                f"`{name}` must be the mean and the 95 % interval of a {kind.family} distribution: that with the mean "
                f"{mean:g} and this width has the interval {ends[0]:.3g} to {ends[1]:.3g}, not {low:g} to {high:g}. "
                "Pass a frozen scipy.stats distribution for another shape."
            )
    else:
        fixed = _inside(name, value)
        return np.array([fixed]), f"{fixed:g}"
    # a stratified sample: one uniform number in each of `size` equal parts
    draws = np.asarray(quantile((rng.permutation(size) + rng.random(size)) / size), dtype=np.float64)
    least, most = kind.low + 1e-6, kind.high - 1e-6
    if (outside := float(np.mean(~((draws > least) & (draws < most))))) > OUTSIDE:
        raise ValueError(
            f"`{name}` must be strictly between {kind.low:g} and {kind.high:g}: {kind.why}. {100 * outside:.0f} % of "
            "its distribution is not; give a narrower or a truncated one."
        )
    return np.clip(draws, least, most), f"{mean:.4g} ({low:.4g} to {high:.4g})"


def _inside(name: str, value: Any) -> float:
    """Require a possible value."""
    if isinstance(value, bool | str) or not np.isscalar(value):
        form = "a number, (mean, low, high) of a 95 % interval, or a frozen scipy.stats distribution"
        raise TypeError(f"`{name}` must be {form}, not {_checks.quoted(value)}.{_checks.of_percent(value)}")
    kind, fixed = KINDS[name], float(np.asarray(value, dtype=np.float64))
    if not kind.low < fixed < kind.high:
        hint = " Percent? Divide by 100." if kind.high <= 1 < fixed <= 100 else ""
        raise ValueError(
            f"`{name}` must be strictly between {kind.low:g} and {kind.high:g}, not {fixed:g}: {kind.why}.{hint}"
        )
    return fixed
