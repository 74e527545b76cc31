"""The plots of decision curves and of a loss ratio: records, what is drawn, and where they refuse."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.decisions.plot import chosen_points, decision_curve_points, plot_decision_curve, plot_selective

ROWS = simulate(2000, population="flat", curve="temperature", strength=1.5, rng=2)
Y, P = ROWS.outcome, ROWS.confidence
RATIO = bc.loss_ratio(Y[:1000], P[:1000], Y[1000:], P[1000:], rng=1)


def result(n_models=1, thresholds=None):
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 300)
    y = rng.random(300) < p
    models = {f"model {i}": np.clip(p + 0.1 * i * rng.standard_normal(300), 0, 1) for i in range(n_models)}
    return bc.decisions.net_benefit(y, models, thresholds, rng=1)


def test_the_record_holds_the_numbers_of_the_result():
    dc = result(2)
    points = decision_curve_points(dc, 0.8)
    for name in dc.models:
        np.testing.assert_array_equal(points.mean[name], dc.net_benefit[name].mean())
        low, high = dc.net_benefit[name].interval(0.8)
        np.testing.assert_array_equal(points.low[name], low)
        np.testing.assert_array_equal(points.high[name], high)
        np.testing.assert_array_equal(points.useful[name], (dc.p_useful[name] >= 0.8) & ~dc.few_rows[name])
    np.testing.assert_array_equal(points.treat_all, dc.treat_all.mean())
    low, high = points.limits
    assert high == pytest.approx(1.05 * max(values.max() for values in (*points.high.values(), points.treat_all)))
    assert -0.35 * high <= low <= -0.1 * high


def test_standardized_values_are_divided_in_each_draw():
    dc = result()
    points = decision_curve_points(dc, standardized=True)
    np.testing.assert_array_equal(points.mean["model 0"], dc.standardized["model 0"].mean())
    np.testing.assert_allclose(points.treat_all, (dc.treat_all.values / dc.prevalence_draws).mean(axis=0))


def drawn(ax):
    return {line.get_gid(): line for line in ax.lines}


@pytest.mark.parametrize("n_models", [1, 3])
def test_what_is_drawn(n_models):
    dc = result(n_models)
    ax = plot_decision_curve(dc, Figure().subplots())
    lines = drawn(ax)
    assert set(lines) == {"treat none", "treat all", *(f"model {i}" for i in range(n_models))}
    score = np.sort(np.random.default_rng(1).beta(1, 2, 300))  # those of the first model
    reached = dc.thresholds <= score[-5]
    assert not reached.all()
    mean = np.where(reached, dc.net_benefit["model 0"].mean(), np.nan)
    np.testing.assert_array_equal(lines["model 0"].get_ydata(), mean)
    np.testing.assert_array_equal(lines["treat all"].get_ydata(), dc.treat_all.mean())
    assert not lines["treat none"].get_ydata().any()
    bands = [each for each in ax.collections if each.get_gid().startswith("band")]
    assert len(bands) == n_models
    assert len({line.get_color() for name, line in lines.items() if name.startswith("model")}) == n_models


def test_bars_mark_useful_thresholds():
    dc = result(1, [0.1, 0.2, 0.4, 0.7])
    marked = dc.p_useful["model 0"] >= 0.95
    assert marked.any()
    assert not marked.all()
    (bar,) = (each for each in plot_decision_curve(dc, Figure().subplots()).collections if each.get_gid() == "useful 0")
    spans = [path.get_extents().intervalx for path in bar.get_paths()]
    inside = [any(a < t < b for a, b in spans) for t in dc.thresholds]
    np.testing.assert_array_equal(inside, marked)
    # thresholds between two that were computed are not marked
    assert all(np.abs(dc.thresholds - end).min() <= 0.01 + 1e-12 for span in spans for end in span)


def test_no_bar_where_rows_are_few():
    constant = bc.decisions.net_benefit(np.repeat([1, 0], [24, 1976]), np.full(2000, 0.012), [0.01, 0.02], rng=1)
    assert constant.p_useful["model"][1] >= 0.95
    ax = plot_decision_curve(constant, Figure().subplots())
    assert not [each for each in ax.collections if each.get_gid().startswith("useful")]
    assert ax.get_title(loc="left").startswith("Useful at no threshold")


def test_labels_and_title():
    ax = plot_decision_curve(result(), Figure().subplots(), standardized=True)
    assert ax.get_ylabel() == "standardized net benefit"
    assert ax.get_title(loc="left").startswith("Useful at ")
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["model 0", "treat all"]
    useless = bc.decisions.net_benefit([0, 1] * 50, [0.9, 0.1] * 50, [0.3, 0.6], rng=1)
    assert plot_decision_curve(useless, Figure().subplots()).get_title(loc="left").startswith("Useful at no threshold")


def test_colours_by_name():
    ax = plot_decision_curve(result(2), Figure().subplots(), color={"model 1": "red"})
    assert drawn(ax)["model 1"].get_color() == "#ff0000ff"
    with pytest.raises(ValueError, match="`color`"):
        plot_decision_curve(result(2), Figure().subplots(), color={"model 7": "red"})


@pytest.mark.parametrize("size", [(3.6, 3), (12, 5)])
def test_everything_lies_within_the_figure(size):
    figure = Figure(figsize=size)
    ax = plot_decision_curve(result(3), figure.subplots())
    figure.savefig(BytesIO())
    box = ax.get_tightbbox()
    assert box.x0 >= -1
    assert box.x1 <= figure.bbox.width + 1
    assert box.y1 <= figure.bbox.height + 1


def test_what_is_refused():
    with pytest.raises(TypeError, match="must be a NetBenefit, not list"):
        plot_decision_curve([1])
    with pytest.raises(ValueError, match="at least two thresholds"):
        plot_decision_curve(result(1, 0.2))
    with pytest.raises(ValueError, match="`prob`"):
        plot_decision_curve(result(1, [0.2, 0.4]), Figure().subplots(), prob=95)
    with pytest.raises(TypeError, match="`ax` must be a matplotlib Axes"):
        plot_decision_curve(result(1, [0.2, 0.4]), Figure())


@pytest.mark.parametrize("size", [(2.2, 3), (3, 2.4), (6.4, 4.6)])
def test_the_title_stands_above_the_key_and_the_curves_keep_their_width(size):
    figure = Figure(figsize=size)
    ax = plot_decision_curve(result(3), figure.subplots())
    figure.savefig(BytesIO())
    key = ax.get_legend().get_window_extent()
    (title,) = (text for text in (ax.title, ax._left_title, ax._right_title) if text.get_text())
    assert ax.bbox.y1 <= key.y0 < key.y1 <= title.get_window_extent().y0 + 0.5
    assert ax.bbox.width > 0.5 * figure.bbox.width


def test_chosen_thresholds_are_marked_and_stated():
    """The title has the numbers of the table at thresholds that were chosen, not a range found after looking."""
    dc = result(1, [0.1, 0.2, 0.3, 0.4])
    ax = plot_decision_curve(dc, Figure(figsize=(8, 6)).subplots(), at=[0.2, 0.3])
    lines = drawn(ax)
    assert [lines[f"chosen {i}"].get_xdata()[0] for i in range(2)] == [0.2, 0.3]
    row = dc.table()[1]
    first = ax.get_title(loc="left").split("\n")[0]
    assert first.startswith(f"At 0.2: net benefit {row['mean']:.3f} (treat all {row['treat_all']:.3f}), P(useful) ")
    assert "chosen thresholds" in [text.get_text() for text in ax.get_legend().get_texts()]
    two = plot_decision_curve(result(2, [0.1, 0.2]), Figure(figsize=(8, 6)).subplots(), at=0.1)
    assert two.get_title(loc="left").startswith("P(useful) at 0.1: model 0 ")
    with pytest.raises(ValueError, match=r"`at` must hold thresholds of `dc`, which 0.15 is not"):
        plot_decision_curve(dc, Figure().subplots(), at=0.15)


def test_a_summary_marks_its_thresholds_and_ends_each_curve_with_its_rows():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 600)
    y = (rng.random(600) < p).astype(int)
    summary = bc.clinical_summary(y, {"high": p, "low": p / 4}, [0.01, 0.3], draws=200, rng=1)
    ax = plot_decision_curve(summary, Figure(figsize=(8, 6)).subplots())
    lines = drawn(ax)
    t, low = lines["model 1"].get_xdata(), lines["model 1"].get_ydata()
    last = t[~np.isnan(low)].max()
    assert (p / 4 >= last).sum() >= 5 > (p / 4 >= last + 0.01).sum()
    assert not np.isnan(lines["model 0"].get_ydata()).any()
    useful = summary.net_benefit.p_useful["high"][1]
    stated = "> 0.99" if useful > 0.99 else f"{useful:.2f}"
    # few rows lie below 0.01: the probability is not stated
    assert ax.get_title(loc="left").split("\n")[0] == "P(useful) at 0.01: high -, low -"
    assert ax.get_title(loc="left").split("\n")[1].startswith(f"P(useful) at 0.3: high {stated}")
    with pytest.raises(ValueError, match="a summary marks its own"):
        plot_decision_curve(summary, Figure().subplots(), at=0.3)
    without = plot_decision_curve(bc.clinical_summary(y, p, draws=200, rng=1), Figure().subplots())
    assert not [name for name in drawn(without) if name.startswith("chosen")]


# --- loss ratios


def test_the_ratio_is_drawn_where_enough_rows_are_decided_wrongly():
    ax = bc.plot_loss_ratio(RATIO, Figure().subplots(), prob=0.9)
    x, y = drawn(ax)["ratio"].get_xydata().T
    np.testing.assert_array_equal(x, RATIO.thresholds)
    np.testing.assert_array_equal(np.isnan(y), RATIO.few_wrong)
    np.testing.assert_allclose(y[~RATIO.few_wrong], RATIO.ratio.mean()[~RATIO.few_wrong])
    (band,) = [each for each in ax.collections if each.get_gid() == "band"]
    corners = band.get_paths()[0].vertices[:, 1]
    low, _ = RATIO.ratio.interval(0.9)
    assert corners.min() == pytest.approx(low[~RATIO.few_wrong].min())
    y, p = np.repeat([1, 0, 1], [4, 96, 100]), np.repeat([0.02, 0.98], 100)
    few = bc.loss_ratio(y, p, Y[:1000], P[:1000], thresholds=[0.4, 0.6], rng=1)
    with pytest.raises(ValueError, match="at least two thresholds at which 5 or more test rows"):
        bc.plot_loss_ratio(few, Figure().subplots())


def test_other_results_have_no_loss_ratio():
    with pytest.raises(TypeError, match="`result` must be a LossRatio, not NetBenefit"):
        bc.plot_loss_ratio(result(), Figure().subplots())


@pytest.mark.parametrize("size", [(2.6, 3), (10, 3)])
def test_a_loss_ratio_lies_within_the_figure(size):
    figure = Figure(figsize=size)
    ax = bc.plot_loss_ratio(RATIO, figure.subplots())
    figure.savefig(BytesIO())
    box = ax.get_tightbbox()
    assert min(box.x0, box.y0) >= -1
    assert box.x1 <= figure.bbox.x1 + 1
    assert box.y1 <= figure.bbox.y1 + 1


def test_example_of_chosen_points():
    dc = bc.decisions.net_benefit([0, 1, 1, 0] * 50, [0.2, 0.7, 0.9, 0.4] * 50, [0.3, 0.5, 0.8], rng=1)
    points = chosen_points(dc, 0.5)
    assert [each.tolist() for each in (points.mean["model"].round(2), points.p_useful["model"])] == [[0.49], [1.0]]


# --- selective prediction


def kept(n=1):
    models = {
        f"model {i}": np.clip(P + 0.1 * i * np.random.default_rng(i).standard_normal(2000), 0, 1) for i in range(n)
    }
    y_prob = models if n > 1 else P
    return bc.decisions.selective(Y, y_prob, target="confidence", draws=200, rng=1)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_selective_risks_are_drawn(n, simultaneous):
    result = kept(n)
    ax = plot_selective(result, Figure().subplots(), prob=0.8, simultaneous=simultaneous, risk=0.1)
    lines = drawn(ax)
    bands = [each for each in ax.collections if each.get_gid() == "band"]
    assert len(bands) == n
    for name, band in zip(result.classifiers, bands, strict=True):
        np.testing.assert_array_equal(lines[f"risk of {name}"].get_ydata(), result.risk[name].mean())
        np.testing.assert_array_equal(lines[f"observed risk of {name}"].get_ydata(), result.observed[name])
        low, high = result.risk[name].band(0.8) if simultaneous else result.risk[name].interval(0.8)
        corners = band.get_paths()[0].vertices
        assert set(low) | set(high) <= set(corners[:, 1])
    assert set(lines["risk"].get_ydata()) == {0.1}
    labels = [each.get_text() for each in ax.texts]
    assert ax.get_ylim()[0] == 0
    low, high = result.largest_share(0.1)[result.classifiers[0]].interval(0.8)
    title = ax.get_title(loc="left") or ax.get_title() or " ".join(labels)
    assert "Largest share at risk 0.1" in title
    assert ("2 of 3 classifiers" in title) == (n == 3)
    assert f"{low:.2f}"[:4] in title


def test_small_axes_have_short_words_and_titles_state_the_area():
    large, small = (plot_selective(kept(), Figure(figsize=size).subplots()) for size in ((6.4, 4.6), (3, 2.4)))
    assert large.get_xlabel() == "share of predictions that are kept, the most confident first"
    assert small.get_xlabel() == "share of predictions that are kept"
    assert "AUGRC (smaller is better): 0." in large.get_title(loc="left")
    assert "AUGRC: 0." in small.get_title(loc="left")


def test_a_selective_plot_refuses():
    with pytest.raises(TypeError, match="`result` must be a SelectivePrediction, not LossRatio"):
        plot_selective(RATIO)
    for options, said in (
        ({"risk": 5}, "`risk` must lie"),
        ({"prob": 1}, "`prob` must lie"),
        ({"color": "x"}, "color"),
    ):
        with pytest.raises(ValueError, match=said):
            plot_selective(kept(), Figure().subplots(), **options)
