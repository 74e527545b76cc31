"""Tests of whole predicted survival distributions: D-calibration and A-calibration."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaincc

from bayescal import _checks, _presented, _render
from bayescal._arrays import Floats, Ints
from bayescal._meant import public
from bayescal.clinical.exact_tests import p_text
from bayescal.data.columns import column
from bayescal.data.frames import same_rows, to_array
from bayescal.survival.rows import event_kinds

LEAST_EXPECTED_ROWS = 5.0  #: Smallest expected number of events in a bin; bins with fewer join their neighbour.


@public
@dataclass(frozen=True, eq=False, repr=False)
class DistributionTests(_presented.Presented):
    """D-calibration and A-calibration of predicted survival distributions.

    Returned by `bayescal.survival.calibration_tests`. Bins are those of the survival probability S at the time of each
    row, from S = 1 down to S = 0.

    Parameters
    ----------
    n_events : ndarray of int, shape (n_bins,)
        Numbers of events in each bin.
    shares : ndarray, shape (n_bins,)
        Numbers of rows in each bin, with each censored row divided over the bins in which its event may lie.
    expected : ndarray, shape (n_bins,)
        Expected numbers of events in each bin, given the censoring.
    n_censored : int
        Number of censored rows.
    """

    n_events: Ints
    shares: Floats
    expected: Floats
    n_censored: int

    _index = ("statistic",)
    _columns = ("value", "df", "p_value")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.n_events.sum()) + self.n_censored

    @property
    def d_calibration(self) -> float:
        """Statistic of D-calibration, chi-squared with one degree of freedom less than bins."""
        uniform = self.n_rows / len(self.shares)
        return float(((self.shares - uniform) ** 2).sum() / uniform)

    @property
    def a_calibration(self) -> float:
        """Statistic of A-calibration, chi-squared with one degree of freedom per bin; see `calibration_tests`."""
        events, expected = self._joined
        with np.errstate(divide="ignore"):  # events that the predictions exclude
            return float(((events - expected) ** 2 / expected).sum())

    @cached_property
    def _joined(self) -> tuple[Floats, Floats]:
        """Events and expected events, in bins that are joined until at least 5 events are expected in each."""
        starts, after = [0], float(self.expected.sum())
        for at, passed in enumerate(np.cumsum(self.expected).tolist(), 1):
            since = passed - float(self.expected[: starts[-1]].sum())
            if since >= LEAST_EXPECTED_ROWS and after - passed >= LEAST_EXPECTED_ROWS:
                starts.append(at)
        return np.add.reduceat(self.n_events.astype(np.float64), starts), np.add.reduceat(self.expected, starts)

    @property
    def p_d_calibration(self) -> float:
        """P-value of D-calibration; conservative with censored rows."""
        return float(self.table()[0]["p_value"])

    @property
    def p_a_calibration(self) -> float:
        """P-value of A-calibration."""
        return float(self.table()[1]["p_value"])

    def table(self) -> list[dict[str, Any]]:
        """Return the statistics as data: one dict each, with keys statistic, value, df and p_value."""
        names, dfs = ("d_calibration", "a_calibration"), (len(self.shares) - 1, len(self._joined[0]))
        values = [getattr(self, name) for name in names]
        p = [float(gammaincc(df / 2, value / 2)) for df, value in zip(dfs, values, strict=True)]
        rows = zip(names, values, dfs, p, strict=True)
        return [dict(zip(("statistic", *self._columns), row, strict=True)) for row in rows]

    def sentence(self) -> str:
        """Return both statistics in words."""
        parts = [
            f"{name}-calibration is {row['value']:.4g} with {row['df']} degrees of freedom (P {p_text(row['p_value'])})"
            for name, row in zip("DA", self.table(), strict=True)
        ]
        return f"The statistic of {parts[0]}, that of {parts[1]}."

    @property
    def spec(self) -> str:
        """Rows and bins, on one line."""
        of = f"{len(self.shares)} bins of the survival probability, N = {self.n_rows}, {self.n_censored} censored"
        return f"tests of predicted survival distributions, {of}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Questions that the statistics cannot answer, and warnings."""
        texts = [
            "Both test exact calibration. A P-value does not state how large the errors are; `survival.evaluate` "
            "estimates errors at a horizon."
        ]
        if self.n_censored:
            texts.append(
                f"D-calibration is conservative: it divides the {self.n_censored} censored rows over bins as the "
                "predictions say. A-calibration is not."
            )
        if (joined := len(self._joined[0])) < len(self.expected):
            texts.append(
                f"A-calibration has {joined} instead of {len(self.expected)} bins: bins in which fewer than "
                f"{LEAST_EXPECTED_ROWS:g} events are expected are joined to their neighbours."
            )
        return tuple(texts)

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        rows = [
            [f"{of}-calibration chi-squared", f"{row['value']:.4g}", str(row["df"]), p_text(row["p_value"], sign=False)]
            for of, row in zip("DA", self.table(), strict=True)
        ]
        return _render.Sheet(self.sentence(), self.spec, ("", "value", "df", "P-value"), rows, self.remarks)


@public
def calibration_tests(surviving: Any, event: Any, *, bins: int = 10) -> DistributionTests:
    r"""Compute D-calibration and A-calibration, tests of whole predicted survival distributions.

    Parameters
    ----------
    surviving : array-like of float, shape (n_rows,)
        Predicted probability of surviving the time of the row, :math:`S(t_i \mid x_i)`, in [0, 1]: at the time of the
        event, or of censoring.
    event : array-like of {0, 1} or bool, shape (n_rows,)
        Whether the row has the event at its time, or is censored.
    bins : int, default 10
        Number of bins of equal width of the survival probability, at least 2.

    Returns
    -------
    DistributionTests
        Both statistics with their degrees of freedom and P-values.

    Raises
    ------
    ValueError, TypeError
        If values are invalid, columns differ in length, `bins` is no integer of at least 2, there is no event, or a
        survival probability is 0 at a time without event.

    Notes
    -----
    If predictions are calibrated, :math:`S(T \mid x)` is uniform. D-calibration [1]_ divides each censored row over the
    bins below its survival probability s, as a uniform distribution on [0, s] does, and compares the numbers in B bins
    with n / B, by a chi-squared test with B - 1 degrees of freedom. Because the division assumes calibration, the test
    is conservative with censored rows. A-calibration [2]_ takes the test of Akritas [3]_: it compares the number
    :math:`O_j` of events in a bin with the number that is expected given the times under observation,

    .. math:: E_j = \sum_i \left(\log \max(s_i, b_j) - \log \max(s_i, a_j)\right)

    for the bin from :math:`a_j` to :math:`b_j > a_j`, the sum of increments of the predicted cumulative hazards. The
    differences :math:`O_j - E_j` are martingale increments: uncorrelated, with variance :math:`E_j`, so that
    :math:`\sum_j (O_j - E_j)^2 / E_j` is chi-squared with B degrees of freedom under any independent censoring. Bins
    are joined, from the first one on, until 5 events are expected in each. They contain their lower edge, and the first
    one contains 1.

    References
    ----------
    .. [1] H. Haider, B. Hoehn, S. Davis and R. Greiner (2020), "Effective ways to build and evaluate individual
       survival distributions", Journal of Machine Learning Research 21(85), 1-63.
    .. [2] M. R. Simonsen and R. P. Waagepetersen (2025), "A-calibration: assessment of prediction models for survival
       data under censoring", BMC Medical Research Methodology 25, 236.
    .. [3] M. G. Akritas (1988), "Pearson-type goodness-of-fit tests: the univariate case", Journal of the American
       Statistical Association 83, 222-230.

    Examples
    --------
    Hazards that are 1.3 times as large as predicted:

    >>> rate = rng.gamma(2.0, 0.5, 1000)
    >>> died, lost = rng.exponential(1 / (1.3 * rate)), rng.exponential(1.0, 1000)
    >>> surviving = np.exp(-rate * np.minimum(died, lost))
    >>> tests = bc.survival.calibration_tests(surviving, died <= lost)
    >>> round(tests.d_calibration, 1), round(tests.a_calibration, 1), tests.p_a_calibration < 0.001
    (24.3, 43.3, True)
    """
    n_bins = _checks.whole_number("bins", bins, 2)
    same_rows({"surviving": surviving, "event": event})
    s = column("surviving", to_array("surviving", surviving))
    _checks.not_empty("surviving", len(s))
    s = _checks.probabilities("surviving", s).astype(np.float64)
    kinds = event_kinds(event)
    _checks.same_length(("surviving", "event"), (len(s), len(kinds)))
    if (kinds > 1).any():
        hint = "For competing causes, pass the survival of one cause, and 0 for events of others, which censor it."
        _checks.refuse("event", "must be 0 (censored) or 1 (the event)", kinds > 1, kinds, hint=hint)
    died = kinds == 1
    if not died.any():
        raise ValueError("`event` must hold at least one event, 1: without events nothing can be tested.")
    if (gone := (s == 0) & ~died).any():
        rule = "must be above 0 for rows without event, whom the predictions let survive"
        _checks.refuse("surviving", rule, gone, s)
    edges = np.linspace(1.0, 0.0, n_bins + 1)
    low, high = edges[1:], edges[:-1]
    place = np.clip(np.searchsorted(-edges, -s, side="left") - 1, 0, n_bins - 1)
    events = np.bincount(place[died], minlength=n_bins)
    censored = s[~died, None]
    inside = np.clip(censored, low, high) - low  # length of each bin below the survival probability
    shares = events + (inside / censored).sum(axis=0)
    hazard = -np.log(np.maximum(s, np.finfo(np.float64).tiny))
    ends = np.append(-np.log(edges[:-1]), np.inf)
    expected = np.diff(np.minimum(hazard[:, None], ends), axis=1).sum(axis=0)
    return DistributionTests(events, shares, expected, int(np.count_nonzero(~died)))
