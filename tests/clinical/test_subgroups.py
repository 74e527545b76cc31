"""Clinical summaries by group: pooled values, differences, groups that lack a measure, plots, documents, pages."""

import json

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit

import bayescal as bc
from bayescal.clinical.subgroups import MEASURES
from bayescal.posterior.random_effects import RandomEffectsPosterior


@pytest.fixture(scope="module")
def rows():
    """Four sites that differ, one without events, and one whose risks are all equal."""
    rng = np.random.default_rng(0)
    sizes = {"north": 500, "south": 300, "east": 220, "west": 150, "equal": 30, "none": 25}
    site = np.repeat(list(sizes), list(sizes.values()))
    slope = np.repeat([0.6, 1.2, 0.8, 0.9, 1.0, 1.0], list(sizes.values()))
    x = rng.normal(-1.5, 1.0, len(site))
    y = (rng.random(len(site)) < expit(-1.3 + slope * (x + 1.5))).astype(int)
    p = expit(x)
    y[site == "none"], p[site == "equal"] = 0, 0.2
    return y, p, site


@pytest.fixture(scope="module")
def by_site(rows):
    y, p, site = rows
    return bc.clinical.summary(y, p, [0.2], by=site, draws=500, rng=1)


def test_each_group_is_the_summary_of_its_rows_and_all_rows_that_without_groups(rows, by_site):
    y, p, site = rows
    plain = bc.clinical.summary(y, p, [0.2], draws=500, rng=1)
    assert str(by_site.overall.table()) == str(plain.table())
    here = site == "south"
    assert (by_site["south"].n_rows, by_site["south"].n_events) == (300, y[here].sum())
    alone = bc.clinical.recalibration(y[here], p[here], rng=1)
    assert by_site["south"].recalibration.exact_interval("slope") == pytest.approx(alone.exact_interval("slope"))
    assert by_site["south"].evaluation.counts.bins == by_site.overall.evaluation.counts.bins


def test_a_group_that_cannot_be_summarised_is_named_and_the_others_stand(rows, by_site):
    assert list(by_site) == ["east", "none", "north", "south", "west"]
    assert list(by_site.without) == ["equal"]
    events = int(rows[0][rows[2] == "equal"].sum())
    assert by_site.without["equal"].startswith(f"30 rows with {events} events: `y_prob` must have at least two")
    assert by_site.remarks[0].startswith("equal: no summary: 30 rows")
    with pytest.raises(ValueError, match=r"group 'equal' cannot be compared: 30 rows"):
        by_site.difference("north", "equal")


def test_a_group_of_one_outcome_has_no_auc(by_site):
    assert "none" not in by_site.draws("auc")
    assert "none" in by_site.draws("slope")
    with pytest.raises(ValueError, match=r"group 'none' cannot be compared: 0 \(0.0 %\) events, no AUC"):
        by_site.difference("north", "none")
    row = next(row for row in by_site.table() if (row["group"], row["quantity"]) == ("none", "slope"))
    assert np.isfinite(row["pooled_mean"])


def test_differences_are_those_of_independent_draws(by_site):
    north, south = (by_site[label].recalibration.slope.values for label in ("north", "south"))
    found = by_site.difference("north", "south", "slope")
    np.testing.assert_array_equal(found.values, north - south)
    row = next(r for r in by_site.differences("slope") if (r["first"], r["second"]) == ("north", "south"))
    assert row["p_larger"] == (north > south).mean()
    assert row["mean"] == pytest.approx((north - south).mean())
    assert len(by_site.differences("slope")) == 10
    assert len(by_site.differences("auc")) == 6


def test_pooled_values_are_those_of_random_effects(by_site):
    """Means by the package's tested posterior: estimate and error of each group on the logit scale."""
    logits = np.log(odds := np.stack([d.values / (1 - d.values) for d in by_site.draws("auc").values()]))
    assert odds.min() > 0
    posterior = RandomEffectsPosterior(logits.mean(axis=1)[None], logits.std(axis=1, ddof=1)[None], 0.5)
    mean, spread, _ = posterior.sample(50_000, np.random.default_rng(3))
    expected = expit(posterior.sets_given(mean, spread, np.random.default_rng(4))[:, 0]).mean(axis=0)
    pooled = [each.mean() for each in by_site.draws("auc", pooled=True).values()]
    np.testing.assert_allclose(pooled, expected, atol=0.005)


def test_pooling_draws_the_groups_together(by_site):
    for key in MEASURES:
        alone, pooled = (
            np.array([d.mean() for d in by_site.draws(key, pooled=each).values()]) for each in (False, True)
        )
        assert np.ptp(pooled) < np.ptp(alone), key


def test_the_prior_of_the_slopes_is_divided_out(by_site):
    """A group of 25 rows without events says little: pooled, it has the slopes of the others, and not 1."""
    slopes = {label: each.mean() for label, each in by_site.draws("slope", pooled=True).items()}
    others = [slopes[label] for label in slopes if label != "none"]
    assert min(others) - 0.15 < slopes["none"] < max(others) + 0.15


def test_the_table_has_all_measures_of_all_groups(by_site):
    table = by_site.table()
    assert {row["group"] for row in table} == set(by_site)
    pooled = {row["quantity"] for row in table if np.isfinite(row["pooled_mean"])}
    assert pooled == set(MEASURES)
    frame = by_site.to_frame()
    assert frame.index.names == ["group", "quantity"]
    assert frame.loc[("north", "net_benefit at 0.2"), "mean"] > 0


def test_print_and_remarks(by_site):
    text = str(by_site)
    assert "calibration slope" in text
    assert "P(> 0)" in text
    assert "equal: no summary" in text
    assert by_site.spec.startswith("5 groups by group")
    assert not any("fewer than 5 groups" in each for each in by_site.remarks)


def test_net_benefits_of_groups_are_printed(by_site):
    lines = str(by_site).splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "net benefit at 0.2")
    north = next(line for line in lines[start:] if line.split()[:1] == ["north"])
    observed = by_site["north"].net_benefit.observed["model"][0]
    assert float(north.split()[4]) == pytest.approx(observed, abs=0.002)


def test_two_groups_say_that_pooling_depends_on_the_prior(rows):
    y, p, site = rows
    here = np.isin(site, ["north", "south"])
    two = bc.clinical.summary(y[here], p[here], by=site[here], draws=100, rng=1)
    assert "With fewer than 5 groups" in two.remarks[0]
    with pytest.raises(ValueError, match="at least 3 centres"):
        two.new_centre()


def test_one_group_has_no_pooled_values(rows):
    y, p, _ = rows
    one = bc.clinical.summary(y, p, by=["all"] * len(y), draws=100, rng=1)
    assert not any(np.isfinite(row["pooled_mean"]) for row in one.table())
    assert "all" in str(one)


def test_several_models_are_refused_with_the_remedy(rows):
    y, p, site = rows
    with pytest.raises(ValueError, match=r"`by` needs one model, and `y_prob` has 2.*summary\(y_true, y_prob\['a'\]"):
        bc.clinical.summary(y, {"a": p, "b": p / 2}, by=site)


def test_words_as_labels_in_a_group_of_one_outcome(rows):
    """The labels of all rows say what the event is."""
    y, p, site = rows
    words = np.where(y == 1, "dead", "alive")
    found = bc.clinical.summary(words, p, by=site, classes=("alive", "dead"), draws=100, rng=1)
    assert found["none"].n_events == 0


def test_a_new_centre_has_an_auc(by_site):
    new = by_site.new_centre()
    assert list(new.new) == ["intercept", "slope", "observed_expected", "ece", "auc"]
    assert new.centres == tuple(by_site)
    assert np.isnan(new.table()[-1]["calibrated"])


@pytest.mark.parametrize("quantity", ["auc", "slope", "ece"])
def test_the_forest_has_a_row_per_group_and_pooled_bars(by_site, quantity):
    ax = bc.plot(by_site, Figure().subplots(), quantity=quantity)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[-1].startswith("all rows")
    assert len(labels) == len(by_site.draws(quantity)) + 1
    means = next(each for each in ax.collections if each.get_gid() == "pooled mean").get_offsets()[:, 0]
    pooled = by_site.draws(quantity, pooled=True)
    np.testing.assert_allclose(means, [pooled[label].mean() for label in by_site.in_order() if label in pooled])


def test_the_plot_of_a_new_centre_has_both_bands(by_site):
    new = by_site.new_centre()
    ax = bc.plot(new, Figure().subplots())
    bands = {each.get_gid(): each.get_paths()[0].vertices for each in ax.collections}
    inner, outer = bands["band"], bands["outer band"]
    assert np.ptp(outer[:, 1]) > np.ptp(inner[:, 1])
    assert "new centre" in ax.get_title(loc="left")


def test_document_and_page(by_site):
    document = json.loads(by_site.to_json())
    assert [each["group"] for each in document["without"]] == ["equal"]
    assert len(document["differences"]["slope"]) == 10
    assert document["overall"]["events"] == by_site.overall.n_events
    page = by_site.to_html()
    assert page.count("<svg") >= len(MEASURES)
    assert "Differences: calibration slope" in page
    assert "<svg" in by_site.new_centre().to_html()
