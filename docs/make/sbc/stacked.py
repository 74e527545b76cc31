"""Counts of many data sets at once, and draws of bins together with the parameters behind them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.draws import BinDraws
from bayescal.stats.binned import BinnedCounts

Floats = NDArray[np.float64]


class StackedCounts(BinnedCounts):
    """Counts of many data sets on the same bins, over which the computations of a posterior broadcast.

    The arrays are those of `BinnedCounts` with an axis of data sets before that of the bins: ``cells``, ``weight`` and
    ``deviation`` have shape (2, n_sets, n_bins), the others (n_sets, n_bins).
    """

    @property
    def n_rows(self) -> Any:
        """Number of rows of each data set, shape (n_sets, 1)."""
        return self.n.sum(axis=-1, keepdims=True)

    @property
    def share(self) -> Floats:
        """Share of each data set's (weighted) rows in each bin, shape (n_sets, n_bins)."""
        weight = self.weight.sum(axis=0)
        total = weight.sum(axis=-1, keepdims=True)
        return weight / np.where(total > 0, total, 1.0)

    @property
    def effective_rows(self) -> Any:
        """Kish's effective number of all rows of each data set, shape (n_sets, 1)."""
        total = self.weight.sum(axis=(0, -1))[:, None]
        squares = self.weight_sq.sum(axis=-1, keepdims=True)
        return np.divide(total**2, squares, out=np.zeros_like(squares), where=squares > 0)

    def __len__(self) -> int:
        return self.cells.shape[1]

    def __iter__(self) -> Iterator[BinnedCounts]:
        for i in range(len(self)):
            yield BinnedCounts(
                self.bins,
                self.cells[:, i],
                self.weight[:, i],
                self.deviation[:, i],
                self.deviation_sq[i],
                self.weight_sq[i],
                self.target,
            )

    def __repr__(self) -> str:
        return f"StackedCounts({self.bins}, {len(self)} data sets)"


@dataclass(frozen=True, eq=False)
class JointDraws(BinDraws):
    """Draws of the bins together with parameters behind them.

    Parameters
    ----------
    mass, accuracy, confidence, occupied, weight
        As for `BinDraws`.
    behind : mapping of str to ndarray
        Parameters by name, of the shape of the masses, with or without the axis of the bins. `sbc` ranks the parameters
        that truths and draws both have.
    """

    behind: Mapping[str, Floats] = field(default_factory=dict)
