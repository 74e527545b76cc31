"""Numbers that a text states, grades, and paths within a record."""

import math

import pytest

from bayescal.read.fields import STATED, graded, json_records, log_files, stated, value_at, within


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
        ("Confidence (0-1): 0.9", 0.9),
        ("Confidence [0-100]: 90%", 0.9),
        ("Confidence level (0 to 100): 85", 0.85),
        ("Confidence (in %): 1", 0.01),
        ("Confidence (90%)", 0.9),
        ("confidence: .5", 0.5),
        ("Confidence: 1e-3", 1e-3),
        ("Confidence: -0.5", -0.5),
        ("Confidence - 90 percent", 0.9),
        ("Confidence: 0.9\n- 3 sources", 0.9),
        ("<confidence>0.9</confidence>", 0.9),
        ('{"confidence_level": 0.75}', 0.75),
        ("1e-05", 1e-5),
        ("5e-1", 0.5),
        ("-0.3", -0.3),
        ("1 percent", 0.01),
    ],
)
def test_stated_confidences(text, expected):
    assert stated(STATED, False)(text) == pytest.approx(expected, nan_ok=True)


NO_NUMBERS = (
    "0,9; 1/10; 1 out of 5; **9**/10; 1 (out of 10); 1,000; 1 000; 80-90%; 80% to 90%; 0.8 or 0.9; > 90%; <0.5; "
    "0.5.1; 1 on a scale from 0 to 10; high; (0-100): 0.9; unknown. 1. The first"
)


@pytest.mark.parametrize("statement", NO_NUMBERS.split("; "))
def test_numbers_that_are_part_of_something_else_are_none(statement):
    assert math.isnan(stated(STATED, False)(f"Confidence: {statement}".replace(": (", " (")))


def test_custom_patterns_do_not_cut_numbers():
    read = stated(r"sure: (\d+(?:\.\d+)?)", False)
    assert [read(f"sure: {each}") for each in ("0.8", "80%")] == [0.8, 0.8]
    assert all(math.isnan(read(f"sure: {each}")) for each in ("1e-3", "0,9", "8/10", "1-2"))


def test_logarithms():
    read = stated(STATED, False, logprob=True)
    values = [-0.5, "-1E-3", "-.5", "-inf", -math.inf, 0, "0"]
    assert read.column(values, values) == [math.exp(x) for x in (-0.5, -1e-3, -0.5, -math.inf, -math.inf, 0, 0)]
    with pytest.raises(ValueError, match=r"must not exceed 0; 1 of 2 do, first 1000 of b\. .*`logprob=True`"):
        read.column([-1, 1000], ["a", "b"])
    with pytest.raises(ValueError, match="`percent=True` and `logprob=True` exclude each other"):
        stated(STATED, True, logprob=True)


def test_shares_among_percentages_are_refused():
    read = stated(STATED, True)
    with pytest.raises(ValueError, match=r"without a percent sign .* 1 of 3 do, first 0\.9 of b\. Write '0\.5%'"):
        read.column([90, 0.9, 100], ["a", "b", "c"])
    assert read.column([90, "0.5%", 1, 0], ["a", "b", "c", "d"]) == [0.9, 0.005, 0.01, 0.0]


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
    with pytest.raises(ValueError, match="Most of them lie between 0 and 1, as confidences do"):
        graded([0.9, 0.5, 0.7, 1], "refuse", (), ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"2 of 3 are not, first 'pass' of a; they are \['pass', 'idk'\]. Use other"):
        graded(["pass", "idk", 1], "refuse", (), ["a", "b", "c"], "Use others.")
    with pytest.raises(ValueError, match=r"first 0\.5 of a\. Name a score that is 0 or 1\.$"):
        graded([0.5, 1], None, (), ["a", "b"])
    for value in ("excellent", 7, [1]):
        with pytest.raises(ValueError, match="1 of 1 are not"):
            graded([value], "refuse", (), ["sample 1"])


def test_paths():
    record = {"a": [{"b": 1}], "c": None}
    assert [value_at(record, path) for path in ("a.0.b", "a.1.b", "c.d", "a.x")] == [1, None, None, None]
    dotted = {"scores": {"pkg.match": {"value.x": 0}}, "a.b": 1, "a": {"b": 2}}
    assert [value_at(dotted, path) for path in ("scores.pkg.match.value.x", "a.b", "scores.pkg")] == [0, 2, None]


def test_files_that_wildcards_and_folders_lead_to(tmp_path):
    for name in ("a/x.jsonl", "a/results_1.json", "a/b/y.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")

    def found(*paths):
        files = log_files([tmp_path / each for each in paths], ["*.jsonl"], "logs", "results_*.json")
        return {path.name: named for path, named in files.items()}

    assert found("a") == found("a/*") == {"x.jsonl": False, "y.jsonl": False}
    assert found("a/x.jsonl", "a/results_1.json", "*") == {"x.jsonl": True, "results_1.json": True, "y.jsonl": False}


def test_lines_that_are_no_objects(tmp_path):
    path = tmp_path / "samples_a.jsonl"
    path.write_text('{"a": 1}\n\n[2]\n')
    with pytest.raises(ValueError, match="line 3 is not one"):
        json_records(path)
    path.write_text('\n{"a": 1}\n\n{"a": 2}\n')
    assert json_records(path) == {2: {"a": 1}, 4: {"a": 2}}
    path.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        json_records(path)


def test_example_of_within():
    assert (within("law", 1), within("law", "1"), within("law", "q1")) == ("law/1", 'law/"1"', "law/q1")
