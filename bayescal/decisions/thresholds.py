"""Thresholds of decisions, names of the models, and net benefits and decisions at them as functions of draws."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._invalid import quoted
from bayescal.data.frames import by_column, to_array
from bayescal.stats.bins import Bins, equal_width_edges

UNNAMED = "model"  #: Name of a model that is given without a name.
#: Names of the strategies that need no model.
TREAT_ALL, TREAT_NONE = DEFAULTS = ("treat all", "treat none")
#: Thresholds are rounded to so many decimals, so that those of `numpy.arange(0.01, 1, 0.01)` are the numbers meant.
DECIMALS = 12


def as_thresholds(thresholds: Any) -> Floats:
    """Return thresholds that increase strictly in [0, 1), rounded to `DECIMALS`; by default 0.01, ..., 0.99."""
    if thresholds is None:
        return equal_width_edges(100)[1:-1].copy()
    values = np.atleast_1d(to_array("thresholds", [thresholds] if isinstance(thresholds, Real) else thresholds))
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TypeError(
            "`thresholds` must be a number or a one-dimensional array of numbers in [0, 1); got shape "
            f"{values.shape}, dtype {values.dtype}."
        )
    if not len(values):
        raise ValueError("`thresholds` is empty; at least one threshold is needed.")
    _checks.finite("thresholds", values)
    values = np.round(values.astype(np.float64), DECIMALS)
    outside = (values < 0) | (values >= 1)
    if outside.any():
        hint = "Percentages? Divide by 100." if 1 < values.max() <= 100 else ""
        if (values == 1)[outside].all():
            hint = "At 1 the odds are infinite: a false positive costs infinitely much. Leave it out."
        _checks.refuse("thresholds", "must lie in [0, 1)", outside, values, hint)
    falls = np.concatenate([[False], np.diff(values) <= 0])
    if falls.any():
        _checks.refuse("thresholds", "must be strictly increasing", falls, values, "Sort them, each once.")
    return values


def model_names(names: Any) -> tuple[str, ...]:
    """Return the names of models: at least one, different strings, none of which is that of a default strategy."""
    listed = [names] if isinstance(names, str) else list(names)
    if not listed:
        raise ValueError("at least one model is needed; the mapping of models is empty.")
    for i, name in enumerate(listed):
        if not isinstance(name, str) or not name:
            raise TypeError(f"models must have names that are strings; {name!r} is not.")
        if name in listed[:i]:
            raise ValueError(f"models must have different names; {quoted(name)} is given twice.")
        if name in DEFAULTS:
            raise ValueError(f"{quoted(name)} is the name of a strategy that needs no model; rename this model.")
    return tuple(listed)


def probabilities_by_model(y_prob: Any) -> tuple[bool, dict[str, Any]]:
    """Return whether models have names, and the probabilities of each: of one column, a mapping, or a data frame."""
    by_name = y_prob if isinstance(y_prob, Mapping) else by_column(y_prob)
    models = {UNNAMED: y_prob} if by_name is None else dict(by_name)
    model_names(models)
    return by_name is not None, models


def model_columns(confidence: Any) -> dict[str, str]:
    """Return the column of each model, from one column, several, or a mapping of names to columns."""
    if isinstance(confidence, str):
        return {UNNAMED: confidence}
    if isinstance(confidence, Mapping):
        return dict(confidence)
    if not isinstance(confidence, Sequence):
        raise TypeError(f"`confidence` must name one column of `frame`, or several; not {quoted(confidence)}.")
    return dict(zip(model_names(confidence), confidence, strict=True))


def bins_between(thresholds: Floats) -> Bins:
    """Return the bins whose inner edges are thresholds above 0, closed on the left."""
    edges = np.concatenate([[0.0], thresholds, [1.0]])
    equal = np.array_equal(edges, equal_width_edges(len(edges) - 1))
    return Bins(edges, "equal-width" if equal else "custom")


TIED = 1e-12  #: Net benefits that differ by at most this are tied: rounding.


def odds(thresholds: Floats) -> Floats:
    """Weight of a false positive, relative to a true positive: t / (1 - t)."""
    return thresholds / (1 - thresholds)


def gain_of_treating(thresholds: Floats, prevalence: float | None = None) -> Floats:
    """Net benefit per treated row of outcome 0 and of outcome 1, shape (2, n_thresholds)."""
    gain = np.stack([-odds(thresholds), np.ones_like(thresholds)])
    return gain if prevalence is None else gain * np.array([[1 - prevalence], [prevalence]])


def share_treated(mass: Floats) -> Floats:
    """Sum the masses of score cells from each threshold on; the last axis is the cell, and then the threshold."""
    return np.cumsum(mass[..., :0:-1], axis=-1)[..., ::-1]


def net_benefit_of(treated: Floats, gain: Floats) -> Floats:
    r"""Net benefit, :math:`P(p \ge t, y = 1) - \frac{t}{1 - t} P(p \ge t, y = 0)` [1]_, in true positives per row.

    `treated` has the probabilities of being treated, by outcome, shape (..., 2, n_thresholds); `gain` is that of
    `gain_of_treating`.

    .. [1] A. J. Vickers and E. B. Elkin (2006), "Decision curve analysis: a novel method for evaluating prediction
       models", Medical Decision Making 26, 565-574.
    """
    negative: Floats = treated[..., 0, :] * gain[0]
    return negative + treated[..., 1, :] * gain[1]


class Decisions(NamedTuple):
    """Probabilities and values of choosing a strategy at each threshold; `NetBenefit` describes them."""

    p_useful: Floats  # shape (n_models, n_thresholds)
    p_best: Floats  # of treating none, treating all, and each model; shape (n_models + 2, n_thresholds)
    evpi: Floats  # E max - max E of the net benefits of all strategies, shape (n_thresholds,)


def decide(models: Floats, treat_all: Floats) -> Decisions:
    """Compare the strategies at each threshold; their definitions are those of bayesDCA [1]_.

    `models` are net benefits of shape (n_draws, n_models, n_thresholds), `treat_all` those of treating all, shape
    (n_draws, n_thresholds); that of treating none is 0.

    .. [1] G. N. F. Cruz and K. Korthauer (2023), "Bayesian decision curve analysis with bayesDCA", arXiv 2308.02067.
    """
    default = np.maximum(treat_all, 0.0)[:, None]
    useful = (models > default + TIED).mean(axis=0)
    every = np.concatenate([np.zeros_like(default), treat_all[:, None], models], axis=1)
    largest = every.max(axis=1, keepdims=True)
    winners = every >= largest - TIED
    best: Floats = (winners / winners.sum(axis=1, keepdims=True)).mean(axis=0)
    evpi = largest[:, 0].mean(axis=0) - every.mean(axis=0).max(axis=0)
    return Decisions(useful, best, np.maximum(evpi, 0.0))
