"""Goals of a plan: checks of the arguments, and the goal in words."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.limits import checked_limit, checked_number, within_limit
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.estimands.scores import LEAST_ROWS
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.losses import KINDS
from bayescal.stats.paired import PairedCounts

#: Sums of losses that estimands need besides the bins, in words.
WORDS = {"losses": "squared errors", "log_losses": "log losses"}
#: The goals, and the counts of the pilot that each needs.
PILOTS = {"width": BinnedCounts, "below": BinnedCounts, "above": BinnedCounts, "difference": PairedCounts}


@dataclass(frozen=True)
class Goal:
    """A statement that the evaluation of a test set is to reach.

    `kind` is "width" for a narrow interval, "below" or "above" for a limit of which the posterior is sure, or
    "difference" for a verdict on two classifiers. `size` is the width, the limit, or the half-width of the region of
    practical equivalence; `prob` is the probability of the interval or of the statement.
    """

    kind: str
    size: float
    prob: float
    estimand: Estimand

    def met_by(self, values: np.ndarray[Any, Any]) -> float:
        """Return the share of draws on the right side of the limit."""
        return within_limit(values, self.size, self.estimand)

    def limit(self, target: str) -> str:
        """Return the statement about the limit, as in "the ECE is below 0.02"."""
        absolute = "absolute " if self.estimand.better == "nearest zero" else ""
        return f"the {absolute}{self.estimand.words(target)} is {self.kind} {self.size:g}"


def checked_goal(pilot: Any, values: dict[str, Any], estimand: EstimandLike, prob: Any) -> Goal:
    """Check that there is one goal, which fits the counts of the pilot and the estimand."""
    named = [kind for kind, value in values.items() if value is not None]
    if len(named) != 1:
        given_now = ", ".join(f"`{kind}`" for kind in named) or "none"
        raise ValueError(
            "exactly one of `width` (of the interval of one classifier), `below` or `above` (a limit for one "
            f"classifier) and `difference` (of two classifiers) must be given, not {given_now}."
        )
    kind = named[0]
    _require_counts(pilot, kind)
    record = as_scalar(estimand)
    _require_needed(pilot, record, kind)
    check = {"width": _width, "difference": _difference}.get(kind, _limit)
    return Goal(kind, check(kind, values[kind], record), _checks.fraction("prob", prob), record)


def _require_counts(pilot: Any, kind: str) -> None:
    wanted: Any = PILOTS[kind]
    if not isinstance(pilot, wanted):
        hints = {
            BinnedCounts: "For one classifier use `width`, `below` or `above`; for two, `PairedCounts.from_arrays`.",
            PairedCounts: "For two classifiers use `difference`; each has counts, `pilot_counts.first` and `.second`.",
            Evaluation: "Its counts are `.counts`.",
            Comparison: "Its counts are in `.pairs`, as in `comparison.pairs[0, 1]`.",
        }
        source = "compare(...).pairs[0, 1]" if kind == "difference" else "evaluate(y_true, y_prob).counts"
        hint = hints.get(type(pilot), f"Make them with `{wanted.__name__}.from_arrays`, or use `{source}`.")
        raise TypeError(f"`pilot_counts` must be {wanted.__name__} for `{kind}`, not {type(pilot).__name__}. {hint}")
    refuse_clusters(pilot, "pilot_counts", "a plan")
    if not pilot.weight.any():
        raise ValueError("`pilot_counts` must hold labelled rows, and is empty; a few hundred rows are enough.")


def _require_needed(pilot: Any, estimand: Estimand, kind: str) -> None:
    """Raise if the pilot lacks what the estimand needs besides the bins, or new rows cannot have it."""
    both = (pilot.first, pilot.second) if kind == "difference" else (pilot,)
    for losses in sorted(estimand.needs & KINDS.keys()):
        _require_losses(pilot, both, estimand, losses)
    if "outcomes" in estimand.needs and any(counts.ranks is None for counts in both):
        source = "`compare(...).pairs[0, 1]`" if kind == "difference" else "`evaluate(y_true, y_prob).counts`"
        raise ValueError(
            f"`pilot_counts` must contain the order of the rows for `estimand` {estimand.name!r}; these counts contain "
            f"bins only. Use {source}. Or count on many bins, for example 1500, and merge them with `coarsen(15)`: the "
            "fine bins then give the order."
        )
    if kind == "difference" and estimand.needs & KINDS.keys() and estimand.joint is None:
        raise ValueError(
            f"`estimand` {estimand.name!r} cannot be planned for with `difference`: it needs losses by bin, and those "
            "of two classifiers are simulated for all rows together. Define `joint` in its Estimand."
        )


def _require_losses(pilot: Any, both: tuple[BinnedCounts, ...], estimand: Estimand, losses: str) -> None:
    sums = [getattr(counts, losses) for counts in both]
    if len(both) > 1:
        sums.append(getattr(pilot, KINDS[losses].difference))
    if any(of is None for of in sums):
        raise ValueError(
            f"`pilot_counts` must hold the sums of {WORDS[losses]} for `estimand` {estimand.name!r}, and lacks them: "
            "counts of one class of a matrix and counts made by hand have none. Count the rows again, for "
            f"example with `{type(pilot).__name__}.from_arrays`."
        )
    rows = min(counts.effective_rows for counts in both)
    if len(both) > 1 and rows < LEAST_ROWS:
        raise ValueError(
            f"`pilot_counts` must hold at least {LEAST_ROWS} effective rows for the difference of two scores; these "
            f"are {rows:.3g}."
        )


def _width(kind: str, value: Any, estimand: Estimand) -> float:
    low, high = estimand.bounds
    if high - low <= 1:
        return _checks.fraction(kind, value)
    width = checked_number(kind, value)
    if not 0 < width < high - low:
        raise ValueError(f"`width` must lie strictly between 0 and {high - low:g} for {estimand.name!r}, not {value}.")
    return width


def _limit(kind: str, value: Any, estimand: Estimand) -> float:
    return checked_limit(kind, value, estimand, ": use `width`")


def _difference(kind: str, value: Any, estimand: Estimand) -> float:
    if estimand.better is None:
        raise ValueError(f"`difference` does not fit `estimand` {estimand.name!r}, of which no value is better.")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"`{kind}` must be a number in [0, 1), not {value!r}.{_checks.of_percent(value)}")
    if not 0 <= float(value) < 1:
        hint = " Percent? Divide by 100." if 1 <= float(value) <= 100 else " Its sign is not needed."
        raise ValueError(f"`{kind}` must lie in [0, 1), in units of the {estimand.symbol}, not {value}.{hint}")
    return float(value)
