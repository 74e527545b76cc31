"""Pages, documents and pictures of the results of `bayescal.shift`."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from shifted_sides import several

import bayescal as bc


@pytest.fixture(scope="module")
def classes():
    y, p, p_target, _ = several(120, np.random.default_rng(3))
    return bc.shift.label(y, p, p_target, bins=4, draws=64, rng=1)


@pytest.mark.slow
def test_the_page_of_classes_has_their_frequencies(classes, tmp_path):
    page = classes.to_html(tmp_path / "classes.html").read_text(encoding="utf-8")
    assert "<h1>Calibration of all classes in a target</h1>" in page
    assert "Class frequencies of the target" in page
    assert json.loads(classes.to_json())["class_frequencies"] == classes.priors.table()


def test_the_picture_of_classes_is_their_forest(classes):
    drawn, expected = (draw(classes, Figure().subplots()) for draw in (bc.plot, bc.plot_forest))
    assert [t.get_text() for t in drawn.get_yticklabels()] == [t.get_text() for t in expected.get_yticklabels()]
    assert len(drawn.collections) == len(expected.collections)


def test_the_page_of_the_evidence_has_all_cells(tmp_path):
    y, p, p_target, _ = several(120, np.random.default_rng(3))
    evidence = bc.shift.evidence(y, p, p_target, draws=50, simulations=99, rng=1)
    page = evidence.to_html(tmp_path / "evidence.html").read_text(encoding="utf-8")
    assert "<h1>Evidence of a shift</h1>" in page
    assert all(cell in page for cell in evidence.cells)
    tests = json.loads(evidence.to_json())["tests"]
    assert tests["no_shift"]["p_value"] == evidence.no_shift.p_value
