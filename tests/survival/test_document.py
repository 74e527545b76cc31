"""Counts of right-censored rows as JSON: every sum comes back, and impossible files are refused."""

import json

import pytest
from censored_rows import GRID, arrays, engine_rows, weekly

import bayescal as bc
from bayescal.stats.stored import counts_document, counts_from_document


def test_weighted_counts_are_stored(tmp_path):
    counts = arrays(engine_rows(), "w")
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


def test_counts_are_stored_bit_for_bit(tmp_path):
    time, event, risk = weekly()
    counts = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID, bins=8, cause=2)
    assert bc.load_counts(bc.save_counts(counts, tmp_path / "counts.json")) == counts
    edges = bc.SurvivalCounts.from_arrays(time, event, risk, times=GRID, bins=[0, 0.1, 0.35, 1])
    assert bc.load_counts(bc.save_counts(edges, tmp_path / "counts.json")) == edges


@pytest.mark.parametrize(
    ("entry", "change", "message"),
    [
        ("rows", lambda v: v + 1, "`rows` must be what the cells add up to"),
        ("cell", lambda v: v[::-1], "`cell` must hold increasing numbers of cells"),
        ("cell", lambda v: [*v[:-1], 10**6], "`cell` must hold increasing numbers of cells"),
        ("n", lambda v: [0, *v[1:]], "`n` must hold numbers of rows > 0"),
        ("n", lambda v: [-1, *v[1:]], "`n` must hold integers >= 0"),
        ("times", lambda v: v[::-1], "`times` must be strictly increasing"),
        ("deviation", lambda v: [9.0, *v[1:]], "`deviation` must be at most half the width of the bin"),
        ("deviation_sq", lambda v: [9.0, *v[1:]], "`deviation_sq` must be at most"),
        ("deviation_sq", lambda v: [-1.0, *v[1:]], "`deviation_sq` must hold numbers >= 0"),
        ("deviation_sq", lambda v: [0.0, *v[1:]], "`deviation` must have a square of at most"),
        ("cause", lambda v: 0, "`cause` must be an integer >= 1"),
    ],
)
def test_impossible_files_are_refused(entry, change, message):
    document = counts_document(bc.SurvivalCounts.from_arrays(*weekly(300), times=GRID, bins=8))
    with pytest.raises(ValueError, match=message):
        counts_from_document({**document, entry: change(document[entry])})
