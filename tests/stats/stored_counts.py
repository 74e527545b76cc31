"""Counts of many kinds, and documents written by hand, for tests of files of counts."""

import copy
import math

import numpy as np

from bayescal import BinnedCounts, PairedCounts, equal_mass_edges


def rows(n=400, seed=1, dtype=np.float64):
    """Confidences with many on and beside edges, and outcomes."""
    rng = np.random.default_rng(seed)
    edges = (np.arange(21) / 20).astype(dtype)
    beside = np.nextafter(edges[1:], dtype(0)), np.nextafter(edges[:-1], dtype(1))
    c = np.concatenate([edges, *beside, rng.random(n).astype(dtype)])
    return rng.integers(0, 2, len(c)), c


def weights(n, scale=1.0):
    rng = np.random.default_rng(2)
    return scale * rng.exponential(size=n) * (rng.random(n) < 0.9)


def same_bits(one, other):
    """Equal numbers, equal signs of zero, equal edges with their kind."""
    assert one == other
    assert type(one) is type(other)
    if isinstance(one, PairedCounts):
        same_bits(one.first, other.first)
        same_bits(one.second, other.second)
        names = ("weight", "weight_sq")
        kinds = ("loss_difference", "log_loss_difference")
    else:
        assert one.bins.kind == other.bins.kind
        names = ("weight", "deviation", "deviation_sq", "weight_sq")
        kinds = ("losses", "log_losses")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    losses = [[getattr(of, kind) for of in (one, other)] for kind in kinds]
    pairs += [(getattr(a, name), getattr(b, name)) for a, b in losses for name in ("total", "squares", "infinite")]
    for a, b in pairs:
        np.testing.assert_array_equal(a.view(np.int64), b.view(np.int64))
        assert a.dtype == b.dtype
    assert one.cells.dtype == other.cells.dtype == np.int64


def several():
    z, c = rows()
    made = {
        "plain": BinnedCounts.from_arrays(z, c, bins=20),
        "event": BinnedCounts.from_arrays(z, c, bins=15, target="event"),
        "one bin": BinnedCounts.from_arrays(z, c, bins=1),
        "many bins": BinnedCounts.from_arrays(z, c, bins=3000),
        "custom": BinnedCounts.from_arrays(z, c, bins=[0, 0.1, 1 / 3, 1]),
        "equal mass": BinnedCounts.from_arrays(z, c, bins=7, binning="equal-mass"),
        "equal mass, given": BinnedCounts.from_arrays(z, c, bins=equal_mass_edges(c, 5)),
        "empty": BinnedCounts.empty(4, target="top-label"),
        "one row": BinnedCounts.from_arrays([1], [1.0], bins=4),
        "one value": BinnedCounts.from_arrays([0, 1] * 999, [0.1] * 1998, bins=10),
        "on midpoints": BinnedCounts.from_arrays([0, 1, 1], [0.25, 0.75, 0.75], bins=2),
        "coarse": BinnedCounts.from_arrays(z, c, bins=60).coarsen([0, 0.25, 0.5, 1]),
        "sum": sum(BinnedCounts.from_arrays(*rows(seed=s), bins=20) for s in range(5)),
    }
    # float16 calls an edge 0.1 that lies below it; squares about a new midpoint cancel to less than 0
    made["below its bin"] = BinnedCounts.from_arrays([1], np.array([0.1], np.float16), bins=10)
    made["negative by rounding"] = BinnedCounts.from_arrays([1] * 7, [0.5] * 7, bins=22).coarsen([0, 1])
    tiny = [1.0, *[1e-162] * 7]
    made["squares of few digits"] = BinnedCounts.from_arrays([1] * 8, [0.9, *[0.1] * 7], bins=2, weights=tiny)
    for dtype in (np.float16, np.float32):
        made[np.dtype(dtype).name] = BinnedCounts.from_arrays(*rows(dtype=dtype), bins=20)
    for scale in (1e-138, 1e-9, 1.0, 1e138):
        made[f"weights {scale}"] = BinnedCounts.from_arrays(z, c, bins=20, weights=weights(len(c), scale))
    uneven = np.geomspace(1e-300, 1, len(c))
    made["uneven weights"] = BinnedCounts.from_arrays(z, c, bins=20, weights=uneven)
    made["weights of 1"] = BinnedCounts.from_arrays(z, c, bins=20, weights=np.ones(len(c)))
    made["equal weights"] = BinnedCounts.from_arrays(z, c, bins=20, weights=np.full(len(c), 0.1))
    other_z, other = rows(seed=5)
    for name, w in (("pair", None), ("weighted pair", weights(len(c))), ("uneven pair", uneven)):
        made[name] = PairedCounts.from_arrays(z, c, other_z, other, bins=20, weights=w)
    made["sum of pairs"] = made["pair"] + PairedCounts.from_arrays(other_z, other, z, c, bins=20)
    made["empty pair"] = PairedCounts.empty(3, [0, 0.5, 1], target="event")
    return made


COUNTS = several()


#: Three rows in two bins, by hand: 0.125 - 0.25, 0.5 - 0.75, 1 - 0.75. Losses: 1/64, and 1/4 + 0.
L2, L4, L7 = math.log(2), math.log(4), -math.log(0.875)


BY_HAND = {
    "schema": "bayescal.counts/2",
    "kind": "binned",
    "target": "event",
    "bins": {"kind": "equal-width", "number": 2},
    "rows": 3,
    "cells": [[1, 0], [0, 2]],
    "deviation": [[-0.125, 0], [0, 0.0]],
    "deviation_sq": [0.015625, 0.125],
    "losses": {"total": [[0.015625, 0], [0, 0.25]], "squares": [[0.000244140625, 0], [0, 0.0625]]},
    "log_losses": {"total": [[L7, 0], [0, L2]], "squares": [[L7**2, 0], [0, L2**2]]},
}


#: The same rows with weights 1, 2, 3, and another model's 0.5, 0.25, 0.25 in three bins. Losses 1/64, 2/4 and 0; and
#: 1/4, 5 * 9/16. Differences of losses: -15/64, -5/16 and -9/16.
PAIR_BY_HAND = {
    "schema": "bayescal.counts/2",
    "kind": "paired",
    "target": "event",
    "first": {
        "bins": {"kind": "equal-width", "number": 2},
        "rows": 3,
        "cells": [[1, 0], [0, 2]],
        "deviation": [[-0.125, 0], [0, 0.25]],
        "deviation_sq": [0.015625, 0.3125],
        "losses": {"total": [[0.015625, 0], [0, 0.5]], "squares": [[0.000244140625, 0], [0, 0.125]]},
        "log_losses": {"total": [[L7, 0], [0, 2 * L2]], "squares": [[L7**2, 0], [0, 2 * L2**2]]},
        "weight": [[1, 0], [0, 5]],
        "weight_sq": [1, 13],
    },
    "second": {
        "bins": {"kind": "custom", "edges": [0, 0.375, 0.625, 1]},
        "rows": 3,
        "cells": [[0, 1, 0], [2, 0, 0]],
        "deviation": [[0, 0, 0], [0.3125, 0, 0]],
        "deviation_sq": [0.01953125, 0, 0],
        "losses": {"total": [[0, 0.25, 0], [2.8125, 0, 0]], "squares": [[0, 0.0625, 0], [1.58203125, 0, 0]]},
        "log_losses": {
            "total": [[0, L2, 0], [2 * L4 + 3 * L4, 0, 0]],
            "squares": [[0, L2**2, 0], [2 * L4**2 + 3 * L4**2, 0, 0]],
        },
        "weight": [[0, 1, 0], [5, 0, 0]],
        "weight_sq": [13, 1, 0],
    },
    "cells": [[0, 0, 1, 0], [1, 1, 0, 1]],
    "n": [1, 2],
    "loss_difference": {
        "total": -15 / 64 - 2 * 5 / 16 - 3 * 9 / 16,
        "squares": (15 / 64) ** 2 + 2 * (5 / 16) ** 2 + 3 * (9 / 16) ** 2,
    },
    "log_loss_difference": {
        "total": (L7 - L2) + 2 * (L2 - L4) + 3 * -L4,
        "squares": (L7 - L2) ** 2 + 2 * (L2 - L4) ** 2 + 3 * L4**2,
    },
    "weight": [1, 5],
    "weight_sq": [1, 13],
}


def without_log_losses(document):
    """The document without the sums for the log score."""
    kept = {name: value for name, value in document.items() if name not in ("log_losses", "log_loss_difference")}
    return {name: without_log_losses(value) if name in ("first", "second") else value for name, value in kept.items()}


def changed(document, path, value):
    made = copy.deepcopy(document)
    *parents, last = path
    place = made
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return made
