"""The base of results: what printing shows, and what it leaves to the details."""

import numpy as np
import pytest

import bayescal as bc
from bayescal._presented import shortened


def rows(n=600):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(int), p


Y, P = rows()


FAST = {"draws": 200, "rng": 1}


EV = bc.evaluate(Y, P, **FAST)


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("x.txt", ValueError, "`path` must end in .json, not 'x.txt'"),
        (3, TypeError, "`path` must be the name of a file, not int, as in 'report.json'"),
        ("nowhere/x.json", FileNotFoundError, "there is no folder"),
    ],
)
def test_json_paths_that_are_refused(tmp_path, monkeypatch, path, error, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=said):
        EV.to_json(path)
    assert list(tmp_path.iterdir()) == []


def test_details_are_the_notes_and_the_specification():
    details, sheet = EV.details(), EV.sheet()
    assert details.to_dict() == {"notes": list(sheet.notes), "spec": sheet.spec}
    assert str(details).splitlines()[-1] == sheet.spec
    assert sheet.spec not in str(EV)


def test_the_named_label_is_always_among_the_first():
    assert shortened(range(5), 3, 1) == [0, 1, 2]
    assert shortened(range(5), 3, 4) == [0, 1, 4]
    assert shortened(range(2), 3, 1) == [0, 1]


@pytest.mark.slow
def test_printing_states_quantity_bins_rows_and_model():
    """An ECE without its bins and its outcome is not a number that others can compute again."""
    groups, columns = np.repeat(["a", "b"], len(Y) // 2), np.c_[1 - P, P]
    time = np.ceil(5 * np.random.default_rng(2).random(len(Y)))
    bins = ", 15 equal-width bins [a, b), "
    second_line = [
        (bc.evaluate(Y, P, **FAST), f"Event ECE{bins}N = 600, shrinkage model."),
        (bc.evaluate(Y, columns, **FAST), f"Top-label ECE{bins}N = 600, shrinkage model."),
        (bc.evaluate(Y, columns, target="classwise", **FAST), f"Classwise ECE (mean of 2 classes){bins}N = 600"),
        (bc.evaluate(Y, P, by=groups, **FAST), f"2 groups, 300 rows each: event ECE{bins}N = 600, shrinkage model."),
        (bc.compare(Y, {"A": P, "B": P**2}, **FAST), f"2 classifiers on the same rows: event ECE{bins}N = 600"),
        (
            bc.bin_sensitivity(Y, P, n_bins=[5, 8], draws=100, rng=1),
            "Event ECE, 5, 8 equal-width bins; 5, 8 equal-mass",
        ),
        (
            bc.survival.evaluate(time, Y, P, horizon=3, **FAST),
            "ECE at horizon 3, 10 equal-width bins [a, b), N = 600, ",
        ),
        (
            bc.survival.evaluate(time, Y, np.c_[P / 2, P], horizon=[2, 3], **FAST),
            "ECE at horizons 2, 3, 10 equal-width bins",
        ),
        (bc.shift.label(Y, P, P[:300], **FAST), f"ECE in a target under label shift{bins}600 labelled"),
    ]
    for result, expected in second_line:
        whole = " ".join(str(result).split("\n\n")[0].split())
        assert f". {expected}" in whole, type(result).__name__
        assert f"<p>{expected}" in result._repr_html_(), type(result).__name__
