"""Class frequencies of a target without labels: rows or counts -> posterior -> ClassPriors."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Bools, Classes, Floats, Ints, pd, xr
from bayescal._invalid import quoted
from bayescal._meant import public
from bayescal._presented import Presented, shortened
from bayescal._render import percent
from bayescal.draws import Draws, fingerprint
from bayescal.results.wording import p_words
from bayescal.shift.class_frequencies_posterior import ClassPriorPosterior
from bayescal.shift.counts import ShiftCells, ShiftCounts, default_cells
from bayescal.shift.prior_likelihood import PriorLikelihoodPosterior
from bayescal.shift.rows import TARGET, ShiftedRows, require_overlap
from bayescal.shift.target import readings_of
from bayescal.stats.contract import require_kind

PRINTED_CLASSES = 20  #: Maximum number of classes that are printed.
#: A remark names classes for whose frequency a row of the target is worth fewer labelled rows than this.
LEAST_WORTH = 0.1
#: Least share of the target's rows in cells, or bins, without labelled rows that a remark mentions.
UNLABELLED_SHARE = 0.001
FEW_LABELLED_ROWS = 5  #: Fewer labelled rows of a class than this are mentioned.
#: Classes named in a remark.
NAMED_CLASSES = 5
USING = ("cells", "probabilities")
MOST_CLASSES = 100  #: Maximum number of classes.
#: Errors of chains that had not converged in simulations.
SEEN = (
    "In simulations with five classes, means then differed from those of long chains by up to 0.5 standard deviations, "
    "and standard deviations were up to 1.5 times as large. More labelled rows help, or a random sample of the rows of "
    "the target."
)
P_OF_MISFIT = 0.005  #: P-values of the recalibration below this are mentioned.


@public
@dataclass(frozen=True, eq=False, repr=False)
class ClassPriors(Presented, Mapping[Any, Draws]):
    """Posterior of the class frequencies of a target population whose rows have no labels.

    Returned by `class_priors`; printing it shows a sentence and a table of the classes. It is a mapping from each class
    to the draws of its frequency.

    Parameters
    ----------
    counts : ShiftCounts
        Rows by class and cell.
    drawn : ndarray, shape (n_draws, n_classes)
        Independent draws of the class frequencies; each draw sums to 1.
    worth : ndarray, shape (n_classes,)
        Number of labelled rows of the target that one unlabelled row is worth for the frequency of each class: 1 if the
        predictions determine the class, 0 if they contain no information about it.
    method : str
        How the predictions were used, in words.
    notes : tuple of str
        Warnings about the computation.
    """

    counts: ShiftCounts
    drawn: Floats
    worth: Floats
    method: str
    notes: tuple[str, ...] = ()

    _index = ("class",)
    _columns = ("mean", "sd", "low", "high", "source", "n_source", "worth")
    _quantity_name = "frequency"

    @property
    def classes(self) -> tuple[Any, ...]:
        """Label of each class."""
        return self.counts.classes

    def __len__(self) -> int:
        return len(self.classes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.classes)

    def __getitem__(self, label: Any) -> Draws:
        """Draws of the frequency of one class."""
        _checks.label("class", label, self.classes)
        k = self.classes.index(label)
        return Draws(self.drawn[:, k], f"frequency of class {label}", self._origin)

    @cached_property
    def draws(self) -> Draws:
        """Draws of all class frequencies, shape (n_draws, n_classes)."""
        return Draws(self.drawn, "class frequencies", self._origin)

    @cached_property
    def _origin(self) -> int:
        return fingerprint(type(self).__name__, self.drawn)

    def mean(self) -> Floats:
        """Posterior mean of each class frequency, shape (n_classes,); it sums to 1."""
        return np.asarray(self.drawn.mean(axis=0))

    def interval(self, prob: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends of the equal-tailed credible intervals of all classes, each of shape (n_classes,)."""
        low, high = self.draws.interval(prob)
        return low, high

    @property
    def source(self) -> Floats:
        """Share of each class among the labelled rows, shape (n_classes,)."""
        return np.asarray(self.counts.by_class / self.counts.n_source)

    @property
    def p_increase(self) -> Floats:
        """Posterior probability that each class is more frequent in the target than among the labelled rows."""
        return np.asarray((self.drawn > self.source).mean(axis=0))

    def adapt(self, y_prob: Any) -> Floats:
        r"""Adapt probabilities to the target, by the ratio of the class frequencies.

        The result is :math:`p_k w_k / \sum_l p_l w_l`, in the same shape. The weight :math:`w_k` is the posterior
        mean of the frequency of class k in the target, divided by its frequency in the source.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,) or (n_rows, n_classes)
            Probabilities calibrated for the class frequencies of the source. A column holds those of the second class.

        Raises
        ------
        ValueError, TypeError
            If values are missing or not in [0, 1], the number of columns is not that of the classes, or the columns of
            a data frame name the classes in another order.

        Examples
        --------
        >>> p, p_target = [0.1, 0.3, 0.7, 0.9] * 50, [0.1, 0.3, 0.1, 0.9] * 50
        >>> priors = bc.shift.class_priors([0, 0, 1, 1] * 50, p, p_target, rng=1)
        >>> priors.adapt([0.5]).round(1)
        array([0.3])
        """
        from bayescal.data.frames import column_names
        from bayescal.data.matrix import refuse_contradiction
        from bayescal.shift.rows import is_event, stated_probabilities

        name = "y_prob"
        one_column = len(self) == 2 and is_event(name, y_prob)
        if not one_column:
            refuse_contradiction(column_names(y_prob), self.classes)
        matrix = stated_probabilities(y_prob, name, None if one_column else len(self))
        changed = adapted(matrix, self.mean() / self.source)
        return changed[:, 1] if one_column else changed

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return one dict per class, as data.

        Keys are class, mean, sd, low, high, source (share of the labelled rows), n_source (number of labelled rows) and
        worth.
        """
        low, high = self.interval(_checks.fraction("prob", prob))
        sd = self.drawn.std(axis=0, ddof=1)
        columns = (self.mean(), sd, low, high, self.source, self.counts.by_class, self.worth)
        rows = zip(self.classes, *(column.tolist() for column in columns), strict=True)
        return [dict(zip(("class", *self._columns), row, strict=True)) for row in rows]

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of the class frequencies.

        Rows are ``frequency[label]``.
        """
        prob = _checks.fraction("prob", prob)
        return _arviz.summary({"frequency": self.draws}, prob, {"frequency": self.classes}, **options)

    def to_datatree(self) -> "xr.DataTree":
        """The draws as an ArviZ DataTree.

        It has the groups ``posterior`` (frequency along ``class``), ``observed_data`` (number of labelled rows of each
        class) and ``constant_data`` (source and worth, as in `table`); the attribute ``remarks`` holds the remarks.

        Notes
        -----
        Each draw is the last state of a chain of its own, and the dimension ``chain`` only divides the draws. R-hat and
        the effective sample size therefore do not show whether these chains have converged; a remark says if they
        may not have.

        Examples
        --------
        >>> p, p_target = [0.1, 0.3, 0.7, 0.9] * 50, [0.1, 0.3, 0.1, 0.9] * 50
        >>> priors = bc.shift.class_priors([0, 0, 1, 1] * 50, p, p_target, rng=1)
        >>> dict(priors.to_datatree()["posterior"]["frequency"].sizes)
        {'chain': 4, 'draw': 250, 'class': 2}
        """
        about = {"spec": self.spec, "method": self.method, "n_target": self.counts.n_target}
        return _arviz.datatree(
            {"frequency": self.draws},
            observed={"n_source": self.counts.by_class},
            constant={"source": self.source, "worth": self.worth},
            along="class",
            coords={"class": list(self.classes)},
            attrs={**about, "remarks": "\n".join(self.remarks)},
        )

    @property
    def spec(self) -> str:
        """Rows and method on one line."""
        return (
            f"class frequencies of the target ({len(self)} classes), {self.counts.n_source} labelled rows, "
            f"{self.counts.n_target} rows of the target, {self.method}"
        )

    def sentence(self, prob: float = 0.95) -> str:
        """Return the frequency of the second of two classes, or of the class that changes most, in words."""
        rows = self.table(prob)
        row = rows[self._headline_class]
        lead = "The frequency" if len(rows) == 2 else "Largest change relative to its uncertainty: the frequency"
        low, high = row["low"], row["high"]
        d = _render.interval_decimals(low, high)
        mean, low, high, source = (_render.number(v, d) for v in (row["mean"], low, high, row["source"]))
        return (
            f"{lead} of class {_render.name(row['class'])} in the target is {mean} ({100 * prob:g} % credible interval "
            f"{low} to {high}); in the source it is {source}."
        )

    @property
    def _headline_class(self) -> int:
        """Index of the class that the sentence names."""
        if len(self.classes) == 2:
            return 1
        return int((np.abs(self.mean() - self.source) / np.maximum(self.drawn.std(axis=0), 1e-12)).argmax())

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        header = ("class", "mean", "sd", "2.5 %", "97.5 %", "source", "labelled rows", "worth per row")
        rows = [
            [
                _render.name(row["class"]),
                *(_render.number(row[k]) for k in ("mean", "sd", "low", "high", "source")),
                str(row["n_source"]),
                _render.number(row["worth"], 2),
            ]
            for row in self.table()
        ]
        shown, remarks = rows, []
        if len(rows) > PRINTED_CLASSES and not whole:
            shown = [rows[k] for k in shortened(range(len(rows)), PRINTED_CLASSES, self._headline_class)]
            remarks = [f"Not shown: {len(rows) - PRINTED_CLASSES} of {len(rows)} classes; see `.table()`."]
        return _render.Sheet(self.sentence(), self.spec, header, shown, [*remarks, *self.remarks])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the intervals; empty if no problem is known."""
        texts = readings_of(self.counts)
        few = self.counts.by_class < FEW_LABELLED_ROWS
        if few.any():
            texts.append(
                f"Fewer than {FEW_LABELLED_ROWS} labelled rows: {self._named(few)}. Frequencies of classes with so few "
                "rows depend on the prior."
            )
        hard = self.worth < LEAST_WORTH
        if hard.any():
            texts.append(
                f"The predictions contain little information about the frequency of {self._named(hard)}: one row of "
                f"the target is worth less than {LEAST_WORTH:g} labelled rows."
            )
        return (*texts, *self.notes)

    def _named(self, which: Bools) -> str:
        labels = [_render.name(label) for label, chosen in zip(self.classes, which, strict=True) if chosen]
        more = f" and {len(labels) - NAMED_CLASSES} more" if len(labels) > NAMED_CLASSES else ""
        return f"class{'es' if len(labels) > 1 else ''} {', '.join(labels[:NAMED_CLASSES])}{more}"


def adapted(matrix: Floats, weight: Floats) -> Floats:
    """Multiply the probabilities of each class by its weight, and divide rows by their sums; shape (n_rows, n_classes).

    Rows whose classes of positive probability all have weight 0 keep their probabilities.
    """
    changed = matrix * weight
    total = changed.sum(axis=1, keepdims=True)
    return np.where(total > 0, changed / np.where(total > 0, total, 1.0), matrix)


class FewRowsWarning(UserWarning):
    """A class has fewer than 5 labelled rows."""


@public
def class_priors(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    using: str = "cells",
    cells: ShiftCells | None = None,
    draws: int = 1000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> ClassPriors:
    r"""Compute the posterior of the class frequencies of a target without labels, under label shift.

    Label shift means that the rows of each class have the same distribution in source and target, and that only the
    frequencies of the classes differ.

    Parameters
    ----------
    y_true : array-like, shape (n_source,)
        Labels of the source: 0/1 or booleans if `y_prob` is a column, class numbers 0..K-1 if it is a matrix. Other
        labels need `classes`.
    y_prob : array-like of float, shape (n_source,) or (n_source, n_classes)
        Probabilities stated for the rows of the source, for 2 to 100 classes. Every class needs labelled rows.
    y_prob_target : array-like of float, shape (n_target,) or (n_target, n_classes)
        Probabilities that the same classifier states for rows of the target, whose labels are unknown.
    using : {"cells", "probabilities"}, default "cells"
        How predictions are used:

        - ``cells`` counts rows by predicted class and, for up to 5 classes, by three ranges of its probability.
          Probabilities need not be calibrated;
        - ``probabilities`` recalibrates probabilities on the source by a temperature and a bias per class, with their
          uncertainty, and uses the likelihood of every row. Intervals are narrower, and right only if such a
          recalibration calibrates the classifier. A remark states the P-value of a score test on the source if it is
          below 0.005.
    cells : ShiftCells, optional
        Other cells, as in ``ShiftCells.predicted_class(n_classes)``.
    draws : int, default 1000
        Number of posterior draws, at least 2. They are independent with ``using="cells"``.
    classes : sequence, optional
        Labels in the order of the columns; for a column, the labels of outcomes 0 and 1.

    Returns
    -------
    ClassPriors
        Draws, intervals, and how well the predictions tell the classes apart.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; also if a class has no labelled row, there are more than 100 classes, or
        more than half of the rows of the target are in cells without labelled rows.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.

    See Also
    --------
    class_priors_counts : The same from counts of streams or large data.
    bayescal.shift.label : Calibration errors in the target.

    Notes
    -----
    The page "When the deployment is not the test set" states the models. With the predicted classes as cells, the
    posterior mean is close to the estimate of [1]_, which inverts the confusion matrix, unless a frequency is near 0.

    References
    ----------
    .. [1] Z. Lipton, Y.-X. Wang and A. Smola (2018), "Detecting and correcting for label shift with black box
       predictors", Proceedings of the 35th International Conference on Machine Learning, 3122-3130.

    Examples
    --------
    >>> y, y_target = rng.random(1000) < 1 / 2, rng.random(1000) < 1 / 5
    >>> p, p_target = (1 / (1 + np.exp(-rng.normal(4 * each - 2.0, 2))) for each in (y, y_target))
    >>> print(bc.shift.class_priors(y, p, p_target, rng=1).sentence())
    The frequency of class 1 in the target is 0.2... (95 % credible interval 0.1... to 0.2...); in the source it is ...
    """
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    return priors_of_rows(rows, using=using, cells=cells, draws=draws, rng=rng)


def priors_of_rows(
    rows: ShiftedRows, *, using: str = "cells", cells: ShiftCells | None = None, draws: int = 1000, rng: Any = None
) -> ClassPriors:
    """Compute the posterior from validated rows; see `class_priors`."""
    _checks.one_of("using", using, USING)
    n_classes = rows.n_classes
    if n_classes > MOST_CLASSES:
        raise ValueError(f"`y_prob` must have at most {MOST_CLASSES} columns; it has {n_classes}.")
    require_all_classes(np.bincount(rows.label, minlength=n_classes), rows.classes)
    if using == "cells":
        counted = ShiftCounts.from_rows(rows, default_cells(n_classes, lambda: rows.source) if cells is None else cells)
        return priors_of_counts(counted, draws=draws, rng=rng)
    if cells is not None:
        raise ValueError("`cells` belong to `using='cells'`; `using='probabilities'` needs none.")
    posterior = PriorLikelihoodPosterior(rows)
    draws = _checks.whole_number("draws", draws, at_least=2)
    counts = ShiftCounts.from_rows(rows, ShiftCells.predicted_class(n_classes))
    p_value = posterior.p_value
    misfit = (
        "A temperature and biases probably do not calibrate the probabilities in the source (P-value of a score test: "
        f"{p_words(p_value)}). The frequencies may then be biased; `using='cells'` needs no calibration."
    )
    frequencies, notes = posterior.sample(draws, rng=rng), () if p_value >= P_OF_MISFIT else (misfit,)
    return ClassPriors(counts, frequencies, posterior.worth, "recalibrated probabilities", notes)


@public
def class_priors_counts(counts: ShiftCounts, *, draws: int = 1000, rng: Any = None) -> ClassPriors:
    """Compute the posterior of the class frequencies of a target from counts.

    Parameters
    ----------
    counts : ShiftCounts
        Labelled rows of the source by class and cell, and rows of the target by cell.
    draws, rng
        As for `class_priors`.

    Returns
    -------
    ClassPriors
        As for `class_priors` of the rows.

    Raises
    ------
    TypeError
        If `counts` are of another type.
    ValueError
        If a class has no labelled row, there are no rows of the target, or more than half of them are in cells
        without labelled rows.

    Examples
    --------
    >>> cells = bc.shift.ShiftCells.predicted_class(2)
    >>> source = bc.shift.ShiftCounts.of_source([0, 0, 1, 1] * 50, [0.1, 0.2, 0.7, 0.9] * 50, cells=cells)
    >>> target = bc.shift.ShiftCounts.of_target([0.1, 0.2, 0.4, 0.9] * 50, cells=cells)
    >>> bc.shift.class_priors_counts(source + target, rng=1).mean().round(2)
    array([0.75, 0.25])
    """
    remedy = "; add `ShiftCounts.of_source(y, p, cells=cells)` and `ShiftCounts.of_target(p_target, cells=cells)`."
    require_kind(ShiftCounts, remedy, counts)
    if not counts.n_source:
        raise ValueError("`counts` have no rows of the source; add `ShiftCounts.of_source(y, p, cells=cells)`.")
    if not counts.n_target:
        raise ValueError("`counts` have no rows of the target; add `ShiftCounts.of_target(p_target, cells=cells)`.")
    require_all_classes(counts.by_class, counts.classes, "counts")
    return priors_of_counts(counts, draws=draws, rng=rng, name="counts")


def priors_of_counts(counts: ShiftCounts, *, draws: int = 1000, rng: Any = None, name: str = TARGET) -> ClassPriors:
    """Compute the posterior from counts in which every class has labelled rows; `name` is the target's argument."""
    draws = _checks.whole_number("draws", draws, at_least=2)
    lost, empty = counts.without_labels, int(((counts.source.sum(axis=0) == 0) & (counts.target > 0)).sum())
    require_overlap(lost, counts.n_target, empty, part="cell", name=name)
    posterior = ClassPriorPosterior(counts)
    notes = []
    if lost >= UNLABELLED_SHARE:
        notes.append(
            f"{percent(lost)} of the target's rows are in cells without labelled rows: the prior determines how likely "
            "these cells are in each class."
        )
    if posterior.slow:
        notes.append(f"Chains may not have converged, because {posterior.slow}. {SEEN}")
    frequencies = posterior.sample(draws, rng=rng)
    return ClassPriors(counts, frequencies, posterior.worth, f"cells: {counts.cells}", tuple(notes))


def require_all_classes(by_class: Ints, classes: Sequence[Any], name: str = "y_true") -> None:
    """Refuse classes without labelled rows; warn about classes with few."""
    none = by_class == 0
    if none.any():
        first = quoted(classes[int(none.argmax())])
        remedy = (
            " If it cannot occur in the target, remove its column from both matrices and divide each row by its sum."
        )
        remedy = remedy if len(none) > 2 else ""
        raise ValueError(
            f"`{name}` must have labelled rows of every class; {int(none.sum())} of {len(none)} classes have none, the "
            f"first is {first}. Nothing is known about the predictions of a class without labelled rows.{remedy}"
        )
    few = by_class < FEW_LABELLED_ROWS
    if few.any():
        first = quoted(classes[int(few.argmax())])
        warnings.warn(
            f"{int(few.sum())} of {len(few)} classes have fewer than {FEW_LABELLED_ROWS} labelled rows, the first is "
            f"{first}: their frequencies in the target depend on the prior.",
            FewRowsWarning,
            skip_file_prefixes=_checks.PACKAGE,
        )
