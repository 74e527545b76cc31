"""Options of ``bayescal shift``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli.options import (
    FILE,
    QUESTION,
    Binning,
    Bins,
    Classes,
    Label,
    Logits,
    Logprob,
    Options,
    argument,
    column,
    option,
)

SourceFile = Annotated[Path, argument(f"Labelled rows of the source. {FILE}", "SOURCE")]
TargetFile = Annotated[
    Path, argument("Rows of the target, with the same columns of probabilities; labels are not read.", "TARGET")
]


@dataclass(frozen=True)
class ShiftColumnOptions(Options):
    """Columns of labels, probabilities and weights."""

    label: Label = None
    prob: Annotated[str | None, column("Predicted probability that the label is 1, in both files.")] = None
    prob_prefix: Annotated[
        str | None,
        column(
            "Prefix of the columns of class probabilities, in both files; the rest of each name is the class.", "PREFIX"
        ),
    ] = None
    weights: Annotated[
        str | None,
        column(
            "Column of SOURCE, with --shift covariate: how frequent the features of the row are in the target, divided "
            "by how frequent they are in the source. Only ratios of weights matter."
        ),
    ] = None
    classes: Classes = None
    logits: Logits = False
    logprob: Logprob = False


@dataclass(frozen=True)
class ShiftQuestionOptions(Options):
    """The difference between source and target, whether its evidence is shown, and bins."""

    shift: Annotated[
        str | None,
        option(
            QUESTION,
            "NAME",
            "What differs between source and target. [bold]label[/]: only the class frequencies do. "
            "[bold]covariate[/]: the distribution of the features does, and --weights corrects for it.",
        ),
    ] = None
    evidence: Annotated[
        bool,
        typer.Option(
            "--evidence",
            rich_help_panel=QUESTION,
            help="Show whether the scores of source and target differ, and whether different class frequencies alone "
            "can explain the difference. Without --shift, nothing else is shown.",
        ),
    ] = False
    using: Annotated[
        str | None,
        option(
            QUESTION,
            "NAME",
            "With --shift label, what class frequencies are estimated from: cells or probabilities. "
            "[dim]\\[default: cells][/]",
        ),
    ] = None
    bins: Bins = None
    binning: Binning = None
