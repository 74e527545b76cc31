"""Tables of pages: scores and bins by hand, and edges with as few digits as tell them apart."""

import pytest

import bayescal as bc
from bayescal.estimands.registry import as_scalar
from bayescal.report import tables

EV = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, model="dirichlet", rng=1, draws=200)


def test_scores_by_hand():
    """Squares of 0.2, 0.6, 0.3 and 0.1 have the mean 0.125; the only event of 0 has the smallest probability."""
    (table,) = tables.discrimination(EV)
    observed = {row[0]: float(row[-1]) for row in table.rows}
    assert observed["AUC"] == 1
    assert observed["Brier score"] == pytest.approx(0.125, abs=5e-5)


def test_bins_by_hand():
    table = tables.bins(EV)
    assert [row[0] for row in table.rows] == ["0 to 0.5", "0.5 to 1"]
    assert [row[1] for row in table.rows] == ["2", "2"]
    assert [[float(cell) for cell in row[2:4]] for row in table.rows] == [[0.3, 0.5], [0.8, 1.0]]


@pytest.mark.parametrize(
    ("edges", "written"),
    [
        ([0, 0.5, 1], ["0", "0.5", "1"]),
        ([0.12341, 0.12344], ["0.12341", "0.12344"]),
        ([0.3, 0.30000001, 1], ["0.3", "0.30000001", "1"]),
    ],
)
def test_edges_have_as_few_digits_as_tell_them_apart(edges, written):
    assert tables._edges(edges) == written


def test_differences_name_both_classifiers():
    y, p = [0, 1, 1, 0] * 20, [0.2, 0.4, 0.7, 0.9] * 20
    same = bc.compare(y, {"a": p, "b": p}, rng=1, draws=100)
    table = tables.differences(same, as_scalar("ece"))
    assert [row[0] for row in table.rows] == ["a - b"]
    assert [float(cell) for cell in table.rows[0][1:4]] == [0, 0, 0]
    assert table.rows[0][5] == "1.00"
    assert "P(equal) is the probability that they differ by at most 0.01." in table.note
