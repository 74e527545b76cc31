"""Sentences and table rows for printed results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayescal import _render
from bayescal.draws import Draws
from bayescal.estimands.estimand import EVENTS
from bayescal.posterior.contract import HasHypotheses
from bayescal.posterior.shrinkage.prior import EXACT, WORDS
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts

HEADER = ("", "mean", "sd", "2.5 %", "97.5 %", "plug-in", "if calibrated")
SMALL_ECE = 0.02  #: Every specification ends with the posterior probability that the ECE is below this value.
SMALLEST_P = 1e-300  #: The smallest P-value that is printed as a number; smaller ones lose their digits.


def direction_words(target: str) -> tuple[str, str]:
    """Return the words for a negative gap (probabilities too high) and for a positive gap (too low).

    A classifier can be called over- or under-confident if its probabilities are confidences in predictions. For the
    probability of an event these words mislead: an under-confident classifier overstates small probabilities and
    understates large ones.
    """
    of_event = ("stated too high", "stated too low")
    return of_event if target in EVENTS else ("over-confident", "under-confident")


def axis_words(target: str) -> tuple[str, str]:
    """Return the words for what a classifier states and for what is observed, with this target."""
    return _AXES.get(target, ("confidence", "accuracy"))


#: Words of the axes of a reliability diagram, for targets other than confidence.
_AXES = {"event": ("stated probability", "event rate"), "classwise": ("stated probability", "class frequency")}


def row_numbers(counts: Counts) -> dict[str, object]:
    """Return numbers of rows by their meaning, for pages."""
    rows: dict[str, object] = {"rows": counts.n_rows}
    return rows | ({"effective rows": f"{counts.effective_rows:.0f}"} if counts.weighted else {})


def table_row(draws: Draws, name: str, prob: float, plug_in: float, null_mean: float) -> dict[str, Any]:
    """Return one row of a table, as data."""
    low, high = draws.interval(prob)
    row = {"quantity": name, "mean": draws.mean(), "sd": draws.sd(), "low": low, "high": high}
    return {**row, "plug_in": plug_in, "null_mean": null_mean}


def specification(question: str, ece: Draws, null: Draws | None) -> str:
    """Return the question and the result on one line, for a paper."""
    low, high = ece.interval(0.95)
    d = _render.interval_decimals(low, high)
    chance = "" if null is None else f"null mean {_render.number(null.mean(), d)}, "
    small = _render.probability(ece.pr(lambda e: e < SMALL_ECE))
    return f"{question}: {with_interval(ece, d)}, {chance}P(ECE < {SMALL_ECE:g}) {small}"


def question(quantity: str, counts: Sequence[Counts], model: str, prior: str, more: str = "") -> str:
    """Describe an evaluation, or several on the same rows: quantity, bins, rows, `more` about them, and model."""
    first = counts[0]
    clusters = clusters_of(first)
    inside = "" if clusters is None else f" in {clusters.number} clusters"
    words = "weighted, " * first.weighted
    weighted = f" ({words}effective N = {first.effective_rows:.0f})" if first.weighted or clusters else ""
    with_prior = f"{model} model ({prior})" if prior else f"{model} model"
    return f"{quantity}, {_bins(counts)}, N = {first.n_rows}{inside}{weighted}, {more}{with_prior}"


def _bins(counts: Sequence[Counts]) -> str:
    """Return the bins in words. If classes have different numbers of bins, return the range of these numbers."""
    first = counts[0].bins
    if all(c.bins == first for c in counts):
        return str(first)
    sizes = sorted(len(c.bins) for c in counts)
    many = f"{sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
    return f"{first.in_words(many)} for each class"


OF_PRIOR = "under the prior, because there are no rows"  #: Where an interval comes from if there are no rows.
PREDICTED = "as predicted from the other groups, because this one has no rows"


def sentence(headline: str, ece: Draws, prob: float, plug_in: float, null: Draws | None) -> str:
    """Return the headline, and if there are rows the plug-in value and the mean of its null distribution."""
    if null is None:
        return headline
    d = _decimals(ece, prob)
    return (
        f"{headline} The plug-in estimate is {_render.number(plug_in, d)}; "
        f"for a perfectly calibrated classifier it would be {_render.number(null.mean(), d)} on average."
    )


def null_line(plug_in: float, null: Draws, d: int) -> str:
    """Return the line below the table with the null distribution of the plug-in value."""
    return (
        f"The plug-in estimate is {_render.number(plug_in, d)}; for a perfectly calibrated classifier it would be "
        f"{with_interval(null, d)}."
    )


def mean_and_interval(draws: Draws, prob: float) -> str:
    """Return mean and interval as in a sentence: ``0.149 (95 % credible interval 0.128 to 0.170)``."""
    d = _decimals(draws, prob)
    mean, low, high = (_render.number(v, d) for v in (draws.mean(), *draws.interval(prob)))
    return f"{mean} ({100 * prob:g} % credible interval {low} to {high})"


def _decimals(draws: Draws, prob: float) -> int:
    return _render.interval_decimals(*draws.interval(prob))


def decimals(ece: Draws) -> int:
    """Return the number of decimals in a table: at least four, and one more than shows the width of the interval."""
    low, high = ece.interval(0.95)
    return max(4, _render.decimals(high - low) + 1, _render.places(low, high))


#: Families of sub-models, and sub-models within their family, are named if they are at least this probable.
LEAST_NAMED, LEAST_NAMED_WITHIN = 0.005, 0.05


def with_interval(draws: Draws, d: int) -> str:
    """Return mean and 95 % interval, with `d` decimals."""
    low, high = (_render.number(v, d) for v in draws.interval(0.95))
    return f"{_render.number(draws.mean(), d)}, 95 % interval [{low}, {high}]"


def calibration(p_calibrated: float, posterior: HasHypotheses) -> str:
    """Return the posterior probability of exact calibration and its Bayes factor, in words."""
    odds, log_factor = posterior.prior_odds, posterior.log_bayes_factor
    side, size = ("for", log_factor) if log_factor > 0 else ("against", -log_factor)
    factor = f"{np.exp(size):.3g}" if size < np.log(1e4) else f"10^{size / np.log(10):.0f}"
    between = np.clip(p_calibrated, np.finfo(float).tiny, 1 - np.finfo(float).eps)  # exactly 0 or 1 only by rounding
    return (
        f"Exact calibration: probability {_render.probability(between).removeprefix('= ')} at prior odds "
        f"{odds:g}:1 (Bayes factor {factor} {side} it). The intervals do not use these prior odds."
    )


def sub_models(families: Mapping[str, Mapping[str, float]]) -> str:
    """Describe the probabilities of the sub-models by family, given that the classifier is not exactly calibrated.

    Those in parentheses are within the family; a family whose only sub-model has its own name has none.
    """
    totals = {family: sum(of.values()) for family, of in families.items()}
    whole = sum(totals.values())
    parts = []
    for family, total in totals.items():
        if total < LEAST_NAMED * whole:
            continue
        inside = sorted(families[family].items(), key=lambda item: -item[1])
        named = [(name, p / total) for name, p in inside if p >= LEAST_NAMED_WITHIN * total]
        inner = "; ".join(f"{WORDS.get(name, name)}: {_share(p)}" for name, p in named)
        within = "" if list(families[family]) == [family] else f" ({inner})"
        parts.append(f"{WORDS.get(family, family)}: {_share(total / whole)}{within}")
    return f"Sub-model probabilities, if the classifier is not exactly calibrated: {'; '.join(parts)}."


def _share(probability: float) -> str:
    return _render.probability(min(probability, 1 - np.finfo(float).eps)).removeprefix("= ")


def probabilities(posterior: HasHypotheses) -> list[str]:
    """Say the probabilities of exact calibration and of the other sub-models; empty if there are no others."""
    others = {family: of for family, of in posterior.families.items() if family != EXACT}
    if not others:
        return []
    of_exact = calibration(posterior.p_calibrated, posterior)
    return [of_exact] if posterior.all_saturated else [of_exact, sub_models(others)]


def p_words(value: float) -> str:
    """Format a P-value with two digits; those below 1e-300 lose them."""
    return f"< {SMALLEST_P:g}" if value < SMALLEST_P else f"{value:.2g}"
