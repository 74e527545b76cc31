"""Regret: the loss of decisions at a threshold because scores are miscalibrated, and the largest one."""

from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import _of_bins
from bayescal.estimands.estimand import MOST_BINS
from bayescal.estimands.registry import estimand
from bayescal.posterior.contract import HasHypotheses, Pooled
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.contract import Counts
from bayescal.stats.sums import ratio

FEWEST_ROWS_PER_SIDE = 5  #: Fewest (effective) rows on each side of a threshold whose regret is stated by itself.


def regret_draws(bins: BinDraws, threshold: float, first: int) -> Floats:
    r"""Expected loss of treating the bins from number `first` on, minus the loss of the best decision in each bin.

    The loss of a false positive is t, that of a false negative 1 - t. The regret of a draw is
    :math:`\sum_b m_b |\theta_b - t| 1\{\theta_b \text{ and bin } b \text{ lie on different sides of } t\}`.
    """
    treated = np.arange(bins.accuracy.shape[1]) >= first
    wrong = treated != (bins.accuracy >= threshold)
    return (bins.mass * np.abs(bins.accuracy - threshold) * wrong).sum(axis=1)


def regret_of(bins: BinDraws, counts: Counts, posterior: object, threshold: float) -> Draws:
    """Check that the regret of a threshold can be estimated, and draw it; see `Evaluation.regret`."""
    t = _checks.fraction("threshold", threshold)
    require_shrinkage(posterior)
    _require_left(counts)
    edges = counts.bins.edges
    first = int(np.argmin(np.abs(edges[1:-1] - t))) + 1 if len(edges) > 2 else 0
    if not 0 < first < len(edges) - 1 or abs(edges[first] - t) > 1e-9:
        near = f" The nearest edge is {edges[first]:.6g}." if first else ""
        raise ValueError(
            f"`threshold` must be an inner edge of the bins, so that no bin has rows on both sides; {t:g} is none."
            f"{near} "
            f"Evaluate with other bins, as in `bins=[0, ..., {t:g}, ..., 1]`, or `bins=20` for multiples of 0.05."
        )
    below, above = rows_per_side(counts)[:, first - 1]
    if min(below, above) < FEWEST_ROWS_PER_SIDE:
        rows = "effective rows" if counts.weighted else "rows"
        raise ValueError(
            f"`threshold` must have at least {FEWEST_ROWS_PER_SIDE} {rows} on each side; {t:g} has {below:.3g} below "
            f"and {above:.3g} from it on. "
            "With fewer, intervals of the regret do not contain the true value as often as they state."
        )
    return Draws(regret_draws(bins, t, first), f"regret at {t:g}", bins.fingerprint)


def require_shrinkage(posterior: object) -> None:
    """Refuse posteriors under which the regret is overstated."""
    if isinstance(posterior, Pooled):
        raise ValueError("the regret needs groups that are not pooled, `pooling=None`: it was not verified for others.")
    if not isinstance(posterior, HasHypotheses):
        raise ValueError(
            "the regret needs `model='shrinkage'`: other models, such as the Dirichlet model, overstate it, and their "
            "intervals often miss the true value."
        )


def _require_left(counts: Counts) -> None:
    refuse_clusters(counts, "counts", "the regret, which is at most the ECE,")
    if counts.bins.closed != "left":
        raise ValueError("the regret needs bins that are closed on the left, because rows are treated at t if c >= t.")


def rows_per_side(counts: Counts) -> Floats:
    """Kish's effective number of rows below each inner edge of the bins, and from it on, shape (2, n_thresholds)."""
    of_bins = np.stack([counts.share, ratio(counts.share**2, counts.effective_n, 0.0)])
    below, above = np.cumsum(of_bins, axis=1), np.cumsum(of_bins[:, ::-1], axis=1)[:, ::-1]
    weight, squares = np.stack([below[:, :-1], above[:, 1:]], axis=1)
    return np.round(ratio(weight**2, squares, 0.0), 9)  # 5 rows of one weight are 5, up to rounding


def thresholds_of(counts: Counts) -> Floats:
    """Return the inner edges of the bins, at least one, shape (n_thresholds,)."""
    _require_left(counts)
    if not 2 <= len(counts.bins) <= MOST_BINS:
        raise ValueError(
            f"the largest regret needs 2 to {MOST_BINS} bins, whose inner edges are the thresholds; there are "
            f"{len(counts.bins)}. Evaluate with {'more' if len(counts.bins) < 2 else 'fewer'} bins, as in `bins=20`."
        )
    return np.asarray(counts.bins.edges[1:-1])


def regret_curve(bins: BinDraws, thresholds: Floats) -> Floats:
    """Regret at the inner edges of the bins, shape (n_draws, n_thresholds)."""
    return np.stack([regret_draws(bins, t, i + 1) for i, t in enumerate(thresholds.tolist())], axis=1)


def observed_curve(counts: Counts) -> Floats:
    """Regret at the inner edges, of the observed shares and accuracies of the bins; NaN without rows."""
    used = counts.occupied & np.isfinite(counts.accuracy)
    if not used.any():
        return np.full(len(counts.bins) - 1, np.nan)
    mass = np.where(used, counts.share, 0.0)[None]
    accuracy = np.where(used, counts.accuracy, 0.0)[None]
    return regret_curve(BinDraws(mass, accuracy, accuracy, used, mass), thresholds_of(counts))[0]


def _observed(counts: Counts) -> float:
    return float(observed_curve(counts).max())


@estimand(
    "largest regret",
    needs=frozenset({"thresholds"}),
    of_calibration=True,
    reported=False,
    plug_in=_observed,
    citation="Vickers and Elkin (2006), Medical Decision Making 26, 565-574, for the loss at a threshold",
    formula=r"\max_t \sum_b m_b\,|\theta_b - t|\,1\{\text{bin } b \text{ is on the wrong side of } t\}",
    synonyms=("worst threshold", "worst regret"),
    note="The largest regret is that of the inner edges of the bins; between them it may be larger.",
)
@_of_bins
@public
def largest_regret(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the largest regret over all thresholds that are inner edges of the bins.

    The regret of a threshold is the expected loss of decisions because scores are miscalibrated; see
    `Evaluation.regret`. `Evaluation.worst_regret` also says at which threshold it is largest.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of all bins, from the shrinkage model.
    counts : BinnedCounts
        The counts; the inner edges of their bins are the thresholds.

    Returns
    -------
    Draws
        In [0, 1], in units of the loss per row; at most the ECE of the same draw.

    Raises
    ------
    ValueError
        If there are fewer than 2 or more than 200 bins, they are not closed on the left, or rows are in clusters.

    Notes
    -----
    Thresholds with few or no rows on a side count: if all rows are on the wrong side of them, the regret is large.

    Half of the draws are the largest regret of the draw. It is too large on average, because it is largest where noise
    is. The other half are the regret of the draw at the threshold with the largest mean, which is at most the largest
    one. Their interval contains the truth more often than that of either half.

    Examples
    --------
    >>> rows = simulate(2000, population="flat", curve="shift", strength=0.5, rng=1)
    >>> ev = bc.evaluate(rows.outcome, rows.confidence, bins=20, rng=1)
    >>> round(ev.largest_regret.mean(), 4), round(ev.ece.mean(), 4)
    (0.0..., 0.08...)
    """
    curve = regret_curve(bin_draws, thresholds_of(counts))
    of_draw = _checks.generator(rng).permutation(len(curve)) < len(curve) // 2
    return Draws(np.where(of_draw, curve.max(axis=1), curve[:, curve.mean(axis=0).argmax()]), "largest_regret")
