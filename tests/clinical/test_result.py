"""ClinicalSummary: its table, sentence, sheet, remarks and exports."""

import json

import numpy as np
import pandas as pd
import pytest

import bayescal as bc

KEYS = [
    "auc",
    "brier_score",
    "scaled_brier_score",
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


def test_the_table_has_the_items_of_tripod_in_order(single):
    table = single.table()
    assert [row["quantity"] for row in table] == [*KEYS, *["net_benefit", "treat_all"] * 2]
    items = ["discrimination", "overall", "overall", *["calibration"] * 9, *["clinical utility"] * 4]
    assert [row["item"] for row in table] == items
    assert [row["threshold"] for row in table[-4:]] == [0.1, 0.1, 0.4, 0.4]


def test_ideal_values(rows_of, single, data):
    """Perfect predictions have an AUC of 1, no error, and the net benefit of treating exactly those with the event."""
    found = rows_of(single)
    ideal = {key: found[key]["ideal"] for key in KEYS}
    of_ones = dict.fromkeys(("auc", "scaled_brier_score", "slope", "observed_expected"), 1.0)
    assert ideal == dict.fromkeys(KEYS, 0.0) | of_ones | {"mean_risk": data.y.mean()}
    assert found["net_benefit", 0.4]["ideal"] == data.y.mean()
    assert np.isnan(found["treat_all", 0.4]["ideal"])


def test_parts_are_attributes_and_their_numbers_are_those_shown(rows_of, single, data):
    found = rows_of(single)
    assert single.evaluation.auc.mean() == found["auc"]["mean"]
    assert single.recalibration.slope.mean() == pytest.approx(found["slope"]["mean"], abs=0.01)
    assert single.calibration_curve.ici.mean() == found["ici"]["mean"]
    assert single.net_benefit.p_useful["model"][1] == found["net_benefit", 0.4]["p_useful"]
    assert (single.n_rows, single.n_events, single.event_rate) == (1500, data.y.sum(), pytest.approx(data.y.mean()))


def test_remarks_of_several_models_name_them_once(data):
    rounded = np.clip(np.round(data.p, 1), 0.05, 0.95)
    tied = bc.clinical_summary(data.y, {"a": data.p, "b": rounded, "c": rounded}, draws=200, rng=1)
    named = [remark for remark in tied.remarks if "equal scores are not divided" in remark]
    assert len(named) == 1
    assert named[0].startswith("b, c: ICI, E50 and E90: The curve has")


def test_attributes_of_one_model_ask_for_a_name(pair):
    with pytest.raises(ValueError, match=r"name one, as in `summary\['new'\].evaluation`"):
        _ = pair.evaluation
    with pytest.raises(KeyError, match="'old'"):
        _ = pair["odl"]


def test_numbers_that_belong_to_a_part_are_named(single, pair):
    with pytest.raises(KeyError, match=r"no model 'auc'.*`to_frame\(\)`"):
        _ = single["auc"]
    with pytest.raises(AttributeError, match=r"`summary\.net_benefit`"):
        _ = pair["new"].net_benefit
    with pytest.raises(TypeError, match=r"pass `summary\.calibration_curve`"):
        bc.plot_calibration_curve(single)


def test_a_floor_is_stated(data):
    floored = bc.clinical_summary(data.y, np.where(data.p < 0.1, 0.0, data.p), floor=1e-3, rng=1)
    assert "probabilities at least 0.001 from 0 and 1" in floored.spec
    assert floored.recalibration.floor == 1e-3


def test_the_sheet_of_one_two_and_four_models(single, data, pair, rows_of):
    one = single.sheet()
    assert one.header == ("", "mean", "2.5 %", "97.5 %", "observed", "ideal")
    assert [row[0] for row in one.rows[:3]] == ["rows", "events", "AUC (c-statistic)"]
    assert one.rows[1][1] == f"{data.y.sum()} ({100 * data.y.mean():.1f} %)"
    two = pair.sheet()
    assert two.header == ("", "new", "old", "ideal")
    cell = next(row for row in two.rows if row[0] == "calibration slope")[1]
    slope = rows_of(pair, "new")["slope"]
    assert cell == f"{slope['mean']:.3f} ({slope['low']:.3f}, {slope['high']:.3f})"
    four = bc.clinical_summary(data.y, pd.DataFrame(dict.fromkeys("abcd", data.p)), draws=100, rng=1).sheet()
    assert [row[0] for row in four.rows if row[1:] == [""] * 5] == list("abcd")


def test_observed_values_stand_beside_estimates(rows_of, single, data, pair):
    """By definition from the rows: share of pairs in the right order, squared errors, events, net benefit.

    The variance of the outcomes is the Brier score of the event rate.
    """
    found, t = rows_of(single), np.array(data.thresholds)
    right = (data.p[data.y == 1][:, None] > data.p[data.y == 0]).mean()
    net = [(data.y - k / (1 - k) * (1 - data.y)) @ (k <= data.p) / len(data.y) for k in t]
    for key, expected in (
        *(
            ("brier_score", ((data.p - data.y) ** 2).mean()),
            ("scaled_brier_score", 1 - ((data.p - data.y) ** 2).mean() / data.y.var()),
            ("auc", right),
            ("observed_expected", data.y.sum() / data.p.sum()),
        ),
        *(((("net_benefit", k), value) for k, value in zip(data.thresholds, net, strict=True))),
        *((("treat_all", k), data.y.mean() - k / (1 - k) * (1 - data.y.mean())) for k in data.thresholds),
    ):
        assert found[key]["observed"] == pytest.approx(expected, abs=1e-6)
    assert np.isnan([found[key]["observed"] for key in ("slope", "ici", "mean_risk")]).all()
    one, two = ({row[0]: row for row in each.sheet().rows} for each in (single, pair))
    assert one["net benefit at 0.4"][4] == f"{net[1]:.3f}"
    below = [row[0] for row in pair.sheet().rows].index("net benefit at 0.4") + 1
    assert pair.sheet().rows[below][:2] == ["  observed", f"{net[1]:.3f}"]
    assert two["net benefit at 0.4"][1].endswith(")")
    assert json.loads(single.to_json())["table"][1]["observed"] == pytest.approx(
        ((data.p - data.y) ** 2).mean(), abs=1e-6
    )


def test_the_sentence_reports_what_a_paper_needs(rows_of, single, data, pair):
    found, sentence = rows_of(single), single.sentence()
    assert sentence.startswith(f"1500 rows with {data.y.sum()} events")
    auc, net, ratio = found["auc"], found["net_benefit", 0.1], found["observed_expected"]
    assert f"AUC {auc['mean']:.3f} (95 % credible interval {auc['low']:.3f} to {auc['high']:.3f})" in sentence
    assert f"observed / expected events {ratio['mean']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})" in sentence
    assert f"At the threshold 0.1, net benefit {net['mean']:.3f}" in sentence
    assert f"compared with {found['treat_all', 0.1]['mean']:.3f} for treat all" in sentence
    assert sentence.count("credible interval") == 1
    assert "new: AUC" in pair.sentence()
    assert "old: AUC" in pair.sentence()


def test_exports(single, rows_of, pair, data):
    frame = single.to_frame()
    assert frame.index.is_unique
    assert frame.loc[("model", "auc"), "mean"] == rows_of(single)["auc"]["mean"]
    assert frame.loc[("model", "net_benefit at 0.4"), "mean"] == rows_of(single)["net_benefit", 0.4]["mean"]
    assert list(frame.columns[:2]) == ["item", "threshold"]
    latex = pair.to_latex()
    events = f"1500 rows with {data.y.sum()} events ({100 * data.y.mean():.1f} \\%)."
    assert rf"\caption{{Discrimination, calibration and clinical utility in {events}}}" in latex
    assert latex.index(r"\end{tabular}") < latex.index("Posterior means with 95") < latex.index(r"\end{table}")
    assert latex.count("Posterior means") == 1
    assert r"\begin{tabular}{lrrr}" in latex
    large = rows_of(pair, "new")["in_the_large"]
    shown = f"{large['mean']:.3f} ({large['low']:.3f}, {large['high']:.3f})".replace("-", "$-$")
    assert "$-$" in shown
    assert shown in latex
    document = json.loads(pair.to_json())
    assert document["kind"] == "ClinicalSummary"
    assert document["rows"] == 1500
    assert [each["name"] for each in document["models"]] == ["new", "old"]
    assert document["models"][0]["evaluation"]["table"][0]["quantity"] == "ece"
    assert document["net_benefit"]["table"][0]["model"] == "new"
    assert document["table"][0]["threshold"] is None
    assert len(document["decision_curve"]["table"]) == 2 * len(pair.decision_curve.thresholds)


def test_models_stand_below_each_other_where_the_lines_are_short(pair):
    """A table of two models is wider than 60 characters; all lines of the other form fit."""
    assert pair.sheet().header == ("", "new", "old", "ideal")
    narrow = pair.sheet(width=60)
    assert narrow.header == ("", "mean", "2.5 %", "97.5 %", "ideal")
    assert [row[0] for row in narrow.rows].count("  observed") == 2 * 8
    assert [row[0] for row in narrow.rows if not any(row[1:])] == ["new", "old"]
    widths = [max(map(len, column)) for column in zip(*narrow.rows, strict=True)]
    assert sum(widths) + 2 * len(widths) <= 75


def test_the_sentence_names_three_models_and_how_many_more(data):
    models = dict(zip("abcde", [data.p, data.q, data.p**1.1, data.p**1.2, data.p**1.3], strict=True))
    sentence = bc.clinical_summary(data.y, models, draws=50, rng=1).sentence()
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
