"""A file of labelled rows, or published numbers -> a plan, as ``bayescal plan`` saves and shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayescal import _render
from bayescal._texts import text_of
from bayescal.cli.command import Result
from bayescal.cli.counts import count_files, holds_counts, read_counts
from bayescal.cli.keywords import PARSERS, keywords_of
from bayescal.cli.options import ColumnOptions, CountQuestionOptions, GoalOptions, ModelOptions, refuse
from bayescal.estimands.registry import as_scalar
from bayescal.planning.analysis import labels_needed
from bayescal.planning.options import ValidationOptions
from bayescal.planning.published import KINDS
from bayescal.planning.result import Plan
from bayescal.planning.validation_result import ValidationPlan
from bayescal.planning.without_pilot import validation
from bayescal.report.document import document
from bayescal.report.page import page
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.classwise import ClasswiseCounts


@dataclass(frozen=True)
class PlannedFile(Result):
    """The plan for a file or for numbers, and the values of the options that give the same result again."""

    plan: Plan | ValidationPlan
    parameters: dict[str, Any]

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document or the page."""
        return {
            "json": lambda: document(self.plan, self.parameters),
            "html": lambda: page(self.plan, parameters=self.parameters),
        }

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheet of the plan."""
        return [self.plan.sheet(whole=True)]


def plan_file(
    file: Path, options: ColumnOptions, question: CountQuestionOptions, goal: GoalOptions, model: ModelOptions
) -> PlannedFile:
    """Plan for a file of predictions or of counts."""
    _require_one_goal(goal)
    keywords = keywords_of(labels_needed, goal, model)
    record = as_scalar(keywords["estimand"])
    counts = _pilot(file, options, question)
    if "outcomes" in record.needs and counts.ranks is None:
        raise ValueError(text_of("pilot of one set of bins", name=record.name, file=file.name))
    result = labels_needed(counts, **{**keywords, "progress": True})
    settings = {**options.given(), **goal.given(), **model.given()}
    about = {"target": counts.target, "bins": len(counts.bins), "draws": keywords["draws"]}
    return PlannedFile(result, {"file": file.name, "rows": counts.n_rows, **settings, **about})


def plan_of_numbers(options: ValidationOptions) -> PlannedFile:
    """Plan from published numbers."""
    chosen = options.given()
    values: dict[str, Any] = {name: _parsed(name, text) if name in KINDS else text for name, text in chosen.items()}
    if "width" in chosen:
        parts = [text.partition("=") for text in chosen["width"]]
        if wrong := [name for name, _, number in parts if not number]:
            raise ValueError(f"--width must be NAME=WIDTH, as in slope=0.3, not {wrong[0]!r}.")
        values["width"] = {name: _parsed(name, number) for name, _, number in parts}
    return PlannedFile(validation(rng=values.pop("seed"), **values), chosen)


def _parsed(name: str, text: str) -> float | tuple[float, ...]:
    """Return a number, or several that are separated by commas."""
    try:
        numbers = tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ValueError(f"`{name}` must be a number, or MEAN,LOW,HIGH as in 0.1,0.08,0.13, not {text!r}.") from None
    return numbers if len(numbers) > 1 else numbers[0]


def _require_one_goal(goal: GoalOptions) -> None:
    named = [f"--{name}" for name in ("width", "below", "above") if name in goal.given()]
    if len(named) != 1:
        raise ValueError(
            "give exactly one goal: --width (of the 95 % interval), --below or --above (a limit of which the posterior "
            f"is 95 % sure); not {', '.join(named) or 'none'}."
        )


def _pilot(file: Path, options: ColumnOptions, question: CountQuestionOptions) -> BinnedCounts:
    if not holds_counts(file):
        counted = count_files([file], options, question).total
        assert isinstance(counted, BinnedCounts)  # rows of one classifier
        return counted
    target = {"target": question.target} if question.target else {}
    refuse(options.given() | target, "with a file of counts, only with rows")
    counts = read_counts(file, PARSERS["bins"](question.bins) if question.bins else None)
    if isinstance(counts, ClasswiseCounts):
        raise ValueError(
            f"'{file.name}' holds counts of all classes, and a plan needs those of one problem: count the rows with "
            "`target='top-label'`, or plan for one class in Python, with `labels_needed(counts[label], ...)`."
        )
    return counts
