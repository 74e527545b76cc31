"""Plan: how many labels reach a goal."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayescal import _checks, _presented, _render
from bayescal._meant import public
from bayescal.planning.goal_curve import GoalCurve, Simulated, curve_near_answer


@public
@dataclass(frozen=True, eq=False, repr=False)
class Plan(_presented.Presented):
    """The number of labelled rows that reach a goal, and its uncertainty.

    Made by `labels_needed`; printing it shows the sentence and the simulated curve.

    Parameters
    ----------
    goal : str
        The goal in words.
    assurance : float
        Required probability that the goal is met.
    pilot : str
        The pilot and the question in words.
    pilot_now : str
        The result of the pilot alone, in words.
    pilot_verdict : str or None
        The verdict by which the pilot alone meets the goal; None if it does not, or if `keep_pilot` is False.
    keep_pilot : bool
        Whether the rows of the pilot are analysed together with the new ones.
    largest : int
        Largest number of rows that was considered.
    verdicts : tuple of str
        The verdicts that meet the goal.
    simulated : dict of int to Counter
        For each number of new rows, the number of simulations with each verdict; None if the goal was not met. Empty if
        the pilot is enough, or if `reachable` is at most the assurance.
    reachable : float, default 1.0
        Probability that the goal is met with unlimited rows. It is below 1 for a limit (``below=`` or
        ``above=``), if the truth may be beyond the limit given the pilot.
    """

    goal: str
    assurance: float
    pilot: str
    pilot_now: str
    pilot_verdict: str | None
    keep_pilot: bool
    largest: int
    verdicts: tuple[str, ...]
    simulated: Simulated
    reachable: float = 1.0

    @property
    def rows(self) -> int | None:
        """Rows to label in addition to the pilot; 0 if the pilot is enough, None if `largest` rows are not enough.

        With these rows the probability that the goal is met, given the pilot and the simulations, is the assurance. It
        includes the simulation error of the curve, so fewer simulations give a larger number.
        """
        if self.pilot_verdict is not None:
            return 0
        if not self.simulated:
            return None
        return self._rows_at(self._fit.rows_with(self.assurance))

    @property
    def interval(self) -> tuple[int | None, int | None]:
        """Central 95 % interval, given the simulations, of the rows with which the share is the assurance."""
        if self.pilot_verdict is not None:
            return 0, 0
        if not self.simulated:
            return None, None
        return self._rows_at(self._fit.quantile(0.025)), self._rows_at(self._fit.quantile(0.975))

    def rows_for(self, assurance: float) -> int | None:
        """Rows that meet the goal with another assurance, from the same curve.

        These numbers vary because the truth is uncertain given the pilot, and because of chance in the rows to come.

        The number is 0 if the pilot is enough, and None outside the numbers of rows that were simulated.

        Parameters
        ----------
        assurance : float
            A probability in (0, 1).
        """
        assurance = _checks.fraction("assurance", assurance)
        if self.pilot_verdict is not None:
            return 0
        if not self.simulated:
            return None
        log_rows = self._fit.rows_with(assurance)
        log_sizes = [math.log(n) for n in self._fit.sizes]
        return self._rows_at(log_rows) if min(log_sizes) <= log_rows <= max(log_sizes) else None

    def curve(self) -> list[dict[str, Any]]:
        """The share of simulated studies that meet the goal, as data: one dict per number of rows.

        Keys are rows, simulations, share, se (the standard deviation of a Beta posterior of the share under the prior
        Beta(1/2, 1/2), which is not 0 at shares of 0 and 1), and the share of each verdict by its name.
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

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        return self.curve(**options)

    _index = ("rows",)
    _numbers = ("rows",)

    @property
    def _columns(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the goal
        return ("simulations", "share", "se", *self.verdicts)

    def sentence(self) -> str:
        """Return the answer in words."""
        if self.pilot_verdict is not None:
            return f"No more rows are needed for {self.goal}: {self.pilot_now}."
        if not self.simulated:
            return (
                f"No number of rows is recommended: with unlimited rows, the probability of {self.goal} tends to "
                f"{self.reachable:.2f}, which is not above the assurance of {self.assurance:g}; {self.pilot_now}."
            )
        more = "more rows" if self.keep_pilot else "new rows"
        total = sum(of.total() for of in self.simulated.values())
        low, high = self.interval
        upper = f"more than {self.largest}" if high is None else str(high)
        if self.rows is not None:
            return (
                f"About {self.rows} {more} give {self.goal} with assurance {self.assurance:g} (95 % interval "
                f"{low} to {upper} from {total} simulations); {self.pilot_now}."
            )
        share = self._fit.mean_share(math.log(self.largest))
        return (
            f"Not reached: {self.largest} {more} give {self.goal} with assurance {share:.2f} (from {total} "
            f"simulations), below the assurance of {self.assurance:g}; {self.pilot_now}."
        )

    @property
    def spec(self) -> str:
        """Pilot, goal and limits, on one line."""
        analysed = "pilot and new rows together" if self.keep_pilot else "new rows alone"
        return f"{self.pilot}; {analysed}, at most {self.largest}"

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        if not self.simulated:
            return _render.Sheet(self.sentence(), self.spec, (), ())
        named = self.verdicts if len(self.verdicts) > 1 else ()
        rows = [
            [str(row["rows"]), f"{row['share']:.2f}", f"{row['se']:.2f}", str(row["simulations"])]
            + [f"{row[name]:.2f}" for name in named]
            for row in self.curve()
        ]
        header = ("rows to label", "P(goal met)", "standard error", "simulations", *named)
        return _render.Sheet(self.sentence(), self.spec, header, rows, self._remarks())

    def _remarks(self) -> list[str]:
        if self.pilot_verdict is not None:
            return []
        limit = [f"With unlimited rows, the assurance is {self.reachable:.2f}."] if self.reachable < 1 else []
        rows = [(p, self.rows_for(p)) for p in (0.5, 0.8, 0.9, 0.95)]
        listed = ", ".join(f"{p:g} with {n}" for p, n in rows if n is not None)
        return [f"Assurance by number of rows: {listed}."] * bool(listed) + limit

    @cached_property
    def _fit(self) -> GoalCurve:
        return curve_near_answer(self.simulated, self.assurance, self.largest, self.reachable)

    def _rows_at(self, log_rows: float) -> int | None:
        return None if log_rows > math.log(self.largest) else min(math.ceil(math.exp(log_rows)), self.largest)

    def __repr__(self) -> str:
        return f"Plan({self.sentence()})"
