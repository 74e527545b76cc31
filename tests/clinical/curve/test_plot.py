"""The plot of a calibration curve: what is drawn, where, and in which space."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.clinical.plot import BARS, curve_points
from bayescal.datasets.simulate import simulate
from bayescal.report.drawing import DARK, LIGHT

ROWS = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=2)
CV = bc.calibration_curve(ROWS.outcome, ROWS.confidence, rng=1)


def axes(size=(5.0, 6.0)):
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure.subplots()


def artist(ax, gid):
    (found,) = [each for each in ax.get_children() if each.get_gid() == gid]
    return found


def test_the_curve_its_band_and_the_scores():
    ax = bc.plot_calibration_curve(CV, axes(), prob=0.9)
    drawn = artist(ax, "curve").get_xydata()
    assert drawn[[0, -1], 0].tolist() == [ROWS.confidence.min(), ROWS.confidence.max()]
    at_knots = np.isin(drawn[:, 0], CV.score)
    np.testing.assert_allclose(drawn[at_knots], np.column_stack([CV.score, CV.curve.mean()]))
    np.testing.assert_allclose(drawn[7, 1], CV.at(drawn[7, 0]).mean())
    corners = artist(ax, "band").get_paths()[0].vertices
    low, high = CV.rates(drawn[:, 0]).interval(0.9)
    assert corners[:, 1].min() == pytest.approx(low.min())
    assert corners[:, 1].max() == pytest.approx(high.max())
    bars = ax.child_axes[0].patches
    shares = np.histogram(ROWS.confidence, bins=np.linspace(0, 1, BARS + 1))[0] / 1500
    np.testing.assert_allclose([bar.get_height() for bar in bars], shares)
    assert [text.get_text() for text in ax.get_legend().get_texts()][1] == "90 % interval at each score"
    assert f"ICI {CV.ici.mean():.3f}" in ax.get_title(loc="left")
    assert (ax.get_ylabel(), ax.child_axes[0].get_xlabel()) == ("event rate", "stated probability")


def test_crowded_scores_are_enlarged():
    score = ROWS.confidence / 10
    points = curve_points(bc.calibration_curve(ROWS.outcome, score, rng=1))
    assert points.x[0] < 0 < points.score[0]
    assert points.score[-1] < points.x[1] < 0.12
    inside = (points.left + points.width > points.x[0]) & (points.left < points.x[1])
    assert BARS / 2 < inside.sum() <= BARS + 1
    assert points.share.sum() == pytest.approx(1)
    # the band and the diagonal lie within the axes
    assert points.y[0] < points.low.min()
    assert points.high.max() < points.y[1]
    one = curve_points(bc.calibration_curve(ROWS.outcome, np.full(1500, 0.4), rng=1))
    assert one.x[0] < 0.4 < one.x[1]


@pytest.mark.parametrize("size", [(5, 6), (2.6, 3), (10, 3)])
def test_the_plot_stays_within_its_figure(size):
    ax = bc.plot_calibration_curve(CV, axes(size))
    ax.figure.canvas.draw()
    box = ax.get_tightbbox()
    assert min(box.x0, box.y0) >= -1
    assert box.x1 <= ax.figure.bbox.width + 1
    assert box.y1 <= ax.figure.bbox.height + 1


def test_colours_follow_the_background():
    assert to_hex(artist(bc.plot_calibration_curve(CV, axes()), "curve").get_color()).upper() == LIGHT.blue
    with plt.style.context("dark_background"):
        assert to_hex(artist(bc.plot_calibration_curve(CV, axes()), "curve").get_color()).upper() == DARK.blue
    red = bc.plot_calibration_curve(CV, axes(), color="red")
    assert to_hex(artist(red, "curve").get_color()) == "#ff0000"


def test_wrong_arguments():
    with pytest.raises(TypeError, match="`cv` must be a CalibrationCurve, not ndarray; make one with"):
        bc.plot_calibration_curve(ROWS.outcome)
    with pytest.raises(ValueError, match="`prob`"):
        bc.plot_calibration_curve(CV, axes(), prob=2)
    with pytest.raises(ValueError, match="`color`"):
        bc.plot_calibration_curve(CV, axes(), color="no color")
    ax = bc.plot_calibration_curve(CV, axes())
    with pytest.raises(ValueError, match="already holds a reliability diagram"):
        bc.plot_calibration_curve(CV, ax)
