"""The base of cumulative differences: the curve of ordered rows, its slopes, bands and statistics, as text too."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bayescal import _checks, _packages, _presented, _render
from bayescal._arrays import Array, Floats, pd
from bayescal._meant import public
from bayescal.cumulative import statistics as cumulative
from bayescal.cumulative.brownian import quantile_max_abs
from bayescal.results.wording import p_words
from bayescal.stats.ordered import Steps
from bayescal.stats.sums import effective_number

#: How to pass an interval of scores to each method.
ENDS = {name: f"Pass both ends of the interval, as in `{name}(0.2, 0.6)`." for name in ("slope", "zoom")}
P_OF_CHANCE = 0.05  #: P-value above which the sentence does not state a difference.
#: Explanation of the columns of the table.
COLUMNS = (
    '"{null}": mean of the statistic {assuming} (Normal steps); "in sigma": value / sigma, where sigma is the standard '
    'deviation of the last point of the curve {assuming}; "uncorrected": P-value without the step-size correction, as '
    "in Tygert (2021)."
)


class Slope(NamedTuple):
    """The mean difference in an interval of scores: the slope of the cumulative difference.

    Parameters
    ----------
    difference : float
        Weighted mean of the residuals of the rows in the interval.
    standard_error : float
        Its standard error, from the spread of these residuals; NaN for a single row. For subpopulations, it is
        multiplied by the ratio of `null_sigma` and `sigma`, because members are part of the means.
    null_standard_error : float
        Standard error under calibration (for subpopulations, equal means).
    weight : float
        Share of the weight of all rows that lies in the interval.
    """

    difference: float
    standard_error: float
    null_standard_error: float
    weight: float


@public
class CumulativeBand(NamedTuple):
    """A band of the cumulative difference of the population.

    Parameters
    ----------
    score : ndarray, shape (n_points,)
        Scores at which the band is known.
    low, high : ndarray, shape (n_points,)
        Ends of the band.
    """

    score: Array
    low: Floats
    high: Floats


def significant(value: float, places: int) -> str:
    """Format a number with at most `places` decimals, and with at most four significant digits from 1 on."""
    before = len(str(int(abs(value)))) if abs(value) >= 1 and np.isfinite(value) else 0
    return _render.number(value, max(0, min(places, 4 - before)))


@dataclass(frozen=True, eq=False, repr=False)
class Cumulative(_presented.Presented):
    """The base of `CumulativeDifference` and `SubpopulationDifference`.

    Parameters
    ----------
    steps : Steps
        Sums over the rows of each distinct score.
    question : str
        What is compared, and the rows, in words.
    left_out : int
        Number of rows that were left out because their weight is 0.
    """

    steps: Steps
    question: str
    left_out: int = field(default=0, kw_only=True)

    _index = ("quantity",)
    _columns = ("value", "in_sigma", "null_mean", "p_value", "p_value_uncorrected")
    #: Columns of the statistics in units of a standard deviation, with the attribute that holds this unit.
    _units: ClassVar[tuple[tuple[str, str], ...]] = (("in_sigma", "null_sigma"),)

    @property
    def score(self) -> Array:
        """Distinct scores of rows with positive weight, increasing; from counts, upper edges of occupied bins."""
        score = self.steps.upper.view()
        score.setflags(write=False)
        return score

    @property
    def abscissae(self) -> Floats:
        """Share of the weight before the first score (0) and up to each score; shape (n_scores + 1,)."""
        return cumulative.cumulative_weight(self.steps)

    @cached_property
    def _curve(self) -> Floats:
        # numpy's argmin and argmax copy arrays that cannot be written
        return cumulative.cumulative_curve(self.steps)

    @property
    def curve(self) -> Floats:
        """The cumulative difference before the first score (0) and at each score; shape (n_scores + 1,)."""
        curve = self._curve.view()
        curve.setflags(write=False)
        return curve

    @cached_property
    def scale(self) -> cumulative.Scale:
        """The noise of the curve: `sigma`, `robust_sigma` and the mean size of a step."""
        return cumulative.scale(self.steps)

    @property
    def sigma(self) -> float:
        """Standard deviation of the end of the curve under calibration."""
        return self.scale.sigma

    @property
    def null_sigma(self) -> float:
        """Standard deviation behind corrected P-values and all printed numbers: `sigma`, except for subpopulations."""
        return self.scale.null_sigma

    @property
    def robust_sigma(self) -> float:
        """Standard deviation of the end of the curve from squared residuals, without the assumption of calibration."""
        return self.scale.robust_sigma

    @cached_property
    def kuiper(self) -> float:
        """Kuiper statistic: the largest absolute change of the curve between two scores."""
        return float(cumulative.kuiper(self.curve))

    @cached_property
    def kolmogorov_smirnov(self) -> float:
        """Kolmogorov-Smirnov statistic: the largest absolute value of the curve."""
        return float(cumulative.kolmogorov_smirnov(self.curve))

    @property
    def p_kuiper(self) -> float:
        """P-value of the Kuiper statistic: the probability, under calibration, of at least this value."""
        return cumulative.p_kuiper(self.kuiper, self.scale)

    @property
    def p_kuiper_uncorrected(self) -> float:
        """P-value of the Kuiper statistic without the step-size correction, as in Tygert (2021)."""
        return cumulative.p_kuiper(self.kuiper, self.scale, corrected=False)

    @property
    def p_kolmogorov_smirnov(self) -> float:
        """P-value of the Kolmogorov-Smirnov statistic: the probability, under calibration, of at least this value."""
        return cumulative.p_kolmogorov_smirnov(self.kolmogorov_smirnov, self.scale)

    @property
    def p_kolmogorov_smirnov_uncorrected(self) -> float:
        """P-value of the Kolmogorov-Smirnov statistic without the step-size correction, as in Tygert (2021)."""
        return cumulative.p_kolmogorov_smirnov(self.kolmogorov_smirnov, self.scale, corrected=False)

    @property
    def n(self) -> int:
        """Number of rows with positive weight."""
        return int(self.steps.n_rows.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective number of rows, the squared sum of weights over the sum of squared weights."""
        return effective_number(self.steps.weight, self.steps.weight_sq)

    @property
    def average_difference(self) -> float:
        """Weighted mean of the residuals, the last value of the curve; `slope` has its standard error."""
        return float(self._curve[-1])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the noise, the P-values and the rows, which are printed below the table."""
        left_out = f"{self.left_out} row{'s' if self.left_out > 1 else ''} of weight 0 left out."
        return (*self._remarks(), *[left_out] * (self.left_out > 0))

    @property
    def worst_interval(self) -> tuple[float, float]:
        """Ends of the interval of scores over which the curve changes most; they belong to it. From counts, edges."""
        begin, end = self._worst()
        return float(self.steps.lower[begin]), float(self.steps.upper[end - 1])

    def _worst(self) -> tuple[int, int]:
        """Return the points of the curve at its minimum and maximum, in order."""
        begin, end = sorted((int(self._curve.argmin()), int(self._curve.argmax())))
        return (begin, end) if begin < end else (0, len(self.score))

    def slope(self, low: float, high: float) -> Slope:
        """Compute the mean difference over an interval of scores: the slope of the curve.

        Parameters
        ----------
        low, high : float
            Ends of the interval, which belong to it.

        Returns
        -------
        Slope
            The mean difference, its standard error, its standard error under calibration, and the share of the weight.

        Raises
        ------
        ValueError
            If an end is missing or not a number, `low` exceeds `high`, or no score lies in the interval.

        Examples
        --------
        The mean of the outcomes minus scores 1 - 0.2, 0 - 0.4 and 1 - 0.7 is 0.233.

        >>> import bayescal as bc
        >>> cd = bc.cumulative.difference([1, 0, 1, 1], [0.2, 0.4, 0.7, 0.9])
        >>> [round(value, 3) for value in cd.slope(0.1, 0.8)]
        [0.233, 0.348, 0.26, 0.75]
        """
        part = self._between(low, high, "slope")
        weight, squares = float(part.weight.sum()), float(part.weight_sq.sum())
        mean = float(part.deviation.sum()) / weight
        spread = float(part.deviation_sq.sum()) - 2 * mean * float(part.deviation_weight_sq.sum()) + mean**2 * squares
        freedom = 1 - squares / weight**2  # with equal weights, 1 - 1/n
        rows = int(part.n_rows.sum())
        error = float(np.sqrt(max(spread, 0.0) / freedom)) / weight if rows > 1 and freedom > 0 else float("nan")
        noise = cumulative.scale(part)
        if noise.sigma > 0:  # members of a subpopulation are part of the mean; else the ratio is 1
            error *= noise.null_sigma / noise.sigma
        return Slope(mean, error, noise.null_sigma, weight / float(self.steps.weight.sum()))

    def zoom(self, low: float, high: float) -> Self:
        """Return the cumulative difference of the rows whose scores lie in an interval, computed anew.

        Parameters
        ----------
        low, high : float
            Ends of the interval, which belong to it.

        Returns
        -------
        CumulativeDifference or SubpopulationDifference
            The curve begins with 0 at `low`, and weights are divided by the weight of the rows in the interval.

        Raises
        ------
        ValueError
            As for `slope`.
        """
        part = self._between(low, high, "zoom")
        return replace(
            self, steps=part, left_out=0, question=f"{self.question}, scores in [{_float(low):g}, {_float(high):g}]"
        )

    def _between(self, low: float, high: float, method: str) -> Steps:
        for name, value in (("low", low), ("high", high)):
            if not isinstance(value, Real) or isinstance(value, bool):
                raise TypeError(f"`{name}` must be a number, not {_checks.quoted(value)}. {ENDS[method]}")
            if value != value:
                raise ValueError(f"`{name}` must be a number or infinity; it is NaN.")
        if not low <= high:
            raise ValueError(f"`low` must not exceed `high`; got {low!r} and {high!r}.")
        low, high = _float(low), _float(high)
        step, _, tolerance = self._kind_of_step
        # in the precision of the scores, so that 0.1 is the end of an interval of float32 as well
        with np.errstate(over="ignore"):  # ends beyond it are infinite
            ends = np.array([low, high]).astype(self.score.dtype) + tolerance * np.array([-1, 1])
        lower, upper = self.steps.lower, self.steps.upper
        begin, end = np.searchsorted(lower, ends[0], "left"), np.searchsorted(upper, ends[1], "right")
        if begin >= end:
            raise ValueError(
                f"`low` and `high` must enclose at least one {step}; there is none in [{low:g}, {high:g}]. All "
                f"{step}s lie in [{lower[0]:g}, {upper[-1]:g}]."
            )
        return self.steps[begin:end]

    def band(self, prob: float = 0.95) -> CumulativeBand:
        """Return a simultaneous confidence band of the curve of the population.

        Parameters
        ----------
        prob : float, default 0.95
            Probability with which the band contains the whole curve, in (0, 1); others raise a ValueError.

        Returns
        -------
        CumulativeBand
            The scores, and the ends at each: the curve minus and plus a constant, the larger of `sigma` and
            `robust_sigma` times the quantile of the maximum absolute value of Brownian motion, 2.241 for 0.95. For
            subpopulations, the band is wider; see `SubpopulationDifference.attenuation`. Arrays of shape (n_scores,);
            before the first score, the curve is 0. NaN if all residuals are 0.

        Examples
        --------
        >>> import bayescal as bc
        >>> band = bc.cumulative.difference([1, 0, 1, 1], [0.2, 0.4, 0.7, 0.9]).band()
        >>> band.score, band.low.round(2), band.high.round(2)
        (array([0.2, 0.4, 0.7, 0.9]), array([-0.33, -0.43, -0.36, -0.33]), array([0.73, 0.63, 0.71, 0.73]))
        """
        margin = quantile_max_abs(_checks.fraction("prob", prob)) * self.scale.wide_sigma
        return CumulativeBand(self.score, *self._around(margin))

    def _around(self, margin: float) -> tuple[Floats, Floats]:
        """Return the ends of a band of the curve of the population, from the margin of the curve of the rows."""
        return self.curve[1:] - margin, self.curve[1:] + margin

    def kuiper_interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the Kuiper statistic of the population, which is wide but assumes no model.

        Returns
        -------
        (low, high) : tuple of float
            The statistic minus and plus the larger of `sigma` and `robust_sigma` times the quantile of the range of
            Brownian motion, 2.498 for 0.95; `low` is at least 0. For outcomes 0 and 1, `high` is at most 1; from
            counts, `grid_error` is added to it. For subpopulations, both are divided by the `attenuation` of parts of
            the curve. In large samples, the coverage is at least `prob`, and equal to it under calibration; with few
            expected outcomes that contradict scores near 0 or 1, it can be lower. NaN if all residuals are 0.
        """
        return self._possible(*cumulative.kuiper_interval(self.kuiper, self.scale, _checks.fraction("prob", prob)))

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        """Clip an interval to the range of the statistic."""
        return low, high

    def curve_frame(self, prob: float = 0.95) -> "pd.DataFrame":
        """Return the curve as a pandas DataFrame, for other plots and programs.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the simultaneous band, in (0, 1); others raise a ValueError.

        Returns
        -------
        pandas.DataFrame
            One row per score, which is the index; columns share (of the weight up to the score), curve, and the band
            low and high.

        Examples
        --------
        >>> import bayescal as bc
        >>> frame = bc.cumulative.difference([1, 0, 1, 1], [0.2, 0.4, 0.7, 0.9]).curve_frame()
        >>> frame.loc[0.4, ["share", "curve"]].round(3).to_dict()
        {'share': 0.5, 'curve': 0.1}
        """
        _packages.require("pandas")
        import pandas as pd

        score, low, high = self.band(prob)
        columns = {"share": self.abscissae[1:], "curve": self.curve[1:], "low": low, "high": high}
        return pd.DataFrame(columns, index=pd.Index(score, name="score"))

    def table(self) -> list[dict[str, Any]]:
        """Return the numbers as data: one dict per statistic.

        Keys are quantity, value, in_sigma (value / `null_sigma`), for subpopulations in_published_sigma (value /
        `sigma`), null_mean (the mean under calibration or, for subpopulations, equal means), p_value (with the
        correction for the step size) and p_value_uncorrected.
        """
        rows = []
        for name in cumulative.NAMES:
            row: dict[str, Any] = {"quantity": name, "value": getattr(self, name)}
            row |= {key: row["value"] / (getattr(self, unit) or float("nan")) for key, unit in self._units}
            row |= {"null_mean": cumulative.null_mean(name, self.scale), "p_value": getattr(self, f"p_{name}")}
            rows.append(row | {"p_value_uncorrected": getattr(self, f"p_{name}_uncorrected")})
        return rows

    @property
    def spec(self) -> str:
        """Question, rows and number of distinct scores, on one line."""
        weighted = f" (weighted, effective N = {self.effective_n:.0f})" if self.steps.weighted else ""
        scores = f"{len(self.steps)} {self._kind_of_step[1]}{'' if len(self.steps) == 1 else 's'}"
        return f"{self.question}, N = {self.n}{weighted}, {scores}"

    #: A step of the curve in error messages and in the specification, and the rounding error of its ends.
    _kind_of_step = ("score", "distinct score", 0.0)

    def sentence(self) -> str:
        """Return the largest deviation in words.

        It states the interval of scores with the largest deviation, its direction and mean size, the Kuiper statistic,
        and its P-value. If the P-value is above 0.05, the sentence first says that the rows do not show a difference.
        """
        low, high = self.worst_interval
        if self.kuiper == 0:
            return f"The cumulative difference is 0 at every score: {self._no_difference}."
        slope = self.slope(low, high)
        places = _render.decimals(high - low)
        where = f"between the scores {low:.{places}f} and {high:.{places}f}" if high > low else f"at the score {low:g}"
        difference = f"{self._difference(slope.difference)} by {significant(abs(slope.difference), 3)} on average"
        statistic = f"Kuiper statistic is {self._statistic()}"
        if self.p_kuiper > P_OF_CHANCE:
            text = (
                f"The rows do not show a difference between {self._compared()}. The largest deviation of all intervals "
                f"of {self._kind_of_step[0]}s is {where}: {difference}. The {statistic}."
            )
        else:
            text = (
                f"{where[0].upper()}{where[1:]}, {difference}. No other interval of {self._kind_of_step[0]}s "
                f"deviates more: the {statistic}."
            )
        p_value = p_words(self.p_kuiper).replace("<", "less than")
        return f"{text} {self._under_calibration} the probability of a statistic of at least this size is {p_value}."

    def _statistic(self) -> str:
        return self._number(self.kuiper)

    def _compared(self) -> str:
        raise NotImplementedError

    def _difference(self, slope: float) -> str:
        raise NotImplementedError

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = [
            [
                cumulative.NAMES[row["quantity"]],
                *(self._number(row[name]) for name in ("value", "null_mean")),
                *(_render.number(row[name], 2) for name, _ in self._units),
                *(p_words(row[name]) for name in ("p_value", "p_value_uncorrected")),
            ]
            for row in self.table()
        ]
        units = (name.replace("_", " ") for name, _ in self._units)
        header = ("statistic", "value", self._null, *units, "P-value", "uncorrected")
        return _render.Sheet(self.sentence(), self.spec, header, rows, self.remarks, self._notes())

    def _remarks(self) -> list[str]:
        if self.robust_sigma == 0:
            return ["All residuals are 0, so that the noise cannot be estimated and there is no interval."]
        low, high = (self._number(end) for end in self.kuiper_interval(0.95))
        interval = f"95 % interval of the Kuiper statistic in the population, without a model: {low} to {high}."
        return [interval, *self._about_steps()]

    def _notes(self) -> list[str]:
        """Lines of the details: the noise, the coverage of the interval, and the meaning of the columns."""
        if self.robust_sigma == 0:
            return []
        return [
            f"sigma {self._assuming} = {self._number(self.null_sigma)}; robust sigma (squared residuals, "
            f"{self._assumption} not assumed) = {self._number(self.robust_sigma)}. The coverage of the interval of "
            f"the Kuiper statistic in large samples is at least 95 %, and equal to it {self._assuming}.",
            COLUMNS.format(null=self._null, assuming=self._assuming),
        ]

    def _about_steps(self) -> list[str]:
        step = self.scale.mean_step
        if step <= cumulative.LARGE_STEP:
            return []
        if step >= cumulative.ONE_STEP and self.n * cumulative.LARGE_STEP**2 >= 1:
            return ["The curve has a single step, so that the P-values are those of a Normal distribution."]
        return [
            f"The P-values are rough: the mean step is {step:.2f} sigma (few rows, few distinct scores, or a few heavy "
            "weights). They are too large for few distinct scores of many rows; they can be too small for few rows "
            f"{self._rare}."
        ]

    #: Column of means of the statistics, the hypothesis in other words, and rows that make P-values rough.
    _null, _assuming, _assumption = "if calibrated", "under calibration", "calibration"
    _rare = "with scores near 0 or 1"
    _under_calibration = "If the scores were calibrated,"
    _no_difference = "the share of outcome 1 equals the score"

    def _number(self, value: float) -> str:
        return significant(value, _render.decimals(self.robust_sigma / 10, 4))


def _float(value: Any) -> float:
    """Return a float; integers beyond all floats are infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
