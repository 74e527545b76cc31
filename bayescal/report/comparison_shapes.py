"""Content of the plot of a comparison, as a record."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import Draws
from bayescal.estimands.registry import EstimandLike
from bayescal.report.density import Density, density_of
from bayescal.report.forest import (
    Forest,
    forest,
)
from bayescal.results.change import Change
from bayescal.results.compared import Compared
from bayescal.results.comparison import Comparison
from bayescal.results.score_comparison import ScoreComparison

Floats = NDArray[np.float64]
#: Number of points of the curve of P(equal).
CURVE = 201


@dataclass(frozen=True, eq=False)
class ComparisonShapes:
    """Content of a comparison plot.

    Parameters
    ----------
    classifiers : Forest
        Every classifier, the best (smallest expected rank) first.
    ranks : ndarray, shape (n_classifiers, n_classifiers)
        Probability that a classifier (row, in that order) has a rank (column).
    differences : Forest
        For two classifiers, the first given minus the second; for more, each classifier minus the best, in that order.
        If larger is better, the sign is reversed, so that negative differences are better. Absolute values are compared
        if the value nearest zero is the best.
    decided : ndarray, shape (n_differences, 3)
        Probabilities that the classifier is better, that they are equal within the rope, and that the other is better.
    density : Density or None
        The difference of two classifiers; None for more.
    ropes, p_equal : ndarray
        For two classifiers, half-widths of the region of practical equivalence and the probability that the two are
        equal; empty for more.
    rope : float
        Half-width of the region of practical equivalence.
    """

    classifiers: Forest
    ranks: Floats
    differences: Forest
    decided: Floats
    density: Density | None
    ropes: Floats
    p_equal: Floats
    rope: float


def comparison_shapes(
    comparison: Comparison | Change, prob: float = 0.95, *, estimand: EstimandLike = "ece"
) -> ComparisonShapes:
    """Compute what `plot_comparison` draws.

    Parameters
    ----------
    comparison : Comparison or Change
        From `compare`, `compare_independent`, `GroupedEvaluation.compare` or `CalibrationMonitor.change`.
    prob : float, default 0.95
        Probability of the equal-tailed intervals, in (0, 1).
    estimand : str or callable, default "ece"
        What is compared.

    Returns
    -------
    ComparisonShapes
        Forest plots, probabilities and, for two classifiers, the density of the difference.

    Raises
    ------
    TypeError
        If `comparison` is something else.
    ValueError
        If `prob` is not strictly between 0 and 1.

    Examples
    --------
    >>> import bayescal as bc
    >>> comparison = bc.compare([0, 1, 1, 0], {"a": [0.2, 0.4, 0.7, 0.9], "b": [0.2, 0.4, 0.7, 0.9]}, rng=1)
    >>> shapes = comparison_shapes(comparison)
    >>> shapes.decided, shapes.density.stem_x
    (array([[0., 1., 0.]]), array([0.]))
    """
    if not isinstance(comparison, Compared):
        instead = "make one with `bayescal.compare(y_true, {'A': ..., 'B': ...})`"
        if isinstance(comparison, ScoreComparison):
            instead = "the page that `to_html` writes shows scores of all classes"
        raise TypeError(f"`comparison` must be a Comparison, not {type(comparison).__name__}; {instead}.")
    drawn, badness = comparison.draws(estimand).values, comparison.badness(estimand)
    names = comparison.names
    expected = comparison.expected_ranks(estimand)
    best = sorted(range(len(names)), key=lambda i: expected[names[i]])
    pairs = [(0, 1)] if len(names) == 2 else [(i, best[0]) for i in best[1:]]
    gaps = np.stack([badness[:, i] - badness[:, j] for i, j in pairs], axis=1)
    decided = [comparison.decide(names[i], names[j], estimand=estimand) for i, j in pairs]
    two = len(names) == 2
    reach = max(float(np.quantile(np.abs(gaps), 0.995)), 2.5 * comparison.rope) or 1e-6
    ropes = np.linspace(0, reach, CURVE) if two else np.empty(0)
    return ComparisonShapes(
        classifiers=forest([names[i] for i in best], drawn[:, best], prob),
        ranks=comparison.rank_probabilities(estimand)[best],
        differences=forest([names[i] for i, _ in pairs], gaps, prob),
        decided=np.array([[d["p_left"], d["p_rope"], d["p_right"]] for d in decided]),
        density=density_of(Draws(gaps[:, 0]), prob) if two else None,
        ropes=ropes,
        p_equal=comparison.rope_curve(ropes, names[0], names[1], estimand) if two else ropes,
        rope=comparison.rope,
    )
