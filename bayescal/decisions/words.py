"""Words of decision curves: sentence, specification and remarks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayescal import _render
from bayescal._arrays import Array, Bools, Floats, Indices
from bayescal._texts import text_of
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import UNNAMED, gain_of_treating
from bayescal.draws import Draws
from bayescal.results.remarks import FEW_CLUSTERS, rows_in_clusters

PRINTED_THRESHOLDS = 9  #: About this number of thresholds is printed.
MOST_DECIMALS = 7  #: Maximum number of decimals in a table.
NAMED_MODELS = 5  #: Maximum number of models in the sentence.
#: Thresholds with fewer rows than this on a side are named in a remark, and no model is called useful there.
FEW_ROWS_PER_SIDE = 5
#: So are those with fewer expected events below the threshold t, or fewer expected rows without event from t on, if the
#: risk there were t: even if none was observed, they could not show that the risk is on the right side of t, since
#: exp(-3) = 0.05 (the rule of three).
FEW_EXPECTED_ROWS = 3.0
#: Treated rows of an outcome decide a net benefit if they contribute at least this share of its variance.
DECISIVE_SHARE = 0.1


def records(columns: Mapping[str, Array]) -> list[dict[str, Any]]:
    """Return arrays of one length as data: one dict per entry."""
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def shown(thresholds: Floats) -> Indices:
    """Return the positions of the thresholds that are printed: all, multiples of 0.1, or evenly spread ones."""
    if len(thresholds) <= PRINTED_THRESHOLDS + 1:
        return np.arange(len(thresholds))
    tenths = np.flatnonzero(np.abs(10 * thresholds - np.round(10 * thresholds)) < 1e-9)
    if PRINTED_THRESHOLDS // 2 <= len(tenths) <= PRINTED_THRESHOLDS + 1:
        return tenths
    return np.unique(np.round(np.linspace(0, len(thresholds) - 1, PRINTED_THRESHOLDS)).astype(np.intp))


def few_rows(counts: ThresholdCounts, prevalence: float | None = None) -> dict[str, Bools]:
    """Return for each model whether few rows reach a threshold, and whether few lie below it: (2, n_thresholds).

    See `NetBenefit.few_rows`. Of rows in clusters, also clusters with such rows count. With a known prevalence, the
    threshold is compared with the risk that it means in the rows, whose share of outcome 1 was chosen: odds of outcome
    1 are multiplied by the ratio of both odds.
    """
    risk = _risk_in_the_rows(counts, prevalence)
    few = {}
    for i, name in enumerate(counts.models):
        rows = counts.margin(i, counting(counts)).sum(axis=0)
        above = np.cumsum(rows[::-1])[::-1][1:]
        below = rows.sum() - above
        sides = [(above, above * (1 - risk)), (below, below * risk)]
        # the small number is for products such as 30 * 0.1
        few[name] = np.stack([(n < FEW_ROWS_PER_SIDE) | (expected < FEW_EXPECTED_ROWS - 1e-9) for n, expected in sides])
        if counts.clusters is not None:
            few[name] |= counts.clusters.reaching(i, counts.n_bins) < FEW_ROWS_PER_SIDE
        few[name][1] &= counts.thresholds > 0  # at 0, a model treats all and is exactly as good as treating all
    return few


def few_treated(counts: ThresholdCounts, prevalence: float | None = None) -> dict[str, Bools]:
    """Return for each model whether few treated rows of outcome 0, and of outcome 1, decide: (2, n_thresholds).

    See `NetBenefit.few_treated`. Rows contribute to the variance of the net benefit in proportion to their number, half
    a row more for the prior, and the square of what each of them gains or loses.
    """
    gain = gain_of_treating(counts.thresholds, prevalence)
    few = {}
    for i, name in enumerate(counts.models):
        rows = counts.margin(i, counting(counts))
        treated = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1][:, 1:]
        each = gain if prevalence is None else gain / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
        variance = each**2 * (treated + 0.5)
        few[name] = (treated < FEW_ROWS_PER_SIDE) & (variance >= DECISIVE_SHARE * variance.sum(axis=0))
    return few


def _risk_in_the_rows(counts: ThresholdCounts, prevalence: float | None) -> Floats:
    """Share of outcome 1 among rows of the risk of each threshold; differs from it if the prevalence is known."""
    if prevalence is None:
        return counts.thresholds
    without, with_event = counts.by_outcome(counting(counts))
    one, zero = counts.thresholds * with_event * (1 - prevalence), (1 - counts.thresholds) * without * prevalence
    return np.divide(one, one + zero, out=counts.thresholds.copy(), where=one + zero > 0)


def counting(counts: ThresholdCounts) -> Floats:
    """Effective rows of each cell, at most its rows: rows of weight 0 do not count."""
    return np.minimum(counts.effective(), counts.n)


def of_draws(probability: float) -> str:
    """Format a share of draws, which is not exactly 0 or 1 because no draw, or every draw, has a property."""
    return _render.probability(min(max(probability, 1e-9), 1 - 1e-9)).removeprefix("= ")


def decimals_of(table: Sequence[Mapping[str, Any]]) -> int:
    """Return the decimals of a table: those that show the narrowest interval, from four to seven."""
    widths = [row["high"] - row["low"] for row in table if row["high"] > row["low"]]
    return min(max(4, _render.decimals(min(widths, default=0.0)) + 1), MOST_DECIMALS)


def ranges(thresholds: Floats, marked: Bools) -> str:
    """Describe marked thresholds as ranges."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marked.astype(int), [0]])))
    parts = [
        f"{thresholds[a]:g}" if b - a == 1 else f"{thresholds[a]:g} to {thresholds[b - 1]:g}"
        for a, b in edges.reshape(-1, 2)
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def of_curve(
    thresholds: Floats, models: Mapping[str, tuple[Draws, Floats, Floats]], prob: float, treat_all: Floats
) -> str:
    """Return the result in words."""
    named, left_out = list(models.items())[:NAMED_MODELS], len(models) - NAMED_MODELS
    rest = f" The table has {left_out} more." if left_out > 0 else ""
    if len(thresholds) == 1:
        return " ".join(_at_one(name, thresholds[0], *numbers, prob, treat_all[0]) for name, numbers in named) + rest
    where = [f"for {_called(name)} {_useful_at(thresholds, numbers[2], prob)}" for name, numbers in named]
    if len(models) == 1:
        where[0] = _useful_at(thresholds, next(iter(models.values()))[2], prob)
        only = next(iter(models))
        name = f"The {UNNAMED}" if only == UNNAMED else _called(only)  # names of users keep their letters
        return (
            f"{name} has a larger net benefit than treating all and treating none (probability >= {prob:g}) {where[0]}."
        )
    larger = f"The net benefit is larger than those of treating all and treating none (probability >= {prob:g})"
    return f"{larger} {'; '.join(where)}.{rest}"


def _useful_at(thresholds: Floats, useful: Floats, prob: float) -> str:
    """Say at which thresholds a model is useful, and how many have too few rows to say so."""
    marked, unknown = useful >= prob, np.isnan(useful)
    if unknown.all():
        return "at no threshold, since all have too few rows on a side"
    if marked.all():
        return f"at all {len(thresholds)} thresholds, {thresholds[0]:g} to {thresholds[-1]:g}"
    if not marked.any():
        return "at no threshold" + " with enough rows on both sides" * bool(unknown.any())
    return f"at the threshold{'s' * int(np.count_nonzero(marked) > 1)} {ranges(thresholds, marked)}"


def _called(name: str) -> str:
    return f"the {UNNAMED}" if name == UNNAMED else _render.name(name)


def _at_one(name: str, t: float, draws: Draws, mean: Floats, useful: Floats, prob: float, treat_all: float) -> str:
    low, high = (float(end[0]) for end in draws.interval(prob))
    d = _render.interval_decimals(low, high)
    value, low_text, high_text, default = (_render.number(v, d) for v in (float(mean[0]), low, high, treat_all))
    better = (
        text_of("few rows at a threshold")
        if np.isnan(useful[0])
        else f"the probability that the model is better than treating all and treating none is {of_draws(useful[0])}"
    )
    return (
        f"At the threshold {t:g}, the net benefit of {_called(name)} is {value} ({100 * prob:g} % credible "
        f"interval {low_text} to {high_text}), that of treating all {default}; {better}."
    )


def question(counts: ThresholdCounts, prior: str, prevalence: float | None, harm: Mapping[str, float]) -> str:
    """Return models, thresholds, rows and prior, on one line."""
    n_models = len(counts.models)
    parts = [f"net benefit of {n_models} model{'s' * (n_models > 1)}, {thresholds_and_rows(counts)}", prior]
    if prevalence is not None:
        parts.append(f"prevalence {prevalence:g}")
    if any(harm.values()):
        parts.append("harm " + ", ".join(f"{h:g} ({_render.name(name)})" for name, h in harm.items() if h))
    return ", ".join(parts)


def thresholds_and_rows(counts: ThresholdCounts) -> str:
    """Return the part of a specification that names thresholds and rows."""
    t = counts.thresholds
    at = f"threshold {t[0]:g}" if len(t) == 1 else f"{len(t)} thresholds from {t[0]:g} to {t[-1]:g}"
    why = "weighted, effective N =" if counts.strata is None else "without censoring worth"
    weighted = f" ({why} {counts.effective_rows:.0f})" if counts.weighted else ""
    inside = "" if counts.clusters is None else f" in {counts.clusters.number} clusters"
    return f"{at}, N = {counts.n_rows}{inside}{weighted}"


def of_clusters(counts: ThresholdCounts, effects: Mapping[str, Floats] | None) -> tuple[str, ...]:
    """State clusters and their design effects, and warn if clusters are few; empty without clusters."""
    clusters = counts.clusters
    if clusters is None or effects is None:
        return ()
    known = np.concatenate(list(effects.values()))
    known = known[np.isfinite(known)]
    low, high = (f"{end:.2g}" for end in (known.min(), known.max())) if len(known) else ("", "")
    times = low if low == high else f"{low} to {high}"
    by = f": the variance of a net benefit is {times} times that of independent rows" if len(known) else ""
    stated = f"{rows_in_clusters(counts.n_rows, clusters.number, weighted=counts.weighted)}{by}."
    few = f"With fewer than {FEW_CLUSTERS} (effective) clusters, intervals may be too narrow."
    return (stated, few) if clusters.effective_number < FEW_CLUSTERS else (stated,)


def remarks_of(counts: ThresholdCounts, prevalence: float | None = None) -> tuple[str, ...]:
    """Return one remark for each outcome with few rows, and for thresholds at which a model has few rows.

    These are few rows on a side, or few treated rows of an outcome that decide.
    """
    few: dict[str, list[str]] = {"reach": [], "below": []}
    for name, sides in few_rows(counts, prevalence).items():
        for side, marked in zip(few, sides, strict=True):
            if marked.any():
                few[side].append(f"{ranges(counts.thresholds, marked)} ({_render.name(name)})")
    texts, clusters = [], "" if counts.clusters is None else " clusters"
    for outcome, rows in enumerate(counts.by_outcome(counting(counts))):
        if rows < FEW_ROWS_PER_SIDE:
            of_rows = "No row has" if rows == 0 else f"Fewer than {FEW_ROWS_PER_SIDE} rows have"
            texts.append(f"{of_rows} outcome {outcome}: that part of the net benefit depends on the prior.")
    rule = f"fewer than {FEW_ROWS_PER_SIDE}{clusters}, or fewer than {FEW_EXPECTED_ROWS:g}"
    if few["reach"]:
        texts.append(text_of("few rows reach a threshold", thresholds="; ".join(few["reach"]), rule=rule))
    if few["below"]:
        texts.append(
            f"Too few rows lie below the threshold at {'; '.join(few['below'])}: {rule} events would be expected if "
            "their risk were the threshold. Whether the model is better than treating all depends on the prior there."
        )
    reached = {name: ~sides[0] for name, sides in few_rows(counts, prevalence).items()}
    by_model = few_treated(counts, prevalence)
    for outcome in (0, 1):
        marked = {name: of_model[outcome] & reached[name] for name, of_model in by_model.items()}
        at = [f"{ranges(counts.thresholds, m)} ({_render.name(name)})" for name, m in marked.items() if m.any()]
        if at:
            texts.append(
                f"Fewer than {FEW_ROWS_PER_SIDE} treated rows with outcome {outcome} determine most of the uncertainty "
                f"at {'; '.join(at)}: mean and interval depend on the prior there; compare the observed value."
            )
    return tuple(texts)
