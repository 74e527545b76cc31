"""ScoreComparison: the joint posterior of the proper scores of several classifiers on the same rows."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayescal import _arviz, _checks, _render
from bayescal._meant import public
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, estimand_called
from bayescal.posterior.joint import symmetric_root
from bayescal.results.joint import Joint
from bayescal.results.mean_score import MultiClassScore
from bayescal.results.remarks import of_several
from bayescal.results.verdict import HEADER, Verdict, label_lines, pair_cells, pair_key, shown_pairs

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Floats = NDArray[np.float64]


@public
@dataclass(frozen=True, eq=False, repr=False)
class ScoreComparison(Joint):
    r"""The joint posterior of a proper score of several classifiers on the same rows; smaller is better.

    Returned by `bayescal.scores.compare`.

    Parameters
    ----------
    scores : dict of str to MultiClassScore
        The score of each classifier, by name.
    correlation : ndarray, shape (n_classifiers, n_classifiers)
        Correlation matrix of the Normals of the copula; exactly 1 for classifiers with the same probabilities.
    rope : float
        Half-width of the region of practical equivalence, in units of the score.
    n_draws : int
        Number of draws.
    draws_seed : int
        Seed of the draws.

    Notes
    -----
    Draws of each classifier have the posterior of its own `MultiClassScore`. A Gaussian copula joins them. Its
    correlation is chosen so that the difference of two scores has the variance :math:`s^2 / (n + 2)`. Here s is the
    standard deviation of the differences between the losses of the two classifiers, over the n rows and two half rows:
    one with the largest difference that any row could have, if its label were another class, and one with the smallest.
    Neither exceeds the loss of the half row in the prior of one score. These half rows represent rare rows in
    which the losses differ much, of which a test set may contain none.

    Examples
    --------
    >>> import bayescal as bc
    >>> wine = bc.datasets.load_wine()
    >>> found = bc.scores.compare(wine.y_true, wine.y_prob, rng=1)
    >>> found.difference("naive_bayes", "random_forest").interval(0.95)
    (-0.03..., 0.01...)
    """

    scores: dict[str, MultiClassScore]
    correlation: Floats
    rope: float
    n_draws: int
    draws_seed: int

    axis = "classifier"
    _index = ("first", "second")

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, in the order in which they were given."""
        return tuple(self.scores)

    def __getitem__(self, label: str) -> MultiClassScore:
        """Return the score of one classifier, by its name."""
        self._require_label(label)
        return self.scores[label]

    def _instead(self, name: str) -> str:
        """Say where scores and other quantities are; may be empty."""
        if estimand_called(name) is None:
            return ""
        return (
            f" This result has one score, in `result[{self.axis}].mean` and `difference(a, b)`. Errors of calibration, "
            "such as the ECE, come from `compare`; the other score from `bayescal.scores.compare(..., score=)`."
        )

    @property
    def _first(self) -> MultiClassScore:
        return next(iter(self.scores.values()))

    @cached_property
    def _values(self) -> Floats:
        """Joint draws, shape (n_draws, n_classifiers)."""
        root = symmetric_root(self.correlation)
        root /= np.sqrt((root**2).sum(axis=0))
        normal = _checks.generator(self.draws_seed).standard_normal((self.n_draws, len(self))) @ root
        twins = (self.correlation == 1).argmax(axis=0)  # the first classifier with the same probabilities
        shares = ndtr(normal[:, twins])
        return np.stack([each.quantile(p) for each, p in zip(self.scores.values(), shares.T, strict=True)], axis=1)

    def _record(self, estimand: EstimandLike | None) -> Estimand:
        """Return the score as a record; there is no other estimand."""
        if estimand is not None:
            raise TypeError(
                f"A ScoreComparison has one quantity, the {self._first.name}, and takes no `estimand`; errors of "
                "calibration are compared by `bayescal.compare`."
            )
        return Estimand(self._first.name, _of_bins, self._first.name)

    def draws(self, estimand: EstimandLike | None = None) -> Draws:
        """Joint draws of the scores of all classifiers.

        Parameters
        ----------
        estimand : None
            The score is the only estimand.

        Returns
        -------
        Draws
            Shape (n_draws, n_classifiers), in the order of `labels`. Two names of one classifier have the same draws.

        Raises
        ------
        TypeError
            If an estimand is given.
        """
        self._record(estimand)
        return Draws(self._values, f"{self._first.name} by {self.axis}")

    def each(self, prob: float = 0.95, *, estimand: EstimandLike | None = None) -> list[dict[str, Any]]:
        """Return one dict per classifier, as data.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.
        estimand : None
            The score is the only estimand.

        Returns
        -------
        list of dict
            Keys classifier, mean, sd, low, high, p_best, rank and observed (the mean loss of the rows). Mean, sd and
            interval are those of `MultiClassScore`, without Monte Carlo error.
        """
        rows = super().each(prob, estimand=estimand)
        for row, score in zip(rows, self.scores.values(), strict=True):
            low, high = score.interval(prob)
            row |= {"mean": score.mean, "sd": score.sd, "low": low, "high": high, "observed": score.observed}
        return rows

    #: The decision table.
    table = Joint.pairs_table

    def _rope(self) -> float:
        return self.rope

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every score and every difference.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals.
        **options
            Passed to `arviz.summary`.

        Returns
        -------
        pandas.DataFrame
            Rows ``score[A]``, ``score[B]``, ..., ``difference[A - B]``, ...
        """
        prob, pairs = _checks.fraction("prob", prob), list(combinations(self._listed(None), 2))
        differences = np.stack([self.difference(*pair).values for pair in pairs], axis=1)
        labels = {"score": self.names, "difference": [f"{first} - {second}" for first, second in pairs]}
        return _arviz.summary({"score": self._values, "difference": differences}, prob, labels, **options)

    def to_datatree(self) -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` (``score``), ``observed_data`` (number of rows) and ``constant_data`` (observed score),
            along the dimension ``classifier``.
        """
        scores = self.scores.values()
        return _arviz.datatree(
            {"score": self._values},
            observed={"n_rows": np.array([each.n_rows for each in scores])},
            constant={"observed_score": np.array([each.observed for each in scores])},
            along=self.axis,
            coords={self.axis: np.array(self.names)},
            attrs={"spec": self.spec, "score": self._first.name, "rope": self.rope},
        )

    def sentence(self, prob: float = 0.95) -> str:
        """The result in words: the best classifier and the second best.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.

        Returns
        -------
        str
            The verdict, the difference as in `table` with its interval, and the probabilities of better, worse and
            equal.
        """
        return self._verdict.sentence(prob)

    def verdict(self) -> str:
        """The result in words without its numbers, for a title.

        Returns
        -------
        str
            The beginning of `sentence`.
        """
        return self._verdict.short()

    @property
    def _verdict(self) -> Verdict:
        (better, worse), (first, second) = self._in_order(None)[:2], self._listed(None)[:2]
        difference, words = self.difference(first, second), self._first.name
        return Verdict(
            better,
            worse,
            self.decide(better, worse),
            (first, second),
            difference,
            words,
            words,
            f"has a smaller {words} than",
            self.rope,
            exactly_equal=not difference.values.any(),
            decimals=_decimals(difference),
        )

    @property
    def spec(self) -> str:
        """Score, convention, rows and rope, on one line."""
        return f"{len(self)} {self.axis}s on the same rows: {self._first.question}, rope {self.rope:g}"

    @property
    def key(self) -> str:
        """The meaning of the columns of the decision table."""
        return pair_key(self.axis, self.rope, self._first.name)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all rows."""
        rows = self._rows(shown_pairs(self._listed(None), whole=whole), 0.95, None)
        narrowest = min((row["high"] - row["low"] for row in rows if row["high"] > row["low"]), default=0.0)
        d = max(4, _render.decimals(narrowest) + 1)
        lines = label_lines(self.each(), self.axis, self._first.name, d)
        remarks = [*lines, *of_several({label: each.remarks for label, each in self.scores.items()})]
        return _render.Sheet(self.sentence(), self.spec, HEADER, pair_cells(rows, d), remarks, [self.key])


def _decimals(difference: Draws) -> int:
    """Return the number of decimals that shows two digits of the width of an interval; at least three."""
    low, high = difference.interval(0.95)
    return max(3, _render.decimals(high - low) + 1, _render.places(low, high))


def _of_bins(bin_draws: BinDraws) -> Draws:
    """Refuse: a score of all classes is no function of the bins."""
    raise TypeError("A score of all classes is no function of the bins; draw it by `ScoreComparison.draws`.")
