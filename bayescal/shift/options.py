"""Options of ``bayescal shift``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bayescal.cli import options as cli

SourceFile = Annotated[Path, cli.argument(f"Labelled rows of the source. {cli.FILE}", "SOURCE")]
TargetFile = Annotated[
    Path, cli.argument("Rows of the target, with the same columns of probabilities; labels are not read.", "TARGET")
]


@dataclass(frozen=True)
class ShiftColumnOptions(cli.Options):
    """Columns of labels, probabilities and weights."""

    label: str | None = cli.LABEL()
    prob: str | None = cli.column("Predicted probability that the label is 1, in both files.")
    prob_prefix: str | None = cli.column(
        "Prefix of the columns of class probabilities, in both files; the rest of each name is the class.", "PREFIX"
    )
    weights: str | None = cli.column(
        "Column of SOURCE, with --shift covariate: how frequent the features of the row are in the target, divided "
        "by how frequent they are in the source. Only ratios of weights matter."
    )
    classes: str | None = cli.CLASSES()
    logits: bool = cli.LOGITS()
    logprob: bool = cli.LOGPROB()


@dataclass(frozen=True)
class ShiftQuestionOptions(cli.Options):
    """The difference between source and target, whether its evidence is shown, and bins."""

    shift: str | None = cli.option(
        cli.QUESTION,
        "NAME",
        "What differs between source and target. [bold]label[/]: only the class frequencies do. "
        "[bold]covariate[/]: the distribution of the features does, and --weights corrects for it.",
    )
    evidence: bool = cli.flag(
        cli.QUESTION,
        "--evidence",
        "Show whether the scores of source and target differ, and whether different class frequencies alone "
        "can explain the difference. Without --shift, nothing else is shown.",
    )
    using: str | None = cli.option(
        cli.QUESTION,
        "NAME",
        "With --shift label, what class frequencies are estimated from: cells or probabilities. "
        "[dim]\\[default: cells][/]",
    )
    bins: str | None = cli.BINS()
    binning: str | None = cli.BINNING()
