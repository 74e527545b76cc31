"""The clinical summary: its numbers are those of its parts, and of definitions computed by hand."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.clinical.page import clinical_picture
from bayescal.datasets.simulate import simulate

ROWS = simulate(1500, population="flat", curve="temperature", strength=1.5, rng=3)
Y, P = ROWS.outcome.astype(int), ROWS.confidence
THRESHOLDS = [0.1, 0.4]
ONE = bc.clinical_summary(Y, P, THRESHOLDS, rng=1)
NOISE = np.random.default_rng(1).normal(0, 0.8, len(P))
Q = 1 / (1 + np.exp(-(np.log(P / (1 - P)) + NOISE)))
TWO = bc.clinical_summary(Y, {"new": P, "old": Q}, THRESHOLDS, rng=1)
KEYS = [
    "auc",
    "brier_score",
    "mean_risk",
    "observed_expected",
    "in_the_large",
    "intercept",
    "slope",
    "ece",
    "ici",
    "e50",
    "e90",
]


def rows_of(summary, model="model"):
    """Rows of one model, by quantity, and by quantity and threshold for the utility."""
    table = [row for row in summary.table() if row["model"] == model]
    return {
        row["quantity"] if np.isnan(row["threshold"]) else (row["quantity"], row["threshold"]): row for row in table
    }


def test_the_table_has_the_items_of_tripod_in_order():
    table = ONE.table()
    assert [row["quantity"] for row in table] == [*KEYS, *["net_benefit", "treat_all"] * 2]
    items = ["discrimination", "overall", *["calibration"] * 9, *["clinical utility"] * 4]
    assert [row["item"] for row in table] == items
    assert [row["threshold"] for row in table[-4:]] == [0.1, 0.1, 0.4, 0.4]


def test_numbers_are_those_of_the_parts():
    """Exact posteriors agree to the last digits, draws of other seeds to their Monte Carlo error."""
    found = rows_of(ONE)
    rc, nb = bc.recalibration(Y, P, rng=2), bc.net_benefit(Y, P, THRESHOLDS, rng=2)
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
    ev, cv = bc.evaluate(Y, P, rng=2), bc.calibration_curve(Y, P, rng=2)
    for key in ("auc", "brier_score", "ece"):
        row = ev.row(key)
        assert found[key]["mean"] == pytest.approx(row["mean"], abs=0.1 * row["sd"])
        assert found[key]["sd"] == pytest.approx(row["sd"], rel=0.1)
    for row in cv.table()[:3]:
        assert found[row["quantity"]]["mean"] == pytest.approx(row["mean"], abs=0.1 * row["sd"])
        assert found[row["quantity"]]["low"] == pytest.approx(row["low"], abs=0.3 * row["sd"])


def test_numbers_are_near_their_definitions():
    """AUC by counting pairs, the Brier score as a mean, net benefit by counting: within a standard deviation."""
    found = rows_of(ONE)
    wins = np.mean((P[Y == 1][:, None] > P[Y == 0]) + 0.5 * (P[Y == 1][:, None] == P[Y == 0]))
    assert abs(found["auc"]["mean"] - wins) < found["auc"]["sd"]
    assert abs(found["brier_score"]["mean"] - np.mean((Y - P) ** 2)) < found["brier_score"]["sd"]
    for t in THRESHOLDS:
        treated = np.greater_equal(P, t)
        by_hand = np.mean(treated & (Y == 1)) - t / (1 - t) * np.mean(treated & (Y == 0))
        row = found["net_benefit", t]
        assert abs(row["mean"] - by_hand) < row["sd"]
        assert found["treat_all", t]["mean"] == pytest.approx(Y.mean() - t / (1 - t) * (1 - Y.mean()), abs=0.004)


def test_the_simulated_slope_is_in_its_interval():
    """The logits were stated 1.5 times too extreme: a slope of 2/3; each interval misses in 5 % of data sets."""
    found = rows_of(ONE)
    assert found["slope"]["low"] < 2 / 3 < found["slope"]["high"]
    assert found["intercept"]["low"] < 0 < found["intercept"]["high"]


def test_ideal_values():
    """Perfect predictions have an AUC of 1, no error, and the net benefit of treating exactly those with the event."""
    found = rows_of(ONE)
    ideal = {key: found[key]["ideal"] for key in KEYS}
    of_ones = dict.fromkeys(("auc", "slope", "observed_expected"), 1.0)
    assert ideal == dict.fromkeys(KEYS, 0.0) | of_ones | {"mean_risk": Y.mean()}
    assert found["net_benefit", 0.4]["ideal"] == Y.mean()
    assert np.isnan(found["treat_all", 0.4]["ideal"])


def test_parts_are_attributes_and_their_numbers_are_those_shown():
    found = rows_of(ONE)
    assert ONE.evaluation.auc.mean() == found["auc"]["mean"]
    assert ONE.recalibration.slope.mean() == pytest.approx(found["slope"]["mean"], abs=0.01)
    assert ONE.calibration_curve.ici.mean() == found["ici"]["mean"]
    assert ONE.net_benefit.p_useful["model"][1] == found["net_benefit", 0.4]["p_useful"]
    assert (ONE.n_rows, ONE.n_events, ONE.event_rate) == (1500, Y.sum(), pytest.approx(Y.mean()))


def test_models_are_evaluated_as_if_alone():
    alone, together = rows_of(ONE), rows_of(TWO, "new")
    for key in ("intercept", "slope"):
        assert together[key] == alone[key] | {"model": "new"}
    for key in ("auc", "brier_score", "ece", "ici"):
        assert together[key]["mean"] == pytest.approx(alone[key]["mean"], abs=0.1 * alone[key]["sd"])
    assert TWO.models == ("new", "old")
    assert TWO["old"].evaluation.auc.mean() < TWO["new"].evaluation.auc.mean()
    assert TWO.net_benefit.difference("new", "old").mean()[1] > 0


def test_thresholds_do_not_change_the_other_parts():
    without = bc.clinical_summary(Y, P, rng=1)
    kept = [row for row in ONE.table() if row["item"] != "clinical utility"]
    assert str(without.table()) == str(kept)  # NaN differs from itself
    assert without.net_benefit is None
    assert any("needs `thresholds=`" in remark for remark in without.remarks)
    assert "net benefit" not in without.sentence()


def test_the_decision_curve_ends_where_rows_end():
    """The last threshold is reached by five rows: four more rows with larger risks change nothing."""
    p = P / 4
    curve = bc.clinical_summary(Y, p, draws=50, rng=1).decision_curve
    assert curve.thresholds[0] == 0.01
    last = curve.thresholds[-1]
    assert (p >= last).sum() >= 5 > (p >= last + 0.01).sum()
    more = bc.clinical_summary(
        np.append(Y, [1, 0, 1, 0]), np.append(np.minimum(p, 0.2), np.full(4, 0.6)), draws=50, rng=1
    )
    assert more.decision_curve.thresholds[-1] == 0.2


def test_weights_of_a_constant_change_nothing_but_the_words():
    weighted = bc.clinical_summary(Y, P, THRESHOLDS, weights=np.full(len(Y), 2.0), rng=1)
    for key in ("intercept", "slope", ("net_benefit", 0.1)):
        assert rows_of(weighted)[key]["mean"] == pytest.approx(rows_of(ONE)[key]["mean"], rel=1e-9)
    few = bc.clinical_summary(Y, P, weights=np.where(np.arange(len(Y)) % 2, 1.0, 1e-9), rng=1)
    half = bc.clinical_summary(Y[1::2], P[1::2], rng=1)
    assert rows_of(few)["slope"]["sd"] == pytest.approx(rows_of(half)["slope"]["sd"], rel=1e-3)
    assert few.event_rate == pytest.approx(half.event_rate, rel=1e-6)
    assert "(weighted, effective N = 750)" in few.spec


def test_the_same_seed_gives_the_same_numbers():
    assert str(bc.clinical_summary(Y, P, THRESHOLDS, rng=1).table()) == str(ONE.table())


def test_few_rows_have_no_curve_and_one_outcome_has_no_auc():
    few = bc.clinical_summary(Y[:60], P[:60], [0.3], rng=1)
    assert few.calibration_curve is None
    assert "ici" not in rows_of(few)
    assert any("No ICI, E50 and E90" in remark and "100" in remark for remark in few.remarks)
    clinical_picture(few)
    survivors = bc.clinical_summary(np.zeros(200, int), P[:200] / 10, rng=1)
    assert "auc" not in rows_of(survivors)
    assert any("No AUC" in remark for remark in survivors.remarks)
    assert sum("All rows have outcome 0" in remark for remark in survivors.remarks) == 1
    assert survivors.sentence().startswith("200 rows with 0 events (0.0 %). Mean predicted risk ")
    assert "slope" not in survivors.sentence()


def test_remarks_of_several_models_name_them_once():
    rounded = np.clip(np.round(P, 1), 0.05, 0.95)
    tied = bc.clinical_summary(Y, {"a": P, "b": rounded, "c": rounded}, draws=200, rng=1)
    named = [remark for remark in tied.remarks if "equal scores are not divided" in remark]
    assert len(named) == 1
    assert named[0].startswith("b, c: ICI, E50 and E90: The curve has")


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


def test_attributes_of_one_model_ask_for_a_name():
    with pytest.raises(ValueError, match=r"name one, as in `summary\['new'\].evaluation`"):
        _ = TWO.evaluation
    with pytest.raises(KeyError, match="'old'"):
        _ = TWO["odl"]


def test_numbers_that_belong_to_a_part_are_named():
    with pytest.raises(KeyError, match=r"no model 'auc'.*`to_frame\(\)`"):
        _ = ONE["auc"]
    with pytest.raises(AttributeError, match=r"`summary\.net_benefit`"):
        _ = TWO["new"].net_benefit
    with pytest.raises(TypeError, match=r"pass `summary\.calibration_curve`"):
        bc.plot_calibration_curve(ONE)


def test_models_have_random_numbers_of_their_own():
    """The same predictions under two names: the same posterior, and other draws."""
    twice = bc.clinical_summary(Y, {"a": P, "b": P}, draws=200, rng=1)
    assert twice["a"].recalibration.exact_interval("slope") == twice["b"].recalibration.exact_interval("slope")
    assert (twice["a"].recalibration.slope.values != twice["b"].recalibration.slope.values).all()
    assert twice["a"].evaluation.ece.mean() != twice["b"].evaluation.ece.mean()


@pytest.mark.slow
def test_the_decision_curve_of_several_models_ends_with_the_last():
    """Of more than 8 models it has 19 thresholds; it ends where 5 rows of the model with the largest risks do."""
    models = {f"m{i}": P / (1 + i) for i in range(9)}
    curve = bc.clinical_summary(Y, models, draws=50, rng=1).decision_curve
    np.testing.assert_allclose(curve.thresholds, np.arange(1, 20) / 20)
    assert (P >= 0.95).sum() >= 5
    assert np.isin(
        bc.clinical_summary(Y, {"low": P / 4, "high": P / 2}, draws=50, rng=1).decision_curve.thresholds, 0.4
    ).any()


def test_a_floor_is_stated():
    floored = bc.clinical_summary(Y, np.where(P < 0.1, 0.0, P), floor=1e-3, rng=1)
    assert "probabilities at least 0.001 from 0 and 1" in floored.spec
    assert floored.recalibration.floor == 1e-3


def test_the_sheet_of_one_two_and_four_models():
    one = ONE.sheet()
    assert one.header == ("", "mean", "2.5 %", "97.5 %", "observed", "ideal")
    assert [row[0] for row in one.rows[:3]] == ["rows", "events", "AUC (c-statistic)"]
    assert one.rows[1][1] == f"{Y.sum()} ({100 * Y.mean():.1f} %)"
    two = TWO.sheet()
    assert two.header == ("", "new", "old", "ideal")
    cell = next(row for row in two.rows if row[0] == "calibration slope")[1]
    slope = rows_of(TWO, "new")["slope"]
    assert cell == f"{slope['mean']:.3f} ({slope['low']:.3f}, {slope['high']:.3f})"
    four = bc.clinical_summary(Y, pd.DataFrame(dict.fromkeys("abcd", P)), draws=100, rng=1).sheet()
    assert [row[0] for row in four.rows if row[1:] == [""] * 5] == list("abcd")


def test_observed_values_stand_beside_estimates():
    """By definition from the rows: share of pairs in the right order, squared errors, events, net benefit."""
    found, t = rows_of(ONE), np.array(THRESHOLDS)
    right = (P[Y == 1][:, None] > P[Y == 0]).mean()
    net = [(Y - k / (1 - k) * (1 - Y)) @ (k <= P) / len(Y) for k in t]
    for key, expected in (
        *(("brier_score", ((P - Y) ** 2).mean()), ("auc", right), ("observed_expected", Y.sum() / P.sum())),
        *(((("net_benefit", k), value) for k, value in zip(THRESHOLDS, net, strict=True))),
        *((("treat_all", k), Y.mean() - k / (1 - k) * (1 - Y.mean())) for k in THRESHOLDS),
    ):
        assert found[key]["observed"] == pytest.approx(expected, abs=1e-6)
    assert np.isnan([found[key]["observed"] for key in ("slope", "ici", "mean_risk")]).all()
    one, two = ({row[0]: row for row in each.sheet().rows} for each in (ONE, TWO))
    assert one["net benefit at 0.4"][4] == f"{net[1]:.3f}"
    below = [row[0] for row in TWO.sheet().rows].index("net benefit at 0.4") + 1
    assert TWO.sheet().rows[below][:2] == ["  observed", f"{net[1]:.3f}"]
    assert two["net benefit at 0.4"][1].endswith(")")
    assert json.loads(ONE.to_json())["table"][1]["observed"] == pytest.approx(((P - Y) ** 2).mean(), abs=1e-6)


def test_the_sentence_reports_what_a_paper_needs():
    found, sentence = rows_of(ONE), ONE.sentence()
    assert sentence.startswith(f"1500 rows with {Y.sum()} events")
    auc, net, ratio = found["auc"], found["net_benefit", 0.1], found["observed_expected"]
    assert f"AUC {auc['mean']:.3f} (95 % credible interval {auc['low']:.3f} to {auc['high']:.3f})" in sentence
    assert f"observed / expected events {ratio['mean']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})" in sentence
    assert f"At the threshold 0.1, net benefit {net['mean']:.3f}" in sentence
    assert f"compared with {found['treat_all', 0.1]['mean']:.3f} for treat all" in sentence
    assert sentence.count("credible interval") == 1
    assert "new: AUC" in TWO.sentence()
    assert "old: AUC" in TWO.sentence()


def test_exports():
    frame = ONE.to_frame()
    assert frame.index.is_unique
    assert frame.loc[("model", "auc"), "mean"] == rows_of(ONE)["auc"]["mean"]
    assert frame.loc[("model", "net_benefit at 0.4"), "mean"] == rows_of(ONE)["net_benefit", 0.4]["mean"]
    assert list(frame.columns[:2]) == ["item", "threshold"]
    latex = TWO.to_latex()
    events = f"1500 rows with {Y.sum()} events ({100 * Y.mean():.1f} \\%)."
    assert rf"\caption{{Discrimination, calibration and clinical utility in {events}}}" in latex
    assert latex.index(r"\end{tabular}") < latex.index("Posterior means with 95") < latex.index(r"\end{table}")
    assert latex.count("Posterior means") == 1
    assert r"\begin{tabular}{lrrr}" in latex
    large = rows_of(TWO, "new")["in_the_large"]
    shown = f"{large['mean']:.3f} ({large['low']:.3f}, {large['high']:.3f})".replace("-", "$-$")
    assert "$-$" in shown
    assert shown in latex
    document = json.loads(TWO.to_json())
    assert document["kind"] == "ClinicalSummary"
    assert document["rows"] == 1500
    assert [each["name"] for each in document["models"]] == ["new", "old"]
    assert document["models"][0]["evaluation"]["table"][0]["quantity"] == "ece"
    assert document["net_benefit"]["table"][0]["model"] == "new"
    assert document["table"][0]["threshold"] is None
    assert len(document["decision_curve"]["table"]) == 2 * len(TWO.decision_curve.thresholds)


@pytest.mark.slow
def test_page_and_picture_show_curves_and_decisions(tmp_path):
    text = TWO.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Clinical summary", "Calibration curve: new", "Calibration curve: old", "Decision curves", "c-stat"):
        assert words in text
    assert text.count("<svg") == 3
    assert len(clinical_picture(TWO).subfigs) == 3
    titles = [each.get_suptitle() for each in clinical_picture(TWO).subfigs]
    assert titles == ["new", "old", ""]
    six = bc.clinical_summary(Y, {f"m{i}": P for i in range(6)}, [0.2], draws=50, rng=1)
    assert clinical_picture(six).get_size_inches()[0] <= 20


@pytest.mark.parametrize(
    ("shift", "slope", "words"),
    [
        (1.0, 1.0, "the predicted risks are too low on average."),
        (-1.0, 0.5, "the predicted risks are too high on average and too extreme."),
        (0.0, 2.0, "the predicted risks are not extreme enough."),
        (0.0, 1.0, "the intervals contain the values of calibrated risks."),
        (1.0, -1.0, "the predicted risks are too low on average and lower where events are more frequent."),
    ],
)
def test_the_sentence_states_the_direction(shift, slope, words):
    """Outcomes of 4000 rows from known curves, around a mean logit of 0; each interval misses in 5 % of data sets."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, 4000)
    y = (rng.random(4000) < 1 / (1 + np.exp(-(shift + slope * x)))).astype(int)
    summary = bc.clinical_summary(y, 1 / (1 + np.exp(-x)), draws=500, rng=1)
    assert summary.sentence().endswith(f": {words}")
    reversed_event = "The AUC is below 0.5: is the event coded the other way round?" in summary.remarks
    assert reversed_event is (slope < 0)


def test_observed_and_expected_events():
    """The mean risk is that of the rows, and the ratio that of events to the sum of risks, up to its prior."""
    found = rows_of(ONE)
    assert found["mean_risk"]["mean"] == pytest.approx(P.mean(), rel=1e-9)
    ratio = found["observed_expected"]
    assert abs(ratio["mean"] - Y.sum() / P.sum()) < 0.2 * ratio["sd"]
    # the difference of two means of the same rows: delta method
    by_hand = np.std(Y / P.mean() - Y.mean() / P.mean() ** 2 * P) / np.sqrt(len(Y))
    assert ratio["sd"] == pytest.approx(by_hand, rel=0.1)
    row = next(row for row in ONE.sheet().rows if row[0] == "mean predicted risk")
    assert row == ["mean predicted risk", f"{P.mean():.3f}", "", "", "", f"{Y.mean():.3f}"]


def test_counts_of_weighted_rows_say_what_is_weighted():
    """Rows of weight 0 count neither as rows nor as events."""
    weights = np.where(np.arange(len(Y)) < 500, 0.0, 1.0 + P)
    summary = bc.clinical_summary(Y, P, weights=weights, draws=200, rng=1)
    kept, share = Y[500:], 100 * np.average(Y, weights=weights)
    assert (summary.n_rows, summary.n_events) == (1000, kept.sum())
    effective = summary.evaluation.counts.effective_rows
    assert summary.sheet().rows[0][1] == f"1000 (effective {effective:.0f})"
    assert summary.sheet().rows[1][1] == f"{kept.sum()} (weighted share {share:.1f} %)"


@pytest.mark.parametrize(
    ("n_events", "said"),
    [
        (1, "Only 1 event: all"),
        (4, "Only 4 events: all"),
        (5, "Only 5 events: a val"),
        (99, "Only 99 events: a"),
        (100, ""),
    ],
)
def test_few_events_have_a_remark(n_events, said):
    y = np.arange(1000) < n_events
    for outcome, words in (
        (y, said),
        (~y, said.replace("events", "rows without event").replace("1 event:", "1 row without event:")),
    ):
        remarks = bc.clinical_summary(outcome, np.linspace(0.2, 0.8, 1000)[::-1], draws=50, rng=1).remarks
        assert any(remark.startswith(words) for remark in remarks if remark.startswith("Only")) is bool(said)


def test_models_stand_below_each_other_where_the_lines_are_short():
    """A table of two models is wider than 60 characters; all lines of the other form fit."""
    assert TWO.sheet().header == ("", "new", "old", "ideal")
    narrow = TWO.sheet(width=60)
    assert narrow.header == ("", "mean", "2.5 %", "97.5 %", "ideal")
    assert [row[0] for row in narrow.rows].count("  observed") == 2 * 7
    assert [row[0] for row in narrow.rows if not any(row[1:])] == ["new", "old"]
    widths = [max(map(len, column)) for column in zip(*narrow.rows, strict=True)]
    assert sum(widths) + 2 * len(widths) <= 75


def test_the_sentence_names_three_models_and_how_many_more():
    models = dict(zip("abcde", [P, Q, P**1.1, P**1.2, P**1.3], strict=True))
    sentence = bc.clinical_summary(Y, models, draws=50, rng=1).sentence()
    assert [f"{name}: AUC" in sentence for name in "abcde"] == [True, True, True, False, False]
    assert sentence.endswith("The table has 2 more.")


def test_remarks_of_other_results_do_not_name_what_the_table_lacks():
    """A rare bin with a large error: `e90_bins` is no row of this table. Remarks of the net benefit are kept."""
    p = np.append(np.full(3000, 0.2), np.full(80, 0.9))
    y = np.append(np.arange(3000) % 5 == 0, np.zeros(80, bool))
    summary = bc.clinical_summary(y, p + np.linspace(0, 0.01, len(p)), [0.05, 0.4], draws=200, rng=1)
    assert any("e90_bins" in remark for remark in summary.evaluation.remarks)
    assert not any("e90_bins" in remark for remark in summary.remarks)
    assert any(remark.startswith("Too few rows lie below the threshold at 0.05") for remark in summary.remarks)


def test_few_rows_state_no_probability_of_being_useful():
    """A constant score of 0.012 treats nobody, so that P(useful) is that of the prior."""
    y, rng = np.repeat([1, 0], [24, 1976]), np.random.default_rng(1)
    models = {"treats": rng.random(2000), "treats nobody": np.clip(rng.normal(0.012, 0.001, 2000), 0, 0.02)}
    summary = bc.clinical_summary(y, models, 0.1, rng=1)
    useful = [row["p_useful"] for row in summary.table() if row["quantity"] == "net_benefit"]
    assert np.isnan(useful).tolist() == [False, True]
    rows = [row for row in summary.sheet().rows if row[0] == "P(useful) at 0.1"]
    assert [row[1] for row in rows] == ["< 0.01", "-"]  # one block per model
