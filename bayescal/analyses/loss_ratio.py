"""Does recalibration pay? Test rows before and after recalibration on validation rows -> LossRatio."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bayescal import _checks
from bayescal.analyses.cumulative import cumulative_difference_of
from bayescal.analyses.recalibrators import IsotonicRecalibration, LogisticRecalibration
from bayescal.data.marks import require_marks
from bayescal.data.predictions import Predictions
from bayescal.results.loss_ratio import LossRatio
from bayescal.stats.threshold_counts import ThresholdCounts

#: Methods of recalibration by name.
METHODS: Mapping[str, Any] = MappingProxyType({"isotonic": IsotonicRecalibration, "logistic": LogisticRecalibration})
#: Thresholds by default.
THRESHOLDS = np.arange(1, 20) / 20


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
) -> LossRatio:
    r"""Measure what recalibration on validation rows changes in the loss of decisions on test rows.

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
    draws : int, default 4000
        Number of draws.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    LossRatio
        Draws of the loss before and after, and of their ratio, at each threshold and averaged.

    Raises
    ------
    ValueError, TypeError
        As for `net_benefit` and the transformers; if the loss before is 0 at a threshold.

    Notes
    -----
    The loss at the threshold t is t for a false positive and 1 - t for a false negative, per row. This is the
    experiment of Gao, Parameswaran and Peng. Draws come from a Bayesian bootstrap [1]_ of the test rows, jointly before
    and after. The page "Does recalibration pay?" shows how often the intervals contain the truth.

    References
    ----------
    .. [1] D. B. Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> from bayescal.datasets.simulate import simulate
    >>> test, validation = (simulate(2000, population="flat", curve="shift", strength=1.0, rng=i) for i in (1, 2))
    >>> found = loss_ratio(test.outcome, test.confidence, validation.outcome, validation.confidence, rng=1)
    >>> found.mean_ratio.interval()
    (0.7..., 0.8...)
    """
    require_marks("y_true", y_true)
    _checks.one_of("recalibration", recalibration, METHODS)
    draws = _checks.whole_number("draws", draws, 2)
    rows = Predictions.from_outcomes(y_true, y_prob, weights, names=("y_true", "y_prob"), target="event").scale_free()
    fitted = METHODS[recalibration]().fit(y_prob_validation, y_true_validation)
    after = Predictions(
        confidence=fitted.transform(rows.confidence), outcome=rows.outcome, weight=rows.weight, target="event"
    )
    counts = ThresholdCounts.from_predictions(
        {"before": rows, "after": after}, THRESHOLDS if thresholds is None else thresholds
    )
    t, outcome = counts.thresholds[:, None], counts.outcome
    treated = counts.cells[:, :2].T[:, None, :] > np.arange(len(t))[:, None]
    losses = np.where(treated, t * (outcome == 0), (1 - t) * (outcome == 1))
    method = f"{recalibration} recalibration on {np.size(y_true_validation)} validation rows"
    seed = int(_checks.generator(rng).integers(2**63))
    found = LossRatio(counts, losses, method, cumulative_difference_of(rows).kuiper, draws, seed)
    nothing = found.observed[0] == 0
    if nothing.any():
        at = counts.thresholds[nothing]
        raise ValueError(
            f"the loss before recalibration must not be 0; it is at {len(at)} of {len(counts.thresholds)} thresholds, "
            f"first at {at[0]:g}: no test row is decided wrongly there. Leave these thresholds out."
        )
    return found
