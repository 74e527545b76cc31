"""``bayescal cumulative``: the numbers of the library, from rows, groups and counts."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.datasets.simulate import simulate

ROWS = simulate(600, population="flat", rng=1)
SITE = np.array(["north", "south", "west"])[np.arange(600) % 3]


@pytest.fixture
def file(tmp_path):
    frame = pd.DataFrame({"y": ROWS.outcome.astype(int), "p": ROWS.confidence, "site": SITE, "w": np.arange(1, 601)})
    frame["income"] = np.arange(600) + 0.5
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


def run(file, *arguments, columns=("--label", "y", "--prob", "p")):
    given = ["cumulative", str(file), *columns, *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})


def words(done):
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 601)])
def test_it_is_the_cumulative_difference_of_the_library(file, tmp_path, weights):
    out = tmp_path / "out.json"
    done = run(
        file,
        "--json",
        out,
        "--plot",
        tmp_path / "out.png",
        "--details",
        *([] if weights is None else ["--weights", "w"]),
    )
    assert done.exit_code == 0, done.output
    cd = bc.cumulative_difference(ROWS.outcome, ROWS.confidence, weights=weights)
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert saved["observed"]["table"] == cd.table()
    assert saved["parameters"]["label"] == "y"
    assert cd.sentence() in words(done)
    assert cd.spec in done.stdout
    assert (tmp_path / "out.png").stat().st_size > 10_000


def test_the_posterior_is_that_of_the_library(file, tmp_path):
    """Without options, it has the defaults of `posterior`, and the seed of the other commands."""
    cd = bc.cumulative_difference(ROWS.outcome, ROWS.confidence)
    out = tmp_path / "out.json"
    for given, posterior, limit in (
        ((), cd.posterior(rng=1), 0.02),
        (
            ("--draws", 500, "--seed", 7, "--model", "segments", "--below", 0.01),
            cd.posterior(500, rng=7, model="segments"),
            0.01,
        ),
    ):
        done = run(file, *given, "--json", out, "--html", tmp_path / "out.html", "--details")
        assert done.exit_code == 0, done.output
        assert posterior.sheet().headline in words(done)
        assert posterior.sentence().startswith(posterior.sheet().headline[:-1])
        assert f"P(Kuiper < {limit}) " in done.stdout
        saved = json.loads(out.read_text(encoding="utf-8"))
        assert saved["table"] == posterior.table()
        assert saved["sub_models"] == posterior.sub_models
        assert saved["probability_below"] == {
            "limit": limit,
            "kuiper": np.mean(posterior.kuiper.values < limit),
            "kolmogorov_smirnov": np.mean(posterior.kolmogorov_smirnov.values < limit),
        }
        parameters = saved["parameters"]
        again = cd.posterior(parameters["draws"], rng=parameters["seed"], model=parameters["model"])
        np.testing.assert_array_equal(again.kuiper.values, posterior.kuiper.values)
        page = (tmp_path / "out.html").read_text(encoding="utf-8")
        assert "Statistics of the population" in page
        assert "Statistics of the rows" in page
        assert f"P(Kuiper &lt; {limit})" in page


def test_words_of_the_library_are_those_of_the_command_line(file):
    assert "use --model segments for joint draws" in words(run(file, "--details"))


def test_all_groups(file, tmp_path):
    out = tmp_path / "out.json"
    done = run(file, "--by", "site", "--json", out, "--html", tmp_path / "out.html", "--details")
    assert done.exit_code == 0, done.output
    screen = bc.screen_subpopulations(ROWS.outcome, ROWS.confidence, pd.Series(SITE, name="site"))
    assert json.loads(out.read_text(encoding="utf-8"))["table"] == screen.table()
    assert screen.spec in done.stdout
    assert "; --value LABEL shows the scores at which a group differs" in " ".join(done.stdout.split())
    assert "north" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_one_group(file, tmp_path):
    done = run(file, "--by", "site", "--value", "north", "--plot", tmp_path / "out.svg")
    assert done.exit_code == 0, done.output
    sub = bc.screen_subpopulations(ROWS.outcome, ROWS.confidence, pd.Series(SITE, name="site"))["north"]
    assert sub.sentence() in words(done)
    assert "site = north and the full population" in done.stdout


def test_a_part_of_the_probabilities(file, tmp_path):
    out = tmp_path / "out.json"
    done = run(file, "--zoom", "0.2,0.6", "--json", out)
    assert done.exit_code == 0, done.output
    part = bc.cumulative_difference(ROWS.outcome, ROWS.confidence).zoom(0.2, 0.6)
    assert part.sentence() in words(done)
    saved = json.loads(out.read_text(encoding="utf-8"))
    assert saved["parameters"]["zoom"] == "0.2,0.6"
    curve = saved["observed"]["curve"]
    np.testing.assert_allclose(curve["curve"], part.curve)
    np.testing.assert_allclose(curve["share"], part.abscissae)
    assert curve["score"] == [None, *part.score.tolist()]
    for zoom, said in (("0.2", "--zoom must be two numbers"), ("0.6,0.2", "must not exceed")):
        refused = run(file, "--zoom", zoom)
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_counts(tmp_path):
    counts = bc.BinnedCounts.from_arrays(ROWS.outcome, ROWS.confidence, bins=200, target="event")
    bc.save_counts(counts, tmp_path / "fine.json")
    done = run(tmp_path / "fine.json", columns=())
    assert done.exit_code == 0, done.output
    cd = bc.CumulativeDifference.from_counts(counts)
    assert cd.sentence() in words(done)
    assert cd.posterior(rng=1).sheet().headline in words(done)
    refused = run(tmp_path / "fine.json", "--by", "site", columns=())
    assert refused.exit_code == 2
    assert "--by cannot be used with a file of counts" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--value", "north"), "--value names a group of --by COLUMN, which is missing"),
        (("--by", "site", "--plot", "out.png"), "with --by, name a group by --value"),
        (
            ("--by", "site", "--value", "east"),
            "column 'site' has no value 'east'; it has 'north', 'south', 'west' (3 values)",
        ),
        (("--by", "site", "--zoom", "0.2,0.6"), "--zoom shows a part of one curve: with --by, name a group"),
        (("--by", "place"), "place"),
        (("--by", "site", "--by", "w"), "--by takes one value and was given 2 times"),
        (("--by", "site", "--draws", 10, "--seed", 2), "--draws, --seed cannot be used with --by, whose results have"),
        (("--draws", 1), "--draws must be an integer >= 2"),
        (("--model", "dirichlet"), "--model must be one of"),
        (("--below", 2), "--below must lie strictly between 0 and 1, not 2.0. Percent? Divide by 100."),
        (("--by", "p"), "--by must name a column of groups; 'p' holds the probabilities"),
        (("--by", "income"), "numbers that are not integers"),
    ],
)
def test_invalid_options_are_refused(file, arguments, said):
    refused = run(file, *arguments)
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert said in refused.stderr


def test_groups_that_are_not_printed_are_in_the_document(tmp_path):
    frame = pd.DataFrame({"y": ROWS.outcome.astype(int), "p": ROWS.confidence, "ward": np.arange(600) % 30})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = run(tmp_path / "rows.csv", "--by", "ward", "--json", tmp_path / "out.json")
    assert "5 groups with larger P-values are not shown; --json saves all groups." in words(done)
    assert len(json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["table"]) == 30
