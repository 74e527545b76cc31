"""Let the tests in this folder import `shifted_sides`; an evaluation under label shift, and files of two sides."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import bayescal as bc

sys.path.append(str(Path(__file__).parent))

from shifted_sides import event


@pytest.fixture(scope="session")
def shifted():
    y, p, p_target, y_target = event(2000, 0.5, np.random.default_rng(1))
    return bc.evaluate_shifted(y, p, p_target, shift="label", bins=10, rng=1), y, p, p_target, y_target


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(1)
    y, y_target = np.arange(400) % 2, rng.random(300) < 0.2
    p, p_target = (expit(2 * rng.normal(2.0 * each - 1, 1)).round(6) for each in (y, y_target))
    pd.DataFrame({"ill": y, "p": p}).to_csv(tmp_path / "source.csv", index=False)
    pd.DataFrame({"p": p_target}).to_csv(tmp_path / "target.csv", index=False)
    return tmp_path, y, p, p_target


@pytest.fixture
def weighted(tmp_path):
    rng = np.random.default_rng(3)
    x, x_target = rng.standard_normal(500), rng.standard_normal(400) + 1
    y = (rng.random(500) < expit(2 * x)).astype(int)
    frame = pd.DataFrame({"y": y, "p": expit(x).round(6), "w": np.exp(x).round(6)})
    frame.to_csv(tmp_path / "source.csv", index=False)
    target = pd.DataFrame({"p": expit(x_target).round(6)})
    target.to_csv(tmp_path / "target.csv", index=False)
    return tmp_path, frame, target["p"].to_numpy()
