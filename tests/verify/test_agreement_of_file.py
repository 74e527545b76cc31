"""``bayescal verify FILE``: the table shows the comparison, the exit code says how it ended; MCMC once."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.verify import agreement_of_file as command
from bayescal.verify.agreement import Agreement, Reference


def run(*arguments):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)], env={"COLUMNS": "100", "TERM": "dumb"})


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(1)
    p = rng.random(60)
    rows = "\n".join(f"{int(y)},{q:.6f}" for y, q in zip(rng.random(60) < p, p, strict=True))
    path = tmp_path / "games.csv"
    path.write_text(f"won,probability\n{rows}\n")
    return path


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

        monkeypatch.setattr(command, "agreement", agreement)
        return asked

    return install


@pytest.mark.slow
def test_a_file_is_verified_with_mcmc(file, tmp_path):
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


def test_the_posterior_is_that_of_report(file, found):
    asked = found(0.5)
    options = ["--label", "won", "--prob", "probability", "--bins", "0,0.4,1", "--seed", 7, "--draws", 8000]
    assert run(file, *options).exit_code == 0
    rows = np.loadtxt(file, delimiter=",", skiprows=1)
    expected = bc.shrinkage_posterior(
        bc.BinnedCounts.from_arrays(rows[:, 0], rows[:, 1], bins=[0, 0.4, 1], target="event")
    )
    assert asked["posterior"].counts == expected.counts
    assert (asked["draws"], asked["rng"]) == (8000, 7)


def test_what_does_not_agree_ends_with_1_and_is_marked(file, found, tmp_path):
    found(-6.2)
    saved = tmp_path / "out.json"
    done = run(file, "--label", "won", "--prob", "probability", "--json", saved)
    assert done.exit_code == 1
    assert re.search(r"ece\s+0.0412\s+0.0400\s+-6.2 !", done.stdout)
    assert "They differ: more than 5 standard errors apart: ece (6.2)" in done.stdout
    document = json.loads(saved.read_text())
    assert (document["agrees"], document["schema"]) == (False, "bayescal.agreement/1")
    assert document["quantities"][1]["closed_sd"] is None


def test_small_numbers_keep_their_digits_and_probabilities_have_no_sd(file, found):
    found(0.5)
    done = run(file, "--label", "won", "--prob", "probability")
    assert re.search(r"P\(ece <= 0.03\)\s+0.1000\s+2.0e-05\s+1.0\s+1.002\s+4000", done.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seed", "2"], "give FILE or --coverage"),
        (["FILE", "--coverage"], "FILE and --coverage are two checks"),
        (
            ["FILE", "--sizes", "300", "--repeats", "5"],
            "--sizes, --repeats cannot be used with FILE, only with --coverage",
        ),
        (["--coverage", "--label", "won"], "--label cannot be used with --coverage, only with FILE"),
        (["FILE", "--label", "won"], "say where the probabilities are"),
        (["FILE", "--label", "won", "--prob", "probability", "--model", "dirichlett"], "Did you mean 'dirichlet'"),
        (["FILE", "--label", "won", "--prob", "probability", "--json", "a.txt"], "--json writes .json files"),
    ],
)
def test_what_makes_no_sense_is_refused(file, arguments, said):
    done = run(*[file if a == "FILE" else a for a in arguments])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_classes_are_verified_one_at_a_time(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text("pet,p0,p1,p2\n0,0.5,0.3,0.2\n2,0.1,0.3,0.6\n1,0.1,0.8,0.1\n")
    done = run(path, "--label", "pet", "--prob-prefix", "p", "--target", "classwise")
    assert done.exit_code == 2
    assert "Verify one class at a time" in " ".join(done.stderr.split())
