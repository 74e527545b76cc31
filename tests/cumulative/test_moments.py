"""Moments of ranges of rows, in rational numbers, for weights and values of very different sizes."""

from fractions import Fraction

import numpy as np
import pytest

from bayescal.cumulative import moments
from bayescal.cumulative.moments import LocalMoments, Moments, moments_of_ranges, split_moments


def by_definition(weight, value):
    """Sum w, sum w^2, mean, sum w (x - mean)^2 and sum over pairs of different rows of w w'."""
    w, x = [Fraction(each) for each in weight.tolist()], [Fraction(each) for each in value.tolist()]
    total = sum(w)
    mean = sum(a * b for a, b in zip(w, x, strict=True)) / total
    squares = sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True))
    return [float(each) for each in (total, sum(a * a for a in w), mean, squares, total**2 - sum(a * a for a in w))]


def rows(seed=1, n=37):
    rng = np.random.default_rng(seed)
    return rng.lognormal(sigma=12, size=n), rng.normal(size=n)


def test_every_range_has_its_moments():
    weight, value = rows()
    begin, end = np.triu_indices(len(weight))
    found = moments_of_ranges(Moments.of_rows(weight, value), begin, end + 1)
    for i, (first, last) in enumerate(zip(begin, end, strict=True)):
        expected = by_definition(weight[first : last + 1], value[first : last + 1])
        for name, number in zip(vars(found), expected, strict=True):
            # means have the error of the values
            assert getattr(found, name)[i] == pytest.approx(number, rel=1e-11, abs=1e-14 if name == "mean" else 0)


def test_empty_ranges_are_zero():
    found = moments_of_ranges(Moments.of_rows(*rows()), np.array([3, 0]), np.array([3, 0]))
    assert all((values == 0).all() for values in vars(found).values())


@pytest.mark.slow
@pytest.mark.parametrize("extended", [True, False])
@pytest.mark.parametrize("sigma", [0, 3, 12])
def test_members_and_others_of_cells(monkeypatch, extended, sigma):
    """Also on machines whose long floats are those of 64 bits."""
    if not extended:
        monkeypatch.setattr(moments.np, "longdouble", np.float64)
    rng = np.random.default_rng(2)
    weight, value = rng.lognormal(sigma=sigma, size=400), rng.normal(size=400)
    edges = np.sort(rng.integers(0, 400, (200, 4)), axis=1)
    low, begin, end, high = edges[(edges[:, 0] < edges[:, 1]) & (edges[:, 1] < edges[:, 2])].T
    constant = np.zeros(len(low), dtype=bool)
    members, others = split_moments(Moments.of_rows(weight, value), (low, begin, end, high), constant)
    cell = members + others
    for i, (a, b, c, d) in enumerate(zip(low, begin, end, high, strict=True)):
        other = np.r_[a:b, c:d]
        for found, part in ((members, np.arange(b, c)), (others, other), (cell, np.arange(a, d))):
            total, total_sq, mean, squares, pairs = by_definition(weight[part], value[part])
            assert found.weight[i] == pytest.approx(total, rel=1e-11)
            assert found.weight_sq[i] == pytest.approx(total_sq, rel=1e-11)
            assert found.mean[i] == pytest.approx(mean, rel=1e-9, abs=1e-11)
        assert cell.squares[i] == pytest.approx(squares, rel=1e-10)
        assert cell.pairs[i] == pytest.approx(pairs, rel=1e-10)


def test_example_of_localmoments_around():
    """Outcomes with the probability 0.1 have the variance 0.09 and the skewness (1 - 0.2) / 0.3 = 2.67."""
    moments = LocalMoments.of_rows(np.arange(2000.0), (np.arange(2000) % 10 == 0) * 1.0)
    second, third = moments.around(np.array([500]), np.array([501]))
    assert (third / second**1.5).round(1).tolist() == [2.7]
