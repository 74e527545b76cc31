"""Means over classes."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

import bayescal as bc
from bayescal import Draws
from bayescal.analyses.groups import jointly_exact


@pytest.fixture
def by_hand(three_classes):
    """Two draws of three classes with the frequencies 1/2, 1/4 and 1/4; none is exactly calibrated."""
    y = np.repeat([0, 1, 2], [2, 1, 1])
    counts = bc.BinnedCounts.classwise(y, np.full((4, 3), 1 / 3))
    by_class = Draws(np.array([[0.1, 0.2, 0.6], [0.0, 0.3, 0.3]]))
    return replace(three_classes[2], by_class=by_class, counts=counts, exact=np.zeros(2, bool))


def test_means_by_hand(by_hand):
    np.testing.assert_allclose(by_hand.ece.values, [0.3, 0.2])
    np.testing.assert_allclose(by_hand.marginal_error.values, [0.25, 0.15])


def test_draws_in_which_all_classes_are_exact_have_the_mean_0(by_hand):
    exact = replace(by_hand, exact=np.array([True, False]))
    np.testing.assert_allclose(exact.ece.values, [0, 0.2])
    np.testing.assert_allclose(exact.marginal_error.values, [0, 0.15])


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ([0.5, 0.5], "`frequency` has 2, `by_class` has 3"),
        ([0.5, np.nan, 0.5], "must be >= 0 and sum to 1"),
        ([0.5, 0.5, 0.5], "must be >= 0 and sum to 1; it sums to 1.5"),
        ([1.5, -0.5, 0.0], "must be >= 0 and sum to 1"),
        ([50, 25, 25], "it sums to 100"),
    ],
)
def test_frequencies_that_are_none(three_classes, frequency, message):
    with pytest.raises(ValueError, match=message):
        three_classes[2].marginal_calibration_error(frequency)


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


@pytest.fixture(scope="module")
def digits():
    data = bc.datasets.load_digits()
    y, p = data.y_true, data.y_prob["random_forest"].astype(np.float64)
    return y, p, bc.evaluate(y, p, target="classwise", rng=1, draws=1000)


def squared_errors(y, p, n_bins=15):
    """Return the squared plug-in l_2 error of each class: `plugin_ce` of the authors' calibration/utils.py, squared."""
    squares = []
    for k in range(p.shape[1]):
        bins = [p[:, k] * n_bins // 1 == b for b in range(n_bins)]
        bins[-1] |= p[:, k] == 1
        in_bin = [(p[rows, k], y[rows] == k) for rows in bins if rows.any()]
        squares.append(sum(len(c) / len(y) * (c.mean() - z.mean()) ** 2 for c, z in in_bin))
    return np.array(squares)


def test_the_marginal_calibration_error_of_the_digits(digits):
    """Sum over classes of P(k) times the squared l_2 error of class k: 0.00730, measured apart from this package."""
    y, p, ev = digits
    squares, frequency = squared_errors(y, p), np.bincount(y) / len(y)
    assert round(frequency @ squares, 5) == 0.00730
    row = ev.table(estimand="squared_l2_error")[1]
    assert row["quantity"] == "marginal squared_l2_error"
    assert row["plug_in"] == pytest.approx(frequency @ squares, rel=1e-9)
    assert bc.plug_in_error(y, p, target="classwise", order=2) == pytest.approx(np.sqrt(squares.mean()), rel=1e-9)
    draws = ev.marginal_calibration_error(squared=True)
    low, high = draws.interval()
    assert (low, high) == pytest.approx((row["low"], row["high"]), rel=1e-9)
    assert 0.004 < low < frequency @ squares < high < 0.009  # the plug-in value is biased upwards
    assert draws.name == "squared_marginal_calibration_error"


def test_weights_of_the_marginal_calibration_error(digits):
    """Definition 2.4 of Kumar, Liang and Ma (2019) for any weights; with equal ones it is the root mean square."""
    _, _, ev = digits
    joint = ev.draws("l2_error").values
    weights = np.arange(10) / 45
    expected = np.where(
        ev.exact, 0, [np.sqrt(sum(w * e**2 for w, e in zip(weights, draw, strict=True))) for draw in joint]
    )
    root = ev.marginal_calibration_error(weights)
    np.testing.assert_allclose(root.values, expected, rtol=1e-12)
    np.testing.assert_allclose(ev.marginal_calibration_error(weights, squared=True).values, expected**2, rtol=1e-12)
    equal = ev.marginal_calibration_error(np.full(10, 0.1))
    np.testing.assert_allclose(equal.values, ev.rms_error.values, rtol=1e-12)
    assert root.name == "marginal_calibration_error"
    with pytest.raises(ValueError, match="sum to 1; it sums to 10"):
        ev.marginal_calibration_error(np.ones(10))


def confidence_moments(posterior, order):
    """Return E |theta - mu|^order of each bin, by quadrature over mu and theta, which are independent."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    result = []
    for a, b, loc, scale, low, high in zip(
        *posterior.accuracy_parameters, *posterior.confidence_parameters, strict=True
    ):
        mu = low + (high - low) * (nodes + 1) / 2
        density = stats.norm.pdf(mu, loc, scale) * weights
        theta = (nodes + 1) / 2
        mass = stats.beta.cdf((nodes + 1) / 2 + weights / 4, a, b) - stats.beta.cdf((nodes + 1) / 2 - weights / 4, a, b)
        inner = np.abs(theta[:, None] - mu) ** order
        result.append(mass @ inner @ density / (mass.sum() * density.sum()))
    return np.array(result)


def test_pooled_and_marginal_errors_agree_with_quadrature():
    """Dirichlet model: masses are independent of accuracies, so the mean error is the sum of means of products."""
    rng = np.random.default_rng(8)
    p = rng.dirichlet([1.0, 2.0, 3.0], 60)
    y = (p.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)
    ev = bc.evaluate(y, p, target="classwise", rng=1, draws=40_000, model="dirichlet", bins=4, alpha="uniform")
    # pooled: the rows of all classes as rows of one problem, each with weight 1/2
    pairs = (y[:, None] == np.arange(3)).ravel(), p.ravel()
    half = bc.BinnedCounts.from_arrays(*pairs, bins=4)
    posterior = bc.dirichlet_posterior(replace(half, weight_sq=2 * half.weight_sq), alpha="uniform")
    np.testing.assert_allclose(posterior.mass_parameters, 2 + half.n / 2)  # halved, and two cells of one pseudo-row
    for estimand, order in (("ece", 1), ("squared_l2_error", 2)):
        expected = posterior.mass_mean() @ confidence_moments(posterior, order)
        pooled = ev.pooled_error(estimand)
        assert abs(pooled.mean() - expected) < 5 * pooled.sd() / np.sqrt(40_000) + 1e-4
        assert pooled.name == f"pooled_{estimand}"
    by_class = [bc.dirichlet_posterior(each, alpha="uniform") for each in ev.counts]
    squares = np.array([each.mass_mean() @ confidence_moments(each, 2) for each in by_class])
    marginal = ev.marginal_calibration_error(squared=True)
    expected = squares @ np.bincount(y) / 60
    assert abs(marginal.mean() - expected) < 5 * marginal.sd() / np.sqrt(40_000) + 1e-4


def test_the_pairs_of_a_row_at_most_double_the_variance():
    """All signs of up to seven classes, by the covariance of a multinomial outcome; two classes reach 2."""
    rng = np.random.default_rng(1)
    for size in (2, 3, 5, 7):
        for p in rng.dirichlet(np.ones(size), 50):
            covariance = np.diag(p) - np.outer(p, p)
            ratios = [s @ covariance @ s / np.trace(covariance) for s in map(np.array, product((-1, 1), repeat=size))]
            assert max(ratios) <= 2 + 1e-9
            if size == 2:
                assert max(ratios) == pytest.approx(2)


def test_pooled_errors_of_two_classes_and_of_the_digits(digits):
    """Two classes: the pairs above 1/2 are the rows with top labels, those below mirror them with opposite gaps."""
    y, p, ev = digits
    one_hot = y[:, None] == np.arange(10)
    pooled = bc.plug_in_ece(one_hot.ravel(), p.ravel())
    low, high = ev.pooled_error().interval()
    assert low < pooled < high
    assert pooled < ev.plug_in  # errors of classes cancel within a bin
    rng = np.random.default_rng(2)
    c = rng.random(2000)
    z = (rng.random(2000) < np.clip(1.4 * (c - 0.5) + 0.5, 0, 1)).astype(int)
    both = np.column_stack([1 - c, c])
    two = bc.evaluate(z, both, target="classwise", bins=10, rng=1)
    top = bc.evaluate(z, both, bins=10, rng=1)
    plug_in = bc.plug_in_ece(np.column_stack([1 - z, z]).ravel(), both.ravel(), bins=10)
    assert plug_in == pytest.approx(top.plug_in, rel=1e-9)
    ours, theirs = two.pooled_error(), top.ece
    assert abs(ours.mean() - theirs.mean()) < 0.1 * theirs.mean()
    assert 0.9 < ours.sd() / theirs.sd() < 1.4  # the sd of the plug-in values is the same


def test_pooled_errors_that_are_refused(digits):
    y, p, ev = digits
    with pytest.raises(ValueError, match="must be an unsigned error of calibration, not 'signed_error'"):
        ev.pooled_error("signed_error")
    equal_mass = bc.evaluate(y, p, target="classwise", binning="equal-mass", rng=1, draws=200)
    with pytest.raises(ValueError, match="Pooled errors need the same bins"):
        equal_mass.pooled_error()
    clustered = bc.evaluate(y, p, target="classwise", cluster=np.arange(len(y)) // 2, rng=1, draws=200)
    with pytest.raises(ValueError, match="need independent rows"):
        clustered.pooled_error()


@pytest.mark.parametrize(
    ("name", "answer"),
    [("pooled_ece", "`pooled_error()`"), ("marginal_calibration", "`marginal_calibration_error()`")],
)
def test_other_names_lead_to_it(digits, name, answer):
    with pytest.raises(AttributeError, match=re.escape(answer)):
        getattr(digits[2], name)
