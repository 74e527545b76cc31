"""Recalibration of the probabilities of an event: transformers with the interface of scikit-learn."""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from bayescal import _checks
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.analyses.one import count_rows
from bayescal.data.columns import column, numbers, own_hints, require_marks
from bayescal.data.frames import to_array
from bayescal.data.predictions import Columns, Predictions, read_rows
from bayescal.estimands.decompositions import isotonic_fit
from bayescal.posterior.shrinkage.independent.drift import LEVERAGE_FLOOR
from bayescal.posterior.shrinkage.model import shrinkage_posterior
from bayescal.stats.sums import logit

DRIFT = "logistic"  #: Sub-model of the shrinkage prior whose bins lie on a logistic curve.


def _read(y_prob: Any, y_true: Any, weights: Any) -> Predictions:
    """Read the rows of one event; errors name no keyword of `evaluate`."""
    shape = to_array("y_prob", y_prob).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"`y_prob` must be one column, the probabilities of the event; its shape is {shape}. For two classes pass "
            "`y_prob[:, 1]`. Of several classes, recalibrate one at a time, as in `fit(y_prob[:, k], y_true == k)`."
        )
    require_marks("y_true", y_true)
    with own_hints():
        rows = read_rows(y_true, y_prob, target="event", weights=weights)
        assert isinstance(rows, Columns)  # the target `event` has one column
        return rows.checked().scale_free()


def _require_both_outcomes(rows: Predictions) -> None:
    outcomes = rows.outcome if rows.weight is None else rows.outcome[rows.weight > 0]
    first = outcomes[:1].astype(int)
    if (outcomes == first).all():
        raise ValueError(
            f"`y_true` must hold both outcomes to fit a recalibration; all {len(outcomes)} rows of positive weight "
            f"have outcome {first[0]}."
        )


class _Recalibration:
    """Base of both transformers: reads columns, and has the methods that scikit-learn calls."""

    _parameters: ClassVar[tuple[str, ...]] = ()  #: Parameters of the constructor.
    #: An attribute that `fit` sets.
    _fitted: ClassVar[str]

    def _fit(self, rows: Predictions) -> None:
        raise NotImplementedError

    def _recalibrated(self, probability: Floats) -> Floats:
        raise NotImplementedError

    def fit(self, y_prob: Any, y_true: Any, *, weights: Any = None) -> Self:
        """Fit to rows that the classifier was not trained on, and return the transformer.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,) or (n_rows, 1)
            Probabilities of the event. They come first, as the features of scikit-learn's estimators do.
        y_true : array-like of {0, 1} or bool, shape (n_rows,)
            Whether the event happened.

        Raises
        ------
        ValueError, TypeError
            If values are missing or invalid, or all rows of positive weight have the same outcome.
        """
        rows = _read(y_prob, y_true, weights)
        _require_both_outcomes(rows)
        self._fit(rows)
        return self

    def transform(self, y_prob: Any) -> Floats:
        """Recalibrate probabilities.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,) or (n_rows, 1)
            Probabilities of the event.

        Returns
        -------
        ndarray of float64
            Recalibrated probabilities, of the shape of `y_prob`.

        Raises
        ------
        ValueError, TypeError
            If values are missing or not in [0, 1].
        AttributeError
            If `fit` has not been called.
        """
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted: call `fit(y_prob, y_true)` first.")
        array = to_array("y_prob", y_prob)
        values = numbers("y_prob", column("y_prob", array))
        if not len(values):
            return np.empty(array.shape)
        with own_hints():
            valid = _checks.probabilities("y_prob", values)
        return self._recalibrated(valid.astype(np.float64)).reshape(array.shape)

    def fit_transform(self, y_prob: Any, y_true: Any, *, weights: Any = None) -> Floats:
        """Fit to rows and recalibrate the same rows, whose errors look smaller than those of new rows.

        Parameters
        ----------
        y_prob, y_true, weights
            As for `fit`; the result is that of `transform`.
        """
        return self.fit(y_prob, y_true, weights=weights).transform(y_prob)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name, if there are any, as scikit-learn's estimators do.

        Parameters
        ----------
        deep : bool, default True
            Without effect, because no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in self._parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor, which the next `fit` uses, and return the transformer.

        Parameters
        ----------
        **params
            Parameters by name.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        for name, value in params.items():
            if name not in self._parameters:
                known = ", ".join(self._parameters) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; its parameters: {known}.")
            setattr(self, name, value)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._fitted)

    def __sklearn_tags__(self) -> Any:
        """Describe the transformer to scikit-learn, the only caller: it need not be installed otherwise."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(one_d_array=True),
        )

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._parameters)
        return f"{type(self).__name__}({parameters})"


@public
class LogisticRecalibration(_Recalibration):
    r"""Recalibration of the probabilities of an event by an intercept and a slope on the logit scale.

    The recalibrated probability of p is :math:`\mathrm{expit}(\mathrm{logit}\, p + a + (b - 1)\, \mathrm{logit}\, p)`
    [1]_, where the intercept a and the slope b are posterior means under the sub-model "logistic" of
    `shrinkage_posterior`. Priors keep the intercept near 0 and the slope near 1, so that few rows change the
    probabilities little.

    Parameters
    ----------
    bins : int, default 100
        Number of bins with equal numbers of rows, in which rows are counted for the fit. With fewer bins, the
        probabilities within a bin may differ, and the slope is less accurate.
    intercept_sd : float, default 0.5
        Prior standard deviation of the intercept.
    log_slope_sd : float, default 0.5
        Prior standard deviation of the logarithm of the slope.

    Attributes
    ----------
    intercept_ : float
        Posterior mean of the intercept, after `fit`; 0 for calibrated probabilities.
    slope_ : float
        Posterior mean of the slope, after `fit`; 1 for calibrated probabilities, below 1 if they are too extreme.

    See Also
    --------
    IsotonicRecalibration : Any non-decreasing function; needs more rows.

    Notes
    -----
    The map does not decrease, so it never reverses two rows. Probabilities outside [1e-9, 1 - 1e-9] become ties, as do
    probabilities whose results differ by less than the rounding of float64 near 1; otherwise the ranking of rows, and
    with it the area under the ROC curve, stays the same.
    Probabilities are clipped to [1e-9, 1 - 1e-9], and to [1e-4, 1 - 1e-4] in the term with the slope, as in the
    sub-model; results are never 0 or 1. More extreme probabilities are therefore corrected in part only; if their size
    means nothing, clip them before `fit` and `transform`. The fit does not use random numbers. Two numbers describe the
    map, so that it can be used without this package. The posterior mean of the recalibrated probability, which averages
    over intercepts and slopes, would not be such a map.

    References
    ----------
    .. [1] D. R. Cox (1958), "Two further applications of a model for binary regression", Biometrika 45, 562-565.

    Examples
    --------
    Probabilities that are too extreme by a factor of 2 on the logit scale:

    >>> rows = simulate(5000, population="flat", curve="temperature", strength=2, rng=1)
    >>> recalibration = bc.LogisticRecalibration().fit(rows.confidence, rows.outcome)
    >>> round(recalibration.intercept_, 2), round(recalibration.slope_, 2)
    (0.02, 0.51)
    >>> recalibration.transform([0.1, 0.5, 0.9]).round(2)
    array([0.25, 0.5 , 0.76])
    """

    intercept_: float
    slope_: float

    _parameters = ("bins", "intercept_sd", "log_slope_sd")
    _fitted = "slope_"

    def __init__(self, *, bins: Any = 100, intercept_sd: float = 0.5, log_slope_sd: float = 0.5) -> None:
        self.bins = bins
        self.intercept_sd = intercept_sd
        self.log_slope_sd = log_slope_sd

    def _fit(self, rows: Predictions) -> None:
        counts = count_rows(rows, self.bins, "equal-mass")
        posterior = shrinkage_posterior(
            counts, intercept_sd=self.intercept_sd, log_slope_sd=self.log_slope_sd, sub_models=[DRIFT]
        )
        means = posterior.parameter_means()[DRIFT]
        self.intercept_, self.slope_ = means["intercept"], means["slope"]

    def _recalibrated(self, probability: Floats) -> Floats:
        moved = logit(probability) + self.intercept_ + (self.slope_ - 1) * logit(probability, LEVERAGE_FLOOR)
        return np.clip(expit(moved), np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)


@public
class IsotonicRecalibration(_Recalibration):
    """Recalibration of the probabilities of an event by isotonic regression.

    The map is the non-decreasing function with the smallest Brier score on the rows of `fit` [1]_. Between their
    probabilities it is linear, and outside their range it is constant.

    Attributes
    ----------
    probability_ : ndarray, shape (n_levels,)
        Distinct probabilities of the rows of `fit`, increasing.
    recalibrated_ : ndarray, shape (n_levels,)
        Their recalibrated values.

    See Also
    --------
    LogisticRecalibration : An intercept and a slope; needs fewer rows.

    Notes
    -----
    Rows with equal probabilities are pooled. The map has flat parts, which make ties, and its first and last values are
    often exactly 0 and 1, so that the log score of new rows may be infinite. On the rows of `fit` every flat part is
    calibrated by construction: only rows that were not used for `fit` show how well the result is calibrated.
    scikit-learn's ``IsotonicRegression(out_of_bounds="clip")`` is the same function, except that it also pools
    probabilities that differ by less than 1e-15 (1e-6 for float32).

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan (2002), "Transforming classifier scores into accurate multiclass probability
       estimates", Proceedings of the 8th ACM SIGKDD Conference, 694-699.

    Examples
    --------
    >>> recalibration = bc.IsotonicRecalibration().fit([0.2, 0.4, 0.7, 0.9], [0, 1, 0, 1])
    >>> recalibration.transform([0.1, 0.3, 0.5, 0.9])
    array([0.  , 0.25, 0.5 , 1.  ])
    """

    probability_: Floats
    recalibrated_: Floats

    _fitted = "recalibrated_"

    def _fit(self, rows: Predictions) -> None:
        fit = isotonic_fit(rows.confidence, rows.outcome, rows.weight)
        self.probability_, self.recalibrated_ = fit.confidence, fit.fitted

    def _recalibrated(self, probability: Floats) -> Floats:
        # a slope between two tiny probabilities may overflow
        values = np.interp(probability, self.probability_, self.recalibrated_)
        return np.clip(values, self.recalibrated_[0], self.recalibrated_[-1])
