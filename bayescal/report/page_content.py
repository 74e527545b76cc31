"""Content of the page of each result: title, tables, pictures, numbers of rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import Any

from bayescal import _packages, _presented, _render
from bayescal._arrays import Axes, Figure
from bayescal.estimands.registry import EstimandLike, as_scalar
from bayescal.report import tables
from bayescal.report.comparison import TOTALS, plot_comparison, plot_over_datasets
from bayescal.report.document import load_page_of
from bayescal.report.forest import draw_scores, forest_height, name_lines, plot_forest, row_names, rows_height
from bayescal.report.posterior import plot_posterior
from bayescal.report.reliability import plot_reliability
from bayescal.report.sensitivity import plot_bin_sensitivity, plot_model_sensitivity
from bayescal.report.tables import Table
from bayescal.results import wording
from bayescal.results.classwise import ClasswiseEvaluation
from bayescal.results.comparison import Compared, Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.grouped import GroupedEvaluation
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.scores import CorpDecomposition, MultiClassScore, MurphyDecomposition, ScoreComparison
from bayescal.results.sensitivity import BinSensitivity, ModelSensitivity

WIDTH = 4.6  #: Width in inches of a picture; on a telephone its text is then as large as on paper.
NAMED_ROWS = 40  #: Maximum number of rows of a forest plot that is as high as their names need.


@dataclass(frozen=True)
class Picture:
    """A picture of a page; `draw` makes the figure."""

    caption: str
    draw: "Callable[[], Figure]"
    wide: bool = False  # whether it takes the whole width


def picture(caption: str, plot: "Callable[[Axes], Any]", height: float) -> Picture:
    """Return a picture of the usual width."""
    return Picture(caption, partial(drawn, plot, WIDTH, height))


def reliability_picture(evaluation: Evaluation, of: str = "") -> Picture:
    """Return the reliability diagram of one problem."""
    return picture(captioned("Reliability diagram", of), partial(plot_reliability, evaluation), 5.2)


def posterior_picture(evaluation: Evaluation | ClasswiseEvaluation, of: str = "") -> Picture:
    """Return the posterior of the ECE."""
    return picture(captioned("Posterior of the ECE", of), partial(plot_posterior, evaluation), 3.9)


def forest_picture(caption: str, evaluations: Mapping[Any, Evaluation] | ClasswiseEvaluation) -> Picture:
    """Return the intervals of several problems."""
    names = row_names(evaluations)
    height = 1.2 + (rows_height(names) if len(names) <= NAMED_ROWS else forest_height(names))
    return picture(caption, partial(plot_forest, evaluations), height)


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
    _packages.require("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="tight")
    plot(figure.subplots())
    return figure


#: Maximum number of classes in a forest plot, which needs the evaluation of each class, and of reliability diagrams.
CLASSES_DRAWN, DIAGRAMS = 40, 6


@dataclass(frozen=True)
class Content:
    """Content of the page of a result."""

    title: str
    sheet: _render.Sheet  # the sentence, the specification and the remarks; its table is among `tables`
    tables: Sequence[Table]
    rows: Mapping[str, object]  # numbers of rows, by their meaning
    pictures: Sequence[Picture] = field(default=())  # shown above the tables
    lead: Sequence[Table] = field(default=())  # tables that are shown above the pictures


def capital(words: str) -> str:
    """Return the words with a capital at the beginning."""
    return words[:1].upper() + words[1:]


def one_table(title: str, sheet: _render.Sheet) -> Table:
    """Return the table of a sheet."""
    return Table(title, sheet.header, sheet.rows)


@singledispatch
def content(result: Any) -> Content:
    """Return the sentence, the table and the remarks of a result without pictures."""
    if not isinstance(result, _presented.Presented):
        raise TypeError(f"`result` must be a result of this package, as an Evaluation, not {type(result).__name__}.")
    sheet = result.sheet(whole=True)
    return Content(type(result).__name__, sheet, [one_table("Table", sheet)] if sheet.header else [], {})


@content.register
def _(result: Evaluation) -> Content:
    sheet = result.sheet(whole=True)
    shown = [one_table("Calibration errors", sheet), *tables.discrimination(result), *tables.further(result)]
    shown.append(tables.bins(result))
    pictures = [reliability_picture(result), posterior_picture(result)]
    return Content("Calibration report", sheet, shown, result._row_numbers(), pictures)


@content.register
def _(result: ClasswiseEvaluation) -> Content:
    sheet = result.sheet(whole=True)
    pictures = [posterior_picture(result)]
    if len(result) <= CLASSES_DRAWN:
        pictures.append(forest_picture("ECE of each class", result))
    shown, rows = [one_table("Classes", sheet)], wording.row_numbers(result.counts[0])
    return Content("Calibration report: all classes", sheet, shown, rows, pictures)


@content.register
def _(result: GroupedEvaluation) -> Content:
    sheet, of_all = result.sheet(whole=True), (result.overall, "all rows")
    pictures = [forest_picture("ECE of each group", result), reliability_picture(*of_all), posterior_picture(*of_all)]
    shown = [one_table("Groups", sheet), tables.bins(result.overall)]
    return Content("Calibration report: groups", sheet, shown, result.overall._row_numbers(), pictures)


@content.register
def _(result: BinSensitivity) -> Content:
    sheet, first = result.sheet(whole=True), next(iter(result.evaluations.values()))
    by_bins = picture("Intervals by number of bins", partial(plot_bin_sensitivity, result), 4.4)
    return Content("Choice of bins", sheet, [one_table("Choices of bins", sheet)], first._row_numbers(), [by_bins])


@content.register
def _(result: ModelSensitivity) -> Content:
    sheet, rows = result.sheet(whole=True), result._first._row_numbers()
    height = 1.1 + rows_height([", ".join(choice) for choice in result])
    by_model = picture("Intervals by model", partial(plot_model_sensitivity, result), height)
    return Content("Choice of model and prior", sheet, [one_table("Models and priors", sheet)], rows, [by_model])


@content.register
def _(result: MultiClassScore) -> Content:
    sheet = result.sheet(whole=True)
    rows: dict[str, object] = {"rows": result.n_rows}
    if result.effective_rows != result.n_rows:
        rows["effective rows"] = f"{result.effective_rows:.0f}"
    return Content(capital(result.name), sheet, [one_table("Score", sheet)], rows)


@content.register(CorpDecomposition)
@content.register(MurphyDecomposition)
def _(result: CorpDecomposition | MurphyDecomposition) -> Content:
    sheet = result.sheet(whole=True)
    return Content(f"Decomposition of the {result.score_name}", sheet, [one_table("Parts", sheet)], {})


@content.register
def _(result: ScoreComparison) -> Content:
    sheet = result.sheet(whole=True)
    shown = [Table("Differences", sheet.header, sheet.rows, result.key), tables.scores(result)]
    first, height = result[result.names[0]], 1.2 + rows_height(tuple(map(_render.name, result)))
    draw = partial(drawn, partial(draw_scores, scores=result.scores), 1.3 * WIDTH, height)
    scored = Picture(f"{capital(first.name)} of each classifier", draw, wide=True)
    # the lines of the classifiers are in their table
    bare = replace(sheet, remarks=(), notes=())
    return Content(f"Comparison by the {first.name}", bare, shown, {"rows": first.n_rows}, [scored])


def content_of(result: _presented.Presented, estimand: EstimandLike) -> Content:
    """Return the content of the page of a result; only two kinds have a choice of the estimand."""
    load_page_of(type(result))
    if isinstance(result, Comparison):
        return _comparison(result, estimand)
    if isinstance(result, ComparisonOverDatasets):
        return _over_datasets(result, estimand)
    return content(result)


def _comparison(result: Comparison, estimand: EstimandLike) -> Content:
    record = as_scalar(estimand)
    words = result.sentence(estimand=record), result.specification(estimand=record)
    sheet = _render.Sheet(*words, (), (), result.remarks)
    sizes = {name: each.counts.n_rows for name, each in result.evaluations.items()}
    same = len(set(sizes.values())) == 1
    rows = {"rows": next(iter(sizes.values()))} if same else {f"rows of {name}": n for name, n in sizes.items()}
    pictures = [comparison_picture(f"{result.axis.capitalize()}s and their differences", result, record)]
    if len(result) <= DIAGRAMS:
        pictures += [reliability_picture(each, name) for name, each in result.evaluations.items()]
    shown, lead = [tables.differences(result, record), tables.classifiers(result, record)], [tables.measures(result)]
    return Content("Comparison of calibration", sheet, shown, rows, pictures, lead)


def _over_datasets(result: ComparisonOverDatasets, estimand: EstimandLike) -> Content:
    record = as_scalar(estimand)
    sheet = result.sheet(whole=True, estimand=record)
    first, second = result._listed(record)[:2]
    pair = partial(plot_over_datasets, result, first=first, second=second, estimand=record)
    height = 1.4 + forest_height([*result.datasets, *TOTALS])
    pictures = [picture(captioned("Differences", f"{first} - {second}"), pair, height)]
    if len(result) > 2:
        ranks, height = partial(plot_over_datasets, result, estimand=record), 1.2 + forest_height(result.names)
        pictures.insert(0, picture("Mean ranks", ranks, height))
    rows = {f"rows of {name}": n for name, n in result.n_rows.items()}
    shown = [one_table("Pairs of classifiers", sheet), tables.by_dataset(result, record)]
    return Content("Comparison over data sets", sheet, shown, rows, pictures)
