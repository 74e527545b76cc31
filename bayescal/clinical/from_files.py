"""Files -> the clinical summary of the models in them, as ``bayescal clinical`` saves and shows it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayescal import _render
from bayescal._checks import one_scale
from bayescal._invalid import RoundingWarning
from bayescal.cli.columns import group_column, named_columns, refuse_column
from bayescal.cli.command import Result
from bayescal.cli.comparison import check_rows, of_columns
from bayescal.cli.counts import holds_counts
from bayescal.cli.keywords import keywords_of, parse_classes
from bayescal.cli.options import DrawsOptions
from bayescal.cli.words import warnings_as_notes
from bayescal.clinical.analysis import summary as clinical_summary
from bayescal.clinical.options import ClinicalQuestionOptions, RiskColumnOptions
from bayescal.clinical.page import clinical_picture
from bayescal.clinical.result import ClinicalSummary
from bayescal.clinical.subgroups import GroupedClinicalSummary
from bayescal.clinical.words import NO_THRESHOLDS
from bayescal.data.files.matching import read_models
from bayescal.data.files.predictions import ModelColumns
from bayescal.report.document import document
from bayescal.report.page import page

#: Words of the library in remarks, and those of the command line.
WORDS = {
    NO_THRESHOLDS: "No net benefit: it needs --threshold, the risks at which you would start to treat, as in "
    "--threshold 0.1,0.2.",
    "as from `compare` and `net_benefit.difference`": "as from `bayescal compare --estimand auc`, and in Python from "
    "`net_benefit.difference`",
}


@dataclass(frozen=True)
class SummarisedFiles(Result):
    """The clinical summary of files."""

    summary: ClinicalSummary | GroupedClinicalSummary
    parameters: dict[str, Any]  # values of the options that give the same result again
    notes: Sequence[str]  # on the rows

    def contents(self) -> dict[str, Callable[[], Any]]:
        """Make the JSON document, the page, the LaTeX table or the picture."""
        return {
            "json": lambda: document(self.summary, self.parameters),
            "html": lambda: page(self.summary, parameters=self.parameters, notes=self.notes),
            "latex": self.summary.to_latex,
            "plot": lambda: clinical_picture(self.summary),
        }

    words = WORDS

    def sheets(self, width: int) -> list[_render.Sheet]:
        """Return the sheet of the summary."""
        if isinstance(self.summary, GroupedClinicalSummary):
            return [self.summary.sheet(whole=True)]
        return [self.summary.sheet(width=width)]


def clinical_of_files(
    files: Sequence[Path], columns: RiskColumnOptions, question: ClinicalQuestionOptions, model: DrawsOptions
) -> SummarisedFiles:
    """Summarise the models in one file, or in several."""
    models = _models(files, columns)
    keywords = keywords_of(clinical_summary, question, model)
    thresholds = _thresholds(keywords.pop("threshold", None))
    used = {each.prob: "the probabilities" for each in models.values()}
    used |= {columns.label: "the labels", columns.weights: "the weights", columns.key: "the keys"}
    refuse_column("by", columns.by, "groups", used)
    refuse_column("cluster", columns.cluster, "clusters", used)
    how = {name: getattr(columns, name) for name in ("key", "weights", "by", "cluster")}
    rows = read_models(models, classes=parse_classes(columns.classes), **how)
    first = next(iter(rows.values()))
    of_rows = {name: getattr(first, name) for name in ("classes", "weights", "cluster")}
    keywords |= {**of_rows, "logits": columns.logits}
    notes = check_rows(rows, models, columns.weights, keywords | {"target": "event"})
    with warnings_as_notes(first, {}) as more, warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundingWarning)  # shown above, with the name of the column
        y_prob = {name: of_model.y_prob for name, of_model in rows.items()}
        if columns.by is not None:
            keywords["by"] = group_column(columns.by, first.group, keywords)
        summary = clinical_summary(first.y_true, y_prob, thresholds, **keywords)
    parameters = {
        "files": [file.name for file in files],
        **of_columns(columns, "models", models, rows, keywords),
        "threshold": thresholds,
        **({} if columns.by is None else {"by": columns.by}),
        **{name: keywords[name] for name in ("bins", "binning", "floor", "draws")},
        "seed": keywords["rng"],
    }
    return SummarisedFiles(summary, parameters, [*notes, *more])


def _models(files: Sequence[Path], columns: RiskColumnOptions) -> dict[str, ModelColumns]:
    for file in files:
        if holds_counts(file):
            raise ValueError(f"'{file.name}' holds counts; a clinical summary needs the rows of predictions.")
    if columns.prob is None:
        raise ValueError("say where the probabilities of the event are: --prob COLUMN, once per model.")
    if columns.label is None:
        raise ValueError("say where the outcomes are: --label COLUMN.")
    one_scale(columns.logits, columns.logprob)
    return named_columns(files, "prob", columns.prob, [columns.label], columns.key, logprob=columns.logprob)


def _thresholds(texts: list[str] | None) -> list[float] | None:
    """Return the thresholds of one or several options, in increasing order."""
    if not texts:
        return None
    try:
        return sorted(float(part) for text in texts for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"`thresholds` must be numbers between 0 and 1, as in 0.1,0.2; not {','.join(texts)!r}."
        ) from None
