"""READ FIRST. The whole pipeline on one page: rows -> counts -> posterior -> draws -> what is reported."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from bayescal import _checks
from bayescal._draws import Draws
from bayescal.data.alignment import same_rows
from bayescal.data.groups import UNNAMED, Groups
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Columns, Predictions, TopLabels, read_rows
from bayescal.estimands.classwise import jointly_exact
from bayescal.estimands.errors import ece
from bayescal.estimands.plug_in import null_bins, observed_bins
from bayescal.posterior._prior import EXACT
from bayescal.posterior.contract import HasHypotheses, Posterior
from bayescal.posterior.copula import reorder, with_common_cause
from bayescal.posterior.dirichlet import dirichlet_posterior
from bayescal.posterior.shrinkage import shrinkage_posterior
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.stats.binned import BinnedCounts, require_counts
from bayescal.stats.bins import make_bins
from bayescal.stats.dependence import error_correlation

#: Every model by its name; a model's options are keywords of its function.
MODELS: dict[str, Callable[..., Posterior]] = {
    "shrinkage": shrinkage_posterior,
    "dirichlet": dirichlet_posterior,
}
DEFAULT_MODEL = "shrinkage"
#: Draws times bins: 0.8 GB for each of mass, accuracy and confidence.
MOST_DRAWN = 100_000_000


@overload
def evaluate(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    by: None = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation: ...
@overload
def evaluate(y_true: Any, y_prob: Any, *, by: Any, **options: Any) -> GroupedEvaluation: ...
def evaluate(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    binning: str = "equal-width",
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    weights: Any = None,
    by: Any = None,
    classes: Sequence[Any] | None = None,
    logits: bool = False,
    **options: Any,
) -> Evaluation | ClasswiseEvaluation | GroupedEvaluation:
    """Posterior of the Expected Calibration Error, from labels and probabilities.

    Parameters
    ----------
    y_true : array-like, shape (n_rows,)
        Labels: 0/1 or booleans with a column of probabilities, class numbers 0..K-1 with a matrix. Strings and
        other labels need `classes`.
    y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
        Probabilities in [0, 1]; rows of a matrix sum to 1.
    target : {"event", "top-label", "classwise", "confidence"}, optional
        The question: is class 1 as frequent as stated (``event``, the default for a column); is the most probable
        class right as often as stated (``top-label``, the default for a matrix); is every class as frequent as its
        column says (``classwise``); was a prediction right as often as its confidence says, with `y_true` holding
        right or wrong (``confidence``).
    bins : int or array-like, default 15
        A number of bins, or edges that increase from 0 to 1. Bins are [a, b), the last one closed. The ECE depends
        on them, so they are printed with every result.
    binning : {"equal-width", "equal-mass"}, default "equal-width"
        How a number of bins becomes edges.
    model : {"shrinkage", "dirichlet"}, default "shrinkage"
        The posterior. ``shrinkage`` can sit on or near exact calibration, and its 95 % intervals contain the true ECE
        about 95 % of the time; where bins are off by about as much as their noise, less than 90 %. ``dirichlet`` is
        the reference model (Bayesian ECE); its intervals miss a true ECE near 0, at any number of rows.
    draws : int, default 4000
        Number of independent posterior draws.
    rng : None, int, SeedSequence or Generator
        Randomness, as for `numpy.random.default_rng`. With None every call differs in the last digits.
    weights : array-like, shape (n_rows,), optional
        Importance weights >= 0. Evidence counts as Kish's effective number of rows.
    by : array-like, shape (n_rows,), or data frame of several columns, optional
        Group of each row, such as a fold, a site or a sex: one evaluation per group, all with the same edges. Labels
        may be any hashable values. Missing labels are refused, and so is a column with more than 30 distinct
        non-integer numbers, which is a measurement: cut it into ranges.
    classes : sequence, optional
        Labels in the order of the columns; for ``event`` the label of 0 and the label of 1.
    logits : bool, default False
        Whether `y_prob` holds logits.
    **options
        Options of the model, as in ``intercept_sd=1.0`` (see `shrinkage_posterior`) or ``alpha="jeffreys"`` (see
        `dirichlet_posterior`).

    Returns
    -------
    Evaluation
        Or, for ``target="classwise"``, a `ClasswiseEvaluation`; with `by`, a `GroupedEvaluation`.

    Raises
    ------
    ValueError, TypeError
        For any input that does not mean what it must; the message names the argument, how many values, the first
        index and its value, and a repair.

    Notes
    -----
    Values are combined by position. The indexes of Series and data frames must be equal; otherwise a `ValueError` says
    how to align them. A default index ``0, 1, ..., n - 1`` is ignored if the other index has different labels.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p ** 1.3
    >>> ev = evaluate(y, p, rng=1)
    >>> ev.question
    'event ECE, 15 equal-width bins [a, b), N = 1000, shrinkage model'
    >>> ev.ece.interval(0.95)
    (0.0..., 0.1...)
    >>> list(evaluate(y, p, by=p > 0.5, rng=1))
    [False, True]
    """
    known = {"bins": bins, "binning": binning, "model": model, "draws": draws, "rng": rng, **options}
    if target == "classwise":
        if by is not None:
            raise ValueError(
                "`target='classwise'` is many problems, and `by` needs one: `target='top-label'`, or one class at a "
                "time as an event."
            )
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights)
        return _evaluate_classes(rows, tuple(range(rows.n_classes) if classes is None else classes), **known)
    columns = read_rows(y_true, y_prob, target=target, classes=classes, logits=logits, weights=weights)
    if by is not None:
        same_rows({"y_true": y_true, "y_prob": y_prob, "weights": weights, "by": by})
        return _evaluate_groups(columns.checked(), Groups.from_column(by, len(columns)), **known)
    return evaluate_counts(_count(columns, bins, binning), model=model, draws=draws, rng=rng, **options)


@overload
def evaluate_counts(
    counts: BinnedCounts, *, model: str = DEFAULT_MODEL, draws: int = 4000, rng: Any = None, **options: Any
) -> Evaluation: ...
@overload
def evaluate_counts(counts: Mapping[Any, BinnedCounts], **known: Any) -> GroupedEvaluation: ...
def evaluate_counts(
    counts: BinnedCounts | Mapping[Any, BinnedCounts],
    *,
    model: str = DEFAULT_MODEL,
    draws: int = 4000,
    rng: Any = None,
    **options: Any,
) -> Evaluation | GroupedEvaluation:
    """Posterior of the Expected Calibration Error, from counts; costs the same for a thousand rows and a billion.

    Parameters
    ----------
    counts : BinnedCounts, or mapping of label to BinnedCounts
        Counts; empty counts give the prior. A mapping, as ``BinnedCounts.from_frame(..., by=...)`` gives, holds groups
        that have no row in common, on the same bins.
    model, draws, rng, **options
        As for `evaluate`.

    Returns
    -------
    Evaluation
        The posterior with its reference points; of a mapping, a `GroupedEvaluation`, which holds that of all rows too.

    Raises
    ------
    TypeError, ValueError
        If `counts` are something else, or groups were counted on different bins; for options as `evaluate`.

    Examples
    --------
    >>> counts = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.6, 0.9], bins=5)
    >>> evaluate_counts(counts, model="dirichlet", alpha="jeffreys", rng=1).plug_in
    0.233
    >>> list(evaluate_counts({"north": counts, "south": counts}, rng=1))
    ['north', 'south']
    """
    if isinstance(counts, Mapping):
        for label, of_group in counts.items():
            require_counts(of_group, f"counts[{label!r}]")
        if not counts:
            raise ValueError("`counts` is an empty mapping; give the counts of at least one group.")
        first, *others = counts.values()
        overall = sum(others, start=first)
        known = {"model": model, "draws": draws, "rng": rng, **options}
        return evaluate_groups(list(counts), list(counts.values()), overall, name=UNNAMED, **known)
    require_counts(counts)
    _checks.one_of("model", model, MODELS)
    _checks.known_keywords(f"`model={model!r}`", options, MODELS[model])
    draws = _checks.whole_number("draws", draws, at_least=2)
    if draws * len(counts.bins) > MOST_DRAWN:
        raise ValueError(
            f"`draws` times `bins` must be at most {MOST_DRAWN:g} to fit into memory; {draws} draws of "
            f"{len(counts.bins)} bins are {draws * len(counts.bins):.3g}. Ask for fewer of either."
        )
    # streams of their own: the null reference does not change when the model draws more or fewer numbers
    seed, for_null, for_reference = (int(s) for s in _checks.generator(rng).integers(2**63, size=3))
    posterior = MODELS[model](counts, **options)
    bins = posterior.sample(draws, rng=seed)
    if not all(np.isfinite(values).all() for values in (bins.mass, bins.accuracy, bins.confidence)):
        raise ArithmeticError(
            f"the {model} posterior has draws that are not finite; this is a defect: please report it."
        )
    return Evaluation(
        counts=counts,
        posterior=posterior,
        bins=bins,
        null_bins=null_bins(counts, draws, rng=for_null) if counts.occupied.any() else None,
        model=model,
        bins_seed=seed,
        reference_seed=for_reference,
    )


def plug_in_ece(
    y_true: Any,
    y_prob: Any,
    *,
    target: str | None = None,
    bins: Any = 15,
    weights: Any = None,
    binning: str = "equal-width",
    classes: Sequence[Any] | None = None,
    logits: bool = False,
) -> float:
    r"""Compute the usual ECE, :math:`\sum_b \frac{n_b}{N} |\bar z_b - \bar c_b|`: one number, biased upwards.

    Parameters
    ----------
    y_true, y_prob, target, bins, weights, binning, classes, logits
        As for `evaluate`.

    Returns
    -------
    float
        In [0, 1]. For ``target="classwise"`` the unweighted mean over classes.

    Raises
    ------
    ValueError, TypeError
        As for `evaluate`.

    Examples
    --------
    Two bins: one with gap 1/2 - 0.3, one with gap 1 - 0.8, half of the rows each.

    >>> plug_in_ece([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
    0.2
    """
    known = {"classes": classes, "logits": logits, "weights": weights}
    if target == "classwise":
        counts = _count_classes(ClassRows.read(y_true, y_prob, **known), bins, binning)
    else:
        counts = (_count(read_rows(y_true, y_prob, target=target, **known), bins, binning),)
    return float(np.mean([ece(observed_bins(c)).values[0] for c in counts]))


def _count(rows: Columns | TopLabels | Predictions, bins: Any, binning: str) -> BinnedCounts:
    if isinstance(rows, TopLabels):
        rows = rows.columns()
    if rows.weight is not None:  # else values are looked at while they are counted
        rows = (rows.checked() if isinstance(rows, Columns) else rows).scale_free()
    return BinnedCounts.from_predictions(rows, bins=bins, binning=binning)


def _count_classes(rows: ClassRows, bins: Any, binning: str) -> tuple[BinnedCounts, ...]:
    rows = rows.scale_free()
    if binning == "equal-width":
        return BinnedCounts.of_classes(rows, bins=bins)
    return tuple(_count(problem, bins, binning) for problem in Predictions.of_classes(rows))


def evaluate_groups(
    labels: Sequence[Any],
    counts: Iterable[BinnedCounts],
    overall: BinnedCounts,
    *,
    name: str,
    rng: Any = None,
    draws: int = 4000,
    **known: Any,
) -> GroupedEvaluation:
    """Posteriors of groups that have no row in common, from their counts.

    Parameters
    ----------
    labels : sequence of hashable
        The groups.
    counts : iterable of BinnedCounts
        Theirs, in the same order and on the same bins; nothing is counted before it is known that draws fit.
    overall : BinnedCounts
        Counts of all rows.
    name : str
        What the groups are groups of.
    rng, draws, **known
        As for `evaluate_counts`.

    Returns
    -------
    GroupedEvaluation
        One evaluation a group, beside that of all rows.

    Raises
    ------
    ValueError
        If so many groups would not fit into memory.
    """
    drawn = len(labels) * len(overall.bins) * _checks.whole_number("draws", draws, at_least=2)
    if drawn > MOST_DRAWN:
        raise ValueError(
            f"there are {len(labels)} groups of {overall.n_rows} rows, by {name}; {draws} draws of {len(overall.bins)} "
            f"bins for each are {drawn:.3g}, and at most {MOST_DRAWN:g} fit into memory. A number is cut into ranges "
            "before it makes groups; if these are meant, ask for fewer draws."
        )
    rng = _checks.generator(rng)
    known = {"draws": draws, **known}
    # first, and with the same generator: what all rows give without groups
    whole = evaluate_counts(overall, rng=rng, **known)
    order, *seeds = (int(s) for s in rng.integers(2**63, size=len(labels) + 1))
    return GroupedEvaluation(
        groups={
            label: evaluate_counts(of_label, rng=seed, **known)
            for label, of_label, seed in zip(labels, counts, seeds, strict=True)
        },
        overall=whole,
        seeds=dict(zip(labels, seeds, strict=True)),
        name=name,
        order_seed=order,
    )


def _evaluate_groups(
    predictions: Predictions, by: Groups, *, bins: Any, binning: str, **known: Any
) -> GroupedEvaluation:
    edges = make_bins(bins, binning=binning, confidence=predictions.confidence)
    overall = _count(predictions, edges, "equal-width")
    counts = (_count(rows, edges, "equal-width") for rows in by.split(predictions))
    return evaluate_groups(by.labels, counts, overall, name=by.name, **known)


def _evaluate_classes(
    rows: ClassRows, classes: tuple[Any, ...], *, bins: Any, binning: str, **known: Any
) -> ClasswiseEvaluation:
    counts = _count_classes(rows, bins, binning)
    return evaluate_class_counts(counts, error_correlation(rows, counts), classes, **known)


def evaluate_class_counts(
    counts: tuple[BinnedCounts, ...], correlations: tuple[Any, Any], classes: tuple[Any, ...], *, rng: Any, **known: Any
) -> ClasswiseEvaluation:
    """Posterior of the mean ECE of all classes, from their counts and from how their errors vary together.

    Parameters
    ----------
    counts : tuple of BinnedCounts
        One a class.
    correlations : (ndarray, ndarray)
        What `error_correlation` gives.
    classes : tuple
        Their labels.
    rng, **known
        As for `evaluate_counts`.

    Returns
    -------
    ClasswiseEvaluation
        All classes.
    """
    *seeds, for_errors, for_null = (int(s) for s in _checks.generator(rng).integers(2**63, size=len(counts) + 2))
    # a thousand classes would not fit into memory with all their bins: only the ECE of each is kept
    evaluations = (evaluate_counts(c, rng=seed, **known) for c, seed in zip(counts, seeds, strict=True))
    drawn = [(e.ece.values, e.null.values, _for_exact(e)) for e in evaluations]
    *values, for_exact = zip(*drawn, strict=True)
    by_class, null = (np.stack(columns, axis=1) for columns in values)
    # the classes share their rows, so their errors vary together: the margins stay, their ranks are tied
    of_errors, of_residuals = correlations
    exact = np.zeros(len(by_class), bool)
    if None not in for_exact:
        of_errors = with_common_cause(of_errors)
        exact = jointly_exact(for_exact, len(by_class), rng=np.random.SeedSequence((for_errors, 1)))
    return ClasswiseEvaluation(
        classes=classes,
        counts=counts,
        by_class=Draws(reorder(by_class, of_errors, rng=for_errors), "ece by class"),
        # sizes of two centred Normals with correlation r have correlation close to r^2
        null_by_class=Draws(reorder(null, of_residuals**2, rng=for_null), "ece by class if calibrated"),
        model=known["model"],
        prior=MODELS[known["model"]](counts[0], **_options(known)).prior,
        exact=exact,
        evaluate_class=partial(_evaluate_class, counts, tuple(seeds), known),
        correlations=(of_errors, of_residuals),
        order_seed=for_errors,
    )


def _for_exact(evaluation: Evaluation) -> float | None:
    """Log Bayes factor of exact calibration, if that is among the sub-models."""
    posterior = evaluation.posterior
    if isinstance(posterior, HasHypotheses) and EXACT in posterior.probabilities:
        return posterior.log_bayes_factor
    return None


def _evaluate_class(
    counts: tuple[BinnedCounts, ...], seeds: tuple[int, ...], known: dict[str, Any], k: int
) -> Evaluation:
    """One class in full; the same draws of its ECE in another order."""
    return evaluate_counts(counts[k], rng=seeds[k], **known)


def _options(known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name not in ("model", "draws")}
