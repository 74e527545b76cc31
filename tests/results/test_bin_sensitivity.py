"""The result for several choices of bins: its average, sentence and remarks."""

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


def test_the_average_is_the_mixture(result):
    values = np.stack([each.ece.values for each in result.evaluations.values()])
    assert result.average.mean() == pytest.approx(np.mean([each.ece.mean() for each in result.evaluations.values()]))
    # the distribution function of a mixture is the mean of those of its parts
    for at in (0.001, 0.01, 0.03):
        assert result.average.pr(lambda e, at=at: e < at) == pytest.approx((values < at).mean(axis=1).mean())


def test_ties_that_leave_fewer_bins_are_stated():
    y, p = np.tile([0, 1], 200), np.tile([0.1, 0.2, 0.7, 0.9], 100)
    result = bc.bin_sensitivity(y, p, n_bins=(2, 10), binning="equal-mass", draws=100, rng=1)
    assert [row["bins"] for row in result.table()] == [2, 4]
    assert any("fewer bins than asked for: 10 equal-mass bins" in remark for remark in result.remarks)


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


def test_a_choice_that_was_not_asked_for_is_a_key_error(result):
    with pytest.raises(KeyError, match="no choice"):
        result["equal-width", 7]
