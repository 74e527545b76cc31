"""Limits of an estimand: which side is better, which limits can be reached, and the share of draws on that side."""

import math
from numbers import Real
from typing import Any

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal.estimands.estimand import Estimand


def checked_limit(name: str, value: Any, estimand: Estimand, instead: str = "") -> float:
    """Return a limit, which must be on the side of better values and strictly within the bounds of the estimand."""
    prefix, above = name.removesuffix("above").removesuffix("below"), name.endswith("above")
    if estimand.better is None or above != (estimand.better == "larger"):
        rule = {
            "larger": f"larger values are better: use `{prefix}above`",
            "smaller": f"smaller values are better: use `{prefix}below`",
            "nearest zero": f"values nearer to 0 are better: use `{prefix}below`, for its absolute value",
        }.get(str(estimand.better), f"no value is better, so no limit can be reached{instead}")
        raise ValueError(f"`{name}` does not fit `estimand` {estimand.name!r}: {rule}.")
    low, high = estimand.bounds
    if estimand.better == "nearest zero":
        low, high = 0.0, max(abs(low), abs(high))
    limit = checked_number(name, value)
    if not low < limit < high:
        hint = " Percent? Divide by 100." if high == 1 < limit <= 100 else ""
        raise ValueError(
            f"`{name}` must lie strictly between {low:g} and {high:g} for {estimand.name!r}, not {value}.{hint}"
        )
    return limit


def checked_number(name: str, value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise TypeError(f"`{name}` must be a finite number, not {value!r}.{_checks.of_percent(value)}")
    return float(value)


def within_limit(values: Floats, limit: float, estimand: Estimand) -> float:
    """Return the share of draws on the better side of a limit."""
    if estimand.better == "larger":
        return float((values > limit).mean())
    return float((estimand.badness(values) < limit).mean())
