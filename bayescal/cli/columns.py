"""Columns of a file that hold labels, probabilities and weights, as options name them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal._checks import one_scale
from bayescal._invalid import quoted
from bayescal.analyses.groups import most_groups
from bayescal.cli.keywords import parse_classes
from bayescal.cli.options import ColumnOptions, ColumnOptionsPerClassifier
from bayescal.data.files.labels import in_order, require_group_labels
from bayescal.data.files.predictions import RowStream, open_predictions
from bayescal.stats.bins import make_bins

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ColumnNames:
    """Columns with the predictions of one classifier; one of `prob` and `prob_prefix` is None."""

    label: str
    prob: str | None
    prob_prefix: str | None  # the beginning of the names of several columns
    target: str | None  # if the options imply one
    options: ColumnOptions

    def open(self, file: Path, by: str | None = None) -> RowStream:
        """Open a file to read these columns of it, and the column of groups."""
        return open_predictions(
            file,
            label=self.label,
            prob=self.prob,
            prob_prefix=self.prob_prefix,
            weights=self.options.weights,
            classes=parse_classes(self.options.classes),
            by=by,
            cluster=self.options.cluster,
            logprob=self.options.logprob,
        )

    def refuse_as_groups(self, by: str | None) -> None:
        """Refuse a column of groups or of clusters that holds something else."""
        used = {self.label: "the labels", self.prob: "the probabilities", self.options.weights: "the weights"}
        refuse_column("by", by, "groups", used)
        refuse_column("cluster", self.options.cluster, "clusters", used)


def refuse_column(option: str, name: str | None, of: str, used: Mapping[str | None, str]) -> None:
    """Refuse an option that names a column which holds something else, in the words of `used`."""
    if name is not None and name in used:
        raise ValueError(f"`{option}` must name a column of {of}; {quoted(name)} holds {used[name]}.")


def group_column(name: str, labels: Any, keywords: Mapping[str, Any]) -> "pd.Series[Any]":
    """Return labels that were read as text as a column: integers if all are, in order, with the name of their column.

    `keywords` has the numbers of draws and of bins, which limit the number of groups.
    """
    import pandas as pd

    distinct = dict.fromkeys(labels.tolist())
    require_group_labels(distinct, most_groups(keywords["draws"], len(make_bins(keywords["bins"]))))
    label_of = {text: label for label, text in in_order(distinct).items()}
    by = pd.Categorical(labels, categories=list(label_of), ordered=True).rename_categories(label_of)
    return pd.Series(by, name=name)


#: End of messages that refuse all classes at once.
ONE_CLASS = "as an event: --prob with the column of its probability, and --label with a column of 0 and 1."


def columns_of(options: ColumnOptions) -> ColumnNames:
    """Return the columns that the options name; a `ValueError` says which option is missing or superfluous."""
    named = option_of_probabilities(options, "the probabilities are", "one column")
    if named == "confidence":
        assert options.correct is not None
        return ColumnNames(options.correct, options.confidence, None, "confidence", options)
    assert options.label is not None
    return ColumnNames(options.label, options.prob, options.prob_prefix, None, options)


def option_of_probabilities(options: ColumnOptions | ColumnOptionsPerClassifier, whose: str, column: str) -> str:
    """Return which option names the probabilities: "prob", "prob_prefix" or "confidence".

    ValueError, with the words `whose` and `column`, unless one of the three and the option that names the labels were
    given.
    """
    given = options.given()
    one_scale(options.logits, options.logprob)
    if "correct" in given or "confidence" in given:
        if not ("correct" in given and "confidence" in given):
            raise ValueError(
                "--correct and --confidence go together: whether the prediction was right, and how confident it was."
            )
        if given.keys() & {"label", "prob", "prob_prefix"}:
            raise ValueError("--correct and --confidence take the place of --label, --prob and --prob-prefix.")
        return "confidence"
    if "prob" in given and "prob_prefix" in given:
        raise ValueError(f"--prob ({column}) and --prob-prefix (one column per class) cannot be used together.")
    if not given.keys() & {"prob", "prob_prefix"}:
        raise ValueError(
            f"say where {whose}: --prob COLUMN ({column}), --prob-prefix PREFIX (one column per class), or "
            "--confidence COLUMN with --correct COLUMN."
        )
    if "label" not in given:
        raise ValueError("say where the true labels are: --label COLUMN.")
    return "prob" if "prob" in given else "prob_prefix"
