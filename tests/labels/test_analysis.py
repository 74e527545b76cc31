"""`judged`: special cases in which other functions give the answer, refusals, warnings."""

import warnings

import numpy as np
import pytest
from judged_sets import JudgedSet, judged_set, same_ends

import bayescal as bc
from bayescal.labels.analysis import FewCheckedWarning

NAN = float("nan")
FAST = {"draws": 200, "rng": 1}


# --- special cases


@pytest.mark.parametrize("slope", [0.6, 1])
@pytest.mark.parametrize("checked", [0, 150])
def test_a_judge_without_errors_gives_the_evaluation_of_all_rows(slope, checked):
    rows = judged_set(n=1500, checked=checked, s=1, p=1, slope=slope)
    ev = rows.judged(rates=(1, 1))
    whole = bc.evaluate(rows.truth, rows.confidence, target="confidence", rng=1)
    for name in ("ece", "l2_error", "signed_error", "overconfidence", "accuracy", "brier_score"):
        same_ends(ev.draws(name), whole.draws(name), 0.1)
    assert ev.p_calibrated == pytest.approx(whole.p_calibrated, abs=1e-6)
    assert ev.judge.worth.mean() == pytest.approx(1)
    np.testing.assert_allclose(ev.counts.accuracy, whole.counts.accuracy, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.6, 1])
def test_all_rows_checked_gives_the_evaluation_of_the_true_labels(slope):
    rows = judged_set(n=400, checked=400, slope=slope)
    ev, whole = rows.judged(), bc.evaluate(rows.truth, rows.confidence, target="confidence", rng=1)
    for name in ("ece", "l2_error", "signed_error", "accuracy", "brier_score", "log_score"):
        same_ends(ev.draws(name), whole.draws(name), 0.1)
    assert ev.p_calibrated == pytest.approx(whole.p_calibrated, abs=0.01)
    assert "All rows have a true label, so that the judge's labels are not used." in ev.remarks


def test_a_judge_that_guesses_gives_the_checked_rows_with_the_masses_of_all_rows():
    """Draws of the accuracies are those of the checked rows, and masses those of all rows."""
    rows = judged_set(n=2000, checked=200)
    noise = np.random.default_rng(7).random(2000) < 0.3
    ev = JudgedSet(rows.confidence, rows.truth, noise, rows.checked).judged(rates=(0.3, 0.7))
    checked = bc.evaluate(rows.truth[rows.checked], rows.confidence[rows.checked], target="confidence", rng=1)
    mass = bc.evaluate(rows.truth, rows.confidence, rng=1).bin_draws.mass
    ece = bc.Draws((mass * np.abs(checked.bin_draws.accuracy - ev.bin_draws.confidence)).sum(axis=1))
    same_ends(ev.ece, ece, 0.12)
    assert ev.judge.worth.mean() == pytest.approx(0, abs=1e-12)
    assert any("is worth 0 checked rows" in text for text in ev.remarks)


@pytest.mark.slow
def test_relabelling_swaps_the_rates_and_the_direction():
    rows = judged_set(n=1000, checked=150, s=0.95, p=0.75)
    one = rows.judged(strata=1, target="event")
    other = JudgedSet(1 - rows.confidence, ~rows.truth, ~rows.judge, rows.checked).judged(strata=1, target="event")
    same_ends(one.judge.sensitivity, other.judge.specificity, 0.12)
    same_ends(one.judge.specificity, other.judge.sensitivity, 0.12)
    same_ends(one.ece, other.ece, 0.12)
    same_ends(one.signed_error, -1 * other.signed_error, 0.12)


def test_rates_from_other_checked_rows_are_as_known_if_there_are_many():
    rows = judged_set(n=1000, checked=100)
    known, counted = rows.judged(rates=(0.9, 0.8)), rows.judged(rates=((900_000, 100_000), (800_000, 200_000)))
    same_ends(known.ece, counted.ece, 0.12)
    assert counted.judge.sensitivity.sd() < 1e-3


def test_the_truth_with_many_rows():
    """50 000 rows, 5 000 checked: all quantities within five standard deviations of those of the true labels."""
    rows = judged_set(n=50_000, checked=5000, s=0.9, p=0.75)
    ev, truth = rows.judged(), bc.evaluate(rows.truth, rows.confidence, target="confidence", rng=1)
    for name in ("ece", "signed_error", "accuracy", "brier_score", "log_score"):
        one, other = ev.draws(name), truth.draws(name)
        assert abs(one.mean() - other.mean()) < 5 * np.hypot(one.sd(), other.sd()), name
    assert abs(ev.judge.sensitivity.mean() - 0.9) < 5 * ev.judge.sensitivity.sd()
    assert abs(ev.judge.specificity.mean() - 0.75) < 5 * ev.judge.specificity.sd()
    # the judge's labels alone have another error
    assert abs(ev.judge_as_truth.ece.mean() - truth.ece.mean()) > 5 * truth.ece.sd()


def test_checked_rows_may_be_chosen_by_the_judge():
    """All rows that the judge calls wrong are checked: the checked rows alone are far off."""
    rows = judged_set(n=4000, s=0.95, p=0.8)
    chosen = JudgedSet(rows.confidence, rows.truth, rows.judge, ~rows.judge | (np.arange(4000) < 300))
    ev, truth = chosen.judged(), bc.evaluate(rows.truth, rows.confidence, target="confidence", rng=1)
    assert abs(ev.accuracy.mean() - truth.accuracy.mean()) < 5 * ev.accuracy.sd()
    assert abs(ev.checked_only.accuracy.mean() - truth.accuracy.mean()) > 5 * truth.accuracy.sd()
    assert ev.judge.p_checked_at_random < 1e-6
    assert any(text.startswith("Checked rows differ") and "That is allowed" in text for text in ev.remarks)


def test_a_judge_may_be_missing_where_the_truth_is_known():
    rows = judged_set(n=600, checked=200)
    judge = np.where(rows.checked & (np.arange(600) < 300), NAN, rows.judge)
    ev = bc.labels.judged(rows.y, rows.confidence, judge=judge, **FAST)
    assert ev.judge.table_of_checked.sum() == (rows.checked & (np.arange(600) >= 300)).sum()
    assert ev.counts.checked.n_rows == 200


@pytest.mark.slow
def test_results_depend_on_the_seed_alone():
    rows = judged_set(n=400, checked=100)
    one, other, third = (rows.judged(rng=seed, draws=100) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.ece.values, other.ece.values)
    np.testing.assert_array_equal(one.judge.worth.values, other.judge.worth.values)
    assert not np.array_equal(one.ece.values, third.ece.values)


# --- refusals and warnings


@pytest.mark.parametrize(
    ("checked", "message"),
    [
        (0, "all are missing. Check some rows, or give the judge's `rates="),
        (29, "at least 30 rows; 29 are not missing"),
    ],
)
def test_too_few_checked_rows(checked, message):
    rows = judged_set(n=200, checked=checked)
    with pytest.raises(ValueError, match=message):
        rows.judged(**FAST)
    assert rows.judged(rates=(0.9, 0.8), **FAST).counts.n_rows == 200


@pytest.mark.slow
@pytest.mark.parametrize(("checked", "said"), [(60, 1), (120, 0)])
def test_few_checked_rows_are_too_few_for_accuracies(checked, said):
    rows = judged_set(n=400, checked=checked)
    found = [text for text in rows.judged(**FAST).remarks if "With fewer than 100 checked rows" in text]
    assert len(found) == said
    known = rows.judged(rates=(0.9, 0.8), **FAST)
    assert not any("fewer than 100 checked" in text for text in known.remarks)


def test_swapped_labels():
    rows = judged_set(n=400, checked=100)
    with pytest.raises(ValueError, match=r"`judge` agrees with the checked labels no better than chance: .* swapped"):
        JudgedSet(rows.confidence, rows.truth, ~rows.judge, rows.checked).judged(**FAST)


def test_swapped_labels_of_one_range():
    rows = judged_set(n=1000, checked=300)
    judge = np.where(rows.confidence > 0.5, ~rows.judge, rows.judge)
    with pytest.raises(ValueError, match="in range 1 of confidence no better than chance"):
        JudgedSet(rows.confidence, rows.truth, judge, rows.checked).judged(strata=2, **FAST)


def test_few_checked_rows_of_one_label():
    rng = np.random.default_rng(1)
    c = rng.uniform(0.9, 1, 400)
    truth = rng.random(400) < c
    checked = np.arange(400) < np.flatnonzero(~truth)[2]  # up to the third row with label 0
    judge = truth ^ (rng.random(400) < 0.05)
    assert checked.sum() >= 30
    with pytest.warns(FewCheckedWarning, match="specificity rests on 2 checked rows with true label 0"):
        JudgedSet(c, truth, judge, checked).judged(**FAST)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weights": [1.0]}, TypeError, "`labels.judged` takes no 'weights'"),
        ({"cluster": [1]}, ValueError, "`cluster` and `y_true` must have the same length"),
        ({"cluster": np.zeros(200)}, ValueError, "cluster"),
        ({"model": "dirichlet"}, TypeError, "`labels.judged` takes no 'model'"),
        ({"target": "top-label"}, ValueError, "`target` must be one of"),
        ({"rates": 0.9}, ValueError, r"`rates` have shape \(\): give \(sensitivity, specificity\)"),
        ({"rates": "good"}, TypeError, "`rates` must be numbers, not 'good'"),
        ({"rates": (0.9, 1.2)}, ValueError, "a sensitivity and a specificity in"),
        ({"rates": (0.3, 0.4)}, ValueError, "A sum below 1 means that labels are swapped"),
        ({"rates": ((9, 1), (8.5, 2))}, ValueError, "`rates` must be counts"),
        ({"rates": (0.9, 0.8), "strata": 2}, ValueError, '`strata` must be 1 or "auto"'),
        ({"draws": 1}, ValueError, "`draws`"),
    ],
)
def test_options_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        judged_set(n=200, checked=60).judged(**options)


def test_a_matrix_of_probabilities():
    rows = judged_set(n=200, checked=60)
    matrix = np.stack([1 - rows.confidence, rows.confidence], axis=1)
    with pytest.raises(ValueError, match=r"`y_prob` must be one-dimensional.*`y_prob\[:, 1\]`"):
        bc.labels.judged(rows.y, matrix, judge=rows.judge)


def test_no_warning_for_usual_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged_set(n=500, checked=100).judged(**FAST)


def test_a_judge_elsewhere_leads_here():
    rows = judged_set(n=100, checked=50)
    with pytest.raises(TypeError, match=r"`bayescal\.labels\.judged\(y_true, y_prob, judge=judge\)`"):
        bc.evaluate(rows.truth, rows.confidence, judge=rows.judge)
    with pytest.raises(
        ValueError, match=r"or `bayescal\.labels\.judged\(judge=\.\.\.\)` if a judge labelled the others"
    ):
        bc.evaluate(rows.y, rows.confidence)
    with pytest.raises(TypeError, match="With a judge all rows have equal weights"):
        bc.labels.judged(rows.y, rows.confidence, judge=rows.judge, weights=rows.confidence)
