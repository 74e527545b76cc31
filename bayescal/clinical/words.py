"""Words of a clinical summary: names of quantities, the sentence, cells of the table, and remarks."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bayescal import _render
from bayescal._texts import text_of
from bayescal.decisions.thresholds import TREAT_ALL, UNNAMED
from bayescal.decisions.words import FEW_ROWS_PER_SIDE, of_draws

Row = Mapping[str, Any]

#: Words of the quantities in tables, in their order; thresholds follow those of the clinical utility.
WORDS = {
    "auc": "AUC (c-statistic)",
    "brier_score": "Brier score",
    "scaled_brier_score": "scaled Brier score",
    "mean_risk": "mean predicted risk",
    "observed_expected": "observed / expected events",
    "in_the_large": "calibration in the large (slope = 1)",
    "intercept": "intercept (slope estimated)",
    "slope": "calibration slope",
    "ece": "ECE",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "net_benefit": "net benefit",
    "treat_all": f"net benefit of {TREAT_ALL}",
}
LONGEST_HEAD = 24  #: Longest name of a model in the head of a column.
DECIMALS = 3  #: Decimals of all numbers, unless an interval is so narrow that it needs more.
FEW_EVENTS = 100  #: Fewer events, or rows without event, than guidance for validation asks for.
#: Meaning of the rows of the table.
KEY = text_of("columns of a clinical summary", treat_all=TREAT_ALL)
DASH = "-: too few rows to state a probability."  #: What a dash in the table means.
#: Remark on models that share rows.
SHARED = text_of("models of the same rows")
#: Remark on a table without net benefit.
NO_THRESHOLDS = text_of("no thresholds")


def of_events(n_events: int, share: float, *, weighted: bool) -> str:
    """State events and their share."""
    return f"{n_events} ({'weighted share ' * weighted}{100 * share:.1f} %)"


def of_rows(n_rows: int, effective: float, *, weighted: bool) -> str:
    """State rows, and their effective number if they are weighted."""
    return f"{n_rows} (effective {effective:.0f})" if weighted else str(n_rows)


def one_outcome(n_rows: int, n_events: int) -> str:
    """State that quantities are missing because all rows have one outcome."""
    missing = "row without event" if n_events else "event"
    return f"No AUC and no scaled Brier score: {n_events} of {n_rows} rows are events; both need 1 more {missing}."


def few_events(n_rows: int, n_events: int) -> list[str]:
    """Return a remark if few rows have an outcome; on no row, the parts have one."""
    fewer = min(n_events, n_rows - n_events)
    if not 0 < fewer < FEW_EVENTS:
        return []
    s = "s" * (fewer > 1)
    counted = f"Only {fewer} event{s}" if fewer == n_events else f"Only {fewer} row{s} without event"
    if fewer < FEW_ROWS_PER_SIDE:
        return [f"{counted}, {FEW_EVENTS - fewer} fewer than a validation needs: all intervals depend on the prior."]
    return [
        f"{counted}, {FEW_EVENTS - fewer} fewer than needed: a validation should have at least {FEW_EVENTS} events "
        "(Collins et al. 2016), and as many rows without event."
    ]


def reversed_event(auc: Row) -> list[str]:
    """Return a remark if the interval of the AUC lies below 0.5."""
    if auc["high"] >= 0.5:
        return []
    return ["The AUC is below 0.5: is the event coded the other way round?"]


def direction(by_quantity: Mapping[str, Row]) -> str:
    """Say which risks are too low or too high, as far as intervals exclude calibrated ones."""
    ratio, slope, deviations = by_quantity["observed_expected"], by_quantity.get("slope"), []
    if ratio["low"] > 1:
        deviations.append("too low on average")
    if ratio["high"] < 1:
        deviations.append("too high on average")
    if slope is not None:
        if slope["high"] < 0:
            deviations.append("lower where events are more frequent")
        elif slope["high"] < 1:
            deviations.append("too extreme")
        if slope["low"] > 1:
            deviations.append("not extreme enough")
    if not deviations:
        return "the intervals contain the values of calibrated risks"
    return f"the predicted risks are {' and '.join(deviations)}"


def sentence_of(name: str, rows: Sequence[Row], level: str, *, one_outcome: bool) -> str:
    """Return the main numbers of a model; the first interval names its probability."""
    by_quantity = {row["quantity"]: row for row in reversed(rows)}  # the first threshold is kept
    if one_outcome:  # the slope is that of the prior
        by_quantity.pop("slope", None)
    level, parts = f"{level} credible interval ", []
    if "auc" in by_quantity:
        parts.append(f"AUC {with_interval(by_quantity['auc'], level)}")
        level = ""
    risk, ratio = by_quantity["mean_risk"], by_quantity["observed_expected"]
    parts.append(f"mean predicted risk {100 * risk['mean']:.1f} %")
    parts.append(f"observed / expected events {with_interval(ratio, level, 2)}")
    if "slope" in by_quantity:
        parts.append(f"calibration slope {with_interval(by_quantity['slope'])}")
    text = f"{', '.join(parts)}: {direction(by_quantity)}"
    if "net_benefit" in by_quantity:
        row, treat_all = by_quantity["net_benefit"], by_quantity["treat_all"]
        text += (
            f". At the threshold {row['threshold']:g}, net benefit {with_interval(row)}, compared with "
            f"{_render.number(treat_all['mean'], decimals_of(row))} for {TREAT_ALL}"
        )
        text += "" if math.isnan(row["p_useful"]) else f"; P(useful) {of_draws(row['p_useful'])}"
    return f"{_render.name(name)}: {text}." if name and name != UNNAMED else f"{text[0].upper()}{text[1:]}."


def cells_of(rows: Sequence[Row]) -> list[list[str]]:
    """Return the table of one model as text: name, mean, ends of the interval, observed value, ideal value."""
    cells = []
    for row in rows:
        d = decimals_of(row)
        numbers = ["" if math.isnan(row[k]) else _render.number(row[k], d) for k in ("mean", "low", "high", "observed")]
        ideal = row["ideal"]
        shown = "" if math.isnan(ideal) else f"{ideal:g}" if ideal in (0.0, 1.0) else _render.number(ideal, d)
        cells.append([words_of(row), *numbers, shown])
        if row["quantity"] == "net_benefit":
            useful = "-" if math.isnan(row["p_useful"]) else of_draws(row["p_useful"])
            cells.append([f"P(useful) at {row['threshold']:g}", useful, "", "", "", ""])
    return cells


def words_of(row: Row) -> str:
    """Return the name of a quantity, with its threshold."""
    at = "" if math.isnan(row["threshold"]) else f" at {row['threshold']:g}"
    return WORDS[row["quantity"]] + at


def decimals_of(row: Row) -> int:
    """Return the decimals that show an interval; at least three."""
    return _render.interval_decimals(row["low"], row["high"], DECIMALS)


def with_interval(row: Row, level: str = "", least: int = DECIMALS) -> str:
    """Return a mean with its interval as text."""
    d = _render.interval_decimals(row["low"], row["high"], least)
    mean, low, high = (_render.number(row[key], d) for key in ("mean", "low", "high"))
    return f"{mean} ({level}{low} to {high})"


def padded(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Add empty cells to rows that are shorter than `width`."""
    return [[*row, *[""] * (width - len(row))] for row in rows]


def beside(blocks: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Join the tables of several models: one column per model, of means with intervals; observed values below."""
    rows = []
    for lines in zip(*blocks, strict=True):
        values = [f"{mean} ({low}, {high})" if low else mean for _, mean, low, high, *_ in lines]
        rows.append([lines[0][0], *values, lines[0][-1]])
        if any(line[-2] for line in lines):
            rows.append(["  observed", *(line[-2] for line in lines), ""])
    return rows


def observed_below(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Put observed values in lines of their own, for narrow tables: the last column but one is left out."""
    narrow = []
    for row in rows:
        narrow.append([*row[:-2], row[-1]])
        if row[-2]:
            narrow.append(padded([["  observed", row[-2]]], len(row) - 1)[0])
    return narrow


def fits(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a printed table is at most `width` characters wide."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return sum(widths) + 2 * len(widths) <= width
