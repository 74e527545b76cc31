"""Sums of bins as plain data: documents that no rows could have left are refused, with the entry."""

import json
from dataclasses import replace

import numpy as np
import pytest
from stored_counts import BY_HAND, changed, same_bits

from bayescal import BinnedCounts, PairedCounts, load_counts, save_counts
from bayescal.stats.bins import make_bins
from bayescal.stats.stored import counts_document, counts_from_document

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


@pytest.mark.parametrize(
    ("path", "value", "said"), [(path, value, said) for path, cases in WRONG.items() for value, said in cases]
)
def test_sums_that_no_rows_could_have_left_are_refused(tmp_path, path, value, said):
    file = tmp_path / "counts.json"
    file.write_text(json.dumps(changed(BY_HAND, path, value)))
    with pytest.raises(ValueError, match=said) as raised:
        load_counts(file)
    assert str(raised.value).startswith(f"'{file}': ")


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
