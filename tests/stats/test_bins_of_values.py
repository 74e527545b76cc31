"""One bin per distinct confidence: edges, rounding, limits, and the table and the picture of the values."""

import json

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.report.diagram import reliability_points
from bayescal.report.tables import bins as bins_table
from bayescal.stats.bins import MOST_VALUES
from bayescal.stats.stored import load_counts, save_counts

VALUES = np.array([0.0, 0.3, 0.5, 0.9, 0.95, 1.0])


@pytest.fixture(scope="module")
def said():
    """Confidences of six values, and whether the answers are right."""
    rng = np.random.default_rng(3)
    confidence = rng.choice(VALUES, 400)
    return (rng.random(400) < 0.1 + 0.7 * confidence).astype(np.int64), confidence


def evaluated(said, **options):
    return bc.evaluate(*said, target="confidence", binning="values", draws=300, rng=1, **options)


@pytest.mark.parametrize("closed", ["left", "right"])
def test_edges_are_midway_between_the_values(closed):
    made = bc.make_bins(binning="values", confidence=[0.9, 0.5, 1.0, 0.5, 0.0], closed=closed)
    np.testing.assert_allclose(made.edges, [0, 0.25, 0.7, 0.95, 1])
    assert str(made) == "4 bins (one per value)"


def test_one_value_has_one_bin():
    assert bc.make_bins(binning="values", confidence=[0.9, 0.9]).edges.tolist() == [0, 1]


def test_the_rows_of_each_value_are_in_its_bin(said):
    right, confidence = said
    counts = evaluated(said).counts
    assert counts.n.tolist() == [np.sum(confidence == value) for value in VALUES]
    assert counts.k.tolist() == [right[confidence == value].sum() for value in VALUES]
    np.testing.assert_allclose(counts.mean_confidence, VALUES)
    edges = np.concatenate([[0], (VALUES[1:] + VALUES[:-1]) / 2, [1]])
    by_hand = bc.evaluate(*said, target="confidence", bins=edges, draws=300, rng=1)
    np.testing.assert_array_equal(evaluated(said).ece.values, by_hand.ece.values)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_types_have_the_same_values(said, dtype):
    right, confidence = said
    assert evaluated((right, confidence.astype(dtype))).counts.n.tolist() == evaluated(said).counts.n.tolist()


def test_values_that_differ_by_rounding_share_a_bin():
    """35 * 0.01 is not 35 / 100, and float32(0.9) is not 0.9."""
    confidence = [0.35, 35 * 0.01, 0.9, float(np.float32(0.9)), 0.91]
    assert 35 * 0.01 != 0.35
    assert bc.BinnedCounts.from_arrays([0, 1, 1, 0, 1], confidence, binning="values").n.tolist() == [2, 2, 1]


def test_whole_per_cents_are_accepted_and_one_more_value_is_not():
    per_cent = np.arange(101) / 100
    assert len(bc.make_bins(binning="values", confidence=per_cent)) == MOST_VALUES
    with pytest.raises(
        ValueError, match=r"at most 101, such as whole per cents; there are 102, the first are 0, 0.005,"
    ):
        bc.make_bins(binning="values", confidence=np.append(per_cent, 0.005))


def test_many_values_with_small_gaps_are_not_one_value():
    """Neighbours differ by less than rounding, the first and the last do not."""
    with pytest.raises(ValueError, match=r"there are 1001, the first are 0.5, 0.5000005, 0.500001"):
        bc.make_bins(binning="values", confidence=0.5 + 5e-7 * np.arange(1001))


@pytest.mark.parametrize("bins", [10, 101])
def test_a_number_of_bins_is_refused(said, bins):
    with pytest.raises(ValueError, match=f"`bins` must be left out with `binning='values'`.* it is {bins}"):
        evaluated(said, bins=bins)


def test_edges_are_refused(said):
    with pytest.raises(ValueError, match="`binning='values'` has nothing to choose"):
        evaluated(said, bins=[0, 0.5, 1])


def test_a_query_does_not_know_the_values():
    frame = pa.table({"outcome": [0, 1], "confidence": [0.2, 0.9]})
    with pytest.raises(ValueError, match="needs the distinct confidences before rows are counted"):
        bc.BinnedCounts.from_frame(frame, binning="values")
    with pytest.raises(ValueError, match="`binning='values'` needs the confidences"):
        bc.make_bins(binning="values")


def test_choices_of_numbers_have_no_values(said):
    with pytest.raises(ValueError, match="`binning` must be one of"):
        bc.bin_sensitivity(*said, binning=("values", "equal-width"))


def test_a_file_has_the_bins_of_its_rows(said, tmp_path):
    right, confidence = said
    lines = "\n".join(f"{z},{c:g}" for z, c in zip(right, confidence, strict=True))
    (tmp_path / "said.csv").write_text(f"right,stated\n{lines}\n")
    counts = bc.count_file(tmp_path / "said.csv", label="right", prob="stated", target="confidence", binning="values")
    assert counts == evaluated(said).counts
    save_counts(counts, tmp_path / "counts.json")
    assert load_counts(tmp_path / "counts.json").bins.kind == "values"


def test_the_command_line_has_the_numbers_of_evaluate(said, tmp_path):
    right, confidence = said
    lines = "\n".join(f"{z},{c:g}" for z, c in zip(right, confidence, strict=True))
    (tmp_path / "said.csv").write_text(f"right,stated\n{lines}\n")
    options = ["--correct", "right", "--confidence", "stated", "--binning", "values", "--seed", "1"]
    asked = ["report", str(tmp_path / "said.csv"), *options, "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "100", "TERM": "dumb"})
    assert done.exit_code == 0, done.stderr
    ev = bc.evaluate(*said, target="confidence", binning="values", rng=1)
    for row in ev.sheet().above.rows:
        assert list(row) in [line.split() for line in done.stdout.splitlines()]
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["parameters"]["binning"] == "values"
    assert [row["mean"] for row in document["table"] if row["quantity"] == "accuracy"] == [ev.accuracy.mean()]


def test_classifiers_have_values_of_their_own(said):
    right, confidence = said
    coarse = np.round(confidence)
    both = {"fine": confidence, "coarse": coarse}
    result = bc.compare(dict.fromkeys(both, right), both, target="confidence", binning="values", draws=100, rng=1)
    assert [len(result[name].counts.bins) for name in both] == [6, 2]
    other = bc.evaluate(right[1:], coarse[1:], target="confidence", binning="values", draws=100, rng=2)
    apart = bc.compare_independent({"fine": result["fine"], "coarse": other}, rng=1)
    assert apart.names == ("fine", "coarse")


def test_groups_have_the_values_of_all_rows(said):
    grouped = evaluated(said, by=said[1] > 0.5)
    assert len(grouped[False].counts.bins) == len(grouped[True].counts.bins) == 6


def test_classes_have_values_of_their_own():
    p = np.array([[0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]])
    ev = bc.evaluate([0, 1, 1, 2], p, target="classwise", binning="values", draws=50, rng=1)
    assert [len(ev[k].counts.bins) for k in ev.classes] == [2, 2, 1]
    assert "1 to 2 bins (one per value) for each class" in ev.question


def test_the_table_has_a_row_per_value(said):
    right, confidence = said
    ev = evaluated(said)
    above = ev.sheet().above
    assert above.header == ("confidence", "rows", "accuracy", "2.5 %", "97.5 %", "observed")
    assert [row[0] for row in above.rows] == ["0", "0.3", "0.5", "0.9", "0.95", "1"]
    low, high = np.quantile(ev.bin_draws.accuracy, [0.025, 0.975], axis=0)
    chosen = right[confidence == 0.9]
    assert (above.rows[3][1], above.rows[3][-1]) == (str(len(chosen)), f"{chosen.mean():.4f}")
    assert above.rows[3][2:5] == [f"{x:.4f}" for x in (ev.bin_draws.accuracy[:, 3].mean(), low[3], high[3])]
    assert [row[0] for row in bins_table(ev).rows] == [row[0] for row in above.rows]
    assert bc.evaluate(*said, target="confidence", rng=1, draws=50).sheet().above is None


def test_a_table_of_many_values_is_not_printed():
    confidence = np.arange(22) / 25
    ev = bc.evaluate(np.arange(22) % 2, confidence, binning="values", draws=50, rng=1)
    assert ev.sheet().above is None
    assert len(bins_table(ev).rows) == 22


def test_bars_and_dots_of_the_diagram_are_at_the_values(said):
    ev = evaluated(said)
    points = reliability_points(ev)
    np.testing.assert_allclose(points.confidence, VALUES)
    np.testing.assert_allclose((points.bin_low + points.bin_high) / 2, VALUES)
    np.testing.assert_allclose(points.bin_high - points.bin_low, 0.8 * 0.05)
    assert bc.plot_reliability(ev, Figure().subplots()).get_xlim()[0] < 0


def test_the_target_of_a_shift_has_the_values_of_both_sides():
    rng = np.random.default_rng(1)
    source, target = rng.choice([0.2, 0.4, 0.8], 300), rng.choice([0.3, 0.4, 0.8], 300)
    label = (rng.random(300) < source).astype(np.int64)
    weights = np.where(source == 0.4, 2.0, 1.0)
    ev = bc.shift.covariate(label, source, target, weights=weights, binning="values", draws=50, rng=1)
    assert len(ev.counts.bins) == 4
