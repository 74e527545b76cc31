"""Does recalibration pay? Test rows before and after recalibration on validation rows -> LossRatio."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Bools, Classes, Floats, Ints
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.analyses.one import remarks_on
from bayescal.analyses.recalibrators import IsotonicRecalibration, LogisticRecalibration
from bayescal.cumulative.analysis import cumulative_difference_of
from bayescal.data.predictions import Predictions
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.words import counting, ranges, records, shown, thresholds_and_rows
from bayescal.draws import Draws, fingerprint

FEW_WRONG_ROWS = 5  #: A remark names thresholds at which fewer test rows than this are decided wrongly.
FEW_CHANGED_ROWS = 15  #: Another one those at which the decision of fewer test rows than this changes.
#: Weight of the prior in rows at each threshold, as for `net_benefit`; it is the same for each of the cells.
PSEUDO_ROWS = 3.0
#: Cells of the rows at one threshold: treated before, treated after, outcome.
CELLS = np.array(list(np.ndindex(2, 2, 2)))
#: Rounding of sums of effective rows.
ROUNDING = 1e-9
HEADER = ("threshold", "loss before", "loss after", "observed ratio", "mean ratio", "2.5 %", "97.5 %", "changed rows")


@public
@dataclass(frozen=True, eq=False, repr=False)
class LossRatio(_presented.Presented):
    """Loss of decisions after recalibration divided by the loss before, over thresholds.

    Returned by `loss_ratio`.

    Parameters
    ----------
    counts : ThresholdCounts
        Joint counts of the test rows: the probabilities "before" and "after".
    method : str
        How probabilities were recalibrated, and on how many rows.
    c_emp : float
        Kuiper statistic of the test rows before, which bounds what recalibration by a threshold can gain in them.
    n_draws, draws_seed, of_rows
        As for `NetBenefit`.

    Notes
    -----
    At each threshold, rows are in eight cells: treated or not before, after, and their outcome. With one Gamma mass for
    the rows of each cell between thresholds, and one of shape 3 / 8 for each of the eight cells at each threshold, the
    posterior at one threshold is that of `net_benefit` for the models "before" and "after", up to 0.08 pseudo-rows in
    each. The rows have the same masses at all thresholds; pseudo-rows are drawn anew at each, because decisions that
    change at different thresholds are those of different rows. So losses at several thresholds have no common
    prevalence within a draw.
    """

    counts: ThresholdCounts
    method: str
    c_emp: float
    n_draws: int
    draws_seed: int
    of_rows: tuple[str, ...] = ()

    _index = ("threshold",)
    _quantity_name = "loss_ratio"

    @property
    def thresholds(self) -> Floats:
        """The thresholds, shape (n_thresholds,)."""
        return self.counts.thresholds

    @cached_property
    def _loss_draws(self) -> Floats:
        """Draws of the losses before, and of those after, each of shape (n_draws, n_thresholds)."""
        rng, t = _checks.generator(self.draws_seed), self.thresholds
        rows = self.counts.effective()
        mass = rng.standard_gamma(rows, (self.n_draws, len(rows)))
        prior = rng.standard_gamma(PSEUDO_ROWS / len(CELLS), (self.n_draws, len(t), len(CELLS)))
        treated, outcome = CELLS[:, :2].T[:, None, :], CELLS[:, 2]
        lost = mass @ self._losses.swapaxes(1, 2)
        lost += (prior * _losses_of(treated, outcome, t)[:, None]).sum(axis=-1)
        losses: Floats = lost / (mass.sum(axis=1)[:, None] + prior.sum(axis=2))
        return losses

    @property
    def _losses(self) -> Floats:
        """Losses of a row of each joint cell before and after, shape (2, n_thresholds, n_cells)."""
        return _losses_of(self._treated, self.counts.outcome, self.thresholds)

    @cached_property
    def observed(self) -> Floats:
        """Mean losses of the test rows before and after, shape (2, n_thresholds)."""
        mean: Floats = self._losses @ (self.counts.weight / self.counts.weight.sum())
        return mean

    @property
    def _treated(self) -> Bools:
        """Whether rows of each joint cell are treated before and after, shape (2, n_thresholds, n_cells)."""
        return self.counts.cells[:, :2].T[:, None, :] > np.arange(len(self.thresholds))[:, None]

    @property
    def _changes(self) -> Bools:
        """Whether the decision of the rows of each joint cell changes, shape (n_thresholds, n_cells)."""
        before, after = self._treated
        return np.asarray(before != after)

    @property
    def changed(self) -> Ints:
        """Number of test rows whose decision changes at each threshold, shape (n_thresholds,)."""
        return np.asarray(self._changes @ self.counts.n)

    @property
    def few_changed(self) -> Bools:
        """Whether the decision of fewer than 15 (effective) test rows changes, at each threshold."""
        return np.asarray(self._changes @ counting(self.counts) < FEW_CHANGED_ROWS - ROUNDING)

    @cached_property
    def _origin(self) -> int:
        return fingerprint(type(self).__name__, self.counts.fingerprint, self.draws_seed, self.n_draws)

    def _draws(self, values: Floats, name: str) -> Draws:
        return Draws(values, name, self._origin)

    @property
    def before(self) -> Draws:
        """Draws of the loss per row before recalibration, shape (n_draws, n_thresholds)."""
        return self._draws(self._loss_draws[0], "loss before")

    @property
    def after(self) -> Draws:
        """Draws of the loss per row after recalibration, shape (n_draws, n_thresholds)."""
        return self._draws(self._loss_draws[1], "loss after")

    @property
    def ratio(self) -> Draws:
        """Draws of loss after / loss before at each threshold, shape (n_draws, n_thresholds); below 1 is a gain."""
        return self._draws(self._loss_draws[1] / self._loss_draws[0], "loss ratio")

    @property
    def mean_ratio(self) -> Draws:
        """Draws of the mean of the ratios over the thresholds, shape (n_draws,)."""
        return self._draws((self._loss_draws[1] / self._loss_draws[0]).mean(axis=1), "mean loss ratio")

    @property
    def few_wrong(self) -> Bools:
        """Whether fewer than 5 (effective) test rows are decided wrongly before or after, at each threshold."""
        return np.asarray((self._losses > 0).any(axis=0) @ counting(self.counts) < FEW_WRONG_ROWS - ROUNDING)

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per threshold.

        Keys are threshold, before and after (losses of the test rows), ratio (of these), mean (of the posterior), low,
        high, and changed, the number of test rows whose decision changes.
        """
        low, high = self.ratio.interval(prob)
        before, after = self.observed
        of_rows = {"threshold": self.thresholds, "before": before, "after": after, "ratio": after / before}
        return records(of_rows | {"mean": self.ratio.mean(), "low": low, "high": high, "changed": self.changed})

    def sentence(self, prob: float = 0.95) -> str:
        """Return the mean ratio with its interval, and whether recalibration lowers or raises the loss, in words."""
        low, high = self.mean_ratio.interval(prob)
        d = _render.interval_decimals(low, high)
        mean, low_text, high_text = (_render.number(v, d) for v in (self.mean_ratio.mean(), low, high))
        t = self.thresholds
        over = f"at the threshold {t[0]:g}" if len(t) == 1 else f"averaged over {len(t)} thresholds"
        verdict = "lowers" if high < 1 else "raises" if low > 1 else "neither clearly lowers nor clearly raises"
        return (
            f"{self.method[:1].upper()}{self.method[1:]} {verdict} the loss of decisions: the loss after "
            f"recalibration is {mean} times the loss before ({100 * prob:g} % interval {low_text} to {high_text}), "
            f"{over}."
        )

    @property
    def spec(self) -> str:
        """Recalibration, thresholds and rows, on one line."""
        at = thresholds_and_rows(self.counts)
        return f"loss ratio of {self.method}, {at}, prior: {PSEUDO_ROWS:g} pseudo-rows, c_emp before {self.c_emp:.4f}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; with `whole`, all thresholds."""
        every = self.table()
        rows = every if whole else [every[i] for i in shown(self.thresholds)]
        cells = [
            [f"{row['threshold']:g}", *(_render.number(row[name]) for name in list(row)[1:-1]), str(row["changed"])]
            for row in rows
        ]
        remarks = [*self.of_rows]
        if self.few_changed.any():
            remarks.append(
                f"The decision of fewer than {FEW_CHANGED_ROWS} test rows changes at "
                f"{ranges(self.thresholds, self.few_changed)}: the ratio depends on the prior there."
            )
        if self.few_wrong.any():
            remarks.append(
                f"Fewer than {FEW_WRONG_ROWS} test rows are decided wrongly before or after at "
                f"{ranges(self.thresholds, self.few_wrong)}: the loss depends on the prior there."
            )
        if len(rows) < len(every):
            remarks.append(f"The table shows {len(rows)} of {len(every)} thresholds; `table()` has all.")
        return _render.Sheet(self.sentence(), self.spec, HEADER, cells, remarks, [KEY])


#: Meaning of the columns of the table.
KEY = text_of("columns of a loss ratio")


def _losses_of(treated: Bools, outcome: Ints, thresholds: Floats) -> Floats:
    """Loss of rows at each threshold, t for a false positive and 1 - t for a false negative.

    `treated` is whether the rows of each cell are treated before and after, shape (2, n_thresholds or 1, n_cells).
    """
    t = thresholds[:, None]
    return np.where(treated, t * (outcome == 0), (1 - t) * (outcome == 1))


#: Methods of recalibration by name.
METHODS: Mapping[str, Any] = MappingProxyType({"isotonic": IsotonicRecalibration, "logistic": LogisticRecalibration})
THRESHOLDS = np.arange(1, 20) / 20  #: Thresholds by default.


@public
def loss_ratio(
    y_true: Any,
    y_prob: Any,
    y_true_validation: Any,
    y_prob_validation: Any,
    thresholds: Any = None,
    *,
    recalibration: str = "isotonic",
    weights: Any = None,
    draws: int = 4000,
    rng: Any = None,
    classes: Classes = None,
    logits: bool = False,
) -> LossRatio:
    """Estimate the loss of decisions on test rows after recalibration, divided by the loss before.

    Parameters
    ----------
    y_true : array-like of {0, 1} or bool, shape (n_rows,)
        Whether each test row has the event.
    y_prob : array-like of float, shape (n_rows,)
        Probabilities of the event.
    y_true_validation, y_prob_validation : array-like, shape (n_validation,)
        Validation rows, to which the recalibration is fitted.
    thresholds : float or array-like of float, optional
        Thresholds, strictly increasing between 0 and 1; by default 0.05, 0.1, ..., 0.95.
    recalibration : {"isotonic", "logistic"}, default "isotonic"
        `IsotonicRecalibration` or `LogisticRecalibration`.
    weights : array-like of float, shape (n_rows,), optional
        Importance weights of the test rows, >= 0.

    Returns
    -------
    LossRatio
        Draws of the loss before and after, and of their ratio, at each threshold and averaged.

    Raises
    ------
    ValueError, TypeError
        As for `net_benefit`; if the loss before is 0 at a threshold, if the validation rows have one outcome only, or
        if they are the test rows: a recalibration fitted to the test rows has a loss that is too small there.

    Notes
    -----
    The loss at the threshold t is t for a false positive and 1 - t for a false negative, per row. This is the
    experiment of Gao, Parameswaran and Peng [1]_. Test rows have Gamma weights as in the Bayesian bootstrap [2]_,
    jointly before and after; three pseudo-rows are added at each threshold, 3 / 8 of a row for each combination of
    outcome and decisions before and after. Decisions may therefore change where those of no test row do, so that the
    interval never is the single value 1. Pseudo-rows of different thresholds are independent; see `LossRatio`.
    The page "Does recalibration pay?" shows how often the intervals contain the truth.

    References
    ----------
    .. [1] Y. Gao, A. Parameswaran and J. Peng (2017), "On the interpretability of conditional probability estimates in
       the agnostic setting", Electronic Journal of Statistics 11, 5198-5231.
    .. [2] D. B. Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> test, validation = (simulate(2000, population="flat", curve="shift", strength=1.0, rng=i) for i in (1, 2))
    >>> ratio = bc.decisions.loss_ratio(test.outcome, test.confidence, validation.outcome, validation.confidence, rng=1)
    >>> ratio.mean_ratio.interval()
    (0.82..., 0.89...)
    """
    _checks.one_of("recalibration", recalibration, METHODS)
    draws = _checks.whole_number("draws", draws, 2)
    read = partial(Predictions.from_outcomes, target="event", classes=classes, logits=logits)
    rows = read(y_true, y_prob, weights, names=("y_true", "y_prob")).scale_free()
    validation = read(y_true_validation, y_prob_validation, names=("y_true_validation", "y_prob_validation"))
    _require_validation(validation, rows)
    fitted = METHODS[recalibration]().fit(validation.confidence, validation.outcome)
    after = Predictions(
        confidence=fitted.transform(rows.confidence), outcome=rows.outcome, weight=rows.weight, target="event"
    )
    counts = ThresholdCounts.from_predictions(
        {"before": rows, "after": after}, THRESHOLDS if thresholds is None else thresholds
    )
    method = f"{recalibration} recalibration on {len(validation)} validation rows"
    seed = _checks.seeds(rng, 1)[0]
    result = LossRatio(counts, method, cumulative_difference_of(rows).kuiper, draws, seed, remarks_on(rows))
    nothing = result.observed[0] == 0
    if nothing.any():
        at = counts.thresholds[nothing]
        raise ValueError(
            f"the loss before recalibration must not be 0; it is at {len(at)} of {len(counts.thresholds)} thresholds, "
            f"first at {at[0]:g}: no test row is decided wrongly there. Leave these thresholds out."
        )
    return result


def _require_validation(validation: Predictions, rows: Predictions) -> None:
    """Refuse validation rows of one outcome, and the test rows themselves."""
    if (validation.outcome == validation.outcome[0]).all():
        raise ValueError(
            f"`y_true_validation` must hold both outcomes to fit a recalibration; all {len(validation)} rows have "
            f"outcome {int(validation.outcome[0])}."
        )
    same = (validation.confidence, rows.confidence), (validation.outcome, rows.outcome)
    if all(np.array_equal(*pair) for pair in same):
        raise ValueError(text_of("validation rows are test rows"))
