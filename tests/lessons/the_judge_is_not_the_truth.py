"""Checks of the statements in `notebooks/16_the_judge_is_not_the_truth.ipynb`."""

import numpy as np

import bayescal as bc


def check_the_judge_is_lenient(right, judge):
    assert np.mean(judge) > np.mean(right) + 0.05
    assert 0.93 < np.mean(judge[right]) < 0.97
    assert 0.65 < np.mean(~judge[~right]) < 0.75


def check_both_errors_cancel_in_part(truth, as_truth):
    assert as_truth.ece.interval()[1] < truth.ece.interval()[0]


def check_checked_answers_alone_are_right_and_wide(alone, truth):
    (low, high), (least, most) = alone.ece.interval(), truth.ece.interval()
    assert low < truth.ece.mean() < high
    assert high - low > 2.5 * (most - least)


def check_both_together(ev, truth, alone):
    (low, high), (least, most) = ev.ece.interval(), alone.ece.interval()
    assert low < truth.ece.mean() < high
    assert high - low < 0.9 * (most - least)
    assert ev.judge.sensitivity.interval()[0] < 0.95 < ev.judge.sensitivity.interval()[1]
    assert ev.judge.specificity.interval()[0] < 0.7 < ev.judge.specificity.interval()[1]


def check_a_worse_judge_is_worth_less(ev, other):
    assert other.judge.worth.mean() < 0.1 < ev.judge.worth.mean() < 1


def check_a_choice_by_the_label_is_allowed(by_label, truth):
    low, high = by_label.ece.interval()
    assert low < truth.ece.mean() < high
    assert by_label.checked_only.ece.interval()[0] > 2 * truth.ece.mean()
    assert "That is allowed" in by_label.remarks[-1]


def check_errors_that_depend_on_the_confidence(y_true, confidence, lenient, each, truth):
    one = bc.labels.judged(y_true, confidence, judge=lenient, strata=1, rng=1)
    assert one.judge.p_errors_alike < 0.05 < each.judge.p_errors_alike
    assert one.ece.mean() < truth.ece.mean() < one.ece.interval()[1]
    assert one.ece.mean() < each.ece.mean()


def check_known_rates(ev, known):
    widths = [np.diff(each.ece.interval())[0] for each in (ev, known)]
    assert widths[1] < 0.8 * widths[0]
    assert known.judge.strata == 1


def check_the_forbidden_choice(biased, truth):
    assert biased.ece.interval()[0] > 1.5 * truth.ece.mean()
