"""`partly_observed`: special cases in which other functions give the answer, known truths, refusals."""

import numpy as np
import pytest
from judged_sets import same_ends
from partial_sets import PartialSet, by_covariate, by_score, not_at_random

import bayescal as bc
from bayescal.labels.partial import STEP

NAN = float("nan")
FAST = {"draws": 200}


# --- special cases


@pytest.mark.parametrize("options", [{}, {"missing": "not_at_random", "odds_ratio": (1, 1)}])
@pytest.mark.parametrize("curve", [{}, {"slope": 1, "shift": 0}])
def test_at_random_given_the_score_is_a_shift_with_equal_weights(options, curve):
    rows = by_score(**curve)
    ev = rows.observed(**options)
    ev = ev[1.0] if options else ev
    y, p = rows.truth[rows.known], rows.p[rows.known]
    other = bc.evaluate_shifted(y, p, rows.p, shift="covariate", weights=np.ones(len(y)), rng=1)
    for name in ("ece", "l2_error", "signed_error", "e90_bins", "brier_score"):
        same_ends(ev.draws(name), other.draws(name))
    assert ev.p_calibrated == pytest.approx(other.p_calibrated, abs=0.01)
    np.testing.assert_allclose(ev.counts.accuracy, other.counts.accuracy, rtol=1e-7)


def test_given_covariates_is_a_shift_with_the_weights():
    rows = by_covariate()
    weights = np.where(rows.known, 1 / rows.share, NAN)
    ev = rows.observed("covariates", weights=weights)
    y, p, w = (each[rows.known] for each in (rows.truth, rows.p, weights))
    other = bc.shift.covariate(y, p, rows.p, weights=w, rng=1)
    for name in ("ece", "signed_error", "auc", "brier_score"):
        np.testing.assert_array_equal(ev.draws(name).values, other.draws(name).values)
    assert ev.weight_report.table() == other.weight_report.table()
    # values where the outcome is unknown are not used
    again = rows.observed("covariates", weights=3 / rows.share)
    np.testing.assert_allclose(again.ece.values, ev.ece.values, rtol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"missing": "not_at_random", "odds_ratio": (3, 3)}, {"missing": "not_at_random", "prior_sd": 0.7}]
)
def test_all_outcomes_known_is_the_evaluation(options):
    rows = by_score(n=600)
    rows = PartialSet(rows.p, rows.truth, np.ones(600, bool), rows.share)
    ev = rows.observed(**options)
    ev = ev[3.0] if "odds_ratio" in options else ev
    for name in ("ece", "signed_error", "brier_score"):
        same_ends(ev.draws(name), rows.whole().draws(name))
    assert ev.remarks[0] == "The outcomes of all rows are known, so that nothing is assumed about missing ones."


def test_relabelling_inverts_the_odds_ratio():
    rows = not_at_random(2, n=1000)
    other = PartialSet(1 - rows.p, ~rows.truth, rows.known, rows.share)
    one, two = (
        each.observed("not_at_random", odds_ratio=(ratio, ratio))[ratio] for each, ratio in ((rows, 2.0), (other, 0.5))
    )
    same_ends(one.ece, two.ece)
    same_ends(one.signed_error, -1 * two.signed_error)


@pytest.mark.parametrize("missing", [[None, 1, 0], [True, None, False], ["no", None, "yes"]])
def test_missing_values_of_lists_and_names_of_classes(missing):
    p = np.tile([0.2, 0.5, 0.8], 40)
    classes = ("no", "yes") if "no" in missing else None
    ev = bc.labels.partly_observed(missing * 40, p, missing="score", classes=classes, rng=1, **FAST)
    assert (ev.counts.n_rows, ev.counts.n_target_rows) == (80, 120)
    number = {"yes": 1, "no": 0}
    assert ev.known.k.sum() == 40 * sum(number.get(each, each) for each in missing if each is not None)


def test_top_labels():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet((1, 1, 1), 600)
    label = np.array([rng.choice(3, p=each) for each in matrix]).astype(float)
    known = rng.random(600) < matrix.max(axis=1)
    ev = bc.labels.partly_observed(np.where(known, label, NAN), matrix, missing="score", rng=1, **FAST)
    assert ev.counts.target == "top-label"
    assert ev.known.k.sum() == (matrix.argmax(axis=1) == label)[known].sum()
    assert ev.counts.n_target_rows == 600


# --- known truths: 40 000 rows, within five standard deviations of the quantities of all outcomes


def close(ev, rows, names):
    whole = rows.whole()
    for name in names:
        one, other = ev.draws(name), whole.draws(name)
        assert abs(one.mean() - other.mean()) < 5 * np.hypot(one.sd(), other.sd()), name


def test_the_truth_given_the_score():
    rows = by_score(n=40_000)
    ev = rows.observed()
    close(ev, rows, ("ece", "signed_error", "brier_score", "log_score", "auc"))
    whole = rows.whole()
    # the rows with known outcome have larger scores, another Brier score and another AUC
    for name in ("brier_score", "auc"):
        assert abs(ev.known_only.draws(name).mean() - whole.draws(name).mean()) > 5 * ev.known_only.draws(name).sd()


def test_the_truth_given_covariates():
    rows = by_covariate(n=40_000)
    close(rows.observed("covariates", weights=1 / rows.share), rows, ("ece", "signed_error", "brier_score", "auc"))
    wrong, whole = rows.observed(), rows.whole()
    assert abs(wrong.signed_error.mean() - whole.signed_error.mean()) > 5 * wrong.signed_error.sd()


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_the_truth_with_the_right_odds_ratio(ratio):
    rows = not_at_random(ratio, n=40_000)
    band = rows.observed("not_at_random", odds_ratio=(ratio / 2, ratio * 2))
    right = min(band, key=lambda each: abs(np.log(each / ratio)))
    close(band[right], rows, ("ece", "signed_error", "brier_score"))
    at_random, whole = rows.observed(), rows.whole()
    assert abs(at_random.signed_error.mean() - whole.signed_error.mean()) > 5 * at_random.signed_error.sd()


# --- the band, and the prior


def test_the_band_is_the_union_and_depends_little_on_the_step(monkeypatch):
    rows = not_at_random(2)
    band = rows.observed("not_at_random", odds_ratio=2)
    ratios = np.array(list(band))
    assert {0.5, 1.0, 2.0} <= set(ratios.round(12))
    assert np.diff(np.log(ratios)).max() <= STEP + 1e-9
    ends = [each.ece.interval() for each in band.evaluations.values()]
    assert band.interval() == (min(low for low, _ in ends), max(high for _, high in ends))
    # a fixed value is inside, also from another seed
    low, high = band.interval("signed_error")
    alone = rows.observed("not_at_random", odds_ratio=(1, 1), rng=2)[1.0].signed_error
    assert low < alone.quantile(0.025) < alone.quantile(0.975) < high
    monkeypatch.setattr("bayescal.labels.partial.STEP", STEP / 2)
    finer = rows.observed("not_at_random", odds_ratio=2)
    assert len(finer) == 2 * len(band) - 1
    np.testing.assert_allclose(finer.interval("signed_error"), (low, high), atol=0.1 * (high - low))


def test_a_range_without_1_and_the_inverse_of_a_number():
    rows = not_at_random(2, n=400)
    both = (rows.observed("not_at_random", odds_ratio=each, **FAST).range for each in (4, 0.25))
    np.testing.assert_allclose(list(both), [[0.25, 4]] * 2)
    assert rows.observed("not_at_random", odds_ratio=(1.5, 3), **FAST).range == pytest.approx((1.5, 3))


def test_a_prior_of_the_odds_ratio_is_the_average_over_its_quantiles():
    rows = by_score()
    ev = rows.observed("not_at_random", prior_sd=0.7)
    ratios = np.array(ev.odds_ratios)
    # quantiles of the Normal distribution at (i + 1/2) / 16
    assert np.log(ratios[[0, 7, 8, 15]]) / 0.7 == pytest.approx([-1.8627, -0.0784, 0.0784, 1.8627], abs=1e-4)
    each = [rows.observed("not_at_random", odds_ratio=(r, r))[r].signed_error.mean() for r in ratios.tolist()]
    assert ev.signed_error.mean() == pytest.approx(np.mean(each), abs=0.002)


def test_odds_ratios_at_which_the_end_reaches_0():
    rows = by_score(n=3000)
    below, above = rows.observed("not_at_random", odds_ratio=2).reaches_zero
    assert np.isnan(above)  # accuracies are too high already
    at, before = below * np.exp(-0.2), below * np.exp(0.2)
    ends = [rows.observed("not_at_random", odds_ratio=(r, r))[r].ece.interval()[0] for r in (at, before)]
    assert ends[0] < 1e-9 < 1e-4 < ends[1]
    calibrated = by_score(n=500, slope=1, shift=0)
    assert calibrated.observed("not_at_random", odds_ratio=2, **FAST).reaches_zero == (1.0, 1.0)


def test_results_depend_on_the_seed_alone():
    rows = by_score(n=400)
    for options in ({}, {"missing": "not_at_random", "prior_sd": 0.5}):
        one, two, three = (rows.observed(rng=seed, **options, **FAST).ece.values for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, three)
    one, two = (rows.observed("not_at_random", odds_ratio=2, **FAST) for _ in range(2))
    assert one.interval() == two.interval()


# --- refusals

RANDOM = {"missing": "not_at_random"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"missing": "random"}, ValueError, r"must be one of \['score', 'covariates', 'not_at_random'\], not 'random'"),
        ({"missing": "MNAR"}, ValueError, "Did you mean 'not_at_random'"),
        ({"weights": np.ones(400)}, TypeError, "`weights=` is an option of `missing='covariates'`"),
        ({"odds_ratio": 2}, TypeError, "`odds_ratio=` is an option of `missing='not_at_random'`, not of .*'score'"),
        ({"missing": "covariates"}, TypeError, r"needs `weights=`, 1 / P\(outcome known"),
        ({"missing": "covariates", "weights": np.ones(3)}, ValueError, "same length"),
        ({"missing": "covariates", "weights": -np.ones(400)}, ValueError, "`weights` must be >= 0"),
        ({"missing": "covariates", "weights": np.full(400, NAN)}, ValueError, "`weights` must be complete"),
        ({"missing": "covariates", "weights": np.linspace(0.1, 0.9, 400)}, ValueError, "Pass `1 / weights`"),
        ({"missing": "covariates", "weights": np.geomspace(1, 1e60, 400)}, ValueError, "effective rows; the"),
        (RANDOM, TypeError, "needs either `odds_ratio=`, such as 2"),
        ({**RANDOM, "odds_ratio": 2, "prior_sd": 1}, TypeError, "needs either"),
        ({**RANDOM, "odds_ratio": 0}, ValueError, "between 1/20 and 20, not 0"),
        ({**RANDOM, "odds_ratio": (1, 2, 3)}, ValueError, "one or two numbers"),
        ({**RANDOM, "odds_ratio": (2, 1)}, ValueError, "increasing pair"),
        ({**RANDOM, "odds_ratio": "two"}, TypeError, "a number or two numbers, not 'two'"),
        ({**RANDOM, "prior_sd": -1}, ValueError, "`prior_sd` must be finite and > 0"),
        ({**RANDOM, "prior_sd": 3}, ValueError, "`prior_sd` must be at most 1.5, not 3"),
        ({"cluster": [1]}, TypeError, "`labels.partly_observed` takes no 'cluster'"),
        ({"draws": 1}, ValueError, "`draws`"),
    ],
)
def test_options_that_do_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        by_score(n=400).observed(**options)


def test_the_assumption_has_no_default():
    message = (
        r"missing 1 required keyword-only argument: 'missing'.*data cannot tell.*'score'`: .*'covariates'` .*'not_at"
    )
    with pytest.raises(TypeError, match=message):
        bc.labels.partly_observed([0, 1], [0.2, 0.7])


@pytest.mark.parametrize(
    ("n_known", "message"), [(0, "30 rows; all are missing"), (29, "30 rows; 29 of 100 are not missing")]
)
def test_too_few_outcomes(n_known, message):
    y = np.where(np.arange(100) < n_known, np.arange(100) % 2, NAN)
    with pytest.raises(ValueError, match=message):
        bc.labels.partly_observed(y, np.linspace(0, 1, 100), missing="score")


def test_scores_without_outcomes():
    p = np.linspace(0.001, 0.999, 1000)
    y = np.where(p < 0.3, p < 0.1, NAN)
    with pytest.raises(ValueError, match=r"66.7 % of the rows are in bins without a known outcome.*at most 50 %"):
        bc.labels.partly_observed(y, p, missing="score")


def test_messages_about_missing_outcomes_lead_here():
    """Of missing outcomes, and not of missing probabilities."""
    y, p = [0, 1, None], [0.2, 0.7, 0.4]
    with pytest.raises(ValueError, match=r"unbiased only if .* otherwise use `bayescal\.labels\.partly_observed\("):
        bc.evaluate(y, p)
    with pytest.raises(ValueError, match=r"`y_prob` must be complete.*remove or repair them first"):
        bc.evaluate([0, 1, 1], [0.2, NAN, 0.4])
