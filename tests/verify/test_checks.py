"""The two checks of ``bayescal verify``: tables and documents show the numbers, wrong names are refused; MCMC once."""

import json
import re

import numpy as np
import pytest

import bayescal as bc
from bayescal.verify import checks
from bayescal.verify.chains import Agreement, Reference
from bayescal.verify.checks import cell_table
from bayescal.verify.coverage import CoverageStudy, coverage_study

SMALL = ["--sizes", "200", "--populations", "flat", "--methods", "dirichlet,percentile-bootstrap", "--draws", "100"]
SMALL += ["--curves", "calibrated,one-bad-bin:0.25", "--bins", "5", "--repeats", "8", "--seed", "3"]


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


def test_the_tables_show_the_numbers_of_the_study(study, run):
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


def test_the_estimand_is_that_of_the_option(tmp_path, file, run):
    file = tmp_path / "study.json"
    small = [word if word != "dirichlet,percentile-bootstrap" else "dirichlet,basic-bootstrap" for word in SMALL]
    done = run("--coverage", *small, "--estimand", "l2-error", "--json", file)
    assert done.exit_code == 0, done.output
    assert "contain the true l_2 error, 8 data sets per cell" in done.stdout
    saved = json.loads(file.read_text())
    assert saved["estimand"] == "l2_error"
    study = coverage_study(
        estimand="l2_error", sizes=[200], populations=["flat"], methods=["dirichlet", "basic bootstrap"], bins=5,
        curves=["calibrated", ("one bad bin", 0.25)], repeats=8, draws=100, rng=3,
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
def test_estimands_and_methods_that_do_not_go_together_are_refused(given, said, run):
    done = run("--coverage", *given)
    assert done.exit_code == 2
    assert said in done.output


def test_only_shares_three_standard_errors_below_are_marked():
    """With 100 repeats 0.95 - 3 sqrt(0.95 * 0.05 / 100) = 0.8846."""
    cell = {"n_rows": 300, "population": "top", "curve": "calibrated", "truth": 0.0, "method": "m", "coverage": 0.0}
    for coverage, shown in [(0.95, "0.95 "), (0.89, "0.89 "), (0.88, "0.88*"), (1.0, "1.00 ")]:
        table = cell_table(CoverageStudy([{**cell, "coverage": coverage}], 0.95), repeats=100)
        assert list(table.columns[-1].cells) == [shown]


def test_the_bar_does_not_get_into_a_table_that_is_piped(run):
    done = run("--coverage", *SMALL)
    assert "cell by cell" in done.stderr
    assert "cell by cell" not in done.stdout


def test_the_json_holds_every_number_and_what_was_asked(study, tmp_path, run):
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
def test_what_cannot_be_run_is_refused_before_anything_is_computed(arguments, said, monkeypatch, tmp_path, run):
    def computed(*_, **__):
        raise AssertionError("a cell was run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayescal.verify.coverage.run_cell", computed)
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def found(monkeypatch):
    """A comparison without MCMC; how it was asked for."""
    asked = {}

    def install(z):
        row = {"mean": 0.04, "mcse_mean": 0.001, "sd": 0.01, "mcse_sd": 0.001, "r_hat": 1.001, "ess": 5000.0}
        reference = Reference({"ece": row}, (), 10_000, 0, 0.95, 1, {"pymc": "6"})
        rows = [
            {"quantity": "ece", "closed": 0.0412, "pymc": 0.04, "se": 0.001, "z": z, "closed_sd": 0.011,
             "pymc_sd": 0.01, "z_sd": 1.0, "r_hat": 1.001, "ess": 5000.0},
            {"quantity": "P(ece <= 0.03)", "closed": 0.1, "pymc": 0.00002, "se": 0.1, "z": 1.0, "closed_sd": np.nan,
             "pymc_sd": np.nan, "z_sd": np.nan, "r_hat": 1.002, "ess": 4000.0},
        ]  # fmt: skip

        def agreement(posterior, **options):
            asked.update(options, posterior=posterior)
            return Agreement(rows, reference)

        monkeypatch.setattr(checks, "agreement", agreement)
        return asked

    return install


@pytest.mark.measuring
def test_a_file_is_verified_with_mcmc(file, tmp_path, run):
    """The whole way, three bins."""
    saved = tmp_path / "out.json"
    done = run(file, "--label", "won", "--prob", "probability", "--model", "dirichlet", "--bins", 3, "--json", saved)
    assert done.exit_code == 0, done.output
    document = json.loads(saved.read_text())
    assert document["agrees"] is True
    assert document["chains"]["draws"] >= 10_000
    assert document["verdict"] in done.stdout
    ece = next(row for row in document["quantities"] if row["quantity"] == "ece")
    assert re.search(rf"ece\s+{ece['closed']:.4f}\s+{ece['pymc']:.4f}\s+{ece['z']:.1f}", done.stdout)
    assert "draws/s" not in done.stdout  # the bar is on stderr


def test_the_posterior_is_that_of_report(file, found, run):
    asked = found(0.5)
    options = ["--label", "won", "--prob", "probability", "--bins", "0,0.4,1", "--seed", 7, "--draws", 8000]
    assert run(file, *options).exit_code == 0
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    expected = bc.shrinkage_posterior(
        bc.BinnedCounts.from_arrays(rows[:, 0], rows[:, 1], bins=[0, 0.4, 1], target="event")
    )
    assert asked["posterior"].counts == expected.counts
    assert (asked["draws"], asked["rng"]) == (8000, 7)


def test_what_does_not_agree_ends_with_1_and_is_marked(file, found, tmp_path, run):
    found(-6.2)
    saved = tmp_path / "out.json"
    done = run(file, "--label", "won", "--prob", "probability", "--json", saved)
    assert done.exit_code == 1
    assert re.search(r"ece\s+0.0412\s+0.0400\s+-6.2 !", done.stdout)
    assert "They differ: 5 standard errors or more apart: ece (6.2)" in done.stdout
    document = json.loads(saved.read_text())
    assert (document["agrees"], document["schema"]) == (False, "bayescal.agreement/1")
    assert document["quantities"][1]["closed_sd"] is None


def test_small_numbers_keep_their_digits_and_probabilities_have_no_sd(file, found, run):
    found(0.5)
    done = run(file, "--label", "won", "--prob", "probability")
    assert re.search(r"P\(ece <= 0.03\)\s+0.1000\s+2.0e-05\s+1.0\s+1.002\s+4000", done.stdout)


def test_classes_are_verified_one_at_a_time(tmp_path, run):
    path = tmp_path / "pets.csv"
    path.write_text("pet,p0,p1,p2\n0,0.5,0.3,0.2\n2,0.1,0.3,0.6\n1,0.1,0.8,0.1\n")
    done = run(path, "--label", "pet", "--prob-prefix", "p", "--target", "classwise")
    assert done.exit_code == 2
    assert "Verify one class at a time" in " ".join(done.stderr.split())
