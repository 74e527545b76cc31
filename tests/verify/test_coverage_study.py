"""``bayescal verify``: the tables show the numbers of the study; a wrong name is refused before anything runs."""

import json
import re

import pytest
from typer.testing import CliRunner

from bayescal.app import app
from bayescal.verify.checks import cell_table
from bayescal.verify.coverage import CoverageStudy, coverage_study

SMALL = ["--sizes", "200", "--populations", "flat", "--methods", "dirichlet,percentile-bootstrap", "--draws", "100"]
SMALL += ["--curves", "calibrated,one-bad-bin:0.25", "--bins", "5", "--repeats", "8", "--seed", "3"]


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)], env={"COLUMNS": "100", "TERM": "dumb"})


@pytest.fixture(scope="module")
def study():
    return coverage_study(
        sizes=[200],
        populations=["flat"],
        methods=["dirichlet", "percentile bootstrap"],
        curves=["calibrated", ("one bad bin", 0.25)],
        bins=5,
        repeats=8,
        draws=100,
        rng=3,
    )


def test_the_tables_show_the_numbers_of_the_study(study):
    done = run("--coverage", *SMALL)
    assert done.exit_code == 0, done.output
    # *: three standard errors below 0.95 with 8 repeats is 0.95 - 3 sqrt(0.95 * 0.05 / 8) = 0.719
    for truth, methods in {
        row["truth"]: [r for r in study.rows if r["truth"] == row["truth"]] for row in study.rows
    }.items():
        shares = r"\s+".join(f"{r['coverage']:.2f}" + (r"\*" if r["coverage"] < 0.719 else "") for r in methods)
        assert re.search(rf"200\s+flat\s+[a-z 0-9.]+\s+{truth:.4f}\s+{shares}", done.stdout), done.stdout
    for found in study.overall():
        numbers = [f"{found['worst_coverage']:.2f}", f"{found['mean_coverage']:.3f}"]
        numbers += [f"{found['mean_rmse']:.4f}", f"{found['mean_width']:.4f}"]
        assert re.search(r"\s+".join(map(re.escape, [found["method"], *numbers])), done.stdout), done.stdout
    assert "standard error of a share near 0.95 is 0.077" in done.stdout


def test_the_estimand_is_that_of_the_option(tmp_path):
    file = tmp_path / "study.json"
    small = [word if word != "dirichlet,percentile-bootstrap" else "dirichlet,sun" for word in SMALL]
    done = run("--coverage", *small, "--estimand", "l2-error", "--json", file)
    assert done.exit_code == 0, done.output
    assert "contain the true l_2 error, 8 data sets per cell" in done.stdout
    saved = json.loads(file.read_text())
    assert saved["estimand"] == "l2_error"
    study = coverage_study(
        estimand="l2_error", sizes=[200], populations=["flat"], methods=["dirichlet", "sun"], bins=5, repeats=8,
        curves=["calibrated", ("one bad bin", 0.25)], draws=100, rng=3,
    )  # fmt: skip
    assert [row["coverage"] for row in saved["cells"]] == [row["coverage"] for row in study.rows]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--estimand", "l2_eror"], "Did you mean 'l2_error'"),
        (["--estimand", "brier_score"], "--estimand"),
        (["--methods", "sun"], "--methods"),
    ],
)
def test_estimands_and_methods_that_do_not_go_together_are_refused(given, said):
    done = run("--coverage", *given)
    assert done.exit_code == 2
    assert said in done.output


def test_only_shares_three_standard_errors_below_are_marked():
    """With 100 repeats 0.95 - 3 sqrt(0.95 * 0.05 / 100) = 0.8846."""
    cell = {"n_rows": 300, "population": "top", "curve": "calibrated", "truth": 0.0, "method": "m", "coverage": 0.0}
    for coverage, shown in [(0.95, "0.95 "), (0.89, "0.89 "), (0.88, "0.88*"), (1.0, "1.00 ")]:
        table = cell_table(CoverageStudy([{**cell, "coverage": coverage}], 0.95), repeats=100)
        assert list(table.columns[-1].cells) == [shown]


def test_the_bar_does_not_get_into_a_table_that_is_piped():
    done = run("--coverage", *SMALL)
    assert "cell by cell" in done.stderr
    assert "cell by cell" not in done.stdout


def test_the_json_holds_every_number_and_what_was_asked(study, tmp_path):
    out = tmp_path / "coverage.json"
    assert run("--coverage", *SMALL, "--json", out).exit_code == 0
    saved = json.loads(out.read_text())
    assert saved["cells"] == study.rows
    assert saved["overall"] == study.overall()
    assert saved["schema"] == "bayescal.coverage/1"
    assert saved["parameters"]["curves"] == "calibrated,one-bad-bin:0.25"
    first = out.read_bytes()
    run("--coverage", *SMALL, "--json", out)
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sizes", "300"], "--coverage"),
        (["--coverage", "--methods", "shrinkge"], "Did you mean 'shrinkage'?"),
        (["--coverage", "--populations", "flat,tpo"], "Did you mean 'top'?"),
        (["--coverage", "--curves", "temprature:1.1"], "Did you mean 'temperature'?"),
        (["--coverage", "--curves", "temperature:hot"], "--curves takes NAME or NAME:STRENGTH"),
        (["--coverage", "--curves", "temperature:-1"], "must be > 0"),
        (["--coverage", "--sizes", "300,many"], "--sizes must be whole numbers"),
        (["--coverage", "--sizes", "300,,2000"], "--sizes"),
        (["--coverage", "--sizes", "300,0"], "--sizes must be an integer >= 1"),
        (["--coverage", "--methods", "dirichlet,dirichlet"], "twice"),
        (["--coverage", "--bins", "some"], "--bins must be a whole number"),
        (["--coverage", "--json", "no.txt"], "--json writes .json files"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_computed(arguments, said, monkeypatch, tmp_path):
    def computed(*_, **__):
        raise AssertionError("a cell was run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayescal.verify.coverage.run_cell", computed)
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_anything_to_do_it_shows_its_help():
    done = run()
    assert done.exit_code == 2
    assert "--coverage" in done.output
