"""Counts in cells of logits as documents."""

import json

import numpy as np
import pytest

from bayescal import BinnedCounts, LogitCounts, load_counts, logit_bins, save_counts
from bayescal.stats.stored import counts_document, counts_from_document


@pytest.fixture(scope="module")
def rows():
    """Probabilities from 1e-15 to 1 - 1e-12, and some at exactly 0 and 1 that agree with their outcome."""
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.beta(0.3, 2, 4000), 1 - rng.beta(0.3, 2, 1000), 10.0 ** -rng.uniform(3, 15, 200)])
    y = rng.random(len(p)) < p
    return np.concatenate([y, [0, 0, 1]]).astype(int), np.concatenate([p, [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("weighted", [False, True])
def test_stored_counts_are_equal_bit_for_bit(rows, tmp_path, weighted):
    y, p = rows
    w = np.random.default_rng(3).exponential(size=len(p)) if weighted else None
    counts = LogitCounts.from_arrays(y, p, weights=w)
    path = save_counts(counts, tmp_path / "logits.json")
    assert load_counts(path) == counts
    empty = LogitCounts.empty(0.5)
    assert load_counts(save_counts(empty, tmp_path / "empty.json")) == empty
    binned = BinnedCounts.from_arrays(y, p, bins=logit_bins())
    assert load_counts(save_counts(binned, tmp_path / "binned.json")) == binned


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 5.0}, r"`step` must give widths in \[0.001, 1\]"),
        ({"cell": [3, 2]}, "`cell` must hold increasing numbers"),
        ({"cell": [3, 10**6]}, "from 0 to 1482"),
        ({"cells": [[1, 0], [0, -1]]}, "`cells` must hold integers"),
        ({"deviation": [[0.5, 0.0], [0.0, 0.0]]}, "`deviation` must lie within its bin"),
        ({"rows": 3}, "`rows` must be what the cells add up to, 2"),
        ({"surprise": 1}, "entries 'surprise'|unknown"),
    ],
)
def test_documents_that_are_no_sums_over_rows_are_refused(change, message):
    document = json.loads(json.dumps(counts_document(LogitCounts.from_arrays([0, 1], [0.2, 0.9]))))
    assert len(document["cell"]) == 2
    assert counts_from_document(document) == LogitCounts.from_arrays([0, 1], [0.2, 0.9])
    with pytest.raises(ValueError, match=message):
        counts_from_document({**document, **change})
