"""Classes of one classifier: one posterior per class, joined by the correlation of their errors."""

from functools import partial
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._progress import bar
from bayescal.analyses.one import DEFAULT_MODEL, MODELS, count_rows, evaluate_one
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.draws import Draws
from bayescal.estimands.classwise import jointly_exact
from bayescal.posterior.contract import HasHypotheses
from bayescal.posterior.copula import reorder, with_common_cause
from bayescal.posterior.many import compiled_form_pays
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.dependence import error_correlation


def count_classes(rows: ClassRows, bins: Any, binning: str) -> tuple[BinnedCounts, ...]:
    """Count the rows of every class as a binary problem."""
    rows = rows.scale_free()
    if binning == "equal-width":
        return BinnedCounts.of_classes(rows, bins=bins)
    return tuple(count_rows(problem, bins, binning) for problem in Predictions.of_classes(rows))


def evaluate_classes(rows: ClassRows, *, bins: Any, binning: str, **arguments: Any) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from rows."""
    counts = count_classes(rows, bins, binning)
    return evaluate_class_counts(counts, error_correlation(rows, counts), rows.classes, **arguments)


def evaluate_class_counts(
    counts: tuple[BinnedCounts, ...],
    correlations: tuple[Any, Any],
    classes: tuple[Any, ...],
    *,
    model: str = DEFAULT_MODEL,
    rng: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> ClasswiseEvaluation:
    """Evaluate all classes and the mean of their ECEs, from counts and correlations of errors.

    Parameters
    ----------
    counts : tuple of BinnedCounts
        Counts of each class.
    correlations : (ndarray, ndarray)
        Correlation matrices of errors and of residuals, from `error_correlation`.
    classes : tuple
        Labels of the classes.
    model, rng, progress, **options
        As for `evaluate_counts`.

    Returns
    -------
    ClasswiseEvaluation
        All classes.
    """
    arguments = {"model": model, "compiled": compiled_form_pays(len(counts)), **options}
    *seeds, for_errors, for_null = (int(s) for s in _checks.generator(rng).integers(2**63, size=len(counts) + 2))
    # keep only the ECE of each class: all bins of a thousand classes would not fit into memory
    drawn = []
    with bar(len(counts), "Evaluating classes", progress) as advance:
        for of_class, seed in zip(counts, seeds, strict=True):
            evaluation = evaluate_one(of_class, rng=seed, **arguments)
            drawn.append((evaluation.ece.values, evaluation.null.values, _for_exact(evaluation)))
            advance()
    *values, for_exact = zip(*drawn, strict=True)
    by_class, null = (np.stack(columns, axis=1) for columns in values)
    # the classes share their rows, so their errors are correlated: reorder the draws, keep each margin
    of_errors, of_residuals = correlations
    exact = np.zeros(len(by_class), bool)
    if None not in for_exact:
        of_errors = with_common_cause(of_errors)
        exact = jointly_exact(for_exact, len(by_class), rng=np.random.SeedSequence((for_errors, 1)))
    return ClasswiseEvaluation(
        classes=classes,
        counts=counts,
        by_class=Draws(reorder(by_class, of_errors, rng=for_errors), "ece by class"),
        # the absolute values of two centred Normals with correlation r have a correlation close to r^2
        null_by_class=Draws(reorder(null, of_residuals**2, rng=for_null), "ece by class if calibrated"),
        model=model,
        prior=MODELS[model](counts[0], **{k: v for k, v in options.items() if k != "draws"}).prior,
        exact=exact,
        evaluate_class=partial(_evaluate_class, counts, tuple(seeds), arguments),
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
    counts: tuple[BinnedCounts, ...], seeds: tuple[int, ...], arguments: dict[str, Any], k: int
) -> Evaluation:
    """Evaluate one class with all its bins; its draws of the ECE are the same as in the result, in another order."""
    return evaluate_one(counts[k], rng=seeds[k], **arguments)
