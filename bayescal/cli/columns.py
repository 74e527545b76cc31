"""Columns of files that hold labels, probabilities and weights of one or several classifiers, as options name them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayescal._arrays import pd
from bayescal._checks import one_scale
from bayescal._files import file_names
from bayescal._invalid import quoted
from bayescal._texts import text_of
from bayescal.analyses.groups import most_groups
from bayescal.cli.keywords import parse_classes
from bayescal.cli.options import ColumnOptions, ColumnOptionsPerClassifier
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import ModelColumns, RowStream, open_predictions
from bayescal.data.files.source import Source
from bayescal.data.groups import in_order, require_group_labels
from bayescal.stats.bins import make_bins


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
            file, label=self.label, prob=self.prob, prob_prefix=self.prob_prefix,
            weights=self.options.weights, classes=parse_classes(self.options.classes),
            by=by, cluster=self.options.cluster, logprob=self.options.logprob,
        )  # fmt: skip

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
    """Return labels that were read as text as a named column: integers if all are, in order."""
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
    """Return which option names the probabilities: "prob", "prob_prefix" or "confidence"."""
    values = options.given()
    one_scale(options.logits, options.logprob)
    if "correct" in values or "confidence" in values:
        if not ("correct" in values and "confidence" in values):
            raise ValueError(
                "--correct and --confidence go together: whether the prediction was right, and how confident it was."
            )
        if values.keys() & {"label", "prob", "prob_prefix"}:
            raise ValueError("--correct and --confidence take the place of --label, --prob and --prob-prefix.")
        return "confidence"
    if "prob" in values and "prob_prefix" in values:
        raise ValueError(f"--prob ({column}) and --prob-prefix (one column per class) cannot be used together.")
    if not values.keys() & {"prob", "prob_prefix"}:
        raise ValueError(
            f"say where {whose}: --prob COLUMN ({column}), --prob-prefix PREFIX (one column per class), or "
            "--confidence COLUMN with --correct COLUMN."
        )
    if "label" not in values:
        raise ValueError("say where the true labels are: --label COLUMN.")
    return "prob" if "prob" in values else "prob_prefix"


def columns_by_name(files: Sequence[Path], options: ColumnOptionsPerClassifier) -> dict[str, ModelColumns]:
    """Return the columns of each classifier, at least two, by its name."""
    option = option_of_probabilities(options, "each classifier's probabilities are", "one column per classifier")
    texts, labels = getattr(options, option), options.correct or [str(options.label)]
    classifiers = named_columns(files, option.replace("_", "-"), texts, labels, options.key, logprob=options.logprob)
    if len(classifiers) < 2:
        raise ValueError(
            f"a comparison needs at least two classifiers: give --{option.replace('_', '-')} once for each, or two "
            "files and --key. `bayescal report` evaluates a single classifier."
        )
    return classifiers


def named_columns(
    files: Sequence[Path], option: str, texts: list[str], labels: list[str], key: str | None, *, logprob: bool = False
) -> dict[str, ModelColumns]:
    """Return the columns of one or several classifiers, by name, from one file or from one file per classifier.

    `texts` are the values of `option`, ``COLUMN`` or ``NAME=COLUMN``, and `labels` columns, of which one stands for
    all.
    """
    sources = _sources(files, key)
    n_classifiers = _count_classifiers(option, len(sources), len(texts), len(labels))
    names = file_names(files) if len(files) > 1 else [""] * n_classifiers
    classifiers: dict[str, ModelColumns] = {}
    of_each = (values * n_classifiers if len(values) == 1 else values for values in (sources, texts, labels))
    for source, text, label, file_name in zip(*of_each, names, strict=True):
        name, column = _name_and_column(option, text, source)
        name = name or file_name or (column.rstrip("_-.: ") if option == "prob-prefix" else "") or column
        if name in classifiers:
            raise ValueError(
                f"classifiers must have different names; {name!r} names two of them. "
                f"Give each a name, as in --{option} NAME={column}."
            )
        where: dict[str, str] = {"prob_prefix": column} if option == "prob-prefix" else {"prob": column}
        classifiers[name] = ModelColumns(source, label, **where, logprob=logprob)
    return classifiers


def _count_classifiers(option: str, n_files: int, n_columns: int, n_labels: int) -> int:
    """Return the number of classifiers; a `ValueError` says which number does not match."""
    if n_files > 1 and n_columns not in (1, n_files):
        raise ValueError(
            f"several files hold one classifier each: give --{option} once, or once per file in the order of the "
            f"files; there are {n_files} files and {n_columns} --{option}."
        )
    n_classifiers = max(n_files, n_columns)
    if n_labels not in (1, n_classifiers):
        raise ValueError(
            f"--correct must be given once, or once per classifier; there are {n_classifiers} classifiers and "
            f"{n_labels} --correct."
        )
    return n_classifiers


def _sources(files: Sequence[Path], key: str | None) -> list[Source]:
    """Open the files; several files need a key, and one file takes none."""
    if len(files) == 1:
        if key is not None:
            raise ValueError("--key matches the rows of several files; there is only one FILE.")
    elif key is None:
        raise ValueError(text_of("several files need a key"))
    elif len({file.resolve() for file in files}) < len(files):
        raise ValueError("a FILE is given twice; for several classifiers in one file, repeat --prob or --prob-prefix.")
    return [open_source(file) for file in files]


def _name_and_column(option: str, text: str, source: Source) -> tuple[str, str]:
    """Split ``NAME=COLUMN``; a text that is a column, or the beginning of one for a prefix, has no name."""
    is_prefix = option == "prob-prefix"
    exists = bool(source.beginning_with(text)) if is_prefix else source.has(text)
    if "=" not in text or exists:
        return "", text
    name, _, column = text.partition("=")
    if not name or not column:
        raise ValueError(f"--{option} must be a column, or NAME=COLUMN to name its classifier; not {text!r}.")
    return name, column
