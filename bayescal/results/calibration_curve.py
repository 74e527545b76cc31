"""CalibrationCurve: a smooth calibration curve with its band, and the errors ICI, E50, E90 and Emax."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayescal import _checks, _presented, _render
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import ece, max_error
from bayescal.posterior.smooth_curve import EXACT, PRIOR_EXACT, SmoothCurvePosterior, smooth_curve_posterior
from bayescal.results import wording
from bayescal.results.calibration_curve_remarks import of_bins, of_fit, of_outcomes
from bayescal.results.foreign_names import CALIBRATION_CURVE, no_attribute
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.grid import steps_of_counts
from bayescal.stats.merged import MergedCounts, merge_scores
from bayescal.stats.ordered import Steps

Floats = NDArray[np.float64]

#: Largest number of bins, smallest number of rows per bin, and smallest number of rows.
BINS, ROWS_PER_BIN, LEAST_ROWS = 30, 10, 100
#: Cells of the distribution of scores, for plots.
CELLS = 1000
#: Errors by attribute: symbol in tables, and share of the population with an error of at least this size (None: mean).
ERRORS: Mapping[str, tuple[str, float | None]] = {
    "ici": ("ICI", None),
    "e50": ("E50", 0.5),
    "e90": ("E90", 0.1),
    "emax": ("Emax", 0.0),
}
#: Words for the sub-models.
WORDS = {EXACT: "exact calibration", "drift": "drift", "curve": "smooth curve", "both": "drift and smooth curve"}


class CurveBand(NamedTuple):
    """Pointwise credible intervals of a calibration curve.

    Parameters
    ----------
    score : ndarray, shape (n_bins,)
        Scores at which the band is known.
    low, high : ndarray, shape (n_bins,)
        Ends of the interval of the event rate at each score.
    """

    score: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(_presented.Presented):
    """A smooth calibration curve of the population, and the errors that follow from it.

    Made by `calibration_curve`; printing it shows a sentence and the errors.

    Parameters
    ----------
    posterior : SmoothCurvePosterior
        Posterior of the curve in bins of nearly equal mass.
    bins : BinDraws
        Draws of the bins: masses, event rates on the curve, and mean scores.
    target : {"event", "top-label", "confidence"}
        Meaning of scores and outcomes; see `evaluate`.
    wanted : int
        Number of bins if no scores were equal.
    distribution : ndarray, shape (1000,)
        Share of the rows, or of their weight, in equal-width cells of scores.
    counted : str, default ""
        The bins of the counts in words, if the rows were counted in bins before.
    contradicted : float, default 0
        Number of rows with a score of exactly 0 and outcome 1, or 1 and 0; their share of the weight if rows have
        weights.

    Examples
    --------
    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(2000, population="rare", curve="temperature", strength=1.5, rng=1)
    >>> cv = bc.calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> cv.ici
    Draws(ici: mean 0.0627, 95 % interval [0.04865, 0.07778], 4000 draws)
    >>> cv.e90
    Draws(e90: mean 0.1032, 95 % interval [0.07792, 0.1376], 4000 draws)
    """

    posterior: SmoothCurvePosterior
    bins: BinDraws
    target: str
    wanted: int
    distribution: Floats
    counted: str = ""
    contradicted: float = 0.0

    _columns = ("mean", "sd", "eti95_lb", "eti95_ub")

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error that names the attribute that may be meant."""
        no_attribute(self, name, CALIBRATION_CURVE)

    @classmethod
    def from_counts(
        cls, counts: BinnedCounts, *, draws: int = 4000, rng: Any = None, prior_exact: float = PRIOR_EXACT
    ) -> "CalibrationCurve":
        """Compute the curve from counts in fine bins, of streams, engines or files.

        Parameters
        ----------
        counts : BinnedCounts
            Counts in many bins, such as 1000.
        draws, rng, prior_exact
            As for `calibration_curve`.

        Returns
        -------
        CalibrationCurve
            The counted bins are merged into at most 30 bins of nearly equal mass. A remark states if they are too
            coarse.

        Raises
        ------
        TypeError
            If `counts` are not `BinnedCounts`.
        ValueError
            If there are fewer than 100 (effective) rows.

        Examples
        --------
        >>> import bayescal as bc
        >>> from bayescal.datasets.simulate import simulate
        >>> rows = simulate(2000, population="flat", curve="shift", rng=1)
        >>> counts = bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=1000, target="event")
        >>> bc.CalibrationCurve.from_counts(counts, rng=1).ici
        Draws(ici: mean 0.04394, 95 % interval [0.02659, 0.06196], 4000 draws)
        """
        if not isinstance(counts, BinnedCounts):
            raise TypeError(
                f"`counts` must be BinnedCounts, not {type(counts).__name__}; for rows, use `calibration_curve`."
            )
        refuse_clusters(counts, "counts", "a calibration curve")
        _require_rows("counts", counts.effective_rows, counts.n_rows, weighted=counts.weighted)
        options: dict[str, Any] = {"draws": draws, "rng": rng, "prior_exact": prior_exact}
        return curve_of(steps_of_counts(counts), counts.target, counted=str(counts.bins), **options)

    @property
    def counts(self) -> MergedCounts:
        """Counts in the bins of the curve."""
        counts: MergedCounts = self.posterior.counts  # type: ignore[assignment]  # `curve_of` made them
        return counts

    def _draws(self, name: str) -> Draws:
        share = ERRORS[name][1]
        values = ece(self.bins) if share is None else max_error(self.bins, share=share)
        return Draws(values.values, name, self.bins.fingerprint)

    @cached_property
    def ici(self) -> Draws:
        """Integrated calibration index (Eavg): mean absolute difference between curve and score, in [0, 1]."""
        return self._draws("ici")

    @cached_property
    def e50(self) -> Draws:
        """Median of the absolute difference: the largest error that half of the population have."""
        return self._draws("e50")

    @cached_property
    def e90(self) -> Draws:
        """90th percentile of the absolute difference: the largest error that 10 % of the population have."""
        return self._draws("e90")

    @cached_property
    def emax(self) -> Draws:
        """Largest absolute difference at any score with rows."""
        return self._draws("emax")

    @property
    def score(self) -> Floats:
        """Mean scores of the bins, at which the curve is drawn; shape (n_bins,)."""
        return np.asarray(self.bins.confidence[0])

    @cached_property
    def curve(self) -> Draws:
        """Draws of the event rate at `score`, shape (n_draws, n_bins)."""
        return Draws(self.bins.accuracy, "calibration curve", self.bins.fingerprint)

    def band(self, prob: float = 0.95) -> CurveBand:
        """Return pointwise credible intervals of the curve.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval at each score. The whole curve lies within the band with smaller probability.

        Returns
        -------
        CurveBand
            Scores, and the ends of the interval at each.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1.
        """
        return CurveBand(self.score, *self.curve.interval(prob))

    def at(self, score: float) -> Draws:
        """Draw the event rate among rows with one score, by linear interpolation of the curve.

        Parameters
        ----------
        score : float
            The score, between the mean scores of the first and of the last bin.

        Returns
        -------
        Draws
            In [0, 1].

        Raises
        ------
        ValueError
            If the score is outside this range: the curve is not extrapolated.
        TypeError
            If it is not one number. For several scores, call `at` for each, or use `curve` at `score`.

        Examples
        --------
        The rate is 0.574 where a shift of 0.3 on the logit scale moves a probability of 0.5.

        >>> import bayescal as bc
        >>> from bayescal.datasets.simulate import simulate
        >>> rows = simulate(5000, population="flat", curve="shift", strength=0.3, rng=1)
        >>> bc.calibration_curve(rows.outcome, rows.confidence, rng=1).at(0.5)
        Draws(rate at 0.5: mean 0.5813, 95 % interval [0.5621, 0.5996], 4000 draws)
        """
        low, high = float(self.score[0]), float(self.score[-1])
        value = _one_number(score)
        if not low <= value <= high:
            raise ValueError(
                f"`score` must lie between {low:.3g} and {high:.3g}, the mean scores of the first and last bin, not "
                f"{value:g}; the curve is not extrapolated."
            )
        after = int(np.clip(np.searchsorted(self.score, value), 1, max(len(self.score) - 1, 1)))
        if len(self.score) == 1:
            return Draws(self.bins.accuracy[:, 0], f"rate at {value:g}", self.bins.fingerprint)
        left, right = self.score[after - 1 : after + 1]
        t = (value - left) / (right - left)
        between = (1 - t) * self.bins.accuracy[:, after - 1] + t * self.bins.accuracy[:, after]
        return Draws(between, f"rate at {value:g}", self.bins.fingerprint)

    @property
    def probabilities(self) -> dict[str, float]:
        """Posterior probabilities of the sub-models "exact", "drift", "curve" and "both"."""
        return self.posterior.probabilities

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration, whose prior probability is `prior_exact`."""
        return self.probabilities[EXACT]

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the average of the other sub-models."""
        return float(np.exp(self.posterior.log_bayes_factor))

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the errors as data: one dict per quantity.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the intervals.

        Returns
        -------
        list of dict
            Keys quantity, mean, sd, low, high.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1.
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for name in ERRORS:
            draws: Draws = getattr(self, name)
            low, high = draws.interval(prob)
            rows.append({"quantity": name, "mean": draws.mean(), "sd": draws.sd(), "low": low, "high": high})
        return rows

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.table(prob, **options)

    def sentence(self, prob: float = 0.95) -> str:
        """The errors in words.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.

        Returns
        -------
        str
            ICI with its interval, the median and the 90th percentile of the error, and the probability of exact
            calibration.
        """
        low, high = self.ici.interval(prob)
        d = _render.interval_decimals(low, high)
        e50, e90 = (_render.number(v, d) for v in (self.e50.mean(), self.e90.mean()))
        stated, happened = ("confidence", "accuracy") if self.target != "event" else ("score", "event rate")
        return (
            f"The integrated calibration index is {wording.mean_and_interval(self.ici, prob)}: the "
            f"mean difference between {stated} and {happened}, regardless of sign. Half of the population have an "
            f"error of at least {e50}, and 10 % of at least {e90}. The probability of exact calibration is "
            f"{_share(self.p_calibrated)} (prior {self.posterior.prior_exact:.2f})."
        )

    @property
    def question(self) -> str:
        """Quantity, bins, rows and model, on one line."""
        return wording.question(f"{self.target} ICI", [self.counts], "smooth curve", self.posterior.prior)

    @property
    def spec(self) -> str:
        """Question and the ICI with its interval, on one line."""
        return f"{self.question}: {wording.with_interval(self.ici, self._decimals)}"

    @property
    def _decimals(self) -> int:
        return wording.decimals(self.ici)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        columns = ("mean", "sd", "low", "high")
        rows = [
            [ERRORS[row["quantity"]][0], *(_render.number(row[name], self._decimals) for name in columns)]
            for row in self.table()
        ]
        listed = ", ".join(f"{WORDS[key]} {_share(p)}" for key, p in self.probabilities.items())
        remarks = (f"Sub-model probabilities: {listed}.", *self.remarks)
        return _render.Sheet(self.sentence(), self.spec, wording.HEADER[:5], rows, remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the curve and its intervals, which are printed below the table; empty if none is known."""
        mean, sd = self.bins.accuracy.mean(axis=0), self.bins.accuracy.std(axis=0)
        return (
            *of_outcomes(self.counts, self.contradicted),
            *of_bins(self.counts, self.wanted, counted=bool(self.counted)),
            *of_fit(self.counts, self.score, mean, sd),
        )


def curve_of(
    steps: Steps, target: str, *, draws: int, rng: Any, prior_exact: float, counted: str = ""
) -> CalibrationCurve:
    """Draw the curve of rows in the order of their scores; arguments as for `calibration_curve`."""
    draws = _checks.whole_number("draws", draws, 2)
    effective = float(steps.weight.sum()) ** 2 / float(steps.weight_sq.sum())
    _require_rows("y_true", effective, int(steps.n_rows.sum()), weighted=steps.weighted)
    wanted = min(BINS, int(effective * (1 + 1e-12)) // ROWS_PER_BIN)
    against = _contradicted(steps)
    posterior = smooth_curve_posterior(merge_scores(steps, wanted), prior_exact=prior_exact, contradicted=against > 0)
    cell = np.minimum((steps.score * CELLS).astype(np.intp), CELLS - 1)
    distribution = np.bincount(cell, steps.weight, CELLS) / steps.weight.sum()
    drawn = posterior.sample(draws, rng=rng)
    return CalibrationCurve(posterior, drawn, target, wanted, distribution, counted, against)


def _contradicted(steps: Steps) -> float:
    """Return the number of rows with score 0 and outcome 1, or 1 and 0; with weights, their share of the weight."""
    against = float(steps.deviation[steps.score == 0].sum() - steps.deviation[steps.score == 1].sum())
    return against / float(steps.weight.sum()) if steps.weighted else against


def enough_rows(effective: float) -> bool:
    """Return whether a calibration curve has enough (effective) rows."""
    return effective * (1 + 1e-12) >= LEAST_ROWS


def _one_number(score: Any) -> float:
    if isinstance(score, bool) or np.ndim(score) or not isinstance(np.asarray(score).item(), int | float):
        raise TypeError(
            f"`score` must be one number, not {_checks.quoted(score)}; for several, as in "
            "`[cv.at(score) for score in scores]`."
        )
    return float(score)


def _require_rows(name: str, effective: float, n_rows: int, *, weighted: bool) -> None:
    if enough_rows(effective):
        return
    found = f"{effective:.0f} effective rows of {n_rows}" if weighted else f"{n_rows}"
    raise ValueError(
        f"`{name}` must have at least {LEAST_ROWS} rows for a calibration curve, and has {found}: the coverage of its "
        "intervals was not measured with fewer. `evaluate` has an ECE for any number of rows."
    )


def _share(probability: float) -> str:
    return _render.probability(probability).removeprefix("= ")
