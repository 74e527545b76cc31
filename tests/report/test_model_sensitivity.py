"""The plot of several models and priors."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.report.sensitivity import model_forest


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    evaluation = bc.evaluate((rng.random(300) < p).astype(int), p, bins=5, draws=400, rng=1)
    return evaluation.sensitivity(priors={"dirichlet": {"flat": {"alpha": "uniform"}, "weak": {"alpha": 0.1}}})


def test_the_plot_shows_the_numbers_of_the_table(result):
    ax = bc.plot(result, Figure(figsize=(7, 4)).subplots(), prob=0.8)
    table = result.table(0.8)
    (dots,) = (c for c in ax.collections if c.get_gid() == "mean")
    np.testing.assert_allclose(dots.get_offsets()[:, 0], [row["mean"] for row in table])
    (bars,) = (c for c in ax.collections if c.get_gid() == "interval")
    np.testing.assert_allclose([s[:, 0] for s in bars.get_segments()], [[row["low"], row["high"]] for row in table])
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "shrinkage, default",
        "dirichlet, flat",
        "dirichlet, weak",
    ]
    (right,) = ax.child_axes
    written = [label.get_text() for label in right.get_yticklabels()]
    assert written[1] == f"{table[1]['elpd_difference']:.1f} ± {table[1]['se_difference']:.1f}"
    colours = {tuple(colour) for colour in dots.get_facecolors()}
    assert len(colours) == 2


def test_a_small_plot_has_no_differences(result):
    assert not bc.plot(result, Figure(figsize=(3, 1.3)).subplots()).child_axes


def test_a_signed_estimand_has_a_line_at_0(result):
    first = next(iter(result.evaluations.values()))
    ax = bc.plot(first.sensitivity(priors={}, estimand="signed_error"), Figure().subplots())
    assert [line for line in ax.lines if line.get_gid() == "zero"]


def test_the_record_has_the_rows_of_the_table(result):
    rows, models, differences = model_forest(result)
    assert models == ["shrinkage", "dirichlet", "dirichlet"]
    assert len(rows) == len(differences) == 3


def test_a_small_plot_names_every_prior_and_the_models_above(result):
    first = next(iter(result.evaluations.values()))
    ax = bc.plot(first.sensitivity(), Figure(figsize=(3, 2.5)).subplots())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [prior for _, prior in first.sensitivity()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["shrinkage", "dirichlet"]
    labels = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(labels))
