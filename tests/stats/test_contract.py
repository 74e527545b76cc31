"""Counts satisfy the protocol; of other values, the message says what to pass."""

import numpy as np
import pytest

from bayescal import BinnedCounts, PairedCounts
from bayescal.stats.contract import Counts, HasSpread, require_counts

COUNTS = BinnedCounts.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], bins=2)


def test_binned_counts_satisfy_the_protocol_and_counts_of_pairs_do_not():
    assert isinstance(COUNTS, Counts)
    assert isinstance(COUNTS, HasSpread)
    require_counts(COUNTS)
    pair = PairedCounts.from_arrays([0, 1], [0.2, 0.7], [0, 1], [0.4, 0.3], bins=2)
    assert not isinstance(pair, Counts)


@pytest.mark.parametrize("value", [None, np.zeros(3), {"n": 3}])
def test_other_values_are_answered_with_how_to_count(value):
    with pytest.raises(TypeError, match=rf"`first` must be BinnedCounts, not {type(value).__name__}; make them with"):
        require_counts(value, "first")


def test_a_record_that_lacks_two_members_is_answered_with_their_names():
    members = {name: getattr(COUNTS, name) for name in Counts.__protocol_attrs__ if not name.startswith("_")}
    del members["ranks"], members["share"]
    record = type("Record", (), members)()
    with pytest.raises(TypeError, match=r"^`counts` is a Record, which lacks ranks, share; see `Counts`\.$"):
        require_counts(record)
