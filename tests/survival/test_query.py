"""SurvivalCounts of weighted rows, data frames of several engines, files in blocks, and groups."""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayescal as bc
from bayescal._invalid import InvalidRows
from bayescal.data.files import source as sources
from bayescal.survival import file as survival_file
from bayescal.survival.counts import AT_END, EVENT, INSIDE, OTHER, SurvivalCounts

GRID = [2.0, 4.0, 5.5, 9.0]
NAMES = {"time": "weeks", "event": "ended", "risk": "p"}


def simulated(n=400, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"weeks": rng.integers(0, 23, n) / 2, "ended": rng.integers(0, 3, n), "p": rng.random(n)})
    frame["w"], frame["site"] = rng.gamma(2.0, 1.0, n), np.array(["north", "south"])[rng.integers(0, 2, n)]
    return frame


def arrays(frame, weights=None, **options):
    own = {} if weights is None else {"weights": frame[weights]}
    return SurvivalCounts.from_arrays(frame["weeks"], frame["ended"], frame["p"], times=GRID, bins=4, **own, **options)


def alike(one, other):
    """Equal counts; sums to rounding."""
    assert np.array_equal(one.exits, other.exits)
    sums = [(one.deviation, other.deviation), (one.deviation_sq, other.deviation_sq)]
    for a, b in [*sums, *zip(one.weights, other.weights, strict=True)]:
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
    assert (one.bins, one.cause, one.weighted) == (other.bins, other.cause, other.weighted)


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
    frame = simulated()
    frame.loc[:5, "weeks"] = [0.0, 2.0, 2.0000001, 9.0, 9.5, 30.0]
    for cause in (1, 2):
        found = SurvivalCounts.from_frame(
            ENGINES[engine](frame), **NAMES, weights=weights, times=GRID, bins=4, cause=cause
        )
        alike(found, arrays(frame, weights, cause=cause))
        assert all(found.exits[kind].any() for kind in (EVENT, OTHER, AT_END, INSIDE))


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_are_counted_in_the_same_query(engine):
    frame = simulated()
    found = SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, by="site", times=GRID, bins=4)
    assert list(found) == ["north", "south"]
    for site, counts in found.items():
        alike(counts, arrays(frame[frame["site"] == site]))
    both = SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, by=["site", "ended"], times=GRID, bins=4)
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
    frame = simulated().astype({"ended": float})
    frame.loc[7, column] = value
    with pytest.raises(InvalidRows, match=message):
        SurvivalCounts.from_frame(ENGINES[engine](frame), **NAMES, weights="w", times=GRID)


def test_booleans_are_events():
    frame = simulated()
    frame["ended"] = frame["ended"] == 1
    found = SurvivalCounts.from_frame(pl.from_pandas(frame), **NAMES, times=GRID, bins=4)
    alike(found, arrays(frame))


def test_weights_give_the_evaluation_of_the_rows():
    frame = simulated(2000)
    parts = [arrays(part, "w") for _, part in frame.groupby(np.arange(2000) % 3)]
    counts = sum(parts)
    alike(counts, arrays(frame, "w"))
    rows = {"bins": 4, "rng": 3, "draws": 300, "horizon": 5.5}
    # rows with events are moved to the next time of the grid, where counts put them
    moved = np.append(GRID, 30.0)[np.searchsorted(GRID, frame["weeks"])]
    exact = frame.assign(weeks=np.where(frame["ended"] == 0, frame["weeks"], moved))
    exact = exact[exact["weeks"].isin(GRID) | (exact["weeks"] > 9)]
    by_rows = bc.evaluate_survival(exact["weeks"], exact["ended"], exact["p"], weights=exact["w"], **rows)
    by_counts = bc.evaluate_survival_counts(arrays(exact, "w"), horizon=5.5, rng=3, draws=300)
    assert by_counts.counts.n_censored.any()
    assert by_counts.ece.values == pytest.approx(by_rows.ece.values, abs=1e-10)
    assert by_counts.plug_in_of("brier_score") == pytest.approx(by_rows.plug_in_of("brier_score"), rel=1e-10)
    assert by_counts.counts.effective_n == pytest.approx(by_rows.counts.effective_n, rel=1e-10)


def test_rows_without_weights_have_the_weight_1():
    frame = simulated()
    both = arrays(frame, "w") + arrays(frame)
    twice = pd.concat([frame, frame.assign(w=1.0)])
    alike(both, arrays(twice, "w"))
    alike(arrays(frame) + arrays(frame, "w"), both)
    ones = arrays(frame.assign(w=1.0), "w")
    assert ones.at(5.5).effective_n == pytest.approx(arrays(frame).at(5.5).effective_n)


def test_weighted_counts_are_stored(tmp_path):
    counts = arrays(simulated(), "w")
    path = tmp_path / "counts.json"
    bc.save_counts(counts, path)
    assert bc.load_counts(path) == counts
    document = json.loads(path.read_text(encoding="utf-8"))
    negative = [-weight for weight in document["weight"]]
    alone = {name: value for name, value in document.items() if name != "weight_sq"}
    cases = (alone, "`weight` stands alone"), (document | {"weight": negative}, "`weight` must hold numbers >= 0")
    impossible = document | {"weight_sq": [1e9 * w for w in document["weight_sq"]]}
    for broken, message in (*cases, (impossible, "`weight_sq` must fit `weight`")):
        path.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            bc.load_counts(path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_a_file_is_counted_in_blocks(tmp_path, monkeypatch, kind, weights):
    frame = simulated(40_000)
    frame.loc[:20_000, "w"] = 0.0  # whole blocks without weight
    path = tmp_path / f"rows.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    steps = []
    monkeypatch.setattr(sources, "BLOCK", 1)
    found = bc.count_survival_file(path, **NAMES, weights=weights, times=GRID, bins=4, progress=steps.append)
    alike(found, arrays(frame, weights))
    assert [step.rows for step in steps] == [16_384, 32_768, 40_000]


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["9", "10"], [9, 10]), (["b", "1.5"], ["1.5", "b"]), (["1.5", "-2"], ["-2", "1.5"])],
    ids=["integers", "text", "numbers"],
)
def test_groups_of_a_file_are_counted_in_one_pass(tmp_path, monkeypatch, weights, labels, expected):
    frame, path = simulated(40_000), tmp_path / "rows.parquet"
    frame["site"] = np.array(labels)[(np.arange(40_000) > 20_000).astype(int)]  # some blocks have one group
    frame.loc[:16_383, "w"] = 0.0  # the first block has no weight
    frame.to_parquet(path)
    steps = []
    monkeypatch.setattr(sources, "BLOCK", 1)
    how = {"weights": weights, "times": GRID, "bins": 4}
    found = bc.count_survival_file(path, **NAMES, **how, by="site", progress=steps.append)
    assert list(found) == expected
    for label, counts in found.items():
        alike(counts, arrays(frame[frame["site"] == str(label)], weights))
    assert [step.rows for step in steps] == [16_384, 32_768, 40_000]
    alike(sum(found.values()), bc.count_survival_file(path, **NAMES, **how))
    assert list(bc.evaluate_survival_counts(found, horizon=5.5, rng=2, draws=50)) == expected


def test_groups_of_a_file_that_cannot_be_meant(tmp_path, monkeypatch):
    frame, path = simulated(300), tmp_path / "rows.csv"
    frame["id"], frame["age"] = [f"p{i}" for i in range(300)], np.linspace(40.1, 80.2, 300)
    frame["w"] = np.where(frame["site"] == "south", 0.0, 1.0)
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"`by` must name a column of group labels; it holds 300 .* such as 40\.1"):
        bc.count_survival_file(path, **NAMES, times=GRID, by="age")
    number = (frame["site"] == "south").sum()
    with pytest.raises(
        ValueError, match=rf"not all be zero in a group; they are in all {number} rows of group 'south'"
    ):
        bc.count_survival_file(path, **NAMES, times=GRID, by="site", weights="w")
    with pytest.raises(TypeError, match="`by` must be the name of a column of the file, not list"):
        bc.count_survival_file(path, **NAMES, times=GRID, by=["site"])
    with pytest.raises(ValueError, match="has no column 'sites'"):
        bc.count_survival_file(path, **NAMES, times=GRID, by="sites")
    counted = []
    monkeypatch.setattr(survival_file, "MOST_CELLS", 299 * 4 * 10 * (len(GRID) + 1))
    monkeypatch.setattr(SurvivalCounts, "from_rows", counted.append)
    with pytest.raises(ValueError, match=r"at most 299 groups, since the counts of more .* such as 'p0', 'p1', 'p10'"):
        bc.count_survival_file(path, **NAMES, times=GRID, by="id")
    assert not counted  # memory would not suffice


def test_errors_of_a_file_name_columns_and_lines(tmp_path):
    frame, path = simulated(300), tmp_path / "rows.csv"
    frame.assign(weeks=np.where(frame.index == 3, -1.0, frame["weeks"])).to_csv(path, index=False)
    with pytest.raises(InvalidRows, match=r"column 'weeks' must be >= 0; 1 of 300 values is not, first in line 5: -1"):
        bc.count_survival_file(path, **NAMES, times=GRID)
    frame.assign(w=0.0).to_csv(path, index=False)
    with pytest.raises(InvalidRows, match=r"column 'w' are all zero"):
        bc.count_survival_file(path, **NAMES, weights="w", times=GRID)
    with pytest.raises(ValueError, match="has no column 'pp'"):
        bc.count_survival_file(path, **NAMES | {"risk": "pp"}, times=GRID)


def test_counts_of_groups_are_evaluated():
    frame = simulated(2000)
    groups = SurvivalCounts.from_frame(frame, **NAMES, by="site", times=GRID, bins=4)
    found = bc.evaluate_survival_counts(groups, horizon=5.5, rng=2, draws=200)
    assert list(found) == ["north", "south"]
    assert isinstance(found["north"], bc.SurvivalEvaluation)
    assert found.overall.counts.n_rows == 2000
    assert found["north"].counts.n_rows == groups["north"].n_rows
    with pytest.raises(TypeError, match="must be SurvivalCounts, not int"):
        bc.evaluate_survival_counts({"a": 3})
    with pytest.raises(ValueError, match="at least one group"):
        bc.evaluate_survival_counts({})
