"""Options of ``bayescal shift``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli.options import (
    FILE,
    QUESTION,
    Binning,
    Bins,
    Classes,
    Label,
    Logits,
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
    """Columns of labels and probabilities."""

    label: Label = None
    prob: Annotated[str | None, column("Predicted probability that the label is 1, in both files.")] = None
    prob_prefix: Annotated[
        str | None,
        column(
            "Prefix of the columns of class probabilities, in both files; the rest of each name is the class.", "PREFIX"
        ),
    ] = None
    classes: Classes = None
    logits: Logits = False


@dataclass(frozen=True)
class ShiftQuestionOptions(Options):
    """The difference between source and target, and bins."""

    shift: Annotated[
        str | None,
        option(QUESTION, "NAME", "What differs between source and target: label, the class frequencies alone."),
    ] = None
    using: Annotated[
        str | None,
        option(QUESTION, "NAME", "How class frequencies are estimated: cells (default) or probabilities."),
    ] = None
    bins: Bins = None
    binning: Binning = None
