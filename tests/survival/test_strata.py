"""Rows with known outcome that stand for censored rows, in strata of the risk."""

import numpy as np
import pytest
from censored_rows import weekly

from bayescal.survival.rows import SurvivalRows
from bayescal.survival.strata import KnownRows, share_with_event


def test_weights_of_a_stratum_add_up_to_its_rows_and_shares_are_product_limit_estimates():
    """The weighted share of events in a stratum is the estimate of its rows; few strata with few rows."""
    time, event, risk = weekly(1000, causes=2)
    rows = SurvivalRows.read(time, event, risk)
    known = KnownRows.of_rows(rows, 1.0, risk)
    for stratum in range(len(known.rows)):
        inside = known.stratum == stratum
        assert known.weight[inside].sum() == pytest.approx(inside.sum(), rel=1e-9) == known.rows[stratum]
        share = share_with_event(rows, 1.0, inside[None])[0]
        assert (known.weight * known.outcome)[inside].sum() / inside.sum() == pytest.approx(share, rel=1e-9)
    assert ((known.worth > 0) & (known.worth <= 1)).all()
    few = KnownRows.of_rows(rows.part(np.arange(60)), 1.0, risk[:60])
    assert len(few.rows) == 1
