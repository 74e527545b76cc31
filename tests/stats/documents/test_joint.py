"""Counts of two classifiers as plain data: documents that no rows could have left are refused."""

import json

import pytest
from stored_counts import COUNTS, PAIR_BY_HAND, changed

from bayescal import load_counts
from bayescal.stats.stored import counts_document

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
    ("path", "value", "said"), [(path, value, said) for path, cases in WRONG_PAIR.items() for value, said in cases]
)
def test_pairs_that_no_rows_could_have_left_are_refused(tmp_path, path, value, said):
    file = tmp_path / "counts.json"
    file.write_text(json.dumps(changed(PAIR_BY_HAND, path, value)))
    with pytest.raises(ValueError, match=said) as raised:
        load_counts(file)
    assert str(raised.value).startswith(f"'{file}': ")


@pytest.mark.parametrize(("name", "weighted"), [("pair", False), ("sum of pairs", False), ("weighted pair", True)])
def test_weights_of_pairs_are_written_where_there_are_any(name, weighted):
    document = counts_document(COUNTS[name])
    for part in (document, document["first"], document["second"]):
        assert ({"weight", "weight_sq"} <= set(part)) == weighted
        assert ("weight" in part) == weighted
