"""The sums of an engine give the same counts as arrays; results that a query cannot compute are refused."""

import numpy as np
import pyarrow as pa
import pytest

from bayescal.stats.binned import BinnedCounts
from bayescal.stats.paired import PairedCounts

RNG = np.random.default_rng(5)
N = 400
COLUMNS = {
    "z": RNG.integers(0, 2, N),
    "u": RNG.integers(0, 2, N),
    "a": np.round(RNG.random(N), 2),
    "b": np.round(RNG.random(N), 2),
    "w": RNG.gamma(0.7, size=N),
    "site": np.array(["north", "south", "west"])[RNG.integers(0, 3, N)],
}
FRAME = pa.table(COLUMNS)
SUMS = ("cells", "weight", "deviation", "deviation_sq", "weight_sq")


def assert_same(one, other):
    assert (one.target, one.bins, one.cells.dtype) == (other.target, other.bins, other.cells.dtype)
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12, err_msg=name)
    same_losses(one.losses, other.losses)
    same_losses(one.log_losses, other.log_losses)


def same_losses(one, other):
    """Equal but for the order of additions; the totals are differences of larger sums."""
    np.testing.assert_allclose(one.total, other.total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.squares, other.squares, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.infinite, other.infinite)


@pytest.mark.parametrize("weights", [None, "w"])
def test_rows_with_infinite_loss(weights):
    """Rows 0 and 1 of the first model, 1 and 3 of the second; a row of weight 0 does not count."""
    columns = {"z": [1, 0, 1, 0, 1], "a": [0.0, 1.0, 1.0, 0.0, 0.5], "b": [0.25, 1.0, 1.0, 1.0, 0.75]}
    w = [2.0, 1.0, 3.0, 0.0, 1.0]
    names = {"outcome": "z", "first_confidence": "a", "second_confidence": "b", "weights": weights}
    found = PairedCounts.from_frame(pa.table({**columns, "w": w}), **names, bins=4)
    rows = columns["z"], columns["a"], columns["z"], columns["b"]
    expected = PairedCounts.from_arrays(*rows, bins=4, weights=w if weights else None)
    assert_same(found.first, expected.first)
    assert_same(found.second, expected.second)
    same_losses(found.log_loss_difference, expected.log_loss_difference)
    assert found.first.log_losses.infinite.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    assert found.second.log_losses.infinite.tolist() == [[0, 0, 0, 1 if weights else 2], [0, 0, 0, 0]]
    assert found.log_loss_difference.infinite == (2 if weights else 3)
    np.testing.assert_allclose(found.log_loss_difference.total, np.log(2) - np.log(4 / 3), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "w"])
def test_one_model(weights):
    given = None if weights is None else COLUMNS[weights]
    found = BinnedCounts.from_frame(FRAME, outcome="z", confidence="a", weights=weights, bins=7, target="event")
    assert_same(found, BinnedCounts.from_arrays(COLUMNS["z"], COLUMNS["a"], weights=given, bins=7, target="event"))
    assert found.weighted == (weights is not None)


@pytest.mark.parametrize("outcome", ["z", ("z", "u")])
@pytest.mark.parametrize("weights", [None, "w"])
def test_two_models(weights, outcome):
    names = {"outcome": outcome, "first_confidence": "a", "second_confidence": "b"}
    found = PairedCounts.from_frame(FRAME, **names, weights=weights, bins=5)
    second = COLUMNS["z" if outcome == "z" else "u"]
    given = None if weights is None else COLUMNS[weights]
    rows = COLUMNS["z"], COLUMNS["a"], second, COLUMNS["b"]
    expected = PairedCounts.from_arrays(*rows, weights=given, bins=5)
    assert_same(found.first, expected.first)
    assert_same(found.second, expected.second)
    np.testing.assert_array_equal(found.cells, expected.cells)
    np.testing.assert_array_equal(found.n, expected.n)
    assert found.n.dtype == np.int64
    np.testing.assert_allclose(found.weight, expected.weight, rtol=1e-12)
    np.testing.assert_allclose(found.weight_sq, expected.weight_sq, rtol=1e-12)
    same_losses(found.loss_difference, expected.loss_difference)
    same_losses(found.log_loss_difference, expected.log_loss_difference)


def test_groups_are_the_rows_of_each_label():
    found = BinnedCounts.from_frame(FRAME, outcome="z", confidence="a", weights="w", by="site", bins=4)
    assert sorted(found) == ["north", "south", "west"]
    for site, counts in found.items():
        rows = COLUMNS["site"] == site
        given = {"weights": COLUMNS["w"][rows], "bins": 4}
        assert_same(counts, BinnedCounts.from_arrays(COLUMNS["z"][rows], COLUMNS["a"][rows], **given))


def of_weights(weights, **more):
    frame = pa.table({"outcome": [0, 1, 1], "confidence": [0.2, 0.7, 0.9], "w": weights, "g": ["x", "y", "y"]})
    return BinnedCounts.from_frame(frame, weights="w", bins=2, **more)


def test_weights_that_leave_nothing_are_refused():
    with pytest.raises(ValueError, match=r"^`weights` are all zero \(3 of 3\): nothing is left to count\.$"):
        of_weights([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"^`weights` are all zero in group 'y' \(2 of 2\)"):
        of_weights([1.0, 0.0, 0.0], by="g")
    assert of_weights([0.0, 0.0, 1.0]).weight.sum() == 1


def test_weights_too_small_to_be_squared_are_refused():
    """Sums of squares over batches need (1e-140)^2 = 1e-280, well above the smallest normal double 2.2e-308."""
    for most in (1e-140, 1e-200):
        with pytest.raises(ValueError, match=rf"`weights` must be above 1e-140 .*; it is {most:g}\."):
            of_weights([0.0, 0.0, most])
    assert of_weights([0.0, 0.0, 2e-140]).weight.sum() == 2e-140


def test_equal_mass_needs_all_confidences():
    with pytest.raises(ValueError, match="`binning='equal-mass'` needs all confidences in order"):
        BinnedCounts.from_frame(FRAME, outcome="z", confidence="a", binning="equal-mass")


@pytest.mark.parametrize("outcome", [("z",), ("z", "u", "z"), 3, {"z"}])
def test_outcomes_are_of_one_model_or_two(outcome):
    with pytest.raises(TypeError, match="`outcome` must name one column of `frame`, or two"):
        PairedCounts.from_frame(FRAME, outcome=outcome, first_confidence="a", second_confidence="b")
