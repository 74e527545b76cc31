"""Comparisons and forests: what is drawn is what was computed, the words say which way it goes, nothing overlaps."""

import matplotlib as mpl
import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.registry import registered
from bayescal.report.comparison import comparison_shapes, plot_comparison
from bayescal.report.forest import plot_forest

LONG = [f"resnet50_imagenet_finetuned_epoch_{k}0 with temperature" for k in range(1, 9)]


def comparison(names=("A", "B"), *, same=False, **options):
    """Models that are off by 0, 0.05, 0.1, ... of the logit's slope, on one set of rows."""
    rng = np.random.default_rng(2)
    p = rng.uniform(0.02, 0.98, 800)
    y = (rng.random(800) < p).astype(int)
    slope = np.ones(len(names)) if same else 1 + 0.15 * np.arange(len(names))
    x = np.log(p / (1 - p))
    return bc.compare(
        y, {n: 1 / (1 + np.exp(-s * x)) for n, s in zip(names, slope, strict=True)}, rng=1, **{"draws": 400, **options}
    )


def said(ax):
    return [t.get_text() for t in ax.texts]


# --- the numbers


def hand_made(columns, rope=0.15):
    """A comparison whose joint draws of the ECE are these."""
    made = comparison([f"m{j}" for j in range(len(columns))], draws=len(columns[0]), rope=rope)
    made._joint["ece"] = registered()["ece"], np.column_stack(columns).astype(float)
    return made


def test_shapes_by_hand():
    # differences -0.3, 0, 0.1, 0.2: of these -0.3 is below the rope of 0.15, and 0.2 above it
    shapes = comparison_shapes(hand_made([[0.1, 0.2, 0.3, 0.4], [0.4, 0.2, 0.2, 0.2]]))
    np.testing.assert_allclose(shapes.decided, [[1 / 4, 2 / 4, 1 / 4]])
    # m0 and m1 tie in one draw, m0 wins one and loses two
    assert shapes.classifiers.names == ("m1", "m0")
    np.testing.assert_allclose(shapes.ranks, [[2.5 / 4, 1.5 / 4], [1.5 / 4, 2.5 / 4]])
    np.testing.assert_allclose(shapes.p_equal[[0, -1]], [1 / 4, 1])
    assert shapes.differences.mean[0] == pytest.approx(0)


def test_three_models_by_hand():
    # ranks by draw: 1 2 3; 2 2 2 (all tie: each rank a third); 1.5 1.5 3; 3 1 2
    columns = [[0.1, 0.2, 0.1, 0.9], [0.2, 0.2, 0.1, 0.3], [0.3, 0.2, 0.5, 0.6]]
    made = hand_made(columns, rope=0.1001)
    ranks = np.array(
        [
            [1 + 1 / 3 + 1 / 2, 1 / 3 + 1 / 2, 1 / 3 + 1],
            [1 / 3 + 1 / 2 + 1, 1 + 1 / 3 + 1 / 2, 1 / 3],
            [1 / 3, 1 / 3 + 1, 1 + 1 / 3 + 1],
        ]
    )
    np.testing.assert_allclose(made.rank_probabilities(), ranks / 4)
    np.testing.assert_allclose(list(made.expected_ranks().values()), (ranks @ [1, 2, 3]) / 4)
    np.testing.assert_allclose(list(made.p_best().values()), ranks[:, 0] / 4)
    shapes = comparison_shapes(made)
    assert shapes.classifiers.names == ("m1", "m0", "m2")
    assert shapes.differences.names == ("m0", "m2")
    # m1 - m0: 0.1, 0, 0, -0.6; m1 - m2: -0.1, 0, -0.4, -0.3
    assert shapes.pairs == (("m1", "m0"), ("m1", "m2"))
    np.testing.assert_allclose(shapes.differences.mean, [-0.5 / 4, -0.8 / 4])
    np.testing.assert_allclose(shapes.decided, [[1 / 4, 3 / 4, 0], [2 / 4, 2 / 4, 0]])
    assert shapes.density is None


@pytest.mark.parametrize("estimand", ["ece", "signed_error", "brier_score", bc.e90_bins])
def test_shapes_say_what_the_comparison_says(estimand):
    made = comparison(["A", "B", "C"])
    shapes = comparison_shapes(made, 0.9, estimand=estimand)
    order = [made.names.index(n) for n in shapes.classifiers.names]
    np.testing.assert_allclose(shapes.classifiers.low, made.draws(estimand).interval(0.9)[0][order])
    np.testing.assert_allclose(shapes.ranks.sum(axis=0), 1)
    np.testing.assert_allclose(shapes.ranks.sum(axis=1), 1)
    np.testing.assert_allclose(shapes.ranks[:, 0], [made.p_best(estimand)[n] for n in shapes.classifiers.names])
    for name, p in zip(shapes.differences.names, shapes.decided, strict=True):
        told = made.decide(shapes.classifiers.names[0], name, estimand=estimand)
        np.testing.assert_allclose(p, [told["p_left"], told["p_rope"], told["p_right"]])


# --- what is drawn


def test_two_models_are_drawn_as_computed(page, part):
    made = comparison()
    shapes = comparison_shapes(made)
    ax = plot_comparison(made, page((7, 6)).subplots())
    difference, curve = ax.child_axes
    np.testing.assert_allclose(np.asarray(part(ax, "mean").get_offsets())[:, 0], shapes.classifiers.mean)
    bars = np.array(part(ax, "interval").get_segments())
    np.testing.assert_allclose(bars[:, :, 0], np.column_stack([shapes.classifiers.low, shapes.classifiers.high]))
    rope = part(difference, "rope").get_bbox()
    np.testing.assert_allclose([rope.x0, rope.x1], [-made.rope, made.rope])
    low, high = difference.get_xlim()
    assert low < -made.rope < made.rope < high
    np.testing.assert_allclose(part(curve, "curve").get_ydata(), made.rope_curve(shapes.ropes, "A", "B"))


@pytest.mark.parametrize(("names", "better"), [(("good", "bad"), 0), (("bad", "good"), 1)])
def test_the_better_one_is_named_on_its_side(names, better, page):
    """The true curve against a slope of 1.6, in either order."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.02, 0.98, 4000)
    y = (rng.random(4000) < p).astype(int)
    q = {"good": p, "bad": 1 / (1 + (1 / p - 1) ** 1.6)}
    made = bc.compare(y, {n: q[n] for n in names}, rng=1, draws=400)
    ax = plot_comparison(made, page((7, 6)).subplots())
    left, equal, right = said(ax.child_axes[0])
    assert left.startswith(f"\N{LEFTWARDS ARROW} {names[0]} better\n")
    assert right.startswith(f"{names[1]} better \N{RIGHTWARDS ARROW}\n")
    assert (left, right)[better].endswith("P = 1.00")
    assert (left, right)[1 - better].endswith("P = 0.00")
    assert equal.endswith("0.00")
    # and the curve lies where the words say
    (bar,) = [line for line in ax.child_axes[0].lines if line.get_linewidth() == 4]
    assert np.all(np.asarray(bar.get_xdata()) < 0) == (better == 0)
    assert ax.get_title(loc="left") == "good is better calibrated than bad"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["good", "bad"]


def test_identical_models(page, assert_words_apart):
    made = comparison(same=True)
    shapes = comparison_shapes(made)
    assert (len(shapes.density.x), shapes.density.stem_x.tolist(), shapes.density.stem_pr.tolist()) == (0, [0.0], [1.0])
    np.testing.assert_array_equal(shapes.p_equal, 1)
    ax = plot_comparison(made, page((7, 6)).subplots())
    assert said(ax.child_axes[0])[1].endswith("P = 1.00")
    assert_words_apart(ax.figure)
    # with a rope of width 0, and with a third model of the same
    plot_comparison(comparison(same=True, rope=0), page((7, 6)).subplots()).figure.canvas.draw()
    three = plot_comparison(comparison(["A", "B", "C"], same=True, rope=0), page((9, 6)).subplots())
    three.figure.canvas.draw()
    assert [t.get_text() for t in three.get_yticklabels()] == ["A", "B", "C"]


def test_several_models_are_drawn_as_computed(page, part):
    made = comparison(["A", "B", "C"])
    shapes = comparison_shapes(made)
    ax = plot_comparison(made, page((9, 6)).subplots())
    below, ranks, beside = ax.child_axes
    np.testing.assert_allclose(np.asarray(part(below, "mean").get_offsets())[:, 0], shapes.differences.mean)
    for table, numbers in ((ranks, shapes.ranks), (beside, shapes.decided)):
        tint = [bar.get_facecolor()[3] for bar in table.patches]
        np.testing.assert_allclose(tint, 0.85 * numbers.ravel())
    left, right = said(below)
    best = shapes.classifiers.names[0]
    assert left == f"\N{LEFTWARDS ARROW} {best} better"
    assert right == f"better than {best} \N{RIGHTWARDS ARROW}"
    assert [t.get_text() for t in beside.get_xticklabels()] == ["P(1st)", "P(equal)", "P(2nd)"]
    assert beside.get_xlabel().startswith(f"1st: {best}, 2nd: the row")
    # the tables stand beside their rows
    ax.figure.canvas.draw()
    for forest_ax, table in ((ax, ranks), (below, beside)):
        assert forest_ax.get_ylim() == table.get_ylim()
        np.testing.assert_allclose(forest_ax.get_position().intervaly, table.get_position().intervaly, atol=1e-6)
        assert forest_ax.get_position().x1 < table.get_position().x0


@pytest.mark.slow
@pytest.mark.parametrize("names", [LONG[:2], LONG[:3], LONG, ["A", "B"], [*"ABC"], [*"ABCDEFGH"]], ids=len)
def test_words_do_not_lie_on_each_other(names, assert_words_apart):
    assert_words_apart(plot_comparison(comparison(names)).figure)


def test_more_models_than_can_be_written(assert_words_apart):
    made = comparison([f"model {k}" for k in range(14)], draws=100)
    ax = plot_comparison(made)
    assert not said(ax.child_axes[1])
    assert len(said(ax.child_axes[2])) > 0
    assert_words_apart(ax.figure)


@pytest.mark.slow
def test_given_axes_are_used_and_nothing_else_changes(page, assert_words_apart):
    before = dict(mpl.rcParams)
    figure = page((15, 7))
    left, right = figure.subplots(1, 2)
    assert plot_comparison(comparison(), left) is left
    assert plot_comparison(comparison(["A", "B", "C"]), right) is right
    assert_words_apart(figure)
    assert dict(mpl.rcParams) == before
    part_of = page((8, 7)).subfigures(1, 1)
    ax = plot_comparison(comparison(["A", "B", "C"]), part_of.subplots())
    assert ax.child_axes[2].figure is part_of
    with pytest.raises(ValueError, match="divided already"):
        plot_comparison(comparison(), left)
    with pytest.raises(TypeError, match="`ax` must be"):
        plot_comparison(comparison(), figure)
    with pytest.raises(TypeError, match="must be a Comparison, not dict"):
        plot_comparison({})
    with pytest.raises(ValueError, match="`prob`"):
        plot_comparison(comparison(), prob=95)


# --- groups


def grouped(n_groups=3, n=300):
    rng = np.random.default_rng(4)
    p = rng.random(n)
    by = np.array([f"site {k}" for k in range(n_groups)])[np.arange(n) % n_groups]
    by[0] = "single"
    return bc.evaluate((rng.random(n) < p).astype(int), p, by=by, rng=1, draws=200, model="dirichlet")


# --- grids of subplots


def pictures():
    """Return one function of axes per kind of plot."""
    rng = np.random.default_rng(7)
    p = rng.beta(1.2, 1.2, 500)
    y = (rng.random(500) < p).astype(int)
    by = np.array(["Aberdeen Royal Infirmary", "cardiomyopathy_unspecified", "x"])[np.arange(500) % 3]
    evaluation = bc.evaluate(y, p, rng=1, draws=400)
    groups = bc.evaluate(y, p, by=by, rng=1, draws=400, model="dirichlet")
    return {
        "reliability": lambda ax: bc.plot_reliability(evaluation, ax),
        "posterior": lambda ax: bc.plot_posterior(evaluation, ax),
        "forest": lambda ax: plot_forest(groups, ax, estimand="signed_error"),
        "two": lambda ax: plot_comparison(comparison(["logistic_regression", "random forest"]), ax),
        "three": lambda ax: plot_comparison(comparison(LONG[:3]), ax),
    }


KINDS = ["reliability", "posterior", "forest", "two", "three"]


@pytest.mark.slow
@pytest.mark.parametrize("layout", [None, "constrained", "tight", "tight_layout()"])
@pytest.mark.parametrize("size", [(6.4, 4.8), (11, 9)], ids=str)
def test_words_of_a_grid_are_apart(layout, size, page, assert_words_apart):
    draw = pictures()
    for kinds in (KINDS[:4], ["three", "two", "reliability", "three"]):
        figure = page(size, None if layout == "tight_layout()" else layout)
        for ax, kind in zip(figure.subplots(2, 2).flat, kinds, strict=True):
            assert draw[kind](ax) is ax
        if layout == "tight_layout()":
            figure.tight_layout()
        assert_words_apart(figure)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_stays_in_its_quarter(kind, page):
    """With matplotlib's defaults, subplots extend from 0.125 to 0.9 in x and from 0.11 to 0.88 in y."""
    figure = page((6.4, 4.8), None)
    axes = figure.subplots(2, 2)
    for ax in axes.flat:
        pictures()[kind](ax)
    figure.canvas.draw()
    middle = np.array([(0.125 + 0.9) / 2, (0.11 + 0.88) / 2])
    for (row, column), ax in np.ndenumerate(axes):
        box = ax.get_tightbbox().transformed(figure.transFigure.inverted())
        low = np.where([column == 1, row == 0], middle, 0)
        high = np.where([column == 1, row == 0], 1, middle)
        assert np.all(box.min > low - 1e-3), (kind, row, column, box)
        assert np.all(box.max < high + 1e-3), (kind, row, column, box)


def test_other_axes_of_the_figure_stay_where_they_are(page):
    figure = page((6.4, 4.8), None)
    (mine, placed), (theirs, _) = figure.subplots(2, 2)
    placed.set_position([0.6, 0.6, 0.1, 0.1])
    figure.suptitle("their title")
    before = theirs.get_position().bounds
    pictures()["posterior"](mine)
    pictures()["posterior"](placed)
    figure.canvas.draw()
    assert theirs.get_position().bounds == before
    np.testing.assert_allclose(placed.get_position().bounds, [0.6, 0.6, 0.1, 0.1])
    (title,) = figure.texts
    assert mine.get_tightbbox().y1 < title.get_window_extent().y0


def test_small_axes_hold_the_most_important_part(page, part):
    figure = page((6.4, 4.8), None)
    axes = figure.subplots(2, 2)
    for ax, kind in zip(axes.flat, ["two", "three", "reliability", "posterior"], strict=True):
        pictures()[kind](ax)
    assert [len(ax.child_axes) for ax in axes.flat] == [0, 0, 1, 0]
    assert part(axes[0, 0], "rope")
    assert [t.get_text().count("\n") <= 2 for t in axes[0, 1].get_yticklabels()] == [True] * 3


# --- the signed error


@pytest.mark.parametrize(("estimand", "lines"), [("signed_error", 1), ("ece", 0), (bc.signed_error, 1)])
def test_a_line_at_zero_for_what_has_a_sign(estimand, lines, page):
    two, three = comparison(), comparison(["A", "B", "C"])
    for ax in (
        plot_forest(grouped(), page((6, 4)).subplots(), estimand=estimand),
        plot_comparison(two, page((7, 6)).subplots(), estimand=estimand),
        plot_comparison(three, page((9, 6)).subplots(), estimand=estimand),
        plot_comparison(three, page((3, 2)).subplots(), estimand=estimand),
    ):
        found = [line for line in ax.lines if line.get_gid() == "zero"]
        assert [line.get_xdata() for line in found] == [[0, 0]] * lines
        low, high = ax.get_xlim()
        assert not lines or low <= 0 <= high


def test_the_signed_error_says_which_way_is_which(page, assert_words_apart):
    label = plot_forest(grouped(), page((6, 4)).subplots(), estimand="signed_error").get_xlabel()
    assert "below 0: stated too high, above: stated too low" in label.splitlines()
    of_confidence = {"a": bc.evaluate([0, 1, 1], [0.6, 0.7, 0.9], target="confidence", rng=1)}
    label = plot_forest(of_confidence, page((6, 4)).subplots(), estimand="signed_error").get_xlabel()
    assert "below 0: over-confident, above: under-confident" in label.splitlines()
    made = plot_comparison(comparison(), page((7, 7)).subplots(), estimand="signed_error")
    assert "below 0: stated too high, above: stated too low" in made.get_xlabel().splitlines()
    assert_words_apart(made.figure)
    assert_words_apart(plot_comparison(comparison(LONG[:3]), estimand="signed_error").figure)


def test_errors_of_one_direction_are_called_by_the_target(page):
    of_confidence = {"a": bc.evaluate([0, 1, 1], [0.6, 0.7, 0.9], target="confidence", rng=1)}
    too_high = "error of probabilities stated too high"
    for made, called in ((grouped(), too_high), (of_confidence, "over-confidence")):
        label = plot_forest(made, page((6, 4)).subplots(), estimand="overconfidence").get_xlabel()
        assert label.splitlines()[0] == called
    ax = plot_comparison(comparison(), page((7, 7)).subplots(), estimand="overconfidence")
    assert ax.get_xlabel().startswith(too_high)
