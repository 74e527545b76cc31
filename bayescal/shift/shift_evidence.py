"""Detection before correction: rows of source and target -> cells -> differences and tests -> ShiftEvidence."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bayescal import _arviz, _checks, _render
from bayescal._arrays import Classes, Floats, xr
from bayescal._meant import public
from bayescal._presented import Presented
from bayescal.draws import Draws, fingerprint
from bayescal.results.wording import p_words
from bayescal.shift.class_frequencies import MOST_CLASSES, require_all_classes
from bayescal.shift.counts import ShiftCells, ShiftCounts, require_cells
from bayescal.shift.rows import ShiftedRows
from bayescal.shift.statistics import CellShiftPosterior, ShiftTest, label_shift_test, no_shift_test, total_variation
from bayescal.shift.target import readings_of

P_OF_DIFFERENCE = 0.05  #: P-values up to this one are stated as differences.
#: Maximum number of cells that are printed.
PRINTED_CELLS = 20
HEADER = ("cell", "share source", "share target", "difference", "2.5 %", "97.5 %")
#: Ranges of confidence per predicted class: for 2 classes, up to 5 classes, and more.
RANGES = ((2, 5), (5, 3), (MOST_CLASSES, 2))


@public
@dataclass(frozen=True, eq=False, repr=False)
class ShiftEvidence(Presented):
    """Evidence that the scores of a target differ from those of a source, and that label shift does not explain it.

    Returned by `bayescal.shift.evidence`; printing it shows both tests and a table of the cells.

    Parameters
    ----------
    counts : ShiftCounts
        Rows by class and cell.
    drawn : ndarray, shape (n_draws, 2, n_cells)
        Posterior draws of the distributions of source and target over the cells.
    no_shift : ShiftTest
        Test of equal distributions.
    label_shift : ShiftTest
        Test of label shift: the rows of each class have the same distribution in both.
    """

    counts: ShiftCounts
    drawn: Floats
    no_shift: ShiftTest
    label_shift: ShiftTest

    _index = ("cell",)
    _quantity_name = "difference"

    @cached_property
    def total_variation(self) -> Draws:
        """Draws of the total variation distance: the share of the rows that would have to move to make both equal."""
        return Draws(total_variation(self.drawn), "total variation distance of the scores", self._origin)

    @cached_property
    def difference(self) -> Draws:
        """Draws of the share of each cell in the target minus that in the source, shape (n_draws, n_cells)."""
        return Draws(self.drawn[:, 1] - self.drawn[:, 0], "difference of shares", self._origin)

    @cached_property
    def _origin(self) -> int:
        return fingerprint(type(self).__name__, self.drawn)

    @property
    def cells(self) -> tuple[str, ...]:
        """Unique names of the cells: the predicted class and the range of its probability."""
        cells, classes = self.counts.cells, self.counts.classes
        names = []
        for label, cuts in zip(classes, cells.cuts, strict=True):
            edges = _shortest((1 / len(classes), *cuts, 1.0))
            ranges = [f"{label}: {low} to {high}" for low, high in pairwise(edges)]
            # repeated ranges between equal cuts are numbered
            before = [ranges[:i].count(name) for i, name in enumerate(ranges)]
            names += [f"{name} ({n + 1})" if n else name for name, n in zip(ranges, before, strict=True)]
        return tuple(names)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return one dict per cell, as data.

        Keys are cell, n_source, n_target, share_source, share_target, mean, low and high; the last three are those of
        the difference of the shares.
        """
        counts, source, target = self.counts, self.counts.source.sum(axis=0), self.counts.target
        shares = source / counts.n_source, target / counts.n_target
        columns = (source, target, *shares, self.difference.mean(), *self.difference.interval(prob))
        names = ("cell", "n_source", "n_target", "share_source", "share_target", "mean", "low", "high")
        rows = zip(self.cells, *(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _more(self, prob: float) -> dict[str, Any]:
        low, high = self.total_variation.interval(prob)
        tests = {"no_shift": asdict(self.no_shift), "label_shift": asdict(self.label_shift)}
        return {"total_variation": {"mean": self.total_variation.mean(), "low": low, "high": high}, "tests": tests}

    def to_datatree(self) -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        It has the group ``posterior`` with the shares of the cells, ``share_source`` and ``share_target`` along
        ``cell``, and ``total_variation``; group ``observed_data`` with the numbers of rows.

        Examples
        --------
        >>> p = np.arange(1, 200) / 200
        >>> evidence = bc.shift.evidence(p > 0.5, p, p**2, draws=400, rng=1)
        >>> list(evidence.to_datatree()["posterior"].data_vars)
        ['share_source', 'share_target', 'total_variation']
        """
        counts, along = self.counts, ["cell"]
        shares = {f"share_{side}": (self.drawn[:, i], along) for i, side in enumerate(("source", "target"))}
        return _arviz.tree_of_arrays(
            {**shares, "total_variation": (self.total_variation, [])},
            observed={"n_source": (counts.source.sum(axis=0), along), "n_target": (counts.target, along)},
            coords={"cell": self.cells},
            attrs={"spec": self.spec},
        )

    @property
    def spec(self) -> str:
        """Cells, rows and P-values on one line."""
        counts = self.counts
        return (
            f"shift of scores, {counts.cells}, {counts.n_source} labelled rows of the source, {counts.n_target} rows "
            f"of the target: no shift {_p(self.no_shift)}, label shift alone {_p(self.label_shift)}"
        )

    def sentence(self, prob: float = 0.95) -> str:
        """Return both tests and the total variation in words."""
        low, high = self.total_variation.interval(prob)
        d = max(_render.decimals(high - low), 2)
        mean, low, high = (_render.number(v, d) for v in (self.total_variation.mean(), low, high))
        size = f"a total variation distance of {mean} ({100 * prob:g} % credible interval {low} to {high})"
        none, label = _p(self.no_shift), _p(self.label_shift)
        if self.no_shift.p_value > P_OF_DIFFERENCE:
            return f"There is no evidence that the scores of source and target differ ({none}), with {size}."
        if self.label_shift.p_value > P_OF_DIFFERENCE:
            explained = f"Different class frequencies alone can explain it ({label})."
        else:
            explained = f"Different class frequencies alone do not explain it ({label})."
        return f"The scores of source and target differ ({none}), with {size}. {explained}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Limits of the tests."""
        texts = [
            *readings_of(self.counts),
            "Scores alone cannot show whether the probability of an outcome at a given score has changed: no test here "
            "replaces labels of the target.",
        ]
        if self.no_shift.p_value <= P_OF_DIFFERENCE < self.label_shift.p_value:
            texts.append(
                "A shift of the features can look like label shift: that label shift can explain the scores does not "
                "show that it is the cause."
            )
        return tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all cells."""
        table = self.table()
        shown = table if whole else table[:PRINTED_CELLS]
        columns = ("share_source", "share_target", "mean", "low", "high")
        rows = [[row["cell"], *(_render.number(row[name], 4) for name in columns)] for row in shown]
        left = (f"{len(table) - len(shown)} cells are not shown; see `to_frame`.",) if len(shown) < len(table) else ()
        return _render.Sheet(self.sentence(), self.spec, HEADER, rows, [*left, *self.remarks])


def _p(test: ShiftTest) -> str:
    """Return the P-value of a test in words."""
    words = p_words(test.p_value)
    return f"P {words}" if words.startswith("<") else f"P = {words}"


def _shortest(values: Sequence[float]) -> list[str]:
    """Format numbers with three significant digits, or with more if different numbers would look equal."""
    texts: list[str] = []
    for digits in range(3, 18):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


@public
def evidence(
    y_true: Any,
    y_prob: Any,
    y_prob_target: Any,
    *,
    cells: ShiftCells | None = None,
    draws: int = 4000,
    simulations: int = 1000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> ShiftEvidence:
    """Compare the scores of a target with those of a source; test whether label shift alone explains the difference.

    Parameters
    ----------
    y_true, y_prob, y_prob_target, classes, logits
        Labels and probabilities of the source, and probabilities of the target, as for `class_priors`.
    cells : ShiftCells, optional
        Cells of the predictions: more cells than classes. By default five ranges of confidence per predicted class for
        two classes, three for up to five classes and two for more, with nearly equal numbers of rows of both sides.
    simulations : int, default 1000
        Number of simulated data sets for each P-value, at least 99.

    Returns
    -------
    ShiftEvidence
        The total variation of the scores and the difference of each cell, with intervals; and two P-values.

    Raises
    ------
    ValueError, TypeError
        For invalid input, as for `evaluate`; also if a class has no labelled row, or cells do not outnumber classes.

    Warns
    -----
    FewRowsWarning
        If a class has fewer than 5 labelled rows.

    See Also
    --------
    bayescal.shift.label : Calibration errors in the target.
    class_priors : The class frequencies of the target under label shift.

    Notes
    -----
    In the model of the difference, both distributions may be equal, so that intervals of the total variation can
    contain 0. With independent uniform priors of both sides, they would not contain 0 even for equal distributions.
    The P-value of no shift is exact (permutations of the rows); that of label shift is a posterior predictive check of
    a likelihood ratio. [Covariate shift](../explanation/covariate_shift.md) has their measured levels and power.

    Under label shift, the distribution of the target over cells is a mixture of those of the classes [1]_. A test of
    this mixture needs more cells than classes.

    References
    ----------
    .. [1] Z. Lipton, Y.-X. Wang and A. Smola (2018), "Detecting and correcting for label shift with black box
       predictors", Proceedings of the 35th International Conference on Machine Learning, 3122-3130.

    Examples
    --------
    The event has the frequency 1/2 in the source and 1/5 in the target:

    >>> y, y_target = rng.random(2000) < 1 / 2, rng.random(1000) < 1 / 5
    >>> p, p_target = (1 / (1 + np.exp(-2 * rng.normal(2 * each - 1.0, 1))) for each in (y, y_target))
    >>> evidence = bc.shift.evidence(y, p, p_target, rng=1)
    >>> evidence.total_variation.interval(0.95)
    (0.1..., 0.2...)
    >>> evidence.no_shift.p_value < 0.01, evidence.label_shift.p_value > 0.05
    (True, True)
    """
    rows = ShiftedRows.read(y_true, y_prob, y_prob_target, classes=classes, logits=logits)
    if rows.n_classes > MOST_CLASSES:
        raise ValueError(f"`y_prob` must have at most {MOST_CLASSES} columns; it has {rows.n_classes}.")
    require_all_classes(np.bincount(rows.label, minlength=rows.n_classes), rows.classes)
    draws = _checks.whole_number("draws", draws, at_least=2)
    simulations = _checks.whole_number("simulations", simulations, at_least=99)
    if cells is None:  # of the rows of both sides, so that they do not depend on the side of a row
        ranges = next(number for most, number in RANGES if rows.n_classes <= most)
        cells = ShiftCells.of_confidences(np.concatenate([rows.source, rows.target]), ranges)
    require_cells(cells, rows.n_classes)
    if len(cells) <= rows.n_classes:
        raise ValueError(
            f"`cells` must contain more cells than there are classes, so that label shift can be tested; there are "
            f"{len(cells)} cells and {rows.n_classes} classes. Use `ShiftCells.of_confidences(y_prob, 3)`."
        )
    counts = ShiftCounts.from_rows(rows, cells)
    for_difference, for_none, for_label = _checks.seeds(rng, 3)
    source = counts.source.sum(axis=0)
    sides = CellShiftPosterior(source, counts.target).sample(draws, rng=for_difference)
    no_shift = no_shift_test(source, counts.target, simulations, rng=for_none)
    return ShiftEvidence(counts, sides, no_shift, label_shift_test(counts, simulations, rng=for_label))
