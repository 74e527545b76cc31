"""Does recalibration pay? Test rows before and after recalibration on validation rows -> LossRatio."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal._meant import public
from bayescal.analyses.one import remarks_on
from bayescal.analyses.recalibrators import IsotonicRecalibration, LogisticRecalibration
from bayescal.cumulative.analysis import cumulative_difference_of
from bayescal.data.predictions import Predictions
from bayescal.decisions.counts import ThresholdCounts
from bayescal.decisions.loss_ratio_result import LossRatio

#: Methods of recalibration by name.
METHODS: Mapping[str, Any] = MappingProxyType({"isotonic": IsotonicRecalibration, "logistic": LogisticRecalibration})
#: Thresholds by default.
THRESHOLDS = np.arange(1, 20) / 20


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
    classes: Sequence[Any] | None = None,
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
    draws, rng, classes
        As for `bayescal.evaluate`.
    logits : bool, default False
        Whether `y_prob` and `y_prob_validation` hold log odds.

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
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
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
        raise ValueError(
            "`y_true_validation` and `y_prob_validation` must be other rows than the test rows; both columns are equal "
            "to `y_true` and `y_prob`. A recalibration always lowers the loss of the rows that it is fitted to: split "
            "the rows in two parts."
        )
