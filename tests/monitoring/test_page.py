"""Pages and documents of the results of a monitor."""

import json

import pytest
from monitored_streams import REFERENCE

import bayescal as bc


def test_results_print_and_export(monitor, tmp_path):
    evidence, change, sequence = (
        monitor.evidence(),
        monitor.evidence(reference=REFERENCE),
        monitor.confidence_sequence(),
    )
    assert "Alarm in the window" in str(evidence)
    assert "the probability that it ever reaches 20 would be at most 0.05" in evidence.sentence()
    assert "accuracies of bins have changed since the reference [0, 4) reached" in change.sentence()
    said = "Evidence(e-process against no change since the reference [0, 4), 6 windows of length 1 [4, 10)"
    assert repr(change).startswith(said)
    assert "10 windows of length 1 [0, 10), N = 4000: confidence, 10 equal-width bins" in repr(sequence)
    assert sequence.sentence().startswith("If accuracies do not change, the ECE of the 4000 rows lies between 0.")
    assert "together with a probability of at least 0.95" in sequence.sentence()
    document = json.loads(evidence.to_json())
    assert (document["alarm"], document["threshold"], len(document["table"])) == (evidence.alarm, 20, 10)
    assert document["table"][3] == evidence.table()[3]
    assert document["raised"] is True
    assert list(evidence.to_frame().columns) == ["n_rows", "value", "log_value", "p_value"]
    assert json.loads(sequence.to_json())["interval"] == {"probability": 0.95, "kind": "confidence sequence"}
    titles = ("Evidence against exact calibration", "Evidence of a change of calibration")
    titles = (*titles, "Confidence sequence of the ECE")
    for i, result in enumerate((evidence, change, sequence)):
        text = result.to_html(tmp_path / f"{i}.html").read_text(encoding="utf-8")
        assert result.to_html() == text
        assert text.count("<svg") == 1
        assert result.sentence().split(":")[0] in text
        assert f"<h1>{titles[i]}</h1>" in text
        assert "<table" in result._repr_html_()
        assert "tabular" in result.to_latex()


def test_a_monitor_has_no_picture_and_names_the_results_that_have(monitor):
    with pytest.raises(
        TypeError, match=r"A CalibrationMonitor has no picture; .*`bayescal.plot\(monitor.evidence\(\)\)`"
    ):
        bc.plot(monitor)


def test_the_document_of_a_change_has_both_periods(monitor, tmp_path):
    change = monitor.change((0, 4), (8, 10), draws=200, rng=1)
    document = json.loads(change.to_json())
    assert document["schema"] == "bayescal.change/1"
    assert [period["period"] for period in document["periods"]] == ["now", "baseline"]
    assert [period["span"] for period in document["periods"]] == ["[8, 10)", "[0, 4)"]
    assert document["change"]["mean"] == change.difference().mean()
    page = change.to_html(tmp_path / "change.html").read_text(encoding="utf-8")
    assert "<h1>Change of calibration</h1>" in page
    assert page.count("<svg") == 1


def test_the_page_of_a_monitor_has_a_row_per_window(monitor, tmp_path):
    page = monitor.to_html(tmp_path / "monitor.html").read_text(encoding="utf-8")
    assert "<h1>Calibration over time</h1>" in page
    assert "windows with rows" in page
    assert str(monitor.windows[9].n_rows) in page
