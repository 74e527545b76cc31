"""The same rows on several choices of bins: one fine count -> merged counts -> one evaluation per choice."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL, count_rows, evaluate_one
from bayescal.data.predictions import read_rows
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.results.bin_sensitivity import BinSensitivity
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import FROM_ROWS, MOST_BINS, OF_NUMBER, make_bins
from bayescal.stats.fine import bins_among, can_merge, common_refinement, largest_share

#: Numbers of bins that are common in the literature.
NUMBERS = (5, 10, 15, 20, 30, 50)
#: Ways to choose edges that are compared by default.
WAYS = ("equal-width", "equal-mass")


@public
def bin_sensitivity(
    y_true: Any,
    y_prob: Any = None,
    *,
    n_bins: Sequence[int] = NUMBERS,
    binning: str | Sequence[str] = WAYS,
    estimand: EstimandLike = "ece",
    target: str | None = None,
    weights: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> BinSensitivity:
    r"""Compute an estimand and its interval for several numbers and kinds of bins, from one count.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,), or BinnedCounts
        Labels as for `evaluate`, or counts on fine bins, for example on 300.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes), optional
        Probabilities as for `evaluate`; omitted for counts.
    n_bins : sequence of int, default (5, 10, 15, 20, 30, 50)
        Numbers of bins.
    binning : {"equal-width", "equal-mass", "equal-effective-mass"}, or sequence, default ("equal-width", "equal-mass")
        How the edges are chosen, as for `evaluate`; in one way, or in several. For weighted rows, compare
        ``("equal-width", "equal-effective-mass")``.
    target, weights, classes, logits
        As for `evaluate`; not for counts. ``target="classwise"`` is not possible: pass one class as an event.
    model, draws, rng, **options
        As for `evaluate`. All choices have the same random numbers: with a seed, the result for 15 equal-width bins has
        the draws of `evaluate` with this seed, up to rounding.

    Returns
    -------
    BinSensitivity
        One line per choice, the average over the choices, and a sentence on how far the answer depends on them.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`. Also if there are fewer than two choices, if a number occurs twice, or if the edges of a
        number of equal-width bins are not among those of the counts.

    Notes
    -----
    Rows are counted once, on the union of the edges of all choices, which are merged afterwards; every choice is exact.
    With counts, equal-width bins are exact, and other bins are unions of the counted bins with nearly equal numbers, or
    effective numbers, of rows; `BinSensitivity.remarks` states the largest number. The edges of these bins depend on
    the rows, and the intervals treat them as fixed.

    The ECE of the population depends on the bins: gaps of opposite sign within a bin cancel, so that splitting bins
    never makes the ECE smaller [1]_. The plug-in value rises with the number of bins for another reason as well, its
    bias, also for a calibrated classifier [2]_.

    The average over the choices is the mean of different estimands, described at `BinSensitivity.average`.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma (2019), "Verified uncertainty calibration", Advances in Neural Information
       Processing Systems 32.
    .. [2] J. Broecker (2012), "Estimating reliability and resolution of probability forecasts through decomposition of
       the empirical score", Climate Dynamics 39, 655-667.

    Examples
    --------
    The outcomes of a calibrated classifier: the plug-in ECE of 50 bins is nearly three times that of 5 bins.

    >>> import numpy as np
    >>> import bayescal as bc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> result = bc.bin_sensitivity(rng.random(2000) < p, p, n_bins=(5, 50), rng=1)
    >>> [(row["binning"], row["n_bins"], round(row["plug_in"], 3)) for row in result.table()]
    [('equal-width', 5, 0.018), ('equal-width', 50, 0.048), ('equal-mass', 5, 0.017), ('equal-mass', 50, 0.05)]
    >>> result.average.interval(0.95)
    (0.00..., 0.02...)
    """
    if "bins" in options:
        raise TypeError(
            "`bin_sensitivity` takes no 'bins': several numbers of bins are `n_bins=`, as in `n_bins=(10, 20)`. For "
            "one choice of bins, use `evaluate`."
        )
    record = as_scalar(estimand)
    ways, numbers = _ways(binning), _numbers(n_bins)
    choices = [(how, number) for how in ways for number in numbers]
    if len(choices) < 2:
        raise ValueError(
            f"`n_bins` and `binning` must give at least two choices of bins, not {choices}; use `evaluate`."
        )
    from_counts = isinstance(y_true, BinnedCounts)
    if from_counts:
        arguments = {
            "y_prob": y_prob,
            "target": target,
            "weights": weights,
            "classes": classes,
            "logits": logits or None,
        }
        fine = _checked_counts(y_true, choices, arguments)
        bins = {(how, number): bins_among(fine, number, how) for how, number in choices}
    else:
        rows = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights).checked()
        ranked = "outcomes" in record.needs
        columns: dict[str, Any] = {"confidence": rows.confidence, "weights": rows.weight}
        bins = {(how, number): make_bins(number, binning=how, **columns) for how, number in choices}
        fine = count_rows(rows, common_refinement(bins.values()), "equal-width", ranked=ranked)
    seed = _checks.seeds(rng, 1)[0] if not isinstance(rng, int | np.integer) else rng
    counts = {choice: fine.coarsen(each) for choice, each in bins.items()}
    evaluations = {
        choice: evaluate_one(each, model=model, draws=draws, rng=seed, **options) for choice, each in counts.items()
    }
    merged = {choice: largest_share(counts[choice], choice[1]) for choice in choices if choice[0] in FROM_ROWS}
    words = str(fine.bins) if from_counts else f"{len(fine.bins)} bins, whose edges are those of all choices"
    return BinSensitivity(evaluations, record, words, merged if from_counts else {})


def _numbers(n_bins: Any) -> list[int]:
    """Return the numbers of bins as a list of different positive integers."""
    sizes = [n_bins] if np.ndim(n_bins) == 0 else list(n_bins)
    numbers = [_checks.whole_number(f"n_bins[{i}]", each) for i, each in enumerate(sizes)]
    if not numbers:
        raise ValueError("`n_bins` must name at least one number of bins, and is empty.")
    _require_different("n_bins", numbers)
    if max(numbers) > MOST_BINS:
        raise ValueError(f"`n_bins` must be at most {MOST_BINS}, not {max(numbers)}.")
    return numbers


def _ways(binning: Any) -> list[str]:
    ways = [binning] if isinstance(binning, str) else list(binning)
    for how in ways:
        _checks.one_of("binning", how, OF_NUMBER)
    _require_different("binning", ways)
    return ways


def _require_different(name: str, values: list[Any]) -> None:
    for i, value in enumerate(values):
        if value in values[:i]:
            raise ValueError(
                f"`{name}` must hold different values; {value!r} occurs twice, the second time at index {i}."
            )


def _checked_counts(counts: BinnedCounts, choices: list[tuple[str, int]], arguments: dict[str, Any]) -> BinnedCounts:
    """Return the counts, after checking that every choice of equal-width bins can be merged from them."""
    for name, value in arguments.items():
        if value is not None:
            raise TypeError(f"`{name}` must be omitted for counts, which have their rows, target and weights.")
    if not counts.occupied.any():
        raise ValueError("`counts` must have rows: without rows, equal-mass bins are not defined.")
    missing = [number for how, number in choices if how == "equal-width" and not can_merge(counts, number)]
    if missing:
        raise ValueError(
            f"`n_bins` must be numbers of equal-width bins whose edges are among those of the counts ({counts.bins}); "
            f"{len(missing)} are not, the first is {missing[0]}. Count on {math.lcm(*missing)} equal-width bins or a "
            f"multiple of this number, or omit {missing}."
        )
    return counts
