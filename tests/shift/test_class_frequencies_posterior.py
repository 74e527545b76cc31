"""Class frequencies from cells and from probabilities: exact cases, quadrature, identification, threads."""

import numpy as np
import pytest
from scipy import stats
from shifted_sides import posterior

import bayescal as bc
from bayescal.shift.class_frequencies_posterior import most_probable, truncated_normal


def test_classes_that_cells_show_have_a_beta_posterior():
    """With a million labelled rows on the diagonal the classes of target rows are known: Beta(1 + 30, 1 + 10)."""
    drawn = posterior([[10**6, 0], [0, 10**6]], [10, 30]).sample(4000, rng=1)[:, 1]
    assert stats.kstest(drawn, stats.beta(31, 11).cdf).pvalue > 1e-4


def test_known_cells_agree_with_quadrature():
    """Cells are known from 10^7 rows; the posterior of one frequency is integrated on a grid."""
    cells, target = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([40, 60])
    drawn = posterior((cells * 10**7).astype(int), target).sample(4000, rng=2)[:, 1]
    grid = (np.arange(20_000) + 0.5) / 20_000
    height = target @ np.log((1 - grid) * cells[0][:, None] + grid * cells[1][:, None])
    distribution = np.cumsum(np.exp(height - height.max()))
    cdf = np.interp(drawn, grid, distribution / distribution[-1])
    assert stats.kstest(cdf, "uniform").pvalue > 1e-4


def test_worth_of_a_row():
    """For two classes: (c_1 - c_0)^2 pi (1 - pi) / (q (1 - q)), 1 if cells show the class and 0 if they do not."""
    assert posterior([[10**9, 0], [0, 10**9]], [50, 50]).worth == pytest.approx([1, 1], abs=1e-3)
    assert posterior([[500, 500], [500, 500]], [50, 50]).worth == pytest.approx([0, 0], abs=1e-3)
    one = posterior([[70_000, 30_000], [20_000, 80_000]], [450, 550])
    pi = one._expected[0][1]
    q = 0.3 * (1 - pi) + 0.8 * pi
    assert one.worth == pytest.approx(np.full(2, 0.25 * pi * (1 - pi) / (q * (1 - q))), rel=1e-3)


def test_classes_that_cells_do_not_tell_apart_have_wide_intervals():
    drawn = posterior([[50, 50], [50, 50]], [30, 30]).sample(2000, rng=3)[:, 1]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert low < 0.1
    assert high > 0.9


def test_draws_do_not_depend_on_threads(monkeypatch):
    one = posterior(
        np.full((10, 10), 3) + 50 * np.eye(10, dtype=int), np.full(10, 20), bc.ShiftCells.predicted_class(10)
    )
    first = one.sample(700, rng=4)
    monkeypatch.setenv("BAYESCAL_THREADS", "2")
    np.testing.assert_array_equal(first, one.sample(700, rng=4))
    assert first.shape == (700, 10)
    np.testing.assert_allclose(first.sum(axis=1), 1)


def test_expectation_maximisation_reaches_the_maximum():
    """The gradient of the log posterior along the simplex is 0; a step of EM adds alpha rows to each class."""
    cells, target = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]), np.array([20, 30, 25])
    pi = most_probable(cells, target, alpha=1.0, steps=5000)
    mixed = pi @ cells
    gradient = cells @ (target / mixed) + 1 / pi
    assert gradient[0] == pytest.approx(gradient[1], rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "ratio", "words"),
    [(1000, 10, ""), (3000, 30, ""), (10_000, 100, "the target has 100 times as many rows")],
)
def test_chains_of_several_classes_are_longer_if_the_target_is_larger(rows, ratio, words):
    """100 labelled rows, and a target whose cells keep their shares; chains of two classes are not slow.

    Four correlation lengths 1 + m / n, and 600 sweeps if they may not be enough.
    """
    source = 10 * np.eye(3, dtype=int) + np.array([[20, 1, 1], [1, 20, 1], [1, 1, 24]])
    assert source.sum() == 100
    cells = bc.ShiftCells.predicted_class(3)
    three = posterior(source, np.array([50, 30, 20]) * rows // 100, cells)
    assert three.sweeps == (600 if words else 4 * (1 + ratio))
    assert three.slow.startswith(words) if words else three.slow == ""
    assert posterior(source, np.array([50, 30, 20]), cells).sweeps == 4
    assert posterior([[40, 10], [10, 40]], [rows, 0]).slow == ""


def test_classes_with_few_labelled_rows_need_more_sweeps():
    source = np.array([[4, 0, 0], [0, 500, 0], [0, 0, 500]])
    few = posterior(source, np.array([4000, 100, 100]), bc.ShiftCells.predicted_class(3))
    assert few.sweeps == few.most_sweeps
    assert "per labelled row of a class" in few.slow


def test_frequencies_of_several_classes_have_their_prior_if_cells_say_nothing():
    """Known and equal cells: the posterior is the uniform prior, and each of three frequencies is Beta(1, 2)."""
    alike = posterior(np.full((3, 3), 10**7), [100, 100, 100], bc.ShiftCells.predicted_class(3))
    drawn = alike.sample(4000, rng=5)
    assert alike.slow == ""
    for k in range(3):
        assert stats.kstest(drawn[:, k], stats.beta(1, 2).cdf).pvalue > 1e-4


@pytest.mark.parametrize("target", [[40, 60, 20], [90, 5, 2]])
def test_frequencies_of_three_classes_agree_with_quadrature(target):
    """Cells are known from 10^7 rows; the posterior is integrated on a grid, also with its mode at the boundary."""
    cells = np.array([[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]])
    known = posterior((cells * 10**7).astype(int), target, bc.ShiftCells.predicted_class(3))
    drawn = known.sample(4000, rng=6)
    # frequencies 1 - u, u (1 - v) and u v, whose uniform density is proportional to u
    grid = (np.arange(1000) + 0.5) / 1000
    u, v = np.meshgrid(grid, grid, indexing="ij")
    height = np.log(np.stack([1 - u, u * (1 - v), u * v], axis=-1) @ cells) @ np.array(target) + np.log(u)
    density = np.exp(height - height.max())
    of_u, of_v = 1 - drawn[:, 0], drawn[:, 2] / (drawn[:, 1] + drawn[:, 2])
    for values, marginal in ((of_u, density.sum(axis=1)), (of_v, density.sum(axis=0))):
        cdf = np.interp(values, np.append(0, grid + grid[0]), np.append(0, np.cumsum(marginal) / marginal.sum()))
        assert stats.kstest(cdf, "uniform").pvalue > 1e-4


@pytest.mark.parametrize(
    ("mean", "low", "high"), [(0.0, -1.0, 2.0), (-4.0, 0.0, 1.0), (3.0, -5.0, -1.0), (0.3, 0.2, 9.0)]
)
def test_truncated_normals_are_those_of_scipy(mean, low, high):
    uniform, sd = np.linspace(0.01, 0.99, 9), np.full(9, 1.5)
    known = stats.truncnorm((low - mean) / 1.5, (high - mean) / 1.5, mean, 1.5)
    ends = np.full(9, low), np.full(9, high)
    at, log_density = truncated_normal(np.full(9, mean), sd, *ends, uniform)
    np.testing.assert_allclose(np.sort(known.cdf(at)), uniform, rtol=1e-6)
    constant = 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_density - constant, known.logpdf(at), rtol=1e-6)
    np.testing.assert_allclose(truncated_normal(np.full(9, mean), sd, *ends, at=at)[1], log_density)
