"""Documents of cumulative differences."""

import json

import pytest

import bayescal as bc

HAND = ([1, 0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6, 0.9])


def test_the_document_has_what_the_text_states():
    member = [True, True, False, True, False]
    cd = bc.cumulative_difference(*HAND)
    sub = bc.cumulative_difference_subpopulation(*HAND, member)
    for result in (cd, sub):
        found = json.loads(result.to_json())
        assert found["worst_interval"] == dict(zip(("first", "last"), result.worst_interval, strict=True))
        assert (found["sigma"], found["robust_sigma"]) == (result.sigma, result.robust_sigma)
        assert (found["kuiper_interval"]["low"], found["kuiper_interval"]["high"]) == result.kuiper_interval()
        assert found["average_difference"] == result.curve[-1]
    # outcomes have the mean 3/5 and scores 1/2
    assert json.loads(cd.to_json())["average_difference"] == pytest.approx(0.1)
    counts = bc.BinnedCounts.from_arrays(*HAND, bins=2)
    counted = bc.CumulativeDifference.from_counts(counts)
    assert json.loads(counted.to_json())["grid_error"] == counted.grid_error > 0
