"""The area under the ROC curve (AUC) of one classifier, and of several classifiers on the same rows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import _of_bins
from bayescal.estimands.registry import estimand
from bayescal.posterior.joint import nearest_correlation
from bayescal.stats.clusters import clusters_of
from bayescal.stats.contract import Counts, Paired, Pairs
from bayescal.stats.ranks import Ranks, correlation_of_areas

Uncertainty = Callable[[Ranks], tuple[float, float]]  #: Variance of an area, and its largest error because of the grid.


def ranks_of(counts: Counts) -> Ranks:
    """Return the ranks of the rows (without a finer grid, those of the bins); refuse rows with one outcome."""
    ranks = grid_of(counts)
    if not ranks.both_outcomes:
        zero, one = ranks.total > 0
        missing = "0" if one else "1" if zero else "0 or 1"
        raise ValueError(
            "the AUC needs rows of positive weight with outcome 0 and with outcome 1; these counts have none with "
            f"outcome {missing}."
        )
    return ranks


def grid_of(counts: Counts) -> Ranks:
    """Return the ranks of the rows; without a finer grid, those of the bins."""
    return _grid_of_bins(counts) if counts.ranks is None else counts.ranks


def _grid_of_bins(counts: Counts) -> Ranks:
    share, accuracy, rows = counts.share, np.nan_to_num(counts.accuracy), counts.effective_n
    squares = np.divide(share**2, rows, out=np.zeros(len(rows)), where=rows > 0)
    return Ranks.of_bins(counts.bins, np.stack([share * (1 - accuracy), share * accuracy]), squares)


@public
def auc_grid_error(counts: Counts) -> float:
    r"""Return the largest possible error of the AUC of these counts because rows of one cell count as ties.

    Parameters
    ----------
    counts : BinnedCounts
        The counts.

    Returns
    -------
    float
        :math:`\sum_g n_{1g} n_{0g} / (2 n_1 n_0)` over the cells g of the grid. It is 0 for up to 131 072 rows counted
        by `evaluate` or `compare`, whose distinct confidences are the cells. With more rows, the cells have relative
        widths of 1/1024. For other counts, the bins are the cells, or those before `BinnedCounts.coarsen`.

    Raises
    ------
    ValueError
        If the rows have only one outcome.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.7, 0.9]
    >>> bc.estimands.auc_grid_error(bc.BinnedCounts.from_arrays(y, p, bins=2))
    0.222...
    >>> bc.estimands.auc_grid_error(bc.evaluate(y, p, bins=2, rng=1).counts)
    0.0
    """
    return ranks_of(counts).grid_error


def delong_variance(ranks: Ranks) -> float:
    """Estimate the variance of the observed AUC over data sets, after DeLong et al. (1988), equation 6.

    It is the sum over both outcomes of the variance of the placements (divisor n - 1), divided by n; n is the effective
    number of rows of the outcome. NaN if one outcome has a single row.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(ranks.rows > 1, ranks.sampling_spread / (ranks.rows - 1), np.nan)
    return float(parts.sum())


def beta_parameters(ranks: Ranks) -> tuple[float, float]:
    """Return the two parameters of the Beta posterior of the AUC; see `auc`."""
    area, rows = ranks.auc, ranks.rows
    fewest = 1 / (1 / rows).sum()
    centre = (area * fewest + 0.5) / (fewest + 1)
    trials = centre * (1 - centre) / (_variance(ranks) * (ranks.design_effect or 1.0))
    return area * trials + 0.5, (1 - area) * trials + 0.5


def _variance(ranks: Ranks) -> float:
    """Compute the variance of the AUC, with one row per outcome whose placement is uniform."""
    of_uniform = 1 / 3 - ranks.auc + ranks.auc**2
    return float(((ranks.rows * ranks.sampling_spread + of_uniform) / ranks.rows**2).sum())


def require_clusters_in_ranks(counts: Counts, held: str, what: str) -> None:
    """Refuse sums of counts of rows in clusters, whose ranks do not hold the attribute that the quantity needs."""
    if clusters_of(counts) is not None and getattr(counts.ranks, held, None) is None:
        raise ValueError(
            f"{what} of rows in clusters needs the rows: sums of counts do not show how much the ranks of a cluster "
            "vary together. Call `evaluate(..., cluster=)` with all rows."
        )


def correlation_of_aucs(counts: Sequence[Counts], pairs: Pairs) -> Floats:
    """Estimate the correlation between the AUCs of several classifiers on the same rows, from joint counts of pairs.

    The influence of a row on the AUC is the difference between its placement and the AUC, divided by the share of rows
    with its outcome. The correlation of the influences over rows is the correlation of two AUCs in DeLong et al.
    (1988), see `auc`, with covariances of divisor n. `compare` computes it from the rows. From joint counts of the
    classifiers i < j alone, placements are those of the bins, and what the bins do not show is taken as uncorrelated.
    Two names of one classifier have correlation 1; the matrix is positive semi-definite, with a unit diagonal.
    """
    ranks = [ranks_of(each) for each in counts]
    return correlations(ranks, pairs, "influences", lambda of: (_variance(of), of.grid_error))


def correlations(ranks: Sequence[Ranks], pairs: Pairs, influences: str, uncertainty: Uncertainty) -> Floats:
    """Return the correlation of areas from the rows, or approximately from joint cells, as of `correlation_of_aucs`."""
    result = np.eye(len(ranks))
    for (i, j), pair in pairs.items():
        exact = pair.area_correlation if influences == "influences" else pair.risk_correlation
        if exact is None:
            exact = _from_bins(ranks[i], ranks[j], pair, influences, uncertainty)
        result[i, j] = result[j, i] = exact
    return nearest_correlation(result)


def _from_bins(first: Ranks, second: Ranks, pair: Paired, influences: str, uncertainty: Uncertainty) -> float:
    """Approximate the correlation from joint cells."""
    if same_classifier(pair):
        return 1.0
    sides, shown, cells = [], 1.0, pair.cells.T
    for ranks, counts, (at, outcome) in ((first, pair.first, cells[:2]), (second, pair.second, cells[2:])):
        of_bins = _grid_of_bins(counts)
        sides.append((of_bins, outcome, np.searchsorted(of_bins.position, at)))
        # share of the variance of the AUC that the placements of the bins explain
        whole, (sampling, error) = ranks.influence_variance(influences), uncertainty(ranks)
        shown *= min(of_bins.influence_variance(influences) / whole, 1.0) if whole > 0 else 1.0
        shown *= sampling / (sampling + error**2 / 3)  # the variance of the uniform grid error
    return float(np.sqrt(shown)) * correlation_of_areas(sides, np.sqrt(pair.weight_sq), influences=influences)


def same_classifier(pair: Paired) -> bool:
    """Whether both classifiers have the same bins, outcomes and losses in all rows."""
    difference = pair.loss_difference
    same = np.array_equal(pair.cells[:, :2], pair.cells[:, 2:])
    return same and difference is not None and not difference.squares


def _observed(counts: Counts) -> float:
    ranks = grid_of(counts)
    return ranks.auc if ranks.both_outcomes else float("nan")


@estimand(
    "AUC",
    title="Area Under the ROC Curve",
    better="larger",
    same_event=True,
    needs=frozenset({"outcomes"}),
    reported=False,
    plug_in=_observed,
    correlation=correlation_of_aucs,
    citation="DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44; Hanley and McNeil (1982), Radiology 143",
    formula=r"P(c_i > c_j \mid z_i = 1, z_j = 0) + P(c_i = c_j \mid z_i = 1, z_j = 0) / 2",
    synonyms=("ROC AUC", "AUROC", "concordance", "c statistic", "Mann-Whitney probability"),
)
@_of_bins
@public
def auc(bin_draws: BinDraws, counts: Counts, *, rng: Any = None) -> Draws:
    r"""Draw the area under the ROC curve: how well the confidences separate the outcomes, whatever their calibration.

    It is the probability that a row with outcome 1 has a larger confidence than a row with outcome 0; ties count half
    [1]_. Usually it is asked of an evaluation, as in ``evaluate(y, p).auc``.

    Parameters
    ----------
    bin_draws : BinDraws
        Draws of the bins, which determine the number of draws only.
    counts : BinnedCounts
        The counts; their `ranks` are used, or the bins if there are none.

    Returns
    -------
    Draws
        In [0, 1]; larger is better.

    Raises
    ------
    ValueError
        If the rows have only one outcome.
    TypeError
        If `bin_draws` are not draws of the bins.

    Notes
    -----
    The posterior is a Beta distribution around the observed AUC A,

    .. math:: \mathrm{Beta}\left(A T + \tfrac12,\; (1 - A) T + \tfrac12\right), \quad T = \frac{A' (1 - A')}{V},
        \quad V = \sum_{z=0}^{1} \frac{n_z S_z + \int_0^1 (u - A)^2 \, du}{n_z^2}.

    The placement of a row is the share of rows with the other outcome that are ranked correctly relative to it.
    :math:`S_z` is the variance of the placements of the :math:`n_z` rows with outcome z, so that without the integral V
    is the variance of DeLong et al. [2]_ with divisor n. The integral is the contribution of one additional row with a
    uniform placement: with few rows or an AUC near 1, incorrectly ranked rows may not have been observed yet. T is
    the number of binomial trials whose proportion has the variance V, and 1/2 is the Jeffreys prior. :math:`A' = (A h +
    1/2) / (h + 1)`, with :math:`h = n_0 n_1 / (n_0 + n_1)`, lies between 0 and 1. With weights, :math:`n_z` are the
    effective numbers of rows (Kish), and :math:`S_z` is the larger one of the variances of the placements weighted by
    w and by w\ :sup:`2`: the latter divided by :math:`n_z` is the variance of their weighted mean, also if weights
    depend on scores. For rows in clusters, V is multiplied by `Ranks.design_effect` [3]_.

    Rows in the same cell of the grid of `counts` count as ties. If the grid has an error (see `auc_grid_error`), a
    uniform number between minus and plus this error is added to each draw, and the sum is clipped to [0, 1].

    The draws are independent of the draws of the bins.

    References
    ----------
    .. [1] J. A. Hanley and B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
       characteristic (ROC) curve", Radiology 143, 29-36.
    .. [2] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson (1988), "Comparing the areas under two or more correlated
       receiver operating characteristic curves: a nonparametric approach", Biometrics 44, 837-845.
    .. [3] N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53, 567-578.

    Examples
    --------
    >>> p = rng.random(2000)
    >>> evaluation = bc.evaluate(rng.random(2000) < p, p, rng=1)
    >>> evaluation.plug_in_of("auc")
    0.82...
    >>> evaluation.auc.interval(0.95)
    (0.8..., 0.8...)
    """
    ranks = ranks_of(counts)
    require_clusters_in_ranks(counts, "design_effect", "the AUC")
    generator = _checks.generator(rng)
    areas, name, error = generator.beta(*beta_parameters(ranks), len(bin_draws)), "auc", ranks.grid_error
    if error > 0:
        areas += generator.uniform(-error, error, len(bin_draws))
        name += f" (to within {error:.2g}, the error of the grid of its counts)"
    return Draws(np.clip(areas, 0, 1), name)
