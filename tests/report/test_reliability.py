"""What is drawn is what was counted; nothing else changes; words do not lie on each other."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from five_rows import P, Y, rows, small
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.report.diagram import reliability_points
from bayescal.report.posterior import plot_posterior
from bayescal.report.reliability import plot_reliability

# --- reliability ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bins", [2, 10, 100, [0, 0.3, 0.31, 1]])
def test_what_is_drawn_is_what_was_computed(bins: object, axes, part) -> None:
    evaluation = small(bins=bins)
    points = reliability_points(evaluation, 0.8)
    ax = plot_reliability(evaluation, axes(), prob=0.8)
    dots = np.asarray(part(ax, "observed").get_offsets())
    np.testing.assert_allclose(dots, np.column_stack([points.confidence, points.accuracy]))
    bars = np.array(part(ax, "credible intervals").get_segments())
    assert bars.shape == (len(points.n), 2, 2)
    np.testing.assert_allclose(bars[:, 0], np.column_stack([points.confidence, points.low]))
    np.testing.assert_allclose(bars[:, 1], np.column_stack([points.confidence, points.high]))
    diagonal = np.asarray(part(ax, "diagonal").get_xydata())
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])


def test_points_drawn_by_hand(axes, part) -> None:
    ax = plot_reliability(small(bins=10), axes())
    np.testing.assert_allclose(
        np.asarray(part(ax, "observed").get_offsets()), [[0.2, 0], [0.4, 1], [0.7, 1], [0.925, 0.5]]
    )


def test_the_histogram_stands_on_the_intervals_of_the_bins(axes) -> None:
    ax = plot_reliability(small(bins=[0, 0.3, 0.31, 1]), axes())
    (below,) = ax.child_axes
    boxes = [(b.get_x(), b.get_width(), b.get_height()) for b in below.patches]
    np.testing.assert_allclose(boxes, [(0, 0.3, 1 / 5), (0.31, 0.69, 4 / 5)])
    ax.figure.canvas.draw()
    assert below.get_xlim() == ax.get_xlim()
    assert below.get_window_extent().x0 == pytest.approx(ax.get_window_extent().x0)
    assert below.get_window_extent().width == pytest.approx(ax.get_window_extent().width)
    assert below.get_window_extent().y1 < ax.get_window_extent().y0


def test_thin_bins_are_hollow_and_pale(axes, part) -> None:
    y = np.tile([0, 1], 10)
    p = np.repeat([0.2, 0.8], [9, 11])
    ax = plot_reliability(bc.evaluate(y, p, bins=2, rng=1), axes())
    hollow, full = part(ax, "observed").get_facecolors()
    assert tuple(hollow) == to_rgba("white")
    assert tuple(full) != to_rgba("white")
    thin, thick = part(ax, "credible intervals").get_colors()[:, 3]
    assert thin < thick
    assert "< 10 rows" in [t.get_text() for t in ax.get_legend().get_texts()]
    # with weights it is the effective number that counts: two rows of weight 100 among nine of 0.001 are worth two
    w = np.repeat([1, 100.0, 0.001], [9, 2, 9])
    weighted = plot_reliability(bc.evaluate(y, p, bins=2, weights=w, rng=1), axes())
    assert [tuple(c) for c in part(weighted, "observed").get_facecolors()] == [to_rgba("white")] * 2


def test_a_key_is_given_only_for_what_is_there(axes) -> None:
    y, p = rows("uniform")
    ax = plot_reliability(bc.evaluate(y, p, bins=5, rng=1), axes(), prob=0.9)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["observed", "90 % interval"]


def test_the_headline_says_what_was_asked_and_answered(axes) -> None:
    evaluation = small()
    low, high = evaluation.ece.interval(0.8)
    ax = plot_reliability(evaluation, axes((9, 9)), prob=0.8)
    said = ax.get_title(loc="left")
    assert said == f"ECE {evaluation.ece.mean():.4f}, 80 % interval [{low:.4f}, {high:.4f}]"
    assert evaluation.question in [t.get_text().replace("\n", " ") for t in ax.texts]


def test_the_axes_are_called_by_their_target(axes) -> None:
    matrix = np.column_stack([1 - np.array(P), P])
    named = {
        "event": small(),
        "confidence": small(target="confidence"),
        "top-label": bc.evaluate(Y, matrix, rng=1),
        "classwise": bc.evaluate(Y, matrix, target="classwise", rng=1)[1],
    }
    drawn = {target: plot_reliability(ev, axes()) for target, ev in named.items()}
    labels = {target: (ax.child_axes[0].get_xlabel(), ax.get_ylabel()) for target, ax in drawn.items()}
    assert labels == {
        "event": ("stated probability", "event rate"),
        "confidence": ("confidence", "accuracy"),
        "top-label": ("confidence", "accuracy"),
        "classwise": ("stated probability", "class frequency"),
    }


def test_a_crowd_is_enlarged_and_all_of_it_shown(axes) -> None:
    y, p = rows("squeezed")
    evaluation = bc.evaluate(y, p, target="confidence", binning="equal-mass", rng=1)
    ax = plot_reliability(evaluation, axes())
    points = reliability_points(evaluation)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert left > 0.8
    assert (points.confidence > left).all()
    assert (points.confidence < right).all()
    assert (points.low > bottom).all()
    assert (points.high < top).all()
    assert bottom < left < right < top + 0.01  # the diagonal crosses the picture
    wide = plot_reliability(bc.evaluate(*rows("uniform"), rng=1), axes())
    assert wide.get_xlim() == wide.get_ylim() == (-0.02, 1.02)


def far_off(model: str) -> bc.Evaluation:
    """2000 rows at 30 confidences, calibrated except for one bin of 40 rows, which is off by 0.2."""
    p = np.repeat(np.linspace(0.02, 0.98, 30), 66)
    y = np.concatenate([np.arange(66) < round(66 * c) for c in p[::66]]).astype(int)
    p, y = np.append(p, np.full(20, 0.5)), np.append(y, np.zeros(20, int))
    return bc.evaluate(y, p, bins=30, rng=1, model=model)


def test_dots_that_touch_their_bars_are_not_explained(axes) -> None:
    """Where every row was right, an equal-tailed interval ends just short of 1, under the dot at 1."""
    certain = np.r_[np.zeros(400), np.ones(600)]
    ev = bc.evaluate(certain, np.r_[np.full(400, 0.05), np.full(600, 0.95)], model="dirichlet", rng=1)
    assert reliability_points(ev).outside.any()
    assert not any("outside" in t.get_text() for t in plot_reliability(ev, axes()).texts)


def test_dots_outside_their_bars_are_explained_only_where_there_are_any(axes, assert_words_apart) -> None:
    said = "Dot outside its bar: a dot is one bin alone, a bar uses all bins."
    off = far_off("shrinkage")
    points = reliability_points(off)
    outside = (points.accuracy < points.low) | (points.accuracy > points.high)
    assert points.outside.tolist() == outside.tolist()
    assert outside.any()
    for size in ((5.0, 6.0), (3.2, 2.4)):  # in small axes as well
        ax = plot_reliability(off, axes(size))
        assert any(said in t.get_text().replace("\n", " ") for t in ax.texts)
        assert_words_apart(ax.figure)
    inside = bc.evaluate(np.tile([0, 1], 50), np.full(100, 0.52), rng=1)
    assert not reliability_points(inside).outside.any()
    assert not any("outside" in t.get_text() for t in plot_reliability(inside, axes()).texts)


def test_under_the_dirichlet_model_it_is_the_prior_that_moves_bars(axes) -> None:
    # two rows, none positive, beside a prior worth many rows with one half positive
    ev = bc.evaluate([0] * 2, [0.1] * 2, bins=2, rng=1, model="dirichlet", alpha=20.0)
    ax = plot_reliability(ev, axes())
    assert any("a bar combines its bin with the prior" in t.get_text().replace("\n", " ") for t in ax.texts)


@pytest.mark.parametrize(
    ("target", "words"),
    [("event", ("stated too low", "stated too high")), ("confidence", ("under-confident", "over-confident"))],
)
def test_the_sides_are_called_by_the_target(target: str, words: tuple[str, str], axes) -> None:
    ax = plot_reliability(small(target=target), axes())
    placed = {t.get_text(): t.get_position() for t in ax.texts}
    above, below = (placed[word] for word in words)
    assert above[1] > 0.5 > below[1]


def test_no_rows_no_bars(axes, part) -> None:
    evaluation = bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1)
    ax = plot_reliability(evaluation, axes())
    assert len(part(ax, "observed").get_offsets()) == 0
    assert "no rows" in [t.get_text() for t in ax.texts]
    assert not ax.child_axes[0].patches


# --- both ----------------------------------------------------------------------------------------------------------

CASES = ["uniform", "rare", "squeezed", "one bin", "three rows", "sure", "million"]


@pytest.mark.slow
@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
@pytest.mark.parametrize("size", [(4, 4), (5, 6), (8, 8)], ids=str)
@pytest.mark.parametrize("bins", [2, 15, 100])
def test_words_are_apart(plot: object, size: tuple[float, float], bins: int, axes, assert_words_apart) -> None:
    evaluation = bc.evaluate(*rows("uniform"), bins=bins, rng=1)
    for layout in ("constrained", "tight"):
        assert_words_apart(plot(evaluation, axes(size, layout)).figure)


@pytest.mark.slow
@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_words_are_apart_in_awkward_data(plot: object, case: str, binning: str, axes, assert_words_apart) -> None:
    y, p = rows(case)
    evaluation = bc.evaluate(y, p, target="confidence", binning=binning, rng=1)
    assert_words_apart(plot(evaluation, axes((4, 4))).figure)


def test_the_overlap_test_can_fail(axes, assert_words_apart) -> None:
    ax = plot_reliability(small(), axes())
    ax.text(0.05, 0.96, "on it", transform=ax.transAxes, va="top")
    with pytest.raises(AssertionError, match=r"lies on"):
        assert_words_apart(ax.figure)
    far = plot_reliability(small(), axes())
    far.text(1.3, 0.5, "far off", transform=far.transAxes).set_in_layout(False)
    with pytest.raises(AssertionError, match="leaves the page"):
        assert_words_apart(far.figure)


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_nothing_global_changes(plot: object, page) -> None:
    from matplotlib import pyplot as plt

    before, open_figures = dict(mpl.rcParams), plt.get_fignums()
    figure = page((8, 4), None)
    left, right = figure.subplots(1, 2)
    assert plot(small(), right) is right
    figure.canvas.draw()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == open_figures
    assert not left.has_data()
    assert figure.axes == [left, right]


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_without_axes_it_is_the_current_pyplot_figure(plot: object, assert_words_apart) -> None:
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    ax = plot(small())
    assert plt.gcf() is ax.figure
    assert len(plt.get_fignums()) == 1
    assert_words_apart(ax.figure)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_subfigures_take_it(plot: object, page) -> None:
    figure = page((10, 5), "constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    assert plot(small(), ax) is ax
    figure.canvas.draw()
    left, right = figure.subfigs
    assert ax in left.axes
    assert ax.lines or ax.collections
    assert right.axes == []


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_wrong_input_is_refused(plot: object, axes) -> None:
    with pytest.raises(TypeError, match=r"`evaluation`.*not list.*bayescal.evaluate"):
        plot(Y, P)
    with pytest.raises(TypeError, match=r"`ax`.*ndarray.*axes\[0\]"):
        plot(small(), Figure().subplots(1, 2))
    with pytest.raises(TypeError, match=r"`ax`.*Figure"):
        plot(small(), Figure())
    with pytest.raises(ValueError, match=r"`prob`.*Divide by 100"):
        plot(small(), axes(), prob=95)


def test_two_diagrams_do_not_share_axes(axes) -> None:
    ax = plot_reliability(small(), axes())
    with pytest.raises(ValueError, match="`ax` already holds a reliability diagram"):
        plot_reliability(small(), ax)


def test_importing_draws_nothing_heavy() -> None:
    modules = "bayescal.report.reliability, bayescal.report.posterior"
    code = f"import sys, {modules}; print([m for m in ('matplotlib', 'arviz_stats') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


def test_pictures_of_one_evaluation_say_how_to_get_it_from_groups():
    grouped = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], by=["m", "f", "f", "m"], bins=2, rng=1, draws=10)
    for plot in (bc.plot_reliability, bc.plot_posterior):
        with pytest.raises(
            TypeError, match=r"not GroupedEvaluation; use that of one group, `grouped\[label\]`, or `grouped\.overall`"
        ):
            plot(grouped)
