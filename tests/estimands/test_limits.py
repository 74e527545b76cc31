"""Limits of estimands: the share of draws on the better side."""

import numpy as np

from bayescal.estimands.limits import within_limit
from bayescal.estimands.registry import registered


def test_the_better_side_depends_on_the_estimand():
    values = np.array([-0.9, 0.1, 0.2, 0.8])
    shares = [within_limit(values, 0.5, registered()[name]) for name in ("ece", "auc", "signed_error")]
    assert shares == [0.75, 0.25, 0.5]
