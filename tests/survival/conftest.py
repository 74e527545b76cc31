"""Let the tests in this folder import `censored_rows`; patients in a file."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayescal as bc

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def two_horizons():
    rng = np.random.default_rng(1)
    risk = rng.beta(1.2, 2.4, 800)
    died = (np.log(rng.random(800)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1.5, 800)
    at = [0.4, 0.8]
    risks = np.stack([1 - (1 - risk) ** (t**1.25) for t in at], axis=1)
    return bc.evaluate_survival(np.minimum(died, lost), died <= lost, risks, horizon=at, rng=1, draws=500)


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(1)
    risk = rng.beta(1.2, 2.4, 500).round(6)
    died = (np.log(rng.random(500)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1.5, 500)
    frame = pd.DataFrame({"years": np.minimum(died, lost).round(6), "died": (died <= lost).astype(int), "p": risk})
    frame["w"] = rng.gamma(2.0, 1.0, 500).round(4)
    frame.to_csv(tmp_path / "patients.csv", index=False)
    return tmp_path / "patients.csv", frame
