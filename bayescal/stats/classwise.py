"""ClasswiseCounts: the counts of all classes of one classifier, and how their errors vary together. Addable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal import _checks
from bayescal._meant import public
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.dependence import MOST_CELLS, error_correlation, first_cells, joint_residuals
from bayescal.stats.frozen import Sums, read_only
from bayescal.stats.query.class_sums import class_sums
from bayescal.stats.query.framed import bins_before_rows

Floats = NDArray[np.float64]


@public
@dataclass(frozen=True, eq=False)
class ClasswiseCounts(Sums):
    """Counts of every class as a binary problem, and sums over rows from which the correlation of classes follows.

    Counts of batches, files or workers can be added. `evaluate_counts` evaluates them, `save_counts` stores them.

    Parameters
    ----------
    classes : tuple
        Label of each class.
    by_class : tuple of BinnedCounts
        Counts of each class: the outcome is 1 if the row has this class.
    joint : ndarray, shape (n_cells, n_cells), or None
        Sums of weight^2 times the product of the residuals (outcome - confidence) of two classes, over the rows in each
        pair of their bins; a cell is one bin of one class. None if it is not known, or if there are more than 480
        cells: then the errors of classes are taken as uncorrelated over rows.

    Raises
    ------
    ValueError
        If labels and counts differ in number, counts have other targets than "classwise", or classes have different
        numbers of rows.

    Examples
    --------
    >>> counts = ClasswiseCounts.from_arrays(["b", "a"], [[0.2, 0.8], [0.6, 0.4]], classes=["a", "b"], bins=2)
    >>> counts["b"].k
    array([0, 1])
    >>> (counts + counts).n_rows
    4
    """

    classes: tuple[Any, ...]
    by_class: tuple[BinnedCounts, ...]
    joint: Floats | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        object.__setattr__(self, "by_class", tuple(self.by_class))
        if len(self.classes) != len(self.by_class) or len(self.classes) < 2:
            raise ValueError(
                "`classes` must name at least two classes, and `by_class` hold the counts of each; there are "
                f"{len(self.classes)} and {len(self.by_class)}."
            )
        if len(set(self.classes)) != len(self.classes):
            twice = next(label for i, label in enumerate(self.classes) if label in self.classes[:i])
            raise ValueError(f"`classes` must name each label once; {twice!r} occurs more than once.")
        for label, counts in zip(self.classes, self.by_class, strict=True):
            if counts.target != "classwise" or counts.losses is None or counts.n_rows != self.by_class[0].n_rows:
                raise ValueError(
                    "`by_class` must hold counts of the same rows with `target='classwise'` and sums of losses; those "
                    f"of class {label!r} are {counts!r} with target {counts.target!r}, those of the first class are "
                    f"{self.by_class[0]!r}."
                )
        self._require_one_class_per_row()
        # whether log losses were counted depends on how the rows were read, and no result of all classes needs them
        object.__setattr__(self, "by_class", tuple(replace(counts, log_losses=None) for counts in self.by_class))
        if self.joint is not None:
            cells = first_cells([each.bins for each in self.by_class])[-1]
            joint = read_only(self.joint, np.float64)
            if joint.shape != (cells, cells):
                raise ValueError(f"`joint` must have shape ({cells}, {cells}), not {joint.shape}.")
            object.__setattr__(self, "joint", joint)

    def _require_one_class_per_row(self) -> None:
        positive = sum(int(counts.k.sum()) for counts in self.by_class)
        weights = [float(counts.weight.sum()) for counts in self.by_class]
        weights.append(sum(float(counts.weight[1].sum()) for counts in self.by_class))
        if positive != self.n_rows or not np.allclose(weights, weights[0], rtol=1e-6, atol=0):
            raise ValueError(
                "`by_class` must hold counts of the same rows, each of which has one class; over all classes there are "
                f"{positive} rows with outcome 1, and there are {self.n_rows} rows. Count all classes together, with "
                "`ClasswiseCounts.from_arrays`."
            )

    @classmethod
    def empty(cls, classes: Sequence[Any], bins: Any = 15) -> "ClasswiseCounts":
        """Return counts without rows: adding them changes nothing.

        Parameters
        ----------
        classes : sequence
            Label of each class.
        bins : int or array-like, default 15
            Number of equal-width bins, or edges.

        Examples
        --------
        >>> ClasswiseCounts.empty(["a", "b"]).n_rows
        0
        """
        each = BinnedCounts.empty(bins, target="classwise")
        cells = len(classes) * len(each.bins)
        return cls(tuple(classes), (each,) * len(classes), np.zeros((cells, cells)) if cells <= MOST_CELLS else None)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        bins: Any = 15,
        binning: str = "equal-width",
        weights: Any = None,
        classes: Sequence[Any] | None = None,
        logits: bool = False,
    ) -> "ClasswiseCounts":
        """Count the rows of a multi-class problem.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Class numbers 0..K-1, or labels from `classes`.
        y_prob : array-like of float, shape (n_rows, n_classes)
            Probability of every class, in [0, 1]; each row sums to 1.
        bins : int or array-like, default 15
            Number of bins, or edges.
        binning : {"equal-width", "equal-mass", "equal-effective-mass"}, default "equal-width"
            How the edges are chosen if `bins` is a number. Edges from rows differ between classes and batches, and
            only counts with the same edges can be added.
        weights : array-like, shape (n_rows,), optional
            Importance weights >= 0.
        classes : sequence, optional
            Labels in the order of the columns. To add batches of which some lack a class, name all classes.
        logits : bool, default False
            Whether `y_prob` holds logits instead of probabilities.

        Returns
        -------
        ClasswiseCounts
            The counts. A class without rows has counts with outcome 0 only.

        Raises
        ------
        ValueError, TypeError
            As for `evaluate`; also if a label is not among the classes.

        Examples
        --------
        >>> counts = ClasswiseCounts.from_arrays([1, 0, 0], [[0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], bins=2)
        >>> [each.k.tolist() for each in counts.by_class]
        [[0, 2], [0, 1]]
        """
        rows = ClassRows.read(y_true, y_prob, classes=classes, logits=logits, weights=weights)
        return cls.from_rows(rows, bins=bins, binning=binning)

    @classmethod
    def from_rows(cls, rows: ClassRows, *, bins: Any = 15, binning: str = "equal-width") -> "ClasswiseCounts":
        """Count validated or unvalidated rows; values are checked during counting.

        Parameters
        ----------
        rows : ClassRows
            The rows.
        bins, binning
            As for `from_arrays`.

        Returns
        -------
        ClasswiseCounts
            The counts.
        """
        counts = count_classes(rows, bins, binning)
        if counts[0].reading.divided:
            rows = rows.checked()  # joint sums are those of the divided rows
        return cls(rows.classes, counts, joint_residuals(rows, [each.bins for each in counts]))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str = "label",
        probabilities: Mapping[Any, str] | Sequence[str],
        weights: str | None = None,
        bins: Any = 15,
        binning: str = "equal-width",
    ) -> "ClasswiseCounts":
        """Count the rows of a data frame in its engine, which returns sums and no rows.

        Parameters
        ----------
        frame : data frame
            A pandas, polars (eager or lazy), dask or pyspark data frame, a pyarrow Table or a duckdb relation. It is
            not modified.
        label : str, default "label"
            Column of the class of each row.
        probabilities : mapping of label to str, or sequence of str
            Column of the probability of each class. In a sequence, the names of the columns are the labels.
        weights : str, optional
            Column of importance weights >= 0.
        bins : int, array-like or Bins, default 15
            Number of equal-width bins, or edges.
        binning : {"equal-width"}
            Only equal-width bins, as for `BinnedCounts.from_frame`.

        Returns
        -------
        ClasswiseCounts
            The counts. `joint` is None if there are more than twelve classes, whose pairs would need many queries.

        Raises
        ------
        ValueError
            If a column does not exist, a label is missing or not among the classes, a probability is missing or
            invalid, or the probabilities of a row do not sum to 1; the message gives the number of rows.
        TypeError
            If `frame` is not a data frame, or a column has an unsuitable type.

        Examples
        --------
        >>> import pyarrow as pa
        >>> frame = pa.table({"pet": ["cat", "dog"], "p_cat": [0.7, 0.4], "p_dog": [0.3, 0.6]})
        >>> columns = {"cat": "p_cat", "dog": "p_dog"}
        >>> ClasswiseCounts.from_frame(frame, label="pet", probabilities=columns, bins=2)["dog"].k
        array([0, 1])
        """
        edges = bins_before_rows(bins, binning)
        columns = probabilities if isinstance(probabilities, Mapping) else {name: name for name in probabilities}
        sums, joint, reading = class_sums(frame, label, columns, weights, edges)
        counts = tuple(BinnedCounts(edges, **vars(each), target="classwise", reading=reading) for each in sums)
        return cls(tuple(columns), counts, joint)

    def _plus(self, other: "ClasswiseCounts") -> "ClasswiseCounts":
        if self.classes != other.classes:
            raise ValueError(
                "counts can be added only if they have the same classes in the same order; these have "
                f"{_shown(self.classes)} and {_shown(other.classes)}. Name all classes when counting a batch, with "
                "`classes`."
            )
        counts = tuple(own + others for own, others in zip(self.by_class, other.by_class, strict=True))
        joint = None if self.joint is None or other.joint is None else self.joint + other.joint
        return ClasswiseCounts(self.classes, counts, joint)

    def __repr__(self) -> str:
        return f"ClasswiseCounts({len(self)} classes, {self.by_class[0].bins}, {self.n_rows} rows)"

    def __len__(self) -> int:
        return len(self.classes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.classes)

    def __getitem__(self, label: Any) -> BinnedCounts:
        """Return the counts of a class, by its label."""
        if label not in self.classes:
            near = _checks.did_you_mean(str(label), self.classes)
            raise KeyError(f"no class {label!r} among {_shown(self.classes)}.{near}")
        return self.by_class[self.classes.index(label)]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.by_class[0].n_rows

    @property
    def bins(self) -> Bins:
        """Bins of the first class; those of the others differ only for bins of equal mass."""
        return self.by_class[0].bins

    @property
    def correlations(self) -> tuple[Floats, Floats]:
        """Correlation matrices of the classes over rows: of errors, and of residuals."""
        return error_correlation(self.by_class, self.joint)

    def coarsen(self, edges: ArrayLike | Bins) -> "ClasswiseCounts":
        """Merge neighbouring bins of every class, without another pass over the rows.

        Parameters
        ----------
        edges : array-like, int or Bins
            As for `BinnedCounts.coarsen`.

        Returns
        -------
        ClasswiseCounts
            The same rows on fewer bins.

        Raises
        ------
        ValueError
            If an edge is not among the present edges.

        Examples
        --------
        >>> counts = ClasswiseCounts.from_arrays([1, 0], [[0.2, 0.8], [0.6, 0.4]], bins=4)
        >>> counts.coarsen(2)
        ClasswiseCounts(2 classes, 2 equal-width bins [a, b), 2 rows)
        """
        counts = tuple(each.coarsen(edges) for each in self.by_class)
        if self.joint is None:
            return ClasswiseCounts(self.classes, counts)
        first = first_cells([each.bins for each in self.by_class])[:-1]
        kept = counts[0].bins.edges[:-1]
        start = np.concatenate(
            [k + np.searchsorted(e.bins.edges, kept) for k, e in zip(first, self.by_class, strict=True)]
        )
        joint = np.add.reduceat(np.add.reduceat(self.joint, start, axis=0), start, axis=1)
        return ClasswiseCounts(self.classes, counts, joint)


def count_classes(rows: ClassRows, bins: Any, binning: str) -> tuple[BinnedCounts, ...]:
    """Count the rows of every class as a binary problem, without joint sums."""
    if binning == "equal-width":
        return BinnedCounts.of_classes(rows, bins=bins)
    problems = Predictions.of_classes(rows)
    return tuple(BinnedCounts.from_predictions(problem, bins=bins, binning=binning) for problem in problems)


def _shown(classes: tuple[Any, ...]) -> str:
    few = ", ".join(repr(label) for label in classes[:5])
    return f"[{few}{f', and {len(classes) - 5} more' if len(classes) > 5 else ''}]"
