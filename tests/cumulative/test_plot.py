"""The plot of a cumulative difference: what is drawn, where, and in which space."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import bayescal as bc
from bayescal.cumulative.plot import PIECES, cumulative_points, score_labels
from bayescal.datasets.simulate import simulate
from bayescal.report.drawing import DARK, LIGHT

ROWS = simulate(3000, population="flat", curve="wave", strength=0.1, rng=2)
CD = bc.cumulative_difference(ROWS.outcome, ROWS.confidence)


def axes(size=(6.4, 4.6)):
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure.subplots()


def artist(ax, gid):
    (found,) = [each for each in ax.get_children() if each.get_gid() == gid]
    return found


def test_the_curve_the_triangle_and_the_worst_interval():
    ax = bc.plot_cumulative(CD, axes())
    np.testing.assert_allclose(artist(ax, "curve").get_xydata(), np.column_stack([CD.abscissae, CD.curve]))
    corners = artist(ax, "triangle").get_xy()
    assert corners[:, 1].max() == pytest.approx(2 * CD.sigma)
    assert corners[:, 1].min() == pytest.approx(-2 * CD.sigma)
    ends = artist(ax, "worst ends").get_xydata()
    assert abs(ends[1, 1] - ends[0, 1]) == pytest.approx(CD.kuiper)
    low, high = CD.worst_interval
    assert ends[1, 0] - ends[0, 0] == pytest.approx(CD.slope(low, high).weight)


def test_the_key_names_every_colour():
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            ax = bc.plot_cumulative(CD, axes())
            assert [text.get_text() for text in ax.get_legend().get_texts()] == [
                "curve, 95 % band",
                "largest deviation",
                "\u00b1 2 sigma if calibrated",
            ]
            colours = {to_hex(line.get_color()) for line in ax.get_legend().findobj(Line2D)}
            assert {to_hex(artist(ax, gid).get_color()) for gid in ("curve", "worst part")} <= colours


@pytest.mark.parametrize("p", [0.2, 0.5])
def test_a_deviation_by_chance_is_grey(p):
    """100 outcomes at each of 0.2 and 0.5: none differs from 0.2 n, and all of them from 0.5 n."""
    ax = bc.plot_cumulative(bc.cumulative_difference([1] * 20 + [0] * 80, [p] * 100), axes())
    assert to_hex(artist(ax, "worst part").get_color()).upper() == (LIGHT.orange if p == 0.5 else LIGHT.grey)


def test_titles_begin_with_the_group_in_every_panel():
    screen = bc.screen_subpopulations(ROWS.outcome, ROWS.confidence, np.arange(3000) % 3)
    figure = Figure(figsize=(13, 4))
    FigureCanvasAgg(figure)
    panels = [bc.plot_cumulative(screen[k], ax) for k, ax in enumerate(figure.subplots(1, 3))]
    for k, ax in enumerate(panels):
        assert ax.get_title(loc="left").startswith(f"group = {k}\nKuiper statistic")
    assert len({len(ax.get_xticks()) for ax in panels}) == 1
    wide = bc.plot_cumulative(CD, axes((11, 3)))
    assert len(wide.get_xticks()) == 6
    assert "rises where" in wide.get_ylabel().replace("\n", " ")


def test_the_band_has_the_height_of_the_result():
    points = cumulative_points(CD, 0.9)
    _, low, high = CD.band(0.9)
    assert points.high - points.low == pytest.approx(float((high - low)[0]))


def test_ticks_name_the_scores_at_shares_of_the_rows():
    points = cumulative_points(CD)
    expected = np.sort(ROWS.confidence)[np.maximum(np.arange(0, 3001, 600) - 1, 0)]
    np.testing.assert_allclose(points.tick_score, expected)
    assert score_labels(np.array([0.5, 0.5, 0.99991])) == ["0.50", "0.50", "1.00"]
    assert score_labels(np.array([0.9991, 0.9994])) == ["0.9991", "0.9994"]
    assert score_labels(np.array([0.99999, 1, 1])) == ["0.99999", "1", "1"]
    assert score_labels(np.array([0.2, 1 - 3e-7, 1 - 2e-8])) == ["0.2", "1 \u2212 3e-07", "1 \u2212 2e-08"]


def test_many_points_are_thinned_but_their_extremes_remain():
    rows = simulate(50_000, rng=3)
    cd = bc.cumulative_difference(rows.outcome, rows.confidence)
    points = cumulative_points(cd)
    assert len(points.curve) < 4 * PIECES
    assert (points.curve.max(), points.curve.min()) == (cd.curve.max(), cd.curve.min())
    assert (points.share[0], points.share[-1]) == (0, 1)


def test_zoom_draws_the_rows_of_an_interval_anew():
    ax, part = bc.plot_cumulative(CD, axes(), zoom=(0.2, 0.4)), CD.zoom(0.2, 0.4)
    np.testing.assert_allclose(artist(ax, "curve").get_xydata(), np.column_stack([part.abscissae, part.curve]))
    assert ax.get_xticklabels()[-1].get_text() == "0.40"


def test_words_name_weights_and_subpopulations():
    member = np.arange(3000) % 7 == 0
    sub = bc.cumulative_difference_subpopulation(ROWS.outcome, ROWS.confidence, member, weights=np.ones(3000))
    ax = bc.plot_cumulative(sub, axes())
    assert ax.child_axes[0].get_xlabel() == "share of the weight"
    assert "rises where subgroup is higher" in ax.get_ylabel().replace("\n", " ")
    assert "2 sigma if means are equal" in ax.get_legend().get_texts()[2].get_text()


@pytest.mark.parametrize("size", [(6.4, 4.6), (3.2, 2.6), (10, 3)])
def test_the_plot_stays_within_its_figure(size):
    ax = bc.plot_cumulative(CD, axes(size))
    ax.figure.canvas.draw()
    box = ax.get_tightbbox()
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= ax.figure.bbox.width + 1
    assert box.y1 <= ax.figure.bbox.height + 1


def test_colours_follow_the_background():
    assert to_hex(artist(bc.plot_cumulative(CD, axes()), "curve").get_color()).upper() == LIGHT.blue
    with plt.style.context("dark_background"):
        assert to_hex(artist(bc.plot_cumulative(CD, axes()), "curve").get_color()).upper() == DARK.blue
    assert to_hex(artist(bc.plot_cumulative(CD, axes(), worst_color="red"), "worst part").get_color()) == "#ff0000"


def test_wrong_arguments():
    with pytest.raises(TypeError, match="`cd` must be a CumulativeDifference"):
        bc.plot_cumulative([1, 2])
    screen = bc.screen_subpopulations([0, 1, 0, 1], [1, 2, 3, 4], ["a", "a", "b", "b"])
    with pytest.raises(TypeError, match=r"not SubpopulationScreen; plot one group, as in `plot_cumulative\(screen\['"):
        bc.plot_cumulative(screen)
    for zoom in (0.5, "ab", (0.1, 0.2, 0.3)):
        with pytest.raises(TypeError, match="`zoom` must be the two ends"):
            bc.plot_cumulative(CD, axes(), zoom=zoom)
    with pytest.raises(ValueError, match="enclose at least one score"):
        bc.plot_cumulative(bc.cumulative_difference([0, 1], [0.1, 0.9]), axes(), zoom=(0.2, 0.3))
    with pytest.raises(ValueError, match="`color`"):
        bc.plot_cumulative(CD, axes(), color="no color")


def test_example_of_score_labels():
    assert score_labels(np.array([0.2, 0.9991, 0.9994, 1.0])) == ["0.2000", "0.9991", "0.9994", "1"]


# --- mean responses above the curve


def of_members(*, weighted=False, n=600):
    rng = np.random.default_rng(4)
    score, member = np.round(20 * rng.random(n) - 5, 1), rng.random(n) < 0.4
    weights = rng.exponential(size=n) if weighted else None
    response = rng.normal(score + 2.0 * member)
    return bc.cumulative.subpopulation(response, score, member, weights=weights), (response, score, member, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_responses_in_bins_of_equal_width(weighted):
    sub, (response, score, member, weights) = of_members(weighted=weighted)
    weights = np.ones(600) if weights is None else weights
    upper, lower = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1), bins=7, binning="equal-width")
    for gid, which in (("full population", np.full(600, True)), (sub.group, member)):
        x, y, w = score[which], response[which], weights[which]
        edges = np.linspace(x.min(), x.max(), 8)
        expected = []
        for i in range(7):
            inside = (x >= edges[i]) & ((x < edges[i + 1]) | (i == 6))
            expected.append([np.average(each[inside], weights=w[inside]) for each in (x, y)])
        np.testing.assert_allclose(artist(upper, gid).get_xydata(), expected)
    np.testing.assert_allclose(artist(lower, "curve").get_xydata()[:, 1], sub.curve)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_responses_in_bins_of_equal_effective_mass(weighted):
    """Bins are neighbouring rows of each population, and their effective numbers of rows differ by less than 25 %."""
    sub, (response, score, member, weights) = of_members(weighted=weighted)
    weights = np.ones(600) if weights is None else weights
    upper, _ = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1), bins=5)
    for gid, which in (("full population", np.full(600, True)), (sub.group, member)):
        order = np.argsort(score[which], kind="stable")
        x, y, w = (each[which][order] for each in (score, response, weights))
        points, begin, effective = artist(upper, gid).get_xydata(), 0, []
        assert len(points) == 5
        ends = np.append(1 + np.flatnonzero(np.diff(x)), len(x))
        for mean_score, mean_response in points:
            # the bin ends where the mean score is that of the point
            fits = [
                end
                for end in ends[ends > begin]
                if abs(np.average(x[begin:end], weights=w[begin:end]) - mean_score) < 1e-9
            ]
            assert len(fits) == 1
            part = slice(begin, fits[0])
            assert mean_response == pytest.approx(np.average(y[part], weights=w[part]))
            effective.append(w[part].sum() ** 2 / (w[part] ** 2).sum())
            begin = fits[0]
        assert begin == len(x)
        assert max(effective) < 1.25 * min(effective)


def test_both_axes_of_a_subpopulation():
    sub, _ = of_members()
    found = bc.cumulative.plot_subpopulation(sub)
    assert found.shape == (2,)
    upper, lower = found
    assert len(upper.figure.axes) == 2
    assert upper.get_ylabel() == "mean response"
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["full population", sub.group]
    assert "cumulative difference" in lower.get_ylabel()
    assert to_hex(artist(upper, sub.group).get_color()) == to_hex(artist(lower, "curve").get_color())
    assert to_hex(artist(upper, "full population").get_color()) != to_hex(artist(upper, sub.group).get_color())
    plt.close(upper.figure)


def test_rows_of_weight_0_and_empty_bins_are_not_drawn():
    score = np.array([0.0, 1.0, 2.0, 10.0, 99.0])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    sub = bc.cumulative.subpopulation(score, score, [True, False, True, False, True], weights=weights)
    upper, _ = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1), bins=5, binning="equal-width")
    np.testing.assert_allclose(artist(upper, "full population").get_xydata(), [[0.5, 0.5], [2, 2], [10, 10]])


def test_what_has_no_mean_responses_is_refused():
    sub, (response, score, member, _) = of_members()
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member)
    for other in (CD, compared, None):
        with pytest.raises(TypeError, match="`sub` must be a SubpopulationDifference"):
            bc.cumulative.plot_subpopulation(other)
    with pytest.raises(TypeError, match="not SubpopulationComparison; `plot_cumulative` draws its curve"):
        bc.cumulative.plot_subpopulation(compared)
    screen = bc.cumulative.screen(response, score, np.where(member, "new", "old"))
    with pytest.raises(TypeError, match=r"draw one group, as in `plot_subpopulation\(screen\['(new|old)'\]\)`"):
        bc.cumulative.plot_subpopulation(screen)
    with pytest.raises(ValueError, match=r"`axes` must be two axes, as from `plt.subplots\(2, 1\)`, not 1"):
        bc.cumulative.plot_subpopulation(sub, Figure().subplots())
    with pytest.raises(TypeError, match="`axes`"):
        bc.cumulative.plot_subpopulation(sub, ["upper", "lower"])
    with pytest.raises(ValueError, match="`binning` must be"):
        bc.cumulative.plot_subpopulation(sub, binning="equal-mass")
    with pytest.raises(ValueError, match="`bins`"):
        bc.cumulative.plot_subpopulation(sub, bins=0)


def test_the_worst_interval_is_shaded_in_both_axes():
    sub, _ = of_members()
    upper, lower = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1))
    of_upper, of_lower = (
        next(each for each in ax.patches if each.get_gid() == "worst interval") for ax in (upper, lower)
    )
    assert (of_upper.get_x(), of_upper.get_x() + of_upper.get_width()) == pytest.approx(sub.worst_interval)
    assert of_upper.get_facecolor() == of_lower.get_facecolor()


def test_bins_do_not_depend_on_the_range_of_the_scores():
    """Bins of nearly equal numbers of rows: a score of 1e12 does not put all others into one bin."""
    score = np.append(np.arange(99.0), 1e12)
    sub = bc.cumulative.subpopulation(score % 2, score, np.arange(100) % 2 == 0)
    upper, _ = bc.cumulative.plot_subpopulation(sub, Figure().subplots(2, 1), bins=5)
    np.testing.assert_allclose(artist(upper, "full population").get_xydata()[:4, 0], [9.5, 29.5, 49.5, 69.5])


def test_the_axis_of_two_groups_says_which_is_subtracted():
    _, (response, score, member, _) = of_members()
    compared = bc.cumulative.compare_subpopulations(response, score, member, ~member, names=("women", "men"))
    ax = bc.cumulative.plot_cumulative(compared, Figure(figsize=(7, 6)).subplots())
    assert ax.get_ylabel().replace("\n", " ") == "cumulative difference (women minus men)"
