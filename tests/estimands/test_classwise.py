"""Means over classes."""

import numpy as np
import pytest

import bayescal as bc
from bayescal import Draws
from bayescal.estimands.classwise import classwise_mean, jointly_exact, marginal_mean, root_mean_square


@pytest.fixture
def by_class():
    return Draws(np.array([[0.1, 0.2, 0.6], [0.0, 0.3, 0.3]]))


def test_by_hand(by_class):
    np.testing.assert_allclose(classwise_mean(by_class).values, [0.3, 0.2])
    np.testing.assert_allclose(marginal_mean(by_class, [0.5, 0.25, 0.25]).values, [0.25, 0.15])
    assert classwise_mean(by_class).name == "classwise_ece"
    assert marginal_mean(by_class, [0.5, 0.25, 0.25]).name == "marginal_error"


def test_equal_frequencies_make_them_equal(by_class):
    np.testing.assert_allclose(marginal_mean(by_class, np.full(3, 1 / 3)).values, classwise_mean(by_class).values)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ([0.5, 0.5], "`frequency` has 2, `by_class` has 3"),
        ([0.5, 0.5, 0.5], "must be >= 0 and sum to 1; it sums to 1.5"),
        ([1.5, -0.5, 0.0], "must be >= 0 and sum to 1"),
        ([50, 25, 25], "it sums to 100"),
    ],
)
def test_frequencies_that_are_none(by_class, frequency, message):
    with pytest.raises(ValueError, match=message):
        marginal_mean(by_class, frequency)


@pytest.mark.parametrize(
    ("log_bayes_factors", "share"),
    [([1.0, 2.0], 0.05), ([3.0, -1.0], 0.05), ([-1.0, 0.0], 0.05 / np.e), ([-40.0, 1.0], 0.0), ([800.0], 0.05)],
)
def test_all_classes_are_exact_in_at_most_five_percent(log_bayes_factors, share):
    chosen = jointly_exact(log_bayes_factors, 10_000, rng=1)
    assert abs(chosen.sum() - share * 10_000) <= 1
    if share:
        assert 0.3 < chosen[:5000].sum() / chosen.sum() < 0.7  # anywhere among the draws
    np.testing.assert_array_equal(chosen, jointly_exact(log_bayes_factors, 10_000, rng=1))


def test_the_mean_over_calibrated_classes_can_be_zero():
    """Ten calibrated classes; independent posteriors are never exact in all classes at once."""
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, (1000, 10))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1).clip(max=9)
    ev = bc.evaluate(y, p, target="classwise", rng=1)
    for mean in (ev.ece, ev.marginal_error):
        low, high = mean.interval(0.95)
        assert low == 0 < high < 0.03
    earlier = bc.evaluate(y, p, target="classwise", rng=1, sub_models=["independent"])
    assert earlier.ece.interval(0.95)[0] > 0.0005
    assert not earlier.exact.any()
    assert not bc.evaluate(y, p, target="classwise", rng=1, model="dirichlet").exact.any()


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 2.0, 3.0], 300)
    y = np.array([rng.choice(3, p=row) for row in p])
    return y, p, bc.evaluate(y, p, target="classwise", rng=1, draws=500)


def test_the_table_of_another_estimand(three_classes):
    """The plug-in signed error of a class is its frequency minus its mean probability, whatever the bins are."""
    y, p, ev = three_classes
    by_class = np.array([(y == k).mean() - p[:, k].mean() for k in range(3)])
    frequency = np.bincount(y) / len(y)
    table = ev.table(0.8, estimand="signed_error")
    assert [row["quantity"] for row in table] == [
        "classwise signed_error", "marginal signed_error", "class 0", "class 1", "class 2"
    ]  # fmt: skip
    plug_in = [row["plug_in"] for row in table]
    np.testing.assert_allclose(plug_in, [0, by_class @ frequency, *by_class], atol=1e-12)
    for k, row in enumerate(table[2:]):
        alone = ev[k].row("signed_error", 0.8)
        assert {n: row[n] for n in row if n != "quantity"} == pytest.approx(
            {n: alone[n] for n in row if n != "quantity"}
        )
    joint = np.where(ev.exact[:, None], 0, ev.draws("signed_error").values)
    assert table[0]["mean"] == 0  # known, because the signed errors of a row add up to 0
    assert table[1]["high"] == pytest.approx(np.quantile(joint @ frequency, 0.9))
    assert table[1]["null_mean"] == pytest.approx(frequency @ [row["null_mean"] for row in table[2:]])


def test_the_table_is_of_the_ece_by_default(three_classes):
    _, _, ev = three_classes
    assert ev.table() == ev.table(estimand="ece")
    assert [row["quantity"] for row in ev.table()[:2]] == ["classwise ece", "marginal error"]
    assert [row["mean"] for row in ev.table()[:2]] == [ev.ece.mean(), ev.marginal_error.mean()]


def test_the_summary_of_another_estimand(three_classes):
    _, _, ev = three_classes
    summary = ev.summary(estimand="e90_bins", kind="stats", round_to="none")
    assert list(summary.index) == ["classwise_e90_bins", "marginal_e90_bins", *(f"e90_bins[{k}]" for k in range(3))]
    np.testing.assert_allclose(
        summary["mean"].astype(float), [row["mean"] for row in ev.table(estimand="e90_bins")], rtol=1e-6
    )
    assert list(ev.summary().index[:2]) == ["classwise_ece", "marginal_error"]


def test_an_estimand_without_joint_draws_is_refused(three_classes):
    for ask in (three_classes[2].table, three_classes[2].summary):
        with pytest.raises(ValueError, match="'overconfidence' has no joint draws over classes"):
            ask(estimand="overconfidence")


def test_counts_of_classes_have_the_default_model(three_classes):
    y, p, ev = three_classes
    alone = bc.evaluate_counts(bc.ClasswiseCounts.from_arrays(y, p), rng=1, draws=500)
    assert (alone.model, alone.prior) == (ev.model, ev.prior)
    np.testing.assert_array_equal(alone.by_class.values, ev.by_class.values)


def test_the_root_mean_square_over_classes(three_classes):
    """Kumar et al. (2019): the square of the marginal calibration error is the mean over classes of squared errors."""
    _, _, ev = three_classes
    joint = ev.draws("l2_error").values
    expected = np.where(ev.exact, 0, [np.sqrt((draw**2).mean()) for draw in joint])
    np.testing.assert_allclose(ev.rms_error.values, expected, rtol=1e-12)
    assert (ev.rms_error.values >= np.where(ev.exact, 0, joint.mean(axis=1)) - 1e-12).all()
    summary = ev.summary(estimand="l2_error", kind="stats", round_to="none")
    assert summary.index[0] == "rms_error"
    assert float(summary["mean"].iloc[0]) == pytest.approx(ev.rms_error.mean(), rel=1e-6)


@pytest.fixture(scope="module")
def pets():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 300)
    names = np.array(["ant", "bee", "cat"])
    label = names[(p.cumsum(axis=1) > rng.random(300)[:, None]).argmax(axis=1)]
    return bc.evaluate(label, p, target="classwise", classes=list(names), draws=200, rng=1)


def test_the_evaluation_of_a_class_names_it(pets):
    cat = pets["cat"]
    assert cat.question.startswith("classwise ECE of class cat, 15 equal-width bins")
    assert cat.sentence().startswith("The Expected Calibration Error of class cat is ")
    assert "class cat" in repr(cat)
    np.testing.assert_allclose(np.sort(cat.ece.values), np.sort(pets.by_class.values[:, 2]))


def test_scores_of_a_class_say_what_to_do(pets):
    with pytest.raises(ValueError, match=r"^class cat: the log score needs .*as in `evaluate\(y_true == label"):
        _ = pets["cat"].log_score
    with pytest.raises(AttributeError, match=r"The log score is `result\[label\].log_score`"):
        _ = pets.log_score
    error = bc.auc_grid_error(pets["cat"].counts)
    assert error > 0.01  # rows of one bin count as ties
    assert f"to within {error:.2g}" in repr(pets["cat"].auc)
    assert any(f"to within {error:.2g}" in remark for remark in pets["cat"].sheet(estimands=["auc"]).remarks)
    assert not any("order rows" in remark for remark in pets["cat"].sheet().remarks)


def test_the_signed_errors_of_all_classes_add_up_to_zero(pets):
    """Outcomes and probabilities of a row both add up to 1."""
    np.testing.assert_array_equal(pets.mean_over_classes("signed_error").values, 0.0)
    rows = pets.table(estimand="signed_error")
    assert (rows[0]["quantity"], rows[0]["mean"], rows[0]["low"], rows[0]["high"]) == (
        "classwise signed_error",
        0,
        0,
        0,
    )
    assert rows[0]["plug_in"] == pytest.approx(0, abs=1e-12)
    assert rows[1]["sd"] > 0  # the mean weighted by class frequency is unknown


def test_draws_of_means_over_classes_are_named_after_their_quantity(three_classes):
    _, _, found = three_classes
    for estimand, names in (
        ("ece", ("classwise_ece", "marginal_error")),
        ("l2_error", ("classwise_l2_error", "marginal_l2_error")),
        ("signed_error", ("classwise_signed_error", "marginal_signed_error")),
    ):
        mean = found.mean_over_classes(estimand)
        assert found.draws(estimand).name != mean.name
        assert (mean.name, found._means(estimand)[1].name) == names
        assert set(names) <= set(found.summary(estimand=estimand).index)
        assert [row["quantity"] for row in found.table(estimand=estimand)[:2]] == [
            name.replace("_", " ", 1) for name in names
        ]
    assert (found.ece.name, found.marginal_error.name) == ("classwise_ece", "marginal_error")
    assert found.rms_error.name == "rms_error"


def test_the_root_mean_square_of_two_classes():
    np.testing.assert_allclose(root_mean_square(Draws(np.array([[0.1, 0.7], [0.2, 0.2]]))).values, [0.5, 0.2])
