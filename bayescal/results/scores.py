"""Proper scores of all classes, their comparison, and their parts: by bins (Murphy), by isotonic regression (CORP)."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaincinv, ndtr

from bayescal import _arviz, _checks, _presented, _render
from bayescal._arrays import Floats, pd, xr
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import EstimandLike, estimand_called
from bayescal.posterior.joint import symmetric_root
from bayescal.results.comparable import HEADER, label_lines, pair_cells, pair_key, shown_pairs
from bayescal.results.joint import Judged
from bayescal.results.remarks import of_several


@public
@dataclass(frozen=True, repr=False)
class MultiClassScore(_presented.Presented):
    r"""A mean loss over rows and its posterior; smaller is better.

    Returned by `bayescal.scores.multiclass_brier` and `bayescal.scores.multiclass_log`.

    Parameters
    ----------
    name : str
        Name of the score.
    convention : str
        The convention in words, such as "sum over 3 classes".
    n_rows : int
        Number of rows.
    effective_rows : float
        Effective number of rows (Kish), which is `n_rows` without weights.
    observed : float
        Mean loss of the rows.
    mean_square : float
        Mean squared loss of the rows.
    prior_loss : float
        Loss of the second half row of the prior, see below.
    largest : float
        Largest possible loss; infinite for the log score.
    remarks : tuple of str
        How the probabilities were read, if not as they are.

    Notes
    -----
    The losses of rows are independent and have one distribution, which is not assumed to have any form. To the n rows,
    two half rows are added: one with loss 0, and one with `prior_loss`. Let m and s be the mean and the standard
    deviation of the losses of these n + 1 rows. The mean loss of the population has mean m and variance
    :math:`s^2 / (n + 2)`, as in a Bayesian bootstrap [1]_. Its distribution is Beta between 0 and `largest`, or Gamma
    if there is no largest loss. If all losses are 0 or the largest, this is the posterior of a proportion with
    Jeffreys' prior. With many rows it is nearly Normal.

    The half row with `prior_loss` represents rare rows with a large loss, of which a test set may contain none. In
    simulations without it, 95 % intervals contained the true score of an accurate classifier in less than half of the
    test sets.

    References
    ----------
    .. [1] D. B. Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.
    """

    name: str
    convention: str
    n_rows: int
    effective_rows: float
    observed: float
    mean_square: float
    prior_loss: float
    largest: float
    remarks: tuple[str, ...] = ()

    _columns = ("mean", "sd", "low", "high", "plug_in")

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return (self.effective_rows * self.observed + self.prior_loss / 2) / (self.effective_rows + 1)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        n = self.effective_rows
        square = (n * self.mean_square + self.prior_loss**2 / 2) / (n + 1)
        return float(np.sqrt((square - self.mean**2) / (n + 2)))

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Credible interval, equal-tailed.

        The bounds are quantiles of the Beta or Gamma distribution, which do not depend on random numbers.
        """
        tail = (1 - _checks.fraction("prob", prob)) / 2
        low, high = self.quantile(np.array([tail, 1 - tail]))
        return float(low), float(high)

    def quantile(self, p: ArrayLike) -> Floats:
        """Quantiles of the posterior, in the shape of `p`.

        Parameters
        ----------
        p : array-like
            Probabilities in [0, 1].
        """
        shape, other = self._shapes
        if np.isfinite(self.largest):
            return np.asarray(self.largest * betaincinv(shape, other, p))
        return np.asarray(other * gammaincinv(shape, p))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> Draws:
        """Draw the mean loss of the population from its posterior.

        The draws are independent; their shape is (n_draws,).
        """
        n_draws = _checks.whole_number("n_draws", n_draws)
        generator, (shape, other) = _checks.generator(rng), self._shapes
        if np.isfinite(self.largest):
            return Draws(self.largest * generator.beta(shape, other, n_draws), self.name)
        return Draws(generator.gamma(shape, other, n_draws), self.name)

    @property
    def _shapes(self) -> tuple[float, float]:
        """Parameters of the Beta distribution of score / largest; shape and scale of the Gamma distribution."""
        if not np.isfinite(self.largest):
            return self.mean**2 / self.sd**2, self.sd**2 / self.mean
        mean, sd = self.mean / self.largest, self.sd / self.largest
        total = mean * (1 - mean) / sd**2 - 1
        return mean * total, (1 - mean) * total

    @property
    def question(self) -> str:
        """Score, convention and rows, in words."""
        weighted = f" (weighted, effective N = {self.effective_rows:.0f})" if self.effective_rows != self.n_rows else ""
        return f"{self.name}, {self.convention}, N = {self.n_rows}{weighted}"

    @property
    def spec(self) -> str:
        """Score, convention, rows, observed value and interval, on one line."""
        low, high = map(self._number, self.interval())
        return f"{self.question}: {self._number(self.observed)}, 95 % interval [{low}, {high}]"

    def sentence(self, prob: float = 0.95) -> str:
        """Return the observed score with its convention, and the interval, in words."""
        low, high = map(self._number, self.interval(prob))
        return (
            f"The observed {self.name} ({self.convention}) is {self._number(self.observed)} ({100 * prob:g} % credible "
            f"interval {low} to {high})."
        )

    def _number(self, value: float) -> str:
        low, high = self.interval()
        return _render.number(value, max(_render.decimals(high - low) + 1, _render.places(low, high)))

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        low, high = self.interval(prob)
        numbers = {"mean": self.mean, "sd": self.sd, "low": low, "high": high, "plug_in": self.observed}
        return [{"quantity": self.name, **numbers}]

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = ("", "mean", "sd", "2.5 %", "97.5 %", "observed")
        rows = [[row["quantity"], *map(self._number, list(row.values())[1:])] for row in self._records(0.95)]
        return _render.Sheet(self.sentence(), self.spec, header, rows, self.remarks)


@public
@dataclass(frozen=True, eq=False, repr=False)
class ScoreComparison(Judged):
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
    >>> wine = bc.datasets.load_wine()
    >>> comparison = bc.scores.compare(wine.y_true, wine.y_prob, rng=1)
    >>> comparison.difference("naive_bayes", "random_forest").interval(0.95)
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
            f" This result has one score, in `result[{self.axis}].mean` and `difference(first, second)`. Errors of "
            "calibration, such as the ECE, come from `compare`; the other score from "
            "`bayescal.scores.compare(labels, matrices, score='log')`."
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

        Their shape is (n_draws, n_classifiers), in the order of `labels`. Names of one classifier have the same draws.

        Parameters
        ----------
        estimand : None
            The score is the only estimand.

        Raises
        ------
        TypeError
            If an estimand is given.
        """
        self._record(estimand)
        return Draws(self._values, f"{self._first.name} by {self.axis}")

    def each(self, prob: float = 0.95, *, estimand: EstimandLike | None = None) -> list[dict[str, Any]]:
        """Return one dict per classifier, as data.

        Keys are classifier, mean, sd, low, high, p_best, rank and observed (the mean loss of the rows). Mean, sd and
        interval are those of `MultiClassScore`, without Monte Carlo error.

        Parameters
        ----------
        estimand : None
            The score is the only estimand.
        """
        rows = super().each(prob, estimand=estimand)
        for row, score in zip(rows, self.scores.values(), strict=True):
            low, high = score.interval(prob)
            row |= {"mean": score.mean, "sd": score.sd, "low": low, "high": high, "observed": score.observed}
        return rows

    #: The decision table.
    table = Judged.pairs_table

    def summary(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """ArviZ's table of every score and every difference.

        Rows are ``score[A]``, ``score[B]``, ..., ``difference[A - B]``, ...
        """
        prob, (pairs, differences) = _checks.fraction("prob", prob), self._pair_differences(None)
        labels = {"score": self.names, "difference": pairs}
        return _arviz.summary({"score": self._values, "difference": differences}, prob, labels, **options)

    def to_datatree(self) -> "xr.DataTree":
        """The joint draws as an ArviZ DataTree.

        It has the groups ``posterior`` (``score``), ``observed_data`` (number of rows) and ``constant_data`` (observed
        score), along the dimension ``classifier``.
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
        """Return the verdict on the best classifier and the second best, in words.

        The sentence also has the difference as in `table` with its interval, and the probabilities of better, worse and
        equal.
        """
        return self._verdict(None).sentence(prob)

    def verdict(self) -> str:
        """Return the beginning of `sentence`, without numbers, for a title."""
        return self._verdict(None).short()

    def _words(self, estimand: EstimandLike | None) -> str:
        return self._first.name

    def _decimals(self, difference: Draws) -> int:
        """Number of decimals that shows two digits of the width of the interval; at least three."""
        low, high = difference.interval(0.95)
        return max(3, _render.decimals(high - low) + 1, _render.places(low, high))

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


def _of_bins(bin_draws: BinDraws) -> Draws:
    """Refuse: a score of all classes is no function of the bins."""
    raise TypeError("A score of all classes is no function of the bins; draw it by `ScoreComparison.draws`.")


#: Part -> its sign in the sum.
MURPHY = {"reliability": 1, "resolution": -1, "uncertainty": 1, "within_bin_variance": 1, "within_bin_covariance": -1}
CORP = {"miscalibration": 1, "discrimination": -1, "uncertainty": 1}


@dataclass(frozen=True, repr=False)
class _Decomposition(_presented.Presented):
    """A score and its parts; subclasses have one field per part and name the signs."""

    score: float
    score_name: str
    question: str
    of_rows: tuple[str, ...] = field(default=(), kw_only=True)

    _index = ("part",)
    _columns = ("sign", "value")

    _signs: ClassVar[dict[str, int]]
    _remark: ClassVar[str]

    @property
    def spec(self) -> str:
        """Score, method and rows, on one line."""
        return self.question

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.question}: {self._sum()})"

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        parts = [
            {"part": name, "sign": "+" if sign > 0 else "-", "value": getattr(self, name)}
            for name, sign in self._signs.items()
        ]
        return [*parts, {"part": self.score_name, "sign": "=", "value": self.score}]

    def sentence(self) -> str:
        """Return the score as the sum of its parts, with their signs, in words."""
        return f"The observed {self.score_name} is {self._sum()}."

    def _sum(self) -> str:
        first, *others = self._cells()[:-1]
        terms = "".join(f" {sign} {_words(name)} {value}" for name, sign, value in others)
        return f"{self._number(self.score)} = {_words(first[0])} {first[2]}{terms}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        rows = [[_words(name), sign, value] for name, sign, value in self._cells()]
        return _render.Sheet(self.sentence(), self.spec, ("part", "sign", "value"), rows, [*self.of_rows, self._remark])

    def _cells(self) -> list[list[str]]:
        return [[row["part"], row["sign"], self._number(row["value"])] for row in self._records(0.95)]

    def _number(self, value: float) -> str:
        return _render.number(value, _render.decimals(abs(self.score) / 100, 4))


def _words(name: str) -> str:
    return name.replace("_", " ").replace("within bin ", "within-bin ")


@public
@dataclass(frozen=True, repr=False)
class MurphyDecomposition(_Decomposition):
    r"""The Brier score of counts and its five parts by bins.

    Returned by `murphy_decomposition` and by ``brier_decomposition(method="murphy")``.

    Parameters
    ----------
    score : float
        The Brier score: reliability - resolution + uncertainty + within-bin variance - within-bin covariance.
    score_name : str
        Name of the score.
    question : str
        Score, method, bins and rows, in words.
    reliability : float
        Mean squared gap of the bins, :math:`\sum_b \frac{n_b}{N} (\bar c_b - \bar z_b)^2`; smaller is better.
    resolution : float
        Variance of the outcome shares of the bins, :math:`\sum_b \frac{n_b}{N} (\bar z_b - \bar z)^2`; larger is
        better.
    uncertainty : float
        Variance of the outcome, :math:`\bar z (1 - \bar z)`.
    within_bin_variance : float
        Mean variance of the confidences within bins.
    within_bin_covariance : float
        Twice the mean covariance of confidence and outcome within bins.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.

    Examples
    --------
    >>> parts = bc.scores.brier_decomposition([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], method="murphy", bins=2)
    >>> parts.sentence().partition(" + within-bin")[0]
    'The observed Brier score is 0.1250 = reliability 0.0400 - resolution 0.0625 + uncertainty 0.1875'
    >>> round(parts.within_bin_variance, 4), round(parts.within_bin_covariance, 4)
    (0.01, 0.05)
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float

    _signs = MURPHY
    _remark = text_of("parts of Murphy")

    @property
    def generalized_resolution(self) -> float:
        """Resolution - within-bin variance + within-bin covariance, so that three parts add up to the score."""
        return self.resolution - self.within_bin_variance + self.within_bin_covariance


@public
@dataclass(frozen=True, repr=False)
class CorpDecomposition(_Decomposition):
    """A score and its three parts by isotonic regression.

    Returned by `brier_decomposition` and `bayescal.scores.log_decomposition`.

    Parameters
    ----------
    score : float
        The Brier score or the log score: miscalibration - discrimination + uncertainty.
    score_name, question, of_rows
        As for `MurphyDecomposition`.
    miscalibration : float
        Score minus the score after isotonic regression on the same rows; at least 0, smaller is better.
    discrimination : float
        Score of the constant forecast minus the score after isotonic regression; at least 0, larger is better.
    uncertainty : float
        Score of the constant forecast, whose probability is the observed share of outcome 1.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float

    _signs = CORP
    _remark = text_of("parts of isotonic regression")
