"""The command line: the numbers are the library's, outputs are whole or absent, a refusal is one clear message."""

import gzip
import html
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayescal
from bayescal import datasets
from bayescal.analyses.one import DEFAULT_MODEL
from bayescal.cli.evaluation import named_estimands
from bayescal.report.figure import picture
from bayescal.results.wording import SMALL_ECE

CANCER = datasets.path("breast_cancer")
COLUMNS = ["--label", "label", "--prob", "naive_bayes"]
TINY = ["--label", "label", "--prob", "p"]


# what is shown


def test_what_is_printed_is_what_evaluate_finds(report):
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


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_is_cut_off_in_a_terminal(width, run):
    shown = run("report", CANCER, *COLUMNS, "--details", width=width).stdout
    if width >= 80:
        assert "…" not in shown
        assert "if calibrated" in shown
    assert bayescal.evaluate(*_cancer(), rng=1).spec in shown.splitlines()  # one line, to be copied


def _cancer():
    cancer = datasets.load_breast_cancer()
    return cancer.y_true, cancer.y_prob["naive_bayes"]


# JSON


def test_json_is_complete_and_valid(tmp_path, report, read_json):
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


def test_json_has_every_bin_and_null_where_a_bin_is_empty(tmp_path, report, read_json):
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


def test_the_same_bytes_for_the_same_input_and_seed(tmp_path, report):
    for name in ("a", "b"):
        report(CANCER, *COLUMNS, "--json", tmp_path / f"{name}.json")
    report(CANCER, *COLUMNS, "--json", tmp_path / "c.json", "--seed", "2")
    a, b, c = ((tmp_path / f"{name}.json").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_one_table_in_four_formats_gives_one_json(tmp_path, report):
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


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_pictures(tiny, suffix, magic, report):
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


@pytest.mark.slow
def test_the_page_is_that_of_the_library(tmp_path, report):
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


def test_the_page_of_counts_and_of_classes(tiny, tmp_path, run, report):
    counts, out = tmp_path / "counts.json", tmp_path / "x.html"
    assert run("count", tiny, *TINY, "-o", counts).exit_code == 0
    report(counts, "--html", out)
    assert '<th scope="row">file</th><td>counts.json</td>' in out.read_text(encoding="utf-8")
    columns = ("--label", "label", "--prob-prefix", "naive_bayes_", "--target", "classwise")
    report(datasets.path("wine"), *columns, "--html", out)
    assert "classwise Expected Calibration Error" in out.read_text(encoding="utf-8")


def test_the_page_repeats_the_notes(tmp_path, report):
    file, out = tmp_path / "x.csv", tmp_path / "x.html"
    file.write_text("label,<b>\n0,0.5\n1,1.0000001\n")
    done = report(file, "--label", "label", "--prob", "<b>", "--html", out)
    note = done.stderr.strip().removeprefix("Note: ")
    assert note.startswith("column '<b>': 1 of 2 values")
    assert f'<th scope="row">note</th><td>{html.escape(note).replace("&#x27;", "&#39;")}</td>' in out.read_text()


def test_a_classwise_picture_shows_its_posterior(tmp_path, report):
    out = tmp_path / "x.png"
    file = datasets.path("wine")
    report(file, "--label", "label", "--prob-prefix", "naive_bayes_", "--target", "classwise", "--plot", out)
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore")  # what other packages warn of while they are imported is theirs
def test_netcdf_is_read_by_arviz(tiny, report):
    import arviz as az

    out = tiny.with_suffix(".nc")
    report(tiny, *TINY, "--netcdf", out, "--draws", "100")
    tree = az.from_netcdf(out)
    label = [i % 2 for i in range(20)]
    found = bayescal.evaluate(label, [(i % 10) / 10 for i in range(20)], rng=1, draws=100)
    np.testing.assert_array_equal(np.sort(tree.posterior.ece.values.ravel()), np.sort(np.asarray(found.ece)))
    assert tree.attrs["spec"] == found.spec


# what is refused


def test_files_that_are_none(tmp_path, tiny, refused):
    assert "there is no file" in refused(tmp_path / "tony.csv", *TINY)
    assert "Did you mean 'tiny.csv'?" in refused(tmp_path / "tony.csv", *TINY)
    assert "is a folder" in refused(tmp_path, *TINY)
    (tmp_path / "empty").touch()
    assert "is empty" in refused(tmp_path / "empty", *TINY)
    (tmp_path / "x").write_bytes(bytes(range(256)))
    assert "binary file that is not Parquet" in refused(tmp_path / "x", *TINY)


# whole or not at all


# demo


def test_example_of_named_estimands():
    assert named_estimands(["ece,brier-score", "auc"]) == ["ece", "brier_score", "auc"]


@pytest.mark.parametrize("estimand", ["accuracy", "augrc"])
def test_quantities_of_predictions_have_a_remedy_that_works(tmp_path, run, refused, estimand):
    """An event has no accuracy; two columns of probabilities have that of their larger one."""
    cancer = datasets.load_breast_cancer()
    p = cancer.y_prob["naive_bayes"].astype(float)
    table = {"label": cancer.y_true.astype(int), "p": p, "both_0": 1 - p, "both_1": p}
    table["right"] = (p >= 0.5) == table["label"]
    pq.write_table(pa.table(table), tmp_path / "both.parquet")
    file, chosen = tmp_path / "both.parquet", ["--estimand", estimand, "--seed", "1"]
    text = refused(file, "--label", "label", "--prob", "p", *chosen)
    assert "pass --target confidence. For the more probable of two classes, name two columns, with 1 - p and " in text
    assert "p, by --prob-prefix." in text
    assert "`bayescal clinical --threshold` computes the net benefit" in text
    compared = run("compare", file, "--label", "label", "--prob", "p", "--prob", "both_0", *chosen)
    assert compared.exit_code == 2
    assert "by --prob-prefix." in compared.stderr
    shown = run("report", file, "--label", "label", "--prob-prefix", "both_", *chosen)
    assert shown.exit_code == 0
    expected = bayescal.evaluate(table["label"], np.column_stack([1 - p, p]), rng=1)
    if estimand == "accuracy":
        assert expected.plug_in_of(estimand) == pytest.approx(table["right"].mean())
        assert f" {table['right'].mean():.4f} " in shown.stdout
    else:  # rows of one bin are not ordered
        found = float(shown.stdout.split(" augrc ")[1].split()[4])
        error = float(shown.stdout.split("AUGRC is known to within ")[1].split(";")[0])
        assert 0.5 * error < found - expected.plug_in_of(estimand) < error
    confidence = run("report", file, "--label", "right", "--prob", "p", "--target", "confidence", *chosen)
    assert confidence.exit_code == 0


def test_other_quantities_of_groups_are_in_python(tmp_path, refused):
    pq.write_table(pa.table({"y": [0, 1, 1, 0], "p": [0.1, 0.9, 0.6, 0.4], "g": ["a", "a", "b", "b"]}), tmp_path / "g")
    options = ["--label", "y", "--prob", "p", "--by", "g", "--estimand", "auc"]
    assert "in Python, `result.table(estimand=...)` shows other quantities" in refused(tmp_path / "g", *options)
    rows = bayescal.evaluate([0, 1, 1, 0], [0.1, 0.9, 0.6, 0.4], by=list("aabb"), draws=50, rng=1)
    assert len(rows.table(estimand="auc")) == 2
