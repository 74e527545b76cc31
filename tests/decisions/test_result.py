"""NetBenefit: relations within each draw, probabilities by name, tables, a threshold of 0."""

import json

import numpy as np
import pytest

import bayescal as bc
from bayescal.decisions.thresholds import share_treated

T = np.array([0.1, 0.2, 0.5])


def net_benefit(y, p, t, w=None):
    """Vickers and Elkin (2006)."""
    w = np.ones(len(y)) if w is None else w
    treated = p >= t
    return (w * treated * (np.where(y == 1, 1.0, -t / (1 - t)))).sum() / w.sum()


def test_relations_within_each_draw(pair):
    odds = T / (1 - T)
    model, every = pair.net_benefit["new"].values, pair.treat_all.values
    share = every + odds * (1 - pair.prevalence_draws)  # treating all: prevalence - odds (1 - prevalence)
    np.testing.assert_allclose(share, pair.prevalence_draws * np.ones(len(T)), rtol=1e-12)
    np.testing.assert_allclose(pair.standardized["new"].values * pair.prevalence_draws, model, atol=1e-12)
    np.testing.assert_allclose(pair.avoided["new"].values, (model - every) / odds, atol=1e-12)
    np.testing.assert_allclose(pair.difference("new", "old").values, model - pair.net_benefit["old"].values)
    np.testing.assert_allclose(pair.difference("new", "treat all").values, model - every)
    np.testing.assert_array_equal(pair.difference("new", "treat none").values, model)
    assert (pair.standardized["new"].values <= 1).all()


def test_bounds_and_order_in_each_draw(data):
    """A net benefit is at most the prevalence; fewer rows are treated at higher thresholds; treating all falls."""
    fine = bc.decisions.net_benefit(data.y, data.p["new"], rng=1)
    values = fine.net_benefit["model"].values
    assert values.shape == (4000, 99)
    assert (values <= fine.prevalence_draws + 1e-12).all()
    treated = share_treated(fine.posterior.sample(4000, rng=fine.draws_seed)).sum(axis=2)
    assert (np.diff(treated, axis=-1) <= 0).all()
    assert (np.diff(fine.treat_all.values, axis=1) < 0).all()
    # of a model that treats all, draws are those of treating all
    every = bc.decisions.net_benefit(data.y, np.ones(len(data.y)), pseudo_rows=0.1, rng=1)
    near = every.net_benefit["model"].mean() - every.treat_all.mean()
    assert np.abs(near[:50]).max() < 0.1 / len(data.y)


def test_draws_agree_with_exact_moments(close_to, mcse, pair):
    for name in pair.models:
        drawn, (mean, sd) = pair.net_benefit[name].values, pair.moments[name]
        close_to(drawn.mean(axis=0), mean, mcse.mean(drawn))
        close_to(drawn.std(axis=0, ddof=1), sd, mcse.sd(drawn))


def test_harm_is_subtracted(data, pair):
    harmed = bc.decisions.net_benefit(data.y, data.p, T, harm={"new": 0.01}, rng=1)
    np.testing.assert_allclose(harmed.net_benefit["new"].values, pair.net_benefit["new"].values - 0.01)
    np.testing.assert_array_equal(harmed.net_benefit["old"].values, pair.net_benefit["old"].values)
    np.testing.assert_allclose(harmed.moments["new"][0], pair.moments["new"][0] - 0.01)
    np.testing.assert_allclose(harmed.observed["new"], pair.observed["new"] - 0.01)
    assert "harm 0.01 (new)" in harmed.spec
    both = bc.decisions.net_benefit(data.y, data.p, T, harm=0.02, rng=1)
    np.testing.assert_allclose(both.net_benefit["old"].values, pair.net_benefit["old"].values - 0.02)


def test_probabilities_by_name(pair):
    assert list(pair.p_best) == ["treat none", "treat all", "new", "old"]
    np.testing.assert_allclose(sum(pair.p_best.values()), 1)
    useful = pair.net_benefit["new"].values > np.maximum(pair.treat_all.values, 0)
    np.testing.assert_array_equal(pair.p_useful["new"], useful.mean(axis=0))
    assert (pair.evpi >= 0).all()
    assert pair.evpi.shape == (3,)


def test_strategies_that_do_not_exist(pair, single):
    with pytest.raises(ValueError, match=r"`second` must be one of .*Did you mean 'old'"):
        pair.difference("new", "odl")
    with pytest.raises(TypeError, match="must be two of the strategies"):
        single.difference()
    assert (pair.difference().values == pair.difference("new", "old").values).all()


def test_draws_of_separate_results_do_not_combine(data):
    """Independent draws of two models on the same rows would give a difference with a wrong interval."""
    new, old = (
        bc.decisions.net_benefit(data.y, data.p[name], T, rng=1).net_benefit["model"] for name in ("new", "old")
    )
    with pytest.raises(TypeError, match="come from the same evaluation"):
        _ = new - old
    for other in (
        bc.decisions.net_benefit(1 - data.y, data.p["new"], T, rng=1),
        bc.decisions.net_benefit(data.y, data.p["new"], T, rng=2),
        bc.decisions.net_benefit(data.y, data.p["new"], T, pseudo_rows=1, rng=1),
        bc.decisions.net_benefit(data.y, data.p["new"], T, prevalence=0.2, rng=1),
        bc.decisions.net_benefit(data.y, data.p["new"], T + 0.01, rng=1),
    ):
        with pytest.raises(TypeError, match="come from the same evaluation"):
            _ = new - other.net_benefit["model"]
    # the same draws: a harm is subtracted from them
    harmed = bc.decisions.net_benefit(data.y, data.p["new"], T, harm=0.01, rng=1).net_benefit["model"]
    np.testing.assert_allclose((new - harmed).values, 0.01)


def test_table_and_frame(pair, data):
    row = pair.table()[0]
    assert list(row) == [
        *("model", "threshold", "mean", "sd", "low", "high", "observed", "treat_all", "p_useful", "p_best"),
    ]
    assert len(pair.table()) == 6
    assert pair.to_frame().loc[("new", 0.2), "observed"] == pytest.approx(net_benefit(data.y, data.p["new"], 0.2))
    assert pair.table(0.5)[0]["low"] > row["low"]


def test_data_tree(pair):
    tree = pair.to_datatree()
    assert tree.posterior["net_benefit[new]"].dims == ("chain", "draw", "threshold")
    np.testing.assert_array_equal(tree.posterior.threshold, T)


def test_observed_values_in_all_tables(data, pair):
    by = bc.decisions.net_benefit(data.y, data.p["new"], T, by=np.arange(len(data.y)) % 2, rng=1)
    place = by.sheet().header.index("observed")
    assert by.sheet().rows[0][place] == f"{by[0].observed['model'][0]:.4f}"
    every = [row["observed"] for row in pair.treat_all_table()]
    assert every == pair.observed["treat all"].tolist()
    assert [row["observed"] for row in json.loads(pair.to_json())["treat_all"]] == every


def test_two_rare_models_differ_where_few_rows_show_it():
    """Six rows reach 0.02 by one model only, and one of them has the event: the interval contains the difference of 0.

    Under a prior with uniform scores, nearly no rows would be treated by the second model only.
    """
    p = np.full(3000, 0.004)
    q = p.copy()
    p[:6] = 0.03
    y = np.zeros(3000, int)
    y[[0, 100, 200, 300]] = 1
    low, high = bc.decisions.net_benefit(y, {"a": p, "b": q}, 0.02, rng=1).difference("b", "a").interval()
    assert low[0] < 0 < high[0]


def test_at_0_every_model_treats_all_and_the_net_benefit_is_the_prevalence(data, pair):
    found = bc.decisions.net_benefit(data.y, data.p, [0.0, *T], rng=1, draws=500)
    for name in found.models:
        assert np.ptp(found.net_benefit[name].values[:, 0] - found.prevalence_draws[:, 0]) < 1e-12
        assert found.observed[name][0] == pytest.approx(data.y.mean(), abs=1e-12)
        assert found.avoided[name].values[:, 0].tolist() == [0.0] * 500
        assert not found.few_rows[name][0]
        assert found.p_useful[name][0] == 0
        # the other thresholds have the posterior that they have without 0
        for one, other in zip(found.moments[name], pair.moments[name], strict=True):
            np.testing.assert_allclose(one[1:], other, rtol=1e-12)
        np.testing.assert_array_equal(found.observed[name][1:], pair.observed[name])
    assert [float(found.p_best[name][0]) for name in found.strategies] == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])
    # 3 pseudo-rows with an event probability of 1/2
    assert found.moments["new"][0][0] == pytest.approx((data.y.sum() + 1.5) / (len(data.y) + 3))
    assert found.treat_all_table()[0]["mean"] == pytest.approx((data.y.sum() + 1.5) / (len(data.y) + 3))
