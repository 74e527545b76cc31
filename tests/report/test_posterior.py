"""The plot of the posterior of the ECE: what is drawn is what was computed."""

import dataclasses

import numpy as np
import pytest
from five_rows import rows, small
from matplotlib.figure import Figure
from scipy import stats

import bayescal as bc
from bayescal.draws import BinDraws
from bayescal.report.posterior import plot_posterior, posterior_shapes
from bayescal.report.reliability import plot_reliability


def with_gaps(gap: np.ndarray) -> bc.Evaluation:
    """An evaluation whose draws of the ECE are the given numbers."""
    evaluation = small()
    n = len(gap)
    mass = np.tile([1.0, 0.0], (n, 1))
    accuracy = np.column_stack([0.3 + gap, np.full(n, 0.5)])
    bins = BinDraws(mass, accuracy, np.array([[0.3, 0.5]]), np.array([True, True]), mass)
    return dataclasses.replace(evaluation, bin_draws=bins)


def test_shapes_hold_the_evaluations_numbers() -> None:
    evaluation = bc.evaluate(*rows("rare"), rng=1, model="dirichlet")
    shapes = posterior_shapes(evaluation, 0.8)
    assert shapes.plug_in == evaluation.plug_in
    assert shapes.null is not None
    for density, draws in ((shapes.posterior, evaluation.ece), (shapes.null, evaluation.null)):
        assert density.mean == draws.mean()
        assert (density.low, density.high) == draws.interval(0.8)
        assert len(density.stem_x) == 0
        assert np.trapezoid(density.height, density.x) == pytest.approx(1, abs=0.01)
        centre = np.trapezoid(density.x * density.height, density.x)
        assert centre == pytest.approx(draws.mean(), abs=0.1 * draws.sd())


def test_the_curve_does_not_leak_below_zero() -> None:
    # half-normal draws pile up at 0, where their density is 2 / (sqrt(2 pi) sigma); one that leaks shows half of it
    gap = 0.05 * np.abs(stats.norm.ppf((np.arange(4000) + 0.5) / 4000))
    density = posterior_shapes(with_gaps(gap)).posterior
    assert density.x.min() >= 0
    assert density.height[0] == pytest.approx(2 / np.sqrt(2 * np.pi) / 0.05, rel=0.1)


def test_exact_zeros_are_a_stem_with_their_probability(axes) -> None:
    gap = np.concatenate([np.zeros(1000), np.linspace(0.01, 0.05, 3000)])
    density = posterior_shapes(with_gaps(gap)).posterior
    np.testing.assert_array_equal(density.stem_x, [0])
    np.testing.assert_array_equal(density.stem_pr, [0.25])
    assert density.x.min() > 0.009
    ax = plot_posterior(with_gaps(gap), axes())
    assert "(25 % at 0)" in ax.get_yticklabels()[0].get_text()


def test_a_null_of_few_values_is_stems_only() -> None:
    # one bin, two rows at 0.5: the plug-in is |k / 2 - 1/2|, so 0 or 1/2, each with probability 1/2
    evaluation = bc.evaluate([0, 1], [0.5, 0.5], bins=1, rng=1)
    null = posterior_shapes(evaluation).null
    assert null is not None
    np.testing.assert_allclose(null.stem_x, [0, 0.5])
    # standard error of 4000 draws: 0.008
    np.testing.assert_allclose(null.stem_pr, [0.5, 0.5], atol=0.035)
    assert len(null.x) == 0


@pytest.mark.parametrize("gap", [np.zeros(10), np.full(10, 0.1), np.array([0.0, 0.1]), np.array([0.1, 0.2, 0.3])])
def test_a_handful_of_draws_is_drawn(gap: np.ndarray, axes) -> None:
    ax = plot_posterior(with_gaps(gap), axes())
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_xlim()).all()


def test_lines_stand_where_the_numbers_are(axes) -> None:
    evaluation = bc.evaluate(*rows("rare"), rng=1, model="dirichlet")
    ax = plot_posterior(evaluation, axes(), prob=0.8)
    drawn = [np.asarray(line.get_xdata(), float) for line in ax.lines]
    for expected in (
        [evaluation.plug_in] * 2,
        evaluation.ece.interval(0.8),
        evaluation.null.interval(0.8),
        [evaluation.ece.mean()],
        [evaluation.null.mean()],
    ):
        assert any(len(x) == len(expected) and np.allclose(x, expected) for x in drawn), expected
    left, right = ax.get_xlim()
    assert left < 0 < evaluation.ece.values.max() < right
    assert any(f"plug-in {evaluation.plug_in:.4f}" == t.get_text() for t in ax.texts)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["posterior", "if calibrated"]


@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_the_plug_in_is_named_within_the_axes(shift: float, axes, words) -> None:
    # all right at confidence 1 - shift: the plug-in is the shift, at the left end of the axis or at its right end
    ax = plot_posterior(bc.evaluate([1] * 400, [1 - shift] * 400, rng=1), axes())
    (box,) = [box for word, box in words(ax.figure) if word == f"plug-in {shift:.4f}"]
    assert ax.bbox.x0 - 1 <= box.x0 < box.x1 <= ax.bbox.x1 + 1


def test_without_rows_there_is_only_the_prior(axes) -> None:
    empty = bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1, model="dirichlet")
    ax = plot_posterior(empty, axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["prior"]
    assert [t.get_text() for t in plot_posterior(empty, Figure().subplots(), prior=True).get_yticklabels()] == ["prior"]
    assert not any("plug-in" in t.get_text() for t in ax.texts)


def test_classwise_has_a_posterior_and_no_diagram(axes) -> None:
    matrix = np.random.default_rng(1).dirichlet([1, 1, 1], 60)
    evaluation = bc.evaluate(["a", "b", "c"] * 20, matrix, target="classwise", classes=["a", "b", "c"], rng=1)
    ax = plot_posterior(evaluation, axes())
    assert ax.get_xlabel().startswith("classwise ECE")
    with pytest.raises(TypeError, match=r"one per class.*evaluation\['a'\]"):
        plot_reliability(evaluation)
    plot_reliability(evaluation["b"], axes())


def test_the_prior_is_drawn_below_the_posterior():
    ev = bc.evaluate([0, 1, 1, 1] * 50, [0.2, 0.4, 0.7, 0.9] * 50, bins=4, rng=1)
    shapes = posterior_shapes(ev, prior=True)
    assert (shapes.prior.mean, shapes.prior.low) == (ev.under_prior().ece.mean(), ev.under_prior().ece.interval()[0])
    assert posterior_shapes(ev).prior is None
    ax = bc.plot_posterior(ev, Figure().subplots(), prior=True, prior_color="green")
    names = [label.get_text().partition("\n")[0] for label in ax.get_yticklabels()]
    assert names == ["posterior", "prior", "if calibrated"]
    assert ax.get_yticklabels()[1].get_color() == "#008000ff"
    assert ax.get_xlim()[1] >= 1.06 * shapes.prior.high
    with pytest.raises(ValueError, match="`prior` must be one of"):
        bc.plot_posterior(ev, Figure().subplots(), prior="yes")
    classes = bc.evaluate([0, 1], [[0.6, 0.4], [0.3, 0.7]], target="classwise", draws=50, rng=1)
    with pytest.raises(TypeError, match="choose a class"):
        bc.plot_posterior(classes, Figure().subplots(), prior=True)
