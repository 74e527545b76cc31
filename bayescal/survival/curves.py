"""Product-limit curves in bins (Kaplan-Meier, Aalen-Johansen), and effective numbers of uncensored rows."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from bayescal._arrays import Bools, Floats, Ints
from bayescal.stats.sums import sums_at

LEAST_RISK = 1e-6  #: Mean risks are clipped to this distance from 0 and 1 where a hazard is scaled to them.


@dataclass(frozen=True, eq=False)
class Exits:
    """Rows that leave the study up to the horizon, in the order of bin and time; at one time, events come first.

    Rows may be single, or the rows of one bin, time and kind together. Arrays have shape (n_exits,).
    """

    bin: Ints
    time: Floats  # at most the horizon for events, before the horizon for censored rows
    event: Bools  # of any cause
    of_cause: Bools  # whether there is an event of the cause
    weight: Floats  # > 0; of rows together, their number
    staying: Floats  # weight of the rows of each bin that are known to be free of events at the horizon, (n_bins,)

    @classmethod
    def sorted(
        cls, bin_of: Ints, time: Floats, event: Bools, of_cause: Bools, weight: Floats, staying: Floats
    ) -> "tuple[Exits, Ints]":
        """Sort rows; also return their order."""
        first = np.concatenate([np.flatnonzero(event), np.flatnonzero(~event)])
        by_time = first[np.argsort(time[first], kind="stable")]
        # numpy sorts small integers by radix
        small = bin_of.astype(np.uint16) if len(staying) <= np.iinfo(np.uint16).max else bin_of
        order = by_time[np.argsort(small[by_time], kind="stable")]
        return cls(bin_of[order], time[order], event[order], of_cause[order], weight[order], staying), order

    @cached_property
    def leaving(self) -> Floats:
        """Share of the rows at risk in the bin that leaves with each row, in (0, 1]."""
        at_risk = np.empty(len(self.weight))
        # sums from the last row of each bin, not differences of sums: the share of the last row is exactly 1 then
        for stay, (first, end) in zip(self.staying, pairwise(self.starts), strict=True):
            at_risk[first:end] = np.cumsum(np.append(stay, self.weight[first:end][::-1]))[:0:-1]
        return self.weight / at_risk

    @cached_property
    def starts(self) -> Ints:
        """First exit of each bin, and the number of exits, shape (n_bins + 1,)."""
        return np.searchsorted(self.bin, np.arange(len(self.staying) + 1))

    @cached_property
    def last(self) -> Bools:
        """Flag exits after which nobody is left in the bin."""
        return self.leaving == 1

    def _remaining(self, marked: Bools) -> tuple[Floats, Floats]:
        """Return the product limit of marked exits before each exit, and by bin before the last one of all rows."""
        logs = np.concatenate([[0.0], np.cumsum(np.log1p(-np.where(marked & ~self.last, self.leaving, 0.0)))])
        first = logs[self.starts]
        return np.exp(logs[:-1] - first[:-1][self.bin]), np.exp(np.diff(first))

    @cached_property
    def surviving(self) -> Floats:
        """Kaplan-Meier estimate of the bin just before each exit: share without an event of any cause."""
        return self._remaining(self.event)[0]

    @cached_property
    def _uncensored(self) -> tuple[Floats, Floats]:
        return self._remaining(~self.event)

    @property
    def uncensored(self) -> Floats:
        """Kaplan-Meier estimate of not being censored before each exit (events at a time come before censorings)."""
        return self._uncensored[0]

    @property
    def uncensored_at_horizon(self) -> Floats:
        """The same just before the horizon, by bin."""
        return self._uncensored[1]

    @property
    def incidence(self) -> Floats:
        """Aalen-Johansen estimate of the probability of the event by the horizon, by bin.

        With one cause it is 1 minus the Kaplan-Meier estimate. Exits at one time are handled one after another, which
        gives the same product as handling them together.
        """
        jumps = np.where(self.of_cause, self.surviving * self.leaving, 0.0)
        return np.minimum(sums_at(self.bin, jumps, len(self.staying)), 1.0)

    @property
    def followed(self) -> Bools:
        """Whether the data of each bin extend to the horizon: rows stay, or the last row has an event."""
        lost = np.zeros(len(self.staying), bool)
        lost[self.bin[self.last & ~self.event]] = True
        return ~lost

    @cached_property
    def hazard(self) -> tuple[Floats, Floats]:
        """Distinct times of events of the cause in all bins, and the Nelson-Aalen estimate of the cumulative hazard."""
        order = np.argsort(self.time, kind="stable")
        time, weight = self.time[order], self.weight[order]
        left = np.concatenate([[0.0], np.cumsum(weight)])
        whole = left[-1] + self.staying.sum()
        hits = self.of_cause[order]
        event_times = time[hits]
        new = np.diff(event_times, prepend=-1.0) > 0
        times = event_times[new]
        if not len(times):
            return times, times
        events = np.add.reduceat(weight[hits], np.flatnonzero(new))
        at_risk = np.maximum(whole - left[np.searchsorted(time, times, side="left")], events)
        return times, np.cumsum(events / at_risk)

    def worth(self, mean_risk: Floats) -> Floats:
        """Return the effective share of the rows of each bin: how many uncensored rows each is worth, in [0, 1].

        It is the inverse of the mean of 1 / G(u-) over the times u of events in all bins, with weights proportional to
        the increments of exp(c H(u)) - 1: G is the censoring curve of the bin, H the pooled cumulative hazard, and c
        gives the bin its mean risk at the horizon (`mean_risk`, shape (n_bins,); any value for bins without rows). It
        is 1 without censoring, and 0 in bins not followed. ``docs/explanation/survival.md`` derives it from Greenwood's
        variance; the bin's own events do not enter, so that the value exists without events.
        """
        times, cumulated = self.hazard
        if not len(times):  # without a hazard, all rows are needed up to the horizon
            return np.where(self.followed, self.uncensored_at_horizon, 0.0)
        clipped = np.clip(np.nan_to_num(mean_risk, nan=0.5), LEAST_RISK, 1 - LEAST_RISK)
        scale = -np.log1p(-clipped) / cumulated[-1]
        odds = np.expm1(scale * cumulated[-1])
        at = np.flatnonzero(~self.event & ~self.last)
        bin_of, leaving = self.bin[at], self.leaving[at]
        passed = np.concatenate([[0.0], cumulated])[np.searchsorted(times, self.time[at], side="right")]
        still = odds[bin_of] - np.expm1(scale[bin_of] * passed)
        # each censored row raises 1 / G by this step for all later events
        step = leaving / (1 - leaving) / self.uncensored[at]
        lost = sums_at(bin_of, step * np.maximum(still, 0.0), len(self.staying))
        return np.where(self.followed, odds / (odds + lost), 0.0)

    @property
    def inverse_censoring(self) -> tuple[Floats, Floats]:
        """Weights 1 / G by inverse probability of censoring: of each event, and of the rows that stay, by bin."""
        return np.where(self.event, self.weight / self.uncensored, 0.0), self.staying / self.uncensored_at_horizon

    def influences(self, values: Floats, staying: Floats) -> tuple[Floats, Floats]:
        r"""Return how much one more unit of weight of a row would add to a total over rows with known outcome.

        `values`, shape (n_exits,): those of censored rows do not matter. `staying`, shape (n_bins,): sum of weight
        times value over the rows that stay. The result (of_exits, of_censoring), shapes (n_exits,) and (n_bins,), holds
        the derivative by the weight of each exit; that by the weight of a row that stays is its value divided by
        `uncensored_at_horizon`, minus `of_censoring` of its bin.

        The total is :math:`T = \sum w v / G(u-)`, with the censoring curve G of the bin. A row adds its own value, and
        it changes G: with the share :math:`l_k` of the rows at risk that leaves with the censored row k, and the part
        :math:`T_k` of the total after it,

        .. math::
            \frac{\partial T}{\partial w_i} = \frac{v_i}{G_i} + \frac{T_i}{1 - l_i} \frac{l_i}{w_i}
            - \sum_{k \le i} \frac{T_k}{1 - l_k} \frac{l_k^2}{w_k},

        where the first term belongs to events and the others to censored rows. With the outcome as the value, T is the
        product-limit estimate of the number of events, and the derivative is the outcome itself without censoring.
        """
        inverse, _ = self.inverse_censoring
        parts = inverse * np.where(self.event, values, 0.0)
        passed = np.concatenate([[0.0], np.cumsum(parts)])
        after = passed[self.starts[1:]][self.bin] - passed[1:] + (staying / self.uncensored_at_horizon)[self.bin]
        lost = ~self.event & ~self.last
        gained = np.where(lost, after * self.leaving / np.where(lost, 1 - self.leaving, 1.0), 0.0) / self.weight
        changed = np.concatenate([[0.0], np.cumsum(gained * self.leaving)])
        before = changed[self.starts[:-1]]
        return parts / self.weight + gained - (changed[1:] - before[self.bin]), changed[self.starts[1:]] - before
