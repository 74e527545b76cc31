"""Colours, axes and headlines that all plots share."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal import _render
from bayescal.report.room import TINY, characters
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# the palette of Okabe and Ito, for colour-blind readers, and a grey that is visible on black and on white
BLUE, ORANGE, SKY, GREY = "#0072B2", "#D55E00", "#56B4E9", "#808080"
SMALL, SMALLER = 8.5, 7.5  # points; text fits above axes three inches wide


def require_evaluation(evaluation: Any) -> None:
    """Raise TypeError unless the argument is an evaluation; the message says how to make one."""
    if not isinstance(evaluation, Evaluation | ClasswiseEvaluation):
        if isinstance(evaluation, GroupedEvaluation):
            raise TypeError(
                "`evaluation` must be an Evaluation, not a GroupedEvaluation; use that of one group, "
                "`grouped[label]`, or `grouped.overall`."
            )
        raise TypeError(
            f"`evaluation` must be an Evaluation, not {type(evaluation).__name__}; "
            "make one with `bayescal.evaluate(y_true, y_prob)`."
        )


def axes_or_new(ax: Any, figsize: tuple[float, float]) -> "Axes":
    """Return the given axes, or those of a new pyplot figure, which notebooks and `plt.show()` display."""
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.figure(figsize=figsize, layout="tight").subplots()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"`ax` must be a matplotlib Axes, not {type(ax).__name__}. "
            "From a figure use `figure.subplots()`; from an array of axes, one element, as in `axes[0]`."
        )
    return ax


def headline(
    ax: "Axes",
    evaluation: Evaluation | ClasswiseEvaluation,
    prob: float,
    *,
    above: float,
    note: str = "",
    small: bool = False,
) -> None:
    """Write the result as the title and the question below it in smaller type; in small axes only the result.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes.
    evaluation : Evaluation or ClasswiseEvaluation
        The result.
    prob : float
        Probability of the interval.
    above : float
        Points to leave free above the axes.
    note : str, optional
        An explanation of the plot, shown below the question.
    small : bool, default False
        Whether the axes are small.
    """
    import textwrap

    low, high = evaluation.ece.interval(prob)
    mean, low, high = (_render.number(v) for v in (evaluation.ece.mean(), low, high))
    size = TINY - 0.5 if small else SMALLER
    paragraphs = [note] if small else [evaluation.question, note]
    lines = [line for words in paragraphs for line in textwrap.wrap(_render.visible(words), characters(ax, size))]
    ax.annotate(
        "\n".join(lines),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, above),
        textcoords="offset points",
        fontsize=size,
        va="bottom",
        alpha=0.7,
        parse_math=False,
    )
    interval = "" if small else f", {100 * prob:g} % interval"
    ax.set_title(
        f"ECE {mean}{interval} [{low}, {high}]",
        loc="left",
        fontsize=TINY + 1 if small else SMALL + 1,
        pad=above + 1.25 * size * len(lines) + 3,
    )
