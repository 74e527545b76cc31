"""Checks of the statements in `notebooks/11_a_risk_model_in_a_new_hospital.ipynb`."""

import numpy as np


def rows_of(summary, model="model"):
    return {
        (row["quantity"], row["threshold"]) if row["item"] == "clinical utility" else row["quantity"]: row
        for row in summary.table()
        if row["model"] == model
    }


def check_the_table(summary, died):
    found = rows_of(summary)
    assert abs(found["in_the_large"]["mean"] + 1) < 0.1
    assert found["slope"]["high"] < 1
    # the fitted model has nearly the true effects
    assert found["slope"]["low"] < 0.7 < found["slope"]["high"]
    assert found["ici"]["mean"] > 0.1
    assert abs(died.mean() - 0.14) < 0.005
    assert abs(found["observed_expected"]["mean"] - 0.5) < 0.03
    for key in ("observed_expected", "in_the_large", "intercept", "slope", "ece", "ici", "e50", "e90"):
        row = found[key]
        assert not row["low"] <= row["ideal"] <= row["high"]


def check_auc_does_not_depend_on_the_scale(died, risk, summary):
    wins = np.mean(risk[died][:, None] > risk[~died])
    assert wins == np.mean(risk[died][:, None] / 2 > risk[~died] / 2)
    assert abs(wins - summary.evaluation.auc.mean()) < 0.005


def check_the_curve(summary):
    cv = summary.calibration_curve
    gap = cv.score - cv.curve.mean()
    assert (gap > 0).all()
    assert gap[-1] > gap[len(gap) // 2] > gap[0]
    assert abs(cv.at(0.6).mean() - 0.3) < 0.05


def check_decisions(summary):
    curve = summary.decision_curve
    assert (curve.p_useful["model"][(curve.thresholds > 0.085) & (curve.thresholds < 0.19)] > 0.95).all()
    assert (curve.net_benefit["model"].interval()[1][curve.thresholds > 0.45][:20] < 0).all()


def check_recalibration(after):
    stated, recalibrated = rows_of(after, "as stated"), rows_of(after, "recalibrated")
    assert abs(stated["auc"]["mean"] - recalibrated["auc"]["mean"]) < 0.003
    assert recalibrated["ici"]["mean"] < 0.2 * stated["ici"]["mean"]
    gain = after.net_benefit.difference("recalibrated", "as stated")
    apart = sum(np.diff(after.net_benefit.net_benefit[name].interval(), axis=0)[0] for name in after.models)
    assert (np.diff(gain.interval(), axis=0)[0] < 0.6 * apart).all()
    (low, _), (high, _) = gain.interval()
    assert low < 0 < high
    assert gain.interval()[0][1] > 0


def check_costs(costs):
    for method in ("logistic", "isotonic"):
        few, many = costs["new hospital", method]
        assert 0.88 < many < 0.92
        assert many < few < 0.98
    assert abs(costs["home", "logistic"][0] - 1.03) < 0.01
    assert abs(costs["home", "isotonic"][0] - 1.08) < 0.01
    assert all(abs(costs["home", method][1] - 1) < 0.015 for method in ("logistic", "isotonic"))


def check_exercise_1(small):
    found = rows_of(small)
    assert found["observed_expected"]["high"] < 1
    assert found["slope"]["low"] < 0.5 < 1 < found["slope"]["high"]
    assert np.isnan(found["net_benefit", 0.1]["p_useful"])
    below = small.net_benefit.counts.margin(0, small.net_benefit.counts.n)[:, 0].sum()
    assert 5 <= below < 30


def check_exercise_2(home):
    found = rows_of(home)
    for key in ("observed_expected", "in_the_large", "intercept", "slope"):
        assert found[key]["low"] < found[key]["ideal"] < found[key]["high"]
    assert found["ici"]["low"] < 0.001
    assert all(found["net_benefit", t]["p_useful"] > 0.95 for t in (0.1, 0.2))


def check_exercise_3(at_half):
    assert at_half.net_benefit["model"].interval()[1][0] < 0
