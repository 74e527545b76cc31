"""Forest plots: what is drawn is what was computed, rows keep their order, and names their differences."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal import Estimand
from bayescal._render import wrapped
from bayescal.report.forest import forest, one_line_each, plot_forest

LONG = [f"resnet50_imagenet_finetuned_epoch_{k}0 with temperature" for k in range(1, 9)]


def said(ax):
    return [t.get_text() for t in ax.texts]


def test_forest_by_hand():
    """0, 1, ..., 1000 over 1000: quantiles of linear interpolation are the probabilities themselves."""
    rows = forest(["a", "b"], np.stack([np.arange(1001) / 1000, np.arange(1001) / 500], axis=1), 0.8)
    np.testing.assert_allclose(rows.low, [0.1, 0.2])
    np.testing.assert_allclose(rows.high, [0.9, 1.8])
    np.testing.assert_allclose(rows.inner_low, [0.25, 0.5])
    np.testing.assert_allclose(rows.inner_high, [0.75, 1.5])
    np.testing.assert_allclose(rows.mean, [0.5, 1])


def grouped(n_groups=3, n=300):
    rng = np.random.default_rng(4)
    p = rng.random(n)
    by = np.array([f"site {k}" for k in range(n_groups)])[np.arange(n) % n_groups]
    by[0] = "single"
    return bc.evaluate((rng.random(n) < p).astype(int), p, by=by, rng=1, draws=200, model="dirichlet")


def test_forest_of_groups(page, part, assert_words_apart):
    made = grouped()
    ax = plot_forest(made, page((6, 3)).subplots(), estimand="e90_bins", prob=0.8, order="given")
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names == ["single (n = 1)", "site 0 (n = 99)", "site 1 (n = 100)", "site 2 (n = 100)", "all rows (n = 300)"]
    evaluations = [*made.values(), made.overall]
    dots = np.asarray(part(ax, "mean").get_offsets())
    np.testing.assert_allclose(dots, [[e.e90_bins.mean(), i] for i, e in enumerate(evaluations)])
    bars = np.array(part(ax, "interval").get_segments())[:, :, 0]
    np.testing.assert_allclose(bars, [e.e90_bins.interval(0.8) for e in evaluations])
    assert ax.yaxis_inverted()  # the first at the top
    assert_words_apart(ax.figure)


@pytest.mark.parametrize("n_groups", [1, 30, 150])
def test_forest_of_few_and_many(n_groups, part, assert_words_apart):
    ax = plot_forest(grouped(n_groups))
    assert len(part(ax, "mean").get_offsets()) == n_groups + 2
    assert_words_apart(ax.figure)


def test_forest_of_a_mapping(page):
    made = grouped()
    ax = plot_forest({"one": made["site 1"], "two": made["site 2"]}, page((6, 3)).subplots())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["one (n = 100)", "two (n = 100)"]
    fewer = bc.evaluate([0, 1], [0.1, 0.2], draws=10)
    for wrong, error, message in [
        ([1], TypeError, "must be a GroupedEvaluation"),
        ({}, ValueError, "is empty"),
        ({"a": 1}, TypeError, r"evaluations\['a'\]"),
        ({"a": made["site 1"], "b": fewer}, ValueError, "number of draws"),
    ]:
        with pytest.raises(error, match=message):
            plot_forest(wrong)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("short", ["short"]),
        ("logistic_regression_l2", ["logistic_", "regression_", "l2"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdef...xyz"]),
        ("two words and more", ["two words", "and more"]),
        ("electroencephalography_unspecified lead", ["electr...hy_", "unspecified", "lead"]),
        ("site 3 (n = 167)", ["site 3", "(n = 167)"]),
        ("", [""]),
    ],
)
def test_names_are_broken_after_signs(name, lines):
    assert wrapped(name, 12).split("\n") == lines


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["site a", "site b"], ["site a", "site b"]),
        (["a long name of its own", "x"], ["a long ...own", "x"]),
        (LONG[:2], ["...10 wi...re", "...20 wi...re"]),
    ],
)
def test_names_on_one_line_stay_different(names, lines):
    assert one_line_each(names, 13) == lines


def test_a_forest_of_sixty_rows_names_all_of_them(page, assert_words_apart):
    ax = plot_forest(grouped(60))
    assert len(ax.get_yticklabels()) == 62  # groups, one of a single row, and all rows
    assert "not all rows are named" not in ax.get_xlabel()
    assert_words_apart(ax.figure)
    ax = plot_forest(grouped(60), page((6, 4)).subplots())
    assert len(ax.get_yticklabels()) < 62
    assert "some rows have no label, for lack of space" in ax.get_xlabel()


def test_the_worst_rows_of_a_forest(page):
    made = grouped(12)
    accuracy = Estimand(
        "accuracy_of_draw", lambda bins: (bins.mass * bins.accuracy).sum(axis=1), "accuracy", better="larger"
    )
    for estimand, badness in (("ece", float), ("signed_error", abs), (accuracy, lambda mean: -mean)):
        means = {
            name: badness(made[label].draws(estimand).mean()) for name, label in zip(made.names, made, strict=True)
        }
        worst = sorted(means, key=means.__getitem__, reverse=True)[:3]
        for order in ({}, {"order": "worst first"}):
            ax = plot_forest(made, page((6, 4)).subplots(), estimand=estimand, most=3, **order)
            names = [label.get_text().split(" (")[0] for label in ax.get_yticklabels()]
            assert names == [*worst, "all rows"]
        assert "the worst 3 of 13 rows" in ax.get_xlabel()
        ax = plot_forest(made, page((6, 4)).subplots(), estimand=estimand, most=3, order="given")
        assert [label.get_text().split(" (")[0] for label in ax.get_yticklabels()] == [
            *(name for name in made.names if name in worst),
            "all rows",
        ]
    for keywords, said in (
        ({"most": 0}, "`most` must be an integer >= 1"),
        ({"order": "size"}, "`order` must be one of"),
    ):
        with pytest.raises(ValueError, match=said):
            plot_forest(made, page((6, 4)).subplots(), **keywords)


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
