"""WorstRegret: probabilities, table, picture and words."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="module")
def ev():
    rows = simulate(2000, population="flat", curve="shift", strength=0.5, rng=1)
    return bc.evaluate(rows.outcome, rows.confidence, bins=20, rng=1)


def test_curve_is_the_regret_of_each_threshold(ev):
    worst = ev.worst_regret()
    np.testing.assert_allclose(worst.thresholds, np.arange(1, 20) / 20)
    for i in (0, 5, 18):
        np.testing.assert_array_equal(worst.regret.values[:, i], ev.regret(worst.thresholds[i]).values)
    low, high = worst.regret.band(0.9)
    inside = ((worst.regret.values >= low) & (worst.regret.values <= high)).all(axis=1)
    assert 0.9 <= inside.mean() < 0.93


def test_probabilities_of_thresholds(ev):
    worst = ev.worst_regret()
    at = np.bincount(worst.regret.values.argmax(axis=1), minlength=19) / 4000
    np.testing.assert_allclose(worst.p_largest, at, atol=1e-12)  # without ties
    assert worst.threshold == worst.thresholds[worst.regret.mean().argmax()]
    exact = simulate(3000, population="flat", rng=3)
    calibrated = bc.evaluate(exact.outcome, exact.confidence, rng=1).worst_regret()
    none = np.mean((calibrated.regret.values == 0).all(axis=1))
    assert calibrated.p_largest.sum() == pytest.approx(1 - none)


def test_few_rows_are_named(ev):
    assert ev.worst_regret().remarks == ()
    rows = simulate(300, population="flat", rng=1)
    (remark,) = bc.evaluate(rows.outcome, rows.confidence, draws=50, rng=1).worst_regret().sheet().remarks
    assert "With fewer than 500 rows" in remark


def test_few_thresholds_are_named_and_more_find_a_larger_regret():
    """Four scores above 0.6 with events in a share 0.55: right at 0.5; at 0.75, three are treated and lose 0.2 each."""
    score = np.repeat([0.2, 0.65, 0.75, 0.85, 0.95], 400)
    y = np.concatenate([np.arange(400) < 80, np.tile(np.arange(400) < 220, 4)])
    few, more = (bc.evaluate(y, score, bins=bins, draws=500, rng=1).worst_regret() for bins in (2, 20))
    assert few.observed == pytest.approx([0.0])
    assert more.observed.max() == pytest.approx(3 / 5 * (0.75 - 0.55))
    (remark,) = few.remarks
    assert remark.startswith("The regret was computed at 1 threshold only, and may be larger at others. For these, ")
    assert "The largest regret of 1 threshold is" in few.sentence()
    assert not any("only" in each for each in more.remarks)
    edges = [0, *np.arange(0.3, 0.75, 0.05), 1]
    nine = bc.evaluate(y, score, bins=edges, draws=50, rng=1).worst_regret()
    assert len(nine.thresholds) == 9
    assert "at 9 thresholds only" in nine.remarks[0]
    ten = bc.evaluate(y, score, bins=[*edges[:-1], 0.8, 1], draws=50, rng=1).worst_regret()
    assert len(ten.thresholds) == 10
    assert not any("only" in each for each in ten.remarks)


def test_a_table_of_estimands_says_that_thresholds_are_edges(ev):
    assert "inner edges of the bins; between them" in " ".join(ev.sheet(estimands=["largest_regret"]).remarks)


def test_table_words_and_picture(ev):
    worst = ev.worst_regret()
    frame = worst.to_frame()
    assert list(frame.index) == list(worst.thresholds)
    assert frame["observed"].max() == pytest.approx(ev.plug_in_of("largest_regret"))
    assert "of 19 thresholds" in worst.sentence()
    assert "the mean is largest at 0.45" in worst.sentence()
    assert "19 thresholds" in str(worst.details())
    for simultaneous in (False, True):
        ax = bc.plot(worst, Figure().subplots(), simultaneous=simultaneous)
        assert ax.get_xlabel() == "threshold probability"
