"""What users of scikit-learn, ArviZ and pandas try first: each works, or says what to do."""

import json
import re

import arviz as az
import nbformat
import numpy as np
import pandas as pd
import pytest
from nbclient import NotebookClient

import bayescal as bc
from bayescal.datasets import load_digits
from bayescal.stats.bins import make_bins


def rows(n=600):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    return (rng.random(n) < p**1.2).astype(int), p


Y, P = rows()
FAST = {"draws": 200, "rng": 1}
EV = bc.evaluate(Y, P, **FAST)
TWO = bc.compare(Y, {"a": P, "b": P**1.5}, **FAST)
THREE = bc.compare(Y, {"a": P, "b": P**1.5, "c": P**0.5}, **FAST)
GROUPS = bc.evaluate(Y, P, by=np.arange(len(Y)) % 3, **FAST)
MATRIX = np.random.default_rng(2).dirichlet(np.ones(3), len(Y))
CLASSES = bc.evaluate(np.arange(len(Y)) % 3, MATRIX, target="classwise", **FAST)
MONITOR = bc.monitoring.CalibrationMonitor(window="1d", target="event")
for _day in range(3):
    MONITOR.add(Y[_day::3], P[_day::3], time=f"2026-03-0{_day + 1}")
CHANGE = MONITOR.change(**FAST)
PLAN = bc.planning.labels_needed(EV.counts, width=0.05, simulations=20, draws=200, rng=1)
RESULTS = {
    "event": EV, "two": TWO, "three": THREE, "groups": GROUPS, "classwise": CLASSES, "monitor": MONITOR,
    "change": CHANGE, "plan": PLAN, "prior": bc.evaluate_counts(bc.BinnedCounts.empty(5), **FAST),
}  # fmt: skip


# --- numbers


def test_a_float_is_the_posterior_mean():
    assert float(EV.ece) == EV.ece.values.mean()


def test_a_format_is_that_of_the_posterior_mean():
    assert f"{EV.ece:.3f}" == f"{EV.ece.values.mean():.3f}"


def test_a_comparison_is_a_probability():
    probability = EV.ece < 0.05
    assert probability == (EV.ece.values < 0.05).mean()
    with pytest.raises(TypeError, match=r"neither true nor false.*> 0.95"):
        bool(probability)


def test_a_ratio_to_something_that_can_be_zero_is_refused():
    assert (EV.signed_error == EV.signed_error) is True  # identity, so that results can be keys of a dict
    assert (EV.overconfidence.values == 0).any()
    with pytest.raises(ZeroDivisionError, match="`1 / overconfidence` divides by 0"):
        1 / EV.overconfidence


@pytest.mark.parametrize("name", ["ece", "l2_error", "e90_bins", "signed_error", "overconfidence"])
def test_an_estimand_of_labels_says_what_to_call(name):
    with pytest.raises(TypeError, match=r"bayescal\.evaluate\(y_true, y_prob\)"):
        getattr(bc, name)(Y, P)


def test_a_data_frame_with_one_column_per_classifier():
    frame = pd.DataFrame({"a": P, "b": P**1.5})
    assert bc.compare(Y, frame, **FAST).table() == TWO.table()


def test_numbers_are_plain_floats():
    """`np.float64(0.1)` in a tuple would be hard to read and is not JSON."""
    for shown in (
        EV.ece.interval(0.95),
        EV.ece.hdi(),
        EV.sub_models,
        EV.table(),
        TWO.decide(),
        TWO.each(),
        GROUPS.p_largest(),
    ):
        assert "np." not in repr(shown)
    for value in (EV.plug_in, EV.p_calibrated, EV.bayes_factor, EV.ece.sd(), bc.plug_in_ece(Y, P)):
        assert type(value) is float


# --- printing


@pytest.mark.parametrize(
    ("thing", "contains"),
    [
        *((result, type(result).__name__) for result in RESULTS.values()),
        (EV, "95 % interval ["),
        (EV.ece, "Draws(ece: mean 0.0"),
        (EV.bin_draws, "BinDraws(200 draws of 15 bins, 15 with rows)"),
        (EV.parameters, "ShrinkageDraws(200 draws of 15 bins"),
        (EV.posterior, "ShrinkagePosterior(BinnedCounts("),
        (bc.dirichlet_posterior(EV.counts), "two-rows"),
        (EV.counts, "600 rows"),
        (EV.counts.losses, "LossSums("),
        (TWO.pairs[0, 1], "PairedCounts(600 rows"),
        (make_bins(15), "Bins(15 equal-width bins [a, b))"),
        (make_bins([0, 0.5, 1]), "Bins(2 bins [a, b) (custom edges))"),
        (bc.Predictions.from_labels(Y, P), f"Predictions(600 rows, {Y.sum()} with outcome 1, event)"),
        (load_digits(), "PredictionSet(digits"),
        (EV.ece < 0.05, "P(ece < 0.05) = "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_repr_is_short_and_holds_no_array(thing, contains):
    shown = repr(thing)
    assert contains in shown
    assert "array(" not in shown
    assert len(shown) < 400
    assert "\n" not in shown


@pytest.mark.slow
def test_a_result_in_a_kernel(tmp_path):
    """The last line of a cell shows a table in HTML; `print` writes the same table as text."""
    book = nbformat.v4.new_notebook()
    cells = [
        "import numpy as np, bayescal as bc\np = np.random.default_rng(1).random(600)\n"
        "ev = bc.evaluate((p > 0.5).astype(int), p, draws=200, rng=1)\nev",
        "print(ev)",
        "ev.ece",
        "ev.ece < 0.05",
        "ev.to_frame()",
        "groups = bc.evaluate((p > 0.5).astype(int), p, by=np.arange(600) % 20, draws=50, rng=1)",
    ]
    book.cells = [nbformat.v4.new_code_cell(source) for source in cells]
    NotebookClient(book, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell.outputs for cell in book.cells]
    shown, printed, draws, probability, frame = (each[0] for each in outputs[:5])
    assert shown["data"]["text/plain"].startswith("Evaluation(event ECE")
    assert "<table>" in shown["data"]["text/html"]
    assert printed["name"] == "stdout"
    assert "if calibrated" in printed["text"]
    sentence = re.sub(r"\s+", " ", printed["text"]).partition(" It ")[0][:60]
    assert sentence.strip() in re.sub(r"\s+", " ", shown["data"]["text/html"])
    assert draws["data"]["text/plain"].startswith("Draws(ece: mean ")
    assert probability["data"]["text/plain"].startswith("P(ece < 0.05) = ")
    assert "<table" in frame["data"]["text/html"]
    assert outputs[5] == []  # neither a bar nor a warning


# --- results as data


def printed(number):
    return pytest.approx(number, abs=5.1e-5, nan_ok=True)


@pytest.mark.parametrize("name", ["event", "prior", "classwise", "groups", "monitor"])
def test_a_frame_has_the_printed_numbers(name):
    result = RESULTS[name]
    sheet, frame = result.sheet(whole=True), result.to_frame()
    cells = sheet.rows[1:] if name == "groups" else sheet.rows
    assert len(frame) == len(cells)
    for (_, row), (_, *texts) in zip(frame.iterrows(), cells, strict=True):
        assert [float(text) if text != "-" else np.nan for text in texts] == [printed(value) for value in row]


def test_the_index_of_a_frame_is_the_label():
    assert EV.to_frame().index.tolist() == [row["quantity"] for row in EV.table()]
    assert GROUPS.to_frame().index.tolist() == GROUPS.in_order()
    assert GROUPS.to_frame(order="given").index.tolist() == [0, 1, 2]
    assert GROUPS.to_frame().index.name == "group"
    assert THREE.to_frame().index.names == ["first", "second"]
    assert len(THREE.to_frame()) == 3
    assert CHANGE.to_frame().index.tolist() == [("now", "baseline")]
    assert MONITOR.to_frame().index.tolist() == list(pd.to_datetime(["2026-03-01", "2026-03-02", "2026-03-03"]))
    assert PLAN.to_frame().index.tolist() == [row["rows"] for row in PLAN.curve()]
    pairs = bc.evaluate(Y, P, by=pd.DataFrame({"a": np.arange(600) % 2, "b": ["x", "y", "z"] * 200}), **FAST)
    assert pairs.to_frame().index.tolist() == pairs.in_order()
    assert pairs.to_frame().index.nlevels == 1


@pytest.mark.parametrize("prob", [0.8, 0.95, 0.995])
def test_columns_of_an_interval_are_named_as_by_arviz(prob):
    frame, low_high = EV.to_frame(prob), EV.ece.interval(prob)
    low, high = (name for name in frame.columns if name.startswith("eti"))
    assert (frame.loc["ece", low], frame.loc["ece", high]) == low_high
    if prob < 0.99:  # ArviZ rounds the percentage
        assert [low, high] == [name for name in EV.summary(prob).columns if name.startswith("eti")]
    assert az.__version__
    with pytest.raises(ValueError, match="`prob`"):
        EV.to_frame(1.5)


def test_a_frame_of_another_estimand():
    frame = TWO.to_frame(estimand="brier_score")
    assert frame.loc[("a", "b"), "mean"] == TWO.difference("a", "b", "brier_score").mean()
    assert GROUPS.to_frame(estimand="e90_bins", order="given")["mean"].tolist() == [
        GROUPS[i].e90_bins.mean() for i in range(3)
    ]
    assert CLASSES.to_frame(estimand="signed_error").index[0] == "classwise signed_error"
    with pytest.raises(TypeError, match="estimand"):
        EV.to_frame(estimand="ece")


def test_frames_without_rows_have_their_columns():
    empty = bc.monitoring.CalibrationMonitor(window="1d").to_frame()
    assert list(empty.columns) == list(MONITOR.to_frame().columns)
    enough = bc.planning.labels_needed(EV.counts, width=0.9, simulations=20, draws=200, rng=1).to_frame()
    assert list(enough.columns) == list(PLAN.to_frame().columns)
    assert enough.index.name == "rows"


def refuse_constant(word):
    raise AssertionError(f"{word} is not standard JSON")


@pytest.mark.parametrize("name", RESULTS)
def test_json_is_standard_and_complete(name, tmp_path):
    result = RESULTS[name]
    text = result.to_json()
    document = json.loads(text, parse_constant=refuse_constant)
    assert document["schema"].startswith("bayescal.")
    assert document["bayescal"] == bc.__version__
    assert document["spec"] == result.spec
    assert document["sentence"]
    assert result.to_json() == text
    path = result.to_json(tmp_path / "result.json")
    assert path == tmp_path / "result.json"
    assert path.read_bytes() == text.encode()
    if name not in ("monitor", "plan"):
        assert document["interval"] == {"probability": 0.95, "kind": "equal-tailed"}
        assert document["seeds"]


def test_json_holds_the_numbers_of_the_result():
    document = json.loads(EV.to_json())
    assert document["table"] == EV.table()
    assert document["seeds"] == {"bin_draws": str(EV.bin_draws_seed), "dirichlet": str(EV.dirichlet_seed)}
    assert sum(each["n"] for each in document["bins"]) == 600
    prior = json.loads(RESULTS["prior"].to_json())
    assert prior["table"][0]["plug_in"] is None
    groups = json.loads(GROUPS.to_json())
    assert [group["seed"] for group in groups["groups"]] == [str(GROUPS.seeds[label]) for label in GROUPS.in_order()]
    assert json.loads(TWO.to_json(estimand="brier_score"))["estimand"]["name"] == "brier_score"
    assert json.loads(PLAN.to_json())["rows"] == PLAN.rows
    windows = json.loads(MONITOR.to_json())["table"]
    assert [row["window"] for row in windows] == [f"2026-03-0{day}T00:00:00" for day in (1, 2, 3)]


# --- LaTeX, read by the rules of TeX

NAMES = [
    "a_b", "50 %", "R&D", "#1", "$x$", "{b}", "~", "^", "\\", "<x>", '"q"', "`q`", "''", "a--b---c", "two  spaces", "|",
    "[red]", "*", "[1] & \\\\", "%", "\\input{x}", "x,,y", "Größe",
]  # fmt: skip
COMMANDS = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"{\char34}": '"', r"\textasciigrave{}": "`", r"\ ": " ", "{}": "",
    **{f"\\{each}": each for each in "{}$&%#_"},
}  # fmt: skip


def cells_of(latex):
    """Return the rows of the table as LaTeX prints them; any character with a meaning that is left over raises."""
    body = latex.split("\\toprule\n")[1].split("    \\bottomrule")[0]
    rows, cell, row = [], "", []
    for token in re.findall(r"\\[a-z]+\{\}|\{\\char34\}|\{\}|\\\\\n|\\midrule\n|\\.|\$-[\d.e-]+\$|.|\n", body):
        if token == "\\\\\n":
            rows.append([*row, cell])
            cell, row = "", []
        elif token == "&":
            row.append(cell)
            cell = ""
        elif token in COMMANDS:
            cell += COMMANDS[token]
        elif token.startswith("$"):
            cell += token[1:-1]
        elif token not in ("\n", "\\midrule\n"):
            assert len(token) == 1, token
            assert token not in '\\{}$&%#_~^<>|"`', token
            cell += token
    return [[each.strip() for each in cells] for cells in rows]


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "plan"])
def test_latex_has_the_printed_cells(name):
    result = RESULTS[name]
    sheet = result.sheet(whole=True)
    header, *rows = cells_of(result.to_latex())
    assert header == list(sheet.header)
    assert rows == [["--" if cell == "-" else cell for cell in row] for row in sheet.rows]


def test_names_in_latex_are_printed_as_they_are():
    by = np.array(NAMES, dtype=object)[np.arange(len(Y)) % len(NAMES)]
    grouped = bc.evaluate(Y, P, by=pd.Series(by, name="a_b & 50 %"), **FAST)
    text = grouped.to_latex(label="tab:groups_1")
    names = [row[0] for row in cells_of(text)[2:]]
    assert sorted(names) == sorted(NAMES)
    for line in text.splitlines():  # LaTeX takes [ or * after a line break for an argument of it
        assert not re.match(r"\s*[\[*]", line)
        assert "--" not in line.replace("{}", "x") or line.startswith("%")
    assert r"a\_b \& 50 \%" in text.split("\\caption{")[1].splitlines()[0]
    assert "\\label{tab:groups_1}" in text


# --- a progress bar


def test_rounding_gives_the_rounded_mean():
    assert round(EV.ece, 3) == round(float(EV.ece), 3)
    assert round(EV.ece) == 0
    assert isinstance(round(EV.ece, 3), float)


@pytest.mark.parametrize("names", [("y_true", "y_prob"), ("y_true",)])
def test_rows_as_keywords_of_an_estimand(names):
    with pytest.raises(TypeError, match=r"call `bayescal\.evaluate"):
        bc.ece(**{name: [0, 1] for name in names})


def test_names_that_differ_in_case_are_suggested():
    with pytest.raises(ValueError, match="Did you mean 'ece'"):
        EV.draws("ECE")
