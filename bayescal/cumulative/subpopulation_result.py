"""SubpopulationDifference: a subpopulation against the full population, in the order of the scores."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal._meant import public
from bayescal.cumulative.attenuation import Attenuation, attenuation
from bayescal.cumulative.base import Cumulative
from bayescal.cumulative.responses import Responses
from bayescal.cumulative.subpopulation_sums import SubpopulationSteps, subpopulation_steps

Floats = NDArray[np.float64]


#: Name of a subpopulation that has none.
SUBPOPULATION = "the subpopulation"
#: The size of the step of the first or last cell of a subpopulation, in sigma, times the share of its rows beyond the
#: scores of the subpopulation, above which a remark names the cell.
FAR_BEYOND = 0.25
#: Attenuation below which a remark states it.
ATTENUATED = 0.95


@public
@dataclass(frozen=True, eq=False, repr=False)
class SubpopulationDifference(Cumulative):
    r"""The cumulative difference between a subpopulation and the full population at the same scores.

    Returned by `bayescal.cumulative.subpopulation`; printing it shows a sentence and the two statistics.
    "Calibration" means here that the subpopulation and the full population have the same mean response at every score.

    Parameters
    ----------
    steps : Steps
        Sums over the members with each distinct score; residuals are responses minus the mean response of the full
        population near the score.
    question : str
        What is compared, and the rows, in words.
    left_out : int
        Number of rows that were left out because their weight is 0.
    group : str
        The subpopulation in words, as "ward = 7".

    Examples
    --------
    >>> import bayescal as bc
    >>> sub = bc.cumulative.subpopulation([1, 0, 2, 1], [0.1, 0.2, 0.3, 0.4], [True, False, False, True])
    >>> sub.curve
    array([0.  , 0.25, 0.  ])
    >>> sub.average_difference
    0.0
    """

    steps: SubpopulationSteps
    group: str = SUBPOPULATION

    _null, _assuming = "if equal", "if means are equal"

    @cached_property
    def _attenuation(self) -> Attenuation:
        return attenuation(self.steps)

    @property
    def attenuation(self) -> float:
        """Mean ratio of differences in the curve to differences from the population mean at the same score, in (0, 1].

        Members are part of the mean of their cell. In small cells, their share is larger than in the population near
        the score. The ratio is near 1 if members are few, or if each cell contains many rows, as with ties; it is 0.67
        for half of the rows without ties. `curve` and statistics, which follow the literature, contain it.
        """
        return self._attenuation.mean

    def _possible(self, low: float, high: float) -> tuple[float, float]:
        return low / self._attenuation.most, high / self._attenuation.least

    def _around(self, margin: float) -> tuple[Floats, Floats]:
        curve, other = self.curve[1:], self._attenuation.curve
        margin /= self._attenuation.least
        return np.minimum(curve, other) - margin, np.maximum(curve, other) + margin

    def _no_difference(self) -> str:
        return "at each score, its mean response equals that of the full population"

    def _compared(self) -> str:
        return f"{self.group} and the full population"

    def _difference(self, slope: float) -> str:
        return f"responses of {self.group} are {'higher' if slope > 0 else 'lower'} than in the full population,"

    def _under_calibration(self) -> str:
        return "If the two had equal means at every score,"

    def _assumption(self) -> str:
        return "equality"

    def _rare(self) -> str:
        return "with rare responses"

    def _remarks(self) -> list[str]:
        average, error = self.average_difference, self.slope(-np.inf, np.inf).standard_error
        words = f"{self._number(average)} (standard error {self._number(error)})"
        return [
            f"Average difference over the subpopulation: {words}.",
            *super()._remarks(),
            *self._about_ends(),
            *self._about_cells(),
        ]

    def _about_cells(self) -> list[str]:
        if self.attenuation >= ATTENUATED:
            return []
        return [
            f"Curve, statistics and average difference show about {100 * self.attenuation:.0f} % of the difference "
            "from the full population: members are part of the means, and cells have few other rows. Interval and band "
            "allow for this. Rounded scores make larger cells."
        ]

    def _about_ends(self) -> list[str]:
        """Name the first or last cell if its rows beyond the scores of the subpopulation can move the curve."""
        steps = self.steps
        variance = np.maximum(steps.calibrated_variance, 0.0)
        beyond = getattr(steps, "beyond", np.zeros(len(steps)))
        far = np.flatnonzero(np.sqrt(variance) * beyond > FAR_BEYOND * np.sqrt(variance.sum()))
        return [
            f"At the score {float(steps.score[i]):g}, {_percent(float(beyond[i]))} of the weight behind the population "
            "mean has scores outside the range of the subpopulation; the difference may reflect those scores."
            for i in far
        ]


def difference_of(rows: Responses, member: NDArray[np.bool_], group: str = SUBPOPULATION) -> SubpopulationDifference:
    """Return the cumulative difference of the members of a group, which has a name such as "ward = 7"."""
    shown = "a subpopulation" if group == SUBPOPULATION else group
    question = f"cumulative difference between {shown} and the full population"
    left_out = 0 if rows.weight is None else int(np.count_nonzero(rows.weight[member] == 0))
    return SubpopulationDifference(subpopulation_steps(rows, member), question, group=group, left_out=left_out)


def _percent(share: float) -> str:
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"
