"""Nested fields of JSON lines are read by dotted paths; a key that contains dots comes first."""

import json

import pytest
from file_tables import as_json_lines, write
from typer.testing import CliRunner

from bayescal.app import app
from bayescal.data.files.formats import open_source
from bayescal.data.files.predictions import open_predictions
from bayescal.stats.files import count_file


def written(path, *objects):
    path.write_text("".join(json.dumps(each) + "\n" for each in objects), encoding="utf-8")
    return path


@pytest.fixture
def log(tmp_path):
    """Four samples with scores, text, a list of choices, and a key that contains a dot beside an object."""
    samples = [
        {
            "id": i,
            "a.b": i / 8,
            "a": {"b": 7, "B": 8, "p": {"cat": 0.25, "dog": 0.75}, "choices": [["-0.5", "yes"], ["-1.5", "no"]]},
            "scores": {"judge": {"value": i % 2 == 0}, "acc,none": i % 2},
            "truth": ["cat", "dog"][i % 2],
        }
        for i in range(4)
    ]
    return written(tmp_path / "log.jsonl", *samples)


def test_paths_lead_into_objects_and_lists(log):
    source = open_source(log)
    wanted = [("id", "number"), ("scores.judge.value", "label"), ("scores.acc,none", "number")]
    wanted += [("a.choices.1.0", "number"), ("a.choices.0.1", "text")]
    read = [values.tolist() for values in source.read(wanted)]
    assert read == [[0, 1, 2, 3], [1, 0, 1, 0], [0, 1, 0, 1], [-1.5] * 4, ["yes"] * 4]


def test_a_key_with_dots_comes_before_a_path_and_paths_may_differ_in_case(log, tmp_path):
    read = open_source(log).read([("a.b", "number"), ("a.B", "number")])
    assert [values.tolist() for values in read] == [[0, 0.125, 0.25, 0.375], [8.0] * 4]
    both = written(tmp_path / "case.jsonl", {"s": {"x": 1, "X": 2}, "S": 3})
    read = open_source(both).read([("s.x", "number"), ("s.X", "number"), ("S", "number")])
    assert [float(values[0]) for values in read] == [1, 2, 3]


def test_keys_with_dots_and_slashes_within_objects(tmp_path):
    file = written(tmp_path / "x.jsonl", {"scores": {"v1.5/it's": {"acc~": 0.5}}})
    (values,) = open_source(file).read([("scores.v1.5/it's.acc~", "number")])
    assert values.tolist() == [0.5]


def test_a_prefix_takes_the_fields_of_an_object_or_the_elements_of_a_list(log, tmp_path):
    rows = open_predictions(log, label="truth", prob_prefix="a.p.").read()
    assert (rows.classes, rows.columns) == (("cat", "dog"), ("a.p.cat", "a.p.dog"))
    assert rows.y_prob.tolist() == [[0.25, 0.75]] * 4
    file = written(tmp_path / "lists.jsonl", *({"y": y, "logprobs": [-1.0, -0.5 * y, -2.0]} for y in (0, 1, 2)))
    rows = open_predictions(file, label="y", prob_prefix="logprobs.").read()
    assert rows.classes == (0, 1, 2)
    assert rows.y_prob.tolist() == [[-1, 0, -2], [-1, -0.5, -2], [-1, -1, -2]]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("scores.judge.valu", r"Did you mean 'scores\.judge\.value'\? Within 'scores\.judge' are"),
        ("score.judge", r"The columns are 'id', .* Within them are 'a\.b', .*'scores\.judge'"),
        ("id.x", "'id' holds no objects or lists"),
        ("a.choices.2.0", r"Within 'a\.choices' are 'a\.choices\.0', 'a\.choices\.1'"),
    ],
)
def test_a_missing_path_lists_what_exists(log, column, message):
    with pytest.raises(ValueError, match=message):
        open_source(log).read([(column, "number")])


def test_an_ambiguous_path_is_refused(tmp_path):
    file = written(tmp_path / "x.jsonl", {"a": {"b.c": 1}}, {"a": {"b": {"c": 2}}})
    with pytest.raises(ValueError, match=r"ambiguous .* the fields \['a', 'b', 'c'\] and \['a', 'b\.c'\]"):
        open_source(file).read([("a.b.c", "number")])


def test_a_key_that_an_inner_object_repeats_is_refused(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"s": {"x": 1}}\n\n{"s": {"x": 1, "x": 0}}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"each key once in 's'; in line 3 the key 'x' occurs more than once"):
        open_source(file).read([("s.x", "number")])


@pytest.mark.parametrize(
    ("third", "message"),
    [
        ({"s": {"p": 0.5}}, "column 's.y' must be complete; it has no value in 1 of 3 rows, first in line 3"),
        ({"s": None}, "column 's.y' must be complete; it has no value in 1 of 3 rows, first in line 3"),
        ({"s": {"y": "maybe", "p": 0.5}}, "column 's.y' must hold numbers or true/false; 1 of 3 .* line 3: 'maybe'"),
        (
            {"s": {"y": 1, "p": 1.5}},
            r"column 's\.p' must lie in \[0, 1\]; 1 of 3 values does not, first in line 3: 1\.5",
        ),
    ],
)
def test_invalid_values_of_nested_fields_have_their_line(tmp_path, third, message):
    file = written(tmp_path / "x.jsonl", {"s": {"y": 1, "p": 0.5}}, {"s": {"y": 0, "p": 0.25}}, third)
    with pytest.raises(ValueError, match=message):
        count_file(file, label="s.y", prob="s.p", bins=4)


def test_the_command_line_and_count_file_read_nested_fields(log, tmp_path):
    counts = count_file(log, label="scores.acc,none", prob="a.p.cat", bins=4)
    assert (counts.n_rows, int(counts.k.sum()), counts.mean_confidence[1]) == (4, 2, 0.25)
    options = ["--confidence", "a.p.dog", "--correct", "scores.judge.value"]
    result = CliRunner().invoke(app, ["report", str(log), *options])
    assert result.exit_code == 0, result.output
    assert "plug-in estimate is 0.250" in result.output


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("id", "scores"), "column 'scores' .* holds objects or lists.*: 'scores.judge', 'scores.acc,none'"),
        (("id", "a.choices"), "column 'a.choices' .* name what is within it: 'a.choices.0', 'a.choices.1'"),
        (("id", "a.choices[1][0]"), r"no column 'a\.choices\[1\]\[0\]'\. Write 'a\.choices\.1\.0'"),
        (("id", "$.scores.judge.value"), r"Write 'scores\.judge\.value'"),
    ],
)
def test_objects_and_brackets_are_answered_with_a_path(log, columns, message):
    label, prob = columns
    with pytest.raises(ValueError, match=message):
        count_file(log, label=label, prob=prob)
    with pytest.raises(ValueError, match=message):
        count_file(log, label="scores.judge.value", prob="scores.acc,none", cluster=prob)


def test_a_prefix_without_its_dot_is_answered_with_it(log):
    with pytest.raises(ValueError, match=r"Is `prob_prefix='a\.p\.'` meant, with a dot at its end\?"):
        open_predictions(log, label="truth", prob_prefix="a.p").read()


def test_percentages_as_text_are_answered_with_a_number(tmp_path):
    file = written(tmp_path / "x.jsonl", {"ok": 1, "said": "85%"}, {"ok": 0, "said": "9 %"})
    with pytest.raises(ValueError, match=r"first in line 1: '85%'\. Percentages\? Write 0\.85 in place of '85%'\."):
        count_file(file, label="ok", prob="said")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"correct": "id"},
            r"counted by `.*count_file\(path, label='correct', prob='confidence', target='confidence'\)`",
        ),
        ({"label": "id", "confidence": "id"}, "Here it is called 'prob': `count_file"),
        ({"label": "id", "prob": "id", "clusters": "id"}, "Here it is called 'cluster': `count_file"),
        (
            {"label": "id", "prob": "id", "cluster": ["id"]},
            "`cluster` must be the name of a column of .*, not list",
        ),
    ],
)
def test_count_file_answers_other_names(log, keywords, message):
    with pytest.raises(TypeError, match=message):
        count_file(log, **keywords)


def test_json_members_are_found_by_their_exact_names(tmp_path):
    """Names that differ only in case are read one by one, all others in one pass."""
    names = ["p_a", "P_A", "p_ß", 'p_"q"', "p_it's", "p_~/", "p_a.b"]
    table = {"label": ["a"], **{name: [(i + 1) / 64] for i, name in enumerate(names)}}
    source = open_source(write(tmp_path / "x.jsonl", as_json_lines(table)))
    read = source.read([(name, "number") for name in names])
    assert [float(values[0]) for values in read] == [(i + 1) / 64 for i in range(len(names))]
