"""Reliability diagrams side by side: each shows its own evaluation, all have the same limits."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.report.diagram import reliability_points

RNG = np.random.default_rng(8)
N = 800
P = RNG.beta(3, 1, N)
Y = (RNG.random(N) < P).astype(int)
WEIGHTS = RNG.lognormal(0, 1.5 * P)
WAYS = ("equal-width", "equal-effective-mass")


@pytest.fixture(scope="module")
def both():
    return bc.bin_sensitivity(Y, P, n_bins=8, binning=WAYS, weights=WEIGHTS, draws=200, rng=1)


def panels(n=2, size=(10, 5), layout="constrained"):
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure.subplots(1, n)


def dots(ax):
    return next(each for each in ax.collections if each.get_gid() == "observed").get_offsets()


def assert_shows(ax, evaluation):
    points = reliability_points(evaluation)
    np.testing.assert_allclose(dots(ax), np.column_stack([points.confidence, points.accuracy]))
    heights = [bar.get_height() for bar in ax.child_axes[0].patches]
    np.testing.assert_allclose(heights, points.share)


def test_choices_of_bins_are_drawn_from_left_to_right(both):
    axes = bc.plot_reliability(both)
    assert axes.shape == (2,)
    for ax, way in zip(axes, WAYS, strict=True):
        assert_shows(ax, both[way, 8])
        assert ax.get_title("left").splitlines()[0] == f"8 {way} bins"
    assert axes[0].get_position().x1 < axes[1].get_position().x0
    # the bins on the right are about equally precise, those on the left are not
    left, right = (both[way, 8].counts.effective_n for way in WAYS)
    assert right.max() / right.min() < 1.1
    assert left.max() / left.min() > 3


def test_all_diagrams_have_the_same_limits(both):
    """The probabilities of one are crowded: alone it is enlarged, beside the other it is not."""
    crowd = bc.evaluate(Y, 0.9 + 0.1 * P, rng=1, draws=100, bins=5, binning="equal-mass")
    alone = bc.plot_reliability([crowd, crowd], panels())
    assert alone[0].get_xlim()[0] > 0.85
    axes = bc.plot_reliability([crowd, both["equal-width", 8]], panels())
    for ax in axes:
        assert ax.get_xlim() == (-0.02, 1.02)
        low, high = ax.get_ylim()
        assert (low, high) == axes[0].get_ylim()
        assert low == -0.02
        assert 1.02 <= high < 1.1
        # 1.1 times the largest share of all bins of both
        largest = max(crowd.counts.share.max(), both["equal-width", 8].counts.share.max())
        assert ax.child_axes[0].get_ylim() == (0, pytest.approx(1.1 * largest))
    keys = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes]
    assert keys[0] == keys[1]


def test_evaluations_have_their_names_and_those_of_a_sequence_their_bins(both):
    wide, even = both.evaluations.values()
    named = bc.plot_reliability({"$old$": wide, "new\x1b": even}, panels())
    assert [ax.get_title("left").splitlines()[0] for ax in named] == ["$old$", r"new\x1b"]
    listed = bc.plot_reliability((wide, even), list(panels()))
    assert [ax.get_title("left").splitlines()[0] for ax in listed] == [str(each.counts.bins) for each in (wide, even)]
    pair = bc.compare(Y, {"a": P, "b": P**1.2}, draws=100, rng=1)
    assert [ax.get_title("left")[0] for ax in bc.plot_reliability(pair, panels())] == ["a", "b"]
    named[0].figure.canvas.draw()


def test_colours_are_equal_unless_given(both):
    def color_of(ax):
        return to_hex(next(each for each in ax.collections if each.get_gid() == "observed").get_edgecolor()[0])

    same = [color_of(ax) for ax in bc.plot_reliability(both)]
    assert same[0] == same[1]
    given = bc.plot_reliability(both, color={"8 equal-width bins": "#112233"})
    assert color_of(given[0]) == "#112233"
    assert color_of(given[1]) == same[1]


def test_one_axes_holds_all_choices(both):
    ax = bc.plot_reliability(both, panels(1))
    labels = [line.get_label() for line in ax.get_lines() if line.get_gid() == "observed"]
    assert [label.split(":")[0].splitlines()[0] for label in labels] == [f"8 {way} bins" for way in WAYS]


def test_a_grid_of_axes_is_filled_by_rows():
    result = bc.bin_sensitivity(Y, P, n_bins=(4, 6, 8), draws=100, rng=1)
    axes = bc.plot_reliability(result, Figure(figsize=(12, 9)).subplots(2, 3))
    assert axes.shape == (6,)
    for ax, evaluation in zip(axes, result.evaluations.values(), strict=True):
        assert_shows(ax, evaluation)


def test_wrong_axes_are_refused(both):
    one = both["equal-width", 8]
    with pytest.raises(ValueError, match="one Axes per evaluation: it has 3, for 2 evaluations"):
        bc.plot_reliability(both, panels(3))
    with pytest.raises(TypeError, match=r"`ax\[1\]` must be a matplotlib Axes, not str"):
        bc.plot_reliability(both, [panels()[0], "right"])
    with pytest.raises(TypeError, match=r"`ax` must be a matplotlib Axes, not ndarray.*axes\[0\]"):
        bc.plot_reliability(one, panels())
    taken = panels()
    bc.plot_reliability(one, taken[1])
    with pytest.raises(ValueError, match="`ax` already holds a reliability diagram"):
        bc.plot_reliability(both, taken)
    assert not taken[0].collections
    with pytest.raises(ValueError, match="has 10 choices of bins, and at most 4"):
        bc.plot_reliability(bc.bin_sensitivity(Y, P, n_bins=(2, 3, 4, 5, 6), draws=50, rng=1))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(14, 5), (5.5, 3.2)])
@pytest.mark.parametrize("layout", ["constrained", None])
def test_words_stay_within_the_figure(both, size, layout):
    axes = bc.plot_reliability(both, panels(2, size, layout))
    figure = axes[0].figure
    figure.canvas.draw()
    for ax in axes:
        title = ax.title if ax.title.get_text() else ax._left_title  # the artist of the title on the left
        box = title.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
