"""Saved documents, changed field by field and byte by byte, are refused by file name or hold possible sums of rows.

A document that is accepted is read a second time here, with Python's own integers and fractions, and must obey all
rules that sums over rows obey. No reader can tell which of two possible documents was saved; `may_hold_other_rows`
states how numbers of rows may differ without being detected.
"""

import copy
import json
import math
import os
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import chain, pairwise

import numpy as np
import pytest

from bayescal import BinnedCounts, CalibrationMonitor, PairedCounts, load_counts, save_counts

#: Mutations of each document and kind; 0 for all of them.
MOST = int(os.environ.get("BAYESCAL_MUTATIONS", "150"))


# --- documents


def rows(n=40, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), rng.random(n), rng.random(n) + 0.1


def monitor(window, times, **options):
    made = CalibrationMonitor(3, window=window, **options)
    z, c, w = rows(len(times))
    return made.add(z, c, time=times, weights=w if options else None)


def forgetful():
    made = monitor("6h", [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=6 * (i % 4)) for i in range(40)])
    return made.forget("2026-03-01T06:00+00:00")


def pair(weights=None):
    z, c, _ = rows()
    return PairedCounts.from_arrays(z, c, z, c**2, bins=2, weights=weights, target="event")


SAVED = {
    "binned": lambda: BinnedCounts.from_arrays(*rows()[:2], bins=3, target="event"),
    "weighted": lambda: BinnedCounts.from_arrays(*rows()[:2], bins=[0, 0.25, 1], weights=rows()[2]),
    "empty": lambda: BinnedCounts.empty(2),
    "pair": pair,
    "weighted pair": lambda: pair(rows()[2]),
    "days": lambda: monitor("1d", np.array(["2026-03-01"] * 9 + ["2026-03-02"] * 9, "M8[D]")),
    "utc": forgetful,
    "numbers": lambda: monitor(0.1, [0.05, 0.35, -0.2, 0.35], target="event"),
    "total": lambda: CalibrationMonitor(2).add([0, 1], [0.2, 0.7]),
    "no rows": lambda: CalibrationMonitor(2, window=0.1),
}


def write(name, path):
    made = SAVED[name]()
    return made.save(path) if isinstance(made, CalibrationMonitor) else save_counts(made, path)


def load(name, path):
    return (
        CalibrationMonitor.load(path) if name in ("days", "utc", "numbers", "total", "no rows") else load_counts(path)
    )


# --- a second reader


def check_bins(bins):
    if bins["kind"] == "equal-width":
        assert set(bins) == {"kind", "number"}
        assert type(bins["number"]) is int
        return [Fraction(k / bins["number"]) for k in range(bins["number"] + 1)]
    assert set(bins) == {"kind", "edges"}
    assert bins["kind"] in ("custom", "equal-mass")
    edges = [Fraction(e) for e in bins["edges"]]
    assert edges[0] == 0
    assert edges[-1] == 1
    assert all(a < b for a, b in pairwise(edges))
    return edges


def check_weights(n, weight, weight_sq):
    """Return rows, weights and squared weights of one bin or joint cell, as lists by outcome."""
    slack = 1 + Fraction(1, 100_000)
    assert all(w >= 0 for w in weight)
    assert all(w == 0 for k, w in zip(n, weight, strict=True) if k == 0)
    least = sum(w * w / k for k, w in zip(n, weight, strict=True) if k)
    assert least <= weight_sq * slack + Fraction(1e-300)
    assert weight_sq <= sum(weight) ** 2 * slack + Fraction(1e-300)


def check_sums(sums, edges):
    optional = {"weight", "weight_sq", "log_losses"}
    assert sums.keys() - optional == {"rows", "cells", "deviation", "deviation_sq", "losses"}
    cells, size = sums["cells"], len(edges) - 1
    assert [len(row) for row in cells] == [size, size]
    assert all(type(k) is int and 0 <= k < 2**63 for row in cells for k in row)
    assert type(sums["rows"]) is int
    assert sum(map(sum, cells)) == sums["rows"]
    weight = [[Fraction(w) for w in row] for row in sums.get("weight", cells)]
    n = [a + b for a, b in zip(*cells, strict=True)]
    squares = [Fraction(w) for w in sums.get("weight_sq", n)]
    assert len(squares) == size
    slack = 1 + Fraction(1, 100_000)
    for b in range(size):
        reach = ((edges[b + 1] - edges[b]) / 2 + Fraction(1, 4096)) * slack
        of_bin = [row[b] for row in weight]
        check_weights([row[b] for row in cells], of_bin, squares[b])
        assert all(abs(Fraction(d[b])) <= w * reach for d, w in zip(sums["deviation"], of_bin, strict=True))
        square, total = Fraction(sums["deviation_sq"][b]), sum(of_bin)
        least = sum(Fraction(d[b]) ** 2 / w for d, w in zip(sums["deviation"], of_bin, strict=True) if w)
        assert least - total * reach**2 / 100_000 <= square <= total * reach**2 * slack
        if sums["losses"] is not None:
            check_losses(sums, b, edges, of_bin, reach)
        if sums.get("log_losses") is not None:
            check_log_losses(sums, b, edges, of_bin)


def check_losses(sums, b, edges, weight, reach):
    """Losses of one bin: bounded by the edges, in sum what the deviations say, squares between their bounds."""
    assert set(sums["losses"]) == {"total", "squares"}
    middle, room, rest = (edges[b] + edges[b + 1]) / 2, sum(weight) / 100_000, Fraction(0)
    for z, w in enumerate(weight):
        loss, square = (Fraction(sums["losses"][name][z][b]) for name in ("total", "squares"))
        error, deviation = z - middle, Fraction(sums["deviation"][z][b])
        assert 0 <= loss <= w * (abs(error) + reach) ** 2 + room
        assert loss**2 <= (square + room) * w
        assert 0 <= square <= loss * (abs(error) + reach) ** 2 + room
        rest += loss - error**2 * w + 2 * error * deviation
    assert abs(rest - Fraction(sums["deviation_sq"][b])) <= room


def check_log_losses(sums, b, edges, weight):
    """Log losses of one bin: bounded by those at its edges; infinite ones at the edges 0 and 1 only."""
    losses, size, room = sums["log_losses"], len(edges) - 1, 1.00002
    assert losses.keys() - {"infinite"} == {"total", "squares"}
    for z, w in enumerate(map(float, weight)):
        low, high = (float(e) for e in edges[b : b + 2]) if z else (1 - float(e) for e in (edges[b + 1], edges[b]))
        least, most = -math.log(min(high + 1 / 4000, 1)), -math.log(low - 1 / 4000) if low > 1 / 4000 else 745
        total, squares, infinite = (
            losses.get(name, [[0] * size] * 2)[z][b] for name in ("total", "squares", "infinite")
        )
        assert type(infinite) is int
        assert 0 <= infinite <= (sums["cells"][z][b] if b == (0 if z else size - 1) else 0)
        assert (0 if infinite else w * least) - w / 50_000 <= total <= (w * most + w / 50_000) * room
        assert total * (total / w if w else 1) <= squares * room + w / 50_000
        assert 0 <= squares <= total * most * room + w / 50_000


def check_pair(document):
    margins = {}
    for name in ("first", "second"):
        sums = {k: v for k, v in document[name].items() if k != "bins"}
        check_sums(sums, check_bins(document[name]["bins"]))
        margins[name] = {}
    assert document["cells"] == sorted(document["cells"])
    assert len({tuple(cell) for cell in document["cells"]}) == len(document["cells"]) == len(document["n"])
    weight = document.get("weight", document["n"])
    for cell, n, w, square in zip(
        document["cells"], document["n"], weight, document.get("weight_sq", document["n"]), strict=True
    ):
        assert type(n) is int
        assert n > 0
        check_weights([n], [Fraction(w)], Fraction(square))
        for name, (b, z) in zip(("first", "second"), (cell[:2], cell[2:]), strict=True):
            held = margins[name].setdefault((z, b), [0, 0])
            held[0] += n
            held[1] += Fraction(w)
    for name, held in margins.items():
        sums = document[name]
        for z, row in enumerate(sums["cells"]):
            for b, k in enumerate(row):
                n, w = held.pop((z, b), [0, 0])
                assert n == k
                assert abs(w - Fraction(sums.get("weight", sums["cells"])[z][b])) <= w / 100_000
        assert not held
    difference = document["loss_difference"]
    of_logs = document.get("log_loss_difference")
    if of_logs is not None:
        assert of_logs.keys() - {"infinite"} == {"total", "squares"}
        losses = [document[name]["log_losses"] for name in ("first", "second")]
        bad = [sum(chain(*of.get("infinite", []))) for of in losses]
        assert max(bad) <= of_logs.get("infinite", 0) <= sum(bad)
        own, other = (math.fsum(chain(*of["total"])) for of in losses)
        room = (math.fsum(weight) + own + other) / 50_000
        assert sum(bad) or abs(of_logs["total"] - own + other) <= room
        assert 0 <= of_logs["squares"] <= math.fsum(v for of in losses for v in chain(*of["squares"])) * 1.00002
    if difference is not None:
        assert set(difference) == {"total", "squares"}
        losses = [document[name]["losses"] for name in ("first", "second")]
        own, other = (sum(map(Fraction, chain(*of["total"]))) for of in losses)
        assert abs(Fraction(difference["total"]) - own + other) <= sum(map(Fraction, weight)) / 100_000
        assert (
            0 <= Fraction(difference["squares"]) <= sum(Fraction(v) for of in losses for v in chain(*of["squares"])) * 2
        )


def start_of(written, kind):
    if kind is None:
        return None
    if kind == "number":
        assert type(written) in (int, float)
        return round(Fraction(repr(written)), 9)  # a start may be off by 1e-9 of a window
    moment = datetime.fromisoformat(written)
    assert (moment.tzinfo is None) == (kind == "naive")
    since = moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo and UTC)
    return Fraction(since // timedelta(microseconds=1))


def check_monitor(document):
    edges, window, kind = check_bins(document["bins"]), document["window"], document["time"]
    assert kind in (None, "naive", "utc", "number")
    starts = [start_of(entry["start"], kind) for entry in document["windows"]]
    if window is None:
        assert kind is None
        assert len(starts) < 2
    else:
        ((unit, length),) = window.items()
        assert unit == ("number" if kind == "number" else "microseconds") or kind is None
        assert type(length) in (int, float)
        assert length > 0
        assert all(abs(round(s / Fraction(repr(length))) * Fraction(repr(length)) - s) < 1e-9 * length for s in starts)
        assert all(a < b for a, b in pairwise(starts))
    if document["forgotten_before"] is not None:
        assert all(s >= start_of(document["forgotten_before"], kind) for s in starts)
    for entry in document["windows"]:
        check_sums({k: v for k, v in entry.items() if k != "start"}, edges)


def check(document):
    """Check all rules that sums over rows obey."""
    assert document["target"] in ("confidence", "event", "top-label", "classwise")
    if document["schema"] == "bayescal.monitor/2":
        about = {"schema", "target", "bins", "window", "time", "forgotten_before", "windows"}
        assert set(document) == about
        check_monitor(document)
    elif document["kind"] == "paired":
        assert document.keys() - {"weight", "weight_sq", "log_loss_difference"} == {
            "schema",
            "kind",
            "target",
            "first",
            "second",
            "cells",
            "n",
            "loss_difference",
        }
        check_pair(document)
    else:
        sums = {k: v for k, v in document.items() if k not in ("schema", "kind", "target", "bins")}
        check_sums(sums, check_bins(document["bins"]))


def integers(document):
    """Return all numbers of rows in a document, with the start times of their windows."""
    if "windows" in document:
        entries = [entry for entry in document["windows"] if entry["rows"]]
        return [(start_of(entry["start"], document["time"]), entry["cells"]) for entry in entries]
    if document["kind"] == "paired":
        return document["cells"], document["n"], document["first"]["cells"], document["second"]["cells"]
    return document["cells"]


def integers_held(loaded, kind):
    """Return the same for a loaded object; `kind` is that of its times."""
    if isinstance(loaded, CalibrationMonitor):
        starts = [s.isoformat() if isinstance(s, datetime) else s for s in loaded.windows]
        cells = [counts.cells.tolist() for counts in loaded.windows.values()]
        return [(start_of(start, kind), c) for start, c in zip(starts, cells, strict=True)]
    if isinstance(loaded, PairedCounts):
        return loaded.cells.tolist(), loaded.n.tolist(), loaded.first.cells.tolist(), loaded.second.cells.tolist()
    return loaded.cells.tolist()


def may_hold_other_rows(kind, where):
    """Return whether a change gives another possible document: numbers swapped, a window removed or moved."""
    if kind in ("cut", "lost", "doubled", "flipped"):
        return True  # only in the start of a window, which `check_bytes` checks
    fields = [key for key in where if isinstance(key, str)]
    return (
        (kind == "swapped" and fields[-1:] == ["cells"])
        or (kind in ("value", "shorter") and fields == ["windows"])
        or (kind in ("value", "number") and fields == ["windows", "start"])
    )


# --- mutations

NESTED = "[" * 300 + "]" * 300
BOMB = "[" * 100_000
#: JSON text that replaces a value.
VALUES = [
    *("null", "true", "false", '""', '"x"', "[]", "{}", '"1"', "[0]", "[[0]]", '{"a": 0}', '"1d"', '"\\ud800"'),
    *("-1", "0", "1", "0.5", "-0.0", "1e400", "-1e400", "1e308", "1e-320", "NaN", "Infinity", "1" * 500, "1" * 5000),
    *("9223372036854775807", "9223372036854775808", "9007199254740993", "18446744073709551616", "-9223372036854775809"),
    *('"2026-03-01"', '"0001-01-01T00:00"', '"9999-12-31T23:59:59.999999"', '"0001-01-01T00:00+23:59"'),
    *(NESTED, BOMB, '"' + "y" * 10_000 + '"'),
]


class Raw(str):
    """JSON text that is written unchanged."""


def text_of(value):
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{text_of(k) if isinstance(k, Raw) else json.dumps(k)}: {text_of(v)}" for k, v in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return json.dumps(value)


def places(value, path=()):
    yield path, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def replaced(document, path, value):
    if not path:
        return value
    made = copy.deepcopy(document)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def renamed(value, key, *others):
    """Return the dictionary with one entry renamed in place."""
    return {new: v for k, v in value.items() for new in (others if k == key else (k,))}


def of_values(value):
    """Yield (kind, key, other value) for every other value."""
    for text in VALUES:
        yield "value", (), Raw(text)
    if type(value) in (int, float):
        for other in (-value, value + 1, value * 2, float(value), str(value), [value]):
            yield "number", (), other


def of_entries(value):
    """Yield the same for the entries of an object."""
    for key in value:
        name = json.dumps(key)
        yield "deleted", (key,), renamed(value, key)
        yield "renamed", (key,), renamed(value, key, key + "s")
        yield "renamed", (key,), renamed(value, key, key.upper())
        yield "added", (key,), renamed(value, key, key, key + "_")
        yield "twice", (key,), renamed(value, key, Raw(f"{name}: 0, {name}"))
        yield "twice", (key,), {**value, Raw(name): value[key]}
        for other in value:
            if other > key:
                yield "swapped", (key, other), {**value, key: value[other], other: value[key]}


def of_items(value):
    """Yield the same for the items of an array."""
    for i in range(len(value)):
        yield "shorter", (i,), value[:i] + value[i + 1 :]
        yield "longer", (i,), [*value[:i], value[i], *value[i:]]
        for j in range(i):
            yield "swapped", (i, j), [value[{i: j, j: i}.get(k, k)] for k in range(len(value))]
    yield "longer", (), [*value, 0]
    yield "longer", (), [*value, None]


def of_fields(document):
    """Yield (kind, where, document) for every change of a field."""
    for path, value in places(document):
        changes = [of_values(value)]
        changes += [of_entries(value)] * isinstance(value, dict) + [of_items(value)] * isinstance(value, list)
        for kind, where, other in chain(*changes):
            yield kind, (*path, *where), replaced(document, path, other)


def of_bytes(whole):
    """Yield (kind, where, bytes) for every truncation and for flipped, doubled and lost bytes."""
    for i in range(len(whole.rstrip())):
        yield "cut", i, whole[:i]
        yield "lost", i, whole[:i] + whole[i + 1 :]
        yield "doubled", i, whole[:i] + whole[i : i + 1] + whole[i:]
        for bit in range(8):
            yield "flipped", i, whole[:i] + bytes([whole[i] ^ 1 << bit]) + whole[i + 1 :]


def some(mutations, most, seed):
    """Return all mutations, or a random sample of the given size."""
    mutations = list(mutations)
    if not most or len(mutations) <= most:
        return mutations
    chosen = np.random.default_rng(seed).choice(len(mutations), most, replace=False)
    return [mutations[i] for i in sorted(chosen)]


def outcome_of(name, path, kind, where, text, saved):
    """Load and check a changed document; return whether it is refused, the same, or holds other sums or rows."""
    path.write_bytes(text)
    loaded, problem = None, None
    try:
        loaded = load(name, path)
    except ValueError as refusal:
        problem = refusal
    if problem is not None:
        assert type(problem) is ValueError
        assert str(problem).startswith(f"'{path}'"), problem
        assert len(str(problem)) < 1500, str(problem)[:300]
        return "refused"
    document = json.loads(text.decode("utf-8-sig"))
    check(document)
    held = integers(document)
    assert json.dumps(integers_held(loaded, document.get("time")), default=str) == json.dumps(held, default=str)
    if document == saved:
        return "the same"
    if held == integers(saved):
        return "other sums of the same rows"
    assert may_hold_other_rows(kind, where), (kind, where)
    if isinstance(where, int):
        assert [cells for _, cells in held] == [cells for _, cells in integers(saved)]
    return "other rows"


def mutations_of(name, path, most):
    write(name, path)
    whole = path.read_bytes()
    saved = json.loads(whole)
    check(saved)
    for number, found in enumerate((of_fields(saved), of_bytes(whole))):
        for kind, where, changed in some(found, most, seed=number):
            yield saved, kind, where, changed if isinstance(changed, bytes) else text_of(changed).encode()


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVED)
def test_a_changed_document_is_refused_or_possible(name, tmp_path):
    path, seen = tmp_path / "state.json", {}
    for saved, kind, where, text in mutations_of(name, path, MOST):
        outcome = outcome_of(name, path, kind, where, text, saved)
        seen[kind, outcome] = seen.get((kind, outcome), 0) + 1
    assert sum(seen.values()) >= min(2 * MOST, 1000)
    always = {"cut", "deleted", "renamed", "added", "twice"}
    assert {outcome for kind, outcome in seen if kind in always} == {"refused"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binned", "weighted pair", "days"])
def test_the_command_line_says_what_is_wrong_with_a_changed_document(name, tmp_path):
    """The message is one line that names the file; for `report`, a file without a schema is a file of rows."""
    from typer.testing import CliRunner

    from bayescal.app import app

    path, output = tmp_path / "state.json", tmp_path / "sum.json"
    for _, _, _, text in mutations_of(name, path, 8):
        path.write_bytes(text)
        for arguments in (["merge", path, "-o", output], ["report", path, "--draws", "10"]):
            result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "120", "TERM": "dumb"})
            if result.exit_code:
                assert result.exit_code == 2, (result.output, result.exception)
                assert re.match("(Note: .*\n)*Error: .*\n$", result.stderr), result.stderr


@pytest.mark.parametrize(
    ("name", "path", "text", "said"),
    [
        ("no rows", ("window", "number"), '"1d"', "`window.number` must be a number, not '1d'"),
        ("no rows", ("window", "number"), "true", "`window.number` must be a number, not True"),
        ("numbers", ("windows", 0, "start"), "-1e308", r"must be less than 2\^53 windows of 0.1 from 0"),
        (
            "binned",
            ("rows",),
            '"' + "y" * 10**6 + '"',
            r"must hold integers .*; 'y{100}'… \(1,000,000 characters\) is not",
        ),
        ("days", ("windows", 0, "start"), "[" + "1, " * 10**5 + "1]", r"must be .*\.\.\.|must be .*… "),
    ],
)
def test_what_was_accepted_warned_of_or_told_at_length(name, path, text, said, tmp_path):
    file = write(name, tmp_path / "state.json")
    file.write_text(text_of(replaced(json.loads(file.read_text()), path, Raw(text))))
    with pytest.raises(ValueError, match=said) as raised:
        load(name, file)
    assert len(str(raised.value)) < 1500
