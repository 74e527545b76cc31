"""``bayescal plan``: the plans of `labels_needed`, from rows and from counts."""

import json

import pytest
from pilots import FEW, run

import bayescal as bc


@pytest.mark.slow
@pytest.mark.parametrize("goal", [("--width", 0.03), ("--below", 0.03)])
def test_it_is_the_plan_of_the_library(pilot, tmp_path, goal):
    file, counts = pilot
    out = tmp_path / "plan.json"
    done = run(file, "--label", "y", "--prob", "p", *goal, *FEW, "--assurance", "0.7", "--json", out, "--details")
    assert done.exit_code == 0, done.output
    keyword = {goal[0].removeprefix("--"): goal[1]}
    expected = bc.planning.labels_needed(counts, **keyword, assurance=0.7, simulations=20, draws=100, rng=1)
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["rows"] == expected.rows
    assert document["table"] == json.loads(json.dumps(expected.curve()))
    assert document["parameters"]["simulations"] == 20
    assert expected.sentence() in " ".join(done.stdout.split())
    assert expected.spec in done.stdout


def test_the_help_shows_the_defaults_of_the_library():
    text = run("--help").stdout
    for shown in ("[default: 0.8]", "[default: 400]", "[default: 1000]", "brier_score"):
        assert shown in text
    # the probability of intervals is no default of the option that names a column
    assert "[default: 0.95]" not in text
