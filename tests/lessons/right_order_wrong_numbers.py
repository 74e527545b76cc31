"""Checks of the statements in `notebooks/01_right_order_wrong_numbers.ipynb`.

Exact values are closed forms or integrals over the populations, computed here without the package. The intervals of the
package are checked against them: seeds are fixed, so that no check fails by chance.
"""

import numpy as np
from scipy import special, stats
from scipy.integrate import quad

#: The AUC of the true risk in the population Beta(1, 4), in which ill patients have Beta(2, 4) and healthy ones
#: Beta(1, 5): the integral of 1 - (1 - x)^5 over the first density, 1 - B(2, 9) / B(2, 4).
AUC = 1 - special.beta(2, 9) / special.beta(2, 4)


def ends(draws):
    return np.ravel(draws.interval(0.95))


def contains(draws, value):
    low, high = ends(draws)
    return low <= value <= high


def mean_over_population(function):
    """Integrate a function of the risk over Beta(1, 4)."""
    return quad(lambda p: function(p) * 4 * (1 - p) ** 3, 0, 1)[0]


def check_the_same_risk_for_everyone_is_calibrated_and_useless(same, event):
    from sklearn.metrics import roc_auc_score

    assert abs(event.mean() - 0.5) < 0.02
    assert ends(same.ece)[0] == 0
    assert ends(same.ece)[1] < 0.02
    assert roc_auc_score(event, np.full(len(event), 0.5)) == 0.5
    assert abs(same.auc.mean() - 0.5) < 0.0005


def check_a_perfect_order_with_risks_that_are_wrong_by_0_4(separated, event):
    from sklearn.metrics import roc_auc_score

    assert roc_auc_score(event, np.where(event, 0.6, 0.4)) == 1
    assert separated.auc.mean() > 0.9995
    assert abs(separated.ece.mean() - 0.4) < 0.0005
    counts = separated.counts
    np.testing.assert_allclose(np.sort(counts.mean_confidence[counts.n > 0]), [0.4, 0.6])
    np.testing.assert_array_equal(np.sort(counts.accuracy[counts.n > 0]), [0, 1])


def check_the_population(p, y):
    assert abs(p.mean() - 0.2) < 0.001
    assert np.median(p) < 0.17
    assert np.mean(p > 0.5) < 0.07
    assert abs(y.mean() - 0.2) < 0.002
    assert np.count_nonzero(p >= 14 / 15) == 22  # the last of 15 bins


def check_the_square_root_changes_no_digit_of_the_auc(y, p, root, of_p, of_root):
    from sklearn.metrics import roc_auc_score

    assert roc_auc_score(y, p) == roc_auc_score(y, root)
    assert abs(AUC - 7 / 9) < 1e-12
    assert contains(of_p.auc, AUC)
    assert contains(of_root.auc, AUC)


def check_the_ece_of_the_square_root(of_p, of_root, exact):
    # the mean of sqrt(p) is B(3/2, 4) / B(1, 4) = 128 / 315, that of p is 63 / 315
    assert abs(128 / 315 - special.beta(1.5, 4) / special.beta(1, 4)) < 1e-12
    assert abs(exact - 13 / 63) < 1e-9
    assert f"{exact:.3f}" == f"{of_root.ece.mean():.3f}" == f"{of_root.plug_in:.3f}" == "0.206"
    assert contains(of_root.ece, exact)
    assert ends(of_p.ece)[0] == 0
    assert ends(of_p.ece)[1] < 0.001


def check_the_usual_ece_of_true_risks_is_chance(of_p):
    assert f"{of_p.plug_in:.3f}" == f"{of_p.null.mean():.3f}" == "0.001"
    low, high = ends(of_p.null)
    assert low < of_p.plug_in < high


def check_the_reliability_diagram(of_p, of_root):
    many = of_p.counts.n > 1000
    assert np.abs(of_p.counts.accuracy - of_p.counts.mean_confidence)[many].max() < 0.02
    counts = of_root.counts
    assert (counts.accuracy < counts.mean_confidence).all()
    middle = np.argmin(np.abs(counts.mean_confidence - 0.5))
    assert abs(counts.accuracy[middle] - 0.25) < 0.015


def check_both_scores_are_smallest_at_the_truth(expected, q, true_risk):
    assert list(expected) == ["Brier score", "log score"]
    for values in expected.values():
        assert abs(q[values.argmin()] - true_risk) <= (q[1] - q[0]) / 2 + 1e-12
        # one minimum: the curve falls before it and rises after it
        assert (np.diff(values[q <= true_risk]) < 0).all()
        assert (np.diff(values[q >= true_risk]) > 0).all()
    assert abs(expected["Brier score"].min() - 0.2 * 0.8) < 1e-4
    assert abs(expected["log score"].min() - stats.bernoulli(0.2).entropy()) < 1e-4


def check_both_scores_see_the_square_root(of_p, of_root, brier_root):
    brier, log = 2 / 15, mean_over_population(lambda p: special.entr(p) + special.entr(1 - p))
    log_root = mean_over_population(lambda p: -special.xlogy(p, p) / 2 - (1 - p) * np.log1p(-np.sqrt(p)))
    assert abs(mean_over_population(lambda p: p * (1 - p)) - brier) < 1e-12
    # (sqrt(p) - y)^2 is 2 p - 2 p^(3/2) on average, and the mean of p^(3/2) is B(5/2, 4) / B(1, 4)
    assert abs(brier_root - (0.4 - 2 * special.beta(2.5, 4) / special.beta(1, 4))) < 1e-9
    assert contains(of_p.brier_score, brier)
    assert contains(of_root.brier_score, brier_root)
    assert contains(of_p.log_score, log)
    assert contains(of_root.log_score, log_root)
    assert ends(of_p.brier_score)[1] < ends(of_root.brier_score)[0]
    assert ends(of_p.log_score)[1] < ends(of_root.log_score)[0]


def check_the_slope_rises_through_1_and_the_auc_hardly_changes(slopes, aucs, penalties):
    assert penalties == (0.001, 10, 30, 60)
    means = [slope.mean() for slope in slopes]
    assert means == sorted(means)
    assert abs(means[0] - 0.4) < 0.05
    assert ends(slopes[0])[1] < ends(slopes[1])[0]
    assert ends(slopes[1])[1] < 1 < ends(slopes[3])[0]
    assert contains(slopes[2], 1)
    assert np.ptp([auc.mean() for auc in aucs]) < 0.01


def check_the_slope_is_that_of_a_logistic_regression_of_the_outcome(old, old_event, new, new_event, slopes):
    from sklearn.linear_model import LogisticRegression

    fits = [LogisticRegression(C=c, max_iter=1000).fit(old, old_event) for c in (1 / 0.001, 1e9)]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=0.01, atol=0.001)
    stated = fits[0].decision_function(new)[:, None]
    again = LogisticRegression(C=1e9, max_iter=1000).fit(stated, new_event)
    assert abs(again.coef_[0, 0] - slopes[0].mean()) < 0.01


def check_the_threshold_is_where_treatment_becomes_better(B, C, D, t):
    risk = np.arange(1, 1000) / 1000
    treated, untreated = risk * B - (1 - risk) * C, -risk * D
    better = treated > untreated + 1e-12
    np.testing.assert_array_equal(better, risk > t + 1e-9)
    assert abs(t - 0.1) < 1e-12


def check_what_the_naive_rule_costs(theory, lost, regret, gain, t):
    assert abs(theory - 0.00025) < 1e-12
    assert abs(gain(t) + 0.02) < 1e-12
    assert abs(gain(t / 0.8)) < 1e-12
    assert contains(lost, theory)
    assert contains(regret, theory)
    assert f"{regret.mean():.5f}" == "0.00024"
    assert np.ptp(ends(regret)) < np.ptp(ends(lost)) / 5


def check_the_units_of_the_cost(net, lost, r, ill, B, C, D, t):
    def mean_gain(treat):
        return np.mean(np.where(treat, np.where(ill, B, -C), np.where(ill, -D, 0)))

    nobody = mean_gain(np.zeros(len(r), bool))
    naive, corrected = mean_gain(r >= t), mean_gain(0.8 * r >= t)
    assert abs((B + D) * np.ravel(net.observed["naive"])[0] - (naive - nobody)) < 1e-9
    assert contains(lost, corrected - naive)
    assert abs(np.mean((r >= t) & (0.8 * r < t)) - 0.025) < 0.001


def check_the_risks_are_too_high_where_the_disease_is_rarer(before, of_p):
    mean_risk = 0.05 * 2 / 6 + 0.95 * 1 / 6
    assert abs(mean_risk - 0.05 - 0.125) < 1e-12
    assert contains(before.ece, 0.125)
    assert before.overconfidence.mean() > 0.99 * before.ece.mean()
    assert contains(before.auc, AUC)
    assert contains(of_p.auc, AUC)


def check_the_odds_rule_is_the_theorem_of_bayes(screened, repaired, after, before, screened_ill):
    ill, healthy = 0.05 * stats.beta(2, 4).pdf(screened), 0.95 * stats.beta(1, 5).pdf(screened)
    np.testing.assert_allclose(repaired, ill / (ill + healthy), rtol=1e-9)
    ill, healthy = 0.2 * stats.beta(2, 4).pdf(screened), 0.8 * stats.beta(1, 5).pdf(screened)
    np.testing.assert_allclose(screened, ill / (ill + healthy), rtol=1e-9)
    assert (np.diff(repaired[np.argsort(screened)]) >= 0).all()
    assert ends(after.ece)[0] == 0
    assert ends(after.ece)[1] < 0.005
    assert abs(after.auc.mean() - before.auc.mean()) < 0.001
    assert abs(screened_ill.mean() - 0.05) < 0.002


def check_few_predictors_states_frequencies(models, outcome, calibration):
    few = models["few predictors"]
    for stated in np.unique(few):
        rows = few == stated
        assert abs(outcome[rows].mean() - stated) < 4 * np.sqrt(stated * (1 - stated) / rows.sum())
    assert contains(calibration["few predictors"].slope, 1)


def check_the_table_of_four_models(models, evaluations, calibration, benefit, outcome):
    def exact(cut):
        """Treat from a true risk of `cut` on: the integral of p - (1 - p) / 9."""
        return quad(lambda p: (p - (1 - p) / 9) * 4 * (1 - p) ** 3, cut, 1)[0]

    count = stats.betabinom(10, 1, 4).pmf(np.arange(11))
    risk = (1 + np.arange(11)) / 15
    truth = {
        "everyone alike": 0.2 - 0.8 / 9,
        "few predictors": np.sum(count * (risk - (1 - risk) / 9) * (risk >= 0.1)),
        "square root": exact(0.01),
        "odds squared": exact(0.25),
    }
    assert list(models) == list(truth)
    for name, value in truth.items():
        assert contains(benefit.net_benefit[name], value)
    assert max(truth, key=truth.get) == "few predictors"
    assert truth["odds squared"] < truth["everyone alike"] < truth["square root"]
    assert abs(benefit.net_benefit["everyone alike"].mean() - benefit.treat_all.mean()).max() < 0.0005
    np.testing.assert_allclose(benefit.observed["everyone alike"], outcome.mean() - (1 - outcome.mean()) / 9)
    for name in ("square root", "odds squared"):
        assert contains(evaluations[name].auc, AUC)
        assert ends(evaluations["few predictors"].auc)[1] < ends(evaluations[name].auc)[0]
        assert ends(evaluations[name].ece)[0] > 0.08
    assert contains(calibration["odds squared"].slope, 0.5)
    for name in ("everyone alike", "few predictors"):
        assert ends(evaluations[name].ece)[0] < 0.0005


def check_exercise_1(benefit, harm, treated):
    for name in ("everyone alike", "square root", "odds squared"):
        assert ends(benefit.difference("few predictors", name))[0] > 0
    assert ends(harm)[1] < 0
    assert treated["everyone alike"] == 1
    assert abs(treated["square root"] - 0.99**4) < 0.005
    assert f"{treated['square root']:.0%}" == "96%"
    assert f"{0.2**2 / (0.2**2 + 0.8**2):.0%}" == "6%"


def check_exercise_2(second, fixed, candidates):
    assert ends(second.difference("repaired", "few predictors"))[0] > 0
    assert ends(fixed.ece)[0] > 0
    assert ends(fixed.ece)[1] < 0.03
    best = quad(lambda p: (p - (1 - p) / 9) * 4 * (1 - p) ** 3, 0.1, 1)[0]
    assert contains(second.net_benefit["repaired"], best)
    assert len(candidates["repaired"]) == 10_000


def check_exercise_3(absolute, q, true_risk):
    np.testing.assert_allclose(absolute, 0.2 + 0.6 * q)
    assert absolute.argmin() == 0
    outcome = np.array([1, 0])
    weights = np.array([true_risk, 1 - true_risk])
    np.testing.assert_allclose(absolute[7], np.sum(weights * np.abs(outcome - q[7])))
    for risk, best in ((0.1, 0), (0.49, 0), (0.51, -1)):
        assert (risk * (1 - q) + (1 - risk) * q).argmin() == np.arange(len(q))[best]


def check_exercise_4(divided, before, screened, screened_ill, high, repaired):
    from sklearn.metrics import roc_auc_score

    assert roc_auc_score(screened_ill, screened / 4) == roc_auc_score(screened_ill, screened)
    assert ends(divided.ece)[0] > 0
    assert divided.ece.mean() < before.ece.mean() / 10
    stated = divided.counts.mean_confidence[divided.counts.n > 0]
    assert stated.max() <= 0.25 < screened_ill[high].mean()
    assert abs(np.sum(divided.counts.share[divided.counts.n > 0] * stated) - 0.175 / 4) < 0.0005
    assert abs(screened_ill[high].mean() - 0.4) < 0.01
    assert abs(repaired[high].mean() - screened_ill[high].mean()) < 2 * np.sqrt(0.24 / high.sum())
