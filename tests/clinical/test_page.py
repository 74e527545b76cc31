"""The page of a clinical summary, and its figure."""

import json

import pytest

import bayescal as bc
from bayescal.clinical.page import clinical_picture


@pytest.mark.slow
def test_page_and_picture_show_curves_and_decisions(tmp_path, pair, data):
    text = pair.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    titles = ("Calibration curve: new", "Calibration curve: old", "Decision curves", "Predicted risks by outcome: old")
    for words in ("Clinical summary", "c-stat", *titles):
        assert words in text
    assert text.count("<svg") == 5
    assert len(clinical_picture(pair).subfigs) == 3
    titles = [each.get_suptitle() for each in clinical_picture(pair).subfigs]
    assert titles == ["new", "old", ""]
    six = bc.clinical_summary(data.y, {f"m{i}": data.p for i in range(6)}, [0.2], draws=50, rng=1)
    assert clinical_picture(six).get_size_inches()[0] <= 20


def test_models_with_few_rows_have_a_logistic_curve(data):
    """Fewer than 100 rows have a curve, too; the decision curves stand in the last place."""
    few = bc.clinical_summary(data.y[:60], data.p[:60], [0.3], draws=50, rng=1)
    figure = clinical_picture(few)
    assert len(figure.subfigs) == 2
    assert figure.subfigs[1].axes[0].get_xlabel() == "threshold probability"
    document = json.loads(few.to_json())
    assert document["models"][0]["calibration_curve"]["probabilities"].keys() == {"exact", "logistic"}
    assert document["events"] == data.y[:60].sum()
