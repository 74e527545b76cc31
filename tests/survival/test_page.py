"""Pages, documents and pictures of survival evaluations."""

import json

import pytest
from censored_rows import simulated
from matplotlib.figure import Figure

import bayescal as bc


def test_documents_trees_and_pages(tmp_path):
    time, event, risk = simulated(500)
    ev = bc.evaluate_survival(time, event, risk, horizon=0.5, rng=1, draws=400)
    tree = ev.to_datatree()
    assert tree.attrs["horizon"] == 0.5
    assert tree["posterior"]["observed_expected"].size == 400
    assert tree["observed_data"]["n_censored"].values.sum() == ev.counts.n_censored.sum()
    assert '"observed_expected"' in ev.to_json()
    assert ev.to_html(tmp_path / "a.html").stat().st_size > 1000
    assert "observed / expected" in str(ev)
    assert "observed / expected" in ev.to_latex()
    assert bc.plot_reliability(ev).get_ylabel() == "event rate"


def test_documents_and_pages_hold_the_horizon_and_what_is_censored(two_horizons, tmp_path):
    """The observed share of a bin that is not followed is missing."""
    ev = two_horizons[0.8]
    document = json.loads(ev.to_json())
    assert document["horizon"] == 0.8
    assert document["not_followed"] == ev.not_followed
    assert [row["n_censored"] for row in document["bins"]] == ev.counts.n_censored.tolist()
    assert [row["effective_n"] for row in document["bins"]] == pytest.approx(ev.counts.effective_n)
    used = ev.counts.occupied & ev.counts.followed
    assert [row["accuracy"] is not None for row in document["bins"]] == used.tolist()
    page = ev.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "effective rows" in page
    assert "or its last row is censored before the horizon" in page
    plain = bc.evaluate([0, 1] * 50, [0.2, 0.7] * 50, rng=1, draws=100)
    assert "effective rows" not in plain.to_html(tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("estimand", ["ece", "observed_expected"])
def test_the_picture_of_several_horizons_is_their_plot(two_horizons, estimand):
    drawn, expected = (
        draw(two_horizons, Figure().subplots(), estimand=estimand) for draw in (bc.plot, bc.survival.plot_horizons)
    )
    lines = [[line.get_xydata().tolist() for line in ax.get_lines()] for ax in (drawn, expected)]
    assert lines[0] == lines[1]
    assert drawn.get_title(loc="left") == expected.get_title(loc="left")
