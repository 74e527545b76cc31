"""The plots of a recalibration and of a loss ratio."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit, logit

import bayescal as bc
from bayescal.clinical.plot import recalibration_points
from bayescal.datasets.simulate import simulate

ROWS = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=2)
Y, P = ROWS.outcome, ROWS.confidence
RC = bc.recalibration(Y, P, rng=1)
RATIO = bc.loss_ratio(Y[:1000], P[:1000], Y[1000:], P[1000:], rng=1)


def artist(ax, gid):
    (found,) = [each for each in ax.get_children() if each.get_gid() == gid]
    return found


def test_the_line_is_straight_on_the_logit_scale():
    """The posterior is narrow, so the mean of event rates is near the rate at the mean intercept and slope."""
    x, y = artist(bc.plot_recalibration(RC, Figure().subplots()), "curve").get_xydata().T
    expected = expit(RC.intercept.mean() + RC.slope.mean() * logit(x))
    np.testing.assert_allclose(y, expected, atol=0.003)
    assert (x[0], x[-1]) == pytest.approx((P.min(), P.max()), rel=0.06)


def test_the_band_and_the_distribution_of_the_recalibration():
    points = recalibration_points(RC, 0.8)
    mean, low, high = RC.recalibrated(points.score, 0.8)
    for drawn, expected in ((points.mean, mean), (points.low, low), (points.high, high)):
        np.testing.assert_array_equal(drawn, expected)
    ax = bc.plot_recalibration(RC, Figure().subplots(), prob=0.8)
    bars = ax.child_axes[0].patches
    # counts have cells of 0.05 in logit, at most 0.0125 in probability, which bars of 0.02 may divide
    inside = np.histogram(P, bins=np.linspace(0, 1, 6))[0] / 2000
    drawn = np.add.reduceat([bar.get_height() for bar in bars], np.arange(0, 50, 10))
    np.testing.assert_allclose(drawn, inside, atol=0.02)
    assert "80 % interval at each score" in [text.get_text() for text in ax.get_legend().get_texts()]
    slope = next(row for row in RC.table(0.8) if row["quantity"] == "slope")
    title = ax.get_title(loc="left").replace("\u00a0", " ")
    assert title.startswith(f"Slope {slope['mean']:.2f} [{slope['low']:.2f}, {slope['high']:.2f}], in the large ")


def test_the_ratio_is_drawn_where_enough_rows_are_decided_wrongly():
    ax = bc.plot_loss_ratio(RATIO, Figure().subplots(), prob=0.9)
    x, y = artist(ax, "ratio").get_xydata().T
    np.testing.assert_array_equal(x, RATIO.thresholds)
    np.testing.assert_array_equal(np.isnan(y), RATIO.few_wrong)
    np.testing.assert_allclose(y[~RATIO.few_wrong], RATIO.ratio.mean()[~RATIO.few_wrong])
    corners = artist(ax, "band").get_paths()[0].vertices[:, 1]
    low, _ = RATIO.ratio.interval(0.9)
    assert corners.min() == pytest.approx(low[~RATIO.few_wrong].min())
    y, p = np.repeat([1, 0, 1], [4, 96, 100]), np.repeat([0.02, 0.98], 100)
    few = bc.loss_ratio(y, p, Y[:1000], P[:1000], thresholds=[0.4, 0.6], rng=1)
    with pytest.raises(ValueError, match="at least two thresholds at which 5 or more test rows"):
        bc.plot_loss_ratio(few, Figure().subplots())


def test_refusals():
    with pytest.raises(TypeError, match=r"`rc` must be a Recalibration, not GroupedRecalibration.*by_group"):
        bc.plot_recalibration(bc.recalibration(Y, P, by=Y, rng=1), Figure().subplots())
    with pytest.raises(TypeError, match="`result` must be a LossRatio, not Recalibration"):
        bc.plot_loss_ratio(RC, Figure().subplots())


@pytest.mark.parametrize("size", [(2.6, 3), (10, 3)])
@pytest.mark.parametrize("name", ["recalibration", "loss_ratio"])
def test_everything_lies_within_the_figure(size, name):
    figure = Figure(figsize=size)
    ax = figure.subplots()
    _ = bc.plot_recalibration(RC, ax) if name == "recalibration" else bc.plot_loss_ratio(RATIO, ax)
    figure.savefig(BytesIO())
    box = ax.get_tightbbox()
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= figure.bbox.x1 + 1
    assert box.y1 <= figure.bbox.y1 + 1
