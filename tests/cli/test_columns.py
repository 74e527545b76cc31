"""Columns of files, as options name them."""

import math

import pytest

import bayescal


@pytest.mark.parametrize(
    ("columns", "arrays"),
    [
        (["--correct", "label", "--confidence", "p"], {"target": "confidence"}),
        (["--label", "label", "--prob", "z", "--logits"], {"logits": True}),
        (["--label", "word", "--prob", "p", "--classes", "no,yes"], {}),
        (["--label", "label", "--prob", "p", "--weights", "w"], {"weights": [1.0, 2.0, 0.5, 3.0] * 25}),
        (["--label", "label", "--prob", "p", "--bins", "0,0.3,1"], {"bins": [0, 0.3, 1]}),
    ],
)
def test_every_way_to_name_the_columns(tmp_path, columns, arrays, report, read_json):
    p = [0.1 + 0.008 * i for i in range(100)]
    label = [(7 * i) % 10 < 10 * p[i] for i in range(100)]
    z = [math.log(q / (1 - q)) for q in p]
    rows = zip(label, p, z, [1.0, 2.0, 0.5, 3.0] * 25, strict=True)
    lines = [f"{int(y)},{q!r},{s!r},{w!r},{'yes' if y else 'no'}\n" for y, q, s, w in rows]
    (tmp_path / "x.csv").write_text("label,p,z,w,word\n" + "".join(lines))
    report(tmp_path / "x.csv", *columns, "--json", tmp_path / "x.json")
    found = bayescal.evaluate(label, z if arrays.get("logits") else p, rng=1, **arrays)
    written = read_json(tmp_path / "x.json")
    assert written["table"] == found.to_dict()["table"]
    assert written["spec"] == found.spec


def test_class_names_in_the_names_of_columns(tmp_path, report, read_json):
    (tmp_path / "x.csv").write_text("pet,p_dog,p_cat\n" + "dog,0.7,0.3\ncat,0.2,0.8\ndog,0.4,0.6\n" * 5)
    report(tmp_path / "x.csv", "--label", "pet", "--prob-prefix", "p_", "--json", tmp_path / "x.json")
    matrix = [[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]] * 5
    assert read_json(tmp_path / "x.json")["table"] == bayescal.evaluate([0, 1, 0] * 5, matrix, rng=1).to_dict()["table"]


def test_an_empty_prefix(tmp_path, report, refused):
    """Columns that are named like the classes need no prefix; columns that begin alike do."""
    alike = tmp_path / "alike.csv"
    alike.write_text("y,p_cat,p_dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    assert "Did you mean the prefix 'p_'?" in refused(alike, "--label", "y", "--prob-prefix", "")
    named = tmp_path / "named.csv"
    named.write_text("y,cat,dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    assert "Expected Calibration Error" in report(named, "--label", "y", "--prob-prefix", "").stdout
