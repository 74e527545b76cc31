"""``bayescal compare``: the numbers are the library's, rows of two files are matched by key, nothing is dropped."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal import datasets
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.app import app
from bayescal.estimands.registry import registered
from bayescal.report.figure import comparison_picture

DIGITS = datasets.path("digits")
PREFIXES = ["--label", "label", "--prob-prefix", "naive_bayes_", "--prob-prefix", "random_forest_"]
ONE_FILE = ["--label", "won", "--prob", "a", "--prob", "b"]
TWO_FILES = ["--key", "id", "--label", "won", "--prob", "p"]
N = 120


def run(*arguments, width=120):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": str(width), "TERM": "dumb"})


def shown(*arguments, **options):
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def refused(*arguments):
    """What is said on stderr when the exit code is 2: one message, nothing on stdout."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def saved(tmp_path, *arguments, name="out.json"):
    shown(*arguments, "--json", tmp_path / name)
    return json.loads((tmp_path / name).read_text(encoding="utf-8"), parse_constant=lambda c: pytest.fail(c))


def without_names(document, *names):
    """The same with every model called by its number, and without where it came from."""
    text = json.dumps({**document, "parameters": None})
    for i, name in enumerate(names):
        text = text.replace(f'"{name}"', f'"model {i}"').replace(f"{name} ", f"model {i} ").replace(f"{name}:", f"{i}:")
    return json.loads(text)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    a = rng.random(N)
    return {"id": [f"r{i:03}" for i in range(N)], "won": (rng.random(N) < a).astype(int), "a": a, "b": 0.2 + 0.6 * a}


@pytest.fixture
def one(tmp_path, rows):
    file = tmp_path / "one.csv"
    file.write_text(csv(rows))
    return file


def csv(columns):
    """Numbers with all their digits."""
    listed = [v.tolist() if isinstance(v, np.ndarray) else v for v in columns.values()]
    lines = [",".join(v if isinstance(v, str) else repr(v) for v in row) for row in zip(*listed, strict=True)]
    return "\n".join([",".join(columns), *lines]) + "\n"


@pytest.fixture
def two(tmp_path, rows):
    """Old.parquet in the order of `one`, new.csv in another."""
    first = {"id": rows["id"], "won": rows["won"], "p": rows["a"]}
    pq.write_table(pa.table(first), tmp_path / "old.parquet")
    order = np.random.default_rng(5).permutation(N)
    second = {"id": [rows["id"][i] for i in order], "won": rows["won"][order], "p": rows["b"][order]}
    (tmp_path / "new.csv").write_text(csv(second))
    return tmp_path / "old.parquet", tmp_path / "new.csv"


# what is shown


def test_what_is_printed_is_what_compare_finds(one, rows):
    found = bc.compare(rows["won"], {"a": rows["a"], "b": rows["b"]}, rng=1)
    text = shown(one, *ONE_FILE, "--details")
    assert found.spec not in shown(one, *ONE_FILE).splitlines()  # below the headline it is a sentence
    lines = [line.split() for line in text.splitlines()]
    assert found.sentence() in " ".join(text.split())
    assert found.spec in text.splitlines()
    (row,) = found.table()
    numbers = [f"{row[key]:.4f}" for key in ("mean", "low", "high")]
    assert ["a", "-", "b", *numbers] in [line[:6] for line in lines]
    for model in found.each():
        numbers = [f"{model[key]:.4f}" for key in ("mean", "sd", "low", "high")]
        assert [model["classifier"], *numbers] in [line[:5] for line in lines]


@pytest.mark.parametrize("swapped", [False, True])
def test_the_columns_say_which_model_is_better(tmp_path, swapped):
    """A model that states the truth, and one that says 0.9 where it is 0.1: no doubt which is better."""
    rng = np.random.default_rng(1)
    truth = rng.choice([0.1, 0.9], 3000)
    good_bad = {"good": truth, "bad": 1 - truth}
    (tmp_path / "x.csv").write_text(csv({"won": (rng.random(3000) < truth).astype(int), **good_bad}))
    order = ["bad", "good"] if swapped else ["good", "bad"]
    columns = [w for name in order for w in ("--prob", name)]
    text = shown(tmp_path / "x.csv", "--label", "won", *columns, "--details", width=80)
    pair = " - ".join(order)
    row = next(line.split() for line in text.splitlines() if line.startswith(f" {pair} "))
    assert row[-3:] == (["0.00", "0.00", "1.00"] if swapped else ["1.00", "0.00", "0.00"])
    assert (float(row[3]) < 0) is not swapped
    words = " ".join(text.split())
    assert "good is better calibrated than bad" in words
    assert (
        "negative if the 1st has the smaller ECE. P(1st) is the probability that the first classifier is better"
        in words
    )


def test_options_reach_compare(tmp_path):
    digits = datasets.load_digits()
    options = ["--bins", "7", "--binning", "equal-mass", "--draws", "500", "--seed", "3", "--rope", "0.03"]
    document = saved(tmp_path, DIGITS, *PREFIXES, *options, "--model", "dirichlet", "--estimand", "l2-error")
    models = {name: digits.y_prob[name] for name in ("naive_bayes", "random_forest")}
    found = bc.compare(
        digits.y_true, models, bins=7, binning="equal-mass", draws=500, rng=3, rope=0.03, model="dirichlet"
    )
    assert document["sentence"] == found.sentence(estimand="l2_error")
    (expected,), (row,) = found.table(estimand="l2_error"), document["differences"]
    assert {k: row[k] for k in expected} == expected
    assert {w["rope"]: w["probability"] for w in row["p_within"]}[0.03] == expected["p_rope"]
    for model in found.each(estimand="l2_error"):
        written = next(m for m in document["classifiers"] if m["classifier"] == model["classifier"])
        assert {k: written[k] for k in model} == model
        # the accuracy has no value of a calibrated classifier: NaN, which is null in JSON
        numbers = [{k: None if v != v else v for k, v in row.items()} for row in found[model["classifier"]].table()]
        assert written["table"] == numbers
        assert [b["n"] for b in written["bins"]] == found[model["classifier"]].counts.n.tolist()


@pytest.mark.parametrize("estimand", ["brier_score", "log_score", "auc"])
def test_scores_of_matrices_are_not_compared(estimand):
    text = refused(DIGITS, *PREFIXES, "--estimand", estimand)
    assert f"--estimand {estimand} cannot be compared for --prob-prefix: each classifier has another event" in text
    assert "In Python, `bayescal.scores.compare` compares" in text
    assert "one class at a time as an event: --prob with" in text


@pytest.mark.slow
@pytest.mark.parametrize("estimand", [name for name, each in registered().items() if "predictions" not in each.needs])
def test_every_estimand_is_shown(one, rows, estimand):
    found = bc.compare(rows["won"], {"a": rows["a"], "b": rows["b"]}, rng=1)
    lines = [line.split() for line in shown(one, *ONE_FILE, "--estimand", estimand, "--details").splitlines()]
    text = " ".join(word for line in lines for word in line)
    assert found.sentence(estimand=estimand) in text
    (row,) = found.table(estimand=estimand)
    assert ["a", "-", "b", *(f"{row[key]:.4f}" for key in ("mean", "low", "high"))] in [line[:6] for line in lines]
    models = [[m["classifier"], f"{m['mean']:.4f}", f"{m['sd']:.4f}"] for m in found.each(estimand=estimand)]
    assert all(model in [line[:3] for line in lines] for model in models)
    assert ("nearer to 0 by more than" in text) == (estimand == "signed_error")


def test_labels_in_words_weights_and_logits(tmp_path, rows):
    weights = np.arange(N) % 3 + 0.5
    logits = {name: np.log(rows[name] / (1 - rows[name])) for name in "ab"}
    words = ["yes" if y else "no" for y in rows["won"]]
    (tmp_path / "x.csv").write_text(csv({"won": words, "w": weights, **logits}))
    options = ["--weights", "w", "--logits", "--classes", "no,yes"]
    document = saved(tmp_path, tmp_path / "x.csv", *ONE_FILE, *options)
    found = bc.compare(rows["won"], logits, weights=weights, logits=True, rng=1)
    assert document["differences"][0]["mean"] == found.difference("a", "b").mean()


def test_classes_in_the_names_of_columns_may_stand_in_any_order(tmp_path):
    text = "pet,a_dog,a_cat,b_cat,b_dog\n" + "dog,0.7,0.3,0.4,0.6\ncat,0.2,0.8,0.5,0.5\ndog,0.4,0.6,0.1,0.9\n" * 9
    (tmp_path / "x.csv").write_text(text)
    document = saved(tmp_path, tmp_path / "x.csv", "--label", "pet", "--prob-prefix", "a_", "--prob-prefix", "b_")
    a, b = [[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]] * 9, [[0.6, 0.4], [0.5, 0.5], [0.9, 0.1]] * 9
    row = document["differences"][0]
    found = bc.compare([0, 1, 0] * 9, {"a": a, "b": b}, rng=1)
    assert row["mean"] == found.difference(row["first"], row["second"]).mean()


def test_two_confidences_and_whether_the_answers_were_right(tmp_path, rows):
    right = {"right_a": rows["won"], "right_b": 1 - rows["won"][::-1]}
    (tmp_path / "x.csv").write_text(csv({**right, "a": rows["a"], "b": rows["b"]}))
    of_each = ["--correct", "right_a", "--confidence", "a", "--correct", "right_b", "--confidence", "b"]
    document = saved(tmp_path, tmp_path / "x.csv", *of_each)
    labels = dict(zip("ab", right.values(), strict=True))
    found = bc.compare(labels, {"a": rows["a"], "b": rows["b"]}, target="confidence", rng=1)
    assert document["differences"][0]["mean"] == found.difference("a", "b").mean()
    assert [m["label"] for m in document["parameters"]["classifiers"]] == list(right)


# names


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--prob", "a", "--prob", "b"], ["a", "b"]),
        (["--prob", "Old one=a", "--prob", "b"], ["Old one", "b"]),
        (["--prob", "x=y", "--prob", "z=x=y"], ["x=y", "z"]),  # a column's name may contain =
        (["--prob-prefix", "m_", "--prob-prefix", "k."], ["m", "k"]),
        (["--prob-prefix", "new=m_", "--prob-prefix", "k."], ["new", "k"]),
    ],
)
def test_models_are_named_by_their_columns_or_by_name(tmp_path, arguments, names):
    header = "label,a,b,x=y,m_0,m_1,k.0,k.1"
    (tmp_path / "x.csv").write_text(
        header + "\n" + "0,0.2,0.3,0.4,0.1,0.9,0.6,0.4\n1,0.9,0.8,0.7,0.5,0.5,0.3,0.7\n" * 5
    )
    document = saved(tmp_path, tmp_path / "x.csv", "--label", "label", *arguments)
    assert [m["classifier"] for m in document["classifiers"]] == names


def test_files_are_named_by_as_much_of_their_paths_as_tells_them_apart(tmp_path, rows):
    files = []
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        files.append(tmp_path / folder / "p.csv")
        files[-1].write_text(csv({"id": rows["id"], "won": rows["won"], "p": rows["a"]}))
    document = saved(tmp_path, *files, *TWO_FILES)
    assert [m["classifier"] for m in document["classifiers"]] == ["old/p", "new/p"]
    assert document["differences"][0]["p_rope"] == 1
    named = saved(tmp_path, *files, "--key", "id", "--label", "won", "--prob", "X=p", "--prob", "Y=p")
    assert [m["classifier"] for m in named["classifiers"]] == ["X", "Y"]


# rows of two files


def test_two_files_in_different_orders_are_one_file(tmp_path, one, two):
    together = saved(tmp_path, one, *ONE_FILE)
    apart = saved(tmp_path, *two, *TWO_FILES)
    assert without_names(apart, "old", "new") == without_names(together, "a", "b")
    assert [m["classifier"] for m in apart["classifiers"]] == ["old", "new"]


def test_the_order_of_the_files_is_that_of_the_difference(tmp_path, two):
    there, back = saved(tmp_path, *two, *TWO_FILES), saved(tmp_path, *two[::-1], *TWO_FILES)
    (row,), (turned,) = there["differences"], back["differences"]
    assert (turned["first"], turned["second"]) == (row["second"], row["first"]) == ("new", "old")
    assert row["mean"] < 0 < turned["mean"]
    # the order of the draws is drawn for the models as they were given: equal up to Monte Carlo error
    error = row["sd"] / np.sqrt(4000)
    assert turned["mean"] == pytest.approx(-row["mean"], abs=6 * error)
    assert turned["p_right"] == pytest.approx(row["p_left"], abs=0.05)


def test_three_files(tmp_path, two, rows):
    third = tmp_path / "third.csv"
    third.write_text(csv({"id": rows["id"][::-1], "won": rows["won"][::-1], "p": rows["b"][::-1] ** 2}))
    document = saved(tmp_path, *two, third, *TWO_FILES)
    models = {"old": rows["a"], "new": rows["b"], "third": rows["b"] ** 2}
    found = bc.compare(rows["won"], models, rng=1)
    assert [d["mean"] for d in document["differences"]] == [r["mean"] for r in found.table()]


def changed(file, line, **columns):
    """Set columns of one line (the first is 1, the header)."""
    lines = file.read_text().splitlines()
    header, values = lines[0].split(","), lines[line - 1].split(",")
    values = [columns.get(name, value) for name, value in zip(header, values, strict=True)]
    lines[line - 1] = ",".join(values)
    file.write_text("\n".join(lines) + "\n")


def test_a_key_that_comes_again_is_refused(two):
    lines = two[1].read_text().splitlines()
    two[1].write_text("\n".join([*lines, lines[4], lines[7], lines[4]]) + "\n")
    told = refused(*two, *TWO_FILES)
    assert "in 'new.csv' 3 of 123 rows repeat the key of an earlier row" in told
    assert f"first {lines[4].split(',')[0]!r} in line 122, which is also in line 5" in told
    assert "--key must be a column that names each row once" in told


def test_a_key_that_is_missing_in_one_file_is_refused(two, rows):
    lines = two[1].read_text().splitlines()
    gone = sorted(line.split(",")[0] for line in lines[-4:])
    two[1].write_text("\n".join(lines[:-4]) + "\n")
    told = refused(*two, *TWO_FILES)
    place = rows["id"].index(gone[0]) + 1
    assert "4 of 120 rows of 'old.parquet' have a key that is not in 'new.csv'" in told
    assert f"first {gone[0]!r} in row {place}. Rows are never dropped for you" in told
    assert "rows of 'new.csv' have" not in told


def test_keys_that_are_missing_on_both_sides(two):
    changed(two[1], 5, id="other")
    told = refused(*two, *TWO_FILES)
    assert "1 of 120 rows of 'old.parquet' have a key" in told
    assert "1 of 120 rows of 'new.csv' have a key that is not in 'old.parquet', first 'other' in line 5." in told


def test_keys_that_are_written_differently(two):
    lines = two[1].read_text().splitlines()
    two[1].write_text("\n".join([lines[0], *("0" + line for line in lines[1:])]) + "\n")
    assert "No key is in both: are keys written in the same way" in refused(*two, *TWO_FILES)


def test_a_row_without_a_key_is_refused(two):
    changed(two[1], 9, id="")
    assert "'new.csv': column 'id' must be complete; it has no value in 1 of 120 rows, first in line 9" in refused(
        *two, *TWO_FILES
    )


def test_labels_that_differ_between_files_are_refused(two, rows):
    lines = two[1].read_text().splitlines()
    first = min((3, 20), key=lambda n: lines[n - 1])
    for n in (3, 20):
        changed(two[1], n, won="0" if lines[n - 1].split(",")[1] == "1" else "1")
    key, was, _ = lines[first - 1].split(",")
    told = refused(*two, *TWO_FILES)
    assert "column 'won' must be the same in both files; 2 of 120 rows differ" in told
    assert f"first key {key!r}: {was} in row {rows['id'].index(key) + 1} of 'old.parquet'" in told
    assert f"{1 - int(was)} in line {first} of 'new.csv'" in told
    assert "Do both files have the same rows" in told


def test_whether_an_answer_was_right_may_differ_between_files(tmp_path, two, rows):
    lines = two[1].read_text().splitlines()
    key, was, _ = lines[2].split(",")
    changed(two[1], 3, won=str(1 - int(was)))
    document = saved(tmp_path, *two, "--key", "id", "--correct", "won", "--confidence", "p")
    other = np.where(np.array(rows["id"]) == key, 1 - rows["won"], rows["won"])
    given = {"old": rows["won"], "new": other}
    found = bc.compare(given, {"old": rows["a"], "new": rows["b"]}, target="confidence", rng=1)
    assert document["differences"][0]["mean"] == found.difference("old", "new").mean()


def test_weights_must_be_the_same_in_both_files(tmp_path, rows):
    files = [tmp_path / "old.csv", tmp_path / "new.csv"]
    for file in files:
        file.write_text(csv({"id": rows["id"], "won": rows["won"], "p": rows["a"], "w": [1.5] * N}))
    saved(tmp_path, *files, *TWO_FILES, "--weights", "w")
    changed(files[1], 8, w="2")
    told = refused(*files, *TWO_FILES, "--weights", "w")
    assert "column 'w' must be the same in both files; 1 of 120 rows differ, first key 'r006': 1.5 in line 8" in told


def test_a_bad_value_is_told_with_the_line_of_its_own_file(two):
    changed(two[1], 7, p="12.4")
    told = refused(*two, *TWO_FILES)
    assert "column 'p' must lie in [0, 1]; 1 of 120 values does not, first in line 7 of 'new.csv': 12.4" in told
    changed(two[1], 7, p="NA")
    told = refused(*two, *TWO_FILES)
    assert "'new.csv': column 'p' must hold numbers; 1 of 120 rows does not, first in line 7: 'NA'" in told
    changed(two[1], 7, p="1.0000001")
    done = run(*two, *TWO_FILES)
    assert done.exit_code == 0
    assert done.stderr.startswith("Note: column 'p': 1 of 120 values lie outside [0, 1]")
    assert done.stderr.count("\n") == 1
    assert "first in line 7 of 'new.csv'" in done.stderr


# what is refused


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--label", "won", "--prob", "a"], "needs at least two classifiers: give --prob once for each"),
        (["--label", "won", "--prob", "a", "--prob", "a"], "'a' names two of them. Give each a name"),
        (["--label", "won", "--prob", "a", "--prob", "c"], "no column 'c'. The columns are"),
        (["--label", "won", "--prob", "a", "--prob", "=b"], "must be a column, or NAME=COLUMN"),
        (["--prob", "a", "--prob", "b"], "say where the true labels are: --label COLUMN."),
        (["--label", "won"], "say where each classifier's probabilities are: --prob COLUMN"),
        ([*ONE_FILE, "--prob-prefix", "a"], "--prob-prefix (one column per class) cannot be used together."),
        ([*ONE_FILE, "--correct", "won"], "--correct and --confidence go together"),
        ([*ONE_FILE, "--correct", "won", "--confidence", "a"], "take the place of --label, --prob and --prob-prefix"),
        (
            ["--correct", "won", "--correct", "won", "--confidence", "a", "--confidence", "b", "--confidence", "won"],
            "there are 3 classifiers and 2 --correct.",
        ),
        ([*ONE_FILE, "--key", "id"], "--key matches the rows of several files; there is only one FILE."),
        ([*ONE_FILE, "--rope", "-1"], "--rope must be a number >= 0"),
        ([*ONE_FILE, "--estimand", "l2"], "--estimand must be one of ['ece', 'l2_error'"),
        ([*ONE_FILE, "--target", "classwise"], "--target classwise asks one question per class"),
        ([*ONE_FILE, "--target", "top-label"], "For probabilities of one event use --target event."),
        ([*ONE_FILE, "--model", "dirichelt"], "--model must be one of"),
        ([*ONE_FILE, "--bins", "many"], "--bins must be a whole number, or edges"),
        ([*ONE_FILE, "--weights", "w"], "no column 'w'"),
        ([*ONE_FILE, "--json", "x.txt"], "--json writes .json files"),
    ],
)
def test_what_is_asked_wrongly(one, arguments, told):
    assert told in refused(one, *arguments)


def test_what_is_asked_wrongly_of_two_files(tmp_path, two):
    assert "several files need --key COLUMN" in refused(*two, "--label", "won", "--prob", "p")
    assert "there are 2 files and 3 --prob" in refused(*two, *TWO_FILES, "--prob", "p", "--prob", "p")
    assert "'X' names two of them" in refused(*two, "--key", "id", "--label", "won", "--prob", "X=p")
    assert "a FILE is given twice" in refused(two[0], two[0], *TWO_FILES)
    assert "there is no file" in refused(two[0], tmp_path / "ne.csv", *TWO_FILES)
    assert "'old.parquet' has no column 'key'" in refused(*two, "--key", "key", *TWO_FILES[2:])
    copy = tmp_path / "new.json"
    two[1].rename(copy)
    assert "--json would overwrite FILE" in refused(two[0], copy, *TWO_FILES, "--json", copy)


def test_models_that_know_different_classes(tmp_path):
    (tmp_path / "x.csv").write_text("pet,a_dog,a_cat,b_cat,b_cow\ndog,0.5,0.5,0.5,0.5\n")
    told = refused(tmp_path / "x.csv", "--label", "pet", "--prob-prefix", "a_", "--prob-prefix", "b_")
    assert "--prob-prefix must lead to the same classes for every classifier: 'a' has ['dog', 'cat'], 'b' has" in told


# files that are written


def test_json_says_how_to_get_it_again(tmp_path, two):
    document = saved(tmp_path, *two, *TWO_FILES, "--rope", "0.02")
    assert (document["schema"], document["bayescal"]) == ("bayescal.compare/2", bc.__version__)
    assert document["estimand"] == {"name": "ece", "title": "Expected Calibration Error", "better": "smaller"}
    assert document["parameters"] == {
        "files": ["old.parquet", "new.csv"],
        "key": "id",
        "rows": N,
        "classifiers": [
            {"name": "old", "file": "old.parquet", "label": "won", "prob": ["p"]},
            {"name": "new", "file": "new.csv", "label": "won", "prob": ["p"]},
        ],
        "weights": None,
        "classes": None,
        "logits": False,
        "target": "event",
        "bins": 15,
        "binning": "equal-width",
        "model": DEFAULT_MODEL,
        "draws": 4000,
        "seed": 1,
        "rope": 0.02,
        "estimand": "ece",
    }


def test_the_same_bytes_for_the_same_input_and_seed(tmp_path, one):
    for name, seed in (("x", 1), ("y", 1), ("z", 2)):
        saved(tmp_path, one, *ONE_FILE, "--seed", seed, name=f"{name}.json")
    x, y, z = ((tmp_path / f"{name}.json").read_bytes() for name in "xyz")
    assert x == y
    assert x != z


def test_one_model_under_two_names_differs_by_nothing(tmp_path, one):
    document = saved(tmp_path, one, "--label", "won", "--prob", "a", "--prob", "again=a", "--rope", "0")
    (row,) = document["differences"]
    assert (row["mean"], row["low"], row["high"], row["p_rope"]) == (0, 0, 0, 1)


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c=a"]])
def test_the_picture(tmp_path, one, names):
    models = [word for name in names for word in ("--prob", name)]
    text = shown(one, "--label", "won", *models, "--estimand", "l2_error", "--plot", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert f"Saved {tmp_path / 'x.png'}" in text.splitlines()


def test_the_page_is_of_what_was_asked_and_names_each_column(tmp_path, one):
    out = tmp_path / "x.html"
    models = ("--prob", "<b>A</b>=a", "--prob", "b")
    printed = shown(one, "--label", "won", *models, "--estimand", "brier_score", "--html", out)
    assert f"Saved {out}" in printed.splitlines()
    text = out.read_text(encoding="utf-8")
    assert "Brier score" in text
    assert "<b>" not in text
    assert (
        '<th scope="row">classifier &lt;b&gt;A&lt;/b&gt;</th><td>file one.csv; labels won; probabilities a</td>' in text
    )
    (row,) = [line.split("- b")[1].split() for line in printed.splitlines() if line.startswith(" <b>A</b> - b")]
    assert all(f"{number}</td>" in text for number in row if number not in ("<", ">"))


def test_the_picture_is_of_what_was_asked_and_unknown_to_pyplot(rows):
    import matplotlib.pyplot as plt

    found = bc.compare(rows["won"], {"a": rows["a"], "b": rows["b"]}, rng=1)
    open_before = plt.get_fignums()
    figures = {name: comparison_picture(found, name) for name in ("ece", "brier_score")}
    assert plt.get_fignums() == open_before
    words = {name: " ".join(ax.get_xlabel() for ax in f.get_axes()).lower() for name, f in figures.items()}
    assert "calibration error" in words["ece"]
    assert "brier" in words["brier_score"]


@pytest.mark.filterwarnings("ignore")  # what other packages warn of while they are imported is theirs
def test_netcdf_is_read_by_arviz(tmp_path, one, rows):
    import arviz as az

    shown(one, *ONE_FILE, "--netcdf", tmp_path / "x.nc", "--draws", 100)
    tree = az.from_netcdf(tmp_path / "x.nc")
    found = bc.compare(rows["won"], {"a": rows["a"], "b": rows["b"]}, rng=1, draws=100)
    drawn = tree.posterior.ece.sel(classifier="a") - tree.posterior.ece.sel(classifier="b")
    np.testing.assert_array_equal(np.sort(drawn.values.ravel()), np.sort(np.asarray(found.difference("a", "b"))))


# the page of help, and a narrow terminal


@pytest.mark.slow
@pytest.mark.parametrize("width", [70, 80, 120])
def test_numbers_are_not_cut_off_in_a_terminal(width):
    text = shown(DIGITS, *PREFIXES, "--prob-prefix", "logistic_regression_", width=width)
    assert "…" not in text
    # the specification and a path are lines to be copied
    assert all(len(line) <= width for line in text.splitlines() if "classifiers on the same rows" not in line)
    digits = datasets.load_digits()
    names = ("naive_bayes", "random_forest", "logistic_regression")
    for row in bc.compare(digits.y_true, {name: digits.y_prob[name] for name in names}, rng=1).table():
        assert f"{row['mean']:.4f}" in text
    assert "logistic_regression " in text


def test_comparing_needs_nothing_heavy(one):
    code = f"""
import sys
from bayescal.app import main
sys.argv = ["bayescal", "compare", {str(one)!r}, *{ONE_FILE!r}]
try:
    main()
except SystemExit as end:
    print(end.code, [m for m in ("pymc", "arviz", "scipy.stats", "matplotlib", "pandas") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


# over data sets


def test_a_column_of_data_sets_compares_over_them(tmp_path, rows):
    """Numbers of --by are those of `compare(by=)`; groups written as integers are sorted as integers."""
    site = np.where(np.arange(N) % 3 == 0, 10, np.arange(N) % 3)
    path = tmp_path / "sites.csv"
    path.write_text(csv({**rows, "site": site, "same": np.zeros(N, dtype=int)}))
    outputs = {
        option: tmp_path / f"out.{end}"
        for option, end in (("json", "json"), ("html", "html"), ("plot", "png"), ("netcdf", "nc"))
    }
    options = [word for option, file in outputs.items() for word in (f"--{option}", file)]
    text = shown(path, *ONE_FILE, "--by", "site", "--draws", 200, "--seed", 3, *options)
    models = {name: rows[name] for name in ("a", "b")}
    expected = bc.compare(rows["won"], models, by=pd.Series(site, name="site"), draws=200, rng=3)
    assert expected.datasets == ("site 1", "site 2", "site 10")
    document = json.loads(outputs["json"].read_text(encoding="utf-8"))
    assert document["table"] == json.loads(expected.to_json())["table"]
    assert [each["name"] for each in document["datasets"]] == list(expected.datasets)
    assert (document["parameters"]["by"], document["parameters"]["rows"]) == ("site", N)
    assert all(file.stat().st_size > 1000 for file in outputs.values())
    assert " ".join(expected.sentence().split()) in " ".join(text.split())
    assert "site 10" in text
    for column, holds in (("won", "the labels"), ("a", "the probabilities")):
        assert f"holds {holds}" in refused(path, *ONE_FILE, "--by", column)
    assert "at least two data sets" in refused(path, *ONE_FILE, "--by", "same")


def test_data_sets_of_two_files_agree(tmp_path, rows):
    site = [f"s{i % 2}" for i in range(N)]
    first = {"id": rows["id"], "won": rows["won"], "p": rows["a"], "site": site}
    (tmp_path / "old.csv").write_text(csv(first))
    (tmp_path / "new.csv").write_text(csv({**{name: v[::-1] for name, v in first.items()}, "p": rows["b"][::-1]}))
    found = saved(tmp_path, tmp_path / "old.csv", tmp_path / "new.csv", *TWO_FILES, "--by", "site", "--draws", 100)
    assert found["datasets"] == [{"name": "s0", "rows": N // 2}, {"name": "s1", "rows": N // 2}]
    (tmp_path / "new.csv").write_text(csv({**first, "p": rows["b"], "site": site[1:] + site[:1]}))
    said = refused(tmp_path / "old.csv", tmp_path / "new.csv", *TWO_FILES, "--by", "site")
    assert "column 'site' must be the same in both files" in said
