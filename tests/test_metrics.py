"""The numbers of results as a flat dict: names, values, and that no number is missing."""

import importlib.util
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import bayescal as bc
from bayescal._metrics import Table, _name, flat, nested
from bayescal._presented import Presented

FILE = Path(__file__).with_name("every_function.py")
SPEC = importlib.util.spec_from_file_location("every_function", FILE)
every = importlib.util.module_from_spec(SPEC)
sys.modules.setdefault("every_function", every)
SPEC.loader.exec_module(every)

RNG = np.random.default_rng(4)
P = RNG.random(400)
Y = (RNG.random(400) < P**1.3).astype(int)
GROUP = np.repeat(["New York", "north"], 200)
FAST = {"draws": 200, "rng": 1}
NAME = re.compile(r"[\w.:-]+(/[\w.:-]+)*")


def ends(draws, prob=0.95):
    return np.quantile(draws.values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)


def test_the_numbers_of_an_evaluation_are_those_of_its_draws():
    ev = bc.evaluate(Y, P, **FAST)
    numbers = ev.metrics()
    for name in ("ece", "l2_error", "brier_score", "auc"):
        draws = ev.draws(name)
        found = [numbers[name], numbers[f"{name}_sd"], numbers[f"{name}_low"], numbers[f"{name}_high"]]
        assert np.allclose(found, [draws.values.mean(), draws.values.std(ddof=1), *ends(draws)], rtol=1e-12, atol=0)
    assert numbers["ece_if_calibrated"] == pytest.approx(ev.null.values.mean(), rel=1e-12)
    edges = np.minimum((P * 15).astype(int), 14)
    by_hand = sum(abs((Y - P)[edges == b].sum()) for b in range(15)) / len(Y)
    assert numbers["ece_plug_in"] == pytest.approx(by_hand, rel=1e-12)
    assert (numbers["n_rows"], numbers["p_calibrated"]) == (400.0, ev.p_calibrated)


def test_quantities_and_the_probability_of_intervals_are_chosen_as_for_the_table():
    ev = bc.evaluate(Y, P, **FAST)
    numbers = ev.metrics(0.5, estimands=["auc"])
    assert [numbers["auc_low"], numbers["auc_high"]] == pytest.approx(ends(ev.auc, 0.5).tolist(), rel=1e-12)
    assert not {"ece", "brier_score"} & set(numbers)
    with pytest.raises(ValueError, match="`prob` must"):
        ev.metrics(1)
    with pytest.raises(TypeError, match=r"`Evaluation\.metrics` takes no 'estimand'|takes no 'estimand'"):
        ev.metrics(estimand="ece")


@pytest.mark.parametrize(
    ("options", "of_one", "of_several"),
    [
        ({"estimands": ["ece", "auc"]}, "", "takes one estimand at a time, as `estimand='ece'`"),
        ({"estimand": ["ece", "auc"]}, "Here it is called 'estimands'", "not list. Pass one at a time"),
        ({"prob": ["auc"]}, "Estimands are `metrics(estimands=['auc'])`", "Estimands are `metrics(estimand='auc')`"),
        ({"prob": "auc"}, "Estimands are `metrics(estimands=['auc'])`", "Estimands are `metrics(estimand='auc')`"),
        ({"prefix": "val/"}, "Names get one by", "Names get one by"),
    ],
)
def test_errors_say_how_each_result_takes_estimands(options, of_one, of_several):
    for result, said in (
        (bc.evaluate(Y, P, **FAST), of_one),
        (bc.evaluate(Y, P, by=GROUP, **FAST), of_several),
        (bc.compare(Y, {"a": P, "b": P**2}, **FAST), of_several),
    ):
        if not said:
            assert {"ece", "auc"} <= set(result.metrics(**options))
            continue
        with pytest.raises(TypeError, match=re.escape(said)):
            result.metrics(**options)


def test_missing_numbers_have_no_name():
    ev = bc.evaluate(Y, P, model="dirichlet", **FAST)
    numbers = ev.metrics(estimands=["ece", "brier_score"])
    assert "p_calibrated" not in numbers
    assert "brier_score" in numbers
    assert "brier_score_if_calibrated" not in numbers
    assert np.isnan(ev.row("brier_score")["null_mean"])


def test_groups_and_all_rows():
    grouped = bc.evaluate(Y, P, by=GROUP, **FAST)
    numbers = grouped.metrics(estimand="l2_error")
    assert numbers["New_York/l2_error"] == pytest.approx(grouped["New York"].l2_error.values.mean(), rel=1e-12)
    assert numbers["l2_error"] == pytest.approx(grouped.overall.l2_error.values.mean(), rel=1e-12)
    assert (numbers["north/n_rows"], "ece" in numbers) == (200.0, False)
    slopes = bc.clinical.recalibration(Y, P, by=GROUP, **FAST)
    for prefix, result in (("north/", slopes["north"]), ("", slopes.overall)):
        (slope,) = (row for row in result.table() if row["quantity"] == "slope")
        assert slopes.metrics()[f"{prefix}slope"] == slope["mean"]


def test_classes_have_their_labels():
    matrix = RNG.dirichlet(np.ones(3), 300)
    label = np.array(["cat", "dog", "a fox"])[[RNG.choice(3, p=row) for row in matrix]]
    result = bc.evaluate(label, matrix, classes=["cat", "dog", "a fox"], target="classwise", **FAST)
    numbers = result.metrics()
    ece = result.draws().values
    assert numbers["dog/ece"] == pytest.approx(ece[:, 1].mean(), rel=1e-12)
    assert numbers["a_fox/ece_plug_in"] == pytest.approx(result["a fox"].plug_in, rel=1e-12)
    assert numbers["classwise_ece_low"] == pytest.approx(ends(result.ece)[0], rel=1e-12)
    assert {"marginal_error", "cat/ece_if_calibrated"} <= set(numbers)


def test_pairs_keep_the_given_order_whatever_the_data_say():
    """The table lists the best first, so that its pairs depend on the data."""
    models = {"c": P**0.5, "a": P, "b": P**3}
    comparison = bc.compare(Y, models, **FAST)
    assert next((row["first"], row["second"]) for row in comparison.table()) != ("c", "a")
    numbers = comparison.metrics()
    assert [name.partition("/")[0] for name in numbers if name.endswith("/ece")] == [
        *("c", "a", "b"),
        *("c_minus_a", "c_minus_b", "a_minus_b"),
    ]
    difference, decision = comparison.difference("c", "a"), comparison.decide("c", "a")
    assert numbers["c_minus_a/ece"] == pytest.approx(difference.values.mean(), rel=1e-12)
    assert numbers["c_minus_a/ece_low"] == pytest.approx(ends(difference)[0], rel=1e-12)
    assert {name: numbers[f"c_minus_a/ece_{name}"] for name in decision} == decision
    assert numbers["b/ece"] == pytest.approx(comparison["b"].ece.values.mean(), rel=1e-12)


def test_streams_have_one_name_per_window():
    monitor = bc.monitoring.CalibrationMonitor(window="1d", target="event")
    for day in (1, 2):
        monitor.add(Y, P, time=f"2026-03-0{day}")
    assert monitor.metrics()["2026-03-02T00:00:00/n_rows"] == 400.0
    evidence = monitor.evidence()
    assert evidence.metrics()["raised"] == float(evidence.raised)
    assert evidence.metrics()["2026-03-02T00:00:00/p_value"] == evidence.p_values[1]
    sequence = monitor.confidence_sequence()
    assert sequence.metrics()["2026-03-01T00:00:00/ece_high"] == sequence.high[0]


def test_two_labels_with_one_name_are_refused():
    with pytest.raises(ValueError, match=r"'a_b' and 'a b' would both be named 'a_b'\. Rename"):
        bc.evaluate(Y, P, by=np.repeat(["a b", "a_b"], 200), **FAST).metrics()
    # the same label in two tables is one label
    assert flat([Table([{"g": "a", "mean": 1.0}], ["g"], "ece"), Table([{"g": "a", "n": 2}], ["g"])]) == {
        "a/ece": 1.0,
        "a/n": 2.0,
    }


def test_to_dict_is_the_document():
    comparison = bc.compare(Y, {"a": P, "b": P**2}, **FAST)
    assert comparison.to_dict(estimand="l2_error") == json.loads(comparison.to_json(estimand="l2_error"))
    assert comparison.to_dict()["estimand"]["name"] == "ece"


def results():
    """One result of each class that the functions of the package return."""
    rows, found = every.generated(4, 60, "uniform", "as stated", "none"), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in every.CALLS.values():
            result = call(rows)
            found.setdefault(type(result).__name__, result)
    return {name: each for name, each in found.items() if isinstance(each, Presented)}


@pytest.mark.slow
def test_every_result_has_all_numbers_of_its_table():
    """Except for pairs, which the table lists in another order."""
    seen = results()
    assert len(seen) >= 30
    for name, result in seen.items():
        numbers = result.metrics()
        assert numbers, name
        assert all(type(value) is float and value == value for value in numbers.values()), name
        assert all(NAME.fullmatch(key) for key in numbers), name
        rows = [row for row in result._records(0.95) if "second" not in row]
        table = [v for row in rows for v in row.values() if isinstance(v, int | float) and v == v]
        missing = {float(v) for v in table} - set(numbers.values())
        labels = {float(v) for row in rows for k, v in row.items() if k in (*result._index, "threshold") and v != ""
                  and isinstance(v, int | float)}  # fmt: skip
        assert missing <= labels, (name, missing - labels)
        assert result.to_dict() == json.loads(result.to_json()), name


def test_example_of_flat():
    rows = [{"group": "north", "n_rows": 5, "mean": 0.1, "low": 0.02, "plug_in": float("nan")}]
    assert flat([Table(rows, ["group"], "ece")]) == {"north/n_rows": 5.0, "north/ece": 0.1, "north/ece_low": 0.02}


def test_example_of_nested():
    assert flat(nested({"horizon": 5.0, "tests": {"no_shift": {"p_value": 0.1}}, "rows": [1, 2]})) == {
        "horizon": 5.0,
        "no_shift_p_value": 0.1,
    }


def test_example_of_name():
    assert (_name("New York"), _name(0.5), _name(("a", 1)), _name(".."), _name("")) == (
        "New_York",
        "0.5",
        "a_1",
        "__",
        "_",
    )
