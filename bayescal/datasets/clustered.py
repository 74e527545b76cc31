"""Simulated rows in clusters: outcomes that depend on each other, with a known calibration curve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from bayescal import _checks
from bayescal._arrays import Floats, Ints
from bayescal.datasets.simulate import BetaPopulation, Simulated, _population, true_curve


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedClusters(Simulated):
    """Simulated rows in clusters with a known calibration curve.

    Parameters
    ----------
    confidence, outcome, population, curve
        As for `Simulated`.
    cluster : ndarray of int64, shape (n_rows,)
        Number of the cluster of each row, from 0.
    """

    cluster: Ints

    def __repr__(self) -> str:
        return super().__repr__().replace(" rows,", f" rows in {int(self.cluster[-1]) + 1} clusters,")


def uniform_in_clusters(cluster: Ints, share: float, rng: np.random.Generator) -> Floats:
    r"""Draw :math:`\Phi(\sqrt\rho\, a_j + \sqrt{1 - \rho}\, e_i)` with Normal numbers of clusters j and of rows i.

    So the latent Normal variables of two rows of one cluster have the correlation rho = `share`, in [0, 1].
    """
    common, of_row = rng.standard_normal(int(cluster.max()) + 1)[cluster], rng.standard_normal(len(cluster))
    return np.asarray(ndtr(np.sqrt(share) * common + np.sqrt(1 - share) * of_row))


def simulate_clusters(
    sizes: ArrayLike,
    *,
    dependence: float,
    alike: float = 0.0,
    population: Any = "flat",
    curve: Any = "calibrated",
    strength: float | None = None,
    rng: Any = None,
) -> SimulatedClusters:
    r"""Simulate rows in clusters whose outcomes are correlated, although each has the probability of its curve.

    Parameters
    ----------
    sizes : array-like of int, shape (n_clusters,)
        Number of rows of each cluster, at least 1.
    dependence : float
        Correlation of the latent variables of the outcomes of two rows of one cluster, in [0, 1]. The correlation of
        the outcomes themselves is smaller.
    alike : float, default 0.0
        Correlation of the latent variables of the confidences of two rows of one cluster, in [0, 1].
    population : {"top", "flat", "rare"} or BetaPopulation, default "flat"
        Distribution of the confidences.
    curve, strength
        As for `simulate`.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    SimulatedClusters
        The rows as ``.confidence``, ``.outcome`` and ``.cluster``.

    Raises
    ------
    ValueError, TypeError
        For sizes below 1, correlations outside [0, 1], or as for `simulate`.

    Notes
    -----
    A Gaussian copula: with standard Normal numbers :math:`a_j, b_j` of the cluster and :math:`e_i, f_i` of the row, the
    outcome is 1 if :math:`\Phi(\sqrt\rho\, a_j + \sqrt{1 - \rho}\, e_i) < \mathrm{curve}(c_i)`, and :math:`c_i` is the
    quantile of the population at :math:`\Phi(\sqrt\lambda\, b_j + \sqrt{1 - \lambda}\, f_i)`. So
    :math:`\mathrm{E}[z_i \mid c_i] = \mathrm{curve}(c_i)` holds exactly, and the true errors are those of `true_ece`.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.clustered import simulate_clusters
    >>> rows = simulate_clusters([10] * 100, dependence=0.5, rng=1)
    >>> rows
    Simulated(1000 rows in 100 clusters, population flat, curve calibrated)
    >>> bc.evaluate(rows.outcome, rows.confidence, cluster=rows.cluster, rng=1).counts.clusters.icc
    0.2...
    """
    of_cluster = np.asarray(sizes)
    if of_cluster.ndim != 1 or of_cluster.dtype.kind not in "iu" or not len(of_cluster) or of_cluster.min() < 1:
        raise ValueError("`sizes` must be a list of whole numbers >= 1, one per cluster.")
    for name, value in (("dependence", dependence), ("alike", alike)):
        if not 0 <= value <= 1:
            raise ValueError(f"`{name}` must lie in [0, 1], not {value}.")
    population, calibration = _population(population), true_curve(curve, strength)
    if not isinstance(population, BetaPopulation):
        raise TypeError("`population` must be a name or a BetaPopulation, whose quantiles are known.")
    rng = _checks.generator(rng)
    cluster = np.repeat(np.arange(len(of_cluster)), of_cluster)

    confidence = population.quantile(uniform_in_clusters(cluster, alike, rng))
    outcome = (uniform_in_clusters(cluster, dependence, rng) < calibration(confidence)).astype(np.int64)
    return SimulatedClusters(confidence, outcome, population, calibration, cluster)
