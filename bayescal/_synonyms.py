"""The table of names that users may write for something else, and the calls that answers name."""

import tomllib
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple


class Meant(NamedTuple):
    """Words for one thing, and where it is in this package: a row of ``_synonyms.toml``.

    `here` are keywords or attributes, as they are written; the first one that exists is the answer.
    ``function:keyword`` is a keyword of one function only, ``keyword=value`` no attribute. Otherwise the answer is the
    code `elsewhere`, with names of the reader: `y_true`, `result`, ... In a topic that has its own call
    (`topics`), it takes the place of the code. A row without a place is a whole sentence.
    """

    words: str  # other names, separated by spaces, in small letters and without underscores
    says: str  # the beginning of the answer
    here: tuple[str, ...] = ()
    elsewhere: str = ""
    of: str = ""  # functions, results or topics for which the words have this meaning; all by default


EVALUATE = "bayescal.evaluate(y_true, y_prob"
COUNTS = "bayescal.BinnedCounts.from_arrays(y_true, y_prob"
RECALIBRATION = "bayescal.clinical.recalibration(y_true, y_prob)"
CURVE = "bayescal.clinical.calibration_curve(y_true, y_prob)"
CUMULATIVE = "bayescal.cumulative.difference(y_true, y_prob)"
COMPARE, PLAN = "bayescal.compare(y_true, models", "bayescal.planning.labels_needed(counts, width=0.1"
SHIFTED = "(y_true, y_prob, y_prob_target"
#: Topics with rows for which other functions give wrong numbers: a target without labels, and right-censored rows.
OTHER_ROWS = ("shift", "survival")
OPTIONS = {"model", "alpha", "draws", "rng"}  #: What functions take as options of a model.
BINNINGS = {"uniform": "equal-width", "quantile": "equal-mass"}  #: scikit-learn's names of ways to choose bins.


class Synonyms(NamedTuple):
    """The content of ``_synonyms.toml``."""

    lists: dict[str, str]  # words that several rows share
    topics: dict[str, tuple[str, ...]]  # calls of each topic
    calls: dict[str, str]  # what else to say about a call with missing or surplus arguments
    rows: tuple[Meant, ...]


@cache
def synonyms() -> Synonyms:
    """Read the table, which only messages about wrong names need."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    calls = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, str)}

    def completed(value: Any) -> Any:
        return Template(value).substitute(calls | data["lists"]) if isinstance(value, str) else tuple(value)

    rows = [Meant(**{name: completed(value) for name, value in row.items()}) for row in data["row"]]
    statistics = [
        Meant(words, "Statistics belong to the draws of one quantity:", here, f"{draws}.{statistic}", of=results)
        for results, draws in data["draws"].items()
        for words, statistic in data["statistics"].items()
        for here in [("prob=0.95",) if "interval" in words else ()]
    ]
    topics = {name: tuple(map(completed, codes)) for name, codes in data["topics"].items()}
    return Synonyms(data["lists"], topics, data["calls"], (*rows, *statistics))
