"""Numbers that a text states, grades, and paths within a record."""

import math

import pytest

from bayescal.read.fields import STATED, graded, json_records, stated, value_at


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Confidence: 90%", 0.9),
        ("**Confidence:** 90 %", 0.9),
        ("my confidence is 0.85.", 0.85),
        ("confidence level of 75%", 0.75),
        ("Confidence: 10%\nConfidence: 0.7", 0.7),
        ("0.25", 0.25),
        ("40%", 0.4),
        (0.5, 0.5),
        ("certainly", math.nan),
        (None, math.nan),
        (True, math.nan),
    ],
)
def test_stated_confidences(text, expected):
    assert stated(STATED, False)(text) == pytest.approx(expected, nan_ok=True)


def test_percentages_and_patterns():
    assert stated(STATED, True)("Confidence: 90") == 0.9
    assert stated(STATED, True)("Confidence: 90%") == 0.9
    assert stated(r"sure: (\d+)", True)("sure: 80") == 0.8
    with pytest.raises(ValueError, match="a group for the number"):
        stated(r"sure: \d+", False)
    with pytest.raises(ValueError, match="regular expression"):
        stated("(", False)


def test_grades():
    values = ["C", "I", "N", None, True, 0, 1.0, "yes", "0", float("nan")]
    grades = graded(values, "refuse", ("N",), [""] * len(values))
    assert grades == pytest.approx([1, 0, math.nan, math.nan, 1, 0, 1, 1, 0, math.nan], nan_ok=True)
    assert graded(["P", 0.5], "right", (), ["", ""]) == [1, 1]
    assert graded(["P", 0.5], "wrong", (), ["", ""]) == [0, 0]
    for value in ("excellent", 7, [1]):
        with pytest.raises(ValueError, match="1 of 1 are not"):
            graded([value], "refuse", (), ["sample 1"])


def test_paths():
    record = {"a": [{"b": 1}], "c": None}
    assert [value_at(record, path) for path in ("a.0.b", "a.1.b", "c.d", "a.x")] == [1, None, None, None]


def test_lines_that_are_no_objects(tmp_path):
    path = tmp_path / "samples_a.jsonl"
    path.write_text('{"a": 1}\n\n[2]\n')
    with pytest.raises(ValueError, match="line 3 is not one"):
        json_records(path)
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        json_records(path)
