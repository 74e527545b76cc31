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

    Differences are those in the table of the comparison: of two classifiers the first given minus the second; of more,
    the best minus each of the others, whose names the rows have. Absolute values are compared if the value nearest zero
    is the best.
    """

    classifiers: Forest  # the best (smallest expected rank) first
    ranks: Floats  # probability that a classifier (row, in that order) has a rank (column)
    differences: Forest
    pairs: tuple[tuple[str, str], ...]  # the names of each difference: the first minus the second
    decided: Floats  # shape (n_differences, 3): P(first is better), P(equal within the rope), P(second is better)
    density: Density | None  # of the difference of two classifiers; None for more
    ropes: Floats  # for two classifiers, half-widths of the region of practical equivalence; empty for more
    p_equal: Floats  # probability that the two are equal within each of `ropes`
    rope: float  # half-width of the region of practical equivalence


def comparison_shapes(comparison: Compared, prob: float = 0.95, *, estimand: EstimandLike = "ece") -> ComparisonShapes:
    """Compute what `plot_comparison` draws; TypeError if `comparison` is not a comparison.

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
