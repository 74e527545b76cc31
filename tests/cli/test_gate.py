"""Requirements: exit code 1 and one sentence if the draws of the library have too small a probability."""

import numpy as np
import polars as pl
import pytest

import bayescal as bc
from bayescal.cli.command import Result
from bayescal.cli.gate import Required

N, DRAWS = 600, ("--draws", 400)
ROW = ("--label", "y", "--prob", "p", *DRAWS)
PAIR = ("--label", "y", "--prob", "Old=p", "--prob", "New=q", *DRAWS)
SITES = ("north", "south", "west")


@pytest.fixture(scope="module")
def frame():
    """Calibrated p, and q stated too high; at the site south, p is stated too high, too."""
    rng = np.random.default_rng(3)
    risk, site = rng.random(N), np.arange(N) % 3
    p = np.where(site == 1, risk**0.5, risk)
    y = (rng.random(N) < risk).astype(int)
    return pl.DataFrame({"y": y, "p": p, "q": np.minimum(1, 1.5 * p), "site": np.take(SITES, site)})


@pytest.fixture(scope="module")
def file(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("gate") / "rows.csv"
    frame.write_csv(path)
    return path


def evaluated(frame, **options):
    return bc.evaluate(frame["y"].to_numpy(), frame["p"].to_numpy(), draws=400, rng=1, **options)


@pytest.mark.parametrize(
    ("option", "limit", "estimand", "words", "side"),
    [
        ("below", 0.08, "ece", "P(ECE < 0.08)", lambda draws: draws < 0.08),
        ("below", 0.03, "signed-error", "P(|signed error| < 0.03)", lambda draws: abs(draws) < 0.03),
        ("above", 0.8, "auc", "P(AUC > 0.8)", lambda draws: draws > 0.8),
    ],
)
def test_the_probability_is_that_of_the_draws_and_decides(run, file, option, limit, estimand, words, side):
    counts = bc.count_file(file, label="y", prob="p")  # without the order of the rows, which the AUC would use
    evaluation = bc.evaluate_counts(counts, draws=400, rng=1)
    probability = side(evaluation.draws(estimand.replace("-", "_")).values).mean()
    assert 0.02 < probability < 0.98
    ask = ("report", file, *ROW, "--estimand", estimand, f"--require-{option}", limit, "--assurance")
    met, unmet = run(*ask, probability), run(*ask, probability + 0.001)
    assert met.exit_code == 0
    assert met.stderr == ""
    assert f"Met: {words} must be at least {probability:g}; it is {probability:g}.\n" in met.stdout
    assert unmet.exit_code == 1
    assert unmet.stderr.startswith(f"Not met: {words} must be at least {probability + 0.001:g}; it is ")
    assert unmet.stderr.count("\n") == 1


def test_files_are_written_if_a_requirement_is_not_met(run, file, frame, tmp_path, read_json):
    outputs = ["--json", tmp_path / "x.json", "--html", tmp_path / "x.html", "--netcdf", tmp_path / "x.nc"]
    unmet = run("report", file, *ROW, "--require-below", 0.001, *outputs)
    assert (unmet.exit_code, unmet.stdout.count("Saved ")) == (1, 3)
    written = read_json(tmp_path / "x.json")
    ece = evaluated(frame).ece
    probability = (ece.values < 0.001).mean()
    assert written["requirement"] == {
        "statement": "P(ECE < 0.001)",
        "assurance": 0.9,
        "met": False,
        "probabilities": [{"label": "", "probability": probability}],
    }
    assert written["table"] == evaluated(frame).to_dict()["table"]
    assert (
        "requirement"
        not in (run("report", file, *ROW, "--json", tmp_path / "y.json"), read_json(tmp_path / "y.json"))[1]
    )


def test_each_group_must_meet_the_requirement_and_the_first_that_does_not_is_named(run, file, frame, tmp_path):
    groups = evaluated(frame, by=frame["site"].to_list())
    probabilities = {site: (groups[site].ece.values < 0.15).mean() for site in SITES}
    assert probabilities["south"] < 0.9 < min(probabilities["north"], probabilities["west"])
    said = "P(ECE < 0.15) must be at least 0.9 for each of 3 groups; 1 of 3 has a smaller probability, first 'south' "
    unmet = run("report", file, *ROW, "--by", "site", "--require-below", 0.15)
    assert (unmet.exit_code, unmet.stderr) == (1, f"Not met: {said}with {probabilities['south']:.3g}.\n")
    met = run("report", file, *ROW, "--by", "site", "--require-below", 0.9)
    assert met.exit_code == 0
    assert "Met: P(ECE < 0.9) must be at least 0.9 for each of 3 groups; the smallest is 1, for 'north'." in met.stdout
    for site in SITES[:2]:
        frame.filter(pl.col("site") == site).write_csv(tmp_path / f"{site}.csv")
    files = run("report", *(tmp_path / f"{site}.csv" for site in SITES[:2]), *ROW, "--require-below", 0.15)
    assert files.exit_code == 1
    assert "for each of 2 groups; 1 of 2 has a smaller probability, first 'south'" in files.stderr


def test_a_file_that_is_named_twice_is_refused(run, file):
    """Its rows would count twice."""
    for again in (file, file.parent / "." / file.name):
        refused = run("report", file, again, *ROW, "--require-below", 0.9)
        assert refused.exit_code == 2
        assert "is named 2 times" in " ".join(refused.stderr.split())


def test_groups_and_classes_may_require_another_quantity_than_that_of_their_table(run, file, frame, tmp_path):
    asked = ("--estimand", "brier_score", "--require-below", 0.999)
    assert run("report", file, *ROW, "--by", "site", *asked).exit_code == 0
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet([1, 1, 1], 200)
    columns = {f"c{k}": matrix[:, k] for k in range(3)}
    pl.DataFrame({"y": rng.integers(0, 3, 200), **columns}).write_csv(tmp_path / "classes.csv")
    classes = (
        "report",
        tmp_path / "classes.csv",
        "--label",
        "y",
        "--prob-prefix",
        "c",
        "--target",
        "classwise",
        *DRAWS,
    )
    unmet = run(*classes, "--require-below", 0.01)
    assert unmet.exit_code == 1
    assert "for each of 3 classes; 3 of 3 have a smaller probability, first '0' with " in unmet.stderr


def test_no_worse_compares_each_later_classifier_with_the_first(run, file, frame):
    probs = {"Old": frame["p"].to_numpy(), "New": frame["q"].to_numpy()}
    comparison = bc.compare(frame["y"].to_numpy(), probs, draws=400, rng=1)
    worse = comparison.difference("New", "Old").values  # positive: the new ECE is larger
    rope = float(np.quantile(worse, 0.7).round(3))
    probability = (worse <= rope).mean()
    ask = ("compare", file, *PAIR, "--require-no-worse", rope, "--assurance")
    met, unmet = run(*ask, probability), run(*ask, probability + 0.001)
    assert (met.exit_code, unmet.exit_code) == (0, 1)
    assert f"Met: P(ECE of New <= ECE of Old + {rope:g}) must be at least {probability:g}; it is " in met.stdout
    assert unmet.stderr.startswith(f"Not met: P(ECE of New <= ECE of Old + {rope:g}) must be at least ")
    better = run("compare", file, "--label", "y", "--prob", "q", "--prob", "p", *DRAWS, "--require-no-worse", 0)
    assert better.exit_code == 0


def test_no_worse_of_larger_values_and_over_data_sets(run, file, frame):
    larger = run("compare", file, *PAIR, "--estimand", "auc", "--require-no-worse", 0.2)
    assert larger.exit_code == 0
    assert "P(AUC of New >= AUC of Old - 0.2)" in larger.stdout
    probs = {"Old": frame["p"].to_numpy(), "New": frame["q"].to_numpy()}
    over = bc.compare(frame["y"].to_numpy(), probs, draws=400, rng=1, by=frame["site"].to_list())
    mean = (over.difference("New", "Old").values <= 0.05).mean()
    asked = run("compare", file, *PAIR, "--by", "site", "--require-no-worse", 0.05, "--assurance", 0.999)
    assert asked.exit_code == int(mean < 0.999)
    assert f"P(mean ECE of New <= mean ECE of Old + 0.05) must be at least 0.999; it is {mean:.3g}." in asked.output


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("report", ["--assurance", "0.9"], "--assurance needs --require-below or --require-above: the statement"),
        ("report", ["--require-below", "0.05", "--assurance", "1"], "--assurance must lie strictly between 0 and 1"),
        ("report", ["--require-below", "0.05", "--assurance", "0"], "--assurance must lie strictly between 0 and 1"),
        ("report", ["--require-below", "5"], "--require-below must lie strictly between 0 and 1 for 'ece', not 5.0."),
        ("report", ["--require-below", "nan"], "--require-below must be a finite number, not nan."),
        ("report", ["--require-below", "5%"], "'5%' is not a number. Write 0.05."),
        ("report", ["--require-above", "0.05"], "smaller values are better: use --require-below."),
        ("report", ["--require-below", "0.8", "--estimand", "auc"], "larger values are better: use --require-above."),
        ("report", ["--require-below", "0.1", "--require-above", "0.2"], "cannot be used together"),
        ("report", ["--require-below", "0.1", "--estimand", "ece,auc"], "is about one quantity; --estimand names 2."),
        ("compare", ["--assurance", "0.9"], "--assurance needs --require-no-worse: the statement"),
        ("compare", ["--require-no-worse", "-0.1"], "--require-no-worse must be >= 0, the largest difference"),
        ("compare", ["--require-no-worse", "inf"], "--require-no-worse must be a finite number, not inf."),
        ("compare", ["--require-no-worse", "0.1", "--assurance", "90"], "not 90.0. Percent? Divide by 100."),
    ],
)
def test_requirements_that_make_no_sense_are_refused(run, file, command, arguments, said):
    refused = run(command, file, *(ROW if command == "report" else PAIR), *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in " ".join(refused.stderr.replace("│", " ").split())


class Nothing(Result):
    """A result without contents."""

    def contents(self):
        return {}


def test_a_probability_just_below_is_not_shown_as_the_assurance():
    just = Required(Nothing(), "P(ECE < 0.05)", 0.9, {"": 0.89999}, "")
    assert just.sentence == "P(ECE < 0.05) must be at least 0.9; it is 0.89999."
    assert just.exit_code == 1
