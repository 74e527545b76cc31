"""Checks of the statements in `notebooks/14_survival_predictions.ipynb`."""

import numpy as np


def check_the_cohort(people, died, t, d):
    assert (len(people), died.sum()) == (7874, 2169)  # the numbers of the R documentation
    assert np.mean(~d & (t < 12)) > 0.5


def check_that_two_analyses_disagree_with_the_third(found):
    assert found["dropped"].signed_error.mean() > 0.15
    assert found["as_survivors"].signed_error.mean() < -0.01
    assert found["as_survivors"].ece.interval()[0] > 0
    assert found["censored"].ece.interval()[0] == 0


def check_the_simulation(contain, truth, true_risk, risk, alive, times_of_death, FACTOR):
    by_12_years = alive[:, np.searchsorted(times_of_death, 12, side="right") - 1]
    np.testing.assert_allclose(1 - by_12_years, true_risk, rtol=1e-9)
    assert 0.02 < truth < np.max(risk - true_risk)
    assert contain["dropped"] == contain["as_survivors"] == 0
    assert contain["censored"] >= 35  # 40 intervals of 95 % contain it less often in 1 of 20 simulations


def check_the_evaluation(ev, risk):
    assert 0.7 * len(risk) < ev.counts.effective_n.sum() < 0.8 * len(risk)
    low, high = ev.observed_expected.interval()
    assert 0.98 < low < 1 < high


def check_the_horizons(several):
    table = several.table(estimand="observed_expected")
    means = [row["mean"] for row in table]
    assert 1.04 < min(means) < max(means) < 1.18
    assert [row["horizon"] for row in table if row["low"] > 1] == [2, 10]


def check_the_light_chains(gains):
    for horizon in (4, 8):
        assert gains[horizon, "brier_score"].interval()[1] < 0 < gains[horizon, "auc"].interval()[0]
    for horizon in (4, 8, 12):
        low, high = gains[horizon, "ece"].interval()
        assert low < 0 < high
    assert gains[12, "auc"].interval()[0] < 0 < gains[12, "auc"].mean()
    assert gains[12, "brier_score"].mean() < 0


def check_the_causes(causes, risks):
    assert np.all(risks["both hazards"] < risks["one hazard"])
    assert causes.decide("both hazards", "one hazard")["p_left"] > 0.99
    alone, both = (causes.evaluations[name].observed_expected for name in ("one hazard", "both hazards"))
    assert 1.4 < 1 / alone.mean() < 1.5
    assert both.interval()[0] < 1 < both.interval()[1]


def check_the_exercises(by_sex, late, ev, without, causes):
    women, men = (by_sex[label].observed_expected.interval() for label in ("F", "M"))
    assert women[0] > 1
    assert men[0] < 1 < men[1]
    assert by_sex["M"].ece.interval()[0] == 0
    assert late.not_followed > 0
    assert late.counts.effective_n.sum() < 0.8 * ev.counts.effective_n.sum()
    assert without.observed_expected.mean() > 1.1 * causes["both hazards"].observed_expected.mean()
