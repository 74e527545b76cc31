"""Sums of every class, computed by the engine that holds labels and one column of probabilities per class."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Floats
from bayescal._invalid import Finding, InvalidRows, quoted
from bayescal.data.engines import answers_of, dtypes_of, named_column, opened
from bayescal.data.groups import is_missing
from bayescal.data.reading import MOST_DECIMALS, NEAR, Reading, RowSums, precision
from bayescal.stats._kernel import CellSums
from bayescal.stats.bins import Bins
from bayescal.stats.query import row_states
from bayescal.stats.query.row_sums import Query, numpy_dtype, require_weight, rows_read, sums_of
from bayescal.stats.sums import sums_at

MOST_IN_PAIRS = 12  #: Maximum number of classes whose pairs are counted, by one part of a query per pair.
LARGEST_LABEL = 2.0**53  #: Integers from here on are not exact as floats.
LABEL, WEIGHTS = "label", "weights"  #: Names of the columns of the query, and of the arguments in messages.


def class_sums(
    frame: Any, label: str, columns: Mapping[Any, str], weights: str | None, bins: Any
) -> tuple[list[CellSums], Floats | None, Reading]:
    """Count and sum the rows of a frame for every class; `columns` maps each class to its column of probabilities."""
    if len(columns) < 2:
        raise ValueError(f"`probabilities` must name the columns of at least two classes, not {len(columns)}.")
    source = opened(frame)
    arguments = {f"probabilities[{k!r}]": name for k, name in columns.items()}
    dtypes = dtypes_of(source, {LABEL: label, **arguments, **({} if weights is None else {WEIGHTS: weights})})
    for argument, name in arguments.items():
        row_states.refuse_types(f"`{argument}` (column {quoted(name)})", "confidence", dtypes[argument])
    query = _ClassQuery(label, dtypes[LABEL], columns, weights, bins, [dtypes[name] for name in arguments])
    _refuse_labels(_table(source, query.labels, query.used), query, source)
    totals = _table(source, query.totals, query.used)
    if sum(totals["off"]):  # otherwise no row is divided
        query.row_sums = _row_sums(_table(source, query.rounding, query.used), query, sum(totals["n"]))
    table = _table(source, query.classes, query.used)
    sums = []
    for k, (argument, name) in enumerate(arguments.items()):
        places = np.flatnonzero(np.array(table["of_class"]) == k)
        part = {key: [values[i] for i in places] for key, values in table.items() if key != "of_class"}
        names = {"outcome": query.called, "confidence": f"`{argument}` (column {quoted(name)})"}
        rows = rows_read(part, query.of_class(k), names | {WEIGHTS: f"`weights` (column {quoted(weights or '')})"})
        require_weight(rows, "")
        sums.append(sums_of(rows, 0, bins))
    if query.row_sums is None or not query.row_sums.accepted:
        _refuse_totals(totals, query)
    reading = Reading() if query.row_sums is None else query.row_sums.reading
    if len(columns) > MOST_IN_PAIRS:
        return sums, None, reading
    return sums, query.joint(_table(source, query.pairs, query.used)), reading


def _table(source: Any, query: Any, columns: list[str]) -> dict[str, list[Any]]:
    """Run a query and concatenate its answers."""
    answers = answers_of(source, query, columns)
    return {name: [v for answer in answers for v in answer[name]] for name in (answers[0] if answers else {})}


class _ClassQuery:
    """Queries about all classes; picklable, for the workers of dask."""

    def __init__(
        self, label: str, dtype: Any, columns: Mapping[Any, str], weights: str | None, bins: Bins, dtypes: list[Any]
    ) -> None:
        self.label, self.columns, self.weights, self.bins, self.dtypes = label, columns, weights, bins, dtypes
        #: Sums by which rows are divided if they are 1 up to rounding; None if no row is divided.
        self.row_sums: RowSums | None = None
        self.used = [label, *columns.values(), *([] if weights is None else [weights])]
        self.called = f"`label` (column {quoted(label)})"
        self.text = isinstance(dtype, nw.String | nw.Categorical | nw.Enum | nw.Object)
        named, numbers = list(columns), dtype.is_numeric() or dtype == nw.Boolean
        if self.text != all(isinstance(name, str) for name in named) or not (self.text or numbers):
            raise TypeError(
                f"{self.called} has dtype {dtype}, but `probabilities` names the classes {quoted(named[:5])}: labels "
                "and classes must be of one type."
            )
        self.values: list[Any] = named if self.text else [float(name) for name in named]
        if not self.text and max(map(abs, self.values), default=0.0) >= LARGEST_LABEL:
            raise ValueError(
                f"`probabilities` must name classes below 2^53 if they are numbers, not {quoted(named[:5])}."
            )

    def _prepared(self, frame: Any) -> Any:
        """Select labels and weights under names of our own; columns of probabilities are numbered."""
        label = named_column(frame, self.label).cast(nw.String if self.text else nw.Float64)
        chosen = [label.alias(LABEL)]
        chosen += [named_column(frame, name).alias(f"p{k}") for k, name in enumerate(self.columns.values())]
        if self.row_sums is not None and self.row_sums.accepted:
            total = self._total(named_column(frame, name) for name in self.columns.values())
            divisor = nw.when((total - 1).abs() > self.precision).then(total).otherwise(nw.lit(1.0))
            chosen[1:] = [p / divisor for p in chosen[1:]]
        if self.weights is not None:
            chosen.append(named_column(frame, self.weights).alias(WEIGHTS))
        return frame.select(*chosen)

    def of_class(self, k: int) -> Query:
        """Return the query of one class."""
        classifier = {"outcome": "outcome", "confidence": f"p{k}"}
        return Query([classifier], None if self.weights is None else WEIGHTS, [], self.bins, [self.dtypes[k]])

    def labels(self, frame: Any) -> Any:
        """Count rows, and rows whose label is missing or not among the classes."""
        known = nw.col(LABEL).is_in(self.values)
        if not self.text:  # larger integers are not exact as floats, and could become a class
            known = known & (nw.col(LABEL).abs() < LARGEST_LABEL)
        state = nw.when(nw.col(LABEL).is_null()).then(nw.lit(1)).when(known).then(nw.lit(0)).otherwise(nw.lit(2))
        return self._prepared(frame).select(state.alias("state")).group_by("state").agg(nw.len().alias("n"))

    def unnamed(self, frame: Any) -> Any:
        """Return one label that is not among the classes."""
        bad = ~(nw.col(LABEL).is_in(self.values) | nw.col(LABEL).is_null())
        return self._prepared(frame).filter(bad).select(nw.col(LABEL).min())

    def classes(self, frame: Any) -> Any:
        """Sum the rows of every class by bin and outcome."""
        frame = self._prepared(frame)
        weights = [] if self.weights is None else [nw.col(WEIGHTS)]
        parts = []
        for k, value in enumerate(self.values):
            outcome = (nw.col(LABEL) == value).cast(nw.Float64).alias("outcome")
            part = self.of_class(k).of(frame.select(outcome, nw.col(f"p{k}"), *weights))
            parts.append(part.with_columns(nw.lit(k).cast(nw.Int64).alias("of_class")))
        return nw.concat(parts, how="vertical")

    def totals(self, frame: Any) -> Any:
        """Count the rows whose probabilities do not sum to 1."""
        total = self._total(nw.col(f"p{k}") for k in range(len(self.values)))
        off = ((total - 1).abs() > self.tolerance).cast(nw.Int64).alias("off")
        wrong = nw.when(nw.col("off") == 1).then(nw.col("total"))
        frame = self._prepared(frame).with_columns(total.alias("total")).with_columns(off)
        return frame.with_columns(wrong.alias("wrong")).select(
            nw.len().cast(nw.Int64).alias("n"), nw.col("off").sum(), nw.col("wrong").min().alias("low"),
            nw.col("wrong").max().alias("high"),
        )  # fmt: skip

    def rounding(self, frame: Any) -> Any:
        """Return how far sums are from 1, how many are, the range of entries, and how many have too many decimals."""
        entries = [nw.col(f"p{k}").cast(nw.Float64) for k in range(len(self.values))]
        deviation = (self._total(entries) - 1).abs()
        columns = [
            deviation.alias("deviation"),
            (deviation > self.precision).cast(nw.Int64).alias("off"),
            nw.min_horizontal(*entries).alias("low"),
            nw.max_horizontal(*entries).alias("high"),
            nw.sum_horizontal(*(row_states.is_number(p).cast(nw.Int64) for p in entries)).alias("known"),
        ]
        for d in range(1, MOST_DECIMALS + 1):
            scaled = [p * 10.0**d for p in entries]
            far = [((x - (x + 0.5).floor()).abs() > NEAR * 10.0**d).cast(nw.Int64) for x in scaled]
            columns.append(nw.sum_horizontal(*far).alias(f"far{d}"))
        frame, added = self._prepared(frame).select(*columns), ["off", "known"]
        added += [f"far{d}" for d in range(1, MOST_DECIMALS + 1)]
        ends = nw.col("deviation").max(), nw.col("low").min(), nw.col("high").max()
        return frame.select(*ends, *(nw.col(name).sum() for name in added))

    @staticmethod
    def _total(columns: Iterable[nw.Expr]) -> nw.Expr:
        """Sum of each row."""
        return nw.sum_horizontal(*(column.cast(nw.Float64) for column in columns))

    @property
    def precision(self) -> float:
        """Difference of a sum from 1 that the types of the columns explain."""
        return max(precision(len(self.values), numpy_dtype(dtype)) for dtype in self.dtypes)

    @property
    def tolerance(self) -> float:
        """Largest allowed difference of the sum of a row from 1."""
        return max(_rules.row_sum_tolerance(numpy_dtype(dtype)) for dtype in self.dtypes)

    def pairs(self, frame: Any) -> Any:
        """Sum products of residuals by the bins of two classes, and squares by the bin of one."""
        eager, frame, size = isinstance(frame, nw.DataFrame), self._prepared(frame), len(self.bins)
        weight = nw.lit(1.0) if self.weights is None else nw.col(WEIGHTS).cast(nw.Float64)
        cells = range(len(self.values))
        for k in cells:
            frame = self.of_class(k).binned(frame.with_columns(_clipped(nw.col(f"p{k}")).alias("s0")), 0, eager)
            residual = weight * ((nw.col(LABEL) == self.values[k]).cast(nw.Float64) - nw.col("s0"))
            frame = frame.with_columns(residual.alias(f"r{k}"), (nw.col("b0") + k * size).alias(f"cell{k}"))
        frame = frame.select(*(nw.col(f"{kind}{k}") for k in cells for kind in ("r", "cell")))
        parts = []
        for k, j in [*combinations(cells, 2), *((k, k) for k in cells)]:
            cell = (nw.col(f"cell{k}") * float(len(self.values) * size) + nw.col(f"cell{j}")).cast(nw.Int64)
            pair = frame.select(cell.alias("pair"), (nw.col(f"r{k}") * nw.col(f"r{j}")).alias("total"))
            parts.append(pair.group_by("pair").agg(nw.col("total").sum()))
        return nw.concat(parts, how="vertical")

    def joint(self, table: dict[str, list[Any]]) -> Floats:
        """Return the sums of `pairs` as a symmetric matrix."""
        cells = len(self.values) * len(self.bins)
        pair, total = np.array(table["pair"], dtype=np.int64), np.array(table["total"], dtype=np.float64)
        upper = sums_at(pair, total, cells * cells).reshape(cells, cells)
        return upper + upper.T - np.diag(np.diag(upper))


def _clipped(p: nw.Expr) -> nw.Expr:
    """Return a probability, clipped to [0, 1] as when it was counted."""
    p = p.cast(nw.Float64)
    return nw.when(p < 0).then(nw.lit(0.0)).when(p > 1).then(nw.lit(1.0)).otherwise(p)


def _refuse_labels(table: dict[str, list[Any]], query: _ClassQuery, source: Any) -> None:
    """Refuse labels that are missing or not among the classes."""
    n = {state: sum(c for s, c in zip(table["state"], table["n"], strict=True) if s == state) for state in range(3)}
    size = sum(n.values())
    _checks.not_empty("frame", size)
    if n[1]:
        rule = _rules.OBSERVED
        raise InvalidRows(_label_finding(query, n[1], size, rule.words, rule.hint, verb=rule.verb))
    if n[2]:
        unnamed = [v for v in _table(source, query.unnamed, query.used)[LABEL] if v is not None]
        hint = "Name every class with its column in `probabilities`."
        shown = f" {unnamed[0]!r} is none of them." if unnamed else ""
        rule_words = f"must be labels from `probabilities`, {quoted(list(query.columns)[:10])}"
        raise InvalidRows(_label_finding(query, n[2], size, rule_words, hint + shown))


def _label_finding(query: _ClassQuery, count: int, size: int, rule: str, hint: str, **more: Any) -> Finding:
    return Finding(argument=LABEL, called=query.called, rule=rule, count=count, size=size, hint=hint, **more)


def _row_sums(table: dict[str, list[Any]], query: _ClassQuery, n: int) -> RowSums | None:
    """Return the sums of all n rows; None if an entry is missing or not a probability."""
    if sum(known for known in table["known"] if not is_missing(known)) < n * len(query.values):
        return None
    low, high, deviation = (np.array(table[name], dtype=np.float64) for name in ("low", "high", "deviation"))
    if not (low.min() >= -_rules.OVERSHOOT and high.max() <= 1 + _rules.OVERSHOOT):
        return None
    decimals = (d for d in range(1, MOST_DECIMALS + 1) if not sum(table[f"far{d}"]))
    numbers: dict[str, Any] = {"n_classes": len(query.values), "decimals": next(decimals, MOST_DECIMALS + 1)}
    numbers |= {"deviation": float(deviation.max()), "off": int(sum(table["off"]))}
    return RowSums(**numbers, tolerance=query.tolerance, precision=query.precision)


def _refuse_totals(table: dict[str, list[Any]], query: _ClassQuery) -> None:
    """Refuse rows whose probabilities do not sum to 1."""
    count, size = sum(table["off"]), sum(table["n"])
    if count:
        rule = _rules.SUMS_TO_ONE
        low, high = (np.array([v for v in table[name] if not is_missing(v)]) for name in ("low", "high"))
        span = float(low.min()), float(high.max())
        hint = _rules.divide_hint(None, max(abs(end - 1) for end in span))
        words: dict[str, Any] = {"rule": rule.words, "verb": rule.verb, "unit": "rows", "hint": hint}
        raise InvalidRows(Finding(argument="probabilities", count=count, size=size, span=span, **words))
