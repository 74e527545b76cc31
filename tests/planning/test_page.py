"""Pages and documents of plans."""

import json

import pytest
from pilots import ONE_BIN, curved_pilot, one_bin_pilot

import bayescal as bc


@pytest.fixture(scope="module")
def plan():
    return bc.planning.labels_needed(one_bin_pilot(), width=0.05, simulations=20, draws=200, rng=1, **ONE_BIN)


def test_the_document_of_a_plan_has_its_answer_and_curve(plan):
    document = json.loads(plan.to_json())
    assert document["schema"] == "bayescal.plan/1"
    assert (document["goal"], document["assurance"], document["rows"]) == (plan.goal, 0.8, plan.rows)
    assert document["interval"] == {"probability": 0.95, "low": plan.interval[0], "high": plan.interval[1]}
    assert sum(row["simulations"] for row in document["table"]) == 20


def test_the_page_of_a_plan_has_the_numbers_of_rows_that_were_simulated(plan, tmp_path):
    page = plan.to_html(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "<h1>How many labels are needed</h1>" in page
    assert "Simulated numbers of rows" in page
    assert all(f">{n}<" in page for n in plan.simulated)


def test_the_page_of_a_pilot_that_is_enough_has_no_curve(tmp_path):
    plan = bc.planning.labels_needed(curved_pilot(), width=0.9, simulations=20, draws=200, rng=1)
    assert plan.rows == 0
    assert "Simulated numbers of rows" not in plan.to_html(tmp_path / "plan.html").read_text(encoding="utf-8")
