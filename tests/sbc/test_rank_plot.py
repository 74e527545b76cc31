"""The picture of ranks: what leaves the band is named, and the user's style stays."""

import numpy as np
import pytest
from sbc.rank_plot import plot_ranks
from sbc.ranks import Ranks


def ranks_of(values, pooled=()):
    return Ranks(values, n_draws=99, n_cells=20, pooled=pooled)


@pytest.fixture
def axes():
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    yield plt.figure().subplots()
    assert dict(mpl.rcParams) == before


def test_the_picture_names_what_leaves_the_band(axes):
    even = np.random.default_rng(13).permuted(np.tile(np.arange(100), (3, 10)), axis=1)
    values = {"fine": even[0], "b": even[1:].T}
    assert plot_ranks(ranks_of(values, pooled=("b",)), axes) is axes
    assert axes.get_title(loc="left").startswith("all 3 inside the 95 % band")
    assert len(axes.lines) == 4  # and the axis
    axes.clear()
    values["skew"] = np.maximum(even[0], even[1])
    plot_ranks(ranks_of(values), axes)
    assert axes.get_title(loc="left").startswith("1 of 4 outside")
    assert [text.get_text() for text in axes.texts] == ["skew"]


def test_the_picture_without_axes_is_a_new_one(axes):
    values = {"fine": np.random.default_rng(14).integers(0, 100, 200)}
    assert plot_ranks(ranks_of(values)) is not axes
