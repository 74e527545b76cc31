"""Counts of checked and other rows satisfy the protocol of counts."""

import numpy as np
import pytest
from judged_sets import problem_counts

from bayescal.stats.contract import HasSpread, require_counts

COUNTS, _ = problem_counts([4, 0], [3, 0], [7, 9], [6, 4], np.array([0.3, 0.8]))


def test_they_are_counts():
    require_counts(COUNTS)
    assert isinstance(COUNTS, HasSpread)
    assert COUNTS.n_rows == 20
    assert COUNTS.effective_rows == 20
    assert not COUNTS.weighted
    assert COUNTS.rows_by_outcome.tolist() == [[1, 0], [3, 0]]
    np.testing.assert_array_equal(COUNTS.accuracy, [0.75, np.nan])
    np.testing.assert_allclose(COUNTS.confidence, [0.3, 0.8])
    assert "20 rows, 4 of them checked" in repr(COUNTS)


def test_they_cannot_be_added():
    assert COUNTS + 0 is COUNTS
    with pytest.raises(TypeError, match="cannot be added; evaluate the rows together"):
        COUNTS + COUNTS
