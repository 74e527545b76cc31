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
