"""What pages show: tables, numbers of rows and pictures of each kind of result."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.report.page_content import content, content_of

Y, P = [0, 1, 1, 1] * 10, [0.2, 0.4, 0.7, 0.9] * 10
OPTIONS = {"rng": 1, "draws": 50, "model": "dirichlet"}


def test_an_evaluation_has_errors_scores_and_bins():
    made = content(bc.evaluate(Y, P, weights=[1, 1, 3, 3] * 10, bins=2, **OPTIONS))
    assert [table.title for table in made.tables] == ["Calibration errors", "Discrimination and scores", "Bins"]
    # the effective number of rows by Kish is the square of 80 over 200
    assert made.rows == {"rows": 40, "effective rows": "32"}
    assert len(made.pictures) == 2


def test_groups_have_pictures_of_all_rows():
    made = content(bc.evaluate(Y, P, by=["north", "south"] * 20, bins=2, **OPTIONS))
    assert [table.title for table in made.tables] == ["Groups", "Bins"]
    assert [each.caption for each in made.pictures[1:]] == [
        "Reliability diagram: all rows",
        "Posterior of the ECE: all rows",
    ]


def test_classifiers_with_other_rows_state_the_rows_of_each():
    short = bc.evaluate(Y[:20], P[:20], bins=2, **OPTIONS)
    made = content_of(bc.compare_independent({"a": bc.evaluate(Y, P, bins=2, **OPTIONS), "b": short}, rng=1), "ece")
    assert made.rows == {"rows of a": 40, "rows of b": 20}
    assert [table.title for table in made.tables] == ["Differences", "Classifiers"]


def test_many_classes_have_no_forest():
    matrix = np.random.default_rng(1).dirichlet(np.ones(60), 120)
    many = bc.evaluate(np.arange(120) % 60, matrix, target="classwise", bins=2, **OPTIONS)
    few = bc.evaluate(np.arange(120) % 3, matrix[:, :3] / matrix[:, :3].sum(axis=1, keepdims=True), target="classwise",
                      bins=2, **OPTIONS)  # fmt: skip
    assert (len(content(many).pictures), len(content(few).pictures)) == (1, 2)


def test_something_else_has_no_page():
    with pytest.raises(TypeError, match="`result` must be a result of this package, as an Evaluation, not int"):
        content(3)
