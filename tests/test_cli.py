"""The command line: the numbers are the library's, outputs are whole or absent, a refusal is one clear message."""

import gzip
import html
import inspect
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import bayescal
from bayescal import datasets
from bayescal.analyses.one import DEFAULT_MODEL, MODELS
from bayescal.app import app
from bayescal.cli import outputs
from bayescal.cli.keywords import parse_sub_models
from bayescal.cli.tour import in_plain_words
from bayescal.report.figure import picture
from bayescal.results.wording import SMALL_ECE

CANCER = datasets.path("breast_cancer")
COLUMNS = ["--label", "label", "--prob", "naive_bayes"]
TINY = ["--label", "label", "--prob", "p"]


def run(*arguments, width=120):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": str(width), "TERM": "dumb"})


def report(*arguments, **options):
    done = run("report", *arguments, **options)
    assert done.exit_code == 0, done.stderr
    return done


def refused(*arguments):
    """What is said on stderr when exit code is 2: one message, no traceback, nothing on stdout."""
    done = run("report", *arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def read_json(path):
    def no_such_constant(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=no_such_constant)


def in_processes(code, cwd):
    """Run Python code with the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ}
    )


@pytest.fixture
def tiny(tmp_path):
    """A file of twenty rows, alone in its folder."""
    file = tmp_path / "tiny.csv"
    file.write_text("label,p\n" + "".join(f"{i % 2},{(i % 10) / 10}\n" for i in range(20)))
    return file


# what is shown


def test_what_is_printed_is_what_evaluate_finds():
    cancer = datasets.load_breast_cancer()
    found = bayescal.evaluate(cancer.y_true, cancer.y_prob["naive_bayes"], rng=1)
    shown, whole = report(CANCER, *COLUMNS).stdout, report(CANCER, *COLUMNS, "--details").stdout
    assert found.sheet().headline in " ".join(shown.split())
    assert found.spec not in shown
    assert found.spec in whole.splitlines()
    for note in found.details().notes:
        assert note not in " ".join(shown.split())
        assert note in " ".join(whole.split())
    assert [line for line in shown.splitlines() if line] == [
        line for line in whole.splitlines() if line in shown.splitlines() and line
    ]
    of_events = {
        "overconfidence": "stated too high",
        "underconfidence": "stated too low",
        "e90_bins": "E90 of bins",
    }
    for row in found.table():
        numbers = [f"{row[key]:.4f}" for key in ("mean", "sd", "low", "high", "plug_in", "null_mean")]
        name = of_events.get(row["quantity"], row["quantity"])
        assert [*name.split(), *numbers] in [line.split() for line in shown.splitlines()]


def test_options_reach_evaluate(tmp_path):
    digits = datasets.load_digits()
    arguments = ["--bins", "7", "--binning", "equal-mass", "--draws", "500", "--seed", "3", "--target", "classwise"]
    out = tmp_path / "x.json"
    report(datasets.path("digits"), "--label", "label", "--prob-prefix", "random_forest_", *arguments, "--json", out)
    found = bayescal.evaluate(
        digits.y_true,
        digits.y_prob["random_forest"],
        bins=7,
        binning="equal-mass",
        draws=500,
        rng=3,
        target="classwise",
    )
    written = read_json(out)
    assert written["table"] == found.table()
    assert [c["label"] for c in written["classes"]] == list(range(10))
    assert [b["n"] for b in written["classes"][4]["bins"]] == found[4].counts.n.tolist()
    asked = written["parameters"]
    assert (asked["bins"], asked["binning"], asked["draws"], asked["seed"]) == (7, "equal-mass", 500, 3)


def test_chosen_sub_models_reach_evaluate(tmp_path):
    """With one problem and with one problem per class."""
    digits = datasets.load_digits()
    names, out = ["logistic_dense", "noise"], tmp_path / "x.json"
    arguments = ["--label", "label", "--prob-prefix", "random_forest_", "--draws", "200", "--json", out]
    for target in ("top-label", "classwise"):
        report(datasets.path("digits"), *arguments, "--target", target, "--sub-models", ", ".join(names))
        known = {"target": target, "draws": 200, "rng": 1, "sub_models": names}
        found = bayescal.evaluate(digits.y_true, digits.y_prob["random_forest"], **known)
        written = read_json(out)
        assert written["table"] == found.table()
        assert written["parameters"]["sub_models"] == names
        assert "prior with sub_models=['noise', 'logistic_dense']" in written["spec"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("logistic_dense", ["logistic_dense"]),  # one name, as it is printed
        (" independent ,label_noise", ["independent", "label_noise"]),
        ("shared", ["shared"]),
    ],
)
def test_names_of_sub_models_are_split_at_commas(typed, names):
    assert parse_sub_models(typed) == names


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
def test_every_way_to_name_the_columns(tmp_path, columns, arrays):
    p = [0.1 + 0.008 * i for i in range(100)]
    label = [(7 * i) % 10 < 10 * p[i] for i in range(100)]
    z = [math.log(q / (1 - q)) for q in p]
    rows = zip(label, p, z, [1.0, 2.0, 0.5, 3.0] * 25, strict=True)
    lines = [f"{int(y)},{q!r},{s!r},{w!r},{'yes' if y else 'no'}\n" for y, q, s, w in rows]
    (tmp_path / "x.csv").write_text("label,p,z,w,word\n" + "".join(lines))
    report(tmp_path / "x.csv", *columns, "--json", tmp_path / "x.json")
    found = bayescal.evaluate(label, z if arrays.get("logits") else p, rng=1, **arrays)
    written = read_json(tmp_path / "x.json")
    assert written["table"] == found.table()
    assert written["spec"] == found.spec


def test_class_names_in_the_names_of_columns(tmp_path):
    (tmp_path / "x.csv").write_text("pet,p_dog,p_cat\n" + "dog,0.7,0.3\ncat,0.2,0.8\ndog,0.4,0.6\n" * 5)
    report(tmp_path / "x.csv", "--label", "pet", "--prob-prefix", "p_", "--json", tmp_path / "x.json")
    matrix = [[0.7, 0.3], [0.2, 0.8], [0.4, 0.6]] * 5
    assert read_json(tmp_path / "x.json")["table"] == bayescal.evaluate([0, 1, 0] * 5, matrix, rng=1).table()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_cut_off_in_a_terminal(width):
    shown = run("report", CANCER, *COLUMNS, "--details", width=width).stdout
    if width >= 80:
        assert "…" not in shown
        assert "if calibrated" in shown
    assert bayescal.evaluate(*_cancer(), rng=1).spec in shown.splitlines()  # one line, to be copied


def _cancer():
    cancer = datasets.load_breast_cancer()
    return cancer.y_true, cancer.y_prob["naive_bayes"]


@pytest.mark.parametrize("command", [[], ["report"]])
def test_help_is_a_page(command):
    page = run(*command, "--help", width=80)
    assert page.exit_code == 0
    words = " ".join(page.stdout.replace("│", " ").split())
    if not command:
        assert "demo" in words
        assert "Expected Calibration Error" in words
        return
    for option in ("label", "prob", "prob-prefix", "correct", "confidence", "weights", "classes", "logits", "target"):
        assert f"--{option} " in words
    for panel in ("Columns of FILE", "Question", "Model", "Output", "Examples"):
        assert panel in words
    for default in (DEFAULT_MODEL, "15", "4000", "1", "equal-width"):
        assert f"[default: {default}]" in words
    for model in MODELS:
        assert model in words


def test_lines_of_a_help_are_sentences():
    """The terminal keeps the line breaks of a command's docstring, so a sentence must not have one."""
    from bayescal.app import app

    commands = [each.callback for each in app.registered_commands]
    assert len(commands) > 8
    for command in commands:
        for line in inspect.getdoc(command).splitlines():
            assert not line or line.endswith((".", ":", "?")), (command.__name__, line)


def test_version():
    assert run("--version").stdout == f"bayescal {bayescal.__version__}\n"


def test_help_needs_nothing_heavy():
    code = "import sys; from bayescal.app import app; print([m for m in sys.modules if m in HEAVY])"
    heavy = {"numpy", "scipy", "pymc", "arviz", "matplotlib", "pandas", "duckdb", "narwhals"}
    assert in_processes(f"HEAVY = {heavy}; {code}", ".").stdout == "[]\n"


# JSON


def test_json_is_complete_and_valid(tmp_path):
    out = tmp_path / "x.json"
    report(CANCER, *COLUMNS, "--json", out)
    written = read_json(out)
    found = bayescal.evaluate(*_cancer(), rng=1)
    assert written["schema"] == "bayescal.report/1"
    assert written["bayescal"] == bayescal.__version__
    assert written["sentence"] == found.sentence()
    assert written["question"] == found.question
    assert written["parameters"] == {
        "file": "breast_cancer.parquet",
        "rows": 569,
        "label": "label",
        "prob": ["naive_bayes"],
        "weights": None,
        "classes": None,
        "logits": False,
        "target": "event",
        "bins": 15,
        "binning": "equal-width",
        "model": DEFAULT_MODEL,
        "draws": 4000,
        "seed": 1,
    }
    below = float(np.mean(np.asarray(found.ece) < SMALL_ECE))
    assert written["probability_below"] == {"ece": SMALL_ECE, "probability": below}


def test_json_has_every_bin_and_null_where_a_bin_is_empty(tmp_path):
    """Counted by hand with numpy from the definition of the bins; the interval from the posterior's Beta quantiles."""
    from scipy.stats import beta

    out = tmp_path / "x.json"
    report(CANCER, *COLUMNS, "--json", out, "--bins", "10", "--model", "dirichlet", "--draws", "40000")
    y, p = _cancer()
    bins = read_json(out)["bins"]
    assert len(bins) == 10
    assert any(b["n"] == 0 for b in bins)
    for i, row in enumerate(bins):
        assert (row["low"], row["high"]) == (i / 10, (i + 1) / 10)
        inside = (p >= i / 10) & ((p < (i + 1) / 10) | (i == 9))
        assert (row["n"], row["k"]) == (inside.sum(), y[inside].sum())
        if not inside.any():
            assert {row[key] for key in ("mean_confidence", "accuracy", "accuracy_low", "accuracy_high")} == {None}
            continue
        assert row["mean_confidence"] == pytest.approx(p[inside].mean())
        assert row["accuracy"] == pytest.approx(y[inside].mean())
        posterior = beta(0.1 + row["k"], 0.1 + row["n"] - row["k"])  # two-rows prior: 1/M a cell
        # in probability, 40000 draws have a standard error of 0.0008 at the 2.5 % point: five of them, and the
        # neighbouring doubles, because a full bin's upper end is as near to 1 as doubles are
        for q, end in ((0.025, row["accuracy_low"]), (0.975, row["accuracy_high"])):
            below, above = posterior.cdf([np.nextafter(end, 0), np.nextafter(end, 1)])
            assert below - 0.004 <= q <= above + 0.004


def test_the_same_bytes_for_the_same_input_and_seed(tmp_path):
    for name in ("a", "b"):
        report(CANCER, *COLUMNS, "--json", tmp_path / f"{name}.json")
    report(CANCER, *COLUMNS, "--json", tmp_path / "c.json", "--seed", "2")
    a, b, c = ((tmp_path / f"{name}.json").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_one_table_in_four_formats_gives_one_json(tmp_path):
    y, p = _cancer()
    rows = list(zip(y.tolist(), p.tolist(), strict=True))
    texts = {
        "csv": "label,naive_bayes\n" + "".join(f"{a},{b!r}\n" for a, b in rows),
        "tsv": "label\tnaive_bayes\n" + "".join(f"{a}\t{b!r}\n" for a, b in rows),
        "jsonl": "".join(json.dumps({"label": a, "naive_bayes": b}) + "\n" for a, b in rows),
    }
    written = set()
    for form in [*texts, "parquet", "gzip"]:
        folder = tmp_path / form
        folder.mkdir()
        file = folder / "predictions.xyz"  # a name that says nothing
        if form == "parquet":
            pq.write_table(pa.table({"label": y, "naive_bayes": p}), file)
        else:
            file.write_bytes(texts[form].encode() if form != "gzip" else gzip.compress(texts["csv"].encode()))
        report(file, *COLUMNS, "--json", folder / "out.json")
        written.add((folder / "out.json").read_bytes())
    assert len(written) == 1


# pictures and netCDF


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_pictures(tiny, suffix, magic):
    out = tiny.with_suffix(suffix)
    shown = report(tiny, *TINY, "--plot", out).stdout
    assert out.read_bytes().startswith(magic)
    assert f"Saved {out}" in shown.splitlines()


def test_the_picture_has_the_bins_and_the_posterior_on_one_scale():
    y, p = _cancer()
    evaluations = {name: bayescal.evaluate(y, q, rng=1) for name, q in (("one", p), ("two", p**0.2))}
    figure = picture(evaluations)
    posteriors = [ax for ax in figure.get_axes() if "Calibration Error" in ax.get_xlabel()]
    assert len(posteriors) == 2
    assert posteriors[0].get_xlim() == posteriors[1].get_xlim()
    assert len([ax for ax in figure.get_axes() if ax.get_ylabel() == "event rate"]) == 2
    assert [sub.get_suptitle() for sub in figure.subfigs] == ["one", "two"]


def test_the_page_is_that_of_the_library(tmp_path):
    """And the same options give the same bytes."""
    outs = [tmp_path / "a.html", tmp_path / "b.HTM"]
    for out in outs:
        done = report(CANCER, *COLUMNS, "--draws", 300, "--html", out)
        assert f"Saved {out}" in done.stdout.splitlines()
    first, second = (out.read_bytes() for out in outs)
    assert first == second
    # the file is counted in blocks, so that rows of one bin have no order and the AUC is that of the bins
    counts = bayescal.count_file(CANCER, label="label", prob="naive_bayes")
    own = bayescal.evaluate_counts(counts, draws=300, rng=1)
    in_python = own.to_html(tmp_path / "own.html").read_text(encoding="utf-8")
    text = first.decode()
    what, read = "<h2>What was read</h2>", text.partition("<h2>What was read</h2>")[2]
    assert text.partition(what)[0] == in_python.partition(what)[0].replace(
        "<title>Calibration report</title>", f"<title>Calibration report: {CANCER.name}</title>"
    )
    for name, value in (("file", CANCER.name), ("rows read", "569"), ("column of labels", "label"), ("seed", "1")):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in read
    for line in done.stdout.splitlines():  # the printed numbers
        if line.split()[:1] in (["ece"], ["e90_bins"]):
            assert all(f">{number}</td>" in text for number in line.split()[-6:])


def test_the_page_of_counts_and_of_classes(tiny, tmp_path):
    counts, out = tmp_path / "counts.json", tmp_path / "x.html"
    assert run("count", tiny, *TINY, "-o", counts).exit_code == 0
    report(counts, "--html", out)
    assert '<th scope="row">file</th><td>counts.json</td>' in out.read_text(encoding="utf-8")
    columns = ("--label", "label", "--prob-prefix", "naive_bayes_", "--target", "classwise")
    report(datasets.path("wine"), *columns, "--html", out)
    assert "classwise Expected Calibration Error" in out.read_text(encoding="utf-8")


def test_the_page_repeats_the_notes(tmp_path):
    file, out = tmp_path / "x.csv", tmp_path / "x.html"
    file.write_text("label,<b>\n0,0.5\n1,1.0000001\n")
    done = report(file, "--label", "label", "--prob", "<b>", "--html", out)
    note = done.stderr.strip().removeprefix("Note: ")
    assert note.startswith("column '<b>': 1 of 2 values")
    assert f'<th scope="row">note</th><td>{html.escape(note).replace("&#x27;", "&#39;")}</td>' in out.read_text()


def test_a_classwise_picture_shows_its_posterior(tmp_path):
    out = tmp_path / "x.png"
    file = datasets.path("wine")
    report(file, "--label", "label", "--prob-prefix", "naive_bayes_", "--target", "classwise", "--plot", out)
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore")  # what other packages warn of while they are imported is theirs
def test_netcdf_is_read_by_arviz(tiny):
    import arviz as az

    out = tiny.with_suffix(".nc")
    report(tiny, *TINY, "--netcdf", out, "--draws", "100")
    tree = az.from_netcdf(out)
    label = [i % 2 for i in range(20)]
    found = bayescal.evaluate(label, [(i % 10) / 10 for i in range(20)], rng=1, draws=100)
    np.testing.assert_array_equal(np.sort(tree.posterior.ece.values.ravel()), np.sort(np.asarray(found.ece)))
    assert tree.attrs["spec"] == found.spec


# what is refused


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("0,0.5\n1,NA\n", "column 'p' must hold numbers; 1 of 2 rows does not, first in line 3: 'NA'."),
        ("0,0.5\n\n1,12.4\n0,-3\n", "column 'p' must lie in [0, 1]; 2 of 3 values do not, first in line 4: 12.4."),
        ("0,0.5\n1,-3\n", "first in line 3: -3. Logits? Pass --logits."),
        ("0,0.5\n2,0.5\n", "column 'label' must be binary labels, 0 or 1; 1 of 2 values is not, first in line 3: 2"),
        ("0.5,1\n0.2,0\n", "are column 'label' and column 'p' swapped?"),
        (
            "0,0.5\nx,0.5\n",
            "column 'label' must hold numbers or true/false; 1 of 2 rows does not, first in line 3: 'x'",
        ),
        ("no,0.5\nyes,0.5\n", "String labels ('no', 'yes') need --classes to say what they mean: first"),
        ("0,0.5\n1,inf\n", "column 'p' must be finite; 1 of 2 values is not, first in line 3: inf"),
        (
            "0\n",
            "must have 2 fields in every row, as in its first line; 1 of 1 rows does not, first in line 2: 1 field.",
        ),
        ("", "has columns but no rows"),
    ],
)
def test_bad_rows_are_told_with_how_many_and_the_first_line(tmp_path, content, told):
    file = tmp_path / "x.csv"
    file.write_text("label,p\n" + content)
    assert told in refused(file, *TINY)


@pytest.mark.parametrize(
    ("rows", "arguments", "told"),
    [
        (
            "1,0.5,0.5\n0,-0.5,1.5\n",
            [],
            "2 of 4 values do not, first in line 3, column 'p_0': -0.5. Logits? Pass --logits",
        ),
        ("1,0.5,0.5\n0,0.5,0.9\n", [], "must have rows that sum to 1; 1 of 2 values does not, first in line 3: 1.4."),
        ("1,0.5,0.5\n2,0.5,0.5\n", [], "labels from --classes [0, 1]; 1 of 2 values is not, first in line 3: 2"),
        ("1,0.5,0.5\n", ["--target", "event"], "For two classes pass --prob with the column of class 1"),
        ("1,0.5,0.5\n", ["--classes", "a,b,c"], "or 2 names for them"),
    ],
)
def test_a_matrix_is_told_with_its_columns(tmp_path, rows, arguments, told):
    file = tmp_path / "x.csv"
    file.write_text("label,p_0,p_1\n" + rows)
    assert told in refused(file, "--label", "label", "--prob-prefix", "p_", *arguments)


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
            "--binning must be one of ['equal-width', 'equal-mass', 'equal-effective-mass'], not 'equal'.",
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
def test_what_is_asked_wrongly(tiny, arguments, told):
    assert told in refused(tiny, *arguments)


@pytest.mark.parametrize("arguments", [["--oops"], ["--seed", "-1"], ["--draws", "x"]])
def test_options_that_do_not_exist_or_do_not_parse(tiny, arguments):
    done = run("report", tiny, *TINY, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert arguments[0].strip("-") in done.stderr


def test_files_that_are_none(tmp_path, tiny):
    assert "there is no file" in refused(tmp_path / "tony.csv", *TINY)
    assert "Did you mean 'tiny.csv'?" in refused(tmp_path / "tony.csv", *TINY)
    assert "is a folder" in refused(tmp_path, *TINY)
    (tmp_path / "empty").touch()
    assert "is empty" in refused(tmp_path / "empty", *TINY)
    (tmp_path / "x").write_bytes(bytes(range(256)))
    assert "binary file that is not Parquet" in refused(tmp_path / "x", *TINY)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (["--json", "nowhere/x.json"], "--json: there is no folder"),
        (["--json", "x.txt"], "--json writes .json files"),
        (["--plot", "x.jpeg"], "--plot writes .png or .pdf or .svg files"),
        (["--netcdf", "x.json"], "--netcdf writes .nc or .netcdf files"),
        (["--html", "x.pdf"], "--html writes .html or .htm files"),
        (["--html", "nowhere/x.html"], "--html: there is no folder"),
        (["--html", "folder.html"], "exists and is not a file"),
        (["--json", "folder.json"], "exists and is not a file"),
        (["--json", "tiny.json"], "--json would overwrite FILE"),
    ],
)
def test_outputs_are_refused_before_anything_is_read(tmp_path, output, told):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder.html").mkdir()
    file = tmp_path / "tiny.json"
    file.write_text("this is never looked at")
    before = sorted(tmp_path.iterdir())
    assert told in refused(file, *TINY, output[0], tmp_path / output[1])
    assert sorted(tmp_path.iterdir()) == before


def test_a_clipped_overshoot_is_a_note_with_its_line(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("label,p\n0,0.5\n1,1.0000001\n")
    done = report(file, *TINY)
    assert done.stderr.startswith("Note: column 'p': 1 of 2 values lie outside [0, 1]")
    assert "first in line 3" in done.stderr


# whole or not at all


def test_an_output_is_replaced_as_a_whole_and_links_are_followed(tiny):
    real, link = tiny.with_name("real.json"), tiny.with_name("link.json")
    real.write_text("old")
    link.symlink_to(real)
    report(tiny, *TINY, "--json", link)
    assert link.is_symlink()
    assert read_json(real)["schema"] == "bayescal.report/1"
    assert sorted(f.name for f in tiny.parent.iterdir()) == ["link.json", "real.json", "tiny.csv"]


def test_a_file_is_as_readable_as_any_other(tiny):
    report(tiny, *TINY, "--json", tiny.with_name("x.json"))
    assert tiny.with_name("x.json").stat().st_mode == tiny.stat().st_mode


def test_nothing_is_left_when_writing_fails(tiny, monkeypatch):
    def half(path, figure):
        path.write_bytes(b"\x89PNG half of a pic")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs, "save_figure", half)
    old = tiny.with_name("old.png")
    old.write_bytes(b"old")
    told = refused(tiny, *TINY, "--json", tiny.with_name("x.json"), "--plot", old)
    assert "No space left on device" in told
    assert old.read_bytes() == b"old"
    assert sorted(f.name for f in tiny.parent.iterdir()) == ["old.png", "tiny.csv"]  # nor the JSON without its picture


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("option", ["json", "html", "plot", "netcdf", "output"])
def test_a_full_disk_is_one_message_and_leaves_no_draft(tiny, option, monkeypatch):
    """No file may be longer than 400 bytes; HDF5 ends the process with a segmentation fault if it writes the file."""
    import resource

    def on_a_full_disk(*what, write=outputs._write):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, hard))
        try:
            write(*what)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    monkeypatch.setattr(outputs, "_write", on_a_full_disk)
    old = tiny.with_name(f"old{outputs.SUFFIXES[option][0]}")
    old.write_bytes(b"old")
    full = run("count" if option == "output" else "report", tiny, *TINY, f"--{option}", old)
    assert (full.exit_code, full.stdout) == (2, "")
    assert full.stderr == f"Error: --{option}: '{old}' cannot be written: File too large.\n"
    assert old.read_bytes() == b"old"
    assert sorted(f.name for f in tiny.parent.iterdir()) == [old.name, "tiny.csv"]


def test_a_link_into_a_folder_that_does_not_exist(tiny):
    link = tiny.with_name("link.json")
    link.symlink_to("nowhere/x.json")
    told = refused(tiny, *TINY, "--json", link)
    assert (
        f"--json: '{link}' is a symbolic link to 'nowhere/x.json', and the folder of that file does not exist" in told
    )


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")
@pytest.mark.parametrize("arguments", [["report", "tiny.csv", *TINY, "--json", "x.json"], ["--version"], ["--help"]])
def test_a_closed_output_is_an_error(tiny, arguments):
    """Python would print nothing and succeed; the file is written before anything is printed."""
    code = "import sys; from bayescal.app import main; sys.argv[0] = 'bayescal'; main()"
    line = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-c", code, *arguments]
    closed = subprocess.run(line, cwd=tiny.parent, capture_output=True, text=True, check=False)
    assert closed.returncode == 2, closed.stderr
    assert closed.stderr == "Error: nothing can be printed, since standard output is closed.\n"
    if "--json" in arguments:
        assert read_json(tiny.with_name("x.json"))["schema"] == "bayescal.report/1"


# writes half a picture over an old one, and is then stopped
STOPPED = """
import os, signal, sys, time
from bayescal.app import main
from bayescal.cli import outputs
def half(path, figure):
    path.write_bytes(b"half")
    os.kill(os.getpid(), signal.{signal})
    time.sleep(30)
outputs.save_figure = half
sys.argv = ["bayescal", "report", "tiny.csv", "--label", "label", "--prob", "p", "--json", "x.json", "--plot", "x.png"]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_stopped_process_leaves_no_half_file(tiny, name):
    old = tiny.with_name("x.png")
    old.write_bytes(b"old")
    stopped = in_processes(STOPPED.format(signal=name), tiny.parent)
    assert stopped.returncode in ({-signal.SIGKILL} if name == "SIGKILL" else {1, 130, -signal.SIGINT}), stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert old.read_bytes() == b"old"
    assert not tiny.with_name("x.json").exists()
    if name == "SIGINT":
        assert sorted(f.name for f in tiny.parent.iterdir()) == ["tiny.csv", "x.png"]


def test_the_installed_program(tiny):
    program = Path(sys.executable).with_name("bayescal")
    if not program.exists():
        pytest.skip("the tests run from a tree that is not installed")
    options = {"cwd": tiny.parent, "capture_output": True, "text": True, "timeout": 120}
    good = subprocess.run([program, "report", "tiny.csv", *TINY, "--json", "x.json"], **options)
    assert (good.returncode, good.stderr) == (0, "")
    assert "Saved x.json" in good.stdout
    bad = subprocess.run([program, "report", "tiny.csv", "--label", "lable", "--prob", "p"], **options)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert (
        bad.stderr == "Error: 'tiny.csv' has no column 'lable'. Did you mean 'label'? The columns are 'label', 'p'.\n"
    )


# demo


def test_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("demo", width=80)
    assert done.exit_code == 0, done.stderr
    digits = datasets.load_digits()
    for model in ("naive_bayes", "random_forest"):
        found = bayescal.evaluate(digits.y_true, digits.y_prob[model], rng=1)
        assert found.sheet().headline in " ".join(done.stdout.split())
        right = (digits.y_prob[model].argmax(axis=1) == digits.y_true).mean()
        assert f"right in {100 * right:.0f} %" in " ".join(done.stdout.split())
    assert f"Saved {tmp_path / 'bayescal-demo.png'}" in done.stdout.splitlines()
    assert [f.name for f in tmp_path.iterdir()] == ["bayescal-demo.png"]
    assert (tmp_path / "bayescal-demo.png").read_bytes().startswith(b"\x89PNG")
    assert "…" not in done.stdout


def test_demo_compares_the_two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("demo", width=80).stdout
    digits = datasets.load_digits()
    both = {"Naive Bayes": digits.y_prob["naive_bayes"], "Random forest": digits.y_prob["random_forest"]}
    comparison = bayescal.compare(digits.y_true, both, rng=1)
    assert comparison.sentence() in " ".join(shown.split())
    (row,) = comparison.table()
    line = next(line for line in shown.splitlines() if line.startswith(" Naive Bayes  ") and "0." in line)
    assert line.split()[2:5] == [f"{row[key]:.4f}" for key in ("mean", "low", "high")]


def test_what_demo_suggests_works(tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    shown = run("demo").stdout.splitlines()
    commands = [line.strip() for line in shown if "digits.parquet" in line]
    assert [shlex.split(command)[1] for command in commands] == ["report", "compare"]
    again = [run(*shlex.split(command)[1:]) for command in commands]
    assert [done.exit_code for done in again] == [0, 0]
    assert next(line for line in shown if line.startswith("The Expected ")) in again[0].stdout.splitlines()
    # the sentence, however it is broken into lines, and the row of the table
    verdict = next(i for i, line in enumerate(shown) if line.startswith("Naive Bayes is better calibrated"))
    assert set(shown[verdict : verdict + 7]) <= set(again[1].stdout.splitlines())
    code = [line.strip() for line in shown if line.startswith("    ") and ("bc." in line or "bayescal as bc" in line)]
    assert len(code) == 4
    wine = datasets.load_wine()
    given = {"y_true": wine.y_true, "y_prob": wine.y_prob["naive_bayes"], "y_prob_new": wine.y_prob["random_forest"]}
    exec("\n".join(code), given)


def test_plain_words_say_how_far_and_which_way():
    y, p = _cancer()
    near = bayescal.evaluate(y, p, rng=1)
    worse = bayescal.evaluate(y, np.full(len(y), 0.01), rng=1)
    said = in_plain_words({"One": near, "Two": worse})
    assert f"One: off by {near.ece.mean():.3f} on average" in said
    assert f"Two: off by {worse.ece.mean():.3f} on average, nearly always underconfident" in said  # 63 % are benign


def test_a_report_of_chosen_quantities(tiny, tmp_path):
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


def test_an_empty_prefix(tmp_path):
    """Columns that are named like the classes need no prefix; columns that begin alike do."""
    alike = tmp_path / "alike.csv"
    alike.write_text("y,p_cat,p_dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    assert "Did you mean the prefix 'p_'?" in refused(alike, "--label", "y", "--prob-prefix", "")
    named = tmp_path / "named.csv"
    named.write_text("y,cat,dog\ncat,0.7,0.3\ndog,0.2,0.8\n")
    assert "Expected Calibration Error" in report(named, "--label", "y", "--prob-prefix", "").stdout
