"""A file with a judge's labels -> the evaluation for the true label, as ``bayescal judged`` saves and shows it."""

from pathlib import Path
from typing import Any

from bayescal.cli.counts import bars, holds_counts
from bayescal.cli.evaluation import EvaluatedFile, chosen_estimands
from bayescal.cli.keywords import keywords_of, parse_classes, settings
from bayescal.cli.options import Options, refuse
from bayescal.cli.words import warnings_as_notes
from bayescal.labels.analysis import judged, judged_counts
from bayescal.labels.files import count_file
from bayescal.labels.options import NOT_HERE, JudgedColumnOptions

#: Options that go together, and the target that they imply.
PAIRS = {"confidence": ("correct", "confidence"), "event": ("label", "prob")}


def judged_file(file: Path, columns: JudgedColumnOptions, *records: Options) -> EvaluatedFile:
    """Count and evaluate the rows of a file; `records` state quantities, bins, the judge, draws and seed."""
    options = columns.given()
    for name, rule in NOT_HERE.items():
        refuse({name: options[name]} if name in options else {}, rule)
    target, named = _columns(columns)
    if holds_counts(file):
        raise ValueError(f"'{file.name}' holds counts; the rows of a file are needed.")
    keywords = keywords_of(judged, *records)
    estimands = chosen_estimands(keywords.pop("estimand", None), False)
    about_judge = {"strata": parse_strata(keywords["strata"]), "rates": parse_rates(keywords["rates"])}
    how: dict[str, Any] = {"bins": keywords["bins"], "binning": keywords["binning"], "target": target}
    how |= {"logits": columns.logits, "logprob": columns.logprob, "classes": parse_classes(columns.classes)}
    called = {"y_true": named["label"], "y_prob": named["prob"], "judge": named["judge"]}
    with warnings_as_notes(None, {name: f"column {each!r}" for name, each in called.items()}) as notes:
        with bars(file.name) as progress:
            counts = count_file(file, **named, **how, progress=progress)
        evaluation = judged_counts(counts, **about_judge, draws=keywords["draws"], rng=keywords["rng"])
    about = settings(evaluation.counts, keywords | {"model": evaluation.model}, keywords["bins"])
    parameters = {"file": file.name, "rows": counts.n_rows, **options, **about_judge, **about}
    if estimands is not None:
        parameters["estimand"] = [each.name for each in estimands]
    return EvaluatedFile(evaluation, parameters, notes, estimands)


def _columns(columns: JudgedColumnOptions) -> tuple[str, dict[str, Any]]:
    """Return the target, and the columns by the arguments of `count_file`."""
    options = columns.given()
    used = [target for target, pair in PAIRS.items() if options.keys() & set(pair)]
    if len(used) != 1:
        problem = "say where labels and probabilities are" if not used else "two kinds of columns are named"
        raise ValueError(f"{problem}: --correct and --confidence, or for an event --label and --prob.")
    pair = PAIRS[used[0]]
    if not options.keys() >= set(pair):
        raise ValueError(f"--{pair[0]} and --{pair[1]} go together: the true labels, and the probabilities of label 1.")
    if columns.judge is None:
        raise ValueError("say where the judge's labels are: --judge COLUMN. `bayescal report` evaluates true labels.")
    if len({options[pair[0]], options[pair[1]], columns.judge}) < 3:
        raise ValueError(f"--{pair[0]}, --{pair[1]} and --judge must name different columns.")
    return used[0], {"label": options[pair[0]], "prob": options[pair[1]], "judge": columns.judge}


def parse_strata(text: str) -> Any:
    """Return "auto", a number of ranges, or their inner edges.

    >>> parse_strata("2"), parse_strata("0.5"), parse_strata("0.5,0.8")
    (2, [0.5], [0.5, 0.8])
    """
    if text == "auto":
        return text
    try:
        return int(text) if text.isdecimal() else [float(each) for each in text.split(",")]
    except ValueError:
        raise ValueError(f"`strata` must be a number of ranges, or inner edges like 0.5,0.8; not {text!r}.") from None


def parse_rates(text: str | None) -> Any:
    """Return a sensitivity and a specificity, or counts of right and wrong labels by true label.

    >>> parse_rates("0.9,0.8"), parse_rates("90,10,80,20")
    ((0.9, 0.8), ((90.0, 10.0), (80.0, 20.0)))
    """
    if text is None:
        return None
    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 4):
        raise ValueError(
            f"`rates` must be a sensitivity and a specificity like 0.9,0.8, or four numbers of rows like 90,10,80,20; "
            f"not {text!r}."
        )
    return tuple(numbers) if len(numbers) == 2 else (tuple(numbers[:2]), tuple(numbers[2:]))
