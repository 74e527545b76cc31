"""Right-censored rows that several tests share, and the command that evaluates a file of them."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from bayescal.app import app
from bayescal.survival.counts import SurvivalCounts


def simulated(n=1000, seed=1, rate=1.0):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    died = (np.log(rng.random(n)) / np.log1p(-risk)) ** 0.8
    lost = rng.exponential(1 / rate, n)
    return np.minimum(died, lost), (died <= lost).astype(int), risk


def run(*arguments):
    given = ["survival", *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})


COLUMNS = ("--time", "years", "--event", "died", "--risk", "p", "--horizon", "1")


TIMES = [2.0, 4.0, 5.5, 9.0]


NAMES = {"time": "weeks", "event": "ended", "risk": "p"}


def engine_rows(n=400, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"weeks": rng.integers(0, 23, n) / 2, "ended": rng.integers(0, 3, n), "p": rng.random(n)})
    frame["w"], frame["site"] = rng.gamma(2.0, 1.0, n), np.array(["north", "south"])[rng.integers(0, 2, n)]
    return frame


def arrays(frame, weights=None, **options):
    own = {} if weights is None else {"weights": frame[weights]}
    return SurvivalCounts.from_arrays(frame["weeks"], frame["ended"], frame["p"], times=TIMES, bins=4, **own, **options)


def alike(one, other):
    """Equal counts; sums to rounding."""
    assert np.array_equal(one.exits, other.exits)
    sums = [(one.deviation, other.deviation), (one.deviation_sq, other.deviation_sq)]
    for a, b in [*sums, *zip(one.weights, other.weights, strict=True)]:
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
    assert (one.bins, one.cause, one.weighted) == (other.bins, other.cause, other.weighted)


GRID = np.arange(1, 13) / 8


def weekly(n=2000, seed=1, causes=2):
    rng = np.random.default_rng(seed)
    risk = rng.beta(1.2, 2.4, n)
    first = (np.log(rng.random(n)) / np.log1p(-risk)) ** 0.8
    second = rng.exponential(2.0, n) if causes > 1 else np.full(n, np.inf)
    lost = rng.exponential(1.0, n) / np.exp(2 * (risk - 0.3))
    time = np.minimum(np.minimum(first, second), lost)
    event = np.where(time == lost, 0, np.where(time == first, 1, 2))
    return np.ceil(time * 8) / 8, event, risk
