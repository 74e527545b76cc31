"""Tables as text, which the command line and the page share: differences, classifiers, bins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bayescal import _render
from bayescal.estimands.estimand import Estimand
from bayescal.estimands.registry import as_scalar
from bayescal.report.document import PROB, bin_table
from bayescal.results import wording
from bayescal.results.comparison import Comparison
from bayescal.results.evaluation import Evaluation
from bayescal.results.over_datasets import ComparisonOverDatasets
from bayescal.results.remarks import grid_remarks
from bayescal.results.scores import ScoreComparison
from bayescal.stats.bins import VALUES

#: Columns of the table of differences, after the pair.
DIFFERENCES = ("mean", "2.5 %", "97.5 %", "P(1st)", "P(equal)", "P(2nd)")
#: Measures of discrimination, and of calibration and discrimination together.
SCORES = ("auc", "brier_score", "log_score")


@dataclass(frozen=True)
class Table:
    """A table of text with its title and the meaning of its columns; the first cell of each row is its name."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def further(result: Evaluation) -> list[Table]:
    """Return the tables on which an evaluation depends, such as the class frequencies of a target without labels."""
    sheets = result._more_sheets().items()
    return [Table(title, sheet.header, sheet.rows, sheet.sentence) for title, sheet in sheets]


def difference_rows(comparison: Comparison, estimand: Estimand) -> list[tuple[str, str, list[str]]]:
    """Return for each pair both names and the cells of the columns `DIFFERENCES`."""
    table = comparison.table(PROB, estimand=estimand)
    return [(_render.name(row["first"]), _render.name(row["second"]), _cells(row)) for row in table]


def difference_key(comparison: Comparison, estimand: Estimand, option: str = "") -> str:
    """Return the meaning of the columns `DIFFERENCES`; `option` follows the width of practical equivalence."""
    name, rope, axis = estimand.words(comparison._first.counts.target), f"{comparison.rope:g}", comparison.axis
    signed = estimand.better == "nearest zero"
    difference = "difference of the absolute values" if signed else f"negative if the 1st has the smaller {name}"
    return (
        f"1st - 2nd: {difference}. P(1st) is the probability that the first {axis} is better: its {name} is "
        f"{estimand.comparative} by more than {rope}. P(2nd) is the same for the second {axis}. P(equal) is the "
        f"probability that they differ by at most {rope}{option}."
    )


def differences(comparison: Comparison, estimand: Estimand) -> Table:
    """Return the table of differences between all pairs of classifiers."""
    rows = [[f"{first} - {second}", *numbers] for first, second, numbers in difference_rows(comparison, estimand)]
    return Table("Differences", ("1st - 2nd", *DIFFERENCES), rows, difference_key(comparison, estimand))


def measures(comparison: Comparison) -> Table:
    """Return the table of the usual measures of each classifier."""
    sheet = comparison._measures_sheet()
    return Table("Measures", sheet.header, sheet.rows, "The mean, and in brackets the 95 % credible interval.")


def classifiers(comparison: Comparison, estimand: Estimand) -> Table:
    """Return the table of classifiers, each by itself."""
    target, each = comparison._first.counts.target, comparison.each(PROB, estimand=estimand)
    return _classifiers(comparison.axis, each, estimand.column_label(target), estimand.best(target))


def scores(comparison: ScoreComparison) -> Table:
    """Return the table of classifiers, each with its own score."""
    name, each = comparison[comparison.names[0]].name, comparison.each(PROB)
    table = _classifiers(comparison.axis, each, name, f"smallest {name}")
    rows = [[*cells, _render.number(row["observed"])] for cells, row in zip(table.rows, each, strict=True)]
    return replace(table, header=(*table.header, "observed"), rows=rows)


def by_dataset(result: ComparisonOverDatasets, estimand: Estimand) -> Table:
    """Return the table of differences of all pairs on each data set."""
    rows = [
        [dataset, f"{first} - {second}", *_cells(row)]
        for row in result._by_dataset(PROB, estimand)
        for dataset, first, second in [[_render.name(row[key]) for key in ("dataset", "first", "second")]]
    ]
    return Table("Each data set", ("data set", "1st - 2nd", *DIFFERENCES), rows)


def _classifiers(axis: str, each: Sequence[Mapping[str, Any]], column: str, best: str) -> Table:
    header = (column, "mean", "sd", "2.5 %", "97.5 %", "P(best)", "rank")
    rows = [
        [
            _render.name(row[axis]),
            *_render.numbers(*(row[column] for column in ("mean", "sd", "low", "high"))),
            _share(row["p_best"]),
            f"{row['rank']:.2f}",
        ]
        for row in each
    ]
    note = (
        f"P(best) is the probability that the {axis} has the {best} of all, by any margin. The rank is the expected "
        "rank; 1 is the best."
    )
    return Table(f"{axis.capitalize()}s", header, rows, note)


def discrimination(evaluation: Evaluation) -> list[Table]:
    """Return the table of discrimination and proper scores; an empty list if the counts have none of them."""
    known = [each for each in map(as_scalar, SCORES) if each.available(evaluation.counts)]
    if not known:
        return []
    d, target = wording.decimals(evaluation.ece), evaluation.counts.target
    rows = []
    for each in known:
        row = evaluation.row(each, PROB)
        numbers = (row[column] for column in ("mean", "sd", "low", "high", "plug_in"))
        rows.append([each.column_label(target), *(_render.number(value, d) for value in numbers)])
    grid = grid_remarks(evaluation.counts, known)
    note = " ".join(["AUC: larger is better; of scores, smaller is better.", *grid])
    return [Table("Discrimination and scores", wording.HEADER[:-1], rows, note)]


def bins(evaluation: Evaluation) -> Table:
    """Return the table of bins: edges, rows, what was observed, and the interval of the accuracy."""
    d, (stated, happened) = wording.decimals(evaluation.ece), wording.axis_words(evaluation.counts.target)
    words = evaluation._observed_words
    share = f"observed {happened}" if words == "observed" else f"{happened} by labels"
    header = ("bin", *evaluation._bin_rows, f"mean {stated}", share, "2.5 %", "97.5 %")
    edges, of_values = _edges(evaluation.counts.bins.edges.tolist()), evaluation.counts.bins.kind == VALUES
    rows = [
        [
            f"{row['mean_confidence']:.6g}" if of_values else f"{low} to {high}",
            *(f"{n:.1f}" if isinstance(n, float) else str(n) for n in map(row.get, evaluation._bin_rows.values())),
            *(_render.number(row[c], d) for c in ("mean_confidence", "accuracy", "accuracy_low", "accuracy_high")),
        ]
        for row, low, high in zip(bin_table(evaluation), edges[:-1], edges[1:], strict=True)
    ]
    meaning = f"ends of the 95 % credible interval of the {happened}"
    return Table("Bins", header, rows, f"2.5 % and 97.5 %: {meaning}. A dash: {evaluation._bin_dash}.")


def _edges(edges: Sequence[float]) -> list[str]:
    """Write edges with as few digits as tell them apart, at least three and at most all."""
    written = ([f"{edge:.{digits}g}" for edge in edges] for digits in range(3, 18))
    return next(texts for texts in written if len(set(texts)) == len(edges))


def _cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of the columns `DIFFERENCES`."""
    numbers = _render.numbers(*(row[column] for column in ("mean", "low", "high")))
    return numbers + [_share(row[column]) for column in ("p_left", "p_rope", "p_right")]


def _share(probability: float) -> str:
    return _render.probability(probability).removeprefix("= ")
