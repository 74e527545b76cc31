"""Regret of a threshold: the loss of decisions because scores are miscalibrated."""

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal.draws import BinDraws, Draws
from bayescal.posterior.contract import HasHypotheses
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.contract import Counts
from bayescal.stats.sums import effective_number

#: Fewest rows on each side of the threshold.
FEWEST_ROWS_PER_SIDE = 5


def regret_draws(bins: BinDraws, threshold: float, first: int) -> Floats:
    r"""Expected loss of treating the bins from number `first` on, minus the loss of the best decision in each bin.

    The loss of a false positive is t, that of a false negative 1 - t. The regret of a draw is
    :math:`\sum_b m_b |\theta_b - t| 1\{\theta_b \text{ and bin } b \text{ lie on different sides of } t\}`.
    """
    treated = np.arange(bins.accuracy.shape[1]) >= first
    wrong = treated != (bins.accuracy >= threshold)
    lost: Floats = (bins.mass * np.abs(bins.accuracy - threshold) * wrong).sum(axis=1)
    return lost


def regret_of(bins: BinDraws, counts: Counts, posterior: object, threshold: float) -> Draws:
    """Check that the regret of a threshold can be estimated, and draw it; see `Evaluation.regret`."""
    t = _checks.fraction("threshold", threshold)
    if not isinstance(posterior, HasHypotheses):
        raise ValueError(
            "the regret needs `model='shrinkage'`: other models, such as the Dirichlet model, overstate it, and their "
            "intervals often miss the true value."
        )
    refuse_clusters(counts, "counts", "the regret")
    edges = counts.bins.edges
    if counts.bins.closed != "left":
        raise ValueError("the regret needs bins that are closed on the left, because rows are treated at t if c >= t.")
    first = int(np.argmin(np.abs(edges[1:-1] - t))) + 1 if len(edges) > 2 else 0
    if not 0 < first < len(edges) - 1 or abs(edges[first] - t) > 1e-9:
        near = f" The nearest edge is {edges[first]:.6g}." if first else ""
        raise ValueError(
            f"`threshold` must be an inner edge of the bins, so that no bin has rows on both sides; {t:g} is none."
            f"{near} "
            f"Evaluate with other bins, as in `bins=[0, ..., {t:g}, ..., 1]`, or `bins=20` for multiples of 0.05."
        )
    below, above = _effective_rows(counts, slice(first)), _effective_rows(counts, slice(first, None))
    if min(below, above) < FEWEST_ROWS_PER_SIDE * (1 - 1e-12):
        rows = "effective rows" if counts.weighted else "rows"
        raise ValueError(
            f"`threshold` must have at least {FEWEST_ROWS_PER_SIDE} {rows} on each side; {t:g} has {below:.3g} below "
            f"and {above:.3g} from it on. "
            "With fewer, intervals of the regret do not contain the true value as often as they state."
        )
    return Draws(regret_draws(bins, t, first), f"regret at {t:g}", bins.fingerprint)


def _effective_rows(counts: Counts, part: slice) -> float:
    """Kish's effective number of rows of a range of bins, (sum w)^2 / sum w^2."""
    weight, rows = counts.share[part], counts.effective_n[part]
    return effective_number(weight, weight[weight > 0] ** 2 / rows[weight > 0])
