"""Rows of four classes, one of which no row has, for tests of counts of all classes."""

import numpy as np
import pyarrow as pa

from bayescal.stats.classwise import ClasswiseCounts

CLASSES = ("ant", "bee", "cat", "dog")


N = 3000


COLUMNS = {label: f"p_{label}" for label in CLASSES}


def make_rows(n=N, seed=1):
    """Labels (no row is a dog), probabilities and weights."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.3, 1.0, 2.0, 0.2], n)
    y = np.array(CLASSES)[[rng.choice(3, p=row[:3] / row[:3].sum()) for row in p]]
    return y, p, rng.gamma(1.0, size=n)


Y, P, W = make_rows()


TABLE = pa.table({"label": Y, "w": W, **{f"p_{label}": P[:, k] for k, label in enumerate(CLASSES)}})


def count(part=slice(None), weighted=False, **options):
    return ClasswiseCounts.from_arrays(
        Y[part], P[part], classes=CLASSES, weights=W[part] if weighted else None, **options
    )


def assert_close(found, expected):
    """Integers equal, sums to rounding."""
    assert found.classes == expected.classes
    for one, other in zip(found.by_class, expected.by_class, strict=True):
        assert (one.bins, one.target) == (other.bins, other.target)
        np.testing.assert_array_equal(one.cells, other.cells)
        for name in ("weight", "weight_sq", "deviation", "deviation_sq"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(one.losses.total, other.losses.total, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(one.losses.squares, other.losses.squares, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.joint, expected.joint, rtol=1e-11, atol=1e-10)
