"""Pictures of survival evaluations: censored rows in the reliability diagram, and errors over several horizons."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import bayescal as bc
from bayescal.report.diagram import reliability_points
from bayescal.survival.analysis import NotFollowedWarning


def test_the_reliability_diagram_shows_censored_rows(two_horizons):
    ev = two_horizons[0.8]
    points = reliability_points(ev)
    assert points.censored.sum() == pytest.approx(ev.counts.n_censored.sum() / 800)
    used = ev.counts.occupied & ev.counts.followed
    assert points.accuracy[np.isfinite(points.accuracy)].tolist() == ev.counts.accuracy[used].tolist()
    ax = bc.plot_reliability(ev, Figure().subplots())
    hatched = [patch for patch in ax.child_axes[0].patches if patch.get_hatch()]
    assert len(hatched) == len(points.n)
    for patch, share, of in zip(hatched, points.censored, points.share, strict=True):
        assert patch.get_height() == pytest.approx(share)
        assert patch.get_y() + patch.get_height() == pytest.approx(of)
    assert "censored" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_bin_that_is_not_followed_has_a_bar_and_no_dot():
    """Its Kaplan-Meier curve ends before the horizon, so that nothing is observed at the horizon."""
    rng = np.random.default_rng(1)
    risk = rng.random(400)
    time, event = rng.exponential(1.0, 400), np.ones(400, int)
    top = risk >= 0.9
    event[top & (time >= 0.3)] = 0
    time[top] = np.minimum(time[top], 0.3)
    with pytest.warns(NotFollowedWarning):
        ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=200)
    points = reliability_points(ev)
    assert np.isnan(points.accuracy).tolist() == [False] * 9 + [True]
    assert points.accuracy[:9].tolist() == ev.counts.accuracy[:9].tolist()
    ax = bc.plot_reliability(ev, Figure().subplots())
    by_gid = {artist.get_gid(): artist for artist in ax.collections}
    assert len(by_gid["credible intervals"].get_segments()) == 10
    assert np.ma.count(by_gid["observed"].get_offsets()[:, 1]) == 9
    assert "< 10 effective rows" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_without_censoring_nothing_is_hatched():
    risk = np.linspace(0.01, 0.99, 200)
    ev = bc.evaluate_survival(1 / risk, np.ones(200), risk, horizon=2, rng=1, draws=100)
    ax = bc.plot_reliability(ev, Figure().subplots())
    assert not any(patch.get_hatch() for patch in ax.child_axes[0].patches)
    assert len(ax.get_legend().get_texts()) < 4


@pytest.mark.parametrize("estimand", ["ece", "observed_expected", "signed_error"])
def test_several_horizons(two_horizons, estimand):
    ax = bc.plot_horizons(two_horizons, Figure().subplots(), estimand=estimand)
    table = two_horizons.table(estimand=estimand)
    by_gid = {artist.get_gid(): artist for artist in (*ax.get_lines(), *ax.collections)}
    assert by_gid["means"].get_ydata().tolist() == [row["mean"] for row in table]
    assert by_gid["plug-in"].get_ydata().tolist() == [row["plug_in"] for row in table]
    ends = [[float(y) for _, y in path] for path in by_gid["intervals"].get_segments()]
    assert ends == [[row["low"], row["high"]] for row in table]
    assert by_gid["calibrated"].get_ydata()[0] == (1.0 if estimand == "observed_expected" else 0.0)
    words = {"ece": "ECE", "signed_error": "signed error", "observed_expected": "observed / expected"}[estimand]
    assert ax.get_ylabel() == words
    assert two_horizons.specification(estimand=estimand).startswith(
        f"{words} at horizons 0.4, 0.8, 10 equal-width bins"
    )
    written = " ".join(text.get_text() for text in ax.figure.findobj(Text)).replace("\n", " ")
    assert two_horizons.specification(estimand=estimand) in written
    assert two_horizons.sheet(estimand=estimand).spec == two_horizons.specification(estimand=estimand)


def test_other_arguments_are_refused(two_horizons):
    with pytest.raises(TypeError, match="`horizons` must be SurvivalHorizons, not SurvivalEvaluation"):
        bc.plot_horizons(two_horizons[0.8])
    with pytest.raises(ValueError, match="`estimand` must be one of"):
        bc.plot_horizons(two_horizons, Figure().subplots(), estimand="eces")
