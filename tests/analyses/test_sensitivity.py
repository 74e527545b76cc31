"""Bin sensitivity: every choice against an evaluation of its own, plug-in values from numpy, and the average."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="module")
def data():
    rows = simulate(1500, population="flat", rng=4)
    return rows.outcome, rows.confidence


@pytest.fixture(scope="module")
def result(data):
    return bc.bin_sensitivity(*data, n_bins=(5, 15, 50), draws=500, rng=1)


def plain_ece(y, p, edges):
    """The plug-in ECE, with numpy's histogram."""
    gap, _ = np.histogram(p, edges, weights=y - p)
    return np.abs(gap).sum() / len(p)


@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
@pytest.mark.parametrize("number", [5, 15, 50])
def test_each_choice_is_that_of_evaluate(data, result, binning, number):
    own = bc.evaluate(*data, bins=number, binning=binning, draws=500, rng=1)
    np.testing.assert_allclose(result[binning, number].ece.values, own.ece.values, atol=1e-7)
    row = next(row for row in result.table() if (row["binning"], row["n_bins"]) == (binning, number))
    np.testing.assert_allclose([row["low"], row["high"]], own.ece.interval(0.95), atol=1e-7)
    assert row["plug_in"] == pytest.approx(plain_ece(*data, own.counts.bins.edges), abs=1e-12)
    assert row["bins"] == number


def test_plug_in_values_of_a_calibrated_classifier_rise_and_the_posterior_does_not(result):
    rows = [row for row in result.table() if row["binning"] == "equal-width"]
    plug_in = [row["plug_in"] for row in rows]
    assert plug_in == sorted(plug_in)
    assert plug_in[-1] > 2.5 * plug_in[0]
    assert all(row["low"] < 1e-3 for row in rows)
    assert all(row["mean"] < 0.015 for row in rows)


def test_fine_counts_give_the_same_equal_width_bins(data, result):
    y, p = data
    fine = bc.BinnedCounts.from_arrays(y, p, bins=300, target="event")
    merged = bc.bin_sensitivity(fine, n_bins=(5, 15, 50), draws=500, rng=1)
    for number in (5, 15, 50):
        one, other = (each["equal-width", number].ece.values for each in (result, merged))
        np.testing.assert_allclose(one, other, atol=1e-7)
    assert "Equal-mass bins are unions of the counted bins" in str(merged).replace("\n", " ")
    assert "merged from 300 equal-width bins" in merged.spec
    assert merged.merged["equal-mass", 50] == pytest.approx(merged["equal-mass", 50].counts.n.max() * 50 / 1500)
    # with 300 bins of about 5 rows, a bin of 30 rows has up to a sixth more or less
    assert 1 < merged.merged["equal-mass", 50] < 1.3


def test_rows_are_counted_exactly_and_no_remark_says_otherwise(result):
    assert not any("unions" in remark for remark in result.remarks)


def test_other_estimands_weights_and_matrices(data):
    digits = bc.datasets.load_digits()
    y, p = digits.y_true, digits.y_prob["random_forest"]
    brier = bc.bin_sensitivity(y, p, n_bins=(5, 20), estimand="brier_score", draws=200, rng=1)
    # the observed Brier score does not depend on the bins
    assert np.ptp([row["plug_in"] for row in brier.table()]) < 1e-12
    assert "top-label Brier score" in brier.spec
    doubled = bc.bin_sensitivity(*data, n_bins=(5, 20), weights=np.full(len(data[0]), 2.0), draws=200, rng=1)
    plain = bc.bin_sensitivity(*data, n_bins=(5, 20), draws=200, rng=1)
    np.testing.assert_allclose(doubled.average.values, plain.average.values, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"n_bins": (15,), "binning": "equal-width"}, ValueError, "at least two choices"),
        ({"n_bins": ()}, ValueError, "`n_bins` must name at least one"),
        ({"n_bins": (5, 5)}, ValueError, "5 occurs twice, the second time at index 1"),
        ({"n_bins": (5, 0)}, ValueError, r"`n_bins\[1\]` must be an integer >= 1, not 0"),
        ({"n_bins": (5, 2_000_000)}, ValueError, "must be at most 1000000"),
        ({"binning": "equal mass"}, ValueError, "`binning` must be one of .*equal-mass"),
        ({"estimand": "eec"}, ValueError, "`estimand` must be one of .* Did you mean 'ece'"),
        ({"target": "classwise"}, ValueError, "target"),
    ],
)
def test_invalid_arguments_are_refused(data, change, error, said):
    with pytest.raises(error, match=said):
        bc.bin_sensitivity(*data, rng=1, **change)


def test_invalid_counts_are_refused(data):
    fine = bc.BinnedCounts.from_arrays(*data, bins=60)
    with pytest.raises(ValueError, match=r"1 are not, the first is 50\. Count on 50 equal-width bins or a multiple"):
        bc.bin_sensitivity(fine, rng=1)
    with pytest.raises(TypeError, match="`y_prob` must be omitted for counts"):
        bc.bin_sensitivity(fine, data[1], n_bins=(5, 10), rng=1)
    with pytest.raises(TypeError, match="`weights` must be omitted for counts"):
        bc.bin_sensitivity(fine, n_bins=(5, 10), weights=[1.0], rng=1)
    with pytest.raises(ValueError, match="`counts` must have rows"):
        bc.bin_sensitivity(bc.BinnedCounts.empty(300), rng=1)


def test_the_auc_of_every_choice_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    table = bc.bin_sensitivity(y, p, n_bins=(15, 20), binning="equal-width", estimand="auc", draws=200, rng=1).table()
    expected = bc.evaluate(y, p, draws=200, rng=1).plug_in_of("auc")
    assert [row["plug_in"] for row in table[:2]] == pytest.approx([expected] * 2, abs=1e-15)


def test_a_choice_without_the_quantity_is_named_at_once(data):
    """Not only when the result is printed."""
    with pytest.raises(ValueError, match=r"^1 equal-width bin: the largest regret needs 2 to 200 bins"):
        bc.bin_sensitivity(*data, n_bins=(1, 10), estimand="largest_regret", draws=20)
    with pytest.raises(ValueError, match=r"^5 equal-mass bins: the accuracy needs rows"):
        bc.bin_sensitivity(*data, n_bins=(5, 10), binning="equal-mass", estimand="accuracy", draws=20)
