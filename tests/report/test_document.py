"""Results as data for JSON: bins by hand, exact seeds, and what is no result."""

import json

import pytest

import bayescal as bc
from bayescal.report.document import bin_table, document

EV = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=[0, 0.5, 0.6, 1], model="dirichlet", rng=1, draws=200)


def test_bins_by_hand():
    """The first bin holds 0.2 and 0.4, the second nothing, the third 0.7 and 0.9."""
    first, empty, last = bin_table(EV)
    assert [(row["low"], row["high"], row["n"], row["k"]) for row in (first, empty, last)] == [
        (0.0, 0.5, 2, 1),
        (0.5, 0.6, 0, 0),
        (0.6, 1.0, 2, 2),
    ]
    assert [first["mean_confidence"], last["mean_confidence"]] == pytest.approx([0.3, 0.8])
    assert [first["accuracy"], last["accuracy"]] == [0.5, 1.0]
    assert empty["accuracy"] != empty["accuracy"]  # NaN: there is no row
    assert empty["accuracy_low"] != empty["accuracy_low"]
    assert first["accuracy_low"] < 0.5 < first["accuracy_high"]


def test_a_document_says_what_it_is_and_how_to_get_it_again():
    made = document(EV, {"seed": 1})
    assert made["schema"] == "bayescal.report/1"
    assert made["bayescal"] == bc.__version__
    assert made["parameters"] == {"seed": 1}
    assert made["sentence"] == EV.sentence()
    assert made["bins"][0] == bin_table(EV)[0]
    assert made["notes"] == list(EV.details().notes)


def test_seeds_are_text():
    """They may be larger than 2^53, up to which parsers of JSON keep integers."""
    seeds = document(EV)["seeds"]
    assert seeds == {"bin_draws": str(EV.bin_draws_seed), "dirichlet": str(EV.dirichlet_seed)}
    assert json.loads(EV.to_json())["seeds"] == seeds


def test_chosen_quantities_are_the_rows_of_the_table():
    rows = document(EV, estimands=["ece", "signed_error"])["table"]
    assert [row["quantity"] for row in rows] == ["ece", "signed_error"]
    assert rows[1]["plug_in"] == pytest.approx((3 - 0.2 - 0.4 - 0.7 - 0.9) / 4)


def test_something_else_has_no_document():
    with pytest.raises(TypeError, match="int"):
        document(3)
