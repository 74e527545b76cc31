"""A file -> its cumulative difference, or that of its groups, as ``bayescal cumulative`` saves and shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import _checks, _render
from bayescal._arrays import Figure
from bayescal._invalid import quoted
from bayescal.cli.columns import columns_of
from bayescal.cli.command import Result
from bayescal.cli.counts import holds_counts, read_counts
from bayescal.cli.options import ColumnOptions, refuse
from bayescal.cli.words import warnings_as_notes
from bayescal.cumulative.analysis import cumulative_difference_of
from bayescal.cumulative.analysis import screen as screen_subpopulations
from bayescal.cumulative.base import Cumulative
from bayescal.cumulative.options import CumulativeModelOptions, CumulativeOptions, CumulativeOutputOptions
from bayescal.cumulative.plot import plot_cumulative
from bayescal.cumulative.posterior_result import CumulativePosterior
from bayescal.cumulative.result import CumulativeDifference
from bayescal.cumulative.subpopulation_result import SubpopulationScreen, difference_of
from bayescal.cumulative.subpopulation_sums import Responses, read_member
from bayescal.data.files.predictions import Rows
from bayescal.data.groups import equation, require_group_labels
from bayescal.data.predictions import read_rows
from bayescal.report.document import document
from bayescal.report.page import page
from bayescal.stats.binned import BinnedCounts

type FileResult = Cumulative | SubpopulationScreen

#: Words of the library in remarks, and those of the command line.
WORDS = {
    "see `to_frame`": "--json saves all groups",
    "`screen[label]`": "--value LABEL",
    '`model="segments"`': "--model segments",
    "`simulated_p_values()`": "In Python, `simulated_p_values()`",
}


@dataclass(frozen=True)
class CumulativeFile(Result):
    """The cumulative difference of a file, and its posterior if it has one, whose document includes the result."""

    result: FileResult
    parameters: dict[str, Any]  # values of the options that give the same result again
    notes: Sequence[str] = ()  # on the rows
    posterior: CumulativePosterior | None = None

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page or the picture."""
        saved = self.posterior or self.result
        return {
            "json": lambda: document(saved, self.parameters),
            "html": lambda: page(saved, parameters=self.parameters, notes=self.notes),
            "plot": self._picture,
        }

    def _picture(self) -> "Figure":
        from matplotlib.figure import Figure

        assert isinstance(self.result, Cumulative)  # --plot was refused for a screen
        figure = Figure(figsize=(7, 5), layout="tight")
        plot_cumulative(self.result, figure.subplots())
        return figure

    words = WORDS

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheet of the rows' result, then that of the population."""
        return [each.sheet() for each in (self.result, self.posterior) if each is not None]


def cumulative_of_file(
    file: Path,
    options: ColumnOptions,
    groups: CumulativeOptions,
    model: CumulativeModelOptions,
    outputs: CumulativeOutputOptions,
) -> CumulativeFile:
    """Compute the cumulative difference of a file of predictions or of counts; results of groups have no posterior."""
    if groups.value is not None and groups.by is None:
        raise ValueError("--value names a group of --by COLUMN, which is missing.")
    if groups.by is not None and groups.value is None and outputs.plot is not None:
        raise ValueError("--plot draws one curve: with --by, name a group by --value.")
    if groups.by is not None and groups.value is None and groups.zoom is not None:
        raise ValueError("--zoom shows a part of one curve: with --by, name a group by --value.")
    if holds_counts(file):
        grouped = {name: value for name, value in groups.given().items() if name != "zoom"}
        refuse(options.given() | grouped, "with a file of counts, only with rows")
        return _counted(file, groups, model)
    if groups.by is not None:
        refuse(model.given(), "with --by, whose results have P-values but no intervals")
    columns = columns_of(options)
    columns.refuse_as_groups(groups.by)
    stream = columns.open(file, groups.by)
    called = stream.called | {"by": f"column {groups.by!r}"}
    with warnings_as_notes(stream, called) as notes:
        rows = stream.read()
        if groups.by is not None:
            require_group_labels(dict.fromkeys(np.asarray(rows.group).tolist()), len(rows.y_true))
        result = _zoomed(_result(rows, columns.target, options.logits, groups), groups.zoom)
        posterior, settings = _posterior(result, model)
    parameters = {"file": file.name, "rows": len(rows.y_true), **options.given(), **groups.given(), **settings}
    return CumulativeFile(result, parameters, notes, posterior)


def _posterior(
    result: FileResult, options: CumulativeModelOptions
) -> tuple[CumulativePosterior | None, dict[str, Any]]:
    """Draw the posterior if the result has one; return also the values of the options."""
    if not isinstance(result, CumulativeDifference):
        return None, {}
    settings: dict[str, Any] = {"model": "pooled", "draws": 4000, "seed": 1} | options.given()
    posterior = result.posterior(settings["draws"], rng=settings["seed"], model=settings["model"])
    limit = _checks.fraction("below", settings.get("below", posterior.limit))
    return replace(posterior, limit=limit), {**settings, "below": limit}


def _zoomed[T: FileResult](result: T, zoom: str | None) -> T:
    """Return the part of the result in an interval such as "0.2,0.6"."""
    if zoom is None or isinstance(result, SubpopulationScreen):  # --zoom was refused for a screen
        return result
    try:
        low, high = (float(end) for end in zoom.split(","))
    except ValueError:
        raise ValueError(f"--zoom must be two numbers, as in 0.2,0.6, not {quoted(zoom)}.") from None
    return result.zoom(low, high)


def _counted(file: Path, groups: CumulativeOptions, model: CumulativeModelOptions) -> CumulativeFile:
    counts = read_counts(file, None)
    if not isinstance(counts, BinnedCounts):
        raise ValueError(
            f"'{file.name}' holds counts of all classes; a cumulative difference needs one binary problem."
        )
    parameters = {"file": file.name, "rows": counts.n_rows, "bins": len(counts.bins), **groups.given()}
    result = _zoomed(CumulativeDifference.from_counts(counts), groups.zoom)
    posterior, settings = _posterior(result, model)
    return CumulativeFile(result, {**parameters, **settings}, posterior=posterior)


def _result(rows: Rows, target: str | None, logits: bool, groups: CumulativeOptions) -> FileResult:
    problem = read_rows(
        rows.y_true, rows.y_prob, target=target, classes=rows.classes, logits=logits, weights=rows.weights
    ).checked()
    if groups.by is None:
        return cumulative_difference_of(problem)
    columns = problem.outcome, problem.confidence
    if groups.value is None:
        screen = screen_subpopulations(*columns, rows.group, weights=problem.weight)
        return replace(screen, groups=replace(screen.groups, name=groups.by))
    member = np.asarray(rows.group == groups.value)
    if not member.any():
        values = np.unique(np.asarray(rows.group, dtype=np.str_)).tolist()
        shown, more = quoted(values[:5])[1:-1], ", ..." if len(values) > 5 else ""
        raise ValueError(
            f"column {groups.by!r} has no value {quoted(groups.value)}; it has {shown}{more} ({len(values)} values)."
            f"{_checks.did_you_mean(groups.value, values)}"
        )
    responses = Responses.read(*columns, problem.weight, others={})
    return difference_of(responses, read_member(member, responses), equation(groups.by, groups.value))
