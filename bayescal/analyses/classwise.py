"""Classes of one classifier: one posterior per class, joined by the correlation of their errors."""

from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._loops import in_threads
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL, MODELS, evaluate_one
from bayescal.data.clusters import Clusters
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.draws import Draws
from bayescal.estimands.classwise import jointly_exact
from bayescal.posterior.contract import HasHypotheses
from bayescal.posterior.joint import reorder, with_common_cause
from bayescal.posterior.shrinkage.model import compiled_form_pays
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.clusters import ClusterSums

#: With the seed of the order of the classes, this number seeds which draws have all classes exactly calibrated.
EXACT_SEED = 1


def evaluate_classes(
    rows: ClassRows, *, bins: Any, binning: str, clusters: Clusters | None = None, **arguments: Any
) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from rows."""
    rows = rows.scale_free()
    counts = ClasswiseCounts.from_rows(rows, bins=bins, binning=binning)
    if clusters is not None:
        problems = zip(counts.by_class, Predictions.of_classes(rows), strict=True)
        sums = [ClusterSums.from_rows(each, clusters.of_row, of_class.bins) for of_class, each in problems]
        with_sums = zip(counts.by_class, sums, strict=True)
        counts = replace(counts, by_class=tuple(replace(each, clusters=of_class) for each, of_class in with_sums))
    return evaluate_class_counts(counts, **arguments)


def evaluate_class_counts(
    counts: ClasswiseCounts,
    *,
    model: str = DEFAULT_MODEL,
    rng: Any = None,
    draws: int = 4000,
    progress: bool | None = None,
    **options: Any,
) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from counts of at least one row, as `evaluate_counts` does."""
    if not counts.by_class[0].occupied.any():
        raise ValueError("`counts` has no rows of positive weight: there is no class whose frequency is known.")
    size, draws = len(counts), _checks.whole_number("draws", draws, at_least=2)
    arguments = {"model": model, "draws": draws, "compiled": compiled_form_pays(size), **options}
    *seeds, for_errors, for_null = _checks.seeds(rng, size + 2)
    # keep only the ECE of each class: all bins of a thousand classes would not fit into memory
    by_class, null = np.empty((draws, size)), np.empty((draws, size))
    lock = Lock()
    with bar(size, "Evaluating classes", progress) as advance:

        def evaluate_class(k: int) -> float | None:
            evaluation = evaluate_one(counts.by_class[k], rng=seeds[k], **arguments)
            by_class[:, k], null[:, k] = evaluation.ece.values, evaluation.null.values
            with lock:
                advance()
            return _for_exact(evaluation)

        for_exact = list(in_threads(evaluate_class, range(size)))
    # the classes share their rows, so their errors are correlated: reorder the draws, keep each margin
    of_errors, of_residuals = counts.correlations
    exact = np.zeros(draws, bool)
    log_bayes_factors = [each for each in for_exact if each is not None]
    if len(log_bayes_factors) == size:
        of_errors = with_common_cause(of_errors)
        exact = jointly_exact(log_bayes_factors, draws, rng=np.random.SeedSequence((for_errors, EXACT_SEED)))
    by_class = reorder(by_class, of_errors, rng=for_errors)
    # the absolute values of two centred Normals with correlation r have a correlation close to r^2
    null = reorder(null, of_residuals**2, rng=for_null)
    return ClasswiseEvaluation(
        classes=counts.classes,
        counts=counts.by_class,
        by_class=Draws(by_class, "ece by class"),
        null_by_class=Draws(null, "ece by class if calibrated"),
        model=model,
        prior=MODELS[model](counts.by_class[0], **options).prior,
        exact=exact,
        evaluate_class=partial(_evaluate_class, counts.by_class, counts.classes, tuple(seeds), arguments),
        correlations=(of_errors, of_residuals),
        order_seed=for_errors,
    )


def _for_exact(evaluation: Evaluation) -> float | None:
    """Log Bayes factor of exact calibration, or None if it is not among the sub-models."""
    posterior = evaluation.posterior
    if isinstance(posterior, HasHypotheses) and EXACT in posterior.probabilities:
        return posterior.log_bayes_factor
    return None


def _evaluate_class(
    counts: tuple[BinnedCounts, ...],
    classes: tuple[Any, ...],
    seeds: tuple[int, ...],
    arguments: dict[str, Any],
    k: int,
) -> Evaluation:
    """Evaluate one class with all its bins; its draws of the ECE are the same as in the result, in another order."""
    return replace(evaluate_one(counts[k], rng=seeds[k], **arguments), label=f"class {classes[k]}")
