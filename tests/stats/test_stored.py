"""Counts as files: they come back bit for bit, and a file that no rows could have left is refused."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bayescal import BinnedCounts, PairedCounts, equal_mass_edges, load_counts, save_counts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.stored import counts_document, counts_from_document


def rows(n=400, seed=1, dtype=np.float64):
    """Confidences with many on and beside edges, and outcomes."""
    rng = np.random.default_rng(seed)
    edges = (np.arange(21) / 20).astype(dtype)
    beside = np.nextafter(edges[1:], dtype(0)), np.nextafter(edges[:-1], dtype(1))
    c = np.concatenate([edges, *beside, rng.random(n).astype(dtype)])
    return rng.integers(0, 2, len(c)), c


def weights(n, scale=1.0):
    rng = np.random.default_rng(2)
    return scale * rng.exponential(size=n) * (rng.random(n) < 0.9)


def same_bits(one, other):
    """Equal numbers, equal signs of zero, equal edges with their kind."""
    assert one == other
    assert type(one) is type(other)
    if isinstance(one, PairedCounts):
        same_bits(one.first, other.first)
        same_bits(one.second, other.second)
        names = ("weight", "weight_sq")
        kinds = ("loss_difference", "log_loss_difference")
    else:
        assert one.bins.kind == other.bins.kind
        names = ("weight", "deviation", "deviation_sq", "weight_sq")
        kinds = ("losses", "log_losses")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    losses = [[getattr(of, kind) for of in (one, other)] for kind in kinds]
    pairs += [(getattr(a, name), getattr(b, name)) for a, b in losses for name in ("total", "squares", "infinite")]
    for a, b in pairs:
        np.testing.assert_array_equal(a.view(np.int64), b.view(np.int64))
        assert a.dtype == b.dtype
    assert one.cells.dtype == other.cells.dtype == np.int64


def several():
    z, c = rows()
    made = {
        "plain": BinnedCounts.from_arrays(z, c, bins=20),
        "event": BinnedCounts.from_arrays(z, c, bins=15, target="event"),
        "one bin": BinnedCounts.from_arrays(z, c, bins=1),
        "many bins": BinnedCounts.from_arrays(z, c, bins=3000),
        "custom": BinnedCounts.from_arrays(z, c, bins=[0, 0.1, 1 / 3, 1]),
        "equal mass": BinnedCounts.from_arrays(z, c, bins=7, binning="equal-mass"),
        "equal mass, given": BinnedCounts.from_arrays(z, c, bins=equal_mass_edges(c, 5)),
        "empty": BinnedCounts.empty(4, target="top-label"),
        "one row": BinnedCounts.from_arrays([1], [1.0], bins=4),
        "one value": BinnedCounts.from_arrays([0, 1] * 999, [0.1] * 1998, bins=10),
        "on midpoints": BinnedCounts.from_arrays([0, 1, 1], [0.25, 0.75, 0.75], bins=2),
        "coarse": BinnedCounts.from_arrays(z, c, bins=60).coarsen([0, 0.25, 0.5, 1]),
        "sum": sum(BinnedCounts.from_arrays(*rows(seed=s), bins=20) for s in range(5)),
    }
    # float16 calls an edge 0.1 that lies below it; squares about a new midpoint cancel to less than 0
    made["below its bin"] = BinnedCounts.from_arrays([1], np.array([0.1], np.float16), bins=10)
    made["negative by rounding"] = BinnedCounts.from_arrays([1] * 7, [0.5] * 7, bins=22).coarsen([0, 1])
    tiny = [1.0, *[1e-162] * 7]
    made["squares of few digits"] = BinnedCounts.from_arrays([1] * 8, [0.9, *[0.1] * 7], bins=2, weights=tiny)
    for dtype in (np.float16, np.float32):
        made[np.dtype(dtype).name] = BinnedCounts.from_arrays(*rows(dtype=dtype), bins=20)
    for scale in (1e-138, 1e-9, 1.0, 1e138):
        made[f"weights {scale}"] = BinnedCounts.from_arrays(z, c, bins=20, weights=weights(len(c), scale))
    uneven = np.geomspace(1e-300, 1, len(c))
    made["uneven weights"] = BinnedCounts.from_arrays(z, c, bins=20, weights=uneven)
    made["weights of 1"] = BinnedCounts.from_arrays(z, c, bins=20, weights=np.ones(len(c)))
    made["equal weights"] = BinnedCounts.from_arrays(z, c, bins=20, weights=np.full(len(c), 0.1))
    other_z, other = rows(seed=5)
    for name, w in (("pair", None), ("weighted pair", weights(len(c))), ("uneven pair", uneven)):
        made[name] = PairedCounts.from_arrays(z, c, other_z, other, bins=20, weights=w)
    made["sum of pairs"] = made["pair"] + PairedCounts.from_arrays(other_z, other, z, c, bins=20)
    made["empty pair"] = PairedCounts.empty(3, [0, 0.5, 1], target="event")
    return made


COUNTS = several()


@pytest.mark.parametrize("name", COUNTS)
def test_counts_come_back_bit_for_bit(tmp_path, name):
    counts = COUNTS[name]
    path = save_counts(counts, tmp_path / "counts.json")
    same_bits(load_counts(path), counts)
    assert load_counts(str(path)).n_rows == counts.n_rows


#: Three rows in two bins, by hand: 0.125 - 0.25, 0.5 - 0.75, 1 - 0.75. Losses: 1/64, and 1/4 + 0.
L2, L4, L7 = math.log(2), math.log(4), -math.log(0.875)
BY_HAND = {
    "schema": "bayescal.counts/2",
    "kind": "binned",
    "target": "event",
    "bins": {"kind": "equal-width", "number": 2},
    "rows": 3,
    "cells": [[1, 0], [0, 2]],
    "deviation": [[-0.125, 0], [0, 0.0]],
    "deviation_sq": [0.015625, 0.125],
    "losses": {"total": [[0.015625, 0], [0, 0.25]], "squares": [[0.000244140625, 0], [0, 0.0625]]},
    "log_losses": {"total": [[L7, 0], [0, L2]], "squares": [[L7**2, 0], [0, L2**2]]},
}
#: The same rows with weights 1, 2, 3, and another model's 0.5, 0.25, 0.25 in three bins. Losses 1/64, 2/4 and 0; and
#: 1/4, 5 * 9/16. Differences of losses: -15/64, -5/16 and -9/16.
PAIR_BY_HAND = {
    "schema": "bayescal.counts/2",
    "kind": "paired",
    "target": "event",
    "first": {
        "bins": {"kind": "equal-width", "number": 2},
        "rows": 3,
        "cells": [[1, 0], [0, 2]],
        "deviation": [[-0.125, 0], [0, 0.25]],
        "deviation_sq": [0.015625, 0.3125],
        "losses": {"total": [[0.015625, 0], [0, 0.5]], "squares": [[0.000244140625, 0], [0, 0.125]]},
        "log_losses": {"total": [[L7, 0], [0, 2 * L2]], "squares": [[L7**2, 0], [0, 2 * L2**2]]},
        "weight": [[1, 0], [0, 5]],
        "weight_sq": [1, 13],
    },
    "second": {
        "bins": {"kind": "custom", "edges": [0, 0.375, 0.625, 1]},
        "rows": 3,
        "cells": [[0, 1, 0], [2, 0, 0]],
        "deviation": [[0, 0, 0], [0.3125, 0, 0]],
        "deviation_sq": [0.01953125, 0, 0],
        "losses": {"total": [[0, 0.25, 0], [2.8125, 0, 0]], "squares": [[0, 0.0625, 0], [1.58203125, 0, 0]]},
        "log_losses": {
            "total": [[0, L2, 0], [2 * L4 + 3 * L4, 0, 0]],
            "squares": [[0, L2**2, 0], [2 * L4**2 + 3 * L4**2, 0, 0]],
        },
        "weight": [[0, 1, 0], [5, 0, 0]],
        "weight_sq": [13, 1, 0],
    },
    "cells": [[0, 0, 1, 0], [1, 1, 0, 1]],
    "n": [1, 2],
    "loss_difference": {
        "total": -15 / 64 - 2 * 5 / 16 - 3 * 9 / 16,
        "squares": (15 / 64) ** 2 + 2 * (5 / 16) ** 2 + 3 * (9 / 16) ** 2,
    },
    "log_loss_difference": {
        "total": (L7 - L2) + 2 * (L2 - L4) + 3 * -L4,
        "squares": (L7 - L2) ** 2 + 2 * (L2 - L4) ** 2 + 3 * L4**2,
    },
    "weight": [1, 5],
    "weight_sq": [1, 13],
}


def without_log_losses(document):
    """The document without the sums for the log score."""
    kept = {name: value for name, value in document.items() if name not in ("log_losses", "log_loss_difference")}
    return {name: without_log_losses(value) if name in ("first", "second") else value for name, value in kept.items()}


def test_documents_written_by_hand(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(BY_HAND))
    z, c = [0, 1, 1], [0.125, 0.5, 1.0]
    assert load_counts(path) == BinnedCounts.from_arrays(z, c, bins=2, target="event")
    path.write_text("\ufeff" + json.dumps(PAIR_BY_HAND, indent=1))
    expected = PairedCounts.from_predictions
    from bayescal import Predictions

    first, second = (
        Predictions.from_outcomes(z, values, [1, 2, 3], target="event") for values in (c, [0.5, 0.25, 0.25])
    )
    own = BinnedCounts.from_predictions(first, bins=2)
    other = BinnedCounts.from_predictions(second, bins=[0, 0.375, 0.625, 1])
    assert load_counts(path) == expected(first, second, own, other)


def test_counts_without_losses_are_stored_without_them(tmp_path):
    """Such counts are made by hand; null is written, and the entry is needed."""
    new = counts_from_document(BY_HAND)
    made = replace(new, losses=None, log_losses=None)
    assert load_counts(save_counts(made, tmp_path / "counts.json")) == made != new
    assert (made + new) == (new + made) == made + made
    document = counts_document(made)
    assert document.pop("losses") is None
    with pytest.raises(ValueError, match="'losses'"):
        counts_from_document(document)


@pytest.mark.parametrize("document", [BY_HAND, PAIR_BY_HAND])
def test_files_without_log_losses_have_no_log_score(tmp_path, document):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(without_log_losses(document)))
    old, new = load_counts(path), counts_from_document(document)
    if isinstance(new, PairedCounts):
        assert old.log_loss_difference is old.first.log_losses is None
        assert old.loss_difference == new.loss_difference
        assert (old + new).log_loss_difference is None
    else:
        assert old.log_losses is None
        assert old == replace(new, log_losses=None)
        assert (old + new).log_losses is None
        assert (old + new).losses == new.losses + new.losses
    assert "log_losses" not in save_counts(old, path).read_text()
    assert load_counts(path) == old


def test_rows_with_infinite_loss_are_stored_as_numbers(tmp_path):
    """JSON has no infinity. Rows 1 and 2: confidence 1 with outcome 0, and 0 with 1; the second one twice."""
    z, c = [0, 1, 1, 0], [1.0, 0.0, 0.0, 0.25]
    counts = BinnedCounts.from_arrays(z, c, bins=2)
    loaded = load_counts(save_counts(counts, tmp_path / "a.json"))
    same_bits(loaded, counts)
    np.testing.assert_array_equal(loaded.log_losses.infinite, [[0, 1], [2, 0]])
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["log_losses"]["infinite"] == [[0, 1], [2, 0]]
    pair = PairedCounts.from_arrays(z, c, z, [1.0, 0.5, 0.0, 0.25], bins=2)
    same_bits(load_counts(save_counts(pair, tmp_path / "b.json")), pair)
    assert pair.log_loss_difference.infinite == 3
    for wrong, said in (
        ([[1, 1], [2, 0]], r"`log_losses.infinite` must be rows that may have infinite loss"),
        ([[0, 1], [3, 0]], r"`log_losses.infinite` must be rows that may have infinite loss"),
        ([[0, 1], [-1, 0]], "integers"),
        ([[0, 1]], "shape"),
    ):
        document["log_losses"]["infinite"] = wrong
        with pytest.raises(ValueError, match=said):
            counts_from_document(document)


def test_the_file_is_small_and_says_what_it_is(tmp_path):
    z, c = rows(10_000)
    text = save_counts(BinnedCounts.from_arrays(z, c, target="event"), tmp_path / "a.json").read_text()
    assert len(text) < 4500
    assert text.startswith('{\n  "schema": "bayescal.counts/2",\n  "kind": "binned",\n  "target": "event",')
    assert "weight" not in text  # rows say it all
    assert max(map(len, text.splitlines())) < 600


@pytest.mark.parametrize(("name", "weighted"), [("pair", False), ("sum of pairs", False), ("weighted pair", True)])
def test_weights_of_pairs_are_written_where_there_are_any(name, weighted):
    document = counts_document(COUNTS[name])
    for part in (document, document["first"], document["second"]):
        assert ({"weight", "weight_sq"} <= set(part)) == weighted
        assert ("weight" in part) == weighted


def changed(document, path, value):
    made = copy.deepcopy(document)
    *parents, last = path
    place = made
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return made


WRONG = {
    # what kind of document
    ("schema",): [
        ("bayescal.report/1", "something else"),
        ("bayescal.counts/3", "Update bayescal"),
        ("bayescal.counts/1", r"reads bayescal\.counts/2\. Make the document again from the rows\.$"),
        ("bayescal.counts/two", "something else"),
        (KeyError, "no ent"),
    ],
    ("kind",): [("bined", "Did you mean 'binned'"), (KeyError, "`kind`"), ([], "`kind`"), ("paired", "missing")],
    ("weigth",): [([[1, 0], [0, 2]], "'weigth'.* unknown.* Did you mean 'weight'")],
    ("target",): [("events", "Did you mean 'event'"), (None, "`target`"), (KeyError, "'target'")],
    # bins
    ("bins",): [(15, "'bins'"), (KeyError, "'bins'"), ({"kind": "equal-width"}, "'number'")],
    ("bins", "number"): [
        (3, "`cells`"),
        (0, "from 1"),
        (-2, "integers"),
        (2.0, "integers"),
        (True, "integers"),
        ("2", "integers"),
        (10**7, "1000000"),
    ],
    ("bins", "kind"): [("custom", "'edges'"), ("equal", "'edges'")],
    ("bins", "edges"): [([0, 0.5, 1], "unknown")],
    # integers
    ("rows",): [(4, "add up to, 3; it is 4"), (3.0, "integers"), (None, "integers"), (KeyError, "'rows'")],
    ("cells",): [
        ([[1, 0]], r"shape \(2, 2\)"),
        ([[1, 0], [0, 2, 0]], r"shape \(2, 2\)"),
        ({}, r"shape"),
        ([[1, 0], [2, 0]], "`deviation"),
        (KeyError, "'cells'"),
    ],
    ("cells", 1, 1): [
        (-2, r"`cells` must hold integers >= 0.*-2 at index \(1, 1\)"),
        (2.0, "integers"),
        (True, "integers"),
        ("2", "integers"),
        (None, "integers"),
        (2**63, "integers"),
        (2**63 - 1, r"less than 2\^63 rows; the sum is 9223372036854775808"),
        (1, "`rows`"),
    ],
    # sums
    ("deviation", 0, 0): [
        ("0", "finite"),
        (None, "finite"),
        (10**400, "finite"),
        (True, "finite"),
        (-0.3, r"`deviation` must lie within its bin; 1 of 4.*\(0, 0\): -0.3"),
        (0.3, "within its bin"),
        (-0.2, "`deviation_sq` must fit"),
    ],
    ("deviation", 0, 1): [(0.001, "within its bin")],  # no rows
    ("deviation_sq", 0): [
        (-1e-3, "fit"),
        (0.01, "fit `deviation`"),
        (0.07, "within its bin"),
        (1e308, r"up to 1e\+300"),
    ],
    ("deviation_sq",): [([0.015625], r"shape \(2,\)"), (0.1, r"shape \(2,\)"), (KeyError, "'deviation_sq'")],
    # log losses: log 2 in the last cell is that of 0.5 and 1; the mean confidence 0.75 has 0.29
    ("log_losses",): [([], "'log_losses' must be a JSON object")],
    ("log_losses", "total", 0, 0): [
        (-0.1, "`log_losses.total` must be >= 0"),
        (0.8, "`log_losses.total` must lie within its bin"),
        (0.12, "`log_losses.total` must fit `deviation`"),
    ],
    ("log_losses", "total", 0, 1): [(0.001, "`log_losses.total` must lie within its bin")],  # no rows
    ("log_losses", "total", 1, 1): [(1.4, "within its bin"), (0.5, "must fit `deviation`")],
    ("log_losses", "squares", 1, 1): [
        (-0.1, "`log_losses.squares` must be >= 0"),
        (0.2, "`log_losses.squares` must fit `total`"),
        (0.5, "`log_losses.squares` must fit `total`"),
    ],
    # losses: 1/4 in the last cell is (1 - 0.5)^2 + 0; its d^2 are 1/16 + 1/16
    ("losses",): [
        (KeyError, "'losses'"),
        ([], "'losses' must be a JSON object"),
        ({"total": [[0, 0], [0, 0]]}, "'squares'"),
    ],
    ("losses", "total"): [([[0.015625, 0]], r"shape \(2, 2\)")],
    ("losses", "total", 0, 0): [
        (-0.1, "`losses.total` must be >= 0"),
        ("1", "finite"),
        (0.02, "`losses.total` must fit `deviation_sq`"),
        (0.01, "`losses.total` must fit `deviation`"),
        (0.3, "within its bin"),
    ],
    # 0.2 more than the total: d^2 would be 0.2, and no row is further than 1/4 from the middle
    ("losses", "total", 1, 1): [(0.45, r"`losses.total` must lie within its bin; 1 of 4.*\(1, 1\)")],
    ("losses", "total", 0, 1): [(0.001, "`losses.total` must lie within its bin")],  # no rows
    ("losses", "squares", 1, 1): [
        (-0.1, "`losses.squares` must be >= 0"),
        (0.03, "`losses.squares` must fit `total`"),
        (0.1, "`losses.squares` must fit `total`"),
        (1e300, "`losses.squares` must fit `total`"),
        (1e308, r"finite numbers up to 1e\+300"),
    ],
    # weights that are half there
    ("weight",): [([[1, 0], [0, 2]], "both of")],
    ("weight_sq",): [([1, 2], "both of")],
}
WRONG_PAIR = {
    ("first", "weight", 0, 0): [
        (-1, r"`first.weight` must be >= 0; 1 of 4.*\(0, 0\)"),
        (0, "`first.deviation` must lie|`first.weight_sq`"),
        (1.5, "first"),
    ],
    ("first", "weight", 0, 1): [(0.5, "be 0 where there are no rows")],
    ("first", "weight_sq", 1): [(12, "first.weight_sq` must fit"), (26, "first.weight_sq` must fit"), (-1, ">= 0")],
    ("first", "target"): [("event", "unknown")],
    ("first", "rows"): [(2, "`first.rows`")],
    ("first",): [(KeyError, "'first'"), ([], "'first' must be a JSON object")],
    ("second", "bins", "edges"): [
        ([0, 0.5, 0.5, 1], "increasing"),
        ([0, 0.375, 0.625, 0.9], "end at 1"),
        ([0, 0.5, 1], "`second.cells`"),
        ([0, "a", 1, 2], "finite"),
        (3, "array"),
    ],
    ("n",): [
        ([1], r"`cells`"),
        (3, "`n` must be an array"),
        ([0, 3], "`n` must be >= 1"),
        ([2, 1], "`weight_sq` must fit"),
        ([1, 3], "first.cells"),
    ],
    ("cells",): [
        ([[1, 1, 0, 1], [0, 0, 1, 0]], "ascending"),
        ([[0, 0, 1, 0], [0, 0, 1, 0]], "ascending"),
        ([[0, 0, 1, 0], [1, 1, 3, 1]], "below"),
        ([[0, 0, 1, 0], [2, 1, 0, 1]], "below"),
        ([[0, 2, 1, 0], [1, 1, 0, 1]], "below"),
        ([[0, 0, 2, 0], [1, 1, 0, 1]], "`second.cells`"),
        ([[0, 1, 1, 0], [1, 1, 0, 1]], "`first.cells`"),
        ([[0, 0, 1], [1, 1, 0]], "shape"),
        ([[0, 0, 1, 0], [1, 1, 0, -1]], "integers"),
    ],
    ("weight",): [([1, 6], "`weight_sq` must fit|`first.weight`"), (KeyError, "both of"), ([1, 4.9], "`first.weight`")],
    ("weight_sq",): [([1, 12], "must fit"), ([1, 25.5], "must fit")],
    ("first", "losses"): [(None, "`loss_difference` stands alone"), (KeyError, "'losses'")],
    ("first", "losses", "total", 0, 0): [(0.02, "`first.losses.total` must fit")],
    ("first", "log_losses"): [(None, "`log_loss_difference` stands alone"), (KeyError, "`log_loss_difference`")],
    ("log_loss_difference", "total"): [(-5.0, "be what the losses of both differ by"), (None, "finite")],
    ("log_loss_difference", "squares"): [(1.0, "must fit `total`"), (13.0, "must fit the losses of both")],
    ("log_loss_difference",): [({"total": 0, "squares": 0, "infinite": 1}, "where either loss is infinite")],
    ("loss_difference",): [(KeyError, "'loss_difference'"), (3, "must be a JSON object")],
    ("loss_difference", "total"): [
        (2.546875, "be what the losses of both differ by"),
        ([-2.5], "finite"),
        (None, "finite"),
    ],
    ("loss_difference", "squares"): [
        (-1.0, "must be >= 0"),
        (1.0, "must fit `total`"),
        (1.8, "must fit the losses of both"),
    ],
}


@pytest.mark.parametrize(
    ("document", "path", "value", "said"),
    [
        (document, path, value, said)
        for document, table in ((BY_HAND, WRONG), (PAIR_BY_HAND, WRONG_PAIR))
        for path, cases in table.items()
        for value, said in cases
    ],
)
def test_what_no_rows_could_have_left_is_refused(tmp_path, document, path, value, said):
    file = tmp_path / "counts.json"
    file.write_text(json.dumps(changed(document, path, value)))
    with pytest.raises(ValueError, match=said) as raised:
        load_counts(file)
    assert str(raised.value).startswith(f"'{file}': ")


@pytest.mark.parametrize("name", ["plain", "weights 1.0", "custom", "pair", "weighted pair"])
def test_one_changed_integer_is_always_noticed(name):
    """Each count in turn is raised by one: the number of rows, or a margin, then differs."""
    document = counts_document(COUNTS[name])

    def integers(value, path=()):
        if isinstance(value, dict):
            for key in value.keys() & {"cells", "n", "rows", "first", "second"}:
                yield from integers(value[key], (*path, key))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                yield from integers(item, (*path, i))
        else:
            yield path, value

    places = list(integers(document))
    for path, value in places[:: max(1, len(places) // 60)]:
        with pytest.raises(ValueError):  # noqa: PT011 -- which rule breaks depends on the place
            counts_from_document(changed(document, path, value + 1))
    counts_from_document(document)


def test_what_is_no_counts_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="PairedCounts"):
        save_counts({"cells": []}, tmp_path / "a.json")
    other_edges = BinnedCounts.empty(Bins(np.array([0, 0.3, 1]), "equal-width"))  # would come back as 0, 0.5, 1
    with pytest.raises(ValueError, match="do not have the edges k / 2"):
        save_counts(other_edges, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("edges", [10, [0, 0.5, 0.8, 1]], ids=str)
def test_the_closed_side_of_bins_is_stored(tmp_path, edges):
    counts = BinnedCounts.from_arrays([0, 1], [0.5, 0.8], bins=make_bins(edges, closed="right"))
    again = load_counts(save_counts(counts, tmp_path / "counts.json"))
    assert again == counts
    assert again.bins.closed == "right"
    document = counts_document(counts)
    assert "closed" not in counts_document(BinnedCounts.from_arrays([0], [0.5], bins=edges))["bins"]
    document["bins"]["closed"] = "both"
    with pytest.raises(ValueError, match=r"`bins\.closed` must be one of"):
        counts_from_document(document)


def test_files_of_workers_add_up(tmp_path):
    z, c = rows(5000)
    paths = [save_counts(BinnedCounts.from_arrays(z[i::7], c[i::7], bins=20), tmp_path / f"{i}.json") for i in range(7)]
    merged, whole = sum(map(load_counts, paths)), BinnedCounts.from_arrays(z, c, bins=20)
    np.testing.assert_array_equal(merged.cells, whole.cells)
    np.testing.assert_allclose(merged.deviation, whole.deviation, atol=1e-12)
