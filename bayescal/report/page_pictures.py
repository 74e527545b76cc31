"""Pictures of pages: their captions and sizes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bayescal import _render
from bayescal.estimands.registry import EstimandLike
from bayescal.report.comparison import plot_comparison
from bayescal.report.forest import forest_height, name_lines, plot_forest, row_names, rows_height
from bayescal.report.posterior import plot_posterior
from bayescal.report.reliability import plot_reliability
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.compared import Compared
from bayescal.results.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width in inches of a picture; on a telephone its text is then as large as on paper.
WIDTH = 4.6
#: Maximum number of rows of a forest plot that is as high as their names need.
NAMED = 40


@dataclass(frozen=True)
class Picture:
    """A picture of a page; `draw` makes the figure."""

    caption: str
    draw: "Callable[[], Figure]"
    wide: bool = False  # whether it takes the whole width


def reliability_picture(evaluation: Evaluation, of: str = "") -> Picture:
    """Return the reliability diagram of one problem."""
    draw = partial(drawn, partial(plot_reliability, evaluation), WIDTH, 5.2)
    return Picture(captioned("Reliability diagram", of), draw)


def posterior_picture(evaluation: Evaluation | ClasswiseEvaluation, of: str = "") -> Picture:
    """Return the posterior of the ECE."""
    draw = partial(drawn, partial(plot_posterior, evaluation), WIDTH, 3.9)
    return Picture(captioned("Posterior of the ECE", of), draw)


def forest_picture(caption: str, evaluations: Mapping[Any, Evaluation] | ClasswiseEvaluation) -> Picture:
    """Return the intervals of several problems."""
    names = row_names(evaluations)
    height = 1.2 + (rows_height(names) if len(names) <= NAMED else forest_height(names))
    return Picture(caption, partial(drawn, partial(plot_forest, evaluations), WIDTH, height))


def comparison_picture(caption: str, result: Compared, estimand: EstimandLike) -> Picture:
    """Return the differences of a comparison, without the title, which is the sentence of the page."""
    names = [_render.name(name) for name in result.names]
    height, lines, two = rows_height(names), name_lines(names), len(names) == 2
    size = (5.4, 4.3 + height + 0.3 * lines) if two else (6.8, min(2.2 + 2 * height + 0.2 * lines, 20.0))

    def draw(ax: "Axes") -> None:
        plot_comparison(result, ax, estimand=estimand)
        ax.set_title("", loc="left")  # the sentence of the page

    return Picture(caption, partial(drawn, draw, *size), wide=True)


def captioned(words: str, of: str) -> str:
    """Return a caption, with the name of what it is about."""
    return f"{words}: {_render.name(of)}" if of else words


def drawn(plot: "Callable[[Axes], Any]", width: float, height: float) -> "Figure":
    """Draw a plot in a figure of its own, which pyplot does not manage."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="tight")
    plot(figure.subplots())
    return figure
