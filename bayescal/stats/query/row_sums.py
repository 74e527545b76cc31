"""Sums by bin, outcome and group from one query in the engine that holds the rows, and the sums that counts store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import narwhals as nw
import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Floats, Ints
from bayescal._invalid import AllZero, Finding, InvalidRows, quoted
from bayescal._rules import COMPLETE, LARGEST_WEIGHT, OVERSHOOT
from bayescal.data.engines import answers_of, dtypes_of, named_column, names_of_columns, opened
from bayescal.data.groups import Groups, is_missing
from bayescal.data.predictions import TARGETS
from bayescal.stats._kernel import CellSums
from bayescal.stats.bins import FROM_ROWS, VALUES, Bins, make_bins
from bayescal.stats.clusters import ClusterCells, ClusterSums, require_few
from bayescal.stats.losses import DIFFERENCES, LossSums, total_loss
from bayescal.stats.query import row_states
from bayescal.stats.sums import row_counts, summed_by_key, sums_at, unit_weights

#: Columns of the query with the losses of the kinds in `DIFFERENCES`.
LOSSES = dict(zip(DIFFERENCES, "lg", strict=True))
BY = "by"  #: Key of the argument that names columns of labels, among the names of arguments.


@dataclass(frozen=True, eq=False)
class KeySums:
    """Sums over the rows of each combination of group, bins and outcomes; a combination may occur more than once."""

    n: Ints  # rows
    index: list[Ints]  # bin
    outcome: list[Ints]
    deviation: list[Floats]  # sum of w (c - midpoint)
    deviation_sq: list[Floats]  # sum of w (c - midpoint)^2
    loss_sq: list[Floats]  # sum of w (z - c)^4, the squared loss of the Brier score
    log_losses: list[LossSums]  # sums of w times log loss, and of its square
    weight: Floats | None  # sum of w; None without weights, as the next two
    weight_sq: Floats | None
    largest_weight: Floats | None
    groups: Groups | None
    loss_difference: LossSums | None = None  # of two classifiers: sums of w times the difference, and of its square
    log_loss_difference: LossSums | None = None

    def split(self) -> Iterator[tuple[Any, "KeySums"]]:
        """Yield the label and the sums of each group, in the order of the groups; without groups, None and all sums."""
        if self.groups is None:
            yield None, self
            return
        order = np.argsort(self.groups.of_row, kind="stable")
        ends = np.cumsum(np.bincount(self.groups.of_row, minlength=len(self.groups)))
        for label, keys in zip(self.groups.labels, np.split(order, ends[:-1]), strict=True):
            yield label, self.at(keys)

    def at(self, keys: Ints) -> "KeySums":
        """Return the sums of some combinations, without their groups."""

        def part(values: Any) -> Any:
            if isinstance(values, list):
                return [part(v) for v in values]
            if isinstance(values, LossSums):
                return values.apply(part)
            return None if values is None else values[keys]

        return KeySums(**{f.name: part(getattr(self, f.name)) for f in fields(self) if f.name != "groups"}, groups=None)


def row_sums(
    frame: Any, classifiers: Sequence[dict[str, str]], weights: str | None, by: list[str], bins: Bins, *, labels: str
) -> KeySums:
    """Count and sum the rows of a frame of any engine."""
    source = opened(frame)
    columns = {argument: name for classifier in classifiers for argument, name in classifier.items()}
    columns |= {} if weights is None else {"weights": weights}
    of_labels = {f"{labels}[{i}]" if len(by) > 1 else labels: name for i, name in enumerate(by)}
    dtypes = dtypes_of(source, columns | of_labels)
    names = {argument: f"`{argument}` (column {quoted(name)})" for argument, name in columns.items()}
    for argument, name in names.items():
        row_states.refuse_types(name, argument.rpartition("_")[2].partition("[")[0], dtypes[argument])
    query = Query(classifiers, weights, by, bins, [dtypes[list(classifier)[1]] for classifier in classifiers])
    answers = answers_of(source, query.of, [*columns.values(), *by])
    table = {name: [v for answer in answers for v in answer[name]] for name in (answers[0] if answers else {})}
    _checks.not_empty("frame", sum(table.get("n", [])))
    ordered = dtypes.get(labels)
    categories = list(ordered.categories) if isinstance(ordered, nw.Enum) else None
    return rows_read(table, query, {**names, BY: labels}, categories)


class Query:
    """Query that computes bins, deviations and one key per row, and sums by key; arguments as for `row_sums`."""

    def __init__(
        self, classifiers: Sequence[dict[str, str]], weights: str | None, by: list[str], bins: Bins, dtypes: list[Any]
    ) -> None:
        self.classifiers, self.weights, self.by, self.bins, self.dtypes = classifiers, weights, by, bins, dtypes
        self.labels = [f"by{i}" for i in range(len(by))]
        self.numbers = range(len(classifiers))

    def of(self, frame: Any) -> Any:
        """Return the sums by key of a frame; a lazy engine has not computed them yet."""
        eager = isinstance(frame, nw.DataFrame)
        frame = self._states(self._columns(frame))
        for i in self.numbers:
            frame = self._lossy(self.binned(frame, i, eager), i)
        return self._summed(self._key(frame))

    def _columns(self, frame: Any) -> Any:
        """Select the columns under names of our own, which cannot clash, with numbers as float64."""
        chosen = [named_column(frame, name).alias(label) for name, label in zip(self.by, self.labels, strict=True)]
        for i, classifier in enumerate(self.classifiers):
            columns = zip("zc", classifier.values(), strict=True)
            chosen += [named_column(frame, name).cast(nw.Float64).alias(f"{c}{i}") for c, name in columns]
        if self.weights is not None:
            chosen.append(named_column(frame, self.weights).cast(nw.Float64).alias("w"))
        return frame.select(*chosen)

    def _states(self, frame: Any) -> Any:
        """Add the state of each row, and replace invalid values, because an engine may evaluate every branch."""
        states, safe = [], []
        for i in self.numbers:
            c, z = nw.col(f"c{i}"), nw.col(f"z{i}")
            states += [row_states.outcome_state(z), row_states.confidence_state(c)]
            clipped = nw.when((c > 1) & (c <= 1 + OVERSHOOT)).then(nw.lit(1.0)).otherwise(nw.lit(0.0))
            safe.append(nw.when((c >= 0) & (c <= 1)).then(c).otherwise(clipped).alias(f"s{i}"))
        if self.weights is not None:
            w = nw.col("w")
            states.append(row_states.weight_state(w))
            usable = (w >= 0) & (w < LARGEST_WEIGHT)
            safe.append(nw.when(usable).then(w).otherwise(nw.lit(0.0)).alias("v"))
        return frame.with_columns(row_states.together(states).alias("state"), *safe)

    def binned(self, frame: Any, i: int, eager: bool) -> Any:
        """Add the bin and the deviation of each row for one classifier: columns b and d."""
        c, b, d = nw.col(f"s{i}"), f"b{i}", f"d{i}"
        edges = self.bins.starts_as(numpy_dtype(self.dtypes[i]))
        if not self.bins.by_product or edges.dtype == np.float16:
            at, mid = edges.astype(np.float64)[1:-1], self.bins.midpoints
            index = np.arange(len(mid), dtype=np.float64)
            columns = looked_up(c, at, index, eager).alias(b), looked_up(c, at, mid, eager).alias("mid")
            frame = frame.with_columns(*columns)
            return frame.with_columns((c - nw.col("mid")).alias(d))
        size = len(self.bins)
        frame = frame.with_columns((c * float(size)).floor().cast(nw.Float64).alias(b))
        low, high = (_edge(k, size, edges.dtype) for k in (nw.col(b), nw.col(b) + 1))
        # the product differs by at most one bin, which the comparison corrects
        frame = frame.with_columns((nw.col(b) - (c < low).cast(nw.Float64) + (c >= high).cast(nw.Float64)).alias(b))
        last = float(size - 1)
        frame = frame.with_columns(nw.when(nw.col(b) > last).then(nw.lit(last)).otherwise(nw.col(b)).alias(b))
        low, high = (_edge(k, size, np.dtype(np.float64)) for k in (nw.col(b), nw.col(b) + 1))
        return frame.with_columns((c - (low + high) / 2).alias(d))

    def _key(self, frame: Any) -> Any:
        """Add a key: a number >= 0 for the bins and outcomes of all classifiers, or minus the state of a bad row."""
        key: Any = None
        for i in self.numbers:
            c, size = nw.col(f"c{i}"), len(self.bins)
            # clipped rows have bins of their own, below the first and above the last, so that they can be counted
            place = nw.when(c < 0).then(nw.lit(-1.0)).when(c > 1).then(nw.lit(float(size))).otherwise(nw.col(f"b{i}"))
            cell = (place + 1) * 2 + nw.col(f"z{i}")
            key = cell if key is None else key * (2.0 * (size + 2)) + cell
        good = nw.col("state") == row_states.OK
        frame = frame.with_columns(nw.when(good).then(key).otherwise(-nw.col("state").cast(nw.Float64)).alias("key"))
        return frame.with_columns(nw.col("key").cast(nw.Int64))

    def _summed(self, frame: Any) -> Any:
        sums = [nw.len().alias("n")]
        terms = []
        for i in self.numbers:
            c, d, loss, g = (nw.col(f"{name}{i}") for name in "cdlg")
            moment, loss_sq = self._weighted(d), self._weighted(loss * loss)
            terms += [moment.alias(f"m{i}"), (moment * d).alias(f"q{i}"), loss_sq.alias(f"ll{i}")]
            terms += [self._weighted(g).alias(f"wg{i}"), self._weighted(g * g).alias(f"gg{i}")]
            terms.append(self._counted(nw.col(f"t{i}") <= 0).alias(f"inf{i}"))
            sums += [nw.col(f"{kind}{i}").sum() for kind in ("m", "q", "ll", "wg", "gg", "inf")]
            sums += [c.min().alias(f"low{i}"), c.max().alias(f"high{i}")]
        if self.weights is not None:
            terms.append((nw.col("v") * nw.col("v")).alias("vv"))
            sums += [nw.col("v").sum(), nw.col("vv").sum(), nw.col("v").max().alias("most")]
        if len(self.numbers) == 2:
            infinite = (nw.col("t0") <= 0) | (nw.col("t1") <= 0)
            for kind, column in LOSSES.items():
                difference = nw.col(f"{column}0") - nw.col(f"{column}1")
                if column == "g":
                    difference = nw.when(infinite).then(nw.lit(0.0)).otherwise(difference)
                moment = self._weighted(difference)
                terms += [moment.alias(kind), (moment * difference).alias(f"{kind}_sq")]
                sums += [nw.col(kind).sum(), nw.col(f"{kind}_sq").sum()]
            terms.append(self._counted(infinite).alias("inf"))
            sums.append(nw.col("inf").sum())
        kept = [f"c{i}" for i in self.numbers] + ([] if self.weights is None else ["v"])
        return frame.select(*self.labels, "key", *kept, *terms).group_by(*self.labels, "key").agg(*sums)

    def _lossy(self, frame: Any, i: int) -> Any:
        """Add the losses of each row for one classifier: squared error l, and log loss g, 0 where it is infinite."""
        s, z = nw.col(f"s{i}"), nw.col(f"z{i}")
        error = (z - s) * (z - s)
        frame = frame.with_columns(error.alias(f"l{i}"), nw.when(z == 1).then(s).otherwise(1 - s).alias(f"t{i}"))
        safe = nw.when(nw.col(f"t{i}") > 0).then(nw.col(f"t{i}")).otherwise(nw.lit(1.0))
        return frame.with_columns((0 - safe.log()).alias(f"g{i}"))

    def _counted(self, rows: nw.Expr) -> nw.Expr:
        """Return 1.0 for rows of positive weight that are marked, 0.0 for others."""
        marked = rows if self.weights is None else rows & (nw.col("v") > 0)
        return nw.when(marked).then(nw.lit(1.0)).otherwise(nw.lit(0.0))

    def _weighted(self, values: nw.Expr) -> nw.Expr:
        return values if self.weights is None else nw.col("v") * values


def numpy_dtype(dtype: Any) -> Any:
    """Return the type in which confidences are compared: their own, or float64 for integers and decimals."""
    return {nw.Float16: np.float16, nw.Float32: np.float32}.get(type(dtype), np.float64)


def _edge(k: nw.Expr, size: int, dtype: Any) -> nw.Expr:
    """Return edge k / M, correctly rounded to the dtype."""
    # polars multiplies by 1 / M instead of dividing by a constant, which misses the edge; by a column it divides
    edge = k / (k * 0 + float(size))
    return edge.cast(nw.Float32).cast(nw.Float64) if dtype == np.float32 else edge


def looked_up(c: nw.Expr, at: Floats, values: Floats, eager: bool) -> nw.Expr:
    """Return values[b] for each row, with at[b - 1] <= c < at[b]."""
    if eager:  # an eager engine would evaluate every branch of a tree for every row
        return c.map_batches(
            lambda s: values[np.searchsorted(at, s.to_numpy(), side="right")], return_dtype=nw.Float64()
        )
    return _tree(c, at.tolist(), values.tolist())


def _tree(c: nw.Expr, at: list[float], values: list[float]) -> nw.Expr:
    """Return a balanced tree of comparisons: ten levels for a thousand edges."""
    if len(values) == 1:
        return nw.lit(values[0])
    half = len(values) // 2
    lower, upper = _tree(c, at[: half - 1], values[:half]), _tree(c, at[half:], values[half:])
    return nw.when(c < at[half - 1]).then(lower).otherwise(upper)


def rows_read(
    table: dict[str, list[Any]], query: Query, names: dict[str, str], categories: list[Any] | None = None
) -> KeySums:
    """Convert the result of a query to arrays; refuse invalid rows, naming arguments by `names`."""
    n, key = (np.array(table[name], dtype=np.int64) for name in ("n", "key"))
    floats = {k: _numbers(v) for k, v in table.items() if k not in ("n", "key", *query.labels)}
    if (key < 0).any():
        _refuse(np.where(key < 0, -key, 0), n, floats, query, names)
    labels = [table[label] for label in query.labels]
    groups = _groups(labels, n, query.by, categories, names.get(BY, BY)) if query.by else None
    size = len(query.bins)
    index: list[Ints] = []
    outcome: list[Ints] = []
    for i in reversed(query.numbers):
        key, cell = np.divmod(key, 2 * (size + 2))
        place = cell // 2 - 1
        confidence = list(query.classifiers[i])[1]
        clipped = (place < 0) | (place == size)
        if clipped.any():
            excess = max(-float(floats[f"low{i}"].min()), float(floats[f"high{i}"].max()) - 1)
            row_states.warn_of_clipping(confidence, names[confidence], int(n[clipped].sum()), int(n.sum()), excess)
        index.insert(0, np.clip(place, 0, size - 1))
        outcome.insert(0, cell % 2)
    deviation, deviation_sq, loss_sq = ([floats[f"{kind}{i}"] for i in query.numbers] for kind in ("m", "q", "ll"))
    log_losses = [_loss_sums(*(floats[f"{kind}{i}"] for kind in ("wg", "gg", "inf"))) for i in query.numbers]
    if not all(np.isfinite(sums).all() for sums in [*deviation, *deviation_sq, *loss_sq]):
        raise ValueError("`frame` has NaN that its engine did not report; remove or repair these rows.")
    weight, weight_sq, most = map(floats.get, ("v", "vv", "most"))
    differences: dict[str, Any] = {}
    if len(query.numbers) == 2:
        none = np.zeros(len(n))
        infinite = {kind: floats["inf"] if loss == "g" else none for kind, loss in LOSSES.items()}
        differences = {kind: _loss_sums(floats[kind], floats[f"{kind}_sq"], infinite[kind]) for kind in DIFFERENCES}
    sums = index, outcome, deviation, deviation_sq, loss_sq, log_losses
    return KeySums(n, *sums, weight, weight_sq, most, groups, **differences)


def _loss_sums(total: Floats, squares: Floats, infinite: Floats) -> LossSums:
    return LossSums(total, squares, infinite.astype(np.int64))


def _numbers(values: list[Any]) -> Floats:
    """Convert numbers; the extremes of missing values are missing, in a form that depends on the engine."""
    return np.array([np.nan if is_missing(v) else v for v in values], dtype=np.float64)


def _refuse(states: Ints, n: Ints, floats: dict[str, Floats], query: Query, names: dict[str, str]) -> None:
    invalid = row_states.InvalidStates(states, n, names)
    arguments = [list(classifier) for classifier in query.classifiers]
    for i, (outcome, confidence) in enumerate(arguments):
        invalid.refuse_missing(2 * i, outcome)
        invalid.refuse_missing(2 * i + 1, confidence)
        invalid.refuse_confidence(2 * i + 1, confidence, floats[f"low{i}"], floats[f"high{i}"])
        invalid.refuse_outcome(2 * i, outcome, confidence)
    if query.weights is not None:
        invalid.refuse_missing(2 * len(arguments), "weights")
        invalid.refuse_weights(2 * len(arguments), "weights")


def _groups(columns: list[list[Any]], n: Ints, by: list[str], categories: list[Any] | None, argument: str) -> Groups:
    """Return the groups of the keys; refuse missing labels with their number of rows."""
    for name, column in zip(by, columns, strict=True):
        missing = np.fromiter(map(is_missing, column), bool, len(column))
        if missing.any():
            count, called = int(n[missing].sum()), f"`{argument}` (column {quoted(name)})"
            hint = "Rows are never dropped for you: give them a label of their own, or remove them."
            rule: dict[str, Any] = {"rule": COMPLETE.words, "verb": COMPLETE.verb, "hint": hint}
            raise InvalidRows(Finding(argument=argument, called=called, count=count, size=int(n.sum()), **rule))
    labels = np.empty((len(n), len(by)), dtype=object)
    for i, column in enumerate(columns):
        labels[:, i] = np.fromiter(column, dtype=object, count=len(n))
    return Groups.from_column(labels, len(n), categories=categories)


def bins_before_rows(bins: Any, binning: str) -> Bins:
    """Make bins that do not depend on the rows; refuse other kinds."""
    if binning == VALUES:
        raise ValueError(
            "`binning='values'` needs the distinct confidences before rows are counted. Take them from a query of "
            "their own: `bins=make_bins(binning='values', confidence=values)`."
        )
    if binning in FROM_ROWS:
        edges = "equal_mass_edges(sample, 15)"
        if binning == "equal-effective-mass":
            edges = "equal_effective_mass_edges(sample, weights_of_sample, 15)"
        raise ValueError(
            f"`binning={binning!r}` needs all confidences in order, which no single query gives. Take the edges from a "
            f"sample, `bins={edges}`; or count on a fine grid, `bins=1000`, and `coarsen` it."
        )
    return make_bins(bins, binning=binning)


def framed(
    frame: Any, classifiers: Sequence[dict[str, str]], weights: str | None, by: Any, bins: Bins, target: str
) -> Iterator[tuple[Any, KeySums]]:
    """Yield the label and the sums of each group of rows; the label is None if there are no groups."""
    _checks.one_of("target", target, TARGETS)
    for label, rows in row_sums(frame, classifiers, weights, names_of_columns("by", by), bins, labels="by").split():
        require_weight(rows, "" if label is None else f" in group {label!r}")
        yield label, rows


def framed_clusters(
    frame: Any, classifier: dict[str, str], cluster: Any, bins: Bins, target: str
) -> tuple[CellSums, ClusterSums]:
    """Return the sums of a classifier without weights, and those over clusters, from a query by cluster and bin."""
    _checks.one_of("target", target, TARGETS)
    require_few(len(bins))
    rows = row_sums(frame, [classifier], None, names_of_columns("cluster", cluster), bins, labels="cluster")
    assert rows.groups is not None
    size, index, z, n = len(bins), rows.index[0], rows.outcome[0], rows.n.astype(np.float64)
    error, deviation = z - bins.midpoints[index], rows.deviation[0]
    residual = error * n - deviation
    square = np.maximum(error * (residual - deviation) + rows.deviation_sq[0], 0.0)
    key, cell = np.unique(rows.groups.of_row * size + index, return_inverse=True)
    each = (n, residual, square, rows.log_losses[0].total)
    sums = np.stack([sums_at(cell, values, len(key)) for values in each])
    by_bin = (sums_at(index, values, size) for values in (n, residual, square))
    return sums_of(rows, 0, bins), ClusterSums.from_cells(ClusterCells(key, sums, *by_bin))


def require_weight(rows: KeySums, where: str) -> None:
    """Refuse weights that are all zero or too small; `where` names the group."""
    if rows.largest_weight is None:
        return
    most, n = rows.largest_weight.max(), rows.n.sum()
    if most == 0:
        raise InvalidRows(AllZero(count=int(n), size=int(n), group=where))
    if most <= 1 / LARGEST_WEIGHT:
        raise _rules.too_small(most, where)


def sums_of(rows: KeySums, classifier: int, bins: Bins) -> CellSums:
    """Return the sums of one classifier on these bins."""
    size = len(bins)
    index = rows.index[classifier]
    cell = index + size * rows.outcome[classifier]

    def by_cell(values: Any) -> Floats:
        return sums_at(cell, values, 2 * size).reshape(2, size)

    cells = row_counts("n", summed_by_key(cell, rows.n, 2 * size)).reshape(2, size)
    if rows.weight is None or rows.weight_sq is None:
        weight, weight_sq = unit_weights(cells)
    else:
        weight, weight_sq = by_cell(rows.weight), sums_at(index, rows.weight_sq, size)
    deviation, deviation_sq = by_cell(rows.deviation[classifier]), by_cell(rows.deviation_sq[classifier])
    losses = LossSums(total_loss(bins.midpoints, weight, deviation, deviation_sq), by_cell(rows.loss_sq[classifier]))
    log_losses = rows.log_losses[classifier].apply(by_cell)
    return CellSums(cells, weight, deviation, deviation_sq.sum(axis=0), weight_sq, losses, log_losses)


def loss_differences_of(rows: KeySums) -> dict[str, Any]:
    """Return the sums of the difference between the losses of two classifiers, and of its square, for each kind."""
    return {name: getattr(rows, name).apply(np.sum) for name in DIFFERENCES}


def joint_of(rows: KeySums, size: int) -> tuple[Ints, Ints, Floats, Floats]:
    """Joint cells of two classifiers that occur, in lexicographic order: keys, rows, weights and squared weights."""
    one, other = (2 * rows.index[i] + rows.outcome[i] for i in (0, 1))
    keys, at = np.unique(one * (2 * size) + other, return_inverse=True)
    count = row_counts("n", summed_by_key(at, rows.n, len(keys)))
    if rows.weight is None or rows.weight_sq is None:
        return keys, count, *unit_weights(count)
    return keys, count, sums_at(at, rows.weight, len(keys)), sums_at(at, rows.weight_sq, len(keys))
