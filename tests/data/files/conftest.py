"""A table whose values and words are hard to read back."""

import numpy as np
import pytest
from file_tables import N


@pytest.fixture(scope="module")
def table():
    """Labels and probabilities with all 17 digits, and a column of text that would confuse a splitter of lines."""
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.random(N - 4) ** 3, [0.0, 1.0, 5e-324, 1 - 2**-53]])
    note = [("plain", "a, b", 'say "so"', "it's")[i % 4] for i in range(N)]
    return {"label": rng.integers(0, 2, N).tolist(), "p": p.tolist(), "note": note}
