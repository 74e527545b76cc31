"""Counts between thresholds as plain data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal import _checks, _files
from bayescal._rules import NOT_NEGATIVE
from bayescal._texts import text_of
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.thresholds import as_thresholds, model_names
from bayescal.stats.documents.sums import ROUNDING, TINY, WEIGHTS, floats, read_cells, within
from bayescal.stats.stored import register_counts
from bayescal.stats.sums import sums_at


def thresholds_document(counts: ThresholdCounts) -> dict[str, Any]:
    """Return thresholds, names of models, joint cells with rows and their sums; weights only if any is not 1."""
    if counts.clusters is not None:
        raise TypeError(text_of("clusters at thresholds are not saved"))
    sums = {name: getattr(counts, name).tolist() for name in ("cells", "n", *(WEIGHTS if counts.weighted else ()))}
    return {"thresholds": counts.thresholds.tolist(), "models": list(counts.models), **sums}


def thresholds_from_document(document: Mapping[str, Any]) -> ThresholdCounts:
    """Convert plain data to counts, with validation."""
    _files.require_entries(document, ["thresholds", "models", "cells", "n"], WEIGHTS)
    for name in ("thresholds", "models"):
        if not isinstance(document[name], list):
            raise ValueError(f"`{name}` must be an array.")
    thresholds = as_thresholds(floats("thresholds", document["thresholds"], (len(document["thresholds"]),)))
    try:
        models = model_names(document["models"])
    except TypeError as problem:
        raise ValueError(str(problem)) from problem
    top = [*([len(thresholds) + 1] * len(models)), 2]
    cells, n = read_cells(document, top, "the score cell of each model and the outcome")
    if thresholds[0] == 0 and (below := (cells[:, :-1] == 0).any(axis=1)).any():
        _checks.refuse("cells", "must be at least 1 for each model if the first threshold is 0", below, cells)
    weights = [name for name in WEIGHTS if name in document]
    if len(weights) == 1:
        raise ValueError(f"`{weights[0]}` stands alone: weights need both of {list(WEIGHTS)}.")
    if not weights:
        return ThresholdCounts(thresholds, models, cells, n, n.astype(np.float64), sums_at(cells[:, -1], n, 2))
    weight, weight_sq = floats("weight", document["weight"], n.shape), floats("weight_sq", document["weight_sq"], (2,))
    for name, values in (("weight", weight), ("weight_sq", weight_sq)):
        NOT_NEGATIVE.require(name, values)
    counts = ThresholdCounts(thresholds, models, cells, n, weight, weight_sq)
    _require_possible_weights(counts)
    return counts


def _require_possible_weights(counts: ThresholdCounts) -> None:
    """Require sums of squared weights between those of equal weights in each cell and of a single positive weight."""
    if counts.n_rows and not counts.weight.any():
        raise ValueError(f"`weight` is 0 everywhere, though there are {counts.n_rows} rows.")
    with np.errstate(over="ignore"):
        least = counts.by_outcome(counts.weight * (counts.weight / counts.n))
        most = counts.by_outcome(counts.weight) ** 2
    tiny = TINY * np.maximum(counts.by_outcome(counts.n), 1)  # squares that float64 does not hold
    within("weight_sq", "fit `weight`", least * (1 - ROUNDING) - tiny, counts.weight_sq, counts.weight_sq)
    within("weight_sq", "fit `weight`", counts.weight_sq, most * (1 + ROUNDING) + tiny, counts.weight_sq)


register_counts(
    "threshold",
    ThresholdCounts,
    thresholds_document,
    thresholds_from_document,
    "counts between thresholds",
    "holds counts between thresholds, for a net benefit, and a report has bins. "
    "`bayescal.decisions.net_benefit_counts` evaluates them in Python.",
    about=lambda counts: (
        f"event, {len(counts.thresholds)} threshold{'s' * (len(counts.thresholds) > 1)} of {len(counts.models)} "
        f"model{'s' * (len(counts.models) > 1)}"
    ),
    fingerprint=lambda counts: counts.cells.tobytes() + counts.n.tobytes() + counts.weight.tobytes(),
)
