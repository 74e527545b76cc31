"""Plan: how many labels reach a goal."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayescal import _checks, _render
from bayescal.analyses.planning.goal_curve import GoalCurve, Simulated, curve_near_answer


@dataclass(frozen=True, eq=False, repr=False)
class Plan(_render.Presented):
    """How many more labelled rows reach a goal, and how sure that is.

    Made by `labels_needed`; printing it shows the sentence and the simulated curve.

    Parameters
    ----------
    goal : str
        The goal in words.
    probability : float
        In what share of all futures the goal is to be met.
    pilot : str
        The pilot and the question in words.
    pilot_now : str
        What the pilot alone says of the goal, in words.
    pilot_verdict : str or None
        The verdict by which the pilot alone meets the goal; None if it does not, or is not kept.
    keep_pilot : bool
        Whether the pilot's rows are analysed together with the new ones.
    largest : int
        The most rows that were considered.
    verdicts : tuple of str
        The verdicts that meet the goal.
    simulated : dict of int to Counter
        For each number of new rows, how often each verdict was reached; key None where the goal was not met.
    """

    goal: str
    probability: float
    pilot: str
    pilot_now: str
    pilot_verdict: str | None
    keep_pilot: bool
    largest: int
    verdicts: tuple[str, ...]
    simulated: Simulated

    @property
    def rows(self) -> int | None:
        """Rows to label besides the pilot; 0 if it is enough, None if not even `largest` are."""
        if self.pilot_verdict is not None:
            return 0
        return self._rows_at(self._fit.quantile(0.5))

    @property
    def interval(self) -> tuple[int | None, int | None]:
        """Central 95 % interval of `rows` given the simulations; more of them make it narrower. None as in `rows`."""
        if self.pilot_verdict is not None:
            return 0, 0
        return self._rows_at(self._fit.quantile(0.025)), self._rows_at(self._fit.quantile(0.975))

    def rows_for(self, probability: float) -> int | None:
        """Rows that meet the goal in another share of futures, from the same curve.

        The spread of these numbers is that of the futures which the pilot allows: what is not known of the truth, and
        the luck of the rows to come.

        Parameters
        ----------
        probability : float
            A share in (0, 1).

        Returns
        -------
        int or None
            Rows, 0 if the pilot is enough; None outside the numbers of rows that were simulated.
        """
        asked = _checks.fraction("probability", probability)
        if self.pilot_verdict is not None:
            return 0
        log_rows = self._fit.quantile(0.5, asked)
        near = [math.log(n) for n in self._fit.sizes]
        return self._rows_at(log_rows) if min(near) <= log_rows <= max(near) else None

    def curve(self) -> list[dict[str, Any]]:
        """The simulated share of futures that meet the goal, as data: one dict for each number of rows.

        Returns
        -------
        list of dict
            Keys rows, simulations, share, se (of the share: the standard deviation of a Beta with half a success and
            half a failure added, so that it is not 0 at 0 and 1), and the share of each verdict by its name.
        """
        result = []
        for n in sorted(self.simulated):
            of = self.simulated[n]
            total = of.total()
            met = total - of[None]
            a, b = met + 0.5, total - met + 0.5
            se = math.sqrt(a * b / (a + b + 1)) / (a + b)
            shares = {name: of[name] / total for name in self.verdicts}
            result.append({"rows": n, "simulations": total, "share": met / total, "se": se, **shares})
        return result

    def sentence(self) -> str:
        """The answer in words."""
        if self.pilot_verdict is not None:
            return f"No more rows are needed for {self.goal}: {self.pilot_now}."
        more = "more rows" if self.keep_pilot else "new rows"
        total = sum(of.total() for of in self.simulated.values())
        low, high = self.interval
        upper = f"more than {self.largest}" if high is None else str(high)
        if self.rows is not None:
            return (
                f"About {self.rows} {more} give {self.goal} with probability {self.probability:g} (95 % interval "
                f"{low} to {upper} from {total} simulations); {self.pilot_now}."
            )
        last = self.curve()[-1]
        return (
            f"Not reached: with {last['rows']} {more}, {last['share']:.2f} of the simulations (standard error "
            f"{last['se']:.2f}) give {self.goal}, and probability {self.probability:g} was asked for; {self.pilot_now}."
        )

    @property
    def spec(self) -> str:
        """Pilot, goal and limits, on one line."""
        analysed = "pilot and new rows together" if self.keep_pilot else "new rows alone"
        return f"{self.pilot}; {analysed}, at most {self.largest}"

    def sheet(self) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data."""
        if not self.simulated:
            return _render.Sheet(self.sentence(), self.spec, (), ())
        named = self.verdicts if len(self.verdicts) > 1 else ()
        rows = [
            [str(row["rows"]), f"{row['share']:.2f}", f"{row['se']:.2f}", str(row["simulations"])]
            + [f"{row[name]:.2f}" for name in named]
            for row in self.curve()
        ]
        header = ("rows", "share", "se", "simulations", *named)
        return _render.Sheet(self.sentence(), self.spec, header, rows, self._remarks())

    def _remarks(self) -> list[str]:
        if self.pilot_verdict is not None:
            return []
        told = [(p, self.rows_for(p)) for p in (0.5, 0.8, 0.9, 0.95)]
        known = ", ".join(f"{p:g} with {n}" for p, n in told if n is not None)
        return [f"Probability of the goal over what the pilot leaves open: {known}."] if known else []

    @cached_property
    def _fit(self) -> GoalCurve:
        return curve_near_answer(self.simulated, self.probability, self.largest)

    def _rows_at(self, log_rows: float) -> int | None:
        return None if log_rows > math.log(self.largest) else min(math.ceil(math.exp(log_rows)), self.largest)

    def __repr__(self) -> str:
        return f"Plan({self.sentence()})"
