"""A plan from a file of rows or of counts: the numbers of the library, and errors in the words of the command."""

import pytest
from pilots import FEW, run

import bayescal as bc
from bayescal.datasets.simulate import simulate


def test_counts_and_other_quantities(pilot, tmp_path):
    _, counts = pilot
    bc.save_counts(counts, tmp_path / "counts.json")
    done = run(tmp_path / "counts.json", "--bins", "5", "--width", "0.08", "--estimand", "brier_score", *FEW)
    assert done.exit_code == 0, done.output
    few = counts.coarsen(5)
    expected = bc.planning.labels_needed(few, width=0.08, estimand="brier_score", simulations=20, draws=100, rng=1)
    assert expected.sentence() in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give exactly one goal: --width"),
        (("--width", "0.1", "--below", "0.1"), "not --width, --below"),
        (("--below", "4%"), "Write 0.04."),
        (("--assurance", "most", "--below", "0.1"), "'most' is not a number."),
        (("--width", "0.1", "--estimand", "auc"), "--estimand auc needs the order of the rows"),
        (("--below", "5"), "Percent? Divide by 100."),
        (("--above", "0.1"), "use --below"),
        (("--width", "0.1", "--model", "other"), "--model must be one of"),
    ],
)
def test_invalid_goals_are_refused(pilot, arguments, said):
    refused = run(pilot[0], "--label", "y", "--prob", "p", *arguments)
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert said in refused.stderr


@pytest.mark.slow
def test_the_auc_is_planned_from_counts_on_many_bins(tmp_path):
    rows = simulate(300, population="flat", rng=1)
    fine = bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, bins=1500, target="event")
    bc.save_counts(fine, tmp_path / "counts.json")
    done = run(tmp_path / "counts.json", "--bins", "15", "--width", "0.05", "--estimand", "auc", *FEW)
    assert done.exit_code == 0, done.output
    expected = bc.planning.labels_needed(fine.coarsen(15), width=0.05, estimand="auc", simulations=20, draws=100, rng=1)
    assert expected.rows > 0
    assert expected.sentence() in " ".join(done.stdout.split())


def test_an_empty_prefix_hints_at_the_longer_one(tmp_path):
    file = tmp_path / "classes.csv"
    file.write_text("y,p_0,p_1\n0,0.7,0.3\n1,0.2,0.8\n", encoding="utf-8")
    refused = run(file, "--label", "y", "--prob-prefix", "", "--width", "0.1")
    assert refused.exit_code == 2
    assert "begin with 'p_'. Did you mean the prefix 'p_'?" in refused.stderr
    # the names of the columns are the classes
    file.write_text("y,cat,car\ncat,0.7,0.3\ncar,0.2,0.8\n", encoding="utf-8")
    assert run(file, "--label", "y", "--prob-prefix", "", "--width", "0.9").exit_code == 0
