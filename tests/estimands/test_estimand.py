"""The registry of estimands: one record, and the quantity is printed, plotted, compared and saved everywhere."""

import copy
import json
import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import bayescal as bc
from bayescal import datasets
from bayescal.app import app
from bayescal.estimands.estimand import within_limit
from bayescal.estimands.registry import as_estimand, estimand, registered
from bayescal.report.comparison import comparison_shapes
from bayescal.results.comparable import common_estimands

THRESHOLD = 0.2


@pytest.fixture
def net_benefit(registry):
    """As docs/architecture.md says: one decorated function."""

    @estimand("net benefit", better="larger", bounds=(-np.inf, 1.0), citation="Vickers and Elkin (2006), equation 1")
    def net_benefit(bin_draws):
        treated = np.broadcast_to(bin_draws.confidence, bin_draws.accuracy.shape) >= THRESHOLD
        worth = bin_draws.accuracy - (1 - bin_draws.accuracy) * THRESHOLD / (1 - THRESHOLD)
        return (bin_draws.mass * np.where(treated, worth, 0.0)).sum(axis=1)

    return net_benefit


def test_a_new_estimand_is_reported_everywhere(net_benefit, rows, tmp_path):
    y, p = rows
    ev = bc.evaluate(y, p, draws=500, rng=1)
    # net benefit at 0.2 of the true probabilities: the mean of (y - 0.25 (1 - y)) over rows with p >= 0.2
    expected = np.where(p >= THRESHOLD, y - 0.25 * ~y, 0.0).mean()
    assert ev.net_benefit.mean() == pytest.approx(expected, abs=0.02)
    assert "net_benefit" in dir(ev)
    assert "net_benefit" in str(ev)
    assert "net_benefit" in ev._repr_html_()
    assert ev.table()[-1]["quantity"] == "net_benefit"
    assert ev.table()[-1]["plug_in"] == pytest.approx(expected, abs=0.02)
    assert "net_benefit" in ev.summary().index
    assert "net_benefit" in ev.to_datatree()["posterior"]
    groups = bc.evaluate(y, p, by=np.where(p < 0.5, "low", "high"), draws=500, rng=1)
    assert groups.draws("net_benefit").values.shape == (500, 2)
    assert groups.p_largest("net_benefit")["low"] > 0.99  # the group with the smaller net benefit is the worse one
    assert "net_benefit" in groups.to_datatree()["posterior"]
    assert bc.plot_forest(groups, estimand="net_benefit").get_xlabel().startswith("net benefit")


def test_larger_is_better_where_the_record_says_so(net_benefit, rows):
    """The reversed classifier treats the wrong patients."""
    y, p = rows
    comparison = bc.compare(y, {"reversed": 1 - p, "honest": p}, draws=500, rng=1)
    assert comparison.sentence(estimand="net_benefit").startswith("honest has a larger net benefit than reversed (")
    assert comparison.decide("honest", "reversed", estimand="net_benefit")["p_left"] == 1
    assert comparison.p_best("net_benefit") == {"reversed": 0, "honest": 1}
    assert comparison.expected_ranks("net_benefit") == {"reversed": 2, "honest": 1}
    difference = comparison.difference("honest", "reversed", "net_benefit")
    assert difference.mean() > 0.3
    assert "net_benefit" in comparison.to_datatree()["posterior"]
    (row,) = comparison.table(estimand=net_benefit)
    assert (row["first"], row["p_right"]) == ("reversed", 1)


def test_pictures_point_to_the_larger_value(net_benefit, rows):
    """The difference is the first value minus the second; right of the rope the first model is better."""
    y, p = rows
    two = bc.compare(y, {"honest": p, "reversed": 1 - p}, draws=500, rng=1)
    shapes = comparison_shapes(two, estimand="net_benefit")
    np.testing.assert_allclose(shapes.differences.mean, two.difference(estimand="net_benefit").mean())
    assert shapes.differences.mean[0] > 0
    assert shapes.decided[0].tolist() == [1, 0, 0]
    difference = plotted(two).child_axes[0]
    assert difference.get_xlabel() == "net benefit of honest minus that of reversed"
    left, _, right = (text.get_text() for text in difference.texts)
    assert left == "\N{LEFTWARDS ARROW} reversed better\nP = 0.00"
    assert right == "honest better \N{RIGHTWARDS ARROW}\nP = 1.00"
    three = bc.compare(y, {"honest": p, "reversed": 1 - p, "useless": np.full(len(p), 0.5)}, draws=500, rng=1)
    labels = [ax.get_xlabel().splitlines()[0] for ax in plotted(three).child_axes]
    assert "net benefit of honest minus that of the row" in labels


def test_a_larger_value_has_risen(net_benefit, rows):
    """Now the model is honest, before it was reversed: a rise, for the better."""
    y, p = rows
    monitor = bc.monitoring.CalibrationMonitor(window=1)
    monitor.add(y, 1 - p, time=0)
    monitor.add(y, p, time=1)
    change = monitor.change(baseline=(0, 1), now=(1, 2), draws=500, rng=1)
    assert change.sentence(estimand="net_benefit").startswith("The net benefit has risen by more than 0.01 (now minus")
    assert change.sentence().startswith("The ECE has fallen")


def plotted(comparison):
    return bc.plot_comparison(comparison, Figure(figsize=(9, 8)).subplots(), estimand="net_benefit")


def test_the_command_line_compares_a_new_estimand(net_benefit, tmp_path):
    document = tmp_path / "out.json"
    columns = ["--label", "label", "--prob", "naive_bayes", "--prob", "logistic_regression"]
    asked = [datasets.path("breast_cancer"), *columns, "--estimand", "net-benefit", "--draws", 200, "--json", document]
    asked += ["--details"]
    done = CliRunner().invoke(app, ["compare", *map(str, asked)], env={"COLUMNS": "120", "TERM": "dumb"})
    assert done.exit_code == 0, done.stderr
    assert "P(best) is the probability that the classifier has the largest net benefit of all" in done.stdout
    assert json.loads(document.read_text())["parameters"]["estimand"] == "net_benefit"
    shown = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "400", "TERM": "dumb"}).stdout
    assert (
        "squared_l2_error, largest_regret, brier_score, log_score, scaled_brier_score, augrc, atb, net_benefit."
        in shown
    )


def test_a_curve_is_drawn_along_its_coordinate(registry, rows):
    thresholds = (0.1, 0.5)

    @estimand("share of rows above", better=None, coordinate=("threshold", thresholds))
    def above(bins):
        confidence = np.broadcast_to(bins.confidence, bins.mass.shape)
        return np.stack([(bins.mass * (confidence >= t)).sum(axis=1) for t in thresholds], axis=1)

    y, p = rows
    ev = bc.evaluate(y, p, draws=200, rng=1)
    assert ev.above.values.shape == (200, 2)
    np.testing.assert_allclose(ev.above.mean(), [np.mean(p >= t) for t in thresholds], atol=0.05)
    assert "above" not in [row["quantity"] for row in ev.table()]
    curve = ev.to_datatree()["posterior"]["above"]
    assert curve.dims == ("chain", "draw", "threshold")
    np.testing.assert_allclose(curve.threshold, thresholds)
    comparison = bc.compare(y, {"a": p, "b": p**2}, draws=200, rng=1)
    assert "above" not in common_estimands(comparison.evaluations.values())
    groups = bc.evaluate(y, p, by=p > 0.5, draws=200, rng=1)
    for ask in (comparison.p_best, groups.p_best, groups.expected_ranks, ev.row, ev.plug_in_of):
        with pytest.raises(ValueError, match=r"`estimand` 'above' is a curve; its draws are `evaluation\.above`"):
            ask("above")
    with pytest.raises(ValueError, match="`coordinate` must have a name of its own; 'threshold' is taken"):
        estimand("x", coordinate=("threshold", (0.3,)))(lambda_named("other"))
    with pytest.raises(ValueError, match="`coordinate` must have a name of its own; 'bin' is taken"):
        estimand("x", coordinate=("bin", (0.3,)))(lambda_named("other"))


def lambda_named(name):
    def function(bins):
        return np.zeros((len(bins), 1))

    function.__name__ = name
    return function


def test_nothing_is_ranked_by_a_quantity_without_a_direction(registry, rows):
    @estimand("share of positives", better=None)
    def prevalence(bins):
        return (bins.mass * bins.accuracy).sum(axis=1)

    y, p = rows
    comparison = bc.compare(y, {"a": p, "b": p**2}, draws=200, rng=1)
    assert comparison.difference(estimand="prevalence").mean() == pytest.approx(0, abs=0.05)
    for ask in (comparison.decide, comparison.sentence, comparison.p_best):
        with pytest.raises(ValueError, match="`estimand` 'prevalence' has no better direction"):
            ask(estimand="prevalence")


def test_records_that_cannot_be_are_refused(registry):
    for name in ("two words", "_hidden", "class"):
        with pytest.raises(ValueError, match="`name` must be an identifier without a leading underscore"):
            bc.register_estimand(bc.Estimand(name, bc.ece, "x"))
    with pytest.raises(ValueError, match="`name` must not be 'counts', which means something else"):
        bc.register_estimand(bc.Estimand("counts", bc.ece, "x"))
    with pytest.raises(ValueError, match="`better` must be one of"):
        bc.Estimand("x", bc.ece, "x", better="bigger")
    with pytest.raises(ValueError, match=r"`bounds` must be \(smallest, largest\)"):
        bc.Estimand("x", bc.ece, "x", bounds=(1, 0))
    with pytest.raises(ValueError, match="`bounds` must be"):
        bc.Estimand("x", bc.ece, "x", bounds=None)
    with pytest.raises(ValueError, match="`needs` must be one of"):
        bc.Estimand("x", bc.ece, "x", needs=frozenset({"loss"}))
    with pytest.raises(TypeError, match="`needs` must be a set"):
        bc.Estimand("x", bc.ece, "x", needs="losses")
    with pytest.raises(TypeError, match="`function` must be a function of BinDraws, not NoneType"):
        bc.Estimand("x", None, "x")
    with pytest.raises(ValueError, match="`name` must be new; 'ece' is registered already, for another function"):
        bc.register_estimand(bc.Estimand("ece", bc.e90_bins, "ECE"))
    with pytest.raises(TypeError, match="`estimand` must be a name, an Estimand or a function of BinDraws, not int"):
        as_estimand(3)


@pytest.mark.parametrize(
    ("function", "returned"),
    [
        (lambda bins: bins.gap, r"float64 of shape \(50, 15\)"),
        (lambda bins: bins.mass[:, 0] > 0, r"bool of shape \(50,\)"),
        (lambda bins: np.array(["a"] * len(bins)), r"<U1 of shape \(50,\)"),
    ],
)
def test_what_a_function_returns_is_checked(rows, function, returned):
    with pytest.raises(TypeError, match=rf"`estimand` '<lambda>' must return one number per draw.*{returned}"):
        bc.evaluate(*rows, draws=50, rng=1).draws(function)


def test_an_attribute_that_a_model_lacks_says_so(rows):
    ev = bc.evaluate(*rows, model="dirichlet", draws=50, rng=1)
    for name in ("p_calibrated", "bayes_factor", "sub_models", "parameters"):
        with pytest.raises(AttributeError, match=f"`{name}` exists for model='shrinkage' only; this is model='dirich"):
            getattr(ev, name)


def test_functions_of_the_name_of_an_estimand_are_their_own(rows):
    def ece(bins):
        return np.full(len(bins), 0.5)

    y, p = rows
    ev = bc.evaluate(y, p, draws=50, rng=1)
    assert ev.draws(ece).mean() == 0.5
    groups = bc.evaluate(y, p, by=p > 0.5, draws=50, rng=1)
    np.testing.assert_array_equal(groups.draws(ece).values, 0.5)


def test_estimands_of_copies_and_pickles(rows):
    ev = bc.evaluate(*rows, draws=100, rng=1)
    for other in (copy.copy(ev), copy.deepcopy(ev), pickle.loads(pickle.dumps(ev))):
        np.testing.assert_array_equal(other.e90_bins.values, ev.e90_bins.values)
    with pytest.raises(AttributeError, match="'Evaluation' has no attribute 'max_eror'"):
        _ = ev.max_eror


def test_rows_of_a_table_name_the_symbol_that_is_another_word(rows):
    ev = bc.evaluate(*rows, draws=50, rng=1)
    assert [row[0] for row in ev.sheet().rows][:4] == ["ece", "l2_error", "E90 of bins", "signed_error"]
    assert ev.table()[2]["quantity"] == "e90_bins"


def test_the_better_side_depends_on_the_estimand():
    values = np.array([-0.9, 0.1, 0.2, 0.8])
    shares = [within_limit(values, 0.5, registered()[name]) for name in ("ece", "auc", "signed_error")]
    assert shares == [0.75, 0.25, 0.5]
