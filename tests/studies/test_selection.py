"""Special populations of selective prediction: points stand for the drawn rows, and resamples keep clusters whole."""

import numpy as np
import pytest
import selective
from studies.selection import LARGE, LARGE_ROWS, SPECIAL, SPECIAL_CELLS, path_of

ROWS = {name: n_rows for name, _, n_rows in SPECIAL_CELLS}
SHARES, SETS = np.array([0.1, 0.35, 0.5, 0.8, 1.0]), 200


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECIAL)
def test_points_represent_the_drawn_rows(name, close_to):
    """Weights of all rows and of wrong rows above the confidence of some shares, over many data sets."""
    n_rows = ROWS[name]
    draw, points = SPECIAL[name](("temperature", 1.5), n_rows, np.random.default_rng(1))
    kept, wrong = path_of(*points)
    at = np.searchsorted(kept, SHARES - 1e-9)
    first = -np.unique(-points[0])[at - 1]
    sums = []
    for _ in range(SETS):
        z, c, *more = draw()
        weights = more[0] if more and more[0] is not None else np.ones(n_rows)
        above = c >= first[:, None]
        sums.append([above @ weights, above @ (weights * (1 - z)), np.full(len(first), weights.sum())])
    of_kept, of_wrong, total = np.moveaxis(np.array(sums), 1, 0)
    for drawn, expected in ((of_kept, kept[at]), (of_wrong, wrong[at])):
        off = drawn - expected * total  # has the mean 0
        close_to(off.mean(axis=0), 0, off.std(axis=0) / np.sqrt(SETS) + 1e-6 * n_rows, name)


def test_truths_of_large_clusters_by_hand():
    """Of 920 rows, 720 have confidences above 0.9 and are right with 0.8; 200 are uniform and right with c."""
    _, points = SPECIAL["flat, 12 clusters of 60 at the top"](("calibrated", None), 920, np.random.default_rng(1))
    kept, wrong = path_of(*points)
    of_large, at_end = LARGE * LARGE_ROWS, (LARGE * LARGE_ROWS + 20) / 920
    assert np.interp(at_end, kept, wrong) == pytest.approx((0.2 * of_large + 0.05 * 20) / 920, rel=1e-4)
    assert wrong[-1] == pytest.approx((0.2 * of_large + 0.5 * 200) / 920, rel=1e-4)


def test_resamples_are_of_whole_clusters():
    """Three clusters with one confidence each, one of which is wrong: shares are multiples of a third."""
    z, c = np.repeat([1, 0, 1], 4), np.repeat([0.9, 0.8, 0.7], 4)
    drawn = selective.resamples(z, c, None, np.repeat([0, 1, 2], 4), np.random.default_rng(1))
    for values in (drawn.kept, drawn.wrong):
        np.testing.assert_allclose(3 * values, np.round(3 * values), atol=1e-9)
    assert set(np.round(3 * drawn.wrong[:, -1])) == {0, 1, 2, 3}


def test_resamples_have_weights(close_to):
    """The weight of the wrong row is half of the total; with one confidence, the AUGRC is half of the wrong share."""
    z, c, weights = np.array([1, 1, 0, 1] * 50), np.full(200, 0.5), np.array([1.0, 1.0, 3.0, 1.0] * 50)
    drawn = selective.resamples(z, c, weights, None, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.area(), drawn.wrong[:, -1] / 2)
    error = np.sqrt((weights**2).sum()) / 2 / weights.sum()
    close_to(drawn.wrong[:, -1].mean(), 0.5, error / np.sqrt(len(drawn.wrong)) + error**2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat, weight 20 at the top", "flat, clusters of 10", "top, bump up to share 0.05"])
def test_a_cell_of_each_kind_is_measured(name):
    """Two lines per cell, with coverage and width of seven quantities."""
    cell = selective.Cell("special", name, ("calibrated", None), 200)
    rows = selective.measured_cell((cell, 2, 100, np.random.default_rng(1)))
    assert all(set(selective.COLUMNS) == set(row) for row in rows)
    _, _, *lines = selective.by_cell(rows).splitlines()
    assert len(lines) == 2
    assert all(len(line.split(" | ")) == 4 + 7 for line in lines)
