"""Right-censored rows of files, counted in blocks: the counts of arrays, groups, and errors with lines."""

import numpy as np
import pytest
from censored_rows import NAMES, TIMES, alike, arrays, engine_rows

import bayescal as bc
from bayescal._invalid import InvalidRows
from bayescal.data.files import source as sources
from bayescal.survival import file as survival_file
from bayescal.survival.counts import SurvivalCounts


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_a_file_is_counted_in_blocks(tmp_path, monkeypatch, kind, weights):
    frame = engine_rows(40_000)
    frame.loc[:20_000, "w"] = 0.0  # whole blocks without weight
    path = tmp_path / f"rows.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    steps = []
    monkeypatch.setattr(sources, "BLOCK", 1)
    found = bc.count_survival_file(path, **NAMES, weights=weights, times=TIMES, bins=4, progress=steps.append)
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
    frame, path = engine_rows(40_000), tmp_path / "rows.parquet"
    frame["site"] = np.array(labels)[(np.arange(40_000) > 20_000).astype(int)]  # some blocks have one group
    frame.loc[:16_383, "w"] = 0.0  # the first block has no weight
    frame.to_parquet(path)
    steps = []
    monkeypatch.setattr(sources, "BLOCK", 1)
    how = {"weights": weights, "times": TIMES, "bins": 4}
    found = bc.count_survival_file(path, **NAMES, **how, by="site", progress=steps.append)
    assert list(found) == expected
    for label, counts in found.items():
        alike(counts, arrays(frame[frame["site"] == str(label)], weights))
    assert [step.rows for step in steps] == [16_384, 32_768, 40_000]
    alike(sum(found.values()), bc.count_survival_file(path, **NAMES, **how))
    assert list(bc.evaluate_survival_counts(found, horizon=5.5, rng=2, draws=50)) == expected


def test_groups_of_a_file_that_cannot_be_meant(tmp_path, monkeypatch):
    frame, path = engine_rows(300), tmp_path / "rows.csv"
    frame["id"], frame["age"] = [f"p{i}" for i in range(300)], np.linspace(40.1, 80.2, 300)
    frame["w"] = np.where(frame["site"] == "south", 0.0, 1.0)
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"`by` must name a column of group labels; it holds 300 .* such as 40\.1"):
        bc.count_survival_file(path, **NAMES, times=TIMES, by="age")
    number = (frame["site"] == "south").sum()
    with pytest.raises(
        ValueError, match=rf"not all be zero in a group; they are in all {number} rows of group 'south'"
    ):
        bc.count_survival_file(path, **NAMES, times=TIMES, by="site", weights="w")
    with pytest.raises(TypeError, match="`by` must be the name of a column of the file, not list"):
        bc.count_survival_file(path, **NAMES, times=TIMES, by=["site"])
    with pytest.raises(ValueError, match="has no column 'sites'"):
        bc.count_survival_file(path, **NAMES, times=TIMES, by="sites")
    counted = []
    monkeypatch.setattr(survival_file, "MOST_CELLS", 299 * 4 * 10 * (len(TIMES) + 1))
    monkeypatch.setattr(SurvivalCounts, "from_rows", counted.append)
    with pytest.raises(ValueError, match=r"at most 299 groups, since the counts of more .* such as 'p0', 'p1', 'p10'"):
        bc.count_survival_file(path, **NAMES, times=TIMES, by="id")
    assert not counted  # memory would not suffice


def test_errors_of_a_file_name_columns_and_lines(tmp_path):
    frame, path = engine_rows(300), tmp_path / "rows.csv"
    frame.assign(weeks=np.where(frame.index == 3, -1.0, frame["weeks"])).to_csv(path, index=False)
    with pytest.raises(InvalidRows, match=r"column 'weeks' must be >= 0; 1 of 300 values is not, first in line 5: -1"):
        bc.count_survival_file(path, **NAMES, times=TIMES)
    frame.assign(w=0.0).to_csv(path, index=False)
    with pytest.raises(InvalidRows, match=r"column 'w' are all zero"):
        bc.count_survival_file(path, **NAMES, weights="w", times=TIMES)
    with pytest.raises(ValueError, match="has no column 'pp'"):
        bc.count_survival_file(path, **NAMES | {"risk": "pp"}, times=TIMES)
