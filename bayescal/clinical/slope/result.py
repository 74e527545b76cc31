"""Recalibration: intercept, slope and calibration in the large of one set of predictions, or of groups of rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal._texts import text_of
from bayescal.clinical.slope.counts import LogitCounts
from bayescal.clinical.slope.new_centre import NewCentre, new_centre_of
from bayescal.clinical.slope.posterior import NAMES, RecalibrationPosterior
from bayescal.data.columns import column, own_hints
from bayescal.data.frames import to_array
from bayescal.draws import Draws, fingerprint
from bayescal.results.of_groups import OfGroups
from bayescal.results.remarks import FEW_CLUSTERS, row_remarks, rows_in_clusters

#: Quantities of the table: key, words, and the value for calibrated predictions.
QUANTITIES = {"in_the_large": ("in the large", 0.0), "intercept": ("intercept", 0.0), "slope": ("slope", 1.0)}
#: A remark names the probability of slopes at or below 0 from here on, if rows at 0 and 1 exclude them.
STATED_P_NOT_INCREASING = 1e-3
CHUNK = 4_000_000  #: Numbers that are computed at once when predictions are recalibrated.


@public
@dataclass(frozen=True, eq=False, repr=False)
class Recalibration(_presented.Presented):
    r"""Posterior of the calibration intercept and slope, and of the calibration in the large.

    Made by `recalibration`; printing it shows a sentence and the three quantities.

    Parameters
    ----------
    counts : LogitCounts
        The rows, after `floor`.
    posterior : RecalibrationPosterior
        Posterior of intercept and slope on a grid.
    drawn : ndarray, shape (n_draws, 2)
        Joint draws of intercept and slope.
    shift_seed : int
        Seed of the draws of the calibration in the large.
    floor : float or None
        Distance that probabilities keep from 0 and 1.
    """

    counts: LogitCounts
    posterior: RecalibrationPosterior
    drawn: Floats
    shift_seed: int
    floor: float | None = None

    _columns = ("mean", "sd", "low", "high", "calibrated")

    @property
    def intercept(self) -> Draws:
        """Intercept a of logit E[y] = a + b logit p, fitted jointly with the slope b; 0 if calibrated."""
        return self._draws("intercept", self.drawn[:, 0])

    @property
    def slope(self) -> Draws:
        """Slope b of logit E[y] = a + b logit p; 1 if calibrated, below 1 if predictions are too extreme.

        It is negative if events are rarer at higher probabilities, as if labels were exchanged.
        """
        return self._draws("slope", self.drawn[:, 1])

    @property
    def in_the_large(self) -> Draws:
        """Calibration in the large: the shift of the logits that gives the mean event rate; 0 if calibrated on average.

        It is positive if events are more frequent than stated. It does not assume that the slope is 1.
        """
        return self._draws("in_the_large", self._shifts)

    @cached_property
    def observed_expected(self) -> Draws:
        """Ratio of observed to expected events, O/E: the event rate divided by the mean probability; 1 if calibrated.

        It is above 1 if probabilities are too low on average; in each draw, it is above 1 if and only if the
        calibration in the large is above 0. Its sampling variation includes that of the probabilities.
        """
        return self._draws("observed_expected", self.posterior.observed_expected(self.drawn, rng=self.shift_seed))

    @cached_property
    def _shifts(self) -> Floats:
        return self.posterior.in_the_large(self.drawn, rng=self.shift_seed)

    def _draws(self, name: str, values: Floats) -> Draws:
        return Draws(values, name, self._origin)

    @cached_property
    def _origin(self) -> int:
        return fingerprint(type(self).__name__, self.drawn, self.shift_seed)

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of intercept 0 and slope 1 (calibrated) against the prior; above 1, it favours calibration.

        NaN under the priors "jeffreys" and "flat", which have no normalised density.
        """
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_bayes_factor))

    @property
    def log_bayes_factor(self) -> float:
        """Logarithm of `bayes_factor`, which itself may overflow."""
        return self.posterior.log_bayes_factor

    def exact_interval(self, name: str, prob: float = 0.95) -> tuple[float, float]:
        """Lower and upper end of the equal-tailed credible interval, from the grid and without random numbers.

        Parameters
        ----------
        name : {"intercept", "slope"}
            The quantity. The calibration in the large has draws only: use ``rc.in_the_large.interval(prob)``.

        Raises
        ------
        ValueError
            If there is no such quantity, or `prob` is not strictly between 0 and 1.
        """
        if name == "in_the_large":
            raise ValueError(text_of("parameters with a density"))
        _checks.one_of("name", name, NAMES)
        tail = (1 - _checks.fraction("prob", prob)) / 2
        low, high = self.posterior.quantile(name, [tail, 1 - tail])
        return float(low), float(high)

    def recalibrated(self, y_prob: Any, prob: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """Recalibrate probabilities by the posterior of intercept and slope.

        The three arrays, each of shape (n_rows,), are the posterior mean of the event rate at each probability, and the
        lower and the upper end of an equal-tailed interval. The floor of the fit applies, if there is one; otherwise
        each draw keeps 0 and 1 if its slope is positive, and exchanges them if it is negative.

        Parameters
        ----------
        y_prob : array-like of float, shape (n_rows,)
            Probabilities in [0, 1].
        prob : float, default 0.95
            Pointwise posterior probability of the band.

        Raises
        ------
        ValueError, TypeError
            If values are missing or not in [0, 1].

        Notes
        -----
        The posterior mean averages over intercepts and slopes. `LogisticRecalibration` is a transformer with one
        intercept and one slope.

        Examples
        --------
        >>> rc = bc.clinical.recalibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.9], rng=1)
        >>> mean, low, high = rc.recalibrated([0.2, 0.8])
        >>> mean.round(1), low.round(1), high.round(1)
        (array([0.2, 0.8]), array([0. , 0.3]), array([0.7, 1. ]))
        """
        tail = (1 - _checks.fraction("prob", prob)) / 2
        probabilities = column("y_prob", to_array("y_prob", y_prob))
        if not len(probabilities):
            return np.empty(0), np.empty(0), np.empty(0)
        with own_hints():
            values = _checks.probabilities("y_prob", probabilities).astype(np.float64)
        if self.floor is not None:
            values = np.clip(values, self.floor, 1 - self.floor)
        distinct, place = np.unique(values, return_inverse=True)
        summaries = np.empty((3, len(distinct)))
        for part in np.array_split(np.arange(len(distinct)), max(1, -(-len(distinct) * len(self.drawn) // CHUNK))):
            with np.errstate(divide="ignore"):  # 0 and 1 have infinite logits
                x = np.log(distinct[part]) - np.log1p(-distinct[part])
            eta = self.drawn[:, :1] + self.drawn[:, 1:] * x
            small = np.exp(-np.abs(eta))
            rates = np.where(eta >= 0, 1.0, small) / (1 + small)
            summaries[:, part] = rates.mean(axis=0), *np.quantile(rates, [tail, 1 - tail], axis=0)
        mean, low, high = summaries[:, place]
        return mean, low, high

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """The three quantities.

        Keys are quantity, mean, sd, low, high and calibrated, the value for calibrated predictions.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the (equal-tailed) intervals: from the grid for intercept and slope, and from draws for the
            calibration in the large.
        """
        prob, rows = _checks.fraction("prob", prob), []
        for key, (_, calibrated) in QUANTITIES.items():
            if key in NAMES:
                (mean, sd), (low, high) = self.posterior.moments(key), self.exact_interval(key, prob)
            else:
                mean, sd = self.in_the_large.mean(), self.in_the_large.sd()
                low, high = self.in_the_large.interval(prob)
            numbers = {"mean": mean, "sd": sd, "low": low, "high": high, "calibrated": calibrated}
            rows.append({"quantity": key, **{name: float(value) for name, value in numbers.items()}})
        return rows

    @property
    def spec(self) -> str:
        """Rows, floor and prior, on one line."""
        counts = self.counts
        effective = f" (weighted, effective N = {counts.n.sum():.0f})" if counts.weighted else ""
        floor = "" if self.floor is None else f", probabilities at least {self.floor:g} from 0 and 1"
        return f"event intercept and slope, N = {counts.n_rows}{effective}{floor}, {self.posterior.prior}"

    def sentence(self, prob: float = 0.95) -> str:
        """Return slope and calibration in the large in words, and which of them differ from calibrated values."""
        rows = {row["quantity"]: row for row in self.table(prob)}
        slope, large = rows["slope"], rows["in_the_large"]
        return (
            f"The calibration slope is {_number(slope['mean'])} ({100 * prob:g} % credible interval "
            f"{_number(slope['low'])} to {_number(slope['high'])}) and the calibration in the large "
            f"{_number(large['mean'])} ({_number(large['low'])} to {_number(large['high'])}): "
            f"{_verdict(slope, large)}."
        )

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = ("", "mean", "sd", "2.5 %", "97.5 %", "if calibrated")
        rows = [
            [QUANTITIES[row["quantity"]][0], *(_number(row[k]) for k in self._columns[:4]), f"{row['calibrated']:g}"]
            for row in self.table()
        ]
        return _render.Sheet(self.sentence(), self.spec, header, rows, self.remarks, self._notes())

    def _notes(self) -> list[str]:
        """Line of the details with the Bayes factor, which exists under Normal priors."""
        if self.posterior.prior.kind != "normal":
            return []
        factor = np.exp(np.clip(self.log_bayes_factor, -700.0, 700.0))
        words = f"{factor:.3g}" if 1e-3 <= factor < 1e4 else f"10^{self.log_bayes_factor / np.log(10):.0f}"
        return [f"Bayes factor of calibration (intercept 0, slope 1) against the prior: {words}."]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the rows, which are printed below the table; empty if no problem is known."""
        counts = self.counts
        remarks = [*self._of_clusters(), *row_remarks(counts.binned)]
        events = float(counts.binned.weight[1].sum())
        if events == 0 or float(counts.binned.weight[0].sum()) == 0:
            one = 0 if events == 0 else 1
            remarks.append(
                f"All rows have outcome {one}: these numbers come from the prior and from the absence of the other "
                "outcome."
            )
        if counts.agreeing:
            p, excluded = self.posterior.p_not_increasing, ""
            if p >= STATED_P_NOT_INCREASING:
                excluded = (
                    f" They exclude slopes at or below 0, which have the probability {p:.2g} here and are not left out "
                    "of the intervals. Pass `floor=1e-6` to use these rows."
                )
            remarks.append(
                f"{counts.agreeing} of {counts.n_rows} rows have a probability of exactly 0 or 1, and the outcome "
                f"agrees: they are certain at every positive slope and are left out.{excluded}"
            )
        return tuple(remarks)

    def _of_clusters(self) -> tuple[str, ...]:
        """State clusters and how they change the intervals, and warn if they are few; empty without clusters."""
        counts, clusters, wider = self.counts, self.counts.clusters, self.posterior.wider
        if clusters is None:
            return ()
        text = (
            f"{rows_in_clusters(counts.n_rows, clusters.number, weighted=counts.weighted)}: standard deviations of the "
            f"line at the mean logit and of the slope are {wider[0]:.3g} and {wider[1]:.3g} times those of independent "
            "rows."
        )
        few = f"With fewer than {FEW_CLUSTERS} (effective) clusters, intervals depend on the t distribution."
        return (text, few) if clusters.effective_number < FEW_CLUSTERS else (text,)


def _number(value: float) -> str:
    return _render.number(value, 2 if abs(value) >= 10 else 3)


def _verdict(slope: dict[str, Any], large: dict[str, Any]) -> str:
    """Say in words which of both intervals exclude the value for calibrated predictions."""
    faults = []
    if slope["high"] < 0:
        faults.append("events are rarer at higher probabilities (are the labels exchanged?)")
    elif slope["high"] < 1:
        faults.append("predictions are too extreme")
    if slope["low"] > 1:
        faults.append("predictions are not extreme enough")
    if large["high"] < 0:
        faults.append("events are less frequent than stated")
    if large["low"] > 0:
        faults.append("events are more frequent than stated")
    return " and ".join(faults) if faults else "both intervals contain the values of calibrated predictions"


@public
@dataclass(frozen=True, eq=False, repr=False)
class GroupedRecalibration(OfGroups[Recalibration]):
    """One `Recalibration` per group of rows, and one of all rows; a mapping from labels.

    Made by ``recalibration(..., by=...)``. Groups share no information.

    Parameters
    ----------
    groups : dict of label to Recalibration
        The groups.
    overall : Recalibration
        All rows.
    name : str
        Name of the grouping, such as "site".

    Examples
    --------
    >>> rows = simulate(2000, population="flat", rng=1)
    >>> by_half = bc.clinical.recalibration(rows.outcome, rows.confidence, by=["a", "b"] * 1000, rng=1)
    >>> list(by_half), by_half["a"].counts.n_rows
    (['a', 'b'], 1000)
    """

    _index = ("group", "quantity")
    _columns = ("rows", "mean", "sd", "low", "high", "calibrated")

    def _badness(self, of_group: Recalibration) -> float:
        return abs(of_group.posterior.moments("slope")[0] - 1)

    def new_centre(self, *, rng: Any = None) -> NewCentre:
        """Predict the calibration in a new centre, if the groups are centres.

        Parameters
        ----------
        rng : None, int, SeedSequence or Generator
            Seed or generator; by default a seed of this result, so that equal calls give equal numbers.

        Raises
        ------
        ValueError
            If there are fewer than 3 groups.
        """
        rng = self.overall.shift_seed if rng is None else rng
        return new_centre_of(self.groups, self.overall, self.name, rng, [])

    def sentence(self, prob: float = 0.95) -> str:
        """Return the smallest and the largest slope with their groups, and `Recalibration.sentence` of all rows."""
        slopes = {label: each.posterior.moments("slope")[0] for label, each in self.groups.items()}
        least, most = (pick(slopes, key=slopes.__getitem__) for pick in (min, max))
        extremes = f"Slopes range from {slopes[least]:.3f} ({least}) to {slopes[most]:.3f} ({most})."
        overall = self.overall.sentence(prob)
        return f"{extremes} For all rows, {overall[:1].lower()}{overall[1:]}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = (self.name, "rows", *(f"{words}, 95 %" for words, _ in QUANTITIES.values()))
        named = self._named()
        rows = [[label, str(each.counts.n_rows), *_cells(each)] for label, each in named]
        remarks = [f"{label}: {remark}" for label, each in named[:-1] for remark in each.remarks]
        return _render.Sheet(self.sentence(), self.spec, header, rows, remarks)


def _cells(of_group: Recalibration) -> list[str]:
    return [f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in of_group.table()]
