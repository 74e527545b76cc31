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
