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


def test_the_average_is_the_mixture(result):
    values = np.stack([each.ece.values for each in result.evaluations.values()])
    assert result.average.mean() == pytest.approx(np.mean([each.ece.mean() for each in result.evaluations.values()]))
    # the distribution function of a mixture is the mean of those of its parts
    for at in (0.001, 0.01, 0.03):
        assert result.average.pr(lambda e, at=at: e < at) == pytest.approx((values < at).mean(axis=1).mean())


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


def test_ties_that_leave_fewer_bins_are_stated():
    y, p = np.tile([0, 1], 200), np.tile([0.1, 0.2, 0.7, 0.9], 100)
    result = bc.bin_sensitivity(y, p, n_bins=(2, 10), binning="equal-mass", draws=100, rng=1)
    assert [row["bins"] for row in result.table()] == [2, 4]
    assert any("fewer bins than asked for: 10 equal-mass bins" in remark for remark in result.remarks)


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


def test_the_sentence_compares_the_range_with_the_width(result):
    rows = result.table()
    means = [row["mean"] for row in rows]
    width = np.mean([row["high"] - row["low"] for row in rows])
    assert f"This range is {(max(means) - min(means)) / width:.2f} times" in result.sentence()
    assert "matters less than" in result.sentence()
    assert result.to_frame().index.names == ["binning", "n_bins"]
    assert '"kind": "BinSensitivity"' in result.to_json()
    assert "50 equal-mass bins" in result.to_latex()
    assert len(result) == 6
    assert ("equal-mass", 5) in list(result)


def test_a_large_effect_of_the_bins_is_stated():
    """Errors of opposite sign within each of two bins: the ECE of 2 bins is near 0, that of 10 bins 0.2."""
    rng = np.random.default_rng(1)
    p = rng.random(40_000)
    y = rng.random(40_000) < np.clip(np.where(np.floor(p * 10) % 2 == 0, p + 0.2, p - 0.2), 0, 1)
    result = bc.bin_sensitivity(y, p, n_bins=(1, 10), binning="equal-width", draws=300, rng=1)
    assert "matters more than the uncertainty" in result.sentence()


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


def test_a_choice_that_was_not_asked_for_is_a_key_error(result):
    with pytest.raises(KeyError, match="no choice"):
        result["equal-width", 7]


def test_the_plot_shows_the_numbers_of_the_table(result):
    from matplotlib.figure import Figure

    ax = bc.plot_bin_sensitivity(result, Figure().subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["5", "15", "50"]
    drawn = {gid: [c for c in ax.collections if c.get_gid() == gid] for gid in ("mean", "plug-in", "interval")}
    for i, binning in enumerate(("equal-width", "equal-mass")):
        rows = [row for row in result.table() if row["binning"] == binning]
        np.testing.assert_allclose(drawn["mean"][i].get_offsets()[:, 1], [row["mean"] for row in rows])
        np.testing.assert_allclose(drawn["plug-in"][i].get_offsets()[:, 1], [row["plug_in"] for row in rows])
        ends = [segment[:, 1] for segment in drawn["interval"][i].get_segments()]
        np.testing.assert_allclose(ends, [[row["low"], row["high"]] for row in rows])
    with pytest.raises(TypeError, match="`result` must be a BinSensitivity"):
        bc.plot_bin_sensitivity(result["equal-width", 5])


def test_the_auc_of_every_choice_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    table = bc.bin_sensitivity(y, p, n_bins=(15, 20), binning="equal-width", estimand="auc", draws=200, rng=1).table()
    expected = bc.evaluate(y, p, draws=200, rng=1).plug_in_of("auc")
    assert [row["plug_in"] for row in table[:2]] == pytest.approx([expected] * 2, abs=1e-15)
