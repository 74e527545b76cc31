"""Files -> the clinical summary of the library, with parameters that give it again."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.cli.options import DrawsOptions
from bayescal.clinical.from_files import WORDS, _thresholds, clinical_of_files
from bayescal.clinical.options import ClinicalQuestionOptions, RiskColumnOptions
from bayescal.datasets.simulate import simulate

ROWS = simulate(120, population="flat", rng=2)
Y, P = ROWS.outcome.astype(int), ROWS.confidence


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "patients.csv"
    lines = [f"{y},{p!r},{p / 2!r}" for y, p in zip(Y.tolist(), P.tolist(), strict=True)]
    path.write_text("\n".join(["died,risk,half", *lines]))
    return path


def summarised(*files, question=None, **columns):
    asked = question or ClinicalQuestionOptions()
    return clinical_of_files(list(files), RiskColumnOptions(**columns), asked, DrawsOptions(draws=100))


def test_the_summary_and_its_parameters(file):
    question = ClinicalQuestionOptions(threshold=["0.3", "0.1,0.2"])
    done = summarised(file, question=question, label="died", prob=["All=risk", "half"])
    expected = bc.clinical.summary(Y, {"All": P, "half": P / 2}, [0.1, 0.2, 0.3], draws=100, rng=1)
    assert str(done.summary.table()) == str(expected.table())  # NaN differs from itself
    assert done.parameters["threshold"] == [0.1, 0.2, 0.3]
    assert [(each["name"], each["prob"]) for each in done.parameters["models"]] == [
        ("All", ["risk"]),
        ("half", ["half"]),
    ]
    assert (done.parameters["rows"], done.parameters["draws"], done.parameters["seed"]) == (120, 100, 1)
    assert set(done.contents()) == {"json", "html", "latex", "plot"}
    assert [sheet.spec for sheet in done.sheets(80)] == [expected.spec]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"label": "died"}, "--prob COLUMN, once per model"),
        ({"prob": ["risk"]}, "--label COLUMN"),
        ({"label": "died", "prob": ["risk"], "logits": True, "logprob": True}, "logprob"),
    ],
)
def test_columns_that_are_missing_or_contradict(file, columns, said):
    with pytest.raises(ValueError, match=said):
        summarised(file, **columns)


def test_thresholds_are_numbers(file):
    with pytest.raises(ValueError, match=r"must be numbers between 0 and 1, as in 0\.1,0\.2; not '0\.1;0\.2'"):
        summarised(file, question=ClinicalQuestionOptions(threshold=["0.1;0.2"]), label="died", prob=["risk"])


def test_words_that_are_replaced_are_those_of_the_library():
    texts = " ".join(bc.clinical.summary(Y, {"a": P, "b": np.sqrt(P)}, draws=50, rng=1).remarks)
    for words in WORDS:
        assert words in texts


def test_example_of_thresholds():
    assert _thresholds(["0.2", "0.05,0.1"]) == [0.05, 0.1, 0.2]


def test_groups_of_a_column(tmp_path):
    """Integers stay integers; the column of the risks is no group."""
    path = tmp_path / "patients.csv"
    lines = [f"{y},{p!r},{i % 3}" for i, (y, p) in enumerate(zip(Y.tolist(), P.tolist(), strict=True))]
    path.write_text("\n".join(["died,risk,site", *lines]))
    done = summarised(path, label="died", prob=["risk"], by="site")
    assert list(done.summary) == [0, 1, 2]
    assert done.summary.name == done.parameters["by"] == "site"
    assert done.sheets(80)[0].header[0] == "site"
    assert done.contents()["plot"]().axes
    with pytest.raises(ValueError, match=r"`by` must name a column of groups; 'risk' holds the probabilities"):
        summarised(path, label="died", prob=["risk"], by="risk")
