"""SurvivalCounts of weighted rows, data frames of several engines, files in blocks, and groups."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from censored_rows import NAMES, TIMES, alike, arrays, engine_rows

import bayescal as bc
from bayescal._invalid import InvalidRows
from bayescal.survival.counts import AT_END, EVENT, INSIDE, OTHER, SurvivalCounts

ENGINES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame, preserve_index=False)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", [None, "w"])
def test_every_engine_counts_the_rows_of_arrays(engine, weights):
    frame = engine_rows()
    frame.loc[:5, "weeks"] = [0.0, 2.0, 2.0000001, 9.0, 9.5, 30.0]
    for cause in (1, 2):
        found = SurvivalCounts.from_frame(
            ENGINES[engine](frame), **NAMES, weights=weights, times=TIMES, bins=4, cause=cause
        )
        alike(found, arrays(frame, weights, cause=cause))
        assert all(found.exits[kind].any() for kind in (EVENT, OTHER, AT_END, INSIDE))


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_are_counted_in_the_same_query(engine):
    frame = engine_rows()
    found = SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, by="site", times=TIMES, bins=4)
    assert list(found) == ["north", "south"]
    for site, counts in found.items():
        alike(counts, arrays(frame[frame["site"] == site]))
    both = SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, by=["site", "ended"], times=TIMES, bins=4)
    assert len(both) == 6
    alike(both["south", 1], arrays(frame[(frame["site"] == "south") & (frame["ended"] == 1)]))


@pytest.mark.parametrize("engine", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("weeks", -1.0, r"`time` \(column 'weeks'\) must be >= 0; 1 of 400 values is not"),
        ("weeks", np.nan, r"`time` \(column 'weeks'\) must be complete; 1 of 400"),
        ("weeks", np.inf, r"`time` \(column 'weeks'\) must be finite; 1 of 400"),
        ("ended", 1.5, r"`event` \(column 'ended'\) must be 0 \(censored\), 1 \(the event\) or 2"),
        ("ended", -1.0, r"`event` \(column 'ended'\) must be 0 \(censored\)"),
        ("ended", np.nan, r"`event` \(column 'ended'\) must be complete"),
        ("p", 1.5, r"`risk` \(column 'p'\) must lie in \[0, 1\]"),
        ("w", -1.0, r"`weights` \(column 'w'\) must be >= 0"),
    ],
)
def test_invalid_rows_are_refused_in_every_engine(engine, column, value, message):
    frame = engine_rows().astype({"ended": float})
    frame.loc[7, column] = value
    with pytest.raises(InvalidRows, match=message):
        SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, weights="w", times=TIMES)


def test_booleans_are_events():
    frame = engine_rows()
    frame["ended"] = frame["ended"] == 1
    found = SurvivalCounts.from_frame(pl.from_pandas(frame), **NAMES, times=TIMES, bins=4)
    alike(found, arrays(frame))


def test_weights_give_the_evaluation_of_the_rows():
    frame = engine_rows(2000)
    parts = [arrays(part, "w") for _, part in frame.groupby(np.arange(2000) % 3)]
    counts = sum(parts)
    alike(counts, arrays(frame, "w"))
    rows = {"bins": 4, "rng": 3, "draws": 300, "horizon": 5.5}
    # rows with events are moved to the next time of the grid, where counts put them
    moved = np.append(TIMES, 30.0)[np.searchsorted(TIMES, frame["weeks"])]
    exact = frame.assign(weeks=np.where(frame["ended"] == 0, frame["weeks"], moved))
    exact = exact[exact["weeks"].isin(TIMES) | (exact["weeks"] > 9)]
    by_rows = bc.evaluate_survival(exact["weeks"], exact["ended"], exact["p"], weights=exact["w"], **rows)
    by_counts = bc.evaluate_survival_counts(arrays(exact, "w"), horizon=5.5, rng=3, draws=300)
    assert by_counts.counts.n_censored.any()
    assert by_counts.ece.values == pytest.approx(by_rows.ece.values, abs=1e-10)
    assert by_counts.plug_in_of("brier_score") == pytest.approx(by_rows.plug_in_of("brier_score"), rel=1e-10)
    assert by_counts.counts.effective_n == pytest.approx(by_rows.counts.effective_n, rel=1e-10)


def test_rows_without_weights_have_the_weight_1():
    frame = engine_rows()
    both = arrays(frame, "w") + arrays(frame)
    twice = pd.concat([frame, frame.assign(w=1.0)])
    alike(both, arrays(twice, "w"))
    alike(arrays(frame) + arrays(frame, "w"), both)
    ones = arrays(frame.assign(w=1.0), "w")
    assert ones.at(5.5).effective_n == pytest.approx(arrays(frame).at(5.5).effective_n)


def test_counts_of_groups_are_evaluated():
    frame = engine_rows(2000)
    groups = SurvivalCounts.from_frame(frame, **NAMES, by="site", times=TIMES, bins=4)
    found = bc.evaluate_survival_counts(groups, horizon=5.5, rng=2, draws=200)
    assert list(found) == ["north", "south"]
    assert isinstance(found["north"], bc.SurvivalEvaluation)
    assert found.overall.counts.n_rows == 2000
    assert found["north"].counts.n_rows == groups["north"].n_rows
    with pytest.raises(TypeError, match="must be SurvivalCounts, not int"):
        bc.evaluate_survival_counts({"a": 3})
    with pytest.raises(ValueError, match="at least one group"):
        bc.evaluate_survival_counts({})
