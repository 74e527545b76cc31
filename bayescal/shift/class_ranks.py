"""ClassRanks: rows by class on a fine grid of confidences, from which ranks follow for any weights of the classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.stats.bins import Bins
from bayescal.stats.ranks import Ranks
from bayescal.stats.sums import sums_at

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassRanks:
    """Numbers of rows by class and by cell of a grid of confidences.

    Pairs of a class and a cell without rows are left out, except with two classes.

    Parameters
    ----------
    grid, position
        As for `Ranks`.
    label, cell : ndarray of int, shape (n_pairs,)
        Class and cell of each pair.
    n : ndarray, shape (n_pairs,)
        Rows of each pair.
    """

    grid: Bins | str
    position: Array
    label: Ints
    cell: Ints
    n: Array

    @classmethod
    def of_rows(cls, confidence: Floats, label: Ints, of: int, n_classes: int) -> "ClassRanks":
        """Count validated rows: confidence in class number `of`, and class, shape (n_rows,)."""
        ranks = Ranks.of_rows(confidence, label == of)
        cells = len(ranks.position)
        if n_classes == 2:
            each = np.repeat([1 - of, of], cells)
            return cls(ranks.grid, ranks.position, each, np.tile(np.arange(cells), 2), ranks.weight.ravel())
        pair, n = np.unique(label * cells + ranks.cell_of(confidence), return_counts=True)
        return cls(ranks.grid, ranks.position, *np.divmod(pair, cells), n)

    @classmethod
    def of_bins(cls, bins: Bins, by_class: Ints) -> "ClassRanks":
        """Use bins as the grid, with counts of shape (n_classes, n_bins)."""
        occupied = np.flatnonzero(by_class.any(axis=0))
        label, cell = np.nonzero(by_class[:, occupied])
        return cls(bins, occupied, label, cell, by_class[label, occupied[cell]])

    def weighted(self, weight: Floats, of: int) -> Ranks:
        """Return the ranks of class number `of` against the others.

        Parameters
        ----------
        weight : ndarray, shape (n_classes,)
            Weight of a row of each class.
        of : int
            The class.
        """
        cells, of_pair = len(self.position), weight[self.label]
        at = self.cell + cells * (self.label == of)
        sums, squares = (sums_at(at, self.n * each, 2 * cells).reshape(2, cells) for each in (of_pair, of_pair**2))
        return Ranks(self.grid, self.position, sums, squares)
