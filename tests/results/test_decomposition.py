"""Scores as sums of their parts, as they print."""

import re

import pytest

from bayescal.results.scores import CorpDecomposition, MurphyDecomposition

MURPHY = MurphyDecomposition(
    score=0.211,
    score_name="Brier score",
    question="Brier score by bins",
    reliability=0.01,
    resolution=0.05,
    uncertainty=0.25,
    within_bin_variance=0.002,
    within_bin_covariance=0.001,
)
CORP = CorpDecomposition(
    score=0.21,
    score_name="Brier score",
    question="Brier score by isotonic regression",
    miscalibration=0.01,
    discrimination=0.05,
    uncertainty=0.25,
)


@pytest.mark.parametrize("result", [MURPHY, CORP], ids=["murphy", "corp"])
def test_the_sentence_adds_up(result):
    """The signs of the sentence are those of the definition: 0.01 - 0.05 + 0.25, and 0.002 - 0.001 within bins."""
    total, terms = result.sentence().removesuffix(".").split(" is ")[1].split(" = ")
    numbers = re.findall(r"(^|[+-]) ?[a-z -]*?(\d\.\d+)", terms)
    assert sum(float(number) * (-1 if sign == "-" else 1) for sign, number in numbers) == pytest.approx(float(total))
    assert float(total) == pytest.approx(result.score)


def test_the_table_ends_with_the_score():
    rows = MURPHY.sheet().rows
    assert [row[0] for row in rows] == [
        "reliability",
        "resolution",
        "uncertainty",
        "within-bin variance",
        "within-bin covariance",
        "Brier score",
    ]
    assert [row[1] for row in rows] == ["+", "-", "+", "+", "-", "="]
    assert [float(row[2]) for row in rows] == [0.01, 0.05, 0.25, 0.002, 0.001, 0.211]


def test_parts_are_the_index_of_a_frame():
    frame = CORP.to_frame()
    assert list(frame.index) == ["miscalibration", "discrimination", "uncertainty", "Brier score"]
    assert frame.loc["discrimination", "value"] == 0.05
