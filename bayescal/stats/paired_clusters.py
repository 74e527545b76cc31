"""PairedClusters: sums over clusters for two classifiers together, which give the correlation of their errors."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.cluster_cells import ClusterCells
from bayescal.stats.clusters import ClusterSums
from bayescal.stats.frozen import Sums, read_only

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairedClusters(Sums):
    r"""Sums over clusters, by bin b of the first and bin c of the second classifier.

    As for `ClusterSums`, sums of two batches can be added if no cluster has rows in both.

    Parameters
    ----------
    rr, rn, nr, nn : ndarray, shape (n_first, n_second)
        Sums over clusters j of :math:`r_{jb} s_{jc}`, :math:`r_{jb} m_{jc}`, :math:`n_{jb} s_{jc}` and :math:`n_{jb}
        m_{jc}`, with sums of residuals r, s and of weights n, m of the first and the second classifier.
    losses, log_losses : ndarray, shape ()
        Sums over clusters of the product of the sums of squared errors, and of log losses, of both classifiers.
    """

    rr: Floats
    rn: Floats
    nr: Floats
    nn: Floats
    losses: Floats
    log_losses: Floats

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, read_only(getattr(self, field.name), np.float64))

    @classmethod
    def from_cells(cls, first: ClusterCells, second: ClusterCells) -> "PairedClusters":
        """Sum the cells of two classifiers on the same rows."""
        _, n, r, (_, loss, log_loss) = first.matrices()
        _, m, s, (_, other_loss, other_log_loss) = second.matrices()
        products = ((r.T @ s).toarray(), (r.T @ m).toarray(), (n.T @ s).toarray(), (n.T @ m).toarray())
        return cls(*products, np.asarray(loss @ other_loss), np.asarray(log_loss @ other_log_loss))

    def _plus(self, other: "PairedClusters") -> "PairedClusters":
        return PairedClusters(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def swapped(self) -> "PairedClusters":
        """Return the sums with the two classifiers exchanged."""
        return PairedClusters(self.rr.T, self.nr.T, self.rn.T, self.nn.T, self.losses, self.log_losses)

    def product(self, of_gap: tuple[Floats, Floats], of_mass: tuple[Floats, Floats]) -> float:
        """Sum over clusters of the product of two linear functions of residuals and weights by bin.

        Parameters
        ----------
        of_gap, of_mass : pair of ndarray, shape (n_first,) and (n_second,)
            Coefficients of the residuals and of the weights, for the first and for the second classifier.
        """
        (a, b), (c, d) = of_gap, of_mass
        return float(a @ self.rr @ b + a @ self.rn @ d + c @ self.nr @ b + c @ self.nn @ d)


def square(clusters: ClusterSums, of_gap: Floats, of_mass: Floats) -> float:
    """Sum over clusters of the square of a linear function of residuals and weights by bin."""
    mixed = 2 * float(of_gap @ clusters.rn @ of_mass)
    return float(of_gap @ clusters.rr @ of_gap + of_mass @ clusters.nn @ of_mass) + mixed


def covariance_of_means(
    first: ClusterSums, second: ClusterSums, means: tuple[float, float], member: str, product: float
) -> float:
    """Covariance of two mean losses over data sets; see `ClusterSums.variance_of_mean`.

    Parameters
    ----------
    first, second : ClusterSums
        Sums of each classifier on the same rows.
    means : (float, float)
        The mean loss of each.
    member : {"losses", "log_losses"}
        The kind of losses.
    product : float
        The sum over clusters of the product of both losses.
    """
    weight, number = float(first.weight.sum()), first.effective_number
    one, other = means
    mixed = one * float(getattr(second, member)[1]) + other * float(getattr(first, member)[1])
    return (product - mixed + one * other * float(first.nn.sum())) / weight**2 * number / (number - 1)
