"""What the columns of a file hold, on the command line: log-probabilities, log-odds, rounded probabilities."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app

FAST = ("--draws", "50")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two columns of log-odds, and matrices of three classes: logarithms, two decimals, not normalised."""
    folder, rng = tmp_path_factory.mktemp("scales"), np.random.default_rng(0)
    odds = np.minimum(rng.normal(-1.5, 0.5, 300), -0.01)
    event = (rng.random(300) < 1 / (1 + np.exp(-odds))).astype(int)
    matrix = rng.dirichlet(np.ones(3), 300)
    label = (rng.random(300)[:, None] > matrix.cumsum(axis=1)[:, :-1]).sum(axis=1)
    of_matrix = {"log": np.log(matrix), "rounded": np.round(matrix, 2), "raw": 0.7 * matrix}
    written = {"odds": write(folder / "odds.csv", y=event, s=odds, t=odds - 0.1)}
    for name, values in of_matrix.items():
        columns = {f"p{k}": values[:, k] for k in range(3)}
        written[name] = write(folder / f"{name}.csv", y=label, **columns)
    return written, {"y": event, "s": odds, "label": label, **of_matrix}


def write(path, **columns):
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "300", "TERM": "dumb"})


@pytest.mark.parametrize("command", ["report", "count", "compare", "clinical", "cumulative"])
def test_every_command_names_both_readings_and_takes_both(files, tmp_path, command):
    written, _ = files
    prob = ["--prob", "s", *(["--prob", "t"] if command == "compare" else [])]
    more = ["--output", tmp_path / "counts.json"] if command == "count" else []
    call = [command, written["odds"], "--label", "y", *prob, *more]
    said = run(*call).stderr
    assert "300 of 300" in said
    assert "log-probabilities need --logprob, log-odds of a rare event need --logits" in said
    assert "exclude each other" in run(*call, "--logprob", "--logits").stderr
    for scale in ("--logprob", "--logits"):
        done = run(*call, scale)
        assert done.exit_code == 0, done.output


def test_the_numbers_are_those_of_exp_and_of_the_logistic_function(files, tmp_path):
    written, rows = files
    for scale, p in (("--logprob", np.exp(rows["s"])), ("--logits", 1 / (1 + np.exp(-rows["s"])))):
        output = tmp_path / f"{scale}.json"
        done = run("report", written["odds"], "--label", "y", "--prob", "s", scale, *FAST, "--json", output)
        assert ("log-probabilities need exp instead" in done.stdout) is (scale == "--logits")
        document = json.loads(output.read_text())
        assert document["spec"] == bc.evaluate(rows["y"], p, rng=1, draws=50).spec
        assert document["parameters"].get("logprob", False) is (scale == "--logprob")


@pytest.mark.parametrize("target", ["top-label", "classwise"])
def test_a_matrix_of_log_probabilities(files, target):
    written, _ = files
    call = ["report", written["log"], "--label", "y", "--prob-prefix", "p", "--target", target, *FAST]
    spec = [run(*call, scale).stdout.splitlines()[-1] for scale in ("--logprob", "--logits")]
    assert spec[0] == spec[1]  # softmax of log-softmax is exp


def test_rounded_probabilities_and_sums_that_are_no_rounding(files, tmp_path):
    written, rows = files
    matrix = rows["rounded"]
    off = int((np.abs(matrix.sum(axis=1) - 1) > 0.005).sum())
    said = f"{off} of 300 rows sum to 1 only up to rounding (largest deviation 0.01)"
    for target in ("top-label", "classwise"):
        done = run("report", written["rounded"], "--label", "y", "--prob-prefix", "p", "--target", target, *FAST)
        assert said in done.stdout
    counts = tmp_path / "counts.json"
    assert run("count", written["rounded"], "--label", "y", "--prob-prefix", "p", "--output", counts).exit_code == 0
    assert said in run("report", counts, *FAST).stdout
    refused = run("report", written["raw"], "--label", "y", "--prob-prefix", "p").stderr
    assert "300 of 300 values do not, first in line 2: 0.7. The largest deviation is 0.3." in refused
    assert "y_prob" not in refused
    assert "Drop --logits" in run("report", written["rounded"], "--label", "y", "--prob-prefix", "p", "--logits").stderr


def test_shift_reads_both_files_alike(files):
    written, _ = files
    columns = ("--label", "y", "--prob-prefix", "p", "--evidence", *FAST)
    logs = run("shift", written["log"], written["log"], *columns, "--logprob")
    assert logs.exit_code == 0, logs.output
    rounded = run("shift", written["rounded"], written["rounded"], *columns)
    assert rounded.exit_code == 0, rounded.output


def test_a_value_above_0_is_no_log_probability(files, tmp_path):
    rows = files[1]
    values = rows["s"].copy()
    values[[7, 9]] = 0.25
    path = write(tmp_path / "mixed.csv", y=rows["y"], s=values)
    said = run("report", path, "--label", "y", "--prob", "s", "--logprob").stderr
    assert "column 's' must hold logarithms of probabilities, which are at most 0; 2 of 300 values do not" in said
    assert "first in line 9: 0.25. Logits? Pass --logits in place of --logprob." in said


def test_probabilities_are_no_log_probabilities(files, tmp_path):
    rows = files[1]
    path = write(tmp_path / "p.csv", y=rows["y"], p=np.exp(rows["s"]))
    said = run("report", path, "--label", "y", "--prob", "p", "--logprob").stderr
    assert said.rstrip().endswith("Probabilities? Leave out --logprob.")


def test_outcomes_are_explained_by_their_column(files, tmp_path):
    rows = files[1]
    p, credit, ignored = np.exp(rows["s"]), np.array(rows["y"], float), np.array(rows["y"])
    credit[4], ignored[4] = 0.5, -100
    path = write(tmp_path / "outcomes.csv", p=p, credit=credit, ignored=ignored)
    said = run("report", path, "--label", "credit", "--prob", "p").stderr
    assert "write a column of 0 and 1, such as column 'credit' >= 0.5; probabilities are then those of this" in said
    assert "cumulative" not in said
    assert "y_true" not in said
    said = run("report", path, "--label", "ignored", "--prob", "p").stderr
    assert "Remove the rows of the file in which column 'ignored' is -100." in said
