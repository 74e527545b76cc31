"""Several evaluations in one reliability diagram; colours of all plots; dark themes."""

from io import BytesIO

import numpy as np
import pytest
from three_evaluations import FIRST, SECOND, THIRD, N, P, Y, axes, evaluation, of

import bayescal as bc
from bayescal.report.diagram import reliability_points

# --- several evaluations ---------------------------------------------------------------------------------------------


def test_each_evaluation_has_its_points_bars_and_shares():
    ax = bc.plot_reliability({"a": FIRST, "b": SECOND}, axes(), prob=0.8)
    for i, each in enumerate((FIRST, SECOND)):
        points = reliability_points(each, 0.8)
        line, bars = of(ax, "observed")[i], of(ax, "credible intervals")[i]
        np.testing.assert_allclose(line.get_xydata(), np.column_stack([points.confidence, points.accuracy]))
        ends = np.array(bars.get_segments())
        np.testing.assert_allclose(ends[:, 0], np.column_stack([points.confidence, points.low]))
        np.testing.assert_allclose(ends[:, 1], np.column_stack([points.confidence, points.high]))
        shares = of(ax.child_axes[0], "shares")[i].get_data()
        np.testing.assert_allclose(shares.values, each.counts.n / N)
        np.testing.assert_array_equal(shares.edges, each.counts.bins.edges)


def test_no_evaluation_is_lost_to_an_equal_name():
    with pytest.raises(ValueError, match="`evaluation` has names with equal text"):
        bc.plot_reliability({1: evaluation(), "1": evaluation(2.0)})


def test_evaluations_differ_in_colour_and_in_marker_and_do_not_hide_each_other():
    ax = bc.plot_reliability([FIRST] * 8, axes())
    lines = of(ax, "observed")
    assert len({line.get_marker() for line in lines}) == 8
    assert len({line.get_color() for line in lines}) == 7
    ax.figure.canvas.draw()
    left = [line.get_transform().transform(line.get_xydata())[0, 0] for line in lines]
    assert len(set(np.round(left, 3))) == 8
    # the first stands where it is, and no other is further away than 14 points
    assert left[0] == pytest.approx(ax.transData.transform(lines[0].get_xydata())[0, 0])
    assert np.abs(np.array(left) - left[0]).max() <= 14.5 * ax.figure.dpi / 72


def test_the_legend_states_name_ece_and_interval():
    ax = bc.plot_reliability({"forest": FIRST, "boosting": SECOND}, axes(), prob=0.8)
    words = [text.get_text() for text in ax.child_axes[1].get_legend().get_texts()]
    for word, name, each in zip(words, ("forest", "boosting"), (FIRST, SECOND), strict=True):
        low, high = each.ece.interval(0.8)
        assert word == f"{name}: ECE {each.ece.mean():.3f} [{low:.3f}, {high:.3f}]"
    said = ax.child_axes[1].get_legend().get_title().get_text()
    assert "event ECE, 10 equal-width bins [a, b), N = 1500, shrinkage model" in said
    assert "80 % intervals" in said


def test_dots_outside_their_bars_are_explained_once():
    """All bins are calibrated but one, so its bar, which uses all bins, does not reach its dot."""
    p = np.append(np.repeat(np.linspace(0.025, 0.975, 20), 100), np.full(20, 0.525))
    y = np.append((np.arange(100) < 100 * p[:2000:100, None]).astype(int).ravel(), np.zeros(20, int))
    off = bc.evaluate(y, p, bins=20, rng=1, draws=500)
    assert reliability_points(off).outside.any()
    words = bc.plot_reliability([off, off], axes((9, 9))).child_axes[1].get_legend().get_title().get_text()
    assert words.count("a dot is one bin alone, a bar uses all bins") == 1
    inside = bc.evaluate(np.tile([0, 1], 50), np.full(100, 0.52), rng=1, draws=500)
    words = bc.plot_reliability([inside], axes((9, 9))).child_axes[1].get_legend().get_title().get_text()
    assert "outside" not in words


def test_a_difference_between_evaluations_is_stated():
    other = bc.evaluate(Y[:100], P[:100], bins=5, model="dirichlet", rng=1, draws=50)
    said = bc.plot_reliability([FIRST, other], axes((9, 9))).child_axes[1].get_legend().get_title().get_text()
    assert "10 equal-width bins [a, b) or 5 equal-width bins [a, b), N = 100 to 1500" in said
    assert "shrinkage or dirichlet model" in said


def test_what_compare_returns_is_drawn_with_its_names():
    comparison = bc.compare(Y, {"a": P, "b": P**2}, rng=1, draws=100)
    lines = of(bc.plot_reliability(comparison, axes()), "observed")
    assert [line.get_label().split(":")[0] for line in lines] == ["a", "b"]
    numbered = of(bc.plot_reliability([FIRST, SECOND], axes()), "observed")
    assert [line.get_label().split(":")[0] for line in numbered] == ["1", "2"]


def test_a_crowd_and_a_wide_evaluation_share_their_limits():
    crowd = bc.evaluate(Y, 0.9 + 0.1 * P, rng=1, draws=50, binning="equal-mass")
    assert bc.plot_reliability([crowd, crowd], axes()).get_xlim()[0] > 0.85
    assert bc.plot_reliability([crowd, FIRST], axes()).get_xlim() == (-0.02, 1.02)


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ([], ValueError, "`evaluation` is empty"),
        ({}, ValueError, "`evaluation` is empty"),
        ([FIRST, P], TypeError, r"that of 2 is ndarray.*bayescal\.evaluate"),
        ({"a": FIRST, "b": 1}, TypeError, "that of 'b' is int"),
        ({"a": FIRST, "b": evaluation(target="confidence")}, ValueError, "'a' has 'event', 'b' has 'confidence'"),
        (P, TypeError, "must be an Evaluation, not ndarray"),
    ],
    ids=str,
)
def test_other_collections_are_refused(wrong, error, said):
    with pytest.raises(error, match=said):
        bc.plot_reliability(wrong, axes())


def test_names_are_shown_as_they_are():
    ax = bc.plot_reliability({"$x_1$": FIRST, "a\x1bb": SECOND, "n" * 300: THIRD}, axes())
    ax.figure.canvas.draw()
    legend = ax.child_axes[1].get_legend()
    words = [text.get_text() for text in legend.get_texts()]
    assert words[0].startswith("$x_1$: ECE")
    assert words[1].startswith(r"a\x1bb: ECE")
    assert "\nECE" in words[2]
    assert legend.get_window_extent().x1 <= ax.figure.bbox.x1


def test_a_title_stands_above_the_legend():
    ax = bc.plot_reliability([FIRST, SECOND, THIRD], axes())
    ax.set_title("three classifiers")
    ax.figure.canvas.draw()
    legend = ax.child_axes[1].get_legend().get_window_extent()
    assert ax.title.get_window_extent().y0 >= legend.y1 - 0.5
    assert legend.y0 >= ax.get_window_extent().y1
    assert ax.title.get_window_extent().y1 <= ax.figure.bbox.y1


@pytest.mark.slow
@pytest.mark.parametrize("size", [(4, 4.5), (5.6, 6.4), (10, 8), (3.2, 3.4)])
@pytest.mark.parametrize("layout", ["constrained", "tight", None])
def test_words_stay_on_the_page(size, layout):
    ax = bc.plot_reliability({"logistic regression": FIRST, "naive Bayes": SECOND}, axes(size, layout))
    ax.figure.canvas.draw()
    below, above = ax.child_axes
    legend = above.get_legend()
    words = [*ax.texts, *legend.get_texts(), legend.get_title(), ax.yaxis.label, below.xaxis.label, below.yaxis.label]
    for text in words:
        if text.get_text().strip():
            box = text.get_window_extent()
            inside = ax.figure.bbox.padded(1.5)
            assert inside.x0 <= box.x0 <= box.x1 <= inside.x1, text
            assert inside.y0 <= box.y0 <= box.y1 <= inside.y1, text


def test_a_cropped_picture_has_the_same_parts_at_the_same_distances():
    """Notebooks crop pictures; matplotlib draws them a second time, in a figure of another size."""
    ax = bc.plot_reliability({"honest": evaluation(), "bold": evaluation(2.0)}, axes(layout=None))
    drawn = []

    def distances(event):
        below, above = ax.child_axes
        legend = above.get_legend().get_window_extent(event.renderer)
        drawn.append([legend.y0 - ax.bbox.y1, ax.bbox.y0 - below.bbox.y1, ax.bbox.height, below.bbox.height])

    ax.figure.canvas.mpl_connect("draw_event", distances)
    ax.figure.savefig(BytesIO(), dpi=ax.figure.dpi)
    ax.figure.savefig(BytesIO(), dpi=ax.figure.dpi, bbox_inches="tight")
    assert len(drawn) > 2
    np.testing.assert_allclose(drawn, np.tile(drawn[0], (len(drawn), 1)), atol=0.01)
    assert drawn[0][0] >= 0


def test_an_evaluation_without_rows_is_in_the_legend():
    empty = bc.evaluate_counts(bc.BinnedCounts.empty(10, target="event"), rng=1, draws=50)
    ax = bc.plot_reliability({"none": empty, "some": FIRST}, axes())
    ax.figure.canvas.draw()
    assert of(ax, "observed")[0].get_label() == "none: no rows"
