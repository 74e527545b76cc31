"""Let the tests in this folder import `pilots`; a pilot in a file."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def pilot(tmp_path):
    rows = simulate(300, population="flat", rng=1)
    pd.DataFrame({"y": rows.outcome, "p": rows.confidence}).to_csv(tmp_path / "pilot.csv", index=False)
    return tmp_path / "pilot.csv", bc.BinnedCounts.from_arrays(rows.outcome, rows.confidence, target="event")
