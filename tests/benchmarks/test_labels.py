"""Labels and matrices of probabilities, side by side (`make bench`).

Targets: the most probable class of (50 000, 1000) float32 in at most 3 reads of the matrix, of (1 000 000, 10) in at
most 6.
"""

import os

import numpy as np
import pytest
from ways import CLASSWISE, TOP_LABEL, TOP_LABEL_ECE

FEWER = 100 if "BAYESCAL_QUICK" in os.environ else 1
SHAPES = [(50_000 // FEWER, 1000, "f4"), (1_000_000 // FEWER, 10, "f4"), (1_000_000 // FEWER, 10, "f8")]


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def arrays(request):
    n_rows, classes, dtype = request.param
    rng = np.random.default_rng(1)
    matrix = rng.standard_exponential((n_rows, classes))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return {"label": rng.integers(0, classes, n_rows), "matrix": matrix.astype(dtype)}


def group(what, arrays):
    return f"{what} of {arrays['matrix'].shape} {arrays['matrix'].dtype}"


def by_name(way):
    return way.name


def test_read(benchmark, arrays, read):
    benchmark.group = group("top label", arrays)
    benchmark.pedantic(read, (arrays["matrix"],), rounds=20)


@pytest.mark.parametrize("way", TOP_LABEL, ids=by_name)
def test_top_label(benchmark, arrays, way, prepared):
    benchmark.group = group("top label", arrays)
    value = benchmark.pedantic(prepared(way, arrays, 15), rounds=5)
    assert value == (arrays["matrix"].argmax(axis=1) == arrays["label"]).mean()


@pytest.mark.parametrize("way", TOP_LABEL_ECE, ids=by_name)
def test_top_label_ece(benchmark, arrays, way, prepared):
    benchmark.group = group("ECE of the top label", arrays)
    benchmark.pedantic(prepared(way, arrays, 15), rounds=3)


@pytest.mark.parametrize("way", CLASSWISE, ids=by_name)
def test_classwise(benchmark, arrays, way, prepared):
    benchmark.group = group("every class", arrays)
    benchmark.pedantic(prepared(way, arrays, 15), rounds=2)
