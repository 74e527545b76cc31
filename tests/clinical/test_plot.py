"""The plots of a calibration curve and of a recalibration: what is drawn, where, and in which space."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import expit, logit

import bayescal as bc
from bayescal.clinical.plot import BARS, curve_points, recalibration_points, risk_points
from bayescal.datasets.simulate import simulate
from bayescal.report.drawing import DARK, LIGHT

ROWS = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=2)
Y, P = ROWS.outcome, ROWS.confidence
CV = bc.calibration_curve(Y, P, rng=1)
RC = bc.recalibration(Y, P, rng=1)


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


def test_the_line_is_straight_on_the_logit_scale():
    """The posterior is narrow, so the mean of event rates is near the rate at the mean intercept and slope."""
    x, y = artist(bc.plot_recalibration(RC, axes()), "curve").get_xydata().T
    expected = expit(RC.intercept.mean() + RC.slope.mean() * logit(x))
    np.testing.assert_allclose(y, expected, atol=0.003)
    assert (x[0], x[-1]) == pytest.approx((P.min(), P.max()), rel=0.06)


def test_the_band_and_the_distribution_of_the_recalibration():
    points = recalibration_points(RC, 0.8)
    mean, low, high = RC.recalibrated(points.score, 0.8)
    for drawn, expected in ((points.mean, mean), (points.low, low), (points.high, high)):
        np.testing.assert_array_equal(drawn, expected)
    ax = bc.plot_recalibration(RC, axes((6.4, 4.8)), prob=0.8)
    bars = ax.child_axes[0].patches
    # counts have cells of 0.05 in logit, at most 0.0125 in probability, which bars of 0.02 may divide
    inside = np.histogram(P, bins=np.linspace(0, 1, 6))[0] / 1500
    drawn = np.add.reduceat([bar.get_height() for bar in bars], np.arange(0, 50, 10))
    np.testing.assert_allclose(drawn, inside, atol=0.02)
    assert "80 % interval at each score" in [text.get_text() for text in ax.get_legend().get_texts()]
    slope = next(row for row in RC.table(0.8) if row["quantity"] == "slope")
    title = ax.get_title(loc="left").replace("\u00a0", " ")
    assert title.startswith(f"Slope {slope['mean']:.2f} [{slope['low']:.2f}, {slope['high']:.2f}], in the large ")


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
@pytest.mark.parametrize(("plot", "result"), [(bc.plot_calibration_curve, CV), (bc.plot_recalibration, RC)])
def test_the_plot_stays_within_its_figure(plot, result, size):
    ax = plot(result, axes(size))
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


def test_wrong_arguments_of_a_recalibration():
    with pytest.raises(TypeError, match=r"`rc` must be a Recalibration, not GroupedRecalibration.*by_group"):
        bc.plot_recalibration(bc.recalibration(Y, P, by=Y, rng=1), axes())
    with pytest.raises(ValueError, match="`prob`"):
        bc.plot_recalibration(RC, axes(), prob=2)
    ax = bc.plot_recalibration(RC, axes())
    with pytest.raises(ValueError, match="already holds a reliability diagram"):
        bc.plot_recalibration(RC, ax)


def test_risks_by_outcome_have_their_shares_medians_and_thresholds():
    """Bars of each outcome sum to 1; medians are the lower middle ones of the rows, also of weighted ones."""
    ev = bc.evaluate(Y, P, draws=20, rng=1)
    points = risk_points(ev)
    for risks, share, median in zip((P[Y < 1], P[Y > 0]), points.share, points.median, strict=True):
        assert median == np.sort(risks)[(len(risks) - 1) // 2]
        np.testing.assert_allclose(share, np.histogram(risks, points.edges)[0] / len(risks))
    ax = bc.clinical.plot_risk_distributions(ev, axes(), thresholds=[0.1, 0.4])
    assert artist(ax, "median 1").get_xdata()[0] == points.median[1]
    assert [artist(ax, f"threshold {i}").get_xdata()[0] for i in (0, 1)] == [0.1, 0.4]
    down = artist(ax, "no event").get_data().values
    np.testing.assert_allclose(down, -points.share[0])
    assert (artist(ax, "event").get_data().values >= 0).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["event", "no event", "median", "thresholds"]
    assert ax.get_xlim() == (0, 1)
    weights = [1, 1, 2, 5]
    four = bc.evaluate([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.9], weights=weights, draws=20, rng=1)
    assert risk_points(four).median.tolist() == [0.2, 0.9]  # 0.1 and 0.2 have half of the weight of outcome 0


def test_risks_of_one_outcome_in_a_narrow_range_and_of_predictions():
    rare = bc.evaluate(np.zeros(50, int), np.linspace(0.01, 0.02, 50), draws=20, rng=1)
    ax = bc.clinical.plot_risk_distributions(rare, axes())
    assert ax.get_title("left") == "Median - with event, 0.015 without"
    assert ax.get_xlim() == (0.01, 0.02)
    top = bc.evaluate(Y, np.column_stack([1 - P, P]), draws=20, rng=1)
    assert bc.clinical.plot_risk_distributions(top, axes()).get_xlabel() == "confidence"
    same = bc.clinical.plot_risk_distributions(bc.evaluate([0, 1], [0.3, 0.3], draws=20, rng=1), axes())
    np.testing.assert_allclose(same.get_xlim(), (0.25, 0.35))


def test_risks_of_a_summary_mark_its_thresholds_and_others_are_refused():
    summary = bc.clinical.summary(Y, P, [0.2], draws=50, rng=1)
    ax = bc.clinical.plot_risk_distributions(summary, axes())
    assert artist(ax, "threshold 0").get_xdata()[0] == 0.2
    several = bc.clinical.summary(Y, {"a": P, "b": P**2}, draws=50, rng=1)
    with pytest.raises(ValueError, match="name one"):
        bc.clinical.plot_risk_distributions(several, axes())
    counts = bc.BinnedCounts.from_arrays(Y, P, bins=15, target="event")
    with pytest.raises(ValueError, match="must be made from rows"):
        bc.clinical.plot_risk_distributions(bc.evaluate_counts(counts, draws=20, rng=1), axes())
    with pytest.raises(TypeError, match="`evaluation` must be"):
        bc.clinical.plot_risk_distributions(P, axes())
    with pytest.raises(ValueError, match="`thresholds`"):
        bc.clinical.plot_risk_distributions(summary, axes(), thresholds=[0.2, 1.5])
