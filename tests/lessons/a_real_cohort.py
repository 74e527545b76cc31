"""Checks of the statements in `notebooks/18_a_real_cohort.ipynb`."""

import numpy as np
import pytest


def width(draws):
    low, high = draws.interval()
    return high - low


def near(value, stated, digits):
    """Whether a value is the stated one, or differs from it by one step of the last digit."""
    return abs(value - stated) <= 1.5 * 10**-digits


def check_the_cohort(people, development, validation, known, fit, missing, died_by_5):
    assert len(people) == 7874
    assert (development.sum(), validation.sum(), fit.sum()) == (4766, 3108, 4690)
    assert (~known[validation]).sum() == 119
    assert died_by_5[validation].sum() == 347
    assert abs(missing[validation].mean() - 0.2) < 0.005
    assert np.corrcoef(np.arange(7874), people["age"])[0, 1] < -0.95


def check_dropping_few_people_changes_little(death_rate, died_by_5, fit):
    assert 0 < died_by_5[fit].mean() / death_rate - 1 < 0.01


def check_the_plan(plan, expected, auc, died_by_5, fit, validation, ev):
    assert plan.rows == 2809 < ev.counts.effective_n.sum() < validation.sum()
    assert abs(ev.counts.effective_n.sum() - 3045) < 1
    _, low, high = expected["auc"]
    assert low < auc.interval()[0] < auc.interval()[1] < high
    assert expected["prevalence"][1] < died_by_5[validation].mean() < expected["prevalence"][2]
    assert abs(expected["prevalence"][0] - died_by_5[fit].mean()) < 0.001


def check_the_validation(ev, recalibration, risk, goals):
    assert ev.ece.interval()[0] == 0
    low, high = ev.observed_expected.interval()
    assert low < 1 < high
    assert recalibration.slope.interval()[0] < 1 < recalibration.slope.interval()[1]
    assert recalibration.in_the_large.interval()[0] < 0 < recalibration.in_the_large.interval()[1]
    for name, draws in {"slope": recalibration.slope, "observed_expected": ev.observed_expected, "auc": ev.auc}.items():
        assert width(draws) < goals[name]
    assert (risk < 0.1).mean() > 0.5
    assert (risk > 0.7).mean() < 0.02


def check_decisions(decisions):
    assert np.all(decisions.p_useful["model"] > 0.99)
    assert np.allclose(decisions.observed["model"], decisions.net_benefit["model"].mean(), atol=0.001)


def check_who_has_missing_values(missing, validation, died_by_5, year):
    assert missing[validation & died_by_5].mean() < 0.5 * missing[validation & ~died_by_5].mean()
    assert missing[validation & (year >= 2002)].mean() > 0.9


def check_the_imputations(outcomes, risks, risk, left, absent, died_by_5, validation, summary, spread, logit):
    assert len(outcomes) == len(risks) == 20
    for outcome, stated in zip(outcomes, risks, strict=True):
        assert np.array_equal(outcome[~left], died_by_5[validation][~left])
        assert np.array_equal(stated[~absent], risks[0][~absent])
    share = summary.to_frame()["missing_information"].dropna()
    assert share.max() < 0.035
    assert 0.2 < np.mean(absent | left) < 0.25
    assert spread.mean() < 0.15 * logit.std()


def check_complete_cases(cases, summary, complete):
    assert complete.sum() == 2408
    dropped, whole = (each.to_frame().loc["model"] for each in (cases, summary))
    assert dropped.loc["observed_expected", "eti95_lb"] > 1 > whole.loc["observed_expected", "eti95_lb"]
    assert whole.loc["observed_expected", "eti95_ub"] > 1
    assert dropped.loc["net_benefit at 0.1", "mean"] > whole.loc["net_benefit at 0.1", "mean"] + 0.01
    assert dropped.loc["mean_risk", "ideal"] > whole.loc["mean_risk", "ideal"] + 0.015
    for key, stated in {"mean": 1.13, "eti95_lb": 1.03, "eti95_ub": 1.23}.items():
        assert near(dropped.loc["observed_expected", key], stated, 2)


def check_the_subgroups(by_sex):
    for quantity in ("auc", "observed_expected", "slope"):
        (row,) = by_sex.differences(quantity)
        assert row["low"] < 0 < row["high"]
        assert row["pooled_low"] < 0 < row["pooled_high"]
    (row,) = by_sex.differences("observed_expected")
    assert min(row["high"], row["pooled_high"]) > 0.25
    for key, stated in {"pooled_mean": 0.07, "pooled_low": -0.08, "pooled_high": 0.26}.items():
        assert near(row[key], stated, 2)
    assert "depend on the prior" in by_sex.remarks[0]
    with pytest.raises(ValueError, match="at least 3 centres"):
        by_sex.new_centre()


def check_the_periods(by_period, new, first_model, period, absent, outcomes):
    slope = new.to_frame().loc["slope"]
    assert round(slope["new_low"], 1) == 0.6
    assert round(slope["new_high"], 1) == 1.7
    slopes = {label: each.slope for label, each in by_period.groups.items()}
    assert len(slopes) == 5
    assert max(slopes, key=lambda label: slopes[label].mean()) == "2001-2003"
    ends = {label: slope.interval() for label, slope in slopes.items()}
    assert [label for label, (low, high) in ends.items() if not low < 1 < high] == ["2001-2003"]
    assert abs(first_model.mean() - slopes["2001-2003"].mean()) < 0.15
    assert absent[period == "2001-2003"].mean() > 0.5
    deaths = [np.mean([outcome[period == label].sum() for outcome in outcomes]) for label in slopes]
    assert sum(number < 42 for number in deaths) == 3


def check_the_report(summary):
    table = summary.to_frame().loc["model"]
    stated = {
        "auc": (3, 0.829, 0.803, 0.854),
        "observed_expected": (2, 1.07, 0.98, 1.16),
        "slope": (2, 1.04, 0.94, 1.14),
        "net_benefit at 0.1": (3, 0.063, 0.053, 0.073),
    }
    for quantity, (digits, *numbers) in stated.items():
        for key, number in zip(("mean", "eti95_lb", "eti95_ub"), numbers, strict=True):
            assert near(table.loc[quantity, key], number, digits)
    assert near(table.loc["treat_all at 0.1", "mean"], 0.015, 3)


def check_exercise_1(narrow, validation, ev):
    assert narrow.rows > validation.sum()
    low, high = ev.auc.interval()
    assert near(low, 0.808, 3)
    assert near(high, 0.857, 3)
    assert high - low > 0.04


def check_exercise_2(by_age, ev, risk, decade):
    ratios = {label: each.observed_expected for label, each in by_age.groups.items()}
    assert ratios["80+"].interval()[0] > 1
    assert all(ratios[label].interval()[0] < 1 < ratios[label].interval()[1] for label in ("50-59", "60-69", "70-79"))
    assert max(ratios, key=lambda label: abs(ratios[label].mean() - 1)) == "80+"
    assert all(each.auc.mean() < ev.auc.interval()[0] for each in by_age.groups.values())
    assert max(ratios, key=lambda label: risk[decade == label].mean()) == "80+"


def check_exercise_3(gain, both, decisions, summary, ev):
    low, high = gain.interval()
    assert (low < 0).all()
    assert (high > 0).all()
    assert max(-low.min(), high.max()) < 0.004
    assert summary.evaluation.auc.mean() < ev.auc.mean()
    assert np.allclose(both.net_benefit["without"].mean(), decisions.net_benefit["model"].mean(), atol=0.0005)
