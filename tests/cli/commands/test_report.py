"""``bayescal report``: its options."""

import json

import pytest

TINY = ["--label", "label", "--prob", "p"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--label", "lable", "--prob", "p"], "no column 'lable'. Did you mean 'label'?"),
        (["--label", "label", "--prob", "q"], "no column 'q'. The columns are 'label', 'p'."),
        ([*TINY, "--weights", "w"], "no column 'w'"),
        (["--prob", "p"], "say where the true labels are: --label COLUMN."),
        (["--label", "label"], "say where the probabilities are: --prob COLUMN"),
        (
            [*TINY, "--prob-prefix", "p"],
            "--prob (one column) and --prob-prefix (one column per class) cannot be used together.",
        ),
        (["--correct", "label"], "--correct and --confidence go together"),
        ([*TINY, "--correct", "label", "--confidence", "p"], "take the place of --label, --prob and --prob-prefix"),
        ([*TINY, "--target", "evnt"], "--target must be one of ['event', 'top-label', 'classwise', 'confidence']"),
        ([*TINY, "--target", "top-label"], "For probabilities of one event use --target event."),
        ([*TINY, "--target", "classwise"], "For probabilities of one event use --target event."),
        ([*TINY, "--model", "dirichelt"], "--model must be one of"),
        ([*TINY, "--sub-models", ""], "--sub-models must hold at least one name, as in 'independent'."),
        ([*TINY, "--sub-models", "noises"], "--sub-models must be one of ['independent', "),
        ([*TINY, "--classes", "a\nb,c"], "must be labels separated by commas on one line; there are 2 lines."),
        ([*TINY, "--sub-models", "label_noise", "--model", "dirichlet"], "--model dirichlet takes no 'sub_models'"),
        (
            [*TINY, "--binning", "equal"],
            "--binning must be one of ['equal-width', 'equal-mass', 'equal-effective-mass', 'values'], not 'equal'.",
        ),
        ([*TINY, "--draws", "1"], "--draws must be an integer >= 2, not 1."),
        ([*TINY, "--bins", "many"], "--bins must be a whole number, or edges like 0,0.25,0.5,1; not 'many'."),
        ([*TINY, "--bins", "0"], "--bins must be an integer >= 1"),
        (
            [*TINY, "--bins", "0,0.7,0.5,1"],
            "--bins must be strictly increasing; 1 of 4 values is not, first at index 2",
        ),
        ([*TINY, "--classes", "a,b,c"], "--classes must name two labels"),
    ],
)
def test_what_is_asked_wrongly(tiny, arguments, told, refused):
    assert told in refused(tiny, *arguments)


@pytest.mark.parametrize("arguments", [["--oops"], ["--seed", "-1"], ["--draws", "x"]])
def test_options_that_do_not_exist_or_do_not_parse(tiny, arguments, run):
    done = run("report", tiny, *TINY, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert arguments[0].strip("-") in done.stderr


def test_a_report_of_chosen_quantities(tiny, tmp_path, report, refused):
    out = tmp_path / "out.json"
    shown = report(tiny, *TINY, "--estimand", "ece, auc,brier-score", "--json", out).stdout
    assert "brier_score" in shown
    assert "auc" in shown
    assert "signed_error" not in shown
    written = json.loads(out.read_text())
    assert [row["quantity"] for row in written["table"]] == ["ece", "auc", "brier_score"]
    assert written["parameters"]["estimand"] == ["ece", "auc", "brier_score"]
    twice = report(tiny, *TINY, "--estimand", "ece,auc", "--estimand", "brier-score").stdout
    assert twice.strip() in shown
    assert "--estimand must be one of" in refused(tiny, *TINY, "--estimand", "auk")
    assert "--estimand" in refused(tiny, *TINY, "--estimand", "auc", "--by", "label")
