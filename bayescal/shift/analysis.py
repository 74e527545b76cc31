"""Calibration in a target population: one function that dispatches on the kind of shift."""

from typing import Any, Literal, overload

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.shift.counts import ShiftCells
from bayescal.shift.covariate_shift import CovariateShiftEvaluation, covariate
from bayescal.shift.label_shift import label
from bayescal.shift.label_shift_result import LabelShiftClasses, LabelShiftEvaluation

#: Other names of both shifts.
CALLED = dict.fromkeys(("prior", "prior probability", "priors", "class", "classes", "target"), "label")
CALLED |= dict.fromkeys(("feature", "features", "covariates"), "covariate")


@overload
def evaluate_shifted(
    y_true: Any, y_prob: Any, y_prob_target: Any, *, shift: Literal["label"], **options: Any
) -> LabelShiftEvaluation | LabelShiftClasses: ...
@overload
def evaluate_shifted(
    y_true: Any, y_prob: Any, y_prob_target: Any, *, shift: Literal["covariate"], **options: Any
) -> CovariateShiftEvaluation: ...
@overload
def evaluate_shifted(
    y_true: Any, y_prob: Any, y_prob_target: Any, *, shift: str, **options: Any
) -> LabelShiftEvaluation | LabelShiftClasses | CovariateShiftEvaluation: ...
@public
def evaluate_shifted(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    shift: str,
    using: str | None = None,
    cells: ShiftCells | None = None,
    weights: Any = None,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
    **options: Any,
) -> LabelShiftEvaluation | LabelShiftClasses | CovariateShiftEvaluation:
    """Compute the posterior of the calibration error in a target population, from labelled rows of a source.

    It calls `bayescal.shift.label` or `bayescal.shift.covariate`, which describe the arguments and the results.

    Parameters
    ----------
    y_true, y_prob, y_prob_target
        Labels and probabilities of the source, and probabilities of the target.
    shift : {"label", "covariate"}
        What differs between source and target. It has no default, because predictions alone cannot identify it.
    using, cells
        For ``label`` only.
    weights, target
        For ``covariate`` only; `weights` are required there.
    bins, binning, model, draws, rng, classes, logits, **options
        For both.

    Returns
    -------
    LabelShiftEvaluation, LabelShiftClasses or CovariateShiftEvaluation
        The result of the function that was called.

    Raises
    ------
    ValueError, TypeError
        If `shift` is not given or unknown, an argument belongs to the other shift, or as the function that was called.

    Examples
    --------
    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(2000) < 1 / 6
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> bc.evaluate_shifted(y, p, p_target, shift="label", rng=1).ece.interval(0.95)
    (0.1..., 0.1...)
    """
    _checks.one_of("shift", shift, ("label", "covariate"), CALLED)
    options_of = {"label": {"using": using, "cells": cells}, "covariate": {"weights": weights, "target": target}}
    stated = {kind: {n: v for n, v in each.items() if v is not None} for kind, each in options_of.items()}
    for kind, each in stated.items():
        if each and kind != shift:
            raise TypeError(f"`{next(iter(each))}=` is an option of `shift={kind!r}`, not of `shift={shift!r}`.")
    options = {"bins": bins, "binning": binning, "model": model, "draws": draws, "rng": rng, **options}
    options |= {"classes": classes, "logits": logits, **stated[shift]}
    if shift == "label":
        return label(y_true, y_prob, y_prob_target, **options)
    return covariate(y_true, y_prob, y_prob_target, **{"weights": None, **options})
