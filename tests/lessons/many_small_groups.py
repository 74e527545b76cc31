"""Checks of the statements in `notebooks/13_many_small_groups.ipynb`."""


def check_the_largest_plug_in_value_is_that_of_a_small_hospital(plug_in, size, truth):
    assert size[plug_in.argmax()] < 60
    assert plug_in.max() > 3 * truth[plug_in.argmax()]


def check_the_widths(widths, missed, alone, pooled):
    """Widths are less than half; of 30 intervals, more than 5 would miss with probability 0.003."""
    assert widths(pooled).mean() < 0.5 * widths(alone).mean()
    assert missed(alone) <= 5
    assert missed(pooled) <= 5
    gain = widths(alone) - widths(pooled)
    assert gain[:10].mean() > 1.5 * gain[-10:].mean()


def check_the_spread(alone, low, high, truth):
    assert low <= truth.std() <= high
    assert alone.heterogeneity().mean() > 3 * truth.std()


def check_that_no_hospital_stands_out(pooled):
    assert pooled.standing_out() is None
    assert max(pooled.p_worst().values()) < 0.8


def check_the_new_hospital(extended, truth):
    low, high = extended[99].ece.interval(0.95)
    assert extended[99].counts.n_rows == 0
    assert low < truth.min() < truth.max() < high


def check_the_exercises(outlier, there, widths, missed, complete, pooled, size):
    assert size[there] >= 200
    assert outlier.standing_out() == there
    assert widths(complete).mean() < 0.5 * widths(pooled).mean()
    assert missed(complete) > missed(pooled)


def check_the_small_hospitals(ten):
    assert 0.8 < ten["pooled, ten hospitals"] / ten["alone"] < 0.97
    assert 0.45 < ten["pooled, all thirty"] / ten["alone"] < 0.6
