"""The same rows in several ways: bins merged from one fine count, and models and priors of the same counts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Classes, Floats, Ints
from bayescal._invalid import errors_of
from bayescal._meant import public
from bayescal.analyses.one import DEFAULT_MODEL, MODELS, count_rows, evaluate_one, posterior_maker
from bayescal.data.predictions import read_rows
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.results.evaluation import Evaluation
from bayescal.results.model_checks import require_equal_rows, require_exact
from bayescal.results.sensitivity import DEFAULT, BinSensitivity, ModelChoice, ModelSensitivity
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import FROM_ROWS, MOST_BINS, OF_NUMBER, Bins, equal_width_edges, equalised, make_bins

NUMBERS = (5, 10, 15, 20, 30, 50)  #: Numbers of bins that are common in the literature.
WAYS = ("equal-width", "equal-mass")  #: Ways to choose edges that are compared by default.


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
    classes: Classes = None,
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
    .. [1] A. Kumar, P. Liang and T. Ma (2019), as for `plug_in_error`.
    .. [2] J. Broecker (2012), "Estimating reliability and resolution of probability forecasts through decomposition of
       the empirical score", Climate Dynamics 39, 655-667.

    Examples
    --------
    The outcomes of a calibrated classifier: the plug-in ECE of 50 bins is nearly three times that of 5 bins.

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
        others = {"y_prob": y_prob, "target": target, "weights": weights, "classes": classes, "logits": logits or None}
        fine = _checked_counts(y_true, choices, others)
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
    for (how, number), each in evaluations.items():
        with errors_of(f"{number} {how} bin{'s' * (number > 1)}"):
            each.draws(record)
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
    evaluation.draws(record)  # raises if there are none
    chosen, evaluations = _chosen(models, priors), dict[ModelChoice, Evaluation]()
    same = False
    for (model, name), options in chosen.items():
        posterior = posterior_maker(model, compiled=False, options=dict(options))(evaluation.counts)
        equal = model == evaluation.model and _same_prior(posterior, evaluation.posterior)
        same = same or equal
        evaluations[model, name] = evaluation if equal else evaluation._with(posterior, model=model)
    without = {model for (model, _), each in evaluations.items() if not each._available(record)}
    if without:
        raise ValueError(
            f"`models` must be models under which {record.name!r} exists; {_checks.quoted(min(without))} is none. "
            f"Compare the priors of another one: `sensitivity(models={evaluation.model!r}, estimand={record.name!r})`."
        )
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
) -> dict[ModelChoice, Mapping[str, Any]]:
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
    chosen: dict[ModelChoice, Mapping[str, Any]] = {}
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


def common_refinement(choices: Iterable[Bins]) -> Bins:
    """Make the coarsest bins from which every choice of bins can be merged exactly: the union of their edges."""
    return Bins(np.unique(np.concatenate([bins.edges for bins in choices])), "custom")


def can_merge(counts: BinnedCounts, n_bins: int) -> bool:
    """Return whether the edges of this number of equal-width bins are among those of the counts."""
    return bool(np.isin(equal_width_edges(n_bins), counts.bins.edges).all())


def bins_among(counts: BinnedCounts, n_bins: int, binning: str) -> Bins:
    """Choose fewer bins whose edges are those of fine bins; `BinnedCounts.coarsen` merges the fine bins into them."""
    if binning == "equal-width":
        edges = equal_width_edges(n_bins)
    elif binning == "equal-mass":
        edges = equal_mass_among(counts, n_bins)
    else:
        edges = equal_effective_mass_among(counts, n_bins)
    return Bins(edges, binning, counts.bins.closed)


def equal_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of fine bins that put nearly the same number of rows into each of at most `n_bins` bins."""
    below = np.concatenate([[0], np.cumsum(counts.n)])
    size, extra = divmod(int(below[-1]), n_bins)
    wanted = np.cumsum(np.where(np.arange(n_bins) < extra, size + 1, size))[:-1]
    upper = np.searchsorted(below, wanted)
    lower = np.searchsorted(below, below[np.maximum(upper - 1, 0)])
    at = np.where(wanted - below[lower] <= below[upper] - wanted, lower, upper)
    at = np.unique(at[(below[at] > 0) & (below[at] < below[-1])])
    return np.concatenate([[0.0], counts.bins.edges[at], [1.0]])


def equal_effective_mass_among(counts: BinnedCounts, n_bins: int) -> Floats:
    """Choose edges of fine bins that put nearly equal effective numbers of rows into at most `n_bins` bins."""
    even = equal_mass_among(counts, n_bins)
    if not counts.weighted:
        return even
    weight, start = counts.weight.sum(axis=0)[counts.occupied], counts.bins.edges[:-1][counts.occupied]
    weight_sq = counts.weight_sq[counts.occupied]

    def inside(cuts: Ints) -> Ints:
        return np.unique(cuts[(cuts > 0) & (cuts < len(start))])

    cuts = equalised(weight, weight_sq, inside(np.searchsorted(start, even[1:-1])), n_bins, settle=inside)
    return np.concatenate([[0.0], start[cuts], [1.0]])


def largest_share(counts: BinnedCounts, n_bins: int) -> float:
    """Return the rows of the largest bin as a multiple of 1 / n_bins; effective rows for equal effective mass."""
    rows = counts.effective_n if counts.bins.kind == "equal-effective-mass" else counts.n
    return float(rows.max() * n_bins / max(rows.sum(), 1))
