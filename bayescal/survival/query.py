"""Sums by bin, time and kind of exit, computed by the engine that holds right-censored rows in one query."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from bayescal import _checks
from bayescal._arrays import Floats, Ints
from bayescal._invalid import Finding, InvalidRows, quoted
from bayescal._rules import COMPLETE, DOES_NOT, FINITE, NOT_NEGATIVE
from bayescal.data.engines import answers_of, dtypes_of, named_column, names_of_columns, opened
from bayescal.stats.bins import Bins
from bayescal.stats.query.row_states import LARGEST_FLOAT, first_state, is_missing, is_number, refuse_types
from bayescal.stats.query.row_sums import BY, KeySums, Query, looked_up, require_weight, rows_read
from bayescal.survival.rows import EVENT_RULE, KINDS_OF_EXIT, MOST_CAUSES

#: Kinds of exits, in the order of `SurvivalCounts`: an event of the cause, another event, and two kinds of censoring.
N_KINDS = 4
#: Invalid rows have the negative of one of these as their exit, so that they can be reported.
NO_TIME, INFINITE_TIME, NEGATIVE_TIME, NO_EVENT, OTHER_EVENT = range(1, 6)
EXIT = "exit"  #: Column of exits in the query.


def survival_sums(
    frame: Any, columns: Mapping[str, str], weights: str | None, by: Any, bins: Bins, times: Floats, cause: int
) -> Iterator[tuple[Any, tuple[Ints, Ints], KeySums]]:
    """Count and sum the rows of a frame of any engine, in one query.

    `columns` are those of time, event and risk, by argument; `times`, shape (n_times,), is the grid of times. For each
    group, yields its label (None without groups); for each entry of the sums its cell of the grid and its kind of exit;
    and the sums. Raises as `row_sums`, and for invalid times and events.
    """
    source, groups = opened(frame), names_of_columns("by", by)
    named = {**columns, **({} if weights is None else {"weights": weights})}
    label_columns = {f"{BY}[{i}]" if len(groups) > 1 else BY: name for i, name in enumerate(groups)}
    dtypes = dtypes_of(source, {**named, **label_columns})
    names = {argument: f"`{argument}` (column {quoted(name)})" for argument, name in named.items()}
    for argument, role in (("time", "weights"), ("event", "outcome"), ("risk", "confidence"), ("weights", "weights")):
        if argument in names:
            refuse_types(names[argument], role, dtypes[argument])
    query = _SurvivalQuery(named, weights, groups, bins, dtypes["risk"], times, cause)
    answers = answers_of(source, query.of, [*named.values(), *groups])
    table = {name: [v for answer in answers for v in answer[name]] for name in (answers[0] if answers else {})}
    _checks.not_empty("frame", sum(table.get("n", [])))
    _require_exits(np.array(table[EXIT], np.int64), np.array(table["n"], np.int64), names)
    # exits are labels of groups too
    read = rows_read(table, query, {**names, "outcome": "event", BY: BY})
    for label, exits, rows in _by_group(read, len(groups)):
        require_weight(rows, "" if label is None else f" in group {label!r}")
        cell, kind = np.divmod(exits, N_KINDS)
        yield label, (cell, kind), rows


class _SurvivalQuery(Query):
    """The query of one model, with the exit of each row as a further label."""

    def __init__(
        self, named: dict[str, str], weights: str | None, by: list[str], bins: Bins, kind: Any, grid: Floats, cause: int
    ) -> None:
        super().__init__([{"outcome": named["event"], "risk": named["risk"]}], weights, [*by, EXIT], bins, [kind])
        self.labels[-1] = EXIT
        self.time, self.event, self.times, self.cause, self.groups = named["time"], named["event"], grid, cause, by

    def _columns(self, frame: Any) -> Any:
        """Select the columns: exits are coded, and the outcome is 1 for events of the cause."""
        eager = isinstance(frame, nw.DataFrame)
        chosen = [named_column(frame, name).alias(to) for name, to in zip(self.groups, self.labels[:-1], strict=True)]
        chosen += [
            named_column(frame, name).cast(nw.Float64).alias(short)
            for name, short in ((self.time, "t"), (self.event, "e"), (self.classifiers[0]["risk"], "c0"))
        ]
        if self.weights is not None:
            chosen.append(named_column(frame, self.weights).cast(nw.Float64).alias("w"))
        frame = frame.select(*chosen)
        t, e = nw.col("t"), nw.col("e")
        known = nw.when((t >= 0) & (t < np.inf)).then(t).otherwise(nw.lit(0.0))
        frame = frame.with_columns(known.alias("known"), self._state().alias("wrong"))
        number = np.arange(len(self.times) + 1, dtype=np.float64)
        after = looked_up(nw.col("known"), np.nextafter(self.times, np.inf), number, eager)
        frame = frame.with_columns(
            after.alias("cell"), looked_up(nw.col("known"), self.times, number, eager).alias("reached")
        )
        # a row is censored at a time of the grid if it reaches one more time than it exceeds
        censored = nw.when(nw.col("reached") > nw.col("cell")).then(nw.lit(2.0)).otherwise(nw.lit(3.0))
        kind = nw.when(e == 0).then(censored).when(e == self.cause).then(nw.lit(0.0)).otherwise(nw.lit(1.0))
        good = nw.col("wrong") == 0
        code = nw.when(good).then(nw.col("cell") * float(N_KINDS) + kind).otherwise(-nw.col("wrong").cast(nw.Float64))
        hit = nw.when(good & (e == self.cause)).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
        frame = frame.with_columns(code.alias(EXIT), hit.alias("z0")).with_columns(nw.col(EXIT).cast(nw.Int64))
        return frame.select(*self.labels, "z0", "c0", *([] if self.weights is None else ["w"]))

    @staticmethod
    def _state() -> nw.Expr:
        """Return 0, or what is wrong with the time or the event of a row."""
        t, e = nw.col("t"), nw.col("e")
        of_time = (is_missing(t), NO_TIME), (t < 0, NEGATIVE_TIME), (t > LARGEST_FLOAT, INFINITE_TIME)
        other = (e < 0) | (e > MOST_CAUSES) | (e != e.floor())
        valid = is_number(t) & is_number(e)
        return first_state(*of_time, (is_missing(e), NO_EVENT), (other, OTHER_EVENT), (valid, 0))


def _require_exits(code: Ints, n: Ints, names: Mapping[str, str]) -> None:
    """Raise `InvalidRows` if times or events are invalid."""
    event = replace(COMPLETE, words=EVENT_RULE, hint=KINDS_OF_EXIT, verb=DOES_NOT)
    for wrong, argument, rule in (
        (NO_TIME, "time", COMPLETE),
        (NO_EVENT, "event", COMPLETE),
        (INFINITE_TIME, "time", FINITE),
        (NEGATIVE_TIME, "time", NOT_NEGATIVE),
        (OTHER_EVENT, "event", event),
    ):
        count = int(n[code == -wrong].sum())
        if count:
            about: dict[str, Any] = {"argument": argument, "called": names[argument]}
            about |= {"rule": rule.words, "verb": rule.verb}
            raise InvalidRows(Finding(count=count, size=int(n.sum()), hint=rule.hint, **about))


def _by_group(read: KeySums, n_columns: int) -> Iterator[tuple[Any, Ints, KeySums]]:
    """Yield label, exits and sums of each group; the last label of each entry is its exit."""
    assert read.groups is not None
    labels, of_row = read.groups.labels, read.groups.of_row
    exits = np.array([label[-1] if n_columns else label for label in labels], np.int64)
    groups = [(label[:-1] if n_columns > 1 else label[0]) if n_columns else None for label in labels]
    number = {label: i for i, label in enumerate(dict.fromkeys(groups))}
    group_of = np.array([number[label] for label in groups], np.int64)
    for label, i in number.items():
        keys = np.flatnonzero(group_of[of_row] == i)
        yield label, exits[of_row[keys]], read.at(keys)
