"""The clinical summary: its numbers are those of its parts, and of definitions computed by hand."""

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.clinical.page import clinical_picture
from bayescal.datasets.simulate import simulate

ROWS = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=3)
Y, P = ROWS.outcome.astype(int), ROWS.confidence


NOISE = np.random.default_rng(1).normal(0, 0.8, len(P))
Q = 1 / (1 + np.exp(-(np.log(P / (1 - P)) + NOISE)))


def test_numbers_are_those_of_the_parts(rows_of, single, data):
    """Exact posteriors agree to the last digits, draws of other seeds to their Monte Carlo error."""
    found = rows_of(single)
    rc, nb = bc.recalibration(data.y, data.p, rng=2), bc.decisions.net_benefit(data.y, data.p, data.thresholds, rng=2)
    for row in rc.table():
        tolerance = {"rel": 1e-9} if row["quantity"] != "in_the_large" else {"abs": 0.006}
        for key in ("mean", "sd", "low", "high"):
            assert found[row["quantity"]][key] == pytest.approx(row[key], **tolerance), (row["quantity"], key)
    for row in nb.table():
        of_model = found["net_benefit", row["threshold"]]
        assert of_model["mean"] == pytest.approx(row["mean"], rel=1e-12)
        assert of_model["sd"] == pytest.approx(row["sd"], rel=1e-12)
        assert of_model["p_useful"] == pytest.approx(row["p_useful"], abs=0.03)
        assert found["treat_all", row["threshold"]]["mean"] == pytest.approx(row["treat_all"], rel=1e-12)
    ev, cv = bc.evaluate(data.y, data.p, rng=2), bc.calibration_curve(data.y, data.p, rng=2)
    for key in ("auc", "brier_score", "ece"):
        row = ev.row(key)
        assert found[key]["mean"] == pytest.approx(row["mean"], abs=0.1 * row["sd"])
        assert found[key]["sd"] == pytest.approx(row["sd"], rel=0.1)
    for row in cv.table()[:3]:
        assert found[row["quantity"]]["mean"] == pytest.approx(row["mean"], abs=0.1 * row["sd"])
        assert found[row["quantity"]]["low"] == pytest.approx(row["low"], abs=0.3 * row["sd"])


def test_numbers_are_near_their_definitions(rows_of, single, data):
    """AUC by counting pairs, the Brier score as a mean, net benefit by counting: within a standard deviation."""
    found = rows_of(single)
    wins = np.mean(
        (data.p[data.y == 1][:, None] > data.p[data.y == 0])
        + 0.5 * (data.p[data.y == 1][:, None] == data.p[data.y == 0])
    )
    assert abs(found["auc"]["mean"] - wins) < found["auc"]["sd"]
    assert abs(found["brier_score"]["mean"] - np.mean((data.y - data.p) ** 2)) < found["brier_score"]["sd"]
    for t in data.thresholds:
        treated = np.greater_equal(data.p, t)
        by_hand = np.mean(treated & (data.y == 1)) - t / (1 - t) * np.mean(treated & (data.y == 0))
        row = found["net_benefit", t]
        assert abs(row["mean"] - by_hand) < row["sd"]
        assert found["treat_all", t]["mean"] == pytest.approx(
            data.y.mean() - t / (1 - t) * (1 - data.y.mean()), abs=0.004
        )


def test_the_simulated_slope_is_in_its_interval(rows_of, single):
    """The logits were stated 1.5 times too extreme: a slope of 2/3; each interval misses in 5 % of data sets."""
    found = rows_of(single)
    assert found["slope"]["low"] < 2 / 3 < found["slope"]["high"]
    assert found["intercept"]["low"] < 0 < found["intercept"]["high"]


def test_models_are_evaluated_as_if_alone(rows_of, single, pair):
    alone, together = rows_of(single), rows_of(pair, "new")
    for key in ("intercept", "slope"):
        assert together[key] == alone[key] | {"model": "new"}
    for key in ("auc", "brier_score", "ece", "ici"):
        assert together[key]["mean"] == pytest.approx(alone[key]["mean"], abs=0.1 * alone[key]["sd"])
    assert pair.models == ("new", "old")
    assert pair["old"].evaluation.auc.mean() < pair["new"].evaluation.auc.mean()
    assert pair.net_benefit.difference("new", "old").mean()[1] > 0


def test_thresholds_do_not_change_the_other_parts(data, single):
    without = bc.clinical_summary(data.y, data.p, rng=1)
    kept = [row for row in single.table() if row["item"] != "clinical utility"]
    assert str(without.table()) == str(kept)  # NaN differs from itself
    assert without.net_benefit is None
    assert any("needs `thresholds=`" in remark for remark in without.remarks)
    assert "net benefit" not in without.sentence()


def test_the_decision_curve_ends_where_rows_end(data):
    """The last threshold is reached by five rows: four more rows with larger risks change nothing."""
    p = data.p / 4
    curve = bc.clinical_summary(data.y, p, draws=50, rng=1).decision_curve
    assert curve.thresholds[0] == 0.01
    last = curve.thresholds[-1]
    assert (p >= last).sum() >= 5 > (p >= last + 0.01).sum()
    more = bc.clinical_summary(
        np.append(data.y, [1, 0, 1, 0]), np.append(np.minimum(p, 0.2), np.full(4, 0.6)), draws=50, rng=1
    )
    assert more.decision_curve.thresholds[-1] == 0.2


def test_weights_of_a_constant_change_nothing_but_the_words(data, rows_of, single):
    weighted = bc.clinical_summary(data.y, data.p, data.thresholds, weights=np.full(len(data.y), 2.0), rng=1)
    for key in ("intercept", "slope", ("net_benefit", 0.1)):
        assert rows_of(weighted)[key]["mean"] == pytest.approx(rows_of(single)[key]["mean"], rel=1e-9)
    few = bc.clinical_summary(data.y, data.p, weights=np.where(np.arange(len(data.y)) % 2, 1.0, 1e-9), rng=1)
    half = bc.clinical_summary(data.y[1::2], data.p[1::2], rng=1)
    assert rows_of(few)["slope"]["sd"] == pytest.approx(rows_of(half)["slope"]["sd"], rel=1e-3)
    assert few.event_rate == pytest.approx(half.event_rate, rel=1e-6)
    assert "(weighted, effective N = 750)" in few.spec


def test_the_same_seed_gives_the_same_numbers(single, data):
    assert str(bc.clinical_summary(data.y, data.p, data.thresholds, rng=1).table()) == str(single.table())


def test_few_rows_have_a_logistic_curve_and_one_outcome_has_no_auc(data, rows_of):
    few = bc.clinical_summary(data.y[:60], data.p[:60], [0.3], rng=1)
    assert rows_of(few)["ici"]["mean"] == few.calibration_curve.ici.mean()
    assert any("ICI, E50 and E90: With fewer than 100 rows the curve is logistic" in each for each in few.remarks)
    clinical_picture(few)
    survivors = bc.clinical_summary(np.zeros(200, int), data.p[:200] / 10, rng=1)
    assert "auc" not in rows_of(survivors)
    assert "scaled_brier_score" not in rows_of(survivors)
    words = "No AUC and no scaled Brier score: 0 of 200 rows are events; both need 1 more event."
    assert words in survivors.remarks
    dead = bc.clinical_summary(np.ones(50, int), data.p[:50], draws=50, rng=1)
    assert any("50 of 50 rows are events; both need 1 more row without" in each for each in dead.remarks)
    assert sum("All rows have outcome 0" in remark for remark in survivors.remarks) == 1
    assert survivors.sentence().startswith("200 rows with 0 events (0.0 %). Mean predicted risk ")
    assert "slope" not in survivors.sentence()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((Y, P, [0.5, 1.0]), {}, "`thresholds` must lie in [0, 1); 1 of 2 values does not"),
        ((Y, np.where(Y == 1, 0.0, 0.5)), {}, "floor"),
        ((Y, {"new": P, "flat": np.full(len(P), 0.3)}), {}, "model 'flat': "),
        ((Y, {"treat all": P}), {}, "rename this model"),
        ((Y, P), {"weights": np.where(Y == 1, 1.0, 5.0)}, "AUC and slope do not depend on the share"),
        ((Y, {"new": P, "old": np.append(Q, 0.5)}), {}, "1500"),
        ((Y, {"new": P, "died": Y.astype(float)}), {}, "model 'died': `y_prob` equals `y_true` in all rows"),
        ((Y, P), {"prevalence": 0.1}, "[0.1, 0.2], prevalence=0.1)`."),
        ((Y, P), {"level": 0.9}, "`result.table(prob=0.9)`."),
        ((Y, P), {"seed": 1}, "Here it is called 'rng'"),
        ((Y, pd.DataFrame(np.stack([P, Q], axis=1), columns=["a", "a"])), {}, "['a'] occur more than once"),
        ((Y + 1, P), {}, "`y_true`"),
        ((Y, P * 100), {}, "`y_prob`"),
    ],
)
def test_invalid_input_is_refused(arguments, options, said):
    with pytest.raises((ValueError, TypeError), match=None) as error:
        bc.clinical_summary(*arguments, **({"rng": 1} | options if "seed" not in options else options))
    assert said in str(error.value)


def test_models_have_random_numbers_of_their_own(data):
    """The same predictions under two names: the same posterior, and other draws."""
    twice = bc.clinical_summary(data.y, {"a": data.p, "b": data.p}, draws=200, rng=1)
    assert twice["a"].recalibration.exact_interval("slope") == twice["b"].recalibration.exact_interval("slope")
    assert (twice["a"].recalibration.slope.values != twice["b"].recalibration.slope.values).all()
    assert twice["a"].evaluation.ece.mean() != twice["b"].evaluation.ece.mean()


@pytest.mark.slow
def test_the_decision_curve_of_several_models_ends_with_the_last(data):
    """Of more than 8 models it has 19 thresholds; it ends where 5 rows of the model with the largest risks do."""
    models = {f"m{i}": data.p / (1 + i) for i in range(9)}
    curve = bc.clinical_summary(data.y, models, draws=50, rng=1).decision_curve
    np.testing.assert_allclose(curve.thresholds, np.arange(1, 20) / 20)
    assert (data.p >= 0.95).sum() >= 5
    assert np.isin(
        bc.clinical_summary(data.y, {"low": data.p / 4, "high": data.p / 2}, draws=50, rng=1).decision_curve.thresholds,
        0.4,
    ).any()


def test_observed_and_expected_events(rows_of, single, data):
    """The mean risk is that of the rows, and the ratio that of events to the sum of risks, up to its prior."""
    found = rows_of(single)
    assert found["mean_risk"]["mean"] == pytest.approx(data.p.mean(), rel=1e-9)
    ratio = found["observed_expected"]
    assert abs(ratio["mean"] - data.y.sum() / data.p.sum()) < 0.2 * ratio["sd"]
    # the difference of two means of the same rows: delta method
    by_hand = np.std(data.y / data.p.mean() - data.y.mean() / data.p.mean() ** 2 * data.p) / np.sqrt(len(data.y))
    assert ratio["sd"] == pytest.approx(by_hand, rel=0.1)
    row = next(row for row in single.sheet().rows if row[0] == "mean predicted risk")
    assert row == ["mean predicted risk", f"{data.p.mean():.3f}", "", "", "", f"{data.y.mean():.3f}"]
