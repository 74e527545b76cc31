"""Checks of the statements in `notebooks/12_survival_predictions.ipynb`."""

import numpy as np


def check_that_two_analyses_miss_the_value_of_all_outcomes(truth, dropped, as_free):
    assert dropped.ece.interval()[1] < truth / 2
    assert as_free.ece.interval()[0] > 1.3 * truth


def check_the_evaluation(ev, truth, recurrence, risk):
    low, high = ev.ece.interval()
    assert low < truth < high
    assert ev.observed_expected.interval()[0] > 0.7
    whole = np.mean(recurrence <= 5) / risk.mean()
    assert ev.observed_expected.interval()[0] < whole < ev.observed_expected.interval()[1]
    assert ev.counts.effective_n.sum() < 0.8 * len(risk)


def check_the_horizons(several):
    table = several.table(estimand="observed_expected")
    assert all(row["high"] < 1 for row in table)
    widths = [row["high"] - row["low"] for row in table]
    assert widths[0] == max(widths)


def check_the_update(both, gain, factor):
    assert 0.6 < factor < 0.8
    assert both.decide("updated", "old")["p_left"] > 0.95
    assert gain.interval()[1] < 0
    low, high = both.evaluations["updated"].observed_expected.interval()
    assert low < 1 < high


def check_that_the_order_is_the_same(both, models):
    order = [np.argsort(risk, kind="stable") for risk in models.values()]
    assert np.array_equal(*order)
    assert abs(both.difference("updated", "old", estimand="auc").mean()) < 0.01


def check_the_exercises(late, caught, ev, competing):
    assert late.not_followed > 0.05
    assert "end with a censored row before the horizon 8.9" in str(caught[0].message)
    assert np.diff(late.ece.interval()) > 1.5 * np.diff(ev.ece.interval())
    assert competing.observed_expected.mean() < ev.observed_expected.mean()
