"""Counts between thresholds as documents: stored bit for bit, and refused if no rows have them."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.decisions.counts import ThresholdCounts
from bayescal.stats.stored import counts_document, counts_from_document

T = np.array([0.1, 0.25, 0.5, 0.8])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", ["a", "abc"])
def test_counts_are_stored_bit_for_bit(names, weighted, tmp_path, scores):
    y, p, w = scores()
    counts = ThresholdCounts.from_arrays(y, {k: p[k] for k in names}, T, weights=w if weighted else None)
    loaded = bc.load_counts(bc.save_counts(counts, tmp_path / "counts.json"))
    assert loaded == counts
    assert isinstance(loaded, ThresholdCounts)
    assert sum([loaded, counts]).n_rows == 1000
    empty = ThresholdCounts.empty(T, ["a", "b"])
    assert bc.load_counts(bc.save_counts(empty, tmp_path / "empty.json")) == empty
    one, other = (bc.net_benefit_counts(each, rng=1).spec for each in (counts, loaded))
    assert one == other


DOCUMENT = counts_document(
    ThresholdCounts.from_arrays([0, 1, 1, 0], {"a": [0.2, 0.7, 0.9, 0.1], "b": [0.6, 0.4, 0.8, 0.9]}, [0.5, 0.75])
)

WEIGHTED = DOCUMENT | {"weight": [1.0, 1.0, 2.0, 0.5], "weight_sq": [2.0, 4.25]}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"thresholds": [0.75, 0.5]}, "`thresholds` must be strictly increasing"),
        ({"thresholds": [0.5, 1.0]}, r"`thresholds` must lie in \[0, 1\)"),
        ({"thresholds": 0.5}, "`thresholds` must be an array"),
        ({"models": ["a", "a"]}, "models must have different names"),
        ({"models": ["a", 3]}, "models must have names that are strings"),
        ({"models": ["a"]}, "`cells` must be an array of integers"),
        ({"n": [1, 1, 0, 1]}, "`n` must be >= 1"),
        ({"n": [1, 1, 1.5, 1]}, "`n` must hold integers"),
        ({"cells": [[0, 1, 0], [0, 3, 0], [1, 0, 1], [2, 2, 1]]}, r"`cells` must be .* each below \[3, 3, 2\]"),
        ({"cells": [[0, 1, 0], [0, 1, 0], [1, 0, 1], [2, 2, 1]]}, "`cells` must be in ascending order, each once"),
        ({"weight": [1.0, 1.0, 1.0, 1.0]}, "`weight` stands alone"),
        ({**WEIGHTED, "weight": [1.0, -1.0, 2.0, 0.5]}, "`weight` must be >= 0"),
        ({**WEIGHTED, "weight_sq": [2.0, 4.1]}, "`weight_sq` must fit `weight`"),
        ({**WEIGHTED, "weight_sq": [4.1, 4.25]}, "`weight_sq` must fit `weight`"),
        ({"more": 1}, "more"),
    ],
)
def test_impossible_documents_are_refused(change, rule):
    assert counts_from_document(WEIGHTED).weighted
    with pytest.raises(ValueError, match=rule):
        counts_from_document(DOCUMENT | change)
