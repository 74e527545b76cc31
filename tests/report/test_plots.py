"""What is drawn is what was counted; nothing else changes; words do not lie on each other."""

import dataclasses
import itertools
import subprocess
import sys
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy import stats

import bayescal as bc
from bayescal.draws import BinDraws
from bayescal.report.posterior import plot_posterior, posterior_shapes
from bayescal.report.reliability import plot_reliability, reliability_points

# five rows, two bins: [0, 1/2) holds 0.2 and 0.4, one of two right; [1/2, 1] holds 0.7, 0.9, 0.95, two of three right
Y, P = [0, 1, 1, 1, 0], [0.2, 0.4, 0.7, 0.9, 0.95]


@pytest.fixture(autouse=True)
def _agg() -> Iterator[None]:
    mpl.use("Agg")
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def small(**options: object) -> bc.Evaluation:
    return bc.evaluate(Y, P, **{"bins": 2, "rng": 1, "model": "dirichlet", **options})


def rows(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Made-up data with a given look."""
    rng = np.random.default_rng(5)
    n = {"three rows": 3, "million": 1_000_000}.get(case, 2000)
    p = {
        "squeezed": lambda: 1 - 0.1 * rng.beta(1, 3, n),
        "one bin": lambda: 0.61 + 0.03 * rng.random(n),
        "rare": lambda: rng.beta(0.5, 4, n),
        "sure": lambda: (rng.random(n) < 0.5).astype(float),
    }.get(case, lambda: rng.random(n))()
    return (rng.random(n) < p**1.1).astype(int), p


def axes(size: tuple[float, float] = (5, 6), layout: str | None = "constrained") -> Axes:
    return page(size, layout).subplots()


def page(size: tuple[float, float], layout: str | None = None) -> Figure:
    """A figure that pyplot does not know."""
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def part(ax: Axes, gid: str) -> object:
    (found,) = [a for a in ax.get_children() if a.get_gid() == gid]
    return found


def texts(ax: Axes) -> list[tuple[str, object]]:
    """Every text that is drawn, with its box in pixels."""
    ax.figure.canvas.draw()
    found = []
    for text in ax.figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            found.append((text.get_text(), text.get_window_extent()))
    # matplotlib keeps tick labels outside of the limits, without drawing them
    hidden = []
    for part_of in (ax, *ax.child_axes):
        box = part_of.bbox.padded(1)
        for label in part_of.get_xticklabels(which="both"):
            x = part_of.transData.transform((label.get_position()[0], 0))[0]
            hidden += [label] if not (box.x0 <= x <= box.x1) else []
        for label in part_of.get_yticklabels(which="both"):
            y = part_of.transData.transform((0, label.get_position()[1]))[1]
            hidden += [label] if not (box.y0 <= y <= box.y1) else []
    gone = {(t.get_text(), tuple(t.get_window_extent().bounds)) for t in hidden}
    return [(t, b) for t, b in found if (t, tuple(b.bounds)) not in gone]


def assert_words_apart(ax: Axes) -> None:
    drawn = texts(ax)
    assert len(drawn) > 5
    whole = ax.figure.bbox
    for word, box in drawn:
        outside = max(whole.x0 - box.x0, box.x1 - whole.x1, whole.y0 - box.y0, box.y1 - whole.y1)
        assert outside <= 1, f"{word!r} leaves the page by {outside:.0f} pixels"
    for (word, box), (other, its) in itertools.combinations(drawn, 2):
        wide = min(box.x1, its.x1) - max(box.x0, its.x0)
        tall = min(box.y1, its.y1) - max(box.y0, its.y0)
        assert wide <= 0.5 or tall <= 0.5, f"{word!r} lies on {other!r} by {wide:.1f} x {tall:.1f} pixels"


# --- reliability ---------------------------------------------------------------------------------------------------


def test_points_by_hand() -> None:
    points = reliability_points(small(draws=40_000, alpha="jeffreys"))
    np.testing.assert_array_equal(points.bin_low, [0, 0.5])
    np.testing.assert_array_equal(points.bin_high, [0.5, 1])
    np.testing.assert_array_equal(points.n, [2, 3])
    np.testing.assert_array_equal(points.effective_n, [2, 3])
    np.testing.assert_allclose(points.share, [2 / 5, 3 / 5])
    np.testing.assert_allclose(points.confidence, [0.3, 0.85])
    np.testing.assert_allclose(points.accuracy, [1 / 2, 2 / 3])
    # Jeffreys: Beta(1/2 + k, 1/2 + n - k); the Monte Carlo error of these quantiles is below 0.003
    exact = stats.beta([1.5, 2.5], [1.5, 1.5])
    np.testing.assert_allclose(points.low, exact.ppf(0.025), atol=0.012)
    np.testing.assert_allclose(points.high, exact.ppf(0.975), atol=0.012)
    half = reliability_points(small(draws=40_000, alpha="jeffreys"), prob=0.5)
    np.testing.assert_allclose(half.low, exact.ppf(0.25), atol=0.012)


def test_only_occupied_bins_have_points() -> None:
    # ten bins: 0.2, 0.4, 0.7 and (0.9, 0.95)
    points = reliability_points(small(bins=10, draws=40_000, alpha="jeffreys"))
    np.testing.assert_array_equal(points.n, [1, 1, 1, 2])
    np.testing.assert_array_equal(points.bin_low, [0.2, 0.4, 0.7, 0.9])
    # outcomes 0, 1, 1 and (1, 0)
    exact = stats.beta([0.5, 1.5, 1.5, 1.5], [1.5, 0.5, 0.5, 1.5])
    np.testing.assert_allclose(points.low, exact.ppf(0.025), atol=0.012)
    np.testing.assert_allclose(points.high, exact.ppf(0.975), atol=0.012)


@pytest.mark.parametrize("bins", [2, 10, 100, [0, 0.3, 0.31, 1]])
def test_what_is_drawn_is_what_was_computed(bins: object) -> None:
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


def test_points_drawn_by_hand() -> None:
    ax = plot_reliability(small(bins=10), axes())
    np.testing.assert_allclose(
        np.asarray(part(ax, "observed").get_offsets()), [[0.2, 0], [0.4, 1], [0.7, 1], [0.925, 0.5]]
    )


def test_the_histogram_stands_on_the_intervals_of_the_bins() -> None:
    ax = plot_reliability(small(bins=[0, 0.3, 0.31, 1]), axes())
    (below,) = ax.child_axes
    boxes = [(b.get_x(), b.get_width(), b.get_height()) for b in below.patches]
    np.testing.assert_allclose(boxes, [(0, 0.3, 1 / 5), (0.31, 0.69, 4 / 5)])
    ax.figure.canvas.draw()
    assert below.get_xlim() == ax.get_xlim()
    assert below.get_window_extent().x0 == pytest.approx(ax.get_window_extent().x0)
    assert below.get_window_extent().width == pytest.approx(ax.get_window_extent().width)
    assert below.get_window_extent().y1 < ax.get_window_extent().y0


def test_thin_bins_are_hollow_and_pale() -> None:
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


def test_a_key_is_given_only_for_what_is_there() -> None:
    y, p = rows("uniform")
    ax = plot_reliability(bc.evaluate(y, p, bins=5, rng=1), axes(), prob=0.9)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["observed", "90 % interval"]


def test_the_headline_says_what_was_asked_and_answered() -> None:
    evaluation = small()
    low, high = evaluation.ece.interval(0.8)
    ax = plot_reliability(evaluation, axes((9, 9)), prob=0.8)
    said = ax.get_title(loc="left")
    assert said == f"ECE {evaluation.ece.mean():.4f}, 80 % interval [{low:.4f}, {high:.4f}]"
    assert evaluation.question in [t.get_text().replace("\n", " ") for t in ax.texts]


def test_the_axes_are_called_by_their_target() -> None:
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


def test_a_crowd_is_enlarged_and_all_of_it_shown() -> None:
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


def test_dots_that_touch_their_bars_are_not_explained() -> None:
    """Where every row was right, an equal-tailed interval ends just short of 1, under the dot at 1."""
    certain = np.r_[np.zeros(400), np.ones(600)]
    ev = bc.evaluate(certain, np.r_[np.full(400, 0.05), np.full(600, 0.95)], model="dirichlet", rng=1)
    assert reliability_points(ev).outside.any()
    assert not any("outside" in t.get_text() for t in plot_reliability(ev, axes()).texts)


def test_dots_outside_their_bars_are_explained_only_where_there_are_any() -> None:
    said = "Dot outside its bar: a dot is one bin alone, a bar uses all bins."
    off = far_off("shrinkage")
    points = reliability_points(off)
    outside = (points.accuracy < points.low) | (points.accuracy > points.high)
    assert points.outside.tolist() == outside.tolist()
    assert outside.any()
    for size in ((5.0, 6.0), (3.2, 2.4)):  # in small axes as well
        ax = plot_reliability(off, axes(size))
        assert any(said in t.get_text().replace("\n", " ") for t in ax.texts)
        assert_words_apart(ax)
    inside = bc.evaluate(np.tile([0, 1], 50), np.full(100, 0.52), rng=1)
    assert not reliability_points(inside).outside.any()
    assert not any("outside" in t.get_text() for t in plot_reliability(inside, axes()).texts)


def test_under_the_dirichlet_model_it_is_the_prior_that_moves_bars() -> None:
    # two rows, none positive, beside a prior worth many rows with one half positive
    ev = bc.evaluate([0] * 2, [0.1] * 2, bins=2, rng=1, model="dirichlet", alpha=20.0)
    ax = plot_reliability(ev, axes())
    assert any("a bar combines its bin with the prior" in t.get_text().replace("\n", " ") for t in ax.texts)


@pytest.mark.parametrize(
    ("target", "words"),
    [("event", ("stated too low", "stated too high")), ("confidence", ("under-confident", "over-confident"))],
)
def test_the_sides_are_called_by_the_target(target: str, words: tuple[str, str]) -> None:
    ax = plot_reliability(small(target=target), axes())
    placed = {t.get_text(): t.get_position() for t in ax.texts}
    above, below = (placed[word] for word in words)
    assert above[1] > 0.5 > below[1]


def test_no_rows_no_bars() -> None:
    evaluation = bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1)
    ax = plot_reliability(evaluation, axes())
    assert len(part(ax, "observed").get_offsets()) == 0
    assert "no rows" in [t.get_text() for t in ax.texts]
    assert not ax.child_axes[0].patches


# --- posterior -----------------------------------------------------------------------------------------------------


def with_gaps(gap: np.ndarray) -> bc.Evaluation:
    """An evaluation whose draws of the ECE are the given numbers."""
    evaluation = small()
    n = len(gap)
    mass = np.tile([1.0, 0.0], (n, 1))
    accuracy = np.column_stack([0.3 + gap, np.full(n, 0.5)])
    bins = BinDraws(mass, accuracy, np.array([[0.3, 0.5]]), np.array([True, True]), mass)
    return dataclasses.replace(evaluation, bin_draws=bins)


def test_shapes_hold_the_evaluations_numbers() -> None:
    evaluation = bc.evaluate(*rows("rare"), rng=1, model="dirichlet")
    shapes = posterior_shapes(evaluation, 0.8)
    assert shapes.plug_in == evaluation.plug_in
    assert shapes.null is not None
    for density, draws in ((shapes.posterior, evaluation.ece), (shapes.null, evaluation.null)):
        assert density.mean == draws.mean()
        assert (density.low, density.high) == draws.interval(0.8)
        assert len(density.stem_x) == 0
        assert np.trapezoid(density.height, density.x) == pytest.approx(1, abs=0.01)
        centre = np.trapezoid(density.x * density.height, density.x)
        assert centre == pytest.approx(draws.mean(), abs=0.1 * draws.sd())


def test_the_curve_does_not_leak_below_zero() -> None:
    # half-normal draws pile up at 0, where their density is 2 / (sqrt(2 pi) sigma); one that leaks shows half of it
    gap = 0.05 * np.abs(stats.norm.ppf((np.arange(4000) + 0.5) / 4000))
    density = posterior_shapes(with_gaps(gap)).posterior
    assert density.x.min() >= 0
    assert density.height[0] == pytest.approx(2 / np.sqrt(2 * np.pi) / 0.05, rel=0.1)


def test_exact_zeros_are_a_stem_with_their_probability() -> None:
    gap = np.concatenate([np.zeros(1000), np.linspace(0.01, 0.05, 3000)])
    density = posterior_shapes(with_gaps(gap)).posterior
    np.testing.assert_array_equal(density.stem_x, [0])
    np.testing.assert_array_equal(density.stem_pr, [0.25])
    assert density.x.min() > 0.009
    ax = plot_posterior(with_gaps(gap), axes())
    assert "(25 % at 0)" in ax.get_yticklabels()[0].get_text()


def test_a_null_of_few_values_is_stems_only() -> None:
    # one bin, two rows at 0.5: the plug-in is |k / 2 - 1/2|, so 0 or 1/2, each with probability 1/2
    evaluation = bc.evaluate([0, 1], [0.5, 0.5], bins=1, rng=1)
    null = posterior_shapes(evaluation).null
    assert null is not None
    np.testing.assert_allclose(null.stem_x, [0, 0.5])
    # standard error of 4000 draws: 0.008
    np.testing.assert_allclose(null.stem_pr, [0.5, 0.5], atol=0.035)
    assert len(null.x) == 0


@pytest.mark.parametrize("gap", [np.zeros(10), np.full(10, 0.1), np.array([0.0, 0.1]), np.array([0.1, 0.2, 0.3])])
def test_a_handful_of_draws_is_drawn(gap: np.ndarray) -> None:
    ax = plot_posterior(with_gaps(gap), axes())
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_xlim()).all()


def test_lines_stand_where_the_numbers_are() -> None:
    evaluation = bc.evaluate(*rows("rare"), rng=1, model="dirichlet")
    ax = plot_posterior(evaluation, axes(), prob=0.8)
    drawn = [np.asarray(line.get_xdata(), float) for line in ax.lines]
    for expected in (
        [evaluation.plug_in] * 2,
        evaluation.ece.interval(0.8),
        evaluation.null.interval(0.8),
        [evaluation.ece.mean()],
        [evaluation.null.mean()],
    ):
        assert any(len(x) == len(expected) and np.allclose(x, expected) for x in drawn), expected
    left, right = ax.get_xlim()
    assert left < 0 < evaluation.ece.values.max() < right
    assert any(f"plug-in {evaluation.plug_in:.4f}" == t.get_text() for t in ax.texts)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["posterior", "if calibrated"]


@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_the_plug_in_is_named_within_the_axes(shift: float) -> None:
    # all right at confidence 1 - shift: the plug-in is the shift, at the left end of the axis or at its right end
    ax = plot_posterior(bc.evaluate([1] * 400, [1 - shift] * 400, rng=1), axes())
    (box,) = [box for word, box in texts(ax) if word == f"plug-in {shift:.4f}"]
    assert ax.bbox.x0 - 1 <= box.x0 < box.x1 <= ax.bbox.x1 + 1


def test_without_rows_there_is_only_the_prior() -> None:
    ax = plot_posterior(bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1, model="dirichlet"), axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["posterior"]
    assert not any("plug-in" in t.get_text() for t in ax.texts)


def test_classwise_has_a_posterior_and_no_diagram() -> None:
    matrix = np.random.default_rng(1).dirichlet([1, 1, 1], 60)
    evaluation = bc.evaluate(["a", "b", "c"] * 20, matrix, target="classwise", classes=["a", "b", "c"], rng=1)
    ax = plot_posterior(evaluation, axes())
    assert ax.get_xlabel().startswith("classwise ECE")
    with pytest.raises(TypeError, match=r"one per class.*evaluation\['a'\]"):
        plot_reliability(evaluation)
    plot_reliability(evaluation["b"], axes())


# --- both ----------------------------------------------------------------------------------------------------------

CASES = ["uniform", "rare", "squeezed", "one bin", "three rows", "sure", "million"]


@pytest.mark.slow
@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
@pytest.mark.parametrize("size", [(4, 4), (5, 6), (8, 8)], ids=str)
@pytest.mark.parametrize("bins", [2, 15, 100])
def test_words_are_apart(plot: object, size: tuple[float, float], bins: int) -> None:
    evaluation = bc.evaluate(*rows("uniform"), bins=bins, rng=1)
    for layout in ("constrained", "tight"):
        assert_words_apart(plot(evaluation, axes(size, layout)))


@pytest.mark.slow
@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_words_are_apart_in_awkward_data(plot: object, case: str, binning: str) -> None:
    y, p = rows(case)
    evaluation = bc.evaluate(y, p, target="confidence", binning=binning, rng=1)
    assert_words_apart(plot(evaluation, axes((4, 4))))


def test_the_overlap_test_can_fail() -> None:
    ax = plot_reliability(small(), axes())
    ax.text(0.05, 0.96, "on it", transform=ax.transAxes, va="top")
    with pytest.raises(AssertionError, match=r"lies on"):
        assert_words_apart(ax)
    far = plot_reliability(small(), axes())
    far.text(1.3, 0.5, "far off", transform=far.transAxes).set_in_layout(False)
    with pytest.raises(AssertionError, match="leaves the page"):
        assert_words_apart(far)


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_nothing_global_changes(plot: object) -> None:
    from matplotlib import pyplot as plt

    before, open_figures = dict(mpl.rcParams), plt.get_fignums()
    figure = page((8, 4))
    left, right = figure.subplots(1, 2)
    assert plot(small(), right) is right
    figure.canvas.draw()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == open_figures
    assert not left.has_data()
    assert figure.axes == [left, right]


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_without_axes_it_is_the_current_pyplot_figure(plot: object) -> None:
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    ax = plot(small())
    assert plt.gcf() is ax.figure
    assert len(plt.get_fignums()) == 1
    assert_words_apart(ax)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_subfigures_take_it(plot: object) -> None:
    figure = page((10, 5), "constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    assert plot(small(), ax) is ax
    figure.canvas.draw()
    left, right = figure.subfigs
    assert ax in left.axes
    assert ax.lines or ax.collections
    assert right.axes == []


@pytest.mark.parametrize("plot", [plot_reliability, plot_posterior])
def test_wrong_input_is_refused(plot: object) -> None:
    with pytest.raises(TypeError, match=r"`evaluation`.*not list.*bayescal.evaluate"):
        plot(Y, P)
    with pytest.raises(TypeError, match=r"`ax`.*ndarray.*axes\[0\]"):
        plot(small(), Figure().subplots(1, 2))
    with pytest.raises(TypeError, match=r"`ax`.*Figure"):
        plot(small(), Figure())
    with pytest.raises(ValueError, match=r"`prob`.*Divide by 100"):
        plot(small(), axes(), prob=95)


def test_two_diagrams_do_not_share_axes() -> None:
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


def test_a_forest_of_classes_ends_with_their_mean():
    y_prob = [[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]
    result = bc.evaluate(["a", "b", "b"], y_prob, target="classwise", classes=["a", "b"], rng=1, draws=10)
    for estimand, mean in {"ece": result.ece, "signed_error": None}.items():
        ax = bc.plot_forest(result, Figure().subplots(), estimand=estimand)
        assert [each.get_text() for each in ax.get_yticklabels()] == [
            "class a (n = 1)",
            "class b (n = 2)",
            "mean of classes",
        ]
        drawn = np.asarray(next(each for each in ax.collections if each.get_gid() == "mean").get_offsets())[:, 0]
        of_classes = [result[label].draws(estimand).mean() for label in result]
        assert drawn[:2] == pytest.approx(of_classes)
        # in some draws all classes are exactly calibrated, so that the mean of the means is only an upper bound
        assert drawn[2] == pytest.approx(result.mean_over_classes(estimand).mean())
        assert mean is None or drawn[2] == pytest.approx(mean.mean())


def test_a_forest_of_classes_can_be_drawn_from_single_evaluations():
    result = bc.evaluate([0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]], target="classwise", rng=1, draws=10)
    ax = bc.plot_forest({name: result[name] for name in result}, Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0 (n = 3)", "1 (n = 3)"]
