"""The plot of several choices of bins."""

import numpy as np
import pytest

import bayescal as bc
from bayescal.datasets.simulate import simulate


@pytest.fixture(scope="module")
def data():
    rows = simulate(1500, population="flat", rng=4)
    return rows.outcome, rows.confidence


@pytest.fixture(scope="module")
def result(data):
    return bc.bin_sensitivity(*data, n_bins=(5, 15, 50), draws=500, rng=1)


def test_the_plot_shows_the_numbers_of_the_table(result):
    from matplotlib.figure import Figure

    ax = bc.plot_bin_sensitivity(result, Figure().subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["5", "15", "50"]
    drawn = {gid: [c for c in ax.collections if c.get_gid() == gid] for gid in ("mean", "plug-in", "interval")}
    for i, binning in enumerate(("equal-width", "equal-mass")):
        rows = [row for row in result.table() if row["binning"] == binning]
        np.testing.assert_allclose(drawn["mean"][i].get_offsets()[:, 1], [row["mean"] for row in rows])
        np.testing.assert_allclose(drawn["plug-in"][i].get_offsets()[:, 1], [row["plug_in"] for row in rows])
        ends = [segment[:, 1] for segment in drawn["interval"][i].get_segments()]
        np.testing.assert_allclose(ends, [[row["low"], row["high"]] for row in rows])
    with pytest.raises(TypeError, match="`result` must be a BinSensitivity"):
        bc.plot_bin_sensitivity(result["equal-width", 5])
