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
from bayescal.results.compared import Compared
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
        Differences as in the table of the comparison: of two classifiers the first given minus the second; of more, the
        best minus each of the others, whose names the rows have. Absolute values are compared if the value nearest zero
        is the best.
    pairs : tuple of (str, str)
        The two names of each difference: the first minus the second.
    decided : ndarray, shape (n_differences, 3)
        Probabilities that the first is better, that they are equal within the rope, and that the second is better.
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
    pairs: tuple[tuple[str, str], ...]
    decided: Floats
    density: Density | None
    ropes: Floats
    p_equal: Floats
    rope: float


def comparison_shapes(comparison: Compared, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> ComparisonShapes:
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
    drawn, names = comparison.draws(estimand).values, comparison.names
    best = [names.index(name) for name in comparison._in_order(estimand)]
    first, *others = comparison._listed(estimand)
    pairs = [(first, other) for other in others]
    gaps = np.stack([comparison._compared_difference(*pair, estimand).values for pair in pairs], axis=1)
    decided = [comparison.decide(*pair, estimand=estimand) for pair in pairs]
    two = len(names) == 2
    reach = max(float(np.quantile(np.abs(gaps), 0.995)), 2.5 * comparison.rope) or 1e-6
    ropes = np.linspace(0, reach, CURVE) if two else np.empty(0)
    return ComparisonShapes(
        classifiers=forest([names[i] for i in best], drawn[:, best], prob),
        ranks=comparison.rank_probabilities(estimand)[best],
        differences=forest(others, gaps, prob),
        pairs=tuple(pairs),
        decided=np.array([[d["p_left"], d["p_rope"], d["p_right"]] for d in decided]),
        density=density_of(Draws(gaps[:, 0]), prob) if two else None,
        ropes=ropes,
        p_equal=comparison.rope_curve(ropes, *pairs[0], estimand) if two else ropes,
        rope=comparison.rope,
    )
