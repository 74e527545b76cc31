"""The same counts under several models and priors: counts -> one posterior and one evaluation per choice."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.analyses.one import MODELS, posterior_maker
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.results.evaluation import Evaluation
from bayescal.results.leave_one_out import require_equal_rows, require_exact
from bayescal.results.model_sensitivity import DEFAULT, Choice, ModelSensitivity

#: Options of each model that are compared by default, by names of the priors.
PRIORS: dict[str, dict[str, dict[str, Any]]] = {
    "shrinkage": {
        DEFAULT: {},
        "half scales": {"intercept_sd": 0.25, "log_slope_sd": 0.25, "dense_scale": 0.1},
        "double scales": {"intercept_sd": 1.0, "log_slope_sd": 1.0, "dense_scale": 0.4},
        "no pool": {"pool": False},
        "independent": {"sub_models": ["independent", "saturated"]},
        "odds 1:4": {"prior_odds": 0.25},
        "odds 4:1": {"prior_odds": 4.0},
    },
    "dirichlet": {name: {"alpha": name} for name in ("two-rows", "perks", "jeffreys", "uniform")},
}


def model_sensitivity(
    evaluation: Evaluation,
    models: str | Sequence[str],
    priors: Mapping[str, Mapping[str, Mapping[str, Any]]] | None,
    estimand: EstimandLike,
) -> ModelSensitivity:
    """Evaluate the counts of an evaluation under other models and priors; see `Evaluation.sensitivity`."""
    record = as_scalar(estimand)
    require_exact(evaluation.posterior, "sensitivity")
    require_equal_rows(evaluation.counts, "sensitivity")
    chosen, evaluations = _chosen(models, priors), dict[Choice, Evaluation]()
    same = False
    for (model, name), options in chosen.items():
        posterior = posterior_maker(model, compiled=False, options=dict(options))(evaluation.counts)
        equal = model == evaluation.model and _same_prior(posterior, evaluation.posterior)
        same = same or equal
        evaluations[model, name] = evaluation if equal else evaluation._with(posterior, model=model)
    if same:
        return ModelSensitivity(evaluations, record)
    words = evaluation.posterior.prior.removeprefix("prior with ") or DEFAULT
    while (evaluation.model, words) in evaluations:
        words = f"{words} (as evaluated)"
    first = evaluation.model, words
    return ModelSensitivity({first: evaluation, **evaluations}, record)


def _same_prior(first: Any, second: Any) -> bool:
    """Return whether two posteriors of the same counts have the same options, of which some are arrays."""
    one, other = (
        {field.name: getattr(each, field.name) for field in fields(each) if field.name != "counts"}
        for each in (first, second)
    )
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def _chosen(
    models: str | Sequence[str], priors: Mapping[str, Mapping[str, Mapping[str, Any]]] | None
) -> dict[Choice, Mapping[str, Any]]:
    """Return the options of each choice."""
    names = [models] if isinstance(models, str) else list(models)
    for name in names:
        _checks.one_of("models", name, MODELS)
    if not names:
        raise ValueError("`models` must name at least one model, and is empty.")
    by_model = PRIORS if priors is None else priors
    example = 'as in `{"dirichlet": {"weak": {"alpha": 0.1}}}`'
    if not isinstance(by_model, Mapping):
        raise TypeError(f"`priors` must be a mapping from models to priors, {example}, not {priors!r}.")
    others = [name for name in by_model if name not in names]
    if others and priors is not None:
        raise ValueError(f"`priors` has options of {others[0]!r}, which is not among `models` {names}.")
    chosen: dict[Choice, Mapping[str, Any]] = {}
    for name in names:
        of_model = by_model.get(name, {DEFAULT: {}})
        if not isinstance(of_model, Mapping) or not all(isinstance(each, Mapping) for each in of_model.values()):
            raise TypeError(
                f"`priors[{name!r}]` must be a mapping from names of priors to options, {example}, not {of_model!r}."
            )
        if not of_model:
            raise ValueError(f"`priors[{name!r}]` must have at least one prior, {example}, and is empty.")
        labels = [str(prior) for prior in of_model]
        twice = next((label for i, label in enumerate(labels) if label in labels[:i]), None)
        if twice is not None:
            raise ValueError(f"`priors[{name!r}]` must have different names of priors; two are {twice!r}.")
        chosen |= {(name, label): options for label, options in zip(labels, of_model.values(), strict=True)}
    return chosen
