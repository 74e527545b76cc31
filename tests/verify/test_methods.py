"""Bootstraps and the methods that coverage studies compare."""

import numpy as np
import pytest

from bayescal.draws import Draws
from bayescal.verify.methods import basic_interval, percentile_interval


def test_example_of_percentile_interval():
    assert percentile_interval(0.2, Draws(np.array([0.1, 0.2, 0.3, 0.4, 0.5])), 0.5) == (0.2, 0.4, 0.2)


def test_example_of_basic_interval():
    assert basic_interval(0.2, Draws(np.array([0.1, 0.2, 0.3, 0.4, 0.5])), 0.5) == pytest.approx(
        (0.0, 0.2, 0.1), abs=1e-6
    )
