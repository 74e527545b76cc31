"""ClasswiseCounts: the counts of all classes of one classifier, and how their errors vary together. Addable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal import _checks
from bayescal._arrays import Array, Classes, Floats, Ints
from bayescal._meant import public
from bayescal.data.matrix import ClassRows
from bayescal.data.predictions import Predictions
from bayescal.stats._kernel import bin_index
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins
from bayescal.stats.frozen import Sums, read_only
from bayescal.stats.query.class_sums import class_sums
from bayescal.stats.query.row_sums import bins_before_rows
from bayescal.stats.sums import sums_at

CHUNK = 16_384  #: Rows per chunk, so that temporary arrays are small compared with the input.
#: Maximum number of cells (classes times bins) whose joint sums are kept: 1.8 MB. With more classes, the correlation of
#: their errors changes the width of the interval of the mean by less than 1 %; see docs/explanation/classwise.md.
MOST_CELLS = 480
ROUNDING = 1e-12  #: Mean squares of residuals below this are rounding errors of residuals of 0.
STEPS = 80  #: Steps of a bisection; each halves the interval.


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
    >>> counts = bc.ClasswiseCounts.from_arrays(["b", "a"], [[0.2, 0.8], [0.6, 0.4]], classes=["a", "b"], bins=2)
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

        Examples
        --------
        >>> bc.ClasswiseCounts.empty(["a", "b"]).n_rows
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
        classes: Classes = None,
        logits: bool = False,
    ) -> "ClasswiseCounts":
        """Count the rows of a multi-class problem.

        A class without rows has counts with outcome 0 only.

        Parameters
        ----------
        y_true : array-like, shape (n_rows,)
            Class numbers 0..K-1, or labels from `classes`.
        y_prob : array-like of float, shape (n_rows, n_classes)
            Probability of every class, in [0, 1]; each row sums to 1.
        binning : {"equal-width", "equal-mass", "equal-effective-mass", "values"}, default "equal-width"
            How the edges are chosen if `bins` is a number. Edges from rows differ between classes and batches, and
            only counts with the same edges can be added.
        classes : sequence, optional
            Labels in the order of the columns. To add batches of which some lack a class, name all classes.

        Raises
        ------
        ValueError, TypeError
            As for `evaluate`; also if a label is not among the classes.

        Examples
        --------
        >>> counts = bc.ClasswiseCounts.from_arrays([1, 0, 0], [[0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], bins=2)
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

        `joint` is None if there are more than twelve classes, whose pairs would need many queries.

        Parameters
        ----------
        frame, weights, bins, binning
            As for `BinnedCounts.from_frame`.
        label : str, default "label"
            Column of the class of each row. ``y_true=`` is accepted for it, and ``y_prob=`` for `probabilities`.
        probabilities : mapping of label to str, or sequence of str
            Column of the probability of each class. In a sequence, the names of the columns are the labels.

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
        >>> bc.ClasswiseCounts.from_frame(frame, label="pet", probabilities=columns, bins=2)["dog"].k
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
        counts = tuple(one + other_counts for one, other_counts in zip(self.by_class, other.by_class, strict=True))
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

        Raises
        ------
        ValueError
            If an edge is not among the present edges.

        Examples
        --------
        >>> counts = bc.ClasswiseCounts.from_arrays([1, 0], [[0.2, 0.8], [0.6, 0.4]], bins=4)
        >>> counts.coarsen(2)
        ClasswiseCounts(2 classes, 2 equal-width bins [a, b), 2 rows)
        """
        counts = tuple(each.coarsen(edges) for each in self.by_class)
        if self.joint is None:
            return ClasswiseCounts(self.classes, counts)
        first = first_cells([each.bins for each in self.by_class])[:-1]
        kept, each = counts[0].bins.edges[:-1], zip(first, self.by_class, strict=True)
        start = np.concatenate([k + np.searchsorted(of_class.bins.edges, kept) for k, of_class in each])
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


def joint_residuals(rows: ClassRows, bins: Sequence[Bins]) -> Floats | None:
    """Sum products of the residuals of two classes over the rows in each pair of their bins, shape (n_cells, n_cells).

    A cell is one bin of one class; the cells of a class follow each other. The entry of the cells (k, b) and (l, c) is
    the sum of :math:`w_i^2 (z_{ik} - p_{ik}) (z_{il} - p_{il})` over the rows i with :math:`p_{ik}` in bin b and
    :math:`p_{il}` in bin c. None if there are more than `MOST_CELLS` cells.
    """
    first = first_cells(bins)
    if first[-1] > MOST_CELLS:
        return None
    total = np.zeros((first[-1], first[-1]))
    for start in range(0, len(rows), CHUNK):
        part = slice(start, start + CHUNK)
        matrix = np.clip(rows.matrix[part], 0, 1)  # as when the rows were counted
        residual = [(rows.label[part] == k) - p.astype(np.float64) for k, p in enumerate(matrix.T)]
        if rows.weight is not None:
            residual = [rows.weight[part] * r for r in residual]
        index = [bin_index(p, edges) for p, edges in zip(matrix.T, bins, strict=True)]
        for k, (r, b) in enumerate(zip(residual, index, strict=True)):
            total[first[k] : first[k + 1], first[k] : first[k + 1]] += np.diag(sums_at(b, r * r, len(bins[k])))
            for j in range(k):
                size = len(bins[k]), len(bins[j])
                place = b * size[1] + index[j]
                sums = sums_at(place, r * residual[j], size[0] * size[1]).reshape(size)
                total[first[k] : first[k + 1], first[j] : first[j + 1]] += sums
    lower = np.tril(total, -1)
    return lower + lower.T + np.diag(np.diag(total))


def first_cells(bins: Sequence[Bins]) -> Ints:
    """Return the number of the first cell of each class, and the number of cells."""
    return np.cumsum([0, *map(len, bins)])


def error_correlation(counts: Sequence[BinnedCounts], joint: Floats | None) -> tuple[Floats, Floats]:
    r"""Correlation matrices of classes over rows: of contributions to the plug-in ECE, and of residuals.

    The residual of row i for class k is :math:`r_{ik} = w_i (z_{ik} - p_{ik})`. The contribution of the row to the
    plug-in ECE of class k is :math:`\mathrm{sign}(g_b) r_{ik}`, where :math:`g_b` is the observed gap of its bin; this
    is the influence function of the ECE, up to a constant. Its second moments are sums of `joint` (see
    `joint_residuals`) with these signs. Residuals have mean 0 under calibration, so the moments are not centred.

    Without joint sums, residuals have the covariance of a multinomial distribution, because classes exclude each other:
    :math:`S a_k [k = l] - a_k a_l` with :math:`S = \sum_k a_k` and the observed variance of each class. Contributions
    to the ECE are taken as uncorrelated. Two classes are an exception: their residuals are equal except for the sign,
    so all correlations are 1 in size.
    """
    if joint is None:
        variance = np.array([_squares(each).sum() for each in counts])
        variance[variance <= ROUNDING * counts[0].weight.sum()] = 0.0
        of_residuals = _correlation(_exclusive(variance))
        size = len(counts)
        return np.ones((2, 2)) if size == 2 else np.eye(size), of_residuals
    first = first_cells([each.bins for each in counts])
    gap = [np.nan_to_num(each.accuracy - each.mean_confidence) for each in counts]
    sign = np.sign(np.concatenate(gap))
    total = np.array([np.abs(g) @ each.weight.sum(axis=0) for g, each in zip(gap, counts, strict=True)])
    centre = np.outer(total, total) / max(counts[0].n_rows, 1)
    return _correlation(_by_class(sign[:, None] * joint * sign, first) - centre), _correlation(_by_class(joint, first))


def _by_class(joint: Floats, first: Ints) -> Floats:
    """Sum over the bins of each class."""
    return np.add.reduceat(np.add.reduceat(joint, first[:-1], axis=0), first[:-1], axis=1)


def _squares(counts: BinnedCounts) -> Floats:
    """Sum of squared residuals by outcome and bin."""
    assert counts.losses is not None  # as ClasswiseCounts requires
    return counts.losses.total


def _exclusive(variance: Floats) -> Floats:
    """Return the covariance of a multinomial distribution with these variances, S diag(a) - a a'."""
    size, largest = len(variance), int(variance.argmax())
    others = variance.sum() - variance[largest]
    if others <= 0:
        return np.diag(variance)
    if size == 2:
        return np.sqrt(np.outer(variance, variance)) * np.array([[1, -1], [-1, 1]])
    # the residual of one class is minus the sum of the others, which have negative correlations
    variance = np.where(np.arange(size) == largest, np.minimum(variance, (1 - 1e-9) * others), variance)

    rest = np.arange(size) != largest

    def roots(total: float) -> Floats:
        """Smaller roots of a (S - a) = variance."""
        return np.asarray(variance / (total / 2 + np.sqrt(np.maximum(total**2 / 4 - variance, 0.0))))

    def exceeds(total: float, upper: bool) -> bool:
        """Whether the shares sum to more than the total; the largest class has its larger root if `upper`."""
        root = roots(total)
        share, others = root[largest], root[rest].sum()
        # the larger root is total - share; total - share + others > total would be decided by rounding
        return bool(others > share if upper else others + share > total)

    least = 2 * np.sqrt(variance[largest])  # then both roots of the largest class are equal
    upper = not exceeds(least, False)
    most = 2 * least
    while exceeds(most, upper) != upper:
        most *= 2
    for _ in range(STEPS):
        middle = (least + most) / 2
        if exceeds(middle, upper) != upper:
            least = middle
        else:
            most = middle
    total = (least + most) / 2
    a = roots(total)
    if upper:
        a[largest] = total - a[largest]
    covariance = -np.outer(a, a)
    np.fill_diagonal(covariance, variance)  # variance + a^2 - a^2 would lose digits
    return covariance


def _correlation(moments: Array) -> Floats:
    """Scale moments to a unit diagonal; a problem with variance 0 has correlation 0 with all others."""
    sd = np.sqrt(np.maximum(np.diag(moments), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    result = np.clip(moments / np.outer(scale, scale), -1, 1)
    np.fill_diagonal(result, 1.0)
    return result
