"""CalibrationCurve: a calibration curve with its band, and the errors ICI, E50, E90 and Emax."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats
from bayescal._meant import public
from bayescal.clinical.curve.knots import AT_END, merge_to_knots, scores_as_knots
from bayescal.clinical.curve.posterior import (
    LOGISTIC,
    PRIOR_EXACT,
    PRIOR_ODDS,
    CurvePosterior,
    LogisticCurvePosterior,
    curve_posterior,
)
from bayescal.data.columns import column, numbers
from bayescal.draws import BinDraws, Draws
from bayescal.estimands.errors import ece, largest_error
from bayescal.posterior.shrinkage.prior import EXACT
from bayescal.results import wording
from bayescal.results.remarks import row_remarks
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.clusters import refuse_clusters
from bayescal.stats.contract import require_kind
from bayescal.stats.ordered import MergedCounts, Steps, steps_of_counts
from bayescal.stats.sums import effective_number

#: Largest number of bins, smallest number of rows per bin, and smallest number of rows of a curve that is not logistic.
BINS, ROWS_PER_BIN, LEAST_ROWS = 30, 10, 100
CELLS = 1000  #: Cells of the distribution of scores, for plots.
NEGLIGIBLE = 1e-9  #: Share of the rows that is a rounding error.
#: Errors by attribute: symbol in tables, and share of the population with an error of at least this size (None: mean).
ERRORS: Mapping[str, tuple[str, float | None]] = {
    "ici": ("ICI", None),
    "e50": ("E50", 0.5),
    "e90": ("E90", 0.1),
    "emax": ("Emax", 0.0),
}
#: Words for the families of sub-models.
WORDS = {
    EXACT: "exact calibration",
    "smooth": "smooth curve",
    "independent": "independent knots",
    "shared": "shared errors",
    "noise": "noisy labels",
    LOGISTIC: "logistic curve",
}
#: Bins with more than this multiple of an equal share, and fewer bins than this, are named in a remark.
UNEQUAL_BIN, FEW_BINS = 2.0, 10
#: A quantile of the errors is flat if its mean exceeds the same quantile of the mean errors by more than FLAT_EXCESS
#: posterior standard deviations. It is steep if the mean errors of STEEP_ROWS more and STEEP_ROWS less of the rows
#: differ by more than STEEP_DIFFERENCE standard deviations and by a factor of at least 2.
FLAT_EXCESS, STEEP_DIFFERENCE, STEEP_ROWS = 1.0, 1.5, 0.05
WIDE_GAP = 0.25  #: Distance of neighbouring knots above which a remark states that the curve is interpolated.
ROUNDING = 1e-9  #: Largest error of an observed rate by rounding.


@public
class CurveBand(NamedTuple):
    """Pointwise credible intervals of a calibration curve.

    Parameters
    ----------
    score : ndarray, shape (n_scores,)
        Scores of the rows of the band.
    low, high : ndarray, shape (n_scores,)
        Ends of the interval of the event rate at each score.
    """

    score: Floats
    low: Floats
    high: Floats


@public
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationCurve(_presented.Presented):
    """A calibration curve of the population, and the errors that follow from it.

    Made by `calibration_curve`; printing it shows a sentence and the errors.

    Parameters
    ----------
    posterior : CurvePosterior
        Posterior of the curve at its knots; with fewer than 100 (effective) rows, of a logistic curve.
    bins : BinDraws
        Draws of the knots: masses, event rates on the curve, and mean scores.
    target : {"event", "top-label", "confidence"}
        Meaning of scores and outcomes; see `evaluate`.
    wanted : int
        Number of bins of equal mass, before bins of sparse scores are divided, if no scores were equal.
    span : tuple of float
        Smallest and largest score.
    distribution : ndarray, shape (1000,)
        Share of the rows, or of their weight, in equal-width cells of scores.
    counted : str, default ""
        The bins of the counts in words, if the rows were counted in bins before.
    contradicted : float, default 0
        Number of rows with a score of exactly 0 and outcome 1, or 1 and 0; of weighted rows, their share of the weight.
    of_rows : tuple of str
        Remarks on the rows: how probabilities were read, and mistakes such as a reversed event.

    Examples
    --------
    >>> rows = simulate(2000, population="rare", curve="temperature", strength=1.5, rng=1)
    >>> cv = bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1)
    >>> cv.ici
    Draws(ici: mean 0.06126, 95 % interval [0.0439, 0.0772], 4000 draws)
    >>> cv.e90
    Draws(e90: mean 0.1097, 95 % interval [0.06666, 0.1659], 4000 draws)
    """

    posterior: CurvePosterior
    bins: BinDraws
    target: str
    wanted: int
    span: tuple[float, float]
    distribution: Floats
    counted: str = ""
    contradicted: float = 0.0
    of_rows: tuple[str, ...] = ()

    _columns = ("mean", "sd", "eti95_lb", "eti95_ub")

    @classmethod
    def from_counts(
        cls, counts: BinnedCounts, *, draws: int = 4000, rng: Any = None, prior_exact: float = PRIOR_EXACT
    ) -> "CalibrationCurve":
        """Compute the curve from counts in fine bins, of streams, engines or files.

        The counted bins are merged into the knots of the curve, see `calibration_curve`. A remark states if they are
        too coarse.

        Parameters
        ----------
        counts : BinnedCounts
            Counts in many bins, such as 1000.
        draws, rng, prior_exact
            As for `calibration_curve`.

        Raises
        ------
        TypeError
            If `counts` are not `BinnedCounts`.
        ValueError
            If there are no rows, or rows in clusters.

        Examples
        --------
        >>> rows = simulate(2000, population="flat", curve="shift", rng=1)
        >>> counts = bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=1000, target="event")
        >>> bc.clinical.CalibrationCurve.from_counts(counts, rng=1).ici
        Draws(ici: mean 0.04247, 95 % interval [0.01937, 0.0629], 4000 draws)
        """
        require_kind(BinnedCounts, "; for rows, use `calibration_curve`.", counts)
        refuse_clusters(counts, "counts", "a calibration curve")
        _require_rows("counts", counts.n_rows)
        about: dict[str, Any] = {"counted": str(counts.bins), "of_rows": row_remarks(counts)}
        return curve_of(steps_of_counts(counts), counts.target, draws=draws, rng=rng, exact=prior_exact, **about)

    @property
    def counts(self) -> MergedCounts:
        """Counts in the bins of the curve."""
        return self.posterior.counts

    def _draws(self, name: str) -> Draws:
        share = ERRORS[name][1]
        values = ece(self.bins) if share is None else largest_error(self.bins, share)
        return Draws(values.values, name, self.bins.fingerprint)

    @cached_property
    def ici(self) -> Draws:
        """Integrated calibration index (Eavg): mean absolute difference between curve and score, in [0, 1]."""
        return self._draws("ici")

    @cached_property
    def e50(self) -> Draws:
        """Median of the absolute difference: the largest error that half of the population have.

        It may be far off if errors are near 0 in about half of the rows.
        """
        return self._draws("e50")

    @cached_property
    def e90(self) -> Draws:
        """90th percentile of the absolute difference: the largest error that 10 % of the population have.

        It is too large if most rows have errors of equal size, and may be far off if about 10 % have much larger errors
        than the others.
        """
        return self._draws("e90")

    @cached_property
    def emax(self) -> Draws:
        """Largest absolute difference at any score with rows; too large if many rows have errors of equal size."""
        return self._draws("emax")

    @property
    def score(self) -> Floats:
        """Mean scores of the knots; shape (n_knots,)."""
        return np.asarray(self.bins.confidence[0])

    @cached_property
    def curve(self) -> Draws:
        """Draws of the event rate at `score`, shape (n_draws, n_knots)."""
        return Draws(self.bins.accuracy, "calibration curve", self.bins.fingerprint)

    def band(self, prob: float = 0.95) -> CurveBand:
        """Return pointwise credible intervals of the curve at its knots; for other scores, see `rates`.

        The result has the scores, and the ends of the interval at each.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval at each score, in (0, 1); the whole curve lies in the band with a smaller one.
        """
        return CurveBand(self.score, *self.curve.interval(prob))

    def rates(self, score: Any) -> Draws:
        r"""Draw the event rates among rows with given scores.

        The draws have the shape (n_draws, n_scores). Between two knots with scores c and rates m,
        :math:`\arcsin\sqrt m - \arcsin\sqrt c` is linear in :math:`\arcsin\sqrt c`; it is constant below the first and
        above the last knot. A score of exactly 0 or 1 that outcomes contradict has the rate of its own knot.

        Parameters
        ----------
        score : array-like of float, shape (n_scores,)
            Scores between the smallest and the largest score of the rows.

        Raises
        ------
        ValueError, TypeError
            If a score is outside this range, because the curve is not extrapolated, or is not a number.

        Examples
        --------
        >>> rows = simulate(5000, population="flat", curve="shift", strength=0.3, rng=1)
        >>> rates = bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1).rates([0.3, 0.5])
        >>> rates.mean()
        array([0.3716, 0.5798])
        """
        at = numbers("score", column("score", np.asarray(score))).astype(np.float64, copy=False)
        low, high = self.span
        outside = ~((low <= at) & (at <= high))
        if outside.any():
            raise ValueError(
                f"`score` must lie between {low:.3g} and {high:.3g}, the smallest and the largest score of the rows, "
                f"not {at[outside][0]:g}; the curve is not extrapolated."
            )
        return Draws(self.posterior.rates(self.bins, at), "event rate", self.bins.fingerprint)

    def at(self, score: float) -> Draws:
        """Draw the event rate among rows with one score; see `rates` for several.

        Parameters
        ----------
        score : float
            The score, between the smallest and the largest score of the rows.

        Raises
        ------
        ValueError
            If the score is outside this range: the curve is not extrapolated.
        TypeError
            If it is not one number.

        Examples
        --------
        The rate is 0.574 where a shift of 0.3 on the logit scale moves a probability of 0.5.

        >>> rows = simulate(5000, population="flat", curve="shift", strength=0.3, rng=1)
        >>> bc.clinical.calibration_curve(rows.outcome, rows.confidence, rng=1).at(0.5)
        Draws(rate at 0.5: mean 0.5798, 95 % interval [0.5504, 0.6001], 4000 draws)
        """
        if isinstance(score, bool) or np.ndim(score) or not isinstance(np.asarray(score).item(), int | float):
            quoted = _checks.quoted(score)
            raise TypeError(f"`score` must be one number, not {quoted}; for several, `cv.rates(scores)`.")
        value = float(score)
        rates = self.rates([value])
        return Draws(rates.values[:, 0], f"rate at {value:g}", rates.origin)

    @property
    def _families(self) -> dict[str, dict[str, float]]:
        return self.posterior.families

    @property
    def probabilities(self) -> dict[str, float]:
        """Shares of exact calibration ("exact") and of the sub-models in the draws; they sum to 1.

        Within a family they are posterior probabilities; the families share the draws by powers of their marginal
        likelihoods, see `calibration_curve`.
        """
        return self.posterior.probabilities

    @property
    def p_calibrated(self) -> float:
        """Posterior probability of exact calibration, at a prior probability of 0.4 (odds of 2:3)."""
        return self.posterior.p_calibrated

    @property
    def bayes_factor(self) -> float:
        """Bayes factor of exact calibration against the weighted mean of the families of sub-models."""
        return float(np.exp(min(self.posterior.log_bayes_factor, 700.0)))

    def table(self, prob: float = 0.95) -> list[dict[str, Any]]:
        """Return the errors as data: one dict per quantity.

        Keys are quantity, mean, sd, low, high.
        """
        prob = _checks.fraction("prob", prob)
        rows = []
        for name in ERRORS:
            draws: Draws = getattr(self, name)
            low, high = draws.interval(prob)
            rows.append({"quantity": name, "mean": draws.mean(), "sd": draws.sd(), "low": low, "high": high})
        return rows

    def sentence(self, prob: float = 0.95) -> str:
        """Return the ICI with its interval, E50 and E90, and the probability of exact calibration, in words."""
        low, high = self.ici.interval(prob)
        d = _render.interval_decimals(low, high)
        e50, e90 = (_render.number(v, d) for v in (self.e50.mean(), self.e90.mean()))
        stated, happened = ("confidence", "accuracy") if self.target != "event" else ("score", "event rate")
        return (
            f"{self._headline(prob)[:-1]}: the mean difference between {stated} and {happened}, regardless of sign. "
            f"Half of the population have an error of at least {e50}, and 10 % of at least {e90}. {self._exact}"
        )

    def _headline(self, prob: float) -> str:
        return f"The integrated calibration index is {wording.mean_and_interval(self.ici, prob)}."

    @property
    def _exact(self) -> str:
        """Sentence with the probability of exact calibration."""
        share = _render.probability(self.p_calibrated).removeprefix("= ")
        return f"The probability of exact calibration is {share} (prior {PRIOR_ODDS / (1 + PRIOR_ODDS):.2f})."

    @property
    def question(self) -> str:
        """Quantity, bins, rows and model, on one line."""
        return wording.question(f"{self.target} ICI", [self.counts], "calibration curve", self.posterior.prior)

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
        shares = {family: sum(inside.values()) for family, inside in self._families.items()}
        words = WORDS | ({EXACT: "all other knots exact"} if self.contradicted else {})
        listed = ", ".join(f"{words[key]} {_render.probability(p).removeprefix('= ')}" for key, p in shares.items())
        of_ends = ((self.score == 0) | (self.score == 1)).all()  # the shares are those of the prior
        notes = [self._exact, *([] if of_ends else [f"Shares of the draws: {listed}."])]
        headline = self._headline(0.95)
        return _render.Sheet(self.sentence(), self.spec, wording.HEADER[:5], rows, self.remarks, notes, headline)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about the curve and its intervals, which are printed below the table; empty if none is known."""
        error = np.abs(self.bins.accuracy.mean(axis=0) - self.score)
        of_shape = (
            _about_few_rows(self.posterior)
            if self.posterior.logistic
            else [*_about_bins(self.counts, self.wanted, counted=bool(self.counted)), *_about_gaps(self.score)]
        )
        return (
            *self.of_rows,
            *_about_outcomes(self.counts, self.contradicted),
            *of_shape,
            *_about_quantiles(error, self.counts.share, {"E50": (self.e50, 0.5), "E90": (self.e90, 0.1)}),
        )


def curve_of(
    steps: Steps, target: str, *, draws: int, rng: Any, exact: float, counted: str = "", of_rows: tuple[str, ...] = ()
) -> CalibrationCurve:
    """Draw the curve of rows in the order of their scores; `exact` is `prior_exact` of `calibration_curve`."""
    draws = _checks.whole_number("draws", draws, 2)
    effective = effective_number(steps.weight, steps.weight_sq)
    _require_rows("y_true", int(steps.n_rows.sum()))
    logistic = effective * (1 + 1e-12) < LEAST_ROWS
    wanted = min(BINS, int(effective * (1 + 1e-12)) // ROWS_PER_BIN)
    # rows with score 0 and outcome 1, or 1 and 0: their number, or their share of the weight
    against = float(steps.deviation[steps.score == 0].sum() - steps.deviation[steps.score == 1].sum())
    against = against / float(steps.weight.sum()) if steps.weighted else against
    knots = scores_as_knots(steps) if logistic else merge_to_knots(steps, wanted)
    within = against > 0 and _contradicted_within(
        knots, against if steps.weighted else against / float(steps.weight.sum())
    )
    make: Callable[..., CurvePosterior] = LogisticCurvePosterior if logistic else curve_posterior
    exact = _checks.fraction("prior_exact", exact, or_zero=True)
    posterior = make(knots, prior_exact=exact, contradicted=against > 0, within=within)
    cell = np.minimum((steps.score * CELLS).astype(np.intp), CELLS - 1)
    distribution = np.bincount(cell, steps.weight, CELLS) / steps.weight.sum()
    bins = posterior.sample(draws, rng=rng)
    span = (float(steps.lower[0]), float(steps.upper[-1]))
    return CalibrationCurve(posterior, bins, target, wanted, span, distribution, counted, against, of_rows)


def _contradicted_within(knots: MergedCounts, share: float) -> bool:
    """Return whether a part of the share of rows that contradict their score is outside the knots at 0 and 1."""
    c = knots.mean_confidence
    at_end = np.minimum(c, 1 - c) <= AT_END
    inside = knots.share * np.abs(knots.accuracy - np.round(c))
    return share - float(inside[at_end].sum()) > NEGLIGIBLE


def _require_rows(name: str, n_rows: int) -> None:
    if not n_rows:
        raise ValueError(f"`{name}` must have at least one row of positive weight for a calibration curve.")


def _about_few_rows(posterior: CurvePosterior) -> list[str]:
    """State the shape of a logistic curve, and that outcomes are separated."""
    effective = " effective" * (posterior.counts.effective_rows < posterior.counts.n_rows - ROUNDING)
    missing = max(int(np.ceil(LEAST_ROWS - posterior.counts.effective_rows - ROUNDING)), 1)
    shape = (
        f"With fewer than {LEAST_ROWS}{effective} rows the curve is logistic: an intercept and a slope determine it, "
        "and errors of another shape average out. "
    )
    return [f"{shape}Other shapes need {missing} more{effective} row{'s' * (missing > 1)}."] + posterior.separated * [
        "One score separates all rows of outcome 0 from those of outcome 1: the prior alone limits the slope."
    ]


def _about_outcomes(counts: MergedCounts, contradicted: float) -> list[str]:
    """Name outcomes that are missing, and rows that contradict a score of exactly 0 or 1."""
    texts, rate = [], float(counts.accuracy @ counts.share)
    if np.abs(counts.accuracy - np.round(rate)).max() < ROUNDING:
        texts.append(
            f"No row has outcome {1 - round(rate)}: the curve follows from the prior and from the absence of this "
            "outcome."
        )
    if contradicted:
        rows = (
            f"Rows with {_render.percent(contradicted)} of the weight contradict"
            if counts.weighted
            else f"{contradicted:.0f} of {counts.n_rows} rows contradict"
        )
        texts.append(f"{rows} a score of exactly 0 or 1, so that exact calibration is impossible. Look at these rows.")
    return texts


def _about_bins(counts: MergedCounts, wanted: int, *, counted: bool) -> list[str]:
    """Name knots that are few or unequal, because equal scores, or counted bins, are not divided."""
    n_knots, largest = len(counts.share), float(counts.share.max())
    if n_knots >= FEW_BINS and largest * wanted <= UNEQUAL_BIN:
        return []
    whole = "counted bins" if counted else "equal scores"
    advice = " Count in finer bins: errors within a bin average out." if counted else ""
    return [
        f"The curve has {n_knots} knot{'s' * (n_knots > 1)}, and the largest holds {100 * largest:.0f} % of the rows, "
        f"because {whole} are not divided; coverage was measured with bins of equal mass.{advice}"
    ]


def _about_gaps(score: Floats) -> list[str]:
    """Name the widest range without rows between knots, where the curve is interpolated."""
    if len(score) < 2 or np.diff(score).max() <= WIDE_GAP:
        return []
    widest = int(np.diff(score).argmax())
    low, high = score[widest : widest + 2]
    return [f"No row has a score between {low:.3g} and {high:.3g}: the curve is interpolated there."]


def _about_quantiles(mean_error: Floats, share: Floats, quantiles: dict[str, tuple[Draws, float]]) -> list[str]:
    """Name quantiles of the errors that intervals often miss: of flat errors, and where the errors jump."""
    order = np.argsort(-mean_error, kind="stable")
    held, ordered = np.cumsum(share[order]), mean_error[order]

    def at(part: float) -> float:
        return float(ordered[min(int(np.searchsorted(held, part * (1 - 1e-9))), len(ordered) - 1)])

    texts = []
    for symbol, (quantile, part) in quantiles.items():
        sd, low = quantile.sd(), float(quantile.interval()[0])
        more, less = at(part - STEEP_ROWS), at(min(part + STEEP_ROWS, 1.0))
        if low == 0:
            continue
        if quantile.mean() - at(part) > FLAT_EXCESS * sd:
            texts.append(
                f"{symbol} and Emax may be too large: the largest errors differ by less than their noise, and a "
                "quantile of noisy errors is larger than that of the true errors."
            )
        elif more - less > STEEP_DIFFERENCE * sd and less < more / 2:
            texts.append(
                f"{symbol} may be far off: near {100 * part:.0f} % of the rows the error jumps from {less:.2g} to "
                f"{more:.2g}, and {symbol} is one or the other."
            )
    return texts
