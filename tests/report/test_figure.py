"""Whole figures: one row per evaluation, one scale for all posteriors, unknown to pyplot."""

import numpy as np
from matplotlib import pyplot as plt

import bayescal as bc
from bayescal.report.figure import groups_picture, picture

Y, P = [0, 1, 1, 1] * 10, [0.2, 0.4, 0.7, 0.9] * 10
OPTIONS = {"rng": 1, "draws": 100, "model": "dirichlet"}


def test_posteriors_of_a_figure_share_their_scale():
    narrow, wide = bc.evaluate(Y * 20, P * 20, **OPTIONS), bc.evaluate(Y[:4], P[:4], **OPTIONS)
    figure = picture({"many rows": narrow, "few rows": wide})
    assert [row.get_suptitle() for row in figure.subfigs] == ["many rows", "few rows"]
    posteriors = [row.axes[1] for row in figure.subfigs]
    assert posteriors[0].get_xlim() == posteriors[1].get_xlim()
    assert plt.get_fignums() == []


def test_all_classes_have_no_reliability_diagram():
    matrix = np.column_stack([1 - np.array(P), P])
    figure = picture({"": bc.evaluate(Y, matrix, target="classwise", **OPTIONS)})
    (row,) = figure.subfigs
    assert [label.get_text() for label in row.axes[0].get_yticklabels()] == ["posterior", "if calibrated"]
    assert row.get_suptitle() == ""


def test_a_figure_of_groups_has_a_row_per_group():
    grouped = bc.evaluate(Y, P, by=["north", "south"] * 20, **OPTIONS)
    (ax,) = groups_picture(grouped).axes
    names = [label.get_text().split("\n")[0] for label in ax.get_yticklabels()]
    assert {"north", "south"} <= {name.split(" ")[0] for name in names}
    assert plt.get_fignums() == []
