"""Chains of two classes: steps that keep their distribution, quadrature, and numbers of sweeps."""

import numpy as np
import pytest
from scipy import stats
from shifted_sides import posterior

import bayescal as bc
from bayescal.shift import two_classes
from bayescal.shift.two_classes import swept

# --- chains of two classes


OWN, NO_ROWS = np.array([[3.0, 1.0, 0.5], [0.5, 2.0, 4.0]]), np.zeros(3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [
        lambda weight, rng: two_classes._given_rates(weight, OWN, NO_ROWS, rng),
        lambda weight, rng: two_classes._along_frequency(weight, NO_ROWS, 0.5, rng),
        lambda weight, rng: two_classes._between_classes(weight, OWN[0], 0, 2.0, rng),
        lambda weight, rng: two_classes._between_classes(weight, OWN[1], 1, 5.0, rng),
    ],
    ids=["rates", "frequency", "first class", "second class"],
)
def test_each_step_keeps_the_distribution_without_rows_of_the_target(step):
    """The frequency is uniform and independent of the cells, which are Dirichlet."""
    rng = np.random.default_rng(8)
    cells = np.stack([rng.dirichlet(each, 40_000).T for each in OWN])
    one = rng.random(40_000)
    weight = cells * np.stack([1 - one, one])[:, None]
    for _ in range(20):
        weight = step(weight, rng)
    pi = weight.sum(axis=1)
    p_values = [stats.kstest(pi[1], "uniform").pvalue]
    for k in range(2):
        for j in range(3):
            of_cell = stats.beta(OWN[k, j], OWN[k].sum() - OWN[k, j])
            p_values.append(stats.kstest(weight[k, j] / pi[k], of_cell.cdf).pvalue)
    assert min(p_values) > 1e-5  # seven tests: false alarms below 1 in 10 000
    assert abs(np.corrcoef(pi[1], weight[1, 0] / pi[1])[0, 1]) < 5 / np.sqrt(40_000)
    assert np.mean(pi[1] != one) > 0.8


def test_steps_along_the_frequency_keep_its_density_given_the_cells():
    """Start with quantiles of the exact density, of two cells and 1000 rows of the target; the sd is kept to 1 %."""
    cells, target, n = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([600.0, 400.0]), 100_000
    grid = (np.arange(100_000) + 0.5) / 100_000
    height = target @ np.log((1 - grid) * cells[0][:, None] + grid * cells[1][:, None])
    density = np.exp(height - height.max())
    below = np.cumsum(density) / density.sum()
    one = np.interp((np.arange(n) + 0.5) / n, below, grid)
    weight = cells[:, :, None] * np.stack([1 - one, one])[:, None]
    rng = np.random.default_rng(3)
    for _ in range(40):
        weight = two_classes._along_frequency(weight, target, 2.4 * one.std(), rng)
    moved = weight[1].sum(axis=0)
    np.testing.assert_allclose(weight[0] / (1 - moved), np.tile(cells[0][:, None], n), rtol=1e-9)
    assert np.mean(moved != one) > 0.99
    assert moved.mean() == pytest.approx(one.mean(), abs=4.5 * one.std() / np.sqrt(n))
    assert moved.std() == pytest.approx(one.std(), rel=0.01)  # 4.5 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("target", [[12, 0, 9, 30], [0, 0, 1, 1]])
def test_sweeps_keep_the_distribution_of_frequencies_and_cells(target):
    """Start in the posterior: cells with the rows of one class only, a class of two rows, and no row in one cell."""
    source, target = np.array([[9, 3, 0, 4], [0, 1, 1, 0]]), np.array(target)
    own = source + 0.5
    pi, cells = augmented(own, target, 150, 20_000, np.random.default_rng(1))
    moved, changed = swept(pi, cells, own, target, 0.2, 10, np.random.default_rng(2))
    np.testing.assert_allclose(moved.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(changed.sum(axis=2), 1, rtol=1e-12)
    before = [pi[:, 1], *cells.reshape(-1, 8).T]
    after = [moved[:, 1], *changed.reshape(-1, 8).T]
    assert min(stats.ks_2samp(*pair).pvalue for pair in zip(before, after, strict=True)) > 1e-5  # 9 tests
    assert np.mean(moved != pi) > 0.9
    # dependence, too: the frequency is correlated with the cells of the other class
    for of in (before, after):
        assert stats.spearmanr(of[0], of[1]).statistic == pytest.approx(
            stats.spearmanr(before[0], before[1]).statistic, abs=5 / np.sqrt(20_000)
        )


@pytest.mark.parametrize(
    ("labelled", "expected", "worth", "sweeps"),
    [
        ([1000, 900], [900, 900], 0.5, 8),
        ([1000, 50], [950, 50], 0.5, 20),
        ([5, 1000], [5, 95], 0.5, 40),
        ([1000, 1000], [500, 500], 0.04, 25),
        ([9, 9], [5, 4], 0.0, 40),
        ([1000, 1000], [1800, 200 + 1e-9], 0.5, 8),
        ([1000, 1000], [3000, 1000], 0.5, 28),
        ([1000, 1000], [3000, 5000], 0.5, 48),
        ([1000, 100], [100, 500], 0.5, 38),
        ([1000, 1000], [3000, 1000], 0.1, 56),
        ([1000, 1000], [9000, 1000], 0.0001, 192),
        ([600_000, 600_000], [90, 10], 0.5, 48),
        ([600_000, 600_000], [90, 10], 0.05, 192),
    ],
)
def test_chains_of_two_classes_are_longer_if_they_move_slowly(labelled, expected, worth, sweeps):
    """1000 divided by the labelled rows of the rarer class, or 1 divided by what a row of the target is worth.

    A larger target needs 8 sweeps and 20 for each further row per labelled row, at most 48; this number is multiplied
    by 0.2 / worth, at most by 4. The ratio is that of all rows, or half of that of the class with the larger ratio.
    More than a million labelled rows need 48 sweeps, with the same factor.
    """
    assert two_classes.sweeps_for(np.array(labelled), np.array(expected), worth) == sweeps


def test_the_ratio_of_one_class_counts():
    """Half of the expected rows of class 1 per labelled row: 40 rows are expected to become about 300 of 400."""
    found = posterior([[900, 60], [4, 36]], [130, 270])
    pi = found._expected[0]
    assert pi[1] > 0.6
    by_hand = 8 + 20 * (400 * pi[1] / 40 / 2 - 1)
    assert found.sweeps == round(min(max(by_hand, 1000 / 40), 48))
    assert found.sweeps > 40


def test_a_rare_class_in_a_large_target_has_the_posterior_of_data_augmentation():
    """Mean and standard deviation of 800 chains of data augmentation with 16 000 sweeps each; 8 sweeps are 1 sd off."""
    found = posterior(
        [[173, 159, 138, 30, 0, 0], [0, 2, 29, 125, 178, 166]],
        [32893, 32567, 27031, 6367, 795, 347],
        bc.ShiftCells(np.array([[0.7, 0.9], [0.7, 0.9]])),
    )
    drawn = found.sample(8000, rng=1)[:, 1]
    assert drawn.mean() == pytest.approx(0.00965, abs=0.2 * 0.00181)
    assert drawn.std() == pytest.approx(0.00181, rel=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_a_frequency_that_rounds_to_one_leaves_finite_draws():
    """A billion rows of the target in a cell that nearly all belong to class 1; these seeds gave missing values."""
    for seed in (6, 9, 13):
        drawn = posterior([[0, 10], [2, 0]], [10**9, 0]).sample(2000, rng=seed)
        assert np.isfinite(drawn).all()


def augmented(own, target, sweeps, chains, rng):
    """Data augmentation: draw the classes of the target rows, the frequencies and the cells in turn."""
    cells = rng.standard_gamma(np.broadcast_to(own, (chains, *own.shape)))
    cells /= cells.sum(axis=2, keepdims=True)
    pi = rng.dirichlet([1, 1], chains)
    for _ in range(sweeps):
        one = pi[:, 1:] * cells[:, 1]
        ones = rng.binomial(target, one / (pi[:, :1] * cells[:, 0] + one))
        pi[:, 1] = rng.beta(1 + ones.sum(axis=1), 1 + (target - ones).sum(axis=1))
        pi[:, 0] = 1 - pi[:, 1]
        cells = rng.standard_gamma(own + np.stack([target - ones, ones], axis=1))
        cells /= cells.sum(axis=2, keepdims=True)
    return pi, cells


@pytest.mark.slow
def test_few_sweeps_suffice_with_many_target_rows_per_labelled_row():
    """Data augmentation takes 400 sweeps; after 10 its mean is 0.3 standard deviations away."""
    found = posterior(
        [[22, 32, 33, 8, 4, 1], [10, 0, 0, 26, 30, 34]],
        [415, 561, 483, 283, 150, 108],
        bc.ShiftCells(np.array([[0.7, 0.9], [0.7, 0.9]])),
    )
    drawn = found.sample(10_000, rng=1)[:, 1]
    own, target = found.counts.source + found.cell_alpha, found.counts.target
    reference = augmented(own, target, 400, 5000, np.random.default_rng(2))[0][:, 1]
    sd = reference.std()
    assert abs(drawn.mean() - reference.mean()) < 0.1 * sd  # the standard error of the difference is 0.017 sd
    assert drawn.std() == pytest.approx(sd, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([[40, 10], [15, 35]], [11_000, 9000]),
        # cells hardly separate the classes: without steps between the classes, draws are 5 standard deviations away
        ([[27_000, 23_000], [23_000, 27_000]], [11_500_000, 13_500_000]),
        ([[27_000, 23_000], [23_000, 27_000]], [13_450_000, 11_550_000]),
        # with steps between the classes of the same relative size as for few rows, the sd is 1.5 and 7 times as large
        ([[3_200_000, 800_000], [800_000, 3_200_000]], [794_000_000, 206_000_000]),
        ([[80_000_000, 20_000_000], [20_000_000, 80_000_000]], [150_860_000, 39_140_000]),
    ],
)
def test_frequencies_of_many_target_rows_are_those_of_quadrature(source, target):
    """Two cells: the posterior is an integral over the cells of both classes and the distribution of the target."""
    found = posterior(source, target)
    middle = (np.arange(400) + 0.5) / 400
    c0, c1 = (stats.beta(*row[::-1] + found.cell_alpha).ppf(middle) for row in found.counts.source)
    c0, c1 = c0[:, None, None], c1[None, :, None]
    q = stats.beta(target[1] + 1, target[0] + 1).ppf((np.arange(40) + 0.5) / 40)
    pi = (q - c0) / (c1 - c0)
    weight = np.where((pi > 0) & (pi < 1), 1 / np.abs(c1 - c0), 0.0)
    weight /= weight.sum()
    mean = (weight * pi).sum()
    sd = np.sqrt((weight * (pi - mean) ** 2).sum())
    drawn = found.sample(4000, rng=1)[:, 1]
    assert drawn.mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(4000))
    assert drawn.std() == pytest.approx(sd, rel=0.06)
    order = np.argsort(pi, axis=None)
    below = np.cumsum(weight.ravel()[order])
    for share in (0.025, 0.25, 0.75, 0.975):
        expected = pi.ravel()[order][np.searchsorted(below, share)]
        assert np.mean(drawn < expected) == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / 4000))
