"""Counts of all classes as plain data: joint sums that no rows could have left are refused."""

import re

import numpy as np
import pytest
from class_rows import count

from bayescal.stats.classwise import ClasswiseCounts
from bayescal.stats.stored import counts_document, counts_from_document


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("joint", lambda joint: [[2 * x for x in row] for row in joint], "`joint` must fit `losses`"),
        ("joint", lambda joint: joint[:-1], "`joint` must be null or an array of 8 rows"),
        ("joint", lambda joint: [[-x for x in row] for row in joint], "`joint` must be >= 0"),
        ("joint", lambda joint: [*joint[:-1], [99.0, *joint[-1][1:]]], "`joint` must be covariances"),
        ("classes", lambda classes: classes[:-1], "`by_class` must be an array of the sums of all 3 classes"),
        ("classes", lambda classes: [classes[0], *classes[:-1]], "`classes` must name each label once"),
        ("classes", lambda classes: [None, *classes[1:]], "`classes` must be an array of labels"),
        ("by_class", lambda sums: [{**sums[0], "rows": 1}, *sums[1:]], re.escape("`by_class[0].rows`")),
        ("bins", lambda bins: [bins], "`bins` must be the edges of all classes"),
    ],
)
def test_impossible_documents_are_refused(key, change, message):
    document = counts_document(count(bins=2))
    with pytest.raises(ValueError, match=message):
        counts_from_document({**document, key: change(document[key])})


def test_joint_sums_of_weighted_rows_are_bounded_when_a_document_is_read():
    """A residual is at most 1, so that the diagonal is at most the sum of squared weights of its bin."""
    rng = np.random.default_rng(1)
    weights = rng.gamma(1.0, size=60)
    counts = ClasswiseCounts.from_arrays(rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60), bins=2, weights=weights)
    document = counts_document(counts)
    assert counts_from_document(document) == counts
    document["joint"] = (1e4 * counts.joint).tolist()
    document["joint"] = [row[: i + 1] for i, row in enumerate(document["joint"])]
    with pytest.raises(ValueError, match="`joint` must fit `weight_sq`: residuals are at most 1"):
        counts_from_document(document)
