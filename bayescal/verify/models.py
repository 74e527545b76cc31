"""The PyMC model of any result or posterior: tables from classes to functions that write models, or to reasons.

The tables name classes by their paths, so that no topic is loaded before one of its results is passed.
"""

import tomllib
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks, _packages
from bayescal._arrays import pm
from bayescal._meant import public
from bayescal.posterior.dirichlet import DirichletPosterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior
from bayescal.verify.quantities import sub_models_of

MOST_SCORE_CELLS = 2000  #: Largest number of joint cells of outcome and scores that a model of net benefits has.


@public
def pymc_model(
    result: Any, *, form: str | None = None, with_calibrated: bool = False, pair: tuple[str, str] | None = None
) -> "pm.Model":
    r"""Write the model of a result in PyMC, with the same data and the same prior.

    Parameters
    ----------
    result : Evaluation or other result, or a posterior
        A result that has a posterior with a generative model, such as `Evaluation`, or that posterior.
    form : str, optional
        For a posterior with several forms or parts, which one to write; see the notes.
    with_calibrated : bool, default False
        Shrinkage model only: include exact calibration at its prior odds. The mean of ``p_sub_model`` at ``exact`` is
        then ``p_calibrated`` of the evaluation.
    pair : (str, str), optional
        `ComparisonOverDatasets` only: the two classifiers whose difference is modelled; may be omitted if there are
        only two.

    Returns
    -------
    pymc.Model
        With named dims and coords; ``pymc.sample(model=model)`` samples it.

    Raises
    ------
    TypeError
        If `result` has no generative model, with the reason and with what has one; if it is no result.
    ValueError
        If an option does not belong to this result, `form` is missing or unknown, or the model would be too large.
    ModuleNotFoundError
        If PyMC is not installed.

    Notes
    -----
    The models and the samplers share only the counts, the constants of the prior and, for the pool, the marginal
    likelihoods of the families. `bayescal.verify.agreement` compares both for evaluations.

    In the average of sub-models, the probabilities of the families are computed from the outcomes. Its prior is
    therefore that of ``pymc_model(ev.under_prior())``, or `Evaluation.under_prior`, and not what
    `pymc.sample_prior_predictive` draws from ``pymc_model(ev)``.

    - `Evaluation` under the Dirichlet model: `bayescal.verify.dirichlet_model`. `form` is ``"dirichlet"``, the
      default, which is easy to read, or ``"rates"``, whose chains are several times as fast and need no smaller steps.
    - `Evaluation` under the shrinkage model, also of survival predictions and under covariate shift:
      `bayescal.verify.shrinkage_model`. With one sub-model, as with ``sub_models=["logistic_dense"]``, the model is
      short. The default is an average; chains of it mix only for quantities that all sub-models have, such as ``ece``
      and ``accuracy``, not for the parameters of one sub-model. The outcomes are a Potential in both, so that chains
      have no posterior predictive distribution of the outcomes; `Evaluation.to_datatree` has one.
    - `LabelShiftEvaluation` with ``sub_models=["logistic_dense"]``: one model of all rows of source and target, which
      the evaluation approximates.
    - `GroupedEvaluation` with pooling: the groups around one curve, the middle one of those that are pooled. Pooled
      groups are a linear pool of three families; `form` selects one of the two that pool groups. In ``"own"`` each
      group has its own component of the mixture, in ``"together"`` all groups have the same one.
    - `Recalibration` with a Normal prior: intercept and slope.
    - `CalibrationCurve`: `form` is ``"smooth"`` or ``"shrinkage"``, the two parts that the curve pools, without scores
      of exactly 0 or 1. With fewer than 100 rows, intercept and slope.
    - `NetBenefit` of rows without weights and clusters: probabilities ``q`` of outcome and score cells, of all models
      jointly. With a known prevalence, those of each outcome are divided by their sum.
    - `CumulativePosterior` and `SubpopulationPosterior` with ``model="segments"``: bins in segments; of a
      subpopulation, ``difference`` is the true difference in each bin, given Normal observed ones.
    - `ClassPriors` from cells, and `ShiftEvidence`: rows of source and target by cell.
    - `ComparisonOverDatasets`: Normal random effects of the differences of one pair in the ECE.

    Examples
    --------
    >>> ev = bc.evaluate([0, 1, 1, 0], [0.2, 0.7, 0.8, 0.9], bins=2, model="dirichlet", rng=1)
    >>> model = bc.pymc_model(ev)
    >>> [v.name for v in model.free_RVs], [v.name for v in model.observed_RVs]
    (['q_cell', 'mu'], ['cells', 'mean_confidence'])
    >>> dict(model.dim_lengths)["bin"].eval()
    array(2)
    """
    write = _writer_of(result)
    defaults = {"form": None, "with_calibrated": False, "pair": None}
    values = {"form": form, "with_calibrated": with_calibrated, "pair": pair}
    options = {name: value for name, value in values.items() if value != defaults[name]}
    known = signature(write).parameters
    for name in options:
        if name not in known and "options" not in known:
            raise ValueError(_of_another(name, type(result).__name__))
    _packages.require("pymc")
    return write(result, **options)


def _writer_of(result: Any) -> "Callable[..., pm.Model]":
    """Look up the function that writes the model of a result, along the bases of its class."""
    kind = type(result).__name__
    for each in type(result).__mro__:
        path = f"{each.__module__}.{each.__qualname__}"
        if path in WRITERS:
            if isinstance(write := WRITERS[path], str):
                _packages.require("pymc")
                module, _, name = write.partition(".")
                write = getattr(import_module(f"bayescal.verify.{module}"), name)
            return write
        if path in reasons()["without"]:
            reason = reasons()["without"][path]
            reason = reason.replace("{key}", _first_key(result)) if "{key}" in reason else reason
            raise TypeError(f"A {kind} has no PyMC model: {reason}")
        if path in reasons()["before"]:
            raise TypeError(f"`result` must be a result or a posterior, not {kind}. {reasons()['before'][path]}")
    if all(hasattr(result, name) for name in ("sample", "counts", "prior")):
        raise TypeError(
            f"A {kind} has no PyMC model: `bayescal.verify.models.WRITERS` does not contain its class. Add a function "
            "that writes it."
        )
    raise TypeError(
        f"`result` must be a result or a posterior of this package, not {kind}. Evaluate rows first, as in "
        "`bayescal.pymc_model(bayescal.evaluate(y_true, y_prob))`."
    )


def _of_another(option: str, kind: str) -> str:
    """Return the message about an option that does not belong to a type of results."""
    if option == "with_calibrated":
        return "`with_calibrated` needs a shrinkage posterior of several sub-models."
    of = {
        "form": "the Dirichlet model, of a calibration curve and of pooled groups",
        "pair": "a `ComparisonOverDatasets`",
    }
    return f"`{option}` is an option of {of[option]}; the model of a {kind} has no such option."


def _one_of_parts(form: str | None, parts: tuple[str, ...], words: str) -> str:
    """Require the name of a part of a pool, which is not one model."""
    if form is None:
        names = " or ".join(f"`form={part!r}`" for part in parts)
        raise ValueError(f"`form` must be given, because {words}: pass {names}.")
    _checks.one_of("form", form, parts)
    return form


# --- posteriors and evaluations of bins


def _of_posterior(result: Any, **options: Any) -> "pm.Model":
    return pymc_model(result.posterior, **options)


def _dirichlet(posterior: DirichletPosterior, *, form: str = "dirichlet") -> "pm.Model":
    from bayescal.verify.pymc_models import dirichlet_model

    variance = (posterior.relative_sd * posterior.counts.bins.widths) ** 2
    return dirichlet_model(
        posterior.counts, posterior.alpha, form=form, formula=posterior.formula, bin_variance=variance
    )


def _shrinkage(posterior: ShrinkagePosterior, *, with_calibrated: bool = False) -> "pm.Model":
    from bayescal.verify.pymc_models import shrinkage_model

    names = sub_models_of(posterior)
    if with_calibrated and posterior.all_saturated:
        raise ValueError(
            "`with_calibrated` needs bins that are not saturated: all confidences of these rows are 0 or 1, where the "
            "sub-models are the same."
        )
    if with_calibrated and len(names) == 1:
        raise ValueError(_of_another("with_calibrated", ""))
    return shrinkage_model(
        posterior.counts,
        names[0] if len(names) == 1 else None,
        with_calibrated=with_calibrated,
        family_evidence=None if with_calibrated else family_evidence(posterior),
        **asdict(posterior.prior_options),
    )


def family_evidence(posterior: ShrinkagePosterior) -> dict[str, float]:
    """Compute the log marginal likelihoods of the families of the pool, relative to the first; empty without a pool."""
    families, log_evidence = posterior.prior_options.families, posterior.log_evidence
    of = {}
    for family in posterior.prior_options.pooled:
        if family in families:
            weights = families[family]
            each = [np.log(w) + log_evidence[name] for name, w in weights.items()]
            of[family] = float(np.logaddexp.reduce(each)) - float(np.log(sum(weights.values())))
    return {family: value - next(iter(of.values())) for family, value in of.items()}


def _label_shift(result: Any) -> "pm.Model":
    from bayescal.verify.topic_models import SUB_MODEL, rows_by_bin

    part, rows = result.posterior.parts[0], result.counts.rows
    names = sub_models_of(part) if isinstance(part, ShrinkagePosterior) else []
    if names != [SUB_MODEL]:
        raise ValueError(
            f"`result` must be evaluated with `sub_models=[{SUB_MODEL!r}]`, the sub-model for which all rows of source "
            "and target are written in PyMC."
        )
    if len(rows.by_class) != 2:
        raise ValueError(
            f"`result` must be of two classes for a PyMC model of its rows, not {len(rows.by_class)}. The frequencies "
            "of more classes have one: `bayescal.pymc_model(bayescal.shift.class_priors(y_true, y_prob, "
            "y_prob_target))`."
        )
    if not (rows.target_rows > 0).all():
        empty = np.flatnonzero(rows.target_rows == 0)
        raise ValueError(
            f"`result` must have rows of the target in every bin for a PyMC model; {len(empty)} bins have none, the "
            f"first is bin {empty[0]}. Use fewer bins."
        )
    return rows_by_bin(rows, part.prior_options)


# --- groups, data sets


def _grouped(result: Any, *, form: str | None = None) -> "pm.Model":
    first = next(iter(result.groups.values())).posterior
    if not hasattr(first, "pooled"):
        raise ValueError(
            "`result` must be evaluated with `pooling='partial'` for a joint model. These groups are independent: each "
            f"has a model of its own, as in `bayescal.pymc_model(result[{next(iter(result))!r}])`."
        )
    return _pooled(first.pooled, form=form, groups=[str(label) for label in result.labels])


def _pooled(posterior: Any, *, form: str | None = None, groups: list[str] | None = None) -> "pm.Model":
    from bayescal.verify.pooling_models import of_pooled

    words = "pooled groups are a linear pool of three families, and `form` selects one of the two that pool groups"
    return of_pooled(posterior, together=_one_of_parts(form, ("own", "together"), words) == "together", groups=groups)


def _over_datasets(result: Any, *, pair: tuple[str, str] | None = None) -> "pm.Model":
    if pair is not None and (isinstance(pair, str) or len(pair) != 2):
        raise ValueError(f"`pair` must be the names of two classifiers, not {pair!r}.")
    labels = result.labels
    if pair is None and len(labels) > 2:
        raise ValueError(
            f"`pair` must name two of the {len(labels)} classifiers {list(labels)}, as in `pair={labels[:2]!r}`: the "
            "model is that of one difference."
        )
    return _random_effects(result.random_effects(*(pair or ())), datasets=list(result.datasets))


def _random_effects(posterior: Any, *, datasets: list[str] | None = None) -> "pm.Model":
    from bayescal.verify.pooling_models import random_effects_model

    if len(posterior.estimate) != 1:
        raise ValueError(
            f"`result` must have one problem for a PyMC model, not {len(posterior.estimate)}. Make a posterior of one "
            "row of `estimate` and `error`."
        )
    return random_effects_model(posterior.estimate[0], posterior.error[0], posterior.scale, datasets)


# --- risk models and decisions


def _curve(posterior: Any, *, form: str | None = None) -> "pm.Model":
    words = "a calibration curve pools two posteriors with shares of its own"
    part = _one_of_parts(form, ("smooth", "shrinkage"), words)
    _require_no_ends(posterior)
    return pymc_model(getattr(posterior, part))


def _line(posterior: Any) -> "pm.Model":
    _require_no_ends(posterior)
    return pymc_model(posterior.line)


def _require_no_ends(posterior: Any) -> None:
    if apart := int(posterior.apart.sum()):
        raise ValueError(
            f"`result` must have scores between 0 and 1 for a PyMC model: {apart} of {len(posterior.apart)} knots of "
            "the curve are at exactly 0 or 1, and have a posterior of their own. Evaluate the other rows."
        )


def _score_cells(posterior: Any) -> "pm.Model":
    from bayescal.verify.pymc_models import score_cells_model

    counts = posterior.counts
    if counts.weighted or counts.clusters is not None:
        raise ValueError("`result` must be of rows without weights and without clusters for a PyMC model.")
    n_cells = 2 * counts.n_bins ** len(counts.models)
    if n_cells > MOST_SCORE_CELLS:
        raise ValueError(
            f"`result` must have at most {MOST_SCORE_CELLS} joint cells of outcome and scores for a PyMC model, not "
            f"{n_cells}: 2 outcomes times {counts.n_bins} ranges of scores for each of {len(counts.models)} models. "
            "Use fewer thresholds, or one model."
        )
    return score_cells_model(counts, posterior.pseudo_rows)


def _segments(result: Any) -> "pm.Model":
    if result.model != "segments":
        raise ValueError(
            "`result` must have `model='segments'` for a PyMC model, as from `result.observed.posterior("
            "model='segments')`: half of these draws come from a confidence distribution, which has no prior."
        )
    return pymc_model(result.drawn.posterior)


def _differences(posterior: Any) -> "pm.Model":
    from bayescal.verify.pymc_sub_models import difference_model

    return difference_model(posterior.difference, posterior.variance, posterior.unit)


# --- targets without labels


def _class_frequencies(result: Any) -> "pm.Model":
    from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior

    if not result.method.startswith("cells"):
        raise ValueError(
            "`result` must be computed with `using='cells'` for a PyMC model: from probabilities, the recalibration "
            "is drawn from a Normal approximation without the rows of the target."
        )
    return pymc_model(ClassPriorPosterior(result.counts))


def _shift_evidence(result: Any) -> "pm.Model":
    from bayescal.shift.statistics import CellShiftPosterior
    from bayescal.verify.topic_models import cell_shift_model

    counts = result.counts
    return cell_shift_model(CellShiftPosterior(counts.source.sum(axis=0), counts.target), list(result.cells))


#: Class of a result or posterior -> the function that writes its model, or its path in this folder; its subclasses have
#: the same one.
WRITERS: "dict[str, Callable[..., pm.Model] | str]" = {
    "bayescal.posterior.dirichlet.DirichletPosterior": _dirichlet,
    "bayescal.posterior.shrinkage.posterior.ShrinkagePosterior": _shrinkage,
    "bayescal.posterior.pooling.posterior.PooledPosterior": _pooled,
    "bayescal.posterior.pooling.posterior.GroupPosterior": lambda posterior, **form: _pooled(posterior.pooled, **form),
    "bayescal.posterior.random_effects.RandomEffectsPosterior": _random_effects,
    "bayescal.clinical.slope.posterior.RecalibrationPosterior": "topic_models.recalibration_model",
    "bayescal.clinical.curve.posterior.SmoothCurvePosterior": "topic_models.smooth_curve_model",
    "bayescal.clinical.curve.posterior.CurvePosterior": _curve,
    "bayescal.clinical.curve.posterior.LogisticCurvePosterior": _line,
    "bayescal.decisions.posterior.ScoreCellsPosterior": _score_cells,
    "bayescal.shift.class_frequencies_posterior.ClassPriorPosterior": "topic_models.frequency_model",
    "bayescal.shift.statistics.CellShiftPosterior": "topic_models.cell_shift_model",
    "bayescal.results.evaluation.Evaluation": _of_posterior,
    "bayescal.results.grouped.GroupedEvaluation": _grouped,
    "bayescal.results.over_datasets.ComparisonOverDatasets": _over_datasets,
    "bayescal.clinical.slope.result.Recalibration": _of_posterior,
    "bayescal.clinical.curve.result.CalibrationCurve": _of_posterior,
    "bayescal.decisions.result.NetBenefit": _of_posterior,
    "bayescal.cumulative.posterior_result.CurvePosterior": _segments,
    "bayescal.cumulative.segments.NormalSegments": _differences,
    "bayescal.shift.class_frequencies.ClassPriors": _class_frequencies,
    "bayescal.shift.label_shift_result.LabelShiftEvaluation": _label_shift,
    "bayescal.shift.shift_evidence.ShiftEvidence": _shift_evidence,
}


@cache
def reasons() -> dict[str, dict[str, str]]:
    """Read why classes have no model, which only messages need: tables `without` and `before`."""
    tables: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tables


def _first_key(result: Any) -> str:
    """Return the key of the first part of a result, as it is written between brackets."""
    parts = getattr(result, "labels", None) or getattr(result, "models", None) or result
    first = next(iter(parts))
    return ", ".join(map(repr, first)) if isinstance(first, tuple) else repr(first)
