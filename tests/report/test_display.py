"""CalibrationDisplay: scikit-learn's numbers and habits, with bars."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.calibration import CalibratedClassifierCV
from sklearn.calibration import CalibrationDisplay as Theirs
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import bayescal as bc

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(None, None, 2), slice(1, None, 2)
FEW = {"rng": 1, "draws": 50}


def axes(size=(5.6, 6.4)):
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.subplots()


@pytest.fixture(scope="module")
def fitted():
    return GaussianNB().fit(X[TRAIN], Y[TRAIN])


def same_numbers(ours, theirs):
    np.testing.assert_allclose(ours.prob_true, theirs.prob_true, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.prob_pred, theirs.prob_pred, rtol=0, atol=1e-12)


ESTIMATORS = {
    "classifier": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "grid search": GridSearchCV(DecisionTreeClassifier(random_state=0), {"min_samples_leaf": [11, 23]}, cv=3),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
def test_numbers_of_an_estimator_are_those_of_scikit_learn(name, words):
    y = np.array(["malignant", "benign"])[Y] if words else Y
    estimator = ESTIMATORS[name].fit(X[TRAIN], y[TRAIN])
    positive = [None, *estimator.classes_.tolist()]
    for pos_label in positive:
        ours = bc.CalibrationDisplay.from_estimator(
            estimator, X[TEST], y[TEST], n_bins=7, pos_label=pos_label, ax=axes(), **FEW
        )
        theirs = Theirs.from_estimator(estimator, X[TEST], y[TEST], n_bins=7, pos_label=pos_label)
        same_numbers(ours, theirs)
        np.testing.assert_array_equal(ours.y_prob, theirs.y_prob)
        assert ours.pos_label == theirs.pos_label
        assert ours.estimator_name == ours.name == theirs.estimator_name == type(estimator).__name__
        assert ours.evaluation.counts.target == "event"


@pytest.mark.slow
@pytest.mark.parametrize("n_bins", [1, 2, 5, 15, 40])
@pytest.mark.parametrize("seed", range(5))
def test_numbers_of_predictions_are_those_of_scikit_learn(n_bins, seed):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 1.1, 600 if n_bins != 40 else 640)
    y = (rng.random(len(p)) < p).astype(int)
    n = len(p) // n_bins * n_bins  # with equal numbers of rows, both choose the same bins
    for strategy in ("uniform", "quantile"):
        ours = bc.CalibrationDisplay.from_predictions(
            y[:n], p[:n], n_bins=n_bins, strategy=strategy, ax=axes((3, 3)), model="dirichlet", **FEW
        )
        same_numbers(ours, Theirs.from_predictions(y[:n], p[:n], n_bins=n_bins, strategy=strategy))


def test_where_bins_differ_from_scikit_learn():
    """On an inner edge: ours are [a, b), theirs (a, b]."""
    y, p = [0, 1, 1, 1], [0.1, 0.5, 0.5, 0.9]
    ours = bc.CalibrationDisplay.from_predictions(y, p, n_bins=2, ax=axes(), **FEW)
    theirs = Theirs.from_predictions(y, p, n_bins=2)
    np.testing.assert_allclose(ours.prob_true, [0, 1])
    np.testing.assert_allclose(theirs.prob_true, [2 / 3, 1])


def test_the_default_is_fifteen_bins(fitted):
    display = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], ax=axes(), **FEW)
    assert len(display.evaluation.counts.bins) == 15
    expected = bc.evaluate(Y[TEST], fitted.predict_proba(X[TEST])[:, 1], **FEW)
    assert display.evaluation.spec == expected.spec
    np.testing.assert_array_equal(display.evaluation.ece.values, expected.ece.values)
    options = {"model": "dirichlet", "weights": np.arange(len(Y[TEST])), "n_bins": [0, 0.3, 1]}
    weighted = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], ax=axes(), **options, **FEW)
    assert weighted.evaluation.counts.weighted
    assert weighted.evaluation.model == "dirichlet"
    assert weighted.evaluation.counts.bins.edges.tolist() == [0, 0.3, 1]


def test_several_classes_are_the_top_label_and_one_class_an_event():
    features, y = load_iris(return_X_y=True, as_frame=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    estimator = LogisticRegression(max_iter=500).fit(features[::2], words[::2])
    matrix = estimator.predict_proba(features[1::2])
    top = bc.CalibrationDisplay.from_estimator(estimator, features[1::2], words[1::2], ax=axes(), **FEW)
    assert top.evaluation.counts.target == "top-label"
    expected = bc.evaluate(words[1::2], matrix, classes=estimator.classes_, **FEW)
    np.testing.assert_array_equal(top.evaluation.ece.values, expected.ece.values)
    assert top.pos_label is None
    one = bc.CalibrationDisplay.from_estimator(
        estimator, features[1::2], words[1::2], pos_label="virginica", ax=axes(), **FEW
    )
    same_numbers(one, Theirs.from_predictions(words[1::2] == "virginica", matrix[:, 2], n_bins=15))
    frame = pd.DataFrame(matrix, columns=estimator.classes_)
    predicted = bc.CalibrationDisplay.from_predictions(words[1::2], frame, ax=axes(), **FEW)
    np.testing.assert_array_equal(predicted.evaluation.ece.values, expected.ece.values)


def test_what_is_drawn_is_what_is_stored(fitted):
    ax = axes()
    display = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], name="bayes", ax=ax, prob=0.8, **FEW)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.line_ in ax.get_lines()
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.prob_true)
    (bars,) = [each for each in ax.collections if each.get_gid() == "credible intervals"]
    occupied = display.evaluation.counts.occupied
    ends = np.array(bars.get_segments())[:, :, 1]
    drawn = display.evaluation.bin_draws.accuracy[:, occupied]
    np.testing.assert_allclose(ends, np.quantile(drawn, [0.1, 0.9], axis=0).T)
    assert ax.get_ylabel() == "event rate (positive class: 1)"
    assert ax.child_axes[0].get_xlabel() == "stated probability (positive class: 1)"
    low, high = display.evaluation.ece.interval(0.8)
    assert (
        repr(display)
        == f"CalibrationDisplay(bayes: event ECE {display.evaluation.ece.mean():.3f} [{low:.3f}, {high:.3f}])"
    )


@pytest.mark.slow
def test_a_second_display_is_added_to_the_axes(fitted):
    other = LogisticRegression(max_iter=5000).fit(X[TRAIN], Y[TRAIN])
    first = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], **FEW)
    before = list(first.ax_.get_lines())
    second = bc.CalibrationDisplay.from_estimator(other, X[TEST], Y[TEST], ax=first.ax_, name="other", **FEW)
    assert second.ax_ is first.ax_
    assert plt.get_fignums() == [1]
    assert [line for line in first.ax_.get_lines() if line in before] == before
    gids = [line.get_gid() for line in first.ax_.get_lines()]
    assert gids.count("diagonal") == 1
    assert gids.count("observed") == 2
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_marker() != second.line_.get_marker()
    words = [text.get_text().split(":")[0] for text in first.ax_.child_axes[1].get_legend().get_texts()]
    assert words == ["GaussianNB", "other"]
    assert len(first.ax_.child_axes) == 2
    first.figure_.canvas.draw()
    # the same picture as that of both evaluations together
    together = bc.plot_reliability({"GaussianNB": first.evaluation, "other": second.evaluation}, axes())
    for gid in ("observed", "diagonal"):
        for one, another in zip(first.ax_.get_lines(), together.get_lines(), strict=True):
            if one.get_gid() == gid:
                np.testing.assert_array_equal(one.get_xydata(), another.get_xydata())
    assert first.ax_.get_xlim() == together.get_xlim()


def test_axes_that_were_cleared_are_new_again(fitted):
    ax = axes()
    display = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], ax=ax, **FEW)
    ax.clear()
    display.plot(ax=ax)
    assert len(ax.child_axes) == 2
    assert len([line for line in ax.get_lines() if line.get_gid() == "observed"]) == 1
    ax.figure.canvas.draw()


def test_other_diagrams_are_not_mixed(fitted):
    taken = bc.plot_reliability(bc.evaluate([0, 1], [0.2, 0.7], **FEW), axes())
    display = bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], ax=axes(), **FEW)
    with pytest.raises(ValueError, match="`ax` already holds a reliability diagram"):
        display.plot(ax=taken)
    confidence = bc.CalibrationDisplay(bc.evaluate([0, 1], [0.2, 0.7], target="confidence", **FEW))
    with pytest.raises(ValueError, match=r"'event'.*'confidence'"):
        confidence.plot(ax=display.ax_)
    lines = len(display.ax_.get_lines())
    with pytest.raises(TypeError, match=r"`CalibrationDisplay.plot` takes no 'colour'\. Did you mean 'color'"):
        display.plot(ax=display.ax_, colour="k")
    with pytest.raises(ValueError, match="`color` must be a color of matplotlib"):
        display.plot(ax=display.ax_, color="bluee")
    assert len(display.ax_.get_lines()) == lines
    fresh = axes()
    with pytest.raises(ValueError, match="`color`"):
        display.plot(ax=fresh, c="bluee")
    assert fresh.child_axes == []


def test_keywords_of_the_line(fitted):
    display = bc.CalibrationDisplay.from_estimator(
        fitted, X[TEST], Y[TEST], ref_line=False, c="tab:red", marker="x", ls=":", ax=axes(), **FEW
    )
    assert (to_hex(display.line_.get_color()), display.line_.get_marker()) == ("#d62728", "x")
    assert display.line_.get_linestyle() == ":"
    assert not [line for line in display.ax_.get_lines() if line.get_gid() == "diagonal"]
    display.plot(ax=axes(), label="mine")
    assert display.line_.get_label() == "mine"
    with pytest.raises(TypeError, match="color"):
        display.plot(ax=axes(), c="k", color="k")


def test_an_estimator_that_is_not_fitted_says_so_itself():
    for estimator in (
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
        GridSearchCV(GaussianNB(), {}),
    ):
        with pytest.raises(NotFittedError):
            bc.CalibrationDisplay.from_estimator(estimator, X, Y)


class NoClasses:
    """As a wrapper of a network."""

    def predict_proba(self, features):
        return np.full((len(features), 2), 0.5)


class Wrong(NoClasses):
    classes_ = np.array([0, 1, 2])


class Several(NoClasses):
    classes_ = (np.array([0, 1]), np.array([0, 1]))

    def predict_proba(self, features):
        return [super().predict_proba(features)] * 2


@pytest.mark.parametrize(
    ("estimator", "error", "said"),
    [
        (
            LinearSVC().fit(X[:50], Y[:50]),
            TypeError,
            r"no `predict_proba` \(LinearSVC\).*CalibratedClassifierCV.*`from_predictions`",
        ),
        (LinearRegression().fit(X, Y), TypeError, "has no `predict_proba`"),
        (make_pipeline(StandardScaler(), LinearSVC()).fit(X, Y), TypeError, r"no `predict_proba` \(Pipeline\)"),
        (None, TypeError, r"no `predict_proba` \(NoneType\)"),
        (NoClasses(), TypeError, "has no `classes_`.*`from_predictions`"),
        (Wrong(), ValueError, r"`estimator` must predict one label per row.*\[0, 1, 2\]"),
        (Several(), ValueError, "`estimator` must predict one label per row.*several outputs"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators_that_cannot_be_evaluated(estimator, error, said):
    with pytest.raises(error, match=said):
        bc.CalibrationDisplay.from_estimator(estimator, X, Y)


def test_labels_must_be_classes_of_the_estimator(fitted):
    with pytest.raises(ValueError, match=r"`y` must be labels from the classes of `estimator` \[0, 1\]; 1 of 284"):
        bc.CalibrationDisplay.from_estimator(fitted, X[TEST], np.append(Y[TEST][1:], 2))
    with pytest.raises(ValueError, match=r"`pos_label` must be a class of `estimator`, one of \[0, 1\], not 'yes'"):
        bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y[TEST], pos_label="yes")
    with pytest.raises(ValueError, match=r"`y`.*`X`"):
        bc.CalibrationDisplay.from_estimator(fitted, X[TEST], Y)


@pytest.mark.parametrize(
    ("y", "pos_label", "expected", "positive"),
    [
        ([0, 1, 1], None, [0, 1, 1], 1),
        ([-1, 1, 1], None, [0, 1, 1], 1),
        ([False, True, True], None, [0, 1, 1], 1),
        ([0, 0, 0], None, [0, 0, 0], 1),
        ([1.0, 0.0, 1.0], 0, [0, 1, 0], 0),
        ([1, 1, 1], 0, [0, 0, 0], 0),
        (["no", "yes", "no"], "yes", [0, 1, 0], "yes"),
        ([5, 7, 5], 5, [1, 0, 1], 5),
    ],
)
def test_the_positive_label_is_that_of_scikit_learn(y, pos_label, expected, positive):
    p = [0.1, 0.3, 0.9]
    ours = bc.CalibrationDisplay.from_predictions(y, p, pos_label=pos_label, n_bins=3, ax=axes(), **FEW)
    assert ours.evaluation.counts.k.sum() == sum(expected)
    assert ours.pos_label == positive
    assert ours.name == "Classifier"
    if len(set(y)) == 2:
        same_numbers(ours, Theirs.from_predictions(y, p, pos_label=pos_label, n_bins=3))


@pytest.mark.parametrize(
    ("y", "options", "said"),
    [
        (["no", "yes", "no"], {}, r"`pos_label` is needed.*\['no', 'yes'\].*`pos_label='yes'`"),
        ([1, 2, 1], {}, r"`pos_label` is needed.*\[1, 2\]"),
        (["no", "yes", "no"], {"pos_label": "Yes"}, "`pos_label` must be a label of `y_true`.*not 'Yes'"),
        ([0, 1, 0], {"pos_label": "1"}, "`pos_label` must be a label of `y_true`.*not '1'"),
        ([0, 1, 2], {}, "`y_true` must have at most two labels.*it has 3"),
        ([0, np.nan, 1], {}, "`y_true` must be finite|`y_true` must be complete"),
        ([0, 1, 1], {"strategy": "quantiles"}, "`strategy`.*Did you mean 'quantile'"),
        ([0, 1, 1], {"n_bins": 0}, "`n_bins` must be an integer >= 1"),
        ([0, 1, 1], {"prob": 95}, "`prob`"),
    ],
)
def test_predictions_that_are_refused(y, options, said):
    with pytest.raises(ValueError, match=said):
        bc.CalibrationDisplay.from_predictions(y, [0.1, 0.3, 0.9], **options)


def test_columns_with_other_indexes_are_refused(fitted):
    y, p = pd.Series([0, 1, 1], index=[2, 1, 0]), pd.Series([0.1, 0.3, 0.9], index=[0, 1, 2])
    p.index = [1, 2, 0]
    with pytest.raises(ValueError, match="`y_prob` must have the index of `y_true`"):
        bc.CalibrationDisplay.from_predictions(y, p)
    frame, labels = pd.DataFrame(X[TEST]), pd.Series(Y[TEST])
    with pytest.raises(ValueError, match="`y` must have the index of `X`"):
        bc.CalibrationDisplay.from_estimator(fitted, frame, labels.iloc[::-1])


def test_a_matrix_has_no_positive_class():
    with pytest.raises(ValueError, match="`pos_label` needs the probabilities of that class alone"):
        bc.CalibrationDisplay.from_predictions([0, 1], [[0.5, 0.5], [0.2, 0.8]], pos_label=1)
    with pytest.raises(TypeError, match="`evaluation` must be an Evaluation, not ndarray: use `from_estimator`"):
        bc.CalibrationDisplay(np.array([0.5]), np.array([0.5]))


@pytest.mark.slow
def test_scikit_learn_is_not_imported():
    code = """
import sys
import bayescal as bc
from matplotlib.figure import Figure
class Classifier:
    classes_ = ["no", "yes"]
    def predict_proba(self, X):
        return [[1 - x, x] for x in X]
bc.CalibrationDisplay.from_estimator(Classifier(), [0.2, 0.7], ["no", "yes"], rng=1, ax=Figure().subplots())
print([m for m in sys.modules if m.startswith("sklearn")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bins_closed_on_the_right_give_the_numbers_of_scikit_learn():
    """0.2, 0.4 and 0.6 are edges of five bins, which scikit-learn closes on the right."""
    from sklearn.calibration import calibration_curve

    y, p = [0, 1, 0, 1, 1, 0], [0.2, 0.2, 0.4, 0.5, 0.6, 0.9]
    bins = bc.make_bins(5, closed="right")
    display = bc.CalibrationDisplay.from_predictions(y, p, n_bins=bins, rng=1, ax=Figure().subplots())
    expected = calibration_curve(y, p, n_bins=5)
    np.testing.assert_allclose([display.prob_true, display.prob_pred], expected, rtol=1e-12)


def test_probabilities_whose_columns_contradict_the_classes_are_refused():
    class Swapped:
        classes_ = ("no", "yes")

        def predict_proba(self, features):
            return pd.DataFrame({"yes": [0.1, 0.2, 0.9], "no": [0.9, 0.8, 0.1]})

    with pytest.raises(ValueError, match="the same names in another order"):
        bc.CalibrationDisplay.from_estimator(Swapped(), [[0]] * 3, ["no", "no", "yes"], pos_label="yes")


def test_swapped_arguments_are_named():
    with pytest.raises(ValueError, match="are `y_true` and `y_prob` swapped"):
        bc.CalibrationDisplay.from_predictions([0.1, 0.7, 0.4], [0, 1, 0])


def test_a_missing_label_is_not_a_negative_one():
    with pytest.raises(ValueError, match="missing"):
        bc.CalibrationDisplay.from_predictions(["yes", float("nan"), "yes"], [0.1, 0.9, 0.8], pos_label="yes")


def test_a_diagram_has_one_positive_class():
    ax = Figure().subplots()
    first = {"y_true": [0, 1, 1, 0], "y_prob": [0.2, 0.7, 0.8, 0.4], "n_bins": 2, "rng": 1, "ax": ax}
    bc.CalibrationDisplay.from_predictions(**first)
    with pytest.raises(ValueError, match=r"axes mean \(positive class: 1\), not \(positive class: 0\)"):
        bc.CalibrationDisplay.from_predictions(**first, pos_label=0)
    assert len([line for line in ax.get_lines() if line.get_gid() == "observed"]) == 1


def test_on_small_axes_the_vertical_label_is_short():
    small, large = (
        bc.CalibrationDisplay.from_predictions([0, 1, 1], [0.2, 0.7, 0.8], rng=1, ax=Figure(size).subplots()).ax_
        for size in ((3, 3), (7, 7))
    )
    assert small.get_ylabel() == "event rate"
    assert large.get_ylabel() == "event rate (positive class: 1)"
    assert small.child_axes[0].get_xlabel() == "stated probability (positive class: 1)"


def test_a_class_is_no_fitted_estimator():
    with pytest.raises(TypeError, match="must be a fitted estimator, not the class LogisticRegression"):
        bc.CalibrationDisplay.from_estimator(LogisticRegression, [[0.0], [1.0]], [0, 1])
